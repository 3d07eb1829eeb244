// SPDX-License-Identifier: BSL-1.0
//
// hub: serves the notifications of many fences and queues. A signaller only says whose waiters may be due. The hub
// finds the waiters and releases them: in the signaller's thread, in a dispatcher thread, in an event loop
// (hub_services.hpp), or in the threads that run a wait_loop (loop_served.hpp).
//
//   tidemark::hub hub;
//   tidemark::hub_queue queue{finished};
//   if (!hub.attach(queue)) ...                       the hub is full
//   auto added = hub.add(output);                     every fence that the queue signals: queue.signal(added.fence, 4)
//
//   notify(fences)      these fences: releases the waiters whose targets their current values have reached
//   notify_queue(q)     what this queue's log says: fences are released by the logged values, none is read
//   notify_queues(qs)   the same for several queues, in one notification
//   notify_engine(e)    all queues of this engine, and of no other
//   notify_all()        any native fence; with `legacy`, the legacy ones too
//
// Notifications coalesce: each leaves a mark, and only the first one since the last pass asks for a new pass, by this
// thread or by the service. A pass takes the marks away before it looks at what they stand for, so a mark that is left
// meanwhile causes another pass.
//
// In detail/hub_tables.hpp:
//
//   marks     whose waiters may be due; written by notifiers, taken by the server
//   passes    who serves, one thread at a time
//   slots     the fences and the queues; written by the owner
//
// If a queue has overwritten entries that were not served yet, the hub can't know their fences any more. Then every
// fence of the queue's device is released by its current value, and the cursor goes on behind the gap. Fences and
// queues belong to a device, by default all to the same one. A queue may signal fences of another device only if it has
// the hub's notifier. For a signal of such a fence, that notifier names the fence to the hub, not the queue, even if
// its style is by_queue (hub_notifier.hpp). An entry of a cancelled signal releases nobody.
//
// An entry without a time stamp says that the write of the fence's value may have been skipped. The hub does not trust
// the value in it: it reads the fence's current value, and releases the waiters that are due by that. So only the
// entries of a queue with a clock are served from the log alone.
//
// Why no waiter is forgotten: a signal that finds a waiter due has stored its value and written its entry before it
// leaves the mark, so the pass that takes the mark finds both. If an earlier pass took the entry, it missed only
// waiters that registered later, and each of these sees the value. A full barrier ensures that: the pass issues it
// after it has read the entries and before it looks for waiters (mark U27 in the code). On a platform without one, the
// single total order of the accesses with the marks F1, F3, H8 and H9 ensures it.
//
// Two programming errors are asserted not to happen, and otherwise counted as `stale`. A notification, a removal or a
// batch names a fence or a queue that is not in the hub: that name is ignored. A queue with a hub_notifier of the hub
// signals a fence that is not in the hub, and finds a waiter due: no pass would find the waiters of that fence, so the
// queue's executor releases them.
//
// Not promised: that a call that serves returns while notifications keep coming, or that a pass ends while a queue logs
// signals as fast as the pass reads them; use of the hub in signal handlers.
#ifndef TIDEMARK_HUB_HUB_HPP
#define TIDEMARK_HUB_HUB_HPP

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "../fence/fence.hpp"
#include "../fence/wait.hpp"
#include "../log/fence_log.hpp"
#include "../log/ids.hpp"
#include "../platform/names.hpp"
#include "../platform/platform.hpp"
#include "../queue/notifier.hpp"
#include "../queue/queue.hpp"
#include "detail/hub_tables.hpp"
#include "hub_notifier.hpp"
#include "hub_services.hpp"
#include "signal_origin.hpp"

namespace tidemark {

/// Which calls of notify_all() look at a fence. Most programs need native fences alone; a legacy one is for waiters
/// that are looked at only on request. notify_all() looks at the native fences alone, notify_all(true) at the legacy
/// ones, too. All other notifications treat both kinds alike.
enum class fence_kind { native, legacy };

/// One fence of a batch.
struct fence_update {
  fence_id fence;
  std::uint64_t value;
};

/// What a hub counts.
enum class hub_event {
  pass,         ///< A pass over the marks.
  scan,         ///< A scan that notify_all() asked for. Calls that coalesce count once.
  overrun,      ///< A scan of the fences of a device because entries of a queue were lost.
  value_read,   ///< The waiters of a fence were released by its current value; also for an entry without a time stamp.
  log_release,  ///< An entry was served by the value in the log.
  stale,        ///< A programming error: a fence or a queue was named that is not in the hub.
  skipped,      ///< An entry in a log was left out: its fence is not in the hub, or no longer. That is no error.
  cancelled,    ///< An entry in a log was left out: what it stands for was cancelled.
};

template <>
inline constexpr auto detail::names_of<hub_event> =
    detail::names("pass", "scan", "overrun", "value_read", "log_release", "stale", "skipped", "cancelled");
/// How many kinds of events there are.
inline constexpr std::size_t hub_events = 8;

struct hub_add_options {
  fence_kind kind = fence_kind::native;
  device_id device{};  ///< The device that the fence belongs to.
};
enum class hub_add_status { added, no_space };

template <>
inline constexpr auto detail::names_of<hub_add_status> = detail::names("added", "no_space");
/// What add() returns. It converts to true if the fence was added. If not, `fence.id` is 0, which no hub ever gives to
/// a fence.
template <class Fence>
struct [[nodiscard]] hub_add_result {
  hub_add_status status;
  logged_fence<Fence> fence;

  explicit operator bool() const noexcept { return status == hub_add_status::added; }
};

struct hub_attach_options {
  notify_style style = notify_style::by_queue;  ///< Used only for a queue with a hub_notifier.
  engine_id engine{};                           ///< The engine that the queue runs on, for notify_engine().
  device_id device{};                           ///< The device of the queue and of its progress fence.
};
enum class hub_attach_status { attached, no_space };

template <>
inline constexpr auto detail::names_of<hub_attach_status> = detail::names("attached", "no_space");
/// What attach() returns. It converts to true if the queue was attached. If not, `queue` has no meaning: the number in
/// it may be that of another queue.
struct [[nodiscard]] hub_attach_result {
  hub_attach_status status;
  queue_id queue{};                  ///< For notify_queue().
  std::optional<fence_id> progress;  ///< The progress fence, if it was added.

  explicit operator bool() const noexcept { return status == hub_attach_status::attached; }
};

/// Serves the notifications of fences and queues; see the head of this file. Allocates nothing, but a pass may free a
/// log that a queue has replaced.
///
/// The hub must outlive every call of its functions. A thread whose signal or notification makes a pass is still in
/// that call when the waiters that the pass released go on, so a waiter that was released must not take that for a sign
/// that the hub can be destroyed. When the hub is destroyed, notifications that were not served yet are dropped: their
/// waiters go on sleeping.
///
/// \tparam Platform  must be asymmetric if the platform of any fence is. attach() takes only queues whose `platform` is
///                   this very type; the platform of a queue is that of its progress timeline
/// \tparam Service   self_serving, dispatched, event_driven (hub_services.hpp) or loop_served (loop_served.hpp)
/// \tparam Fences    the greatest number of fences in the hub at a time: a power of two, at most 65,536
/// \tparam Queues    the greatest number of queues in the hub at a time
template <platform Platform = native_platform, class Service = self_serving, std::size_t Fences = 256,
          std::size_t Queues = 32>
  requires hub_service<Service, Platform>
class basic_hub {
 public:
  static_assert(std::has_single_bit(Fences) && Fences <= std::size_t{1} << 16,
                "ids wrap: the number of fences is a power of two, and at most 65,536");
  static_assert(detail::has_noexcept_listener<Service>,
                "on_signalled() of a service must be noexcept: see asks_for_origins");

  using reader_type = queue_log_reader<Platform>;

  /// Makes an empty hub with a service of its own. An event_driven or a loop_served service is given to the other
  /// constructor.
  basic_hub() noexcept
    requires std::default_initializable<Service>
      : basic_hub(Service{}) {}
  /// Makes an empty hub, which takes over `service`.
  explicit basic_hub(Service service) noexcept : service_{std::move(service)} {
    if constexpr (requires { service_.begin(*this); }) service_.begin(*this);
  }
  basic_hub(const basic_hub&) = delete;
  basic_hub& operator=(const basic_hub&) = delete;
  ~basic_hub() {
    if constexpr (requires { service_.end(); }) service_.end();
  }

  // ---- what is in the hub: the hub's owner, one thread at a time. Others may notify and serve meanwhile -------------

  /// Adds a fence, which must stay where it is until it is removed or the hub is destroyed. Returns `added` and the
  /// fence with its id, or `no_space` when the hub is full. Does not block. The ids of removed fences don't come again
  /// soon. Every id is at least `Fences`.
  template <notified_fence Fence>
  hub_add_result<Fence> add(Fence& added, hub_add_options options = {}) noexcept {
    static_assert(Platform::asymmetric || !Fence::platform::asymmetric, "a hub's barriers must serve all its fences");
    fence_id id{};
    const bool is_added = fences_.add(added, options.kind == fence_kind::legacy, options.device, id);
    return {is_added ? hub_add_status::added : hub_add_status::no_space, {&added, id}};
  }
  template <notified_fence Fence>
  hub_add_result<Fence> add(Fence& added, fence_kind kind) noexcept {
    return add(added, hub_add_options{.kind = kind});
  }

  /// Removes a fence. After the return no pass touches the fence any more. Blocks until the pass that runs now, if one
  /// does, has ended; so it must not be called from within a pass. No queue may be within a signal of the fence, and
  /// none may signal it under this id later. Nor may a signal_batch() of the fence be under way: it uses the fence
  /// outside of passes. Asserts that the hub has a fence with this id. Otherwise it counts `stale` and does nothing.
  ///
  /// Notifications of the fence that were not served yet are dropped, and the waiters that they were for go on
  /// sleeping. If there may be any, call release_due() of the fence after the removal.
  void remove(fence_id id) noexcept {
    auto* const hidden = fences_.hide(id);
    TIDEMARK_ASSERT(hidden != nullptr, "a fence is removed that is not in the hub");
    if (hidden == nullptr) return note(hub_event::stale);
    passes_.let_pass_end();
    fences_.free(*hidden);
  }

  /// Wires a queue to the hub, before its first signal. From then on the hub reads the queue's signal log. It adds the
  /// progress fence, too, and tells the queue the fence's id in the hub. If the queue has a hub_notifier for this type
  /// of hub, this also sets that notifier. A queue with another notifier is served when notify_queue() or
  /// notify_engine() says so. Returns `attached`; or `no_space`, with nothing changed, when the hub has no room for the
  /// queue or for its progress fence. Does not block. Throws only what the log() of a recorder of your own throws; the
  /// progress fence stays in the hub then. The caller must be the queue's owner, too.
  ///
  /// The queue stays attached until detach(). It may be destroyed earlier, once it signals no more. Before its
  /// progress fence is destroyed, remove that from the hub. The hub must outlive every signal of a queue with its
  /// hub_notifier. Memory that the queue's set_log() got for the signals must outlive the hub, which reads it. A
  /// progress timeline that is no fence releases its waiters itself, and is not added.
  ///
  /// The hub takes each id in the log for one of its own. So a queue with the hub's notifier must signal only fences
  /// that are in this hub, under the ids that add() returned. All other timelines must have ids below `Fences`, which
  /// the hub never gives out. With another notifier, fences that are not in this hub must have such ids, too. Under an
  /// id of another hub, for example, a pass would release waiters of the wrong fence, and these may then sleep for
  /// ever. So a queue must not be attached to two hubs.
  template <class Progress, class Clock, class Notifier, class Recorder>
    requires(basic_queue<Progress, Clock, Notifier, Recorder>::has_logs)
  hub_attach_result attach(basic_queue<Progress, Clock, Notifier, Recorder>& attached,
                           hub_attach_options options = {}) {
    static_assert(std::same_as<Notifier, hub_notifier<basic_hub>> || !detail::is_hub_notifier<Notifier>,
                  "the notifier of the queue is for another type of hub");
    if (queues_.is_full()) return {hub_attach_status::no_space, {}, {}};
    std::optional<fence_id> progress;
    if constexpr (notified_fence<Progress>) {
      const auto added = add(*attached.progress().fence, {.device = options.device});
      if (!added) return {hub_attach_status::no_space, {}, {}};
      progress = added.fence.id;
      attached.name_progress(added.fence.id);
    }
    hub_attach_result result = attach(attached.signal_log(), options.engine, options.device);
    result.progress = progress;
    if constexpr (std::same_as<Notifier, hub_notifier<basic_hub>>) {
      attached.notifier() = Notifier{*this, options.style, result.queue};
    }
    return result;
  }

  /// Attaches a queue by nothing but a reader of its signal log: its notifier and its progress fence stay as they are.
  /// The queue may be at work already. Returns `attached`, without a progress fence; or `no_space` when the hub has no
  /// room for another queue. Does not block, and throws nothing. What is said above of ids and of memory applies here,
  /// too. A reader of the verbose log must not be given: its entries are of values that are not reached yet.
  hub_attach_result attach(reader_type signal_log, engine_id of_engine = {}, device_id device = {}) {
    if (queues_.is_full()) return {hub_attach_status::no_space, {}, {}};
    const auto added = queues_.add(std::move(signal_log), of_engine, fences_.devices().enter(device));
    return {hub_attach_status::attached, *added, {}};
  }

  /// Detaches a queue, which must signal no more. After the return no pass reads its log any more, and no waiter of its
  /// signals is forgotten: what was not served yet is served as notify_all(true) serves it. Blocks until the pass that
  /// runs now, if one does, has ended; so it must not be called from within a pass. The progress fence stays in the
  /// hub. Asserts that the hub has a queue with this id. Otherwise it counts `stale` and does nothing.
  void detach(queue_id id) noexcept {
    auto* const hidden = queues_.hide(id);
    TIDEMARK_ASSERT(hidden != nullptr, "a queue is detached that is not in the hub");
    if (hidden == nullptr) return note(hub_event::stale);
    passes_.let_pass_end();
    fences_.devices().leave(hidden->device.load());
    queues_.free(*hidden);
    notify_all(true);
  }

  // ---- notifying: any thread. Progress: lock-free, and what Service does --------------------------------------------
  //
  // A notification leaves a mark. What it asks for is done by a pass, which may come after the return. With a hub that
  // serves itself, the call makes passes until nothing is asked for any more, unless another thread is serving: then
  // that one makes another pass. With any other service the call rings the service, at most once. The pass is sure to
  // find what happens-before the notification.

  /// Asks for the release of the waiters of this fence that are due.
  void notify(fence_id id) noexcept {
    if (mark_fence(id)) ring();
  }
  /// The same for several fences. An empty set notifies nobody: a caller that does not know the set must call
  /// notify_all().
  void notify(std::span<const fence_id> ids) noexcept {
    bool any = false;
    for (const fence_id id : ids) any = mark_fence(id) || any;
    if (any) ring();
  }
  /// Asks the hub to serve what this queue has logged since it was served last.
  void notify_queue(queue_id id) noexcept {
    if (mark_queue(id)) ring();
  }
  /// The same for several queues. An empty set notifies nobody: a caller that does not know the set must call
  /// notify_engine() or notify_all().
  void notify_queues(std::span<const queue_id> ids) noexcept {
    bool any = false;
    for (const queue_id id : ids) any = mark_queue(id) || any;
    if (any) ring();
  }
  /// The same for all queues of this engine. An engine without queues is legal.
  void notify_engine(engine_id of_engine) noexcept {
    for (std::size_t index = 0; index < Queues; ++index) {
      if (queues_.is_filled(index) && queues_.engine_of(index) == of_engine) queue_marks_.leave(index);
    }
    ring();
  }
  /// Asks for the release of the waiters of every native fence that are due, and of every legacy fence if `legacy` is
  /// true.
  void notify_all(bool legacy = false) noexcept {
    // (U10): release, pairs with (U11).
    scan_mark_.fetch_or(legacy ? scan_native | scan_legacy : scan_native, std::memory_order_release);
    ring();
  }

  /// Signals several fences: first it stores all values, then it notifies at most once for all fences that have a
  /// waiter due. The caller must be entitled to signal each fence, and no fence of the batch may be removed during the
  /// call. Asserts that the hub has each id. One that it does not have counts as `stale` and is left out. No log gets
  /// an entry.
  ///
  /// Until a pass is made, it issues no full barrier besides those in publish() and is_due(), the steps of a signal in
  /// fence.hpp. A fence that is pinned (fence.hpp) is always due, and gets its full barrier in the pass.
  void signal_batch(std::span<const fence_update> updates) noexcept {
    for (const fence_update& update : updates) {
      if (const auto* const slot = fences_.find(update.fence)) {
        fence_table::take(&detail::signal_steps::publish, *slot, update.value);
      }
    }
    bool any = false;
    for (const fence_update& update : updates) {
      const auto* const slot = known(update.fence);
      if (slot != nullptr && fence_table::take(&detail::signal_steps::is_due, *slot, update.value)) {
        fence_marks_.leave(fence_table::index_of(update.fence));
        any = true;
      }
    }
    if (any) ring();
  }

  // ---- serving: one thread at a time, which is not checked ----------------------------------------------------------

  /// Makes passes until nothing is asked for any more, and never waits for a notification. Returns `served`, or `idle`
  /// when there was nothing to serve. For a hub that does not serve itself.
  serve_result try_serve() noexcept
    requires(!Service::serves_itself)
  {
    if (!passes_.is_asked()) return {serve_status::idle};
    serve_all();
    return {serve_status::served};
  }

  /// Sleeps until there is something to serve or `token` is triggered. In both cases it then serves what was asked for,
  /// as try_serve() does. For a dispatcher thread. Blocking. Returns `served`; or `stopped` if the token was triggered
  /// before or during the sleep. If there is something to serve already when it is called, it serves that and returns
  /// `served`, even if the token was triggered. So a loop that must end although notifications keep coming has to look
  /// at the token itself.
  template <stop_token_like Token = never_stops>
  serve_result serve(Token token = {}) noexcept
    requires(Service::has_thread)
  {
    return serve_within(std::move(token));
  }
  /// The same, but sleeps for `timeout` at most, and returns `timeout` if there is nothing to serve then. With zero or
  /// less it does not sleep: it serves what there is and returns `served`; or, if there is nothing, `stopped` if the
  /// token was triggered, and otherwise `timeout`.
  template <class Rep, class Period, stop_token_like Token = never_stops>
  serve_result serve_for(const std::chrono::duration<Rep, Period>& timeout, Token token = {}) noexcept
    requires(Service::has_thread)
  {
    return serve_within(timeout, std::move(token));
  }
  /// The same, but sleeps until a point of the steady or the system clock at most, and returns `timeout` if there is
  /// nothing to serve then.
  template <class Clock, class Duration, stop_token_like Token = never_stops>
  serve_result serve_until(const std::chrono::time_point<Clock, Duration>& at, Token token = {}) noexcept
    requires(Service::has_thread)
  {
    return serve_within(at, std::move(token));
  }

  /// Returns the hub's service, for example to ask it for the descriptor that an event loop watches. Any thread may
  /// call it. The service must not be replaced while anybody notifies or serves.
  Service& service() noexcept { return service_; }

  /// Returns how often `what` has happened. The number is exact while no thread is in a call of the hub. Any thread may
  /// call it. Progress: wait-free.
  std::uint64_t count(hub_event what) const noexcept {
    // (U25): relaxed alone, a statistic.
    return counts_[static_cast<std::size_t>(what)].load(std::memory_order_relaxed);
  }

 private:
  friend hub_notifier<basic_hub>;

  using fence_table = detail::hub_fences<Platform, Fences, Fences + Queues>;
  using queue_table = detail::hub_queues<Platform, reader_type, Queues>;
  using fence_slot = typename fence_table::slot;
  using fence_marks = detail::hub_marks<Platform, Fences>;
  template <class T>
  using word = typename Platform::template atomic<T>;

  static constexpr std::uint32_t scan_native = 1;
  static constexpr std::uint32_t scan_legacy = 2;

  /// Notifies for a queue, whose signal of this fence found a waiter due. A pass finds the waiter only if the fence is
  /// in the hub under this id.
  template <class Fence>
  void notify_due(const logged_fence<Fence>& due, notify_style style, queue_id by) noexcept {
    const fence_slot* const slot = fences_.find(due.id);
    const bool is_known = slot != nullptr && slot->object.load() == due.fence;
    TIDEMARK_ASSERT(is_known, "a queue signals a fence that its hub does not know");
    if (!is_known) [[unlikely]] {
      note(hub_event::stale);
      return detail::release_here(due);
    }
    switch (style) {
      case notify_style::by_queue:
        // An overrun of the queue's log would not find the waiters of another device.
        if (slot->device.load() != queues_.device_of(queue_table::index_of(by))) return notify(due.id);
        return notify_queue(by);
      case notify_style::by_fence:
        return notify(due.id);
      default:  // by_scan
        return notify_all(true);
    }
  }

  /// Returns the slot of a fence that a caller names. Asserts that there is one; otherwise counts that and returns
  /// null.
  const fence_slot* known(fence_id id) noexcept {
    const fence_slot* const slot = fences_.find(id);
    TIDEMARK_ASSERT(slot != nullptr, "a notification names a fence that is not in the hub");
    if (slot == nullptr) note(hub_event::stale);
    return slot;
  }

  bool mark_fence(fence_id id) noexcept {
    if (known(id) == nullptr) return false;
    fence_marks_.leave(fence_table::index_of(id));
    return true;
  }
  bool mark_queue(queue_id id) noexcept {
    const bool is_known = queues_.has(id);
    TIDEMARK_ASSERT(is_known, "a notification names a queue that is not in the hub");
    if (is_known) {
      queue_marks_.leave(queue_table::index_of(id));
    } else {
      note(hub_event::stale);
    }
    return is_known;
  }

  /// After a mark was left: the first notification since the last pass serves or rings.
  void ring() noexcept {
    if (!passes_.ask()) return;
    if constexpr (Service::serves_itself) {
      serve_all();
    } else {
      service_.template ring<Platform>(passes_.requests());
    }
  }

  template <class... Limits>
  serve_result serve_within(const Limits&... limits) noexcept {
    const wait_status ended = detail::within<Platform>(
        [this](deadline until, const auto& token) {
          const auto try_to_serve = [this] { return static_cast<bool>(try_serve()); };
          return passes_.serve_before(until, token, try_to_serve, [this] { ring(); });
        },
        limits...);
    if (ended == wait_status::reached) return {serve_status::served};
    return {ended == wait_status::stopped ? serve_status::stopped : serve_status::timeout};
  }

  void serve_all() noexcept {
    passes_.serve([this] {
      note(hub_event::pass);
      serve_fences();
      serve_queues();
      // (U11): acquire, pairs with (U10).
      const std::uint32_t scan = scan_mark_.exchange(0, std::memory_order_acquire);
      if (scan != 0) {
        note(hub_event::scan);
        release_all((scan & scan_legacy) != 0);
      }
    });
  }

  void serve_fences() noexcept {
    if constexpr (asks_for_origins<Service>) {
      std::array<std::uint64_t, fence_marks::words> taken;
      for (std::size_t at = 0; at < taken.size(); ++at) taken[at] = release_named(at);
      for (std::size_t at = 0; at < taken.size(); ++at) {
        fence_marks_.for_each(taken[at], at, [this](std::size_t index) { tell_origin(fences_.all()[index]); });
      }
    } else {
      for (std::size_t at = 0; at < fence_marks::words; ++at) release_named(at);
    }
  }
  /// Takes one word of marks, releases the waiters of these fences, and returns the marks.
  std::uint64_t release_named(std::size_t at) noexcept {
    const std::uint64_t taken = fence_marks_.take(at);
    if (taken == 0) return 0;
    // (U26): for pinned fences, as (F4), and so for each word after its (U14): the signals whose marks were taken come
    // before the search for waiters. Meets the waiter's own (G3); nothing weaker does.
    Platform::full_barrier();
    fence_marks_.for_each(taken, at, [this](std::size_t index) { release(fences_.all()[index]); });
    return taken;
  }

  /// The entry of a signal that left the mark of its fence comes before the mark, so it is found unless it is
  /// overwritten.
  void tell_origin(const fence_slot& slot) noexcept {
    signal_origin origin;
    origin.fence = fence_table::id_of(slot);
    if (to_number(origin.fence) == 0) return;  // removed meanwhile
    std::array<fence_log_entry, most_last_entries> buffer;
    std::size_t by = 0;
    for (std::size_t index = 0; index < Queues; ++index) {
      const std::optional<queue_id> id = queues_.id_at(index);
      if (!id || queues_.device_of(index) != slot.device.load()) continue;
      const auto found = detail::newest_signal(queues_.signals_of(index), origin.fence, buffer);
      if (!found || (origin.queue && !detail::is_better_origin(*found, origin.entry))) continue;
      by = index;
      origin.queue = id;
      origin.entry = *found;
    }
    if (origin.queue) {
      origin.engine = queues_.engine_of(by);
      origin.last = queues_.signals_of(by).look_back(buffer).entries;
    }
    service_.on_signalled(origin);
  }

  void serve_queues() noexcept {
    for (std::size_t at = 0; at < queue_marks_.words; ++at) {
      queue_marks_.for_each(queue_marks_.take(at), at, [this](std::size_t index) {
        if (queues_.is_filled(index)) serve_queue(queues_.signals_of(index), queues_.device_of(index));
      });
    }
  }

  /// Releases by the values in the log, as far as they can be trusted. A lost entry may have been of any fence of the
  /// device.
  void serve_queue(reader_type& signal_log, std::uint32_t device) noexcept {
    std::array<fence_log_entry, 16> buffer;
    bool overrun = false;
    for (;;) {
      const auto batch = signal_log.read(buffer);
      overrun = overrun || batch.lost != 0;
      if (batch.entries.empty() && batch.lost == 0) break;
      // (U27): after the entries were read by (L6), as (F4): a waiter that registers for a value of theirs after this
      // pass sees the value, since the waiter's (G3) then comes later. Nothing weaker does.
      Platform::full_barrier();
      for (const fence_log_entry& entry : batch.entries) serve_entry(entry);
    }
    if (overrun) {
      note(hub_event::overrun);
      release_device(device);
    }
  }
  void serve_entry(const fence_log_entry& entry) noexcept {
    if (is_cancelled(entry)) return note(hub_event::cancelled);
    const fence_slot* const slot = fences_.find(entry.fence);
    if (slot == nullptr) return note(hub_event::skipped);
    if (!has_timestamp(entry)) return release(*slot);
    note(hub_event::log_release);
    fence_table::take(&detail::signal_steps::release_by, *slot, entry.fence_value);
  }

  void release_all(bool legacy) noexcept {
    begin_scan();
    for (const fence_slot& slot : fences_.all()) release(slot, legacy);
  }
  void release_device(std::uint32_t device) noexcept {
    begin_scan();
    fences_.for_each_of(device, [this](const fence_slot& slot) { release(slot); });
  }
  static void begin_scan() noexcept {
    // (U28): as (U26), after (U11), or after entries were found to be lost.
    Platform::full_barrier();
  }

  void release(const fence_slot& slot, bool legacy = true) noexcept {
    if (!fence_table::is_filled(slot)) return;
    if (!legacy && slot.is_legacy.load() != 0) return;
    note(hub_event::value_read);
    fence_table::take(&detail::signal_steps::release, slot);
  }

  void note(hub_event what) noexcept {
    // (U24): relaxed alone, as (U25).
    counts_[static_cast<std::size_t>(what)].fetch_add(1, std::memory_order_relaxed);
  }

  [[no_unique_address]] Service service_;
  fence_table fences_;
  queue_table queues_;
  alignas(cache_line) fence_marks fence_marks_;
  detail::hub_marks<Platform, Queues> queue_marks_;
  word<std::uint32_t> scan_mark_;
  detail::hub_passes<Platform> passes_;
  std::array<word<std::uint64_t>, hub_events> counts_;
};

using hub = basic_hub<>;
/// A queue for a hub; see basic_hub::attach().
using hub_queue = basic_queue<progress_fence, default_log_clock, hub_notifier<hub>>;

}  // namespace tidemark

#endif  // TIDEMARK_HUB_HUB_HPP
