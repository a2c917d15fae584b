// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/filter_job.hpp"
#include "filters/registry.hpp"

namespace quietvox::cli {
namespace {

enum class DenoiseStrength { light, medium, strong };
constexpr std::array<std::string_view, 3> choices(DenoiseStrength) { return {"light", "medium", "strong"}; }

struct DenoiseOptions {
  DenoiseStrength strength = DenoiseStrength::medium;
  Stabilise stabilise = Stabilise::automatic;

  static constexpr std::string_view name = "denoise", title = "Denoising";
  static consteval auto fields() {
    return std::tuple{
        field("strength", &DenoiseOptions::strength,
              "How much of the measured noise is taken for noise: light half of it, medium all, strong "
              "one and a half times as much."),
        field("stabilise", &DenoiseOptions::stabilise, stabilise_help),
    };
  }
};

/// The best filter, or nearly, on noise of every kind that scanners write (docs/denoise.md). It goes by the measured
/// noise: how strong it is where, and how correlated.
Settings denoising_filter(DenoiseStrength strength) {
  Settings filter(find_filter("bm4d"));
  if (strength == DenoiseStrength::light) filter.set("strength", "0.5");
  if (strength == DenoiseStrength::strong) filter.set("strength", "1.5");
  return filter;
}

}  // namespace

Command denoise_command() {
  std::vector<OptionGroup> groups = filter_option_groups();
  groups.insert(groups.begin(), option_group<DenoiseOptions>());
  return {"denoise", "Measures the noise of a scan and takes it out; the one command where nothing must be chosen.",
          filter_operands(), std::move(groups), [](const Arguments& arguments, Context& context) {
            const auto options = arguments.params<DenoiseOptions>();
            Job job = job_of(arguments);
            job.chain = {denoising_filter(options.strength)};
            job.is_denoise = true;
            job.stabilise = options.stabilise;
            run_filters(job, context);
          }};
}

}  // namespace quietvox::cli
