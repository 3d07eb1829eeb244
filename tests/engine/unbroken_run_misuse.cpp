// SPDX-License-Identifier: BSL-1.0
//
// Misuse of unbroken runs is reported through TIDEMARK_ASSERT. This program's hook prints the text and ends the
// program; each misuse is made in a child process. What happens where the hook returns is in queue_release.cpp.
#include "support/misuse_hook.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include <tidemark/engine/engine_queue.hpp>
#include <tidemark/engine/unbroken_run.hpp>

#include "support/manual_stop.hpp"
#include "support/threads.hpp"

using namespace testing;

namespace {

/// Another thread runs the loop within some work, and a command of an engine-wide run destroys what that work is part
/// of.
/// \param make  emplaces it: given the engine and the callable that runs the loop, makes the work ready
template <class Work, class Make>
void destroy_in_run(const Make& make) {
  tidemark::engine engine{{.threads = 0}};
  std::optional<Work> work;
  manual_stop stop;
  std::atomic<bool> is_within{false};
  std::optional<background> other;
  std::atomic<bool> is_due{false};
  tidemark::engine_queue queue{engine};
  // This thread runs it, and then the run, for which the other one has to wait.
  engine.loop().post([&] {
    make(work, engine, [&] {
      is_within = true;
      static_cast<void>(engine.loop().run(stop.get_token()));
    });
    other.emplace([&] { static_cast<void>(engine.loop().run_one()); });
    await([&] { return is_within.load(); });
    queue.run([&] { is_due = true; });
    {
      tidemark::unbroken_run run{queue, tidemark::unbroken_scope::whole_engine};
      run.run([&] { work.reset(); });
    }
    static_cast<void>(queue.submit());
    // The other thread comes to the run, and can't begin it.
    await([&] { return is_due.load(); });
    static_cast<void>(other->blocks());
  });
  while (engine.loop().poll() != 0) {
  }
  stop.request();
}

}  // namespace

TEST_CASE("[C5] a wait within an unbroken run, and a run within a run, are reported") {
  const std::string expected = "an unbroken run has a wait, or another unbroken run, within it";
  CHECK(reported_by([] {
          tidemark::engine engine{{.threads = 0}};
          tidemark::engine_queue queue{engine};
          tidemark::fence input;
          const tidemark::unbroken_run run{queue};
          queue.wait(input, 1);
        }) == expected);
  CHECK(reported_by([] {
          tidemark::engine engine{{.threads = 0}};
          tidemark::engine_queue queue{engine};
          const tidemark::unbroken_run outer{queue};
          const tidemark::unbroken_run inner{queue};
        }) == expected);
}

TEST_CASE("[C5] a command of an engine-wide run that runs the loop of the engine is reported") {
  const std::string expected = "a command of an engine-wide run ran the loop of the engine";
  const auto run_with = [](void (*call)(tidemark::engine&)) {
    tidemark::engine engine{{.threads = 0}};
    tidemark::engine_queue queue{engine};
    {
      tidemark::unbroken_run run{queue, tidemark::unbroken_scope::whole_engine};
      run.run([&] { call(engine); });
    }
    static_cast<void>(queue.submit());
    while (engine.loop().poll() != 0) {
    }
  };
  CHECK(reported_by([&] { run_with([](tidemark::engine& on) { on.loop().poll(); }); }) == expected);
  CHECK(reported_by([&] { run_with([](tidemark::engine& on) { static_cast<void>(on.loop().run_one()); }); }) ==
        expected);
}

TEST_CASE("[C5] a command of an engine-wide run that waits for work that runs the loop is reported") {
  const std::string expected = "a command of an engine-wide run waited for work that runs the loop";
  CHECK(reported_by([] {
          destroy_in_run<tidemark::engine_queue>([](auto& work, tidemark::engine& on, auto runs_loop) {
            work.emplace(on).run(runs_loop);
            static_cast<void>(work->submit());
          });
        }) == expected);
  CHECK(reported_by([] {
          using task = tidemark::basic_loop_task<tidemark::native_platform, std::function<void()>>;
          destroy_in_run<task>([](auto& work, tidemark::engine& on, auto runs_loop) {
            work.emplace(on.loop(), runs_loop);
            work->post();
          });
        }) == expected);
  CHECK(reported_by([] {
          using registration = tidemark::basic_callback<tidemark::native_platform, std::function<void()>>;
          tidemark::fence reached;
          destroy_in_run<registration>([&](auto& work, tidemark::engine& on, auto runs_loop) {
            work.emplace(on.loop(), tidemark::awaited{reached, 0}, runs_loop);
          });
        }) == expected);
}
