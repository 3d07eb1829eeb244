// SPDX-License-Identifier: BSL-1.0
//
// Checks of the checker's own platform. What a platform promises must hold under it. What a platform does not promise
// must be seen to fail; twins.table names these checks.
#include "support/model_check.hpp"

namespace {

using platform = tidemark::TIDEMARK_MODEL_PLATFORM;
using word = platform::atomic<std::uint64_t>;
using payload = platform::var<int>;

constexpr auto no_deadline = tidemark::no_deadline;

/// Two threads store, and then each loads what the other stores. With sequentially consistent accesses at least one
/// of them sees the other's store.
struct store_then_load : model::suite<2> {
  word stored[2];
  std::uint64_t seen[2] = {};

  void thread(unsigned index) {
    // (SEAM1): alone: the site that a twin weakens.
    stored[index].store(1, std::memory_order_seq_cst);
    seen[index] = stored[1 - index].load(std::memory_order_seq_cst);
  }
  void after() { MODEL_REQUIRE(seen[0] + seen[1] != 0); }
};

/// The same with an asymmetric pair of barriers.
struct asymmetric_store_then_load : model::suite<2> {
  word stored[2];
  std::uint64_t seen[2] = {};

  void thread(unsigned index) {
    stored[index].store(1, std::memory_order_relaxed);
    index == 0 ? platform::light_barrier() : static_cast<void>(platform::heavy_barrier());
    seen[index] = stored[1 - index].load(std::memory_order_relaxed);
  }
  void after() { MODEL_REQUIRE(seen[0] + seen[1] != 0); }
};

/// Light barriers on both sides order nothing. This check must fail.
struct light_barriers_only : model::suite<2> {
  word stored[2];
  std::uint64_t seen[2] = {};

  void thread(unsigned index) {
    stored[index].store(1, std::memory_order_relaxed);
    platform::light_barrier();
    seen[index] = stored[1 - index].load(std::memory_order_relaxed);
  }
  void after() { MODEL_REQUIRE(seen[0] + seen[1] != 0); }
};

/// A thread that changes the word of a sleeper and then unparks wakes it.
struct park_and_unpark : model::suite<2> {
  platform::park_word wakes;

  void thread(unsigned index) {
    if (index == 0) {
      wakes.store(1, std::memory_order_relaxed);
      platform::unpark(wakes, 1);
    } else {
      while (wakes.load(std::memory_order_relaxed) == 0) platform::park(wakes, 0, no_deadline);
    }
  }
};

/// No thread unparks the sleeper. This check must deadlock.
struct park_without_unpark : model::suite<2> {
  platform::park_word wakes;

  void thread(unsigned index) {
    if (index == 0) {
      wakes.store(1, std::memory_order_relaxed);
    } else {
      while (wakes.load(std::memory_order_relaxed) == 0) platform::park(wakes, 0, no_deadline);
    }
  }
};

/// The sleeper is unparked by a word on which it does not sleep. This check must deadlock.
struct park_on_another_word : model::suite<2> {
  platform::park_word wakes[2];

  void thread(unsigned index) {
    if (index == 0) {
      wakes[1].store(1, std::memory_order_relaxed);
      platform::unpark(wakes[1], 1);
    } else {
      while (wakes[1].load(std::memory_order_relaxed) == 0) platform::park(wakes[0], 0, no_deadline);
    }
  }
};

/// Parking and unparking hand nothing over. This check must be a race.
struct parking_synchronizes_nothing : model::suite<2> {
  platform::park_word wakes;
  payload data;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(1);
      wakes.store(1, std::memory_order_relaxed);
      platform::unpark(wakes, 1);
    } else {
      while (wakes.load(std::memory_order_relaxed) == 0) platform::park(wakes, 0, no_deadline);
      static_cast<void>(data.load());
    }
  }
};

/// A torn pair, which was read with an old version beside a new value, can't be exchanged. So a pair that was exchanged
/// was not torn.
struct torn_pair_is_refused : model::suite<2> {
  platform::double_word pair{0};

  void thread(unsigned index) {
    if (index == 0) {
      tidemark::versioned seen = pair.load(std::memory_order_seq_cst);
      pair.compare_exchange_strong(seen, {seen.value + 10, seen.version + 1}, std::memory_order_seq_cst,
                                   std::memory_order_relaxed);
    } else {
      tidemark::versioned seen = pair.load(std::memory_order_seq_cst);
      const bool whole = seen.value == seen.version * 10;
      const bool exchanged = pair.compare_exchange_strong(seen, {seen.value + 10, seen.version + 1},
                                                          std::memory_order_seq_cst, std::memory_order_relaxed);
      MODEL_REQUIRE(whole || !exchanged);
    }
  }
};

/// Torn pairs do occur. This check must fail.
struct pairs_are_never_torn : model::suite<2> {
  platform::double_word pair{0};

  void thread(unsigned index) {
    tidemark::versioned seen = pair.load(std::memory_order_seq_cst);
    if (index == 0) {
      pair.compare_exchange_strong(seen, {10, 1}, std::memory_order_seq_cst, std::memory_order_relaxed);
    } else {
      MODEL_REQUIRE(seen.value == seen.version * 10);
    }
  }
};

/// A strong exchange does not fail spuriously, unless the seam says so.
struct strong_exchange : model::suite<1> {
  platform::double_word pair{0};

  void thread(unsigned) {
    tidemark::versioned seen = pair.load(std::memory_order_seq_cst);
    // (SEAM2): alone: the site that a twin weakens.
    MODEL_REQUIRE(pair.compare_exchange_strong(seen, {1, 1}, std::memory_order_seq_cst, std::memory_order_relaxed));
  }
};

}  // namespace

int main(int argc, char** argv) {
  return model::run(argc, argv,
                    {
                        model::make_check<store_then_load, "store_then_load">(),
                        model::make_check<asymmetric_store_then_load, "asymmetric_store_then_load">(),
                        model::make_check<light_barriers_only, "light_barriers_only">(),
                        model::make_check<park_and_unpark, "park_and_unpark">(),
                        model::make_check<park_without_unpark, "park_without_unpark">(),
                        model::make_check<park_on_another_word, "park_on_another_word">(),
                        model::make_check<parking_synchronizes_nothing, "parking_synchronizes_nothing">(),
                        model::make_check<torn_pair_is_refused, "torn_pair_is_refused">(),
                        model::make_check<pairs_are_never_torn, "pairs_are_never_torn">(),
                        model::make_check<strong_exchange, "strong_exchange">(),
                    });
}
