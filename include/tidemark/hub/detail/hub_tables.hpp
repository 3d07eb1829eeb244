// SPDX-License-Identifier: BSL-1.0
//
// hub_tables: what a hub keeps: marks of the waiters that may be due, its fences by device, its queues, and its passes.
#ifndef TIDEMARK_HUB_DETAIL_HUB_TABLES_HPP
#define TIDEMARK_HUB_DETAIL_HUB_TABLES_HPP

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "../../fence/wait.hpp"
#include "../../log/ids.hpp"
#include "../../platform/platform.hpp"

namespace tidemark::detail {

/// The marks that notifiers leave in a hub, one bit for each fence or queue. The server takes a whole word of them away
/// before it looks at what they stand for: a mark that is left meanwhile is for the next pass.
template <platform Platform, std::size_t Count>
class hub_marks {
 public:
  static constexpr std::size_t words = (Count + 63) / 64;

  void leave(std::size_t index) noexcept {
    // (U13): release, pairs with (U14): what the notifier did before is there for the pass.
    words_[index / 64].fetch_or(std::uint64_t{1} << index % 64, std::memory_order_release);
  }

  /// Takes the marks of one word away, and returns them.
  std::uint64_t take(std::size_t word) noexcept {
    // (U14): acquire, pairs with (U13). Taken before they are served: a mark left from now on is for the next pass.
    return words_[word].exchange(0, std::memory_order_acquire);
  }

  /// Calls `action(index)` for each mark of a word.
  template <class Action>
  static void for_each(std::uint64_t taken, std::size_t word, const Action& action) noexcept {
    for (; taken != 0; taken &= taken - 1) action(word * 64 + static_cast<std::size_t>(std::countr_zero(taken)));
  }

 private:
  std::array<typename Platform::template atomic<std::uint64_t>, words> words_;
};

// The devices of a hub, and the fences of each: lists of places, so that a pass over the fences of one device costs in
// proportion to them, and not to all fences of the hub.
//
//   entries   a device each, with the first place of its list; written by the owner, who counts who needs the entry
//   next      for each place the one that follows it in its list; written by the owner
//
// A link is a place plus 1, and 0 at the end of a list. The server walks a list while the owner changes it. A fence
// that is taken off keeps its own link until the pass that runs then has ended, so a walk that stands there goes on.

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

// The fences of a hub. Each lies in a slot, and is known by an id that names the slot and counts the fences that were
// in it. The hub's owner fills and empties slots; notifiers and the server look fences up, and the server walks over
// all fences or over those of one device.

/// The steps of a signal of a fence of any type, by function pointers. The first parameter of each is the fence.
struct signal_steps {
  bool (*publish)(void*, std::uint64_t value) noexcept;
  bool (*is_due)(void*, std::uint64_t value) noexcept;
  std::size_t (*release)(void*) noexcept;                          // those that are due by the fence's value
  std::size_t (*release_by)(void*, std::uint64_t value) noexcept;  // those that are due by this value

  template <class Fence>
  static constexpr signal_steps of() noexcept {
    return {
        .publish = [](void* self, std::uint64_t value) noexcept { return as<Fence>(self).publish(value); },
        .is_due = [](void* self, std::uint64_t value) noexcept { return as<Fence>(self).is_due(value); },
        .release = [](void* self) noexcept { return as<Fence>(self).release_due_after_barrier(); },
        .release_by = [](void* self,
                         std::uint64_t value) noexcept { return as<Fence>(self).release_due_after_barrier(value); }};
  }

 private:
  template <class Fence>
  static Fence& as(void* self) noexcept {
    return *static_cast<Fence*>(self);
  }
};
template <class Fence>
inline constexpr signal_steps signal_steps_of = signal_steps::of<Fence>();

/// \tparam Devices  the greatest number of devices, of fences and queues together
template <platform Platform, std::size_t Count, std::size_t Devices>
class hub_fences {
 public:
  struct slot {
    typename Platform::template atomic<std::uint32_t> number;  // the id; 0: no fence
    typename Platform::template var<void*> object;
    typename Platform::template var<const signal_steps*> steps;
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
      free.steps.store(&signal_steps_of<Fence>);
      free.is_legacy.store(is_legacy ? 1 : 0);
      const std::uint32_t device = devices_.enter(of);
      free.device.store(device);
      const std::uint32_t number = next_number(free, index);
      // (U1): release, pairs with (U2), (U23) and (U34): the slot is filled.
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

  /// Returns the id of the fence in the slot; number 0 if there is none.
  static fence_id id_of(const slot& one) noexcept {
    // (U34): acquire, pairs with (U1): the slot may have been filled since the pass began.
    return fence_id{one.number.load(std::memory_order_acquire)};
  }

  /// Takes one step of a signal of the fence.
  template <class Step, class... Value>
  static auto take(Step signal_steps::* step, const slot& of, Value... value) noexcept {
    void* const fence = of.object.load();
    return (of.steps.load()->*step)(fence, value...);
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

// The queues of a hub: for each the reader of its signal log, the engine that it runs on, and its device. The hub's
// owner adds and removes queues; notifiers look them up, and the server reads their logs.

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
  std::optional<queue_id> add(Reader signal_log, engine_id engine, std::uint32_t device) {
    for (std::size_t index = 0; index < Count; ++index) {
      slot& free = slots_[index];
      if (free.is_used) continue;
      free.reader.store(&free.signal_log.emplace(std::move(signal_log)));
      // (U22): relaxed; (U8) releases it.
      free.engine.store(to_number(engine), std::memory_order_relaxed);
      free.device.store(device);
      free.is_used = true;
      const auto number = static_cast<std::uint32_t>(free.generation * Count + index);
      // (U8): release, pairs with (U19) and (U35): the slot is filled.
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
  engine_id engine_of(std::size_t index) const noexcept {
    // (U30): relaxed; (U19) has acquired it.
    return engine_id{slots_[index].engine.load(std::memory_order_relaxed)};
  }
  /// Returns the id of the queue in a slot; nothing if there is none. For the server.
  std::optional<queue_id> id_at(std::size_t index) const noexcept {
    // (U35): acquire, pairs with (U8), as (U19).
    const std::uint32_t number = slots_[index].number.load(std::memory_order_acquire);
    return number != 0 ? std::optional{queue_id{number - 1}} : std::nullopt;
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

/// Who makes the passes of a hub, and when: one thread at a time, and once more if a pass was asked for meanwhile.
///
///   requests_   idle, asked or served. A notifier stores `asked`; the one that finds `idle` serves, or rings. The
///               server stores `served` before each pass and goes back to `idle` only if nobody asked meanwhile, so
///               there is one server at a time. Three states, not a count: a count would wrap
///   passes_     the number of the pass that runs or comes next, whether it runs, and whether somebody sleeps until it
///               ends
template <platform Platform>
class hub_passes {
 public:
  using word = typename Platform::park_word;

  /// Asks for a pass. Returns true to the caller that must serve or ring; other callers leave their marks to the
  /// server.
  bool ask() noexcept {
    // (U15): release, pairs with (U16): the mark is there for the server, also where another notifier asked after this
    // one, since each change of the word is a read-modify-write. Not acquire: a notifier that serves acquires in (U16).
    return requests_.exchange(asked, std::memory_order_release) == idle;
  }

  bool is_asked() const noexcept {
    // (U12): relaxed alone: a hint; (U16) does the rest.
    return requests_.load(std::memory_order_relaxed) != idle;
  }

  /// Sleeps until a pass is asked for. Returns false at the deadline.
  bool sleep(deadline until) noexcept { return Platform::park(requests_, idle, until); }

  /// The word that a sleeping server is woken by.
  word& requests() noexcept { return requests_; }

  /// Makes passes until no pass is asked for.
  template <class Pass>
  void serve(const Pass& pass) noexcept {
    std::uint32_t expected;
    do {
      // (U16): acquire, pairs with (U15), for the marks; and with (U17): the cursors and the number of the pass are as
      // the last server left them. An exchange: a store would end the chain from (U15) and (U17) to here, and what is
      // asked from now on is found by (U17).
      requests_.exchange(served, std::memory_order_acquire);
      make(pass);
      expected = served;
      // (U17): release, pairs with (U16) of the next server. Fails if somebody asked since (U16), which is then
      // repeated and acquires.
    } while (!requests_.compare_exchange_strong(expected, idle, std::memory_order_release, std::memory_order_relaxed));
  }

  /// Sleeps until there is something to serve, and serves it by `try_serve()`, which returns whether there was. Returns
  /// `reached` when it has served something, `stopped` or `timeout`. A stop of the token calls `ring()`.
  template <class Token, class TryServe, class Ring>
  wait_status serve_before(deadline until, const Token& token, const TryServe& try_serve, const Ring& ring) noexcept {
    // The token is read first, so that everything that was asked for before the stop is served.
    const bool has_stopped = token.stop_requested();
    if (try_serve()) return wait_status::reached;
    if (has_stopped) return wait_status::stopped;
    {
      // A stop is a notification that leaves no mark, so that it wakes the dispatcher as any other does.
      const typename stop_callback_for<Token, Ring>::type stop_callback(token, ring);
      while (!is_asked() && sleep(until)) continue;
    }
    const bool stops = token.stop_requested();
    const bool has_served = try_serve();
    if (stops) return wait_status::stopped;
    return has_served ? wait_status::reached : wait_status::timeout;
  }

  /// Waits until the pass that runs now, if one does, has ended.
  void let_pass_end() noexcept {
    // (U20): release, pairs with (U5), for (U4); acquire, pairs with (U6), for a pass that has just ended.
    const std::uint32_t seen = passes_.fetch_or(pass_awaited, std::memory_order_acq_rel) | pass_awaited;
    if ((seen & pass_running) == 0) return;
    // (U21): acquire, pairs with (U6).
    while (passes_.load(std::memory_order_acquire) == seen) Platform::park(passes_, seen, no_deadline);
  }

 private:
  // The states of requests_. A server sleeps on 0.
  static constexpr std::uint32_t idle = 0;
  static constexpr std::uint32_t served = 1;  // a pass runs that may take every mark that was left before it
  static constexpr std::uint32_t asked = 2;   // marks were left that the running pass, if any, may not find

  // The low bits of passes_.
  static constexpr std::uint32_t pass_running = 1;
  static constexpr std::uint32_t pass_awaited = 2;

  template <class Pass>
  void make(const Pass& pass) noexcept {
    const std::uint32_t number = pass_number_.load();
    // (U5): acquire, pairs with (U20): a fence that was removed before this is not found by the pass; a thread that
    // removes one later finds that a pass is running.
    passes_.fetch_or(pass_running, std::memory_order_acquire);
    pass();
    pass_number_.store(number + 1);
    // (U6): release, pairs with (U20) and (U21): what the pass did to the fences is done.
    const std::uint32_t ended = passes_.exchange((number + 1) << 2, std::memory_order_release);
    if ((ended & pass_awaited) != 0) Platform::unpark(passes_, UINT32_MAX);
  }

  word requests_;
  alignas(cache_line) word passes_;
  typename Platform::template var<std::uint32_t> pass_number_;  // the server's
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_HUB_DETAIL_HUB_TABLES_HPP
