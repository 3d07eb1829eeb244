// SPDX-License-Identifier: BSL-1.0
#include "support/noted_misuse.hpp"

#include <tidemark/fence/signaller.hpp>

#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/fence32.hpp>
#include <tidemark/fence/rewindable_fence.hpp>

#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include <doctest/doctest.h>

using namespace tidemark;

namespace {

constexpr loss_reason out_of_paper{7, "out of paper"};

/// Whether a signaller of `Fence` has a function that only waiters need.
template <class Signaller>
constexpr bool can_wait_or_look = requires(Signaller& one) { one.wait(1); } || requires(Signaller& one) {
  one.current_value();
} || requires(Signaller& one) { one.view(); };

}  // namespace

TEST_CASE("a signaller signals as its fence does, and can neither wait nor look") {
  fence printed;
  signaller signals{printed};
  CHECK(signals.signal(3));
  CHECK_FALSE(signals.signal(2));
  CHECK(signals.signal_next() == 4);
  CHECK(printed.current_value() == 4);
  signals.release();
  CHECK_FALSE(printed.is_poisoned());
  static_assert(!can_wait_or_look<signaller<fence>>);
  static_assert(!std::is_copy_constructible_v<signaller<fence>> && !std::is_copy_assignable_v<signaller<fence>>);
  static_assert(sizeof(signaller<fence>) == sizeof(void*));
}

TEST_CASE("[A128] a fence is lost when its signaller goes, and the reason says so") {
  progress_fence printed;
  {
    signaller signals{printed};
    signals.signal(3);
    CHECK_FALSE(printed.is_poisoned());
  }
  CHECK(*printed.loss() == signaller_gone);
  CHECK(printed.wait(3) == wait_status::reached);
  CHECK(printed.wait(4) == wait_status::lost);
}

TEST_CASE("[A128] a thread that waits is lost when the signaller's function ends by an exception") {
  fence printed;
  std::thread printer{[signals = signaller{printed}]() mutable {
    try {
      const signaller mine{std::move(signals)};
      throw std::runtime_error{"no paper"};
    } catch (const std::runtime_error&) {
      // The fence is lost by now.
    }
  }};
  CHECK(printed.wait(1) == wait_status::lost);
  CHECK(*printed.loss() == signaller_gone);
  printer.join();
}

TEST_CASE("a signaller that gives its fence up leaves it as it is, and may do so again") {
  fence printed;
  {
    signaller signals{printed};
    signals.signal(1);
    signals.release();
    signals.release();
  }
  CHECK_FALSE(printed.is_poisoned());
  {
    signaller signals{printed};
    CHECK(signals.signal_last(2));
  }
  CHECK_FALSE(printed.is_poisoned());
  CHECK(printed.current_value() == 2);
}

TEST_CASE("[A128] a signaller may lose its fence for a reason of its own, which stays") {
  fence printed;
  {
    signaller signals{printed};
    signals.poison(out_of_paper);
  }
  CHECK(*printed.loss() == out_of_paper);
  CHECK(printed.loss()->code == 7);
  CHECK(std::string{printed.loss()->text} == "out of paper");
}

TEST_CASE("a moved signaller takes the duty along, and one that is assigned to loses what it held") {
  fence first;
  fence second;
  {
    signaller outer{first};
    {
      signaller inner{std::move(outer)};
      inner.signal(1);
      outer = signaller{second};
    }
    CHECK(*first.loss() == signaller_gone);
    CHECK_FALSE(second.is_poisoned());
    fence third;
    outer = signaller{third};
    CHECK(*second.loss() == signaller_gone);
    CHECK_FALSE(third.is_poisoned());
    auto& same = outer;
    outer = std::move(same);
    CHECK_FALSE(third.is_poisoned());
    CHECK(outer.signal(1));
    outer.release();
  }
}

TEST_CASE("a signaller that holds no fence does nothing, and its use is asserted") {
  fence printed;
  signaller signals{printed};
  signaller other{std::move(signals)};
  CHECK_FALSE(signals.signal(5));
  CHECK(signals.signal_next() == 0);
  CHECK_FALSE(signals.signal_last(5));
  signals.poison(out_of_paper);
  CHECK(testing::take_said() == testing::texts(4, "a signaller was used that holds no fence"));
  signals.release();
  CHECK(testing::take_said().empty());
  CHECK(printed.current_value() == 0);
  CHECK_FALSE(printed.is_poisoned());
  other.release();
}

TEST_CASE("[A128] fences of 32-bit values and fences that are set back have signallers, too") {
  fence32 copied{0xFFFF'FFFF};
  rewindable_fence shown;
  {
    signaller copies{copied};
    CHECK(copies.signal_next() == 0);
    signaller shows{shown};
    shows.signal(3);
  }
  CHECK(*copied.loss() == signaller_gone);
  CHECK(copied.last_reached() == 0);
  CHECK(*shown.loss() == signaller_gone);
  CHECK(shown.last_reached() == 3);
}

TEST_CASE("a fence that joins its signallers may go as soon as the last value of a signaller is seen") {
  using joining = basic_progress_fence<native_platform, fence_options{.joins_signallers = true}>;
  for (int round = 0; round < 200; ++round) {
    auto* const printed = new joining;
    std::thread printer{[signals = signaller{*printed}]() mutable { signals.signal_last(1); }};
    CHECK(printed->wait(1) == wait_status::reached);
    delete printed;
    printer.join();
  }
}
