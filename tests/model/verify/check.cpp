// SPDX-License-Identifier: BSL-1.0
//
// What goes wrong in checks themselves, and must never pass in silence. tests/model/support/check_kit.py plays each and
// looks at what it says.
#include <tidemark/verify/check.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

using namespace tidemark::verify;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;

/// The checker does not see the atomics of the standard library.
struct uses_std_atomic : check<2> {
  std::atomic<int> ready{0};
  int message = 0;

  void thread(unsigned index) {
    if (index == 0) {
      message = 42;
      ready.store(1, memory_order_relaxed);
    } else if (ready.load(memory_order_relaxed) == 1) {
      expect(message == 42, "the message is there");
    }
  }
};
const checked<uses_std_atomic> std_atomic{"std_atomic"};

/// Each thread has a word of its own.
struct shares_nothing : check<2> {
  atomic<int> words[2];
  void thread(unsigned index) { words[index].store(1); }
};
const checked<shares_nothing> nothing_shared{"nothing_shared"};

template <class Operation>
struct one_operation : check<2> {
  atomic<int> word{0};
  void thread(unsigned) { Operation::on(word); }
};
struct load_with_release {
  static void on(const atomic<int>& word) {
    static_cast<void>(word.load(memory_order_release));  // on a line of its own, because it is looked for
  }
};
struct store_with_acquire {
  static void on(atomic<int>& word) {
    word.store(1, memory_order_acquire);  // likewise
  }
};
struct exchange_that_fails_with_release {
  static void on(atomic<int>& word) {
    int expected = 0;
    word.compare_exchange_strong(expected, 1, memory_order_relaxed, memory_order_release);
  }
};
const checked<one_operation<load_with_release>> wrong_load{"wrong_load"};
const checked<one_operation<store_with_acquire>> wrong_store{"wrong_store"};
const checked<one_operation<exchange_that_fails_with_release>> wrong_exchange{"wrong_exchange"};

/// A static keeps what an earlier execution has left.
struct keeps_a_static : check<2> {
  void thread(unsigned) {
    static atomic<int> kept{0};
    kept.fetch_add(1);
  }
};
const checked<keeps_a_static> static_word{"static_word"};

/// Fails in one execution only, whatever the checker does.
struct is_not_deterministic : check<2> {
  atomic<int> word{0};
  void thread(unsigned) {
    static int executions = 0;
    word.fetch_add(1);
    expect(++executions != 5, "it is not the fifth time");
  }
};
const checked<is_not_deterministic> not_deterministic{"not_deterministic"};

/// What is allocated must be freed, whatever its alignment; and once.
template <class T, bool Freed>
struct allocates : check<2> {
  atomic<T*> made{nullptr};
  void thread(unsigned index) {
    if (index == 0) made.store(new T{});
    static_cast<void>(made.load());
  }
  void after() {
    if (Freed) delete made.load();
  }
};
struct alignas(128) wide {
  std::uint64_t value = 0;
};
const twin<allocates<std::uint64_t, false>> leak{"leak", fails_by::leak};
const twin<allocates<std::uint64_t, false>> another_failure{"another_failure", fails_by::race};
const twin<allocates<wide, false>> wide_leak{"wide_leak"};
const checked<allocates<std::uint64_t, true>> freed{"freed"};
const checked<allocates<wide, true>> wide_freed{"wide_freed"};
struct frees_twice : check<2> {
  atomic<int> word{0};
  void thread(unsigned) { word.fetch_add(1); }
  void after() {
    auto* const memory = new std::uint64_t{0};
    delete memory;
    delete memory;
  }
};
const twin<frees_twice> double_free{"double_free"};

/// What was destroyed must not be used again, nor what a null pointer points to.
template <bool IsNull>
struct uses_what_is_gone : check<2> {
  struct node {
    int first = 0;
    atomic<int> word{0};
    var<int> field;
  };
  atomic<node*> shared{nullptr};

  void thread(unsigned index) {
    if (index == 1) return static_cast<void>(shared.load());
    auto* const made = new node;
    shared.store(made);
    delete made;
    const node* const gone = IsNull ? nullptr : made;
    static_cast<void>(gone->word.load());
  }
};
const twin<uses_what_is_gone<false>> used_freed{"used_freed"};
const twin<uses_what_is_gone<true>> used_null{"used_null"};

/// A shared pointer counts as in a program of several threads, and its memory belongs to the execution.
struct uses_the_library : check<2> {
  atomic<int> word{0};
  std::shared_ptr<std::vector<int>> shared = std::make_shared<std::vector<int>>(3, 7);
  void thread(unsigned) { word.fetch_add((*shared)[0]); }
  void after() { expect(word.load() == 14, "both have added"); }
};
const checked<uses_the_library> library{"library"};

/// A field is destroyed while another thread may read it. A write in its place would be a race, and so is this.
template <std::memory_order Order>
struct counts_references : check<2> {
  struct box {
    var<int> value{1};
  };
  box* shared = nullptr;
  atomic<int> references{2};

  void before() { shared = new box; }
  void thread(unsigned) {
    static_cast<void>(shared->value.load());
    if (references.fetch_sub(1, Order) == 1) delete shared;
  }
};
const checked<counts_references<std::memory_order_acq_rel>> references{"references"};
const twin<counts_references<memory_order_relaxed>> references_relaxed{"references_relaxed"};

/// Depends on what the checker does not decide.
struct throws_dice : check<2> {
  atomic<int> word{0};
  void thread(unsigned) {
    static unsigned calls = 0;
    if ((++calls / 7) % 2 == 0) static_cast<void>(word.load());
    word.fetch_add(1);
  }
};
const checked<throws_dice> dice{"dice"};

/// Starts a thread of the system, which the checker can't follow.
struct starts_thread : check<2> {
  atomic<int> word{0};
  void thread(unsigned) {
    std::thread{[this] { word.store(1); }}.join();
  }
};
const checked<starts_thread> started_thread{"started_thread"};

/// Uses a null pointer.
struct uses_null_pointer : check<2> {
  atomic<int> word{0};
  int* volatile nothing = nullptr;
  void thread(unsigned) {
    word.fetch_add(1);
    *nothing = 1;
  }
};
const checked<uses_null_pointer> null_pointer{"null_pointer"};

/// Has more on its stack than there is.
struct needs_a_great_stack : check<2> {
  atomic<int> word{0};
  void thread(unsigned) {
    volatile char bytes[100'000];
    for (unsigned i = 0; i < sizeof bytes; i += 1'000) bytes[i] = 1;
    word.fetch_add(bytes[0]);
  }
};
const checked<needs_a_great_stack> great_stack{"great_stack"};

/// An exception leaves the check.
struct throws : check<2> {
  atomic<int> word{0};
  void thread(unsigned index) {
    if (word.fetch_add(1) == 1 && index == 0) throw std::runtime_error{"too late"};
  }
};
const checked<throws> exception{"exception"};

/// Spins without a pause.
struct spins_for_ever : check<2> {
  atomic<int> word{0};
  void thread(unsigned index) {
    if (index == 0) return;
    while (word.load() == 0) yield();
  }
};
const twin<spins_for_ever> livelock{"livelock"};

/// Waits for another thread of the simulation by means that the checker does not see.
struct waits_unseen : check<2> {
  atomic<int> word{0};
  std::atomic<int> unseen{0};
  void thread(unsigned index) {
    word.fetch_add(1);
    if (index == 0) unseen.store(1);
    while (unseen.load() == 0) {
    }
  }
};
const twin<waits_unseen> hang{"hang"};

/// Each operation, on each type: the values are those of std::atomic.
struct has_the_operations : check<1> {
  atomic<std::uint8_t> byte{250};
  atomic<int> number{-3};
  atomic<int*> pointer{nullptr};
  atomic<bool> flag{false};
  var<int> plain{3};
  int field[3] = {};

  void thread(unsigned) {
    expect(byte.fetch_add(10) == 250 && byte.load() == 4, "an addition wraps at the width of its type");
    expect(byte.fetch_sub(5) == 4 && byte.load() == 255, "and a subtraction");
    expect(byte.fetch_and(0x0f) == 255 && byte.fetch_or(0x30) == 0x0f && byte.fetch_xor(0xff) == 0x3f, "bits");
    expect(byte.load() == 0xc0, "all of them");
    expect(number.fetch_add(5) == -3 && number.load() == 2, "signed");
    expect(number.exchange(-9) == 2 && number.load() == -9, "exchanged");
    pointer.store(&field[1]);
    expect(pointer.fetch_add(1) == &field[1] && pointer.fetch_sub(2) == &field[2], "a pointer counts elements");
    expect(pointer.load() == &field[0], "down to the first");
    int expected = 1;
    expect(!number.compare_exchange_strong(expected, 5) && expected == -9, "it says what it has found");
    expect(number.compare_exchange_strong(expected, 5) && number.load() == 5, "and then exchanges");
    expect(!flag.exchange(true) && flag.load(), "a flag");
    expect(plain++ == 3 && ++plain == 5 && plain-- == 5 && --plain == 3, "a plain field counts");
  }
};
const checked<has_the_operations> operations{"operations"};

/// Three threads, and four.
template <unsigned Threads>
struct counts : check<Threads> {
  atomic<unsigned> word{0};
  void thread(unsigned index) { word.fetch_add(1u << (4 * index)); }
  void after() {
    unsigned all = 0;
    for (unsigned i = 0; i < Threads; ++i) all += 1u << (4 * i);
    expect(word.load() == all, "each thread has run once");
  }
};
const checked<counts<3>> three_threads{"three_threads"};
const checked<counts<4>> four_threads{"four_threads"};

}  // namespace
