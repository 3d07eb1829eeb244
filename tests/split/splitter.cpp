// SPDX-License-Identifier: BSL-1.0
//
// The splitter: where it cuts, what it keeps, moves and evicts, and when it gives up. A simulated memory carries out
// the paging and finds mistakes.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <tidemark/split/split_table.hpp>
#include <tidemark/split/splitter.hpp>

#include "support/split_model.hpp"
#include "support/split_stand.hpp"

using namespace testing;
using tidemark::address_space;
using tidemark::counting_budget;
using tidemark::fit;
using tidemark::paging_kind;
using tidemark::split_defect;
using tidemark::split_fault;
using tidemark::split_part_status;
using tidemark::unsatisfiable_group;

namespace {

using id = split_id;
using entries = split_entries;
using address = std::optional<std::uint64_t>;
using failure = std::optional<unsatisfiable_group>;

using counted = split_stand<counting_budget>;
using placed = split_stand<address_space<fit::first>>;
using cuts = std::vector<split_range>;

}  // namespace

// ---- cuts -----------------------------------------------------------------------------------------------------------

TEST_CASE("[C1][C2] a work item that fits as a whole is one part") {
  counted at{10};
  CHECK(at.run({{31, 0, 0}, {42, 1, 20}, {33, 2, 50}}, 100) == cuts{{0, 100}});
  CHECK(at.parts.statistics().cuts == 0);
  CHECK(at.log == "+31+42+33");
}

TEST_CASE("[C2][C27] leftovers of earlier work items do not cut a work item that fits as a whole") {
  const entries one{{31, 0, 0}, {22, 1, 0}};
  placed at{10};
  CHECK(at.run(one, 10).size() == 1);
  // 22 lies at [3, 5), where it is in the way of 44; it moves, and 31 goes.
  const entries list{{22, 0, 0}, {23, 1, 10}, {44, 2, 20}};
  CHECK(at.run(list, 100) == cuts{{0, 100}});
  CHECK(at.log == "-31~22+23+44");
  CHECK(at.parts.address_of(22) == address{0});

  // If the part ends nevertheless, the attempt leaves no trace.
  placed cut{10};
  CHECK(cut.run(one, 10).size() == 1);
  REQUIRE(cut.parts.begin(entries{{22, 0, 0}, {33, 1, 10}, {64, 2, 20}, {0, 0, 20}}, 100));
  REQUIRE(cut.parts.next().end == 20);
  CHECK(cut.parts.address_of(31) == address{0});
  CHECK(cut.parts.address_of(22) == address{3});
  CHECK(cut.parts.address_of(33) == address{5});
}

TEST_CASE("[C18][C27] a failed attempt to plan the first part anew restores what it had evicted and placed elsewhere") {
  placed at{10};
  CHECK(at.run({{21, 0, 0}, {32, 1, 0}, {43, 2, 0}}, 10).size() == 1);
  // 64 evicts everything, also 32, which comes back behind it. 25 does not fit in any arrangement.
  CHECK(at.run({{64, 0, 10}, {32, 1, 30}, {25, 2, 40}, {0, 0, 40}}, 100) == cuts{{0, 40}, {40, 100}});
  CHECK(at.before_last == "-21-43-32+64+32");
  CHECK(at.log == "-64+25");
}

TEST_CASE("[C17][C18][C19] a part ends at the offset of the first entry that does not fit") {
  counted at{10};
  CHECK(at.run({{31, 0, 0}, {42, 1, 20}, {43, 0, 50}, {24, 1, 60}}, 100) == cuts{{0, 50}, {50, 100}});
  CHECK(at.before_last == "+31+42");
  CHECK(at.log == "-31+43+24");
}

TEST_CASE("[C13] an allocation is not resident before the part that begins with it") {
  counted at{10};
  REQUIRE(at.parts.begin(entries{}, 1));
  const entries list{{61, 0, 0}, {72, 0, 50}};
  REQUIRE(at.parts.begin(list, 100));
  const auto first = at.parts.next();
  REQUIRE(first);
  CHECK(first.end == 50);
  CHECK(at.parts.address_of(61) == address{0});
  CHECK(at.parts.address_of(72) == address{});
  REQUIRE(at.parts.next());
  CHECK(at.parts.address_of(72) == address{0});
  CHECK_FALSE(at.parts.next());
}

TEST_CASE("[C14][trap 31] an allocation that is replaced within a part stays until the cut, and may be evicted then") {
  counted at{10};
  // 41 is replaced at 20, but the part that begins at 0 has used it.
  CHECK(at.run({{41, 0, 0}, {52, 0, 20}, {43, 0, 60}}, 100) == cuts{{0, 60}, {60, 100}});
  CHECK(at.log == "-41+43");
}

TEST_CASE("[C16][trap 31] entries of one offset are never cut apart") {
  counted at{10};
  // 42 alone would fit behind 41; 43 does not fit beside both.
  CHECK(at.run({{41, 0, 0}, {42, 1, 50}, {43, 0, 50}}, 100) == cuts{{0, 50}, {50, 100}});
  CHECK(at.before_last == "+41");
  CHECK(at.log == "+42-41+43");
}

TEST_CASE("[trap 31] of several entries for one slot in a group only the last one counts") {
  counted at{10};
  CHECK(at.run({{991, 0, 0}, {41, 0, 0}, {992, 1, 30}, {0, 1, 30}}, 100) == cuts{{0, 100}});
  CHECK(at.log == "+41");
}

TEST_CASE("[trap 31] a first entry at offset 0 begins the first part, and no part is empty") {
  counted at{5};
  CHECK(at.run({{51, 0, 0}, {52, 0, 10}}, 100) == cuts{{0, 10}, {10, 100}});
  CHECK(at.run({{61, 0, 0}}, 100).empty());
  CHECK(at.failed == unsatisfiable_group{0_slot, 0});
}

TEST_CASE("[C32] the rest behind the last entry is planned, once") {
  counted at{5};
  CHECK(at.run({}, 100) == cuts{{0, 100}});
  CHECK(at.run({{51, 0, 40}}, 100) == cuts{{0, 100}});
  CHECK(at.run({{51, 0, 40}, {52, 0, 99}}, 100) == cuts{{0, 99}, {99, 100}});
  CHECK(at.run({}, 0).empty());
  CHECK(at.parts.next().status == split_part_status::ended);
  CHECK_FALSE(at.failed);
}

TEST_CASE("[C32] entries at the end of the work item need nothing") {
  counted at{5};
  CHECK(at.run({{51, 0, 0}, {991, 1, 100}, {0, 0, 100}}, 100) == cuts{{0, 100}});
  CHECK_FALSE(at.failed);
}

TEST_CASE("[C22] a work item may be cut many times") {
  counted at{5};
  entries list;
  for (std::uint32_t i = 0; i < 100; ++i) list.add(30 + i % 2, 0, 10 * i);
  const auto ran = at.run(list, 1000);
  CHECK(ran.size() == 100);
  CHECK(at.parts.statistics().parts == 100);
  CHECK(at.parts.statistics().cuts == 99);
}

TEST_CASE("[C8] every declared offset is a cut with some budget") {
  const entries list{{51, 0, 0}, {42, 0, 10}, {33, 1, 20}, {24, 0, 30}, {65, 1, 40}, {16, 2, 50}, {57, 0, 60}};
  std::set<std::uint64_t> seen;
  for (std::uint64_t budget = 6; budget < 26; ++budget) {
    counted at{budget};
    for (const auto& [begin, end] : at.run(list, 70)) seen.insert(begin);
  }
  CHECK(seen == std::set<std::uint64_t>{0, 10, 20, 30, 40, 50, 60});
}

// ---- what stays and what goes ---------------------------------------------------------------------------------------

TEST_CASE("[C20] at a cut the rows are those of the table, before the group that begins there") {
  counted at{10};
  const entries list{{31, 0, 0}, {42, 1, 20}, {43, 0, 50}};
  REQUIRE(at.parts.begin(list, 100));
  REQUIRE(at.parts.next().end == 50);
  CHECK(at.parts.row(0_slot) == 31);
  CHECK(at.parts.row(1_slot) == 42);
  CHECK(at.parts.row(2_slot) == 0);
  REQUIRE(at.parts.next().end == 100);
  CHECK(at.parts.row(0_slot) == 43);
}

TEST_CASE("[C21] a bound allocation keeps its place across a cut, an unbound one may be evicted") {
  placed at{10};
  CHECK(at.run({{31, 0, 0}, {42, 1, 0}, {33, 2, 20}, {0, 2, 40}, {34, 0, 50}, {35, 2, 60}}, 100) ==
        cuts{{0, 50}, {50, 100}});
  CHECK(at.parts.address_of(42) == address{3});
  CHECK(at.parts.address_of(31) == address{});
  CHECK(at.parts.address_of(33) == address{});
  CHECK(at.parts.statistics().bytes_kept == 4);
  CHECK(at.parts.statistics().bytes_fixed == 4);
}

TEST_CASE("[C15] an allocation in two slots stays until both drop it") {
  counted at{10};
  // 41 is dropped by slot 0 at 50, where a part begins; slot 1 keeps it until 70.
  CHECK(at.run({{41, 0, 0}, {41, 1, 10}, {52, 0, 20}, {63, 0, 50}, {44, 1, 70}}, 100) ==
        cuts{{0, 50}, {50, 70}, {70, 100}});
  CHECK(at.before_last == "-52+63");
  CHECK_FALSE(at.failed);
  CHECK(at.log == "-41+44");
}

TEST_CASE("[C24] an unbound slot needs nothing, and unbinding an empty one is harmless") {
  counted at{10};
  CHECK(at.run({{61, 0, 0}, {0, 0, 50}, {0, 5, 50}, {72, 1, 60}}, 100) == cuts{{0, 60}, {60, 100}});
  CHECK(at.log == "-61+72");
  CHECK(at.parts.row(0_slot) == 0);
}

TEST_CASE("[C25] after an unbind fewer bytes must keep their place") {
  counted bound{10};
  counted unbound{10};
  bound.run({{31, 0, 0}, {42, 1, 20}, {53, 2, 50}}, 100);
  CHECK(bound.failed == unsatisfiable_group{2_slot, 50});
  CHECK(bound.run({{31, 0, 0}, {32, 1, 20}, {43, 2, 50}, {54, 2, 60}}, 100).size() == 1);
  CHECK(bound.failed == unsatisfiable_group{2_slot, 60});
  CHECK(unbound.run({{31, 0, 0}, {42, 1, 20}, {0, 0, 50}, {53, 2, 50}}, 100).size() == 2);
  CHECK(unbound.parts.statistics().most_bytes_fixed == 4);
  counted both{10};
  CHECK(both.run({{31, 0, 0}, {42, 1, 20}, {33, 2, 50}, {24, 2, 60}}, 100).size() == 2);
  CHECK(both.parts.statistics().most_bytes_fixed == 7);
}

TEST_CASE("[C18] the farthest next use is evicted first") {
  counted at{6};
  // At 40 one of 21, 22, 23 has to go for 24; 22 is needed last.
  CHECK(at.run({{21, 0, 0},
                {22, 0, 10},
                {23, 0, 20},
                {0, 0, 30},
                {24, 1, 40},
                {23, 0, 50},
                {0, 0, 55},
                {21, 0, 60},
                {22, 0, 70}},
               100) == cuts{{0, 40}, {40, 70}, {70, 100}});
  CHECK(at.before_last == "-22+24");
}

TEST_CASE("[C18] an allocation without a next use is evicted first, and a resident one is not paged in twice") {
  counted at{6};
  CHECK(at.run({{21, 0, 0}, {22, 0, 10}, {23, 0, 20}}, 30).size() == 1);
  CHECK(at.run({{22, 0, 0}, {24, 0, 10}, {23, 0, 20}}, 30).size() == 1);
  CHECK(at.log == "-21+24");
  CHECK(at.parts.statistics().bytes_paged_in == 8);
  CHECK(at.parts.statistics().bytes_evicted == 2);
}

TEST_CASE("[C19] an attempt that fails evicts nothing") {
  counted at{10};
  CHECK(at.run({{31, 0, 0}}, 10).size() == 1);
  // 31 is not bound any more. 52 fits beside it, and evicting it does not make room for 63.
  CHECK(at.run({{52, 0, 0}, {63, 1, 10}, {0, 0, 10}}, 20) == cuts{{0, 10}, {10, 20}});
  CHECK(at.before_last == "+52");
  CHECK(at.log.find("+63") != std::string::npos);
}

// ---- places ---------------------------------------------------------------------------------------------------------

TEST_CASE("[C27] an allocation that must keep its place can make a work item unsatisfiable that fits by the sum") {
  const entries list{{31, 0, 0}, {42, 1, 0}, {63, 0, 50}};
  placed at{10};
  CHECK(at.run(list, 100) == cuts{{0, 50}});
  CHECK(at.failed == unsatisfiable_group{0_slot, 50});
  CHECK(counted{10}.run(list, 100).size() == 2);
}

TEST_CASE(
    "[C27][C28][C26] an allocation that is bound again at the cut may move, and makes the work item satisfiable") {
  placed at{10};
  CHECK(at.run({{31, 0, 0}, {42, 1, 0}, {63, 0, 50}, {42, 1, 50}}, 100) == cuts{{0, 50}, {50, 100}});
  CHECK(at.log == "-31~42+63");
  CHECK(at.parts.address_of(63) == address{0});
  CHECK(at.parts.address_of(42) == address{6});
  CHECK(at.parts.statistics().bytes_moved == 4);

  tidemark::split_list_builder<id> builder;
  CHECK(builder.bind(0, 0_slot, 31));
  CHECK(builder.bind(0, 1_slot, 42));
  builder.keep_bound(1_slot);
  CHECK(builder.bind(50, 0_slot, 63));
  const auto made = builder.entries();
  CHECK(placed{10}.run(entries(made.begin(), made.end()), 100).size() == 2);
}

TEST_CASE("[C9][C27][C28] an allocation that the prologue binds again may move, and makes the work item satisfiable") {
  const entries list{{31, 0, 0}, {42, 1, 0}, {63, 0, 50}};
  placed pinned{10};
  CHECK(pinned.run(list, 100) == cuts{{0, 50}});
  CHECK(pinned.failed == unsatisfiable_group{0_slot, 50});
  CHECK(pinned.parts.would_fail(list, 100) == unsatisfiable_group{0_slot, 50});

  placed at{10};
  const std::array in_prologue{1_slot, 1_slot};
  CHECK_FALSE(at.parts.would_fail(list, 100, in_prologue));
  REQUIRE(at.parts.begin(list, 100, in_prologue));
  CHECK(at.parts.next().end == 50);
  const auto second = at.parts.next();
  CHECK(second.end == 100);
  CHECK(at.parts.address_of(63) == address{0});
  CHECK(at.parts.address_of(42) == address{6});
  CHECK(at.parts.statistics().bytes_fixed == 0);
  CHECK(at.parts.statistics().bytes_moved == 4);
  // The next work item has none.
  static_cast<void>(at.parts.evict_all());
  CHECK(at.parts.would_fail(list, 100) == unsatisfiable_group{0_slot, 50});
}

TEST_CASE("[C9][C28][trap 31] an allocation that a slot holds, too, that is not bound again does not move") {
  const entries list{{31, 0, 0}, {42, 1, 0}, {42, 2, 0}, {63, 0, 50}};
  const std::array slots_of_both{1_slot, 2_slot};
  placed at{10};
  CHECK(at.parts.would_fail(list, 100, std::span{slots_of_both}.first(1)) == unsatisfiable_group{0_slot, 50});
  CHECK_FALSE(at.parts.would_fail(list, 100, slots_of_both));
}

TEST_CASE("[C9][C27] what stays bound across a cut is what the entries at the cut do not name") {
  using binding = tidemark::split_binding<id>;
  using bindings = std::vector<binding>;
  counted at{10};
  REQUIRE(at.parts.begin(entries{{31, 3, 0}, {22, 1, 0}, {13, 0, 0}, {44, 2, 10}, {23, 3, 50}, {0, 0, 50}, {15, 5, 50}},
                         100));
  CHECK(at.parts.carried_over().empty());  // the first part begins behind no cut
  REQUIRE(at.parts.next().end == 50);
  CHECK(at.parts.carried_over() == bindings{{1_slot, 22}, {2_slot, 44}});
  REQUIRE(at.parts.next().end == 100);
  CHECK(at.parts.carried_over().empty());  // there is no further part
}

TEST_CASE("[C27][C28] a group that does not fit in the order of the list is placed with the largest first") {
  placed at{10};
  // 12 keeps its place at 3. In the holes of 3 and 6 bytes beside it 23 and 34 leave no room for 45; 45, 34, 23 fit.
  const entries list{{31, 0, 0}, {12, 1, 0}, {23, 0, 50}, {34, 2, 50}, {45, 3, 50}};
  CHECK(at.run(list, 100) == cuts{{0, 50}, {50, 100}});
  CHECK_FALSE(at.failed);
  CHECK(at.parts.address_of(12) == address{3});
  CHECK(at.parts.address_of(45) == address{4});
  CHECK(at.parts.address_of(34) == address{0});
  CHECK(at.parts.address_of(23) == address{8});
}

TEST_CASE(
    "[C25][C27] an allocation that is unbound at the cut is out of the way, and makes the work item satisfiable") {
  placed at{10};
  CHECK(at.run({{31, 0, 0}, {42, 1, 0}, {0, 1, 50}, {63, 0, 50}}, 100) == cuts{{0, 50}, {50, 100}});
  CHECK_FALSE(at.failed);
}

TEST_CASE("[C28][trap 31] an allocation that another slot holds, too, does not move") {
  placed at{10};
  CHECK(at.run({{31, 0, 0}, {42, 1, 0}, {42, 2, 0}, {63, 0, 50}, {42, 1, 50}}, 100) == cuts{{0, 50}});
  CHECK(at.failed == unsatisfiable_group{0_slot, 50});
  CHECK(at.parts.address_of(42) == address{3});
}

TEST_CASE("[C28] an allocation that may move stays if the group fits without a move") {
  placed at{10};
  CHECK(at.run({{31, 0, 0}, {42, 1, 0}, {33, 2, 0}, {34, 0, 50}, {42, 1, 50}}, 100) == cuts{{0, 50}, {50, 100}});
  CHECK(at.log == "-31+34");
  CHECK(at.parts.statistics().bytes_moved == 0);
  CHECK(at.parts.statistics().bytes_kept == 7);
  CHECK(at.parts.statistics().bytes_fixed == 3);
}

TEST_CASE(
    "[C28] of allocations that change places in a circle one is evicted, and comes back when the others have moved") {
  placed at{7};
  CHECK(at.run({{21, 0, 0}, {22, 1, 0}, {23, 2, 0}, {23, 2, 50}, {39, 7, 50}, {21, 0, 50}, {0, 1, 50}}, 100) ==
        cuts{{0, 50}, {50, 100}});
  CHECK(at.log == "-22-21~23+39+21");
}

TEST_CASE("[C28] moves come in an order in which no block moves to where another one still lies") {
  using tidemark::detail::block_move;
  const auto order_of = [](std::vector<block_move> moves) {
    std::string order;
    for (const block_move& one : tidemark::detail::in_order(std::move(moves))) {
      if (one.must_leave) order += '-';
      order += std::to_string(one.which);
    }
    return order;
  };
  CHECK(order_of({}).empty());
  CHECK(order_of({{1, 4, 0, 2}}) == "1");                                 // onto itself
  CHECK(order_of({{1, 4, 0, 4}, {2, 4, 4, 8}, {3, 4, 8, 12}}) == "321");  // a chain
  CHECK(order_of({{1, 4, 0, 4}, {2, 4, 4, 0}}) == "-21");                 // a circle
  CHECK(order_of({{1, 4, 0, 4}, {2, 4, 4, 0}, {3, 1, 20, 30}}) == "3-21");
  constexpr std::uint64_t top = UINT64_MAX - 7;  // what is placed may end at 2^64
  CHECK(order_of({{1, 4, top, top + 4}, {2, 4, top + 4, 0}}) == "21");
  CHECK(order_of({{1, 4, 0, top + 4}, {2, 4, top + 4, top}}) == "21");
}

TEST_CASE_TEMPLATE("[C27] both fits plan by the same rules", Space, address_space<fit::first>,
                   address_space<fit::best>) {
  split_stand<Space> at{20};
  const auto ran = at.run({{51, 0, 0}, {42, 1, 0}, {63, 2, 10}, {54, 0, 20}, {95, 1, 30}, {0, 2, 30}, {36, 2, 40}}, 50);
  CHECK_FALSE(at.failed);
  CHECK(ran.back().second == 50);
}

// ---- errors ---------------------------------------------------------------------------------------------------------

TEST_CASE("[C31] an allocation above the budget ends the work item, named by slot and offset, and no part follows") {
  counted at{10};
  const entries list{{31, 0, 0}, {992, 4, 50}, {33, 0, 60}};
  CHECK(at.parts.would_fail(list, 100) == unsatisfiable_group{4_slot, 50});
  CHECK(at.parts.statistics().parts == 0);
  CHECK(at.run(list, 100) == cuts{{0, 50}});
  CHECK(at.failed == unsatisfiable_group{4_slot, 50});
  for (int again = 0; again < 2; ++again) {
    const auto none = at.parts.next();
    CHECK(none.status == split_part_status::unsatisfiable);
    CHECK(none.failed == unsatisfiable_group{4_slot, 50});
  }
  CHECK(at.parts.would_fail(entries{{31, 0, 0}}, 100) == std::nullopt);
  CHECK(at.run({{31, 0, 0}}, 100).size() == 1);
}

TEST_CASE("[C31] what must stay and what is new may be too much together") {
  counted at{10};
  CHECK(at.run({{61, 0, 0}, {52, 1, 50}}, 100) == cuts{{0, 50}});
  CHECK(at.failed == unsatisfiable_group{1_slot, 50});
}

TEST_CASE("[C31] an unsatisfiable work item leaves every allocation where it was") {
  placed at{10};
  CHECK(at.run({{31, 0, 0}, {42, 1, 0}, {33, 2, 0}}, 10).size() == 1);
  CHECK(at.run({{33, 0, 0}, {84, 1, 0}}, 10).empty());
  CHECK(at.failed == unsatisfiable_group{1_slot, 0});
  CHECK(at.parts.address_of(31) == address{0});
  CHECK(at.parts.address_of(42) == address{3});
  CHECK(at.parts.address_of(33) == address{7});
  CHECK(at.parts.address_of(84) == address{});
}

TEST_CASE("[C11][C16][C31] a wrong list is refused, and the work item before goes on") {
  counted at{10};
  const entries list{{31, 0, 0}, {92, 0, 50}};
  REQUIRE(at.parts.begin(list, 100));
  REQUIRE(at.parts.next().end == 50);
  const auto defect_of = [&at](const entries& wrong_list) {
    const auto refused = at.parts.begin(wrong_list, 100);
    CHECK(refused.status == tidemark::split_begin_status::invalid);
    CHECK_FALSE(refused);
    return refused.defect;
  };
  CHECK(defect_of({{31, 8, 0}}) == split_defect{split_fault::bad_slot, 0, 8_slot, 0});
  CHECK(defect_of({{31, 0, 5}, {31, 0, 4}}) == split_defect{split_fault::bad_order, 1, 0_slot, 4});
  CHECK(defect_of({{31, 0, 101}}) == split_defect{split_fault::bad_offset, 0, 0_slot, 101});
  CHECK(defect_of({{31, 0, 0}, {5, 1, 7}}) == split_defect{split_fault::no_bytes, 1, 1_slot, 7});  // 5 has 0 bytes
  CHECK(at.parts.next().end == 100);
}

TEST_CASE("[C20][C31] the rows of an unsatisfiable work item are those at the end of its last part") {
  counted at{10};
  CHECK(at.run({{51, 0, 0}, {41, 1, 0}, {992, 0, 10}, {0, 1, 10}, {33, 2, 10}}, 20) == cuts{{0, 10}});
  CHECK(at.failed == unsatisfiable_group{0_slot, 10});
  CHECK(at.parts.row(0_slot) == 51);
  CHECK(at.parts.row(1_slot) == 41);
  CHECK(at.parts.row(2_slot) == 0);
  at.parts.forget(41);
  CHECK(at.parts.row(1_slot) == 0);
  CHECK(at.parts.placement().free_bytes() == 5);
}

TEST_CASE("[C31] an exception out of begin() leaves no work item, and all resident allocations in place") {
  std::uint64_t asked_of_8 = 0;
  tidemark::splitter<id, address_space<>> parts{
      {.max_slot = 7_slot}, address_space<>{{.bytes = 10}}, [&](id allocation) {
        // begin() asks twice: to check the list, and to plan
        if (allocation == 8 && ++asked_of_8 == 2) split_is_wrong("no such allocation");
        return std::uint64_t{allocation};
      }};
  REQUIRE(parts.begin(entries{{3, 0, 0}, {4, 1, 0}, {6, 0, 50}}, 100));
  REQUIRE(parts.next().end == 50);
  CHECK_THROWS_AS((void)parts.begin(entries{{3, 0, 0}, {8, 0, 10}}, 100), std::logic_error);
  CHECK(parts.next().status == split_part_status::ended);
  CHECK(parts.row(0_slot) == 0);
  CHECK(parts.address_of(3) == address{0});
  CHECK(parts.address_of(4) == address{3});
  CHECK(parts.address_of(8) == address{});
  REQUIRE(parts.begin(entries{{3, 0, 0}, {8, 0, 10}}, 100));
  CHECK(parts.next().paging.empty());
  CHECK(parts.next().end == 100);
  CHECK(parts.address_of(8) == address{0});
}

TEST_CASE("[C21] evict_all() evicts everything and unbinds all slots") {
  placed at{10};
  CHECK(at.run({{31, 0, 0}, {42, 1, 0}, {33, 2, 10}}, 20).size() == 1);
  const auto gone = at.parts.evict_all();
  const std::vector<tidemark::paging_operation<id>> expected{
      {paging_kind::evict, 33, 3, 7, 0}, {paging_kind::evict, 42, 4, 3, 0}, {paging_kind::evict, 31, 3, 0, 0}};
  CHECK(gone.size() == 3);
  CHECK(std::is_permutation(gone.begin(), gone.end(), expected.begin(), expected.end()));
  CHECK(at.parts.statistics().bytes_evicted == 10);
  CHECK(at.parts.statistics().parts == 1);
  CHECK(at.parts.placement().largest_hole() == 10);
  CHECK(at.parts.row(1_slot) == 0);
  CHECK(at.parts.address_of(42) == address{});
  CHECK(at.parts.evict_all().empty());
}

TEST_CASE("[C21] a forgotten allocation gives up its place") {
  placed at{10};
  CHECK(at.run({{31, 0, 0}, {42, 1, 0}}, 10).size() == 1);
  at.parts.forget(31);
  at.parts.forget(31);
  at.parts.forget(77);
  CHECK(at.parts.address_of(31) == address{});
  CHECK(at.parts.row(0_slot) == 0);
  CHECK(at.parts.row(1_slot) == 42);
  CHECK(at.parts.placement().free_bytes() == 6);
}
