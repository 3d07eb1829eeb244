// SPDX-License-Identifier: BSL-1.0
//
// Hubs in tests: each service, how one thread serves it by hand, and a thread that serves it.
#ifndef TIDEMARK_TESTS_SUPPORT_HUBS_HPP
#define TIDEMARK_TESTS_SUPPORT_HUBS_HPP

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include <tidemark/hub/hub.hpp>

#include "queues.hpp"
#include "readable.hpp"

namespace testing {

using tidemark::dispatched;
using tidemark::event_driven;
using tidemark::hub_event;
using tidemark::self_serving;

/// For TEST_CASE_TEMPLATE: all services, and those of hubs that do not serve themselves.
#define EVERY_SERVICE tidemark::self_serving, tidemark::dispatched, tidemark::event_driven
#define EVERY_SERVED tidemark::dispatched, tidemark::event_driven

template <class Service>
Service make_service() {
  if constexpr (std::is_same_v<Service, event_driven>) {
    auto made = event_driven::make();
    REQUIRE(made.has_value());
    return std::move(*made);
  } else {
    return Service{};
  }
}

template <class Service, std::size_t Fences = 8, std::size_t Queues = 4>
struct counted_hub : tidemark::basic_hub<stepping_platform, Service, Fences, Queues> {
  using service_type = Service;
  using base = tidemark::basic_hub<stepping_platform, Service, Fences, Queues>;
  counted_hub() : base{make_service<Service>()} {}

  /// Serves what there is, as a dispatcher or an event loop would. A hub that serves itself has done so already.
  void catch_up() {
    if constexpr (std::is_same_v<Service, dispatched>) {
      while (this->try_serve()) continue;
    } else if constexpr (std::is_same_v<Service, event_driven>) {
      while (is_readable(this->service().descriptor())) {
        this->service().quiet();
        static_cast<void>(this->try_serve());
      }
    }
  }
};

/// How often each event of a hub has happened since this object was made.
template <class Hub>
struct tally {
  explicit tally(const Hub& counted) : hub{&counted} {
    for (std::size_t what = 0; what < start.size(); ++what) start.at(what) = hub->count(static_cast<hub_event>(what));
  }
  std::uint64_t of(hub_event what) const { return hub->count(what) - start.at(static_cast<std::size_t>(what)); }

  const Hub* hub;
  std::array<std::uint64_t, tidemark::hub_events> start{};
};

/// A thread that serves a hub as long as this object lives. A hub that serves itself needs none.
template <class Hub, class Service>
class server {
 public:
  explicit server(Hub& hub) : hub_{hub} {
    if constexpr (!Service::serves_itself) thread_ = std::thread{[this] { serve(); }};
  }
  server(const server&) = delete;
  server& operator=(const server&) = delete;
  ~server() {
    stops_ = true;
    hub_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void serve() {
    while (!stops_) {
      if constexpr (std::is_same_v<Service, dispatched>) {
        CHECK(hub_.serve());
      } else if constexpr (std::is_same_v<Service, event_driven>) {
        if (!is_readable(hub_.service().descriptor(), for_ever)) continue;
        hub_.service().quiet();
        static_cast<void>(hub_.try_serve());
      }
    }
  }

  Hub& hub_;
  std::atomic<bool> stops_{false};
  std::thread thread_;
};

/// A queue with its progress fence, attached to a hub.
template <class Hub>
struct hub_stand {
  using queue_type = tidemark::basic_queue<progress, ticking_clock, tidemark::hub_notifier<typename Hub::base>>;

  explicit hub_stand(Hub& hub, tidemark::notify_style style = tidemark::notify_style::by_queue,
                     std::size_t entries = 84, tidemark::engine_id engine = {})
      : queue{own, {.log_entries = entries}} {
    const auto attached = hub.attach(queue, {.style = style, .engine = engine});
    REQUIRE(attached);
    number = attached.queue;
    progress_id = attached.progress.value();
  }

  progress own;
  queue_type queue;
  queue_id number{};
  fence_id progress_id{};
};

template <class Hub>
std::string state_of_hub(const Hub& hub) {
  static constexpr std::array names{"pass",        "scan",  "overrun", "value_read",
                                    "log_release", "stale", "skipped", "cancelled"};
  std::string text;
  for (std::size_t what = 0; what < names.size(); ++what) {
    text += std::string{names.at(what)} + ' ' + std::to_string(hub.count(static_cast<hub_event>(what))) + "; ";
  }
  return text;
}

}  // namespace testing

TYPE_TO_STRING_AS("self_serving", tidemark::self_serving);
TYPE_TO_STRING_AS("dispatched", tidemark::dispatched);
TYPE_TO_STRING_AS("event_driven", tidemark::event_driven);

#endif  // TIDEMARK_TESTS_SUPPORT_HUBS_HPP
