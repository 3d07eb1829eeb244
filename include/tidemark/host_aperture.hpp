// SPDX-License-Identifier: BSL-1.0
//
// host_aperture: the window through which the processor sees memory that it can't address: some pages, each of which can
// be pointed at any page of that memory.
//
//   host_aperture window{256, uploads.view()};                 256 pages
//   auto view = window.map(pages_of_texture);                   page i of the view shows page pages_of_texture[i]
//   window.for_each(view, [](auto page) { ... });               where each is: page.window, page.source
//   window.unmap(view, serial);                                 the pages come back when the fence has reached that value
//
//   view  -->  page 7  -->  page 2  -->  page 5                 any pages that are free, whatever lies between (B31)
//              source 40    source 41    source 42
//
// Each page of the window has one word: a value, which is free once the fence has reached it, or `open` while it is mapped.
// Who maps counts its pages first, so that never more are mapped than there are (B32), and then takes free pages one by
// one, each by an exchange from a value that is reached. What was counted can be had at the latest when all values are
// reached; until then the map says `in_use`, or waits for the value that comes first.
//
// Who writes: the word, who takes the page and who has it; what the page shows, which one follows, and the number of the view,
// who has it. The number grows with each that takes the page: so it tells a view from those before and after it.
//
// What was done through a page before it was unmapped, and by the executor before it signalled, happens before the next
// map of that page.
//
// Not promised: which pages of the window a view gets, or that they lie side by side. The window itself does not move any
// memory: mapped_view.hpp does that with pages of the operating system.
#ifndef TIDEMARK_HOST_APERTURE_HPP
#define TIDEMARK_HOST_APERTURE_HPP

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>

#include "detail/assert.hpp"
#include "detail/retrying.hpp"
#include "fence.hpp"
#include "platform.hpp"

namespace tidemark {

enum class aperture_status : std::uint8_t {
  mapped,
  in_use,  ///< Not now: pages are free of mappings, and still in use. From the form that does not wait, or at the deadline.
  no_space,  ///< Not now, and there is nothing to wait for: so many pages are not free of mappings (B32).
  invalid,   ///< No pages, or another number of them than the range said.
  stopped,   ///< The stop token was triggered first.
};

/// Some pages of a window, or why there are none.
struct [[nodiscard]] aperture_view {
  aperture_status status = aperture_status::invalid;
  std::size_t first = 0;  ///< Page of the window that shows the first page.
  std::size_t pages = 0;
  std::uint64_t number = 0;  ///< No other view that begins with that page has it.

  explicit operator bool() const noexcept { return status == aperture_status::mapped; }
};

/// One page of a view.
struct aperture_page {
  std::size_t index = 0;     ///< In the view.
  std::size_t window = 0;    ///< In the window.
  std::uint64_t source = 0;  ///< Page that it shows.
};

namespace detail {

/// Apart, since a hook of the user's need not be constexpr.
inline std::uint64_t pages_without_bytes() noexcept {
  TIDEMARK_ASSERT(false, "a page has some bytes");
  return UINT64_MAX;
}

}  // namespace detail

/// How many pages of a window a view of so many bytes takes; of an allocation that each of several linked adapters has for
/// itself, all of them (B33). 2^64 - 1, more than any window has, where there would be more. A page of no bytes is misuse, and
/// 2^64 - 1 too. Pure.
[[nodiscard]] constexpr std::uint64_t aperture_pages(std::uint64_t bytes, std::uint64_t page_bytes,
                                                     std::uint64_t instances = 1) noexcept {
  if (page_bytes == 0) return detail::pages_without_bytes();
  const std::uint64_t each = bytes / page_bytes + (bytes % page_bytes != 0 ? 1 : 0);
  return each != 0 && instances > UINT64_MAX / each ? UINT64_MAX : each * instances;
}

/// \tparam View  of a fence that tells which work is finished; once it is poisoned, nothing is in use any more
template <class View = progress_fence_view>
class host_aperture {
 public:
  using platform = typename View::platform;

  /// \param pages     of the window
  /// \param reserved  the first ones, which are not given out (B33)
  host_aperture(std::size_t pages, View finished, std::size_t reserved = 0)
      : finished_{finished},
        pages_{pages},
        reserved_{std::min(reserved, pages)},
        slots_{std::make_unique<slot[]>(pages)} {
    TIDEMARK_ASSERT(pages > reserved, "a host aperture has some pages that are not reserved");
  }
  host_aperture(const host_aperture&) = delete;
  host_aperture& operator=(const host_aperture&) = delete;

  /// A view of the given pages, in their order; never waits. What is refused changes nothing. Progress: lock-free, O(pages of
  /// the window). Thread-safe. (B30-B32)
  /// \param sources  a sized range of page numbers, of anything; `invalid` if it yields another number of them than it says
  template <std::ranges::sized_range Sources>
  aperture_view try_map(const Sources& sources) noexcept {
    std::uint64_t awaited = 0;
    return attempt(sources, awaited);
  }

  /// The same, waiting for pages that are in use: for ever, or until `limits`, which are a duration, or a point of the steady
  /// or the system clock, or nothing; then a stop token, or nothing. Blocking, parked. Thread-safe.
  template <std::ranges::sized_range Sources, class... Limits>
  aperture_view map(const Sources& sources, const Limits&... limits) noexcept {
    const auto attempt_once = [&](std::uint64_t& awaited) { return attempt(sources, awaited); };
    return detail::retry_while<aperture_status::in_use, aperture_status::stopped>(finished_, attempt_once, limits...);
  }

  /// Calls `body(aperture_page)` for each page of a view, in its order. By who has the view, also after unmap() until the fence
  /// has reached its value; a view whose pages were given out again is misuse, and has none. Progress: wait-free but for `body`.
  template <class Body>
  void for_each(const aperture_view& view, const Body& body) const {
    if (view.pages == 0) return;
    const bool is_there = shows_still(view);
    TIDEMARK_ASSERT(is_there, "a view was used after its pages were given out again");
    if (!is_there) return;
    std::size_t window = view.first;
    for (std::size_t index = 0; index < view.pages; ++index) {
      const slot& one = slots_[window];
      body(aperture_page{index, window, one.source.load()});
      window = one.next.load();
    }
  }

  /// Ends the view: its pages are in use until the fence has reached `finished`, 0 for not at all; 2^64 - 1 is misuse, and counts
  /// as the value before. Once for each view: a second time, also when its pages were given out again, is misuse and changes
  /// nothing, whoever comes second. Progress: wait-free, O(pages). Thread-safe.
  void unmap(const aperture_view& view, std::uint64_t finished) noexcept {
    TIDEMARK_ASSERT(view.status == aperture_status::mapped, "what was refused can't be unmapped");
    TIDEMARK_ASSERT(finished < open, "a host aperture knows values less than the greatest");
    if (view.status != aperture_status::mapped) return;
    const bool was_mapped = end_view(view);
    TIDEMARK_ASSERT(was_mapped, "a view was unmapped twice");
    if (!was_mapped) return;
    const std::uint64_t until = std::min(finished, open - 1);
    give_back(view.first, view.pages, [until](const slot&) { return until; });
    // (J6): release, pairs with (J5): who counts on these pages finds them.
    mapped_.fetch_sub(view.pages, std::memory_order_release);
  }

  /// Pages that can be mapped at a time.
  [[nodiscard]] std::size_t capacity() const noexcept { return pages_ - reserved_; }
  /// Pages that have no mapping, in use or not. For looking only. Progress: wait-free.
  [[nodiscard]] std::size_t unmapped_pages() const noexcept {
    // (J4): relaxed alone, for looking.
    return capacity() - mapped_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint64_t open = UINT64_MAX;

  struct slot {
    typename platform::template atomic<std::uint64_t> word;    // in use until then; or open
    typename platform::template atomic<std::uint64_t> number;  // odd: of the view that begins here; then one more
    typename platform::template var<std::uint64_t> before;     // while it is taken: what the word was
    typename platform::template var<std::uint64_t> source;
    typename platform::template var<std::size_t> next;  // of the same view
  };

  /// `awaited`: the value that comes first of those that are waited for.
  template <class Sources>
  aperture_view attempt(const Sources& sources, std::uint64_t& awaited) noexcept {
    const std::size_t pages = std::ranges::size(sources);
    if (pages == 0) return {aperture_status::invalid};
    if (!count(pages)) return {aperture_status::no_space};
    const std::size_t first = take_pages(pages, awaited);
    if (first == none) return {aperture_status::in_use};
    if (!show(first, pages, sources)) {
      take_back(first, pages, pages);
      return {aperture_status::invalid};
    }
    return {aperture_status::mapped, first, pages, begin_view(first)};
  }

  /// False if there is another number of sources.
  template <class Sources>
  bool show(std::size_t first, std::size_t pages, const Sources& sources) noexcept {
    std::size_t window = first;
    std::size_t left = pages;
    for (const auto& source : sources) {
      if (left == 0) return false;
      slots_[window].source.store(static_cast<std::uint64_t>(source));
      if (--left > 0) window = slots_[window].next.load();
    }
    return left == 0;
  }

  /// Its number.
  std::uint64_t begin_view(std::size_t first) noexcept { return renumber(slots_[first], 1); }
  /// Who has taken the page has what the number was.
  static std::uint64_t renumber(slot& one, std::uint64_t more) noexcept {
    // (J9): relaxed alone: it tells views apart and hands nothing over.
    const std::uint64_t fresh = one.number.load(std::memory_order_relaxed) + more;
    // (J12): relaxed alone, as (J9).
    one.number.store(fresh, std::memory_order_relaxed);
    return fresh;
  }
  bool shows_still(const aperture_view& view) const noexcept {
    if (view.first >= pages_) return false;
    // (J10): relaxed alone, for noticing misuse: who has the view has what it has seen of it.
    const std::uint64_t number = slots_[view.first].number.load(std::memory_order_relaxed);
    return number - view.number <= 1;
  }
  /// False if it was ended before. Of several who try, one ends it.
  bool end_view(const aperture_view& view) noexcept {
    if (view.first >= pages_ || view.number % 2 == 0) return false;
    std::uint64_t expected = view.number;
    // (J11): relaxed alone, as (J9): the pages go with (J3).
    return slots_[view.first].number.compare_exchange_strong(expected, view.number + 1, std::memory_order_relaxed,
                                                             std::memory_order_relaxed);
  }

  bool count(std::size_t pages) noexcept {
    // (J8): relaxed, (J5) does the rest.
    std::size_t seen = mapped_.load(std::memory_order_relaxed);
    do {
      if (pages > capacity() - seen) return false;
      // (J5): acquire, pairs with (J6) and (J7): pages that are counted as unmapped are found to be so. Not stronger: a count
      // hands nothing over.
    } while (!mapped_.compare_exchange_weak(seen, seen + pages, std::memory_order_acquire, std::memory_order_relaxed));
    return true;
  }

  static constexpr std::size_t none = SIZE_MAX;

  /// Takes that many free pages, which are counted; or none, with what to wait for. Only pages in use are missing: everybody
  /// looks from the beginning and takes what is free, so what comes free behind somebody's back is taken by those who
  /// count on it, and what lies ahead is left to him.
  std::size_t take_pages(std::size_t pages, std::uint64_t& awaited) noexcept {
    chain taken;
    bool is_awaited = false;
    for (std::size_t window = reserved_; window < pages_; ++window) {
      slot& one = slots_[window];
      // (J1): relaxed: a guess, which (J2) makes sure of.
      std::uint64_t before = one.word.load(std::memory_order_relaxed);
      if (before == open) continue;
      if (!finished_.is_reached(before)) {
        awaited = is_awaited ? std::min(awaited, before) : before;
        is_awaited = true;
        continue;
      }
      // (J2): acquire, pairs with (J3): what was done through the page.
      if (!one.word.compare_exchange_strong(before, open, std::memory_order_acquire, std::memory_order_relaxed))
        continue;
      one.before.store(before);
      renumber(one, 2);  // what it showed is over
      append(taken, window);
      if (taken.pages == pages) return taken.first;
    }
    take_back(taken.first, taken.pages, pages);
    return none;
  }

  struct chain {
    std::size_t first = none;
    std::size_t last = none;
    std::size_t pages = 0;
  };
  void append(chain& to, std::size_t window) noexcept {
    to.pages == 0 ? void(to.first = window) : slots_[to.last].next.store(window);
    to.last = window;
    ++to.pages;
  }

  /// Pages of which no view was made: those that were taken come back as they were, and so many are counted no more.
  void take_back(std::size_t first, std::size_t taken, std::size_t counted) noexcept {
    give_back(first, taken, [](const slot& one) { return one.before.load(); });
    // (J7): release, pairs with (J5), as (J6).
    mapped_.fetch_sub(counted, std::memory_order_release);
  }

  template <class Until>
  void give_back(std::size_t first, std::size_t pages, const Until& until) noexcept {
    std::size_t window = first;
    for (std::size_t left = pages; left > 0; --left) {
      slot& one = slots_[window];
      const std::uint64_t value = until(one);
      if (left > 1) window = one.next.load();
      // (J3): release, pairs with (J2). From here on it is somebody else's.
      one.word.store(value, std::memory_order_release);
    }
  }

  const View finished_;
  const std::size_t pages_;
  const std::size_t reserved_;
  const std::unique_ptr<slot[]> slots_;
  alignas(cache_line) typename platform::template atomic<std::size_t> mapped_;
};

}  // namespace tidemark

#endif  // TIDEMARK_HOST_APERTURE_HPP
