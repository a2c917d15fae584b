// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

namespace quietvox::test {
namespace fs = std::filesystem;
namespace {

void redirect(int descriptor, const fs::path& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || dup2(file, descriptor) < 0) _exit(127);
}

}  // namespace

Process::Process(const std::vector<std::string>& arguments, const fs::path& stdout_path) {
  std::string program = QUIETVOX_BINARY_DIR "/bin/quietvox";
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    redirect(STDOUT_FILENO, stdout_path.empty() ? folder_ / "stdout" : stdout_path);
    redirect(STDERR_FILENO, folder_ / "stderr");
    execv(program.c_str(), argv.data());
    _exit(127);
  }
}

Process::~Process() {
  if (ended_ || pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, &wait_status_, 0);
}

bool Process::poll() {
  if (!ended_) ended_ = wait4(pid_, &wait_status_, WNOHANG, &usage_) == pid_;
  return ended_;
}

bool Process::wait_for_stderr(const std::string& text) {
  while (read_file(folder_ / "stderr").find(text) == std::string::npos) {
    if (poll()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

void Process::send(int signal) {
  if (!poll()) kill(pid_, signal);
}

Result Process::finish() {
  if (!ended_) wait4(pid_, &wait_status_, 0, &usage_);
  ended_ = true;
  const int signal = WIFSIGNALED(wait_status_) ? WTERMSIG(wait_status_) : 0;
  const int status = signal != 0 ? 128 + signal : WEXITSTATUS(wait_status_);
  return {status, signal, read_file(folder_ / "stdout"), read_file(folder_ / "stderr"), usage_.ru_maxrss};
}

Environment::Environment(std::map<std::string, std::string> variables) : variables_(std::move(variables)) {
  for (const auto& [name, value] : variables_) setenv(name.c_str(), value.c_str(), 1);
}

Environment::~Environment() {
  for (const auto& [name, value] : variables_) unsetenv(name.c_str());
}

std::map<std::string, std::string> fault_variables(std::map<std::string, std::string> others) {
  others["LD_PRELOAD"] = QUIETVOX_FAULT_INJECTION;
  others["ASAN_OPTIONS"] = "verify_asan_link_order=0";
  return others;
}

Result quietvox(const std::vector<std::string>& arguments) { return Process(arguments).finish(); }

Result quietvox_ok(const std::vector<std::string>& arguments) {
  Result result = quietvox(arguments);
  EXPECT_EQ(result.status, 0) << result.err;
  return result;
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

void write_file(const fs::path& path, const std::string& content) { std::ofstream(path, std::ios::binary) << content; }

std::vector<std::pair<std::string, std::string>> contents(const fs::path& folder) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    found.emplace_back(entry.path().lexically_relative(folder).string(),
                       entry.is_regular_file() ? read_file(entry.path()) : "");
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace quietvox::test
