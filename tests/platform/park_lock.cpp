// SPDX-License-Identifier: BSL-1.0
//
// The lock on which threads sleep: what its owner may do with it. The model checks look at the rest.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include <tidemark/platform/portable_platform.hpp>
#include <tidemark/platform/tools/park_lock.hpp>

#include "support/counting_platform.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;

namespace {

/// Runs a function of the test just after the exchange that frees a lock.
template <class Base>
struct freeing_platform : counting_platform<Base> {
  struct park_word : Base::park_word {
    using Base::park_word::park_word;
    std::uint32_t exchange(std::uint32_t value, std::memory_order order) noexcept {
      const std::uint32_t before = Base::park_word::exchange(value, order);
      if (value == 0) at_freeing.run();
      return before;
    }
  };
  static inline thread_local hook at_freeing;  // of the thread that frees it
};

}  // namespace

TYPE_TO_STRING_AS("native", tidemark::native_platform);
TYPE_TO_STRING_AS("portable", tidemark::portable_platform);

TEST_CASE_TEMPLATE("whoever has a lock may destroy it while the owner before is still in unlock()", Base,
                   tidemark::native_platform, tidemark::portable_platform) {
  using platform = freeing_platform<Base>;
  using lock = tidemark::detail::park_lock<platform>;
  const watchdog dog{[] { return "a lock"; }};
  alignas(lock) std::array<std::byte, sizeof(lock)> memory{};
  auto* const locked = ::new (memory.data()) lock;
  locked->lock();
  background next{[&] {
    locked->lock();
    locked->unlock();
  }};
  CHECK(next.falls_asleep());
  platform::at_freeing = [&] {
    // The other thread has it now, as if it had woken up by itself. Then the lock is destroyed.
    typename Base::park_word& word = *std::launder(reinterpret_cast<typename Base::park_word*>(memory.data()));
    Base::unpark(word, 1);
    next.join();
    locked->~lock();
    memory.fill(std::byte{0xff});
  };
  locked->unlock();
  CHECK(platform::at_freeing.has_run());
}
