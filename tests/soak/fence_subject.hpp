// SPDX-License-Identifier: BSL-1.0
//
// A fence as a subject, and lists of kinds of fence.
#ifndef TIDEMARK_TESTS_SOAK_FENCE_SUBJECT_HPP
#define TIDEMARK_TESTS_SOAK_FENCE_SUBJECT_HPP

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tidemark/engine/engine.hpp>
#include <tidemark/engine/engine_queue.hpp>
#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/wait_many.hpp>
#include <tidemark/log/log_clock.hpp>
#include <tidemark/loop/wait_loop.hpp>

#include "../support/coroutine.hpp"
#include "fault.hpp"
#include "subject.hpp"

namespace soak {

/// The wait that a request asks for, on whatever can be waited on.
template <class Waitable, class... Token>
tidemark::wait_status wait_as(const Waitable& on, const wait_request& request, const Token&... token) {
  using std::chrono::microseconds;
  const bool is_endless = request.microseconds == no_limit;
  const std::uint64_t target = request.target - (has(fault::early) && request.target > 0 ? 1 : 0);
  switch (request.form) {
    case wait_form::timed:
      return on.wait_for(target, is_endless ? microseconds::max() : microseconds{request.microseconds}, token...);
    case wait_form::until:
      return on.wait_until(target, is_endless ? tidemark::no_deadline : request.at, token...);
    default:
      return on.wait(target, token...);
  }
}

template <class Waitable>
tidemark::wait_status wait_on(const Waitable& on, const wait_request& request) {
  if (request.stop == nullptr) return wait_as(on, request);
#if defined(__cpp_lib_jthread)
  if (request.standard_token) return wait_as(on, request, request.stop->standard.get_token());
#endif
  return wait_as(on, request, request.stop->manual.get_token());
}

/// A wait for one timeline as a wait for all of a list, which registers it twice.
template <class Timeline>
class in_list {
 public:
  explicit in_list(const Timeline& timeline) : timeline_{timeline} {}

  template <class... Token>
  tidemark::wait_status wait(std::uint64_t target, const Token&... token) const {
    return tidemark::wait_all(list(target), token...);
  }
  template <class Duration, class... Token>
  tidemark::wait_status wait_for(std::uint64_t target, const Duration& timeout, const Token&... token) const {
    return tidemark::wait_all_for(list(target), timeout, token...);
  }
  template <class Time, class... Token>
  tidemark::wait_status wait_until(std::uint64_t target, const Time& at, const Token&... token) const {
    return tidemark::wait_all_until(list(target), at, token...);
  }

 private:
  auto list(std::uint64_t target) const {
    using awaited = tidemark::basic_awaited<typename Timeline::platform>;
    return std::array<awaited, 2>{awaited{timeline_, target}, awaited{timeline_, target / 2}};
  }

  const Timeline& timeline_;
};

/// A wait of a coroutine on a loop of the thread's own.
template <class Timeline>
class on_loop {
 public:
  explicit on_loop(const Timeline& timeline) : timeline_{timeline} {}

  template <class... Token>
  tidemark::wait_status wait(std::uint64_t target, const Token&... token) const {
    return run([&](auto& loop) { return loop.reached(timeline_, target, token...); });
  }
  template <class Duration, class... Token>
  tidemark::wait_status wait_for(std::uint64_t target, const Duration& timeout, const Token&... token) const {
    return run([&](auto& loop) { return loop.reached_for(timeline_, target, timeout, token...); });
  }
  template <class Time, class... Token>
  tidemark::wait_status wait_until(std::uint64_t target, const Time& at, const Token&... token) const {
    return run([&](auto& loop) { return loop.reached_until(timeline_, target, at, token...); });
  }

 private:
  using loop_type = tidemark::basic_wait_loop<typename Timeline::platform>;

  template <class Awaiter>
  static testing::coroutine keep(tidemark::wait_status& status, loop_type& loop, const Awaiter& awaiter_on) {
    status = co_await awaiter_on(loop);
    loop.stop();
  }
  template <class Awaiter>
  static tidemark::wait_status run(const Awaiter& awaiter_on) {
    loop_type loop;
    tidemark::wait_status status{};
    const testing::coroutine waiting = keep(status, loop, awaiter_on);
    static_cast<void>(loop.run());
    return status;
  }

  const Timeline& timeline_;
};

template <class Platform>
using engine_queue_on = tidemark::basic_engine_queue<Platform, tidemark::no_log_clock>;

/// A wait of a queue of an engine. The thread waits until the queue is past it, or gives the queue up.
template <class Timeline>
class on_engine {
 public:
  using engine_type = tidemark::basic_engine<typename Timeline::platform>;

  on_engine(const Timeline& timeline, engine_type& engine) : timeline_{timeline}, engine_{engine} {}

  template <class... Token>
  tidemark::wait_status wait(std::uint64_t target, const Token&... token) const {
    return ended(target, [&](auto& queue) { return queue.drain(token...); });
  }
  template <class Duration, class... Token>
  tidemark::wait_status wait_for(std::uint64_t target, const Duration& timeout, const Token&... token) const {
    return ended(target, [&](auto& queue) { return queue.drain_for(timeout, token...); });
  }
  template <class Time, class... Token>
  tidemark::wait_status wait_until(std::uint64_t target, const Time& at, const Token&... token) const {
    return ended(target, [&](auto& queue) { return queue.drain_until(at, token...); });
  }

 private:
  using queue_type = engine_queue_on<typename Timeline::platform>;

  template <class Drain>
  tidemark::wait_status ended(std::uint64_t target, const Drain& drain) const {
    using tidemark::wait_status;
    queue_type queue{engine_, {.log_entries = 2}};
    queue.wait(timeline_, target);
    if (!queue.submit()) return wait_status::lost;
    const wait_status status = drain(queue);
    if (status == wait_status::reached || status == wait_status::lost) return status;
    // The engine may not have come to it.
    const wait_status now = timeline_.wait_for(target, std::chrono::seconds{0});
    return now == wait_status::timeout ? status : now;
  }

  const Timeline& timeline_;
  engine_type& engine_;
};

template <class Fence>
class fence_subject final : public subject {
  static constexpr bool is_elsewhere = Fence::options.storage == tidemark::value_storage::caller;

 public:
  explicit fence_subject(std::uint64_t initial)
    requires(!is_elsewhere)
      : fence_{initial} {}
  explicit fence_subject(std::uint64_t initial)
    requires is_elsewhere
      : fence_{value_.data(), initial} {}

  bool signal(std::uint64_t value) override {
    if constexpr (std::same_as<decltype(fence_.signal(value)), bool>) {
      return fence_.signal(value);
    } else {
      fence_.signal(value);
      return true;
    }
  }
  bool signal_by_queue(std::uint64_t value) override {
    engine_queue_on<typename Fence::platform> queue{engine_, {.log_entries = 2}};
    bool raised = true;
    if constexpr (std::same_as<decltype(fence_.signal(value)), bool>) {
      queue.run([&] { raised = fence_.signal(value); });  // a queue's own signal does not say it
    } else {
      queue.signal(fence_, value);
    }
    return queue.submit() && queue.drain() == tidemark::wait_status::reached && raised;
  }
  std::uint64_t signal_next() override { return fence_.signal_next(); }
  void poison() override { fence_.poison(); }

  tidemark::wait_status wait(const wait_request& request) override {
    return request.by_view ? wait_through(fence_.view(), request) : wait_through(fence_, request);
  }

  std::uint64_t current_value(bool by_view) const override {
    return by_view ? fence_.view().current_value() : fence_.current_value();
  }
  bool is_reached(std::uint64_t target, bool by_view) const override {
    return by_view ? fence_.view().is_reached(target) : fence_.is_reached(target);
  }
  bool is_poisoned(bool by_view) const override { return by_view ? fence_.view().is_poisoned() : fence_.is_poisoned(); }
  std::uint64_t monitored_value(bool by_view) const override {
    return by_view ? fence_.view().monitored_value() : fence_.monitored_value();
  }
  std::uint64_t notify_count() const override {
    if constexpr (Fence::options.statistics) {
      return fence_.notify_count();
    } else {
      return 0;
    }
  }
  bool is_pinned() const override { return !Fence::platform::heavy_barrier_available(); }
  bool may_have_lost_a_signal() const override { return is_elsewhere && fence_.is_poisoned(); }

 private:
  template <class Waitable>
  tidemark::wait_status wait_through(const Waitable& on, const wait_request& request) {
    switch (request.way) {
      case wait_way::in_list:
        return wait_on(in_list{on}, request);
      case wait_way::on_loop:
        return wait_on(on_loop{on}, request);
      case wait_way::on_engine:
        return wait_on(on_engine{on, engine_}, request);
      default:
        return wait_on(on, request);
    }
  }

  alignas(8) std::array<std::byte, 8> value_{};
  Fence fence_;
  tidemark::basic_engine<typename Fence::platform> engine_{{.threads = 2}};
};

inline std::string options_text(const tidemark::fence_options& options) {
  using tidemark::fence_layout, tidemark::value_storage;
  return " capacity " + std::to_string(options.capacity) + " arity " + std::to_string(options.arity) + " spins " +
         std::to_string(options.max_spin_ns) + (options.layout == fence_layout::one_line ? " one_line" : "") +
         (options.storage == value_storage::caller ? " caller" : "") +
         (options.growth == tidemark::heap_growth::allowed ? " growing" : "") +
         (options.statistics ? " statistics" : "");
}

template <class Fence>
void add_fence(std::vector<subject_kind>& kinds, const std::string& name, bool one_signaller) {
  kinds.push_back({.name = name + options_text(Fence::options),
                   .one_signaller = one_signaller,
                   .has_statistics = Fence::options.statistics,
                   .make = [](std::uint64_t initial) -> std::unique_ptr<subject> {
                     return std::make_unique<fence_subject<Fence>>(initial);
                   }});
}

// What there is to choose from. The twin has few: it is about the faults.
inline constexpr auto one_line = tidemark::fence_layout::one_line;
inline constexpr auto caller = tidemark::value_storage::caller;
inline constexpr auto forbidden = tidemark::heap_growth::forbidden;
inline constexpr tidemark::fence_options usual{};
inline constexpr tidemark::fence_options lone{.capacity = 1, .growth = forbidden, .max_spin_ns = 0};
inline constexpr tidemark::fence_options pair{.capacity = 2, .arity = 2, .max_spin_ns = 0, .statistics = true};
inline constexpr tidemark::fence_options tight{.capacity = 3, .growth = forbidden, .layout = one_line};
inline constexpr tidemark::fence_options odd{
    .capacity = 5, .arity = 3, .max_spin_ns = 0, .layout = one_line, .statistics = true};
inline constexpr tidemark::fence_options binary{
    .capacity = 8, .arity = 2, .growth = forbidden, .storage = caller, .statistics = true};
inline constexpr tidemark::fence_options flat{.capacity = 16, .arity = 16, .max_spin_ns = 0, .storage = caller};
inline constexpr tidemark::fence_options deep{.capacity = 33, .max_spin_ns = 0, .statistics = true};
inline constexpr tidemark::fence_options wide{
    .capacity = 64, .max_spin_ns = 0, .layout = one_line, .storage = caller, .statistics = true};

/// Adds `Fence<Platform, Options>` for each of the options.
template <template <class, tidemark::fence_options> class Fence, class Platform, tidemark::fence_options... Options>
void add_each(std::vector<subject_kind>& kinds, const std::string& name, bool one_signaller) {
  (add_fence<Fence<Platform, Options>>(kinds, name, one_signaller), ...);
}

}  // namespace soak

#endif  // TIDEMARK_TESTS_SOAK_FENCE_SUBJECT_HPP
