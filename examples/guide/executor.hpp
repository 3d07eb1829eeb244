// SPDX-License-Identifier: BSL-1.0
// A stand-in for a device: a thread that does in order what was submitted.

#pragma once

#include <tidemark/fence/fence.hpp>
#include <tidemark/queue/queue.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace guide {

class executor {
 public:
  executor() : thread_{[this] { run(); }} {}
  executor(const executor&) = delete;
  executor& operator=(const executor&) = delete;
  ~executor() {
    submit(nullptr);  // nothing comes behind it
    thread_.join();
  }

  /// Returns the value that finished() reaches when the work is done. One thread at a time.
  std::uint64_t submit(std::function<void()> work) {
    const tidemark::submit_result made = queue_.submit([&](std::uint64_t) {
      const std::lock_guard lock{guard_};
      work_.push_back(std::move(work));
    });
    submitted_.signal(made.serial);  // nobody aborts the queue, so there always is one
    return made.serial;
  }

  auto finished() const { return progress_.view(); }
  tidemark::queue& queue() { return queue_; }

 private:
  void run() {
    for (std::uint64_t serial = 1;; ++serial) {
      static_cast<void>(submitted_.wait(serial));  // is never lost
      std::function<void()> work;
      {
        const std::lock_guard lock{guard_};
        work = std::move(work_[static_cast<std::size_t>(serial - 1)]);
      }
      if (work) work();
      queue_.complete();
      if (!work) return;
    }
  }

  tidemark::progress_fence progress_;
  tidemark::progress_fence submitted_;
  tidemark::queue queue_{progress_, {.progress = tidemark::fence_id{1}}};
  std::mutex guard_;
  std::vector<std::function<void()>> work_;
  std::thread thread_;
};

}  // namespace guide
