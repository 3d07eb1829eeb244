// SPDX-License-Identifier: BSL-1.0
// The program of the section "An agent" of docs/guide-queue.md: a process reads the logs of another one's queues.
#include "expect.hpp"

#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/shared_fence.hpp>
#include <tidemark/log/shared_logs.hpp>
#include <tidemark/queue/log_collector.hpp>
#include <tidemark/queue/queue.hpp>
#include <tidemark/trace/trace.hpp>

#include <sys/wait.h>
#include <unistd.h>

#if defined(__linux__) && TIDEMARK_HAS_FUTEX

namespace {

using guide::expect;
using tidemark::queue_id;
using tidemark::wait_status;

int read_as_agent(const tidemark::shared_files& fence, const tidemark::shared_files& logs) {
  auto shown = tidemark::shared_fence_waiter::open(fence);
  auto opened = tidemark::shared_logs_reader::open(logs, {.numbers = {.queues = 1000, .fences = 1000}});
  if (!shown || !opened) return 1;
  tidemark::log_collector collector;
  collector.add(opened.logs);  // beside queues of its own, if it has some
  tidemark::trace frames;
  if (shown.fence.wait(100) != wait_status::reached) return 1;
  collector.collect(frames);
  const auto commands = frames.commands();
  return commands.size() == 100 && commands[0].queue == queue_id{1001} ? 0 : 1;
}

void be_read_by_an_agent() {
  auto shown = tidemark::shared_fence::create();
  auto made = tidemark::shared_logs::create();
  if (fork() == 0) _exit(read_as_agent(shown.fence.files(), made.logs.files()));
  constexpr auto signals = tidemark::fence_log_type::signal;
  tidemark::progress_fence rendered;
  tidemark::queue render{rendered};
  render.set_log(signals, made.logs.take(queue_id{1}, signals));
  for (int frame = 0; frame < 50; ++frame) render.complete();
  render.set_log(signals, made.logs.take(queue_id{1}, signals, 1000));  // a larger one: the agent goes on in it
  for (int frame = 50; frame < 100; ++frame) render.complete();
  shown.fence.signal(100);  // the agent may have been reading all the time
  int status = 1;
  wait(&status);
  expect(status == 0, "the agent has read 100 entries, and knows the queue by a number of its own");
}

}  // namespace

int main() {
  be_read_by_an_agent();
  return guide::result("guide_shared_logs");
}

#else

int main() {}

#endif
