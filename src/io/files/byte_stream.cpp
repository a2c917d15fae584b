// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/files/byte_stream.hpp"

#include <isa-l/crc.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "io/files/gzip_reader.hpp"
#include "io/files/gzip_writer.hpp"
#include "io/files/posix_file.hpp"

namespace quietvox::io {
namespace {

constexpr std::size_t buffer_size = 1 << 18, piece_size = 1 << 20;
constexpr std::uint64_t deflate_limit = 1032;  // bytes that one byte of deflate can unpack to

/// The last of the bytes that were unpacked, in the pieces in which they came.
class KeptBytes {
 public:
  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }

  /// A piece that follows, of `most_size` bytes, less what `fill` does not fill; false where that is all of it. Lets go
  /// of the pieces before all that `most` bytes may be wanted of, up to some byte of the new one.
  template <class Fill>
  bool add(std::size_t most_size, std::uint64_t most, const Fill& fill) {
    auto bytes = std::make_unique_for_overwrite<std::byte[]>(most_size);
    const std::size_t size = fill(std::span(bytes.get(), most_size));
    if (size == 0) return false;
    end_ += size;
    pieces_.emplace_back(std::move(bytes), size);
    for (; end_ - begin_ >= most + size + pieces_.front().second; pieces_.pop_front()) begin_ += pieces_.front().second;
    return true;
  }
  /// From `offset` on, which is not before begin(); returns how many there were.
  std::size_t copy(std::uint64_t offset, std::span<std::byte> to) const {
    std::size_t done = 0;
    std::uint64_t at = begin_;
    for (const auto& [bytes, size] : pieces_) {
      if (offset + done < at + size && done < to.size()) {
        const auto found = std::span(bytes.get(), size).subspan(static_cast<std::size_t>(offset + done - at));
        const std::size_t count = std::min(found.size(), to.size() - done);
        std::ranges::copy(found.first(count), to.subspan(done).begin());
        done += count;
      }
      at += size;
    }
    return done;
  }

 private:
  std::deque<std::pair<std::unique_ptr<std::byte[]>, std::size_t>> pieces_;
  std::uint64_t begin_ = 0, end_ = 0;
};

}  // namespace

class ByteReader::Impl {
 public:
  Impl(const std::filesystem::path& path, std::optional<bool> compressed, std::uint64_t start,
       const std::stop_token& stop, const std::filesystem::path& within)
      : file_(path, within),
        start_(start),
        stop_(stop),
        compressed_(compressed ? *compressed : begins_gzip_member(file_, start)) {
    // At most 256 points of some 90 KB each.
    checkpoint_distance_ = std::max<std::uint64_t>(16 << 20, file_.size() / 32);
    if (compressed_) inflater_ = inflater_at_start();
  }

  bool compressed() const { return compressed_; }
  const RawReader& file() const { return file_; }
  std::uint64_t trailing_garbage() const { return trailing_garbage_; }

  std::size_t read(std::uint64_t offset, std::span<std::byte> to) {
    if (!compressed_) {
      check_stop(stop_);
      return file_.read(start_ + offset, to);
    }
    if (!to.empty() && to.size() <= most_kept_ && offset >= kept_.begin()) return read_kept(offset, to);
    go_to(offset);
    return unpack(to);
  }

  void keep(std::uint64_t bytes) {
    if (compressed_) most_kept_ = bytes;
  }
  void use_threads(const Execution& execution) {
    // Two gain nothing: one of them is what filters and writes meanwhile.
    constexpr int fewest = 3;
    if (!compressed_ || thread_count(execution) < fewest) return;
    execution_ = execution;
    inflater_->use_threads(execution);
  }
  int threads() const { return execution_ ? thread_count(*execution_) : 1; }

 private:
  std::size_t read_kept(std::uint64_t offset, std::span<std::byte> to) {
    while (kept_.end() < offset + to.size()) {
      if (inflater_->position() != kept_.end()) go_to(kept_.end());
      if (!kept_.add(piece_size, most_kept_, [this](std::span<std::byte> piece) { return unpack(piece); })) break;
    }
    return kept_.copy(offset, to);
  }

  std::unique_ptr<GzipReader> inflater_at_start() const {
    auto inflater = std::make_unique<GzipReader>(file_, start_, stop_);
    if (execution_) inflater->use_threads(*execution_);
    return inflater;
  }

  void go_to(std::uint64_t offset) {
    const auto after = std::find_if(checkpoints_.begin(), checkpoints_.end(),
                                    [&](const auto& checkpoint) { return checkpoint->position() > offset; });
    const GzipReader* nearest = after == checkpoints_.begin() ? nullptr : std::prev(after)->get();
    if (offset < inflater_->position() || (nearest && nearest->position() > inflater_->position())) {
      inflater_ = nearest ? nearest->copy() : inflater_at_start();
    }
    std::vector<std::byte> skipped(std::min<std::uint64_t>(buffer_size, offset - inflater_->position()));
    while (inflater_->position() < offset) {
      const auto wanted = std::min<std::uint64_t>(skipped.size(), offset - inflater_->position());
      if (unpack(std::span(skipped).first(wanted)) < wanted) break;
    }
  }

  /// Checkpoints fall between pieces.
  std::size_t unpack(std::span<std::byte> to) {
    std::size_t done = 0;
    while (done < to.size() && !inflater_->at_end()) {
      keep_checkpoint();
      done += inflater_->read(to.subspan(done, std::min(to.size() - done, piece_size)));
    }
    if (inflater_->at_end()) trailing_garbage_ = inflater_->trailing_garbage();
    return done;
  }

  void keep_checkpoint() {
    const std::uint64_t last = checkpoints_.empty() ? 0 : checkpoints_.back()->position();
    if (inflater_->position() < last + checkpoint_distance_) return;
    checkpoints_.push_back(inflater_->copy());
    checkpoint_distance_ = std::max(checkpoint_distance_, inflater_->position() / 128);
  }

  RawReader file_;
  std::uint64_t start_ = 0, trailing_garbage_ = 0, checkpoint_distance_ = 0;
  std::stop_token stop_;
  std::optional<Execution> execution_;  // none: without threads
  bool compressed_ = false;
  std::unique_ptr<GzipReader> inflater_;
  std::vector<std::unique_ptr<GzipReader>> checkpoints_;  // ascending positions
  KeptBytes kept_;
  std::uint64_t most_kept_ = 0;
};

ByteReader::ByteReader(const std::filesystem::path& path, std::optional<bool> compressed, std::uint64_t start,
                       const std::stop_token& stop, const std::filesystem::path& within)
    : impl_(std::make_unique<Impl>(path, compressed, start, stop, within)) {}
ByteReader::~ByteReader() = default;
bool ByteReader::compressed() const { return impl_->compressed(); }
std::uint64_t ByteReader::file_size() const { return impl_->file().size(); }
void ByteReader::keep(std::uint64_t bytes) { impl_->keep(bytes); }
void ByteReader::use_threads(const Execution& execution) { impl_->use_threads(execution); }
int ByteReader::threads() const { return impl_->threads(); }
std::uint64_t ByteReader::trailing_garbage() const { return impl_->trailing_garbage(); }
std::size_t ByteReader::read(std::uint64_t offset, std::span<std::byte> to) { return impl_->read(offset, to); }

bool ByteReader::can_hold(std::uint64_t bytes) const {
  return compressed() ? bytes / deflate_limit <= file_size() : bytes <= file_size();
}

void ByteReader::read_all(std::uint64_t offset, std::span<std::byte> to, const char* what) {
  if (const std::size_t got = read(offset, to); got < to.size()) {
    throw Error(Errc::corrupt, impl_->file().path().string() + ": ends within " + what + ": " +
                                   std::to_string(offset + to.size()) + " bytes are needed, there are only " +
                                   std::to_string(offset + got));
  }
}

void prepare_for_volumes(ByteReader& reader, std::uint64_t bytes, std::uint64_t bytes_of_volume,
                         const Execution& execution) {
  constexpr std::uint64_t few = 64 << 20;
  if (execution.memory_limit) return;
  const std::uint64_t kept = bytes <= few ? bytes : bytes_of_volume;
  if (kept <= few) reader.keep(kept);
  reader.use_threads(execution);
}

class ByteWriter::Impl {
 public:
  Impl(const std::filesystem::path& path, bool compressed, const std::filesystem::path& name,
       const Execution& execution)
      : path_(path), file_(path, name.empty() ? path : name), execution_(execution.silent()) {
    if (compressed) packer_.emplace(file_, execution);
  }

  void write(std::span<const std::byte> bytes) {
    if (packer_) return packer_->write(bytes);
    for (; !bytes.empty(); bytes = bytes.subspan(pieces_.back().size)) {
      const auto piece = bytes.first(std::min(bytes.size(), buffer_size));
      pieces_.push_back(write_piece(size_, piece));
      size_ += piece.size();
    }
  }

  void write(std::uint64_t bytes, std::size_t piece, bool in_order, const Fill& fill) {
    Execution execution = execution_;
    constexpr int few = 2;  // each takes some memory
    if (in_order) execution.threads = 1;
    if (packer_ && execution.memory_limit) execution.threads = std::min(thread_count(execution), few);
    // What is packed is handed over in order, as much at a time as the threads make together.
    const std::uint64_t together = packer_ ? piece * static_cast<std::uint64_t>(thread_count(execution)) : bytes;
    std::vector<std::byte> waiting(packer_ ? std::min(together, bytes) : 0);
    const auto no_bytes = [] { return std::vector<std::byte>(); };
    for (std::uint64_t done = 0; done < bytes; done += together) {
      const std::uint64_t some = std::min(together, bytes - done);
      const auto count = static_cast<std::int64_t>((some + piece - 1) / piece);
      const std::size_t before = pieces_.size();
      if (!packer_) pieces_.resize(before + static_cast<std::size_t>(count));
      parallel_for_with_scratch(execution, count, no_bytes, [&](std::vector<std::byte>& made, std::int64_t item) {
        const std::uint64_t first = static_cast<std::uint64_t>(item) * piece;
        const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(piece, some - first));
        if (packer_) return fill(done + first, std::span(waiting).subspan(first, size));
        made.resize(size);
        fill(first, made);
        pieces_[before + static_cast<std::size_t>(item)] = write_piece(size_ + first, made);
      });
      if (packer_) packer_->write(std::span(waiting).first(some));
    }
    if (!packer_) file_.begin_sync(size_, bytes);
    size_ += bytes;
  }

  void close_and_verify() {
    if (packer_) packer_->finish();
    file_.close();
    std::string difference;
    try {
      const RawReader file(path_);
      if (packer_ ? packer_->is_held_by(file) : is_held_by(file)) return;
    } catch (const Error& error) {
      if (error.code() == Errc::cancelled) throw;
      difference = std::string(" (") + error.what() + ")";
    }
    throw Error(Errc::not_writable,
                file_.name().string() + ": read again, it does not hold what was written" + difference);
  }

 private:
  struct Piece {
    std::uint64_t offset;
    std::size_t size;
    std::uint32_t checksum;
  };

  Piece write_piece(std::uint64_t offset, std::span<const std::byte> bytes) {
    file_.write(offset, bytes);
    return {offset, bytes.size(), checksum(bytes)};
  }

  static std::uint32_t checksum(std::span<const std::byte> bytes) {
    return crc32_gzip_refl(0, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }

  bool is_held_by(const RawReader& file) const {
    std::atomic<bool> same = file.size() == size_;
    const auto no_bytes = [] { return std::vector<std::byte>(); };
    parallel_for_with_scratch(
        execution_, std::ssize(pieces_), no_bytes, [&](std::vector<std::byte>& bytes, std::int64_t index) {
          const Piece& piece = pieces_[static_cast<std::size_t>(index)];
          bytes.resize(std::max(bytes.size(), piece.size));
          const auto found = std::span(bytes).first(piece.size);
          if (same && (file.read(piece.offset, found) != piece.size || checksum(found) != piece.checksum)) same = false;
        });
    return same;
  }

  std::filesystem::path path_;
  RawWriter file_;
  Execution execution_;
  std::optional<GzipWriter> packer_;
  std::vector<Piece> pieces_;
  std::uint64_t size_ = 0;
};

ByteWriter::ByteWriter(const std::filesystem::path& path, bool compressed, const std::filesystem::path& name,
                       const Execution& execution)
    : impl_(std::make_unique<Impl>(path, compressed, name, execution)) {}
ByteWriter::~ByteWriter() = default;
void ByteWriter::write(std::span<const std::byte> bytes) { impl_->write(bytes); }
void ByteWriter::write(std::uint64_t bytes, std::size_t piece, bool in_order, const Fill& fill) {
  impl_->write(bytes, piece, in_order, fill);
}
void ByteWriter::close_and_verify() { impl_->close_and_verify(); }

}  // namespace quietvox::io
