// SPDX-License-Identifier: BSL-1.0
//
// The race between a signal and those who are just going to sleep, over and over.
#ifndef TIDEMARK_TESTS_SUPPORT_RACE_HPP
#define TIDEMARK_TESTS_SUPPORT_RACE_HPP

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <tidemark/fence.hpp>

#include "random.hpp"
#include "repetitions.hpp"
#include "threads.hpp"
#include "watchdog.hpp"

namespace testing {

/// Lets a random moment pass, so that the two sides of a race meet in ever new ways.
inline void dawdle(random_numbers& random) {
  for (std::uint64_t moment = random.below(128); moment > 0; --moment) tidemark::native_platform::pause();
}

/// Each round is one race for each waiter: they wait for a value while it is signalled, and nothing is signalled after
/// it until all have answered, so that no later signal can make up for a lost one. Returns the number of rounds.
template <class Fence>
std::uint64_t race(int waiters, std::uint64_t most_rounds) {
  Fence fence;
  tidemark::fence answers;
  const auto seed = fresh_seed();
  const watchdog dog{
      [&] { return state_of(fence) + "; answers: " + state_of(answers) + "; seed " + std::to_string(seed); }};
  std::atomic<std::uint64_t> wrong{0};
  std::vector<std::thread> threads;
  for (int stream = 1; stream <= waiters; ++stream) {
    threads.emplace_back([&, stream] {
      random_numbers random{seed, static_cast<std::uint64_t>(stream)};
      for (std::uint64_t round = 1;; ++round) {
        dawdle(random);
        const auto status = fence.wait(round);
        if (status == tidemark::wait_status::lost) return;
        if (status != tidemark::wait_status::reached || fence.current_value() < round) ++wrong;
        answers.signal_next();
      }
    });
  }
  random_numbers random{seed};
  repetitions rounds{most_rounds};
  while (rounds.goes_on()) {
    dawdle(random);
    fence.signal(rounds.done());
    if (answers.wait(rounds.done() * static_cast<std::uint64_t>(waiters)) != tidemark::wait_status::reached) ++wrong;
  }
  fence.poison();  // the end, and one more race
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
  if (Fence::platform::heavy_barrier_available()) CHECK(fence.monitored_value() == tidemark::no_waiter);
  return rounds.done();
}

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_RACE_HPP
