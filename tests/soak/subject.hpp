// SPDX-License-Identifier: BSL-1.0
//
// What a round tests, behind virtual functions, so that the machinery is compiled once and each of the many kinds of
// fence adds a thin adapter. A virtual call adds no barrier.
#ifndef TIDEMARK_TESTS_SOAK_SUBJECT_HPP
#define TIDEMARK_TESTS_SOAK_SUBJECT_HPP

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>
#include <version>

#if defined(__cpp_lib_jthread)
#include <stop_token>
#endif

#include <tidemark/fence/fence.hpp>

#include "../support/manual_stop.hpp"

namespace soak {

/// Both kinds of stop source, triggered together.
struct stop_source {
  testing::manual_stop manual;
#if defined(__cpp_lib_jthread)
  std::stop_source standard;
#endif

  void request() {
    manual.request();
#if defined(__cpp_lib_jthread)
    standard.request_stop();
#endif
  }
};

enum class wait_form : std::uint8_t { plain, timed, until };
enum class wait_way : std::uint8_t {
  direct,
  in_list,    ///< The timeline is named twice, as in a wait for several timelines.
  on_loop,    ///< A coroutine waits, on a loop that the thread runs.
  on_engine,  ///< A queue of an engine waits, and the thread for that queue.
};
inline constexpr std::uint32_t no_limit = UINT32_MAX;

struct wait_request {
  std::uint64_t target = 0;
  wait_form form = wait_form::plain;
  std::uint32_t microseconds = 0;
  std::chrono::steady_clock::time_point at{};
  stop_source* stop = nullptr;
  bool standard_token = false;
  bool by_view = false;
  wait_way way = wait_way::direct;
};

class subject {
 public:
  subject() = default;
  subject(const subject&) = delete;
  subject& operator=(const subject&) = delete;
  virtual ~subject() = default;

  /// What the fence says; always true where it does not say.
  virtual bool signal(std::uint64_t value) = 0;
  /// The same by a queue of an engine.
  virtual bool signal_by_queue(std::uint64_t value) { return signal(value); }
  virtual std::uint64_t signal_next() = 0;
  virtual void poison() {}

  virtual tidemark::wait_status wait(const wait_request& request) = 0;
  virtual void flash(std::uint64_t) {}

  virtual std::uint64_t current_value(bool by_view) const = 0;
  virtual bool is_reached(std::uint64_t target, bool by_view) const = 0;
  virtual bool is_poisoned(bool by_view) const = 0;
  virtual std::uint64_t monitored_value(bool by_view) const = 0;
  virtual std::uint64_t notify_count() const { return 0; }
  virtual bool is_pinned() const = 0;
  /// Whether a signal beside the poison may have got lost, so that signal_next() returns a value twice.
  virtual bool may_have_lost_a_signal() const { return false; }

  /// What is wrong with it by its own account, or nullptr; and what is wrong once it is quiet.
  virtual const char* complaint() const { return nullptr; }
  virtual const char* complaint_when_quiet() const { return nullptr; }
};

struct subject_kind {
  std::string name;
  bool one_signaller = false;
  bool can_be_poisoned = true;
  bool is_heap = false;
  bool has_statistics = false;
  std::unique_ptr<subject> (*make)(std::uint64_t initial) = nullptr;
};

// The catalogue; plans name kinds by their place in it.
void add_fences(std::vector<subject_kind>& kinds);
void add_progress_fences(std::vector<subject_kind>& kinds);
void add_heaps(std::vector<subject_kind>& kinds);

}  // namespace soak

#endif  // TIDEMARK_TESTS_SOAK_SUBJECT_HPP
