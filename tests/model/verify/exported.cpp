// SPDX-License-Identifier: BSL-1.0
//
// Checks of our blocks that also compile for a second opinion (export.cmake): one small check of each, because a
// checker that plays through all executions can't bear more.
#include <tidemark/verify/relacy_platform.hpp>

#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/waiter_heap.hpp>
#include <tidemark/log/ring_log.hpp>
#include <tidemark/memory/rename_ring.hpp>
#include <tidemark/split/split_table.hpp>

#include <array>
#include <cstdint>
#include <utility>

namespace {

using platform = tidemark::relacy_symmetric_platform;
using tidemark::verify::check;
using tidemark::verify::checked;
using tidemark::verify::expect;
using tidemark::verify::twin;
template <class T>
using var = platform::var<T>;

using small_fence =
    tidemark::basic_progress_fence<platform, tidemark::fence_options{.capacity = 1, .arity = 2, .max_spin_ns = 0}>;

/// A signal hands over what was done before it.
template <bool Waits>
struct through_a_fence : check<2> {
  small_fence filled;
  var<int> message;

  void thread(unsigned index) {
    if (index == 0) {
      message.store(7);
      filled.signal(1);
    } else {
      if (Waits) expect(filled.wait(1) == tidemark::wait_status::reached, "it is signalled");
      expect(message.load() == 7, "the message is there");
    }
  }
};
const checked<through_a_fence<true>> fence{"fence"};
const twin<through_a_fence<false>> fence_not_waited_for{"fence_not_waited_for"};

/// One waiter stays while another one comes and goes.
template <bool Leaves>
struct through_a_heap : check<2> {
  tidemark::waiter_heap<2, platform, 2> heap;

  void thread(unsigned index) {
    if (index == 0) {
      static_cast<void>(heap.add(7));
    } else {
      const auto ticket = heap.add(3);
      if (Leaves) heap.withdraw(ticket);
    }
  }
  void after() { expect(heap.monitored_value() == 6, "the least target is monitored"); }
};
const checked<through_a_heap<true>> waiter_heap{"waiter_heap"};
const twin<through_a_heap<false>> waiter_that_stays{"waiter_that_stays"};

/// A reader finds whole entries, and what was written before they were appended.
template <bool Late>
struct through_a_log : check<2> {
  struct entry {
    std::uint64_t value = 0;
    std::uint64_t inverse = 0;
  };
  tidemark::ring_log<entry, 2, tidemark::log_form::stamped, platform> log;
  std::array<var<int>, 3> written;

  void thread(unsigned index) {
    if (index == 0) {
      for (std::uint64_t n = 0; n < 3; ++n) {
        if (!Late) written[n].store(7);
        log.append({n, ~n});
        if (Late) written[n].store(7);
      }
      return;
    }
    auto reader = log.reader_from(0);
    std::array<entry, 2> buffer;
    for (const entry& found : reader.read(buffer).entries) {
      expect(found.inverse == ~found.value, "the entry is whole");
      expect(written[found.value].load() == 7, "what was written before is there");
    }
  }
};
const checked<through_a_log<false>> ring_log{"ring_log"};
const twin<through_a_log<true>> ring_log_written_late{"ring_log_written_late"};

/// Two threads discard the only backing, and at most one has it at a time.
template <bool Keeps>
struct through_a_rename_ring : check<2> {
  struct source {
    using backing = var<int>*;
    var<int>* only;
    bool is_made = false;
    backing create(const tidemark::backing_traits&) noexcept { return std::exchange(is_made, true) ? nullptr : only; }
    void destroy(backing, const tidemark::backing_traits&) noexcept {}
  };

  small_fence finished;
  var<int> memory;
  tidemark::rename_ring<decltype(std::declval<const small_fence&>().view()), source, tidemark::writers::several> ring{
      finished.view(), {.max_renames = 1}, source{&memory}};

  void thread(unsigned index) {
    const auto mapped = ring.try_map(tidemark::map_mode::discard);
    if (!mapped) return;
    mapped.memory->store(static_cast<int>(index));
    if (Keeps) expect(mapped.memory->load() == static_cast<int>(index), "nobody else has it");
    static_cast<void>(ring.unmap(mapped));
    if (!Keeps) expect(mapped.memory->load() == static_cast<int>(index), "nobody else has it");
  }
};
const checked<through_a_rename_ring<true>> rename_ring{"rename_ring"};
const twin<through_a_rename_ring<false>> rename_ring_read_late{"rename_ring_read_late"};

/// A reader beside the writer: an answer holds for the whole work item.
template <bool Late>
struct through_a_split_table : check<2> {
  struct allocation {
    std::uint64_t id = 0;
    bool operator==(const allocation&) const = default;
  };
  static constexpr tidemark::slot_id slot{0};
  tidemark::split_table<allocation, 2, platform> table{{.max_slot = slot}};
  std::array<var<int>, 3> contents;

  void thread(unsigned index) {
    if (index == 0) {
      for (std::uint64_t id = 1; id <= 2; ++id) {
        if (!Late) contents[id].store(7);
        expect(static_cast<bool>(table.apply({{id}, slot, id})), "it is applied");
      }
      table.close();
      if (Late) contents[1].store(7);
      return;
    }
    auto reader = table.reader();
    const auto rows = reader.rows_after(1);
    if (!rows) return;
    expect(rows[slot].id == 1, "the allocation at this offset");
    expect(contents[1].load() == 7, "and its contents");
  }
};
const checked<through_a_split_table<false>> split_table{"split_table"};
const twin<through_a_split_table<true>> split_table_written_late{"split_table_written_late"};

}  // namespace
