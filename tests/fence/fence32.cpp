// SPDX-License-Identifier: BSL-1.0
//
// 32-bit serials: signals and waits across the wrap, the window, and the 64-bit timeline inside.
#include "support/misuse_hook.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <tidemark/fence/fence32.hpp>
#include <tidemark/fence/timeline.hpp>
#include <tidemark/fence/wait_many.hpp>

#include "support/kinds.hpp"
#include "support/manual_stop.hpp"
#include "support/random.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::wait_status;

namespace {

constexpr std::uint32_t half = std::uint32_t{1} << 31;
constexpr std::uint32_t most_ahead = UINT32_MAX / 2;

template <class Kind>
using fence32_of = tidemark::basic_fence32<typename Kind::template fence<>>;

template <class Fence>
watchdog watch_serials(const Fence& fence) {
  return watchdog{[&fence] { return state_of(fence.view()); }};
}

static_assert(!tidemark::timeline<tidemark::fence32>, "its view is the timeline");
static_assert(tidemark::timeline<decltype(tidemark::fence32{}.view())>);
static_assert(!tidemark::signalled_timeline<decltype(tidemark::fence32{}.view())>);
static_assert(std::same_as<decltype(tidemark::fence32{}.signal(1)), bool>);
static_assert(std::same_as<decltype(tidemark::progress_fence32{}.signal(1)), void>);
static_assert(std::same_as<decltype(tidemark::fence32{}.current_value()), std::uint32_t>);

const std::string half_away = "a 32-bit serial is half of the range away: neither ahead nor behind";

}  // namespace

TEST_CASE_TEMPLATE("[A121] serials wrap around, and the value inside does not", Kind, EVERY_KIND) {
  fence32_of<Kind> fence{UINT32_MAX - 1};
  CHECK(fence.current_value() == UINT32_MAX - 1);
  CHECK(fence.signal_next() == UINT32_MAX);
  CHECK(fence.signal_next() == 0);
  CHECK(fence.signal_next() == 1);
  CHECK(fence.current_value() == 1);
  CHECK(fence.view().current_value() == (std::uint64_t{1} << 32) + 1);
  fence.signal(7);
  CHECK(fence.current_value() == 7);
  CHECK(fence.view().current_value() == (std::uint64_t{1} << 32) + 7);
}

TEST_CASE_TEMPLATE("[A121] before and after the wrap, serials behind are reached and serials ahead are not", Kind,
                   EVERY_KIND) {
  fence32_of<Kind> fence{UINT32_MAX - 1};
  CHECK(fence.is_reached(UINT32_MAX - 1));
  CHECK_FALSE(fence.is_reached(UINT32_MAX));
  CHECK_FALSE(fence.is_reached(0));
  CHECK_FALSE(fence.is_reached(5));
  CHECK(fence.wait_for(0, 0s) == wait_status::timeout);  // a serial like any other, unlike the target 0 of a fence
  fence.signal(5);
  CHECK(fence.is_reached(UINT32_MAX - 1));
  CHECK(fence.is_reached(UINT32_MAX));
  CHECK(fence.is_reached(0));
  CHECK(fence.is_reached(5));
  CHECK_FALSE(fence.is_reached(6));
  CHECK(fence.wait(UINT32_MAX) == wait_status::reached);
  CHECK(fence.wait(5) == wait_status::reached);
  CHECK(fence.wait_for(6, 0s) == wait_status::timeout);
  CHECK(fence.wait_until(6, std::chrono::steady_clock::now() - 1s) == wait_status::timeout);
  CHECK(fence.wait_until(6, std::chrono::system_clock::now() - 1s) == wait_status::timeout);
}

TEST_CASE_TEMPLATE("[A121] the window reaches UINT32_MAX / 2 ahead and as far behind", Kind, EVERY_KIND) {
  for (const std::uint32_t begin : {0U, 1U, 77U, most_ahead, half, half + 1, UINT32_MAX - 1, UINT32_MAX}) {
    CAPTURE(begin);
    // Two thirds of a wrap later, so that nothing of the window lies before the beginning.
    const std::uint32_t now = begin + 2 * (UINT32_MAX / 3);
    fence32_of<Kind> fence{begin};
    fence.signal(begin + UINT32_MAX / 3);
    fence.signal(now);
    const std::uint64_t value = fence.view().current_value();
    CHECK(value == std::uint64_t{begin} + 2 * (UINT32_MAX / 3));
    CHECK(fence.extended(now) == value);
    CHECK(fence.extended(now + 1) == value + 1);
    CHECK(fence.extended(now + most_ahead) == value + most_ahead);
    CHECK(fence.extended(now - 1) == value - 1);
    CHECK(fence.extended(now - most_ahead) == value - most_ahead);
    CHECK_FALSE(fence.is_reached(now + most_ahead));
    CHECK(fence.is_reached(now - most_ahead));
    fence.signal(now + most_ahead);  // the furthest jump
    CHECK(fence.current_value() == now + most_ahead);
    CHECK(fence.view().current_value() == value + most_ahead);
    CHECK(fence.is_reached(now));
  }
}

TEST_CASE("[A121] random jumps and looks inside the window agree with 64 bits") {
  random_numbers random(fresh_seed());
  tidemark::fence32 fence{most_ahead};  // so that no serial lies before the beginning
  std::uint64_t value = most_ahead;
  for (int i = 0; i < 20'000; ++i) {
    value += random.below(std::uint64_t{most_ahead} + 1);
    fence.signal(static_cast<std::uint32_t>(value));
    REQUIRE(fence.view().current_value() == value);
    const std::uint64_t target = value + random.below(std::uint64_t{most_ahead} + 1) - most_ahead / 2;
    const auto serial = static_cast<std::uint32_t>(target);
    REQUIRE(fence.extended(serial) == target);
    REQUIRE(fence.is_reached(serial) == (target <= value));
    REQUIRE((fence.wait_for(serial, 0s) == wait_status::reached) == (target <= value));
  }
}

TEST_CASE("[A121] many wraps are counted") {
  tidemark::progress_fence32 fence;
  for (std::uint64_t value = 0; value < (std::uint64_t{40} << 32); value += most_ahead) {
    fence.signal(static_cast<std::uint32_t>(value));
    REQUIRE(fence.view().current_value() == value);
  }
}

TEST_CASE("[A121] a serial from before the beginning is reached, and signalling it changes nothing") {
  tidemark::fence32 fence{3};
  CHECK(fence.extended(UINT32_MAX) == 0);
  CHECK(fence.extended(3 - most_ahead) == 0);
  CHECK(fence.is_reached(UINT32_MAX));
  CHECK(fence.wait(UINT32_MAX) == wait_status::reached);
  CHECK_FALSE(fence.signal(UINT32_MAX));
  CHECK(fence.current_value() == 3);
}

TEST_CASE("[A121] of several signallers the one furthest ahead wins, also across the wrap") {
  tidemark::fence32 fence{UINT32_MAX};
  CHECK(fence.signal(2));
  CHECK_FALSE(fence.signal(2));
  CHECK_FALSE(fence.signal(1));
  CHECK_FALSE(fence.signal(UINT32_MAX));
  CHECK_FALSE(fence.signal(UINT32_MAX - 7));
  CHECK(fence.current_value() == 2);
}

TEST_CASE_TEMPLATE("[A121] threads that sleep before the wrap are released after it, each by its serial", Kind,
                   EVERY_KIND) {
  fence32_of<Kind> fence{UINT32_MAX - 2};
  const auto dog = watch_serials(fence);
  manual_stop stop;
  waiter last{[&] { return fence.wait(UINT32_MAX); }};
  waiter first{[&] { return fence.wait_for(0, 24h); }};
  waiter second{[&] { return fence.wait(1, stop.get_token()); }};
  waiter never{[&] { return fence.wait_until(UINT32_MAX - 2 + most_ahead, tidemark::no_deadline, stop.get_token()); }};
  for (waiter* one : {&last, &first, &second, &never}) CHECK(one->falls_asleep());

  fence.signal(UINT32_MAX);
  CHECK(last.status() == wait_status::reached);
  CHECK_FALSE(first.has_returned());
  fence.signal(0);
  CHECK(first.status() == wait_status::reached);
  CHECK_FALSE(second.has_returned());
  fence.signal(9);
  CHECK(second.status() == wait_status::reached);
  CHECK_FALSE(never.has_returned());
  stop.request();
  CHECK(never.status() == wait_status::stopped);
}

TEST_CASE_TEMPLATE("[A121] a thread that sleeps is released however far the value jumps over its serial", Kind,
                   EVERY_KIND) {
  fence32_of<Kind> fence;
  const auto dog = watch_serials(fence);
  waiter waiting{[&] { return fence.wait(5); }};
  CHECK(waiting.falls_asleep());
  // A thread that looked at serials again would find 5 ahead once more.
  fence.signal(most_ahead);
  fence.signal(2 * most_ahead);
  CHECK(waiting.status() == wait_status::reached);
}

TEST_CASE("[A121] a serial is extended by one look, also while the value moves on") {
  tidemark::fence32 fence{UINT32_MAX - 50'000};
  const watchdog dog{[&] { return state_of(fence.view()); }};
  std::atomic<bool> is_over{false};
  std::thread signaller{[&] {
    for (int i = 0; i < 200'000; ++i) fence.signal_next();
    is_over = true;
  }};
  std::uint64_t wrong = 0;
  while (!is_over) {
    const std::uint64_t before = fence.view().current_value();
    const auto serial = static_cast<std::uint32_t>(before);
    // The same 64-bit value, although the current one is further on by now. It is reached.
    if (fence.extended(serial) != before) ++wrong;
    if (!fence.is_reached(serial)) ++wrong;
    if (fence.wait_for(serial, 0s) != wait_status::reached) ++wrong;
    if (fence.extended(serial + 300'000) != before + 300'000) ++wrong;
  }
  signaller.join();
  CHECK(wrong == 0);
}

TEST_CASE("[A121] several signallers and waiters pass the wrap together") {
  constexpr std::uint32_t begin = UINT32_MAX - 500;
  constexpr std::uint32_t count = 1000;
  for (int round = 0; round < 20; ++round) {
    tidemark::fence32 fence{begin};
    const auto dog = watch_serials(fence);
    std::atomic<std::uint32_t> next{1};
    std::atomic<std::uint32_t> done{0};
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        for (std::uint32_t step; (step = next++) <= count; ++done) {
          static_cast<void>(fence.signal(begin + step));
          if (!fence.is_reached(begin + step)) ++wrong;
        }
      });
    }
    for (std::uint32_t stride : {1U, 7U, 250U}) {
      threads.emplace_back([&, stride] {
        for (std::uint32_t step = stride; step <= count; step += stride) {
          if (fence.wait(begin + step) != wait_status::reached) ++wrong;
          const std::uint32_t seen = fence.current_value();
          if (seen - (begin + step) > count) ++wrong;  // behind
        }
      });
    }
    for (auto& thread : threads) thread.join();
    CHECK(done == count);
    CHECK(wrong == 0);
    CHECK(fence.current_value() == begin + count);
  }
}

TEST_CASE("[A121] what was done before a serial was signalled is visible to a thread that waited for it") {
  std::array<std::uint32_t, 64> rows{};  // not atomic: only the timeline synchronizes them
  tidemark::progress_fence32 decoded{UINT32_MAX - 20};
  const auto dog = watch_serials(decoded);
  std::thread decoder{[&] {
    for (std::uint32_t& row : rows) {
      row = 7;
      decoded.signal_next();
    }
  }};
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    CHECK(decoded.wait(UINT32_MAX - 20 + i + 1) == wait_status::reached);
    sum += rows[i];
  }
  decoder.join();
  CHECK(sum == 7 * rows.size());
}

TEST_CASE("[A121] the view is awaited together with other timelines") {
  tidemark::fence32 copied{UINT32_MAX};
  tidemark::fence drawn;
  copied.signal(3);
  CHECK(tidemark::wait_any_for({{drawn, 1}, {copied.view(), copied.extended(2)}}, 0s) ==
        tidemark::wait_any_result{wait_status::reached, 1});
  CHECK(tidemark::wait_all_for({{drawn, 1}, {copied.view(), copied.extended(2)}}, 0s) == wait_status::timeout);
}

TEST_CASE_TEMPLATE("[A120] a poisoned timeline of serials ends all waits, and keeps apart what was reached", Kind,
                   EVERY_KIND) {
  fence32_of<Kind> fence{UINT32_MAX - 1};
  const auto dog = watch_serials(fence);
  fence.signal(3);
  waiter waiting{[&] { return fence.wait(4); }};
  CHECK(waiting.falls_asleep());
  fence.poison();
  CHECK(waiting.status() == wait_status::lost);
  CHECK(fence.is_poisoned());
  CHECK(fence.current_value() == UINT32_MAX);
  CHECK(fence.is_reached(4));
  CHECK(fence.is_reached(most_ahead));
  CHECK(fence.wait(3) == wait_status::reached);
  CHECK(fence.wait(UINT32_MAX) == wait_status::reached);
  CHECK(fence.wait(4) == wait_status::lost);
  CHECK(fence.wait_for(most_ahead, 24h) == wait_status::lost);
}

TEST_CASE("[A121] a serial that is half of the range away is reported") {
  CHECK(reported_by([] { static_cast<void>(tidemark::fence32{}.wait(half)); }) == half_away);
  CHECK(reported_by([] { static_cast<void>(tidemark::fence32{}.is_reached(half)); }) == half_away);
  CHECK(reported_by([] { static_cast<void>(tidemark::fence32{7}.extended(half + 7)); }) == half_away);
  CHECK(reported_by([] { tidemark::fence32{}.signal(half); }) == half_away);
  CHECK(reported_by([] { tidemark::progress_fence32{UINT32_MAX}.signal(most_ahead); }) == half_away);
  CHECK(reported_by([] { tidemark::progress_fence32{UINT32_MAX}.signal(most_ahead - 1); }).empty());
}

TEST_CASE("[A121] a jump beyond the window looks like a step back, which a progress fence reports") {
  CHECK(reported_by([] { tidemark::progress_fence32{7}.signal(half + 8); }) ==
        "a progress fence was signalled backwards");
  CHECK(reported_by([] { tidemark::progress_fence32{UINT32_MAX}.signal(UINT32_MAX - 1); }) ==
        "a progress fence was signalled backwards");
  CHECK(reported_by([] { tidemark::fence32{7}.signal(half + 8); }).empty());
}
