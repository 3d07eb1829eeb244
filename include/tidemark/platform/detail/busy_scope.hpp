// SPDX-License-Identifier: BSL-1.0
//
// busy_scope: while code of the user runs that must not call an object, the object says that it is busy.
#ifndef TIDEMARK_PLATFORM_DETAIL_BUSY_SCOPE_HPP
#define TIDEMARK_PLATFORM_DETAIL_BUSY_SCOPE_HPP

#include <utility>

namespace tidemark::detail {

/// Gives a state the value `busy`, and its earlier value back when the scope ends, also by an exception.
template <class State>
class busy_scope {
 public:
  busy_scope(State& of, State busy) noexcept : of_{of}, before_{std::exchange(of, busy)} {}
  busy_scope(const busy_scope&) = delete;
  busy_scope& operator=(const busy_scope&) = delete;
  ~busy_scope() { of_ = before_; }

 private:
  State& of_;
  const State before_;
};

template <class State>
busy_scope(State&, State) -> busy_scope<State>;

}  // namespace tidemark::detail

#endif  // TIDEMARK_PLATFORM_DETAIL_BUSY_SCOPE_HPP
