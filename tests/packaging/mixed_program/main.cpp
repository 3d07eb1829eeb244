// SPDX-License-Identifier: BSL-1.0
//
// Two files of one program: this one waits for a fence, and the other one signals it.
#include <thread>

#include "shared.hpp"

int main() {
  job work;
  std::thread worker([&] { finish(work); });
  const bool is_done = work.done.wait(1) == tidemark::wait_status::reached;
  worker.join();
  return is_done ? 0 : 1;
}
