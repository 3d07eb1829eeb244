// SPDX-License-Identifier: BSL-1.0
//
// loop_gate: lets one piece of work have a loop to itself.
//
//   open ---(work asks for the loop)---> closing: no other work begins
//     ^                                     |
//     |                                     |---(all threads stand)---> alone: it runs
//     |                                                                   |
//     |---(it is over, and no other work asks)----------------------------|
//
// A thread stands while it is in the middle of no work. It stands, too, while work that it runs has called the loop
// again: then its innermost call of the loop runs nothing. So work that runs the loop holds nobody up, and such a call
// returns to the work only when nobody is alone.
//
// All functions but is_alone() must be called with the loop's lock.
#ifndef TIDEMARK_LOOP_DETAIL_LOOP_GATE_HPP
#define TIDEMARK_LOOP_DETAIL_LOOP_GATE_HPP

#include "../../platform/platform.hpp"
#include "../../platform/tools/intrusive_lists.hpp"

namespace tidemark::detail {

/// A call that runs a loop, on the stack of its thread.
template <platform Platform>
struct loop_call {
  const decltype(Platform::current_thread()) thread = Platform::current_thread();
  bool is_in_work = false;
  loop_call* next = nullptr;
  loop_call* previous = nullptr;
};

template <platform Platform>
class loop_gate {
 public:
  using call = loop_call<Platform>;

  void enter(call& entered) noexcept { calls_.push(entered); }
  void leave(call& left) noexcept { calls_.remove(left); }
  bool has_calls() const noexcept { return !calls_.is_empty(); }
  bool has_call_here() const noexcept { return has_call(Platform::current_thread(), calls_.first(), nullptr); }

  /// Work asks for the loop.
  void close() noexcept { is_closed_ = true; }
  bool is_closed() const noexcept { return is_closed_; }
  /// Whether the work that has asked may begin: whether all threads stand. While work runs alone, its own thread does
  /// not stand still, so the answer is no.
  bool may_begin() const noexcept {
    for (const call* each = calls_.first(); each != nullptr; each = each->next) {
      // Where the work in a call has called the loop again, it stands.
      if (each->is_in_work && !has_call(each->thread, each->next, nullptr)) return false;
    }
    return true;
  }
  /// The work begins, in this call.
  void begin(const call& in) noexcept {
    is_alone_ = true;
    alone_ = in.thread;
  }
  /// The work is over.
  /// \param is_asked  whether other work asks for the loop
  void end(bool is_asked) noexcept {
    is_alone_ = false;
    is_closed_ = is_asked;
  }
  /// No work asks any more, unless some runs alone.
  void open() noexcept { is_closed_ = is_alone_; }

  /// Whether work runs alone. The work that runs needs no lock to know it: nobody can change it meanwhile.
  bool is_alone() const noexcept { return is_alone_; }
  /// Whether work runs alone on the thread of this call.
  bool is_alone_in(const call& of) const noexcept { return is_alone_ && alone_ == of.thread; }
  /// Whether work runs alone on this thread.
  bool is_alone_here() const noexcept { return is_alone_ && alone_ == Platform::current_thread(); }
  /// Whether the call must not return yet: to work that is not alone, while other work is.
  bool holds_back(const call& of) const noexcept {
    // The call that returns is the last one of its thread.
    return is_alone_ && alone_ != of.thread && has_call(of.thread, calls_.first(), &of);
  }

 private:
  using thread_type = decltype(Platform::current_thread());

  /// Whether a thread has made one of the calls from `first` on, up to `end`. They are listed in the order in which
  /// they began.
  static bool has_call(thread_type of, const call* first, const call* end) noexcept {
    for (const call* each = first; each != end; each = each->next) {
      if (each->thread == of) return true;
    }
    return false;
  }

  linked_queue<call> calls_;
  bool is_closed_ = false;
  bool is_alone_ = false;
  thread_type alone_{};  // the thread of the work that runs alone
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_LOOP_DETAIL_LOOP_GATE_HPP
