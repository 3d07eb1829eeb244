// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the pin against commitment: processor and device never have the memory at the same time, and each has
// what the other one left there.
#include "support/model_check.hpp"

#include <tidemark/lock_decision.hpp>

#include <array>

namespace {

using platform = tidemark::TIDEMARK_MODEL_PLATFORM;
using payload = platform::var<int>;
using pin_type = tidemark::basic_commit_pin<platform>;
using unlocked = pin_type::unlocked;

/// The memory: one field for each thread that locks, and one for what the device left.
template <unsigned Lockers>
struct pinned_memory {
  pin_type pin;
  std::array<payload, Lockers> written;
  payload left_by_device;
  unsigned deferred = 0;    // written by the thread that asks for commits
  unsigned done_later = 0;  // written by whoever is told to commit: one at a time, see use_as_device()

  void use_as_device() {
    int sum = 0;
    for (const payload& one : written) sum += one.load();
    left_by_device.store(sum + 1);
    pin.evict();
  }

  /// Once, if it is not committed just now.
  void lock_once(unsigned locker) {
    if (!pin.try_lock()) return;
    written[locker].store(written[locker].load() + left_by_device.load() + 1);
    const unlocked how = pin.unlock();
    MODEL_REQUIRE(how != unlocked::unmatched);
    if (how == unlocked::commit_now) {
      ++done_later;
      use_as_device();
    }
  }

  void commit_once() {
    if (pin.request_commit()) {
      use_as_device();
    } else {
      ++deferred;
    }
  }

  void after() {
    MODEL_REQUIRE(deferred == done_later);
    MODEL_REQUIRE(!pin.is_committed() && pin.lock_count() == 0);
  }
};

/// [B27] [trap 30] One locks twice, the other one commits: now, or when it is unlocked.
struct commit_beside_locks : model::suite<2>, pinned_memory<1> {
  void thread(unsigned index) {
    if (index == 0) {
      lock_once(0);
      lock_once(0);
    } else {
      commit_once();
    }
  }
};

/// [B27] [B46] Two hold locks at the same time: the last one to go is told of the commit, and has what both wrote.
struct commit_beside_two_lockers : model::suite<3>, pinned_memory<2> {
  void thread(unsigned index) {
    if (index < 2) {
      lock_once(index);
    } else {
      commit_once();
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  return model::run(argc, argv,
                    {
                        model::make_check<commit_beside_locks, "commit_beside_locks">(),
                        model::make_check<commit_beside_two_lockers, "commit_beside_two_lockers">(),
                    });
}
