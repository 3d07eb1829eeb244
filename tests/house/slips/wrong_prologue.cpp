// SPDX-License-Identifier: BSL-1.0
// concept: prologue
#include <cstdint>

#include <tidemark/split/submit_parts.hpp>

struct wrong_prologue {
  void enter() {}
  void leave() {}
  bool page(const tidemark::split_part<int>&) { return true; }
  bool prologue(const tidemark::split_part<int>&) { return true; }
  bool submit(const tidemark::split_part<int>&) { return true; }
};

void drive(tidemark::splitter<int>& parts) {
  static_cast<void>(submit_parts(parts, tidemark::part_scheduling::back_to_back, wrong_prologue{}));
}
