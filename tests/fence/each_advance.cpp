// SPDX-License-Identifier: BSL-1.0
//
// A callable that runs again and again as a value rises.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <tidemark/fence/each_advance.hpp>
#include <tidemark/fence/signaller_callback.hpp>

#include "support/counted_allocations.hpp"
#include "support/loop_kinds.hpp"

using namespace testing;
using tidemark::callback_state;
using tidemark::each_advance;
using tidemark::wait_status;

namespace {

using values = std::vector<std::uint64_t>;

/// One slot, and no more.
inline constexpr tidemark::fence_options one_slot{
    .capacity = 1, .growth = tidemark::heap_growth::forbidden, .callbacks = true};

constexpr tidemark::loss_reason removed{7, "the device was removed"};

/// What a callable was called with.
struct advance {
  std::uint64_t value;
  wait_status how;
  friend bool operator==(const advance&, const advance&) = default;
};

}  // namespace

TEST_CASE_TEMPLATE("a callable for each advance has every value that is signalled alone", Kind, EVERY_LOOP_KIND) {
  typename Kind::callback_progress_fence fence{4};
  values seen;
  {
    auto each = each_advance(fence, [&](std::uint64_t value) { seen.push_back(value); });
    CHECK(seen.empty());
    for (const std::uint64_t value : values{5, 6, 9}) fence.signal(value);
    fence.signal(9);
    CHECK(fence.signal_next() == 10);
    CHECK(seen == values{5, 6, 9, 10});
    CHECK(each.state() == callback_state::waiting);
  }
  CHECK(is_idle(fence));
  fence.signal(11);
  CHECK(seen.size() == 4);
}

TEST_CASE_TEMPLATE("a callable for each advance after a value runs at once if the value is greater", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::callback_fence fence{4};
  values seen;
  const auto note = [&](std::uint64_t value) { seen.push_back(value); };
  {
    auto each = each_advance(fence, 3, note);
    CHECK(seen == values{4});
    fence.signal(5);
  }
  fence.signal(8);
  // Another one goes on where the first one ended.
  auto each = each_advance(fence.view(), seen.back(), note);
  CHECK(seen == values{4, 5, 8});
  auto later = each_advance(fence, 10, note);
  fence.signal(10);
  CHECK(seen == values{4, 5, 8, 10});
  fence.signal(11);
  CHECK(seen == values{4, 5, 8, 10, 11, 11});
  auto now = each_advance(fence.view(), note);
  CHECK(seen.size() == 6);
}

TEST_CASE("values that come while the callable runs are one call, which has the newest") {
  tidemark::callback_fence fence;
  values seen;
  auto each = each_advance(fence, [&](std::uint64_t value) {
    seen.push_back(value);
    if (value > 1) return;
    // It does not run within itself.
    fence.signal(2);
    fence.signal(3);
    CHECK(seen.size() == 1);
  });
  fence.signal(1);
  CHECK(seen == values{1, 3});
}

TEST_CASE("other callables of the fence run between the calls, in the order of their targets") {
  tidemark::callback_fence fence;
  values seen;
  auto other = tidemark::call_in_signaller(fence, 2, [&] { seen.push_back(100); });
  auto each = each_advance(fence, [&](std::uint64_t value) {
    seen.push_back(value);
    if (value < 5) fence.signal(value + 1);
  });
  fence.signal(1);
  CHECK(seen == values{1, 100, 2, 3, 4, 5});
}

TEST_CASE("[A120] a loss ends the calls, after all that was reached before it") {
  tidemark::callback_fence fence;
  std::vector<advance> seen;
  auto each = each_advance(fence, [&](std::uint64_t value, wait_status how) {
    seen.push_back({value, how});
    if (value != 1) return;
    fence.signal(3);
    fence.poison(removed);
  });
  values plain;
  auto told_nothing = each_advance(fence, [&](std::uint64_t value) { plain.push_back(value); });
  fence.signal(1);
  CHECK(seen == std::vector<advance>{{1, wait_status::reached}, {3, wait_status::reached}, {3, wait_status::lost}});
  CHECK(plain == values{3});  // it ran after the other one
  CHECK(each.state() == callback_state::lost);
  CHECK(told_nothing.state() == callback_state::lost);
  CHECK(each.cancel() == callback_state::lost);
  fence.signal(4);
  CHECK(seen.size() == 3);
  CHECK(is_idle(fence));
}

TEST_CASE("[A120] a callable that is registered with a lost timeline has what was reached, and then the loss") {
  tidemark::callback_fence fence{5};
  fence.poison(removed);
  std::vector<advance> seen;
  const auto note = [&](std::uint64_t value, wait_status how) { seen.push_back({value, how}); };
  auto each = each_advance(fence, 4, note);
  CHECK(seen == std::vector<advance>{{5, wait_status::reached}, {5, wait_status::lost}});
  CHECK(each.state() == callback_state::lost);
  seen.clear();
  auto later = each_advance(fence, note);
  CHECK(seen == std::vector<advance>{{5, wait_status::lost}});
}

TEST_CASE("the greatest value ends the calls") {
  tidemark::callback_fence fence;
  values seen;
  const auto note = [&](std::uint64_t value) { seen.push_back(value); };
  auto each = each_advance(fence, note);
  fence.signal(UINT64_MAX);
  CHECK(seen == values{UINT64_MAX});
  CHECK(each.state() == callback_state::ran);
  auto later = each_advance(fence, UINT64_MAX, note);
  CHECK(later.state() == callback_state::ran);
  CHECK(is_idle(fence));
  fence.poison();
  CHECK(seen.size() == 1);
}

TEST_CASE_TEMPLATE("a callable that finds no slot is refused, at the first registration and at a later one", Kind,
                   EVERY_LOOP_KIND) {
  using fence_of_one = tidemark::basic_fence<typename Kind::platform, one_slot>;
  fence_of_one fence;
  std::vector<advance> seen;
  const auto note = [&](std::uint64_t value, wait_status how) { seen.push_back({value, how}); };
  std::optional<tidemark::signaller_callback<fence_of_one, std::function<void()>>> other;
  other.emplace(fence, 100, [] {});
  {
    auto refused = each_advance(fence, note);
    CHECK(refused.state() == callback_state::refused);
    CHECK(seen == std::vector<advance>{{0, wait_status::timeout}});
    auto has_value = each_advance(fence, 0, note);
    CHECK(has_value.state() == callback_state::refused);
  }
  other.reset();
  seen.clear();
  {
    // The callable takes the slot itself that the registration had.
    auto each = each_advance(fence, [&](std::uint64_t value, wait_status how) {
      note(value, how);
      if (value == 2 && how == wait_status::reached) other.emplace(fence, 100, [] {});
    });
    fence.signal(1);
    fence.signal(2);
    CHECK(seen ==
          std::vector<advance>{{1, wait_status::reached}, {2, wait_status::reached}, {2, wait_status::timeout}});
    CHECK(each.state() == callback_state::refused);
  }
  other.reset();
  CHECK(is_idle(fence));
}

TEST_CASE("a callable may cancel and destroy its own registration") {
  tidemark::callback_fence fence;
  using callback = tidemark::advance_callback<tidemark::callback_fence, std::function<void(std::uint64_t)>>;
  values seen;
  std::optional<callback> each;
  each.emplace(fence, 0, [&](std::uint64_t value) {
    seen.push_back(value);
    CHECK(each->cancel() == callback_state::cancelled);
    CHECK(each->state() == callback_state::cancelled);
    fence.signal(value + 1);
  });
  fence.signal(1);
  CHECK(seen == values{1});
  CHECK(each->state() == callback_state::cancelled);
  auto own = std::make_unique<std::optional<callback>>();
  auto& slot = *own;
  slot.emplace(fence, 2, [&](std::uint64_t value) {
    seen.push_back(value);
    slot.reset();
  });
  fence.signal(3);
  fence.signal(4);
  CHECK(seen == values{1, 3});
  CHECK(is_idle(fence));
}

TEST_CASE("a registration allocates nothing, nor does it when it registers again") {
  tidemark::callback_progress_fence fence;
  std::uint64_t last = 0;
  const counted_allocations counted;
  {
    auto each = each_advance(fence, [&](std::uint64_t value) noexcept { last = value; });
    for (std::uint64_t value = 1; value <= 100; ++value) fence.signal(value);
  }
  CHECK(counted.count() == 0);
  CHECK(last == 100);
}

TEST_CASE_TEMPLATE("[A37] [A29] several threads signal: values rise, none runs beside another, and the last one comes",
                   Kind, EVERY_LOOP_KIND) {
  typename Kind::callback_fence fence;
  constexpr std::uint64_t values_each = 2000;
  constexpr unsigned threads = 3;
  std::uint64_t last = 0;
  std::atomic<int> inside{0};
  bool is_alone = true;
  bool rises = true;
  {
    auto each = each_advance(fence, [&](std::uint64_t value) {
      is_alone = is_alone && inside.fetch_add(1) == 0;
      rises = rises && value > last;
      last = value;
      inside.fetch_sub(1);
    });
    std::vector<std::thread> signallers;
    for (unsigned i = 0; i < threads; ++i) {
      signallers.emplace_back([&] {
        for (std::uint64_t n = 0; n < values_each; ++n) fence.signal_next();
      });
    }
    for (std::thread& one : signallers) one.join();
  }
  CHECK(is_alone);
  CHECK(rises);
  CHECK(last == threads * values_each);
}

TEST_CASE("[trap 10] destroyed while another thread signals, it never runs afterwards") {
  tidemark::callback_progress_fence fence;
  std::atomic<bool> ends{false};
  std::thread signaller([&] {
    while (!ends.load()) fence.signal_next();
  });
  tidemark::fence calls;
  for (int round = 0; round < 500; ++round) {
    auto alive = std::make_unique<std::uint64_t>(0);
    const std::uint64_t next_call = calls.current_value() + 1;
    {
      auto each = each_advance(fence, [&](std::uint64_t value) {
        *alive = value;
        calls.signal_next();
      });
      CHECK(fence.wait(fence.current_value() + 1) == wait_status::reached);
      if (round % 3 == 0) CHECK(calls.wait(next_call) == wait_status::reached);
      if (round % 2 == 0) CHECK(each.cancel() == callback_state::cancelled);
    }
    if (round % 3 == 0) CHECK(*alive > 0);
    alive.reset();
  }
  ends.store(true);
  signaller.join();
}
