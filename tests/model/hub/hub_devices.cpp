// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the devices of a hub: what an overrun looks at while fences come and go.
#include "support/known_time.hpp"
#include "support/model_check.hpp"
#include "support/shapes.hpp"
#include "support/unsignalled.hpp"

#include <tidemark/fence/fence.hpp>
#include <tidemark/hub/hub.hpp>
#include <tidemark/queue/queue.hpp>

#include <cstddef>
#include <cstdint>

namespace {

using platform = tidemark::TIDEMARK_MODEL_PLATFORM;
using payload = platform::var<std::uint64_t>;
using flag = platform::atomic<std::uint32_t>;
using tidemark::device_id;
using tidemark::hub_event;
using tidemark::logged_fence;
using tidemark::notify_style;
using tidemark::queue_id;
using tidemark::wait_status;

template <class Service>
using hub_of = tidemark::basic_hub<platform, Service, 4, 1>;
using self = tidemark::self_serving;
using dispatched = tidemark::dispatched;
using unsignalled = model::unsignalled<platform>;

constexpr device_id first{1};
constexpr device_id second{2};

/// A fence that counts how often a pass looks at its value, and that a pass may touch only while it is in the hub.
struct seen {
  using platform = ::platform;
  platform::var<unsigned> looks;

  bool publish(std::uint64_t) noexcept { return false; }
  bool is_due(std::uint64_t) noexcept { return false; }
  std::size_t release_due_after_barrier() noexcept {
    looks.store(looks.load() + 1);
    return 0;
  }
  std::size_t release_due_after_barrier(std::uint64_t) noexcept { return 0; }
  void release_due() noexcept {}
};

/// A queue of the first device has lost an entry, and one thread serves it.
struct overrun_beside : model::suite<2> {
  hub_of<self> hub;
  seen stays;
  seen comes;
  unsignalled progress;
  tidemark::basic_queue<unsignalled, model::known_time> subject{progress, {.log_entries = 2}};

  void before() {
    MODEL_REQUIRE(hub.attach(subject.signal_log(), {}, first));
    const auto known = hub.add(stays, {.device = first}).fence;
    for (std::uint64_t value = 1; value <= 3; ++value) subject.signal(known, value);
  }
  void serve() { hub.notify_queue(queue_id{0}); }
  void after() { MODEL_REQUIRE(stays.looks.load() == 1); }
};

/// [A99] [A113] A fence joins the device while an overrun looks at its fences. The one that was there is looked at.
struct added_beside_overrun : overrun_beside {
  void thread(unsigned index) {
    if (index == 0) {
      static_cast<void>(hub.add(comes, {.device = first}));
    } else {
      serve();
    }
  }
};

/// [A57] [A99] [A113] A fence leaves the device while an overrun looks at its fences. The one that stays is looked at,
/// and the one that left is not touched any more.
struct removed_beside_overrun : overrun_beside {
  seen late;
  tidemark::fence_id known{};

  void before() {
    overrun_beside::before();
    static_cast<void>(hub.add(late, {.device = first}));
    known = hub.add(comes, {.device = first}).fence.id;
  }
  void thread(unsigned index) {
    if (index == 0) {
      hub.remove(known);
      comes.looks.store(0);
    } else {
      serve();
    }
  }
  void after() {
    overrun_beside::after();
    MODEL_REQUIRE(late.looks.load() == 1);
  }
};

/// [A99] [A113] The place of a fence that left is given to a fence of another device. The overrun does not look at
/// that one, and does look at the fence that stays.
struct moved_beside_overrun : removed_beside_overrun {
  seen strange;

  void thread(unsigned index) {
    if (index == 0) {
      hub.remove(known);
      const auto next = hub.add(strange, {.device = second}).fence;
      MODEL_REQUIRE(to_number(next.id) % 4 == to_number(known) % 4);
    } else {
      serve();
    }
  }
  void after() {
    removed_beside_overrun::after();
    MODEL_REQUIRE(strange.looks.load() == 0);
  }
};

/// [A61] [A99] The entry of a due signal is overwritten before it is served, and its fence is of another device than
/// the queue. Its waiter is released.
struct overrun_of_another_device : model::suite<3> {
  using fence = model::shaped_progress_fence<platform, model::one_slot>;
  hub_of<dispatched> hub;
  fence output;
  seen noise;
  payload data;
  logged_fence<fence> known = hub.add(output, {.device = second}).fence;
  logged_fence<seen> known_noise = hub.add(noise, {.device = first}).fence;
  unsignalled progress;
  tidemark::basic_queue<unsignalled, model::known_time, tidemark::hub_notifier<hub_of<dispatched>>> subject{
      progress, {.log_entries = 2}};
  flag ended;

  void before() { MODEL_REQUIRE(hub.attach(subject, {.device = first})); }
  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      subject.signal(known, 1);
      subject.signal(known_noise, 1);
      subject.signal(known_noise, 2);
      ended.store(1, std::memory_order_release);
      hub.notify_queue(queue_id{0});
    } else if (index == 1) {
      while (ended.load(std::memory_order_acquire) == 0 || hub.count(hub_event::pass) == 0) {
        MODEL_REQUIRE(hub.serve());
      }
    } else {
      MODEL_REQUIRE(output.wait(1) == wait_status::reached);
      MODEL_REQUIRE(data.load() == 42);
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  return model::run(argc, argv,
                    {
                        model::make_check<added_beside_overrun, "added_beside_overrun">(),
                        model::make_check<removed_beside_overrun, "removed_beside_overrun">(),
                        model::make_check<moved_beside_overrun, "moved_beside_overrun">(),
                        model::make_check<overrun_of_another_device, "overrun_of_another_device">(),
                    });
}
