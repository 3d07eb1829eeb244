// SPDX-License-Identifier: BSL-1.0
//
// Fences that processes share, in waits that end by a hook: each kind of them is woken by a signal of another process,
// and learns that the last signaller was killed.
#include "support/misuse_hook.hpp"

#include <doctest/doctest.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <concepts>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tidemark/engine/engine_queue.hpp>
#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/followed_fence.hpp>
#include <tidemark/fence/hooked_timeline.hpp>
#include <tidemark/fence/link.hpp>
#include <tidemark/fence/wait_many.hpp>
#include <tidemark/loop/loop_uring.hpp>
#include <tidemark/loop/reached_descriptor.hpp>
#include <tidemark/loop/wait_loop.hpp>
#include <tidemark/memory/upload_ring.hpp>

#include "support/coroutine.hpp"
#include "support/counted_allocations.hpp"
#include "support/processes.hpp"
#include "support/readable.hpp"
#include "support/shared_kinds.hpp"
#include "support/threads_after_fork.hpp"
#include "support/uring.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace tidemark;
using namespace std::chrono_literals;

namespace {

static_assert(hooked_timeline<followed_fence<shared_fence>>);
static_assert(hooked_timeline<followed_fence<shared_progress_fence_reader>>);
static_assert(std::constructible_from<awaited, const followed_fence<shared_fence_waiter>&, std::uint64_t>);
static_assert(!std::constructible_from<followed_fence<shared_fence>, shared_fence>);
static_assert(!std::copyable<followed_fence<shared_fence>>);

/// A fence of which this process is a waiter, and another process the only signaller: it signals what it is told to.
template <class Kind>
class stage {
 public:
  stage() : watch_{[] { return std::string{"a signaller in another process"}; }} {
    REQUIRE(made_);
    REQUIRE(orders_);
    child_.emplace([this] {
      auto own = Kind::signaller::open(made_.fence.files());
      auto orders = shared_fence_waiter::open(orders_.fence.files());
      if (!own || !orders) return 1;
      for (std::uint64_t next = 1; orders.fence.wait(next) == wait_status::reached;) {
        const std::uint64_t ordered = orders.fence.current_value();
        for (; next <= ordered; ++next) own.fence.signal(next);
      }
      return 0;
    });
    await([this] { return fence().signallers() == shared_signallers::present; });
  }

  /// What is shared, and waited for.
  const typename Kind::waiter& fence() const { return made_.fence; }

  /// Lets the other process signal all values up to this one.
  void signal(std::uint64_t value) { orders_.fence.signal(value); }
  /// The same, and returns when it has done so.
  void signal_now(std::uint64_t value) {
    signal(value);
    await([&] { return fence().current_value() >= value; });
  }
  void kill() { child_->kill_now(); }
  /// Lets the other process close its attachment and end.
  void end() {
    orders_.fence.close();
    CHECK(child_->wait() == 0);
  }
  /// Returns when some thread sleeps for this value, and for none below.
  void await_sleeper(std::uint64_t target) const {
    await([&] { return fence().monitored_value() == target - 1; });
  }
  void await_nobody() const {
    await([&] { return fence().monitored_value() == no_waiter; });
  }

 private:
  watchdog watch_;
  shared_open_result<typename Kind::waiter> made_ = Kind::waiter::create();
  shared_open_result<shared_fence> orders_ = shared_fence::create();
  std::optional<child_process> child_;
};

using thread_set = std::set<std::string>;

/// Returns the threads of this process, by their numbers. One that has ended may stand there for a moment.
thread_set threads() {
  thread_set all;
  for (const auto& each : std::filesystem::directory_iterator{"/proc/self/task"}) all.insert(each.path().filename());
  return all;
}
/// Returns how many there are that were not there before.
std::ptrdiff_t count_new(const thread_set& before) {
  const thread_set now = threads();
  return std::count_if(now.begin(), now.end(), [&](const std::string& each) { return !before.contains(each); });
}

/// A shared fence that one look finds lost. Then a new signaller has come.
class lost_for_a_look : public waitable<lost_for_a_look> {
 public:
  using platform = shared_fence::platform;

  explicit lost_for_a_look(const shared_fence& of) : of_{of} {}

  std::uint64_t current_value() const noexcept { return of_.current_value(); }
  [[nodiscard]] bool is_reached(std::uint64_t target) const noexcept { return of_.is_reached(target); }
  bool is_lost() const noexcept { return is_lost_.exchange(0) != 0; }
  void lose() { is_lost_ = 1; }

 private:
  friend waitable<lost_for_a_look>;

  template <class Token>
  wait_status wait_with(std::uint64_t target, deadline until, const Token& token) const noexcept {
    return tidemark::detail::wait_on<platform>(of_, target, until, token);
  }

  const shared_fence& of_;
  mutable std::atomic<int> is_lost_{0};  // not a bool: RISC-V has no exchange of a byte
};

/// Runs a loop on a thread of its own.
class running {
 public:
  explicit running(wait_loop& loop) : loop_{loop}, thread_{[&loop] { static_cast<void>(loop.run()); }} {}
  running(const running&) = delete;
  running& operator=(const running&) = delete;
  ~running() {
    loop_.stop();
    thread_.join();
  }

 private:
  wait_loop& loop_;
  std::thread thread_;
};

template <class Timeline>
coroutine waits_on_loop(wait_loop& loop, const Timeline& timeline, std::uint64_t target, wait_status& how) {
  how = co_await loop.reached(timeline, target);
  loop.stop();
}

}  // namespace

TYPE_TO_STRING_AS("several", several);
TYPE_TO_STRING_AS("one", one);

TEST_CASE_TEMPLATE("[A65] waits for a shared fence and one of this process sleep once, and end by either", Kind,
                   several, one) {
  stage<Kind> on;
  const followed_fence shared{on.fence()};
  progress_fence own;
  on.signal(1);
  CHECK(wait_any({{shared, 1}, {own, 1}}) == wait_any_result{wait_status::reached, 0});
  std::thread later{[&] {
    on.await_sleeper(2);
    own.signal(1);
  }};
  CHECK(wait_any({{shared, 2}, {own, 1}}) == wait_any_result{wait_status::reached, 1});
  later.join();
  std::thread both{[&] {
    on.await_sleeper(3);
    on.signal_now(3);
    own.signal(2);
  }};
  CHECK(wait_all({{own, 2}, {shared, 3}}) == wait_status::reached);
  both.join();
  CHECK(wait_all_for({{own, 2}, {shared, 4}}, 1us) == wait_status::timeout);
  on.kill();
  CHECK(wait_all({{own, 3}, {shared, 4}}) == wait_status::lost);
  CHECK(wait_any({{own, 3}, {shared, 4}}) == wait_any_result{wait_status::lost, 1});
  CHECK(wait_any({{own, 3}, {shared, 3}}) == wait_any_result{wait_status::reached, 1});
}

TEST_CASE_TEMPLATE("[A65] [A120] a loop runs a callable when another process signals, and when that was killed", Kind,
                   several, one) {
  stage<Kind> on;
  const followed_fence shared{on.fence()};
  wait_loop loop;
  std::atomic<int> reached{0};
  std::atomic<int> lost{0};
  const auto count = [&](wait_status how) { ++(how == wait_status::reached ? reached : lost); };
  const auto first = loop.on_reached(shared, 1, count);
  const auto second = loop.on_reached(shared, 2, count);
  const auto last = loop.on_reached(shared, 9, count);
  const running runs{loop};
  on.await_sleeper(1);
  on.signal(1);
  await([&] { return reached == 1; });
  on.await_sleeper(2);
  on.signal_now(5);
  await([&] { return reached == 2; });
  CHECK(lost == 0);
  on.await_sleeper(9);
  on.kill();
  await([&] { return lost == 1; });
  CHECK(shared.is_poisoned());
  CHECK(shared.current_value() == UINT64_MAX);
  CHECK(shared.last_reached() == 5);
}

TEST_CASE_TEMPLATE("[A65] [A120] a coroutine goes on when another process signals, and when that was killed", Kind,
                   several, one) {
  stage<Kind> on;
  const followed_fence shared{on.fence()};
  for (const bool is_lost : {false, true}) {
    wait_loop loop;
    wait_status how = wait_status::timeout;
    const std::uint64_t target = is_lost ? 2 : 1;
    const coroutine waits = waits_on_loop(loop, shared, target, how);
    std::thread other{[&] {
      on.await_sleeper(target);
      is_lost ? on.kill() : on.signal(target);
    }};
    static_cast<void>(loop.run());
    other.join();
    CHECK(how == (is_lost ? wait_status::lost : wait_status::reached));
  }
}

TEST_CASE_TEMPLATE("[A65] [A120] a descriptor becomes readable when another process signals, and when that was killed",
                   Kind, several, one) {
  stage<Kind> on;
  const followed_fence shared{on.fence()};
  const reached_descriptor first{shared, 1};
  const reached_descriptor second{shared, 2};
  CHECK(first.error() == 0);
  CHECK_FALSE(is_readable(first.descriptor()));
  on.signal(1);
  CHECK(is_readable(first.descriptor(), for_ever));
  CHECK(first.status() == wait_status::reached);
  CHECK(second.status() == wait_status::timeout);
  on.kill();
  CHECK(is_readable(second.descriptor(), for_ever));
  CHECK(second.status() == wait_status::lost);
}

TEST_CASE_TEMPLATE(
    "[A65] [A120] an io_uring's operations complete when another process signals, and when that was killed", Kind,
    several, one) {
  uring ring;
  if (!ring.is_open()) {
    MESSAGE("not tested: the system refuses io_uring");
    return;
  }
  stage<Kind> on;
  const followed_fence shared{on.fence()};
  wait_loop loop;
  std::optional<wait_status> how;
  const auto note = [&](wait_status ended) { how = ended; };
  const auto first = loop.on_reached(shared, 1, note);
  const auto last = loop.on_reached(shared, 2, note);
  loop_uring_wait wait{loop, ring.descriptor()};
  loop.poll();  // else the first operation would be over at once

  // One waits for what is due on the loop, the other for one value.
  const auto submit = [&] {
    CHECK(ring.submit([&](io_uring_sqe& entry) {
      entry.user_data = 1;
      wait.prepare(entry);
    }));
  };
  const auto poll_for = [&](const reached_descriptor& value) {
    CHECK(ring.submit([&](io_uring_sqe& entry) {
      entry.user_data = 2;
      entry.opcode = IORING_OP_POLL_ADD;
      entry.fd = value.descriptor();
      entry.poll_events = POLLIN;
    }));
  };
  const auto take_both = [&] { return ring.take().user_data + ring.take().user_data; };

  const reached_descriptor one_reached{shared, 1};
  submit();
  poll_for(one_reached);
  CHECK(!ring.has_completion());
  on.signal(1);
  CHECK(take_both() == 3);
  CHECK(loop.poll() == 1);
  CHECK(how == wait_status::reached);
  CHECK(one_reached.status() == wait_status::reached);

  const reached_descriptor two_reached{shared, 2};
  submit();
  poll_for(two_reached);
  CHECK(!ring.has_completion());
  on.kill();
  CHECK(take_both() == 3);
  CHECK(loop.poll() == 1);
  CHECK(how == wait_status::lost);
  CHECK(two_reached.status() == wait_status::lost);
}

TEST_CASE_TEMPLATE("[A65] [A120] a queue of an engine waits for another process, and gives itself up when that dies",
                   Kind, several, one) {
  stage<Kind> on;
  const followed_fence shared{on.fence()};
  engine runs{{.threads = 1}};
  std::atomic<int> ran{0};
  engine_queue queue{runs};
  queue.wait(shared, 1);
  queue.run([&] { ++ran; });
  REQUIRE(queue.submit());
  on.await_sleeper(1);
  CHECK(ran == 0);
  on.signal(1);
  CHECK(queue.drain() == wait_status::reached);
  CHECK(ran == 1);
  queue.wait(shared, 2);
  queue.run([&] { ++ran; });
  REQUIRE(queue.submit());
  on.kill();
  CHECK(queue.drain() == wait_status::lost);
  CHECK(ran == 1);
}

TEST_CASE_TEMPLATE("a link hands the values of another process on to a fence of this one, and its loss", Kind, several,
                   one) {
  stage<Kind> on;
  const followed_fence shared{on.fence()};
  wait_loop loop;
  fence own;
  const auto first = link(loop, shared, 1, own, 1);
  const auto second = link(loop, shared, 2, own, 2);
  const running runs{loop};
  on.signal(1);
  CHECK(own.wait(1) == wait_status::reached);
  on.kill();
  CHECK(own.wait(2) == wait_status::lost);
  REQUIRE(own.loss() != nullptr);
  CHECK(*own.loss() == signallers_gone);
  CHECK(shared.loss() == &signallers_gone);
}

TEST_CASE("[A120] a signaller that closes is lost, too, and the loss stays when a new one comes") {
  stage<several> on;
  const followed_fence shared{on.fence()};
  progress_fence own;
  on.signal_now(1);
  on.end();
  CHECK(wait_any({{shared, 2}, {own, 1}}) == wait_any_result{wait_status::lost, 0});
  auto next = shared_fence::open(on.fence().files());
  REQUIRE(next);
  CHECK(next.fence.signal(2));
  CHECK(on.fence().wait(2) == wait_status::reached);
  CHECK(shared.is_poisoned());
  CHECK(shared.current_value() == UINT64_MAX);
  CHECK(wait_any({{shared, 3}, {own, 1}}) == wait_any_result{wait_status::lost, 0});
  CHECK(wait_any({{shared, 2}, {own, 1}}) == wait_any_result{wait_status::reached, 0});
}

TEST_CASE("[A120] a loss that a look finds is told to hooks that sleep") {
  stage<several> on;
  const followed_fence shared{on.fence()};
  const reached_descriptor told{shared, 1};
  on.await_sleeper(1);
  on.kill();
  await([&] { return shared.current_value() == UINT64_MAX; });
  CHECK(is_readable(told.descriptor(), for_ever));
  CHECK(told.status() == wait_status::lost);
}

TEST_CASE("[A120] a loss that a wait finds is told to hooks that sleep, also if a new signaller comes at once") {
  const watchdog dog{[] { return std::string{"a loss that a wait finds"}; }};
  auto made = shared_fence::create();
  REQUIRE(made);
  lost_for_a_look of{made.fence};
  const followed_fence shared{of};
  const reached_descriptor told{shared, 9};
  await([&] { return made.fence.monitored_value() == 8; });
  of.lose();
  CHECK(shared.wait_for(9, 0s) == wait_status::lost);
  CHECK(is_readable(told.descriptor(), for_ever));
  CHECK(told.status() == wait_status::lost);
}

TEST_CASE("a signal wakes the thread of a followed fence once, and exactly the hooks that are due") {
  stage<one> on;
  const followed_fence shared{on.fence()};
  wait_loop loop;
  std::array<std::atomic<int>, 4> ran{};
  const auto count = [&](std::size_t which) { return [&ran, which] { ++ran[which]; }; };
  const auto third = loop.on_reached(shared, 3, count(3));
  const running runs{loop};
  on.await_sleeper(3);
  const auto first = loop.on_reached(shared, 1, count(1));  // while the thread sleeps for a greater value
  on.await_sleeper(1);
  const auto second = loop.on_reached(shared, 2, count(2));
  on.signal(1);
  await([&] { return ran[1] == 1; });
  on.await_sleeper(2);
  CHECK(ran[2] == 0);
  on.signal(2);
  await([&] { return ran[2] == 1; });
  on.await_sleeper(3);
  CHECK(ran[3] == 0);
  on.signal(3);
  await([&] { return ran[3] == 1; });
  CHECK(ran[0] + ran[1] + ran[2] + ran[3] == 3);
  on.await_nobody();
}

TEST_CASE("a wait for 0, or for what was reached, hides no other one") {
  stage<several> on;
  const followed_fence shared{on.fence()};
  progress_fence own;
  wait_loop loop;
  std::atomic<bool> ran{false};
  on.signal_now(2);
  CHECK(wait_any({{own, 1}, {shared, 0}}) == wait_any_result{wait_status::reached, 1});
  const auto zero = loop.on_reached(shared, 0, [] {});
  const auto reached = loop.on_reached(shared, 2, [] {});
  const auto third = loop.on_reached(shared, 3, [&] { ran = true; });
  const running runs{loop};
  on.await_sleeper(3);
  on.signal(3);
  await([&] { return ran.load(); });
}

TEST_CASE("[trap 2] a wait that ends by something else leaves no sleeper behind") {
  stage<several> on;
  const followed_fence shared{on.fence()};
  progress_fence own;
  CHECK(wait_any_for({{shared, 7}, {own, 1}}, 1us) == wait_status::timeout);
  on.await_nobody();
  std::thread later{[&] {
    on.await_sleeper(7);
    own.signal(1);
  }};
  CHECK(wait_any({{shared, 7}, {own, 1}}) == wait_any_result{wait_status::reached, 1});
  later.join();
  on.await_nobody();
  {
    const reached_descriptor never{shared, 8};
    on.await_sleeper(8);
  }
  on.await_nobody();
}

TEST_CASE("the thread begins with the first hook and ends with the followed fence") {
  stage<several> on;
  const thread_set before = threads();
  {
    const followed_fence shared{on.fence()};
    on.signal(1);
    CHECK(shared.wait(1) == wait_status::reached);
    CHECK(shared.wait_for(2, 1us) == wait_status::timeout);
    upload_ring ring{shared, {.capacity = 64}};
    CHECK(ring.allocate(64));
    ring.retire(2);
    CHECK_FALSE(ring.try_allocate(64));
    on.signal_now(2);
    CHECK(ring.try_allocate(64));
    CHECK(count_new(before) == 0);
    const reached_descriptor third{shared, 3};
    CHECK(count_new(before) == 1);
    on.await_sleeper(3);
  }
  await([&] { return count_new(before) == 0; });
  CHECK(on.fence().monitored_value() == no_waiter);
}

TEST_CASE("a followed fence is destroyed beside signals of another process") {
  stage<one> on;
  for (std::uint64_t round = 1; round <= 500; ++round) {
    const followed_fence shared{on.fence()};
    const reached_descriptor next{shared, round};
    on.signal(round);
    if (round % 2 == 0) CHECK(is_readable(next.descriptor(), for_ever));
  }
  on.signal_now(500);
  on.await_nobody();
}

TEST_CASE("waits of several threads race with signals of another process") {
  stage<several> on;
  const followed_fence shared{on.fence()};
  constexpr std::uint64_t rounds = 600;
  std::atomic<std::uint64_t> turn{0};
  std::vector<std::thread> threads;
  for (unsigned which = 0; which < 3; ++which) {
    threads.emplace_back([&, which] {
      progress_fence own;
      for (std::uint64_t target = 1 + which; target <= rounds; target += 3) {
        if (target % 5 == 0) static_cast<void>(wait_any_for({{own, 1}, {shared, target + which}}, 1us));
        on.signal(target);
        CHECK(wait_any({{own, 1}, {shared, target}}) == wait_any_result{wait_status::reached, 1});
        ++turn;
      }
    });
  }
  for (std::thread& each : threads) each.join();
  CHECK(turn == rounds);
  on.await_nobody();
}

TEST_CASE_TEMPLATE("an attachment that only looks can be followed, and so can one that finds no slot", Kind, several,
                   one) {
  const watchdog dog{[] { return std::string{"without slots"}; }};
  auto made = Kind::signaller::create({.waiter_slots = 1});
  REQUIRE(made);
  auto reader = Kind::reader::open(made.fence.files(), {.waiter_slots = 1});
  auto first = Kind::waiter::open(made.fence.files(), {.waiter_slots = 1});
  auto second = Kind::waiter::open(made.fence.files(), {.waiter_slots = 1});
  REQUIRE(reader);
  REQUIRE(first);
  REQUIRE(second);
  const followed_fence looks{reader.fence};
  const followed_fence has_slot{first.fence};
  const followed_fence has_none{second.fence};
  const reached_descriptor by_slot{has_slot, 2};
  await([&] { return made.fence.monitored_value() == 1; });
  const reached_descriptor by_look{looks, 1};
  const reached_descriptor without{has_none, 1};
  made.fence.signal(1);
  CHECK(is_readable(by_look.descriptor(), for_ever));
  CHECK(is_readable(without.descriptor(), for_ever));
  CHECK_FALSE(is_readable(by_slot.descriptor()));
  made.fence.signal(2);
  CHECK(is_readable(by_slot.descriptor(), for_ever));
}

TEST_CASE("without memory for the thread a wait looks once in a millisecond") {
  stage<several> on;
  progress_fence own;
  {
    const followed_fence shared{on.fence()};
    {
      const counted_allocations none{true};
      const reached_descriptor refused{shared, 1};
      CHECK(refused.error() == ENOSPC);
      CHECK(wait_any_for({{shared, 1}, {own, 1}}, 1us) == wait_status::timeout);
      on.signal(1);
      CHECK(wait_any({{shared, 1}, {own, 1}}) == wait_any_result{wait_status::reached, 0});
    }
    const reached_descriptor next{shared, 2};
    CHECK(next.error() == 0);
  }
}

TEST_CASE("the thread of a followed fence takes no signals of the program") {
  static std::atomic<int> handled{0};
  auto made = shared_fence::create();
  REQUIRE(made);
  const followed_fence shared{made.fence};
  std::signal(SIGUSR1, [](int) { ++handled; });
  sigset_t one_signal;
  sigemptyset(&one_signal);
  sigaddset(&one_signal, SIGUSR1);
  const reached_descriptor first{shared, 1};  // starts the thread, while signals are not blocked here
  REQUIRE(pthread_sigmask(SIG_BLOCK, &one_signal, nullptr) == 0);
  REQUIRE(::kill(getpid(), SIGUSR1) == 0);
  made.fence.signal(1);
  CHECK(is_readable(first.descriptor(), for_ever));  // the thread has run
  sigset_t pending;
  REQUIRE(sigpending(&pending) == 0);
  CHECK(sigismember(&pending, SIGUSR1) == 1);
  CHECK(handled == 0);
  int taken = 0;
  CHECK(sigwait(&one_signal, &taken) == 0);
  REQUIRE(pthread_sigmask(SIG_UNBLOCK, &one_signal, nullptr) == 0);
  std::signal(SIGUSR1, SIG_DFL);
}

TEST_CASE("the child of a fork destroys its copy of a followed fence, opens its own, and must not use the copy") {
  const watchdog dog{[] { return std::string{"fork"}; }};
  auto made = shared_fence::create();
  REQUIRE(made);
  std::optional<followed_fence<shared_fence>> shared;
  shared.emplace(made.fence);
  const reached_descriptor first{*shared, 1};
  await([&] { return made.fence.monitored_value() == 0; });
  child_process child{[&] {
    shared.reset();
    auto own = shared_fence::open(made.fence.files());
    made.fence.close();
    if (!own) return 1;
    if (may_start_threads_after_fork) {
      const followed_fence follows{own.fence};
      progress_fence never;
      if (wait_any({{follows, 1}, {never, 1}}) != wait_any_result{wait_status::reached, 0}) return 2;
    }
    return own.fence.signal(2) ? 0 : 3;
  }};
  made.fence.signal(1);
  CHECK(made.fence.wait(2) == wait_status::reached);
  CHECK(child.wait() == 0);
  CHECK(is_readable(first.descriptor(), for_ever));
  CHECK(reported_by([&] { static_cast<void>(shared->add_hook(3, timeline_hook{})); }) ==
        "the child of a fork must not use a followed_fence of its parent");
}

TEST_CASE("a followed fence may be made before the first attachment of its process is opened") {
  if (!may_start_threads_after_fork) return;
  child_process child{[] {  // a new process, without attachments
    shared_fence later;
    const followed_fence follows{later};
    auto made = shared_fence::create();
    if (!made) return 1;
    later = std::move(made.fence);
    const reached_descriptor first{follows, 1};
    later.signal(1);
    return is_readable(first.descriptor(), for_ever) ? 0 : 2;
  }};
  CHECK(child.wait() == 0);
}

TEST_CASE("a followed fence that is destroyed before the waits for it have ended is reported") {
  auto made = shared_fence::create();
  REQUIRE(made);
  CHECK(reported_by([&] {
          auto own = shared_fence::open(made.fence.files());
          auto shared = std::make_unique<followed_fence<shared_fence>>(own.fence);
          const reached_descriptor never{*shared, 1};
          shared.reset();
        }) == "a timeline was destroyed before the waits for it had ended");
}
