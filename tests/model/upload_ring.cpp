// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the upload ring: nobody writes bytes that another one has or the executor still reads.
#include "support/progress.hpp"

#include <tidemark/upload_ring.hpp>

#include <array>

namespace {

using model::payload;
using model::progress_fence;
using model::progress_view;
using tidemark::upload_part;
using tidemark::upload_status;

/// A ring, and one field for each of its bytes.
template <unsigned Bytes, unsigned Parts>
struct stand {
  progress_fence finished;
  tidemark::shared_upload_ring<progress_view> ring{Bytes, finished.view(), Parts};
  std::array<payload, Bytes> memory;

  void fill(const upload_part& part, int with) {
    for (std::uint64_t i = 0; i < part.bytes; ++i) memory[part.offset + i].store(with);
  }
  void require(const upload_part& part, int with) {
    for (std::uint64_t i = 0; i < part.bytes; ++i) MODEL_REQUIRE(memory[part.offset + i].load() == with);
  }
  /// Allocates, writes, and gives back what was not refused; the executor has nothing to do with it.
  void use_once(std::uint64_t bytes, int with) {
    const upload_part part = ring.try_allocate(bytes);
    if (!part) return;
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
struct waited_for : model::suite<2>, stand<1, 2> {
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
    } else {
      const upload_part next = ring.allocate(1, 1);
      MODEL_REQUIRE(next || next.status == upload_status::all_open);
      if (!next) return;
      fill(next, 8);
      ring.retire(next, 0);
    }
  }
};

/// The only part was retired before: who waits for its bytes gets them, whoever took them back.
struct reclaimed_while_waiting : model::suite<3>, stand<1, 2> {
  void before() { ring.retire(ring.try_allocate(1), 1); }
  void thread(unsigned index) {
    if (index == 0) {
      finished.signal(1);
    } else if (index == 1) {
      ring.reclaim();
    } else {
      const upload_part next = ring.allocate(1, 1);
      MODEL_REQUIRE(next);
      ring.retire(next, 0);
    }
  }
};

/// One trims the idle ring while another one allocates: the pieces are nobody's meanwhile.
struct trimmed_beside : model::suite<2>, stand<2, 2> {
  void thread(unsigned index) {
    if (index == 0) {
      use_once(1, 7);
    } else {
      ring.trim(1, [this](std::uint64_t offset) {
        memory[offset].store(8);
        MODEL_REQUIRE(memory[offset].load() == 8);
      });
    }
  }
};

/// [trap 27] One thread allocates what the executor reads until it signals, again and again, from a ring with room for
/// two.
struct alone : model::suite<2> {
  progress_fence finished;
  tidemark::upload_ring<progress_view> ring{2, finished.view(), 2};
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
  return model::run(argc, argv,
                    {
                        model::make_check<two_allocate, "two_allocate">(),
                        model::make_check<one_record, "one_record">(),
                        model::make_check<across_the_end<4>, "across_the_end">(),
                        model::make_check<across_the_end<1>, "one_part_at_a_time">(),
                        model::make_check<read_until_signalled<false>, "read_until_signalled">(),
                        model::make_check<read_until_signalled<true>, "reclaimed_by_another">(),
                        model::make_check<waited_for, "waited_for">(),
                        model::make_check<reclaimed_while_waiting, "reclaimed_while_waiting">(),
                        model::make_check<trimmed_beside, "trimmed_beside">(),
                        model::make_check<alone, "alone">(),
                    });
}
