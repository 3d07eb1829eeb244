// SPDX-License-Identifier: BSL-1.0
//
// Model checks of hooks of a timeline for which threads can only wait, as a fence that processes share: registration,
// notification and withdrawal beside the thread that waits for all hooks. Each check hands a plain field (`var`) from
// the signaller to the waiter. What the thread misses shows as a deadlock.
//
// The thread 0 of each check is the one that waits. The source is a word with the least that it may promise, and in
// some checks an attachment of a shared fence.
#include "support/attachments.hpp"
#include "support/model_check.hpp"
#include "support/waiting.hpp"

#include <tidemark/fence/followed_fence.hpp>
#include <tidemark/fence/wait_many.hpp>

#include <array>
#include <atomic>
#include <cstdint>

namespace {

using namespace tidemark;
using model::some_time;

using platform = TIDEMARK_MODEL_PLATFORM;
using payload = platform::var<int>;
using awaited_here = basic_awaited<platform>;

/// A timeline for which threads wait. Nobody is woken when it is lost.
class source {
 public:
  std::uint64_t last_reached() const noexcept { return value_.load(std::memory_order_acquire); }
  bool is_poisoned() const noexcept { return is_lost_.load(std::memory_order_acquire) != 0; }

  template <class Token>
  wait_status wait(std::uint64_t target, const Token& token) const noexcept {
    const auto wake = [this] { this->wake(); };
    const typename Token::template callback_type<decltype(wake)> callback(token, wake);
    for (;;) {
      const std::uint32_t seen = wakes_.load(std::memory_order_acquire);
      if (last_reached() >= target) return wait_status::reached;
      if (is_poisoned()) return wait_status::lost;
      if (token.stop_requested()) return wait_status::stopped;
      platform::park(wakes_, seen, no_deadline);
    }
  }

  void signal(std::uint64_t value) {
    value_.store(value, std::memory_order_release);
    wake();
  }
  void lose() { is_lost_.store(1, std::memory_order_release); }

 private:
  void wake() const {
    wakes_.fetch_add(1, std::memory_order_release);
    platform::unpark(wakes_, UINT32_MAX);
  }

  platform::atomic<std::uint64_t> value_{0};
  platform::atomic<std::uint32_t> is_lost_{0};
  mutable platform::park_word wakes_{0};
};

/// An attachment of a fence that processes share. The signaller has another one.
template <model::attachments::kind Kind, model::attachments::shape Shape>
class attached : model::with_mortals {
 public:
  std::uint64_t last_reached() const noexcept { return mine_.last_reached(); }
  static constexpr bool is_poisoned() noexcept { return false; }
  template <class Token>
  wait_status wait(std::uint64_t target, const Token& token) const noexcept {
    return mine_.wait(target, no_deadline, token);
  }
  void signal(std::uint64_t value) { other_.signal(value); }
  void require_idle() { shared_.require_idle(); }

 private:
  using attachment = model::attachments::attachment<Kind, model::mortal<platform>, Shape>;

  typename attachment::segment_type shared_;
  mutable attachment mine_{shared_, 1};
  attachment other_{shared_, 7};
};

/// A timeline with hooks, as followed_fence is one.
template <class Source>
struct followed {
  std::uint64_t current_value() const noexcept {
    if (!of.is_poisoned()) return last_reached();
    hooks.found_lost();
    return UINT64_MAX;
  }
  std::uint64_t last_reached() const noexcept { return of.last_reached(); }
  wait_status wait_until(std::uint64_t target, deadline until) const noexcept {
    const awaited_here self[] = {{*this, target}};
    return wait_all_until(self, until);
  }
  void* add_hook(std::uint64_t target, timeline_hook hook) const noexcept { return hooks.add(target, hook); }
  bool remove_hook(void* registration) const noexcept { return hooks.remove(registration); }

  Source of;
  mutable detail::hook_waiter<platform, Source> hooks{of};
};

/// What the threads share, and what they do.
template <unsigned Threads = 3, class Source = source>
struct with_hooks : model::suite<Threads> {
  followed<Source> timeline;
  payload data;

  void hand_over(std::uint64_t value = 1) {
    data.store(42);
    timeline.of.signal(value);
  }
  void receive(std::uint64_t value = 1) {
    MODEL_REQUIRE(timeline.wait_until(value, no_deadline) == wait_status::reached);
    MODEL_REQUIRE(data.load() == 42);
  }
  void after() {
    if constexpr (requires { timeline.of.require_idle(); }) timeline.of.require_idle();
  }
};

/// The value comes while a thread registers, sleeps or leaves.
template <class Source = source>
struct handed_on : with_hooks<3, Source> {
  void thread(unsigned index) {
    if (index == 0) {
      this->timeline.hooks.run();
    } else if (index == 1) {
      this->hand_over();
    } else {
      this->receive();
      this->timeline.hooks.close();
    }
  }
};

/// Somebody waits for a value that does not come, and the thread sleeps for that one. Then a lower one is registered.
template <class Source>
struct lower_target : handed_on<Source> {
  detail::shared_word<platform> never_woken{0};
  void* registration = this->timeline.add_hook(2, detail::hook_access::hook_of(never_woken));

  void after() {
    MODEL_REQUIRE(this->timeline.remove_hook(registration));
    handed_on<Source>::after();
  }
};

/// A hook for 0 hides no other one.
struct hook_for_zero : handed_on<> {
  detail::shared_word<platform> any{0};
  void* registration = timeline.add_hook(0, detail::hook_access::hook_of(any));

  void after() { timeline.remove_hook(registration); }
};

/// The deadline passes beside the signal. The next wait is for the same value, and the one behind it for a higher one.
struct withdrawn : with_hooks<> {
  void thread(unsigned index) {
    if (index == 0) {
      timeline.hooks.run();
    } else if (index == 1) {
      hand_over();
      timeline.of.signal(2);
    } else {
      const wait_status how = timeline.wait_until(1, some_time);
      MODEL_REQUIRE(how == wait_status::reached || how == wait_status::timeout);
      receive();
      receive(2);
      timeline.hooks.close();
    }
  }
};

/// Another thread finds the loss, while one registers or sleeps.
struct lost : with_hooks<> {
  void thread(unsigned index) {
    if (index == 0) {
      timeline.hooks.run();
    } else if (index == 1) {
      data.store(42);
      timeline.of.lose();
      MODEL_REQUIRE(timeline.current_value() == UINT64_MAX);
    } else {
      MODEL_REQUIRE(timeline.wait_until(1, no_deadline) == wait_status::lost);
      MODEL_REQUIRE(data.load() == 42);
      timeline.hooks.close();
    }
  }
};

/// The thread is told to end while it calls a hook, or sleeps for another one.
struct closed : with_hooks<> {
  detail::shared_word<platform> woken{0};
  payload used;

  void thread(unsigned index) {
    if (index == 0) {
      timeline.hooks.run();
      used.store(1);
    } else if (index == 1) {
      timeline.of.signal(1);
    } else {
      void* const registration = timeline.add_hook(1, detail::hook_access::hook_of(woken));
      timeline.remove_hook(registration);
      timeline.hooks.close();
    }
  }
  void after() { MODEL_REQUIRE(used.load() == 1); }
};

/// Two threads wait for different values. Each is called for its own.
struct two_waiters : with_hooks<4> {
  platform::atomic<std::uint32_t> left{2};

  void thread(unsigned index) {
    if (index == 0) {
      timeline.hooks.run();
    } else if (index == 1) {
      hand_over();
      timeline.of.signal(2);
    } else {
      receive(index - 1);
      if (left.fetch_sub(1, std::memory_order_acq_rel) == 1) timeline.hooks.close();
    }
  }
};

namespace shared = model::attachments;
using shared_fence_here = attached<shared::kind::fence, shared::one_slot>;
using shared_progress_here = attached<shared::kind::progress, shared::one_slot>;
using two_levels = attached<shared::kind::progress, shared::two_levels>;
using without_slot = attached<shared::kind::progress, shared::no_slot>;

}  // namespace

int main(int argc, char** argv) {
  using model::make_check;
  return model::run(
      argc, argv,
      {make_check<handed_on<source>, "handed_on">(), make_check<lower_target<source>, "lower_target">(),
       make_check<hook_for_zero, "hook_for_zero">(), make_check<withdrawn, "withdrawn">(), make_check<lost, "lost">(),
       make_check<closed, "closed">(), make_check<two_waiters, "two_waiters">(),
       make_check<handed_on<shared_fence_here>, "handed_on.fence">(),
       make_check<handed_on<shared_progress_here>, "handed_on.progress">(),
       make_check<lower_target<shared_fence_here>, "lower_target.fence">(),
       make_check<lower_target<shared_progress_here>, "lower_target.progress">(),
       make_check<handed_on<two_levels>, "handed_on.progress.two_levels">(),
       make_check<lower_target<two_levels>, "lower_target.progress.two_levels">(),
       make_check<handed_on<without_slot>, "handed_on.without_slot">()});
}
