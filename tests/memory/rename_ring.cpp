// SPDX-License-Identifier: BSL-1.0
//
// The rename ring: which backing a map gets, what is refused and why, and when a backing may be used again. With one
// writer and with several.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <thread>
#include <type_traits>
#include <vector>

#include <tidemark/memory/rename_ring.hpp>

#include "support/backings.hpp"
#include "support/counted_progress.hpp"
#include "support/manual_stop.hpp"
#include "support/observed_timeline.hpp"
#include "support/threads.hpp"
#include "support/user_timeline.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::map_mode;
using tidemark::map_status;
using tidemark::writers;

namespace {

using one_writer = std::integral_constant<writers, writers::one>;
using several_writers = std::integral_constant<writers, writers::several>;

constexpr tidemark::rename_options with(std::size_t max_renames) {
  return {.bytes = 256, .alignment = 128, .max_renames = max_renames};
}

template <class Kind>
struct stand {
  using ring_type = tidemark::rename_ring<counted_view, counted_source, Kind::value>;

  explicit stand(std::size_t max_renames = 0, std::size_t may_create = SIZE_MAX)
      : made{may_create}, ring{finished.view(), with(max_renames), counted_source{made}} {}
  ~stand() { finished.poison(); }  // the ring does not wait for what a test leaves in use

  /// Discards, and has work use the backing until the given value.
  auto use(std::uint64_t until) {
    struct used {
      backing* memory;
      bool renamed;
    };
    const auto mapped = ring.try_map(map_mode::discard);
    REQUIRE(mapped);
    CHECK(ring.retire(mapped, until));
    return used{mapped.memory, mapped.renamed};
  }
  auto status(map_mode mode) { return ring.try_map(mode).status; }

  backings made;
  counted_fence finished;
  ring_type ring;
};

/// Backings that own something.
struct owning_source {
  using backing = std::shared_ptr<int>;
  backing create(const tidemark::backing_traits&) noexcept { return all; }
  void destroy(const backing&, const tidemark::backing_traits&) noexcept {}
  backing all;
};

}  // namespace

TYPE_TO_STRING_AS("one writer", one_writer);
TYPE_TO_STRING_AS("several writers", several_writers);

// ---- which backing -------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[B43] a discard of an idle resource keeps its backing", Kind, one_writer, several_writers) {
  stand<Kind> at;
  const auto first = at.use(1);
  CHECK_FALSE(first.renamed);
  at.finished.signal(1);
  const auto second = at.use(2);
  CHECK(second.memory == first.memory);
  CHECK_FALSE(second.renamed);
  CHECK(at.ring.backings() == 1);
}

TEST_CASE_TEMPLATE("[B9][trap 26] a discard of a busy resource gets another backing, and the old contents stay", Kind,
                   one_writer, several_writers) {
  stand<Kind> at;
  const auto first = at.ring.try_map(map_mode::discard);
  first.memory->content = 7;
  CHECK(at.ring.retire(first, 1));
  const auto second = at.ring.try_map(map_mode::discard);
  CHECK(second.renamed);
  CHECK(second.memory != first.memory);
  second.memory->content = 8;
  CHECK(first.memory->content == 7);
  CHECK(at.ring.retire(second, 2));
}

TEST_CASE_TEMPLATE("backings are reused in the order in which they were used, before another one is made", Kind,
                   one_writer, several_writers) {
  stand<Kind> at;
  std::vector<backing*> order;
  for (std::uint64_t i = 1; i <= 5; ++i) order.push_back(at.use(i).memory);
  CHECK(std::set<backing*>(order.begin(), order.end()).size() == 5);
  for (std::uint64_t i = 1; i <= 20; ++i) {
    at.finished.signal(i);
    CHECK(at.use(i + 5).memory == order[static_cast<std::size_t>((i - 1) % 5)]);
  }
  CHECK(at.made.created == 5);
}

TEST_CASE_TEMPLATE("a backing that is made in the middle of the circle is put behind the current one", Kind, one_writer,
                   several_writers) {
  stand<Kind> at;
  backing* const first = at.use(1).memory;
  backing* const second = at.use(2).memory;
  at.finished.signal(1);
  CHECK(at.use(9).memory == first);
  backing* const third = at.use(3).memory;
  CHECK(at.made.created == 3);
  at.finished.signal(2);
  CHECK(at.use(9).memory == second);
  at.finished.signal(3);
  CHECK(at.use(9).memory == third);
}

TEST_CASE_TEMPLATE("[B8] no_overwrite maps the current backing at once, also while it is in use", Kind, one_writer,
                   several_writers) {
  stand<Kind> at;
  backing* const current = at.use(5).memory;
  const meter<counted> during;
  for (const map_mode mode : {map_mode::no_overwrite, map_mode::no_overwrite | map_mode::write}) {
    const auto mapped = at.ring.map(mode);
    CHECK(mapped.memory == current);
    CHECK_FALSE(mapped.renamed);
    CHECK(at.ring.retire(mapped, 6));
  }
  CHECK(during.parks() + during.heavy_barriers() == 0);
  at.finished.signal(5);
  CHECK(at.use(7).memory != current);
}

TEST_CASE("[B2][B9][B11] a backing is in use until the greatest value that was told of work, mapped or not") {
  stand<one_writer> at{2};
  const auto first = at.ring.try_map(map_mode::discard);
  at.ring.used_until(first, 3);  // while it is mapped
  CHECK(at.ring.unmap(first));
  CHECK(at.status(map_mode::read) == map_status::busy);
  const auto second = at.ring.try_map(map_mode::discard);
  REQUIRE(second);
  CHECK(second.memory != first.memory);
  CHECK(at.ring.unmap(second));
  at.ring.used_until(2);  // the current one
  at.ring.used_until(1);
  CHECK(at.status(map_mode::discard) == map_status::busy);
  CHECK(at.ring.map_for(map_mode::discard, 0ns).status == map_status::timeout);
  at.finished.signal(2);
  const auto third = at.ring.try_map(map_mode::discard);
  CHECK(third.memory == second.memory);
  at.ring.used_until(first, 4);  // which is not current, and not mapped
  at.finished.signal(3);
  CHECK(at.status(map_mode::discard) == map_status::busy);
  at.finished.signal(4);
  CHECK(at.ring.try_map(map_mode::discard).memory == first.memory);
}

TEST_CASE("[B43] a discard passes over backings that must not be taken, and says what else helps") {
  stand<one_writer> at{2};
  backing* const first = at.use(0).memory;
  const auto not_first = [first](backing* one) { return one != first; };
  const auto none = [](backing*) { return false; };
  constexpr std::uint64_t untouched = 99;
  std::uint64_t target = untouched;
  const auto second = at.ring.try_map_if(map_mode::discard, target, not_first);
  REQUIRE(second);
  CHECK(second.memory != first);
  CHECK(second.renamed);
  CHECK(at.made.created == 2);
  // Nothing has happened to the first one.
  CHECK(at.ring.try_map_if(map_mode::discard, target, none).status == map_status::busy);
  CHECK(target == untouched);
  CHECK(at.ring.retire(second, 5));
  CHECK(at.ring.try_map_if(map_mode::discard, target, not_first).status == map_status::busy);
  CHECK(target == 5);
  const auto third = at.ring.try_map_if(map_mode::discard, target, [](backing*) { return true; });
  CHECK(third.memory == first);
  target = untouched;
  CHECK(at.ring.try_map_if(map_mode::read, target, none).status == map_status::mapped);  // it discards nothing
  CHECK(at.ring.try_map_if(map_mode{}, target, none).status == map_status::invalid);
}

TEST_CASE_TEMPLATE("[B14] the memory stays where it is over 10,000 maps without a discard", Kind, one_writer,
                   several_writers) {
  stand<Kind> at;
  backing* const current = at.use(0).memory;
  for (int i = 0; i < 10'000; ++i) {
    const auto mapped = at.ring.map(i % 2 == 0 ? map_mode::write : map_mode::no_overwrite);
    REQUIRE(mapped.memory == current);
    REQUIRE(at.ring.unmap(mapped));
  }
}

// ---- waiting -------------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE(
    "[B10] a map that must not wait returns busy, a map with a deadline times out, and neither maps anything", Kind,
    one_writer, several_writers) {
  stand<Kind> at;
  at.use(1);
  using enum map_mode;
  for (const map_mode mode : {read, write, read | write}) {
    const auto refused = at.ring.try_map(mode);
    CHECK(refused.status == map_status::busy);
    CHECK_FALSE(at.ring.unmap(refused));
    CHECK(at.ring.map(mode | do_not_wait).status == map_status::busy);
    CHECK(at.ring.map_for(mode, 0s).status == map_status::timeout);
  }
  CHECK_FALSE(at.ring.retire(at.ring.try_map(write), 9));
  at.finished.signal(1);
  CHECK(at.use(2).renamed == false);  // a value of 9 would have stayed
}

TEST_CASE_TEMPLATE("[B11][B12] a map waits, parked, until the last use is over, with one heavy barrier", Kind,
                   one_writer, several_writers) {
  stand<Kind> at;
  backing* const current = at.use(5).memory;
  const meter<counted> during;
  typename stand<Kind>::ring_type::mapping mapped;
  background mapper{[&] { mapped = at.ring.map(map_mode::write); }};
  CHECK(mapper.falls_asleep());
  at.finished.signal(4);
  CHECK(mapper.falls_asleep());
  at.finished.signal(5);
  mapper.join();
  CHECK(mapped.memory == current);
  CHECK(during.parks() >= 1);
  CHECK(during.heavy_barriers() == 1);
}

TEST_CASE_TEMPLATE("[B44][trap 26] with max_renames backings a discard waits for the one that is free first", Kind,
                   one_writer, several_writers) {
  stand<Kind> at{3};
  std::vector<backing*> used;
  for (const std::uint64_t until : {30u, 10u, 20u}) used.push_back(at.use(until).memory);
  CHECK(at.status(map_mode::discard) == map_status::busy);
  CHECK(at.made.created == 3);
  typename stand<Kind>::ring_type::mapping mapped;
  background mapper{[&] { mapped = at.ring.map(map_mode::discard); }};
  CHECK(mapper.falls_asleep());
  at.finished.signal(10);
  mapper.join();
  CHECK(mapped.memory == used[1]);
  CHECK(at.ring.retire(mapped, 30));
  CHECK(at.ring.backings() == 3);
}

TEST_CASE_TEMPLATE("[trap 26] a discard that is refused does not change which backing is current", Kind, one_writer,
                   several_writers) {
  stand<Kind> at{2};
  at.use(1);
  backing* const current = at.use(2).memory;
  CHECK(at.status(map_mode::discard) == map_status::busy);
  CHECK(at.ring.try_map(map_mode::no_overwrite).memory == current);
}

TEST_CASE_TEMPLATE("[B12] a wait for a backing ends at its deadline or when it is stopped, and changes nothing", Kind,
                   one_writer, several_writers) {
  stand<Kind> at{1};
  backing* const only = at.use(5).memory;
  const auto start = std::chrono::steady_clock::now();
  CHECK(at.ring.map_for(map_mode::discard, 3ms).status == map_status::timeout);
  CHECK(std::chrono::steady_clock::now() - start >= 3ms);
  CHECK(at.ring.map_until(map_mode::read, std::chrono::system_clock::now() + 2ms).status == map_status::timeout);
  CHECK(at.ring.map_until(map_mode::read, std::chrono::steady_clock::now()).status == map_status::timeout);
  manual_stop stop;
  typename stand<Kind>::ring_type::mapping mapped;
  background mapper{[&] { mapped = at.ring.map(map_mode::write, stop.get_token()); }};
  CHECK(mapper.falls_asleep());
  stop.request();
  mapper.join();
  CHECK(mapped.status == map_status::stopped);
  CHECK(at.ring.map_for(map_mode::write, 24h, stop.get_token()).status == map_status::stopped);
  at.finished.signal(5);
  CHECK(at.use(6).memory == only);
}

TEST_CASE_TEMPLATE("[A120] once the fence is poisoned nothing is in use any more, and waiting maps succeed", Kind,
                   one_writer, several_writers) {
  stand<Kind> at{1};
  at.use(5);
  typename stand<Kind>::ring_type::mapping mapped;
  background mapper{[&] { mapped = at.ring.map(map_mode::discard); }};
  CHECK(mapper.falls_asleep());
  at.finished.poison();
  mapper.join();
  CHECK(mapped);
}

// ---- mappings that nest --------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[B46] three maps and three unmaps succeed; a fourth unmap returns false and changes nothing", Kind,
                   one_writer, several_writers) {
  stand<Kind> at;
  const auto first = at.ring.try_map(map_mode::write);
  const auto second = at.ring.try_map(map_mode::read);
  const auto third = at.ring.try_map(map_mode::no_overwrite);
  CHECK(first.memory == second.memory);
  CHECK(second.memory == third.memory);
  CHECK(at.ring.unmap(second));
  CHECK(at.ring.retire(first, 1));
  CHECK(at.ring.unmap(third));
  CHECK_FALSE(at.ring.retire(third, 100));
  at.finished.signal(1);
  CHECK_FALSE(at.use(2).renamed);
}

TEST_CASE_TEMPLATE(
    "a backing is in use until its last mapping was retired, and until the greatest value of all mappings", Kind,
    one_writer, several_writers) {
  stand<Kind> at;
  const auto first = at.ring.try_map(map_mode::discard);
  const auto second = at.ring.try_map(map_mode::no_overwrite);
  CHECK(at.ring.retire(first, 7));
  at.finished.signal(7);
  const auto other = at.ring.try_map(map_mode::discard);  // the second one still has it
  CHECK(other.renamed);
  CHECK(at.ring.retire(other, 9));
  CHECK(at.ring.retire(second, 8));
  CHECK(at.use(10).memory != first.memory);
  at.finished.signal(8);
  CHECK(at.use(11).memory == first.memory);
}

TEST_CASE_TEMPLATE("a value that is smaller than an earlier one does not end the use earlier", Kind, one_writer,
                   several_writers) {
  stand<Kind> at;
  backing* const current = at.use(5).memory;
  const auto mapped = at.ring.try_map(map_mode::no_overwrite);
  CHECK(at.ring.retire(mapped, 3));
  at.finished.signal(4);
  CHECK(at.status(map_mode::write) == map_status::busy);
  at.finished.signal(5);
  CHECK(at.use(0).memory == current);
}

TEST_CASE_TEMPLATE("[B46] of the values of two guests the greater one counts, in whatever order they are retired", Kind,
                   one_writer, several_writers) {
  for (const bool greater_first : {false, true}) {
    stand<Kind> at;
    const auto first = at.ring.try_map(map_mode::no_overwrite);
    const auto second = at.ring.try_map(map_mode::no_overwrite);
    CHECK(at.ring.retire(first, greater_first ? 8 : 5));
    CHECK(at.ring.retire(second, greater_first ? 5 : 8));
    at.finished.signal(7);
    CHECK(at.status(map_mode::write) == map_status::busy);
    CHECK(at.use(9).renamed);
    at.finished.signal(8);
    CHECK(at.ring.trim() == 1);
  }
}

TEST_CASE_TEMPLATE("[B46] retiring a discard twice ends it once, also when another mapping has the backing by then",
                   Kind, one_writer, several_writers) {
  stand<Kind> at{1};
  const auto stale = at.ring.try_map(map_mode::discard);
  const auto copy = stale;
  CHECK(at.ring.retire(stale, 1));
  CHECK_FALSE(at.ring.retire(stale, 100));
  at.finished.signal(1);
  for (std::uint64_t round = 2; round < 5; ++round) {
    const auto mapped = at.ring.try_map(map_mode::discard);
    CHECK(mapped.memory == stale.memory);
    CHECK_FALSE(at.ring.unmap(stale));
    CHECK_FALSE(at.ring.retire(copy, 100));
    CHECK(at.status(map_mode::discard) == map_status::no_space);  // still has it
    CHECK(at.ring.retire(mapped, round));
    CHECK_FALSE(at.ring.unmap(stale));
    CHECK(at.status(map_mode::discard) == map_status::busy);
    at.finished.signal(round);
  }
}

TEST_CASE_TEMPLATE("[B46] a mapping from before a trim can't end a mapping of the backing that is made in its place",
                   Kind, one_writer, several_writers) {
  stand<Kind> at{2};
  const auto guest = at.ring.try_map(map_mode::no_overwrite);
  CHECK(at.ring.unmap(guest));
  const auto stale = at.ring.try_map(map_mode::discard);
  CHECK(at.ring.retire(stale, 1));
  CHECK(at.use(2).renamed);
  at.finished.signal(1);
  CHECK(at.ring.trim() == 1);
  const auto mapped = at.ring.try_map(map_mode::discard);
  CHECK(mapped.renamed);
  CHECK(at.made.created == 3);
  const auto current = at.ring.try_map(map_mode::no_overwrite);
  CHECK(current.memory == mapped.memory);
  CHECK_FALSE(at.ring.unmap(stale));
  CHECK_FALSE(at.ring.unmap(guest));
  CHECK(at.status(map_mode::discard) == map_status::busy);
  CHECK(at.ring.unmap(mapped));
  CHECK(at.ring.unmap(current));
}

TEST_CASE_TEMPLATE("[B46] a guest's mapping from before a discard can't end another guest's mapping", Kind, one_writer,
                   several_writers) {
  stand<Kind> at{1};
  const auto stale = at.ring.try_map(map_mode::no_overwrite);
  CHECK(at.ring.unmap(stale));
  CHECK_FALSE(at.ring.unmap(stale));
  const auto owner = at.ring.try_map(map_mode::discard);
  const auto guest = at.ring.try_map(map_mode::no_overwrite);
  CHECK_FALSE(at.ring.retire(stale, 100));
  CHECK(at.ring.retire(owner, 1));
  at.finished.signal(1);
  CHECK_FALSE(at.ring.unmap(stale));
  CHECK(at.status(map_mode::discard) == map_status::no_space);  // the guest still has it
  CHECK(at.ring.retire(guest, 2));
  CHECK(at.status(map_mode::discard) == map_status::busy);
  at.finished.signal(2);
  CHECK_FALSE(at.use(3).renamed);
}

TEST_CASE_TEMPLATE(
    "[B46] a guest keeps its mapping while other guests come and go, and while the resource is discarded", Kind,
    one_writer, several_writers) {
  stand<Kind> at{2};
  const auto owner = at.ring.try_map(map_mode::discard);
  const auto guest = at.ring.try_map(map_mode::no_overwrite);
  for (int i = 0; i < 3; ++i) CHECK(at.ring.unmap(at.ring.try_map(map_mode::no_overwrite)));
  CHECK(at.ring.unmap(owner));
  CHECK(at.use(0).renamed);
  CHECK(at.ring.trim() == 0);
  CHECK(at.ring.unmap(guest));
  CHECK(at.ring.trim() == 1);
}

TEST_CASE_TEMPLATE("with every backing mapped a map that does not wait returns no_space", Kind, one_writer,
                   several_writers) {
  stand<Kind> at{2};
  const auto first = at.ring.try_map(map_mode::discard);
  const auto second = at.ring.try_map(map_mode::discard);
  CHECK(second.renamed);
  CHECK(at.status(map_mode::discard) == map_status::no_space);
  CHECK(at.ring.retire(first, 1));
  CHECK(at.status(map_mode::discard) == map_status::busy);
  at.finished.signal(1);
  CHECK(at.ring.map(map_mode::discard).memory == first.memory);
}

TEST_CASE("with every backing mapped by the only writer all forms of map return no_space, because nobody else unmaps") {
  stand<one_writer> at{2};
  CHECK(at.ring.try_map(map_mode::discard));
  CHECK(at.ring.try_map(map_mode::discard));
  CHECK(at.ring.map(map_mode::discard).status == map_status::no_space);
  CHECK(at.ring.map_for(map_mode::discard, 24h).status == map_status::no_space);
}

TEST_CASE("[B11][B12][B46] a map that discards waits for the guest of another thread") {
  stand<several_writers> at{1};
  const auto guest = at.ring.try_map(map_mode::no_overwrite);
  decltype(at.ring)::mapping mapped;
  background mapper{[&] { mapped = at.ring.map(map_mode::discard); }};
  CHECK(mapper.falls_asleep());
  CHECK(at.ring.unmap(guest));
  mapper.join();
  CHECK(mapped.memory == guest.memory);
}

TEST_CASE("a thread that ends with a backing mapped makes that backing unusable, and no other") {
  backings made;
  counted_fence finished;
  {
    tidemark::rename_ring<counted_view, counted_source, writers::several> ring{finished.view(), with(2),
                                                                               counted_source{made}};
    backing* lost = nullptr;
    std::thread{[&] { lost = ring.try_map(map_mode::discard).memory; }}.join();
    for (std::uint64_t i = 1; i <= 10; ++i) {
      const auto mapped = ring.map(map_mode::discard);
      REQUIRE(mapped);
      CHECK(mapped.memory != lost);
      ring.retire(mapped, i);
      CHECK(ring.try_map(map_mode::discard).status == map_status::busy);
      finished.signal(i);
    }
    CHECK(ring.trim() == 0);
  }
  CHECK(made.destroyed == 2);
}

TEST_CASE("with one writer the mapping need not be kept: retire() finds it") {
  stand<one_writer> at;
  backing* const first = at.ring.map(map_mode::discard).memory;
  CHECK(at.ring.retire(1));
  CHECK_FALSE(at.ring.retire(1));
  CHECK(at.ring.map(map_mode::discard).memory != first);
  CHECK(at.ring.retire(2));
  CHECK(at.ring.map(map_mode::no_overwrite));
  CHECK(at.ring.retire(3));
}

// ---- refusals ------------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[B13][B28] all other combinations of modes are invalid, and change nothing", Kind, one_writer,
                   several_writers) {
  stand<Kind> at;
  backing* const current = at.use(1).memory;
  using enum map_mode;
  std::set<map_mode> valid{read, write, read | write, discard, discard | write, no_overwrite, no_overwrite | write};
  for (const map_mode mode : {read, write, read | write}) valid.insert(mode | do_not_wait);
  std::size_t refused = 0;
  const auto look = [&](std::uint32_t bits) {
    const auto mode = static_cast<map_mode>(bits);
    if (valid.contains(mode)) return;
    CHECK(at.status(mode) == map_status::invalid);
    CHECK(at.ring.map(mode).status == map_status::invalid);
    ++refused;
  };
  for (std::uint32_t bits = 0; bits < 32; ++bits) look(bits);
  CHECK(refused == 32 - 10);
  for (unsigned reserved = 5; reserved < 32; ++reserved) {
    for (const map_mode mode : valid) look(std::uint32_t{1} << reserved | static_cast<std::uint32_t>(mode));
  }
  CHECK(at.made.created == 1);
  at.finished.signal(1);
  CHECK(at.use(2).memory == current);
}

TEST_CASE_TEMPLATE("[B43] where the source makes no more backings, a discard waits for the existing ones", Kind,
                   one_writer, several_writers) {
  stand<Kind> at{0, 2};
  backing* const first = at.use(1).memory;
  const auto second = at.ring.try_map(map_mode::discard);
  CHECK(at.status(map_mode::discard) == map_status::busy);
  at.finished.signal(1);
  CHECK(at.ring.map(map_mode::discard).memory == first);
  CHECK(at.ring.map(map_mode::discard).status == map_status::no_memory);
  CHECK(at.ring.backings() == 2);
  CHECK(at.ring.unmap(second));
}

TEST_CASE_TEMPLATE("a ring whose first backing could not be made returns no_memory, and each discard tries again", Kind,
                   one_writer, several_writers) {
  stand<Kind> at{0, 0};
  CHECK(at.ring.backings() == 0);
  for (const map_mode mode : {map_mode::read, map_mode::write, map_mode::no_overwrite, map_mode::discard}) {
    CHECK(at.ring.map(mode).status == map_status::no_memory);
  }
  at.made.may_create = 1;
  CHECK(at.use(0).memory != nullptr);
  CHECK(at.ring.backings() == 1);
  CHECK(at.status(map_mode::write) == map_status::mapped);
}

// ---- memory --------------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[B45] every backing is made with the bytes and the alignment of the first one", Kind, one_writer,
                   several_writers) {
  stand<Kind> at;
  for (std::uint64_t i = 1; i <= 4; ++i) at.use(i);
  CHECK(at.made.created == 4);
  CHECK(at.made.other_traits == 0);
  CHECK(at.made.last.bytes == with(0).bytes);
  CHECK(at.made.last.alignment == with(0).alignment);
}

TEST_CASE("[B16][B45] memory from the heap has the alignment that was asked for, and its bytes are contiguous") {
  tidemark::progress_fence finished;
  for (const std::size_t alignment : {1u, 8u, 64u, 4096u}) {
    tidemark::rename_ring ring{finished.view(), {.bytes = 100, .alignment = alignment}};
    std::array<std::byte*, 3> all{};  // at the same time: no byte of one belongs to another
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = ring.map(map_mode::discard).memory;
      REQUIRE(all[i] != nullptr);
      CHECK(reinterpret_cast<std::uintptr_t>(all[i]) % alignment == 0);
      for (std::size_t at = 0; at < 100; ++at) all[i][at] = static_cast<std::byte>(100 * i + at);
    }
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t at = 0; at < 100; ++at) wrong += all[i][at] == static_cast<std::byte>(100 * i + at) ? 0u : 1u;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE_TEMPLATE("[B43] trim destroys idle backings, and keeps the current one and those that are in use or mapped",
                   Kind, one_writer, several_writers) {
  stand<Kind> at;
  for (std::uint64_t i = 1; i <= 4; ++i) at.use(i);
  const auto mapped = at.ring.try_map(map_mode::discard);
  backing* const current = at.use(0).memory;
  CHECK(at.ring.backings() == 6);
  CHECK(at.ring.trim() == 0);
  at.finished.signal(3);
  CHECK(at.ring.trim(5) == 1);
  CHECK(at.ring.trim() == 2);
  CHECK(at.made.destroyed == 3);
  CHECK(at.ring.backings() == 3);
  CHECK(at.ring.trim() == 0);
  CHECK(at.ring.try_map(map_mode::no_overwrite).memory == current);
  CHECK(at.ring.unmap(mapped));
}

TEST_CASE_TEMPLATE("[B43] nothing of a backing that was trimmed is kept, also where backings own something", Kind,
                   one_writer, several_writers) {
  counted_fence finished;
  const auto alive = std::make_shared<int>();
  using owning_ring = tidemark::rename_ring<counted_view, owning_source, Kind::value>;
  owning_ring ring{counted_view{finished}, {.bytes = 1}, owning_source{alive}};
  std::vector<typename owning_ring::mapping> mapped;
  for (int i = 0; i < 5; ++i) mapped.push_back(ring.try_map(map_mode::discard));
  for (const auto& each : mapped) CHECK(ring.unmap(each));
  mapped.clear();
  CHECK(ring.trim(2) == 3);
  CHECK(ring.backings() == 2);
  CHECK(alive.use_count() == 2 + 2);  // the backings, the source's, and the one here
}

TEST_CASE_TEMPLATE("[B43][B44] after a trim the ring can grow to as many backings as before", Kind, one_writer,
                   several_writers) {
  stand<Kind> at{3};
  for (std::uint64_t round = 0; round < 5; ++round) {
    for (std::uint64_t i = 1; i <= 3; ++i) at.use(round * 3 + i);
    CHECK(at.status(map_mode::discard) == map_status::busy);
    at.finished.signal(round * 3 + 3);
    CHECK(at.ring.trim() == 2);
    CHECK(at.ring.backings() == 1);
  }
  CHECK(at.made.created == 1 + 5 * 2);
}

TEST_CASE("[B45] a backing that is too large for the heap is refused, and not made smaller") {
  tidemark::progress_fence finished;
  for (const std::size_t alignment :
       {std::size_t{1}, std::size_t{16}, std::size_t{64}, std::size_t{4096}, SIZE_MAX / 2 + 1}) {
    for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - 14, SIZE_MAX - 62, SIZE_MAX / 2 + 1, SIZE_MAX / 2}) {
      tidemark::rename_ring ring{finished.view(), {.bytes = bytes, .alignment = alignment}};
      CHECK(ring.backings() == 0);
      CHECK(ring.try_map(map_mode::discard).status == map_status::no_memory);
    }
  }
}

namespace {

/// A platform that counts the plain fields of one type, of which a ring has one in each slot.
struct slots_counted : counted {
  static inline std::atomic<int> slots{0};

  template <class T>
  class var : public counted::var<T> {
   public:
    var() { slots += is_counted; }
    explicit var(T value) : counted::var<T>{value} { slots += is_counted; }
    ~var() { slots -= is_counted; }

   private:
    static constexpr int is_counted = std::is_same_v<T, backing*> ? 1 : 0;
  };
};

}  // namespace

TEST_CASE_TEMPLATE("[B43] after a thousand trims the ring has no more slots than it had backings at the same time",
                   Kind, one_writer, several_writers) {
  tidemark::basic_progress_fence<slots_counted> finished;
  using view = decltype(finished.view());
  backings made;
  const int before = slots_counted::slots;
  {
    tidemark::rename_ring<view, counted_source, Kind::value> ring{finished.view(), with(0), counted_source{made}};
    for (std::uint64_t round = 1; round <= 1000; ++round) {
      for (int i = 0; i < 3; ++i) CHECK(ring.retire(ring.try_map(map_mode::discard), round));
      finished.signal(round);
      CHECK(ring.trim() == 2);
      CHECK(slots_counted::slots - before == 3);
    }
  }
  CHECK(slots_counted::slots == before);
  CHECK(made.created == 2001);
  CHECK(made.destroyed == 2001);
}

TEST_CASE_TEMPLATE("a source may map from the ring while it makes a backing or destroys one; no backing is lost", Kind,
                   one_writer, several_writers) {
  stand<Kind> at;
  const auto first = at.ring.try_map(map_mode::discard);
  const auto second = at.ring.try_map(map_mode::discard);
  CHECK(at.ring.unmap(first));
  auto in_destroy = first;
  at.made.meanwhile = [&] { in_destroy = at.ring.try_map(map_mode::discard); };
  CHECK(at.ring.trim() == 1);  // its slot is vacant now
  auto in_create = first;
  at.made.meanwhile = [&] { in_create = at.ring.try_map(map_mode::discard); };
  const auto last = at.ring.try_map(map_mode::discard);
  CHECK(at.ring.backings() == at.made.created - at.made.destroyed);
  CHECK(std::set{second.memory, in_destroy.memory, in_create.memory, last.memory}.size() == 4);
  for (const auto& each : {second, in_destroy, in_create, last}) {
    REQUIRE(each);
    CHECK(at.ring.unmap(each));
  }
}

TEST_CASE_TEMPLATE("the destructor waits for what is in use, and destroys every backing once", Kind, one_writer,
                   several_writers) {
  backings made;
  counted_fence finished;
  background owner{[&] {
    tidemark::rename_ring<counted_view, counted_source, Kind::value> ring{finished.view(), with(0),
                                                                          counted_source{made}};
    for (std::uint64_t i = 1; i <= 3; ++i) ring.retire(ring.map(map_mode::discard), i);
  }};
  CHECK(owner.falls_asleep());
  finished.signal(2);
  CHECK(owner.falls_asleep());
  finished.signal(3);
  owner.join();
  CHECK(made.created == 3);
  CHECK(made.destroyed == 3);
}

// ---- any timeline --------------------------------------------------------------------------------------------------

TEST_CASE("a ring follows a fence, a view or a timeline of the program's own, and its type is deduced") {
  const tidemark::progress_fence uploads;
  const user_timeline mine;
  tidemark::rename_ring by_fence{uploads, {.bytes = 8}};
  tidemark::rename_ring by_view{uploads.view(), {.bytes = 8}};
  tidemark::rename_ring by_own{mine, {.bytes = 8}, tidemark::heap_source{}};
  static_assert(std::is_same_v<decltype(by_fence), tidemark::rename_ring<tidemark::progress_fence>>);
  static_assert(std::is_same_v<decltype(by_view), tidemark::rename_ring<>>);
  static_assert(std::is_same_v<decltype(by_own), tidemark::rename_ring<user_timeline>>);
  CHECK(by_fence.map(map_mode::discard));
  CHECK(by_view.map(map_mode::discard));
  CHECK(by_own.map(map_mode::discard));
}

TEST_CASE_TEMPLATE("[B9][B12][B44] a ring that follows a timeline of the program's own renames, refuses and waits",
                   Kind, one_writer, several_writers) {
  backings made;
  observed_timeline finished;
  {
    tidemark::rename_ring<observed_timeline, counted_source, Kind::value> ring{finished, with(2), counted_source{made}};
    const auto first = ring.map(map_mode::discard);
    CHECK(ring.retire(first, 1));
    const auto second = ring.map(map_mode::discard);
    CHECK(second.renamed);
    CHECK(ring.retire(second, 2));
    CHECK(ring.try_map(map_mode::discard).status == map_status::busy);
    CHECK(ring.map_for(map_mode::discard, 1ms).status == map_status::timeout);
    CHECK(ring.map_until(map_mode::write, std::chrono::system_clock::now()).status == map_status::timeout);

    manual_stop stop;
    const unsigned before = finished.waits();
    background stopped{[&] { CHECK(ring.map(map_mode::write, stop.get_token()).status == map_status::stopped); }};
    finished.await_waits(before + 1);
    stop.request();
    stopped.join();

    const unsigned waits = finished.waits();
    background mapper{[&] {
      const auto mapped = ring.map(map_mode::discard);
      CHECK(mapped.memory == first.memory);
      CHECK(ring.retire(mapped, 3));
    }};
    finished.await_waits(waits + 1);
    finished.signal(1);
    mapper.join();
    CHECK(ring.trim() == 0);
    finished.signal(3);
    CHECK(ring.trim() == 1);
  }
  CHECK(made.created == 2);
  CHECK(made.destroyed == 2);
}

TEST_CASE_TEMPLATE("[A120] once a timeline of the program's own is lost, waiting maps succeed, and the ring can end",
                   Kind, one_writer, several_writers) {
  backings made;
  observed_timeline finished;
  tidemark::rename_ring<observed_timeline, counted_source, Kind::value> ring{finished, with(1), counted_source{made}};
  CHECK(ring.retire(ring.map(map_mode::discard), 5));
  background mapper{[&] { CHECK(ring.map(map_mode::discard)); }};
  finished.await_waits(1);
  finished.lose();
  mapper.join();
}
