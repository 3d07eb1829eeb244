// SPDX-License-Identifier: BSL-1.0
//
// Entries of a queue's logs that are reserved when commands are recorded: which numbers they get, in which order they
// are committed, and what readers see of them. What happens out of turn is in queue_release.cpp.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <thread>
#include <type_traits>
#include <vector>

#include <tidemark/queue/log_reservation.hpp>
#include <tidemark/queue/queue.hpp>
#include <tidemark/trace/trace.hpp>

#include "support/queues.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::log_commits;
using tidemark::log_reservation;
using tidemark::reserve_status;
using tidemark::wait_status;

using values = std::vector<std::uint64_t>;

TEST_CASE("[A88] an entry that was reserved has the number that was said") {
  lone_queue at;
  auto signals = at.queue.signal_reserver();
  auto waits = at.queue.wait_reserver();
  auto signalled = at.queue.signal_log();
  auto waited = at.queue.wait_log();
  std::array<log_reservation, 3> list{signals.reserve(), signals.reserve(), waits.reserve()};
  CHECK(list[0].sequence == 0);
  CHECK(list[1].sequence == 1);
  CHECK(list[2].sequence == 0);
  CHECK(read_all(signalled).entries.empty());  // a reservation writes nothing

  CHECK(at.queue.signal(at.logged, 5, list[0]));
  CHECK(at.queue.complete(list[1]) == 1);
  CHECK(at.queue.wait(at.logged, 5, list[2]) == wait_status::reached);
  const auto found = read_all(signalled).entries;
  REQUIRE(found.size() == 2);
  CHECK(found[0].stamp == list[0].sequence + 1);
  CHECK(found[0].fence_value == 5);
  CHECK(found[1].stamp == list[1].sequence + 1);
  CHECK(found[1].fence == own_id);
  CHECK(read_all(waited).values() == values{5});
  CHECK(at.queue.commits(fence_log_type::signal) == log_commits{2, 0, 0});
  CHECK(at.queue.commits(fence_log_type::wait) == log_commits{1, 0, 0});
}

TEST_CASE("[A88][A90] the order in which entries were reserved is the order in which they stand in the log") {
  lone_queue at;
  auto signals = at.queue.signal_reserver();
  auto reader = at.queue.signal_log();
  std::deque<log_reservation> recorded;
  std::uint64_t value = 0;
  values expected;
  random_numbers random{fresh_seed()};
  for (int step = 0; step < 2'000; ++step) {
    if (recorded.size() < 84 && random.below(2U) == 0) {
      recorded.push_back(signals.reserve());
      CHECK(recorded.back().status == reserve_status::reserved);
    } else if (!recorded.empty()) {
      const log_reservation next = recorded.front();
      recorded.pop_front();
      at.queue.signal(at.logged, ++value, next);
      expected.push_back(value);
      const auto found = read_all(reader);
      REQUIRE(found.entries.size() == 1);
      CHECK(found.entries[0].stamp == next.sequence + 1);
    }
  }
  CHECK(at.queue.commits(fence_log_type::signal) == log_commits{value, 0, 0});
}

TEST_CASE("[A88] a wait that is not reached does not use up its entry") {
  lone_queue at;
  auto waits = at.queue.wait_reserver();
  auto reader = at.queue.wait_log();
  const auto entry = waits.reserve();
  CHECK(at.queue.wait_for(at.logged, 1, entry, std::chrono::seconds{0}) == wait_status::timeout);
  CHECK(at.queue.wait_until(at.logged, 1, entry, std::chrono::steady_clock::now()) == wait_status::timeout);
  CHECK(read_all(reader).entries.empty());
  at.fence.signal(1);
  CHECK(at.queue.wait_for(at.logged, 1, entry, std::chrono::hours{1}) == wait_status::reached);
  CHECK(read_all(reader).values() == values{1});
  CHECK(at.queue.commits(fence_log_type::wait) == log_commits{1, 0, 0});
}

TEST_CASE("[A88] there is no space once as many entries are reserved as the log has, and again after a commit") {
  progress own;
  counted_queue queue{own, {.log_entries = 3}};
  auto signals = queue.signal_reserver();
  auto reader = queue.signal_log();
  std::deque<log_reservation> recorded;
  for (int n = 0; n < 3; ++n) recorded.push_back(signals.reserve());
  const auto refused = signals.reserve();
  CHECK(refused.status == reserve_status::no_space);
  CHECK_FALSE(refused);
  CHECK(recorded.back());
  queue.complete(recorded.front());
  const auto next = signals.reserve();
  CHECK(next);
  CHECK(next.sequence == 3);
  CHECK_FALSE(signals.reserve());
  queue.complete(recorded[1]);
  queue.complete(recorded[2]);
  queue.complete(next);
  CHECK(queue.commits(fence_log_type::signal) == log_commits{4, 0, 0});

  queue.complete(refused);  // as complete()
  CHECK(queue.commits(fence_log_type::signal) == log_commits{4, 0, 0});
  const auto found = read_all(reader);
  CHECK(found.values() == values{3, 4, 5});
  CHECK(found.lost == 2);
  CHECK(signals.reserve().sequence == 5);
}

TEST_CASE("[A88][A96] an operation without a reservation is logged at once, and what was reserved moves up") {
  lone_queue at;
  auto signals = at.queue.signal_reserver();
  auto reader = at.queue.signal_log();
  const auto first = signals.reserve();
  const auto second = signals.reserve();
  at.queue.signal(at.logged, 1);
  CHECK(read_all(reader).values() == values{1});
  at.queue.signal(at.logged, 2, first);
  at.queue.signal(at.logged, 3, second);
  CHECK(read_all(reader).values() == values{2, 3});
  CHECK(at.queue.commits(fence_log_type::signal) == log_commits{0, 2, 0});
  at.queue.signal(at.logged, 4, signals.reserve());  // right again, since nothing is reserved any more
  CHECK(at.queue.commits(fence_log_type::signal) == log_commits{1, 2, 0});
}

TEST_CASE("[A88][A92][A124] a reservation outlives the replacement of its log") {
  progress own;
  counted_queue queue{own, {.log_entries = 4}};
  auto signals = queue.signal_reserver();
  auto reader = queue.signal_log();
  std::vector<log_reservation> recorded;
  for (int n = 0; n < 4; ++n) recorded.push_back(signals.reserve());
  queue.complete(recorded[0]);
  queue.set_log(fence_log_type::signal, 2);  // fewer than are reserved
  queue.complete(recorded[1]);
  CHECK_FALSE(signals.reserve());
  queue.set_log(fence_log_type::signal, 8);
  queue.complete(recorded[2]);
  for (int n = 4; n < 11; ++n) recorded.push_back(signals.reserve());
  CHECK(recorded.back().sequence == 10);
  CHECK_FALSE(signals.reserve());
  for (std::size_t n = 3; n < recorded.size(); ++n) queue.complete(recorded[n]);
  CHECK(queue.commits(fence_log_type::signal) == log_commits{11, 0, 0});
  const auto found = read_all(reader);
  CHECK(found.values() == values{1, 2, 4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(found.lost == 1);
}

TEST_CASE("[A88] a reserver goes to another thread and outlives the logs that were replaced") {
  progress own;
  counted_queue queue{own, {.log_entries = 8}};
  std::atomic<std::uint64_t> recorded{0};
  std::array<log_reservation, 1'000> list;
  std::thread recording([&, signals = queue.signal_reserver()]() mutable {
    for (auto& each : list) {
      while (!(each = signals.reserve())) std::this_thread::yield();
      recorded.fetch_add(1, std::memory_order_release);
    }
  });
  for (std::size_t n = 0; n < list.size(); ++n) {
    while (recorded.load(std::memory_order_acquire) <= n) std::this_thread::yield();
    queue.complete(list.at(n));
    if (n % 100 == 0) queue.set_log(fence_log_type::signal, 8 + n % 7);
  }
  recording.join();
  CHECK(queue.commits(fence_log_type::signal) == log_commits{list.size(), 0, 0});
}

TEST_CASE("[A83][A88] a queue without logs has nothing to reserve") {
  using recorder = tidemark::direct_recorder<tidemark::trace, ticking_clock>;
  using direct = tidemark::basic_queue<progress, ticking_clock, tidemark::self_service, recorder>;
  static_assert(!direct::has_logs);
  static_assert(!std::is_copy_constructible_v<counted_queue::reserver_type>);
  static_assert(std::is_move_constructible_v<counted_queue::reserver_type>);
}
