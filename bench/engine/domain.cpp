// SPDX-License-Identifier: BSL-1.0
//
// What it costs that a fence of several domains notifies with each signal, although nobody waits [A73].
//
//   domain/idle/<fence|alone|native|legacy>  a signal for which nobody waits: of a fence that is no domain's; of a
//                                            fence of domains that is attached in one domain only; and in another one,
//                                            too, whose loop a thread runs. `notified` counts the notifications of
//                                            1,000 signals.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <optional>
#include <tidemark/tidemark.hpp>
#include <utility>
#include <vector>

#include "support/measure.hpp"

namespace {

using benchmark::State;

constexpr std::uint64_t signals = 1000;

/// Times blocks of signals. `count` returns how many of them have notified.
template <class Fence, class Count>
void measure_signals(State& state, Fence& fence, const Count& count) {
  std::vector<double> samples;
  std::uint64_t value = 0;
  std::uint64_t notified = 0;
  for (auto _ : state) {
    const std::uint64_t before = count();
    const auto start = bench::steady::now();
    for (std::uint64_t i = 0; i < signals; ++i) static_cast<void>(fence.signal(++value));
    samples.push_back(bench::nanoseconds_between(start, bench::steady::now()));
    state.SetIterationTime(samples.back() * 1e-9);
    notified = count() - before;
  }
  bench::report_per_operation(state, std::move(samples), signals);
  state.counters["notified"] = static_cast<double>(notified);
}

void of_no_domain(State& state) {
  tidemark::basic_fence<tidemark::symmetric_platform, tidemark::fence_options{.statistics = true}> fence;
  measure_signals(state, fence, [&] { return fence.notify_count(); });
}

/// \param other  the kind of the other domain, if there is one
void of_domains(State& state, std::optional<tidemark::domain_kind> other) {
  tidemark::engine near{{.threads = 0}};
  tidemark::engine far;
  tidemark::domain own{near.loop()};
  tidemark::domain others{far.loop(), {.kind = other.value_or(tidemark::domain_kind::native)}};
  tidemark::cross_fence shared;
  tidemark::attachment here{shared, own};
  std::optional<tidemark::attachment> there;
  if (other) there.emplace(shared, others);
  measure_signals(state, here, [&] { return shared.counts().notifications; });
}

}  // namespace

int main(int argc, char** argv) {
  bench::row("domain/idle/fence", of_no_domain)->Iterations(200);
  bench::row("domain/idle/alone", of_domains, std::nullopt)->Iterations(200);
  bench::row("domain/idle/native", of_domains, tidemark::domain_kind::native)->Iterations(200);
  bench::row("domain/idle/legacy", of_domains, tidemark::domain_kind::legacy)->Iterations(200);
  return bench::run_all(argc, argv);
}
