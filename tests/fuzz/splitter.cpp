// SPDX-License-Identifier: BSL-1.0
//
// The splitter against a memory that carries out what it says, and against the list worked out from its first entry on; with
// a sum, where every part ends too.
#include <cstdint>
#include <optional>

#include <tidemark/splitter.hpp>

#include "input.hpp"
#include "support/split_model.hpp"

namespace {

using fuzz::require;
using namespace testing;

constexpr std::uint32_t slots = 6;

std::uint64_t size_of(split_id allocation) { return 1 + allocation * 5 % 7; }
void wrong(const char* text) { require(false, text); }

/// Mostly right lists.
split_entries list_from(fuzz::input& from, std::uint64_t end) {
  split_entries made;
  std::uint64_t offset = 0;
  for (std::uint64_t left = from.below(24); left > 0 && !from.is_empty(); --left) {
    offset += from.below(4);
    if (offset > end) break;
    made.push_back({static_cast<split_id>(from.below(10)), static_cast<std::uint32_t>(from.below(slots)), offset});
  }
  return made;
}

template <bool HasPlaces, class Placement>
void run(fuzz::input& from, std::uint64_t budget, Placement placement) {
  paged_memory<std::uint64_t (*)(split_id), HasPlaces, void (*)(const char*)> memory{budget, size_of, wrong};
  tidemark::splitter<split_id, Placement> parts{slots - 1, placement, size_of};
  for (int item = 0; item < 4 && !from.is_empty(); ++item) {
    const std::uint64_t end = from.below(48);
    const split_entries list = list_from(from, end);
    const bool fits = naive_cut(list, 0, end, budget, size_of) == end;
    if (from.below(4) == 0) memory.let_all_go(parts.evict_all());
    const std::optional<tidemark::unsatisfiable> foreseen = parts.would_fail(list, end);
    require(!parts.begin(list, end), "a right list is refused");
    std::uint64_t reached = 0;
    while (const auto part = parts.next()) {
      require(part->begin == reached && part->end > reached && part->end <= end, "parts don't follow each other");
      reached = part->end;
      require(!fits || reached == end, "a part of what fits as a whole");
      memory.run(list, *part);
      if (!HasPlaces) {
        const std::uint64_t room = budget + (fuzz::model_is_broken ? 1 : 0);
        require(part->end == naive_cut(list, part->begin, end, room, size_of), "where a part ends");
      }
    }
    require(parts.failure() == foreseen, "a dry run ends elsewhere");
    require(foreseen.has_value() == (reached != end), "neither complete nor failed");
    require(!fits || reached == end, "impossible, though it fits as a whole");
    if (foreseen)
      require(foreseen->offset == reached && slots_at(list, reached).contains(foreseen->slot), "what failed");
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
      run<true>(from, budget, tidemark::address_space<tidemark::fit::first>{budget});
      break;
    case 2:
      run<true>(from, budget, tidemark::address_space<tidemark::fit::best>{budget});
      break;
  }
  return 0;
}
