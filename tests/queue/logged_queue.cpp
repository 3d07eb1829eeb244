// SPDX-License-Identifier: BSL-1.0
//
// What a queue says of its logs to other threads than its executor. Reading and replacing logs is in queue_log.cpp,
// reserving in log_reservation.cpp.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include <tidemark/queue/logged_queue.hpp>
#include <tidemark/queue/queue.hpp>
#include <tidemark/trace/trace.hpp>

#include "support/queues.hpp"

using namespace testing;
using tidemark::verbose_events;

TEST_CASE("[A119] a thread that records commands is told which verbose events are turned on") {
  lone_queue at;
  const auto& queue = at.queue;
  CHECK(queue.verbose_wanted() == verbose_events::none);
  at.queue.enable_verbose(verbose_events::stalls);
  CHECK(queue.verbose_wanted() == verbose_events::stalls);
  at.queue.enable_verbose(verbose_events::all, 4);
  CHECK(queue.verbose_wanted() == verbose_events::all);
  at.queue.enable_verbose(verbose_events::none);
  CHECK(queue.verbose_wanted() == verbose_events::none);
}

TEST_CASE("[A119] a thread that is told that verbose events are turned on finds what was made ready before") {
  lone_queue at;
  std::uint64_t ready = 0;
  std::thread recording([&] {
    while (at.queue.verbose_wanted() == verbose_events::none) std::this_thread::yield();
    CHECK(ready == 42);
  });
  ready = 42;
  at.queue.enable_verbose(verbose_events::notifications);
  recording.join();
}

TEST_CASE("[A119] asking what is verbose is one look") {
  using looking = looking_platform<tidemark::native_platform>;
  tidemark::basic_progress_fence<looking> own;
  const tidemark::basic_queue<tidemark::basic_progress_fence<looking>, ticking_clock> queue{own};
  looking::looks = 0;
  CHECK(queue.verbose_wanted() == verbose_events::none);
  CHECK(looking::looks == 1);
}

TEST_CASE("[A83][A119] a queue without logs wants no verbose events") {
  using recorder = tidemark::direct_recorder<tidemark::trace, ticking_clock>;
  tidemark::trace trace;
  progress own;
  tidemark::basic_queue<progress, ticking_clock, tidemark::self_service, recorder> queue{
      own, {}, {}, recorder{trace, queue_id{1}}};
  CHECK(queue.verbose_wanted() == verbose_events::none);
}
