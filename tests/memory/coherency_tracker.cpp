// SPDX-License-Identifier: BSL-1.0
//
// The coherency tracker: which operations it does, and that with them nobody reads old bytes. The simulated cache gives
// old bytes where an operation was left out.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tidemark/memory/coherency_tracker.hpp>

#include "support/cache_simulator.hpp"
#include "support/random.hpp"
#include "support/user_timeline.hpp"

using namespace testing;
using tidemark::coherency;
using tidemark::coherency_result;
using tidemark::coherency_tracker;
using tidemark::progress_fence;

namespace {

std::uint64_t allocated_bytes = 0;
bool next_allocation_fails = false;

}  // namespace

// Counted, and refused when a test says so; the forms for arrays call these.
[[gnu::noinline]] void* operator new(std::size_t size) {
  allocated_bytes += size;
  void* const found = std::exchange(next_allocation_fails, false) ? nullptr : std::malloc(size);
  if (found == nullptr) throw std::bad_alloc{};
  return found;
}
[[gnu::noinline]] void operator delete(void* given) noexcept { std::free(given); }
[[gnu::noinline]] void operator delete(void* given, std::size_t) noexcept { std::free(given); }

namespace {

constexpr std::uint64_t line_bytes = 16;

struct stand {
  explicit stand(std::uint64_t lines) : cache{lines, line_bytes} {}

  tidemark::progress_fence finished;
  cache_simulator cache;
  coherency_tracker<progress_fence, simulated_cache> tracker{
      finished, {.bytes = cache.lines() * line_bytes, .line_bytes = line_bytes}, {&cache}};
};

constexpr coherency_result prepared;
constexpr coherency_result busy_until(std::uint64_t value) { return {tidemark::coherency_status::busy, value}; }

}  // namespace

// ---- which operations ----------------------------------------------------------------------------------------------

TEST_CASE("[B36][B37] the processor writes, the device reads: one write-back of those lines, once") {
  stand at{8};
  CHECK(at.tracker.try_prepare_cpu_write(16, 32) == prepared);
  CHECK(at.cache.take_log().empty());
  at.tracker.prepare_device_read(0, 128, 1);
  CHECK(at.cache.take_log() == "W1+2");
  at.tracker.prepare_device_read(0, 128, 1);
  CHECK(at.cache.take_log().empty());
}

TEST_CASE("[B36][B38] the device writes, the processor reads: one invalidate of those lines, once") {
  stand at{8};
  at.tracker.prepare_device_write(32, 16, 1);
  CHECK(at.cache.take_log().empty());
  at.finished.signal(1);
  CHECK(at.tracker.try_prepare_cpu_read(0, 128) == prepared);
  CHECK(at.cache.take_log() == "I2+1");
  CHECK(at.tracker.try_prepare_cpu_read(0, 128) == prepared);
  CHECK(at.cache.take_log().empty());
}

TEST_CASE("[B42][trap 29] nothing is invalidated before the device is done, and the caller is told what to wait for") {
  stand at{4};
  at.tracker.prepare_device_write(0, 16, 5);
  at.tracker.prepare_device_write(16, 16, 7);
  CHECK(at.tracker.try_prepare_cpu_read(0, 16) == busy_until(5));
  CHECK(at.tracker.try_prepare_cpu_read(0, 32) == busy_until(7));
  CHECK(at.tracker.try_prepare_cpu_write(20, 1) == busy_until(7));
  CHECK(at.tracker.try_prepare_cpu_read(32, 32) == prepared);
  at.finished.signal(5);
  CHECK(at.tracker.try_prepare_cpu_read(0, 32) == busy_until(7));
  CHECK(at.cache.take_log().empty());
  CHECK(at.tracker.try_prepare_cpu_read(0, 16) == prepared);
  CHECK(at.cache.take_log() == "I0+1");
  at.finished.signal(7);
  CHECK(at.tracker.try_prepare_cpu_read(0, 32) == prepared);
  CHECK(at.cache.take_log() == "I1+1");
}

TEST_CASE(
    "[B41] before the device writes what the processor wrote is written back, and before the processor writes what the "
    "device wrote is invalidated") {
  stand at{4};
  CHECK(at.tracker.try_prepare_cpu_write(0, 64) == prepared);
  at.tracker.prepare_device_write(16, 16, 1);
  CHECK(at.cache.take_log() == "W1+1");
  at.finished.signal(1);
  CHECK(at.tracker.try_prepare_cpu_write(16, 4) == prepared);
  CHECK(at.cache.take_log() == "I1+1");
  at.tracker.prepare_device_read(0, 64, 2);
  CHECK(at.cache.take_log() == "W0+4");
}

TEST_CASE("[B40][trap 29] operations are of whole lines, and of the part that needs them") {
  stand at{8};
  CHECK(at.tracker.try_prepare_cpu_write(17, 1) == prepared);
  CHECK(at.tracker.try_prepare_cpu_write(63, 2) == prepared);
  at.tracker.prepare_device_read(18, 1, 1);
  CHECK(at.cache.take_log() == "W1+1");
  at.tracker.prepare_device_read(0, 128, 1);
  CHECK(at.cache.take_log() == "W3+2");
  CHECK_FALSE(at.cache.was_misaligned());
}

TEST_CASE("memory that is only read, or used by one side alone, needs no operation") {
  stand at{4};
  CHECK(at.tracker.try_prepare_cpu_read(0, 64) == prepared);
  at.tracker.prepare_device_read(0, 64, 1);
  CHECK(at.tracker.try_prepare_cpu_read(0, 64) == prepared);
  at.finished.signal(1);
  CHECK(at.tracker.try_prepare_cpu_write(0, 64) == prepared);
  CHECK(at.tracker.try_prepare_cpu_write(0, 64) == prepared);
  CHECK(at.tracker.try_prepare_cpu_read(0, 64) == prepared);
  at.tracker.prepare_device_read(0, 64, 2);
  CHECK(at.cache.take_log() == "W0+4");
  at.tracker.prepare_device_write(0, 64, 3);
  at.tracker.prepare_device_write(0, 64, 4);
  at.tracker.prepare_device_read(0, 64, 5);
  CHECK(at.cache.take_log().empty());
  CHECK(at.tracker.try_prepare_cpu_read(64, 0) == prepared);
}

TEST_CASE("the processor may write what the device reads only after the device is done") {
  stand at{4};
  at.tracker.prepare_device_read(0, 16, 3);
  CHECK(at.tracker.try_prepare_cpu_read(0, 64) == prepared);
  CHECK(at.tracker.try_prepare_cpu_write(0, 1) == busy_until(3));
  CHECK(at.tracker.try_prepare_cpu_write(16, 1) == prepared);
  at.finished.signal(3);
  CHECK(at.tracker.try_prepare_cpu_write(0, 1) == prepared);
}

TEST_CASE("a value that is smaller than an earlier one does not end the use earlier") {
  stand at{2};
  at.tracker.prepare_device_write(0, 16, 7);
  at.tracker.prepare_device_write(0, 16, 5);
  at.tracker.prepare_device_read(16, 16, 7);
  at.tracker.prepare_device_read(16, 16, 5);
  at.finished.signal(6);
  CHECK(at.tracker.try_prepare_cpu_read(0, 16) == busy_until(7));
  CHECK(at.tracker.try_prepare_cpu_write(16, 16) == busy_until(7));
}

TEST_CASE("lines are tracked apart as long as they differ, and joined when they are alike again") {
  stand at{64};
  for (std::uint64_t line = 0; line < 64; line += 2)
    CHECK(at.tracker.try_prepare_cpu_write(line * line_bytes, 1) == prepared);
  CHECK(at.tracker.runs() == 64);
  at.tracker.prepare_device_read(0, 64 * line_bytes, 1);
  CHECK(at.tracker.runs() == 1);
  at.finished.signal(1);
  CHECK(at.tracker.try_prepare_cpu_read(0, 64 * line_bytes) == prepared);
  CHECK(at.tracker.runs() == 1);
}

TEST_CASE("[A120] once the fence is poisoned nothing is in use any more") {
  stand at{4};
  at.tracker.prepare_device_write(0, 16, 5);
  CHECK(at.tracker.try_prepare_cpu_read(0, 16) == busy_until(5));
  at.finished.poison();
  CHECK(at.tracker.try_prepare_cpu_read(0, 16) == prepared);
}

TEST_CASE("[B34][B35] where devices look into the caches nothing is done, and nothing is stored") {
  cache_simulator cache{4, line_bytes};
  const tidemark::progress_fence finished;
  using coherent = coherency_tracker<progress_fence, simulated_cache, coherency::hardware>;
  static_assert(std::is_empty_v<coherent>);
  coherent tracker{finished, {.bytes = 64}, {&cache}};
  CHECK(tracker.try_prepare_cpu_write(0, 64) == prepared);
  tracker.prepare_device_read(0, 64, 1);
  tracker.prepare_device_write(0, 64, 2);
  CHECK(tracker.try_prepare_cpu_read(0, 64) == prepared);
  CHECK(tracker.try_prepare_device_read(0, 64, 3, coherency::software) == prepared);
  CHECK(tracker.try_prepare_device_write(0, 64, 3, coherency::hardware) == prepared);
  CHECK(tracker.runs() == 0);
  CHECK(cache.take_log().empty());
}

// ---- two mappings of one memory ------------------------------------------------------------------------------------

TEST_CASE("[B48][B37] of two mappings, only work through the one that is not coherent has lines written back") {
  stand at{4};
  CHECK(at.tracker.try_prepare_cpu_write(0, 64) == prepared);
  CHECK(at.tracker.try_prepare_device_read(0, 64, 1, coherency::hardware) == prepared);
  CHECK(at.cache.take_log().empty());
  CHECK(at.tracker.try_prepare_device_read(0, 32, 2, coherency::software) == prepared);
  CHECK(at.cache.take_log() == "W0+2");
  CHECK(at.tracker.try_prepare_device_read(0, 64, 3, coherency::hardware) == prepared);
  CHECK(at.cache.take_log().empty());
  at.tracker.prepare_device_read(0, 64, 4);  // as through a mapping that is not coherent
  CHECK(at.cache.take_log() == "W2+2");
  CHECK(at.tracker.try_prepare_cpu_write(0, 1) == busy_until(4));
}

TEST_CASE("[B48][B38] what is written through a coherent mapping is not invalidated, and the processor waits for it") {
  stand at{2};
  CHECK(at.tracker.try_prepare_device_write(0, 32, 1, coherency::hardware) == prepared);
  CHECK(at.tracker.try_prepare_cpu_read(0, 1) == busy_until(1));
  at.finished.signal(1);
  CHECK(at.tracker.try_prepare_cpu_read(0, 32) == prepared);
  CHECK(at.cache.take_log().empty());
}

TEST_CASE(
    "[B48][B41] work through one mapping after a write through the other waits for it, then the caches are put right") {
  stand at{2};
  CHECK(at.tracker.try_prepare_device_write(0, 16, 1, coherency::hardware) == prepared);
  for (const bool writes : {false, true}) {
    const auto result = writes ? at.tracker.try_prepare_device_write(0, 32, 2, coherency::software)
                               : at.tracker.try_prepare_device_read(0, 32, 2, coherency::software);
    CHECK(result == busy_until(1));
  }
  CHECK(at.tracker.try_prepare_device_read(16, 16, 2, coherency::software) == prepared);  // other lines
  CHECK(at.tracker.try_prepare_device_write(0, 16, 2, coherency::hardware) == prepared);  // the same mapping
  at.finished.signal(2);
  CHECK(at.tracker.try_prepare_device_write(0, 16, 3, coherency::software) == prepared);
  CHECK(at.cache.take_log() == "W0+1");
  CHECK(at.tracker.try_prepare_device_read(0, 16, 4, coherency::hardware) == busy_until(3));
  CHECK(at.tracker.try_prepare_device_write(0, 16, 4, coherency::hardware) == busy_until(3));
  CHECK(at.tracker.try_prepare_device_read(0, 16, 4, coherency::software) == prepared);
  CHECK(at.cache.take_log().empty());
  at.finished.signal(3);
  CHECK(at.tracker.try_prepare_device_read(0, 16, 5, coherency::hardware) == prepared);
  CHECK(at.cache.take_log() == "I0+1");
}

// ---- on a cache that gives old bytes -------------------------------------------------------------------------------

namespace {

/// The processor writes 7, the device reads it and answers 8, the processor reads the answer. Between submission and
/// completion the processor fetches the line again, for no reason.
struct answers {
  std::uint8_t seen_by_device;
  std::uint8_t seen_by_cpu;
};
answers ask_device(stand& at) {
  answers seen{};
  CHECK(at.tracker.try_prepare_cpu_write(0, 1) == prepared);
  at.cache.cpu_write(0, 7);
  at.tracker.prepare_device_read(0, 1, 1);
  at.tracker.prepare_device_write(0, 1, 1);
  at.cache.fetch(0);
  seen.seen_by_device = at.cache.device_read(0);
  at.cache.device_write(0, 8);
  at.finished.signal(1);
  CHECK(at.tracker.try_prepare_cpu_read(0, 1) == prepared);
  seen.seen_by_cpu = at.cache.cpu_read(0);
  return seen;
}

}  // namespace

TEST_CASE("[B39][B41][B42] each side sees what the other one wrote, and does not if either operation is left out") {
  stand at{1};
  const answers right = ask_device(at);
  CHECK(right.seen_by_device == 7);
  CHECK(right.seen_by_cpu == 8);

  stand without_write_back{1};
  without_write_back.cache.ignores_write_back = true;
  CHECK(ask_device(without_write_back).seen_by_device == 0);

  stand without_invalidate{1};
  without_invalidate.cache.ignores_invalidate = true;
  CHECK(ask_device(without_invalidate).seen_by_cpu == 7);
}

TEST_CASE(
    "[B42][trap 29] an invalidate at submission has no effect: the old line comes back before the device has written") {
  cache_simulator cache{1, line_bytes};
  cache.invalidate(0, line_bytes);
  cache.fetch(0);
  cache.device_write(0, 8);
  CHECK(cache.cpu_read(0) == 0);
  cache.invalidate(0, line_bytes);
  CHECK(cache.cpu_read(0) == 8);
}

TEST_CASE("[B41][trap 29] without the write-back a late eviction overwrites what the device wrote") {
  for (const bool is_left_out : {false, true}) {
    stand at{1};
    at.cache.ignores_write_back = is_left_out;
    CHECK(at.tracker.try_prepare_cpu_write(0, 1) == prepared);
    at.cache.cpu_write(0, 7);
    at.tracker.prepare_device_write(8, 1, 1);
    at.cache.device_write(8, 9);
    at.cache.evict(0);
    CHECK(at.cache.device_read(8) == (is_left_out ? 0 : 9));
  }
}

namespace {

/// Random accesses of both, and the memory as it would be if there were no cache. The device may have a coherent
/// mapping, too: what is written through that lands in the caches or in the memory.
class random_accesses {
 public:
  random_accesses(stand& at, random_numbers& numbers, bool has_coherent_mapping = false)
      : at_{at},
        numbers_{numbers},
        has_coherent_mapping_{has_coherent_mapping},
        truth_(static_cast<std::size_t>(at.cache.lines() * line_bytes)) {}

  void step() {
    if (numbers_.below(2) == 0) at_.cache.fetch(numbers_.below(at_.cache.lines()));
    if (numbers_.below(4) == 0) at_.cache.evict(numbers_.below(at_.cache.lines()));
    if (numbers_.below(3) == 0 && !queued_.empty()) return execute_one();
    const std::uint64_t offset = numbers_.below(truth_.size());
    const access next{numbers_.below(2) == 0, offset, 1 + numbers_.below(truth_.size() - offset),
                      static_cast<std::uint8_t>(numbers_.below(256)), has_coherent_mapping_ && numbers_.below(2) == 0};
    numbers_.below(2) == 0 ? submit(next) : use(next);
  }
  std::uint64_t old_bytes() const { return old_bytes_; }

 private:
  struct access {
    bool writes;
    std::uint64_t offset;
    std::uint64_t bytes;
    std::uint8_t value;
    bool is_snooped;  // through the coherent mapping
  };

  void submit(const access& next) {
    if (has_coherent_mapping_) {
      const coherency through = next.is_snooped ? coherency::hardware : coherency::software;
      const auto result = next.writes
                              ? at_.tracker.try_prepare_device_write(next.offset, next.bytes, submitted_ + 1, through)
                              : at_.tracker.try_prepare_device_read(next.offset, next.bytes, submitted_ + 1, through);
      if (!result) {
        REQUIRE(result.busy_until > at_.finished.current_value());
        REQUIRE(result.busy_until <= submitted_);
        return;
      }
      ++submitted_;
      queued_.push_back(next);
      return;
    }
    ++submitted_;
    next.writes ? at_.tracker.prepare_device_write(next.offset, next.bytes, submitted_)
                : at_.tracker.prepare_device_read(next.offset, next.bytes, submitted_);
    queued_.push_back(next);
  }
  void execute_one() {
    const access next = queued_.front();
    queued_.pop_front();
    for (std::uint64_t i = next.offset; i < next.offset + next.bytes; ++i) {
      if (next.is_snooped && next.writes) {
        at_.cache.cpu_write(i, truth_[static_cast<std::size_t>(i)] = next.value);
        if (numbers_.below(2) == 0) at_.cache.evict(i / line_bytes);
      } else if (next.is_snooped) {
        old_bytes_ += at_.cache.cpu_read(i) == truth_[static_cast<std::size_t>(i)] ? 0U : 1U;
      } else if (next.writes) {
        at_.cache.device_write(i, truth_[static_cast<std::size_t>(i)] = next.value);
      } else {
        old_bytes_ += at_.cache.device_read(i) == truth_[static_cast<std::size_t>(i)] ? 0U : 1U;
      }
    }
    at_.finished.signal(submitted_ - queued_.size());
  }
  /// An access by the processor, if the device is done.
  void use(const access& next) {
    const auto result = next.writes ? at_.tracker.try_prepare_cpu_write(next.offset, next.bytes)
                                    : at_.tracker.try_prepare_cpu_read(next.offset, next.bytes);
    if (!result) {
      REQUIRE(result.busy_until > at_.finished.current_value());
      REQUIRE(result.busy_until <= submitted_);
      return;
    }
    for (std::uint64_t i = next.offset; i < next.offset + next.bytes; ++i) {
      if (next.writes) {
        at_.cache.cpu_write(i, truth_[static_cast<std::size_t>(i)] = next.value);
      } else {
        old_bytes_ += at_.cache.cpu_read(i) == truth_[static_cast<std::size_t>(i)] ? 0U : 1U;
      }
    }
  }

  stand& at_;
  random_numbers& numbers_;
  const bool has_coherent_mapping_;
  std::vector<std::uint8_t> truth_;
  std::deque<access> queued_;
  std::uint64_t submitted_ = 0;
  std::uint64_t old_bytes_ = 0;
};

}  // namespace

TEST_CASE(
    "[B36][B40][B41][B42] random accesses of both sides never read old bytes, while lines are fetched and evicted") {
  random_numbers numbers{fresh_seed()};
  for (int round = 0; round < 60; ++round) {
    stand at{1 + numbers.below(12)};
    random_accesses accesses{at, numbers};
    for (int step = 0; step < 400; ++step) accesses.step();
    CHECK(accesses.old_bytes() == 0);
    CHECK_FALSE(at.cache.was_misaligned());
    CHECK(at.tracker.runs() <= at.cache.lines());
  }
}

TEST_CASE("[B48][B41][B42] nor do random accesses through two mappings, one of which is coherent") {
  random_numbers numbers{fresh_seed()};
  for (int round = 0; round < 60; ++round) {
    stand at{1 + numbers.below(12)};
    random_accesses accesses{at, numbers, true};
    for (int step = 0; step < 600; ++step) accesses.step();
    CHECK(accesses.old_bytes() == 0);
    CHECK_FALSE(at.cache.was_misaligned());
  }
}

// ---- many runs, and failing allocations ----------------------------------------------------------------------------

namespace {

using lines = std::vector<std::uint64_t>;

/// Notes the lines of each operation; refuses one of them when a test says so.
struct noted {
  lines written_back;
  lines invalidated;
  std::uint64_t throws_at = UINT64_MAX;
};
struct noting_cache {
  noted* into;

  void note(lines& to, std::uint64_t offset, std::uint64_t bytes) {
    if (offset / line_bytes == into->throws_at) throw std::runtime_error{"the cache refuses"};
    for (std::uint64_t line = offset / line_bytes; line < (offset + bytes) / line_bytes; ++line) to.push_back(line);
  }
  void write_back(std::uint64_t offset, std::uint64_t bytes) { note(into->written_back, offset, bytes); }
  void invalidate(std::uint64_t offset, std::uint64_t bytes) { note(into->invalidated, offset, bytes); }
};

/// A model that keeps each line by itself.
class line_model {
 public:
  explicit line_model(std::uint64_t count) : lines_(static_cast<std::size_t>(count)) {}

  coherency_result cpu(std::uint64_t first, std::uint64_t end, bool writes, std::uint64_t now, noted& expected) {
    std::uint64_t awaited = 0;
    for (std::uint64_t i = first; i < end; ++i) {
      awaited = std::max({awaited, at(i).written_until, writes ? at(i).read_until : 0});
    }
    if (awaited > now) return busy_until(awaited);
    for (std::uint64_t i = first; i < end; ++i) {
      if (std::exchange(at(i).is_stale, false)) expected.invalidated.push_back(i);
      at(i).is_dirty = at(i).is_dirty || writes;
    }
    return {};
  }
  void device(std::uint64_t first, std::uint64_t end, bool writes, std::uint64_t value, noted& expected) {
    for (std::uint64_t i = first; i < end; ++i) {
      if (std::exchange(at(i).is_dirty, false)) expected.written_back.push_back(i);
      at(i).is_stale = at(i).is_stale || writes;
      std::uint64_t& until = writes ? at(i).written_until : at(i).read_until;
      until = std::max(until, value);
    }
  }

 private:
  struct line {
    bool is_dirty = false;
    bool is_stale = false;
    std::uint64_t written_until = 0;
    std::uint64_t read_until = 0;
  };
  line& at(std::uint64_t i) { return lines_[static_cast<std::size_t>(i)]; }

  std::vector<line> lines_;
};

/// Accesses of mostly few lines, so that there are many runs; now and then one of many lines, which joins them.
class compared_accesses {
 public:
  static constexpr std::uint64_t count = 3'000;

  explicit compared_accesses(random_numbers& numbers) : numbers_{numbers} {
    seen_.written_back.reserve(count);  // so that only the tracker allocates in an access
    seen_.invalidated.reserve(count);
  }

  void step() {
    if (numbers_.below(50) == 0) {
      finished_.signal(now_ += numbers_.below(3));
      return;
    }
    const std::uint64_t first = numbers_.below(count);
    const std::uint64_t most = numbers_.below(400) == 0 ? count - first : std::min(count - first, std::uint64_t{3});
    const std::uint64_t length = 1 + numbers_.below(most);
    const bool writes = numbers_.below(2) == 0;
    const bool by_device = numbers_.below(2) == 0;
    const std::uint64_t value = now_ + numbers_.below(3);
    seen_.written_back.clear();
    seen_.invalidated.clear();
    noted expected;
    const std::size_t runs_before = tracker_.runs();
    next_allocation_fails = numbers_.below(4) == 0;
    try {
      coherency_result result;
      if (by_device) {
        writes ? tracker_.prepare_device_write(first * line_bytes, length * line_bytes, value)
               : tracker_.prepare_device_read(first * line_bytes, length * line_bytes, value);
      } else {
        result = writes ? tracker_.try_prepare_cpu_write(first * line_bytes, length * line_bytes)
                        : tracker_.try_prepare_cpu_read(first * line_bytes, length * line_bytes);
      }
      next_allocation_fails = false;
      const coherency_result expected_result =
          by_device ? prepared : model_.cpu(first, first + length, writes, now_, expected);
      if (by_device) model_.device(first, first + length, writes, value, expected);
      wrong += result != expected_result || seen_.written_back != expected.written_back ||
               seen_.invalidated != expected.invalidated || tracker_.runs() > count;
    } catch (const std::bad_alloc&) {
      ++refused;
      wrong += tracker_.runs() != runs_before || !seen_.written_back.empty() || !seen_.invalidated.empty();
    }
    most_runs = std::max(most_runs, tracker_.runs());
  }

  std::uint64_t wrong = 0;
  std::uint64_t refused = 0;
  std::size_t most_runs = 0;

 private:
  random_numbers& numbers_;
  tidemark::progress_fence finished_;
  noted seen_;
  coherency_tracker<progress_fence, noting_cache> tracker_{
      finished_, {.bytes = count * line_bytes, .line_bytes = line_bytes}, {&seen_}};
  line_model model_{count};
  std::uint64_t now_ = 0;
};

/// Has the processor write every other line.
template <class Tracker>
void make_runs(Tracker& tracker, std::uint64_t count) {
  for (std::uint64_t line = 1; line < count; line += 2) {
    REQUIRE(tracker.try_prepare_cpu_write(line * line_bytes, 1) == prepared);
  }
  REQUIRE(tracker.runs() == count);
}

}  // namespace

TEST_CASE(
    "[B36][B40] hundreds of runs behave as single lines would, and an access that finds no memory changes nothing") {
  random_numbers numbers{fresh_seed()};
  compared_accesses accesses{numbers};
  for (int step = 0; step < 20'000; ++step) accesses.step();
  CHECK(accesses.wrong == 0);
  CHECK(accesses.refused > 0);
  CHECK(accesses.most_runs > 500);
}

TEST_CASE("an access among many runs allocates no more than an access among few") {
  constexpr std::uint64_t count = 20'000;
  stand at{count};
  const std::uint64_t before = allocated_bytes;
  make_runs(at.tracker, count);
  CHECK(allocated_bytes - before < count * 256);
  for (std::uint64_t i = 0; i < 1'000; ++i) {
    const std::uint64_t line = i * 7'919 % (count / 2) * 2;
    REQUIRE(at.tracker.try_prepare_cpu_write(line * line_bytes, 1) == prepared);
    at.tracker.prepare_device_read(line * line_bytes, 1, 0);
  }
  CHECK(at.tracker.runs() == count);
  CHECK(allocated_bytes - before < count * 256 + 1'000 * 2'048);
  at.tracker.prepare_device_read(0, count * line_bytes, 0);
  CHECK(at.tracker.runs() == 1);
}

TEST_CASE(
    "an access that a cache operation has broken off is completed by calling again, for the lines that are left") {
  const tidemark::progress_fence finished;
  noted seen;
  coherency_tracker<progress_fence, noting_cache> tracker{
      finished, {.bytes = 8 * line_bytes, .line_bytes = line_bytes}, {&seen}};
  make_runs(tracker, 8);
  seen.throws_at = 5;
  CHECK_THROWS_AS(tracker.prepare_device_write(0, 8 * line_bytes, 7), std::runtime_error);
  CHECK(seen.written_back == lines{1, 3});
  CHECK(tracker.try_prepare_cpu_write(0, line_bytes) == prepared);  // the device access was not noted
  seen = {};
  tracker.prepare_device_write(0, 8 * line_bytes, 7);
  CHECK(seen.written_back == lines{0, 5, 7});
  CHECK(tracker.try_prepare_cpu_read(0, 8 * line_bytes) == busy_until(7));
  CHECK(tracker.runs() == 1);
}

TEST_CASE("[B40] of the greatest possible memory the last bytes can be tracked, and all bytes at once") {
  struct call {
    std::uint64_t offset;
    std::uint64_t bytes;
    bool operator==(const call&) const = default;
  };
  struct calls_of {
    std::vector<call>* made;
    void write_back(std::uint64_t offset, std::uint64_t bytes) { made->push_back({offset, bytes}); }
    void invalidate(std::uint64_t, std::uint64_t) {}
  };
  using calls = std::vector<call>;
  const tidemark::progress_fence finished;
  calls made;
  coherency_tracker<progress_fence, calls_of> all{finished, {.bytes = UINT64_MAX}, {&made}};
  CHECK(all.try_prepare_cpu_write(UINT64_MAX - 1, 1) == prepared);
  CHECK(all.try_prepare_cpu_write(UINT64_MAX, 1) == prepared);  // the last line is tracked as a whole
  all.prepare_device_read(UINT64_MAX - 100, 101, 0);
  CHECK(made == calls{{UINT64_MAX - 63, 64}});
  made.clear();
  CHECK(all.try_prepare_cpu_write(0, UINT64_MAX) == prepared);
  all.prepare_device_read(0, UINT64_MAX, 0);
  CHECK(made == calls{{0, UINT64_MAX - 63}, {UINT64_MAX - 63, 64}});  // 2^64 bytes
  made.clear();
  coherency_tracker<progress_fence, calls_of> of_bytes{finished, {.bytes = UINT64_MAX, .line_bytes = 1}, {&made}};
  CHECK(of_bytes.try_prepare_cpu_write(UINT64_MAX - 1, 1) == prepared);
  of_bytes.prepare_device_read(0, UINT64_MAX, 0);
  CHECK(made == calls{{UINT64_MAX - 1, 1}});
}

TEST_CASE("[B38][B42] a tracker follows a fence, a view or a timeline of the program's own, and its type is deduced") {
  cache_simulator cache{4, line_bytes};
  const progress_fence uploads;
  user_timeline mine;
  coherency_tracker by_fence{uploads, {.bytes = 64}, simulated_cache{&cache}};
  coherency_tracker by_view{uploads.view(), {.bytes = 64}, simulated_cache{&cache}};
  coherency_tracker tracker{mine, {.bytes = 64, .line_bytes = line_bytes}, simulated_cache{&cache}};
  static_assert(std::is_same_v<decltype(by_fence), coherency_tracker<progress_fence, simulated_cache>>);
  static_assert(std::is_same_v<decltype(by_view), coherency_tracker<tidemark::progress_fence_view, simulated_cache>>);
  static_assert(std::is_same_v<decltype(tracker), coherency_tracker<user_timeline, simulated_cache>>);
  CHECK(by_fence.try_prepare_cpu_write(0, 1));
  CHECK(by_view.try_prepare_cpu_write(0, 1));
  tracker.prepare_device_write(0, 16, 3);
  CHECK(tracker.try_prepare_cpu_read(0, 16) == busy_until(3));
  mine.signal(3);
  CHECK(tracker.try_prepare_cpu_read(0, 16));
  CHECK(cache.take_log() == "I0+1");
}
