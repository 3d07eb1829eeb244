// SPDX-License-Identifier: BSL-1.0
//
// What users of other libraries have reported of memory that processes share and of which one is killed, each in the
// shape of its report. All processes here are real, and are killed with SIGKILL.
#include <tidemark/fence/shared_fence.hpp>

#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include <tidemark/fence/fence.hpp>

#include "support/processes.hpp"
#include "support/random.hpp"
#include "support/repetitions.hpp"
#include "support/shared_memory.hpp"
#include "support/shared_stand.hpp"
#include "support/survives_kills.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace tidemark;
using namespace std::chrono_literals;

namespace {

/// So few slots that those of the dead are missed soon if they do not come back.
constexpr shared_options few{.waiter_slots = 4, .attachments = 8, .patience = 2min};

/// What processes tell each other beside the fence: a number each.
class notes {
 public:
  std::atomic<std::uint64_t>& operator[](std::size_t which) const {
    return static_cast<std::atomic<std::uint64_t>*>(memory_.here())[which];
  }

 private:
  shared_memory memory_{4096};
};

template <class Fence>
std::string labels_of(const Fence& fence) {
  std::string text;
  fence.for_each_attachment([&](const shared_attachment& each) { text += std::string{each.label.data()} + ' '; });
  return text;
}

}  // namespace

// boostorg/interprocess 109 and 200: one process notifies, and two wait with time limits. One of the two is killed, and
// now and then the next notify never returns. After a restart all three hang.
TEST_CASE("a waiter that crashes blocks no later notify, and is served again when it comes back") {
  if (!survives_kills<shared_fence>()) return;
  const watchdog dog{[] { return std::string{"a waiter crashes"}; }};
  const stand_name name{"crashing"};
  auto notifier = shared_fence::open_or_create(name, few);
  REQUIRE(notifier);
  const notes seen;
  const auto waits_again_and_again = [&](std::size_t which) {
    seen[which] = 0;
    return [&, which] {
      auto own = shared_fence_waiter::open(name, few);
      if (!own) return 1;
      for (;;) {
        static_cast<void>(own.fence.wait_for(own.fence.current_value() + 1, 200us));
        seen[which] = own.fence.current_value();
      }
    };
  };
  std::array<std::optional<child_process>, 2> waiters;
  for (std::size_t which = 0; which < 2; ++which) waiters[which].emplace(waits_again_and_again(which));
  std::uint64_t value = 0;
  const auto notify = [&] { CHECK(notifier.fence.signal(++value)); };
  notify();
  for (std::size_t round = 0; round < 40; ++round) {
    // Both are in the middle of their waits.
    await([&] { return seen[0] == value && seen[1] == value; });
    const std::size_t crashing = round % 2;
    waiters[crashing]->kill_now();
    for (int i = 0; i < 50; ++i) notify();
    await([&] { return seen[1 - crashing] == value; });
    waiters[crashing].emplace(waits_again_and_again(crashing));
  }
  await([&] { return seen[0] == value && seen[1] == value; });
}

TEST_CASE("waiters that crash asleep block no later notify, and leave room for others") {
  const watchdog dog{[] { return std::string{"waiters crash asleep"}; }};
  auto notifier = shared_fence::create(few);
  REQUIRE(notifier);
  std::uint64_t value = 0;
  const auto await_sleeper = [&] { await([&] { return notifier.fence.monitored_value() == value; }); };
  for (int round = 0; round < 10; ++round) {
    child_process sleeps{[&] {
      auto own = shared_fence_waiter::open(notifier.fence.files(), few);
      return own && own.fence.wait(value + 1) == wait_status::reached ? 0 : 1;
    }};
    await_sleeper();
    sleeps.kill_now();
    // The dead one is due.
    CHECK(notifier.fence.signal(++value));
  }
  // A waiter that has no slot never shows its target.
  child_process sleeps{[&] {
    auto own = shared_fence_waiter::open(notifier.fence.files(), few);
    return own && own.fence.wait(value + 1) == wait_status::reached ? 0 : 1;
  }};
  await_sleeper();
  CHECK(notifier.fence.signal(++value));
  CHECK(sleeps.wait() == 0);
}

// eclipse-iceoryx/iceoryx2 601: a publisher is killed, and its files stay. Started again under the same name, it
// crashes, whether somebody has deleted the files by hand or not.
TEST_CASE("a publisher that was killed starts again under its name, also if its files were deleted by hand") {
  const watchdog dog{[] { return std::string{"started again"}; }};
  for (const std::string_view deleted : {"", ".values", "/", "all"}) {
    INFO(deleted);
    const stand_name name{"publisher"};
    const notes told;
    const auto publishes = [&](std::uint64_t ready) {
      return [&, ready] {
        auto own = shared_progress_fence::open_or_create(name, few);
        const bool is_new = own && own.fence.current_value() == 0;
        if (is_new) own.fence.signal(1);
        told[0] = is_new ? ready : UINT64_MAX;
        return stay();
      };
    };
    {
      child_process first{publishes(1)};
      await([&] { return told[0] == 1; });
      first.kill_now();
    }
    REQUIRE(name.is_there());
    if (deleted == ".values" || deleted == "all") CHECK(::unlink((name.path() + ".values").c_str()) == 0);
    if (deleted == "/" || deleted == "all") CHECK(::unlink(name.path().c_str()) == 0);

    child_process second{publishes(2)};
    await([&] { return told[0] != 1; });
    REQUIRE(told[0] == 2);
    auto subscriber = shared_progress_fence_waiter::open(name, few);
    REQUIRE(subscriber);
    CHECK(subscriber.fence.wait(1) == wait_status::reached);
    second.kill_now();
    CHECK(subscriber.fence.wait(2) == wait_status::lost);
  }
}

// eclipse-iceoryx/iceoryx2 1584: a process is killed in the middle of making a service, and what it leaves says of what
// type the service is. Whoever wants another type is refused until somebody deletes the files.
TEST_CASE("what is left of a fence that was killed in the making refuses no other kind and no other size") {
  if (!survives_kills<shared_fence>()) return;
  const watchdog dog{[] { return std::string{"killed in the making"}; }};
  const stand_name name{"making"};
  const notes told;
  random_numbers random{fresh_seed()};
  repetitions rounds{300};
  while (rounds.goes_on()) {
    told[0] = 0;
    child_process makes{[&] {
      told[0] = 1;
      for (;;) {
        auto own = shared_fence::open_or_create(name, few);
        if (!own) return 1;
      }
    }};
    await([&] { return told[0] == 1; });
    for (std::uint64_t spins = random.below(3000U); spins != 0; --spins) static_cast<void>(told[0].load());
    makes.kill_now();
    // Nobody uses the name, whatever is left of it.
    CHECK(shared_progress_fence_waiter::open(name, few).status == shared_open_status::unknown);
    const shared_options larger{.waiter_slots = 9, .attachments = 5, .patience = 2min};
    auto other = shared_progress_fence::open_or_create(name, larger);
    CHECK(other);
    CHECK(other.field == shared_field::none);
    if (other) CHECK(other.fence.signal_next() == 1);
  }
}

// eclipse-iceoryx/iceoryx2 774: that a process has died is found out by the next one that starts, and by nobody before.
TEST_CASE("the death of a peer is noticed while nobody starts: asleep, by asking, and in the list") {
  const watchdog dog{[] { return std::string{"a peer dies"}; }};
  auto asks = shared_progress_fence_waiter::create({.label = "asks"});
  REQUIRE(asks);
  const shared_files& files = asks.fence.files();
  const notes told;
  child_process signals{[&] {
    auto own = shared_progress_fence::open(files, {.label = "signals"});
    if (!own) return 1;
    own.fence.signal(1);
    return stay();
  }};
  REQUIRE(asks.fence.wait(1) == wait_status::reached);
  child_process sleeps{[&] {
    auto own = shared_progress_fence_waiter::open(files, {.label = "sleeps"});
    if (!own) return 1;
    told[0] = 1;
    return own.fence.wait(2) == wait_status::lost ? 0 : 2;
  }};
  child_process works{[&] {
    auto own = shared_progress_fence_waiter::open(files, {.label = "works"});
    if (!own) return 1;
    told[1] = 1;
    return stay();
  }};
  await([&] { return told[0] == 1 && told[1] == 1 && asks.fence.monitored_value() == 1; });
  // Everybody has started. First one dies for whom nobody waits.
  works.kill_now();
  await([&] { return labels_of(asks.fence).find("works") == std::string::npos; });
  CHECK_FALSE(asks.fence.is_lost());
  signals.kill_now();
  CHECK(sleeps.wait() == 0);
  await([&] { return asks.fence.is_lost(); });
  CHECK(asks.fence.wait(2) == wait_status::lost);
  CHECK(asks.fence.signallers() == shared_signallers::died);
  CHECK(labels_of(asks.fence) == "asks ");
}

// krakjoe/apcu 632: a reader is killed while it reads, so every writer blocks for ever. Workers that block do not react
// to SIGTERM, so they are killed, too. Only an end of all processes helps.
TEST_CASE("readers that are killed while they read poison nothing: writers write, and new readers read") {
  if (!survives_kills<shared_fence>()) return;
  const watchdog dog{[] { return std::string{"readers are killed"}; }};
  auto writer = shared_fence::create(few);
  REQUIRE(writer);
  const shared_files& files = writer.fence.files();
  const notes looks;
  const auto reads = [&](auto opened, std::size_t which) {
    if (!opened) return 1;
    for (;;) {
      const std::uint64_t value = opened.fence.current_value();
      static_cast<void>(opened.fence.is_lost());
      static_cast<void>(opened.fence.wait_for(value + 1, 100us));
      if (labels_of(opened.fence).empty()) return 2;
      ++looks[which];
    }
  };
  std::uint64_t value = 0;
  for (int round = 0; round < 20; ++round) {
    for (std::size_t which = 0; which < 4; ++which) looks[which] = 0;
    std::array<std::optional<child_process>, 4> workers;
    for (std::size_t which = 0; which < 4; ++which) {
      workers[which].emplace([&, which] {
        if (which % 2 == 0) return reads(shared_fence_reader::open(files, few), which);
        return reads(shared_fence_waiter::open(files, few), which);
      });
    }
    await([&] { return looks[0] > 2 && looks[1] > 2 && looks[2] > 2 && looks[3] > 2; });
    for (auto& each : workers) each->kill_now();
    for (int i = 0; i < 20; ++i) CHECK(writer.fence.signal(++value));
    // A new reader gets a place, and a slot, without which it would not show its target. So those of the dead are back.
    auto opened = shared_fence_waiter::open(files, few);
    REQUIRE(opened);
    const std::uint64_t next = ++value;
    std::thread reader{[&] { CHECK(opened.fence.wait(next) == wait_status::reached); }};
    await([&] { return writer.fence.monitored_value() == next - 1; });
    CHECK(writer.fence.signal(next));
    reader.join();
  }
  await([&] {
    writer.fence.look();
    return labels_of(writer.fence) == " ";
  });
  CHECK(writer.fence.monitored_value() == no_waiter);
}

TEST_CASE("a worker that sleeps is ended by SIGTERM") {
  const watchdog dog{[] { return std::string{"SIGTERM"}; }};
  auto writer = shared_fence::create(few);
  REQUIRE(writer);
  child_process sleeps{[&] {
    std::signal(SIGTERM, SIG_DFL);
    auto own = shared_fence_waiter::open(writer.fence.files(), few);
    return own && own.fence.wait(1) == wait_status::reached ? 0 : 1;
  }};
  await([&] { return writer.fence.monitored_value() == 0; });
  ::kill(sleeps.number(), SIGTERM);
  CHECK(sleeps.wait() == 128 + SIGTERM);
  CHECK(writer.fence.signal(1));
}
