// SPDX-License-Identifier: BSL-1.0
//
// What the pages of the runner are tried with: executions that fail in each way that a page shows, and an audit of
// three sites. Beside them stands text that means something to a browser: </script><b>bold</b> <!-- <script> "&lt;"
#include <tidemark/verify/check.hpp>

namespace {

using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;
using tidemark::verify::atomic;
using tidemark::verify::expect;
using tidemark::verify::var;

// Thread 0 hands over to thread 1, and that one to thread 2, but without release.
struct relay : tidemark::verify::check<3> {
  var<int> message;
  atomic<int> first{0};
  atomic<int> second{0};

  void thread(unsigned index) {
    if (index == 0) {
      message.store(42);
      first.store(1, memory_order_release);
    } else if (index == 1) {
      if (first.load(memory_order_acquire) == 1) second.store(1, memory_order_relaxed);
    } else if (second.load(memory_order_acquire) == 1) {
      expect(message.load() == 42, "the message is there");
    }
  }
};
const tidemark::verify::twin<relay> three_threads{"a race of three threads"};

// Each thread raises its flag and looks for the other's, without a fence between.
struct dekker : tidemark::verify::check<2> {
  atomic<int> flags[2];
  var<int> inside;

  void before() { inside.store(0); }
  void thread(unsigned index) {
    flags[index].store(1, memory_order_release);
    if (flags[1 - index].load(memory_order_acquire) == 0) inside.store(1 + static_cast<int>(index));
  }
};
const tidemark::verify::twin<dekker> old_values{"old values"};

struct unwoken : tidemark::verify::check<2> {
  atomic<int> word{0};

  void thread(unsigned index) {
    if (index == 0) {
      word.store(1, memory_order_release);
    } else {
      word.wait(0, memory_order_acquire);
    }
  }
};
const tidemark::verify::twin<unwoken> asleep{"nobody wakes it"};

struct hostile : tidemark::verify::check<2> {
  atomic<int> word{0};

  void thread(unsigned index) {
    if (index == 0) {
      word.store(1, memory_order_relaxed);
    } else {
      expect(word.load(memory_order_relaxed) == 0,
             "</script><script>window.broken = 1</script> <img src=x> \\ \"&lt;\"");
    }
  }
};
const tidemark::verify::twin<hostile> text_of_tags{"</title><b>hostile</b> & 'quoted'"};

struct endless : tidemark::verify::check<2> {
  atomic<int> word{0};

  void thread(unsigned index) {
    while (index == 0 || word.load(memory_order_relaxed) == 0) {
      if (index == 0) word.store(0, memory_order_relaxed);
    }
  }
};
const tidemark::verify::twin<endless> without_end{"without end"};

// Its order of release is needed, that of acquire, too, and nobody needs the last one.
struct handed_over : tidemark::verify::check<2> {
  var<int> message;
  atomic<int> ready{0};
  atomic<int> seen{0};

  void thread(unsigned index) {
    if (index == 0) {
      message.store(42);
      ready.store(1, memory_order_release);
    } else if (ready.load(memory_order_acquire) == 1) {
      expect(message.load() == 42, "the message is there");
      seen.store(1, memory_order_seq_cst);
    }
  }
};
const tidemark::verify::checked<handed_over> audited{"handed over"};

}  // namespace
