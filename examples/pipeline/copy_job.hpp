// SPDX-License-Identifier: BSL-1.0
// The file that goes through the pipeline, again and again: with both kinds of fence in turns, each copy compared with
// the original, and once more through queues if a trace is wanted.

#pragma once

#include "../support/files.hpp"
#include "../support/trace_files.hpp"
#include "comparison.hpp"
#include "condvar_fence.hpp"
#include "copy_pipeline.hpp"
#include "fnv1a.hpp"
#include "options.hpp"
#include "timelines.hpp"

#include <tidemark/tidemark.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace pipeline {

// Some engine sleeps for every third or fourth block: too often for a fence whose sleepers pay a system-wide barrier.
using counting_fence =
    tidemark::basic_progress_fence<tidemark::symmetric_platform, tidemark::fence_options{.statistics = true}>;

/// All the rounds with one kind of fence.
struct measurement {
  repetitions times;
  std::uint64_t signals = 0;
  std::uint64_t notifications = 0;
};

/// The file, its copy, and what is known about both.
struct copy_job {
  support::open_file input;
  support::output_file output;
  staging_ring ring;
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;
  std::uint64_t copies = 0;
};

/// Reads input and copy again and compares every byte, and the checksum that the engine has taken.
inline void verify(copy_job& job) {
  std::vector<std::byte> expected(256 * kibibyte);
  std::vector<std::byte> found(expected.size());
  fnv1a sum;
  job.input.rewind();
  job.output.file().rewind();
  for (std::uint64_t offset = 0;;) {
    const std::size_t expected_size = job.input.read(expected);
    const std::size_t found_size = job.output.file().read(found);
    const auto common = static_cast<std::ptrdiff_t>(std::min(expected_size, found_size));
    const auto difference = std::mismatch(expected.begin(), expected.begin() + common, found.begin());
    const auto equal = static_cast<std::size_t>(difference.first - expected.begin());
    if (equal != expected_size || equal != found_size) {
      throw std::runtime_error("the copy of '" + job.input.name() + "' differs from it at byte " +
                               std::to_string(offset + equal) + " (has the file been changed meanwhile?)");
    }
    if (equal == 0) break;
    sum.add({expected.data(), equal});
    offset += equal;
  }
  if (sum.value() != job.checksum) throw std::runtime_error("the checksum of '" + job.input.name() + "' is wrong");
}

/// Copies the file once, from the start; adds to `result` how long the engines took.
template <class Timelines>
void copy_once(copy_job& job, measurement& result, Timelines& timelines) {
  job.input.rewind();
  if (!job.output.is_device()) job.output.file().restart();

  copy_pipeline<Timelines> engines(job.input, job.output.file(), job.ring, timelines);
  const auto start = std::chrono::steady_clock::now();
  engines.run();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;

  result.times.add(elapsed.count());
  result.signals += timelines.signal_count();
  result.notifications += timelines.notify_count();
  job.bytes = engines.bytes();
  job.checksum = engines.checksum();
  ++job.copies;
  if (!job.output.is_device()) verify(job);
}

template <class Fence>
void copy_once(copy_job& job, measurement& result) {
  fence_timelines<Fence> timelines;
  copy_once(job, result, timelines);
}

inline void copy_once_traced(copy_job& job, measurement& result, support::trace_files& traces) {
  queue_timelines timelines;
  copy_once(job, result, timelines);
  traces.write(timelines.collect());
}

struct both_measurements {
  measurement tidemark;
  measurement condvar;
};

/// A warm-up and then the rounds, in alternating order.
inline both_measurements measure_copies(copy_job& job, std::size_t rounds) {
  both_measurements result;
  measurement warm_up;
  copy_once<counting_fence>(job, warm_up);
  copy_once<condvar_fence>(job, warm_up);
  take_turns(
      rounds, [&] { copy_once<counting_fence>(job, result.tidemark); },
      [&] { copy_once<condvar_fence>(job, result.condvar); });
  return result;
}

/// All copies. A device gets the file once, so there is nothing to compare; a trace is of a copy that is not measured.
inline both_measurements copy_all(copy_job& job, std::size_t rounds, support::trace_files& traces) {
  both_measurements result;
  if (!job.output.is_device()) {
    result = measure_copies(job, rounds);
    measurement not_measured;
    if (traces.are_wanted()) copy_once_traced(job, not_measured, traces);
  } else if (traces.are_wanted()) {
    copy_once_traced(job, result.tidemark, traces);
  } else {
    copy_once<counting_fence>(job, result.tidemark);
  }
  return result;
}

}  // namespace pipeline
