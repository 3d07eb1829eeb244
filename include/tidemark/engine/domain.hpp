// SPDX-License-Identifier: BSL-1.0
//
// domain: a group of queues and threads that see each other's values of a fence without being told. A fence of several
// domains has an attachment in each of them, and whoever signals it in one domain tells the others.
//
//   tidemark::domain near{first.loop()};                                  native
//   tidemark::domain far{second.loop(), {.kind = tidemark::domain_kind::legacy}};
//   tidemark::cross_fence ready;
//   tidemark::attachment here{ready, near};
//   tidemark::attachment there{ready, far};
//
//   blurs.wait(here, 10);                  a queue of an engine, or here.wait(10) in a thread
//   copies.signal(there, 10);              a legacy_queue, or there.signal(10) in a thread
//
//   cross_fence     the one word of the value; which attachments there are
//   attachment      the waiters of one domain: native ones, in a fence whose monitored value (fence.hpp) stays 0, so
//                   that each signal looks for them; and held ones, see below
//   domain          the loop that receives signals of other domains
//
// What a signal does:
//
//   1. it stores the value, and nobody stores it again
//   2. it releases the waiters of its own domain, of both kinds
//   3. it tells each other domain: it posts a task to the loop of that domain. Nothing is stored
//   4. a thread of that loop looks at the value, and releases the waiters of that domain
//
// Steps 2 and 3 follow for every signal, even if nobody waits, because the monitored values are 0. That is the price.
// What was posted and has not begun is not posted again: the task finds the newest value.
//
// Who waits where:
//
//                       native domain                              legacy domain
//   queue of an engine  parks on its engine, which looks at the    its work is held on a list, until the domain has
//                       value or registers                         seen the value
//   thread              registers with the attachment              sleeps on a list, likewise
//
// A wait for several timelines (fence/wait_many.hpp) and a loop register with the attachment in either domain.
//
// In a native domain a legacy_queue (engine_queue.hpp) is held, too. In a legacy domain no queue may have logs, as a
// legacy_queue has none. Each waiter looks at the value first, and gets past its wait at once if it is reached, whether
// its domain knows of it or not. So a wait and a signal in one native domain need no task of the loop.
//
// Why no wait is missed: step 1 happens-before the look in step 4, because the task was posted under the lock of the
// fence, and takes the same lock. A native waiter registers and then looks at the value. This is the handshake of
// fence.hpp; the thread of step 4 plays the signaller in it. detail/held_waits.hpp says the same of held ones. An
// attachment that is made during a signal is told, or the lock of the fence has made the value visible to the thread
// that makes it.
//
// Lifetime: the loop outlives the domain; the cross_fence and the domain outlive the attachments; an attachment
// outlives its waits and signals. The threads of the loop must run: otherwise signals of other domains release nobody.
//
// Not promised: lock-freedom. Steps 2 and 3 take locks, for the time of a scan and of the posts.
#ifndef TIDEMARK_ENGINE_DOMAIN_HPP
#define TIDEMARK_ENGINE_DOMAIN_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <utility>

#include "../fence/capabilities.hpp"
#include "../fence/fence.hpp"
#include "../fence/fence_options.hpp"
#include "../fence/wait.hpp"
#include "../loop/loop_task.hpp"
#include "../loop/wait_loop.hpp"
#include "../platform/assert.hpp"
#include "../platform/names.hpp"
#include "../platform/platform.hpp"
#include "../platform/tools/intrusive_lists.hpp"
#include "../platform/tools/park_lock.hpp"
#include "detail/held_waits.hpp"
#include "engine_queue.hpp"

namespace tidemark {

template <platform Platform>
class basic_attachment;

/// Who may wait for a fence.
enum class fence_type : std::uint8_t {
  everywhere,  ///< Queues and threads.
  local_only,  ///< Queues of one domain alone (local_fence.hpp).
};
/// Where the value of a fence lies.
enum class value_memory : std::uint8_t {
  system,  ///< In the fence.
  device,  ///< In memory of a device, which other domains may not reach.
};

/// The options of a cross_fence.
struct cross_fence_options {
  fence_type type = fence_type::everywhere;    ///< Must be `everywhere`.
  value_memory memory = value_memory::system;  ///< Must be `system`.
  std::uint64_t initial = 0;                   ///< The value at which it begins.
  /// Where the monitored value of each domain lies, with what else waiters there need. It is asked once for each
  /// attachment, with the `memory_hint` of its domain in place of its own hint.
  memory_placement monitored{};
};
enum class cross_fence_status : std::uint8_t { valid, invalid };

template <>
inline constexpr auto detail::names_of<cross_fence_status> = detail::names("valid", "invalid");

/// What a fence of several domains has done.
struct cross_fence_counts {
  std::uint64_t stores;  ///< How often the value was stored.
  /// How often the other domains were told, even if there were none. With a hub this is not the number of signals: one
  /// call may stand for several signals, and a scan tells without any.
  std::uint64_t notifications;
};

/// What make() returns. It converts to true if there is a fence.
template <class Fence>
struct [[nodiscard]] cross_fence_result {
  cross_fence_status status;
  std::optional<Fence> fence;

  explicit operator bool() const noexcept { return fence.has_value(); }
};

/// What has reached an attachment, and whom it has released.
struct attachment_counts {
  std::uint64_t told;  ///< How often another domain told of a signal, or of the loss.
  /// How often it was looked at because of that; with a plain doorbell also when the domain was told of another fence.
  std::uint64_t scans;
  std::uint64_t native_waiters;  ///< Registrations of threads, and of loops for their queues, that a signal released.
  std::uint64_t held_queues;     ///< Queues that were held, and let go.
  std::uint64_t held_threads;    ///< Threads that waited in a legacy domain, and were released.
};

/// How a domain learns of the signals of others.
enum class domain_doorbell : std::uint8_t {
  names_fence,  ///< The message names the fence that has changed, and the domain looks at it alone.
  plain,        ///< The message names no fence, and the domain looks at all its fences.
};

/// The options of a domain.
struct domain_options {
  domain_kind kind = domain_kind::native;
  domain_doorbell doorbell = domain_doorbell::names_fence;
  /// What cross_fence_options::monitored is told: where the monitored values of this domain shall lie.
  std::uint64_t memory_hint = 0;
};

namespace detail {

/// An attachment on a list of its fence, or of its domain.
template <class Attachment>
struct attachment_link {
  attachment_link* next = nullptr;
  attachment_link* previous = nullptr;
  Attachment* of = nullptr;
};

/// The options of the fence that keeps the waiters of one domain: its value lies in the cross_fence.
inline constexpr fence_options attachment_options{.storage = value_storage::shared};

/// An object that lies in itself, or where a placement says.
template <class Object>
class placed_object {
 public:
  template <class... Arguments>
  placed_object(const memory_placement& from, std::uint64_t hint, Arguments&&... arguments) noexcept : from_{from} {
    if (from_.allocate != nullptr) memory_ = from_.allocate(from_.context, sizeof(Object), alignof(Object), hint);
    void* const at = memory_ != nullptr ? memory_ : own_;
    object_ = ::new (at) Object(std::forward<Arguments>(arguments)...);
  }
  placed_object(const placed_object&) = delete;
  placed_object& operator=(const placed_object&) = delete;
  ~placed_object() {
    object_->~Object();
    if (memory_ != nullptr) from_.deallocate(from_.context, memory_, sizeof(Object), alignof(Object));
  }

  Object& get() noexcept { return *object_; }

 private:
  memory_placement from_;
  void* memory_ = nullptr;
  alignas(Object) std::byte own_[sizeof(Object)];
  Object* object_;
};

}  // namespace detail

/// The one value of a fence of several domains. Those who wait and signal use attachments. It can be neither copied nor
/// moved.
template <platform Platform>
class basic_cross_fence {
 public:
  using platform = Platform;

  /// A fence whose value begins at `initial`.
  /// \param monitored  as cross_fence_options::monitored
  explicit basic_cross_fence(std::uint64_t initial = 0, const memory_placement& monitored = {}) noexcept
      : value_{initial}, monitored_{monitored} {}
  /// Returns a fence; or `invalid` if it is to be of the local kind, or not to lie in system memory.
  static cross_fence_result<basic_cross_fence> make(const cross_fence_options& options = {}) noexcept {
    if (options.type != fence_type::everywhere || options.memory != value_memory::system) {
      return {cross_fence_status::invalid, std::nullopt};
    }
    return {cross_fence_status::valid,
            std::optional<basic_cross_fence>{std::in_place, options.initial, options.monitored}};
  }
  basic_cross_fence(const basic_cross_fence&) = delete;
  basic_cross_fence& operator=(const basic_cross_fence&) = delete;
  /// Asserts that all attachments are gone.
  ~basic_cross_fence() { TIDEMARK_ASSERT(attached_.is_empty(), "a cross_fence was destroyed before its attachments"); }

  /// Returns what the signals have done so far. Any thread may call it. Progress: takes the lock of the fence.
  cross_fence_counts counts() const noexcept {
    const detail::lock_keeper kept(lock_);
    // (DM1): relaxed alone, a statistic.
    return {stores_.load(std::memory_order_relaxed), notifications_};
  }

 private:
  using attachment = basic_attachment<Platform>;
  using link = detail::attachment_link<attachment>;
  friend attachment;

  /// Returns why the timeline is lost; null if it is not.
  const loss_reason* add(link& added) noexcept {
    const detail::lock_keeper kept(lock_);
    attached_.push(added);
    return loss_;
  }
  void remove(link& removed) noexcept {
    const detail::lock_keeper kept(lock_);
    attached_.remove(removed);
  }
  void count_store() noexcept {
    // (DM2): relaxed alone, a statistic.
    stores_.fetch_add(1, std::memory_order_relaxed);
  }
  /// Loses the timeline, and returns the reason of the first loss, which is the same in all domains.
  const loss_reason& lose(const loss_reason& why) noexcept {
    const detail::lock_keeper kept(lock_);
    if (loss_ == nullptr) loss_ = &why;
    return *loss_;
  }
  /// Tells the other domains that the value has changed, or that the timeline is lost.
  void tell_others(const link& from, bool is_lost) noexcept {
    const detail::lock_keeper kept(lock_);
    notifications_ += is_lost ? 0 : 1;
    for (link* each = attached_.first(); each != nullptr; each = each->next) {
      if (each != &from) each->of->be_told();
    }
  }
  const loss_reason* loss() const noexcept {
    const detail::lock_keeper kept(lock_);
    return loss_;
  }
  /// Returns a number of an attachment that the lock of the fence protects.
  std::uint64_t read(const std::uint64_t& number) const noexcept {
    const detail::lock_keeper kept(lock_);
    return number;
  }

  alignas(cache_line) mutable detail::value_word<Platform> value_;
  alignas(cache_line) mutable detail::park_lock<Platform> lock_;
  detail::linked_queue<link> attached_;
  const loss_reason* loss_ = nullptr;
  std::uint64_t notifications_ = 0;
  typename Platform::template atomic<std::uint64_t> stores_{0};
  const memory_placement monitored_;
};

/// Queues and threads that see each other's values; see the head of this file. It can be neither copied nor moved.
template <platform Platform>
class basic_domain {
 public:
  using platform = Platform;
  using loop_type = basic_loop<Platform>;

  /// \param inbox  receives the signals of other domains: for example the loop of an engine of this domain
  explicit basic_domain(loop_type& inbox, const domain_options& options = {})
      : inbox_{inbox}, options_{options}, scan_all_(inbox, scan_all{this}) {}
  basic_domain(const basic_domain&) = delete;
  basic_domain& operator=(const basic_domain&) = delete;
  /// Asserts that all attachments are gone.
  ~basic_domain() { TIDEMARK_ASSERT(attached_.is_empty(), "a domain was destroyed before its attachments"); }

  domain_kind kind() const noexcept { return options_.kind; }

  /// Returns which of the features that `host` has enabled the domain has: a legacy one has no logs, and in neither
  /// does a signal cost only a store and a load. Any thread may call it.
  feature_offers offers(const feature_host& host) const noexcept {
    feature_offers those;
    if (kind() == domain_kind::native) those.add_if_enabled<signal_logs>(host);
    return those;
  }
  /// Negotiates what the program relies on (fence/capabilities.hpp). Throws and allocates nothing. Any thread may call
  /// it.
  /// \tparam Requested  features, or if_there or with_bits of them
  template <class... Requested>
  negotiate_result<Requested...> negotiate(const feature_host& host = every_feature) const noexcept {
    return tidemark::negotiate<Requested...>(host, offers(host));
  }

 private:
  using attachment = basic_attachment<Platform>;
  using link = detail::attachment_link<attachment>;
  friend attachment;

  /// What a plain doorbell leads to.
  struct scan_all {
    void operator()() const noexcept {
      // With the lock, so that an attachment stays until the scan is over.
      const detail::lock_keeper kept(of->lock_);
      for (link* each = of->attached_.first(); each != nullptr; each = each->next) each->of->scan_told();
    }
    basic_domain* of;
  };

  void add(link& added) noexcept {
    const detail::lock_keeper kept(lock_);
    attached_.push(added);
  }
  void remove(link& removed) noexcept {
    const detail::lock_keeper kept(lock_);
    attached_.remove(removed);
  }

  loop_type& inbox_;
  const domain_options options_;
  detail::park_lock<Platform> lock_;
  detail::linked_queue<link> attached_;
  basic_loop_task<Platform, scan_all> scan_all_;
};

/// A fence in one domain: a timeline that queues and threads of the domain wait for, and that any thread signals. The
/// greatest value wins. Its wait functions are those of `waitable` (fence/wait.hpp). Its kind is that of its domain, in
/// whatever order the attachments were made. It can be neither copied nor moved.
template <platform Platform>
class basic_attachment : public waitable<basic_attachment<Platform>> {
 public:
  using platform = Platform;
  using cross_fence_type = basic_cross_fence<Platform>;
  using domain_type = basic_domain<Platform>;

  /// Attaches `shared` to the domain `in`, once for each pair; both must outlive the attachment. Any thread may call
  /// it, also while others signal. Progress: takes the locks of the fence and of the domain.
  basic_attachment(cross_fence_type& shared, domain_type& in)
      : fence_{shared},
        domain_{in},
        placed_(shared.monitored_, in.options_.memory_hint, shared.value_),
        native_{placed_.get()},
        held_(native_),
        scan_one_(in.inbox_, scan_one{this}) {
    in_fence_.of = this;
    in_domain_.of = this;
    domain_.add(in_domain_);
    if (const loss_reason* const why = fence_.add(in_fence_)) native_.poison(*why);
  }
  basic_attachment(const basic_attachment&) = delete;
  basic_attachment& operator=(const basic_attachment&) = delete;
  /// Waits for the end of a scan of this fence. All its waits and signals must have returned, and a callable that a
  /// signal runs must not destroy it. The other attachments may signal meanwhile.
  ~basic_attachment() {
    fence_.remove(in_fence_);
    domain_.remove(in_domain_);
  }

  domain_kind kind() const noexcept { return domain_.kind(); }

  /// Returns the value signalled so far, in whatever domain; UINT64_MAX once the timeline is lost here. Progress:
  /// wait-free, no system call and no store. Any thread may call it.
  std::uint64_t current_value() const noexcept { return native_.current_value(); }
  [[nodiscard]] bool is_reached(std::uint64_t target) const noexcept { return native_.is_reached(target); }
  bool is_poisoned() const noexcept { return native_.is_poisoned(); }
  /// Returns why the timeline is lost here, in whatever domain it was poisoned first; null if it is not. In all else
  /// like current_value().
  const loss_reason* loss() const noexcept { return native_.loss(); }
  /// Returns the value signalled so far, also once the timeline is lost. In all else like current_value().
  std::uint64_t last_reached() const noexcept { return native_.last_reached(); }
  /// Always returns 0, so that each signal looks for waiters.
  std::uint64_t monitored_value() const noexcept { return native_.monitored_value(); }
  /// Returns where that word lies: where cross_fence_options::monitored has said, or in this object if it says nothing
  /// or had no memory. Any thread may call it.
  const void* monitored_address() const noexcept {
    return detail::fence_access::heap(native_).monitored_word().value_address();
  }

  /// Raises the value, releases the waiters of this domain, and tells the other domains. Returns false if the value is
  /// not above the current one; nothing is changed, released or told then. Once the timeline is lost, it still raises
  /// the stored value, which current_value() does not show, tells the other domains, and returns true. Any thread may
  /// call it. Progress: takes locks, see the head of this file.
  bool signal(std::uint64_t value) noexcept {
    if (!publish(value)) return false;
    if (is_due(value)) release_due();
    return true;
  }
  /// The steps of signal(), as those of a fence (fence/fence.hpp), for queues and hubs. is_due() is always true for a
  /// value that publish() has raised. release_due() tells the other domains.
  [[nodiscard]] bool publish(std::uint64_t value) noexcept {
    if (!native_.publish(value)) return false;
    fence_.count_store();
    return true;
  }
  [[nodiscard]] bool is_due(std::uint64_t value) noexcept { return native_.is_due(value); }
  std::size_t release_due() noexcept { return release_and_tell(native_.release_due()); }
  std::size_t release_due_after_barrier() noexcept { return release_and_tell(native_.release_due_after_barrier()); }
  std::size_t release_due_after_barrier(std::uint64_t reached) noexcept {
    return release_and_tell(native_.release_due_after_barrier(reached));
  }

  /// Declares the timeline lost, in this domain at once, and in the others when they learn of it. Any thread may call
  /// it. Of several reasons the first one counts, in all domains.
  /// \param why  an object of static lifetime
  void poison(const loss_reason& why = unnamed_loss) noexcept {
    native_.poison(fence_.lose(why));
    held_.scan(0, false);
    fence_.tell_others(in_fence_, true);
  }
  void poison(const loss_reason&&) = delete;  // a reason has static lifetime

  /// Returns what has happened in this domain. Any thread may call it. Progress: takes the locks of the fence and of
  /// the lists.
  attachment_counts counts() const noexcept {
    const detail::held_counts held = held_.counts();
    return {fence_.read(told_), held.scans, held.native, held.queues, held.threads};
  }

 private:
  friend waitable<basic_attachment>;
  friend cross_fence_type;
  friend domain_type;
  friend detail::domain_access;
  friend detail::fence_access;

  using native_fence = basic_fence<Platform, detail::attachment_options>;
  using held_list = detail::held_waits<native_fence>;

  /// What a doorbell that names the fence leads to.
  struct scan_one {
    void operator()() const noexcept { of->scan_told(); }
    basic_attachment* of;
  };

  template <class Token>
  wait_status wait_with(std::uint64_t target, deadline until, const Token& token) const noexcept {
    if (kind() == domain_kind::native) return native_.wait_until(target, until, token);
    if (until != detail::at_once && !token.stop_requested()) held_.wait(target, until, token);
    return native_.wait_until(target, deadline{}, token);
  }

  std::size_t release_and_tell(std::size_t natively) noexcept {
    const std::size_t released = held_.scan(natively, false);
    fence_.tell_others(in_fence_, false);
    return released;
  }
  /// Learns that the value has changed; the value itself is not touched. With the lock of the fence.
  void be_told() noexcept {
    ++told_;
    static_cast<void>(domain_.options_.doorbell == domain_doorbell::plain ? domain_.scan_all_.post()
                                                                          : scan_one_.post());
  }
  void scan_told() noexcept {
    // Takes the lock of the fence, with which this was told.
    if (const loss_reason* const why = fence_.loss()) native_.poison(*why);
    held_.scan(native_.release_due(), true);
  }

  // For waits for several timelines, for loops, and for the queues of engines.
  const native_fence& fence_inside() const noexcept { return native_; }
  // For the queues of engines.
  bool is_held(domain_kind of_queue) const noexcept {
    return of_queue == domain_kind::legacy || kind() == domain_kind::legacy;
  }
  auto held_wait(std::uint64_t value) const noexcept { return typename held_list::queue_wait(held_, value); }

  cross_fence_type& fence_;
  domain_type& domain_;
  detail::placed_object<native_fence> placed_;
  native_fence& native_;
  mutable held_list held_;
  std::uint64_t told_ = 0;  // the lock of the fence protects it
  detail::attachment_link<basic_attachment> in_fence_;
  detail::attachment_link<basic_attachment> in_domain_;
  basic_loop_task<Platform, scan_one> scan_one_;
};

using cross_fence = basic_cross_fence<native_platform>;
using domain = basic_domain<native_platform>;
using attachment = basic_attachment<native_platform>;

}  // namespace tidemark

#endif  // TIDEMARK_ENGINE_DOMAIN_HPP
