// SPDX-License-Identifier: BSL-1.0
//
// What a hub gives back: which results count as a success, and that a refusal names nothing.
#include <doctest/doctest.h>

#include <type_traits>

#include <tidemark/hub/hub.hpp>

#include "support/hubs.hpp"

using namespace testing;
using tidemark::hub_add_status;
using tidemark::hub_attach_status;

static_assert(!std::is_convertible_v<tidemark::hub_attach_result, bool>, "only where a condition asks for it");

TEST_CASE("a fence that finds no room gets no id, and a queue no progress fence") {
  tidemark::basic_hub<stepping_platform, self_serving, 1, 1> hub;
  any_fence first;
  any_fence second;
  const auto added = hub.add(first);
  CHECK(added);
  CHECK(added.status == hub_add_status::added);
  CHECK(added.fence.fence == &first);
  CHECK(added.fence.id != fence_id{});
  const auto refused = hub.add(second);
  CHECK_FALSE(refused);
  CHECK(refused.status == hub_add_status::no_space);
  CHECK(refused.fence.id == fence_id{});

  lone_queue at;
  const auto without_room = hub.attach(at.queue);  // its progress fence has none
  CHECK_FALSE(without_room);
  CHECK(without_room.status == hub_attach_status::no_space);
  CHECK_FALSE(without_room.progress.has_value());
  hub.remove(added.fence.id);
  const auto attached = hub.attach(at.queue);
  CHECK(attached);
  CHECK(attached.status == hub_attach_status::attached);
  CHECK(attached.progress.has_value());
  CHECK(attached.queue == queue_id{0});
  lone_queue another;
  CHECK(hub.attach(another.queue).status == hub_attach_status::no_space);
}
