// SPDX-License-Identifier: BSL-1.0
//
// trace_data: what a trace tells is plain data, which compares part by part. Where it comes from is tested in trace.cpp
// and trace_work.cpp.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <tidemark/trace/trace_data.hpp>

using tidemark::fence_id;
using tidemark::queue_id;

TEST_CASE("the data of a trace can be copied byte by byte, and says nothing before it is filled") {
  static_assert(std::is_trivially_copyable_v<tidemark::trace_command>);
  static_assert(std::is_trivially_copyable_v<tidemark::trace_loss>);
  static_assert(std::is_trivially_copyable_v<tidemark::trace_work>);
  const tidemark::trace_command command;
  CHECK_FALSE(command.queued);
  CHECK_FALSE(command.executed);
  CHECK(command.end_time == 0);
  CHECK_FALSE(command.released_by.has_value());
  CHECK(tidemark::trace_loss{}.count == 0);
  CHECK(tidemark::trace_work{}.name.empty());
}

TEST_CASE("commands, losses and spans of work differ if any part of them differs") {
  const auto all_differ = [](const auto& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      for (std::size_t j = 0; j < values.size(); ++j) CHECK((values[i] == values[j]) == (i == j));
    }
  };
  std::vector<tidemark::trace_command> commands(12);
  commands[1].queue = queue_id{1};
  commands[2].fence = fence_id{1};
  commands[3].value = 1;
  commands[4].operation = tidemark::fence_operation::wait_unblocked;
  commands[5].queued = true;
  commands[6].executed = true;
  commands[7].backward = true;
  commands[8].uncertain = true;
  commands[9].queued_time = 1;
  commands[10].observed_time = 1;
  commands[11].released_by = 0;
  all_differ(commands);
  std::vector<tidemark::trace_loss> losses(5);
  losses[1].log = tidemark::fence_log_type::signal;
  losses[2].first_sequence = 1;
  losses[3].time_before = 1;
  losses[4].time_after = 1;
  all_differ(losses);
  std::vector<tidemark::trace_work> spans(5);
  spans[1].name = "blur";
  spans[2].begin_time = 1;
  spans[3].end_time = 1;
  spans[4].derived = true;
  all_differ(spans);
}
