// SPDX-License-Identifier: BSL-1.0
//
// Misuse of contexts that record commands is reported through TIDEMARK_ASSERT.
#include "support/misuse_hook.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>

#include <tidemark/context/command_context.hpp>
#include <tidemark/context/renamed_resource.hpp>
#include <tidemark/fence/fence.hpp>
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

TEST_CASE("[B47] lists that are not adopted, or adopted twice, and values that can't be kept, are reported") {
  const auto renamed = [](const auto& then) {
    return reported_by([&] {
      tidemark::fence done;
      tidemark::renamed_resource resource{tidemark::fence_view{done}, {.bytes = 64}};
      tidemark::progress_fence progress;
      tidemark::queue queue{progress};
      stand at;
      at.deferred[0].begin_recording();
      CHECK(at.deferred[0].try_map(resource, tidemark::map_mode::discard));
      auto list = std::move(at.deferred[0].finish().list);
      then(resource, queue, list);
    });
  };
  CHECK(renamed([](auto&, auto& queue, auto& list) { static_cast<void>(list.execute_on(queue)); }) ==
        "a list that uses renamed resources was not adopted");
  CHECK(renamed([](auto&, auto&, auto& list) {
          list.adopt(0);
          list.adopt(0);
        }) == "a list was adopted twice");
  CHECK(renamed([](auto&, auto&, auto& list) { list.adopt(UINT64_MAX); }) ==
        "a renamed resource keeps values less than 2^64 - 2^33 - 1");
  CHECK(renamed([](auto& resource, auto&, auto&) { resource.used_until(UINT64_MAX - 1); }) ==
        "a renamed resource keeps values less than 2^64 - 2^33 - 1");
}
