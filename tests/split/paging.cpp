// SPDX-License-Identifier: BSL-1.0
//
// Paging operations and the sums of them.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <span>

#include <tidemark/split/paging.hpp>

namespace {

using tidemark::paging_kind;
using tidemark::split_statistics;
using operation = tidemark::paging_operation<int>;

}  // namespace

TEST_CASE("[C21] the statistics sum up the bytes of paging operations by their kind") {
  const std::array operations{
      operation{paging_kind::evict, 1, 10, 0, 0},   operation{paging_kind::move, 2, 200, 10, 0},
      operation{paging_kind::page_in, 3, 3, 0, 20}, operation{paging_kind::page_in, 4, 4'000, 0, 30},
      operation{paging_kind::evict, 5, 50, 40, 0},
  };
  split_statistics sums;
  sums.count_paging(std::span<const operation>{operations});
  CHECK(sums.bytes_evicted == 60);
  CHECK(sums.bytes_moved == 200);
  CHECK(sums.bytes_paged_in == 4'003);
  CHECK(sums.cuts == 0);
}

TEST_CASE("[C25] the statistics sum up what had to stay in place at cuts, and keep the greatest of it") {
  split_statistics sums;
  sums.count_cut(7, 9);
  sums.count_cut(5, 5);
  CHECK(sums.cuts == 2);
  CHECK(sums.bytes_kept == 14);
  CHECK(sums.bytes_fixed == 12);
  CHECK(sums.most_bytes_fixed == 7);
}

TEST_CASE("paging operations are equal if all their members are") {
  const operation one{paging_kind::move, 1, 2, 3, 4};
  CHECK(one == operation{one});
  CHECK(one != operation{paging_kind::evict, 1, 2, 3, 4});
  CHECK(one != operation{paging_kind::move, 1, 2, 3, 5});
}
