// SPDX-License-Identifier: BSL-1.0
//
// calls_inside: how the destructor of a fence waits for a signaller that may still be inside signal(), signal_next() or
// poison() (fence_options::joins_signallers).
//
//   one_   the signaller of a progress fence stores it: outside or inside; the destructor makes `awaited` of `inside`
//   any_   how many other calls are inside: those of a fence, those of a progress fence with `callbacks`, whose one
//          signaller may be inside several times, and poison() of all; and a mark of the destructor
//
// These are the events of a call C, and of a thread D that has seen what C has done, and destroys the fence:
//
//   c1  C enters                                (F60) (F64)   d1  D sees the value or the poison  (F3) (F5) (F9) (F10)
//   s1  C stores the value or the poison        fence.hpp     d2  D finds nobody inside  (F62) (F63) (F66) (F68)
//   c2  C leaves: its last access to the fence  (F61) (F65)
//
// c1 comes before s1 in C. s1 is a release, and d1 an acquire, so c1 happens-before d2. Hence d2 does not find what was
// there before c1: it finds C inside, or C has left. c2 is a release, and d2 an acquire: all that C did with the fence
// happens-before its end. A call that has stored nothing which D has seen may be anywhere: D can't know of it. D itself
// must not be inside, in a callable for example: it would wait for itself.
//
// A leaving call wakes D by a handle that it has made before c2, because the word may be gone afterwards. The one
// signaller leaves by a plain store, which may overwrite the mark of D just after the look for it. So D looks again
// every millisecond.
#ifndef TIDEMARK_FENCE_DETAIL_CALLS_INSIDE_HPP
#define TIDEMARK_FENCE_DETAIL_CALLS_INSIDE_HPP

#include <atomic>
#include <cstdint>

#include "../../platform/platform.hpp"

namespace tidemark::detail {

template <platform Platform>
class calls_inside {
 public:
  calls_inside() = default;
  calls_inside(const calls_inside&) = delete;
  calls_inside& operator=(const calls_inside&) = delete;

  /// Is inside for its life: one of any number of calls.
  class any_call {
   public:
    explicit any_call(calls_inside& of) noexcept : any_{of.any_} {
      // (F60): c1; relaxed, because s1 is a release, see the head of this file. Not a store: others are inside at the
      // same time; and a read-modify-write continues the release sequence of each earlier (F61), so (F62), (F63) and
      // (F68) synchronize with all of them.
      any_.fetch_add(1, std::memory_order_relaxed);
    }
    any_call(const any_call&) = delete;
    any_call& operator=(const any_call&) = delete;
    ~any_call() {
      const typename Platform::sleepers those{any_};
      // (F61): c2; release, pairs with (F62) (F63) (F68). Not stronger: this thread takes nothing from the others.
      if (any_.fetch_sub(1, std::memory_order_release) == (awaited_mark | 1)) Platform::unpark(those, 1);
    }

   private:
    typename Platform::park_word& any_;
  };

  /// Is inside for its life: the one signaller. One at a time.
  class one_call {
   public:
    explicit one_call(calls_inside& of) noexcept : one_{of.one_} {
      // (F64): c1; relaxed, like (F60).
      one_.store(inside, std::memory_order_relaxed);
    }
    one_call(const one_call&) = delete;
    one_call& operator=(const one_call&) = delete;
    ~one_call() {
      const typename Platform::sleepers those{one_};
      // (F67): relaxed alone: if the mark is missed, the destructor notices a millisecond later.
      const bool is_awaited = one_.load(std::memory_order_relaxed) == awaited;
      // (F65): c2; release, pairs with (F66). Not stronger, like (F61).
      one_.store(outside, std::memory_order_release);
      if (is_awaited) [[unlikely]]
        Platform::unpark(those, 1);
    }

   private:
    typename Platform::park_word& one_;
  };

  /// Waits until nobody is inside. Only the destructor of the fence may call it.
  void await_end() noexcept {
    await_any();
    await_one();
  }

 private:
  static constexpr std::uint32_t outside = 0;
  static constexpr std::uint32_t inside = 1;
  static constexpr std::uint32_t awaited = 2;
  static constexpr std::uint32_t awaited_mark = std::uint32_t{1} << 31;
  static constexpr unsigned most_looks = [] {
    if constexpr (requires { Platform::spin_looks(); }) {
      return 1U;  // under a model checker
    } else {
      return 100U;
    }
  }();

  void await_any() noexcept {
    for (unsigned looks = 0; looks < most_looks; ++looks) {
      // (F62): d2; acquire, pairs with (F61). Not stronger: (F60) happens-before it.
      if (any_.load(std::memory_order_acquire) == 0) return;
      Platform::pause();
    }
    // (F63): d2; acquire, pairs with (F61), like (F62).
    std::uint32_t found = any_.fetch_or(awaited_mark, std::memory_order_acquire) | awaited_mark;
    while (found != awaited_mark) {
      Platform::park(any_, found, no_deadline);
      // (F68): d2; acquire, pairs with (F61), like (F62).
      found = any_.load(std::memory_order_acquire);
    }
  }

  void await_one() noexcept {
    for (unsigned looks = 0; looks < most_looks; ++looks) {
      if (is_outside()) return;
      Platform::pause();
    }
    std::uint32_t found = inside;
    // (F69): relaxed alone: is_outside() follows.
    one_.compare_exchange_strong(found, awaited, std::memory_order_relaxed, std::memory_order_relaxed);
    while (!is_outside()) Platform::park(one_, awaited, look_again_before(no_deadline, Platform::now()));
  }
  bool is_outside() const noexcept {
    // (F66): d2; acquire, pairs with (F65). Not stronger: (F64) happens-before it.
    return one_.load(std::memory_order_acquire) == outside;
  }

  typename Platform::park_word one_{outside};
  typename Platform::park_word any_{0};
};

/// Of a fence whose destructor does not wait.
struct no_calls_inside {
  struct any_call {
    explicit any_call(no_calls_inside&) noexcept {}
  };
  using one_call = any_call;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_CALLS_INSIDE_HPP
