// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the search for the queue that signalled a fence: it finds the signal that has left the mark, whoever
// serves, and goes on beside fences and queues that come.
#include "support/known_time.hpp"
#include "support/model_check.hpp"
#include "support/unsignalled.hpp"
#include "support/watched_fence.hpp"

#include <tidemark/hub/hub.hpp>
#include <tidemark/hub/signal_origin.hpp>
#include <tidemark/queue/queue.hpp>

#include <array>

namespace {

using platform = tidemark::TIDEMARK_MODEL_PLATFORM;
using tidemark::fence_id;
using tidemark::fence_operation;
using tidemark::logged_fence;
using tidemark::signal_origin;
using watched = model::watched_fence<platform>;
using log_type = tidemark::basic_queue_log<platform>;

/// Notes how often a fence was told, and whether its queue was found each time.
struct listener {
  void operator()(const signal_origin& origin) noexcept {
    if (origin.fence != of) return;
    times.store(times.load() + 1);
    if (origin.queue && origin.entry.fence_value == 1 && !origin.last.empty()) found.store(found.load() + 1);
  }
  fence_id of{};
  platform::var<int> times;
  platform::var<int> found;
};
template <class Service>
using telling = tidemark::tells_origins<Service, listener>;
template <class Service>
using hub_of = tidemark::basic_hub<platform, telling<Service>, 2, 2>;

/// [A110] Two fences are named by two threads, one of them by a queue that has signalled it. Whichever thread serves,
/// it finds that queue.
struct origin_told : model::suite<2> {
  using hub_type = hub_of<tidemark::self_serving>;
  listener heard;
  hub_type hub{telling<tidemark::self_serving>{heard}};
  std::array<watched, 2> output;
  std::array<logged_fence<watched>, 2> known{hub.add(output[0]).fence, hub.add(output[1]).fence};
  log_type log{tidemark::fence_log_type::signal, 2};
  tidemark::queue_id queue = hub.attach(log.reader()).queue;

  void before() { heard.of = known[0].id; }
  void thread(unsigned index) {
    output[index].tell();
    if (index == 0) log.append({1, known[0].id, fence_operation::signal_executed, 0, 0, 0, 1});
    hub.notify(known[index].id);
  }
  void after() {
    MODEL_REQUIRE(heard.times.load() == 1);
    MODEL_REQUIRE(heard.found.load() == 1);
  }
};

/// [A110] The log is replaced while the search goes through it. The search finds the entry in the old log or in the new
/// one.
struct origin_beside_replacement : model::suite<2> {
  using hub_type = hub_of<tidemark::dispatched>;
  listener heard;
  hub_type hub{telling<tidemark::dispatched>{heard}};
  watched output;
  logged_fence<watched> known = hub.add(output).fence;
  log_type log{tidemark::fence_log_type::signal, 2};
  tidemark::queue_id queue = hub.attach(log.reader()).queue;

  void before() {
    heard.of = known.id;
    log.append({1, known.id, fence_operation::signal_executed, 0, 0, 0, 1});
    hub.notify(known.id);
  }
  void thread(unsigned index) {
    if (index == 0) {
      log.replace(2);
      log.append({1, known.id, fence_operation::signal_executed, 0, 0, 0, 1});
    } else {
      MODEL_REQUIRE(hub.try_serve());
    }
  }
  void after() { MODEL_REQUIRE(heard.found.load() == 1); }
};

/// [A57] [A110] A pass finds the mark of a fence that is gone, while another fence and another queue take free slots.
struct origin_beside_join : model::suite<2> {
  using hub_type = hub_of<tidemark::dispatched>;
  listener heard;
  hub_type hub{telling<tidemark::dispatched>{heard}};
  std::array<watched, 2> output;
  log_type log{tidemark::fence_log_type::signal, 2};
  log_type joining{tidemark::fence_log_type::signal, 2};

  void before() {
    MODEL_REQUIRE(hub.attach(log.reader()));
    const auto gone = hub.add(output[0]).fence.id;
    hub.notify(gone);
    hub.remove(gone);
  }
  void thread(unsigned index) {
    if (index == 0) {
      MODEL_REQUIRE(hub.add(output[1]));
      MODEL_REQUIRE(hub.attach(joining.reader()));
    } else {
      MODEL_REQUIRE(hub.try_serve());
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  return model::run(argc, argv,
                    std::vector<model::check>{
                        model::make_check<origin_told, "origin_told">(),
                        model::make_check<origin_beside_replacement, "origin_beside_replacement">(),
                        model::make_check<origin_beside_join, "origin_beside_join">(),
                    });
}
