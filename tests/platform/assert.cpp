// SPDX-License-Identifier: BSL-1.0
//
// Misuse is reported through TIDEMARK_ASSERT, which a program may replace by a hook of its own. The hook of this
// program prints the text and ends the process; each misuse happens in a child process.
#include "support/misuse_hook.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <tidemark/log/fence_log.hpp>
#include <tidemark/tidemark.hpp>

using namespace testing;

namespace {

constexpr tidemark::fence_options on_callers_storage{.storage = tidemark::value_storage::caller};
using placed_fence = tidemark::basic_fence<tidemark::symmetric_platform, on_callers_storage>;

template <tidemark::log_form Form, tidemark::writers Writers = tidemark::writers::one>
using placed_log =
    tidemark::ring_log<tidemark::fence_log_entry, std::dynamic_extent, Form, tidemark::native_platform, Writers>;

}  // namespace

TEST_CASE("signalling a progress fence backwards is reported") {
  CHECK(reported_by([] {
          tidemark::progress_fence fence{7};
          fence.signal(6);
        }) == "a progress fence was signalled backwards");
}

TEST_CASE("[trap 34] advancing a timeline beyond its last value is reported, for both kinds of fence") {
  const std::string expected = "signal_next() beyond the last value of a timeline";
  CHECK(reported_by([] {
          tidemark::fence fence{UINT64_MAX};
          fence.signal_next();
        }) == expected);
  CHECK(reported_by([] {
          tidemark::progress_fence fence{UINT64_MAX};
          fence.signal_next();
        }) == expected);
}

TEST_CASE("[trap 3] adding a waiter for 0 to a heap is reported") {
  CHECK(reported_by([] {
          tidemark::waiter_heap<4> heap;
          static_cast<void>(heap.add(0));
        }) == "a waiter was added for 0, which every timeline has reached");
}

TEST_CASE("[A14] withdrawing a registration twice is reported, of a slot and of the overflow lane") {
  const std::string expected = "a registration was withdrawn twice";
  CHECK(reported_by([] {
          tidemark::waiter_heap<4> heap;
          const auto ticket = heap.add(1);
          heap.withdraw(ticket);
          heap.withdraw(ticket);
        }) == expected);
  CHECK(reported_by([] {
          tidemark::waiter_heap<1, tidemark::native_platform, 4, tidemark::detail::no_neighbor,
                                tidemark::heap_growth::forbidden>
              heap;
          static_cast<void>(heap.add(1));
          const auto in_lane = heap.add(1);
          heap.withdraw(in_lane);
          heap.withdraw(in_lane);
        }) == expected);
}

TEST_CASE("[A8] storage that is missing or not aligned is reported") {
  alignas(8) static std::array<unsigned char, 16> storage{};
  const std::string expected = "the storage of a fence's value must be 8 bytes, aligned to 8";
  CHECK(reported_by([] { placed_fence{storage.data() + 4}; }) == expected);
  CHECK(reported_by([] { placed_fence{nullptr}; }) == expected);
}

namespace {

template <tidemark::log_form Form, tidemark::writers Writers = tidemark::writers::one>
void check_misuse_of_logs() {
  using log_type = placed_log<Form, Writers>;
  alignas(8) static std::array<std::byte, 512> storage{};
  volatile std::size_t small = 8;  // volatile, so that the compiler does not complain by itself
  std::vector<std::byte> too_small(small);
  const std::string few = "a ring log needs at least two entries and fewer than 2^31";
  CHECK(reported_by([] { log_type{std::size_t{0}}; }) == few);
  CHECK(reported_by([] { log_type{std::size_t{1}}; }) == few);
  CHECK(reported_by([] { log_type{std::span{storage}.first(log_type::page_type::bytes_for(1))}; }) == few);
  CHECK(reported_by([&] { log_type{std::span{too_small}}; }) == few);
  CHECK(reported_by([] { log_type{std::span{storage}.subspan(4)}; }) == "a ring log needs memory aligned to 8 bytes");
  using fixed_page = tidemark::ring_log_page<std::uint64_t, 4, Form, tidemark::native_platform, Writers>;
  CHECK(reported_by([] { fixed_page(3, 0, 0); }) == "a fixed ring log has N entries");
}

}  // namespace

TEST_CASE("a ring log of less than two entries, or in memory that is not aligned, is reported") {
  check_misuse_of_logs<tidemark::log_form::stamped>();
  check_misuse_of_logs<tidemark::log_form::header_only>();
  check_misuse_of_logs<tidemark::log_form::stamped, tidemark::writers::several>();
}

TEST_CASE("proper use is not reported") {
  CHECK(reported_by([] {
          tidemark::progress_fence progress{UINT64_MAX - 1};
          progress.signal(UINT64_MAX - 1);  // the same value again is not backwards
          progress.signal_next();
          tidemark::fence fence{7};
          fence.signal(6);  // too late, but legal
          tidemark::waiter_heap<4> heap;
          heap.withdraw(heap.add(1));
          alignas(8) std::array<unsigned char, 8> storage{};
          placed_fence{storage.data()};
          alignas(8) std::array<std::byte, 512> memory{};
          placed_log<tidemark::log_form::stamped>{memory};
          placed_log<tidemark::log_form::header_only>{std::size_t{2}};
          static_cast<void>(fence.wait_for(0, std::chrono::hours{1}));
        }) == "");
}
