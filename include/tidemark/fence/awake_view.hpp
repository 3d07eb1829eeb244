// SPDX-License-Identifier: BSL-1.0
//
// awake_view: a view of a timeline whose waits do not sleep. They look at the value until it is there.
//
//   const tidemark::awake_view now(decoded);                          looks, with a pause of the processor in between
//   now.wait(12);                                                     as decoded.wait(12), but it never sleeps
//   tidemark::rename_ring ring{now, {.bytes = 4096}};                 a block whose waits for `decoded` do not sleep
//   const tidemark::awake_view<tidemark::fence, tidemark::wait_strategy::yields> soon(decoded);
//                                                                     gives the processor to other threads in between
//
// A fence learns how long its waiters should look before they sleep, and that is right for most programs: see
// fence/tools/learning_spin.hpp, and fence_options::max_spin_ns for waits that are to sleep at once. This view is for
// the others:
//
//   spins   a thread that has a processor to itself, and for which a wake-up by the system takes too long
//   yields  threads that share a processor and seldom wait long, where a sleep costs more than what it saves
//
// Such a wait registers with nobody. So it issues no barrier and needs no slot, and the signals that it waits for stay
// as cheap as if nobody waited: one store and one load for a progress_fence. Its price is a processor that is busy
// until the value is there. If there is none left for the signaller, `spins` waits until the system takes the
// processor away from it. For a thread of high priority that the system never interrupts, that is for ever.
//
// It is chosen for each wait, and not for the fence: other threads may sleep for the same fence. It is a value: it may
// be copied, and its copies are the same timeline. It keeps a copy of a timeline that is std::copyable, such as a view.
// Of others it keeps a pointer; they must outlive it and its copies. It is a timeline itself, so blocks may follow it.
//
// Not possible: a fence that keeps its value on loss; waits for several timelines, and waits on a loop or an engine,
// which sleep for all that they wait for at once.
#ifndef TIDEMARK_FENCE_AWAKE_VIEW_HPP
#define TIDEMARK_FENCE_AWAKE_VIEW_HPP

#include <concepts>
#include <cstdint>
#include <thread>

#include "../platform/platform.hpp"
#include "timeline.hpp"
#include "wait.hpp"

namespace tidemark {

/// What a wait does between two looks.
enum class wait_strategy : std::uint8_t {
  spins,   ///< It tells the processor that it spins.
  yields,  ///< It lets the system run another thread that is ready.
};

/// A view whose waits do not sleep; see the head of this file. It has the functions of `waitable` (wait.hpp): wait(),
/// wait_for() and wait_until(). They return what those of the timeline would. A token and a deadline are looked at
/// after each look at the value, or after each 32 looks of `spins`. Any thread may use it. Progress: blocks, and makes
/// no system call with `spins` but to read the clock, where that needs one.
/// \tparam Followed  the timeline
/// \tparam How       what its waits do between two looks
template <timeline Followed, wait_strategy How = wait_strategy::spins>
class awake_view : public waitable<awake_view<Followed, How>> {
 public:
  using platform = timeline_platform<Followed>;
  static constexpr wait_strategy strategy = How;

  /// \param followed  copied if it is copyable (a view); otherwise it must outlive this view and its copies
  explicit awake_view(const Followed& followed) noexcept : followed_{followed} {}
  /// A timeline that can't be copied would be gone.
  explicit awake_view(const Followed&& gone)
    requires(!std::copyable<Followed>)
  = delete;

  /// Returns the timeline's current_value(). Progress: as that.
  std::uint64_t current_value() const noexcept { return followed_.current_value(); }
  /// Returns whether current_value() is at least `target`; so it is true for every target once the timeline is lost.
  [[nodiscard]] bool is_reached(std::uint64_t target) const noexcept { return followed_.is_reached(target); }
  /// Returns the timeline's is_poisoned(). Only for timelines that have that function.
  bool is_poisoned() const noexcept
    requires requires(const Followed& of) { of.is_poisoned(); }
  {
    return followed_.get().is_poisoned();
  }
  /// Returns the timeline's loss(). Only for timelines that have that function.
  const loss_reason* loss() const noexcept
    requires requires(const Followed& of) { of.loss(); }
  {
    return followed_.get().loss();
  }
  /// Returns the timeline's last_reached(). Only for timelines that have that function.
  std::uint64_t last_reached() const noexcept
    requires detail::has_last_reached<Followed>
  {
    return followed_.get().last_reached();
  }

 private:
  friend waitable<awake_view>;
  friend detail::fence_access;

  static constexpr bool is_checked = requires { platform::spin_looks(); };  // by a model checker
  static constexpr unsigned looks = How == wait_strategy::spins && !is_checked ? 32 : 1;

  template <class Token>
  wait_status wait_with(std::uint64_t target, deadline until, const Token& token) const noexcept {
    for (;;) {
      // Before the look, which then sees what was reached before the stop.
      const bool is_stopped = token.stop_requested();
      for (unsigned i = 0; i < looks; ++i) {
        // A timeline that is lost shows the greatest value.
        if (followed_.is_reached(target)) {
          const wait_status how = followed_.wait(target, detail::at_once);
          if (how != wait_status::timeout) return how;
        }
        if (is_stopped) return wait_status::stopped;
        if (until == detail::at_once) return wait_status::timeout;
        rest();
      }
      if (until != no_deadline && platform::now() >= until) until = detail::at_once;  // after one more look
    }
  }
  static void rest() noexcept {
    if constexpr (How == wait_strategy::spins || is_checked) {
      platform::pause();
    } else {
      std::this_thread::yield();
    }
  }

  const Followed& shown() const noexcept { return followed_.get(); }

  detail::follower<Followed> followed_;
};

template <timeline Followed>
awake_view(const Followed&) -> awake_view<Followed>;

}  // namespace tidemark

#endif  // TIDEMARK_FENCE_AWAKE_VIEW_HPP
