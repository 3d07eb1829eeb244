// SPDX-License-Identifier: BSL-1.0
//
// The choices of a fence: what they are by default, and when a fence allocates.
#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/fence_options.hpp>

#include "support/counted_allocations.hpp"
#include "support/kinds.hpp"
#include "support/threads.hpp"

using namespace testing;
using tidemark::fence_options;
using tidemark::heap_growth;
using tidemark::wait_status;

namespace {

constexpr fence_options fixed{.capacity = 2, .growth = heap_growth::forbidden, .max_spin_ns = 0, .statistics = true};
constexpr fence_options growing{.capacity = 2, .max_spin_ns = 0, .statistics = true};

/// Lets `count` threads wait, counts what they allocate, and releases them. Returns the sum.
template <class Fence>
std::size_t allocated_by_waiters(Fence& fence, std::size_t count, bool fail = false) {
  std::atomic<std::size_t> sum{0};
  {
    std::vector<std::unique_ptr<waiter>> waiters;
    for (std::size_t i = 0; i < count; ++i) {
      waiters.push_back(std::make_unique<waiter>([&fence, &sum, fail] {
        const counted_allocations during{fail};
        const wait_status status = fence.wait(5);
        sum += during.count();
        return status;
      }));
      CHECK(waiters.back()->falls_asleep());
    }
    const counted_allocations during;
    fence.signal(5);
    CHECK(during.count() == 0);
    for (auto& one : waiters) CHECK(one->status() == wait_status::reached);
  }
  return sum;
}

}  // namespace

TEST_CASE("a fence as it comes has 16 slots, may grow, spins as it has learnt, holds its value and counts nothing") {
  constexpr fence_options usual;
  CHECK(usual.capacity == 16);
  CHECK(usual.arity == 4);
  CHECK(usual.growth == heap_growth::allowed);
  CHECK(usual.max_spin_ns == 200'000);
  CHECK(usual.layout == tidemark::fence_layout::two_lines);
  CHECK(usual.storage == tidemark::value_storage::own);
  CHECK_FALSE(usual.statistics);
  CHECK(tidemark::fence::options.capacity == usual.capacity);
}

TEST_CASE_TEMPLATE("[A32] waiters allocate only where they find no slot, and signallers never", Kind, EVERY_KIND) {
  {
    typename Kind::template fence<growing> fence;
    CHECK(allocated_by_waiters(fence, 2) == 0);
  }
  {
    typename Kind::template fence<growing> fence;
    CHECK(allocated_by_waiters(fence, 7) > 0);
    CHECK(fence.overflow_count() == 0);
  }
  {
    typename Kind::template fence<fixed> fence;
    CHECK(allocated_by_waiters(fence, 7) == 0);
    CHECK(fence.overflow_count() == 5);
  }
}

TEST_CASE_TEMPLATE("[A14] a waiter for which there is no memory shares the overflow lane", Kind, EVERY_KIND) {
  typename Kind::template fence<growing> fence;
  CHECK(allocated_by_waiters(fence, 4, true) == 2);  // each has tried once
  CHECK(fence.overflow_count() == 2);
}

TEST_CASE("fences that share the word of their value have waiters of their own, and each signal notifies [A68] [A70]") {
  using kind = counting_platform<tidemark::native_platform>;
  constexpr fence_options shared{.storage = tidemark::value_storage::shared, .statistics = true};
  kind::atomic<std::uint64_t> value{3};
  tidemark::basic_fence<kind, shared> waited_on{value};
  tidemark::basic_fence<kind, shared> signalled{value};
  CHECK(waited_on.monitored_value() == 0);
  waiter thread{[&] { return waited_on.wait(4); }};
  REQUIRE(thread.falls_asleep());
  CHECK(signalled.signal(4));
  CHECK(signalled.notify_count() == 1);
  CHECK(waited_on.current_value() == 4);
  CHECK(waited_on.release_due() == 1);
  CHECK(thread.status() == wait_status::reached);
  signalled.poison();
  CHECK(value.load(std::memory_order_relaxed) == 4);
  CHECK(waited_on.current_value() == 4);
}
