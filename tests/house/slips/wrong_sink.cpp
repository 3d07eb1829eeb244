// SPDX-License-Identifier: BSL-1.0
// concept: trace_sink
#include <string>

#include <tidemark/queue/log_collector.hpp>

void collect(tidemark::log_collector& collector) {
  std::string sink;
  collector.collect(sink);
}
