// SPDX-License-Identifier: BSL-1.0
//
// Waits that do not sleep.
#include <doctest/doctest.h>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <thread>

#include <tidemark/fence/awake_view.hpp>
#include <tidemark/fence/fence.hpp>
#include <tidemark/memory/rename_ring.hpp>

#include "support/counting_platform.hpp"
#include "support/manual_stop.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::awake_view;
using tidemark::wait_status;
using tidemark::wait_strategy;

namespace {

using counted = counting_platform<tidemark::native_platform>;
using counted_fence = tidemark::basic_progress_fence<counted, tidemark::fence_options{.statistics = true}>;
using spinning = awake_view<counted_fence>;
using yielding = awake_view<counted_fence, wait_strategy::yields>;

constexpr tidemark::loss_reason removed{7, "the device was removed"};
constexpr tidemark::fence_options keeping{.keeps_value_on_loss = true};

static_assert(tidemark::timeline<spinning> && std::copyable<spinning>);
static_assert(tidemark::timeline<yielding> && std::copyable<yielding>);
static_assert(spinning::strategy == wait_strategy::spins);

template <class Fence>
constexpr bool can_be_followed = requires(const Fence& fence) { awake_view{fence}; };
static_assert(can_be_followed<tidemark::fence_view>);
static_assert(!can_be_followed<tidemark::basic_fence<tidemark::symmetric_platform, keeping>>);

}  // namespace

TYPE_TO_STRING_AS("spins", spinning);
TYPE_TO_STRING_AS("yields", yielding);

TEST_CASE_TEMPLATE("a wait that does not sleep returns what the fence's own wait would", View, spinning, yielding) {
  counted_fence fence{4};
  const View view{fence};
  CHECK(view.wait(4) == wait_status::reached);
  CHECK(view.wait(0) == wait_status::reached);
  CHECK(view.current_value() == 4);
  CHECK(view.last_reached() == 4);
  CHECK_FALSE(view.is_reached(5));
  CHECK(view.wait_for(5, 0ms) == wait_status::timeout);
  CHECK(view.wait_for(5, 1ms) == wait_status::timeout);
  CHECK(view.wait_until(5, std::chrono::steady_clock::now() + 1ms) == wait_status::timeout);
  CHECK(view.wait_until(5, std::chrono::system_clock::now() - 1h) == wait_status::timeout);
}

TEST_CASE_TEMPLATE("[A120] a wait that does not sleep ends when the timeline is lost", View, spinning, yielding) {
  counted_fence fence{4};
  const View view{fence};
  std::thread loses([&] { fence.poison(removed); });
  CHECK(view.wait(5) == wait_status::lost);
  loses.join();
  CHECK(view.wait(4) == wait_status::reached);
  CHECK(view.is_poisoned());
  CHECK(view.loss() == &removed);
  CHECK(view.current_value() == UINT64_MAX);
  CHECK(view.last_reached() == 4);
}

TEST_CASE_TEMPLATE("a stop ends a wait that does not sleep, unless the value was reached before", View, spinning,
                   yielding) {
  counted_fence fence{4};
  const View view{fence};
  manual_stop stop;
  std::thread stops([&] { stop.request(); });
  CHECK(view.wait(5, stop.get_token()) == wait_status::stopped);
  stops.join();
  CHECK(view.wait(4, stop.get_token()) == wait_status::reached);
}

TEST_CASE_TEMPLATE("[A28] [A37] waits that do not sleep register with nobody, so no signal notifies", View, spinning,
                   yielding) {
  counted_fence there;
  counted_fence back;
  constexpr std::uint64_t rounds = 300;
  bool is_reached = true;
  std::thread other([&] {
    const View view{there};
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      is_reached = is_reached && view.wait(round) == wait_status::reached;
      back.signal(round);
    }
  });
  const View view{back};
  bool is_answered = true;
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    there.signal(round);
    is_answered = is_answered && view.wait(round) == wait_status::reached;
  }
  other.join();
  CHECK(is_reached);
  CHECK(is_answered);
  CHECK(there.notify_count() == 0);
  CHECK(back.notify_count() == 0);
}

TEST_CASE("a view of a view, and a block that follows one") {
  tidemark::progress_fence drawn;
  const awake_view now{drawn.view()};
  const auto copy = now;
  tidemark::rename_ring ring{now, {.bytes = 64}};
  drawn.signal(1);
  CHECK(copy.wait(1) == wait_status::reached);
}
