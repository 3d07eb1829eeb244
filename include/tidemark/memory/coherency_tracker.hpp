// SPDX-License-Identifier: BSL-1.0
//
// coherency_tracker: for memory that a processor and a device use in turn, where the device does not look into the
// caches of the processor. It calls the cache operations that the memory needs.
//
//   coherency_tracker tracker{uploads, {.bytes = bytes}, my_cache};
//   if (tracker.try_prepare_cpu_write(0, 64)) ...       then write; `busy` while the device uses these lines
//   tracker.prepare_device_read(0, 64, serial);         writes the lines back; then submit work that signals `serial`
//   tracker.prepare_device_write(0, 64, serial + 1);    submit work that writes
//   tracker.try_prepare_cpu_read(0, 64);                `busy` until serial + 1 is reached; else invalidates the lines
//
//                       the processor wrote it     the device was to write it
//   before the device   write back                 -
//   reads or writes
//   before the          -                          once the timeline has reached the value: invalidate;
//   processor reads                                until then nothing is done, and the caller gets the value to wait
//   or writes                                      for
//
// Invalidating lines writes the dirty ones to memory, and then removes all of them from the cache. An operation that
// drops dirty lines is not enough: if the processor still has the memory locked for writing, what it has written would
// be lost.
//
// Nothing is invalidated at submission: the processor may fetch the old line again before the device has written it. So
// only an operation after the completion was observed is of use. Before the device writes, dirty lines are written
// back; otherwise a late eviction would overwrite what it has written. Ranges are rounded to lines: what else lies in
// the first and in the last line is treated like the range.
//
//   runs   [0: clean) [12: dirty) [20: device writes until 7) [24: clean)     side by side; equal neighbours are joined
//
// Runs lie in chunks of at most 32, which are found in a map (memory/detail/line_runs.hpp): an access moves only runs
// in the chunks that it touches, however many runs there are behind it.
//
// Mappings of the device
// ----------------------
// One device may map the same memory twice: coherent, so that its accesses look into the caches, and not coherent,
// which is faster for what the processor does not touch. That is chosen for each access, at run time, by the mapping
// through which it goes:
//
//   tracker.try_prepare_device_read(0, 64, serial, coherency::hardware);    nothing is written back
//   tracker.try_prepare_device_read(0, 64, serial, coherency::software);    now it is, once
//
//                       dirty lines       lines that the device was to write        what it writes
//                                         through a mapping that is not coherent
//   not coherent        write back        -                                         -
//   coherent            -                 invalidate, once that is done; `busy`     may be in the caches: the lines
//                                         until then                                count as dirty
//
// So an access through a coherent mapping counts as one of the processor. What is written through it reaches the caches
// only when the timeline has reached its value: until then an access that is not coherent is `busy`, too, because a
// write-back at submission would come too early.
//
// On a platform whose devices look into the caches there is nothing to do: with coherency::hardware a tracker has no
// data, and its functions do nothing. So the calls can stay. But try_prepare_cpu_read() and try_prepare_cpu_write() are
// then never `busy`: a program that relies on them to wait for the device must wait for the value itself.
//
// Not promised: that memory which shares a line with other memory is safe (align it); an order between the processor
// and the device beyond the values that are given; thread-safety: one thread at a time uses a tracker, the one that
// submits.
#ifndef TIDEMARK_MEMORY_COHERENCY_TRACKER_HPP
#define TIDEMARK_MEMORY_COHERENCY_TRACKER_HPP

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "../fence/fence.hpp"
#include "../fence/timeline.hpp"
#include "../platform/assert.hpp"
#include "../platform/names.hpp"
#include "detail/line_runs.hpp"

namespace tidemark {

enum class coherency : std::uint8_t {
  software,  ///< The program must write caches back and invalidate them.
  hardware,  ///< The device looks into the caches (x86-64 and many others), or does so through this mapping.
};

/// What a program can do to caches. Offsets and sizes are multiples of a line: where the memory ends within a line, an
/// operation on that line reaches beyond it. The functions must not call the object that calls them: the tracker, or
/// the mapped allocation that uses it.
template <class Cache>
concept cache_operations = requires(Cache& cache, std::uint64_t offset, std::uint64_t bytes) {
  cache.write_back(offset, bytes);  ///< Dirty lines are written to memory.
  cache.invalidate(offset, bytes);  ///< Dirty lines are written to memory, not dropped. No line stays in the cache.
};

enum class coherency_status : std::uint8_t {
  prepared,  ///< What was prepared may be done: the processor may read the range or write it, or work be submitted.
  busy,      ///< Not now: the device uses the range until the timeline reaches a value.
};

template <>
inline constexpr auto detail::names_of<coherency_status> = detail::names("prepared", "busy");

/// Whether the processor, or work that is submitted now, may access a range.
struct [[nodiscard]] coherency_result {
  coherency_status status = coherency_status::prepared;
  std::uint64_t busy_until = 0;  ///< Only if the range is busy: wait for this value, and call again.

  explicit operator bool() const noexcept { return status == coherency_status::prepared; }
  friend bool operator==(const coherency_result&, const coherency_result&) = default;
};

struct coherency_options {
  /// The size of the memory, whose beginning is aligned to a line. Asserts that it is not 0. Otherwise no line is
  /// tracked.
  std::uint64_t bytes = 0;
  /// The size of a line, a power of two. Asserts that; any other number counts as the next power of two, and 0 as 64.
  std::uint64_t line_bytes = 64;
};

/// The cache operations that a range of memory needs; see the head of this file. A tracker can be copied, but not
/// assigned, if its cache can be copied. From then on, each of the two knows only the accesses that it prepares itself.
/// A tracker that was moved from may only be destroyed.
/// \tparam Timeline  tells which work is finished; once it is lost, nothing is in use any more
/// \tparam Cache     is kept by value, and called by the functions of the tracker only
template <timeline Timeline, cache_operations Cache, coherency Kind = coherency::software>
class coherency_tracker {
 public:
  /// Throws std::bad_alloc where there is no memory for the first run. There is no make(): each call may need memory.
  /// \param finished  is copied if it is copyable (a view); otherwise it must outlive the tracker
  coherency_tracker(const Timeline& finished, const coherency_options& options, Cache cache)
      : finished_{finished},
        cache_{std::move(cache)},
        line_shift_{line_shift(options.line_bytes)},
        runs_{line_of(options.bytes) + (line_of(options.bytes) << line_shift_ != options.bytes ? 1 : 0)} {
    TIDEMARK_ASSERT(options.bytes > 0, "a coherency tracker must have some bytes to track");
  }
  /// A timeline that can't be copied would be gone.
  coherency_tracker(const Timeline&& gone, const coherency_options& options, Cache cache)
    requires(!std::copyable<Timeline>)
  = delete;

  // ---- called before each access; offsets and sizes are in bytes ---------------------------------------------------
  //
  // A range of no bytes is always prepared. Asserts that a range does not reach beyond the last tracked line. Otherwise
  // the part beyond it is ignored. If there is no memory, a function throws std::bad_alloc and changes nothing. If a
  // cache operation throws, the exception passes through, and the access is not prepared: call again, and only the
  // lines that are left are written back or invalidated. Progress: never waits; allocates now and then. The time grows
  // with the number of runs in the range, and with the logarithm of the number of all runs.

  /// Prepares a read by the processor: invalidates the lines that the device has written, and returns `prepared`. While
  /// the device may still write, it does nothing and returns `busy`.
  coherency_result try_prepare_cpu_read(std::uint64_t offset, std::uint64_t bytes) {
    return prepare_cpu(offset, bytes, [](const run& one) { return one.written_until; }, [](run&) {});
  }
  /// Prepares a write by the processor: the same, but it also returns `busy` while the device may still read. If it
  /// returns `prepared`, all lines of the range count as written by the processor.
  coherency_result try_prepare_cpu_write(std::uint64_t offset, std::uint64_t bytes) {
    return prepare_cpu(
        offset, bytes, [](const run& one) { return (std::max)(one.written_until, one.read_until); },
        [](run& one) { one.is_dirty = true; });
  }
  /// Prepares a read by the device through a mapping that is not coherent, which is done when the timeline has reached
  /// `finished`: writes back the lines that the processor has written. If several reads of a line are prepared, the
  /// greatest value counts. Asserts that no write through a coherent mapping is under way in the range. Otherwise the
  /// read may find old bytes.
  void prepare_device_read(std::uint64_t offset, std::uint64_t bytes, std::uint64_t finished) {
    require_no_snooped_write(offset, bytes);
    prepare_device(offset, bytes, device_read{finished});
  }
  /// Prepares a write by the device in the same way. From now on all lines of the range count as written by the device.
  /// If several writes of a line are prepared, the greatest value counts. Asserts the same.
  void prepare_device_write(std::uint64_t offset, std::uint64_t bytes, std::uint64_t finished) {
    require_no_snooped_write(offset, bytes);
    prepare_device(offset, bytes, device_write{finished});
  }
  /// The same for the mapping through which the device reads. Returns `prepared`; or `busy`, and does nothing, if a
  /// write through a mapping of the other kind is under way in the range. Only with both kinds of mappings is anything
  /// ever busy.
  /// \param through  `hardware`: a coherent mapping. Then nothing is written back, but what the device has written
  ///                 through another mapping is invalidated
  coherency_result try_prepare_device_read(std::uint64_t offset, std::uint64_t bytes, std::uint64_t finished,
                                           coherency through) {
    if (through == coherency::hardware) return prepare_snooped(offset, bytes, device_read{finished});
    if (const std::uint64_t target = snooped_until(offset, bytes); !finished_.is_reached(target))
      return {coherency_status::busy, target};
    prepare_device(offset, bytes, device_read{finished});
    return {};
  }
  /// The same for a write. After one through a coherent mapping the lines of the range count as written by the
  /// processor, and `busy` is what the processor finds until it is done.
  coherency_result try_prepare_device_write(std::uint64_t offset, std::uint64_t bytes, std::uint64_t finished,
                                            coherency through) {
    if (through == coherency::hardware) {
      const coherency_result result = prepare_snooped(offset, bytes, [finished](run& one) {
        one.is_dirty = true;
        one.written_until = (std::max)(one.written_until, finished);
      });
      is_mixed_ = is_mixed_ || result;
      return result;
    }
    if (const std::uint64_t target = snooped_until(offset, bytes); !finished_.is_reached(target))
      return {coherency_status::busy, target};
    prepare_device(offset, bytes, device_write{finished});
    return {};
  }

  /// Returns how many runs of lines are tracked. Neighbours that need the same are joined only when an access touches
  /// them: so the number may stay high after the timeline has reached their values.
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

  struct device_read {
    std::uint64_t finished;
    void operator()(run& one) const noexcept { one.read_until = (std::max)(one.read_until, finished); }
  };
  struct device_write {
    std::uint64_t finished;
    void operator()(run& one) const noexcept {
      one.is_stale = true;
      one.written_until = (std::max)(one.written_until, finished);
    }
  };

  using position = typename detail::line_runs<run>::position;

  static int line_shift(std::uint64_t line_bytes) noexcept {
    TIDEMARK_ASSERT(std::has_single_bit(line_bytes), "the size of a cache line is a power of two");
    if (line_bytes == 0) return std::countr_zero(std::uint64_t{64});
    return (std::min)(64 - std::countl_zero(line_bytes - 1), 63);  // rounded up
  }
  std::uint64_t line_of(std::uint64_t offset) const noexcept { return offset >> line_shift_; }

  /// Returns the lines that an access touches. Their number of bytes may be 2^64.
  line_range lines_of(std::uint64_t offset, std::uint64_t bytes) const noexcept {
    if (bytes == 0) return {0, 0};
    const std::uint64_t count = runs_.line_count();
    const std::uint64_t last = bytes - 1 <= UINT64_MAX - offset ? line_of(offset + (bytes - 1)) : count;
    TIDEMARK_ASSERT(last < count, "an access beyond what a coherency tracker tracks");
    return {(std::min)(line_of(offset), count), last < count ? last + 1 : count};
  }
  static bool is_empty(const line_range& range) noexcept { return range.first == range.end; }

  /// Calls `operation(offset, bytes)` for the lines; twice where one number can't say how many bytes they have.
  template <class Operation>
  void in_bytes(const line_range& range, const Operation& operation) const {
    const std::uint64_t most = UINT64_MAX >> line_shift_;
    for (std::uint64_t first = range.first; first < range.end;) {
      const std::uint64_t count = (std::min)(range.end - first, most);
      operation(first << line_shift_, count << line_shift_);
      first += count;
    }
  }

  template <class UsedUntil, class Change>
  coherency_result prepare_cpu(std::uint64_t offset, std::uint64_t bytes, const UsedUntil& used_until,
                               const Change& change) {
    const line_range range = lines_of(offset, bytes);
    if (is_empty(range)) return {};
    const position first = runs_.find(range.first);
    std::uint64_t target = 0;
    runs_.for_each(first, range.end,
                   [&](const run& one, const line_range&) { target = (std::max)(target, used_until(one)); });
    if (!finished_.is_reached(target)) return {coherency_status::busy, target};
    const auto invalidate = [this](run& one, const line_range& part) {
      if (!one.is_stale) return;
      in_bytes(part, [this](std::uint64_t begin, std::uint64_t count) { cache_.invalidate(begin, count); });
      one.is_stale = false;
    };
    access(first, range, invalidate, change);
    return {};
  }

  /// An access through a mapping that looks into the caches: for these it is like one of the processor. It follows the
  /// other work of the device, so only what must be invalidated first makes it busy.
  template <class Change>
  coherency_result prepare_snooped(std::uint64_t offset, std::uint64_t bytes, const Change& change) {
    return prepare_cpu(offset, bytes, [](const run& one) { return one.is_stale ? one.written_until : 0; }, change);
  }

  /// Returns until when work may write lines of the range through a mapping that looks into the caches. What is not
  /// stale was written so, or is reached.
  std::uint64_t snooped_until(std::uint64_t offset, std::uint64_t bytes) {
    if (!is_mixed_) return 0;
    const line_range range = lines_of(offset, bytes);
    std::uint64_t target = 0;
    if (is_empty(range)) return target;
    runs_.for_each(runs_.find(range.first), range.end, [&](const run& one, const line_range&) {
      if (!one.is_stale) target = (std::max)(target, one.written_until);
    });
    return target;
  }
  void require_no_snooped_write(std::uint64_t offset, std::uint64_t bytes) {
    const bool is_done = !is_mixed_ || finished_.is_reached(snooped_until(offset, bytes));
    TIDEMARK_ASSERT(is_done, "a device writes these lines through a coherent mapping");
    static_cast<void>(is_done);
  }

  template <class Change>
  void prepare_device(std::uint64_t offset, std::uint64_t bytes, const Change& change) {
    const line_range range = lines_of(offset, bytes);
    if (is_empty(range)) return;
    const auto write_back = [this](run& one, const line_range& part) {
      if (!one.is_dirty) return;
      in_bytes(part, [this](std::uint64_t begin, std::uint64_t count) { cache_.write_back(begin, count); });
      one.is_dirty = false;
    };
    access(runs_.find(range.first), range, write_back, change);
  }

  /// Makes runs begin and end where the range does, calls `operate(run, lines)` for each, then `change(run)` for each,
  /// and joins those that are alike again. Only the making of runs and `operate` may throw.
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

  /// Values that are reached do not keep runs apart.
  void forget_reached(std::uint64_t& until) const noexcept {
    if (finished_.is_reached(until)) until = 0;
  }

  const detail::follower<Timeline> finished_;
  Cache cache_;
  const int line_shift_;
  detail::line_runs<run> runs_;
  bool is_mixed_ = false;  // whether a write through a coherent mapping was ever prepared
};

/// Where devices look into the caches: keeps nothing and does nothing. Any thread may call all functions.
/// The functions that may be `busy` elsewhere return `prepared` even while the device uses the range. runs() returns 0.
template <timeline Timeline, cache_operations Cache>
class coherency_tracker<Timeline, Cache, coherency::hardware> {
 public:
  constexpr coherency_tracker(const Timeline&, const coherency_options&, const Cache&) noexcept {}

  constexpr coherency_result try_prepare_cpu_read(std::uint64_t, std::uint64_t) const noexcept { return {}; }
  constexpr coherency_result try_prepare_cpu_write(std::uint64_t, std::uint64_t) const noexcept { return {}; }
  constexpr void prepare_device_read(std::uint64_t, std::uint64_t, std::uint64_t) const noexcept {}
  constexpr void prepare_device_write(std::uint64_t, std::uint64_t, std::uint64_t) const noexcept {}
  constexpr coherency_result try_prepare_device_read(std::uint64_t, std::uint64_t, std::uint64_t,
                                                     coherency) const noexcept {
    return {};
  }
  constexpr coherency_result try_prepare_device_write(std::uint64_t, std::uint64_t, std::uint64_t,
                                                      coherency) const noexcept {
    return {};
  }
  [[nodiscard]] constexpr std::size_t runs() const noexcept { return 0; }
};

namespace detail {

/// Placeholder for a type that lacks the operations of a cache, so that the compiler reports only what it lacks.
template <class Wrong>
struct wrong_cache {
  wrong_cache(const Wrong&) noexcept {
    static_assert(cache_operations<Wrong>, "this type has no tidemark::cache_operations, see coherency_tracker.hpp");
  }
  void write_back(std::uint64_t, std::uint64_t);
  void invalidate(std::uint64_t, std::uint64_t);
};

}  // namespace detail

// What is given and is no timeline, or has no cache operations, gets an error of its own.
template <class Wrong, cache_operations Cache>
  requires(!timeline<Wrong>)
coherency_tracker(const Wrong&, const coherency_options&, const Cache&)
    -> coherency_tracker<detail::wrong_timeline<Wrong>, Cache>;
template <timeline Timeline, class Wrong>
  requires(!cache_operations<Wrong>)
coherency_tracker(const Timeline&, const coherency_options&, const Wrong&)
    -> coherency_tracker<Timeline, detail::wrong_cache<Wrong>>;

}  // namespace tidemark

#endif  // TIDEMARK_MEMORY_COHERENCY_TRACKER_HPP
