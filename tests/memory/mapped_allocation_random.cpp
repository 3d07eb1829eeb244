// SPDX-License-Identifier: BSL-1.0
//
// Mapped allocations under random sequences of locks, commits, evictions and work, against a naive model that is
// compared byte for byte; and with a device in another thread.
#include <doctest/doctest.h>

#include <tidemark/memory/mapped_allocation.hpp>

#if defined(__linux__)

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/random.hpp"
#include "support/segments.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::cpu_access;
using tidemark::device_use;
using tidemark::lock_route;
using tidemark::lock_status;
using tidemark::map_mode;
using tidemark::memory_pages;
using tidemark::move_status;
using tidemark::residence;
using tidemark::unlock_status;

namespace {

using fence = tidemark::progress_fence;
using segment_type = tidemark::device_segment<fence>;
using allocation = tidemark::mapped_allocation<fence>;

constexpr std::size_t pages = 2;
constexpr std::size_t segment_pages = 5;  // for two backings of two pages, and one page that is often taken
constexpr std::size_t most_backings = 2;

/// What an allocation is and where: the same for the real one and for its model.
struct setting {
  cpu_access access;
  bool supports_aperture;
  bool is_seen;
  std::size_t window_pages;

  static setting any(random_numbers& random) {
    setting one{static_cast<cpu_access>(random.below(3u)), random.below(2u) == 0, random.below(3u) == 0,
                random.below(6u)};
    // No other allocation may be created.
    if (one.access != cpu_access::none && !one.is_seen) one.supports_aperture = true;
    return one;
  }
};

/// What a lock is expected to come to.
struct expectation {
  lock_status status;
  lock_route route = lock_route::refused;
  std::size_t backing = 0;
  bool operator==(const expectation&) const = default;
};

/// The naive model: plain vectors, one call at a time, and the rules of the guide written down once more.
class model {
 public:
  struct backing {
    std::vector<std::byte> bytes = std::vector<std::byte>(pages * memory_pages::page_bytes());
    residence where = residence::system_memory;
    std::uint64_t used_until = 0;
    int locks = 0;
    lock_route route = lock_route::direct;  // of its locks
  };

  explicit model(const setting& of) : of_{of} { backings.resize(1); }

  std::vector<backing> backings;
  std::size_t current = 0;
  std::uint64_t reached = 0;
  std::size_t taken_window = 0;  // by others
  std::size_t taken_pages = 0;   // of the segment, by others

  expectation lock(map_mode mode) {
    const bool discards = mode == map_mode::discard;
    std::size_t which = current;
    if (discards) {
      const std::optional<std::size_t> idle = find_idle();
      if (!idle) return {is_one_unlocked() ? lock_status::busy : lock_status::no_space};
      which = *idle;
      if (which == backings.size()) backings.emplace_back();
      current = which;
    } else if (mode != map_mode::no_overwrite && backings[which].used_until > reached) {
      return {lock_status::busy};
    }
    backing& one = backings[which];
    if (one.locks == 0) {
      const lock_status status = go_where_it_can_be_locked(one, discards);
      if (status != lock_status::locked) return {status};
    }
    ++one.locks;
    return {lock_status::locked, one.route, which};
  }
  move_status move(backing& one, residence to) {
    if (to == residence::aperture_segment && !of_.supports_aperture) return move_status::invalid;
    const bool moves_bytes = (one.where == residence::memory_segment) != (to == residence::memory_segment);
    if (moves_bytes && one.locks != 0) {
      if (to != residence::memory_segment || !of_.supports_aperture) return move_status::refused;
      one.where = residence::aperture_segment;
      return move_status::placed_in_aperture;
    }
    if (moves_bytes && to == residence::memory_segment && free_pages() < pages) return move_status::no_space;
    one.where = to;
    return move_status::placed;
  }
  std::size_t free_pages() const {
    std::size_t free = segment_pages - taken_pages;
    for (const backing& one : backings) free -= one.where == residence::memory_segment ? pages : 0;
    return free;
  }
  std::size_t free_window() const {
    std::size_t free = of_.window_pages - taken_window;
    for (const backing& one : backings) free -= one.locks > 0 && one.route == lock_route::through_window ? pages : 0;
    return free;
  }

 private:
  bool is_idle(const backing& one) const { return one.locks == 0 && one.used_until <= reached; }
  std::optional<std::size_t> find_idle() const {
    if (is_idle(backings[current])) return current;
    const std::size_t other = 1 - current;
    if (other >= backings.size()) return other;
    return is_idle(backings[other]) ? std::optional{other} : std::nullopt;
  }
  bool is_one_unlocked() const {
    return std::any_of(backings.begin(), backings.end(), [](const backing& one) { return one.locks == 0; });
  }

  lock_status go_where_it_can_be_locked(backing& one, bool discards) {
    one.route = lock_route::direct;
    if (one.where != residence::memory_segment) return lock_status::locked;
    if (of_.access == cpu_access::uncached && of_.is_seen) return lock_status::locked;
    const bool fits = of_.access == cpu_access::uncached && free_window() >= pages;
    if (fits && of_.supports_aperture) {
      one.route = lock_route::through_window;
      return lock_status::locked;
    }
    const bool is_guaranteed = of_.access == cpu_access::cached && of_.is_seen;
    if (of_.supports_aperture || is_guaranteed) {
      if (one.used_until > reached) return lock_status::busy;
      one.route = lock_route::migrate_to_system;
      one.where = of_.supports_aperture ? residence::aperture_segment : residence::system_memory;
      return lock_status::locked;
    }
    if (!discards) return lock_status::refused;
    one.where = residence::system_memory;
    return lock_status::locked;
  }

  setting of_;
};

/// An allocation and its model, with a device whose work is done when its value is signalled.
class pair_of_both {
 public:
  pair_of_both(random_numbers& random, const setting& of)
      : random_{random},
        segment_{*segment_type::make(
            finished_, {.pages = segment_pages, .cpu_visible = of.is_seen, .window_pages = of.window_pages})},
        real_{finished_,
              segments_of(of.access, of.supports_aperture, segment_),
              {.bytes = pages * memory_pages::page_bytes(), .max_renames = most_backings}},
        model_{of} {}
  pair_of_both(const pair_of_both&) = delete;
  pair_of_both& operator=(const pair_of_both&) = delete;
  ~pair_of_both() {
    while (!held_.empty()) unlock();
    finished_.poison();
  }

  /// One random step. Returns whether both agree.
  bool step() {
    switch (random_.below(11u)) {
      case 0:
      case 1:
      case 2:
        return lock();
      case 3:
      case 4:
        return held_.empty() || unlock();
      case 5:
      case 6:
        return move(residence::memory_segment);
      case 7:
        return move(random_.below(2u) == 0 ? residence::system_memory : residence::aperture_segment);
      case 8:
        return others_take_or_give();
      case 9:
        return name_work();
      default:
        return signal();
    }
  }
  /// Returns whether both have the same bytes in the same places.
  bool is_same() const {
    for (std::size_t i = 0; i < known_.size(); ++i) {
      if (!known_[i]) continue;
      if (real_.where(*known_[i]) != model_.backings[i].where || !device_sees(i)) return false;
    }
    const bool has_same_window = segment_.window().free_bytes == model_.free_window() * memory_pages::page_bytes();
    return has_same_window && segment_.free_pages() == model_.free_pages();
  }
  std::array<std::uint64_t, 4> routes{};  // how often a lock went this way
  std::uint64_t others = 0;               // other results of locks

 private:
  struct held_lock {
    allocation::locking lock;
    std::size_t backing;
    bool may_write;
  };
  struct work {
    std::size_t backing;
    std::uint64_t value;
    bool writes;
  };

  bool lock() {
    constexpr std::array modes{map_mode::read, map_mode::write, map_mode::discard, map_mode::no_overwrite};
    const map_mode mode = modes[random_.below(modes.size())];
    const expectation expected = model_.lock(mode);
    const allocation::locking made = real_.try_lock(mode);
    if (made.status != expected.status) return false;
    if (!made) {
      ++others;
      return true;
    }
    if (made.route != expected.route) return false;
    ++routes[static_cast<std::size_t>(made.route)];
    known_[expected.backing] = made;
    std::vector<std::byte>& bytes = model_.backings[expected.backing].bytes;
    held_.push_back({made, expected.backing, mode != map_mode::read});
    if (mode == map_mode::discard) {
      std::memset(made.data, 0x55, made.bytes);  // the contents are undefined until they are written
      std::fill(bytes.begin(), bytes.end(), std::byte{0x55});
      return true;
    }
    return std::memcmp(made.data, bytes.data(), bytes.size()) == 0;
  }
  /// Writes through the lock that was taken last, or through another one, and ends it.
  bool unlock() {
    std::swap(held_[random_.below(held_.size())], held_.back());
    const held_lock held = held_.back();
    held_.pop_back();
    model::backing& one = model_.backings[held.backing];
    if (held.may_write) {
      const std::size_t from = random_.below(one.bytes.size());
      const std::size_t count = 1 + random_.below(std::min<std::size_t>(one.bytes.size() - from, 300));
      const int number = static_cast<int>(random_.below(256u));
      std::memset(held.lock.data + from, number, count);
      std::memset(one.bytes.data() + from, number, count);
    }
    --one.locks;
    const unlock_status expected = one.locks == 0 ? unlock_status::unlocked : unlock_status::still_locked;
    if (random_.below(3u) == 0) return real_.unlock(held.lock) == expected;
    const bool writes = random_.below(2u) == 0;
    const std::uint64_t value = model_.reached + 1 + random_.below(3u);
    one.used_until = std::max(one.used_until, value);
    work_.push_back({held.backing, value, writes});
    return real_.unlock(held.lock, value, writes ? device_use::writes : device_use::reads) == expected;
  }
  /// Work that no lock is unlocked for. If its backing is locked, it writes nothing, because this test compares what is
  /// written at once.
  bool name_work() {
    const bool of_current = random_.below(2u) == 0;
    const std::size_t which = of_current ? model_.current : random_.below(model_.backings.size());
    if (!known_[which]) return true;
    model::backing& one = model_.backings[which];
    const bool writes = one.locks == 0 && random_.below(2u) == 0;
    const std::uint64_t value = model_.reached + 1 + random_.below(3u);
    const device_use use = writes ? device_use::writes : device_use::reads;
    one.used_until = std::max(one.used_until, value);
    work_.push_back({which, value, writes});
    of_current ? real_.used_until(value, use) : real_.used_until(*known_[which], value, use);
    return true;
  }
  bool move(residence to) {
    const std::size_t which = random_.below(model_.backings.size());
    if (!known_[which]) return true;
    const move_status expected = model_.move(model_.backings[which], to);
    return expected ==
           (to == residence::system_memory ? real_.try_evict(*known_[which]) : real_.try_commit(*known_[which], to));
  }
  /// Other allocations take a page of the segment or of the window, or give it back.
  bool others_take_or_give() {
    const bool in_window = random_.below(2u) == 0;
    if (in_window && segment_.window_pages() == nullptr) return true;
    auto& from = in_window ? *segment_.window_pages() : segment_.places();
    auto& view = in_window ? window_view_ : page_view_;
    std::size_t& taken = in_window ? model_.taken_window : model_.taken_pages;
    if (taken != 0) {
      taken = 0;
      return from.unmap(std::exchange(view, {}));
    }
    const std::size_t free = in_window ? model_.free_window() : model_.free_pages();
    view = from.try_map(std::vector<int>(1));
    if (view) taken = 1;
    return static_cast<bool>(view) == (free > 0);
  }
  /// The device does the work of the next value, and signals it.
  bool signal() {
    ++model_.reached;
    for (const work& one : work_) {
      if (one.value != model_.reached) continue;
      if (!device_sees(one.backing)) return false;
      if (one.writes) device_writes(one.backing);
    }
    std::erase_if(work_, [this](const work& one) { return one.value <= model_.reached; });
    finished_.signal(model_.reached);
    return true;
  }

  bool device_sees(std::size_t which) const {
    bool is_right = true;
    real_.for_each_page(*known_[which], [&](const std::byte* page, std::size_t index) {
      const std::size_t bytes = memory_pages::page_bytes();
      is_right = is_right && std::memcmp(page, model_.backings[which].bytes.data() + index * bytes, bytes) == 0;
    });
    return is_right;
  }
  void device_writes(std::size_t which) {
    const std::size_t at = random_.below(memory_pages::page_bytes() - 100);
    const int number = static_cast<int>(random_.below(256u));
    real_.for_each_page(*known_[which], [&](std::byte* page, std::size_t index) {
      std::memset(page + at, number, 100);
      std::memset(model_.backings[which].bytes.data() + index * memory_pages::page_bytes() + at, number, 100);
    });
  }

  random_numbers& random_;
  fence finished_;
  segment_type segment_;
  allocation real_;
  model model_;
  std::array<std::optional<allocation::locking>, most_backings> known_;  // a lock that names each backing
  std::vector<held_lock> held_;
  std::vector<work> work_;
  tidemark::aperture_view window_view_;
  tidemark::aperture_view page_view_;
};

}  // namespace

TEST_CASE("[B17][B27][B46] in 100,000 random sequences of locks, commits and evictions every byte is as in a model") {
  constexpr int sequences = 100'000;
  constexpr int of_one_allocation = 100;
  random_numbers random{fresh_seed()};
  std::array<std::uint64_t, 4> routes{};
  std::uint64_t others = 0;
  for (int done = 0; done < sequences; done += of_one_allocation) {
    pair_of_both both{random, setting::any(random)};
    for (int i = 0; i < of_one_allocation; ++i) {
      for (int step = 0; step < 4; ++step) REQUIRE(both.step());
      REQUIRE(both.is_same());
    }
    for (std::size_t i = 0; i < routes.size(); ++i) routes[i] += both.routes[i];
    others += both.others;
  }
  // Each way, and each kind of refusal, is common.
  for (const lock_route route : {lock_route::direct, lock_route::through_window, lock_route::migrate_to_system})
    CHECK(routes[static_cast<std::size_t>(route)] > 1'000);
  CHECK(others > 1'000);
}

// ---- a device in another thread ------------------------------------------------------------------------------------

namespace {

/// Work that the processor hands to the device, through a list of one writer and one reader.
class work_list {
 public:
  struct work {
    allocation::locking of;
    int number;  // in all bytes
    bool writes;
  };

  explicit work_list(std::size_t most) : all_(most) {}

  /// The number of the work, from 1 on, is its value.
  std::uint64_t next_value() const { return submitted_.load(std::memory_order_relaxed) + 1; }
  void submit(const work& one) {
    all_[submitted_.load(std::memory_order_relaxed)] = one;
    submitted_.fetch_add(1, std::memory_order_release);
  }
  /// Returns nullptr if there is no work with this value yet.
  const work* find(std::uint64_t value) const {
    if (value > submitted_.load(std::memory_order_acquire)) return nullptr;
    return &all_[tidemark::detail::as_integer<std::size_t>(value - 1)];
  }

 private:
  std::vector<work> all_;
  std::atomic<std::size_t> submitted_{0};
};

int changed(int number) { return (number + 128) % 256; }

struct both_threads {
  static constexpr std::uint64_t rounds = 3'000;

  explicit both_threads(const setting& of)
      : in_aperture{of.supports_aperture ? residence::aperture_segment : residence::memory_segment},
        segment{*segment_type::make(
            finished, {.pages = segment_pages, .cpu_visible = of.is_seen, .window_pages = of.window_pages})},
        memory{finished,
               segments_of(of.access, of.supports_aperture, segment),
               {.bytes = pages * memory_pages::page_bytes(), .max_renames = most_backings}} {}

  /// Locks in all modes, looks for what it has left or for what the device has, and hands over what it writes.
  void be_processor(std::uint64_t seed) {
    random_numbers random{seed, 1};
    int number = -1;  // what the current backing has when the device is done
    for (std::uint64_t round = 0; round < rounds; ++round) {
      const bool reads = number >= 0 && random.below(2u) == 0;
      const map_mode mode = reads ? map_mode::read | map_mode::write : map_mode::discard;
      const allocation::locking held = random.below(4u) == 0 ? lock_without_sleep(mode) : memory.lock(mode);
      if (!held) {
        ++failures;
        break;
      }
      if (reads && !has(held.data, held.bytes, number)) ++failures;
      number = static_cast<int>(random.below(256u));
      std::memset(held.data, number, held.bytes);
      const bool writes = random.below(2u) == 0;
      const std::uint64_t value = work.next_value();
      const device_use use = writes ? device_use::writes : device_use::reads;
      nest(mode, held);
      if (random.below(2u) == 0) {
        if (memory.unlock(held, value, use) != unlock_status::unlocked) ++failures;
      } else {
        if (memory.unlock(held) != unlock_status::unlocked) ++failures;
        random.below(2u) == 0 ? memory.used_until(held, value, use) : memory.used_until(value, use);
      }
      work.submit({held, number, writes});
      if (writes) number = changed(number);
    }
    is_done.store(true, std::memory_order_release);
  }
  /// What is locked can be locked, whatever the device does.
  void nest(map_mode mode, const allocation::locking& held) {
    const allocation::locking nested = memory.try_lock(mode == map_mode::discard ? map_mode::no_overwrite : mode);
    if (nested.data != held.data) ++failures;
    if (!nested || memory.unlock(nested) != unlock_status::still_locked) ++failures;
  }
  allocation::locking lock_without_sleep(map_mode mode) {
    allocation::locking made;
    await([&] {
      made = memory.try_lock(mode);
      return made.status != lock_status::busy;
    });
    return made;
  }

  /// Does the work, and moves the backings that it knows whenever it likes.
  void be_device(std::uint64_t seed) {
    random_numbers random{seed, 2};
    std::vector<allocation::locking> known;
    for (std::uint64_t value = 1;;) {
      if (!known.empty()) move(known[random.below(known.size())], random);
      const work_list::work* const next = work.find(value);
      if (next == nullptr) {
        if (is_done.load(std::memory_order_acquire) && work.find(value) == nullptr) return;
        std::this_thread::yield();
        continue;
      }
      if (known.size() < 8) known.push_back(next->of);
      if (random.below(2u) == 0) move(next->of, random);
      memory.for_each_page(next->of, [&](std::byte* page, std::size_t) {
        if (!has(page, memory_pages::page_bytes(), next->number)) ++failures;
        if (next->writes) std::memset(page, changed(next->number), memory_pages::page_bytes());
      });
      finished.signal(value++);
    }
  }
  void move(const allocation::locking& of, random_numbers& random) {
    const std::uint64_t how = random.below(3u);
    const move_status status = how == 0   ? memory.try_commit(of)
                               : how == 1 ? memory.try_evict(of)
                                          : memory.try_commit(of, in_aperture);
    ++moves[static_cast<std::size_t>(status)];
  }

  static bool has(const std::byte* begin, std::size_t bytes, int number) {
    return std::all_of(begin, begin + bytes, [number](std::byte one) { return one == static_cast<std::byte>(number); });
  }

  const residence in_aperture;  // if it can be there
  fence finished;
  segment_type segment;
  allocation memory;
  work_list work{rounds};
  std::atomic<bool> is_done{false};
  std::atomic<int> failures{0};
  std::array<std::uint64_t, 6> moves{};  // by their status; the device's
};

}  // namespace

TEST_CASE(
    "[B11][B27] while a device works, commits and evicts in its thread, the processor finds each byte as it was") {
  const std::array settings{setting{cpu_access::uncached, true, true, 0}, setting{cpu_access::uncached, true, false, 4},
                            setting{cpu_access::uncached, true, false, 1}, setting{cpu_access::cached, false, true, 0}};
  const std::uint64_t seed = fresh_seed();
  for (const setting& of : settings) {
    both_threads both{of};
    const watchdog dog{[&] { return state_of(both.finished) + "; seed " + std::to_string(seed); }};
    std::thread device{[&] { both.be_device(seed); }};
    both.be_processor(seed);
    device.join();
    CHECK(both.failures == 0);
    CHECK(both.finished.current_value() == both_threads::rounds);
    CHECK(both.moves[static_cast<std::size_t>(move_status::placed)] > 0);
    CHECK(both.moves[static_cast<std::size_t>(move_status::invalid)] == 0);
  }
}

#endif
