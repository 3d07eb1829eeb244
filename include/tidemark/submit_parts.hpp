// SPDX-License-Identifier: BSL-1.0
//
// submit_parts() drives a work item through a splitter: paging, part, paging, part. What may run in between is the
// scheduler's business, and independent of the splitting (C3, C4): an executor that can't be interrupted inside a buffer
// needs the parts of one back to back, with nothing but paging between them (C5); where it can be, each part is like a work
// item of its own (C7).
//
//   enter  page submit  page submit  page submit  leave                              back_to_back
//   enter  page submit  leave  enter  page submit  leave  enter  page submit  leave  full_packets
//
// One thread at a time, that of the splitter.
#ifndef TIDEMARK_SUBMIT_PARTS_HPP
#define TIDEMARK_SUBMIT_PARTS_HPP

#include <cstdint>
#include <utility>

#include "splitter.hpp"

namespace tidemark {

/// What may run between two parts of a work item (C3, C5, C7).
enum class part_scheduling : std::uint8_t {
  back_to_back,  ///< Nothing but paging: for executors without mid-buffer pre-emption.
  full_packets,  ///< Others' work: each part is like a work item of its own.
};

enum class split_outcome : std::uint8_t { finished, unsatisfiable, stopped };

/// Drives a work item that was begun, part by part. The client's
///
///   enter(), leave()     nobody else's work runs in between; leave() does not throw
///   page(part) -> bool   carries out part.paging; called before every part, also with nothing to do (C6)
///   submit(part) -> bool
///
/// false ends it: `stopped`. The splitter goes on as if the part had run.
template <class Splitter, class Client>
[[nodiscard]] split_outcome submit_parts(Splitter& parts, part_scheduling scheduling, Client&& client) {
  struct turn {
    Client& client;
    bool is_inside = false;
    void enter() {
      if (!is_inside) client.enter();
      is_inside = true;
    }
    void leave() {
      if (std::exchange(is_inside, false)) client.leave();
    }
    ~turn() { leave(); }
  } its_turn{client};
  while (const auto part = parts.next()) {
    its_turn.enter();
    if (!client.page(*part) || !client.submit(*part)) return split_outcome::stopped;
    if (scheduling == part_scheduling::full_packets) its_turn.leave();
  }
  return parts.failure() ? split_outcome::unsatisfiable : split_outcome::finished;
}

}  // namespace tidemark

#endif  // TIDEMARK_SUBMIT_PARTS_HPP
