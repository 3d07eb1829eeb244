// SPDX-License-Identifier: BSL-1.0
//
// Ring logs in one thread: what a reader gets and what it is told that it has lost, for each form and size, and where
// the counters roll over. How a page lies in memory is in ring_log_page.cpp. ring_log_steps.cpp stops producers and
// readers in the middle; ring_log_stress.cpp has the threads and the processes.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <tidemark/log/ring_log.hpp>

#include "support/log_kinds.hpp"
#include "support/random.hpp"

using namespace testing;
using tidemark::log_form;
using tidemark::ring_log;

namespace {

std::uint64_t allocations = 0;

}  // namespace

// Count allocations for the test of [A82]. The operators for arrays call these.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  void* const found = std::malloc(size);
  if (found == nullptr) throw std::bad_alloc{};
  return found;
}
[[gnu::noinline]] void operator delete(void* given) noexcept { std::free(given); }
[[gnu::noinline]] void operator delete(void* given, std::size_t) noexcept { std::free(given); }

namespace {

/// A log to which consecutive numbers are appended, its readers, and a model of what they must get.
template <class Kind, std::size_t N>
class modelled_log {
 public:
  modelled_log(std::size_t entries, std::uint64_t first_sequence, std::uint64_t seed)
      : entries_{entries}, first_{first_sequence}, random_{seed}, log_{entries, first_sequence} {
    readers_.push_back({log_->reader(), first_sequence});
  }

  void step() {
    switch (random_.below(8)) {
      case 0:
      case 1:
        return log_.append();
      case 2:
        return log_.append(random_.below(3 * entries_));
      case 3:
        return add_reader();
      default:
        return read(readers_[random_.below(readers_.size())]);
    }
  }
  std::uint64_t mistakes() const { return mistakes_; }

 private:
  using entry = typename Kind::entry;
  struct modelled_reader {
    typename Kind::template log<N>::reader_type reader;
    std::uint64_t next;
  };

  std::uint64_t oldest() const {
    const std::uint64_t readable = Kind::readable(entries_);
    return log_.next() - first_ > readable ? log_.next() - readable : first_;
  }

  void add_reader() {
    if (readers_.size() == 4) readers_.erase(readers_.begin());
    if (random_.below(2) == 0) {
      readers_.push_back({log_->reader(), oldest()});
    } else {
      const std::uint64_t at = first_ + random_.below(log_.next() - first_ + 1);
      readers_.push_back({log_->reader_from(at), at});
    }
  }

  void read(modelled_reader& one) {
    expect(one.reader.has_new() == (one.next != log_.next()));
    std::vector<entry> buffer(random_.below(2 * entries_ + 1));
    const auto batch = one.reader.read(buffer);
    const std::uint64_t first = std::max(one.next, oldest());
    expect(batch.lost == first - one.next);
    expect(batch.first_sequence == first);
    expect(batch.entries.size() == std::min<std::uint64_t>(buffer.size(), log_.next() - first));
    expect(batch.entries.data() == buffer.data());
    for (std::uint64_t sequence = first; const entry& found : batch.entries) {
      expect(Kind::is_right(found, sequence, sequence));
      ++sequence;
    }
    one.next = first + batch.entries.size();
    expect(one.reader.next_sequence() == one.next);
  }

  void expect(bool holds) { mistakes_ += holds ? 0 : 1; }

  std::size_t entries_;
  std::uint64_t first_;
  random_numbers random_;
  log_of<Kind, N> log_;
  std::vector<modelled_reader> readers_;
  std::uint64_t mistakes_ = 0;
};

}  // namespace

// ---- what a reader gets --------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[A90][A97][A98] readers get every entry in order and whole, or counted as lost, from any beginning",
                   Kind, EVERY_LOG) {
  const auto seed = fresh_seed();
  with_each_size([seed]<std::size_t N>(std::size_t entries) {
    const std::uint64_t rollover = std::uint64_t{entries} << 32;
    for (const std::uint64_t first :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{entries - 1}, std::uint64_t{entries + 1}, rollover - 1,
          rollover - 3 * entries, 5 * rollover - entries - 1}) {
      modelled_log<Kind, N> log{entries, first, seed};
      for (int steps = 0; steps < 500; ++steps) log.step();
      INFO(entries, " entries, the first is ", first);
      CHECK(log.mistakes() == 0);
    }
  });
}

TEST_CASE_TEMPLATE("[A98] of N + k unread entries k are lost with stamps, and k + 1 where only the header proves them",
                   Kind, EVERY_LOG) {
  with_each_size([]<std::size_t N>(std::size_t entries) {
    for (std::uint64_t k = 0; k <= 2 * entries; ++k) {
      log_of<Kind, N> log{entries};
      auto reader = log->reader();
      log.append(entries + k);
      std::vector<typename Kind::entry> buffer(2 * entries);
      const auto batch = reader.read(buffer);
      INFO(entries, " entries, k = ", k);
      CHECK(batch.lost == (Kind::is_stamped ? k : k + 1));
      CHECK(batch.entries.size() == Kind::readable(entries));
      CHECK(batch.first_sequence == batch.lost);
    }
  });
}

TEST_CASE_TEMPLATE("[trap 15] a changed wrap count alone is no loss", Kind, EVERY_LOG) {
  with_two_sizes([]<std::size_t N>(std::size_t entries) {
    log_of<Kind, N> log{entries};
    auto reader = reading_in_order<Kind>(log->reader());
    std::vector<typename Kind::entry> buffer(entries);
    for (std::uint64_t appended = 0; appended < 5 * entries; ++appended) {
      log.append();
      CHECK(reader.read(buffer));
    }
    CHECK(reader.lost() == 0);
    CHECK(reader.entries() == 5 * entries);
    CHECK(reader.mistakes() == 0);
  });
}

TEST_CASE_TEMPLATE("[trap 15] the same index a lap later is not taken for nothing new", Kind, EVERY_LOG) {
  with_two_sizes([]<std::size_t N>(std::size_t entries) {
    for (std::uint64_t laps = 1; laps <= 3; ++laps) {
      log_of<Kind, N> log{entries};
      log.append();
      auto reader = reading_in_order<Kind>(log->reader_from(1));
      log.append(laps * entries);
      CHECK(reader.reader().has_new());
      std::vector<typename Kind::entry> buffer(entries);
      CHECK(reader.read(buffer));
      CHECK(reader.entries() == Kind::readable(entries));
      CHECK(reader.lost() == laps * entries - Kind::readable(entries));
      CHECK(reader.mistakes() == 0);
    }
  });
}

TEST_CASE_TEMPLATE("[A100][trap 19] a gap is reported once, even to a reader that has no room for entries", Kind,
                   EVERY_LOG) {
  with_two_sizes([]<std::size_t N>(std::size_t entries) {
    log_of<Kind, N> log{entries};
    auto reader = log->reader();
    log.append(entries + 3);
    const auto told = reader.read({});
    CHECK(told.entries.empty());
    CHECK(told.lost == 3 + entries - Kind::readable(entries));
    CHECK(told.first_sequence == told.lost);
    CHECK(reader.next_sequence() == told.lost);
    CHECK(reader.read({}).lost == 0);
    std::vector<typename Kind::entry> buffer(entries);
    const auto rest = reader.read(buffer);
    CHECK(rest.lost == 0);
    CHECK(rest.first_sequence == told.lost);
    CHECK(rest.entries.size() == Kind::readable(entries));
    const auto nothing = reader.read(buffer);
    CHECK(nothing.lost == 0);
    CHECK(nothing.entries.empty());
    CHECK(nothing.first_sequence == entries + 3);
    CHECK_FALSE(reader.has_new());
  });
}

TEST_CASE_TEMPLATE("a small buffer takes the oldest entries, and the next read goes on after them", Kind, EVERY_LOG) {
  log_of<Kind, 84> log{84};
  auto reader = reading_in_order<Kind>(log->reader());
  log.append(83);
  for (const std::size_t room : std::array<std::size_t, 6>{1, 2, 7, 8, 9, 17}) {
    const std::uint64_t before = reader.entries();
    std::vector<typename Kind::entry> buffer(room);
    CHECK(reader.read(buffer));
    CHECK(reader.entries() == before + room);
  }
  CHECK(reader.lost() == 0);
  CHECK(reader.mistakes() == 0);
}

TEST_CASE_TEMPLATE("readers don't take entries away from each other, and begin with the oldest without a loss", Kind,
                   EVERY_LOG) {
  with_two_sizes([]<std::size_t N>(std::size_t entries) {
    log_of<Kind, N> log{entries, 1000};
    auto early = reading_in_order<Kind>(log->reader());
    CHECK(early.next() == 1000);
    log.append(3 * entries);
    auto late = reading_in_order<Kind>(log->reader());
    CHECK(late.next() == log.next() - Kind::readable(entries));
    auto last = reading_in_order<Kind>(log->reader_from(log.next() - 1));
    std::vector<typename Kind::entry> buffer(entries);
    for (auto* reader : {&early, &late, &last}) CHECK(reader->read(buffer));
    CHECK(early.lost() == 3 * entries - Kind::readable(entries));
    CHECK(early.entries() == Kind::readable(entries));
    CHECK(late.lost() == 0);
    CHECK(late.entries() == Kind::readable(entries));
    CHECK(last.lost() == 0);
    CHECK(last.entries() == 1);
    CHECK(early.mistakes() + late.mistakes() + last.mistakes() == 0);
  });
}

TEST_CASE_TEMPLATE("[A92] a log goes on with the numbers where another log ended", Kind, EVERY_LOG) {
  log_of<Kind, 3> first{3, 40};
  first.append(5);
  const log_of<Kind, 84> second{84, first.next()};
  CHECK(second->page().first_sequence() == 45);
  CHECK_FALSE(second->reader().has_new());
  CHECK(second->reader().next_sequence() == 45);
}

namespace {

template <class Log>
concept knows_its_next_number = requires(const Log& log) { log.next_sequence(); };

}  // namespace

TEST_CASE("[A90] the producer knows the number of its next entry, unless there are several") {
  ring_log<plain_entry, 3> log{{.first_sequence = 7}};
  for (std::uint64_t sequence = 7; sequence < 20; ++sequence) {
    CHECK(log.next_sequence() == sequence);
    log.append(plain_entry::of(sequence));
  }
  static_assert(knows_its_next_number<ring_log<plain_entry, 3>>);
  static_assert(!knows_its_next_number<
                ring_log<plain_entry, 3, log_form::stamped, tidemark::native_platform, tidemark::writers::several>>);
}

TEST_CASE_TEMPLATE("[A82][A102] append can't fail, and neither append nor read allocates", Kind, EVERY_LOG) {
  using log_type = typename Kind::template log<std::dynamic_extent>;
  static_assert(noexcept(std::declval<log_type&>().append(std::declval<const typename Kind::entry&>())));
  static_assert(std::is_void_v<decltype(std::declval<log_type&>().append(std::declval<typename Kind::entry>()))>);
  log_of<Kind, std::dynamic_extent> log{7};
  std::vector<typename Kind::entry> buffer(7);
  auto reader = log->reader();
  std::uint64_t got = 0;
  const std::uint64_t before = allocations;
  for (int round = 0; round < 100; ++round) {
    log.append(5);
    got += reader.read(buffer).entries.size();
  }
  CHECK(allocations == before);
  CHECK(got == 500);
}

// ---- the header ----------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[trap 16] the 32 bits of the wrap count roll over, and readers notice nothing", Kind,
                   EVERY_LOG_OF_ONE) {
  with_two_sizes([]<std::size_t N>(std::size_t entries) {
    const std::uint64_t first = (std::uint64_t{entries} << 32) - 2;
    log_of<Kind, N> log{entries, first};
    CHECK(half_word_at(log->page(), 0) == entries - 2);
    CHECK(half_word_at(log->page(), 4) == UINT32_MAX);
    auto prompt = reading_in_order<Kind>(log->reader());
    auto lazy = reading_in_order<Kind>(log->reader());
    std::vector<typename Kind::entry> buffer(entries);
    for (std::uint64_t appended = 1; appended <= 2 * entries; ++appended) {
      log.append();
      CHECK(prompt.reader().has_new());
      CHECK(prompt.read(buffer));
      CHECK_FALSE(prompt.reader().has_new());
    }
    CHECK(half_word_at(log->page(), 0) == entries - 2);
    CHECK(half_word_at(log->page(), 4) == 1);
    CHECK(prompt.entries() == 2 * entries);
    CHECK(prompt.lost() == 0);
    CHECK(lazy.read(buffer));
    CHECK(lazy.lost() == 2 * entries - Kind::readable(entries));
    CHECK(lazy.entries() == Kind::readable(entries));
    CHECK(prompt.mistakes() + lazy.mistakes() == 0);
  });
}

namespace {

/// Returns a reader that stopped at number 7 while N * 2^32 * `times` + `more` entries were appended, after its
/// next read. So many entries can't be appended here. But only the last N of them are left in the page, so the log
/// begins a lap before its end, and the reader begins at number 7 all the same: after that lap the page is word for
/// word what it would be.
template <class Kind, std::size_t N>
auto read_after_long_sleep(std::size_t entries, std::uint64_t times, std::uint64_t more) {
  constexpr std::uint64_t stopped = 7;
  const std::uint64_t end = stopped + (std::uint64_t{entries} << 32) * times + more;
  log_of<Kind, N> log{entries, end - entries};
  auto reader = reading_in_order<Kind>(log->reader_from(stopped));
  log.append(entries);
  std::vector<typename Kind::entry> buffer(entries);
  reader.read(buffer);
  return reader;
}

}  // namespace

TEST_CASE_TEMPLATE("[A98][trap 16] a reader with stamps that sleeps through N * 2^32 appends counts all that it lost",
                   Kind, EVERY_STAMPED_LOG, EVERY_LOG_OF_SEVERAL) {
  with_two_sizes([]<std::size_t N>(std::size_t entries) {
    const std::uint64_t alias = std::uint64_t{entries} << 32;
    for (const std::uint64_t times : std::array<std::uint64_t, 3>{1, 2, 1'000'000}) {
      for (std::uint64_t more = 0; more <= 2 * entries; ++more) {
        const auto reader = read_after_long_sleep<Kind, N>(entries, times, more);
        INFO(entries, " entries, ", times, " times round, ", more, " more");
        CHECK(reader.lost() == alias * times + more - entries);
        CHECK(reader.entries() == entries);
        CHECK(reader.mistakes() == 0);
      }
    }
  });
}

TEST_CASE("[A98][trap 16] where only the header proves entries, a reader notices nothing of exactly N * 2^32 appends") {
  with_two_sizes([]<std::size_t N>(std::size_t entries) {
    CHECK(read_after_long_sleep<header_only, N>(entries, 1, 0).entries() == 0);
    CHECK(read_after_long_sleep<header_only, N>(entries, 1, 0).lost() == 0);
    CHECK(read_after_long_sleep<header_only, N>(entries, 1, entries).lost() == 1);
  });
}

TEST_CASE_TEMPLATE("[A88] a reader knows the number of the next entry, however far behind it is", Kind, EVERY_LOG) {
  log_of<Kind, 3> log{3, 40};
  const auto reader = log->reader();
  CHECK(reader.end_sequence() == 40);
  for (std::uint64_t count = 1; count < 9; ++count) {
    log.append(1);
    CHECK(reader.end_sequence() == 40 + count);
    CHECK(reader.next_sequence() == 40);  // the cursor stays
  }
}
