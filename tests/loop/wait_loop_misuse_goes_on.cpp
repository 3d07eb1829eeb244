// SPDX-License-Identifier: BSL-1.0
//
// Misuse of what a loop gives out harms nobody else, where the hook of TIDEMARK_ASSERT returns: here it notes the text.
#include "support/noted_misuse.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/link.hpp>
#include <tidemark/fence/signaller.hpp>
#include <tidemark/loop/senders.hpp>
#include <tidemark/loop/wait_loop.hpp>

#include "support/coroutine.hpp"
#include "support/manual_stop.hpp"
#include "support/receiver.hpp"

using namespace testing;
using tidemark::awaited;
using tidemark::callback_state;
using tidemark::wait_status;

namespace {

const texts two_coroutines{"an awaitable of a loop was awaited by two coroutines at once"};
const texts started_twice{"a sender's operation was started twice"};

/// Awaits what lies outside of its frame.
coroutine await_any(auto& those, std::vector<tidemark::wait_any_result>& ended) { ended.push_back(co_await those); }
coroutine await_it(auto& one, std::vector<wait_status>& ended) { ended.push_back(co_await one); }

}  // namespace

TEST_CASE("a second coroutine that awaits what another one awaits goes on at once, and leaves the first one alone") {
  tidemark::wait_loop loop;
  tidemark::fence fence;
  manual_stop source;
  auto one = loop.reached(fence, 1, source.get_token());
  std::vector<wait_status> first;
  std::vector<wait_status> second;
  const coroutine waiting = await_it(one, first);
  CHECK(take_said().empty());

  SUBCASE("before the value is reached") {
    const coroutine refused = await_it(one, second);
    CHECK(take_said() == two_coroutines);
    CHECK(second == std::vector{wait_status::timeout});
    CHECK(first.empty());
    fence.signal(1);
    CHECK(loop.poll() == 1);
    CHECK(first == std::vector{wait_status::reached});
    // Now it is free again.
    const coroutine later = await_it(one, second);
    CHECK(second == std::vector{wait_status::timeout, wait_status::reached});
  }
  SUBCASE("when the value is reached, and the loop has not resumed the first one") {
    fence.signal(1);
    const coroutine refused = await_it(one, second);
    CHECK(take_said() == two_coroutines);
    CHECK(second == std::vector{wait_status::timeout});
    CHECK(loop.poll() == 1);
    CHECK(first == std::vector{wait_status::reached});
  }
  SUBCASE("and the first one can still be stopped") {
    const coroutine refused = await_it(one, second);
    CHECK(take_said() == two_coroutines);
    source.request();
    CHECK(loop.poll() == 1);
    CHECK(first == std::vector{wait_status::stopped});
  }
  SUBCASE("and the first one keeps its outcome, if that is known") {
    fence.poison();
    source.request();
    const coroutine refused = await_it(one, second);
    CHECK(take_said() == two_coroutines);
    CHECK(loop.poll() == 1);
    CHECK(first == std::vector{wait_status::lost});
  }
  CHECK(loop.poll() == 0);
  CHECK(take_said().empty());
}

TEST_CASE("a second coroutine that awaits the same any_of() or all_of() goes on at once, with timeout") {
  tidemark::wait_loop loop;
  tidemark::fence copied;
  tidemark::fence drawn;
  auto any = loop.any_of(std::array{awaited{copied, 1}, awaited{drawn, 1}});
  auto all = loop.all_of(std::array{awaited{copied, 1}, awaited{drawn, 1}});
  std::vector<tidemark::wait_any_result> any_ended;
  std::vector<wait_status> all_ended;
  const coroutine waits_for_any = await_any(any, any_ended);
  const coroutine waits_for_all = await_it(all, all_ended);
  {
    std::vector<tidemark::wait_any_result> any_refused;
    std::vector<wait_status> all_refused;
    const coroutine other_any = await_any(any, any_refused);
    CHECK(take_said() == two_coroutines);
    const coroutine other_all = await_it(all, all_refused);
    CHECK(take_said() == two_coroutines);
    CHECK((any_refused == std::vector{tidemark::wait_any_result{wait_status::timeout, 2}}));
    CHECK(all_refused == std::vector{wait_status::timeout});
  }
  drawn.signal(1);
  CHECK(loop.poll() == 1);
  copied.signal(1);
  CHECK(loop.poll() == 1);
  CHECK((any_ended == std::vector{tidemark::wait_any_result{wait_status::reached, 1}}));
  CHECK(all_ended == std::vector{wait_status::reached});
}

TEST_CASE("a second coroutine that awaits the same schedule() goes on at once") {
  tidemark::wait_loop loop;
  auto soon = loop.schedule();
  std::vector<int> steps;
  const auto move = [](auto& to, std::vector<int>& taken, int step) -> coroutine {
    co_await to;
    taken.push_back(step);
  };
  const coroutine first = move(soon, steps, 1);
  const coroutine second = move(soon, steps, 2);
  CHECK(take_said() == two_coroutines);
  CHECK(steps == std::vector{2});
  CHECK(loop.poll() == 1);
  CHECK(steps == std::vector{2, 1});
  CHECK(loop.poll() == 0);
}

TEST_CASE("a sender's operation that is started twice completes once") {
  tidemark::wait_loop loop;
  tidemark::fence fence;
  completion waited;
  completion scheduled;
  auto waits = tidemark::when_reached(loop, fence, 3).connect(receiver{waited});
  auto soon = tidemark::loop_scheduler(loop).schedule().connect(receiver{scheduled});
  waits.start();
  soon.start();
  CHECK(take_said().empty());
  waits.start();
  CHECK(take_said() == started_twice);
  soon.start();
  CHECK(take_said() == started_twice);
  fence.signal(3);
  CHECK(loop.poll() == 2);
  CHECK(waited.is(wait_status::reached));
  CHECK(scheduled.is(wait_status::reached));
  // It lives until its operation goes, and does nothing more.
  waits.start();
  soon.start();
  CHECK(take_said() == texts{started_twice.front(), started_twice.front()});
  CHECK(loop.poll() == 0);
  CHECK(waited.is(wait_status::reached));
}

TEST_CASE("a link on a loop of a signaller that holds nothing is cancelled from the start") {
  tidemark::wait_loop loop;
  tidemark::fence from;
  tidemark::fence to;
  tidemark::signaller signals{to};
  signals.release();
  {
    auto linked = tidemark::link(loop, from, 1, std::move(signals), 1);
    CHECK(take_said() == texts{"link() was given a signaller that holds no fence"});
    CHECK(linked.state() == callback_state::cancelled);
    from.signal(1);
    CHECK(loop.poll() == 0);
    CHECK(linked.state() == callback_state::cancelled);
    CHECK(linked.cancel() == callback_state::cancelled);
  }
  CHECK(to.current_value() == 0);
  CHECK_FALSE(to.is_poisoned());
  CHECK(take_said().empty());
}
