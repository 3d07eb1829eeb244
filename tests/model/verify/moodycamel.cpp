// SPDX-License-Identifier: BSL-1.0
//
// Queues of somebody else, as they are, with std::atomic and plain elements: https://github.com/cameron314. Compiled
// where they are installed. tests/model/CMakeLists.txt also compiles this file with copies in which one order is too
// weak, and then the check of that queue must fail.
//
// The first queue is used with tokens. Without them it tells threads apart by the address of a thread_local, which is
// an error (thread_locals.cpp).
#include <tidemark/verify/check.hpp>

#if __has_include(<concurrentqueue.h>)
#include <concurrentqueue.h>
#define HAS_CONCURRENT_QUEUE 1
#endif
#if __has_include(<readerwriterqueue.h>)
#include <readerwriterqueue.h>
#define HAS_READER_WRITER_QUEUE 1
#endif

namespace {

using tidemark::verify::check;
using tidemark::verify::expect;

/// Takes up to so many numbers, and fails if one is missing.
template <class Take>
void take_in_order(int most, const Take& take) {
  int last = 0;
  for (int i = 0; i < most; ++i) {
    int found = 0;
    if (!take(found)) continue;
    expect(found == last + 1, "one after the other");
    last = found;
  }
}

#if defined(HAS_CONCURRENT_QUEUE)
/// So small that a few numbers need several blocks.
struct small_blocks : moodycamel::ConcurrentQueueDefaultTraits {
  static const std::size_t BLOCK_SIZE = 2;
  static const std::size_t EXPLICIT_INITIAL_INDEX_SIZE = 2;
};

struct through_concurrent_queue : check<2> {
  moodycamel::ConcurrentQueue<int, small_blocks> values{2, 1, 0};
  moodycamel::ProducerToken producer{values};

  void thread(unsigned index) {
    if (index == 0) {
      for (int n = 1; n <= 3; ++n) expect(values.enqueue(producer, n), "there is room");
    } else {
      take_in_order(3, [&](int& found) { return values.try_dequeue_from_producer(producer, found); });
    }
  }
};

/// Two threads enqueue, and a third one takes from both.
struct through_two_producers : check<3> {
  moodycamel::ConcurrentQueue<int, small_blocks> values{4, 2, 0};
  moodycamel::ProducerToken producers[2] = {moodycamel::ProducerToken{values}, moodycamel::ProducerToken{values}};
  moodycamel::ConsumerToken consumer{values};
  int taken = 0;

  void thread(unsigned index) {
    if (index < 2) {
      expect(values.enqueue(producers[index], 1), "there is room");
      return;
    }
    for (int i = 0; i < 2; ++i) {
      int found = 0;
      if (values.try_dequeue(consumer, found)) taken += found;
    }
  }
  void after() {
    int found = 0;
    while (values.try_dequeue(consumer, found)) taken += found;
    expect(taken == 2, "each is taken once");
  }
};
#endif

#if defined(HAS_READER_WRITER_QUEUE)
struct through_reader_writer_queue : check<2> {
  moodycamel::ReaderWriterQueue<int, 2> values{1};

  void thread(unsigned index) {
    if (index == 0) {
      for (int n = 1; n <= 3; ++n) expect(values.enqueue(n), "there is room");
    } else {
      take_in_order(4, [&](int& found) { return values.try_dequeue(found); });
    }
  }
};
#endif

#ifdef TIDEMARK_PLANTED
const tidemark::verify::twin<TIDEMARK_PLANTED> planted{"planted"};
#else
using tidemark::verify::checked;
#if defined(HAS_CONCURRENT_QUEUE)
const checked<through_concurrent_queue> concurrent_queue{"concurrent_queue"};
const checked<through_two_producers> two_producers{"two_producers"};
#endif
#if defined(HAS_READER_WRITER_QUEUE)
const checked<through_reader_writer_queue> reader_writer_queue{"reader_writer_queue"};
#endif
#endif

}  // namespace
