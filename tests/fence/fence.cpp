// SPDX-License-Identifier: BSL-1.0
//
// fence and progress_fence: the value, which threads may change it, and where it lies in memory.
// Notifications are in fence_notify.cpp, the ends of waits in wait.cpp, poison in fence_poison.cpp, the steps of the
// handshake in fence_handshake.cpp, and races in fence_stress.cpp.
#include <doctest/doctest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <thread>
#include <type_traits>
#include <vector>

#include <tidemark/fence/fence.hpp>

#include "support/kinds.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::no_waiter;
using tidemark::wait_status;

namespace {

/// Whole pages of the system, which can be made read-only.
class pages {
 public:
  static constexpr std::size_t size = 16384;

  pages() : memory_{mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)} {
    REQUIRE(memory_ != MAP_FAILED);
  }
  pages(const pages&) = delete;
  pages& operator=(const pages&) = delete;
  ~pages() { munmap(memory_, size); }

  void* get() const { return memory_; }
  void protect(int protection) const { REQUIRE(mprotect(memory_, size, protection) == 0); }

 private:
  void* memory_;
};

/// Notes the addresses of the 64-bit words and the double words that are read.
struct address_platform : tidemark::symmetric_platform {
  template <class T>
  struct atomic : tidemark::symmetric_platform::atomic<T> {
    using base = tidemark::symmetric_platform::atomic<T>;
    using base::base;
    T load(std::memory_order order) const noexcept {
      if constexpr (std::is_same_v<T, std::uint64_t>) last_value = this;
      return base::load(order);
    }
  };
  struct double_word : tidemark::symmetric_platform::double_word {
    using base = tidemark::symmetric_platform::double_word;
    using base::base;
    std::uint64_t load_value(std::memory_order order) const noexcept {
      last_double_word = this;
      return base::load_value(order);
    }
  };
  static inline const void* last_value = nullptr;
  static inline const void* last_double_word = nullptr;
};

/// Returns how far apart a fence keeps its value and its monitored value.
template <class Fence>
std::ptrdiff_t distance_in(const Fence& fence) {
  static_cast<void>(fence.is_reached(1));
  static_cast<void>(fence.monitored_value());
  return static_cast<const char*>(address_platform::last_double_word) -
         static_cast<const char*>(address_platform::last_value);
}

template <class Fence>
concept has_signal = requires(Fence fence) { fence.signal(1); };
template <class Fence>
concept has_signal_next = requires(Fence fence) { fence.signal_next(); };
template <class Fence>
concept can_be_signalled = has_signal<Fence> || has_signal_next<Fence>;
template <class Fence>
concept can_be_poisoned = requires(Fence fence) { fence.poison(); };
template <class Fence>
concept shows_its_heap = requires(Fence fence) { fence.heap(); };
template <class Fence>
concept lets_set_its_monitored_value = requires(Fence fence) { fence.monitored_value(1); };
template <class Fence>
concept lets_assign_its_monitored_value = requires(Fence fence) { fence.monitored_value() = 1; };
template <class Fence>
concept gives_its_monitored_value_away =
    shows_its_heap<Fence> || lets_set_its_monitored_value<Fence> || lets_assign_its_monitored_value<Fence>;

}  // namespace

// ---- the value -----------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[A1] polling neither writes nor calls the system", Kind, EVERY_KIND) {
  using fence = typename Kind::template fence<>;
  static_assert(sizeof(fence) <= pages::size);
  const pages memory;
  auto* const polled = ::new (memory.get()) fence{41};
  const auto view = polled->view();
  const meter<typename Kind::platform> during;

  memory.protect(PROT_READ);  // a store to any part of the fence ends this program
  std::uint64_t sum = 0;
  for (int i = 0; i < 1'000'000; ++i) sum += view.current_value();
  CHECK(sum == 41'000'000);
  CHECK(polled->is_reached(41));
  CHECK_FALSE(view.is_reached(42));
  CHECK(polled->wait(41) == wait_status::reached);
  CHECK(polled->wait_for(42, 0s) == wait_status::timeout);
  memory.protect(PROT_READ | PROT_WRITE);

  CHECK(during.light_barriers() + during.heavy_barriers() + during.full_barriers() == 0);
  CHECK(during.parks() + during.unparks() == 0);
  polled->~fence();
}

TEST_CASE_TEMPLATE("[A3] a signalled value is visible to every thread and releases the waits that it satisfies", Kind,
                   EVERY_KIND) {
  typename Kind::template fence<> fence;
  const auto dog = watch(fence);
  waiter five{[&] { return fence.wait(5); }};
  waiter seven{[view = fence.view()] { return view.wait(7); }};
  CHECK(five.falls_asleep());
  CHECK(seven.falls_asleep());

  fence.signal(7);
  std::uint64_t seen = 0;
  std::thread{[&] { seen = fence.current_value(); }}.join();
  CHECK(seen == 7);
  CHECK(five.status() == wait_status::reached);
  CHECK(seven.status() == wait_status::reached);
}

TEST_CASE_TEMPLATE("[A4] a woken waiter sees what the worker wrote before its signal", Kind, EVERY_KIND) {
  typename Kind::template fence<> uploaded;
  typename Kind::template fence<> consumed;
  const auto dog = watch(uploaded);
  std::array<int, 64> buffer{};  // not atomic: ordered by the fences alone
  constexpr std::uint64_t rounds = 500;
  std::thread worker{[&] {
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      if (consumed.wait(round - 1) != wait_status::reached) return;
      buffer.fill(static_cast<int>(round));
      uploaded.signal(round);
    }
  }};
  std::uint64_t good = 0;
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    if (uploaded.wait(round) != wait_status::reached) break;
    const auto expected = static_cast<int>(round);
    if (buffer.front() == expected && buffer.back() == expected) ++good;
    consumed.signal_next();
  }
  worker.join();
  CHECK(good == rounds);
}

TEST_CASE_TEMPLATE("[A9] the value has 64 bits and begins at the initial value", Kind, EVERY_KIND) {
  CHECK(typename Kind::template fence<>{}.current_value() == 0);
  for (const std::uint64_t initial : {std::uint64_t{0}, std::uint64_t{99}, std::uint64_t{1} << 60, UINT64_MAX}) {
    typename Kind::template fence<> fence{initial};
    CHECK(fence.current_value() == initial);
    CHECK(fence.view().current_value() == initial);
    CHECK(fence.is_reached(initial));
    CHECK_FALSE(fence.is_poisoned());
    CHECK(fence.wait(initial) == wait_status::reached);
    if (initial != UINT64_MAX) CHECK_FALSE(fence.is_reached(initial + 1));
  }
}

TEST_CASE_TEMPLATE("[A9] signal_next advances by one and returns the new value", Kind, EVERY_KIND) {
  typename Kind::template fence<> fence{41};
  CHECK(fence.signal_next() == 42);
  CHECK(fence.signal_next() == 43);
  fence.signal(UINT64_MAX - 1);
  CHECK(fence.signal_next() == UINT64_MAX);
  CHECK(fence.current_value() == UINT64_MAX);
}

TEST_CASE_TEMPLATE("[A9] signal_next returns each value to only one of several threads", Kind, EVERY_FENCE) {
  typename Kind::template plain<> fence;
  constexpr std::size_t each = 20'000;
  std::array<std::vector<std::uint64_t>, 3> taken;
  std::vector<std::thread> threads;
  for (auto& mine : taken) {
    threads.emplace_back([&fence, &mine] {
      for (std::size_t i = 0; i < each; ++i) mine.push_back(fence.signal_next());
    });
  }
  for (auto& thread : threads) thread.join();

  std::vector<bool> seen(taken.size() * each + 1);
  bool all_rise = true;
  for (const auto& mine : taken) {
    for (std::size_t i = 0; i < each; ++i) {
      all_rise = all_rise && (i == 0 || mine[i] > mine[i - 1]);
      seen.at(static_cast<std::size_t>(mine[i])) = true;
    }
  }
  CHECK(all_rise);
  CHECK(std::count(seen.begin(), seen.end(), true) == static_cast<std::ptrdiff_t>(taken.size() * each));
  CHECK(fence.current_value() == taken.size() * each);
}

TEST_CASE_TEMPLATE("[A11] a reader never sees halves of two signalled values", Kind, EVERY_KIND) {
  // The high half counts, and the low half is its complement, so it falls while the value rises. Half of one value
  // and half of another make a value that was never signalled.
  const auto value = [](std::uint64_t count) { return count << 32 | (~count & UINT32_MAX); };
  const auto is_whole = [&](std::uint64_t seen) { return seen == value(seen >> 32); };
  typename Kind::template plain<> fence{value(0)};
  constexpr std::uint64_t last = 200'000;
  std::thread signaller{[&] {
    for (std::uint64_t count = 1; count <= last; ++count) fence.signal(value(count));
  }};
  std::uint64_t torn = 0;
  std::uint64_t fallen = 0;
  for (std::uint64_t before = 0, seen = 0; seen != value(last); before = seen) {
    seen = fence.current_value();
    if (!is_whole(seen)) ++torn;
    if (seen < before) ++fallen;
  }
  signaller.join();
  CHECK(torn == 0);
  CHECK(fallen == 0);
}

TEST_CASE("[A10] a view looks and waits, and neither signals nor poisons") {
  static_assert(can_be_signalled<tidemark::fence&> && can_be_signalled<tidemark::progress_fence&>);
  static_assert(can_be_poisoned<tidemark::fence&> && can_be_poisoned<tidemark::progress_fence&>);
  static_assert(!can_be_signalled<tidemark::fence_view&> && !can_be_signalled<tidemark::progress_fence_view&>);
  static_assert(!can_be_poisoned<tidemark::fence_view&> && !can_be_poisoned<tidemark::progress_fence_view&>);
  static_assert(!can_be_signalled<const tidemark::fence&> && !can_be_signalled<const tidemark::progress_fence&>);
  static_assert(std::is_copy_constructible_v<tidemark::fence_view> && std::is_copy_assignable_v<tidemark::fence_view>);

  tidemark::fence fence{6};
  const tidemark::fence_view view = fence.view();
  const tidemark::fence_view copy = view;
  fence.signal(7);
  CHECK(view.current_value() == 7);
  CHECK(copy.is_reached(7));
  CHECK(copy.wait(7) == wait_status::reached);
  CHECK(copy.wait_for(8, 0s) == wait_status::timeout);
  CHECK(copy.monitored_value() == no_waiter);
  CHECK_FALSE(copy.is_poisoned());
}

TEST_CASE("[A13] only waits and their releases change the monitored value") {
  static_assert(!gives_its_monitored_value_away<tidemark::fence&>);
  static_assert(!gives_its_monitored_value_away<tidemark::progress_fence&>);
  static_assert(!gives_its_monitored_value_away<tidemark::fence_view&>);
  static_assert(std::is_same_v<decltype(std::declval<const tidemark::fence&>().monitored_value()), std::uint64_t>);
  static_assert(!std::is_copy_constructible_v<tidemark::fence> && !std::is_move_constructible_v<tidemark::fence>);
  static_assert(!std::is_copy_assignable_v<tidemark::fence> && !std::is_move_assignable_v<tidemark::fence>);
  static_assert(!std::is_move_constructible_v<tidemark::progress_fence>);
  static_assert(!std::is_move_assignable_v<tidemark::progress_fence>);

  tidemark::fence fence{3};
  fence.signal(9);
  CHECK(fence.monitored_value() == no_waiter);
}

TEST_CASE_TEMPLATE("[trap 13] a late lower value changes nothing and notifies nobody, and signal() returns false", Kind,
                   EVERY_FENCE) {
  typename Kind::template fence<> fence;
  CHECK(fence.signal(7));
  const meter<typename Kind::platform> during;
  CHECK_FALSE(fence.signal(5));
  CHECK_FALSE(fence.signal(7));
  CHECK(fence.current_value() == 7);
  CHECK(during.light_barriers() == 0);
  CHECK(fence.signal_next() == 8);
}

TEST_CASE_TEMPLATE("[trap 13] of several signallers the greatest value wins, whichever comes last", Kind, EVERY_FENCE) {
  typename Kind::template plain<> fence;
  constexpr std::uint64_t last = 60'000;
  std::atomic<std::uint64_t> raised{0};
  std::atomic<std::uint64_t> fallen{0};
  std::vector<std::thread> threads;
  for (std::uint64_t first = 1; first <= 3; ++first) {
    threads.emplace_back([&, first] {
      for (std::uint64_t value = first, before = 0; value <= last; value += 3, before = fence.current_value()) {
        if (fence.signal(value)) ++raised;
        if (fence.current_value() < std::max(value, before)) ++fallen;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(fence.current_value() == last);
  CHECK(fallen == 0);
  CHECK(raised >= last / 3);  // each thread raises its own values by three, so no step of the fence is longer
  CHECK(raised <= last);
}

// ---- where it lies -------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[A8] the value may lie in memory of the caller", Kind, EVERY_KIND) {
  using fence = typename Kind::template plain<on_callers_storage>;
  alignas(8) std::array<unsigned char, 24> buffer{};
  const pages page;
  const auto value_at = [](const void* storage) {
    std::uint64_t value = 0;
    std::memcpy(&value, storage, sizeof value);
    return value;
  };
  for (void* const storage : {static_cast<void*>(buffer.data() + 8), page.get()}) {
    fence placed{storage, 99};
    CHECK(value_at(storage) == 99);
    CHECK(placed.current_value() == 99);
    placed.signal(std::uint64_t{1} << 60);
    CHECK(value_at(storage) == std::uint64_t{1} << 60);
    CHECK(placed.signal_next() == (std::uint64_t{1} << 60) + 1);
    CHECK(placed.wait(100) == wait_status::reached);
    placed.poison();
    CHECK(placed.current_value() == UINT64_MAX);
    CHECK(value_at(storage) == (std::uint64_t{1} << 60) + 1);  // poison() does not change it
    placed.poison();
    CHECK(value_at(storage) == (std::uint64_t{1} << 60) + 1);
  }
  CHECK(std::count(buffer.begin(), buffer.end(), 0) >= 16);  // no byte but the eight has changed
  CHECK(fence{buffer.data()}.current_value() == 0);
}

TEST_CASE("[A26] whoever signals from outside needs two addresses, and a thread that releases") {
  constexpr tidemark::fence_options never_spins{.max_spin_ns = 0, .storage = tidemark::value_storage::caller};
  using fence_type = tidemark::basic_fence<counting_platform<tidemark::symmetric_platform>, never_spins>;
  alignas(8) std::uint64_t value = 0;
  fence_type fence{&value, 1};
  const auto dog = watch(fence);
  const auto* const monitored = static_cast<const std::uint64_t*>(fence.monitored_address());
  CHECK(__atomic_load_n(monitored, __ATOMIC_SEQ_CST) == fence.monitored_value());
  waiter five{[&] { return fence.wait(5); }};
  REQUIRE(five.falls_asleep());
  CHECK(__atomic_load_n(monitored, __ATOMIC_SEQ_CST) == 4);
  // What a device does.
  const auto signal_from_outside = [&](std::uint64_t next) {
    __atomic_store_n(&value, next, __ATOMIC_SEQ_CST);
    return next > __atomic_load_n(monitored, __ATOMIC_SEQ_CST);
  };
  CHECK_FALSE(signal_from_outside(4));
  CHECK(signal_from_outside(6));
  CHECK_FALSE(five.has_returned());
  CHECK(fence.release_due() == 1);
  CHECK(five.status() == wait_status::reached);
}

TEST_CASE("[A125] each registration is reported behind the change of the monitored value") {
  using fence_type = tidemark::basic_fence<counting_platform<tidemark::symmetric_platform>,
                                           tidemark::fence_options{.reports_registrations = true}>;
  struct driver {
    fence_type fence;
    std::vector<std::uint64_t> told;

    /// Waits in vain, and long enough to register.
    void wait_for(std::uint64_t target) {
      const std::size_t before = told.size();
      for (std::chrono::milliseconds limit{1}; told.size() == before; limit *= 2) {
        REQUIRE(fence.wait_for(target, limit) == wait_status::timeout);
      }
    }
  } of;
  CHECK(of.fence.wait_for(3, 1ms) == wait_status::timeout);  // reported to nobody
  of.fence.report_registrations({.registered =
                                     [](void* context) noexcept {
                                       auto& self = *static_cast<driver*>(context);
                                       self.told.push_back(self.fence.monitored_value());
                                     },
                                 .context = &of});
  of.wait_for(3);
  CHECK(of.fence.signal(2));
  of.wait_for(9);
  CHECK(of.fence.wait(2) == wait_status::reached);
  CHECK(of.told == std::vector<std::uint64_t>{2, 8});
}

TEST_CASE_TEMPLATE("[A8] a wait for a value in memory of the caller is released like any other", Kind, EVERY_KIND) {
  const pages page;
  typename Kind::template fence<on_callers_storage> fence{page.get(), 1};
  const auto dog = watch(fence);
  waiter two{[&] { return fence.wait(2); }};
  CHECK(two.falls_asleep());
  fence.signal(2);
  CHECK(two.status() == wait_status::reached);
}

TEST_CASE("[A21] the value and the monitored value lie on separate cache lines, unless one_line is asked for") {
  using tidemark::fence_layout;
  constexpr tidemark::fence_options one_line{.layout = fence_layout::one_line};
  const tidemark::basic_fence<address_platform> apart;
  const tidemark::basic_progress_fence<address_platform> also_apart;
  const tidemark::basic_fence<address_platform, one_line> together;
  constexpr auto line = static_cast<std::ptrdiff_t>(tidemark::cache_line);
  CHECK(distance_in(apart) >= line);
  CHECK(distance_in(also_apart) >= line);
  CHECK(std::abs(distance_in(together)) < line);
  const auto line_of = [](const void* address) {
    return reinterpret_cast<std::uintptr_t>(address) / tidemark::cache_line;
  };
  CHECK(line_of(address_platform::last_value) == line_of(address_platform::last_double_word));
}

TEST_CASE_TEMPLATE("a fence with the value beside the monitored value behaves the same", Kind, EVERY_KIND) {
  typename Kind::template fence<on_one_line> fence{41};
  const auto dog = watch(fence);
  CHECK(fence.current_value() == 41);
  waiter due_at_43{[&] { return fence.wait(43); }};
  CHECK(due_at_43.falls_asleep());
  if (Kind::platform::heavy_barrier_available()) CHECK(fence.monitored_value() == 42);
  CHECK(fence.signal_next() == 42);
  CHECK_FALSE(due_at_43.has_returned());
  fence.signal(50);
  CHECK(due_at_43.status() == wait_status::reached);
  if (Kind::platform::heavy_barrier_available()) CHECK(fence.monitored_value() == no_waiter);
}
