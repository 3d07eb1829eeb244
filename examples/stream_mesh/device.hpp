// SPDX-License-Identifier: BSL-1.0
// The executor: a thread that draws frames in order, some frames behind the thread that submits them. To draw is to
// read everything and to add it up.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <tidemark/fence/fence.hpp>
#include <tidemark/queue/queue.hpp>

namespace stream_mesh {

using words = std::span<const std::uint64_t>;

inline std::uint64_t sum_of(words read) {
  std::uint64_t sum = 0;
  for (const std::uint64_t word : read) sum = sum * 31 + word;
  return sum;
}

/// What a frame reads, and what it must come to.
struct frame {
  std::vector<words> reads;
  std::uint64_t expected = 0;

  void draw(words what) {
    reads.push_back(what);
    expected += sum_of(what);
  }
};

class device {
 public:
  device(std::size_t frames, std::size_t behind) : frames_(frames + 1), behind_{behind}, thread_{[this] { run(); }} {}
  device(const device&) = delete;
  device& operator=(const device&) = delete;
  ~device() { finish(); }

  /// Returns the frame's serial, which finished() reaches when the frame is drawn.
  std::uint64_t submit(frame next) {
    const auto make_visible = [&](std::uint64_t which) { frames_[static_cast<std::size_t>(which)] = std::move(next); };
    const std::uint64_t serial = queue_.submit(make_visible).serial;  // it is never aborted
    if (serial > behind_) allow(serial - behind_);
    return serial;
  }
  /// Draws what was submitted, without waiting for more, because a thread waits for it.
  void flush() { allow(queue_.last_queued()); }
  /// Draws what was submitted, and ends the thread.
  void finish() {
    if (!thread_.joinable()) return;
    last_ = queue_.last_queued();
    may_draw_.poison();  // a thread that waits goes on and finds last_
    thread_.join();
  }

  auto& queue() { return queue_; }
  auto finished() const { return progress_.view(); }
  std::uint64_t wrong_frames() const { return wrong_frames_; }

 private:
  void run() {
    for (std::uint64_t serial = 1; serial < frames_.size(); ++serial) {
      if (may_draw_.wait(serial) == tidemark::wait_status::lost && serial > last_) return;
      std::uint64_t sum = 0;
      for (const words each : frames_[static_cast<std::size_t>(serial)].reads) sum += sum_of(each);
      if (sum != frames_[static_cast<std::size_t>(serial)].expected) ++wrong_frames_;
      frames_[static_cast<std::size_t>(serial)] = {};
      queue_.complete();
    }
  }

  void allow(std::uint64_t serial) { may_draw_.signal(std::max(may_draw_.current_value(), serial)); }

  tidemark::progress_fence progress_;  // frames drawn
  tidemark::progress_fence may_draw_;
  tidemark::queue queue_{progress_};
  std::vector<frame> frames_;
  const std::size_t behind_;
  std::uint64_t last_ = 0;  // set when no more frames will come
  std::uint64_t wrong_frames_ = 0;
  std::thread thread_;
};

}  // namespace stream_mesh
