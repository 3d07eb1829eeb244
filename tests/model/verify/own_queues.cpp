// SPDX-License-Identifier: BSL-1.0
//
// Our own queues and rings on native_platform, as a program uses them: each hands plain fields from thread to thread.
// They are compiled for the checker as code that can't be changed. tests/model/CMakeLists.txt also compiles this file
// with copies of the headers in which one order each is too weak (planted_orders/), and then the check of that queue
// must fail.
#include <tidemark/verify/check.hpp>

#include <tidemark/engine/detail/command_list.hpp>
#include <tidemark/fence/fence.hpp>
#include <tidemark/log/ring_log.hpp>
#include <tidemark/loop/wait_loop.hpp>
#include <tidemark/memory/rename_ring.hpp>
#include <tidemark/memory/retire_queue.hpp>
#include <tidemark/memory/upload_ring.hpp>
#include <tidemark/platform/tools/intrusive_lists.hpp>
#include <tidemark/queue/queue.hpp>
#include <tidemark/queue/queue_log.hpp>

#include <array>
#include <cstdint>

namespace {

using tidemark::native_platform;
using tidemark::verify::check;
using tidemark::verify::expect;

// Waits that do not spin, because the clock is not the checker's.
using small_fence = tidemark::basic_progress_fence<native_platform, tidemark::fence_options{
                                                                        .capacity = 1, .arity = 2, .max_spin_ns = 0}>;
using view_of_fence = decltype(std::declval<const small_fence&>().view());

struct entry {
  std::uint64_t value = 0;
  std::uint64_t inverse = 0;
};

/// A reader of a log finds what its producers have written before.
template <class Log, unsigned Producers>
struct through_a_log : check<Producers + 1> {
  Log log;
  std::array<int, 2 * Producers> written{};

  void thread(unsigned index) {
    if (index < Producers) {
      for (std::uint64_t value = index; value < 2 * Producers; value += Producers) {
        written[value] = 7;
        log.append({value, ~value});
      }
      return;
    }
    auto reader = log.reader_from(0);
    std::array<entry, 2 * Producers> buffer;
    for (int i = 0; i < 2; ++i) {
      for (const entry& found : reader.read(buffer).entries) {
        expect(found.inverse == ~found.value, "the entry is whole");
        expect(written[found.value] == 7, "what was written before is there");
      }
    }
  }
};
using through_a_log_of_one = through_a_log<tidemark::ring_log<entry, 2>, 1>;
using through_a_log_of_several = through_a_log<
    tidemark::ring_log<entry, 2, tidemark::log_form::stamped, native_platform, tidemark::writers::several>, 2>;

/// The stack of a loop's posted calls and of others.
struct through_a_stack : check<3> {
  struct node {
    int value = 0;
    tidemark::detail::push_stack<native_platform, node>::link next;
  };
  std::array<node, 2> nodes;
  tidemark::detail::push_stack<native_platform, node> pushed;
  int taken = 0;

  void take() {
    for (node* each = pushed.take_in_order(&node::next); each != nullptr; each = each->next.load()) {
      expect(each->value == 7, "the value is there");
      ++taken;
    }
  }
  void thread(unsigned index) {
    if (index == 2) return take();
    nodes[index].value = 7;
    pushed.push(nodes[index], nodes[index].next);
  }
  void after() {
    take();
    expect(taken == 2, "each is taken once");
  }
};

/// What is posted to a loop is run by another thread.
struct through_a_loop : check<2> {
  tidemark::wait_loop loop;
  int written = 0;
  int run = 0;

  void thread(unsigned index) {
    if (index == 1) {
      loop.poll();
      return;
    }
    written = 7;
    loop.post([this] {
      expect(written == 7, "what was written before is there");
      ++run;
    });
  }
  void after() {
    loop.poll();
    expect(run == 1, "it is run once");
  }
};

/// The commands of an engine's queue, over several of its chunks.
struct through_commands : check<2> {
  static constexpr std::uint64_t most = 9;
  tidemark::detail::command_list<native_platform> commands;

  void thread(unsigned index) {
    if (index == 0) {
      for (std::uint64_t n = 1; n <= most; ++n) {
        commands.next().value.store(n);
        commands.record();
        if (n % 3 == 0) commands.publish();
      }
      return;
    }
    for (int looks = 0; looks < 3; ++looks) {
      while (auto* const command = commands.front()) {
        expect(command->value.load() == commands.taken() + 1, "in order");
        commands.pop();
      }
    }
  }
};

/// A log of a queue that its owner replaces.
struct through_a_queue_log : check<2> {
  tidemark::basic_queue_log<native_platform> log{tidemark::fence_log_type{}, 2};
  tidemark::queue_log_reader<native_platform> reader = log.reader();
  std::uint64_t read = 0;

  void look() {
    std::array<tidemark::fence_log_entry, 2> buffer;
    for (int i = 0; i < 2; ++i) {
      const auto batch = reader.read(buffer);
      std::uint64_t sequence = batch.first_sequence;
      for (const auto& found : batch.entries) expect(found.fence_value == sequence++, "in order");
      read += batch.entries.size() + batch.lost;
    }
  }
  void before() { expect(log.replace(3), "it is replaced"); }
  void thread(unsigned index) {
    if (index == 1) return look();
    for (std::uint64_t n = 0; n < 2; ++n) {
      tidemark::fence_log_entry made{};
      made.fence_value = n;
      log.append(made);
    }
  }
  void after() {
    look();
    look();
    expect(read == 2, "each is read or lost");
  }
};

/// What is retired is not used any more when it is disposed of.
struct through_a_retire_queue : check<2> {
  using reclaimer_type = tidemark::retire_queue<view_of_fence>;
  struct object : reclaimer_type::hook {
    int content = 0;
    int disposed = 0;
  };
  struct dispose {
    void operator()(object& of) const noexcept {
      expect(of.content == 7, "what was written before is there");
      of.content = -1;
      ++of.disposed;
    }
  };
  small_fence finished;
  std::array<object, 2> objects;
  reclaimer_type reclaimer{finished.view()};

  void thread(unsigned index) {
    if (index == 1) {
      reclaimer.reclaim();
      return;
    }
    for (object& each : objects) {
      each.content = 7;
      reclaimer.retire(each, dispose{}, {0});
    }
  }
  void after() {
    reclaimer.reclaim();
    for (const object& each : objects) expect(each.disposed == 1, "each is disposed of once");
  }
};

/// Bytes of a ring that several threads fill and an executor reads.
struct through_an_upload_ring : check<2> {
  small_fence finished;
  tidemark::upload_ring<view_of_fence, tidemark::writers::several> ring{finished.view(),
                                                                        {.capacity = 1, .max_records = 2}};
  int memory = 0;
  tidemark::upload_part first;

  void before() {
    first = ring.try_allocate(1);
    memory = 7;
  }
  void thread(unsigned index) {
    if (index == 0) {
      ring.retire(first, 1);
      expect(memory == 7, "it is not written while it is in use");
      finished.signal(1);
    } else if (const auto next = ring.try_allocate(1)) {
      memory = 8;
      ring.retire(next, 0);
    }
  }
};

/// Backings that are discarded while an executor reads older ones.
struct through_a_rename_ring : check<2> {
  struct pool {
    std::array<int, 4> cells{};
    std::size_t made = 0;
  };
  struct source {
    using backing = int*;
    pool* from;
    backing create(const tidemark::backing_traits&) noexcept {
      return from->made < 2 ? &from->cells[from->made++] : nullptr;
    }
    void destroy(backing, const tidemark::backing_traits&) noexcept {}
  };
  using ring_type = tidemark::rename_ring<view_of_fence, source, tidemark::writers::several>;

  pool memory;
  small_fence finished;
  ring_type ring{finished.view(), {.max_renames = 1}, source{&memory}};

  void thread(unsigned) {
    const auto mapped = ring.try_map(tidemark::map_mode::discard);
    if (!mapped) return;
    *mapped.memory = 7;
    expect(*mapped.memory == 7, "nobody else has it");
    ring.unmap(mapped);
  }
};

/// Work is submitted, done, and waited for.
struct through_a_queue : check<2> {
  small_fence finished;
  tidemark::basic_queue<small_fence, tidemark::no_log_clock> queue{finished, {.log_entries = 2}};
  int result = 0;

  void before() {
    expect(queue.submit([](std::uint64_t) {}).status == tidemark::submit_status::submitted, "it is submitted");
  }
  void thread(unsigned index) {
    if (index == 0) {
      result = 7;
      queue.complete();
    } else {
      expect(queue.wait_finished(1) == tidemark::wait_status::reached, "it is finished");
      expect(result == 7, "the result is there");
    }
  }
};

// With a planted order only its check is needed.
#ifdef TIDEMARK_PLANTED
const tidemark::verify::twin<TIDEMARK_PLANTED> planted{"planted"};
#else
using tidemark::verify::checked;
const checked<through_a_log_of_one> ring_log{"ring_log"};
const checked<through_a_log_of_several> ring_log_of_several{"ring_log_of_several"};
const checked<through_a_stack> stack{"stack"};
const checked<through_a_loop> loop{"loop"};
const checked<through_commands> commands{"commands"};
const checked<through_a_queue_log> queue_log{"queue_log"};
const checked<through_a_retire_queue> retire_queue{"retire_queue"};
const checked<through_an_upload_ring> upload_ring{"upload_ring"};
const checked<through_a_rename_ring> rename_ring{"rename_ring"};
const checked<through_a_queue> queue{"queue"};
#endif

}  // namespace
