// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "core/execution.hpp"
#include "io/dicom/dicom_file.hpp"
#include "io/dicom/duplicates.hpp"
#include "io/dicom/pixels.hpp"
#include "io/dicom/scan.hpp"
#include "io/dicom/series_summary.hpp"
#include "io/dicom/volume_split.hpp"
#include "io/dicom/writer.hpp"
#include "io/dicom_folder.hpp"
#include "io/files/posix_file.hpp"
#include "io/image.hpp"
#include "io/image_type.hpp"
#include "io/voxel_kind.hpp"

namespace quietvox::io {
namespace dicom {
namespace {

/// Reads a frame's values from the end of its file, and returns what to_values() does. None if the file does not end
/// with the expected pixel data, or has room for them twice: in some broken files the last pixels are another image's.
std::optional<bool> read_values_at_end(const SliceHeader& image, VoxelDomain domain, float* out) {
  constexpr std::uint64_t cell = sizeof(std::uint16_t);
  const std::size_t count = frame_cells(image),
                    lead = image.syntax_uid == UID_LittleEndianImplicitTransferSyntax ? 4 : 6;
  const std::uint64_t pixels = cell * count * static_cast<std::uint64_t>(image.frames), whole = cell * lead + pixels;
  const RawReader file(image.path);
  if (file.size() < whole || file.size() >= 2 * whole) return std::nullopt;
  std::array<std::uint16_t, 6> start{};
  const auto words = std::make_unique_for_overwrite<std::uint16_t[]>(count);
  const auto head = std::as_writable_bytes(std::span(start)).first(cell * lead),
             body = std::as_writable_bytes(std::span(words.get(), count));
  const std::uint64_t begin = file.size() - pixels, at = begin + static_cast<std::uint64_t>(image.frame) * body.size();
  if (file.read(begin - head.size(), head) != head.size() || file.read(at, body) != body.size()) return std::nullopt;
  std::uint32_t length = 0;
  std::memcpy(&length, &start[lead - 2], sizeof length);
  if (start[0] != DCM_PixelData.getGroup() || start[1] != DCM_PixelData.getElement() || length != pixels)
    return std::nullopt;
  return to_values(image, {words.get(), count}, domain, out);
}

/// Reads images. A file that holds several, or is the only one, stays open from one to the next, which may be in
/// another volume.
class ImageValues {
 public:
  ImageValues(std::shared_ptr<DicomFile> file, Execution execution)
      : execution_(std::move(execution)), file_(std::move(file)) {}

  void read(const SliceHeader& image, VoxelDomain domain, float* out) {
    if (!values(image, domain, out)) return;
    const std::lock_guard lock(mutex_);
    cut_off_.emplace(display_name(image), &image);
  }

  /// The images read whose numbers are larger than their headers say, by name.
  std::map<std::string, const SliceHeader*> cut_off() {
    const std::lock_guard lock(mutex_);
    return cut_off_;
  }

 private:
  bool values(const SliceHeader& image, VoxelDomain domain, float* out) {
    if (image.ends_with_cells && fills_frame(image)) {
      if (const auto read = read_values_at_end(image, domain, out)) return *read;
    }
    if (const auto file = kept(image)) return file->values(image, domain, out);
    return DicomFile(image.path, execution_).values(image, domain, out);
  }

  /// The open file of an image, if that stays open.
  std::shared_ptr<DicomFile> kept(const SliceHeader& image) {
    const std::lock_guard lock(mutex_);
    if (file_ && file_->path() == image.path) return file_;
    if (is_only_image(image)) return nullptr;
    return file_ = std::make_shared<DicomFile>(image.path, execution_);
  }

  Execution execution_;
  std::mutex mutex_;
  std::shared_ptr<DicomFile> file_;
  std::map<std::string, const SliceHeader*> cut_off_;
};

class SliceReader final : public VolumeSource {
 public:
  /// `looks`: null where nothing but what is said counts.
  SliceReader(std::shared_ptr<const Series> series, std::shared_ptr<ImageValues> images,
              std::shared_ptr<KindByVoxels> looks, std::size_t volume, VoxelDomain domain, Execution execution)
      : series_(std::move(series)),
        images_(std::move(images)),
        looks_(std::move(looks)),
        index_(volume),
        volume_(series_->volumes.at(volume)),
        domain_(domain),
        execution_(std::move(execution)) {}

  Extent extent() const override { return volume_.geometry.extent; }
  Spacing spacing() const override { return volume_.geometry.spacing; }
  HeaderFacts header() const override {
    const SliceHeader& first = volume_.slices.front();
    HeaderFacts said{.kind = first.kind,
                     .kind_source = first.kind_source,
                     .are_ct_numbers = first.modality == "CT",
                     .are_of_mr = first.modality == "MR",
                     .min_is_white = first.photometric == "MONOCHROME1",
                     .is_radiograph = is_radiograph(first.modality),
                     .object_is_dark = first.object_is_dark,
                     .are_counts = first.is_linear,
                     .slices_are_even = volume_.why_2d_only.empty()};
    // Programs write labels and phases as what the scan was that they come from.
    if (!looks_ || (first.modality != "CT" && first.modality != "MR")) return said;
    return looks_->get(index_, said, {first.slope, first.intercept}, [this](std::size_t volume) {
      return std::make_unique<SliceReader>(series_, images_, nullptr, volume, VoxelDomain::stored, execution_);
    });
  }

  void read(VolumeView<float> out) override {
    if (out.extent.x != extent().x || out.extent.y != extent().y || out.origin.z < 0 ||
        out.origin.z + out.extent.z > extent().z) {
      throw Error(Errc::internal, "slices outside the volume are asked for");
    }
    parallel_for(execution_, out.extent.z, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t z = begin; z < end; ++z) {
        const SliceHeader& slice = volume_.slices[static_cast<std::size_t>(out.origin.z + z)];
        images_->read(slice, domain_, out.row(0, z));
      }
    });
  }

 private:
  std::shared_ptr<const Series> series_;
  std::shared_ptr<ImageValues> images_;
  std::shared_ptr<KindByVoxels> looks_;
  std::size_t index_;
  const Volume& volume_;
  VoxelDomain domain_;
  Execution execution_;
};

/// What all slices of all volumes have in common; none if they differ.
template <class Value>
auto in_common(const Series& series, const Value& value) {
  const auto first = value(series.volumes.front().slices.front());
  const bool is_common = std::ranges::all_of(series.volumes, [&](const Volume& volume) {
    return std::ranges::all_of(volume.slices, [&](const SliceHeader& slice) { return value(slice) == first; });
  });
  return is_common ? std::optional(first) : std::nullopt;
}

ScalarType cell_type(const PixelFormat& format) {
  if (format.bits_allocated == 8) return format.is_signed ? ScalarType::int8 : ScalarType::uint8;
  return format.is_signed ? ScalarType::int16 : ScalarType::uint16;
}

/// How the scanner was set, without the names of what it did, which may hold the b-value.
auto setting(const SliceHeader& slice) {
  return std::tie(slice.echo_time, slice.image_type, slice.contrast_agent, slice.inversion_time, slice.flip_angle,
                  slice.tube_voltage, slice.repetition_time);
}

class DicomImage final : public Image {
 public:
  /// `file`: one that is open already, or null. `is_kind_given`: what the numbers are was not left to be found.
  DicomImage(Series series, std::shared_ptr<DicomFile> file, bool is_kind_given, Execution execution)
      : series_(std::make_shared<const Series>(std::move(series))),
        images_(std::make_shared<ImageValues>(std::move(file), execution)),
        looks_(is_kind_given ? nullptr : std::make_shared<KindByVoxels>(series_->volumes.size())),
        execution_(std::move(execution)) {}

  Format format() const override { return Format::dicom; }
  std::vector<FileStamp> files() const override {
    std::map<std::filesystem::path, const FileStamp*> found;
    for (const Volume& volume : series_->volumes) {
      for (const SliceHeader& slice : volume.slices) found.emplace(slice.path, &slice.file);
    }
    std::vector<FileStamp> files;
    for (const auto& [path, state] : found) files.push_back(*state);
    return files;
  }
  std::size_t volume_count() const override { return series_->volumes.size(); }
  const Geometry& geometry(std::size_t volume) const override { return at(volume).geometry; }
  std::string why_2d_only(std::size_t volume) const override { return at(volume).why_2d_only; }
  std::string why_uneven(std::size_t volume) const override { return at(volume).why_uneven; }
  std::string name_of_slice(std::size_t volume, std::int64_t z) const override {
    return display_name(at(volume).slices[static_cast<std::size_t>(z)]);
  }
  std::vector<std::string> warnings() const override { return series_->warnings; }
  std::vector<std::string> warnings_of_voxels() const override {
    const auto images = images_->cut_off();
    if (images.empty()) return {};
    const auto& [name, image] = *images.begin();
    return {
        name + (images.size() > 1 ? " and " + std::to_string(images.size() - 1) + " more" : "") + ": " +
        tag_name(DCM_BitsStored) + " is " + std::to_string(image->format.bits_stored) +
        ", but higher bits differ from pixel to pixel: numbers that need them were cut off; if they are no overlay, "
        "correct it and " +
        tag_name(DCM_HighBit)};
  }
  std::string series_uid() const override { return at(0).slices.front().series; }
  bool is_time_series() const override { return are_made_in_turn() && !has_diffusion(); }
  bool may_have_one_noise() const override {
    return (are_made_in_turn() && !are_of_one_scan(at(0).slices.front(), at(1).slices.front())) ||
           (has_diffusion() && are_alike([](const SliceHeader& slice) { return setting(slice); }));
  }
  bool may_share_noise(std::size_t volume, std::size_t other) const override {
    const auto picture = [&](std::size_t which) {
      const SliceHeader& slice = at(which).slices.front();
      // Of CT the sequence is the kernel; of MR it may name a diffusion direction.
      return std::tuple(slice.contrast, slice.image_type, slice.modality == "CT" ? slice.sequence : "");
    };
    const SliceHeader &one = at(volume).slices.front(), &another = at(other).slices.front();
    const bool is_made_anew = one.acquired_at && another.acquired_at && *one.acquired_at != *another.acquired_at;
    return !is_made_anew && (picture(volume) != picture(other) || are_of_one_scan(one, another));
  }
  std::optional<double> repetition_time() const override {
    if (!are_made_in_turn()) return std::nullopt;
    const auto said = step_of_headers();
    auto step = steady_step();
    constexpr double jitter_ms = 10;
    if (!step && is_time_series() &&
        (are_uneven(&SliceHeader::acquired_at, 0) || are_uneven(&SliceHeader::trigger_time, jitter_ms) ||
         are_uneven(&SliceHeader::reference_time, jitter_ms))) {
      return std::nullopt;
    }
    if (!step && said) return said;
    if (!step) step = steady_step(&SliceHeader::content_time, 1);  // by a reconstruction, which may be faster or slower
    if (!step) return std::nullopt;
    return !said || std::abs(step->seconds - *said) > 0.05 * *said + step->doubt ? step->seconds : *said;
  }
  bool has_diffusion() const override {
    const auto weighting = [](const Volume& volume) {
      const SliceHeader& slice = volume.slices.front();
      return std::tie(slice.directionality, slice.b_value, slice.makers_b_value, slice.gradient);
    };
    return std::ranges::any_of(series_->volumes,
                               [&](const Volume& volume) { return weighting(volume) != weighting(at(0)); });
  }

  std::vector<Vector3> slice_positions(std::size_t volume) const override {
    std::vector<Vector3> places;
    if (!at(volume).geometry.is_placed) return places;
    for (const SliceHeader& slice : at(volume).slices) {
      if (slice.position) places.push_back(*slice.position);
    }
    return places;
  }

  bool can_filter_stored(std::size_t volume) const override {
    const auto& slices = at(volume).slices;
    return std::all_of(slices.begin(), slices.end(), [&](const SliceHeader& slice) {
      if (!slice.modality_lut.empty()) return slice.modality_lut.rises();  // the same for all slices of a volume
      return slice.slope > 0 && slice.slope == slices.front().slope && slice.intercept == slices.front().intercept;
    });
  }

  std::unique_ptr<VolumeSource> source_of(std::size_t volume, VoxelDomain domain) const override {
    return std::make_unique<SliceReader>(series_, images_, looks_, volume, domain, execution_);
  }

  std::unique_ptr<ImageWriter> writer(const std::filesystem::path& output, VoxelDomain domain,
                                      const WriteOptions& options) const override {
    WriteOptions with_access = options;
    with_access.access = options.access & access_of(*this, output);
    return make_writer(series_, output, domain, with_access);
  }

  ImageInfo info() const override {
    const SliceHeader& slice = at(0).slices.front();
    const auto rescale =
        in_common(*series_, [](const SliceHeader& one) { return std::pair(one.slope, one.intercept); });
    const auto padding = in_common(*series_, [](const SliceHeader& one) { return one.padding; });
    const auto syntax = [&](const auto& name) { return in_common(*series_, name).value_or("mixed"); };
    DicomInfo dicom{.modality = slice.modality,
                    .series_description = slice.description,
                    .series_uid = slice.series,
                    .presentation_intent = slice.intent,
                    .frames = slice.frames,
                    .bits_allocated = slice.format.bits_allocated,
                    .bits_stored = slice.format.bits_stored,
                    .photometric = slice.photometric,
                    .padding = padding,
                    .output_syntax = syntax([](const SliceHeader& one) { return syntax_to_write(one, {}); })};
    if (slice.columns != slice.frame_columns) dicom.mosaic.emplace(slice.frame_columns, slice.frame_rows);
    if (!slice.modality_lut.empty()) {
      const auto [least, most] = std::ranges::minmax(slice.modality_lut.values);
      dicom.lut.emplace(least, most);
    }
    return {.files = files_of(*series_).size(),
            .encoding = syntax([](const SliceHeader& one) { return one.syntax_name; }),
            .type = cell_type(slice.format),
            .rescale = rescale && slice.modality_lut.empty() ? std::optional(Rescale{rescale->first, rescale->second})
                                                             : std::nullopt,
            .dicom = std::move(dicom)};
  }

 private:
  const Volume& at(std::size_t volume) const { return series_->volumes.at(volume); }

  /// True where the volumes, of which there are several, lie in one place and `facts_of` a slice are the same in all.
  template <class FactsOf>
  bool are_alike(const FactsOf& facts_of) const {
    const auto& volumes = series_->volumes;
    const auto is_like_first = [&](const Volume& volume) {
      const Geometry &a = volumes.front().geometry, &b = volume.geometry;
      return facts_of(volumes.front().slices.front()) == facts_of(volume.slices.front()) && a.extent == b.extent &&
             a.origin == b.origin && a.direction == b.direction;
    };
    return volumes.size() > 1 && std::ranges::all_of(volumes, is_like_first);
  }

  /// True where headers say that two volumes of CT were acquired at one time: energies, weighted means and phases of a
  /// heart beat are computed from one scan.
  static bool are_of_one_scan(const SliceHeader& one, const SliceHeader& other) {
    const auto made = [](const SliceHeader& slice) {
      return std::tie(slice.acquired_at, slice.acquisition, slice.temporal_position, slice.reference_time);
    };
    return one.modality == "CT" && one.acquired_at && made(one) == made(other);
  }

  /// True where the volumes are one picture at several times, or with several diffusion weights.
  bool are_made_in_turn() const {
    return are_alike([](const SliceHeader& slice) {
      return std::tuple_cat(setting(slice), std::tie(slice.contrast, slice.sequence));
    });
  }

  /// The milliseconds that all images give, in seconds.
  std::optional<double> common_seconds(std::optional<double> SliceHeader::*time) const {
    const auto first = at(0).slices.front().*time;
    const bool is_common = std::ranges::all_of(series_->volumes, [&](const Volume& volume) {
      return std::ranges::all_of(volume.slices, [&](const SliceHeader& slice) { return slice.*time == first; });
    });
    return is_common && first && *first > 0 ? std::optional(*first / 1000) : std::nullopt;
  }

  /// From volume to volume, in seconds: as said outright, or the repetition time. One that is too short for a volume of
  /// many slices is that from echo to echo.
  std::optional<double> step_of_headers() const {
    constexpr double shortest_of_volumes = 0.1;
    const auto repetition = common_seconds(&SliceHeader::repetition_time);
    const auto step = common_seconds(&SliceHeader::time_step);
    if (step && *step >= repetition.value_or(0)) return step;
    return repetition && (at(0).slices.size() == 1 || *repetition >= shortest_of_volumes) ? repetition : std::nullopt;
  }

  /// Where times have no steady step.
  bool are_uneven(std::optional<double> SliceHeader::*time, double jitter) const {
    const std::vector<double> times = times_of_volumes(time);
    return std::ranges::any_of(times, [&](double each) { return std::abs(each - times.front()) > jitter; });
  }

  /// Of the first slices of the volumes; empty where one has none.
  std::vector<double> times_of_volumes(std::optional<double> SliceHeader::*time) const {
    std::vector<double> times;
    for (const Volume& volume : series_->volumes) {
      if (const auto at_volume = volume.slices.front().*time) times.push_back(*at_volume);
    }
    return times.size() == series_->volumes.size() ? times : std::vector<double>();
  }

  /// The time from each volume to the next. Headers may have it rounded to whole units.
  struct Step {
    double seconds, doubt;
  };
  /// By the clock, or else by trigger and reference times; none where it differs.
  std::optional<Step> steady_step() const {
    auto step = steady_step(&SliceHeader::acquired_at, 1);
    if (!step) step = steady_step(&SliceHeader::trigger_time, 1000);
    return step ? step : steady_step(&SliceHeader::reference_time, 1000);
  }
  std::optional<Step> steady_step(std::optional<double> SliceHeader::*time, double units_per_second) const {
    constexpr double steady = 0.1;
    const std::vector<double> times = times_of_volumes(time);
    if (times.size() < 2) return std::nullopt;
    const bool is_rounded = std::ranges::all_of(times, [](double each) { return each == std::floor(each); });
    const double step = (times.back() - times.front()) / static_cast<double>(times.size() - 1);
    const double doubt = std::max(steady * step, is_rounded ? 1.0 : 0.0);
    for (std::size_t volume = 1; volume < times.size(); ++volume) {
      if (!(std::abs(times[volume] - times[volume - 1] - step) <= doubt)) return std::nullopt;
    }
    if (!(step > 0)) return std::nullopt;
    const double doubt_of_step = is_rounded ? 1 / static_cast<double>(times.size() - 1) : 0;
    return Step{step / units_per_second, doubt_of_step / units_per_second};
  }

  std::shared_ptr<const Series> series_;
  std::shared_ptr<ImageValues> images_;
  std::shared_ptr<KindByVoxels> looks_;
  Execution execution_;
};

/// At most so many lines, and how many more there are.
std::vector<std::string> shortened(const std::vector<std::string>& names) {
  constexpr std::size_t most_named = 5;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < std::min(names.size(), most_named); ++i) lines.push_back("skipped " + names[i]);
  if (names.size() > most_named) {
    const std::size_t more = names.size() - most_named;
    lines.push_back("skipped " + std::to_string(more) + (more == 1 ? " more file" : " more files"));
  }
  return lines;
}

/// Which filters suit a mammogram, by what it is meant for; empty for other images.
std::string advice_on_mammogram(const SliceHeader& slice) {
  if (slice.modality != "MG") return {};
  if (slice.intent == "FOR PROCESSING") {
    return "the mammogram is FOR PROCESSING: the noise of the detector, which grows with the signal, suits nlm and "
           "adaptive-bilateral; mammogram-enhance is for images FOR PRESENTATION";
  }
  if (slice.intent == "FOR PRESENTATION") {
    return "the mammogram is FOR PRESENTATION, already processed for viewing: it suits mammogram-enhance, after nlm; "
           "filters against noise alone suit the image FOR PROCESSING better, where there is one";
  }
  return {};
}

void add_warnings(Series& series, const ReadOptions& options) {
  auto& warnings = series.warnings;
  for (Volume& volume : series.volumes) {
    const SliceHeader& first = volume.slices.front();
    if (const HeaderFacts given = facts_given(options); given.kind) {
      volume.slices.front().kind = given.kind;
      volume.slices.front().kind_source = given.kind_source;
    }
    if (volume.is_irregular) {
      warnings.push_back(volume.why_2d_only);
      if (options.allow_gaps) volume.why_2d_only.clear();
    }
    if (!first.has_spacing && first.frame == 0)
      warnings.push_back(first.name.string() + ": no pixel spacing; 1 mm is assumed");
  }
  const auto& all = series.volumes;
  for (const Volume& volume : all) {
    std::string odd = different_exposures(volume.slices);
    if (odd.empty()) continue;
    warnings.push_back(std::move(odd));
    break;
  }
  if (const std::string lost = why_without_position(all); !lost.empty())
    warnings.push_back(lost + ": images without it are filtered one by one");
  for (std::string& line : incomplete_concatenations(all)) warnings.push_back(std::move(line));
  const auto is_assumed = [](const Volume& volume) { return volume.slices.front().is_slice_direction_assumed; };
  if (const auto volume = std::ranges::find_if(all, is_assumed); volume != all.end()) {
    warnings.push_back(
        volume->slices.front().name.string() +
        ": its header does not give the direction of the MOSAIC's slices: their places may be mirrored along z, in "
        "NIfTI too; DICOM results keep theirs");
  }
  std::set<std::string> advice;
  for (const Volume& volume : all) advice.insert(advice_on_mammogram(volume.slices.front()));
  advice.erase("");
  warnings.insert(warnings.end(), advice.begin(), advice.end());
  const auto is_single = [](const Volume& volume) {
    return volume.slices.size() == 1 && volume.slices.front().position && volume.slices.front().axes;
  };
  if (all.size() > 1 && std::all_of(all.begin(), all.end(), is_single)) {
    const std::string count = std::to_string(all.size());
    warnings.push_back(count + " images make " + count +
                       " volumes of one slice: they differ in size, format, orientation, contrast or time");
  }
  if (std::any_of(all.begin(), all.end(), [](const Volume& volume) {
        return std::any_of(volume.slices.begin(), volume.slices.end(),
                           [](const SliceHeader& slice) { return slice.burned_in; });
      })) {
    warnings.push_back(
        "text is burned into the pixels (BurnedInAnnotation YES): it will be filtered, and it may name the patient");
  }
}

}  // namespace
}  // namespace dicom

struct DicomFolder::Impl {
  std::filesystem::path path;
  dicom::Scan found;

  std::unique_ptr<Image> open(const ReadOptions& options, std::vector<dicom::SliceHeader> images,
                              std::vector<std::string> warnings) const {
    dicom::Series series;
    series.input = path;
    series.is_folder = std::filesystem::is_directory(path);
    if (images.empty()) {
      throw Error(Errc::no_input, path.string() + ": holds no DICOM image; skipped " + found.skipped.front());
    }
    images = dicom::choose_series(std::move(images), options.series_uid, path);
    series.warnings = std::move(warnings);
    images = dicom::without_duplicates(std::move(images), path, options.execution.silent(), series.warnings);
    series.volumes = dicom::make_volumes(std::move(images), options.execution.stop);
    with_error_context(path.string(), [&] { dicom::check_rescale(series.volumes); });
    dicom::add_warnings(series, options);
    return std::make_unique<dicom::DicomImage>(std::move(series), found.only_file, options.kind.has_value(),
                                               options.execution.silent());
  }
};

DicomFolder::DicomFolder(const std::filesystem::path& path, const Execution& execution, const ScanGuard& guard)
    : impl_(new Impl{path, dicom::scan(path, execution.silent(), guard)}) {}
DicomFolder::~DicomFolder() = default;

bool DicomFolder::any_dicom() const { return impl_->found.any_dicom; }

std::vector<SeriesSummary> DicomFolder::series() const { return dicom::summaries_of(impl_->found.images, impl_->path); }

std::vector<std::string> DicomFolder::warnings() const { return dicom::shortened(impl_->found.skipped); }

std::vector<std::string> DicomFolder::skipped() const { return impl_->found.skipped; }

std::vector<Error> DicomFolder::perhaps_lost() const { return impl_->found.perhaps_lost; }

std::vector<Error> DicomFolder::unassigned() const {
  std::vector<Error> unassigned = impl_->found.unreadable;
  std::ranges::copy(impl_->found.without_series, std::back_inserter(unassigned));
  return unassigned;
}

std::unique_ptr<Image> DicomFolder::open(const ReadOptions& options) const {
  return impl_->open(options, impl_->found.images, {});
}

std::unique_ptr<Image> DicomFolder::open_alone(const ReadOptions& options) && {
  dicom::Scan& found = impl_->found;
  if (!found.unreadable.empty()) throw found.unreadable.front();
  std::vector<std::string> skipped = found.skipped;
  if (options.series_uid.empty() || found.images.empty()) {
    if (!found.without_series.empty()) throw found.without_series.front();
  } else {
    for (const Error& other : found.without_series) skipped.emplace_back(other.what());
    for (const dicom::SliceHeader& image : found.images) {
      const bool is_broken = image.problem && image.problem->code() == Errc::corrupt;
      if (is_broken && image.series != options.series_uid) skipped.emplace_back(image.problem->what());
    }
  }
  auto image = impl_->open(options, std::move(found.images), dicom::shortened(skipped));
  if (options.series_uid.empty() && !found.perhaps_lost.empty()) throw found.perhaps_lost.front();
  return image;
}

std::unique_ptr<Image> open_dicom(const std::filesystem::path& path, const ReadOptions& options) {
  DicomFolder folder(path, options.execution);
  return folder.any_dicom() ? std::move(folder).open_alone(options) : nullptr;
}

}  // namespace quietvox::io
