// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/commit_record.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "core/error.hpp"
#include "io/byte_stream.hpp"
#include "io/disk.hpp"

namespace quietvox::io {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view ending = ".record", first_line = "quietvox: outputs that belong together\n";

/// What stays with a file or folder where it is renamed, and tells it from others; empty where there is none.
std::string identity_of(const fs::path& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return {};
  return std::to_string(status.st_ino) + "-" + std::to_string(status.st_mtim.tv_sec) + "-" +
         std::to_string(status.st_mtim.tv_nsec);
}

struct Entry {
  fs::path staging, target;
  std::string identity;  ///< of what was staged
};

/// As seen from the record's folder, so that it stays true where that is moved.
fs::path seen_from(const fs::path& folder, const fs::path& path) {
  return (fs::relative(parent_of(path), folder) / path.filename()).lexically_normal();
}

/// Nothing where the file does not hold a whole record.
std::vector<Entry> read(const fs::path& record) {
  std::ifstream file(record, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!text.starts_with(first_line)) return {};
  std::vector<std::string> words;
  for (std::size_t at = first_line.size(); at < text.size();) {
    const std::size_t end = text.find('\0', at);
    if (end == std::string::npos) return {};
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  // The last word is the count, which a record that was cut does not have.
  if (words.size() % 3 != 1 || words.back() != std::to_string(words.size() / 3)) return {};
  std::vector<Entry> entries;
  for (std::size_t i = 0; i + 2 < words.size(); i += 3) {
    entries.push_back({parent_of(record) / words[i], parent_of(record) / words[i + 1], words[i + 2]});
  }
  return entries;
}

/// False where it failed.
bool take_back_one(const Entry& entry) {
  const fs::path aside = aside_of(entry.staging);
  const bool is_in_place = identity_of(entry.target) == entry.identity;
  std::error_code error;
  if (stands_at(aside) && (is_in_place || !stands_at(entry.target))) {
    if (is_in_place) fs::remove_all(entry.target, error);  // a folder cannot be renamed over another
    if (!error) fs::rename(aside, entry.target, error);
  } else if (is_in_place && stands_at(entry.staging)) {
    if (exchange(entry.staging, entry.target) != 0) return false;
  } else if (is_in_place) {
    fs::remove_all(entry.target, error);
  }
  if (!error && identity_of(entry.staging) == entry.identity) fs::remove_all(entry.staging, error);
  return !error;
}

}  // namespace

CommitRecord::CommitRecord(const std::vector<Output>& outputs)
    : file_(parent_of(outputs.front().target) / ("outputs" + std::string(ending)), Staging::Kind::file) {
  const fs::path folder = parent_of(file_.path());
  std::string text(first_line);
  for (const Output& output : outputs) {
    for (const std::string& word : {seen_from(folder, output.staging).string(),
                                    seen_from(folder, output.target).string(), identity_of(output.staging)}) {
      text.append(word).push_back('\0');
    }
  }
  text.append(std::to_string(outputs.size())).push_back('\0');
  ByteWriter writer(file_.path(), false);
  writer.write(std::as_bytes(std::span(text)));
  writer.close_and_verify();
  for (const fs::path& path : {file_.path(), folder}) {
    if (const int error = sync_to_disk(path)) {
      throw Error(Errc::not_writable, path.string() + ": cannot be synced: " + std::generic_category().message(error));
    }
  }
}

bool CommitRecord::is_record(const fs::path& path) { return path.extension() == ending; }

std::vector<fs::path> CommitRecord::stagings(const fs::path& record) {
  std::vector<fs::path> paths;
  for (const Entry& entry : read(record)) paths.push_back(entry.staging);
  return paths;
}

bool CommitRecord::take_back(const fs::path& record) {
  const std::vector<Entry> entries = read(record);
  if (entries.empty()) return true;
  struct stat status {};
  if (lstat(record.c_str(), &status) != 0 || status.st_uid != geteuid()) return false;
  if (identity_of(entries.front().staging) == entries.front().identity) {
    // The first stays as it is until the end, so that this can be done again where it is cut short.
    return std::all_of(entries.rbegin(), entries.rend(), take_back_one);
  }
  std::error_code ignored;
  for (const Entry& entry : entries) {
    if (stands_at(entry.target)) fs::remove_all(aside_of(entry.staging), ignored);
  }
  return true;
}

}  // namespace quietvox::io
