// SPDX-License-Identifier: BSL-1.0
// The program of docs/guide-log.md: the last entries of something that never stops.

#include "expect.hpp"

#include <tidemark/log/log_clock.hpp>
#include <tidemark/log/ring_log.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>

namespace {

using guide::expect;

struct sample {
  std::uint64_t time = 0;
  double celsius = 0;
  std::uint32_t sensor = 0;
};

sample measure(std::uint32_t sensor) { return {tidemark::default_log_clock::now(), 20.0 + sensor, sensor}; }

void keep_the_last_eight() {
  tidemark::ring_log<sample, 8> log;
  auto reader = log.reader();  // begins with the oldest entry; any thread may have one
  std::array<sample, 16> buffer;

  for (std::uint32_t n = 0; n < 5; ++n) log.append(measure(n));  // never waits, never fails
  const auto first = reader.read(buffer);
  expect(first.entries.size() == 5 && first.lost == 0, "all five are there");
  expect(first.entries[4].sensor == 4, "in the order in which they were appended");

  for (std::uint32_t n = 5; n < 25; ++n) log.append(measure(n));
  const auto second = reader.read(buffer);
  expect(second.lost == 12 && second.entries.size() == 8, "of twenty more the last eight");
  expect(second.first_sequence == 17 && second.entries[0].sensor == 17, "and it says which");
}

void append_from_many_threads() {
  using shared_log = tidemark::ring_log<sample, 64, tidemark::log_form::stamped, tidemark::native_platform,
                                        tidemark::writers::several>;
  shared_log log;
  std::array<std::thread, 3> producers;
  for (std::uint32_t n = 0; n < producers.size(); ++n) {
    producers[n] = std::thread{[&log, n] {
      for (int i = 0; i < 10; ++i) log.append(measure(n));
    }};
  }
  for (std::thread& producer : producers) producer.join();

  std::array<sample, 64> buffer;
  const auto all = log.reader().read(buffer);
  expect(all.entries.size() + all.lost == 30, "each entry is brought or counted");
}

void use_a_page_of_ones_own() {
  struct alignas(tidemark::cache_line) page {
    std::array<std::byte, 4096> bytes;
  };
  const auto memory = std::make_unique<page>();
  tidemark::ring_log<sample, std::dynamic_extent> log{std::span<std::byte>{memory->bytes}};
  log.append(measure(1));

  std::array<sample, 4> buffer;
  expect(log.reader().read(buffer).entries.size() == 1, "the log lies in that page");
}

}  // namespace

int main() {
  keep_the_last_eight();
  append_from_many_threads();
  use_a_page_of_ones_own();
  return guide::result("guide_log");
}
