// SPDX-License-Identifier: BSL-1.0
// The second program of docs/guide-memory.md: memory that a device owns.

#include "expect.hpp"

#include <tidemark/memory/coherency_tracker.hpp>
#include <tidemark/memory/host_aperture.hpp>
#include <tidemark/memory/lock_decision.hpp>
#include <tidemark/memory/mapped_allocation.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

using guide::expect;
using tidemark::aperture_status;
using tidemark::coherency_status;

void find_a_way_to_an_address() {
  const tidemark::segment_traits hidden{.cpu_visible = false};
  const tidemark::segment_set supported = tidemark::segment_set{}.with(hidden).with_aperture();
  const tidemark::lock_subject texture{.access = tidemark::cpu_access::uncached,
                                       .where = tidemark::residence::memory_segment,
                                       .supported = supported,
                                       .bytes = 65'536};

  const auto with_room = tidemark::decide(texture, hidden, {.exists = true, .free_bytes = 1 << 20}, 0);
  expect(with_room.route == tidemark::lock_route::through_window, "some pages of the window are mapped to it");

  const auto without = tidemark::decide(texture, hidden, {.exists = true, .free_bytes = 4096}, 0);
  expect(without.route == tidemark::lock_route::migrate_to_system, "it does not fit: it must be moved");
}

#if defined(__linux__)
void lock_an_allocation() {
  using namespace std::chrono_literals;
  using tidemark::map_mode;
  using tidemark::move_status;
  using tidemark::unlock_status;

  tidemark::progress_fence device;
  auto segment = tidemark::device_segment<tidemark::progress_fence>::make(device, {.pages = 16, .window_pages = 4});
  if (!segment) return;
  const tidemark::supported_segments where{tidemark::cpu_access::uncached, tidemark::with_aperture_segment, *segment};
  tidemark::mapped_allocation texture{device, where, {.bytes = 8192}};

  const auto first = texture.lock(map_mode::discard);  // a backing that no work uses
  std::memset(first.data, 7, first.bytes);
  expect(texture.unlock(first, 1) == unlock_status::unlocked, "work that reads it will signal 1");
  expect(texture.try_commit(first) == move_status::placed, "the device takes it into its memory, in any thread");
  expect(texture.try_lock(map_mode::read).status == tidemark::lock_status::busy, "the work is not done");
  device.signal(1);
  const auto again = texture.lock_for(map_mode::read, 1s);
  expect(again.route == tidemark::lock_route::through_window, "the processor does not see the segment");
  expect(again.data[8191] == std::byte{7}, "but it sees these pages of it");
  expect(texture.try_evict(again) == move_status::refused, "they stay there while it has the address");
  expect(texture.unlock(again) == unlock_status::unlocked, "and no longer");

  texture.used_until(first, 2);  // then submit more work that reads it and signals 2
  expect(texture.where(first) == tidemark::residence::memory_segment, "nothing was moved for that");
  expect(texture.try_lock(map_mode::write).status == tidemark::lock_status::busy, "but a lock waits for it, too");
  device.signal(2);
  const auto written = texture.try_lock(map_mode::write);
  expect(written.status == tidemark::lock_status::locked, "now it is done");
  expect(texture.unlock(written) == unlock_status::unlocked, "no work uses what was written");
}

void keep_an_allocation_locked() {
  using tidemark::device_use;
  using tidemark::map_mode;
  using tidemark::move_status;

  tidemark::progress_fence device;
  auto segment = tidemark::device_segment<tidemark::progress_fence>::make(device, {.pages = 16, .window_pages = 4});
  if (!segment) return;
  const tidemark::supported_segments where{tidemark::cpu_access::cached, tidemark::with_aperture_segment, *segment};
  tidemark::mapped_allocation particles{device, where, {.bytes = 4096}};

  const auto held = particles.lock(map_mode::write);  // once; `held.data` stays
  for (std::uint64_t frame = 1; frame <= 3; ++frame) {
    held.data[0] = static_cast<std::byte>(frame);
    particles.used_until(held, frame, device_use::writes);  // then submit work that signals `frame`
    expect(particles.try_commit(held) == move_status::placed_in_aperture, "the device gets at it where it is");
    device.signal(frame);  // as the work does
    const auto done = particles.lock(map_mode::read);
    expect(done.data == held.data, "a nested lock waits for the work, and has the same address");
    expect(particles.unlock(done) == tidemark::unlock_status::still_locked, "the first lock is still held");
  }
}  // it was locked for its whole life

void ask_what_may_be_created() {
  using tidemark::cpu_access;
  using segments = tidemark::supported_segments<tidemark::progress_fence>;

  tidemark::progress_fence device;
  auto local = tidemark::device_segment<tidemark::progress_fence>::make(device, {.pages = 16, .window_pages = 4});
  if (!local) return;
  expect(!segments::make(cpu_access::uncached, *local), "the processor would need the window, which may be full");
  expect(segments::make(cpu_access::none, *local).has_value(), "but not if it does not use the allocation");
  local->resize();  // the driver has made all of the segment addressable
  expect(segments::make(cpu_access::uncached, *local).has_value(), "now no window is needed");
}
#endif

void keep_a_commit_away() {
  tidemark::commit_gate gate;
  expect(gate.try_lock(), "the processor has the address");
  expect(!gate.request_commit(), "so the manager has to wait");
  expect(gate.unlock() == tidemark::unlock_status::commit_now, "and the last unlock says that it is due");
}

void share_a_window() {
  tidemark::progress_fence uploads;
  tidemark::host_aperture window{uploads, {.pages = 4}};

  const std::array<std::uint64_t, 3> wanted{40, 41, 99};
  const auto view = window.try_map(wanted);  // any free pages of the window
  expect(view.status == aperture_status::mapped, "three pages were free");
  std::vector<std::uint64_t> shown;
  window.for_each(view, [&](const tidemark::aperture_page& page) { shown.push_back(page.source); });
  expect(shown == std::vector<std::uint64_t>(wanted.begin(), wanted.end()), "in the order of the request");

  expect(window.try_map(wanted).status == aperture_status::no_space, "one page is not enough");
  window.retire(view, 7);  // in use until the fence has reached 7
  expect(window.try_map(wanted).status == aperture_status::busy, "the device still writes there");
  uploads.signal(7);
  const auto again = window.try_map(wanted);
  expect(again.status == aperture_status::mapped, "now they are free");
  window.unmap(again);  // no work was submitted that uses them
}

struct counting_cache {  // stands for the instructions of a machine
  int* written_back;
  int* invalidated;
  void write_back(std::uint64_t, std::uint64_t) noexcept { ++*written_back; }
  void invalidate(std::uint64_t, std::uint64_t) noexcept { ++*invalidated; }
};

void keep_caches_out_of_the_way() {
  int written_back = 0;
  int invalidated = 0;
  tidemark::progress_fence device;
  tidemark::coherency_tracker tracker{device, {.bytes = 4096}, counting_cache{&written_back, &invalidated}};

  const auto write = tracker.try_prepare_cpu_write(0, 100);
  expect(write.status == coherency_status::prepared, "nothing to wait for");  // ... the processor writes
  tracker.prepare_device_read(0, 100, 1);                                     // submit work that signals 1
  expect(written_back == 1, "the lines were written back");

  tracker.prepare_device_write(0, 100, 2);  // submit work that signals 2
  const auto read = tracker.try_prepare_cpu_read(0, 100);
  expect(read.status == coherency_status::busy && read.busy_until == 2, "the device may still write");
  expect(invalidated == 0, "too early: the line could be fetched again before the device writes");
  device.signal(2);
  expect(tracker.try_prepare_cpu_read(0, 100) && invalidated == 1, "now the lines are invalidated, and can be read");
}

void map_one_memory_twice() {
  int written_back = 0;
  int invalidated = 0;
  tidemark::progress_fence device;
  tidemark::coherency_tracker tracker{device, {.bytes = 4096}, counting_cache{&written_back, &invalidated}};

  expect(bool{tracker.try_prepare_cpu_write(0, 100)}, "... the processor writes");
  auto read = tracker.try_prepare_device_read(0, 100, 1, tidemark::coherency::hardware);  // through a coherent mapping
  expect(read && written_back == 0, "the device looks into the caches");
  read = tracker.try_prepare_device_read(0, 100, 2, tidemark::coherency::software);  // through the other one
  expect(read && written_back == 1, "here it does not");
}

}  // namespace

int main() {
  find_a_way_to_an_address();
#if defined(__linux__)
  lock_an_allocation();
  keep_an_allocation_locked();
  ask_what_may_be_created();
#endif
  keep_a_commit_away();
  share_a_window();
  keep_caches_out_of_the_way();
  map_one_memory_twice();
  return guide::result("guide_device_memory");
}
