// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/files/posix_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace quietvox::io {
namespace {

/// A caller may hand on a pipe, and wait until its last writer is gone: a shell by `3>&1 | cat`, `flock` by its lock.
TEST(ForkApart, NobodyWaitsForTheChildByWhatTheProcessInherited) {
  int inherited[2], own[2];
  ASSERT_EQ(pipe(inherited), 0);
  ASSERT_EQ(pipe2(own, O_CLOEXEC), 0);
  const pid_t process = fork();
  if (process == 0) {
    const pid_t child = fork_apart();
    if (child == 0) {
      close(own[1]);
      char byte = 0;
      while (read(own[0], &byte, 1) > 0) {  // until the test ends
      }
    }
    _exit(child < 0 ? 1 : 0);
  }
  close(inherited[1]);
  int status = 0;
  waitpid(process, &status, 0);
  EXPECT_EQ(status, 0);
  pollfd readers_end{inherited[0], POLLIN, 0};
  constexpr int milliseconds = 10'000;
  EXPECT_EQ(poll(&readers_end, 1, milliseconds), 1);
  EXPECT_NE(readers_end.revents & POLLHUP, 0);
  for (const int end : {inherited[0], own[0], own[1]}) close(end);
}

}  // namespace
}  // namespace quietvox::io
