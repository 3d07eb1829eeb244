// SPDX-License-Identifier: BSL-1.0
//
// Misuse of a thread_recorder is reported, and it records where the hook of TIDEMARK_ASSERT returns: here it notes the
// text.
#include "support/noted_misuse.hpp"

#include <doctest/doctest.h>

#include <cstdint>

#include <tidemark/fence/fence.hpp>
#include <tidemark/queue/log_collector.hpp>
#include <tidemark/queue/thread_recorder.hpp>
#include <tidemark/trace/trace.hpp>

using namespace testing;

TEST_CASE("a recorder with a number of entries that no log can have is reported, and has the nearest one") {
  tidemark::thread_recorder thread{tidemark::queue_id{1}, "thread", 1};
  CHECK_FALSE(take_said().empty());
  tidemark::fence fence;
  tidemark::log_collector logs;
  logs.add(thread);
  for (std::uint64_t n = 1; n <= 2; ++n) CHECK(thread.signal(tidemark::logged_fence{&fence, tidemark::fence_id{7}}, n));
  tidemark::trace found;
  CHECK(logs.collect(found).lost == 0);
  CHECK(found.commands().size() == 2);
}
