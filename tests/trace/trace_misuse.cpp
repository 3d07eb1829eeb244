// SPDX-License-Identifier: BSL-1.0
//
// Misuse of the trace and of its file is reported, and loses nothing where the hook of TIDEMARK_ASSERT returns: here it
// notes the text.
#include "support/noted_misuse.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include <tidemark/trace/trace.hpp>
#include <tidemark/trace/trace_file.hpp>

#include "support/trace_entries.hpp"

using namespace testing;
using tidemark::fence_id;
using tidemark::fence_log_type;
using tidemark::queue_id;

TEST_CASE("[A100] a loss of the verbose log is reported, and counts as a loss of the log of signals") {
  constexpr queue_id queue{1};
  constexpr fence_id fence{2};
  tidemark::trace source;
  source.on_lost(queue, fence_log_type::verbose, 0, 3);
  CHECK(take_said() == texts{"a log is of waits or of signals"});
  source.on_lost(queue, fence_log_type::signal, 5, 2);  // another gap of the same log
  source.on_executed(queue, signal_entry(fence, 1, 40));
  const std::vector<tidemark::trace_loss> expected{{queue, fence_log_type::signal, 0, 3, 0, 40},
                                                   {queue, fence_log_type::signal, 5, 2, 0, 40}};
  CHECK(source.losses() == expected);
}

TEST_CASE("work without a name is reported, and is called work") {
  tidemark::trace source;
  source.on_work<nanosecond_clock>(queue_id{1}, "", 3, 5);
  CHECK(take_said() == texts{"a piece of work needs a name"});
  REQUIRE(source.told_work().size() == 1);
  CHECK(source.told_work()[0].name == "work");
}

TEST_CASE("misuse of a trace file is reported, and what it writes can be read") {
  std::stringstream stream;
  tidemark::trace_file_writer writer{stream};
  tidemark::fence_log_entry stalled = signal_entry(fence_id{2}, 1, 40);
  stalled.operation = tidemark::fence_operation::wait_stalled;
  writer.on_executed<nanosecond_clock>(queue_id{1}, stalled);
  writer.on_queued(queue_id{1}, static_cast<tidemark::trace_event>(7), fence_id{2}, 1, 30);
  writer.on_lost(queue_id{1}, fence_log_type::verbose, 5, 2);
  writer.on_work<nanosecond_clock>(queue_id{1}, "", 3, 5);
  CHECK(writer.close() == tidemark::trace_write_status::written);
  writer.name_fence(fence_id{2}, "late");
  CHECK(writer.dropped() == 1);
  CHECK(take_said() == texts{"the entry is no wait and no signal", "only waits and signals are queued",
                             "a log is of waits or of signals", "a piece of work needs a name",
                             "a trace file was told something after it was closed"});
  tidemark::trace read;
  CHECK(read_trace_file(stream, read));
  REQUIRE(read.commands().size() == 1);
  CHECK(read.commands()[0].operation == tidemark::fence_operation::signal_executed);
  CHECK(read.commands()[0].queued_time == 30);
  CHECK(read.losses().size() == 1);
  CHECK(read.told_work().size() == 1);
}
