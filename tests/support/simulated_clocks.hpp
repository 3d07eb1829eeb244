// SPDX-License-Identifier: BSL-1.0
//
// A counter and a steady clock whose time goes on only where a test says so, to the tick. On real clocks the errors
// of counter_clock would be lost in the time that it takes to read them.
#ifndef TIDEMARK_TESTS_SUPPORT_SIMULATED_CLOCKS_HPP
#define TIDEMARK_TESTS_SUPPORT_SIMULATED_CLOCKS_HPP

#include <algorithm>
#include <cstdint>
#include <functional>

#include <tidemark/log/fence_log.hpp>

namespace testing {

/// The counter has 2.5 ticks for each nanosecond of a steady clock that is not corrected. For one thread.
class simulated_clocks {
 public:
  static constexpr std::uint64_t ticks_per_2_ns = 5;

  std::uint64_t counter_cost = 25;      ///< ticks
  std::uint64_t steady_cost = 60;       ///< ticks
  std::uint64_t counter_offset = 0;     ///< is subtracted from the counter; a jump changes it
  bool has_one_speed = true;            ///< what the processor says
  std::uint64_t counter_reads = 0;      ///< so far
  std::function<void()> after_reading;  ///< what happens to the thread right after it has read a clock

  std::uint64_t counter() {
    ++counter_reads;
    return read(counter_cost, [this] { return ticks_ - counter_offset; });
  }
  std::uint64_t nanoseconds() {
    return read(steady_cost, [this] { return exact(); });
  }

  void pass(std::uint64_t nanoseconds) { ticks_ += nanoseconds * ticks_per_2_ns / 2; }

  /// Makes the steady clock faster by this from now on.
  void correct_speed(std::int64_t parts_per_million) {
    since_nanoseconds_ = exact();
    since_ticks_ = ticks_;
    parts_ = static_cast<std::uint64_t>(1'000'000 + parts_per_million);
  }

  /// Returns the steady clock's time at this moment. This reading takes no time.
  std::uint64_t exact() const {
    return since_nanoseconds_ + (ticks_ - since_ticks_) * parts_ / (ticks_per_2_ns * 500'000);
  }

 private:
  template <class Clock>
  std::uint64_t read(std::uint64_t cost, const Clock& clock) {
    ticks_ += cost / 2;
    const std::uint64_t found = clock();
    ticks_ += cost - cost / 2;
    if (after_reading) after_reading();
    return found;
  }

  std::uint64_t ticks_ = 10'000'000'000;
  std::uint64_t since_ticks_ = 0;
  std::uint64_t since_nanoseconds_ = 1'000;
  std::uint64_t parts_ = 1'000'000;
};

struct simulated_source {
  simulated_clocks* clocks = nullptr;

  std::uint64_t counter() const { return clocks->counter(); }
  std::uint64_t nanoseconds() const { return clocks->nanoseconds(); }
  bool has_one_speed() const { return clocks->has_one_speed; }
};

/// Reads a clock and judges the readings: whether one is smaller than the previous one, and how far each is from
/// all that the steady clock showed during the reading. So a thread that is stopped during a reading is no error of the
/// clock.
template <class Steady>
class judge {
 public:
  explicit judge(Steady steady) : steady_{steady} {}

  template <class Clock>
  std::uint64_t read(const Clock& clock) {
    const std::uint64_t before = steady_();
    const std::uint64_t found = clock();
    const std::uint64_t after = steady_();
    const std::uint64_t behind = before > found ? before - found : 0;
    const std::uint64_t ahead = found > after ? found - after : 0;
    farthest_ = std::max({farthest_, behind, ahead});
    if (found < last_) ++backward_;
    last_ = found;
    ++readings_;
    return found;
  }

  std::uint64_t farthest() const { return farthest_; }
  std::uint64_t backward() const { return backward_; }
  std::uint64_t readings() const { return readings_; }
  void forget_farthest() { farthest_ = 0; }

 private:
  Steady steady_;
  std::uint64_t last_ = 0;
  std::uint64_t farthest_ = 0;
  std::uint64_t backward_ = 0;
  std::uint64_t readings_ = 0;
};

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_SIMULATED_CLOCKS_HPP
