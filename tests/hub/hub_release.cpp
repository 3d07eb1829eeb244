// SPDX-License-Identifier: BSL-1.0
//
// hub: fences that come and go. This program's TIDEMARK_ASSERT is empty, as in a release build, so that old ids get
// as far as they can. That a debug build reports them is tested in queue_misuse.cpp.
#define TIDEMARK_ASSERT(condition, text) static_cast<void>(0)

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <tidemark/hub/hub.hpp>

#include "support/hubs.hpp"
#include "support/random.hpp"
#include "support/repetitions.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::fence_update;
using tidemark::wait_status;

// ---- old ids --------------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[A57][trap 24] an id of a fence that was removed notifies nobody and is counted", Service,
                   EVERY_SERVICE) {
  counted_hub<Service> hub;
  auto gone = std::make_unique<any_fence>();
  const auto id = hub.add(*gone).fence.id;
  hub.remove(id);
  gone.reset();
  hub.notify(id);
  hub.notify(fence_id{0});
  hub.catch_up();
  CHECK(hub.count(hub_event::stale) == 2);
  CHECK(hub.count(hub_event::pass) == 0);
  CHECK(hub.count(hub_event::value_read) == 0);
}

TEST_CASE_TEMPLATE("[A57] the known fences of a set are served beside one that was removed", Service, EVERY_SERVICE) {
  counted_hub<Service> hub;
  auto gone = std::make_unique<any_fence>();
  probe first;
  probe last;
  const std::array ids{hub.add(first).fence.id, hub.add(*gone).fence.id, hub.add(last).fence.id};
  hub.remove(ids[1]);
  gone.reset();
  hub.notify(ids);
  hub.catch_up();
  CHECK(first.released == 1);
  CHECK(last.released == 1);
  CHECK(hub.count(hub_event::stale) == 1);
  CHECK(hub.count(hub_event::value_read) == 2);
}

TEST_CASE_TEMPLATE("[A57] a fence that takes the place of another one has another id, and the old id does not reach it",
                   Service, EVERY_SERVICE) {
  counted_hub<Service, 1> hub;
  std::set<fence_id> all;
  std::optional<fence_id> before;
  for (unsigned n = 0; n < 1000; ++n) {
    probe heir;
    const auto added = hub.add(heir);
    REQUIRE(added);
    const fence_id id = added.fence.id;
    CHECK(all.insert(id).second);
    if (before) hub.notify(*before);
    hub.catch_up();
    CHECK(heir.released == 0);
    hub.notify(id);
    hub.catch_up();
    CHECK(heir.released == 1);
    hub.remove(id);
    before = id;
  }
  CHECK(hub.count(hub_event::stale) == 999);
}

TEST_CASE_TEMPLATE("[A57][A64] a batch counts the ids of removed fences, and signals the other fences", Service,
                   EVERY_SERVICE) {
  counted_hub<Service> hub;
  auto gone = std::make_unique<any_fence>();
  probe first;
  probe last;
  const auto old_id = hub.add(*gone).fence.id;
  const std::array updates{fence_update{hub.add(first).fence.id, 3}, fence_update{old_id, 3},
                           fence_update{hub.add(last).fence.id, 4}};
  hub.remove(old_id);
  gone.reset();
  hub.signal_batch(updates);
  hub.catch_up();
  CHECK(first.published == 3);
  CHECK(last.published == 4);
  CHECK(first.released + last.released == 2);
  CHECK(hub.count(hub_event::stale) == 1);
}

TEST_CASE_TEMPLATE("[A57] removing what is not there is counted and does nothing", Service, EVERY_SERVICE) {
  counted_hub<Service, 2> hub;
  probe first;
  const auto id = hub.add(first).fence.id;
  hub.remove(fence_id{0});
  hub.remove(id);
  hub.remove(id);
  CHECK(hub.count(hub_event::stale) == 2);
  probe heir;
  const auto after = hub.add(heir).fence.id;
  hub.remove(id);
  CHECK(hub.count(hub_event::stale) == 3);
  hub.notify(after);
  hub.catch_up();
  CHECK(heir.released == 1);
}

TEST_CASE_TEMPLATE("[A57] a pass that finds the mark of a removed fence does not read its value", Service,
                   EVERY_SERVED) {
  counted_hub<Service> hub;
  auto gone = std::make_unique<any_fence>();
  const auto id = hub.add(*gone).fence.id;
  hub.notify(id);
  hub.remove(id);
  gone.reset();
  hub.catch_up();
  CHECK(hub.count(hub_event::pass) == 1);
  CHECK(hub.count(hub_event::value_read) == 0);
}

// ---- removal and passes ---------------------------------------------------------------------------------------------

namespace {

/// A fence in whose release a pass waits until the test lets it go on.
struct gate : probe {
  std::size_t release_due_after_barrier() noexcept {
    is_inside = true;
    await([this] { return open.load(); });
    is_inside = false;
    return 0;
  }
  using probe::release_due_after_barrier;

  std::atomic<bool> is_inside{false};
  std::atomic<bool> open{false};
};

}  // namespace

TEST_CASE_TEMPLATE("[A57][trap 24] remove() sleeps until a pass that may touch the fence has ended", Service,
                   EVERY_SERVICE) {
  counted_hub<Service> hub;
  gate busy;
  const watchdog dog{[&] { return state_of_hub(hub); }};
  const auto id = hub.add(busy).fence.id;
  const server<counted_hub<Service>, Service> serving{hub};
  background notifier{[&] { hub.notify(id); }};
  await([&] { return busy.is_inside.load(); });
  std::atomic<bool> was_inside{true};
  background remover{[&] {
    hub.remove(id);
    was_inside = busy.is_inside.load();
  }};
  CHECK(remover.falls_asleep());
  busy.open = true;
  remover.join();
  CHECK_FALSE(was_inside);
}

TEST_CASE_TEMPLATE("[A57] remove() does not sleep while no pass runs", Service, EVERY_SERVICE) {
  counted_hub<Service> hub;
  probe first;
  const auto id = hub.add(first).fence.id;
  const meter<stepping_platform> during;
  hub.remove(id);
  CHECK(during.parks() == 0);
}

namespace {

/// A fence that knows whether it is in a hub.
struct resident {
  using platform = tidemark::native_platform;
  bool publish(std::uint64_t) noexcept { return true; }
  bool is_due(std::uint64_t) const noexcept { return true; }
  std::size_t release_due_after_barrier() noexcept { return visit(); }
  std::size_t release_due_after_barrier(std::uint64_t) noexcept { return visit(); }

  std::size_t visit() noexcept {
    if (!is_in) ++mistakes;
    ++visits;
    if (!is_in) ++mistakes;
    return 0;
  }

  std::atomic<bool> is_in{false};
  std::atomic<std::uint64_t> visits{0};
  std::atomic<std::uint64_t> mistakes{0};
};

template <class Service>
using plain_hub = tidemark::basic_hub<tidemark::native_platform, Service, 8, 4>;

/// Threads that make notifications of all kinds as long as this object lives, with ids that are in use and with old
/// ones.
template <class Hub>
class pesterers {
 public:
  pesterers(Hub& hub, std::uint64_t seed) : hub_{hub} {
    for (std::uint64_t stream = 1; stream <= 2; ++stream) {
      threads_.emplace_back([this, seed, stream] {
        random_numbers random{seed, stream};
        while (!stops_) {
          const std::array some{ids[random.below(ids.size())].load(), ids[random.below(ids.size())].load()};
          switch (random.below(4)) {
            case 0:
              hub_.notify(some[0]);
              break;
            case 1:
              hub_.notify(some);
              break;
            case 2:
              hub_.notify_all(random.below(2) == 0);
              break;
            default:
              hub_.notify_engine(tidemark::engine_id{0});
          }
          if (random.below(4) == 0) std::this_thread::yield();
        }
      });
    }
  }
  pesterers(const pesterers&) = delete;
  pesterers& operator=(const pesterers&) = delete;
  ~pesterers() {
    stops_ = true;
    for (auto& thread : threads_) thread.join();
  }

  std::array<std::atomic<fence_id>, 8> ids{};

 private:
  Hub& hub_;
  std::atomic<bool> stops_{false};
  std::vector<std::thread> threads_;
};

}  // namespace

TEST_CASE_TEMPLATE("[A57][trap 24] once remove() has returned, no pass touches the fence, whatever other threads do",
                   Service, EVERY_SERVICE) {
  plain_hub<Service> hub{make_service<Service>()};
  const auto seed = fresh_seed();
  const watchdog dog{[&] { return state_of_hub(hub) + "seed " + std::to_string(seed); }};
  const server<plain_hub<Service>, Service> serving{hub};
  std::array<resident, 4> residents;
  std::uint64_t rounds_made = 0;
  {
    pesterers<plain_hub<Service>> threads{hub, seed};
    random_numbers random{seed};
    std::array<std::optional<fence_id>, 4> ids{};
    repetitions rounds{100'000};
    while (rounds.goes_on()) {
      const std::size_t n = random.below(residents.size());
      if (ids[n]) {
        hub.remove(*ids[n]);
        residents[n].is_in = false;
        ids[n].reset();
      } else {
        residents[n].is_in = true;
        const auto added =
            hub.add(residents[n], random.below(2) == 0 ? tidemark::fence_kind::native : tidemark::fence_kind::legacy);
        CHECK(added);
        ids[n] = added.fence.id;
        threads.ids[random.below(threads.ids.size())] = added.fence.id;
      }
      if (random.below(8) == 0) std::this_thread::yield();
    }
    rounds_made = rounds.done();
    for (std::size_t n = 0; n < ids.size(); ++n) {
      if (!ids[n]) continue;
      hub.remove(*ids[n]);
      residents[n].is_in = false;
    }
  }
  std::uint64_t visits = 0;
  for (const auto& one : residents) {
    CHECK(one.mistakes == 0);
    visits += one.visits;
  }
  CHECK(visits > 0);
  MESSAGE(rounds_made << " comings and goings, " << visits << " visits, " << hub.count(hub_event::stale) << " old ids");
}

TEST_CASE_TEMPLATE("[A57][trap 24] a fence may be freed as soon as it is removed and its queue signals it no more",
                   Service, EVERY_SERVICE) {
  plain_hub<Service> hub{make_service<Service>()};
  const auto seed = fresh_seed();
  const watchdog dog{[&] { return state_of_hub(hub) + "seed " + std::to_string(seed); }};
  using queue_of_hub = tidemark::basic_queue<tidemark::progress_fence, tidemark::default_log_clock,
                                             tidemark::hub_notifier<plain_hub<Service>>>;
  tidemark::progress_fence own;
  queue_of_hub queue{own};
  const auto attached = hub.attach(queue);
  REQUIRE(attached);
  const server<plain_hub<Service>, Service> serving{hub};
  {
    pesterers<plain_hub<Service>> threads{hub, seed};
    random_numbers random{seed};
    repetitions rounds{20'000};
    while (rounds.goes_on()) {
      auto fence = std::make_unique<tidemark::fence>();
      const auto logged = hub.add(*fence).fence;
      threads.ids[random.below(threads.ids.size())] = logged.id;
      queue.signal(logged, 1);
      if (random.below(4) == 0) hub.notify_queue(attached.queue);
      CHECK(fence->wait(1) == wait_status::reached);
      hub.remove(logged.id);
      fence.reset();
    }
    MESSAGE(rounds.done() << " fences");
  }
}
