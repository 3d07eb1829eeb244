// SPDX-License-Identifier: BSL-1.0
//
// The descriptor of a loop, with which another event loop serves it.
#include <doctest/doctest.h>

#if defined(__linux__)

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <sys/epoll.h>
#include <unistd.h>

#include <tidemark/loop/wait_loop.hpp>

#include "support/coroutine.hpp"
#include "support/loop_kinds.hpp"
#include "support/no_descriptors.hpp"
#include "support/random.hpp"
#include "support/readable.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::run_status;
using tidemark::wait_status;

TEST_CASE_TEMPLATE("[A19] a loop's descriptor is readable at first, and then when something is due", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence fence;
  std::vector<int> ran;
  const int descriptor = loop.descriptor();
  REQUIRE(descriptor >= 0);
  CHECK(loop.descriptor() == descriptor);
  CHECK(is_readable(descriptor));
  CHECK(loop.poll() == 0);
  CHECK(!is_readable(descriptor));

  auto first = loop.on_reached(fence, 1, [&] { ran.push_back(1); });
  auto third = loop.on_reached(fence, 3, [&] { ran.push_back(3); });
  CHECK(!is_readable(descriptor));
  fence.signal(2);
  CHECK(is_readable(descriptor));
  CHECK(loop.poll() == 1);
  CHECK(!is_readable(descriptor));
  fence.signal(3);
  CHECK(is_readable(descriptor));
  CHECK(loop.poll() == 1);
  CHECK(ran == std::vector{1, 3});
}

TEST_CASE_TEMPLATE("[A123] a registration for a reached value makes the descriptor readable", Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence fence{1};
  const int descriptor = loop.descriptor();
  loop.poll();
  auto reached = loop.on_reached(fence, 1, [] {});
  CHECK(is_readable(descriptor));
  CHECK(loop.poll() == 1);
  auto cancelled = loop.on_reached(fence, 2, [] {});
  static_cast<void>(cancelled.cancel());
  CHECK(!is_readable(descriptor));
  CHECK(is_idle(fence));
}

TEST_CASE_TEMPLATE("what is posted makes the descriptor readable, also from a callable that poll() runs", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  int runs = 0;
  const int descriptor = loop.descriptor();
  loop.poll();
  loop.post([&] {
    ++runs;
    loop.post([&] { ++runs; });
  });
  CHECK(is_readable(descriptor));
  CHECK(loop.poll() == 1);
  CHECK(is_readable(descriptor));
  CHECK(loop.poll() == 1);
  CHECK(!is_readable(descriptor));
  CHECK(runs == 2);
}

TEST_CASE_TEMPLATE("[A14] the descriptor is readable when a deadline has passed, and not before", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence fence;
  const int descriptor = loop.descriptor();
  loop.poll();
  std::vector<wait_status> ends;
  const auto wait = [&](std::chrono::milliseconds most) -> coroutine {
    ends.push_back(co_await loop.reached_for(fence, 1, most));
  };
  const auto begin = std::chrono::steady_clock::now();
  const coroutine later = wait(40ms);
  const coroutine sooner = wait(20ms);
  while (ends.empty()) {
    CHECK(is_readable(descriptor, for_ever));
    loop.poll();
  }
  CHECK(std::chrono::steady_clock::now() - begin >= 20ms);
  while (ends.size() == 1) {
    CHECK(is_readable(descriptor, for_ever));
    loop.poll();
  }
  CHECK(std::chrono::steady_clock::now() - begin >= 40ms);
  CHECK(ends == std::vector{wait_status::timeout, wait_status::timeout});
  CHECK(!is_readable(descriptor));
}

TEST_CASE_TEMPLATE("[A14] where a full heap must not grow, the descriptor is readable soon all the same", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  tidemark::basic_fence<typename Kind::platform,
                        tidemark::fence_options{.capacity = 1, .growth = tidemark::heap_growth::forbidden}>
      fence;
  const int descriptor = loop.descriptor();
  loop.poll();
  bool has_run = false;
  typename Kind::loop other;
  CHECK(other.descriptor() >= 0);
  CHECK(other.poll() == 0);
  auto takes_the_slot = other.on_reached(fence, 5, [] {});
  auto refused = loop.on_reached(fence, 1, [&] { has_run = true; });
  fence.signal(1);
  do {
    CHECK(is_readable(descriptor, for_ever));
  } while (loop.poll() == 0);
  CHECK(has_run);
  CHECK(takes_the_slot.cancel() == tidemark::callback_state::cancelled);
}

TEST_CASE_TEMPLATE("what a callable throws comes out of poll(), and the rest keeps the descriptor readable", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  const int descriptor = loop.descriptor();
  loop.poll();
  loop.post([] { throw std::runtime_error("posted"); });
  loop.post([] {});
  CHECK_THROWS_AS(loop.poll(), std::runtime_error);
  CHECK(is_readable(descriptor));
  CHECK(loop.poll() == 1);
  CHECK(!is_readable(descriptor));
}

TEST_CASE_TEMPLATE("a callable may poll the loop itself, and the descriptor tells what is left", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  const int descriptor = loop.descriptor();
  std::size_t inside = 0;
  loop.post([&] {
    inside = loop.poll();
    loop.post([] {});
  });
  loop.post([] {});
  CHECK(loop.poll() == 1);
  CHECK(inside == 1);
  CHECK(is_readable(descriptor));
  CHECK(loop.poll() == 1);
  CHECK(!is_readable(descriptor));
}

TEST_CASE_TEMPLATE("a stop makes the descriptor readable once, and restart() again if something is ready", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  const int descriptor = loop.descriptor();
  loop.poll();
  loop.stop();
  CHECK(is_readable(descriptor));
  CHECK(loop.poll() == 0);
  loop.post([] {});
  CHECK(!is_readable(descriptor));
  loop.restart();
  CHECK(is_readable(descriptor));
  CHECK(loop.poll() == 1);
  CHECK(!is_readable(descriptor));
}

TEST_CASE("a descriptor that the system refuses is reported, and may be asked for again") {
  tidemark::wait_loop loop;
  {
    const no_descriptors left;
    errno = 0;
    CHECK(loop.descriptor() == -1);
    CHECK(errno == EMFILE);
  }
  CHECK(loop.poll() == 0);
  const int descriptor = loop.descriptor();
  CHECK(descriptor >= 0);
  CHECK(is_readable(descriptor));
}

TEST_CASE_TEMPLATE("[A28] [A37] an epoll loop and a thread in run() follow random signals of two threads and lose none",
                   Kind, EVERY_LOOP_KIND) {
  constexpr std::uint64_t last = 4'000;
  std::atomic<std::size_t> runs{0};
  const std::uint64_t seed = fresh_seed();
  const watchdog dog{[&] { return std::to_string(runs) + " ran; seed " + std::to_string(seed); }};
  random_numbers random{seed};
  typename Kind::loop loop;
  typename Kind::fence fences[2];
  // Without the thread in run(), those of each fence run in order.
  for (const bool has_runner : {false, true}) {
    runs = 0;
    std::vector<std::uint64_t> order[2];
    const std::uint64_t first = has_runner ? last : 0;
    std::list<typename Kind::any_callback> waits;
    for (std::size_t i = 0; i < 2; ++i) {
      for (std::uint64_t target = first + 1; target <= first + last; target += 1 + random.below(std::uint64_t{3})) {
        waits.emplace_back(loop, typename Kind::awaited(fences[i], target), [&, i, target] {
          if (!has_runner) order[i].push_back(target);
          runs.fetch_add(1, std::memory_order_relaxed);
        });
      }
    }
    const std::size_t all = waits.size();
    std::thread signallers[2];
    for (std::size_t i = 0; i < 2; ++i) {
      signallers[i] = std::thread([&fences, first, i] {
        for (std::uint64_t value = first + 1; value <= first + last; ++value) fences[i].signal(value);
      });
    }
    std::optional<std::thread> runner;
    if (has_runner) {
      runner.emplace([&] { CHECK(loop.run() == run_status::stopped); });
    }
    const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
    epoll_event event{};
    event.events = EPOLLIN;
    REQUIRE(::epoll_ctl(epoll, EPOLL_CTL_ADD, loop.descriptor(), &event) == 0);
    while (runs.load(std::memory_order_relaxed) < all) {
      // With a runner, that may run the last one.
      if (has_event(epoll, has_runner ? 1 : for_ever)) loop.poll();
    }
    ::close(epoll);
    for (std::thread& each : signallers) each.join();
    if (runner) {
      loop.stop();
      runner->join();
      loop.restart();
    }
    CHECK(runs.load() == all);
    for (const auto& each : order) CHECK(std::is_sorted(each.begin(), each.end()));
    for (auto& each : waits) CHECK(each.state() == tidemark::callback_state::ran);
  }
}

#endif
