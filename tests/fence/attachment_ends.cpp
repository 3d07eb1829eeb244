// SPDX-License-Identifier: BSL-1.0
//
// A descriptor that tells of the ends of attachments to a fence that processes share.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cerrno>
#include <concepts>
#include <optional>
#include <string>
#include <thread>

#include <tidemark/fence/attachment_ends.hpp>
#include <tidemark/fence/followed_fence.hpp>
#include <tidemark/loop/wait_loop.hpp>

#include "support/no_descriptors.hpp"
#include "support/processes.hpp"
#include "support/readable.hpp"
#include "support/shared_kinds.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace tidemark;

namespace {

static_assert(!std::constructible_from<attachment_ends<shared_fence>, shared_fence>);

/// Another process that may signal, and sleeps until it is killed.
template <class Kind, class Fence>
child_process signaller_of(const Fence& of) {
  child_process child{[&] {
    auto opened = Kind::signaller::open(of.files());
    if (!opened) return 1;
    return opened.fence.wait(2) == wait_status::reached ? 0 : 2;
  }};
  await([&] { return of.signallers() == shared_signallers::present; });
  return child;
}

/// Looks until nothing is told any more.
template <class Fence>
void look_at_all(attachment_ends<Fence>& ends) {
  do ends.look();
  while (is_readable(ends.descriptor(), 250));
}

}  // namespace

TYPE_TO_STRING_AS("several", several);
TYPE_TO_STRING_AS("one", one);

TEST_CASE_TEMPLATE("[A120] a loop is told that the last signaller was killed, and a followed fence finds it", Kind,
                   several, one) {
  const watchdog dog{[] { return std::string{"killed"}; }};
  auto made = Kind::waiter::create();
  REQUIRE(made);
  auto signaller = signaller_of<Kind>(made.fence);
  attachment_ends ends{made.fence};
  REQUIRE(ends.error() == 0);
  const followed_fence followed{made.fence};
  wait_loop loop;
  wait_status how = wait_status::timeout;
  const auto told = loop.on_readable(ends.descriptor(), [&] {
    ends.look();
    if (made.fence.signallers() == shared_signallers::died && how == wait_status::lost) loop.stop();
  });
  const auto never = loop.on_reached(followed, 2, [&](wait_status with) {
    how = with;
    if (made.fence.signallers() == shared_signallers::died) loop.stop();
  });
  std::thread killer{[&] { signaller.kill_now(); }};
  static_cast<void>(loop.run());
  killer.join();
  CHECK(how == wait_status::lost);
  CHECK(made.fence.signallers() == shared_signallers::died);
}

TEST_CASE_TEMPLATE("each end of an attachment makes the descriptor readable, and a look makes it unreadable", Kind,
                   several, one) {
  const watchdog dog{[] { return std::string{"ends"}; }};
  auto made = Kind::waiter::create();
  REQUIRE(made);
  attachment_ends ends{made.fence};
  REQUIRE(ends.error() == 0);
  CHECK_FALSE(is_readable(ends.descriptor()));
  {
    auto signaller = Kind::signaller::open(made.fence.files());
    REQUIRE(signaller);
    look_at_all(ends);
    signaller.fence.signal(1);
  }
  CHECK(is_readable(ends.descriptor(), for_ever));
  look_at_all(ends);
  CHECK(made.fence.signallers() == shared_signallers::closed);
  auto other = signaller_of<Kind>(made.fence);
  look_at_all(ends);
  other.kill_now();
  CHECK(is_readable(ends.descriptor(), for_ever));
  ends.look();
  await([&] { return made.fence.signallers() == shared_signallers::died; });
}

// As a guard does it that has learnt of a death. It needs no descriptor for that, and no right to open the file.
TEST_CASE("a word that is written to the file makes the descriptor readable") {
  auto made = shared_fence::create();
  REQUIRE(made);
  attachment_ends ends{made.fence};
  REQUIRE(ends.error() == 0);
  CHECK_FALSE(is_readable(ends.descriptor()));
  CHECK(detail::touch(detail::shared_access::waiters_file(made.fence)));
  CHECK(is_readable(ends.descriptor(), for_ever));
  look_at_all(ends);
  // It lies where nobody reads: others can still open the fence.
  CHECK(shared_fence::open(made.fence.files()));
}

TEST_CASE("the ends of attachments to another fence are not told") {
  auto made = shared_fence::create();
  auto other = shared_fence::create();
  REQUIRE(made);
  REQUIRE(other);
  attachment_ends ends{made.fence};
  REQUIRE(ends.error() == 0);
  other.fence.close();
  CHECK_FALSE(is_readable(ends.descriptor()));
}

TEST_CASE("an attachment that only looks is told, too") {
  const watchdog dog{[] { return std::string{"a reader"}; }};
  auto made = shared_fence::create();
  REQUIRE(made);
  auto reader = shared_fence_reader::open(made.fence.files());
  REQUIRE(reader);
  attachment_ends ends{reader.fence};
  CHECK(ends.error() == 0);
  made.fence.close();
  CHECK(is_readable(ends.descriptor(), for_ever));
  CHECK(reader.fence.signallers() == shared_signallers::closed);
}

TEST_CASE("who has only the values can't be told of the ends of attachments") {
  auto made = shared_fence::create();
  REQUIRE(made);
  const shared_files values{tidemark::detail::file_descriptor{::dup(made.fence.files().values())}, {}, true};
  auto reader = shared_fence_reader::open(values);
  REQUIRE(reader);
  const attachment_ends ends{reader.fence};
  CHECK(ends.error() == EBADF);
  CHECK(ends.descriptor() == -1);
}

TEST_CASE("two who watch the same fence are both told, and one that is gone does not matter") {
  const watchdog dog{[] { return std::string{"two who watch"}; }};
  auto made = shared_fence_waiter::create();
  REQUIRE(made);
  attachment_ends first{made.fence};
  attachment_ends second{made.fence};
  signaller_of<several>(made.fence).kill_now();
  CHECK(is_readable(first.descriptor(), for_ever));
  CHECK(is_readable(second.descriptor(), for_ever));
  {
    const attachment_ends third{made.fence};
    REQUIRE(third.error() == 0);
  }
  look_at_all(first);
  look_at_all(second);
  signaller_of<several>(made.fence).kill_now();
  CHECK(is_readable(first.descriptor(), for_ever));
  CHECK(is_readable(second.descriptor(), for_ever));
}

TEST_CASE("without descriptors nobody is told, and a look does nothing") {
  auto made = shared_fence::create();
  REQUIRE(made);
  std::optional<attachment_ends<shared_fence>> none;
  {
    const no_descriptors full;
    none.emplace(made.fence);
  }
  CHECK(none->error() == EMFILE);
  CHECK(none->descriptor() == -1);
  none->look();
}
