// SPDX-License-Identifier: BSL-1.0
//
// What a maker of blocks must have, and lines that blocks take.
#include <doctest/doctest.h>

#include <cstddef>
#include <span>
#include <string>

#include <tidemark/context/block_maker.hpp>

#include "support/blocks.hpp"

namespace {

struct without_destroy {
  enum class kind { only };
  struct description {};
  static constexpr std::size_t max_dependencies = 0;
  std::size_t list_block_sizes(std::span<tidemark::block_size<kind>>) const noexcept { return 0; }
  tidemark::block_layout immediate_layout(kind, const description&) const noexcept { return {}; }
  std::size_t deferred_bytes(kind, const void*) const noexcept { return 0; }
  void set_dependency(description&, std::size_t, void*) noexcept {}
  bool create(const tidemark::block_arguments<kind, description>&) noexcept { return true; }
};
struct that_throws : without_destroy {
  void destroy(tidemark::context_id, kind, void*) {}
};
struct complete : without_destroy {
  void destroy(tidemark::context_id, kind, void*) noexcept {}
};
struct with_text : complete {
  struct description {
    std::string name;
  };
};

}  // namespace

TEST_CASE("[D11] a maker has all functions, none of which throws, and a description that can be copied as bytes") {
  static_assert(tidemark::block_maker<testing::test_maker>);
  static_assert(tidemark::block_maker<complete>);
  static_assert(!tidemark::block_maker<without_destroy>);
  static_assert(!tidemark::block_maker<that_throws>);
  static_assert(!tidemark::block_maker<with_text>);
  static_assert(!tidemark::block_maker<int>);
  CHECK(to_number(tidemark::immediate_context) == 0);
}

TEST_CASE("[D13] a block takes whole lines") {
  CHECK(tidemark::lines_of_block(1) == 1);
  CHECK(tidemark::lines_of_block(tidemark::cache_line) == 1);
  CHECK(tidemark::lines_of_block(tidemark::cache_line + 1) == 2);
}
