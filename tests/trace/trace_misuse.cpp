// SPDX-License-Identifier: BSL-1.0
//
// Misuse of the trace is reported, and loses nothing where the hook of TIDEMARK_ASSERT returns: here it notes the text.
#include <string>
#include <vector>

namespace {

std::vector<std::string> said;

void note_misuse(const char* text) { said.emplace_back(text); }

}  // namespace

#define TIDEMARK_ASSERT(condition, text) (static_cast<bool>(condition) ? static_cast<void>(0) : ::note_misuse(text))

#include <doctest/doctest.h>

#include <tidemark/trace/trace.hpp>

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
  CHECK(said == std::vector<std::string>{"a log is of waits or of signals"});
  source.on_lost(queue, fence_log_type::signals, 5, 2);  // another gap of the same log
  source.on_executed(queue, signal_entry(fence, 1, 40));
  const std::vector<tidemark::trace_loss> expected{{queue, fence_log_type::signals, 0, 3, 0, 40},
                                                   {queue, fence_log_type::signals, 5, 2, 0, 40}};
  CHECK(source.losses() == expected);
}
