// SPDX-License-Identifier: BSL-1.0
// A crowd asleep on one fence, each thread for a value of its own: jobs that wait for their turn, requests that wait
// for a commit. Two things are measured: a signal that nobody is due for, and one that a single thread is due for.
//
// The values that somebody waits for are far apart:
//
//     value     0 ........... gap ........... 2 gap ........... 3 gap ...
//     due           nobody   one   nobody     another  nobody   a third
//
// A thread that has had its turn waits for the next one, so the crowd stays complete.

#pragma once

#include "comparison.hpp"
#include "sleeping_threads.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <numeric>
#include <random>
#include <semaphore>
#include <string>
#include <vector>

namespace pipeline {

template <class Fence>
class crowd {
 public:
  explicit crowd(std::size_t size)
      : first_turns_(size),
        arrived_(static_cast<std::ptrdiff_t>(size)),
        threads_([this](std::size_t number) { wait_for_turns(first_turns_[number]); }) {
    std::iota(first_turns_.begin(), first_turns_.end(), std::uint64_t{1});
    // Not in the order of their arrival, in which a condition variable wakes them.
    std::shuffle(first_turns_.begin(), first_turns_.end(), std::mt19937(1));
    try {
      threads_.start(size);
    } catch (...) {
      fence_.signal(the_end);
      throw;
    }
    arrived_.wait();
  }
  crowd(const crowd&) = delete;
  crowd& operator=(const crowd&) = delete;
  ~crowd() {
    fence_.signal(the_end);
    threads_.join();
  }

  /// Returns the seconds of a signal that nobody is due for. Where the first one takes a millisecond, it is the only
  /// one: later ones would find threads that are not asleep yet.
  [[nodiscard]] double signal_for_nobody() {
    sleeping_threads::wait_until_asleep();
    for (std::uint64_t count = 1;; count *= 2) {
      const std::uint64_t last = value_ + count;
      const auto start = clock::now();
      for (std::uint64_t value = value_ + 1; value <= last; ++value) fence_.signal(value);
      const std::chrono::duration<double> elapsed = clock::now() - start;
      value_ = last;
      if (elapsed >= std::chrono::milliseconds(1)) return elapsed.count() / static_cast<double>(count);
    }
  }

  /// Returns the seconds from the call of a signal until the one thread that is due has returned from its wait.
  [[nodiscard]] double signal_for_one() {
    sleeping_threads::wait_until_asleep();
    value_ = ++turn_ * gap;
    const auto start = clock::now();
    fence_.signal(value_);
    returned_.acquire();
    const std::chrono::duration<double> elapsed = returned_at_ - start;
    return elapsed.count();
  }

 private:
  using clock = std::chrono::steady_clock;

  static constexpr std::uint64_t gap = std::uint64_t{1} << 40;
  static constexpr std::uint64_t the_end = std::uint64_t{1} << 63;

  void wait_for_turns(std::uint64_t turn) {
    arrived_.count_down();
    for (;; turn += first_turns_.size()) {
      static_cast<void>(fence_.wait(turn * gap));
      const auto now = clock::now();
      if (fence_.current_value() >= the_end) return;
      returned_at_ = now;
      returned_.release();
    }
  }

  Fence fence_;
  std::vector<std::uint64_t> first_turns_;  // of each thread
  std::uint64_t value_ = 0;
  std::uint64_t turn_ = 0;
  clock::time_point returned_at_;
  std::binary_semaphore returned_{0};
  std::latch arrived_;
  sleeping_threads threads_;
};

/// One repetition: the median of several signals of each kind. On a busy machine a wake-up takes either microseconds or
/// another program's time slice, so there are more of these.
struct crowd_times {
  double nobody;
  double one;
};

template <class Fence>
[[nodiscard]] crowd_times measure_crowd(std::size_t size) {
  crowd<Fence> sleepers(size);
  repetitions nobody;
  repetitions one;
  for (int i = 0; i < 21; ++i) {
    if (i % 3 == 0) nobody.add(sleepers.signal_for_nobody());
    one.add(sleepers.signal_for_one());
  }
  return {.nobody = nobody.median(), .one = one.median()};
}

/// Two rows, that begin with `crowd_name`.
template <class Tidemark, class Peer>
[[nodiscard]] std::vector<comparison> compare_crowds(std::size_t size, std::size_t rounds,
                                                     const std::string& crowd_name) {
  std::vector<comparison> rows{{.row = crowd_name + ", none due: a signal"},
                               {.row = crowd_name + ", one due: its wake-up"}};
  const auto add = [&](repetitions comparison::* side, const crowd_times& times) {
    (rows[0].*side).add(times.nobody);
    (rows[1].*side).add(times.one);
  };
  measure_or_say_why({&rows[0], &rows[1]}, [&] {
    take_turns(
        rounds, [&] { add(&comparison::tidemark, measure_crowd<Tidemark>(size)); },
        [&] { add(&comparison::peer, measure_crowd<Peer>(size)); });
  });
  return rows;
}

}  // namespace pipeline
