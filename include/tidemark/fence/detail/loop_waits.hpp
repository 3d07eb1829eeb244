// SPDX-License-Identifier: BSL-1.0
//
// loop_waits: an operation of a loop together with its waits and its timer, as it lies in a coroutine's frame or in the
// state of a sender's operation.
#ifndef TIDEMARK_FENCE_DETAIL_LOOP_WAITS_HPP
#define TIDEMARK_FENCE_DETAIL_LOOP_WAITS_HPP

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "../../platform/platform.hpp"
#include "limits.hpp"
#include "loop_operation.hpp"

namespace tidemark::detail {

/// \tparam Core   the loop's
/// \tparam Count  how many values it waits for
/// \tparam Token  stops it
template <class Core, std::size_t Count, class Token>
class loop_waits : protected Core::operation {
 public:
  loop_waits(const loop_waits&) = delete;
  loop_waits& operator=(const loop_waits&) = delete;

 protected:
  using operation = typename Core::operation;
  using keeper = typename Core::keeper;

  /// \param does     runs the operation's end
  /// \param targets  an array of `Count` awaited targets
  loop_waits(Core& on, loop_needs what, typename operation::function does, const auto& targets, Token token) noexcept
      : loop_waits(on, what, does, targets, std::move(token), std::make_index_sequence<Count>{}) {}
  ~loop_waits() = default;

  /// Must be called before the operation begins.
  void end_at(deadline until) noexcept {
    timer_.at = until;
    this->timer = until != no_deadline ? &timer_ : nullptr;
  }
  /// Returns whether the values are reached, and keeps that as the outcome. Must be called before the operation begins.
  bool is_reached_already() noexcept {
    // A wait for one value ends here as a rule.
    if (Count == 1 && !waits_[0].to.is_reached()) return false;
    return this->look_for_reached();
  }
  /// Lets the token stop the operation. Must be called before the operation begins, because another thread may end it
  /// then and destroy this object. A stop that comes in between is kept in the operation.
  void listen() { stopping_.emplace(token_, stop{this}); }
  /// Waits for a stop that is under way. Must be called without the loop's lock, before this object is destroyed.
  void stop_listening() noexcept { stopping_.reset(); }
  void begin() noexcept {
    const keeper kept(core_.lock());
    core_.begin(*this);
  }

  Core& core() const noexcept { return core_; }

 private:
  struct stop {
    loop_waits* of;
    void operator()() const noexcept {
      const keeper kept(of->core_.lock());
      of->core_.stop(*of);
    }
  };

  template <std::size_t... Index>
  loop_waits(Core& on, loop_needs what, typename operation::function does, const auto& targets, Token token,
             std::index_sequence<Index...>) noexcept
      : operation(what, does),
        core_{on},
        waits_{typename operation::wait(targets[Index], *this, &Core::on_release)...},
        token_{std::move(token)} {
    this->waits = std::span{waits_.data(), Count};
  }

  Core& core_;
  std::array<typename operation::wait, Count> waits_;
  typename operation::timer_type timer_;
  [[no_unique_address]] Token token_;
  std::optional<typename stop_callback_for<Token, stop>::type> stopping_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_LOOP_WAITS_HPP
