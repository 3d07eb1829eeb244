// SPDX-License-Identifier: BSL-1.0
//
// shared_process: what the attachments of one process have together. Linux alone.
//
//   attachment_registry   closes in the child of a fork what the attachments of its parent have opened
//   death_notices         one inotify descriptor, by which a loop learns at once that an attachment may have ended
//   global_barrier        membarrier(2) between processes
//
// A fork copies descriptors, and an open file description lives as long as one of them. So without the registry a child
// would keep the locks of its parent, which would never count as dead. The child's handler closes them. It does not run
// where a program calls clone() or _Fork() itself: such a child must call exec, which closes them, too.
//
// A process knows itself by a page that the kernel clears in the child of any fork.
#ifndef TIDEMARK_FENCE_DETAIL_SHARED_PROCESS_HPP
#define TIDEMARK_FENCE_DETAIL_SHARED_PROCESS_HPP

#if defined(__linux__)

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <pthread.h>
#include <sys/inotify.h>
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

/// Somebody who wants to know of the ends of attachments.
struct death_watch {
  /// Called when an attachment of the segment may have ended, on the thread that serves the descriptor, with a lock:
  /// it must not block, nor begin or end a watch. May be called for other reasons.
  void (*told)(death_watch&) = nullptr;
  int file = -1;  // how the system calls the file that is watched
  death_watch* next = nullptr;
  death_watch* previous = nullptr;
};

/// The registry and the notices have one lock, which a fork takes, so that the child finds them whole.
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
    push(attachments_, added);
  }
  /// Adds one that has no descriptor, only to know its process.
  static void add_without(registered_attachment& added) noexcept {
    const guard held;
    begin();
    added.process = this_process();
    push(attachments_, added);
  }
  /// Closes the descriptor. In the child of a fork it closes the copy that the child may still have.
  static void remove(registered_attachment& removed) noexcept {
    const bool is_listed = removed.process != 0 && removed.process == this_process();
    removed.process = 0;
    if (!is_listed) return removed.lock.reset();
    const guard held;
    unlink(attachments_, removed);
    removed.lock.reset();
  }

  // ---- death notices ----

  /// Watches the file of a descriptor. Returns 0, or the reason why the system refuses it.
  static int watch(death_watch& added, int descriptor) noexcept {
    const guard held;
    begin();
    if (notices_ < 0) notices_ = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (notices_ < 0) return errno;
    added.file = ::inotify_add_watch(notices_, descriptor_path{descriptor}.text(), IN_CLOSE_WRITE);
    if (added.file < 0) {
      const int error = errno;
      if (watches_ == nullptr) close_notices();
      return error;
    }
    push(watches_, added);
    return 0;
  }
  static void unwatch(death_watch& removed) noexcept {
    const guard held;
    if (removed.file < 0) return;
    const int file = std::exchange(removed.file, -1);
    unlink(watches_, removed);
    for (const death_watch* each = watches_; each != nullptr; each = each->next) {
      if (each->file == file) return;
    }
    static_cast<void>(::inotify_rm_watch(notices_, file));
    if (watches_ == nullptr) close_notices();
  }
  /// Returns the descriptor that is readable when serve_notices() has something to do. There is one while there are
  /// watches, and -1 otherwise.
  static int notice_descriptor() noexcept {
    const guard held;
    return notices_;
  }
  /// Tells those who watch what the system has told. Any thread may call it; it does not block.
  static void serve_notices() noexcept {
    const guard held;
    if (notices_ < 0) return;
    alignas(inotify_event) std::array<char, 4096> buffer;
    // Bounded: there may be new ones all the time. The descriptor stays readable then.
    for (int reads = 0; reads < 16; ++reads) {
      const cancellation_delay delayed;
      const ssize_t got = ::read(notices_, buffer.data(), buffer.size());
      if (got <= 0) return;
      for (std::size_t at = 0; at + sizeof(inotify_event) <= static_cast<std::size_t>(got);) {
        inotify_event event{};
        std::memcpy(&event, buffer.data() + at, sizeof event);
        at += sizeof event + event.len;
        tell((event.mask & IN_Q_OVERFLOW) != 0 ? -1 : event.wd);
      }
    }
  }

 private:
  class guard {
   public:
    guard() noexcept { pthread_mutex_lock(&lock_); }
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;
    ~guard() { pthread_mutex_unlock(&lock_); }
  };

  template <class Node>
  static void push(Node*& first, Node& added) noexcept {
    added.previous = nullptr;
    added.next = first;
    if (first != nullptr) first->previous = &added;
    first = &added;
  }
  template <class Node>
  static void unlink(Node*& first, Node& removed) noexcept {
    if (removed.next != nullptr) removed.next->previous = removed.previous;
    if (removed.previous != nullptr) removed.previous->next = removed.next;
    if (first == &removed) first = removed.next;
    removed.next = removed.previous = nullptr;
  }

  static void close_notices() noexcept { file_descriptor{std::exchange(notices_, -1)}.reset(); }

  static void tell(int file) noexcept {
    for (death_watch* each = watches_; each != nullptr; each = each->next) {
      if ((file == -1 || each->file == file) && each->told != nullptr) each->told(*each);
    }
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
    for (death_watch* each = watches_; each != nullptr;) {
      death_watch* const following = each->next;
      each->file = -1;
      each->next = each->previous = nullptr;
      each = following;
    }
    watches_ = nullptr;
    close_notices();
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
  static inline death_watch* watches_ = nullptr;
  static inline int notices_ = -1;
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
