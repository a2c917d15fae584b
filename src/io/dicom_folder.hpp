// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/image.hpp"

namespace quietvox::io {

/// What a series is of: images, or something that people rarely want filtered.
enum class SeriesKind {
  images,
  processed,  ///< by quietvox
  localizer,
  secondary_capture,
};
constexpr std::array<std::string_view, 4> choices(SeriesKind) {
  return {"images", "processed", "localizer", "secondary-capture"};
}

/// What a series of a DICOM folder is, by the headers of its files.
struct SeriesSummary {
  std::string uid, modality, description, number;
  std::string view;  ///< side and projection of radiographs, as `R CC`; empty where the headers do not say
  SeriesKind kind = SeriesKind::images;
  std::filesystem::path place;         ///< below the folder: the file, or the folder that holds all its files
  std::size_t files = 0, images = 0;   ///< a file may hold several images; copies do not count
  std::int64_t columns = 0, rows = 0;  ///< of the first image
  std::string problem;                 ///< why it cannot be used, by its headers; empty where it can
};

/// `CT 201, localizer, 14 images in 2 files, 512 x 512 pixels, Head; export/IM1`
std::string described(const SeriesSummary&);
/// `1.2.3 (CT 201, 14 images, ...), 1.2.4 (...) and 5 more`
std::string listed(std::span<const SeriesSummary>);

/// For folders with files at which a parser may crash.
struct ScanGuard {
  std::set<std::filesystem::path> left_out{};                       ///< files that are not looked at
  std::function<void(const std::filesystem::path& file)> before{};  ///< called before a file is parsed, by any thread
};

/// A DICOM folder that may hold several series. Its headers are read once.
class DicomFolder {
 public:
  explicit DicomFolder(const std::filesystem::path&, const Execution& = {}, const ScanGuard& = {});
  ~DicomFolder();
  bool any_dicom() const;
  std::vector<SeriesSummary> series() const;  ///< in the order of their UIDs
  std::vector<std::string> warnings() const;  ///< the first files that were skipped, and how many more
  std::vector<std::string> skipped() const;   ///< all of them, `NAME: reason`
  std::vector<Error> perhaps_lost() const;    ///< of these, what may have been an image: it is no DICOM, but called so
  std::vector<Error> unassigned() const;      ///< files that belong to no series or cannot be read
  /// One series, without warnings about other files. Throws as open_dicom() does.
  std::unique_ptr<Image> open(const ReadOptions&) const;
  /// The same where it is all that is asked for: warns of files that were skipped. Where no series is named, files that
  /// may belong to it and cannot be read are an Error. The headers go to the image; the folder is not used again.
  std::unique_ptr<Image> open_alone(const ReadOptions&) &&;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace quietvox::io
