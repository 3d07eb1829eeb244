// SPDX-License-Identifier: BSL-1.0
//
// Model checks of a hub's requests, with as many notifiers as it takes for one to ask while another one serves and a third
// one comes; and of signals of fences that the hub does not know.
#include "support/model_check.hpp"

// A fence that the hub does not know is misuse, and what happens where its assertion returns is what is checked here.
#undef TIDEMARK_ASSERT
#define TIDEMARK_ASSERT(condition, text) static_cast<void>(condition)

#include "support/shapes.hpp"

#include <tidemark/fence.hpp>
#include <tidemark/hub.hpp>
#include <tidemark/queue.hpp>

#include <array>

namespace {

using platform = tidemark::TIDEMARK_MODEL_PLATFORM;
using payload = platform::var<std::uint64_t>;
using model::heap_shape;
using tidemark::hub_event;
using tidemark::logged_fence;
using tidemark::notify_style;
using tidemark::wait_status;

using self = tidemark::self_serving;
using dispatched = tidemark::dispatched;

/// A fence that is told, and notes whether a pass has looked at it since.
struct watched {
  using platform = ::platform;
  platform::var<int> value;
  platform::atomic<int> told;
  platform::atomic<int> seen;

  void tell() {
    value.store(1);
    told.store(1, std::memory_order_release);
  }
  bool is_seen() { return seen.load(std::memory_order_relaxed) == 1; }

  bool publish(std::uint64_t) noexcept { return true; }
  bool is_due(std::uint64_t) noexcept { return true; }
  std::size_t release_due_after_barrier() noexcept {
    seen.store(told.load(std::memory_order_acquire) == 0 ? 0 : value.load(), std::memory_order_relaxed);
    return 0;
  }
  std::size_t release_due_after_barrier(std::uint64_t) noexcept { return release_due_after_barrier(); }
};

/// [A59] [A61] [trap 12] Three notifiers: one serves at a time, and each fence is looked at after its notification.
struct three_ask : model::suite<3> {
  tidemark::basic_hub<platform, self, 4, 1> hub;
  std::array<watched, 3> output;
  std::array<logged_fence<watched>, 3> known{hub.add(output[0]), hub.add(output[1]), hub.add(output[2])};

  void thread(unsigned index) {
    output[index].tell();
    hub.notify(known[index].id);
  }
  void after() {
    for (watched& one : output) MODEL_REQUIRE(one.is_seen());
  }
};

/// [A59] [A61] Two notifiers and a dispatcher, who sleeps until both are served.
struct two_ask_a_dispatcher : model::suite<3> {
  tidemark::basic_hub<platform, dispatched, 2, 1> hub;
  std::array<watched, 2> output;
  std::array<logged_fence<watched>, 2> known{hub.add(output[0]), hub.add(output[1])};

  void thread(unsigned index) {
    if (index < 2) {
      output[index].tell();
      hub.notify(known[index].id);
    } else {
      while (!output[0].is_seen() || !output[1].is_seen()) MODEL_REQUIRE(hub.wait_and_serve());
    }
  }
};

/// [A57] [A61] A queue signals a fence that its hub does not know: the signaller releases the waiter.
template <heap_shape Shape>
struct stranger : model::suite<2> {
  using hub_type = tidemark::basic_hub<platform, self, 2, 2>;
  hub_type hub;
  model::shaped_progress_fence<platform, Shape> output;
  tidemark::basic_progress_fence<platform> progress;
  tidemark::basic_queue<platform, tidemark::no_log_clock, tidemark::hub_notifier<hub_type>> queue{
      {&progress, 0}, tidemark::hub_notifier<hub_type>{&hub, notify_style::by_queue}, 2};
  payload data;

  void before() { queue.notifier().number = hub.add_queue(queue.signal_log()); }
  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      queue.signal(logged_fence{&output, 3u}, 1);
    } else {
      MODEL_REQUIRE(output.wait(1) == wait_status::reached);
      MODEL_REQUIRE(data.load() == 42);
    }
  }
  void after() { MODEL_REQUIRE(hub.count(hub_event::pass) == 0); }
};

}  // namespace

int main(int argc, char** argv) {
  return model::run(argc, argv,
                    {
                        model::make_check<three_ask, "three_ask">(),
                        model::make_check<two_ask_a_dispatcher, "two_ask_a_dispatcher">(),
                        model::make_check<stranger<model::one_slot>, "stranger.one_slot">(),
                        model::make_check<stranger<model::two_levels>, "stranger.two_levels">(),
                        model::make_check<stranger<model::beside_lane>, "stranger.beside_lane">(),
                        model::make_check<stranger<model::in_lane>, "stranger.in_lane">(),
                    });
}
