// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/backend.hpp"

namespace quietvox {

/// `cpu`, `cuda`, `cuda:N`, or `auto`: CUDA where a usable device is found, else the CPU.
/// Throws Error(device) where CUDA is asked for by name and there is none, Error(invalid_argument) for other words.
std::unique_ptr<Backend> make_backend(std::string_view choice);

struct ChosenBackend {
  std::unique_ptr<Backend> backend;
  Message why;  ///< empty where it was asked for by name

  Message description() const { return why.empty() ? backend->name() : backend->name() + " (" + why + ")"; }
};

/// The backend for a chain, by a word that make_backend() knows. `auto` takes the CPU where CUDA cannot be used,
/// lacks a filter of the chain or has it by name only, and says so; a backend asked for by name is taken or
/// Error(device) is thrown.
ChosenBackend choose_backend(std::string_view choice, std::span<const FilterConfig> chain);

/// What `auto` takes for a chain where `cuda` is there: it, or the CPU where it lacks a filter or has one that is taken
/// by name only.
ChosenBackend choose_between(std::unique_ptr<Backend> cuda, std::span<const FilterConfig> chain);

/// About how long the CPU takes for a volume, in seconds; what is estimated or read and written aside. `chain` is
/// resolved but for what only the voxels tell.
double cpu_seconds(std::span<const FilterConfig> chain, const Extent&, const Execution&);

/// The backend of one run after another in a process. `auto` takes the CPU for what so many threads of it end before a
/// GPU has started, whatever was run before.
class BackendSelector {
 public:
  /// Errors are those of choose_backend().
  BackendSelector(std::string choice, std::vector<FilterConfig> chain);
  /// For a run that takes the CPU `seconds()`, which `auto` asks for.
  const ChosenBackend& of(const std::function<double()>& seconds);

 private:
  std::string choice_;
  std::vector<FilterConfig> chain_;
  std::optional<ChosenBackend> asked_for_, for_little_;
};

}  // namespace quietvox
