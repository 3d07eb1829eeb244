// SPDX-License-Identifier: BSL-1.0
//
// Fences of several domains: who may be made, who is told of a signal, and by which list each waiter is released.
#include "support/misuse_hook.hpp"

#include <tidemark/engine/domain.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <version>

#include "support/loop_kinds.hpp"
#include "support/owned_loop.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#if defined(__cpp_lib_jthread)
#include <stop_token>
#endif

using namespace testing;
using namespace std::chrono_literals;
using tidemark::cross_fence_status;
using tidemark::domain_doorbell;
using tidemark::domain_kind;
using tidemark::fence_type;
using tidemark::value_memory;
using tidemark::wait_status;

namespace {

using platform = counting_platform<tidemark::native_platform>;
using engine = tidemark::basic_engine<platform>;
using queue = tidemark::basic_engine_queue<platform, tidemark::no_log_clock>;
using legacy_queue = tidemark::basic_legacy_queue<platform, tidemark::no_log_clock>;
using cross_fence = tidemark::basic_cross_fence<platform>;
using domain = tidemark::basic_domain<platform>;
using attachment = tidemark::basic_attachment<platform>;

/// A domain with one engine, whose loop the test runs.
struct side {
  explicit side(domain_kind kind = domain_kind::native, domain_doorbell doorbell = domain_doorbell::names_fence)
      : in{on.loop(), {.kind = kind, .doorbell = doorbell}} {}
  void step() {
    while (on.loop().poll() != 0) {
    }
  }

  engine on{{.threads = 0}};
  domain in;
};

/// The same, with a thread that runs the loop.
struct running_side : side {
  using side::side;
  ~running_side() { owned_loop(on).stop(); }
  background runs{[this] { static_cast<void>(on.loop().run()); }};
};

template <class Queue>
void submit(Queue& filled) {
  REQUIRE(filled.submit());
}

/// One of the tables' columns for waits with one for signals.
struct combination {
  const char* scenario;
  domain_kind waits_in;
  domain_kind signals_in;
  bool queue_waits;
  bool queue_signals;
  domain_kind waiting_queue = domain_kind::native;
};

/// The list by which a waiter is released.
struct lists {
  std::uint64_t native;
  std::uint64_t queues;
  std::uint64_t threads;
};
lists list_of(const combination& one) {
  const bool is_held =
      one.waits_in == domain_kind::legacy || (one.queue_waits && one.waiting_queue == domain_kind::legacy);
  if (!is_held) return {1, 0, 0};
  return one.queue_waits ? lists{0, 1, 0} : lists{0, 0, 1};
}

void check_counts(const combination& one, const cross_fence& both, const attachment& waits, const attachment& signals) {
  CHECK(both.counts().stores == 1);
  CHECK(both.counts().notifications == 1);
  CHECK(waits.counts().told == 1);
  CHECK(signals.counts().told == 0);
  CHECK(signals.counts().scans == 0);
  const lists expected = list_of(one);
  CHECK(waits.counts().native_waiters == expected.native);
  CHECK(waits.counts().held_queues == expected.queues);
  CHECK(waits.counts().held_threads == expected.threads);
  CHECK(waits.current_value() == 10);
  CHECK(waits.monitored_value() == 0);
}

/// \tparam Waiting     the kind of queue that waits, if one does
/// \tparam Signalling  the kind of queue that signals, if one does
template <class Waiting, class Signalling>
void try_with(const combination& one) {
  running_side near{one.waits_in};
  running_side far{one.signals_in};
  cross_fence both;
  attachment waits{both, near.in};
  attachment signals{both, far.in};
  std::atomic<bool> has_begun{false};
  std::atomic<bool> has_run{false};
  {
    Waiting waiting{near.on};
    Signalling signalling{far.on};
    std::optional<waiter> thread;
    if (one.queue_waits) {
      waiting.run([&has_begun] { has_begun = true; });
      waiting.wait(waits, 10);
      waiting.run([&has_run] { has_run = true; });
      submit(waiting);
      await([&has_begun] { return has_begun.load(); });
      REQUIRE(near.runs.falls_asleep());
      CHECK_FALSE(has_run);
    } else {
      thread.emplace([&] { return waits.wait(10); });
      REQUIRE(thread->falls_asleep());
    }
    CHECK(both.counts().stores == 0);
    CHECK(waits.monitored_value() == 0);

    if (one.queue_signals) {
      signalling.signal(signals, 10);
      submit(signalling);
      CHECK(signalling.drain() == wait_status::reached);
    } else {
      CHECK(signals.signal(10));
    }
    if (one.queue_waits) {
      CHECK(waiting.drain() == wait_status::reached);
      CHECK(has_run);
    } else {
      CHECK(thread->status() == wait_status::reached);
    }
  }
  await([&] { return waits.counts().scans == 1; });
  check_counts(one, both, waits, signals);
}

void try_combination(const combination& one) {
  const bool waits_held = one.waits_in == domain_kind::legacy || one.waiting_queue == domain_kind::legacy;
  if (one.signals_in == domain_kind::legacy) {
    return waits_held ? try_with<legacy_queue, legacy_queue>(one) : try_with<queue, legacy_queue>(one);
  }
  return waits_held ? try_with<legacy_queue, queue>(one) : try_with<queue, queue>(one);
}

constexpr auto native = domain_kind::native;
constexpr auto legacy = domain_kind::legacy;

}  // namespace

TEST_CASE("each way to wait works with each way to signal in another domain [A66] [A71] [A74] [A75] [A77] [trap 22]") {
  constexpr std::array<combination, 12> all{{
      {"1", native, native, true, true},
      {"1", native, native, true, false},
      {"1", native, native, false, true},
      {"1", native, native, false, false},
      {"2a", legacy, native, true, true},
      {"2a", legacy, native, true, false},
      {"2a", legacy, native, false, true},
      {"2a", legacy, native, false, false},
      {"2b", native, legacy, true, true},
      {"2b", native, legacy, true, false},
      {"2b", native, legacy, false, true},
      {"2b", native, legacy, false, false},
  }};
  for (const combination& one : all) {
    CAPTURE(one.scenario);
    CAPTURE(one.queue_waits);
    CAPTURE(one.queue_signals);
    try_combination(one);
  }
}

TEST_CASE("a queue of the older kind is held in a native domain, and its threads are not [A76]") {
  for (const bool queue_signals : {true, false}) {
    try_combination({"2a", native, native, true, queue_signals, legacy});
    try_combination({"2b", native, legacy, true, queue_signals, legacy});
  }
  try_combination({"1", native, native, false, true, legacy});
}

TEST_CASE("the work behind a held wait has not started until the domain is told of the signal [A5]") {
  side near{legacy};
  side far;
  cross_fence both;
  attachment waits{both, near.in};
  attachment signals{both, far.in};
  legacy_queue held{near.on};
  int ran = 0;
  held.run([&] { ++ran; });
  held.wait(waits, 3);
  held.run([&] { ran += 10; });
  submit(held);
  near.step();
  CHECK(ran == 1);

  // The value is there, but nobody has told.
  REQUIRE(signals.publish(3));
  CHECK(waits.current_value() == 3);
  near.step();
  CHECK(ran == 1);
  CHECK(waits.counts().held_queues == 0);

  static_cast<void>(signals.release_due());
  CHECK(ran == 1);
  near.step();
  CHECK(ran == 11);
  CHECK(waits.counts().held_queues == 1);
}

TEST_CASE("a held wait whose value is there is not held") {
  side near{legacy};
  cross_fence both{5};
  attachment waits{both, near.in};
  legacy_queue held{near.on};
  bool has_run = false;
  held.wait(waits, 5);
  held.run([&] { has_run = true; });
  submit(held);
  near.step();
  CHECK(has_run);
  CHECK(waits.counts().held_queues == 0);
  CHECK(waits.wait(5) == wait_status::reached);
}

TEST_CASE("a signal releases held queues and threads of its own domain") {
  side near{legacy};
  cross_fence both;
  attachment waits{both, near.in};
  legacy_queue first{near.on};
  legacy_queue second{near.on};
  int ran = 0;
  first.wait(waits, 1);
  first.run([&] { ran += 1; });
  first.signal(waits, 2);
  submit(first);
  second.wait(waits, 2);
  second.run([&] { ran += 10; });
  submit(second);
  near.step();
  CHECK(ran == 0);
  CHECK(waits.signal(1));
  CHECK_FALSE(waits.signal(1));
  near.step();
  CHECK(ran == 11);
  CHECK(waits.counts().held_queues == 2);
  CHECK(waits.counts().told == 0);
  CHECK(both.counts().stores == 2);
}

TEST_CASE("[A129] each domain has a monitored value of its own, which lies where the domain says") {
  struct memory {
    alignas(tidemark::polled_alignment) std::array<std::byte, 4096> bytes;
    std::size_t used = 0;
  };
  static std::array<memory, 2> nodes;
  static std::size_t freed;
  const tidemark::memory_placement by_node{
      .allocate = [](void* all, std::size_t bytes, std::size_t alignment, std::uint64_t hint) noexcept -> void* {
        if (hint > 1) return nullptr;
        memory& of = (*static_cast<std::array<memory, 2>*>(all))[static_cast<std::size_t>(hint)];
        of.used = bytes;
        return reinterpret_cast<std::uintptr_t>(of.bytes.data()) % alignment == 0 ? of.bytes.data() : nullptr;
      },
      .deallocate = [](void*, void*, std::size_t, std::size_t) noexcept { ++freed; },
      .context = &nodes};
  freed = 0;
  const auto lies_in = [](const void* address, std::size_t node) {
    const auto* const first = nodes[node].bytes.data();
    const auto* const at = static_cast<const std::byte*>(address);
    return !std::less<>{}(at, first) && std::less<>{}(at, first + nodes[node].used);
  };
  {
    tidemark::basic_wait_loop<platform> loop;
    domain near{loop};
    domain far{loop, {.memory_hint = 1}};
    domain nowhere{loop, {.memory_hint = 2}};
    auto made = cross_fence::make({.monitored = by_node});
    attachment here{*made.fence, near};
    attachment there{*made.fence, far};
    attachment inside{*made.fence, nowhere};
    CHECK(lies_in(here.monitored_address(), 0));
    CHECK(lies_in(there.monitored_address(), 1));
    CHECK(!lies_in(inside.monitored_address(), 0));
    CHECK(!lies_in(inside.monitored_address(), 1));
    CHECK(here.signal(3));
    CHECK(here.wait(3) == wait_status::reached);
    CHECK(there.current_value() == 3);
    CHECK(inside.is_reached(3));
  }
  CHECK(freed == 2);
}

TEST_CASE("a fence of several domains must be of the ordinary kind, in system memory [A24] [A67]") {
  auto ordinary = cross_fence::make({.initial = 7});
  REQUIRE(ordinary);
  CHECK(ordinary.status == cross_fence_status::valid);
  side near;
  {
    const attachment in{*ordinary.fence, near.in};
    CHECK(in.current_value() == 7);
  }

  const auto local = cross_fence::make({.type = fence_type::local_only});
  CHECK_FALSE(local);
  CHECK(local.status == cross_fence_status::invalid);
  CHECK_FALSE(local.fence.has_value());
  const auto in_device = cross_fence::make({.memory = value_memory::device});
  CHECK(in_device.status == cross_fence_status::invalid);
  const auto neither = cross_fence::make({.type = fence_type::local_only, .memory = value_memory::device});
  CHECK(neither.status == cross_fence_status::invalid);
}

TEST_CASE("all domains share one value, and have monitored words of their own, which stay 0 [A68] [A69] [A70]") {
  side near;
  side far;
  cross_fence both{3};
  attachment here{both, near.in};
  attachment there{both, far.in};
  CHECK(here.monitored_value() == 0);
  CHECK(there.monitored_value() == 0);
  waiter thread{[&] { return here.wait(4); }};
  REQUIRE(thread.falls_asleep());
  CHECK(here.monitored_value() == 0);
  CHECK(there.monitored_value() == 0);

  // The waiter stands in its own domain: a pass over the other one does not find it.
  REQUIRE(there.publish(4));
  CHECK(here.current_value() == 4);
  CHECK(there.release_due() == 0);
  CHECK_FALSE(thread.has_returned());
  near.step();
  CHECK(thread.status() == wait_status::reached);
  CHECK(here.counts().native_waiters == 1);
  CHECK(here.monitored_value() == 0);
}

TEST_CASE("a notification that comes late stores nothing, so the value never goes back [A71] [trap 22]") {
  side near;
  side far;
  cross_fence both;
  attachment here{both, near.in};
  attachment there{both, far.in};
  CHECK(there.signal(5));
  CHECK(here.signal(7));
  near.step();
  far.step();
  CHECK(here.current_value() == 7);
  CHECK(there.current_value() == 7);
  CHECK(both.counts().stores == 2);
  CHECK_FALSE(there.signal(6));
  CHECK(both.counts().stores == 2);
  CHECK(both.counts().notifications == 2);
}

TEST_CASE("a wait and a signal in one native domain need no notification [A72]") {
  side near;
  side far;
  cross_fence both;
  attachment here{both, near.in};
  const attachment there{both, far.in};
  queue first{near.on};
  queue second{near.on};
  bool has_run = false;
  second.wait(here, 1);
  second.run([&] { has_run = true; });
  submit(second);
  near.step();
  first.signal(here, 1);
  submit(first);
  near.step();
  CHECK(has_run);
  CHECK(here.counts().told == 0);
  CHECK(here.counts().scans == 0);
  CHECK(here.counts().native_waiters == 0);  // the engine has looked by itself
}

TEST_CASE("each signal notifies, although nobody waits; the loop looks once [A73]") {
  for (const domain_kind kind : {native, legacy}) {
    side near{kind};
    side far;
    cross_fence both;
    const attachment here{both, near.in};
    attachment there{both, far.in};
    for (std::uint64_t value = 1; value <= 1000; ++value) CHECK(there.signal(value));
    CHECK(both.counts().notifications == 1000);
    CHECK(here.counts().told == 1000);
    near.step();
    CHECK(here.counts().scans == 1);
  }
}

TEST_CASE("a domain opens a fence as its own kind, whichever was first [A74] [A75]") {
  for (const bool legacy_first : {true, false}) {
    side old{legacy};
    side young;
    cross_fence both;
    std::optional<attachment> in_old;
    if (legacy_first) in_old.emplace(both, old.in);
    attachment in_young{both, young.in};
    if (!legacy_first) in_old.emplace(both, old.in);
    CHECK(in_old->kind() == legacy);
    CHECK(in_young.kind() == native);
    waiter waits_in_old{[&] { return in_old->wait(1); }};
    REQUIRE(waits_in_old.falls_asleep());
    CHECK(in_young.signal(1));
    old.step();
    CHECK(waits_in_old.status() == wait_status::reached);
    CHECK(in_old->counts().held_threads == 1);
    waiter waits_in_young{[&] { return in_young.wait(2); }};
    REQUIRE(waits_in_young.falls_asleep());
    CHECK(in_old->signal(2));
    young.step();
    CHECK(waits_in_young.status() == wait_status::reached);
    CHECK(in_young.counts().native_waiters == 1);
    CHECK(in_young.counts().held_threads == 0);
  }
}

TEST_CASE("a doorbell that names the fence leads to a scan of that fence alone [A78]") {
  for (const domain_doorbell doorbell : {domain_doorbell::names_fence, domain_doorbell::plain}) {
    side near{native, doorbell};
    side far;
    cross_fence fences[3];
    std::optional<attachment> here[3];
    std::optional<attachment> there[3];
    for (int i = 0; i < 3; ++i) {
      here[i].emplace(fences[i], near.in);
      there[i].emplace(fences[i], far.in);
    }
    waiter thread{[&] { return here[1]->wait(1); }};
    REQUIRE(thread.falls_asleep());
    CHECK(there[1]->signal(1));
    near.step();
    CHECK(thread.status() == wait_status::reached);
    const std::uint64_t others = doorbell == domain_doorbell::plain ? 1 : 0;
    CHECK(here[0]->counts().scans == others);
    CHECK(here[1]->counts().scans == 1);
    CHECK(here[2]->counts().scans == others);
    CHECK(here[0]->counts().told == 0);
  }
}

TEST_CASE("a thread's wait in a legacy domain ends at its deadline and by a loss") {
  side near{legacy};
  cross_fence both;
  attachment in{both, near.in};
  CHECK(in.wait(0) == wait_status::reached);
  CHECK(in.wait_for(1, 0ms) == wait_status::timeout);
  CHECK(in.wait_for(1, 1ms) == wait_status::timeout);
  waiter lost{[&] { return in.wait(1); }};
  REQUIRE(lost.falls_asleep());
  in.poison();
  CHECK(lost.status() == wait_status::lost);
  CHECK(in.wait(1) == wait_status::lost);
}

#if defined(__cpp_lib_jthread)
TEST_CASE("a thread's wait in a legacy domain ends by its token") {
  side near{legacy};
  cross_fence both;
  attachment in{both, near.in};
  std::stop_source source;
  waiter stopped{[&] { return in.wait(1, source.get_token()); }};
  REQUIRE(stopped.falls_asleep());
  source.request_stop();
  CHECK(stopped.status() == wait_status::stopped);
  CHECK(in.wait(1, source.get_token()) == wait_status::stopped);
}
#endif

TEST_CASE("a timeline that is lost in one domain is lost in all, also in those that attach later [A120]") {
  side near{legacy};
  side far;
  side late;
  cross_fence both;
  attachment here{both, near.in};
  attachment there{both, far.in};
  legacy_queue held{near.on};
  held.wait(here, 1);
  submit(held);
  near.step();
  waiter thread{[&] { return here.wait(1); }};
  REQUIRE(thread.falls_asleep());
  there.poison();
  CHECK(there.is_poisoned());
  CHECK_FALSE(here.is_poisoned());
  near.step();
  CHECK(here.is_poisoned());
  CHECK(thread.status() == wait_status::lost);
  CHECK(held.drain() == wait_status::lost);
  const attachment added{both, late.in};
  CHECK(added.is_poisoned());
  CHECK(both.counts().stores == 0);
  CHECK(both.counts().notifications == 0);
}

TEST_CASE("[A128] the first reason of a loss is the same in all domains, with the value that was reached") {
  static constexpr tidemark::loss_reason removed{7, "the device was removed"};
  static constexpr tidemark::loss_reason reset{8, "the driver was reset"};
  side near{legacy};
  side far;
  side late;
  cross_fence both{3};
  attachment here{both, near.in};
  attachment there{both, far.in};
  CHECK(here.loss() == nullptr);
  there.poison(removed);
  here.poison(reset);  // before this domain has learnt of the other one's loss
  CHECK(*there.loss() == removed);
  CHECK(*here.loss() == removed);
  near.step();
  far.step();
  CHECK(*here.loss() == removed);
  const attachment added{both, late.in};
  CHECK(*added.loss() == removed);
  CHECK(added.current_value() == UINT64_MAX);
  CHECK(added.last_reached() == 3);
  CHECK(added.wait_value(4) == tidemark::wait_value_result{wait_status::lost, 3});
}

TEST_CASE("a held queue can be paused, aborted and destroyed") {
  side near{legacy};
  cross_fence both;
  attachment in{both, near.in};
  legacy_queue paused{near.on};
  legacy_queue aborted{near.on};
  auto destroyed = std::make_unique<legacy_queue>(near.on);
  int ran = 0;
  for (legacy_queue* each : {&paused, &aborted, destroyed.get()}) {
    each->wait(in, 1);
    each->run([&] { ++ran; });
    submit(*each);
  }
  near.step();
  paused.pause();
  paused.resume();
  paused.pause();
  aborted.abort();
  destroyed.reset();
  near.step();
  CHECK(in.signal(1));
  CHECK(in.counts().held_queues == 1);
  near.step();
  CHECK(ran == 0);
  paused.resume();
  near.step();
  CHECK(ran == 1);
  CHECK(aborted.drain() == wait_status::lost);
}

TEST_CASE("[A124] a fence of a domain may go once drain() has said that the queue is lost which it held") {
  side near{legacy};
  cross_fence both;
  std::optional<attachment> in(std::in_place, both, near.in);
  legacy_queue held{near.on};
  held.wait(*in, 1);
  held.wait(*in, 2);
  submit(held);
  near.step();
  SUBCASE("it was aborted") { held.abort(); }
  SUBCASE("it was aborted, and the domain had let it go") {
    CHECK(in->signal(1));
    held.abort();
  }
  SUBCASE("its engine was aborted while it was paused") {
    held.pause();
    near.on.abort();
  }
  SUBCASE("its timeline was lost") {
    in->poison();
    near.step();
  }
  CHECK(held.drain() == wait_status::lost);
  in.reset();  // asserts that nothing knows it any more
  CHECK(near.on.why_waiting().waits.empty());
  near.step();
  CHECK(held.submit().status == tidemark::doorbell_status::aborted);
}

TEST_CASE("a report names the waits that are held, with the value of the fence") {
  side near{legacy};
  cross_fence both{4};
  attachment in{both, near.in};
  legacy_queue held{near.on, {.name = "held"}};
  held.wait(in, 6);
  submit(held);
  near.step();
  const auto report = near.on.why_waiting();
  REQUIRE(report.waits.size() == 1);
  CHECK(report.waits[0].value == 6);
  CHECK(report.waits[0].current_value == 4);
  CHECK(in.signal(6));
  near.step();
}

TEST_CASE("a circle across domains is found: attachments of one fence are one fence") {
  for (const domain_kind kind : {native, legacy}) {
    side near;
    side far{kind};
    cross_fence there;
    cross_fence back;
    attachment there_near{there, near.in};
    attachment there_far{there, far.in};
    attachment back_near{back, near.in};
    attachment back_far{back, far.in};
    queue here{near.on};
    legacy_queue yonder{far.on};
    here.wait(back_near, 1);
    here.signal(there_near, 1);
    submit(here);
    yonder.wait(there_far, 1);
    yonder.signal(back_far, 1);
    submit(yonder);
    near.step();
    far.step();
    const auto report = tidemark::why_waiting(near.on, far.on);
    REQUIRE(report.waits.size() == 2);
    CHECK(report.waits[0].held_by == report.waits[1].queue);
    CHECK(report.cycles.size() == 1);
    CHECK(here.progress().fence->current_value() == 0);
    // As seen from one of the domains, the other one may break it.
    CHECK(near.on.why_waiting().cycles.empty());
    CHECK(back_far.signal(1));
    near.step();
    far.step();
    CHECK(yonder.is_idle());
  }
}

TEST_CASE("reports are made while queues that are held come and go") {
  running_side near{legacy};
  running_side far;
  cross_fence both;
  attachment in{both, near.in};
  std::atomic<bool> is_over{false};
  background reports{[&] {
    while (!is_over) CHECK(tidemark::why_waiting(near.on, far.on).cycles.empty());
  }};
  const watchdog dog([&] { return state_of(in); });
  for (int round = 0; round < 2000; ++round) {
    legacy_queue held{round % 2 == 0 ? near.on : far.on};
    held.wait(in, 1);
    submit(held);
    if (round % 3 == 0) std::this_thread::yield();
  }
  is_over = true;
  CHECK(in.counts().held_queues == 0);
}

TEST_CASE("domains come and go while others signal") {
  running_side near;
  cross_fence both;
  attachment here{both, near.in};
  std::atomic<bool> is_over{false};
  background signals{[&] {
    for (std::uint64_t value = 1; !is_over; ++value) static_cast<void>(here.signal(value));
  }};
  for (int round = 0; round < 200; ++round) {
    running_side far{round % 2 == 0 ? native : legacy,
                     round % 3 == 0 ? domain_doorbell::plain : domain_doorbell::names_fence};
    const attachment there{both, far.in};
    CHECK(there.wait(there.current_value() + 3) == wait_status::reached);
  }
  is_over = true;
}

TEST_CASE("a fence or a domain that is destroyed before its attachments is noticed") {
  CHECK(reported_by([] {
          side near;
          std::optional<cross_fence> both(std::in_place);
          attachment in(*both, near.in);
          both.reset();
        }) == "a cross_fence was destroyed before its attachments");
  CHECK(reported_by([] {
          engine on{{.threads = 0}};
          cross_fence both;
          std::optional<domain> of(std::in_place, on.loop());
          attachment in(both, *of);
          of.reset();
        }) == "a domain was destroyed before its attachments");
}
