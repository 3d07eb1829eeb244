// SPDX-License-Identifier: BSL-1.0
// What a process of shared_timeline does, by its role.

#pragma once

#include "consumer.hpp"
#include "crew.hpp"
#include "monitor.hpp"
#include "options.hpp"
#include "producer.hpp"

namespace shared_timeline {

inline int play(const options& chosen) {
  const ending signals;
  if (chosen.as == role::producer) return producer{chosen}.run();
  if (chosen.as == role::consumer) return consumer{chosen}.run();
  return monitor{chosen}.run();
}

}  // namespace shared_timeline
