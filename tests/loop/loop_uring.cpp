// SPDX-License-Identifier: BSL-1.0
//
// Waits of an io_uring for a loop, by the kernel's futex operation where there is one, and by a poll.
#include <doctest/doctest.h>

#if defined(__linux__)

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <sys/syscall.h>
#include <unistd.h>

#include <tidemark/loop/loop_uring.hpp>

#include "support/coroutine.hpp"
#include "support/loop_kinds.hpp"
#include "support/no_descriptors.hpp"
#include "support/readable.hpp"
#include "support/threads.hpp"
#include "support/uring.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::run_status;
using tidemark::uring_way;
using tidemark::wait_status;

namespace {

/// A kind of loop, and the way in which an io_uring waits for it where the kernel has it.
template <class Kind, uring_way Way>
struct ring_kind : Kind {
  static constexpr uring_way allowed = Way;
};
using futex_ring = ring_kind<native_loop, uring_way::futex>;
using poll_ring = ring_kind<native_loop, uring_way::poll>;
using symmetric_ring = ring_kind<symmetric_loop, uring_way::futex>;
using portable_ring = ring_kind<portable_loop, uring_way::futex>;
#define EVERY_RING_KIND futex_ring, poll_ring, symmetric_ring, portable_ring

/// The futex operation of this kernel, tried with a word that has another value.
bool has_futex_operation(uring& ring) {
  std::uint32_t word = 0;
  CHECK(ring.submit([&](io_uring_sqe& entry) {
    tidemark::detail::uring_entry filled;
    filled.operation = tidemark::detail::uring_entry::futex_wait;
    filled.descriptor = tidemark::detail::uring_entry::word_of_32_bits;
    filled.address = reinterpret_cast<std::uintptr_t>(&word);
    filled.expected = 1;
    filled.mask = tidemark::detail::uring_entry::every_bit;
    std::memcpy(&entry, &filled, sizeof filled);
  }));
  return ring.take().result == -EAGAIN;
}

/// A loop that an io_uring serves.
template <class Kind>
struct served_loop {
  static constexpr std::uint64_t mark = 42;

  typename Kind::loop loop;
  uring ring;
  std::optional<tidemark::loop_uring_wait<typename Kind::loop>> wait;

  /// Polls the loop once, because the first operation completes at once.
  served_loop() {
    if (!is_open()) return;
    wait.emplace(loop, ring.descriptor(), Kind::allowed);
    loop.poll();
  }
  bool is_open() const {
    if (!ring.is_open()) MESSAGE("not tested: the system refuses io_uring");
    return ring.is_open();
  }
  void submit() {
    CHECK(ring.submit([&](io_uring_sqe& entry) {
      entry.user_data = mark;
      wait->prepare(entry);
    }));
  }
  void take() {
    const uring::completion done = ring.take();
    REQUIRE(done.is_complete);
    CHECK(done.user_data == mark);
  }
  void submit_and_take() {
    submit();
    take();
  }
  void cancel() {
    CHECK(ring.submit([](io_uring_sqe& entry) {
      entry.opcode = IORING_OP_ASYNC_CANCEL;
      entry.addr = mark;
    }));
    CHECK(ring.take().is_complete);
    CHECK(ring.take().is_complete);
  }
};

}  // namespace

TYPE_TO_STRING_AS("loop/native, futex", futex_ring);
TYPE_TO_STRING_AS("loop/native, poll", poll_ring);
TYPE_TO_STRING_AS("loop/symmetric, futex", symmetric_ring);
TYPE_TO_STRING_AS("loop/portable, futex", portable_ring);

TEST_CASE("an io_uring waits by the futex operation where its kernel has it, and by a poll otherwise") {
  tidemark::wait_loop loop;
  uring ring;
  {
    const tidemark::loop_uring_wait none(loop, -1);
    CHECK(none.way() == uring_way::poll);
    CHECK(none.error() == 0);
  }
  if (!ring.is_open()) {
    MESSAGE("not tested: the system refuses io_uring");
    return;
  }
  const tidemark::loop_uring_wait refused(loop, ring.descriptor(), uring_way::poll);
  CHECK(refused.way() == uring_way::poll);
  const tidemark::loop_uring_wait best(loop, ring.descriptor());
  const bool is_expected = TIDEMARK_HAS_FUTEX != 0 && has_futex_operation(ring);
  if (!is_expected) MESSAGE("the tests of the futex operation poll, because this kernel has none");
  CHECK((best.way() == uring_way::futex) == is_expected);
}

TEST_CASE_TEMPLATE("[A19] an io_uring's first wait is over at once, and the next one when something is due", Kind,
                   EVERY_RING_KIND) {
  served_loop<Kind> served;
  if (!served.is_open()) return;
  typename Kind::loop other;
  tidemark::loop_uring_wait first(other, served.ring.descriptor(), Kind::allowed);
  CHECK(served.ring.submit([&](io_uring_sqe& entry) { first.prepare(entry); }));
  CHECK(served.ring.take().is_complete);

  typename Kind::fence fence;
  std::vector<int> ran;
  auto one = served.loop.on_reached(fence, 1, [&] { ran.push_back(1); });
  auto three = served.loop.on_reached(fence, 3, [&] { ran.push_back(3); });
  served.submit();
  CHECK(!served.ring.has_completion());
  fence.signal(2);
  served.take();
  CHECK(served.loop.poll() == 1);
  served.submit();
  CHECK(!served.ring.has_completion());
  fence.signal(3);
  served.take();
  CHECK(served.loop.poll() == 1);
  CHECK(ran == std::vector{1, 3});
}

TEST_CASE_TEMPLATE("what is posted before, while and after an io_uring's wait is prepared completes it", Kind,
                   EVERY_RING_KIND) {
  served_loop<Kind> served;
  if (!served.is_open()) return;
  int runs = 0;
  const auto post = [&] { served.loop.post([&] { ++runs; }); };
  post();
  served.submit_and_take();
  CHECK(served.loop.poll() == 1);

  CHECK(served.ring.submit([&](io_uring_sqe& entry) {
    entry.user_data = served.mark;
    served.wait->prepare(entry);
    post();
  }));
  served.take();
  CHECK(served.loop.poll() == 1);

  served.submit();
  CHECK(!served.ring.has_completion());
  post();
  served.take();
  // Nobody has polled the loop yet.
  served.submit_and_take();
  CHECK(served.loop.poll() == 1);
  CHECK(runs == 3);

  served.loop.post([&] { post(); });
  CHECK(served.loop.poll() == 1);
  served.submit_and_take();
  CHECK(served.loop.poll() == 1);
  CHECK(runs == 4);
}

TEST_CASE_TEMPLATE("[A14] an io_uring's wait ends at the first deadline, also at one that begins meanwhile", Kind,
                   EVERY_RING_KIND) {
  served_loop<Kind> served;
  if (!served.is_open()) return;
  typename Kind::fence fence;
  std::vector<wait_status> ends;
  const auto wait = [&](std::chrono::milliseconds most) -> coroutine {
    ends.push_back(co_await served.loop.reached_for(fence, 1, most));
  };
  served.submit();
  CHECK(!served.ring.has_completion());
  const auto begin = std::chrono::steady_clock::now();
  const coroutine later = wait(40ms);
  served.take();
  const coroutine sooner = wait(20ms);
  while (ends.empty()) {
    served.loop.poll();
    if (ends.empty()) served.submit_and_take();
  }
  CHECK(std::chrono::steady_clock::now() - begin >= 20ms);
  while (ends.size() == 1) {
    served.submit_and_take();
    served.loop.poll();
  }
  CHECK(std::chrono::steady_clock::now() - begin >= 40ms);
  CHECK(ends == std::vector{wait_status::timeout, wait_status::timeout});
  // There is no deadline any more.
  served.submit();
  CHECK(!served.ring.has_completion());
  served.loop.post([] {});
  served.take();
}

TEST_CASE_TEMPLATE("[A14] where a full heap must not grow, an io_uring's wait is over soon all the same", Kind,
                   EVERY_RING_KIND) {
  served_loop<Kind> served;
  if (!served.is_open()) return;
  tidemark::basic_fence<typename Kind::platform,
                        tidemark::fence_options{.capacity = 1, .growth = tidemark::heap_growth::forbidden}>
      fence;
  typename Kind::loop other;
  CHECK(other.descriptor() >= 0);
  CHECK(other.poll() == 0);
  auto takes_the_slot = other.on_reached(fence, 5, [] {});
  bool has_run = false;
  auto refused = served.loop.on_reached(fence, 1, [&] { has_run = true; });
  fence.signal(1);
  do {
    served.submit_and_take();
  } while (served.loop.poll() == 0);
  CHECK(has_run);
}

TEST_CASE_TEMPLATE("a stop ends an io_uring's wait once, and restart() the next one", Kind, EVERY_RING_KIND) {
  served_loop<Kind> served;
  if (!served.is_open()) return;
  served.submit();
  served.loop.stop();
  served.take();
  CHECK(served.loop.poll() == 0);
  served.loop.post([] {});
  served.submit();
  CHECK(!served.ring.has_completion());
  served.loop.restart();
  served.take();
  CHECK(served.loop.poll() == 1);
}

TEST_CASE_TEMPLATE("an io_uring's wait survives a poll() that comes too early, or is over", Kind, EVERY_RING_KIND) {
  served_loop<Kind> served;
  if (!served.is_open()) return;
  served.submit();
  CHECK(!served.ring.has_completion());
  CHECK(served.loop.poll() == 0);
  served.loop.post([] {});
  served.take();
  CHECK(served.loop.poll() == 1);

  // The same between prepare() and its submission.
  CHECK(served.ring.submit([&](io_uring_sqe& entry) {
    entry.user_data = served.mark;
    served.wait->prepare(entry);
    CHECK(served.loop.poll() == 0);
  }));
  served.loop.post([] {});
  served.take();
  CHECK(served.loop.poll() == 1);

  // Another thread runs one callable, and leaves a deadline behind.
  served.submit();
  typename Kind::fence fence;
  std::optional<wait_status> end;
  std::optional<coroutine> waiting;
  std::thread other([&] {
    served.loop.post([&] {
      waiting.emplace([](auto& loop, auto& awaited, auto& status) -> coroutine {
        status = co_await loop.reached_for(awaited, 1, 1ms);
      }(served.loop, fence, end));
    });
    CHECK(served.loop.run_one() == run_status::ran);
  });
  other.join();
  served.take();
  while (served.loop.poll() == 0) served.submit_and_take();
  CHECK(end == wait_status::timeout);
}

TEST_CASE_TEMPLATE("an io_uring's wait may be cancelled, and a later one finds what came meanwhile", Kind,
                   EVERY_RING_KIND) {
  served_loop<Kind> served;
  if (!served.is_open()) return;
  served.submit();
  served.cancel();
  served.submit();
  CHECK(!served.ring.has_completion());
  served.loop.post([] {});
  served.take();
  CHECK(served.loop.poll() == 1);

  served.submit();
  served.cancel();
  served.loop.post([] {});
  served.submit_and_take();
  CHECK(served.loop.poll() == 1);

  // The same with a deadline, which makes it poll.
  served.submit();
  served.cancel();
  typename Kind::fence fence;
  std::optional<wait_status> end;
  const coroutine waiting = [](auto& loop, auto& awaited, auto& status) -> coroutine {
    status = co_await loop.reached_for(awaited, 1, 1ms);
  }(served.loop, fence, end);
  do {
    served.submit_and_take();
  } while (served.loop.poll() == 0);
  CHECK(end == wait_status::timeout);
}

TEST_CASE_TEMPLATE("an io_uring may be closed while it waits, and another one go on", Kind, EVERY_RING_KIND) {
  served_loop<Kind> served;
  if (!served.is_open()) return;
  {
    uring closed;
    REQUIRE(closed.is_open());
    CHECK(closed.submit([&](io_uring_sqe& entry) { served.wait->prepare(entry); }));
  }
  served.submit();
  CHECK(!served.ring.has_completion());
  served.loop.post([] {});
  served.take();
  CHECK(served.loop.poll() == 1);
}

TEST_CASE_TEMPLATE("after an io_uring's wait the descriptor tells of what came, and of what comes", Kind,
                   EVERY_RING_KIND) {
  served_loop<Kind> served;
  if (!served.is_open()) return;
  served.submit();
  CHECK(!served.ring.has_completion());
  SUBCASE("nothing came") {
    served.wait.reset();
    CHECK(!is_readable(served.loop.descriptor()));
    served.loop.post([] {});
    CHECK(is_readable(served.loop.descriptor()));
  }
  SUBCASE("something came") {
    served.loop.post([] {});
    served.wait.reset();
    CHECK(is_readable(served.loop.descriptor()));
  }
  // A poll is over by what came, the futex operation in any case.
  served.take();
  CHECK(served.loop.poll() == 1);
  CHECK(!is_readable(served.loop.descriptor()));
}

TEST_CASE_TEMPLATE("an io_uring's wait ends when a descriptor is ready that the loop watches", Kind, EVERY_RING_KIND) {
  served_loop<Kind> served;
  if (!served.is_open()) return;
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const auto write_one = [&] { CHECK(::write(ends[1], "x", 1) == 1); };
  int reads = 0;
  const auto read_one = [&] {
    char read = 0;
    if (::read(ends[0], &read, 1) == 1) ++reads;
  };
  served.submit();
  {
    auto watch = served.loop.on_readable(ends[0], read_one);
    REQUIRE(watch.error() == 0);
    // The watch begins while the io_uring waits.
    served.take();
    served.loop.poll();
    for (int expected = 1; expected <= 3; ++expected) {
      served.submit();
      CHECK(!served.ring.has_completion());
      write_one();
      served.take();
      while (served.loop.poll() == 0) served.submit_and_take();
      CHECK(reads == expected);
    }
  }
  served.submit();
  served.loop.post([] {});
  served.take();
  CHECK(served.loop.poll() == 1);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE_TEMPLATE("[A37] a thread that sleeps on because of a watch that has ended is told beside an io_uring", Kind,
                   EVERY_RING_KIND) {
  const watchdog dog([] { return std::string("the thread sleeps on"); });
  for (int round = 0; round < 20; ++round) {
    served_loop<Kind> served;
    if (!served.is_open()) return;
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    std::atomic<long> id{0};
    std::atomic<bool> has_read{false};
    std::optional<std::thread> runner;
    {
      auto watch = served.loop.on_readable(ends[0], [&] {
        char read = 0;
        has_read = ::read(ends[0], &read, 1) == 1;
      });
      runner.emplace([&] {
        id = ::syscall(SYS_gettid);
        CHECK(served.loop.run() == run_status::stopped);
      });
      CHECK(::write(ends[1], "x", 1) == 1);
      await([&] { return has_read && is_asleep(id); });
    }
    served.submit();
    served.loop.stop();
    runner->join();
    ::close(ends[0]);
    ::close(ends[1]);
  }
}

TEST_CASE("a wait of an io_uring for a loop without a descriptor reports that, and is over at once") {
  tidemark::wait_loop loop;
  uring ring;
  std::optional<const no_descriptors> left;
  left.emplace();
  tidemark::loop_uring_wait refused(loop, ring.descriptor());
  left.reset();
  CHECK(refused.error() == EMFILE);
  CHECK(refused.way() == uring_way::poll);
  if (!ring.is_open()) return;
  CHECK(ring.submit([&](io_uring_sqe& entry) { refused.prepare(entry); }));
  CHECK(ring.take().result == -EBADF);
}

TEST_CASE_TEMPLATE("[A28] [A37] a thread and an io_uring hand a turn back and forth, and none is lost", Kind,
                   EVERY_RING_KIND) {
  // 100,000 in all kinds together. The thread sleeps at each turn, so that the io_uring has the time to do so as well.
  constexpr std::uint64_t turns = 25'000;
  served_loop<Kind> served;
  if (!served.is_open()) return;
  typename Kind::fence there;
  tidemark::basic_fence<typename Kind::platform, tidemark::fence_options{.max_spin_ns = 0}> back;
  const watchdog dog([&] { return std::to_string(back.current_value()) + " turns"; });
  std::list<typename Kind::any_callback> registered;
  for (std::uint64_t turn = 1; turn <= turns; ++turn) {
    registered.emplace_back(served.loop, typename Kind::awaited(there, turn), [&, turn] { back.signal(turn); });
  }
  std::thread signaller([&] {
    for (std::uint64_t turn = 1; turn <= turns; ++turn) {
      there.signal(turn);
      if (back.wait(turn) != wait_status::reached) return;
    }
  });
  std::size_t runs = 0;
  do {
    served.submit_and_take();
    runs += served.loop.poll();
  } while (runs < turns);
  signaller.join();
  CHECK(runs == turns);
  CHECK(is_idle(there));
}

TEST_CASE_TEMPLATE("[A28] [A37] threads that run and poll a loop beside an io_uring leave none of its posts behind",
                   Kind, EVERY_RING_KIND) {
  constexpr std::size_t posts = 5'000;
  served_loop<Kind> served;
  if (!served.is_open()) return;
  std::atomic<std::size_t> runs{0};
  std::atomic<bool> is_over{false};
  const watchdog dog([&] { return std::to_string(runs) + " ran"; });
  std::thread runner([&] { CHECK(served.loop.run() == run_status::stopped); });
  std::thread poller([&] {
    while (!is_over) served.loop.poll();
  });
  std::thread poster([&] {
    for (std::size_t i = 1; i <= posts; ++i) {
      served.loop.post([&] { ++runs; });
      while (i % 8 == 0 && runs != i) std::this_thread::yield();
    }
    is_over = true;
    // Otherwise that thread might take away what ends the last wait of the io_uring.
    poller.join();
    served.loop.stop();
  });
  do {
    served.submit_and_take();
    served.loop.poll();
  } while (!is_over);
  for (std::thread* const each : {&runner, &poster}) each->join();
  CHECK(runs == posts);
}

#endif
