// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "cli/command.hpp"
#include "cli/images.hpp"
#include "cli/json.hpp"
#include "quality/noise_estimate.hpp"

namespace quietvox::cli {
namespace {

std::string name_of(NoiseMethod method) { return std::string(choices(method)[static_cast<std::size_t>(method)]); }

/// How far an estimate can be relied on, by its standard error.
const char* confidence_of(const NoiseEstimate& estimate) {
  if (estimate.blocks == 0 || estimate.sigma == 0) return "none";
  return estimate.standard_error < 0.01 ? "high" : estimate.standard_error < 0.05 ? "medium" : "low";
}

void print_text(const std::vector<NoiseEstimate>& estimates) {
  for (const NoiseEstimate& estimate : estimates) {
    if (estimate.blocks == 0) {
      std::printf("%-6s no blocks to go by\n", name_of(estimate.method).c_str());
      continue;
    }
    std::printf("%-6s sigma %.4g, standard error %.2g %%, %lld blocks, confidence %s\n",
                name_of(estimate.method).c_str(), estimate.sigma, 100 * estimate.standard_error,
                static_cast<long long>(estimate.blocks), confidence_of(estimate));
  }
}

void estimate_image(const Arguments& arguments, Context& context) {
  const std::string& path = arguments.operand(0);
  const auto image = open_input(path, arguments.params<InputOptions>(), context.background());
  Json volumes = Json::array();
  for (std::size_t volume = 0; volume < image->volume_count(); ++volume) {
    const auto estimates = estimate_noise_by_every_method(*image->volume(volume, io::Values::real));
    if (!context.json) {
      if (image->volume_count() > 1) std::printf("volume %zu\n", volume + 1);
      print_text(estimates);
      continue;
    }
    Json methods = Json::object();
    for (const NoiseEstimate& estimate : estimates) {
      methods[name_of(estimate.method)] = {{"sigma", estimate.blocks > 0 ? Json(estimate.sigma) : Json()},
                                           {"standard_error", estimate.standard_error},
                                           {"blocks", estimate.blocks},
                                           {"confidence", confidence_of(estimate)}};
    }
    volumes.push_back({{"sigma", estimates.front().sigma},
                       {"method", name_of(estimates.front().method)},
                       {"confidence", confidence_of(estimates.front())},
                       {"methods", methods}});
  }
  if (context.json) print_json({{"input", path}, {"volumes", volumes}});
}

}  // namespace

Command estimate_command() {
  return {"estimate",
          "Noise of an image: its standard deviation by several methods; filters that need it take 'haar'.",
          {{"INPUT", "A DICOM, NIfTI, NRRD or MetaImage file, or a folder with a DICOM series."}},
          {option_group<InputOptions>()},
          estimate_image};
}

}  // namespace quietvox::cli
