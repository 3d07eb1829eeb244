// SPDX-License-Identifier: BSL-1.0
//
// The lock decision against the table of docs/requirements.md, row by row.
#include <array>
#include <cstdint>

#include <tidemark/memory/lock_decision.hpp>

#include "input.hpp"

namespace {

using fuzz::require;
using tidemark::cpu_access;
using tidemark::lock_decision;
using tidemark::lock_refusal;
using tidemark::lock_route;
using tidemark::residence;

enum class cell { direct, migrate, migrate_or_fail, window_or_migrate_or_fail };

/// Rows: cached access, uncached access, no access. A flag, the first row of all, is refused before. Columns: in system
/// memory or in an aperture segment; in a memory segment that the processor sees; in one that it does not see.
constexpr std::array<std::array<cell, 3>, 3> table{{
    {cell::direct, cell::migrate, cell::migrate_or_fail},
    {cell::direct, cell::direct, cell::window_or_migrate_or_fail},
    {cell::direct, cell::migrate_or_fail, cell::migrate_or_fail},
}};

/// What the supported segments are, as one would write it down without the library.
struct listed {
  bool aperture = false;
  bool unseen = false;
  bool any = false;
};

lock_decision by_table(const tidemark::lock_subject& subject, const listed& supported, bool is_seen,
                       const tidemark::window_state& window, std::uint32_t flags) {
  if (flags != 0) return {lock_route::refused, lock_refusal::invalid};
  const std::size_t row = subject.access == cpu_access::cached ? 0 : subject.access == cpu_access::uncached ? 1 : 2;
  const std::size_t column = subject.where != residence::memory_segment ? 0 : is_seen ? 1 : 2;
  cell found = table[row][column];
  if (fuzz::model_is_broken && row == 0 && column == 1) found = cell::direct;
  if (found == cell::direct) {
    return {lock_route::direct, lock_refusal::none, subject.where == residence::system_memory && !supported.aperture};
  }
  const bool has_room = window.exists && subject.bytes <= window.free_bytes;
  // "If the CpuHostAperture is out of available space or the allocation doesn't specify an aperture segment, a virtual
  // address is impossible to obtain."
  const bool is_impossible = !has_room || !supported.aperture;
  if (found == cell::window_or_migrate_or_fail && !is_impossible) return {lock_route::through_window};
  if (supported.aperture) return {lock_route::migrate_to_system};
  if (found == cell::migrate) return {lock_route::migrate_to_system, lock_refusal::none, true};
  if (row == 0) return {lock_route::refused, lock_refusal::incoherent_cached};
  if (row == 2) return {lock_route::refused, lock_refusal::resident};
  if (has_room) return {lock_route::refused, lock_refusal::no_aperture_segment};
  return {lock_route::refused, window.exists ? lock_refusal::no_space : lock_refusal::no_window};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input from{data, size};
  while (!from.is_empty()) {
    const auto access = static_cast<cpu_access>(from.below(3));
    const auto where = static_cast<residence>(from.below(3));
    tidemark::segment_set set;
    listed supported;
    for (auto left = from.below(4); left != 0; --left) {
      supported.any = true;
      if (from.flag()) {
        set = set.with_aperture();
        supported.aperture = true;
      } else {
        const bool one_is_seen = from.flag();
        set = set.with({.cpu_visible = one_is_seen});
        supported.unseen = supported.unseen || !one_is_seen;
      }
    }
    const tidemark::lock_subject subject{access, where, set, from.below(5)};
    const bool is_seen = from.flag();
    const tidemark::window_state window{from.flag(), from.below(5)};
    const std::uint32_t flags = from.flag() ? std::uint32_t{1} << from.below(32) : 0;
    require(decide(subject, {is_seen}, window, flags) == by_table(subject, supported, is_seen, window, flags),
            "a lock decision");
    const bool may_be = supported.any && (access == cpu_access::none || !supported.unseen || supported.aperture);
    require(may_be_created(access, set) == may_be, "what may be created");
  }
  return 0;
}
