// SPDX-License-Identifier: BSL-1.0
// The second program of docs/guide-queue.md: engines, which execute queues.

#include "expect.hpp"

#include <tidemark/fence/fence.hpp>
#include <tidemark/queue/domain.hpp>
#include <tidemark/queue/engine.hpp>
#include <tidemark/queue/engine_queue.hpp>
#include <tidemark/queue/hang_report.hpp>

#include <vector>

namespace {

using guide::expect;
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
    tidemark::engine_queue shows{display};
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

}  // namespace

int main() {
  execute_two_queues();
  name_a_circle();
  attach_two_domains();
  return guide::result("guide_engine");
}
