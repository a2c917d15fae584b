// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// Whole command lines, their words between line feeds.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <sstream>

#include "cli/parsing/options.hpp"

namespace {

using namespace quietvox;

FieldInfo option(const std::string& name, FieldKind kind, const std::string& default_text) {
  FieldInfo info;
  info.name = name;
  info.kind = kind;
  info.default_text = default_text;
  return info;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const std::vector<cli::OptionGroup> groups{
      {"Steps", {option("filter", FieldKind::text, "")}, true},
      {"Others",
       {option("radius", FieldKind::integer_triple, "1x1x1"), option("range-sigma", FieldKind::real, "auto"),
        option("compress", FieldKind::flag, "auto"), option("force", FieldKind::flag, "false")}}};
  std::istringstream text(std::string(reinterpret_cast<const char*>(bytes), size));
  std::vector<std::string> words;
  for (std::string word; std::getline(text, word);) words.emplace_back(word.c_str());  // none holds a zero byte
  try {
    const cli::Arguments arguments("median", groups, {{"INPUT", ""}, {"OUTPUT", "", false}}, words);
    if (arguments.operand(0).empty()) std::abort();
    for (const char* name : {"radius", "range-sigma", "compress", "force"}) {
      const auto& values = arguments.values(name);
      if (values.size() > 1 || (values.size() == 1 && values[0].empty())) std::abort();
    }
    for (const char* flag : {"compress", "force"}) {
      for (const std::string& value : arguments.values(flag)) {
        if (value != "true" && value != "false") std::abort();
      }
    }
  } catch (const Error& error) {
    if (error.code() != Errc::invalid_argument) std::abort();
    if (std::string(error.what()).find("; see 'quietvox median --help'") == std::string::npos) std::abort();
  }
  return 0;
}
