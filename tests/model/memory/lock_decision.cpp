// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the gate against commitment: processor and device never use the memory at the same time, and each of
// them sees what the other one left there.
#include "support/model_check.hpp"

#include <tidemark/fence/event_count.hpp>
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

/// [B27] One thread locks twice. The other one tries to commit twice: it defers nothing, and sees what was written.
struct try_beside_locks : model::suite<2>, locked_memory<1> {
  void thread(unsigned index) {
    for (int i = 0; i < 2; ++i) {
      if (index == 0) {
        lock_once(0);
      } else if (gate.try_commit()) {
        use_as_device();
      }
    }
  }
};

/// [B27] Two threads try to commit beside one that locks: one at a time has the memory, and sees what the last one
/// left.
struct two_try_beside_a_lock : model::suite<3>, locked_memory<1> {
  void thread(unsigned index) {
    if (index == 0) {
      lock_once(0);
    } else if (gate.try_commit()) {
      left_by_device.store(left_by_device.load() + 1);
      use_as_device();
    }
  }
};

/// [B27] The pin of a backing, as the locking thread of a mapped allocation and a thread that moves use it. The first
/// lock commits it while it looks for an address.
struct moved_beside_locks : model::suite<2> {
  gate_type pin;
  payload bytes;  // written under the pin
  payload where;  // written by moves
  int moves = 0;  // counted by the thread that moves
  int locks = 0;  // and by the other one

  void thread(unsigned index) {
    for (int i = 0; i < 2; ++i) index == 0 ? lock_once() : move_once();
  }
  void lock_once() {
    if (!pin.try_commit()) return;
    const int before = where.load();
    pin.evict_and_lock();
    MODEL_REQUIRE(pin.try_lock());  // what is locked can be locked
    MODEL_REQUIRE(where.load() == before);
    bytes.store(bytes.load() + 1);
    ++locks;
    MODEL_REQUIRE(pin.unlock() == unlock_status::still_locked);
    MODEL_REQUIRE(pin.unlock() == unlock_status::unlocked);
  }
  void move_once() {
    if (!pin.try_commit()) return;
    bytes.store(bytes.load());  // as a copy does
    where.store(where.load() + 1);
    ++moves;
    pin.evict();
  }
  void after() { MODEL_REQUIRE(bytes.load() == locks && where.load() == moves); }
};

/// [B27] A thread commits, looks at what is there, and goes on with a lock. Another one, which locks beside it, has
/// what it has left.
struct lock_instead_of_commit : model::suite<2>, locked_memory<1> {
  void thread(unsigned index) {
    if (index == 0) {
      if (!gate.try_commit()) return;
      left_by_device.store(1);
      gate.evict_and_lock();
      MODEL_REQUIRE(gate.lock_count() >= 1 && !gate.is_committed());
      MODEL_REQUIRE(!gate.try_commit());
      MODEL_REQUIRE(left_by_device.load() == 1);
      static_cast<void>(gate.unlock());
    } else if (gate.try_lock()) {
      static_cast<void>(left_by_device.load());
      static_cast<void>(gate.unlock());
    }
  }
};

/// [B12] [B27] The locking thread of a mapped allocation sleeps while the pin is committed, and is woken when it is
/// not.
struct woken_by_a_move : model::suite<2> {
  gate_type pin;
  tidemark::basic_event_count<platform> given_back;
  payload moved;

  void thread(unsigned index) { index == 0 ? lock() : move(); }
  void lock() {
    MODEL_REQUIRE(given_back.wait([this] { return pin.try_lock(); }) == tidemark::wait_status::reached);
    MODEL_REQUIRE(moved.load() == 0 || moved.load() == 1);
    MODEL_REQUIRE(pin.unlock() == unlock_status::unlocked);
  }
  void move() {
    if (!pin.try_commit()) return;
    moved.store(1);
    pin.evict();
    given_back.notify();
  }
};

}  // namespace

int main(int argc, char** argv) {
  return model::run(argc, argv,
                    {
                        model::make_check<commit_beside_locks, "commit_beside_locks">(),
                        model::make_check<commit_beside_two_lockers, "commit_beside_two_lockers">(),
                        model::make_check<try_beside_locks, "try_beside_locks">(),
                        model::make_check<two_try_beside_a_lock, "two_try_beside_a_lock">(),
                        model::make_check<moved_beside_locks, "moved_beside_locks">(),
                        model::make_check<lock_instead_of_commit, "lock_instead_of_commit">(),
                        model::make_check<woken_by_a_move, "woken_by_a_move">(),
                    });
}
