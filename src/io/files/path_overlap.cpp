// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/files/path_overlap.hpp"

#include <system_error>

#include "core/error.hpp"
#include "io/files/folder_walk.hpp"
#include "io/files/paths.hpp"

namespace quietvox::io {
namespace fs = std::filesystem;

void refuse_overlap(const fs::path& target, const fs::path& other, const std::string& role) {
  const fs::path real_target = real_path(target);
  const auto refuse = [&](const fs::path& source) {
    const fs::path real_source = real_path(source);
    std::error_code ignored;
    if (real_target == real_source || fs::equivalent(target, source, ignored)) {
      throw Error(Errc::output_path, target.string() + ": is also given as " + role, "give another output");
    }
    if (is_inside(real_target, real_source)) {
      throw Error(Errc::output_path, target.string() + ": the output lies inside the " + role,
                  "give a place outside it");
    }
    if (is_inside(real_source, real_target)) {
      throw Error(Errc::output_path,
                  target.string() + ": the " + role + " " + source.string() + " lies inside the output",
                  "give another place");
    }
  };
  refuse(other);
  if (std::error_code ignored; !fs::is_directory(other, ignored)) return;
  for (const fs::path& linked : walk_folder(other).linked) refuse(linked);
}

}  // namespace quietvox::io
