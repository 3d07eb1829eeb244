// SPDX-License-Identifier: BSL-1.0
//
// The upload ring of several blocks: when it adds one, when it gives one back, and what it loses where it can't:
// nothing.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <tidemark/memory/growing_upload_ring.hpp>

#include "support/backings.hpp"
#include "support/counted_allocations.hpp"
#include "support/counted_progress.hpp"
#include "support/manual_stop.hpp"
#include "support/random.hpp"
#include "support/threads.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::growing_options;
using tidemark::upload_status;
using tidemark::writers;

namespace {

using one_writer = std::integral_constant<writers, writers::one>;
using several_writers = std::integral_constant<writers, writers::several>;

template <class Kind>
struct stand {
  using ring_type = tidemark::growing_upload_ring<counted_view, counted_source, Kind::value>;
  using part = typename ring_type::part;

  explicit stand(const growing_options& options, std::size_t may_create = SIZE_MAX)
      : made{may_create}, ring{finished.view(), options, counted_source{made}} {}
  ~stand() { finished.poison(); }  // the ring does not wait for what a test leaves in use

  bool retire([[maybe_unused]] const part& which, std::uint64_t until) {
    if constexpr (Kind::value == writers::several) {
      return ring.retire(which, until);
    } else {
      return ring.retire(until);
    }
  }
  /// Allocates, and has work use the part until the given value.
  part use(std::uint64_t bytes, std::uint64_t until) {
    const part made_part = ring.try_allocate(bytes);
    if (made_part) CHECK(retire(made_part, until));
    return made_part;
  }
  std::size_t end_rounds(int count) {
    std::size_t freed = 0;
    for (int i = 0; i < count; ++i) freed += ring.end_round();
    return freed;
  }
  std::size_t alive() const { return made.created - made.destroyed; }

  backings made;
  counted_fence finished;
  ring_type ring;
};

}  // namespace

TYPE_TO_STRING_AS("one writer", one_writer);
TYPE_TO_STRING_AS("several writers", several_writers);

// ---- growth --------------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[B43] a batch that does not fit gets one more block, and what was given out stays where it is",
                   Kind, one_writer, several_writers) {
  stand<Kind> at{{.block_bytes = 100}};
  CHECK(at.ring.blocks() == 1);
  const auto first = at.use(60, 1);
  const auto second = at.use(60, 1);
  CHECK(second.offset == 0);
  CHECK(second.memory != first.memory);
  CHECK(at.use(40, 1).memory == second.memory);
  const auto third = at.use(41, 1);
  CHECK(at.ring.blocks() == 3);
  CHECK(at.use(40, 1).memory == third.memory);
  CHECK(at.use(40, 1).memory == first.memory);  // the last one that had room
  CHECK(at.alive() == 3);
}

TEST_CASE_TEMPLATE("[B5] a block that is free again is used before one is added", Kind, one_writer, several_writers) {
  stand<Kind> at{{.block_bytes = 100}};
  const auto first = at.use(100, 1);
  const auto second = at.use(100, 2);
  at.finished.signal(1);
  CHECK(at.use(100, 3).memory == first.memory);
  CHECK(at.use(100, 4).memory != second.memory);
  CHECK(at.ring.blocks() == 3);
}

TEST_CASE_TEMPLATE("[B44] no more blocks are added than there may be; then it is busy until a value", Kind, one_writer,
                   several_writers) {
  stand<Kind> at{{.block_bytes = 100, .max_blocks = 2}};
  CHECK(at.use(100, 2));
  const auto second = at.use(100, 1);
  CHECK(at.ring.try_allocate(1).status == upload_status::busy);
  CHECK(at.ring.allocate_for(1, 1, 1ms).status == upload_status::timeout);
  manual_stop stop;
  stop.request();
  CHECK(at.ring.allocate(1, 1, manual_stop::token{stop}).status == upload_status::stopped);
  at.finished.signal(1);  // the value that comes first, of the second block
  CHECK(at.ring.allocate(100).memory == second.memory);
  CHECK(at.ring.blocks() == 2);
}

TEST_CASE_TEMPLATE("it is busy while the oldest part waits for its value, even if that leaves too little room", Kind,
                   one_writer, several_writers) {
  stand<Kind> at{{.block_bytes = 4096, .max_blocks = 1}};
  CHECK(at.use(1, 1));
  const auto open = at.ring.try_allocate(1);
  CHECK(at.ring.try_allocate(4096).status == upload_status::busy);
  at.finished.signal(1);
  CHECK(at.ring.try_allocate(4096).status == upload_status::no_space);
  CHECK(at.retire(open, 1));
}

TEST_CASE_TEMPLATE("the forms with a time limit have the same default alignment", Kind, one_writer, several_writers) {
  stand<Kind> at{{.block_bytes = 100, .max_blocks = 1}};
  CHECK(at.ring.allocate_for(1, 24h).offset == 0);
  const auto tomorrow = std::chrono::system_clock::now() + 24h;
  const auto second = at.ring.allocate_until(99, tomorrow);
  CHECK(second.offset == 1);
  manual_stop stop;
  stop.request();
  // The oldest part is not retired.
  const auto none = Kind::value == writers::one ? upload_status::no_space : upload_status::stopped;
  CHECK(at.ring.allocate_for(1, 24h, manual_stop::token{stop}).status == none);
  CHECK(at.ring.allocate_until(1, tomorrow, manual_stop::token{stop}).status == none);
}

TEST_CASE_TEMPLATE("without a value that helps there is no space, at the limit", Kind, one_writer, several_writers) {
  stand<Kind> at{{.block_bytes = 10, .max_blocks = 1}};
  const auto held = at.ring.try_allocate(10);
  CHECK(at.ring.try_allocate(1).status == upload_status::no_space);
  if constexpr (Kind::value == writers::one) CHECK(at.ring.allocate(1).status == upload_status::no_space);
  CHECK(at.retire(held, 1));
  CHECK(at.ring.try_allocate(1).status == upload_status::busy);
}

TEST_CASE_TEMPLATE("what can never be had is refused at once, and adds no block", Kind, one_writer, several_writers) {
  stand<Kind> at{{.block_bytes = 100}};
  CHECK(at.ring.allocate(101).status == upload_status::too_large);
  CHECK(at.ring.allocate(0).status == upload_status::invalid);
  CHECK(at.ring.allocate(1, 3).status == upload_status::invalid);
  CHECK(at.ring.try_allocate(UINT64_MAX).status == upload_status::too_large);
  CHECK(at.ring.blocks() == 1);
}

// ---- out of memory -------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[B43] a source that refuses gives no_memory, and nothing is lost", Kind, one_writer,
                   several_writers) {
  stand<Kind> at{{.block_bytes = 100}, 2};
  const auto first = at.ring.try_allocate(80);
  const auto second = at.ring.try_allocate(80);
  for (int i = 0; i < 3; ++i) {
    CHECK(at.ring.try_allocate(80).status == upload_status::no_memory);
    CHECK(at.ring.allocate(80).status == upload_status::no_memory);
    CHECK(at.ring.blocks() == 2);
  }
  CHECK(at.ring.statistics().refused == 6);
  CHECK(at.ring.try_allocate(20));  // smaller parts fit as before
  at.made.may_create = 3;
  const auto third = at.ring.try_allocate(80);
  CHECK(third);
  CHECK(third.memory != first.memory);
  CHECK(third.memory != second.memory);
}

TEST_CASE_TEMPLATE(
    "[B12][B43] where the source refuses, a value of the timeline helps, and it is asked once for a call", Kind,
    one_writer, several_writers) {
  stand<Kind> at{{.block_bytes = 100}, 1};
  CHECK(at.use(100, 1));
  CHECK(at.ring.try_allocate(1).status == upload_status::busy);
  typename stand<Kind>::part got;
  background waiting{[&] { got = at.ring.allocate(100); }};
  CHECK(waiting.falls_asleep());
  at.finished.signal(1);
  waiting.join();
  CHECK(got);
  CHECK(at.ring.statistics().refused == 2);
}

TEST_CASE_TEMPLATE("a ring whose first block could not be made has none, and makes one when it is needed", Kind,
                   one_writer, several_writers) {
  stand<Kind> at{{.block_bytes = 100}, 0};
  CHECK(at.ring.blocks() == 0);
  CHECK(at.ring.try_allocate(1).status == upload_status::no_memory);
  CHECK(at.ring.end_round() == 0);
  at.made.may_create = 1;
  CHECK(at.ring.try_allocate(1));
  CHECK(at.ring.blocks() == 1);
}

TEST_CASE_TEMPLATE("where there is no memory for the ring's own part of a block, it is no_memory, and works later",
                   Kind, one_writer, several_writers) {
  stand<Kind> at{{.block_bytes = 100}};
  const auto first = at.ring.try_allocate(100);
  CHECK(first);
  for (std::size_t spared = 0; spared < 2; ++spared) {
    upload_status status{};
    {
      const counted_allocations fail{true, spared};
      status = at.ring.try_allocate(100).status;
    }
    CHECK(status == upload_status::no_memory);
  }
  CHECK(at.ring.blocks() == 1);
  CHECK(at.ring.try_allocate(100));
}

TEST_CASE("[B43] a source that has refused is asked again when another thread has given a block back meanwhile") {
  stand<several_writers> at{{.block_bytes = 100}};
  const auto held = at.ring.try_allocate(1);
  CHECK(held);
  CHECK(at.use(100, 1));
  at.made.may_create = 2;
  at.made.at_refusal = [&] {
    at.made.may_create = 3;
    std::thread{[&] {
      at.finished.signal(1);
      CHECK(at.ring.trim() == 1);
    }}.join();
  };
  CHECK(at.ring.allocate_for(100, 1, 1min).status == upload_status::allocated);
  CHECK(at.made.destroyed == 1);
  CHECK(at.ring.statistics().refused == 1);
}

// ---- giving back ---------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[B43] a block is given back after so many idle rounds in a row, and not before", Kind, one_writer,
                   several_writers) {
  stand<Kind> at{{.block_bytes = 100, .idle_rounds = 3}};
  CHECK(at.use(100, 1));
  CHECK(at.use(100, 1));
  CHECK(at.use(100, 1));
  CHECK(at.end_rounds(10) == 0);  // in use
  at.finished.signal(1);
  CHECK(at.end_rounds(2) == 0);
  CHECK(at.use(10, 1));  // of the first block
  CHECK(at.ring.end_round() == 2);
  CHECK(at.ring.blocks() == 1);
  CHECK(at.alive() == 1);
  CHECK(at.end_rounds(10) == 0);  // one stays
  CHECK(at.use(100, 1));
}

TEST_CASE_TEMPLATE("[B43] the first block is idle from the beginning", Kind, one_writer, several_writers) {
  stand<Kind> at{{.block_bytes = 100, .keep_blocks = 0, .idle_rounds = 1}};
  CHECK(at.ring.end_round() == 1);
  CHECK(at.alive() == 0);
}

TEST_CASE_TEMPLATE("[B43] a block that was used in a round is not idle in it, even if it is empty at the end", Kind,
                   one_writer, several_writers) {
  stand<Kind> at{{.block_bytes = 100, .idle_rounds = 2}};
  for (std::uint64_t round = 1; round <= 10; ++round) {
    CHECK(at.use(100, round));
    CHECK(at.use(100, round));
    at.finished.signal(round);
    CHECK(at.ring.end_round() == 0);
    if (round % 2 == 0) CHECK(at.ring.end_round() == 0);  // idle once
  }
  CHECK(at.made.created == 2);
}

TEST_CASE_TEMPLATE("[B43] parts gather in the blocks in front, so that those behind come to rest", Kind, one_writer,
                   several_writers) {
  stand<Kind> at{{.block_bytes = 100, .idle_rounds = 2}};
  for (int i = 0; i < 4; ++i) CHECK(at.use(100, 1));
  at.finished.signal(1);
  for (std::uint64_t round = 2; round <= 10; ++round) {
    CHECK(at.use(40, round));
    at.finished.signal(round);
    at.ring.end_round();
  }
  CHECK(at.ring.blocks() == 1);
}

TEST_CASE_TEMPLATE("[B43] keep_blocks stay however long they are idle, and trim() leaves as many as it says", Kind,
                   one_writer, several_writers) {
  stand<Kind> at{{.block_bytes = 100, .keep_blocks = 2, .idle_rounds = 0}};
  for (int i = 0; i < 4; ++i) CHECK(at.use(100, 1));
  CHECK(at.ring.trim() == 0);  // in use
  at.finished.signal(1);
  CHECK(at.end_rounds(3) == 2);
  CHECK(at.ring.blocks() == 2);
  CHECK(at.ring.trim(1) == 1);
  CHECK(at.ring.trim() == 1);
  CHECK(at.ring.blocks() == 0);
  CHECK(at.alive() == 0);
  CHECK(at.use(100, 2));
  CHECK(at.made.created == 5);
}

TEST_CASE_TEMPLATE("[B5] a block with a part that was not retired, or whose value is not reached, is never given back",
                   Kind, one_writer, several_writers) {
  stand<Kind> at{{.block_bytes = 100, .keep_blocks = 0, .idle_rounds = 1}};
  const auto held = at.ring.try_allocate(1);
  CHECK(at.end_rounds(5) == 0);
  CHECK(at.ring.trim() == 0);
  CHECK(at.retire(held, 1));
  CHECK(at.end_rounds(5) == 0);
  CHECK(at.ring.trim() == 0);
  CHECK(at.made.destroyed == 0);
  at.finished.signal(1);
  CHECK(at.ring.trim() == 1);
}

TEST_CASE_TEMPLATE("a place is filled again: after a thousand rounds of growth there are as many as at the same time",
                   Kind, one_writer, several_writers) {
  stand<Kind> at{{.block_bytes = 100, .idle_rounds = 1}};
  std::size_t allocations = 0;
  for (std::uint64_t round = 1; round <= 1000; ++round) {
    for (int i = 0; i < 3; ++i) {
      const counted_allocations counted;
      const auto part = at.ring.try_allocate(51 + round % 40);
      if (part) at.retire(part, round);
      allocations += counted.count();
    }
    at.finished.signal(round);
    CHECK(at.ring.trim(1) <= 2);
    CHECK(at.ring.blocks() == 1);
  }
  CHECK(at.made.created == 1 + 2 * 1000);
  CHECK(allocations == 2 * 1000 + 2 * 2);  // of the source, and two for each of two more places
}

TEST_CASE_TEMPLATE("of a block that was given back and made again the whole can be had, wherever its head stood", Kind,
                   one_writer, several_writers) {
  stand<Kind> at{{.block_bytes = 100}};
  std::uint64_t value = 0;
  for (std::uint64_t bytes = 1; bytes <= 100; ++bytes) {
    CHECK(at.use(bytes, ++value));
    at.finished.signal(value);
    CHECK(at.ring.trim() == 1);
    CHECK(at.use(10, ++value));
    CHECK(at.use(90, value).offset == 10);
    CHECK(at.ring.blocks() == 1);
    CHECK(at.use(1, value).offset == 0);  // of one more
    CHECK(at.ring.blocks() == 2);
    at.finished.signal(value);
    CHECK(at.ring.trim() == 2);
  }
}

TEST_CASE_TEMPLATE("[B5] the destructor waits for what is in use, and destroys every block once", Kind, one_writer,
                   several_writers) {
  backings made;
  counted_fence finished;
  {
    using ring_type = tidemark::growing_upload_ring<counted_view, counted_source, Kind::value>;
    std::optional<ring_type> ring{std::in_place, finished.view(), growing_options{.block_bytes = 10},
                                  counted_source{made}};
    for (std::uint64_t value = 1; value <= 3; ++value) {
      const auto part = ring->try_allocate(10);
      if constexpr (Kind::value == writers::several) {
        ring->retire(part, value);
      } else {
        ring->retire(value);
      }
    }
    static_cast<void>(ring->try_allocate(1));  // never retired
    background ending{[&] { ring.reset(); }};
    CHECK(ending.falls_asleep());
    CHECK(made.destroyed == 0);
    finished.signal(3);
    ending.join();
  }
  CHECK(made.created == 4);
  CHECK(made.destroyed == 4);
}

TEST_CASE_TEMPLATE("[A120] once the fence is poisoned nothing is in use any more", Kind, one_writer, several_writers) {
  stand<Kind> at{{.block_bytes = 100, .max_blocks = 1}};
  CHECK(at.use(100, 7));
  at.finished.poison();
  CHECK(at.ring.allocate(100));
}

TEST_CASE("[A120][B12] a thread that waits for another one's part is told when the fence is lost") {
  stand<several_writers> at{{.block_bytes = 10, .max_blocks = 1}};
  const auto held = at.ring.try_allocate(10);
  CHECK(held);
  upload_status status{};
  background waiting{[&] { status = at.ring.allocate(1).status; }};
  CHECK(waiting.falls_asleep());
  at.finished.poison();
  waiting.join();
  CHECK(status == upload_status::lost);
}

// ---- the end of a part, statistics, other timelines ---------------------------------------------------------------

TEST_CASE_TEMPLATE("the newest part of a block shrinks, and what was refused does not", Kind, one_writer,
                   several_writers) {
  stand<Kind> at{{.block_bytes = 100}};
  auto part = at.ring.try_allocate(100);
  CHECK(at.ring.try_shrink(part, 30));
  CHECK(part.bytes == 30);
  CHECK(at.ring.try_allocate(70).offset == 30);
  CHECK_FALSE(at.ring.try_shrink(part, 10));
  CHECK(at.ring.blocks() == 1);
}

TEST_CASE_TEMPLATE("statistics say how many blocks there are and were, and print as a line", Kind, one_writer,
                   several_writers) {
  stand<Kind> at{{.block_bytes = 100}};
  CHECK(at.use(90, 1));
  CHECK(at.use(30, 1));
  CHECK(at.use(100, 1));
  at.finished.signal(1);
  CHECK(at.ring.trim(1) == 2);
  const tidemark::growing_statistics now = at.ring.statistics();
  CHECK(now.block_bytes == 100);
  CHECK(now.blocks == 1);
  CHECK(now.most_blocks == 3);
  CHECK(now.in_use == 0);
  CHECK(now.largest_free_run == 100);
  CHECK(now.created == 3);
  CHECK(now.destroyed == 2);
  const std::string line =
      "1 blocks of 100 bytes, most 3; 0 bytes in use; largest free run 100; passed over: 0 for alignment, 0 at the "
      "end; "
      "3 created, 2 destroyed, 0 refused";
  CHECK(to_string(now) == line);
  std::ostringstream text;
  text << now;
  CHECK(text.str() == line);
}

TEST_CASE("[B43] a block that is given back while another one is made was there beside it") {
  stand<several_writers> at{{.block_bytes = 100, .keep_blocks = 0}};
  CHECK(at.use(100, 1));
  at.made.meanwhile = [&] {
    std::thread{[&] {
      at.finished.signal(1);
      CHECK(at.ring.trim() == 1);
    }}.join();
  };
  CHECK(at.use(100, 2));
  CHECK(at.ring.statistics().blocks == 1);
  CHECK(at.ring.statistics().most_blocks == 2);
  at.made.may_create = 2;
  std::size_t most_while_asked = 0;
  at.made.at_refusal = [&] { most_while_asked = at.ring.statistics().most_blocks; };
  CHECK_FALSE(at.use(100, 3));
  CHECK(most_while_asked == 2);
  CHECK(at.ring.statistics().most_blocks == 2);
}

TEST_CASE("the heap is the source by default, and a ring follows a fence or a view; its type is deduced") {
  tidemark::progress_fence finished;
  tidemark::growing_upload_ring ring{finished, {.block_bytes = 4096, .alignment = 4096}};
  const auto part = ring.allocate(100, 64);
  REQUIRE(part);
  CHECK(reinterpret_cast<std::uintptr_t>(part.memory) % 4096 == 0);
  std::memset(part.memory + part.offset, 1, static_cast<std::size_t>(part.bytes));
  tidemark::growing_upload_ring viewed{finished.view(), {.block_bytes = 4096}};
  CHECK(viewed.allocate(1));
}

// ---- threads -------------------------------------------------------------------------------------------------------

TEST_CASE(
    "[B5][B43] threads allocate while others give blocks back: no byte has two owners, and no block is used late") {
  constexpr std::size_t bytes = 64;
  struct blocks_of_owners {
    using backing = std::atomic<std::uint32_t>*;
    backing create(const tidemark::backing_traits&) noexcept {
      return new std::atomic<std::uint32_t>[bytes] {};
    }
    void destroy(backing made, const tidemark::backing_traits&) noexcept {
      for (std::size_t i = 0; i < bytes; ++i) {
        if (made[i] != 0) FAIL_CHECK("a block was destroyed that was in use");
      }
      delete[] made;
    }
  };
  tidemark::fence finished;
  tidemark::growing_upload_ring<tidemark::fence_view, blocks_of_owners, writers::several> ring{
      finished.view(), {.block_bytes = bytes, .max_blocks = 3, .keep_blocks = 0, .idle_rounds = 1, .max_records = 4}};
  std::atomic<bool> is_over{false};
  const std::uint64_t seed = fresh_seed();
  std::vector<std::thread> all;
  for (std::uint32_t self = 1; self <= 3; ++self) {
    all.emplace_back([&, self] {
      random_numbers random{seed, self};
      for (int round = 0; round < 3000; ++round) {
        auto part = ring.allocate(1 + random.below(bytes));
        if (!part) {
          FAIL_CHECK("a thread that waits gets its bytes");
          return;
        }
        if (random.below(3) == 0) ring.try_shrink(part, random.below(part.bytes + 1));
        for (std::uint64_t i = 0; i < part.bytes; ++i) {
          if (part.memory[part.offset + i].exchange(self) != 0) FAIL_CHECK("two owners");
        }
        for (std::uint64_t i = 0; i < part.bytes; ++i) part.memory[part.offset + i] = 0;
        ring.retire(part, 0);
      }
    });
  }
  std::thread ends_rounds{[&] {
    random_numbers random{seed};
    while (!is_over) random.below(2) == 0 ? ring.end_round() : ring.trim();
  }};
  for (std::thread& one : all) one.join();
  is_over = true;
  ends_rounds.join();
  ring.trim();
  CHECK(ring.blocks() == 0);
  const tidemark::growing_statistics now = ring.statistics();
  CHECK(now.created == now.destroyed);
  CHECK(now.most_blocks <= 3);
}
