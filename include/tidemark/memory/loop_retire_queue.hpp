// SPDX-License-Identifier: BSL-1.0
//
// loop_retire_queue: destroys objects on a loop, when the queues that may still use them have come far enough. It does
// what a retire_queue does, but nobody needs to call reclaim() or drain(), and its queues come and go.
//
//   tidemark::loop_retire_queue<> reclaimer(loop);
//   if (!reclaimer.add_queue(graphics)) ...           it follows Most queues already
//   ... make `mesh` unreachable for new submissions ...
//   reclaimer.retire(mesh, dispose);                  never waits for work: the loop disposes of it, or drain()
//
// The four forms are those of a retire_queue: retire() has the loop dispose of the object, destroy() does so before it
// returns, and `assume_not_in_use` as the last argument has either wait for nothing.
//
// What retire_queue.hpp says of the precondition, of aborted queues and of lost timelines holds here, too: every
// submission that uses the object happens-before the call of retire(). But retire() takes no serials: it covers the
// work that last_queued() knows of, and no other.
//
// An object waits for one queue after the other. The objects that wait for the same queue stand in the order of the
// serials that they wait for, and the loop awaits the least of these. So the executors of the queues pay nothing while
// nothing is due. Each of n objects costs O(log n), amortized, for each queue that it waits for. The loop's lock
// protects all this. It is not held while a disposer runs.
//
// drain() waits for what was retired before it was called. Each object belongs to a wave. Each drain() ends the wave:
// what is retired later belongs to the next one. What a disposer retires belongs to the wave of the object that it
// disposes of. So each thread in drain() counts the objects of its wave and of those before, and later ones do not keep
// it.
//
// Order: the loop's threads dispose of one object at a time, and threads in drain() do so beside them. Objects come in
// the order in which they are found free. Of those that waited for the same queue last, and are found free together,
// the ones with lower serials come first. After 64 objects another callable of the loop has its turn.
#ifndef TIDEMARK_MEMORY_LOOP_RETIRE_QUEUE_HPP
#define TIDEMARK_MEMORY_LOOP_RETIRE_QUEUE_HPP

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "../fence/wait.hpp"  // before the others: then errors about stop tokens are short

#include "../fence/awaited.hpp"
#include "../fence/wait_many.hpp"
#include "../loop/loop_task.hpp"
#include "../loop/tools/loop_operation.hpp"
#include "../loop/wait_loop.hpp"
#include "../platform/assert.hpp"
#include "../platform/platform.hpp"
#include "../platform/tools/intrusive_lists.hpp"
#include "../platform/tools/limits.hpp"
#include "../platform/tools/park_lock.hpp"
#include "../platform/tools/user_call.hpp"
#include "retire_queue.hpp"

namespace tidemark {

template <platform Platform, std::size_t Most>
class basic_loop_retire_queue;

/// A queue that a loop_retire_queue can follow: its serials are the values of its progress fence, which is a fence of
/// this library. tidemark::queue is one.
template <class Queue, class Platform = native_platform>
concept awaitable_queue = submission_queue<Queue> && requires(const Queue& queue) {
  basic_awaited<Platform>(*queue.progress().fence, std::uint64_t{});
};

/// What an object needs to be retired, as a base class of it, or as a member, see retire_hook. It belongs to the retire
/// queue from retire(), or from a destroy() that waits, until the disposer is called or that destroy() gives up.
/// \tparam Most  how many queues the retire queue follows at a time
template <std::size_t Most>
class loop_retire_hook {
 public:
  loop_retire_hook() noexcept = default;
  loop_retire_hook(const loop_retire_hook&) noexcept {}  // a copy is not retired, and an assignment changes nothing
  loop_retire_hook& operator=(const loop_retire_hook&) noexcept { return *this; }

 private:
  template <platform, std::size_t>
  friend class basic_loop_retire_queue;
  friend struct detail::retire_claim<loop_retire_hook>;

  struct use {
    std::uint64_t until = 0;       // a serial of the queue
    std::uint64_t generation = 0;  // how many queues were put into that place of followed_ by then
  };
  struct order {
    static detail::wait_links<loop_retire_hook>& links(loop_retire_hook& of) noexcept { return of.links_; }
    static bool comes_before(const loop_retire_hook& a, const loop_retire_hook& b) noexcept {
      return a.until() != b.until() ? a.until() < b.until() : a.number_ < b.number_;
    }
  };
  std::uint64_t until() const noexcept { return used_[at_].until; }

  /// Returns false if it is retired already. With the lock.
  bool become_retired() const noexcept { return !std::exchange(is_retired_, true); }
  void give_back() const noexcept { is_retired_ = false; }

  std::array<use, Most> used_;
  std::uint64_t number_ = 0;
  std::uint64_t wave_ = 0;
  detail::wait_links<loop_retire_hook> links_;
  struct {
    loop_retire_hook* next = nullptr;  // to be disposed of
    void (*dispose)(loop_retire_hook&) noexcept = nullptr;
  } disposal_;
  std::uint32_t at_ = 0;             // the queue for which it waits
  bool is_waiting_ = false;          // for a queue
  mutable bool is_retired_ = false;  // or a destroy() waits. No part of its value
};

/// Destroys objects on a loop when nothing uses them any more; see the head of this file.
/// \tparam Platform  the loop's
/// \tparam Most      how many queues it follows at a time. Each costs an object 16 bytes
template <platform Platform, std::size_t Most>
class basic_loop_retire_queue {
 public:
  using platform = Platform;
  using hook = loop_retire_hook<Most>;

  /// \param on  must outlive this object
  explicit basic_loop_retire_queue(basic_loop<Platform>& on)
      : core_{detail::loop_access::core_of(on)}, disposing_(on, disposes{this}) {}
  basic_loop_retire_queue(const basic_loop_retire_queue&) = delete;
  basic_loop_retire_queue& operator=(const basic_loop_retire_queue&) = delete;
  /// Blocks as drain() does. No other call may be under way, and no disposer may destroy it.
  ~basic_loop_retire_queue() {
    static_cast<void>(drain());
    const keeper kept(core_.lock());
    for (auto& each : followed_) {
      if (each) each->cancel();
    }
  }

  // ---- what it follows: any thread ---------------------------------------------------------------------------------

  /// Follows a queue from now on: objects that are retired later wait for it, too. Returns false, and does nothing, if
  /// it follows `Most` other queues already. Asserts that it does not follow this one; if it does, returns true and
  /// does nothing. Progress: takes the loop's lock.
  /// \param added  must stay until it is removed, or this object is destroyed; and so must its progress fence
  template <awaitable_queue<Platform> Queue>
  [[nodiscard]] bool add_queue(const Queue& added) noexcept {
    const keeper kept(core_.lock());
    if (follows(&added)) {
      TIDEMARK_ASSERT(false, "a queue was added twice");
      return true;
    }
    for (std::size_t place = 0; place < Most; ++place) {
      if (followed_[place]) continue;
      followed_[place].emplace(*this, added);
      ++generations_[place];
      return true;
    }
    return false;
  }
  /// A queue without a name would be gone.
  template <awaitable_queue<Platform> Queue>
  bool add_queue(const Queue&& gone) = delete;
  /// Follows a queue no more. Returns false, and changes nothing, if it is not followed, or if some of its work is not
  /// finished: then wait for it, or abort the queue. What has waited for it goes on. No thread may be in drain() or in
  /// a destroy() that waits. Progress: takes the loop's lock.
  template <awaitable_queue<Platform> Queue>
  bool remove_queue(const Queue& removed) noexcept {
    const keeper kept(core_.lock());
    for (auto& each : followed_) {
      if (!each || each->queue != &removed) continue;
      if (!removed.is_finished(removed.last_queued())) return false;
      advance(*each);
      each->cancel();
      each.reset();
      return true;
    }
    return false;
  }

  // ---- objects: any thread -----------------------------------------------------------------------------------------

  /// Has `dispose(object)` called once, by a thread that runs the loop or is in drain(), when all work is finished that
  /// was queued before this call in the queues that it follows. Returns true. Asserts that the object is not retired
  /// already, and that no destroy() waits for it. Otherwise returns false and changes nothing. Progress: takes the
  /// loop's lock; O(log n), amortized; allocates only where the loop's table of timelines or a full fence grows.
  template <retirable<hook> Object, disposer<Object> Dispose>
  bool retire(Object& object, const Dispose&) noexcept {
    return retire_to(object, &dispose_of<Object, Dispose>, [this](std::size_t place) { return last_queued(place); });
  }
  /// The same, whatever work is pending: the loop disposes of the object as soon as it runs, or drain() does. For a
  /// caller who knows that no queue uses the object, and who does not want to run the disposer itself. Progress: as
  /// above.
  template <retirable<hook> Object, disposer<Object> Dispose>
  bool retire(Object& object, const Dispose&, assume_not_in_use_t) noexcept {
    return retire_to(object, &dispose_of<Object, Dispose>, [](std::size_t) { return std::uint64_t{0}; });
  }

  /// Waits until all work is finished that was queued before this call in the queues that it follows, then calls
  /// `dispose(object)`, which must not throw. The object may be of any type, and the disposer any callable. Returns
  /// `destroyed` when it is disposed of. Returns `stopped` once `token` is triggered, if the work is not finished then;
  /// the object is the caller's as before. Nobody needs to run the loop. No queue may be removed meanwhile. Allocates
  /// only if a full fence grows. Blocks, parked: a thread that runs the loop runs nothing else meanwhile. Asserts that
  /// the object is not retired already, and that no other call waits to destroy it. Otherwise returns `invalid` and
  /// does nothing. It notices this only if the object has the hook as a base class, or is the hook.
  template <class Object, class Dispose, stop_token_like Token = never_stops>
  destroy_result destroy(Object& object, const Dispose& dispose, Token token = {}) noexcept
    requires std::invocable<const Dispose&, Object&>
  {
    return destroy_within(object, dispose, std::move(token));
  }
  /// The same for `timeout` at most, and then returns `timeout`, and the object is the caller's as before.
  template <class Object, class Dispose, class Rep, class Period, stop_token_like Token = never_stops>
  destroy_result destroy_for(Object& object, const Dispose& dispose, const std::chrono::duration<Rep, Period>& timeout,
                             Token token = {}) noexcept
    requires std::invocable<const Dispose&, Object&>
  {
    return destroy_within(object, dispose, timeout, std::move(token));
  }
  /// The same until a point of the steady or the system clock at most, and then returns `timeout`.
  template <class Object, class Dispose, class Clock, class Duration, stop_token_like Token = never_stops>
  destroy_result destroy_until(Object& object, const Dispose& dispose,
                               const std::chrono::time_point<Clock, Duration>& at, Token token = {}) noexcept
    requires std::invocable<const Dispose&, Object&>
  {
    return destroy_within(object, dispose, at, std::move(token));
  }
  /// Calls `dispose(object)` now, which must not throw: the caller knows that no queue uses the object. The object may
  /// be of any type, and the disposer any callable. Returns `destroyed`. Asserts what destroy() above does, and
  /// otherwise returns `invalid` and does nothing. Progress: takes the loop's lock, but not while `dispose` runs.
  template <class Object, class Dispose>
    requires std::invocable<const Dispose&, Object&>
  destroy_result destroy(Object& object, const Dispose& dispose, assume_not_in_use_t) noexcept {
    {
      const keeper kept(core_.lock());
      if (!claim::take(object)) return {destroy_status::invalid};
      claim::give_back(object);
    }
    return detail::destroy_after(wait_status::reached, object, dispose);
  }

  /// Returns how many objects are retired and not disposed of. Progress: takes the loop's lock.
  std::size_t size() const noexcept {
    const keeper kept(core_.lock());
    return count_;
  }

  /// Blocks, parked, until everything is disposed of that was retired before the call, and what the disposers of these
  /// objects retire, and so on. What other threads retire meanwhile is not waited for. Returns `reached`. Returns
  /// `stopped` if it would have to sleep and `token` is triggered; the objects stay retired. The token and the time
  /// limits end only a sleep. This thread disposes of what it finds, beside those that run the loop, so the loop need
  /// not be run. It disposes of each object as soon as that is free, whatever the others wait for. What a disposer
  /// retires waits for the work that was queued before that call of retire(), as every object does. While it sleeps it
  /// may allocate, as wait_any() does. A disposer must not call it.
  template <stop_token_like Token = never_stops>
  wait_status drain(Token token = {}) noexcept {
    return drain_within(std::move(token));
  }
  /// The same for `timeout` at most, and then returns `timeout`.
  template <class Rep, class Period, stop_token_like Token = never_stops>
  wait_status drain_for(const std::chrono::duration<Rep, Period>& timeout, Token token = {}) noexcept {
    return drain_within(timeout, std::move(token));
  }
  /// The same until a point of the steady or the system clock at most, and then returns `timeout`.
  template <class Clock, class Duration, stop_token_like Token = never_stops>
  wait_status drain_until(const std::chrono::time_point<Clock, Duration>& at, Token token = {}) noexcept {
    return drain_within(at, std::move(token));
  }

 private:
  using core = detail::core_of_loop<Platform>;
  using keeper = typename core::keeper;
  using awaited_type = basic_awaited<Platform>;

  /// A thread in drain().
  struct drainer {
    drainer* next = nullptr;
    drainer* previous = nullptr;
    std::uint64_t wave = 0;   // the last one that it waits for
    std::size_t left = 0;     // objects of these waves
    std::size_t waiting = 0;  // those of them that wait for queues
  };
  /// A call of a disposer.
  struct disposal {
    disposal* next = nullptr;
    disposal* previous = nullptr;
    decltype(Platform::current_thread()) thread = Platform::current_thread();
    std::uint64_t wave = 0;  // of the object
  };

  /// A queue, and the objects that wait for it. The loop awaits the least of their serials.
  class followed_queue : private detail::loop_waits<core, 1, never_stops> {
   public:
    template <class Queue>
    followed_queue(basic_loop_retire_queue& by, const Queue& followed) noexcept
        : base(by.core_, detail::loop_needs::any, &act, first_target{awaited_type(*followed.progress().fence, 0)}, {}),
          queue{&followed},
          last_queued{[](const void* of) noexcept { return static_cast<const Queue*>(of)->last_queued(); }},
          awaited_value{[](const void* of, std::uint64_t serial) noexcept {
            return awaited_type(*static_cast<const Queue*>(of)->progress().fence, serial);
          }},
          owner_{by} {}

    bool is_finished(std::uint64_t serial) const noexcept {
      auto asked = this->waits[0].to;
      asked.target = serial;
      return asked.is_over();
    }
    /// Lets the loop await the least serial. Does nothing if the loop is about to run advance(), which ends with this.
    void await_least() noexcept {
      const hook* const least = objects.least();
      if (least == nullptr || this->phase == detail::call_phase::ready) return;
      auto& target = this->waits[0].to.target;
      if (this->phase == detail::call_phase::waiting && target <= least->until()) return;
      cancel();
      target = least->until();
      this->core().begin(*this);
    }
    void cancel() noexcept { static_cast<void>(this->core().cancel(*this)); }

    const void* const queue;
    std::uint64_t (*const last_queued)(const void* queue) noexcept;
    awaited_type (*const awaited_value)(const void* queue, std::uint64_t serial) noexcept;
    detail::ordered_waits<hook, typename hook::order> objects;

   private:
    using base = detail::loop_waits<core, 1, never_stops>;
    using operation = typename core::operation;
    struct first_target {
      const auto& operator[](std::size_t) const noexcept { return detail::awaited_access::target_of(of); }
      awaited_type of;
    };

    static void act(typename core::work& of, detail::loop_action what, keeper&) {
      auto& self = static_cast<followed_queue&>(static_cast<operation&>(of));
      self.phase = detail::call_phase::over;
      if (what == detail::loop_action::run) self.owner_.advance(self);
    }

    basic_loop_retire_queue& owner_;
  };

  struct disposes {
    basic_loop_retire_queue* of;
    void operator()() const noexcept {
      keeper kept(of->core_.lock());
      // Not more in one call of the loop: disposers that retire objects must not keep all others from it.
      unsigned left = 64;
      of->dispose_all(kept, [&left] { return left-- != 0; });
      if (of->due_ != nullptr) static_cast<void>(of->disposing_.post());
    }
  };

  using claim = detail::retire_claim<hook>;

  template <class Object, class Dispose>
  static void dispose_of(hook& which) noexcept {
    Dispose{}(static_cast<Object&>(which));
  }
  /// Returns the last serial of the queue in that place; 0 if there is none. With the lock.
  std::uint64_t last_queued(std::size_t place) const noexcept {
    const auto& of = followed_[place];
    return of ? of->last_queued(of->queue) : 0;
  }

  /// \param until  returns the serial that the object waits for in a place, or 0
  template <class Until>
  bool retire_to(hook& retired, void (*dispose)(hook&) noexcept, const Until& until) noexcept {
    const keeper kept(core_.lock());
    if (!claim::take(retired)) return false;
    retired.disposal_.dispose = dispose;
    retired.number_ = next_number_++;
    for (std::size_t place = 0; place < Most; ++place) retired.used_[place] = {until(place), generations_[place]};
    retired.is_waiting_ = false;
    retired.wave_ = wave_of_retiring_thread();
    ++count_;
    for_each_drainer(retired, [](drainer& each) { ++each.left; });
    wait_from(0, retired);
    return true;
  }

  template <class Object, class Dispose, class... Limits>
  destroy_result destroy_within(Object& object, const Dispose& dispose, const Limits&... limits) noexcept {
    std::array<std::optional<awaited_type>, Most> uses;
    {
      const keeper kept(core_.lock());
      if (!claim::take(object)) return {destroy_status::invalid};
      for (std::size_t place = 0; place < Most; ++place) {
        const std::uint64_t last = last_queued(place);
        if (last != 0) uses[place].emplace(followed_[place]->awaited_value(followed_[place]->queue, last));
      }
    }
    const auto wait_once = [&uses](deadline until, const auto& token) { return wait(uses, until, token); };
    const wait_status ended = detail::within<Platform>(wait_once, limits...);
    {
      const keeper kept(core_.lock());
      claim::give_back(object);
    }
    return detail::destroy_after(ended, object, dispose);
  }
  /// Waits for one queue after the other, because a lost one must not end the wait for the others. A wait_any_until()
  /// of so few timelines allocates nothing itself.
  template <class Token>
  static wait_status wait(const std::array<std::optional<awaited_type>, Most>& uses, deadline until,
                          const Token& token) noexcept {
    for (const auto& each : uses) {
      if (!each) continue;
      const auto ended = wait_any_until(std::span<const awaited_type>(&*each, 1), until, token);
      if (ended == wait_status::timeout || ended == wait_status::stopped) return ended.status;
    }
    return wait_status::reached;
  }

  /// Lets an object wait for a queue: for the first one, from this place on, that has not finished the object's serial.
  /// If there is none, it is to be disposed of.
  void wait_from(std::size_t place, hook& object) noexcept {
    for (; place < Most; ++place) {
      const auto& use = object.used_[place];
      auto& of = followed_[place];
      if (use.until == 0 || !of || generations_[place] != use.generation || of->is_finished(use.until)) continue;
      object.at_ = static_cast<std::uint32_t>(place);
      of->objects.insert(object);
      of->await_least();
      set_waiting(object, true);
      return wake_drainers();
    }
    set_waiting(object, false);
    object.disposal_.next = nullptr;
    *due_end_ = &object;
    due_end_ = &object.disposal_.next;
    static_cast<void>(disposing_.post());
    // The calling thread may return from drain() without it, but other threads may wait for it.
    wake_drainers();
  }
  /// Lets the objects go on whose serials are finished.
  void advance(followed_queue& of) noexcept {
    while (hook* const least = of.objects.least()) {
      if (!of.is_finished(least->until())) break;
      of.objects.remove(*least);
      wait_from(least->at_ + 1, *least);
    }
    of.await_least();
  }
  /// Disposes of what is due, as long as `goes_on()`.
  template <class GoesOn>
  void dispose_all(keeper& kept, const GoesOn& goes_on) noexcept {
    while (due_ != nullptr && goes_on()) {
      hook* const first = due_;
      due_ = first->disposal_.next;
      if (due_ == nullptr) due_end_ = &due_;
      claim::give_back(*first);
      disposal now;
      now.wave = first->wave_;
      disposals_.push(now);
      {
        const typename keeper::without lock(kept);
        first->disposal_.dispose(*first);
      }
      disposals_.remove(now);
      --count_;
      for (drainer* each = drainers_.first(); each != nullptr; each = each->next) {
        if (now.wave <= each->wave && --each->left == 0) wake_drainers();
      }
    }
  }
  bool follows(const void* wanted) const noexcept {
    return std::any_of(followed_.begin(), followed_.end(),
                       [&](const auto& each) { return each && each->queue == wanted; });
  }

  /// Called when a thread that sleeps in drain() has something to do, or to wait for, or has nothing left.
  void wake_drainers() noexcept {
    if (drainers_asleep_ != 0) changed_.wake_all();
  }

  /// Returns the wave of an object that the calling thread retires: that of the object of which it disposes.
  std::uint64_t wave_of_retiring_thread() const noexcept {
    std::uint64_t wave = wave_;
    for (const disposal* each = disposals_.first(); each != nullptr; each = each->next) {
      // Of several calls of one thread, the last one began last.
      if (each->thread == Platform::current_thread()) wave = each->wave;
    }
    return wave;
  }
  /// Calls `act` for each thread in drain() that waits for the object.
  template <class Act>
  void for_each_drainer(const hook& object, const Act& act) noexcept {
    for (drainer* each = drainers_.first(); each != nullptr; each = each->next) {
      if (object.wave_ <= each->wave) act(*each);
    }
  }
  void set_waiting(hook& object, bool waits) noexcept {
    if (std::exchange(object.is_waiting_, waits) == waits) return;
    waits ? ++waiting_ : --waiting_;
    for_each_drainer(object, [waits](drainer& each) { waits ? ++each.waiting : --each.waiting; });
  }

  template <class... Limits>
  wait_status drain_within(const Limits&... limits) noexcept {
    drainer own;
    {
      const keeper kept(core_.lock());
      own.wave = wave_++;
      own.left = count_;
      own.waiting = waiting_;
      drainers_.push(own);
    }
    const auto drain_once = [&](deadline until, const auto& token) { return drain(own, until, token); };
    const wait_status status = detail::within<Platform>(drain_once, limits...);
    const keeper kept(core_.lock());
    drainers_.remove(own);
    return status;
  }
  template <class Token>
  wait_status drain(const drainer& own, deadline until, const Token& token) noexcept {
    const auto wake = [this] {
      const keeper kept(core_.lock());
      wake_drainers();
    };
    // The callback takes the lock, so it is made and destroyed while this thread does not have it.
    const typename detail::stop_callback_for<Token, std::remove_const_t<decltype(wake)>>::type stopping(token, wake);
    keeper kept(core_.lock());
    for (;;) {
      for (auto& each : followed_) {
        if (each) advance(*each);
      }
      dispose_all(kept, [&own] { return own.left != 0; });
      if (own.left == 0) return wait_status::reached;
      const wait_status status = own.waiting != 0 ? sleep(kept, until, token, std::make_index_sequence<Most>{})
                                                  : sleep_beside_disposers(kept, until, token);
      if (status != wait_status::reached) return status;
    }
  }
  /// Sleeps until the least serial of some queue is finished. Some object must wait for a queue, and none may be due.
  /// Until then nothing can become free, so nobody needs to wake this thread. What is retired meanwhile waits for these
  /// queues, too, and for serials that are no lower. No queue is removed meanwhile.
  template <class Token, std::size_t... Place>
  wait_status sleep(keeper& kept, deadline until, const Token& token, std::index_sequence<Place...>) noexcept {
    std::array<std::optional<awaited_type>, Most> found;
    std::size_t count = 0;
    for (const auto& each : followed_) {
      const hook* const least = each ? each->objects.least() : nullptr;
      if (least != nullptr) found[count++].emplace(each->awaited_value(each->queue, least->until()));
    }
    const std::array<awaited_type, Most> those{*found[Place < count ? Place : 0]...};
    const typename keeper::without lock(kept);
    const auto end = wait_any_until(std::span<const awaited_type>(those).first(count), until, token);
    return end == wait_status::timeout || end == wait_status::stopped ? end.status : wait_status::reached;
  }
  /// Sleeps while other threads dispose of the last objects. Meanwhile more may be retired.
  template <class Token>
  wait_status sleep_beside_disposers(keeper& kept, deadline until, const Token& token) noexcept {
    if (token.stop_requested()) return wait_status::stopped;
    ++drainers_asleep_;
    const bool is_late = !changed_.wait(kept, until);
    --drainers_asleep_;
    return is_late ? wait_status::timeout : wait_status::reached;
  }

  core& core_;
  std::array<std::optional<followed_queue>, Most> followed_;
  std::array<std::uint64_t, Most> generations_{};
  hook* due_ = nullptr;
  hook** due_end_ = &due_;
  std::size_t count_ = 0;
  std::uint64_t next_number_ = 0;
  std::uint64_t wave_ = 0;   // of what is retired now, except by disposers
  std::size_t waiting_ = 0;  // objects that wait for queues
  detail::linked_queue<drainer> drainers_;
  detail::linked_queue<disposal> disposals_;
  std::size_t drainers_asleep_ = 0;
  detail::lock_condition<Platform> changed_;
  basic_loop_task<Platform, disposes> disposing_;
};

/// For a `wait_loop`, or for the loop of an `engine`.
template <std::size_t Most = 4>
using loop_retire_queue = basic_loop_retire_queue<native_platform, Most>;

}  // namespace tidemark

#endif  // TIDEMARK_MEMORY_LOOP_RETIRE_QUEUE_HPP
