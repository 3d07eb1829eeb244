// SPDX-License-Identifier: BSL-1.0
//
// loop_turns: the sleep outside of a loop that an executor runs. To wake the loop is to let the executor run a turn. A
// turn polls the loop, and leaves it again.
//
// The executor may keep turns for longer than the loop lives: a turn that comes too late does nothing.
#ifndef TIDEMARK_FENCE_DETAIL_LOOP_TURNS_HPP
#define TIDEMARK_FENCE_DETAIL_LOOP_TURNS_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "../../platform/platform.hpp"
#include "limits.hpp"
#include "loop_runner.hpp"
#include "loop_word.hpp"
#include "park_lock.hpp"

namespace tidemark::detail {

/// \tparam Core  the loop's
template <class Core>
class loop_turns : public outside_sleep, public std::enable_shared_from_this<loop_turns<Core>> {
 public:
  loop_turns(Core& core, loop_runner<Core>& runner) noexcept : core_{core}, runner_{runner} {}

  /// Polls the loop. Throws what a callable throws.
  /// \param at  the time for which the turn was made; `no_deadline` if it was made to wake the loop
  void take(deadline at) {
    // (Y20): relaxed alone: whoever finds the mark relies on this turn. If this turn misses what that thread did, the
    // loop does not: it finds the change when it leaves, see loop_word.hpp.
    if (at == no_deadline) is_awaited_.store(0, std::memory_order_relaxed);
    struct turn {
      turn(loop_turns& of, deadline at) noexcept : turns{of}, is_taken{of.begin(at)} {}
      ~turn() {
        if (is_taken) turns.end();
      }
      loop_turns& turns;
      const bool is_taken;
    };
    const turn taken(*this, at);
    if (!taken.is_taken) return;
    lock_keeper kept(core_.lock());
    std::size_t ran = 0;
    static_cast<void>(runner_.run_ready(never_stops{}, kept, [&] { return ++ran < most_runs; }));
  }

  /// The loop ends. Waits for the turns that are under way.
  void close() noexcept {
    lock_keeper kept(lock_);
    is_closed_ = true;
    while (turns_ != 0) ends_.wait(kept);
  }

  void wake() noexcept override {
    // (Y21): relaxed alone, like (Y20). An exchange, so that one turn at a time is made to wake the loop.
    if (is_awaited_.exchange(1, std::memory_order_relaxed) == 0) make_turn(no_deadline);
  }
  void set(deadline at) noexcept override {
    {
      const lock_keeper kept(lock_);
      // The turn that comes before sets it again.
      if (at >= set_) return;
      set_ = at;
    }
    make_turn(at);
  }
  void clear() noexcept override {}
  void sleep(deadline, deadline) noexcept override {
    TIDEMARK_ASSERT(false, "a loop of an executor has no descriptor to sleep on");
  }

 protected:
  ~loop_turns() = default;

 private:
  using platform = typename Core::platform;

  /// So many runs, and then the executor has something else to do.
  static constexpr std::size_t most_runs = 64;

  /// Lets the executor take a turn, soon or at this time.
  virtual void make_turn(deadline at) noexcept = 0;

  bool begin(deadline at) noexcept {
    const lock_keeper kept(lock_);
    if (is_closed_) return false;
    if (at != no_deadline) {
      // An earlier turn has been made since, which has seen to this one's time, or will.
      if (at != set_) return false;
      set_ = no_deadline;
    }
    ++turns_;
    return true;
  }
  void end() noexcept {
    const lock_keeper kept(lock_);
    if (--turns_ == 0 && is_closed_) ends_.wake_all();
  }

  Core& core_;
  loop_runner<Core>& runner_;
  typename platform::template atomic<std::uint32_t> is_awaited_{0};  // a turn was made to wake the loop
  park_lock<platform> lock_;
  lock_condition<platform> ends_;
  std::size_t turns_ = 0;       // that are under way
  deadline set_ = no_deadline;  // the time of the next turn that was made for one
  bool is_closed_ = false;      // the loop has ended, or is about to when no turn is under way
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_LOOP_TURNS_HPP
