// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <stop_token>
#include <string>

namespace quietvox {

/// What a caller wants to hear of a run while it works, and how it stops it. Each part may be left empty.
struct Observer {
  std::stop_token stop{};                            ///< a stop request ends the run with Error(cancelled)
  std::function<void(double)> progress{};            ///< the fraction done, 0 to 1, by any thread, one at a time
  std::function<void(const std::string&)> note{};    ///< a line for people, where a run has to wait
  std::function<void(const std::string&)> detail{};  ///< a line about each volume, for people who want to know more
};

}  // namespace quietvox
