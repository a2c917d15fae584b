// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "core/provenance.hpp"
#include "io/image.hpp"
#include "io/output/atomic_output.hpp"

namespace quietvox::io {

/// What a file is known by, wherever it lies; a folder has no more than a name.
struct FileIdentity {
  std::string name;
  std::uint64_t bytes = 0;
  std::string xxh128{};  ///< hexadecimal
};

/// The file `a.json` beside an image `a.nii.gz`, for formats that have no place for it in the image: what was done,
/// volume by volume, with every parameter, and to which input. A JSON file of another origin
/// or of another image that is still there is never replaced.
class ProvenanceSidecar {
 public:
  /// `inputs`: the files or folders that the image came from; recorded by name, size and XXH128, without their folder,
  /// and where they are DICOM, by the UID of the series.
  ProvenanceSidecar(const std::filesystem::path& image, std::vector<std::filesystem::path> inputs, const WriteOptions&);
  ~ProvenanceSidecar();

  /// Throws what making the file would throw: exists, output_path, not_writable.
  void check() const;

  /// Volumes come in order. With the first that was filtered the place for the file is made, and the inputs begin to be
  /// hashed, beside everything else where there are threads for it.
  void add_volume(const Provenance&);

  /// Writes the file; commit it together with the image. Null where no volume was filtered: there is none then.
  AtomicOutput* finish(std::int64_t clamped_voxels);

  const std::filesystem::path& path() const { return path_; }

 private:
  std::unique_ptr<AtomicOutput> make_output() const;
  void refuse_replacing(const std::filesystem::path& found) const;
  std::string json(std::int64_t clamped_voxels);

  std::filesystem::path image_, path_;
  std::vector<std::filesystem::path> inputs_;
  bool force_;
  std::string series_;
  Access most_;
  Execution execution_;
  std::vector<Provenance> volumes_;
  std::unique_ptr<AtomicOutput> output_;
  std::stop_source stop_hashing_;
  std::future<std::vector<FileIdentity>> identities_;  // its end is waited for
};

}  // namespace quietvox::io
