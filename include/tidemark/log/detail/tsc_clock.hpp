// SPDX-License-Identifier: BSL-1.0
//
// A clock that reads a processor's counter and stays on the time line of the steady clock.
//
// The line consists of pieces. A piece maps the counter values [counter, counter + length) to nanoseconds:
//
//   nanoseconds + ((value - counter) * slope >> 32)
//
// A caller that finds the counter past the end of the piece reads both clocks, makes the next piece and publishes it.
// So no thread is needed, and after seconds without a call the first reading is as good as any other.
//
//   current_   one word: the number of changes, whether the steady clock is used for ever, the slot of the piece
//   pieces_    the slots, 8 words each; a thread that makes a piece owns the slot that it writes
//   taken_     one word for each slot: 1 while its piece is the current one or is being made
//
// Invariant: the end of a piece is fixed when it is made, and the next piece begins there or later (in nanoseconds). So
// a reading that happens-after another one is not smaller: it uses the same piece, whose slope is not negative, or a
// later piece. A piece that begins ahead of the steady clock runs slower, so that the two meet at its end. A piece that
// begins behind it steps forward at once.
//
// Distance to the steady clock, in nanoseconds, with the limits below:
//
//   256   a reading of both clocks: the counter is read between two readings of the steady clock, at most 512 apart
//    64   the speed: measured over 8 ms between two such readings, used for 1 ms
//   500   the steady clock's speed changes by 500 ppm, the most that NTP does, just after a piece has begun
//   820   together; while the speed is still measured (8 ms from the first call on) 768
//
// A counter that jumps (the machine was suspended or moved) shows up as a wrong speed or as a step back. Then the clock
// begins anew. It may be wrong until the end of the piece, for 1 ms at most, and stands still where it was ahead. Only
// a counter that steps back by less than a piece and `most_skew` may take the clock back with it. While the speed is
// still measured, a jump may be taken for another speed. Then the clock may be wrong for up to 256 million ticks, the
// longest piece that can be made with that speed.
//
// In three cases the clock becomes the steady clock for ever: the counter does not run at one speed; the two clocks
// can't be read within 512 ns (the counter traps, or the steady clock is a system call); or no slot becomes free (the
// owners of all slots were stopped while they made a piece, for longer than `patience` turns). So a signal handler
// never waits for the thread that it interrupts in here: it takes another slot, or the steady clock.
//
// Not promised: order between threads where the counter is read out of order, see tsc_source; more than lock-freedom,
// since a thread must begin again where another one was quicker.
#ifndef TIDEMARK_LOG_DETAIL_TSC_CLOCK_HPP
#define TIDEMARK_LOG_DETAIL_TSC_CLOCK_HPP

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "../../platform/platform.hpp"
#include "../../platform/tools/log_word.hpp"

namespace tidemark::detail {

/// std::chrono::steady_clock in nanoseconds.
inline std::uint64_t steady_nanoseconds() noexcept {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

// ---- the arithmetic -------------------------------------------------------------------------------------------------

/// In nanoseconds, where nothing else is said.
struct counter_clock_limits {
  static constexpr std::uint64_t longest_piece = 1'000'000;
  static constexpr std::uint64_t shortest_baseline = 16'000;  ///< no speed is measured over less
  static constexpr std::uint64_t long_baseline = 8'000'000;   ///< over which the speed is measured in the long run
  static constexpr std::uint64_t widest_bracket = 512;
  static constexpr std::uint64_t most_skew = 1 << 16;  ///< ticks by which the counters of two processors may differ
  static constexpr unsigned tries = 16;                ///< readings of both clocks
  static constexpr std::size_t slot_count = 8;         ///< pieces
  static constexpr unsigned patience = 1024;           ///< turns
};

/// Both clocks at one moment.
struct clock_reading {
  std::uint64_t counter;
  std::uint64_t nanoseconds;
};

/// A piece of the line, and what the next one is made from.
struct clock_piece {
  std::uint64_t counter = 0;
  std::uint64_t nanoseconds = 0;
  std::uint64_t slope = 0;    ///< nanoseconds per tick, times 2^32; below `rate` where the piece began ahead
  std::uint64_t length = 0;   ///< ticks; 0: every call reads both clocks, since the speed is not known yet
  clock_reading anchor{};     ///< the speed is measured from here on
  std::uint64_t rate = 0;     ///< the speed: the steady clock's nanoseconds per tick, times 2^32
  std::uint64_t settled = 0;  ///< 1 once `rate` was measured over the long baseline

  /// The greatest reading of this piece.
  constexpr std::uint64_t end() const noexcept { return nanoseconds + (length * slope >> 32); }
};

/// Returns nanoseconds per tick, times 2^32, rounded down; 0 where no counter has that speed (4 MHz to 256 GHz).
constexpr std::uint64_t rate_between(const clock_reading& from, const clock_reading& to) noexcept {
  std::uint64_t ticks = to.counter - from.counter;
  std::uint64_t nanoseconds = to.nanoseconds - from.nanoseconds;
  const int surplus = static_cast<int>(std::bit_width(ticks | nanoseconds)) - 31;
  if (surplus > 0) {
    ticks >>= surplus;
    nanoseconds >>= surplus;
  }
  if (ticks == 0) return 0;
  const std::uint64_t rate = (nanoseconds << 32) / ticks;
  return rate >= std::uint64_t{1} << 24 && rate <= std::uint64_t{1} << 40 ? rate : 0;
}

/// Sets what the next piece knows of the speed.
template <class Limits>
constexpr void measure_rate(clock_piece& next, const clock_piece& last, const clock_reading& now) noexcept {
  const std::uint64_t baseline = now.nanoseconds - last.anchor.nanoseconds;
  next.anchor = last.anchor;
  if (last.settled == 0 && baseline < Limits::shortest_baseline) return;
  const std::uint64_t measured = rate_between(last.anchor, now);
  const std::uint64_t difference = measured > last.rate ? measured - last.rate : last.rate - measured;
  if (measured == 0 || (last.settled != 0 && difference > last.rate >> 10)) {  // the counter has jumped: begin anew
    next.anchor = now;
    return;
  }
  const bool is_long = baseline >= Limits::long_baseline;
  next.rate = is_long || last.settled == 0 ? measured : last.rate;
  next.settled = is_long ? 1 : last.settled;
  if (is_long) next.anchor = now;
}

/// Returns the piece that begins with this reading, and not before the end of `last`. A `last` without an anchor is not
/// a piece: the first one has no predecessor.
template <class Limits>
constexpr clock_piece next_piece(const clock_piece& last, const clock_reading& now) noexcept {
  clock_piece next;
  next.counter = now.counter;
  next.nanoseconds = (std::max)(now.nanoseconds, last.end());
  next.anchor = now;
  if (last.anchor.nanoseconds == 0) return next;
  measure_rate<Limits>(next, last, now);
  if (next.rate == 0) return next;
  // A speed that is not settled is used for no longer than it was measured.
  const std::uint64_t baseline = next.settled != 0 ? Limits::longest_piece : now.nanoseconds - next.anchor.nanoseconds;
  const std::uint64_t span = (std::min)(Limits::longest_piece, baseline);
  const std::uint64_t ahead = (std::min)(next.nanoseconds - now.nanoseconds, span);
  next.length = (span << 32) / next.rate;
  next.slope = next.rate * (span - ahead) / span;
  return next;
}

// ---- the clock ------------------------------------------------------------------------------------------------------

/// A piece that threads share.
template <class Platform>
struct alignas(cache_line) shared_clock_piece {
  using word = typename Platform::template atomic<std::uint64_t>;

  word counter{0}, nanoseconds{0}, slope{0}, length{0};
  word anchor_counter{0}, anchor_nanoseconds{0}, rate{0}, settled{0};

  void store(const clock_piece& piece) noexcept {
    store_log_word<Platform>(counter, piece.counter);
    store_log_word<Platform>(nanoseconds, piece.nanoseconds);
    store_log_word<Platform>(slope, piece.slope);
    store_log_word<Platform>(length, piece.length);
    store_log_word<Platform>(anchor_counter, piece.anchor.counter);
    store_log_word<Platform>(anchor_nanoseconds, piece.anchor.nanoseconds);
    store_log_word<Platform>(rate, piece.rate);
    store_log_word<Platform>(settled, piece.settled);
  }
  clock_piece load() const noexcept {
    return {load_log_word<Platform>(counter),
            load_log_word<Platform>(nanoseconds),
            load_log_word<Platform>(slope),
            load_log_word<Platform>(length),
            {load_log_word<Platform>(anchor_counter), load_log_word<Platform>(anchor_nanoseconds)},
            load_log_word<Platform>(rate),
            load_log_word<Platform>(settled)};
  }
};

/// The clock that the head of this file describes.
///
/// \tparam Source  has counter(), nanoseconds() (of the steady clock) and has_one_speed(). Any thread may call them
template <class Source, class Platform = native_platform, class Limits = counter_clock_limits>
class counter_clock {
 public:
  constexpr explicit counter_clock(Source source = {}) noexcept : source_{source} {}

  /// Returns nanoseconds on the line of the steady clock. Any thread may call it, also a signal handler, before and
  /// after main(). Progress: lock-free; unless a piece ends, two loads of one word, four of another cache line, and the
  /// counter.
  std::uint64_t now() noexcept {
    for (;;) {
      // (Z1): acquire, pairs with (Z5): the words of the piece that it names, or later ones, are there. Once a thread
      // has seen a piece, whatever happens-after finds this piece or a later one, since there is one word.
      const std::uint64_t current = current_.load(std::memory_order_acquire);
      const shared_clock_piece<Platform>& piece = piece_of(current);
      const std::uint64_t start = load_log_word<Platform>(piece.counter);
      const std::uint64_t nanoseconds = load_log_word<Platform>(piece.nanoseconds);
      const std::uint64_t slope = load_log_word<Platform>(piece.slope);
      const std::uint64_t length = load_log_word<Platform>(piece.length);
      const std::uint64_t counter = source_.counter();
      if (!is_still(current)) continue;
      const std::uint64_t elapsed = counter - start;
      if (elapsed < length && (current & uses_steady) == 0) [[likely]]
        return nanoseconds + (elapsed * slope >> 32);
      if (const std::uint64_t found = beyond_piece(current, counter); found != 0) return found;
    }
  }

  /// Returns whether the counter is used, and not the steady clock for ever. Reads the clock.
  bool uses_counter() noexcept {
    now();
    // (Z10): relaxed alone: no data comes with it.
    return (current_.load(std::memory_order_relaxed) & uses_steady) == 0;
  }

  Source& source() noexcept { return source_; }

 private:
  static constexpr std::uint64_t index_mask = 15;
  static constexpr std::uint64_t uses_steady = 16;
  static constexpr std::uint64_t one_change = 32;
  static constexpr std::size_t none =
      Limits::slot_count;  // the slot of the piece before the first: empty, never written
  static_assert(Limits::slot_count >= 2 && Limits::slot_count <= index_mask);
  using word = typename Platform::template atomic<std::uint64_t>;

  static constexpr std::size_t slot_of(std::uint64_t current) noexcept {
    return as_integer<std::size_t>(current & index_mask);
  }
  const shared_clock_piece<Platform>& piece_of(std::uint64_t current) const noexcept {
    return pieces_[slot_of(current)];
  }

  /// Returns whether the words loaded before belong to one piece.
  bool is_still(std::uint64_t current) const noexcept {
    // (Z2): acquire, pairs with (Z4): what (Z3) finds is not older than the words.
    if constexpr (Platform::has_thread_fences) Platform::thread_fence(std::memory_order_acquire);
    // (Z3): relaxed after (Z2): was the piece replaced?
    return current_.load(std::memory_order_relaxed) == current;
  }

  /// Returns a reading where the piece does not cover the counter; 0 where another thread has changed the piece.
  [[gnu::noinline, gnu::cold]] std::uint64_t beyond_piece(std::uint64_t current, std::uint64_t counter) noexcept {
    const clock_piece last = piece_of(current).load();
    if (!is_still(current)) return 0;
    const bool has_begun = slot_of(current) != none;
    if ((current & uses_steady) != 0) return (std::max)(source_.nanoseconds(), last.end());
    if (!has_begun && !source_.has_one_speed()) return use_steady(current, last);
    // The counter was read early, or on a processor that is a little behind: this is the beginning of the piece.
    if (has_begun && last.counter - counter < Limits::most_skew) return last.nanoseconds;
    clock_reading now{};
    if (!read_both(now)) return use_steady(current, last);
    const std::size_t slot = take_slot();
    if (slot == none) return is_replaced_soon(current) ? 0 : use_steady(current, last);
    const clock_piece next = next_piece<Limits>(last, now);
    return publish(current, slot, next) ? next.nanoseconds : 0;
  }

  /// Returns false where the clocks could not be read closely enough together. It takes the best of two readings at
  /// least, as the first one may have waited for memory. A thread that is stopped between the clocks tries again.
  bool read_both(clock_reading& found) noexcept {
    std::uint64_t narrowest = UINT64_MAX;
    std::uint64_t before = source_.nanoseconds();
    for (unsigned made = 1; made <= Limits::tries; ++made) {
      const std::uint64_t counter = source_.counter();
      const std::uint64_t after = source_.nanoseconds();
      const std::uint64_t width = after - before;
      if (width < narrowest) {
        narrowest = width;
        found = {counter, before + width / 2};
      }
      before = after;
      if (made >= 2 && narrowest <= Limits::widest_bracket) return true;
    }
    return false;
  }

  bool publish(std::uint64_t current, std::size_t slot, const clock_piece& next) noexcept {
    // (Z4): release, pairs with (Z2): the words come after the change of current_ that made this slot free, which (Z6)
    // has acquired. A reader that takes one of them for a word of the former piece finds that change in (Z3).
    if constexpr (Platform::has_thread_fences) Platform::thread_fence(std::memory_order_release);
    pieces_[slot].store(next);
    const std::uint64_t changed = (current & ~(one_change - 1)) + one_change + slot;
    std::uint64_t expected = current;
    // (Z5): release, pairs with (Z1): the words are there. Not acquire: what (Z1) has brought already is enough.
    const bool is_published =
        current_.compare_exchange_strong(expected, changed, std::memory_order_release, std::memory_order_relaxed);
    leave_slot(is_published ? slot_of(current) : slot);
    return is_published;
  }

  std::size_t take_slot() noexcept {
    for (std::size_t slot = 0; slot < Limits::slot_count; ++slot) {
      // (Z6): acquire, pairs with (Z7): the former owner's words come before ours, and so does the change that replaced
      // its piece.
      if (taken_[slot].exchange(1, std::memory_order_acquire) == 0) return slot;
    }
    return none;
  }

  void leave_slot(std::size_t slot) noexcept {
    // (Z7): release, pairs with (Z6).
    taken_[slot].store(0, std::memory_order_release);
  }

  bool is_replaced_soon(std::uint64_t current) const noexcept {
    for (unsigned turn = 0; turn < Limits::patience; ++turn) {
      Platform::pause();
      // (Z8): relaxed alone: now() looks for itself.
      if (current_.load(std::memory_order_relaxed) != current) return true;
    }
    return false;
  }

  /// From now on the steady clock is used, but nothing below what the last piece has shown. That piece stays in its
  /// slot.
  std::uint64_t use_steady(std::uint64_t current, const clock_piece& last) noexcept {
    std::uint64_t expected = current;
    // (Z9): relaxed alone: the slot is the same, and its words were released by (Z5).
    const bool is_changed = current_.compare_exchange_strong(expected, (current + one_change) | uses_steady,
                                                             std::memory_order_relaxed, std::memory_order_relaxed);
    return is_changed ? (std::max)(source_.nanoseconds(), last.end()) : 0;
  }

  alignas(cache_line) word current_{none};
  [[no_unique_address]] Source source_;
  shared_clock_piece<Platform> pieces_[Limits::slot_count + 1];
  alignas(cache_line) word taken_[Limits::slot_count + 1];
};

// ---- the time-stamp counter -----------------------------------------------------------------------------------------

#if defined(__x86_64__)

/// A plain rdtsc, which a processor may execute before earlier loads have completed. So a reading of one thread may be
/// smaller than one of another thread that happens-before it, by as long as such a load takes (100 ns were seen). A
/// fence before it would prevent this, and make the clock as slow as the steady clock.
struct tsc_source {
  static std::uint64_t counter() noexcept { return __builtin_ia32_rdtsc(); }
  static std::uint64_t nanoseconds() noexcept { return steady_nanoseconds(); }
  /// The processor says that the counter runs at one speed in all power states.
  static bool has_one_speed() noexcept {
    constexpr std::uint32_t extended = 0x8000'0000;
    constexpr std::uint32_t power_management = 0x8000'0007;
    constexpr std::uint32_t constant_speed = std::uint32_t{1} << 8;
    return cpuid(extended).a >= power_management && (cpuid(power_management).d & constant_speed) != 0;
  }

 private:
  struct registers {
    std::uint32_t a, b, c, d;
  };
  /// The macro of clang's <cpuid.h> does not compile with -masm=intel. Not inlined: Clang does not always save rbx
  /// for a statement in assembler, although it may address the variables of the caller by it.
  [[gnu::noinline]] static registers cpuid(std::uint32_t leaf) noexcept {
    registers found{leaf, 0, 0, 0};
    __asm__ __volatile__("cpuid" : "+a"(found.a), "=b"(found.b), "+c"(found.c), "=d"(found.d));
    return found;
  }
};

inline namespace TIDEMARK_CONFIGURATION {
/// One clock for all threads, so that their readings are on one line. It is constant-initialized: usable before main().
inline constinit counter_clock<tsc_source> process_tsc_clock{};
}  // namespace TIDEMARK_CONFIGURATION

#endif

}  // namespace tidemark::detail

#endif  // TIDEMARK_LOG_DETAIL_TSC_CLOCK_HPP
