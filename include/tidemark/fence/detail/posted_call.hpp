// SPDX-License-Identifier: BSL-1.0
//
// posted_call: a callable in memory that a loop owns, for one call.
#ifndef TIDEMARK_FENCE_DETAIL_POSTED_CALL_HPP
#define TIDEMARK_FENCE_DETAIL_POSTED_CALL_HPP

#include <memory>
#include <utility>

#include "../../platform/platform.hpp"
#include "loop_operation.hpp"

namespace tidemark::detail {

template <platform Platform, class Callable>
class posted_call : public loop_work<Platform> {
 public:
  explicit posted_call(Callable&& callable) : loop_work<Platform>{&act, true}, callable_(std::move(callable)) {}

 private:
  using keeper = typename loop_work<Platform>::keeper;

  static void act(loop_work<Platform>& of, loop_action what, keeper& kept) {
    // What it captures may use the loop when it is destroyed, too.
    const typename keeper::without lock(kept);
    const std::unique_ptr<posted_call> self(static_cast<posted_call*>(&of));
    if (what == loop_action::run) self->callable_();
  }

  Callable callable_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_POSTED_CALL_HPP
