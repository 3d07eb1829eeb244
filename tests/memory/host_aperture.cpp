// SPDX-License-Identifier: BSL-1.0
//
// The host aperture: which pages of the window a view gets, what is refused and why, and when pages come back.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <set>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <tidemark/memory/host_aperture.hpp>

#include "support/counted_progress.hpp"
#include "support/counting_platform.hpp"
#include "support/manual_stop.hpp"
#include "support/observed_timeline.hpp"
#include "support/random.hpp"
#include "support/threads.hpp"
#include "support/user_timeline.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::aperture_page;
using tidemark::aperture_pages;
using tidemark::aperture_status;
using tidemark::aperture_view;

namespace {

std::vector<std::uint64_t> numbers_from(std::uint64_t first, std::size_t count) {
  std::vector<std::uint64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

struct stand {
  explicit stand(std::size_t pages, std::size_t reserved = 0)
      : window{finished.view(), {.pages = pages, .reserved = reserved}} {}

  aperture_view map(std::size_t pages, std::uint64_t first_source = 0) {
    return window.try_map(numbers_from(first_source, pages));
  }
  std::vector<std::size_t> windows_of(const aperture_view& view) {
    std::vector<std::size_t> found;
    window.for_each(view, [&](const aperture_page& page) { found.push_back(page.window); });
    return found;
  }

  counted_fence finished;
  tidemark::host_aperture<counted_view> window;
};

}  // namespace

TEST_CASE("[B29][B30] page i of a view shows page i of what was asked for") {
  stand at{8};
  const std::vector<std::uint64_t> sources{40, 7, 1'000'000'000'000};
  const aperture_view view = at.window.try_map(sources);
  REQUIRE(view);
  CHECK(view.pages == 3);
  std::vector<std::uint64_t> shown;
  at.window.for_each(view, [&](const aperture_page& page) {
    CHECK(page.index == shown.size());
    shown.push_back(page.source);
  });
  CHECK(shown == sources);
}

TEST_CASE("[B31] any free pages will do, whatever lies between them") {
  stand at{6};
  std::vector<aperture_view> single;
  for (int i = 0; i < 6; ++i) single.push_back(at.map(1));
  std::vector<std::size_t> expected;
  for (const std::size_t i : {0u, 2u, 5u}) {
    expected.push_back(at.windows_of(single[i]).front());
    CHECK(at.window.unmap(single[i]));
  }
  const aperture_view view = at.map(3, 100);
  REQUIRE(view);
  std::vector<std::size_t> windows = at.windows_of(view);
  std::sort(windows.begin(), windows.end());
  std::sort(expected.begin(), expected.end());
  CHECK(windows == expected);
}

TEST_CASE("[B32] no more pages are mapped than there are, and what is refused changes nothing") {
  stand at{8};
  const aperture_view first = at.map(5);
  CHECK(at.map(4).status == aperture_status::no_space);
  CHECK(at.window.map_for(numbers_from(0, 4), 1ms).status == aperture_status::timeout);
  CHECK(at.window.unmapped_pages() == 3);
  CHECK(at.map(9).status == aperture_status::too_large);
  CHECK(at.window.map(numbers_from(0, 9)).status == aperture_status::too_large);
  CHECK(at.map(3));
  CHECK(at.map(1).status == aperture_status::no_space);
  CHECK(at.window.unmap(first));
  CHECK(at.map(5));
  CHECK(at.window.unmapped_pages() == 0);
}

TEST_CASE("[B33] pages that are reserved are not given out") {
  stand at{8, 3};
  CHECK(at.window.capacity() == 5);
  CHECK(at.map(6).status == aperture_status::too_large);
  const aperture_view view = at.map(5);
  for (const std::size_t window : at.windows_of(view)) CHECK(window >= 3);
}

TEST_CASE("[B33] a window can be used as soon as it is made, and a view can have all of its pages") {
  for (const std::size_t pages : {1u, 2u, 1000u}) {
    stand at{pages};
    const aperture_view all = at.map(pages);
    CHECK(all);
    CHECK(at.window.unmap(all));
    CHECK(at.map(pages));
  }
}

TEST_CASE("[B33] aperture_pages() rounds bytes up to pages, and counts those of each linked adapter") {
  static_assert(aperture_pages(0, 4096) == 0);
  static_assert(aperture_pages(1, 4096) == 1);
  static_assert(aperture_pages(4096, 4096) == 1);
  static_assert(aperture_pages(4097, 4096) == 2);
  static_assert(aperture_pages(4097, 65536, 4) == 4);
  CHECK(aperture_pages(UINT64_MAX, 65536) == std::uint64_t{1} << 48);
}

TEST_CASE("[B33] aperture_pages() returns the greatest number, which no window has, where there are more pages") {
  constexpr std::uint64_t all = UINT64_MAX;
  static_assert(aperture_pages(std::uint64_t{1} << 63, 1, 2) == all);  // 2^64
  static_assert(aperture_pages(all, 4096, std::uint64_t{1} << 13) == all);
  static_assert(aperture_pages(all, 1, all) == all);
  static_assert(aperture_pages(all, 1) == all);
  static_assert(aperture_pages(1, all, all) == all);
  static_assert(aperture_pages(0, 4096, all) == 0);
  static_assert(aperture_pages(all, 4096, 0) == 0);
  CHECK(aperture_pages(std::uint64_t{1} << 63, 4096, std::uint64_t{1} << 13) == all);
}

TEST_CASE("[B33] the instances of all linked adapters are in the window at the same time, beside the reserved pages") {
  constexpr std::uint64_t adapters = 4;
  constexpr std::size_t reserved = 2;
  constexpr std::uint64_t each = 3;  // pages
  const std::uint64_t pages = aperture_pages(2 * 4096 + 1, 4096, adapters);
  for (const std::size_t missing : {0u, 1u}) {
    stand at{reserved + static_cast<std::size_t>(pages) - missing, reserved};
    std::vector<aperture_view> views;  // as soon as the window is made
    for (std::uint64_t adapter = 0; adapter < adapters; ++adapter) views.push_back(at.map(each, 100 * adapter));
    std::set<std::size_t> taken;
    for (std::uint64_t adapter = 0; adapter < adapters - missing; ++adapter) {
      at.window.for_each(views[static_cast<std::size_t>(adapter)], [&](const aperture_page& page) {
        CHECK(page.source == 100 * adapter + page.index);
        CHECK(page.window >= reserved);
        taken.insert(page.window);
      });
    }
    CHECK(taken.size() == (adapters - missing) * each);
    CHECK(views.back().status == (missing == 0 ? aperture_status::mapped : aperture_status::no_space));
    CHECK(at.window.unmapped_pages() == (missing == 0 ? 0 : each - missing));
  }
}

TEST_CASE("[B4] pages come back when the timeline has reached their value") {
  stand at{4};
  const aperture_view early = at.map(2);
  const aperture_view late = at.map(2);
  CHECK(at.window.retire(late, 2));
  CHECK(at.window.retire(early, 1));
  CHECK(at.map(1).status == aperture_status::busy);
  CHECK(at.window.unmapped_pages() == 4);
  at.finished.signal(1);
  CHECK(at.map(3).status == aperture_status::busy);
  CHECK(at.window.unmapped_pages() == 4);
  CHECK(at.map(2));
  CHECK(at.map(2).status == aperture_status::busy);
  at.finished.signal(2);
  CHECK(at.map(2));
}

TEST_CASE("a view of no pages is invalid") {
  stand at{2};
  CHECK(at.map(0).status == aperture_status::invalid);
  CHECK(at.window.map(std::vector<int>{}).status == aperture_status::invalid);
}

TEST_CASE("[B30][B32] a range that yields another number of pages than it says is invalid, and changes nothing") {
  struct misstated_pages {
    std::size_t stated;
    std::size_t yielded;
    std::size_t size() const { return stated; }
    const int* begin() const { return numbers.data(); }
    const int* end() const { return numbers.data() + yielded; }
    std::vector<int> numbers = std::vector<int>(8, 7);
  };
  stand at{4};
  const aperture_view other = at.map(2, 40);
  CHECK(at.window.unmap(at.map(1)));
  for (const auto& [stated, yielded] : {std::pair{1u, 2u}, {1u, 8u}, {2u, 1u}, {2u, 0u}}) {
    CHECK(at.window.try_map(misstated_pages{stated, yielded}).status == aperture_status::invalid);
    CHECK(at.window.map(misstated_pages{stated, yielded}).status == aperture_status::invalid);
  }
  CHECK(at.window.unmapped_pages() == 2);
  CHECK(at.map(2));
  at.window.for_each(other, [](const aperture_page& page) { CHECK(page.source == 40 + page.index); });
}

TEST_CASE("[B12] a map that waits parks until enough pages are free, with one heavy barrier for each value") {
  stand at{4};
  const aperture_view first = at.map(2);
  const aperture_view second = at.map(2);
  CHECK(at.window.retire(first, 3));
  CHECK(at.window.retire(second, 5));
  const meter<counted> during;
  aperture_view view;
  background mapper{[&] { view = at.window.map(numbers_from(0, 3)); }};
  CHECK(mapper.falls_asleep());
  at.finished.signal(3);
  CHECK(mapper.falls_asleep());
  at.finished.signal(5);
  mapper.join();
  CHECK(view);
  CHECK(during.parks() >= 2);
  CHECK(during.heavy_barriers() == 2);
}

TEST_CASE("a wait for pages ends at its deadline, when it is stopped, or when the fence is poisoned") {
  stand at{1};
  CHECK(at.window.retire(at.map(1), 9));
  const auto start = std::chrono::steady_clock::now();
  CHECK(at.window.map_for(numbers_from(1, 1), 3ms).status == aperture_status::timeout);
  CHECK(std::chrono::steady_clock::now() - start >= 3ms);
  CHECK(at.window.map_until(numbers_from(1, 1), std::chrono::system_clock::now() + 2ms).status ==
        aperture_status::timeout);
  CHECK(at.window.map_until(numbers_from(1, 1), std::chrono::steady_clock::now()).status == aperture_status::timeout);
  manual_stop stop;
  aperture_view view;
  background stopped{[&] { view = at.window.map(numbers_from(1, 1), stop.get_token()); }};
  CHECK(stopped.falls_asleep());
  stop.request();
  stopped.join();
  CHECK(view.status == aperture_status::stopped);
  CHECK(at.window.map_for(numbers_from(1, 1), 24h, stop.get_token()).status == aperture_status::stopped);
  background mapper{[&] { view = at.window.map(numbers_from(1, 1)); }};
  CHECK(mapper.falls_asleep());
  at.finished.poison();
  mapper.join();
  CHECK(view);
}

TEST_CASE("[B31][B32] with several threads that map, no two have the same page, and every page comes back") {
  constexpr std::size_t pages = 16;
  constexpr unsigned threads = 3;
  tidemark::fence finished;
  tidemark::host_aperture window{finished, {.pages = pages}};
  const auto dog = watch(finished);
  std::vector<std::atomic<unsigned>> owner(pages);
  std::atomic<std::uint64_t> shared{0};
  std::atomic<std::uint64_t> wrong_status{0};
  const auto body = [&](unsigned mark) {
    random_numbers numbers{mark};
    for (int round = 0; round < 20'000; ++round) {
      const std::size_t wanted = 1 + numbers.below(std::size_t{8});  // of three threads two at least have room
      const aperture_view view = window.map(numbers_from(0, wanted));
      if (!view) wrong_status.fetch_add(1);
      window.for_each(view,
                      [&](const aperture_page& page) { shared += owner[page.window].exchange(mark) == 0 ? 0U : 1U; });
      window.for_each(view,
                      [&](const aperture_page& page) { shared += owner[page.window].exchange(0) == mark ? 0U : 1U; });
      CHECK((numbers.below(2) == 0 ? window.unmap(view) : window.retire(view, finished.signal_next())));
    }
  };
  std::vector<std::thread> others;
  for (unsigned mark = 1; mark <= threads; ++mark) others.emplace_back(body, mark);
  for (std::thread& other : others) other.join();
  CHECK(shared == 0);
  CHECK(wrong_status == 0);
  CHECK(window.try_map(numbers_from(0, pages)));
}

TEST_CASE("make() returns a window, or nothing where there is no memory for its pages") {
  using window = tidemark::host_aperture<counted_view>;
  counted_fence finished;
  auto made = window::make(finished.view(), {.pages = 3, .reserved = 1});
  REQUIRE(made.has_value());
  CHECK(made->capacity() == 2);
  CHECK(made->try_map(numbers_from(0, 2)));
  for (const std::size_t pages : {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 64, SIZE_MAX / 128}) {
    if (pages <= (std::size_t{1} << 30)) continue;  // so many may fit into 4 GiB
    CHECK_FALSE(window::make(finished.view(), {.pages = pages}).has_value());
  }
}

// ---- how many words a map looks at ----------------------------------------------------------------------------------

namespace {

/// A timeline whose own words are not counted. It can't be copied, so that the window follows this one.
struct uncounted_timeline {
  using platform = looking_platform<tidemark::native_platform>;

  uncounted_timeline() = default;
  uncounted_timeline(const uncounted_timeline&) = delete;
  uncounted_timeline& operator=(const uncounted_timeline&) = delete;
  std::uint64_t current_value() const { return value; }
  tidemark::wait_status wait_until(std::uint64_t, tidemark::deadline) const { return tidemark::wait_status::timeout; }

  std::uint64_t value = 0;
};

/// A window of which all pages are mapped, each by a view of its own.
struct full_window {
  static constexpr std::size_t pages = 65'536;
  /// A map of one page looks at its count (twice), at 3 words of hints on the way up and 2 on the way down, and at the
  /// page's word and number (2 and 3 times).
  static constexpr std::uint64_t looks_for_one = 12;
  /// A map that passes 64 pages which have no hints looks at each of them and at their hints, and then, when it leaves
  /// hints, at the page once more.
  static constexpr std::uint64_t looks_for_64 = 3 * 64;

  full_window() {
    for (std::size_t page = 0; page < pages; ++page) views.push_back(map(1));
  }
  aperture_view map(std::size_t count) {
    const std::uint64_t before = uncounted_timeline::platform::looks;
    const aperture_view view = window.try_map(std::vector<int>(count));
    looks = uncounted_timeline::platform::looks - before;
    return view;
  }
  void give_back(std::size_t page, std::uint64_t value = 0) { CHECK(window.retire(views[page], value)); }

  uncounted_timeline finished;
  tidemark::host_aperture<uncounted_timeline> window{finished, {.pages = pages}};
  std::vector<aperture_view> views;
  std::uint64_t looks = 0;  // of the last map
};

}  // namespace

TEST_CASE("[B31] in a window of 65,536 pages that is nearly full, a map looks at a few words, wherever the page is") {
  full_window at;
  CHECK(at.map(1).status == aperture_status::no_space);
  for (const std::size_t page : {0u, 1u, 63u, 64u, 4095u, 4096u, 4160u, 40'000u, 65'535u}) {
    for (int round = 0; round < 3; ++round) {
      CAPTURE(page);
      at.give_back(page);
      at.views[page] = at.map(1);
      CHECK(at.views[page].first == page);
      if (round > 0) CHECK(at.looks <= full_window::looks_for_one);
    }
  }
}

TEST_CASE("[B31] a map of many pages that lie apart in a full window looks at a few words for each") {
  full_window at;
  std::vector<std::size_t> given_back;
  for (std::size_t page = 17; page < full_window::pages; page += 641) given_back.push_back(page);
  for (const std::size_t page : given_back) at.give_back(page);
  const aperture_view view = at.map(given_back.size());
  REQUIRE(view);
  CHECK(at.looks <= given_back.size() * full_window::looks_for_one);
  std::vector<std::size_t> windows;
  at.window.for_each(view, [&](const aperture_page& page) { windows.push_back(page.window); });
  CHECK(windows == given_back);
}

TEST_CASE("[B31] behind one view of nearly all pages, a map looks at the pages of one word of hints") {
  full_window at;
  for (std::size_t page = 0; page < full_window::pages; ++page) at.give_back(page);
  const aperture_view nearly_all = at.map(full_window::pages - 1);
  REQUIRE(nearly_all);
  const aperture_view last = at.map(1);
  CHECK(last.first == full_window::pages - 1);
  CHECK(at.looks <= full_window::looks_for_64 + 2 * full_window::looks_for_one);
  CHECK(at.window.unmap(nearly_all));
  CHECK(at.map(full_window::pages - 1));
}

TEST_CASE("[B4][B32] a map that is busy has looked at all pages: it waits for the value that comes first") {
  full_window at;
  at.give_back(40'000, 7);
  at.give_back(50'000, 5);
  CHECK(at.map(1).status == aperture_status::busy);
  CHECK(at.looks >= full_window::pages);
  at.finished.value = 5;
  CHECK(at.map(1).first == 50'000);
  CHECK(at.looks <= 2 * full_window::looks_for_one);
  CHECK(at.map(1).status == aperture_status::busy);
  at.finished.value = 7;
  CHECK(at.map(1).first == 40'000);
}

TEST_CASE("[B31][B32] a map gets the first pages that are free, whatever was mapped and given back before") {
  for (const std::size_t pages : {1u, 63u, 64u, 65u, 128u, 1000u, 4097u}) {
    const std::size_t reserved = pages / 7;
    CAPTURE(pages);
    stand at{pages, reserved};
    std::set<std::size_t> free;
    for (std::size_t page = reserved; page < pages; ++page) free.insert(page);
    std::vector<aperture_view> views;
    random_numbers numbers{static_cast<std::uint32_t>(pages)};
    for (int round = 0; round < 2000; ++round) {
      if (!views.empty() && numbers.below(std::size_t{5}) < 2) {
        std::swap(views[numbers.below(views.size())], views.back());
        for (const std::size_t window : at.windows_of(views.back())) free.insert(window);
        CHECK(at.window.unmap(views.back()));
        views.pop_back();
        continue;
      }
      const std::size_t wanted = 1 + numbers.below(1 + pages / 16);
      const aperture_view view = at.map(wanted);
      REQUIRE(static_cast<bool>(view) == (wanted <= free.size()));
      if (!view) continue;
      const auto end = std::next(free.begin(), static_cast<std::ptrdiff_t>(wanted));
      REQUIRE(at.windows_of(view) == std::vector<std::size_t>(free.begin(), end));
      free.erase(free.begin(), end);
      views.push_back(view);
    }
    CHECK(at.window.unmapped_pages() == free.size());
  }
}

// ---- any timeline --------------------------------------------------------------------------------------------------

TEST_CASE("a window follows a fence, a view or a timeline of the program's own, and its type is deduced") {
  const tidemark::progress_fence uploads;
  const user_timeline mine;
  tidemark::host_aperture by_fence{uploads, {.pages = 1}};
  tidemark::host_aperture by_view{uploads.view(), {.pages = 1}};
  tidemark::host_aperture by_own{mine, {.pages = 1}};
  static_assert(std::is_same_v<decltype(by_fence), tidemark::host_aperture<tidemark::progress_fence>>);
  static_assert(std::is_same_v<decltype(by_view), tidemark::host_aperture<>>);
  static_assert(std::is_same_v<decltype(by_own), tidemark::host_aperture<user_timeline>>);
  CHECK(by_fence.map(numbers_from(0, 1)));
  CHECK(by_view.map(numbers_from(0, 1)));
  CHECK(by_own.map(numbers_from(0, 1)));
}

TEST_CASE("[B4][B12] a window that follows a timeline of the program's own gives out pages, refuses and waits") {
  observed_timeline finished;
  tidemark::host_aperture window{finished, {.pages = 2}};
  CHECK(window.retire(window.map(numbers_from(0, 2)), 1));
  CHECK(window.try_map(numbers_from(0, 1)).status == aperture_status::busy);
  CHECK(window.map_for(numbers_from(0, 1), 1ms).status == aperture_status::timeout);
  CHECK(window.map_until(numbers_from(0, 1), std::chrono::system_clock::now()).status == aperture_status::timeout);

  manual_stop stop;
  unsigned waits = finished.waits();
  background stopped{
      [&] { CHECK(window.map(numbers_from(0, 1), stop.get_token()).status == aperture_status::stopped); }};
  finished.await_waits(waits + 1);
  stop.request();
  stopped.join();

  for (const bool is_lost : {false, true}) {
    waits = finished.waits();
    background mapper{[&] { CHECK(window.retire(window.map(numbers_from(0, 2)), 2)); }};
    finished.await_waits(waits + 1);
    is_lost ? finished.lose() : finished.signal(1);
    mapper.join();
  }
  CHECK(window.try_map(numbers_from(0, 2)));
}
