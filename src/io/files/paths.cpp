// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/files/paths.hpp"

#include <algorithm>
#include <system_error>

#include "core/error.hpp"
#include "core/lower_case.hpp"

namespace quietvox::io {
namespace fs = std::filesystem;

fs::path without_trailing_slash(const fs::path& path) { return path.has_filename() ? path : path.parent_path(); }

fs::path parent_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

bool stands_at(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool is_inside(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

fs::path beside(fs::path image, const char* ending) {
  if (in_lower_case(image.extension().string()) == ".gz") image.replace_extension();
  return image.replace_extension(ending);
}

fs::path sidecar_of(const fs::path& image) { return beside(image, ".json"); }

fs::path real_path(const fs::path& path) {
  std::error_code error;
  fs::path real = fs::absolute(without_trailing_slash(path), error);
  if (!error) real = fs::weakly_canonical(real, error);
  if (error) throw Error(Errc::output_path, path.string() + ": " + error.message(), "give another path");
  return real;
}

}  // namespace quietvox::io
