// SPDX-License-Identifier: BSL-1.0
//
// signaller: a handle that can signal a fence, but not wait for it. If the handle is destroyed while it still holds the
// fence, it poisons the fence, so that nobody waits for a signal that can't come any more.
//
//   std::thread decoder([signals = tidemark::signaller{decoded}]() mutable {
//     for (int row = 0; row < 100; ++row) signals.signal_next();         if it throws, `decoded` is poisoned
//     signals.release();                                                 all was signalled: `decoded` stays as it is
//   });
//
// It is a pointer: signal() of the handle is signal() of the fence, and a test of the pointer.
//
// The fence must live until the handle is destroyed, or until release(), poison() or signal_last() has given it up and
// returned. A fence that joins_signallers (fence_options.hpp) may be destroyed earlier: as soon as a thread has seen
// the value of signal_last(), because the handle gives the fence up before it signals. But if that call returns false,
// the value was reached before, and the destructor does not know of the call: it must have returned first.
//
// Not checked: that a progress fence has one handle only.
#ifndef TIDEMARK_FENCE_SIGNALLER_HPP
#define TIDEMARK_FENCE_SIGNALLER_HPP

#include <cstdint>
#include <utility>

#include "../platform/assert.hpp"
#include "wait.hpp"

namespace tidemark {

/// Why a fence is lost whose signaller has gone.
inline constexpr loss_reason signaller_gone{0xFFFF'FF02, "the signaller is gone"};

namespace detail {

template <class Fence>
struct value_of_signal {
  using type = std::uint64_t;
};
template <class Fence>
  requires requires(const Fence& held) { held.last_reached(); }
struct value_of_signal<Fence> {
  using type = decltype(std::declval<const Fence&>().last_reached());
};
template <class To>
class link_end;

}  // namespace detail

/// What a signaller can signal: a fence of any kind, an attachment of a cross_fence, or a type of yours.
template <class Fence>
concept signalled_or_lost = requires(Fence& signalled, const loss_reason& why) {
  signalled.signal(1U);
  signalled.poison(why);
};

/// The right to signal a fence, and the duty: see the head of this file. It can be moved and not copied. It holds no
/// fence once it was moved from, or has given the fence up. signal(), signal_next(), signal_last() and poison() assert
/// that it holds one; without assertions they do nothing then. One thread at a time may use it; another one may go on
/// if the hand-over synchronizes.
template <signalled_or_lost Fence>
class [[nodiscard]] signaller {
 public:
  /// std::uint64_t, and std::uint32_t for a fence32.
  using value_type = typename detail::value_of_signal<Fence>::type;

  /// \param signalled  must outlive the signaller, see the head of this file
  explicit signaller(Fence& signalled) noexcept : fence_{&signalled} {}
  signaller(signaller&& from) noexcept : fence_{std::exchange(from.fence_, nullptr)} {}
  /// Poisons the fence that this signaller held, as its destructor would.
  signaller& operator=(signaller&& from) noexcept {
    if (this == &from) return *this;
    const signaller old{std::move(*this)};
    fence_ = std::exchange(from.fence_, nullptr);
    return *this;
  }
  /// Poisons the fence with the reason `signaller_gone`, unless it holds none. Progress: as the fence's poison().
  ~signaller() {
    if (fence_ != nullptr) fence_->poison(signaller_gone);
  }

  /// Signals `value`, and returns what the fence's signal() returns. Asserts that it holds a fence. Progress: as the
  /// fence's signal().
  auto signal(value_type value) noexcept {
    return with(fence_, [&](Fence& held) { return held.signal(value); });
  }
  /// Signals the value after the current one, and returns it; 0 if it holds no fence (asserted). Progress: as the
  /// fence's signal_next().
  auto signal_next() noexcept
    requires requires(Fence& held) { held.signal_next(); }
  {
    return with(fence_, [](Fence& held) { return held.signal_next(); });
  }

  /// Gives the fence up, and then signals `value`. In all else like signal(). A thread that has seen the value may
  /// destroy a fence that joins_signallers, even before this call has returned. But if this call returns false (the
  /// value was reached before), the fence must live until it has returned.
  auto signal_last(value_type value) noexcept {
    return with(std::exchange(fence_, nullptr), [&](Fence& held) { return held.signal(value); });
  }
  /// Gives the fence up as it is. It does nothing if it holds none. Progress: wait-free.
  void release() noexcept { fence_ = nullptr; }
  /// Gives the fence up, and then poisons it. Asserts that it holds a fence. Progress: as the fence's poison().
  /// \param why  an object of static lifetime
  void poison(const loss_reason& why) noexcept {
    with(std::exchange(fence_, nullptr), [&](Fence& held) { held.poison(why); });
  }
  void poison(const loss_reason&&) = delete;  // a reason has static lifetime

 private:
  friend detail::link_end<signaller>;

  static auto with(Fence* held, const auto& use) noexcept -> decltype(use(*held)) {
    TIDEMARK_ASSERT(held != nullptr, "a signaller was used that holds no fence");
    if (held == nullptr) return decltype(use(*held))();
    return use(*held);
  }

  Fence* fence_;
};

template <class Fence>
signaller(Fence&) -> signaller<Fence>;

}  // namespace tidemark

#endif  // TIDEMARK_FENCE_SIGNALLER_HPP
