// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dcmtk/config/osconfig.h>
// osconfig.h must come first.
#include <dcmtk/dcmdata/dcdatset.h>
#include <dcmtk/dcmdata/dcerror.h>
#include <dcmtk/dcmdata/dcistrmf.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/execution.hpp"
#include "io/files/posix_file.hpp"

namespace quietvox::io::dicom {

/// Error(corrupt) for sequences that are nested deeper than most_nested.
Error nested_too_deep_error();

/// A file, opened so that nobody waits for what is a pipe by then.
class OpenedFile {
 protected:
  explicit OpenedFile(const std::filesystem::path&);
  const char* name() const { return name_.c_str(); }

 private:
  Descriptor file_;
  std::string name_;
};

/// A file as DCMTK reads it. DCMTK parses nested sequences by recursion, makes objects of some hundred bytes of every
/// element, unpacks what is deflated, looks through all elements of an item for the place of one that is out of order
/// and through all private creators for that of a private one, and does not look for stop requests. So the stream does:
/// past a limit, or where a stop is requested, it breaks off, and DCMTK gives up.
class GuardedInput final : private OpenedFile, public DcmInputFileStream {
 public:
  /// The stack is measured from here on. `into`: where the elements go, which tells their byte order; null where none
  /// are parsed.
  GuardedInput(const std::filesystem::path&, const Execution&, const DcmDataset* into = nullptr);

  /// Why the stream broke off by itself; none where it did not.
  const std::optional<Error>& refusal() const { return refusal_; }
  /// True where nothing but zeros stands behind the data set, with which some writers fill the last block.
  bool is_padded();

  OFBool good() const override;
  OFCondition status() const override;
  OFBool eos() override;
  offile_off_t avail() override;
  offile_off_t read(void* to, offile_off_t count) override;
  offile_off_t skip(offile_off_t count) override;
  void mark() override;
  DcmInputStreamFactory* newFactory() const override;

 private:
  bool may_go_on(std::uint64_t more_memory);
  void take_tag(std::uint16_t group, std::uint16_t element);
  bool is_behind_pixels() const;
  bool only_zeros_follow();

  /// An item or a data set that is being read.
  struct Level {
    const char* reader;  ///< the place on the stack of who reads its tags: deeper ones lie further down
    std::uint32_t highest = 0;
    std::uint64_t elements = 0, private_creators = 0;
  };

  std::filesystem::path path_;
  Execution execution_;
  std::uint64_t size_ = 0, most_ = 0, taken_ = 0;  ///< bytes: of the file, of memory that may be taken, that is taken
  const char* stack_ = nullptr;
  const DcmDataset* into_ = nullptr;
  std::vector<Level> levels_;
  const char* reader_ = nullptr;        ///< of the tag that comes next; null where none does
  std::optional<std::uint16_t> group_;  ///< its first half
  std::uint64_t steps_ = 0;             ///< that DCMTK takes to place elements
  bool has_ended_ = false;              ///< padding follows
  std::uint64_t no_padding_until_ = 0;  ///< something else than zeros stands there
  std::optional<RawReader> tail_;       ///< reads what follows the pixels
  std::optional<Error> refusal_;
};

}  // namespace quietvox::io::dicom
