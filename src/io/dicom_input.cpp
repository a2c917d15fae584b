// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom_input.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "core/input_limits.hpp"

namespace quietvox::io::dicom {
namespace {

/// A level of nesting takes DCMTK 1.5 KB, twice that where it is not optimised.
constexpr std::ptrdiff_t most_stack = 256 << 10;

/// What DCMTK keeps of an element, by the number of times that it reads to parse one.
constexpr std::uint64_t memory_per_read = 64;

constexpr offile_off_t at_once = 1 << 20;

const char* stack_here() { return static_cast<const char*>(__builtin_frame_address(0)); }

/// Makes the streams by which DCMTK reads long values that it left on disk.
class Factory final : public DcmInputFileStreamFactory {
 public:
  Factory(const std::filesystem::path& path, offile_off_t offset, const Execution& execution)
      : DcmInputFileStreamFactory(path.c_str(), offset), path_(path), execution_(execution) {}

  DcmInputStream* create() const override {
    auto stream = std::make_unique<GuardedInput>(path_, execution_);
    stream->skip(getOffset());
    return stream.release();
  }
  DcmInputStreamFactory* clone() const override { return new Factory(*this); }

 private:
  std::filesystem::path path_;
  Execution execution_;
};

}  // namespace

Error nested_too_deep() {
  return {Errc::corrupt, "sequences are nested more than " + std::to_string(most_nested) + " deep"};
}

GuardedInput::GuardedInput(const std::filesystem::path& path, const Execution& execution)
    : DcmInputFileStream(OFFilename(path.c_str())), path_(path), execution_(execution), stack_(stack_here()) {
  std::error_code ignored;  // then the stream is not good either
  const auto size = std::filesystem::file_size(path, ignored);
  size_ = ignored ? 0 : size;
  most_ = most_memory(size_, execution_);
}

bool GuardedInput::may_go_on(std::uint64_t more_memory) {
  if (refusal_) return false;
  try {
    check_stop(execution_.stop);
    if (std::abs(stack_ - stack_here()) > most_stack) throw nested_too_deep();
    taken_ += more_memory;
    if (taken_ > most_) check_memory("what it holds", taken_, size_, execution_);
    return true;
  } catch (const Error& error) {
    refusal_ = error;
    return false;
  }
}

OFBool GuardedInput::good() const { return !refusal_ && DcmInputFileStream::good(); }

OFCondition GuardedInput::status() const {
  return refusal_ ? OFCondition(EC_CorruptedData) : DcmInputFileStream::status();
}

OFBool GuardedInput::eos() { return refusal_ || DcmInputFileStream::eos(); }

offile_off_t GuardedInput::avail() { return may_go_on(0) ? DcmInputFileStream::avail() : 0; }

offile_off_t GuardedInput::read(void* to, offile_off_t count) {
  offile_off_t done = 0;
  while (done < count) {
    const offile_off_t piece = std::min(count - done, at_once);
    if (!may_go_on(memory_per_read + static_cast<std::uint64_t>(piece))) break;
    const offile_off_t got = DcmInputFileStream::read(static_cast<char*>(to) + done, piece);
    done += got;
    if (got < piece) break;
  }
  return done;
}

offile_off_t GuardedInput::skip(offile_off_t count) {
  offile_off_t done = 0;
  while (done < count) {
    const offile_off_t piece = std::min(count - done, at_once);
    if (!may_go_on(0)) break;
    const offile_off_t got = DcmInputFileStream::skip(piece);
    done += got;
    if (got < piece) break;
  }
  return done;
}

void GuardedInput::mark() {
  may_go_on(0);
  DcmInputFileStream::mark();
}

DcmInputStreamFactory* GuardedInput::newFactory() const {
  const std::unique_ptr<DcmInputStreamFactory> usual(DcmInputFileStream::newFactory());
  return usual ? new Factory(path_, tell(), execution_) : nullptr;  // none of what is deflated
}

}  // namespace quietvox::io::dicom
