// SPDX-License-Identifier: BSL-1.0
//
// Who makes the passes of a hub, and when: one thread at a time, and once more if a pass was asked for meanwhile.
//
//   requests_   idle, asked or served. A notifier stores `asked`; the one that finds `idle` serves, or rings. The
//               server stores `served` before each pass and goes back to `idle` only if nobody asked meanwhile, so
//               there is one server at a time. Three states, not a count: a count would wrap
//   passes_     the number of the pass that runs or comes next, whether it runs, and whether somebody sleeps until it
//               ends
#ifndef TIDEMARK_QUEUE_DETAIL_HUB_PASSES_HPP
#define TIDEMARK_QUEUE_DETAIL_HUB_PASSES_HPP

#include <atomic>
#include <cstdint>

#include "../../fence/wait.hpp"
#include "../../platform/platform.hpp"

namespace tidemark::detail {

template <platform Platform>
class hub_passes {
 public:
  using word = typename Platform::park_word;

  /// Asks for a pass. Returns true to the caller that must serve or ring; other callers leave their marks to the
  /// server.
  bool ask() noexcept {
    // (U15): release, pairs with (U16): the mark is there for the server, also where another notifier asked after this
    // one, since each change of the word is a read-modify-write. Not acquire: a notifier that serves acquires in (U16).
    return requests_.exchange(asked, std::memory_order_release) == idle;
  }

  bool is_asked() const noexcept {
    // (U12): relaxed alone: a hint; (U16) does the rest.
    return requests_.load(std::memory_order_relaxed) != idle;
  }

  /// Sleeps until a pass is asked for. Returns false at the deadline.
  bool sleep(deadline until) noexcept { return Platform::park(requests_, idle, until); }

  /// The word that a sleeping server is woken by.
  word& requests() noexcept { return requests_; }

  /// Makes passes until no pass is asked for.
  template <class Pass>
  void serve(const Pass& pass) noexcept {
    std::uint32_t expected;
    do {
      // (U16): acquire, pairs with (U15), for the marks; and with (U17): the cursors and the number of the pass are as
      // the last server left them. An exchange: a store would end the chain from (U15) and (U17) to here, and what is
      // asked from now on is found by (U17).
      requests_.exchange(served, std::memory_order_acquire);
      make(pass);
      expected = served;
      // (U17): release, pairs with (U16) of the next server. Fails if somebody asked since (U16), which is then
      // repeated and acquires.
    } while (!requests_.compare_exchange_strong(expected, idle, std::memory_order_release, std::memory_order_relaxed));
  }

  /// Sleeps until there is something to serve, and serves it by `try_serve()`, which returns whether there was. Returns
  /// `reached` when it has served something, `stopped` or `timeout`. A stop of the token calls `ring()`.
  template <class Token, class TryServe, class Ring>
  wait_status serve_before(deadline until, const Token& token, const TryServe& try_serve, const Ring& ring) noexcept {
    // The token is read first, so that everything that was asked for before the stop is served.
    const bool has_stopped = token.stop_requested();
    if (try_serve()) return wait_status::reached;
    if (has_stopped) return wait_status::stopped;
    {
      // A stop is a notification that leaves no mark, so that it wakes the dispatcher as any other does.
      const typename stop_callback_for<Token, Ring>::type stop_callback(token, ring);
      while (!is_asked() && sleep(until)) continue;
    }
    const bool stops = token.stop_requested();
    const bool has_served = try_serve();
    if (stops) return wait_status::stopped;
    return has_served ? wait_status::reached : wait_status::timeout;
  }

  /// Waits until the pass that runs now, if one does, has ended.
  void let_pass_end() noexcept {
    // (U20): release, pairs with (U5), for (U4); acquire, pairs with (U6), for a pass that has just ended.
    const std::uint32_t seen = passes_.fetch_or(pass_awaited, std::memory_order_acq_rel) | pass_awaited;
    if ((seen & pass_running) == 0) return;
    // (U21): acquire, pairs with (U6).
    while (passes_.load(std::memory_order_acquire) == seen) Platform::park(passes_, seen, no_deadline);
  }

 private:
  // The states of requests_. A server sleeps on 0.
  static constexpr std::uint32_t idle = 0;
  static constexpr std::uint32_t served = 1;  // a pass runs that may take every mark that was left before it
  static constexpr std::uint32_t asked = 2;   // marks were left that the running pass, if any, may not find

  // The low bits of passes_.
  static constexpr std::uint32_t pass_running = 1;
  static constexpr std::uint32_t pass_awaited = 2;

  template <class Pass>
  void make(const Pass& pass) noexcept {
    const std::uint32_t number = pass_number_.load();
    // (U5): acquire, pairs with (U20): a fence that was removed before this is not found by the pass; a thread that
    // removes one later finds that a pass is running.
    passes_.fetch_or(pass_running, std::memory_order_acquire);
    pass();
    pass_number_.store(number + 1);
    // (U6): release, pairs with (U20) and (U21): what the pass did to the fences is done.
    const std::uint32_t ended = passes_.exchange((number + 1) << 2, std::memory_order_release);
    if ((ended & pass_awaited) != 0) Platform::unpark(passes_, UINT32_MAX);
  }

  word requests_;
  alignas(cache_line) word passes_;
  typename Platform::template var<std::uint32_t> pass_number_;  // the server's
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_QUEUE_DETAIL_HUB_PASSES_HPP
