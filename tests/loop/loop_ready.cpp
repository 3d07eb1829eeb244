// SPDX-License-Identifier: BSL-1.0
//
// The order in which a loop runs what is ready.
#include <tidemark/loop/tools/loop_operation.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>

using tidemark::detail::linked_queue;
using tidemark::detail::loop_ready;

namespace {

struct work {
  std::uint8_t rank;
  int number;
  work* next = nullptr;
  work* previous = nullptr;
  linked_queue<work>* is_in = nullptr;
};

/// Takes everything, and returns the numbers in the order in which they came.
std::vector<int> all_of(loop_ready<work>& ready) {
  std::vector<int> numbers;
  while (const work* const next = ready.take()) numbers.push_back(next->number);
  return numbers;
}

}  // namespace

TEST_CASE("work of a lower rank number comes first, and within a rank what was ready first") {
  loop_ready<work> ready;
  std::array<work, 5> works{{{1, 1}, {0, 2}, {2, 3}, {1, 4}, {0, 5}}};
  CHECK(ready.is_empty());
  CHECK(ready.take() == nullptr);
  for (work& each : works) ready.push(each);
  CHECK_FALSE(ready.is_empty());
  CHECK(all_of(ready) == std::vector<int>{2, 5, 1, 4, 3});
  CHECK(ready.is_empty());
}

TEST_CASE("work that is preferred again and again does not let the rest starve") {
  loop_ready<work> ready;
  work first{0, 0};
  work second{1, 1};
  work third{2, 2};
  std::array<int, 3> turns{};
  for (work* const each : {&first, &second, &third}) ready.push(*each);
  for (int turn = 0; turn < 1000; ++turn) {
    work* const next = ready.take();
    ++turns[next->rank];
    ready.push(*next);
  }
  CHECK(turns[0] > 700);
  CHECK(turns[1] > 90);
  CHECK(turns[2] > 90);
}

TEST_CASE("work for later is ready only once it is taken over, and can be removed before and after") {
  loop_ready<work> ready;
  std::array<work, 4> works{{{1, 0}, {1, 1}, {1, 2}, {1, 3}}};
  ready.push(works[0]);
  ready.push_later(works[1]);
  ready.push_later(works[2]);
  ready.push_later(works[3]);
  ready.remove(works[2]);
  CHECK(all_of(ready) == std::vector<int>{0});
  CHECK(ready.is_empty());
  ready.take_later();
  CHECK_FALSE(ready.is_empty());
  ready.remove(works[1]);
  CHECK(all_of(ready) == std::vector<int>{3});
  CHECK(ready.is_empty());
  ready.take_later();
  CHECK(ready.is_empty());
}

TEST_CASE("the rank of work can change while it is ready, is for later, or asks for the loop") {
  loop_ready<work> ready;
  std::array<work, 5> works{{{1, 0}, {1, 1}, {1, 2}, {1, 3}, {1, 4}}};
  for (std::size_t i = 0; i < 3; ++i) ready.push(works[i]);
  ready.push_later(works[3]);
  ready.push_alone(works[4]);
  ready.change_rank(works[1], 0);
  ready.change_rank(works[0], 2);
  ready.change_rank(works[3], 0);
  ready.change_rank(works[4], 0);
  CHECK(all_of(ready) == std::vector<int>{1, 2, 0});
  CHECK(ready.is_empty());
  ready.take_later();
  CHECK(all_of(ready) == std::vector<int>{3});
  CHECK(ready.take_alone() == &works[4]);
  CHECK_FALSE(ready.has_alone());
  // The last of its new rank.
  for (std::size_t i = 0; i < 3; ++i) ready.push(works[i]);
  ready.change_rank(works[1], 2);
  CHECK(all_of(ready) == std::vector<int>{2, 0, 1});
}
