// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "backends/choice.hpp"

#include <algorithm>

#include "backends/cpu_backend.hpp"
#include "cuda/backend.hpp"

namespace quietvox {
namespace {

const Filter* first_missing(const Backend& backend, std::span<const FilterConfig> chain) {
  const auto found =
      std::find_if(chain.begin(), chain.end(), [&](const FilterConfig& step) { return !backend.has(step.filter()); });
  return found == chain.end() ? nullptr : &found->filter();
}

/// What a word stands for.
struct BackendChoice {
  bool is_automatic = false;
  std::optional<int> device{};  ///< a GPU; -1: any
};

BackendChoice parse_choice(std::string_view choice) {
  if (is_word(choice, "auto")) return {.is_automatic = true};
  if (is_word(choice, "cpu")) return {};
  if (is_word(choice, "cuda")) return {.device = -1};
  if (is_word(choice.substr(0, 5), "cuda:")) {
    if (const auto device = FieldType<int>::parse(choice.substr(5)); device && *device >= 0) return {.device = device};
  }
  throw Error(Errc::invalid_argument, Parameter{"backend"} + " = '" + std::string(choice) + "' is not known",
              "give auto, cpu, cuda or cuda:N");
}

ChosenBackend choose_for(std::span<const FilterConfig> chain) {
  try {
    return choose_between(make_cuda_backend(-1), chain);
  } catch (const Error& error) {
    // Others may have filled the device.
    if (error.code() != Errc::device && error.code() != Errc::out_of_memory) throw;
    return {make_cpu_backend(), "auto: " + error.problem()};
  }
}

}  // namespace

ChosenBackend choose_between(std::unique_ptr<Backend> cuda, std::span<const FilterConfig> chain) {
  if (const Filter* missing = first_missing(*cuda, chain)) {
    return {make_cpu_backend(), "auto: " + cuda->name() + " has no " + missing->name};
  }
  return {std::move(cuda), "auto: a usable device is here"};
}

ChosenBackend choose_backend(std::string_view choice, std::span<const FilterConfig> chain) {
  if (parse_choice(choice).is_automatic) return choose_for(chain);
  auto backend = make_backend(choice);
  if (const Filter* missing = first_missing(*backend, chain)) {
    throw Error(Errc::device, Parameter{"backend", std::string(choice)} + " has no " + missing->name,
                "give cpu or auto");
  }
  return {std::move(backend), ""};
}

double cpu_seconds(std::span<const FilterConfig> chain, const Extent& extent, const Execution& execution) {
  double nanoseconds = 0;
  for (const FilterConfig& step : chain) nanoseconds += step.cpu_ns_per_voxel(extent);
  return 1e-9 * nanoseconds * static_cast<double>(extent.voxels()) / thread_count(execution);
}

BackendSelector::BackendSelector(std::string choice, std::vector<FilterConfig> chain)
    : choice_(std::move(choice)), chain_(std::move(chain)) {
  if (!parse_choice(choice_).is_automatic) start_asked_for();
}

const StartingBackend& BackendSelector::of(const std::function<double()>& seconds) {
  constexpr double start_of_gpu = 0.4;  // seconds, an H200
  if (parse_choice(choice_).is_automatic && seconds() < start_of_gpu) {
    if (!for_little_) {
      for_little_.emplace([] { return ChosenBackend{make_cpu_backend(), "auto: too little work for a GPU"}; });
    }
    return *for_little_;
  }
  if (!asked_for_) start_asked_for();
  return *asked_for_;
}

void BackendSelector::start_asked_for() {
  asked_for_.emplace([choice = choice_, chain = chain_] { return choose_backend(choice, chain); });
}

std::unique_ptr<Backend> make_backend(std::string_view choice) {
  const BackendChoice wanted = parse_choice(choice);
  if (wanted.is_automatic) return choose_for({}).backend;
  return wanted.device ? make_cuda_backend(*wanted.device) : make_cpu_backend();
}

}  // namespace quietvox
