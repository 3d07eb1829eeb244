// SPDX-License-Identifier: BSL-1.0
//
// upload_parts: how an upload ring keeps its parts: in batches (one writer), or each by itself (several writers).
#ifndef TIDEMARK_MEMORY_DETAIL_UPLOAD_PARTS_HPP
#define TIDEMARK_MEMORY_DETAIL_UPLOAD_PARTS_HPP

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <utility>

#include "../../fence/event_count.hpp"
#include "../../fence/timeline.hpp"
#include "../../platform/assert.hpp"
#include "../../platform/platform.hpp"
#include "../tools/attempts.hpp"

namespace tidemark::detail {

// Sizes of upload rings: how much a ring can have of what it was asked for, so that no arithmetic on positions
// overflows.

constexpr std::uint64_t too_many_bytes = std::uint64_t{1} << 62;  // for any ring

/// Returns what a ring can have of the bytes that it was asked for: all, or, where that is misuse, none.
inline std::uint64_t possible_bytes(std::uint64_t asked) noexcept {
  TIDEMARK_ASSERT(asked > 0 && asked < too_many_bytes, "an upload ring must have some bytes, and less than 2^62");
  return asked < too_many_bytes ? asked : 0;
}

/// Returns the least power of two that is at least `asked`, and 1 at least. A number that no memory has room for is
/// left to the allocation, which fails.
constexpr std::size_t possible_records(std::size_t asked) noexcept {
  constexpr std::size_t most = (std::numeric_limits<std::size_t>::max)() / 2 + 1;
  return asked < most ? std::bit_ceil(asked) : most;
}

/// Returns `count` records, or nothing where there is no memory for them.
template <class Record>
std::unique_ptr<Record[]> try_make_records(std::size_t count) noexcept {
  // The operator new for arrays may throw where the bytes can't be counted.
  if (count > (std::numeric_limits<std::size_t>::max)() / 2 / sizeof(Record)) return nullptr;
  return std::unique_ptr<Record[]>{new (std::nothrow) Record[count]()};
}

constexpr std::uint64_t align_up(std::uint64_t offset, std::uint64_t alignment) noexcept {
  return (offset + alignment - 1) & ~(alignment - 1);
}

// upload_parts: an upload ring of several writers. Each part has a record, because parts are retired in any order.
//
//   tail                                    head           positions only rise; position modulo capacity is the offset
//   |  part  |  part  | waste |  part  |    |
//   record n  n + 1    of n + 2  n + 2      n + 3          a record says where the part ends, and until when it is
//                                                          in use; `retired` says for which part that was written
//
// Who writes: the head, any thread that allocates, by one exchange of {position, number of the next part}, and the
// thread that shrinks the newest part; a record, the thread that has the part; the tail, any thread that finds the
// oldest parts free, by one exchange of {position, number of the first part that is not}, which only one of several
// threads can win; the lap, any thread that allocates; what was passed over, the thread that has just moved the head;
// the most that was in use, the thread that has just moved the tail, or the head back.
//
// A part that shrinks moves the head back, and leaves its number: the exchange expects that the next part has not got
// its number yet. So no two parts ever have the same bytes, and a head that was once left never comes again: of one
// number, positions only fall.
//
// A position is the number of bytes that were passed, modulo 2^64, and a lap begins each `capacity` of them. So where a
// lap begins is counted from a lap before or behind it, and not from 0. An empty ring and a full one differ: their ends
// are 0 and `capacity` positions apart.

/// \tparam Part       what is given out: upload_part
/// \tparam IsCounted  whether the bytes are counted that are passed over
template <timeline Timeline, class Part, bool IsCounted>
class upload_parts {
  using status = decltype(Part::status);

 public:
  using platform = timeline_platform<Timeline>;

  struct record {
    typename platform::template atomic<std::uint64_t> end;         // where the part ends: a position
    typename platform::template atomic<std::uint64_t> busy_until;  // a value of the timeline
    typename platform::template atomic<std::uint64_t> retired;  // the number of the part of which this is said, plus 1
  };

  /// \param records  a power of two of them
  upload_parts(const Timeline& finished, std::uint64_t capacity, std::unique_ptr<record[]> records,
               std::size_t count) noexcept
      : finished_{finished},
        capacity_{possible_bytes(capacity)},
        mask_{count - 1},
        records_{std::move(records)},
        head_{0},
        tail_{0} {}

  Part try_allocate(std::uint64_t bytes, std::uint64_t alignment) noexcept {
    std::uint64_t unused = 0;
    return attempt(bytes, alignment, unused);
  }
  /// The same. Where it is busy, `target` is the value to wait for; it stays as it is if no value helps.
  template <bool MayCount = true>
  Part attempt(std::uint64_t bytes, std::uint64_t alignment, std::uint64_t& target) noexcept {
    if (bytes == 0 || !std::has_single_bit(alignment)) return {status::invalid};
    if (bytes > capacity_) return {status::too_large};
    versioned seen = head();
    for (;;) {
      const place at = find_place(seen.value, bytes, alignment);
      const std::uint64_t end = at.start + bytes;
      // (E7): acquire, pairs with (E4).
      const versioned oldest = tail_.load(std::memory_order_acquire);
      if (has_room(seen, oldest, at.start, end)) {
        // (E2): release, pairs with (E18), for (E19); acquire, pairs with (E27): what a part that has shrunk left
        // behind. Otherwise what is handed over comes through (E4); the exchange settles which thread has these bytes.
        if (head_.compare_exchange_strong(seen, {end, seen.version + 1}, std::memory_order_acq_rel,
                                          std::memory_order_relaxed)) {
          // (E3): relaxed, (E6) is behind it.
          record_of(seen.version).end.store(end, std::memory_order_relaxed);
          if constexpr (IsCounted && MayCount) note_passed(at.start - seen.value, at.offset == 0);
          return {status::allocated, at.offset, bytes, seen.version};
        }
      } else if (take_back().parts == 0) {
        const status outcome = no_room(seen, oldest.version, target);
        if (outcome != status::allocated) return {outcome};
      }
    }
  }

  /// Returns false, and changes nothing, where another part was given out since.
  bool try_shrink(Part& part, std::uint64_t bytes) noexcept {
    TIDEMARK_ASSERT(part.status == status::allocated, "what was refused can't shrink");
    TIDEMARK_ASSERT(bytes <= part.bytes, "a part can't grow");
    if (!part || bytes > part.bytes) return false;
    record& own = record_of(part.number);
    // (E25): relaxed, as (E8).
    const bool is_open = own.retired.load(std::memory_order_relaxed) == retired_before(part.number);
    TIDEMARK_ASSERT(is_open, "a part that was retired can't shrink");
    if (!is_open) return false;
    // (E35): relaxed alone, for statistics. Up to (E27) the head is the end of this part, or that fails.
    const std::uint64_t oldest = tail_.load_value(std::memory_order_relaxed);
    const std::uint64_t before = part.bytes;
    if (!move_end(part, bytes)) return false;
    // (E28): relaxed, own: (E29).
    note_use(oldest, own.end.load(std::memory_order_relaxed) + (before - bytes));
    part.bytes = bytes;
    given_back_.notify();
    return true;
  }

  template <class... Limits>
  Part allocate_within(std::uint64_t bytes, std::uint64_t alignment, const Limits&... limits) noexcept {
    const auto attempt_once = [&](std::uint64_t& target) { return attempt(bytes, alignment, target); };
    return wait_for_space(given_back_, finished_, attempt_once, limits...);
  }

  /// Takes the whole ring as one part if it is empty. It does not count as passed over what it passes over.
  Part take_whole() noexcept {
    std::uint64_t unused = 0;
    const Part whole = attempt<false>(capacity_, 1, unused);
    if (!whole) return whole;
    // (E40): relaxed, own: (E3).
    const std::uint64_t start = record_of(whole.number).end.load(std::memory_order_relaxed) - capacity_;
    // (E41): relaxed, behind (E7). If the whole is the only part, nobody else moves the tail.
    versioned oldest = tail_.load(std::memory_order_relaxed);
    if (oldest.version == whole.number) {
      // (E42): relaxed, keeps up the release sequence of (E4).
      tail_.compare_exchange_strong(oldest, {start, whole.number}, std::memory_order_relaxed,
                                    std::memory_order_relaxed);
    }
    return whole;
  }

  /// Blocks until the timeline has reached the values of all parts that were retired, or is lost. No other call may be
  /// under way.
  void wait_for_all() const noexcept {
    // (E43): relaxed alone, nobody else uses the ring any more.
    const std::uint64_t end = head_.load_version(std::memory_order_relaxed);
    // (E44): relaxed, as (E43).
    for (std::uint64_t number = tail_.load_version(std::memory_order_relaxed); number != end; ++number) {
      const record& one = record_of(number);
      // (E45): relaxed, as (E43).
      if (one.retired.load(std::memory_order_relaxed) != number + 1) continue;
      // (E46): relaxed, as (E43).
      static_cast<void>(finished_.wait(one.busy_until.load(std::memory_order_relaxed)));
    }
  }

  /// Returns false, and changes nothing, where the part was refused or retired before.
  bool retire(const Part& part, std::uint64_t finished) noexcept {
    TIDEMARK_ASSERT(part.status == status::allocated, "what was refused can't be retired");
    // (E20): relaxed alone, for the assertion: the thread that has the part has seen (E2).
    TIDEMARK_ASSERT(!part || part.number < head_.load_version(std::memory_order_relaxed), "there is no such part");
    record& own = record_of(part.number);
    // (E8): relaxed: the thread that has the part finds what its record's last part left there, (E7) has brought it.
    const bool is_open = own.retired.load(std::memory_order_relaxed) == retired_before(part.number);
    TIDEMARK_ASSERT(!part || is_open, "a part was retired twice");
    if (!part || !is_open) return false;
    // (E9): relaxed, (E6) is behind it.
    own.busy_until.store(finished, std::memory_order_relaxed);
    // (E6): release, pairs with (E5): where the part ends, and until when it is in use.
    own.retired.store(part.number + 1, std::memory_order_release);
    given_back_.notify();
    return true;
  }

  std::uint64_t reclaim() noexcept { return take_back().bytes; }

  template <class Release>
  std::uint64_t trim(std::uint64_t bytes, const Release& release) {
    reclaim();
    const trimming whole{*this};
    if (!whole.part) return 0;
    std::uint64_t trimmed = 0;
    for (; trimmed + bytes <= capacity_; trimmed += bytes) release(trimmed);
    return trimmed;
  }

  std::uint64_t bytes_in_use() const noexcept {
    // (E12): relaxed alone, for looking.
    const std::uint64_t from = tail_.load_value(std::memory_order_relaxed);
    // (E16): relaxed alone, as above.
    const std::uint64_t to = head_.load_value(std::memory_order_relaxed);
    return to < from ? 0 : (std::min)(to - from, capacity_);
  }
  std::uint64_t capacity() const noexcept { return capacity_; }

  /// \tparam Statistics  upload_statistics
  template <class Statistics>
  Statistics statistics() const noexcept {
    const std::uint64_t in_use = bytes_in_use();
    // (E32): relaxed alone, for statistics.
    const std::uint64_t most = most_in_use_.load(std::memory_order_relaxed);
    // (E33): relaxed alone, as (E32).
    const std::uint64_t by_alignment = by_alignment_.load(std::memory_order_relaxed);
    // (E34): relaxed alone, as (E32).
    const std::uint64_t at_end = at_end_.load(std::memory_order_relaxed);
    return {capacity_, in_use, (std::max)(most, in_use), largest_run(capacity_ - in_use), by_alignment, at_end};
  }

 private:
  /// A trim under way. It has the whole ring, if it could get it.
  struct trimming {
    explicit trimming(upload_parts& of) noexcept : ring{of}, part{take_whole(of)} {}
    trimming(const trimming&) = delete;
    trimming& operator=(const trimming&) = delete;
    ~trimming() {
      if (part) {
        static_cast<void>(ring.move_end(part, 0));
        static_cast<void>(ring.retire(part, 0));
      }
      // (E23): release, pairs with (E24): an allocation that counts this trim as ended sees its part retired (E6).
      ring.trims_ended_.fetch_add(1, std::memory_order_release);
      // An allocation that took this trim for what is missing may find now that it is an open part.
      ring.given_back_.notify();
    }
    static Part take_whole(upload_parts& ring) noexcept {
      // (E19): relaxed, (E2) is behind it.
      ring.trims_begun_.fetch_add(1, std::memory_order_relaxed);
      return ring.take_whole();
    }
    upload_parts& ring;
    const Part part;
  };

  struct taken_back {
    std::uint64_t parts = 0;
    std::uint64_t bytes = 0;
  };
  [[gnu::noinline]] taken_back take_back() noexcept {
    // (E10): relaxed, (E4) makes sure of it, and of what was read by it.
    versioned oldest = tail_.load(std::memory_order_relaxed);
    for (;;) {
      const versioned next = first_not_free(oldest);
      if (next.version == oldest.version) return {};
      const versioned before = oldest;
      // (E47): relaxed, behind (E5), so it is not before the tail. If (E4) succeeds, the tail has not moved since.
      const std::uint64_t newest = head_.load_value(std::memory_order_relaxed);
      // (E4): release, pairs with (E7): the executor is done with these bytes, as is_reached() has said. Not stronger.
      if (tail_.compare_exchange_strong(oldest, next, std::memory_order_release, std::memory_order_relaxed)) {
        note_use(before.value, newest);
        return {next.version - before.version, next.value - before.value};
      }
    }
  }

  /// Moves the end of an open part that the calling thread has, and the head with it. Returns false, and changes
  /// nothing, where another part was given out since.
  bool move_end(const Part& part, std::uint64_t bytes) noexcept {
    record& own = record_of(part.number);
    // (E26): relaxed: the thread that has the part has seen (E3), and (E29), if it has shrunk before.
    const std::uint64_t end = own.end.load(std::memory_order_relaxed);
    const std::uint64_t less = part.bytes - bytes;
    versioned newest{end, part.number + 1};
    // (E27): release, pairs with (E2): what this thread wrote into the bytes that it gives back. Not stronger: it gets
    // nothing.
    if (!head_.compare_exchange_strong(newest, {end - less, part.number + 1}, std::memory_order_release,
                                       std::memory_order_relaxed))
      return false;
    // (E29): relaxed, (E6) is behind it.
    own.end.store(end - less, std::memory_order_relaxed);
    return true;
  }

  /// Returns why there is no room behind the head that was `seen`, while that part was the oldest one; `allocated` if
  /// there may be room now.
  [[gnu::noinline]] status no_room(versioned& seen, std::uint64_t oldest, std::uint64_t& target) noexcept {
    // (E18): acquire, pairs with (E2): what was given out up to here, and, where the oldest part is a trim's, (E19). An
    // exchange for itself, because it finds the newest head, of which no half is old.
    if (!head_.compare_exchange_strong(seen, seen, std::memory_order_acquire, std::memory_order_relaxed))
      return status::allocated;
    // Before the part is looked at: if it belongs to a trim that has ended by now, it is seen retired.
    // (E24): acquire, pairs with (E23). Not stronger: a count that is too old makes the allocation wait for the trim.
    const std::uint64_t ended = trims_ended_.load(std::memory_order_acquire);
    const record& one = record_of(oldest);
    // (E14): relaxed, behind (E7): the thread that took back the part before this one may have seen this one retired.
    const std::uint64_t retired = one.retired.load(std::memory_order_relaxed);
    if (retired > oldest + 1) return status::allocated;  // it came back
    if (retired == oldest + 1) {
      // (E17): relaxed alone: if the record is a later part's meanwhile, that part is just being retired, and its
      // thread wakes those who wait.
      target = one.busy_until.load(std::memory_order_relaxed);
      return target != no_value_helps ? status::busy : status::no_space;
    }
    // (E13): relaxed, (E18) has brought what matters.
    const std::uint64_t begun = trims_begun_.load(std::memory_order_relaxed);
    return ended == begun ? status::no_space : status::busy;
  }

  /// Returns the first part from `part` on that is not free. Nothing of it is sure until the tail was exchanged.
  versioned first_not_free(versioned part) const noexcept {
    for (;; ++part.version) {
      const record& one = record_of(part.version);
      // (E5): acquire, pairs with (E6), for (E11) and (E15).
      if (one.retired.load(std::memory_order_acquire) != part.version + 1) return part;
      // (E11): relaxed, behind (E5). If the record is another part's meanwhile, (E4) fails.
      const std::uint64_t until = one.busy_until.load(std::memory_order_relaxed);
      if (!finished_.is_reached(until)) return part;
      // (E15): relaxed, as (E11).
      part.value = one.end.load(std::memory_order_relaxed);
    }
  }

  void note_passed(std::uint64_t bytes, bool is_at_end) noexcept {
    if (bytes == 0) return;
    // (E30): relaxed alone, for statistics. The line of the head is this thread's at the moment.
    (is_at_end ? at_end_ : by_alignment_).fetch_add(bytes, std::memory_order_relaxed);
  }

  /// Notes how many bytes were in use at a moment, by the tail and the head of that moment.
  void note_use(std::uint64_t oldest, std::uint64_t newest) noexcept {
    const std::uint64_t in_use = (std::min)(newest - oldest, capacity_);
    // (E36): relaxed alone, for statistics.
    std::uint64_t seen = most_in_use_.load(std::memory_order_relaxed);
    while (seen < in_use) {
      // (E37): relaxed alone, as (E36).
      if (most_in_use_.compare_exchange_weak(seen, in_use, std::memory_order_relaxed, std::memory_order_relaxed))
        return;
    }
  }

  /// Returns the longest run of free bytes, of which there are `free`.
  std::uint64_t largest_run(std::uint64_t free) const noexcept {
    if (free == capacity_) return free;
    const std::uint64_t to_end = capacity_ - offset_of(head().value);
    return free <= to_end ? free : (std::max)(to_end, free - to_end);
  }

  versioned head() const noexcept {
    // (E1): relaxed: a guess, which (E2) makes sure of.
    return head_.load(std::memory_order_relaxed);
  }

  struct place {
    std::uint64_t start;   // a position
    std::uint64_t offset;  // the same in the buffer
  };
  /// Returns where a part begins, at the earliest: it does not lie across the end of the ring.
  place find_place(std::uint64_t position, std::uint64_t bytes, std::uint64_t alignment) noexcept {
    const std::uint64_t lap = lap_of(position);
    const std::uint64_t offset = align_up(position - lap, alignment);
    return offset <= capacity_ - bytes ? place{lap + offset, offset} : place{lap + capacity_, 0};
  }

  /// Returns the last position up to this one that lies at the beginning of the buffer. Threads leave it for those that
  /// allocate next, because a division costs as much as an exchange of 8 bytes.
  std::uint64_t lap_of(std::uint64_t position) noexcept {
    // (E21): relaxed alone: the beginning of some lap, of which only one is that near.
    const std::uint64_t left = lap_.load(std::memory_order_relaxed);
    if (position - left < capacity_) [[likely]]
      return left;
    // A thread that has been late is laps behind what another has left.
    const bool is_behind = position - left > UINT64_MAX / 2;
    const std::uint64_t lap = is_behind ? left - (left - position + capacity_ - 1) / capacity_ * capacity_
                                        : position - (position - left) % capacity_;
    // (E22): relaxed alone, as (E21).
    lap_.store(lap, std::memory_order_relaxed);
    return lap;
  }

  /// Returns where a position lies in the buffer.
  std::uint64_t offset_of(std::uint64_t position) const noexcept {
    // (E38): relaxed alone, as (E21).
    const std::uint64_t left = lap_.load(std::memory_order_relaxed);
    if (position - left <= UINT64_MAX / 2) return (position - left) % capacity_;
    return (capacity_ - (left - position) % capacity_) % capacity_;
  }

  bool has_room(const versioned& first, const versioned& oldest, std::uint64_t start,
                std::uint64_t end) const noexcept {
    const bool is_empty = oldest.value == first.value;  // then what is passed over is nobody's
    const bool has_bytes = end - (is_empty ? start : oldest.value) <= capacity_;
    return has_bytes && first.version - oldest.version <= mask_;
  }

  /// Returns what `retired` is in the record of a part that was given out and not retired: the last part's, if there
  /// was one.
  std::uint64_t retired_before(std::uint64_t number) const noexcept { return number > mask_ ? number - mask_ : 0; }

  record& record_of(std::uint64_t number) const noexcept { return records_[as_integer<std::size_t>(number) & mask_]; }

  const follower<Timeline> finished_;
  const std::uint64_t capacity_;
  const std::size_t mask_;
  const std::unique_ptr<record[]> records_;
  basic_event_count<platform> given_back_;
  typename platform::template atomic<std::uint64_t> trims_begun_;
  typename platform::template atomic<std::uint64_t> trims_ended_;
  typename platform::template atomic<std::uint64_t> lap_;
  alignas(cache_line) typename platform::double_word head_;
  typename platform::template atomic<std::uint64_t> by_alignment_;  // what was passed over, from the beginning
  typename platform::template atomic<std::uint64_t> at_end_;
  alignas(cache_line) typename platform::double_word tail_;
  typename platform::template atomic<std::uint64_t> most_in_use_;
};

// upload_batches: an upload ring of one writer. All parts that were given out between two calls of retire() are one
// batch, with one record.
//
//   not wrapped   | free |   in use   | free       |        limit = capacity
//                        tail         head
//   wrapped       |  in use   | free  |   in use   |        limit = tail
//                             head    tail
//
// An empty ring begins anew at offset 0, so an allocation can take its whole capacity.

/// \tparam Part       what is given out: upload_part
/// \tparam IsCounted  whether the bytes are counted that are passed over
template <timeline Timeline, class Part, bool IsCounted>
class upload_batches {
  using status = decltype(Part::status);

 public:
  using platform = timeline_platform<Timeline>;

  struct record {
    std::uint64_t end = 0;  // an offset
    std::uint64_t busy_until = 0;
    bool wraps = false;  // its end is behind the ring's end
  };

  /// \param records  a power of two of them
  upload_batches(const Timeline& finished, std::uint64_t capacity, std::unique_ptr<record[]> records,
                 std::size_t count) noexcept
      : finished_{finished},
        capacity_{possible_bytes(capacity)},
        mask_{count - 1},
        batches_{std::move(records)},
        now_{.limit = capacity_} {}

  Part try_allocate(std::uint64_t bytes, std::uint64_t alignment) noexcept {
    if (bytes == 0 || !std::has_single_bit(alignment)) return {status::invalid};
    if (!fits(bytes, alignment)) [[unlikely]] {
      if (const status outcome = make_room(bytes, alignment); outcome != status::allocated) return {outcome};
    }
    return take(bytes, alignment);
  }

  /// The same. Where it is busy, `target` is the value to wait for.
  Part attempt(std::uint64_t bytes, std::uint64_t alignment, std::uint64_t& target) noexcept {
    const Part part = try_allocate(bytes, alignment);
    if (part.status == status::busy) target = batches_[first_ & mask_].busy_until;
    return part;
  }

  template <class... Limits>
  Part allocate_within(std::uint64_t bytes, std::uint64_t alignment, const Limits&... limits) noexcept {
    const auto attempt_once = [&](std::uint64_t& target) { return attempt(bytes, alignment, target); };
    return retry_while_busy<platform>(finished_, attempt_once, limits...);
  }

  /// Returns false, and changes nothing, where another part was given out since.
  bool try_shrink(Part& part, std::uint64_t bytes) noexcept {
    TIDEMARK_ASSERT(part.status == status::allocated, "what was refused can't shrink");
    TIDEMARK_ASSERT(bytes <= part.bytes, "a part can't grow");
    if (!part || bytes > part.bytes) return false;
    if (!has_open() || part.offset + part.bytes != now_.head) return false;
    note_use();
    now_.head = part.offset + bytes;
    part.bytes = bytes;
    return true;
  }

  /// Takes the whole ring as one part if it is empty.
  Part take_whole() noexcept { return try_allocate(capacity_, 1); }

  /// Blocks until the timeline has reached the values of all batches, or is lost.
  void wait_for_all() const noexcept {
    for (std::size_t one = first_; one != end_; ++one)
      static_cast<void>(finished_.wait(batches_[one & mask_].busy_until));
  }

  /// Returns false where nothing was given out since the last call.
  bool retire(std::uint64_t finished) noexcept {
    if (!has_open()) return false;
    if (end_ - first_ > mask_) {
      record& last = batches_[(end_ - 1) & mask_];
      last = {now_.head, (std::max)(last.busy_until, finished), last.wraps || now_.open_wraps};
    } else {
      batches_[end_++ & mask_] = {now_.head, finished, now_.open_wraps};
    }
    now_.open = now_.head;
    now_.open_wraps = false;
    return true;
  }

  std::uint64_t reclaim() noexcept {
    const std::uint64_t before = bytes_in_use();
    note_use();
    for (; first_ != end_ && finished_.is_reached(batches_[first_ & mask_].busy_until); ++first_) {
      const record& oldest = batches_[first_ & mask_];
      now_.tail = oldest.end;
      now_.wrapped = now_.wrapped && !oldest.wraps;
    }
    now_.limit = now_.wrapped ? now_.tail : capacity_;
    if (bytes_in_use() == 0) now_ = {.limit = capacity_};
    return before - bytes_in_use();
  }

  /// \param bytes  a power of two
  template <class Release>
  std::uint64_t trim(std::uint64_t bytes, const Release& release) {
    reclaim();
    const restored as_before{now_, now_};
    const restored passed_before{passed_, passed_};
    std::uint64_t trimmed = 0;
    while (fits(bytes, bytes) || wrap(bytes)) {
      release(take(bytes, bytes).offset);
      trimmed += bytes;
    }
    return trimmed;
  }

  std::uint64_t bytes_in_use() const noexcept {
    return now_.wrapped ? capacity_ - now_.tail + now_.head : now_.head - now_.tail;
  }
  std::uint64_t capacity() const noexcept { return capacity_; }

  /// \tparam Statistics  upload_statistics
  template <class Statistics>
  Statistics statistics() const noexcept {
    const std::uint64_t in_use = bytes_in_use();
    const std::uint64_t run = now_.wrapped ? now_.tail - now_.head : (std::max)(capacity_ - now_.head, now_.tail);
    const std::uint64_t free_run = in_use == 0 ? capacity_ : run;
    return {capacity_, in_use, (std::max)(most_in_use_, in_use), free_run, passed_.by_alignment, passed_.at_end};
  }

 private:
  struct passed_bytes {
    std::uint64_t by_alignment = 0;
    std::uint64_t at_end = 0;
  };
  struct state {
    std::uint64_t head = 0;
    std::uint64_t limit = 0;  // up to here there is nothing in the way of the head
    std::uint64_t tail = 0;
    std::uint64_t open = 0;  // where the parts begin that were not retired yet
    bool wrapped = false;
    bool open_wraps = false;
  };
  /// Its destructor gives something the value that it had before.
  template <class What>
  struct restored {
    ~restored() { which = before; }
    What& which;
    const What before;
  };
  template <class What>
  restored(What&, const What&) -> restored<What>;

  bool has_open() const noexcept { return now_.head != now_.open || now_.open_wraps; }
  void note_use() noexcept { most_in_use_ = (std::max)(most_in_use_, bytes_in_use()); }

  bool fits(std::uint64_t bytes, std::uint64_t alignment) const noexcept {
    // A sum of less than 2^63 and less than 2^62.
    return bytes < too_many_bytes && align_up(now_.head, alignment) + bytes <= now_.limit;
  }

  /// Gives out bytes that fit.
  Part take(std::uint64_t bytes, std::uint64_t alignment) noexcept {
    const std::uint64_t offset = align_up(now_.head, alignment);
    if constexpr (IsCounted) passed_.by_alignment += offset - now_.head;
    now_.head = offset + bytes;
    return {status::allocated, offset, bytes};
  }

  /// Returns `allocated` if `bytes` bytes fit, otherwise why they don't.
  [[gnu::noinline]] status make_room(std::uint64_t bytes, std::uint64_t alignment) noexcept {
    if (bytes > capacity_) return status::too_large;
    reclaim();
    if (fits(bytes, alignment) || wrap(bytes)) return status::allocated;
    return first_ == end_ ? status::no_space : status::busy;
  }

  /// Passes over what is left at the end, if there is room for `bytes` bytes at the beginning. Returns whether there
  /// was.
  bool wrap(std::uint64_t bytes) noexcept {
    if (now_.wrapped || bytes > now_.tail) return false;
    if constexpr (IsCounted) passed_.at_end += capacity_ - now_.head;
    now_.head = 0;
    now_.limit = now_.tail;
    now_.wrapped = now_.open_wraps = true;
    return true;
  }

  const follower<Timeline> finished_;
  const std::uint64_t capacity_;
  const std::size_t mask_;
  const std::unique_ptr<record[]> batches_;
  std::size_t first_ = 0;  // the oldest batch; both wrap around, and are compared by their difference
  std::size_t end_ = 0;
  state now_;
  passed_bytes passed_;
  std::uint64_t most_in_use_ = 0;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_MEMORY_DETAIL_UPLOAD_PARTS_HPP
