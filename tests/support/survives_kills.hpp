// SPDX-License-Identifier: BSL-1.0
//
// Whether a test may kill processes that use a shared fence.
#ifndef TIDEMARK_TESTS_SUPPORT_SURVIVES_KILLS_HPP
#define TIDEMARK_TESTS_SUPPORT_SURVIVES_KILLS_HPP

#include <doctest/doctest.h>

namespace testing {

/// Returns false, and says so, where the platform has a lock with which a process may be killed.
template <class Fence>
bool survives_kills() {
  if (Fence::survives_kills) return true;
  MESSAGE("not tested: the double word takes a lock here");
  return false;
}

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_SURVIVES_KILLS_HPP
