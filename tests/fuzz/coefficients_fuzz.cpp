// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>

#include "filters/quadratic/coefficients.hpp"

/// What is taken must come back the same from its own text; what is not must be called broken.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace quietvox;
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  try {
    const QuadraticCoefficients coefficients = quadratic_from_json(text, "a.json");
    const std::string own = to_json(coefficients);
    if (to_json(quadratic_from_json(own, "own.json")) != own) std::abort();
    quadratic_form(coefficients, 1);
  } catch (const Error& error) {
    if (error.code() != Errc::corrupt) std::abort();
  }
  return 0;
}
