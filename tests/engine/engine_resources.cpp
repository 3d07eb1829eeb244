// SPDX-License-Identifier: BSL-1.0
//
// What engines and what belongs to them take from the system, and what happens if they get only a part of it.
#include "support/counted_allocations.hpp"

#include <tidemark/engine/engine_queue.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <new>
#include <optional>

#include <tidemark/loop/executor_loop.hpp>

#include "support/executors.hpp"

using namespace testing;
using tidemark::wait_status;

namespace {

/// Calls `make` again and again: each time one more allocation of it succeeds, and the others fail. Returns how often
/// it has failed, with an exception, until it succeeds.
template <class Make>
std::size_t failures_of(const Make& make) {
  for (std::size_t spared = 0;; ++spared) {
    try {
      const counted_allocations none(true, spared);
      make();
      return spared;
    } catch (const std::bad_alloc&) {
      continue;
    }
  }
}

void check_that_it_works(tidemark::engine& on) {
  bool has_run = false;
  tidemark::engine_queue queue{on};
  queue.run([&] { has_run = true; });
  REQUIRE(queue.submit());
  CHECK(queue.drain() == wait_status::reached);
  CHECK(has_run);
}

}  // namespace

// The start of a thread allocates, so it is one of the allocations that fail.

TEST_CASE("an engine of which a later thread can't be started throws, and leaves no thread behind") {
  CHECK(failures_of([] { tidemark::engine on{{.threads = 3}}; }) >= 4);  // the list of the threads, and each of them
  std::optional<tidemark::engine> made;
  CHECK(failures_of([&] { made.emplace(tidemark::engine_options{.threads = 3}); }) >= 4);
  check_that_it_works(*made);
}

TEST_CASE("make() returns no engine where a thread can't be started, and throws nothing") {
  std::size_t refused = 0;
  for (bool is_made = false; !is_made;) {
    const std::optional<tidemark::engine> made = [&] {
      const counted_allocations none(true, refused);
      return tidemark::engine::make({.threads = 3});
    }();
    is_made = made.has_value();
    refused += is_made ? 0 : 1;
  }
  CHECK(refused >= 4);
  auto made = tidemark::engine::make({.threads = 2, .name = "compute"});
  REQUIRE(made.has_value());
  check_that_it_works(*made);
}

TEST_CASE("a queue of an engine for which there is no memory leaves nothing in its engine") {
  tidemark::engine on;
  CHECK(failures_of([&] { tidemark::engine_queue queue{on}; }) >= 2);  // its logs
  CHECK(on.why_waiting().waits.empty());
  std::optional<tidemark::engine_queue> queue;
  failures_of([&] { queue.emplace(on); });
  on.abort();
  CHECK(queue->submit().status == tidemark::doorbell_status::aborted);
  queue.reset();
  check_that_it_works(on);
}

TEST_CASE("a loop for an executor for which there is no memory asks the executor for nothing") {
  manual_executor executor;
  using loop_type = tidemark::executor_loop<manual_executor>;
  std::optional<loop_type> loop;
  {
    const counted_allocations none(true);
    CHECK_THROWS_AS(loop.emplace(executor), std::bad_alloc);
  }
  CHECK(executor.ready.empty());
  loop.emplace(executor);
  bool has_run = false;
  loop->post([&] { has_run = true; });
  executor.run();
  CHECK(has_run);
}
