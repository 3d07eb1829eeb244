// SPDX-License-Identifier: BSL-1.0
//
// Modes of maps: which combinations there are.
#include <doctest/doctest.h>

#include <cstdint>
#include <set>

#include <tidemark/memory/map_mode.hpp>

using tidemark::map_mode;

TEST_CASE("[B13] of all combinations of modes those are valid that are listed, and no other") {
  using enum tidemark::map_mode;
  const std::set<map_mode> listed{
      read,    write,           read | write, read | do_not_wait,  write | do_not_wait, read | write | do_not_wait,
      discard, discard | write, no_overwrite, no_overwrite | write};
  for (std::uint32_t bits = 0; bits < 64; ++bits) {
    CAPTURE(bits);
    const auto mode = static_cast<map_mode>(bits);
    CHECK(tidemark::detail::is_valid_mode(mode) == (listed.count(mode) != 0));
    CHECK(tidemark::detail::is_discard(mode) == (mode == discard || mode == (discard | write)));
    CHECK(tidemark::detail::is_no_overwrite(mode) == (mode == no_overwrite || mode == (no_overwrite | write)));
  }
}

TEST_CASE("a mode has the modes of which it is made") {
  using enum tidemark::map_mode;
  for (const map_mode each : {read, write, discard, no_overwrite, do_not_wait}) {
    for (const map_mode other : {read, write, discard, no_overwrite, do_not_wait}) {
      CHECK(tidemark::detail::has_mode(each | other, each));
      CHECK(tidemark::detail::has_mode(each, other) == (each == other));
      CHECK(tidemark::detail::without_mode(each | other, other) == (each == other ? map_mode{} : each));
    }
  }
}
