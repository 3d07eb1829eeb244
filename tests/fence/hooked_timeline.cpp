// SPDX-License-Identifier: BSL-1.0
//
// Timelines of the program's that call hooks: what may be one, the list that keeps the hooks, and waits for them.
#include "support/noted_misuse.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/fence32.hpp>
#include <tidemark/fence/hooked_timeline.hpp>
#include <tidemark/fence/least_of.hpp>
#include <tidemark/fence/wait_many.hpp>
#include <tidemark/loop/reached_descriptor.hpp>
#include <tidemark/loop/wait_loop.hpp>
#include <tidemark/memory/rename_ring.hpp>

#include "support/counted_allocations.hpp"
#include "support/hooked_ticks.hpp"
#include "support/manual_stop.hpp"
#include "support/repetitions.hpp"
#include "support/threads.hpp"
#include "support/user_timeline.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::no_waiter;
using tidemark::wait_any_result;
using tidemark::wait_status;

namespace {

/// Notes until when a thread sleeps that has begun to sleep last.
struct platform : counting_platform<tidemark::native_platform> {
  static bool park(park_word& word, std::uint32_t expected, tidemark::deadline until) noexcept {
    sleeps_until = until;
    return counting_platform::park(word, expected, until);
  }
  static inline std::atomic<tidemark::deadline> sleeps_until{tidemark::deadline{}};
};

using ticks = basic_hooked_ticks<platform>;
using awaited = tidemark::basic_awaited<platform>;
using fence = tidemark::basic_fence<platform>;
using list = std::vector<awaited>;
using loop_type = tidemark::basic_wait_loop<platform>;

template <class Timeline>
constexpr bool is_taken = std::constructible_from<tidemark::awaited, const Timeline&, std::uint64_t>;

/// A timeline with one of the two functions.
struct half_hooked : user_timeline {
  void* add_hook(std::uint64_t, tidemark::timeline_hook) const { return nullptr; }
};

static_assert(tidemark::hooked_timeline<hooked_ticks>);
static_assert(!tidemark::hooked_timeline<user_timeline> && !tidemark::hooked_timeline<half_hooked>);
static_assert(!tidemark::hooked_timeline<tidemark::fence>);
static_assert(is_taken<hooked_ticks> && is_taken<tidemark::timeline_view<hooked_ticks>>);
static_assert(!is_taken<half_hooked>);
static_assert(is_taken<tidemark::fence32> && is_taken<tidemark::progress_fence32>);
static_assert(sizeof(tidemark::timeline_hook) == sizeof(void*));
// What a wait for fences alone keeps has not grown.
static_assert(sizeof(tidemark::awaited) == 3 * sizeof(void*) || sizeof(void*) != 8);

/// A timeline that does not say what it had reached when it was lost. Its hooks are called within add_hook() if it is
/// set so.
class terse_ticks {
 public:
  std::uint64_t current_value() const noexcept { return is_lost_ ? UINT64_MAX : value_.load(); }
  wait_status wait_until(std::uint64_t target, tidemark::deadline until) const noexcept {
    REQUIRE(until == tidemark::deadline{});  // only looks are made
    ++looks;
    if (value_ >= target) return wait_status::reached;
    return is_lost_ ? wait_status::lost : wait_status::timeout;
  }
  void* add_hook(std::uint64_t target, tidemark::timeline_hook hook) const noexcept {
    if (signals_within != 0) signal(signals_within);
    void* const added = hooks_.add(target, hook);
    if (signals_within != 0) hooks_.release_due(value_);
    return added;
  }
  bool remove_hook(void* registration) const noexcept { return hooks_.remove(registration); }

  void signal(std::uint64_t value) const {
    value_ = value;
    hooks_.release_due(value);
  }
  void lose() {
    is_lost_ = true;
    hooks_.release_lost();
  }
  void lose_at(std::uint64_t value) {
    value_ = value;
    lose();
  }

  mutable std::atomic<int> looks{0};
  std::uint64_t signals_within = 0;

 private:
  mutable std::atomic<std::uint64_t> value_{0};
  std::atomic<bool> is_lost_{false};
  mutable tidemark::basic_hook_list<platform> hooks_;
};

}  // namespace

// ---- one timeline with hooks ----------------------------------------------------------------------------------------

TEST_CASE("[A65] a wait for a timeline with hooks sleeps once, until the hook wakes it") {
  ticks mine;
  const meter<platform> during;
  waiter waiting{[&] { return mine.wait_until(2, tidemark::no_deadline); }};
  CHECK(waiting.falls_asleep());
  CHECK(mine.monitored_value() == 1);
  mine.signal(1);
  CHECK(mine.monitored_value() == 1);
  CHECK(during.parks() == 1);
  mine.signal(2);
  CHECK(waiting.status() == wait_status::reached);
  CHECK(during.heavy_barriers() == 0);
  CHECK(mine.monitored_value() == no_waiter);
  CHECK(mine.added() == mine.removed());
}

TEST_CASE("a deadline and a stop end a wait for a timeline with hooks, and leave no hook") {
  ticks mine;
  CHECK(mine.wait_until(1, tidemark::deadline{}) == wait_status::timeout);
  CHECK(mine.added() == 0);
  CHECK(tidemark::wait_all_for(list{{mine, 1}}, 1ms) == wait_status::timeout);
  manual_stop source;
  waiter waiting{[&] { return tidemark::wait_all(list{{mine, 1}}, source.get_token()); }};
  CHECK(waiting.falls_asleep());
  source.request();
  CHECK(waiting.status() == wait_status::stopped);
  CHECK(mine.monitored_value() == no_waiter);
  CHECK(mine.added() == mine.removed());
}

TEST_CASE("[A120] a lost timeline with hooks wakes its waits, and values that it had reached stay reached") {
  ticks mine;
  fence other;
  mine.signal(5);
  waiter any{[&] { return tidemark::wait_any(list{{other, 1}, {mine, 6}}).status; }};
  waiter all{[&] { return tidemark::wait_all(list{{mine, 6}, {other, 1}}); }};
  CHECK(any.falls_asleep());
  CHECK(all.falls_asleep());
  mine.lose();
  CHECK(any.status() == wait_status::lost);
  CHECK(all.status() == wait_status::lost);
  CHECK(mine.wait_until(5, tidemark::no_deadline) == wait_status::reached);
  CHECK(mine.wait_until(6, tidemark::no_deadline) == wait_status::lost);
}

TEST_CASE("[A120] a lost timeline that has no last_reached() is asked by looks that wait for nothing") {
  terse_ticks mine;
  mine.signal(7);
  CHECK(tidemark::wait_all_for(list{{mine, 7}}, 0s) == wait_status::reached);
  CHECK(mine.looks == 0);
  mine.lose();
  CHECK(tidemark::wait_all(list{{mine, 7}}) == wait_status::reached);
  CHECK(tidemark::wait_any(list{{mine, 8}}) == wait_any_result{wait_status::lost, 0});
  CHECK(mine.looks > 0);
  terse_ticks last;
  last.signal(UINT64_MAX);
  CHECK(tidemark::wait_all(list{{last, UINT64_MAX}}) == wait_status::reached);
}

TEST_CASE("[A120] a loop and a descriptor find what a lost timeline that has no last_reached() had reached") {
  for (const std::uint64_t reached : {std::uint64_t{0}, std::uint64_t{7}, UINT64_MAX - 1}) {
    terse_ticks mine;
    mine.signal(reached);
    mine.lose();
    loop_type loop;
    std::optional<wait_status> at;
    std::optional<wait_status> above;
    const auto first = loop.on_reached(mine, reached, [&](wait_status how) { at = how; });
    const auto second = loop.on_reached(mine, reached + 1, [&](wait_status how) { above = how; });
    static_cast<void>(loop.poll());
    CHECK(at == wait_status::reached);
    CHECK(above == wait_status::lost);
#if defined(__linux__)
    CHECK(tidemark::basic_reached_descriptor<platform>(mine, reached).status() == wait_status::reached);
    CHECK(tidemark::basic_reached_descriptor<platform>(mine, reached + 1).status() == wait_status::lost);
#endif
  }
}

TEST_CASE("[A120] a value that was reached just before the loss may be told as the loss") {
  terse_ticks mine;
  fence other;
  waiter all{[&] { return tidemark::wait_all(list{{mine, 5}, {other, 1}}); }};
  waiter any{[&] { return tidemark::wait_any(list{{other, 2}, {mine, 5}}).status; }};
  loop_type loop;
  std::optional<wait_status> end;
  const auto call = loop.on_reached(mine, 5, [&](wait_status how) { end = how; });
  background runs{[&] {
    while (!end) static_cast<void>(loop.run_one());
  }};
  CHECK(all.falls_asleep());
  CHECK(any.falls_asleep());
  CHECK(runs.falls_asleep());
  mine.lose_at(5);
  CHECK(any.status() == wait_status::reached);
  other.signal(1);
  CHECK(all.status() == wait_status::reached);
  runs.join();
  CHECK(end == wait_status::reached);
}

TEST_CASE("a hook may be called within add_hook()") {
  terse_ticks mine;
  fence other;
  mine.signals_within = 3;
  CHECK(tidemark::wait_any(list{{other, 1}, {mine, 3}}) == wait_any_result{wait_status::reached, 1});
  terse_ticks another;
  another.signals_within = 1;
  waiter waiting{[&] { return tidemark::wait_all(list{{another, 1}, {other, 1}}); }};
  CHECK(waiting.falls_asleep());
  other.signal(1);
  CHECK(waiting.status() == wait_status::reached);
}

TEST_CASE("a timeline that can't add a hook is looked at once in a millisecond") {
  ticks mine;
  fence other;
  mine.refuses = true;
  const meter<platform> during;
  waiter waiting{[&] { return tidemark::wait_all(list{{mine, 1}, {other, 1}}); }};
  await([&] { return during.parks() >= 3; });
  mine.signal(1);
  // Once it has seen the value, it sleeps for the fence alone, and does not look again.
  await([&] { return platform::sleeps_until.load() == tidemark::no_deadline; });
  other.signal(1);
  CHECK(waiting.status() == wait_status::reached);
  CHECK(mine.removed() == 0);
}

// ---- together with others -------------------------------------------------------------------------------------------

TEST_CASE("[A65] a wait for all of a fence, a 32-bit fence and timelines with hooks is one sleep and one wake-up") {
  ticks first;
  ticks second;
  fence third;
  tidemark::basic_fence32<fence> fourth{UINT32_MAX};
  const meter<platform> during;
  waiter waiting{[&] { return tidemark::wait_all(list{{first, 2}, {third, 1}, {fourth, 3}, {second, 1}}); }};
  CHECK(waiting.falls_asleep());
  first.signal(2);
  third.signal(1);
  fourth.signal(3);
  CHECK_FALSE(waiting.has_returned());
  CHECK(during.parks() == 1);
  second.signal(1);
  CHECK(waiting.status() == wait_status::reached);
  CHECK(first.monitored_value() == no_waiter);
  CHECK(second.monitored_value() == no_waiter);
}

TEST_CASE("[A65] a wait for any of them says which one was reached, and leaves no hook") {
  for (std::size_t which = 0; which < 4; ++which) {
    ticks first;
    fence second;
    tidemark::basic_fence32<fence> third;
    ticks fourth;
    wait_any_result end{};
    {
      background waiting{[&] { end = tidemark::wait_any(list{{first, 1}, {second, 1}, {third, 1}, {fourth, 1}}); }};
      CHECK(waiting.falls_asleep());
      if (which == 0) first.signal(1);
      if (which == 1) second.signal(1);
      if (which == 2) third.signal(1);
      if (which == 3) fourth.signal(1);
    }
    CHECK(end == wait_any_result{wait_status::reached, which});
    CHECK(first.monitored_value() == no_waiter);
    CHECK(fourth.monitored_value() == no_waiter);
  }
}

TEST_CASE("a 32-bit fence is awaited by the value that its serial stands for when the list is made") {
  tidemark::fence32 wrapped{UINT32_MAX};
  const tidemark::awaited after_wrap{wrapped, 1};
  CHECK(tidemark::wait_all_for({after_wrap}, 0s) == wait_status::timeout);
  CHECK(tidemark::wait_all_for({{wrapped, UINT32_MAX}}, 0s) == wait_status::reached);
  wrapped.signal(1);
  CHECK(tidemark::wait_all_for({after_wrap}, 0s) == wait_status::reached);
  CHECK(take_said().empty());
  const tidemark::awaited too_great{wrapped, (std::uint64_t{1} << 32) + 1};
  CHECK(take_said() == texts{"a serial of a 32-bit timeline has 32 bits"});
  CHECK(tidemark::wait_all_for({too_great}, 0s) == wait_status::reached);
}

TEST_CASE("a timeline may stand twice in a list") {
  ticks mine;
  CHECK(tidemark::wait_any_for(list{{mine, 2}, {mine, 1}}, 0s) == wait_status::timeout);
  mine.signal(1);
  CHECK(tidemark::wait_any(list{{mine, 2}, {mine, 1}}) == wait_any_result{wait_status::reached, 1});
}

TEST_CASE("a timeline may begin with another one, which has its address") {
  struct outer {
    std::uint64_t current_value() const noexcept { return own.current_value(); }
    wait_status wait_until(std::uint64_t target, tidemark::deadline until) const noexcept {
      return own.wait_until(target, until);
    }
    void* add_hook(std::uint64_t target, tidemark::timeline_hook hook) const noexcept {
      return own.add_hook(target, hook);
    }
    bool remove_hook(void* registration) const noexcept { return own.remove_hook(registration); }

    ticks inner;
    ticks own;
  };
  const auto check = [](const auto& first, ticks& of_first, const auto& second, ticks& of_second, bool is_cancelled) {
    REQUIRE(static_cast<const void*>(&first) == static_cast<const void*>(&second));
    loop_type loop;
    int firsts = 0;
    int seconds = 0;
    auto of_one = loop.on_reached(first, 1, [&] { ++firsts; });
    const auto of_another = loop.on_reached(second, 1, [&] { ++seconds; });
    if (is_cancelled) CHECK(of_one.cancel());
    of_first.signal(1);
    CHECK(loop.poll() == (is_cancelled ? 0 : 1));
    CHECK(firsts == (is_cancelled ? 0 : 1));
    CHECK(seconds == 0);
    of_second.signal(1);
    CHECK(loop.poll() == 1);
    CHECK(seconds == 1);
  };
  for (const bool is_cancelled : {false, true}) {
    outer mine;
    check(mine, mine.own, mine.inner, mine.inner, is_cancelled);
    outer another;
    check(another.inner, another.inner, another, another.own, is_cancelled);
  }
}

TEST_CASE("the least of timelines with hooks sleeps once, and memory follows a timeline with hooks") {
  ticks first;
  fence second;
  const tidemark::least_of least(first, second);
  const meter<platform> during;
  waiter waiting{[&] { return least.wait(2); }};
  CHECK(waiting.falls_asleep());
  first.signal(2);
  CHECK(during.parks() == 1);
  second.signal(2);
  CHECK(waiting.status() == wait_status::reached);
  const tidemark::rename_ring ring{first, {.bytes = 64}};
}

// ---- the list of hooks ----------------------------------------------------------------------------------------------

TEST_CASE("a list of hooks allocates from the fifth registration on, and keeps the memory for others") {
  const hooked_ticks mine;
  std::array<tidemark::fence, 2> others;
  tidemark::detail::shared_word<tidemark::native_platform> word{0};
  const auto hook = tidemark::detail::hook_access::hook_of(word);
  std::array<void*, 6> added{};
  const auto add_all = [&] {
    const counted_allocations during;
    for (std::size_t i = 0; i < added.size(); ++i) added[i] = mine.add_hook(9 - i, hook);
    return during.count();
  };
  const auto remove_all = [&] {
    for (void* const one : added) CHECK(mine.remove_hook(one));
  };
  CHECK(add_all() == 2);
  CHECK(mine.monitored_value() == 3);
  remove_all();
  CHECK(mine.monitored_value() == no_waiter);
  CHECK(add_all() == 0);
  remove_all();
}

TEST_CASE("a list of hooks without memory adds none, and the wait looks again") {
  hooked_ticks mine;
  tidemark::detail::shared_word<tidemark::native_platform> word{0};
  const auto hook = tidemark::detail::hook_access::hook_of(word);
  std::array<void*, 4> added{};
  for (void*& one : added) one = mine.add_hook(9, hook);
  {
    const counted_allocations fail{true};
    CHECK(mine.add_hook(9, hook) == nullptr);
    CHECK(tidemark::wait_all_for({{mine, 1}}, 3ms) == wait_status::timeout);
  }
  for (void* const one : added) mine.remove_hook(one);
}

TEST_CASE("a list of hooks calls each hook once, those that are due or, when the timeline is lost, all") {
  tidemark::hook_list hooks;
  tidemark::detail::shared_word<tidemark::native_platform> word{0};
  const auto hook = tidemark::detail::hook_access::hook_of(word);
  void* const first = hooks.add(3, hook);
  void* const second = hooks.add(1, hook);
  void* const third = hooks.add(2, hook);
  CHECK(hooks.monitored_value() == 0);
  CHECK(hooks.release_due(0) == 0);
  CHECK(hooks.release_due(2) == 2);
  CHECK(hooks.release_due(2) == 0);
  CHECK_FALSE(hooks.remove(second));
  CHECK_FALSE(hooks.remove(third));
  CHECK(hooks.release_lost() == 1);
  CHECK(hooks.release_lost() == 0);
  CHECK_FALSE(hooks.remove(first));
}

TEST_CASE("a timeline that is destroyed before the waits for it have ended is reported") {
  tidemark::detail::shared_word<tidemark::native_platform> word{0};
  {
    tidemark::hook_list hooks;
    static_cast<void>(hooks.add(3, tidemark::detail::hook_access::hook_of(word)));
    CHECK(take_said().empty());
  }
  CHECK(take_said() == texts{"a timeline was destroyed before the waits for it had ended"});
}

// ---- races ----------------------------------------------------------------------------------------------------------

TEST_CASE("[A65] registration, notification and withdrawal race without a loss") {
  hooked_ticks mine;
  tidemark::fence other;
  const watchdog guard{[&] { return state_of(other); }};
  std::atomic<std::uint64_t> round{0};
  repetitions rounds{20'000};
  {
    background signaller{[&] {
      for (std::uint64_t next = 1;; ++next) {
        await([&] { return round >= next; });
        if (round == UINT64_MAX) return;
        mine.signal(next);
        other.signal(next);
      }
    }};
    for (std::uint64_t next = 1; rounds.goes_on(); ++next) {
      round = next;
      const auto end = tidemark::wait_any({{other, next}, {mine, next}});
      REQUIRE(end == wait_status::reached);
      REQUIRE(tidemark::wait_all({{mine, next}, {other, next}}) == wait_status::reached);
    }
    round = UINT64_MAX;
  }
  CHECK(mine.monitored_value() == no_waiter);
  CHECK(mine.added() == mine.removed());
}
