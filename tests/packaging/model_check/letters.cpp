// SPDX-License-Identifier: BSL-1.0
#include <post/letter_box.hpp>

namespace {

using namespace tidemark::verify;

struct one_letter : check<2> {
  post::letter_box<int> box;

  void thread(unsigned index) {
    int found = 42;
    if (index == 0) {
      box.put(42);
    } else if (box.take(found)) {
      expect(found == 42, "what is taken out is what was put in");
    }
  }
};
const checked<one_letter> letter{"letter"};

}  // namespace
