// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/abandoned.hpp"

#include <algorithm>
#include <set>
#include <system_error>
#include <vector>

#include "io/commit_record.hpp"
#include "io/disk.hpp"
#include "io/staging.hpp"

namespace quietvox::io {
namespace fs = std::filesystem;
namespace {

std::vector<fs::path> stagings_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (auto entry = fs::directory_iterator(folder, ignored); !ignored && entry != fs::directory_iterator();
       entry.increment(ignored)) {
    if (is_staging_name(entry->path().filename().string())) found.push_back(entry->path());
  }
  return found;
}

/// The one name of what may be reached in several ways: from other folders, through links.
fs::path real_name(const fs::path& path) {
  std::error_code error;
  const fs::path folder = fs::canonical(parent_of(path), error);
  return error ? path.lexically_normal() : folder / path.filename();
}

bool may_be_abandoned(const fs::path& path) { return CommitRecord::is_record(path) || PathLock(path).is_of(path); }

}  // namespace

void remove_abandoned(const fs::path& folder) {
  CommitTurn turn;
  if (std::ranges::any_of(stagings_in(folder), may_be_abandoned)) remove_abandoned(folder, turn);
}

void remove_abandoned(const fs::path& folder, CommitTurn& turn) {
  if (turn.take(folder) != CommitTurn::Answer::mine) return;
  std::vector<fs::path> candidates = stagings_in(folder);  // now that no record can come any more
  // Records first: what they name is needed until they have been followed.
  const auto others = std::partition(candidates.begin(), candidates.end(), CommitRecord::is_record);
  std::set<fs::path> needed;
  for (auto path = candidates.begin(); path != candidates.end(); ++path) {
    const PathLock lock(*path);
    const bool is_abandoned = lock.is_of(*path);
    if (path < others && !(is_abandoned && CommitRecord::take_back(*path, turn))) {
      for (const fs::path& staging : CommitRecord::stagings(*path)) needed.insert(real_name(staging));
    } else if (is_abandoned && !needed.contains(real_name(*path))) {
      std::error_code ignored;
      fs::remove_all(*path, ignored);
    }
  }
}

}  // namespace quietvox::io
