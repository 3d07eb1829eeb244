// SPDX-License-Identifier: BSL-1.0
//
// Model checks of fences of several domains: a signal of one domain against a wait in another one of either kind, an
// attachment against a signal, and signals of two domains against each other. Plain data are handed over.
#include "support/gone.hpp"
#include "support/model_check.hpp"
#include "support/no_logs.hpp"

#include <tidemark/engine/domain.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace {

using platform = tidemark::TIDEMARK_MODEL_PLATFORM;
using payload = platform::var<int>;
using tidemark::domain_doorbell;
using tidemark::domain_kind;
using tidemark::queue_id;
using tidemark::run_status;
using tidemark::wait_status;

using model::forgets;
using model::no_logs;
using queue_base = model::queue_without_logs<platform>;
using cross_fence = tidemark::basic_cross_fence<platform>;
using attachment = tidemark::basic_attachment<platform>;

/// A domain whose loop a thread of the check runs.
struct side {
  explicit side(domain_kind kind, domain_doorbell doorbell = domain_doorbell::names_fence)
      : in{on.loop(), {.kind = kind, .doorbell = doorbell}} {}
  void run_one() { MODEL_REQUIRE(on.loop().run_one() == run_status::ran); }

  forgets nowhere;
  tidemark::basic_engine<platform> on{{.threads = 0}};
  tidemark::basic_domain<platform> in;
};
struct queue : queue_base {
  explicit queue(side& of) : queue_base(of.on, {}, {}, no_logs(of.nowhere, queue_id{0})) {}
};

/// [A71] [A74] [A77] A thread waits in one domain, another thread signals in the other one, and a third one runs the
/// loop of the first domain.
template <domain_kind Kind, domain_doorbell Doorbell = domain_doorbell::names_fence>
struct thread_waits : model::suite<3> {
  side near{Kind, Doorbell};
  side far{domain_kind::native};
  cross_fence both;
  attachment waits{both, near.in};
  attachment signals{both, far.in};
  payload data;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      MODEL_REQUIRE(signals.signal(1));
    } else if (index == 1) {
      MODEL_REQUIRE(waits.wait(1) == wait_status::reached);
      MODEL_REQUIRE(data.load() == 42);
    } else {
      near.run_one();
    }
  }
};

/// [A5] [A71] [A77] A queue waits in one domain, and a thread signals in the other one, once or twice; or in its own.
template <domain_kind Kind, std::uint64_t Signals = 1, bool InOwnDomain = false>
struct queue_waits : model::suite<2> {
  side near{Kind};
  side far{domain_kind::native};
  cross_fence both;
  attachment waits{both, near.in};
  attachment signals{both, far.in};
  payload data;
  bool has_run = false;
  queue waiting{near};

  void before() {
    waiting.wait(waits, Signals);
    waiting.run([this] {
      MODEL_REQUIRE(data.load() == 42);
      has_run = true;
    });
    MODEL_REQUIRE(static_cast<bool>(waiting.submit()));
  }
  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      attachment& by = InOwnDomain ? waits : signals;
      for (std::uint64_t value = 1; value <= Signals; ++value) MODEL_REQUIRE(by.signal(value));
    } else {
      while (!has_run) near.run_one();
    }
  }
};

/// [A5] A queue that is held is destroyed while its wait ends.
struct held_and_destroyed : model::suite<2> {
  side near{domain_kind::legacy};
  cross_fence both;
  attachment waits{both, near.in};
  payload data;
  std::optional<queue> waiting;

  void before() {
    waiting.emplace(near);
    waiting->wait(waits, 1);
    waiting->run([this] { MODEL_REQUIRE(data.load() == 42); });
    MODEL_REQUIRE(static_cast<bool>(waiting->submit()));
    static_cast<void>(near.on.loop().poll());
  }
  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      MODEL_REQUIRE(waits.signal(1));
    } else {
      waiting.reset();
    }
  }
};

/// [A5] [A124] A queue that is held is given up, while the domain is told of a signal or of the loss. Once drain() says
/// how it ended, the attachment goes.
template <bool IsLost>
struct held_fence_gone : model::suite<2> {
  side near{domain_kind::legacy};
  side far{domain_kind::native};
  cross_fence both;
  std::optional<attachment> waits;
  attachment tells{both, far.in};
  queue waiting{near};

  void before() {
    waits.emplace(both, near.in);
    waiting.wait(*waits, 1);
    MODEL_REQUIRE(static_cast<bool>(waiting.submit()));
    static_cast<void>(near.on.loop().poll());
  }
  void thread(unsigned index) {
    if (index == 0) {
      if (!IsLost) waiting.abort();
      const wait_status end = waiting.drain();
      MODEL_REQUIRE(end == wait_status::lost || (!IsLost && end == wait_status::reached));
      model::destroy(waits);
    } else {
      if (IsLost) tells.poison();
      if (!IsLost) MODEL_REQUIRE(tells.signal(1));
      poll_all();
    }
  }
  void after() { poll_all(); }
  void poll_all() {
    while (near.on.loop().poll() != 0) {
    }
  }
};

/// [A68] A domain attaches the fence, and a thread waits there, while another domain signals. The domain goes again.
struct attached_against_signal : model::suite<2> {
  side near{domain_kind::legacy};
  side far{domain_kind::native};
  cross_fence both;
  attachment signals{both, far.in};
  payload data;
  bool has_run = false;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      MODEL_REQUIRE(signals.signal(1));
    } else {
      attachment waits(both, near.in);
      queue waiting(near);
      waiting.wait(waits, 1);
      waiting.run([this] {
        MODEL_REQUIRE(data.load() == 42);
        has_run = true;
      });
      MODEL_REQUIRE(static_cast<bool>(waiting.submit()));
      while (!has_run) near.run_one();
    }
  }
};

/// [A71] [trap 22] Two domains signal and tell each other. The value never goes back.
struct two_signal : model::suite<2> {
  side first{domain_kind::native};
  side second{domain_kind::legacy};
  cross_fence both;
  attachment in_first{both, first.in};
  attachment in_second{both, second.in};

  void thread(unsigned index) {
    if (index == 0) {
      static_cast<void>(in_first.signal(1));
      static_cast<void>(first.on.loop().poll());
      MODEL_REQUIRE(in_first.current_value() >= 1);
    } else {
      MODEL_REQUIRE(in_second.signal(2));
      static_cast<void>(second.on.loop().poll());
      MODEL_REQUIRE(in_second.current_value() == 2);
    }
  }
  void after() {
    MODEL_REQUIRE(in_first.current_value() == 2);
    MODEL_REQUIRE(both.counts().stores == both.counts().notifications);
  }
};

/// [A120] A thread waits in one domain, and the timeline is lost in the other one.
struct lost_elsewhere : model::suite<2> {
  side near{domain_kind::legacy};
  side far{domain_kind::native};
  cross_fence both;
  attachment waits{both, near.in};
  attachment loses{both, far.in};
  payload data;
  queue waiting{near};

  void before() {
    waiting.wait(waits, 1);
    MODEL_REQUIRE(static_cast<bool>(waiting.submit()));
  }
  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      loses.poison();
    } else {
      while (!waits.is_poisoned()) near.run_one();
      MODEL_REQUIRE(data.load() == 42);
    }
  }
};

/// [A120] A thread waits in a domain, and the timeline is lost there, or in another domain.
template <domain_kind Kind, bool InOwnDomain>
struct thread_loses : model::suite<InOwnDomain ? 2 : 3> {
  side near{Kind};
  side far{domain_kind::native};
  cross_fence both;
  attachment waits{both, near.in};
  attachment loses{both, far.in};
  payload data;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      (InOwnDomain ? waits : loses).poison();
    } else if (index == 1) {
      MODEL_REQUIRE(waits.wait(1) == wait_status::lost);
      MODEL_REQUIRE(data.load() == 42);
    } else {
      near.run_one();
    }
  }
};

/// [A68] [A120] A domain attaches the fence, and a queue waits there, while another domain loses it.
struct attached_against_loss : model::suite<2> {
  side near{domain_kind::legacy};
  side far{domain_kind::native};
  cross_fence both;
  attachment loses{both, far.in};
  payload data;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      loses.poison();
    } else {
      const attachment waits(both, near.in);
      while (!waits.is_poisoned()) near.run_one();
      MODEL_REQUIRE(data.load() == 42);
    }
  }
};

/// [A5] [A120] Two queues wait for the timeline that is lost in their own domain, which is of the older kind. Both
/// give up.
struct queues_lose : model::suite<2> {
  side near{domain_kind::legacy};
  cross_fence both;
  attachment waits{both, near.in};
  payload data;
  queue first{near};
  queue second{near};

  void before() {
    for (queue* each : {&first, &second}) {
      each->wait(waits, 1);
      MODEL_REQUIRE(static_cast<bool>(each->submit()));
    }
  }
  bool have_given_up() const { return first.progress().fence->is_poisoned() && second.progress().fence->is_poisoned(); }
  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      waits.poison();
    } else {
      while (!have_given_up()) near.run_one();
      MODEL_REQUIRE(data.load() == 42);
    }
  }
};

/// [A120] Two threads wait in a domain of the older kind, and the timeline is lost there. Both learn of it.
struct two_threads_lose : model::suite<3> {
  side near{domain_kind::legacy};
  cross_fence both;
  attachment waits{both, near.in};
  payload data;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      waits.poison();
    } else {
      MODEL_REQUIRE(waits.wait(1) == wait_status::lost);
      MODEL_REQUIRE(data.load() == 42);
    }
  }
};

/// [A71] [A78] A domain is told of a signal. It is not the first one that might be told, and the fence is not its first
/// one. Its doorbell may say only that something has changed.
template <domain_doorbell Doorbell>
struct last_of_two : model::suite<2> {
  side near{domain_kind::legacy, Doorbell};
  side other{domain_kind::native};
  side far{domain_kind::native};
  cross_fence unsignalled;
  cross_fence signalled;
  attachment first_of_near{unsignalled, near.in};
  attachment first_to_be_told{signalled, other.in};
  attachment waits{signalled, near.in};
  attachment signals{signalled, far.in};
  payload data;
  bool has_run = false;
  queue waiting{near};

  void before() {
    waiting.wait(waits, 1);
    waiting.run([this] {
      MODEL_REQUIRE(data.load() == 42);
      has_run = true;
    });
    MODEL_REQUIRE(static_cast<bool>(waiting.submit()));
  }
  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      MODEL_REQUIRE(signals.signal(1));
    } else {
      while (!has_run) near.run_one();
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<model::check> checks;
  checks.push_back(model::make_check<thread_waits<domain_kind::native>, "thread_waits.native">());
  checks.push_back(model::make_check<thread_waits<domain_kind::legacy>, "thread_waits.legacy">());
  checks.push_back(
      model::make_check<thread_waits<domain_kind::native, domain_doorbell::plain>, "thread_waits.plain">());
  checks.push_back(model::make_check<queue_waits<domain_kind::native>, "queue_waits.native">());
  checks.push_back(model::make_check<queue_waits<domain_kind::legacy>, "queue_waits.legacy">());
  checks.push_back(model::make_check<queue_waits<domain_kind::legacy, 2>, "queue_waits.twice">());
  checks.push_back(model::make_check<queue_waits<domain_kind::legacy, 1, true>, "queue_waits.own">());
  checks.push_back(model::make_check<held_and_destroyed, "held_and_destroyed">());
  checks.push_back(model::make_check<held_fence_gone<false>, "held_fence_gone">());
  checks.push_back(model::make_check<held_fence_gone<true>, "held_fence_gone.lost">());
  checks.push_back(model::make_check<attached_against_signal, "attached_against_signal">());
  checks.push_back(model::make_check<two_signal, "two_signal">());
  checks.push_back(model::make_check<lost_elsewhere, "lost_elsewhere">());
  checks.push_back(model::make_check<thread_loses<domain_kind::native, false>, "thread_loses.native">());
  checks.push_back(model::make_check<thread_loses<domain_kind::legacy, false>, "thread_loses.legacy">());
  checks.push_back(model::make_check<thread_loses<domain_kind::legacy, true>, "thread_loses.own">());
  checks.push_back(model::make_check<attached_against_loss, "attached_against_loss">());
  checks.push_back(model::make_check<queues_lose, "queues_lose">());
  checks.push_back(model::make_check<two_threads_lose, "two_threads_lose">());
  checks.push_back(model::make_check<last_of_two<domain_doorbell::names_fence>, "last_of_two.named">());
  checks.push_back(model::make_check<last_of_two<domain_doorbell::plain>, "last_of_two.plain">());
  return model::run(argc, argv, checks);
}
