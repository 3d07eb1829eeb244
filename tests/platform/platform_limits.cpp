// SPDX-License-Identifier: BSL-1.0
//
// The limits of a wait: how durations and time points of any type become a deadline, and what a wait until a point of
// the system clock does when that clock does not keep pace with the steady clock. No test here sleeps or depends on
// its speed.
#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>
#include <utility>
#include <vector>

#include <tidemark/fence/fence.hpp>
#include <tidemark/platform/portable_platform.hpp>

#include "support/threads.hpp"

using namespace testing;
using namespace std::chrono_literals;
using std::chrono::duration;
using std::chrono::steady_clock;
using std::chrono::system_clock;
using std::chrono::time_point;
using tidemark::deadline;
using tidemark::no_deadline;
using tidemark::wait_status;
using tidemark::detail::at_once;
using tidemark::detail::deadline_after;
using tidemark::detail::deadline_at;

namespace {

template <class T>
constexpr T infinity = std::numeric_limits<T>::infinity();
template <class T>
constexpr T not_a_number = std::numeric_limits<T>::quiet_NaN();

template <class Rep>
using system_seconds = time_point<system_clock, duration<Rep>>;
template <class Rep>
using steady_seconds = time_point<steady_clock, duration<Rep>>;

/// A point of the steady clock.
constexpr deadline now{1'234'567'890'123'456ns};

/// Answers each wait with the next outcome of a list, and notes its deadline. Behind the end of the list it answers
/// `lost`, so that a loop that does not end is noticed.
class scripted_waits {
 public:
  explicit scripted_waits(std::vector<wait_status> answers) : answers_{std::move(answers)} {}

  template <class Limit>
  wait_status until(const Limit& limit) {
    return tidemark::detail::within<tidemark::native_platform>(
        [this](deadline given, auto) {
          deadlines_.push_back(given);
          return deadlines_.size() <= answers_.size() ? answers_[deadlines_.size() - 1] : wait_status::lost;
        },
        limit);
  }

  const std::vector<deadline>& deadlines() const { return deadlines_; }

 private:
  std::vector<wait_status> answers_;
  std::vector<deadline> deadlines_;
};

template <class Rep, class Period>
void check_lasts_for_ever(const duration<Rep, Period>& timeout) {
  CHECK(deadline_after(timeout, now) == no_deadline);
  CHECK(deadline_at(time_point<steady_clock, duration<Rep, Period>>{timeout}) == no_deadline);
  scripted_waits waits{{wait_status::reached}};
  CHECK(waits.until(time_point<system_clock, duration<Rep, Period>>{timeout}) == wait_status::reached);
  REQUIRE(waits.deadlines().size() == 1);
  CHECK(waits.deadlines()[0] == no_deadline);
}

template <class Rep, class Period>
void check_looks_once(const duration<Rep, Period>& timeout) {
  CHECK(deadline_after(timeout, now) == at_once);
  CHECK(deadline_at(time_point<steady_clock, duration<Rep, Period>>{timeout}) == at_once);
  for (const auto answer : {wait_status::timeout, wait_status::reached}) {
    scripted_waits waits{{answer}};
    CHECK(waits.until(time_point<system_clock, duration<Rep, Period>>{timeout}) == answer);
    REQUIRE(waits.deadlines().size() == 1);
    CHECK(waits.deadlines()[0] == at_once);
  }
}

}  // namespace

TEST_CASE("with a time that is not a number, or not positive, a wait looks once, on either clock and as a duration") {
  check_looks_once(duration<float>{not_a_number<float>});
  check_looks_once(duration<double>{not_a_number<double>});
  check_looks_once(duration<long double, std::nano>{-not_a_number<long double>});
  check_looks_once(duration<double, std::exa>{-infinity<double>});
  check_looks_once(duration<double>{-1e300});
  check_looks_once(duration<double, std::pico>{-0.0});
  check_looks_once(std::chrono::hours::min());
  check_looks_once(std::chrono::nanoseconds::min());
  check_looks_once(duration<std::int8_t, std::exa>{-1});
  check_looks_once(duration<std::uint64_t>{0});
}

TEST_CASE("a time that the clock can't express never passes, on either clock and as a duration") {
  check_lasts_for_ever(duration<float>{infinity<float>});
  check_lasts_for_ever(duration<double>{infinity<double>});
  check_lasts_for_ever(duration<double>{1e300});
  check_lasts_for_ever(duration<float, std::exa>{1.0F});
  check_lasts_for_ever(duration<long double, std::nano>{9.3e18L});
  check_lasts_for_ever(duration<std::uint64_t>{UINT64_MAX});
  check_lasts_for_ever(duration<std::uint64_t, std::nano>{UINT64_MAX});
  check_lasts_for_ever(duration<std::int64_t, std::ratio<INTMAX_MAX>>{INT64_MAX});
  check_lasts_for_ever(duration<int, std::exa>{1});
  check_lasts_for_ever(std::chrono::hours::max());
  check_lasts_for_ever(std::chrono::nanoseconds::max());
}

TEST_CASE("a duration of any type becomes ticks of the clock, rounded up and never short") {
  const auto ticks = [](auto timeout) { return deadline_after(timeout, now) - now; };
  CHECK(ticks(1ns) == 1ns);
  CHECK(ticks(duration<std::uint8_t, std::milli>{255}) == 255ms);
  CHECK(ticks(duration<std::uint64_t, std::nano>{5}) == 5ns);
  CHECK(ticks(duration<std::int64_t, std::pico>{1}) == 1ns);
  CHECK(ticks(duration<std::int64_t, std::pico>{INT64_MAX}) == 9'223'372'036'854'776ns);
  CHECK(ticks(duration<std::int64_t, std::atto>{INT64_MAX}) == 9'223'372'037ns);
  CHECK(ticks(duration<double, std::nano>{5.0}) == 5ns);
  CHECK(ticks(duration<double, std::exa>{1e-18}) >= 999'999'999ns);
  // Units that are not a whole number of ticks. The products are greater than any integer of 64 bits.
  CHECK(ticks(duration<int, std::ratio<1, 300>>{1}) == 3'333'334ns);
  CHECK(ticks(duration<int, std::ratio<1, INTMAX_MAX>>{1}) == 1ns);
  CHECK(ticks(duration<std::int64_t, std::ratio<1, INTMAX_MAX>>{INT64_MAX}) >= 1s);
  CHECK(ticks(duration<std::int64_t, std::ratio<1, INTMAX_MAX>>{INT64_MAX}) <= 1s + 1ns);
  constexpr auto two_hundred_years = std::chrono::hours{200 * 8766};
  const auto in_thirds = ticks(duration<std::int64_t, std::ratio<1, 3>>{std::chrono::seconds{two_hundred_years}});
  CHECK(in_thirds >= two_hundred_years);
  CHECK(in_thirds <= two_hundred_years + 2us);
  CHECK(ticks(std::chrono::nanoseconds{two_hundred_years}) == two_hundred_years);
}

#if defined(__SIZEOF_INT128__)
TEST_CASE("a duration may be counted in 128 bits") {
  __extension__ using wide = __int128;
  constexpr wide great = wide{INT64_MAX} * INT64_MAX;
  CHECK(deadline_after(duration<wide, std::nano>{great}, now) == no_deadline);
  CHECK(deadline_after(duration<wide, std::nano>{-great}, now) == at_once);
  CHECK(deadline_after(duration<wide, std::atto>{wide{1'000'000'001} * 1'000'000'000}, now) ==
        now + 2s - 999'999'999ns);
  CHECK(deadline_at(time_point<steady_clock, duration<wide, std::milli>>{duration<wide, std::milli>{7}}) ==
        deadline{7ms});
}
#endif

TEST_CASE("the moments of an interval are its whole multiples, and the next one is never the present one") {
  using tidemark::detail::next_moment;
  CHECK(next_moment(deadline{100ms}, 50ms) == deadline{150ms});
  CHECK(next_moment(deadline{100ms + 1ns}, 50ms) == deadline{150ms});
  CHECK(next_moment(deadline{150ms - 1ns}, 50ms) == deadline{150ms});
  CHECK(next_moment(deadline{}, 50ms) == deadline{50ms});
  CHECK(next_moment(now, 1ns) == now + 1ns);
}

TEST_CASE("points of the steady clock keep every tick, also far from its start") {
  for (const auto at : {deadline{1ns}, now, deadline{duration<std::int64_t>{9'000'000'000}} + 1ns, no_deadline - 2s})
    CHECK(deadline_at(at) == at);
  CHECK(deadline_at(deadline{}) == at_once);
  CHECK(deadline_at(deadline{-1ns}) == at_once);
  CHECK(deadline_at(deadline::min()) == at_once);
  CHECK(deadline_at(no_deadline) == no_deadline);
  CHECK(deadline_at(steady_seconds<double>{duration<double>{1.5}}) == deadline{1500ms});
  CHECK(deadline_at(steady_seconds<float>{duration<float>{0.5F}}) == deadline{500ms});
}

// ---- the system clock ----------------------------------------------------------------------------------------------

TEST_CASE("a wait until a point of the system clock goes on if it timed out before that clock has reached the point") {
  // As if the clock had been set back each time. The point is an hour ahead, so that the clock can't reach it
  // meanwhile.
  const auto check = [](const auto& at) {
    for (const auto last : {wait_status::reached, wait_status::stopped, wait_status::lost}) {
      scripted_waits waits{{wait_status::timeout, wait_status::timeout, wait_status::timeout, last}};
      const auto start = tidemark::native_platform::now();
      CHECK(waits.until(at) == last);
      CHECK(waits.deadlines().size() == 4);
      for (const auto given : waits.deadlines()) CHECK(given > start);
    }
  };
  const auto in_an_hour = system_clock::now() + 1h;
  check(in_an_hour);
  check(std::chrono::time_point_cast<std::chrono::hours>(in_an_hour + 1h));
  check(std::chrono::time_point_cast<duration<double>>(in_an_hour));
  check(std::chrono::time_point_cast<duration<std::uint64_t, std::micro>>(in_an_hour));
}

TEST_CASE("a wait until a point of the system clock that has passed looks once") {
  const auto check = [](const auto& at) {
    scripted_waits waits{{wait_status::timeout}};
    CHECK(waits.until(at) == wait_status::timeout);
    CHECK(waits.deadlines() == std::vector{at_once});
  };
  const auto before = system_clock::now();
  check(before);
  check(before - 1h);
  check(system_clock::time_point{} + 1ns);
  check(std::chrono::time_point_cast<duration<double>>(before - 1ms));
  check(std::chrono::time_point_cast<duration<std::uint64_t, std::micro>>(before - 1h));
  check(system_seconds<std::uint32_t>{duration<std::uint32_t>{1}});
}

namespace {

/// A steady clock that runs ahead: each sleep reaches its deadline at once, and the signal ends the last one.
struct fast_platform : tidemark::portable_platform {
  static deadline now() noexcept { return at; }
  static bool park(park_word&, std::uint32_t, deadline until) noexcept {
    if (--sleeps == 0) {
      value->signal(1);
      return true;
    }
    at = until;
    return false;
  }

  static inline deadline at{1h};
  static inline int sleeps = 0;
  static inline tidemark::basic_fence<fast_platform>* value = nullptr;
};

}  // namespace

TYPE_TO_STRING_AS("steady clock", steady_clock);
TYPE_TO_STRING_AS("system clock", system_clock);

TEST_CASE("a wait for a fence lasts until the system clock has reached the point, however fast the steady clock runs") {
  tidemark::basic_fence<fast_platform> fence;
  fast_platform::value = &fence;
  fast_platform::sleeps = 4;
  CHECK(fence.wait_until(1, system_clock::now() + 1h) == wait_status::reached);
  CHECK(fast_platform::sleeps == 0);
  CHECK(fast_platform::now() >= deadline{3h});
}

TEST_CASE_TEMPLATE("a wait_until that is not a number ends at once, on either clock", Clock, steady_clock,
                   system_clock) {
  const tidemark::fence fence;
  CHECK(fence.wait_until(1, time_point<Clock, duration<double>>{duration<double>{not_a_number<double>}}) ==
        wait_status::timeout);
  CHECK(fence.wait_until(0, time_point<Clock, duration<double>>{duration<double>{not_a_number<double>}}) ==
        wait_status::reached);
  CHECK(fence.wait_until(1, time_point<Clock, duration<float>>{duration<float>{-infinity<float>}}) ==
        wait_status::timeout);
}
