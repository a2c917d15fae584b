// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "core/fields.hpp"
#include "io/image.hpp"

/// What can be said about an input, an output and the work between, as parameter tables like those of the filters.
namespace quietvox {

/// Which scan is read, and what counts as one.
struct InputOptions {
  std::string series{}, modality{};
  std::optional<int> series_number{};
  std::string series_description{};
  bool allow_gaps = false;
  std::optional<DataKind> force_kind{};

  static constexpr std::string_view name = "", title = "Input";
  static consteval auto fields() {
    return std::tuple{
        field("series", &InputOptions::series, NoRange{}, "UID",
              "Which DICOM series of a folder that holds several; no effect on other inputs."),
        field("modality", &InputOptions::modality, NoRange{}, "WORD",
              "Only series of this modality, such as CT or MR."),
        field("series-number", &InputOptions::series_number, {-2147483647, 2147483647}, "",
              "Only series with this number; auto: any."),
        field("series-description", &InputOptions::series_description, NoRange{}, "TEXT",
              "Only series whose description contains this text, ignoring case."),
        field("allow-gaps", &InputOptions::allow_gaps,
              "Accept missing, repeated, tilted or unevenly spaced slices as if they were even; formats other than "
              "DICOM place them evenly."),
        field("force-kind", &InputOptions::force_kind,
              "What the voxels mean; auto: by header and content. Labels, vectors, colours and lists are not filtered, "
              "phases only by the median."),
    };
  }
};

/// Where voxels are filtered, and where what was taken out goes.
struct MaskOptions {
  std::string mask{};
  std::string residual{};

  static constexpr std::string_view name = "", title = "Mask and residual";
  static consteval auto fields() {
    return std::tuple{
        field("mask", &MaskOptions::mask, NoRange{}, "FILE",
              "Image of the same extent; where it is 0, voxels stay unchanged and their neighbours ignore them."),
        field("residual", &MaskOptions::residual, NoRange{}, "FILE",
              "Also write input minus output, in real units, to this NIfTI file; none by default."),
    };
  }
};

enum class OutputType { same, int16, uint16, float32 };
constexpr std::array<std::string_view, 4> choices(OutputType) { return {"same", "int16", "uint16", "float32"}; }

enum class OutputFormat { automatic, dicom, nifti, nrrd, metaimage };
constexpr std::array<std::string_view, 5> choices(OutputFormat) {
  return {"auto", "dicom", "nifti", "nrrd", "metaimage"};
}

/// How the result is stored.
struct OutputOptions {
  OutputType output_type = OutputType::same;
  OutputFormat output_format = OutputFormat::automatic;
  std::optional<bool> compress{};
  std::optional<io::Codec> codec{};
  bool force = false;
  std::optional<std::string> series_description_suffix{};
  std::optional<int> series_offset{};
  bool dry_run = false;

  static constexpr std::string_view name = "", title = "Output";
  static consteval auto fields() {
    return std::tuple{
        field("output-type", &OutputOptions::output_type,
              "Stored voxel type; same: the input's, or float32 if the format changes. Integers are rounded and "
              "clamped. DICOM always keeps its own type."),
        field("output-format", &OutputOptions::output_format,
              "File format; auto: by the output's ending, else that of the input. DICOM is written from DICOM only."),
        field("compress", &OutputOptions::compress, "Compress the output; auto: by its ending, else as the input."),
        field("codec", &OutputOptions::codec,
              "Compress DICOM without loss, by this codec; auto: jpeg-ls, if the output is to be compressed."),
        field("force", &OutputOptions::force, "Replace an existing output."),
        field("series-description-suffix", &OutputOptions::series_description_suffix, NoRange{}, "TEXT",
              "Appended to the DICOM series description; auto: the filters, with what differs from their defaults."),
        field("series-offset", &OutputOptions::series_offset, {0, 10000000}, "",
              "Added to the DICOM series number, where it fits; auto: a multiple of 1000 that depends on the "
              "filters."),
        field("dry-run", &OutputOptions::dry_run, "Check everything and say what would be written; write nothing."),
    };
  }
};

/// What a run may use.
struct ExecutionOptions {
  std::string backend = "auto";
  int threads = 0;
  std::optional<int> memory_limit{};

  static constexpr std::string_view name = "", title = "Execution";
  static consteval auto fields() {
    return std::tuple{
        field("backend", &ExecutionOptions::backend, NoRange{}, "auto|cpu|cuda[:N]",
              "Where filters run; auto: a CUDA device if there is one and starting it pays off, else the CPU."),
        field("threads", &ExecutionOptions::threads, {0, 4096}, "", "CPU threads; 0: one per core."),
        field("memory-limit", &ExecutionOptions::memory_limit, {1, 1 << 24}, "MiB",
              "Most memory that the process may take; larger volumes are filtered in slabs, with the same result; "
              "auto: no limit."),
    };
  }
};

}  // namespace quietvox
