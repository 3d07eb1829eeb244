// SPDX-License-Identifier: BSL-1.0
//
// local_fence: a fence between the queues of engines of one domain. No thread waits for it, so it has neither wait
// functions nor monitored_value(): a wait of a thread does not compile.
//
//   tidemark::local_fence copied;
//   copies.signal(copied, 1);
//   blurs.wait(copied, 1);                  queues wait; copied.wait(1) does not compile
//
// Its value may lie in memory of a device: basic_local_fence<Platform, value_storage::caller> takes the address of that
// memory. A fence of several domains must not be of this kind (cross_fence, in domain.hpp).
#ifndef TIDEMARK_ENGINE_LOCAL_FENCE_HPP
#define TIDEMARK_ENGINE_LOCAL_FENCE_HPP

#include "../fence/fence.hpp"
#include "../fence/fence_options.hpp"
#include "../platform/platform.hpp"
#include "engine_queue.hpp"

namespace tidemark {

/// A fence that only queues of engines wait for; see the head of this file. It has the functions of basic_fence that
/// signal, look, poison and release waiters. Any thread may signal it.
/// \tparam Storage  `own` or `caller`
template <platform Platform, value_storage Storage = value_storage::own>
  requires(Storage != value_storage::shared)
class basic_local_fence : private basic_fence<Platform, fence_options{.storage = Storage}> {
  using base = basic_fence<Platform, fence_options{.storage = Storage}>;

 public:
  using base::base;
  using base::current_value;
  using base::is_due;
  using base::is_poisoned;
  using base::is_reached;
  using base::last_reached;
  using base::loss;
  using base::poison;
  using base::publish;
  using base::release_due;
  using base::release_due_after_barrier;
  using base::signal;
  using base::signal_next;
  using typename base::platform;

 private:
  friend detail::domain_access;

  const base& native() const noexcept { return *this; }
};

using local_fence = basic_local_fence<symmetric_platform>;

}  // namespace tidemark

#endif  // TIDEMARK_ENGINE_LOCAL_FENCE_HPP
