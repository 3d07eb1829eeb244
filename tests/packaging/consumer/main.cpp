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

  // With a stop token, too, where the library has them.
#if defined(__cpp_lib_jthread)
  std::stop_source stop;
  stop.request_stop();
  if (progress.wait(2, stop.get_token()) != tidemark::wait_status::stopped) return 1;
#endif

  const bool raised = done.signal(42) && !done.signal(42) && done.is_reached(42);
  return reached && raised ? 0 : 1;
}
