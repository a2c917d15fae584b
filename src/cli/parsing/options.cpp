// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/parsing/options.hpp"

#include <tclap/CmdLine.h>

#include <cctype>
#include <memory>

#include "cli/parsing/arguments.hpp"

namespace quietvox::cli {
namespace {

/// TCLAP prints and exits by itself unless its output does neither.
class SilentOutput final : public TCLAP::CmdLineOutput {
 public:
  void usage(TCLAP::CmdLineInterface&) override {}
  void version(TCLAP::CmdLineInterface&) override {}
  void failure(TCLAP::CmdLineInterface&, TCLAP::ArgException& error) override { throw error; }
};

/// One line out of a TCLAP exception: `argument already set (--radius)`.
std::string message(const TCLAP::ArgException& error) {
  std::string text = error.error();
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  while (!text.empty() && (text.back() == '!' || text.back() == ' ')) text.pop_back();
  std::string id = error.argId();
  if (const std::size_t name = id.find("--"); name != std::string::npos) {
    id = id.substr(name, id.find_first_of(" )", name) - name);
    text += " (" + id + ")";
  }
  return text;
}

std::vector<OptionName> option_names(const std::vector<OptionGroup>& groups) {
  std::vector<OptionName> names{{"help", false}, {"version", false}};
  for (const OptionGroup& group : groups) {
    for (const FieldInfo& field : group.fields) {
      names.push_back({field.name, field.kind != FieldKind::flag});
      if (has_negation(field)) names.push_back({"no-" + field.name, false});
    }
  }
  return names;
}

}  // namespace

bool has_negation(const FieldInfo& field) { return field.kind == FieldKind::flag && field.default_text != "false"; }

Arguments::Arguments(std::string_view command, const std::vector<OptionGroup>& groups,
                     const std::vector<Operand>& operands, const std::vector<std::string>& words)
    : operands_(operands.size()) {
  const std::string see = "see 'quietvox " + std::string(command) + " --help'";
  std::vector<std::string> tclap_words;
  try {
    tclap_words = normalised(words, option_names(groups), operands.size());
  } catch (const Error& error) {
    throw Error(error.code(), error.message(), see);
  }
  tclap_words.insert(tclap_words.begin(), "quietvox");

  try {
    SilentOutput silent;
    TCLAP::CmdLine parser("", ' ', "", false);
    parser.setOutput(&silent);
    parser.setExceptionHandling(false);
    std::map<std::string, std::unique_ptr<TCLAP::SwitchArg>> switches;
    std::map<std::string, std::unique_ptr<TCLAP::ValueArg<std::string>>> singles;
    std::map<std::string, std::unique_ptr<TCLAP::MultiArg<std::string>>> lists;
    std::vector<std::unique_ptr<TCLAP::UnlabeledValueArg<std::string>>> unlabeled;
    const auto add_switch = [&](const std::string& name) {
      switches.emplace(name, std::make_unique<TCLAP::SwitchArg>("", name, "", parser, false));
    };
    for (const OptionGroup& group : groups) {
      for (const FieldInfo& field : group.fields) {
        if (field.kind == FieldKind::flag) {
          add_switch(field.name);
          if (has_negation(field)) add_switch("no-" + field.name);
        } else if (group.repeatable) {
          lists.emplace(field.name,
                        std::make_unique<TCLAP::MultiArg<std::string>>("", field.name, "", false, "value", parser));
        } else {
          singles.emplace(field.name, std::make_unique<TCLAP::ValueArg<std::string>>("", field.name, "", false, "",
                                                                                     "value", parser));
        }
      }
    }
    unlabeled.reserve(operands.size());
    for (const Operand& operand : operands) {
      unlabeled.push_back(std::make_unique<TCLAP::UnlabeledValueArg<std::string>>(
          operand.name, operand.name, operand.required, "", operand.name, parser));
    }
    parser.parse(tclap_words);

    for (const auto& [name, option] : singles) {
      if (option->isSet()) values_[name] = {option->getValue()};
    }
    for (const auto& [name, option] : lists) values_[name] = option->getValue();
    for (const auto& [name, option] : switches) {
      if (!option->isSet()) continue;
      const bool negated = name.starts_with("no-");
      auto& value = values_[negated ? name.substr(3) : name];
      if (!value.empty())
        throw Error(Errc::invalid_argument, std::string("--").append(name).append(" contradicts another option"), see);
      value = {negated ? "false" : "true"};
    }
    for (std::size_t index = 0; index < operands.size(); ++index) operands_[index] = unlabeled[index]->getValue();
  } catch (const TCLAP::ArgException& error) {
    throw Error(Errc::invalid_argument, message(error), see);
  } catch (const TCLAP::ExitException&) {
    throw Error(Errc::internal, "the command line could not be parsed", see);
  }
}

const std::vector<std::string>& Arguments::values(const std::string& option) const {
  static const std::vector<std::string> none;
  const auto found = values_.find(option);
  return found == values_.end() ? none : found->second;
}

FilterConfig Arguments::settings(const Filter& filter) const {
  FilterConfig settings(filter);
  for (const FieldInfo& field : filter.fields) {
    for (const std::string& value : values(field.name)) settings.set(field.name, value);
  }
  return settings;
}

}  // namespace quietvox::cli
