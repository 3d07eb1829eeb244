// SPDX-License-Identifier: BSL-1.0
//
// One backing of a mapped allocation: its bytes go with it, its pages come back, and its caches are looked after.
#include <doctest/doctest.h>

#include <tidemark/memory/allocation_backing.hpp>

#if defined(__linux__)

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

using tidemark::aperture_status;
using tidemark::memory_pages;
using tidemark::residence;

namespace {

using fence = tidemark::progress_fence;
using segment_type = tidemark::device_segment<fence>;

/// Notes what it is asked to do.
struct noting_cache {
  struct call {
    bool is_write_back;
    std::uint64_t address;
    std::uint64_t bytes;
    bool operator==(const call&) const = default;
  };
  std::vector<call> calls;

  void write_back(std::uint64_t address, std::uint64_t bytes) { calls.push_back({true, address, bytes}); }
  void invalidate(std::uint64_t address, std::uint64_t bytes) { calls.push_back({false, address, bytes}); }
};
using backing = tidemark::allocation_backing<fence, noting_cache>;

struct stand {
  explicit stand(const tidemark::segment_options& options) : segment{*segment_type::make(finished, options)} {}

  std::unique_ptr<backing> make(std::size_t pages) {
    return std::unique_ptr<backing>{backing::make(finished, segments, pages, &cache)};
  }
  std::vector<noting_cache::call> take_calls() { return std::exchange(cache.calls, {}); }

  fence finished;
  segment_type segment;
  tidemark::supported_segments<fence> segments{tidemark::cpu_access::cached, tidemark::with_aperture_segment, segment};
  noting_cache cache;
};

/// Returns false if too few pages of the segment are free.
bool enters(backing& one) {
  const backing::taken_pages taken = one.take_pages(0, 1);
  if (taken.view) one.enter_segment(taken);
  return static_cast<bool>(taken.view);
}
void fill(const backing& one) {
  for (std::size_t i = 0; i < one.pages(); ++i)
    std::memset(one.page(i), static_cast<int>(0x30 + i), memory_pages::page_bytes());
}
bool is_filled(const std::byte* begin, std::size_t pages) {
  for (std::size_t i = 0; i < pages * memory_pages::page_bytes(); ++i) {
    if (begin[i] != static_cast<std::byte>(0x30 + i / memory_pages::page_bytes())) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("[B30][B31] the bytes of a backing go with it, through pages in any order") {
  stand at{{.pages = 6, .cpu_visible = true}};
  // So that the free pages do not lie side by side.
  std::vector<tidemark::aperture_view> single;
  for (int i = 0; i < 6; ++i) single.push_back(at.segment.places().try_map(std::vector<int>(1)));
  for (const std::size_t i : {4u, 0u, 2u}) CHECK(at.segment.places().unmap(single[i]));

  const auto one = at.make(3);
  REQUIRE(one != nullptr);
  CHECK(one->where() == residence::system_memory);
  fill(*one);
  REQUIRE(enters(*one));
  CHECK(one->where() == residence::memory_segment);
  CHECK(at.segment.free_pages() == 0);
  REQUIRE(one->show());
  CHECK(is_filled(one->address(), 3));
  CHECK(one->page(2)[1] == std::byte{0x32});
  std::byte* const address = one->address();
  REQUIRE(one->show());
  CHECK(one->address() == address);  // [B14]

  one->leave_segment(residence::aperture_segment, true);
  CHECK(one->where() == residence::aperture_segment);
  CHECK(at.segment.free_pages() == 3);
  CHECK(is_filled(one->address(), 3));
}

TEST_CASE("[B32] a backing that finds too few pages stays where it is, and keeps none") {
  stand at{{.pages = 3}};
  const auto first = at.make(2);
  const auto second = at.make(2);
  CHECK(enters(*first));
  fill(*second);
  CHECK_FALSE(enters(*second));
  CHECK(second->where() == residence::system_memory);
  CHECK(is_filled(second->address(), 2));
  CHECK(at.segment.free_pages() == 1);
  first->leave_segment(residence::system_memory, false);
  CHECK(enters(*second));
}

TEST_CASE("[B29][B32] a view through the window takes its pages until it is left, and is not made without them") {
  stand at{{.pages = 4, .window_pages = 3}};
  const auto first = at.make(2);
  const auto second = at.make(2);
  fill(*first);
  REQUIRE(enters(*first));
  REQUIRE(enters(*second));
  CHECK(first->show_through_window() == aperture_status::mapped);
  CHECK(is_filled(first->address(), 2));
  CHECK(at.segment.window().free_bytes == memory_pages::page_bytes());
  CHECK(second->show_through_window() == aperture_status::no_space);
  first->leave_window();
  CHECK(at.segment.window().free_bytes == 3 * memory_pages::page_bytes());
  CHECK(second->show_through_window() == aperture_status::mapped);
  second->leave_segment(residence::system_memory, true);
  CHECK(at.segment.window().free_bytes == 3 * memory_pages::page_bytes());
}

TEST_CASE("a backing that goes gives back its pages of the segment and of the window") {
  stand at{{.pages = 2, .window_pages = 2}};
  {
    const auto one = at.make(2);
    REQUIRE(enters(*one));
    CHECK(one->show_through_window() == aperture_status::mapped);
  }
  CHECK(at.segment.free_pages() == 2);
  CHECK(at.segment.window().free_bytes == 2 * memory_pages::page_bytes());
}

TEST_CASE("[B36][B37][B38] caches are written back before the device and invalidated before the processor, once") {
  using call = noting_cache::call;
  stand at{{.pages = 1}};
  const auto one = at.make(1);
  const auto address = reinterpret_cast<std::uintptr_t>(one->address());
  const std::vector<call> written_back{{true, address, one->bytes()}};
  const std::vector<call> invalidated{{false, address, one->bytes()}};

  one->prepare_processor_read();
  one->begin_processor_write();
  one->end_processor_write();
  CHECK(at.take_calls().empty());
  one->prepare_device();
  CHECK(at.take_calls() == written_back);
  one->prepare_device();
  CHECK(at.take_calls().empty());

  one->set_written(true);
  one->prepare_processor_read();
  CHECK(at.take_calls() == invalidated);
  one->set_written(false);
  one->prepare_processor_read();
  CHECK(at.take_calls().empty());
}

TEST_CASE("[B36][B37] while the processor may write, caches are written back each time before the device") {
  stand at{{.pages = 1}};
  const auto one = at.make(1);
  const auto prepares = [&] {
    one->prepare_device();
    return at.take_calls().size();
  };
  one->begin_processor_write();
  CHECK(prepares() == 1);
  CHECK(prepares() == 1);
  one->begin_processor_write();
  one->end_processor_write();
  CHECK(prepares() == 1);
  CHECK(prepares() == 1);
  one->end_processor_write();
  CHECK(prepares() == 1);
  CHECK(prepares() == 0);
  one->end_processor_write();  // once too often
  CHECK(prepares() == 1);
  CHECK(prepares() == 0);
}

TEST_CASE(
    "[B36] a move goes through the caches: it invalidates what the device wrote, and writes back what it writes") {
  stand at{{.pages = 1}};
  const auto one = at.make(1);
  one->set_written(true);
  REQUIRE(enters(*one));
  REQUIRE(at.cache.calls.size() == 1);
  CHECK_FALSE(at.take_calls()[0].is_write_back);
  one->begin_processor_write();
  one->prepare_device();
  one->end_processor_write();
  one->prepare_device();
  one->prepare_processor_read();
  CHECK(at.take_calls().empty());  // nothing is cached in the segment
  one->leave_segment(residence::aperture_segment, true);
  REQUIRE(at.cache.calls.size() == 1);
  CHECK(at.take_calls()[0].is_write_back);
  REQUIRE(enters(*one));
  static_cast<void>(at.take_calls());
  one->leave_segment(residence::system_memory, false);
  CHECK(at.take_calls().empty());  // the bytes are undefined
}

TEST_CASE("[B14] what the pages in system memory are to the device changes only while the bytes are there") {
  stand at{{.pages = 1}};
  const auto one = at.make(1);
  std::byte* const address = one->address();
  CHECK(one->settle(residence::aperture_segment));
  CHECK(one->where() == residence::aperture_segment);
  CHECK(one->settle(residence::aperture_segment));
  CHECK(one->settle(residence::system_memory));
  CHECK(one->where() == residence::system_memory);
  CHECK(one->address() == address);
  REQUIRE(enters(*one));
  CHECK_FALSE(one->settle(residence::aperture_segment));
  CHECK(one->where() == residence::memory_segment);
}

TEST_CASE("[B32] pages of the segment that were taken for a move which is given up come back") {
  stand at{{.pages = 3}};
  const auto one = at.make(2);
  const backing::taken_pages taken = one->take_pages(0, 1);
  REQUIRE(taken.view);
  CHECK(at.segment.free_pages() == 1);
  one->give_back(one->take_pages(0, 1));  // too few were left
  one->give_back(taken);
  CHECK(at.segment.free_pages() == 3);
}

TEST_CASE("[B17] pages are taken from the first segment that has them, and the backing says in which one it is") {
  stand at{{.pages = 1}};
  segment_type second{*segment_type::make(at.finished, {.pages = 2})};
  segment_type third{*segment_type::make(at.finished, {.pages = 2})};
  at.segments = {tidemark::cpu_access::cached, tidemark::with_aperture_segment, at.segment, second, third};
  const auto one = at.make(2);
  const auto other = at.make(2);
  fill(*one);
  CHECK_FALSE(one->take_pages(0, 1).view);
  const backing::taken_pages taken = one->take_pages(0, 3);
  REQUIRE(taken.view);
  CHECK(taken.index == 1);
  one->enter_segment(taken);
  CHECK(one->where_now().segment == &second);
  const backing::taken_pages rest = other->take_pages(0, 3);
  CHECK(rest.index == 2);
  CHECK_FALSE(other->take_pages(0, 3).view);
  other->give_back(rest);
  REQUIRE(one->show());
  CHECK(is_filled(one->address(), 2));
  one->leave_segment(residence::system_memory, true);
  CHECK(one->where_now().segment == nullptr);
  CHECK(is_filled(one->address(), 2));
  CHECK((second.free_pages() == 2 && third.free_pages() == 2));
}

TEST_CASE("more pages than there can be are refused") {
  stand at{{.pages = 1}};
  CHECK(at.make(0) == nullptr);
  CHECK(at.make(SIZE_MAX) == nullptr);
}

#endif
