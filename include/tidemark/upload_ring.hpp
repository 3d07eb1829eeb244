// SPDX-License-Identifier: BSL-1.0
//
// upload_ring: memory for data on its way to an executor, given out from one ring and taken back in order when a fence
// has reached a value.
//
//   upload_ring ring{buffer.size(), uploads.view()};
//   upload_part part = ring.allocate(bytes, 16);           an offset into the buffer; waits while the ring is full
//   ... write to buffer + part.offset, submit work that reads it, which signals `serial` ...
//   ring.retire(part, serial);                             in use until the fence reaches that value
//
//   tail                                    head           positions only rise; position modulo capacity is the offset
//   |  part  |  part  | waste |  part  |    |
//   record n  n + 1    of n + 2  n + 2      n + 3          one record for each part: where it ends, and until when it is
//                                                          in use (`retired` says for which part that was written)
//
// A part never wraps: what is left at the end of the ring is passed over, and counts as the part's until that is free.
// Positions don't wrap either (2^64 bytes), so an empty ring (tail = head) and a full one are never taken for one another;
// of an empty ring the whole capacity can be had, wherever its head stands (trap 27).
//
// Who writes: the head, any thread that allocates, by one exchange of {position, number of the next part}; a record, the
// thread that has the part; the tail, any thread that allocates and finds the oldest part free, by one exchange of
// {position, number of the oldest part}, which only one of several can win.
//
// What the executor read before it signalled happens before who gets the same bytes next writes them.
//
// Not promised: fairness among those who wait; space, as long as the oldest part is not retired.
#ifndef TIDEMARK_UPLOAD_RING_HPP
#define TIDEMARK_UPLOAD_RING_HPP

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "detail/assert.hpp"
#include "detail/waiting.hpp"
#include "fence.hpp"
#include "platform.hpp"

namespace tidemark {

enum class upload_status : std::uint8_t {
  allocated,
  no_space,   ///< Not now: parts are in use that were retired. From the form that does not wait, or at the deadline.
  all_open,   ///< Not now, and there is nothing to wait for: the oldest part was not retired yet.
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

/// \tparam View  of a fence that tells which work is finished; once it is poisoned, nothing is in use any more
template <class View = progress_fence_view>
class upload_ring {
 public:
  using platform = typename View::platform;

  /// \param capacity    bytes
  /// \param most_parts  at most so many at a time, rounded up to a power of two; 24 bytes each
  upload_ring(std::uint64_t capacity, View finished, std::size_t most_parts = 1024)
      : finished_{finished},
        capacity_{capacity},
        mask_{std::bit_ceil(most_parts) - 1},
        records_{std::make_unique<record[]>(mask_ + 1)},
        head_{0},
        tail_{0} {
    TIDEMARK_ASSERT(capacity > 0 && capacity < std::uint64_t{1} << 62, "an upload ring has some bytes, less than 2^62");
  }
  upload_ring(const upload_ring&) = delete;
  upload_ring& operator=(const upload_ring&) = delete;

  /// Some bytes at a multiple of `alignment` of the ring's buffer, if they are free; never waits. What is refused changes
  /// nothing. Progress: lock-free. Thread-safe.
  upload_part try_allocate(std::uint64_t bytes, std::uint64_t alignment = 1) noexcept {
    if (bytes == 0 || !std::has_single_bit(alignment)) return {upload_status::invalid};
    if (bytes > capacity_) return {upload_status::too_large};
    versioned seen = head();
    for (;;) {
      const std::uint64_t start = place(seen.value, bytes, alignment);
      const std::uint64_t end = start + bytes;
      if (has_room(seen, start, end)) {
        // (E2): relaxed alone: what is handed over comes through (E4); the exchange only settles who has these bytes.
        if (head_.compare_exchange_strong(seen, {end, seen.version + 1}, std::memory_order_relaxed,
                                          std::memory_order_relaxed)) {
          // (E3): relaxed, (E6) is behind it.
          record_of(seen.version).end.store(end, std::memory_order_relaxed);
          return {upload_status::allocated, start % capacity_, bytes, seen.version};
        }
      } else if (reclaim() == 0) {
        const versioned now = head();
        if (now == seen) return {upload_status::no_space};
        seen = now;
      }
    }
  }

  /// The same, waiting for the oldest part while there is no room: for ever, or until `limits`, which are a duration, or a
  /// point of the steady or the system clock, or nothing; then a stop token, or nothing. Blocking, parked. Thread-safe.
  template <class... Limits>
  upload_part allocate(std::uint64_t bytes, std::uint64_t alignment, const Limits&... limits) noexcept {
    const auto wait = [&](deadline until, auto token) { return allocate_until(bytes, alignment, until, token); };
    return detail::within<platform>(wait, limits...).part;
  }

  /// The part is in use until the fence has reached `finished`; its bytes come back when all parts before it are free
  /// too. Once for each part, by the thread that has it. Progress: wait-free.
  void retire(const upload_part& part, std::uint64_t finished) noexcept {
    TIDEMARK_ASSERT(part.status == upload_status::allocated, "what was refused can't be retired");
    record& own = record_of(part.number);
    // (E8): relaxed alone, for the assertion.
    TIDEMARK_ASSERT(own.retired.load(std::memory_order_relaxed) != part.number + 1, "a part was retired twice");
    // (E9): relaxed, (E6) is behind it.
    own.busy_until.store(finished, std::memory_order_relaxed);
    // (E6): release, pairs with (E5): where the part ends, and until when it is in use.
    own.retired.store(part.number + 1, std::memory_order_release);
  }

  /// Takes back what is free from the oldest part on; how many bytes. Allocating does so when it has no room. Progress:
  /// lock-free. Thread-safe.
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

  /// Bytes that can't be had now, those that were passed over included. For looking only. Progress: wait-free.
  [[nodiscard]] std::uint64_t bytes_in_use() const noexcept {
    // (E12): relaxed alone, for looking.
    const std::uint64_t from = tail_.load_value(std::memory_order_relaxed);
    // (E16): relaxed alone, as above.
    const std::uint64_t to = head_.load_value(std::memory_order_relaxed);
    return to < from ? 0 : to - from;
  }
  [[nodiscard]] std::uint64_t capacity() const noexcept { return capacity_; }

 private:
  struct record {
    typename platform::template atomic<std::uint64_t> end;         // where the part ends: a position
    typename platform::template atomic<std::uint64_t> busy_until;  // a value of the fence
    typename platform::template atomic<std::uint64_t> retired;  // the number of the part that this is said of, plus 1
  };

  struct outcome {
    upload_part part;
    friend bool operator==(const outcome& result, wait_status) noexcept {
      return result.part.status == upload_status::no_space;
    }
  };

  template <class Token>
  outcome allocate_until(std::uint64_t bytes, std::uint64_t alignment, deadline until, const Token& token) noexcept {
    for (;;) {
      const upload_part part = try_allocate(bytes, alignment);
      if (part.status != upload_status::no_space) return {part};
      const std::uint64_t oldest = oldest_number();
      const record& one = record_of(oldest);
      // (E14): relaxed alone: where (E17) then finds the value of an earlier part, that one came back, so its value was
      // reached, and the wait ends at once.
      if (one.retired.load(std::memory_order_relaxed) != oldest + 1) {
        if (oldest_number() != oldest) continue;
        return {{upload_status::all_open}};
      }
      // (E17): relaxed alone: if the record is a later part's meanwhile, its wait is as good.
      const std::uint64_t awaited = one.busy_until.load(std::memory_order_relaxed);
      switch (finished_.wait_until(awaited, until, token)) {
        case wait_status::reached:
        case wait_status::lost:  // then nothing is in use any more
          break;
        case wait_status::timeout:
          return {{upload_status::no_space}};
        case wait_status::stopped:
          return {{upload_status::stopped}};
      }
    }
  }

  versioned head() const noexcept {
    // (E1): relaxed: a guess, which (E2) makes sure of.
    return head_.load(std::memory_order_relaxed);
  }

  std::uint64_t oldest_number() const noexcept {
    // (E13): relaxed alone: a guess at whom to wait for; try_allocate() looks again.
    return tail_.load_version(std::memory_order_relaxed);
  }

  /// Where a part begins, at the earliest: not across the end of the ring.
  std::uint64_t place(std::uint64_t position, std::uint64_t bytes, std::uint64_t alignment) const noexcept {
    const std::uint64_t lap = position - position % capacity_;
    const std::uint64_t offset = (position - lap + alignment - 1) & ~(alignment - 1);
    return offset <= capacity_ - bytes ? lap + offset : lap + capacity_;
  }

  bool has_room(const versioned& first, std::uint64_t start, std::uint64_t end) const noexcept {
    // (E7): acquire, pairs with (E4).
    const versioned oldest = tail_.load(std::memory_order_acquire);
    const bool is_empty = oldest.value == first.value;  // then what is passed over is nobody's
    const bool has_bytes = end - (is_empty ? start : oldest.value) <= capacity_;
    return has_bytes && first.version - oldest.version <= mask_;
  }

  record& record_of(std::uint64_t number) const noexcept { return records_[number & mask_]; }

  const View finished_;
  const std::uint64_t capacity_;
  const std::uint64_t mask_;
  const std::unique_ptr<record[]> records_;
  alignas(cache_line) typename platform::double_word head_;
  alignas(cache_line) typename platform::double_word tail_;
};

}  // namespace tidemark

#endif  // TIDEMARK_UPLOAD_RING_HPP
