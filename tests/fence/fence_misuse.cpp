// SPDX-License-Identifier: BSL-1.0
//
// Misuse of fences that is reported, where the program could not go on.
#include "support/misuse_hook.hpp"

#include <memory>
#include <string>

#include <doctest/doctest.h>

#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/signaller_awaiter.hpp>
#include <tidemark/fence/signaller_callback.hpp>
#include <tidemark/platform/platform.hpp>
#include <tidemark/platform/portable_platform.hpp>

#include "support/coroutine.hpp"

using namespace testing;

namespace {

constexpr tidemark::fence_options calling{.callbacks = true};
constexpr tidemark::fence_options calling_and_joining{.callbacks = true, .joins_signallers = true};
using calling_fence = tidemark::basic_fence<tidemark::symmetric_platform, calling>;
using joining_fence = tidemark::basic_fence<tidemark::symmetric_platform, calling_and_joining>;
using portable_joining_fence = tidemark::basic_fence<tidemark::portable_platform, calling_and_joining>;
using joining_progress_fence = tidemark::basic_progress_fence<tidemark::native_platform, calling_and_joining>;

const std::string by_its_own_signal = "a fence was destroyed by code that its own signal runs";

}  // namespace

TYPE_TO_STRING_AS("fence", calling_fence);
TYPE_TO_STRING_AS("fence/joins", joining_fence);
TYPE_TO_STRING_AS("fence/joins/portable", portable_joining_fence);
TYPE_TO_STRING_AS("progress_fence/joins", joining_progress_fence);

TEST_CASE_TEMPLATE("a fence that is destroyed by code that its own signal runs is reported", Fence, calling_fence,
                   joining_fence, portable_joining_fence, joining_progress_fence) {
  CHECK(reported_by([] {
          auto fence = std::make_unique<Fence>();
          const auto wait = [&]() -> coroutine {
            static_cast<void>(co_await tidemark::reached_in_signaller(*fence, 1));
            fence.reset();
          };
          const coroutine waiting = wait();
          fence->signal(1);
        }) == by_its_own_signal);
  CHECK(reported_by([] {
          auto fence = std::make_unique<Fence>();
          const auto call = tidemark::call_in_signaller(*fence, 1, [&](tidemark::wait_status) { fence.reset(); });
          fence->poison();
        }) == by_its_own_signal);
}

TEST_CASE("a callable may destroy another fence, and the one whose signal ran it before") {
  CHECK(reported_by([] {
          auto over = std::make_unique<joining_fence>();
          joining_fence fence;
          const auto call = tidemark::call_in_signaller(fence, 1, [&] { over.reset(); });
          {
            const auto other = tidemark::call_in_signaller(*over, 1, [] {});
            over->signal(1);
          }
          fence.signal(1);
        }) == "");
}
