// SPDX-License-Identifier: BSL-1.0
//
// Checks of the checker's own fallbacks: the lock-based double word and the lots in which threads sleep, made of
// Relacy's mutex and condition variable. One check must fail; twins.table names it.
#include "support/model_check.hpp"

namespace {

using platform = tidemark::TIDEMARK_MODEL_PLATFORM;
using payload = platform::var<int>;

constexpr auto no_deadline = tidemark::no_deadline;

/// A thread that changes the word of a sleeper and then unparks wakes it. It is told that it has woken a thread only if
/// that one had begun to sleep.
struct park_and_unpark : model::suite<2> {
  platform::park_word wakes;
  payload data;
  bool has_begun = false;
  bool has_woken = false;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      wakes.store(1, std::memory_order_release);
      has_woken = platform::unpark(wakes, 1);
    } else {
      while (wakes.load(std::memory_order_acquire) == 0) {
        has_begun = true;
        platform::park(wakes, 0, no_deadline);
      }
      MODEL_REQUIRE(data.load() == 42);
    }
  }
  void after() { MODEL_REQUIRE(!has_woken || has_begun); }
};

/// The word changes and no thread unparks. This check must deadlock.
struct park_without_unpark : model::suite<2> {
  platform::park_word wakes;

  void thread(unsigned index) {
    if (index == 0) {
      wakes.store(1, std::memory_order_release);
    } else {
      while (wakes.load(std::memory_order_acquire) == 0) platform::park(wakes, 0, no_deadline);
    }
  }
};

/// Two threads exchange the same pair. One of them fails, finds what the other one wrote, and sees what it did before.
struct one_exchange_wins : model::suite<2> {
  platform::double_word pair{0};
  payload data[2];
  bool won[2] = {};

  void thread(unsigned index) {
    data[index].store(static_cast<int>(index) + 7);
    tidemark::versioned seen{0, 0};
    won[index] =
        pair.compare_exchange_strong(seen, {index + 10, 1}, std::memory_order_seq_cst, std::memory_order_acquire);
    if (won[index]) return;
    MODEL_REQUIRE((seen == tidemark::versioned{11 - index, 1}));
    MODEL_REQUIRE(data[1 - index].load() == static_cast<int>(1 - index) + 7);
  }
  void after() { MODEL_REQUIRE(won[0] != won[1]); }
};

}  // namespace

int main(int argc, char** argv) {
  return model::run(argc, argv,
                    {
                        model::make_check<park_and_unpark, "park_and_unpark">(),
                        model::make_check<park_without_unpark, "park_without_unpark">(),
                        model::make_check<one_exchange_wins, "one_exchange_wins">(),
                    });
}
