// SPDX-License-Identifier: BSL-1.0
//
// A thread that prints the totals now and then, and ends a soak that hangs. It calls it a hang when no operation has
// ended for `limit`, which is far above what any operation needs.
#ifndef TIDEMARK_TESTS_SOAK_MONITOR_HPP
#define TIDEMARK_TESTS_SOAK_MONITOR_HPP

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "numbers.hpp"
#include "round.hpp"

namespace soak {

class monitor {
 public:
  using clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds period{10};

  monitor(std::chrono::seconds limit, running_round::mistake_handler on_hang)
      : limit_{limit}, on_hang_{std::move(on_hang)}, thread_{[this] { watch(); }} {}
  monitor(const monitor&) = delete;
  monitor& operator=(const monitor&) = delete;
  ~monitor() {
    {
      const std::lock_guard lock{guard_};
      is_over_ = true;
    }
    changed_.notify_one();
    thread_.join();
    print_totals();
  }

  void begin(const running_round& round) {
    const std::lock_guard lock{guard_};
    round_ = &round;
  }
  void end(const running_round& round, std::uint64_t hash) {
    const std::lock_guard lock{guard_};
    round_ = nullptr;
    ++rounds_;
    operations_ += round.progress();
    hashes_ = mixed(hashes_ ^ hash);
  }

 private:
  void watch() {
    std::unique_lock lock{guard_};
    std::uint64_t seen = 0;
    auto seen_at = clock::now();
    auto print_at = seen_at + period;
    while (!changed_.wait_for(lock, std::chrono::milliseconds{200}, [this] { return is_over_; })) {
      const auto now = clock::now();
      if (now >= print_at) {
        print_totals();
        print_at += period;
      }
      const std::uint64_t ended = operations_ + rounds_ + (round_ == nullptr ? 0 : round_->progress());
      if (ended != seen || round_ == nullptr) {
        seen = ended;
        seen_at = now;
      } else if (now - seen_at >= limit_) {
        on_hang_(*round_, "hang: nothing has ended for " + std::to_string(limit_.count()) + " s");
      }
    }
  }

  /// Under the lock, or alone.
  void print_totals() const {
    const std::uint64_t operations = operations_ + (round_ == nullptr ? 0 : round_->progress());
    const std::chrono::duration<double> time = clock::now() - start_;
    std::printf("soak: %.1f s, %llu rounds, %llu operations, %.0f operations/s, schedules %016llx\n", time.count(),
                static_cast<unsigned long long>(rounds_), static_cast<unsigned long long>(operations),
                static_cast<double>(operations) / time.count(), static_cast<unsigned long long>(hashes_));
    std::fflush(stdout);
  }

  const clock::time_point start_ = clock::now();
  std::chrono::seconds limit_;
  running_round::mistake_handler on_hang_;
  std::mutex guard_;
  std::condition_variable changed_;
  bool is_over_ = false;
  const running_round* round_ = nullptr;
  std::uint64_t rounds_ = 0;
  std::uint64_t operations_ = 0;
  std::uint64_t hashes_ = 0;  // of all schedules so far
  std::thread thread_;
};

}  // namespace soak

#endif  // TIDEMARK_TESTS_SOAK_MONITOR_HPP
