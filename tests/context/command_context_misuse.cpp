// SPDX-License-Identifier: BSL-1.0
//
// Misuse of contexts that record commands is reported through TIDEMARK_ASSERT.
#include "support/misuse_hook.hpp"

#include <doctest/doctest.h>

#include <tidemark/context/command_context.hpp>
#include <tidemark/queue/queue.hpp>

#include "support/recordings.hpp"

using namespace testing;

namespace {

using stand = recording_stand<tidemark::queue>;

}  // namespace

TEST_CASE("commands outside a recording, and recordings that do not match, are reported") {
  CHECK(reported_by([] {
          stand at;
          at.deferred[0].run([] {});
        }) == "a command was recorded outside a recording");
  CHECK(reported_by([] {
          stand at;
          static_cast<void>(at.deferred[0].use({}));
        }) == "a command was recorded outside a recording");
  CHECK(reported_by([] {
          stand at;
          at.deferred[0].begin_recording();
          at.deferred[0].begin_recording();
        }) == "a context began to record twice");
  CHECK(reported_by([] {
          stand at;
          static_cast<void>(at.deferred[0].finish());
        }) == "a context finished a recording that it had not begun");
}

TEST_CASE("[D39] a second finish after a removal is reported: the error is returned once") {
  CHECK(reported_by([] {
          stand at;
          at.deferred[0].begin_recording();
          at.lists[0]->calls_left = 0;
          at.deferred[0].run([] {});
          CHECK(at.deferred[0].finish().status == tidemark::finish_status::no_memory);
          static_cast<void>(at.deferred[0].finish());
        }) == "a context finished a recording that it had not begun");
}

TEST_CASE("[D34] objects that are created in a deferred context are reported") {
  CHECK(reported_by([] {
          stand at;
          static_cast<void>(at.deferred[0].create(test_kind::resource, {}));
        }) == "objects are created in the immediate context");
}

TEST_CASE("a reset of the immediate context is reported") {
  CHECK(reported_by([] {
          stand at;
          static_cast<void>(at.immediate->reset());
        }) == "the immediate context can't be closed");
}
