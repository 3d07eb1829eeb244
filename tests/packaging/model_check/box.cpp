// SPDX-License-Identifier: BSL-1.0
#include <tidemark/verify/check.hpp>

namespace {

using namespace tidemark::verify;

// A box that one thread fills and another one opens.
template <std::memory_order Publish>
struct box_is_handed_over : check<2> {
  atomic<bool> full{false};
  atomic<bool> opened{false};
  var<int> content;

  void thread(unsigned index) {
    if (index == 0) {
      content.store(42);
      full.store(true, Publish);
    } else if (full.load(std::memory_order_acquire)) {
      expect(content.load() == 42, "what is in the box is what was put in");
      opened.store(true, std::memory_order_release);
    }
  }
};
const checked<box_is_handed_over<std::memory_order_release>> box{"box"};
const twin<box_is_handed_over<std::memory_order_relaxed>> careless{"box, published without release"};

}  // namespace
