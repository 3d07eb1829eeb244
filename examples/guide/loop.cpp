// SPDX-License-Identifier: BSL-1.0
// The program of docs/guide-loop.md: waits without a thread for each.

#include "expect.hpp"

#include <tidemark/fence/detached.hpp>
#include <tidemark/fence/each_advance.hpp>
#include <tidemark/fence/link.hpp>
#include <tidemark/fence/signaller.hpp>
#include <tidemark/fence/signaller_awaiter.hpp>
#include <tidemark/fence/signaller_callback.hpp>
#include <tidemark/loop/executor_loop.hpp>
#include <tidemark/loop/reached_descriptor.hpp>
#include <tidemark/loop/senders.hpp>
#include <tidemark/loop/wait_loop.hpp>
#include <tidemark/platform/platform.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;
using guide::expect;
using tidemark::awaited;
using tidemark::run_status;
using tidemark::wait_status;

void run_a_callable_at_a_value() {
  tidemark::wait_loop loop;
  tidemark::progress_fence decoded;
  std::vector<int> shown;

  auto first = loop.on_reached(decoded, 10, [&] { shown.push_back(10); });
  auto second = loop.on_reached(decoded, 20, [&](wait_status how) {
    shown.push_back(how == wait_status::reached ? 20 : -1);
    loop.stop();
  });
  std::thread decoder([&] {
    for (int row = 0; row < 25; ++row) decoded.signal_next();
  });
  expect(loop.run() == run_status::stopped, "the second callable has stopped the loop");
  decoder.join();
  expect(shown == std::vector<int>{10, 20}, "the lower target ran first");
}

tidemark::detached upload(tidemark::wait_loop& loop, const tidemark::fence& copied, const tidemark::fence& checked) {
  wait_status how = co_await loop.reached_for(copied, 1, 10ms);
  expect(how == wait_status::timeout, "nobody has signalled in time");
  how = co_await loop.reached(copied, 1);
  expect(how == wait_status::reached, "now the copy is there");
  const auto either = co_await loop.any_of(std::array{awaited{copied, 2}, awaited{checked, 1}});
  expect(either == wait_status::reached && either.index == 1, "the check was faster than the next copy");
  loop.stop();
}

tidemark::detached wait_for_lists(tidemark::wait_loop& loop, const std::vector<awaited>& all,
                                  const std::vector<awaited>& any) {
  for (const awaited& each : all) {
    const wait_status how = co_await loop.all_of(std::array{each});
    expect(how == wait_status::reached, "and so for each of the list");
  }
  tidemark::fence one_is_over;
  auto tell = [&](wait_status) { one_is_over.signal(1); };  // or lost
  std::list<tidemark::basic_callback<tidemark::native_platform, decltype(tell)>> waits;
  for (const awaited& each : any) waits.emplace_back(loop, each, tell);
  const wait_status how = co_await loop.reached_for(one_is_over, 1, 1h);
  expect(how == wait_status::reached, "one value of the other list is reached");
  loop.stop();
}

void wait_in_a_coroutine() {
  tidemark::wait_loop loop;
  tidemark::fence copied;
  tidemark::fence checked;
  upload(loop, copied, checked);
  expect(loop.run_for(20ms) == run_status::timeout, "the coroutine waits on");
  copied.signal(1);
  checked.signal(1);
  expect(loop.run() == run_status::stopped, "the coroutine has stopped the loop");
}

void wait_for_lists_in_a_coroutine() {
  tidemark::wait_loop loop;
  tidemark::fence copied;
  tidemark::fence checked;
  const std::vector<awaited> all{awaited{copied, 1}, awaited{checked, 1}};
  const std::vector<awaited> any{awaited{copied, 2}, awaited{checked, 2}};
  wait_for_lists(loop, all, any);
  copied.signal(1);
  checked.signal(1);
  expect(loop.run_for(20ms) == run_status::timeout, "the coroutine waits for one of the other list");
  checked.signal(2);
  expect(loop.run() == run_status::stopped, "the coroutine has stopped the loop");
}

void post_to_a_loop() {
  tidemark::wait_loop loop;
  int redraws = 0;
  int loads = 0;
  auto redraw = loop.make_task([&] { ++redraws; });
  std::thread other([&] {
    redraw.post();  // allocates nothing
    redraw.post();  // the same redraw, unless the first one has begun
    loop.post([&] { ++loads; });
  });
  other.join();
  loop.poll();  // runs what is ready, and does not sleep
  expect(redraws == 1 && loads == 1, "both posts of the task came before it ran");
}

void poll_a_fence_and_a_socket(int socket) {
  tidemark::progress_fence drawn;
  std::thread painter([&] { drawn.signal(3); });
  const tidemark::reached_descriptor ready{drawn, 3};
  std::array<pollfd, 2> asked{{{ready.descriptor(), POLLIN, 0}, {socket, POLLIN, 0}}};
  expect(ready.error() == 0 && ::poll(asked.data(), asked.size(), -1) == 1, "one of the two is ready");
  expect(asked[0].revents == POLLIN && ready.status() == wait_status::reached, "and that is the fence");
  painter.join();
}

void wait_for_fences_and_descriptors(int socket) {
  tidemark::wait_loop loop;
  tidemark::fence copied;
  std::array<char, 64> request{};
  auto received = loop.on_readable(socket, [&] { expect(read(socket, request.data(), 64) > 0, "a request"); });
  auto finished = loop.on_reached(copied, 1, [&] { loop.stop(); });
  loop.post([&] { copied.signal(1); });
  expect(loop.run() == run_status::stopped, "one sleep waits for both");
}

constexpr tidemark::loss_reason cable_pulled{8, "the cable was pulled"};  // lives as long as the program

void run_a_callable_in_the_signaller() {
  tidemark::callback_progress_fence copied;
  std::uint64_t frames = 0;
  auto counted = tidemark::call_in_signaller(copied, 3, [&] { ++frames; });
  copied.signal(2);
  expect(frames == 0, "nobody was due");
  copied.signal(3);
  expect(frames == 1, "it has run in this signal");
}

void run_a_callable_when_both_are_reached() {
  tidemark::callback_progress_fence rows;
  tidemark::callback_progress_fence audio;
  tidemark::callback_fence both;  // counts which of them have come
  const auto counts = [&](wait_status how) {
    how == wait_status::reached ? static_cast<void>(both.signal_next()) : both.poison(cable_pulled);
  };
  auto first = tidemark::call_in_signaller(rows, 12, counts);
  auto second = tidemark::call_in_signaller(audio, 40, counts);
  bool is_shown = false;
  auto shown = tidemark::call_in_signaller(both, 2, [&] { is_shown = true; });
  audio.signal(40);
  rows.signal(12);
  expect(is_shown, "it has run in the signal that came last");
}

void run_a_callable_at_each_advance() {
  tidemark::callback_progress_fence decoded;
  std::uint64_t shown = 0;
  auto bar = tidemark::each_advance(decoded, [&](std::uint64_t rows, wait_status how) {
    if (how == wait_status::reached) shown = rows;
  });
  decoded.signal(3);
  expect(shown == 3, "it has run in this signal");
  decoded.signal(9);
  expect(shown == 9, "and in this one, with the newest value");
}

void link_two_timelines() {
  tidemark::callback_progress_fence decoded;
  tidemark::fence playable;
  tidemark::fence subtitled;
  auto played = tidemark::link(decoded, 30, playable, 1);
  auto titled = tidemark::link(decoded, 90, tidemark::signaller{subtitled}, 1);
  decoded.signal(30);
  expect(playable.wait(1) == wait_status::reached, "30 rows are enough to play");
  decoded.poison(cable_pulled);
  expect(subtitled.wait(1) == wait_status::lost && *subtitled.loss() == cable_pulled, "the loss went along the link");
}

tidemark::detached count_a_frame(const tidemark::callback_progress_fence& copied, std::uint64_t& frames) {
  const wait_status how = co_await tidemark::reached_in_signaller(copied, 3);
  if (how == wait_status::reached) ++frames;
}

void resume_a_coroutine_in_the_signaller() {
  tidemark::callback_progress_fence copied;
  std::uint64_t frames = 0;
  count_a_frame(copied, frames);
  copied.signal(3);
  expect(frames == 1, "it has gone on in this signal");
}

/// An executor without threads: its owner calls what it has been given.
struct calls {
  using time = std::chrono::steady_clock::time_point;
  void execute(tidemark::loop_turn turn) { soon.push_back(std::move(turn)); }
  void execute_at(time at, tidemark::loop_turn turn) { later.emplace(at, std::move(turn)); }

  std::deque<tidemark::loop_turn> soon;
  std::multimap<time, tidemark::loop_turn> later;
};

void run_a_loop_on_an_executor() {
  calls executor;
  tidemark::executor_loop<calls> loop(executor);
  tidemark::fence copied;
  bool is_shown = false;
  auto show = loop.on_reached(copied, 3, [&] { is_shown = true; });
  for (; !executor.soon.empty(); executor.soon.pop_front()) executor.soon.front()();
  copied.signal(3);  // gives the executor one turn
  executor.soon.front()();
  expect(is_shown, "the callable has run in that turn");
}

/// What is told how an operation has ended.
struct shows {
  void set_value() noexcept { *text = "copied"; }
  void set_error(wait_status how) noexcept { *text = how == wait_status::lost ? "lost" : "too late"; }
  void set_stopped() noexcept { *text = "stopped"; }
  std::string* text;
};

void connect_a_sender() {
  tidemark::wait_loop loop;
  tidemark::fence copied;
  std::string text;
  auto operation = tidemark::when_reached_for(loop, copied, 3, 1ms).connect(shows{&text});
  operation.start();
  expect(loop.run_one() == run_status::ran && text == "too late", "the deadline has passed");
}

void serve_a_loop_with_epoll(const tidemark::fence& copied, int epoll) {
  tidemark::wait_loop loop;
  bool is_shown = false;
  auto show = loop.on_reached(copied, 3, [&] { is_shown = true; });

  epoll_event event{.events = EPOLLIN, .data = {.fd = loop.descriptor()}};
  epoll_ctl(epoll, EPOLL_CTL_ADD, event.data.fd, &event);
  while (!is_shown && epoll_wait(epoll, &event, 1, -1) == 1) {
    // Sockets and the like would be in the same epoll.
    if (event.data.fd == loop.descriptor()) loop.poll();
  }
  expect(is_shown, "the callable has run");
}

void serve_with_epoll() {
  tidemark::fence copied;
  std::thread copier([&] { copied.signal(3); });
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  serve_a_loop_with_epoll(copied, epoll);
  close(epoll);
  copier.join();
}

}  // namespace

int main() {
  run_a_callable_at_a_value();
  wait_in_a_coroutine();
  wait_for_lists_in_a_coroutine();
  post_to_a_loop();
  run_a_callable_in_the_signaller();
  run_a_callable_when_both_are_reached();
  run_a_callable_at_each_advance();
  link_two_timelines();
  resume_a_coroutine_in_the_signaller();
  run_a_loop_on_an_executor();
  connect_a_sender();
  serve_with_epoll();
  std::array<int, 2> ends{};
  expect(pipe(ends.data()) == 0, "a pipe");
  poll_a_fence_and_a_socket(ends[0]);
  expect(write(ends[1], "hello", 5) == 5, "with a request");
  wait_for_fences_and_descriptors(ends[0]);
  close(ends[0]);
  close(ends[1]);
  return guide::result("guide_loop");
}
