// SPDX-License-Identifier: BSL-1.0
//
// Entries of a queue's log are read, beside a std::deque under a mutex. Times are for one entry. Both sides copy the
// entries into a buffer, as many at a time as it has room for.
//
//   read/<subject>/<buffer>   4,096 entries that were appended before are read; only the reading is timed
//   pass/<subject>/<buffer>   one thread appends, a thread on another core reads. The first one stays at most 2,048
//                             entries ahead, so that none is lost; times are from the first append to the last read
//
// A reader that finds nothing looks at one word until there is something; it takes no mutex meanwhile.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <string>
#include <tidemark/log/fence_log.hpp>
#include <tidemark/queue/queue_log.hpp>
#include <vector>

#include "support/measure.hpp"
#include "support/threads.hpp"

namespace {

using benchmark::State;
using entry = tidemark::fence_log_entry;

constexpr std::size_t log_entries = 4'096;
constexpr std::size_t most_ahead = log_entries / 2;

class read_log {
 public:
  void append(const entry& added) { log_.append(added); }
  bool has_new() const { return reader_.has_new(); }
  /// Returns how many entries it has copied.
  std::size_t read(std::span<entry> buffer) {
    const auto batch = reader_.read(buffer);
    lost_ += batch.lost;
    return batch.entries.size();
  }
  std::uint64_t lost() const { return lost_; }

 private:
  using log = tidemark::basic_queue_log<tidemark::native_platform>;

  log log_{tidemark::fence_log_type::signal, log_entries};
  alignas(128) log::reader_type reader_ = log_.reader();
  std::uint64_t lost_ = 0;
};

class locked_deque {
 public:
  void append(const entry& added) {
    const std::lock_guard<std::mutex> lock(mutex_);
    entries_.push_back(added);
    count_.store(entries_.size(), std::memory_order_relaxed);
  }
  bool has_new() const { return count_.load(std::memory_order_relaxed) != 0; }
  std::size_t read(std::span<entry> buffer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto count = static_cast<std::ptrdiff_t>((std::min)(buffer.size(), entries_.size()));
    std::copy_n(entries_.begin(), count, buffer.begin());
    entries_.erase(entries_.begin(), entries_.begin() + count);
    count_.store(entries_.size(), std::memory_order_relaxed);
    return static_cast<std::size_t>(count);
  }
  static std::uint64_t lost() { return 0; }

 private:
  alignas(128) std::mutex mutex_;
  std::deque<entry> entries_;
  alignas(128) std::atomic<std::size_t> count_{0};
};

entry entry_of(std::uint64_t number) {
  return {number, tidemark::fence_id{7}, tidemark::fence_operation::signal_executed, 0, 0, 0, number + 1};
}

template <class Log>
void read_all(State& state, std::size_t buffer_size) {
  const bench::escaped<Log> log;
  std::vector<entry> buffer(buffer_size);
  std::uint64_t appended = 0;
  std::uint64_t wrong = 0;
  std::vector<double> samples;
  for (auto _ : state) {
    const std::uint64_t first = appended;
    for (std::size_t i = 0; i < log_entries; ++i) log->append(entry_of(appended++));
    std::uint64_t got = 0;
    const auto start = bench::steady::now();
    while (const std::size_t count = log->read(buffer)) {
      if (buffer.front().fence_value != first + got) ++wrong;
      got += count;
    }
    samples.push_back(bench::nanoseconds_between(start, bench::steady::now()));
    state.SetIterationTime(samples.back() * 1e-9);
    if (got != log_entries) ++wrong;
  }
  if (wrong != 0 || log->lost() != 0) return state.SkipWithError("entries were lost");
  bench::report_per_operation(state, std::move(samples), log_entries);
}

/// Reads what another thread appends.
template <class Log>
class reading {
 public:
  reading(Log& log, std::size_t buffer_size, int cpu) {
    thread_.start(1, [&log, buffer_size, this](std::size_t) { run(log, buffer_size); }, cpu);
  }
  ~reading() {
    is_over_.store(true, std::memory_order_relaxed);
    thread_.join();
  }
  std::uint64_t count() const { return count_.load(std::memory_order_acquire); }

 private:
  void run(Log& log, std::size_t buffer_size) {
    std::vector<entry> buffer(buffer_size);
    std::uint64_t got = 0;
    while (!is_over_.load(std::memory_order_relaxed)) {
      const std::size_t count = log.has_new() ? log.read(buffer) : 0;
      if (count == 0) {
        tidemark::native_platform::pause();
        continue;
      }
      benchmark::DoNotOptimize(buffer.data());
      count_.store(got += count, std::memory_order_release);
    }
  }

  std::atomic<bool> is_over_{false};
  alignas(128) std::atomic<std::uint64_t> count_{0};
  alignas(128) bench::thread_group thread_;
};

template <class Log>
void pass(State& state, std::size_t buffer_size) {
  constexpr std::uint64_t entries = log_entries;
  const std::vector<int>& cpus = bench::processors();
  if (cpus.size() < 2) return state.SkipWithError("one processor only");
  const bench::escaped<Log> log;
  std::vector<double> samples;
  {
    const bench::pinned here(cpus[0]);
    const reading<Log> reader{*log, buffer_size, cpus[1]};
    std::uint64_t appended = 0;
    std::uint64_t read = 0;
    const auto wait_for = [&](std::uint64_t count) {
      while ((read = reader.count()) < count) tidemark::native_platform::pause();
    };
    for (auto _ : state) {
      const auto start = bench::steady::now();
      for (std::uint64_t i = 0; i < entries; ++i) {
        if (appended - read >= most_ahead) wait_for(appended - most_ahead + 1);
        log->append(entry_of(appended++));
      }
      wait_for(appended);
      samples.push_back(bench::nanoseconds_between(start, bench::steady::now()));
      state.SetIterationTime(samples.back() * 1e-9);
    }
  }
  if (log->lost() != 0) return state.SkipWithError("entries were lost");
  bench::report_per_operation(state, std::move(samples), entries);
}

}  // namespace

int main(int argc, char** argv) {
  for (const std::size_t buffer : {std::size_t{1}, std::size_t{16}, std::size_t{256}}) {
    std::string variant{'/'};
    variant += std::to_string(buffer);
    bench::row("read/queue_log" + variant, read_all<read_log>, buffer)->Iterations(50);
    bench::row("read/locked_deque" + variant, read_all<locked_deque>, buffer)->Iterations(50);
    bench::row("pass/queue_log" + variant, pass<read_log>, buffer)->Iterations(15);
    bench::row("pass/locked_deque" + variant, pass<locked_deque>, buffer)->Iterations(15);
  }
  return bench::run_all(argc, argv);
}
