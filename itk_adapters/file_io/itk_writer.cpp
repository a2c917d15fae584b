// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <span>
#include <system_error>

#include "io/files/byte_stream.hpp"
#include "io/files/path_overlap.hpp"
#include "io/files/posix_file.hpp"
#include "io/output/atomic_output.hpp"
#include "io/provenance/provenance_sidecar.hpp"
#include "io/voxel_codec.hpp"
#include "itk_adapters/file_io/image_io.hpp"
#include "itk_adapters/file_io/itk_file.hpp"

namespace quietvox {
namespace fs = std::filesystem;
namespace {

/// Replaces what follows the first `key` that begins a line, up to the line's end; lines without it stay.
void set_line(std::string& text, const std::string& key, const std::string& value) {
  for (std::size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) return;
    if (text.compare(begin, key.size(), key) != 0) continue;
    text.replace(begin + key.size(), end - begin - key.size(), value);
    return;
  }
}

/// ITK writes a file at once, with all voxels in memory. So it makes the header alone, with one voxel, and what the
/// header says of sizes is set right; the voxels are gathered in a scratch file as they will be stored.
class ItkWriter final : public io::ImageWriter {
 public:
  ItkWriter(const fs::path& output, const ItkWriterSource& source, const io::WriteOptions& options)
      : output_(output),
        source_(source),
        type_(options.output_type.value_or(scalar_type(source.type))),
        compress_(options.compress.value_or(source.header && source.header->compressed())),
        execution_(options.execution),
        volume_seconds_(options.volume_seconds.value_or(1)),
        sidecar_(output, inputs(source, options), options) {
    const auto format = itk_format_of_name(output);
    if (!format) {
      throw Error(Errc::output_path, output.string() + ": the ending does not name a format",
                  "give .nrrd, .nhdr, .mha or .mhd");
    }
    format_ = *format;
    targets_ = itk_output_files(output, compress_);
    for (const fs::path& target : targets_) {
      for (const fs::path& input : inputs(source, options)) io::refuse_overlap(target, input);
      outputs_.push_back(std::make_unique<io::AtomicOutput>(target, io::AtomicOutput::Kind::file, options.force,
                                                            fs::path(), options.access));
    }
  }

  void begin_volume(std::size_t volume, const Provenance& provenance) override {
    if (volume != begun_ || missing_slices() != 0) {
      throw Error(Errc::internal, output_.string() + ": volumes were not written in order");
    }
    if (volume == 0) {
      for (const auto& file : outputs_) file->begin();
      scratch_.emplace(output_);
      voxels_.emplace(*scratch_ / "voxels", compress_, output_, execution_);
    }
    sidecar_.add_volume(provenance);
    ++begun_;
    next_slice_ = 0;
  }

  void write(VolumeView<const float> slices, float* stored_values) override {
    if (begun_ == 0 || slices.origin.z != next_slice_ || slices.extent.z > missing_slices()) {
      throw Error(Errc::internal, output_.string() + ": slices were not written in order");
    }
    const auto voxels = static_cast<std::size_t>(slices.extent.slice());
    std::vector<std::byte> stored(voxels * static_cast<std::size_t>(io::bytes_per_voxel(type_)));
    for (std::int64_t z = 0; z < slices.extent.z; ++z) {
      check_stop(execution_.stop);
      encode_slice(next_slice_ + z, {slices.row(0, z), voxels}, stored);
      voxels_->write(stored);
      if (stored_values) {
        io::decode(stored, format(), {stored_values, voxels}, io::Inexact::round);
        stored_values += voxels;
      }
    }
    next_slice_ += slices.extent.z;
  }

  std::optional<io::StoredIntegers> integers(std::size_t) const override { return io::integers_of(format()); }

  io::WriteReport finish(std::vector<io::AtomicOutput*>& outputs) override {
    if (begun_ != source_.volumes || missing_slices() != 0) {
      throw Error(Errc::internal, output_.string() + ": volumes or slices are missing");
    }
    voxels_->close_and_verify();
    const fs::path made = *scratch_ / output_.filename();
    write_one_voxel(made);
    write_file(made);
    verify(made);
    io::WriteReport report{targets_, clamped_, {}};
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      std::error_code error;
      fs::rename(*scratch_ / targets_[i].filename(), outputs_[i]->staging(), error);
      if (error) throw Error(Errc::not_writable, targets_[i].string() + ": cannot be put in place: " + error.message());
      outputs.push_back(outputs_[i].get());
    }
    if (io::AtomicOutput* const sidecar = sidecar_.finish(clamped_)) {
      outputs.push_back(sidecar);
      report.files.push_back(sidecar_.path());
    }
    return report;
  }

 private:
  std::int64_t missing_slices() const { return begun_ == 0 ? 0 : source_.geometry.extent.z - next_slice_; }

  static std::vector<fs::path> inputs(const ItkWriterSource& source, const io::WriteOptions& options) {
    if (source.header) return source.header->files();
    return options.input.empty() ? std::vector<fs::path>() : std::vector{options.input};
  }

  bool keeps_type() const { return type_ == scalar_type(source_.type); }
  io::VoxelFormat format() const { return {type_, false, {1, -source_.offset}}; }

  void encode_slice(std::int64_t z, std::span<const float> values, std::span<std::byte> stored) {
    if (!source_.read_stored || !keeps_type()) {
      clamped_ += with_error_context(output_.string(), [&] { return io::encode(values, format(), stored); });
      return;
    }
    if (const auto clamped = io::encode_restoring(values, format(), stored)) {
      clamped_ += *clamped;
      return;
    }
    source_.read_stored(
        (begun_ - 1) * static_cast<std::size_t>(source_.geometry.extent.z) + static_cast<std::size_t>(z), stored);
    before_.resize(values.size());
    io::decode(stored, format(), before_);
    clamped_ += io::encode_changes(values, before_, format(), stored);
  }

  std::vector<itk::SizeValueType> sizes() const {
    const Extent& extent = source_.geometry.extent;
    std::vector<itk::SizeValueType> sizes{static_cast<itk::SizeValueType>(extent.x),
                                          static_cast<itk::SizeValueType>(extent.y),
                                          static_cast<itk::SizeValueType>(extent.z), source_.volumes};
    sizes.resize(source_.axes);
    return sizes;
  }

  /// The header by ITK, as of an image of one voxel.
  void write_one_voxel(const fs::path& path) const {
    const auto image_io = make_image_io(format_, path);
    const io::Geometry& place = source_.geometry;
    const bool same_format = source_.header && source_.header->format == format_;
    if (same_format) {
      itk::MetaDataDictionary fields = source_.metadata->GetMetaDataDictionary();
      fields.Erase("ITK_InputFilterName");     // a remark of ITK's reader, no field of the file
      if (source_.header->mm_per_unit != 1) {  // lengths are written in mm
        for (const char* const of_length : {"ITK_VoxelUnits", "NRRD_thicknesses[0]", "NRRD_thicknesses[1]",
                                            "NRRD_thicknesses[2]", "NRRD_thicknesses[3]"}) {
          fields.Erase(of_length);
        }
      }
      image_io->SetMetaDataDictionary(fields);
    }
    image_io->SetNumberOfDimensions(source_.axes);
    itk::ImageIORegion region(source_.axes);
    for (unsigned int axis = 0; axis < source_.axes; ++axis) {
      const bool spatial = axis < 3;
      std::vector<double> direction(source_.axes, 0);
      for (unsigned int row = 0; row < source_.axes; ++row) {
        direction[row] = spatial && row < 3 ? place.direction[3 * row + axis] : row == axis;
      }
      image_io->SetDimensions(axis, 1);
      image_io->SetSpacing(axis, spatial            ? place.spacing[static_cast<int>(axis)]
                                 : source_.metadata ? source_.metadata->GetSpacing(axis)
                                                    : volume_seconds_);
      image_io->SetOrigin(axis, spatial            ? place.origin[axis]
                                : source_.metadata ? source_.metadata->GetOrigin(axis)
                                                   : 0);
      image_io->SetDirection(axis, direction);
      region.SetSize(axis, 1);
    }
    image_io->SetIORegion(region);
    image_io->SetPixelType(itk::IOPixelEnum::SCALAR);
    image_io->SetNumberOfComponents(1);
    image_io->SetComponentType(keeps_type() ? source_.type : itk_type(type_));
    image_io->SetFileTypeToBinary();
    image_io->SetUseCompression(compress_);
    with_itk_errors(output_, Errc::not_writable, [&] {
      image_io->WriteImageInformation();
      const double voxel = 0;  // as large as any
      image_io->Write(&voxel);
    });
  }

  /// Puts the true sizes into the header and the voxels behind it, or beside it.
  void write_file(const fs::path& made) const {
    const auto header = header_of(made);
    const fs::path voxels = *scratch_ / "voxels";
    const bool detached = targets_.size() > 1;
    const io::RawReader by_itk(made);
    if (!header || !header->offset) throw Error(Errc::internal, output_.string() + ": ITK wrote a bad header");
    std::string text(detached ? by_itk.size() : *header->offset, '\0');
    by_itk.read(0, std::as_writable_bytes(std::span(text)));
    std::string list;
    for (const auto size : sizes()) {
      if (!list.empty()) list += ' ';
      list += std::to_string(size);
    }
    set_line(text, format_ == io::Format::nrrd ? "sizes: " : "DimSize = ", list);
    set_line(text, "CompressedDataSize = ", std::to_string(fs::file_size(voxels)));

    fs::remove(made);
    io::ByteWriter file(made, false, output_, {.threads = 1, .memory_limit = {}, .stop = execution_.stop});
    file.write(std::as_bytes(std::span(text)));
    if (detached) {
      fs::rename(voxels, *scratch_ / targets_.back().filename());
    } else {
      const io::RawReader packed(voxels);
      std::vector<std::byte> piece(std::size_t{1} << 20);
      for (std::uint64_t done = 0; done < packed.size(); done += piece.size()) {
        check_stop(execution_.stop);
        piece.resize(packed.read(done, piece));
        if (piece.empty()) throw Error(Errc::not_writable, output_.string() + ": it became shorter while it was read");
        file.write(piece);
      }
    }
    file.close_and_verify();
  }

  /// Of what ITK wrote, which may keep a field of the input that is not read again.
  std::optional<ItkHeader> header_of(const fs::path& made) const {
    try {
      return read_itk_header(made);
    } catch (const Error&) {
      throw Error(Errc::unsupported, output_.string() + ": a field in the header of the input is too long for it",
                  "give an output with the ending .nii");
    }
  }

  /// What was written was compared already; this is about what the header says of it.
  void verify(const fs::path& made) const {
    const auto image_io = make_image_io(format_, made);
    with_itk_errors(output_, Errc::not_writable, [&] { image_io->ReadImageInformation(); });
    const auto header = header_of(made);
    const bool same =
        header && header->offset && header->compressed() == compress_ &&
        header->big_endian == (std::endian::native == std::endian::big) &&
        header->data == *scratch_ / targets_.back().filename() && scalar_type(image_io->GetComponentType()) == type_ &&
        image_io->GetNumberOfDimensions() == source_.axes && lies_as(geometry_of(*image_io, made), source_.geometry) &&
        (source_.axes < 4 || image_io->GetDimensions(3) == source_.volumes);
    if (!same) throw Error(Errc::not_writable, output_.string() + ": what was written reads back differently");
  }

  /// The same place. A file may hold the product of spacing and direction alone, whose length may be another spacing.
  static bool lies_as(const io::Geometry& a, const io::Geometry& b) {
    const auto near = [](double x, double y) { return std::abs(x - y) <= 1e-9 * (1 + std::abs(y)); };
    const auto step = [](const io::Geometry& place, std::size_t row, std::size_t axis) {
      return place.direction[3 * row + axis] * place.spacing[static_cast<int>(axis)];
    };
    bool same = a.extent == b.extent;
    for (std::size_t row = 0; row < 3; ++row) {
      same = same && near(a.origin[row], b.origin[row]);
      for (std::size_t axis = 0; axis < 3; ++axis) same = same && near(step(a, row, axis), step(b, row, axis));
    }
    return same;
  }

  fs::path output_;
  ItkWriterSource source_;
  io::ScalarType type_;
  bool compress_;
  Execution execution_;
  double volume_seconds_;
  io::ProvenanceSidecar sidecar_;
  io::Format format_{};
  std::vector<fs::path> targets_;  // the header, and where it is another file, the voxels
  std::vector<std::unique_ptr<io::AtomicOutput>> outputs_;
  std::optional<io::StagingFolder> scratch_;
  std::optional<io::ByteWriter> voxels_;
  std::size_t begun_ = 0;
  std::int64_t next_slice_ = 0, clamped_ = 0;
  std::vector<float> before_;
};

}  // namespace

std::unique_ptr<io::ImageWriter> make_itk_writer(const fs::path& output, const ItkWriterSource& source,
                                                 const io::WriteOptions& options) {
  return std::make_unique<ItkWriter>(output, source, options);
}

}  // namespace quietvox
