// SPDX-License-Identifier: BSL-1.0
//
// The least of several timelines: a group that timelines join and leave, beside the fixed least_of, and beside one by
// hand: an array of words, whose membership a mutex protects. Each subject has a base, which is far ahead, and so many
// members. Only the members are signalled.
//
//   look/<subject>/<members>    current_value(), many in a row, while nobody changes anything
//   change/<subject>/<members>  one more comes and leaves again, many in a row; the fixed one can't
//   round/<subject>/<members>   another thread waits for the next value of all members. This thread signals it to each
//                               of them, and waits for the answer, which is a progress_fence for all subjects. Each
//                               round begins with the next member, so the one that is signalled last is another one
//                               each time. Timed one by one, after 1,000 that are not; `p50_ns`, `p99_ns`, `p999_ns`
//   round_one_core/...          the same with both threads on one core
//
// On two cores our waiters spin for a short time, and a condition variable sleeps at once. That flatters ours where the
// answer comes quickly, so the row of one core is beside it.
#include <benchmark/benchmark.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tidemark/tidemark.hpp>

#include "peers/guarded_minimum.hpp"
#include "support/measure.hpp"
#include "support/threads.hpp"

namespace {

using fence = tidemark::progress_fence;

/// Of the base. No row signals so many values.
constexpr std::uint64_t far_ahead = UINT64_MAX / 2;

/// Each on a cache line of its own, as fences that different threads signal.
template <class T, std::size_t Count>
struct members_of {
  struct alignas(128) one {
    T value;
  };
  std::array<one, Count> all;

  T& operator[](std::size_t index) { return all[index].value; }
};

template <std::size_t Members>
class group {
 public:
  group() {
    for (std::size_t i = 0; i < Members; ++i) memberships_[i].emplace(least_, members_[i]);
    static_cast<void>(base_.signal(far_ahead));
  }
  std::uint64_t current_value() const { return least_.current_value(); }
  void wait(std::uint64_t target) const { static_cast<void>(least_.wait(target)); }
  void signal(std::size_t member, std::uint64_t value) { static_cast<void>(members_[member].signal(value)); }
  void change() { static_cast<void>(tidemark::timeline_group::membership{least_, one_more_}); }

 private:
  fence base_;
  fence one_more_;
  members_of<fence, Members> members_;
  tidemark::timeline_group least_{base_};
  std::array<std::optional<tidemark::timeline_group::membership>, Members> memberships_;
};

template <std::size_t Members>
class fixed {
 public:
  fixed() { static_cast<void>(base_.signal(far_ahead)); }
  std::uint64_t current_value() const { return least_.current_value(); }
  void wait(std::uint64_t target) const { static_cast<void>(least_.wait(target)); }
  void signal(std::size_t member, std::uint64_t value) { static_cast<void>(members_[member].signal(value)); }

 private:
  template <std::size_t... Index>
  static auto least_of_all(fence& base, members_of<fence, Members>& members, std::index_sequence<Index...>) {
    return tidemark::least_of{base, members[Index]...};
  }

  fence base_;
  members_of<fence, Members> members_;
  decltype(least_of_all(base_, members_, std::make_index_sequence<Members>{})) least_{
      least_of_all(base_, members_, std::make_index_sequence<Members>{})};
};

template <std::size_t Members>
class by_hand {
 public:
  by_hand() {
    least_.add(base_);
    for (std::size_t i = 0; i < Members; ++i) least_.add(members_[i]);
  }
  std::uint64_t current_value() const { return least_.current_value(); }
  void wait(std::uint64_t target) const { least_.wait(target); }
  void signal(std::size_t member, std::uint64_t value) { least_.signal(members_[member], value); }
  void change() {
    least_.add(one_more_);
    least_.remove(one_more_);
  }

 private:
  bench::guarded_minimum::word base_{far_ahead};
  bench::guarded_minimum::word one_more_{0};
  members_of<bench::guarded_minimum::word, Members> members_{};
  bench::guarded_minimum least_;
};

// ---- the rows -------------------------------------------------------------------------------------------------------

template <class Subject>
void look(benchmark::State& state) {
  const bench::escaped<Subject> subject;
  bench::measure_blocks<8>(state, [&of = std::as_const(*subject)](std::uint64_t) {
    std::uint64_t seen = of.current_value();
    benchmark::DoNotOptimize(seen);
  });
}

template <class Subject>
void change(benchmark::State& state) {
  const bench::escaped<Subject> subject;
  bench::measure_blocks<1>(state, [&of = *subject](std::uint64_t) { of.change(); });
}

/// This thread, and one that answers it.
template <class Subject, std::size_t Members>
class round_trip {
 public:
  explicit round_trip(int cpu_there) {
    const auto answer = [this](std::size_t) {
      for (std::uint64_t turn = 1;; ++turn) {
        std::as_const(*subject_).wait(turn);
        if (is_over_.load(std::memory_order_acquire)) return;
        static_cast<void>(answer_->signal(turn));
      }
    };
    partner_.start(1, answer, cpu_there);
  }
  round_trip(const round_trip&) = delete;
  round_trip& operator=(const round_trip&) = delete;
  ~round_trip() {
    is_over_.store(true, std::memory_order_release);
    signal_next();
    partner_.join();
  }

  void take_turn() {
    signal_next();
    static_cast<void>(answer_->wait(turn_));
  }

 private:
  void signal_next() {
    ++turn_;
    for (std::size_t i = 0; i < Members; ++i) subject_->signal((turn_ + i) % Members, turn_);
  }

  const bench::escaped<Subject> subject_;
  const bench::escaped<fence> answer_;
  std::uint64_t turn_ = 0;
  std::atomic<bool> is_over_{false};
  bench::thread_group partner_;
};

template <class Subject, std::size_t Members>
void rounds(benchmark::State& state, int cpu_here, int cpu_there) {
  constexpr int cold_turns = 1000;
  const bench::pinned here{cpu_here};
  round_trip<Subject, Members> timed{cpu_there};
  for (int turn = 0; turn < cold_turns; ++turn) timed.take_turn();
  bench::measure_percentiles(state, [&] { timed.take_turn(); });
}

template <template <std::size_t> class Subject, std::size_t Members>
void add(const std::string& name) {
  using subject = Subject<Members>;
  const std::vector<int>& cpus = bench::processors();
  const std::string rest = "/" + name + "/" + std::to_string(Members);
  bench::row("look" + rest, look<subject>)->Iterations(300);
  if constexpr (requires(subject& of) { of.change(); }) bench::row("change" + rest, change<subject>)->Iterations(300);
  if (cpus.size() > 1) bench::row("round" + rest, rounds<subject, Members>, cpus[0], cpus[1])->Iterations(4000);
  bench::row("round_one_core" + rest, rounds<subject, Members>, cpus[0], cpus[0])->Iterations(4000);
}

template <template <std::size_t> class Subject>
void add_all(const std::string& name) {
  add<Subject, 1>(name);
  add<Subject, 2>(name);
  add<Subject, 8>(name);
}

}  // namespace

int main(int argc, char** argv) {
  add_all<group>("timeline_group");
  add_all<fixed>("least_of");
  add_all<by_hand>("by_hand");
  return bench::run_all(argc, argv);
}
