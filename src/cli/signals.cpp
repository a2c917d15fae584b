// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/signals.hpp"

#include <pthread.h>

namespace quietvox::cli {

SignalWatch::SignalWatch() {
  sigemptyset(&watched_);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    // What the caller told the process to ignore (nohup, background jobs) stays ignored.
    struct sigaction current {};
    if (sigaction(number, nullptr, &current) == 0 && current.sa_handler != SIG_IGN) sigaddset(&watched_, number);
  }
  sigaddset(&watched_, SIGUSR2);  // ends the thread
  pthread_sigmask(SIG_BLOCK, &watched_, nullptr);
  // A closed pipe and a limit on the size of files are write errors like any other.
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  thread_ = std::thread([this] {
    while (!done_) {
      int number = 0;
      if (sigwait(&watched_, &number) != 0 || number == SIGUSR2) continue;
      received_ = number;
      source_.request_stop();
    }
  });
}

SignalWatch::~SignalWatch() {
  done_ = true;
  pthread_kill(thread_.native_handle(), SIGUSR2);
  thread_.join();
}

void die_of(int number) {
  signal(number, SIG_DFL);
  raise(number);  // waits while the signal is blocked
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
}

}  // namespace quietvox::cli
