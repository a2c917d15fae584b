// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/parsing/shared_options.hpp"
#include "workflow/denoise.hpp"

/// What `quietvox median`, `quietvox run` and every other filter command do: input -> chain of filters -> output.
namespace quietvox::cli {

/// Everything that was asked for.
struct Job {
  DenoiseRequest request;
  SeriesOptions series;
};

/// INPUT and OUTPUT.
std::vector<Operand> filter_operands();
/// The shared options of such commands, but for NoiseOptions.
std::vector<OptionGroup> filter_option_groups();

/// What the arguments say, besides the filters.
Job job_of(const Arguments&);
void run_filters(const Job&, Context&);

/// Filters an opened image, prints messages for people, and returns the JSON document for programs.
Json filter_and_report(const DenoiseRequest&, const io::Image&, BackendSelector&, Context&);

/// `3 voxels came out beyond the range of the stored type and were clamped to it`.
std::string describe_clamped(std::int64_t voxels);

/// `out.nii with out.json`, `ct-median, 40 files`: where an output went, for people.
std::string describe_files(const std::filesystem::path& output, const std::vector<std::filesystem::path>& files);

}  // namespace quietvox::cli
