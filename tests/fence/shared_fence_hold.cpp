// SPDX-License-Identifier: BSL-1.0
//
// The hold of the root of a fence that processes share: where waits are about as frequent as signals, waiters of all
// processes issue no barrier between processes. Most tests here have one thread: the signals come from a hook, just
// before the waiter would sleep. So all counts are exact.
#include <tidemark/fence/shared_fence.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "support/counting_platform.hpp"
#include "support/processes.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace tidemark;
using namespace testing;
using namespace std::chrono_literals;

namespace {

template <class Base>
struct without_spins : Base {
  static constexpr unsigned spin_looks() noexcept { return 0; }
};
using hooked = hooked_platform<without_spins<shared_platform>>;
constexpr std::uint64_t nobody = detail::no_minimum;

template <class Platform>
using signaller_on = basic_shared_fence<Platform, writers::one, shared_rights::signal>;
template <class Platform>
using waiter_on = basic_shared_fence<Platform, writers::one, shared_rights::wait>;
template <class Platform>
using reader_on = basic_shared_fence<Platform, writers::one, shared_rights::look>;

/// A fence that processes share, open for a test that looks at the root itself.
template <class Platform = hooked>
class open_fence {
 public:
  open_fence() : made_{signaller_on<Platform>::create()} { REQUIRE(made_); }

  signaller_on<Platform>& operator*() { return made_.fence; }
  signaller_on<Platform>* operator->() { return &made_.fence; }

  std::uint64_t root() const { return *static_cast<const volatile std::uint64_t*>(made_.fence.monitored_address()); }
  detail::hold_state hold() const { return detail::hold_state{word().load(std::memory_order_relaxed)}; }
  bool is_held() const { return hold().holds(); }
  void set_hold(detail::hold_state to) { word().store(to.word(), std::memory_order_relaxed); }

  /// Waits for the next value, which is signalled when the waiter is about to sleep.
  void wait_for_next() {
    const std::uint64_t next = made_.fence.current_value() + 1;
    Platform::at_park = [this] { made_.fence.signal_next(); };
    REQUIRE(made_.fence.wait(next) == wait_status::reached);
    REQUIRE(Platform::at_park.has_run());
  }
  void let_hold() {
    for (int waits = 0; waits < 10'000 && !is_held(); ++waits) wait_for_next();
    REQUIRE(is_held());
  }

 private:
  using layout = detail::shared_layout<Platform>;
  using word_type = typename Platform::template atomic<std::uint64_t>;

  word_type& word() const {
    const void* const root = made_.fence.monitored_address();
    std::byte* const base = const_cast<std::byte*>(static_cast<const std::byte*>(root)) - layout::root_at;
    return layout::template at<word_type>(base, layout::hold_at);
  }

  shared_open_result<signaller_on<Platform>> made_;
};

/// Whether roots are held here at all.
bool is_held_nowhere() {
  if (hooked::asymmetric && signaller_on<hooked>::negotiate<asymmetric_barriers>()) {
    const auto made = signaller_on<hooked>::create();
    REQUIRE(made);
    if (made.fence.monitored_value() == nobody) return false;
  }
  MESSAGE("not tested: waiters need no barrier between processes here, or the system has none, or does not register");
  return true;
}

}  // namespace

TEST_CASE("[A7][A35] where each signal releases a waiter, only the first waits issue a barrier between processes") {
  if (is_held_nowhere()) return;
  open_fence fence;
  const meter<hooked> during;
  for (int waits = 0; waits < 6'000; ++waits) fence.wait_for_next();
  CHECK(during.heavy_barriers() == 5);
  CHECK(fence->notify_count() == 6'000);
  CHECK(fence.is_held());
  CHECK(fence.root() == 0);
  CHECK(fence->monitored_value() == nobody);
}

TEST_CASE("[A7] two processes that wake each other issue few barriers between processes") {
  if (is_held_nowhere()) return;
  const watchdog dog{[] { return std::string{"two processes"}; }};
  using any = basic_shared_fence<hooked, writers::several, shared_rights::signal>;
  auto ping = any::create();
  auto pong = any::create();
  REQUIRE(ping);
  REQUIRE(pong);
  constexpr std::uint64_t rounds = 3'000;
  child_process other{[&] {
    auto hears = any::open(ping.fence.files());
    auto answers = any::open(pong.fence.files());
    if (!hears || !answers) return 1;
    const meter<hooked> during;
    for (std::uint64_t value = 1; value <= rounds; ++value) {
      if (hears.fence.wait(value) != wait_status::reached) return 2;
      answers.fence.signal(value);
    }
    return during.heavy_barriers() <= rounds / 5 ? 0 : 3;
  }};
  const meter<hooked> during;
  for (std::uint64_t value = 1; value <= rounds; ++value) {
    ping.fence.signal(value);
    REQUIRE(pong.fence.wait(value) == wait_status::reached);
  }
  // A dozen on one core and on two. A busy machine may run the processes in another order, in which waits do not sleep.
  CHECK(during.heavy_barriers() <= rounds / 5);
  CHECK(other.wait() == 0);
}

TEST_CASE("[A7] 16 signals in vain end a hold of a shared fence that has released nobody") {
  if (is_held_nowhere()) return;
  open_fence fence;
  for (int waits = 0; waits < 4; ++waits) fence.wait_for_next();
  CHECK_FALSE(fence.is_held());
  // Where the time of a waiter is over before it is registered, the next one begins the hold.
  for (int waits = 0; waits < 10'000 && !fence.is_held(); ++waits)
    CHECK(fence->wait_for(UINT64_MAX, 1ms) == wait_status::timeout);
  REQUIRE(fence.is_held());
  CHECK(fence.root() == 0);
  CHECK(fence->monitored_value() == nobody);
  const std::uint64_t before = fence->notify_count();
  for (int signals = 0; signals < 1'000; ++signals) fence->signal_next();
  CHECK(fence->notify_count() == before + 16);
  CHECK_FALSE(fence.is_held());
  CHECK(fence.root() == nobody);
}

TEST_CASE("[A12][A14][A15] while the root of a shared fence is held, each attachment sees the least target") {
  if (is_held_nowhere()) return;
  const watchdog dog{[] { return std::string{"the least target"}; }};
  open_fence fence;
  fence.let_hold();
  const auto waiting = waiter_on<hooked>::open(fence->files());
  const auto reading = reader_on<hooked>::open(fence->files());
  REQUIRE(waiting);
  REQUIRE(reading);
  CHECK(waiting.fence.least_target() == std::nullopt);
  child_process sleeper{[&] {
    auto opened = waiter_on<hooked>::open(fence->files());
    return opened && opened.fence.wait(50'000) == wait_status::reached ? 0 : 1;
  }};
  await([&] { return fence->monitored_value() == 49'999; });
  CHECK(fence.root() == 0);
  CHECK(waiting.fence.monitored_value() == 49'999);
  CHECK(waiting.fence.least_target() == 50'000);
  if (signaller_on<hooked>::survives_kills) CHECK(reading.fence.least_target() == 50'000);
  fence->signal(50'000);
  CHECK(sleeper.wait() == 0);
  CHECK(waiting.fence.monitored_value() == nobody);
}

TEST_CASE("a hold that was begun by a process that is dead is confirmed by the next waiter") {
  if (is_held_nowhere()) return;
  open_fence fence;
  // It was killed before it refreshed the root.
  fence.set_hold(fence.hold().begun({}));
  CHECK(fence.root() == nobody);
  const meter<hooked> during;
  fence.wait_for_next();
  CHECK(fence.is_held());
  CHECK(during.heavy_barriers() == 1);
  fence.wait_for_next();
  CHECK(during.heavy_barriers() == 1);
}

TEST_CASE("whatever a neighbour writes over the state of a hold, a waiter is woken") {
  if (is_held_nowhere()) return;
  const watchdog dog{[] { return std::string{"nonsense"}; }};
  open_fence fence;
  for (const std::uint64_t nonsense : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3},
                                       UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 2, UINT64_MAX - 3, UINT64_MAX / 2}) {
    for (int waits = 0; waits < 3; ++waits) {
      INFO(nonsense);
      fence.set_hold(detail::hold_state{nonsense});
      fence.wait_for_next();
      CHECK(fence->wait_for(UINT64_MAX, 1ms) == wait_status::timeout);
      fence->signal_next();
    }
    // Once nobody writes, signals in vain become fast again.
    for (int signals = 0; signals < 10'000 && fence.root() == 0; ++signals) fence->signal_next();
    CHECK(fence.root() == nobody);
  }
}

namespace {

struct refusing : hooked_platform<without_spins<shared_platform>> {
  static bool heavy_barrier() noexcept { return !refuses && hooked::heavy_barrier(); }
  static inline bool refuses = false;
};

}  // namespace

TEST_CASE(
    "[A31][A34] where the barrier is refused to the waiter that begins a hold of a shared fence, none begins soon") {
  if (is_held_nowhere()) return;
  open_fence<refusing> fence;
  for (int waits = 0; waits < 4; ++waits) fence.wait_for_next();
  refusing::refuses = true;
  fence.wait_for_next();
  CHECK_FALSE(fence.is_held());
  CHECK(fence.root() == nobody);
  refusing::refuses = false;
  for (int waits = 0; waits < 4'096; ++waits) {
    CHECK_FALSE(fence.is_held());
    fence.wait_for_next();
  }
  // Another process may be allowed what one was refused.
  fence.wait_for_next();
  CHECK(fence.is_held());
}

TEST_CASE("a shared fence whose waiters need no barrier between processes is never held") {
  using symmetric = hooked_platform<without_spins<symmetric_shared_platform>>;
  auto made = signaller_on<symmetric>::create();
  REQUIRE(made);
  auto& fence = made.fence;
  for (int waits = 0; waits < 50; ++waits) {
    symmetric::at_park = [&fence] { fence.signal_next(); };
    REQUIRE(fence.wait(fence.current_value() + 1) == wait_status::reached);
  }
  CHECK(*static_cast<const volatile std::uint64_t*>(fence.monitored_address()) == nobody);
  const std::uint64_t before = fence.notify_count();
  fence.signal_next();
  CHECK(fence.notify_count() == before);
}
