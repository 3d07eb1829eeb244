// SPDX-License-Identifier: BSL-1.0

#include <tidemark/fence/detached.hpp>

#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/signaller_awaiter.hpp>
#include <tidemark/fence/wait.hpp>
#include <tidemark/loop/wait_loop.hpp>

#include <memory>
#include <utility>

#include <doctest/doctest.h>

using namespace tidemark;

namespace {

enum class step { before, begun, ended };

detached run(step& at) {
  at = step::begun;
  at = step::ended;
  co_return;
}

detached wait_on(wait_loop& loop, const fence& done, step& at, std::shared_ptr<int> held) {
  at = step::begun;
  const wait_status status = co_await loop.reached(done, 1);
  CHECK(status == wait_status::reached);
  *held = 7;
  at = step::ended;
}

detached wait_in_signaller(const tidemark::callback_fence& done, step& at) {
  at = step::begun;
  const wait_status status = co_await reached_in_signaller(done, 1);
  CHECK(status == wait_status::reached);
  at = step::ended;
}

TEST_CASE("a detached coroutine that waits for nothing ends in the call") {
  step at = step::before;
  run(at);
  CHECK(at == step::ended);
}

TEST_CASE("a detached coroutine runs to its first wait in the call, and ends on the loop; then its frame is gone") {
  wait_loop loop;
  fence done;
  step at = step::before;
  const auto held = std::make_shared<int>(0);
  wait_on(loop, done, at, held);
  CHECK(at == step::begun);
  CHECK(held.use_count() == 2);
  CHECK(loop.poll() == 0);
  done.signal(1);
  CHECK(loop.poll() == 1);
  CHECK(at == step::ended);
  CHECK(*held == 7);
  CHECK(held.use_count() == 1);
}

TEST_CASE("a detached coroutine goes on in the signaller") {
  tidemark::callback_fence done;
  step at = step::before;
  wait_in_signaller(done, at);
  CHECK(at == step::begun);
  done.signal(1);
  CHECK(at == step::ended);
}

}  // namespace
