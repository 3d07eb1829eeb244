// SPDX-License-Identifier: BSL-1.0
//
// One round: the threads of a plan, run on a new fence.
//
// The payload is plain memory that nothing but the fence hands over: each value has a cell, written before the value is
// signalled and read by whoever was told that it is reached.
#ifndef TIDEMARK_TESTS_SOAK_ROUND_HPP
#define TIDEMARK_TESTS_SOAK_ROUND_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "model.hpp"
#include "plan.hpp"
#include "subject.hpp"

namespace soak {

class running_round {
 public:
  /// Called by the thread that sees a mistake, at once; does not return.
  using mistake_handler = std::function<void(const running_round&, const std::string& what)>;

  running_round(const plan& planned, const subject_kind& kind, const mistake_handler& on_mistake);

  /// Until every thread has ended and the quiet fence has been looked at.
  void run();

  const plan& planned() const { return plan_; }
  /// How many operations have ended.
  std::uint64_t progress() const;
  /// The state of the fence and of every thread, and who should have been woken; from any thread, also in a hang.
  void print_state(std::ostream& out) const;
  /// The schedule, with what has ended marked.
  void print_schedule(std::ostream& out) const;

 private:
  struct alignas(tidemark::cache_line) progress_word {
    std::atomic<std::uint32_t> ended{0};
  };
  /// What one thread has seen and done.
  struct history {
    std::uint32_t thread;
    std::uint64_t value;       ///< The greatest that it was shown.
    std::uint64_t raises = 0;  ///< Signals that said that they raised the value, and that the fence counts.
  };

  void run_thread(std::uint32_t thread);
  void perform(const operation& one, history& seen);
  void signal(const operation& one, history& seen);
  void signal_again(const operation& one, history& seen);
  void look(const operation& one, history& seen);
  void wait(const operation& one, const history& seen);
  void check_payload(std::uint64_t target, const history& seen);
  void check_cell(std::size_t cell, const history& seen);
  void check_when_quiet();
  std::vector<std::uint32_t> ended() const;
  std::uint64_t surely_signalled(const std::vector<std::uint32_t>& ended) const;
  bool should_have_returned(const operation& waiting, const std::vector<std::uint32_t>& ended) const;
  void must(const char* wrong, const history& seen) const;

  const plan& plan_;
  const subject_kind& kind_;
  mistake_handler on_mistake_;
  std::unique_ptr<subject> subject_;
  model model_;
  std::vector<std::uint64_t> cells_;
  std::list<stop_source> stops_;
  std::vector<stop_source*> stop_;
  std::vector<progress_word> progress_;
  std::atomic<bool> may_go_{false};
  std::atomic<std::uint64_t> raises_{0};  // added to when a thread ends
};

}  // namespace soak

#endif  // TIDEMARK_TESTS_SOAK_ROUND_HPP
