// SPDX-License-Identifier: BSL-1.0
// The second program of docs/guide-loop.md: waits in an io_uring. Exit status: 77 if the system refuses io_uring.

#include "expect.hpp"

#include <tidemark/loop/loop_uring.hpp>

#include <cstdio>
#include <thread>

#include <liburing.h>

namespace {

using guide::expect;

void serve_a_loop_with_io_uring(const tidemark::fence& copied, io_uring& ring) {
  tidemark::wait_loop loop;
  bool is_shown = false;
  auto show = loop.on_reached(copied, 3, [&] { is_shown = true; });

  tidemark::loop_uring_wait ready(loop, ring.ring_fd);
  while (!is_shown) {
    // Reads, writes and the like would be in the same ring.
    ready.prepare(*io_uring_get_sqe(&ring));
    io_uring_submit_and_wait(&ring, 1);
    io_uring_cq_advance(&ring, io_uring_cq_ready(&ring));
    loop.poll();
  }
  expect(is_shown, "the callable has run");
}

}  // namespace

int main() {
  io_uring ring{};
  if (io_uring_queue_init(8, &ring, 0) < 0) {
    std::puts("guide_loop_uring: the system refuses io_uring");
    return 77;
  }
  tidemark::fence copied;
  std::thread copier([&] { copied.signal(3); });
  serve_a_loop_with_io_uring(copied, ring);
  copier.join();
  io_uring_queue_exit(&ring);
  return guide::result("guide_loop_uring");
}
