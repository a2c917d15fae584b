// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/execution.hpp"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <algorithm>
#include <mutex>

#include "core/error.hpp"

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace quietvox {
namespace {

/// Tells the thread sanitizer, which does not see into oneTBB, that the pieces of a loop run between its begin and end.
class LoopOrder {
 public:
  LoopOrder() { release(begun_); }
  ~LoopOrder() { acquire(ended_); }
  LoopOrder(const LoopOrder&) = delete;
  LoopOrder& operator=(const LoopOrder&) = delete;

  class Piece {
   public:
    explicit Piece(LoopOrder& loop) : loop_(loop) { acquire(loop_.begun_); }
    ~Piece() { release(loop_.ended_); }
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;

   private:
    LoopOrder& loop_;
  };

 private:
#if defined(__SANITIZE_THREAD__)
  static void release(char& mark) { __tsan_release(&mark); }
  static void acquire(char& mark) { __tsan_acquire(&mark); }
#else
  static void release(char&) {}
  static void acquire(char&) {}
#endif
  char begun_ = 0, ended_ = 0;
};

/// Runs `body` where oneTBB has as many threads as the execution says: here, if that is so already.
template <class Body>
void in_arena(const Execution& execution, const Body& body) {
  const int threads = thread_count(execution), here = tbb::this_task_arena::max_concurrency();
  if (threads == here) return body();
  // Without this, oneTBB gives no more threads than there are cores, and prints a warning.
  std::optional<tbb::global_control> more;
  if (threads > here) {
    more.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads));
  }
  tbb::task_arena arena(threads);
  arena.execute(body);
}

}  // namespace

Execution Execution::part(double from, double to) const {
  Execution piece = *this;
  if (progress) {
    piece.progress = [outer = progress, from, to](double done) { outer(from + (to - from) * done); };
  }
  return piece;
}

Execution Execution::silent() const {
  Execution quiet = *this;
  quiet.progress = {};
  return quiet;
}

void check_stop(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Error(Errc::cancelled, "stopped on request");
}

int thread_count(const Execution& execution) {
  return execution.threads > 0 ? execution.threads : tbb::this_task_arena::max_concurrency();
}

void parallel_for(const Execution& execution, std::int64_t count, std::int64_t grain,
                  const std::function<void(std::int64_t, std::int64_t)>& body) {
  if (count <= 0) return;
  std::mutex reporting;
  std::int64_t done = 0;
  LoopOrder order;
  const auto piece = [&](const tbb::blocked_range<std::int64_t>& range) {
    const LoopOrder::Piece in_order(order);
    check_stop(execution.stop);
    body(range.begin(), range.end());
    if (execution.progress) {
      const std::lock_guard lock(reporting);
      done += range.end() - range.begin();
      execution.progress(static_cast<double>(done) / static_cast<double>(count));
    }
  };
  const tbb::blocked_range<std::int64_t> all(0, count, static_cast<std::size_t>(std::max<std::int64_t>(grain, 1)));
  const auto loop = [&] { tbb::parallel_for(all, piece, tbb::simple_partitioner{}); };
  // A thread that waits for the end takes no other work meanwhile: its caller may hold a lock that such work wants.
  in_arena(execution, [&] { tbb::this_task_arena::isolate(loop); });
}

void parallel_invoke(const Execution& execution, std::span<const std::function<void()>> jobs) {
  in_arena(execution, [&] {
    LoopOrder order;
    tbb::task_group group;
    for (const auto& job : jobs) {
      group.run([&] {
        const LoopOrder::Piece in_order(order);
        job();
      });
    }
    group.wait();  // not isolated: helps with the loops of the jobs
  });
}

}  // namespace quietvox
