// SPDX-License-Identifier: BSL-1.0
//
// submit_parts(): what other work may run between the parts, and that page() is called before every part.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <tidemark/split/submit_parts.hpp>

#include "support/split_model.hpp"

using namespace testing;

namespace {

using tidemark::counting_budget;
using tidemark::part_scheduling;
using tidemark::submit_parts;
using tidemark::submit_parts_status;
using tidemark::unsatisfiable_group;
using splitter = tidemark::splitter<split_id>;

/// Writes a trace: E enter, L leave, P page with something to do, p page with nothing to do, S submit; * means that
/// other work may run.
struct tracing_executor {
  std::string trace;
  std::size_t fails_at = SIZE_MAX;  // the length of the trace at which it refuses, or throws
  bool throws = false;
  bool is_taken = false;

  void enter() {
    if (is_taken) throw std::runtime_error{"the executor is taken"};
    trace += "E";
  }
  void leave() { trace += "L*"; }
  bool page(const tidemark::split_part<split_id>& part) { return step(part.paging.empty() ? "p" : "P"); }
  bool submit(const tidemark::split_part<split_id>&) { return step("S"); }

 private:
  bool step(const char* what) {
    trace += what;
    if (throws && trace.size() > fails_at) throw std::runtime_error{"the executor is gone"};
    return trace.size() <= fails_at;
  }
};

static_assert(tidemark::part_executor<tracing_executor, tidemark::split_part<split_id>>);
static_assert(!tidemark::part_executor<std::string, tidemark::split_part<split_id>>);

const split_entries three_parts{{6, 0, 10}, {7, 0, 20}, {8, 0, 30}};

splitter made(const split_entries& list, std::uint64_t end = 100) {
  splitter parts{{.max_slot = 3_slot}, counting_budget{8}, [](split_id allocation) { return allocation; }};
  REQUIRE(parts.begin(list, end));
  return parts;
}

std::string trace_of(const split_entries& list, part_scheduling scheduling,
                     std::optional<unsatisfiable_group> failed = {}) {
  splitter parts = made(list);
  tracing_executor executor;
  const auto result = submit_parts(parts, scheduling, executor);
  CHECK(result.status == (failed ? submit_parts_status::unsatisfiable : submit_parts_status::submitted));
  CHECK(static_cast<bool>(result) == !failed);
  CHECK(result.failed == failed);
  return executor.trace;
}

}  // namespace

TEST_CASE("[C4][C5][C6][trap 32] back to back, nothing but paging runs between the parts") {
  CHECK(trace_of(three_parts, part_scheduling::back_to_back) == "EPSPSPSL*");
}

TEST_CASE("[C3][C7][trap 32] as full packets, each part is like a work item of its own") {
  CHECK(trace_of(three_parts, part_scheduling::full_packets) == "EPSL*EPSL*EPSL*");
}

TEST_CASE("[C6][trap 32] page() is called before every part, even if there is nothing to do") {
  splitter parts = made({{4, 0, 0}, {5, 0, 10}});  // which do not fit together
  tracing_executor executor;
  CHECK(submit_parts(parts, part_scheduling::back_to_back, executor));
  CHECK(executor.trace == "EPSPSL*");
  REQUIRE(parts.begin(split_entries{{5, 1, 0}}, 100));  // resident already
  executor.trace.clear();
  CHECK(submit_parts(parts, part_scheduling::back_to_back, executor));
  CHECK(executor.trace == "EpSL*");
}

TEST_CASE("[C2] for a work item of one part the executor is entered and left once, for an empty one not at all") {
  for (const auto scheduling : {part_scheduling::back_to_back, part_scheduling::full_packets}) {
    CHECK(trace_of({{6, 0, 10}}, scheduling) == "EPSL*");
    splitter nothing = made({}, 0);
    tracing_executor executor;
    CHECK(submit_parts(nothing, scheduling, executor));
    CHECK(executor.trace.empty());
  }
}

TEST_CASE("[C31] submit_parts() ends at an unsatisfiable group, and leaves the executor") {
  CHECK(trace_of({{6, 0, 10}, {9, 1, 20}}, part_scheduling::back_to_back, unsatisfiable_group{1_slot, 20}) == "EPSL*");
  CHECK(trace_of({{9, 1, 0}}, part_scheduling::back_to_back, unsatisfiable_group{1_slot, 0}).empty());
}

TEST_CASE("[C6] an executor that refuses to page or to submit ends submit_parts(), and is left") {
  for (const auto& [at, expected] : {std::pair{1, "EPL*"}, std::pair{2, "EPSL*"}, std::pair{3, "EPSPL*"}}) {
    splitter parts = made(three_parts);
    tracing_executor executor{.trace = {}, .fails_at = static_cast<std::size_t>(at)};
    CHECK(submit_parts(parts, part_scheduling::back_to_back, executor).status == submit_parts_status::refused);
    CHECK(executor.trace == expected);
  }
}

TEST_CASE("[C6] an executor is left, too, when it throws") {
  splitter parts = made(three_parts);
  tracing_executor executor{.trace = {}, .fails_at = 2, .throws = true};
  CHECK_THROWS_AS((void)submit_parts(parts, part_scheduling::back_to_back, executor), std::runtime_error);
  CHECK(executor.trace == "EPSL*");
}

namespace {

/// Has a prologue, which is R in the trace, and names what is carried over. It binds again what lies below `forgets`.
struct executor_with_prologue : tracing_executor {
  tidemark::slot_id forgets = tidemark::largest_slot;
  bool binds_all = false;
  bool refuses = false;

  bool prologue(const tidemark::split_part<split_id>& part, tidemark::split_prologue<split_id>& its) {
    CHECK(part.number > 0);
    trace += "R";
    for (const auto& [slot, held] : its.carried()) {
      trace += std::to_string(static_cast<std::uint32_t>(slot)) + "=" + std::to_string(held) + " ";
      if (slot < forgets) its.bound(slot);
    }
    its.bound(3_slot);  // harmless: it is not carried over
    if (binds_all) its.bound_all();
    return !refuses;
  }
};
static_assert(tidemark::prologue_executor<executor_with_prologue, tidemark::split_part<split_id>, split_id>);
static_assert(!tidemark::prologue_executor<tracing_executor, tidemark::split_part<split_id>, split_id>);

const split_entries with_carried{{2, 1, 0}, {1, 2, 0}, {5, 0, 10}, {4, 0, 20}, {3, 0, 30}, {0, 2, 30}};

}  // namespace

TEST_CASE("[C9][C6] behind each cut, between its paging and its part, the prologue sets up what is carried over") {
  splitter parts = made(with_carried);
  executor_with_prologue executor;
  CHECK(submit_parts(parts, part_scheduling::back_to_back, executor));
  CHECK(executor.trace == "EPSPR1=2 2=1 SPR1=2 SL*");
  parts = made(with_carried);
  executor.trace.clear();
  CHECK(submit_parts(parts, part_scheduling::full_packets, executor));
  CHECK(executor.trace == "EPSL*EPR1=2 2=1 SL*EPR1=2 SL*");
  // What is not cut has no prologue.
  parts = made({{2, 1, 0}, {1, 2, 20}});
  executor.trace.clear();
  CHECK(submit_parts(parts, part_scheduling::back_to_back, executor));
  CHECK(executor.trace == "EPSL*");
}

TEST_CASE("[C9][C27][C29] a slot that the prologue forgets is named, and its part is not submitted") {
  splitter parts = made(with_carried);
  executor_with_prologue executor;
  executor.forgets = 2_slot;
  const auto result = submit_parts(parts, part_scheduling::back_to_back, executor);
  CHECK(result.status == submit_parts_status::invalid);
  CHECK_FALSE(result);
  CHECK(result.leak == tidemark::binding_leak{2_slot, 20});
  CHECK_FALSE(result.failed);
  CHECK(executor.trace == "EPSPR1=2 2=1 L*");

  parts = made(with_carried);
  executor.trace.clear();
  executor.binds_all = true;
  CHECK(submit_parts(parts, part_scheduling::back_to_back, executor));

  parts = made(with_carried);
  executor.trace.clear();
  executor.refuses = true;
  CHECK(submit_parts(parts, part_scheduling::back_to_back, executor).status == submit_parts_status::refused);
  CHECK(executor.trace == "EPSPR1=2 2=1 L*");
}

TEST_CASE("[C9] a work item that goes on behind a part that its program has driven has a prologue there, too") {
  splitter parts = made(with_carried);
  REQUIRE(parts.next().end == 20);
  executor_with_prologue executor;
  CHECK(submit_parts(parts, part_scheduling::back_to_back, executor));
  CHECK(executor.trace == "EPR1=2 2=1 SPR1=2 SL*");
}

TEST_CASE("[C5] an executor that could not be entered is not left") {
  splitter parts = made(three_parts);
  tracing_executor executor;
  executor.is_taken = true;
  CHECK_THROWS_AS((void)submit_parts(parts, part_scheduling::back_to_back, executor), std::runtime_error);
  CHECK(executor.trace.empty());
}
