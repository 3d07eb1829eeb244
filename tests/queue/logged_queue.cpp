// SPDX-License-Identifier: BSL-1.0
//
// What a queue says of its logs to other threads than its executor. Reading and replacing logs is in queue_log.cpp,
// reserving in log_reservation.cpp.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

#include <tidemark/log/mapped_log.hpp>
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

TEST_CASE("[A92] a queue that was given a place tells when it has made the log there, and refuses no place") {
  using word = stepping_platform::atomic<std::uint64_t>;
  using place = tidemark::log_place<word>;
  struct alignas(64) page {
    std::array<std::byte, 1024> bytes{};
  };
  page memory;
  word made{0};
  lone_queue at;
  CHECK_FALSE(at.queue.set_log(fence_log_type::signal, place{}));
  CHECK(at.queue.set_log(fence_log_type::signal, place{memory.bytes, tidemark::log_location{5}, &made}));
  CHECK(made.load(std::memory_order_relaxed) == 0);
  at.queue.complete();
  CHECK(made.load(std::memory_order_relaxed) == 5);
  auto opened =
      tidemark::mapped_log_reader<fence_log_entry, stepping_platform>::open(memory.bytes, fence_log_type::signal);
  REQUIRE(opened);
  std::array<fence_log_entry, 4> buffer;
  CHECK(opened.reader->read(buffer).entries.size() == 1);
  CHECK(opened.reader->end_sequence() == 1);
}
