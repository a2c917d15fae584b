// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/json.hpp"

#include <iostream>

namespace quietvox::cli {

void print_json(const Json& document) {
  // File names need not be UTF-8.
  std::cout << document.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
}

}  // namespace quietvox::cli
