// SPDX-License-Identifier: BSL-1.0
//
// shared_guard: a thread of an attachment by which others learn at once that its process was killed, and which learns
// of theirs. Linux alone.
//
// The kernel closes the files of a dead process, and so gives up its locks, only after it has torn down its memory. But
// it goes through the robust list of each thread (set_robust_list(2)) before that. So a guard is a thread that lives as
// long as the attachment, with a list of one word: the guard word in the record of its attachment (shared_records.hpp).
// When the thread ends, and the word still has its number, the kernel sets the word's bit `has_ended` and wakes one
// thread that sleeps on it.
//
//   closes the attachment     stops the guard, which clears the word before it ends: there is no notice
//   is killed, or ends        the notice comes with the thread's end; so it does where a program executes another one
//   is stopped                the thread has not ended
//   is forked                 the child's threads have no robust list of their parent's
//   dumps its core            the notice comes behind that, as the end of the locks does
//
// Robust lists are those of threads, and have one distance from each node to its word. One guard for each attachment
// makes that the simplest: a list never changes, and is as short as can be. The node and the head of the list lie in
// memory of the process alone, where no neighbour can write; of what neighbours write, the kernel compares the word
// with the number of the thread, and does nothing else with it. The list is there before the word has the number, so a
// guard that is killed while it begins or ends leaves no notice, and the locks say what they say without it.
//
// Guards sleep on the words of all others. The kernel wakes one of them alone, which wakes all others on the same word
// before it does anything else; so does each of them that has not seen the notice before, so no chain breaks where one
// is killed. One that is killed wakes another one by its own notice. One that is stopped, or a neighbour that sleeps
// there to take the wake-up away, costs the others the interval after which they look anyway. A guard that comes later
// needs to tell nobody: what the word of a sleeper was when it fell asleep does not matter for a wake-up.
//
// A neighbour may write notices that are not true, and wake guards all the time. A guard looks at most once in a
// millisecond. Nothing that it reads leads it anywhere: it goes through as many words as there are attachments.
//
// The thread must lock no robust mutex of the C library, whose list it has replaced by its own.
//
// Not promised: a notice for a process that the system kills because memory is short: it may take away the page of the
// list before the thread ends. Nor that a dead process does no more when its notice is there: the other threads of it
// end by themselves, each at its next moment in the kernel.
#ifndef TIDEMARK_FENCE_DETAIL_SHARED_GUARD_HPP
#define TIDEMARK_FENCE_DETAIL_SHARED_GUARD_HPP

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "../../platform/platform.hpp"
#include "../../platform/tools/limits.hpp"
#include "../../platform/tools/park_lock.hpp"
#include "quiet_thread.hpp"
#include "shared_records.hpp"

#if defined(__linux__) && TIDEMARK_HAS_FUTEX
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#endif

namespace tidemark::detail {

/// What a guard does between two sleeps. It is made of a `Place`, so that the model checker can run it:
///   count()          how many attachments there can be, at most most_attachments
///   index()          the guard's own one
///   guard_value(i)   what stands in the guard word of an attachment
///   incarnation(i)   which attachment has that number; 0 if none
///   tell(ended)      passes on that these have died, or have closed, a bit for each
template <platform Platform, class Place>
class guard_turns {
 public:
  /// The place must outlive it.
  explicit guard_turns(Place& place) noexcept : place_{place} {}
  guard_turns(const guard_turns&) = delete;
  guard_turns& operator=(const guard_turns&) = delete;

  /// Looks at all words, and tells of each notice once, and of each guard that was there at the last turn and is gone.
  void turn() noexcept {
    std::uint64_t ended = 0;
    for (std::uint32_t index = 0; index < place_.count(); ++index) {
      const std::uint32_t before = std::exchange(seen_[index], place_.guard_value(index));
      if (index == place_.index()) continue;
      // Whose guard was there and is no more has closed, or has died: somebody may have cleaned up behind it already.
      bool is_news = (before & guard_word::thread) != 0 && seen_[index] != before;
      if ((seen_[index] & guard_word::has_ended) != 0) {
        // Another attachment may have got the number since the last turn, and have died, too.
        const std::uint64_t whose = place_.incarnation(index);
        if (whose != 0 && std::exchange(told_[index], whose) != whose) is_news = true;
      }
      if (is_news) ended |= std::uint64_t{1} << index;
    }
    if (ended != 0) place_.tell(ended);
  }
  /// Returns what stood in a word at the last turn.
  std::uint32_t seen(std::uint32_t index) const noexcept { return seen_[index]; }

  /// Lets the guard end. Any thread may call it.
  void stop() noexcept {
    // (GD1): relaxed alone: it says nothing else, and whoever stops the guard waits for its thread.
    stop_.store(1, std::memory_order_relaxed);
    Platform::unpark(stop_, 1);
  }
  bool is_stopped() const noexcept {
    // (GD2): relaxed alone, like (GD1).
    return stop_.load(std::memory_order_relaxed) != 0;
  }
  /// Returns the word on which the guard sleeps, among others, while it is 0.
  typename Platform::park_word& stop_word() noexcept { return stop_; }

 private:
  Place& place_;
  std::array<std::uint32_t, most_attachments> seen_{};
  std::array<std::uint64_t, most_attachments> told_{};  // the last incarnations of which it has told
  typename Platform::park_word stop_{0};
};

#if defined(__linux__) && TIDEMARK_HAS_FUTEX

/// Sleeps on several words of memory that processes share, or not, until one of them has another value or is woken.
class futexes {
 public:
  static constexpr std::size_t most = most_attachments + 1;

  void add(const std::atomic<std::uint32_t>& word, std::uint32_t value) noexcept {
    words_[count_++] = {value, reinterpret_cast<std::uintptr_t>(&word), four_bytes, 0};
  }
  /// Returns false if the system has no such call, or refuses it.
  bool sleep(steady_time until) noexcept {
    const errno_keeper kept;
    const auto since_epoch = std::chrono::nanoseconds{until.time_since_epoch()};
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since_epoch);
    kernel_time<std::int64_t> at{seconds.count(), (since_epoch - seconds).count()};
    if (::syscall(call, words_.data(), count_, 0, &at, CLOCK_MONOTONIC) >= 0) return true;
    const int error = thread_errno();
    return error == EAGAIN || error == EINTR || error == ETIMEDOUT;
  }

 private:
  /// As futex_waitv(2) takes it, which the headers of older systems lack.
  struct one {
    std::uint64_t value;
    std::uint64_t address;
    std::uint32_t flags;
    std::uint32_t reserved;
  };
  static constexpr std::uint32_t four_bytes = 2;  // FUTEX_32, of any process
#if defined(SYS_futex_waitv)
  static constexpr long call = SYS_futex_waitv;
#else
  static constexpr long call = 449;  // the same on all machines but Alpha
#endif

  std::array<one, most> words_{};
  std::size_t count_ = 0;
};

/// Returns whether the system knows robust lists.
inline bool has_robust_lists() noexcept {
  const errno_keeper kept;
  return ::syscall(SYS_set_robust_list, nullptr, 0) != 0 && thread_errno() == EINVAL;
}

/// The robust list of a thread, of one word.
class robust_word {
 public:
  explicit robust_word(const std::atomic<std::uint32_t>& word) noexcept {
    node_.next = &head_.list;
    head_.list.next = &node_;
    head_.futex_offset =
        static_cast<long>(reinterpret_cast<std::uintptr_t>(&word) - reinterpret_cast<std::uintptr_t>(&node_));
    head_.list_op_pending = nullptr;
  }
  robust_word(const robust_word&) = delete;
  robust_word& operator=(const robust_word&) = delete;

  /// Makes it the list of the calling thread, which must end before the object does. Returns 0, or the reason.
  int begin() noexcept {
    keep_program_order();
    return ::syscall(SYS_set_robust_list, &head_, sizeof head_) == 0 ? 0 : thread_errno();
  }

 private:
  robust_list_head head_{};
  robust_list node_{};
};

/// A guard with its thread.
/// \tparam Place  as for guard_turns, and:
///   guard(i)          the word itself
///   set_guard(thread) writes the number of the guard's thread into its own word; 0 at the end
template <platform Platform, class Place>
class shared_guard {
 public:
  /// Starts the guard of a place. When this returns 0, the kernel knows of it; otherwise it returns the reason, as in
  /// errno, and there is no guard.
  static int start(std::unique_ptr<shared_guard>& to, const Place& place) noexcept {
    const errno_keeper kept;
    std::unique_ptr<shared_guard> made{::new (std::nothrow) shared_guard{place}};
    if (made == nullptr) return ENOMEM;
    const auto run = [](void* self) -> void* {
      static_cast<shared_guard*>(self)->run();
      return nullptr;
    };
    if (const int error = made->thread_.start(run, made.get())) return error;
    made->has_thread_ = true;
    const int error = made->wait_for_begin();
    if (error == 0) to = std::move(made);
    return error;
  }
  shared_guard(const shared_guard&) = delete;
  shared_guard& operator=(const shared_guard&) = delete;
  ~shared_guard() {
    if (!has_thread_) return;
    turns_.stop();
    thread_.join();
  }
  /// In the child of a fork: there is no thread.
  void forget_thread() noexcept { has_thread_ = false; }

 private:
  using keeper = lock_keeper<park_lock<native_platform>>;

  static constexpr std::chrono::milliseconds pause{1};
  // How often it looks by itself.
  static constexpr std::chrono::milliseconds interval{50};
  static constexpr std::chrono::milliseconds interval_without_futexes{5};

  explicit shared_guard(const Place& place) noexcept : place_{place} {}

  int wait_for_begin() noexcept {
    keeper kept(lock_);
    while (!has_begun_) static_cast<void>(begins_.wait(kept));
    return error_;
  }

  void run() noexcept {
    const int error = list_.begin();
    if (error == 0) place_.set_guard(static_cast<std::uint32_t>(::syscall(SYS_gettid)));
    {
      const keeper kept(lock_);
      has_begun_ = true;
      error_ = error;
      begins_.wake_all();
    }
    if (error != 0) return;
    for (deadline next = Platform::now(); !turns_.is_stopped();) {
      if (Platform::now() < next) {
        Platform::park(turns_.stop_word(), 0, next);
        continue;
      }
      turns_.turn();
      next = Platform::now() + pause;
      sleep();
    }
    place_.set_guard(0);
  }

  void sleep() noexcept {
    futexes words;
    words.add(turns_.stop_word().underlying(), 0);
    for (std::uint32_t index = 0; index < place_.count(); ++index) {
      if (index != place_.index()) words.add(place_.guard(index).underlying(), turns_.seen(index));
    }
    const deadline now = Platform::now();
    if (words.sleep(next_moment(now, interval))) return;
    Platform::park(turns_.stop_word(), 0, now + interval_without_futexes);
  }

  Place place_;
  guard_turns<Platform, Place> turns_{place_};
  robust_word list_{place_.guard(place_.index()).underlying()};
  quiet_thread thread_;
  bool has_thread_ = false;
  // The lock protects what follows.
  park_lock<native_platform> lock_;
  lock_condition<native_platform> begins_;
  bool has_begun_ = false;
  int error_ = 0;
};

#endif

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_SHARED_GUARD_HPP
