// SPDX-License-Identifier: BSL-1.0
//
// wait_all and wait_any: one wait for values of several timelines.
//
//   wait_all({{upload, 12}, {compute, 40}});                    every value was reached
//   wait_any({{upload, 12}, {compute, 40}}, 5ms).index          which one was
//
// How: the waiter is registered with each timeline whose value is still to come, each in its own heap; then follows one
// StoreLoad barrier for all of them (A65), and one look at each; then it sleeps on all its counts of wakes at once.
// For every timeline this is the handshake of fence.hpp: R1 of all, one R2, R3 of all. A signaller knows nothing of it.
//
// Nothing is counted that a signal could count twice: whoever wakes looks at the values themselves, so a timeline that
// jumps over several values, or stands in the list twice, is as good as any other. All registrations end with the call,
// those of the timelines that did not come too (trap 11).
//
// The timelines may be of different types, as long as they park in the same way (`P::parking`): a fence and a
// progress_fence may be mixed. Any number may be given; up to 64 take part in one sleep. Of more than 64, `all` takes 64 at a
// time, and both look at those that do not take part once in a millisecond.
//
// A wait for all wakes up each time that one of its timelines comes while it sleeps. That is the price for noticing at
// once that one of them is lost (within a millisecond if it does not take part in the sleep).
//
// An empty list is never waited for: both return `reached` at once, in every build. There is no timeline to name then, so
// the index of wait_any() is the length of the list, as it is whenever no timeline ended the wait.
//
// Where the system can't sleep on several words (see detail/parking.hpp), the waiter looks at all each millisecond.
//
// Not promised: which of several that were reached `any` names (it is the first in the list that it sees); that the
// waiter spins before it registers, as for one timeline.
#ifndef TIDEMARK_WAIT_MANY_HPP
#define TIDEMARK_WAIT_MANY_HPP

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

#include "detail/waiting.hpp"
#include "fence.hpp"
#include "platform.hpp"
#include "waiter_heap.hpp"

namespace tidemark {

namespace detail {

template <class Platform>
class many_waits;

/// Whether a wait on `Platform` may count a timeline on `Other` among others: it can sleep on the same words, and
/// issues the barrier that the timeline needs.
template <class Platform, class Other>
concept can_wait_for = std::same_as<typename Platform::parking, typename Other::parking> &&
    (Platform::asymmetric || !Other::asymmetric);

}  // namespace detail

/// A value of one timeline, as one among those that are awaited. Copyable; as long-lived as its timeline at most.
/// \tparam Platform  of the wait: asymmetric if one of the timelines is, and with the same way of parking.
template <class Platform>
class basic_awaited {
 public:
  using platform = Platform;

  /// A fence or progress_fence, or a view of one, and the value to wait for.
  template <class Other, fence_options Options>
  basic_awaited(const detail::timeline<Other, Options>& timeline, std::uint64_t target) noexcept
      requires(detail::can_wait_for<Platform, Other>)
      : timeline_{&timeline}, operations_{&operations_of<detail::timeline<Other, Options>>}, target_{target} {}
  template <class Timeline>
  basic_awaited(const basic_fence_view<Timeline>& view, std::uint64_t target) noexcept
      requires(detail::can_wait_for<Platform, typename Timeline::platform>)
      : basic_awaited(*view.timeline_, target) {}

 private:
  friend detail::many_waits<Platform>;

  using place_type = parking_place<typename Platform::template atomic<std::uint32_t>>;

  struct operations {
    bool is_asymmetric;
    bool (*is_reached)(const void*, std::uint64_t target);
    bool (*is_poisoned)(const void*);
    bool (*is_over)(const void*, std::uint64_t target);
    bool (*is_pinned)(const void*);
    waiter_ticket (*add)(const void*, std::uint64_t target);
    place_type (*place)(const void*, const waiter_ticket&);
    void (*nudge)(const void*, const waiter_ticket&);
    void (*withdraw)(const void*, const waiter_ticket&);
  };

  /// What is done with a timeline whose type is forgotten.
  template <class Timeline>
  static constexpr operations make_operations() noexcept {
    return {
        Timeline::platform::asymmetric,
        [](const void* self, std::uint64_t target) { return as<Timeline>(self).reached_value() >= target; },
        [](const void* self) { return as<Timeline>(self).is_poisoned(); },
        [](const void* self, std::uint64_t target) { return as<Timeline>(self).is_over(target); },
        [](const void* self) { return as<Timeline>(self).heap().is_pinned(); },
        [](const void* self, std::uint64_t target) { return as<Timeline>(self).heap().add(target); },
        [](const void* self, const waiter_ticket& ticket) {
          auto& heap = as<Timeline>(self).heap();
          return heap.place(ticket, heap.wakes(ticket));
        },
        [](const void* self, const waiter_ticket& ticket) { as<Timeline>(self).heap().nudge(ticket); },
        [](const void* self, const waiter_ticket& ticket) { as<Timeline>(self).heap().withdraw(ticket); },
    };
  }
  template <class Timeline>
  static constexpr operations operations_of = make_operations<Timeline>();

  template <class Timeline>
  static const Timeline& as(const void* timeline) noexcept {
    return *static_cast<const Timeline*>(timeline);
  }

  const void* timeline_;
  const operations* operations_;
  std::uint64_t target_;
};

/// Awaited values of fences, progress fences and their views.
using awaited = basic_awaited<native_platform>;

/// A list of awaited values whose elements lie side by side: an array, a std::vector, a std::span ...
template <class Range>
concept awaited_range =
    std::ranges::contiguous_range<const Range> && std::ranges::sized_range<const Range> && requires {
  typename std::ranges::range_value_t<const Range>::platform;
} && std::same_as<std::ranges::range_value_t<const Range>,
                  basic_awaited<typename std::ranges::range_value_t<const Range>::platform>>;

/// How a wait for any of several ended, and which of them ended it.
struct [[nodiscard]] wait_any_result {
  wait_status status;
  std::size_t
      index;  ///< Of the one that was reached or is lost. The length of the list where no timeline ended the wait.

  friend bool operator==(const wait_any_result&, const wait_any_result&) = default;
  friend bool operator==(const wait_any_result& result, wait_status expected) noexcept {
    return result.status == expected;
  }
};

namespace detail {

enum class quantifier { all, any };

template <class Platform>
class many_waits {
 public:
  using list = std::span<const basic_awaited<Platform>>;

  many_waits(quantifier needed, list those) noexcept : needed_{needed}, those_{those} {}

  template <class Token>
  wait_any_result operator()(deadline until, Token token) const noexcept {
    if (const auto end = look()) return *end;
    if (until != at_once && !token.stop_requested() && (until == forever || until > Platform::now())) {
      list rest = those_;
      bool goes_on = true;
      while (goes_on && !rest.empty()) {
        const std::size_t turn = std::min(rest.size(), max_parking_places);
        goes_on = sleep(rest.first(turn), rest.subspan(turn), until, token);
        rest = rest.subspan(turn);
      }
      if (const auto end = look()) return *end;
    }
    return {token.stop_requested() ? wait_status::stopped : wait_status::timeout, those_.size()};
  }

 private:
  using entry = basic_awaited<Platform>;
  using place_type = typename entry::place_type;

  static bool is_reached(const entry& one) noexcept { return one.operations_->is_reached(one.timeline_, one.target_); }
  static bool is_lost(const entry& one) noexcept {
    // In this order, so that a value that was reached before the poison is seen.
    return one.operations_->is_poisoned(one.timeline_) && !is_reached(one);
  }

  /// The end, if it has come. What was reached wins over what is lost.
  std::optional<wait_any_result> look() const noexcept {
    const bool all = needed_ == quantifier::all;
    // Of all, the first that is missing; of any, the first that is there.
    const auto found =
        std::find_if(those_.begin(), those_.end(), [&](const entry& one) { return is_reached(one) != all; });
    if (all && found == those_.end()) return wait_any_result{wait_status::reached, those_.size()};
    if (!all && found != those_.end()) return wait_any_result{wait_status::reached, index(found)};
    if (those_.empty()) return wait_any_result{wait_status::reached, 0};
    const auto lost = std::find_if(those_.begin(), those_.end(), is_lost);
    if (lost != those_.end()) return wait_any_result{wait_status::lost, index(lost)};
    return {};
  }
  std::size_t index(typename list::iterator at) const noexcept { return static_cast<std::size_t>(at - those_.begin()); }

  /// The waiter's place in each timeline of one turn whose value is still to come.
  class registrations {
   public:
    /// R1 of all. Of all that are needed, those that have come meanwhile can be left out; of any, none: then it is the
    /// look at it that ends the wait.
    registrations(quantifier needed, list turn) noexcept {
      for (const entry& one : turn) {
        if (needed == quantifier::any || !is_reached(one))
          tickets_[count_++] = {&one, one.operations_->add(one.timeline_, one.target_)};
      }
    }
    registrations(const registrations&) = delete;
    ~registrations() {
      for (const auto& [one, ticket] : all()) one->operations_->withdraw(one->timeline_, *ticket);
    }

    struct registration {
      const entry* of = nullptr;
      std::optional<waiter_ticket> ticket;
    };
    std::span<const registration> all() const noexcept { return {tickets_.data(), count_}; }

    void nudge() const noexcept {
      for (const auto& [one, ticket] : all()) one->operations_->nudge(one->timeline_, *ticket);
    }

    /// R2 of all. False where the barrier was refused and one of them relies on it.
    bool order() const noexcept {
      const auto is_asymmetric = [](const registration& r) { return r.of->operations_->is_asymmetric; };
      if (std::none_of(all().begin(), all().end(), is_asymmetric)) return true;
      // (M1): R2 of all these timelines at once, for each what (F21) is for one: between (H2) (H8) and (F3), against (F22).
      // One is enough, since it orders all registrations before all looks.
      if (Platform::heavy_barrier()) return true;
      return std::all_of(all().begin(), all().end(), [&](const registration& r) {
        return !is_asymmetric(r) || r.of->operations_->is_pinned(r.of->timeline_);
      });
    }

   private:
    std::array<registration, max_parking_places> tickets_;
    std::size_t count_ = 0;
  };

  /// One registration with all timelines of a turn. True when all of them have come, and the next turn may follow.
  template <class Token>
  bool sleep(list turn, list others, deadline until, const Token& token) const noexcept {
    const registrations registered{needed_, turn};
    const bool looks_at_others = !others.empty();
    const bool wakes_in_time = registered.order() && !looks_at_others;
    const auto nudge = [&registered] { registered.nudge(); };
    const typename stop_callback_for<Token, std::remove_const_t<decltype(nudge)>>::type stop_callback(token, nudge);

    std::array<const typename registrations::registration*, max_parking_places> open;
    std::size_t open_count = 0;
    for (const auto& one : registered.all()) open[open_count++] = &one;
    for (;;) {
      std::array<place_type, max_parking_places> places;
      for (std::size_t i = 0; i < open_count; ++i) {
        const auto& [of, ticket] = *open[i];
        places[i] = of->operations_->place(of->timeline_, *ticket);
      }
      // R3 of all, after all counts of wakes were taken.
      std::size_t kept = 0;
      for (std::size_t i = 0; i < open_count; ++i) {
        const entry& one = *open[i]->of;
        if (one.operations_->is_over(one.timeline_, one.target_)) {
          if (needed_ == quantifier::any || !is_reached(one)) return false;
        } else {
          open[kept] = open[i];
          places[kept++] = places[i];
        }
      }
      open_count = kept;
      if (open_count == 0) return true;
      if (looks_at_others && look()) return false;
      if (token.stop_requested()) return false;
      const deadline limit = wakes_in_time ? until : look_again_before(until, Platform::now());
      if (!Platform::park_any({places.data(), open_count}, limit) && limit == until) return false;
    }
  }

  quantifier needed_;
  list those_;
};

template <quantifier Needed, awaited_range Those, class... Limits>
wait_any_result wait_for_many(const Those& those, const Limits&... limits) noexcept {
  using platform = typename std::ranges::range_value_t<const Those>::platform;
  const std::span<const basic_awaited<platform>> list{std::ranges::data(those), std::ranges::size(those)};
  return within<platform>(many_waits<platform>{Needed, list}, limits...);
}

}  // namespace detail

// What both take after the list are the limits of the wait: a duration, or a point of the steady or the system clock, or
// nothing; then a stop token, or nothing. Blocking; thread-safe; nothing is allocated or thrown.

/// Waits until every value was reached. Returns `lost` as soon as one of them can't be reached any more; `timeout` and
/// `stopped` as for one timeline; `reached` at once for an empty list. What was done before those signals happens before
/// the return with `reached`. (A65)
/// \param those  any contiguous list, of awaited values of any platform; or a list in braces
template <awaited_range Those, class... Limits>
wait_status wait_all(const Those& those, const Limits&... limits) noexcept {
  return detail::wait_for_many<detail::quantifier::all>(those, limits...).status;
}
template <class... Limits>
wait_status wait_all(std::initializer_list<awaited> those, const Limits&... limits) noexcept {
  return detail::wait_for_many<detail::quantifier::all>(those, limits...).status;
}

/// Waits until one of the values was reached, and returns which. Returns `lost` as soon as one is lost while none is
/// reached, so that the caller may go on without it; `reached` at once, with an index of 0, for an empty list. What was
/// done before that signal happens before the return with `reached`. (A65, trap 11)
/// \param those  as of wait_all()
template <awaited_range Those, class... Limits>
wait_any_result wait_any(const Those& those, const Limits&... limits) noexcept {
  return detail::wait_for_many<detail::quantifier::any>(those, limits...);
}
template <class... Limits>
wait_any_result wait_any(std::initializer_list<awaited> those, const Limits&... limits) noexcept {
  return detail::wait_for_many<detail::quantifier::any>(those, limits...);
}

}  // namespace tidemark

#endif  // TIDEMARK_WAIT_MANY_HPP
