// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "support/programs.hpp"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "support/temporary_folder.hpp"

namespace quietvox::test {
namespace {

const std::string python = "/usr/bin/python3";

bool succeeds(const std::string& command) { return std::system((command + " > /dev/null 2>&1").c_str()) == 0; }

}  // namespace

bool has_program(const std::string& name) { return succeeds("command -v " + name); }

bool python_has(const std::string& module) { return succeeds(python + " -c 'import " + module + "'"); }

Volume ask_python(const std::string& script, const Volume& in) {
  const TemporaryFolder folder;
  Volume out(in.extent, in.spacing);
  const auto bytes = static_cast<std::streamsize>(in.voxels.size() * sizeof(float));
  std::ofstream(folder / "in", std::ios::binary).write(reinterpret_cast<const char*>(in.voxels.data()), bytes);
  std::ofstream(folder / "script.py") << script;
  std::ifstream result;
  if (std::system(("cd '" + folder.path().string() + "' && " + python + " script.py").c_str()) == 0) {
    result.open(folder / "out", std::ios::binary);
  }
  if (!result.read(reinterpret_cast<char*>(out.voxels.data()), bytes)) throw std::runtime_error("failed: " + script);
  return out;
}

std::string against_schema(const std::string& document, const std::string& definition) {
  const TemporaryFolder folder;
  std::ofstream(folder / "document") << document;
  std::ofstream(folder / "script.py") << R"(
import json, jsonschema, sys
schema = json.load(open(sys.argv[1]))
schema['$ref'] = '#/$defs/' + sys.argv[2]
errors = jsonschema.Draft202012Validator(schema).iter_errors(json.load(open('document')))
open('errors', 'w').write('; '.join(f'{e.json_path}: {e.message}' for e in errors)[:2000])
)";
  if (!succeeds("cd '" + folder.path().string() + "' && " + python +
                " script.py '" QUIETVOX_SOURCE_DIR "/docs/schema/quietvox-1.json' " + definition)) {
    return "cannot be checked";
  }
  std::ifstream file(folder / "errors");
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace quietvox::test
