// SPDX-License-Identifier: BSL-1.0
// concept: timeline
#include <tidemark/fence/timeline.hpp>

struct without_waits {
  std::uint64_t current_value() const { return 0; }
};

bool is_done(const without_waits& mine) { return tidemark::timeline_view<without_waits>{mine}.is_reached(1); }
