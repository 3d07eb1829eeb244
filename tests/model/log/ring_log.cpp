// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the ring log. If nothing orders two stores to one word of a log, the checker reports a race
// (owned_words.hpp).
#include "support/model_check.hpp"
#include "support/owned_words.hpp"

#include <tidemark/log/ring_log.hpp>

#include <array>
#include <span>

namespace {

using tidemark::log_form;
using base = tidemark::TIDEMARK_MODEL_PLATFORM;
using platform = model::owned_words<base>;
using payload = platform::var<std::uint64_t>;

/// Both words name the entry, so that a torn one shows.
struct entry {
  std::uint64_t value = 0;
  std::uint64_t inverse = 0;
};
struct stamped_entry {
  std::uint64_t value = 0;
  std::uint64_t stamp = 0;
  std::uint64_t inverse = 0;
};

template <class Entry>
Entry make(std::uint64_t value) {
  Entry made;
  made.value = value;
  made.inverse = ~value;
  return made;
}

}  // namespace

template <>
inline constexpr std::size_t tidemark::log_stamp_word<stamped_entry> = 1;

namespace {

template <std::size_t N>
using stamped = tidemark::ring_log<entry, N, log_form::stamped, platform>;
template <std::size_t N>
using stamped_inside = tidemark::ring_log<stamped_entry, N, log_form::stamped, platform>;
template <std::size_t N>
using header_only = tidemark::ring_log<entry, N, log_form::header_only, platform>;
template <std::size_t N>
using several = tidemark::ring_log<entry, N, log_form::stamped, platform, tidemark::writers::several>;

/// The data that each entry hands over. The producer writes it before it appends the entry, and a reader of the entry
/// reads it.
template <std::size_t Entries>
struct hand_over {
  std::array<payload, Entries> data;

  void write(std::uint64_t value) { data[value].store(value + 100); }
  void read(std::uint64_t value) { MODEL_REQUIRE(data[value].load() == value + 100); }
};

/// Reads once, and checks the entries. With one producer the value of an entry is its number, counted from `first`.
/// Returns the number of lost entries.
template <class Log, std::size_t Entries>
std::uint64_t read_in_order(typename Log::reader_type& reader, hand_over<Entries>& handed, std::uint64_t first) {
  std::array<typename Log::page_type::entry_type, Entries> buffer;
  const std::uint64_t before = reader.next_sequence();
  const auto batch = reader.read(buffer);
  MODEL_REQUIRE(batch.first_sequence == before + batch.lost);
  std::uint64_t sequence = batch.first_sequence;
  for (const auto& found : batch.entries) {
    MODEL_REQUIRE(found.value == sequence - first);
    MODEL_REQUIRE(found.inverse == ~found.value);
    handed.read(found.value);
    ++sequence;
  }
  MODEL_REQUIRE(reader.next_sequence() == sequence);
  return batch.lost;
}

/// [A89] [A98] [A106] [trap 17] The producer overwrites the entries that a reader reads. `First` puts the end of a lap,
/// or of the 32-bit wrap counter, between the entries.
template <class Log, std::uint64_t First, std::uint64_t Appends, unsigned Readers>
struct whole_entries : model::suite<Readers + 1> {
  Log log{{.first_sequence = First}};
  hand_over<Appends> handed;

  void thread(unsigned index) {
    if (index == 0) {
      for (std::uint64_t value = 0; value < Appends; ++value) {
        handed.write(value);
        log.append(make<typename Log::page_type::entry_type>(value));
      }
    } else {
      auto reader = log.reader_from(First);
      read_in_order<Log>(reader, handed, First);
      read_in_order<Log>(reader, handed, First);
      MODEL_REQUIRE(reader.next_sequence() <= First + Appends);
    }
  }
  void after() {
    auto reader = log.reader_from(First);
    constexpr std::uint64_t readable = Log::page_type::form == log_form::header_only ? 1 : 2;
    MODEL_REQUIRE(read_in_order<Log>(reader, handed, First) == Appends - readable);
    MODEL_REQUIRE(reader.next_sequence() == First + Appends);
  }
};

/// [A95] [A96] A thread that sees a word which was stored after an entry was appended finds the entry.
template <class Log>
struct entry_before_flag : model::suite<2> {
  Log log;
  hand_over<1> handed;
  base::atomic<std::uint32_t> flag;

  void thread(unsigned index) {
    if (index == 0) {
      handed.write(0);
      log.append(make<typename Log::page_type::entry_type>(0));
      flag.store(1, std::memory_order_release);
    } else {
      auto reader = log.reader_from(0);
      const bool flagged = flag.load(std::memory_order_acquire) == 1;
      const bool has_new = reader.has_new();
      read_in_order<Log>(reader, handed, 0);
      if (flagged) MODEL_REQUIRE(has_new && reader.next_sequence() == 1);
    }
  }
};

/// Reads once what several producers wrote, and marks in `seen` the entries that came.
template <std::size_t N, std::size_t Entries>
void read_of_several(typename several<N>::reader_type& reader, hand_over<Entries>& handed, unsigned& seen) {
  std::array<entry, Entries> buffer;
  const std::uint64_t before = reader.next_sequence();
  const auto batch = reader.read(buffer);
  MODEL_REQUIRE(batch.first_sequence == before + batch.lost);
  MODEL_REQUIRE(reader.next_sequence() == batch.first_sequence + batch.entries.size());
  for (const entry& found : batch.entries) {
    MODEL_REQUIRE(found.inverse == ~found.value);
    MODEL_REQUIRE((seen >> found.value & 1) == 0);
    seen |= 1u << found.value;
    handed.read(found.value);
  }
}

/// [A97] [A98] [trap 17] Producer 0 appends one entry and may be stopped at it while producer 1 appends a lap of
/// entries; a reader reads meanwhile. No entry is torn and none comes twice. Afterwards each entry was read or lost.
template <std::size_t N, std::uint64_t Appends, unsigned Readers>
struct laggard : model::suite<Readers + 2> {
  several<N> log;
  hand_over<Appends + 1> handed;

  void thread(unsigned index) {
    if (index == 0) {
      append(0);
    } else if (index == 1) {
      for (std::uint64_t value = 1; value <= Appends; ++value) append(value);
    } else {
      auto reader = log.reader_from(0);
      unsigned seen = 0;
      read_of_several<N>(reader, handed, seen);
      read_of_several<N>(reader, handed, seen);
    }
  }
  void append(std::uint64_t value) {
    handed.write(value);
    log.append(make<entry>(value));
  }
  void after() {
    auto reader = log.reader_from(0);
    unsigned seen = 0;
    while (reader.next_sequence() < Appends + 1) {
      const std::uint64_t before = reader.next_sequence();
      read_of_several<N>(reader, handed, seen);
      MODEL_REQUIRE(reader.next_sequence() > before);
    }
    MODEL_REQUIRE(reader.next_sequence() == Appends + 1);
  }
};

/// [A92] Two producers append while a third thread closes the log. As many appends as it has counted are in the log.
/// Those that come later are refused, and see what came before the log was closed.
struct closed : model::suite<3> {
  using page_type = several<2>::page_type;
  page_type page{2, 0, 0};
  tidemark::detail::log_producer<page_type> producer{page};
  platform::var<std::uint64_t> ready;
  std::array<bool, 2> is_in{};
  std::uint64_t end = 0;

  void thread(unsigned index) {
    if (index == 2) {
      ready.store(7);
      end = producer.close(page);
      return;
    }
    is_in[index] = producer.append(page, make<entry>(index));
    if (!is_in[index]) MODEL_REQUIRE(ready.load() == 7);
  }
  void after() {
    std::array<entry, 2> buffer;
    several<2>::reader_type reader{page, 0};
    const auto batch = reader.read(buffer, end);
    MODEL_REQUIRE(batch.lost == 0 && batch.entries.size() == end);
    MODEL_REQUIRE(end == (is_in[0] ? 1U : 0U) + (is_in[1] ? 1U : 0U));
    for (const entry& found : batch.entries) MODEL_REQUIRE(is_in[found.value] && found.inverse == ~found.value);
  }
};

/// The last entries of a ring of two before its 32-bit wrap counter starts again at 0.
constexpr std::uint64_t seam = (std::uint64_t{2} << 32) - 2;

}  // namespace

int main(int argc, char** argv) {
  return model::run(
      argc, argv,
      {
          model::make_check<whole_entries<stamped<2>, 0, 4, 1>, "whole_entries.stamped">(),
          model::make_check<whole_entries<stamped_inside<2>, 0, 4, 1>, "whole_entries.stamped_inside">(),
          model::make_check<whole_entries<header_only<2>, 0, 4, 1>, "whole_entries.header_only">(),
          model::make_check<whole_entries<stamped<2>, seam, 4, 1>, "counter_rolls_over.stamped">(),
          model::make_check<whole_entries<header_only<2>, seam, 4, 1>, "counter_rolls_over.header_only">(),
          model::make_check<whole_entries<stamped<2>, 0, 3, 2>, "two_readers.stamped">(),
          model::make_check<whole_entries<header_only<2>, 0, 3, 2>, "two_readers.header_only">(),
          model::make_check<entry_before_flag<stamped<2>>, "entry_before_flag.stamped">(),
          model::make_check<entry_before_flag<header_only<2>>, "entry_before_flag.header_only">(),
          model::make_check<entry_before_flag<several<2>>, "entry_before_flag.many">(),
          model::make_check<laggard<2, 2, 0>, "two_producers">(),
          model::make_check<laggard<2, 3, 0>, "laggard">(),
          model::make_check<laggard<2, 3, 1>, "laggard_and_reader">(),
          model::make_check<closed, "closed">(),
      });
}
