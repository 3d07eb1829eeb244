// SPDX-License-Identifier: BSL-1.0
//
// A process that gets no further descriptors for a while.
#ifndef TIDEMARK_TESTS_SUPPORT_NO_DESCRIPTORS_HPP
#define TIDEMARK_TESTS_SUPPORT_NO_DESCRIPTORS_HPP

#include <sys/resource.h>

#include <tidemark/loop/wait_loop.hpp>

namespace testing {

/// Makes the next descriptors of this process fail while it lives.
class no_descriptors {
 public:
  no_descriptors() {
    // clang's UndefinedBehaviorSanitizer takes a descriptor when it sees an object of this type for the first time.
    static_cast<void>(tidemark::wait_loop{}.descriptor());
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit none = before_;
    none.rlim_cur = 0;
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  no_descriptors(const no_descriptors&) = delete;
  no_descriptors& operator=(const no_descriptors&) = delete;
  ~no_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_NO_DESCRIPTORS_HPP
