// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <tuple>

#include "core/fields.hpp"
#include "workflow/denoise.hpp"
#include "workflow/options.hpp"

/// The options that commands share besides those of the workflow.
namespace quietvox::cli {

struct SeriesOptions {
  bool all_series = false;
  std::string include;

  static constexpr std::string_view name = "", title = "Folders of several series";
  static consteval auto fields() {
    return std::tuple{
        field(
            "all-series", &SeriesOptions::all_series,
            "Filter every DICOM series of a folder, or those that --modality, --series-number or --series-description "
            "select, each into its own folder below OUTPUT; what cannot be filtered is named, and the first error is "
            "the exit status."),
        field("include", &SeriesOptions::include, NoRange{}, "WORDS",
              "What --all-series filters besides images, with commas between: processed (by quietvox), "
              "localizer, secondary-capture."),
    };
  }
};

constexpr const char* stabilise_help =
    "Transforms the data so that its noise is Gaussian before filters, and back without bias. rician: MR magnitudes; "
    "poisson: counts and X-rays, variance grows with the value; speckle: standard deviation grows with the value; "
    "auto: whichever was found, if one filter goes by the measured noise, and all others do or are a median; "
    "none: never.";

struct NoiseOptions {
  Stabilise stabilise = Stabilise::automatic;

  static constexpr std::string_view name = "", title = "Noise";
  static consteval auto fields() { return std::tuple{field("stabilise", &NoiseOptions::stabilise, stabilise_help)}; }
};

enum class ProgressStyle { automatic, bar, plain, json, none };
constexpr std::array<std::string_view, 5> choices(ProgressStyle) { return {"auto", "bar", "plain", "json", "none"}; }

struct ReportOptions {
  ProgressStyle progress = ProgressStyle::automatic;
  bool quiet = false;
  bool verbose = false;
  bool json = false;
  std::string log_file;

  static constexpr std::string_view name = "", title = "Reporting";
  static consteval auto fields() {
    return std::tuple{
        field("progress", &ReportOptions::progress, "Progress on stderr; auto: a bar on a terminal, else none."),
        field("quiet", &ReportOptions::quiet, "No messages but errors."),
        field("verbose", &ReportOptions::verbose, "More messages, and the causes of errors."),
        field("json", &ReportOptions::json, "Print the result as one JSON document on stdout."),
        field("log-file", &ReportOptions::log_file, NoRange{}, "FILE", "Append the messages to this file too."),
    };
  }
};

}  // namespace quietvox::cli
