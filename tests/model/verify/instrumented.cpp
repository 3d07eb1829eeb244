// SPDX-License-Identifier: BSL-1.0
//
// Checks of code that is not written for the checker: std::atomic, plain fields, std::mutex. This file is compiled for
// the checker and not changed for it. tests/model/support/check_instrumented.py plays each.
#include <tidemark/verify/check.hpp>

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#if __has_include(<boost/lockfree/spsc_queue.hpp>)
#include <boost/lockfree/spsc_queue.hpp>
#endif

namespace {

using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using tidemark::verify::check;
using tidemark::verify::checked;
using tidemark::verify::expect;
using tidemark::verify::twin;

// ---- a flag and a message -------------------------------------------------------------------------------------------

template <std::memory_order Store, std::memory_order Load>
struct message_and_flag : check<2> {
  int message = 0;
  std::atomic<bool> ready{false};

  void thread(unsigned index) {
    if (index == 0) {
      message = 42;
      ready.store(true, Store);
    } else if (ready.load(Load)) {
      expect(message == 42, "the message is there");
    }
  }
};
const twin<message_and_flag<memory_order_relaxed, memory_order_acquire>> flag_stored_relaxed{"flag_stored_relaxed"};
const twin<message_and_flag<memory_order_release, memory_order_relaxed>> flag_loaded_relaxed{"flag_loaded_relaxed"};
const checked<message_and_flag<memory_order_release, memory_order_acquire>> flag{"flag"};

const twin<message_and_flag<memory_order_relaxed, std::memory_order_consume>> consumed_relaxed{"consumed_relaxed"};
const checked<message_and_flag<memory_order_release, std::memory_order_consume>> consumed{"consumed"};

/// Orders that nobody names are sequentially consistent, and operators are operations.
struct with_operators : check<2> {
  std::atomic<int> x{0};
  std::atomic<int> y{0};
  int seen[2] = {};

  void thread(unsigned index) {
    if (index == 0) {
      x = 1;
      seen[0] = y;
    } else {
      y = 1;
      seen[1] = x;
    }
  }
  void after() { expect(seen[0] == 1 || seen[1] == 1, "one of them has seen the other"); }
};
const checked<with_operators> operators{"operators"};

/// More order than a message needs.
struct message_with_operators : check<2> {
  int message = 0;
  std::atomic<int> ready{0};
  void thread(unsigned index) {
    if (index == 0) {
      message = 42;
      ready = 1;
    } else if (ready == 1) {
      expect(message == 42, "the message is there");
    }
  }
};
const checked<message_with_operators> flag_of_operators{"flag_of_operators"};

/// Two stores and two loads, with orders that allow both to miss the other.
struct with_weak_orders : with_operators {
  void thread(unsigned index) {
    std::atomic<int>& mine = index == 0 ? x : y;
    std::atomic<int>& other = index == 0 ? y : x;
    mine.store(1, memory_order_release);
    seen[index] = other.load(memory_order_acquire);
  }
};
const twin<with_weak_orders> store_buffering{"store_buffering"};

/// A word without a store in this execution: what it holds was there before all threads.
struct with_first_values : check<2> {
  std::atomic<int> x{5};
  int* const heap = new int{7};
  ~with_first_values() { delete heap; }

  void thread(unsigned) {
    expect(x.load(memory_order_relaxed) == 5, "the first value");
    expect(*heap == 7, "and that of a plain field");
  }
};
const checked<with_first_values> first_values{"first_values"};

/// atomic_ref and builtins, on plain fields.
template <std::memory_order Publish>
struct with_builtins : check<2> {
  int payload = 0;
  unsigned word = 0;

  void thread(unsigned index) {
    if (index == 0) {
      payload = 1;
      __atomic_fetch_or(&word, 4u, Publish == memory_order_release ? __ATOMIC_RELEASE : __ATOMIC_RELAXED);
    } else if ((std::atomic_ref<unsigned>{word}.load(memory_order_acquire) & 4) != 0) {
      expect(payload == 1, "the payload is there");
    }
  }
};
const twin<with_builtins<memory_order_relaxed>> builtins_relaxed{"builtins_relaxed"};
const checked<with_builtins<memory_order_release>> builtins{"builtins"};

/// The older builtins, which have no order: each is a full barrier.
template <bool Early>
struct with_old_builtins : check<2> {
  int payload = 0;
  int word = 0;

  void thread(unsigned index) {
    if (index == 0) {
      if (Early) __sync_lock_test_and_set(&word, 1);
      payload = 1;
      __sync_fetch_and_or(&word, 1);
    } else if (__sync_bool_compare_and_swap(&word, 1, 2)) {
      expect(payload == 1, "the payload is there");
    }
  }
};
const twin<with_old_builtins<true>> old_builtins_early{"old_builtins_early"};
const checked<with_old_builtins<false>> old_builtins{"old_builtins"};

/// A plain write and an atomic read of the same word race.
struct mixed_uses : check<2> {
  unsigned word = 0;
  void thread(unsigned index) {
    if (index == 0) {
      word = 1;
    } else {
      static_cast<void>(std::atomic_ref<unsigned>{word}.load());
    }
  }
};
const twin<mixed_uses> mixed{"mixed"};

/// Bytes that lie side by side are different places.
struct neighbours : check<2> {
  std::atomic<int> started{0};
  char bytes[8] = {};
  void thread(unsigned index) {
    started.fetch_add(1, memory_order_relaxed);
    bytes[index] = 1;
    bytes[index + 4] = 1;
  }
};
const checked<neighbours> side_by_side{"side_by_side"};

struct of_different_widths : check<2> {
  std::atomic<int> started{0};
  union {
    std::uint64_t whole = 0;
    char bytes[8];
  };
  void thread(unsigned index) {
    started.fetch_add(1, memory_order_relaxed);
    if (index == 0) {
      whole = 1;
    } else {
      expect(bytes[5] == 0, "a part of it");
    }
  }
};
const twin<of_different_widths> different_widths{"different_widths"};

// ---- a ring of one's own --------------------------------------------------------------------------------------------

template <std::memory_order Publish, std::memory_order Free>
class ring {
 public:
  bool push(int value) {
    const unsigned tail = tail_.load(memory_order_relaxed);
    if (tail - head_.load(memory_order_acquire) == size) return false;
    slots_[tail % size] = value;
    tail_.store(tail + 1, Publish);
    return true;
  }
  bool pop(int& value) {
    const unsigned head = head_.load(memory_order_relaxed);
    if (tail_.load(memory_order_acquire) == head) return false;
    value = slots_[head % size];
    head_.store(head + 1, Free);
    return true;
  }

 private:
  static constexpr unsigned size = 1;
  std::atomic<unsigned> head_{0};
  std::atomic<unsigned> tail_{0};
  int slots_[size] = {};
};

template <class Queue, int Numbers>
struct hands_over : check<2> {
  Queue values;

  void thread(unsigned index) {
    for (int n = 1; n <= Numbers; ++n) {
      if (index == 0) {
        while (!values.push(n)) std::this_thread::yield();
      } else {
        int found = 0;
        while (!values.pop(found)) std::this_thread::yield();
        expect(found == n, "one after the other");
      }
    }
  }
};
template <std::memory_order Publish, std::memory_order Free>
using through_a_ring = hands_over<ring<Publish, Free>, 2>;
const twin<through_a_ring<memory_order_relaxed, memory_order_release>> ring_published_relaxed{"ring_published_relaxed"};
const twin<through_a_ring<memory_order_release, memory_order_relaxed>> ring_freed_relaxed{"ring_freed_relaxed"};
const checked<through_a_ring<memory_order_release, memory_order_release>> ring_holds{"ring"};

#if __has_include(<boost/lockfree/spsc_queue.hpp>)
/// Somebody else's, as it is.
using through_boost = hands_over<boost::lockfree::spsc_queue<int, boost::lockfree::capacity<1>>, 3>;
const checked<through_boost> boost_spsc{"boost_spsc"};
#endif

// ---- a sequence lock ------------------------------------------------------------------------------------------------

template <bool Fenced>
struct sequence_lock : check<2> {
  std::atomic<unsigned> sequence{0};
  std::atomic<int> a{0};
  std::atomic<int> b{0};

  void thread(unsigned index) {
    if (index == 0) {
      sequence.store(1, memory_order_relaxed);
      std::atomic_thread_fence(memory_order_release);
      a.store(1, memory_order_relaxed);
      b.store(1, memory_order_relaxed);
      sequence.store(2, memory_order_release);
      return;
    }
    const unsigned before = sequence.load(memory_order_acquire);
    const int x = a.load(memory_order_relaxed);
    const int y = b.load(memory_order_relaxed);
    if (Fenced) std::atomic_thread_fence(memory_order_acquire);
    if (before % 2 == 0 && sequence.load(memory_order_relaxed) == before) expect(x == y, "both belong together");
  }
};
const twin<sequence_lock<false>> seqlock_without_fence{"seqlock_without_fence"};
const checked<sequence_lock<true>> seqlock{"seqlock"};

// ---- memory ---------------------------------------------------------------------------------------------------------

/// A block that is copied.
template <std::size_t Bytes, std::memory_order Publish>
struct copied_block : check<2> {
  std::atomic<bool> ready{false};
  char block[Bytes] = {};

  void thread(unsigned index) {
    char own[Bytes];
    std::memset(own, 1, Bytes);
    if (index == 0) {
      std::memcpy(block, own, Bytes);
      ready.store(true, Publish);
    } else if (ready.load(memory_order_acquire)) {
      std::memmove(own, block, Bytes);
      expect(own[Bytes - 1] == 1, "all of it is there");
    }
  }
};
const twin<copied_block<24, memory_order_relaxed>> copied_24_relaxed{"copied_24_relaxed"};
const twin<copied_block<300, memory_order_relaxed>> copied_300_relaxed{"copied_300_relaxed"};
const checked<copied_block<300, memory_order_release>> copied_300{"copied_300"};

/// A block that is filled.
template <std::size_t Bytes, bool ByAlgorithm, std::memory_order Publish>
struct filled_block : check<2> {
  std::atomic<bool> ready{false};
  char block[Bytes] = {};

  void thread(unsigned index) {
    if (index == 0) {
      ByAlgorithm ? std::fill(block, block + Bytes, char{1}) : static_cast<void>(std::memset(block, 1, Bytes));
      ready.store(true, Publish);
    } else if (ready.load(memory_order_acquire)) {
      expect(block[Bytes - 1] == 1, "all of it is there");
    }
  }
};
const twin<filled_block<24, false, memory_order_relaxed>> set_24_relaxed{"set_24_relaxed"};
const twin<filled_block<300, false, memory_order_relaxed>> set_300_relaxed{"set_300_relaxed"};
const twin<filled_block<24, true, memory_order_relaxed>> filled_24_relaxed{"filled_24_relaxed"};
const twin<filled_block<300, true, memory_order_relaxed>> filled_300_relaxed{"filled_300_relaxed"};
const checked<filled_block<300, true, memory_order_release>> filled_300{"filled_300"};

/// The second thread frees what the first has made, and reads it before or after.
template <std::memory_order Publish, bool Early>
struct handed_over : check<2> {
  std::atomic<std::vector<int>*> made{nullptr};

  void thread(unsigned index) {
    if (index == 0) {
      made.store(new std::vector<int>(2, 7), Publish);
      return;
    }
    std::vector<int>* const found = made.load(memory_order_acquire);
    if (found == nullptr) return;
    if (Early) {
      made.store(nullptr, memory_order_relaxed);
      delete found;
    }
    expect((*found)[1] == 7, "the values are there");
  }
  void after() { delete made.load(); }
};
const twin<handed_over<memory_order_relaxed, false>> handed_relaxed{"handed_relaxed"};
const twin<handed_over<memory_order_release, true>> freed_too_early{"freed_too_early"};
const checked<handed_over<memory_order_release, false>> handed{"handed"};

/// The same with memory that is aligned more than usual.
template <bool Early>
struct aligned_more : check<2> {
  struct alignas(128) line {
    int value = 7;
  };
  std::atomic<line*> made{nullptr};

  void thread(unsigned index) {
    if (index == 0) {
      made.store(new line, memory_order_release);
    } else if (line* const found = made.exchange(nullptr, memory_order_acquire)) {
      if (Early) delete found;
      expect(found->value == 7, "the value is there");
      if (!Early) delete found;
    }
  }
  void after() { delete made.load(); }
};
const twin<aligned_more<true>> aligned_freed_too_early{"aligned_freed_too_early"};
const checked<aligned_more<false>> aligned{"aligned"};

/// Two threads let go of one object: its count is changed by atomic operations.
struct shares_an_object : check<2> {
  std::shared_ptr<int> owners[2];

  void before() { owners[0] = owners[1] = std::make_shared<int>(7); }
  void thread(unsigned index) {
    expect(*owners[index] == 7, "it is there");
    owners[index].reset();
  }
};
const checked<shares_an_object> shared_pointers{"shared_pointers"};

#if defined(__cpp_lib_atomic_shared_ptr)
/// A pointer that is stored while another thread loads it.
template <std::memory_order Publish>
struct with_an_atomic_pointer : check<2> {
  std::atomic<std::shared_ptr<int>> shared;

  void thread(unsigned index) {
    if (index == 0) {
      shared.store(std::make_shared<int>(7), Publish);
    } else if (const auto found = shared.load(memory_order_acquire)) {
      expect(*found == 7, "it is there");
    }
  }
};
const twin<with_an_atomic_pointer<memory_order_relaxed>> atomic_pointer_relaxed{"atomic_pointer_relaxed"};
#if defined(_GLIBCXX_RELEASE) && _GLIBCXX_RELEASE <= 12
// load() unlocks without a release, and the next store() races with what it has read.
const twin<with_an_atomic_pointer<memory_order_release>> atomic_pointer{"atomic_pointer"};
#endif
#endif

/// errno is another one in each thread.
struct has_an_errno : check<2> {
  std::atomic<int> word{0};
  void thread(unsigned index) {
    errno = static_cast<int>(index) + 1;
    word.fetch_add(1);
    std::this_thread::yield();
    expect(errno == static_cast<int>(index) + 1, "its own");
  }
};
const checked<has_an_errno> own_errno{"own_errno"};

/// Memory that is freed and given to somebody else has no history.
struct recycled : check<2> {
  std::atomic<int> round{0};
  void thread(unsigned) {
    for (int i = 0; i < 2; ++i) {
      const auto own = std::make_unique<std::atomic<long>>(3);
      *own += 1;
      round.fetch_add(1, memory_order_relaxed);
      expect(own->load() == 4, "its own");
      void* const block = std::malloc(40);
      std::memset(block, 0, 40);
      std::free(block);
    }
  }
};
const checked<recycled> memory_again{"memory_again"};

/// A global begins each execution as the program began.
int global_count = 0;
std::atomic<int> global_word{3};
struct uses_globals : check<2> {
  void thread(unsigned) {
    if (global_word.fetch_add(1) == 4) global_count += 1;
  }
  void after() { expect(global_word.load() == 5 && global_count == 1, "not what another execution has left"); }
};
const checked<uses_globals> globals{"globals"};

/// A node on the stack of the other thread.
template <std::memory_order Publish>
struct on_the_stack : check<2> {
  std::atomic<int*> shared{nullptr};
  std::atomic<bool> done{false};

  void thread(unsigned index) {
    if (index == 0) {
      int node = 0;
      shared.store(&node, memory_order_release);
      while (!done.load(memory_order_acquire)) {
      }
      expect(node == 1, "the other one has written");
    } else {
      int* node;
      while ((node = shared.load(memory_order_acquire)) == nullptr) {
      }
      *node = 1;
      done.store(true, Publish);
    }
  }
};
const twin<on_the_stack<memory_order_relaxed>> stack_relaxed{"stack_relaxed"};
const checked<on_the_stack<memory_order_release>> stack{"stack"};

// ---- locks ----------------------------------------------------------------------------------------------------------

template <bool Locks>
struct with_a_mutex : check<2> {
  std::mutex mutex;
  int count = 0;

  void thread(unsigned index) {
    std::unique_lock lock{mutex, std::defer_lock};
    if (Locks || index == 0) lock.lock();
    count += 1;
  }
  void after() { expect(count == 2, "both have counted"); }
};
const twin<with_a_mutex<false>> mutex_forgotten{"mutex_forgotten"};
const checked<with_a_mutex<true>> mutex{"mutex"};

struct takes_two_mutexes : check<2> {
  std::mutex mutexes[2];
  void thread(unsigned index) {
    const std::lock_guard first{mutexes[index]};
    const std::lock_guard second{mutexes[1 - index]};
  }
};
const twin<takes_two_mutexes> two_mutexes{"two_mutexes"};

template <bool Notifies>
struct with_a_condition : check<2> {
  std::mutex mutex;
  std::condition_variable changed;
  bool ready = false;

  void thread(unsigned index) {
    std::unique_lock lock{mutex};
    if (index == 0) {
      ready = true;
      if (Notifies) changed.notify_one();
    } else {
      changed.wait(lock, [this] { return ready; });
    }
  }
};
const twin<with_a_condition<false>> condition_forgotten{"condition_forgotten"};
const checked<with_a_condition<true>> condition{"condition"};

template <bool Notifies>
struct with_a_wait : check<2> {
  std::atomic<int> filled{0};
  int message = 0;

  void thread(unsigned index) {
    if (index == 0) {
      message = 1;
      filled.store(1, memory_order_release);
      if (Notifies) filled.notify_one();
    } else {
      filled.wait(0, memory_order_acquire);
      expect(message == 1, "the message is there");
    }
  }
};
const twin<with_a_wait<false>> wait_forgotten{"wait_forgotten"};
const checked<with_a_wait<true>> wait{"wait"};

#if defined(SYS_membarrier)
/// One thread interrupts all others, which then need no fence of their own.
template <bool Interrupts>
struct with_a_membarrier : with_operators {
  void thread(unsigned index) {
    if (index == 0) {
      x.store(1, memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
      seen[0] = y.load(memory_order_relaxed);
    } else {
      y.store(1, memory_order_relaxed);
      if (Interrupts) syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
      seen[1] = x.load(memory_order_relaxed);
    }
  }
};
const twin<with_a_membarrier<false>> membarrier_forgotten{"membarrier_forgotten"};
const checked<with_a_membarrier<true>> membarrier{"membarrier"};
#endif

}  // namespace
