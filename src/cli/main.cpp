// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "filters/registry.hpp"

int main() {
  for (const auto& filter : quietvox::filters()) std::cout << filter.name << "  " << filter.summary << "\n";
}
