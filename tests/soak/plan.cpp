// SPDX-License-Identifier: BSL-1.0
#include "plan.hpp"

#include <algorithm>
#include <ostream>
#include <sstream>
#include <utility>

#include "numbers.hpp"

namespace soak {

namespace {

/// Makes one plan; what the threads of a round have in common is chosen first.
class planner {
 public:
  planner(std::uint64_t seed, std::uint64_t round) : random_{mixed(seed) + mixed(~round)} {
    plan_.seed = seed;
    plan_.round = round;
  }

  plan make(const std::vector<subject_kind>& kinds) {
    plan_.kind = static_cast<std::size_t>(random_.below(kinds.size()));
    choose_shape(kinds[plan_.kind]);
    choose_values(kinds[plan_.kind]);
    for (auto& thread : plan_.threads) {
      if (thread.part == role::waiter) plan_waiter(thread.operations);
    }
    for (std::uint32_t index = 0; index < plan_.signallers; ++index) plan_signaller(index);
    for (auto& thread : plan_.threads) {
      if (thread.part == role::controller) plan_controller(thread.operations);
    }
    return std::move(plan_);
  }

 private:
  void choose_shape(const subject_kind& kind) {
    plan_.subject = kind.name;
    plan_.is_watched = random_.one_in(2);
    plan_.signallers = kind.one_signaller ? 1 : 1 + number(4);
    plan_.is_counted = plan_.signallers > 1 && random_.one_in(3);
    plan_.is_poisoned = kind.can_be_poisoned && random_.one_in(4);
    const std::uint32_t waiters = random_.one_in(8) ? 8 + number(20) : 1 + number(6);
    if (random_.one_in(2)) plan_.stop_sources = 1 + number(2 * waiters);
    const bool is_controlled = plan_.is_poisoned || plan_.stop_sources > 0;
    plan_.threads.resize(plan_.signallers + (is_controlled ? 1 : 0) + waiters);
    for (std::uint32_t index = 0; index < plan_.signallers; ++index) plan_.threads[index].part = role::signaller;
    if (is_controlled) plan_.threads[plan_.signallers].part = role::controller;
    is_heap_ = kind.is_heap;
    waits_ = 4 + number(60) / (waiters > 6 ? 4 : 1);
    constexpr std::uint32_t dawdles[]{1, 32, 256, 2048};
    dawdle_ = dawdles[random_.below(4)];
    chase_ = number(5);
    bounded_ = number(3);
    tokens_ = number(3);
  }

  /// Steps from the beginning, then the beginning: values also at 0, across 32 bits and up to the very last.
  void choose_values(const subject_kind& kind) {
    const std::uint64_t count = 1 + random_.below(random_.one_in(4) ? 400 : 80);
    const std::uint64_t widest = plan_.is_counted || random_.one_in(2) ? 1 : 4;
    std::uint64_t step = 0;
    for (std::uint64_t made = 0; made < count; ++made) plan_.values.push_back(step += 1 + random_.below(widest));
    switch (random_.below(5)) {
      case 0:
        plan_.initial = random_.below(1000);
        break;
      case 1:
        plan_.initial = (std::uint64_t{1} << 32) - 1 - random_.below(step);
        break;
      case 2:
        plan_.initial = UINT64_MAX - step - (kind.is_heap ? 0 : random_.below(2));
        break;
      default:
        plan_.initial = 0;
    }
    for (auto& value : plan_.values) value += plan_.initial;
  }

  operation some(action what) {
    operation made;
    made.what = what;
    made.dawdle = random_.one_in(2) ? number(dawdle_) : 0;
    made.by_view = random_.one_in(3);
    if (what == action::wait) made.way = some_way();
    return made;
  }

  wait_way some_way() {
    if (random_.one_in(3)) return wait_way::in_list;
    if (random_.one_in(3)) return wait_way::on_loop;
    return random_.one_in(3) ? wait_way::on_engine : wait_way::direct;
  }

  /// Walks up to the last value in steps that the number of waits allows, with steps aside.
  std::uint64_t next_target(std::uint64_t& at) {
    const std::uint64_t range = plan_.last() - plan_.initial;
    at = std::min(plan_.last(), at + random_.below(2 * range / waits_ + 2));
    if (random_.one_in(32)) return plan_.initial;
    if (random_.one_in(32)) return 0;
    if (random_.one_in(24)) return plan_.last();
    return at;
  }

  std::uint32_t some_microseconds() {
    if (random_.one_in(6)) return 0;
    if (random_.one_in(16)) return number(2000);
    return 1 + number(random_.one_in(3) ? 200 : 30);
  }

  void plan_waiter(std::vector<operation>& operations) {
    std::uint64_t at = plan_.initial;
    for (std::uint32_t made = 0; made < waits_; ++made) {
      if (random_.one_in(8)) {
        operations.push_back(some(action::look));
        operations.back().value = next_target(at);
      }
      if (is_heap_ && random_.one_in(4)) {
        operations.push_back(some(action::flash));
        operations.back().value = 1 + random_.below(plan_.last());
      }
      plan_wait(operations, at);
    }
  }

  void plan_wait(std::vector<operation>& operations, std::uint64_t& at) {
    operation made = some(action::wait);
    made.value = next_target(at);
    if (bounded_ > 0 && random_.one_in(bounded_ + 1)) {
      made.form = random_.one_in(2) ? wait_form::timed : wait_form::until;
      made.microseconds = random_.one_in(16) ? no_limit : some_microseconds();
    }
    if (plan_.stop_sources > 0 && tokens_ > 0 && random_.one_in(tokens_ + 1)) {
      made.source = number(plan_.stop_sources);
      made.standard_token = random_.one_in(2);
    }
    const bool ends = made.is_bounded() || made.source != no_source || plan_.is_poisoned;
    if (ends && random_.one_in(6) && plan_.last() < UINT64_MAX) {
      made.value = random_.one_in(4) ? UINT64_MAX : plan_.last() + 1;
    }
    operations.push_back(made);
  }

  /// How many of a waiter's operations are sure to end once the value has come to `value`.
  std::uint32_t certain(const thread_plan& waiter, std::uint64_t value) const {
    std::uint32_t ended = 0;
    for (const auto& one : waiter.operations) {
      if (one.what == action::wait && !one.is_bounded() && one.value > value) break;
      ++ended;
    }
    return ended;
  }

  /// Waits until a waiter has ended `part` of `whole` of what is certain to end.
  void follow_one(std::vector<operation>& operations, std::uint64_t value, std::uint64_t part, std::uint64_t whole) {
    const auto threads = static_cast<std::uint32_t>(plan_.threads.size());
    const std::uint32_t first = threads - count_of(role::waiter);
    operation made = some(action::follow);
    made.thread = first + number(threads - first);
    made.count = static_cast<std::uint32_t>(certain(plan_.threads[made.thread], value) * part / whole);
    if (made.count > 0) operations.push_back(made);
  }

  void plan_signaller(std::uint32_t index) {
    auto& operations = plan_.threads[index].operations;
    std::uint64_t reached = plan_.initial;  // by this signaller alone
    for (std::uint32_t cell = 0; cell < plan_.values.size(); ++cell) {
      // Whose value it is depends on the cell alone, so that all signallers agree.
      const std::uint64_t owner = mixed(plan_.payload(cell)) % plan_.signallers;
      if (owner != index) continue;
      const std::uint64_t value = plan_.values[cell];
      operation made = some(action::signal);
      made.cell = cell;
      made.value = value;
      if (plan_.is_counted) {
        made.what = action::signal_next;
        made.value = 0;
      } else if (plan_.signallers == 1 && value == reached + 1 && random_.one_in(2)) {
        made.what = action::signal_next;
      }
      if (made.what == action::signal) made.by_queue = random_.one_in(6);
      operations.push_back(made);
      reached = plan_.is_counted ? reached + 1 : value;
      if (random_.one_in(16)) operations.push_back(some(action::look));
      if (!plan_.is_counted && random_.one_in(16)) {
        operations.push_back(some(action::signal_again));
        operations.back().value = reached;
      }
      if (random_.below(4) < chase_) follow_one(operations, reached, 1, 1);
    }
  }

  void plan_controller(std::vector<operation>& operations) {
    std::vector<operation> events;
    for (std::uint32_t source = 0; source < plan_.stop_sources; ++source) {
      events.push_back(some(action::request_stop));
      events.back().source = source;
    }
    for (std::size_t left = events.size(); left > 1; --left)
      std::swap(events[left - 1], events[static_cast<std::size_t>(random_.below(left))]);
    if (plan_.is_poisoned) {
      const auto place = static_cast<std::ptrdiff_t>(random_.below(events.size() + 1));
      events.insert(events.begin() + place, some(action::poison));
    }
    for (std::size_t index = 0; index < events.size(); ++index) {
      follow_one(operations, plan_.last(), index + 1, events.size() + 1);
      operations.push_back(events[index]);
    }
  }

  std::uint32_t count_of(role part) const {
    return static_cast<std::uint32_t>(std::count_if(plan_.threads.begin(), plan_.threads.end(),
                                                    [part](const thread_plan& thread) { return thread.part == part; }));
  }
  std::uint32_t number(std::uint64_t bound) { return static_cast<std::uint32_t>(random_.below(bound)); }

  plan plan_;
  numbers random_;
  bool is_heap_ = false;
  std::uint32_t waits_ = 0;    // of each waiter
  std::uint32_t dawdle_ = 0;   // at most, before an operation
  std::uint32_t chase_ = 0;    // of 4 signals that wait for their waiters
  std::uint32_t bounded_ = 0;  // one in so many and one waits has a deadline; 0: none
  std::uint32_t tokens_ = 0;   // or a token
};

std::string duration(const operation& one) {
  return one.microseconds == no_limit ? " ever" : ' ' + std::to_string(one.microseconds) + " us";
}

std::string describe_wait(const operation& one) {
  std::string text = "wait for " + std::to_string(one.value);
  if (one.form == wait_form::timed) text += ", for" + duration(one);
  if (one.form == wait_form::until) text += ", until in" + duration(one);
  if (one.source != no_source) {
    text += ", unless stop " + std::to_string(one.source) + (one.standard_token ? " (std)" : "");
  }
  if (one.way == wait_way::in_list) text += ", in a list";
  if (one.way == wait_way::on_loop) text += ", on a loop";
  if (one.way == wait_way::on_engine) text += ", by a queue of an engine";
  return one.by_view ? text + ", by view" : text;
}

}  // namespace

plan make_plan(std::uint64_t seed, std::uint64_t round, const std::vector<subject_kind>& kinds) {
  return planner{seed, round}.make(kinds);
}

std::uint64_t plan::operations() const {
  std::uint64_t sum = 0;
  for (const auto& thread : threads) sum += thread.operations.size();
  return sum;
}

std::uint64_t plan::payload(std::size_t cell) const { return mixed(seed ^ mixed(round)) + mixed(cell + 1); }

std::uint64_t plan::hash() const {
  std::uint64_t sum = mixed(round + 1);
  const auto add = [&sum](std::uint64_t bits) { sum = mixed(sum ^ bits) + bits; };
  for (const char letter : subject) add(static_cast<unsigned char>(letter));
  for (const std::uint64_t bits : {std::uint64_t{is_watched}, std::uint64_t{is_counted}, std::uint64_t{is_poisoned},
                                   initial, std::uint64_t{stop_sources}, std::uint64_t{signallers}}) {
    add(bits);
  }
  for (const auto value : values) add(value);
  for (const auto& thread : threads) {
    add(static_cast<std::uint64_t>(thread.part));
    for (const auto& one : thread.operations) {
      add(static_cast<std::uint64_t>(one.what) | static_cast<std::uint64_t>(one.form) << 8 |
          std::uint64_t{one.by_view} << 16 | static_cast<std::uint64_t>(one.way) << 17 |
          std::uint64_t{one.standard_token} << 24 | std::uint64_t{one.by_queue} << 25 |
          std::uint64_t{one.dawdle} << 32);
      add(one.value);
      add(std::uint64_t{one.microseconds} | std::uint64_t{one.source} << 32);
      add(std::uint64_t{one.thread} | std::uint64_t{one.count} << 32);
      add(one.cell);
    }
  }
  return sum;
}

std::string to_string(const operation& one) {
  switch (one.what) {
    case action::signal:
      return "signal " + std::to_string(one.value) + (one.by_queue ? ", by a queue" : "");
    case action::signal_next:
      return one.value == 0 ? "signal the next" : "signal the next, " + std::to_string(one.value);
    case action::signal_again:
      return "signal " + std::to_string(one.value) + " again";
    case action::look:
      return "look for " + std::to_string(one.value) + (one.by_view ? ", by view" : "");
    case action::wait:
      return describe_wait(one);
    case action::flash:
      return "add " + std::to_string(one.value) + " and withdraw";
    case action::follow:
      return "follow thread " + std::to_string(one.thread) + " through " + std::to_string(one.count);
    case action::request_stop:
      return "request stop " + std::to_string(one.source);
    case action::poison:
      return "poison";
  }
  return "?";
}

std::string title(const plan& round) {
  std::ostringstream text;
  text << "round " << round.round << ", schedule " << std::hex << round.hash() << std::dec << ": " << round.subject
       << ", from " << round.initial << " to " << round.last() << ", " << round.signallers << " signalling"
       << (round.is_counted ? " the next" : "") << " of " << round.threads.size() << " threads, " << round.operations()
       << " operations" << (round.stop_sources > 0 ? ", stops" : "") << (round.is_poisoned ? ", poison" : "")
       << (round.is_watched ? ", watched" : "");
  return text.str();
}

void print(std::ostream& out, const plan& round, const std::vector<std::uint32_t>& ended) {
  for (std::size_t index = 0; index < round.threads.size(); ++index) {
    const auto& thread = round.threads[index];
    const char* const part = thread.part == role::signaller ? "signaller"
                             : thread.part == role::waiter  ? "waiter"
                                                            : "controller";
    out << "  thread " << index << ", " << part << '\n';
    for (std::size_t at = 0; at < thread.operations.size(); ++at) {
      const bool is_marked = index < ended.size() && at <= ended[index];
      const char* const mark = !is_marked ? "    " : at < ended[index] ? "  . " : "  > ";
      out << mark << at << ": " << to_string(thread.operations[at]);
      if (thread.operations[at].dawdle > 0) out << " (dawdle " << thread.operations[at].dawdle << ')';
      out << '\n';
    }
  }
}

}  // namespace soak
