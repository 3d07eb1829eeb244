// SPDX-License-Identifier: BSL-1.0
// concept: runs_callbacks
#include <cstdint>

#include <tidemark/fence/signaller_callback.hpp>

// Its type does not have fence_options::callbacks, as that of a callback_fence has.
void count(const tidemark::fence& uploaded, std::uint64_t& frames) {
  const auto counted = tidemark::call_in_signaller(uploaded, 3, [&] { ++frames; });
  static_cast<void>(counted);
}
