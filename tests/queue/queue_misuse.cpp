// SPDX-License-Identifier: BSL-1.0
//
// Misuse of queues and hubs is reported through TIDEMARK_ASSERT. This program's hook prints the text and ends the
// program; each misuse is made in a child process. What happens where the hook returns is in queue_release.cpp.
#include "support/misuse_hook.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <tidemark/hub/hub.hpp>
#include <tidemark/log/ring_log.hpp>
#include <tidemark/queue/executed_work.hpp>
#include <tidemark/queue/queue.hpp>
#include <tidemark/queue/queue_log.hpp>
#include <tidemark/queue/queued_events.hpp>
#include <tidemark/queue/traced_logs.hpp>

using namespace testing;

namespace {

using tidemark::fence_id;
using tidemark::hub_queue;
using tidemark::queue_id;

const std::string stale = "a notification names a fence that is not in the hub";

}  // namespace

TEST_CASE("[A122][trap 13] submitting while another submission is not finished is reported") {
  CHECK(reported_by([] {
          tidemark::progress_fence own;
          tidemark::queue queue{own};
          static_cast<void>(
              queue.submit([&](std::uint64_t) { static_cast<void>(queue.submit([](std::uint64_t) {})); }));
        }) == "two threads submit to a queue at once");
}

TEST_CASE("[A118] a queue whose logs could hold nothing is reported") {
  const std::string expected = "a ring log needs at least two entries and fewer than 2^31";
  CHECK(reported_by([] {
          tidemark::progress_fence own;
          tidemark::queue queue{own, {.log_entries = 0}};
        }) == expected);
  CHECK(reported_by([] {
          tidemark::progress_fence own;
          tidemark::queue queue{own};
          static std::array<std::byte, 16> too_small{};
          queue.set_log(tidemark::fence_log_type::wait, too_small);
        }) == expected);
}

TEST_CASE("a log of several producers that would begin closed is reported") {
  CHECK(reported_by([] {
          using log_type = tidemark::ring_log<std::uint64_t, 4, tidemark::log_form::stamped, tidemark::native_platform,
                                              tidemark::writers::several>;
          const log_type log{{.first_sequence = std::uint64_t{1} << 63}};
        }) == "a ring log of several producers begins with a number below 2^63");
}

TEST_CASE("[A92] a log that would go on nowhere is reported") {
  CHECK(reported_by([] {
          tidemark::progress_fence own;
          tidemark::queue queue{own};
          alignas(8) static std::array<std::byte, 512> memory;
          queue.set_log(tidemark::fence_log_type::signal, memory, tidemark::no_log_location);
        }) == "a log in memory must not lie at no_log_location");
  CHECK(reported_by([] {
          tidemark::fence_log log;
          log.end_at(tidemark::no_log_location);
        }) == "a log ends, and goes on nowhere");
}

TEST_CASE("[A92] memory that is not fit for a log is reported by the owner's call, not when the executor comes to it") {
  CHECK(reported_by([] {
          tidemark::progress_fence own;
          tidemark::queue queue{own};
          alignas(8) static std::array<std::byte, 512> memory{};
          queue.set_log(tidemark::fence_log_type::wait, std::span{memory}.subspan(4));
        }) == "a ring log needs memory aligned to 8 bytes");
  for (const std::size_t entries : {std::size_t{1}, SIZE_MAX}) {
    CHECK(reported_by([entries] {
            tidemark::progress_fence own;
            tidemark::queue queue{own};
            queue.set_log(tidemark::fence_log_type::wait, entries);
          }) == "a ring log needs at least two entries and fewer than 2^31");
    CHECK(reported_by([entries] {
            tidemark::executed_work work;
            work.set_log(entries);
          }) == "a ring log needs at least two entries and fewer than 2^31");
    CHECK(reported_by([entries] {
            tidemark::queued_events events;
            events.set_log(entries);
          }) == "a ring log needs at least two entries and fewer than 2^31");
  }
}

TEST_CASE("[A101] numbers that the logs of a device can't have are reported, also where no log would grow") {
  for (const std::size_t entries : {std::size_t{0}, std::size_t{1}, SIZE_MAX}) {
    CHECK(reported_by([entries] {
            tidemark::progress_fence own;
            tidemark::queue queue{own};
            tidemark::traced_logs logs;
            logs.add(queue_id{1}, queue);
            logs.grow(entries);
          }) == "a ring log needs at least two entries and fewer than 2^31");
    CHECK(reported_by([entries] {
            tidemark::traced_logs none;
            none.grow(entries);
          }) == "a ring log needs at least two entries and fewer than 2^31");
  }
}

TEST_CASE("[A101] adding to the logs of a device what is there already is reported") {
  CHECK(reported_by([] {
          tidemark::progress_fence own;
          tidemark::queue queue{own};
          tidemark::traced_logs logs;
          logs.add(queue_id{1}, queue);
          logs.add(queue_id{2}, queue);
        }) == "logs are added that are traced already");
}

TEST_CASE("[A92] replacing a log by one that was not prepared is reported") {
  const std::string expected = "a log is replaced by one that was not prepared";
  CHECK(reported_by([] {
          tidemark::basic_queue_log<tidemark::native_platform> log{tidemark::fence_log_type::wait, 2};
          log.replace(nullptr);
        }) == expected);
  CHECK(reported_by([] {
          tidemark::detail::shared_log<tidemark::native_platform, tidemark::queued_event> log{2};
          log.replace(nullptr);
        }) == expected);
}

TEST_CASE("[A88] committing reserved entries out of turn and asking for a second reserver are reported") {
  CHECK(reported_by([] {
          tidemark::progress_fence own;
          tidemark::queue queue{own};
          auto signals = queue.signal_reserver();
          static_cast<void>(signals.reserve());
          queue.complete(signals.reserve());
        }) == "an entry of a log is committed out of turn");
  CHECK(reported_by([] {
          tidemark::progress_fence own;
          tidemark::queue queue{own};
          static_cast<void>(queue.wait_reserver());
          static_cast<void>(queue.wait_reserver());
        }) == "a log has one reserver");
}

TEST_CASE("[A88] taking an entry back that is not reserved any more is reported") {
  CHECK(reported_by([] {
          tidemark::progress_fence own;
          tidemark::queue queue{own};
          auto signals = queue.signal_reserver();
          const auto entry = signals.reserve();
          signals.take_back(entry);
          signals.take_back(entry);
        }) == "an entry is taken back that is not reserved");
}

TEST_CASE("[A119] reading a verbose log that was never enabled is reported") {
  CHECK(reported_by([] {
          tidemark::progress_fence own;
          tidemark::queue queue{own};
          static_cast<void>(queue.verbose_log());
        }) == "the verbose log of a queue was never enabled");
}

TEST_CASE("[A54] signalling the progress of a queue backwards is reported") {
  CHECK(reported_by([] {
          tidemark::progress_fence own;
          tidemark::queue queue{own};
          own.signal(5);
          queue.complete();
        }) == "a progress fence was signalled backwards");
}

TEST_CASE("[A57][trap 24] a notification that names a fence that was removed is reported") {
  static tidemark::hub hub;
  CHECK(reported_by([] {
          tidemark::fence fence;
          const auto logged = hub.add(fence).fence;
          hub.remove(logged.id);
          hub.notify(logged.id);
        }) == stale);
  CHECK(reported_by([] {
          tidemark::fence fence;
          tidemark::fence gone;
          const std::array ids{hub.add(fence).fence.id, hub.add(gone).fence.id};
          hub.remove(ids[1]);
          hub.notify(ids);
        }) == stale);
  CHECK(reported_by([] { hub.notify(fence_id{0}); }) == stale);
}

TEST_CASE("[A57] a notification that names a fence whose place another one has taken is reported") {
  static tidemark::hub hub;
  CHECK(reported_by([] {
          tidemark::fence gone;
          tidemark::fence fence;
          const auto before = hub.add(gone).fence;
          hub.remove(before.id);
          static_cast<void>(hub.add(fence));
          hub.notify(before.id);
        }) == stale);
}

TEST_CASE("[A57] a batch that signals a fence that was removed is reported") {
  static tidemark::hub hub;
  CHECK(reported_by([] {
          tidemark::fence fence;
          const auto logged = hub.add(fence).fence;
          hub.remove(logged.id);
          const std::array updates{tidemark::fence_update{logged.id, 1}};
          hub.signal_batch(updates);
        }) != "");
}

TEST_CASE("[A111] a notification that names a queue that is not there is reported") {
  static tidemark::hub hub;
  CHECK(reported_by([] { hub.notify_queue(queue_id{0}); }) == "a notification names a queue that is not in the hub");
  CHECK(reported_by([] { hub.notify_queues(std::array{queue_id{0}}); }) ==
        "a notification names a queue that is not in the hub");
}

TEST_CASE("a queue that is removed twice, or that is notified of afterwards, is reported") {
  static tidemark::hub hub;
  tidemark::progress_fence own;
  tidemark::queue queue{own};
  const auto attached = hub.attach(queue.signal_log());
  REQUIRE(attached);
  hub.detach(attached.queue);
  CHECK(reported_by([&] { hub.detach(attached.queue); }) == "a queue is detached that is not in the hub");
  CHECK(reported_by([&] { hub.notify_queue(attached.queue); }) ==
        "a notification names a queue that is not in the hub");
}

TEST_CASE("[A114] a queue that notifies before it is attached to its hub is reported") {
  CHECK(reported_by([] {
          static tidemark::hub hub;
          tidemark::progress_fence own;
          hub_queue queue{own};
          queue.notifier()(hub.add(own).fence);
        }) == "a queue signals before it is attached to its hub");
}

TEST_CASE("[A57][A114] a queue that notifies of a fence that its hub does not know is reported") {
  const std::string expected = "a queue signals a fence that its hub does not know";
  static tidemark::hub hub;
  for (const auto style :
       {tidemark::notify_style::by_queue, tidemark::notify_style::by_fence, tidemark::notify_style::by_scan}) {
    for (const fence_id id : {fence_id{0}, fence_id{777}}) {
      CHECK(reported_by([style, id] {
              tidemark::progress_fence own;
              hub_queue queue{own};
              static_cast<void>(hub.attach(queue, {.style = style}));
              tidemark::fence stranger;
              queue.notifier()(tidemark::logged_fence{&stranger, id});
            }) == expected);
    }
  }
  CHECK(reported_by([] {
          tidemark::progress_fence own;
          tidemark::fence stranger;
          hub_queue queue{own};
          static_cast<void>(hub.attach(queue));
          queue.notifier()(tidemark::logged_fence{&stranger, hub.add(own).fence.id});
        }) == expected);
}

TEST_CASE("proper use of queues and hubs is not reported") {
  CHECK(reported_by([] {
          static tidemark::hub hub;
          tidemark::progress_fence own;
          tidemark::fence fence;
          const auto logged = hub.add(fence).fence;
          hub_queue queue{own};
          static_cast<void>(hub.attach(queue));
          static_cast<void>(queue.submit([](std::uint64_t) {}));
          queue.signal(logged, 2);
          queue.signal(logged, 1);  // too late, and legal
          queue.complete();
          queue.enable_tracing();
          hub.notify(logged.id);
          hub.notify_queue(queue_id{0});
          hub.notify_engine(tidemark::engine_id{3});  // an engine without queues
          hub.notify_all();
          queue.abort();
          hub.remove(logged.id);
        }) == "");
}
