// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// Loaded into the program ahead of its libraries (LD_PRELOAD), to make what is rare happen:
// - A file with `crashes-the-parser` in its name kills the process that opens it; `keeps-the-parser` holds it up for
//   half a minute; a JPEG image kills the one that decodes it.
// - QUIETVOX_TEST_RENAMES=N: the Nth rename kills the process that does it, or, if QUIETVOX_TEST_KILL_RUN is set, the
//   process that began the run.
// - QUIETVOX_TEST_PLAIN_RENAMES: the file system can only rename, not exchange.
// - QUIETVOX_TEST_SWAP=PATH: just before the first exchange, PATH takes the place of the output; what stood there gets
//   the name PATH.was.
// - QUIETVOX_TEST_PLANT=PATH: just before the first exchange, PATH is moved into the folder that is replaced.
// - QUIETVOX_TEST_THREADS=N: the system gives N threads and no more.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace {

FILE* open_or_die(const char* function, const char* path, const char* mode) {
  char name[4096] = {};
  if (readlink(path, name, sizeof name - 1) < 0) std::strncpy(name, path, sizeof name - 1);  // of /proc/self/fd
  if (std::strstr(name, "crashes-the-parser")) raise(SIGKILL);
  for (int i = 0; i < 30 && std::strstr(name, "keeps-the-parser"); ++i) sleep(1);
  const auto real = reinterpret_cast<FILE* (*)(const char*, const char*)>(dlsym(RTLD_NEXT, function));
  return real(path, mode);
}

const pid_t run = getpid();

/// What another process does while ours is about to replace something.
void interfere(const char* target) {
  static bool done = false;
  const auto real = reinterpret_cast<int (*)(const char*, const char*)>(dlsym(RTLD_NEXT, "rename"));
  if (std::exchange(done, true)) return;
  if (const char* const other = std::getenv("QUIETVOX_TEST_SWAP")) {
    real(target, (std::string(other) + ".was").c_str());
    real(other, target);
  }
  if (const char* const planted = std::getenv("QUIETVOX_TEST_PLANT")) {
    real(planted, (std::string(target) + "/planted").c_str());
  }
}

int die() {
  raise(SIGKILL);
  return 0;
}

/// Counts a renaming that was done.
int die_after_rename(int status) {
  static int renames = 0;
  const char* const most = std::getenv("QUIETVOX_TEST_RENAMES");
  if (status == 0 && most && ++renames == std::atoi(most)) {
    kill(std::getenv("QUIETVOX_TEST_KILL_RUN") ? run : getpid(), SIGKILL);
  }
  return status;
}

}  // namespace

extern "C" {

FILE* fopen(const char* path, const char* mode) { return open_or_die("fopen", path, mode); }
FILE* fopen64(const char* path, const char* mode) { return open_or_die("fopen64", path, mode); }

int rename(const char* from, const char* to) {
  const auto real = reinterpret_cast<int (*)(const char*, const char*)>(dlsym(RTLD_NEXT, "rename"));
  return die_after_rename(real(from, to));
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  if (flags == RENAME_EXCHANGE) interfere(to);
  if (std::getenv("QUIETVOX_TEST_PLAIN_RENAMES")) {
    errno = EINVAL;
    return -1;
  }
  const auto real =
      reinterpret_cast<int (*)(int, const char*, int, const char*, unsigned)>(dlsym(RTLD_NEXT, "renameat2"));
  return die_after_rename(real(from_folder, from, to_folder, to, flags));
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* argument) {
  static std::atomic<int> threads = 0;
  const char* const most = std::getenv("QUIETVOX_TEST_THREADS");
  if (most && ++threads > std::atoi(most)) return EAGAIN;
  const auto real = reinterpret_cast<int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>(
      dlsym(RTLD_NEXT, "pthread_create"));
  return real(thread, attributes, body, argument);
}

int jpeg8_start_decompress(void*) { return die(); }
int jpeg12_start_decompress(void*) { return die(); }
int jpeg16_start_decompress(void*) { return die(); }

}  // extern "C"
