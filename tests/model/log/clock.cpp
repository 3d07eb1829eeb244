// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the clock that follows the steady clock by a counter (log/detail/tsc_clock.hpp): how the pieces of
// its line are handed over. Both clocks are exact here and show the checker's own time, which advances with each
// reading. So a reading that is made of words of two pieces is wrong. If nothing orders two owners of one slot, the
// checker reports a race (owned_words.hpp).
#include "support/model_check.hpp"
#include "support/owned_words.hpp"

#include <tidemark/log/detail/tsc_clock.hpp>

namespace {

using base = tidemark::TIDEMARK_MODEL_PLATFORM;
using platform = model::owned_words<base>;
using payload = platform::var<std::uint64_t>;

struct source {
  std::uint64_t* time = nullptr;

  std::uint64_t counter() const { return *time += 10; }
  std::uint64_t nanoseconds() const { return *time += 10; }
  static bool has_one_speed() { return true; }
};

/// A piece ends after ten readings of the counter, or when a thread advances the time.
template <std::size_t Slots>
struct limits {
  static constexpr std::uint64_t longest_piece = 100;
  static constexpr std::uint64_t shortest_baseline = 10;
  static constexpr std::uint64_t long_baseline = 300;
  static constexpr std::uint64_t widest_bracket = 20;
  static constexpr std::uint64_t most_skew = 1'000;
  static constexpr unsigned tries = 2;
  static constexpr std::size_t slot_count = Slots;
  static constexpr unsigned patience = 1;
};

/// Threads read the clock while its pieces end. Each reading is right. No reading is smaller than an earlier one of the
/// same thread, or than one of another thread that happens-before it.
template <unsigned Threads, std::size_t Slots, unsigned Readings>
struct pieces_end : model::suite<Threads> {
  std::uint64_t time = 1'000;
  tidemark::detail::counter_clock<source, platform, limits<Slots>> clock{source{&time}};
  base::atomic<std::uint64_t> shown{0};
  payload handed;

  void before() {
    for (int reading = 0; reading < 3; ++reading) {  // until the speed is known
      read(0);
      time += 120;
    }
  }
  void thread(unsigned index) {
    const std::uint64_t before = shown.load(std::memory_order_acquire);
    if (before != 0) MODEL_REQUIRE(handed.load() == before);
    std::uint64_t last = before;
    for (unsigned reading = 0; reading < Readings; ++reading) {
      last = read(last);
      if (index == 0 && reading == 0) {
        handed.store(last);
        shown.store(last, std::memory_order_release);
      }
      time += 120;
    }
  }
  void after() {
    read(shown.load(std::memory_order_acquire));
    MODEL_REQUIRE(Slots < Threads + 1 || clock.uses_counter());
  }

  std::uint64_t read(std::uint64_t last) {
    const std::uint64_t begin = time;
    const std::uint64_t found = clock.now();
    MODEL_REQUIRE(found + 1 >= begin);
    MODEL_REQUIRE(found <= time + 1);
    MODEL_REQUIRE(found >= last);
    return found;
  }
};

}  // namespace

int main(int argc, char** argv) {
  return model::run(argc, argv,
                    {
                        model::make_check<pieces_end<2, 3, 1>, "one_piece_ends">(),
                        model::make_check<pieces_end<2, 3, 2>, "pieces_end">(),
                        model::make_check<pieces_end<3, 4, 1>, "pieces_end.three_threads">(),
                        model::make_check<pieces_end<3, 2, 1>, "no_slot_left">(),
                    });
}
