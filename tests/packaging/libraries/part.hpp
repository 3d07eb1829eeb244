// SPDX-License-Identifier: BSL-1.0
//
// What each part of a program does with objects of another one: the executable, a library that it is linked with, and
// one that it opens. Each part has these functions compiled for itself.
#ifndef TIDEMARK_TESTS_PACKAGING_LIBRARIES_PART_HPP
#define TIDEMARK_TESTS_PACKAGING_LIBRARIES_PART_HPP

#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>

#include <tidemark/fence/detached.hpp>
#include <tidemark/fence/signaller_callback.hpp>
#include <tidemark/fence/wait_many.hpp>
#include <tidemark/loop/descriptor_watch.hpp>
#include <tidemark/loop/wait_loop.hpp>
#include <tidemark/platform/portable_platform.hpp>

namespace parts {

inline void expect(bool is_true, const char* what) {
  if (is_true) return;
  std::fprintf(stderr, "not true: %s\n", what);
  std::exit(1);
}

/// Types of the library, for one platform.
template <class Platform>
struct types {
  using function = std::function<void()>;
  using fence = tidemark::basic_fence<Platform, tidemark::fence_options{.capacity = 1, .callbacks = true}>;
  using loop = tidemark::basic_wait_loop<Platform>;
  using callback = std::optional<tidemark::basic_callback<Platform, function>>;
  using task = std::optional<tidemark::basic_loop_task<Platform, function>>;
  using watch = std::optional<tidemark::descriptor_watch<loop, function>>;
  using in_signaller = std::optional<tidemark::signaller_callback<fence, function>>;
};

/// What a part calls that does nothing but end a registration.
template <class Platform>
struct endings : types<Platform> {
  using typename types<Platform>::callback;
  using typename types<Platform>::in_signaller;
  using typename types<Platform>::task;
  using typename types<Platform>::watch;

  void (*cancel_callback)(callback&) = [](callback& of) { static_cast<void>(of->cancel()); };
  void (*destroy_callback)(callback&) = [](callback& of) { of.reset(); };
  void (*destroy_task)(task&) = [](task& of) { of.reset(); };
  void (*destroy_watch)(watch&) = [](watch& of) { of.reset(); };
  void (*cancel_in_signaller)(in_signaller&) = [](in_signaller& of) { static_cast<void>(of->cancel()); };
  void (*destroy_in_signaller)(in_signaller&) = [](in_signaller& of) { of.reset(); };
};

/// What a part does with the objects of another one.
template <class Platform>
struct part : endings<Platform> {
  using fence = typename types<Platform>::fence;
  using loop = typename types<Platform>::loop;
  using other = endings<Platform>;

  // ---- callables that end themselves by code of another part ----

  void (*end_callback)(const other&) = [](const other& by) {
    for (const auto end : {by.cancel_callback, by.destroy_callback}) {
      loop on;
      fence done;
      typename other::callback self;
      self.emplace(on, tidemark::basic_awaited<Platform>{done, 1}, [&, end] { end(self); });
      done.signal(1);
      expect(on.poll() == 1, "a callable of a loop ends itself");
    }
  };
  void (*end_task)(const other&) = [](const other& by) {
    loop on;
    typename other::task self;
    self.emplace(on, [&] { by.destroy_task(self); });
    self->post();
    expect(on.poll() == 1, "a task ends itself");
  };
  void (*end_watch)(const other&) = [](const other& by) {
    const int readable = ::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    {
      loop on;
      typename other::watch self;
      self.emplace(on, readable, tidemark::descriptor_readiness::readable, [&] { by.destroy_watch(self); });
      expect(self->error() == 0 && on.run_one() == tidemark::run_status::ran, "a watch ends itself");
    }
    ::close(readable);
  };
  void (*end_in_signaller)(const other&) = [](const other& by) {
    for (const auto end : {by.cancel_in_signaller, by.destroy_in_signaller}) {
      fence done;
      bool has_run = false;
      typename other::in_signaller self;
      self.emplace(done, 1, [&, end] {
        has_run = true;
        end(self);
      });
      done.signal(1);
      expect(has_run, "a callable in the signaller ends itself");
    }
  };

  // ---- sleeping and waking ----

  void (*wait)(fence&) = [](fence& on) { expect(on.wait(1) == tidemark::wait_status::reached, "a wait ends"); };
  void (*wait_any)(fence&) = [](fence& on) {
    const fence never;
    using awaited = tidemark::basic_awaited<Platform>;
    const auto end = tidemark::wait_any(std::array{awaited{never, 1}, awaited{on, 1}});
    expect(end == tidemark::wait_status::reached && end.index == 1, "a wait for one of two ends");
  };
  void (*run_at)(fence&) = [](fence& on) {
    loop runs;
    const auto stops = runs.on_reached(on, 1, [&] { runs.stop(); });
    expect(runs.run() == tidemark::run_status::stopped, "a loop runs what was released");
  };
  void (*signal)(fence&) = [](fence& on) { on.signal(1); };

  // ---- coroutines ----

  /// Awaits 1 to `last`, and counts.
  void (*count_up)(loop&, fence&, std::uint64_t last, std::uint64_t& count) =
      [](loop& on, fence& up, std::uint64_t last, std::uint64_t& count) { counts_up(on, up, last, count); };
  void (*resume)(loop&) = [](loop& of) { of.poll(); };

  // ---- growth ----

  /// Lets the fence grow.
  void (*grow)(fence&) = [](fence& of) {
    const auto nothing = [] {};
    const auto first = tidemark::call_in_signaller(of, 1, nothing);
    const auto second = tidemark::call_in_signaller(of, 1, nothing);
    const auto third = tidemark::call_in_signaller(of, 1, nothing);
  };

 private:
  static tidemark::detached counts_up(loop& on, fence& up, std::uint64_t last, std::uint64_t& count) {
    while (count < last) {
      expect(co_await on.reached(up, count + 1) == tidemark::wait_status::reached, "a coroutine goes on");
      ++count;
    }
  }
};

/// A part with both forms of parking. Where futexes are turned off, they are one.
struct all {
  part<tidemark::native_platform> on_native;
  part<tidemark::portable_platform> on_portable;
};

}  // namespace parts

extern "C" __attribute__((visibility("default"))) const parts::all* tidemark_test_part();

#endif  // TIDEMARK_TESTS_PACKAGING_LIBRARIES_PART_HPP
