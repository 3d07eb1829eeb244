// SPDX-License-Identifier: BSL-1.0
//
// The segments of an allocation: what there is no set of, and hence no allocation.
#include <doctest/doctest.h>

#include <tidemark/memory/mapped_allocation.hpp>
#include <tidemark/memory/supported_segments.hpp>

#if defined(__linux__)

#include <array>
#include <optional>
#include <type_traits>

using tidemark::allocation_options;
using tidemark::cpu_access;
using tidemark::supported_segments;
using tidemark::with_aperture_segment;
using tidemark::with_aperture_segment_t;

namespace {

using fence = tidemark::progress_fence;
using segment_type = tidemark::device_segment<fence>;
using set = supported_segments<fence>;
using allocation = tidemark::mapped_allocation<fence>;

struct segments {
  fence finished;
  segment_type seen{*segment_type::make(finished, {.pages = 2, .cpu_visible = true})};
  segment_type unseen{*segment_type::make(finished, {.pages = 2, .window_pages = 2})};
};

constexpr std::array every_access{cpu_access::none, cpu_access::uncached, cpu_access::cached};

}  // namespace

TEST_CASE("[B24] a set without an aperture segment is made only if the processor sees all of it, or uses none of it") {
  segments of;
  for (const cpu_access access : every_access) {
    const bool is_unused = access == cpu_access::none;
    CHECK(set::make(access, of.seen).has_value());
    CHECK(set::make(access, of.unseen).has_value() == is_unused);
    CHECK(set::make(access, of.seen, of.unseen).has_value() == is_unused);
    CHECK(set::make(access, of.unseen, of.seen).has_value() == is_unused);
  }
}

// No constructor makes a set without an aperture segment, and none makes an allocation without a set.
static_assert(std::is_constructible_v<set, cpu_access, with_aperture_segment_t>);
static_assert(std::is_constructible_v<set, cpu_access, with_aperture_segment_t, segment_type&, segment_type&>);
static_assert(!std::is_default_constructible_v<set>);
static_assert(!std::is_constructible_v<set, cpu_access>);
static_assert(!std::is_constructible_v<set, cpu_access, segment_type&>);
static_assert(!std::is_constructible_v<set, segment_type&>);
static_assert(!std::is_aggregate_v<set>);
static_assert(std::is_constructible_v<allocation, const fence&, const set&, const allocation_options&>);
static_assert(!std::is_constructible_v<allocation, const fence&, segment_type&, const allocation_options&>);
static_assert(!std::is_constructible_v<allocation, const fence&, std::optional<set>, const allocation_options&>);
static_assert(!std::is_default_constructible_v<allocation>);
static_assert(!std::is_copy_constructible_v<allocation> && !std::is_move_constructible_v<allocation>);

TEST_CASE("[B17] a set says what it was made of, with the preferred segment first, and each segment once") {
  segments of;
  const set both{cpu_access::cached, with_aperture_segment, of.unseen, of.seen, of.unseen};
  CHECK(both.access() == cpu_access::cached);
  CHECK(both.has_aperture());
  REQUIRE(both.memory().size() == 2);
  CHECK(both.memory()[0] == &of.unseen);
  CHECK(both.memory()[1] == &of.seen);
  CHECK(both.index_of(of.seen) == 1);
  const segments others;
  CHECK(both.index_of(others.seen) == 2);
  CHECK(both.set() == tidemark::segment_set{}.with({.cpu_visible = true}).with({}).with_aperture());

  const std::optional<set> alone = set::make(cpu_access::uncached, of.seen);
  REQUIRE(alone);
  CHECK_FALSE(alone->has_aperture());
  CHECK(alone->memory().size() == 1);
  CHECK(set{cpu_access::none, with_aperture_segment}.memory().empty());
}

TEST_CASE("[B24][B29] a segment that was resized at run time needs no aperture segment any more") {
  segments of;
  CHECK_FALSE(set::make(cpu_access::uncached, of.unseen));
  of.unseen.resize();
  const std::optional<set> seen = set::make(cpu_access::uncached, of.unseen);
  REQUIRE(seen);
  CHECK_FALSE(seen->set().has_unseen());
}

TEST_CASE("the timeline of a set is that of its segments") {
  segments of;
  const supported_segments deduced{cpu_access::uncached, with_aperture_segment, of.seen, of.unseen};
  static_assert(std::is_same_v<decltype(deduced), const set>);
  CHECK(deduced.memory().size() == 2);
}

#endif
