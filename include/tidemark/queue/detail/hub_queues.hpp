// SPDX-License-Identifier: BSL-1.0
//
// The queues of a hub: for each the reader of its signal log, and the engine that it runs on. The hub's owner adds
// queues; notifiers look them up, and the server reads their logs. A queue stays as long as the hub.
#ifndef TIDEMARK_QUEUE_DETAIL_HUB_QUEUES_HPP
#define TIDEMARK_QUEUE_DETAIL_HUB_QUEUES_HPP

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "../../platform/platform.hpp"

namespace tidemark::detail {

/// \tparam Reader  reads a queue's log
template <platform Platform, class Reader, std::size_t Count>
class hub_queues {
 public:
  /// Adds a queue as number size() - 1. Returns false, and does nothing, when there are `Count` of them. For the owner.
  bool add(Reader signals, std::uint32_t engine) {
    // (U7): relaxed alone: the owner wrote it.
    const std::size_t index = size_.load(std::memory_order_relaxed);
    if (index == Count) return false;
    slots_[index].signals.emplace(std::move(signals));
    slots_[index].engine.store(engine);
    // (U8): release, pairs with (U9): the slot is filled.
    size_.store(index + 1, std::memory_order_release);
    return true;
  }

  std::size_t size() const noexcept {
    // (U9): acquire, pairs with (U8).
    return size_.load(std::memory_order_acquire);
  }

  std::uint32_t engine_of(std::size_t index) const noexcept { return slots_[index].engine.load(); }
  Reader& signals_of(std::size_t index) noexcept { return *slots_[index].signals; }

 private:
  struct slot {
    std::optional<Reader> signals;  // the server's
    typename Platform::template var<std::uint32_t> engine;
  };

  std::array<slot, Count> slots_;
  typename Platform::template atomic<std::size_t> size_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_QUEUE_DETAIL_HUB_QUEUES_HPP
