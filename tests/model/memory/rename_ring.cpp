// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the rename ring with several mappers: no thread writes a backing that the executor still reads, that
// another thread has mapped, or that was destroyed.
#include "support/lent.hpp"
#include "support/progress.hpp"

#include <tidemark/memory/rename_ring.hpp>

#include <array>
#include <type_traits>
#include <utility>

namespace {

using model::heap_shape;
using model::one_slot;
using model::payload;
using model::platform;
using tidemark::map_mode;
using tidemark::map_status;
using tidemark::writers;

constexpr int destroyed = -1;

/// A backing: two fields, which different mappings may write.
struct cell {
  std::array<payload, 2> half;

  void fill(int with) {
    for (payload& one : half) one.store(with);
  }
  void require(int with) {
    for (payload& one : half) MODEL_REQUIRE(one.load() == with);
  }
};

/// A few cells, each of which is made at most once.
struct pool {
  std::array<cell, 4> cells;
  platform::atomic<unsigned> taken;
  unsigned may_be_made = 4;
};
class pool_source {
 public:
  using backing = cell*;

  explicit pool_source(pool& from) : from_{&from} {}

  backing create(const tidemark::backing_traits&) noexcept {
    const unsigned index = from_->taken.fetch_add(1, std::memory_order_relaxed);
    if (index >= from_->may_be_made) return nullptr;
    MODEL_REQUIRE(index < from_->cells.size());
    from_->cells[index].fill(0);
    return &from_->cells[index];
  }
  void destroy(backing made, const tidemark::backing_traits&) noexcept { made->fill(destroyed); }

 private:
  pool* from_;
};

template <std::size_t MaxRenames, writers Writers = writers::several, heap_shape Shape = one_slot,
          class Platform = platform>
struct stand {
  using fence = model::progress_fence<Shape, Platform>;
  using ring_type = tidemark::rename_ring<model::view_of<fence>, pool_source, Writers>;
  using mapping = typename ring_type::mapping;

  pool memory;
  fence finished;
  ring_type ring{finished.view(), {.max_renames = MaxRenames}, pool_source{memory}};

  /// Discards, writes and reads the backing, and unmaps it without any use by the executor.
  map_status use_once(int with) {
    const mapping mapped = ring.try_map(map_mode::discard);
    if (!mapped) return mapped.status;
    mapped.memory->fill(with);
    mapped.memory->require(with);
    MODEL_REQUIRE(ring.unmap(mapped));
    return mapped.status;
  }
  /// Discards, and retires the backing as in use until the given value.
  mapping use(std::uint64_t until) {
    const mapping mapped = ring.try_map(map_mode::discard);
    MODEL_REQUIRE(mapped);
    mapped.memory->fill(7);
    MODEL_REQUIRE(ring.retire(mapped, until));
    return mapped;
  }
  /// Acts as the executor: reads a backing that is in use until 1, and then signals 1.
  void execute(const mapping& used) {
    used.memory->require(7);
    finished.signal(1);
  }
  /// Discards, and waits for a backing if it must.
  void wait_and_use_once() {
    const mapping mapped = ring.map(map_mode::discard);
    MODEL_REQUIRE(mapped);
    mapped.memory->fill(8);
    MODEL_REQUIRE(ring.unmap(mapped));
  }
  /// The only backing is in use until 2, and not longer.
  void require_in_use_until_2() {
    finished.signal(1);
    MODEL_REQUIRE(use_once(8) == map_status::busy);
    finished.signal(2);
    MODEL_REQUIRE(use_once(8) == map_status::mapped);
  }
  /// Makes two backings: the current one is in use until 1, the other one is idle.
  void busy_and_idle() {
    const mapping idle = ring.try_map(map_mode::discard);
    MODEL_REQUIRE(ring.unmap(ring.try_map(map_mode::discard)));
    MODEL_REQUIRE(ring.unmap(idle));
    use(1);
  }
};

/// [B5] [B9] [B12] [B44] No mapping writes what the executor reads before the executor has signalled, however often the
/// resource is discarded. Where there is only one backing, the mapper waits. The ring of one mapper has plain words.
template <std::size_t Backings, writers Writers, heap_shape Shape = one_slot>
struct beside_executor : model::suite<2>, stand<Backings, Writers, Shape> {
  typename stand<Backings, Writers, Shape>::mapping used;

  void before() { used = this->use(1); }
  void thread(unsigned index) {
    if (index == 0) {
      this->execute(used);
    } else {
      for (int round = 0; round < 2; ++round) this->wait_and_use_once();
    }
  }
};

/// [B12] [B44] Two mappers wait for the executor, each for a backing, and each gets one. On the heap of one slot, one
/// of them is in the lane.
template <heap_shape Shape>
struct two_waiting : model::suite<3>, stand<2, writers::several, Shape> {
  std::array<typename stand<2, writers::several, Shape>::mapping, 2> used;

  void before() {
    for (auto& one : used) one = this->use(1);
  }
  void thread(unsigned index) {
    if (index == 0) {
      for (const auto& one : used) one.memory->require(7);
      this->finished.signal(1);
    } else {
      this->wait_and_use_once();
    }
  }
};

/// [B12] A mapper waits for the only backing while another thread waits for the same value. On the heap of one slot,
/// one of the two is in the lane.
template <writers Writers, heap_shape Shape>
struct waited_beside_a_waiter : model::suite<3>, stand<1, Writers, Shape> {
  typename stand<1, Writers, Shape>::mapping used;

  void before() { used = this->use(1); }
  void thread(unsigned index) {
    if (index == 0) {
      this->execute(used);
    } else if (index == 1) {
      this->wait_and_use_once();
    } else {
      MODEL_REQUIRE(this->finished.wait(1) == tidemark::wait_status::reached);
    }
  }
};

/// [B5] [B9] Two mappers discard while the executor reads one of two backings.
struct two_mappers_and_executor : model::suite<3>, stand<2> {
  mapping used;

  void before() { used = use(1); }
  void thread(unsigned index) {
    if (index == 0) {
      execute(used);
    } else {
      const map_status status = use_once(static_cast<int>(index));
      MODEL_REQUIRE(status != map_status::no_memory && status != map_status::invalid);
    }
  }
  void after() { MODEL_REQUIRE(use_once(9) == map_status::mapped); }
};

/// Two mappers discard. Of two backings each mapper gets one; with one backing they take turns, or are told that it is
/// mapped.
template <std::size_t Backings>
struct two_mappers : model::suite<2>, stand<Backings> {
  void thread(unsigned index) {
    const map_status status = this->use_once(static_cast<int>(index));
    MODEL_REQUIRE(status == map_status::mapped || (Backings == 1 && status == map_status::no_space));
  }
  void after() { MODEL_REQUIRE(this->use_once(9) == map_status::mapped); }
};

/// [B44] The ring may make one more backing, and two mappers want it. One gets it, and the other one passes it by.
struct one_more : model::suite<2>, stand<2> {
  std::array<mapping, 2> mapped;

  void before() { use(1); }
  void thread(unsigned index) { mapped[index] = ring.try_map(map_mode::discard); }
  void after() {
    MODEL_REQUIRE(static_cast<bool>(mapped[0]) != static_cast<bool>(mapped[1]));
    for (const mapping& one : mapped) MODEL_REQUIRE(one || one.status == map_status::busy);
    finished.signal(1);
  }
};

/// [B43] The source makes one backing and no more. Two mappers take turns, or are told so.
struct refused_by_source : model::suite<2>, stand<0> {
  void before() { memory.may_be_made = 1; }
  void thread(unsigned index) {
    const map_status status = use_once(static_cast<int>(index));
    MODEL_REQUIRE(status == map_status::mapped || status == map_status::no_memory);
  }
  void after() {
    MODEL_REQUIRE(use_once(9) == map_status::mapped);
    MODEL_REQUIRE(ring.backings() == 1);
  }
};

/// Two mappings of one backing, each of which may write its half. Both are guests, or the first one discards.
template <std::size_t MaxRenames, map_mode First>
struct mapped_twice : stand<MaxRenames> {
  std::array<typename stand<MaxRenames>::mapping, 2> mapped;

  void before() {
    mapped[0] = this->ring.try_map(First);
    mapped[1] = this->ring.try_map(map_mode::no_overwrite);
  }
  void write_half(unsigned index) { mapped[index].memory->half[index].store(7); }
};

/// [B46] Two mappings of one backing write their halves of it. No discard takes the backing before both were unmapped.
struct nested : model::suite<2>, mapped_twice<2, map_mode::discard> {
  void thread(unsigned index) {
    write_half(index);
    MODEL_REQUIRE(mapped[index].memory->half[index].load() == 7);
    MODEL_REQUIRE(ring.unmap(mapped[index]));
    if (index == 1) MODEL_REQUIRE(use_once(8) == map_status::mapped);
  }
};

/// [B46] Two mappings are retired at the same time. The backing is in use until the greater of their values.
struct retired_together : model::suite<2>, mapped_twice<1, map_mode::discard> {
  void thread(unsigned index) { MODEL_REQUIRE(ring.retire(mapped[index], 1 + index)); }
  void after() { require_in_use_until_2(); }
};

/// [B46] Two guests write their halves. A mapper that discards the backing comes after both, or is told that it is
/// mapped.
struct two_guests_and_discard : model::suite<3>, mapped_twice<1, map_mode::no_overwrite> {
  void thread(unsigned index) {
    if (index < 2) {
      write_half(index);
      MODEL_REQUIRE(ring.unmap(mapped[index]));
    } else {
      const map_status status = use_once(8);
      MODEL_REQUIRE(status == map_status::mapped || status == map_status::no_space);
    }
  }
  void after() { MODEL_REQUIRE(use_once(9) == map_status::mapped); }
};

/// [B46] Two guests are retired at the same time. The backing is in use until the greater of their values, and a mapper
/// that discards meanwhile does not get it.
struct two_guests_retired : model::suite<3>, mapped_twice<1, map_mode::no_overwrite> {
  void thread(unsigned index) {
    if (index < 2) {
      write_half(index);
      MODEL_REQUIRE(ring.retire(mapped[index], 1 + index));
    } else {
      const map_status status = use_once(8);
      MODEL_REQUIRE(status == map_status::no_space || status == map_status::busy);
    }
  }
  void after() { require_in_use_until_2(); }
};

/// [B46] A mapping that has ended is unmapped again while others discard the same backing. It ends none of their
/// mappings.
struct stale_beside_discard : model::suite<3>, stand<1> {
  mapping stale;

  void before() {
    stale = ring.try_map(map_mode::discard);
    MODEL_REQUIRE(ring.unmap(stale));
  }
  void thread(unsigned index) {
    if (index == 0) {
      MODEL_REQUIRE(!ring.unmap(stale));
    } else {
      const map_status status = use_once(static_cast<int>(index));
      MODEL_REQUIRE(status == map_status::mapped || status == map_status::no_space);
    }
  }
  void after() { MODEL_REQUIRE(use_once(9) == map_status::mapped); }
};

/// [B46] A guest stays a guest, and can be unmapped, while another thread discards.
struct guest_beside_discards : model::suite<2>, stand<2> {
  void thread(unsigned index) {
    if (index == 0) {
      for (int round = 0; round < 2; ++round) use_once(7);
    } else {
      for (int round = 0; round < 2; ++round) {
        const mapping mapped = ring.try_map(map_mode::no_overwrite);
        MODEL_REQUIRE(mapped);
        MODEL_REQUIRE(ring.unmap(mapped));
      }
    }
  }
  void after() { MODEL_REQUIRE(use_once(9) == map_status::mapped); }
};

/// [B43] One thread trims and one discards while the executor reads one of two backings.
struct trim_discard_and_executor : model::suite<3>, stand<0> {
  mapping used;

  void before() {
    busy_and_idle();
    used = ring.try_map(map_mode::no_overwrite);
    MODEL_REQUIRE(ring.retire(used, 1));
  }
  void thread(unsigned index) {
    if (index == 0) {
      execute(used);
    } else if (index == 1) {
      ring.trim();
    } else {
      MODEL_REQUIRE(use_once(8) == map_status::mapped);
    }
  }
};

/// A platform that counts the plain fields of one type, of which a ring has one for each slot.
struct slots_counted : platform {
  static inline int slots = 0;

  template <class T>
  class var : public platform::var<T> {
   public:
    var() { slots += is_counted; }
    explicit var(T value) : platform::var<T>{value} { slots += is_counted; }
    ~var() { slots -= is_counted; }

   private:
    static constexpr int is_counted = std::is_same_v<T, cell*> ? 1 : 0;
  };
};

/// [B43] While the executor reads, a trimmed backing is made anew in its former slot.
struct slots_used_again : model::suite<2>, stand<0, writers::several, one_slot, slots_counted> {
  mapping used;

  void before() { used = use(1); }
  void thread(unsigned index) {
    if (index == 0) {
      execute(used);
    } else {
      for (int round = 0; round < 2; ++round) {
        const mapping first = ring.try_map(map_mode::discard);
        const mapping second = ring.try_map(map_mode::discard);
        if (first) MODEL_REQUIRE(ring.unmap(first));
        if (second) MODEL_REQUIRE(ring.unmap(second));
        ring.trim();
        MODEL_REQUIRE(slots_counted::slots <= 3);
      }
    }
  }
};

/// [B43] One thread trims while another one discards and then maps the current backing.
struct trim_beside_discard : model::suite<2>, stand<0> {
  void before() { busy_and_idle(); }
  void thread(unsigned index) {
    if (index == 0) {
      ring.trim();
    } else {
      use_once(7);
      const mapping mapped = ring.try_map(map_mode::no_overwrite);
      MODEL_REQUIRE(mapped);
      mapped.memory->require(7);
      MODEL_REQUIRE(ring.unmap(mapped));
    }
  }
  void after() { finished.signal(1); }
};

/// [B8] [B43] A mapper that asks for the current backing gets one that exists, while backings are renamed, trimmed and
/// made anew.
struct current_beside_trim : model::suite<2>, stand<2> {
  void before() { busy_and_idle(); }
  void thread(unsigned index) {
    if (index == 0) {
      const mapping moved = ring.try_map(map_mode::discard);
      MODEL_REQUIRE(ring.retire(moved, 2));
      finished.signal(1);
      ring.trim();
      const mapping again = ring.try_map(map_mode::discard);
      MODEL_REQUIRE(!again || ring.unmap(again));
    } else {
      const mapping mapped = ring.try_map(map_mode::no_overwrite);
      MODEL_REQUIRE(mapped);
      MODEL_REQUIRE(mapped.memory->half[0].load() != destroyed);
      MODEL_REQUIRE(ring.unmap(mapped));
    }
  }
  void after() { finished.signal(2); }
};

/// The executor has finished with one backing, and the mapper retires the other one before it maps the first. So the
/// two are mapped at no moment together.
struct never_all_mapped : model::suite<2>, stand<2> {
  mapping held;

  void before() {
    busy_and_idle();
    held = ring.try_map(map_mode::discard);
  }
  void thread(unsigned index) {
    if (index == 0) {
      finished.signal(1);
      MODEL_REQUIRE(ring.retire(held, 2));
      held = ring.try_map(map_mode::discard);
    } else {
      const mapping mapped = ring.try_map(map_mode::discard);
      MODEL_REQUIRE(mapped.status != map_status::no_space);
      MODEL_REQUIRE(!mapped || ring.unmap(mapped));
    }
  }
  void after() { finished.signal(2); }
};

/// A ring of which all backings are mapped when the threads begin.
template <std::size_t Backings, heap_shape Shape>
struct lent_backings : stand<Backings, writers::several, Shape> {
  using typename stand<Backings, writers::several, Shape>::mapping;
  std::array<mapping, Backings> held;

  void before() {
    for (mapping& each : held) each = this->ring.try_map(map_mode::discard);
  }
  void retire(unsigned which, std::uint64_t until) {
    held[which].memory->fill(7);
    MODEL_REQUIRE(this->ring.retire(held[which], until));
  }
  void give(unsigned which) { retire(which, 0); }
  template <class... Limits>
  tidemark::wait_status ask(std::size_t, const Limits&... limits) {
    mapping mapped;
    if constexpr (model::has_deadline<Limits...>) {
      mapped = this->ring.map_until(map_mode::discard, limits...);
    } else {
      mapped = this->ring.map(map_mode::discard, limits...);
    }
    if (mapped) {
      mapped.memory->fill(8);
      MODEL_REQUIRE(this->ring.unmap(mapped));
    }
    return model::end_of(mapped);
  }
};

template <heap_shape Shape>
using given_after_retire = model::given_after_retire<lent_backings, Shape>;

/// [B12] [B46] A guest unmaps the only backing, for which another thread waits.
struct guest_leaves : model::suite<2>, stand<1> {
  mapping guest;

  void before() { guest = ring.try_map(map_mode::no_overwrite); }
  void thread(unsigned index) {
    if (index == 0) {
      guest.memory->fill(7);
      MODEL_REQUIRE(ring.unmap(guest));
    } else {
      wait_and_use_once();
    }
  }
};

/// [B12] [B46] A thread that discards may have taken the backing before it finds a guest, and gives it back. The guest
/// has left by then, and waits for the backing itself.
struct guest_beside_discard : model::suite<2>, stand<1> {
  void thread(unsigned index) {
    if (index == 0) {
      MODEL_REQUIRE(ring.unmap(ring.try_map(map_mode::no_overwrite)));
      wait_and_use_once();
    } else {
      const map_status status = use_once(9);
      MODEL_REQUIRE(status == map_status::mapped || status == map_status::no_space);
    }
  }
};

/// [B12] A thread that maps for writing counts itself as a guest, finds that the backing is in use, and leaves. Another
/// one, which waits for the backing, may have seen the guest.
struct refused_guest : model::suite<2>, stand<1> {
  void thread(unsigned index) {
    if (index == 0) {
      const mapping mapped = ring.try_map(map_mode::write);
      if (mapped) MODEL_REQUIRE(ring.unmap(mapped));
      finished.signal(1);
    } else {
      const mapping mapped = ring.try_map(map_mode::discard);
      if (mapped) MODEL_REQUIRE(ring.retire(mapped, 1));
      wait_and_use_once();
    }
  }
};

/// [B12] [B43] Of two backings one is mapped. A thread that wants the other one finds that it is being trimmed, and
/// makes another one in its place.
struct waited_beside_trim : model::suite<2>, stand<2> {
  mapping held;

  void before() {
    const mapping idle = ring.try_map(map_mode::discard);
    held = ring.try_map(map_mode::discard);
    MODEL_REQUIRE(ring.unmap(idle));
  }
  void thread(unsigned index) { index == 0 ? void(ring.trim()) : wait_and_use_once(); }
  void after() { MODEL_REQUIRE(ring.unmap(held)); }
};

/// A pool that makes nothing.
struct empty_pool : pool {
  empty_pool() { may_be_made = 0; }
};

/// [B12] [B43] There is no backing, and the source makes none. Each thread is told so, and neither waits for the other.
struct none_can_be_made : model::suite<2> {
  using fence = model::progress_fence<one_slot>;

  empty_pool memory;
  fence finished;
  tidemark::rename_ring<model::view_of<fence>, pool_source, writers::several> ring{
      finished.view(), {.max_renames = 1}, pool_source{memory}};

  void thread(unsigned) { MODEL_REQUIRE(ring.map(map_mode::discard).status == map_status::no_memory); }
};

/// [B12] [B43] There may be one more backing, and the source makes none. A thread that finds the only one in use counts
/// one more while it asks. It wakes the thread that found no room then, and no value to wait for, because the only
/// backing stays mapped.
struct refused_beside_discard : model::suite<3>, stand<2> {
  mapping kept;

  void before() {
    memory.may_be_made = 1;
    use(1);
  }
  void thread(unsigned index) {
    if (index == 0) {
      const mapping mapped = ring.try_map(map_mode::discard);
      if (mapped) MODEL_REQUIRE(ring.unmap(mapped));
    } else if (index == 1) {
      finished.signal(1);
      kept = ring.try_map(map_mode::discard);
    } else {
      const mapping mapped = ring.map(map_mode::discard);
      MODEL_REQUIRE(mapped || mapped.status == map_status::no_memory);
      if (mapped) MODEL_REQUIRE(ring.unmap(mapped));
    }
  }
  void after() {
    if (kept) MODEL_REQUIRE(ring.unmap(kept));
  }
};

template <heap_shape Shape>
using waited_for = beside_executor<1, writers::several, Shape>;
template <heap_shape Shape>
using waited_for_by_one_mapper = beside_executor<1, writers::one, Shape>;
template <heap_shape Shape>
using beside_a_waiter = waited_beside_a_waiter<writers::several, Shape>;
template <heap_shape Shape>
using one_mapper_beside_a_waiter = waited_beside_a_waiter<writers::one, Shape>;

}  // namespace

int main(int argc, char** argv) {
  std::vector<model::check> checks{
      model::make_check<beside_executor<2, writers::several>, "discard_beside_executor">(),
      model::make_check<beside_executor<2, writers::one>, "discard_beside_executor.one_mapper">(),
      model::make_check<two_mappers_and_executor, "two_mappers_and_executor">(),
      model::make_check<two_guests_and_discard, "two_guests_and_discard">(),
      model::make_check<two_guests_retired, "two_guests_retired">(),
      model::make_check<stale_beside_discard, "stale_beside_discard">(),
      model::make_check<guest_beside_discards, "guest_beside_discards">(),
      model::make_check<trim_discard_and_executor, "trim_discard_and_executor">(),
      model::make_check<slots_used_again, "slots_used_again">(),
      model::make_check<two_mappers<1>, "two_mappers.one_backing">(),
      model::make_check<two_mappers<2>, "two_mappers.two_backings">(),
      model::make_check<one_more, "one_more">(),
      model::make_check<refused_by_source, "refused_by_source">(),
      model::make_check<nested, "nested">(),
      model::make_check<retired_together, "retired_together">(),
      model::make_check<trim_beside_discard, "trim_beside_discard">(),
      model::make_check<current_beside_trim, "current_beside_trim">(),
      model::make_check<never_all_mapped, "never_all_mapped">(),
      model::make_check<guest_leaves, "guest_leaves">(),
      model::make_check<guest_beside_discard, "guest_beside_discard">(),
      model::make_check<refused_guest, "refused_guest">(),
      model::make_check<waited_beside_trim, "waited_beside_trim">(),
      model::make_check<none_can_be_made, "none_can_be_made">(),
      model::make_check<refused_beside_discard, "refused_beside_discard">(),
  };
  model::add_on_shapes<waited_for, one_slot, "waited_for">(checks);
  model::add_on_shapes<waited_for_by_one_mapper, one_slot, "waited_for.one_mapper">(checks);
  model::add_on_shapes<beside_a_waiter, one_slot, "waited_beside_a_waiter">(checks);
  model::add_on_shapes<one_mapper_beside_a_waiter, one_slot, "waited_beside_a_waiter.one_mapper">(checks);
  model::add_on_shapes<two_waiting, one_slot, "two_waiting">(checks);
  model::lent_checks<lent_backings>::add(checks);
  model::add_on_shapes<given_after_retire, one_slot, "given_after_retire">(checks);
  return model::run(argc, argv, checks);
}
