// SPDX-License-Identifier: BSL-1.0
// concept: prologue
#include <cstdint>

#include <tidemark/split/submit_parts.hpp>

struct prologue_without_result {
  void enter() {}
  void leave() {}
  bool page(const tidemark::split_part<int>&) { return true; }
  void prologue(const tidemark::split_part<int>&, auto&) {}
  bool submit(const tidemark::split_part<int>&) { return true; }
};

void drive(tidemark::splitter<int>& parts) {
  static_cast<void>(submit_parts(parts, tidemark::part_scheduling::back_to_back, prologue_without_result{}));
}
