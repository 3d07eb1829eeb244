// SPDX-License-Identifier: BSL-1.0
// The program of docs/guide-memory.md: memory that an executor still reads is not written and not freed.

#include "executor.hpp"
#include "expect.hpp"

#include <tidemark/loop/wait_loop.hpp>
#include <tidemark/memory/growing_upload_ring.hpp>
#include <tidemark/memory/loop_retire_queue.hpp>
#include <tidemark/memory/rename_ring.hpp>
#include <tidemark/memory/retire_queue.hpp>
#include <tidemark/memory/upload_ring.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

namespace {

using guide::expect;
using tidemark::map_mode;

constexpr int frames = 50;

void write_each_frame_anew() {
  std::atomic<int> wrong_frames{0};
  guide::executor device;
  tidemark::rename_ring vertices{device.finished(), {.bytes = 4096, .alignment = 64, .max_renames = 3}};

  for (int frame = 0; frame < frames; ++frame) {
    const auto mapped = vertices.map(map_mode::discard);  // a backing that nobody reads; waits while all three are
    if (!mapped) break;
    std::memset(mapped.memory, frame, 4096);

    const std::uint64_t serial = device.submit([&wrong_frames, frame, memory = mapped.memory] {
      const auto is_right = [frame](std::byte one) { return one == static_cast<std::byte>(frame); };
      if (!std::all_of(memory, memory + 4096, is_right)) ++wrong_frames;
    });
    vertices.retire(mapped, serial);  // in use until the device's fence has reached that serial
  }

  expect(device.queue().drain() == tidemark::wait_status::reached, "all frames were drawn");
  expect(wrong_frames == 0, "and none was overwritten while it was");
  expect(vertices.backings() <= 3, "with three backings at most");
}

void upload_small_parts() {
  std::atomic<int> wrong_parts{0};
  alignas(64) std::array<std::byte, 1024> staging{};
  guide::executor device;
  tidemark::upload_ring ring{device.finished(), {.capacity = staging.size()}};

  for (int batch = 0; batch < frames; ++batch) {
    std::uint64_t serial = 0;
    for (int part = 0; part < 3; ++part) {
      const auto place = ring.allocate(100, 16);  // an offset; waits while the ring is full
      if (!place) break;
      std::byte* const memory = staging.data() + place.offset;
      std::memset(memory, batch, 100);
      serial = device.submit([&wrong_parts, batch, memory] {
        if (memory[0] != static_cast<std::byte>(batch) || memory[99] != memory[0]) ++wrong_parts;
      });
    }
    ring.retire(serial);  // all three parts at once
  }

  expect(device.queue().drain() == tidemark::wait_status::reached && wrong_parts == 0, "each part was read as written");
}

struct texture : tidemark::retire_hook<1> {  // 1: the retire queue below knows one queue
  explicit texture(std::atomic<int>& alive) : alive_{alive} { ++alive_; }
  texture(const texture&) = delete;
  texture& operator=(const texture&) = delete;
  ~texture() { --alive_; }

 private:
  std::atomic<int>& alive_;
};

struct destroy {
  void operator()(texture& unused) const noexcept { delete &unused; }
};

void destroy_later() {
  std::atomic<int> alive{0};
  guide::executor device;
  tidemark::retire_queue reclaimer{device.queue()};

  auto sky = std::make_unique<texture>(alive);
  tidemark::progress_fence may_draw;
  device.submit([&] { static_cast<void>(may_draw.wait(1)); });  // stands for work that uses the texture

  reclaimer.retire(*sky.release(), destroy{});  // never waits: notes what was submitted so far
  expect(reclaimer.reclaim() == 0 && alive == 1, "the device may still use it");

  may_draw.signal(1);
  expect(reclaimer.drain() == tidemark::wait_status::reached, "the device is done");  // sleeps until then
  expect(alive == 0, "now it is gone");
}

void destroy_in_four_ways() {
  std::atomic<int> alive{0};
  guide::executor device;
  tidemark::retire_queue reclaimer{device.queue()};
  const auto make = [&alive]() -> texture& { return *std::make_unique<texture>(alive).release(); };
  tidemark::progress_fence may_draw;
  device.submit([&] { static_cast<void>(may_draw.wait(1)); });  // stands for work that uses the first two

  texture& sky = make();
  reclaimer.retire(make(), destroy{});  // later, after the device's work
  texture& sea = make();
  reclaimer.retire(sea, destroy{}, tidemark::assume_not_in_use);  // later, whatever the device does
  expect(alive == 3 && reclaimer.reclaim() == 1 && alive == 2, "reclaim() has destroyed the sea, not retire()");

  texture& unused = make();
  expect(bool{reclaimer.destroy(unused, destroy{}, tidemark::assume_not_in_use)}, "now");
  expect(alive == 2, "before the call has returned");

  may_draw.signal(1);
  expect(bool{reclaimer.destroy(sky, destroy{})}, "now, after the device's work");  // sleeps until then
  expect(reclaimer.drain() == tidemark::wait_status::reached && alive == 0, "all are gone");
}

struct loop_texture : tidemark::loop_retire_queue<>::hook {
  bool* is_alive;
};
struct destroy_in_place {
  void operator()(loop_texture& gone) const noexcept { *gone.is_alive = false; }
};

void destroy_on_a_loop() {
  bool is_alive = true;
  loop_texture sky;
  sky.is_alive = &is_alive;
  guide::executor device;
  tidemark::wait_loop loop;
  tidemark::loop_retire_queue<> reclaimer(loop);
  expect(reclaimer.add_queue(device.queue()), "it follows no other queue yet");
  device.submit([] {});

  reclaimer.retire(sky, destroy_in_place{});  // never waits
  while (is_alive) static_cast<void>(loop.run_one());
  expect(reclaimer.remove_queue(device.queue()), "the device has finished its work");
}

void reserve_the_worst_case() {
  alignas(64) std::array<std::byte, 1024> staging{};
  guide::executor device;
  tidemark::upload_ring ring{device.finished(), {.capacity = staging.size()}};

  auto text = ring.allocate(1000, 16);  // as long as it can get
  if (!text) return;
  const std::string_view written = "a frame took 16 ms";
  std::memcpy(staging.data() + text.offset, written.data(), written.size());
  expect(ring.try_shrink(text, written.size()), "no other part was given out since");
  expect(bool{ring.allocate(500)}, "the rest can be had at once");
  ring.retire(device.submit([] {}));

  const auto now = ring.statistics();
  expect(now.most_in_use == 1000, "the capacity that was needed");
  expect(now.in_use == 518 && now.largest_free_run == 506, "and what is left");
  expect(to_string(now).find("518 of 1024 bytes in use") == 0, "the same for people");
}

void upload_more_now_and_then() {
  guide::executor device;
  tidemark::growing_upload_ring ring{device.finished(), {.block_bytes = 4096, .max_blocks = 8, .idle_rounds = 3}};

  for (int frame = 0; frame < frames; ++frame) {
    const int parts = frame == 0 ? 10 : 1;  // a level is loaded
    for (int i = 0; i < parts; ++i) {
      const auto part = ring.allocate(1000, 16);  // adds a block if none has room; at the limit it waits
      if (part) std::memset(part.memory + part.offset, frame, static_cast<std::size_t>(part.bytes));
    }
    const std::uint64_t serial = device.submit([] {});  // work that reads them
    ring.retire(serial);
    expect(device.finished().wait(serial) == tidemark::wait_status::reached, "as if the frame were shown");
    ring.end_round();  // gives back what was idle for three frames
  }
  expect(ring.statistics().most_blocks == 3 && ring.blocks() == 1, "it has grown, and given back");
}

}  // namespace

int main() {
  write_each_frame_anew();
  upload_small_parts();
  destroy_later();
  destroy_in_four_ways();
  destroy_on_a_loop();
  reserve_the_worst_case();
  upload_more_now_and_then();
  return guide::result("guide_memory");
}
