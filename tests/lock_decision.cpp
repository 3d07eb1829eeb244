// SPDX-License-Identifier: BSL-1.0
//
// The lock decision: every cell of the table, every reason, every flag bit; and the pin against commitment.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include <tidemark/lock_decision.hpp>

using namespace tidemark;

namespace {

constexpr segment_traits visible{.cpu_visible = true};
constexpr segment_traits invisible{.cpu_visible = false};
constexpr window_state no_window{};
constexpr window_state full_window{.exists = true, .free_bytes = 0};
constexpr window_state roomy_window{.exists = true, .free_bytes = 1 << 20};

constexpr lock_decision direct{lock_route::direct};
constexpr lock_decision pinned{lock_route::direct, lock_refusal::none, true};
constexpr lock_decision windowed{lock_route::through_window};
constexpr lock_decision migrated{lock_route::migrate_to_system};
constexpr lock_decision refused(lock_refusal reason) { return {lock_route::refused, reason}; }

constexpr std::array every_access{cpu_access::none, cpu_access::uncached, cpu_access::cached};
constexpr std::array every_residence{residence::system_memory, residence::aperture_segment, residence::memory_segment};
constexpr std::array every_segment{visible, invisible};
constexpr std::array every_window{no_window, full_window, roomy_window};

constexpr lock_subject subject(cpu_access access, residence where, bool supports_aperture) {
  return {access, where, supports_aperture, 4096};
}
constexpr lock_subject in_memory_segment(cpu_access access, bool supports_aperture) {
  return subject(access, residence::memory_segment, supports_aperture);
}

/// Calls `body(subject, segment, window)` for each combination.
template <class Body>
void for_each_combination(const Body& body) {
  for (const cpu_access access : every_access) {
    for (const residence where : every_residence) {
      for (const bool aperture : {false, true}) {
        for (const segment_traits& segment : every_segment) {
          for (const window_state& window : every_window) body(subject(access, where, aperture), segment, window);
        }
      }
    }
  }
}

}  // namespace

// ---- the table -------------------------------------------------------------------------------------------------------

TEST_CASE("[B17][B25] what is in system memory or mapped by an aperture segment is locked where it is, always") {
  for_each_combination([](const lock_subject& one, const segment_traits& segment, const window_state& window) {
    if (one.where == residence::memory_segment) return;
    CHECK(decide(one, segment, window, 0).route == lock_route::direct);
  });
}

TEST_CASE("[B17][B18][B21] uncached access in a segment that the processor sees is direct, whatever else is") {
  for (const bool aperture : {false, true}) {
    for (const window_state& window : every_window) {
      CHECK(decide(in_memory_segment(cpu_access::uncached, aperture), visible, window, 0) == direct);
    }
  }
}

TEST_CASE(
    "[B17][B22][B23] uncached access in one that it does not see: four ways to have a window and an aperture segment") {
  const lock_subject with = in_memory_segment(cpu_access::uncached, true);
  const lock_subject without = in_memory_segment(cpu_access::uncached, false);
  CHECK(decide(with, invisible, roomy_window, 0) == windowed);
  CHECK(decide(without, invisible, roomy_window, 0) == windowed);
  CHECK(decide(with, invisible, full_window, 0) == migrated);
  CHECK(decide(with, invisible, no_window, 0) == migrated);
  CHECK(decide(without, invisible, full_window, 0) == refused(lock_refusal::no_window_space));
  CHECK(decide(without, invisible, no_window, 0) == refused(lock_refusal::no_window));
}

TEST_CASE("[B23] the window has room for exactly as many bytes as are free") {
  const lock_subject one = in_memory_segment(cpu_access::uncached, false);
  CHECK(decide(one, invisible, {.exists = true, .free_bytes = one.bytes}, 0) == windowed);
  CHECK(decide(one, invisible, {.exists = true, .free_bytes = one.bytes - 1}, 0) ==
        refused(lock_refusal::no_window_space));
  CHECK(decide(one, invisible, {.exists = false, .free_bytes = one.bytes}, 0) == refused(lock_refusal::no_window));
}

TEST_CASE("[B17][B19][B20][trap 30] cached access in a memory segment is never direct, nor through a window") {
  for (const segment_traits& segment : every_segment) {
    for (const window_state& window : every_window) {
      CHECK(decide(in_memory_segment(cpu_access::cached, true), segment, window, 0) == migrated);
      CHECK(decide(in_memory_segment(cpu_access::cached, false), segment, window, 0) ==
            refused(lock_refusal::incoherent_cached));
    }
  }
}

TEST_CASE("[B17][B26][trap 30] without access it can be locked in system memory only, a window does not help") {
  for (const segment_traits& segment : every_segment) {
    for (const window_state& window : every_window) {
      CHECK(decide(in_memory_segment(cpu_access::none, true), segment, window, 0) == migrated);
      CHECK(decide(in_memory_segment(cpu_access::none, false), segment, window, 0) == refused(lock_refusal::resident));
    }
  }
}

TEST_CASE("[B17] every refusal has a reason, and nothing else has one") {
  for (const std::uint32_t flags : {0u, 1u}) {
    for_each_combination([&](const lock_subject& one, const segment_traits& segment, const window_state& window) {
      const lock_decision decision = decide(one, segment, window, flags);
      CHECK((decision.route == lock_route::refused) == (decision.reason != lock_refusal::none));
    });
  }
}

TEST_CASE("[B15][B28][trap 30] each of the 32 reserved flag bits is refused, whatever is asked for") {
  for (unsigned bit = 0; bit < 32; ++bit) {
    for_each_combination([&](const lock_subject& one, const segment_traits& segment, const window_state& window) {
      CHECK(decide(one, segment, window, std::uint32_t{1} << bit) == refused(lock_refusal::reserved_flags));
    });
  }
  CHECK(decide(subject(cpu_access::uncached, residence::system_memory, true), visible, no_window, UINT32_MAX) ==
        refused(lock_refusal::reserved_flags));
}

TEST_CASE(
    "[B24] what the processor shall use in a segment that it does not see needs an aperture segment to be created") {
  for_each_combination([](const lock_subject& one, const segment_traits& segment, const window_state& window) {
    const bool refused_at_creation =
        one.access != cpu_access::none && !segment.cpu_visible && !one.supports_aperture_segment;
    CHECK(may_be_created(one, segment) == !refused_at_creation);
    // The promise: what the processor may use without its caches, and was let in, is never refused for want of a window.
    if (may_be_created(one, segment) && one.access == cpu_access::uncached) {
      CHECK(decide(one, segment, window, 0).route != lock_route::refused);
    }
  });
}

TEST_CASE("the decision is one of the compiler's where its arguments are") {
  static_assert(decide(in_memory_segment(cpu_access::uncached, false), visible, no_window, 0) == direct);
  static_assert(!may_be_created(in_memory_segment(cpu_access::cached, false), invisible));
}

// ---- the pin ---------------------------------------------------------------------------------------------------------

TEST_CASE("[B27][trap 30] what is locked in system memory only is pinned there, and nothing else is") {
  for_each_combination([](const lock_subject& one, const segment_traits& segment, const window_state& window) {
    const bool nowhere_else = one.where == residence::system_memory && !one.supports_aperture_segment;
    CHECK(decide(one, segment, window, 0).pins_in_system_memory == nowhere_else);
  });
  CHECK(decide(subject(cpu_access::none, residence::system_memory, false), invisible, no_window, 0) == pinned);
  CHECK_FALSE(decide(subject(cpu_access::none, residence::system_memory, false), invisible, no_window, 1)
                  .pins_in_system_memory);
}

TEST_CASE("[B27][trap 30] a commit during a lock is deferred to the last unlock, which does it") {
  commit_pin pin;
  CHECK(pin.try_lock());
  CHECK_FALSE(pin.request_commit());
  CHECK_FALSE(pin.is_committed());
  CHECK_FALSE(pin.request_commit());  // once more is the same
  CHECK(pin.unlock() == commit_pin::unlocked::commit_now);
  CHECK(pin.is_committed());
  CHECK_FALSE(pin.try_lock());
  pin.evict();
  CHECK(pin.try_lock());
  CHECK(pin.unlock() == commit_pin::unlocked::free);
  CHECK(pin.request_commit());
  CHECK(pin.is_committed());
}

TEST_CASE("[B27] a commit that was deferred does not keep others from locking") {
  commit_pin pin;
  CHECK(pin.try_lock());
  CHECK_FALSE(pin.request_commit());
  CHECK(pin.try_lock());
  CHECK(pin.unlock() == commit_pin::unlocked::still_locked);
  CHECK(pin.unlock() == commit_pin::unlocked::commit_now);
}

TEST_CASE("[B46] three locks and three unlocks are well, and a fourth unlock is an error that changes nothing") {
  commit_pin pin;
  for (std::uint32_t locks = 1; locks <= 3; ++locks) {
    CHECK(pin.try_lock());
    CHECK(pin.lock_count() == locks);
  }
  CHECK(pin.unlock() == commit_pin::unlocked::still_locked);
  CHECK(pin.unlock() == commit_pin::unlocked::still_locked);
  CHECK(pin.unlock() == commit_pin::unlocked::free);
  CHECK(pin.unlock() == commit_pin::unlocked::unmatched);
  CHECK(pin.lock_count() == 0);
  CHECK(pin.request_commit());
  CHECK(pin.unlock() == commit_pin::unlocked::unmatched);
  CHECK(pin.is_committed());
}

TEST_CASE("[B27] of many locks and commits at once, none meets a commit, and each that was deferred is done once") {
  constexpr int rounds = 20'000;
  commit_pin pin;
  std::array<int, 3> owners{};  // written under a lock, all of them under a commit
  int commits = 0;              // under a commit
  std::atomic<int> deferred{0};
  std::atomic<int> done_later{0};
  const auto as_device = [&] {
    for (int& one : owners) ++one;
    ++commits;
    pin.evict();
  };
  std::vector<std::thread> threads;
  for (std::size_t me = 0; me < owners.size(); ++me) {
    threads.emplace_back([&, me] {
      for (int round = 0; round < rounds; ++round) {
        if (!pin.try_lock()) continue;
        ++owners[me];
        if (pin.unlock() == commit_pin::unlocked::commit_now) {
          as_device();
          done_later.fetch_add(1, std::memory_order_relaxed);
        }
      }
    });
  }
  for (int round = 0; round < rounds; ++round) {
    if (pin.request_commit()) {
      as_device();
    } else {
      deferred.fetch_add(1, std::memory_order_relaxed);
      while (done_later.load(std::memory_order_acquire) != deferred.load(std::memory_order_relaxed)) {
        std::this_thread::yield();
      }
    }
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(commits == rounds);
  CHECK(done_later == deferred);
}
