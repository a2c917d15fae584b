// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/scratch_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

#include "core/error.hpp"

namespace quietvox::io {
namespace fs = std::filesystem;

ScratchFolder::ScratchFolder(const fs::path& output) {
  std::string name = (output.parent_path() / (output.stem().string() + ".part-XXXXXX")).string();
  if (!mkdtemp(name.data())) {
    throw Error(Errc::not_writable, output.string() + ": cannot be created: " + std::generic_category().message(errno));
  }
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace quietvox::io
