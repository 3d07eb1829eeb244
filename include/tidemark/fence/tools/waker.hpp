// SPDX-License-Identifier: BSL-1.0
//
// What the release of a registration wakes. Mostly that is a thread which sleeps on a word of the heap; such a
// registration has no waker. A registration with a waker calls it instead: for example a word on which one thread
// sleeps for many registrations.
//
// The thread that releases a registration uses its waker until it has said its last word, the slot's mark `handled`.
// waiter_heap::withdraw() waits for that, so a waker may be destroyed as soon as its registrations are withdrawn.
#ifndef TIDEMARK_FENCE_TOOLS_WAKER_HPP
#define TIDEMARK_FENCE_TOOLS_WAKER_HPP

#include <atomic>
#include <cstdint>

#include "../../platform/platform.hpp"

namespace tidemark::detail {

/// Which thread calls a waker.
enum class waker_caller : std::uint8_t {
  any,        ///< The thread that releases the registration, or one that helps it.
  signaller,  ///< Only the thread that releases it, in its pass.
};

/// Why a registration was released.
enum class release_reason : std::uint8_t {
  due,   ///< Its target was reached.
  lost,  ///< All registrations were released, because the timeline is lost.
};

class waker {
 public:
  waker(const waker&) = delete;
  waker& operator=(const waker&) = delete;

  /// Is called once for each registration that is released, by the thread that releases it or by one that helps it.
  /// Returns whether it has woken a thread that withdraws the registration at once.
  bool wake(release_reason why) noexcept { return wake_(*this, why); }
  waker_caller caller() const noexcept { return caller_; }

 protected:
  using function = bool (*)(waker&, release_reason) noexcept;
  explicit waker(function on_release, waker_caller by = waker_caller::any) noexcept : wake_{on_release}, caller_{by} {}
  ~waker() = default;

 private:
  function wake_;
  waker_caller caller_;
};

/// A word on which one thread sleeps for several registrations: until one of them is released, or until all are. It
/// wakes the thread once.
template <platform Platform>
class shared_word : public waker {
 public:
  /// \param registrations  how many of them must be released before the thread is woken, less than 2^31. 0 for a
  ///                 thread that any release wakes
  explicit shared_word(std::uint32_t registrations) noexcept : waker{&on_release}, wakes_on_any_{registrations == 0} {
    // (X1): relaxed alone, because no other thread knows the word yet.
    word_.store(registrations, std::memory_order_relaxed);
  }

  /// Counts a registration that the thread itself has withdrawn. Only the thread that sleeps may call it.
  void withdrawn() noexcept {
    // (X2): relaxed alone: this thread looks at the values itself, and is the one that would be woken.
    if (!wakes_on_any_) word_.fetch_sub(1, std::memory_order_relaxed);
  }

  /// Returns the word for park(). Only the thread that sleeps may call it, and then looks at what it waits for.
  std::uint32_t prepare() noexcept {
    // (X3): acquire, pairs with (X4) (X5) (X6): the thread sees what those who have woken it saw. The mark is removed
    // before the look that follows, so that a later one is not missed.
    return word_.fetch_and(~nudged, std::memory_order_acquire) & ~nudged;
  }
  /// Sleeps while the word is what prepare() has returned. Returns false only if the deadline has passed.
  bool park(std::uint32_t prepared, deadline until) noexcept { return Platform::park(word_, prepared, until); }

  /// Wakes the thread, whatever it waits for. Returns false if it has certainly woken nobody; see P::unpark(). Any
  /// thread may call it.
  bool nudge() noexcept {
    // (X4): release, pairs with (X3).
    const std::uint32_t before = word_.fetch_or(nudged, std::memory_order_release);
    return (before & nudged) == 0 && Platform::unpark(word_, 1);
  }

 private:
  static constexpr std::uint32_t nudged = std::uint32_t{1} << 31;

  static bool on_release(waker& self, release_reason why) noexcept {
    return static_cast<shared_word&>(self).released(why);
  }
  bool released(release_reason why) noexcept {
    if (wakes_on_any_) return nudge();
    if (why == release_reason::lost) {
      // (X5): release, pairs with (X3), like (X4).
      word_.fetch_sub(1, std::memory_order_release);
      return nudge();
    }
    // (X6): release, pairs with (X3): each of these exchanges goes on with the release of those before it. So the
    // thread sees what all of the releasing threads saw.
    return word_.fetch_sub(1, std::memory_order_release) == 1 && Platform::unpark(word_, 1);
  }

  bool wakes_on_any_;
  typename Platform::park_word word_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_TOOLS_WAKER_HPP
