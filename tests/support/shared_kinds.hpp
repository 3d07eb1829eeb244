// SPDX-License-Identifier: BSL-1.0
//
// Both kinds of a fence that processes share, each with its attachments.
#ifndef TIDEMARK_TESTS_SUPPORT_SHARED_KINDS_HPP
#define TIDEMARK_TESTS_SUPPORT_SHARED_KINDS_HPP

#include <tidemark/fence/shared_fence.hpp>

namespace testing {

/// Any attachment may signal.
struct several {
  using signaller = tidemark::shared_fence;
  using waiter = tidemark::shared_fence_waiter;
  using reader = tidemark::shared_fence_reader;
};
/// One attachment at a time may signal.
struct one {
  using signaller = tidemark::shared_progress_fence;
  using waiter = tidemark::shared_progress_fence_waiter;
  using reader = tidemark::shared_progress_fence_reader;
};

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_SHARED_KINDS_HPP
