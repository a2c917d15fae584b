// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/files/posix_file.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "io/files/paths.hpp"

namespace quietvox::io {
namespace fs = std::filesystem;
namespace {

std::string message(int error) { return std::generic_category().message(error); }

/// Whether what was opened, whatever stands at its path by now, really lies in a folder or below.
bool lies_in(int file, const fs::path& folder) {
  std::error_code error;
  const fs::path real = fs::read_symlink("/proc/self/fd/" + std::to_string(file), error);
  return !error && is_inside(real, fs::canonical(folder, error)) && !error;
}

}  // namespace

Descriptor::Descriptor(const std::filesystem::path& path, int flags, mode_t permissions)
    : descriptor_(open(path.c_str(), flags | O_CLOEXEC, permissions)) {
  if (is_open() && descriptor_ <= STDERR_FILENO) {
    const int other = fcntl(descriptor_, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int error = errno;
    ::close(descriptor_.exchange(other));
    errno = error;
  }
}

fs::path Descriptor::reached_by(const fs::path& path) const {
  const std::string name = "/proc/self/fd/" + std::to_string(descriptor_);
  return is_open() && access(name.c_str(), F_OK) == 0 ? fs::path(name) : path;
}

bool Descriptor::close() {
  const int descriptor = descriptor_.exchange(-1);
  return descriptor < 0 || ::close(descriptor) == 0;
}

pid_t fork_apart() noexcept {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the child must not run the program's signal handlers
#ifdef __SANITIZE_THREAD__
  const pid_t child = fork();  // locks of the sanitizer that other threads hold are free in the child
#else
  const pid_t child = _Fork();  // nor what libraries do in children, such as start threads
#endif
  if (child == 0) {
    setsid();
    // What is ours is closed on exec. What was inherited has low numbers; to try all that the limit allows, perhaps a
    // million, would take long.
    constexpr int most_inherited = 1024;
    for (int file = 0; file < most_inherited; ++file) {
      if (file <= STDERR_FILENO || fcntl(file, F_GETFD) == 0) close(file);
    }
  } else {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  return child;
}

void begin_sync(int file, std::uint64_t offset, std::uint64_t bytes) noexcept {
  sync_file_range(file, static_cast<off_t>(offset), static_cast<off_t>(bytes), SYNC_FILE_RANGE_WRITE);
}

RawReader::RawReader(const fs::path& path, const fs::path& within) : path_(path), file_(path, O_RDONLY | O_NONBLOCK) {
  struct stat status {};
  if (!file_.is_open() || fstat(file_, &status) != 0) {
    throw Error(Errc::input_path, path.string() + ": cannot be read: " + message(errno));
  }
  if (!S_ISREG(status.st_mode)) throw Error(Errc::input_path, path.string() + ": is not a regular file");
  if (!within.empty() && !lies_in(file_, within)) {
    throw Error(Errc::unsupported, path.string() +
                                       ": is reached by a link that leads out of the folder of its header; "
                                       "put the file itself there");
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

std::size_t RawReader::read(std::uint64_t offset, std::span<std::byte> to) const {
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t got = pread(file_, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error(Errc::input_path, path_.string() + ": cannot be read: " + message(errno));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

RawWriter::RawWriter(const std::filesystem::path& path, std::filesystem::path name)
    : name_(std::move(name)), file_(path, O_WRONLY | O_CREAT | O_EXCL, 0600) {
  if (!file_.is_open()) throw_errno();
}

void RawWriter::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw_errno();
    offset += static_cast<std::uint64_t>(done);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

void RawWriter::close() {
  if (!file_.close()) throw_errno();
}

void RawWriter::throw_errno() const {
  throw Error(Errc::not_writable, name_.string() + ": cannot be written: " + message(errno));
}

}  // namespace quietvox::io
