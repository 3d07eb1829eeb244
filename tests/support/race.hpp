// SPDX-License-Identifier: BSL-1.0
//
// The race between a signal and waiters that are about to sleep, repeated many times.
#ifndef TIDEMARK_TESTS_SUPPORT_RACE_HPP
#define TIDEMARK_TESTS_SUPPORT_RACE_HPP

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <tidemark/fence/fence.hpp>

#include "pinned.hpp"
#include "random.hpp"
#include "repetitions.hpp"
#include "threads.hpp"
#include "watchdog.hpp"

namespace testing {

/// Lets a random time pass, so that the two sides of a race meet in many different ways: mostly some hundred
/// nanoseconds, sometimes long enough for the other side to fall asleep.
inline void dawdle(random_numbers& random) {
  for (std::uint64_t moment = random.below(512); moment > 0; --moment)
    std::atomic_signal_fence(std::memory_order_seq_cst);
  if (random.below(64) != 0) return;
  for (std::uint64_t moment = random.below(128); moment > 0; --moment) tidemark::native_platform::pause();
}

/// Runs rounds, and returns their number. In each round every waiter waits for a value while it is signalled. Nothing
/// is signalled after it until all waiters have answered, so that no later signal can make up for a lost one.
template <class Fence>
std::uint64_t race(int waiters, std::uint64_t most_rounds) {
  Fence fence;
  std::atomic<std::uint64_t> answers{0};  // polled, so that the two sides start each round at nearly the same time
  const auto seed = fresh_seed();
  const watchdog dog{
      [&] { return state_of(fence) + "; answers: " + std::to_string(answers) + "; seed " + std::to_string(seed); }};
  std::atomic<std::uint64_t> wrong{0};
  std::vector<std::thread> threads;
  for (int stream = 1; stream <= waiters; ++stream) {
    threads.emplace_back([&, stream] {
      const pinned elsewhere{static_cast<unsigned>(stream)};
      random_numbers random{seed, static_cast<std::uint64_t>(stream)};
      for (std::uint64_t round = 1;; ++round) {
        dawdle(random);
        const auto status = fence.wait(round);
        if (status == tidemark::wait_status::lost) return;
        if (status != tidemark::wait_status::reached || fence.current_value() < round) ++wrong;
        ++answers;
      }
    });
  }
  const pinned here{0};
  random_numbers random{seed};
  repetitions rounds{most_rounds};
  while (rounds.goes_on()) {
    dawdle(random);
    fence.signal(rounds.done());
    await_soon([&] { return answers == rounds.done() * static_cast<std::uint64_t>(waiters); });
  }
  fence.poison();  // ends the waits, and is one more race
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
  if (Fence::platform::heavy_barrier_available()) CHECK(fence.monitored_value() == tidemark::no_waiter);
  return rounds.done();
}

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_RACE_HPP
