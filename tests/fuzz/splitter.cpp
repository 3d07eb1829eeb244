// SPDX-License-Identifier: BSL-1.0
//
// The splitter, compared with a memory that carries out its paging and with a naive model of the list; with a budget,
// also where every part ends.
#include <cstdint>
#include <optional>

#include <tidemark/split/splitter.hpp>

#include "input.hpp"
#include "support/split_model.hpp"

namespace {

using fuzz::require;
using namespace testing;

constexpr std::uint32_t slots = 6;

std::uint64_t size_of(split_id allocation) { return 1 + allocation * 5 % 7; }
void wrong(const char* text) { require(false, text); }

/// Returns a list, most often a valid one.
split_entries list_from(fuzz::input& from, std::uint64_t end) {
  split_entries made;
  std::uint64_t offset = 0;
  for (std::uint64_t left = from.below(24); left > 0 && !from.is_empty(); --left) {
    offset += from.below(4);
    if (offset > end) break;
    const std::uint64_t allocation = from.below(10);
    made.add(allocation, from.below(slots), offset);
  }
  return made;
}

template <bool HasPlaces, class Placement>
void run(fuzz::input& from, std::uint64_t budget, const Placement& placement) {
  paged_memory<std::uint64_t (*)(split_id), HasPlaces, void (*)(const char*)> memory{budget, size_of, wrong};
  tidemark::splitter<split_id, Placement> parts{{.max_slot = tidemark::slot_id{slots - 1}}, placement, size_of};
  for (int item = 0; item < 4 && !from.is_empty(); ++item) {
    const std::uint64_t end = from.below(48);
    const split_entries list = list_from(from, end);
    const bool fits = naive_cut(list, 0, end, budget, size_of) == end;
    if (from.below(4) == 0) memory.evict_all(parts.evict_all());
    const std::optional<tidemark::unsatisfiable_group> foreseen = parts.would_fail(list, end);
    require(static_cast<bool>(parts.begin(list, end)), "a valid list is refused");
    std::uint64_t reached = 0;
    auto part = parts.next();
    for (; part; part = parts.next()) {
      require(part.begin == reached && part.end > reached && part.end <= end, "a part does not follow the one before");
      reached = part.end;
      require(!fits || reached == end, "a work item was cut that fits as a whole");
      memory.run(list, part);
      if (!HasPlaces) {
        const std::uint64_t room = budget + (fuzz::model_is_broken ? 1 : 0);
        require(part.end == naive_cut(list, part.begin, end, room, size_of), "where a part ends");
      }
    }
    require(part.failed == foreseen, "would_fail() has foreseen another end");
    require(foreseen.has_value() == (reached != end), "a work item neither ended nor failed");
    require(!fits || reached == end, "a work item failed that fits as a whole");
    if (foreseen)
      require(foreseen->split_offset == reached && slots_at(list, reached).contains(foreseen->slot), "what failed");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input from{data, size};
  const std::uint64_t budget = 1 + from.below(40);
  switch (from.below(3)) {
    case 0:
      run<false>(from, budget, tidemark::counting_budget{budget});
      break;
    case 1:
      run<true>(from, budget, tidemark::address_space<tidemark::fit::first>{{.bytes = budget}});
      break;
    default:
      run<true>(from, budget, tidemark::address_space<tidemark::fit::best>{{.bytes = budget}});
      break;
  }
  return 0;
}
