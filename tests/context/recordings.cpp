// SPDX-License-Identifier: BSL-1.0
//
// Recordings of contexts as what a retire queue follows.
#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <thread>

#include <tidemark/context/recordings.hpp>
#include <tidemark/memory/retire_queue.hpp>

#include "support/manual_stop.hpp"
#include "support/queues.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::wait_status;

namespace {

template <class Platform = tidemark::native_platform>
struct recordings_of_two {
  std::array<typename tidemark::context_recordings<Platform>::line, 2> lines;
  tidemark::context_recordings<Platform> recordings{lines};
};

}  // namespace

TEST_CASE("[B5] a serial is finished when no recording is open that began before it was given") {
  static_assert(tidemark::submission_queue<tidemark::context_recordings<>>);
  recordings_of_two<> at;
  CHECK(at.recordings.is_finished(at.recordings.last_queued()));
  at.recordings.begin(0);
  const std::uint64_t first = at.recordings.last_queued();
  at.recordings.begin(1);
  const std::uint64_t second = at.recordings.last_queued();
  CHECK(!at.recordings.is_finished(first));
  at.recordings.end(0);
  CHECK(at.recordings.is_finished(first));
  CHECK(!at.recordings.is_finished(second));
  at.recordings.begin(0);  // a later one
  CHECK(at.recordings.is_finished(first));
  at.recordings.end(1);
  CHECK(at.recordings.is_finished(second));
  CHECK(at.recordings.is_recording(0));
  CHECK(!at.recordings.is_recording(1));
}

TEST_CASE("[B5] each recording is told from the next one of the same context") {
  recordings_of_two<> at;
  for (int i = 0; i < 3; ++i) {
    at.recordings.begin(1);
    const std::uint64_t serial = at.recordings.last_queued();
    CHECK(!at.recordings.is_finished(serial));
    at.recordings.end(1);
    at.recordings.begin(1);
    CHECK(at.recordings.is_finished(serial));
    at.recordings.end(1);
  }
}

TEST_CASE("[B7] a thread that waits for a serial sleeps until the recording is over") {
  recordings_of_two<stepping_platform> at;
  at.recordings.begin(1);
  const std::uint64_t serial = at.recordings.last_queued();
  waiter sleeper{[&] { return at.recordings.wait_finished(serial); }};
  CHECK(sleeper.falls_asleep());
  at.recordings.end(1);
  CHECK(sleeper.status() == wait_status::reached);
}

TEST_CASE("[B7] a wait for a serial ends when it is stopped") {
  recordings_of_two<stepping_platform> at;
  at.recordings.begin(1);
  const std::uint64_t serial = at.recordings.last_queued();
  manual_stop stop;
  waiter sleeper{[&] { return at.recordings.wait_finished_until(serial, tidemark::no_deadline, stop.get_token()); }};
  CHECK(sleeper.falls_asleep());
  stop.request();
  CHECK(sleeper.status() == wait_status::stopped);
  at.recordings.end(1);
  CHECK(at.recordings.wait_finished_until(serial, tidemark::no_deadline, stop.get_token()) == wait_status::reached);
}

TEST_CASE("[B7] a wait for a serial ends at its deadline") {
  recordings_of_two<> at;
  at.recordings.begin(0);
  const std::uint64_t serial = at.recordings.last_queued();
  const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds{1};
  CHECK(at.recordings.wait_finished_until(serial, soon) == wait_status::timeout);
  CHECK(at.recordings.wait_finished_until(serial, {}) == wait_status::timeout);
  at.recordings.end(0);
  CHECK(at.recordings.wait_finished_until(serial, {}) == wait_status::reached);
}
