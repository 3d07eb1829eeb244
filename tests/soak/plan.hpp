// SPDX-License-Identifier: BSL-1.0
//
// The plan of one round: what it tests and every operation of every thread, made before the threads start, from the
// master seed and the number of the round alone.
//
// Every plan ends, whatever the scheduler does, if the fence is right:
//   - a wait without a deadline is for a value that will be signalled, or may be stopped or poisoned, and then is;
//   - signallers and the controller follow a waiter only through operations that are sure to end by then.
#ifndef TIDEMARK_TESTS_SOAK_PLAN_HPP
#define TIDEMARK_TESTS_SOAK_PLAN_HPP

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "subject.hpp"

namespace soak {

enum class action : std::uint8_t {
  signal,        ///< Write the payload, then signal the value.
  signal_next,   ///< The same; the value is 0 where it depends on the other signallers.
  signal_again,  ///< A value that this thread has signalled before.
  look,          ///< Ask everything that doesn't block.
  wait,
  flash,   ///< Raw heap: register and withdraw.
  follow,  ///< Go on when another thread has ended so many of its operations.
  request_stop,
  poison,
};

inline constexpr std::uint32_t no_source = UINT32_MAX;

struct operation {
  action what = action::look;
  wait_form form = wait_form::plain;
  bool by_view = false;
  bool by_queue = false;  ///< Signals: by a queue of an engine.
  wait_way way = wait_way::direct;
  bool standard_token = false;       ///< std::stop_token where there is one.
  std::uint64_t value = 0;           ///< Signalled, awaited or asked for.
  std::uint32_t microseconds = 0;    ///< Of a wait with a deadline; may be `no_limit`.
  std::uint32_t source = no_source;  ///< Of stops.
  std::uint32_t thread = 0;          ///< To follow.
  std::uint32_t count = 0;           ///< Of its operations.
  std::uint32_t cell = 0;            ///< Of the payload.
  std::uint32_t dawdle = 0;          ///< Moments to let pass before.

  bool is_bounded() const { return form != wait_form::plain && microseconds != no_limit; }
};

enum class role : std::uint8_t { signaller, controller, waiter };

struct thread_plan {
  role part = role::waiter;
  std::vector<operation> operations;
};

struct plan {
  std::uint64_t seed = 0;
  std::uint64_t round = 0;
  std::size_t kind = 0;  ///< Of the catalogue.
  std::string subject;
  bool is_watched = false;  ///< The model sees each operation begin and end, under its mutex.
  bool is_counted = false;  ///< Several signallers that only count on; otherwise each value has one signaller.
  bool is_poisoned = false;
  std::uint64_t initial = 0;
  std::vector<std::uint64_t> values;  ///< All that will be signalled, ascending; each has a cell of the payload.
  std::uint32_t stop_sources = 0;
  std::uint32_t signallers = 0;  ///< The first threads.
  std::vector<thread_plan> threads;

  std::uint64_t last() const { return values.back(); }
  std::uint64_t operations() const;
  std::uint64_t hash() const;
  /// What the owner of a value hands over with it.
  std::uint64_t payload(std::size_t cell) const;
};

plan make_plan(std::uint64_t seed, std::uint64_t round, const std::vector<subject_kind>& kinds);

std::string to_string(const operation& one);
/// One line: the round, its hash and what it is about.
std::string title(const plan& round);
/// Every operation of every thread; those that `ended` are marked where it is not empty.
void print(std::ostream& out, const plan& round, const std::vector<std::uint32_t>& ended = {});

}  // namespace soak

#endif  // TIDEMARK_TESTS_SOAK_PLAN_HPP
