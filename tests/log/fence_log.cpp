// SPDX-License-Identifier: BSL-1.0
//
// The logs of a queue: their page byte for byte, the order of time stamps, and the worked example of a wait on one
// queue for a signal of another. The clocks are in log_clock.cpp.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>
#include <type_traits>
#include <vector>

#include <tidemark/fence/fence.hpp>
#include <tidemark/log/fence_log.hpp>
#include <tidemark/log/ids.hpp>
#include <tidemark/log/log_clock.hpp>

#include "support/watchdog.hpp"

using namespace testing;
using tidemark::fence_log;
using tidemark::fence_log_entry;
using tidemark::fence_log_type;
using tidemark::fence_operation;
using tidemark::timestamp_order;
using tidemark::timestamp_verdict;

// ---- the page ------------------------------------------------------------------------------------------------------

namespace {

constexpr std::size_t header_bytes = 40;
constexpr std::size_t entry_bytes = 48;
constexpr std::size_t entries = 84;
using image = std::array<unsigned char, header_bytes + entries * entry_bytes>;

template <class Value>
void put(image& page, std::size_t offset, Value value) {
  std::memcpy(page.data() + offset, &value, sizeof value);
}

fence_log_entry entry_of(std::uint64_t sequence) {
  fence_log_entry made;
  made.fence_value = 0x1111'0000'0000'0000 + sequence;
  made.fence = tidemark::fence_id{0x2222'0000 + static_cast<std::uint32_t>(sequence)};
  made.operation = sequence % 2 == 0 ? fence_operation::signal_executed : fence_operation::wait_unblocked;
  made.observed_timestamp = 0x3333'0000'0000'0000 + sequence;
  made.reserved = 0x4444'0000'0000'0000 + sequence;
  made.end_timestamp = 0x5555'0000'0000'0000 + sequence;
  return made;
}

/// What the page must be after `appended` entries, byte for byte, written down without the library's own types.
image expected_page(std::uint32_t type, std::uint64_t appended) {
  image page{};
  put(page, 0, static_cast<std::uint32_t>(appended % entries));
  put(page, 4, static_cast<std::uint32_t>(appended / entries));
  put(page, 8, type);
  put(page, 12, 1u | 1u << 8 | 6u << 16);  // version 1, with stamps, 6 words an entry
  put(page, 16, std::uint64_t{entries});
  for (std::uint64_t sequence = 0; sequence < appended; ++sequence) {
    const auto at = static_cast<std::size_t>(header_bytes + sequence % entries * entry_bytes);
    put(page, at, 0x1111'0000'0000'0000 + sequence);
    put(page, at + 8, static_cast<std::uint32_t>(0x2222'0000 + sequence));
    put(page, at + 12, static_cast<std::uint32_t>(sequence % 2));
    put(page, at + 16, sequence + 1);
    put(page, at + 24, 0x3333'0000'0000'0000 + sequence);
    put(page, at + 32, 0x4444'0000'0000'0000 + sequence);
    put(page, at + 40, 0x5555'0000'0000'0000 + sequence);
  }
  return page;
}

image page_of(const fence_log& log) {
  image page{};
  std::memcpy(page.data(), &log.page(), page.size());
  return page;
}

}  // namespace

TEST_CASE(
    "[A81][A84] a log of a queue is a page of 4,096 bytes: 40 of header, 84 entries of 48 bytes, each field in "
    "its place") {
  static_assert(sizeof(fence_log::page_type) == 4096);
  static_assert(sizeof(fence_log_entry) == entry_bytes);
  static_assert(std::is_trivially_copyable_v<fence_log_entry>);
  for (const auto type : {fence_log_type::wait, fence_log_type::signal}) {
    fence_log log{{.type = static_cast<std::uint32_t>(type)}};
    std::uint64_t appended = 0;
    for (const std::uint64_t next : std::array<std::uint64_t, 7>{0, 1, 2, 83, 84, 85, 1000}) {
      for (; appended < next; ++appended) log.append(entry_of(appended));
      INFO("after ", appended, " entries");
      CHECK(page_of(log) == expected_page(static_cast<std::uint32_t>(type), appended));
    }
  }
}

TEST_CASE("[A81] waits are of type 1 and signals of type 2, signals are operation 0 and waits operation 1") {
  static_assert(static_cast<std::uint32_t>(fence_log_type::wait) == 1);
  static_assert(static_cast<std::uint32_t>(fence_log_type::signal) == 2);
  static_assert(static_cast<std::uint32_t>(fence_operation::signal_executed) == 0);
  static_assert(static_cast<std::uint32_t>(fence_operation::wait_unblocked) == 1);
  const fence_log log{{.type = static_cast<std::uint32_t>(fence_log_type::signal)}};
  CHECK(log.page().type() == 2);
  CHECK(log.page().entries() == 84);
}

TEST_CASE("[A84][A98] all 84 entries of the page can be read, and each has its number plus 1 as its stamp") {
  fence_log log;
  auto reader = log.reader();
  for (std::uint64_t sequence = 0; sequence < 100; ++sequence) log.append(entry_of(sequence));
  std::array<fence_log_entry, 100> buffer;
  const auto batch = reader.read(buffer);
  CHECK(batch.lost == 16);
  CHECK(batch.first_sequence == 16);
  REQUIRE(batch.entries.size() == 84);
  for (std::uint64_t sequence = 16; const auto& found : batch.entries) {
    fence_log_entry expected = entry_of(sequence++);
    expected.stamp = sequence;
    CHECK(std::memcmp(&found, &expected, sizeof found) == 0);
  }
}

// ---- the worked example --------------------------------------------------------------------------------------------

TEST_CASE("[A86][A87][A91] queue A waits for a value that queue B signals: both logs tell when, on a common clock") {
  using clock = tidemark::steady_log_clock;
  constexpr tidemark::fence_id name{7};
  constexpr std::uint64_t value = 5;
  tidemark::fence fence{value - 1};
  const watchdog dog = watch(fence);
  fence_log waits_of_a{{.type = static_cast<std::uint32_t>(fence_log_type::wait)}};
  fence_log signals_of_b{{.type = static_cast<std::uint32_t>(fence_log_type::signal)}};
  const std::uint64_t recorded = clock::now();
  std::atomic<bool> stalled{false};
  std::thread queue_a{[&] {
    const std::uint64_t observed = clock::now();
    stalled = true;
    CHECK(fence.wait(value) == tidemark::wait_status::reached);
    waits_of_a.append({value, name, fence_operation::wait_unblocked, 0, observed, 0, clock::now()});
  }};
  await([&] { return stalled.load(); });
  const std::uint64_t executed = clock::now();
  fence.signal(value);
  signals_of_b.append({value, name, fence_operation::signal_executed, 0, 0, 0, executed});
  queue_a.join();

  std::array<fence_log_entry, 2> buffer;
  auto of_a = waits_of_a.reader();
  REQUIRE(of_a.read(buffer).entries.size() == 1);
  const fence_log_entry wait = buffer[0];
  auto of_b = signals_of_b.reader();
  REQUIRE(of_b.read(buffer).entries.size() == 1);
  const fence_log_entry signal = buffer[0];
  for (const auto& each : {wait, signal}) {
    CHECK(each.fence == name);
    CHECK(each.fence_value == value);
  }
  CHECK(wait.operation == fence_operation::wait_unblocked);
  CHECK(signal.operation == fence_operation::signal_executed);
  CHECK(recorded <= wait.observed_timestamp);
  CHECK(wait.observed_timestamp <= signal.end_timestamp);
  CHECK(signal.end_timestamp <= wait.end_timestamp);
  CHECK(signal.observed_timestamp == 0);
}

// ---- the order of time stamps --------------------------------------------------------------------------------------

namespace {

constexpr auto in_order = timestamp_verdict::in_order;
constexpr auto not_recorded = timestamp_verdict::not_recorded;
constexpr auto backward = timestamp_verdict::backward;
constexpr auto cancelled = timestamp_verdict::cancelled;

std::vector<timestamp_verdict> verdicts_on(const std::vector<std::uint64_t>& timestamps) {
  timestamp_order order;
  std::vector<timestamp_verdict> found;
  for (const std::uint64_t each : timestamps) found.push_back(order.judge(each));
  return found;
}

}  // namespace

TEST_CASE("[A103] time stamps may rise or stay") {
  CHECK(verdicts_on({1, 2, 2, 2, 7, UINT64_MAX - 1, UINT64_MAX - 1}) == std::vector(7, in_order));
}

TEST_CASE("[A103][A104][trap 21] a time stamp of zero is no step back, and the next one is not measured by it") {
  CHECK(verdicts_on({5, 0, 6}) == std::vector{in_order, not_recorded, in_order});
  CHECK(verdicts_on({5, 0, 5}) == std::vector{in_order, not_recorded, in_order});
  CHECK(verdicts_on({5, 0, 0, 4}) == std::vector{in_order, not_recorded, not_recorded, backward});
}

TEST_CASE("[A104] the first time stamp may be zero, and all may be") {
  CHECK(verdicts_on({0, 1, 2}) == std::vector{not_recorded, in_order, in_order});
  CHECK(verdicts_on({0, 0, 0}) == std::vector(3, not_recorded));
}

TEST_CASE("[A105][trap 21] a step back is noticed across a zero, and is reported once") {
  CHECK(verdicts_on({5, 0, 4}) == std::vector{in_order, not_recorded, backward});
  CHECK(verdicts_on({5, 0, 4, 4, 5}) == std::vector{in_order, not_recorded, backward, in_order, in_order});
  CHECK(verdicts_on({5, 4, 3, 6}) == std::vector{in_order, backward, backward, in_order});
}

TEST_CASE("[A124] the time stamp of what was cancelled is no time, and the next one is not measured by it") {
  CHECK(verdicts_on({5, tidemark::cancelled_timestamp, 5}) == std::vector{in_order, cancelled, in_order});
  CHECK(verdicts_on({tidemark::cancelled_timestamp, 1}) == std::vector{cancelled, in_order});
  CHECK(tidemark::is_cancelled({.end_timestamp = UINT64_MAX}));
  CHECK_FALSE(tidemark::is_cancelled({.end_timestamp = 0}));
  CHECK_FALSE(tidemark::is_cancelled({.end_timestamp = UINT64_MAX - 1}));
}
