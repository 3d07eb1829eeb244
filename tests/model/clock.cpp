// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the clock that follows the steady clock by a counter (detail/tsc_clock.hpp): how the pieces of its line
// are handed over. Both clocks are exact here and show the checker's own time, which goes on with each reading: a reading
// that is made of words of two pieces is off. As in ring_log.cpp, storing a word also writes a plain field beside it, so
// that two owners of one slot that nothing orders are reported as a race.
#include "support/model_check.hpp"

#include <tidemark/detail/tsc_clock.hpp>

namespace {

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

struct source {
  std::uint64_t* time = nullptr;

  std::uint64_t counter() const { return *time += 10; }
  std::uint64_t nanoseconds() const { return *time += 10; }
  static bool has_one_speed() { return true; }
};

/// Pieces end after ten readings of the counter, or in one step of a thread.
template <std::size_t Slots>
struct limits {
  static constexpr std::uint64_t longest_piece = 100;
  static constexpr std::uint64_t shortest_baseline = 10;
  static constexpr std::uint64_t long_baseline = 300;
  static constexpr std::uint64_t widest_bracket = 20;
  static constexpr std::uint64_t most_skew = 1'000;
  static constexpr unsigned tries = 2;
  static constexpr std::size_t slots = Slots;
  static constexpr unsigned patience = 1;
};

/// Threads read the clock while its pieces end. Each reading is right, none of a thread is smaller than the one before,
/// and none is smaller than one that happens-before it on another thread.
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
