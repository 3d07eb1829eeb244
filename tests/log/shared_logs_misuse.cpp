// SPDX-License-Identifier: BSL-1.0
//
// Logs that are not there, and numbers of entries that no log has, break nothing where the hook of TIDEMARK_ASSERT
// returns: it notes the text.
#include "support/noted_misuse.hpp"

#include <tidemark/log/shared_logs.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>

using namespace testing;
using namespace tidemark;

TEST_CASE("a log that a reader does not have is asserted, and is empty") {
  auto made = shared_logs::create();
  REQUIRE(made);
  auto opened = shared_logs_reader::open(made.logs.files());
  REQUIRE(opened);
  std::array<fence_log_entry, 2> buffer;
  const texts said{"a directory has no log of this number"};
  CHECK(opened.logs.at(0).writer == 0);
  CHECK(take_said() == said);
  CHECK_FALSE(opened.logs.has_new(0));
  CHECK(take_said() == said);
  const auto batch = opened.logs.read(0, buffer);
  CHECK(batch.entries.empty());
  CHECK(batch.lost == 0);
  CHECK(take_said() == said);
}

TEST_CASE("a number of entries that no log has is asserted, and there is no place") {
  auto made = shared_logs::create();
  REQUIRE(made);
  for (const std::size_t entries : {std::size_t{0}, std::size_t{1}, std::size_t{UINT32_MAX}}) {
    CHECK_FALSE(made.logs.take(queue_id{1}, fence_log_type::signal, entries));
    CHECK(take_said() == texts{"a ring log needs at least two entries and fewer than 2^31"});
  }
  CHECK(made.logs.take(queue_id{1}, fence_log_type::signal, 2));
  CHECK(take_said().empty());
}
