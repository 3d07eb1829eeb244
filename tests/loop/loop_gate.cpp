// SPDX-License-Identifier: BSL-1.0
//
// The gate of a loop: work that has asked for the loop, and the end of the loop.
#include <tidemark/loop/detail/loop_gate.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <optional>

#include <tidemark/loop/tools/loop_operation.hpp>
#include <tidemark/loop/wait_loop.hpp>

#include "support/loop_kinds.hpp"

using namespace testing;

namespace {

/// Work that asks for the loop in its first turn.
template <class Platform>
class asks_for_loop : public tidemark::detail::loop_work<Platform> {
  using work = tidemark::detail::loop_work<Platform>;
  using keeper = typename work::keeper;

 public:
  explicit asks_for_loop(tidemark::basic_loop<Platform>& on) : work(&act, true), loop_{on} {}

 private:
  static void act(work& of, tidemark::detail::loop_action what, keeper&) {
    auto& self = static_cast<asks_for_loop&>(of);
    if (what == tidemark::detail::loop_action::drop) return;
    tidemark::detail::loop_access::core_of(self.loop_).run_alone(self);
  }

  tidemark::basic_loop<Platform>& loop_;
};

}  // namespace

TEST_CASE_TEMPLATE("while a loop is destroyed, work that has asked for it keeps nothing else from running", Kind,
                   EVERY_LOOP_KIND) {
  std::optional<typename Kind::loop> loop{std::in_place};
  // While the loop is destroyed, the optional may not know it any more.
  tidemark::basic_loop<typename Kind::platform>& dying = *loop;
  asks_for_loop<typename Kind::platform> asks{dying};
  int ran = 0;
  const auto use_the_loop = [&dying, &ran](int*) {
    for (int n = 1; n <= 2; ++n) {
      dying.post([&ran] { ++ran; });
      CHECK(dying.poll() == 1);
      CHECK(ran == n);
    }
  };
  tidemark::detail::loop_access::core_of(dying).post(asks);
  dying.post([kept = std::unique_ptr<int, decltype(use_the_loop)>(&ran, use_the_loop)] {});
  REQUIRE(dying.run_one() == tidemark::run_status::ran);  // now it has asked
  loop.reset();
  CHECK(ran == 2);
}
