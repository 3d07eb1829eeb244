// SPDX-License-Identifier: BSL-1.0
//
// slab_rooms: the pool of waiting rooms of a fence_slab. A room has a heap of waiters. A fence of the slab has one only
// while somebody waits for it.
//
//   room     a fence over the word of the slab's value; a lock; where the copy of its monitored value lies
//   blocks   each twice as large as the one before. They stay until the slab goes, so a thread that comes late finds a
//            room, if not the one that it looked for
//
// The copy. A signal reads the monitored word of the slab, not the root of the heap in the room. Whoever registers,
// releases or leaves stores the root there anew, with the lock of the room. fence_core::report_registrations() says why
// no wake-up is lost then. The last one who leaves a room stores what the root is when nobody is registered, because
// all others have left their registrations before they stored.
#ifndef TIDEMARK_FENCE_DETAIL_SLAB_ROOMS_HPP
#define TIDEMARK_FENCE_DETAIL_SLAB_ROOMS_HPP

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "../../platform/platform.hpp"
#include "../../platform/tools/park_lock.hpp"
#include "../tools/fence_operations.hpp"
#include "index_list.hpp"
#include "value_steps.hpp"

namespace tidemark::detail {

/// Where the waiters of one fence of a slab are.
/// \tparam Fence  shares the word of the slab's value, and reports registrations
template <platform Platform, class Fence>
class slab_room {
 public:
  using fence_type = Fence;
  using word = typename Platform::template atomic<std::uint64_t>;

  slab_room() noexcept : fence{unbound_} {
    fence.report_registrations(
        {.registered = [](void* self) noexcept { static_cast<slab_room*>(self)->copy(); }, .context = this});
  }

  /// Serves a fence from now on. Only the thread that has taken the room may call it.
  void bind(word& value, word& monitored) noexcept {
    fence_access::bind(fence, value);
    monitored_.store(&monitored);
  }

  /// Stores the monitored value where signals look.
  void copy() noexcept {
    const lock_keeper kept(lock_);
    word& at = *monitored_.load();
    // (SL7): with the order of s3, pairs with (SL8), for the reason of (SH2).
    at.store(fence.monitored_value(), value_steps<Platform>::monitor_order);
  }

 private:
  word unbound_{0};

 public:
  fence_type fence;
  word next;  // while it is free

 private:
  park_lock<Platform> lock_;
  typename Platform::template var<word*> monitored_;
};

template <platform Platform, class Fence>
class slab_rooms {
 public:
  using room = slab_room<Platform, Fence>;
  static constexpr std::uint32_t none = index_list<Platform>::none;

  explicit slab_rooms(std::size_t most) noexcept
      : most_{most < index_list<Platform>::most_objects ? static_cast<std::uint32_t>(most)
                                                        : index_list<Platform>::most_objects} {
    // (SL9): relaxed alone, because no other thread knows the pool yet.
    for (auto& each : blocks_) each.store(nullptr, std::memory_order_relaxed);
  }
  slab_rooms(const slab_rooms&) = delete;
  slab_rooms& operator=(const slab_rooms&) = delete;
  ~slab_rooms() {
    // (SL10): relaxed alone, because no other thread uses the pool any more.
    for (auto& each : blocks_) delete[] each.load(std::memory_order_relaxed);
  }

  /// Takes a room and returns its index; `none` if there is none, and no memory for more. Progress: lock-free; it
  /// allocates if no room is free.
  std::uint32_t take() noexcept {
    const std::uint32_t taken = free_.take([this](std::uint32_t index) -> auto& { return (*this)[index].next; });
    return taken != none ? taken : take_new();
  }
  /// Gives a room back, in which nobody is. Progress: lock-free.
  void give_back(std::uint32_t index) noexcept { free_.put(index, (*this)[index].next); }

  room& operator[](std::uint32_t index) noexcept {
    std::size_t block = 0;
    std::uint32_t first = 0;
    while (index - first >= size_of(block)) first += size_of(block++);
    // (SL11): relaxed: whoever has an index has it from the thread that has made the block: by the list of free rooms
    // (SL1) (SL3), or by a fence that has the room (SL19) (SL42).
    return blocks_[block].load(std::memory_order_relaxed)[index - first];
  }

 private:
  static constexpr std::uint32_t first_size = [] {
    if constexpr (requires { Platform::first_rooms; }) {
      return Platform::first_rooms;
    } else {
      return std::uint32_t{8};
    }
  }();
  static constexpr std::size_t most_blocks = 21;
  static constexpr std::uint32_t size_of(std::size_t block) noexcept { return first_size << block; }

  /// Makes a block of rooms, takes the first one, and gives the others back.
  [[gnu::cold, gnu::noinline]] std::uint32_t take_new() noexcept {
    std::uint32_t first = 0;
    for (std::size_t block = 0; block < most_blocks && first < most_; first += size_of(block++)) {
      // (SL12): relaxed alone: a guess, which (SL13) verifies.
      if (blocks_[block].load(std::memory_order_relaxed) != nullptr) continue;
      const std::uint32_t rest = most_ - first;
      const std::uint32_t count = size_of(block) < rest ? size_of(block) : rest;
      room* const made = ::new (std::nothrow) room[count];
      if (made == nullptr) return none;
      room* expected = nullptr;
      // (SL13): relaxed, because (SL4) or (SL19) comes after it. On failure the next block is tried.
      if (!blocks_[block].compare_exchange_strong(expected, made, std::memory_order_relaxed,
                                                  std::memory_order_relaxed)) {
        delete[] made;
        continue;
      }
      for (std::uint32_t index = 1; index < count; ++index) give_back(first + index);
      return first;
    }
    // Another thread may have made a block, and put rooms on the list.
    return free_.take([this](std::uint32_t index) -> auto& { return (*this)[index].next; });
  }

  const std::uint32_t most_;
  index_list<Platform> free_;
  std::array<typename Platform::template atomic<room*>, most_blocks> blocks_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_SLAB_ROOMS_HPP
