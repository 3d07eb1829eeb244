// SPDX-License-Identifier: BSL-1.0
//
// Names of the standard library under the checker. Values are compared with those of the standard library; what goes
// wrong with locks must be found, and tests/model/support/check_kit.py looks at how it is printed: a comment
// `// CHECK: ...` marks the lines that must be shown.
#include <tidemark/verify/sync.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <type_traits>

// What the checker does not know is not there. If it were, both would be found.
namespace absent {
struct thread;
struct jthread;
template <class T>
class atomic_ref;
struct timed_mutex;
struct condition_variable_any;
struct promise;
struct latch;
void async();
void notify_all_at_thread_exit();
}  // namespace absent
namespace names {
using namespace absent;
using namespace tidemark::verify::sync;
static_assert(std::is_same_v<thread, absent::thread> && std::is_same_v<jthread, absent::jthread>);
static_assert(std::is_same_v<atomic_ref<int>, absent::atomic_ref<int>>);
static_assert(std::is_same_v<timed_mutex, absent::timed_mutex>);
static_assert(std::is_same_v<condition_variable_any, absent::condition_variable_any>);
static_assert(std::is_same_v<promise, absent::promise> && std::is_same_v<latch, absent::latch>);
static_assert(std::is_void_v<decltype(async())> && std::is_void_v<decltype(notify_all_at_thread_exit())>);
}  // namespace names

namespace project {
namespace sync = tidemark::verify::sync;
}  // namespace project

namespace project {
namespace {

using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using tidemark::verify::check;
using tidemark::verify::checked;
using tidemark::verify::expect;
using tidemark::verify::twin;
using tidemark::verify::var;

// ---- values ---------------------------------------------------------------------------------------------------------

/// What the operators of an atomic return, and what is in it then.
struct results {
  long long found[64] = {};
  std::size_t count = 0;
  template <class T>
  void add(T value) {
    found[count++] = static_cast<long long>(value);
  }
  bool operator==(const results&) const = default;
};

template <class Word, class T>
results of_number(T first) {
  Word word{first};
  results all;
  const auto add = [&](auto result) {
    all.add(result);
    all.add(T{word});
  };
  add(word = 100);
  add(word++);
  add(word--);
  add(++word);
  add(--word);
  add(word += 50);
  add(word -= 120);
  add(word &= 0x5c);
  add(word |= 0x21);
  add(word ^= 0x7f);
  add(word + 1);
  return all;
}

template <class Word>
results of_pointer(int* field) {
  Word word = nullptr;
  results all;
  const auto add = [&](int* result) {
    all.add(result - field);
    all.add(word - field);
  };
  add(word = field + 2);
  add(word++);
  add(word--);
  add(++word);
  add(--word);
  add(word += 3);
  add(word -= 4);
  all.add(*word);
  return all;
}

template <class T>
bool same_numbers(T first) {
  return of_number<sync::atomic<T>>(first) == of_number<std::atomic<T>>(first);
}

enum class colour : std::uint16_t { red, green };

struct has_the_values : check<1> {
  void thread(unsigned) {
    expect(same_numbers<std::uint8_t>(250) && same_numbers<std::int8_t>(-3), "one byte");
    expect(same_numbers<int>(-3) && same_numbers<unsigned>(7), "an int");
    expect(same_numbers<long long>(-1) && same_numbers<std::size_t>(3), "eight bytes");
    int field[8] = {3, 4, 5, 6, 7, 8, 9, 10};
    expect(of_pointer<sync::atomic<int*>>(field) == of_pointer<std::atomic<int*>>(field), "a pointer");
    sync::atomic<colour> shade = colour::red;
    expect((shade = colour::green) == colour::green && shade == colour::green, "an enumeration");
    sync::atomic_bool flag = false;
    expect((flag = true) && flag, "a flag");
    sync::atomic<double> number{0.5};
    expect((number = 1.5) == 1.5 && number == 1.5, "a double");
    sync::atomic_int array[2] = {1, 2};
    array[0] = array[1].load();
    expect(array[0] == 2, "of an array");
    using word = sync::atomic<int>;
    static_assert(!std::is_copy_constructible_v<word> && !std::is_copy_assignable_v<word>);
    static_assert(!std::is_assignable_v<word&, word&> && !std::is_assignable_v<word&, word>);
    static_assert(std::is_assignable_v<word&, short> && !std::is_assignable_v<word&, int*>);
  }
};
const checked<has_the_values> values{"values"};

struct has_the_functions : check<1> {
  sync::atomic<int> word{1};

  void thread(unsigned) {
    sync::atomic_store(&word, 2);
    sync::atomic_store_explicit(&word, 3, sync::memory_order_release);
    expect(sync::atomic_load(&word) == 3, "load");
    expect(sync::atomic_load_explicit(&word, sync::memory_order::acquire) == 3, "load with an order");
    expect(sync::atomic_exchange(&word, 4) == 3, "exchange");
    expect(sync::atomic_exchange_explicit(&word, 5, sync::memory_order_relaxed) == 4, "exchange with an order");
    int expected = 1;
    expect(!sync::atomic_compare_exchange_strong(&word, &expected, 6) && expected == 5, "it says what it has found");
    expect(sync::atomic_compare_exchange_strong_explicit(&word, &expected, 6, sync::memory_order_acq_rel,
                                                         sync::memory_order_relaxed),
           "and then exchanges");
    expected = 6;
    while (!sync::atomic_compare_exchange_weak(&word, &expected, 7)) {
    }
    while (!sync::atomic_compare_exchange_weak_explicit(&word, &expected, expected + 1, sync::memory_order_relaxed,
                                                        sync::memory_order_relaxed)) {
    }
    expect(sync::atomic_fetch_add(&word, 2) == 8, "the weak ones too");
    expect(sync::atomic_fetch_add_explicit(&word, 2, sync::memory_order_relaxed) == 10, "add");
    expect(sync::atomic_fetch_sub(&word, 1) == 12, "add with an order");
    expect(sync::atomic_fetch_sub_explicit(&word, 1, sync::memory_order_relaxed) == 11 && word == 10, "subtract");
    sync::atomic_signal_fence(sync::memory_order_seq_cst);
  }
};
const checked<has_the_functions> functions{"functions"};

// ---- atomics that hand something over -------------------------------------------------------------------------------

/// An operator is sequentially consistent.
template <bool Orderly>
struct handed_over : check<2> {
  sync::atomic<int> ready = 0;
  var<int> message = 0;

  void thread(unsigned index) {
    if (index == 0) {
      message = 41;
      message += 1;  // operators: RACE: message = 42
      if (Orderly) {
        ready = 1;
      } else {
        sync::atomic_store_explicit(&ready, 1, memory_order_relaxed);
      }
    } else if (ready == 1) {
      expect(message == 42, "the message is there");
    }
  }
};
const checked<handed_over<true>> operators_mended{"operators.mended"};
const twin<handed_over<false>> operators{"operators"};

/// What an assignment and a compound one say of themselves.
struct assigns : check<2> {
  sync::atomic<int> first = 0;
  sync::atomic<int> second = 0;

  void thread(unsigned index) {
    if (index == 0) {
      first = 5;    // assignments: = 5
      second += 7;  // assignments: : 0 -> 7
      return;
    }
    int seen = second;
    expect(seen == 0 || first != 5, "this is wrong");
  }
};
const twin<assigns> assignments{"assignments"};

template <std::memory_order Clear>
struct spin_lock : check<2> {
  sync::atomic_flag busy = ATOMIC_FLAG_INIT;
  var<int> count = 0;

  void thread(unsigned) {
    while (busy.test_and_set(memory_order_acquire)) sync::this_thread::yield();
    count += 1;
    busy.clear(Clear);
  }
  void after() { expect(count == 2 && !busy.test(), "both have counted"); }
};
const checked<spin_lock<memory_order_release>> flag_mended{"flag.mended"};
const twin<spin_lock<memory_order_relaxed>> flag{"flag"};

template <bool Wakes>
struct sleeps_on_a_flag : check<2> {
  sync::atomic_flag ready;

  void thread(unsigned index) {
    if (index == 1) {
      ready.wait(false, memory_order_acquire);
      return;
    }
    static_cast<void>(ready.test_and_set(memory_order_release));
    if (Wakes) ready.notify_all();
  }
};
const checked<sleeps_on_a_flag<true>> flag_wait_mended{"flag_wait.mended"};
const twin<sleeps_on_a_flag<false>> flag_wait{"flag_wait"};

template <std::memory_order Release>
struct fenced : check<2> {
  sync::atomic<int> ready = 0;
  var<int> message = 0;

  void thread(unsigned index) {
    if (index == 0) {
      message = 42;
      sync::atomic_thread_fence(Release);
      ready.store(1, memory_order_relaxed);
    } else if (ready.load(memory_order_relaxed) == 1) {
      sync::atomic_thread_fence(memory_order_acquire);
      expect(message == 42, "the message is there");
    }
  }
};
const checked<fenced<memory_order_release>> fence_mended{"fence.mended"};
const twin<fenced<memory_order_relaxed>> fence{"fence"};

// ---- locks ----------------------------------------------------------------------------------------------------------

/// A lock of each kind keeps two threads apart.
template <class Lock, class Mutex = sync::mutex>
struct counts_under : check<2> {
  Mutex guard;
  var<int> count = 0;

  void thread(unsigned) {
    Lock lock{guard};
    count += 1;
  }
  void after() { expect(count == 2, "both have counted"); }
};
struct no_lock {
  explicit no_lock(sync::mutex& guard) { sync::lock_guard{guard}; }
};
const checked<counts_under<sync::lock_guard<sync::mutex>>> lock_guard_{"lock_guard"};
const checked<counts_under<sync::unique_lock<sync::mutex>>> unique_lock_{"unique_lock"};
const checked<counts_under<sync::scoped_lock<sync::mutex>>> scoped_lock_{"scoped_lock"};
const checked<counts_under<sync::lock_guard<sync::recursive_mutex>, sync::recursive_mutex>> recursive_{"recursive"};
const checked<counts_under<sync::unique_lock<sync::shared_mutex>, sync::shared_mutex>> exclusive_{"exclusive"};
const twin<counts_under<no_lock>> unlocked{"unlocked"};
const twin<counts_under<sync::shared_lock<sync::shared_mutex>, sync::shared_mutex>> shared_write{"shared_write"};

/// A mutex of the user's own, which is made of an atomic.
class own_mutex {
 public:
  void lock() {
    while (!try_lock()) sync::this_thread::yield();
  }
  bool try_lock() { return !busy_.exchange(true, memory_order_acquire); }
  void unlock() { busy_.store(false, memory_order_release); }

 private:
  sync::atomic<bool> busy_ = false;
};
const checked<counts_under<sync::lock_guard<own_mutex>, own_mutex>> own{"own_mutex"};

/// unique_lock does what the standard says.
struct has_the_locks : check<2> {
  sync::mutex guard;
  sync::recursive_mutex again;
  var<int> count = 0;

  void thread(unsigned) {
    sync::unique_lock<sync::mutex> empty;
    sync::unique_lock lock{guard, sync::defer_lock};
    expect(!lock.owns_lock() && lock.mutex() == &guard && !empty.mutex(), "it is not locked");
    lock.lock();
    count += 1;
    empty = std::move(lock);
    expect(!lock && empty.owns_lock() && lock.mutex() == nullptr, "the lock has moved");
    empty.unlock();
    if (empty.try_lock()) count += 0;
    empty.swap(lock);
    expect(empty.mutex() == nullptr && lock.mutex() == &guard, "and back");
    if (lock) lock.release()->unlock();
    if (sync::unique_lock tried{guard, sync::try_to_lock}) count += 0;
    guard.lock();
    {
      const sync::lock_guard adopted{guard, sync::adopt_lock};
    }
    guard.lock();
    {
      const sync::unique_lock adopted{guard, sync::adopt_lock};
    }
    const sync::scoped_lock none{};
    const sync::lock_guard once{again};
    const sync::scoped_lock twice{again};
  }
};
const checked<has_the_locks> locks{"locks"};

/// Two readers share, and a writer is alone.
struct reads_and_writes : check<3> {
  sync::shared_mutex guard;
  var<int> value = 0;

  void thread(unsigned index) {
    if (index == 0) {
      const sync::lock_guard lock{guard};
      value = 1;
      value = 2;
    } else {
      const sync::shared_lock lock{guard};
      expect(value != 1, "nobody sees the first half");
    }
  }
};
const checked<reads_and_writes> shared_{"shared"};
struct readers_meet : check<2> {
  sync::shared_mutex guard;
  sync::atomic<int> inside = 0;

  void thread(unsigned) {
    const sync::shared_lock lock{guard};
    expect(++inside == 1, "they do not meet");
    --inside;
  }
};
const twin<readers_meet> readers{"readers"};

/// Each takes the other's mutex second.
template <class Both>
struct transfers : check<2> {
  sync::mutex first;
  sync::mutex second;
  var<int> amount = 0;

  void thread(unsigned index) {
    Both both{index == 0 ? first : second, index == 0 ? second : first};
    amount += 1;
  }
};
struct one_after_the_other {
  one_after_the_other(sync::mutex& first, sync::mutex& second) : outer{first}, inner{second} {}
  sync::lock_guard<sync::mutex> outer;
  sync::lock_guard<sync::mutex> inner;
};
struct adopts_both {
  adopts_both(sync::mutex& one, sync::mutex& two) : first{one, sync::defer_lock}, second{two, sync::defer_lock} {
    sync::lock(first, second);
  }
  sync::unique_lock<sync::mutex> first;
  sync::unique_lock<sync::mutex> second;
};
const checked<transfers<sync::scoped_lock<sync::mutex, sync::mutex>>> both_scoped{"both_scoped"};
const checked<transfers<adopts_both>> both_adopted{"both_adopted"};
const twin<transfers<one_after_the_other>> both_wrong{"both_wrong"};

/// The same, written down.
struct crosses : check<2> {
  sync::mutex left;
  sync::mutex right;

  void thread(unsigned index) {
    if (index == 0) {
      sync::lock_guard one{left};   // deadlock: locks left
      sync::lock_guard two{right};  // deadlock: waits for right
    } else {
      sync::unique_lock<sync::mutex> one{right};  // deadlock: locks right
      left.lock();
      left.unlock();
    }
  }
};
const twin<crosses> deadlock{"deadlock"};

struct names_both : check<2> {
  sync::mutex left;
  sync::mutex right;
  sync::atomic<int> inside = 0;

  void thread(unsigned index) {
    sync::scoped_lock both{left, right};  // names: locks left; names: locks right
    expect(index == 0, "this is wrong");
  }
};
const twin<names_both> names{"names"};

struct unlocks_what_is_another_s : check<2> {
  sync::mutex guard;
  void thread(unsigned index) {
    if (index == 0) {
      const sync::lock_guard lock{guard};
      return;
    }
    guard.unlock();  // unlock: FAILS: unlocks guard
  }
};
const twin<unlocks_what_is_another_s> wrong_unlock{"unlock"};

struct keeps_it_locked : check<2> {
  sync::mutex guard;
  void thread(unsigned index) {
    if (index == 0) return;
    guard.lock();  // kept: locks guard
  }
};
const twin<keeps_it_locked> kept{"kept"};

struct locks_twice : check<2> {
  sync::mutex guard;
  void thread(unsigned) {
    const sync::lock_guard lock{guard};
    guard.lock();  // twice: FAILS: locks guard
  }
};
const twin<locks_twice> twice{"twice"};

template <class Misuse>
struct misuses : check<2> {
  sync::mutex guard;
  sync::condition_variable changed;
  void thread(unsigned) {
    sync::unique_lock lock{guard};
    Misuse::of(lock, changed);
  }
};
using any_lock = sync::unique_lock<sync::mutex>;
struct waits_without {
  static void of(any_lock& lock, sync::condition_variable& changed) {
    lock.unlock();
    changed.wait(lock);  // wait_unlocked: FAILS: a condition variable is waited for with a lock that is not locked
  }
};
struct relocks {
  static void of(any_lock& lock, sync::condition_variable&) {
    lock.lock();  // relock: FAILS: a lock is locked twice
  }
};
struct unlocks_again {
  static void of(any_lock& lock, sync::condition_variable&) {
    lock.unlock();
    lock.unlock();  // reunlock: FAILS: a lock is unlocked that is not locked
  }
};
const twin<misuses<waits_without>> wait_unlocked{"wait_unlocked"};
const twin<misuses<relocks>> relock{"relock"};
const twin<misuses<unlocks_again>> reunlock{"reunlock"};

// ---- condition variables --------------------------------------------------------------------------------------------

/// The flag is set outside of the lock, between the waiter's look and its sleep.
template <bool Locks>
struct wakes_up : check<2> {
  sync::mutex guard;
  sync::condition_variable changed;
  sync::atomic<bool> ready = false;

  void thread(unsigned index) {
    if (index == 0) {
      sync::unique_lock lock{guard, sync::defer_lock};
      if (Locks) lock.lock();
      ready = true;
      changed.notify_one();  // lost: wakes nobody on changed
    } else {
      sync::unique_lock lock{guard};
      changed.wait(lock, [&] { return ready.load(); });  // lost: sleeps on changed, unlocks guard
    }
  }
};
const checked<wakes_up<true>> lost_mended{"lost.mended"};
const twin<wakes_up<false>> lost{"lost"};

/// Whoever wakes must look again. Only a random search wakes for no reason.
template <bool LooksAgain>
struct looks_again : check<2> {
  sync::mutex guard;
  sync::condition_variable changed;
  var<bool> ready = false;

  void thread(unsigned index) {
    sync::unique_lock lock{guard};
    if (index == 0) {
      ready = true;
      changed.notify_all();
      return;
    }
    if (LooksAgain) {
      while (!ready) changed.wait(lock);
    } else if (!ready) {
      changed.wait(lock);
    }
    expect(ready, "it is ready");
  }
};
const checked<looks_again<true>> spurious_mended{"spurious.mended"};
const twin<looks_again<false>> spurious{"spurious"};

/// One notification for two that wait.
template <bool All>
struct wakes_two : check<3> {
  sync::mutex guard;
  sync::condition_variable changed;
  var<bool> ready = false;

  void thread(unsigned index) {
    sync::unique_lock lock{guard};
    if (index != 0) {
      changed.wait(lock, [&] { return ready.load(); });
      return;
    }
    ready = true;
    if (All) {
      changed.notify_all();
    } else {
      changed.notify_one();
    }
  }
};
const checked<wakes_two<true>> two_waiters_mended{"two_waiters.mended"};
const twin<wakes_two<false>> two_waiters{"two_waiters"};

/// A deadline may pass at any moment, and need not.
template <bool Patient>
struct waits_for_a_while : check<2> {
  sync::mutex guard;
  sync::condition_variable changed;
  var<bool> ready = false;

  void thread(unsigned index) {
    sync::unique_lock lock{guard};
    if (index == 0) {
      ready = true;
      changed.notify_one();
      return;
    }
    const bool was_ready = changed.wait_for(lock, std::chrono::seconds{1}, [&] { return ready.load(); });
    expect(was_ready == ready && lock.owns_lock(), "it says what it has seen");
    expect(Patient || was_ready, "the deadline has not passed");
  }
};
const checked<waits_for_a_while<true>> timed_mended{"timed.mended"};
const twin<waits_for_a_while<false>> timed{"timed"};

/// Nobody wakes these, and they do not sleep for ever.
struct gives_up : check<2> {
  sync::mutex guard;
  sync::condition_variable changed;
  var<int> done = 0;

  void thread(unsigned index) {
    sync::unique_lock lock{guard};
    const auto soon = std::chrono::steady_clock::time_point{};
    if (index == 0) {
      while (changed.wait_until(lock, soon) == sync::cv_status::no_timeout) {
      }
    } else {
      expect(!changed.wait_until(lock, soon, [] { return false; }), "it has given up");
    }
    done += 1;
  }
  void after() { expect(done == 2, "both have gone on"); }
};
const checked<gives_up> deadlines{"deadlines"};

// ---- once -----------------------------------------------------------------------------------------------------------

struct made_once : check<2> {
  sync::once_flag once;
  var<int> value = 0;
  var<int> calls = 0;

  void thread(unsigned index) {
    sync::call_once(
        once,
        [this](int made) {
          calls += 1;
          value = made;
        },
        static_cast<int>(index) + 7);
    expect(value >= 7 && calls == 1, "it was made, and once");
  }
};
const checked<made_once> once{"once"};

/// A call that finds it done orders nothing behind it.
struct is_no_fence : check<2> {
  sync::once_flag once;
  var<int> value = 0;

  void before() {
    sync::call_once(once, [] {});
  }
  void thread(unsigned index) {
    if (index == 0) value = 1;
    sync::call_once(once, [] {});
    if (index == 1) static_cast<void>(value.load());
  }
};
const twin<is_no_fence> once_is_no_fence{"once_is_no_fence"};

}  // namespace
}  // namespace project
