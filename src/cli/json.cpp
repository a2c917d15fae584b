// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/json.hpp"

#include <iostream>

#include "cli/exit_code.hpp"

namespace quietvox::cli {

void print_json(const Json& document) {
  Json versioned{{"schema", json_schema_version}};
  versioned.update(document);
  // File names need not be UTF-8.
  std::cout << versioned.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
}

Json error_json(const std::string& message, Errc code, int status) {
  return {{"code", name_of(code)}, {"status", status}, {"message", message}};
}

}  // namespace quietvox::cli
