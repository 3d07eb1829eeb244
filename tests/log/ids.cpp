// SPDX-License-Identifier: BSL-1.0
//
// The numbers of fences, queues, devices and engines: types of their own, which are as large as a number, can be
// compared and printed, and are not taken for each other.
#include <doctest/doctest.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <unordered_map>

#include <tidemark/log/ids.hpp>

using tidemark::device_id;
using tidemark::engine_id;
using tidemark::fence_id;
using tidemark::queue_id;

namespace {

template <class Left, class Right>
concept comparable = requires(Left left, Right right) { left == right; };

}  // namespace

TEST_CASE("a fence's number is not taken for a queue's, nor a plain number for one of them") {
  static_assert(!std::is_convertible_v<fence_id, queue_id> && !std::is_convertible_v<queue_id, fence_id>);
  static_assert(!std::is_convertible_v<std::uint32_t, fence_id> && !std::is_convertible_v<std::uint32_t, queue_id>);
  static_assert(!std::is_convertible_v<fence_id, std::uint32_t> && !std::is_convertible_v<queue_id, std::uint32_t>);
  static_assert(comparable<fence_id, fence_id> && comparable<queue_id, queue_id>);
  static_assert(!comparable<fence_id, queue_id> && !comparable<fence_id, std::uint32_t>);
  static_assert(!std::is_convertible_v<device_id, queue_id> && !std::is_convertible_v<fence_id, device_id>);
  static_assert(!std::is_convertible_v<std::uint32_t, device_id> && !comparable<device_id, queue_id>);
  static_assert(!std::is_convertible_v<engine_id, queue_id> && !comparable<engine_id, device_id>);
  CHECK(fence_id{7} == fence_id{7});
  CHECK(queue_id{7} != queue_id{8});
}

TEST_CASE("[A81] a number has 32 bits, all of which can be printed") {
  static_assert(sizeof(fence_id) == 4 && sizeof(queue_id) == 4 && sizeof(device_id) == 4);
  CHECK(tidemark::to_number(device_id{UINT32_MAX}) == UINT32_MAX);
  CHECK(tidemark::to_number(engine_id{UINT32_MAX}) == UINT32_MAX);
  CHECK(tidemark::to_number(fence_id{UINT32_MAX}) == UINT32_MAX);
  CHECK(tidemark::to_number(queue_id{0}) == 0);
  CHECK(std::to_string(tidemark::to_number(queue_id{12})) == "12");
}

TEST_CASE("a number is the key of a map, in the order of the numbers") {
  std::map<fence_id, std::string> names{{fence_id{20}, "late"}, {fence_id{3}, "early"}};
  CHECK(names.begin()->second == "early");
  std::unordered_map<queue_id, int> counts;
  ++counts[queue_id{3}];
  ++counts[queue_id{3}];
  CHECK(counts.at(queue_id{3}) == 2);
}

TEST_CASE("[A81] numbers of another process are moved, shared fences keep theirs, and none is that of a third one") {
  const std::array shared{fence_id{7}};
  const tidemark::process_numbers numbers{.queues = 1000, .fences = 2000, .count = 10, .shared = shared};
  CHECK(numbers.here(fence_id{7}) == fence_id{7});
  CHECK(numbers.here(fence_id{3}) == fence_id{2003});
  CHECK(numbers.here(fence_id{9}) == fence_id{2009});
  CHECK(numbers.here(fence_id{10}) == fence_id{2009});
  CHECK(numbers.here(fence_id{UINT32_MAX}) == fence_id{2009});
  CHECK(numbers.here(queue_id{7}) == queue_id{1007});
  CHECK(numbers.here(queue_id{UINT32_MAX}) == queue_id{1009});
  static_assert(tidemark::process_numbers{.queues = 5}.here(queue_id{1}) == queue_id{6});
}
