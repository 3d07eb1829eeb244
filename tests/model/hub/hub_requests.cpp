// SPDX-License-Identifier: BSL-1.0
//
#include "support/unsignalled.hpp"
#include "support/watched_fence.hpp"
#undef TIDEMARK_ASSERT
#define TIDEMARK_ASSERT(condition, text) static_cast<void>(condition)

#include "support/known_time.hpp"
#include "support/shapes.hpp"
#include "support/unsignalled.hpp"
#include "support/watched_fence.hpp"

#include <tidemark/fence/fence.hpp>
#include <tidemark/hub/hub.hpp>
#include <tidemark/queue/queue.hpp>

#include <array>

namespace {

using platform = tidemark::TIDEMARK_MODEL_PLATFORM;
using payload = platform::var<std::uint64_t>;
using model::heap_shape;
using watched = model::watched_fence<platform>;
using tidemark::hub_event;
using tidemark::logged_fence;
using tidemark::notify_style;
using tidemark::wait_status;

using self = tidemark::self_serving;
using dispatched = tidemark::dispatched;

/// [A59] [A61] [trap 12] Three notifiers. One of them serves at a time, and a pass looks at each fence after its
/// notification.
struct three_ask : model::suite<3> {
  tidemark::basic_hub<platform, self, 4, 1> hub;
  std::array<watched, 3> output;
  std::array<logged_fence<watched>, 3> known{hub.add(output[0]).fence, hub.add(output[1]).fence,
                                             hub.add(output[2]).fence};

  void thread(unsigned index) {
    output[index].tell();
    hub.notify(known[index].id);
  }
  void after() {
    for (const watched& one : output) MODEL_REQUIRE(one.is_seen());
  }
};

/// [A59] [A61] Two notifiers, and a dispatcher that sleeps and serves until both fences were looked at.
struct two_ask_a_dispatcher : model::suite<3> {
  tidemark::basic_hub<platform, dispatched, 2, 1> hub;
  std::array<watched, 2> output;
  std::array<logged_fence<watched>, 2> known{hub.add(output[0]).fence, hub.add(output[1]).fence};

  void thread(unsigned index) {
    if (index < 2) {
      output[index].tell();
      hub.notify(known[index].id);
    } else {
      while (!output[0].is_seen() || !output[1].is_seen()) MODEL_REQUIRE(hub.serve());
    }
  }
};

/// [A57] [A61] A queue signals a fence that its hub does not know. The signaller releases the waiter.
template <heap_shape Shape>
struct stranger : model::suite<2> {
  using hub_type = tidemark::basic_hub<platform, self, 2, 2>;
  hub_type hub;
  model::shaped_progress_fence<platform, Shape> output;
  model::unsignalled<platform> progress;
  tidemark::basic_queue<model::unsignalled<platform>, model::known_time, tidemark::hub_notifier<hub_type>> queue{
      progress, {.log_entries = 2}};
  payload data;

  void before() { MODEL_REQUIRE(hub.attach(queue, {.style = notify_style::by_queue})); }
  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      queue.signal(logged_fence{&output, tidemark::fence_id{3}}, 1);
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
