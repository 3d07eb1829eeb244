// SPDX-License-Identifier: BSL-1.0
// concept: trace_target
#include <istream>
#include <string>

#include <tidemark/trace/trace_file.hpp>

bool read(std::istream& stream) {
  std::string target;
  return static_cast<bool>(tidemark::read_trace_file(stream, target));
}
