// SPDX-License-Identifier: BSL-1.0
//
// How submissions end: which results count as a success.
#include <tidemark/queue/queue.hpp>

#include <doctest/doctest.h>

#include <type_traits>

using tidemark::submit_result;
using tidemark::submit_status;

static_assert(!std::is_convertible_v<submit_result, bool>, "only where a condition asks for it");

TEST_CASE("only a submission that was made visible counts as a success") {
  CHECK(submit_result{submit_status::submitted, 1});
  CHECK_FALSE(submit_result{submit_status::lost, 0});
}

TEST_CASE("[A84] the logs of a queue have a page of entries, unless it is told otherwise") {
  CHECK(tidemark::queue_options{}.log_entries == 84);
}
