// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "workflow/resource_error.hpp"

#include <filesystem>
#include <new>
#include <string_view>
#include <system_error>

namespace quietvox {
namespace {

/// What the standard library and oneTBB throw where the system gives no more threads.
bool lacks_threads(const std::exception& exception) {
  if (dynamic_cast<const std::filesystem::filesystem_error*>(&exception)) return false;
  const auto* const error = dynamic_cast<const std::system_error*>(&exception);
  return error ? error->code() == std::errc::resource_unavailable_try_again
               : std::string_view(exception.what()).starts_with("pthread_create has failed");
}

}  // namespace

std::optional<Error> resource_error(const std::exception& exception) {
  if (dynamic_cast<const std::bad_alloc*>(&exception)) {
    return Error{Errc::out_of_memory, "out of memory", Parameter{"memory-limit"} + " makes filters work in slabs"};
  }
  if (lacks_threads(exception)) {
    return Error{Errc::out_of_memory, "the system gives no more threads",
                 "raise its limit of processes (ulimit -u) or have fewer by " + Parameter{"threads"}};
  }
  return std::nullopt;
}

}  // namespace quietvox
