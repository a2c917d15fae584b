// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// Values of parameters as text: what is taken must be allowed, and must come back the same from its own text.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/fields.hpp"

namespace {

using namespace quietvox;

enum class Shape { box, disc };
constexpr std::array<std::string_view, 2> choices(Shape) { return {"box", "disc"}; }

struct Params {
  int count = 1;
  double sigma = 1;
  Radius3 radius{1, 1, 1};
  Shape shape = Shape::box;
  bool flag = false;
  std::optional<double> noise;
  std::string text;

  static constexpr std::string_view name = "fuzz";
  static consteval auto fields() {
    return std::tuple{field("count", &Params::count, {0, 15}, "", "A number."),
                      field("sigma", &Params::sigma, {0.0, 100.0}, "mm", "A number."),
                      field("radius", &Params::radius, {0, 15}, "voxel", "Three numbers."),
                      field("shape", &Params::shape, "A choice."),
                      field("flag", &Params::flag, "A flag."),
                      field("noise", &Params::noise, {0.0, 1e9}, "", "A number or auto."),
                      field("text", &Params::text, NoRange{}, "TEXT", "A text.")};
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string name = text.substr(0, equals), value = text.substr(std::min(equals + 1, text.size()));
  try {
    Params params;
    set_field(params, name, value);
    if (params.count < 0 || params.count > 15 || !(params.sigma >= 0 && params.sigma <= 100)) std::abort();
    if (params.noise && !(*params.noise >= 0 && *params.noise <= 1e9)) std::abort();
    const std::string own = get_field(params, name);
    Params again;
    set_field(again, name, own);
    if (get_field(again, name) != own) std::abort();
  } catch (const Error& error) {
    if (error.code() != Errc::invalid_argument) std::abort();
  }
  return 0;
}
