// SPDX-License-Identifier: BSL-1.0
//
// What the tests of queues and hubs share: clocks and platforms that show the order of steps, readers that read all
// that there is, and fences that only note what a hub did to them.
#ifndef TIDEMARK_TESTS_SUPPORT_QUEUES_HPP
#define TIDEMARK_TESTS_SUPPORT_QUEUES_HPP

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include <tidemark/fence/fence.hpp>
#include <tidemark/log/fence_log.hpp>
#include <tidemark/log/ids.hpp>
#include <tidemark/queue/queue.hpp>

#include "counting_platform.hpp"

namespace testing {

/// Each reading takes one tick, so that a later reading is greater. A test may run a function at a reading.
struct ticking_clock {
  static std::uint64_t now() noexcept {
    at_now.run();
    return ticks.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  static std::uint64_t to_nanoseconds(std::uint64_t time) noexcept { return time; }

  static inline std::atomic<std::uint64_t> ticks{0};
  static inline hook at_now;
};

/// Counts, and runs a function of the test just before a full barrier. For tests with one thread at that moment.
struct stepping_platform : counting_platform<tidemark::native_platform> {
  using counted = counting_platform<tidemark::native_platform>;
  static void full_barrier() noexcept {
    at_full_barrier.run();
    counted::full_barrier();
  }
  static inline hook at_full_barrier;
};

/// The fences in these tests: a test can see that their waiters sleep.
using any_fence = tidemark::basic_fence<hooked_platform<tidemark::symmetric_platform>>;
using progress = tidemark::basic_progress_fence<stepping_platform>;

using tidemark::fence_id;
using tidemark::fence_log_entry;
using tidemark::fence_log_type;
using tidemark::fence_operation;
using tidemark::logged_fence;
using tidemark::queue_id;

using counted_queue = tidemark::basic_queue<progress, ticking_clock>;

inline constexpr fence_id own_id{7};
inline constexpr fence_id other_id{8};

/// A queue without a hub, and what it needs.
struct lone_queue {
  progress own;
  counted_queue queue{own, {.progress = own_id}};
  any_fence fence;
  logged_fence<any_fence> logged{&fence, other_id};
};

/// What a reader has found.
struct found_entries {
  std::vector<fence_log_entry> entries;
  std::uint64_t lost = 0;
  unsigned gaps = 0;

  std::vector<std::uint64_t> values() const {
    std::vector<std::uint64_t> all;
    for (const auto& entry : entries) all.push_back(entry.fence_value);
    return all;
  }
};

/// Reads until there is nothing more, and checks that the numbers go on without a gap.
template <class Reader>
found_entries read_all(Reader& reader) {
  found_entries found;
  std::array<fence_log_entry, 7> buffer;
  std::uint64_t expected = reader.next_sequence();
  for (;;) {
    const auto batch = reader.read(buffer);
    if (batch.entries.empty() && batch.lost == 0) return found;
    CHECK(batch.first_sequence == expected + batch.lost);
    expected = batch.first_sequence;
    for (const auto& entry : batch.entries) CHECK(entry.stamp == ++expected);
    CHECK(reader.next_sequence() == expected);
    found.lost += batch.lost;
    if (batch.lost != 0) ++found.gaps;
    found.entries.insert(found.entries.end(), batch.entries.begin(), batch.entries.end());
  }
}

/// A notifier that calls a function of the test, and then releases the waiters.
struct teller {
  std::function<void(fence_id)>* told;

  template <class Fence>
  void operator()(const logged_fence<Fence>& due) const noexcept {
    (*told)(due.id);
    due.fence->release_due();
  }
};

/// Has only what a hub asks of a fence, and notes each call.
struct probe {
  using platform = tidemark::symmetric_platform;

  bool publish(std::uint64_t value) noexcept {
    published = value;
    return true;
  }
  bool is_due(std::uint64_t) noexcept {
    at_look.run();
    return due;
  }
  std::size_t release_due_after_barrier() noexcept {
    ++released;
    return 0;
  }
  std::size_t release_due_after_barrier(std::uint64_t value) noexcept {
    released_by.push_back(value);
    return 0;
  }

  std::uint64_t published = 0;
  bool due = true;
  hook at_look;                            // runs at the first call of is_due()
  unsigned released = 0;                   // by its current value
  std::vector<std::uint64_t> released_by;  // by the values in a log
};

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_QUEUES_HPP
