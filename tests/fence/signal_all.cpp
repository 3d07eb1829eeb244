// SPDX-License-Identifier: BSL-1.0
//
// Signals of several fences at once.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/signal_all.hpp>
#include <tidemark/fence/signaller_callback.hpp>
#include <tidemark/fence/wait_many.hpp>

#include "support/counted_allocations.hpp"
#include "support/loop_kinds.hpp"

using namespace testing;
using tidemark::fence_signal;
using tidemark::wait_status;

namespace {

/// Counts its full barriers.
struct counted_barriers : tidemark::native_platform {
  static inline std::size_t count = 0;
  static void full_barrier() noexcept {
    ++count;
    tidemark::native_platform::full_barrier();
  }
};

constexpr tidemark::fence_options joining{.joins_signallers = true};
constexpr tidemark::fence_options sharing{.storage = tidemark::value_storage::shared};
constexpr tidemark::fence_options with_callbacks{.callbacks = true};

template <class Fence>
constexpr bool can_be_in_a_batch = requires(Fence& fence) { fence_signal{fence, 1}; };

static_assert(can_be_in_a_batch<tidemark::fence>);
static_assert(can_be_in_a_batch<tidemark::progress_fence>);
static_assert(!can_be_in_a_batch<const tidemark::fence>);
static_assert(!can_be_in_a_batch<tidemark::basic_fence<tidemark::symmetric_platform, joining>>);
static_assert(!can_be_in_a_batch<tidemark::basic_fence<tidemark::symmetric_platform, sharing>>);

}  // namespace

TEST_CASE_TEMPLATE("a batch raises each fence, and says how many", Kind, EVERY_LOOP_KIND) {
  typename Kind::fence any{5};
  typename Kind::progress_fence one;
  typename Kind::callback_fence calls;
  CHECK(tidemark::signal_all({{any, 5}, {one, 3}, {calls, 7}}) == 2);
  CHECK(any.current_value() == 5);
  CHECK(one.current_value() == 3);
  CHECK(calls.current_value() == 7);
  CHECK(tidemark::signal_all({}) == 0);
  // The same fence twice.
  CHECK(tidemark::signal_all({{any, 9}, {one, 4}, {any, 8}, {one, 4}}) == 3);
  CHECK(any.current_value() == 9);
  CHECK(one.current_value() == 4);
}

TEST_CASE("[A19] when a callable runs, all values of the batch are there, and all threads were woken before") {
  tidemark::callback_fence first;
  tidemark::progress_fence second;
  tidemark::callback_fence third;
  std::uint64_t seen_second = 0;
  std::uint64_t seen_third = 0;
  int third_runs = 0;
  auto call = tidemark::call_in_signaller(first, 1, [&] {
    seen_second = second.current_value();
    seen_third = third.current_value();
  });
  auto other = tidemark::call_in_signaller(third, 2, [&] { ++third_runs; });
  std::thread waiter([&] { CHECK(second.wait(1) == wait_status::reached); });
  CHECK(tidemark::signal_all({{first, 1}, {second, 1}, {third, 2}}) == 3);
  CHECK(seen_second == 1);
  CHECK(seen_third == 2);
  CHECK(third_runs == 1);
  waiter.join();
}

TEST_CASE("[A28] a batch issues one full barrier if somebody is due, and none if nobody is") {
  using fence_type = tidemark::basic_progress_fence<counted_barriers, with_callbacks>;
  std::deque<fence_type> fences(3);
  int runs = 0;
  const auto count = [&] { ++runs; };
  // Where signals often release somebody, waiters would hold the root, and signals take the slow path for that.
  auto first = tidemark::call_in_signaller(fences[0], 1, count);
  auto third = tidemark::call_in_signaller(fences[2], 1, count);
  counted_barriers::count = 0;
  tidemark::signal_all({{fences[0], 1}, {fences[1], 1}, {fences[2], 1}});
  CHECK(runs == 2);
  CHECK(counted_barriers::count == 1);
  tidemark::signal_all({{fences[0], 2}, {fences[1], 2}, {fences[2], 2}});
  CHECK(counted_barriers::count == 1);
  // One by one, each has its own.
  auto again = tidemark::call_in_signaller(fences[0], 3, count);
  auto another = tidemark::call_in_signaller(fences[2], 3, count);
  counted_barriers::count = 0;
  for (fence_type& fence : fences) fence.signal(3);
  CHECK(runs == 4);
  CHECK(counted_barriers::count == 2);
}

TEST_CASE("a batch of more than 64 fences serves all of them, and allocates nothing") {
  constexpr std::size_t count = 150;
  std::deque<tidemark::callback_fence> fences(count);
  std::vector<fence_signal> signals;
  std::size_t runs = 0;
  struct counts {
    std::size_t* runs;
    void operator()() const { ++*runs; }
  };
  std::deque<tidemark::signaller_callback<tidemark::callback_fence, counts>> calls;
  for (std::size_t i = 0; i < count; ++i) {
    signals.emplace_back(fences[i], i + 1);
    if (i % 3 == 0) calls.emplace_back(fences[i], i + 1, counts{&runs});
  }
  std::size_t stored = 0;
  std::size_t allocated = 0;
  {
    const counted_allocations counted;
    stored = tidemark::signal_all(signals);
    allocated = counted.count();
  }
  CHECK(allocated == 0);
  CHECK(stored == count);
  CHECK(runs == count / 3);
  for (std::size_t i = 0; i < count; ++i) CHECK(fences[i].current_value() == i + 1);
}

TEST_CASE("a batch counts as a signal in the statistics of a fence") {
  constexpr tidemark::fence_options counting{.callbacks = true, .statistics = true};
  tidemark::basic_fence<tidemark::symmetric_platform, counting> fence;
  auto call = tidemark::call_in_signaller(fence, 2, [] {});
  tidemark::signal_all({{fence, 1}});
  CHECK(fence.notify_count() == 0);
  tidemark::signal_all({{fence, 2}});
  CHECK(fence.notify_count() == 1);
}

TEST_CASE_TEMPLATE("[A37] [A65] threads that wait for one fence of a batch, or for all, miss no batch", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::progress_fence first;
  typename Kind::progress_fence second;
  typename Kind::fence answers;
  constexpr std::uint64_t rounds = 2000;
  const auto all_reached = [&](std::uint64_t round) {
    const typename Kind::awaited both[]{{first, round}, {second, round}};
    return tidemark::wait_all(both) == wait_status::reached;
  };
  bool is_reached[2]{true, true};
  std::thread one([&] {
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      is_reached[0] = is_reached[0] && first.wait(round) == wait_status::reached;
      answers.signal_next();
    }
  });
  std::thread all([&] {
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      is_reached[1] = is_reached[1] && all_reached(round);
      answers.signal_next();
    }
  });
  bool is_answered = true;
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    tidemark::signal_all({{first, round}, {second, round}});
    is_answered = is_answered && answers.wait(2 * round) == wait_status::reached;
  }
  one.join();
  all.join();
  CHECK(is_answered);
  CHECK(is_reached[0]);
  CHECK(is_reached[1]);
}
