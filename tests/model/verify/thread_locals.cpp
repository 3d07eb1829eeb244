// SPDX-License-Identifier: BSL-1.0
//
// A program with a thread_local, which no execution of it can follow: the threads of a check would share it.
#include <tidemark/verify/check.hpp>

#include <atomic>

thread_local int uses_of_this_thread = 0;

namespace {

struct counts_in_a_thread_local : tidemark::verify::check<2> {
  std::atomic<int> word{0};
  void thread(unsigned) {
    uses_of_this_thread += 1;
    word.fetch_add(1);
  }
};
const tidemark::verify::checked<counts_in_a_thread_local> counts{"counts"};

}  // namespace
