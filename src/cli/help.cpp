// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/help.hpp"

#include <algorithm>
#include <sstream>

#include "core/provenance.hpp"

namespace quietvox::cli {
namespace {

constexpr std::size_t line_width = 100;

/// `text` broken into lines that start at column `indent`.
std::string wrapped(const std::string& text, std::size_t indent) {
  const std::string margin(indent, ' ');
  std::istringstream words(text);
  std::string word, line = margin, result;
  while (words >> word) {
    if (line.size() > indent && line.size() + 1 + word.size() > line_width) {
      result += line + "\n";
      line = margin;
    }
    line += (line.size() > indent ? " " : "") + word;
  }
  return result + line + "\n";
}

std::string placeholder(const FieldInfo& field) {
  switch (field.kind) {
    case FieldKind::integer: return "N";
    case FieldKind::real: return "X";
    case FieldKind::integer_triple:
    case FieldKind::real_triple: return "N|XxYxZ";
    case FieldKind::choice: return "WORD";
    case FieldKind::text: return field.unit;
    case FieldKind::flag: return "";
  }
  return "";
}

std::string option_help(const FieldInfo& field) {
  std::string head = "  --" + field.name;
  if (has_negation(field)) head += ", --no-" + field.name;
  if (const std::string value = placeholder(field); !value.empty()) head += " " + value;
  std::string limits;
  const auto add = [&limits](const std::string& part) { limits += (limits.empty() ? "" : "; ") + part; };
  if (field.kind != FieldKind::flag && field.kind != FieldKind::text) {
    add(field.allowed());
    if (!field.unit.empty()) add("unit: " + field.unit);
  }
  if (field.kind != FieldKind::flag && !field.default_text.empty()) add("default: " + field.default_text);
  return head + "\n" + wrapped(field.help + (limits.empty() ? "" : " [" + limits + "]"), 6);
}

std::string synopsis(const Command& command) {
  std::string text = "quietvox " + command.name + " [options]";
  for (const Operand& operand : command.operands) {
    text += operand.required ? " " + operand.name : " [" + operand.name + "]";
  }
  return text;
}

std::string padded(const std::string& word, std::size_t width) {
  return word + std::string(word.size() < width ? width - word.size() : 1, ' ');
}

}  // namespace

std::string program_help() {
  std::string text = "quietvox " + version() +
                     " -- denoises medical volumes (DICOM, NIfTI, NRRD, MetaImage)\n\n"
                     "Usage: quietvox COMMAND [options] ...\n\nCommands\n";
  std::size_t longest = 0;
  for (const Command& command : commands()) longest = std::max(longest, command.name.size());
  for (const Command& command : commands()) text += "  " + padded(command.name, longest + 2) + command.summary + "\n";
  text +=
      "\n  quietvox COMMAND --help   options of a command\n"
      "  quietvox --version        the version\n"
      "  quietvox --man-page, --bash-completion   what 'cmake --install' installs\n\n"
      "Examples\n"
      "  quietvox denoise ct/ ct-quiet/\n"
      "  quietvox median ct/ ct-median/ --radius 1x1x0\n"
      "  quietvox bilateral t1.nii.gz t1-clean.nii.gz --domain-sigma 1.5 --range-sigma auto\n"
      "  quietvox run t1.nii.gz out.nii.gz --filter median:radius=1x1x0 --filter bilateral:range-sigma=30,radius=2\n\n"
      "The input is never changed, and an existing output is replaced only with --force.\n"
      "Not for diagnostic use.\n";
  return text;
}

std::string command_help(const Command& command) {
  std::string text = "quietvox " + command.name + " -- " + command.summary + "\n\nUsage: " + synopsis(command) + "\n";
  if (!command.operands.empty()) text += "\n";
  for (const Operand& operand : command.operands) {
    text += "  " + padded(operand.name, 10) + wrapped(operand.help, 12).substr(12);
  }
  for (const OptionGroup& group : command.groups) {
    text += "\n" + group.title + "\n";
    for (const FieldInfo& field : group.fields) text += option_help(field);
  }
  return text + "\nNot for diagnostic use.\n";
}

}  // namespace quietvox::cli
