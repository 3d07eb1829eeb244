// SPDX-License-Identifier: BSL-1.0
//
// What the doorbell of an engine's queue answers: which answers count as a success; and what such a queue is told when
// it is told nothing.
#include <tidemark/engine/engine_queue.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <type_traits>

using tidemark::doorbell_result;
using tidemark::doorbell_status;
using tidemark::engine_queue_options;

static_assert(!std::is_convertible_v<doorbell_result, bool>, "only where a condition asks for it");

TEST_CASE("[A122] only a submission that was accepted counts as a success") {
  CHECK(doorbell_result{doorbell_status::accepted, 1});
  CHECK_FALSE(doorbell_result{doorbell_status::retry, 0});
  CHECK_FALSE(doorbell_result{doorbell_status::aborted, 0});
}

TEST_CASE("[A84] [A122] unless it is told otherwise, a queue has logs of a page, and takes any number of submissions") {
  CHECK(engine_queue_options{}.log_entries == 84);
  CHECK(engine_queue_options{}.most_submissions == UINT64_MAX);
  CHECK(engine_queue_options{}.quantum >= 1);
}
