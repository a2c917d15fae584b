// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/manual.hpp"

#include <algorithm>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/help.hpp"
#include "core/provenance.hpp"
#include "filters/registry.hpp"

namespace quietvox::cli {
namespace {

/// Text of a page as roff takes it literally.
std::string roff(const std::string& text) {
  std::string result;
  for (const char c : text) {
    const bool begins_line = result.empty() || result.back() == '\n';
    if (begins_line && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
  }
  return result;
}

std::string literal(const std::string& text) { return ".nf\n" + roff(text) + ".fi\n"; }

std::string options_of(const Command& command) {
  std::string words;
  for (const OptionGroup& group : command.groups) {
    for (const FieldInfo& field : group.fields) {
      words += " --" + field.name;
      if (has_negation(field)) words += " --no-" + field.name;
    }
  }
  return words + " --help --version";
}

std::string filter_names() {
  std::string names;
  for (const Filter& filter : filters()) names += (names.empty() ? "" : " ") + filter.name;
  return names;
}

/// The values of an option, as far as they are known.
std::string values_of(const FieldInfo& field) {
  if (field.name == "filter") return filter_names();
  std::string words;
  for (const std::string& choice : field.choices) words += (words.empty() ? "" : " ") + choice;
  if (!words.empty() && field.may_be_auto) words += " auto";
  if (words.empty() && field.unit.find('|') != std::string::npos) {  // auto|cpu|cuda[:N]
    words = field.unit.substr(0, field.unit.find('['));
    std::ranges::replace(words, '|', ' ');
  }
  return words;
}

/// `--shape) words="box cross";;` for each option whose values are known.
std::string values_of(const Command& command) {
  std::string cases;
  for (const OptionGroup& group : command.groups) {
    for (const FieldInfo& field : group.fields) {
      const std::string words = values_of(field);
      if (!words.empty()) cases += "        --" + field.name + ") words=\"" + words + "\" ;;\n";
    }
  }
  return cases;
}

}  // namespace

std::string man_page() {
  std::string page = ".TH QUIETVOX 1 \"\" \"quietvox " + version() + "\" \"User Commands\"\n.SH NAME\n" +
                     roff("quietvox - takes the noise out of medical volumes (DICOM, NIfTI, NRRD, MetaImage)\n") +
                     ".SH SYNOPSIS\n.B quietvox\n.I COMMAND\n[options] ...\n.SH DESCRIPTION\n" +
                     literal(program_help());
  for (const Command& command : commands()) page += ".SH \"" + command.name + "\"\n" + literal(command_help(command));
  page += ".SH \"EXIT STATUS\"\n";
  for (const auto& [status, meaning] : exit_meanings()) {
    page += ".TP\n" + roff(std::string(status)) + "\n" + roff(std::string(meaning)) + "\n";
  }
  return page;
}

std::string bash_completion() {
  std::string names, cases;
  for (const Command& command : commands()) {
    names += command.name + " ";
    const std::string values = values_of(command);
    cases += "    " + command.name + ")\n      options=\"" + options_of(command).substr(1) + "\"\n";
    if (!values.empty()) cases += "      case $before in\n" + values + "      esac\n";
    if (command.name == "filters") cases += "      [[ $word == -* ]] || words=\"" + filter_names() + "\"\n";
    cases += "      ;;\n";
  }
  return "# bash completion of quietvox, made by quietvox --bash-completion\n"
         "_quietvox() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options= words=\n"
         "  if ((COMP_CWORD == 1)) || [ \"${COMP_WORDS[1]}\" = help ]; then\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"" +
         names +
         "help --help --version\" -- \"$word\")\n"
         "    return\n"
         "  fi\n"
         "  case ${COMP_WORDS[1]} in\n" +
         cases +
         "  esac\n"
         "  if [ -n \"$words\" ]; then\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
         "  elif [[ $word == -* ]]; then\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\")\n"
         "  else\n"
         "    mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F _quietvox quietvox\n";
}

}  // namespace quietvox::cli
