// SPDX-License-Identifier: BSL-1.0
//
// The lock decision: every cell of the table, every reason, every flag bit; and the gate that keeps locked memory from
// being committed.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include <tidemark/memory/lock_decision.hpp>

using namespace tidemark;

namespace {

constexpr segment_traits visible{.cpu_visible = true};
constexpr segment_traits invisible{.cpu_visible = false};
constexpr window_state no_window{};
constexpr window_state full_window{.exists = true, .free_bytes = 0};
constexpr window_state roomy_window{.exists = true, .free_bytes = 1 << 20};

constexpr lock_decision direct{lock_route::direct};
constexpr lock_decision staying{lock_route::direct, lock_refusal::none, true};
constexpr lock_decision windowed{lock_route::through_window};
constexpr lock_decision migrated{lock_route::migrate_to_system};
constexpr lock_decision made_not_resident{lock_route::migrate_to_system, lock_refusal::none, true};
constexpr lock_decision refused(lock_refusal reason) { return {lock_route::refused, reason}; }

constexpr std::array every_access{cpu_access::none, cpu_access::uncached, cpu_access::cached};
constexpr std::array every_residence{residence::system_memory, residence::aperture_segment, residence::memory_segment};
constexpr std::array every_segment{visible, invisible};
constexpr std::array every_window{no_window, full_window, roomy_window};

/// The set of one memory segment, and of an aperture segment or none.
constexpr segment_set set_of(const segment_traits& memory, bool supports_aperture) {
  const segment_set alone = segment_set{}.with(memory);
  return supports_aperture ? alone.with_aperture() : alone;
}
constexpr lock_subject subject(cpu_access access, residence where, bool supports_aperture,
                               const segment_traits& memory = invisible) {
  return {access, where, set_of(memory, supports_aperture), 4096};
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
          for (const window_state& window : every_window)
            body(subject(access, where, aperture, segment), segment, window);
        }
      }
    }
  }
}

}  // namespace

// ---- the table -----------------------------------------------------------------------------------------------------

TEST_CASE(
    "[B17][B25] allocations in system memory, or mapped by an aperture segment, are always locked where they are") {
  for_each_combination([](const lock_subject& one, const segment_traits& segment, const window_state& window) {
    if (one.where == residence::memory_segment) return;
    CHECK(decide(one, segment, window, 0).route == lock_route::direct);
  });
}

TEST_CASE("[B17][B18][B21] uncached access in a segment that the processor sees is direct, whatever else is asked") {
  for (const bool aperture : {false, true}) {
    for (const window_state& window : every_window) {
      CHECK(decide(in_memory_segment(cpu_access::uncached, aperture), visible, window, 0) == direct);
    }
  }
}

TEST_CASE(
    "[B17][B22][B23] uncached access in a segment that it does not see depends on the window and the aperture "
    "segment") {
  const lock_subject with = in_memory_segment(cpu_access::uncached, true);
  const lock_subject without = in_memory_segment(cpu_access::uncached, false);
  CHECK(decide(with, invisible, roomy_window, 0) == windowed);
  CHECK(decide(without, invisible, roomy_window, 0) == refused(lock_refusal::no_aperture_segment));
  CHECK(decide(with, invisible, full_window, 0) == migrated);
  CHECK(decide(with, invisible, no_window, 0) == migrated);
  CHECK(decide(without, invisible, full_window, 0) == refused(lock_refusal::no_space));
  CHECK(decide(without, invisible, no_window, 0) == refused(lock_refusal::no_window));
}

TEST_CASE("[B23] the window has room for exactly as many bytes as are free") {
  for (const bool aperture : {false, true}) {
    const lock_subject one = in_memory_segment(cpu_access::uncached, aperture);
    const auto with = [&](bool exists, std::uint64_t free_bytes) {
      return decide(one, invisible, {.exists = exists, .free_bytes = free_bytes}, 0);
    };
    CHECK(with(true, one.bytes) == (aperture ? windowed : refused(lock_refusal::no_aperture_segment)));
    CHECK(with(true, one.bytes - 1) == (aperture ? migrated : refused(lock_refusal::no_space)));
    CHECK(with(false, one.bytes) == (aperture ? migrated : refused(lock_refusal::no_window)));
  }
}

TEST_CASE("[B17][B19][B20][trap 30] cached access in a memory segment is never direct, nor through a window") {
  for (const window_state& window : every_window) {
    for (const segment_traits& segment : every_segment)
      CHECK(decide(in_memory_segment(cpu_access::cached, true), segment, window, 0) == migrated);
    CHECK(decide(in_memory_segment(cpu_access::cached, false), invisible, window, 0) ==
          refused(lock_refusal::incoherent_cached));
  }
}

TEST_CASE("[B19][B21][B27] in a segment that the processor sees every allocation for it can be locked") {
  for (const window_state& window : every_window) {
    // Cached without an aperture segment: it is not resident until it is unlocked.
    CHECK(decide(in_memory_segment(cpu_access::cached, false), visible, window, 0) == made_not_resident);
    for (const cpu_access access : {cpu_access::uncached, cpu_access::cached}) {
      for (const bool aperture : {false, true}) CHECK(decide(in_memory_segment(access, aperture), visible, window, 0));
    }
  }
}

TEST_CASE(
    "[B23][B24] in a segment that the processor does not see, no room in the window or no aperture segment is enough") {
  // "If the CpuHostAperture is out of available space or the allocation doesn't specify an aperture segment, a virtual
  // address is impossible to obtain": no address where it is. Only system memory is left then, for one of the two.
  for (const window_state& window : every_window) {
    for (const bool aperture : {false, true}) {
      const bool is_possible = window.free_bytes != 0 && aperture;
      const lock_decision made = decide(in_memory_segment(cpu_access::uncached, aperture), invisible, window, 0);
      CHECK((made.route == lock_route::through_window) == is_possible);
      if (!is_possible) CHECK(made.route == (aperture ? lock_route::migrate_to_system : lock_route::refused));
    }
  }
}

TEST_CASE("[B23][B24] what may not be created has no address in a segment that the processor does not see") {
  for (const cpu_access access : {cpu_access::uncached, cpu_access::cached}) {
    for (const window_state& window : every_window)
      CHECK_FALSE(decide(in_memory_segment(access, false), invisible, window, 0));
  }
}

TEST_CASE("[B17][B26][trap 30] memory without access can be locked in system memory only, and a window does not help") {
  for (const segment_traits& segment : every_segment) {
    for (const window_state& window : every_window) {
      CHECK(decide(in_memory_segment(cpu_access::none, true), segment, window, 0) == migrated);
      CHECK(decide(in_memory_segment(cpu_access::none, false), segment, window, 0) == refused(lock_refusal::resident));
    }
  }
}

TEST_CASE("[B17] every refusal has a reason and converts to false, and no other decision has a reason") {
  for (const std::uint32_t flags : {0u, 1u}) {
    for_each_combination([&](const lock_subject& one, const segment_traits& segment, const window_state& window) {
      const lock_decision decision = decide(one, segment, window, flags);
      CHECK((decision.route == lock_route::refused) == (decision.reason != lock_refusal::none));
      CHECK(static_cast<bool>(decision) == (decision.route != lock_route::refused));
    });
  }
}

TEST_CASE("[B15][B28][trap 30] each of the 32 reserved flag bits is refused, whatever is asked for") {
  for (unsigned bit = 0; bit < 32; ++bit) {
    for_each_combination([&](const lock_subject& one, const segment_traits& segment, const window_state& window) {
      CHECK(decide(one, segment, window, std::uint32_t{1} << bit) == refused(lock_refusal::invalid));
    });
  }
  CHECK(decide(subject(cpu_access::uncached, residence::system_memory, true), visible, no_window, UINT32_MAX) ==
        refused(lock_refusal::invalid));
}

TEST_CASE(
    "[B24] an allocation for the processor, in a segment that it does not see, may be created only with an aperture "
    "segment") {
  for_each_combination([](const lock_subject& one, const segment_traits& segment, const window_state& window) {
    const bool refused_at_creation =
        one.access != cpu_access::none && !segment.cpu_visible && !one.supported.has_aperture();
    CHECK(may_be_created(one.access, one.supported) == !refused_at_creation);
    // The promise: an allocation for the processor that may be created is never refused.
    if (may_be_created(one.access, one.supported) && one.access != cpu_access::none) {
      CHECK(decide(one, segment, window, 0).route != lock_route::refused);
    }
  });
}

TEST_CASE("[B17][B24] an allocation has a set of segments, and each that the processor does not see counts") {
  const segment_set none;
  CHECK(none.is_empty());
  for (const cpu_access access : every_access) CHECK_FALSE(may_be_created(access, none));
  const segment_set seen = none.with(visible);
  const segment_set both = seen.with(invisible);
  CHECK_FALSE(seen.has_unseen());
  CHECK(both.has_unseen());
  CHECK(both == none.with(invisible).with(visible).with(visible));
  CHECK_FALSE(both.has_aperture());
  CHECK(both.with_aperture().has_aperture());
  CHECK(both.with_aperture().has_unseen());
  CHECK_FALSE(none.with_aperture().has_unseen());
  for (const cpu_access access : every_access) {
    CHECK(may_be_created(access, none.with_aperture()));
    CHECK(may_be_created(access, seen));
    CHECK(may_be_created(access, both) == (access == cpu_access::none));
    CHECK(may_be_created(access, both.with_aperture()));
  }
}

TEST_CASE("the decision is made by the compiler where its arguments are constants") {
  static_assert(decide(in_memory_segment(cpu_access::uncached, false), visible, no_window, 0) == direct);
  static_assert(!may_be_created(cpu_access::cached, segment_set{}.with(invisible)));
}

// ---- the gate ------------------------------------------------------------------------------------------------------

TEST_CASE("[B27][trap 30] what can be locked in system memory only stays there, and nothing else does") {
  for_each_combination([](const lock_subject& one, const segment_traits& segment, const window_state& window) {
    const bool is_made_so = one.where == residence::memory_segment && one.access == cpu_access::cached &&
                            segment.cpu_visible && !one.supported.has_aperture();
    const bool nowhere_else = (one.where == residence::system_memory && !one.supported.has_aperture()) || is_made_so;
    CHECK(decide(one, segment, window, 0).stays_in_system_memory == nowhere_else);
  });
  CHECK(decide(subject(cpu_access::none, residence::system_memory, false), invisible, no_window, 0) == staying);
  CHECK_FALSE(decide(subject(cpu_access::none, residence::system_memory, false), invisible, no_window, 1)
                  .stays_in_system_memory);
}

TEST_CASE("[B27][trap 30] a commit during a lock is deferred to the last unlock") {
  commit_gate gate;
  CHECK(gate.try_lock());
  CHECK_FALSE(gate.request_commit());
  CHECK_FALSE(gate.is_committed());
  CHECK_FALSE(gate.request_commit());  // once more is the same
  CHECK(gate.unlock() == unlock_status::commit_now);
  CHECK(gate.is_committed());
  CHECK_FALSE(gate.try_lock());
  gate.evict();
  CHECK(gate.try_lock());
  CHECK(gate.unlock() == unlock_status::unlocked);
  CHECK(gate.request_commit());
  CHECK(gate.is_committed());
}

TEST_CASE("[B27] a deferred commit does not keep other threads from locking") {
  commit_gate gate;
  CHECK(gate.try_lock());
  CHECK_FALSE(gate.request_commit());
  CHECK(gate.try_lock());
  CHECK(gate.unlock() == unlock_status::still_locked);
  CHECK(gate.unlock() == unlock_status::commit_now);
}

TEST_CASE("[B27] a commit that is tried defers nothing, and is refused while another thread has committed") {
  commit_gate gate;
  CHECK(gate.try_lock());
  CHECK_FALSE(gate.try_commit());
  CHECK(gate.unlock() == unlock_status::unlocked);
  CHECK(gate.try_commit());
  CHECK(gate.is_committed());
  CHECK_FALSE(gate.try_commit());
  CHECK_FALSE(gate.try_lock());
  gate.evict();
  CHECK(gate.try_commit());
  gate.evict();
  CHECK(gate.try_lock());
  CHECK_FALSE(gate.request_commit());
  CHECK_FALSE(gate.try_commit());  // and the deferred one stays
  CHECK(gate.unlock() == unlock_status::commit_now);
}

TEST_CASE("[B27] a commit becomes a lock, and nobody commits in between") {
  commit_gate gate;
  REQUIRE(gate.try_commit());
  CHECK_FALSE(gate.try_lock());
  gate.evict_and_lock();
  CHECK_FALSE(gate.is_committed());
  CHECK(gate.lock_count() == 1);
  CHECK_FALSE(gate.try_commit());
  CHECK(gate.try_lock());
  CHECK(gate.unlock() == unlock_status::still_locked);
  CHECK_FALSE(gate.request_commit());
  CHECK(gate.unlock() == unlock_status::commit_now);
}

TEST_CASE("[B46] three locks and three unlocks succeed; a fourth unlock is invalid and changes nothing") {
  commit_gate gate;
  for (std::uint32_t locks = 1; locks <= 3; ++locks) {
    CHECK(gate.try_lock());
    CHECK(gate.lock_count() == locks);
  }
  CHECK(gate.unlock() == unlock_status::still_locked);
  CHECK(gate.unlock() == unlock_status::still_locked);
  CHECK(gate.unlock() == unlock_status::unlocked);
  CHECK(gate.unlock() == unlock_status::invalid);
  CHECK(gate.lock_count() == 0);
  CHECK(gate.request_commit());
  CHECK(gate.unlock() == unlock_status::invalid);
  CHECK(gate.is_committed());
}

TEST_CASE("[B27] with many locks and commits at once no lock meets a commit, and each deferred commit is done once") {
  constexpr int rounds = 20'000;
  commit_gate gate;
  std::array<int, 3> owners{};  // written under a lock, all of them under a commit
  int commits = 0;              // under a commit
  std::atomic<int> deferred{0};
  std::atomic<int> done_later{0};
  const auto as_device = [&] {
    for (int& one : owners) ++one;
    ++commits;
    gate.evict();
  };
  std::vector<std::thread> threads;
  for (std::size_t me = 0; me < owners.size(); ++me) {
    threads.emplace_back([&, me] {
      for (int round = 0; round < rounds; ++round) {
        if (!gate.try_lock()) continue;
        ++owners[me];
        if (gate.unlock() == unlock_status::commit_now) {
          as_device();
          done_later.fetch_add(1, std::memory_order_relaxed);
        }
      }
    });
  }
  for (int round = 0; round < rounds; ++round) {
    if (gate.request_commit()) {
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
