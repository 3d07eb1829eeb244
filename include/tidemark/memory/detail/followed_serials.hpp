// SPDX-License-Identifier: BSL-1.0
//
// followed_serials: how a retire queue keeps and asks what it follows. A queue, which has last_queued(), is kept by its
// address; a timeline as every block keeps it. wrong_serial_source: the error for what can't be followed.
#ifndef TIDEMARK_MEMORY_DETAIL_FOLLOWED_SERIALS_HPP
#define TIDEMARK_MEMORY_DETAIL_FOLLOWED_SERIALS_HPP

#include <concepts>
#include <cstdint>

#include "../../fence/timeline.hpp"
#include "../../platform/platform.hpp"

namespace tidemark::detail {

template <class Source>
class followed_serials {
 public:
  /// Whether wait() takes a deadline and a token.
  static constexpr bool has_limits = requires(const Source& queue, std::uint64_t serial, deadline until) {
    { queue.wait_finished_until(serial, until) } -> std::same_as<wait_status>;
  };

  explicit followed_serials(const Source& queue) noexcept : queue_{&queue} {}

  std::uint64_t last_queued() const noexcept { return queue_->last_queued(); }
  bool is_finished(std::uint64_t serial) const noexcept { return queue_->is_finished(serial); }

  template <platform Platform, class Token>
  wait_status wait(std::uint64_t serial, deadline until, const Token& token) const noexcept {
    if constexpr (!has_limits) {
      return queue_->wait_finished(serial);
    } else {
      if constexpr (std::same_as<Token, never_stops>) {
        if (until == no_deadline) return queue_->wait_finished(serial);
      }
      return wait_on<Platform>(*this, serial, until, token);
    }
  }

  // What wait_on() asks of a timeline.
  wait_status wait_until(std::uint64_t serial, deadline until) const noexcept {
    return queue_->wait_finished_until(serial, until);
  }
  template <class Token>
  wait_status wait_until(std::uint64_t serial, deadline until, const Token& token) const noexcept
    requires requires(const Source& queue) { queue.wait_finished_until(serial, until, token); }
  {
    return queue_->wait_finished_until(serial, until, token);
  }

 private:
  const Source* queue_;
};

template <timeline Source>
  requires(!requires(const Source& queue) { queue.last_queued(); })
class followed_serials<Source> {
 public:
  static constexpr bool has_limits = true;

  explicit followed_serials(const Source& followed) noexcept : timeline_{followed} {}

  bool is_finished(std::uint64_t serial) const noexcept { return timeline_.is_reached(serial); }

  template <platform, class Token>
  wait_status wait(std::uint64_t serial, deadline until, const Token& token) const noexcept {
    return timeline_.wait(serial, until, token);
  }

 private:
  const follower<Source> timeline_;
};

/// Placeholder for a type that a retire queue can't follow, so that the compiler reports only what it lacks.
template <class Wrong>
struct wrong_serial_source {
  wrong_serial_source(const Wrong&) noexcept {
    static_assert(timeline<Wrong>, "this type is neither a tidemark::submission_queue nor a tidemark::timeline");
  }
  std::uint64_t current_value() const noexcept;
  wait_status wait_until(std::uint64_t, deadline) const noexcept;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_MEMORY_DETAIL_FOLLOWED_SERIALS_HPP
