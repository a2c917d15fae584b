// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/parsing/arguments.hpp"

#include <algorithm>
#include <cctype>

#include "core/error.hpp"
#include "core/nearest_word.hpp"

namespace quietvox::cli {
namespace {

bool is_negative_number(std::string_view word) {
  return word.size() > 1 && word[0] == '-' &&
         (std::isdigit(static_cast<unsigned char>(word[1])) || (word[1] == '.' && word.size() > 2));
}

bool is_option(std::string_view word) { return word.size() > 1 && word[0] == '-' && !is_negative_number(word); }

std::string with_hyphens(std::string_view name) {
  std::string result(name);
  std::replace(result.begin(), result.end(), '_', '-');
  return result;
}

[[noreturn]] void throw_unknown_option(std::string_view typed, const std::vector<OptionName>& options) {
  std::vector<std::string> names;
  names.reserve(options.size());
  for (const OptionName& option : options) names.push_back("--" + option.name);
  const std::string name = "--" + with_hyphens(typed.substr(std::min(typed.find_first_not_of('-'), typed.size())));
  const std::string meant = nearest_word(name, names);
  const Message problem = "unknown option '" + std::string(typed) + "'";
  throw Error(Errc::invalid_argument,
              meant.empty() ? problem : problem + "; did you mean '" + Parameter{meant.substr(2)} + "'?");
}

}  // namespace

std::string hint(std::string_view word, const std::vector<std::string>& names) {
  const std::string name = nearest_word(word, names);
  return name.empty() ? "" : "; did you mean '" + name + "'?";
}

std::vector<std::string> normalised(const std::vector<std::string>& words, const std::vector<OptionName>& options,
                                    std::size_t most_operands) {
  std::vector<std::string> result;
  std::size_t operands = 0;
  const auto add_operand = [&](const std::string& word) {
    if (++operands > most_operands) throw Error(Errc::invalid_argument, "one argument too many: '" + word + "'");
    result.push_back(word);
  };
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (*word == "--") {
      result.push_back(*word);
      std::for_each(word + 1, words.end(), add_operand);
      break;
    }
    if (word->empty()) throw Error(Errc::invalid_argument, "an argument is empty");
    if (*word == "-") throw Error(Errc::invalid_argument, "'-' is not supported; quietvox reads and writes files only");
    if (!is_option(*word)) {
      add_operand(*word);
      continue;
    }
    const std::size_t equals = word->find('=');
    const std::string typed = word->substr(0, equals);
    const auto option = std::find_if(options.begin(), options.end(), [&](const OptionName& candidate) {
      return with_hyphens(typed) == "--" + candidate.name;
    });
    if (option == options.end()) throw_unknown_option(typed, options);
    const Parameter parameter{option->name};
    result.push_back("--" + option->name);
    if (!option->takes_value) {
      if (equals != std::string::npos)
        throw Error(Errc::invalid_argument, parameter + " is a switch and takes no value");
    } else if (equals != std::string::npos) {
      result.push_back(word->substr(equals + 1));
    } else {
      if (word + 1 == words.end() || is_option(*(word + 1))) {
        throw Error(Errc::invalid_argument, parameter + " needs a value");
      }
      result.push_back(*++word);
    }
    if (option->takes_value && result.back().empty()) throw Error(Errc::invalid_argument, parameter + " needs a value");
  }
  return result;
}

bool asks_for(const std::vector<std::string>& words, std::string_view option) {
  const auto end = std::find(words.begin(), words.end(), "--");
  return std::find(words.begin(), end, option) != end;
}

}  // namespace quietvox::cli
