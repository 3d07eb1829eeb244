// SPDX-License-Identifier: BSL-1.0
//
// All of tidemark but the model checker's platform.
#ifndef TIDEMARK_TIDEMARK_HPP
#define TIDEMARK_TIDEMARK_HPP

#include "coherency_tracker.hpp"
#include "fence.hpp"
#include "fence_log.hpp"
#include "host_aperture.hpp"
#include "hub.hpp"
#include "lock_decision.hpp"
#include "log_collector.hpp"
#include "mapped_view.hpp"
#include "patch_location.hpp"
#include "platform.hpp"
#include "queue.hpp"
#include "rename_ring.hpp"
#include "retire_queue.hpp"
#include "ring_log.hpp"
#include "split_list.hpp"
#include "split_placement.hpp"
#include "split_table.hpp"
#include "splitter.hpp"
#include "submit_parts.hpp"
#include "trace.hpp"
#include "trace_export.hpp"
#include "upload_ring.hpp"
#include "wait_many.hpp"
#include "waiter_heap.hpp"

#endif  // TIDEMARK_TIDEMARK_HPP
