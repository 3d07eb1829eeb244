// SPDX-License-Identifier: BSL-1.0
//
// Hubs that loops serve.
#include <tidemark/hub/loop_served.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include <tidemark/hub/hub.hpp>

#include "support/coroutine.hpp"
#include "support/loop_kinds.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::hub_event;
using tidemark::run_status;
using tidemark::wait_status;

namespace {

template <class Kind>
using served = tidemark::basic_loop_served<typename Kind::platform>;
template <class Kind>
using hub_of = tidemark::basic_hub<typename Kind::platform, served<Kind>, 8, 4>;
template <class Kind>
using queue_of =
    tidemark::basic_queue<typename Kind::progress_fence, tidemark::no_log_clock, tidemark::hub_notifier<hub_of<Kind>>>;

}  // namespace

TEST_CASE_TEMPLATE("[A59] a notification asks the loop to serve once, and the loop releases who is due", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence fence;
  hub_of<Kind> hub{served<Kind>{loop}};
  const auto known = hub.add(fence).fence;
  waiter waiting{[&] { return fence.wait(1); }};
  CHECK(waiting.falls_asleep());
  CHECK(fence.publish(1));
  hub.notify(known.id);
  hub.notify(known.id);
  hub.notify_all();
  CHECK_FALSE(waiting.has_returned());
  CHECK(loop.poll() == 1);
  CHECK(waiting.status() == wait_status::reached);
  CHECK(hub.count(hub_event::pass) == 1);
  CHECK(loop.poll() == 0);
}

TEST_CASE_TEMPLATE("a thread in run() serves a queue's signals, and runs the coroutines that wait for them", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::progress_fence finished;
  hub_of<Kind> hub{served<Kind>{loop}};
  queue_of<Kind> queue{finished, {.log_entries = 16}};
  REQUIRE(hub.attach(queue));
  constexpr std::uint64_t last = 200;
  std::uint64_t data = 0;
  std::uint64_t seen = 0;
  const auto follow = [&]() -> coroutine {
    for (std::uint64_t value = 1; value <= last; ++value) {
      CHECK(co_await loop.reached(finished, value) == wait_status::reached);
      if (data >= value) ++seen;
    }
    loop.stop();
  };
  typename Kind::fence echoed;
  auto echo = loop.on_reached(finished, last, [&] { echoed.signal(1); });
  const coroutine following = follow();
  std::atomic<bool> begins{false};
  const background executor{[&] {
    await([&] { return begins.load(); });
    data = last;
    for (std::uint64_t value = 1; value <= last; ++value) queue.complete();
  }};
  begins = true;
  CHECK(loop.run() == run_status::stopped);
  loop.restart();
  while (echo.state() == tidemark::callback_state::waiting) CHECK(loop.run_one() == run_status::ran);
  CHECK(echoed.current_value() == 1);
  CHECK(seen == last);
  await([&] { return executor.has_returned(); });
}

TEST_CASE_TEMPLATE("a hub that ends takes its request back from the loop, or waits until the loop has served it", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  std::optional<hub_of<Kind>> hub(std::in_place, served<Kind>{loop});
  hub->notify_all();
  hub.reset();
  CHECK(loop.poll() == 0);

  const background runner{[&] { CHECK(loop.run() == run_status::stopped); }};
  for (int round = 0; round < 200; ++round) {
    hub.emplace(served<Kind>{loop});
    hub->notify_all();
    hub.reset();
  }
  loop.stop();
  await([&] { return runner.has_returned(); });
}

TEST_CASE_TEMPLATE("[A61] queues come and go at a hub that a loop serves, and no waiter is forgotten", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  hub_of<Kind> hub{served<Kind>{loop}};
  const background runner{[&] { CHECK(loop.run() == run_status::stopped); }};
  for (int round = 0; round < 100; ++round) {
    typename Kind::progress_fence finished;
    queue_of<Kind> queue{finished, {.log_entries = 2}};
    const auto attached = hub.attach(queue);
    REQUIRE(attached);
    waiter waiting{[&] { return finished.wait(3); }};
    for (int i = 0; i < 3; ++i) queue.complete();
    hub.detach(attached.queue);
    CHECK(waiting.status() == wait_status::reached);
    hub.remove(*attached.progress);
  }
  loop.stop();
  await([&] { return runner.has_returned(); });
}
