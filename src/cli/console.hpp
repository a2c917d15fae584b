// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cli/parsing/shared_options.hpp"
#include "core/message.hpp"
#include "io/files/posix_file.hpp"

namespace quietvox::cli {

/// Everything meant for eyes: lines and progress on stderr, and in the log file. Results go to stdout, never here.
class Console {
 public:
  Console();
  ~Console();

  /// Throws Error: not_writable where the log file cannot be opened, output_path where it is one of `files`, lies
  /// inside one, is not a regular file, or holds something else than a log.
  void configure(const ReportOptions&, const std::vector<std::filesystem::path>& files);

  /// What the notes, warnings and progress from now on speak of, a file or series; they begin with it. `number` of
  /// `count` such.
  void about(const std::string& subject, std::size_t number = 1, std::size_t count = 1);

  void note(const std::string& line);    ///< unless --quiet
  void detail(const std::string& line);  ///< with --verbose
  void warning(const Message& message);  ///< unless --quiet
  /// Each as a warning; `of`: the one of several inputs that they speak of.
  void warnings(const std::vector<std::string>&, const std::string& of = "");
  void error(const Message& message);  ///< always
  void causes(const std::exception&);  ///< with --verbose: the exceptions behind this one

  /// The warnings so far, without what they begin with.
  const std::vector<std::string>& said_warnings() const { return said_warnings_; }

  void progress(double fraction);
  void end_progress();  ///< leaves no half-drawn bar behind

 private:
  void print(const std::string& line, bool to_stderr);
  std::string progress_text() const;
  void draw_bar();

  ReportOptions options_;
  bool terminal_;
  std::optional<io::Descriptor> log_;
  std::mutex mutex_;
  std::vector<std::string> said_warnings_;
  std::string subject_;
  double number_ = 1, count_ = 1;
  int percent_ = -1;  ///< last shown
  double last_time_ = 0;
  double first_time_ = 0, first_done_ = 0, done_ = 0;  ///< of all subjects together, from 0 to 1
  bool bar_drawn_ = false;
};

/// Line breaks and control characters, which a file name may hold, made harmless.
std::string one_line(std::string text);

}  // namespace quietvox::cli
