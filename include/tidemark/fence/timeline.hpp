// SPDX-License-Identifier: BSL-1.0
//
// timeline: the concept that a type must satisfy so that the classes of this library, such as a rename_ring, can follow
// it. They are called blocks below. A timeline has a 64-bit value that only rises, and threads can wait until the value
// has reached a target. A fence, a progress_fence and a view of one are timelines. A type of yours may be one, too.
//
//   struct my_timeline {                                                   the least that a timeline needs
//     std::uint64_t current_value() const;
//     tidemark::wait_status wait_until(std::uint64_t target, tidemark::deadline until) const;
//   };
//
//   tidemark::rename_ring ring{mine, {.bytes = 4096}};                     a block that follows it
//   tidemark::timeline_view view{mine};                                    looks and waits, with time limits and stops
//
// Blocks rely on the following:
//   - current_value() never falls. What happened before a value was signalled happens-before the return of a call that
//     sees the value.
//   - Once a timeline is lost (its device is gone), current_value() returns UINT64_MAX, so that nothing counts as in
//     use any more, and wait_until() returns `lost` if the target was not reached. So nothing counts as in use either
//     once the timeline was signalled with UINT64_MAX, and waits for space return `lost` then. But a command_context,
//     and is_lost() of a renamed_resource, ask is_poisoned() if the timeline has it, as a fence does. A type that keeps
//     its value says so by a constant, `static constexpr bool keeps_value_on_loss = true;`, and is no timeline: a block
//     that followed it would never reuse memory that is in use until a later value. A fence has the option
//     (fence_options.hpp). Threads can wait for such a fence, or for a view of it, as for any other.
//   - Once wait_until() has returned `lost`, current_value() is at least the target for ever, because blocks reuse or
//     free memory after `lost` as they do after `reached`. So a timeline that stands for several, as a least_of does,
//     is lost only when all of them are.
//   - If the deadline has passed, wait_until() looks at the value and does not sleep. It returns `timeout` if the
//     target is not reached and the timeline is not lost. The deadline may be `no_deadline`, which never passes.
//   - Any thread may call both functions, and neither throws.
//   - A copy of a timeline is the same timeline. If the type is std::copyable, as a view is, a block keeps a copy of
//     its own. Otherwise the block keeps a pointer, and the timeline must outlive the block. A type that can't be
//     assigned, for example because it has a member that is a reference, is not std::copyable.
//
// wait_until() may take a stop token as a third argument. Then it returns `stopped` if the token is triggered first. If
// it takes none, a wait with a stop token looks at the token once in a millisecond.
#ifndef TIDEMARK_FENCE_TIMELINE_HPP
#define TIDEMARK_FENCE_TIMELINE_HPP

#include <chrono>
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "../platform/platform.hpp"
#include "wait.hpp"

namespace tidemark {

namespace detail {

/// Whether a type says that it keeps its value when it is lost.
template <class T>
concept keeps_value = requires { requires T::keeps_value_on_loss; };

}  // namespace detail

/// A value that only rises, and that threads can wait for. The head of this file says what the functions must do.
template <class T>
concept timeline = requires(const T& followed, std::uint64_t target, deadline until) {
  { followed.current_value() } -> std::same_as<std::uint64_t>;
  { followed.wait_until(target, until) } -> std::same_as<wait_status>;
} && !detail::keeps_value<T>;

/// A timeline that the program itself can signal. The signal() of a type of yours delays whoever calls it. If a queue
/// of an engine makes the call, the call may block, and until it returns the engine has one thread less
/// (engine/engine.hpp).
template <class T>
concept signalled_timeline = timeline<T> && requires(T& signalled, std::uint64_t value) { signalled.signal(value); };

namespace detail {

struct fence_access;  // tools/fence_operations.hpp

template <class Timeline>
struct platform_of_timeline {
  using type = native_platform;
};
template <class Timeline>
  requires requires { typename Timeline::platform; }
struct platform_of_timeline<Timeline> {
  using type = typename Timeline::platform;
};

/// Waits once for a timeline of any type. If `until` is at_once, it passes on the epoch of the clock, which has always
/// passed.
template <class Platform, class Timeline, class Token>
wait_status wait_on(const Timeline& followed, std::uint64_t target, deadline until, const Token& token) {
  if (until == at_once) until = deadline{};
  if constexpr (std::same_as<Token, never_stops>) {
    return followed.wait_until(target, until);
  } else if constexpr (requires { followed.wait_until(target, until, token); }) {
    return followed.wait_until(target, until, token);
  } else {
    for (;;) {
      // A look after the stop sees what was reached before it.
      const bool is_stopped = token.stop_requested();
      const deadline limit = is_stopped ? deadline{} : look_again_before(until, Platform::now());
      const wait_status status = followed.wait_until(target, limit);
      if (status != wait_status::timeout) return status;
      if (is_stopped) return wait_status::stopped;
      if (limit == until && !token.stop_requested()) return status;
    }
  }
}

}  // namespace detail

/// The platform of a timeline: its member type `platform` if it has one, otherwise native_platform.
template <timeline Timeline>
using timeline_platform = typename detail::platform_of_timeline<Timeline>::type;

/// A view of a timeline: it looks and waits, and can't signal. It has the functions of `waitable` (wait.hpp): wait(),
/// wait_for() and wait_until(), and wait_value() if the timeline has last_reached(). It is copyable, and the timeline
/// must outlive it. Any thread may use it. The view of a fence that keeps its value on loss does so, too, and is no
/// timeline either.
template <class Timeline>
  requires timeline<Timeline> || detail::keeps_value<Timeline>
class timeline_view : public waitable<timeline_view<Timeline>> {
 public:
  using platform = typename detail::platform_of_timeline<Timeline>::type;
  static constexpr bool keeps_value_on_loss = detail::keeps_value<Timeline>;

  /// A view of `followed`.
  explicit timeline_view(const Timeline& followed) noexcept : timeline_{&followed} {}
  /// A timeline without a name would be gone.
  explicit timeline_view(const Timeline&& gone) = delete;

  /// Returns the timeline's current_value(): the value signalled so far; UINT64_MAX once the timeline is lost,
  /// unless it keeps its value. Progress: as the timeline's own current_value().
  std::uint64_t current_value() const noexcept { return timeline_->current_value(); }

  /// Returns whether current_value() is at least `target`; so it is true for every target once the timeline is lost,
  /// unless it keeps its value.
  [[nodiscard]] bool is_reached(std::uint64_t target) const noexcept { return current_value() >= target; }

  /// Returns the timeline's monitored_value(); see fence.hpp. Only for timelines that have that function.
  std::uint64_t monitored_value() const noexcept
    requires requires(const Timeline& followed) { followed.monitored_value(); }
  {
    return timeline_->monitored_value();
  }
  /// Returns the timeline's is_poisoned(); see fence.hpp. Only for timelines that have that function.
  bool is_poisoned() const noexcept
    requires requires(const Timeline& followed) { followed.is_poisoned(); }
  {
    return timeline_->is_poisoned();
  }
  /// Returns the timeline's loss(); see fence.hpp. Only for timelines that have that function.
  const loss_reason* loss() const noexcept
    requires requires(const Timeline& followed) { followed.loss(); }
  {
    return timeline_->loss();
  }
  /// Returns the timeline's last_reached(); see fence.hpp. Only for timelines that have that function.
  std::uint64_t last_reached() const noexcept
    requires detail::has_last_reached<Timeline>
  {
    return timeline_->last_reached();
  }
  /// Returns the timeline's state(); see fence.hpp. Only for timelines that have that function.
  auto state() const noexcept
    requires requires(const Timeline& followed) { followed.state(); }
  {
    return timeline_->state();
  }

 private:
  friend waitable<timeline_view>;
  friend detail::fence_access;

  template <class Token>
  wait_status wait_with(std::uint64_t target, deadline until, const Token& token) const noexcept {
    return detail::wait_on<platform>(*timeline_, target, until, token);
  }

  const Timeline& shown() const noexcept { return *timeline_; }

  const Timeline* timeline_;
};

namespace detail {

/// Returns whether a timeline is lost. If the timeline has is_poisoned(), that decides: it reads a word that signallers
/// do not write. Otherwise UINT64_MAX does.
template <class Timeline>
bool is_lost(const Timeline& asked) noexcept {
  if constexpr (requires { asked.is_poisoned(); }) {
    return asked.is_poisoned();
  } else {
    return asked.current_value() == UINT64_MAX;
  }
}

/// Keeps the timeline that a block follows: a copy if its type is std::copyable (a view), otherwise a pointer.
template <timeline Timeline>
class follower {
 public:
  explicit follower(const Timeline& followed) noexcept : kept_{keep(followed)} {}

  std::uint64_t current_value() const noexcept { return get().current_value(); }
  [[nodiscard]] bool is_reached(std::uint64_t target) const noexcept { return current_value() >= target; }
  [[nodiscard]] bool is_lost() const noexcept { return detail::is_lost(get()); }

  template <class Token = never_stops>
  wait_status wait(std::uint64_t target, deadline until = no_deadline, const Token& token = {}) const noexcept {
    return wait_on<timeline_platform<Timeline>>(get(), target, until, token);
  }

  const Timeline& get() const noexcept {
    if constexpr (is_copied) {
      return kept_;
    } else {
      return *kept_;
    }
  }

 private:
  static constexpr bool is_copied = std::copyable<Timeline>;

  static auto keep(const Timeline& followed) noexcept {
    if constexpr (is_copied) {
      return followed;
    } else {
      return &followed;
    }
  }

  std::conditional_t<is_copied, Timeline, const Timeline*> kept_;
};

/// One of several arguments that a block keeps. One that is kept by its address must have a name: otherwise it would be
/// gone.
template <class Kept, bool IsCopied = std::copyable<Kept>>
class lasting {
 public:
  lasting(const Kept& given) noexcept : given_{given} {}
  lasting(const Kept&& gone)
    requires(!IsCopied)
  = delete;
  const Kept& get() const noexcept { return given_; }

 private:
  const Kept& given_;
};

/// A placeholder for a type that was given to a block as its timeline and is not one. The block's deduction guide picks
/// it, so that the compiler's only error says what the type lacks.
template <class Wrong>
struct wrong_timeline {
  wrong_timeline(const Wrong&) noexcept {
    static_assert(!keeps_value<Wrong>,
                  "this is no tidemark::timeline that a block can follow: when it is lost, it "
                  "keeps its value instead of showing UINT64_MAX");
    static_assert(keeps_value<Wrong> || timeline<Wrong>,
                  "this type is no tidemark::timeline, see tidemark/fence/timeline.hpp");
  }
  std::uint64_t current_value() const noexcept;
  wait_status wait_until(std::uint64_t, deadline) const noexcept;
};

}  // namespace detail

}  // namespace tidemark

#endif  // TIDEMARK_FENCE_TIMELINE_HPP
