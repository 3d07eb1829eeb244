// SPDX-License-Identifier: BSL-1.0
//
// registering_process: notes which process has registered waits, for destructors that assert that none is left. The
// child of a fork has copies of registrations of threads that it does not have, and may destroy what has them.
#ifndef TIDEMARK_PLATFORM_TOOLS_REGISTERING_PROCESS_HPP
#define TIDEMARK_PLATFORM_TOOLS_REGISTERING_PROCESS_HPP

#include <atomic>

#if __has_include(<unistd.h>)
#include <unistd.h>
#endif

namespace tidemark::detail {

/// The first process that has registered a wait, as far as this library or program knows. A fork copies the note. So
/// the child of a process that has registered waits never takes itself for the first one, and destroys everything
/// without a question. The child of one that has not is as any other process.
class registering_process {
 public:
  /// Notes this process if there is no note yet. Returns true: it is called as the condition of an assertion, so that
  /// it costs nothing where assertions are off.
  static bool note() noexcept {
    // All threads of the process would write the same. No order matters, so none is named.
    if (first_ == 0) [[unlikely]]
      first_ = current();
    return true;
  }
  /// Returns whether this process is the first one. False also if the note was made in another shared library, and
  /// under a model checker, whose heaps have bystanders that wait for ever.
  template <class Platform>
  static bool is_this() noexcept {
    if constexpr (requires { Platform::spin_looks(); }) {
      return false;
    } else {
      const long first = first_;
      return first != 0 && first == current();
    }
  }

 private:
  static long current() noexcept {
#if __has_include(<unistd.h>)
    return static_cast<long>(::getpid());
#else
    return 1;
#endif
  }

  static inline std::atomic<long> first_{0};
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_PLATFORM_TOOLS_REGISTERING_PROCESS_HPP
