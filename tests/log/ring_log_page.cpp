// SPDX-License-Identifier: BSL-1.0
//
// The page of a ring log: how entries of any size and the header lie in memory, and what fits into memory of the
// caller's.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include <tidemark/log/ring_log.hpp>
#include <tidemark/log/ring_log_page.hpp>

#include "support/log_kinds.hpp"

using namespace testing;
using tidemark::log_form;
using tidemark::ring_log;
using tidemark::ring_log_page;
using tidemark::writers;

// ---- entries of any size -------------------------------------------------------------------------------------------

namespace {

template <std::size_t Bytes>
struct bytes_entry {
  std::array<unsigned char, Bytes> bytes;

  static bytes_entry of(std::uint64_t number) {
    bytes_entry made{};
    for (std::size_t at = 0; at < Bytes; ++at) made.bytes[at] = static_cast<unsigned char>(number * 31 + at * 7 + 1);
    return made;
  }
};

/// Reads write the entries that were read, and nothing beyond them.
template <std::size_t Bytes, log_form Form, writers Writers>
void check_entries_of() {
  using entry = bytes_entry<Bytes>;
  using log_type = ring_log<entry, 3, Form, tidemark::native_platform, Writers>;
  constexpr std::size_t words = (Bytes + 7) / 8;
  constexpr std::size_t added = Form == log_form::header_only ? 0 : Writers == writers::one ? 1 : 2;
  static_assert(sizeof(entry) == Bytes);
  static_assert(log_type::page_type::slot::size == words + added);
  static_assert(sizeof(typename log_type::page_type) == (40 + 3 * 8 * (words + added) + 63) / 64 * 64);
  numbered_log<log_type> log{3};
  auto reader = log->reader();
  for (std::uint64_t sequence = 0; sequence < 20; sequence += 2) {
    log.append(2);
    std::array<entry, 4> buffer{};
    for (auto& each : buffer) each.bytes.fill(0xEE);
    const auto batch = reader.read(buffer);
    REQUIRE(batch.entries.size() == 2);
    CHECK(buffer[0].bytes == entry::of(sequence).bytes);
    CHECK(buffer[1].bytes == entry::of(sequence + 1).bytes);
    for (std::size_t unused = 2; unused < 4; ++unused) {
      CHECK(
          std::all_of(buffer[unused].bytes.begin(), buffer[unused].bytes.end(), [](int byte) { return byte == 0xEE; }));
    }
  }
}

template <log_form Form, writers Writers = writers::one>
void check_entries_of_each_size() {
  check_entries_of<1, Form, Writers>();
  check_entries_of<3, Form, Writers>();
  check_entries_of<8, Form, Writers>();
  check_entries_of<13, Form, Writers>();
  check_entries_of<20, Form, Writers>();
  check_entries_of<48, Form, Writers>();
  check_entries_of<200, Form, Writers>();
}

}  // namespace

TEST_CASE("[A81] entries of 1 to 200 bytes take as many words as they need, and no byte beyond them is written") {
  check_entries_of_each_size<log_form::stamped>();
  check_entries_of_each_size<log_form::header_only>();
  check_entries_of_each_size<log_form::stamped, writers::several>();
}

TEST_CASE("a stamp that is a word of the entry takes no room, and is the number of the entry plus 1") {
  static_assert(stamp_inside::log<84>::page_type::slot::size == 6);
  static_assert(stamp_beside::log<84>::page_type::slot::size == 6);
  static_assert(header_only::log<84>::page_type::slot::size == 5);
  static_assert(several_inside::log<84>::page_type::slot::size == 7);
  static_assert(several_beside::log<84>::page_type::slot::size == 7);
  ring_log<roomy_entry, 3> log{{.first_sequence = 40}};
  auto reader = log.reader();
  log.append(roomy_entry::of(1));
  std::array<roomy_entry, 1> found{};
  REQUIRE(reader.read(found).entries.size() == 1);
  CHECK(found[0].words[2] == 41);
}

// ---- the header ----------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[A81][trap 16] the header has the index low and the wraps high, in one word, for any N", Kind,
                   EVERY_LOG_OF_ONE) {
  with_each_size([]<std::size_t N>(std::size_t entries) {
    log_of<Kind, N> log{entries};
    for (std::uint64_t appended = 0; appended <= 4 * entries; ++appended) {
      CHECK(half_word_at(log->page(), 0) == appended % entries);
      CHECK(half_word_at(log->page(), 4) == appended / entries);
      log.append();
    }
  });
}

// ---- the caller's memory -------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[A84][A85] a log in the caller's memory has as many entries as fit, and writes nowhere else", Kind,
                   EVERY_LOG) {
  using log_type = typename Kind::template log<std::dynamic_extent>;
  using page_type = typename log_type::page_type;
  CHECK(page_type::entries_in(SIZE_MAX) <= page_type::most_entries);
  CHECK(page_type::entries_in(SIZE_MAX) >= page_type::most_entries / 1024);
  for (std::size_t entries = 2; entries < 20; ++entries) {
    const std::size_t least = page_type::bytes_for(entries);
    for (const std::size_t bytes : {least, page_type::bytes_for(entries + 1) - 1}) {
      CHECK(page_type::entries_in(bytes) == entries);
      std::vector<std::byte> memory(bytes + 8, std::byte{0xEE});
      {
        log_type log{std::span{memory}.first(bytes), {.type = 17, .first_sequence = 5}};
        CHECK(static_cast<const void*>(&log.page().position()) == memory.data());
        CHECK(log.page().entries() == entries);
        CHECK(log.page().type() == 17);
        auto reader = reading_in_order<Kind>(log.reader());
        for (std::uint64_t sequence = 5; sequence < 5 + 3 * entries; ++sequence) {
          log.append(Kind::entry::of(sequence));
        }
        std::vector<typename Kind::entry> buffer(entries);
        CHECK(reader.read(buffer));
        CHECK(reader.entries() == Kind::readable(entries));
        CHECK(reader.mistakes() == 0);
      }
      CHECK(std::all_of(memory.begin() + static_cast<std::ptrdiff_t>(least), memory.end(),
                        [](std::byte each) { return each == std::byte{0xEE}; }));
    }
  }
}

TEST_CASE_TEMPLATE("[A85] whoever finds a page can read it with nothing but the page", Kind, EVERY_LOG) {
  typename Kind::template log<5> log{{.type = 3, .first_sequence = 40}};
  for (std::uint64_t sequence = 40; sequence < 43; ++sequence) log.append(Kind::entry::of(sequence));
  const auto& found = log.page();
  CHECK(found.entries() == 5);
  CHECK(found.type() == 3);
  CHECK(found.first_sequence() == 40);
  auto reader = reading_in_order<Kind>(tidemark::ring_log_reader{found});
  std::vector<typename Kind::entry> buffer(5);
  CHECK(reader.read(buffer));
  CHECK(reader.entries() == 3);
  CHECK(reader.mistakes() == 0);
}

TEST_CASE("a page says how its entries are proved whole, and how many threads may append") {
  using stamped_page = ring_log_page<plain_entry, 3, log_form::stamped, tidemark::native_platform>;
  using several_page = several_beside::log<3>::page_type;
  static_assert(stamped_page::form == log_form::stamped && stamped_page::producers == writers::one);
  static_assert(several_page::form == log_form::stamped && several_page::producers == writers::several);
  static_assert(std::is_same_v<ring_log<plain_entry, 3>::page_type, stamped_page>);
  CHECK(stamped_page::is_fixed);
}
