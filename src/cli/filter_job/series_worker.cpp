// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/filter_job/series_worker.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "cli/exit_code.hpp"
#include "cli/message_text.hpp"
#include "core/sha256.hpp"
#include "io/dicom_folder.hpp"
#include "workflow/memory_budget.hpp"
#include "workflow/series_choice.hpp"

namespace quietvox::cli {
namespace fs = std::filesystem;
namespace {

/// One line, at once: the next thing that happens may be a crash.
void emit(const Json& event) { std::cout << event.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl; }

/// A name for the results of a series: its UID, unless that is no good name for a folder. Then it is made of its hash,
/// so that another series never gets it.
std::string folder_name(const std::string& uid) {
  const bool is_plain = uid.find_first_not_of("0123456789.") == std::string::npos && uid.size() <= 64 && uid[0] != '.';
  if (is_plain) return uid;
  constexpr std::size_t digits = 16;
  return "series-" + to_hex(sha256(uid)).substr(0, digits);
}

/// Does one piece of work, and makes an Error of whatever goes wrong in it.
template <class Work>
std::optional<Error> failure_of(const Work& work) {
  try {
    work();
    return std::nullopt;
  } catch (const std::exception& exception) {
    return as_error(exception);
  }
}

Json to_json(const Message& message) {
  Json parts = Json::array();
  for (const Message::Part& part : message.parts()) {
    const auto* const parameter = std::get_if<Parameter>(&part);
    parts.push_back(parameter ? Json{{"name", parameter->name}, {"value", parameter->value}}
                              : Json(std::get<std::string>(part)));
  }
  return parts;
}

Message message_from_json(const Json& json) {
  std::vector<Message::Part> parts;
  for (const Json& part : json) {
    if (part.is_string()) {
      parts.emplace_back(part.get<std::string>());
    } else {
      parts.emplace_back(Parameter{part["name"], part["value"]});
    }
  }
  return Message(std::move(parts));
}

Json to_json(const Error& error) {
  return {{"code", static_cast<int>(error.code())},
          {"problem", to_json(error.problem())},
          {"remedy", to_json(error.remedy())}};
}

void fail(const std::string& uid, const Error& error, Context& context) {
  context.console.error(uid.empty() ? error.message() : "series " + uid + ": " + error.message());
  emit({{"failed", {{"series", uid}, {"error", to_json(error)}}}});
}

std::set<std::string> texts(const Json& list) {
  std::set<std::string> found;
  for (const Json& bytes : list) found.insert(bytes_from_json(bytes));
  return found;
}

constexpr const char* not_chosen = "not chosen";

/// The places in the list of the series that are to be filtered, and the others with the reasons.
std::pair<std::vector<std::size_t>, Json> choose(const std::vector<io::SeriesSummary>& list, const Job& job) {
  const auto kinds = included_kinds(job.series.include);
  std::vector<std::size_t> chosen;
  Json skipped = Json::array();
  for (std::size_t i = 0; i < list.size(); ++i) {
    const bool is_wanted = is_chosen(list[i], job.request.scan);
    if (is_wanted && kinds.contains(list[i].kind)) {
      chosen.push_back(i);
    } else {
      skipped.push_back({{"series_uid", list[i].uid},
                         {"reason", is_wanted ? FieldType<io::SeriesKind>::format(list[i].kind) : not_chosen}});
    }
  }
  return {chosen, skipped};
}

struct Skipped {
  std::string counts;  ///< `3 series skipped: 1 localizer, 2 processed`
  Message remedy;      ///< `--include localizer,processed filters them too`, or empty
};

Skipped describe_skipped(const Json& skipped) {
  std::map<std::string, int> counts;
  for (const Json& series : skipped) ++counts[series["reason"]];
  std::string text, kinds;
  for (const auto& [reason, count] : counts) {
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + reason;
    if (reason != not_chosen) kinds += (kinds.empty() ? "" : ",") + reason;
  }
  return {std::to_string(skipped.size()) + " series skipped: " + text,
          kinds.empty() ? Message() : Parameter{"include", kinds} + " filters them too"};
}

void filter_series(const Job& job, const Json& known, Context& context) {
  BackendSelector backends(job.request.execution.backend, filters_of(job.request));
  Execution background = background_of(job.request.execution, context.observer());
  io::ScanGuard guard;
  for (const std::string& file : texts(known["left_out"])) guard.left_out.insert(file);
  Execution reading = background;
  if (known["careful"]) {
    reading.threads = 1;
    guard.before = [](const fs::path& file) { emit({{"file", bytes_to_json(file.string())}}); };
  }
  const io::DicomFolder folder(job.request.input, reading, guard);
  const auto list = folder.series();
  const auto [chosen, skipped] = choose(list, job);
  const Skipped told = describe_skipped(skipped);
  const bool none_is_left = chosen.empty() && !list.empty();
  if (!known["announced"]) {
    context.console.warnings(folder.warnings());
    const std::vector<std::string> all = folder.skipped();
    if (all.size() > folder.warnings().size()) {  // else each is named already
      for (const std::string& file : all) context.console.detail("skipped " + file);
    }
    if (!skipped.empty() && !none_is_left) {
      context.console.note(told.counts + (told.remedy.empty() ? "" : "; " + as_text(told.remedy)));
    }
    emit({{"found", {{"warnings", folder.warnings()}, {"skipped", skipped}, {"skipped_files", folder.skipped()}}}});
    for (const Error& unassigned : folder.unassigned()) fail("", unassigned, context);
    for (const Error& lost : folder.perhaps_lost()) fail("", lost, context);
  }
  if (list.empty() && folder.unassigned().empty() && folder.perhaps_lost().empty() && guard.left_out.empty()) {
    throw Error(Errc::no_input, job.request.input.string() + ": holds no DICOM image");
  }
  if (none_is_left) {
    throw Error(Errc::no_input, job.request.input.string() + ": no series is left to be filtered, " + told.counts,
                told.remedy.empty() ? Message("choose others") : told.remedy);
  }
  const std::set<std::string> dealt_with = texts(known["dealt_with"]);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const std::string& uid = list[chosen[i]].uid;
    if (dealt_with.contains(uid)) continue;
    emit({{"begin", bytes_to_json(uid)}});
    context.console.about("series " + uid, i + 1, chosen.size());
    DenoiseRequest part = job.request;
    part.output /= folder_name(uid);
    const auto failure = failure_of([&] {
      const auto image = folder.open({.allow_gaps = job.request.scan.allow_gaps,
                                      .series_uid = uid,
                                      .kind = job.request.scan.force_kind,
                                      .execution = background});
      Json result = filter_and_report(part, *image, backends, context);
      result["series_uid"] = uid;
      emit({{"done", result}});
    });
    if (failure && failure->code() == Errc::cancelled) throw *failure;
    if (failure) fail(uid, *failure, context);
  }
}

}  // namespace

Json bytes_to_json(const std::string& text) { return std::vector<unsigned char>(text.begin(), text.end()); }

std::string bytes_from_json(const Json& json) {
  const auto bytes = json.get<std::vector<unsigned char>>();
  return {bytes.begin(), bytes.end()};
}

Error error_from_json(const Json& json) {
  return {static_cast<Errc>(json["code"].get<int>()), message_from_json(json["problem"]),
          message_from_json(json["remedy"])};
}

void work_on_series(const Job& job, Context& context) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // nobody would read what this process says
  const Json known = Json::parse(std::cin);
  if (getppid() != known["parent"]) return;  // it has died already
  const auto failure = failure_of([&] { filter_series(job, known, context); });
  if (!failure) return emit({{"ended", true}});
  emit({{"ended", {{"error", to_json(*failure)}}}});
}

}  // namespace quietvox::cli
