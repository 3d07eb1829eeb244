// SPDX-License-Identifier: BSL-1.0
//
// Split tables of 16 to 65,536 slots; times are for one entry, or for one row. A work item has as many entries as the
// table has slots, at least 4,096. Three entries share an offset, and slots come in random order. The checks of an
// entry are included.
//
//   apply/<subject>/<slots>         applies a work item: reset, entries, close
//   apply_read/split_table/<slots>  applies the same work item without and with a reader on another core, in turn; the
//                                   reader takes a snapshot of all rows after every 1,000 entries; `ratio` is the
//                                   median of the pairs
//   apply_beside/split_table/<slots>     applies it while a reader on another core takes one snapshot after the other
//   snapshot/<subject>/<slots>      takes all rows at the end of a work item, from its first entry on; time of a row
//   need/<subject>/<slots>          asks whether a part of a closed work item uses an allocation. The parts have 64
//                                   offsets and come in their order; for each of them it asks about 8 allocations
//   plan/splitter/<slots>           cuts a work item; as many allocations fit as a quarter of the slots, at least 8
#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <tidemark/split/split_table.hpp>
#include <tidemark/split/splitter.hpp>

#include "peers/locked_rows.hpp"
#include "peers/locked_uses.hpp"
#include "support/measure.hpp"
#include "support/threads.hpp"

namespace {

using benchmark::State;
using tidemark::slot_id;
using tidemark::split_table_options;
using entry = tidemark::split_entry<std::uint64_t>;
using split_table = tidemark::split_table<std::uint64_t>;

constexpr std::uint64_t read_every = 1'000;

std::vector<entry> list_of(std::uint32_t slots, std::size_t at_least) {
  std::mt19937_64 random{slots};
  std::vector<entry> made(std::max<std::size_t>(slots, at_least));
  for (std::size_t i = 0; i < made.size(); ++i) {
    made[i] = {1 + random() % (2 * std::uint64_t{slots}), slot_id{static_cast<std::uint32_t>(random() % slots)}, i / 3};
  }
  return made;
}

split_table_options<> options_for(std::uint32_t slots, const std::vector<entry>& list) {
  return {.max_slot = slot_id{slots - 1}, .capacity = list.size()};
}

/// Applies a work item, and returns how many entries were refused.
template <class Table>
[[gnu::noinline]] std::uint64_t apply_all(Table& table, const std::vector<entry>& list) {
  std::uint64_t refused = 0;
  table.reset();
  for (const entry& one : list) {
    if (!table.apply(one)) [[unlikely]]
      ++refused;
  }
  table.close();
  return refused;
}

template <class Call>
double time_of(const Call& call) {
  const auto start = bench::steady::now();
  call();
  return bench::nanoseconds_between(start, bench::steady::now());
}

/// `call()` is timed, and is for so many operations.
template <class Call>
void measure_each(State& state, std::size_t operations, const Call& call) {
  std::vector<double> samples;
  call();
  for (auto _ : state) {
    samples.push_back(time_of(call));
    state.SetIterationTime(samples.back() * 1e-9);
  }
  bench::report_per_operation(state, std::move(samples), static_cast<double>(operations));
}

template <class Table>
void apply(State& state, std::uint32_t slots) {
  const std::vector<entry> list = list_of(slots, 4'096);
  Table table{options_for(slots, list)};
  std::uint64_t refused = 0;
  measure_each(state, list.size(), [&] { refused += apply_all(table, list); });
  if (refused != 0) state.SkipWithError("entries were refused");
}

// ---- a reader on another core ---------------------------------------------------------------------------------------

/// The writer says on a line of its own how far it is, after every 1,000 entries; a reader takes its snapshot then.
class paced_writer {
 public:
  explicit paced_writer(std::uint32_t slots) : list_{list_of(slots, 65'536)}, table_{options_for(slots, list_)} {}

  void run(bool is_read) {
    is_read_.store(is_read, std::memory_order_relaxed);
    table_.reset();
    std::uint64_t left = read_every;
    for (const entry& one : list_) {
      if (!table_.apply(one)) [[unlikely]]
        ++refused_;
      if (--left == 0) {
        left = read_every;
        turn_.store(turn_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      }
    }
    table_.close();
  }
  std::size_t entries() const { return list_.size(); }
  std::uint64_t refused() const { return refused_; }
  std::uint64_t snapshots() const { return snapshots_.load(std::memory_order_relaxed); }

  void read_until(const std::atomic<bool>& is_over) {
    auto reader = table_.reader();
    std::uint64_t seen = 0;
    while (!is_over.load(std::memory_order_relaxed)) {
      const std::uint64_t turn = turn_.load(std::memory_order_relaxed);
      if (turn == seen || !is_read_.load(std::memory_order_relaxed)) {
        tidemark::native_platform::pause();
        continue;
      }
      seen = turn;
      const std::uint64_t applied = ((turn - 1) % (list_.size() / read_every) + 1) * read_every;
      const auto rows = reader.rows_after(list_[applied - 1].split_offset - 1);
      benchmark::DoNotOptimize(rows.rows.data());
      if (rows) snapshots_.fetch_add(1, std::memory_order_relaxed);
      if (rows.status == tidemark::split_rows_status::stale) reader.restart();
    }
  }

 private:
  const std::vector<entry> list_;
  split_table table_;
  std::uint64_t refused_ = 0;
  alignas(128) std::atomic<std::uint64_t> turn_{0};
  alignas(128) std::atomic<bool> is_read_{false};
  alignas(128) std::atomic<std::uint64_t> snapshots_{0};
};

void apply_read(State& state, std::uint32_t slots) {
  const std::vector<int>& cpus = bench::processors();
  if (cpus.size() < 2) return state.SkipWithError("one processor only");
  paced_writer writer{slots};
  std::atomic<bool> is_over{false};
  bench::thread_group other;
  other.start(1, [&](std::size_t) { writer.read_until(is_over); }, cpus[1]);
  std::vector<double> alone;
  std::vector<double> read;
  std::vector<double> pairs;
  std::uint64_t read_items = 0;
  {
    const bench::pinned here(cpus[0]);
    for (auto _ : state) {
      alone.push_back(time_of([&] { writer.run(false); }));
      const std::uint64_t before = writer.snapshots();
      const double took = time_of([&] { writer.run(true); });
      state.SetIterationTime(took * 1e-9);
      if (writer.snapshots() - before < 16) continue;  // the reader was not running
      ++read_items;
      read.push_back(took);
      pairs.push_back(took / alone.back());
    }
  }
  is_over.store(true);
  other.join();
  if (writer.refused() != 0) return state.SkipWithError("entries were refused");
  if (pairs.empty()) return state.SkipWithError("the reader was never running");
  const auto entries = static_cast<double>(writer.entries());
  state.counters["alone_ns"] = bench::median(alone) / entries;
  state.counters["median_ns"] = bench::median(read) / entries;
  state.counters["ratio"] = bench::median(pairs);
  state.counters["snapshots"] = static_cast<double>(writer.snapshots()) / static_cast<double>(read_items);
}

void apply_beside(State& state, std::uint32_t slots) {
  const std::vector<int>& cpus = bench::processors();
  if (cpus.size() < 2) return state.SkipWithError("one processor only");
  const std::vector<entry> list = list_of(slots, 65'536);
  split_table table{options_for(slots, list)};
  std::atomic<bool> is_over{false};
  std::atomic<std::uint64_t> snapshots{0};
  bench::thread_group other;
  other.start(
      1,
      [&](std::size_t) {
        auto reader = table.reader();
        std::uint64_t offset = 0;
        while (!is_over.load(std::memory_order_relaxed)) {
          const auto rows = reader.rows_after(offset);
          benchmark::DoNotOptimize(rows.rows.data());
          if (rows) snapshots.fetch_add(1, std::memory_order_relaxed);
          if (rows.status == tidemark::split_rows_status::stale) reader.restart();
          offset = rows ? (offset + 100) % list.back().split_offset : 0;
        }
      },
      cpus[1]);
  std::uint64_t refused = 0;
  {
    const bench::pinned here(cpus[0]);
    measure_each(state, list.size(), [&] { refused += apply_all(table, list); });
  }
  is_over.store(true);
  other.join();
  if (refused != 0) state.SkipWithError("entries were refused");
  state.counters["snapshots"] = static_cast<double>(snapshots.load()) / static_cast<double>(state.iterations());
}

// ---- snapshots and plans --------------------------------------------------------------------------------------------

void snapshot(State& state, std::uint32_t slots) {
  const std::vector<entry> list = list_of(slots, slots);
  split_table table{options_for(slots, list)};
  if (apply_all(table, list) != 0) return state.SkipWithError("entries were refused");
  auto reader = table.reader();
  measure_each(state, slots, [&] {
    reader.restart();
    benchmark::DoNotOptimize(reader.rows_after(list.back().split_offset).rows.data());
  });
}

template <class Table>
void snapshot_of(State& state, std::uint32_t slots) {
  const std::vector<entry> list = list_of(slots, slots);
  Table table{options_for(slots, list)};
  if (apply_all(table, list) != 0) return state.SkipWithError("entries were refused");
  std::vector<std::uint64_t> rows;
  measure_each(state, slots, [&] {
    table.snapshot(rows);
    benchmark::DoNotOptimize(rows.data());
  });
}

struct question {
  std::uint64_t allocation;
  std::uint64_t from;
  std::uint64_t to;
};

/// Returns questions about the first 20 parts of the list, or all of them.
std::vector<question> questions_for(std::uint32_t slots, const std::vector<entry>& list) {
  constexpr std::uint64_t part = 64;
  std::mt19937_64 random{slots};
  std::vector<question> made;
  for (std::uint64_t from = 0; from < list.back().split_offset && from < 20 * part; from += part) {
    for (int i = 0; i < 8; ++i) made.push_back({1 + random() % (2 * std::uint64_t{slots}), from, from + part});
  }
  return made;
}

void need_of(State& state, std::uint32_t slots, bool asks_peer) {
  const std::vector<entry> list = list_of(slots, 4'096);
  const std::vector<question> questions = questions_for(slots, list);
  split_table table{options_for(slots, list)};
  bench::locked_uses uses{options_for(slots, list)};
  if (apply_all(table, list) + apply_all(uses, list) != 0) return state.SkipWithError("entries were refused");
  auto reader = table.reader();
  const auto ask_table = [&](const question& one) {
    return reader.need_of(one.allocation, one.from, one.to) == tidemark::split_need::needed;
  };
  const auto ask_peer = [&](const question& one) { return uses.is_needed(one.allocation, one.from, one.to); };
  for (const question& one : questions) {
    if (ask_table(one) != ask_peer(one)) return state.SkipWithError("the answers differ");
  }
  const auto measure = [&](const auto& ask) {
    std::uint64_t needed = 0;
    measure_each(state, questions.size(), [&] {
      needed = 0;
      for (const question& one : questions) needed += std::uint64_t{ask(one)};
    });
    state.counters["needed"] = static_cast<double>(needed) / static_cast<double>(questions.size());
  };
  asks_peer ? measure(ask_peer) : measure(ask_table);
}
void need_of_table(State& state, std::uint32_t slots) { need_of(state, slots, false); }
void need_of_peer(State& state, std::uint32_t slots) { need_of(state, slots, true); }

/// Returns a list that uses an eighth of the slots in turn; twice as much fits.
std::vector<entry> list_to_cut(std::uint32_t slots, std::size_t at_least) {
  std::vector<entry> made = list_of(slots, at_least);
  for (std::size_t i = 0; i < made.size(); ++i) made[i].slot = slot_id{static_cast<std::uint32_t>(i % (slots / 8))};
  return made;
}

void plan(State& state, std::uint32_t slots) {
  const std::vector<entry> list = list_to_cut(slots, 4'096);
  tidemark::splitter<std::uint64_t> parts{{.max_slot = slot_id{slots - 1}},
                                          tidemark::counting_budget{std::max<std::uint64_t>(8, slots / 4)},
                                          [](const std::uint64_t&) { return std::uint64_t{1}; }};
  std::uint64_t failed = 0;
  measure_each(state, list.size(), [&] {
    if (!parts.begin(list, list.back().split_offset + 1)) ++failed;
    auto part = parts.next();
    for (; part; part = parts.next()) benchmark::DoNotOptimize(part.end);
    if (part.failed) ++failed;
  });
  if (failed != 0) return state.SkipWithError("a work item was not cut");
  const auto& statistics = parts.statistics();
  state.counters["parts"] = static_cast<double>(statistics.parts) / static_cast<double>(state.iterations() + 1);
}

}  // namespace

int main(int argc, char** argv) {
  for (const std::uint32_t slots : {16u, 256u, 4'096u, 65'536u}) {
    std::string variant{'/'};
    variant += std::to_string(slots);
    const int items = slots > 4'096 ? 20 : 100;
    const auto add = [&](const std::string& name, void (*function)(State&, std::uint32_t)) {
      bench::row(name + variant, function, slots)->Iterations(items);
    };
    add("apply/split_table", apply<split_table>);
    add("apply/unordered_map", apply<bench::locked_unordered_map>);
    add("apply/map", apply<bench::locked_map>);
    add("apply_read/split_table", apply_read);
    add("apply_beside/split_table", apply_beside);
    add("snapshot/split_table", snapshot);
    add("snapshot/unordered_map", snapshot_of<bench::locked_unordered_map>);
    add("snapshot/map", snapshot_of<bench::locked_map>);
    add("apply/uses", apply<bench::locked_uses>);
    add("need/split_table", need_of_table);
    add("need/uses", need_of_peer);
    add("plan/splitter", plan);
  }
  return bench::run_all(argc, argv);
}
