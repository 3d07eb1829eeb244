// SPDX-License-Identifier: BSL-1.0
//
// clock_correlation: how the clock of an executor relates to the steady clock: offset and rate, as they were measured,
// and how exact that is.
//
//   clock_correlation device;
//   device.measure<device_clock>();          when the program starts, now and then, and when it ends
//   trace.set_clock(queue_id{1}, device);    the trace brings the queue's times to the time line of the steady clock
//
// A reading is the executor's time between two times of the steady clock. So the steady time that belongs to it is
// known to half of their distance. Between two readings the correlation draws a straight line; before the first and
// behind the last one it goes on with the mean rate of all. With one reading it knows no rate, and takes the executor's
// clock for as fast as the steady clock.
//
// The error that it states is the sum of
//
//   the error of the readings     half of the distance of the two steady times, of both readings between which a time
//                                 lies; farther out, the error that they make in the mean rate
//   what the rate may change      `wander_ppm` of the time to the nearest reading
//   what is not known of it       with one reading: `rate_ppm` of the time to it
//
// The executor's times are nanoseconds of its own clock. A clock with other ticks turns them into these first
// (log_clock.hpp), at its nominal rate.
//
// Invariant: the readings rise in both clocks.
#ifndef TIDEMARK_LOG_CLOCK_CORRELATION_HPP
#define TIDEMARK_LOG_CLOCK_CORRELATION_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "../platform/assert.hpp"
#include "log_clock.hpp"

namespace tidemark {

/// A reading of an executor's clock, and what the steady clock showed before and after it. All are nanoseconds.
struct correlated_reading {
  std::uint64_t before = 0;  ///< Of the steady clock.
  std::uint64_t time = 0;    ///< Of the executor's clock.
  std::uint64_t after = 0;   ///< Of the steady clock.

  friend bool operator==(const correlated_reading&, const correlated_reading&) = default;
};

/// What the owner knows of an executor's clock, in parts per million. Quartz clocks are within 100 and wander by less
/// than 1.
struct clock_bounds {
  double rate_ppm = 100;  ///< How far its rate may be from that of the steady clock. Counts with one reading alone.
  double wander_ppm = 1;  ///< How far its rate may at any time be from its mean between two readings.
};

/// A time of the steady clock, and how far it may be from the true one. Both are nanoseconds.
struct correlated_time {
  std::uint64_t nanoseconds = 0;
  std::uint64_t error = 0;

  friend bool operator==(const correlated_time&, const correlated_time&) = default;
};

/// See the head of this file. One thread at a time may use it. Functions that add readings allocate, and throw what the
/// allocation throws; then nothing is added.
class clock_correlation {
 public:
  clock_correlation() = default;
  /// Asserts that no bound is less than 0. Otherwise errors may be the greatest one, or too small.
  explicit clock_correlation(const clock_bounds& bounds) noexcept : bounds_{bounds} {
    TIDEMARK_ASSERT(bounds.rate_ppm >= 0 && bounds.wander_ppm >= 0, "the bounds of a clock are 0 or more");
  }

  /// Reads both clocks so many times, and adds the reading whose steady times are closest together. Returns what add()
  /// returns. Progress: as that of both clocks.
  /// \tparam Clock  the executor's
  /// \param  tries  0 counts as 1
  template <log_clock Clock>
  bool measure(unsigned tries = 16) {
    correlated_reading best;
    for (unsigned i = 0; i < (std::max)(tries, 1U); ++i) {
      correlated_reading next;
      next.before = steady_log_clock::now();
      next.time = Clock::to_nanoseconds(Clock::now());
      next.after = steady_log_clock::now();
      if (i == 0 || next.after - next.before < best.after - best.before) best = next;
    }
    return add(best);
  }

  /// Adds a reading that the program has made in another way. Returns true; false, and adds nothing, if its steady
  /// times fall, or if it is not later than the last reading on both clocks.
  bool add(const correlated_reading& next) {
    if (next.after < next.before) return false;
    if (!readings_.empty()) {
      const correlated_reading& last = readings_.back();
      if (next.time <= last.time || middle(next) <= middle(last)) return false;
    }
    readings_.push_back(next);
    return true;
  }

  /// Returns the steady time of an executor's time. Without a reading that is the same time, with the greatest error. 0
  /// stays 0, which is no time, and no other time becomes 0. What would be before or behind all times of the steady
  /// clock becomes its first or its last one. O(log n) in the number of readings.
  [[nodiscard]] correlated_time to_steady(std::uint64_t time) const {
    if (time == 0) return {0, 0};
    if (readings_.empty()) return {time, UINT64_MAX};
    const auto next = std::lower_bound(readings_.begin(), readings_.end(), time,
                                       [](const correlated_reading& one, std::uint64_t at) { return one.time < at; });
    if (next == readings_.begin()) return from(readings_.front(), time);
    if (next == readings_.end()) return from(readings_.back(), time);
    return between(*std::prev(next), *next, time);
  }

  /// Returns how many nanoseconds of the steady clock pass in one of the executor's, between the first and the last
  /// reading; 1 if there are not two. A clock that is 1,000 ppm fast has a rate of about 0.999.
  [[nodiscard]] double rate() const noexcept {
    return readings_.size() < 2 ? 1.0 : slope(readings_.front(), readings_.back());
  }

  /// Returns by how much the steady clock was ahead of the executor's at the last reading, in nanoseconds, modulo 2^64;
  /// 0 without one.
  [[nodiscard]] std::int64_t offset() const noexcept {
    return readings_.empty() ? 0 : static_cast<std::int64_t>(middle(readings_.back()) - readings_.back().time);
  }

  /// Returns the readings, in the order of time. The reference is valid as long as the object.
  [[nodiscard]] const std::vector<correlated_reading>& readings() const noexcept { return readings_; }
  [[nodiscard]] const clock_bounds& bounds() const noexcept { return bounds_; }

 private:
  static constexpr double millionth = 1e-6;

  static std::uint64_t middle(const correlated_reading& of) noexcept { return of.before + (of.after - of.before) / 2; }
  static double half_width(const correlated_reading& of) noexcept {
    return static_cast<double>(of.after - of.before) / 2;
  }
  static double slope(const correlated_reading& first, const correlated_reading& last) noexcept {
    return static_cast<double>(middle(last) - middle(first)) / static_cast<double>(last.time - first.time);
  }

  /// Makes the result of a time that is `distance` nanoseconds of the steady clock behind a reading, or before it.
  static correlated_time made_of(const correlated_reading& nearest, double distance, double error) noexcept {
    const double length = distance < 0 ? -distance : distance;
    if (!(length < 9e18)) return {distance < 0 ? 1 : UINT64_MAX, UINT64_MAX};
    const auto moved = static_cast<std::uint64_t>(length);
    const std::uint64_t from = middle(nearest);
    const std::uint64_t exact = distance < 0 ? from - (std::min)(moved, from) : from + (std::min)(moved, ~from);
    // One for the middle of a reading, and one for the result: both are rounded down.
    const bool is_known = error >= 0 && error < 1e18;
    return {(std::max)(exact, std::uint64_t{1}), is_known ? static_cast<std::uint64_t>(error) + 2 : UINT64_MAX};
  }

  correlated_time between(const correlated_reading& left, const correlated_reading& right,
                          std::uint64_t time) const noexcept {
    const auto since = static_cast<double>(time - left.time);
    const auto until = static_cast<double>(right.time - time);
    const double share = since / (since + until);
    const double error = half_width(left) * (1 - share) + half_width(right) * share;
    return made_of(left, since * slope(left, right), error + bounds_.wander_ppm * millionth * (std::min)(since, until));
  }

  /// The same for a time that lies outside of all readings, of which `nearest` is the nearest one.
  correlated_time from(const correlated_reading& nearest, std::uint64_t time) const noexcept {
    const double distance =
        time < nearest.time ? -static_cast<double>(nearest.time - time) : static_cast<double>(time - nearest.time);
    const double length = distance < 0 ? -distance : distance;
    double error = bounds_.rate_ppm * millionth;
    if (readings_.size() > 1) {
      const correlated_reading& first = readings_.front();
      const correlated_reading& last = readings_.back();
      error = bounds_.wander_ppm * millionth +
              (half_width(first) + half_width(last)) / static_cast<double>(last.time - first.time);
    }
    return made_of(nearest, distance * rate(), half_width(nearest) + error * length);
  }

  std::vector<correlated_reading> readings_;
  clock_bounds bounds_;
};

}  // namespace tidemark

#endif  // TIDEMARK_LOG_CLOCK_CORRELATION_HPP
