// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "backends/choice.hpp"
#include "cli/command.hpp"
#include "cli/json.hpp"
#include "io/image.hpp"

/// What `quietvox median`, `quietvox run` and every other filter command do: input -> chain of filters -> output.
namespace quietvox::cli {

/// Everything that was asked for.
struct Job {
  std::filesystem::path input, output;
  std::vector<Settings> chain;
  InputOptions in;
  SeriesOptions series;
  MaskOptions mask;
  OutputOptions out;
  Stabilise stabilise = Stabilise::none;
  WorkOptions work;
  bool is_denoise = false;  ///< the filter was not chosen by hand; a dry run measures the noise of the first volume
};

/// What was done, for people and for programs.
struct Summary {
  io::Format format{};
  std::string extent, backend, backend_why;
  std::vector<std::vector<Settings>> resolved;  ///< per volume
  std::vector<std::vector<NoiseModel>> noise;   ///< per volume that was filtered: what was measured
  std::vector<std::string> stabilised;  ///< per volume that was filtered: `Rician noise` where that was made Gaussian
  std::string noise_source;             ///< where, if not in each volume alone
  std::vector<std::filesystem::path> files;
  std::vector<std::string> warnings;
  std::int64_t clamped = 0;
  double seconds = 0;
};

/// Filters an opened image and tells of it.
Summary run_job(const Job&, const io::Image&, BackendOfRuns&, Context&);

Json described(const Job&, const Summary&);

/// INPUT and OUTPUT.
std::vector<Operand> filter_operands();
/// The shared options of such commands, but for NoiseOptions.
std::vector<OptionGroup> filter_option_groups();

/// What the arguments say, besides the chain.
Job job_of(const Arguments&);
void run_filters(const Job&, Context&);

}  // namespace quietvox::cli
