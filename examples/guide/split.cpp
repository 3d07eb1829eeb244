// SPDX-License-Identifier: BSL-1.0
// The program of docs/guide-split.md: a work item that needs more than fits at once.

#include "expect.hpp"

#include <tidemark/engine/engine_parts.hpp>
#include <tidemark/engine/engine_queue.hpp>
#include <tidemark/split/split_list.hpp>
#include <tidemark/split/split_placement.hpp>
#include <tidemark/split/split_table.hpp>
#include <tidemark/split/splitter.hpp>
#include <tidemark/split/submit_parts.hpp>

#include <array>
#include <cstdint>
#include <string>

namespace {

using guide::expect;
using tidemark::slot_id;
using tidemark::split_need;

enum class texture : std::uint32_t { none, sky, ground, water };  // none: no allocation

constexpr std::uint64_t end_of_work = 12'288;
constexpr slot_id first{0};
constexpr slot_id second{1};

void declare(tidemark::split_list_builder<texture>& list) {
  const bool is_declared = list.bind(0, first, texture::sky) &&         // the first slot begins with the sky
                           list.bind(4096, second, texture::ground) &&  // now the second slot is needed too
                           list.bind(8192, first, texture::water);      // the sky is not needed any more
  expect(is_declared, "offsets rise");
}

// Moves memory, and runs parts of the work item: here both are written down.
struct executor {
  std::string log;

  void enter() { log += "["; }
  void leave() { log += "]"; }
  bool page(const tidemark::split_part<texture>& part) {
    for (const auto& operation : part.paging) {
      log += operation.kind == tidemark::paging_kind::evict ? " out" : " in";
    }
    return true;
  }
  bool submit(const tidemark::split_part<texture>& part) {
    log += " " + std::to_string(part.begin) + "-" + std::to_string(part.end);
    return true;
  }
};

void cut_into_parts() {
  tidemark::split_list_builder<texture> list;
  declare(list);
  const auto size_of = [](texture) { return std::uint64_t{100}; };

  executor with_enough;
  tidemark::splitter<texture> all{{.max_slot = second}, tidemark::counting_budget{300}, size_of};
  const bool is_done_at_once =
      all.begin(list.entries(), end_of_work) && submit_parts(all, tidemark::part_scheduling::back_to_back, with_enough);
  expect(is_done_at_once, "each part was accepted");
  expect(with_enough.log == "[ in in in 0-12288]", "what fits is not cut");

  executor with_less;
  tidemark::splitter<texture> some{{.max_slot = second}, tidemark::counting_budget{200}, size_of};
  const bool is_done =
      some.begin(list.entries(), end_of_work) && submit_parts(some, tidemark::part_scheduling::back_to_back, with_less);
  expect(is_done, "each part was accepted");
  expect(with_less.log == "[ in in 0-8192 out in 8192-12288]", "cut where the water does not fit beside the sky");
}

void let_an_engine_keep_parts_together() {
  tidemark::split_list_builder<texture> list;
  declare(list);
  tidemark::splitter<texture> parts{
      {.max_slot = second}, tidemark::counting_budget{200}, [](texture) { return std::uint64_t{100}; }};
  tidemark::engine engine{{.threads = 1}};
  tidemark::engine_queue queue{engine};
  std::string log;
  const auto carry_out = [&](const tidemark::paging_operation<texture>& one) {
    log += one.kind == tidemark::paging_kind::evict ? " out" : " in";
  };
  const auto draw = [&](std::uint64_t begin, std::uint64_t end) {
    log += " " + std::to_string(begin) + "-" + std::to_string(end);
  };

  tidemark::engine_parts recorded{queue, carry_out, draw};
  const bool is_recorded = parts.begin(list.entries(), end_of_work) &&
                           submit_parts(parts, tidemark::part_scheduling::back_to_back, recorded);
  expect(is_recorded && queue.submit(), "one submission, whose parts the engine does not interrupt");
  expect(queue.drain() == tidemark::wait_status::reached, "all parts are executed");
  expect(log == " in in 0-8192 out in 8192-12288", "in their order, each behind its paging");
}

void set_up_again_behind_a_cut() {
  tidemark::split_list_builder<texture> list;
  const bool is_declared = list.bind(0, first, texture::sky) && list.bind(4096, second, texture::ground) &&
                           list.bind(8192, second, texture::water);
  expect(is_declared, "the sky stays bound all the time");
  tidemark::splitter<texture> parts{
      {.max_slot = second}, tidemark::counting_budget{200}, [](texture) { return std::uint64_t{100}; }};
  tidemark::engine engine{{.threads = 2}};
  tidemark::engine_queue queue{engine};
  std::string log;
  const auto carry_out = [&](const tidemark::paging_operation<texture>& one) {
    log += one.kind == tidemark::paging_kind::evict ? " out" : " in";
  };
  const auto draw = [&](std::uint64_t begin, std::uint64_t end) {
    log += " " + std::to_string(begin) + "-" + std::to_string(end);
  };
  const auto bind = [&](slot_id, texture held) { log += held == texture::sky ? " sky" : " ?"; };

  const std::array in_prologue{first};
  expect(!find_binding_leak(list.entries(), end_of_work, in_prologue), "no split point forgets a slot");

  const auto set_up_again = [&](auto& run, const auto&, auto& its) {
    for (const auto& [slot, held] : its.carried()) {  // what the commands before the cut have bound
      run.run(bind, slot, held);
      its.bound(slot);
    }
  };
  tidemark::engine_parts recorded{queue, carry_out, draw, set_up_again};
  const bool is_recorded = parts.begin(list.entries(), end_of_work, in_prologue) &&
                           submit_parts(parts, tidemark::part_scheduling::back_to_back, recorded);
  expect(is_recorded && queue.submit(), "each part finds the sky where it has bound it");
  expect(queue.drain() == tidemark::wait_status::reached, "all parts are executed");
  expect(log == " in in 0-8192 out in sky 8192-12288", "between the paging of the second part and its commands");
}

void name_what_can_not_fit() {
  tidemark::split_list_builder<texture> list;
  declare(list);
  const auto size_of = [](texture which) { return std::uint64_t{which == texture::ground ? 150U : 100U}; };
  const tidemark::splitter<texture> parts{{.max_slot = second}, tidemark::counting_budget{200}, size_of};
  const auto problem = parts.would_fail(list.entries(), end_of_work);
  expect(problem && problem->split_offset == 4096 && problem->slot == second, "sky and ground are needed together");
}

void ask_from_another_thread() {
  tidemark::split_table<texture> table{{.max_slot = second}};
  auto reader = table.reader();  // each for one thread; the writer never waits for one

  const bool is_applied = table.apply({texture::sky, first, 0}) &&       // the thread that submits applies the entries
                          table.apply({texture::ground, second, 4096});  // as it comes to them
  expect(is_applied, "offsets rise here, too");
  expect(reader.need_of(texture::water, 0, 4096) == split_need::not_needed, "it may be evicted");
  expect(reader.need_of(texture::sky, 0, 4096) == split_need::needed, "it must stay");
  expect(reader.rows_after(4096).status == tidemark::split_rows_status::not_yet, "entries at 4096 may follow");

  table.close();  // no entry follows
  const auto rows = reader.rows_after(4096);
  expect(rows && rows[first] == texture::sky && rows[second] == texture::ground, "what both slots hold there");
}

}  // namespace

int main() {
  cut_into_parts();
  let_an_engine_keep_parts_together();
  set_up_again_behind_a_cut();
  name_what_can_not_fit();
  ask_from_another_thread();
  return guide::result("guide_split");
}
