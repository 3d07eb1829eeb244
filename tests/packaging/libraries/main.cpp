// SPDX-License-Identifier: BSL-1.0
//
// A program of three parts that use tidemark: itself, the library that it is linked with, and the library that it opens
// and closes. Each part does something with the objects of each other one. Whatever goes wrong here hangs, or crashes.
//
//   main PLUGIN
#include <dlfcn.h>
#include <sys/syscall.h>

#include <array>
#include <atomic>
#include <thread>

#include "part.hpp"
#include "support/asleep.hpp"

namespace {

using parts::expect;

/// A thread of one part waits, and another part wakes it.
template <class Fence>
void wake(void (*wait)(Fence&), void (*signal)(Fence&)) {
  Fence done;
  std::atomic<long> id{0};
  std::thread waiter([&] {
    id = syscall(SYS_gettid);
    wait(done);
  });
  // If it sleeps somewhere else than in the wait, this proves nothing, and fails nothing.
  while (id == 0 || done.monitored_value() == tidemark::no_waiter || !testing::is_asleep(id)) std::this_thread::yield();
  signal(done);
  waiter.join();
}

/// A coroutine of one part is resumed by another one.
template <class Part>
void resume(const Part& body, const Part& runner) {
  typename Part::loop on;
  typename Part::fence up;
  std::uint64_t count = 0;
  body.count_up(on, up, 8, count);
  for (std::uint64_t value = 1; value <= 8; ++value) {
    up.signal(value);
    (value % 2 == 0 ? body : runner).resume(on);
    expect(count == value, "a coroutine of one part is resumed by another one");
  }
}

template <class Part>
void use(const Part& one, const Part& other) {
  one.end_callback(other);
  one.end_task(other);
  one.end_watch(other);
  one.end_in_signaller(other);
  for (const auto wait : {one.wait, one.wait_any, one.run_at}) wake(wait, other.signal);
  resume(one, other);
}

/// A thread sleeps in a fence that has grown by code which is gone.
template <class Part>
void use_after(const Part& here, typename Part::fence& grown) {
  const auto first = tidemark::call_in_signaller(grown, 2, [] {});
  std::atomic<long> id{0};
  std::thread waiter([&] {
    id = syscall(SYS_gettid);
    here.wait(grown);
  });
  while (id == 0 || grown.monitored_value() != 0 || !testing::is_asleep(id)) std::this_thread::yield();
  here.signal(grown);
  waiter.join();
}

}  // namespace

int main(int count, char** arguments) {
  expect(count == 2, "one argument");
  void* const plugin = ::dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  expect(plugin != nullptr, "the plugin can be opened");
  const auto of_plugin = reinterpret_cast<decltype(&tidemark_test_part)>(::dlsym(plugin, "tidemark_test_part"));
  expect(of_plugin != nullptr && of_plugin != &tidemark_test_part, "the plugin has functions of its own");

  const parts::all here;
  const std::array<const parts::all*, 3> all{&here, tidemark_test_part(), of_plugin()};
  for (const parts::all* const one : all) {
    for (const parts::all* const other : all) {
      use(one->on_native, other->on_native);
      use(one->on_portable, other->on_portable);
    }
  }

  decltype(here.on_native)::fence on_native;
  decltype(here.on_portable)::fence on_portable;
  of_plugin()->on_native.grow(on_native);
  of_plugin()->on_portable.grow(on_portable);
  expect(::dlclose(plugin) == 0, "the plugin can be closed");
  use_after(here.on_native, on_native);
  use_after(here.on_portable, on_portable);
}
