// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the ring log. Its platform takes one thing further than the machine: storing a word of the log also
// writes a plain field beside it, so that two stores to one word that nothing orders are reported as a race. A machine
// may let such stores take effect in the wrong order; the checker always has them in the order in which they ran.
#include "support/model_check.hpp"

#include <tidemark/ring_log.hpp>

#include <array>
#include <span>

namespace {

using tidemark::log_form;
using base = tidemark::TIDEMARK_MODEL_PLATFORM;
using tidemark::verify::source_position;

struct platform : base {
  template <class T>
  class atomic : public base::atomic<T> {
   public:
    using base::atomic<T>::atomic;
    void store(T value, std::memory_order order, source_position at = source_position::current()) {
      owner_.store(1, at);
      base::atomic<T>::store(value, order, at);
    }

   private:
    base::var<int> owner_;
  };
};
using payload = platform::var<std::uint64_t>;

/// Both words tell which entry it is, so that a torn one shows.
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
using many = tidemark::ring_log<entry, N, log_form::many_producers, platform>;

/// What each entry hands over: written before it is appended, read by who reads the entry.
template <std::size_t Entries>
struct hand_over {
  std::array<payload, Entries> data;

  void write(std::uint64_t value) { data[value].store(value + 100); }
  void read(std::uint64_t value) { MODEL_REQUIRE(data[value].load() == value + 100); }
};

/// Reads once and checks what comes. With one producer the value of an entry is its number, counted from `first`.
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

/// [A89] [A98] [A106] [trap 17] A reader beside a producer that overwrites what is being read. `First` puts the seam of
/// a lap, or of the 32-bit wrap counter, between the entries.
template <class Log, std::uint64_t First, std::uint64_t Appends, unsigned Readers>
struct whole_entries : model::suite<Readers + 1> {
  Log log{0, First};
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

/// [A95] [A96] Who sees a word that was stored after an entry was appended finds the entry.
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

/// Reads once what several producers wrote; the number of entries that are accounted for.
template <std::size_t N, std::size_t Entries>
void read_of_many(typename many<N>::reader_type& reader, hand_over<Entries>& handed, unsigned& seen) {
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

/// [A97] [A98] [trap 17] Producer 0 appends one entry and may be stopped at it while producer 1 comes round; a reader
/// looks on. Nothing is torn, nothing comes twice, and when all is quiet each entry was read or lost.
template <std::size_t N, std::uint64_t Appends, unsigned Readers>
struct laggard : model::suite<Readers + 2> {
  many<N> log;
  hand_over<Appends + 1> handed;

  void thread(unsigned index) {
    if (index == 0) {
      append(0);
    } else if (index == 1) {
      for (std::uint64_t value = 1; value <= Appends; ++value) append(value);
    } else {
      auto reader = log.reader_from(0);
      unsigned seen = 0;
      read_of_many<N>(reader, handed, seen);
      read_of_many<N>(reader, handed, seen);
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
      read_of_many<N>(reader, handed, seen);
      MODEL_REQUIRE(reader.next_sequence() > before);
    }
    MODEL_REQUIRE(reader.next_sequence() == Appends + 1);
  }
};

/// The last entries before the 32-bit wrap counter of a ring of two begins anew.
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
          model::make_check<entry_before_flag<many<2>>, "entry_before_flag.many">(),
          model::make_check<laggard<2, 2, 0>, "two_producers">(),
          model::make_check<laggard<2, 3, 0>, "laggard">(),
          model::make_check<laggard<2, 3, 1>, "laggard_and_reader">(),
      });
}
