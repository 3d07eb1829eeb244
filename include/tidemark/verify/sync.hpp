// SPDX-License-Identifier: BSL-1.0
//
// Names of the standard library under the checker, for a header that reaches them through an alias of its own:
//
//   namespace myproject {
//   #ifdef MYPROJECT_CHECKED
//   namespace sync = tidemark::verify::sync;
//   #else
//   namespace sync = std;
//   #endif
//   }  // namespace myproject
//
// What is not here, the checker does not know: std::thread, atomic_ref, futures and the like. The header that needs it
// does not compile.
#ifndef TIDEMARK_VERIFY_SYNC_HPP
#define TIDEMARK_VERIFY_SYNC_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "check.hpp"
#include "engine.hpp"

namespace tidemark::verify::sync {

// ---- <atomic> -------------------------------------------------------------------------------------------------------

using std::memory_order;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_consume;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

using verify::atomic;

using atomic_bool = atomic<bool>;
using atomic_char = atomic<char>;
using atomic_int = atomic<int>;
using atomic_uint = atomic<unsigned>;
using atomic_long = atomic<long>;
using atomic_ulong = atomic<unsigned long>;
using atomic_llong = atomic<long long>;
using atomic_ullong = atomic<unsigned long long>;
using atomic_int8_t = atomic<std::int8_t>;
using atomic_uint8_t = atomic<std::uint8_t>;
using atomic_int16_t = atomic<std::int16_t>;
using atomic_uint16_t = atomic<std::uint16_t>;
using atomic_int32_t = atomic<std::int32_t>;
using atomic_uint32_t = atomic<std::uint32_t>;
using atomic_int64_t = atomic<std::int64_t>;
using atomic_uint64_t = atomic<std::uint64_t>;
using atomic_intptr_t = atomic<std::intptr_t>;
using atomic_uintptr_t = atomic<std::uintptr_t>;
using atomic_size_t = atomic<std::size_t>;
using atomic_ptrdiff_t = atomic<std::ptrdiff_t>;

class atomic_flag {
 public:
  atomic_flag() = default;
  atomic_flag(bool set) : set_{set} {}  // for ATOMIC_FLAG_INIT

  bool test(memory_order order = memory_order_seq_cst, source_position at = source_position::current()) const {
    return set_.load(order, at);
  }
  bool test_and_set(memory_order order = memory_order_seq_cst, source_position at = source_position::current()) {
    return set_.exchange(true, order, at);
  }
  void clear(memory_order order = memory_order_seq_cst, source_position at = source_position::current()) {
    set_.store(false, order, at);
  }
  void wait(bool old, memory_order order = memory_order_seq_cst,
            source_position at = source_position::current()) const {
    set_.wait(old, order, at);
  }
  void notify_one(source_position at = source_position::current()) { set_.notify_one(at); }
  void notify_all(source_position at = source_position::current()) { set_.notify_all(at); }

 private:
  atomic<bool> set_{false};
};

inline void atomic_thread_fence(memory_order order, source_position at = source_position::current()) {
  thread_fence(order, at);
}

/// Does nothing: no signal interrupts a thread of the checker.
inline void atomic_signal_fence(memory_order) noexcept {}

namespace detail {
/// Of functions that take no order.
inline constexpr memory_order by_default = memory_order_seq_cst;
}  // namespace detail

// The functions that stand for members of atomic. Those without an order are sequentially consistent.

template <class T>
T atomic_load(const atomic<T>* from, source_position at = source_position::current()) {
  return from->load(detail::by_default, at);
}
template <class T>
T atomic_load_explicit(const atomic<T>* from, memory_order order, source_position at = source_position::current()) {
  return from->load(order, at);
}
template <class T>
void atomic_store(atomic<T>* to, std::type_identity_t<T> value, source_position at = source_position::current()) {
  to->store(value, detail::by_default, at);
}
template <class T>
void atomic_store_explicit(atomic<T>* to, std::type_identity_t<T> value, memory_order order,
                           source_position at = source_position::current()) {
  to->store(value, order, at);
}
template <class T>
T atomic_exchange(atomic<T>* with, std::type_identity_t<T> value, source_position at = source_position::current()) {
  return with->exchange(value, detail::by_default, at);
}
template <class T>
T atomic_exchange_explicit(atomic<T>* with, std::type_identity_t<T> value, memory_order order,
                           source_position at = source_position::current()) {
  return with->exchange(value, order, at);
}
template <class T>
bool atomic_compare_exchange_strong(atomic<T>* with, std::type_identity_t<T>* expected, std::type_identity_t<T> desired,
                                    source_position at = source_position::current()) {
  return with->compare_exchange_strong(*expected, desired, detail::by_default, at);
}
template <class T>
bool atomic_compare_exchange_strong_explicit(atomic<T>* with, std::type_identity_t<T>* expected,
                                             std::type_identity_t<T> desired, memory_order success,
                                             memory_order failure, source_position at = source_position::current()) {
  return with->compare_exchange_strong(*expected, desired, success, failure, at);
}
template <class T>
bool atomic_compare_exchange_weak(atomic<T>* with, std::type_identity_t<T>* expected, std::type_identity_t<T> desired,
                                  source_position at = source_position::current()) {
  return with->compare_exchange_weak(*expected, desired, detail::by_default, at);
}
template <class T>
bool atomic_compare_exchange_weak_explicit(atomic<T>* with, std::type_identity_t<T>* expected,
                                           std::type_identity_t<T> desired, memory_order success, memory_order failure,
                                           source_position at = source_position::current()) {
  return with->compare_exchange_weak(*expected, desired, success, failure, at);
}
template <class T>
T atomic_fetch_add(atomic<T>* to, typename atomic<T>::difference_type by,
                   source_position at = source_position::current()) {
  return to->fetch_add(by, detail::by_default, at);
}
template <class T>
T atomic_fetch_add_explicit(atomic<T>* to, typename atomic<T>::difference_type by, memory_order order,
                            source_position at = source_position::current()) {
  return to->fetch_add(by, order, at);
}
template <class T>
T atomic_fetch_sub(atomic<T>* from, typename atomic<T>::difference_type by,
                   source_position at = source_position::current()) {
  return from->fetch_sub(by, detail::by_default, at);
}
template <class T>
T atomic_fetch_sub_explicit(atomic<T>* from, typename atomic<T>::difference_type by, memory_order order,
                            source_position at = source_position::current()) {
  return from->fetch_sub(by, order, at);
}

// ---- <mutex>, <shared_mutex> ----------------------------------------------------------------------------------------

class mutex {
 public:
  void lock(source_position at = source_position::current()) { cell_.lock(at); }
  bool try_lock(source_position at = source_position::current()) { return cell_.try_lock(at); }
  void unlock(source_position at = source_position::current()) { cell_.unlock(at); }

 private:
  friend class condition_variable;
  engine::lock_cell cell_;
};

class recursive_mutex {
 public:
  void lock(source_position at = source_position::current()) { cell_.lock(at); }
  bool try_lock(source_position at = source_position::current()) { return cell_.try_lock(at); }
  void unlock(source_position at = source_position::current()) { cell_.unlock(at); }

 private:
  engine::lock_cell cell_{engine::lock_kind::recursive};
};

class shared_mutex {
 public:
  void lock(source_position at = source_position::current()) { cell_.lock(at); }
  bool try_lock(source_position at = source_position::current()) { return cell_.try_lock(at); }
  void unlock(source_position at = source_position::current()) { cell_.unlock(at); }
  void lock_shared(source_position at = source_position::current()) { cell_.lock_shared(at); }
  bool try_lock_shared(source_position at = source_position::current()) { return cell_.try_lock_shared(at); }
  void unlock_shared(source_position at = source_position::current()) { cell_.unlock_shared(at); }

 private:
  engine::lock_cell cell_{engine::lock_kind::shared};
};

struct defer_lock_t {
  explicit defer_lock_t() = default;
};
struct try_to_lock_t {
  explicit try_to_lock_t() = default;
};
struct adopt_lock_t {
  explicit adopt_lock_t() = default;
};
inline constexpr defer_lock_t defer_lock{};
inline constexpr try_to_lock_t try_to_lock{};
inline constexpr adopt_lock_t adopt_lock{};

namespace detail {

// The mutex may be one of the user's own, whose functions take no position.

template <class Mutex>
void lock(Mutex& mutex, const source_position& at) {
  if constexpr (requires { mutex.lock(at); }) {
    mutex.lock(at);
  } else {
    mutex.lock();
  }
}
template <class Mutex>
bool try_lock(Mutex& mutex, const source_position& at) {
  if constexpr (requires { mutex.try_lock(at); }) {
    return mutex.try_lock(at);
  } else {
    return mutex.try_lock();
  }
}
template <class Mutex>
void unlock(Mutex& mutex, const source_position& at) {
  if constexpr (requires { mutex.unlock(at); }) {
    mutex.unlock(at);
  } else {
    mutex.unlock();
  }
}

struct exclusively {
  template <class Mutex>
  static void lock(Mutex& mutex, const source_position& at) {
    detail::lock(mutex, at);
  }
  template <class Mutex>
  static bool try_lock(Mutex& mutex, const source_position& at) {
    return detail::try_lock(mutex, at);
  }
  template <class Mutex>
  static void unlock(Mutex& mutex, const source_position& at) {
    detail::unlock(mutex, at);
  }
};

struct shared_with_others {
  template <class Mutex>
  static void lock(Mutex& mutex, const source_position& at) {
    mutex.lock_shared(at);
  }
  template <class Mutex>
  static bool try_lock(Mutex& mutex, const source_position& at) {
    return mutex.try_lock_shared(at);
  }
  template <class Mutex>
  static void unlock(Mutex& mutex, const source_position& at) {
    mutex.unlock_shared(at);
  }
};

/// What unique_lock and shared_lock have in common. A destructor has no position: it unlocks in the name of the line
/// that has locked.
template <class Mutex, class How>
class movable_lock {
 public:
  using mutex_type = Mutex;

  void lock(source_position at = source_position::current()) {
    require_lockable(at);
    How::lock(*mutex_, at);
    owns_ = true;
  }
  bool try_lock(source_position at = source_position::current()) {
    require_lockable(at);
    return owns_ = How::try_lock(*mutex_, at);
  }
  void unlock(source_position at = source_position::current()) {
    expect(owns_, "a lock is unlocked that is not locked", at);
    How::unlock(*mutex_, at);
    owns_ = false;
  }

  Mutex* release() noexcept {
    owns_ = false;
    return std::exchange(mutex_, nullptr);
  }
  Mutex* mutex() const noexcept { return mutex_; }
  bool owns_lock() const noexcept { return owns_; }
  explicit operator bool() const noexcept { return owns_; }

 protected:
  movable_lock() = default;
  movable_lock(Mutex& mutex, bool owns, const source_position& at) : mutex_{&mutex}, owns_{owns}, at_{at} {}
  movable_lock(movable_lock&& from) noexcept
      : mutex_{std::exchange(from.mutex_, nullptr)}, owns_{std::exchange(from.owns_, false)}, at_{from.at_} {}
  movable_lock& operator=(movable_lock&& from) noexcept {
    movable_lock moved{std::move(from)};
    swap_with(moved);
    return *this;
  }
  ~movable_lock() {
    if (owns_) How::unlock(*mutex_, at_);
  }
  void swap_with(movable_lock& other) noexcept {
    std::swap(mutex_, other.mutex_);
    std::swap(owns_, other.owns_);
    std::swap(at_, other.at_);
  }

 private:
  void require_lockable(const source_position& at) {
    expect(mutex_ != nullptr, "a lock without a mutex is locked", at);
    expect(!owns_, "a lock is locked twice", at);
    at_ = at;
  }

  Mutex* mutex_ = nullptr;
  bool owns_ = false;
  source_position at_ = source_position::of_address(nullptr);
};

/// A mutex of any type.
struct lockable {
  void* mutex;
  void (*lock)(void*, const source_position&);
  bool (*try_lock)(void*, const source_position&);
  void (*unlock)(void*, const source_position&);
};

template <class Mutex>
lockable lockable_of(Mutex& mutex) {
  return {&mutex, [](void* its, const source_position& at) { detail::lock(*static_cast<Mutex*>(its), at); },
          [](void* its, const source_position& at) { return detail::try_lock(*static_cast<Mutex*>(its), at); },
          [](void* its, const source_position& at) { detail::unlock(*static_cast<Mutex*>(its), at); }};
}

/// Locks one after the other. Whoever finds one locked unlocks what it has, and begins with that one.
inline void lock_all(const lockable* all, std::size_t count, const source_position& at) {
  std::size_t first = 0;
  while (true) {
    all[first].lock(all[first].mutex, at);
    std::size_t locked = 1;
    while (locked < count) {
      const lockable& next = all[(first + locked) % count];
      if (!next.try_lock(next.mutex, at)) break;
      ++locked;
    }
    if (locked == count) return;
    for (std::size_t i = locked; i-- > 0;) {
      const lockable& each = all[(first + i) % count];
      each.unlock(each.mutex, at);
    }
    first = (first + locked) % count;
  }
}

}  // namespace detail

template <class Mutex>
class lock_guard {
 public:
  using mutex_type = Mutex;

  explicit lock_guard(Mutex& mutex, source_position at = source_position::current()) : mutex_{mutex}, at_{at} {
    detail::lock(mutex_, at_);
  }
  lock_guard(Mutex& mutex, adopt_lock_t, source_position at = source_position::current()) : mutex_{mutex}, at_{at} {}
  lock_guard(const lock_guard&) = delete;
  lock_guard& operator=(const lock_guard&) = delete;
  ~lock_guard() { detail::unlock(mutex_, at_); }

 private:
  Mutex& mutex_;
  source_position at_;
};
template <class Mutex>
lock_guard(Mutex&) -> lock_guard<Mutex>;

template <class Mutex>
class unique_lock : public detail::movable_lock<Mutex, detail::exclusively> {
  using base = detail::movable_lock<Mutex, detail::exclusively>;

 public:
  unique_lock() = default;
  explicit unique_lock(Mutex& mutex, source_position at = source_position::current()) : base{mutex, false, at} {
    base::lock(at);
  }
  unique_lock(Mutex& mutex, defer_lock_t, source_position at = source_position::current()) : base{mutex, false, at} {}
  unique_lock(Mutex& mutex, try_to_lock_t, source_position at = source_position::current()) : base{mutex, false, at} {
    static_cast<void>(base::try_lock(at));
  }
  unique_lock(Mutex& mutex, adopt_lock_t, source_position at = source_position::current()) : base{mutex, true, at} {}

  void swap(unique_lock& other) noexcept { base::swap_with(other); }
};
template <class Mutex>
unique_lock(Mutex&) -> unique_lock<Mutex>;

template <class Mutex>
class shared_lock : public detail::movable_lock<Mutex, detail::shared_with_others> {
  using base = detail::movable_lock<Mutex, detail::shared_with_others>;

 public:
  shared_lock() = default;
  explicit shared_lock(Mutex& mutex, source_position at = source_position::current()) : base{mutex, false, at} {
    base::lock(at);
  }
  shared_lock(Mutex& mutex, defer_lock_t, source_position at = source_position::current()) : base{mutex, false, at} {}
  shared_lock(Mutex& mutex, try_to_lock_t, source_position at = source_position::current()) : base{mutex, false, at} {
    static_cast<void>(base::try_lock(at));
  }
  shared_lock(Mutex& mutex, adopt_lock_t, source_position at = source_position::current()) : base{mutex, true, at} {}

  void swap(shared_lock& other) noexcept { base::swap_with(other); }
};
template <class Mutex>
shared_lock(Mutex&) -> shared_lock<Mutex>;

template <class... Mutexes>
class scoped_lock {
 public:
  explicit scoped_lock(Mutexes&... mutexes, source_position at = source_position::current())
      : all_{detail::lockable_of(mutexes)...}, at_{at} {
    if constexpr (sizeof...(Mutexes) > 0) detail::lock_all(all_, sizeof...(Mutexes), at_);
  }
  explicit scoped_lock(adopt_lock_t, Mutexes&... mutexes, source_position at = source_position::current())
      : all_{detail::lockable_of(mutexes)...}, at_{at} {}
  scoped_lock(const scoped_lock&) = delete;
  scoped_lock& operator=(const scoped_lock&) = delete;
  ~scoped_lock() {
    for (std::size_t i = sizeof...(Mutexes); i-- > 0;) all_[i].unlock(all_[i].mutex, at_);
  }

 private:
  detail::lockable all_[sizeof...(Mutexes) + 1];
  source_position at_;
};
// What stands behind a pack takes no part in deduction.
template <class... Mutexes>
scoped_lock(Mutexes&...) -> scoped_lock<Mutexes...>;
template <class... Mutexes>
scoped_lock(adopt_lock_t, Mutexes&...) -> scoped_lock<Mutexes...>;

/// std::lock, of two or three.
template <class First, class Second>
void lock(First& first, Second& second, source_position at = source_position::current()) {
  const detail::lockable all[] = {detail::lockable_of(first), detail::lockable_of(second)};
  detail::lock_all(all, 2, at);
}
template <class First, class Second, class Third>
void lock(First& first, Second& second, Third& third, source_position at = source_position::current()) {
  const detail::lockable all[] = {detail::lockable_of(first), detail::lockable_of(second), detail::lockable_of(third)};
  detail::lock_all(all, 3, at);
}

class once_flag;

namespace detail {

/// A once_flag, with the position of the call.
struct once_at {
  once_at(once_flag& called, source_position here = source_position::current()) : flag{called}, at{here} {}
  once_flag& flag;
  source_position at;
};

}  // namespace detail

class once_flag {
 public:
  once_flag() = default;
  once_flag(const once_flag&) = delete;
  once_flag& operator=(const once_flag&) = delete;

 private:
  template <class Function, class... Arguments>
  friend void call_once(detail::once_at, Function&&, Arguments&&...);
  atomic<bool> done_{false};
  mutex active_;
};

/// Calls the function unless that has been done with this flag. An exception leaves the flag as it was.
template <class Function, class... Arguments>
void call_once(detail::once_at once, Function&& function, Arguments&&... arguments) {
  const source_position at = once.at.whole_line();
  // (ONCE1): acquire pairs with (ONCE2): the caller sees what the function has done. With relaxed it might not. This is
  // the only word that hands it over, so nothing stronger is needed.
  if (once.flag.done_.load(memory_order_acquire, at)) return;
  const lock_guard<mutex> lock{once.flag.active_, at};
  // (ONCE3): relaxed alone: the mutex orders it.
  if (once.flag.done_.load(memory_order_relaxed, at)) return;
  std::forward<Function>(function)(std::forward<Arguments>(arguments)...);
  // (ONCE2): release pairs with (ONCE1), and carries what the function has done. No later load must come behind it.
  once.flag.done_.store(true, memory_order_release, at);
}

// ---- <condition_variable> -------------------------------------------------------------------------------------------

namespace detail {
enum class woken { no_timeout, timeout };
}  // namespace detail
using cv_status = detail::woken;

/// A random search also wakes threads for no reason, as the language allows. A deadline may pass at any moment,
/// whatever the time is.
class condition_variable {
 public:
  void wait(unique_lock<mutex>& lock, source_position at = source_position::current()) {
    cell_.wait(cell_of(lock, at), at);
  }
  template <class Predicate>
    requires std::is_invocable_v<Predicate&>
  void wait(unique_lock<mutex>& lock, Predicate is_true, source_position at = source_position::current()) {
    while (!is_true()) wait(lock, at);
  }

  template <class Time>
  cv_status wait_until(unique_lock<mutex>& lock, const Time&, source_position at = source_position::current()) {
    return cell_.wait_timed(cell_of(lock, at), at) ? cv_status::no_timeout : cv_status::timeout;
  }
  template <class Time, class Predicate>
    requires std::is_invocable_v<Predicate&>
  bool wait_until(unique_lock<mutex>& lock, const Time& time, Predicate is_true,
                  source_position at = source_position::current()) {
    while (!is_true()) {
      if (wait_until(lock, time, at) == cv_status::timeout) return is_true();
    }
    return true;
  }
  template <class Duration>
  cv_status wait_for(unique_lock<mutex>& lock, const Duration& duration,
                     source_position at = source_position::current()) {
    return wait_until(lock, duration, at);
  }
  template <class Duration, class Predicate>
    requires std::is_invocable_v<Predicate&>
  bool wait_for(unique_lock<mutex>& lock, const Duration& duration, Predicate is_true,
                source_position at = source_position::current()) {
    return wait_until(lock, duration, std::move(is_true), at);
  }

  void notify_one(source_position at = source_position::current()) { cell_.notify_one(at); }
  void notify_all(source_position at = source_position::current()) { cell_.notify_all(at); }

 private:
  static engine::lock_cell& cell_of(unique_lock<mutex>& lock, const source_position& at) {
    expect(lock.owns_lock(), "a condition variable is waited for with a lock that is not locked", at);
    return lock.mutex()->cell_;
  }

  engine::condition_cell cell_;
};

// ---- <thread> -------------------------------------------------------------------------------------------------------

namespace this_thread {

/// For loops that spin: another thread must run before this one can go on.
inline void yield(source_position at = source_position::current()) { verify::yield(at); }

}  // namespace this_thread

}  // namespace tidemark::verify::sync

#endif  // TIDEMARK_VERIFY_SYNC_HPP
