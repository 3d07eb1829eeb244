// SPDX-License-Identifier: BSL-1.0
//
// Rename rings under load: an executor reads what threads have written, a few frames later, while those threads
// discard, append without overwriting and trim. Words that the executor has read are forbidden until they are mapped
// again, so that AddressSanitizer finds every use of them meanwhile; and each word says to which frame it belongs.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include <tidemark/memory/rename_ring.hpp>

#include "support/poison.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::map_mode;
using tidemark::writers;

namespace {

constexpr std::size_t words_in_half = 32;
using half = std::span<std::uint64_t, words_in_half>;

struct area {
  std::array<std::uint64_t, 2 * words_in_half> words{};

  half first() { return half{words.data(), words_in_half}; }
  half second() { return half{words.data() + words_in_half, words_in_half}; }
};

struct area_source {
  using backing = area*;

  backing create(const tidemark::backing_traits&) noexcept { return new area; }
  void destroy(backing made, const tidemark::backing_traits&) noexcept {
    allow(std::span{made->words});
    delete made;
  }
};

/// Reads what it is given, in the order of the serials, and signals each serial.
class executor {
 public:
  explicit executor(std::uint64_t frames)
      : commands_(static_cast<std::size_t>(frames + 1)), thread_{[this] { run(); }} {}
  ~executor() { thread_.join(); }

  /// Submits work that reads `what`, all words of which are the serial that is returned.
  std::uint64_t submit(half what) {
    const std::uint64_t serial = last_.fetch_add(1, std::memory_order_relaxed) + 1;
    for (std::uint64_t& word : what) word = serial;
    commands_[static_cast<std::size_t>(serial)].what = what.data();
    commands_[static_cast<std::size_t>(serial)].is_there.store(true, std::memory_order_release);
    return serial;
  }
  /// Nothing more will be submitted: the serials that are left are empty.
  void close() {
    while (last_.load() + 1 < commands_.size()) {
      commands_[static_cast<std::size_t>(last_.fetch_add(1) + 1)].is_there.store(true, std::memory_order_release);
    }
  }

  const auto& progress() const { return progress_; }
  std::uint64_t wrong_words() {
    thread_.join();
    thread_ = std::thread{[] {}};
    return wrong_words_;
  }

 private:
  struct command {
    std::atomic<bool> is_there{false};
    std::uint64_t* what = nullptr;
  };

  void run() {
    for (std::uint64_t serial = 1; serial < commands_.size(); ++serial) {
      const command& next = commands_[static_cast<std::size_t>(serial)];
      await([&] { return next.is_there.load(std::memory_order_acquire); });
      if (next.what != nullptr) {
        const half words{next.what, words_in_half};
        for (const std::uint64_t word : words) wrong_words_ += word == serial ? 0U : 1U;
        forbid(words);
      }
      progress_.signal(serial);
    }
  }

  tidemark::progress_fence progress_;
  std::vector<command> commands_;
  std::atomic<std::uint64_t> last_{0};
  std::uint64_t wrong_words_ = 0;
  std::thread thread_;
};

struct totals {
  std::uint64_t renamed = 0;
  std::uint64_t appended = 0;
  std::uint64_t refused = 0;
  std::uint64_t unmatched = 0;
};

/// Maps frames with one thread. Each frame discards; some append in the second half while the first one is still
/// mapped.
template <class Ring>
totals map_frames(Ring& ring, executor& device, std::uint64_t frames, std::uint64_t seed) {
  random_numbers numbers{seed};
  totals done;
  for (std::uint64_t frame = 0; frame < frames; ++frame) {
    const auto mapped = ring.map(map_mode::discard);
    if (!mapped) {
      ++done.refused;
      continue;
    }
    done.renamed += mapped.renamed ? 1U : 0U;
    allow(std::span{mapped.memory->words});
    const std::uint64_t serial = device.submit(mapped.memory->first());
    if (numbers.below(2) == 0) {
      const auto again = ring.map(map_mode::no_overwrite);
      // Another thread may have discarded since: then this backing is that thread's.
      if (again.memory == mapped.memory) {
        done.unmatched += ring.retire(again, device.submit(again.memory->second())) ? 0U : 1U;
        ++done.appended;
      } else {
        done.unmatched += ring.unmap(again) ? 0U : 1U;
      }
    }
    done.unmatched += ring.retire(mapped, serial) ? 0U : 1U;
    if (numbers.below(64) == 0) ring.trim(1 + numbers.below(std::size_t{3}));
  }
  return done;
}

template <writers Writers>
void check_frames(unsigned threads, std::uint64_t frames) {
  const std::uint64_t seed = fresh_seed();
  executor device{threads * frames * 2};
  const auto dog = watch(device.progress());
  tidemark::rename_ring<tidemark::progress_fence, area_source, Writers> ring{device.progress(),
                                                                             {.max_renames = threads + 2}};
  std::vector<totals> done(threads);
  std::vector<std::thread> others;
  for (unsigned i = 0; i < threads; ++i) {
    others.emplace_back([&, i] { done[i] = map_frames(ring, device, frames, seed + i); });
  }
  for (std::thread& other : others) other.join();
  device.close();
  CHECK(device.wrong_words() == 0);
  for (const totals& one : done) {
    CHECK(one.refused == 0);  // each thread has one backing at most, and there are more backings
    CHECK(one.unmatched == 0);
    CHECK(one.renamed > 0);
    CHECK(one.appended > 0);
  }
}

}  // namespace

TEST_CASE(
    "[B5][B8][B9][trap 26] no backing is written while the executor reads it, or used after the executor is done with "
    "it") {
  check_frames<writers::one>(1, 20'000);
}

TEST_CASE("[B5][B8][B9][B43][B44][trap 26] the same with three threads that map and trim at the same time") {
  check_frames<writers::several>(3, 10'000);
}
