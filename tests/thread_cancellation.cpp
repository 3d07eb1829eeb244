// SPDX-License-Identifier: BSL-1.0
//
// Threads that are cancelled by pthread_cancel() while they use the library. No function of it is a cancellation point:
// it returns as if nobody had cancelled, and the thread ends at the next cancellation point of the program.
//
// Each thread cancels itself before the call, so that the first cancellation point in it would end the thread.
#include <doctest/doctest.h>

#if __has_include(<pthread.h>)
#include <pthread.h>
#endif

#if defined(PTHREAD_CANCEL_DISABLE)

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>

#include <unistd.h>

#include <tidemark/tidemark.hpp>

#include "support/kinds.hpp"
#include "support/loop_kinds.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::run_status;
using tidemark::wait_status;

namespace {

/// Runs `body` on a thread that has been cancelled. Returns whether the body has returned, and the cancellation has
/// ended the thread afterwards.
template <class Body>
bool returns_on_cancelled_thread(Body body) {
  struct thread_state {
    Body& body;
    bool has_returned = false;
  } state{body};
  const auto run = [](void* of) -> void* {
    auto& self = *static_cast<thread_state*>(of);
    pthread_cancel(pthread_self());
    self.body();
    self.has_returned = true;
    pthread_testcancel();
    return nullptr;
  };
  pthread_t thread;
  REQUIRE(pthread_create(&thread, nullptr, run, &state) == 0);
  void* end = nullptr;
  REQUIRE(pthread_join(thread, &end) == 0);
  return state.has_returned && end == PTHREAD_CANCELED;
}

}  // namespace

TEST_CASE_TEMPLATE("a wait on a cancelled thread ends as any other", Kind, EVERY_KIND) {
  typename Kind::template plain<tidemark::fence_options{.max_spin_ns = 0}> fence;
  wait_status status{};
  CHECK(returns_on_cancelled_thread([&] { status = fence.wait_for(1, 1ms); }));
  CHECK(status == wait_status::timeout);
  // It sleeps until the other thread signals.
  const auto wait = [&] { status = fence.wait(1); };
  pthread_t signaller;
  const auto signal = [](void* of) -> void* {
    auto& signalled = *static_cast<decltype(fence)*>(of);
    while (signalled.monitored_value() != 0) std::this_thread::yield();
    signalled.signal(1);
    return nullptr;
  };
  REQUIRE(pthread_create(&signaller, nullptr, signal, &fence) == 0);
  CHECK(returns_on_cancelled_thread(wait));
  CHECK(status == wait_status::reached);
  REQUIRE(pthread_join(signaller, nullptr) == 0);
}

TEST_CASE_TEMPLATE("a cancelled thread runs a loop", Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  std::optional<run_status> end;
  CHECK(returns_on_cancelled_thread([&] { end = loop.run_for(1ms); }));
  CHECK(end == run_status::timeout);
}

#if defined(__linux__)

TEST_CASE_TEMPLATE("a cancelled thread runs a loop that sleeps on its descriptor, and signals one", Kind,
                   EVERY_LOOP_KIND) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  typename Kind::fence fence;
  {
    typename Kind::loop loop;
    int reads = 0;
    bool is_reached = false;
    auto readable = loop.on_readable(ends[0], [&] { ++reads; });
    auto reached = loop.on_reached(fence, 1, [&](wait_status) { is_reached = true; });
    std::optional<run_status> end;
    CHECK(returns_on_cancelled_thread([&] { end = loop.run_for(1ms); }));  // ppoll()
    CHECK(end == run_status::timeout);
    CHECK(returns_on_cancelled_thread([&] { fence.signal(1); }));  // write()
    REQUIRE(::write(ends[1], "x", 1) == 1);
    // NOLINTNEXTLINE(bugprone-infinite-loop): the callables change both
    while (!is_reached || reads == 0) {                                        // a slow machine may find nothing yet
      REQUIRE(returns_on_cancelled_thread([&] { end = loop.run_for(1ms); }));  // epoll_wait(), read()
    }
  }
  CHECK(returns_on_cancelled_thread([] {
    typename Kind::loop loop;
    static_cast<void>(loop.descriptor());
  }));  // close()
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("a cancelled thread signals a fence for which a descriptor waits, and destroys the descriptor") {
  tidemark::progress_fence fence;
  std::optional<tidemark::reached_descriptor> first;
  std::optional<tidemark::reached_descriptor> second;
  first.emplace(fence, 1);
  CHECK(returns_on_cancelled_thread([&] { fence.signal(1); }));           // write() of the signaller
  CHECK(returns_on_cancelled_thread([&] { second.emplace(fence, 1); }));  // write() of the constructor
  for (auto* each : {&first, &second}) {
    std::uint64_t count = 0;
    CHECK(::read((*each)->descriptor(), &count, sizeof count) == sizeof count);
    CHECK(count == 1);
    CHECK(returns_on_cancelled_thread([&] { each->reset(); }));  // close()
  }
}

TEST_CASE("a cancelled thread notifies a hub that an event loop serves") {
  auto service = tidemark::event_driven::make();
  REQUIRE(service);
  tidemark::native_platform::atomic<std::uint32_t> requests{0};
  CHECK(returns_on_cancelled_thread([&] { service->ring<tidemark::native_platform>(requests); }));
  CHECK(returns_on_cancelled_thread([&] { service->quiet(); }));
  CHECK(returns_on_cancelled_thread([&] { service.reset(); }));
}

TEST_CASE("a cancelled thread destroys pages of memory") {
  auto pages = tidemark::memory_pages::make(1);
  REQUIRE(pages);
  CHECK(returns_on_cancelled_thread([&] { pages.reset(); }));
}

#endif

// With glibc, pthread_cancel() unwinds with libgcc's unwinder. A libc++abi that has LLVM's crashes there at the first
// frame that has a destructor, also in a program without this library.
#if !(defined(_LIBCPP_VERSION) && defined(__GLIBC__))

TEST_CASE_TEMPLATE("a thread may be cancelled in a callable that it runs for a loop, and another one goes on", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  int calls = 0;
  CHECK_FALSE(returns_on_cancelled_thread([&] {
    loop.post([&] {
      ++calls;
      pthread_testcancel();
      ++calls;
    });
    static_cast<void>(loop.run_for(1min));
  }));
  CHECK(calls == 1);
  loop.post([&] { ++calls; });
  CHECK(loop.poll() == 1);
  CHECK(calls == 2);
}

#endif

TEST_CASE("a cancelled thread destroys an engine, which joins its threads") {
  CHECK(returns_on_cancelled_thread([] { const tidemark::engine workers{{.threads = 2}}; }));
}

#else

TEST_CASE("threads can't be cancelled here") {}

#endif
