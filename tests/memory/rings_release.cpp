// SPDX-License-Identifier: BSL-1.0
//
// Misuse of rename rings and upload rings where assertions do nothing, as with NDEBUG: it is refused, and changes
// nothing.
#define TIDEMARK_ASSERT(condition, text) static_cast<void>(0)

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <tidemark/memory/rename_ring.hpp>
#include <tidemark/memory/upload_ring.hpp>

using tidemark::map_mode;
using tidemark::map_status;
using tidemark::upload_part;
using tidemark::upload_status;
using tidemark::writers;

namespace {

using one_writer = std::integral_constant<writers, writers::one>;
using several_writers = std::integral_constant<writers, writers::several>;

template <class Kind>
using ring_of = tidemark::rename_ring<tidemark::progress_fence, tidemark::heap_source, Kind::value>;
using shared_ring = tidemark::upload_ring<tidemark::progress_fence, writers::several>;

}  // namespace

TYPE_TO_STRING_AS("one writer", one_writer);
TYPE_TO_STRING_AS("several writers", several_writers);

TEST_CASE_TEMPLATE("[B46] a value that a rename ring can't keep is refused, and the mapping stays", Kind, one_writer,
                   several_writers) {
  tidemark::progress_fence finished;
  ring_of<Kind> ring{finished, {.bytes = 8, .max_renames = 1}};
  const auto mapped = ring.try_map(map_mode::discard);
  for (const std::uint64_t value : {UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 2, UINT64_MAX - 0x2'0000'0000}) {
    CHECK_FALSE(ring.retire(mapped, value));
    if constexpr (Kind::value == writers::one) CHECK_FALSE(ring.retire(value));
    CHECK(ring.backings() == 1);
    CHECK(ring.try_map(map_mode::discard).status == map_status::no_space);
  }
  CHECK(ring.retire(mapped, 1));
  const auto guest = ring.try_map(map_mode::no_overwrite);
  CHECK_FALSE(ring.retire(guest, UINT64_MAX));
  CHECK(ring.retire(guest, 2));
  finished.signal(2);
  CHECK(ring.unmap(ring.try_map(map_mode::discard)));
}

TEST_CASE_TEMPLATE("a backing has at most 2^15 guests: one more is refused, and all others can leave", Kind, one_writer,
                   several_writers) {
  tidemark::progress_fence finished;
  ring_of<Kind> ring{finished, {.bytes = 8, .max_renames = 1}};
  using mapping = typename ring_of<Kind>::mapping;
  std::vector<mapping> guests;
  for (std::uint32_t i = 0; i < 0x8000; ++i) guests.push_back(ring.try_map(map_mode::no_overwrite));
  for (int i = 0; i < 3; ++i) {
    CHECK(ring.try_map(map_mode::no_overwrite).status == map_status::no_space);
    const auto status = ring.map_for(map_mode::read, std::chrono::milliseconds{1}).status;
    CHECK(status == (Kind::value == writers::one ? map_status::no_space : map_status::timeout));
  }
  std::uint32_t ended = 0;
  for (const mapping& one : guests) {
    CHECK(ring.try_map(map_mode::discard).status == map_status::no_space);
    ended += ring.unmap(one) ? 1U : 0U;
  }
  CHECK(ended == 0x8000);
  CHECK_FALSE(ring.unmap(guests.front()));
  CHECK(ring.try_map(map_mode::discard));
}

TEST_CASE("[B45] a backing without bytes, or with an alignment that is no power of two, is refused") {
  tidemark::progress_fence finished;
  for (const tidemark::rename_options options :
       {tidemark::rename_options{0, 16}, {8, 0}, {8, 3}, {8, 48}, {8, SIZE_MAX}, {0, 0}}) {
    tidemark::rename_ring ring{finished, options};
    CHECK(ring.backings() == 0);
    CHECK(ring.map(map_mode::discard).status == map_status::no_memory);
    CHECK(ring.map(map_mode::no_overwrite).status == map_status::no_memory);
  }
}

TEST_CASE("[B5] with several writers, retiring a part again, or one that was refused, changes nothing") {
  tidemark::progress_fence finished;
  shared_ring ring{finished, {.capacity = 4, .max_records = 2}};
  const upload_part first = ring.try_allocate(2);
  const upload_part second = ring.try_allocate(2);
  const upload_part refused = ring.try_allocate(1);
  CHECK(refused.status == upload_status::no_space);
  CHECK_FALSE(ring.retire(refused, 0));  // has the number of the first one
  CHECK(ring.try_allocate(1).status == upload_status::no_space);
  CHECK(ring.retire(first, 1));
  CHECK_FALSE(ring.retire(first, 0));
  CHECK(ring.reclaim() == 0);
  finished.signal(1);
  CHECK(ring.retire(second, 2));
  CHECK(ring.reclaim() == 2);
  const upload_part third = ring.try_allocate(2);  // in the record of the first one
  CHECK_FALSE(ring.retire(first, 0));
  finished.signal(2);
  CHECK(ring.reclaim() == 2);
  CHECK(ring.bytes_in_use() == 2);
  CHECK(ring.try_allocate(4).status == upload_status::no_space);
  CHECK(ring.retire(third, 3));
  CHECK_FALSE(ring.retire(first, 0));
  CHECK(ring.reclaim() == 0);
  finished.signal(3);
  CHECK(ring.reclaim() == 2);
  CHECK(ring.try_allocate(4));
}

TEST_CASE("[B5] with several writers, retiring a part whose number is laps away changes nothing") {
  tidemark::progress_fence finished;
  shared_ring ring{finished, {.capacity = 4, .max_records = 2}};
  const upload_part own = ring.try_allocate(4);
  CHECK_FALSE(ring.retire({upload_status::allocated, 0, 4, 4}, 0));
  CHECK_FALSE(ring.retire({upload_status::allocated, 0, 4, UINT64_MAX - 1}, 0));
  CHECK(ring.reclaim() == 0);
  ring.retire(own, 1);
  finished.signal(1);
  CHECK(ring.reclaim() == 4);
  for (int i = 0; i < 8; ++i) {
    const upload_part next = ring.try_allocate(4);
    CHECK(next);
    CHECK(ring.reclaim() == 0);
    ring.retire(next, 0);
    CHECK(ring.reclaim() == 4);
  }
}

TEST_CASE("[trap 27] a part that was refused or retired, or that would grow, does not shrink, and nothing changes") {
  tidemark::progress_fence finished;
  tidemark::upload_ring alone{finished, {.capacity = 10}};
  shared_ring shared{finished, {.capacity = 10}};
  upload_part refused = alone.try_allocate(11);
  CHECK_FALSE(alone.try_shrink(refused, 0));
  CHECK_FALSE(shared.try_shrink(refused, 0));
  upload_part one = alone.try_allocate(5);
  upload_part other = shared.try_allocate(5);
  CHECK_FALSE(alone.try_shrink(one, 6));
  CHECK_FALSE(shared.try_shrink(other, UINT64_MAX));
  CHECK(one.bytes + other.bytes == 10);
  CHECK(alone.retire(1));
  CHECK(shared.retire(other, 1));
  CHECK_FALSE(alone.try_shrink(one, 1));
  CHECK_FALSE(shared.try_shrink(other, 1));
  CHECK(alone.bytes_in_use() + shared.bytes_in_use() == 10);
}

TEST_CASE("[trap 27] a ring with an impossible capacity has no bytes, and pieces of an impossible size trim nothing") {
  tidemark::progress_fence finished;
  for (const std::uint64_t capacity : {std::uint64_t{0}, std::uint64_t{1} << 62, UINT64_MAX}) {
    tidemark::upload_ring alone{finished, {.capacity = capacity}};
    shared_ring shared{finished, {.capacity = capacity}};
    for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{1} << 61, UINT64_MAX}) {
      CHECK(alone.try_allocate(bytes).status == upload_status::too_large);
      CHECK(shared.try_allocate(bytes).status == upload_status::too_large);
      CHECK(alone.allocate(bytes, 64).status == upload_status::too_large);
      CHECK(shared.allocate(bytes, 64).status == upload_status::too_large);
    }
    CHECK(alone.trim(1, [](std::uint64_t) {}) == 0);
    CHECK(shared.trim(1, [](std::uint64_t) {}) == 0);
    CHECK(alone.bytes_in_use() + shared.bytes_in_use() + alone.capacity() + shared.capacity() == 0);
  }
  tidemark::upload_ring alone{finished, {.capacity = 64}};
  shared_ring shared{finished, {.capacity = 64}};
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{3}}) {
    CHECK(alone.trim(bytes, [](std::uint64_t) {}) == 0);
    CHECK(shared.trim(bytes, [](std::uint64_t) {}) == 0);
  }
}
