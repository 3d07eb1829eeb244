// SPDX-License-Identifier: BSL-1.0
//
// shared_process: what the attachments of one process have together. Linux alone.
//
//   shared_process    closes in the child of a fork what the attachments of its parent have opened
//   global_barrier    membarrier(2) between processes
//
// A fork copies descriptors, and an open file description lives as long as one of them. So a child would keep the locks
// of its parent, which would never count as dead. The child's handler closes them. It does not run where a program
// calls clone() or _Fork() itself: such a child must call exec, which closes them, too.
//
// A process knows itself by a page that the kernel clears in the child of any fork.
#ifndef TIDEMARK_FENCE_DETAIL_SHARED_PROCESS_HPP
#define TIDEMARK_FENCE_DETAIL_SHARED_PROCESS_HPP

#if defined(__linux__)

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../platform/platform.hpp"
#include "shared_files.hpp"

namespace tidemark::detail {

/// A descriptor with locks, which the child of a fork closes. It stands in the registry while it is open.
struct registered_attachment {
  file_descriptor lock;
  std::uint64_t process = 0;  // this_process() when it was added
  registered_attachment* next = nullptr;
  registered_attachment* previous = nullptr;
};

/// The registry of the attachments that this process has opened. A fork takes its lock, so that the child finds it
/// whole.
class shared_process {
 public:
  /// Returns a number that no process has that this one was forked from; 0 in the child of a fork that has not called
  /// join() yet.
  static std::uint64_t this_process() noexcept { return *mark_; }
  /// Gives this process its number, unless it has one, and returns it.
  static std::uint64_t join() noexcept {
    const guard held;
    begin();
    return this_process();
  }

  /// Adds the descriptor that `open()` returns, if it returns one. There is no fork between the two.
  template <class Open>
  static void add(registered_attachment& added, const Open& open) noexcept {
    const guard held;
    begin();
    added.lock = open();
    if (!added.lock) return;
    added.process = this_process();
    push(added);
  }
  /// Adds one that has no descriptor, only to know its process.
  static void add_without(registered_attachment& added) noexcept {
    const guard held;
    begin();
    added.process = this_process();
    push(added);
  }
  /// Closes the descriptor. In the child of a fork it closes the copy that the child may still have.
  static void remove(registered_attachment& removed) noexcept {
    const bool is_listed = removed.process != 0 && removed.process == this_process();
    removed.process = 0;
    if (!is_listed) return removed.lock.reset();
    const guard held;
    unlink(removed);
    removed.lock.reset();
  }

 private:
  class guard {
   public:
    guard() noexcept { pthread_mutex_lock(&lock_); }
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;
    ~guard() { pthread_mutex_unlock(&lock_); }
  };

  static void push(registered_attachment& added) noexcept {
    added.previous = nullptr;
    added.next = attachments_;
    if (attachments_ != nullptr) attachments_->previous = &added;
    attachments_ = &added;
  }
  static void unlink(registered_attachment& removed) noexcept {
    if (removed.next != nullptr) removed.next->previous = removed.previous;
    if (removed.previous != nullptr) removed.previous->next = removed.next;
    if (attachments_ == &removed) attachments_ = removed.next;
    removed.next = removed.previous = nullptr;
  }

  /// With the lock: makes the mark of this process, and the handlers of a fork.
  static void begin() noexcept {
    if (!has_begun_) {
      has_begun_ = true;
      static_cast<void>(pthread_atfork([] { pthread_mutex_lock(&lock_); }, [] { pthread_mutex_unlock(&lock_); },
                                       [] { forget_parent(); }));
      const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
      void* const made = ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (made != MAP_FAILED) {
        if (::madvise(made, page, wipe_on_fork) == 0) {
          mark_ = static_cast<volatile std::uint64_t*>(made);
        } else {  // Linux before 4.14: the handler clears the mark
          ::munmap(made, page);
        }
      }
    }
    if (*mark_ == 0) *mark_ = ++processes_;
  }

  /// In the child of a fork, which has the lock.
  static void forget_parent() noexcept {
    for (registered_attachment* each = attachments_; each != nullptr;) {
      registered_attachment* const following = each->next;
      each->lock.reset();
      each->next = each->previous = nullptr;
      each = following;
    }
    attachments_ = nullptr;
    *mark_ = 0;
    pthread_mutex_unlock(&lock_);
  }

  static constexpr int wipe_on_fork = 18;  // MADV_WIPEONFORK

  static inline pthread_mutex_t lock_{};  // as PTHREAD_MUTEX_INITIALIZER, which is written with a 0 as a pointer
  static inline bool has_begun_ = false;
  static inline std::uint64_t processes_ = 0;  // a child goes on counting
  static inline volatile std::uint64_t plain_mark_ = 0;
  static inline volatile std::uint64_t* mark_ = &plain_mark_;
  static inline registered_attachment* attachments_ = nullptr;
};

/// The barrier between processes: the processes that have registered are interrupted, all others are not. exec drops
/// the registration, a fork keeps it.
class global_barrier {
 public:
  /// Returns whether the system has it.
  static bool is_available() noexcept {
    constexpr long needed = global_expedited | register_global_expedited;
    const long found = call(query);
    return found >= 0 && (found & needed) == needed;
  }

  /// Registers this process; returns false if the system refuses it. It takes less than a microsecond at the start of a
  /// program, and milliseconds once it has threads.
  static bool register_process() noexcept { return call(register_global_expedited) == 0 && is_registered(); }

  /// Returns whether this process is registered. Before Linux 6.3 the system does not say; then the answer is that of
  /// a second registration, which is for nothing if there was one.
  static bool is_registered() noexcept {
    const long found = call(get_registrations);
    if (found >= 0) return (found & register_global_expedited) != 0;
    return call(register_global_expedited) == 0;
  }

  /// A barrier of the calling thread and of all threads of all registered processes. Returns false if the system
  /// refuses it.
  static bool issue() noexcept { return call(global_expedited) == 0; }

 private:
  // Commands of membarrier(2), as <linux/membarrier.h> numbers them.
  static constexpr int query = 0;
  static constexpr int global_expedited = 1 << 1;
  static constexpr int register_global_expedited = 1 << 2;
  static constexpr int get_registrations = 1 << 9;

  static long call(int command) noexcept {
    const errno_keeper kept;
#if TIDEMARK_HAS_MEMBARRIER
    return ::syscall(SYS_membarrier, command, 0, 0);
#else
    static_cast<void>(command);
    return -1;
#endif
  }
};

}  // namespace tidemark::detail

#endif

#endif  // TIDEMARK_FENCE_DETAIL_SHARED_PROCESS_HPP
