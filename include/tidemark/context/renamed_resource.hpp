// SPDX-License-Identifier: BSL-1.0
//
// renamed_resource: one resource that several recordings write anew, each for itself. What a recording has written
// becomes current when its list is submitted; until then nobody else sees it.
//
//   renamed_resource texture{uploads, {.bytes = 4096, .max_renames = 8}};
//
//   a recording, on a thread of its own                    the thread that submits
//   auto mapped = recording.map(texture, discard);         texture.current()       what was current before
//   ... write to mapped.memory ...
//   auto bound = recording.bind(texture);
//   recording.run([=] { draw(bound.memory()); });
//   auto finished = recording.finish();        ------->    finished.list.adopt(7);
//                                                          texture.current()       what the recording has written
//                                                          ... execute the list, then signal 7 on `uploads` ...
//
// A recording must discard a resource before it maps it in another way. Its discards take backings from one pool, a
// rename ring; so do those of the thread that submits. The resource itself has its current backing mapped, so that
// nobody takes it. Adoption goes through what a list did with resources, in order:
//
//   a discard   The backing becomes the current one, in use until the list's value. The backing that was current until
//               then is in use until the greatest value that was told of it.
//   a binding   It names the recording's own backing if there is one, and otherwise the one that is current at the
//               adoption. The current backing is then in use until the list's value, too.
//   a copy      A discard and a binding: first what was current is copied to the new backing ("copy on write").
//
// A list that is dropped, or a recording that is removed, gives its backings back, and the current one stays.
//
// Everything that was done with a backing before it was given back or retired happens-before the next discard that
// takes it. Everything that the executor did before it signalled a value happens-before the return of a map that needed
// this value. The hand-over of a list from thread to thread must synchronize, as always.
//
// PRECONDITION. Lists are adopted in the order in which they are submitted. The resource outlives its lists.
#ifndef TIDEMARK_CONTEXT_RENAMED_RESOURCE_HPP
#define TIDEMARK_CONTEXT_RENAMED_RESOURCE_HPP

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "../fence/wait.hpp"  // before the others: then errors about stop tokens are short

#include "../fence/fence.hpp"
#include "../fence/timeline.hpp"
#include "../memory/backing_source.hpp"
#include "../memory/map_mode.hpp"
#include "../memory/rename_ring.hpp"
#include "../memory/tools/attempts.hpp"
#include "../platform/assert.hpp"
#include "../platform/platform.hpp"

namespace tidemark {

/// A resource that recordings rename; see the head of this file.
/// \tparam Timeline  tells which work is finished, as in a rename ring
/// \tparam Source    makes and destroys the backings. Several threads call it at the same time
template <timeline Timeline = progress_fence_view, backing_source Source = heap_source>
class renamed_resource {
  using ring_type = rename_ring<Timeline, Source, writers::several>;

 public:
  using platform = timeline_platform<Timeline>;
  using backing = typename Source::backing;
  /// A backing that was taken, or why there is none: see its `status` and `memory`.
  using taken = typename ring_type::mapping;

  /// What a map returns. There is nothing to give back.
  struct [[nodiscard]] mapping {
    map_status status = map_status::invalid;
    backing memory{};  ///< The backing, as its source made it.

    explicit operator bool() const noexcept { return status == map_status::mapped; }
  };

  /// Makes the first backing. If the source refuses, the resource has none until a discard or adopt() makes one
  /// current.
  /// \param finished  is copied if it is copyable (a view); otherwise it must outlive the resource
  /// \param options   `max_renames` counts the current backing, too: with 1, no recording can ever discard
  renamed_resource(const Timeline& finished, const rename_options& options, Source source = {}) noexcept
      : finished_{finished},
        ring_{finished, options, std::move(source)},
        current_{ring_.try_map(map_mode::discard | map_mode::write)} {}
  /// A timeline that can't be copied would be gone.
  renamed_resource(const Timeline&& gone, const rename_options& options, Source source = {})
    requires(!std::copyable<Timeline>)
  = delete;
  renamed_resource(const renamed_resource&) = delete;
  renamed_resource& operator=(const renamed_resource&) = delete;
  /// Blocks as the destructor of a rename ring does. No other call may be under way, and no list may have a backing.
  ~renamed_resource() { static_cast<void>(ring_.retire(current_, until_)); }

  // ---- the thread that submits: one at a time ----------------------------------------------------------------------

  /// Returns the backing for work that is submitted now; if there is none, one that converts to false. Progress:
  /// wait-free.
  [[nodiscard]] backing current() const noexcept { return current_.memory; }

  /// Work that was submitted uses the current backing until the timeline reaches `value`. Of several values the
  /// greatest counts.
  /// \param value  less than 2^64 - 2^33 - 1. Asserts that; any other value changes nothing. Progress: wait-free.
  void used_until(std::uint64_t value) noexcept {
    if (keeps(value)) until_ = (std::max)(until_, value);
  }

  /// Maps the resource for this thread, which sees nothing of recordings that were not adopted. A discard returns the
  /// current backing if nothing uses it; otherwise it makes another one current, which no_overwrite maps return from
  /// then on. A read or a write is `busy` until the timeline has reached every value that adopt() and used_until() were
  /// given for the current backing. Returns the mapping, or `busy` or `invalid`; without a current backing also
  /// `no_space` or `no_memory`. Unless it maps, nothing is changed. Progress: as rename_ring::try_map().
  mapping try_map(map_mode mode) noexcept {
    std::uint64_t target = 0;
    if (!needs_another(mode)) return attempt(mode, target);
    const taken made = ring_.try_map(mode);
    if (made) return rename(made);
    return {current_ ? map_status::busy : made.status, {}};  // what is current has a value
  }
  /// Maps. While it is busy it blocks, as rename_ring::map() does. A discard takes the backing that is free first, be
  /// it the current one or another: recordings may hold all others for as long as they like. With map_mode::do_not_wait
  /// it is try_map().
  template <stop_token_like Token = never_stops>
  mapping map(map_mode mode, Token token = {}) noexcept {
    if (needs_another(mode)) return map_another(std::move(token));
    return map_within(mode, std::move(token));
  }
  /// The same for `timeout` at most, and then returns `timeout`.
  template <class Rep, class Period, stop_token_like Token = never_stops>
  mapping map_for(map_mode mode, const std::chrono::duration<Rep, Period>& timeout, Token token = {}) noexcept {
    if (needs_another(mode)) return map_another(timeout, std::move(token));
    return map_within(mode, timeout, std::move(token));
  }
  /// The same until a point of the steady or the system clock at most, and then returns `timeout`.
  template <class Clock, class Duration, stop_token_like Token = never_stops>
  mapping map_until(map_mode mode, const std::chrono::time_point<Clock, Duration>& at, Token token = {}) noexcept {
    if (needs_another(mode)) return map_another(at, std::move(token));
    return map_within(mode, at, std::move(token));
  }

  /// Makes a backing current that a recording has taken. The one that was current is in use until its greatest value.
  /// \param made    of take(), and neither adopted nor given back before
  /// \param serial  the value that the end of the list signals; the backing is in use until then. Asserts that it is
  ///                less than 2^64 - 2^33 - 1. Otherwise the backing becomes current all the same, and is in use as
  ///                long as the one before
  /// Progress: as rename_ring::retire().
  void adopt(const taken& made, std::uint64_t serial) noexcept { replace(made, keeps(serial) ? serial : until_); }

  // ---- any thread --------------------------------------------------------------------------------------------------

  /// Takes a backing for a recording, which alone has it until it is adopted or given back. Its contents are undefined.
  /// command_context does this in map(). Returns as rename_ring::try_map() with a discard. Progress: as that.
  taken try_take() noexcept { return ring_.try_map(map_mode::discard); }
  /// The same, and blocks while there is none, as rename_ring::map() does.
  template <stop_token_like Token = never_stops>
  taken take(Token token = {}) noexcept {
    return ring_.map(map_mode::discard, std::move(token));
  }
  /// The same for `timeout` at most, and then returns `timeout`.
  template <class Rep, class Period, stop_token_like Token = never_stops>
  taken take_for(const std::chrono::duration<Rep, Period>& timeout, Token token = {}) noexcept {
    return ring_.map_for(map_mode::discard, timeout, std::move(token));
  }
  /// The same until a point of the steady or the system clock at most, and then returns `timeout`.
  template <class Clock, class Duration, stop_token_like Token = never_stops>
  taken take_until(const std::chrono::time_point<Clock, Duration>& at, Token token = {}) noexcept {
    return ring_.map_until(map_mode::discard, at, std::move(token));
  }
  /// Gives a backing back that was not adopted and that no submitted work uses. Returns false, and changes nothing, if
  /// it was given back before. Progress: as rename_ring::unmap().
  bool give_back(const taken& made) noexcept { return ring_.unmap(made); }

  /// Destroys idle backings while there are more than `keep` backings of any kind. Spares the current one and the one
  /// that was taken last. Returns how many it has destroyed. Progress: as rename_ring::trim().
  std::size_t trim(std::size_t keep = 1) noexcept { return ring_.trim(keep); }
  /// Returns whether the timeline is lost: then no list that uses the resource will ever be over. Progress: as the
  /// timeline's is_poisoned(), or current_value() where it has none.
  [[nodiscard]] bool is_lost() const noexcept { return finished_.is_lost(); }
  /// Returns how many backings there are, as rename_ring::backings() does. Progress: wait-free.
  [[nodiscard]] std::size_t backings() const noexcept { return ring_.backings(); }

 private:
  static bool keeps(std::uint64_t value) noexcept {
    TIDEMARK_ASSERT(ring_type::can_keep(value), "a renamed resource keeps values less than 2^64 - 2^33 - 1");
    return ring_type::can_keep(value);
  }

  bool needs_another(map_mode mode) const noexcept {
    return detail::is_discard(mode) && (!current_ || !finished_.is_reached(until_));
  }
  mapping rename(const taken& made) noexcept {
    if (!made) return {made.status, {}};
    replace(made, 0);
    return {map_status::mapped, made.memory};
  }
  /// Waits for what is current, too: others may have everything else for as long as they like.
  template <class... Limits>
  mapping map_another(const Limits&... limits) noexcept {
    const taken made = ring_.map_beside(current_, until_, limits...);
    return !made || made.renamed ? rename(made) : mapping{map_status::mapped, made.memory};
  }
  void replace(const taken& made, std::uint64_t until) noexcept {
    static_cast<void>(ring_.retire(current_, until_));  // false: there was none
    current_ = made;
    until_ = until;
  }

  template <class... Limits>
  mapping map_within(map_mode mode, const Limits&... limits) noexcept {
    const auto attempt_once = [&](std::uint64_t& target) { return attempt(mode, target); };
    if (detail::has_mode(mode, map_mode::do_not_wait)) return try_map(mode);
    return detail::retry_while_busy<platform>(finished_, attempt_once, limits...);
  }
  /// Maps the current backing. Where it is busy, `target` is the value to wait for.
  mapping attempt(map_mode mode, std::uint64_t& target) noexcept {
    if (!detail::is_valid_mode(mode)) return {map_status::invalid, {}};
    if (!current_) return {map_status::no_memory, {}};
    if (!detail::is_no_overwrite(mode) && !finished_.is_reached(until_)) {
      target = until_;
      return {map_status::busy, {}};
    }
    return {map_status::mapped, current_.memory};
  }

  const detail::follower<Timeline> finished_;
  ring_type ring_;
  taken current_;
  std::uint64_t until_ = 0;  // the current backing is in use until then
};
template <class Timeline, class Source = heap_source>
renamed_resource(const Timeline&, const rename_options&, Source = {}) -> renamed_resource<Timeline, Source>;

}  // namespace tidemark

#endif  // TIDEMARK_CONTEXT_RENAMED_RESOURCE_HPP
