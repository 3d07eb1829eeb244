// SPDX-License-Identifier: BSL-1.0
//
// Fences whose processes are killed: after each instruction of a wait, a signal, a close and an open, and at random
// moments. Whatever is killed, the others wait and signal, and what the dead had comes back.
#include <tidemark/fence/shared_fence.hpp>

#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <tidemark/fence/fence.hpp>

#include "support/processes.hpp"
#include "support/random.hpp"
#include "support/repetitions.hpp"
#include "support/single_step.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace tidemark;
using namespace std::chrono_literals;

namespace {

constexpr shared_options few{.waiter_slots = 8, .attachments = 6};

/// A process that survives. A thread of it sleeps all the time, so that it is the watcher and others are not.
template <class Signaller, class Waiter>
class survivor {
 public:
  survivor() : made_{Signaller::create(few)}, waiter_{Waiter::open(made_.fence.files(), few)} {
    REQUIRE(made_);
    REQUIRE(waiter_);
    watcher_ = std::thread{[this] { CHECK(waiter_.fence.wait(last) == wait_status::reached); }};
    await([&] { return made_.fence.monitored_value() == last - 1; });
  }
  survivor(const survivor&) = delete;
  survivor& operator=(const survivor&) = delete;
  ~survivor() {
    made_.fence.signal(last);
    watcher_.join();
  }

  Signaller& fence() { return made_.fence; }

  /// Waits and signals ten times. Then everything comes back that a dead process had.
  void goes_on() {
    const std::uint64_t first = fence().current_value() + 1;
    std::thread sleeper{[&] {
      for (std::uint64_t value = first; value < first + 10; ++value) {
        CHECK(waiter_.fence.wait(value) == wait_status::reached);
        done_.signal(value);
      }
    }};
    for (std::uint64_t value = first; value < first + 10; ++value) {
      fence().signal(value);
      CHECK(done_.wait(value) == wait_status::reached);
    }
    sleeper.join();
    // A cleaner of another process may have a byte just now.
    await([&] {
      fence().look();
      return is_all_back();
    });
    CHECK(fence().monitored_value() == last - 1);
  }

 private:
  static constexpr std::uint64_t last = UINT64_MAX;
  using layout = detail::shared_layout<typename Signaller::platform>;

  /// Whether only this process is attached and has slots, and all others have empty leaves.
  bool is_all_back() {
    std::size_t attached = 0;
    fence().for_each_attachment([&](const shared_attachment& each) {
      attached += each.process == static_cast<std::uint32_t>(getpid()) ? 1U : 100U;
    });
    auto* const value = const_cast<std::byte*>(static_cast<const std::byte*>(fence().value_address()));
    std::byte* const base = value - layout::value_at;
    const detail::tree_shape<layout::arity> tree{few.waiter_slots};
    using owner = typename Signaller::platform::template atomic<std::uint32_t>;
    const auto* const owners = &layout::template at<owner>(base, layout::owners_at(tree));
    using siblings = detail::siblings<typename Signaller::platform, layout::arity>;
    const auto* const leaves = &layout::template at<siblings>(base, layout::tree_at);
    std::size_t taken = 0;
    bool is_clean = attached == 2;
    for (std::size_t slot = 0; slot < few.waiter_slots; ++slot) {
      const auto& leaf = leaves[slot / layout::arity].words[slot % layout::arity];
      const bool is_empty = leaf.load_value(std::memory_order_acquire) == no_waiter;
      const bool is_free = owners[slot].load(std::memory_order_acquire) == 0;
      taken += is_free ? 0U : 1U;
      is_clean = is_clean && is_empty == is_free;
    }
    return is_clean && taken == 1;
  }

  shared_open_result<Signaller> made_;
  shared_open_result<Waiter> waiter_;
  tidemark::fence done_;
  std::thread watcher_;
};

using fence_survivor = survivor<shared_fence, shared_fence_waiter>;
using asymmetric_fence = basic_shared_fence<shared_platform, writers::several, shared_rights::signal>;
using asymmetric_waiter = basic_shared_fence<shared_platform, writers::several, shared_rights::wait>;
using asymmetric_survivor = survivor<asymmetric_fence, asymmetric_waiter>;

/// How often a test of random kills is repeated.
std::uint64_t rounds() {
  const char* const wanted = std::getenv("TIDEMARK_KILL_ROUNDS");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 60;
}

/// Says that a test is left out where a process may be killed with a lock of the platform.
bool survives_kills() {
  if (shared_fence::survives_kills) return true;
  MESSAGE("not tested: the double word takes a lock here");
  return false;
}

void require(bool condition) {
  if (!condition) _exit(1);
}

/// What a process does that is killed somewhere in it.
template <class Fence>
int lives_dangerously(const shared_files& files, std::uint64_t seed) {
  random_numbers random{seed};
  std::vector<Fence> own;
  for (;;) {
    const std::uint64_t next = random.below(10U);
    if (own.empty() || (next == 0 && own.size() < 2)) {
      auto opened = Fence::open(files, few);
      if (opened) own.push_back(std::move(opened.fence));
      continue;
    }
    Fence& fence = own[random.below(own.size())];
    if (next == 1) {
      own.pop_back();
    } else if (next < 4) {
      fence.signal(fence.current_value() + 1);
    } else if (next == 4) {
      fence.look();
    } else {
      static_cast<void>(
          fence.wait_for(fence.current_value() + random.below(3U), std::chrono::microseconds{random.below(400U)}));
    }
  }
}

template <class Survivor, class Fence>
void kill_at_random() {
  if (!survives_kills()) return;
  const watchdog dog{[] { return std::string{"killed at random"}; }, 40min};
  Survivor stays;
  random_numbers random{fresh_seed()};
  const std::uint64_t most = rounds();
  for (std::uint64_t round = 0; round < most; ++round) {
    std::vector<child_process> children;
    const std::uint64_t count = 1 + random.below(3U);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t seed = random.below(std::uint64_t{1} << 60);
      children.emplace_back([&] { return lives_dangerously<Fence>(stays.fence().files(), seed); });
    }
    std::this_thread::sleep_for(std::chrono::microseconds{random.below(4000U)});
    for (child_process& each : children) each.kill_now();
    INFO(round);
    stays.goes_on();
  }
}

/// Kills a process at each instruction of what `operation(fence)` does.
template <class Survivor, class Fence, class Prepare, class Operation>
void kill_in(const char* name, const Prepare& prepare, const Operation& operation) {
  if (!survives_kills()) return;
  const watchdog dog{[] { return std::string{"killed in an operation"}; }, 40min};
  Survivor stays;
  Fence own;
  kill_at_each_instruction(
      name,
      [&] {
        auto opened = Fence::open(stays.fence().files(), few);
        require(static_cast<bool>(opened));
        own = std::move(opened.fence);
        prepare(own);
      },
      [&] { operation(own); },
      [&](std::size_t at) {
        INFO(at);
        stays.goes_on();
      });
}

/// Lets the fence learn that spinning does not pay.
template <class Fence>
void stops_spinning(const Fence& fence) {
  for (int i = 0; i < 5; ++i) static_cast<void>(fence.wait_for(UINT64_MAX - 1, 300us));
}

}  // namespace

TEST_CASE("a process that is killed at any instruction of a wait leaves nothing, and nobody hangs") {
  kill_in<fence_survivor, shared_fence>(
      "wait", [](auto& of) { stops_spinning(of); },
      [](auto& of) { static_cast<void>(of.wait_for(of.current_value() + 5, 100us)); });
}

TEST_CASE("a process that is killed at any instruction of an asymmetric wait leaves nothing, and nobody hangs") {
  kill_in<asymmetric_survivor, asymmetric_fence>(
      "asymmetric wait", [](auto& of) { stops_spinning(of); },
      [](auto& of) { static_cast<void>(of.wait_for(of.current_value() + 5, 100us)); });
}

TEST_CASE("a process that is killed at any instruction of a signal leaves nothing, and nobody hangs") {
  // A second attachment of the child sleeps in a thread, so that the signal has somebody to wake.
  kill_in<fence_survivor, shared_fence>(
      "signal",
      [](auto& of) {
        std::thread{[&of] { static_cast<void>(of.wait(of.current_value() + 1)); }}.detach();
        await([&] { return of.monitored_value() == of.current_value(); });
      },
      [](auto& of) { of.signal(of.current_value() + 1); });
}

TEST_CASE("a process that is killed at any instruction of its close leaves nothing, and nobody hangs") {
  kill_in<fence_survivor, shared_fence>("close", [](auto&) {}, [](auto& of) { of.close(); });
}

TEST_CASE("processes that are killed at random leave nothing, and nobody hangs") {
  kill_at_random<fence_survivor, shared_fence>();
}

TEST_CASE("processes that are killed at random leave nothing in the asymmetric form") {
  kill_at_random<asymmetric_survivor, asymmetric_fence>();
}

TEST_CASE("the death of the last signaller is told as lost, and the next signaller goes on") {
  const watchdog dog{[] { return std::string{"death"}; }};
  auto waiter = shared_progress_fence_waiter::create();
  REQUIRE(waiter);
  const auto signaller = [&](std::uint64_t value) {
    return child_process{[&, value] {
      auto opened = shared_progress_fence::open(waiter.fence.files());
      if (!opened) return 1;
      opened.fence.signal(value);
      for (;;) pause();
    }};
  };
  {
    child_process first = signaller(1);
    CHECK(waiter.fence.wait(1) == wait_status::reached);
    std::thread kills{[&] {
      await([&] { return waiter.fence.monitored_value() == 1; });
      first.kill_now();
    }};
    CHECK(waiter.fence.wait(2) == wait_status::lost);
    kills.join();
  }
  CHECK(waiter.fence.signallers() == shared_signallers::died);
  child_process second = signaller(2);
  // A look finds that it is there.
  await([&] { return waiter.fence.wait(2) == wait_status::reached; });
  CHECK(waiter.fence.signallers() == shared_signallers::present);
}

TEST_CASE("a name whose last user was killed is opened again at once") {
  const watchdog dog{[] { return std::string{"name"}; }};
  const std::string text = "tidemark-test-" + std::to_string(getpid()) + "-killed";
  const shared_name name{text};
  for (int round = 0; round < 20; ++round) {
    child_process child{[&] {
      auto opened = shared_fence::open_or_create(name);
      if (!opened) return 1;
      opened.fence.signal(opened.fence.current_value() + 1);
      for (;;) pause();
    }};
    std::this_thread::sleep_for(std::chrono::microseconds{100 * round});
    child.kill_now();
    auto opened = shared_fence::open_or_create(name);
    REQUIRE(opened);
    CHECK(opened.fence.signal(opened.fence.current_value() + 1));
    CHECK(opened.fence.index() == 0);
  }
}
