// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "emulation/fiber.hpp"

#include <cstdint>

/// Saves the registers that functions must keep, with the stack pointer at `from`, and takes those saved at `to`.
extern "C" void quietvox_switch_stack(void** from, void* to);

asm(R"(
.pushsection .text
.globl quietvox_switch_stack
.type quietvox_switch_stack, @function
quietvox_switch_stack:
  pushq %rbx
  pushq %rbp
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbp
  popq %rbx
  ret
.size quietvox_switch_stack, .-quietvox_switch_stack
.popsection
)");

namespace quietvox::emulation {
namespace {

Fiber* current = nullptr;
void* place_of_resume = nullptr;

}  // namespace

void Fiber::start(void (*body)()) {
  constexpr std::size_t words = 32 * 1024, registers = 6;
  stack_.resize(words);
  body_ = body;
  has_ended_ = false;
  // As if nobody had called run(): functions begin with the stack pointer 8 bytes off a multiple of 16.
  void** top = stack_.data() + words - 2;
  if (reinterpret_cast<std::uintptr_t>(top) % 16 == 0) --top;
  *top = nullptr;
  *--top = reinterpret_cast<void*>(&Fiber::run);
  for (std::size_t i = 0; i < registers; ++i) *--top = nullptr;
  place_ = top;
}

void Fiber::resume() {
  current = this;
  quietvox_switch_stack(&place_of_resume, place_);
}

void Fiber::wait() { quietvox_switch_stack(&current->place_, place_of_resume); }

void Fiber::run() {
  current->body_();
  current->has_ended_ = true;
  for (;;) wait();
}

}  // namespace quietvox::emulation
