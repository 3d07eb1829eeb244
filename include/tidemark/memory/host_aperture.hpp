// SPDX-License-Identifier: BSL-1.0
//
// host_aperture: the window through which the processor sees memory that it can't address: some pages, each of which
// can be pointed at any page of that memory.
//
//   host_aperture window{uploads, {.pages = 256}};
//   auto view = window.map(pages_of_texture);             page i of the view shows page pages_of_texture[i]
//   window.for_each(view, [](auto page) { ... });         where each is: page.window, page.source
//   window.retire(view, serial);                          the pages come back when the timeline reaches that value
//
//   view  -->  page 7  -->  page 2  -->  page 5           any pages that are free, whatever lies between
//              source 40    source 41    source 42
//
// Each page of the window has one word: a value, and the page is free once the timeline has reached it; or `open` while
// the page is mapped. A map counts its pages first, so that never more are mapped than there are. Then it takes free
// pages one by one, each by an exchange from a value that is reached. So once all values are reached, it finds the
// pages that it counted. Until then the map is `busy`, or waits for the value that comes first. It also waits for pages
// that other threads have (fence/event_count.hpp).
//
// A map looks for pages from the first one on. It passes over those that have a hint that they are mapped, 64 at a time
// or more (memory/detail/mapped_pages.hpp). So in a window that is nearly full it finds a free page as quickly as in an
// empty one. Hints may be wrong for a moment: a map that does not find enough pages looks at all.
//
// The word of a page is written by the thread that takes the page and by the thread that has it. What the page shows,
// which page follows, and the number of the view are written by the thread that has the page. The number grows each
// time that the page is taken: so it tells a view from those before and after it.
//
// Everything that was done through a page before its view ended, and everything that the executor did before it
// signalled, happens-before the return of the next map that gets the page.
//
// Not promised: which pages of the window a view gets, or that they lie side by side. The window itself does not move
// any memory: mapped_view.hpp does that with pages of the operating system.
#ifndef TIDEMARK_MEMORY_HOST_APERTURE_HPP
#define TIDEMARK_MEMORY_HOST_APERTURE_HPP

#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "../fence/wait.hpp"  // before the others: then errors about stop tokens are short

#include "../fence/event_count.hpp"
#include "../fence/fence.hpp"
#include "../fence/timeline.hpp"
#include "../platform/assert.hpp"
#include "../platform/names.hpp"
#include "../platform/platform.hpp"
#include "detail/mapped_pages.hpp"
#include "detail/page_list.hpp"
#include "tools/attempts.hpp"

namespace tidemark {

enum class aperture_status : std::uint8_t {
  mapped,  ///< The caller has the view until it ends it.
  /// Not now: enough pages are unmapped, but some of them are in use until a value is reached, or another thread's map
  /// is looking at them. From try_map().
  busy,
  timeout,  ///< Still in use, or mapped by others, at the deadline of a form that waits.
  stopped,  ///< Still in use, or mapped by others, when the stop token was triggered.
  lost,     ///< The timeline is lost, and too few pages are unmapped. From forms that wait.
  /// Not now, and there is no value to wait for: fewer pages are unmapped than the view needs. Pages that another
  /// thread's map has counted do not count as unmapped, even if that map then turns out to be busy. From try_map().
  no_space,
  too_large,  ///< Never: more pages than the window gives out.
  invalid,    ///< No pages, or the range yields another number of pages than it says.
};

template <>
inline constexpr auto detail::names_of<aperture_status> =
    detail::names("mapped", "busy", "timeout", "stopped", "lost", "no_space", "too_large", "invalid");

/// Some pages of a window, or why there are none.
struct [[nodiscard]] aperture_view {
  aperture_status status = aperture_status::invalid;
  std::size_t first = 0;  ///< Page of the window that shows the first page.
  std::size_t pages = 0;
  std::uint64_t number = 0;  ///< Tells this view from all others that begin with the same page.

  explicit operator bool() const noexcept { return status == aperture_status::mapped; }
};

/// One page of a view.
struct aperture_page {
  std::size_t index = 0;     ///< Which page of the view it is.
  std::size_t window = 0;    ///< Which page of the window it is.
  std::uint64_t source = 0;  ///< The number of the page that it shows.
};

struct aperture_options {
  std::size_t pages = 0;  ///< The number of pages of the window.
  /// How many of the first pages are not given out: fewer than `pages`. Asserts that; otherwise no page is given out.
  std::size_t reserved = 0;
};

namespace detail {

/// A function of its own, because a user's hook for assertions need not be constexpr.
inline std::uint64_t pages_without_bytes() noexcept {
  TIDEMARK_ASSERT(false, "a page must have some bytes");
  return UINT64_MAX;
}

}  // namespace detail

/// Returns how many pages of a window a view of `bytes` bytes takes. Where there would be more than 2^64 - 1 pages, it
/// returns 2^64 - 1, which is more than any window has. Pure.
/// \param page_bytes  asserts that it is not 0; otherwise the result is 2^64 - 1, too
/// \param instances   how many linked adapters have a copy of their own; the view then takes pages for each copy
[[nodiscard]] constexpr std::uint64_t aperture_pages(std::uint64_t bytes, std::uint64_t page_bytes,
                                                     std::uint64_t instances = 1) noexcept {
  if (page_bytes == 0) return detail::pages_without_bytes();
  const std::uint64_t each = bytes / page_bytes + (bytes % page_bytes != 0 ? 1 : 0);
  return each != 0 && instances > UINT64_MAX / each ? UINT64_MAX : each * instances;
}

/// A window of pages; see the head of this file. Any thread may call all functions but the destructor.
/// \tparam Timeline  tells which work is finished; once it is lost, nothing is in use any more
template <timeline Timeline = progress_fence_view>
class host_aperture {
  struct slot;
  using mapped_pages = detail::mapped_pages<timeline_platform<Timeline>>;
  using hint_word = typename mapped_pages::word;
  struct made_slots {
    made_slots(std::unique_ptr<slot[]> made, std::unique_ptr<hint_word[]> made_hints) noexcept
        : all{std::move(made)}, hints{std::move(made_hints)} {}
    std::unique_ptr<slot[]> all;
    std::unique_ptr<hint_word[]> hints;
  };

 public:
  using platform = timeline_platform<Timeline>;

  /// Throws std::bad_alloc where there is no memory for the pages' words.
  /// \param finished  is copied if it is copyable (a view); otherwise it must outlive the aperture
  host_aperture(const Timeline& finished, const aperture_options& options)
      : host_aperture{finished, options,
                      made_slots{std::make_unique<slot[]>(options.pages),
                                 std::make_unique<hint_word[]>(mapped_pages::words_for(options.pages))}} {}

  /// A timeline that can't be copied would be gone.
  host_aperture(const Timeline&& gone, const aperture_options& options)
    requires(!std::copyable<Timeline>)
  = delete;

  /// Returns an aperture as the constructor makes it, or nothing where there is no memory for the pages' words.
  [[nodiscard]] static std::optional<host_aperture> make(const Timeline& finished,
                                                         const aperture_options& options) noexcept {
    // The operator new for arrays may throw where the bytes can't be counted.
    if (options.pages > (std::numeric_limits<std::size_t>::max)() / 2 / sizeof(slot)) return std::nullopt;
    made_slots made{
        std::unique_ptr<slot[]>{new (std::nothrow) slot[options.pages]()},
        std::unique_ptr<hint_word[]>{new (std::nothrow) hint_word[mapped_pages::words_for(options.pages)]()}};
    if (made.all == nullptr || made.hints == nullptr) return std::nullopt;
    return std::optional<host_aperture>{std::in_place, finished, options, std::move(made)};
  }

  static std::optional<host_aperture> make(const Timeline&& gone, const aperture_options& options)
    requires(!std::copyable<Timeline>)
  = delete;

  /// For make() only: other code can't make `made_slots`.
  host_aperture(const Timeline& finished, const aperture_options& options, made_slots made) noexcept
      : finished_{finished},
        pages_{options.pages},
        reserved_{(std::min)(options.reserved, options.pages)},
        slots_{std::move(made.all)},
        mapped_{options.pages, std::move(made.hints)} {
    TIDEMARK_ASSERT(options.pages > options.reserved, "a host aperture must have some pages that are not reserved");
  }

  host_aperture(const host_aperture&) = delete;
  host_aperture& operator=(const host_aperture&) = delete;
  /// Does not wait for what is in use. No other call may be under way.
  ~host_aperture() = default;

  /// Makes a view of the given pages, in their order, if that is possible now. Returns the view; or `busy`, `no_space`,
  /// `too_large` or `invalid`, and then nothing is mapped. Progress: never waits; lock-free apart from its calls of the
  /// timeline and one system call: an attempt that fails gives its pages back, which may wake threads that wait for
  /// pages. On average it looks at the pages of the view, and at the pages in use that lie before them. For each of
  /// these it looks at O(log(pages of the window)) words. The first map that comes to pages that others have mapped
  /// looks at those, too. Where the result is `busy`, and sometimes where other threads map and retire meanwhile, it
  /// looks at all pages of the window.
  /// \param sources  a sized range of page numbers, which may mean anything. It is iterated as const, and must not
  ///                 throw
  template <detail::page_list Sources>
  aperture_view try_map(const Sources& sources) noexcept {
    std::uint64_t target = 0;
    return attempt(sources, target);
  }

  /// Makes a view of the given pages. While it can't, it blocks, parked, until the timeline reaches the value that
  /// comes first, or until another thread gives back pages. It keeps no pages while it sleeps, so other threads may
  /// take them. If the calling thread has the missing pages itself, it waits for ever: then use another form. Returns
  /// as try_map(), but instead of `busy` or `no_space` it returns `stopped` once `token` is triggered, or `lost`. What
  /// other threads do may be noticed a millisecond late if the timeline is neither a fence nor a view of one, if the
  /// fence has no slot and does not grow, or if the system refuses a heavy barrier.
  template <detail::page_list Sources, stop_token_like Token = never_stops>
  aperture_view map(const Sources& sources, Token token = {}) noexcept {
    return map_within(sources, std::move(token));
  }
  /// The same for `timeout` at most, and then returns `timeout`.
  template <detail::page_list Sources, class Rep, class Period, stop_token_like Token = never_stops>
  aperture_view map_for(const Sources& sources, const std::chrono::duration<Rep, Period>& timeout,
                        Token token = {}) noexcept {
    return map_within(sources, timeout, std::move(token));
  }
  /// The same until a point of the steady or the system clock at most, and then returns `timeout`.
  template <detail::page_list Sources, class Clock, class Duration, stop_token_like Token = never_stops>
  aperture_view map_until(const Sources& sources, const std::chrono::time_point<Clock, Duration>& at,
                          Token token = {}) noexcept {
    return map_within(sources, at, std::move(token));
  }

  /// Calls `body(aperture_page)` for each page of a view, in its order; for a view that was refused, never. The view
  /// may have ended, but the timeline must not have reached the value that retire() was given: from that value on, the
  /// pages can be given out again. Asserts that the first page was not taken again. Otherwise `body` is not called. If
  /// only other pages were taken again, that is not noticed, and `body` gets pages of other views. Progress: wait-free
  /// but for `body`.
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

  /// Ends a view: its pages are in use until the timeline has reached `finished`. Returns true. Asserts that the view
  /// was not refused and has not ended. Otherwise returns false and changes nothing. Of several calls for one view
  /// exactly one returns true, even if the pages were given out again in between. A view of another window is misuse
  /// that may not be noticed: the call may then give back pages of this window's views. Progress: wait-free, O(pages),
  /// except for the system call that wakes other threads if they wait for pages.
  /// \param finished  less than 2^64 - 1. Asserts that; 2^64 - 1 counts as the value before it
  bool retire(const aperture_view& view, std::uint64_t finished) noexcept {
    TIDEMARK_ASSERT(view.status == aperture_status::mapped, "what was refused can't be retired");
    TIDEMARK_ASSERT(finished < open, "a host aperture keeps values less than the greatest");
    if (view.status != aperture_status::mapped) return false;
    const bool was_mapped = end_view(view);
    TIDEMARK_ASSERT(was_mapped, "a view was retired twice");
    if (!was_mapped) return false;
    const std::uint64_t until = (std::min)(finished, open - 1);
    give_back(view.first, view.pages, [until](const slot&) { return until; });
    given_back_.notify();
    return true;
  }
  /// Ends a view whose pages no submitted work uses, and returns as retire(): its pages are free at once.
  bool unmap(const aperture_view& view) noexcept { return retire(view, 0); }

  /// Returns how many pages can be mapped at a time.
  [[nodiscard]] std::size_t capacity() const noexcept { return pages_ - reserved_; }
  /// Returns how many pages have no mapping, whether they are in use or not. Reserved pages, and those that a map under
  /// way has counted, are left out. Another thread may change the number at any moment. Progress: wait-free.
  [[nodiscard]] std::size_t unmapped_pages() const noexcept { return capacity() - mapped_.count(); }

 private:
  static constexpr std::uint64_t open = UINT64_MAX;

  struct slot {
    typename platform::template atomic<std::uint64_t> word;    // in use until then; or open
    typename platform::template atomic<std::uint64_t> number;  // odd while a view that begins here is mapped
    typename platform::template var<std::uint64_t> before;     // while it is taken: what the word was
    typename platform::template var<std::uint64_t> source;
    typename platform::template var<std::size_t> next;  // of the same view
  };

  template <class Sources, class... Limits>
  aperture_view map_within(const Sources& sources, const Limits&... limits) noexcept {
    bool is_again = false;
    const auto attempt_once = [&](std::uint64_t& target) -> aperture_view {
      // A thread that waits looks before it counts: if its attempts in vain woke the others, and theirs woke it, they
      // would not sleep.
      if (std::exchange(is_again, true) && !may_be_free(std::size(sources), target))
        return {target == detail::no_value_helps ? aperture_status::no_space : aperture_status::busy};
      return attempt(sources, target);
    };
    return detail::wait_for_space(given_back_, finished_, attempt_once, limits...);
  }

  /// Returns whether it has seen enough free pages. Otherwise `target` is the value to wait for, if there is one. It
  /// does not use the hints: the thread may sleep on what it sees, and a hint may hide a page for a moment.
  bool may_be_free(std::size_t pages, std::uint64_t& target) const noexcept {
    if (pages > unmapped_pages()) return false;
    std::size_t free = 0;
    std::uint64_t least = open;
    for (std::size_t window = reserved_; window < pages_ && free < pages; ++window) {
      // (J21): relaxed alone: a guess. The barriers of the event count keep it from being too old.
      const std::uint64_t until = slots_[window].word.load(std::memory_order_relaxed);
      if (until == open) continue;
      finished_.is_reached(until) ? void(++free) : void(least = (std::min)(least, until));
    }
    if (free < pages && least != open) target = least;
    return free == pages;
  }

  /// Where it is busy, `target` is the value to wait for.
  template <class Sources>
  aperture_view attempt(const Sources& sources, std::uint64_t& target) noexcept {
    const std::size_t pages = std::size(sources);
    if (pages == 0) return {aperture_status::invalid};
    if (!mapped_.add(pages, capacity()))
      return {pages > capacity() ? aperture_status::too_large : aperture_status::no_space};
    const std::size_t first = take_pages(pages, target);
    if (first == none) return {aperture_status::busy};
    if (!show(first, pages, sources)) {
      take_back(first, pages, pages);
      return {aperture_status::invalid};
    }
    return {aperture_status::mapped, first, pages, begin_view(first)};
  }

  /// Returns false if the range yields another number of pages.
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

  /// Returns the number of the view.
  std::uint64_t begin_view(std::size_t first) noexcept { return renumber(slots_[first], 1); }
  /// A load and a store are enough: the exchange that took the page has made its last number visible to this thread.
  static std::uint64_t renumber(slot& one, std::uint64_t more) noexcept {
    // (J9): relaxed alone: it tells views apart and hands nothing over.
    const std::uint64_t fresh = one.number.load(std::memory_order_relaxed) + more;
    // (J12): relaxed alone, as (J9).
    one.number.store(fresh, std::memory_order_relaxed);
    return fresh;
  }
  bool shows_still(const aperture_view& view) const noexcept {
    if (view.first >= pages_) return false;
    // (J10): relaxed alone, for noticing misuse: the thread that has the view has what it has seen of it.
    const std::uint64_t number = slots_[view.first].number.load(std::memory_order_relaxed);
    return number - view.number <= 1;
  }
  /// Returns false if the view has ended before. Of several threads that try, one ends it.
  bool end_view(const aperture_view& view) noexcept {
    if (view.first >= pages_ || view.number % 2 == 0) return false;
    std::uint64_t expected = view.number;
    // (J11): relaxed alone, as (J9): the pages go with (J3).
    return slots_[view.first].number.compare_exchange_strong(expected, view.number + 1, std::memory_order_relaxed,
                                                             std::memory_order_relaxed);
  }

  static constexpr std::size_t none = SIZE_MAX;

  struct chain {
    std::size_t first = none;
    std::size_t last = none;
    std::size_t pages = 0;
  };
  /// What a map has found so far.
  struct search {
    chain taken;
    std::size_t wanted;
    bool has_seen_all = false;         // one pass has looked at all pages of the window
    std::size_t in_use = 0;            // how many pages that pass found in use
    std::uint64_t first_value = open;  // the least value that one of them waits for

    bool is_over() const noexcept { return taken.pages == wanted; }
    bool is_settled() const noexcept { return is_over() || (has_seen_all && taken.pages + in_use >= wanted); }
  };
  enum class look : std::uint8_t { taken, mapped, in_use };

  /// Takes that many free pages, which the caller has counted. Returns the first one; or `none`, with what to wait for.
  /// If pages in use are what it lacks, `target` is the least of their values. Otherwise `target` is 0, and there is
  /// nothing to wait for: a hint was wrong for a moment, so that another thread's map took a page that it should have
  /// left.
  std::size_t take_pages(std::size_t pages, std::uint64_t& target) noexcept {
    search found{.taken = {}, .wanted = pages};
    search_unhinted(found);
    if (!found.is_settled()) search_all(found);
    if (found.is_over()) return found.taken.first;
    target = found.is_settled() ? found.first_value : 0;
    take_back(found.taken.first, found.taken.pages, pages);
    return none;
  }

  /// Takes free pages, but passes over those that have hints. Leaves hints for pages that it passes and finds mapped.
  void search_unhinted(search& found) noexcept {
    std::size_t looks = 0;
    std::size_t index = 0;     // of a word of hints
    std::uint64_t mapped = 0;  // pages that have their hints there
    bool has_passed = false;   // pages that were mapped already
    const auto is_mapped = [this](std::size_t window) {
      // (J20): relaxed, (J17) has brought what counts.
      return slots_[window].word.load(std::memory_order_relaxed) == open;
    };
    std::size_t window = mapped_.next_without_hint(reserved_);
    for (; window < pages_; window = mapped_.next_without_hint(window + 1)) {
      if (window / mapped_pages::bits_in_word != index) {
        if (mapped != 0) mapped_.note(index, mapped, is_mapped);
        index = window / mapped_pages::bits_in_word;
        mapped = 0;
        has_passed = false;
      }
      ++looks;
      const look seen = try_take(window, found);
      if (seen != look::in_use) mapped |= mapped_pages::bit_of(window);
      if (seen == look::mapped) has_passed = true;
      if (found.is_over()) break;
    }
    // Where it has passed no page, the pages that it has taken are left without hints: to leave and to take back hints
    // would cost a short-lived view more than its pages do.
    if (has_passed) mapped_.note(index, mapped, is_mapped);
    found.has_seen_all = looks == capacity();
  }

  /// Takes free pages, whether they have hints or not. Every thread looks from the beginning and takes what is free. So
  /// if a page comes free that one thread has already passed, the others take it. They leave the pages further on to
  /// that thread, unless a hint hides the free page from them.
  void search_all(search& found) noexcept {
    found.has_seen_all = true;
    found.in_use = 0;
    found.first_value = open;
    for (std::size_t window = reserved_; window < pages_ && !found.is_over(); ++window) try_take(window, found);
  }

  look try_take(std::size_t window, search& found) noexcept {
    slot& one = slots_[window];
    // (J1): relaxed: a guess, which (J2) makes sure of.
    std::uint64_t before = one.word.load(std::memory_order_relaxed);
    if (before == open) return look::mapped;
    if (!finished_.is_reached(before)) {
      ++found.in_use;
      found.first_value = (std::min)(found.first_value, before);
      return look::in_use;
    }
    // (J2): acquire, pairs with (J3): what was done through the page.
    if (!one.word.compare_exchange_strong(before, open, std::memory_order_acquire, std::memory_order_relaxed))
      return look::mapped;
    one.before.store(before);
    renumber(one, 2);  // what it showed is over
    append(found.taken, window);
    return look::taken;
  }

  void append(chain& to, std::size_t window) noexcept {
    to.pages == 0 ? void(to.first = window) : slots_[to.last].next.store(window);
    to.last = window;
    ++to.pages;
  }

  /// Gives pages back of which no view was made: those that were taken are as they were before, and `counted` pages are
  /// no longer counted.
  void take_back(std::size_t first, std::size_t taken, std::size_t counted) noexcept {
    give_back(first, taken, [](const slot& one) { return one.before.load(); });
    if (counted > taken) mapped_.remove(counted - taken);
    given_back_.notify();
  }

  /// Gives pages back, and counts them as unmapped, in one step for all that have their hints in one word.
  template <class Until>
  void give_back(std::size_t first, std::size_t pages, const Until& until) noexcept {
    std::size_t window = first;
    for (std::size_t left = pages; left > 0;) {
      const std::size_t index = window / mapped_pages::bits_in_word;
      const std::size_t left_before = left;
      std::uint64_t given = 0;
      do {
        slot& one = slots_[window];
        const std::uint64_t value = until(one);
        given |= mapped_pages::bit_of(window);
        if (--left > 0) window = one.next.load();
        // (J3): release, pairs with (J2). From here on the page belongs to another thread.
        one.word.store(value, std::memory_order_release);
      } while (left > 0 && window / mapped_pages::bits_in_word == index);
      mapped_.give_back(index, given, left_before - left);
    }
  }

  const detail::follower<Timeline> finished_;
  const std::size_t pages_;
  const std::size_t reserved_;
  const std::unique_ptr<slot[]> slots_;
  basic_event_count<platform> given_back_;
  mapped_pages mapped_;
};

// What is given and is no timeline gets an error of its own.
template <class Wrong>
  requires(!timeline<Wrong>)
host_aperture(const Wrong&, const aperture_options&) -> host_aperture<detail::wrong_timeline<Wrong>>;

}  // namespace tidemark

#endif  // TIDEMARK_MEMORY_HOST_APERTURE_HPP
