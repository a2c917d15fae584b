// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "itk_adapters/file_io/image_io.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>

#include "core/input_limits.hpp"
#include "io/files/byte_stream.hpp"
#include "io/files/reader_pool.hpp"
#include "io/float_precision.hpp"
#include "io/voxel_codec.hpp"
#include "io/voxel_kind.hpp"
#include "itk_adapters/file_io/itk_file.hpp"

namespace quietvox {
namespace fs = std::filesystem;
namespace {

/// Values per axis, or none where the product does not fit into 63 bits.
std::optional<std::int64_t> product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

/// An opened file. ITK reads its header. ITK's readers hold a file whole and fill cut or damaged ones with zeros, so
/// the usual voxels, raw and gzip-compressed, are read slice by slice from where they lie; ITK reads those of other
/// encodings, once their first slice is wanted, and they are let go with their last.
class ItkFile {
 public:
  ItkFile(ItkHeader header, Execution execution, HeaderFacts facts = {})
      : header_(std::move(header)),
        io_(make_image_io(header_.format, header_.header)),
        execution_(std::move(execution)) {
    with_itk_errors(header_.header, Errc::corrupt, [&] { io_->ReadImageInformation(); });
    settle_data(header_, *io_);
    const unsigned int axes = io_->GetNumberOfDimensions();
    if (io_->GetComponentType() == itk::IOComponentEnum::UNKNOWNCOMPONENTTYPE) refuse("its voxel type is not handled");
    if (io_->GetNumberOfComponents() != 1 || io_->GetPixelType() != itk::IOPixelEnum::SCALAR) {
      refuse("voxels of " + std::to_string(io_->GetNumberOfComponents()) +
             " components are not handled; give scalar voxels");
    }
    if (axes < 2 || axes > 4) refuse(std::to_string(axes) + " axes are not handled; give 2 to 4");
    geometry_ = geometry_of(*io_, header_.header, header_.mm_per_unit, header_.place);
    geometry_.is_placed = header_.is_placed;
    volumes_ = axes == 4 ? io_->GetDimensions(3) : 1;
    check_size();
    const bool gzip = header_.encoding == "gzip";
    read_here_ = header_.offset && (gzip || header_.encoding == "raw");
    voxel_kind_.emplace(std::move(facts), header_.header, volumes_, io::Rescale{});
    with_error_context(header_.header.string(), [&] {
      const auto file_size = fs::file_size(header_.data);
      check_image_size(geometry_.extent, static_cast<std::int64_t>(volumes_), file_size, execution_);
      if (!read_here_) check_memory("its voxels", static_cast<std::uint64_t>(bytes_), file_size, execution_);
    });
    if (gzip && !read_here_) refuse("compressed voxels behind something to be skipped are not handled");
  }

  const ItkHeader& header() const { return header_; }
  const io::Geometry& geometry() const { return geometry_; }
  std::size_t volumes() const { return volumes_; }
  const itk::ImageIOBase& image_io() const { return *io_; }
  io::VoxelKind& voxel_kind() { return *voxel_kind_; }
  io::ScalarType type() const { return scalar_type(io_->GetComponentType()); }

  /// For read() and read_stored(), one for each place where the file is read; null where ITK reads it.
  std::shared_ptr<io::ByteReader> take_reader() { return read_here_ ? readers_.take() : nullptr; }

  /// About the middle of voxels far from 0, found once, in the first volume; 0 for others.
  double offset() {
    std::call_once(offset_once_, [this] {
      if (!io::may_lose_digits(type())) return;
      const auto reader = take_reader();
      std::optional<Range<double>> range;
      std::vector<std::byte> stored(slice_bytes());
      for (std::size_t z = 0; z < static_cast<std::size_t>(geometry_.extent.z); ++z) {
        check_stop(execution_.stop);
        read_stored(z, stored, reader.get());
        io::widen(range, stored, {type()});
      }
      if (range) offset_ = middle_if_far(*range);
    });
    return offset_;
  }

  /// Values less `offset`.
  void read(std::size_t volume, VolumeView<float> slices, double offset, io::ByteReader* reader) {
    const std::size_t first =
        volume * static_cast<std::size_t>(geometry_.extent.z) + static_cast<std::size_t>(slices.origin.z);
    std::vector<std::byte> stored(slice_bytes());
    const auto voxels = static_cast<std::size_t>(slices.extent.slice());
    for (std::int64_t z = 0; z < slices.extent.z; ++z) {
      check_stop(execution_.stop);
      read_stored(first + static_cast<std::size_t>(z), stored, reader);
      with_error_context(header_.header.string(), [&] {
        io::decode(stored, {type(), false, {1, -offset}}, {slices.row(0, z), voxels});
      });
    }
  }

  /// A slice, counted through all volumes, in the byte order of this machine.
  void read_stored(std::size_t slice, std::span<std::byte> stored, io::ByteReader* reader) {
    const std::size_t offset = slice * slice_bytes(), end = offset + stored.size();
    const bool last = end == static_cast<std::size_t>(bytes_);
    if (!reader) {
      const std::lock_guard lock(mutex_);
      if (voxels_.empty()) read_by_itk();
      std::copy_n(voxels_.begin() + static_cast<std::ptrdiff_t>(offset), stored.size(), stored.begin());
      if (last) std::vector<std::byte>().swap(voxels_);
      return;
    }
    reader->read_all(offset, stored, "the voxels");
    std::array<std::byte, 1> beyond;  // a checksum is looked at with what would follow
    if (last) reader->read(end, beyond);
    if (!swapped()) return;
    const auto size = static_cast<std::ptrdiff_t>(io::bytes_per_voxel(type()));
    for (auto voxel = stored.begin(); voxel != stored.end(); voxel += size) std::reverse(voxel, voxel + size);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(Errc::unsupported, header_.header.string() + ": " + why);
  }
  std::size_t slice_bytes() const {
    return static_cast<std::size_t>(bytes_) / (volumes_ * static_cast<std::size_t>(geometry_.extent.z));
  }

  /// Compares what the header promises with the file that holds the voxels, before anything is allocated.
  void check_size() {
    auto values = product(geometry_.extent.x, geometry_.extent.y);
    if (values) values = product(*values, geometry_.extent.z);
    if (values) values = product(*values, static_cast<std::int64_t>(volumes_));
    const auto bytes = values ? product(*values, io::bytes_per_voxel(type())) : std::nullopt;
    const double stored =
        static_cast<double>(fs::file_size(header_.data)) - static_cast<double>(header_.offset.value_or(0));
    constexpr double deflate = 1032, bzip2 = 50000;  // no data shrinks more
    const double largest = header_.encoding == "gzip"    ? deflate * stored
                           : header_.encoding == "bzip2" ? bzip2 * stored
                           : header_.encoding == "raw"   ? stored
                                                         : stored * static_cast<double>(io::bytes_per_voxel(type()));
    if (!bytes || *bytes < 1 || static_cast<double>(*bytes) > largest) {
      throw Error(Errc::corrupt, header_.header.string() + ": the header promises more voxels than " +
                                     header_.data.filename().string() + " can hold; the file is cut or damaged");
    }
    values_ = *values;
    bytes_ = *bytes;
    constexpr std::int64_t longest_number = 64;
    const bool is_text = header_.encoding == "text" || header_.encoding == "hex";
    for (const fs::path& file : header_.files()) {
      const std::int64_t most = file != header_.data ? 0
                                : is_text            ? product(longest_number, values_).value_or(0)
                                                     : bytes_;
      with_error_context(file.string(),
                         [&] { check_file_size(fs::file_size(file), static_cast<std::uint64_t>(most)); });
    }
  }

  bool swapped() const { return header_.big_endian != (std::endian::native == std::endian::big); }

  void read_by_itk() {
    if (header_.encoding == "text") check_text_complete(header_, values_);
    itk::ImageIORegion region(io_->GetNumberOfDimensions());
    for (unsigned int axis = 0; axis < io_->GetNumberOfDimensions(); ++axis) {
      region.SetSize(axis, io_->GetDimensions(axis));
    }
    io_->SetIORegion(region);
    std::vector<std::byte> voxels(static_cast<std::size_t>(bytes_));
    with_itk_errors(header_.header, Errc::corrupt, [&] { io_->Read(voxels.data()); });
    voxels_ = std::move(voxels);
  }

  ItkHeader header_;
  std::optional<io::VoxelKind> voxel_kind_;
  itk::ImageIOBase::Pointer io_;
  Execution execution_;
  io::Geometry geometry_;
  std::size_t volumes_ = 1;
  std::int64_t values_ = 0, bytes_ = 0;  // of all volumes
  bool read_here_ = false;               // not by ITK
  io::ReaderPool<io::ByteReader> readers_{[this] {
    auto reader = std::make_unique<io::ByteReader>(header_.data, header_.encoding == "gzip", *header_.offset,
                                                   execution_.stop, header_.data_folder());
    const auto bytes = static_cast<std::uint64_t>(bytes_);
    io::prepare_for_volumes(*reader, bytes, bytes / volumes_, execution_);
    return reader;
  }};
  std::once_flag offset_once_;
  double offset_ = 0;
  std::mutex mutex_;
  std::vector<std::byte> voxels_;  // what ITK read, while slices are wanted
};

class ItkVolume final : public VolumeSource {
 public:
  ItkVolume(std::shared_ptr<ItkFile> file, std::size_t volume, double offset = 0)
      : file_(std::move(file)), volume_(volume), offset_(offset) {}
  Extent extent() const override { return file_->geometry().extent; }
  Spacing spacing() const override { return file_->geometry().spacing; }
  HeaderFacts header() const override {
    HeaderFacts facts = file_->voxel_kind().get(
        volume_, [&](std::size_t volume) { return std::make_unique<ItkVolume>(file_, volume); });
    facts.offset = offset_;
    return facts;
  }
  void read(VolumeView<float> slices) override {
    if (!reader_) reader_ = file_->take_reader();
    file_->read(volume_, slices, offset_, reader_.get());
  }

 private:
  std::shared_ptr<ItkFile> file_;
  std::shared_ptr<io::ByteReader> reader_;  // once voxels are read: by then others may have given one back
  std::size_t volume_;
  double offset_;
};

class ItkImage final : public io::Image {
 public:
  ItkImage(ItkHeader header, std::vector<io::FileStamp> files, const io::ReadOptions& options)
      : files_(std::move(files)),
        file_(std::make_shared<ItkFile>(std::move(header), options.execution, facts_given(options))) {}

  io::Format format() const override { return file_->header().format; }
  std::vector<io::FileStamp> files() const override { return files_; }
  std::size_t volume_count() const override { return file_->volumes(); }
  const io::Geometry& geometry(std::size_t) const override { return file_->geometry(); }
  bool can_filter_stored(std::size_t) const override { return false; }  // stored values are the real ones
  std::string why_2d_only(std::size_t) const override { return ""; }
  double offset() const override { return file_->offset(); }
  bool may_lose_digits() const override { return io::may_lose_digits(file_->type()); }
  std::unique_ptr<VolumeSource> source_of(std::size_t volume, io::VoxelDomain domain) const override {
    check(domain);
    return std::make_unique<ItkVolume>(file_, volume, domain == io::VoxelDomain::real_less_offset ? offset() : 0);
  }
  std::vector<std::string> warnings() const override {
    std::vector<std::string> warnings;
    for (const std::string& warning : {file_->header().warning, file_->voxel_kind().warning()}) {
      if (!warning.empty()) warnings.push_back(warning);
    }
    return warnings;
  }

  io::ImageInfo info() const override {
    return {.files = file_->header().files().size(),
            .encoding = file_->header().encoding,
            .type = file_->type(),
            .rescale = io::Rescale{}};
  }

  std::unique_ptr<io::ImageWriter> writer(const fs::path& output, io::VoxelDomain domain,
                                          const io::WriteOptions& options) const override {
    check(options.output_type ? io::VoxelDomain::real : domain);
    const itk::ImageIOBase& image_io = file_->image_io();
    io::WriteOptions with_access = options;
    with_access.access = options.access & io::access_of(*this, output);
    // Apart from the filters' file: what ITK reads whole goes with its last slice.
    const auto stored = std::make_shared<ItkFile>(file_->header(), options.execution);
    const std::shared_ptr<io::ByteReader> reader = stored->take_reader();
    return make_itk_writer(output,
                           {.header = file_->header(),
                            .axes = image_io.GetNumberOfDimensions(),
                            .volumes = file_->volumes(),
                            .geometry = file_->geometry(),
                            .type = image_io.GetComponentType(),
                            .offset = domain == io::VoxelDomain::real_less_offset ? offset() : 0,
                            .metadata = &image_io,
                            .read_stored =
                                [stored, reader](std::size_t slice, std::span<std::byte> bytes) {
                                  stored->read_stored(slice, bytes, reader.get());
                                }},
                           with_access);
  }

 private:
  void check(io::VoxelDomain domain) const {
    if (domain == io::VoxelDomain::real_less_offset || domain == io::VoxelDomain::stored || offset() == 0) return;
    throw io::far_from_zero_error(file_->header().header.string(), offset());
  }

  std::vector<io::FileStamp> files_;
  std::shared_ptr<ItkFile> file_;
};

}  // namespace

std::unique_ptr<io::Image> open_itk_image(const fs::path& path, const io::ReadOptions& options) {
  std::vector<io::FileStamp> files{io::FileStamp(path)};
  auto header = read_itk_header(path);
  if (!header) return nullptr;
  if (header->data != path) files.emplace_back(header->data);
  return std::make_unique<ItkImage>(std::move(*header), std::move(files), options);
}

std::vector<fs::path> itk_files(const fs::path& path) {
  const auto header = read_itk_header(path);
  return header ? header->files() : std::vector<fs::path>();
}

std::vector<fs::path> itk_output_files(const fs::path& output, bool compressed) {
  const bool nrrd = output.extension() == ".nhdr";
  if (!nrrd && output.extension() != ".mhd") return {output};
  const char* const ending = !compressed ? ".raw" : nrrd ? ".raw.gz" : ".zraw";  // as ITK names them
  return {output, fs::path(output).replace_extension(ending)};
}

std::unique_ptr<io::ImageWriter> create_itk_image(const fs::path& output, const io::Geometry& geometry,
                                                  std::size_t volumes, const io::WriteOptions& options) {
  return make_itk_writer(output,
                         {.header = {},
                          .axes = volumes > 1 ? 4U : 3U,
                          .volumes = volumes,
                          .geometry = geometry,
                          .metadata = {},
                          .read_stored = {}},
                         options);
}

}  // namespace quietvox
