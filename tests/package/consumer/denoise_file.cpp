// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <quietvox/workflow/denoise.hpp>

int main(int argc, char** argv) try {
  if (argc != 3) return 64;
  const auto report = quietvox::denoise({.input = argv[1], .output = argv[2]});
  std::cout << "sigma " << report.volumes[0].noise[0].sigma << '\n';
} catch (const quietvox::Error& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
