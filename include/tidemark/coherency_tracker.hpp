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
// On a platform whose devices look into the caches there is nothing to do (B34): coherency::hardware has no members and
// does nothing, so that the calls can stay.
//
// Not promised: that memory which shares a line with other memory is safe (align it); an order between the processor and
// the device beyond the values that are given; thread-safety: one thread at a time, the one that submits.
#ifndef TIDEMARK_COHERENCY_TRACKER_HPP
#define TIDEMARK_COHERENCY_TRACKER_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "detail/assert.hpp"
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
  /// \param line_bytes  a power of two
  coherency_tracker(std::uint64_t bytes, View finished, Cache cache, std::uint64_t line_bytes = 64)
      : finished_{finished}, cache_{std::move(cache)}, line_bytes_{line_bytes}, lines_{lines_of(bytes)}, runs_(1) {
    TIDEMARK_ASSERT(line_bytes > 0 && (line_bytes & (line_bytes - 1)) == 0,
                    "the size of a cache line is a power of two");
    TIDEMARK_ASSERT(bytes > 0, "a coherency tracker has some bytes to track");
  }

  // Each is called before the access, for every access. A range of no bytes is nothing. What throws (no memory for a new run)
  // changes nothing. Progress: O(runs in the range, and behind it where runs are made or joined).

  /// Nothing: go on. A value: the device may not be done with writing; wait for it, and call again.
  [[nodiscard]] std::optional<std::uint64_t> before_cpu_read(std::uint64_t offset, std::uint64_t bytes) {
    return before_cpu(
        offset, bytes, [](const run& one) { return one.written_until; }, [](run& one) { one.is_stale = false; });
  }
  /// Nothing: go on. A value: the device may not be done with writing or reading; wait for it, and call again.
  [[nodiscard]] std::optional<std::uint64_t> before_cpu_write(std::uint64_t offset, std::uint64_t bytes) {
    return before_cpu(
        offset, bytes, [](const run& one) { return std::max(one.written_until, one.read_until); },
        [](run& one) {
          one.is_stale = false;
          one.is_dirty = true;
        });
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
  struct line_range {
    std::uint64_t first;
    std::uint64_t end;
  };

  std::uint64_t lines_of(std::uint64_t bytes) const noexcept {
    return bytes / line_bytes_ + (bytes % line_bytes_ != 0 ? 1 : 0);
  }
  line_range rounded(std::uint64_t offset, std::uint64_t bytes) const noexcept {
    TIDEMARK_ASSERT(offset <= lines_ * line_bytes_ && bytes <= lines_ * line_bytes_ - offset,
                    "an access beyond what a coherency tracker tracks");
    return {offset / line_bytes_, lines_of(offset + bytes)};
  }

  template <class UsedUntil, class Change>
  std::optional<std::uint64_t> before_cpu(std::uint64_t offset, std::uint64_t bytes, const UsedUntil& used_until,
                                          const Change& change) {
    if (bytes == 0) return {};
    const line_range range = rounded(offset, bytes);
    std::uint64_t awaited = 0;
    for (auto one = run_at(range.first); one != runs_.end() && one->first < range.end; ++one) {
      awaited = std::max(awaited, used_until(*one));
    }
    if (!finished_.is_reached(awaited)) return awaited;
    for_each_run(range, [&](run& one, const line_range& lines) {
      if (one.is_stale) cache_.invalidate(lines.first * line_bytes_, (lines.end - lines.first) * line_bytes_);
      change(one);
    });
    return {};
  }

  template <class Change>
  void before_device(std::uint64_t offset, std::uint64_t bytes, const Change& change) {
    if (bytes == 0) return;
    for_each_run(rounded(offset, bytes), [&](run& one, const line_range& lines) {
      if (one.is_dirty) cache_.write_back(lines.first * line_bytes_, (lines.end - lines.first) * line_bytes_);
      one.is_dirty = false;
      change(one);
    });
  }

  /// The run that a line is in.
  auto run_at(std::uint64_t line) noexcept {
    return std::upper_bound(runs_.begin(), runs_.end(), line,
                            [](std::uint64_t wanted, const run& one) { return wanted < one.first; }) -
           1;
  }

  /// Makes runs begin and end where the range does, calls `body(run, lines)` for each, joins those that are alike again.
  template <class Body>
  void for_each_run(const line_range& range, const Body& body) {
    runs_.reserve(runs_.size() + 2);
    split(range.first);
    if (range.end < lines_) split(range.end);
    const auto first = run_at(range.first);
    auto end = first;
    for (; end != runs_.end() && end->first < range.end; ++end) {
      const auto next = end + 1;
      body(*end, line_range{end->first, next == runs_.end() ? lines_ : next->first});
      forget_reached(end->written_until);
      forget_reached(end->read_until);
    }
    const auto left = first == runs_.begin() ? first : first - 1;
    const auto right = end == runs_.end() ? end : end + 1;
    runs_.erase(std::unique(left, right, [](const run& one, const run& next) { return one.is_like(next); }), right);
  }

  /// Values that no one waits for any more do not keep runs apart.
  void forget_reached(std::uint64_t& until) const noexcept {
    if (finished_.is_reached(until)) until = 0;
  }

  void split(std::uint64_t line) {
    const auto one = run_at(line);
    if (one->first == line) return;
    run behind = *one;
    behind.first = line;
    runs_.insert(one + 1, behind);
  }

  const View finished_;
  Cache cache_;
  const std::uint64_t line_bytes_;
  const std::uint64_t lines_;
  std::vector<run> runs_;
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
