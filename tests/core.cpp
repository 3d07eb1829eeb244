// SPDX-License-Identifier: BSL-1.0
//
// The lower floor through its one header, as a program would use it; nothing of the upper floor comes with it.
#include <tidemark/core.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "support/watchdog.hpp"

#if defined(TIDEMARK_QUEUE_QUEUE_HPP) || defined(TIDEMARK_TRACE_TRACE_HPP) || defined(TIDEMARK_CONTEXT_STORAGE_HPP)
#error "core.hpp includes something of the upper floor"
#endif

using namespace testing;

namespace {

struct sample {
  std::uint64_t value;
};

}  // namespace

TEST_CASE("five blocks of one program follow one timeline") {
  tidemark::progress_fence done;
  const watchdog dog{[&] { return "done: " + state_of(done); }};

  tidemark::rename_ring ring{done.view(), {.bytes = 64, .max_renames = 2}};
  const auto first = ring.map(tidemark::map_mode::discard);
  REQUIRE(first);
  first.memory[0] = std::byte{7};
  CHECK(ring.retire(first, 1));

  tidemark::ring_log<sample, 4> log;
  auto reader = log.reader();
  tidemark::split_table<std::uint64_t> table{{.max_slot = tidemark::slot_id{3}}};
  std::thread executor{[&] {
    static_cast<void>(table.apply({.allocation = std::uint64_t{9}, .slot = tidemark::slot_id{2}, .split_offset = 0}));
    table.close();
    log.append({std::to_integer<std::uint64_t>(first.memory[0])});
    done.signal(1);
  }};
  CHECK(done.wait(1) == tidemark::wait_status::reached);
  std::array<sample, 4> read{};
  CHECK(reader.read(read).entries.size() == 1);
  CHECK(read[0].value == 7);
  auto rows = table.reader();
  CHECK(rows.rows_after(0)[tidemark::slot_id{2}] == 9);
  CHECK(ring.map(tidemark::map_mode::discard).renamed == false);  // the first backing is free again
  executor.join();
}

TEST_CASE("a heap of waiters can be had without a fence") {
  tidemark::waiter_heap<8> heap;
  CHECK(heap.monitored_value() == tidemark::no_waiter);
  const auto ticket = heap.add(5);
  CHECK(heap.monitored_value() == 4);
  heap.release_due(5);
  CHECK(heap.monitored_value() == tidemark::no_waiter);
  CHECK(heap.is_released(ticket));
  CHECK_FALSE(heap.withdraw(ticket));
}
