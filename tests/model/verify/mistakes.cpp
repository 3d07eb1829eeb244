// SPDX-License-Identifier: BSL-1.0
//
// Eight mistakes that people make with atomics, each as a check that finds it, and mended as one that holds. They test
// the check kit, and docs/guide-verify.md shows them. A comment `// NAME: ...` marks the lines of which the printed
// execution must say that they are what went wrong; tests/model/support/check_mistakes.py looks.
#include <tidemark/verify/check.hpp>

namespace {

using namespace tidemark::verify;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

/// For the audit: an operation that no check executes.
[[gnu::noinline, gnu::used]] void look_at(const atomic<int>& spare) { static_cast<void>(spare.load()); }

/// A flag says that a message is there, and does not hand it over.
template <std::memory_order Order>
struct flag : check<2> {
  atomic<bool> ready{false};
  var<int> message;

  void thread(unsigned index) {
    if (index == 0) {
      message.store(42);  // flag: race
      ready.store(true, Order);
    } else if (ready.load(memory_order_acquire)) {
      expect(message.load() == 42, "the message is there");  // flag: race
    }
  }
};
const checked<flag<memory_order_release>> flag_mended{"flag.mended"};
const twin<flag<memory_order_relaxed>> flag_wrong{"flag"};

/// Dekker: each raises its flag and then looks at the other's. Acquire and release do not keep the store before the
/// load.
template <std::memory_order Store, std::memory_order Load>
struct dekker : check<2> {
  atomic<int> first{0};
  atomic<int> second{0};
  atomic<int> inside{0};

  void thread(unsigned index) {
    if (index == 0) {
      first.store(1, Store);  // dekker: newest
      if (second.load(Load) != 0) return;
    } else {
      second.store(1, Store);
      if (first.load(Load) != 0) return;  // dekker: old
    }
    expect(inside.fetch_add(1, memory_order_relaxed) == 0, "nobody else is inside");
  }
};
const checked<dekker<memory_order_seq_cst, memory_order_seq_cst>> dekker_mended{"dekker.mended"};
const twin<dekker<memory_order_release, memory_order_acquire>> dekker_wrong{"dekker"};

/// A sequence lock whose payload is plain: the reader throws away what it has read beside a writer, but it has read it.
template <class Payload>
struct sequence_lock : check<2> {
  atomic<unsigned> sequence{0};
  Payload left;
  Payload right;

  void thread(unsigned index) {
    if (index == 0) {
      sequence.store(1, memory_order_relaxed);
      thread_fence(memory_order_release);
      write(left);
      write(right);
      sequence.store(2, memory_order_release);
    } else {
      const unsigned before = sequence.load(memory_order_acquire);
      const int one = read(left);
      const int other = read(right);
      thread_fence(memory_order_acquire);
      if (before % 2 == 0 && sequence.load(memory_order_relaxed) == before)
        expect(one == other, "both values are of one writing");
    }
  }

 private:
  static void write(atomic<int>& value) { value.store(1, memory_order_relaxed); }
  static void write(var<int>& value) {
    value.store(1);  // sequence_lock: race
  }
  static int read(const atomic<int>& value) { return value.load(memory_order_relaxed); }
  static int read(const var<int>& value) {
    return value.load();  // sequence_lock: race
  }
};
const checked<sequence_lock<atomic<int>>> sequence_lock_mended{"sequence_lock.mended"};
const twin<sequence_lock<var<int>>> sequence_lock_wrong{"sequence_lock"};

/// Treiber's stack: between a thread's look at the top and its exchange, the same node is popped and pushed again, on
/// another next one. A count beside the index tells the two apart.
template <bool Counted>
struct stack : check<2> {
  static constexpr unsigned none = 3;  // 0, 1, 2 are nodes; above stands the count
  atomic<unsigned> top{none};
  atomic<unsigned> next[3];
  atomic<int> owners[3];

  void before() {
    push(2);
    push(1);
    push(0);
  }
  void thread(unsigned index) {
    const unsigned one = pop();
    static_cast<void>(pop());
    if (index == 1) push(one);
  }

 private:
  void push(unsigned node) {
    if (node == none) return;
    owners[node].store(0, memory_order_relaxed);
    unsigned seen = top.load(memory_order_relaxed);
    unsigned wanted = 0;
    do {
      next[node].store(seen % 4, memory_order_relaxed);
      wanted = node + (Counted ? (seen / 4 + 1) * 4 : 0);
    } while (!top.compare_exchange_strong(seen, wanted, memory_order_release, memory_order_relaxed));
  }
  unsigned pop() {
    unsigned seen = top.load(memory_order_acquire);
    unsigned wanted = 0;
    do {
      if (seen % 4 == none) return none;
      wanted = next[seen % 4].load(memory_order_relaxed) + (Counted ? (seen / 4 + 1) * 4 : 0);
    } while (!top.compare_exchange_strong(seen, wanted, memory_order_acquire, memory_order_acquire));  // stack: aba
    expect(owners[seen % 4].exchange(1, memory_order_relaxed) == 0, "nobody else has this node");  // stack: fails
    return seen % 4;
  }
};
const checked<stack<true>> stack_mended{"stack.mended"};
const twin<stack<false>> stack_wrong{"stack"};

/// The deque of Chase and Lev: its owner takes from the bottom, thieves from the top. Each moves its own end and then
/// looks at the other's; between the two a fence is missing.
template <bool Fenced>
struct deque : check<2> {
  atomic<int> top{0};
  atomic<int> bottom{2};
  atomic<int> owners[2];

  void thread(unsigned index) {
    if (index == 0) {
      take();
    } else {
      steal();
      steal();
    }
  }

 private:
  static void fence() {
    if constexpr (Fenced) thread_fence(memory_order_seq_cst);
  }
  void take() {
    const int last = bottom.load(memory_order_relaxed) - 1;
    bottom.store(last, memory_order_relaxed);  // deque: newest
    fence();
    int first = top.load(memory_order_relaxed);
    if (first < last) {
      consume(last);
      return;
    }
    if (first == last && top.compare_exchange_strong(first, first + 1, memory_order_seq_cst, memory_order_relaxed))
      consume(last);
    bottom.store(last + 1, memory_order_relaxed);
  }
  void steal() {
    int first = top.load(memory_order_acquire);
    fence();
    const int last = bottom.load(memory_order_acquire);  // deque: old
    if (first >= last) return;
    if (top.compare_exchange_strong(first, first + 1, memory_order_seq_cst, memory_order_relaxed)) consume(first);
  }
  void consume(int item) {
    expect(owners[item].exchange(1, memory_order_relaxed) == 0, "nobody else has this item");  // deque: fails
  }
};
const checked<deque<true>> deque_mended{"deque.mended"};
const twin<deque<false>> deque_wrong{"deque"};

/// Double-checked locking: the first look is not ordered with what the maker has written.
template <std::memory_order Look>
struct double_checked : check<2> {
  atomic<int> made{0};
  atomic<int> busy{0};
  var<int> object;

  void thread(unsigned) {
    if (made.load(Look) == 0) {
      while (busy.exchange(1, memory_order_acquire) == 1) yield();
      if (made.load(memory_order_relaxed) == 0) {
        object.store(7);  // double_checked: race
        made.store(1, memory_order_release);
      }
      busy.store(0, memory_order_release);
    }
    expect(object.load() == 7, "the object is made");  // double_checked: race
  }
};
const checked<double_checked<memory_order_acquire>> double_checked_mended{"double_checked.mended"};
const twin<double_checked<memory_order_relaxed>> double_checked_wrong{"double_checked"};

/// An event count: who waits looks at the condition before it takes the ticket with which it sleeps.
template <bool TicketFirst>
struct event_count : check<2> {
  atomic<int> condition{0};
  atomic<unsigned> events{0};

  void thread(unsigned index) {
    if (index == 0) {
      condition.store(1);
      events.fetch_add(1);
      events.notify_all();  // event_count: wakes nobody
    } else if constexpr (TicketFirst) {
      const unsigned ticket = events.load();
      if (condition.load() == 0) events.wait(ticket);
    } else if (condition.load() == 0) {
      const unsigned ticket = events.load();
      events.wait(ticket);  // event_count: sleeps
    }
  }
};
const checked<event_count<true>> event_count_mended{"event_count.mended"};
const twin<event_count<false>> event_count_wrong{"event_count"};

/// A hazard pointer: the reader publishes the node that it is about to read, and does not look again whether it is
/// still the one in use. So its owner may have looked at the pointers before.
template <bool LooksAgain>
struct hazard_pointer : check<2> {
  struct node {
    var<int> value{1};
    var<bool> free{false};
  };
  node nodes[2];
  atomic<node*> current{&nodes[0]};
  atomic<node*> hazard{nullptr};

  void thread(unsigned index) {
    if (index == 0) {
      node* const old = current.exchange(&nodes[1]);
      if (hazard.load() != old) old->value.store(0);  // hazard_pointer: race
    } else {
      node* used = current.load();
      hazard.store(used);
      if constexpr (LooksAgain) {
        while (current.load() != used) hazard.store(used = current.load());
      }
      expect(used->value.load() == 1, "the node is in use");  // hazard_pointer: race
      hazard.store(nullptr);
    }
  }
};
const checked<hazard_pointer<true>> hazard_pointer_mended{"hazard_pointer.mended"};
const twin<hazard_pointer<false>> hazard_pointer_wrong{"hazard_pointer"};

}  // namespace
