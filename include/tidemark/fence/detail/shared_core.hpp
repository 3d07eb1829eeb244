// SPDX-License-Identifier: BSL-1.0
//
// shared_core: what one attachment of a shared fence does: signals and waits. It is made of a `Place`, which says where
// the words lie and who is alive, so that the model checker can run it without files and processes.
//
// The handshake of a signal and a waiter is that of fence.hpp, with the same steps and tags. What differs:
//   - The heap is a shared_heap. A waiter that finds no slot there looks again once in a millisecond.
//   - A fence is lost while nobody is alive that may signal, and somebody was. So a loss may end.
//   - One sleeper of each process watches for all (shared_watch.hpp).
//   - A waiter that finds a hold of the root which is begun and not confirmed goes on with it, because the process of
//     the thread that has begun it may be dead (root_hold.hpp).
//
// A Place has these members:
//   value(), root()     the words of a signal
//   heap()              the shared_heap
//   owner()             the number under which this attachment takes slots, at least 1
//   may_register()      whether the attachment may write the heap; if not, its waiters look once in a millisecond
//   is_lost()           whether the fence is lost; from the last look if it was not lost then
//   look(is_urgent)     finds out who is alive, and cleans up behind the dead, unless another process has done so just
//                       now and it is not urgent. Returns whether the fence is lost. Any thread calls it
//   interval()          how often the watcher of a process looks
//   patience()          how long a sleeper that does not watch relies on the watcher
#ifndef TIDEMARK_FENCE_DETAIL_SHARED_CORE_HPP
#define TIDEMARK_FENCE_DETAIL_SHARED_CORE_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "../../platform/platform.hpp"
#include "../../platform/tools/limits.hpp"
#include "../tools/learning_spin.hpp"
#include "shared_heap.hpp"
#include "shared_watch.hpp"
#include "sleeping_wait.hpp"
#include "value_steps.hpp"

namespace tidemark::detail {

/// What the last look has found: whether the fence is lost. Whoever finds that it is lost must look once more, because
/// a new signaller may have come.
template <class Platform>
class noted_loss {
 public:
  bool is_lost() const noexcept {
    // (SF16): relaxed alone: a hint, which the look behind it confirms.
    return is_lost_.load(std::memory_order_relaxed) != 0;
  }
  bool note(bool is_lost) noexcept {
    // (SF17): relaxed alone, like (SF16). A sleeper that is woken because of it sees it by (SF4).
    is_lost_.store(is_lost ? 1 : 0, std::memory_order_relaxed);
    return is_lost;
  }

 private:
  typename Platform::template atomic<std::uint32_t> is_lost_{0};
};

/// \tparam Most  how many nanoseconds a waiter may spin
template <platform Platform, class Place, std::uint32_t Most>
class shared_core {
 public:
  using steps = value_steps<Platform>;

  /// The place must outlive it.
  explicit shared_core(Place& place) noexcept : place_{place}, watch_{place.interval(), place.patience()} {}
  shared_core(const shared_core&) = delete;
  shared_core& operator=(const shared_core&) = delete;

  static std::uint64_t reached(const typename steps::word& value) noexcept {
    // (SF9): acquire, pairs with the release half of (F1) (F16) (F19) (F20), like (F5).
    return value.load(std::memory_order_acquire);
  }
  std::uint64_t reached_value() const noexcept { return reached(place_.value()); }
  bool is_poisoned() const noexcept { return place_.is_lost(); }

  /// Releases all that are due: the slow path of a signal.
  [[gnu::cold, gnu::noinline]] std::size_t release_due() noexcept {
    // (SF22): relaxed alone, a statistic.
    notifies_.fetch_add(1, std::memory_order_relaxed);
    // (SF10): s2 of an attachment that has pinned the root, and while the root is held; pairs with the (G3) in the
    // waiter's (SF11), and with (SF24).
    Platform::full_barrier();
    auto& heap = place_.heap();
    const std::size_t released = heap.release_due(steps::value_for_pass(place_.value()), [this] { spin_.waking(); });
    heap.count_pass(released != 0);
    return released;
  }

  /// Waits for a value that is not reached yet. Returns a wait_status, which this header does not know.
  template <class Outcome, class Token>
  [[gnu::noinline]] Outcome wait_longer(std::uint64_t target, deadline until, const Token& token) const noexcept {
    for (;;) {
      if (until == at_once || token.stop_requested() || is_poisoned())
        return sleeping_wait::outcome<Outcome>(*this, target, token);
      if (sleeping_wait::run(*this, target, until, token)) return Outcome::reached;
      const auto status = sleeping_wait::outcome<Outcome>(*this, target, token);
      // A loss may have ended before it was told. Under a model checker, whose clock stands still, none ends.
      if constexpr (requires { Platform::spin_looks(); }) return status;
      if (status != Outcome::timeout || (until != no_deadline && until <= Platform::now())) return status;
    }
  }

  /// Looks for all sleepers of this process, as the watcher does.
  /// \param is_urgent  whether to look who is dead, too, if another process has done so just now
  void look_for_all(bool is_urgent = false) const noexcept {
    const bool is_lost = place_.look(is_urgent);
    watch_.nudge_due(reached_value(), is_lost);
  }
  std::uint64_t notify_count() const noexcept {
    // (SF23): relaxed alone, a statistic.
    return notifies_.load(std::memory_order_relaxed);
  }

 private:
  friend sleeping_wait;

  // ---- for sleeping_wait

  using platform = Platform;
  using spin = learning_spin<Platform, Most>;
  using spinning_wait = typename spin::wait;

  auto* learnt() const noexcept { return spin_.memory(); }

  /// Does w3.
  bool is_over(std::uint64_t target) const noexcept {
    // (SF12): w3, seq_cst like (F3): in the symmetric form in a single total order with (F2) and (F1) (F16) (F20).
    return place_.value().load(std::memory_order_seq_cst) >= target || is_poisoned();
  }

  /// Does w2. Returns false if the barrier was refused: a signaller may have missed the waiter then.
  bool order_registration() const noexcept {
    auto& heap = place_.heap();
    hold_state hold = heap.hold();
    if (hold.holds()) {
      // (SF24): w2 while the root is held; pairs with (SF10).
      Platform::full_barrier();
      return true;
    }
    const bool begins_hold = (hold.is_to_begin() || hold.keeps_root_low()) && heap.begin_hold(hold);
    // (SF11): w2; natively (G2). It pairs with (F22), or with (SF10) of an attachment that has pinned the root.
    const bool is_ordered = Platform::heavy_barrier();
    if (begins_hold) heap.finish_beginning(hold, is_ordered);
    return is_ordered;
  }

  /// Wakes a sleeper, by its slot if it has one.
  struct nudge_slot {
    void operator()() const noexcept {
      if (ticket->is_registered()) return place->heap().wake(ticket->slot);
      // (SF13): relaxed alone: a sleeper without a slot looks again in a millisecond anyway.
      own->fetch_add(1, std::memory_order_relaxed);
      Platform::unpark(*own, 1);
    }

    Place* place;
    const shared_ticket* ticket;
    typename Platform::park_word* own;
  };
  using watch_type = shared_watch<Platform, nudge_slot>;

  class sleeper {
   public:
    sleeper(const shared_core& of, std::uint64_t target) noexcept
        : of_{of},
          ticket_{of.add(target)},
          is_ordered_{ticket_.is_registered() && of.order_registration()},
          watched_{target, {&of.place_, &ticket_, &own_}} {
      of_.watch_.enter(watched_);
    }
    sleeper(const sleeper&) = delete;
    sleeper& operator=(const sleeper&) = delete;
    ~sleeper() {
      // First, because the watch wakes by the slot.
      of_.watch_.leave(watched_);
      if (ticket_.is_registered()) of_.place_.heap().withdraw(ticket_, of_.place_.owner());
    }

    std::uint32_t wakes() const noexcept {
      if (ticket_.is_registered()) return of_.place_.heap().wakes(ticket_.slot);
      // (SF14): relaxed alone, like (SF13).
      return own_.load(std::memory_order_relaxed);
    }
    static constexpr bool is_early() noexcept { return false; }
    deadline limit(deadline until) noexcept {
      const bool may_miss = !ticket_.is_registered() || !is_ordered_;
      // The first time without the clock: if a look is due, the park ends at once.
      if (has_parked_ || may_miss) {
        const deadline now = Platform::now();
        is_late_ = until <= now;
        if (is_late_) return until;
        has_looked_ = of_.watch_.begin_look(watched_, now);
        if (has_looked_) {
          of_.look_for_all();
          return now;
        }
        if (may_miss) until = look_again_before(until, now);
      }
      has_parked_ = true;
      const deadline next = of_.watch_.next_look(watched_);
      return until < next ? until : next;
    }
    bool park(std::uint32_t seen, deadline until) noexcept {
      // A neighbour may change the word all the time. Then the system never says that the deadline has passed.
      if (is_late_) return false;
      // What the look has found may be for this thread, too.
      if (has_looked_) return true;
      if (ticket_.is_registered()) return of_.place_.heap().park(ticket_.slot, seen, until);
      return Platform::park(own_, seen, until);
    }
    void nudge() noexcept { watched_.nudge(); }

   private:
    const shared_core& of_;
    typename Platform::park_word own_{0};
    const shared_ticket ticket_;
    const bool is_ordered_;
    bool has_parked_ = false;
    bool is_late_ = false;
    bool has_looked_ = false;
    typename watch_type::sleeper watched_;
  };

  /// Registers a waiter. (w1)
  shared_ticket add(std::uint64_t target) const noexcept {
    if (!place_.may_register()) return {};
    // Not where this attachment's last one was: another thread may have that.
    return place_.heap().add(place_.owner(), place_.owner() * std::size_t{7}, target);
  }

  Place& place_;
  mutable watch_type watch_;
  typename Platform::template atomic<std::uint64_t> notifies_{0};
  [[no_unique_address]] mutable spin spin_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_SHARED_CORE_HPP
