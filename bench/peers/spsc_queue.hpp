// SPDX-License-Identifier: BSL-1.0
//
// Peer of the ring log: the single-producer single-consumer queue of Boost. It refuses an entry when it is full, so
// each push is followed by a pop in the same thread, which is the most that it can be given: nothing of it ever leaves
// the cache. Present only where the build found the library (TIDEMARK_HAVE_BOOST).
#pragma once

#ifdef TIDEMARK_HAVE_BOOST

#include <benchmark/benchmark.h>

#include <boost/lockfree/spsc_queue.hpp>

#include "log_arrays.hpp"

namespace bench {

template <class Entry>
class spsc_queue {
 public:
  void append(const Entry& entry) {
    queue_.push(entry);
    Entry popped;
    queue_.pop(popped);
    benchmark::DoNotOptimize(popped);
  }

 private:
  boost::lockfree::spsc_queue<Entry, boost::lockfree::capacity<log_entries>> queue_;
};

}  // namespace bench

#endif
