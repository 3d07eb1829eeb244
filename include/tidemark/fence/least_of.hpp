// SPDX-License-Identifier: BSL-1.0
//
// least_of: several timelines as one. Its value is the least of theirs, and a wait for a target waits until all of them
// have reached it. So memory that several queues use can follow it, as it would follow one queue.
//
//   const tidemark::least_of both(graphics.view(), copies.view());    the value that both have reached
//   both.wait_for(12, 5ms);                                           until both have reached 12
//   tidemark::rename_ring ring{both, {.bytes = 4096}};                a backing is in use until both have reached
//                                                                     its value
//
// All its timelines count with the same numbers: `12` means the same step of the program in each of them. A queue that
// has nothing to do in a step signals the step's value all the same.
//
// What the loss of one timeline does. A timeline that is lost uses nothing any more, but the others go on. So:
//   - current_value() is the least value of the others. It is UINT64_MAX only when all of them are lost.
//   - A wait whose target the lost timeline has not reached goes on until the others have reached it, and then returns
//     `lost`. It does not return at once: whoever frees memory after a wait must not free what the others use. To hear
//     of a loss at once, use wait_all() (wait_many.hpp).
//   - So once a wait has returned `reached` or `lost`, current_value() is at least the target, as timeline.hpp asks of
//     every timeline.
//
// It is a value: it may be copied, and its copies are the same timeline. It keeps a copy of each timeline that is
// std::copyable, such as a view. Of the others it keeps a pointer; they must outlive it and its copies. A least_of may
// be one of the timelines of another.
//
// If all of them are in the list of awaited.hpp, and all park in the same way, a wait sleeps for all of them together,
// as wait_all() does. With other types it waits for one after the other.
//
// Not promised: that current_value() reads all timelines at one moment. It reads one after the other. Each of them has
// reached the value that current_value() returns, or is lost.
#ifndef TIDEMARK_FENCE_LEAST_OF_HPP
#define TIDEMARK_FENCE_LEAST_OF_HPP

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "../platform/platform.hpp"
#include "../platform/tools/limits.hpp"
#include "awaited.hpp"
#include "timeline.hpp"
#include "wait.hpp"
#include "wait_many.hpp"

namespace tidemark {

/// Several timelines as one, whose value is the least of theirs; see the head of this file. It has the functions of
/// `waitable` (wait.hpp): wait(), wait_for() and wait_until(). They return `lost` only when all timelines that are not
/// lost have reached the target. Any thread may use it.
template <timeline... Timelines>
class least_of : public waitable<least_of<Timelines...>> {
  static_assert(sizeof...(Timelines) > 0, "the least of no timelines has no value");

 public:
  using platform = typename detail::waiting_platform<timeline_platform<Timelines>...>::type;

  /// \param timelines  each is copied if it is copyable (a view); otherwise it must outlive this and its copies
  explicit least_of(detail::lasting<Timelines>... timelines) noexcept
      : followed_{detail::follower<Timelines>{timelines.get()}...} {}

  /// Returns the least current_value() of all timelines: a value that all of them have reached. Those that are lost do
  /// not count; UINT64_MAX once all are lost. Progress: as their own current_value().
  std::uint64_t current_value() const noexcept {
    return std::apply([](const auto&... each) { return (std::min)({each.current_value()...}); }, followed_);
  }

  /// Returns whether current_value() is at least `target`: whether each timeline has reached it or is lost.
  [[nodiscard]] bool is_reached(std::uint64_t target) const noexcept {
    return std::apply([&](const auto&... each) { return (each.is_reached(target) && ...); }, followed_);
  }

 private:
  friend waitable<least_of>;

  static constexpr std::size_t count = sizeof...(Timelines);
  static constexpr bool are_awaitable = (detail::awaitable_on<Timelines, platform> && ...);

  template <class Token>
  wait_status wait_with(std::uint64_t target, deadline until, const Token& token) const noexcept {
    if constexpr (are_awaitable) {
      return wait_at_once_for_all(target, until, token);
    } else {
      return wait_one_by_one(target, until, token);
    }
  }

  /// Each time that a timeline is lost, it goes on without it.
  template <class Token>
  wait_status wait_at_once_for_all(std::uint64_t target, deadline until, const Token& token) const noexcept {
    using one = basic_awaited<platform>;
    auto all =
        std::apply([&](const auto&... each) { return std::array<one, count>{one{each.get(), target}...}; }, followed_);
    std::span<one> living{all};
    for (;;) {
      const detail::many_waits<platform> wait{detail::quantifier::all, living};
      const wait_any_result ended = wait(until, token);
      if (ended.status == wait_status::reached) break;
      if (ended.status != wait_status::lost) return ended.status;
      std::swap(living[ended.index], living.back());
      living = living.first(living.size() - 1);
    }
    // A lost timeline may have been signalled after its poison, so look again.
    const auto is_reached = [](const one& lost) { return detail::awaited_access::target_of(lost).is_reached(); };
    return std::all_of(all.begin() + static_cast<std::ptrdiff_t>(living.size()), all.end(), is_reached)
               ? wait_status::reached
               : wait_status::lost;
  }

  template <class Token>
  wait_status wait_one_by_one(std::uint64_t target, deadline until, const Token& token) const noexcept {
    bool is_lost = false;
    wait_status ended = wait_status::reached;
    const auto wait_for_one = [&](const auto& followed) {
      ended = followed.wait(target, until, token);
      if (ended == wait_status::lost) is_lost = true;
      return ended == wait_status::reached || ended == wait_status::lost;
    };
    std::apply([&](const auto&... each) { return (wait_for_one(each) && ...); }, followed_);
    if (ended == wait_status::timeout || ended == wait_status::stopped) return ended;
    if (!is_lost) return wait_status::reached;
    // A lost timeline may have been signalled after its poison, so look again.
    const auto is_reached = [&](const auto& followed) {
      return followed.wait(target, detail::at_once) == wait_status::reached;
    };
    return std::apply([&](const auto&... each) { return (is_reached(each) && ...); }, followed_) ? wait_status::reached
                                                                                                 : wait_status::lost;
  }

  std::tuple<detail::follower<Timelines>...> followed_;
};

template <timeline... Timelines>
least_of(const Timelines&...) -> least_of<Timelines...>;

}  // namespace tidemark

#endif  // TIDEMARK_FENCE_LEAST_OF_HPP
