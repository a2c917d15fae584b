// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace quietvox {

/// What kind of thing went wrong. The command line maps each code to one exit status (src/cli/exit_code.cpp), the ITK
/// adapters to itk::ExceptionObject; nothing else looks at them.
enum class Errc {
  invalid_argument,  ///< a parameter or option is out of its range
  no_input,          ///< the path holds nothing that can be read as an image
  input_path,        ///< the input path does not exist or cannot be read
  output_path,       ///< the output path cannot be used: its folder is missing, or it lies inside the input
  not_writable,      ///< writing failed: permission, full disk
  unsupported,       ///< valid, but a kind of data that quietvox does not handle
  corrupt,           ///< the data contradict themselves or end too early
  irregular,         ///< a series with missing, repeated, tilted or unevenly spaced slices
  exists,            ///< the output is there already
  out_of_memory,     ///< host or device memory is exhausted
  device,            ///< the requested device is not available, or failed
  cancelled,         ///< the caller asked to stop
  internal,          ///< a broken promise inside quietvox
};

/// The one exception type of the library. The message is one line: file or parameter, what is wrong, what would be
/// right.
class Error : public std::runtime_error {
 public:
  Error(Errc code, const std::string& message) : std::runtime_error(message), code_(code) {}
  Errc code() const noexcept { return code_; }

 private:
  Errc code_;
};

/// Calls `body`, and puts what it is about, a file or an option, before the message of an Error that leaves it.
template <class Body>
auto naming(const std::string& what, const Body& body) {
  try {
    return body();
  } catch (const Error& error) {
    throw Error(error.code(), what + ": " + error.what());
  }
}

}  // namespace quietvox
