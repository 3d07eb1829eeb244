// SPDX-License-Identifier: BSL-1.0
//
// All ways to follow a fence, at the same time: threads that wait, callables that write to an eventfd, and loops that
// poll(), epoll and io_urings serve.
#include <doctest/doctest.h>

#if defined(__linux__)

#include <cstddef>
#include <cstdint>
#include <functional>
#include <latch>
#include <list>
#include <thread>
#include <vector>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <tidemark/fence/signaller_callback.hpp>
#include <tidemark/loop/loop_uring.hpp>
#include <tidemark/loop/wait_loop.hpp>

#include "support/loop_kinds.hpp"
#include "support/random.hpp"
#include "support/readable.hpp"
#include "support/uring.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::wait_status;

namespace {

constexpr std::uint64_t signals = 10'000'000;

/// The targets of one follower, and what it has reported.
class followed {
 public:
  explicit followed(std::uint64_t seed, std::uint64_t stream) {
    random_numbers random(seed, stream);
    for (std::uint64_t target = 0; (target += 1 + random.below(std::uint64_t{20'000})) <= signals;)
      targets_.push_back(target);
  }
  const std::vector<std::uint64_t>& targets() const { return targets_; }

  /// Reports the next target. It must have been reached.
  void report(std::uint64_t target, std::uint64_t value) {
    is_early_ = is_early_ || value < target;
    reported_.push_back(target);
  }
  bool is_complete() const { return reported_.size() >= targets_.size(); }
  /// Whether each target was reported once, in order, and none early.
  bool is_right() const { return reported_ == targets_ && !is_early_; }

 private:
  std::vector<std::uint64_t> targets_;
  std::vector<std::uint64_t> reported_;
  bool is_early_ = false;
};

template <class Kind>
void wait_in_a_thread(const typename Kind::callback_progress_fence& fence, followed& of, std::latch& ready) {
  ready.count_down();
  for (const std::uint64_t target : of.targets()) {
    if (fence.wait(target) == wait_status::reached) of.report(target, fence.current_value());
  }
}

/// Follows with a loop. All targets are registered before the first one is awaited.
/// \param make_sleep  returns for a loop what sleeps until it should be polled, and returns whether it has done so
template <class Kind, class MakeSleep>
void serve_a_loop(const typename Kind::callback_progress_fence& fence, followed& of, std::latch& ready,
                  const MakeSleep& make_sleep) {
  typename Kind::loop loop;
  std::list<typename Kind::any_callback> registered;
  for (const std::uint64_t target : of.targets()) {
    registered.emplace_back(loop, typename Kind::awaited(fence, target),
                            [&of, &fence, target] { of.report(target, fence.current_value()); });
  }
  ready.count_down();
  auto sleep = make_sleep(loop);
  while (!of.is_complete() && sleep()) loop.poll();
}

auto sleep_in_poll(auto& loop) {
  return [descriptor = loop.descriptor()] { return is_readable(descriptor, for_ever); };
}

class sleep_in_epoll {
 public:
  explicit sleep_in_epoll(int descriptor) {
    epoll_event event{};
    event.events = EPOLLIN;
    static_cast<void>(::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event));
  }
  sleep_in_epoll(const sleep_in_epoll&) = delete;
  sleep_in_epoll& operator=(const sleep_in_epoll&) = delete;
  ~sleep_in_epoll() { ::close(epoll_); }

  bool operator()() const { return has_event(epoll_, for_ever); }

 private:
  int epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
};

template <class Loop>
class sleep_in_uring {
 public:
  sleep_in_uring(Loop& loop, tidemark::uring_way way) : wait_(loop, ring_.descriptor(), way) {}

  bool operator()() {
    return ring_.submit([&](io_uring_sqe& entry) { wait_.prepare(entry); }) && ring_.take().is_complete;
  }

 private:
  uring ring_;
  tidemark::loop_uring_wait<Loop> wait_;
};

/// Follows with an eventfd, which counts the targets that were reached.
template <class Kind>
void read_an_eventfd(const typename Kind::callback_progress_fence& fence, followed& of, std::latch& ready) {
  using callback = tidemark::signaller_callback<typename Kind::callback_progress_fence, std::function<void()>>;
  const int event = ::eventfd(0, EFD_CLOEXEC);
  std::list<callback> registered;
  for (const std::uint64_t target : of.targets()) {
    registered.emplace_back(fence, target, [event] {
      const std::uint64_t one = 1;
      static_cast<void>(!::write(event, &one, sizeof one));
    });
  }
  ready.count_down();
  for (std::size_t next = 0; next < of.targets().size();) {
    std::uint64_t reached = 0;
    if (::read(event, &reached, sizeof reached) != sizeof reached) break;
    const std::uint64_t value = fence.current_value();
    for (; reached != 0 && next < of.targets().size(); --reached) of.report(of.targets()[next++], value);
    // More than there are.
    if (reached != 0) of.report(0, 0);
  }
  registered.clear();
  ::close(event);
}

}  // namespace

TEST_CASE_TEMPLATE(
    "[A19] [A37] an eventfd, four loops and two threads follow one fence: each reports every target once, in order",
    Kind, testing::native_loop, testing::symmetric_loop) {
  const std::uint64_t seed = fresh_seed();
  typename Kind::callback_progress_fence fence;
  const watchdog dog([&] { return state_of(fence); });
  std::list<followed> all;
  const auto next = [&]() -> followed& { return all.emplace_back(seed, all.size()); };
  std::vector<std::thread> threads;
  const bool has_uring = uring().is_open();
  // Nobody signals before all are registered.
  std::latch ready(has_uring ? 7 : 5);
  for (int i = 0; i < 2; ++i) threads.emplace_back([&, &of = next()] { wait_in_a_thread<Kind>(fence, of, ready); });
  threads.emplace_back([&, &of = next()] { read_an_eventfd<Kind>(fence, of, ready); });
  using loop = typename Kind::loop;
  const auto follow = [&](const auto& make_sleep) {
    threads.emplace_back([&, make_sleep, &of = next()] { serve_a_loop<Kind>(fence, of, ready, make_sleep); });
  };
  follow([](loop& served) { return sleep_in_poll(served); });
  follow([](loop& served) { return sleep_in_epoll(served.descriptor()); });
  if (has_uring) {
    // By the kernel's futex operation where there is one, and by a poll.
    for (const auto way : {tidemark::uring_way::futex, tidemark::uring_way::poll})
      follow([way](loop& served) { return sleep_in_uring<loop>(served, way); });
  } else {
    MESSAGE("no follower uses an io_uring, because the system refuses it");
  }
  ready.wait();
  for (std::uint64_t value = 1; value <= signals; ++value) fence.signal(value);
  for (std::thread& one : threads) one.join();
  for (const followed& one : all) CHECK(one.is_right());
  CHECK(is_idle(fence));
}

#endif
