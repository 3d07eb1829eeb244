// SPDX-License-Identifier: BSL-1.0
//
// submit_parts() drives a work item through a splitter: paging, part, paging, part. What other work may run between the
// parts is the caller's choice (part_scheduling), and the parts are the same in either case. An executor that can't be
// pre-empted inside a buffer needs the parts of one buffer back to back, with nothing but paging between them. With
// mid-buffer pre-emption each part is like a work item of its own.
//
//   enter  page submit  page submit  page submit  leave                              back_to_back
//   enter  page submit  leave  enter  page submit  leave  enter  page submit  leave  full_packets
#ifndef TIDEMARK_SPLIT_SUBMIT_PARTS_HPP
#define TIDEMARK_SPLIT_SUBMIT_PARTS_HPP

#include <concepts>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "../platform/names.hpp"
#include "splitter.hpp"

namespace tidemark {

/// What other work may run between two parts of a work item.
enum class part_scheduling : std::uint8_t {
  back_to_back,  ///< None but paging: for executors without mid-buffer pre-emption.
  full_packets,  ///< Any: each part is like a work item of its own.
};

/// How submit_parts() ended.
enum class submit_parts_status : std::uint8_t {
  submitted,      ///< The executor has accepted every part.
  unsatisfiable,  ///< A group can't be placed; `failed` says which one. The parts before it were submitted.
  refused,        ///< The executor's page() or submit() returned false; nothing was called for later parts.
};

template <>
inline constexpr auto detail::names_of<submit_parts_status> = detail::names("submitted", "unsatisfiable", "refused");

/// The result of submit_parts().
struct [[nodiscard]] submit_parts_result {
  submit_parts_status status = submit_parts_status::submitted;
  std::optional<unsatisfiable_group> failed{};  ///< Present if and only if the status is `unsatisfiable`.

  explicit operator bool() const noexcept { return status == submit_parts_status::submitted; }
};

/// What submit_parts() asks of an executor of the parts `Part`.
///
///   enter(), leave()       between them no other work runs on the executor; leave() must not throw
///   page(part) -> bool     carries out part.paging; called before every part, even if there is nothing to do
///   submit(part) -> bool   submits the commands [part.begin, part.end)
///
/// page() and submit() return false to refuse the part.
template <class E, class Part>
concept part_executor = requires(E& executor, const Part& part) {
  { executor.page(part) } -> std::convertible_to<bool>;
  { executor.submit(part) } -> std::convertible_to<bool>;
} && requires(E& executor) {
  executor.enter();
  executor.leave();
};

/// Drives the work item that `parts` has begun, from its next part on. Returns `submitted`, also if there is no next
/// part; `unsatisfiable` where a group can't be placed; `refused` as soon as the executor refuses a part. The splitter
/// does not learn of a refusal: it plans later parts as if the refused part had run.
///
/// leave() is called after every enter() that has returned, also when an exception ends the call. Exceptions of the
/// executor and of the splitter come out. Calls the executor on this thread; blocks as long as the executor does. One
/// thread at a time, the one that may use the splitter.
template <class Allocation, class Placement, class Hash, class Executor>
  requires part_executor<std::remove_reference_t<Executor>, split_part<Allocation>>
submit_parts_result submit_parts(splitter<Allocation, Placement, Hash>& parts, part_scheduling scheduling,
                                 Executor&& executor) {
  struct turn {
    Executor& executor;
    bool is_inside = false;
    void enter() {
      if (!is_inside) executor.enter();
      is_inside = true;
    }
    void leave() {
      if (std::exchange(is_inside, false)) executor.leave();
    }
    ~turn() { leave(); }
  } its_turn{executor};
  split_part<Allocation> part = parts.next();
  for (; part; part = parts.next()) {
    its_turn.enter();
    if (!executor.page(part) || !executor.submit(part)) return {submit_parts_status::refused};
    if (scheduling == part_scheduling::full_packets) its_turn.leave();
  }
  if (part.failed) return {submit_parts_status::unsatisfiable, part.failed};
  return {};
}

}  // namespace tidemark

#endif  // TIDEMARK_SPLIT_SUBMIT_PARTS_HPP
