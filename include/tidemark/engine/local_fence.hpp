// SPDX-License-Identifier: BSL-1.0
//
// local_fence: a fence between the queues of engines of one domain. Only such queues wait for it, and only they signal
// it. Threads have no access to it: there is no function that waits, looks at the value or signals, so none of these
// compiles.
//
//   tidemark::local_fence copied;
//   copies.signal(copied, 1);               queues signal; copied.signal(1) does not compile
//   blurs.wait(copied, 1);                  queues wait; copied.wait(1) does not compile
//
// What the program keeps is what the system has of such a fence: it makes it, and it may declare it lost. A thread that
// must know how far the queues have come waits for the progress of one of them, or for a fence that one signals, too.
//
// Its value may lie in memory of a device: basic_local_fence<Platform, value_storage::caller> takes the address of that
// memory. A fence of several domains must not be of this kind (cross_fence, in domain.hpp). No hub serves it: the queue
// that signals it releases the queues that wait.
#ifndef TIDEMARK_ENGINE_LOCAL_FENCE_HPP
#define TIDEMARK_ENGINE_LOCAL_FENCE_HPP

#include "../fence/fence.hpp"
#include "../fence/fence_options.hpp"
#include "../platform/platform.hpp"
#include "engine_queue.hpp"

namespace tidemark {

/// A fence that only queues of engines wait for and signal; see the head of this file. The greatest value wins. Any
/// number of queues may signal it, in any number of engines. It can be neither copied nor moved, and must outlive the
/// waits and signals of the queues.
/// \tparam Platform  as for basic_fence
/// \tparam Storage   `own` or `caller`
template <platform Platform, value_storage Storage = value_storage::own>
  requires(Storage != value_storage::shared)
class basic_local_fence : private basic_fence<Platform, fence_options{.storage = Storage}> {
  using base = basic_fence<Platform, fence_options{.storage = Storage}>;

 public:
  using typename base::platform;
  /// The constructors of basic_fence: with the value at which it begins; with `caller`, after the address of the value.
  using base::base;
  /// Declares the timeline lost. The queues that wait for it are lost, too, unless it has reached their values. Any
  /// thread may call it, any number of times.
  using base::poison;

 private:
  friend detail::domain_access;

  const base& native() const noexcept { return *this; }
  base& signalled() noexcept { return *this; }
};

using local_fence = basic_local_fence<symmetric_platform>;

}  // namespace tidemark

#endif  // TIDEMARK_ENGINE_LOCAL_FENCE_HPP
