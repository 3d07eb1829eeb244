// SPDX-License-Identifier: BSL-1.0
//
// Views over real pages: what is written through a view is seen in the memory, and the other way round.
#include <doctest/doctest.h>

#include <tidemark/memory/mapped_view.hpp>

#if defined(__linux__)

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <tidemark/memory/host_aperture.hpp>

using tidemark::aperture_page;
using tidemark::mapped_view;
using tidemark::memory_pages;

namespace {

std::vector<std::uint64_t> words_of(const std::byte* page) {
  std::vector<std::uint64_t> words(memory_pages::page_bytes() / sizeof(std::uint64_t));
  std::memcpy(words.data(), page, memory_pages::page_bytes());
  return words;
}

}  // namespace

TEST_CASE("[B30][B31] bytes written through a view are seen in the pages that it shows, and no others") {
  auto memory = memory_pages::make(8);
  REQUIRE(memory);
  const std::vector<std::size_t> pages{5, 0, 7, 2};
  const auto view = mapped_view::make(*memory, pages);
  REQUIRE(view);
  const std::size_t bytes = memory_pages::page_bytes();
  CHECK(view->size() == 4 * bytes);
  for (std::size_t i = 0; i < view->size(); ++i) view->data()[i] = static_cast<std::byte>(i / bytes * 31 + i % 251);
  for (std::size_t i = 0; i < pages.size(); ++i) {
    CHECK(std::memcmp(memory->page(pages[i]), view->data() + i * bytes, bytes) == 0);
    CHECK(memory->page(pages[i])[3] == static_cast<std::byte>(i * 31 + (i * bytes + 3) % 251));
  }
  for (const std::size_t other : {1u, 3u, 4u, 6u}) {
    for (const std::uint64_t word : words_of(memory->page(other))) REQUIRE(word == 0);
  }
}

TEST_CASE("[B30] what is written to a page of the memory is seen through every view of that page") {
  const auto memory = memory_pages::make(3);
  REQUIRE(memory);
  const auto twice = mapped_view::make(*memory, std::vector<int>{1, 1});
  const auto once = mapped_view::make(*memory, std::vector<int>{2, 1});
  REQUIRE(twice);
  REQUIRE(once);
  const std::size_t bytes = memory_pages::page_bytes();
  memory->page(1)[9] = std::byte{42};
  CHECK(twice->data()[9] == std::byte{42});
  CHECK(twice->data()[bytes + 9] == std::byte{42});
  CHECK(once->data()[bytes + 9] == std::byte{42});
  CHECK(once->data()[9] == std::byte{0});
  twice->data()[10] = std::byte{43};
  CHECK(once->data()[bytes + 10] == std::byte{43});
}

TEST_CASE("pages that do not exist are refused, and so is a view of no pages") {
  const auto memory = memory_pages::make(2);
  REQUIRE(memory);
  CHECK_FALSE(mapped_view::make(*memory, std::vector<int>{0, 2}));
  CHECK_FALSE(mapped_view::make(*memory, std::vector<int>{-1}));
  CHECK_FALSE(mapped_view::make(*memory, std::vector<int>{}));
  CHECK_FALSE(memory_pages::make(0));
  CHECK_FALSE(memory_pages::make(std::size_t{1} << (sizeof(std::size_t) > 4 ? 50 : 31)));
}

namespace {

/// A range of page numbers that yields another number of them than it says.
struct misstated_pages {
  std::size_t stated;
  std::size_t yielded;

  std::size_t size() const { return stated; }
  const int* begin() const { return zeros.data(); }
  const int* end() const { return zeros.data() + yielded; }

  static constexpr std::array<int, 3> zeros{};
};

template <class Make>
bool is_refused(const Make& make) {
  errno = 0;
  return !make() && errno == EINVAL;
}

}  // namespace

TEST_CASE("a view of more pages than there are addresses is refused, and errno says why") {
  const auto memory = memory_pages::make(1);
  REQUIRE(memory);
  // Their bytes are those of one page, and 2^64 or 2^32.
  const std::size_t too_many = SIZE_MAX / memory_pages::page_bytes() + 2;
  CHECK(is_refused([&] { return mapped_view::make(*memory, misstated_pages{too_many, 1}); }));
  CHECK(is_refused([&] { return mapped_view::make(*memory, misstated_pages{too_many - 1, 1}); }));
  CHECK(is_refused([&] { return mapped_view::make(*memory, misstated_pages{SIZE_MAX, 1}); }));
  CHECK(is_refused([&] { return memory_pages::make(too_many); }));
  CHECK(is_refused([&] { return memory_pages::make(0); }));
  CHECK(is_refused([&] { return mapped_view::make(*memory, std::vector<int>{}); }));
  CHECK(is_refused([&] { return mapped_view::make(*memory, std::vector<int>{1}); }));
}

TEST_CASE(
    "a range that yields another number of pages than it says is refused, and nothing is mapped beyond the view") {
  const auto memory = memory_pages::make(1);
  REQUIRE(memory);
  CHECK(is_refused([&] { return mapped_view::make(*memory, misstated_pages{1, 2}); }));
  CHECK(is_refused([&] { return mapped_view::make(*memory, misstated_pages{3, 2}); }));
  CHECK(mapped_view::make(*memory, misstated_pages{2, 2}));
}

TEST_CASE("a view keeps its pages when the memory is gone, and both can be moved") {
  std::optional<mapped_view> view;
  {
    auto memory = memory_pages::make(2);
    REQUIRE(memory);
    memory->page(1)[0] = std::byte{7};
    memory_pages moved = std::move(*memory);
    view = mapped_view::make(moved, std::vector<int>{1});
  }
  REQUIRE(view);
  mapped_view moved = std::move(*view);
  CHECK(moved.data()[0] == std::byte{7});
  CHECK(view->data() == nullptr);
}

TEST_CASE("memory and views that others are moved to give back at once what they had, and the others have nothing") {
  auto first = memory_pages::make(1);
  auto second = memory_pages::make(2);
  REQUIRE(first);
  REQUIRE(second);
  first->page(0)[0] = std::byte{1};
  second->page(1)[0] = std::byte{2};
  *first = std::move(*second);
  CHECK(first->pages() == 2);
  CHECK(first->page(1)[0] == std::byte{2});
  CHECK(second->pages() == 0);
  auto& itself = *first;
  *first = std::move(itself);
  CHECK(first->page(1)[0] == std::byte{2});

  auto one = mapped_view::make(*first, std::vector<int>{0});
  auto other = mapped_view::make(*first, std::vector<int>{1});
  REQUIRE(one);
  REQUIRE(other);
  *one = std::move(*other);
  CHECK(one->data()[0] == std::byte{2});
  CHECK(other->data() == nullptr);
}

TEST_CASE(
    "[B30][B31][B32] a window over real memory shows scattered pages, one view after another, and no more than fit") {
  tidemark::progress_fence finished;
  tidemark::host_aperture window{finished, {.pages = 4}};
  const auto memory = memory_pages::make(64);
  REQUIRE(memory);
  for (std::uint64_t frame = 1; frame <= 16; ++frame) {
    std::vector<std::uint64_t> pages;
    for (std::uint64_t i = 0; i < 3; ++i) pages.push_back((frame * 17 + i * 29) % 64);
    const auto mapped = window.map(pages);
    REQUIRE(mapped);
    CHECK(window.try_map(pages).status == tidemark::aperture_status::no_space);
    std::vector<std::uint64_t> shown;
    window.for_each(mapped, [&](const aperture_page& page) { shown.push_back(page.source); });
    const auto view = mapped_view::make(*memory, shown);
    REQUIRE(view);
    for (std::uint64_t i = 0; i < 3; ++i) {
      view->data()[i * memory_pages::page_bytes()] = static_cast<std::byte>(frame * 4 + i);
      CHECK(memory->page(static_cast<std::size_t>(pages[static_cast<std::size_t>(i)]))[0] ==
            static_cast<std::byte>(frame * 4 + i));
    }
    CHECK(window.retire(mapped, frame));
    finished.signal(frame);
  }
}

#endif
