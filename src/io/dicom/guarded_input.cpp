// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom/guarded_input.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>

#include "core/input_limits.hpp"

namespace quietvox::io::dicom {
namespace {

/// A level of nesting takes DCMTK 1.5 KB, twice that where it is not optimised.
constexpr std::ptrdiff_t most_stack = 256 << 10;

/// What DCMTK keeps of an element, by the number of times that it reads to parse one.
constexpr std::uint64_t memory_per_read = 64;

constexpr offile_off_t at_once = 1 << 20;

/// About a second.
constexpr std::uint64_t most_steps = 100'000'000;
/// What an element costs that is out of order, or there already, beside the way to its place.
constexpr std::uint64_t steps_of_disorder = 1000;

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

/// The same file, by its descriptor. Of what is no regular file, a name that cannot be opened; where the descriptor
/// has no name, the path.
OpenedFile::OpenedFile(const std::filesystem::path& path)
    : file_(path, O_RDONLY | O_NONBLOCK), name_(file_.reached_by(path)) {
  struct stat status {};
  if (file_.is_open() && fstat(file_, &status) == 0 && !S_ISREG(status.st_mode)) name_.clear();
}

Error nested_too_deep_error() {
  return {Errc::corrupt, "sequences are nested more than " + std::to_string(most_nested) + " deep"};
}

GuardedInput::GuardedInput(const std::filesystem::path& path, const Execution& execution, const DcmDataset* into)
    : OpenedFile(path),
      DcmInputFileStream(OFFilename(name())),
      path_(path),
      execution_(execution),
      stack_(stack_here()),
      into_(into) {
  std::error_code ignored;  // then the stream is not good either
  const auto size = std::filesystem::file_size(path, ignored);
  size_ = ignored ? 0 : size;
  most_ = most_memory(size_, execution_);
}

bool GuardedInput::may_go_on(std::uint64_t more_memory) {
  if (refusal_) return false;
  try {
    check_stop(execution_.stop);
    if (std::abs(stack_ - stack_here()) > most_stack) throw nested_too_deep_error();
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

OFBool GuardedInput::eos() { return refusal_ || has_ended_ || DcmInputFileStream::eos(); }

offile_off_t GuardedInput::avail() { return may_go_on(0) && !has_ended_ ? DcmInputFileStream::avail() : 0; }

/// DCMTK marks the place of each tag, and reads its halves.
void GuardedInput::mark() {
  may_go_on(0);
  DcmInputFileStream::mark();
  reader_ = into_ ? stack_here() : nullptr;
  group_.reset();
  has_ended_ = has_ended_ || (is_behind_pixels() && levels_.back().reader == reader_ && only_zeros_follow());
}

/// DCMTK marks no place where fewer bytes are left than a tag has.
bool GuardedInput::is_padded() { return has_ended_ || (is_behind_pixels() && only_zeros_follow()); }

bool GuardedInput::is_behind_pixels() const {
  constexpr std::uint32_t first_of_pixels = 0x7fe0'0008;
  return !levels_.empty() && levels_.back().highest >= first_of_pixels;
}

bool GuardedInput::only_zeros_follow() {
  // Bytes of what is deflated are not those of the file.
  if (into_->getOriginalXfer() == EXS_DeflatedLittleEndianExplicit) return false;
  auto at = static_cast<std::uint64_t>(tell());
  // Of a long tail, that is asked for each of its tags.
  if (at < no_padding_until_ || at >= size_ || size_ - at > most_besides_voxels) return false;
  try {
    if (!tail_) tail_.emplace(name());
    std::vector<std::byte> block(4);  // a tag, and then more
    while (at < size_ && may_go_on(0)) {
      const auto end = block.begin() + static_cast<std::ptrdiff_t>(tail_->read(at, block));
      const auto other = std::find_if(block.begin(), end, [](std::byte one) { return one != std::byte{0}; });
      at += static_cast<std::uint64_t>(other - block.begin());
      if (other != end || end == block.begin()) {
        no_padding_until_ = at + 1;
        return false;
      }
      block.resize(at_once);
    }
  } catch (const Error& error) {  // DCMTK is not to see it
    refusal_ = error;
  }
  return at >= size_;
}

void GuardedInput::take_tag(std::uint16_t group, std::uint16_t element) {
  while (!levels_.empty() && levels_.back().reader < reader_) levels_.pop_back();
  if (levels_.empty() || levels_.back().reader != reader_) levels_.push_back({reader_});
  constexpr std::uint16_t items = 0xfffe;
  if (group == items) return;
  Level& level = levels_.back();
  ++level.elements;
  const std::uint32_t tag = std::uint32_t{group} << 16 | element;
  if (tag <= level.highest && level.elements > 1) steps_ += steps_of_disorder + level.elements;
  level.highest = std::max(level.highest, tag);
  if (group % 2 == 1) {
    if (element >= 0x10 && element <= 0xff) ++level.private_creators;
    steps_ += level.private_creators;
  }
  if (steps_ > most_steps && !refusal_) {
    refusal_.emplace(Errc::corrupt, "too many private creators, or duplicate or out-of-order elements");
  }
}

offile_off_t GuardedInput::read(void* to, offile_off_t count) {
  offile_off_t done = 0;
  while (done < count) {
    const offile_off_t piece = std::min(count - done, at_once);
    if (!may_go_on(memory_per_read + static_cast<std::uint64_t>(piece))) break;
    const offile_off_t got = DcmInputFileStream::read(static_cast<char*>(to) + done, piece);
    done += got;
    if (got < piece) break;
  }
  if (reader_ == nullptr) return done;
  std::array<std::uint8_t, 2> bytes;
  if (done == std::ssize(bytes)) {
    std::memcpy(bytes.data(), to, bytes.size());
    const bool swapped = into_->getOriginalXfer() == EXS_BigEndianExplicit;
    const auto half = static_cast<std::uint16_t>(bytes[swapped ? 1 : 0] | bytes[swapped ? 0 : 1] << 8);
    if (!group_) {
      group_ = half;
      return done;
    }
    take_tag(*group_, half);
  }
  reader_ = nullptr;
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

DcmInputStreamFactory* GuardedInput::newFactory() const {
  const std::unique_ptr<DcmInputStreamFactory> usual(DcmInputFileStream::newFactory());
  return usual ? new Factory(path_, tell(), execution_) : nullptr;  // none of what is deflated
}

}  // namespace quietvox::io::dicom
