// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/filter_job/filter_job.hpp"

namespace quietvox::cli {
namespace {

struct DenoiseOptions {
  DenoiseStrength strength = DenoiseStrength::medium;
  Stabilise stabilise = Stabilise::automatic;

  static constexpr std::string_view name = "denoise", title = "Denoising";
  static consteval auto fields() {
    return std::tuple{
        field("strength", &DenoiseOptions::strength,
              "How strong the noise is taken to be: light half of what was measured, medium as measured, strong one "
              "and a half times that."),
        field("stabilise", &DenoiseOptions::stabilise, stabilise_help),
    };
  }
};

}  // namespace

Command denoise_command() {
  std::vector<OptionGroup> groups = filter_option_groups();
  groups.insert(groups.begin(), option_group<DenoiseOptions>());
  return {"denoise", "Measures the noise of a scan and takes it out; the one command where nothing must be chosen.",
          filter_operands(), std::move(groups), [](const Arguments& arguments, Context& context) {
            const auto options = arguments.params<DenoiseOptions>();
            Job job = job_of(arguments);
            job.request.strength = options.strength;
            job.request.stabilise = options.stabilise;
            run_filters(job, context);
          }};
}

}  // namespace quietvox::cli
