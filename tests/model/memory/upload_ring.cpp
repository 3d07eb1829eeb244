// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the upload ring: no thread writes bytes that another thread has allocated or that the executor still
// reads.
#include "support/lent.hpp"
#include "support/progress.hpp"

#include <tidemark/memory/upload_ring.hpp>

#include <array>

namespace {

using model::heap_shape;
using model::one_slot;
using model::payload;
using model::progress_fence;
using tidemark::upload_part;
using tidemark::upload_status;

template <heap_shape Shape>
using view_of = model::view_of<progress_fence<Shape>>;

/// A ring, and one field for each of its bytes.
template <unsigned Bytes, unsigned Parts, heap_shape Shape = one_slot>
struct stand {
  progress_fence<Shape> finished;
  tidemark::upload_ring<view_of<Shape>, tidemark::writers::several> ring{finished.view(),
                                                                         {.capacity = Bytes, .max_records = Parts}};
  std::array<payload, Bytes> memory;

  void fill(const upload_part& part, int with) {
    for (std::uint64_t i = 0; i < part.bytes; ++i) memory[part.offset + i].store(with);
  }
  void require(const upload_part& part, int with) {
    for (std::uint64_t i = 0; i < part.bytes; ++i) MODEL_REQUIRE(memory[part.offset + i].load() == with);
  }
  /// Allocates a part, writes it and retires it without any use by the executor. Returns the outcome of the allocation.
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
  /// Allocates one byte, waits for it if it must, and writes it.
  void wait_and_write_once(int with) {
    const upload_part part = ring.allocate(1, 1);
    MODEL_REQUIRE(part);
    fill(part, with);
    ring.retire(part, 0);
  }
  void after() {
    ring.reclaim();
    MODEL_REQUIRE(ring.bytes_in_use() == 0);
  }
};

/// A part that the executor reads until it signals 1.
template <unsigned Used, unsigned Bytes, unsigned Parts, heap_shape Shape = one_slot>
struct part_in_use : stand<Bytes, Parts, Shape> {
  upload_part part;

  void before() {
    part = this->ring.try_allocate(Used);
    this->fill(part, 7);
  }
  void execute() {
    this->require(part, 7);
    this->finished.signal(1);
  }
};
/// The same part, retired before the threads begin.
template <unsigned Used, unsigned Bytes, unsigned Parts, heap_shape Shape = one_slot>
struct retired_part : part_in_use<Used, Bytes, Parts, Shape> {
  void before() {
    part_in_use<Used, Bytes, Parts, Shape>::before();
    this->ring.retire(this->part, 1);
  }
};

/// Two threads allocate at the same time, and have different bytes.
struct two_allocate : model::suite<2>, stand<2, 2> {
  void thread(unsigned index) {
    const upload_part part = ring.try_allocate(1);
    MODEL_REQUIRE(part);
    fill(part, 7);
    require(part, 7);
    ring.retire(part, 0);
  }
};

/// The ring has room for two parts, but one record. One of two threads may be refused, and no part is lost.
struct one_record : model::suite<2>, stand<2, 1> {
  void thread(unsigned index) { use_once(1, static_cast<int>(index)); }
};

/// [trap 27] Two threads allocate and retire parts that do not fit between the ring's head and its end.
template <unsigned Parts>
struct across_the_end : model::suite<2>, stand<3, Parts> {
  using here = stand<3, Parts>;

  void before() { here::ring.retire(here::ring.try_allocate(2), 0); }
  void thread(unsigned index) { here::use_once(2, static_cast<int>(index)); }
};

/// [B5] Two threads take back what is free while a third one retires another part. Each byte is taken back once.
struct taken_back_once : model::suite<3>, stand<3, 4> {
  std::array<upload_part, 3> parts;
  std::array<std::uint64_t, 2> freed{};

  void before() {
    for (upload_part& each : parts) each = ring.try_allocate(1);
    for (std::size_t i = 0; i < 2; ++i) use(parts[i], 7);
  }
  void thread(unsigned index) {
    if (index == 2) return use(parts[2], 8);
    freed[index] = ring.reclaim();
    if (index == 0) freed[index] -= use_once(1, 9) == upload_status::allocated ? 1 : 0;
  }
  void after() { MODEL_REQUIRE(freed[0] + freed[1] + ring.reclaim() == 3); }
};

/// [trap 27] There is one part at a time. The statistics say so, also where a thread comes late to take it back.
struct most_that_was : model::suite<2>, stand<4, 4> {
  void before() { use_once(1, 7); }
  void thread(unsigned index) {
    for (int round = 0; round < 2; ++round) {
      ring.reclaim();
      if (index == 1) MODEL_REQUIRE(use_once(1, 8) == upload_status::allocated);
    }
  }
  void after() {
    stand::after();
    MODEL_REQUIRE(ring.statistics().most_in_use == 1);
  }
};

/// The executor reads a part until it signals. The next thread that gets these bytes comes after that, whichever thread
/// reclaimed them.
template <bool Reclaimer>
struct read_until_signalled : model::suite<Reclaimer ? 3 : 2>, part_in_use<1, 1, 2> {
  void thread(unsigned index) {
    if (index == 0) {
      ring.retire(part, 1);
      execute();
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

/// The same with a wait for space, which may begin before the part is retired.
template <heap_shape Shape>
struct waited_for : model::suite<2>, part_in_use<1, 1, 2, Shape> {
  void thread(unsigned index) {
    if (index == 0) {
      this->ring.retire(this->part, 1);
      this->execute();
    } else {
      const upload_part next = this->ring.allocate(1, 1);
      MODEL_REQUIRE(next);
      this->use(next, 8);
    }
  }
};

/// The only part was retired before the threads begin. A thread that waits for its bytes gets them, whichever thread
/// reclaims them.
template <heap_shape Shape>
struct reclaimed_while_waiting : model::suite<3>, stand<1, 2, Shape> {
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

/// [B12] Two threads wait for the executor, and each gets its bytes. On the heap of one slot, one of them is in the
/// lane.
template <heap_shape Shape>
struct two_waiting : model::suite<3>, retired_part<2, 2, 4, Shape> {
  void thread(unsigned index) { index == 0 ? this->execute() : this->wait_and_write_once(static_cast<int>(index)); }
};

/// [B12] A thread waits for space while another thread waits for the same value. On the heap of one slot, one of the
/// two is in the lane.
template <heap_shape Shape>
struct waited_beside_a_waiter : model::suite<3>, retired_part<1, 1, 2, Shape> {
  void thread(unsigned index) {
    if (index == 0) {
      this->execute();
    } else if (index == 1) {
      this->wait_and_write_once(8);
    } else {
      MODEL_REQUIRE(this->finished.wait(1) == tidemark::wait_status::reached);
    }
  }
};

/// [B5] Two threads allocate while the executor reads one of two bytes.
struct two_allocate_beside_executor : model::suite<3>, retired_part<1, 2, 2> {
  void thread(unsigned index) { index == 0 ? execute() : void(use_once(1, static_cast<int>(index))); }
};

/// At every moment the oldest part is a retired one, because the second part is retired before the first one comes
/// back. So no thread is told that all parts are open.
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
      MODEL_REQUIRE(use_once(2, 8) == upload_status::busy);
    }
  }
  void after() {
    finished.signal(2);
    MODEL_REQUIRE(use_once(2, 8) == upload_status::allocated);
  }
};

/// The only part comes back, and another thread allocates a part, which gets the same record. A waiter gets the bytes
/// before or after it.
struct record_of_a_later_part : model::suite<2>, stand<1, 1> {
  void before() { ring.retire(ring.try_allocate(1), 0); }
  void thread(unsigned index) {
    if (index == 0) {
      use_once(1, 7);
    } else {
      const upload_part next = ring.allocate(1, 1);
      MODEL_REQUIRE(next);
      use(next, 8);
    }
  }
};

/// A thread waits for space while another thread trims, and gets it: a trim is not taken for an open part. No other
/// thread has the pieces that are being trimmed.
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

/// [A120] [B12] A trim of a ring that has an open part is under way while the timeline is lost. A thread that waits for
/// the trim is told in the end, though that part is never retired.
struct lost_beside_trim : model::suite<3>, stand<1, 2> {
  upload_part open;

  void before() { open = ring.try_allocate(1); }
  void thread(unsigned index) {
    if (index == 0) {
      ring.trim(1, [](std::uint64_t) {});
    } else if (index == 1) {
      finished.poison();
    } else {
      MODEL_REQUIRE(ring.allocate(1).status == upload_status::lost);
    }
  }
  void after() {
    ring.retire(open, 0);
    stand::after();
  }
};

/// One thread trims the idle ring while others allocate. No other thread has the pieces that are being trimmed. A
/// thread that allocates alone is not told that all parts are open.
template <unsigned Others>
struct trimmed_beside : model::suite<1 + Others>, stand<2, 2> {
  using here = stand<2, 2>;

  void thread(unsigned index) {
    if (index < Others) {
      const upload_status status = here::use_once(1, 7);
      MODEL_REQUIRE(Others > 1 || status != upload_status::no_space);
    } else {
      here::ring.trim(1, [this](std::uint64_t offset) {
        here::memory[offset].store(8);
        MODEL_REQUIRE(here::memory[offset].load() == 8);
      });
    }
  }
};

/// [trap 27] A thread has written more than it needs, and gives the rest back while another thread allocates. No byte
/// has two owners, and no write is behind the other one's.
template <unsigned Own, unsigned Bytes>
struct shrunk_beside : model::suite<2>, stand<4, 2> {
  using here = stand<4, 2>;
  upload_part part;

  void before() { part = here::ring.try_allocate(Own); }
  void thread(unsigned index) {
    if (index == 1) return void(here::use_once(Bytes, 8));
    here::fill(part, 7);
    if (here::ring.try_shrink(part, 1)) MODEL_REQUIRE(part.bytes == 1);
    here::use(part, 9);
  }
  void after() {
    here::after();
    MODEL_REQUIRE(here::ring.try_allocate(3));
    MODEL_REQUIRE(!here::ring.try_allocate(2));  // one byte is left
  }
};

/// [B12] A thread waits for room while another one gives back the end of its part, which it retires only after the
/// first one is done.
struct shrunk_while_waiting : model::suite<2>, stand<2, 2> {
  upload_part part;
  progress_fence<one_slot> done;

  void before() { part = ring.try_allocate(2); }
  void thread(unsigned index) {
    if (index == 1) {
      wait_and_write_once(8);
      done.signal(1);
    } else {
      fill(part, 7);
      MODEL_REQUIRE(ring.try_shrink(part, 1));
      MODEL_REQUIRE(done.wait(1) == tidemark::wait_status::reached);
      use(part, 9);
    }
  }
};

/// Two threads have parts, and both give bytes back while they are at it: one of them has not the newest part.
struct two_shrink : model::suite<2>, stand<4, 4> {
  std::array<upload_part, 2> parts;

  void before() {
    for (upload_part& each : parts) each = ring.try_allocate(2);
  }
  void thread(unsigned index) {
    fill(parts[index], 7);
    MODEL_REQUIRE(ring.try_shrink(parts[index], 0) == (index == 1));
    require(parts[index], 7);
    ring.retire(parts[index], 0);
    if (index == 1) use_once(1, 8);
  }
};

/// [B12] The ring of one thread: it waits for what the executor reads, and allocates again.
template <heap_shape Shape>
struct alone_waiting : model::suite<2> {
  progress_fence<Shape> finished;
  tidemark::upload_ring<view_of<Shape>> ring{finished.view(), {.capacity = 1, .max_records = 2}};
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

/// A ring of which each byte is a part of its own when the threads begin.
template <std::size_t Bytes, heap_shape Shape>
struct lent_parts : stand<Bytes, 2 * Bytes, Shape> {
  std::array<upload_part, Bytes> held;

  void before() {
    for (upload_part& each : held) each = this->ring.try_allocate(1);
  }
  void retire(unsigned which, std::uint64_t until) {
    this->fill(held[which], 7);
    this->ring.retire(held[which], until);
  }
  void give(unsigned which) { retire(which, 0); }
  template <class... Limits>
  tidemark::wait_status ask(std::size_t bytes, const Limits&... limits) {
    upload_part part;
    if constexpr (model::has_deadline<Limits...>) {
      part = this->ring.allocate_until(bytes, 1, limits...);
    } else {
      part = this->ring.allocate(bytes, 1, limits...);
    }
    if (part) {
      this->fill(part, 8);
      this->ring.retire(part, 0);
    }
    return model::end_of(part);
  }
};

template <heap_shape Shape>
using given_by_two = model::given_by_two<lent_parts, Shape>;
template <heap_shape Shape>
using given_to_one_of_two = model::given_to_one_of_two<lent_parts, Shape>;

/// [trap 27] A batch lies across the end of the ring. There is no record for the next batch, which therefore joins it.
/// All bytes come back once the executor has read them.
struct joined_across_the_end : model::suite<2> {
  progress_fence<one_slot> finished;
  tidemark::upload_ring<view_of<one_slot>> ring{finished.view(), {.capacity = 5, .max_records = 1}};
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

/// [trap 27] The ring of one thread: it allocates again and again from a ring with room for two, while the executor
/// reads the first part until it signals.
struct alone : model::suite<2> {
  progress_fence<one_slot> finished;
  tidemark::upload_ring<view_of<one_slot>> ring{finished.view(), {.capacity = 2, .max_records = 2}};
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

/// Two threads allocate parts that are aligned, and the bytes that are passed over are counted, none twice.
struct counted_by_two : model::suite<2> {
  progress_fence<one_slot> finished;
  tidemark::upload_ring<view_of<one_slot>, tidemark::writers::several, tidemark::waste::counted> ring{
      finished.view(), {.capacity = 8, .max_records = 4}};

  void before() { MODEL_REQUIRE(ring.try_allocate(1)); }
  void thread(unsigned) { MODEL_REQUIRE(ring.try_allocate(1, 2)); }
  void after() { MODEL_REQUIRE(ring.statistics().passed_for_alignment == 2); }
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<model::check> checks{
      model::make_check<two_allocate, "two_allocate">(),
      model::make_check<one_record, "one_record">(),
      model::make_check<taken_back_once, "taken_back_once">(),
      model::make_check<most_that_was, "most_that_was">(),
      model::make_check<across_the_end<4>, "across_the_end">(),
      model::make_check<across_the_end<1>, "one_part_at_a_time">(),
      model::make_check<read_until_signalled<false>, "read_until_signalled">(),
      model::make_check<read_until_signalled<true>, "reclaimed_by_another">(),
      model::make_check<two_allocate_beside_executor, "two_allocate_beside_executor">(),
      model::make_check<never_all_open, "never_all_open">(),
      model::make_check<record_of_a_later_part, "record_of_a_later_part">(),
      model::make_check<trim_waited_for, "trim_waited_for">(),
      model::make_check<lost_beside_trim, "lost_beside_trim">(),
      model::make_check<joined_across_the_end, "joined_across_the_end">(),
      model::make_check<trimmed_beside<1>, "trimmed_beside">(),
      model::make_check<trimmed_beside<2>, "trimmed_beside_two">(),
      model::make_check<alone, "alone">(),
      model::make_check<shrunk_beside<2, 2>, "shrunk_beside">(),
      model::make_check<shrunk_beside<4, 1>, "shrunk_beside_small">(),
      model::make_check<two_shrink, "two_shrink">(),
      model::make_check<counted_by_two, "counted_by_two">(),
      model::make_check<shrunk_while_waiting, "shrunk_while_waiting">(),
  };
  model::add_on_shapes<waited_for, one_slot, "waited_for">(checks);
  model::add_on_shapes<reclaimed_while_waiting, one_slot, "reclaimed_while_waiting">(checks);
  model::add_on_shapes<two_waiting, one_slot, "two_waiting">(checks);
  model::add_on_shapes<waited_beside_a_waiter, one_slot, "waited_beside_a_waiter">(checks);
  model::add_on_shapes<alone_waiting, one_slot, "alone_waiting">(checks);
  model::lent_checks<lent_parts>::add(checks);
  model::add_on_shapes<given_by_two, one_slot, "given_by_two">(checks);
  checks.push_back(model::make_check<given_to_one_of_two<model::two_slots>, "given_to_one_of_two">());
  return model::run(argc, argv, checks);
}
