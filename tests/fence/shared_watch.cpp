// SPDX-License-Identifier: BSL-1.0
//
// Who watches for the sleepers of one process that wait for a shared fence, and what they lose where a neighbour moves
// them to another word.
#include <doctest/doctest.h>

#if defined(__linux__)

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include <tidemark/fence/shared_fence.hpp>
#include <tidemark/fence/wait.hpp>

#include "support/manual_stop.hpp"

namespace {

using namespace std::chrono_literals;
using tidemark::deadline;
using tidemark::no_deadline;
using tidemark::wait_status;

using platform = tidemark::symmetric_shared_platform;

struct counted_nudge {
  void operator()() const noexcept { ++*count; }
  int* count;
};
using watch = tidemark::detail::shared_watch<platform, counted_nudge>;

/// Two sleepers of one process. The first one watches, and has looked.
struct two_sleepers {
  watch of{50ms, 1min};
  int nudges = 0;
  watch::sleeper first{1, {&nudges}};
  watch::sleeper second{1, {&nudges}};

  two_sleepers() {
    of.enter(first);
    of.enter(second);
    CHECK(of.next_look(first) == deadline{});
    CHECK(of.next_look(second) == deadline{1min});
    CHECK(of.begin_look(first, deadline{70ms}));
  }
};

TEST_CASE_FIXTURE(two_sleepers, "the first sleeper watches, and one that leaves hands the watch over and says so") {
  CHECK(of.next_look(first) == deadline{100ms});
  CHECK(of.next_look(second) == deadline{100ms + 1min});
  of.leave(first);
  CHECK(nudges == 1);
  CHECK(of.next_look(second) == deadline{100ms});
  of.leave(second);
  CHECK(nudges == 1);
}

TEST_CASE_FIXTURE(two_sleepers, "a sleeper that does not watch looks if nobody has looked for a long time") {
  CHECK_FALSE(of.begin_look(first, deadline{100ms - 1ns}));
  CHECK_FALSE(of.begin_look(second, deadline{100ms + 1min - 1ns}));
  CHECK(of.begin_look(second, deadline{100ms + 1min}));
  CHECK(of.next_look(first) == deadline{150ms + 1min});
  CHECK(of.next_look(second) == deadline{150ms + 2min});
  of.leave(second);
  CHECK(nudges == 0);
  of.leave(first);
}

TEST_CASE("without an interval nobody looks") {
  watch of{(deadline::duration::max)(), 1min};
  int nudges = 0;
  watch::sleeper only{1, {&nudges}};
  of.enter(only);
  CHECK(of.next_look(only) == no_deadline);
  CHECK_FALSE(of.begin_look(only, deadline{1h}));
  of.leave(only);
}

/// What lies in the pages of a fence, and one attachment to it. Its watcher looks often, and the others do not rely on
/// it for long.
class place {
 public:
  static constexpr std::size_t arity = 4;
  static constexpr std::size_t slots = 4;
  // In which order sleepers take them.
  static constexpr std::size_t first_slot = 3;
  static constexpr std::size_t second_slot = 0;
  static constexpr std::size_t third_slot = 1;
  using heap_type = tidemark::detail::shared_heap<platform, arity>;

  auto& value() noexcept { return value_; }
  auto& root() noexcept { return root_; }
  heap_type& heap() noexcept { return heap_; }
  std::uint32_t owner() const noexcept { return 1; }
  static constexpr bool may_register() noexcept { return true; }
  static constexpr bool is_lost() noexcept { return false; }
  static constexpr bool look(bool) noexcept { return false; }
  static constexpr deadline::duration interval() noexcept { return 5ms; }
  static constexpr deadline::duration patience() noexcept { return 1s; }

  /// Moves all that sleep on the word of a slot, as any process can that has mapped it. Returns how many, or -1.
  long move_from(std::size_t slot) noexcept {
#if defined(SYS_futex)
    constexpr long call = SYS_futex;
#else
    constexpr long call = SYS_futex_time64;
#endif
    return ::syscall(call, &wakes_[slot].underlying(), FUTEX_REQUEUE, 0, INT_MAX, &elsewhere_, 0);
  }

 private:
  static constexpr tidemark::detail::tree_shape<arity> tree{slots};

  platform::atomic<std::uint64_t> value_{0};
  platform::atomic<std::uint64_t> pins_{0};
  tidemark::detail::hold_of<platform> hold_;
  tidemark::detail::tree_word<platform> root_;
  std::array<tidemark::detail::siblings<platform, arity>, tree.groups()> siblings_;
  std::array<platform::atomic<std::uint32_t>, slots> owners_;
  std::array<platform::park_word, slots> wakes_;
  std::uint32_t elsewhere_ = 0;
  heap_type heap_{tree, {&root_, &pins_, &hold_, siblings_.data(), owners_.data(), wakes_.data()}};
};

/// An attachment whose waiters do not spin.
class attachment {
 public:
  template <class Token = tidemark::detail::never_stops>
  wait_status wait(std::uint64_t target, Token token = {}) {
    return core_.wait_longer<wait_status>(target, no_deadline, token);
  }
  /// As a signaller that is killed before it wakes somebody.
  void store(std::uint64_t value) { place_.value().store(value, std::memory_order_release); }
  /// Waits until somebody sleeps on the word of a slot, and moves it to another word.
  void move_sleeper(std::size_t slot) {
    long moved = 0;
    while (moved == 0) {
      moved = place_.move_from(slot);
      std::this_thread::yield();
    }
    CHECK(moved == 1);
  }

 private:
  place place_;
  tidemark::detail::shared_core<platform, place, 0> core_{place_};
};

TEST_CASE("sleepers that a neighbour has moved to another word find a value for which nobody wakes them") {
  attachment of;
  std::vector<std::thread> sleepers;
  for (const std::size_t slot : {place::first_slot, place::second_slot, place::third_slot}) {
    sleepers.emplace_back([&] { CHECK(of.wait(1) == wait_status::reached); });
    of.move_sleeper(slot);
  }
  of.store(1);
  for (std::thread& each : sleepers) each.join();
}

TEST_CASE("a sleeper that was moved to another word finds the value also if the watch was handed to it") {
  attachment of;
  testing::manual_stop stop;
  std::thread watcher{[&] { CHECK(of.wait(1, stop.get_token()) == wait_status::stopped); }};
  of.move_sleeper(place::first_slot);
  std::thread heir{[&] { CHECK(of.wait(1) == wait_status::reached); }};
  of.move_sleeper(place::second_slot);
  stop.request();
  watcher.join();
  of.store(1);
  heir.join();
}

}  // namespace

#endif
