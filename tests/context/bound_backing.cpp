// SPDX-License-Identifier: BSL-1.0
//
// Where a command finds a backing. Commands that use it are in renamed_resource.cpp.
#include <doctest/doctest.h>

#include <cstddef>

#include <tidemark/context/bound_backing.hpp>
#include <tidemark/platform/platform.hpp>

using bound_type = tidemark::bound_backing<tidemark::native_platform, std::byte*>;
using copy_type = tidemark::bound_copy<tidemark::native_platform, std::byte*>;

TEST_CASE("[B47] what is bound is what its place holds when it is asked, and nothing without a place") {
  const bound_type none;
  CHECK(!none);
  CHECK(none.memory() == nullptr);
  std::byte memory{};
  bound_type::cell place{nullptr};
  const bound_type bound{place};
  CHECK(bound);
  CHECK(bound.memory() == nullptr);
  place.store(&memory);
  const bound_type copied = bound;
  CHECK(copied.memory() == &memory);
}

TEST_CASE("[B47] a copy is bound only where its status says so") {
  CHECK(!copy_type{});
  CHECK(!copy_type{tidemark::map_status::busy, {}});
  CHECK(copy_type{tidemark::map_status::mapped, {}});
}
