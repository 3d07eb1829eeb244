// SPDX-License-Identifier: BSL-1.0
//
// A splitter beside a simulated memory that carries out its paging and finds mistakes.
#ifndef TIDEMARK_TESTS_SUPPORT_SPLIT_STAND_HPP
#define TIDEMARK_TESTS_SUPPORT_SPLIT_STAND_HPP

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tidemark/split/splitter.hpp>

#include "split_model.hpp"

namespace testing {

using split_range = std::pair<std::uint64_t, std::uint64_t>;  // begin and end

[[noreturn]] inline void split_is_wrong(const char* text) { throw std::logic_error{text}; }

/// The tens of an allocation's number are its size: 31 has 3 bytes.
inline std::uint64_t split_tens(split_id allocation) { return allocation / 10; }

template <class Placement>
Placement split_placement_of(std::uint64_t bytes) {
  if constexpr (std::is_same_v<Placement, tidemark::counting_budget>) {
    return tidemark::counting_budget{bytes};
  } else {
    return Placement{{.bytes = bytes}};
  }
}

/// A splitter and the memory for which it plans.
template <class Placement>
struct split_stand {
  static constexpr bool has_places = !std::is_same_v<Placement, tidemark::counting_budget>;
  using memory_type = paged_memory<std::uint64_t (*)(split_id), has_places, void (*)(const char*)>;

  explicit split_stand(std::uint64_t bytes, std::uint64_t (*size_of)(split_id) = split_tens,
                       tidemark::slot_id max_slot = 7_slot)
      : memory{bytes, size_of, split_is_wrong},
        parts{{.max_slot = max_slot}, split_placement_of<Placement>(bytes), size_of} {}

  /// Runs a work item, and returns begin and end of each part.
  std::vector<split_range> run(const split_entries& list, std::uint64_t end) {
    REQUIRE(parts.begin(list, end));
    std::vector<split_range> ran;
    auto part = parts.next();
    for (; part; part = parts.next()) {
      CHECK(part.status == tidemark::split_part_status::planned);
      CHECK_FALSE(part.failed);
      memory.run(list, part);
      ran.push_back({part.begin, part.end});
      before_last = log;
      log.clear();
      for (const auto& one : part.paging) {
        log += one.kind == tidemark::paging_kind::evict ? "-" : one.kind == tidemark::paging_kind::move ? "~" : "+";
        log += std::to_string(one.allocation);
      }
    }
    CHECK(part.status ==
          (part.failed ? tidemark::split_part_status::unsatisfiable : tidemark::split_part_status::ended));
    CHECK(part.paging.empty());
    failed = part.failed;
    return ran;
  }

  memory_type memory;
  tidemark::splitter<split_id, Placement> parts;
  std::string log;          // the paging of the last part: +31 paged in, -31 evicted, ~31 moved
  std::string before_last;  // the paging of the part before it
  std::optional<tidemark::unsatisfiable_group> failed;  // how run() ended
};

}  // namespace testing

TYPE_TO_STRING_AS("first fit", tidemark::address_space<tidemark::fit::first>);
TYPE_TO_STRING_AS("best fit", tidemark::address_space<tidemark::fit::best>);

#endif  // TIDEMARK_TESTS_SUPPORT_SPLIT_STAND_HPP
