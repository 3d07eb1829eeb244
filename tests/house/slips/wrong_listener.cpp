// SPDX-License-Identifier: BSL-1.0
// concept: asks_for_origins
#include <tidemark/hub/hub.hpp>

/// Its function may throw.
struct throwing : tidemark::self_serving {
  void on_signalled(const tidemark::signal_origin&) {}
};

tidemark::basic_hub<tidemark::native_platform, throwing> hub;
