// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/console.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "cli/message_text.hpp"
#include "io/files/paths.hpp"

namespace quietvox::cli {
namespace {

/// Lines of readers name a file themselves.
std::string with_subject(const std::string& subject, const std::string& line) {
  const bool has_it = subject.empty() || line.starts_with(subject + ":") || line.starts_with(subject + "/");
  return has_it ? line : subject + ": " + line;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string time_stamp() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ ", &parts)};
}

/// False for a file of another origin: it begins with no time stamp of ours.
bool may_be_appended_to(int file) {
  constexpr std::string_view form = "dddd-dd-ddTdd:dd:ddZ ";
  char start[form.size()];
  const ssize_t size = pread(file, start, form.size(), 0);
  return size == 0 || (size == static_cast<ssize_t>(form.size()) &&
                       std::equal(form.begin(), form.end(), start, [](char expected, char c) {
                         return expected == 'd' ? c >= '0' && c <= '9' : c == expected;
                       }));
}

bool is_same_or_inside(const std::filesystem::path& path, const std::filesystem::path& folder) {
  std::error_code ignored;
  return std::filesystem::equivalent(path, folder, ignored) ||
         io::is_inside(io::real_path(path), io::real_path(folder));
}

/// Paths may have thousands of letters: of words without a space, the middle is left out. UTF-8 stays whole.
std::string without_long_words(const std::string& line) {
  constexpr std::size_t most = 400, kept = 190;
  const auto whole = [&](std::size_t at) {
    constexpr int longest = 4;  // bytes of a letter; what has more of them is no UTF-8
    for (int i = 1; i < longest && (static_cast<unsigned char>(line[at]) & 0xc0) == 0x80; ++i) --at;
    return at;
  };
  std::string text;
  for (std::size_t begin = 0; begin < line.size();) {
    const std::size_t end = std::min(line.find(' ', begin), line.size());
    if (end - begin <= most) {
      text.append(line, begin, end - begin);
    } else {
      const std::size_t behind = whole(end - kept);
      text.append(line, begin, whole(begin + kept) - begin).append("...").append(line, behind, end - behind);
    }
    if (end < line.size()) text += ' ';
    begin = end + 1;
  }
  return text;
}

}  // namespace

std::string one_line(std::string text) {
  const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  for (std::size_t i = 0, length = 1; i < text.size(); i += length) {
    const unsigned c = at(i);
    length = c < 0xc2 || c > 0xf4 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;  // of a letter in UTF-8
    for (std::size_t k = 1; k < length; ++k) {
      if ((at(i + k) & 0xc0) != 0x80) length = 1;
    }
    if (c == '\n' || c == '\t') text[i] = ' ';
    const bool is_second_set = length == 1 ? c >= 0x80 && c < 0xa0 : c == 0xc2 && at(i + 1) < 0xa0;
    if (at(i) < 0x20 || c == 0x7f || is_second_set)
      std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(i), length, '?');
  }
  return text;
}

Console::Console() : terminal_(isatty(STDERR_FILENO) == 1) {}

Console::~Console() { end_progress(); }

void Console::configure(const ReportOptions& options, const std::vector<std::filesystem::path>& files) {
  options_ = options;
  if (options_.progress == ProgressStyle::automatic) {
    options_.progress = terminal_ ? ProgressStyle::bar : ProgressStyle::none;
  }
  if (options_.quiet) options_.progress = ProgressStyle::none;
  const std::string file_name = options_.log_file;
  if (file_name.empty()) return;
  for (const std::filesystem::path& file : files) {
    if (is_same_or_inside(options_.log_file, file)) {
      throw Error(Errc::output_path, Parameter{"log-file", options_.log_file} + ": would change " + file.string(),
                  "give another file");
    }
  }
  const auto refuse = [&](Errc code, const std::string& why, const Message& remedy = {}) {
    log_.reset();
    throw Error(code, Parameter{"log-file", file_name} + ": " + why, remedy);
  };
  const auto refuse_other = [&] {
    refuse(Errc::output_path, "must be a regular file that you own, without links", "give another file");
  };
  // Opening a pipe or a device may wait for ever, or do something. A link, or a second name, may lead anywhere.
  std::error_code ignored;
  const auto there = std::filesystem::symlink_status(file_name, ignored);
  if (exists(there) && !is_regular_file(there)) refuse_other();
  log_.emplace(file_name, O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK | O_NOFOLLOW, 0600);
  struct stat status {};
  if (!log_->is_open() || fstat(*log_, &status) != 0) refuse(Errc::not_writable, "cannot be opened for writing");
  if (!S_ISREG(status.st_mode) || status.st_uid != geteuid() || status.st_nlink != 1) refuse_other();
  if (!may_be_appended_to(*log_)) {
    refuse(Errc::output_path, "exists and is not a log of quietvox", "give another file");
  }
  fchmod(*log_, 0600);
}

void Console::print(const std::string& line, bool to_stderr) {
  const std::lock_guard lock(mutex_);
  const auto show = [&](const std::string& text) {
    if (bar_drawn_) std::fputs("\r\033[K", stderr);
    std::fprintf(stderr, "%s\n", without_long_words(one_line(text)).c_str());
    if (bar_drawn_) draw_bar();
  };
  if (to_stderr) show(line);
  if (!log_) return;
  const std::string entry = time_stamp() + without_long_words(one_line(line)) + "\n";
  if (write(*log_, entry.data(), entry.size()) == static_cast<ssize_t>(entry.size())) return;
  log_.reset();
  if (!options_.quiet) {
    show("quietvox: warning: --log-file " + options_.log_file + ": cannot be written; the log ends here");
  }
}

void Console::about(const std::string& subject, std::size_t number, std::size_t count) {
  const std::lock_guard lock(mutex_);
  subject_ = subject;
  number_ = static_cast<double>(number);
  count_ = static_cast<double>(count);
}

void Console::note(const std::string& line) { print(with_subject(subject_, line), !options_.quiet); }

void Console::detail(const std::string& line) {
  print(with_subject(subject_, line), options_.verbose && !options_.quiet);
}

void Console::warning(const Message& message) {
  const std::string& text = said_warnings_.emplace_back(as_text(message));
  print("quietvox: warning: " + with_subject(subject_, text), !options_.quiet);
}

void Console::warnings(const std::vector<std::string>& all, const std::string& of) {
  for (const std::string& each : all) warning(with_subject(of, each));
}

void Console::error(const Message& message) {
  end_progress();
  print("quietvox: " + as_text(message), true);
}

void Console::causes(const std::exception& error) {
  if (!options_.verbose) return;
  try {
    std::rethrow_if_nested(error);
  } catch (const std::exception& cause) {
    print(std::string("  caused by: ") + cause.what(), true);
    causes(cause);
  } catch (...) {
    print("  caused by: an unknown error", true);
  }
}

/// `12 %, 2 of 14, 8 s left: series 1.2.3`
std::string Console::progress_text() const {
  std::string text = std::to_string(percent_) + " %";
  if (count_ > 1) text += ", " + std::to_string(std::lround(number_)) + " of " + std::to_string(std::lround(count_));
  if (done_ > first_done_) {
    const double rate = (done_ - first_done_) / (last_time_ - first_time_);
    text += ", " + std::to_string(std::lround(std::ceil((1 - done_) / rate))) + " s left";
  }
  return subject_.empty() ? text : text + ": " + one_line(subject_);
}

void Console::draw_bar() {
  constexpr int width = 20;
  std::string bar(static_cast<std::size_t>(percent_ * width / 100), '#');
  bar.resize(width, '.');
  std::string line = "[" + bar + "] " + progress_text();
  winsize window{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 1 && line.size() >= window.ws_col) {
    line.resize(window.ws_col - 1u);  // a line that breaks cannot be drawn over
  }
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
  bar_drawn_ = true;
}

void Console::progress(double fraction) {
  if (options_.progress == ProgressStyle::none) return;
  const std::lock_guard lock(mutex_);
  const int percent = static_cast<int>(fraction * 100);
  if (percent <= percent_) return;
  // A tenth of a second is enough for eyes. Plain lines come once a second, and none where a run is shorter than that.
  const bool plain = options_.progress == ProgressStyle::plain;
  const double now = seconds_now();
  done_ = (number_ - 1 + fraction) / count_;
  if (first_time_ == 0) {
    first_time_ = now;
    first_done_ = done_;
  }
  if (plain && last_time_ == 0) last_time_ = now;
  const bool first = percent_ < 0 && !plain, last = percent == 100 && percent_ >= 0;
  if (!first && !last && now - last_time_ < (plain ? 1.0 : 0.1)) return;
  percent_ = percent;
  last_time_ = now;
  if (options_.progress == ProgressStyle::bar) {
    draw_bar();
  } else if (options_.progress == ProgressStyle::json) {
    std::fprintf(stderr, "{\"progress\":%.2f}\n", percent / 100.0);
  } else {
    std::fprintf(stderr, "%s\n", progress_text().c_str());
  }
}

void Console::end_progress() {
  const std::lock_guard lock(mutex_);
  if (bar_drawn_) std::fputs("\r\033[K", stderr);
  bar_drawn_ = false;
  percent_ = -1;
  last_time_ = 0;
}

}  // namespace quietvox::cli
