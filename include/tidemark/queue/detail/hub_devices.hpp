// SPDX-License-Identifier: BSL-1.0
//
// The devices of a hub, and the fences of each: lists of places, so that a pass over the fences of one device costs in
// proportion to them, and not to all fences of the hub [A113].
//
//   entries   a device each, with the first place of its list; written by the owner, who counts who needs the entry
//   next      for each place the one that follows it in its list; written by the owner
//
// A link is a place plus 1, and 0 at the end of a list. The server walks a list while the owner changes it. A fence
// that is taken off keeps its own link until the pass that runs then has ended, so a walk that stands there goes on.
#ifndef TIDEMARK_QUEUE_DETAIL_HUB_DEVICES_HPP
#define TIDEMARK_QUEUE_DETAIL_HUB_DEVICES_HPP

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "../../log/ids.hpp"
#include "../../platform/platform.hpp"

namespace tidemark::detail {

/// \tparam Places  the greatest number of fences
/// \tparam Count   the greatest number of devices. Each fence and each queue needs one at most
template <platform Platform, std::size_t Places, std::size_t Count>
class hub_devices {
 public:
  /// Returns the entry of a device, and makes it if there is none. It stays until leave(). For the owner.
  std::uint32_t enter(device_id id) noexcept {
    std::uint32_t free = 0;
    for (std::uint32_t at = 0; at < Count; ++at) {
      if (entries_[at].users == 0) {
        free = at;
      } else if (entries_[at].id == id) {
        ++entries_[at].users;
        return at;
      }
    }
    entries_[free].id = id;
    entries_[free].users = 1;
    return free;
  }
  /// Undoes an enter(). No pass may walk the list of the entry any more, unless others still need it. For the owner.
  void leave(std::uint32_t entry) noexcept { --entries_[entry].users; }

  /// Puts a place at the front of the list of a device. For the owner.
  void link(std::uint32_t entry, std::size_t place) noexcept {
    point(next_[place], get(entries_[entry].first));
    point(entries_[entry].first, static_cast<std::uint32_t>(place) + 1);
  }
  /// Takes a place off the list of a device. A pass that runs may still come to it. For the owner.
  void unlink(std::uint32_t entry, std::size_t place) noexcept {
    word* at = &entries_[entry].first;
    while (get(*at) != place + 1) at = &next_[get(*at) - 1];
    point(*at, get(next_[place]));
  }

  /// Calls `action(place)` for each place in the list of a device. For the server.
  template <class Action>
  void for_each(std::uint32_t entry, const Action& action) const noexcept {
    const word* at = &entries_[entry].first;
    for (;;) {
      // (U32): acquire, pairs with (U31): the link at this place is that of this list, not of one where it was before.
      const std::uint32_t link = at->load(std::memory_order_acquire);
      if (link == 0) return;
      action(std::size_t{link} - 1);
      at = &next_[link - 1];
    }
  }

 private:
  using word = typename Platform::template atomic<std::uint32_t>;
  struct device {
    word first;
    device_id id{};           // the owner's
    std::uint32_t users = 0;  // the owner's
  };

  /// For the owner, who wrote it.
  static std::uint32_t get(const word& link) noexcept {
    // (U33): relaxed alone: the owner wrote it.
    return link.load(std::memory_order_relaxed);
  }
  static void point(word& link, std::uint32_t to) noexcept {
    // (U31): release, pairs with (U32): where the link leads to, the list goes on.
    link.store(to, std::memory_order_release);
  }

  std::array<device, Count> entries_;
  std::array<word, Places> next_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_QUEUE_DETAIL_HUB_DEVICES_HPP
