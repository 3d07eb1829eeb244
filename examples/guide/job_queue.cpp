// SPDX-License-Identifier: BSL-1.0
// The header of docs/guide-verify.md in a program: two threads push jobs and two work on them.

#include <thread>
#include <vector>

#include "expect.hpp"
#include "job_queue.hpp"

int main() {
  constexpr int jobs = 1000;
  myproject::job_queue<4> queue;
  std::atomic<int> sum{0};
  std::atomic<int> done{0};
  {
    std::vector<std::thread> workers;
    for (int i = 0; i < 2; ++i) {
      workers.emplace_back([&] {
        while (const int job = queue.pop()) {
          sum += job;
          if (++done == jobs) queue.stop();
        }
      });
      workers.emplace_back([&, i] {
        for (int job = 1 + i; job <= jobs; job += 2) guide::expect(queue.push(job), "a job is taken");
      });
    }
    for (std::thread& each : workers) each.join();
  }
  guide::expect(done == jobs && sum == jobs * (jobs + 1) / 2, "each job is done once");
  guide::expect(queue.is_stopped() && !queue.push(1) && queue.pop() == 0, "a stopped queue takes nothing");
  return guide::result("job_queue");
}
