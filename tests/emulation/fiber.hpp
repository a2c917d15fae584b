// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace quietvox::emulation {

/// A function that can wait in the middle and go on later: it has a stack of its own. For x86-64.
class Fiber {
 public:
  void start(void (*body)());  ///< at the next resume(), whatever it did before
  void resume();               ///< goes on until it waits or ends
  bool has_ended() const { return has_ended_; }

  static void wait();  ///< within a fiber: goes back to where it was resumed

 private:
  static void run();

  std::vector<void*> stack_;
  void* place_ = nullptr;  ///< in the stack, while it waits
  void (*body_)() = nullptr;
  bool has_ended_ = false;
};

}  // namespace quietvox::emulation
