// SPDX-License-Identifier: BSL-1.0
// concept: prologue
#include <cstdint>

#include <tidemark/engine/engine_parts.hpp>
#include <tidemark/split/submit_parts.hpp>

void record(tidemark::engine_queue& queue, tidemark::splitter<int>& parts) {
  tidemark::engine_parts recorded{queue, [](const tidemark::paging_operation<int>&) {},
                                  [](std::uint64_t, std::uint64_t) {}, [](auto& run) { run.run([] {}); }};
  static_cast<void>(submit_parts(parts, tidemark::part_scheduling::back_to_back, recorded));
}
