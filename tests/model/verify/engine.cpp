// SPDX-License-Identifier: BSL-1.0
//
// What the platforms are made of: pairs of words, fences of the whole process, sleeping and choices. The rest of
// engine.hpp is tested through check.hpp and sync.hpp.
#include <tidemark/verify/check.hpp>
#include <tidemark/verify/engine.hpp>

#include <cstdint>

namespace {

using namespace tidemark::verify;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;

source_position here(source_position at = source_position::current()) { return at; }

/// A pair is exchanged as a whole, and its words are loaded one by one.
template <bool ExpectsWhole>
struct pair_is_torn : check<2> {
  engine::word_pair pair{0};

  void thread(unsigned index) {
    if (index == 0) {
      std::uint64_t expected[2] = {0, 0};
      expect(pair.compare_exchange(expected, {7, 1}, memory_order_acq_rel, memory_order_acquire, here()),
             "it was 0, 0");
      return;
    }
    const std::uint64_t first = pair.load_first(memory_order_acquire, here());
    const std::uint64_t second = pair.load_second(memory_order_acquire, here());
    if (ExpectsWhole) expect(first == 7 || second == 0, "nobody sees a half");
    // The first word is exchanged first.
    if (second == 1) expect(pair.load_first(memory_order_acquire, here()) == 7, "and the first one is there, too");
  }
};
const checked<pair_is_torn<false>> pair{"pair"};
const twin<pair_is_torn<true>> torn_pair{"torn_pair"};

/// Of two that expect the same pair one wins, and the other one learns what it has found.
struct one_exchange_wins : check<2> {
  engine::word_pair pair{0};
  atomic<unsigned> winners{0};

  void thread(unsigned index) {
    std::uint64_t expected[2] = {0, 0};
    const std::uint64_t desired[2] = {index + 1, 1};
    if (pair.compare_exchange(expected, desired, memory_order_acq_rel, memory_order_acquire, here())) {
      winners.fetch_add(1, memory_order_relaxed);
    } else {
      expect(expected[0] == 2 - index && expected[1] == 1, "what the other one has written");
    }
  }
  void after() { expect(winners.load() == 1, "one has won"); }
};
const checked<one_exchange_wins> exchange{"exchange"};

/// A fence of the whole process orders the relaxed operations of a thread that issues none.
template <bool Fences>
struct fence_everywhere : check<2> {
  atomic<int> words[2];
  atomic<int> missed{0};

  void thread(unsigned index) {
    words[index].store(1, memory_order_relaxed);
    if (Fences && index == 1) engine::everywhere_fence(here());
    if (words[1 - index].load(memory_order_relaxed) == 0) missed.fetch_add(1, memory_order_relaxed);
  }
  void after() { expect(missed.load() < 2, "one of them has seen the other"); }
};
const checked<fence_everywhere<true>> everywhere{"everywhere"};
const twin<fence_everywhere<false>> no_fence{"no_fence"};

/// A sleeper is woken, or its deadline passes; sleeping hands nothing over.
template <bool HandsOver>
struct sleeps : check<2> {
  atomic<int> word{0};
  var<int> message;

  void thread(unsigned index) {
    if (index == 0) {
      message.store(42);
      word.store(1, HandsOver ? std::memory_order_release : memory_order_relaxed);
      word.unpark(1);
    } else {
      while (word.load(HandsOver ? memory_order_acquire : memory_order_relaxed) == 0) word.park(0, false);
      expect(message.load() == 42, "the message is there");
    }
  }
};
const checked<sleeps<true>> sleep{"sleep"};
const twin<sleeps<false>> sleep_hands_nothing_over{"sleep_hands_nothing_over"};

struct deadline_passes : check<2> {
  atomic<int> word{0};
  void thread(unsigned index) {
    if (index == 0) return static_cast<void>(word.load());
    expect(word.park(0, true), "nobody wakes it, and so this is false");
  }
};
const twin<deadline_passes> deadline{"deadline"};

/// Each number below the limit is tried.
struct chooses : check<2> {
  atomic<unsigned> word{0};
  void thread(unsigned index) {
    if (index == 0) word.store(engine::choose(3));
    expect(word.load() != 2, "2 is one of them");
  }
};
const twin<chooses> choice{"choice"};

}  // namespace
