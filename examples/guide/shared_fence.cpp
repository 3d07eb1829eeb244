// SPDX-License-Identifier: BSL-1.0
// The programs of the section "Fences that processes share" of docs/guide-fence.md.
#include "expect.hpp"

#include <tidemark/fence/attachment_ends.hpp>
#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/followed_fence.hpp>
#include <tidemark/fence/shared_fence.hpp>
#include <tidemark/fence/wait_many.hpp>
#include <tidemark/loop/wait_loop.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <vector>

#if defined(__linux__) && TIDEMARK_HAS_FUTEX

namespace {

using guide::expect;
using tidemark::wait_status;

void signal_another_process() {
  auto made = tidemark::shared_progress_fence::create();
  if (fork() == 0) {  // another process opens an attachment of its own
    auto opened = tidemark::shared_progress_fence_waiter::open(made.fence.files());
    const bool is_there = opened && opened.fence.wait(3) == wait_status::reached;
    _exit(is_there && opened.fence.wait(4) == wait_status::lost ? 0 : 1);
  }
  made.fence.signal(3);  // a store and a load, unless a thread of some process is due
  made.fence.close();    // nobody is left who may signal
  int status = 1;
  wait(&status);
  expect(status == 0, "the other process came to 3, and then learnt that nobody signals 4");
}

void follow_another_process() {
  auto made = tidemark::shared_fence_waiter::create();
  if (fork() == 0) {
    auto opened = tidemark::shared_fence::open(made.fence.files());
    _exit(opened && opened.fence.signal(3) ? 0 : 1);  // nobody is left who may signal
  }
  const tidemark::followed_fence frames{made.fence};  // wakes whatever waits in this process
  tidemark::fence uploaded;
  expect(tidemark::wait_any({{frames, 3}, {uploaded, 1}}).index == 0, "the other process came to 3");
  tidemark::wait_loop loop;
  const auto drawn = loop.on_reached(frames, 4, [](wait_status how) { expect(how == wait_status::lost, "4 is lost"); });
  expect(loop.run_one() == tidemark::run_status::ran, "the loop has slept until the loss was found");
  wait(nullptr);
}

void learn_of_a_death() {
  auto made = tidemark::shared_fence_waiter::create();
  tidemark::attachment_ends ends{made.fence};
  tidemark::wait_loop loop;
  const auto told = loop.on_readable(ends.descriptor(), [&] {
    ends.look();
    if (made.fence.signallers() == tidemark::shared_signallers::died) loop.stop();
  });
  if (fork() == 0) {
    auto opened = tidemark::shared_fence::open(made.fence.files());
    _exit(0);  // as if it was killed
  }
  expect(loop.run() == tidemark::run_status::stopped, "the loop was told of the death");
  wait(nullptr);
}

void guard_a_process() {
  auto made = tidemark::shared_fence_waiter::create();
  const pid_t child = fork();
  if (child == 0) {  // tells of its end at once
    auto opened = tidemark::shared_fence::open(made.fence.files(), {.has_guard = true});
    const std::vector<char> memory(std::size_t{64} << 20, 1);
    opened.fence.signal(1);
    for (;;) pause();
  }
  auto learns = tidemark::shared_fence_waiter::open(made.fence.files(), {.has_guard = true});
  expect(learns.fence.wait(1) == wait_status::reached, "the child has all its memory");
  kill(child, SIGKILL);
  expect(learns.fence.wait(2) == wait_status::lost, "its guard has told of the end of the child");
  wait(nullptr);
}

}  // namespace

int main() {
  signal_another_process();
  follow_another_process();
  learn_of_a_death();
  if (tidemark::shared_fence::negotiate<tidemark::death_guards>()) guard_a_process();
  return guide::result("guide_shared_fence");
}

#else

int main() {}

#endif
