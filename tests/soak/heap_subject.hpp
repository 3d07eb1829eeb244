// SPDX-License-Identifier: BSL-1.0
//
// A waiter_heap used on its own: a timeline of a user's making, with the handshake that the header asks for, which also
// keeps the books that a fence does not show: a waiter that is not in the lane is released exactly once or withdrawn.
#ifndef TIDEMARK_TESTS_SOAK_HEAP_SUBJECT_HPP
#define TIDEMARK_TESTS_SOAK_HEAP_SUBJECT_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <tidemark/fence/waiter_heap.hpp>

#include "fault.hpp"
#include "fence_subject.hpp"
#include "subject.hpp"

namespace soak {

template <std::size_t Capacity, class Platform, std::size_t Arity, tidemark::heap_growth Growth>
class heap_timeline : public tidemark::waitable<heap_timeline<Capacity, Platform, Arity, Growth>> {
 public:
  using platform = Platform;

  explicit heap_timeline(std::uint64_t initial) : value_{initial} {
    if (!Platform::heavy_barrier_available()) heap_.pin();
  }

  bool signal(std::uint64_t value) {
    std::uint64_t seen = value_.load(std::memory_order_relaxed);
    do {
      if (value <= seen) return false;
    } while (!value_.compare_exchange_weak(seen, value, std::memory_order_seq_cst, std::memory_order_relaxed));
    release(value);
    return true;
  }
  std::uint64_t signal_next() {
    const std::uint64_t value = value_.fetch_add(1, std::memory_order_seq_cst) + 1;
    release(value);
    return value;
  }

  /// Registers, looks and withdraws.
  void flash(std::uint64_t target) const {
    const auto ticket = heap_.add(target);
    check_registered(ticket, target);
    leave(ticket, target);
  }

  std::uint64_t current_value() const { return value_.load(std::memory_order_acquire); }
  std::uint64_t monitored_value() const { return heap_.monitored_value(); }
  bool is_pinned() const { return heap_.is_pinned(); }
  const char* complaint() const { return complaint_.load(std::memory_order_relaxed); }
  bool is_balanced() const { return released_.load() == found_released_.load(); }

 private:
  friend tidemark::waitable<heap_timeline>;
  using heap_type = tidemark::waiter_heap<Capacity, Platform, Arity, tidemark::detail::no_neighbor, Growth>;
  using ticket_type = typename heap_type::ticket;

  void release(std::uint64_t value) {
    Platform::light_barrier();
    if (heap_.monitored_word().load_value(std::memory_order_seq_cst) >= value) return;
    if (has(fault::mute) && is_turn(16)) return;
    Platform::full_barrier();
    const std::size_t freed = heap_.release_due([this] { return value_.load(std::memory_order_relaxed); });
    if (freed > 0) released_.fetch_add(freed, std::memory_order_relaxed);
  }

  void check_registered(const ticket_type& ticket, std::uint64_t target) const {
    const std::uint64_t monitored = heap_.monitored_value();
    if (monitored >= target && !heap_.is_released(ticket)) complain("the monitored value is above a registered target");
  }

  bool leave(const ticket_type& ticket, std::uint64_t target) const {
    if (has(fault::leaky) && is_turn(32)) return true;
    if (heap_.withdraw(ticket)) return true;
    found_released_.fetch_add(1, std::memory_order_relaxed);
    if (current_value() < target && !ticket.is_in_lane())
      complain("a waiter was released before its target was reached");
    return false;
  }

  template <class Token>
  tidemark::wait_status wait_with(std::uint64_t target, tidemark::deadline until, Token token) const {
    if (current_value() >= target) return tidemark::wait_status::reached;
    if (until == tidemark::detail::at_once || token.stop_requested()) return outcome(target, token);
    // A waiter that was released from the lane before it is due registers again.
    while (sleep_registered(target, until, token)) {
    }
    return outcome(target, token);
  }

  /// Returns whether the waiter was released before the wait was over.
  template <class Token>
  bool sleep_registered(std::uint64_t target, tidemark::deadline until, const Token& token) const {
    const auto ticket = heap_.add(target);
    const bool is_ordered = Platform::heavy_barrier() || heap_.is_pinned();
    check_registered(ticket, target);
    const auto nudge = [this, &ticket] { heap_.nudge(ticket); };
    bool is_released = false;
    {
      using callback = tidemark::detail::stop_callback_for<Token, std::remove_const_t<decltype(nudge)>>;
      const typename callback::type stop_callback(token, nudge);
      for (;;) {
        const std::uint32_t seen = heap_.wakes(ticket);
        if (value_.load(std::memory_order_seq_cst) >= target || token.stop_requested()) break;
        is_released = ticket.is_in_lane() && heap_.is_released(ticket);
        if (is_released) break;
        const tidemark::deadline soon = Platform::now() + std::chrono::milliseconds{1};
        const tidemark::deadline limit = is_ordered || until < soon ? until : soon;
        if (!heap_.park(ticket, seen, limit) && limit == until) break;
      }
    }
    leave(ticket, target);
    return is_released;
  }

  template <class Token>
  tidemark::wait_status outcome(std::uint64_t target, const Token& token) const {
    if (current_value() >= target) return tidemark::wait_status::reached;
    return token.stop_requested() ? tidemark::wait_status::stopped : tidemark::wait_status::timeout;
  }

  void complain(const char* what) const { complaint_.store(what, std::memory_order_relaxed); }

  typename Platform::template atomic<std::uint64_t> value_;
  mutable heap_type heap_;
  std::atomic<std::uint64_t> released_{0};                // as release_due() says
  mutable std::atomic<std::uint64_t> found_released_{0};  // as withdraw() says
  mutable std::atomic<const char*> complaint_{nullptr};
};

template <class Timeline>
class heap_subject final : public subject {
 public:
  explicit heap_subject(std::uint64_t initial) : timeline_{initial} {}

  bool signal(std::uint64_t value) override { return timeline_.signal(value); }
  std::uint64_t signal_next() override { return timeline_.signal_next(); }
  tidemark::wait_status wait(const wait_request& request) override { return wait_on(timeline_, request); }
  void flash(std::uint64_t target) override { timeline_.flash(target); }

  std::uint64_t current_value(bool) const override { return timeline_.current_value(); }
  bool is_reached(std::uint64_t target, bool) const override { return timeline_.current_value() >= target; }
  bool is_poisoned(bool) const override { return false; }
  std::uint64_t monitored_value(bool) const override { return timeline_.monitored_value(); }
  bool is_pinned() const override { return timeline_.is_pinned(); }

  const char* complaint() const override { return timeline_.complaint(); }
  const char* complaint_when_quiet() const override {
    return timeline_.is_balanced() ? nullptr : "release_due() and withdraw() count the released differently";
  }

 private:
  Timeline timeline_;
};

template <class Platform, std::size_t Capacity, std::size_t Arity,
          tidemark::heap_growth Growth = tidemark::heap_growth::allowed>
void add_heap(std::vector<subject_kind>& kinds, const std::string& platform) {
  using made = heap_subject<heap_timeline<Capacity, Platform, Arity, Growth>>;
  const std::string growth = Growth == tidemark::heap_growth::allowed ? " growing" : "";
  kinds.push_back(
      {.name = "waiter_heap/" + platform + " capacity " + std::to_string(Capacity) + " arity " + std::to_string(Arity) +
               growth,
       .can_be_poisoned = false,
       .is_heap = true,
       .make = [](std::uint64_t initial) -> std::unique_ptr<subject> { return std::make_unique<made>(initial); }});
}

}  // namespace soak

#endif  // TIDEMARK_TESTS_SOAK_HEAP_SUBJECT_HPP
