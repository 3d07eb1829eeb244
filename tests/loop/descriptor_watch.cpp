// SPDX-License-Identifier: BSL-1.0
//
// Descriptors of the program's that a loop watches beside its fences.
#include <doctest/doctest.h>

#if defined(__linux__)

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <tidemark/loop/wait_loop.hpp>

#include "support/loop_kinds.hpp"
#include "support/manual_stop.hpp"
#include "support/random.hpp"
#include "support/readable.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::run_status;

namespace {

/// Two sockets: what is written to one is read from the other.
class connection {
 public:
  connection() { REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends_) == 0); }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;
  ~connection() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }

  int here() const { return ends_[0]; }
  void write(char what) const { CHECK(::write(ends_[1], &what, 1) == 1); }
  /// Reads one character; 0 if there is none.
  char read() const {
    char got = 0;
    return ::read(ends_[0], &got, 1) == 1 ? got : '\0';
  }
  void hang_up() const { CHECK(::shutdown(ends_[1], SHUT_RDWR) == 0); }

 private:
  int ends_[2]{};
};

}  // namespace

TEST_CASE_TEMPLATE("a callable runs when its descriptor is readable, and again as long as it is", Kind,
                   EVERY_LOOP_KIND) {
  const connection pipe;
  typename Kind::loop loop;
  std::string read;
  auto watch = loop.on_readable(pipe.here(), [&] { read += pipe.read(); });
  REQUIRE(watch.error() == 0);
  CHECK(loop.poll() == 0);
  pipe.write('a');
  pipe.write('b');
  CHECK(loop.poll() == 1);
  CHECK(read == "a");
  CHECK(loop.run_one() == run_status::ran);
  CHECK(read == "ab");
  CHECK(loop.poll() == 0);
  CHECK(loop.run_for(0s) == run_status::timeout);
  CHECK(read == "ab");
}

TEST_CASE_TEMPLATE("a callable runs when its descriptor is writable, or the other end has gone", Kind,
                   EVERY_LOOP_KIND) {
  const connection pipe;
  typename Kind::loop loop;
  int writable = 0;
  int readable = 0;
  {
    auto watch = loop.on_writable(pipe.here(), [&] { ++writable; });
    CHECK(loop.run_one() == run_status::ran);
    CHECK(writable == 1);
  }
  auto watch = loop.on_readable(pipe.here(), [&] { ++readable; });
  CHECK(loop.poll() == 0);
  pipe.hang_up();
  CHECK(loop.run_one() == run_status::ran);
  CHECK(readable == 1);
}

TEST_CASE_TEMPLATE("the callable of a watch may change what it keeps", Kind, EVERY_LOOP_KIND) {
  const connection pipe;
  typename Kind::loop loop;
  std::vector<int> counted;
  {
    auto watch = loop.on_writable(pipe.here(), [&, runs = 0]() mutable { counted.push_back(++runs); });
    CHECK(loop.run_one() == run_status::ran);
    CHECK(loop.run_one() == run_status::ran);
  }
  auto watch = loop.on_readable(pipe.here(), [&, runs = 10]() mutable {
    counted.push_back(++runs);
    CHECK(pipe.read() != '\0');
  });
  pipe.write('a');
  pipe.write('b');
  CHECK(loop.poll() == 1);
  CHECK(loop.poll() == 1);
  CHECK(counted == std::vector{1, 2, 11, 12});
}

TEST_CASE_TEMPLATE("[A19] [A37] one sleep waits for fences and for descriptors", Kind, EVERY_LOOP_KIND) {
  const connection pipe;
  typename Kind::loop loop;
  typename Kind::fence fence;
  std::string order;
  auto reached = loop.on_reached(fence, 1, [&] { order += 'f'; });
  auto watch = loop.on_readable(pipe.here(), [&] { order += pipe.read(); });
  background other([&] {
    CHECK(loop.run_one() == run_status::ran);
    CHECK(loop.run_one() == run_status::ran);
    CHECK(loop.run_one() == run_status::ran);
  });
  await([&] { return !is_idle(fence); });
  fence.signal(1);
  await([&] { return reached.state() == tidemark::callback_state::ran; });
  pipe.write('d');
  loop.post([&] { order += 'p'; });
  other.join();
  std::sort(order.begin(), order.end());
  CHECK(order == "dfp");
  CHECK(is_idle(fence));
}

TEST_CASE_TEMPLATE("a watch that begins while the loop sleeps is heeded", Kind, EVERY_LOOP_KIND) {
  for (int round = 0; round < 50; ++round) {
    const connection pipe;
    typename Kind::loop loop;
    const watchdog dog{[] { return std::string{"the loop sleeps on"}; }};
    std::atomic<int> runs{0};
    background other([&] { CHECK(loop.run() == run_status::stopped); });
    if (round % 2 == 0) other.falls_asleep();
    {
      auto watch = loop.on_readable(pipe.here(), [&] {
        pipe.read();
        ++runs;
      });
      pipe.write('x');
      await([&] { return runs == 1; });
    }
    // And its end, too.
    loop.post([&] { ++runs; });
    await([&] { return runs == 2; });
    loop.stop();
  }
}

TEST_CASE_TEMPLATE("[A14] deadlines, stops and tokens end a sleep in the wait for descriptors", Kind, EVERY_LOOP_KIND) {
  const connection pipe;
  typename Kind::loop loop;
  auto watch = loop.on_readable(pipe.here(), [] {});
  CHECK(loop.run_for(5ms) == run_status::timeout);
  CHECK(loop.run_one_for(5ms) == run_status::timeout);
  const auto begin = std::chrono::steady_clock::now();
  CHECK(loop.run_until(begin + 20ms) == run_status::timeout);
  CHECK(std::chrono::steady_clock::now() >= begin + 20ms);
  for (int round = 0; round < 50; ++round) {
    {
      background other([&] { CHECK(loop.run() == run_status::stopped); });
      loop.stop();
    }
    loop.restart();
    manual_stop stop;
    background other([&] { CHECK(loop.run(stop.get_token()) == run_status::stopped); });
    stop.request();
  }
}

TEST_CASE_TEMPLATE("with a watch, too, a call whose time is over runs all that is ready", Kind, EVERY_LOOP_KIND) {
  const connection pipe;
  typename Kind::loop loop;
  auto watch = loop.on_readable(pipe.here(), [] {});
  const auto runs_in = [&](const auto& call) {
    int runs = 0;
    for (int i = 0; i < 3; ++i) loop.post([&] { ++runs; });
    CHECK(call() == run_status::timeout);
    const int found = runs;
    loop.poll();
    return found;
  };
  CHECK(runs_in([&] { return loop.run_for(0s); }) == 3);
  CHECK(runs_in([&] { return loop.run_until(std::chrono::system_clock::now() - 1h); }) == 3);
  CHECK(runs_in([&] { return loop.run_until(std::chrono::steady_clock::now()); }) == 3);
}

TEST_CASE_TEMPLATE("the loop's own descriptor is readable when one that it watches is ready", Kind, EVERY_LOOP_KIND) {
  const connection pipe;
  typename Kind::loop loop;
  std::string read;
  auto watch = loop.on_readable(pipe.here(), [&] { read += pipe.read(); });
  loop.poll();
  CHECK_FALSE(is_readable(loop.descriptor()));
  pipe.write('x');
  CHECK(is_readable(loop.descriptor(), for_ever));
  CHECK(loop.poll() == 1);
  CHECK(read == "x");
  CHECK_FALSE(is_readable(loop.descriptor()));
}

TEST_CASE_TEMPLATE("a watch may be destroyed by its callable, and one that is ready by another", Kind,
                   EVERY_LOOP_KIND) {
  const connection first;
  const connection second;
  typename Kind::loop loop;
  using watch = decltype(loop.on_readable(0, std::function<void()>{}));
  std::optional<watch> one;
  std::optional<watch> other;
  int runs = 0;
  const auto end_both = [&] {
    int& counted = runs;
    auto& the_other = other;
    one.reset();
    the_other.reset();
    ++counted;
  };
  one.emplace(loop, first.here(), tidemark::descriptor_readiness::readable, end_both);
  other.emplace(loop, second.here(), tidemark::descriptor_readiness::readable, [&] {
    int& counted = runs;
    auto& the_other = one;
    other.reset();
    the_other.reset();
    ++counted;
  });
  first.write('x');
  second.write('x');
  CHECK(loop.poll() == 1);
  CHECK(runs == 1);
  CHECK(loop.poll() == 0);
  CHECK(!one.has_value());
  CHECK(!other.has_value());
}

TEST_CASE("a descriptor is watched again while the callable of its former watch still runs, and is not lost") {
  const connection pipe;
  tidemark::wait_loop loop;
  std::atomic<bool> is_running{false};
  std::atomic<bool> may_return{false};
  using watch = decltype(loop.on_readable(0, std::function<void()>{}));
  std::optional<watch> former;
  former.emplace(loop, pipe.here(), tidemark::descriptor_readiness::readable, [&] {
    pipe.read();
    is_running = true;
    await([&] { return may_return.load(); });
  });
  background runner([&] { CHECK(loop.run() == run_status::stopped); });
  pipe.write('x');
  await([&] { return is_running.load(); });
  background freer([&] { former.reset(); });
  std::atomic<int> runs{0};
  std::optional<watch> next;
  const auto count = [&] {
    pipe.read();
    ++runs;
  };
  // Until the former watch has given the descriptor up.
  await([&] {
    next.emplace(loop, pipe.here(), tidemark::descriptor_readiness::readable, count);
    return next->error() == 0;
  });
  may_return = true;
  freer.join();
  pipe.write('y');
  await([&] { return runs == 1; });
  loop.stop();
  runner.join();
}

TEST_CASE_TEMPLATE("what a watch's callable throws comes out, and the watch goes on", Kind, EVERY_LOOP_KIND) {
  const connection pipe;
  typename Kind::loop loop;
  int runs = 0;
  auto watch = loop.on_readable(pipe.here(), [&] {
    if (++runs == 1) throw std::runtime_error{"told"};
    pipe.read();
  });
  pipe.write('x');
  CHECK_THROWS_WITH(static_cast<void>(loop.run_one()), "told");
  CHECK(loop.run_one() == run_status::ran);
  CHECK(loop.poll() == 0);
  CHECK(runs == 2);
}

TEST_CASE("a descriptor that can't be watched is refused, and nothing is lost") {
  const connection pipe;
  tidemark::wait_loop loop;
  int runs = 0;
  const auto count = [&] {
    pipe.read();
    ++runs;
  };
  auto closed = loop.on_readable(-1, count);
  CHECK(closed.error() == EBADF);
  const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  auto of_file = loop.on_readable(file, count);
  CHECK(of_file.error() == EPERM);
  ::close(file);
  auto watch = loop.on_readable(pipe.here(), count);
  auto twice = loop.on_readable(pipe.here(), count);
  CHECK(watch.error() == 0);
  CHECK(twice.error() == EEXIST);
  pipe.write('x');
  CHECK(loop.poll() == 1);
  CHECK(runs == 1);
}

TEST_CASE_TEMPLATE("[A28] [A37] two threads run a loop for fences and sockets: nothing is lost or run twice", Kind,
                   EVERY_LOOP_KIND) {
  constexpr std::size_t pipes = 4;
  constexpr std::uint64_t rounds = 2'000;
  const std::uint64_t seed = fresh_seed();
  typename Kind::loop loop;
  typename Kind::fence fence;
  std::atomic<std::uint64_t> read{0};
  std::atomic<std::uint64_t> reached{0};
  std::atomic<int> inside[pipes]{};
  std::atomic<bool> overlapped{false};
  const watchdog dog{[&] { return std::to_string(read) + " read, " + std::to_string(reached) + " reached"; }};
  const connection connections[pipes];
  using watch = decltype(loop.on_readable(0, std::function<void()>{}));
  std::list<watch> watches;
  for (std::size_t i = 0; i < pipes; ++i) {
    watches.emplace_back(loop, connections[i].here(), tidemark::descriptor_readiness::readable, [&, i] {
      if (inside[i].exchange(1) != 0) overlapped = true;
      if (connections[i].read() != '\0') ++read;
      inside[i] = 0;
    });
  }
  std::list<typename Kind::any_callback> registered;
  for (std::uint64_t value = 1; value <= rounds; ++value) {
    registered.emplace_back(loop, typename Kind::awaited(fence, value), [&] { ++reached; });
  }
  std::optional<background> runners[2];
  for (auto& each : runners) each.emplace([&] { CHECK(loop.run() == run_status::stopped); });
  random_numbers random(seed);
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    connections[random.below(pipes)].write('x');
    fence.signal(round);
    if (random.below(std::uint64_t{100}) == 0) await([&] { return read == round && reached == round; });
  }
  await([&] { return read == rounds && reached == rounds; });
  loop.stop();
  for (auto& each : runners) each.reset();
  CHECK(!overlapped);
}

#endif
