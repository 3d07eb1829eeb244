// SPDX-License-Identifier: BSL-1.0
//
// wait_all and wait_any: one wait for values of several timelines.
//
//   wait_all({{upload, 12}, {compute, 40}});                    waits until both values are reached
//   wait_any_for({{upload, 12}, {compute, 40}}, 5ms).index      waits until one is reached, and says which one
//
// The mechanism: the waiter registers with each timeline whose value is still to come, in the heap of that timeline.
// Then it issues one StoreLoad barrier for all of them, if one of them needs it, and looks at each value once more.
// Then it sleeps on one word, which every registration names (fence/tools/waker.hpp). For every timeline this is the
// protocol of fence.hpp (register, barrier, look again), with one barrier for all. Signallers do not know of it.
//
// The waiter is woken once: wait_any() by the first release, wait_all() by the last one. A timeline that is lost wakes
// it at once. So does a stop. Before the wait returns, it waits for signallers that are about to use that word, because
// the word ends with the wait.
//
// A woken waiter looks at the values themselves, so no signal can be counted twice. A timeline may jump over several
// values, or stand in the list twice. All registrations end with the call, also those with timelines that were not
// reached.
//
// awaited.hpp lists the timelines that may take part. They may be mixed: the thread still sleeps on one word, and
// wakes up in between only to look at what can't wake it. The list has a platform, that of its basic_awaited; for an
// `awaited` it is native_platform. All fences must park as that platform does (`P::parking`). If one of the fences is
// asymmetric, the platform of the list must be asymmetric, too. The list may be of any length. For up to 64 timelines
// nothing is allocated; for more, one array each time the waiter registers. A full fence may grow, as in any wait.
//
// A waiter can't register with a full fence that must not grow, or for whose growth there is no memory. Nor can it
// register with more than 64 timelines if there is no memory for the array. While it sleeps, it looks at such timelines
// once in a millisecond, and at a looked_at by its interval. If the system refuses the barrier and a timeline relies on
// it, the waiter looks at all timelines once in a millisecond.
//
// With an empty list both waits return `reached` at once, in every build. The index that wait_any() returns is then 0,
// the length of the list. It is the length of the list whenever no timeline has ended the wait. If several outcomes are
// possible at the return, the same one wins as in a wait for one timeline (wait.hpp).
//
// Before it registers, the waiter spins as for one timeline. The first timeline of the list that allows spinning says
// for how long, and learns from the wait.
//
// Not promised: which of several reached timelines wait_any() names (it goes through the list from the first one on,
// and names one that is reached when it looks); and a return just at the deadline or the stop. The return is late if a
// signaller is preempted between releasing a registration and waking the waiter.
#ifndef TIDEMARK_FENCE_WAIT_MANY_HPP
#define TIDEMARK_FENCE_WAIT_MANY_HPP

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "../platform/platform.hpp"
#include "../platform/tools/limits.hpp"
#include "awaited.hpp"
#include "tools/waker.hpp"
#include "wait.hpp"
#include "waiter_heap.hpp"

namespace tidemark {

namespace detail {

/// The type of what lies in a contiguous list.
template <class List>
using listed = std::remove_cvref_t<decltype(*std::data(std::declval<const List&>()))>;

}  // namespace detail

/// A contiguous list of awaited values: an array, a std::vector, a std::span ...
template <class List>
concept awaited_range = requires(const List& list) {
  std::data(list);
  { std::size(list) } -> std::convertible_to<std::size_t>;
} && requires {
  typename detail::listed<List>::platform;
} && std::same_as<detail::listed<List>, basic_awaited<typename detail::listed<List>::platform>>;

namespace detail {

enum class quantifier { all, any };

template <platform Platform>
class many_waits {
 public:
  using list = std::span<const basic_awaited<Platform>>;

  many_waits(quantifier needed, list those) noexcept : needed_{needed}, those_{those} {}

  template <class Token>
  wait_any_result operator()(deadline until, Token token) const noexcept {
    std::optional<wait_any_result> end = look();
    const auto is_over = [&] { return (end = look()).has_value(); };
    if (!end && until != at_once && (until == no_deadline || until > Platform::now())) {
      spinning_wait spinning{learnt()};
      if (!spinning.spin(until, is_over, [&] { return token.stop_requested(); })) {
        spinning.sleeps();
        // A wait for all may find a poisoned timeline below its target, which is signalled before the next look: then
        // the wait goes on for the others.
        for (bool is_in_time = true; is_in_time && !token.stop_requested() && !is_over();)
          is_in_time = sleep(until, token, spinning);
        spinning.wakes([this](std::uint32_t now) { return last_wake(now); });
      }
    }
    if (end) return *end;
    // In this order, so that a timeline is seen that was reached or lost before the stop.
    const bool is_stopped = token.stop_requested();
    if (is_over()) return *end;
    return {is_stopped ? wait_status::stopped : wait_status::timeout, those_.size()};
  }

 private:
  using entry = basic_awaited<Platform>;
  using spinning_wait = detail::spinning_wait<Platform>;

  static const auto& target_of(const entry& one) noexcept { return awaited_access::target_of(one); }
  static bool is_reached(const entry& one) noexcept { return target_of(one).is_reached(); }
  static bool is_lost(const entry& one) noexcept { return target_of(one).is_lost(); }

  /// Finds the first timeline whose waiters spin, and returns the memory of its spins; null if there is no such
  /// timeline. What this wait learns goes into the same memory.
  typename spinning_wait::memory* learnt() const noexcept {
    for (const entry& one : those_) {
      if (auto* const memory = target_of(one).learnt()) return memory;
    }
    return nullptr;
  }
  /// Returns when a signaller of one of the timelines last woke waiters. The times wrap around.
  std::uint32_t last_wake(std::uint32_t now) const noexcept {
    std::uint32_t least = UINT32_MAX;
    for (const entry& one : those_) {
      if (const auto* const memory = target_of(one).learnt()) least = (std::min)(least, now - memory->woken_at());
    }
    return now - least;
  }

  /// Returns how the wait ends, if it ends now. A reached timeline wins over a lost one.
  std::optional<wait_any_result> look() const noexcept {
    if (const auto reached = look_for_reached()) return reached;
    const auto lost = std::find_if(those_.begin(), those_.end(), is_lost);
    if (lost == those_.end()) return {};
    // A timeline may have been reached since the first look, and before this one was lost.
    if (const auto reached = look_for_reached()) return reached;
    return wait_any_result{wait_status::lost, index(lost)};
  }
  std::optional<wait_any_result> look_for_reached() const noexcept {
    const bool all = needed_ == quantifier::all;
    // For `all`, find the first that is not reached; for `any`, the first that is.
    const auto found =
        std::find_if(those_.begin(), those_.end(), [&](const entry& one) { return is_reached(one) != all; });
    if (all && found == those_.end()) return wait_any_result{wait_status::reached, those_.size()};
    if (!all && found != those_.end()) return wait_any_result{wait_status::reached, index(found)};
    if (those_.empty()) return wait_any_result{wait_status::reached, 0};
    return {};
  }
  std::size_t index(typename list::iterator at) const noexcept { return static_cast<std::size_t>(at - those_.begin()); }

  /// The waiter's registrations with the timelines that it still waits for.
  class registrations {
   public:
    /// Registers with all timelines (w1 in fence.hpp). A wait for all may leave out those that are reached. A wait for
    /// any must not: look() goes through the registrations alone, so it would not find a timeline that was left out.
    registrations(quantifier needed, list those, shared_word<Platform>& woken) noexcept
        : many_{those.size() > few_.size() ? ::new(std::nothrow) registration[those.size()] : nullptr}, others_{those} {
      const std::span<registration> room = many_ ? std::span{many_.get(), those.size()} : std::span{few_};
      while (!others_.empty() && count_ < room.size()) {
        const entry& one = others_.front();
        others_ = others_.subspan(1);
        if (needed == quantifier::all && is_reached(one)) {
          woken.withdrawn();
          continue;
        }
        auto ticket = target_of(one).add(&woken);
        // The lane would wake nobody here.
        if (ticket.is_in_lane()) {
          target_of(one).withdraw(ticket);
          woken.withdrawn();
          ++unregistered_;
          room[count_++] = {&one, {}};
        } else {
          room[count_++] = {&one, ticket};
        }
      }
      open_ = room.first(count_);
    }
    registrations(const registrations&) = delete;
    registrations& operator=(const registrations&) = delete;
    ~registrations() {
      for (const registration& one : open_) one.withdraw();
    }

    /// Returns whether each awaited timeline has a registration that wakes the waiter.
    bool are_complete() const noexcept { return unregistered_ == 0 && others_.empty(); }

    /// Returns when the waiter must look again.
    deadline next_look(deadline until) const noexcept {
      if (is_ordered_ && are_complete()) [[likely]]
        return until;
      auto interval = is_ordered_ && others_.empty() ? (deadline::duration::max)() : look_interval;
      for (const registration& one : open_) {
        if (!one.ticket) interval = (std::min)(interval, target_of(*one.of).look_interval());
      }
      return look_again_before(until, Platform::now(), interval);
    }

    /// w2 of all timelines.
    void order() noexcept { is_ordered_ = is_ordered(); }
    /// w3 of all timelines. Returns whether the wait may be over. In a wait for all, it ends the registrations with
    /// timelines that are reached. If no signaller has released such a registration, it lowers the count in `woken`
    /// itself.
    bool look(quantifier needed, shared_word<Platform>& woken, std::uint32_t& prepared) noexcept {
      for (std::size_t i = 0; i < open_.size();) {
        const registration& one = open_[i];
        if (!target_of(*one.of).is_over()) {
          ++i;
          continue;
        }
        if (needed == quantifier::any || !is_reached(*one.of)) return true;
        if (one.withdraw()) {
          woken.withdrawn();
          --prepared;
        }
        if (!one.ticket) --unregistered_;
        open_[i] = open_.back();
        open_ = open_.first(open_.size() - 1);
      }
      return open_.empty() && others_.empty();
    }

   private:
    struct registration {
      const entry* of = nullptr;
      std::optional<waiter_ticket> ticket;

      bool withdraw() const noexcept { return ticket && target_of(*of).withdraw(*ticket); }
    };

    /// Returns false if the barrier was refused and one of the timelines relies on it.
    bool is_ordered() const noexcept {
      const auto is_asymmetric = [](const registration& r) { return target_of(*r.of).operations->is_asymmetric; };
      if (std::none_of(open_.begin(), open_.end(), is_asymmetric)) return true;
      // (M1): w2 of all these timelines at once. For each of them it is what (F21) is for one: between (H2) (H8) and
      // (F3), against (F22). One barrier is enough, because it orders all registrations before all looks.
      if (Platform::heavy_barrier()) return true;
      return std::none_of(open_.begin(), open_.end(),
                          [](const registration& r) { return target_of(*r.of).needs_barrier(); });
    }

    std::array<registration, 64> few_;
    std::unique_ptr<registration[]> many_;
    std::size_t count_ = 0;
    std::span<registration> open_;
    list others_;                   // those for which there is no room
    std::size_t unregistered_ = 0;  // of the open ones
    bool is_ordered_ = false;
  };

  /// Registers with all timelines, and sleeps until the wait may be over. Returns false if the deadline has passed.
  template <class Token>
  bool sleep(deadline until, const Token& token, spinning_wait& spinning) const noexcept {
    const bool all = needed_ == quantifier::all;
    shared_word<Platform> woken{all ? static_cast<std::uint32_t>(those_.size()) : 0};
    registrations registered{needed_, those_, woken};
    registered.order();
    const auto nudge = [&woken] { woken.nudge(); };
    const typename stop_callback_for<Token, std::remove_const_t<decltype(nudge)>>::type stop_callback(token, nudge);
    for (;;) {
      std::uint32_t prepared = woken.prepare();
      if (registered.look(needed_, woken, prepared) || token.stop_requested()) return true;
      if (!registered.are_complete() && look()) return true;
      const deadline limit = registered.next_look(until);
      spinning.parks();
      if (!woken.park(prepared, limit) && limit == until) return false;
    }
  }

  quantifier needed_;
  list those_;
};

template <quantifier Needed, awaited_range Those, class... Limits>
wait_any_result wait_for_many(const Those& those, const Limits&... limits) noexcept {
  using platform = typename listed<Those>::platform;
  const std::span<const basic_awaited<platform>> list{std::data(those), std::size(those)};
  return within<platform>(many_waits<platform>{Needed, list}, limits...);
}

}  // namespace detail

/// Waits until every value is reached. Returns `reached`; `lost` as soon as it finds that a timeline is poisoned and
/// has not reached its value; `stopped` if `token` is triggered first. For an empty list it returns `reached` at once.
/// What was done before those values were signalled happens-before a return with `reached`. Blocks. Throws nothing; the
/// head of this file says when it allocates. Any thread may call it.
/// \param those  a contiguous list of awaited values, or a list in braces
template <awaited_range Those, stop_token_like Token = never_stops>
wait_status wait_all(const Those& those, Token token = {}) noexcept {
  return detail::wait_for_many<detail::quantifier::all>(those, token).status;
}
template <stop_token_like Token = never_stops>
wait_status wait_all(std::initializer_list<awaited> those, Token token = {}) noexcept {
  return detail::wait_for_many<detail::quantifier::all>(those, token).status;
}

/// Waits like wait_all(), but for the duration `timeout` at most, and returns `timeout` then. With zero or less it
/// only looks and does not sleep.
template <awaited_range Those, class Rep, class Period, stop_token_like Token = never_stops>
wait_status wait_all_for(const Those& those, const std::chrono::duration<Rep, Period>& timeout,
                         Token token = {}) noexcept {
  return detail::wait_for_many<detail::quantifier::all>(those, timeout, token).status;
}
template <class Rep, class Period, stop_token_like Token = never_stops>
wait_status wait_all_for(std::initializer_list<awaited> those, const std::chrono::duration<Rep, Period>& timeout,
                         Token token = {}) noexcept {
  return detail::wait_for_many<detail::quantifier::all>(those, timeout, token).status;
}

/// Waits like wait_all(), but until `at` at most, a point of the steady or the system clock, and returns `timeout`
/// then. With a point in the past it does not sleep. A change of the system clock has the same effect as with
/// waitable::wait_until().
template <awaited_range Those, class Clock, class Duration, stop_token_like Token = never_stops>
wait_status wait_all_until(const Those& those, const std::chrono::time_point<Clock, Duration>& at,
                           Token token = {}) noexcept {
  return detail::wait_for_many<detail::quantifier::all>(those, at, token).status;
}
template <class Clock, class Duration, stop_token_like Token = never_stops>
wait_status wait_all_until(std::initializer_list<awaited> those, const std::chrono::time_point<Clock, Duration>& at,
                           Token token = {}) noexcept {
  return detail::wait_for_many<detail::quantifier::all>(those, at, token).status;
}

/// Waits until one of the values is reached. Returns `reached` and the index of the first one in the list that it sees
/// reached; if none is reached and a timeline was poisoned below its value, `lost` and the index of the first such one
/// (the caller may wait again without it); `stopped` if `token` is triggered first. For an empty list it returns
/// `reached` and an index of 0 at once. What was done before the value was signalled happens-before a return with
/// `reached`. Blocks. Throws nothing; the head of this file says when it allocates. Any thread may call it.
/// \param those  a contiguous list of awaited values, or a list in braces
template <awaited_range Those, stop_token_like Token = never_stops>
wait_any_result wait_any(const Those& those, Token token = {}) noexcept {
  return detail::wait_for_many<detail::quantifier::any>(those, token);
}
template <stop_token_like Token = never_stops>
wait_any_result wait_any(std::initializer_list<awaited> those, Token token = {}) noexcept {
  return detail::wait_for_many<detail::quantifier::any>(those, token);
}

/// Waits like wait_any(), but for the duration `timeout` at most, and returns `timeout` then. With zero or less it
/// only looks and does not sleep.
template <awaited_range Those, class Rep, class Period, stop_token_like Token = never_stops>
wait_any_result wait_any_for(const Those& those, const std::chrono::duration<Rep, Period>& timeout,
                             Token token = {}) noexcept {
  return detail::wait_for_many<detail::quantifier::any>(those, timeout, token);
}
template <class Rep, class Period, stop_token_like Token = never_stops>
wait_any_result wait_any_for(std::initializer_list<awaited> those, const std::chrono::duration<Rep, Period>& timeout,
                             Token token = {}) noexcept {
  return detail::wait_for_many<detail::quantifier::any>(those, timeout, token);
}

/// Waits like wait_any(), but until `at` at most, a point of the steady or the system clock, and returns `timeout`
/// then. With a point in the past it does not sleep. A change of the system clock has the same effect as with
/// waitable::wait_until().
template <awaited_range Those, class Clock, class Duration, stop_token_like Token = never_stops>
wait_any_result wait_any_until(const Those& those, const std::chrono::time_point<Clock, Duration>& at,
                               Token token = {}) noexcept {
  return detail::wait_for_many<detail::quantifier::any>(those, at, token);
}
template <class Clock, class Duration, stop_token_like Token = never_stops>
wait_any_result wait_any_until(std::initializer_list<awaited> those, const std::chrono::time_point<Clock, Duration>& at,
                               Token token = {}) noexcept {
  return detail::wait_for_many<detail::quantifier::any>(those, at, token);
}

}  // namespace tidemark

#endif  // TIDEMARK_FENCE_WAIT_MANY_HPP
