// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the rename ring with several mappers: nobody writes a backing that the executor still reads, that
// another one has, or that is gone.
#include "support/progress.hpp"

#include <tidemark/rename_ring.hpp>

#include <array>
#include <type_traits>
#include <utility>

namespace {

using model::payload;
using model::platform;
using model::progress_fence;
using tidemark::map_mode;
using tidemark::map_status;
using tidemark::mappers;

/// Room for three waiters: a heap of two levels.
using two_levels_fence =
    tidemark::basic_progress_fence<platform, tidemark::fence_options{.capacity = 3, .arity = 2, .max_spins = 0}>;

constexpr int destroyed = -1;

/// A backing: two fields that different mappings may write.
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

template <std::size_t MaxRenames, mappers Mappers = mappers::several, class Fence = progress_fence>
struct stand {
  using view = decltype(std::declval<const Fence&>().view());
  using ring_type = tidemark::rename_ring<pool_source, view, Mappers>;
  using mapping = typename ring_type::mapping;

  pool memory;
  Fence finished;
  ring_type ring{finished.view(), {}, {.max_renames = MaxRenames}, pool_source{memory}};

  /// A discard that is written and read, and given to nobody.
  map_status use_once(int with) {
    const mapping mapped = ring.try_map(map_mode::discard);
    if (!mapped) return mapped.status;
    mapped.memory->fill(with);
    mapped.memory->require(with);
    MODEL_REQUIRE(ring.unmap(mapped));
    return mapped.status;
  }
  /// A discard that work uses until the given value.
  mapping use(std::uint64_t until) {
    const mapping mapped = ring.try_map(map_mode::discard);
    MODEL_REQUIRE(mapped);
    mapped.memory->fill(7);
    MODEL_REQUIRE(ring.retire(mapped, until));
    return mapped;
  }
  /// Two backings: the current one is in use until 1, the other one is idle.
  void busy_and_idle() {
    const mapping idle = ring.try_map(map_mode::discard);
    MODEL_REQUIRE(ring.unmap(ring.try_map(map_mode::discard)));
    MODEL_REQUIRE(ring.unmap(idle));
    use(1);
  }
};

/// [B5] [B9] [B12] [B44] What the executor reads is not written before it has signalled, however often the resource is
/// discarded; with the only backing the mapper waits. Also with the plain words of one mapper.
template <std::size_t Backings, mappers Mappers, class Fence = progress_fence>
struct beside_executor : model::suite<2>, stand<Backings, Mappers, Fence> {
  typename stand<Backings, Mappers, Fence>::mapping used;

  void before() { used = this->use(1); }
  void thread(unsigned index) {
    if (index == 0) {
      used.memory->require(7);
      this->finished.signal(1);
    } else {
      for (int round = 0; round < 2; ++round) {
        const auto mapped = this->ring.map(map_mode::discard);
        MODEL_REQUIRE(mapped);
        mapped.memory->fill(8);
        MODEL_REQUIRE(this->ring.unmap(mapped));
      }
    }
  }
};

/// [B12] [B44] Two wait for the executor, each for a backing, and each gets one. Where the fence has room for one waiter, the
/// other one is in the lane.
template <class Fence>
struct two_waiting : model::suite<3>, stand<2, mappers::several, Fence> {
  std::array<typename stand<2, mappers::several, Fence>::mapping, 2> used;

  void before() {
    for (auto& one : used) one = this->use(1);
  }
  void thread(unsigned index) {
    if (index == 0) {
      for (const auto& one : used) one.memory->require(7);
      this->finished.signal(1);
    } else {
      const auto mapped = this->ring.map(map_mode::discard);
      MODEL_REQUIRE(mapped);
      mapped.memory->fill(8);
      MODEL_REQUIRE(this->ring.unmap(mapped));
    }
  }
};

/// [B12] One waits for the only backing while another thread waits for the same value. Where the fence has room for one
/// waiter, one of the two is in the lane.
template <mappers Mappers, class Fence>
struct waited_beside_a_waiter : model::suite<3>, stand<1, Mappers, Fence> {
  typename stand<1, Mappers, Fence>::mapping used;

  void before() { used = this->use(1); }
  void thread(unsigned index) {
    if (index == 0) {
      used.memory->require(7);
      this->finished.signal(1);
    } else if (index == 1) {
      const auto mapped = this->ring.map(map_mode::discard);
      MODEL_REQUIRE(mapped);
      mapped.memory->fill(8);
      MODEL_REQUIRE(this->ring.unmap(mapped));
    } else {
      MODEL_REQUIRE(this->finished.wait(1) == tidemark::wait_status::reached);
    }
  }
};

/// [B5] [B9] Two discard, while the executor reads one of two backings.
struct two_mappers_and_executor : model::suite<3>, stand<2> {
  mapping used;

  void before() { used = use(1); }
  void thread(unsigned index) {
    if (index == 0) {
      used.memory->require(7);
      finished.signal(1);
    } else {
      const map_status status = use_once(static_cast<int>(index));
      MODEL_REQUIRE(status != map_status::no_memory && status != map_status::invalid);
    }
  }
  void after() { MODEL_REQUIRE(use_once(9) == map_status::mapped); }
};

/// Two discard: with room for two each gets a backing of its own, with room for one they take turns, or are told.
template <std::size_t Backings>
struct two_mappers : model::suite<2>, stand<Backings> {
  void thread(unsigned index) {
    const map_status status = this->use_once(static_cast<int>(index));
    MODEL_REQUIRE(status == map_status::mapped || (Backings == 1 && status == map_status::all_mapped));
  }
  void after() { MODEL_REQUIRE(this->use_once(9) == map_status::mapped); }
};

/// [B44] There may be one more backing, and two want it: one gets it, and the other one walks past it.
struct one_more : model::suite<2>, stand<2> {
  std::array<mapping, 2> mapped;

  void before() { use(1); }
  void thread(unsigned index) { mapped[index] = ring.try_map(map_mode::discard); }
  void after() {
    MODEL_REQUIRE(static_cast<bool>(mapped[0]) != static_cast<bool>(mapped[1]));
    for (const mapping& one : mapped) MODEL_REQUIRE(one || one.status == map_status::was_still_drawing);
    finished.signal(1);
  }
};

/// [B43] The source makes one backing and no more: two take turns, or are told.
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

/// [B46] Two mappings of one backing write their halves of it; nobody discards it before both were retired.
struct nested : model::suite<2>, stand<2> {
  std::array<mapping, 2> mapped;

  void before() {
    mapped[0] = ring.try_map(map_mode::discard);
    mapped[1] = ring.try_map(map_mode::no_overwrite);
  }
  void thread(unsigned index) {
    mapped[index].memory->half[index].store(7);
    MODEL_REQUIRE(mapped[index].memory->half[index].load() == 7);
    MODEL_REQUIRE(ring.unmap(mapped[index]));
    if (index == 1) MODEL_REQUIRE(use_once(8) == map_status::mapped);
  }
};

/// [B46] Two mappings are retired at the same time: the backing is in use until the greater of their values.
struct retired_together : model::suite<2>, stand<1> {
  std::array<mapping, 2> mapped;

  void before() {
    mapped[0] = ring.try_map(map_mode::discard);
    mapped[1] = ring.try_map(map_mode::no_overwrite);
  }
  void thread(unsigned index) { MODEL_REQUIRE(ring.retire(mapped[index], 1 + index)); }
  void after() {
    finished.signal(1);
    MODEL_REQUIRE(use_once(8) == map_status::was_still_drawing);
    finished.signal(2);
    MODEL_REQUIRE(use_once(8) == map_status::mapped);
  }
};

/// [B46] Two guests write their halves; who discards the backing comes after both, or is told.
struct two_guests_and_discard : model::suite<3>, stand<1> {
  std::array<mapping, 2> mapped;

  void before() {
    for (mapping& one : mapped) one = ring.try_map(map_mode::no_overwrite);
  }
  void thread(unsigned index) {
    if (index < 2) {
      mapped[index].memory->half[index].store(7);
      MODEL_REQUIRE(ring.unmap(mapped[index]));
    } else {
      const map_status status = use_once(8);
      MODEL_REQUIRE(status == map_status::mapped || status == map_status::all_mapped);
    }
  }
  void after() { MODEL_REQUIRE(use_once(9) == map_status::mapped); }
};

/// [B46] Two guests are retired at the same time: the backing is in use until the greater of their values, and who discards
/// it meanwhile does not get it.
struct two_guests_retired : model::suite<3>, stand<1> {
  std::array<mapping, 2> mapped;

  void before() {
    for (mapping& one : mapped) one = ring.try_map(map_mode::no_overwrite);
  }
  void thread(unsigned index) {
    if (index < 2) {
      mapped[index].memory->half[index].store(7);
      MODEL_REQUIRE(ring.retire(mapped[index], 1 + index));
    } else {
      const map_status status = use_once(8);
      MODEL_REQUIRE(status == map_status::all_mapped || status == map_status::was_still_drawing);
    }
  }
  void after() {
    finished.signal(1);
    MODEL_REQUIRE(use_once(8) == map_status::was_still_drawing);
    finished.signal(2);
    MODEL_REQUIRE(use_once(8) == map_status::mapped);
  }
};

/// [B46] A mapping that has ended is retired again, while others discard the same backing: it ends none of theirs.
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
      MODEL_REQUIRE(status == map_status::mapped || status == map_status::all_mapped);
    }
  }
  void after() { MODEL_REQUIRE(use_once(9) == map_status::mapped); }
};

/// [B46] A guest stays a guest, and its retire is matched, while another thread discards.
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

/// [B43] One trims, one discards, and the executor reads one of two backings.
struct trim_discard_and_executor : model::suite<3>, stand<0> {
  mapping used;

  void before() {
    busy_and_idle();
    used = ring.try_map(map_mode::no_overwrite);
    MODEL_REQUIRE(ring.retire(used, 1));
  }
  void thread(unsigned index) {
    if (index == 0) {
      used.memory->require(7);
      finished.signal(1);
    } else if (index == 1) {
      ring.trim();
    } else {
      MODEL_REQUIRE(use_once(8) == map_status::mapped);
    }
  }
};

/// A platform that counts the plain fields of one type: a ring has one for each slot.
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
using slots_counted_fence =
    tidemark::basic_progress_fence<slots_counted, tidemark::fence_options{.capacity = 1, .arity = 2, .max_spins = 0}>;

/// [B43] What was trimmed is made anew in the slot that it had, while the executor reads.
struct slots_used_again : model::suite<2>, stand<0, mappers::several, slots_counted_fence> {
  mapping used;

  void before() { used = use(1); }
  void thread(unsigned index) {
    if (index == 0) {
      used.memory->require(7);
      finished.signal(1);
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

/// [B43] One trims while another one discards, and goes on with what is current.
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

/// [B8] [B43] Who asks for the current backing gets one that is there, while others are renamed, trimmed and made again.
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

/// The executor is done with one backing, and the other one is given to it before the first is taken: at no moment are both
/// mapped.
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
      MODEL_REQUIRE(mapped.status != map_status::all_mapped);
      MODEL_REQUIRE(!mapped || ring.unmap(mapped));
    }
  }
  void after() { finished.signal(2); }
};

}  // namespace

int main(int argc, char** argv) {
  return model::run(
      argc, argv,
      {
          model::make_check<beside_executor<2, mappers::several>, "discard_beside_executor">(),
          model::make_check<beside_executor<1, mappers::several>, "waited_for">(),
          model::make_check<beside_executor<1, mappers::several, two_levels_fence>, "waited_for.two_levels">(),
          model::make_check<beside_executor<1, mappers::one, two_levels_fence>, "waited_for.one_mapper.two_levels">(),
          model::make_check<waited_beside_a_waiter<mappers::several, progress_fence>, "waited_beside_a_waiter">(),
          model::make_check<waited_beside_a_waiter<mappers::several, two_levels_fence>,
                            "waited_beside_a_waiter.two_levels">(),
          model::make_check<waited_beside_a_waiter<mappers::one, progress_fence>,
                            "waited_beside_a_waiter.one_mapper">(),
          model::make_check<waited_beside_a_waiter<mappers::one, two_levels_fence>,
                            "waited_beside_a_waiter.one_mapper.two_levels">(),
          model::make_check<two_waiting<progress_fence>, "two_waiting">(),
          model::make_check<two_waiting<two_levels_fence>, "two_waiting.two_levels">(),
          model::make_check<two_mappers_and_executor, "two_mappers_and_executor">(),
          model::make_check<two_guests_and_discard, "two_guests_and_discard">(),
          model::make_check<two_guests_retired, "two_guests_retired">(),
          model::make_check<stale_beside_discard, "stale_beside_discard">(),
          model::make_check<guest_beside_discards, "guest_beside_discards">(),
          model::make_check<trim_discard_and_executor, "trim_discard_and_executor">(),
          model::make_check<slots_used_again, "slots_used_again">(),
          model::make_check<beside_executor<2, mappers::one>, "discard_beside_executor.one_mapper">(),
          model::make_check<beside_executor<1, mappers::one>, "waited_for.one_mapper">(),
          model::make_check<two_mappers<1>, "two_mappers.one_backing">(),
          model::make_check<two_mappers<2>, "two_mappers.two_backings">(),
          model::make_check<one_more, "one_more">(),
          model::make_check<refused_by_source, "refused_by_source">(),
          model::make_check<nested, "nested">(),
          model::make_check<retired_together, "retired_together">(),
          model::make_check<trim_beside_discard, "trim_beside_discard">(),
          model::make_check<current_beside_trim, "current_beside_trim">(),
          model::make_check<never_all_mapped, "never_all_mapped">(),
      });
}
