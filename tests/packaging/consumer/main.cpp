// SPDX-License-Identifier: BSL-1.0
//
// What a user's first program might be: one thread produces, another waits for it.
#include <cstdint>
#include <thread>

#include <tidemark/tidemark.hpp>

int main() {
  tidemark::progress_fence progress;
  tidemark::fence done{41};
  std::uint64_t produced = 0;

  std::thread producer([&] {
    produced = 7;
    progress.signal(1);
  });
  const bool reached = progress.wait(1) == tidemark::wait_status::reached && produced == 7;
  producer.join();

  const bool raised = done.signal(42) && !done.signal(42) && done.is_reached(42);
  return reached && raised ? 0 : 1;
}
