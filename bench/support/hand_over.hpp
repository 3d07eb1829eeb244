// SPDX-License-Identifier: BSL-1.0
//
// Two threads hand a turn back and forth through two fences. Each round trip is timed alone, after some that are not.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tidemark/platform/platform.hpp>

#include "measure.hpp"
#include "threads.hpp"

namespace bench {

/// A fence whose waiters never sleep.
template <class Fence>
struct spinning : Fence {
  void wait(std::uint64_t target) const noexcept {
    while (!this->is_reached(target)) tidemark::native_platform::pause();
  }
};

/// The floor of all that spin: a word each way.
class spinning_word {
 public:
  void signal(std::uint64_t value) noexcept { value_.store(value, std::memory_order_release); }
  void wait(std::uint64_t target) const noexcept {
    while (value_.load(std::memory_order_acquire) < target) tidemark::native_platform::pause();
  }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// How many turns are not timed, at the beginning.
inline constexpr int cold_turns = 1000;

/// Where the two threads run, what they do between two turns, and how many pairs of them there are.
struct setting {
  const char* name;
  int cpu_here;
  int cpu_there;
  unsigned multiplications = 0;
  std::size_t pairs = 1;
};

/// Two threads: this one, and one that the pair starts.
template <class Fence>
class pair {
 public:
  explicit pair(const setting& where) : work_{where.multiplications} {
    const auto answer = [this](std::size_t) {
      for (std::uint64_t turn = 1;; ++turn) {
        static_cast<void>(ping_->wait(turn));
        if (is_over_.load(std::memory_order_acquire)) return;
        multiply(work_);
        static_cast<void>(pong_->signal(turn));
      }
    };
    partner_.start(1, answer, where.cpu_there);
  }
  pair(const pair&) = delete;
  ~pair() {
    is_over_.store(true, std::memory_order_release);
    static_cast<void>(ping_->signal(turn_ + 1));
    partner_.join();
  }

  void take_turn() {
    multiply(work_);
    static_cast<void>(ping_->signal(++turn_));
    static_cast<void>(pong_->wait(turn_));
  }

 private:
  const escaped<Fence> ping_;
  const escaped<Fence> pong_;
  const unsigned work_;
  std::uint64_t turn_ = 0;
  std::atomic<bool> is_over_{false};
  thread_group partner_;
};

template <class Fence>
void ping_pong(benchmark::State& state, setting where) {
  std::atomic<bool> is_over{false};
  thread_group crowd;
  const auto play = [&](std::size_t) {
    for (pair<Fence> other{where}; !is_over.load(std::memory_order_relaxed);) other.take_turn();
  };
  if (where.pairs > 1) crowd.start(where.pairs - 1, play);
  {
    std::optional<pinned> here;
    if (where.cpu_here != any_processor) here.emplace(where.cpu_here);
    pair<Fence> timed{where};
    for (int turn = 0; turn < cold_turns; ++turn) timed.take_turn();
    measure_percentiles(state, [&] { timed.take_turn(); });
  }
  is_over.store(true, std::memory_order_relaxed);
  crowd.join();
}

}  // namespace bench
