// SPDX-License-Identifier: BSL-1.0
//
// thread_hangs: reports of who waits for what with threads as nodes.
#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <tidemark/engine/domain.hpp>
#include <tidemark/engine/engine.hpp>
#include <tidemark/engine/engine_queue.hpp>
#include <tidemark/engine/thread_hangs.hpp>
#include <tidemark/fence/awake_view.hpp>
#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/looked_at.hpp>
#include <tidemark/fence/timeline.hpp>

#include "support/user_timeline.hpp"

using tidemark::fence_id;
using tidemark::hang_report;
using tidemark::logged_fence;
using tidemark::queue_id;
using tidemark::wait_status;

namespace {

/// Asks until so many waits are reported.
template <class... Of>
hang_report ask(std::size_t waits, Of&... of) {
  for (;;) {
    hang_report found = tidemark::why_waiting(of...);
    if (found.waits.size() == waits && found.not_seen == 0) return found;
    std::this_thread::yield();
  }
}

}  // namespace

TEST_CASE("a thread that sleeps in a recorded wait is in the report, with the queue that has the signal") {
  tidemark::engine compute{{.name = "compute"}};
  tidemark::engine_queue blur{compute, {.name = "blur"}};
  tidemark::fence uploaded;
  tidemark::fence blurred;
  tidemark::thread_recorder decoder{queue_id{9}, "decoder"};
  CHECK(tidemark::why_waiting(decoder, compute).waits.empty());
  blur.wait(uploaded, 1);
  blur.signal(blurred, 5);
  REQUIRE(blur.submit());
  std::thread thread([&] { CHECK(decoder.wait(logged_fence{&blurred, fence_id{3}}, 4) == wait_status::reached); });
  const hang_report found = ask(2, compute, decoder);
  CHECK(found.cycles.empty());
  CHECK(to_string(found.waits[1]) ==
        "thread decoder waits for 4 of fence 3, which is at 0; blur (compute) has the signal");
  CHECK(found.waits[1].queue.is_thread);
  CHECK(found.waits[1].queue.id == queue_id{9});
  CHECK_FALSE(found.waits[0].queue.is_thread);
  CHECK_FALSE(found.waits[0].held_by);  // nobody has announced it
  uploaded.signal(1);
  thread.join();
  CHECK(tidemark::why_waiting(compute, decoder).waits.empty());
  CHECK(blur.drain() == wait_status::reached);
}

TEST_CASE("a queue that waits for what a thread has announced, and a thread that waits for that queue, are a circle") {
  tidemark::engine compute{{.name = "compute"}};
  tidemark::engine_queue blur{compute, {.name = "blur"}};
  tidemark::fence decoded;
  tidemark::fence blurred;
  const logged_fence output{&decoded, fence_id{1}};
  tidemark::thread_recorder decoder{queue_id{9}, "decoder"};
  blur.wait(decoded, 1);
  blur.signal(blurred, 1);
  REQUIRE(blur.submit());
  std::thread thread([&] {
    decoder.will_signal(output, 1);
    CHECK(decoder.wait(logged_fence{&blurred, fence_id{2}}, 1) == wait_status::reached);
    decoder.signal(output, 1);
  });
  const hang_report found = ask(2, decoder, compute);
  CHECK(found.cycles.size() == 1);
  std::string names;
  for (const auto& cycle : found.cycles) {
    for (const tidemark::hanging_wait& each : cycle) names += to_string(each.queue) + ", ";
  }
  CHECK((names == "thread decoder, blur (compute), " || names == "blur (compute), thread decoder, "));
  for (const tidemark::hanging_wait& each : found.waits) {
    CHECK((each.held_by && each.held_by->is_thread != each.queue.is_thread));
  }
  blurred.signal(1);  // from outside, which breaks it
  thread.join();
  CHECK(blur.drain() == wait_status::reached);
  CHECK(tidemark::why_waiting(compute, decoder).cycles.empty());
}

TEST_CASE("views, attachments and looked_ats of one timeline count as one, whoever waits for them and signals it") {
  using namespace std::chrono_literals;
  // The queue waits for `decoded` and signals `blurred`; the thread waits for that and then signals `decoded`.
  const auto is_circle = [](const auto& queue_waits, auto& thread_signals, auto& queue_signals,
                            const auto& thread_waits) {
    tidemark::engine compute;
    tidemark::engine_queue blur{compute};
    tidemark::thread_recorder decoder{queue_id{9}};
    blur.wait(queue_waits, 1);
    blur.signal(queue_signals, 1);
    REQUIRE(blur.submit());
    std::thread thread([&] {
      decoder.will_signal(logged_fence{&thread_signals, fence_id{1}}, 1);
      CHECK(decoder.wait(logged_fence{&thread_waits, fence_id{2}}, 1) == wait_status::reached);
      decoder.signal(logged_fence{&thread_signals, fence_id{1}}, 1);
    });
    const hang_report found = ask(2, decoder, compute);
    queue_signals.signal(1);  // from outside, which breaks it
    thread.join();
    CHECK(blur.drain() == wait_status::reached);
    return found.cycles.size() == 1;
  };
  SUBCASE("views") {
    tidemark::fence decoded;
    tidemark::fence blurred;
    const auto view = blurred.view();
    CHECK(is_circle(decoded.view(), decoded, blurred, view));
    tidemark::fence decoded_later;
    tidemark::fence blurred_later;
    CHECK(is_circle(decoded_later, decoded_later, blurred_later, tidemark::awake_view(blurred_later)));
  }
  SUBCASE("looked_ats") {
    tidemark::fence decoded;
    tidemark::fence blurred;
    const tidemark::looked_at looked{decoded, 1ms};
    const tidemark::looked_at more{blurred.view(), 1ms};
    CHECK(is_circle(looked, decoded, blurred, more));
  }
  SUBCASE("attachments") {
    tidemark::engine engines[2];
    tidemark::domain one{engines[0].loop()};
    tidemark::domain other{engines[1].loop()};
    tidemark::cross_fence decoded;
    tidemark::cross_fence blurred;
    const tidemark::attachment decoded_there{decoded, other};
    tidemark::attachment decoded_here{decoded, one};
    tidemark::attachment blurred_there{blurred, other};
    const tidemark::attachment blurred_here{blurred, one};
    CHECK(is_circle(decoded_there, decoded_here, blurred_there, blurred_here));
  }
}

TEST_CASE("threads wait for each other in a circle without an engine, and a thread that is named twice counts once") {
  tidemark::fence fences[3];
  std::vector<std::unique_ptr<tidemark::thread_recorder>> recorders;
  for (std::uint32_t i = 0; i < 3; ++i) {
    recorders.push_back(std::make_unique<tidemark::thread_recorder>(queue_id{i}, "t" + std::to_string(i)));
  }
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      recorders[i]->will_signal(logged_fence{&fences[i], fence_id{i}}, 1);
      CHECK(recorders[i]->wait(logged_fence{&fences[(i + 1) % 3], fence_id{(i + 1) % 3}}, 1) == wait_status::reached);
      recorders[i]->signal(logged_fence{&fences[i], fence_id{i}}, 1);
    });
  }
  const hang_report found = ask(3, *recorders[0], *recorders[1], *recorders[2], *recorders[0]);
  CHECK(found.cycles.size() == 1);
  for (const auto& cycle : found.cycles) CHECK(cycle.size() == 3);
  CHECK(to_string(found).find("in a circle: thread t0, thread t1, thread t2") != std::string::npos);
  fences[1].signal(1);
  for (std::thread& each : threads) each.join();
  CHECK(tidemark::why_waiting(*recorders[0], *recorders[1], *recorders[2]).waits.empty());
}

TEST_CASE("a signal that was announced and made is no longer expected, and the order of announcements counts") {
  tidemark::fence first;
  tidemark::fence second;
  const logged_fence one{&first, fence_id{1}};
  const logged_fence two{&second, fence_id{2}};
  tidemark::thread_recorder maker{queue_id{0}, "maker"};
  tidemark::thread_recorder taker{queue_id{1}, "taker"};
  maker.will_signal(one, 1);
  maker.will_signal(two, 1);
  maker.will_signal(one, 2);
  maker.signal(one, 1);
  std::thread thread([&] {
    CHECK(taker.wait(one, 2) == wait_status::reached);
    CHECK(taker.wait(two, 2) == wait_status::reached);
  });
  hang_report found = ask(1, maker, taker);
  CHECK((found.waits[0].held_by && found.waits[0].held_by->name == "maker"));
  CHECK(found.waits[0].current_value == 1);
  maker.will_signal(two, 2);
  maker.will_not_signal(two, 2);
  maker.signal(two, 1);
  maker.signal(one, 2);
  do found = ask(1, maker, taker);
  while (found.waits[0].fence == fence_id{1});
  CHECK_FALSE(found.waits[0].held_by);
  maker.signal(two, 2);
  thread.join();
}

TEST_CASE("while an announced signal is made, whoever waits for it waits for that thread") {
  /// Asks before it has the value.
  class asking_timeline : public testing::user_timeline {
   public:
    std::function<void()> ask;
    void signal(std::uint64_t value) {
      ask();
      user_timeline::signal(value);
    }
  };
  asking_timeline asked;
  const logged_fence output{&asked, fence_id{1}};
  tidemark::thread_recorder maker{queue_id{0}, "maker"};
  tidemark::thread_recorder taker{queue_id{1}, "taker"};
  maker.will_signal(output, 1);
  std::thread thread([&] { CHECK(taker.wait(output, 1) == wait_status::reached); });
  asked.ask = [&] {
    const hang_report found = ask(1, maker, taker);
    CHECK((found.waits[0].held_by && found.waits[0].held_by->name == "maker"));
  };
  CHECK(maker.signal(output, 1));
  thread.join();
  CHECK(tidemark::why_waiting(maker, taker).waits.empty());
}

TEST_CASE("reports may be asked for while threads begin and end waits for fences that they then destroy") {
  tidemark::thread_recorder one{queue_id{0}, "one"};
  tidemark::thread_recorder other{queue_id{1}, "other"};
  std::thread thread([&] {
    for (int round = 0; round < 200; ++round) {
      auto gone = std::make_unique<tidemark::fence>();
      std::thread signaller([&] { other.signal(logged_fence{gone.get(), fence_id{1}}, 1); });
      CHECK(one.wait(logged_fence{gone.get(), fence_id{1}}, 1) == wait_status::reached);
      signaller.join();
    }
  });
  for (int round = 0; round < 2'000; ++round) CHECK(tidemark::why_waiting(one, other).waits.size() <= 1);
  thread.join();
}
