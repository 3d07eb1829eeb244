// SPDX-License-Identifier: BSL-1.0
//
// Fences whose processes are killed: after each instruction of waits, of signals, of a look, and of opening, making and
// closing, and at random moments. Whatever is killed, the others wait and signal, and what the dead had comes back.
//
// TIDEMARK_KILL_AT_ALL tries all instructions, TIDEMARK_KILL_ROUNDS says how often processes are killed at random. What
// is printed with --success are instructions, kills, and how long the others took then.
#include <tidemark/fence/shared_fence.hpp>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <tidemark/fence/fence.hpp>

#include "support/asleep.hpp"
#include "support/guard_words.hpp"
#include "support/processes.hpp"
#include "support/random.hpp"
#include "support/shared_memory.hpp"
#include "support/shared_stand.hpp"
#include "support/single_step.hpp"
#include "support/survives_kills.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace tidemark;
using namespace std::chrono_literals;

namespace {

constexpr shared_options few{.waiter_slots = 8, .attachments = 6, .patience = 2min};
constexpr shared_options guarded{.waiter_slots = 8, .attachments = 6, .patience = 2min, .has_guard = true};

/// The slots of a fence.
template <class Fence>
class slots {
 public:
  explicit slots(const Fence& of)
      : base_{const_cast<std::byte*>(static_cast<const std::byte*>(of.value_address())) - layout::value_at} {}

  std::uint32_t owner_of(std::size_t slot) const {
    using owner = typename Fence::platform::template atomic<std::uint32_t>;
    const auto* const owners = &layout::template at<owner>(base_, layout::owners_at(tree_));
    return owners[slot].load(std::memory_order_acquire);
  }
  bool is_empty(std::size_t slot) const {
    using siblings = detail::siblings<typename Fence::platform, layout::arity>;
    const auto* const leaves = &layout::template at<siblings>(base_, layout::tree_at);
    return leaves[slot / layout::arity].words[slot % layout::arity].load_value(std::memory_order_acquire) == no_waiter;
  }
  /// Lets the next waiter begin a hold of the root.
  void let_hold_begin() const { hold().store(0, std::memory_order_relaxed); }
  bool has_hold_begun() const { return detail::hold_state{hold().load(std::memory_order_relaxed)}.keeps_root_low(); }
  /// Whether an attachment has one.
  bool has_any(std::uint32_t attachment) const {
    for (std::size_t slot = 0; slot < few.waiter_slots; ++slot) {
      if (owner_of(slot) == attachment + 1) return true;
    }
    return false;
  }

 private:
  using layout = detail::shared_layout<typename Fence::platform>;
  using word = typename Fence::platform::template atomic<std::uint64_t>;

  word& hold() const { return layout::template at<word>(base_, layout::hold_at); }

  const detail::tree_shape<layout::arity> tree_{few.waiter_slots};
  std::byte* base_;
};

/// How long something took, each time.
class durations {
 public:
  template <class Call>
  void time(const Call& call) {
    const auto began = std::chrono::steady_clock::now();
    call();
    all_.push_back(std::chrono::steady_clock::now() - began);
  }
  std::string text() {
    if (all_.empty()) return "never";
    std::sort(all_.begin(), all_.end());
    const auto in_microseconds = [](auto took) { return std::to_string(took / 1us) + " us"; };
    return in_microseconds(all_[all_.size() / 2]) + ", at most " + in_microseconds(all_.back());
  }

 private:
  std::vector<std::chrono::steady_clock::duration> all_;
};

/// A process that survives. A thread of it sleeps all the time, so that it is the watcher and others are not. Another
/// one, the follower, always sleeps for the next value, so that it is due when the process signals that is killed.
template <class Signaller, class Waiter, bool HasGuard = false>
class survivor {
 public:
  using signaller = Signaller;
  static constexpr const shared_options& options = HasGuard ? guarded : few;

  survivor() : made_{Signaller::create(options)}, waiter_{Waiter::open(made_.fence.files(), options)} {
    REQUIRE(made_);
    REQUIRE(waiter_);
    watcher_ = std::thread{[this] { CHECK(waiter_.fence.wait(last) == wait_status::reached); }};
    await([&] { return made_.fence.monitored_value() == last - 1; });
    follower_ = std::thread{[this] {
      for (std::uint64_t value = 0; value != last; followed_ = value) {
        CHECK(waiter_.fence.wait(value + 1) == wait_status::reached);
        value = waiter_.fence.current_value();
      }
    }};
  }
  survivor(const survivor&) = delete;
  survivor& operator=(const survivor&) = delete;
  ~survivor() {
    made_.fence.signal(last);
    watcher_.join();
    follower_.join();
    MESSAGE("the follower: " << following_.text() << "; ten waits and signals: " << going_on_.text()
                             << "; all is back: " << coming_back_.text());
  }

  Signaller& fence() { return made_.fence; }

  /// Comes to whatever the dead process has signalled, and then waits and signals ten times. Then everything comes back
  /// that it had.
  void goes_on() {
    following_.time([&] { await([&] { return followed_ == fence().current_value(); }); });
    going_on_.time([&] { waits_and_signals(); });
    // A cleaner of another process may have a byte just now.
    coming_back_.time([&] {
      await([&] {
        fence().look();
        return is_all_back();
      });
    });
  }

 private:
  static constexpr std::uint64_t last = UINT64_MAX;

  void waits_and_signals() {
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
  }

  /// Whether only this process is attached and has slots, all others have empty leaves, and the root is right.
  bool is_all_back() {
    std::size_t attached = 0;
    fence().for_each_attachment([&](const shared_attachment& each) {
      attached += each.process == static_cast<std::uint32_t>(getpid()) ? 1U : 100U;
    });
    const slots all{fence()};
    bool is_clean = attached == 2;
    // The notices that others are dead.
    for (std::uint32_t index = 2; index < few.attachments; ++index)
      is_clean = is_clean && guard_words{fence()}.value(index) == 0;
    std::size_t taken = 0;
    for (std::size_t slot = 0; slot < few.waiter_slots; ++slot) {
      const bool is_free = all.owner_of(slot) == 0;
      taken += is_free ? 0U : 1U;
      is_clean = is_clean && all.is_empty(slot) == is_free;
    }
    // The follower may have filled its leaf, and come to the root only now.
    return is_clean && taken == 2 && fence().monitored_value() == fence().current_value();
  }

  shared_open_result<Signaller> made_;
  shared_open_result<Waiter> waiter_;
  tidemark::fence done_;
  std::thread watcher_;
  std::thread follower_;
  std::atomic<std::uint64_t> followed_{0};
  durations following_;
  durations going_on_;
  durations coming_back_;
};

using fence_survivor = survivor<shared_fence, shared_fence_waiter>;
using asymmetric_fence = basic_shared_fence<shared_platform, writers::several, shared_rights::signal>;
using asymmetric_waiter = basic_shared_fence<shared_platform, writers::several, shared_rights::wait>;
using guarded_survivor = survivor<shared_fence, shared_fence_waiter, true>;
using asymmetric_survivor = survivor<asymmetric_fence, asymmetric_waiter>;

/// A platform without spins, whose clock stands still, so that a wait with a deadline takes the same way however slowly
/// its instructions come: it registers, sleeps until the deadline has passed, and withdraws.
template <class Base>
struct without_clock : Base {
  using typename Base::park_word;

  static constexpr unsigned spin_looks() noexcept { return 0; }
  static deadline now() noexcept { return deadline{1h}; }
  static bool park(park_word& word, std::uint32_t expected, deadline) noexcept {
    has_parked = true;
    return Base::park(word, expected, Base::now() + 1ms);
  }
  static inline bool has_parked = false;
};
template <class Platform>
using fence_without_clock = basic_shared_fence<without_clock<Platform>, writers::several, shared_rights::signal>;

/// How often a test of random kills is repeated.
std::uint64_t rounds() {
  const char* const wanted = std::getenv("TIDEMARK_KILL_ROUNDS");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 60;
}

/// What a process does that is killed somewhere in it.
template <class Fence>
int lives_dangerously(const shared_files& files, std::uint64_t seed, bool has_guards) {
  random_numbers random{seed};
  std::vector<Fence> own;
  for (;;) {
    const std::uint64_t next = random.below(10U);
    if (own.empty() || (next == 0 && own.size() < 2)) {
      auto opened = Fence::open(files, has_guards && random.below(2U) == 0 ? guarded : few);
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

/// Returns false, and says so, where such a survivor can't be.
template <class Survivor>
bool can_test() {
  if (!survives_kills<shared_fence>()) return false;
  if (!Survivor::options.has_guard || has_guards()) return true;
  MESSAGE("not tested: this system has no robust lists");
  return false;
}

template <class Survivor, class Fence>
void kill_at_random() {
  if (!can_test<Survivor>()) return;
  const watchdog dog{[] { return std::string{"killed at random"}; }, 40min};
  Survivor stays;
  random_numbers random{fresh_seed()};
  const std::uint64_t most = rounds();
  for (std::uint64_t round = 0; round < most; ++round) {
    std::vector<child_process> children;
    const std::uint64_t count = 1 + random.below(3U);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t seed = random.below(std::uint64_t{1} << 60);
      const bool has_guards = Survivor::options.has_guard;
      children.emplace_back([&] { return lives_dangerously<Fence>(stays.fence().files(), seed, has_guards); });
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
  if (!can_test<Survivor>()) return;
  const watchdog dog{[] { return std::string{"killed in an operation"}; }, 40min};
  Survivor stays;
  Fence own;
  kill_at_each_instruction(
      name,
      [&] {
        auto opened = Fence::open(stays.fence().files(), Survivor::options);
        require(static_cast<bool>(opened), "no attachment");
        own = std::move(opened.fence);
        if constexpr (std::invocable<const Prepare&, Fence&, const shared_files&>) {
          prepare(own, stays.fence().files());
        } else {
          prepare(own);
        }
      },
      [&] { operation(own); },
      [&](std::size_t at) {
        INFO(at);
        stays.goes_on();
      });
}

/// The same in a wait whose deadline passes.
template <class Survivor, class Fence>
void kill_in_wait(const char* name) {
  kill_in<Survivor, Fence>(
      name, [](auto&) { Fence::platform::has_parked = false; },
      [](auto& of) {
        static_cast<void>(of.wait_for(of.current_value() + 5, 1ms));
        require(Fence::platform::has_parked, "the wait did not sleep");
      });
}

/// Lets the fence learn that spinning does not pay.
template <class Fence>
void stops_spinning(const Fence& fence) {
  for (int i = 0; i < 5; ++i) static_cast<void>(fence.wait_for(UINT64_MAX - 1, 300us));
}

}  // namespace

TYPE_TO_STRING_AS("symmetric", fence_survivor);
TYPE_TO_STRING_AS("asymmetric", asymmetric_survivor);
TYPE_TO_STRING_AS("guarded", guarded_survivor);

TEST_CASE("a process that is killed at any instruction of a wait leaves nothing, and nobody hangs") {
  kill_in_wait<fence_survivor, fence_without_clock<symmetric_shared_platform>>("wait");
}

TEST_CASE("a process that is killed at any instruction of an asymmetric wait leaves nothing, and nobody hangs") {
  kill_in_wait<asymmetric_survivor, fence_without_clock<shared_platform>>("asymmetric wait");
}

TEST_CASE("a process that is killed at any instruction of a wait that a signal ends leaves nothing, and nobody hangs") {
  std::uint64_t target = 0;
  const auto waits = [&](auto& of) { static_cast<void>(of.wait(target)); };
  // A thread of the child signals once the wait sleeps.
  const auto prepares = [&](auto& of) {
    stops_spinning(of);
    target = of.current_value() + 1;
    std::thread{[&of, target] {
      await([] { return is_asleep(getpid()); });
      of.signal(target);
    }}.detach();
  };
  kill_in<fence_survivor, shared_fence>("wait that is released", prepares, waits);
  kill_in<asymmetric_survivor, asymmetric_fence>("asymmetric wait that is released", prepares, waits);

  if (!shared_progress_fence::negotiate<asymmetric_barriers>()) return;  // then there are no holds
  kill_in<asymmetric_survivor, asymmetric_fence>(
      "asymmetric wait that begins a hold",
      [&](auto& of) {
        prepares(of);
        slots{of}.let_hold_begin();
      },
      [&](auto& of) {
        waits(of);
        require(slots{of}.has_hold_begun(), "the wait did not begin a hold");
      });
}

#if defined(__cpp_lib_jthread)
TEST_CASE("a process that is killed at any instruction of a wait that is stopped leaves nothing, and nobody hangs") {
  std::stop_source stop{std::nostopstate};
  kill_in<fence_survivor, shared_fence>(
      "wait that is stopped",
      [&](auto& of) {
        stops_spinning(of);
        stop = std::stop_source{};
        std::thread{[stop]() mutable {
          await([] { return is_asleep(getpid()); });
          stop.request_stop();
        }}.detach();
      },
      [&](auto& of) { static_cast<void>(of.wait(of.current_value() + 5, stop.get_token())); });
}
#endif

TEST_CASE_TEMPLATE("a process that is killed at any instruction of a signal leaves nothing, and nobody hangs", Survivor,
                   fence_survivor, asymmetric_survivor) {
  // A thread of the child sleeps, too, so that the signal has somebody to wake in both processes.
  kill_in<Survivor, typename Survivor::signaller>(
      "signal",
      [](auto& of) {
        std::thread{[&of] { static_cast<void>(of.wait(of.current_value() + 1)); }}.detach();
        await([&] { return of.monitored_value() == of.current_value(); });
      },
      [](auto& of) { of.signal(of.current_value() + 1); });
}

TEST_CASE_TEMPLATE("a process that is killed at any instruction of its opening leaves nothing, and nobody hangs",
                   Survivor, fence_survivor, asymmetric_survivor, guarded_survivor) {
  if (!can_test<Survivor>()) return;
  const watchdog dog{[] { return std::string{"killed in an opening"}; }, 40min};
  Survivor stays;
  typename Survivor::signaller own;
  const auto opens = [&] {
    auto opened = Survivor::signaller::open(stays.fence().files(), Survivor::options);
    require(static_cast<bool>(opened), "no attachment");
    own = std::move(opened.fence);
  };
  // After one that is closed, each child finds its memory in the same state, and takes the same way.
  const auto opens_and_closes = [&] {
    opens();
    own.close();
  };
  kill_at_each_instruction("open", opens_and_closes, opens, [&](std::size_t at) {
    INFO(at);
    stays.goes_on();
  });
}

TEST_CASE("a process that is killed at any instruction of its close with a guard leaves nothing, and nobody hangs") {
  kill_in<guarded_survivor, shared_fence>("close with a guard", [](auto&) {}, [](auto& of) { of.close(); });
}

TEST_CASE("a process that is killed at any instruction of a look that cleans up leaves nothing, and nobody hangs") {
  kill_in<fence_survivor, shared_fence>(
      "look that cleans up",
      [](shared_fence&, const shared_files& files) {
        // Somebody has died asleep.
        const pid_t dead = fork();
        if (dead == 0) {
          auto opened = shared_fence::open(files, few);
          require(static_cast<bool>(opened), "no attachment");
          std::thread{[&] { static_cast<void>(opened.fence.wait(UINT64_MAX)); }}.detach();
          await([&] { return slots{opened.fence}.has_any(opened.fence.index()); });
          _exit(0);
        }
        int status = 0;
        require(waitpid(dead, &status, 0) == dead && status == 0, "the dead one has not died as it should");
      },
      [](auto& of) { of.look(); });
}

TEST_CASE("a process that is killed at any instruction while it makes a fence by name leaves a name that can be used") {
  if (!survives_kills<shared_fence>()) return;
  const watchdog dog{[] { return std::string{"killed in the making"}; }, 40min};
  const stand_name name{"made"};
  shared_fence own;
  kill_at_each_instruction(
      "open or create by name", [] {},
      [&] {
        auto opened = shared_fence::open_or_create(name, few);
        require(static_cast<bool>(opened), "no attachment");
        own = std::move(opened.fence);
      },
      [&](std::size_t at) {
        INFO(at);
        auto opened = shared_fence::open_or_create(name, few);
        REQUIRE(opened);
        CHECK(opened.fence.index() == 0);
        std::thread sleeper{[&] { CHECK(opened.fence.wait(1) == wait_status::reached); }};
        await([&] { return opened.fence.monitored_value() == 0; });
        CHECK(opened.fence.signal(1));
        sleeper.join();
      });
}

TEST_CASE("processes that are killed at random leave nothing, and nobody hangs") {
  kill_at_random<fence_survivor, shared_fence>();
}

TEST_CASE("processes that are killed at random while they have guards or not leave nothing, and nobody hangs") {
  kill_at_random<guarded_survivor, shared_fence>();
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
      return stay();
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
  const stand_name name{"killed"};
  const shared_memory memory{sizeof(std::atomic<int>)};
  auto& last_opened = *::new (memory.here()) std::atomic<int>{-1};
  for (int round = 0; round < 20; ++round) {
    child_process child{[&] {
      auto opened = shared_fence::open_or_create(name, few);
      if (!opened) return 1;
      opened.fence.signal(opened.fence.current_value() + 1);
      last_opened = round;
      return stay();
    }};
    if (round % 2 == 0) {
      await([&] { return last_opened == round; });
    } else {  // perhaps while it opens
      std::this_thread::sleep_for(std::chrono::microseconds{100 * round});
    }
    child.kill_now();
    auto opened = shared_fence::open_or_create(name, few);
    REQUIRE(opened);
    CHECK(opened.fence.signal(opened.fence.current_value() + 1));
    CHECK(opened.fence.index() == 0);
  }
}
