// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the upload ring: nobody writes bytes that another one has or the executor still reads.
#include "support/progress.hpp"

#include <tidemark/upload_ring.hpp>

#include <array>
#include <utility>

namespace {

using model::payload;
using model::progress_fence;
using tidemark::upload_part;
using tidemark::upload_status;

/// Room for three waiters: a heap of two levels.
using two_levels_fence =
    tidemark::basic_progress_fence<model::platform, tidemark::fence_options{.capacity = 3, .arity = 2, .max_spins = 0}>;
template <class Fence>
using view_of = decltype(std::declval<const Fence&>().view());

/// A ring, and one field for each of its bytes.
template <unsigned Bytes, unsigned Parts, class Fence = progress_fence>
struct stand {
  Fence finished;
  tidemark::shared_upload_ring<view_of<Fence>> ring{Bytes, finished.view(), Parts};
  std::array<payload, Bytes> memory;

  void fill(const upload_part& part, int with) {
    for (std::uint64_t i = 0; i < part.bytes; ++i) memory[part.offset + i].store(with);
  }
  void require(const upload_part& part, int with) {
    for (std::uint64_t i = 0; i < part.bytes; ++i) MODEL_REQUIRE(memory[part.offset + i].load() == with);
  }
  /// Allocates, writes, and gives back what was not refused; the executor has nothing to do with it.
  upload_status use_once(std::uint64_t bytes, int with) {
    const upload_part part = ring.try_allocate(bytes);
    if (part) use(part, with);
    return part.status;
  }
  void use(const upload_part& part, int with) {
    fill(part, with);
    require(part, with);
    ring.retire(part, 0);
  }
  void after() {
    ring.reclaim();
    MODEL_REQUIRE(ring.bytes_in_use() == 0);
  }
};

/// Two allocate at the same time, and have different bytes.
struct two_allocate : model::suite<2>, stand<2, 2> {
  void thread(unsigned index) {
    const upload_part part = ring.try_allocate(1);
    MODEL_REQUIRE(part);
    fill(part, 7);
    require(part, 7);
    ring.retire(part, 0);
  }
};

/// There is room for two, and one record: one of them may be refused, and no part is forgotten.
struct one_record : model::suite<2>, stand<2, 1> {
  void thread(unsigned index) { use_once(1, static_cast<int>(index)); }
};

/// [trap 27] Two allocate and give back parts that don't fit into the end of the ring, where its head stands.
template <unsigned Parts>
struct across_the_end : model::suite<2>, stand<3, Parts> {
  using here = stand<3, Parts>;

  void before() { here::ring.retire(here::ring.try_allocate(2), 0); }
  void thread(unsigned index) { here::use_once(2, static_cast<int>(index)); }
};

/// One part is read by the executor until it signals; the next one who has its bytes comes after that, whoever took them
/// back.
template <bool Reclaimer>
struct read_until_signalled : model::suite<Reclaimer ? 3 : 2>, stand<1, 2> {
  upload_part part;

  void before() {
    part = ring.try_allocate(1);
    fill(part, 7);
  }
  void thread(unsigned index) {
    if (index == 0) {
      ring.retire(part, 1);
      require(part, 7);
      finished.signal(1);
    } else if (index == 1) {
      const upload_part next = ring.try_allocate(1);
      if (!next) return;
      fill(next, 8);
      ring.retire(next, 0);
    } else {
      ring.reclaim();
    }
  }
};

/// The same with a wait for space: it ends, with the bytes or because there is nothing to wait for yet.
template <class Fence>
struct waited_for : model::suite<2>, stand<1, 2, Fence> {
  upload_part part;

  void before() {
    part = this->ring.try_allocate(1);
    this->fill(part, 7);
  }
  void thread(unsigned index) {
    if (index == 0) {
      this->ring.retire(part, 1);
      this->require(part, 7);
      this->finished.signal(1);
    } else {
      const upload_part next = this->ring.allocate(1, 1);
      MODEL_REQUIRE(next || next.status == upload_status::all_open);
      if (next) this->use(next, 8);
    }
  }
};

/// The only part was retired before: who waits for its bytes gets them, whoever took them back.
template <class Fence>
struct reclaimed_while_waiting : model::suite<3>, stand<1, 2, Fence> {
  void before() { this->ring.retire(this->ring.try_allocate(1), 1); }
  void thread(unsigned index) {
    if (index == 0) {
      this->finished.signal(1);
    } else if (index == 1) {
      this->ring.reclaim();
    } else {
      const upload_part next = this->ring.allocate(1, 1);
      MODEL_REQUIRE(next);
      this->use(next, 8);
    }
  }
};

/// [B12] Two wait for the executor, and each gets its bytes. Where the fence has room for one waiter, the other one is in
/// the lane.
template <class Fence>
struct two_waiting : model::suite<3>, stand<2, 4, Fence> {
  upload_part part;

  void before() {
    part = this->ring.try_allocate(2);
    this->fill(part, 7);
    this->ring.retire(part, 1);
  }
  void thread(unsigned index) {
    if (index == 0) {
      this->require(part, 7);
      this->finished.signal(1);
    } else {
      const upload_part next = this->ring.allocate(1, 1);
      MODEL_REQUIRE(next);
      this->fill(next, static_cast<int>(index));
      this->ring.retire(next, 0);
    }
  }
};

/// [B12] One waits for space while another thread waits for the same value. Where the fence has room for one waiter, one of
/// the two is in the lane.
template <class Fence>
struct waited_beside_a_waiter : model::suite<3>, stand<1, 2, Fence> {
  upload_part part;

  void before() {
    part = this->ring.try_allocate(1);
    this->fill(part, 7);
    this->ring.retire(part, 1);
  }
  void thread(unsigned index) {
    if (index == 0) {
      this->require(part, 7);
      this->finished.signal(1);
    } else if (index == 1) {
      const upload_part next = this->ring.allocate(1, 1);
      MODEL_REQUIRE(next);
      this->fill(next, 8);
      this->ring.retire(next, 0);
    } else {
      MODEL_REQUIRE(this->finished.wait(1) == tidemark::wait_status::reached);
    }
  }
};

/// [B5] Two allocate while the executor reads one of two bytes.
struct two_allocate_beside_executor : model::suite<3>, stand<2, 2> {
  upload_part part;

  void before() {
    part = ring.try_allocate(1);
    fill(part, 7);
    ring.retire(part, 1);
  }
  void thread(unsigned index) {
    if (index == 0) {
      require(part, 7);
      finished.signal(1);
    } else {
      use_once(1, static_cast<int>(index));
    }
  }
};

/// The oldest part was retired, at every moment: the second one is retired before the first one comes back. So nobody is
/// told that all is open.
struct never_all_open : model::suite<2>, stand<2, 2> {
  upload_part second;

  void before() {
    ring.retire(ring.try_allocate(1), 1);
    second = ring.try_allocate(1);
    fill(second, 7);
  }
  void thread(unsigned index) {
    if (index == 0) {
      ring.retire(second, 2);
      require(second, 7);
      finished.signal(1);
      ring.reclaim();
    } else {
      MODEL_REQUIRE(use_once(2, 8) == upload_status::no_space);
    }
  }
  void after() {
    finished.signal(2);
    MODEL_REQUIRE(use_once(2, 8) == upload_status::allocated);
  }
};

/// The only part comes back, and its record is the next one's, which another thread has: who waits gets the bytes, or is told
/// that those are not retired.
struct record_of_a_later_part : model::suite<2>, stand<1, 1> {
  void before() { ring.retire(ring.try_allocate(1), 0); }
  void thread(unsigned index) {
    if (index == 0) {
      use_once(1, 7);
    } else {
      const upload_part next = ring.allocate(1, 1);
      MODEL_REQUIRE(next || next.status == upload_status::all_open);
      if (next) use(next, 8);
    }
  }
};

/// Who waits for space while another thread trims gets it: a trim is not taken for an open part. Its pieces are nobody's
/// meanwhile.
struct trim_waited_for : model::suite<2>, stand<2, 2> {
  void thread(unsigned index) {
    if (index == 0) {
      ring.trim(1, [this](std::uint64_t offset) {
        memory[offset].store(8);
        MODEL_REQUIRE(memory[offset].load() == 8);
      });
    } else {
      const upload_part next = ring.allocate(2, 1);
      MODEL_REQUIRE(next);
      use(next, 7);
    }
  }
};

/// One trims the idle ring while others allocate: the pieces are nobody's meanwhile. One who allocates alone is not told that
/// all is open.
template <unsigned Others>
struct trimmed_beside : model::suite<1 + Others>, stand<2, 2> {
  using here = stand<2, 2>;

  void thread(unsigned index) {
    if (index < Others) {
      const upload_status status = here::use_once(1, 7);
      MODEL_REQUIRE(Others > 1 || status != upload_status::all_open);
    } else {
      here::ring.trim(1, [this](std::uint64_t offset) {
        here::memory[offset].store(8);
        MODEL_REQUIRE(here::memory[offset].load() == 8);
      });
    }
  }
};

/// [B12] One thread waits for what the executor reads, again and again.
template <class Fence>
struct alone_waiting : model::suite<2> {
  Fence finished;
  tidemark::upload_ring<view_of<Fence>> ring{1, finished.view(), 2};
  payload memory;

  void before() { use(1); }
  void thread(unsigned index) {
    if (index == 0) {
      MODEL_REQUIRE(memory.load() == 7);
      finished.signal(1);
    } else {
      for (std::uint64_t round = 0; round < 2; ++round) use(0);
    }
  }
  void use(std::uint64_t until) {
    const upload_part part = ring.allocate(1, 1);
    MODEL_REQUIRE(part);
    memory.store(7);
    ring.retire(until);
  }
};

/// [trap 27] A batch lies across the end, and there is no record for the next one, which joins it: all bytes come back, when
/// the executor has read them.
struct joined_across_the_end : model::suite<2> {
  progress_fence finished;
  tidemark::upload_ring<view_of<progress_fence>> ring{5, finished.view(), 1};
  std::array<payload, 5> memory;

  void before() {
    use(3, 0);
    ring.reclaim();
    MODEL_REQUIRE(ring.bytes_in_use() == 0);
    use(3, 0);
    MODEL_REQUIRE(take(1) == 3);
    ring.reclaim();
    MODEL_REQUIRE(take(2) == 0);
    ring.retire(1);
    use(1, 1);
  }
  void thread(unsigned index) {
    if (index == 0) {
      for (const std::size_t at : {3, 0, 1, 2}) MODEL_REQUIRE(memory[at].load() == 7);
      finished.signal(1);
    } else {
      const upload_part whole = ring.allocate(5, 1);
      MODEL_REQUIRE(whole);
      for (payload& byte : memory) byte.store(8);
    }
  }
  std::uint64_t take(std::uint64_t bytes) {
    const upload_part part = ring.try_allocate(bytes);
    MODEL_REQUIRE(part);
    for (std::uint64_t i = 0; i < bytes; ++i) memory[part.offset + i].store(7);
    return part.offset;
  }
  void use(std::uint64_t bytes, std::uint64_t until) {
    take(bytes);
    ring.retire(until);
  }
};

/// [trap 27] One thread allocates what the executor reads until it signals, again and again, from a ring with room for
/// two.
struct alone : model::suite<2> {
  progress_fence finished;
  tidemark::upload_ring<view_of<progress_fence>> ring{2, finished.view(), 2};
  std::array<payload, 2> memory;

  void before() { use(1); }
  void thread(unsigned index) {
    if (index == 0) {
      MODEL_REQUIRE(memory[0].load() == 7);
      finished.signal(1);
    } else {
      for (std::uint64_t round = 0; round < 3; ++round) use(0);
    }
  }
  void use(std::uint64_t until) {
    const upload_part part = ring.try_allocate(1);
    if (!part) return;
    memory[part.offset].store(7);
    ring.retire(until);
  }
};

}  // namespace

int main(int argc, char** argv) {
  return model::run(
      argc, argv,
      {
          model::make_check<two_allocate, "two_allocate">(),
          model::make_check<one_record, "one_record">(),
          model::make_check<across_the_end<4>, "across_the_end">(),
          model::make_check<across_the_end<1>, "one_part_at_a_time">(),
          model::make_check<read_until_signalled<false>, "read_until_signalled">(),
          model::make_check<read_until_signalled<true>, "reclaimed_by_another">(),
          model::make_check<waited_for<progress_fence>, "waited_for">(),
          model::make_check<waited_for<two_levels_fence>, "waited_for.two_levels">(),
          model::make_check<reclaimed_while_waiting<progress_fence>, "reclaimed_while_waiting">(),
          model::make_check<reclaimed_while_waiting<two_levels_fence>, "reclaimed_while_waiting.two_levels">(),
          model::make_check<two_waiting<progress_fence>, "two_waiting">(),
          model::make_check<two_waiting<two_levels_fence>, "two_waiting.two_levels">(),
          model::make_check<two_allocate_beside_executor, "two_allocate_beside_executor">(),
          model::make_check<never_all_open, "never_all_open">(),
          model::make_check<record_of_a_later_part, "record_of_a_later_part">(),
          model::make_check<waited_beside_a_waiter<progress_fence>, "waited_beside_a_waiter">(),
          model::make_check<waited_beside_a_waiter<two_levels_fence>, "waited_beside_a_waiter.two_levels">(),
          model::make_check<trim_waited_for, "trim_waited_for">(),
          model::make_check<alone_waiting<progress_fence>, "alone_waiting">(),
          model::make_check<alone_waiting<two_levels_fence>, "alone_waiting.two_levels">(),
          model::make_check<joined_across_the_end, "joined_across_the_end">(),
          model::make_check<trimmed_beside<1>, "trimmed_beside">(),
          model::make_check<trimmed_beside<2>, "trimmed_beside_two">(),
          model::make_check<alone, "alone">(),
      });
}
