// SPDX-License-Identifier: BSL-1.0
//
// Queues of an engine whose progress is a timeline that exists before them: which timelines may be one, what the queue
// signals, and what becomes of the timeline when the queue is given up, or when somebody else loses or signals it.
#include "support/misuse_hook.hpp"

#include <tidemark/engine/domain.hpp>
#include <tidemark/engine/engine_queue.hpp>
#include <tidemark/engine/local_fence.hpp>
#include <tidemark/fence/wait_many.hpp>

#include <doctest/doctest.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <vector>

#include "support/engines.hpp"
#include "support/loop_kinds.hpp"
#include "support/queues.hpp"
#include "support/threads.hpp"
#include "support/user_timeline.hpp"

using namespace testing;
using tidemark::doorbell_status;
using tidemark::value_storage;
using tidemark::wait_status;

namespace {

template <class Kind, class Progress>
using queue_with =
    tidemark::basic_engine_queue<typename Kind::platform, tidemark::no_log_clock, tidemark::self_service,
                                 tidemark::log_recorder<tidemark::timeline_platform<Progress>>, Progress>;
template <class Queue>
void submit(Queue& filled) {
  REQUIRE(filled.submit());
}

/// Whether a queue can be made whose progress is of this type.
template <class Progress>
concept fits = requires(tidemark::engine& on, Progress& given) { tidemark::basic_engine_queue{on, given}; };

}  // namespace

TEST_CASE("[A54] any timeline that can be signalled and waited for may be the progress, and nothing else") {
  static_assert(fits<tidemark::fence> && fits<tidemark::progress_fence>);
  static_assert(
      fits<
          tidemark::basic_fence<tidemark::native_platform, tidemark::fence_options{.storage = value_storage::caller}>>);
  static_assert(fits<tidemark::attachment>);
  static_assert(fits<user_timeline>);
  static_assert(!fits<const tidemark::fence>);
  static_assert(!fits<tidemark::fence_view>);
  static_assert(!fits<tidemark::cross_fence>);
  static_assert(!fits<tidemark::local_fence>);  // no thread could wait for the queue
  static_assert(!fits<std::uint64_t>);

  tidemark::engine on{{.threads = 0}};
  tidemark::progress_fence drawn;
  tidemark::basic_engine_queue draws{on, drawn, {.name = "draws"}};
  static_assert(std::same_as<decltype(draws), tidemark::engine_queue_with<tidemark::progress_fence>>);
  static_assert(!decltype(draws)::owns_progress && tidemark::engine_queue::owns_progress);
  CHECK(draws.progress().fence == &drawn);
}

TEST_CASE_TEMPLATE("[A54] the queue signals N + 1 as the last command of each submission, from where the fence stood",
                   Kind, EVERY_LOOP_KIND) {
  stepped<Kind> on;
  typename Kind::fence drawn{41};
  typename Kind::fence output;
  queue_with<Kind, typename Kind::fence> queue{on.engine, drawn, {.progress = own_id}};
  auto signals = queue.timeline().signal_log();
  CHECK(queue.is_idle());
  CHECK(queue.last_queued() == 41);
  std::vector<std::uint64_t> seen;
  for (int i = 0; i < 3; ++i) {
    queue.run([&] { seen.push_back(drawn.current_value()); });
    queue.signal(logged_fence{&output, other_id}, static_cast<std::uint64_t>(i) + 1);
    queue.run([&] { seen.push_back(drawn.current_value()); });
    CHECK(queue.submit().serial == 42 + static_cast<std::uint64_t>(i));
  }
  CHECK_FALSE(queue.is_idle());
  CHECK(drawn.current_value() == 41);
  on.step();
  CHECK(seen == std::vector<std::uint64_t>{41, 41, 42, 42, 43, 43});
  CHECK(drawn.current_value() == 44);
  CHECK(queue.is_idle());
  CHECK(read_all(signals).values() == std::vector<std::uint64_t>{1, 42, 2, 43, 3, 44});
}

TEST_CASE_TEMPLATE("[A54] the progress of several queues is waited for at once, by a thread and by a queue", Kind,
                   EVERY_LOOP_KIND) {
  using platform = typename Kind::platform;
  engine_of<Kind> on{{.threads = 1}};
  typename Kind::progress_fence blurred;
  typename Kind::fence scaled{7};
  queue_with<Kind, typename Kind::progress_fence> blurs{on, blurred};
  queue_with<Kind, typename Kind::fence> scales{on, scaled};
  unstamped_queue<Kind> shows{on};
  int done = 0;
  int seen = 0;
  shows.wait(blurs.progress(), 2);
  shows.wait(scales.progress(), 8);
  shows.run([&] { seen = done; });
  submit(shows);
  for (int i = 0; i < 2; ++i) {
    blurs.run([&] { ++done; });
    submit(blurs);
  }
  scales.wait(blurred, 2);
  scales.run([&] { ++done; });
  submit(scales);
  const std::array<typename Kind::awaited, 2> both{{{blurred, 2}, {scaled, 8}}};
  CHECK(tidemark::wait_all(both) == wait_status::reached);
  CHECK(done == 3);
  CHECK(shows.drain() == wait_status::reached);
  CHECK(seen == 3);
  static_assert(std::same_as<typename decltype(blurs)::platform, platform>);
}

TEST_CASE_TEMPLATE("[A54] [A8] the value of the progress may lie in memory of the caller", Kind, EVERY_LOOP_KIND) {
  using progress_fence = tidemark::basic_progress_fence<typename Kind::platform,
                                                        tidemark::fence_options{.storage = value_storage::caller}>;
  stepped<Kind> on;
  alignas(8) std::uint64_t of_caller = 99;
  progress_fence drawn{&of_caller, 5};
  queue_with<Kind, progress_fence> queue{on.engine, drawn};
  submit(queue);
  submit(queue);
  on.step();
  CHECK(of_caller == 7);
}

TEST_CASE_TEMPLATE("[A54] [A66] an attachment may be the progress: another domain waits for it, and so does a thread",
                   Kind, EVERY_LOOP_KIND) {
  using platform = typename Kind::platform;
  using attachment = tidemark::basic_attachment<platform>;
  stepped<Kind> near;
  stepped<Kind> far;
  tidemark::basic_domain<platform> card{near.engine.loop()};
  tidemark::basic_domain<platform> chip{far.engine.loop(), {.kind = tidemark::domain_kind::legacy}};
  tidemark::basic_cross_fence<platform> drawn{3};
  attachment on_card{drawn, card};
  attachment on_chip{drawn, chip};
  queue_with<Kind, attachment> draws{near.engine, on_card};
  tidemark::basic_legacy_queue<platform> shows{far.engine};
  int ran = 0;
  shows.wait(on_chip, 4);
  shows.run([&] { ++ran; });
  submit(shows);
  far.step();
  submit(draws);
  near.step();
  CHECK(on_chip.current_value() == 4);
  CHECK(ran == 0);  // the chip has been told, and has not looked yet
  far.step();
  CHECK(ran == 1);
  CHECK(on_chip.counts().held_queues == 1);
  CHECK(on_chip.wait(4) == wait_status::reached);
  CHECK(draws.drain() == wait_status::reached);
  draws.abort();
  far.step();
  CHECK(on_card.is_poisoned());
  CHECK(on_chip.wait(5) == wait_status::lost);
}

TEST_CASE_TEMPLATE("[A54] a timeline of the program's own may be the progress", Kind, EVERY_LOOP_KIND) {
  stepped<Kind> on;
  user_timeline drawn;
  drawn.signal(2);
  queue_with<Kind, user_timeline> queue{on.engine, drawn, {.most_submissions = 1}};
  int ran = 0;
  queue.run([&] { ++ran; });
  CHECK(queue.submit().serial == 3);
  CHECK(queue.submit().status == doorbell_status::retry);
  on.step();
  CHECK(ran == 1);
  CHECK(drawn.current_value() == 3);
  CHECK(queue.drain() == wait_status::reached);
  CHECK(queue.submit().serial == 4);
  // It has no poison(): the queue's own waits learn of the abort, and the timeline stays as it is.
  queue.abort();
  CHECK(queue.drain() == wait_status::lost);
  on.step();
  CHECK(drawn.current_value() == 3);
  CHECK(queue.submit().status == doorbell_status::aborted);
}

TEST_CASE_TEMPLATE("[A54] a progress outlives its queue, and the next queue goes on from its value", Kind,
                   EVERY_LOOP_KIND) {
  stepped<Kind> on;
  typename Kind::progress_fence drawn;
  std::optional<queue_with<Kind, typename Kind::progress_fence>> queue;
  for (std::uint64_t serial = 1; serial < 6; serial += 2) {
    queue.emplace(on.engine, drawn);
    CHECK(queue->last_queued() == serial - 1);
    CHECK(queue->submit().serial == serial);
    CHECK(queue->submit().serial == serial + 1);
    on.step();
    CHECK(queue->drain() == wait_status::reached);
    queue.reset();
    CHECK(drawn.current_value() == serial + 1);
    CHECK_FALSE(drawn.is_poisoned());
  }
}

TEST_CASE_TEMPLATE("[A54] [A122] a given progress is lost with its queue, if that did not execute all", Kind,
                   EVERY_LOOP_KIND) {
  stepped<Kind> on;
  typename Kind::fence input;
  typename Kind::fence drawn{10};
  std::optional<queue_with<Kind, typename Kind::fence>> queue{std::in_place, on.engine, drawn};
  unstamped_queue<Kind> follower{on.engine};
  submit(*queue);
  queue->wait(input, 1);
  submit(*queue);
  follower.wait(drawn, 12);
  submit(follower);
  on.step();
  CHECK(drawn.state().value == 11);
  SUBCASE("it is aborted") { queue->abort(); }
  SUBCASE("its engine is aborted") { on.engine.abort(); }
  SUBCASE("it is destroyed") { queue.reset(); }
  SUBCASE("what it waits for is lost") { input.poison(); }
  on.step();
  CHECK(drawn.is_poisoned());
  CHECK(drawn.state().value == 11);
  CHECK(drawn.wait(12) == wait_status::lost);
  CHECK(drawn.wait(11) == wait_status::reached);
  CHECK(follower.drain() == wait_status::lost);
}

TEST_CASE_TEMPLATE("[A54] a queue whose progress somebody else loses gives itself up, at the end of a submission", Kind,
                   EVERY_LOOP_KIND) {
  stepped<Kind> on;
  typename Kind::fence drawn;
  queue_with<Kind, typename Kind::fence> queue{on.engine, drawn, {.progress = own_id, .most_submissions = 3}};
  auto signals = queue.timeline().signal_log();
  int ran = 0;
  for (int i = 0; i < 3; ++i) {
    queue.run([&] {
      if (++ran == 2) drawn.poison();
    });
    submit(queue);
  }
  CHECK(queue.submit().status == doorbell_status::retry);
  on.step();
  CHECK(ran == 2);
  const auto found = read_all(signals);
  REQUIRE(found.entries.size() == 3);
  CHECK_FALSE(is_cancelled(found.entries[1]));
  CHECK(is_cancelled(found.entries[2]));
  CHECK(queue.submit().status == doorbell_status::aborted);
  CHECK(queue.drain() == wait_status::lost);
}

TEST_CASE_TEMPLATE("[A54] a queue whose progress somebody else loses gives itself up, when more is submitted", Kind,
                   EVERY_LOOP_KIND) {
  stepped<Kind> on;
  typename Kind::fence input;
  typename Kind::fence drawn;
  queue_with<Kind, typename Kind::fence> queue{on.engine, drawn};
  int ran = 0;
  queue.wait(input, 1);
  queue.run([&] { ++ran; });
  submit(queue);
  on.step();
  drawn.poison();
  queue.run([&] { ++ran; });
  CHECK(queue.submit().status == doorbell_status::aborted);
  input.signal(1);
  on.step();
  CHECK(ran == 0);
  CHECK(queue.submit().status == doorbell_status::aborted);
}

TEST_CASE_TEMPLATE("[A54] reports know a given progress by its fence", Kind, EVERY_LOOP_KIND) {
  stepped<Kind> on;
  typename Kind::fence input;
  typename Kind::fence drawn{5};
  queue_with<Kind, typename Kind::fence> draws{on.engine, drawn, {.name = "draws"}};
  unstamped_queue<Kind> shows{on.engine, {.name = "shows"}};
  draws.wait(input, 1);
  submit(draws);
  shows.wait(drawn, 6);
  submit(shows);
  on.step();
  const auto report = on.engine.why_waiting();
  REQUIRE(report.waits.size() == 2);
  const auto& of_shows = report.waits[report.waits[0].queue.name == "shows" ? 0 : 1];
  CHECK(of_shows.value == 6);
  CHECK(of_shows.held_by.has_value());
  CHECK(of_shows.held_by->name == "draws");
  input.signal(1);
  on.step();
  CHECK(shows.is_idle());
}

TEST_CASE_TEMPLATE("[A54] who finishes work and who waits for it are different threads, for all kinds of progress",
                   Kind, EVERY_LOOP_KIND) {
  engine_of<Kind> on{{.threads = 2}};
  typename Kind::fence drawn;
  queue_with<Kind, typename Kind::fence> queue{on, drawn};
  std::uint64_t painted = 0;
  for (std::uint64_t serial = 1; serial <= 2000; ++serial) {
    queue.run([&, serial] { painted = serial; });
    submit(queue);
    if (serial % 3 != 0) continue;
    REQUIRE(drawn.wait(serial) == wait_status::reached);
    REQUIRE(painted == serial);
  }
  CHECK(queue.drain() == wait_status::reached);
  CHECK(drawn.current_value() == 2000);
}

TEST_CASE("[A54] a progress that somebody else signals is noticed, and so is one that is lost already") {
  CHECK(reported_by([] {
          tidemark::engine on{{.threads = 0}};
          tidemark::fence drawn;
          tidemark::basic_engine_queue queue{on, drawn};
          static_cast<void>(queue.submit());
          drawn.signal(1);
          static_cast<void>(on.loop().poll());
        }) == "somebody else has signalled the progress of a queue");
  CHECK(reported_by([] {
          tidemark::engine on{{.threads = 0}};
          tidemark::progress_fence drawn;
          tidemark::basic_engine_queue first{on, drawn};
          tidemark::basic_engine_queue second{on, drawn};
          static_cast<void>(first.submit());
          static_cast<void>(second.submit());
          while (on.loop().poll() != 0) {
          }
        }) == "somebody else has signalled the progress of a queue");
  // The second one's work would count as finished before it is executed.
  CHECK(reported_by([] {
          tidemark::engine on{{.threads = 0}};
          tidemark::progress_fence drawn;
          tidemark::basic_engine_queue first{on, drawn};
          tidemark::basic_engine_queue second{on, drawn};
          static_cast<void>(first.submit());
          while (on.loop().poll() != 0) {
          }
          static_cast<void>(second.submit());
          std::_Exit(0);
        }) == "somebody else has signalled the progress of a queue");
  CHECK(reported_by([] {
          tidemark::engine on{{.threads = 0}};
          tidemark::fence drawn{3};
          const tidemark::basic_engine_queue queue{on, drawn};
          drawn.signal(4);
        }) == "somebody else has signalled the progress of a queue");
  CHECK(reported_by([] {
          tidemark::engine on{{.threads = 0}};
          tidemark::fence drawn;
          drawn.poison();
          const tidemark::basic_engine_queue queue{on, drawn};
        }) == "a queue was given a progress that is lost");
}
