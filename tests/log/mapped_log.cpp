// SPDX-License-Identifier: BSL-1.0
//
// mapped_log: opening a log in memory that others have made, reading it, and going on where it was replaced.
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tidemark/log/mapped_log.hpp>

using tidemark::fence_log_entry;
using tidemark::fence_log_type;
using tidemark::log_fault;
using tidemark::log_form;
using tidemark::log_location;
using tidemark::mapped_fence_log;
using tidemark::writers;

namespace {

using log_type = tidemark::ring_log<fence_log_entry, std::dynamic_extent>;
using page_type = log_type::page_type;
constexpr auto signals = static_cast<std::uint32_t>(fence_log_type::signal);

/// Memory for a log, and what it holds.
struct memory_of {
  explicit memory_of(std::size_t entries)
      : words(page_type::bytes_for(entries) / 8), bytes{std::as_writable_bytes(std::span{words})} {}
  std::vector<std::uint64_t> words;
  std::span<std::byte> bytes;
};

void append(log_type& to, std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t value = first; value <= last; ++value) to.append({.fence_value = value});
}

struct found_values {
  std::vector<std::uint64_t> values;
  std::uint64_t lost = 0;
};
/// Reads until there is nothing more, and checks that the numbers go on.
found_values read_all(mapped_fence_log& from) {
  found_values found;
  std::array<fence_log_entry, 3> buffer;
  for (;;) {
    const std::uint64_t before = from.next_sequence();
    const bool had_new = from.has_new();
    const auto batch = from.read(buffer);
    if (batch.entries.empty() && batch.lost == 0) return found;
    CHECK(had_new);
    CHECK(from.next_sequence() == batch.first_sequence + batch.entries.size());
    CHECK(from.next_sequence() >= before);
    found.lost += batch.lost;
    for (const auto& entry : batch.entries) found.values.push_back(entry.fence_value);
  }
}

std::vector<std::uint64_t> from_to(std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> all;
  while (first <= last) all.push_back(first++);
  return all;
}

mapped_fence_log opened(std::span<const std::byte> memory) {
  auto found = mapped_fence_log::open(memory, fence_log_type::signal);
  REQUIRE(found);
  return *found.reader;
}

template <class Value>
void put(std::span<std::byte> memory, std::size_t at, Value value) {
  std::memcpy(memory.data() + at, &value, sizeof value);
}

}  // namespace

TEST_CASE("[A85] whoever has the memory of a log reads it, from the oldest entry on, and sees what is appended later") {
  memory_of memory{4};
  log_type log{memory.bytes, {.type = signals, .first_sequence = 10}};
  append(log, 1, 6);
  auto reader = opened(memory.bytes);
  CHECK(reader.next_sequence() == 12);
  CHECK(read_all(reader).values == from_to(3, 6));
  CHECK_FALSE(reader.has_new());
  append(log, 7, 8);
  CHECK(read_all(reader).values == from_to(7, 8));
  append(log, 9, 15);
  const auto last = read_all(reader);
  CHECK(last.values == from_to(12, 15));
  CHECK(last.lost == 3);
}

TEST_CASE("[A81][A85] a log of a queue is a page that can be opened, and a log of another type is refused") {
  const tidemark::fence_log log{{.type = signals}};
  const auto bytes = std::as_bytes(std::span{&log.page(), 1});
  CHECK(mapped_fence_log::open(bytes, fence_log_type::signal));
  for (const auto type : {fence_log_type::wait, fence_log_type::verbose}) {
    const auto refused = mapped_fence_log::open(bytes, type);
    CHECK(refused.fault == log_fault::wrong_type);
    CHECK_FALSE(refused.reader.has_value());
  }
}

TEST_CASE("[A85] memory that is misaligned, or too small for a header, is no log") {
  memory_of memory{4};
  const log_type log{memory.bytes, {.type = signals}};
  const auto fault_of = [](std::span<const std::byte> bytes) {
    return mapped_fence_log::open(bytes, fence_log_type::signal).fault;
  };
  for (std::size_t offset = 1; offset < 8; ++offset) CHECK(fault_of(memory.bytes.subspan(offset)) == log_fault::no_log);
  for (const std::size_t bytes : std::array<std::size_t, 3>{0, 8, 39})
    CHECK(fault_of(memory.bytes.first(bytes)) == log_fault::no_log);
  CHECK(fault_of({}) == log_fault::no_log);
}

TEST_CASE("[A85] a log has at least 2 entries, and no more than the mapping has room for") {
  memory_of memory{4};
  const log_type log{memory.bytes, {.type = signals}};
  const auto fault_of = [](std::span<const std::byte> bytes) {
    return mapped_fence_log::open(bytes, fence_log_type::signal).fault;
  };
  CHECK(fault_of(memory.bytes) == log_fault::none);
  CHECK(fault_of(memory.bytes.first(memory.bytes.size() - 1)) == log_fault::wrong_count);
  CHECK(fault_of(memory.bytes.first(40)) == log_fault::wrong_count);
  for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{5}, UINT64_MAX}) {
    put(memory.bytes, 16, count);
    CHECK(fault_of(memory.bytes) == log_fault::wrong_count);
  }
  put(memory.bytes, 16, std::uint64_t{3});
  CHECK(fault_of(memory.bytes) == log_fault::none);
}

TEST_CASE("[A85] a log of another version, of another form or with other entries is refused") {
  struct one_word {
    std::uint64_t value;
  };
  const auto fault_of = [](const auto& log) {
    return mapped_fence_log::open(std::as_bytes(std::span{&log.page(), 1}), signals).fault;
  };
  const auto make = []<class Entry, log_form Form, writers Writers>() {
    return tidemark::ring_log<Entry, 84, Form, tidemark::native_platform, Writers>{{.type = signals}};
  };
  CHECK(fault_of(make.operator()<fence_log_entry, log_form::stamped, writers::one>()) == log_fault::none);
  CHECK(fault_of(make.operator()<fence_log_entry, log_form::header_only, writers::one>()) == log_fault::wrong_version);
  CHECK(fault_of(make.operator()<fence_log_entry, log_form::stamped, writers::several>()) == log_fault::wrong_version);
  CHECK(fault_of(make.operator()<one_word, log_form::stamped, writers::one>()) == log_fault::wrong_version);
  memory_of memory{4};
  const log_type log{memory.bytes, {.type = signals}};
  put(memory.bytes, 12, page_type::version + 1);
  CHECK(mapped_fence_log::open(memory.bytes, fence_log_type::signal).fault == log_fault::wrong_version);
  put(memory.bytes, 12, std::uint32_t{0});  // as in a page of before there were versions
  CHECK(mapped_fence_log::open(memory.bytes, fence_log_type::signal).fault == log_fault::wrong_version);
}

TEST_CASE("[A85] a reader of a damaged log stays within its mapping") {
  for (const std::size_t at : std::array<std::size_t, 5>{0, 4, 16, 24, 32}) {
    CAPTURE(at);
    memory_of memory{4};  // a sanitizer sees an access beyond it
    log_type log{memory.bytes, {.type = signals}};
    append(log, 1, 6);
    auto reader = opened(memory.bytes);
    put(memory.bytes, at, UINT32_MAX);
    std::array<fence_log_entry, 8> buffer;
    for (int n = 0; n < 4; ++n) CHECK(reader.read(buffer).entries.size() <= 4);
  }
}

TEST_CASE("[A85] how many entries a log has is read once: the reader uses the number that was checked") {
  using mapped_page = tidemark::detail::mapped_page<page_type>;
  memory_of memory{4};
  const log_type log{memory.bytes, {.type = signals}};
  std::uint64_t entries = 0;
  CHECK(mapped_page::fault_of(memory.bytes, signals, entries) == log_fault::none);
  CHECK(entries == 4);
  put(memory.bytes, 16, UINT64_MAX);  // as others may do at any moment
  const mapped_page page{memory.bytes, entries};
  CHECK(page.entries() == 4);
}

// ---- a log that is replaced -----------------------------------------------------------------------------------------

TEST_CASE("[A92] a reader reads the old log to its end, learns where the next one is, and goes on there") {
  memory_of first{4};
  memory_of second{8};
  log_type old{first.bytes, {.type = signals}};
  append(old, 1, 3);
  auto reader = opened(first.bytes);
  CHECK(reader.replaced_by() == tidemark::no_log_location);
  CHECK_FALSE(reader.next_log().has_value());
  log_type next{second.bytes, {.type = signals, .first_sequence = old.next_sequence()}};
  old.end_at(log_location{77});
  append(next, 4, 9);
  CHECK(reader.replaced_by() == log_location{77});
  CHECK_FALSE(reader.next_log().has_value());  // not before the old log is read
  CHECK(read_all(reader).values == from_to(1, 3));
  CHECK(reader.next_log() == log_location{77});
  CHECK(reader.follow(second.bytes) == log_fault::none);
  CHECK_FALSE(reader.next_log().has_value());
  const auto found = read_all(reader);
  CHECK(found.values == from_to(4, 9));
  CHECK(found.lost == 0);
}

TEST_CASE("[A92] entries of the old log that are not read any more are counted as lost, and once") {
  memory_of first{4};
  memory_of second{8};
  log_type old{first.bytes, {.type = signals}};
  append(old, 1, 9);
  auto reader = opened(first.bytes);  // begins with 6
  std::array<fence_log_entry, 1> one;
  CHECK(reader.read(one).entries.size() == 1);
  log_type next{second.bytes, {.type = signals, .first_sequence = old.next_sequence()}};
  old.end_at(log_location{2});
  CHECK(reader.follow(second.bytes) == log_fault::none);  // the old mapping is gone
  CHECK(reader.has_new());
  append(next, 10, 11);
  const auto found = read_all(reader);
  CHECK(found.lost == 3);
  CHECK(found.values == from_to(10, 11));
}

TEST_CASE("[A92] a loss is reported by a read that finds no entry, too") {
  memory_of first{4};
  memory_of second{8};
  log_type old{first.bytes, {.type = signals}};
  append(old, 1, 3);
  auto reader = opened(first.bytes);
  const log_type next{second.bytes, {.type = signals, .first_sequence = old.next_sequence()}};
  old.end_at(log_location{2});
  CHECK(reader.follow(second.bytes) == log_fault::none);
  std::array<fence_log_entry, 1> one;
  const auto batch = reader.read(one);
  CHECK(batch.entries.empty());
  CHECK(batch.lost == 3);
  CHECK_FALSE(reader.has_new());
}

TEST_CASE("[A92] logs between the old one and the one that is followed count as lost") {
  std::array<memory_of, 3> memory{memory_of{4}, memory_of{4}, memory_of{4}};
  log_type a{memory[0].bytes, {.type = signals}};
  auto reader = opened(memory[0].bytes);
  append(a, 1, 2);
  log_type b{memory[1].bytes, {.type = signals, .first_sequence = 2}};
  append(b, 3, 5);
  log_type c{memory[2].bytes, {.type = signals, .first_sequence = 5}};
  append(c, 6, 6);
  CHECK(reader.follow(memory[2].bytes) == log_fault::none);
  const auto found = read_all(reader);
  CHECK(found.lost == 5);
  CHECK(found.values == from_to(6, 6));
}

TEST_CASE("[A92] a log that is refused, or that begins too early, is not followed, and the reader goes on as before") {
  memory_of memory{4};
  memory_of other{4};
  log_type log{memory.bytes, {.type = signals, .first_sequence = 5}};
  append(log, 1, 3);
  auto reader = opened(memory.bytes);
  std::array<fence_log_entry, 1> one;
  CHECK(reader.read(one).entries.size() == 1);
  {
    const log_type waits{other.bytes, {.type = 1, .first_sequence = 8}};
    CHECK(reader.follow(other.bytes) == log_fault::wrong_type);
    CHECK(reader.follow(other.bytes.first(16)) == log_fault::no_log);
  }
  const log_type early{other.bytes, {.type = signals, .first_sequence = 5}};
  CHECK(reader.follow(other.bytes) == log_fault::not_next);
  const auto found = read_all(reader);
  CHECK(found.values == from_to(2, 3));
  CHECK(found.lost == 0);
}

TEST_CASE("what is wrong with a log has a name") {
  CHECK(to_string(log_fault::wrong_version) == "wrong_version");
  CHECK(to_string(log_fault::not_next) == "not_next");
}
