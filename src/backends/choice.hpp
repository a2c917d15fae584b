// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <future>
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

/// A backend, and why it was taken.
struct ChosenBackend {
  std::unique_ptr<Backend> backend;
  Message why;  ///< empty where it was asked for by name

  Message description() const { return why.empty() ? backend->name() : backend->name() + " (" + why + ")"; }
};

/// The backend for a chain, by a word that make_backend() knows. `auto` takes the CPU if CUDA cannot be used or lacks a
/// filter of the chain, and says so; a backend asked for by name is used, or Error(device) is thrown.
ChosenBackend choose_backend(std::string_view choice, std::span<const FilterConfig> chain);

/// What `auto` takes for a chain if `cuda` is available: it, or the CPU if it lacks a filter of the chain.
ChosenBackend choose_between(std::unique_ptr<Backend> cuda, std::span<const FilterConfig> chain);

/// Roughly how many seconds the CPU takes to filter a volume, without measuring noise, reading or writing. `chain` is
/// resolved as far as headers allow.
double cpu_seconds(std::span<const FilterConfig> chain, const Extent&, const Execution&);

/// A backend that is chosen and started on a thread of its own, since a GPU takes a quarter of a second, in which
/// others can read and measure. Whatever needs it waits for it, and throws what choosing it threw.
class StartingBackend final : public Backend {
 public:
  explicit StartingBackend(std::function<ChosenBackend()> choose)
      : chosen_(std::async(std::launch::async, std::move(choose)).share()) {}

  /// Throws what choosing it threw, where that is known by now.
  void check() const {
    if (chosen_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) get();
  }
  Message why() const { return get().why; }  ///< as of a ChosenBackend
  std::string name() const override { return backend().name(); }
  bool has(const Filter& filter) const override { return backend().has(filter); }
  bool has_integer(const Filter& filter) const override { return backend().has_integer(filter); }
  void run(std::span<const FilterConfig> chain, VolumeView<const float> in, VolumeView<float> out,
           const Execution& execution) const override {
    backend().run(chain, in, out, execution);
  }
  void run(const FilterConfig& step, VolumeView<const std::int16_t> in, VolumeView<std::int16_t> out,
           const Execution& execution) const override {
    backend().run(step, in, out, execution);
  }
  void run(const FilterConfig& step, VolumeView<const std::uint16_t> in, VolumeView<std::uint16_t> out,
           const Execution& execution) const override {
    backend().run(step, in, out, execution);
  }
  void run(const FilterConfig& step, std::span<const VolumeView<const float>> volumes,
           std::span<const VolumeView<float>> outputs, const Execution& execution) const override {
    backend().run(step, volumes, outputs, execution);
  }

 private:
  const ChosenBackend& get() const { return chosen_.get(); }
  const Backend& backend() const { return *get().backend; }

  std::shared_future<ChosenBackend> chosen_;
};

/// The backend shared by successive runs of one process. `auto` uses the CPU for a run that its threads finish sooner
/// than a GPU starts, even if a GPU is already running.
class BackendSelector {
 public:
  /// Begins to start a backend that is asked for by name. Throws Error(invalid_argument) for a word that is not known;
  /// the other errors of choose_backend() are thrown by what needs the backend.
  BackendSelector(std::string choice, std::vector<FilterConfig> chain);
  /// For a run that takes the CPU `seconds()`, which `auto` asks for.
  const StartingBackend& of(const std::function<double()>& seconds);

 private:
  void start_asked_for();

  std::string choice_;
  std::vector<FilterConfig> chain_;
  std::optional<StartingBackend> asked_for_, for_little_;
};

}  // namespace quietvox
