// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "support/volumes.hpp"

/// Other people's programs, asked where they are installed.
namespace quietvox::test {

bool has_program(const std::string& name);

/// True where Debian's Python has the module; another python3 that comes first on the path does not count.
bool python_has(const std::string& module);

/// What a Python script makes of a volume. It finds the voxels in the file `in`, and leaves as many in `out`, both
/// float32, z slowest. Throws std::runtime_error where it fails.
Volume ask_python(const std::string& script, const Volume& in);

/// What Python's jsonschema says against a document, or nothing. `definition` is one of those of docs/schema.
std::string against_schema(const std::string& document, const std::string& definition);

}  // namespace quietvox::test
