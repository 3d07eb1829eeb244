// SPDX-License-Identifier: BSL-1.0
//
// Guards of shared fences: a process that has one is known to be dead while the system still holds its lock. All
// processes here are real. Where a process is killed, its lock mostly stays on purpose, so that the guard alone can
// tell.
#include <tidemark/fence/shared_fence.hpp>

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <concepts>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tidemark/fence/attachment_ends.hpp>
#include <tidemark/fence/followed_fence.hpp>

#include "support/asleep.hpp"
#include "support/guard_words.hpp"
#include "support/processes.hpp"
#include "support/random.hpp"
#include "support/readable.hpp"
#include "support/refused.hpp"
#include "support/shared_kinds.hpp"
#include "support/shared_memory.hpp"
#include "support/survives_kills.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace tidemark;
using namespace std::chrono_literals;
using detail::guard_word;

namespace {

constexpr shared_options guarded{.waiter_slots = 8, .attachments = 6, .patience = 2min, .has_guard = true};
constexpr shared_options unguarded{.waiter_slots = 8, .attachments = 6, .patience = 2min};

/// Returns false, and says so, where processes may not be killed, or where there are no guards.
template <class Fence = shared_fence>
bool can_test() {
  if (!survives_kills<Fence>()) return false;
  if (has_guards()) return true;
  MESSAGE("not tested: this system has no robust lists");
  return false;
}

/// For a child: sleeps until it is killed.
constexpr auto stays = [](auto&) { stay(); };

/// A process with an attachment that may signal, and has signalled 1. The lock of the attachment stays behind its
/// death: a child of it that the library does not know of has a copy of the descriptor.
template <class Kind>
class outlived_process {
 public:
  /// \param then  then(fence) is what it does then
  template <class Then>
  outlived_process(const shared_files& files, const shared_options& options, const Then& then)
      : notes_{*::new(memory_.here()) notes{}}, process_{[&] {
          auto opened = Kind::signaller::open(files, options);
          require(static_cast<bool>(opened), "no attachment");
          notes_.index = opened.fence.index();
          const long heir = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
          if (heir == 0) {
            alarm(120);
            stay();
          }
          notes_.heir = heir;
          opened.fence.signal(1);
          then(opened.fence);
          return 0;
        }} {
    await([&] { return notes_.heir > 0; });
  }
  outlived_process(const outlived_process&) = delete;
  outlived_process& operator=(const outlived_process&) = delete;
  ~outlived_process() { give_up_lock(); }

  child_process& process() { return process_; }
  std::uint32_t index() const { return notes_.index; }
  /// Kills the process. Its lock is held still.
  void kill() { process_.kill_now(); }
  /// From now on, the system gives up the lock of the process when that is dead.
  void give_up_lock() {
    const long heir = notes_.heir.exchange(0);
    if (heir > 0) ::kill(static_cast<pid_t>(heir), SIGKILL);
  }

 private:
  struct notes {
    std::atomic<long> heir{0};
    std::atomic<std::uint32_t> index{0};
  };
  shared_memory memory_{sizeof(notes)};
  notes& notes_;
  child_process process_;
};

template <class Fence>
bool is_locked(const Fence& of, std::uint32_t index) {
  return detail::byte_locks{detail::shared_access::waiters_file(of)}.is_held(index);
}
template <class Fence>
bool lists(const Fence& of, std::uint32_t index) {
  bool has = false;
  of.for_each_attachment([&](const shared_attachment& each) { has = has || each.index == index; });
  return has;
}
/// Looks until nothing is told any more.
template <class Fence>
void look_at_all(attachment_ends<Fence>& ends) {
  do ends.look();
  while (is_readable(ends.descriptor(), 250));
}

/// Returns whether a loop is told of the death of a process whose lock stays.
bool a_loop_is_told() {
  auto made = shared_fence_waiter::create(guarded);
  auto other = shared_fence_waiter::open(made.fence.files(), unguarded);
  if (!made || !other) return false;
  outlived_process<several> victim{made.fence.files(), guarded, stays};
  if (made.fence.wait(1) != wait_status::reached) return false;
  attachment_ends ends{other.fence};
  if (ends.error() != 0) return false;
  look_at_all(ends);
  victim.kill();
  const bool is_told = is_readable(ends.descriptor(), for_ever);
  ends.look();
  return is_told && other.fence.signallers() == shared_signallers::died && is_locked(other.fence, victim.index());
}

}  // namespace

TYPE_TO_STRING_AS("several", several);
TYPE_TO_STRING_AS("one", one);

TEST_CASE_TEMPLATE("[A120] a signaller with a guard that is killed is dead for all while the system holds its lock",
                   Kind, several, one) {
  if (!can_test<typename Kind::waiter>()) return;
  const watchdog dog{[] { return std::string{"killed"}; }};
  for (const shared_options& others : {guarded, unguarded}) {
    INFO("others have guards: " << others.has_guard);
    auto made = Kind::waiter::create(others);
    REQUIRE(made);
    auto reader = Kind::reader::open(made.fence.files(), unguarded);
    REQUIRE(reader);
    outlived_process<Kind> victim{made.fence.files(), guarded, stays};
    CHECK(made.fence.wait(1) == wait_status::reached);
    CHECK(lists(made.fence, victim.index()));
    wait_status how = wait_status::timeout;
    std::thread sleeper{[&] { how = made.fence.wait(2); }};
    await([&] { return made.fence.monitored_value() == 1; });
    victim.kill();
    // No look is needed: the notice was there before the process was gone.
    CHECK(made.fence.signallers() == shared_signallers::died);
    CHECK(reader.fence.signallers() == shared_signallers::died);
    CHECK_FALSE(lists(made.fence, victim.index()));
    CHECK_FALSE(lists(reader.fence, victim.index()));
    sleeper.join();
    CHECK(how == wait_status::lost);
    CHECK(is_locked(made.fence, victim.index()));

    // Nobody cleans up behind it, and nobody takes its place, before the lock is gone.
    made.fence.look();
    CHECK((guard_words{made.fence}.value(victim.index()) & guard_word::has_ended) != 0);
    if (std::same_as<Kind, one>) {
      const auto early = Kind::signaller::open(made.fence.files(), unguarded);
      CHECK(early.status == shared_open_status::busy);
      CHECK(made.fence.signallers() == shared_signallers::died);
    }
    victim.give_up_lock();
    await([&] { return !is_locked(made.fence, victim.index()); });
    made.fence.look();
    CHECK(guard_words{made.fence}.value(victim.index()) == 0);
    CHECK(made.fence.signallers() == shared_signallers::died);
    auto next = Kind::signaller::open(made.fence.files(), guarded);
    REQUIRE(next);
    CHECK(next.fence.index() == victim.index());
    CHECK(made.fence.signallers() == shared_signallers::present);
    next.fence.signal(2);
    CHECK(made.fence.wait(2) == wait_status::reached);
  }
}

TEST_CASE("[A120] without a guard, a signaller that is killed lives for others as long as the system holds its lock") {
  if (!can_test()) return;
  const watchdog dog{[] { return std::string{"without a guard"}; }};
  auto made = shared_fence_waiter::create(guarded);
  REQUIRE(made);
  outlived_process<several> victim{made.fence.files(), unguarded, stays};
  CHECK(made.fence.wait(1) == wait_status::reached);
  CHECK(guard_words{made.fence}.value(victim.index()) == 0);
  victim.kill();
  made.fence.look();
  CHECK(guard_words{made.fence}.value(victim.index()) == 0);
  CHECK(made.fence.signallers() == shared_signallers::present);
  CHECK(lists(made.fence, victim.index()));
  victim.give_up_lock();
  CHECK(made.fence.wait(2) == wait_status::lost);
  CHECK(made.fence.signallers() == shared_signallers::died);
}

TEST_CASE("[A120] a loop and a followed fence are told by a guard that a process is dead, also where they have none") {
  if (!can_test()) return;
  const watchdog dog{[] { return std::string{"loop"}; }};
  CHECK(a_loop_is_told());
  auto made = shared_fence_waiter::create(guarded);
  REQUIRE(made);
  outlived_process<several> victim{made.fence.files(), guarded, stays};
  const followed_fence followed{made.fence};
  CHECK(followed.wait(1) == wait_status::reached);
  victim.kill();
  CHECK(followed.wait(2) == wait_status::lost);
}

TEST_CASE("where the system has no sleep on several words, guards look by themselves") {
#if defined(SYS_futex_waitv)
  if (!can_test()) return;
  const watchdog dog{[] { return std::string{"no sleep on several words"}; }};
  child_process refused{[] {
    if (!refuse(SYS_futex_waitv)) return 77;
    return a_loop_is_told() ? 0 : 1;
  }};
  const int status = refused.wait();
  if (status == 77) {
    MESSAGE("not tested: this system permits no seccomp filter");
    return;
  }
  CHECK(status == 0);
#endif
}

TEST_CASE("all guards of all processes learn of a death") {
  if (!can_test()) return;
  const watchdog dog{[] { return std::string{"all guards"}; }};
  auto made = shared_fence_waiter::create(guarded);
  REQUIRE(made);
  std::vector<child_process> others;
  for (int i = 0; i < 3; ++i) {
    others.emplace_back([&] {
      auto own = shared_fence_waiter::open(made.fence.files(), guarded);
      if (!own || own.fence.wait(1) != wait_status::reached) return 1;
      return own.fence.wait(2) == wait_status::lost ? 0 : 2;
    });
  }
  outlived_process<several> victim{made.fence.files(), guarded, stays};
  CHECK(made.fence.wait(1) == wait_status::reached);
  victim.kill();
  for (child_process& each : others) CHECK(each.wait() == 0);
}

TEST_CASE("a guard that learns of a death wakes all who sleep on the same word") {
  if (!can_test()) return;
  const watchdog dog{[] { return std::string{"passed on"}; }};
  auto made = shared_fence_waiter::create(guarded);
  REQUIRE(made);
  outlived_process<several> victim{made.fence.files(), guarded, stays};
  CHECK(made.fence.wait(1) == wait_status::reached);
  auto& word = guard_words{made.fence}[victim.index()];
  const std::uint32_t value = guard_words{made.fence}.value(victim.index());
  CHECK((value & guard_word::has_sleepers) != 0);
  CHECK((value & guard_word::has_ended) == 0);
  std::array<std::atomic<long>, 4> numbers{};
  std::vector<std::thread> sleepers;
  for (auto& number : numbers) {
    sleepers.emplace_back([&] {
      number = syscall(SYS_gettid);
      while (word.load(std::memory_order_acquire) == value) {
        static_cast<void>(detail::shared_parking::park(word, value, no_deadline));
      }
    });
  }
  for (auto& number : numbers) await([&] { return number != 0 && is_asleep(number); });
  victim.kill();  // the kernel wakes one of five
  for (std::thread& each : sleepers) each.join();
  CHECK(guard_words{made.fence}.value(victim.index()) == (guard_word::has_ended | guard_word::has_sleepers));
}

TEST_CASE("[A120] a process of much memory is known to be dead before the system has torn that down") {
  if (!can_test()) return;
  const watchdog dog{[] { return std::string{"much memory"}; }, 10min};
  constexpr std::size_t bytes = std::size_t{512} << 20;
  const auto pages = static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES));
  if (pages < 2 * bytes / static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    MESSAGE("not tested: there is not enough memory");
    return;
  }
  constexpr int most = 10;
  for (int tries = 1; tries <= most; ++tries) {
    auto made = shared_fence_waiter::create(unguarded);
    REQUIRE(made);
    child_process victim{[&] {
      auto own = shared_fence::open(made.fence.files(), guarded);
      if (!own) return 1;
      const std::vector<char> memory(bytes, 1);
      own.fence.signal(memory.back() == 1 ? 1 : 2);
      return stay();
    }};
    await([&] { return made.fence.current_value() == 1; });
    ::kill(victim.number(), SIGKILL);
    await([&] { return made.fence.signallers() == shared_signallers::died; });
    const bool was_early = is_locked(made.fence, 1);
    static_cast<void>(victim.wait());
    CHECK(made.fence.signallers() == shared_signallers::died);
    if (was_early) {
      MESSAGE("known before the end of the lock, at try " << tries);
      return;
    }
  }
  MESSAGE("not seen: the system was quicker, " << most << " times");
}

TEST_CASE("an attachment with a guard that is closed has not died") {
  if (!has_guards()) return;
  const watchdog dog{[] { return std::string{"closed"}; }};
  auto made = shared_fence_waiter::create(guarded);
  REQUIRE(made);
  std::atomic<bool> is_over{false};
  std::atomic<bool> was_dead{false};
  std::thread observer{[&] {
    while (!is_over) was_dead = was_dead || made.fence.signallers() == shared_signallers::died;
  }};
  for (std::uint64_t round = 1; round <= 50; ++round) {
    auto own = shared_fence::open(made.fence.files(), guarded);
    REQUIRE(own);
    const std::uint32_t index = own.fence.index();
    CHECK((guard_words{made.fence}.value(index) & guard_word::thread) != 0);
    CHECK(made.fence.signallers() == shared_signallers::present);
    CHECK(own.fence.signal(round));
    own.fence.close();
    CHECK(guard_words{made.fence}.value(index) == 0);
    CHECK(made.fence.signallers() == shared_signallers::closed);
  }
  is_over = true;
  observer.join();
  CHECK_FALSE(was_dead);
  auto moved = shared_fence::open(made.fence.files(), guarded);
  REQUIRE(moved);
  const shared_fence to{std::move(moved.fence)};
  CHECK(made.fence.signallers() == shared_signallers::present);
}

TEST_CASE("[A120] a process that ends without closing an attachment with a guard, or executes a program, has died") {
  if (!can_test()) return;
  const watchdog dog{[] { return std::string{"ends"}; }};
  auto made = shared_fence_waiter::create(guarded);
  REQUIRE(made);
  {
    outlived_process<several> ends{made.fence.files(), guarded, [](auto&) { _exit(0); }};
    CHECK(made.fence.wait(2) == wait_status::lost);
    CHECK(ends.process().wait() == 0);
    CHECK(is_locked(made.fence, ends.index()));
  }
  outlived_process<several> executes{made.fence.files(), guarded,
                                     [](auto&) { execl("/bin/sleep", "sleep", "120", nullptr); }};
  await([&] { return made.fence.signallers() == shared_signallers::died && !lists(made.fence, executes.index()); });
  CHECK(is_locked(made.fence, executes.index()));
}

TEST_CASE("a process with a guard that is stopped is not dead") {
  if (!can_test()) return;
  const watchdog dog{[] { return std::string{"stopped"}; }};
  auto made = shared_fence_waiter::create(guarded);
  REQUIRE(made);
  const shared_memory memory{sizeof(std::atomic<int>)};
  auto& may_go_on = *::new (memory.here()) std::atomic<int>{0};
  outlived_process<several> victim{made.fence.files(), guarded, [&](auto& fence) {
                                     while (may_go_on == 0) sched_yield();
                                     fence.signal(2);
                                     stay();
                                   }};
  CHECK(made.fence.wait(1) == wait_status::reached);
  REQUIRE(::kill(victim.process().number(), SIGSTOP) == 0);
  int status = 0;
  REQUIRE(waitpid(victim.process().number(), &status, WUNTRACED) == victim.process().number());
  REQUIRE(WIFSTOPPED(status));
  made.fence.look();
  CHECK(made.fence.wait_for(2, 120ms) == wait_status::timeout);
  CHECK(made.fence.signallers() == shared_signallers::present);
  CHECK((guard_words{made.fence}.value(victim.index()) & guard_word::has_ended) == 0);
  may_go_on = 1;
  REQUIRE(::kill(victim.process().number(), SIGCONT) == 0);
  CHECK(made.fence.wait(2) == wait_status::reached);
}

TEST_CASE("a child of a process with a guard may end in whatever way, and that says nothing of its parent") {
  if (!can_test()) return;
  const watchdog dog{[] { return std::string{"children"}; }};
  auto made = shared_fence::create(guarded);
  auto waiter = shared_fence_waiter::open(made.fence.files(), guarded);
  REQUIRE(made);
  REQUIRE(waiter);
  const std::uint32_t before = guard_words{waiter.fence}.value(made.fence.index());
  child_process closes{[&] {
    auto own = shared_fence::open(made.fence.files(), guarded);
    made.fence.close();
    waiter.fence.close();
    return own && own.fence.signal(1) ? 0 : 1;
  }};
  CHECK(closes.wait() == 0);
  child_process is_killed{[] { return stay(); }};
  is_killed.kill_now();
  child_process leaves{[] { return 0; }};
  CHECK(leaves.wait() == 0);
  CHECK(guard_words{waiter.fence}.value(made.fence.index()) == before);
  CHECK(waiter.fence.wait(1) == wait_status::reached);
  CHECK(waiter.fence.signallers() == shared_signallers::present);
  made.fence.close();
  CHECK(waiter.fence.signallers() == shared_signallers::closed);
}

TEST_CASE("a reader has no guard, and where the system has none, an opening is refused and leaves nothing") {
  const watchdog dog{[] { return std::string{"refused"}; }};
  auto made = shared_fence_waiter::create(unguarded);
  REQUIRE(made);
  const auto reader = shared_fence_reader::open(made.fence.files(), guarded);
  CHECK(reader.status == shared_open_status::invalid);
  CHECK(reader.field == shared_field::guard);
  CHECK_FALSE(shared_fence_reader::negotiate<death_guards>());
  constexpr std::array without_guards{enabled_feature{kill_safety::id}};
  CHECK_FALSE(shared_fence::negotiate<death_guards>(feature_host{without_guards}));
  // Whether there are guards can be asked before.
  const auto with = shared_fence::open(made.fence.files(), guarded);
  CHECK(static_cast<bool>(with) == has_guards());
  if (!can_test()) return;
  child_process refused{[&] {
    if (!refuse(SYS_set_robust_list, ENOSYS)) return 77;
    if (has_guards()) return 4;
    const auto opened = shared_fence::open(made.fence.files(), guarded);
    if (opened.status != shared_open_status::refused || opened.field != shared_field::guard) return 1;
    if (opened.error != ENOSYS || opened.fence.is_open()) return 2;
    // It has left nothing.
    const auto without = shared_fence::open(made.fence.files(), unguarded);
    return without && without.fence.index() == 2 ? 0 : 3;
  }};
  const int status = refused.wait();
  if (status == 77) {
    MESSAGE("not tested: this system permits no seccomp filter");
    return;
  }
  CHECK(status == 0);
}

TEST_CASE("nonsense in the guard words leads to wrong notices at worst") {
  if (!can_test()) return;
  const watchdog dog{[] { return std::string{"nonsense"}; }};
  auto made = shared_fence::create(guarded);
  REQUIRE(made);
  const shared_memory memory{sizeof(std::array<std::atomic<std::uint64_t>, 3>)};
  auto& opened = *::new (memory.here()) std::array<std::atomic<std::uint64_t>, 3>{};
  std::vector<child_process> victims;
  for (auto& times : opened) {
    victims.emplace_back([&] {
      for (int turn = 0; turn < 30; ++turn) {
        auto own = shared_fence::open(made.fence.files(), guarded);
        if (!own) return 1;
        static_cast<void>(own.fence.signal(own.fence.current_value() + 1));
        static_cast<void>(own.fence.wait_for(own.fence.current_value() + 1, 300us));
        static_cast<void>(own.fence.is_lost());
        own.fence.look();
        own.fence.for_each_attachment([](const shared_attachment&) {});
        own.fence.close();
        ++times;
      }
      return 0;
    });
  }
  const guard_words words{made.fence};
  random_numbers random{fresh_seed()};
  const auto have_opened = [&] {
    for (const auto& times : opened) {
      if (times < 30) return false;
    }
    return true;
  };
  while (!have_opened()) {
    const auto index = static_cast<std::uint32_t>(random.below(guarded.attachments));
    const std::uint32_t before = words.value(index);
    const std::array<std::uint32_t, 6> chosen{0,
                                              guard_word::has_ended,
                                              guard_word::has_ended | guard_word::has_sleepers,
                                              before ^ guard_word::has_ended,
                                              static_cast<std::uint32_t>(random.below(std::uint64_t{1} << 32)),
                                              before & guard_word::thread};
    words[index].store(chosen[random.below(chosen.size())], std::memory_order_relaxed);
    if (random.below(4U) == 0) detail::shared_parking::unpark(words[index], 1);
    if (random.below(8U) == 0) {  // takes a wake-up away
      static_cast<void>(
          detail::shared_parking::park(words[index], words.value(index), std::chrono::steady_clock::now() + 50us));
    }
    if (random.below(16U) == 0) sched_yield();
  }
  for (child_process& each : victims) CHECK(each.wait() == 0);
  for (std::uint32_t index = 0; index < guarded.attachments; ++index) words[index].store(0, std::memory_order_relaxed);

  // Those that come now are as right as any.
  outlived_process<several> victim{made.fence.files(), guarded, stays};
  await([&] { return lists(made.fence, victim.index()); });
  victim.kill();
  CHECK_FALSE(lists(made.fence, victim.index()));
  CHECK(is_locked(made.fence, victim.index()));
}
