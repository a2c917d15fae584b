// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "core/message.hpp"

namespace quietvox {

/// What kind of thing went wrong. The command line maps each code to one exit status (src/cli/exit_code.cpp), the ITK
/// adapters to itk::ExceptionObject, Python to a word.
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

/// `invalid_argument` and so on: the name of the code, for programs.
std::string_view name_of(Errc);

/// The one exception type of the library. It says what is wrong and where, and often what would be right.
class Error : public std::runtime_error {
 public:
  /// `what()` is `problem; remedy`, on one line.
  Error(Errc code, Message problem, Message remedy = {})
      : runtime_error((remedy.empty() ? problem : problem + "; " + remedy).text()),
        code_(code),
        parts_(std::make_shared<const Parts>(std::move(problem), std::move(remedy))) {}

  Errc code() const noexcept { return code_; }
  const Message& problem() const noexcept { return parts_->first; }
  const Message& remedy() const noexcept { return parts_->second; }  ///< empty if there is none, or if it is obvious
  /// The text of what(), with its parameters as data.
  Message message() const { return remedy().empty() ? problem() : problem() + "; " + remedy(); }
  /// The parameter that is to be changed or given, or null.
  const Parameter* parameter() const { return problem().parameter() ? problem().parameter() : remedy().parameter(); }

 private:
  using Parts = std::pair<Message, Message>;
  Errc code_;
  std::shared_ptr<const Parts> parts_;  // copies of exceptions do not throw
};

/// Calls `body`. If it throws an Error, puts `what`, a file or a parameter, before its message.
template <class Body>
decltype(auto) with_error_context(const Message& what, const Body& body) {
  try {
    return body();
  } catch (const Error& error) {
    throw Error(error.code(), what + ": " + error.problem(), error.remedy());
  }
}

}  // namespace quietvox
