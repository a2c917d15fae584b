// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/signals.hpp"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "cli/exit_code.hpp"
#include "io/output/staging_folder.hpp"

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
      end_unless_done_soon();
    }
  });
}

void SignalWatch::end_unless_done_soon() const {
  constexpr timespec a_while{0, 50'000'000};
  for (int waits = 1; !done_; ++waits) {
    sigtimedwait(&watched_, nullptr, &a_while);
    constexpr int most_waits = 14;
    if (done_ || waits < most_waits || !io::abandon_stagings()) continue;  // or outputs are being put in place
    say_without_waiting("quietvox: stopped by a signal; nothing was left half written\n");
    die_of(received_);
  }
}

SignalWatch::~SignalWatch() {
  done_ = true;
  pthread_kill(thread_.native_handle(), SIGUSR2);
  thread_.join();
}

void say_without_waiting(std::string_view line) {
  pollfd err{STDERR_FILENO, POLLOUT, 0};
  if (poll(&err, 1, 0) == 1) static_cast<void>(!write(STDERR_FILENO, line.data(), line.size()));
}

void die_of(int number) {
  signal(number, SIG_DFL);
  raise(number);  // waits while the signal is blocked
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  _exit(exit_signal + number);
}

}  // namespace quietvox::cli
