// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the hub: every waiter that is due is released, in whichever way the hub is notified and whichever
// thread serves.
#include "support/known_time.hpp"
#include "support/model_check.hpp"
#include "support/shapes.hpp"
#include "support/unsignalled.hpp"
#include "support/watched_fence.hpp"

#include <tidemark/fence/fence.hpp>
#include <tidemark/hub/hub.hpp>
#include <tidemark/hub/loop_served.hpp>
#include <tidemark/queue/queue.hpp>

#include <array>
#include <memory>
#include <optional>

namespace {

using platform = tidemark::TIDEMARK_MODEL_PLATFORM;
using payload = platform::var<std::uint64_t>;
using flag = platform::atomic<std::uint32_t>;
using tidemark::engine_id;
using tidemark::fence_id;
using tidemark::hub_event;
using tidemark::logged_fence;
using tidemark::notify_style;
using tidemark::queue_id;
using tidemark::run_status;
using tidemark::wait_status;

using model::heap_shape;
using watched = model::watched_fence<platform>;
using queue_progress = tidemark::basic_progress_fence<platform>;
template <class Service>
using hub_of = tidemark::basic_hub<platform, Service, 2, 2>;
template <class Service, class Clock = model::known_time>
using queue_of = tidemark::basic_queue<model::unsignalled<platform>, Clock, tidemark::hub_notifier<hub_of<Service>>>;

/// A fence in a hub, the data that it hands over, and a wait for it.
template <heap_shape Shape>
struct timeline {
  using fence = model::shaped_progress_fence<platform, Shape>;
  fence line;
  payload data;

  void await() {
    MODEL_REQUIRE(line.wait(1) == wait_status::reached);
    MODEL_REQUIRE(data.load() == 42);
  }
};

/// A queue of a hub, with logs of `Entries`.
template <class Service, std::size_t Entries = 2, class Clock = model::known_time>
struct member {
  model::unsignalled<platform> progress;
  queue_of<Service, Clock> subject{progress, {.log_entries = Entries}};

  member(hub_of<Service>& owner, notify_style style) { MODEL_REQUIRE(owner.attach(subject, {.style = style})); }
  template <heap_shape Shape>
  void signal(const logged_fence<typename timeline<Shape>::fence>& output, timeline<Shape>& of) {
    of.data.store(42);
    subject.signal(output, 1);
  }
};

using self = tidemark::self_serving;
using dispatched = tidemark::dispatched;

/// A fence that a pass may touch only while it is in the hub.
struct mortal {
  using platform = ::platform;
  platform::var<int> gone;

  bool publish(std::uint64_t) noexcept { return true; }
  bool is_due(std::uint64_t) noexcept { return true; }
  std::size_t release_due_after_barrier() noexcept {
    MODEL_REQUIRE(gone.load() == 0);
    return 0;
  }
  std::size_t release_due_after_barrier(std::uint64_t) noexcept { return release_due_after_barrier(); }
};

/// [A61] [A96] [A112] One signal and one waiter. The signaller serves.
template <notify_style Style, heap_shape Shape>
struct one_signal : model::suite<2> {
  hub_of<self> hub;
  timeline<Shape> output;
  logged_fence<typename timeline<Shape>::fence> known = hub.add(output.line).fence;
  member<self> queue{hub, Style};

  void thread(unsigned index) { index == 0 ? queue.signal(known, output) : output.await(); }
  void after() {
    const bool reads_values = Style != notify_style::by_queue;
    MODEL_REQUIRE(reads_values || hub.count(hub_event::value_read) == 0);
    MODEL_REQUIRE(hub.count(hub_event::overrun) == 0);
  }
};

/// [A59] [A61] [trap 12] Two queues signal one fence each. One of them serves for the other, or each serves for itself.
template <notify_style Style, heap_shape Shape>
struct two_notifiers : model::suite<3> {
  hub_of<self> hub;
  std::array<timeline<Shape>, 2> output;
  std::array<logged_fence<typename timeline<Shape>::fence>, 2> known{hub.add(output[0].line).fence,
                                                                     hub.add(output[1].line).fence};
  std::array<member<self>, 2> queue{member<self>{hub, Style}, member<self>{hub, Style}};

  void thread(unsigned index) {
    if (index < 2) {
      queue[index].signal(known[index], output[index]);
    } else {
      output[0].await();
      output[1].await();
    }
  }
};

/// [A61] The fence is not among the first 64, so its mark is in the second word, which a pass takes after the first
/// one.
template <heap_shape Shape>
struct mark_in_second_word : model::suite<2> {
  tidemark::basic_hub<platform, self, 128, 1> hub;
  mortal filler;
  timeline<Shape> output;
  logged_fence<typename timeline<Shape>::fence> known = add_as_65th();

  logged_fence<typename timeline<Shape>::fence> add_as_65th() {
    for (unsigned place = 0; place < 64; ++place) static_cast<void>(hub.add(filler));
    return hub.add(output.line).fence;
  }
  void thread(unsigned index) {
    if (index == 0) {
      output.data.store(42);
      output.line.publish(1);
      if (output.line.is_due(1)) hub.notify(known.id);
    } else {
      output.await();
    }
  }
};

/// [A61] [A112] A pass for another notification may serve an entry before the signaller has looked for waiters. A
/// waiter that registers after that pass sees the value.
template <heap_shape Shape, class Clock = model::known_time>
struct served_before_due : model::suite<3> {
  hub_of<self> hub;
  timeline<Shape> output;
  logged_fence<typename timeline<Shape>::fence> known = hub.add(output.line).fence;
  member<self, 2, Clock> queue{hub, notify_style::by_queue};

  void thread(unsigned index) {
    if (index == 0) {
      queue.signal(known, output);
    } else if (index == 1) {
      hub.notify_queue(queue_id{0});
    } else {
      output.await();
    }
  }
};

/// [A104] The same with entries that have no time, which are served by the current value.
template <heap_shape Shape>
using untimed_before_due = served_before_due<Shape, tidemark::no_log_clock>;

/// [A104] An entry says that its write was skipped. The waiter sleeps on until the value is there.
template <heap_shape Shape>
struct skipped_write : model::suite<2> {
  hub_of<self> hub;
  timeline<Shape> output;
  logged_fence<typename timeline<Shape>::fence> known = hub.add(output.line).fence;
  tidemark::basic_queue_log<platform> log{tidemark::fence_log_type::signal, 2};
  queue_id queue = hub.attach(log.reader()).queue;

  void thread(unsigned index) {
    if (index == 0) {
      log.append({1, known.id, tidemark::fence_operation::signal_executed, 0, 0, 0, 0});
      hub.notify_queue(queue);
      output.data.store(42);
      output.line.publish(1);
      if (output.line.is_due(1)) hub.notify(known.id);
    } else {
      output.await();
    }
  }
};

/// [A111] Two queues signal a fence each. One notification names both queues.
template <heap_shape Shape>
struct queues_named_at_once : model::suite<2> {
  hub_of<self> hub;
  std::array<timeline<Shape>, 2> output;
  std::array<logged_fence<typename timeline<Shape>::fence>, 2> known{hub.add(output[0].line).fence,
                                                                     hub.add(output[1].line).fence};
  std::array<tidemark::basic_queue_log<platform>, 2> log{
      tidemark::basic_queue_log<platform>{tidemark::fence_log_type::signal, 2},
      tidemark::basic_queue_log<platform>{tidemark::fence_log_type::signal, 2}};
  std::array<queue_id, 2> queue{hub.attach(log[0].reader()).queue, hub.attach(log[1].reader()).queue};

  void thread(unsigned index) {
    if (index != 0) {
      output[0].await();
      return output[1].await();
    }
    bool any = false;
    for (unsigned each = 0; each < 2; ++each) {
      output[each].data.store(42);
      output[each].line.publish(1);
      log[each].append({1, known[each].id, tidemark::fence_operation::signal_executed, 0, 0, 0, 1});
      any = output[each].line.is_due(1) || any;
    }
    if (any) hub.notify_queues(queue);
  }
};

/// [A59] [A61] A dispatcher sleeps until the hub is notified, and then serves.
template <notify_style Style, heap_shape Shape>
struct dispatcher : model::suite<3> {
  hub_of<dispatched> hub;
  timeline<Shape> output;
  logged_fence<typename timeline<Shape>::fence> known = hub.add(output.line).fence;
  member<dispatched> queue{hub, Style};

  void thread(unsigned index) {
    if (index == 0) {
      queue.signal(known, output);
      hub.notify_all();
    } else if (index == 1) {
      while (hub.count(hub_event::scan) == 0) MODEL_REQUIRE(hub.serve());
    } else {
      output.await();
    }
  }
};

/// [A99] [A113] [trap 19] The entry of a due signal is overwritten before it is served. The hub then releases its
/// waiter by the fence's current value.
template <heap_shape Shape>
struct overrun : model::suite<3> {
  hub_of<dispatched> hub;
  timeline<Shape> output;
  typename timeline<Shape>::fence other;
  logged_fence<typename timeline<Shape>::fence> known = hub.add(output.line).fence;
  logged_fence<typename timeline<Shape>::fence> noise = hub.add(other).fence;
  member<dispatched, 2> queue{hub, notify_style::by_queue};
  flag ended;

  void thread(unsigned index) {
    if (index == 0) {
      queue.signal(known, output);
      queue.subject.signal(noise, 1);
      queue.subject.signal(noise, 2);
      ended.store(1, std::memory_order_release);
      hub.notify_queue(queue_id{0});
    } else if (index == 1) {
      while (ended.load(std::memory_order_acquire) == 0 || hub.count(hub_event::pass) == 0) {
        MODEL_REQUIRE(hub.serve());
      }
    } else {
      output.await();
    }
  }
  void after() { MODEL_REQUIRE(hub.count(hub_event::overrun) <= 1); }
};

/// [A57] A fence is added and removed while passes run. Once remove() has returned, no pass touches the fence.
template <unsigned Notifiers>
struct removed_beside_pass : model::suite<Notifiers + 1> {
  hub_of<self> hub;
  mortal output;

  void thread(unsigned index) {
    if (index == 0) {
      const auto known = hub.add(output).fence;
      hub.remove(known.id);
      output.gone.store(1);  // a race if a pass still looks at the fence
    } else {
      hub.notify_all();
    }
  }
};

/// [A57] The same for a pass over the log of a queue.
struct removed_beside_log : model::suite<2> {
  hub_of<self> hub;
  mortal output;
  queue_progress progress;
  tidemark::basic_queue<queue_progress, model::known_time> subject{progress, {.log_entries = 2}};

  void before() {
    MODEL_REQUIRE(hub.attach(subject.signal_log()));
    queue_progress sent;
    subject.signal(logged_fence{&sent, fence_id{2}}, 1);  // the id that the next fence gets
  }
  void thread(unsigned index) {
    if (index == 0) {
      const auto known = hub.add(output).fence;
      MODEL_REQUIRE(known.id == fence_id{2});
      hub.remove(known.id);
      output.gone.store(1);
    } else {
      hub.notify_queue(queue_id{0});
    }
  }
};

/// [A61] [A59] A thread that runs a loop serves: it sleeps in the loop until it is asked to, and misses no signal.
template <heap_shape Shape>
struct served_by_loop : model::suite<3> {
  using served = tidemark::basic_loop_served<platform>;
  tidemark::basic_wait_loop<platform> loop;
  hub_of<served> hub{served{loop}};
  timeline<Shape> output;
  logged_fence<typename timeline<Shape>::fence> known = hub.add(output.line).fence;

  void thread(unsigned index) {
    if (index == 0) {
      output.data.store(42);
      output.line.publish(1);
      hub.notify(known.id);
    } else if (index == 1) {
      MODEL_REQUIRE(loop.run_one() == run_status::ran);
      MODEL_REQUIRE(hub.count(hub_event::pass) != 0);
    } else {
      output.await();
    }
  }
};

/// [A61] A queue is removed and destroyed while a pass reads its log. No waiter of its signals is forgotten, and no
/// pass reads the log afterwards.
template <heap_shape Shape>
struct queue_removed_beside_pass : model::suite<3> {
  hub_of<self> hub;
  timeline<Shape> output;
  logged_fence<typename timeline<Shape>::fence> known = hub.add(output.line).fence;
  std::unique_ptr<member<self>> by;

  void before() { by = std::make_unique<member<self>>(hub, notify_style::by_queue); }
  void thread(unsigned index) {
    if (index == 0) {
      by->signal(known, output);
      hub.detach(queue_id{0});
      by.reset();
    } else if (index == 1) {
      hub.notify_engine(engine_id{0});
    } else {
      output.await();
    }
  }
};

/// [A61] [A62] The same for a legacy fence, at which a pass looks only where it is asked for those. Whatever the pass
/// of another thread has taken of the log, the fence is looked at after its signal.
struct queue_of_legacy_removed : model::suite<2> {
  hub_of<self> hub;
  watched output;
  logged_fence<watched> known = hub.add(output, tidemark::fence_kind::legacy).fence;
  std::unique_ptr<member<self>> by;

  void before() { by = std::make_unique<member<self>>(hub, notify_style::by_queue); }
  void thread(unsigned index) {
    if (index == 0) {
      output.tell();
      by->subject.signal(known, 1);
      hub.detach(queue_id{0});
      by.reset();
    } else {
      hub.notify_all();
    }
  }
  void after() { MODEL_REQUIRE(output.is_seen()); }
};

/// [A115] A queue takes the slot of a removed one while an engine is notified. It is served, and has another id.
struct queue_slot_used_again : model::suite<2> {
  hub_of<self> hub;
  watched output;
  logged_fence<watched> known = hub.add(output).fence;
  std::array<std::optional<member<self>>, 2> by;

  void before() { by[0].emplace(hub, notify_style::by_queue); }
  void thread(unsigned index) {
    if (index == 0) {
      hub.detach(queue_id{0});
      by[1].emplace(hub, notify_style::by_queue);
      output.tell();
      by[1]->subject.signal(known, 1);
    } else {
      hub.notify_engine(engine_id{0});
    }
  }
  void after() {
    MODEL_REQUIRE(output.is_seen());
    hub.notify_queue(queue_id{2});
  }
};

/// [A59] [trap 12] Two notifications meet. Whichever thread serves, it looks at each fence after everything that
/// happens-before the fence's notification.
template <notify_style Style>
struct both_are_served : model::suite<2> {
  hub_of<self> hub;
  std::array<watched, 2> output;
  std::array<logged_fence<watched>, 2> known{hub.add(output[0]).fence, hub.add(output[1]).fence};

  void thread(unsigned index) {
    output[index].tell();
    Style == notify_style::by_fence ? hub.notify(known[index].id) : hub.notify_all();
  }
  void after() {
    for (const watched& one : output) MODEL_REQUIRE(one.is_seen());
  }
};

/// [A57] A fence takes the slot of a removed one. It is served, whatever marks the former fence has left.
template <heap_shape Shape>
struct slot_of_the_hub_used_again : model::suite<2> {
  hub_of<self> hub;
  timeline<Shape> first;
  timeline<Shape> second;
  logged_fence<typename timeline<Shape>::fence> known = hub.add(first.line).fence;
  member<self> queue{hub, notify_style::by_fence};

  void thread(unsigned index) {
    if (index == 0) {
      hub.remove(known.id);
      const auto next = hub.add(second.line).fence;
      MODEL_REQUIRE(next.id != known.id && to_number(next.id) % 2 == to_number(known.id) % 2);
      queue.signal(next, second);
    } else {
      second.await();
    }
  }
};

/// [A64] Two fences are signalled as a batch. Both waiters are released.
template <heap_shape Shape>
struct batch : model::suite<3> {
  hub_of<self> hub;
  std::array<timeline<Shape>, 2> output;
  std::array<logged_fence<typename timeline<Shape>::fence>, 2> known{hub.add(output[0].line).fence,
                                                                     hub.add(output[1].line).fence};

  void thread(unsigned index) {
    if (index == 0) {
      for (timeline<Shape>& one : output) one.data.store(42);
      const std::array<tidemark::fence_update, 2> updates{{{known[0].id, 1}, {known[1].id, 1}}};
      hub.signal_batch(updates);
    } else {
      output[index - 1].await();
    }
  }
};

/// [A115] [trap 23] A pass serves the queues of an engine while another queue joins it. That queue stays intact.
template <heap_shape Shape>
struct engine : model::suite<3> {
  hub_of<self> hub;
  timeline<Shape> output;
  logged_fence<typename timeline<Shape>::fence> known = hub.add(output.line).fence;
  queue_progress progress;
  tidemark::basic_queue<queue_progress, model::known_time> subject{progress, {.log_entries = 2}};

  void thread(unsigned index) {
    if (index == 0) {
      MODEL_REQUIRE(hub.attach(subject.signal_log(), engine_id{3}));
    } else if (index == 1) {
      hub.notify_engine(engine_id{3});
    } else {
      output.data.store(42);
      subject.signal(known, 1);
    }
  }
  void after() {
    hub.notify_engine(engine_id{3});
    MODEL_REQUIRE(hub.count(hub_event::log_release) == 1);
    output.await();
  }
};

template <notify_style Style>
struct of_style {
  template <heap_shape Shape>
  using one_signal = ::one_signal<Style, Shape>;
  template <heap_shape Shape>
  using two_notifiers = ::two_notifiers<Style, Shape>;
  template <heap_shape Shape>
  using dispatcher = ::dispatcher<Style, Shape>;
};
using by_queue = of_style<notify_style::by_queue>;
using by_fence = of_style<notify_style::by_fence>;
using by_scan = of_style<notify_style::by_scan>;

}  // namespace

int main(int argc, char** argv) {
  using model::add_on_shapes, model::one_slot;
  std::vector<model::check> checks{
      model::make_check<removed_beside_pass<1>, "removed_beside_pass">(),
      model::make_check<removed_beside_pass<2>, "removed_beside_two_passes">(),
      model::make_check<removed_beside_log, "removed_beside_log">(),
      model::make_check<queue_slot_used_again, "queue_slot_used_again">(),
      model::make_check<queue_of_legacy_removed, "queue_of_legacy_removed">(),
      model::make_check<both_are_served<notify_style::by_fence>, "both_are_served.fence">(),
      model::make_check<both_are_served<notify_style::by_scan>, "both_are_served.scan">(),
  };
  add_on_shapes<by_queue::one_signal, one_slot, "one_signal.queue">(checks);
  add_on_shapes<by_fence::one_signal, one_slot, "one_signal.fence">(checks);
  add_on_shapes<by_scan::one_signal, one_slot, "one_signal.scan">(checks);
  add_on_shapes<by_queue::two_notifiers, one_slot, "two_notifiers.queue">(checks);
  add_on_shapes<by_fence::two_notifiers, one_slot, "two_notifiers.fence">(checks);
  add_on_shapes<by_scan::two_notifiers, one_slot, "two_notifiers.scan">(checks);
  add_on_shapes<mark_in_second_word, one_slot, "mark_in_second_word">(checks);
  add_on_shapes<served_before_due, one_slot, "served_before_due">(checks);
  // The waiter's block is linked while the passes run.
  checks.push_back(model::make_check<served_before_due<model::growing>, "served_before_due.growing">());
  add_on_shapes<untimed_before_due, one_slot, "untimed_before_due">(checks);
  add_on_shapes<skipped_write, one_slot, "skipped_write">(checks);
  add_on_shapes<queues_named_at_once, one_slot, "queues_named_at_once">(checks);
  add_on_shapes<by_queue::dispatcher, one_slot, "dispatcher.queue">(checks);
  add_on_shapes<by_scan::dispatcher, one_slot, "dispatcher.scan">(checks);
  add_on_shapes<overrun, one_slot, "overrun">(checks);
  add_on_shapes<slot_of_the_hub_used_again, one_slot, "slot_used_again">(checks);
  add_on_shapes<batch, one_slot, "batch">(checks);
  add_on_shapes<engine, one_slot, "engine">(checks);
  add_on_shapes<served_by_loop, one_slot, "served_by_loop">(checks);
  add_on_shapes<queue_removed_beside_pass, one_slot, "queue_removed_beside_pass">(checks);
  return model::run(argc, argv, checks);
}
