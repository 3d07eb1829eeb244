// SPDX-License-Identifier: BSL-1.0
//
// sender_vocabulary: how senders.hpp speaks to receivers. With std::execution, or with stdexec where its headers are
// found, it uses their names, so that its senders are theirs, too. Without either, it calls the functions that a
// receiver must have there.
#ifndef TIDEMARK_FENCE_DETAIL_SENDER_VOCABULARY_HPP
#define TIDEMARK_FENCE_DETAIL_SENDER_VOCABULARY_HPP

#include <utility>
#include <version>

#if defined(__cpp_lib_senders)
#include <execution>
#elif __has_include(<stdexec/execution.hpp>)
#include <stdexec/execution.hpp>
#endif

#include "limits.hpp"

namespace tidemark::detail {

#if defined(__cpp_lib_senders) || __has_include(<stdexec/execution.hpp>)

#if defined(__cpp_lib_senders)
namespace execution = std::execution;
using std::get_stop_token;
#else
namespace execution = stdexec;
using stdexec::get_stop_token;
#endif

using sender_tag = execution::sender_t;
using scheduler_tag = execution::scheduler_t;
using operation_state_tag = execution::operation_state_t;

/// How an operation may complete: with these values, with a wait_status as the error, or stopped.
template <class Status, class... Values>
struct completes {
  using signatures = execution::completion_signatures<execution::set_value_t(Values...), execution::set_error_t(Status),
                                                      execution::set_stopped_t()>;
};
template <>
struct completes<void> {
  using signatures = execution::completion_signatures<execution::set_value_t(), execution::set_stopped_t()>;
};

/// What a sender says of itself: it completes on a scheduler.
template <class Scheduler>
struct sender_attributes {
  template <class Completion>
  Scheduler query(execution::get_completion_scheduler_t<Completion>) const noexcept {
    return on;
  }
  Scheduler on;
};

template <class Receiver, class... Values>
void complete_with_value(Receiver& to, Values... values) {
  execution::set_value(std::move(to), std::move(values)...);
}
template <class Receiver, class Status>
void complete_with_error(Receiver& to, Status status) {
  execution::set_error(std::move(to), status);
}
template <class Receiver>
void complete_stopped(Receiver& to) {
  execution::set_stopped(std::move(to));
}
template <class Receiver>
auto stop_token_of(const Receiver& of) {
  return get_stop_token(execution::get_env(of));
}

#else

struct sender_tag {};
struct scheduler_tag {};
struct operation_state_tag {};

template <class Status, class... Values>
struct completes {
  using signatures = void;
};

template <class Scheduler>
struct sender_attributes {
  Scheduler on;
};

template <class Receiver, class... Values>
void complete_with_value(Receiver& to, Values... values) {
  std::move(to).set_value(std::move(values)...);
}
template <class Receiver, class Status>
void complete_with_error(Receiver& to, Status status) {
  std::move(to).set_error(status);
}
template <class Receiver>
void complete_stopped(Receiver& to) {
  std::move(to).set_stopped();
}
template <class Receiver>
auto stop_token_of(const Receiver& of) {
  if constexpr (requires { of.get_stop_token(); }) {
    return of.get_stop_token();
  } else {
    return never_stops{};
  }
}

#endif

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_SENDER_VOCABULARY_HPP
