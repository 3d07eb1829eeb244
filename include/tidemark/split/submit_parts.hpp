// SPDX-License-Identifier: BSL-1.0
//
// submit_parts() drives a work item through a splitter: paging, part, paging, part. What other work may run between the
// parts is the caller's choice (part_scheduling), and the parts are the same in either case. An executor that can't be
// pre-empted inside a buffer needs the parts of one buffer back to back, with nothing but paging between them. With
// mid-buffer pre-emption each part is like a work item of its own.
//
//   enter  page submit  page submit  page submit  leave                              back_to_back
//   enter  page submit  leave  enter  page submit  leave  enter  page submit  leave  full_packets
//
// Prologue. Paging, and with full packets any other work, may have changed the state of the executor at a cut. So the
// commands behind a cut must set up again what they rely on. An executor may have a prologue(), which does so. It is
// called before each part but the first one, which begins behind no cut:
//
//   page submit  page prologue submit  page prologue submit
//
//   bool prologue(const split_part<texture>& part, tidemark::split_prologue<texture>& its) {
//     for (const auto& [slot, held] : its.carried()) {   what the work item has bound before the cut
//       record_bind(slot, held);
//       its.bound(slot);                                 counts as bound again
//     }
//     return true;
//   }
//
// A slot that stays bound across the cut, and that neither the entries at the cut nor the prologue name, is a binding
// leak: the part relies on a binding that may be gone. Then submit_parts() ends before the part is submitted.
#ifndef TIDEMARK_SPLIT_SUBMIT_PARTS_HPP
#define TIDEMARK_SPLIT_SUBMIT_PARTS_HPP

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "../platform/assert.hpp"
#include "../platform/names.hpp"
#include "split_list.hpp"
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
  refused,        ///< The executor's page(), prologue() or submit() returned false; nothing was called for later parts.
  /// The prologue has not bound a slot again; `leak` says which one. The parts before it were submitted. Without
  /// `leak`: there is no prologue, although begin() was given its slots (asserted).
  invalid,
};

template <>
inline constexpr auto detail::names_of<submit_parts_status> =
    detail::names("submitted", "unsatisfiable", "refused", "invalid");

/// The result of submit_parts().
struct [[nodiscard]] submit_parts_result {
  submit_parts_status status = submit_parts_status::submitted;
  std::optional<unsatisfiable_group> failed{};  ///< Present if and only if the status is `unsatisfiable`.
  std::optional<binding_leak> leak{};           ///< Present only if the status is `invalid`.

  explicit operator bool() const noexcept { return status == submit_parts_status::submitted; }
};

/// What the prologue of a part must bind again, and what it has bound so far. For one thread at a time.
template <split_allocation Allocation>
class split_prologue {
 public:
  using binding = split_binding<Allocation>;

  /// \param carried       what stays bound across the cut, by slot (splitter::carried_over())
  /// \param split_offset  the cut
  split_prologue(std::vector<binding> carried, std::uint64_t split_offset)
      : carried_{std::move(carried)}, is_bound_(carried_.size(), false), split_offset_{split_offset} {}

  /// Returns what stays bound across the cut, by slot. Valid as long as this object.
  [[nodiscard]] std::span<const binding> carried() const noexcept { return carried_; }
  /// Notes that the prologue binds the slot again. Harmless for a slot that is not carried over.
  void bound(slot_id slot) noexcept {
    const auto at = std::lower_bound(carried_.begin(), carried_.end(), slot,
                                     [](const binding& one, slot_id than) { return one.slot < than; });
    if (at != carried_.end() && at->slot == slot) is_bound_[static_cast<std::size_t>(at - carried_.begin())] = true;
  }
  /// Notes that the prologue binds all slots again.
  void bound_all() noexcept { std::fill(is_bound_.begin(), is_bound_.end(), true); }
  /// Returns the first slot that is not bound again; absent if there is none.
  [[nodiscard]] std::optional<binding_leak> leak() const noexcept {
    const auto at = std::find(is_bound_.begin(), is_bound_.end(), false);
    if (at == is_bound_.end()) return {};
    return binding_leak{carried_[static_cast<std::size_t>(at - is_bound_.begin())].slot, split_offset_};
  }

 private:
  std::vector<binding> carried_;
  std::vector<bool> is_bound_;
  std::uint64_t split_offset_;
};

/// What submit_parts() asks of an executor of the parts `Part`.
///
///   enter(), leave()       between them no other work runs on the executor; leave() must not throw
///   page(part) -> bool     carries out part.paging; called before every part, even if there is nothing to do
///   submit(part) -> bool   submits the commands [part.begin, part.end)
///
/// It may also have a prologue, see the head of this file:
///
///   prologue(part, split_prologue&) -> bool   sets up again what the part relies on
///
/// page(), submit() and prologue() return false to refuse the part. A member `prologue` that does not fit does not
/// compile. One that is a template or overloaded, and can't be called so at all, goes unnoticed.
template <class E, class Part>
concept part_executor = requires(E& executor, const Part& part) {
  { executor.page(part) } -> std::convertible_to<bool>;
  { executor.submit(part) } -> std::convertible_to<bool>;
} && requires(E& executor) {
  executor.enter();
  executor.leave();
};

/// A part_executor with a prologue.
template <class E, class Part, class Allocation>
concept prologue_executor =
    part_executor<E, Part> && requires(E& executor, const Part& part, split_prologue<Allocation>& its) {
      { executor.prologue(part, its) } -> std::convertible_to<bool>;
    };

namespace detail {

/// Whether an executor has a prologue(), whatever that takes and returns. One that is a template, or that has several
/// overloads, is seen only if it takes what it should.
template <class E, class Part, class Allocation>
concept names_prologue = requires {
  &E::prologue;
} || requires(E& executor, const Part& part, split_prologue<Allocation>& its) { executor.prologue(part, its); };

}  // namespace detail

/// Drives the work item that `parts` has begun, from its next part on. Returns `submitted`, also if there is no next
/// part; `unsatisfiable` where a group can't be placed; `refused` as soon as the executor refuses a part; `invalid` as
/// soon as a prologue has not bound all that it must. The splitter does not learn of the last two: it plans later parts
/// as if that part had run.
///
/// Asserts that the executor has a prologue if splitter::begin() was given the slots of one: what these slots hold may
/// move at a cut, and then the part would use it where it lay before. Otherwise it returns `invalid` before it submits
/// or plans anything.
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
  using part_type = split_part<Allocation>;
  using executor_type = std::remove_reference_t<Executor>;
  constexpr bool has_prologue = prologue_executor<executor_type, part_type, Allocation>;
  static_assert(has_prologue || !detail::names_prologue<executor_type, part_type, Allocation>,
                "the executor's prologue() does not take the part and the split_prologue, or returns no bool");
  if constexpr (!has_prologue) {
    TIDEMARK_ASSERT(!parts.has_prologue(), "a splitter was given the slots of a prologue, but the executor has none");
    if (parts.has_prologue()) return {submit_parts_status::invalid};
  }
  std::vector<split_binding<Allocation>> carried;
  const auto next_part = [&] {
    if constexpr (has_prologue) carried = parts.carried_over();
    return parts.next();
  };
  part_type part = next_part();
  for (; part; part = next_part()) {
    its_turn.enter();
    if (!executor.page(part)) return {submit_parts_status::refused};
    if constexpr (has_prologue) {
      if (part.number != 0) {
        split_prologue<Allocation> its{std::move(carried), part.begin};
        if (!executor.prologue(part, its)) return {submit_parts_status::refused};
        if (const auto leak = its.leak()) return {submit_parts_status::invalid, {}, leak};
      }
    }
    if (!executor.submit(part)) return {submit_parts_status::refused};
    if (scheduling == part_scheduling::full_packets) its_turn.leave();
  }
  if (part.failed) return {submit_parts_status::unsatisfiable, part.failed};
  return {};
}

}  // namespace tidemark

#endif  // TIDEMARK_SPLIT_SUBMIT_PARTS_HPP
