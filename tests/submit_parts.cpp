// SPDX-License-Identifier: BSL-1.0
//
// Driving a work item: what may run between its parts, and that paging always can.
#include <doctest/doctest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <tidemark/submit_parts.hpp>

namespace {

using tidemark::counting_budget;
using tidemark::part_scheduling;
using tidemark::split_outcome;
using tidemark::submit_parts;
using splitter = tidemark::splitter<int>;
using entries = std::vector<tidemark::split_entry<int>>;

/// E enter, L leave, P paging with something to do, p with nothing, S submit; * where others' work may run.
struct tracing_client {
  std::string trace;
  std::size_t fails_at = SIZE_MAX;  // in the trace
  bool throws = false;
  bool is_refused = false;

  void enter() {
    if (is_refused) throw std::runtime_error{"somebody else has it"};
    trace += "E";
  }
  void leave() { trace += "L*"; }
  bool page(const tidemark::split_part<int>& part) { return step(part.paging.empty() ? "p" : "P"); }
  bool submit(const tidemark::split_part<int>&) { return step("S"); }

 private:
  bool step(const char* what) {
    trace += what;
    if (throws && trace.size() > fails_at) throw std::runtime_error{"the executor is gone"};
    return trace.size() <= fails_at;
  }
};

const entries three_parts{{6, 0, 10}, {7, 0, 20}, {8, 0, 30}};

splitter made(const entries& list, std::uint64_t end = 100) {
  splitter parts{3, counting_budget{8}, [](int allocation) { return static_cast<std::uint64_t>(allocation); }};
  REQUIRE_FALSE(parts.begin(list, end));
  return parts;
}

std::string trace_of(const entries& list, part_scheduling scheduling, split_outcome expected) {
  splitter parts = made(list);
  tracing_client client;
  CHECK(submit_parts(parts, scheduling, client) == expected);
  return client.trace;
}

}  // namespace

TEST_CASE("[C4][C5][C6][trap 32] without pre-emption nothing but paging runs between the parts") {
  CHECK(trace_of(three_parts, part_scheduling::back_to_back, split_outcome::finished) == "EPSPSPSL*");
}

TEST_CASE("[C3][C7][trap 32] with pre-emption each part is like a work item of its own") {
  CHECK(trace_of(three_parts, part_scheduling::full_packets, split_outcome::finished) == "EPSL*EPSL*EPSL*");
}

TEST_CASE("[C6][trap 32] paging has its turn between two parts also where nothing is to be paged") {
  splitter parts{3, counting_budget{8}, [](int allocation) { return static_cast<std::uint64_t>(allocation); }};
  // 4 and 5 don't fit together; unbinding all at 20 needs no paging, and the last part none either.
  const entries list{{4, 0, 0}, {5, 0, 10}};
  REQUIRE_FALSE(parts.begin(list, 100));
  tracing_client client;
  CHECK(submit_parts(parts, part_scheduling::back_to_back, client) == split_outcome::finished);
  CHECK(client.trace == "EPSPSL*");
  REQUIRE_FALSE(parts.begin(entries{{5, 1, 0}}, 100));
  client.trace.clear();
  CHECK(submit_parts(parts, part_scheduling::back_to_back, client) == split_outcome::finished);
  CHECK(client.trace == "EpSL*");
}

TEST_CASE("[C2] a work item of one part is entered and left once, an empty one not at all") {
  for (const auto scheduling : {part_scheduling::back_to_back, part_scheduling::full_packets}) {
    CHECK(trace_of({{6, 0, 10}}, scheduling, split_outcome::finished) == "EPSL*");
    splitter nothing = made({}, 0);
    tracing_client client;
    CHECK(submit_parts(nothing, scheduling, client) == split_outcome::finished);
    CHECK(client.trace.empty());
  }
}

TEST_CASE("[C31] an impossible group ends it, and the executor is left") {
  CHECK(trace_of({{6, 0, 10}, {9, 1, 20}}, part_scheduling::back_to_back, split_outcome::unsatisfiable) == "EPSL*");
  CHECK(trace_of({{9, 1, 0}}, part_scheduling::back_to_back, split_outcome::unsatisfiable).empty());
}

TEST_CASE("[C6] who can't page or submit stops it, and leaves") {
  for (const auto& [at, expected] : {std::pair{1, "EPL*"}, std::pair{2, "EPSL*"}, std::pair{3, "EPSPL*"}}) {
    splitter parts = made(three_parts);
    tracing_client client{.trace = {}, .fails_at = static_cast<std::size_t>(at)};
    CHECK(submit_parts(parts, part_scheduling::back_to_back, client) == split_outcome::stopped);
    CHECK(client.trace == expected);
  }
}

TEST_CASE("[C6] an exception of the client leaves the executor, too") {
  splitter parts = made(three_parts);
  tracing_client client{.trace = {}, .fails_at = 2, .throws = true};
  CHECK_THROWS_AS((void)submit_parts(parts, part_scheduling::back_to_back, client), std::runtime_error);
  CHECK(client.trace == "EPSL*");
}

TEST_CASE("[C5] an executor that could not be entered is not left") {
  splitter parts = made(three_parts);
  tracing_client client;
  client.is_refused = true;
  CHECK_THROWS_AS((void)submit_parts(parts, part_scheduling::back_to_back, client), std::runtime_error);
  CHECK(client.trace.empty());
}
