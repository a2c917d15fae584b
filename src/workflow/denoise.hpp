// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/choice.hpp"
#include "core/noise_model.hpp"
#include "core/volume_view.hpp"
#include "io/image.hpp"
#include "workflow/observer.hpp"
#include "workflow/options.hpp"
#include "workflow/volume_filter.hpp"

/// The whole work: a scan, or a volume in memory, through a chain of filters.
namespace quietvox {

/// How strong the noise is taken to be: half of what was measured, as measured, one and a half times that.
enum class DenoiseStrength { light, medium, strong };
constexpr std::array<std::string_view, 3> choices(DenoiseStrength) { return {"light", "medium", "strong"}; }

/// The best filter, or nearly, for every kind of noise that scanners write (docs/denoise.md). It uses the measured
/// noise: its strength at each place, and its correlation.
FilterConfig denoising_filter(DenoiseStrength);

/// What is to be done to a scan. Input and output are enough.
struct DenoiseRequest {
  std::filesystem::path input;          ///< a DICOM, NIfTI, NRRD or MetaImage file, or a folder with a DICOM series
  std::filesystem::path output;         ///< a file, or a folder for a DICOM series
  std::vector<FilterConfig> filters{};  ///< one after another; empty: denoising_filter(strength)
  DenoiseStrength strength = DenoiseStrength::medium;  ///< where `filters` is empty
  Stabilise stabilise = Stabilise::automatic;
  InputOptions scan{};
  MaskOptions mask{};
  OutputOptions out{};
  ExecutionOptions execution{};
};

/// What was done to one volume.
struct DenoisedVolume {
  /// The filters with every `auto` replaced; in a dry run of filters that were asked for, only those that headers are
  /// enough for. Empty if this volume was left as it was because its numbers cannot be filtered, unlike those of other
  /// volumes.
  std::vector<FilterConfig> filters;
  std::vector<NoiseModel> noise{};  ///< what was measured, in the order of the filters
  std::string stabilised{};         ///< `Rician noise`, `Poisson noise` or `speckle` that was made Gaussian
  bool is_by_series = false;        ///< the noise is that of the series, DenoiseReport::noise_source
};

/// What was done to a scan.
struct DenoiseReport {
  io::Format format{};                  ///< of the output
  std::string extent;                   ///< `256x256x40, 20 volumes`
  std::vector<FilterConfig> requested;  ///< the filters, before `auto` was replaced
  Stabilise stabilise = Stabilise::none;
  std::string backend;
  Message backend_reason;
  std::vector<DenoisedVolume> volumes;
  std::string noise_source;  ///< where the noise was measured, if not in each volume alone
  std::vector<std::filesystem::path> files;
  std::vector<Message> warnings;
  std::int64_t clamped = 0;  ///< voxels that did not fit into the stored type and got its nearest value
  double seconds = 0;

  /// The first volume that was filtered.
  const DenoisedVolume& first() const;
};

/// Filters a scan from file to file. The output appears whole or not at all; everything that can be checked is checked
/// before voxels are read. Throws Error.
DenoiseReport denoise(const DenoiseRequest&, const Observer& = {});

/// Throws Error for whatever is wrong with the paths of a request. Of files it reads no more than headers, for the
/// other files that belong to them.
void check_paths(const DenoiseRequest&);

/// Filters a scan that is open already, on a backend that several runs share. Messages call the scan request.input.
DenoiseReport denoise(const DenoiseRequest&, const io::Image&, BackendSelector&, const Observer&);

/// The filters of a request.
std::vector<FilterConfig> filters_of(const DenoiseRequest&);

/// What is to be done to a volume in memory, or to the volumes of a series.
struct VolumeRequest {
  std::vector<FilterConfig> filters{};  ///< as in DenoiseRequest
  DenoiseStrength strength = DenoiseStrength::medium;
  Stabilise stabilise = Stabilise::automatic;
  HeaderFacts header{};  ///< what the voxels are; without a kind, they are looked at: labels and phases are refused
  VolumeView<const float> mask{};  ///< of the same extent; where it is 0, voxels keep their value; empty: everywhere
  bool are_times = false;          ///< of a series: the volumes are one picture at several times, and have one noise
  ExecutionOptions execution{};
};

/// What was done to a volume in memory.
struct VolumeReport {
  DenoisedVolume volume;
  std::string backend;
  std::vector<Message> warnings;
};

/// What was done to the volumes of a series in memory.
struct SeriesReport {
  std::vector<DenoisedVolume> volumes;
  std::string noise_source;  ///< as in DenoiseReport
  std::string backend;
  std::vector<Message> warnings;
};

/// Filters a volume from memory to memory. `output` has the extent of `input` and does not overlap it. Voxels that are
/// not finite are missing: they count for no neighbour and stay as they are. `input.spacing` is in mm. Throws Error.
VolumeReport denoise(VolumeView<const float> input, VolumeView<float> output, const VolumeRequest& = {},
                     const Observer& = {});

/// Filters the volumes of a series, such as time points, directions of diffusion or echoes, one after another. The
/// noise of each is told by its difference from another one, too. All have one extent and spacing. Otherwise as above.
SeriesReport denoise(std::span<const VolumeView<const float>> input, std::span<const VolumeView<float>> output,
                     const VolumeRequest& = {}, const Observer& = {});

}  // namespace quietvox
