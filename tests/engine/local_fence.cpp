// SPDX-License-Identifier: BSL-1.0
//
// Fences that only queues of engines wait for.
#include <tidemark/engine/local_fence.hpp>

#include <doctest/doctest.h>

#include <cstdint>

#include "support/loop_kinds.hpp"

using namespace testing;
using tidemark::value_storage;

namespace {

template <class Kind>
using queue_of = tidemark::basic_engine_queue<typename Kind::platform, tidemark::no_log_clock>;

template <class Fence>
concept threads_can_wait = requires(const Fence& fence) { fence.wait(1); };
template <class Fence>
concept shows_monitored_value = requires(const Fence& fence) { fence.monitored_value(); };

}  // namespace

TEST_CASE("threads can't wait for a local fence, and it has no monitored value [A53]") {
  using tidemark::local_fence;
  static_assert(!threads_can_wait<local_fence> && threads_can_wait<tidemark::fence>);
  static_assert(!shows_monitored_value<local_fence> && shows_monitored_value<tidemark::fence>);
  static_assert(!tidemark::timeline<local_fence>);
  static_assert(!tidemark::wait_loop::is_awaited<local_fence>);
  static_assert(tidemark::notified_fence<local_fence>);
  local_fence only_signalled{4};
  CHECK_FALSE(only_signalled.signal(4));
  CHECK(only_signalled.signal_next() == 5);
  CHECK(only_signalled.is_reached(5));
}

TEST_CASE_TEMPLATE(
    "queues of an engine wait for a local fence, and its value may lie in memory of a device [A24] [A53]", Kind,
    EVERY_LOOP_KIND) {
  alignas(8) std::uint64_t in_device = 99;
  tidemark::basic_local_fence<typename Kind::platform, value_storage::caller> copied{&in_device, 1};
  tidemark::basic_engine<typename Kind::platform> on{{.threads = 0}};
  const auto step = [&] {
    while (on.loop().poll() != 0) {
    }
  };
  queue_of<Kind> waits{on};
  queue_of<Kind> held_kind{on, {.kind = tidemark::domain_kind::legacy}};
  queue_of<Kind> signals{on};
  int ran = 0;
  for (queue_of<Kind>* each : {&waits, &held_kind}) {
    each->wait(copied, 2);
    each->run([&] { ++ran; });
    REQUIRE(each->submit());
  }
  step();
  CHECK(ran == 0);
  CHECK(on.why_waiting().waits.size() == 2);
  signals.signal(copied, 2);
  REQUIRE(signals.submit());
  step();
  CHECK(ran == 2);
  CHECK(in_device == 2);
}
