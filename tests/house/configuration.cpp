// SPDX-License-Identifier: BSL-1.0
//
// Uses what depends on the parts of a platform, for check_configuration.
#include <chrono>
#include <cstddef>
#include <cstdint>

#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/fence32.hpp>
#include <tidemark/fence/rewindable_fence.hpp>
#include <tidemark/fence/signaller_callback.hpp>
#include <tidemark/fence/wait_many.hpp>
#include <tidemark/hub/hub_services.hpp>
#include <tidemark/log/fence_log.hpp>
#include <tidemark/log/log_clock.hpp>
#include <tidemark/loop/loop_uring.hpp>
#include <tidemark/loop/wait_loop.hpp>

using namespace std::chrono_literals;

extern "C" {

std::uint64_t use_fences(tidemark::fence& shared, tidemark::progress_fence& progress) {
  tidemark::rewindable_fence rewindable;
  rewindable.signal(1);
  shared.signal(progress.signal_next());
  tidemark::awaited both[] = {{shared, 1}, {progress, 2}};
  const bool is_reached = tidemark::wait_any_for(both, 1ms).status == tidemark::wait_status::reached;
  return is_reached ? shared.current_value() : static_cast<std::uint64_t>(progress.wait_for(3, 1ms));
}

std::size_t use_loop(tidemark::fence& shared, int ring, io_uring_sqe& entry) {
  tidemark::wait_loop loop;
  const auto reached = loop.on_reached(shared, 1, [](tidemark::wait_status) {});
  const auto readable = loop.on_readable(ring, [] {});
  tidemark::loop_uring_wait wait(loop, ring);
  wait.prepare(entry);
  static_cast<void>(loop.run_for(1ms));
  return loop.poll();
}

std::uint64_t use_log(tidemark::fence_log& log) {
  log.append({});
  return tidemark::tsc_log_clock::now() + (tidemark::tsc_log_clock::uses_counter() ? 1 : 0);
}

void use_service(const tidemark::event_driven& service, tidemark::native_platform::park_word& word) {
  service.ring<tidemark::native_platform>(word);
}
}
