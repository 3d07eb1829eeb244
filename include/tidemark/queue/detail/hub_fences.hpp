// SPDX-License-Identifier: BSL-1.0
//
// The fences of a hub. Each lies in a slot, and is known by an id that names the slot and counts the fences that were
// in it. The hub's owner fills and empties slots; notifiers and the server look fences up, and the server walks over
// all fences or over those of one device.
#ifndef TIDEMARK_QUEUE_DETAIL_HUB_FENCES_HPP
#define TIDEMARK_QUEUE_DETAIL_HUB_FENCES_HPP

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "../../fence/detail/fence_operations.hpp"
#include "../../fence/waiter_heap.hpp"
#include "../../log/ids.hpp"
#include "../../platform/platform.hpp"
#include "hub_devices.hpp"

namespace tidemark::detail {

/// \tparam Devices  the greatest number of devices, of fences and queues together
template <platform Platform, std::size_t Count, std::size_t Devices>
class hub_fences {
 public:
  using operations = fence_operations<typename Platform::template atomic<std::uint32_t>, waiter_ticket>;

  struct slot {
    typename Platform::template atomic<std::uint32_t> number;  // the id; 0: no fence
    typename Platform::template var<void*> object;
    typename Platform::template var<const operations*> calls;
    typename Platform::template var<int> is_legacy;
    typename Platform::template var<std::uint32_t> device;  // its entry in devices()
    std::uint32_t generation = 0;                           // the owner's
    bool is_used = false;                                   // the owner's
  };

  /// The place of a fence among all, for marks.
  static constexpr std::size_t index_of(fence_id id) noexcept { return to_number(id) % Count; }

  /// Puts a fence into a free slot and sets `id`. Returns false, and does nothing, when all slots are used. For the
  /// owner.
  template <class Fence>
  bool add(Fence& fence, bool is_legacy, device_id of, fence_id& id) noexcept {
    for (std::size_t index = 0; index < Count; ++index) {
      slot& free = slots_[index];
      if (free.is_used) continue;
      free.is_used = true;
      free.object.store(&fence);
      free.calls.store(&signal_operations_of<operations, Fence>);
      free.is_legacy.store(is_legacy ? 1 : 0);
      const std::uint32_t device = devices_.enter(of);
      free.device.store(device);
      const std::uint32_t number = next_number(free, index);
      // (U1): release, pairs with (U2) and (U23): the slot is filled.
      free.number.store(number, std::memory_order_release);
      id = fence_id{number};
      devices_.link(device, index);
      return true;
    }
    return false;
  }

  /// Hides a fence from passes that begin later. Returns its slot, which the owner must free() once the running pass
  /// has ended; null where no fence has this id. For the owner.
  slot* hide(fence_id id) noexcept {
    slot& known = slots_[index_of(id)];
    // (U3): relaxed alone: the owner wrote it.
    if (known.number.load(std::memory_order_relaxed) != to_number(id) || to_number(id) == 0) return nullptr;
    // (U4): relaxed; (U20) releases it: a pass that begins after that finds no fence here.
    known.number.store(0, std::memory_order_relaxed);
    devices_.unlink(known.device.load(), index_of(id));
    return &known;
  }
  /// The slot may be used again, under another id. For the owner.
  void free(slot& hidden) noexcept {
    hidden.is_used = false;
    devices_.leave(hidden.device.load());
  }

  /// Returns the slot of this fence, or null where no fence has this id.
  const slot* find(fence_id id) const noexcept {
    const slot& known = slots_[index_of(id)];
    // (U2): acquire, pairs with (U1).
    const std::uint32_t number = known.number.load(std::memory_order_acquire);
    return number != 0 && number == to_number(id) ? &known : nullptr;
  }

  /// Returns whether there is a fence in the slot.
  static bool is_filled(const slot& one) noexcept {
    // (U23): acquire, pairs with (U1).
    return one.number.load(std::memory_order_acquire) != 0;
  }

  /// Calls one of the fence's operations.
  template <class Operation, class... Value>
  static auto apply(const slot& to, Operation operations::* operation, Value... value) noexcept {
    void* const object = to.object.load();
    return (to.calls.load()->*operation)(object, value...);
  }

  const std::array<slot, Count>& all() const noexcept { return slots_; }
  /// Calls `action(slot)` for each slot that has a fence of this device, and perhaps for some that had one when the
  /// pass began. For the server.
  template <class Action>
  void for_each_of(std::uint32_t device, const Action& action) const noexcept {
    devices_.for_each(device, [&](std::size_t index) { action(slots_[index]); });
  }
  /// Queues belong to these devices, too. For the owner.
  hub_devices<Platform, Count, Devices>& devices() noexcept { return devices_; }

 private:
  /// The number wraps, and is never below Count, so that 0 is no fence's.
  static std::uint32_t next_number(slot& of, std::size_t index) noexcept {
    std::uint32_t number = 0;
    while (number < Count) number = static_cast<std::uint32_t>(++of.generation * Count + index);
    return number;
  }

  std::array<slot, Count> slots_;
  hub_devices<Platform, Count, Devices> devices_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_QUEUE_DETAIL_HUB_FENCES_HPP
