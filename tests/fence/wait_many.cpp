// SPDX-License-Identifier: BSL-1.0
//
// One wait for several timelines: for all of them, and for any.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <thread>
#include <vector>
#include <version>

#include <tidemark/fence/wait_many.hpp>
#include <tidemark/platform/portable_platform.hpp>

#include "support/counting_platform.hpp"
#include "support/limits.hpp"
#include "support/manual_stop.hpp"
#include "support/parts_of_kinds.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#if defined(__cpp_lib_jthread)
#include <stop_token>
#endif

using namespace testing;
using namespace std::chrono_literals;
using std::chrono::steady_clock;
using std::chrono::system_clock;
using tidemark::awaited;
using tidemark::no_waiter;
using tidemark::wait_all;
using tidemark::wait_all_for;
using tidemark::wait_any;
using tidemark::wait_any_for;
using tidemark::wait_any_result;
using tidemark::wait_status;

namespace {

/// The platform of the tests that count operations or look at sleeping threads.
/// \tparam Base  one of the platforms of the library
template <class Base>
struct counted_kind {
  using platform = counting_platform<Base>;
  using fence = tidemark::basic_fence<platform>;
  using progress_fence = tidemark::basic_progress_fence<platform>;
  using awaited = tidemark::basic_awaited<platform>;
  using list = std::vector<awaited>;

  template <class... Limits>
  static wait_status all(const list& those, const Limits&... limits) {
    return testing::wait_all_within(those, limits...);
  }
  template <class... Limits>
  static wait_any_result any(const list& those, const Limits&... limits) {
    return testing::wait_any_within(those, limits...);
  }
};

using native = counted_kind<tidemark::native_platform>;
using symmetric = counted_kind<tidemark::symmetric_platform>;
using portable = counted_kind<tidemark::portable_platform>;
#define EVERY_PLATFORM TESTED_OF(native, portable, symmetric)

/// Returns whether no waiter is registered any more.
template <class Timeline>
bool is_idle(const Timeline& timeline) {
  return timeline.monitored_value() == (Timeline::platform::heavy_barrier_available() ? no_waiter : 0);
}

/// A thread in a wait for any of several timelines, and how the wait ended.
class any_waiter {
 public:
  template <class Wait>
  explicit any_waiter(Wait wait) : thread_{[this, wait] { result_ = wait(); }} {}
  bool falls_asleep() const { return thread_.falls_asleep(); }
  wait_any_result result() {
    thread_.join();
    return result_;
  }

 private:
  wait_any_result result_{};
  background thread_;
};

}  // namespace

TYPE_TO_STRING_AS("native", native);
TYPE_TO_STRING_AS("symmetric", symmetric);
TYPE_TO_STRING_AS("portable", portable);

// ---- what they cost -------------------------------------------------------------------------------------------------

TEST_CASE("[A65] a wait for all of five timelines issues one heavy barrier, and a wait for any of them another one") {
  std::array<native::progress_fence, 5> fences;
  const native::list all{{fences[0], 1}, {fences[1], 1}, {fences[2], 1}, {fences[3], 1}, {fences[4], 1}};
  constexpr std::uint64_t one = native::platform::asymmetric ? 1 : 0;
  const meter<native::platform> during;
  waiter everybody{[&] { return native::all(all); }};
  CHECK(everybody.falls_asleep());
  CHECK(during.heavy_barriers() == one);
  any_waiter somebody{[&] { return native::any(all); }};
  CHECK(somebody.falls_asleep());
  CHECK(during.heavy_barriers() == 2 * one);
  for (std::size_t i = fences.size(); i-- > 0;) fences[i].signal(1);
  CHECK(everybody.status() == wait_status::reached);
  CHECK(somebody.result().status == wait_status::reached);
  CHECK(during.heavy_barriers() == 2 * one);
  for (const auto& fence : fences) CHECK(is_idle(fence));
}

TEST_CASE("[A65] timelines with symmetric barriers need no heavy barrier, even if the waiter's platform has one") {
  tidemark::basic_fence<symmetric::platform> first;
  tidemark::basic_progress_fence<symmetric::platform> second;
  const native::list both{{first, 1}, {second, 1}};
  const meter<native::platform> during;
  any_waiter waiting{[&] { return native::any(both); }};
  CHECK(waiting.falls_asleep());
  second.signal(1);
  CHECK(waiting.result() == wait_any_result{wait_status::reached, 1});
  CHECK(during.heavy_barriers() == 0);
}

TEST_CASE_TEMPLATE("values that were reached are found without a barrier or a sleep", Kind, EVERY_PLATFORM) {
  const typename Kind::fence first{7};
  const typename Kind::progress_fence second{3};
  const meter<typename Kind::platform> during;
  CHECK(Kind::all({{first, 7}, {second, 2}}) == wait_status::reached);
  CHECK(Kind::any({{first, 8}, {second, 3}}) == wait_any_result{wait_status::reached, 1});
  CHECK(during.heavy_barriers() + during.parks() == 0);
}

TEST_CASE_TEMPLATE("an empty list is reached at once, by a wait for all and by a wait for any", Kind, EVERY_PLATFORM) {
  const meter<typename Kind::platform> during;
  CHECK(Kind::all({}) == wait_status::reached);
  CHECK(Kind::all({}, 24h) == wait_status::reached);
  CHECK(Kind::any({}) == wait_any_result{wait_status::reached, 0});
  CHECK(Kind::any({}, 0s) == wait_any_result{wait_status::reached, 0});
  CHECK(during.heavy_barriers() + during.parks() == 0);
}

// ---- all ------------------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[trap 11] a wait for all returns when the last timeline is reached, in whatever order they are",
                   Kind, EVERY_PLATFORM) {
  for (const std::array<unsigned, 3> order : {std::array{0u, 1u, 2u}, {2u, 1u, 0u}, {1u, 0u, 2u}}) {
    std::array<typename Kind::progress_fence, 3> fences;
    waiter waiting{[&] { return Kind::all({{fences[0], 5}, {fences[1], 5}, {fences[2], 5}}); }};
    CHECK(waiting.falls_asleep());
    for (const unsigned which : order) {
      CHECK_FALSE(waiting.has_returned());
      fences[which].signal(4);
      CHECK(waiting.falls_asleep());
      fences[which].signal(5);
    }
    CHECK(waiting.status() == wait_status::reached);
    for (const auto& fence : fences) CHECK(is_idle(fence));
  }
}

TEST_CASE_TEMPLATE("[trap 11] a timeline that jumps twice, or stands in the list twice, does not count for another one",
                   Kind, EVERY_PLATFORM) {
  typename Kind::fence jumping;
  typename Kind::fence other;
  waiter waiting{[&] { return Kind::all({{jumping, 1}, {other, 1}, {jumping, 2}, {jumping, 1}}); }};
  CHECK(waiting.falls_asleep());
  jumping.signal(1);
  CHECK(waiting.falls_asleep());
  jumping.signal(9);
  CHECK(waiting.falls_asleep());
  other.signal(1);
  CHECK(waiting.status() == wait_status::reached);
  CHECK(is_idle(jumping));
  CHECK(is_idle(other));
}

TEST_CASE("[trap 11] a timeline that is reached while the others are being registered is not waited for") {
  using platform = hooked_platform<tidemark::native_platform>;
  if (!platform::asymmetric) {
    MESSAGE("not tested: this build issues no barrier at which a signal could come");
    return;
  }
  for (const bool all : {true, false}) {
    tidemark::basic_progress_fence<platform> first;
    tidemark::basic_progress_fence<platform> second;
    platform::at_heavy_barrier = [&] {
      first.signal(1);
      if (all) second.signal(1);
    };
    const std::array<tidemark::basic_awaited<platform>, 2> both{{{first, 1}, {second, 1}}};
    const meter<platform> during;
    if (all) {
      CHECK(wait_all(both) == wait_status::reached);
    } else {
      CHECK(wait_any(both) == wait_any_result{wait_status::reached, 0});
    }
    CHECK(platform::at_heavy_barrier.has_run());
    CHECK(during.parks() == 0);
    CHECK(is_idle(second));
  }
}

TEST_CASE("a timeline that is reached just before the sleep ends the wait") {
  using platform = hooked_platform<tidemark::native_platform>;
  tidemark::basic_progress_fence<platform> first;
  tidemark::basic_progress_fence<platform> second;
  const std::array<tidemark::basic_awaited<platform>, 2> both{{{first, 1}, {second, 1}}};
  platform::at_park = [&] { second.signal(1); };
  CHECK(wait_any(both) == wait_any_result{wait_status::reached, 1});
  CHECK(platform::at_park.has_run());
}

// ---- any ------------------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE(
    "[trap 11] a wait for any returns the timeline that is reached, and leaves no registration with the others", Kind,
    EVERY_PLATFORM) {
  for (std::size_t which = 0; which < 3; ++which) {
    std::array<typename Kind::progress_fence, 3> fences;
    any_waiter waiting{[&] { return Kind::any({{fences[0], 5}, {fences[1], 5}, {fences[2], 5}}); }};
    CHECK(waiting.falls_asleep());
    fences[which].signal(5);
    CHECK(waiting.result() == wait_any_result{wait_status::reached, which});
    for (const auto& fence : fences) CHECK(is_idle(fence));
  }
}

TEST_CASE("of several reached timelines the first one in the list is named") {
  const tidemark::fence first;
  const tidemark::fence second{1};
  const tidemark::progress_fence third{1};
  CHECK(wait_any({{first, 1}, {second, 1}, {third, 1}}) == wait_any_result{wait_status::reached, 1});
  CHECK(wait_any({{third, 1}, {second, 1}}) == wait_any_result{wait_status::reached, 0});
}

TEST_CASE_TEMPLATE("if all slots are taken, and the heap must not grow, the waiter looks again by itself", Kind,
                   EVERY_PLATFORM) {
  constexpr tidemark::fence_options one_slot_options{.capacity = 1, .growth = tidemark::heap_growth::forbidden};
  using one_slot = tidemark::basic_progress_fence<typename Kind::platform, one_slot_options>;
  one_slot full;
  one_slot other;
  waiter in_slot{[&] { return full.wait(9); }};
  CHECK(in_slot.falls_asleep());
  any_waiter any{[&] { return Kind::any({{other, 3}, {full, 5}, {full, 6}}); }};
  CHECK(any.falls_asleep());
  waiter all{[&] { return Kind::all({{other, 3}, {full, 9}}); }};
  CHECK(all.falls_asleep());
  full.signal(5);
  CHECK(any.result() == wait_any_result{wait_status::reached, 1});
  full.signal(9);
  other.signal(3);
  CHECK(all.status() == wait_status::reached);
  CHECK(in_slot.status() == wait_status::reached);
  CHECK(is_idle(full));
  CHECK(is_idle(other));
}

// ---- how they end otherwise -----------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[A120] a lost timeline ends both kinds of wait at once, unless a wait for any finds one reached",
                   Kind, EVERY_PLATFORM) {
  typename Kind::progress_fence sound;
  typename Kind::progress_fence dying;
  waiter all{[&] { return Kind::all({{sound, 5}, {dying, 5}}); }};
  any_waiter any{[&] { return Kind::any({{sound, 5}, {dying, 5}}); }};
  CHECK(all.falls_asleep());
  CHECK(any.falls_asleep());
  dying.signal(3);
  dying.poison();
  CHECK(all.status() == wait_status::lost);
  CHECK(any.result() == wait_any_result{wait_status::lost, 1});
  CHECK(Kind::all({{sound, 5}, {dying, 3}}, 0s) == wait_status::timeout);
  CHECK(Kind::any({{sound, 5}, {dying, 3}}) == wait_any_result{wait_status::reached, 1});
  sound.signal(5);
  CHECK(Kind::any({{dying, 5}, {sound, 5}}) == wait_any_result{wait_status::reached, 1});
  CHECK(Kind::all({{dying, 5}, {sound, 5}}) == wait_status::lost);
  CHECK(is_idle(sound));
}

TEST_CASE_TEMPLATE("[A14] a deadline ends the wait, never early, and leaves no registration behind", Kind,
                   EVERY_PLATFORM) {
  const typename Kind::fence came{1};
  const typename Kind::progress_fence never;
  const auto check_timeout = [&](const auto& limit) {
    CHECK(Kind::all({{came, 1}, {never, 1}}, limit) == wait_status::timeout);
    CHECK(Kind::any({{never, 2}, {never, 1}}, limit) == wait_any_result{wait_status::timeout, 2});
    CHECK(is_idle(came));
    CHECK(is_idle(never));
  };
  const auto start = steady_clock::now();
  check_timeout(3ms);
  CHECK(steady_clock::now() - start >= 6ms);
  const auto steady = steady_clock::now() + 2ms;
  check_timeout(steady);
  CHECK(steady_clock::now() >= steady);
  const auto system = system_clock::now() + 2ms;
  check_timeout(system);
  CHECK(system_clock::now() >= system);

  const meter<typename Kind::platform> during;
  check_timeout(0s);
  check_timeout(-1s);
  check_timeout(steady_clock::time_point::min());
  check_timeout(system_clock::now() - 1h);
  CHECK(during.parks() + during.heavy_barriers() == 0);
}

TEST_CASE_TEMPLATE("a stop ends the wait, also a wait for all with some timelines reached", Kind, EVERY_PLATFORM) {
  typename Kind::fence first;
  const typename Kind::progress_fence second;
  manual_stop stop;
  waiter all{[&] { return Kind::all({{first, 1}, {second, 1}}, stop.get_token()); }};
  any_waiter any{[&] { return Kind::any({{first, 2}, {second, 1}}, 24h, stop.get_token()); }};
  CHECK(all.falls_asleep());
  CHECK(any.falls_asleep());
  first.signal(1);
  CHECK(all.falls_asleep());
  stop.request();
  CHECK(all.status() == wait_status::stopped);
  CHECK(any.result() == wait_any_result{wait_status::stopped, 2});
  CHECK(Kind::all({{second, 1}}, stop.get_token()) == wait_status::stopped);
  CHECK(Kind::all({{first, 1}}, stop.get_token()) == wait_status::reached);
  CHECK(is_idle(first));
  CHECK(is_idle(second));
}

#if defined(__cpp_lib_jthread)
TEST_CASE("a std::stop_token stops as well") {
  const tidemark::fence never;
  std::stop_source source;
  source.request_stop();
  CHECK(wait_any({{never, 1}, {never, 2}}, source.get_token()) == wait_any_result{wait_status::stopped, 2});
  CHECK(wait_all_for({{never, 1}, {never, 2}}, 24h, source.get_token()) == wait_status::stopped);
}
#endif

// ---- which and how many ---------------------------------------------------------------------------------------------

TEST_CASE("fences, progress fences and their views may be mixed") {
  tidemark::fence commands;
  tidemark::progress_fence engine;
  const tidemark::progress_fence_view progress = engine.view();
  const auto dog = watch(engine);
  background signaller{[&] {
    commands.signal(2);
    engine.signal(3);
  }};
  CHECK(wait_all({{commands, 2}, {progress, 3}, {engine, 1}}) == wait_status::reached);
  CHECK(wait_any({{commands, 3}, {progress, 3}}) == wait_any_result{wait_status::reached, 1});
}

TEST_CASE("timelines that park in another way, or need a barrier that the wait does not issue, do not compile") {
  using tidemark::basic_awaited;
  using tidemark::basic_progress_fence;
  using tidemark::native_platform;
  using tidemark::portable_platform;
  using tidemark::symmetric_platform;
  const auto may_wait = []<class Platform, class Other>() {
    return std::constructible_from<basic_awaited<Platform>, const basic_progress_fence<Other>&, std::uint64_t>;
  };
  CHECK(may_wait.operator()<native_platform, symmetric_platform>());
  CHECK(may_wait.operator()<symmetric_platform, native_platform>() == !native_platform::asymmetric);
  constexpr bool futexes = !std::same_as<native_platform::parking, portable_platform::parking>;
  CHECK(may_wait.operator()<native_platform, portable_platform>() == !futexes);
  CHECK(may_wait.operator()<portable_platform, portable_platform>());
}

TEST_CASE_TEMPLATE("[A32] a list may have more timelines than take part in one sleep", Kind, EVERY_PLATFORM) {
  constexpr std::size_t count = 131;
  std::deque<typename Kind::progress_fence> fences(count);
  typename Kind::list list;
  for (const auto& fence : fences) list.emplace_back(fence, 1);
  for (const std::size_t which : {std::size_t{0}, std::size_t{64}, count - 1}) {
    any_waiter any{[&] { return Kind::any(list); }};
    CHECK(any.falls_asleep());
    fences[which].signal(1);
    CHECK(any.result() == wait_any_result{wait_status::reached, which});
    list[which] = {fences[which], 2};
  }
  waiter all{[&] { return Kind::all(list); }};
  CHECK(all.falls_asleep());
  for (std::size_t i = count; i-- > 0;) fences[i].signal(2);
  CHECK(all.status() == wait_status::reached);
  for (const auto& fence : fences) CHECK(is_idle(fence));
}

TEST_CASE("[A65] however long the list is, the waiter sleeps once and is woken once") {
  using platform = counting_platform<tidemark::native_platform>;
  using counted_fence = tidemark::basic_progress_fence<platform, tidemark::fence_options{.max_spin_ns = 0}>;
  if (!platform::heavy_barrier_available()) return;  // it looks again by itself then
  // A woken waiter may have to wait for the signaller that is still on its way out of the last release.
  const auto at_most_one_more = [](std::uint64_t count) { return count == 1 || count == 2; };
  for (const std::size_t count : {std::size_t{1}, std::size_t{64}, std::size_t{65}, std::size_t{1000}}) {
    std::deque<counted_fence> fences(count);
    const auto dog = watch(fences[0]);
    std::vector<tidemark::basic_awaited<platform>> list;
    for (const auto& fence : fences) list.emplace_back(fence, 1);
    {
      const meter<platform> during;
      waiter all{[&] { return wait_all(list); }};
      CHECK(all.falls_asleep());
      for (auto& fence : fences) fence.signal(1);
      CHECK(all.status() == wait_status::reached);
      CHECK(at_most_one_more(during.parks()));
      CHECK(at_most_one_more(during.unparks()));
      CHECK(during.heavy_barriers() == (platform::asymmetric ? 1 : 0));
    }
    for (std::size_t i = 0; i < count; ++i) list[i] = {fences[i], 2};
    const meter<platform> during;
    any_waiter any{[&] { return wait_any(list); }};
    CHECK(any.falls_asleep());
    fences[count - 1].signal(2);
    CHECK(any.result() == wait_any_result{wait_status::reached, count - 1});
    CHECK(at_most_one_more(during.parks()));
    CHECK(at_most_one_more(during.unparks()));
    for (const auto& fence : fences) CHECK(is_idle(fence));
  }
}

TEST_CASE("a list may be an array, a vector, a span or braces") {
  const tidemark::fence first{7};
  const tidemark::progress_fence second{3};
  const std::vector<awaited> vector{{first, 7}, {second, 4}};
  const std::array<awaited, 2> array{awaited{first, 7}, awaited{second, 3}};
  const awaited plain[] = {{first, 8}, {second, 3}};
  std::vector<awaited> changing = vector;
  CHECK(wait_all_for(vector, 0s) == wait_status::timeout);
  CHECK(wait_any_for(vector, 0s) == wait_any_result{wait_status::reached, 0});
  CHECK(wait_all(array) == wait_status::reached);
  CHECK(wait_any(plain) == wait_any_result{wait_status::reached, 1});
  CHECK(wait_all(std::span{vector}.first(1)) == wait_status::reached);
  CHECK(wait_any(std::span{changing}) == wait_any_result{wait_status::reached, 0});
  CHECK(wait_any(std::vector<awaited>{{first, 8}, {second, 3}}) == wait_any_result{wait_status::reached, 1});
  CHECK(wait_any({{first, 8}, {second, 3}}) == wait_any_result{wait_status::reached, 1});
}

TEST_CASE_TEMPLATE("[A120] of more timelines than take part in one sleep, any lost one ends the wait", Kind,
                   EVERY_PLATFORM) {
  constexpr std::size_t count = 131;
  for (const std::size_t which : {std::size_t{0}, std::size_t{64}, count - 1}) {
    std::deque<typename Kind::progress_fence> fences(count);
    const auto dog = watch(fences[which]);
    typename Kind::list list;
    for (const auto& fence : fences) list.emplace_back(fence, 1);
    waiter all{[&] { return Kind::all(list); }};
    any_waiter any{[&] { return Kind::any(list); }};
    CHECK(all.falls_asleep());
    CHECK(any.falls_asleep());
    fences[which].poison();
    CHECK(all.status() == wait_status::lost);
    CHECK(any.result() == wait_any_result{wait_status::lost, which});
    for (const auto& fence : fences) CHECK(is_idle(fence));
  }
}

// ---- where the heavy barrier is refused -----------------------------------------------------------------------------

namespace {

/// The heavy barrier is available when the fences are constructed, and refused when it is needed.
struct refused_later : counting_platform<tidemark::native_platform> {
  using base = counting_platform<tidemark::native_platform>;
  static bool heavy_barrier() noexcept {
    base::full_barrier();
    return false;
  }
  static bool park(park_word& word, std::uint32_t expected, tidemark::deadline until) noexcept {
    if (until == tidemark::no_deadline) sleeps_for_ever = true;
    return base::park(word, expected, until);
  }
  static inline std::atomic<bool> sleeps_for_ever{false};
};

}  // namespace

TEST_CASE("[A31][A65] where the heavy barrier is refused later, a wait for several looks again by itself") {
  if (!refused_later::asymmetric) {
    MESSAGE("not tested: there is no heavy barrier here");
    return;
  }
  tidemark::basic_progress_fence<refused_later> first;
  tidemark::basic_progress_fence<refused_later> second;
  const std::vector<tidemark::basic_awaited<refused_later>> both{{first, 1}, {second, 1}};
  waiter all{[&] { return wait_all(both); }};
  any_waiter any{[&] { return wait_any(both); }};
  CHECK(all.falls_asleep());
  CHECK(any.falls_asleep());
  CHECK_FALSE(refused_later::sleeps_for_ever);
  first.signal(1);
  second.signal(1);
  CHECK(all.status() == wait_status::reached);
  CHECK(any.result() == wait_status::reached);
}

// ---- under load -----------------------------------------------------------------------------------------------------

TEST_CASE("[A30][trap 11] no wake-up is lost when three threads signal and two others wait, for all and for any") {
  constexpr std::uint64_t rounds = 3'000;
  std::array<tidemark::progress_fence, 3> work;
  std::array<tidemark::progress_fence, 2> taken;
  std::array<std::uint64_t, 3> data{};  // the signallers write it, and the wait for all reads it
  const auto dog = watch(taken[0]);
  std::vector<std::thread> threads;
  for (std::size_t which = 0; which < work.size(); ++which) {
    threads.emplace_back([&, which] {
      for (std::uint64_t round = 1; round <= rounds; ++round) {
        data[which] = round;
        work[which].signal(round);
        if (wait_all({{taken[0], round}, {taken[1], round}}) != wait_status::reached) return;
      }
    });
  }
  int wrong = 0;
  threads.emplace_back([&] {
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      if (wait_all({{work[0], round}, {work[1], round}, {work[2], round}}) != wait_status::reached) ++wrong;
      for (const std::uint64_t one : data) wrong += one == round ? 0 : 1;
      taken[0].signal(round);
    }
  });
  int misses = 0;
  threads.emplace_back([&] {
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      const wait_any_result first = wait_any({{work[0], round}, {work[1], round}, {work[2], round}});
      if (first.status != wait_status::reached || !work[first.index].is_reached(round)) ++misses;
      taken[1].signal(round);
    }
  });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(misses == 0);
  for (const auto& fence : work) CHECK(is_idle(fence));
}
