// SPDX-License-Identifier: BSL-1.0
// The program of docs/guide-engine.md: engines, which execute queues.

#include "expect.hpp"

#include <tidemark/engine/domain.hpp>
#include <tidemark/engine/engine.hpp>
#include <tidemark/engine/engine_queue.hpp>
#include <tidemark/engine/hang_report.hpp>
#include <tidemark/engine/local_fence.hpp>
#include <tidemark/engine/shadowed_fence.hpp>
#include <tidemark/engine/thread_hangs.hpp>
#include <tidemark/engine/unbroken_run.hpp>
#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/wait_many.hpp>
#include <tidemark/queue/executed_work.hpp>
#include <tidemark/queue/log_collector.hpp>
#include <tidemark/queue/thread_recorder.hpp>
#include <tidemark/trace/trace.hpp>
#include <tidemark/trace/trace_work.hpp>

#include <array>
#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace {

using guide::expect;
using namespace std::chrono_literals;
using tidemark::wait_status;

void execute_two_queues() {
  tidemark::engine compute{{.threads = 1}};
  tidemark::engine_queue blur{compute, {.name = "blur"}};
  tidemark::engine_queue scale{compute, {.name = "scale"}};
  tidemark::progress_fence uploaded;
  tidemark::fence blurred;
  std::vector<int> order;

  scale.wait(blurred, 7);  // parks the queue, not a thread
  scale.run([&](int step) { order.push_back(step); }, 2);
  expect(scale.submit().serial == 1, "the doorbell rang, and the submission has a number");

  blur.wait(uploaded, 3);
  blur.run([&] { order.push_back(1); });
  blur.signal(blurred, 7);
  expect(blur.submit().status == tidemark::doorbell_status::accepted, "it will be executed");

  uploaded.signal(3);
  expect(scale.drain() == wait_status::reached, "all that was submitted is finished");
  expect(order == std::vector<int>{1, 2}, "one thread has executed both, in the order of the signals");
}

void name_a_circle() {
  tidemark::engine compute{{.name = "compute"}};
  tidemark::engine copy{{.name = "copy"}};
  tidemark::engine_queue blur{compute, {.name = "blur"}};
  tidemark::engine_queue upload{copy, {.name = "upload"}};
  tidemark::fence blurred;
  tidemark::fence uploaded;

  blur.wait(uploaded, 1);
  blur.signal(blurred, 1);
  upload.wait(blurred, 1);
  upload.signal(uploaded, 1);
  expect(blur.submit() && upload.submit(), "nothing is wrong with either of them");

  tidemark::hang_report report;
  do report = tidemark::why_waiting(compute, copy);  // or compute.why_waiting(), for one engine
  while (report.waits.size() < 2);
  expect(report.cycles.size() == 1, "each has the signal for which the other one waits");
  const tidemark::hanging_wait& first = report.cycles[0][0];
  expect(first.queue.name == "blur" && first.queue.engine_name == "compute", "the report names the queues,");
  expect(first.held_by == report.cycles[0][1].queue && first.value == 1, "who has the signal, and the values");

  blur.abort();  // its progress is lost, and nothing else
  uploaded.signal(1);
  blurred.signal(1);
  expect(upload.drain() == wait_status::reached, "the other queue goes on");
}

void name_a_thread() {
  tidemark::engine compute{{.name = "compute"}};
  tidemark::engine_queue blur{compute, {.name = "blur"}};
  tidemark::fence loaded;
  const tidemark::logged_fence output{&loaded, tidemark::fence_id{1}};
  tidemark::thread_recorder loader{tidemark::queue_id{9}, "loader"};
  loader.will_signal(output, 1);  // so that a report knows who has this signal
  blur.wait(loaded, 1);
  expect(static_cast<bool>(blur.submit()), "the queue waits for the thread");
  tidemark::hang_report report;
  do report = tidemark::why_waiting(compute, loader);  // engines and recorders of threads
  while (report.waits.empty());
  expect(report.waits[0].held_by && report.waits[0].held_by->is_thread, "thread loader has the signal");
  loader.signal(output, 1);
  expect(blur.drain() == wait_status::reached, "and the queue goes on");
}

void execute_without_a_break() {
  tidemark::engine compute{{.threads = 0}};  // the program runs the loop
  tidemark::engine_queue blur{compute, {.quantum = 1}};
  tidemark::engine_queue scale{compute, {.quantum = 1}};
  tidemark::fence uploaded{7};
  std::string order;

  blur.wait(uploaded, 7);  // waits come before the run
  {
    tidemark::unbroken_run run{blur};
    run.run([&] { order += "page in, "; });
    run.run([&] { order += "draw, "; });
  }
  expect(static_cast<bool>(blur.submit()), "the run is a part of the submission");

  scale.run([&] { order += "scale, "; });
  expect(static_cast<bool>(scale.submit()), "another queue has something to do, too");
  while (compute.loop().poll() != 0) continue;
  expect(order.find("page in, draw, ") != std::string::npos, "which does not come between");
}

void wait_until_a_signal_is_queued() {
  tidemark::engine compute{{.threads = 1}};
  tidemark::engine_queue draws{compute, {.name = "draws"}};
  tidemark::fence drawn;
  tidemark::fence drawn_queued;  // how far signals of `drawn` are queued
  auto shown = std::async(std::launch::async, [&] {
    const wait_status queued = drawn_queued.wait(7);  // as long as it takes until somebody submits that work
    if (queued != wait_status::reached) return queued;
    return drawn.wait_for(7, 1min);  // the work is on its way: now a limit makes sense
  });
  draws.signal(drawn, 7);
  draws.announce(drawn_queued, 7);
  expect(static_cast<bool>(draws.submit()), "submit() signals what was announced");
  expect(shown.get() == wait_status::reached, "and the engine signals what was recorded");
}

void change_a_priority() {
  tidemark::engine compute{{.threads = 0}};  // the program runs the loop
  tidemark::engine_queue backup{compute, {.name = "backup"}};
  tidemark::engine_queue video{compute, {.name = "video"}};
  std::string order;

  backup.run([&] { order += "backup, "; });
  video.run([&] { order += "video, "; });
  expect(backup.submit() && video.submit(), "both are ready, and backup came first");
  video.set_priority(tidemark::queue_priority::high);  // from any thread
  while (compute.loop().poll() != 0) continue;
  expect(order == "video, backup, ", "the priority counts for what is ready already");
}

void go_on_after_an_abort() {
  tidemark::engine compute{{.threads = 1}};
  tidemark::fence uploaded;
  std::optional<tidemark::engine_queue> blur{std::in_place, compute};
  auto waits = blur->timeline().wait_log();
  blur->wait(uploaded, 1);
  blur->wait(uploaded, 2);
  expect(static_cast<bool>(blur->submit()), "two waits are submitted");

  compute.abort();
  expect(blur->submit().status == tidemark::doorbell_status::aborted, "an aborted queue takes nothing more");
  blur.reset();  // writes what is not in the log yet
  std::array<tidemark::fence_log_entry, 8> buffer;
  const auto found = waits.read(buffer).entries;
  expect(found.size() == 2 && is_cancelled(found[0]) && is_cancelled(found[1]), "both waits stand there as cancelled");

  blur.emplace(compute);  // the engine goes on with a new queue
  uploaded.signal(2);
  blur->wait(uploaded, 2);
  expect(blur->submit() && blur->drain() == wait_status::reached, "which executes what it is given");
}

void reserve_entries() {
  tidemark::engine compute{{.threads = 1}};
  tidemark::engine_queue blur{compute};
  tidemark::fence blurred;
  auto entries = blur.timeline().signal_reserver();
  const auto entry = entries.reserve();
  blur.signal(blurred, 1, entry);
  expect(entry.sequence == 0, "the signal will be entry 0 of the log");
  expect(static_cast<bool>(blur.submit(entries.reserve())), "and the end of the submission entry 1");
  expect(blur.drain() == wait_status::reached, "both are executed");
}

void give_a_progress() {
  tidemark::engine compute{{.threads = 1}};
  tidemark::progress_fence blurred;
  tidemark::fence scaled{41};  // any timeline that can be signalled and waited for
  {
    tidemark::basic_engine_queue blur{compute, blurred, {.name = "blur"}};
    tidemark::basic_engine_queue scale{compute, scaled, {.name = "scale"}};
    expect(blur.submit().serial == 1 && scale.submit().serial == 42, "each goes on from where its fence stood");
    expect(tidemark::wait_all({{blurred, 1}, {scaled, 42}}) == wait_status::reached, "both are finished");
  }
  tidemark::basic_engine_queue next{compute, scaled};  // the fence is there still, and another queue takes it
  expect(next.submit().serial == 43 && next.drain() == wait_status::reached, "which goes on in its turn");
}

void pass_a_local_fence() {
  tidemark::engine compute{{.threads = 1}};
  tidemark::engine_queue copies{compute};
  tidemark::engine_queue blurs{compute};
  tidemark::local_fence copied;
  copies.signal(copied, 1);  // copied.signal(1) does not compile
  blurs.wait(copied, 1);     // copied.wait(1) does not, nor does copied.current_value()
  expect(blurs.submit() && copies.submit(), "both are submitted");
  expect(blurs.drain() == wait_status::reached, "a thread waits for the queue");
  expect(copies.drain() == wait_status::reached, "and not for the fence");
}

void show_the_work() {
  tidemark::executed_work work;
  tidemark::log_collector collector;
  tidemark::trace trace;
  {
    tidemark::engine compute{{.threads = 1}};
    tidemark::engine_queue blur{compute, {.name = "blur"}};
    collector.add(blur.id(), blur.timeline());
    collector.add(blur.id(), work);
    trace.name_queue(blur.id(), "blur");

    blur.tell_work(&work);
    for (int tile = 0; tile < 3; ++tile) blur.run(tidemark::named_work{"tile"}, [] {});
    expect(blur.submit() && blur.drain() == wait_status::reached, "three tiles are blurred");
  }
  collector.collect(trace);
  expect(tidemark::work_of(trace).size() == 3, "the trace has a span for each");
}

void attach_two_domains() {
  tidemark::engine compute{{.threads = 1}};
  tidemark::engine display{{.threads = 1}};
  tidemark::domain card{compute.loop()};
  tidemark::domain chip{display.loop(), {.kind = tidemark::domain_kind::legacy}};
  tidemark::cross_fence blurred;
  tidemark::attachment on_card{blurred, card};
  tidemark::attachment on_chip{blurred, chip};
  {
    tidemark::engine_queue blurs{compute};
    tidemark::legacy_queue shows{display};
    int picture = 0;
    int shown = 0;

    blurs.run([&] { picture = 7; });
    blurs.signal(on_card, 1);
    shows.wait(on_chip, 1);  // held on a list of the chip, until the card has told the chip
    shows.run([&] { shown = picture; });

    expect(static_cast<bool>(shows.submit()), "the wait is submitted");
    expect(static_cast<bool>(blurs.submit()), "and the signal");
    expect(shows.drain() == wait_status::reached && shown == 7, "the picture was blurred before it was shown");
    expect(blurs.drain() == wait_status::reached, "and the blur is finished");
  }
  expect(blurred.counts().stores == 1, "the value was stored once");
}

void interrupt_only_for_waiters() {
  using platform = tidemark::symmetric_platform;  // works where a system refuses asymmetric barriers, too
  tidemark::basic_wait_loop<platform> coprocessor;
  tidemark::basic_wait_loop<platform> interrupts;
  tidemark::basic_shadowed_fence<platform> ready{coprocessor, interrupts};
  auto later = std::async(std::launch::async, [&] { return ready.wait(3); });
  while (ready.shadow() != 2) std::this_thread::yield();  // the waiter has registered

  ready.signal(1);
  ready.signal(2);  // not above the shadow: ends in the device
  expect(coprocessor.poll() == 0, "nobody was rung");
  ready.signal(3);
  coprocessor.poll();  // compares with the monitored value, and interrupts if the waiter still waits
  interrupts.poll();   // releases the waiter
  expect(later.get() == wait_status::reached && ready.counts().rings == 1, "one of three signals left the device");
}

}  // namespace

int main() {
  execute_two_queues();
  name_a_circle();
  name_a_thread();
  execute_without_a_break();
  wait_until_a_signal_is_queued();
  change_a_priority();
  go_on_after_an_abort();
  reserve_entries();
  give_a_progress();
  pass_a_local_fence();
  interrupt_only_for_waiters();
  show_the_work();
  attach_two_domains();
  return guide::result("guide_engine");
}
