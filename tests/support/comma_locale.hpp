// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <locale.h>
#include <stdlib.h>

#include <string>

#include "support/temporary_folder.hpp"

namespace quietvox::test {

/// While it lives, the process writes numbers as in Germany: 0,5.
class CommaLocale {
 public:
  CommaLocale() {
    const std::string made = "localedef -i de_DE -f UTF-8 '" + (folder_ / "de_DE.UTF-8").string() + "' 2>/dev/null";
    if (system(made.c_str()) != 0) return;
    setenv("LOCPATH", folder_.path().c_str(), 1);
    is_set_ = setlocale(LC_ALL, "de_DE.UTF-8") != nullptr;
  }
  ~CommaLocale() {
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
  }
  CommaLocale(const CommaLocale&) = delete;
  CommaLocale& operator=(const CommaLocale&) = delete;

  bool is_set() const { return is_set_; }  ///< false where the package locales is not installed

 private:
  TemporaryFolder folder_;
  bool is_set_ = false;
};

}  // namespace quietvox::test
