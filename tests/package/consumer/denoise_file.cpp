// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <quietvox/workflow/denoise.hpp>

int main(int argc, char** argv) try {
  if (argc != 3) return 64;
  const auto report = quietvox::denoise({.input = argv[1], .output = argv[2]});
  for (const auto& volume : report.volumes) {
    for (const auto& noise : volume.noise) std::cout << "sigma " << noise.sigma << '\n';
  }
} catch (const quietvox::Error& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
