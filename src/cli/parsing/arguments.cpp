// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/parsing/arguments.hpp"

#include <algorithm>
#include <cctype>

#include "core/error.hpp"

namespace quietvox::cli {
namespace {

/// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

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
  const std::string meant = nearest(name, names);
  const Message problem = "unknown option '" + std::string(typed) + "'";
  throw Error(Errc::invalid_argument,
              meant.empty() ? problem : problem + "; did you mean '" + Parameter{meant.substr(2)} + "'?");
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& names) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& name : names) {
    const bool begins = word.size() >= 4 && name.starts_with(word);
    const std::size_t distance = begins ? 1 : edit_distance(word, name);
    if (distance < best_distance && distance < name.size()) {
      best = name;
      best_distance = distance;
    }
  }
  return best;
}

std::string hint(std::string_view word, const std::vector<std::string>& names) {
  const std::string name = nearest(word, names);
  return name.empty() ? "" : "; did you mean '" + name + "'?";
}

std::vector<std::string> normalised(const std::vector<std::string>& words, const std::vector<OptionName>& options) {
  std::vector<std::string> result;
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (*word == "--") {
      result.insert(result.end(), word, words.end());
      break;
    }
    if (word->empty()) throw Error(Errc::invalid_argument, "an argument is empty");
    if (*word == "-") throw Error(Errc::invalid_argument, "'-' is not supported; quietvox reads and writes files only");
    if (!is_option(*word)) {
      result.push_back(*word);
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
