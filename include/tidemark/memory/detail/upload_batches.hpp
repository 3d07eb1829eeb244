// SPDX-License-Identifier: BSL-1.0
//
// upload_batches: an upload ring of one writer. All parts that were given out between two calls of retire() are one
// batch, with one record.
//
//   not wrapped   | free |   in use   | free       |        limit = capacity
//                        tail         head
//   wrapped       |  in use   | free  |   in use   |        limit = tail
//                             head    tail
//
// An empty ring begins anew at offset 0, so an allocation can take its whole capacity.
#ifndef TIDEMARK_MEMORY_DETAIL_UPLOAD_BATCHES_HPP
#define TIDEMARK_MEMORY_DETAIL_UPLOAD_BATCHES_HPP

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "../../fence/timeline.hpp"
#include "retrying.hpp"
#include "upload_sizes.hpp"

namespace tidemark::detail {

/// \tparam Part  what is given out: upload_part
template <timeline Timeline, class Part>
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

  template <class... Limits>
  Part allocate_within(std::uint64_t bytes, std::uint64_t alignment, const Limits&... limits) noexcept {
    const auto attempt = [&](std::uint64_t& target) {
      const Part part = try_allocate(bytes, alignment);
      if (part.status == status::busy) target = batches_[first_ & mask_].busy_until;
      return part;
    };
    return retry_while_busy<platform>(finished_, attempt, limits...);
  }

  /// Returns false where nothing was given out since the last call.
  bool retire(std::uint64_t finished) noexcept {
    if (now_.head == now_.open && !now_.open_wraps) return false;
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

 private:
  struct state {
    std::uint64_t head = 0;
    std::uint64_t limit = 0;  // up to here there is nothing in the way of the head
    std::uint64_t tail = 0;
    std::uint64_t open = 0;  // where the parts begin that were not retired yet
    bool wrapped = false;
    bool open_wraps = false;
  };
  /// Its destructor gives a state the value that it had before.
  struct restored {
    ~restored() { which = before; }
    state& which;
    const state before;
  };

  bool fits(std::uint64_t bytes, std::uint64_t alignment) const noexcept {
    // A sum of less than 2^63 and less than 2^62.
    return bytes < too_many_bytes && align_up(now_.head, alignment) + bytes <= now_.limit;
  }

  /// Gives out bytes that fit.
  Part take(std::uint64_t bytes, std::uint64_t alignment) noexcept {
    const std::uint64_t offset = align_up(now_.head, alignment);
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
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_MEMORY_DETAIL_UPLOAD_BATCHES_HPP
