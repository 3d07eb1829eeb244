// SPDX-License-Identifier: BSL-1.0
//
// trace: an executor with a clock of its own, whose times the trace brings to the time line of the steady clock.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include <tidemark/log/clock_correlation.hpp>
#include <tidemark/trace/trace.hpp>
#include <tidemark/trace/trace_export.hpp>
#include <tidemark/trace/trace_file.hpp>
#include <tidemark/trace/trace_lifetimes.hpp>

#include "support/random.hpp"
#include "support/trace_entries.hpp"

using namespace testing;
using tidemark::clock_correlation;
using tidemark::trace;
using tidemark::trace_command;
using tidemark::trace_event;

namespace {

constexpr tidemark::queue_id host{0}, device{1};
constexpr tidemark::fence_id fence_f{7}, fence_g{8};

/// A clock that is 1,000 ppm fast and began at another time.
constexpr std::uint64_t fast(std::uint64_t steady) { return 7'000'000 + steady + steady / 1000; }

/// A reading of that clock by a processor that took so long for it.
tidemark::correlated_reading reading(std::uint64_t steady, std::uint64_t width) {
  return {steady - width / 2, fast(steady), steady + width / 2};
}

void executed(trace& target, tidemark::queue_id queue, const tidemark::fence_log_entry& entry) {
  target.on_executed<nanosecond_clock>(queue, entry);
}

/// Returns whether all commands of two queues that are farther apart than their errors have the order of their true
/// times, which are 1,000 times their values.
bool is_in_order(const trace& source) {
  const std::vector<trace_command> commands = source.commands();
  for (const trace_command& a : commands) {
    for (const trace_command& b : commands) {
      const bool is_apart = 1000 * b.value > 1000 * a.value + a.time_error + b.time_error;
      if (is_apart && a.end_time >= b.end_time) return false;
    }
  }
  return true;
}

/// Returns the signals 1 to 2,000, one in a microsecond, each of one of both queues.
trace two_clocks(std::uint64_t seed) {
  random_numbers random{seed};
  trace source;
  for (std::uint64_t n = 1; n <= 2'000; ++n) {
    const bool on_device = random.below(2) == 0;
    executed(source, on_device ? device : host, signal_entry(fence_f, n, on_device ? fast(1000 * n) : 1000 * n));
  }
  return source;
}

/// Returns a trace without an event, in which the device's clock is known to 100 ns.
trace with_device_clock() {
  trace source;
  clock_correlation clock{{.rate_ppm = 0, .wander_ppm = 0}};
  CHECK(clock.add(reading(100'000, 200)));
  CHECK(clock.add(reading(300'000, 200)));
  source.set_clock(device, clock);
  return source;
}

/// Returns a trace in which both queues signal, the device's clock is known to 100 ns, and the host waits for 3.
trace two_signals(std::uint64_t host_value, std::uint64_t host_time, std::uint64_t device_value,
                  std::uint64_t device_time, std::uint64_t wait_end) {
  trace source = with_device_clock();
  executed(source, host, signal_entry(fence_f, host_value, host_time));
  executed(source, device, signal_entry(fence_f, device_value, fast(device_time)));
  executed(source, host, wait_entry(fence_f, 3, host_time - 50, wait_end));
  return source;
}

/// Returns the value of the signal that released the only wait of a trace; 0 if none is named.
std::uint64_t released_by(const trace& source) {
  const std::vector<trace_command> commands = source.commands();
  for (const trace_command& each : commands) {
    if (each.operation == tidemark::fence_operation::wait_unblocked) {
      return each.released_by ? commands[*each.released_by].value : 0;
    }
  }
  return 0;
}

}  // namespace

TEST_CASE("[A130] the merged order of a clock that is 1,000 ppm fast is right within the stated error") {
  for (int round = 0; round < 5; ++round) {
    trace source = two_clocks(fresh_seed());
    CHECK_FALSE(is_in_order(source));  // as long as nobody says how the clocks relate
    clock_correlation clock;
    REQUIRE(clock.add(reading(10'000, 400)));
    REQUIRE(clock.add(reading(1'900'000, 300)));
    source.set_clock(device, clock);
    CHECK(is_in_order(source));
    for (const trace_command& each : source.commands()) {
      const std::uint64_t truth = 1000 * each.value;
      const std::uint64_t away = each.end_time < truth ? truth - each.end_time : each.end_time - truth;
      CHECK(away <= each.time_error);
      CHECK(each.time_error <= 250);
      CHECK((each.time_error == 0) == (each.queue == host));
    }
  }
}

TEST_CASE("[A130] with one reading the rate is not known, and a later reading makes the same times more exact") {
  trace source = two_clocks(1);
  clock_correlation clock{{.rate_ppm = 1'000, .wander_ppm = 1}};
  REQUIRE(clock.add(reading(10'000, 400)));
  source.set_clock(device, clock);
  const auto greatest_error = [&] {
    std::uint64_t greatest = 0;
    for (const trace_command& each : source.commands()) {
      greatest = each.time_error > greatest ? each.time_error : greatest;
    }
    return greatest;
  };
  CHECK(is_in_order(source));
  CHECK(greatest_error() > 1'500);
  REQUIRE(clock.add(reading(1'900'000, 400)));
  source.set_clock(device, clock);
  CHECK(is_in_order(source));
  CHECK(greatest_error() < 300);
  source.set_clock(device, {});
  CHECK_FALSE(is_in_order(source));
}

TEST_CASE("[A130] a release is named across clocks where the times prove it, and not where the errors leave it open") {
  // The device signals 4 long before, or long after, the host signals 3.
  CHECK(released_by(two_signals(3, 200'000, 4, 150'000, 200'010)) == 4);
  CHECK(released_by(two_signals(3, 200'000, 4, 250'000, 200'010)) == 3);
  // Both within the error: perhaps 4 came first.
  CHECK(released_by(two_signals(3, 200'000, 4, 200'060, 200'010)) == 0);
  CHECK(released_by(two_signals(3, 200'000, 4, 199'940, 200'010)) == 0);
  // The device signals 3, by its time a little behind the end of the wait: within the error, so it may have released
  // it.
  CHECK(released_by(two_signals(2, 200'000, 3, 200'060, 200'010)) == 3);
  CHECK(released_by(two_signals(2, 200'000, 3, 200'900, 200'010)) == 0);
}

TEST_CASE("[A130] a gap is as wide as the errors of its times make it: what may have been lost releases no wait") {
  // The device loses signals; the host signals 2 behind the gap, or 4 before it.
  const auto host_signals = [](std::uint64_t first, std::uint64_t second, std::uint64_t gap_from,
                               std::uint64_t gap_to) {
    trace source = with_device_clock();
    executed(source, device, signal_entry(fence_g, 1, fast(gap_from)));
    source.on_lost(device, tidemark::fence_log_type::signal, 1, 5);
    executed(source, device, signal_entry(fence_g, 9, fast(gap_to)));
    executed(source, host, signal_entry(fence_f, 2, first));
    executed(source, host, signal_entry(fence_f, 4, second));
    executed(source, host, wait_entry(fence_f, 3, first + 1, second + 1));
    return released_by(source);
  };
  CHECK(host_signals(150'900, 160'000, 110'000, 150'000) == 4);
  CHECK(host_signals(150'050, 160'000, 110'000, 150'000) == 0);
  CHECK(host_signals(140'000, 150'000, 150'900, 190'000) == 4);
  CHECK(host_signals(140'000, 150'000, 150'050, 190'000) == 0);

  // The host loses signals, and the times of the device's are not exact.
  const auto device_signals = [](std::uint64_t first, std::uint64_t second, std::uint64_t gap_from,
                                 std::uint64_t gap_to) {
    trace source = with_device_clock();
    executed(source, host, signal_entry(fence_g, 1, gap_from));
    source.on_lost(host, tidemark::fence_log_type::signal, 1, 5);
    executed(source, host, signal_entry(fence_g, 9, gap_to));
    executed(source, device, signal_entry(fence_f, 2, fast(first)));
    executed(source, device, signal_entry(fence_f, 4, fast(second)));
    executed(source, host, wait_entry(fence_f, 3, first + 1, second + 900));
    return released_by(source);
  };
  CHECK(device_signals(150'900, 160'000, 110'000, 150'000) == 4);
  CHECK(device_signals(150'050, 160'000, 110'000, 150'000) == 0);
  CHECK(device_signals(140'000, 150'000, 150'900, 190'000) == 4);
  CHECK(device_signals(140'000, 150'000, 150'050, 190'000) == 0);

  // The signal that is known has no time, so the end of the wait stands for it: a time of the device.
  const auto without_time = [](std::uint64_t wait_end, std::uint64_t gap_from) {
    trace source = with_device_clock();
    executed(source, host, signal_entry(fence_g, 1, gap_from));
    source.on_lost(host, tidemark::fence_log_type::signal, 1, 5);
    executed(source, host, signal_entry(fence_f, 4, 0));
    executed(source, device, wait_entry(fence_f, 3, fast(wait_end - 1), fast(wait_end)));
    return released_by(source);
  };
  CHECK(without_time(150'000, 150'900) == 4);
  CHECK(without_time(150'000, 150'050) == 0);
}

TEST_CASE("[A130] the order of a gap and a signal in one log is certain, however inexact their clock is") {
  trace source = with_device_clock();
  executed(source, device, signal_entry(fence_g, 1, fast(110'000)));
  source.on_lost(device, tidemark::fence_log_type::signal, 1, 5);
  executed(source, device, signal_entry(fence_g, 9, fast(150'000)));
  executed(source, device, signal_entry(fence_f, 2, fast(150'010)));
  executed(source, device, signal_entry(fence_f, 4, fast(150'050)));
  executed(source, host, wait_entry(fence_f, 3, 150'020, 150'300));
  CHECK(released_by(source) == 4);
}

TEST_CASE("[A130] a gap whose times are not known at all may be at any time") {
  trace source;
  // Its errors are so great that the gap reaches beyond all times.
  clock_correlation clock{{.rate_ppm = 1e12, .wander_ppm = 0}};
  REQUIRE(clock.add(reading(1'000, 10)));
  source.set_clock(device, clock);
  executed(source, device, signal_entry(fence_g, 1, fast(110'000)));
  source.on_lost(device, tidemark::fence_log_type::signal, 1, 5);
  executed(source, device, signal_entry(fence_g, 9, fast(150'000)));
  executed(source, host, signal_entry(fence_f, 2, 990'000));
  executed(source, host, signal_entry(fence_f, 4, 995'000));
  executed(source, host, wait_entry(fence_f, 3, 992'000, 995'001));
  CHECK(released_by(source) == 0);
}

TEST_CASE("[A130] work, gaps and lifetimes have the times of the steady clock") {
  trace source = two_signals(3, 200'000, 4, 250'000, 200'010);
  source.on_work<nanosecond_clock>(device, "blur", fast(210'000), fast(240'000));
  source.on_lost(device, tidemark::fence_log_type::signal, 1, 5);
  source.on_queued(device, trace_event::signal_queued, fence_f, 4, 250'090);
  const auto near = [](std::uint64_t time, std::uint64_t truth) { return time + 2 >= truth && time <= truth + 2; };
  CHECK(near(source.told_work()[0].begin_time, 210'000));
  CHECK(near(source.told_work()[0].end_time, 240'000));
  CHECK(near(source.losses()[0].time_before, 250'000));
  const auto lifetimes = lifetimes_of(source);
  REQUIRE(lifetimes.size() == 1);  // it ended before it was queued, but by less than the error
  CHECK(lifetimes[0].begin_time == 250'090);
  CHECK(lifetimes[0].end_time == 250'090);
  std::ostringstream text;
  tidemark::write_chrome_trace(source, text);
  CHECK(text.str().find("\"error_ns\":102") != std::string::npos);
}

TEST_CASE("[A130] a file keeps the clocks, and a damaged one is refused") {
  const trace source = two_signals(3, 200'000, 4, 250'000, 200'010);
  std::stringstream file;
  tidemark::trace_file_writer writer{file};
  clock_correlation clock{{.rate_ppm = 0, .wander_ppm = 0.5}};
  for (std::uint64_t n = 1; n <= 40; ++n) REQUIRE(clock.add(reading(100'000 * n, 200)));
  writer.set_clock(device, clock);
  writer.on_executed<nanosecond_clock>(device, signal_entry(fence_f, 4, fast(250'000)));
  REQUIRE(writer.close() == tidemark::trace_write_status::written);
  trace read;
  REQUIRE(static_cast<bool>(read_trace_file(file, read)));
  const trace_command found = read.commands().at(0);
  CHECK(found.end_time >= 249'998);
  CHECK(found.end_time <= 250'002);
  CHECK(found.time_error == clock.to_steady(fast(250'000)).error);

  const std::string whole = file.str();
  for (std::size_t cut = 17; cut < 200; ++cut) {
    std::istringstream part{whole.substr(0, cut)};
    trace target;
    CHECK(read_trace_file(part, target).status == tidemark::trace_read_status::truncated);
    CHECK(target.queues().empty());
  }
  // A reading that is not later than the one before it.
  std::string wrong{whole.substr(0, 16) + std::string("\x0b\1\0\0\2", 5) + std::string(6, '\2')};
  for (std::size_t i = wrong.size() - 3; i < wrong.size(); ++i) wrong[i] = '\1';
  std::istringstream part{wrong};
  trace target;
  CHECK(read_trace_file(part, target).status == tidemark::trace_read_status::invalid);
}
