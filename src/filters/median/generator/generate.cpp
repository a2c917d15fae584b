// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// Writes a selection network as C++: quietvox_generate_median ZxYxX TZxTYxTX FILE [joined], the sizes of window and
// tile. What is joined takes the smallest or the largest of three where that saves a step.
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "filters/median/generator/network.hpp"

namespace {

using namespace quietvox;
using namespace quietvox::selection;

std::string place_text(const Place& place) {
  return std::to_string(place.z) + ", " + std::to_string(place.y) + ", " + std::to_string(place.x);
}

/// A minimum of which only another minimum makes use becomes part of that one, which takes no second; maxima likewise.
struct Joins {
  std::vector<int> into, from;  ///< for each step the other one; -1 where there is none

  Joins(const Network& network, bool any) : into(network.size(), -1), from(network.size(), -1) {
    if (!any) return;
    std::vector<int> uses(network.size(), 0), user(network.size(), -1);
    for (std::size_t i = 0; i < network.size(); ++i) {
      for (const int operand : {network[i].a, network[i].b}) {
        if (operand < 0) continue;
        ++uses[static_cast<std::size_t>(operand)];
        user[static_cast<std::size_t>(operand)] = static_cast<int>(i);
      }
    }
    for (std::size_t i = 0; i < network.size(); ++i) {
      if (network[i].kind == StepKind::load || uses[i] != 1 || from[i] >= 0) continue;
      const auto next = static_cast<std::size_t>(user[i]);
      if (network[next].kind != network[i].kind || from[next] >= 0) continue;
      into[i] = user[i];
      from[next] = static_cast<int>(i);
    }
  }
};

void write(std::ostream& out, const std::string& name, const Network& network, bool join) {
  int operations = 0, outputs = 0;
  for (const Step& step : network) {
    operations += step.kind == StepKind::min || step.kind == StepKind::max;
    outputs += step.kind == StepKind::store;
  }
  out << "// Made by quietvox_generate_median. " << operations << " minima and maxima for " << outputs << " outputs.\n"
      << "template <class Ops, class Load, class Store>\n"
      << "QV_HD void " << name << "(const Load& load, const Store& store) {\n"
      << "  using Value = typename Ops::Value;\n";
  const Joins joins(network, join);
  const auto value = [](int step) { return std::string("v").append(std::to_string(step)); };
  int pairs = 0;
  for (std::size_t i = 0; i < network.size(); ++i) {
    const Step& step = network[i];
    if (joins.into[i] >= 0) continue;
    const std::string a = value(step.a), b = value(step.b);
    if (step.kind == StepKind::store) {
      out << "  store(" << place_text(step.place) << ", " << a << ");\n";
      continue;
    }
    out << "  const Value v" << i << " = ";
    const bool beside_min = i > 0 && network[i - 1].kind == StepKind::min && network[i - 1].a == step.a &&
                            network[i - 1].b == step.b && joins.into[i - 1] < 0;
    if (step.kind == StepKind::load) {
      out << "load(" << place_text(step.place) << ");\n";
    } else if (joins.from[i] >= 0) {
      const Step& first = network[static_cast<std::size_t>(joins.from[i])];
      out << "Ops::" << (step.kind == StepKind::min ? "min3(" : "max3(") << value(first.a) << ", " << value(first.b)
          << ", " << (step.a == joins.from[i] ? b : a) << ");\n";
    } else if (step.kind == StepKind::min) {
      out << "Ops::min(" << a << ", " << b << ");\n";
    } else if (beside_min) {
      out << "Ops::larger(" << pairs++ << ", " << a << ", " << b << ", v" << i - 1 << ");\n";
    } else {
      out << "Ops::max(" << a << ", " << b << ");\n";
    }
  }
  out << "}\n";
}

/// Reads ZxYxX. False where the text is something else.
bool parse(const char* text, Triple<int>& size) {
  char rest = 0;
  return std::sscanf(text, "%dx%dx%d%c", &size.z, &size.y, &size.x, &rest) == 3 && size.x > 0 && size.y > 0 &&
         size.z > 0;
}

}  // namespace

int main(int argc, char** argv) {
  Triple<int> window, tile;
  const bool join = argc == 5 && std::string_view(argv[4]) == "joined";
  if (argc < 4 || argc > 4 + join || !parse(argv[1], window) || !parse(argv[2], tile)) {
    std::fprintf(stderr, "usage: quietvox_generate_median ZxYxX TZxTYxTX FILE [joined]\n");
    return 1;
  }
  std::ofstream out(argv[3]);
  write(out, "median_" + std::string(argv[1]) + "_tile_" + argv[2] + (join ? "_joined" : ""),
        median_network(window, tile), join);
  return out.flush() ? 0 : 1;
}
