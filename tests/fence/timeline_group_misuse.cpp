// SPDX-License-Identifier: BSL-1.0
//
// Misuse of groups of timelines that is reported.
#include "support/misuse_hook.hpp"

#include <cstdint>
#include <optional>

#include <doctest/doctest.h>

#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/timeline_group.hpp>

using namespace testing;

TEST_CASE("a group that is destroyed before a membership is reported") {
  CHECK(reported_by([] {
          tidemark::fence base;
          tidemark::fence reader;
          std::optional<tidemark::timeline_group> group{std::in_place, base};
          const auto reads = group->add(reader);
          group.reset();
        }) == "a timeline group was destroyed before its memberships");
}

TEST_CASE("a member that would count from the last value of a timeline is reported") {
  CHECK(reported_by([] {
          tidemark::fence base;
          tidemark::timeline_group group{base};
          const auto reads = group.add(base, UINT64_MAX);
        }) == "a member of a timeline group counts from the last value of a timeline");
}
