// SPDX-License-Identifier: BSL-1.0
//
// The queues of a hub: for each the reader of its signal log, the engine that it runs on, and its device. The hub's
// owner adds and removes queues; notifiers look them up, and the server reads their logs.
#ifndef TIDEMARK_QUEUE_DETAIL_HUB_QUEUES_HPP
#define TIDEMARK_QUEUE_DETAIL_HUB_QUEUES_HPP

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "../../log/ids.hpp"
#include "../../platform/platform.hpp"

namespace tidemark::detail {

/// \tparam Reader  reads a queue's log
template <platform Platform, class Reader, std::size_t Count>
class hub_queues {
 public:
  struct slot {
    typename Platform::template atomic<std::uint32_t> number;  // one more than the id; 0: no queue
    typename Platform::template atomic<std::uint32_t> engine;
    typename Platform::template var<std::uint32_t> device;  // its entry in the devices of the hub
    std::optional<Reader> signal_log;                       // the server's
    typename Platform::template var<Reader*> reader;        // leads to it, so that a model check sees a race for it
    std::uint32_t generation = 0;                           // the owner's
    bool is_used = false;                                   // the owner's
  };

  /// The place of a queue among all, for marks.
  static constexpr std::size_t index_of(queue_id id) noexcept { return to_number(id) % Count; }

  /// Puts a queue into a free slot, and returns its id; nothing when all slots are used. For the owner.
  std::optional<queue_id> add(Reader signal_log, std::uint32_t engine, std::uint32_t device) {
    for (std::size_t index = 0; index < Count; ++index) {
      slot& free = slots_[index];
      if (free.is_used) continue;
      free.reader.store(&free.signal_log.emplace(std::move(signal_log)));
      // (U22): relaxed; (U8) releases it.
      free.engine.store(engine, std::memory_order_relaxed);
      free.device.store(device);
      free.is_used = true;
      const auto number = static_cast<std::uint32_t>(free.generation * Count + index);
      // (U8): release, pairs with (U19): the slot is filled.
      free.number.store(number + 1, std::memory_order_release);
      return queue_id{number};
    }
    return std::nullopt;
  }
  /// Returns whether add() would find no free slot. For the owner.
  bool is_full() const noexcept {
    for (const slot& each : slots_) {
      if (!each.is_used) return false;
    }
    return true;
  }

  /// Hides a queue from passes that begin later. Returns its slot, which the owner must free once the running pass has
  /// ended; null where no queue has this id. For the owner.
  slot* hide(queue_id id) noexcept {
    slot& known = slots_[index_of(id)];
    // (U7): relaxed alone: the owner wrote it.
    if (!is_number_of(known.number.load(std::memory_order_relaxed), id)) return nullptr;
    // (U18): relaxed; (U20) releases it: a pass that begins after that finds no queue here.
    known.number.store(0, std::memory_order_relaxed);
    return &known;
  }
  /// The slot may be used again, under another id. Ids come again after 2^32 / `Count` uses.
  static void free(slot& hidden) noexcept {
    hidden.signal_log.reset();
    hidden.is_used = false;
    if (++hidden.generation >= UINT32_MAX / Count) hidden.generation = 0;
  }

  /// Returns whether a queue has this id.
  bool has(queue_id id) const noexcept {
    // (U9): relaxed alone: the server looks at the slot itself.
    return is_number_of(slots_[index_of(id)].number.load(std::memory_order_relaxed), id);
  }
  /// Returns whether there is a queue in the slot.
  bool is_filled(std::size_t index) const noexcept {
    // (U19): acquire, pairs with (U8).
    return slots_[index].number.load(std::memory_order_acquire) != 0;
  }

  /// Returns the engine of the queue in a slot that is filled. If the slot was freed and used again meanwhile, it may
  /// be that of the later queue.
  std::uint32_t engine_of(std::size_t index) const noexcept {
    // (U30): relaxed; (U19) has acquired it.
    return slots_[index].engine.load(std::memory_order_relaxed);
  }
  /// Returns the device of the queue in a slot that is filled. For the server, and for the queue's executor.
  std::uint32_t device_of(std::size_t index) const noexcept { return slots_[index].device.load(); }
  /// Of a slot that is filled, for the server.
  Reader& signals_of(std::size_t index) noexcept { return *slots_[index].reader.load(); }

 private:
  /// The greatest id is no queue's.
  static bool is_number_of(std::uint32_t number, queue_id id) noexcept {
    return number != 0 && number - 1 == to_number(id);
  }

  std::array<slot, Count> slots_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_QUEUE_DETAIL_HUB_QUEUES_HPP
