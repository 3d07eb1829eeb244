// SPDX-License-Identifier: BSL-1.0
//
// What the checker can't follow in code that is not written for it. Each must be an error that says so.
// tests/model/support/check_instrumented.py plays each.
#include <tidemark/verify/check.hpp>

#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <thread>

namespace {

using tidemark::verify::check;
using tidemark::verify::checked;

/// Two threads that also share a word.
template <class Does>
struct does : check<2> {
  std::atomic<int> word{0};
  Does it;
  void thread(unsigned index) {
    word.fetch_add(1);
    it.run(index);
  }
};

struct uses_volatile {
  volatile int flag = 0;
  int message = 0;
  void run(unsigned index) {
    if (index == 0) {
      message = 1;
      flag = 1;
    } else if (flag == 1) {
      static_cast<void>(message);
    }
  }
};
const checked<does<uses_volatile>> volatile_flag{"volatile_flag"};

struct spins_on_volatile {
  volatile int flag = 0;
  void run(unsigned index) {
    if (index == 0) {
      flag = 1;
    } else {
      while (flag == 0) {
      }
    }
  }
};
const checked<does<spins_on_volatile>> volatile_loop{"volatile_loop"};

struct starts_a_thread {
  void run(unsigned) {
    std::thread{[] {}}.join();  // looked for
  }
};
const checked<does<starts_a_thread>> thread{"thread"};

struct starts_a_pthread {
  void run(unsigned) {
    pthread_t made;
    pthread_create(&made, nullptr, [](void* given) { return given; }, nullptr);
  }
};
const checked<does<starts_a_pthread>> pthread{"pthread"};

struct starts_a_c_thread {
  void run(unsigned) {
    thrd_t made;
    thrd_create(&made, [](void*) { return 0; }, nullptr);
  }
};
const checked<does<starts_a_c_thread>> c_thread{"c_thread"};

struct runs_elsewhere {
  void run(unsigned) {
    std::async(std::launch::async, [] {}).wait();
  }
};
const checked<does<runs_elsewhere>> async{"async"};

int number_of(int word) { return word + 1; }
struct makes_a_static {
  int input = 3;
  void run(unsigned) {
    static const int made = number_of(input);
    input = made;
  }
};
const checked<does<makes_a_static>> function_static{"function_static"};

/// std::call_once calls this, and has thread_locals besides.
struct calls_once {
  pthread_once_t flag = PTHREAD_ONCE_INIT;
  void run(unsigned) {
    pthread_once(&flag, [] {});
  }
};
const checked<does<calls_once>> call_once{"call_once"};

struct locks_recursively {
  std::recursive_mutex mutex;
  void run(unsigned) { const std::lock_guard lock{mutex}; }
};
const checked<does<locks_recursively>> recursive_mutex{"recursive_mutex"};

struct shares_a_mutex {
  std::shared_mutex mutex;
  void run(unsigned) { const std::shared_lock lock{mutex}; }
};
const checked<does<shares_a_mutex>> shared_mutex{"shared_mutex"};

struct locks_for_a_while {
  std::timed_mutex mutex;
  void run(unsigned) { static_cast<void>(mutex.try_lock_for(std::chrono::seconds{1})); }
};
const checked<does<locks_for_a_while>> timed_mutex{"timed_mutex"};

struct locks_a_c_mutex {
  mtx_t mutex;
  locks_a_c_mutex() { mtx_init(&mutex, mtx_plain); }
  void run(unsigned) { mtx_lock(&mutex); }
};
const checked<does<locks_a_c_mutex>> c_mutex{"c_mutex"};

struct waits_for_a_semaphore {
  sem_t semaphore;
  waits_for_a_semaphore() { sem_init(&semaphore, 0, 2); }
  void run(unsigned) { sem_wait(&semaphore); }
};
const checked<does<waits_for_a_semaphore>> semaphore{"semaphore"};

/// As the compilers of other systems, and clang++ -femulated-tls, do with a thread_local.
extern "C" void* __emutls_get_address(void*);
struct emulates_a_thread_local {
  void run(unsigned) { __emutls_get_address(this); }
};
const checked<does<emulates_a_thread_local>> emulated_thread_local{"emulated_thread_local"};

struct has_data_of_a_thread {
  pthread_key_t key;
  has_data_of_a_thread() { pthread_key_create(&key, nullptr); }
  ~has_data_of_a_thread() { pthread_key_delete(key); }
  void run(unsigned) { pthread_setspecific(key, this); }
};
const checked<does<has_data_of_a_thread>> thread_specific{"thread_specific"};

struct pair {
  void* first = nullptr;
  void* second = nullptr;
};
struct exchanges_a_pair {
  std::atomic<pair> both{};
  void run(unsigned) { both.store(pair{}); }
};
const checked<does<exchanges_a_pair>> wide_atomic{"wide_atomic"};

struct of_two_sizes {
  alignas(8) unsigned word[2] = {};
  void run(unsigned index) {
    if (index == 0) {
      __atomic_store_n(&word[0], 1u, __ATOMIC_RELAXED);
    } else {
      __atomic_store_n(reinterpret_cast<unsigned long*>(word), 1ul, __ATOMIC_RELAXED);
    }
  }
};
const checked<does<of_two_sizes>> two_sizes{"two_sizes"};

struct wakes_in_a_way_of_its_own {
  unsigned word = 0;
  void run(unsigned) { syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE, 1, nullptr, &word, 0); }
};
const checked<does<wakes_in_a_way_of_its_own>> futex{"futex"};

}  // namespace
