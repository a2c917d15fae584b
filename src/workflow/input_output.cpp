// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "workflow/input_output.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <system_error>

#include "core/lower_case.hpp"
#include "io/create.hpp"
#include "io/dicom/result_series_key.hpp"
#include "io/dicom_folder.hpp"
#include "io/files/path_overlap.hpp"
#include "io/files/paths.hpp"
#include "io/nifti/file.hpp"
#include "io/output/atomic_output.hpp"
#include "io/provenance/provenance_sidecar.hpp"
#include "io/voxel_codec.hpp"
#include "itk_adapters/file_io/image_io.hpp"
#include "workflow/series_choice.hpp"

namespace quietvox {
namespace fs = std::filesystem;
namespace {

std::optional<io::Format> format_of_ending(const fs::path& path) {
  const std::string name = in_lower_case(path.filename().string());
  const auto ends = [&](std::string_view ending) { return name.ends_with(ending); };
  if (ends(".nii") || ends(".nii.gz") || ends(".hdr") || ends(".img") || ends(".hdr.gz") || ends(".img.gz")) {
    return io::Format::nifti;
  }
  if (ends(".nrrd") || ends(".nhdr")) return io::Format::nrrd;
  if (ends(".mha") || ends(".mhd")) return io::Format::metaimage;
  if (ends(".dcm")) return io::Format::dicom;
  return std::nullopt;
}

/// Whether a name is one of a file that is no DICOM file and has no format of ours.
bool has_foreign_ending(const fs::path& path) {
  static const std::set<std::string> foreign{".bmp", ".bz2", ".gif",  ".gz",  ".h5",  ".jpeg", ".jpg", ".mat",
                                             ".mgh", ".mgz", ".mif",  ".mnc", ".npy", ".npz",  ".pdf", ".png",
                                             ".tar", ".tif", ".tiff", ".vti", ".vtk", ".xz",   ".zip"};
  return foreign.contains(in_lower_case(path.extension().string()));
}

constexpr const char* usual_endings = "give .nii, .nii.gz, .nrrd or .mha";

/// The endings that name a format, for error messages.
std::string endings(std::optional<io::Format> format) {
  if (format == io::Format::nrrd) return ".nrrd or .nhdr";
  if (format == io::Format::metaimage) return ".mha or .mhd";
  return ".nii or .nii.gz";
}

/// Throws if the volumes differ in geometry: formats other than DICOM have one for all. Error(irregular) where one has
/// fewer slices than another, as one whose scan was ended early; else Error(unsupported).
void check_common_geometry(const io::Image& image, const fs::path& input, io::Format format, const Message& instead) {
  const io::Geometry& first = image.geometry(0);
  for (std::size_t volume = 1; volume < image.volume_count(); ++volume) {
    const io::Geometry& other = image.geometry(volume);
    const auto slices = [](const io::Geometry& of) { return std::to_string(of.extent.z); };
    if (other.direction == first.direction && other.extent.z != first.extent.z &&
        other.extent.slice() == first.extent.slice()) {
      throw Error(Errc::irregular,
                  input.string() + ": volume " + std::to_string(volume + 1) + " has " + slices(other) +
                      " slices, the first one " + slices(first) + ", and one " + io::to_string(format) +
                      " file cannot hold both",
                  instead);
    }
    if (other.extent != first.extent || other.spacing != first.spacing || other.origin != first.origin ||
        other.direction != first.direction) {
      throw Error(Errc::unsupported,
                  input.string() + ": the volumes lie in different places or differ in extent or spacing, and one " +
                      io::to_string(format) + " file cannot hold them",
                  instead);
    }
  }
}

}  // namespace

void check_input(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) {
    throw Error(Errc::input_path, path.string() + ": no such file or folder");
  }
  if (!fs::status_known(status)) {
    throw Error(Errc::input_path, path.string() + ": cannot be examined: " + error.message());
  }
  if (!fs::is_regular_file(status) && !fs::is_directory(status)) {
    throw Error(Errc::input_path, path.string() + ": is neither a file nor a folder");
  }
  if (access(path.c_str(), R_OK) != 0) throw Error(Errc::input_path, path.string() + ": is not readable");
}

std::unique_ptr<io::Image> open_input(const fs::path& path, const InputOptions& options, const Execution& execution) {
  check_input(path);
  io::ReadOptions reading{.allow_gaps = options.allow_gaps,
                          .series_uid = options.series,
                          .kind = options.force_kind,
                          .execution = execution};
  std::unique_ptr<io::Image> image;
  if (chooses_by_header(options)) {
    if (!fs::is_directory(path)) {
      throw Error(Errc::invalid_argument, path.string() + ": is a file, and has no series to choose from by its header",
                  "leave that out, or give a folder");
    }
    io::DicomFolder folder(path, execution);
    if (!folder.series().empty()) reading.series_uid = only_chosen_series(folder, path, options);
    if (folder.any_dicom()) image = std::move(folder).open_alone(reading);
  }
  if (!image) image = io::open_image(path, reading);
  if (!image) image = open_itk_image(path, reading);
  if (!image || image->volume_count() == 0) {
    throw Error(Errc::no_input, path.string() + (fs::is_directory(path)
                                                     ? ": holds no DICOM image; give files of other formats one by one"
                                                     : ": is not a DICOM, NIfTI, NRRD or MetaImage file"));
  }
  return image;
}

void check_output(const fs::path& output, io::Format format, bool force, const fs::path& input) {
  using Kind = io::AtomicOutput::Kind;
  const bool folder = format == io::Format::dicom && (input.empty() || fs::is_directory(input));
  const io::AtomicOutput refused_or_free(
      output, folder ? Kind::folder : Kind::file, force, input, {},
      folder ? io::dicom_results_of_one_series(output) : io::AtomicOutput::Examine());
  if (format == io::Format::dicom) return;
  // It names a pair of files by the header.
  const fs::path image = format == io::Format::nifti ? io::nifti_target(output, {}).paths.header : output;
  io::ProvenanceSidecar(image, input.empty() ? std::vector<fs::path>() : std::vector{input}, {.force = force}).check();
}

std::vector<fs::path> files_of_image(const fs::path& path) {
  if (!io::is_file(path)) return {path};
  try {
    if (const auto nifti = io::find_nifti(path)) return nifti->paths.all();
    if (auto files = itk_files(path); !files.empty()) return files;
  } catch (const Error&) {  // who opens it says what is wrong with it
  }
  return {path};
}

std::vector<fs::path> files_of_output(const fs::path& output, io::Format format, std::optional<bool> compress) {
  if (format == io::Format::dicom) return {output};
  std::vector<fs::path> files;
  if (format == io::Format::nifti) {
    files = io::nifti_target(output, compress).paths.all();
  } else {
    for (const bool compressed : {false, true}) {  // where it is not said, the input decides
      if (compress.value_or(compressed) != compressed) continue;
      const auto some = itk_output_files(output, compressed);
      files.insert(files.end(), some.begin(), some.end());
    }
  }
  files.push_back(io::sidecar_of(output));
  return files;
}

std::vector<fs::path> all_files_of(const std::vector<std::string>& words) {
  std::vector<fs::path> files;
  for (const std::string& word : words) {
    if (word.empty()) continue;
    const auto format = format_of_ending(word).value_or(io::Format::dicom);
    for (const auto& some : {files_of_image(word), files_of_output(word, format, std::nullopt)}) {
      files.insert(files.end(), some.begin(), some.end());
    }
  }
  return files;
}

std::vector<Source> named_files(std::span<const FilterConfig> chain) {
  std::vector<Source> sources;
  for (const FilterConfig& step : chain) {
    for (const FieldInfo& field : step.filter().fields) {
      if (field.kind != FieldKind::text) continue;
      const std::string value = step.get(field.name);
      std::error_code ignored;
      // The name of a preset has no hash, whatever lies about under that name.
      if (!fs::exists(value, ignored) || step.with_content_hashes().get(field.name) == value) continue;
      sources.push_back({value, field.name});
    }
  }
  return sources;
}

void refuse_overlaps(const std::vector<fs::path>& files, const std::vector<Source>& sources) {
  for (const Source& source : sources) {
    if (source.path.empty()) continue;
    check_input(source.path);
    for (const fs::path& part : files_of_image(source.path)) {
      for (const fs::path& file : files) io::refuse_overlap(file, part, source.role);
    }
  }
}

io::Format output_format(OutputFormat choice, const fs::path& output, std::optional<io::Format> input) {
  const auto wanted = [&]() -> std::optional<io::Format> {
    switch (choice) {
      case OutputFormat::automatic: break;
      case OutputFormat::dicom: return io::Format::dicom;
      case OutputFormat::nifti: return io::Format::nifti;
      case OutputFormat::nrrd: return io::Format::nrrd;
      case OutputFormat::metaimage: return io::Format::metaimage;
    }
    const auto by_ending = format_of_ending(output);
    if (by_ending) return by_ending;
    if ((!input || *input == io::Format::dicom) && !has_foreign_ending(output)) return io::Format::dicom;
    return std::nullopt;
  }();
  if (!wanted) {
    const bool may_be_folder = !input || *input == io::Format::dicom;
    throw Error(
        Errc::invalid_argument, output.string() + ": the ending names no known format",
        std::string(usual_endings) + (may_be_folder ? ", or, for a DICOM series, a name without an ending" : ""));
  }
  if (*wanted != io::Format::dicom && format_of_ending(output) != wanted) {
    throw Error(Errc::invalid_argument,
                output.string() + ": the ending is not that of a " + io::to_string(*wanted) + " file",
                "give " + endings(wanted));
  }
  const std::string ending = output.extension().string();
  if ((*wanted == io::Format::nrrd || *wanted == io::Format::metaimage) && ending != in_lower_case(ending)) {
    throw Error(Errc::invalid_argument, output.string() + ": ITK writes only files whose ending is in small letters",
                "give " + in_lower_case(ending));
  }
  if (*wanted == io::Format::dicom && input && *input != io::Format::dicom) {
    throw Error(Errc::invalid_argument,
                output.string() + ": DICOM can be written from DICOM only, and the input is " + io::to_string(*input),
                usual_endings);
  }
  return *wanted;
}

void check_places(const io::Image& image, const fs::path& input, const InputOptions& options, io::Format format,
                  const Message& instead, std::vector<Message>& warnings) {
  if (image.is_time_series() && !image.repetition_time()) {
    warnings.push_back("the volumes are unevenly spaced in time, or their times are unknown, so the " +
                       io::to_string(format) + " file states no time step");
  }
  if (image.has_diffusion()) {
    warnings.push_back(io::to_string(format) +
                       " does not hold b-values and gradient directions; they remain in the DICOM files");
  }
  for (std::size_t volume = 0; volume < image.volume_count(); ++volume) {
    const std::string why = image.why_uneven(volume);
    if (why.empty()) continue;
    if (!options.allow_gaps) {
      throw Error(
          Errc::irregular,
          input.string() + ": " + why + ", and " + io::to_string(format) + " can only hold evenly spaced slices",
          instead + ", or give " + Parameter{"allow-gaps"} + " to space them evenly");
    }
    warnings.push_back("the slices are placed evenly in " + io::to_string(format) + ", but are uneven");
    break;
  }
  check_common_geometry(image, input, format, instead);
}

namespace {

std::optional<io::ScalarType> scalar_type(OutputType type) {
  switch (type) {
    case OutputType::int16: return io::ScalarType::int16;
    case OutputType::uint16: return io::ScalarType::uint16;
    case OutputType::float32: return io::ScalarType::float32;
    case OutputType::same: break;
  }
  return std::nullopt;
}

}  // namespace

void check_format(const OutputOptions& options, io::Format format) {
  const std::pair<const char*, bool> of_dicom[] = {
      {"codec", options.codec.has_value()},
      {"series-offset", options.series_offset.has_value()},
      {"series-description-suffix", options.series_description_suffix.has_value()}};
  for (const auto& [name, is_given] : of_dicom) {
    if (!is_given || format == io::Format::dicom) continue;
    throw Error(Errc::invalid_argument, Parameter{name} + " is for DICOM, and the output is " + io::to_string(format),
                "leave it out");
  }
  if (options.codec && options.compress == false) {
    throw Error(Errc::invalid_argument,
                Parameter{"codec"} + " and " + Parameter{"no-compress"} + " contradict each other", "give one of them");
  }
}

io::WriteOptions write_options(const OutputOptions& options, const fs::path& input, const Execution& execution) {
  return {.force = options.force,
          .compress = options.codec ? true : options.compress,
          .codec = options.codec.value_or(io::Codec::jpeg_ls),
          .output_type = scalar_type(options.output_type),
          .series_description_suffix = options.series_description_suffix,
          .series_offset = options.series_offset,
          .execution = execution,
          .input = input};
}

void check_finite(VolumeView<const float> voxels, OutputType type, const fs::path& output) {
  if (std::all_of(voxels.data, voxels.data + voxels.extent.voxels(),
                  [](float value) { return std::isfinite(value); })) {
    return;
  }
  with_error_context(output.string(), [&] { throw io::not_finite_error(FieldType<OutputType>::format(type)); });
}

std::unique_ptr<io::ImageWriter> make_writer(const io::Image& image, io::Format format, const fs::path& output,
                                             io::VoxelDomain domain, const io::WriteOptions& options) {
  if (format == image.format()) return image.writer(output, domain, options);
  io::WriteOptions with_series = options;
  with_series.input_series = image.series_uid();
  with_series.volume_seconds = image.repetition_time();
  with_series.access = options.access & io::access_of(image, output);
  return create_image(format, output, image.geometry(0), image.volume_count(), "", with_series);
}

std::unique_ptr<io::ImageWriter> create_image(io::Format format, const fs::path& output, const io::Geometry& geometry,
                                              std::size_t volumes, const std::string& modality,
                                              const io::WriteOptions& options) {
  switch (format) {
    case io::Format::dicom: return io::create_dicom(output, geometry, modality, options);
    case io::Format::nifti: return io::create_nifti(output, geometry, volumes, options);
    case io::Format::nrrd:
    case io::Format::metaimage: return create_itk_image(output, geometry, volumes, options);
  }
  throw Error(Errc::internal, "an output format without a writer");
}

std::string describe_extent(const Extent& extent) {
  return std::to_string(extent.x) + "x" + std::to_string(extent.y) + "x" + std::to_string(extent.z);
}

std::string describe_extent(const io::Image& image) {
  std::string text = describe_extent(image.geometry(0).extent);
  if (image.volume_count() > 1) text += ", " + std::to_string(image.volume_count()) + " volumes";
  return text;
}

}  // namespace quietvox
