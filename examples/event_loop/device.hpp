// SPDX-License-Identifier: BSL-1.0
// A stand-in for a device: it does in order what was submitted, on a thread of its own, and its queue says how far it
// has come. Whoever wants to know awaits a value of finished().

#pragma once

#include <tidemark/tidemark.hpp>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace event_loop {

class device {
 public:
  device() : thread_([this] { run(); }) {}
  device(const device&) = delete;
  device& operator=(const device&) = delete;
  ~device() {
    static_cast<void>(submit(nullptr));  // nothing comes behind it
    thread_.join();
  }

  /// Returns the value that finished() reaches when the work is done. One thread at a time.
  std::uint64_t submit(std::function<void()> work) {
    const tidemark::submit_result made = queue_.submit([&](std::uint64_t) {
      const std::lock_guard lock(guard_);
      work_.push_back(std::move(work));
    });
    submitted_.notify_one();
    return made.serial;  // nobody aborts the queue, so there always is one
  }

  [[nodiscard]] auto finished() const { return progress_.view(); }

 private:
  void run() {
    for (;;) {
      std::function<void()> work;
      {
        std::unique_lock lock(guard_);
        submitted_.wait(lock, [this] { return !work_.empty(); });
        work = std::move(work_.front());
        work_.pop_front();
      }
      if (work) work();
      queue_.complete();
      if (!work) return;
    }
  }

  tidemark::progress_fence progress_;
  tidemark::queue queue_{progress_};
  std::mutex guard_;
  std::condition_variable submitted_;
  std::deque<std::function<void()>> work_;
  std::thread thread_;
};

}  // namespace event_loop
