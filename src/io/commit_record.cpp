// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/commit_record.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "core/error.hpp"
#include "io/abandoned.hpp"
#include "io/byte_stream.hpp"
#include "io/disk.hpp"

namespace quietvox::io {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view ending = ".record", first_line = "quietvox: outputs that belong together\n",
                           first_line_elsewhere = "quietvox: outputs that belong together, recorded elsewhere\n";

/// What stays with a file or folder where it is renamed, and tells it from others; empty where there is none.
std::string identity_of(const fs::path& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return {};
  return std::to_string(status.st_ino) + "-" + std::to_string(status.st_mtim.tv_sec) + "-" +
         std::to_string(status.st_mtim.tv_nsec);
}

struct Entry {
  fs::path staging, target;
  std::string identity;   ///< of what was staged
  bool replaces = false;  ///< something stood at the target before
};

/// As seen from the record's folder, so that it stays true where that is moved.
fs::path seen_from(const fs::path& folder, const fs::path& path) {
  return (fs::relative(parent_of(path), folder) / path.filename()).lexically_normal();
}

/// The words of a file that starts with `first`. Nothing where it was not written to its end: the last word is the
/// count of the others.
std::vector<std::string> read_words(const fs::path& record, std::string_view first) {
  std::ifstream file(record, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!text.starts_with(first)) return {};
  std::vector<std::string> words;
  for (std::size_t at = first.size(); at < text.size();) {
    const std::size_t end = text.find('\0', at);
    if (end == std::string::npos) return {};
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  if (words.empty() || words.back() != std::to_string(words.size() - 1)) return {};
  words.pop_back();
  return words;
}

void write_words(const fs::path& record, std::string_view first, const std::vector<std::string>& words) {
  std::string text(first);
  for (const std::string& word : words) text.append(word).push_back('\0');
  text.append(std::to_string(words.size())).push_back('\0');
  ByteWriter writer(record, false);
  writer.write(std::as_bytes(std::span(text)));
  writer.close_and_verify();
  for (const fs::path& path : {record, parent_of(record)}) {
    if (const int error = sync_to_disk(path)) {
      throw Error(Errc::not_writable, path.string() + ": cannot be synced: " + std::generic_category().message(error));
    }
  }
}

struct Record {
  std::vector<fs::path> elsewhere;  ///< the records that name this one
  std::vector<Entry> entries;
};

/// No entries where the file does not hold a whole record. Its words: each record elsewhere, an empty one, and four for
/// each entry.
Record read(const fs::path& path) {
  const std::vector<std::string> words = read_words(path, first_line);
  const fs::path folder = parent_of(path);
  Record record;
  auto word = words.begin();
  for (; word != words.end() && !word->empty(); ++word) record.elsewhere.push_back(folder / *word);
  if (words.end() - word < 1 || (words.end() - word) % 4 != 1) return {};
  for (++word; word != words.end(); word += 4) {
    record.entries.push_back({folder / word[0], folder / word[1], word[2], word[3] == "replaces"});
  }
  return record;
}

/// The record that this one names, or itself.
fs::path main_record(const fs::path& record) {
  const std::vector<std::string> words = read_words(record, first_line_elsewhere);
  return words.size() == 1 ? parent_of(record) / words[0] : record;
}

/// False where it failed.
bool take_back_one(const Entry& entry) {
  const fs::path aside = aside_of(entry.staging);
  std::error_code error;
  if (identity_of(aside) == entry.identity) {  // exchange() was cut short when this was done before
    if (!stands_at(entry.target)) fs::rename(entry.staging, entry.target, error);
    if (!error) fs::rename(aside, entry.staging, error);
    if (error) return false;
  }
  const bool is_in_place = identity_of(entry.target) == entry.identity;
  if (stands_at(aside) && (is_in_place || !stands_at(entry.target))) {
    if (is_in_place) fs::remove_all(entry.target, error);  // a folder cannot be renamed over another
    if (!error) fs::rename(aside, entry.target, error);
  } else if (is_in_place && stands_at(entry.staging)) {
    if (exchange(entry.staging, entry.target) != 0) return false;
  } else if (is_in_place && !entry.replaces) {
    fs::remove_all(entry.target, error);
  }
  if (!error && identity_of(entry.staging) == entry.identity) fs::remove_all(entry.staging, error);
  return !error;
}

/// Where it came, what it replaced goes.
void remove_replaced(const Entry& entry) {
  if (identity_of(entry.target) != entry.identity) return;
  std::error_code ignored;
  fs::remove_all(entry.staging, ignored);
  fs::remove_all(aside_of(entry.staging), ignored);
}

bool is_mine(const fs::path& record) {
  struct stat status {};
  return lstat(record.c_str(), &status) == 0 && status.st_uid == geteuid();
}

/// False where what the record names may not be removed.
bool follow(const std::vector<Entry>& entries) {
  const Entry& first = entries.front();
  if (identity_of(first.staging) == first.identity) {
    // The first stays as it is until the end, so that this can be done again where it is cut short.
    return std::all_of(entries.rbegin(), entries.rend(), take_back_one);
  }
  if (identity_of(first.target) == first.identity) {
    std::for_each(entries.begin(), entries.end(), remove_replaced);
    return true;
  }
  return std::none_of(entries.begin(), entries.end(), [](const Entry& entry) {
    return stands_at(entry.staging) || stands_at(aside_of(entry.staging));
  });
}

}  // namespace

CommitRecord::CommitRecord(const std::vector<Output>& outputs, const std::stop_token& stop) {
  std::vector<fs::path> folders;
  for (const Output& output : outputs) {
    const fs::path folder = parent_of(output.target);
    if (std::find(folders.begin(), folders.end(), folder) == folders.end()) folders.push_back(folder);
  }
  turn_.wait_for(folders, stop);
  // What a process that was killed in its turn left half done is not to be taken for what stood there before.
  for (const fs::path& folder : folders) remove_abandoned(folder, turn_);
  if (outputs.size() == 1 && !stands_at(outputs.front().target)) return;
  for (const fs::path& folder : folders) {
    files_.push_back(std::make_unique<Staging>(folder / ("outputs" + std::string(ending)), Staging::Kind::file));
  }
  const fs::path& record = files_.front()->path();
  std::vector<std::string> words;
  for (std::size_t i = 1; i < files_.size(); ++i) {
    words.push_back(seen_from(folders.front(), files_[i]->path()).string());
  }
  words.emplace_back();
  for (const Output& output : outputs) {
    words.push_back(seen_from(folders.front(), output.staging).string());
    words.push_back(seen_from(folders.front(), output.target).string());
    words.push_back(identity_of(output.staging));
    words.push_back(stands_at(output.target) ? "replaces" : "");
  }
  write_words(record, first_line, words);
  for (std::size_t i = 1; i < files_.size(); ++i) {
    write_words(files_[i]->path(), first_line_elsewhere, {seen_from(folders[i], record).string()});
  }
}

bool CommitRecord::is_record(const fs::path& path) { return path.extension() == ending; }

std::vector<fs::path> CommitRecord::stagings(const fs::path& record) {
  std::vector<fs::path> paths;
  for (const Entry& entry : read(main_record(record)).entries) paths.push_back(entry.staging);
  return paths;
}

bool CommitRecord::take_back(const fs::path& record, CommitTurn& turn) {
  const auto is_my_turn = [&](const fs::path& path) { return turn.take(parent_of(path)) == CommitTurn::Answer::mine; };
  const fs::path main = main_record(record);
  if (main != record && !stands_at(main)) return true;  // it was followed to its end
  if (!is_my_turn(main)) return false;
  const auto [elsewhere, entries] = read(main);
  if (entries.empty()) return true;
  if (!is_mine(main) || !std::ranges::all_of(entries, is_my_turn, &Entry::target) || !follow(entries)) return false;
  std::error_code ignored;
  fs::remove(main, ignored);
  for (const fs::path& path : elsewhere) {
    if (!read_words(path, first_line_elsewhere).empty()) fs::remove(path, ignored);
  }
  return true;
}

}  // namespace quietvox::io
