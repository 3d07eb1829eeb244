// SPDX-License-Identifier: BSL-1.0
//
// coherency_tracker: which cache operations memory needs that a processor and a device use in turn, where the device does
// not look into the caches of the processor.
//
//   coherency_tracker tracker{bytes, uploads.view(), my_cache};
//   tracker.before_cpu_write(0, 64);                        ... then write
//   tracker.before_device_read(0, 64, serial);              writes the lines back; then submit work that signals `serial`
//   tracker.before_device_write(0, 64, serial + 1);         submit work that writes
//   tracker.before_cpu_read(0, 64);                         not before serial + 1: says which value to wait for, or invalidates
//
//                       the processor wrote it     the device was to write it
//   before the device   write back                 -
//   reads or writes     (B37, B41)
//   before the          -                          once the fence has reached the value: invalidate (B38, B41); until
//   processor reads     -                          then nothing is done, and the caller is told the value to wait for
//   or writes
//
// Nothing is invalidated at submission: the processor may fetch the old line again before the device has written it, so
// that only an operation after the completion was observed is of use (B42, trap 29). Before the device writes, dirty lines
// are written back, or a late eviction would overwrite what it has written. Ranges are rounded to lines: neighbours in the
// first and in the last line are treated as the range is (B40).
//
//   runs   [0: clean) [12: dirty) [20: device writes until 7) [24: clean)      side by side, by lines; equal ones are joined
//
// Runs lie in chunks of 32, which are found in a map (detail/line_runs.hpp): an access moves none but those of the chunks that
// it touches, however many there are behind it.
//
// On a platform whose devices look into the caches there is nothing to do (B34): coherency::hardware has no members and
// does nothing, so that the calls can stay.
//
// Not promised: that memory which shares a line with other memory is safe (align it); an order between the processor and
// the device beyond the values that are given; thread-safety: one thread at a time, the one that submits.
#ifndef TIDEMARK_COHERENCY_TRACKER_HPP
#define TIDEMARK_COHERENCY_TRACKER_HPP

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "detail/assert.hpp"
#include "detail/line_runs.hpp"
#include "fence.hpp"

namespace tidemark {

enum class coherency : std::uint8_t {
  software,  ///< Caches have to be written back and invalidated.
  hardware,  ///< The device looks into the caches (x86-64 and many others).
};

/// What is done to caches. Offsets and sizes are multiples of a line.
template <class Cache>
concept cache_operations = requires(Cache& cache, std::uint64_t offset, std::uint64_t bytes) {
  cache.write_back(offset, bytes);  ///< Dirty lines are written to memory.
  cache.invalidate(offset, bytes);  ///< The same, and no line stays in the cache.
};

/// \tparam Cache  see `cache_operations`; called by the functions of the tracker only
/// \tparam View   of a fence that tells which work is finished; once it is poisoned, nothing is in use any more
template <cache_operations Cache, class View = progress_fence_view, coherency Kind = coherency::software>
class coherency_tracker {
 public:
  /// \param bytes       of the memory, whose beginning is aligned to a line
  /// \param line_bytes  a power of two. Any other number is misuse, and counts as the next one; 0 counts as 64.
  coherency_tracker(std::uint64_t bytes, View finished, Cache cache, std::uint64_t line_bytes = 64)
      : finished_{finished},
        cache_{std::move(cache)},
        line_shift_{line_shift(line_bytes)},
        runs_{line_of(bytes) + (line_of(bytes) << line_shift_ != bytes ? 1 : 0)} {
    TIDEMARK_ASSERT(bytes > 0, "a coherency tracker has some bytes to track");
  }

  // Each is called before the access, for every access. A range of no bytes is nothing. What lies beyond the last tracked line
  // is misuse, and not looked at. What throws for want of memory changes nothing; what a cache operation throws leaves the access
  // undone: call again, and only the lines that are left are written back or invalidated. Progress: O(log runs, and the
  // runs in the range); allocates now and then.

  /// Nothing: go on. A value: the device may not be done with writing; wait for it, and call again.
  [[nodiscard]] std::optional<std::uint64_t> before_cpu_read(std::uint64_t offset, std::uint64_t bytes) {
    return before_cpu(
        offset, bytes, [](const run& one) { return one.written_until; }, [](run&) {});
  }
  /// Nothing: go on. A value: the device may not be done with writing or reading; wait for it, and call again.
  [[nodiscard]] std::optional<std::uint64_t> before_cpu_write(std::uint64_t offset, std::uint64_t bytes) {
    return before_cpu(
        offset, bytes, [](const run& one) { return std::max(one.written_until, one.read_until); },
        [](run& one) { one.is_dirty = true; });
  }
  /// The device is going to read, and done when the fence has reached `finished`.
  void before_device_read(std::uint64_t offset, std::uint64_t bytes, std::uint64_t finished) {
    before_device(offset, bytes, [finished](run& one) { one.read_until = std::max(one.read_until, finished); });
  }
  /// The device is going to write, and done when the fence has reached `finished`.
  void before_device_write(std::uint64_t offset, std::uint64_t bytes, std::uint64_t finished) {
    before_device(offset, bytes, [finished](run& one) {
      one.is_stale = true;
      one.written_until = std::max(one.written_until, finished);
    });
  }

  /// Parts that are tracked apart.
  [[nodiscard]] std::size_t runs() const noexcept { return runs_.size(); }

 private:
  using line_range = detail::line_range;

  struct run {
    std::uint64_t first = 0;  // line; up to the first one of the next run
    bool is_dirty = false;    // the processor wrote it, and it was not written back
    bool is_stale = false;    // the device was to write it, and it was not invalidated
    std::uint64_t written_until = 0;
    std::uint64_t read_until = 0;

    bool is_like(const run& other) const noexcept {
      return is_dirty == other.is_dirty && is_stale == other.is_stale && written_until == other.written_until &&
             read_until == other.read_until;
    }
  };

  using position = typename detail::line_runs<run>::position;

  static int line_shift(std::uint64_t line_bytes) noexcept {
    TIDEMARK_ASSERT(std::has_single_bit(line_bytes), "the size of a cache line is a power of two");
    if (line_bytes == 0) return std::countr_zero(std::uint64_t{64});
    return std::min(64 - std::countl_zero(line_bytes - 1), 63);  // rounded up
  }
  std::uint64_t line_of(std::uint64_t offset) const noexcept { return offset >> line_shift_; }

  /// The lines that an access touches. Their number of bytes may be 2^64.
  line_range lines_of(std::uint64_t offset, std::uint64_t bytes) const noexcept {
    if (bytes == 0) return {0, 0};
    const std::uint64_t lines = runs_.lines();
    const std::uint64_t last = bytes - 1 <= UINT64_MAX - offset ? line_of(offset + (bytes - 1)) : lines;
    TIDEMARK_ASSERT(last < lines, "an access beyond what a coherency tracker tracks");
    return {std::min(line_of(offset), lines), last < lines ? last + 1 : lines};
  }
  static bool is_empty(const line_range& range) noexcept { return range.first == range.end; }

  /// In bytes; in two pieces where one number can't say how many.
  template <class Operation>
  void in_bytes(const line_range& lines, const Operation& operation) const {
    const std::uint64_t most = UINT64_MAX >> line_shift_;
    for (std::uint64_t first = lines.first; first < lines.end;) {
      const std::uint64_t count = std::min(lines.end - first, most);
      operation(first << line_shift_, count << line_shift_);
      first += count;
    }
  }

  template <class UsedUntil, class Change>
  std::optional<std::uint64_t> before_cpu(std::uint64_t offset, std::uint64_t bytes, const UsedUntil& used_until,
                                          const Change& change) {
    const line_range range = lines_of(offset, bytes);
    if (is_empty(range)) return {};
    const position first = runs_.find(range.first);
    std::uint64_t awaited = 0;
    runs_.for_each(first, range.end,
                   [&](const run& one, const line_range&) { awaited = std::max(awaited, used_until(one)); });
    if (!finished_.is_reached(awaited)) return awaited;
    const auto invalidate = [this](run& one, const line_range& lines) {
      if (!one.is_stale) return;
      in_bytes(lines, [this](std::uint64_t begin, std::uint64_t count) { cache_.invalidate(begin, count); });
      one.is_stale = false;
    };
    access(first, range, invalidate, change);
    return {};
  }

  template <class Change>
  void before_device(std::uint64_t offset, std::uint64_t bytes, const Change& change) {
    const line_range range = lines_of(offset, bytes);
    if (is_empty(range)) return;
    const auto write_back = [this](run& one, const line_range& lines) {
      if (!one.is_dirty) return;
      in_bytes(lines, [this](std::uint64_t begin, std::uint64_t count) { cache_.write_back(begin, count); });
      one.is_dirty = false;
    };
    access(runs_.find(range.first), range, write_back, change);
  }

  /// Makes runs begin and end where the range does, calls `operate(run, lines)` for each, then `change(run)` for each, and
  /// joins those that are alike again. Only the first two may throw.
  template <class Operate, class Change>
  void access(const position& from, const line_range& range, const Operate& operate, const Change& change) {
    const position first = runs_.cut(from, range);
    runs_.for_each(first, range.end, operate);
    runs_.for_each(first, range.end, [&](run& one, const line_range&) {
      change(one);
      forget_reached(one.written_until);
      forget_reached(one.read_until);
    });
    runs_.join(first, range.end);
  }

  /// Values that no one waits for any more do not keep runs apart.
  void forget_reached(std::uint64_t& until) const noexcept {
    if (finished_.is_reached(until)) until = 0;
  }

  const View finished_;
  Cache cache_;
  const int line_shift_;
  detail::line_runs<run> runs_;
};

/// Where devices look into the caches: nothing, whatever is called (B34).
template <cache_operations Cache, class View>
class coherency_tracker<Cache, View, coherency::hardware> {
 public:
  constexpr coherency_tracker(std::uint64_t, const View&, const Cache&, std::uint64_t = 64) noexcept {}

  [[nodiscard]] constexpr std::optional<std::uint64_t> before_cpu_read(std::uint64_t, std::uint64_t) const noexcept {
    return {};
  }
  [[nodiscard]] constexpr std::optional<std::uint64_t> before_cpu_write(std::uint64_t, std::uint64_t) const noexcept {
    return {};
  }
  constexpr void before_device_read(std::uint64_t, std::uint64_t, std::uint64_t) const noexcept {}
  constexpr void before_device_write(std::uint64_t, std::uint64_t, std::uint64_t) const noexcept {}
};

}  // namespace tidemark

#endif  // TIDEMARK_COHERENCY_TRACKER_HPP
