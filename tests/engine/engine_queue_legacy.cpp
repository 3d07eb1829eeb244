// SPDX-License-Identifier: BSL-1.0
//
// Queues of the older kind: their type has no logs, nothing is allocated for any, and who wants to know what they
// execute is told at once.
#include "support/misuse_hook.hpp"

#include "support/counted_allocations.hpp"

#include <tidemark/engine/domain.hpp>
#include <tidemark/engine/engine_queue.hpp>
#include <tidemark/engine/unbroken_run.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/loop_kinds.hpp"
#include "support/queues.hpp"

using namespace testing;
using tidemark::domain_kind;
using tidemark::wait_status;

namespace {

template <class Kind>
using logged_queue_of = tidemark::basic_engine_queue<typename Kind::platform, ticking_clock>;
template <class Kind>
using legacy_queue_of = tidemark::basic_legacy_queue<typename Kind::platform, ticking_clock>;

/// A domain of a kind with one engine, whose loop the test runs.
template <class Kind>
struct side {
  explicit side(domain_kind kind) : in{on.loop(), {.kind = kind}} {}
  void step() {
    while (on.loop().poll() != 0) {
    }
  }
  tidemark::basic_engine<typename Kind::platform> on{{.threads = 0}};
  tidemark::basic_domain<typename Kind::platform> in;
};

/// Keeps what a direct_recorder tells.
struct told_entries {
  template <class>
  void on_executed(queue_id, const fence_log_entry& entry) {
    entries.push_back(entry);
  }
  void on_lost(queue_id, fence_log_type, std::uint64_t, std::uint64_t) { FAIL("there is nothing to lose"); }
  std::vector<fence_log_entry> entries;
};
using told_recorder = tidemark::direct_recorder<told_entries, ticking_clock>;

template <class Queue>
concept has_logs_to_read = requires(Queue& queue) { queue.timeline().wait_log(); } || requires(Queue& queue) {
  queue.timeline().signal_log();
} || requires(Queue& queue) { queue.timeline().verbose_log(); };
template <class Queue>
concept reserves_entries = requires(Queue& queue) { queue.timeline().wait_reserver(); } || requires(Queue& queue) {
  queue.timeline().signal_reserver();
} || requires(Queue& queue, tidemark::log_reservation entry) { queue.submit(entry); };
template <class Queue>
concept sizes_logs = requires(typename Queue::options_type options) { options.log_entries; } ||
                     requires(Queue& queue) { queue.timeline().enable_tracing(); };
/// Whether there is a legacy queue with this recorder.
template <class Recorder>
concept fits_legacy = requires {
  typename tidemark::basic_legacy_queue<tidemark::native_platform, tidemark::default_log_clock, tidemark::self_service,
                                        Recorder>;
};

}  // namespace

TEST_CASE("[A83] the type of a legacy queue has no logs, and none of the functions and options of logs") {
  using tidemark::engine_queue;
  using tidemark::legacy_queue;
  static_assert(!legacy_queue::timeline_type::has_logs && engine_queue::timeline_type::has_logs);
  static_assert(!has_logs_to_read<legacy_queue> && has_logs_to_read<engine_queue>);
  static_assert(!reserves_entries<legacy_queue> && reserves_entries<engine_queue>);
  static_assert(!sizes_logs<legacy_queue> && sizes_logs<engine_queue>);
  static_assert(fits_legacy<tidemark::no_recorder> && fits_legacy<told_recorder>);
  static_assert(!fits_legacy<tidemark::log_recorder<tidemark::native_platform>>);
  CHECK(sizeof(legacy_queue) < sizeof(engine_queue));
}

TEST_CASE_TEMPLATE("[A83] no log of a legacy queue is allocated, neither when it is made nor when it executes", Kind,
                   EVERY_LOOP_KIND) {
  side<Kind> near{domain_kind::legacy};
  side<Kind> native{domain_kind::native};
  tidemark::basic_cross_fence<typename Kind::platform> shared;
  tidemark::basic_attachment<typename Kind::platform> ready{shared, near.in};
  {  // the engines have room for a queue afterwards
    legacy_queue_of<Kind> first{near.on};
    logged_queue_of<Kind> other{native.on};
  }
  std::size_t with_logs = 0;
  {
    const counted_allocations during;
    const logged_queue_of<Kind> queue{native.on};
    with_logs = during.count();
  }
  CHECK(with_logs >= 2);

  std::optional<legacy_queue_of<Kind>> queue;
  {
    const counted_allocations during;
    queue.emplace(near.on);
    CHECK(during.count() == 0);
  }
  const auto record = [&](std::uint64_t value) {
    queue->wait(ready, value);
    queue->signal(ready, value + 1);
    REQUIRE(queue->submit());
  };
  record(1);
  near.step();
  ready.signal(1);
  near.step();
  record(3);
  const counted_allocations during;
  near.step();
  static_cast<void>(ready.signal(3));
  near.step();
  const std::size_t allocated = during.count();
  CHECK(allocated == 0);
  CHECK(ready.current_value() == 4);
  CHECK(queue->is_idle());
  CHECK(ready.counts().held_queues == 2);
}

TEST_CASE_TEMPLATE(
    "[A5] [A80] [A83] [A124] a sink is told at once what a legacy queue executes, and what it never will", Kind,
    EVERY_LOOP_KIND) {
  using queue_type =
      tidemark::basic_legacy_queue<typename Kind::platform, ticking_clock, tidemark::self_service, told_recorder>;
  side<Kind> near{domain_kind::legacy};
  tidemark::basic_cross_fence<typename Kind::platform> shared;
  tidemark::basic_attachment<typename Kind::platform> ready{shared, near.in};
  const logged_fence logged{&ready, other_id};
  told_entries told;
  std::optional<queue_type> queue{std::in_place, near.on, tidemark::legacy_queue_options{.progress = own_id},
                                  tidemark::self_service{}, told_recorder{told, queue_id{3}}};
  queue->wait(logged, 1);
  queue->wait(logged, 2);
  queue->signal(logged, 3);
  REQUIRE(queue->submit());
  near.step();
  CHECK(told.entries.empty());
  ready.signal(1);
  near.step();
  REQUIRE(told.entries.size() == 1);
  CHECK(told.entries[0].fence_value == 1);
  CHECK(told.entries[0].operation == fence_operation::wait_unblocked);
  CHECK(told.entries[0].observed_timestamp != 0);  // it was held
  CHECK(told.entries[0].end_timestamp > told.entries[0].observed_timestamp);
  SUBCASE("it executes all") {
    ready.signal(2);
    near.step();
    REQUIRE(told.entries.size() == 4);
    for (const auto& entry : told.entries) CHECK_FALSE(is_cancelled(entry));
  }
  SUBCASE("it is aborted while it is held") {
    queue->abort();
    near.step();
    REQUIRE(told.entries.size() == 4);
    for (std::size_t i = 1; i < 4; ++i) CHECK(is_cancelled(told.entries[i]));
  }
  SUBCASE("its timeline is lost") {
    ready.poison();
    near.step();
    REQUIRE(told.entries.size() == 4);
    for (std::size_t i = 1; i < 4; ++i) CHECK(is_cancelled(told.entries[i]));
  }
  SUBCASE("it is destroyed while it is held") {
    queue.reset();
    REQUIRE(told.entries.size() == 4);
    for (std::size_t i = 1; i < 4; ++i) CHECK(is_cancelled(told.entries[i]));
  }
  CHECK(told.entries[1].fence_value == 2);
  CHECK(told.entries[2].fence_value == 3);
  CHECK(told.entries[3].fence == own_id);
}

TEST_CASE("[A83] a legacy queue may be given its progress, and has unbroken runs and reports as others do") {
  tidemark::engine on{{.threads = 0}};
  tidemark::fence drawn{3};
  tidemark::fence input;
  tidemark::basic_legacy_queue<tidemark::native_platform, tidemark::no_log_clock, tidemark::self_service,
                               tidemark::no_recorder, tidemark::fence>
      queue{on, drawn, {.name = "old"}};
  std::string order;
  queue.wait(input, 1);
  {
    tidemark::unbroken_run run{queue};
    run.run([&] { order += "page in, "; });
    run.run([&] { order += "draw"; });
  }
  REQUIRE(queue.submit());
  while (on.loop().poll() != 0) {
  }
  const auto report = on.why_waiting();
  REQUIRE(report.waits.size() == 1);
  CHECK(report.waits[0].queue.name == "old");
  input.signal(1);
  while (on.loop().poll() != 0) {
  }
  CHECK(order == "page in, draw");
  CHECK(drawn.current_value() == 4);
}

TEST_CASE("[A83] a queue with logs that uses a fence of a legacy domain is noticed") {
  const auto use = [](const auto& how) {
    return reported_by([&] {
      tidemark::engine on{{.threads = 0}};
      tidemark::domain old{on.loop(), {.kind = domain_kind::legacy}};
      tidemark::cross_fence shared;
      tidemark::attachment ready{shared, old};
      how(on, ready);
    });
  };
  const std::string noticed = "a queue with logs used a fence of a legacy domain";
  CHECK(use([](auto& on, auto& ready) { tidemark::engine_queue{on}.wait(ready, 1); }) == noticed);
  CHECK(use([](auto& on, auto& ready) { tidemark::engine_queue{on}.signal(ready, 1); }) == noticed);
  CHECK(use([](auto& on, auto& ready) { const tidemark::basic_engine_queue queue{on, ready}; }) == noticed);
  CHECK(use([](auto& on, auto& ready) {
          tidemark::engine_queue queue{on};
          queue.wait(ready, 1, queue.timeline().wait_reserver().reserve());
        }) == noticed);
  CHECK(use([](auto& on, auto& ready) {
          tidemark::engine_queue queue{on};
          queue.signal(ready, 1, queue.timeline().signal_reserver().reserve());
        }) == noticed);
  CHECK(use([](auto& on, auto& ready) {
          tidemark::legacy_queue queue{on};
          queue.wait(ready, 0);
          queue.signal(ready, 1);
          static_cast<void>(queue.submit());
          while (on.loop().poll() != 0) {
          }
        }).empty());
}
