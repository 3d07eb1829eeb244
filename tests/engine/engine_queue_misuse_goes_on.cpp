// SPDX-License-Identifier: BSL-1.0
//
// What a queue of an engine records or drops must not use the queue meanwhile. Where the hook of TIDEMARK_ASSERT
// returns, such a call does nothing: each command is executed or dropped once. What else may be misused goes on as the
// headers say. Here the hook notes the text.
#include "support/noted_misuse.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <tidemark/engine/domain.hpp>
#include <tidemark/engine/engine_queue.hpp>
#include <tidemark/engine/unbroken_run.hpp>
#include <tidemark/fence/fence.hpp>

using namespace testing;
using tidemark::doorbell_status;
using tidemark::engine;
using tidemark::engine_queue;
using tidemark::unbroken_status;

namespace {

const char* const used = "what a queue records or drops used the queue";

/// Counts how often each of some objects is destroyed, and calls something from the destructor of one of them.
struct dropped_objects {
  class held {
   public:
    held(dropped_objects& of, std::size_t number) noexcept : of_{&of}, number_{number} {}
    held(held&& other) noexcept : of_{std::exchange(other.of_, nullptr)}, number_{other.number_} {}
    held& operator=(held&&) = delete;
    ~held() {
      if (of_ == nullptr) return;
      ++of_->drops[number_];
      if (number_ == of_->calls_at && of_->call) of_->call();
    }

   private:
    dropped_objects* of_;
    std::size_t number_;
  };
  /// Records commands, each of which keeps an object.
  void record_on(engine_queue& queue, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      drops.push_back(0);
      queue.run([&ran = ran, kept = held{*this, drops.size() - 1}] { ++ran; });
    }
  }
  bool was_each_dropped_once() const { return drops == std::vector<int>(drops.size(), 1); }

  std::function<void()> call;
  std::size_t calls_at = 0;
  std::vector<int> drops;
  int ran = 0;
};

struct stand {
  void execute_all() {
    while (on.loop().poll() != 0) {
    }
  }
  engine on{{.threads = 0}};
  std::optional<engine_queue> queue{on};
  dropped_objects objects;
};

/// Everything that records, drops or submits. Returns how many calls are reported.
std::size_t use(engine_queue& queue, tidemark::fence& other) {
  queue.run([] { FAIL("this was recorded"); });
  queue.wait(other, 1);
  queue.signal(other, 1);
  queue.discard();
  CHECK(queue.submit().status == doorbell_status::aborted);
  queue.tell_work(nullptr);
  tidemark::unbroken_run run{queue};
  CHECK(run.end() == unbroken_status::invalid);
  return 7;
}

/// Calls something when it is moved for a certain time.
struct moved_work {
  explicit moved_work(int& ran_of) : ran{ran_of} {}
  moved_work(moved_work&& other) noexcept : ran{other.ran}, in_moves{other.in_moves}, call{std::move(other.call)} {
    if (in_moves != 0 && --in_moves == 0) call();
  }
  moved_work& operator=(moved_work&&) = delete;
  ~moved_work() = default;
  void operator()() const { ++ran; }

  int& ran;
  int in_moves = 0;
  std::function<void()> call;
};

}  // namespace

TEST_CASE("what discard() drops does not use the queue") {
  for (std::size_t published = 0; published < 5; ++published) {
    for (std::size_t calls_at = 0; calls_at < 6; ++calls_at) {
      stand at;
      tidemark::fence other;
      at.objects.record_on(*at.queue, published);
      CHECK(at.queue->submit());
      std::size_t reported = 0;
      at.objects.calls_at = published + calls_at;
      at.objects.call = [&] { reported += use(*at.queue, other); };
      at.objects.record_on(*at.queue, 6);
      at.queue->discard();
      CHECK(reported == 7);
      CHECK(take_said() == texts(reported, used));
      at.objects.record_on(*at.queue, 3);
      CHECK(at.queue->submit().serial == 2);
      at.execute_all();
      CHECK(at.objects.was_each_dropped_once());
      CHECK(at.objects.ran == static_cast<int>(published + 3));
      CHECK(other.current_value() == 0);
    }
  }
}

TEST_CASE("what a submit() that is refused drops does not use the queue") {
  stand at;
  tidemark::fence other;
  at.queue->abort();
  std::size_t reported = 0;
  at.objects.calls_at = 2;
  at.objects.call = [&] { reported += use(*at.queue, other); };
  at.objects.record_on(*at.queue, 6);
  CHECK(at.queue->submit().status == doorbell_status::aborted);
  CHECK(reported == 7);
  CHECK(take_said() == texts(reported, used));
  CHECK(at.objects.was_each_dropped_once());
}

TEST_CASE("what a queue drops when it is destroyed does not use the queue") {
  stand at;
  tidemark::fence other;
  std::size_t reported = 0;
  at.objects.calls_at = 2;
  at.objects.call = [&] { reported += use(*at.queue, other); };
  at.objects.record_on(*at.queue, 6);
  engine_queue& queue = *at.queue;
  at.objects.call = [&] { reported += use(queue, other); };
  at.queue.reset();
  CHECK(reported == 7);
  CHECK(take_said() == texts(reported, used));
  CHECK(at.objects.was_each_dropped_once());
}

TEST_CASE("what is dropped after it was executed may use the queue") {
  stand at;
  at.objects.calls_at = 2;
  at.objects.call = [&] {
    at.queue->run([&] { at.objects.ran += 100; });
    CHECK(at.queue->submit());
  };
  at.objects.record_on(*at.queue, 6);
  CHECK(at.queue->submit());
  at.execute_all();
  CHECK(take_said().empty());
  CHECK(at.objects.ran == 106);
  CHECK(at.objects.was_each_dropped_once());
}

TEST_CASE("a callable does not use the queue while it is moved or copied into the queue, nor does an argument") {
  for (int how = 0; how < 4; ++how) {
    CAPTURE(how);
    int most_moves = 0;
    for (int in_moves = 1; in_moves < 9; ++in_moves) {
      CAPTURE(in_moves);
      stand at;
      tidemark::fence other;
      tidemark::basic_executed_work<tidemark::native_platform> told;
      int ran = 0;
      int ran_before = 0;
      at.queue->run([&] { ++ran_before; });
      if (how % 2 == 1) at.queue->tell_work(&told);
      std::size_t expected = 0;
      moved_work work{ran};
      work.in_moves = in_moves;
      work.call = [&] {
        most_moves = in_moves;
        expected = use(*at.queue, other);
      };
      if (how < 2) {
        at.queue->run(std::move(work));
      } else {
        at.queue->run([](const moved_work& of) { of(); }, std::move(work));
      }
      at.queue->tell_work(nullptr);
      at.queue->run([&] { ++ran_before; });
      CHECK(take_said() == texts(expected, used));
      CHECK(at.queue->submit());
      at.execute_all();
      CHECK(ran == 1);
      CHECK(ran_before == 2);
    }
    CHECK(most_moves > 0);
    CHECK(most_moves < 8);
  }
}

TEST_CASE("a priority that does not exist is the lowest one") {
  engine on{{.threads = 0}};
  engine_queue queue{on, {.priority = static_cast<tidemark::queue_priority>(7)}};
  queue.set_priority(static_cast<tidemark::queue_priority>(3));
  CHECK(take_said() ==
        texts{"a queue has a priority that does not exist", "a queue has a priority that does not exist"});
  CHECK(queue.priority() == tidemark::queue_priority::low);
  int ran = 0;
  queue.run([&] { ++ran; });
  CHECK(queue.submit());
  while (on.loop().poll() != 0) {
  }
  CHECK(ran == 1);
}

TEST_CASE("a queue that may neither execute nor accept anything executes one command in a turn, and accepts one") {
  engine on{{.threads = 0}};
  engine_queue queue{on, {.quantum = 0, .most_submissions = 0}};
  CHECK(take_said() == texts{"a queue of an engine must execute at least one command in a turn",
                             "a queue of an engine must accept at least one submission"});
  int ran = 0;
  for (int i = 1; i < 4; ++i) {
    queue.run([&] { ++ran; });
    CHECK(queue.submit());
    CHECK(queue.submit().status == doorbell_status::retry);
    while (on.loop().poll() != 0) {
    }
    CHECK(ran == i);
  }
  CHECK(take_said().empty());
}

TEST_CASE("[A54] a queue that is given a lost progress accepts nothing") {
  engine on{{.threads = 0}};
  tidemark::fence drawn{3};
  drawn.poison();
  tidemark::basic_engine_queue queue{on, drawn};
  CHECK(take_said() == texts{"a queue was given a progress that is lost"});
  for (int i = 0; i < 2; ++i) {
    queue.run([] { FAIL("this was executed"); });
    CHECK(queue.submit().status == doorbell_status::aborted);
  }
  while (on.loop().poll() != 0) {
  }
  CHECK(queue.drain() == tidemark::wait_status::lost);
  CHECK(drawn.state().value == 3);
  CHECK(take_said().empty());
}

TEST_CASE("[A54] where somebody else signals a progress, work counts as finished that is not, and all is executed") {
  engine on{{.threads = 0}};
  tidemark::fence drawn;
  int ran = 0;
  tidemark::basic_engine_queue queue{on, drawn, {.most_submissions = 1}};
  drawn.signal(2);
  for (int i = 1; i < 4; ++i) {
    queue.run([&] { ++ran; });
    CHECK(queue.submit());  // never `retry`: it seems to be finished
    CHECK(queue.is_idle() == (i < 3));
    while (on.loop().poll() != 0) {
    }
    CHECK(ran == i);
    // Each is noticed by submit(), and at its end. The third one finds the value that the queue would have signalled
    // last.
    CHECK(take_said() == texts(i < 3 ? 2 : 0, "somebody else has signalled the progress of a queue"));
  }
  CHECK(drawn.current_value() == 3);
}

TEST_CASE("[A83] a queue with logs that uses a fence of a legacy domain waits as in a native one, and is logged") {
  engine on{{.threads = 0}};
  tidemark::domain old{on.loop(), {.kind = tidemark::domain_kind::legacy}};
  tidemark::cross_fence shared;
  tidemark::attachment ready{shared, old};
  engine_queue queue{on};
  auto waits = queue.timeline().wait_log();
  int ran = 0;
  queue.wait(ready, 1);
  queue.run([&] { ++ran; });
  queue.signal(ready, 2);
  CHECK(take_said() == texts(2, "a queue with logs used a fence of a legacy domain"));
  CHECK(queue.submit());
  while (on.loop().poll() != 0) {
  }
  CHECK(ran == 0);
  CHECK(ready.signal(1));
  while (on.loop().poll() != 0) {
  }
  CHECK(ran == 1);
  CHECK(ready.current_value() == 2);
  CHECK(ready.counts().held_queues == 0);
  std::array<tidemark::fence_log_entry, 4> buffer;
  CHECK(waits.read(buffer).entries.size() == 1);
  CHECK(take_said().empty());
}
