// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/simd/instruction_set.hpp"

#include "core/error.hpp"

// Highway compiles what stands between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "filters/simd/instruction_set.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace quietvox::HWY_NAMESPACE {
namespace {

const char* name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace
}  // namespace quietvox::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quietvox {

HWY_EXPORT(name);

std::string instruction_set() { return HWY_DYNAMIC_DISPATCH(name)(); }

std::vector<std::string> instruction_sets() {
  std::vector<std::string> names;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) names.emplace_back(hwy::TargetName(target));
  return names;
}

void force_instruction_set(const std::string& wanted) {
  std::int64_t forced = 0;
  std::string known;
  hwy::SetSupportedTargetsForTest(0);
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (wanted == hwy::TargetName(target)) forced = target;
    known += std::string(known.empty() ? "" : ", ") + hwy::TargetName(target);
  }
  if (forced == 0 && !wanted.empty()) {
    throw Error(Errc::invalid_argument, "instruction set '" + wanted + "' is not available", "there are " + known);
  }
  hwy::SetSupportedTargetsForTest(forced);
  hwy::GetChosenTarget().DeInit();
}

}  // namespace quietvox
#endif  // HWY_ONCE
