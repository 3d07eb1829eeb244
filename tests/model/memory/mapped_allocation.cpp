// SPDX-License-Identifier: BSL-1.0
//
// Model checks of mapped allocations, over real pages: no thread moves bytes of which the processor has the address, no
// lock fails because another thread asks for a move, and work that is named is waited for. Linux only.
//
// The bytes are stood for by one plain field. The processor writes it under a lock. A move touches it through the cache
// operations, which it makes while it copies: so each unlock says that work has written.
#include "support/progress.hpp"

#include <tidemark/memory/mapped_allocation.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace {

using model::heap_shape;
using model::one_slot;
using model::payload;
using model::progress_fence;
using tidemark::device_use;
using tidemark::lock_status;
using tidemark::map_mode;
using tidemark::move_status;
using tidemark::residence;
using tidemark::unlock_status;

struct touching_cache {
  struct first_backing {
    payload bytes;
    std::uint64_t address = 0;  // in system memory
  };
  first_backing* first;

  void write_back(std::uint64_t address, std::uint64_t) { touch(address); }
  void invalidate(std::uint64_t address, std::uint64_t) { touch(address); }
  void touch(std::uint64_t address) {
    if (address == first->address) first->bytes.store(first->bytes.load());
  }
};

/// An allocation of a page, and a segment with as many pages.
template <std::size_t Pages = 1, std::size_t MaxRenames = 0, heap_shape Shape = one_slot>
struct stand {
  using timeline = model::view_of<progress_fence<Shape>>;
  using segment_type = tidemark::device_segment<timeline>;
  using allocation = tidemark::mapped_allocation<timeline, touching_cache>;
  using locking = typename allocation::locking;

  touching_cache::first_backing of_first;
  payload& bytes = of_first.bytes;
  progress_fence<Shape> finished;
  segment_type segment{*segment_type::make(finished.view(), {.pages = Pages, .cpu_visible = true})};
  allocation memory{finished.view(),
                    {tidemark::cpu_access::cached, tidemark::with_aperture_segment, segment},
                    {.bytes = 8, .max_renames = MaxRenames},
                    {&of_first}};
  locking first;  // names the first backing

  void before() {
    bytes.store(0);
    first = memory.try_lock(map_mode::write);
    of_first.address = reinterpret_cast<std::uintptr_t>(first.data);
    end(first);
  }
  unlock_status end(const locking& held) { return memory.unlock(held, 0, device_use::writes); }

  /// Writes under a lock of the first backing, and under one more.
  void write_twice(const locking& held) {
    MODEL_REQUIRE(held.data != nullptr);
    bytes.store(bytes.load() + 1);
    const locking nested = memory.try_lock(map_mode::write);
    MODEL_REQUIRE(nested.status == lock_status::locked);
    MODEL_REQUIRE(nested.data == held.data);
    MODEL_REQUIRE(memory.unlock(nested) == unlock_status::still_locked);
    bytes.store(bytes.load() + 1);
    MODEL_REQUIRE(end(held) == unlock_status::unlocked);
  }
  /// What the device does with the bytes where it was told that they are.
  void look_as_device() { static_cast<void>(bytes.load()); }
};

/// [B27] [B46] The bytes go to the segment, or leave it, while the processor locks them, and locks them once more. The
/// processor is told that they are busy, or has them alone.
template <bool Leave>
struct lock_beside_a_move : model::suite<2>, stand<> {
  void before() {
    stand::before();
    if (Leave) static_cast<void>(memory.try_commit(first));
  }
  void thread(unsigned index) {
    if (index == 0) {
      const locking held = memory.try_lock(map_mode::write);
      held ? write_twice(held) : MODEL_REQUIRE(held.status == lock_status::busy);
    } else {
      MODEL_REQUIRE((Leave ? memory.try_evict(first) : memory.try_commit(first)) != move_status::no_space);
    }
  }
};

/// [B27] [B46] Two threads move the bytes while the processor locks them.
struct lock_beside_two_movers : model::suite<3>, stand<2> {
  void thread(unsigned index) {
    if (index == 0) {
      const locking held = memory.try_lock(map_mode::write);
      if (held) write_twice(held);
    } else {
      static_cast<void>(memory.try_commit(first));
    }
  }
  void after() { MODEL_REQUIRE(segment.free_pages() == (memory.where(first) == residence::memory_segment ? 1u : 2u)); }
};

/// [B12] [B27] A lock that may sleep gets the bytes when the move is over.
template <map_mode Mode>
struct woken_by_a_move : model::suite<2>, stand<1, 1> {
  void thread(unsigned index) {
    if (index == 0) {
      const locking held = memory.lock(Mode);
      MODEL_REQUIRE(held.status == lock_status::locked);
      bytes.store(bytes.load() + 1);
      MODEL_REQUIRE(end(held) == unlock_status::unlocked);
    } else {
      static_cast<void>(memory.try_commit(first));
    }
  }
};

/// [B9] [B46] Another thread asks for moves, none of which moves a byte: of what is locked, and into a segment that is
/// full. No lock fails.
struct lock_beside_requests : model::suite<2>, stand<> {
  locking held;
  tidemark::aperture_view taken;

  void before() {
    stand::before();
    first = memory.try_lock(map_mode::write);
    held = memory.try_lock(map_mode::discard);
    MODEL_REQUIRE(held.data != first.data);
    end(first);
    taken = segment.places().try_map(std::initializer_list<int>{0});
  }
  void thread(unsigned index) {
    if (index == 0) {
      const locking nested = memory.try_lock(map_mode::read);
      MODEL_REQUIRE(nested.status == lock_status::locked);
      MODEL_REQUIRE(memory.unlock(nested) == unlock_status::still_locked);
      const locking idle = memory.try_lock(map_mode::discard);
      MODEL_REQUIRE(idle.data == first.data);
      MODEL_REQUIRE(memory.unlock(idle) == unlock_status::unlocked);
    } else {
      MODEL_REQUIRE(memory.try_commit(held) == move_status::placed_in_aperture);
      const move_status moved = memory.try_commit(first);
      MODEL_REQUIRE(moved == move_status::no_space || moved == move_status::placed_in_aperture);
    }
  }
  void after() {
    MODEL_REQUIRE(memory.backings() == 2);
    static_cast<void>(segment.places().unmap(taken));
    MODEL_REQUIRE(end(held) == unlock_status::unlocked);
  }
};

/// [B8] The same where it is a first lock, which does not discard.
struct lock_beside_a_full_segment : model::suite<2>, stand<> {
  tidemark::aperture_view taken;

  void before() {
    stand::before();
    taken = segment.places().try_map(std::initializer_list<int>{0});
  }
  void thread(unsigned index) {
    if (index == 0) {
      const locking made = memory.try_lock(map_mode::no_overwrite);
      MODEL_REQUIRE(made.status == lock_status::locked);
      MODEL_REQUIRE(memory.unlock(made) == unlock_status::unlocked);
    } else {
      const move_status moved = memory.try_commit(first);
      MODEL_REQUIRE(moved == move_status::no_space || moved == move_status::placed_in_aperture);
    }
  }
};

/// [B9] A discard passes over a backing that is moved, and makes another one.
struct discard_beside_a_move : model::suite<2>, stand<> {
  void thread(unsigned index) {
    if (index == 0) {
      const locking made = memory.try_lock(map_mode::discard);
      MODEL_REQUIRE(made.status == lock_status::locked);
      if (!made.renamed) bytes.store(bytes.load() + 1);
      MODEL_REQUIRE(end(made) == unlock_status::unlocked);
    } else {
      static_cast<void>(memory.try_commit(first));
    }
  }
};

/// [B14] [B27] From system memory into an aperture segment and back no byte moves, whoever has a lock.
struct settled_beside_a_lock : model::suite<2>, stand<> {
  void thread(unsigned index) {
    if (index == 0) {
      const locking held = memory.try_lock(map_mode::write);
      MODEL_REQUIRE(held.status == lock_status::locked);
      write_twice(held);
    } else {
      MODEL_REQUIRE(memory.try_commit(first, residence::aperture_segment) == move_status::placed);
      MODEL_REQUIRE(memory.where(first) == residence::aperture_segment);
      MODEL_REQUIRE(memory.try_evict(first) == move_status::placed);
    }
  }
};

/// [B27] One thread commits the bytes. Another one asks for the same, and looks at them where it is told that they are.
struct told_where : model::suite<2>, stand<2> {
  void thread(unsigned) {
    if (memory.try_commit(first) == move_status::placed) look_as_device();
  }
  void after() { MODEL_REQUIRE(segment.free_pages() == 1); }
};

/// An allocation that supports two segments, of two pages each. It begins in the first one.
struct two_segments : stand<2> {
  segment_type other{*segment_type::make(finished.view(), {.pages = 2, .cpu_visible = true})};
  allocation moved{finished.view(),
                   {tidemark::cpu_access::cached, tidemark::with_aperture_segment, segment, other},
                   {.bytes = 8},
                   {&of_first}};

  void before() {
    bytes.store(0);
    first = moved.try_lock(map_mode::write);
    of_first.address = reinterpret_cast<std::uintptr_t>(first.data);
    static_cast<void>(moved.unlock(first, 0, device_use::writes));
    MODEL_REQUIRE(moved.try_commit(first, segment) == move_status::placed);
  }
  void after() {
    const auto* const there = moved.segment_of(first);
    MODEL_REQUIRE(segment.free_pages() == (there == &segment ? 1u : 2u));
    MODEL_REQUIRE(other.free_pages() == (there == &other ? 1u : 2u));
  }
};

/// [B17] [B27] The bytes are in one segment, and two threads commit them: both into another one, where each looks at
/// them if it is told that they are there; or one of them back.
template <bool Back>
struct moved_between_segments : model::suite<2>, two_segments {
  void thread(unsigned index) {
    const auto& to = Back && index == 0 ? segment : other;
    const move_status ended = moved.try_commit(first, to);
    MODEL_REQUIRE(ended == move_status::placed || ended == move_status::busy);
    if (!Back && ended == move_status::placed) look_as_device();
  }
  void after() {
    MODEL_REQUIRE(moved.segment_of(first) == &other || (Back && moved.segment_of(first) == &segment));
    two_segments::after();
  }
};

/// [B17] [B27] [B46] The bytes go from one segment to another one while the processor locks them, which takes them out
/// of either.
struct lock_beside_a_change_of_segment : model::suite<2>, two_segments {
  void thread(unsigned index) {
    if (index == 0) {
      const locking held = moved.try_lock(map_mode::write);
      if (!held) return MODEL_REQUIRE(held.status == lock_status::busy);
      bytes.store(bytes.load() + 1);
      MODEL_REQUIRE(moved.unlock(held, 0, device_use::writes) == unlock_status::unlocked);
    } else {
      const move_status ended = moved.try_commit(first, other);
      MODEL_REQUIRE(ended == move_status::placed || ended == move_status::placed_in_aperture ||
                    ended == move_status::busy);
    }
  }
};

/// [B27] The bytes go to the segment and back. Another thread, which sleeps meanwhile and has synchronized with nobody,
/// makes them part of the aperture segment and looks at them.
struct settled_behind_moves : model::suite<2>, stand<> {
  model::platform::atomic<std::uint32_t> is_over;

  void before() {
    stand::before();
    is_over.store(0, std::memory_order_relaxed);
  }
  void thread(unsigned index) {
    if (index == 0) {
      static_cast<void>(memory.try_commit(first));
      static_cast<void>(memory.try_evict(first));
      is_over.store(1, std::memory_order_relaxed);
      model::platform::unpark(is_over, 1);
    } else {
      while (is_over.load(std::memory_order_relaxed) == 0) model::platform::park(is_over, 0, tidemark::no_deadline);
      MODEL_REQUIRE(memory.try_commit(first, residence::aperture_segment) == move_status::placed);
      look_as_device();
    }
  }
};

/// [B14] [B27] What stays locked is committed, used and evicted by the device, each time that work was named. The
/// processor learns by a nested lock that the work is done, and has the same address. The first work is named before.
/// With one frame the nested lock does not wait, so that all orders can be tried.
template <unsigned Frames>
struct used_while_locked : model::suite<2>, stand<> {
  locking held;
  model::platform::atomic<std::uint32_t> submitted;

  void before() {
    stand::before();
    held = memory.try_lock(map_mode::write);
    write(1);
    submitted.store(1, std::memory_order_relaxed);
  }
  /// Writes under the lock that stays, and names the work of a frame.
  void write(unsigned frame) {
    bytes.store(static_cast<int>(10 * frame));
    memory.used_until(held, frame, device_use::writes);
  }
  void thread(unsigned index) {
    for (unsigned frame = 1; frame <= Frames; ++frame) index == 0 ? be_processor(frame) : be_device(frame);
  }
  void be_processor(unsigned frame) {
    if (frame > 1) {
      write(frame);
      submitted.store(frame, std::memory_order_release);
      model::platform::unpark(submitted, 1);
    }
    const locking done = Frames == 1 ? memory.try_lock(map_mode::read) : memory.lock(map_mode::read);
    if (Frames == 1 && done.status == lock_status::busy) return;
    MODEL_REQUIRE(done.status == lock_status::locked);
    MODEL_REQUIRE(done.data == held.data);
    MODEL_REQUIRE(bytes.load() == static_cast<int>(10 * frame + 1));
    MODEL_REQUIRE(memory.unlock(done) == unlock_status::still_locked);
  }
  void be_device(unsigned frame) {
    while (frame > 1 && submitted.load(std::memory_order_acquire) < frame)
      model::platform::park(submitted, frame - 1, tidemark::no_deadline);
    MODEL_REQUIRE(memory.try_commit(first) == move_status::placed_in_aperture);
    bytes.store(bytes.load() + 1);
    finished.signal(frame);
    MODEL_REQUIRE(memory.try_evict(first) == move_status::placed);
  }
  void after() { MODEL_REQUIRE(memory.unlock(held) == unlock_status::unlocked); }
};

/// [B17] [B29] A segment is resized while the processor locks what is there. If the lock is direct, the thread that
/// resized it has made the pages addressable.
struct resized_beside_a_lock : model::suite<2> {
  using timeline = stand<>::timeline;

  progress_fence<one_slot> finished;
  stand<>::segment_type segment{*stand<>::segment_type::make(finished.view(), {.pages = 1})};
  tidemark::mapped_allocation<timeline> memory{
      finished.view(), {tidemark::cpu_access::uncached, tidemark::with_aperture_segment, segment}, {.bytes = 8}};
  payload mapping;

  void before() {
    mapping.store(0);
    const auto first = memory.try_lock(map_mode::write);
    static_cast<void>(memory.unlock(first));
    MODEL_REQUIRE(memory.try_commit(first) == move_status::placed);
  }
  void thread(unsigned index) {
    if (index == 0) {
      const auto held = memory.try_lock(map_mode::read);
      MODEL_REQUIRE(held.status == lock_status::locked);
      if (held.route == tidemark::lock_route::direct) MODEL_REQUIRE(mapping.load() == 1);
      MODEL_REQUIRE(memory.unlock(held) == unlock_status::unlocked);
    } else {
      mapping.store(1);
      segment.resize();
    }
  }
};

/// [B1] [B2] [B11] Work is named, which the executor then does. A lock waits for it, nested or not.
template <bool IsLocked>
struct named_work : model::suite<2>, stand<> {
  payload value;
  locking held;

  void before() {
    stand::before();
    value.store(0);
    if (IsLocked) held = memory.try_lock(map_mode::no_overwrite);
    memory.used_until(first, 1, device_use::writes);
  }
  void thread(unsigned index) {
    if (index == 0) {
      locking made = memory.try_lock(map_mode::read);
      if (!made) {
        MODEL_REQUIRE(made.status == lock_status::busy);
        made = memory.lock(map_mode::read);
      }
      MODEL_REQUIRE(made.status == lock_status::locked);
      MODEL_REQUIRE(value.load() == 7);
      static_cast<void>(memory.unlock(made));
    } else {
      value.store(7);
      finished.signal(1);
    }
  }
  void after() {
    if (IsLocked) MODEL_REQUIRE(memory.unlock(held) == unlock_status::unlocked);
  }
};

/// [B2] [B27] Work is named while a thread moves the bytes, which the processor has written without telling work;
/// neither waits for the other. A third thread does the work.
struct named_beside_a_move : model::suite<3>, stand<> {
  payload value;
  model::platform::atomic<int> is_submitted;

  void before() {
    stand::before();
    static_cast<void>(memory.unlock(memory.try_lock(map_mode::write)));
    value.store(0);
    is_submitted.store(0, std::memory_order_relaxed);
  }
  void thread(unsigned index) {
    if (index == 0) {
      memory.used_until(1, device_use::writes);
      is_submitted.store(1, std::memory_order_release);
      const locking made = memory.try_lock(map_mode::read);
      if (!made) return;
      MODEL_REQUIRE(value.load() == 7);
      static_cast<void>(memory.unlock(made));
    } else if (index == 1) {
      const move_status moved = memory.try_commit(first);
      MODEL_REQUIRE(moved == move_status::placed || moved == move_status::busy ||
                    moved == move_status::placed_in_aperture);
    } else if (is_submitted.load(std::memory_order_acquire) == 1) {
      value.store(7);
      finished.signal(1);
    }
  }
  void after() { finished.signal(1); }
};

}  // namespace

int main(int argc, char** argv) {
  return model::run(argc, argv,
                    {
                        model::make_check<lock_beside_a_move<false>, "lock_beside_a_commit">(),
                        model::make_check<lock_beside_a_move<true>, "lock_beside_an_eviction">(),
                        model::make_check<lock_beside_a_full_segment, "lock_beside_a_full_segment">(),
                        model::make_check<lock_beside_two_movers, "lock_beside_two_movers">(),
                        model::make_check<woken_by_a_move<map_mode::write>, "woken_by_a_move">(),
                        model::make_check<woken_by_a_move<map_mode::discard>, "discard_woken_by_a_move">(),
                        model::make_check<lock_beside_requests, "lock_beside_requests">(),
                        model::make_check<discard_beside_a_move, "discard_beside_a_move">(),
                        model::make_check<settled_beside_a_lock, "settled_beside_a_lock">(),
                        model::make_check<used_while_locked<1>, "used_while_locked">(),
                        model::make_check<used_while_locked<2>, "used_while_locked_twice">(),
                        model::make_check<resized_beside_a_lock, "resized_beside_a_lock">(),
                        model::make_check<told_where, "told_where">(),
                        model::make_check<moved_between_segments<false>, "moved_between_segments">(),
                        model::make_check<moved_between_segments<true>, "moved_between_segments.and_back">(),
                        model::make_check<lock_beside_a_change_of_segment, "lock_beside_a_change_of_segment">(),
                        model::make_check<settled_behind_moves, "settled_behind_moves">(),
                        model::make_check<named_work<false>, "named_work">(),
                        model::make_check<named_work<true>, "named_work_of_locked">(),
                        model::make_check<named_beside_a_move, "named_beside_a_move">(),
                    });
}
