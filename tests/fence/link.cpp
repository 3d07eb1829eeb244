// SPDX-License-Identifier: BSL-1.0
//
// Links: one timeline signals another one, and hands on its loss.
#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/fence32.hpp>
#include <tidemark/fence/link.hpp>
#include <tidemark/loop/wait_loop.hpp>

#include "support/loop_kinds.hpp"

using namespace testing;
using tidemark::callback_state;
using tidemark::wait_status;

namespace {

constexpr tidemark::loss_reason removed{7, "the device was removed"};

inline constexpr tidemark::fence_options one_slot{
    .capacity = 1, .growth = tidemark::heap_growth::forbidden, .callbacks = true};
inline constexpr tidemark::fence_options joining{.callbacks = true, .joins_signallers = true};

}  // namespace

TEST_CASE_TEMPLATE("a link signals the second timeline when the first one reaches the value", Kind, EVERY_LOOP_KIND) {
  typename Kind::callback_progress_fence from;
  typename Kind::fence to;
  auto linked = tidemark::link(from, 3, to, 10);
  from.signal(2);
  CHECK(linked.state() == callback_state::waiting);
  CHECK(to.current_value() == 0);
  from.signal(5);
  CHECK(linked.state() == callback_state::ran);
  CHECK(to.current_value() == 10);
  auto at_once = tidemark::link(from.view(), 5, to, 11);
  CHECK(at_once.state() == callback_state::ran);
  CHECK(to.current_value() == 11);
  CHECK(is_idle(from));
}

TEST_CASE("[A120] a loss goes along a chain of links, with its reason") {
  tidemark::callback_fence first;
  tidemark::callback_progress_fence second;
  tidemark::fence third;
  auto one = tidemark::link(first, 3, second, 1);
  auto two = tidemark::link(second, 1, third, 1);
  first.signal(2);
  first.poison(removed);
  CHECK(one.state() == callback_state::lost);
  CHECK(two.state() == callback_state::lost);
  CHECK(third.wait(1) == wait_status::lost);
  CHECK(third.loss() == &removed);
  tidemark::fence fourth;
  auto later = tidemark::link(first, 3, fourth, 1);
  CHECK(fourth.loss() == &removed);
  // What the first one has reached is signalled all the same.
  tidemark::fence fifth;
  auto reached = tidemark::link(first, 2, fifth, 8);
  CHECK(reached.state() == callback_state::ran);
  CHECK_FALSE(fifth.is_poisoned());
  CHECK(fifth.current_value() == 8);
}

TEST_CASE("[A120] the loss of the second timeline does not reach the first one") {
  tidemark::callback_fence from;
  tidemark::fence to;
  auto linked = tidemark::link(from, 1, to, 1);
  to.poison(removed);
  CHECK_FALSE(from.is_poisoned());
  from.signal(1);
  CHECK(linked.state() == callback_state::ran);
  CHECK(to.loss() == &removed);
}

TEST_CASE("a link that is destroyed or cancelled is cut: the second timeline is left alone") {
  tidemark::callback_fence from;
  std::optional<tidemark::fence> to{std::in_place};
  {
    auto destroyed = tidemark::link(from, 1, *to, 1);
    auto cancelled = tidemark::link(from, 1, *to, 2);
    CHECK(cancelled.cancel() == callback_state::cancelled);
  }
  CHECK(is_idle(from));
  from.signal(1);
  CHECK(to->current_value() == 0);
  from.poison(removed);
  CHECK_FALSE(to->is_poisoned());
  to.reset();
}

TEST_CASE("a link that has a signaller signals, or loses the second timeline when it goes") {
  tidemark::callback_fence from;
  tidemark::fence kept;
  tidemark::fence left;
  tidemark::fence lost;
  {
    auto signals = tidemark::link(from, 1, tidemark::signaller{kept}, 7);
    auto goes = tidemark::link(from, 2, tidemark::signaller{left}, 7);
    from.signal(1);
    CHECK(signals.state() == callback_state::ran);
  }
  CHECK(kept.current_value() == 7);
  CHECK_FALSE(kept.is_poisoned());
  CHECK(left.loss() == &tidemark::signaller_gone);
  {
    auto loses = tidemark::link(from, 2, tidemark::signaller{lost}, 7);
    from.poison(removed);
    CHECK(loses.state() == callback_state::lost);
  }
  CHECK(lost.loss() == &removed);
}

TEST_CASE("a link that the first timeline refuses says so, and one with a signaller then loses the second one") {
  tidemark::basic_fence<tidemark::native_platform, one_slot> from;
  tidemark::fence to;
  auto first = tidemark::link(from, 1, to, 1);
  {
    auto refused = tidemark::link(from, 1, tidemark::signaller{to}, 2);
    CHECK(refused.state() == callback_state::refused);
    CHECK_FALSE(to.is_poisoned());
  }
  CHECK(to.loss() == &tidemark::signaller_gone);
}

TEST_CASE("links may form a circle, and lead to the same timeline and to one of 32 bits") {
  tidemark::callback_fence a;
  tidemark::callback_fence b;
  auto forth = tidemark::link(a, 1, b, 1);
  auto back = tidemark::link(b, 1, a, 2);
  auto forth_again = tidemark::link(a, 2, b, 2);
  auto own = tidemark::link(a, 2, a, 3);
  a.signal(1);
  CHECK(a.current_value() == 3);
  CHECK(b.current_value() == 2);
  tidemark::fence32 narrow;
  auto to_narrow = tidemark::link(a, 4, narrow, 5);
  a.signal(4);
  CHECK(narrow.last_reached() == 5);
}

TEST_CASE_TEMPLATE("a loop may make the signal of a link, for fences without callables", Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::progress_fence from;
  typename Kind::fence to;
  typename Kind::fence lost;
  auto linked = tidemark::link(loop, from, 3, to, 10);
  auto loses = tidemark::link(loop, from.view(), 4, tidemark::signaller{lost}, 10);
  from.signal(3);
  CHECK(to.current_value() == 0);
  loop.poll();
  CHECK(to.current_value() == 10);
  CHECK(linked.state() == callback_state::ran);
  from.poison(removed);
  loop.poll();
  CHECK(lost.loss() == &removed);
  CHECK(loses.state() == callback_state::lost);
}

TEST_CASE("[trap 10] the second timeline may go as soon as its value is seen, if it joins its signallers") {
  tidemark::callback_fence from;
  constexpr std::uint64_t rounds = 2000;
  bool is_reached = true;
  std::thread signaller([&] {
    for (std::uint64_t n = 0; n < rounds; ++n) {
      static_cast<void>(from.wait(2 * n));
      from.signal(2 * n + 1);
    }
  });
  for (std::uint64_t n = 0; n < rounds; ++n) {
    std::optional<tidemark::basic_fence<tidemark::symmetric_platform, joining>> to{std::in_place};
    auto linked = tidemark::link(from, 2 * n + 1, tidemark::signaller{*to}, 1);
    is_reached = to->wait(1) == wait_status::reached && is_reached;
    to.reset();
    from.signal(2 * n + 2);
  }
  signaller.join();
  CHECK(is_reached);
  CHECK(from.current_value() == 2 * rounds);
}
