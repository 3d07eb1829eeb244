// SPDX-License-Identifier: BSL-1.0
//
// The slab: where its words lie, what a handle is worth, and waits while fences come and go. The sanitizers see what a
// late call does to a slot.
#include <tidemark/fence/fence_slab.hpp>

#include <tidemark/fence/least_of.hpp>
#include <tidemark/fence/wait_many.hpp>
#include <tidemark/loop/wait_loop.hpp>
#include <tidemark/memory/upload_ring.hpp>
#include <tidemark/platform/portable_platform.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/counting_platform.hpp"
#include "support/manual_stop.hpp"
#include "support/threads.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::fence_handle;
using tidemark::fence_options;
using tidemark::fence_slab_status;
using tidemark::no_waiter;
using tidemark::slab_signal_status;
using tidemark::wait_status;
using tidemark::writers;

namespace {

constexpr fence_options calm{.capacity = 2, .max_spin_ns = 0};

template <class Base>
using slab_of_several = tidemark::basic_fence_slab<counting_platform<Base>, writers::several, calm>;
template <class Base>
using slab_of_one = tidemark::basic_fence_slab<counting_platform<Base>, writers::one, calm>;

#define EVERY_SLAB                                                                            \
  slab_of_several<tidemark::symmetric_platform>, slab_of_several<tidemark::native_platform>,  \
      slab_of_one<tidemark::symmetric_platform>, slab_of_one<tidemark::native_platform>,      \
      slab_of_several<tidemark::portable_platform>, slab_of_one<tidemark::portable_platform>, \
      slab_of_one<without_barrier>, slab_of_several<without_barrier>

/// A system that has no heavy barrier.
struct without_barrier : tidemark::native_platform {
  static bool heavy_barrier_available() noexcept { return false; }
  static bool heavy_barrier() noexcept {
    tidemark::native_platform::full_barrier();
    return false;
  }
};

template <class Slab>
constexpr std::uint64_t idle() {
  return Slab::platform::heavy_barrier_available() ? no_waiter : 0;
}

/// An allocator of the program's, which notes what it was asked for.
struct noting_allocator {
  struct call {
    std::size_t bytes;
    std::size_t alignment;
    std::uint64_t hint;
    void* memory;
  };
  std::vector<call> calls;
  std::size_t freed = 0;
  bool is_empty = false;

  tidemark::memory_placement placement(std::uint64_t hint) {
    return {.allocate =
                [](void* self, std::size_t bytes, std::size_t alignment, std::uint64_t with) noexcept {
                  auto& of = *static_cast<noting_allocator*>(self);
                  void* const memory = of.is_empty ? nullptr : std::aligned_alloc(alignment, rounded(bytes, alignment));
                  of.calls.push_back({bytes, alignment, with, memory});
                  return memory;
                },
            .deallocate =
                [](void* self, void* memory, std::size_t bytes, std::size_t alignment) noexcept {
                  auto& of = *static_cast<noting_allocator*>(self);
                  for (const call& each : of.calls) {
                    if (each.memory == memory && each.bytes == bytes && each.alignment == alignment) ++of.freed;
                  }
                  std::free(memory);
                },
            .context = this,
            .hint = hint};
  }
  static std::size_t rounded(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }
};

std::uintptr_t number_of(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

}  // namespace

TYPE_TO_STRING_AS("fence_slab", tidemark::fence_slab);
TYPE_TO_STRING_AS("progress_fence_slab", tidemark::progress_fence_slab);
TYPE_TO_STRING_AS("several/symmetric", slab_of_several<tidemark::symmetric_platform>);
TYPE_TO_STRING_AS("several/native", slab_of_several<tidemark::native_platform>);
TYPE_TO_STRING_AS("several/portable", slab_of_several<tidemark::portable_platform>);
TYPE_TO_STRING_AS("several/no barrier", slab_of_several<without_barrier>);
TYPE_TO_STRING_AS("one/symmetric", slab_of_one<tidemark::symmetric_platform>);
TYPE_TO_STRING_AS("one/native", slab_of_one<tidemark::native_platform>);
TYPE_TO_STRING_AS("one/portable", slab_of_one<tidemark::portable_platform>);
TYPE_TO_STRING_AS("one/no barrier", slab_of_one<without_barrier>);

// ---- where the words lie --------------------------------------------------------------------------------------------

TEST_CASE("[A22] the values of 64 fences lie in one page, as far apart as was asked for") {
  for (const std::size_t stride : {std::size_t{64}, std::size_t{8}, std::size_t{24}}) {
    auto made = tidemark::fence_slab::make({.fences = 64, .value_stride = stride, .monitored_stride = stride});
    REQUIRE(made);
    std::set<std::uintptr_t> addresses;
    std::set<std::uintptr_t> pages;
    for (int i = 0; i < 64; ++i) {
      const fence_handle each = made.slab->acquire();
      REQUIRE(each);
      addresses.insert(number_of(made.slab->value_address(each)));
      pages.insert(number_of(made.slab->value_address(each)) / 4096);
    }
    CHECK(!made.slab->acquire());
    CHECK(pages.size() == 1);
    std::uintptr_t expected = *addresses.begin();
    for (const std::uintptr_t each : addresses) {
      CHECK(each == expected);
      expected += stride;
    }
  }
}

TEST_CASE("[trap 25] values and monitored words have strides of their own, and lie apart") {
  auto made = tidemark::fence_slab::make({.fences = 8, .value_stride = 128, .monitored_stride = 8});
  REQUIRE(made);
  const fence_handle first = made.slab->acquire();
  const fence_handle second = made.slab->acquire();
  CHECK(number_of(made.slab->value_address(second)) - number_of(made.slab->value_address(first)) == 128);
  const std::uintptr_t monitored = number_of(made.slab->monitored_address(first));
  CHECK(number_of(made.slab->monitored_address(second)) - monitored == 8);
  const std::uintptr_t value = number_of(made.slab->value_address(first));
  CHECK((monitored >= value + 8 * 128 || monitored + 8 * 8 <= value));
}

TEST_CASE("[A23] a slab whose fences processes could share is refused, and says why") {
  const auto made = tidemark::fence_slab::make({.is_shareable = true});
  CHECK(!made);
  CHECK(made.status == fence_slab_status::shareable);
  CHECK(to_string(made.status) == "shareable");
}

TEST_CASE("[A24] a slab whose fences cross domains is refused, and says why") {
  noting_allocator local;
  const auto made = tidemark::fence_slab::make({.values = local.placement(1), .crosses_domains = true});
  CHECK(made.status == fence_slab_status::crosses_domains);
  CHECK(to_string(made.status) == "crosses_domains");
  CHECK(local.calls.empty());
}

TEST_CASE("[A25] the values lie where an allocator of the program's says, which is told size, alignment and hint") {
  noting_allocator values;
  {
    auto made = tidemark::fence_slab::make({.fences = 64, .values = values.placement(7)});
    REQUIRE(made);
    REQUIRE(values.calls.size() == 1);
    CHECK(values.calls[0].bytes == 64 * 64);
    CHECK(values.calls[0].alignment == 4096);
    CHECK(values.calls[0].hint == 7);
    const fence_handle first = made.slab->acquire();
    CHECK(made.slab->value_address(first) == values.calls[0].memory);
    CHECK(values.freed == 0);
  }
  CHECK(values.freed == 1);
}

TEST_CASE("[A26] the monitored words have an allocator of their own, and may lie on another node") {
  noting_allocator values;
  noting_allocator monitored;
  {
    auto made = tidemark::fence_slab::make({.fences = 10,
                                            .value_stride = 8,
                                            .monitored_stride = 16,
                                            .values = values.placement(0),
                                            .monitored = monitored.placement(1)});
    REQUIRE(made);
    REQUIRE(monitored.calls.size() == 1);
    CHECK(monitored.calls[0].bytes == 160);
    CHECK(monitored.calls[0].hint == 1);
    CHECK(values.calls[0].hint == 0);
    const fence_handle first = made.slab->acquire();
    CHECK(made.slab->monitored_address(first) == monitored.calls[0].memory);
  }
  CHECK(values.freed + monitored.freed == 2);
}

TEST_CASE("[A25] what an allocator can't give is said, and what was had is given back") {
  noting_allocator values;
  noting_allocator monitored;
  monitored.is_empty = true;
  const auto made = tidemark::fence_slab::make({.values = values.placement(0), .monitored = monitored.placement(0)});
  CHECK(made.status == fence_slab_status::no_memory);
  CHECK(values.freed == 1);
  CHECK(monitored.freed == 0);
}

TEST_CASE("counts and strides that can't be had are refused") {
  using slab = tidemark::fence_slab;
  CHECK(slab::make({.fences = 0}).status == fence_slab_status::wrong_count);
  CHECK(slab::make({.fences = std::size_t{1} << 24}).status == fence_slab_status::wrong_count);
  CHECK(slab::make({.value_stride = 0}).status == fence_slab_status::wrong_stride);
  CHECK(slab::make({.value_stride = 12}).status == fence_slab_status::wrong_stride);
  CHECK(slab::make({.monitored_stride = 4}).status == fence_slab_status::wrong_stride);
  CHECK(slab::make({.monitored_stride = SIZE_MAX / 8 * 8}).status == fence_slab_status::wrong_stride);
}

TEST_CASE("a million packed fences take 32 bytes each") {
  constexpr std::size_t count = 1'000'000;
  noting_allocator values;
  noting_allocator monitored;
  auto made = tidemark::progress_fence_slab::make({.fences = count,
                                                   .value_stride = 8,
                                                   .monitored_stride = 8,
                                                   .values = values.placement(0),
                                                   .monitored = monitored.placement(0)});
  REQUIRE(made);
  const std::size_t beside = sizeof(tidemark::detail::slab_slot<tidemark::native_platform>);
  CHECK((values.calls[0].bytes + monitored.calls[0].bytes) / count + beside == 32);
  std::vector<fence_handle> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(made.slab->acquire(i));
  CHECK(!made.slab->acquire());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) wrong += made.slab->current_value(all[i]) == i ? 0U : 1U;
  for (const fence_handle each : all) wrong += made.slab->release(each) ? 0U : 1U;
  CHECK(wrong == 0);
  CHECK(made.slab->rooms_in_use() == 0);
}

// ---- handles --------------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[trap 24] a stale handle is refused by every call", Slab, EVERY_SLAB) {
  auto made = Slab::make({.fences = 1});
  Slab& fences = *made.slab;
  const fence_handle old = fences.acquire(5);
  CHECK(fences.current_value(old) == 5);
  CHECK(fences.is_in_use(old));
  const auto view = fences.view(old);
  CHECK(fences.release(old));
  const fence_handle fresh = fences.acquire(1);
  CHECK(fresh != old);
  for (const fence_handle stale : {old, fence_handle{}, fence_handle{(std::uint64_t{1} << 32) + 17}}) {
    CHECK(!fences.is_in_use(stale));
    CHECK(!fences.release(stale));
    CHECK(fences.signal(stale, 100) == slab_signal_status::stale);
    CHECK(!fences.poison(stale));
    CHECK(!fences.pin(stale));
    CHECK(!fences.waiters(stale));
    CHECK(fences.current_value(stale) == UINT64_MAX);
    CHECK(fences.loss(stale) == &tidemark::fence_released);
    CHECK(fences.wait(stale, 2) == wait_status::lost);
    CHECK(fences.wait_for(stale, 2, 1h) == wait_status::lost);
  }
  CHECK(view.is_poisoned());
  CHECK(view.wait(1) == wait_status::lost);
  CHECK(fences.current_value(fresh) == 1);
  CHECK(fences.loss(fresh) == nullptr);
  CHECK(fence_handle{fresh.number()} == fresh);
}

TEST_CASE_TEMPLATE("a pin keeps a fence that was released, and the last one gives its slot back", Slab, EVERY_SLAB) {
  auto made = Slab::make({.fences = 1});
  Slab& fences = *made.slab;
  const fence_handle handle = fences.acquire();
  {
    auto first = fences.pin(handle);
    auto second = std::move(first);
    CHECK(!first);  // NOLINT(bugprone-use-after-move): what is left
    const auto third = fences.pin(handle);
    CHECK(fences.release(handle));
    CHECK(!fences.pin(handle));
    CHECK(!fences.acquire());
    CHECK(second.signal(3));
    CHECK(third.current_value() == 3);
    CHECK(third.wait(3) == wait_status::reached);
    CHECK(third.wait_for(4, 1ns) == wait_status::timeout);
    CHECK(fences.current_value(handle) == UINT64_MAX);
  }
  const fence_handle next = fences.acquire();
  REQUIRE(next);
  CHECK(fences.current_value(next) == 0);
}

// ---- signals and waits ----------------------------------------------------------------------------------------------

TEST_CASE("the greatest value wins where there are several signallers") {
  auto made = tidemark::fence_slab::make();
  const fence_handle handle = made.slab->acquire();
  CHECK(made.slab->signal(handle, 7) == slab_signal_status::signalled);
  CHECK(made.slab->signal(handle, 5) == slab_signal_status::not_above);
  CHECK(made.slab->current_value(handle) == 7);
  auto pinned = made.slab->pin(handle);
  CHECK(!pinned.signal(7));
  CHECK(pinned.signal(8));
}

TEST_CASE("a signal of a pinned fence is a store or an exchange, and one load, if nobody is due") {
  using platform = looking_platform<tidemark::symmetric_platform>;
  const auto looks_of = [](auto made) {
    auto& fences = *made.slab;
    const fence_handle handle = fences.acquire();
    auto pinned = fences.pin(handle);
    const std::uint64_t before = platform::looks;
    for (std::uint64_t value = 1; value <= 100; ++value) pinned.signal(value);
    return (platform::looks - before) / 100;
  };
#if defined(NDEBUG)
  constexpr std::uint64_t asserted = 0;
#else
  constexpr std::uint64_t asserted = 1;  // the value must not fall
#endif
  CHECK(looks_of(tidemark::basic_fence_slab<platform, writers::one>::make()) <= 2 + asserted);
  // A look at the value, the exchange, and the load.
  CHECK(looks_of(tidemark::basic_fence_slab<platform, writers::several>::make()) == 3);
}

TEST_CASE_TEMPLATE("[A37] a fence has a room while somebody waits for it, and only then", Slab, EVERY_SLAB) {
  auto made = Slab::make({.fences = 3});
  Slab& fences = *made.slab;
  const fence_handle first = fences.acquire();
  const fence_handle second = fences.acquire();
  CHECK(fences.signal(first, 1) == slab_signal_status::signalled);
  CHECK(fences.wait(first, 1) == wait_status::reached);
  CHECK(fences.wait_for(second, 1, 0ns) == wait_status::timeout);
  CHECK(fences.rooms_in_use() == 0);
  for (std::uint64_t round = 1; round <= 3; ++round) {
    std::optional<waiter> one{std::in_place, [&] { return fences.wait(first, 10 * round); }};
    REQUIRE(one->falls_asleep());
    std::optional<waiter> two{std::in_place, [&] { return fences.wait(first, 10 * round + 1); }};
    REQUIRE(two->falls_asleep());
    std::optional<waiter> three{std::in_place, [&] { return fences.wait(second, round); }};
    REQUIRE(three->falls_asleep());
    CHECK(fences.rooms_in_use() == 2);
    if (idle<Slab>() == no_waiter) {
      CHECK(fences.monitored_value(first) == 10 * round - 1);
      CHECK(fences.monitored_value(second) == round - 1);
    }
    static_cast<void>(fences.signal(first, 10 * round));
    CHECK(one->status() == wait_status::reached);
    static_cast<void>(fences.signal(first, 10 * round + 1));
    CHECK(two->status() == wait_status::reached);
    static_cast<void>(fences.signal(second, round));
    CHECK(three->status() == wait_status::reached);
    // The signaller may have been the last one in a room, and it has returned.
    CHECK(fences.rooms_in_use() == 0);
    CHECK(fences.monitored_value(first) == idle<Slab>());
    CHECK(fences.monitored_value(second) == idle<Slab>());
  }
}

TEST_CASE_TEMPLATE("a wait ends at its deadline and by a stop, and leaves no room behind", Slab, EVERY_SLAB) {
  auto made = Slab::make({.fences = 1});
  Slab& fences = *made.slab;
  const fence_handle handle = fences.acquire();
  CHECK(fences.wait_for(handle, 1, 1ms) == wait_status::timeout);
  CHECK(fences.wait_until(handle, 1, std::chrono::steady_clock::now() + 1ms) == wait_status::timeout);
  CHECK(fences.wait_until(handle, 1, std::chrono::system_clock::now()) == wait_status::timeout);
  manual_stop source;
  waiter stopped{[&] { return fences.wait(handle, 1, source.get_token()); }};
  REQUIRE(stopped.falls_asleep());
  source.request();
  CHECK(stopped.status() == wait_status::stopped);
  CHECK(fences.wait(handle, 1, source.get_token()) == wait_status::stopped);
  CHECK(fences.wait(handle, 0, source.get_token()) == wait_status::reached);
  CHECK(fences.rooms_in_use() == 0);
  CHECK(fences.monitored_value(handle) == idle<Slab>());
}

TEST_CASE_TEMPLATE("[A120] a fence that is lost says why until it is released; its room is used again", Slab,
                   EVERY_SLAB) {
  static constexpr tidemark::loss_reason gone{7, "gone"};
  static constexpr tidemark::loss_reason later{8, "later"};
  auto made = Slab::make({.fences = 1});
  Slab& fences = *made.slab;
  for (int round = 0; round < 3; ++round) {
    const fence_handle handle = fences.acquire();
    static_cast<void>(fences.signal(handle, 1));
    waiter lost{[&] { return fences.wait(handle, 2); }};
    REQUIRE(lost.falls_asleep());
    CHECK(fences.poison(handle, gone));
    CHECK(fences.poison(handle, later));
    CHECK(lost.status() == wait_status::lost);
    CHECK(fences.wait(handle, 2) == wait_status::lost);
    CHECK(fences.wait(handle, 1) == wait_status::reached);
    CHECK(fences.loss(handle) == &gone);
    CHECK(fences.current_value(handle) == UINT64_MAX);
    CHECK(fences.last_reached(handle) == 1);
    CHECK(fences.view(handle).wait_value(2) == tidemark::wait_value_result{wait_status::lost, 1});
    CHECK(fences.waiters(handle).is_poisoned());
    CHECK(fences.release(handle));
    const fence_handle next = fences.acquire();
    CHECK(fences.loss(next) == nullptr);
    waiter reached{[&] { return fences.wait(next, 1); }};
    REQUIRE(reached.falls_asleep());
    static_cast<void>(fences.signal(next, 1));
    CHECK(reached.status() == wait_status::reached);
    CHECK(fences.release(next));
  }
}

TEST_CASE("[A120] a slab remembers six reasons; beyond them a loss has no name") {
  static constexpr std::array<tidemark::loss_reason, 8> reasons{
      {{1, ""}, {2, ""}, {3, ""}, {4, ""}, {5, ""}, {6, ""}, {7, ""}, {8, ""}}};
  auto made = tidemark::fence_slab::make({.fences = 1});
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    const fence_handle handle = made.slab->acquire();
    CHECK(made.slab->poison(handle, reasons[i]));
    CHECK(made.slab->loss(handle) == (i < 6 ? &reasons[i] : &tidemark::unnamed_loss));
    CHECK(made.slab->release(handle));
  }
}

TEST_CASE("[A120] a reason that does not count takes no place from the six, nor does a poison without one") {
  static constexpr std::array<tidemark::loss_reason, 7> late{
      {{11, ""}, {12, ""}, {13, ""}, {14, ""}, {15, ""}, {16, ""}, {17, ""}}};
  static constexpr std::array<tidemark::loss_reason, 6> reasons{{{1, ""}, {2, ""}, {3, ""}, {4, ""}, {5, ""}, {6, ""}}};
  auto made = tidemark::fence_slab::make({.fences = 7});
  const fence_handle lost = made.slab->acquire();
  CHECK(made.slab->poison(lost));
  for (const tidemark::loss_reason& each : late) CHECK(made.slab->poison(lost, each));
  CHECK(made.slab->loss(lost) == &tidemark::unnamed_loss);
  for (const tidemark::loss_reason& each : reasons) {
    const fence_handle handle = made.slab->acquire();
    CHECK(made.slab->poison(handle, each));
    CHECK(made.slab->poison(handle, late[0]));
    CHECK(made.slab->loss(handle) == &each);
  }
}

TEST_CASE_TEMPLATE("waiters that get no room look again, and miss nothing", Slab, EVERY_SLAB) {
  auto made = Slab::make({.fences = 2, .max_rooms = 0});
  Slab& fences = *made.slab;
  const fence_handle handle = fences.acquire();
  CHECK(fences.wait_for(handle, 1, 1ms) == wait_status::timeout);
  CHECK(!fences.waiters(handle));
  waiter one{[&] { return fences.wait(handle, 1); }};
  manual_stop source;
  waiter two{[&] { return fences.wait(handle, 2, source.get_token()); }};
  REQUIRE(one.falls_asleep());
  REQUIRE(two.falls_asleep());
  static_cast<void>(fences.signal(handle, 1));
  CHECK(one.status() == wait_status::reached);
  source.request();
  CHECK(two.status() == wait_status::stopped);
  waiter three{[&] { return fences.wait(handle, 2); }};
  REQUIRE(three.falls_asleep());
  CHECK(fences.poison(handle));
  CHECK(three.status() == wait_status::lost);
  CHECK(fences.rooms_in_use() == 0);
}

TEST_CASE_TEMPLATE("with one room, the waiter of a second fence looks again", Slab, EVERY_SLAB) {
  auto made = Slab::make({.fences = 2, .max_rooms = 1});
  Slab& fences = *made.slab;
  const fence_handle first = fences.acquire();
  const fence_handle second = fences.acquire();
  waiter one{[&] { return fences.wait(first, 1); }};
  REQUIRE(one.falls_asleep());
  waiter two{[&] { return fences.wait(second, 1); }};
  REQUIRE(two.falls_asleep());
  CHECK(fences.rooms_in_use() == 1);
  static_cast<void>(fences.signal(second, 1));
  CHECK(two.status() == wait_status::reached);
  static_cast<void>(fences.signal(first, 1));
  CHECK(one.status() == wait_status::reached);
}

// ---- as timelines ---------------------------------------------------------------------------------------------------

TEST_CASE("blocks follow a view, and a released fence counts as lost") {
  auto made = tidemark::fence_slab::make({.fences = 2});
  const fence_handle copied = made.slab->acquire();
  const auto view = made.slab->view(copied);
  static_assert(tidemark::timeline<std::remove_const_t<decltype(view)>>);
  static_assert(std::copyable<std::remove_const_t<decltype(view)>>);
  tidemark::upload_ring ring{view, {.capacity = 64, .max_records = 4}};
  const auto first = ring.try_allocate(64, 8);
  REQUIRE(first);
  ring.retire(1);
  CHECK(!ring.try_allocate(64, 8));
  CHECK(made.slab->signal(copied, 1) == slab_signal_status::signalled);
  CHECK(ring.try_allocate(64, 8));
  CHECK(view.wait(1) == wait_status::reached);
  CHECK(made.slab->release(copied));
  CHECK(view.current_value() == UINT64_MAX);
}

TEST_CASE_TEMPLATE("waits for several timelines and loops register in a room", Slab, tidemark::fence_slab,
                   tidemark::progress_fence_slab) {
  auto made = Slab::make({.fences = 2});
  Slab& fences = *made.slab;
  const fence_handle handle = fences.acquire();
  {
    const auto room = fences.waiters(handle);
    REQUIRE(room);
    CHECK(fences.rooms_in_use() == 1);
    const tidemark::fence other;
    tidemark::wait_loop loop;
    bool is_called = false;
    const auto registered = loop.on_reached(room, 2, [&] { is_called = true; });
    std::thread signaller{[&] {
      auto pinned = fences.pin(handle);
      pinned.signal(1);
      pinned.signal(2);
    }};
    CHECK(tidemark::wait_any({{other, 1}, {room, 1}}) == tidemark::wait_any_result{wait_status::reached, 1});
    CHECK(room.wait(2) == wait_status::reached);
    // NOLINTNEXTLINE(bugprone-infinite-loop): the callable changes it
    while (!is_called) static_cast<void>(loop.run_one());
    signaller.join();
    CHECK(fences.wait(handle, 2) == wait_status::reached);
  }
  CHECK(fences.rooms_in_use() == 0);
}

// ---- many at once ---------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[trap 10] a fence is released right after a wait, and its slot used again", Slab,
                   tidemark::fence_slab, tidemark::progress_fence_slab, EVERY_SLAB) {
  auto made = Slab::make({.fences = 2, .value_stride = 8, .monitored_stride = 8});
  Slab& fences = *made.slab;
  constexpr int rounds = 2000;
  std::atomic<std::uint64_t> given{0};
  std::thread signaller{[&] {
    for (int round = 0; round < rounds; ++round) {
      std::uint64_t number = 0;
      while ((number = given.exchange(0)) == 0) std::this_thread::yield();
      const slab_signal_status how = fences.signal(fence_handle{number}, 9);
      if (how != slab_signal_status::signalled) std::abort();
    }
  }};
  std::size_t wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    fence_handle handle;
    while (!(handle = fences.acquire(3))) std::this_thread::yield();
    wrong += fences.current_value(handle) == 3 ? 0U : 1U;
    given = handle.number();
    wrong += fences.wait(handle, 9) == wait_status::reached ? 0U : 1U;
    wrong += fences.release(handle) ? 0U : 1U;
  }
  signaller.join();
  CHECK(wrong == 0);
  CHECK(fences.rooms_in_use() == 0);
}

TEST_CASE_TEMPLATE("threads take, signal, await and release fences at random, and none meets another's", Slab,
                   tidemark::fence_slab, slab_of_several<tidemark::native_platform>, slab_of_several<without_barrier>,
                   slab_of_several<tidemark::portable_platform>) {
  constexpr std::size_t threads = 4;
  constexpr int rounds = 1500;
  auto made = Slab::make({.fences = threads + 1, .value_stride = 8, .monitored_stride = 8, .max_rooms = 3});
  Slab& fences = *made.slab;
  std::array<std::atomic<std::uint64_t>, threads> shown{};
  std::atomic<std::size_t> wrong{0};
  std::vector<std::thread> running;
  for (std::size_t self = 0; self < threads; ++self) {
    running.emplace_back([&, self] {
      const auto require = [&](bool is_right) { wrong += is_right ? 0U : 1U; };
      std::uint64_t random = self + 1;
      for (int round = 0; round < rounds; ++round) {
        random = random * 6364136223846793005U + 1442695040888963407U;
        fence_handle mine;
        while (!(mine = fences.acquire(10))) std::this_thread::yield();
        require(fences.current_value(mine) == 10);
        shown[self] = mine.number();
        // Another thread's fence may go at any moment. Its values are 10 to 12.
        const fence_handle other{shown[random >> 33 & 3].load()};
        const slab_signal_status how = fences.signal(other, 11);
        require(other || how == slab_signal_status::stale);
        const wait_status status = fences.wait_for(other, 12, std::chrono::microseconds{random >> 60});
        require(status != wait_status::stopped);
        const std::uint64_t seen = fences.current_value(other);
        require((seen >= 10 && seen <= 12) || seen == UINT64_MAX);
        static_cast<void>(fences.signal(mine, 12));
        require(fences.wait(mine, 12) == wait_status::reached);
        require(fences.release(mine));
      }
    });
  }
  for (std::thread& each : running) each.join();
  CHECK(wrong == 0);
  CHECK(fences.rooms_in_use() == 0);
  for (std::size_t i = 0; i <= threads; ++i) {
    const fence_handle each = fences.acquire();
    REQUIRE(each);
    CHECK(fences.monitored_value(each) == idle<Slab>());
  }
  CHECK(!fences.acquire());
}

TEST_CASE_TEMPLATE("many waiters of many fences are all woken", Slab, tidemark::fence_slab,
                   tidemark::progress_fence_slab, EVERY_SLAB) {
  auto made = Slab::make({.fences = 8});
  Slab& fences = *made.slab;
  std::vector<fence_handle> handles;
  for (int i = 0; i < 8; ++i) handles.push_back(fences.acquire());
  constexpr std::uint64_t rounds = 50;
  std::atomic<std::size_t> wrong{0};
  std::vector<std::thread> waiting;
  for (const fence_handle each : handles) {
    for (std::uint64_t step = 1; step <= 2; ++step) {
      waiting.emplace_back([&, each, step] {
        for (std::uint64_t target = step; target <= rounds; target += step) {
          wrong += fences.wait(each, target) == wait_status::reached ? 0U : 1U;
        }
      });
    }
  }
  for (std::uint64_t value = 1; value <= rounds; ++value) {
    for (const fence_handle each : handles) static_cast<void>(fences.signal(each, value));
    std::this_thread::yield();
  }
  for (std::thread& each : waiting) each.join();
  CHECK(wrong == 0);
  CHECK(fences.rooms_in_use() == 0);
}
