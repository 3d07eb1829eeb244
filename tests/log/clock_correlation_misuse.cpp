// SPDX-License-Identifier: BSL-1.0
//
// Misuse of a clock_correlation is reported, and it goes on with bounds that hold.
#include "support/noted_misuse.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

#include <tidemark/log/clock_correlation.hpp>

using namespace testing;

TEST_CASE("[A130] bounds of a clock that are negative or no numbers are reported, and the error is the greatest one") {
  const double none = std::numeric_limits<double>::quiet_NaN();
  for (const tidemark::clock_bounds& wrong : {tidemark::clock_bounds{-1e9, 1}, {none, 1}}) {
    tidemark::clock_correlation clock{wrong};
    CHECK(take_said() == texts{"the bounds of a clock are 0 or more"});
    REQUIRE(clock.add({100, 100, 100}));
    CHECK(clock.to_steady(5'000) == tidemark::correlated_time{5'000, UINT64_MAX});
  }
  const tidemark::clock_correlation negative{{0, -1}};
  CHECK(take_said() == texts{"the bounds of a clock are 0 or more"});
  const tidemark::clock_correlation exact{{0, 0}};
  CHECK(take_said().empty());
}
