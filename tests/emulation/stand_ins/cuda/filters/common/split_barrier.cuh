// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace quietvox::cuda {

class SplitBarrier {
 public:
  void init() { emulation::wait_for_block(); }
  void arrive() {}
  void wait(bool) { emulation::wait_for_block(); }
};

}  // namespace quietvox::cuda
