// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/json.hpp"

#include <iostream>

#include "cli/exit_code.hpp"
#include "cli/message_text.hpp"

namespace quietvox::cli {

void print_json(const Json& document) {
  Json versioned{{"schema", json_schema_version}};
  versioned.update(document);
  // File names need not be UTF-8.
  std::cout << versioned.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
}

Json error_json(const Error& error, std::optional<int> status) {
  Json json{{"code", name_of(error.code())},
            {"status", status.value_or(exit_code(error.code()))},
            {"message", as_text(error.message())}};
  if (const Parameter* const parameter = error.parameter()) json["parameter"] = parameter->name;
  if (!error.remedy().empty()) json["remedy"] = as_text(error.remedy());
  return json;
}

void print_failure(const Json* results, const Error& error, int status) {
  Json document = results ? *results : Json::object();
  document["error"] = error_json(error, status);
  print_json(document);
}

}  // namespace quietvox::cli
