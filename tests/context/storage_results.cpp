// SPDX-License-Identifier: BSL-1.0
//
// The results of a context storage: what converts to true, and what an id means that names nothing.
#include <doctest/doctest.h>

#include <tidemark/context/storage.hpp>

using namespace tidemark;

TEST_CASE("a result is true if and only if the call has succeeded") {
  CHECK(object_create_result{object_create_status::added, {0, 1}});
  CHECK(!object_create_result{});
  CHECK(!object_create_result{object_create_status::refused});
  int state = 3;
  const block_use_result used{block_use_status::ready, &state};
  CHECK(used);
  CHECK(&used.as<int>() == &state);
  CHECK(!block_use_result{});
  CHECK(!block_use_result{block_use_status::no_memory});
}

TEST_CASE("an id that was made without arguments equals no object's") {
  CHECK(object_id{} == object_id{});
  CHECK(object_id{} != object_id{0, 1});
  CHECK(object_id{0, 0} == object_id{});  // no object has generation 0
  CHECK(object_id{1, 1} != object_id{0, 1});
}
