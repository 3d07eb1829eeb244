// SPDX-License-Identifier: BSL-1.0
//
// upload_parts: an upload ring of several writers. Each part has a record, because parts are retired in any order.
//
//   tail                                    head           positions only rise; position modulo capacity is the offset
//   |  part  |  part  | waste |  part  |    |
//   record n  n + 1    of n + 2  n + 2      n + 3          a record says where the part ends, and until when it is
//                                                          in use; `retired` says for which part that was written
//
// Who writes: the head, any thread that allocates, by one exchange of {position, number of the next part}; a record,
// the thread that has the part; the tail, any thread that finds the oldest parts free, by one exchange of {position,
// number of the first part that is not}, which only one of several threads can win; the lap, any thread that
// allocates.
//
// A position is the number of bytes that were passed, modulo 2^64, and a lap begins each `capacity` of them. So where a
// lap begins is counted from a lap before or behind it, and not from 0. An empty ring and a full one differ: their ends
// are 0 and `capacity` positions apart.
#ifndef TIDEMARK_MEMORY_DETAIL_UPLOAD_PARTS_HPP
#define TIDEMARK_MEMORY_DETAIL_UPLOAD_PARTS_HPP

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "../../fence/timeline.hpp"
#include "../../platform/assert.hpp"
#include "../../platform/platform.hpp"
#include "space_waiters.hpp"
#include "upload_sizes.hpp"
#include "waiting_for_space.hpp"

namespace tidemark::detail {

/// \tparam Part  what is given out: upload_part
template <timeline Timeline, class Part>
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

  template <class... Limits>
  Part allocate_within(std::uint64_t bytes, std::uint64_t alignment, const Limits&... limits) noexcept {
    const auto attempt_once = [&](std::uint64_t& target, bool) { return attempt(bytes, alignment, target); };
    return wait_for_space(waiters_, finished_, attempt_once, limits...);
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
    waiters_.given_back();
    return true;
  }

  std::uint64_t reclaim() noexcept {
    // (E10): relaxed, (E4) makes sure of it, and of what was read by it.
    versioned oldest = tail_.load(std::memory_order_relaxed);
    for (;;) {
      const versioned next = first_not_free(oldest);
      if (next.version == oldest.version) return 0;
      // (E4): release, pairs with (E7): the executor is done with these bytes, as is_reached() has said. Not stronger.
      if (tail_.compare_exchange_strong(oldest, next, std::memory_order_release, std::memory_order_relaxed))
        return next.value - oldest.value;
    }
  }

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

 private:
  /// A trim under way. It has the whole ring, if it could get it.
  struct trimming {
    explicit trimming(upload_parts& of) noexcept : ring{of}, part{take_whole(of)} {}
    trimming(const trimming&) = delete;
    trimming& operator=(const trimming&) = delete;
    ~trimming() {
      if (part) static_cast<void>(ring.retire(part, 0));
      // (E23): release, pairs with (E24): an allocation that counts this trim as ended sees its part retired (E6).
      ring.trims_ended_.fetch_add(1, std::memory_order_release);
      // An allocation that took this trim for what is missing may find now that it is an open part.
      ring.waiters_.given_back();
    }
    static Part take_whole(upload_parts& ring) noexcept {
      // (E19): relaxed, (E2) is behind it.
      ring.trims_begun_.fetch_add(1, std::memory_order_relaxed);
      return ring.try_allocate(ring.capacity_, 1);
    }
    upload_parts& ring;
    const Part part;
  };

  /// Where it is busy, `target` is the value to wait for; it stays as it is if no value helps.
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
        // (E2): release, pairs with (E18), for (E19). Otherwise what is handed over comes through (E4); the exchange
        // only settles which thread has these bytes.
        if (head_.compare_exchange_strong(seen, {end, seen.version + 1}, std::memory_order_release,
                                          std::memory_order_relaxed)) {
          // (E3): relaxed, (E6) is behind it.
          record_of(seen.version).end.store(end, std::memory_order_relaxed);
          return {status::allocated, at.offset, bytes, seen.version};
        }
      } else if (reclaim() == 0) {
        const status outcome = no_room(seen, oldest.version, target);
        if (outcome != status::allocated) return {outcome};
      }
    }
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
      return status::busy;
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
  space_waiters<platform> waiters_;
  typename platform::template atomic<std::uint64_t> trims_begun_;
  typename platform::template atomic<std::uint64_t> trims_ended_;
  typename platform::template atomic<std::uint64_t> lap_;
  alignas(cache_line) typename platform::double_word head_;
  alignas(cache_line) typename platform::double_word tail_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_MEMORY_DETAIL_UPLOAD_PARTS_HPP
