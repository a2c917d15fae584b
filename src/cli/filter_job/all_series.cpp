// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/filter_job/all_series.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "cli/exit_code.hpp"
#include "cli/filter_job/child_process.hpp"
#include "cli/filter_job/series_worker.hpp"
#include "io/files/path_overlap.hpp"
#include "io/files/paths.hpp"
#include "io/files/staging_name.hpp"
#include "io/output/staging_folder.hpp"
#include "workflow/input_output.hpp"
#include "workflow/series_choice.hpp"

namespace quietvox::cli {
namespace fs = std::filesystem;
namespace {

void check_all_series(const Job& job) {
  const auto refuse = [](const Message& why, const Message& remedy = {}) {
    throw Error(Errc::invalid_argument, Parameter{"all-series"} + " " + why, remedy);
  };
  check_input(job.request.input);
  if (!fs::is_directory(job.request.input)) refuse("needs a folder, and " + job.request.input.string() + " is none");
  if (!job.request.scan.series.empty()) refuse("and " + Parameter{"series"} + " cannot be given together");
  included_kinds(job.series.include);
  if (!job.request.mask.mask.empty() || !job.request.mask.residual.empty()) {
    refuse("cannot be combined with " + Parameter{"mask"} + " or " + Parameter{"residual"} +
               ", which belong to one series",
           "filter that one with " + Parameter{"series", "UID"});
  }
  if (const OutputFormat format = job.request.out.output_format;
      format != OutputFormat::automatic && format != OutputFormat::dicom) {
    refuse("writes DICOM only, and " + Parameter{"output-format"} + " asks for something else");
  }
  if (output_format(job.request.out.output_format, job.request.output, std::nullopt) != io::Format::dicom) {
    refuse("writes folders of DICOM", "give OUTPUT a name without an ending");
  }
  check_format(job.request.out, io::Format::dicom);
  const fs::path& output = job.request.output;
  std::error_code error;
  const auto entries = fs::directory_iterator(output, error);
  const bool is_empty = std::ranges::all_of(
      entries, [](const fs::directory_entry& entry) { return io::is_staging_name(entry.path().filename().native()); });
  if (error) {
    check_output(output, io::Format::dicom, job.request.out.force, job.request.input);
    // One folder may be made above an output, and the folder of each series lies one deeper than this.
    if (const fs::path above = io::parent_of(io::without_trailing_slash(output)); !io::stands_at(above)) {
      throw Error(Errc::output_path, output.string() + ": there is no folder " + above.string(),
                  "make it first or give another output");
    }
    return;
  }
  // What is replaced is the folder of each series, which is looked at when its turn comes.
  io::refuse_overlap(output, job.request.input);
  if (!is_empty && !job.request.out.force) {
    throw Error(Errc::exists, output.string() + ": exists already",
                "use " + Parameter{"force"} +
                    " to replace the results of the series that are filtered; nothing else in it changes");
  }
}

/// Follows workers, one after the other, until nothing is left to do.
class Supervisor {
 public:
  Supervisor(const Job& job, Context& context) : job_(job), context_(context) {}

  void run() {
    try {
      follow_workers();
    } catch (const std::exception&) {
      if (is_announced_) context_.results = std::make_shared<const Json>(document());
      throw;
    }
    report();
  }

 private:
  void follow_workers() {
    std::vector<std::string> words = context_.words;
    words.insert(words.begin(), series_worker_word);
    while (!ended_) {
      ChildProcess worker(words, known().dump());
      series_.reset();
      file_.reset();
      while (const auto line = worker.next_line(context_.stop)) take(Json::parse(*line, nullptr, false));
      const std::string end = worker.wait();
      check_stop(context_.stop);
      if (!ended_) blame(end);
    }
  }

  void report() const {
    if (first_) {
      context_.results = std::make_shared<const Json>(document());
      throw Error(first_->code(), job_.request.input.string() + ": " + std::to_string(failures_) +
                                      (failures_ == 1 ? " series or file" : " series or files") +
                                      " could not be filtered, " + std::to_string(results_.size() - failures_) +
                                      " series could");
    }
    if (context_.json) print_json(document());
  }

  Json document() const {
    return {{"input", job_.request.input.string()},
            {"output", job_.request.output.string()},
            {"series", results_},
            {"skipped", skipped_},
            {"skipped_files", skipped_files_},
            {"warnings", warnings_}};
  }

  Json known() const {
    return {{"parent", getpid()},
            {"dealt_with", dealt_with_},
            {"left_out", left_out_},
            {"careful", is_careful_},
            {"announced", is_announced_}};
  }

  void take(const Json& event) {
    if (event.contains("file")) {
      file_ = event["file"];
    } else if (event.contains("found")) {
      is_announced_ = true;
      warnings_ = event["found"]["warnings"];
      skipped_ = event["found"]["skipped"];
      skipped_files_ = event["found"]["skipped_files"];
      file_.reset();
    } else if (event.contains("begin")) {
      series_ = event["begin"];
    } else if (event.contains("done")) {
      results_.push_back(event["done"]);
      finish_series();
    } else if (event.contains("failed")) {
      const Json& failed = event["failed"];
      fail(failed["series"], error_from_json(failed["error"]));
      finish_series();
    } else if (event.contains("ended")) {
      ended_ = true;
      const Json& why = event["ended"];
      if (why.is_object()) throw error_from_json(why["error"]);
    }
  }

  void finish_series() {
    if (series_) dealt_with_.push_back(*series_);
    series_.reset();
  }

  void fail(const std::string& uid, const Error& error) {
    results_.push_back({{"series_uid", uid}, {"error", error_json(error)}});
    if (failures_++ == 0) first_ = error;
  }

  /// The worker crashed. Records the series or the file that it was working on as failed, and skips it from now on. If
  /// neither is known, the next worker names each file before it reads it.
  void blame(const std::string& end) {
    io::remove_stale_stagings(job_.request.output);
    const bool lacked_memory = end == "exit status " + std::to_string(exit_out_of_memory);
    const bool was_killed = end.starts_with("signal " + std::to_string(SIGKILL) + ' ');
    const Errc code = lacked_memory ? Errc::out_of_memory : Errc::internal;
    const std::string reason = "the process that read it ended with " + end +
                               (was_killed      ? "; memory may have run out"
                                : lacked_memory ? ""
                                                : "; the file may be damaged");
    context_.console.end_progress();
    if (series_) {
      const std::string uid = bytes_from_json(*series_);
      const Error error(code, reason);
      context_.console.error("series " + uid + ": " + error.message());
      fail(uid, error);
      finish_series();
    } else if (file_) {
      const Error error(code, bytes_from_json(*file_) + ": " + reason);
      context_.console.error(error.message());
      fail("", error);
      left_out_.push_back(*file_);
    } else if (!is_careful_) {
      is_careful_ = true;  // at one of the headers: next time the worker says at which
    } else {
      throw Error(code, job_.request.input.string() + ": the process that filters the series ended with " + end);
    }
  }

  const Job& job_;
  Context& context_;
  Json results_ = Json::array(), skipped_ = Json::array(), skipped_files_ = Json::array(), warnings_ = Json::array();
  Json dealt_with_ = Json::array(), left_out_ = Json::array();
  std::optional<Json> series_, file_;  ///< what the worker is at
  bool is_careful_ = false, is_announced_ = false, ended_ = false;
  std::optional<Error> first_;
  std::size_t failures_ = 0;
};

}  // namespace

void filter_all_series(const Job& job, Context& context) {
  if (context.is_worker) return work_on_series(job, context);
  check_all_series(job);
  Supervisor(job, context).run();
}

}  // namespace quietvox::cli
