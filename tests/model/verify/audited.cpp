// SPDX-License-Identifier: BSL-1.0
//
// Checks that hold, for the audit: each of its verdicts belongs to a line here. A comment `// NAME: VERDICT` names the
// worst verdict of the line in the audit of that check; tests/model/support/check_kit.py looks.
#include <tidemark/verify/check.hpp>
#include <tidemark/verify/relacy_platform.hpp>

namespace {

using namespace tidemark::verify;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;

/// An operation that no check executes.
[[gnu::noinline, gnu::used]] void look_at(const atomic<int>& spare) {
  static_cast<void>(spare.load());  // all: never_executed
}

/// Two messages, the second one at needless cost.
struct two_messages : check<2> {
  var<int> message;
  atomic<int> ready{0};
  atomic<int> looks{0};

  void before() {
    ready.store(0, memory_order_release);  // messages: without_effect
  }
  void thread(unsigned index) {
    if (index == 0) {
      message.store(1);
      ready.store(1, memory_order_release);              // messages: needed
      looks.fetch_add(1, memory_order_relaxed);          // messages: already_relaxed
      looks.store(5, memory_order_release);              // messages: not_needed
      looks.store(5, memory_order_release);              // messages: not_needed
    } else if (ready.load(memory_order_acquire) == 1) {  // messages: needed
      expect(message.load() == 1, "the message is there");
    }
  }
};
const checked<two_messages> messages{"messages"};
struct two_messages_in_vain : two_messages {
  void thread(unsigned index) {
    if (index == 1) expect(ready.load(memory_order_acquire) == 1, "they are there at once");
    if (index == 0) two_messages::thread(index);
  }
};
const twin<two_messages_in_vain> messages_in_vain{"messages at once"};

/// Where its order is weakened, it takes more than 200 steps.
struct takes_long : check<2> {
  atomic<int> first{0};
  atomic<int> second{0};

  void thread(unsigned index) {
    if (index == 0) {
      first.store(1, memory_order_relaxed);
      second.store(1, memory_order_release);              // long: cut_off
    } else if (second.load(memory_order_acquire) == 1) {  // long: cut_off
      const int steps = first.load(memory_order_relaxed) == 0 ? 300 : 0;
      for (int i = 0; i < steps; ++i) {
        static_cast<void>(first.load(memory_order_relaxed));  // all: never_executed
      }
    }
  }
};
const checked<takes_long> long_one{"long"};

/// It has too many executions for a search with a thousandth of a second.
struct takes_time : check<2> {
  atomic<int> word{0};

  void thread(unsigned index) {
    for (int i = 0; i < 12; ++i) {
      if (index == 0) {
        word.store(i, memory_order_release);  // time: cut_off
      } else {
        static_cast<void>(word.load(memory_order_relaxed));
      }
    }
  }
};
const checked<takes_time> time_one{"time"};

/// One line has two orders, of which the weaker one is not needed.
struct has_two_orders : check<2> {
  var<int> message;
  atomic<int> ready{0};
  atomic<int> spare{0};

  void thread(unsigned index) {
    if (index == 0) {
      message.store(1);
      put<memory_order_release>(spare);
      put<std::memory_order_seq_cst>(ready);
    } else if (ready.load(memory_order_acquire) == 1) {
      expect(message.load() == 1, "the message is there");
    }
  }

 private:
  template <std::memory_order Order>
  static void put(atomic<int>& word) {
    word.store(1, Order);
  }
};
const checked<has_two_orders> orders{"orders"};

/// Each one counts, and nobody concludes anything from the number.
struct counts : check<2> {
  atomic<int> number{0};

  void thread(unsigned) {
    number.fetch_add(1);  // counter: not_needed
  }
};
const checked<counts> counter{"counter"};

/// Two words say that the message is there, and one of them could be relaxed.
struct says_it_twice : check<2> {
  var<int> message;
  atomic<int> one{0};
  atomic<int> other{0};

  void thread(unsigned index) {
    if (index == 0) {
      message.store(1);
      one.store(1, memory_order_release);                   // twice: not_needed
      other.store(1, memory_order_release);                 // twice: not_needed
    } else if (one.load(memory_order_acquire) == 1          // twice: not_needed
               && other.load(memory_order_acquire) == 1) {  // twice: not_needed
      expect(message.load() == 1, "the message is there");
    }
  }
};
const checked<says_it_twice> twice{"twice"};

/// Only the compiler could move what this barrier holds back.
struct has_a_barrier : check<2> {
  atomic<int> words[2];

  void thread(unsigned index) {
    words[index].store(1, memory_order_relaxed);
    tidemark::relacy_platform::light_barrier();  // barrier: unmodelled
    static_cast<void>(words[1 - index].load(memory_order_relaxed));
  }
};
const checked<has_a_barrier> barrier{"barrier"};

}  // namespace
