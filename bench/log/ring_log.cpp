// SPDX-License-Identifier: BSL-1.0
//
// What an append of 48 bytes costs. Beside it stand the least that it could cost, which is a copy into the same number
// of slots, and what people use today.
//
//   append/<subject>        one producer and no reader; the time stamp of an entry is a word like any other
//   append/<subject>.<clock>   the same, and the clock is read for it
//   append_read/<subject>   while a thread on another core reads as fast as it can
//   append_two/<subject>    while a thread on another core appends, too
//
// The entries come from 256 sources that are filled before, so that no value can be made up in a register.
#include <benchmark/benchmark.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <tidemark/log/fence_log.hpp>
#include <tidemark/log/log_clock.hpp>
#include <tidemark/log/ring_log.hpp>
#include <utility>
#include <vector>

#include "peers/log_arrays.hpp"
#include "peers/spsc_queue.hpp"
#include "support/measure.hpp"
#include "support/threads.hpp"

namespace {

using benchmark::State;
using tidemark::log_form;

using entry = tidemark::fence_log_entry;
/// The same number of bytes, without a word for the log.
struct sample {
  std::array<std::uint64_t, 6> words;
};
static_assert(sizeof(sample) == 48 && sizeof(entry) == 48);

using stamped_log = tidemark::fence_log;
using header_only_log = tidemark::ring_log<sample, bench::log_entries, log_form::header_only>;
using several_producers_log = tidemark::ring_log<entry, bench::log_entries, log_form::stamped,
                                                 tidemark::native_platform, tidemark::writers::several>;

template <class Log>
struct entry_of {
  using type = typename Log::page_type::entry_type;
};
template <template <class> class Log, class Entry>
struct entry_of<Log<Entry>> {
  using type = Entry;
};

template <class Entry>
struct sources {
  sources() {
    std::uint64_t number = 0;
    for (Entry& each : all) {
      if constexpr (requires { each.words; }) {
        for (auto& word : each.words) word = ++number * 0x9E37'79B9'7F4A'7C15;
      } else {
        each.fence_value = ++number;
        each.fence = tidemark::fence_id{static_cast<std::uint32_t>(number * 7)};
        each.observed_timestamp = number * 0x9E37'79B9'7F4A'7C15;
        each.reserved = ~number;
        each.end_timestamp = number * 0xD6E8'FEB8'6659'FD93;
      }
    }
  }
  const Entry& operator[](std::uint64_t value) const { return all[value & 255]; }

  std::array<Entry, 256> all{};
};

constexpr std::size_t unrolled = 16;

template <class Log>
void append(State& state) {
  const bench::escaped<Log> log;
  const bench::escaped<sources<typename entry_of<Log>::type>> from;
  bench::measure_blocks<unrolled>(state, [&to = *log, &all = *from](std::uint64_t value) { to.append(all[value]); });
}

/// As a queue does it: the entry is made where it is executed.
template <class Clock>
void append_with_time(State& state) {
  const bench::escaped<stamped_log> log;
  const bench::escaped<sources<entry>> from;
  bench::measure_blocks<unrolled>(state, [&to = *log, &all = *from](std::uint64_t value) {
    entry made = all[value];
    made.end_timestamp = Clock::now();
    to.append(made);
  });
}

template <class Log>
void append_read(State& state) {
  using entry_type = typename entry_of<Log>::type;
  const bench::escaped<Log> log;
  const bench::escaped<sources<entry_type>> from;
  const auto append_one = [&to = *log, &all = *from](std::uint64_t value) { to.append(all[value]); };
  std::uint64_t got = 0;
  if constexpr (requires { log->reader(); }) {
    auto reader = log->reader();
    std::array<entry_type, bench::log_entries> buffer;
    bench::measure_beside<unrolled>(state, [&] { got += reader.read(buffer).entries.size(); }, append_one);
  } else {
    entry_type found{};
    bench::measure_beside<unrolled>(state, [&] { got += std::uint64_t{log->read_last(found)}; }, append_one);
    benchmark::DoNotOptimize(found);
  }
  state.counters["entries_read"] = static_cast<double>(got);
}

template <class Log>
void append_two(State& state) {
  const bench::escaped<Log> log;
  const bench::escaped<sources<typename entry_of<Log>::type>> from;
  bench::measure_beside<unrolled>(
      state, [&] { log->append((*from)[7]); },
      [&to = *log, &all = *from](std::uint64_t value) { to.append(all[value]); });
}

}  // namespace

int main(int argc, char** argv) {
  const auto add = [](const char* name, void (*function)(State&)) {
    // With a neighbor a block may have to be tried several times.
    const bool in_company = std::string_view{name}.substr(0, 7) != "append/";
    bench::row(name, function)->Iterations(in_company ? 200 : 1000);
  };
  add("append/plain_array", append<bench::plain_array<sample>>);
  add("append/ring_log.header_only", append<header_only_log>);
  add("append/ring_log.stamped", append<stamped_log>);
  add("append/ring_log.many_producers", append<several_producers_log>);
  add("append/seqlock_array", append<bench::seqlock_array<sample>>);
  add("append/locked_array", append<bench::locked_array<sample>>);
#ifdef TIDEMARK_HAVE_BOOST
  add("append/boost_spsc_queue", append<bench::spsc_queue<sample>>);
#else
  std::fputs(
      "boost_spsc_queue is left out: <boost/lockfree/spsc_queue.hpp> was not found when this was built (package "
      "libboost-dev)\n",
      stderr);
#endif
#if defined(__x86_64__)
  add("append/ring_log.stamped.tsc", append_with_time<tidemark::tsc_log_clock>);
#endif
  add("append/ring_log.stamped.steady", append_with_time<tidemark::steady_log_clock>);
  add("append_read/ring_log.header_only", append_read<header_only_log>);
  add("append_read/ring_log.stamped", append_read<stamped_log>);
  add("append_read/ring_log.many_producers", append_read<several_producers_log>);
  add("append_read/seqlock_array", append_read<bench::seqlock_array<sample>>);
  add("append_read/locked_array", append_read<bench::locked_array<sample>>);
  add("append_two/ring_log.many_producers", append_two<several_producers_log>);
  add("append_two/locked_array", append_two<bench::locked_array<sample>>);
  return bench::run_all(argc, argv);
}
