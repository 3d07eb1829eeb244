// SPDX-License-Identifier: BSL-1.0
// The program of docs/guide-queue.md: two executors that wait for each other's work, and a thread that serves their
// notifications.

#include "expect.hpp"

#include <tidemark/hub/hub.hpp>
#include <tidemark/hub/loop_served.hpp>
#include <tidemark/hub/signal_origin.hpp>
#include <tidemark/log/mapped_log.hpp>
#include <tidemark/loop/wait_loop.hpp>
#include <tidemark/queue/log_collector.hpp>
#include <tidemark/queue/queue.hpp>
#include <tidemark/queue/queued_events.hpp>
#include <tidemark/trace/trace.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>

namespace {

using guide::expect;
using tidemark::run_status;
using tidemark::submit_status;
using tidemark::wait_status;

constexpr std::size_t blocks = 100;

void run_two_executors() {
  std::array<std::uint64_t, blocks> data{};
  std::uint64_t sum = 0;

  tidemark::progress_fence filled_blocks;
  tidemark::progress_fence added_blocks;
  tidemark::queue fill{filled_blocks, {.progress = tidemark::fence_id{1}}};  // how logs and traces call the fence
  tidemark::queue add{added_blocks, {.progress = tidemark::fence_id{2}}};

  std::thread filler([&] {
    for (std::size_t n = 0; n < blocks; ++n) {
      data[n] = n;
      fill.complete();  // signals the progress fence, and logs it
    }
  });
  std::thread adder([&] {
    for (std::size_t n = 0; n < blocks; ++n) {
      if (add.wait(fill.progress(), n + 1) != wait_status::reached) return;  // gets past the wait, and logs it
      sum += data[n];
      add.complete();
    }
  });

  expect(add.wait_finished(blocks) == wait_status::reached, "all blocks were added");
  expect(sum == blocks * (blocks - 1) / 2, "and filled before");
  filler.join();
  adder.join();
}

void give_out_serials() {
  tidemark::progress_fence drawn;
  tidemark::queue draw{drawn};
  std::array<int, 8> work{};

  const auto [status, serial] = draw.submit([&](std::uint64_t number) { work[static_cast<std::size_t>(number)] = 7; });
  expect(status == submit_status::submitted && serial == 1, "the first piece of work has serial 1");
  expect(draw.last_queued() == 1 && !draw.is_idle(), "one piece of work is on its way");

  std::thread executor([&] {
    expect(work[1] == 7, "the work is there");
    draw.complete();
  });
  expect(draw.drain() == wait_status::reached && draw.is_idle(), "drain() waits for all that was submitted");
  executor.join();

  draw.abort();
  expect(draw.submit([](std::uint64_t) {}).status == submit_status::lost, "an aborted queue takes no more work");
}

void record_first() {
  constexpr tidemark::fence_id blurred_id{7};
  tidemark::progress_fence finished;
  tidemark::fence blurred;
  tidemark::queue post{finished, {.progress = tidemark::fence_id{4}}};

  tidemark::queued_events events;
  auto entries = post.signal_reserver();
  tidemark::log_collector collector;
  collector.add(tidemark::queue_id{1}, post);
  collector.add(tidemark::queue_id{1}, events);

  // Some thread records a list.
  events.signal_queued(blurred_id, 1);
  const auto reserved = entries.reserve();
  expect(reserved && reserved.sequence == 0, "the signal will be entry 0 of the log");
  expect(post.verbose_wanted() == tidemark::verbose_events::none, "no tool wants to see more");

  // Perhaps much later the executor gets the list.
  post.signal(tidemark::logged_fence{&blurred, blurred_id}, 1, reserved);

  tidemark::trace trace;
  collector.collect(trace);
  const auto commands = trace.commands();
  expect(commands.size() == 1 && commands[0].queued && commands[0].executed, "both halves of one command");
}

void cancel_work() {
  tidemark::progress_fence finished;
  tidemark::queue draw{finished};
  for (int frame = 0; frame < 3; ++frame) {
    expect(static_cast<bool>(draw.submit([](std::uint64_t) {})), "three frames are submitted");
  }
  draw.complete();

  expect(!draw.cancel_from(3, 3), "frame 2 would be left out");
  const auto cancelled = draw.cancel_from(2, draw.last_queued());
  expect(cancelled && cancelled.entries == 2, "the last two frames stand in the log as cancelled");
  draw.abort();  // their waiters give up
  expect(draw.wait_finished(3) == wait_status::lost, "nobody finished frame 3");
}

void tell_devices_apart() {
  tidemark::hub hub;
  tidemark::progress_fence encoded;
  tidemark::fence output;
  tidemark::hub_queue encode{encoded};
  constexpr tidemark::device_id encoder{2};
  const auto attached = hub.attach(encode, {.device = encoder});
  const auto added = hub.add(output, {.device = encoder});
  expect(attached && added, "the hub has room");
  hub.detach(attached.queue);
}

void ask_who_signalled() {
  std::optional<tidemark::queue_id> by;
  std::uint64_t when = 0;
  auto tell = [&](const tidemark::signal_origin& origin) noexcept {
    by = origin.queue;
    when = origin.entry.end_timestamp;
  };
  using asking = tidemark::tells_origins<tidemark::self_serving, decltype(tell)>;
  using asking_hub = tidemark::basic_hub<tidemark::native_platform, asking>;
  asking_hub hub{asking{tell}};
  tidemark::progress_fence encoded;
  tidemark::basic_queue<tidemark::progress_fence, tidemark::default_log_clock, tidemark::hub_notifier<asking_hub>>
      encode{encoded};
  const auto attached = hub.attach(encode, {.style = tidemark::notify_style::by_fence});
  if (!attached) return expect(false, "the hub has room");
  encode.complete();
  hub.notify(*attached.progress);
  expect(by == attached.queue && when != 0, "the log says who signalled the fence, and when");
  hub.remove(*attached.progress);
}

void read_in_another_mapping() {
  struct alignas(tidemark::cache_line) page {
    std::array<std::byte, 4096> bytes;
  };
  std::array<page, 3> shared;  // mapped by both processes; the numbers of the pages are the places
  constexpr auto signals = tidemark::fence_log_type::signal;
  tidemark::progress_fence rendered;
  tidemark::queue render{rendered};
  render.set_log(signals, shared[1].bytes, tidemark::log_location{1});
  render.complete();

  auto opened = tidemark::mapped_fence_log::open(shared[1].bytes, signals);  // in the other process
  if (!opened) return expect(false, "the page holds a log of signals");
  tidemark::mapped_fence_log& log = *opened.reader;
  std::array<tidemark::fence_log_entry, 16> buffer;
  expect(log.read(buffer).entries.size() == 1, "one frame");

  render.set_log(signals, shared[2].bytes, tidemark::log_location{2});  // the log is made anew
  render.complete();
  if (const auto next = log.next_log()) {  // and the reader has read the old one to its end
    const auto number = static_cast<std::size_t>(*next);
    expect(log.follow(shared.at(number).bytes) == tidemark::log_fault::none, "the next log is there");
  }
  const auto found = log.read(buffer);
  expect(found.entries.size() == 1 && found.lost == 0, "nothing is lost");
}

using hub_type = tidemark::basic_hub<tidemark::native_platform, tidemark::dispatched>;
using served_queue =
    tidemark::basic_queue<tidemark::progress_fence, tidemark::default_log_clock, tidemark::hub_notifier<hub_type>>;

void serve_in_a_thread() {
  hub_type hub;
  tidemark::progress_fence rendered;
  served_queue render{rendered};
  const auto attached = hub.attach(render);  // also adds the fence, and makes the hub the queue's notifier
  if (!attached) return expect(false, "the hub has room");

  std::atomic<bool> is_over{false};
  std::thread dispatcher([&] {
    while (hub.serve() && !is_over) continue;  // sleeps until a signal has found a waiter due
  });
  std::thread executor([&] {
    for (int frame = 0; frame < 3; ++frame) render.complete();
  });

  expect(rendered.wait(3) == wait_status::reached, "the dispatcher released this thread, or it need not sleep");
  executor.join();
  is_over = true;
  hub.notify_all();  // so that the dispatcher looks
  dispatcher.join();
  hub.remove(*attached.progress);  // before the fence goes
}

void serve_on_a_loop() {
  tidemark::wait_loop loop;
  using hub_on_loop = tidemark::basic_hub<tidemark::native_platform, tidemark::loop_served>;
  hub_on_loop hub{tidemark::loop_served{loop}};
  tidemark::progress_fence rendered;
  tidemark::basic_queue<tidemark::progress_fence, tidemark::default_log_clock, tidemark::hub_notifier<hub_on_loop>>
      render{rendered};
  const auto attached = hub.attach(render);
  auto shown = loop.on_reached(rendered, 3, [&] { loop.stop(); });
  std::thread executor([&] {
    for (int frame = 0; frame < 3; ++frame) render.complete();
  });
  expect(loop.run() == run_status::stopped, "one thread serves the hub and runs the callable");
  executor.join();
  hub.detach(attached.queue);
  hub.remove(*attached.progress);
}

}  // namespace

int main() {
  run_two_executors();
  give_out_serials();
  record_first();
  cancel_work();
  tell_devices_apart();
  ask_who_signalled();
  read_in_another_mapping();
  serve_in_a_thread();
  serve_on_a_loop();
  return guide::result("guide_queue");
}
