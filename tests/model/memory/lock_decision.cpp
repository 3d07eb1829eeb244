// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the gate against commitment: processor and device never use the memory at the same time, and each of
// them sees what the other one left there.
#include "support/model_check.hpp"

#include <tidemark/memory/lock_decision.hpp>

#include <array>

namespace {

using platform = tidemark::TIDEMARK_MODEL_PLATFORM;
using payload = platform::var<int>;
using gate_type = tidemark::basic_commit_gate<platform>;
using tidemark::unlock_status;

/// The memory: one field for each thread that locks it, and one for what the device leaves in it.
template <unsigned Lockers>
struct locked_memory {
  gate_type gate;
  std::array<payload, Lockers> written;
  payload left_by_device;
  unsigned deferred = 0;    // written by the thread that requests commits
  unsigned done_later = 0;  // written by the thread that is told to commit; only one is at a time, see use_as_device()

  void use_as_device() {
    int sum = 0;
    for (const payload& one : written) sum += one.load();
    left_by_device.store(sum + 1);
    gate.evict();
  }

  /// Locks the memory once, unless it is committed now.
  void lock_once(unsigned locker) {
    if (!gate.try_lock()) return;
    written[locker].store(written[locker].load() + left_by_device.load() + 1);
    const unlock_status how = gate.unlock();
    MODEL_REQUIRE(how != unlock_status::invalid);
    if (how == unlock_status::commit_now) {
      ++done_later;
      use_as_device();
    }
  }

  void commit_once() {
    if (gate.request_commit()) {
      use_as_device();
    } else {
      ++deferred;
    }
  }

  void after() {
    MODEL_REQUIRE(deferred == done_later);
    MODEL_REQUIRE(!gate.is_committed() && gate.lock_count() == 0);
  }
};

/// [B27] [trap 30] One thread locks twice. The other one requests a commit, which happens at once or at the unlock.
struct commit_beside_locks : model::suite<2>, locked_memory<1> {
  void thread(unsigned index) {
    if (index == 0) {
      lock_once(0);
      lock_once(0);
    } else {
      commit_once();
    }
  }
};

/// [B27] [B46] Two threads hold locks at the same time. The last one to unlock is told to commit, and sees what both
/// wrote.
struct commit_beside_two_lockers : model::suite<3>, locked_memory<2> {
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
