// SPDX-License-Identifier: BSL-1.0
//
// What the checks of fences that processes share have together: the pages as members of a check, and attachments to
// them. Each thread of a check stands for a process with one thread.
#ifndef TIDEMARK_TESTS_MODEL_SUPPORT_ATTACHMENTS_HPP
#define TIDEMARK_TESTS_MODEL_SUPPORT_ATTACHMENTS_HPP

#include "model_check.hpp"
#include "mortal.hpp"
#include "waiting.hpp"

#include <tidemark/fence/detail/shared_core.hpp>
#include <tidemark/fence/wait.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace model::attachments {

using checker = tidemark::TIDEMARK_MODEL_PLATFORM;
using mortal_platform = mortal<checker>;
using payload = checker::var<int>;

/// A platform on which the heavy barrier does not reach the signaller, as where its process has not registered.
template <class Platform>
struct unregistered : Platform {
  static bool heavy_barrier(tidemark::verify::source_position at = tidemark::verify::source_position::current()) {
    Platform::full_barrier(at);
    return true;
  }
};

/// How many slots there are, and which of them others have who never leave.
struct shape {
  std::size_t slots = 1;
  std::size_t taken = 0;
};
constexpr shape one_slot{};
constexpr shape two_slots{.slots = 2};
/// With an inner node between leaves and root.
constexpr shape two_levels{.slots = 3};
constexpr shape no_slot{.slots = 1, .taken = 1};

constexpr std::size_t arity = 2;
constexpr std::uint64_t never_signalled = 1000;
constexpr std::uint32_t bystander = 60;

/// What lies in the segment.
template <class Platform, shape Shape>
struct segment {
  using platform = Platform;
  using word = typename Platform::template atomic<std::uint64_t>;
  using heap_type = tidemark::detail::shared_heap<Platform, arity>;
  static constexpr tidemark::detail::tree_shape<arity> tree{Shape.slots};

  word value{0};
  word pins{0};
  tidemark::detail::hold_of<Platform> hold;
  /// All who may signal have died.
  word is_left{0};
  tidemark::detail::tree_word<Platform> root;
  std::array<tidemark::detail::siblings<Platform, arity>, tree.groups()> siblings;
  std::array<typename Platform::template atomic<std::uint32_t>, Shape.slots> owners;
  std::array<typename Platform::park_word, Shape.slots> wakes;
  heap_type heap{tree, {&root, &pins, &hold, siblings.data(), owners.data(), wakes.data()}};

  segment() {
    for (std::size_t i = 0; i < Shape.taken; ++i) static_cast<void>(heap.add(bystander, 0, never_signalled));
  }

  /// Versions stay at 0, as in memory that nobody has written.
  void fill_with_zeros() {
    const auto clear = [](auto& word) {
      tidemark::versioned empty{tidemark::detail::no_minimum, 0};
      word.compare_exchange_strong(empty, {0, 0}, std::memory_order_seq_cst, std::memory_order_relaxed);
    };
    clear(root);
    for (auto& each : siblings) {
      for (auto& word : each.words) clear(word);
    }
  }

  /// [A15] Requires that everybody has left, once the passes are over that signals owe.
  void require_idle() {
    mortality::none_dies();
    heap.release_due([&] { return value.load(std::memory_order_relaxed); }, [] {});
    std::size_t left = 0;
    for (std::size_t slot = 0; slot < Shape.slots; ++slot) {
      if (heap.owner_of(slot) == bystander) {
        ++left;
        continue;
      }
      MODEL_REQUIRE(heap.owner_of(slot) == 0);
      MODEL_REQUIRE(heap.is_empty(slot));
    }
    MODEL_REQUIRE(left == Shape.taken);
    const std::uint64_t idle = Shape.taken != 0 ? never_signalled - 1 : tidemark::detail::no_minimum;
    MODEL_REQUIRE(heap.monitored_value() == (heap.is_pinned() ? 0 : idle));
    const bool is_low = heap.is_pinned() || heap.hold().keeps_root_low();
    MODEL_REQUIRE(heap.monitored_word().load_value(std::memory_order_relaxed) == (is_low ? 0 : idle));
  }
};

/// One attachment. A dead one takes the fence for lost, so that its wait ends.
template <class Segment>
struct place {
  Segment& of;
  std::uint32_t number;
  tidemark::detail::noted_loss<typename Segment::platform> loss{};

  auto& value() noexcept { return of.value; }
  auto& root() noexcept { return of.root; }
  auto& heap() noexcept { return of.heap; }
  std::uint32_t owner() const noexcept { return number; }
  static constexpr bool may_register() noexcept { return true; }
  bool is_lost() const noexcept { return (loss.is_lost() && is_left()) || mortality::is_dead(); }
  bool look(bool) noexcept { return loss.note(is_left()); }
  bool is_left() const noexcept { return of.is_left.load(std::memory_order_acquire) != 0; }
  static constexpr tidemark::deadline::duration interval() noexcept { return (tidemark::deadline::duration::max)(); }
  static constexpr tidemark::deadline::duration patience() noexcept { return interval(); }
};

enum class kind { fence, progress };

template <kind Kind, class Platform, shape Shape>
class attachment {
 public:
  using segment_type = segment<Platform, Shape>;

  attachment(segment_type& of, std::uint32_t number) : place_{of, number} {}

  void signal(std::uint64_t value) {
    if constexpr (Kind == kind::fence) {
      if (!steps::raise(place_.value(), value)) return;
    } else {
      steps::store(place_.value(), value);
    }
    if (steps::has_due(place_.root(), value)) core_.release_due();
  }
  template <class Token = tidemark::never_stops>
  tidemark::wait_status wait(std::uint64_t target, tidemark::deadline until = tidemark::no_deadline, Token token = {}) {
    if (core_.reached_value() >= target) return tidemark::wait_status::reached;
    return core_.template wait_longer<tidemark::wait_status>(target, until, token);
  }
  /// As the watcher of its process does.
  void look_for_all() { core_.look_for_all(); }
  std::uint64_t last_reached() const { return core_.reached_value(); }
  std::uint64_t notify_count() const { return core_.notify_count(); }
  std::uint32_t number() const { return place_.number; }

 private:
  using steps = tidemark::detail::value_steps<Platform>;

  place<segment_type> place_;
  tidemark::detail::shared_core<Platform, place<segment_type>, 0> core_{place_};
};

/// The segment, and three processes that are attached.
template <kind Kind, shape Shape, class Platform = mortal_platform>
struct processes : with_mortals {
  segment<Platform, Shape> shared;
  // With these numbers all of them begin at the same slot, of two or three, so that they get into each other's way.
  std::array<attachment<Kind, Platform, Shape>, 3> attached{attachment<Kind, Platform, Shape>{shared, 1},
                                                            attachment<Kind, Platform, Shape>{shared, 7},
                                                            attachment<Kind, Platform, Shape>{shared, 13}};
  payload data;
  /// The process with the number 1 has ended. The one who takes it may clean up.
  checker::atomic<std::uint32_t> has_ended{0};

  /// The process `index` hands the payload over.
  void hand_over(unsigned index, std::uint64_t value = 1) {
    data.store(42);
    attached[index].signal(value);
  }
  /// The process `index` waits for it.
  void receive(unsigned index, std::uint64_t value = 1) {
    MODEL_REQUIRE(attached[index].wait(value) == tidemark::wait_status::reached);
    MODEL_REQUIRE(data.load() == 42);
  }
  /// The process with the number 1 says so, unless it was killed before.
  void ends() { has_ended.store(1, std::memory_order_release); }
  void clean_if_ended() {
    std::uint32_t ended = 1;
    if (has_ended.compare_exchange_strong(ended, 2, std::memory_order_acquire, std::memory_order_relaxed))
      shared.heap.clean(attached[0].number());
  }
};

/// The same, and the process with the number 1 may end. Whoever comes later cleans up behind it.
template <class Processes>
struct one_may_end : Processes {
  void after() {
    mortality::none_dies();
    this->clean_if_ended();
    this->shared.require_idle();
  }
};

/// A waiter is killed at any of its operations, while another one waits and is signalled.
template <class Processes>
struct killed_waiter : suite<3>, one_may_end<Processes> {
  void thread(unsigned index) {
    if (index == 0) {
      mortality::may_die_within(60);
      static_cast<void>(this->attached[0].wait(1, some_time));
      this->ends();
    } else if (index == 1) {
      this->hand_over(1);
    } else {
      this->receive(2);
      this->clean_if_ended();
    }
  }
};

/// A signaller is killed at any of its operations. The next one finds the waiter.
template <class Processes>
struct killed_signaller : suite<2>, Processes {
  void thread(unsigned index) {
    if (index == 0) {
      mortality::may_die_within(40);
      this->attached[0].signal(1);
      mortality::lives_again();  // as another process
      this->hand_over(1, 2);
    } else {
      this->receive(2, 2);
    }
  }
  void after() { this->shared.require_idle(); }
};

}  // namespace model::attachments

#endif  // TIDEMARK_TESTS_MODEL_SUPPORT_ATTACHMENTS_HPP
