// SPDX-License-Identifier: BSL-1.0
//
// Waits over anything: a fence, an attachment of a domain, a 32-bit fence, a timeline of the program's with hooks and
// one without take part in one wait, of a thread, a callable, a coroutine, a sender and a queue of an engine.
#include <tidemark/engine/domain.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

#include <tidemark/fence/fence32.hpp>
#include <tidemark/fence/looked_at.hpp>
#include <tidemark/fence/wait_many.hpp>
#include <tidemark/loop/senders.hpp>

#include "support/coroutine.hpp"
#include "support/hooked_ticks.hpp"
#include "support/loop_kinds.hpp"
#include "support/owned_loop.hpp"
#include "support/readable.hpp"
#include "support/receiver.hpp"
#include "support/threads.hpp"
#include "support/user_timeline.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::domain_kind;
using tidemark::wait_any_result;
using tidemark::wait_status;

namespace {

/// Notes until when a thread sleeps that has begun to sleep last.
struct platform : counting_platform<tidemark::native_platform> {
  static bool park(park_word& word, std::uint32_t expected, tidemark::deadline until) noexcept {
    sleeps_until = until;
    return counting_platform::park(word, expected, until);
  }
  static inline std::atomic<tidemark::deadline> sleeps_until{tidemark::deadline{}};
};

using awaited = tidemark::basic_awaited<platform>;
using loop_type = tidemark::basic_wait_loop<platform>;
using engine = tidemark::basic_engine<platform>;
using queue = tidemark::basic_engine_queue<platform, tidemark::no_log_clock>;

// A queue waits for an attachment as its domain says, so it takes none whose domain it can't see.
template <class Timeline>
constexpr bool is_taken = requires(queue& by, tidemark::basic_legacy_queue<platform>& by_legacy, const Timeline& of) {
  by.wait(of, 1);
  by_legacy.wait(of, 1);
};
using attachment = tidemark::basic_attachment<platform>;
static_assert(is_taken<attachment> && !is_taken<tidemark::timeline_view<attachment>>);
static_assert(!queue::is_awaited<tidemark::timeline_view<attachment>>);
static_assert(!queue::is_awaited<tidemark::looked_at<attachment>>);
static_assert(!queue::is_awaited<tidemark::looked_at<tidemark::timeline_view<attachment>>>);
static_assert(queue::is_awaited<tidemark::timeline_view<tidemark::basic_fence<platform>>>);
static_assert(std::constructible_from<awaited, const tidemark::timeline_view<attachment>&, std::uint64_t>);

/// One of each, at 0.
struct one_of_each {
  static constexpr std::size_t count = 5;

  explicit one_of_each(tidemark::deadline::duration interval, domain_kind kind = domain_kind::native)
      : in{on.loop(), {.kind = kind}}, seldom{user, interval} {}

  std::array<awaited, count> list(std::uint64_t value) const {
    return {awaited{fence, value}, awaited{attachment, value}, awaited{serials, value}, awaited{hooked, value},
            awaited{seldom, value}};
  }
  void signal(std::size_t which, std::uint64_t value) {
    switch (which) {
      case 0:
        fence.signal(value);
        break;
      case 1:
        attachment.signal(value);
        break;
      case 2:
        serials.signal(static_cast<std::uint32_t>(value));
        break;
      case 3:
        hooked.signal(value);
        break;
      default:
        user.signal(value);
    }
  }

  engine on{{.threads = 0}};
  tidemark::basic_domain<platform> in;
  tidemark::basic_cross_fence<platform> shared;
  tidemark::basic_fence<platform> fence;
  tidemark::basic_attachment<platform> attachment{shared, in};
  tidemark::basic_fence32<tidemark::basic_fence<platform>> serials;
  basic_hooked_ticks<platform> hooked;
  user_timeline user;
  tidemark::looked_at<user_timeline> seldom;
};

/// Keeps how a coroutine's waits have ended.
struct ends {
  wait_status all{wait_status::timeout};
  wait_any_result any{};
};

coroutine waits_for_all(loop_type& loop, const one_of_each& those, std::uint64_t value, ends& kept) {
  kept.all = co_await loop.all_of(those.list(value));
  loop.stop();
}
coroutine waits_for_any(loop_type& loop, const one_of_each& those, std::uint64_t value, ends& kept) {
  kept.any = co_await loop.any_of(those.list(value));
  loop.stop();
}

}  // namespace

TEST_CASE("[A65] a thread that waits for all of five kinds of timelines sleeps once") {
  for (const auto kind : {domain_kind::native, domain_kind::legacy}) {
    one_of_each those{24h, kind};
    const meter<platform> during;
    waiter waiting{[&] { return tidemark::wait_all(those.list(1)); }};
    CHECK(waiting.falls_asleep());
    CHECK(during.parks() == 1);
    for (std::size_t which = one_of_each::count; which-- > 0;) {
      // None but the last signal wakes it.
      CHECK_FALSE(waiting.has_returned());
      CHECK(during.parks() == 1);
      those.signal(which, 1);
    }
    CHECK(waiting.status() == wait_status::reached);
    CHECK(those.hooked.added() == those.hooked.removed());
  }
}

TEST_CASE("[A65] a thread that waits for any of them is woken by each, or finds it at its next look") {
  for (std::size_t which = 0; which < one_of_each::count; ++which) {
    one_of_each those{which == 4 ? tidemark::deadline::duration{100us} : 24h};
    wait_any_result end{};
    {
      background waiting{[&] { end = tidemark::wait_any(those.list(1)); }};
      CHECK(waiting.falls_asleep());
      those.signal(which, 1);
    }
    CHECK(end == wait_any_result{wait_status::reached, which});
    CHECK(those.hooked.monitored_value() == tidemark::no_waiter);
  }
}

TEST_CASE("[A65] a loop that sleeps for a callable of each runs them, and a timeline without hooks in its interval") {
  one_of_each those{100us};
  loop_type loop;
  std::atomic<int> ran{0};
  const auto list = those.list(1);
  const auto count = [&] { ++ran; };
  const auto first = loop.on_reached(list[0], count);
  const auto second = loop.on_reached(those.attachment, 1, count);
  const auto third = loop.on_reached(those.serials, 1, count);
  const auto fourth = loop.on_reached(those.hooked, 1, count);
  const auto fifth = loop.on_reached(those.seldom, 1, count);
  background runs{[&] { static_cast<void>(loop.run()); }};
  CHECK(runs.falls_asleep());
  for (std::size_t which = 0; which < one_of_each::count; ++which) {
    those.signal(which, 1);
    await([&] { return ran == static_cast<int>(which) + 1; });
  }
  loop.stop();
}

TEST_CASE("[A65] a loop whose sleepers look seldom looks more often when a shorter interval is added") {
  user_timeline first;
  user_timeline second;
  const tidemark::looked_at seldom{first, 24h};
  const tidemark::looked_at often{second, 100us};
  loop_type loop;
  std::atomic<bool> ran{false};
  const auto waits = loop.on_reached(seldom, 1, [] {});
  background runs{[&] { static_cast<void>(loop.run()); }};
  background runs_too{[&] { static_cast<void>(loop.run()); }};
  CHECK(runs.falls_asleep());
  CHECK(runs_too.falls_asleep());
  const auto added = loop.on_reached(often, 1, [&] { ran = true; });
  second.signal(1);
  await([&] { return ran.load(); });
  loop.stop();
}

TEST_CASE("[A65] a loop whose sleepers look seldom again looks more often when the next short interval is added") {
  user_timeline first;
  user_timeline second;
  user_timeline third;
  const tidemark::looked_at seldom{first, 24h};
  const tidemark::looked_at often{second, 100us};
  const tidemark::looked_at often_again{third, 200us};
  loop_type loop;
  std::atomic<int> ran{0};
  const auto count = [&] { ++ran; };
  const auto waits = loop.on_reached(seldom, 1, [] {});
  background runs{[&] { static_cast<void>(loop.run()); }};
  background runs_too{[&] { static_cast<void>(loop.run()); }};
  CHECK(runs.falls_asleep());
  CHECK(runs_too.falls_asleep());
  platform::sleeps_until = tidemark::deadline{};
  const auto added = loop.on_reached(often, 1, count);
  second.signal(1);
  await([&] { return ran == 1; });
  // What is looked at often is over, so both sleep for a day.
  await([&] { return platform::sleeps_until.load() > std::chrono::steady_clock::now() + 1h; });
  CHECK(runs.falls_asleep());
  CHECK(runs_too.falls_asleep());
  const auto added_later = loop.on_reached(often_again, 1, count);
  third.signal(1);
  await([&] { return ran == 2; });
  loop.stop();
}

#if defined(__linux__)
TEST_CASE("[A65] the descriptor of a loop tells of each shorter interval that is added") {
  user_timeline first;
  user_timeline second;
  user_timeline third;
  const tidemark::looked_at seldom{first, 24h};
  const tidemark::looked_at often{second, 100us};
  const tidemark::looked_at often_again{third, 200us};
  loop_type loop;
  int ran = 0;
  const auto count = [&] { ++ran; };
  const int descriptor = loop.descriptor();
  REQUIRE(descriptor >= 0);
  const auto runs_until = [&](int times) {
    await([&] {
      if (is_readable(descriptor)) static_cast<void>(loop.poll());
      return ran == times;
    });
  };
  const auto waits = loop.on_reached(seldom, 1, [] {});
  static_cast<void>(loop.poll());
  CHECK_FALSE(is_readable(descriptor));
  const auto added = loop.on_reached(often, 1, count);
  second.signal(1);
  runs_until(1);
  // What is looked at often is over, and the descriptor tells of no look.
  CHECK_FALSE(is_readable(descriptor, 20));
  const auto added_later = loop.on_reached(often_again, 1, count);
  third.signal(1);
  runs_until(2);
}
#endif

TEST_CASE("[A65] a coroutine waits for all of them, and another one for any") {
  for (std::size_t last = 0; last < one_of_each::count; ++last) {
    one_of_each those{100us};
    loop_type loop;
    ends kept;
    const coroutine all = waits_for_all(loop, those, 1, kept);
    background runs{[&] { static_cast<void>(loop.run()); }};
    CHECK(runs.falls_asleep());
    for (std::size_t which = 0; which < one_of_each::count; ++which) {
      if (which != last) those.signal(which, 1);
    }
    CHECK_FALSE(all.is_done());
    those.signal(last, 1);
    runs.join();
    CHECK(kept.all == wait_status::reached);

    loop.restart();
    const coroutine any = waits_for_any(loop, those, 2, kept);
    background runs_again{[&] { static_cast<void>(loop.run()); }};
    CHECK(runs_again.falls_asleep());
    those.signal(last, 2);
    runs_again.join();
    CHECK(kept.any == wait_any_result{wait_status::reached, last});
    CHECK(those.hooked.added() == those.hooked.removed());
  }
}

TEST_CASE("[A65] [A120] a lost timeline with hooks ends callables and senders as lost") {
  one_of_each those{24h};
  loop_type loop;
  std::atomic<bool> is_lost{false};
  const auto call = loop.on_reached(those.hooked, 1, [&](wait_status how) { is_lost = how == wait_status::lost; });
  completion any;
  completion reached;
  auto waiting = tidemark::when_any_reached(loop, those.list(2)).connect(receiver<>{any});
  auto waiting_too = tidemark::when_reached(loop, those.serials, 1).connect(receiver<>{reached});
  waiting.start();
  waiting_too.start();
  {
    background runs{[&] {
      while (!is_lost || any.times == 0 || reached.times == 0) static_cast<void>(loop.run_one());
    }};
    CHECK(runs.falls_asleep());
    those.serials.signal(1);
    those.hooked.lose();
  }
  CHECK(any.is(wait_status::lost));
  CHECK(reached.is(wait_status::reached));
}

TEST_CASE("[A65] a queue of an engine waits for timelines of the program's and for a 32-bit fence") {
  one_of_each those{100us};
  engine on{{.threads = 1}};
  std::atomic<int> ran{0};
  queue waits{on};
  waits.wait(those.hooked, 1);
  waits.run([&] { ++ran; });
  waits.wait(those.seldom, 1);
  waits.run([&] { ++ran; });
  waits.wait(those.serials, 1);
  waits.run([&] { ++ran; });
  waits.wait(those.attachment, 1);
  waits.run([&] { ++ran; });
  REQUIRE(waits.submit());
  CHECK(ran == 0);
  int expected = 0;
  for (const std::size_t which : std::array<std::size_t, 4>{3, 4, 2, 1}) {
    those.signal(which, 1);
    ++expected;
    await([&] { return ran == expected; });
  }
  CHECK(waits.drain() == tidemark::wait_status::reached);
}

// ---- against a model ------------------------------------------------------------------------------------------------

namespace {

/// What a wait must find: the values, and which of them are lost.
struct model {
  std::array<std::uint64_t, one_of_each::count> values{};

  wait_any_result any(const std::array<std::uint64_t, one_of_each::count>& targets) const {
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (values[i] >= targets[i]) return {wait_status::reached, i};
    }
    return {wait_status::timeout, targets.size()};
  }
  wait_status all(const std::array<std::uint64_t, one_of_each::count>& targets) const {
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (values[i] < targets[i]) return wait_status::timeout;
    }
    return wait_status::reached;
  }
};

/// How many rounds; TIDEMARK_WAIT_ROUNDS says another number.
std::uint64_t rounds_to_play() {
  const char* const told = std::getenv("TIDEMARK_WAIT_ROUNDS");
  return told != nullptr ? std::strtoull(told, nullptr, 10) : 20'000;
}

}  // namespace

TEST_CASE("[A65] waits over all kinds end as a model says, while another thread signals") {
  one_of_each those{20us};
  loop_type loop;
  model expected;
  std::mt19937_64 random{14};
  std::atomic<std::uint64_t> round{0};
  std::array<std::uint64_t, one_of_each::count> next{};
  const std::uint64_t rounds = rounds_to_play();
  background signaller{[&] {
    for (std::uint64_t mine = 1; mine <= rounds; ++mine) {
      await([&] { return round >= mine; });
      for (std::size_t i = 0; i < next.size(); ++i) {
        const auto which = static_cast<std::size_t>((i + mine) % next.size());
        if (next[which] != 0) those.signal(which, next[which]);
      }
      round = UINT64_MAX;
      await([&] { return round != UINT64_MAX; });
    }
  }};
  for (std::uint64_t each = 1; each <= rounds; ++each) {
    // Some of them rise in this round, and the wait is for some of what comes.
    std::array<std::uint64_t, one_of_each::count> targets{};
    bool rises = false;
    for (std::size_t i = 0; i < next.size(); ++i) {
      next[i] = random() % 2 == 0 ? expected.values[i] + 1 + random() % 3 : 0;
      rises = rises || next[i] != 0;
      if (next[i] != 0) expected.values[i] = next[i];
      targets[i] = next[i] != 0 || random() % 8 != 0 ? expected.values[i] : expected.values[i] + 1 + random() % 3;
    }
    std::array<awaited, one_of_each::count> list{
        awaited{those.fence, targets[0]}, awaited{those.attachment, targets[1]}, awaited{those.serials, targets[2]},
        awaited{those.hooked, targets[3]}, awaited{those.seldom, targets[4]}};
    const bool all_will_come = expected.all(targets) == wait_status::reached;
    round = each;
    if (all_will_come && random() % 4 == 0) {
      ends kept;
      const auto wait = [&]() -> coroutine {
        kept.all = co_await loop.all_of(list);
        loop.stop();
      };
      const coroutine waiting = wait();
      static_cast<void>(loop.run());
      loop.restart();
      REQUIRE(kept.all == wait_status::reached);
    } else if (all_will_come) {
      REQUIRE(tidemark::wait_all(list) == wait_status::reached);
    } else if (expected.any(targets) == wait_status::reached) {
      const auto end = tidemark::wait_any(list);
      REQUIRE(end == wait_status::reached);
      REQUIRE(expected.values[end.index] >= targets[end.index]);
    }
    await([&] { return round == UINT64_MAX; });
    // Nothing changes now: the looks say exactly what the model says.
    REQUIRE(tidemark::wait_any_for(list, 0s) == expected.any(targets));
    REQUIRE(tidemark::wait_all_for(list, 0s) == expected.all(targets));
    round = 0;
  }
  signaller.join();
  CHECK(those.hooked.added() == those.hooked.removed());
  CHECK(those.hooked.monitored_value() == tidemark::no_waiter);
}
