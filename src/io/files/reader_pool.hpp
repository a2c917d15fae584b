// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace quietvox::io {

/// Readers of one file, each used by one owner at a time. Returned readers are used again: in compressed data, reading
/// on is cheaper than starting over.
template <class Reader>
class ReaderPool {
 public:
  explicit ReaderPool(std::function<std::unique_ptr<Reader>()> make) : make_(std::move(make)) {}

  /// Comes back to the pool with its last owner.
  std::shared_ptr<Reader> take() {
    std::unique_ptr<Reader> reader;
    {
      const std::lock_guard lock(idle_->mutex);
      if (!idle_->readers.empty()) {
        reader = std::move(idle_->readers.back());
        idle_->readers.pop_back();
      }
    }
    if (!reader) reader = make_();
    return {reader.release(), [idle = idle_](Reader* used) {
              const std::lock_guard again(idle->mutex);
              idle->readers.emplace_back(used);
            }};
  }

 private:
  struct Idle {
    std::mutex mutex;
    std::vector<std::unique_ptr<Reader>> readers;
  };
  std::function<std::unique_ptr<Reader>()> make_;
  std::shared_ptr<Idle> idle_ = std::make_shared<Idle>();
};

}  // namespace quietvox::io
