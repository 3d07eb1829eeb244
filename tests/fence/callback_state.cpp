// SPDX-License-Identifier: BSL-1.0
//
// How callables are told how their wait has ended.
#include <doctest/doctest.h>

#include <tidemark/fence/callback_state.hpp>

using tidemark::callback_state;
using tidemark::wait_status;
using tidemark::detail::call_reached;
using tidemark::detail::reached_callable;

namespace {

constexpr auto takes_nothing = [] {};
constexpr auto takes_a_status = [](wait_status) {};
constexpr auto takes_a_number = [](int*) {};

static_assert(reached_callable<decltype(takes_nothing)> && reached_callable<decltype(takes_a_status)>);
static_assert(!reached_callable<decltype(takes_a_number)> && !reached_callable<int>);

}  // namespace

TEST_CASE("[A120] a callable that takes nothing is called for a reached value only") {
  int calls = 0;
  auto count = [&] { ++calls; };
  call_reached(count, wait_status::lost);
  CHECK(calls == 0);
  call_reached(count, wait_status::reached);
  CHECK(calls == 1);
  CHECK(tidemark::detail::state_after(wait_status::reached) == callback_state::ran);
}

TEST_CASE("[A120] a callable that takes a status is told of a reached value and of a lost timeline") {
  wait_status told = wait_status::timeout;
  auto tell = [&](wait_status how) { told = how; };
  call_reached(tell, wait_status::lost);
  CHECK(told == wait_status::lost);
  call_reached(tell, wait_status::reached);
  CHECK(told == wait_status::reached);
  CHECK(tidemark::detail::state_after(wait_status::lost) == callback_state::lost);
}
