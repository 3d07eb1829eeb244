// SPDX-License-Identifier: BSL-1.0
//
// turns: lets threads hand in requests, which are served one at a time without a lock. A thread that hands in a request
// while nobody serves becomes the server, until there is no request left. Other threads only push theirs.
//
//   last    null: nobody serves. &serving: a thread serves, and there is no further request. Otherwise the request that
//           was pushed last; they are linked, and the link of the first one is null or &serving
//   server  the thread that serves, as long as it does
//
// Invariant: from the exchange of null for a request until the exchange of &serving for null, that thread alone serves.
// What a server did happens-before what the next one does.
#ifndef TIDEMARK_CONTEXT_DETAIL_TURNS_HPP
#define TIDEMARK_CONTEXT_DETAIL_TURNS_HPP

#include <atomic>

#include "../../platform/platform.hpp"

namespace tidemark::detail {

/// A base class of what is handed in.
template <platform Platform>
class turn_request {
  template <tidemark::platform>
  friend class turns;
  typename Platform::template var<turn_request*> next_;
};

/// A request of a storage: an object or a context is to be destroyed.
template <platform Platform>
struct teardown_request : turn_request<Platform> {
  explicit teardown_request(bool of_context) noexcept : is_context{of_context} {}
  const bool is_context;
};

template <platform Platform>
class turns {
 public:
  using request = turn_request<Platform>;

  /// Has `serve(handed)` called once, by this call or by another thread's. It must not be handed in again before.
  /// Returns whether this call has done so. Progress: lock-free but for `serve`; never waits.
  template <class Serve>
  bool hand_in(request& handed, const Serve& serve) noexcept {
    if (!push(handed)) return false;
    do {
      set_server(Platform::current_thread());
      // (CT3): acquire, pairs with (CT2): the server sees what the others have handed in, and what they did before. And
      // pairs with (CT4): between the two there are exchanges only, so the server finds what the last one has left. Not
      // stronger: nobody takes over before (CT4).
      request* const found = last_.exchange(&serving_, std::memory_order_acquire);
      for (request* one = in_order(found); one != nullptr;) {
        request* const next = one->next_.load();
        serve(*one);
        one = next;
      }
      set_server({});
    } while (!stop());
    return true;
  }

  /// Returns whether the calling thread serves: then `serve` has made this call.
  bool is_served_by_caller() const noexcept {
    // (CT6): relaxed alone: a thread finds its own name only if it has stored it itself, and not yet cleared it.
    return server_.load(std::memory_order_relaxed) == Platform::current_thread();
  }

 private:
  using thread = decltype(Platform::current_thread());

  void set_server(thread now) noexcept {
    // (CT5): relaxed alone, for (CT6).
    server_.store(now, std::memory_order_relaxed);
  }

  /// Returns whether the calling thread is the server now.
  bool push(request& pushed) noexcept {
    // (CT1): relaxed alone: a guess, which (CT2) verifies.
    request* before = last_.load(std::memory_order_relaxed);
    do {
      pushed.next_.store(before);
      // (CT2): release, pairs with (CT3). Not stronger: a new server reads nothing of the last one before (CT3).
    } while (!last_.compare_exchange_weak(before, &pushed, std::memory_order_release, std::memory_order_relaxed));
    return before == nullptr;
  }

  bool stop() noexcept {
    request* expected = &serving_;
    // (CT4): release, pairs with (CT3). Not stronger: if it fails, (CT3) reads what was pushed.
    return last_.compare_exchange_strong(expected, nullptr, std::memory_order_release, std::memory_order_relaxed);
  }

  /// Links the requests in the order in which they were pushed, and returns the first one.
  request* in_order(request* last) noexcept {
    request* first = nullptr;
    while (last != nullptr && last != &serving_) {
      request* const before = last->next_.load();
      last->next_.store(first);
      first = last;
      last = before;
    }
    return first;
  }

  request serving_;  // stands for no request
  typename Platform::template atomic<request*> last_{nullptr};
  typename Platform::template atomic<thread> server_{};
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_CONTEXT_DETAIL_TURNS_HPP
