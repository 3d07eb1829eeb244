// SPDX-License-Identifier: BSL-1.0
#include "round.hpp"

#include <algorithm>
#include <chrono>
#include <ostream>
#include <thread>

#include "../support/watchdog.hpp"

namespace soak {

using tidemark::wait_status;

namespace {

constexpr std::uint32_t no_thread = UINT32_MAX;

void dawdle(std::uint32_t moments) {
  for (; moments > 0; --moments) std::atomic_signal_fence(std::memory_order_seq_cst);
}

std::string name_of(std::uint64_t value) { return value == UINT64_MAX ? "UINT64_MAX" : std::to_string(value); }

}  // namespace

running_round::running_round(const plan& planned, const subject_kind& kind, const mistake_handler& on_mistake)
    : plan_{planned},
      kind_{kind},
      on_mistake_{on_mistake},
      subject_{kind.make(planned.initial)},
      model_{planned},
      cells_(planned.values.size()),
      stops_(planned.stop_sources),
      progress_(planned.threads.size()) {
  for (auto& source : stops_) stop_.push_back(&source);
}

void running_round::run() {
  std::vector<std::thread> threads;
  for (std::uint32_t index = 0; index < plan_.threads.size(); ++index) {
    threads.emplace_back([this, index] { run_thread(index); });
  }
  may_go_.store(true);
  for (auto& thread : threads) thread.join();
  check_when_quiet();
}

void running_round::run_thread(std::uint32_t thread) {
  testing::await([this] { return may_go_.load(); });
  history seen{thread, plan_.initial};
  for (const auto& one : plan_.threads[thread].operations) {
    dawdle(one.dawdle);
    perform(one, seen);
    must(subject_->complaint(), seen);
    auto& ended = progress_[thread].ended;
    ended.store(ended.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  raises_.fetch_add(seen.raises, std::memory_order_relaxed);
}

void running_round::perform(const operation& one, history& seen) {
  switch (one.what) {
    case action::signal:
    case action::signal_next:
      return signal(one, seen);
    case action::signal_again:
      return signal_again(one, seen);
    case action::look:
      return look(one, seen);
    case action::wait:
      return wait(one, seen);
    case action::flash:
      return subject_->flash(one.value);
    case action::follow: {
      const auto& ended = progress_[one.thread].ended;
      return testing::await([&] { return ended.load(std::memory_order_relaxed) >= one.count; });
    }
    case action::request_stop:
      model_.stop_begins(one.source);
      stop_[one.source]->request();
      return model_.stop_ended(one.source);
    case action::poison:
      model_.poison_begins();
      subject_->poison();
      return model_.poison_ended();
  }
}

void running_round::signal(const operation& one, history& seen) {
  cells_[one.cell] = plan_.payload(one.cell);
  const auto before = model_.before();
  model_.signal_begins(seen.thread, one.value);
  std::uint64_t value = one.value;
  bool raised = true;
  if (one.what == action::signal) {
    raised = one.by_queue ? subject_->signal_by_queue(value) : subject_->signal(value);
  } else {
    value = subject_->signal_next();
    const bool lost_one = subject_->may_have_lost_a_signal();
    const bool is_next = value == one.value || (value < one.value && lost_one);
    if (one.value != 0 && !is_next) must("signalled another value than the next", seen);
    if (value <= seen.value && !lost_one) must("signalled a value that was there", seen);
    seen.value = value;
  }
  model_.signal_ended(value);
  if (!subject_->may_have_lost_a_signal())
    must(wrong_with_signal(raised, value, before, model_.after_unordered()), seen);
  // Alone, or the last of all, a signal can't have been overtaken.
  if (!raised && (plan_.signallers == 1 || value == plan_.last())) must("a signal did not raise the value", seen);
  // The signal of a queue notifies without the fence, which does not count it.
  const bool is_counted = !(one.by_queue && kind_.one_signaller);
  if (raised && is_counted) ++seen.raises;
}

void running_round::signal_again(const operation& one, history& seen) {
  const bool raised = subject_->signal(one.value);
  if (raised && !kind_.one_signaller) must("a value was raised twice", seen);
  if (raised) ++seen.raises;
}

void running_round::look(const operation& one, history& seen) {
  const auto before = model_.before();
  const std::uint64_t value = subject_->current_value(one.by_view);
  const auto after = model_.after();
  must(wrong_with_value(value, before, after), seen);
  if (value < seen.value) must("the current value has fallen", seen);
  if (value != UINT64_MAX) seen.value = value;

  const bool is_poisoned = subject_->is_poisoned(one.by_view);
  must(wrong_with_is_poisoned(is_poisoned, before, model_.after()), seen);
  const bool is_reached = subject_->is_reached(one.value, one.by_view);
  must(wrong_with_is_reached(is_reached, one.value, before, model_.after()), seen);
  if (is_reached && !subject_->is_poisoned(one.by_view)) check_payload(one.value, seen);
  const std::uint64_t monitored = subject_->monitored_value(one.by_view);
  if (subject_->is_pinned() && monitored != 0) must("the monitored value is pinned, and is not 0", seen);
}

void running_round::wait(const operation& one, const history& seen) {
  using std::chrono::steady_clock;
  wait_request request{.target = one.value,
                       .form = one.form,
                       .microseconds = one.microseconds,
                       .stop = one.source == no_source ? nullptr : stop_[one.source],
                       .standard_token = one.standard_token,
                       .by_view = one.by_view,
                       .way = one.way};
  const auto before = model_.before(one.source);
  const auto start = steady_clock::now();
  request.at = start + std::chrono::microseconds{one.microseconds};
  const wait_status status = subject_->wait(request);
  const auto took = steady_clock::now() - start;
  if (status == wait_status::reached) check_payload(one.value, seen);  // first: the model's mutex would order it
  must(wrong_with_wait(one, status, took, before, model_.after(one.source)), seen);
}

/// Reads what must have been handed over to a thread that was told that `target` is reached.
void running_round::check_payload(std::uint64_t target, const history& seen) {
  if (target <= plan_.initial) return;
  const auto& values = plan_.values;
  if (target > plan_.last()) return must("reached what nobody signals", seen);
  if (plan_.signallers == 1) {
    const auto at_least = std::lower_bound(values.begin(), values.end(), target);
    return check_cell(static_cast<std::size_t>(at_least - values.begin()), seen);
  }
  if (plan_.is_counted) {  // whose signal it was is known of the last alone, which had all of them before it
    for (std::size_t cell = 0; target == plan_.last() && cell < cells_.size(); ++cell) check_cell(cell, seen);
    return;
  }
  // Another may have jumped over the target: the cell of the value that is there now.
  const std::uint64_t value = subject_->current_value(false);
  if (value == UINT64_MAX && plan_.is_poisoned) return;
  if (value < target) return must("the current value is below one that was reached", seen);
  const auto same = std::lower_bound(values.begin(), values.end(), value);
  if (same == values.end() || *same != value) return must("the current value is none that was signalled", seen);
  check_cell(static_cast<std::size_t>(same - values.begin()), seen);
}

void running_round::check_cell(std::size_t cell, const history& seen) {
  if (cells_[cell] != plan_.payload(cell)) must("what was handed over with the value is not there", seen);
}

void running_round::check_when_quiet() {
  const history seen{no_thread, plan_.initial};
  const std::uint64_t last = plan_.last();
  const std::uint64_t shown = plan_.is_poisoned ? UINT64_MAX : last;
  if (subject_->current_value(false) != shown) must("quiet: the current value is not the greatest signalled", seen);
  const wait_request reached{.target = last, .form = wait_form::timed};
  const bool is_last_reached = subject_->wait(reached) == wait_status::reached || subject_->may_have_lost_a_signal();
  if (!is_last_reached) must("quiet: the last value is not reached", seen);
  for (std::size_t cell = 0; cell < cells_.size(); ++cell) check_cell(cell, seen);
  if (last < UINT64_MAX) {
    const wait_request beyond{.target = last + 1, .form = wait_form::timed};
    const auto expected = plan_.is_poisoned ? wait_status::lost : wait_status::timeout;
    if (subject_->wait(beyond) != expected) must("quiet: a wait for more than the last value ends wrongly", seen);
  }
  const std::uint64_t monitored = subject_->is_pinned() ? 0 : tidemark::no_waiter;
  if (subject_->monitored_value(false) != monitored) must("quiet: the monitored value is not as without waiters", seen);
  const std::uint64_t notified = subject_->notify_count();
  if (notified > raises_ || (kind_.has_statistics && subject_->is_pinned() && notified != raises_)) {
    must("quiet: more or fewer notifications than signals", seen);
  }
  must(subject_->complaint(), seen);
  must(subject_->complaint_when_quiet(), seen);
}

void running_round::must(const char* wrong, const history& seen) const {
  if (wrong == nullptr) return;
  std::string what{wrong};
  if (seen.thread != no_thread) {
    const auto at = progress_[seen.thread].ended.load(std::memory_order_relaxed);
    what = "thread " + std::to_string(seen.thread) + ", operation " + std::to_string(at) + ", " +
           to_string(plan_.threads[seen.thread].operations[at]) + ": " + what;
  }
  on_mistake_(*this, what);
}

std::uint64_t running_round::progress() const {
  std::uint64_t sum = 0;
  for (const auto& one : progress_) sum += one.ended.load(std::memory_order_relaxed);
  return sum;
}

std::vector<std::uint32_t> running_round::ended() const {
  std::vector<std::uint32_t> all;
  for (const auto& one : progress_) all.push_back(one.ended.load(std::memory_order_relaxed));
  return all;
}

/// The value that the signals make which have returned.
std::uint64_t running_round::surely_signalled(const std::vector<std::uint32_t>& ended) const {
  std::uint64_t value = plan_.initial;
  for (std::uint32_t thread = 0; thread < plan_.signallers; ++thread) {
    for (std::uint32_t at = 0; at < ended[thread]; ++at) {
      const auto& one = plan_.threads[thread].operations[at];
      if (one.what != action::signal && one.what != action::signal_next) continue;
      value = plan_.is_counted ? value + 1 : std::max(value, one.value);
    }
  }
  return value;
}

/// Whether an operation of a thread has no reason to go on: a wait that has its value signalled, its stop requested or
/// its timeline poisoned, by what has returned; and all that waits for no other thread. A signal by a queue waits only
/// for the engine.
bool running_round::should_have_returned(const operation& waiting, const std::vector<std::uint32_t>& ended) const {
  if (waiting.what != action::wait) return waiting.what != action::follow;
  if (waiting.value <= surely_signalled(ended)) return true;
  for (std::uint32_t thread = 0; thread < ended.size(); ++thread) {
    for (std::uint32_t at = 0; at < ended[thread]; ++at) {
      const auto& one = plan_.threads[thread].operations[at];
      if (one.what == action::poison) return true;
      if (one.what == action::request_stop && one.source == waiting.source) return true;
    }
  }
  return false;
}

void running_round::print_state(std::ostream& out) const {
  const auto all = ended();
  out << "state: current_value " << name_of(subject_->current_value(false)) << ", monitored_value "
      << name_of(subject_->monitored_value(false)) << (subject_->is_poisoned(false) ? ", poisoned" : "")
      << ", signalled for sure " << name_of(surely_signalled(all)) << '\n';
  for (std::uint32_t thread = 0; thread < all.size(); ++thread) {
    const auto& operations = plan_.threads[thread].operations;
    out << "  thread " << thread << " has ended " << all[thread] << " of " << operations.size();
    if (all[thread] < operations.size()) {
      const auto& one = operations[all[thread]];
      out << ", now: " << to_string(one);
      if (should_have_returned(one, all)) out << " <- should have returned";
    }
    out << '\n';
  }
}

void running_round::print_schedule(std::ostream& out) const { print(out, plan_, ended()); }

}  // namespace soak
