// SPDX-License-Identifier: BSL-1.0
//
// The upper floor through its one header; of the lower one comes only what it stands on.
#include <tidemark/executors.hpp>

#include <doctest/doctest.h>

#include <cstdint>

#if defined(TIDEMARK_MEMORY_UPLOAD_RING_HPP) || defined(TIDEMARK_SPLIT_SPLITTER_HPP)
#error "executors.hpp includes blocks on which it does not stand"
#endif

TEST_CASE("a queue waits for another one, and its logs say so") {
  tidemark::progress_fence drawn_fence;
  tidemark::progress_fence shown_fence;
  tidemark::queue draw{drawn_fence, {.progress = tidemark::fence_id{1}}};
  tidemark::queue show{shown_fence, {.progress = tidemark::fence_id{2}}};
  auto waits = show.wait_log();
  const auto drawn = draw.submit([](std::uint64_t) {});
  const auto shown = show.submit([](std::uint64_t) {});
  REQUIRE(drawn);
  REQUIRE(shown);
  draw.complete();
  CHECK(show.wait(draw.progress(), drawn.serial) == tidemark::wait_status::reached);
  show.complete();
  CHECK(shown_fence.current_value() == shown.serial);
  tidemark::fence_log_entry read[2];
  CHECK(waits.read(read).entries.size() == 1);
  CHECK(read[0].fence == tidemark::fence_id{1});
}
