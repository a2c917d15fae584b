// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/filter_job/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "core/error.hpp"

namespace quietvox::cli {
namespace {

constexpr const char* program = "/proc/self/exe";

[[noreturn]] void fail(int error) {
  throw Error(Errc::internal, "a process for the series cannot be started: " + std::generic_category().message(error));
}

void check(bool good) {
  if (!good) fail(errno);
}

/// A descriptor that is closed with this object.
struct Descriptor {
  explicit Descriptor(int opened) : number(opened) { check(opened >= 0); }
  ~Descriptor() { close(number); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number;
};

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& words, const std::string& input) {
  // A file in memory: a pipe holds only so much before somebody reads it.
  const Descriptor in(memfd_create("quietvox-input", MFD_CLOEXEC));
  check(write(in.number, input.data(), input.size()) == static_cast<ssize_t>(input.size()));
  check(lseek(in.number, 0, SEEK_SET) == 0);
  std::array<int, 2> ends{};
  check(pipe2(ends.data(), O_CLOEXEC) == 0);
  output_ = ends[0];
  const Descriptor out(ends[1]);

  std::vector<std::string> texts = words;
  texts.insert(texts.begin(), "quietvox");
  std::vector<char*> arguments;
  for (std::string& text : texts) arguments.push_back(text.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.number, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.number, STDOUT_FILENO);
  const int error = posix_spawn(&pid_, program, &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    close(output_);
    pid_ = -1;
    fail(error);
  }
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    wait();
  }
  close(output_);
}

std::optional<std::string> ChildProcess::next_line(const std::stop_token& stop) {
  constexpr int milliseconds = 50;
  for (;;) {
    if (const std::size_t end = read_.find('\n'); end != std::string::npos) {
      std::string line = read_.substr(0, end);
      read_.erase(0, end + 1);
      return line;
    }
    if (stop.stop_requested() && !std::exchange(is_told_to_stop_, true)) kill(pid_, SIGTERM);
    pollfd ready{output_, POLLIN, 0};
    if (poll(&ready, 1, milliseconds) <= 0) continue;
    std::array<char, 4096> piece;
    const ssize_t got = read(output_, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    read_.append(piece.data(), static_cast<std::size_t>(got));
  }
}

std::string ChildProcess::wait() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (!WIFSIGNALED(status)) return "exit status " + std::to_string(WEXITSTATUS(status));
  return "signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
}

}  // namespace quietvox::cli
