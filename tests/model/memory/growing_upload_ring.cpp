// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the upload ring of several blocks: no thread writes a block that was destroyed, or bytes that another
// thread has or the executor still reads, whoever adds blocks and whoever gives them back.
#include "support/lent.hpp"
#include "support/progress.hpp"

#include <tidemark/memory/growing_upload_ring.hpp>

#include <array>
#include <optional>

namespace {

using model::heap_shape;
using model::one_slot;
using model::payload;
using model::platform;
using tidemark::growing_options;
using tidemark::upload_status;
using tidemark::writers;

constexpr int destroyed = -1;

/// A block: one field for each byte.
using cells = std::array<payload, 2>;

/// A few blocks, each of which is made at most once.
struct pool {
  std::array<cells, 4> blocks;
  platform::atomic<unsigned> taken;
  unsigned may_be_made = 4;
};
class pool_source {
 public:
  using backing = cells*;

  explicit pool_source(pool& from) : from_{&from} {}

  backing create(const tidemark::backing_traits&) noexcept {
    const unsigned index = from_->taken.fetch_add(1, std::memory_order_relaxed);
    if (index >= from_->may_be_made) return nullptr;
    MODEL_REQUIRE(index < from_->blocks.size());
    for (payload& byte : from_->blocks[index]) byte.store(0);
    return &from_->blocks[index];
  }
  void destroy(backing made, const tidemark::backing_traits&) noexcept {
    for (payload& byte : *made) {
      MODEL_REQUIRE(byte.load() != destroyed);
      byte.store(destroyed);
    }
  }

 private:
  pool* from_;
};

template <std::size_t MaxBlocks, writers Writers = writers::several, unsigned MayBeMade = 4,
          heap_shape Shape = one_slot>
struct stand {
  using fence = model::progress_fence<Shape>;
  using ring_type = tidemark::growing_upload_ring<model::view_of<fence>, pool_source, Writers>;
  using part = typename ring_type::part;

  pool memory{.may_be_made = MayBeMade};
  fence finished;
  ring_type ring{finished.view(),
                 {.block_bytes = 2, .max_blocks = MaxBlocks, .keep_blocks = 0, .idle_rounds = 1, .max_records = 2},
                 pool_source{memory}};

  static void fill(const part& which, int with) {
    for (std::uint64_t i = 0; i < which.bytes; ++i) (*which.memory)[which.offset + i].store(with);
  }
  static void require(const part& which, int with) {
    for (std::uint64_t i = 0; i < which.bytes; ++i) MODEL_REQUIRE((*which.memory)[which.offset + i].load() == with);
  }
  void retire([[maybe_unused]] const part& which, std::uint64_t until) {
    if constexpr (Writers == writers::several) {
      MODEL_REQUIRE(ring.retire(which, until));
    } else {
      MODEL_REQUIRE(ring.retire(until));
    }
  }
  void use(const part& which, int with) {
    fill(which, with);
    require(which, with);
    retire(which, 0);
  }
  upload_status use_once(std::uint64_t bytes, int with) {
    const part made = ring.try_allocate(bytes);
    if (made) use(made, with);
    return made.status;
  }
  void after() {
    ring.trim();
    MODEL_REQUIRE(ring.blocks() == 0);
    const tidemark::growing_statistics now = ring.statistics();
    MODEL_REQUIRE(now.created == now.destroyed);
    MODEL_REQUIRE(MaxBlocks == 0 || now.most_blocks <= MaxBlocks);
  }
};
/// The same, with at most one block.
template <heap_shape Shape>
using one_block = stand<1, writers::several, 4, Shape>;

/// [B5] One thread allocates and adds a block, while the executor reads a part of the first one. When it has signalled,
/// the rounds give the blocks back, and not before.
struct alone : model::suite<2>, stand<0, writers::one> {
  part first;

  void before() {
    first = ring.try_allocate(2);
    fill(first, 7);
    ring.retire(1);
  }
  void thread(unsigned index) {
    if (index == 0) {
      require(first, 7);
      finished.signal(1);
    } else {
      MODEL_REQUIRE(use_once(2, 8) == upload_status::allocated);
      ring.end_round();
      ring.end_round();
      MODEL_REQUIRE(use_once(1, 9) == upload_status::allocated);
    }
  }
};

/// [B5] The executor reads the only block until it signals. A thread gives back what it can meanwhile.
struct released_behind_the_executor : model::suite<2>, stand<1> {
  part first;

  void before() {
    first = ring.try_allocate(2);
    fill(first, 7);
  }
  void thread(unsigned index) {
    if (index == 0) {
      ring.retire(first, 1);
      require(first, 7);
      finished.signal(1);
    } else {
      ring.trim();
    }
  }
};

/// [B43] Threads allocate while another one gives back every block that is empty. Each gets bytes of its own.
template <unsigned Threads, std::size_t MaxBlocks>
struct allocated_beside_release : model::suite<Threads>, stand<MaxBlocks> {
  using here = stand<MaxBlocks>;

  void thread(unsigned index) {
    if (index == 0) {
      here::ring.trim();
    } else {
      const upload_status status = here::use_once(index, static_cast<int>(index));
      MODEL_REQUIRE(MaxBlocks != 0 || status == upload_status::allocated);
    }
  }
};

/// [B43] Two threads need a block each at the same time, and both find it.
struct two_grow : model::suite<2>, stand<0> {
  void before() { ring.trim(); }
  void thread(unsigned index) { MODEL_REQUIRE(use_once(2, static_cast<int>(index)) == upload_status::allocated); }
};

/// [B43] The same with a limit of one. Who is refused finds no space, or that it is busy, and nothing is lost.
struct two_grow_to_the_limit : model::suite<2>, stand<1> {
  void before() { ring.trim(); }
  void thread(unsigned index) { use_once(2, static_cast<int>(index)); }
};

/// [B43] The only block is full. One of two threads adds a place for another one, and the other thread finds that.
struct grown_for_two : model::suite<2>, stand<2> {
  part first;

  void before() { first = ring.try_allocate(2); }
  void thread(unsigned index) { use_once(1, static_cast<int>(index)); }
  void after() {
    retire(first, 0);
    stand::after();
  }
};

/// [B43] Three threads add places for blocks at the same time.
struct three_grow : model::suite<3>, stand<0> {
  void thread(unsigned index) { MODEL_REQUIRE(use_once(2, static_cast<int>(index)) == upload_status::allocated); }
};

/// [B43] Two threads end rounds at the same time. The only block is given back once.
struct two_end_rounds : model::suite<2>, stand<0> {
  // So the block is not idle in the first round.
  void before() { MODEL_REQUIRE(use_once(1, 7) == upload_status::allocated); }
  void thread(unsigned) {
    ring.end_round();
    ring.end_round();
  }
};

/// [B43] A block was given back. While one thread makes another one in its place, a second thread ends a round, and a
/// third one allocates.
struct grown_beside_a_round : model::suite<3>, stand<0> {
  void before() { ring.trim(); }
  void thread(unsigned index) {
    if (index == 2) {
      ring.end_round();
    } else {
      MODEL_REQUIRE(use_once(1, static_cast<int>(index)) == upload_status::allocated);
    }
  }
};

/// [B12] Threads wait for room, at the limit, while another thread gives the only block back. They add one in its
/// place, one after the other.
template <unsigned Waiters, heap_shape Shape>
struct waits_beside_release_of : model::suite<1 + Waiters>, one_block<Shape> {
  void thread(unsigned index) {
    if (index == 0) {
      this->ring.trim();
    } else {
      const auto made = this->ring.allocate(2);
      MODEL_REQUIRE(made);
      this->use(made, static_cast<int>(index));
    }
  }
};
template <heap_shape Shape>
using waits_beside_release = waits_beside_release_of<1, Shape>;
template <heap_shape Shape>
using two_wait_beside_release = waits_beside_release_of<2, Shape>;

/// [B12] There is no block. One of two threads adds the only one, in which there is room for both. The other one gets
/// its byte before that part is retired.
template <heap_shape Shape>
struct waits_beside_growth : model::suite<2>, one_block<Shape> {
  model::progress_fence<one_slot> done;

  void before() { this->ring.trim(); }
  void thread(unsigned index) {
    const auto made = this->ring.allocate(1);
    MODEL_REQUIRE(made);
    this->fill(made, static_cast<int>(index));
    if (index == 0) {
      MODEL_REQUIRE(done.wait(1) == tidemark::wait_status::reached);
    } else {
      done.signal(1);
    }
    this->use(made, static_cast<int>(index));
  }
};

/// [B12] The source refuses. A thread that waits beside it is told, too, since it may ask the source itself.
template <heap_shape Shape>
struct refused_while_waiting : model::suite<2>, stand<1, writers::several, 0, Shape> {
  void thread(unsigned) { MODEL_REQUIRE(this->ring.allocate(1).status == upload_status::no_memory); }
};

/// [A120] [B12] The timeline is lost while one thread tries to give a block back, of which a part stays open, and
/// another one waits for room. The waiter is told.
template <heap_shape Shape>
struct lost_beside_release_in_vain : model::suite<3>, one_block<Shape> {
  using here = one_block<Shape>;
  typename here::part open;

  void before() { open = this->ring.try_allocate(1); }
  void thread(unsigned index) {
    if (index == 0) {
      this->ring.trim();
    } else if (index == 1) {
      this->finished.poison();
    } else {
      MODEL_REQUIRE(this->ring.allocate(2).status == upload_status::lost);
    }
  }
  void after() {
    this->use(open, 7);
    here::after();
  }
};

/// [A120] [B12] The timeline is lost while one thread gives the only block back, or adds the last one, and another one
/// waits for room. The waiter gets it or is told.
template <bool IsAdded, heap_shape Shape>
struct lost_beside_change : model::suite<3>, one_block<Shape> {
  using here = one_block<Shape>;
  typename here::part added;

  void before() {
    if (IsAdded) this->ring.trim();
  }
  void thread(unsigned index) {
    if (index == 0) {
      if constexpr (IsAdded) {
        added = this->ring.try_allocate(2);
        if (added) this->fill(added, 7);
      } else {
        this->ring.trim();
      }
    } else if (index == 1) {
      this->finished.poison();
    } else {
      const auto made = this->ring.allocate(2);
      MODEL_REQUIRE(made || made.status == upload_status::lost);
      if (made) this->use(made, 8);
    }
  }
  void after() {
    if (added) this->use(added, 9);
    here::after();
  }
};
template <heap_shape Shape>
using lost_beside_release = lost_beside_change<false, Shape>;
template <heap_shape Shape>
using lost_beside_growth = lost_beside_change<true, Shape>;

/// A ring of one block, of which each byte is a part of its own when the threads begin.
template <std::size_t Bytes, heap_shape Shape>
struct lent_parts {
  using fence = model::progress_fence<Shape>;
  using ring_type = tidemark::growing_upload_ring<model::view_of<fence>, pool_source, writers::several>;
  using part = typename ring_type::part;
  using of = one_block<Shape>;

  pool memory;
  fence finished;
  ring_type ring{
      finished.view(), {.block_bytes = Bytes, .max_blocks = 1, .max_records = 2 * Bytes}, pool_source{memory}};
  std::array<part, Bytes> held;

  void before() {
    for (part& each : held) each = ring.try_allocate(1);
  }
  void retire(unsigned which, std::uint64_t until) {
    of::fill(held[which], 7);
    MODEL_REQUIRE(ring.retire(held[which], until));
  }
  void give(unsigned which) { retire(which, 0); }
  template <class... Limits>
  tidemark::wait_status ask(std::size_t bytes, const Limits&... limits) {
    part made;
    if constexpr (model::has_deadline<Limits...>) {
      made = ring.allocate_until(bytes, 1, limits...);
    } else {
      made = ring.allocate(bytes, 1, limits...);
    }
    if (made) {
      of::fill(made, 8);
      MODEL_REQUIRE(ring.retire(made, 0));
    }
    return model::end_of(made);
  }
};

/// [B12] A thread waits for the block of another one, which retires its part.
struct waits_for_a_part : model::suite<2>, stand<1> {
  part first;

  void before() { first = ring.try_allocate(2); }
  void thread(unsigned index) {
    if (index == 0) {
      use(first, 7);
    } else {
      const part made = ring.allocate(1);
      MODEL_REQUIRE(made);
      use(made, 8);
    }
  }
};

/// [B43] The source refuses. A thread gets the end that another one's part gives back, or is refused, and nothing is
/// lost.
struct refused_beside_shrink : model::suite<2>, stand<0, writers::several, 1> {
  part first;

  void before() { first = ring.try_allocate(2); }
  void thread(unsigned index) {
    if (index == 0) {
      fill(first, 7);
      MODEL_REQUIRE(ring.try_shrink(first, 1));
      use(first, 9);
    } else {
      const upload_status status = use_once(1, 8);
      MODEL_REQUIRE(status == upload_status::allocated || status == upload_status::no_memory ||
                    status == upload_status::busy);
    }
  }
};

/// [B5] The ring is destroyed while the executor reads a part. Its block goes when the executor has signalled.
struct destroyed_behind_the_executor : model::suite<2> {
  using of = stand<0>;
  pool memory;
  of::fence finished;
  std::optional<of::ring_type> ring;
  of::part first;

  void before() {
    ring.emplace(finished.view(), growing_options{.block_bytes = 2, .max_records = 2}, pool_source{memory});
    first = ring->try_allocate(2);
    of::fill(first, 7);
    MODEL_REQUIRE(ring->retire(first, 1));
  }
  void thread(unsigned index) {
    if (index == 0) {
      of::require(first, 7);
      finished.signal(1);
    } else {
      ring.reset();
    }
  }
  void after() {
    for (payload& byte : memory.blocks[0]) MODEL_REQUIRE(byte.load() == destroyed);
  }
};

/// [B43] The source has no block at all, and two threads ask. Both are refused, and the count of blocks stays right.
struct refused_at_all : model::suite<2>, stand<1, writers::several, 0> {
  void thread(unsigned) {
    const upload_status status = use_once(1, 8);
    MODEL_REQUIRE(status == upload_status::no_memory || status == upload_status::no_space);
  }
  void after() {
    MODEL_REQUIRE(ring.blocks() == 0);
    MODEL_REQUIRE(ring.try_allocate(1).status == upload_status::no_memory);
  }
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<model::check> checks{
      model::make_check<alone, "alone">(),
      model::make_check<released_behind_the_executor, "released_behind_the_executor">(),
      model::make_check<allocated_beside_release<2, 0>, "allocated_beside_release">(),
      model::make_check<allocated_beside_release<3, 0>, "two_allocate_beside_release">(),
      model::make_check<allocated_beside_release<3, 1>, "two_allocate_beside_release_of_one">(),
      model::make_check<two_grow, "two_grow">(),
      model::make_check<two_grow_to_the_limit, "two_grow_to_the_limit">(),
      model::make_check<grown_for_two, "grown_for_two">(),
      model::make_check<three_grow, "three_grow">(),
      model::make_check<two_end_rounds, "two_end_rounds">(),
      model::make_check<grown_beside_a_round, "grown_beside_a_round">(),
      model::make_check<waits_for_a_part, "waits_for_a_part">(),
      model::make_check<refused_beside_shrink, "refused_beside_shrink">(),
      model::make_check<destroyed_behind_the_executor, "destroyed_behind_the_executor">(),
      model::make_check<refused_at_all, "refused_at_all">(),
  };
  model::add_on_shapes<waits_beside_release, one_slot, "waits_beside_release">(checks);
  model::add_on_shapes<two_wait_beside_release, model::two_slots, "two_wait_beside_release">(checks);
  model::add_on_shapes<waits_beside_growth, one_slot, "waits_beside_growth">(checks);
  model::add_on_shapes<refused_while_waiting, one_slot, "refused_while_waiting">(checks);
  model::add_on_shapes<lost_beside_release_in_vain, one_slot, "lost_beside_release_in_vain">(checks);
  model::add_on_shapes<lost_beside_release, one_slot, "lost_beside_release">(checks);
  model::add_on_shapes<lost_beside_growth, one_slot, "lost_beside_growth">(checks);
  model::lent_checks<lent_parts>::add(checks);
  return model::run(argc, argv, checks);
}
