// SPDX-License-Identifier: BSL-1.0
//
// The kinds of ring log that share a test body, and entries that show whether they are whole. A kind K has
//
//   K::entry                 made from a number: entry::of(number)
//   K::log<N, Platform>
//   K::readable(entries)     how many of the last entries can be read
//   K::stamp_of(sequence)    what the log puts into a word of the entry, if it does
#ifndef TIDEMARK_TESTS_SUPPORT_LOG_KINDS_HPP
#define TIDEMARK_TESTS_SUPPORT_LOG_KINDS_HPP

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <tidemark/ring_log.hpp>

namespace testing {

/// All words but the stamp are derived from one number, each in its own way: a word of another entry or of another
/// place does not fit.
template <std::size_t Words, std::size_t Stamp>
struct test_entry {
  static constexpr std::size_t stamp = Stamp;

  static constexpr test_entry of(std::uint64_t number) noexcept {
    test_entry made{};
    for (std::size_t word = 0; word < Words; ++word) made.words[word] = expected(number, word);
    return made;
  }

  constexpr std::uint64_t number() const noexcept { return words[0]; }
  constexpr bool is_whole() const noexcept {
    std::uint64_t differences = 0;
    for (std::size_t word = 1; word < Words; ++word) {
      if (word != Stamp) differences |= words[word] ^ expected(number(), word);
    }
    return differences == 0;
  }

  std::array<std::uint64_t, Words> words;

 private:
  static constexpr std::uint64_t expected(std::uint64_t number, std::size_t word) noexcept {
    return word == 0 ? number : (8 * number + word) * 0x9E37'79B9'7F4A'7C15;
  }
};

using plain_entry = test_entry<5, tidemark::no_stamp_word>;
using roomy_entry = test_entry<6, 2>;

}  // namespace testing

namespace tidemark {

template <std::size_t Words, std::size_t Stamp>
inline constexpr std::size_t log_stamp_word<testing::test_entry<Words, Stamp>> = Stamp;

}  // namespace tidemark

namespace testing {

template <class Entry, tidemark::log_form Form>
struct log_kind {
  using entry = Entry;
  template <std::size_t N, class Platform = tidemark::native_platform>
  using log = tidemark::ring_log<Entry, N, Form, Platform>;

  static constexpr bool is_many = Form == tidemark::log_form::many_producers;
  static constexpr bool is_stamped = Form != tidemark::log_form::header_only;

  static constexpr std::uint64_t readable(std::uint64_t entries) { return entries - (is_stamped ? 0 : 1); }
  static constexpr std::uint64_t stamp_of(std::uint64_t sequence) { return is_many ? 2 * sequence + 2 : sequence + 1; }

  /// Whether this is the entry that was made from `number` and appended as `sequence`.
  static bool is_right(const entry& found, std::uint64_t number, std::uint64_t sequence) {
    if (!found.is_whole() || found.number() != number) return false;
    if constexpr (is_stamped && entry::stamp != tidemark::no_stamp_word) {
      return found.words[entry::stamp] == stamp_of(sequence);
    }
    return true;
  }
};

using stamp_beside = log_kind<plain_entry, tidemark::log_form::stamped>;
using stamp_inside = log_kind<roomy_entry, tidemark::log_form::stamped>;
using header_only = log_kind<plain_entry, tidemark::log_form::header_only>;
using many_beside = log_kind<plain_entry, tidemark::log_form::many_producers>;
using many_inside = log_kind<roomy_entry, tidemark::log_form::many_producers>;

/// For TEST_CASE_TEMPLATE.
#define EVERY_STAMPED_LOG testing::stamp_beside, testing::stamp_inside
#define EVERY_LOG_OF_ONE EVERY_STAMPED_LOG, testing::header_only
#define EVERY_LOG_OF_MANY testing::many_beside, testing::many_inside
#define EVERY_LOG EVERY_LOG_OF_ONE, EVERY_LOG_OF_MANY

/// `entries` is for logs whose size is said when they are made.
template <class Log>
std::unique_ptr<Log> make_log(std::size_t entries, std::uint64_t first_sequence = 0, std::uint32_t type = 0) {
  if constexpr (Log::page_type::is_fixed) {
    return std::make_unique<Log>(type, first_sequence);
  } else {
    return std::make_unique<Log>(entries, type, first_sequence);
  }
}

/// Appends entries that are made from their own numbers.
template <class Log>
class numbered_log {
 public:
  using entry = typename Log::page_type::entry_type;

  explicit numbered_log(std::size_t entries, std::uint64_t first_sequence = 0)
      : log_{make_log<Log>(entries, first_sequence)}, next_{first_sequence} {}

  void append(std::uint64_t count = 1) {
    for (; count > 0; --count) log_->append(entry::of(next_++));
  }
  std::uint64_t next() const { return next_; }
  Log* operator->() const { return log_.get(); }

 private:
  std::unique_ptr<Log> log_;
  std::uint64_t next_;
};

template <class Kind, std::size_t N, class Platform = tidemark::native_platform>
using log_of = numbered_log<typename Kind::template log<N, Platform>>;

/// Calls `body<N>(entries)` for the least sizes, that of a page, and one that is said when the log is made.
template <class Body>
void with_each_size(const Body& body) {
  body.template operator()<2>(std::size_t{2});
  body.template operator()<3>(std::size_t{3});
  body.template operator()<84>(std::size_t{84});
  body.template operator()<std::dynamic_extent>(std::size_t{5});
}

/// Where little depends on the size.
template <class Body>
void with_two_sizes(const Body& body) {
  body.template operator()<3>(std::size_t{3});
  body.template operator()<std::dynamic_extent>(std::size_t{84});
}

/// For entries that were made from the numbers that the log gave them.
template <class Kind>
struct in_order {
  bool operator()(const typename Kind::entry& found, std::uint64_t sequence) const {
    return Kind::is_right(found, sequence, sequence);
  }
};

/// A reader, beside the account that must be true of it: each entry comes once, in order, or is counted as lost once.
template <class Reader, class IsRight>
class reading {
 public:
  using entry = typename Reader::entry_type;

  explicit reading(const Reader& reader, IsRight is_right = {})
      : reader_{reader}, is_right_{is_right}, next_{reader.next_sequence()} {}

  /// False when there was nothing new.
  bool read(std::span<entry> buffer) {
    const auto batch = reader_.read(buffer);
    expect(batch.entries.data() == buffer.data() && batch.entries.size() <= buffer.size());
    expect(batch.first_sequence == next_ + batch.lost);
    for (std::uint64_t sequence = batch.first_sequence; const entry& found : batch.entries) {
      expect(is_right_(found, sequence++));
    }
    next_ += batch.lost + batch.entries.size();
    entries_ += batch.entries.size();
    lost_ += batch.lost;
    expect(reader_.next_sequence() == next_);
    return batch.lost != 0 || !batch.entries.empty();
  }

  const Reader& reader() const { return reader_; }
  std::uint64_t next() const { return next_; }
  std::uint64_t entries() const { return entries_; }
  std::uint64_t lost() const { return lost_; }
  std::uint64_t mistakes() const { return mistakes_; }

 private:
  void expect(bool holds) { mistakes_ += holds ? 0 : 1; }

  Reader reader_;
  IsRight is_right_;
  std::uint64_t next_;
  std::uint64_t entries_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t mistakes_ = 0;
};

template <class Kind, class Reader>
auto reading_in_order(const Reader& reader) {
  return reading<Reader, in_order<Kind>>{reader};
}

}  // namespace testing

TYPE_TO_STRING_AS("stamp beside", testing::stamp_beside);
TYPE_TO_STRING_AS("stamp inside", testing::stamp_inside);
TYPE_TO_STRING_AS("header only", testing::header_only);
TYPE_TO_STRING_AS("many producers, stamp beside", testing::many_beside);
TYPE_TO_STRING_AS("many producers, stamp inside", testing::many_inside);

#endif  // TIDEMARK_TESTS_SUPPORT_LOG_KINDS_HPP
