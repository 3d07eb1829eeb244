// SPDX-License-Identifier: BSL-1.0
//
// Misuse of fences leaves a timeline that does not fall, where the hook of TIDEMARK_ASSERT returns: here it notes the
// text.
#include "support/noted_misuse.hpp"

#include <doctest/doctest.h>

#include <cstdint>

#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/rewindable_fence.hpp>
#include <tidemark/platform/platform.hpp>
#include <tidemark/platform/portable_platform.hpp>

using namespace testing;

namespace {

using portable_fence = tidemark::basic_fence<tidemark::portable_platform>;
using portable_progress_fence = tidemark::basic_progress_fence<tidemark::portable_platform>;

}  // namespace

TYPE_TO_STRING_AS("fence/native", tidemark::fence);
TYPE_TO_STRING_AS("fence/portable", portable_fence);
TYPE_TO_STRING_AS("progress_fence/native", tidemark::progress_fence);
TYPE_TO_STRING_AS("progress_fence/portable", portable_progress_fence);

TEST_CASE_TEMPLATE("[A3] a fence that is signalled beyond the last value stays at the last value", Fence,
                   tidemark::fence, tidemark::progress_fence, portable_fence, portable_progress_fence) {
  Fence fence{UINT64_MAX - 1};
  CHECK(fence.signal_next() == UINT64_MAX);
  CHECK(take_said().empty());
  for (int i = 0; i < 3; ++i) {
    CHECK(fence.signal_next() == UINT64_MAX);
    CHECK(take_said() == texts{"signal_next() beyond the last value of a timeline"});
    CHECK(fence.current_value() == UINT64_MAX);
    CHECK(fence.is_reached(UINT64_MAX));
  }
}

TEST_CASE("[A3] a rewindable fence stays at the last value, too, and can be set back") {
  tidemark::rewindable_fence fence{UINT64_MAX};
  for (int i = 0; i < 2; ++i) {
    CHECK(fence.signal_next() == UINT64_MAX);
    CHECK(take_said() == texts{"signal_next() beyond the greatest value of a fence"});
  }
  fence.rewind(3);
  CHECK(fence.signal_next() == 4);
  CHECK(take_said().empty());
}
