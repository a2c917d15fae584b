// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// Values of parameters as text. The whole table of a filter is beyond clang 14, which fails on consteval members.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/fields.hpp"

namespace {

using namespace quietvox;

enum class Shape { box, disc };
constexpr std::array<std::string_view, 2> choices(Shape) { return {"box", "disc"}; }

/// What is taken must come back the same from its own text, and be allowed only within its range.
template <class T>
void try_value(const std::string& text, typename FieldType<T>::Limits limits) {
  const auto value = FieldType<T>::parse(text);
  if (!value || !FieldType<T>::allowed(*value, limits)) return;
  const std::string own = FieldType<T>::format(*value);
  const auto again = FieldType<T>::parse(own);
  if (!again || !FieldType<T>::allowed(*again, limits) || FieldType<T>::format(*again) != own) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  try_value<int>(text, {0, 15});
  try_value<double>(text, {0, 100});
  try_value<Triple<int>>(text, {0, 15});
  try_value<Triple<double>>(text, {0, 100});
  try_value<std::optional<double>>(text, {0, 1e9});
  try_value<Shape>(text, {});
  try_value<bool>(text, {});
  const auto real = FieldType<double>::parse(text);
  if (real && FieldType<double>::allowed(*real, {0, 100}) && !(*real >= 0 && *real <= 100)) std::abort();
  return 0;
}
