// SPDX-License-Identifier: BSL-1.0
//
// Placement policies: budgets, first fit and best fit, and holes that join again.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <new>

#include <tidemark/split/split_placement.hpp>

#include "support/random.hpp"

using namespace testing;
using tidemark::address_space;
using tidemark::counting_budget;
using tidemark::fit;
using tidemark::place_status;

namespace {

constexpr tidemark::place_result at(std::uint64_t address) { return {place_status::placed, address}; }
constexpr tidemark::place_result no_space{place_status::no_space};
constexpr tidemark::place_result too_large{place_status::too_large};

bool memory_is_over = false;

static_assert(tidemark::split_placement<counting_budget>);
static_assert(tidemark::split_placement<address_space<fit::first>>);
static_assert(tidemark::split_placement<address_space<fit::best>>);

}  // namespace

TYPE_TO_STRING_AS("first fit", address_space<fit::first>);
TYPE_TO_STRING_AS("best fit", address_space<fit::best>);

[[gnu::noinline]] void* operator new(std::size_t size) {
  void* const memory = memory_is_over ? nullptr : std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc{};
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

TEST_CASE("[C18] a budget refuses what exceeds the rest, and can reserve again what was released") {
  counting_budget budget{10};
  CHECK(budget.place(6) == at(0));
  CHECK(budget.place(5) == no_space);
  CHECK(budget.place(4) == at(0));
  CHECK(budget.free_bytes() == 0);
  CHECK(budget.bytes() == 10);
  budget.release(0, 6);
  CHECK(budget.place(7) == no_space);
  budget.take(0, 6);
  CHECK(budget.place(1) == no_space);
  CHECK(budget.place(11) == too_large);
  CHECK(budget.place(UINT64_MAX) == too_large);
}

TEST_CASE("[C27] an address space fragments: enough bytes are free, but no hole is large enough") {
  address_space space{{.bytes = 10}};
  CHECK(space.place(3) == at(0));
  CHECK(space.place(4) == at(3));
  CHECK(space.place(3) == at(7));
  space.release(0, 3);
  space.release(7, 3);
  CHECK(space.free_bytes() == 6);
  CHECK(space.largest_hole() == 3);
  CHECK(space.place(4) == no_space);
  CHECK(space.place(11) == too_large);
  space.release(3, 4);
  CHECK(space.largest_hole() == 10);
  CHECK(space.place(10) == at(0));
}

TEST_CASE("[C27] without memory for another hole, an address space stays as it is") {
  address_space space{{.bytes = 40}};
  for (std::uint64_t address = 0; address < 30; address += 10) CHECK(space.place(10) == at(address));
  const auto is_refused = [](auto what) {
    memory_is_over = true;
    try {
      what();
    } catch (const std::bad_alloc&) {
      memory_is_over = false;
      return true;
    }
    memory_is_over = false;
    return false;
  };
  CHECK(is_refused([&] { space.release(0, 10); }));
  CHECK(space.free_bytes() == 10);
  CHECK(!is_refused([&] { space.release(20, 10); }));  // the hole behind it begins earlier
  CHECK(space.largest_hole() == 20);
  space.release(0, 10);
  CHECK(is_refused([&] { space.take(25, 10); }));
  CHECK(space.free_bytes() == 30);
  CHECK(!is_refused([&] { space.release(10, 10); }));  // all three are one
  CHECK(space.largest_hole() == 40);
}

TEST_CASE("[C27] first fit takes the lowest hole, best fit the smallest") {
  const auto with_holes = [](auto space) {  // of 5, 2 and 4
    for (const std::uint64_t bytes : {5U, 1U, 2U, 1U, 4U, 1U}) CHECK(space.place(bytes));
    space.release(0, 5);
    space.release(6, 2);
    space.release(9, 4);
    return space;
  };
  auto first = with_holes(address_space<fit::first>{{.bytes = 14}});
  CHECK(first.place(2) == at(0));
  CHECK(first.place(4) == at(9));
  auto best = with_holes(address_space<fit::best>{{.bytes = 14}});
  CHECK(best.place(2) == at(6));
  CHECK(best.place(3) == at(9));
  CHECK(best.place(5) == at(0));
  CHECK(best.place(2) == no_space);
}

TEST_CASE("[C27] addresses and sizes are rounded to the alignment") {
  address_space space{{.bytes = 100, .alignment = 16}};
  CHECK(space.bytes() == 96);
  CHECK(space.free_bytes() == 96);
  CHECK(space.place(1) == at(0));
  CHECK(space.place(17) == at(16));
  CHECK(space.place(16) == at(48));
  CHECK(space.place(33) == no_space);
  CHECK(space.place(97) == too_large);
  CHECK(space.place(UINT64_MAX) == too_large);
  space.release(16, 17);
  CHECK(space.place(32) == at(16));

  address_space sevens{{.bytes = UINT64_MAX, .alignment = 7}};  // 7 * n + 1 bytes
  CHECK(sevens.place(UINT64_MAX) == too_large);
  CHECK(sevens.place(UINT64_MAX - 3) == at(0));
}

TEST_CASE_TEMPLATE("[C27] the places of an address space never overlap, and all of it can be released", Space,
                   address_space<fit::first>, address_space<fit::best>) {
  random_numbers random{fresh_seed()};
  Space space{{.bytes = 200, .alignment = 3}};
  std::map<std::uint64_t, std::uint64_t> placed;
  for (int step = 0; step < 20'000; ++step) {
    if (!placed.empty() && random.below(2) == 0) {
      auto one = placed.begin();
      std::advance(one, static_cast<std::ptrdiff_t>(random.below(placed.size())));
      space.release(one->first, one->second);
      if (random.below(4) == 0) {
        space.take(one->first, one->second);
      } else {
        placed.erase(one);
      }
      continue;
    }
    const std::uint64_t bytes = 1 + random.below(40);
    const std::uint64_t hole = space.largest_hole();
    const auto [status, where] = space.place(bytes);
    REQUIRE(status == (bytes + 2 - (bytes + 2) % 3 <= hole ? place_status::placed : place_status::no_space));
    if (status != place_status::placed) continue;
    REQUIRE(where % 3 == 0);
    const auto next = placed.lower_bound(where);
    REQUIRE((next == placed.end() || where + bytes <= next->first));
    REQUIRE((next == placed.begin() || std::prev(next)->first + std::prev(next)->second <= where));
    placed.emplace(where, bytes);
  }
  for (const auto& [where, bytes] : placed) space.release(where, bytes);
  CHECK(space.largest_hole() == 198);
}
