// SPDX-License-Identifier: BSL-1.0
//
// hub: serves the notifications of many fences and queues. A signaller only says who may be due; the hub finds the
// waiters and releases them, in the signaller's thread, in a dispatcher thread, or in an event loop.
//
//   notify(fences)      these fences: each is released by its value of now (A55, A56)
//   notify(queue)       what this queue's log says: fences are released by the logged values, none is read (A111, A112)
//   notify_engine(e)    all queues of this engine, and of no other (A115)
//   notify_all()        somebody, somewhere: every native fence; with `legacy`, the legacy ones too (A58, A60, A62, A63)
//
// Notifications coalesce (A59): each leaves a mark, and only the first one since the last pass rings. A pass takes the
// marks away before it looks at what they stand for: a mark that is left meanwhile causes another pass (trap 12).
//
//   marks     who may be due; written by notifiers, taken by the server
//   requests  idle, asked or served. A notifier stores `asked`; the one that finds `idle` rings or becomes the server.
//             The server stores `served` before each pass and goes back to `idle` only if nobody asked meanwhile, so
//             there is one server at a time. Three states, not a count: a count would wrap
//   slots     the fences and queues; written by the owner
//
// If a queue has overwritten entries that were not served yet, their fences are not known any more: then every fence is
// released by its value of now (A99, A113), and the cursor goes on behind the gap (trap 19).
//
// Why nobody is forgotten (A61): a signal that finds a waiter due has stored its value and written its entry before it
// leaves the mark, so the pass that takes the mark finds both. If an earlier pass took the entry, a waiter that it missed
// registered later and sees the value: by the full barrier (U27) or, where that is empty, by one order of (F1) (F3) (H8) (H9).
//
// A stale id, of a fence that was removed, notifies nobody and is counted; it is a programming error (A57). So is a signal
// of a fence that the hub does not know: no pass would find its waiters, so the signaller releases them.
//
// Not promised: that a pass ends while notifications keep coming; use of the hub in signal handlers.
#ifndef TIDEMARK_HUB_HPP
#define TIDEMARK_HUB_HPP

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "detail/fence_operations.hpp"
#include "detail/hub_service.hpp"
#include "fence.hpp"
#include "fence_log.hpp"
#include "queue.hpp"

namespace tidemark {

/// Native waiters are looked for by every notify_all(), legacy ones only where it says so (A62).
enum class fence_kind { native, legacy };

/// One fence of a batch.
struct fence_update {
  std::uint32_t fence;  ///< its id
  std::uint64_t value;
};

/// What a hub counts.
enum class hub_event {
  pass,         ///< over the marks
  scan,         ///< of all fences, asked for
  overrun,      ///< scan of all fences because entries of a queue were lost
  value_read,   ///< a fence released by its value of now
  log_release,  ///< an entry served by the value in the log
  stale,        ///< a fence or a queue that the hub does not know was named: a programming error (A57)
  skipped,      ///< an entry of a fence that is not in the hub (any more), which is legal
};

/// What a queue tells its hub about a signal that has a waiter due.
enum class notify_style {
  by_queue,  ///< which queue it was: served from its log alone (A114)
  by_fence,  ///< which fence it was (A110)
  by_scan,   ///< that there was one, which may be due a legacy waiter too (A63)
};

/// \tparam Platform  its barriers must be those of the fences, or asymmetric
/// \tparam Service   self_serving, dispatched or event_driven (detail/hub_service.hpp)
/// \tparam Fences    at most so many at a time; a power of two
/// \tparam Queues    at most so many at a time
template <class Platform = native_platform, class Service = self_serving, std::size_t Fences = 256,
          std::size_t Queues = 32>
class basic_hub {
 public:
  static_assert(std::has_single_bit(Fences) && Fences <= std::size_t{1} << 16,
                "ids wrap: a power of two, and not a large one");

  using reader_type = queue_log_reader<Platform>;

  explicit basic_hub(Service service = {}) noexcept : service_{std::move(service)} {}
  basic_hub(const basic_hub&) = delete;
  basic_hub& operator=(const basic_hub&) = delete;

  // ---- who is there: the hub's owner, one thread at a time ----------------------------------------------------------

  /// Makes a fence known, which must outlive its stay. Returns it with its id, which is 0 when the hub is full. Ids of
  /// removed fences don't come again soon.
  template <class Fence>
  [[nodiscard]] logged_fence<Fence> add(Fence& timeline, fence_kind kind = fence_kind::native) noexcept {
    static_assert(Platform::asymmetric || !Fence::platform::asymmetric, "a hub's barriers must serve all its fences");
    for (std::size_t index = 0; index < Fences; ++index) {
      fence_slot& slot = fences_[index];
      if (slot.is_used) continue;
      slot.is_used = true;
      slot.object.store(&timeline);
      slot.operations.store(&detail::operations_of<Fence>);
      slot.is_legacy.store(kind == fence_kind::legacy ? 1 : 0);
      const std::uint32_t id = next_id(slot, index);
      // (U1): release, pairs with (U2) and (U23): the slot is filled.
      slot.id.store(id, std::memory_order_release);
      return {&timeline, id};
    }
    return {&timeline, 0};
  }

  /// Forgets a fence. When it returns, no pass touches the fence any more. Blocks while a pass runs. No queue may be
  /// within a signal of the fence, and none may signal it under this id later.
  ///
  /// An id that no fence has (any more) is a programming error, here and in every notification: it is asserted, and
  /// where the assertion returns, or with NDEBUG, it is counted as `stale` and otherwise ignored. (A57)
  void remove(std::uint32_t id) noexcept {
    fence_slot& slot = fences_[id % Fences];
    // (U3): relaxed alone: the owner wrote it.
    const bool is_known = id != 0 && slot.id.load(std::memory_order_relaxed) == id;
    TIDEMARK_ASSERT(is_known, "a fence is removed that is not in the hub");
    if (!is_known) return note(hub_event::stale);
    // (U4): relaxed, (U20) releases it: a pass that begins after that finds no fence here.
    slot.id.store(0, std::memory_order_relaxed);
    let_pass_end();
    slot.is_used = false;
  }

  /// No queue's number.
  static constexpr std::size_t no_queue = Queues;

  /// Makes a queue known by a reader of its signal log, for as long as the hub lives. Returns its number for
  /// notify_queue(), or `no_queue` when the hub is full.
  /// \param engine  the engine it runs on, for notify_engine()
  [[nodiscard]] std::size_t add_queue(reader_type signals, std::uint32_t engine = 0) {
    // (U7): relaxed alone: the owner wrote it.
    const std::size_t index = queue_count_.load(std::memory_order_relaxed);
    if (index == Queues) return no_queue;
    queues_[index].signals.emplace(std::move(signals));
    queues_[index].engine.store(engine);
    // (U8): release, pairs with (U9): the slot is filled.
    queue_count_.store(index + 1, std::memory_order_release);
    return index;
  }

  // ---- notifying: any thread. Progress: lock-free, and what Service does --------------------------------------------

  /// Releases the waiters of this fence that are due (A56, A110).
  void notify(std::uint32_t id) noexcept {
    if (mark_fence(id)) ring();
  }
  /// The same for several fences (A55). An empty set notifies nobody: a caller that does not know the set must call
  /// notify_all() (trap 23).
  void notify(std::span<const std::uint32_t> ids) noexcept {
    bool any = false;
    for (const std::uint32_t id : ids) any = mark_fence(id) || any;
    if (any) ring();
  }
  /// Serves what this queue has logged since it was served last (A111, A112). A number that no queue has is asserted and
  /// counted as `stale`, and notifies nobody.
  void notify_queue(std::size_t number) noexcept {
    const bool is_known = number < queue_count();
    TIDEMARK_ASSERT(is_known, "a notification names a queue that is not in the hub");
    if (!is_known) return note(hub_event::stale);
    mark(queue_marks_, number);
    ring();
  }
  /// Notifies on behalf of queue `number`, whose signal of this fence found a waiter due; what a hub_notifier calls. Where
  /// the hub does not know the fence under this id, or not the queue, no pass would find the waiters: that is asserted and
  /// counted as `stale`, and the fence's waiters are released here, by the current value.
  template <class Fence>
  void notify_due(const logged_fence<Fence>& due, notify_style style, std::size_t number) noexcept {
    const fence_slot* const slot = live(due.id);
    const bool fence_is_known = slot != nullptr && slot->object.load() == due.fence;
    TIDEMARK_ASSERT(fence_is_known, "a queue signals a fence that its hub does not know");
    const bool queue_is_known = style != notify_style::by_queue || number < queue_count();
    TIDEMARK_ASSERT(queue_is_known, "a queue signals before its hub knows it");
    if (!fence_is_known || !queue_is_known) [[unlikely]] {
      note(hub_event::stale);
      // (U29): for a pinned fence, as (F4): the signal comes before the search for waiters. Nothing weaker does.
      Fence::platform::full_barrier();
      due.fence->release_due_after_barrier();
      return;
    }
    switch (style) {
      case notify_style::by_queue:
        return notify_queue(number);
      case notify_style::by_fence:
        return notify(due.id);
      case notify_style::by_scan:
        return notify_all(true);
    }
  }
  /// Serves what the queues of this engine have logged (A115, trap 23).
  void notify_engine(std::uint32_t engine) noexcept {
    const std::size_t queues = queue_count();
    for (std::size_t number = 0; number < queues; ++number) {
      if (queues_[number].engine.load() == engine) mark(queue_marks_, number);
    }
    ring();
  }
  /// Releases the waiters of every native fence that are due, and of every legacy fence if `legacy` (A58, A60, A62, A63).
  void notify_all(bool legacy = false) noexcept {
    // (U10): release, pairs with (U11).
    scan_mark_.fetch_or(legacy ? scan_native | scan_legacy : scan_native, std::memory_order_release);
    ring();
  }

  /// Signals several fences: all values first, then at most one notification for all that have a waiter due (A64). The
  /// caller must be entitled to signal each fence. An id that no fence has is asserted, counted as `stale` and left out.
  /// Issues no full barrier: is_due() has the barrier that an ordinary fence needs, and a fence whose monitored value is
  /// pinned to 0, because heavy barriers are refused, always is due and gets its full barrier in the pass.
  void signal_batch(std::span<const fence_update> updates) noexcept {
    for (const fence_update& update : updates) {
      if (const fence_slot* const slot = live(update.fence)) apply(*slot, &fence_operations::publish, update.value);
    }
    bool any = false;
    for (const fence_update& update : updates) {
      const fence_slot* const slot = known(update.fence);
      if (slot != nullptr && apply(*slot, &fence_operations::is_due, update.value)) {
        mark(fence_marks_, update.fence % Fences);
        any = true;
      }
    }
    if (any) ring();
  }

  // ---- serving ------------------------------------------------------------------------------------------------------

  /// For a dispatcher: serves what there is. Returns false when there was nothing. One thread at a time.
  bool serve() noexcept requires(!Service::serves_itself) {
    // (U12): relaxed alone: a hint; (U16) does the rest.
    if (requests_.load(std::memory_order_relaxed) == idle) return false;
    serve_all();
    return true;
  }

  /// For a dispatcher thread: sleeps until there is something or until the deadline, then serves. Returns false when the
  /// deadline has passed and there was nothing. One thread at a time.
  bool wait_and_serve(deadline until = forever) noexcept requires(Service::has_thread) {
    for (;;) {
      if (serve()) return true;
      if (!Platform::park(requests_, idle, until)) return serve();
    }
  }

  Service& service() noexcept { return service_; }

  /// Returns how often it happened; exact when nothing is in flight. Progress: wait-free. Thread-safe.
  std::uint64_t count(hub_event what) const noexcept {
    // (U25): relaxed alone, a statistic.
    return counts_[static_cast<std::size_t>(what)].load(std::memory_order_relaxed);
  }

 private:
  using fence_operations = detail::fence_operations;

  template <class T>
  using var = typename Platform::template var<T>;
  template <class T>
  using word = typename Platform::template atomic<T>;

  struct fence_slot {
    word<std::uint32_t> id;  // 0: no fence
    var<void*> object;
    var<const fence_operations*> operations;
    var<int> is_legacy;
    std::uint32_t generation = 0;  // the owner's
    bool is_used = false;          // the owner's
  };
  struct queue_slot {
    std::optional<reader_type> signals;  // of who serves
    var<std::uint32_t> engine;
  };
  template <std::size_t Count>
  using mark_words = std::array<word<std::uint64_t>, (Count + 63) / 64>;

  // The states of requests_. A word of 0 is what dispatchers sleep on.
  static constexpr std::uint32_t idle = 0;
  static constexpr std::uint32_t served = 1;  // a pass runs that may take every mark that was left before it
  static constexpr std::uint32_t asked = 2;   // marks were left that the pass that runs now, if any, may not find

  // passes_: the number of the pass that runs or comes next, and these.
  static constexpr std::uint32_t pass_running = 1;
  static constexpr std::uint32_t pass_awaited = 2;

  static constexpr std::uint32_t scan_native = 1;
  static constexpr std::uint32_t scan_legacy = 2;

  /// Wraps, and is never below Fences, so that 0 is no id.
  static std::uint32_t next_id(fence_slot& slot, std::size_t index) noexcept {
    std::uint32_t id = 0;
    while (id < Fences) id = static_cast<std::uint32_t>(++slot.generation * Fences + index);
    return id;
  }

  template <class Operation, class... Value>
  static auto apply(const fence_slot& slot, Operation fence_operations::*operation, Value... value) noexcept {
    void* const object = slot.object.load();
    return (slot.operations.load()->*operation)(object, value...);
  }

  const fence_slot* live(std::uint32_t id) const noexcept {
    const fence_slot& slot = fences_[id % Fences];
    // (U2): acquire, pairs with (U1).
    return id != 0 && slot.id.load(std::memory_order_acquire) == id ? &slot : nullptr;
  }
  std::size_t queue_count() const noexcept {
    // (U9): acquire, pairs with (U8).
    return queue_count_.load(std::memory_order_acquire);
  }

  /// As live(); says so where a caller names what is not there.
  const fence_slot* known(std::uint32_t id) noexcept {
    const fence_slot* const slot = live(id);
    TIDEMARK_ASSERT(slot != nullptr, "a notification names a fence that is not in the hub");
    if (slot == nullptr) note(hub_event::stale);
    return slot;
  }

  bool mark_fence(std::uint32_t id) noexcept {
    if (known(id) == nullptr) return false;
    mark(fence_marks_, id % Fences);
    return true;
  }

  template <class Marks>
  static void mark(Marks& marks, std::size_t index) noexcept {
    // (U13): release, pairs with (U14): what the notifier did before is there for the pass.
    marks[index / 64].fetch_or(std::uint64_t{1} << index % 64, std::memory_order_release);
  }

  /// The notifier that finds the word idle serves or rings; the others leave their marks to the server.
  void ring() noexcept {
    // (U15): release, pairs with (U16): the mark is there for the server, also where another notifier asked after this one,
    // since each change of the word is a read-modify-write. Not acquire: a notifier that serves acquires in (U16).
    if (requests_.exchange(asked, std::memory_order_release) != idle) return;
    if constexpr (Service::serves_itself) {
      serve_all();
    } else {
      service_.template ring<Platform>(requests_);
    }
  }

  void serve_all() noexcept {
    std::uint32_t expected;
    do {
      // (U16): acquire, pairs with (U15), for the marks; and with (U17): the cursors and the number of the pass are as the
      // last server left them. An exchange: a store would end the chain from (U15) and (U17) to here, and what is asked
      // from now on is found by (U17).
      requests_.exchange(served, std::memory_order_acquire);
      pass();
      expected = served;
      // (U17): release, pairs with (U16) of the next server. Fails if somebody asked since (U16), which is then repeated
      // and acquires.
    } while (!requests_.compare_exchange_strong(expected, idle, std::memory_order_release, std::memory_order_relaxed));
  }

  /// Takes the marks, then does what they ask for.
  void pass() noexcept {
    const std::uint32_t number = pass_number_.load();
    // (U5): acquire, pairs with (U20): who removed a fence before this is not seen to have it, and who does so later
    // finds that a pass is running.
    passes_.fetch_or(pass_running, std::memory_order_acquire);
    note(hub_event::pass);
    serve_fences();
    serve_queues();
    // (U11): acquire, pairs with (U10).
    const std::uint32_t scan = scan_mark_.exchange(0, std::memory_order_acquire);
    if (scan != 0) {
      note(hub_event::scan);
      release_all((scan & scan_legacy) != 0);
    }
    pass_number_.store(number + 1);
    // (U6): release, pairs with (U20) and (U21): what the pass did to the fences is done.
    const std::uint32_t ended = passes_.exchange((number + 1) << 2, std::memory_order_release);
    if ((ended & pass_awaited) != 0) Platform::unpark(passes_, UINT32_MAX);
  }

  /// Waits for the pass that runs now, if one does.
  void let_pass_end() noexcept {
    // (U20): release, pairs with (U5), for (U4); acquire, pairs with (U6), for a pass that has just ended.
    const std::uint32_t seen = passes_.fetch_or(pass_awaited, std::memory_order_acq_rel) | pass_awaited;
    if ((seen & pass_running) == 0) return;
    // (U21): acquire, pairs with (U6).
    while (passes_.load(std::memory_order_acquire) == seen) sleep_through(seen);
  }
  void sleep_through(std::uint32_t pass) noexcept { Platform::park(passes_, pass, forever); }

  /// The marks of one word, which are not there any more.
  static std::uint64_t take(word<std::uint64_t>& marks) noexcept {
    // (U14): acquire, pairs with (U13). Taken before it is served: a mark left from now on is for the next pass.
    return marks.exchange(0, std::memory_order_acquire);
  }
  template <class Action>
  static void for_each_bit(std::uint64_t bits, std::size_t word, const Action& action) noexcept {
    for (; bits != 0; bits &= bits - 1) action(word * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
  }

  void serve_fences() noexcept {
    for (std::size_t index = 0; index < fence_marks_.size(); ++index) {
      const std::uint64_t taken = take(fence_marks_[index]);
      if (taken == 0) continue;
      // (U26): for pinned fences, as (F4), and so for each word after its (U14): the signals whose marks were taken come
      // before the search for waiters. Meets the waiter's own (G3); nothing weaker does.
      Platform::full_barrier();
      for_each_bit(taken, index, [this](std::size_t fence_index) { release(fences_[fence_index]); });
    }
  }

  void serve_queues() noexcept {
    for (std::size_t index = 0; index < queue_marks_.size(); ++index) {
      for_each_bit(take(queue_marks_[index]), index,
                   [this](std::size_t number) { serve_queue(*queues_[number].signals); });
    }
  }

  /// Releases by the values in the log (A112). A lost entry may have been of any fence (A99).
  void serve_queue(reader_type& signals) noexcept {
    std::array<fence_log_entry, 16> buffer;
    bool overrun = false;
    for (;;) {
      const auto batch = signals.read(buffer);
      overrun = overrun || batch.lost != 0;
      if (batch.entries.empty() && batch.lost == 0) break;
      // (U27): after the entries were read by (L6), as (F4): who registers for a value of theirs after this pass sees the
      // value, since the waiter's (G3) then comes later. Nothing weaker does.
      Platform::full_barrier();
      for (const fence_log_entry& entry : batch.entries) {
        const fence_slot* const slot = live(entry.fence);
        note(slot != nullptr ? hub_event::log_release : hub_event::skipped);
        if (slot != nullptr) apply(*slot, &fence_operations::release_by, entry.fence_value);
      }
    }
    if (overrun) {
      note(hub_event::overrun);
      release_all(true);
    }
  }

  void release_all(bool legacy) noexcept {
    // (U28): as (U26), after (U11), or after entries were found to be lost.
    Platform::full_barrier();
    for (const fence_slot& slot : fences_) release(slot, legacy);
  }

  void release(const fence_slot& slot, bool legacy = true) noexcept {
    // (U23): acquire, pairs with (U1).
    if (slot.id.load(std::memory_order_acquire) == 0) return;
    if (!legacy && slot.is_legacy.load() != 0) return;
    note(hub_event::value_read);
    apply(slot, &fence_operations::release);
  }

  void note(hub_event what) noexcept {
    // (U24): relaxed alone, as (U25).
    counts_[static_cast<std::size_t>(what)].fetch_add(1, std::memory_order_relaxed);
  }

  [[no_unique_address]] Service service_;
  std::array<fence_slot, Fences> fences_;
  std::array<queue_slot, Queues> queues_;
  word<std::size_t> queue_count_;
  alignas(cache_line) mark_words<Fences> fence_marks_;
  mark_words<Queues> queue_marks_;
  word<std::uint32_t> scan_mark_;
  word<std::uint32_t> requests_;
  alignas(cache_line) word<std::uint32_t> passes_;
  var<std::uint32_t> pass_number_;  // of who serves
  std::array<word<std::uint64_t>, 7> counts_;
};

/// The notifier of a queue that belongs to a hub. The queue's number comes after both exist, and before the first
/// signal: `queue.notifier().number = hub.add_queue(queue.signal_log());`
///
/// Every fence that the queue signals must be in the hub, under the id that the queue logs; the queue's own progress
/// fence too, if anybody waits for it. `number` must be that of this queue: with the number of another queue nobody is
/// released, which the hub can't notice.
template <class Hub>
struct hub_notifier {
  Hub* hub;
  notify_style style = notify_style::by_queue;
  std::size_t number = Hub::no_queue;

  template <class Fence>
  void operator()(const logged_fence<Fence>& due) const noexcept {
    hub->notify_due(due, style, number);
  }
};

using hub = basic_hub<>;

}  // namespace tidemark

#endif  // TIDEMARK_HUB_HPP
