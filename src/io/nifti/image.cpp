// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <mutex>

#include "core/input_limits.hpp"
#include "io/files/paths.hpp"
#include "io/files/reader_pool.hpp"
#include "io/float_precision.hpp"
#include "io/image.hpp"
#include "io/nifti/file.hpp"
#include "io/nifti/writer.hpp"
#include "io/voxel_kind.hpp"

namespace quietvox::io {
namespace {

/// The volumes of a file share readers, so that a compressed series is unpacked once, not once per volume.
struct OpenedNifti {
  OpenedNifti(NiftiFile found, const ReadOptions& options)
      : file(std::move(found)),
        voxel_kind(options.kind ? facts_given(options) : file.header.facts(), file.paths.header,
                   static_cast<std::size_t>(file.header.volumes()), file.header.rescale()),
        readers([this, execution = options.execution] { return std::make_unique<NiftiVoxelReader>(file, execution); }) {
  }

  /// Finds the offset of the file, once.
  void find_offset() {
    std::call_once(offset_once, [this] {
      if (!file.header.may_lose_digits()) return;
      const auto range = readers.take()->range(0, file.header.extent().voxels());
      if (!range) return;
      file.offset = middle_if_far(*range);
      if (file.offset != 0 || file.header.why_stored_only().empty()) return;
      // A nearer middle may still be too far for the steps of whole numbers, and what is left without it not.
      const double middle = range->min / 2 + range->max / 2, half = range->max - middle;
      const double slope = file.header.rescale().slope;
      const bool fits = why_floats_lose_digits({slope, 0}, -half / slope, half / slope, "", "").empty();
      if (std::abs(middle) > half && fits) file.offset = middle;
    });
  }

  NiftiFile file;
  VoxelKind voxel_kind;
  std::once_flag offset_once;
  ReaderPool<NiftiVoxelReader> readers;
};

class NiftiVolume final : public VolumeSource {
 public:
  NiftiVolume(std::shared_ptr<OpenedNifti> nifti, std::size_t volume, VoxelDomain domain)
      : nifti_(std::move(nifti)), volume_(static_cast<std::int64_t>(volume)), domain_(domain) {}

  Extent extent() const override { return nifti_->file.header.extent(); }
  Spacing spacing() const override { return nifti_->file.header.geometry().spacing; }

  HeaderFacts header() const override {
    const auto stored = [&](std::size_t volume) {
      return std::make_unique<NiftiVolume>(nifti_, volume, VoxelDomain::stored);
    };
    HeaderFacts facts = nifti_->voxel_kind.get(static_cast<std::size_t>(volume_), stored);
    if (domain_ == VoxelDomain::real_less_offset) facts.offset = nifti_->file.offset;
    return facts;
  }

  void read(VolumeView<float> slices) override {
    const std::int64_t first = volume_ * extent().voxels() + slices.origin.z * extent().slice();
    if (!voxels_) voxels_ = nifti_->readers.take();
    voxels_->read(first, domain_, {slices.data, static_cast<std::size_t>(slices.extent.voxels())});
  }

 private:
  std::shared_ptr<OpenedNifti> nifti_;
  std::shared_ptr<NiftiVoxelReader> voxels_;  // once voxels are read: by then others may have given one back
  std::int64_t volume_;
  VoxelDomain domain_;
};

class NiftiImage final : public Image {
 public:
  NiftiImage(NiftiFile file, const ReadOptions& options)
      : nifti_(std::make_shared<OpenedNifti>(std::move(file), options)) {}

  Format format() const override { return Format::nifti; }
  std::vector<FileStamp> files() const override { return nifti_->file.states; }
  std::size_t volume_count() const override { return static_cast<std::size_t>(header().volumes()); }
  const Geometry& geometry(std::size_t) const override { return header().geometry(); }
  std::vector<Geometry> geometries(std::size_t volume) const override {
    std::vector<Geometry> all{geometry(volume)};
    if (const auto& other = header().qform_geometry()) all.push_back(*other);
    return all;
  }
  bool can_filter_stored(std::size_t) const override { return header().rescale().slope > 0; }
  std::string why_2d_only(std::size_t) const override { return {}; }

  bool is_time_series() const override { return header().has_times() && !has_b_values(); }
  bool may_have_one_noise() const override { return header().has_times() || has_b_values(); }

  std::optional<double> repetition_time() const override {
    return is_time_series() ? header().volume_seconds() : std::nullopt;
  }

  double offset() const override {
    nifti_->find_offset();
    return nifti_->file.offset;
  }
  bool may_lose_digits() const override { return header().may_lose_digits(); }

  std::unique_ptr<VolumeSource> source_of(std::size_t volume, VoxelDomain domain) const override {
    check_domain(domain);
    return std::make_unique<NiftiVolume>(nifti_, volume, domain);
  }

  ImageInfo info() const override {
    return {.version = header().version(),
            .files = nifti_->file.paths.all().size(),
            .encoding = nifti_->file.compressed ? "gzip" : "raw",
            .type = header().type(),
            .rescale = header().rescale()};
  }

  std::vector<std::string> warnings() const override {
    std::vector<std::string> warnings = header().warnings();
    if (const std::string& beside = nifti_->voxel_kind.warning(); !beside.empty()) warnings.push_back(beside);
    const NiftiFile& file = nifti_->file;
    if (!file.compressed) {
      const auto end = static_cast<std::uint64_t>(header().voxel_offset() + header().voxel_bytes());
      const std::string more = file.warning_of_slices(file.states.back().bytes - end);
      if (!more.empty()) warnings.push_back(more);
    }
    return warnings;
  }

  std::unique_ptr<ImageWriter> writer(const std::filesystem::path& output, VoxelDomain domain,
                                      const WriteOptions& options) const override {
    if (!options.are_differences) check_domain(options.output_type ? VoxelDomain::real : domain);
    const auto take_reader = [nifti = nifti_] { return nifti->readers.take(); };
    return make_nifti_writer(nifti_->file, take_reader, output, domain, options);
  }

 private:
  /// Diffusion directions are said to be times too, and have their b-values beside them.
  bool has_b_values() const { return is_file(beside(nifti_->file.paths.header, ".bval")); }

  const NiftiHeader& header() const { return nifti_->file.header; }

  void check_domain(VoxelDomain domain) const {
    if (domain == VoxelDomain::stored || (domain == VoxelDomain::real_less_offset && offset() != 0)) return;
    const std::string name = nifti_->file.paths.header.string();
    if (const std::string& why = header().why_stored_only(); !why.empty()) {
      throw Error(Errc::unsupported, name + ": " + why,
                  "use a filter of stored numbers, such as median, without " + Parameter{"residual"} +
                      ", and keep the type and format of the input");
    }
    if (offset() != 0) throw far_from_zero_error(name, offset());
  }

  std::shared_ptr<OpenedNifti> nifti_;
};

}  // namespace

std::unique_ptr<Image> open_nifti(const std::filesystem::path& path, const ReadOptions& options) {
  auto file = find_nifti(path);
  if (!file) return nullptr;
  std::uint64_t bytes = 0;
  for (const FileStamp& state : file->states) bytes += state.bytes;
  with_error_context(path.string(), [&] {
    check_image_size(file->header.extent(), file->header.volumes(), bytes, options.execution);
  });
  return std::make_unique<NiftiImage>(*std::move(file), options);
}

}  // namespace quietvox::io
