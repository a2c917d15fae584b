// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// Writes a selection network as C++: quietvox_generate_median ZxYxX TZxTYxTX FILE, the sizes of window and tile.
#include <cstdio>
#include <fstream>
#include <string>

#include "filters/selection/network.hpp"

namespace {

using namespace quietvox;
using namespace quietvox::selection;

std::string place_text(const Place& place) {
  return std::to_string(place.z) + ", " + std::to_string(place.y) + ", " + std::to_string(place.x);
}

void write(std::ostream& out, const std::string& name, const Network& network) {
  int operations = 0, outputs = 0;
  for (const Step& step : network) {
    operations += step.kind == StepKind::min || step.kind == StepKind::max;
    outputs += step.kind == StepKind::store;
  }
  out << "// Made by quietvox_generate_median. " << operations << " minima and maxima for " << outputs << " outputs.\n"
      << "template <class Ops, class Load, class Store>\n"
      << "QV_HD void " << name << "(const Load& load, const Store& store) {\n"
      << "  using Value = typename Ops::Value;\n";
  int pairs = 0;
  for (std::size_t i = 0; i < network.size(); ++i) {
    const Step& step = network[i];
    const std::string a = std::string("v").append(std::to_string(step.a));
    const std::string b = std::string("v").append(std::to_string(step.b));
    if (step.kind == StepKind::store) {
      out << "  store(" << place_text(step.place) << ", " << a << ");\n";
      continue;
    }
    out << "  const Value v" << i << " = ";
    const bool beside_min =
        i > 0 && network[i - 1].kind == StepKind::min && network[i - 1].a == step.a && network[i - 1].b == step.b;
    if (step.kind == StepKind::load) {
      out << "load(" << place_text(step.place) << ");\n";
    } else if (step.kind == StepKind::min) {
      out << "Ops::min(" << a << ", " << b << ");\n";
    } else if (beside_min) {
      out << "Ops::template larger<" << pairs++ << ">(" << a << ", " << b << ", v" << i - 1 << ");\n";
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
  if (argc != 4 || !parse(argv[1], window) || !parse(argv[2], tile)) {
    std::fprintf(stderr, "usage: quietvox_generate_median ZxYxX TZxTYxTX FILE\n");
    return 1;
  }
  std::ofstream out(argv[3]);
  write(out, "median_" + std::string(argv[1]) + "_tile_" + argv[2], median_network(window, tile));
  return out.flush() ? 0 : 1;
}
