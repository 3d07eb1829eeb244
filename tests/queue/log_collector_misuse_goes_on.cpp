// SPDX-License-Identifier: BSL-1.0
//
// A sink that calls the collector which calls it breaks nothing where the hook of TIDEMARK_ASSERT returns: it notes
// the text.
#include "support/noted_misuse.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include <tidemark/fence/fence.hpp>
#include <tidemark/queue/log_collector.hpp>
#include <tidemark/queue/queue.hpp>

using namespace testing;
using tidemark::queue_id;

namespace {

struct calling_sink {
  template <class Clock>
  void on_executed(queue_id, const tidemark::fence_log_entry&) {
    ++told;
    if (call) std::exchange(call, nullptr)();
  }
  void on_lost(queue_id, tidemark::fence_log_type, std::uint64_t, std::uint64_t) {}

  std::function<void()> call;
  std::size_t told = 0;
};

}  // namespace

TEST_CASE("a sink that calls its collector does nothing, and the round goes on") {
  tidemark::progress_fence first_progress;
  tidemark::progress_fence second_progress;
  tidemark::queue first{first_progress};
  tidemark::queue second{second_progress};
  tidemark::log_collector logs;
  logs.add(queue_id{1}, first);
  logs.add(queue_id{2}, second);
  for (auto* const each : {&first, &second}) {
    CHECK(each->submit([](std::uint64_t) {}));
    each->complete();
  }
  calling_sink sink;
  sink.call = [&] {
    for (std::uint32_t i = 0; i < 10; ++i) logs.add(queue_id{3 + i}, first);
    logs.remove(queue_id{1});
    CHECK(logs.collect(sink) == tidemark::collected_entries{});
  };
  const auto found = logs.collect(sink);
  CHECK(take_said() == texts(12, "a sink called the collector that calls it"));
  CHECK(found.entries == 2);
  CHECK(sink.told == 2);
  CHECK(first.submit([](std::uint64_t) {}));
  first.complete();
  CHECK(logs.collect(sink).entries == 1);
  logs.remove(queue_id{1});
  CHECK(take_said().empty());
}
