// SPDX-License-Identifier: BSL-1.0
//
// engine_parts: the parts of a work item as commands of an engine's queue, and what other work the engine executes
// between them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include <tidemark/engine/engine_parts.hpp>
#include <tidemark/engine/engine_queue.hpp>
#include <tidemark/split/submit_parts.hpp>

#include "support/split_model.hpp"

using namespace testing;

namespace {

using tidemark::counting_budget;
using tidemark::part_scheduling;
using tidemark::submit_parts;
using tidemark::submit_parts_status;
using splitter = tidemark::splitter<split_id>;

const split_entries three_parts{{6, 0, 10}, {7, 0, 20}, {8, 0, 30}};

splitter made(const split_entries& list) {
  splitter parts{{.max_slot = 3_slot}, counting_budget{8}, [](split_id allocation) { return allocation; }};
  REQUIRE(parts.begin(list, 100));
  return parts;
}

/// An engine of one thread, which the test steps: a queue with a work item, and another one with other work. Both have
/// turns of one command. The trace: o other work, P a paging operation, S a part.
struct two_queues {
  tidemark::engine engine{{.threads = 0}};
  tidemark::engine_queue queue{engine, {.quantum = 1}};
  tidemark::engine_queue other{engine, {.quantum = 1}};
  std::string trace;
  std::uint64_t executed_to = 0;

  auto recorder() {
    return tidemark::engine_parts{queue, [this](const tidemark::paging_operation<split_id>&) { trace += 'P'; },
                                  [this](std::uint64_t begin, std::uint64_t end) {
                                    CHECK(begin == executed_to);
                                    executed_to = end;
                                    trace += 'S';
                                  }};
  }
  void execute() {
    for (int n = 0; n < 9; ++n) other.run([this] { trace += 'o'; });
    REQUIRE(queue.submit());
    REQUIRE(other.submit());
    while (engine.loop().poll() != 0) {
    }
    CHECK(queue.is_idle());
  }
};

}  // namespace

static_assert(tidemark::part_executor<decltype(std::declval<two_queues>().recorder()), tidemark::split_part<split_id>>);

TEST_CASE("[C5] parts that must be back to back are not interleaved with another queue, whatever the quantum") {
  two_queues on;
  splitter parts = made(three_parts);
  auto recorded = on.recorder();
  CHECK(submit_parts(parts, part_scheduling::back_to_back, recorded));
  CHECK(on.trace.empty());  // only recorded
  on.execute();
  CAPTURE(on.trace);
  const auto first = on.trace.find('P');
  REQUIRE(first != std::string::npos);
  const std::string parts_and_paging = on.trace.substr(first, on.trace.rfind('S') + 1 - first);
  CHECK(std::count(parts_and_paging.begin(), parts_and_paging.end(), 'S') == 3);
  CHECK(parts_and_paging.find('o') == std::string::npos);
  CHECK(parts_and_paging.find("SS") == std::string::npos);  // there is paging between two parts
  CHECK(std::count(on.trace.begin(), on.trace.end(), 'o') == 9);
  CHECK(on.trace.back() == 'o');  // so the other queue had work to put in between
  CHECK(on.executed_to == 100);
}

TEST_CASE("[C3] [C7] full packets let another queue in between two parts, but not between a part and its paging") {
  two_queues on;
  splitter parts = made(three_parts);
  auto recorded = on.recorder();
  CHECK(submit_parts(parts, part_scheduling::full_packets, recorded));
  on.execute();
  CHECK(on.trace.find("So") < on.trace.rfind('S'));
  CHECK(on.trace.find("Po") == std::string::npos);
  CHECK(on.trace.find("SP") == std::string::npos);
  CHECK(on.trace.find("SS") == std::string::npos);
  CHECK(on.executed_to == 100);
}

namespace {

constexpr auto nothing_to_page = [](const tidemark::paging_operation<split_id>&) {};

/// Two cuts, across which slot 1 stays bound.
const split_entries with_carried{{2, 1, 0}, {5, 0, 10}, {4, 0, 20}, {3, 0, 30}, {6, 0, 40}};

}  // namespace

TEST_CASE("[C9] a prologue records what sets up the state again, behind the paging and before the part") {
  two_queues on;
  splitter parts = made(with_carried);
  const auto bind = [&on](tidemark::slot_id slot, split_id held) {
    on.trace += std::to_string(static_cast<std::uint32_t>(slot)) + "=" + std::to_string(held);
  };
  tidemark::engine_parts recorded{on.queue, [&on](const tidemark::paging_operation<split_id>&) { on.trace += 'P'; },
                                  [&on](std::uint64_t, std::uint64_t) { on.trace += 'S'; },
                                  [&bind](auto& run, const auto& part, auto& its) {
                                    CHECK(part.number != 0);
                                    for (const auto& [slot, held] : its.carried()) {
                                      run.run(bind, slot, held);
                                      its.bound(slot);
                                    }
                                  }};
  CHECK(submit_parts(parts, part_scheduling::back_to_back, recorded));
  CHECK(on.trace.empty());  // only recorded
  for (int n = 0; n < 9; ++n) on.other.run([&on] { on.trace += 'o'; });
  REQUIRE(on.queue.submit());
  REQUIRE(on.other.submit());
  while (on.engine.loop().poll() != 0) {
  }
  std::string without_others = on.trace;
  std::erase(without_others, 'o');
  CAPTURE(on.trace);
  CHECK(without_others == "PPSPP1=2SPP1=2SPP1=2S");
  const auto first = on.trace.find('P');
  CHECK(on.trace.substr(first, on.trace.rfind('S') - first).find('o') == std::string::npos);
}

TEST_CASE("[C9][C27] a part whose prologue forgets a slot is not recorded") {
  two_queues on;
  splitter parts = made(with_carried);
  std::uint64_t executed_to = 0;
  tidemark::engine_parts recorded{on.queue, nothing_to_page,
                                  [&](std::uint64_t, std::uint64_t end) { executed_to = end; },
                                  [](auto&, const auto&, auto&) {}, tidemark::unbroken_scope::one_thread};
  const auto result = submit_parts(parts, part_scheduling::back_to_back, recorded);
  CHECK(result.status == submit_parts_status::invalid);
  CHECK(result.leak == tidemark::binding_leak{1_slot, 20});
  REQUIRE(on.queue.submit());
  while (on.engine.loop().poll() != 0) {
  }
  CHECK(executed_to == 20);
}

TEST_CASE("[C31] what is recorded before an unsatisfiable group can be dropped, or executed") {
  for (const bool drops : {false, true}) {
    two_queues on;
    splitter parts = made({{6, 0, 10}, {9, 1, 20}});
    auto recorded = on.recorder();
    CHECK(submit_parts(parts, part_scheduling::back_to_back, recorded).status == submit_parts_status::unsatisfiable);
    if (drops) on.queue.discard();
    on.execute();
    CHECK(on.executed_to == (drops ? 0U : 20U));
  }
}
