// SPDX-License-Identifier: BSL-1.0
//
// sender_vocabulary: how senders.hpp speaks to receivers. With std::execution, or with stdexec where its headers are
// found, it uses their names, so that its senders are theirs, too. Of a receiver that is not one of theirs, it calls
// the functions that such a receiver must have.
#ifndef TIDEMARK_LOOP_DETAIL_SENDER_VOCABULARY_HPP
#define TIDEMARK_LOOP_DETAIL_SENDER_VOCABULARY_HPP

#include <utility>
#include <version>

#if defined(__cpp_lib_senders)
#include <execution>
#elif __has_include(<stdexec/execution.hpp>)
#include <stdexec/execution.hpp>
#endif

#include "../../platform/tools/limits.hpp"

namespace tidemark::detail {

// For receivers that belong to no library:

template <class Receiver, class... Values>
void complete_with_value(Receiver& to, Values... values) {
  std::move(to).set_value(std::move(values)...);
}
template <class Receiver, class WaitStatus>
void complete_with_error(Receiver& to, WaitStatus status) {
  std::move(to).set_error(std::move(status));
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

#if defined(__cpp_lib_senders) || __has_include(<stdexec/execution.hpp>)

#if defined(__cpp_lib_senders)
namespace execution = std::execution;
using execution::operation_state_tag;
using execution::scheduler_tag;
using execution::sender_tag;
using std::get_stop_token;
#else
namespace execution = stdexec;
using stdexec::get_stop_token;
// Older versions have other names for the tags: sender_t and so on. Any version marks its own senders with the tag
// that it asks for. Older ones ask for no tag of an operation state or a scheduler; there, these two stay incomplete
// types of this namespace.
namespace stdexec_detail {
using namespace stdexec;
using of_operation_state = struct operation_state_tag;
using of_scheduler = struct scheduler_tag;
}  // namespace stdexec_detail
using operation_state_tag = stdexec_detail::of_operation_state;
using scheduler_tag = stdexec_detail::of_scheduler;
using sender_tag = decltype(stdexec::just())::sender_concept;
#endif

/// How an operation may complete: with these values, with a wait_status as the error, or stopped.
template <class WaitStatus, class... Values>
struct completes {
  using signatures = execution::completion_signatures<execution::set_value_t(Values...),
                                                      execution::set_error_t(WaitStatus), execution::set_stopped_t()>;
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

/// What a scheduler says of itself: what has begun to run there goes on. std::execution demands an answer.
struct scheduler_attributes {
  constexpr execution::forward_progress_guarantee query(execution::get_forward_progress_guarantee_t) const noexcept {
    return execution::forward_progress_guarantee::parallel;
  }
  friend bool operator==(const scheduler_attributes&, const scheduler_attributes&) = default;
};

/// A receiver that says it is one of the library's.
template <class Receiver>
concept receiver_of_library = requires { typename Receiver::receiver_concept; };

template <receiver_of_library Receiver, class... Values>
void complete_with_value(Receiver& to, Values... values) {
  execution::set_value(std::move(to), std::move(values)...);
}
template <receiver_of_library Receiver, class WaitStatus>
void complete_with_error(Receiver& to, WaitStatus status) {
  execution::set_error(std::move(to), std::move(status));
}
template <receiver_of_library Receiver>
void complete_stopped(Receiver& to) {
  execution::set_stopped(std::move(to));
}
template <receiver_of_library Receiver>
auto stop_token_of(const Receiver& of) {
  return get_stop_token(execution::get_env(of));
}

#else

struct sender_tag {};
struct scheduler_tag {};
struct operation_state_tag {};

template <class WaitStatus, class... Values>
struct completes {
  using signatures = void;
};

template <class Scheduler>
struct sender_attributes {
  Scheduler on;
};

struct scheduler_attributes {
  friend bool operator==(const scheduler_attributes&, const scheduler_attributes&) = default;
};

#endif

}  // namespace tidemark::detail

#endif  // TIDEMARK_LOOP_DETAIL_SENDER_VOCABULARY_HPP
