// SPDX-License-Identifier: BSL-1.0
//
// Checks of the planted headers, for the audit's self-test.
#include "support/model_check.hpp"

#include "planted/planted.hpp"

namespace {

using platform = tidemark::TIDEMARK_MODEL_PLATFORM;

template <bool Careless>
struct hand_over : model::suite<2> {
  planted::mailbox<platform, Careless> box;

  void thread(unsigned index) {
    if (index == 0) {
      box.put(42);
    } else {
      const int found = box.take_or(42);
      MODEL_REQUIRE(found == 42);
    }
  }
};

struct rendezvous : model::suite<2> {
  planted::meeting<platform> place;
  bool met[2] = {};

  void thread(unsigned index) { met[index] = index == 0 ? place.come_often() : place.come_rarely(); }
  void after() { MODEL_REQUIRE(met[0] || met[1]); }
};

}  // namespace

int main(int argc, char** argv) {
  return model::run(argc, argv,
                    {
                        model::make_check<hand_over<false>, "hand_over">(),
                        model::make_check<hand_over<true>, "missing_order">(),
                        model::make_check<rendezvous, "rendezvous">(),
                    });
}
