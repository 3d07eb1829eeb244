// SPDX-License-Identifier: BSL-1.0
//
// What is made before main(), and before the headers' own variables are initialized.
#include <doctest/doctest.h>

#include <cstdint>

#include <tidemark/fence/fence.hpp>
#include <tidemark/platform/platform.hpp>

using tidemark::native_platform;

namespace {

struct early_fence {
  bool has_barrier = native_platform::heavy_barrier_available();
  tidemark::progress_fence fence;
  std::uint64_t monitored_value = fence.monitored_value();
};

/// The first variable of this program: other files give no priority, and neither do the headers.
[[gnu::init_priority(101)]] early_fence early;  // NOLINT(cert-err58-cpp)

}  // namespace

TEST_CASE("[A34] whether there is a heavy barrier is known before any variable is initialized, and never changes") {
  CHECK(early.has_barrier == native_platform::heavy_barrier_available());
}

TEST_CASE("a fence that is made before any other variable is as fast as a later one") {
  const tidemark::progress_fence late;
  CHECK(early.monitored_value == late.monitored_value());
  CHECK(early.fence.monitored_value() == late.monitored_value());
}
