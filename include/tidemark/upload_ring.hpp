// SPDX-License-Identifier: BSL-1.0
//
// upload_ring and shared_upload_ring: memory for data on its way to an executor, given out from one ring and taken back in
// order when a fence has reached a value.
//
//   upload_ring ring{buffer.size(), uploads.view()};     one thread allocates: a few additions
//   upload_part part = ring.allocate(bytes, 16);         an offset into the buffer; waits while the ring is full
//   ... write to buffer + part.offset; more parts; submit work that reads them, which signals `serial` ...
//   ring.retire(serial);                                 all parts so far are in use until the fence reaches that value
//
//   shared_upload_ring ring{buffer.size(), uploads.view()};     any thread allocates
//   ring.retire(part, serial);                                  this part is in use until then
//
//   tail                                    head           the shared ring: positions only rise; position modulo capacity
//   |  part  |  part  | waste |  part  |    |              is the offset
//   record n  n + 1    of n + 2  n + 2      n + 3          one record for each part: where it ends, and until when it is
//                                                          in use (`retired` says for which part that was written)
//
// A part never wraps: what is left at the end of the ring is passed over, and counts as the part's until that is free. An
// empty ring and a full one are never taken for one another: bytes in use are counted, or positions don't wrap (2^64
// bytes). Of an empty ring the whole capacity can be had, wherever its head stands (trap 27).
//
// Who writes a shared ring: the head, any thread that allocates, by one exchange of {position, number of the next part}; a
// record, the thread that has the part; the tail, any thread that allocates and finds the oldest part free, by one exchange
// of {position, number of the oldest part}, which only one of several can win.
//
// What the executor read before it signalled happens before who gets the same bytes next writes them.
//
// A ring does not wait at its end: the caller must see to it that the executor is done before the buffer goes. (A rename ring
// owns its backings, so it does wait.)
//
// Not promised: fairness among those who wait; space, as long as the oldest part is not retired.
#ifndef TIDEMARK_UPLOAD_RING_HPP
#define TIDEMARK_UPLOAD_RING_HPP

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "detail/assert.hpp"
#include "detail/retrying.hpp"
#include "detail/ring_sizes.hpp"
#include "fence.hpp"
#include "platform.hpp"

namespace tidemark {

enum class upload_status : std::uint8_t {
  allocated,
  no_space,  ///< Not now: the oldest part is in use and was retired, so that the fence ends it, or another thread trims the
             ///< ring. From try_allocate(), or at the deadline.
  all_open,   ///< Not now, and there is nothing to wait for: the oldest part was not retired yet. From both forms.
  too_large,  ///< Never: more than the capacity.
  invalid,    ///< No bytes, or an alignment that is no power of two.
  stopped,    ///< The stop token was triggered first.
};

/// Some bytes of an upload ring, or why there are none.
struct [[nodiscard]] upload_part {
  upload_status status = upload_status::no_space;
  std::uint64_t offset = 0;  ///< In the ring's buffer.
  std::uint64_t bytes = 0;
  std::uint64_t number = 0;  ///< Of the part, for retire().

  explicit operator bool() const noexcept { return status == upload_status::allocated; }
};

/// For one allocating thread at a time; another one later, if the hand-over itself synchronizes.
///
///   not wrapped   | free |   in use   | free       |        limit = capacity
///                        tail         head
///   wrapped       |  in use   | free  |   in use   |        limit = tail
///                             head    tail
///
/// \tparam View  of a fence that tells which work is finished; once it is poisoned, nothing is in use any more
template <class View = progress_fence_view>
class upload_ring {
 public:
  using platform = typename View::platform;

  /// \param capacity      bytes: more than 0 and less than 2^62, which is asserted; a ring of another capacity has none
  /// \param most_batches  retire() can tell so many of them apart, 1 at least, rounded up to a power of two; 24 bytes each
  /// Throws std::bad_alloc where there is no memory for the batches.
  upload_ring(std::uint64_t capacity, View finished, std::size_t most_batches = 256)
      : finished_{finished},
        capacity_{detail::possible_bytes(capacity)},
        mask_{detail::possible_records(most_batches) - 1},
        batches_{std::make_unique<batch[]>(mask_ + 1)},
        now_{.limit = capacity_} {
    TIDEMARK_ASSERT(capacity > 0 && capacity < detail::too_many_bytes, "an upload ring has some bytes, less than 2^62");
  }
  upload_ring(const upload_ring&) = delete;
  upload_ring& operator=(const upload_ring&) = delete;
  /// Does not wait for what is in use.
  ~upload_ring() = default;

  /// Returns some bytes at a multiple of `alignment`, a power of two, of the ring's buffer, if they are free; never waits.
  /// Otherwise nothing is changed, and the status is `no_space` while a batch is in use, `all_open` while none is: then
  /// retire() comes first; `too_large`, or `invalid`. Progress: wait-free; only where the contiguous rest is too short,
  /// O(batches that came back).
  upload_part try_allocate(std::uint64_t bytes, std::uint64_t alignment = 1) noexcept {
    if (bytes == 0 || !std::has_single_bit(alignment)) return {upload_status::invalid};
    if (!fits(bytes, alignment)) [[unlikely]] {
      if (const upload_status outcome = make_room(bytes, alignment); outcome != upload_status::allocated)
        return {outcome};
    }
    return take(bytes, alignment);
  }

  /// The same, but waits for the oldest batch instead of returning `no_space`: for ever, or until `limits`, which are a
  /// duration, or a point of the steady or the system clock, or nothing; then a stop token, or nothing. At the deadline the
  /// status is `no_space`, after a stop `stopped`. Blocking, parked.
  template <class... Limits>
  upload_part allocate(std::uint64_t bytes, std::uint64_t alignment, const Limits&... limits) noexcept {
    const auto attempt = [&](std::uint64_t& awaited) {
      const upload_part part = try_allocate(bytes, alignment);
      if (part.status == upload_status::no_space) awaited = batches_[first_ & mask_].busy_until;
      return part;
    };
    return detail::retry_while<upload_status::no_space, upload_status::stopped>(finished_, attempt, limits...);
  }

  /// All parts that were allocated since the last call, a batch, are in use until the fence has reached `finished`; their
  /// bytes come back when all batches before are free too. Where there are too many batches, this one joins the last one.
  /// Progress: wait-free.
  void retire(std::uint64_t finished) noexcept {
    if (now_.head == now_.open && !now_.open_wraps) return;
    if (end_ - first_ > mask_) {
      batch& last = batches_[(end_ - 1) & mask_];
      last = {now_.head, std::max(last.busy_until, finished), last.wraps || now_.open_wraps};
    } else {
      batches_[end_++ & mask_] = {now_.head, finished, now_.open_wraps};
    }
    now_.open = now_.head;
    now_.open_wraps = false;
  }

  /// Takes back what is free from the oldest batch on. Returns how many bytes. Allocating does so when it has no room.
  /// Progress: wait-free.
  std::uint64_t reclaim() noexcept {
    const std::uint64_t before = bytes_in_use();
    for (; first_ != end_ && finished_.is_reached(batches_[first_ & mask_].busy_until); ++first_) {
      const batch& oldest = batches_[first_ & mask_];
      now_.tail = oldest.end;
      now_.wrapped = now_.wrapped && !oldest.wraps;
    }
    now_.limit = now_.wrapped ? now_.tail : capacity_;
    if (bytes_in_use() == 0) now_ = {.limit = capacity_};
    return before - bytes_in_use();
  }

  /// Calls `release(offset)` for every piece of `bytes` bytes, a power of two, at a multiple of that, that is free: its
  /// content may be dropped, and its memory given back to the system until it is written again. Returns how many bytes.
  /// `release` must not call the ring. What it throws passes through, and the ring is as before.
  template <class Release>
  std::uint64_t trim(std::uint64_t bytes, const Release& release) {
    TIDEMARK_ASSERT(std::has_single_bit(bytes), "an upload ring is trimmed by pieces whose size is a power of two");
    if (!std::has_single_bit(bytes)) return 0;
    reclaim();
    const restored as_before{now_, now_};
    std::uint64_t trimmed = 0;
    while (fits(bytes, bytes) || wrap(bytes)) {
      release(take(bytes, bytes).offset);
      trimmed += bytes;
    }
    return trimmed;
  }

  /// Returns how many bytes belong to parts, those that were passed over included. Parts that are free count until
  /// reclaim(), or an allocation that needs room, takes them back.
  [[nodiscard]] std::uint64_t bytes_in_use() const noexcept {
    return now_.wrapped ? capacity_ - now_.tail + now_.head : now_.head - now_.tail;
  }
  [[nodiscard]] std::uint64_t capacity() const noexcept { return capacity_; }

 private:
  struct batch {
    std::uint64_t end = 0;  // an offset
    std::uint64_t busy_until = 0;
    bool wraps = false;  // its end is behind the ring's end
  };
  struct state {
    std::uint64_t head = 0;
    std::uint64_t limit = 0;  // up to here there is nothing in the way of the head
    std::uint64_t tail = 0;
    std::uint64_t open = 0;  // where the parts begin that were not retired yet
    bool wrapped = false;
    bool open_wraps = false;
  };
  /// At its end a state is as it was.
  struct restored {
    ~restored() { which = before; }
    state& which;
    const state before;
  };

  bool fits(std::uint64_t bytes, std::uint64_t alignment) const noexcept {
    // A sum of less than 2^63 and less than 2^62.
    return bytes < detail::too_many_bytes && detail::align_up(now_.head, alignment) + bytes <= now_.limit;
  }

  /// What fits.
  upload_part take(std::uint64_t bytes, std::uint64_t alignment) noexcept {
    const std::uint64_t offset = detail::align_up(now_.head, alignment);
    now_.head = offset + bytes;
    return {upload_status::allocated, offset, bytes};
  }

  /// So that it fits, or why not.
  [[gnu::noinline]] upload_status make_room(std::uint64_t bytes, std::uint64_t alignment) noexcept {
    if (bytes > capacity_) return upload_status::too_large;
    reclaim();
    if (fits(bytes, alignment) || wrap(bytes)) return upload_status::allocated;
    return first_ == end_ ? upload_status::all_open : upload_status::no_space;
  }

  /// Passes over what is left at the end, if there is room for so many bytes at the beginning.
  bool wrap(std::uint64_t bytes) noexcept {
    if (now_.wrapped || bytes > now_.tail) return false;
    now_.head = 0;
    now_.limit = now_.tail;
    now_.wrapped = now_.open_wraps = true;
    return true;
  }

  const View finished_;
  const std::uint64_t capacity_;
  const std::size_t mask_;
  const std::unique_ptr<batch[]> batches_;
  std::size_t first_ = 0;  // the oldest batch; both wrap around, and are compared by their difference
  std::size_t end_ = 0;
  state now_;
};

/// For any number of allocating threads.
/// \tparam View  of a fence that tells which work is finished; once it is poisoned, nothing is in use any more
template <class View = progress_fence_view>
class shared_upload_ring {
 public:
  using platform = typename View::platform;

  /// \param capacity    bytes: more than 0 and less than 2^62, which is asserted; a ring of another capacity has none
  /// \param most_parts  at most so many at a time, 1 at least, rounded up to a power of two; 24 bytes each
  /// Throws std::bad_alloc where there is no memory for the records.
  shared_upload_ring(std::uint64_t capacity, View finished, std::size_t most_parts = 1024)
      : finished_{finished},
        capacity_{detail::possible_bytes(capacity)},
        mask_{detail::possible_records(most_parts) - 1},
        records_{std::make_unique<record[]>(mask_ + 1)},
        head_{0},
        tail_{0} {
    TIDEMARK_ASSERT(capacity > 0 && capacity < detail::too_many_bytes, "an upload ring has some bytes, less than 2^62");
  }
  shared_upload_ring(const shared_upload_ring&) = delete;
  shared_upload_ring& operator=(const shared_upload_ring&) = delete;
  /// Does not wait for what is in use. No other call may be under way.
  ~shared_upload_ring() = default;

  /// Returns some bytes at a multiple of `alignment`, a power of two, of the ring's buffer, if they are free; never waits.
  /// Otherwise nothing is changed, and the status is `no_space` while the oldest part is retired and in use, or while another
  /// thread trims the ring; `all_open` where the oldest part was not retired at some moment of the call; `too_large`, or
  /// `invalid`. Progress: lock-free. Thread-safe.
  upload_part try_allocate(std::uint64_t bytes, std::uint64_t alignment = 1) noexcept {
    shortage unused;
    return attempt(bytes, alignment, unused);
  }

  /// The same, but waits for the oldest part, or for the thread that trims, instead of returning `no_space`: for ever, or
  /// until `limits`, which are a duration, or a point of the steady or the system clock, or nothing; then a stop token, or
  /// nothing. At the deadline the status is `no_space`, after a stop `stopped`. Blocking, parked. Thread-safe.
  template <class... Limits>
  upload_part allocate(std::uint64_t bytes, std::uint64_t alignment, const Limits&... limits) noexcept {
    either_fence awaited{*this, {}};
    const auto attempt_once = [&](std::uint64_t& value) {
      const upload_part part = attempt(bytes, alignment, awaited.why);
      value = awaited.why.awaited;
      return part;
    };
    return detail::retry_while<upload_status::no_space, upload_status::stopped>(awaited, attempt_once, limits...);
  }

  /// The part is in use until the fence has reached `finished`; its bytes come back when all parts before it are free
  /// too. The caller must be the thread that has the part, and call once for each part. A part that was refused, and one
  /// that was retired before, are asserted, and change nothing. So is, where assertions are on, a part that this ring has
  /// not given out. Progress: wait-free.
  void retire(const upload_part& part, std::uint64_t finished) noexcept {
    TIDEMARK_ASSERT(part.status == upload_status::allocated, "what was refused can't be retired");
    // (E20): relaxed alone, for the assertion: who has the part has seen (E2).
    TIDEMARK_ASSERT(!part || part.number < head_.load_version(std::memory_order_relaxed), "there is no such part");
    record& own = record_of(part.number);
    // (E8): relaxed: who has the part finds what its record's last part left there, (E7) has brought it.
    const bool is_open = own.retired.load(std::memory_order_relaxed) == retired_before(part.number);
    TIDEMARK_ASSERT(!part || is_open, "a part was retired twice");
    if (!part || !is_open) return;
    // (E9): relaxed, (E6) is behind it.
    own.busy_until.store(finished, std::memory_order_relaxed);
    // (E6): release, pairs with (E5): where the part ends, and until when it is in use.
    own.retired.store(part.number + 1, std::memory_order_release);
  }

  /// Takes back what is free from the oldest part on. Returns how many bytes. Allocating does so when it has no room.
  /// Progress: lock-free. Thread-safe.
  std::uint64_t reclaim() noexcept {
    std::uint64_t freed = 0;
    // (E10): relaxed, (E4) makes sure of it, and of what was read by it.
    versioned oldest = tail_.load(std::memory_order_relaxed);
    for (;;) {
      const record& one = record_of(oldest.version);
      // (E5): acquire, pairs with (E6), for (E11) and (E15).
      if (one.retired.load(std::memory_order_acquire) != oldest.version + 1) return freed;
      // (E11): relaxed, behind (E5). If the record is another part's meanwhile, (E4) fails.
      const std::uint64_t until = one.busy_until.load(std::memory_order_relaxed);
      // (E15): relaxed, as (E11).
      const std::uint64_t end = one.end.load(std::memory_order_relaxed);
      if (!finished_.is_reached(until)) return freed;
      // (E4): release, pairs with (E7): the executor is done with these bytes, as is_reached() has said. Not stronger.
      if (tail_.compare_exchange_strong(oldest, {end, oldest.version + 1}, std::memory_order_release,
                                        std::memory_order_relaxed)) {
        freed += end - oldest.value;
        oldest = {end, oldest.version + 1};
      }
    }
  }

  /// If nothing is in use, calls `release(offset)` for every piece of `bytes` bytes, a power of two, at a multiple of that:
  /// its content may be dropped, and its memory given back to the system until it is written again. Returns how many bytes.
  /// Meanwhile the ring is full: try_allocate() returns `no_space`, allocate() waits. `release` must not call the ring. What
  /// it throws passes through, and the ring is as before. Progress: lock-free but for `release`. Thread-safe.
  template <class Release>
  std::uint64_t trim(std::uint64_t bytes, const Release& release) {
    TIDEMARK_ASSERT(std::has_single_bit(bytes), "an upload ring is trimmed by pieces whose size is a power of two");
    if (!std::has_single_bit(bytes)) return 0;
    reclaim();
    const trimming whole{*this};
    if (!whole.part) return 0;
    std::uint64_t trimmed = 0;
    for (; trimmed + bytes <= capacity_; trimmed += bytes) release(trimmed);
    return trimmed;
  }

  /// Returns how many bytes belong to parts, those that were passed over included, and at most the capacity. Parts that are
  /// free count until reclaim(), or an allocation that needs room, takes them back. For looking only: while other threads
  /// allocate and reclaim it may be more than at any one moment. Progress: wait-free. Thread-safe.
  [[nodiscard]] std::uint64_t bytes_in_use() const noexcept {
    // (E12): relaxed alone, for looking.
    const std::uint64_t from = tail_.load_value(std::memory_order_relaxed);
    // (E16): relaxed alone, as above.
    const std::uint64_t to = head_.load_value(std::memory_order_relaxed);
    return to < from ? 0 : std::min(to - from, capacity_);
  }
  [[nodiscard]] std::uint64_t capacity() const noexcept { return capacity_; }

 private:
  struct record {
    typename platform::template atomic<std::uint64_t> end;         // where the part ends: a position
    typename platform::template atomic<std::uint64_t> busy_until;  // a value of the fence
    typename platform::template atomic<std::uint64_t> retired;  // the number of the part that this is said of, plus 1
  };

  /// Counts the trims that have ended. Few wait for that.
  using trim_fence = basic_fence<platform, fence_options{.capacity = 1, .arity = 2, .max_spins = 0}>;

  /// What ends it that there is no space: a value of the fence, or of the count of trims.
  struct shortage {
    std::uint64_t awaited = 0;
    bool is_trimmed = false;
  };

  /// What allocate() waits for.
  struct either_fence {
    using platform = typename View::platform;

    template <class Token>
    wait_status wait_until(std::uint64_t value, deadline until, const Token& token) const noexcept {
      return why.is_trimmed ? ring.trims_ended_.wait_until(value, until, token)
                            : ring.finished_.wait_until(value, until, token);
    }
    const shared_upload_ring& ring;
    shortage why;
  };

  /// A trim under way, which has the whole ring, if it could get it.
  struct trimming {
    explicit trimming(shared_upload_ring& of) noexcept : ring{of}, part{take_whole(of)} {}
    trimming(const trimming&) = delete;
    ~trimming() {
      if (part) ring.retire(part, 0);
      ring.trims_ended_.signal_next();
    }
    static upload_part take_whole(shared_upload_ring& ring) noexcept {
      // (E19): relaxed, (E2) is behind it.
      ring.trims_begun_.fetch_add(1, std::memory_order_relaxed);
      return ring.try_allocate(ring.capacity_);
    }
    shared_upload_ring& ring;
    const upload_part part;
  };

  upload_part attempt(std::uint64_t bytes, std::uint64_t alignment, shortage& why) noexcept {
    if (bytes == 0 || !std::has_single_bit(alignment)) return {upload_status::invalid};
    if (bytes > capacity_) return {upload_status::too_large};
    versioned seen = head();
    for (;;) {
      const std::uint64_t start = place(seen.value, bytes, alignment);
      const std::uint64_t end = start + bytes;
      // (E7): acquire, pairs with (E4).
      const versioned oldest = tail_.load(std::memory_order_acquire);
      if (has_room(seen, oldest, start, end)) {
        // (E2): release, pairs with (E18), for (E19). Otherwise what is handed over comes through (E4); the exchange only
        // settles who has these bytes.
        if (head_.compare_exchange_strong(seen, {end, seen.version + 1}, std::memory_order_release,
                                          std::memory_order_relaxed)) {
          // (E3): relaxed, (E6) is behind it.
          record_of(seen.version).end.store(end, std::memory_order_relaxed);
          return {upload_status::allocated, start % capacity_, bytes, seen.version};
        }
      } else if (reclaim() == 0) {
        const upload_status outcome = no_room(seen, oldest.version, why);
        if (outcome != upload_status::allocated) return {outcome};
      }
    }
  }

  /// Why there is no room behind the head that was `seen`, while that part was the oldest one; `allocated` if there may be
  /// room now.
  [[gnu::noinline]] upload_status no_room(versioned& seen, std::uint64_t oldest, shortage& why) noexcept {
    // (E18): acquire, pairs with (E2): what was given out up to here, and, where the oldest part is a trim's, (E19). An exchange
    // for itself, because it finds the newest head, of which no half is old.
    if (!head_.compare_exchange_strong(seen, seen, std::memory_order_acquire, std::memory_order_relaxed))
      return upload_status::allocated;
    // Before the part is looked at: if it belongs to a trim that has ended by now, it is seen retired.
    const std::uint64_t ended = trims_ended_.current_value();
    const record& one = record_of(oldest);
    // (E14): relaxed, behind (E7): who took back the part before this one may have seen this one retired.
    const std::uint64_t retired = one.retired.load(std::memory_order_relaxed);
    if (retired > oldest + 1) return upload_status::allocated;  // it came back
    if (retired == oldest + 1) {
      // (E17): relaxed alone: if the record is a later part's meanwhile, its wait is as good.
      why = {one.busy_until.load(std::memory_order_relaxed), false};
      return upload_status::no_space;
    }
    // (E13): relaxed, (E18) has brought what matters.
    const std::uint64_t begun = trims_begun_.load(std::memory_order_relaxed);
    if (ended == begun) return upload_status::all_open;
    why = {begun, true};
    return upload_status::no_space;
  }

  versioned head() const noexcept {
    // (E1): relaxed: a guess, which (E2) makes sure of.
    return head_.load(std::memory_order_relaxed);
  }

  /// Where a part begins, at the earliest: not across the end of the ring.
  std::uint64_t place(std::uint64_t position, std::uint64_t bytes, std::uint64_t alignment) const noexcept {
    const std::uint64_t lap = position - position % capacity_;
    const std::uint64_t offset = detail::align_up(position - lap, alignment);
    return offset <= capacity_ - bytes ? lap + offset : lap + capacity_;
  }

  bool has_room(const versioned& first, const versioned& oldest, std::uint64_t start,
                std::uint64_t end) const noexcept {
    const bool is_empty = oldest.value == first.value;  // then what is passed over is nobody's
    const bool has_bytes = end - (is_empty ? start : oldest.value) <= capacity_;
    return has_bytes && first.version - oldest.version <= mask_;
  }

  /// What `retired` is in the record of a part that was given out, and not retired: the last part's, if there was one.
  std::uint64_t retired_before(std::uint64_t number) const noexcept { return number > mask_ ? number - mask_ : 0; }

  record& record_of(std::uint64_t number) const noexcept { return records_[static_cast<std::size_t>(number) & mask_]; }

  const View finished_;
  const std::uint64_t capacity_;
  const std::size_t mask_;
  const std::unique_ptr<record[]> records_;
  trim_fence trims_ended_;
  typename platform::template atomic<std::uint64_t> trims_begun_;
  alignas(cache_line) typename platform::double_word head_;
  alignas(cache_line) typename platform::double_word tail_;
};

}  // namespace tidemark

#endif  // TIDEMARK_UPLOAD_RING_HPP
