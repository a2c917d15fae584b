// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/nifti/writer.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <optional>

#include "core/input_limits.hpp"
#include "io/create.hpp"
#include "io/files/path_overlap.hpp"
#include "io/geometry_check.hpp"
#include "io/output/atomic_output.hpp"
#include "io/provenance/provenance_sidecar.hpp"

namespace quietvox::io {
namespace fs = std::filesystem;
namespace {

/// Copies the bytes [first, last) of a reader, or as many as there are.
void copy(ByteReader& reader, std::uint64_t first, std::uint64_t last, ByteWriter& writer) {
  std::vector<std::byte> piece(1 << 18);
  while (first < last) {
    const auto wanted = std::min<std::uint64_t>(piece.size(), last - first);
    const std::size_t got = reader.read(first, std::span(piece).first(wanted));
    if (got == 0) return;
    writer.write(std::span(piece).first(got));
    first += got;
  }
}

/// Where the bytes of a file end of which those from `first` on are no voxels. Throws Error(unsupported) where they do
/// not end soon.
std::uint64_t end_of(ByteReader& reader, std::uint64_t first, const fs::path& path) {
  const auto check = [&](std::uint64_t end) {
    if (end - first <= most_besides_voxels) return;
    throw Error(Errc::unsupported, path.string() + ": more than " + std::to_string(most_besides_voxels) +
                                       " bytes in it are not voxels; the file is damaged or made to fill "
                                       "the disk");
  };
  if (!reader.compressed()) {
    const std::uint64_t end = std::max(reader.file_size(), first);
    check(end);
    return end;
  }
  std::vector<std::byte> piece(1 << 18);
  std::uint64_t end = first;
  while (const std::size_t got = reader.read(end, piece)) check(end += got);
  return end;
}

/// A file of the output.
struct Part {
  Part(const fs::path& path, const WriteOptions& options, const std::vector<fs::path>& inputs)
      : target(path),
        output(target, AtomicOutput::Kind::file, options.force, inputs.empty() ? fs::path() : inputs.front(),
               options.access) {
    for (const fs::path& input : inputs) refuse_overlap(target, input);
  }

  void begin(bool compressed, const Execution& execution) {
    output.begin();
    writer.emplace(output.staging(), compressed, target, execution);
  }

  fs::path target;
  AtomicOutput output;
  std::optional<ByteWriter> writer;
};

/// Takes slices in order, encodes them, and writes them between the parts of the file that are not voxels.
class NiftiWriter : public ImageWriter {
 public:
  NiftiWriter(NiftiTarget target, const NiftiHeader& header, const std::vector<fs::path>& inputs,
              const WriteOptions& options)
      : target_(std::move(target)),
        header_(header),
        execution_(options.execution.silent()),
        sidecar_(target_.paths.header, inputs, options) {
    for (const fs::path& path : target_.paths.all()) {
      parts_.push_back(std::make_unique<Part>(path, options, inputs));
    }
  }

  void begin_volume(std::size_t volume, const Provenance& provenance) override {
    if (volume != volume_ || slice_ != 0 || volume_ >= static_cast<std::size_t>(header_.volumes())) {
      throw Error(Errc::internal, "volumes must be written in order, each once and whole");
    }
    begun_ = volume + 1;
    if (volume == 0) {
      for (const auto& part : parts_) part->begin(target_.compressed, execution_);
      write_beginning();
    }
    sidecar_.add_volume(provenance);
  }

  void write(VolumeView<const float> slices, float* stored_values) override {
    const Extent& extent = header_.extent();
    if (begun_ != volume_ + 1 || slices.extent.x != extent.x || slices.extent.y != extent.y ||
        slices.origin.z != slice_ || slice_ + slices.extent.z > extent.z) {
      throw Error(Errc::internal, "slices must be written in ascending order, each once and whole");
    }
    const auto size = static_cast<std::size_t>(bytes_per_voxel(header_.type()));
    const std::span values(slices.data, static_cast<std::size_t>(slices.extent.voxels()));
    const std::int64_t before = static_cast<std::int64_t>(volume_) * extent.voxels() + slice_ * extent.slice();
    std::atomic<std::int64_t> clamped = 0;
    const auto fill = [&](std::uint64_t first_byte, std::span<std::byte> stored) {
      const std::size_t first = first_byte / size, count = stored.size() / size;
      clamped += encode_voxels(before + static_cast<std::int64_t>(first), values.subspan(first, count), stored);
      if (!stored_values) return;
      VoxelFormat shifted_format = format();
      shifted_format.rescale.inter -= offset_;
      decode(stored, shifted_format, {stored_values + first, count}, Inexact::round);
    };
    const auto piece = static_cast<std::size_t>(nifti_piece) * size;
    voxel_part().write(values.size() * size, piece, encodes_in_order(values), fill);
    clamped_ += clamped;
    slice_ += slices.extent.z;
    if (slice_ == extent.z) {
      slice_ = 0;
      ++volume_;
    }
  }

  std::optional<StoredIntegers> integers(std::size_t) const override { return integers_of(format()); }

  WriteReport finish(std::vector<AtomicOutput*>& outputs) override {
    if (volume_ != static_cast<std::size_t>(header_.volumes())) {
      throw Error(Errc::internal, "not all volumes were written");
    }
    WriteReport report;
    report.clamped = clamped_;
    finish_voxels(report);
    for (const auto& part : parts_) {
      part->writer->close_and_verify();
      outputs.push_back(&part->output);
    }
    report.files = target_.paths.all();
    if (AtomicOutput* sidecar = sidecar_.finish(clamped_)) {
      outputs.push_back(sidecar);
      report.files.push_back(sidecar_.path());
    }
    return report;
  }

 protected:
  /// Writes what comes before the voxels.
  virtual void write_beginning() = 0;
  /// Encodes the values of the voxels from number `first` on, on any thread; returns how many were clamped.
  virtual std::int64_t encode_voxels(std::int64_t first, std::span<const float> values,
                                     std::span<std::byte> stored) const = 0;
  /// True where these voxels are to be encoded one after another.
  virtual bool encodes_in_order(std::span<const float>) const { return false; }
  /// Writes what follows the voxels.
  virtual void finish_voxels(WriteReport&) {}

  /// encode() for voxels of which the output keeps no stored bytes.
  std::int64_t encode_anew(std::span<const float> values, std::span<std::byte> stored) const {
    return with_error_context(paths().header.string(), [&] { return encode(values, format(), stored); });
  }

  /// write() takes and gives back values minus this offset.
  void set_offset(double offset) { offset_ = offset; }

  const NiftiHeader& header() const { return header_; }
  NiftiHeader& header() { return header_; }
  VoxelFormat format() const { return {header_.type(), header_.byte_swapped(), header_.rescale()}; }
  const NiftiPaths& paths() const { return target_.paths; }
  ByteWriter& header_part() { return *parts_.front()->writer; }
  ByteWriter& voxel_part() { return *parts_.back()->writer; }

 private:
  NiftiTarget target_;
  NiftiHeader header_;
  Execution execution_;
  ProvenanceSidecar sidecar_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::size_t volume_ = 0, begun_ = 0;
  std::int64_t slice_ = 0, clamped_ = 0;
  double offset_ = 0;
};

class NewNiftiWriter final : public NiftiWriter {
 public:
  NewNiftiWriter(NiftiTarget target, const NiftiHeader& new_header, const std::vector<fs::path>& inputs,
                 const WriteOptions& options)
      : NiftiWriter(std::move(target), new_header, inputs, options) {
    if (!paths().single_file()) header().set_container(false, 0);
  }

 protected:
  void write_beginning() override {
    header_part().write(header().bytes());
    header_part().write(std::array<std::byte, 4>{});  // no extensions
  }

  std::int64_t encode_voxels(std::int64_t, std::span<const float> values, std::span<std::byte> stored) const override {
    return encode_anew(values, stored);
  }
};

class SameNiftiWriter final : public NiftiWriter {
 public:
  SameNiftiWriter(const NiftiFile& source, std::function<std::shared_ptr<NiftiVoxelReader>()> take_reader,
                  NiftiTarget target, VoxelDomain domain, const WriteOptions& options)
      : NiftiWriter(std::move(target), source.header, source.paths.all(), options),
        source_(source),
        take_reader_(std::move(take_reader)),
        stop_(options.execution.stop),
        domain_(domain),
        are_differences_(options.are_differences) {
    const ScalarType type = options.output_type.value_or(source_.header.type());
    keeps_type_ = type == source_.header.type() && !are_differences_;
    if (domain == VoxelDomain::real_less_offset) set_offset(source_.offset);
    if (are_differences_) {
      header().set_differences();
    } else if (!keeps_type_) {
      header().set_type(type);
    }
  }

 protected:
  void write_beginning() override {
    const bool from_single = source_.paths.single_file(), to_single = paths().single_file();
    const std::uint64_t header_size = source_.header.bytes().size();
    const auto voxel_offset = static_cast<std::uint64_t>(source_.header.voxel_offset());
    ByteReader header_reader(source_.paths.header, {}, 0, stop_);
    const std::uint64_t header_end =
        from_single ? voxel_offset : end_of(header_reader, header_size, source_.paths.header);
    if (from_single == to_single) {
      header_part().write(header().bytes());
      copy(header_reader, header_size, header_end, header_part());
      if (!from_single) copy(take_reader_()->bytes(), 0, voxel_offset, voxel_part());
    } else if (from_single) {
      header().set_container(false, 0);
      header_part().write(header().bytes());
      copy(header_reader, header_size, header_end, header_part());
    } else {
      // The four bytes that say whether extensions follow may be missing in a header file, not in a single file.
      const std::uint64_t extensions_end = std::max(header_end, header_size + 4);
      const std::uint64_t new_offset = (extensions_end + 15) / 16 * 16;
      header().set_container(true, static_cast<std::int64_t>(new_offset));
      header_part().write(header().bytes());
      copy(header_reader, header_size, header_end, header_part());
      const std::vector<std::byte> padding(new_offset - header_end);
      header_part().write(padding);
    }
  }

  /// Compressed data are cheap to read only in order.
  bool encodes_in_order(std::span<const float> values) const override {
    return keeps_type_ && source_.compressed && !restores_bytes(values, source_.voxel_format(domain_));
  }

  std::int64_t encode_voxels(std::int64_t first, std::span<const float> values,
                             std::span<std::byte> stored) const override {
    if (keeps_type_) {
      const VoxelFormat format = source_.voxel_format(domain_);
      if (const auto clamped = encode_restoring(values, format, stored)) return *clamped;
      std::vector<float> values_read(values.size());
      take_reader_()->read(first, format, stored, values_read);
      return encode_changes(values, values_read, format, stored);
    }
    const Rescale rescale = source_.header.rescale();
    if (domain_ != VoxelDomain::stored || rescale.identity()) return encode_anew(values, stored);
    std::vector<float> real(values.size());
    std::transform(values.begin(), values.end(), real.begin(),
                   [&](float value) { return static_cast<float>(rescale.slope * value + rescale.inter); });
    return encode_anew(real, stored);
  }

  void finish_voxels(WriteReport& report) override {
    if (are_differences_) return;
    const auto end = static_cast<std::uint64_t>(source_.header.voxel_offset() + source_.header.voxel_bytes());
    const auto reader = take_reader_();
    const std::uint64_t end_of_file = end_of(reader->bytes(), end, source_.paths.voxels);
    copy(reader->bytes(), end, end_of_file, voxel_part());
    if (source_.compressed) {  // else known, and said, from the beginning
      if (const std::string more = source_.warning_of_slices(end_of_file - end); !more.empty()) {
        report.warnings.push_back(more);
      }
    }
    if (const std::uint64_t garbage = reader->bytes().trailing_garbage()) {
      report.warnings.push_back(source_.paths.voxels.string() + ": " + std::to_string(garbage) +
                                " bytes after the end of the compressed data are no part of it and were left out");
    }
  }

 private:
  NiftiFile source_;
  std::function<std::shared_ptr<NiftiVoxelReader>()> take_reader_;
  std::stop_token stop_;
  VoxelDomain domain_;
  bool are_differences_, keeps_type_ = true;
};

}  // namespace

std::unique_ptr<ImageWriter> make_nifti_writer(const NiftiFile& source,
                                               std::function<std::shared_ptr<NiftiVoxelReader>()> take_reader,
                                               const fs::path& output, VoxelDomain domain,
                                               const WriteOptions& options) {
  WriteOptions with_access = options;
  with_access.access = options.access & access_of(source.paths.all(), output);
  return std::make_unique<SameNiftiWriter>(source, std::move(take_reader), nifti_target(output, options.compress),
                                           domain, with_access);
}

std::unique_ptr<ImageWriter> create_nifti(const fs::path& output, const Geometry& geometry, std::size_t volumes,
                                          const WriteOptions& options) {
  check_geometry(output, geometry, false);
  if (volumes == 0) throw Error(Errc::invalid_argument, output.string() + ": an image has one volume or more");
  const ScalarType type = options.output_type.value_or(ScalarType::float32);
  std::vector<fs::path> inputs;
  if (!options.input.empty()) inputs.push_back(options.input);
  return std::make_unique<NewNiftiWriter>(nifti_target(output, options.compress),
                                          NiftiHeader::create(geometry, volumes, type, options.volume_seconds), inputs,
                                          options);
}

}  // namespace quietvox::io
