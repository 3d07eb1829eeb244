// SPDX-License-Identifier: BSL-1.0
//
// retire_queue: destroys objects when the queues that may still use them have come far enough.
//
//   retire_queue reclaimer{graphics, copies};         the queues whose work may use what is retired
//   ... make `mesh` unreachable for new submissions ...
//   reclaimer.retire(mesh, dispose);                  never waits: notes what each queue was given last, and returns
//   reclaimer.reclaim();                              now and then, any thread: disposes of what is not used any more
//
// Who disposes of the object, and what is waited for:
//
//              after the work that may use it   nothing uses it, as the caller knows
//   later      retire(object, dispose)          retire(object, dispose, assume_not_in_use)     by reclaim() or drain()
//   at once    destroy(object, dispose)         destroy(object, dispose, assume_not_in_use)    before the call returns
//
// PRECONDITION. First the object becomes unreachable for new submissions, then it is retired: every submission that
// uses it happens-before the call of retire(). If a submission picks the object up after retire(), the object is freed
// while that submission uses it: the serials that retire() has noted do not cover the submission.
//
// retire() notes the serial of the last work that each queue was given. So later submissions do not delay the object,
// and work that was queued and has not begun is waited for. An object is disposed of when all those serials are
// finished, not before, and exactly once. A queue that was aborted, and a timeline that is lost, count as finished:
// stop the executor before you abort its queue. last_queued() of a queue knows only work that came through submit(). If
// a queue gets work in another way, the caller must name the serials; otherwise retire() frees too early.
//
// A timeline may stand in the place of a queue: then each retire() names the values itself.
//
//   top --> chain --> chain --> ...        a stack of chains; retire() pushes a chain of one object
//           |         |
//           object    object --> object    reclaim() takes all chains, looks at some objects, and puts the others
//                                          back as one chain, before it disposes of those that are due
//
// So nothing is disposed of under a lock, and a disposer may retire other objects. In reclaim() objects that wait for
// different queues do not wait for each other: an object that is found in use goes to the end of the chain. In drain()
// they do: it disposes of what it has found only when all of it is finished, or when the wait has ended early.
//
// Not promised: any order in which objects are disposed of; that reclaim() finds what another thread's reclaim() or
// drain() has in hand at that moment. While drain() sleeps it has in hand all objects that it has found.
#ifndef TIDEMARK_MEMORY_RETIRE_QUEUE_HPP
#define TIDEMARK_MEMORY_RETIRE_QUEUE_HPP

#include <array>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#include "../fence/timeline.hpp"
#include "../fence/wait.hpp"  // before the others: then errors about stop tokens are short
#include "../platform/assert.hpp"
#include "../platform/names.hpp"
#include "../platform/platform.hpp"

namespace tidemark::detail {

/// Holds one queue or timeline that a retire queue follows. A queue, which has last_queued(), is held by its address; a
/// timeline is copied if it is copyable, and otherwise held by its address.
template <class Source>
class followed_serials {
 public:
  /// Whether it keeps a copy.
  static constexpr bool is_copied = false;
  /// Whether wait() takes a deadline and a token.
  static constexpr bool has_limits = requires(const Source& queue, std::uint64_t serial, deadline until) {
    { queue.wait_finished_until(serial, until) } -> std::same_as<wait_status>;
  };

  explicit followed_serials(const Source& queue) noexcept : queue_{&queue} {}

  std::uint64_t last_queued() const noexcept { return queue_->last_queued(); }
  bool is_finished(std::uint64_t serial) const noexcept { return queue_->is_finished(serial); }

  template <platform Platform, class Token>
  wait_status wait(std::uint64_t serial, deadline until, const Token& token) const noexcept {
    if constexpr (!has_limits) {
      return queue_->wait_finished(serial);
    } else {
      if constexpr (std::same_as<Token, never_stops>) {
        if (until == no_deadline) return queue_->wait_finished(serial);
      }
      return wait_on<Platform>(*this, serial, until, token);
    }
  }

  // What wait_on() asks of a timeline.
  wait_status wait_until(std::uint64_t serial, deadline until) const noexcept {
    return queue_->wait_finished_until(serial, until);
  }
  template <class Token>
  wait_status wait_until(std::uint64_t serial, deadline until, const Token& token) const noexcept
    requires requires(const Source& queue) { queue.wait_finished_until(serial, until, token); }
  {
    return queue_->wait_finished_until(serial, until, token);
  }

 private:
  const Source* queue_;
};

template <timeline Source>
  requires(!requires(const Source& queue) { queue.last_queued(); })
class followed_serials<Source> {
 public:
  static constexpr bool is_copied = std::copyable<Source>;
  static constexpr bool has_limits = true;

  explicit followed_serials(const Source& followed) noexcept : timeline_{followed} {}

  bool is_finished(std::uint64_t serial) const noexcept { return timeline_.is_reached(serial); }

  template <platform, class Token>
  wait_status wait(std::uint64_t serial, deadline until, const Token& token) const noexcept {
    return timeline_.wait(serial, until, token);
  }

 private:
  const follower<Source> timeline_;
};

/// Placeholder for a type that a retire queue can't follow, so that the compiler reports only what it lacks.
template <class Wrong>
struct wrong_serial_source {
  wrong_serial_source(const Wrong&) noexcept {
    static_assert(timeline<Wrong>, "this type is neither a tidemark::submission_queue nor a tidemark::timeline");
  }
  std::uint64_t current_value() const noexcept;
  wait_status wait_until(std::uint64_t, deadline) const noexcept;
};
template <class Wrong>
class lasting<wrong_serial_source<Wrong>, true> : public wrong_serial_source<Wrong> {
 public:
  using wrong_serial_source<Wrong>::wrong_serial_source;
  const wrong_serial_source<Wrong>& get() const noexcept { return *this; }
};

}  // namespace tidemark::detail

namespace tidemark {

/// A queue that numbers its work: serial n is finished after all serials before it. A serial that never will be
/// finished, because the queue was aborted, counts as finished; wait_finished() may return `lost` for it. Serial 0 is
/// always finished. All functions may be called by any thread, and none throws. tidemark::queue is one.
///
/// A queue with time limits also has wait_finished_until(serial, deadline), which returns a wait_status too. If the
/// deadline has passed, it looks and does not sleep. It may take a stop token as a third argument.
template <class Queue>
concept submission_queue = requires(const Queue& queue, std::uint64_t serial) {
  { queue.last_queued() } -> std::same_as<std::uint64_t>;
  { queue.is_finished(serial) } -> std::convertible_to<bool>;
  { queue.wait_finished(serial) } -> std::same_as<wait_status>;
};

/// What a retire queue can follow: a submission queue, or a timeline, whose values then are the serials.
template <class Source>
concept serial_source = submission_queue<Source> || timeline<Source>;

template <serial_source... Queues>
class retire_queue;

namespace detail {
template <class Hook>
struct retire_claim;
}

/// What an object needs to be retired without an allocation. It is a base class of the object. It may also be a member
/// of it: then the caller retires the member, and the disposer finds the object by the address of the member. It
/// belongs to the retire queue from retire(), or from a destroy() that waits, until the disposer is called or that
/// destroy() gives up: until then it must be neither destroyed nor retired again. Asserts that; a second call changes
/// nothing. Two threads must not begin to retire or to destroy one object at the same time, as they must not delete it
/// at the same time.
/// \tparam Queues    how many queues the retire queue follows
/// \tparam Platform  the retire queue's: the one of its first queue. `retire_queue<...>::hook` is the right hook
template <std::size_t Queues, platform Platform = native_platform>
class retire_hook {
 public:
  retire_hook() noexcept = default;
  retire_hook(const retire_hook&) noexcept {}  // a copy is not retired, and an assignment changes nothing
  retire_hook& operator=(const retire_hook&) noexcept { return *this; }

 private:
  template <serial_source...>
  friend class retire_queue;
  friend struct detail::retire_claim<retire_hook>;

  template <class T>
  using var = typename Platform::template var<T>;
  using serials = std::array<std::uint64_t, Queues>;
  using dispose_function = void (*)(retire_hook*) noexcept;

  void use_until(const serials& until) noexcept {
    for (std::size_t i = 0; i < Queues; ++i) used_until_[i].store(until[i]);
  }
  serials used_until() const noexcept {
    serials until;
    for (std::size_t i = 0; i < Queues; ++i) until[i] = used_until_[i].load();
    return until;
  }

  /// Returns false if it is retired already.
  bool become_retired() const noexcept {
    // (R5): relaxed alone, as (R4).
    if (retired_.load(std::memory_order_relaxed) != 0) return false;
    // (R4): relaxed alone, for noticing misuse: the thread that retires or destroys an object has it.
    retired_.store(1, std::memory_order_relaxed);
    return true;
  }
  void give_back() const noexcept {
    // (R6): relaxed alone, as (R4): the disposer hands the object on.
    retired_.store(0, std::memory_order_relaxed);
  }

  var<retire_hook*> next_;   // in its chain
  var<retire_hook*> tail_;   // in the first object of a chain: the last one
  var<retire_hook*> below_;  // in the first object of a chain: the next chain
  var<dispose_function> dispose_;
  std::array<var<std::uint64_t>, Queues> used_until_;
  mutable typename Platform::template atomic<std::uint32_t> retired_;  // or a destroy() waits. No part of its value
};

/// What retire() takes as the object: it has the retire queue's hook as a public base class, not a virtual one, or is
/// the hook.
template <class Object, class Hook>
concept retirable = std::derived_from<Object, Hook>;

/// What retire() takes as the disposer: a function object without state that takes the object. The retire queue keeps
/// only the type, and makes a disposer of that type when it needs one. So a pointer to a function is not a disposer. It
/// must not throw. It may free the object, and may retire others.
template <class Dispose, class Object>
concept disposer =
    std::is_empty_v<Dispose> && std::default_initializable<Dispose> && std::invocable<const Dispose&, Object&>;

/// For retire() and destroy(): the caller knows that nothing uses the object, so nothing is waited for.
struct assume_not_in_use_t {
  explicit assume_not_in_use_t() = default;
};
inline constexpr assume_not_in_use_t assume_not_in_use{};

/// What became of an object that was to be destroyed at once.
enum class destroy_status : std::uint8_t {
  destroyed,  ///< The object was disposed of.
  timeout,    ///< It was still in use at the deadline, and is the caller's as before.
  stopped,    ///< It was still in use when the stop token was triggered, and is the caller's as before.
  invalid,    ///< It was retired already, or another call waits to destroy it, and stays so. An assertion fails then.
};

template <>
inline constexpr auto detail::names_of<destroy_status> = detail::names("destroyed", "timeout", "stopped", "invalid");

/// What destroy() and its timed forms return.
struct [[nodiscard]] destroy_result {
  destroy_status status = destroy_status::invalid;

  explicit operator bool() const noexcept { return status == destroy_status::destroyed; }
};

namespace detail {

/// An object is claimed while it is retired or while a destroy() waits, so that a second call is noticed. Only an
/// object that has the hook as a base class, or is the hook, can say so.
template <class Hook>
struct retire_claim {
  /// Returns false if the object is claimed already. Asserts that it is not.
  template <class Object>
  static bool take(Object& object) noexcept {
    if constexpr (std::derived_from<Object, Hook>) {
      const Hook& claimed = object;
      const bool is_first = claimed.become_retired();
      TIDEMARK_ASSERT(is_first, "an object was retired twice");
      return is_first;
    } else {
      return true;
    }
  }
  template <class Object>
  static void give_back(Object& object) noexcept {
    if constexpr (std::derived_from<Object, Hook>) static_cast<const Hook&>(object).give_back();
  }
};

/// Ends a destroy() whose wait has ended: disposes of the object unless something may still use it. Nobody claims it.
template <class Object, class Dispose>
destroy_result destroy_after(wait_status ended, Object& object, const Dispose& dispose) noexcept {
  switch (ended) {
    case wait_status::timeout:
      return {destroy_status::timeout};
    case wait_status::stopped:
      return {destroy_status::stopped};
    default:  // reached, lost
      dispose(object);
      return {destroy_status::destroyed};
  }
}

}  // namespace detail

/// Destroys objects when nothing uses them any more; see the head of this file.
/// \tparam Queues  submission queues or timelines. The first one's platform is the retire queue's
template <serial_source... Queues>
class retire_queue {
  static_assert(sizeof...(Queues) > 0, "without a queue nothing is ever in use");

  static constexpr bool has_last_queued = (submission_queue<Queues> && ...);
  /// Whether every queue can be waited for with these limits. Without limits all of them can.
  template <class... Limits>
  static constexpr bool can_wait =
      (std::same_as<Limits, never_stops> && ...) || (detail::followed_serials<Queues>::has_limits && ...);

 public:
  using platform = typename detail::platform_of_timeline<std::tuple_element_t<0, std::tuple<Queues...>>>::type;
  using hook = retire_hook<sizeof...(Queues), platform>;
  /// A serial of each queue: 0 where the object is not used.
  using serials = std::array<std::uint64_t, sizeof...(Queues)>;

  /// \param queues  must outlive this; a timeline that is copyable (a view) is copied
  explicit retire_queue(detail::lasting<Queues, detail::followed_serials<Queues>::is_copied>... queues) noexcept
      : queues_{detail::followed_serials<Queues>{queues.get()}...} {}
  retire_queue(const retire_queue&) = delete;
  retire_queue& operator=(const retire_queue&) = delete;
  /// Blocks as drain() does. No other call may be under way.
  ~retire_queue() { static_cast<void>(drain()); }

  // ---- retiring: any thread ----------------------------------------------------------------------------------------

  /// Has `dispose(object)` called once, by some reclaim() or drain(), when all work that was queued before this call is
  /// finished. Returns true. Asserts that the object is not retired already, and that no destroy() waits for it.
  /// Otherwise returns false and changes nothing. Only if this follows nothing but queues: a timeline has no last
  /// serial. Progress: lock-free; never waits, allocates nothing.
  template <retirable<hook> Object, disposer<Object> Dispose>
  bool retire(Object& object, const Dispose& dispose) noexcept
    requires(has_last_queued)
  {
    return retire(object, dispose, last_queued());
  }

  /// The same when the serials in `used_until` are finished: for callers that track what uses the object. Progress: as
  /// above.
  /// \param used_until  a serial of each queue; 0 of a queue that does not use the object. A serial that was not queued
  ///                    yet is waited for, too: until it is finished, drain() and the destructor block
  template <retirable<hook> Object, disposer<Object> Dispose>
  bool retire(Object& object, const Dispose&, const serials& used_until) noexcept {
    hook& retired = object;
    if (!claim::take(retired)) return false;
    retired.dispose_.store([](hook* which) noexcept { Dispose{}(static_cast<Object&>(*which)); });
    retired.use_until(used_until);
    push_one(retired);
    return true;
  }

  /// The same, whatever work is pending: the next reclaim() that looks at the object disposes of it. A drain() that
  /// finds it first may sleep for other objects before. For a caller who knows that no queue uses the object, and who
  /// does not want to run the disposer itself. Progress: as above.
  template <retirable<hook> Object, disposer<Object> Dispose>
  bool retire(Object& object, const Dispose& dispose, assume_not_in_use_t) noexcept {
    return retire(object, dispose, serials{});
  }

  /// Has `call()` called once, by some reclaim() or drain(), when all work that was queued before is finished, and
  /// destroys it then. `call()` must not throw. Returns true. Returns false, and leaves `call` as it is, if there is no
  /// memory to keep it. If its copy or move constructor throws, the exception passes through, and nothing is retired.
  /// Only if this follows nothing but queues. Progress: allocates; otherwise lock-free.
  template <class Call>
    requires std::invocable<std::decay_t<Call>&>
  [[nodiscard]] bool retire_call(Call&& call)
    requires(has_last_queued)
  {
    return retire_call(std::forward<Call>(call), last_queued());
  }
  /// The same when the serials in `used_until` are finished.
  template <class Call>
    requires std::invocable<std::decay_t<Call>&>
  [[nodiscard]] bool retire_call(Call&& call, const serials& used_until) {
    auto* const made = new (std::nothrow) deferred_call<std::decay_t<Call>>(std::forward<Call>(call), used_until);
    if (made == nullptr) return false;
    push_one(*made);
    return true;
  }
  /// The same, whatever work is pending.
  template <class Call>
    requires std::invocable<std::decay_t<Call>&>
  [[nodiscard]] bool retire_call(Call&& call, assume_not_in_use_t) {
    return retire_call(std::forward<Call>(call), serials{});
  }

  // ---- destroying at once: any thread ------------------------------------------------------------------------------

  /// Waits until all work that was queued before is finished, then calls `dispose(object)`, which must not throw. The
  /// object may be of any type, and the disposer any callable. Returns `destroyed` when it is disposed of. Returns
  /// `stopped` once `token` is triggered, if the work is not finished then; the object is the caller's as before. Only
  /// if this follows nothing but queues. A token, and the two functions below, need queues with time limits. Blocks,
  /// parked. Asserts that the object is not retired already, and that no other call waits to destroy it. Otherwise
  /// returns `invalid` and does nothing. It notices this only if the object has the hook as a base class, or is the
  /// hook.
  template <class Object, class Dispose, stop_token_like Token = never_stops>
  destroy_result destroy(Object& object, const Dispose& dispose, Token token = {}) noexcept
    requires(has_last_queued && can_wait<Token> && std::invocable<const Dispose&, Object&>)
  {
    return destroy_within(object, dispose, [this] { return last_queued(); }, std::move(token));
  }
  /// The same for `timeout` at most, and then returns `timeout`, and the object is the caller's as before.
  template <class Object, class Dispose, class Rep, class Period, stop_token_like Token = never_stops>
  destroy_result destroy_for(Object& object, const Dispose& dispose, const std::chrono::duration<Rep, Period>& timeout,
                             Token token = {}) noexcept
    requires(has_last_queued && can_wait<deadline> && std::invocable<const Dispose&, Object&>)
  {
    return destroy_within(object, dispose, [this] { return last_queued(); }, timeout, std::move(token));
  }
  /// The same until a point of the steady or the system clock at most, and then returns `timeout`.
  template <class Object, class Dispose, class Clock, class Duration, stop_token_like Token = never_stops>
  destroy_result destroy_until(Object& object, const Dispose& dispose,
                               const std::chrono::time_point<Clock, Duration>& at, Token token = {}) noexcept
    requires(has_last_queued && can_wait<deadline> && std::invocable<const Dispose&, Object&>)
  {
    return destroy_within(object, dispose, [this] { return last_queued(); }, at, std::move(token));
  }

  /// As destroy() above, but waits for the serials in `used_until`, as the retire() that takes them does: also for
  /// timelines.
  template <class Object, class Dispose, stop_token_like Token = never_stops>
  destroy_result destroy(Object& object, const Dispose& dispose, const serials& used_until, Token token = {}) noexcept
    requires(can_wait<Token> && std::invocable<const Dispose&, Object&>)
  {
    return destroy_within(object, dispose, [&] { return used_until; }, std::move(token));
  }
  /// The same for `timeout` at most, and then returns `timeout`, and the object is the caller's as before.
  template <class Object, class Dispose, class Rep, class Period, stop_token_like Token = never_stops>
  destroy_result destroy_for(Object& object, const Dispose& dispose, const serials& used_until,
                             const std::chrono::duration<Rep, Period>& timeout, Token token = {}) noexcept
    requires(can_wait<deadline> && std::invocable<const Dispose&, Object&>)
  {
    return destroy_within(object, dispose, [&] { return used_until; }, timeout, std::move(token));
  }
  /// The same until a point of the steady or the system clock at most, and then returns `timeout`.
  template <class Object, class Dispose, class Clock, class Duration, stop_token_like Token = never_stops>
  destroy_result destroy_until(Object& object, const Dispose& dispose, const serials& used_until,
                               const std::chrono::time_point<Clock, Duration>& at, Token token = {}) noexcept
    requires(can_wait<deadline> && std::invocable<const Dispose&, Object&>)
  {
    return destroy_within(object, dispose, [&] { return used_until; }, at, std::move(token));
  }

  /// Calls `dispose(object)` now, which must not throw: the caller knows that no queue uses the object. The object may
  /// be of any type, and the disposer any callable. Returns `destroyed`. Asserts what destroy() above does, and
  /// otherwise returns `invalid` and does nothing. Progress: wait-free but for `dispose`.
  template <class Object, class Dispose>
    requires std::invocable<const Dispose&, Object&>
  destroy_result destroy(Object& object, const Dispose& dispose, assume_not_in_use_t) noexcept {
    if (!claim::take(object)) return {destroy_status::invalid};
    claim::give_back(object);
    return detail::destroy_after(wait_status::reached, object, dispose);
  }

  // ---- disposing: any thread ---------------------------------------------------------------------------------------

  /// Looks at up to `most` objects, and disposes of those that are not in use any more. Returns how many it has
  /// disposed of. Progress: lock-free but for the disposers, and for what it asks of the queues; never waits.
  std::size_t reclaim(std::size_t most = SIZE_MAX) noexcept {
    chain all = take_all();
    chain due;
    hook* looked_at_first = nullptr;  // of those that went to the end: they are not looked at twice
    for (std::size_t looks = 0; looks < most && all.head != nullptr && all.head != looked_at_first; ++looks) {
      hook* const object = all.pop();
      if (is_finished(object->used_until())) {
        due.append(object);
      } else {
        all.append(object);
        if (looked_at_first == nullptr) looked_at_first = object;
      }
    }
    if (all.head != nullptr) push(all);
    return due.dispose_all();
  }

  /// Blocks, parked, until nothing that was retired is in use any more, and disposes of it; also of what the disposers
  /// retire, and of what other threads retire meanwhile. So it does not return as long as other threads retire without
  /// a pause: stop them first, or set a limit. It can't tell objects of other threads from those that disposers retire;
  /// the drain() of a loop_retire_queue can. Takes all objects that it finds, and disposes of them only when all of
  /// them are finished. While it sleeps, reclaim() of another thread does not find them. Returns `reached`; work that a
  /// lost queue never will finish counts as finished. Returns `stopped` if it would have to sleep and `token` is
  /// triggered: then it disposes of those that are finished, and the others stay retired. When it returns, there may be
  /// objects left that another thread has in hand or has retired meanwhile. After `stopped` or `timeout`, those that
  /// its last disposers retired may be left, too. The token and the time limits only end a sleep: as long as it finds
  /// objects that are not in use, it goes on. A token, and the two functions below, need queues with time limits.
  template <stop_token_like Token = never_stops>
  wait_status drain(Token token = {}) noexcept
    requires(can_wait<Token>)
  {
    return drain_within(std::move(token));
  }
  /// The same for `timeout` at most, and then returns `timeout`.
  template <class Rep, class Period, stop_token_like Token = never_stops>
  wait_status drain_for(const std::chrono::duration<Rep, Period>& timeout, Token token = {}) noexcept
    requires(can_wait<deadline>)
  {
    return drain_within(timeout, std::move(token));
  }
  /// The same until a point of the steady or the system clock at most, and then returns `timeout`.
  template <class Clock, class Duration, stop_token_like Token = never_stops>
  wait_status drain_until(const std::chrono::time_point<Clock, Duration>& at, Token token = {}) noexcept
    requires(can_wait<deadline>)
  {
    return drain_within(at, std::move(token));
  }

 private:
  /// Objects that belong to one thread.
  struct chain {
    hook* head = nullptr;
    hook* tail = nullptr;

    hook* pop() noexcept {
      hook* const first = head;
      head = first->next_.load();
      first->next_.store(nullptr);
      if (head == nullptr) tail = nullptr;
      return first;
    }
    void append(hook* object) noexcept {
      tail == nullptr ? void(head = object) : tail->next_.store(object);
      tail = object;
    }
    /// Returns how many objects there were. An object is not touched any more once its disposer was called.
    std::size_t dispose_all() noexcept {
      std::size_t count = 0;
      for (; head != nullptr; ++count) {
        hook* const object = pop();
        object->give_back();
        object->dispose_.load()(object);
      }
      return count;
    }
  };

  template <class Call>
  struct deferred_call : hook {
    template <class Made>
    deferred_call(Made&& made, const serials& used_until) : call(std::forward<Made>(made)) {
      this->use_until(used_until);
      this->dispose_.store([](hook* which) noexcept {
        auto* const own = static_cast<deferred_call*>(which);
        own->call();
        delete own;
      });
    }
    Call call;
  };

  using claim = detail::retire_claim<hook>;

  /// \param serials_of_users  called once, when it is known that the object may be destroyed
  template <class Object, class Dispose, class Serials, class... Limits>
  destroy_result destroy_within(Object& object, const Dispose& dispose, const Serials& serials_of_users,
                                const Limits&... limits) noexcept {
    if (!claim::take(object)) return {destroy_status::invalid};
    const serials used_until = serials_of_users();
    const auto wait_once = [&](deadline until, const auto& token) { return wait(used_until, until, token); };
    const wait_status ended = detail::within<platform>(wait_once, limits...);
    claim::give_back(object);
    return detail::destroy_after(ended, object, dispose);
  }

  template <class... Limits>
  wait_status drain_within(const Limits&... limits) noexcept {
    const auto wait_once = [&](deadline until, const auto& token) { return drain_once(until, token); };
    return detail::within<platform>(wait_once, limits...);
  }

  template <class Token>
  wait_status drain_once(deadline until, const Token& token) noexcept {
    for (chain all = take_all(); all.head != nullptr; all = take_all()) {
      for (const hook* object = all.head; object != nullptr; object = object->next_.load()) {
        const wait_status status = wait(object->used_until(), until, token);
        if (status == wait_status::reached) continue;
        push(all);
        reclaim();
        return status;
      }
      all.dispose_all();
    }
    return wait_status::reached;
  }

  serials last_queued() const noexcept {
    return std::apply([](const auto&... each) { return serials{each.last_queued()...}; }, queues_);
  }

  bool is_finished(const serials& used_until) const noexcept {
    return for_each_queue(used_until,
                          [](const auto& one, std::uint64_t serial) { return serial == 0 || one.is_finished(serial); });
  }

  /// Returns `reached`, also where a queue is lost: then it does not use the object any more; `timeout` or `stopped`.
  template <class Token>
  wait_status wait(const serials& used_until, deadline until, const Token& token) const noexcept {
    wait_status status = wait_status::reached;
    for_each_queue(used_until, [&](const auto& one, std::uint64_t serial) {
      status = one.template wait<platform>(serial, until, token);
      if (status == wait_status::lost) status = wait_status::reached;
      return status == wait_status::reached;
    });
    return status;
  }

  /// Calls `body(queue, serial)` for each queue until it returns false. Returns whether it never did.
  template <class Body>
  bool for_each_queue(const serials& used_until, const Body& body) const noexcept {
    std::size_t index = 0;
    return std::apply([&](const auto&... each) { return (body(each, used_until[index++]) && ...); }, queues_);
  }

  void push_one(hook& object) noexcept {
    object.next_.store(nullptr);
    push({&object, &object});
  }

  void push(const chain& made) noexcept {
    made.head->tail_.store(made.tail);
    // (R1): relaxed, (R2) does the rest.
    hook* below = top_.load(std::memory_order_relaxed);
    do {
      made.head->below_.store(below);
      // (R2): release, pairs with (R3): the objects and their links. Not stronger: nothing reads through what was
      // there.
    } while (!top_.compare_exchange_weak(below, made.head, std::memory_order_release, std::memory_order_relaxed));
  }

  /// Returns all objects, in the order in which they were retired or put back.
  chain take_all() noexcept {
    // (R3): acquire, pairs with (R2), also with those that were pushed before the last one, whose release it heads.
    hook* newest = top_.exchange(nullptr, std::memory_order_acquire);
    chain all;
    while (newest != nullptr) {
      hook* const below = newest->below_.load();
      hook* const tail = newest->tail_.load();
      tail->next_.store(all.head);
      if (all.head == nullptr) all.tail = tail;
      all.head = newest;
      newest = below;
    }
    return all;
  }

  std::tuple<detail::followed_serials<Queues>...> queues_;
  typename platform::template atomic<hook*> top_;
};

template <serial_source... Queues>
retire_queue(const Queues&...) -> retire_queue<Queues...>;
// What is given and can't be followed gets an error of its own.
template <class... Given>
  requires(!(serial_source<Given> && ...))
retire_queue(const Given&...)
    -> retire_queue<std::conditional_t<serial_source<Given>, Given, detail::wrong_serial_source<Given>>...>;

}  // namespace tidemark

#endif  // TIDEMARK_MEMORY_RETIRE_QUEUE_HPP
