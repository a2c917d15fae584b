// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dcmtk/config/osconfig.h>
// osconfig.h must come first.
#include <dcmtk/dcmdata/dcerror.h>
#include <dcmtk/dcmdata/dcistrmf.h>

#include <cstdint>
#include <filesystem>
#include <optional>

#include "core/error.hpp"
#include "core/execution.hpp"

namespace quietvox::io::dicom {

/// Error(corrupt) for sequences that are nested deeper than most_nested.
Error nested_too_deep();

/// A file as DCMTK reads it. DCMTK parses nested sequences by recursion, makes objects of some hundred bytes of every
/// element, unpacks what is deflated, and does not look for stop requests. So the stream does: past a limit, or where a
/// stop is requested, it breaks off, and DCMTK gives up.
class GuardedInput final : public DcmInputFileStream {
 public:
  /// The stack is measured from here on.
  GuardedInput(const std::filesystem::path&, const Execution&);

  /// Why the stream broke off by itself; none where it did not.
  const std::optional<Error>& refusal() const { return refusal_; }

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

  std::filesystem::path path_;
  Execution execution_;
  std::uint64_t size_ = 0, most_ = 0, taken_ = 0;  ///< bytes: of the file, of memory that may be taken, that is taken
  const char* stack_ = nullptr;
  std::optional<Error> refusal_;
};

}  // namespace quietvox::io::dicom
