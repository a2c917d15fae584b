// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields.hpp"
#include "core/filter.hpp"

/// Command-line options made from parameter tables: of filters, of noise, and of the program itself.
namespace quietvox::cli {

/// Options that stand together in the help text.
struct OptionGroup {
  std::string title;
  std::vector<FieldInfo> fields;
  bool repeatable = false;  ///< each may be given several times
};

template <class P>
OptionGroup option_group() {
  return {std::string(P::title), describe_fields<P>()};
}

/// A positional argument.
struct Operand {
  std::string name, help;
  bool required = true;
};

/// Flags are switched on by `--name`; one that may be `auto` can be switched off by `--no-name` too.
bool has_negation(const FieldInfo&);

/// What was given on a command line: texts, not yet values.
class Arguments {
 public:
  /// Parses `words` with TCLAP. Throws Error(invalid_argument) for unknown or repeated options and missing operands;
  /// `command` is named in the message.
  Arguments(std::string_view command, const std::vector<OptionGroup>&, const std::vector<Operand>&,
            const std::vector<std::string>& words);

  const std::vector<std::string>& operands() const { return operands_; }
  const std::string& operand(std::size_t index) const { return operands_.at(index); }  ///< empty where not given
  const std::vector<std::string>& values(const std::string& option) const;

  /// Parameters of type P: the defaults and what was given. Throws Error(invalid_argument) for values out of range.
  template <class P>
  P params() const {
    P params;
    for (const FieldInfo& field : describe_fields<P>()) {
      for (const std::string& value : values(field.name)) set_field(params, field.name, value);
    }
    return params;
  }
  FilterConfig settings(const Filter&) const;

 private:
  std::map<std::string, std::vector<std::string>> values_;
  std::vector<std::string> operands_;
};

}  // namespace quietvox::cli
