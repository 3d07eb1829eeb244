// SPDX-License-Identifier: BSL-1.0
//
// A memory segment over real pages: what it says to decide(), and what it gives out.
#include <doctest/doctest.h>

#include <tidemark/memory/device_segment.hpp>

#if defined(__linux__)

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

using tidemark::memory_pages;
using segment_type = tidemark::device_segment<tidemark::progress_fence>;

TEST_CASE("[B18][B29] a segment says whether the processor sees it, and how much of its window is free") {
  const tidemark::progress_fence finished;
  const auto visible = segment_type::make(finished, {.pages = 2, .cpu_visible = true});
  REQUIRE(visible);
  CHECK(visible->traits().cpu_visible);
  CHECK_FALSE(visible->window().exists);
  CHECK(visible->window().free_bytes == 0);

  auto hidden = segment_type::make(finished, {.pages = 2, .window_pages = 3});
  REQUIRE(hidden);
  CHECK_FALSE(hidden->traits().cpu_visible);
  CHECK(hidden->window().exists);
  CHECK(hidden->window().free_bytes == 3 * memory_pages::page_bytes());
  const auto view = hidden->window_pages()->try_map(std::vector<int>{1, 0});
  REQUIRE(view);
  CHECK(hidden->window().free_bytes == memory_pages::page_bytes());
  CHECK(hidden->window_pages()->unmap(view));
}

TEST_CASE("[B21][B29] a segment that is resized at run time is seen from then on, and keeps its window") {
  const tidemark::progress_fence finished;
  auto segment = segment_type::make(finished, {.pages = 2, .window_pages = 1});
  REQUIRE(segment);
  CHECK_FALSE(segment->traits().cpu_visible);
  for (int i = 0; i < 2; ++i) {
    segment->resize();
    CHECK(segment->traits().cpu_visible);
    CHECK(segment->window().exists);
  }
  const segment_type moved = std::move(*segment);
  CHECK(moved.traits().cpu_visible);
}

TEST_CASE("[B32] all pages of a segment are given out, and no more") {
  const tidemark::progress_fence finished;
  auto segment = segment_type::make(finished, {.pages = 4});
  REQUIRE(segment);
  CHECK(segment->window_pages() == nullptr);
  CHECK(segment->memory().pages() == 4);
  CHECK(segment->free_pages() == 4);
  const auto all = segment->places().try_map(std::vector<int>(4));
  REQUIRE(all);
  CHECK(segment->free_pages() == 0);
  CHECK(segment->places().try_map(std::vector<int>(1)).status == tidemark::aperture_status::no_space);
  CHECK(segment->places().unmap(all));
  CHECK(segment->free_pages() == 4);
}

TEST_CASE("a segment keeps its pages when it is moved") {
  const tidemark::progress_fence finished;
  auto segment = segment_type::make(finished, {.pages = 2, .window_pages = 1});
  REQUIRE(segment);
  segment->memory().page(1)[0] = std::byte{7};
  const segment_type moved = std::move(*segment);
  CHECK(moved.memory().page(1)[0] == std::byte{7});
  CHECK(moved.free_pages() == 2);
  CHECK(moved.window().exists);
}

TEST_CASE("a segment without pages, or with more than there can be, is refused, and errno says why") {
  const tidemark::progress_fence finished;
  const auto is_refused = [&](const tidemark::segment_options& options, int why) {
    errno = 0;
    return !segment_type::make(finished, options) && errno == why;
  };
  CHECK(is_refused({.pages = 0}, EINVAL));
  CHECK(is_refused({.pages = SIZE_MAX}, EINVAL));
  CHECK(is_refused({.pages = 1, .window_pages = SIZE_MAX}, ENOMEM));
}

#endif
