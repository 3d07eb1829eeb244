// SPDX-License-Identifier: BSL-1.0
//
// growing_upload_ring: an upload ring (upload_ring.hpp) of several blocks, which a source makes and destroys. It adds a
// block when nothing else has room, and gives blocks back that were idle for some rounds.
//
//   growing_upload_ring ring{uploads, {.block_bytes = 65'536, .max_blocks = 8, .idle_rounds = 60}};
//   const auto part = ring.allocate(bytes, 16);          in a block: part.memory + part.offset
//   ... write to it; more parts; submit work that reads them and then signals `serial` ...
//   ring.retire(serial);                                 all parts so far are in use until that value is reached
//   ring.end_round();                                    once a frame: gives back what was idle for 60 frames
//
//   [ block ] --> [ block ] --> [ vacant ] --> nothing     in the order in which the places were made
//                     |
//                  current: where the last part came from
//
// An allocation tries the current block, then all others from the first one on, and only then adds one. At the end of
// a round the first block becomes current again, so that the parts gather in front, and the blocks behind come to rest.
//
// Each block is a ring of its own, with a part for each allocation. To give a block back a thread takes the whole ring
// of the block as one part. That succeeds only if the block is empty: no part is allocated, and the timeline has
// reached the values of all that were. From then on no other thread finds room there. The place stays, vacant, with its
// whole part. A thread that fills it has that part, and shrinks it to what it needs itself: then the others find room.
// So a block is destroyed by no one but the values of the timeline, and all orders between those that use a block and
// those that make and destroy it are those of its ring (memory/detail/upload_parts.hpp).
//
// Everything that the executor read before it signalled happens-before the writes of the thread that gets the same
// bytes next, and before the source destroys the block.
//
// Not promised: that two threads which find no room at the same time add one block only; fairness among threads that
// wait; parts that are larger than a block (take those from the source, and destroy them with a retire_queue).
#ifndef TIDEMARK_MEMORY_GROWING_UPLOAD_RING_HPP
#define TIDEMARK_MEMORY_GROWING_UPLOAD_RING_HPP

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "../fence/wait.hpp"  // before the others: then errors about stop tokens are short

#include "../fence/event_count.hpp"
#include "../fence/fence.hpp"
#include "../fence/timeline.hpp"
#include "../platform/assert.hpp"
#include "../platform/platform.hpp"
#include "backing_source.hpp"
#include "detail/source_counts.hpp"
#include "detail/upload_parts.hpp"
#include "ring_statistics.hpp"
#include "tools/attempts.hpp"
#include "upload_ring.hpp"

namespace tidemark {

struct growing_options {
  /// The size of each block in bytes. The constructor asserts that it is more than 0 and less than 2^62. Otherwise
  /// whatever is asked for is `too_large`.
  std::size_t block_bytes = 0;
  std::size_t alignment = 256;  ///< The alignment of each block in bytes. What it may be, the source says.
  std::size_t max_blocks = 0;   ///< The most blocks. 0: as many as the source makes.
  std::size_t keep_blocks = 1;  ///< How many blocks end_round() leaves, however long they were idle.
  /// A block is given back by the end of the round in which it was idle for so many rounds in a row. 0 counts as 1.
  std::size_t idle_rounds = 8;
  /// Of each block, as in upload_options. With writers::several each part takes one, and a block without a free record
  /// has no room: so take `block_bytes` / (size of a usual part) at least.
  std::size_t max_records = 256;
};

/// An upload ring that grows and shrinks; see the head of this file.
/// \tparam Timeline  tells which work is finished; once it is lost, every retired part is free. What is said about
///                   progress does not cover its current_value()
/// \tparam Source    makes and destroys the blocks. Its functions must not call the ring
/// \tparam Writers   how many threads allocate, retire and end rounds
/// \tparam Waste     as of an upload_ring
template <timeline Timeline = progress_fence_view, backing_source Source = heap_source, writers Writers = writers::one,
          waste Waste = waste::not_counted>
class growing_upload_ring {
  struct block;

 public:
  using platform = timeline_platform<Timeline>;
  using backing = typename Source::backing;

  /// Some bytes of a block, or why there are none.
  struct [[nodiscard]] part {
    upload_status status = upload_status::invalid;
    /// The block, as its source made it. It stays until the value of the part is reached; a part of 0 bytes keeps no
    /// block.
    backing memory{};
    std::uint64_t offset = 0;  ///< In the block.
    std::uint64_t bytes = 0;

    part() noexcept = default;
    explicit operator bool() const noexcept { return status == upload_status::allocated; }

   private:
    friend growing_upload_ring;
    part(upload_status why) noexcept : status{why} {}
    part(block& in, const upload_part& of) noexcept
        : status{upload_status::allocated},
          memory{in.memory.load()},
          offset{of.offset},
          bytes{of.bytes},
          in_{&in},
          number_{of.number} {}
    upload_part in_block() const noexcept { return {status, offset, bytes, number_}; }

    block* in_ = nullptr;
    std::uint64_t number_ = 0;
  };

  /// Makes the first block. If the source refuses, or if there is no memory for the ring's own part of it, the ring has
  /// none, and allocations try again.
  /// \param finished  is copied if it is copyable (a view); otherwise it must outlive the ring
  growing_upload_ring(const Timeline& finished, const growing_options& options, Source source = {}) noexcept
      : finished_{finished},
        options_{options},
        traits_{detail::as_integer<std::size_t>(detail::possible_bytes(options.block_bytes)), options.alignment},
        source_{std::move(source)} {
    std::uint64_t refused_at = never;
    if (traits_.bytes != 0) static_cast<void>(grow(0, refused_at));
  }
  /// A timeline that can't be copied would be gone.
  growing_upload_ring(const Timeline&& gone, const growing_options& options, Source source = {})
    requires(!std::copyable<Timeline>)
  = delete;
  growing_upload_ring(const growing_upload_ring&) = delete;
  growing_upload_ring& operator=(const growing_upload_ring&) = delete;
  /// Destroys the blocks. Blocks until the timeline has reached every value that parts were retired with, or is lost.
  /// It does not wait for parts that were not retired. No other call may be under way.
  ~growing_upload_ring() {
    for (block* one = first(); one != nullptr;) {
      if (one->is_open()) {
        one->ring().wait_for_all();
        source_.destroy(one->memory.load(), traits_);
      }
      block* const next = one->next_block();
      delete one;
      one = next;
    }
  }

  // ---- allocating and retiring: one thread at a time, or, with writers::several, any thread ------------------------

  /// Gives out some bytes of a block, at a multiple of `alignment` in it. If no block has room, adds one. Returns the
  /// part, or `busy`, `no_space`, `no_memory`, `too_large` or `invalid`, and then nothing was given out, and all parts
  /// are as before. If no block may be added, or the source refuses one, it is `busy` if the oldest part of some block
  /// is retired and the timeline has not reached its value yet. Another try may succeed then, or find that the parts
  /// behind that one leave too little room. If the oldest parts of all blocks were not retired yet, it is `no_space` or
  /// `no_memory`: no value of the timeline would help. With writers::several it may also be `no_space`, or `no_memory`
  /// if the source has refused, while another thread adds a block or gives one back. Progress: never waits. Apart from
  /// its calls of the timeline, the source and the heap, it is wait-free with writers::one, and lock-free with
  /// writers::several: as try_allocate() of an upload_ring if the current block has room, and otherwise O(blocks).
  part try_allocate(std::uint64_t bytes, std::uint64_t alignment = 1) noexcept {
    std::uint64_t unused = 0;
    std::uint64_t refused_at = never;
    return attempt(bytes, alignment, unused, refused_at);
  }

  /// Gives out some bytes. Tries as try_allocate() does. While that is `busy`, it blocks, parked, until the timeline
  /// has reached the first value that helps, and tries again. A source that has refused is not asked again in the same
  /// call, unless a block was destroyed since. It ends as allocate() of an upload_ring ends, and may also return
  /// `no_memory`, with writers::several, too.
  template <stop_token_like Token = never_stops>
  part allocate(std::uint64_t bytes, std::uint64_t alignment = 1, Token token = {}) noexcept {
    return allocate_within(bytes, alignment, std::move(token));
  }
  /// The same for `timeout` at most, and then returns `timeout`.
  template <class Rep, class Period, stop_token_like Token = never_stops>
  part allocate_for(std::uint64_t bytes, std::uint64_t alignment, const std::chrono::duration<Rep, Period>& timeout,
                    Token token = {}) noexcept {
    return allocate_within(bytes, alignment, timeout, std::move(token));
  }
  /// The same at any offset.
  template <class Rep, class Period, stop_token_like Token = never_stops>
  part allocate_for(std::uint64_t bytes, const std::chrono::duration<Rep, Period>& timeout, Token token = {}) noexcept {
    return allocate_within(bytes, 1, timeout, std::move(token));
  }
  /// The same until a point of the steady or the system clock at most, and then returns `timeout`.
  template <class Clock, class Duration, stop_token_like Token = never_stops>
  part allocate_until(std::uint64_t bytes, std::uint64_t alignment, const std::chrono::time_point<Clock, Duration>& at,
                      Token token = {}) noexcept {
    return allocate_within(bytes, alignment, at, std::move(token));
  }
  /// The same at any offset.
  template <class Clock, class Duration, stop_token_like Token = never_stops>
  part allocate_until(std::uint64_t bytes, const std::chrono::time_point<Clock, Duration>& at,
                      Token token = {}) noexcept {
    return allocate_within(bytes, 1, at, std::move(token));
  }

  /// Retires all parts that were allocated since the last call, as upload_ring::retire() does, in whatever blocks they
  /// are. Returns false if there were none. Only with writers::one. Progress: wait-free, O(blocks).
  bool retire(std::uint64_t finished) noexcept
    requires(Writers == writers::one)
  {
    bool was_any = false;
    for (block* one = first(); one != nullptr; one = one->next_block()) {
      if (one->is_open()) was_any = one->ring().retire(finished) || was_any;
    }
    return was_any;
  }
  /// Retires one part, as upload_ring::retire() does. Only with writers::several.
  bool retire(const part& which, std::uint64_t finished) noexcept
    requires(Writers == writers::several)
  {
    TIDEMARK_ASSERT(which.in_ != nullptr, "what was refused can't be retired");
    if (which.in_ == nullptr || !which.in_->ring().retire(which.in_block(), finished)) return false;
    gave_back();
    return true;
  }

  /// Gives back the end of a part, if it is the newest one of its block, as upload_ring::try_shrink() does. A part that
  /// shrinks to 0 bytes keeps its block no longer: the memory may be gone at once.
  bool try_shrink(part& which, std::uint64_t bytes) noexcept {
    TIDEMARK_ASSERT(which.in_ != nullptr, "what was refused can't shrink");
    if (which.in_ == nullptr) return false;
    upload_part shrunk = which.in_block();
    if (!which.in_->ring().try_shrink(shrunk, bytes)) return false;
    which.bytes = bytes;
    gave_back();
    return true;
  }

  // ---- rounds ------------------------------------------------------------------------------------------------------

  /// Ends a round, such as a frame. A block is idle in a round if no part of it was allocated, and all that were are
  /// free at the end. Gives back each block that was idle for `idle_rounds` rounds in a row, while there are more than
  /// `keep_blocks`. It may leave fewer if another thread tries to add a block meanwhile and the source refuses: that
  /// block counts until then. Returns how many it has given back. If another thread is just ending a round or trimming,
  /// returns 0 at once. Progress: lock-free but for the source, what it asks of the timeline, and the system call that
  /// wakes threads that wait; O(blocks).
  std::size_t end_round() noexcept {
    const auto is_due = [this](block& one) {
      one.ring().reclaim();
      const bool is_idle = !one.was_used() && one.ring().bytes_in_use() == 0;
      const std::uint64_t idle = is_idle ? one.idle.load() + 1 : 0;
      one.idle.store(idle);
      return idle >= (std::max)(options_.idle_rounds, std::size_t{1});
    };
    return give_back_if(options_.keep_blocks, is_due);
  }

  /// Gives back all blocks that are empty now, while there are more than `keep`, for when memory is short. Otherwise as
  /// end_round(). No round ends.
  std::size_t trim(std::size_t keep = 0) noexcept {
    return give_back_if(keep, [](block& one) {
      one.ring().reclaim();
      return one.ring().bytes_in_use() == 0;
    });
  }

  // ---- any thread --------------------------------------------------------------------------------------------------

  /// Returns how many blocks there are, those that are being made included. Another thread may change the number at
  /// any moment. Progress: wait-free.
  [[nodiscard]] std::size_t blocks() const noexcept { return counts_.now(); }

  /// Returns what the blocks have come to (ring_statistics.hpp). With writers::one only the thread that allocates may
  /// call it. While other threads are at work, the numbers are of slightly different moments. Progress: wait-free,
  /// O(blocks).
  [[nodiscard]] growing_statistics statistics() const noexcept {
    growing_statistics now{.block_bytes = traits_.bytes, .blocks = blocks()};
    for (const block* one = first(); one != nullptr; one = one->next_block()) {
      const auto of = one->ring().template statistics<upload_statistics>();
      now.passed_for_alignment += of.passed_for_alignment;
      now.passed_at_end += of.passed_at_end;
      if (!one->is_open()) continue;
      now.in_use += of.in_use;
      now.largest_free_run = (std::max)(now.largest_free_run, of.largest_free_run);
    }
    now.most_blocks = counts_.most();
    counts_.write_totals(now);
    return now;
  }

 private:
  using ring_type = std::conditional_t<Writers == writers::several,
                                       detail::upload_parts<Timeline, upload_part, Waste == waste::counted>,
                                       detail::upload_batches<Timeline, upload_part, Waste == waste::counted>>;
  using record = typename ring_type::record;
  static constexpr std::uint64_t never = UINT64_MAX;

  /// A place for a block. Who writes: the state and the memory, the thread that fills the place or vacates it, and has
  /// the whole part; the rest, any thread.
  struct block {
    enum state : std::uint32_t { vacant, taken, open };

    block(const Timeline& finished, std::uint64_t bytes, std::unique_ptr<record[]> records, std::size_t count) noexcept
        : own_ring{finished, bytes, std::move(records), count} {
      whole.store(own_ring.take_whole().number);
      is_made.store(true);
      set(taken);
    }

    ring_type& ring() noexcept {
      static_cast<void>(is_made.load());
      return own_ring;
    }
    const ring_type& ring() const noexcept {
      static_cast<void>(is_made.load());
      return own_ring;
    }
    block* next_block() const noexcept { return follow(next); }
    bool is_open() const noexcept {
      // (UB4): relaxed alone, a hint: its ring says whether it has room, and brings the memory.
      return now.load(std::memory_order_relaxed) == open;
    }
    void set(state to) noexcept {
      // (UB5): release, pairs with (UB6): the whole part, and that the memory is gone.
      now.store(to, std::memory_order_release);
    }
    /// Takes a vacant place.
    bool take() noexcept {
      std::uint32_t before = vacant;
      // (UB6): acquire, pairs with (UB5).
      return now.compare_exchange_strong(before, taken, std::memory_order_acquire, std::memory_order_relaxed);
    }
    void use() noexcept {
      // (UB7): relaxed alone, as (UB8): mostly it is set already, and then nobody else's line is written.
      if (used.load(std::memory_order_relaxed) != 0) return;
      // (UB8): relaxed alone: a round that ends beside the allocation may count it or not.
      used.store(1, std::memory_order_relaxed);
    }
    /// Returns whether it was used since the last call.
    bool was_used() noexcept {
      // (UB9): relaxed alone, as (UB8).
      return used.exchange(0, std::memory_order_relaxed) != 0;
    }

    ring_type own_ring;
    typename platform::template var<bool> is_made;  // only for model checks: who uses the ring has seen it made
    typename platform::template var<backing> memory;
    typename platform::template var<std::uint64_t> whole;  // the number of the whole part, while it is not open
    typename platform::template var<std::uint64_t> idle;   // rounds; of the thread that ends one
    typename platform::template atomic<std::uint32_t> now;
    typename platform::template atomic<std::uint32_t> used;
    typename platform::template atomic<block*> next;
  };

  static block* follow(const typename platform::template atomic<block*>& link) noexcept {
    // (UB2): acquire, pairs with (UB3): the place, as it was made.
    return link.load(std::memory_order_acquire);
  }
  block* first() const noexcept { return follow(first_); }

  template <class... Limits>
  part allocate_within(std::uint64_t bytes, std::uint64_t alignment, const Limits&... limits) noexcept {
    std::uint64_t refused_at = never;
    const auto attempt_once = [&](std::uint64_t& target) { return attempt(bytes, alignment, target, refused_at); };
    if constexpr (Writers == writers::several) {
      return detail::wait_for_space(given_back_, finished_, attempt_once, limits...);
    } else {
      return detail::retry_while_busy<platform>(finished_, attempt_once, limits...);
    }
  }

  void gave_back() noexcept {
    if constexpr (Writers == writers::several) given_back_.notify();
  }

  /// Where it is busy, `target` is the value to wait for; otherwise it stays as it is.
  /// \param refused_at  how many blocks had been destroyed when the source refused the caller one, or `never`: it is
  ///                    not asked again until there are more
  part attempt(std::uint64_t bytes, std::uint64_t alignment, std::uint64_t& target,
               std::uint64_t& refused_at) noexcept {
    // (UB11): acquire, pairs with (UB12): the place, as it was made.
    block* const here = current_.load(std::memory_order_acquire);
    if (here != nullptr) [[likely]] {
      const upload_part made = here->ring().try_allocate(bytes, alignment);
      if (made) [[likely]]
        return give(*here, made);
    }
    return search(bytes, alignment, target, refused_at);
  }

  static part give(block& in, const upload_part& made) noexcept {
    in.use();
    return {in, made};
  }

  [[gnu::noinline]] part search(std::uint64_t bytes, std::uint64_t alignment, std::uint64_t& target,
                                std::uint64_t& refused_at) noexcept {
    if (bytes == 0 || !std::has_single_bit(alignment)) return upload_status::invalid;
    if (bytes > traits_.bytes) return upload_status::too_large;
    std::uint64_t least = UINT64_MAX;
    bool is_busy = false;
    for (block* one = first(); one != nullptr; one = one->next_block()) {
      if (!one->is_open()) continue;
      std::uint64_t until = detail::no_value_helps;
      const upload_part made = one->ring().attempt(bytes, alignment, until);
      if (made) {
        make_current(one);
        return give(*one, made);
      }
      is_busy = is_busy || made.status == upload_status::busy;
      least = (std::min)(least, until);
    }
    const part grown = grow(bytes, refused_at);
    if (grown || !is_busy) return grown;
    target = least;
    return upload_status::busy;
  }

  /// Adds a block, and allocates the first bytes of it. With 0 bytes none are allocated.
  part grow(std::uint64_t bytes, std::uint64_t& refused_at) noexcept {
    const std::uint64_t destroyed = counts_.destroyed_so_far();
    if (refused_at == destroyed) return upload_status::no_memory;
    const std::size_t number = counts_.add(options_.max_blocks);
    if (number == 0) return upload_status::no_space;
    block* const place = take_place();
    const backing made = place != nullptr ? source_.create(traits_) : backing{};
    if (!static_cast<bool>(made)) {
      if (place != nullptr) place->set(block::vacant);
      counts_.refused();
      refused_at = destroyed;
      gave_back();  // another thread may have found that there is no room for one more
      return upload_status::no_memory;
    }
    counts_.made(number);
    return open(*place, made, bytes);
  }

  /// Fills a place that the calling thread has taken.
  part open(block& place, const backing& made, std::uint64_t bytes) noexcept {
    upload_part own{upload_status::allocated, 0, traits_.bytes, place.whole.load()};
    place.memory.store(made);
    static_cast<void>(place.ring().try_shrink(own, bytes));
    if constexpr (Writers == writers::several) {
      if (bytes == 0) static_cast<void>(place.ring().retire(own, 0));
    }
    const part given = bytes != 0 ? give(place, own) : part{place, own};
    place.set(block::open);
    make_current(&place);
    gave_back();
    return given;
  }

  /// Returns a vacant place, or a new one behind all others, which the calling thread has taken; nullptr where there is
  /// no memory for one.
  block* take_place() noexcept {
    typename platform::template atomic<block*>* link = &first_;
    for (block* one = first(); one != nullptr; one = one->next_block()) {
      if (one->take()) return one;
      link = &one->next;
    }
    const std::size_t count = detail::possible_records(options_.max_records);
    std::unique_ptr<record[]> records = detail::try_make_records<record>(count);
    if (records == nullptr) return nullptr;
    block* const added = new (std::nothrow) block{finished_.get(), traits_.bytes, std::move(records), count};
    if (added == nullptr) return nullptr;
    for (;;) {
      block* behind = nullptr;
      // (UB3): release, pairs with (UB2).
      if (link->compare_exchange_strong(behind, added, std::memory_order_release, std::memory_order_relaxed))
        return added;
      link = &follow(*link)->next;  // another thread was faster
    }
  }

  /// Gives back each block for which `is_due(block)` is true, while there are more than `keep`.
  template <class IsDue>
  std::size_t give_back_if(std::size_t keep, const IsDue& is_due) noexcept {
    // (UB15): acquire, pairs with (UB16): the rounds that the last thread has counted.
    if (giving_back_.exchange(1, std::memory_order_acquire) != 0) return 0;
    std::size_t count = 0;
    block* front = nullptr;
    for (block* one = first(); one != nullptr; one = one->next_block()) {
      if (!one->is_open()) continue;
      // Only other threads that make blocks change the number meanwhile.
      if (is_due(*one) && blocks() > keep && give_back(*one)) {
        ++count;
      } else if (front == nullptr) {
        front = one;
      }
    }
    if (front != nullptr) make_current(front);
    // (UB16): release, pairs with (UB15).
    giving_back_.store(0, std::memory_order_release);
    return count;
  }

  /// Returns false where it is not empty any more.
  bool give_back(block& one) noexcept {
    const upload_part whole = one.ring().take_whole();
    if (!whole) return false;
    source_.destroy(one.memory.load(), traits_);
    one.memory.store(backing{});  // a backing may own something
    one.whole.store(whole.number);
    one.idle.store(0);
    one.set(block::vacant);
    counts_.destroyed();
    gave_back();
    return true;
  }

  void make_current(block* which) noexcept {
    // (UB12): release, pairs with (UB11). Not stronger: which block is current is a hint.
    current_.store(which, std::memory_order_release);
  }

  const detail::follower<Timeline> finished_;
  const growing_options options_;
  const backing_traits traits_;
  [[no_unique_address]] Source source_;
  detail::source_counts<platform> counts_;
  typename platform::template atomic<std::uint32_t> giving_back_;
  typename platform::template atomic<block*> first_;
  struct no_waiters {};  // with writers::one no thread waits for another one
  [[no_unique_address]] std::conditional_t<Writers == writers::several, basic_event_count<platform>, no_waiters>
      given_back_;
  alignas(cache_line) typename platform::template atomic<block*> current_;
};

// What is given and is no timeline or no source gets an error of its own.
template <class Wrong, class... More>
  requires(!timeline<Wrong>)
growing_upload_ring(const Wrong&, const growing_options&, const More&...)
    -> growing_upload_ring<detail::wrong_timeline<Wrong>>;
template <timeline Timeline, class Wrong>
  requires(!backing_source<Wrong>)
growing_upload_ring(const Timeline&, const growing_options&, const Wrong&)
    -> growing_upload_ring<Timeline, detail::wrong_source<Wrong>>;

}  // namespace tidemark

#endif  // TIDEMARK_MEMORY_GROWING_UPLOAD_RING_HPP
