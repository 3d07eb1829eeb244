// SPDX-License-Identifier: BSL-1.0
//
// The kinds of ring log that share a test body, and entries that show whether they are whole. A kind K has
//
//   K::entry                 made from a number: entry::of(number)
//   K::log<N, Platform>
//   K::readable(entries)     how many of the last entries can be read
//   K::stamp_of(sequence)    the stamp of an entry, which may be one of its words
#ifndef TIDEMARK_TESTS_SUPPORT_LOG_KINDS_HPP
#define TIDEMARK_TESTS_SUPPORT_LOG_KINDS_HPP

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include <tidemark/log/ring_log.hpp>

namespace testing {

/// All words but the stamp are derived from one number, each in its own way, so that a word of another entry or of
/// another place does not fit.
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

template <class Entry, tidemark::log_form Form, tidemark::writers Writers = tidemark::writers::one>
struct log_kind {
  using entry = Entry;
  template <std::size_t N, class Platform = tidemark::native_platform>
  using log = tidemark::ring_log<Entry, N, Form, Platform, Writers>;

  static constexpr bool is_several = Writers == tidemark::writers::several;
  static constexpr bool is_stamped = Form != tidemark::log_form::header_only;

  static constexpr std::uint64_t readable(std::uint64_t entries) { return entries - (is_stamped ? 0 : 1); }
  static constexpr std::uint64_t stamp_of(std::uint64_t sequence) {
    return is_several ? 2 * sequence + 2 : sequence + 1;
  }

  /// Returns whether this is the entry that was made from `number` and appended as `sequence`.
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
using several_beside = log_kind<plain_entry, tidemark::log_form::stamped, tidemark::writers::several>;
using several_inside = log_kind<roomy_entry, tidemark::log_form::stamped, tidemark::writers::several>;

/// For TEST_CASE_TEMPLATE.
#define EVERY_STAMPED_LOG testing::stamp_beside, testing::stamp_inside
#define EVERY_LOG_OF_ONE EVERY_STAMPED_LOG, testing::header_only
#define EVERY_LOG_OF_SEVERAL testing::several_beside, testing::several_inside
#define EVERY_LOG EVERY_LOG_OF_ONE, EVERY_LOG_OF_SEVERAL

/// Makes a log. `entries` is the size of a log whose type does not say it.
template <class Log>
std::unique_ptr<Log> make_log(std::size_t entries, std::uint64_t first_sequence = 0, std::uint32_t type = 0) {
  const tidemark::ring_log_options options{.type = type, .first_sequence = first_sequence};
  if constexpr (Log::page_type::is_fixed) {
    return std::make_unique<Log>(options);
  } else {
    return std::make_unique<Log>(entries, options);
  }
}

/// A log whose entries are made from their own numbers.
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

/// Calls `body<N>(entries)` for the least sizes, for that of a page, and for one that is said at construction.
template <class Body>
void with_each_size(const Body& body) {
  body.template operator()<2>(std::size_t{2});
  body.template operator()<3>(std::size_t{3});
  body.template operator()<84>(std::size_t{84});
  body.template operator()<std::dynamic_extent>(std::size_t{5});
}

/// For tests in which little depends on the size.
template <class Body>
void with_two_sizes(const Body& body) {
  body.template operator()<3>(std::size_t{3});
  body.template operator()<std::dynamic_extent>(std::size_t{84});
}

/// Checks entries that were made from the numbers that the log gave them.
template <class Kind>
struct in_order {
  bool operator()(const typename Kind::entry& found, std::uint64_t sequence) const {
    return Kind::is_right(found, sequence, sequence);
  }
};

/// A reader, and the account that it must keep: each entry comes once, in order, or is counted as lost once.
template <class Reader, class IsRight>
class reading {
 public:
  using entry = typename Reader::entry_type;

  explicit reading(const Reader& reader, IsRight is_right = {})
      : reader_{reader}, is_right_{is_right}, next_{reader.next_sequence()} {}

  /// Returns false when there was nothing new.
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

/// A 32-bit word of the header of a page as it lies in memory.
template <class Page>
std::uint32_t half_word_at(const Page& page, std::size_t offset) {
  std::uint32_t found = 0;
  std::memcpy(&found, reinterpret_cast<const unsigned char*>(&page.position()) + offset, sizeof found);
  return found;
}

}  // namespace testing

TYPE_TO_STRING_AS("stamp beside", testing::stamp_beside);
TYPE_TO_STRING_AS("stamp inside", testing::stamp_inside);
TYPE_TO_STRING_AS("header only", testing::header_only);
TYPE_TO_STRING_AS("several producers, stamp beside", testing::several_beside);
TYPE_TO_STRING_AS("several producers, stamp inside", testing::several_inside);

#endif  // TIDEMARK_TESTS_SUPPORT_LOG_KINDS_HPP
