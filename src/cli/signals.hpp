// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

#include <atomic>
#include <stop_token>
#include <string_view>
#include <thread>

namespace quietvox::cli {

/// Turns SIGINT, SIGTERM and SIGHUP into a stop request, so that a run ends by unwinding and cleans up behind itself.
/// A thread of its own waits for the signals: nothing runs in a signal handler. Make it before any other thread. A run
/// that does not end soon, since a parser or codec of somebody else's is at work, is ended all the same.
class SignalWatch {
 public:
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  std::stop_token stop() const { return source_.get_token(); }
  int received() const { return received_; }  ///< the signal that came, or 0

 private:
  void end_unless_done_soon() const;

  sigset_t watched_;
  std::stop_source source_;
  std::atomic<int> received_ = 0;
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

/// Writes a line to stderr at once, but not if nobody is reading what was written before.
void say_without_waiting(std::string_view line);

/// Ends the process by a signal that was caught before, so that its parent (a loop of a shell, a batch system) sees
/// what happened. The first process of a container does not die of signals: it exits with 128 + the signal. Call it
/// when everything is cleaned up.
[[noreturn]] void die_of(int signal);

}  // namespace quietvox::cli
