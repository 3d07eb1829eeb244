// SPDX-License-Identifier: BSL-1.0
//
// Tasks, which are posted to a loop again and again.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <tidemark/loop/wait_loop.hpp>

#include "support/loop_kinds.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::run_status;

TEST_CASE_TEMPLATE("tasks run in the order in which they were posted, once for each post", Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  std::vector<int> order;
  auto first = loop.make_task([&] { order.push_back(1); });
  auto second = loop.make_task([&] { order.push_back(2); });
  CHECK(second.post());
  CHECK(first.post());
  CHECK(!second.post());
  CHECK(loop.poll() == 2);
  CHECK(first.post());
  CHECK(loop.poll() == 1);
  CHECK(order == std::vector{2, 1, 1});
}

TEST_CASE_TEMPLATE("the callable of a task may change what it keeps", Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  std::vector<int> counted;
  auto task = loop.make_task([&counted, runs = 0]() mutable { counted.push_back(++runs); });
  for (int i = 0; i < 3; ++i) {
    CHECK(task.post());
    CHECK(loop.poll() == 1);
  }
  loop.post([&counted, runs = 6]() mutable { counted.push_back(++runs); });
  CHECK(loop.poll() == 1);
  CHECK(counted == std::vector{1, 2, 3, 7});
}

TEST_CASE_TEMPLATE("a task may post itself, and poll() ends all the same", Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  int runs = 0;
  std::optional<tidemark::basic_loop_task<typename Kind::platform, std::function<void()>>> task;
  task.emplace(loop, [&] {
    ++runs;
    task->post();
  });
  task->post();
  CHECK(loop.poll() == 1);
  CHECK(loop.poll() == 1);
  CHECK(loop.run_for(std::chrono::milliseconds{2}) == run_status::timeout);
  CHECK(runs > 2);
}

TEST_CASE_TEMPLATE("a task that is destroyed does not run, and may be destroyed by itself", Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  bool has_run = false;
  {
    auto gone = loop.make_task([&] { has_run = true; });
    gone.post();
  }
  CHECK(loop.poll() == 0);
  CHECK(!has_run);
  std::optional<tidemark::basic_loop_task<typename Kind::platform, std::function<void()>>> own;
  own.emplace(loop, [&] { own.reset(); });
  own->post();
  CHECK(loop.poll() == 1);
  CHECK(!own);
}

namespace {

/// A task of any callable.
template <class Kind>
using any_task = tidemark::basic_loop_task<typename Kind::platform, std::function<void()>>;

}  // namespace

TEST_CASE_TEMPLATE("a task that posts itself while another thread destroys it does not run again", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  int runs = 0;
  // It outlives the task, so that a run too many is counted.
  std::function<void()> act;
  std::optional<tidemark::basic_loop_task<typename Kind::platform, std::reference_wrapper<std::function<void()>>>> task;
  std::optional<background> destroyer;
  bool is_taken = false;  // the loop takes the post while the task runs
  SUBCASE("the loop finds the post later") {}
  SUBCASE("the loop finds the post at once") { is_taken = true; }
  act = [&] {
    if (++runs != 1) return;
    destroyer.emplace([&] { task.reset(); });
    CHECK(destroyer->falls_asleep());
    CHECK(task->post());
    if (is_taken) CHECK(loop.poll() == 0);
  };
  task.emplace(loop, act);
  CHECK(task->post());
  CHECK(loop.poll() == 1);
  destroyer->join();
  CHECK(!task);
  CHECK(loop.poll() == 0);
  CHECK(runs == 1);
}

TEST_CASE_TEMPLATE("a task that posts itself in each run does not keep its destructor waiting", Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  int runs = 0;
  std::optional<any_task<Kind>> task;
  std::optional<background> destroyer;
  task.emplace(loop, [&] {
    if (++runs == 1) {
      destroyer.emplace([&] {
        task.reset();
        loop.stop();
      });
      CHECK(destroyer->falls_asleep());
    }
    // Otherwise this test would not end where the task goes on.
    if (runs == 1'000) return;
    CHECK(task->post());
  });
  CHECK(task->post());
  CHECK(loop.run() == run_status::stopped);
  destroyer->join();
  CHECK(runs == 1);
}

TEST_CASE_TEMPLATE("other work that is posted while a destructor waits for a task runs", Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  std::vector<int> order;
  std::optional<any_task<Kind>> task;
  std::optional<background> destroyer;
  auto other = loop.make_task([&] { order.push_back(2); });
  task.emplace(loop, [&] {
    order.push_back(1);
    destroyer.emplace([&] { task.reset(); });
    CHECK(destroyer->falls_asleep());
    CHECK(task->post());
    CHECK(other.post());
    loop.post([&] { order.push_back(3); });
  });
  task->post();
  CHECK(loop.poll() != 0);
  destroyer->join();
  while (loop.poll() != 0) {
  }
  CHECK(order == std::vector{1, 2, 3});
}

TEST_CASE_TEMPLATE("a task that has posted itself may be destroyed in its run, also by what it runs", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  int runs = 0;
  std::optional<any_task<Kind>> task;
  SUBCASE("by itself") {
    task.emplace(loop, [&] {
      ++runs;
      task->post();
      task.reset();
    });
    task->post();
    CHECK(loop.poll() == 1);
  }
  SUBCASE("by what it runs") {
    task.emplace(loop, [&loop, &task, &runs] {
      ++runs;
      task->post();
      loop.post([&task] { task.reset(); });
      // The captures are gone afterwards.
      loop.poll();
    });
    task->post();
    CHECK(loop.poll() == 1);
  }
  CHECK(!task);
  CHECK(loop.poll() == 0);
  CHECK(runs == 1);
}

TEST_CASE_TEMPLATE("tasks that several threads post to a loop that several threads run all run", Kind,
                   EVERY_LOOP_KIND) {
  constexpr int posters = 3;
  constexpr int posts = 2'000;
  typename Kind::loop loop;
  std::atomic<int> runs{0};
  const watchdog dog{[&] { return std::to_string(runs) + " runs"; }};
  const auto run = [&] { CHECK(loop.run() == run_status::stopped); };
  std::optional<background> runners[2];
  for (auto& each : runners) each.emplace(run);
  {
    std::list<background> threads;
    for (int i = 0; i < posters; ++i) {
      threads.emplace_back([&] {
        std::atomic<int> own_runs{0};
        auto task = loop.make_task([&] {
          ++own_runs;
          ++runs;
        });
        for (int done = 0; done < posts;) {
          if (task.post()) {
            ++done;
          } else {
            std::this_thread::yield();
          }
        }
        await([&] { return own_runs == posts; });
      });
    }
  }
  await([&] { return runs == posters * posts; });
  loop.stop();
}
