// SPDX-License-Identifier: BSL-1.0
//
// Threads that wait for memory that other threads have: the same for rename rings, upload rings and host apertures.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tidemark/memory/host_aperture.hpp>
#include <tidemark/memory/rename_ring.hpp>
#include <tidemark/memory/upload_ring.hpp>

#include "support/counted_progress.hpp"
#include "support/manual_stop.hpp"
#include "support/observed_timeline.hpp"
#include "support/processor_time.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::map_mode;
using tidemark::wait_status;
using tidemark::writers;

namespace {

/// Returns how a call that may wait ended: `reached` if it got the memory.
template <class Result>
wait_status end_of(const Result& result) {
  using status = decltype(result.status);
  if (result) return wait_status::reached;
  if (result.status == status::timeout) return wait_status::timeout;
  if (result.status == status::stopped) return wait_status::stopped;
  CHECK(result.status == status::lost);
  return wait_status::lost;
}

/// A block with `pieces` pieces of memory, all of which are lent. It has
///   give(which)          gives one back that nothing uses; retire(which, until): one that is in use until a value
///   ask(limits...)       asks for a piece, without a limit or with a duration, and gives it back; returns the end
///   try_ask()            whether a call that does not wait gets a piece
template <class Timeline>
struct lent_backings {
  using ring_type = tidemark::rename_ring<Timeline, tidemark::heap_source, writers::several>;

  lent_backings(const Timeline& finished, std::size_t pieces) : ring{finished, {.bytes = 8, .max_renames = pieces}} {
    while (held.size() < pieces) held.push_back(ring.try_map(map_mode::discard));
  }
  void retire(std::size_t which, std::uint64_t until) { CHECK(ring.retire(held[which], until)); }
  void give(std::size_t which) { retire(which, 0); }
  template <class... Limits>
  wait_status ask(const Limits&... limits) {
    return use(map(limits...));
  }
  bool try_ask() {
    const auto mapped = ring.try_map(map_mode::discard);
    if (!mapped) CHECK(mapped.status == tidemark::map_status::no_space);
    return mapped && use(mapped) == wait_status::reached;
  }

  template <class Rep, class Period, class... Token>
  auto map(const std::chrono::duration<Rep, Period>& timeout, const Token&... token) {
    return ring.map_for(map_mode::discard, timeout, token...);
  }
  template <class... Token>
  auto map(const Token&... token) {
    return ring.map(map_mode::discard, token...);
  }
  wait_status use(const typename ring_type::mapping& mapped) {
    if (mapped) CHECK(ring.unmap(mapped));
    return end_of(mapped);
  }

  ring_type ring;
  std::vector<typename ring_type::mapping> held;
};

/// Its pieces come back in their order.
template <class Timeline>
struct lent_parts {
  lent_parts(const Timeline& finished, std::size_t pieces) : ring{finished, {.capacity = pieces}} {
    while (held.size() < pieces) held.push_back(ring.try_allocate(1));
  }
  void retire(std::size_t which, std::uint64_t until) { CHECK(ring.retire(held[which], until)); }
  void give(std::size_t which) { retire(which, 0); }
  template <class... Limits>
  wait_status ask(const Limits&... limits) {
    return use(allocate(limits...));
  }
  bool try_ask() {
    const auto part = ring.try_allocate(1);
    if (!part) CHECK(part.status == tidemark::upload_status::no_space);
    return part && use(part) == wait_status::reached;
  }

  template <class Rep, class Period, class... Token>
  auto allocate(const std::chrono::duration<Rep, Period>& timeout, const Token&... token) {
    return ring.allocate_for(1, 1, timeout, token...);
  }
  template <class... Token>
  auto allocate(const Token&... token) {
    return ring.allocate(1, 1, token...);
  }
  wait_status use(const tidemark::upload_part& part) {
    if (part) CHECK(ring.retire(part, 0));
    return end_of(part);
  }

  tidemark::upload_ring<Timeline, writers::several> ring;
  std::vector<tidemark::upload_part> held;
};

template <class Timeline>
struct lent_pages {
  lent_pages(const Timeline& finished, std::size_t pieces) : window{finished, {.pages = pieces}} {
    while (held.size() < pieces) held.push_back(window.try_map(one_page));
  }
  void retire(std::size_t which, std::uint64_t until) { CHECK(window.retire(held[which], until)); }
  void give(std::size_t which) { retire(which, 0); }
  template <class... Limits>
  wait_status ask(const Limits&... limits) {
    return use(map(limits...));
  }
  bool try_ask() {
    const auto view = window.try_map(one_page);
    if (!view) CHECK(view.status == tidemark::aperture_status::no_space);
    return view && use(view) == wait_status::reached;
  }

  template <class Rep, class Period, class... Token>
  auto map(const std::chrono::duration<Rep, Period>& timeout, const Token&... token) {
    return window.map_for(one_page, timeout, token...);
  }
  template <class... Token>
  auto map(const Token&... token) {
    return window.map(one_page, token...);
  }
  wait_status use(const tidemark::aperture_view& view) {
    if (view) CHECK(window.unmap(view));
    return end_of(view);
  }

  static constexpr std::array<std::uint64_t, 1> one_page{7};
  tidemark::host_aperture<Timeline> window;
  std::vector<tidemark::aperture_view> held;
};

struct backings_kind {
  template <class Timeline>
  using lent = lent_backings<Timeline>;
};
struct parts_kind {
  template <class Timeline>
  using lent = lent_parts<Timeline>;
};
struct pages_kind {
  template <class Timeline>
  using lent = lent_pages<Timeline>;
};

/// Such a block, which follows a fence that counts what its waiters do.
template <class Kind>
struct stand {
  explicit stand(std::size_t pieces = 1) : lent{finished.view(), pieces} {}
  ~stand() { finished.poison(); }  // so that a rename ring does not wait for what a test leaves in use

  counted_fence finished;
  watchdog dog{watch(finished)};
  typename Kind::template lent<counted_view> lent;
};

/// A call that waits in a thread of its own.
template <class Lent, class... Limits>
waiter asking(Lent& lent, Limits... limits) {
  return waiter{[&lent, limits...] { return lent.ask(limits...); }};
}

}  // namespace

#define EVERY_BLOCK backings_kind, parts_kind, pages_kind
TYPE_TO_STRING_AS("rename ring", backings_kind);
TYPE_TO_STRING_AS("upload ring", parts_kind);
TYPE_TO_STRING_AS("host aperture", pages_kind);

TEST_CASE_TEMPLATE("[B11][B12] a call that needs what another thread has sleeps until that thread gives it back", Kind,
                   EVERY_BLOCK) {
  stand<Kind> at;
  const meter<counted> during;
  waiter blocked = asking(at.lent);
  CHECK(blocked.falls_asleep());
  CHECK_FALSE(at.lent.try_ask());
  at.lent.give(0);
  CHECK(blocked.status() == wait_status::reached);
  CHECK(during.parks() >= 1);
  CHECK(during.heavy_barriers() == 1);
  CHECK(at.finished.monitored_value() == (counted::heavy_barrier_available() ? tidemark::no_waiter : 0));
}

TEST_CASE_TEMPLATE("[B12] what is given back while nobody waits costs no system call", Kind, EVERY_BLOCK) {
  stand<Kind> at{3};
  {
    waiter blocked = asking(at.lent);  // one that came and went
    CHECK(blocked.falls_asleep());
    at.lent.give(0);
    CHECK(blocked.status() == wait_status::reached);
  }
  const meter<counted> during;
  at.lent.retire(1, 1);
  at.lent.give(2);
  CHECK(during.unparks() + during.parks() + during.heavy_barriers() == 0);
}

TEST_CASE_TEMPLATE("[B12] a call that another thread blocks for 200 ms uses less than 2 ms of processor time", Kind,
                   EVERY_BLOCK) {
  const tidemark::fence never;
  std::int64_t least = INT64_MAX;
  // The kernel may charge the waiter for an interrupt, and an emulator for its own work; so take the best of a few.
  for (int attempt = 0; attempt < 5 && least >= 2'000; ++attempt) {
    stand<Kind> at;
    std::chrono::nanoseconds used{};
    waiter blocked{[&] {
      const auto before = processor_time();
      const wait_status end = at.lent.ask();
      used = processor_time() - before;
      return end;
    }};
    CHECK(blocked.falls_asleep());
    CHECK(never.wait_for(1, 200ms) == wait_status::timeout);  // the call is blocked for that long
    CHECK_FALSE(blocked.has_returned());
    at.lent.give(0);
    CHECK(blocked.status() == wait_status::reached);
    least = std::min<std::int64_t>(least, std::chrono::duration_cast<std::chrono::microseconds>(used).count());
  }
  MESSAGE("processor time of a call blocked for 200 ms: " << least << " us");
  CHECK(least < 2'000);
}

TEST_CASE_TEMPLATE("[B12] what comes back in use is waited for until the timeline reaches its value", Kind,
                   EVERY_BLOCK) {
  stand<Kind> at;
  waiter blocked = asking(at.lent);
  CHECK(blocked.falls_asleep());
  at.lent.retire(0, 2);
  at.finished.signal(1);
  CHECK(blocked.falls_asleep());
  at.finished.signal(2);
  CHECK(blocked.status() == wait_status::reached);
}

TEST_CASE_TEMPLATE("[B12] a call that waits for the timeline gets what another thread gives back earlier", Kind,
                   backings_kind, pages_kind) {
  stand<Kind> at{2};
  at.lent.retire(0, 1);
  waiter blocked = asking(at.lent);
  CHECK(blocked.falls_asleep());
  at.lent.give(1);
  CHECK(blocked.status() == wait_status::reached);
  CHECK(at.finished.current_value() == 0);
}

TEST_CASE_TEMPLATE("[B12] one piece that comes back ends the waits of several threads, one after another", Kind,
                   EVERY_BLOCK) {
  stand<Kind> at;
  std::array<std::optional<waiter>, 3> blocked;
  for (auto& one : blocked) one.emplace([&] { return at.lent.ask(); });
  for (auto& one : blocked) CHECK(one->falls_asleep());
  at.lent.give(0);
  for (auto& one : blocked) CHECK(one->status() == wait_status::reached);
}

TEST_CASE_TEMPLATE("[B12] a wait for another thread ends at its deadline, and changes nothing", Kind, EVERY_BLOCK) {
  stand<Kind> at;
  const auto start = std::chrono::steady_clock::now();
  CHECK(at.lent.ask(3ms) == wait_status::timeout);
  CHECK(std::chrono::steady_clock::now() - start >= 3ms);
  CHECK(at.lent.ask(0s) == wait_status::timeout);
  CHECK(at.lent.ask(-1s) == wait_status::timeout);
  CHECK(at.finished.monitored_value() == (counted::heavy_barrier_available() ? tidemark::no_waiter : 0));
  at.lent.give(0);
  CHECK(at.lent.ask(0s) == wait_status::reached);
}

TEST_CASE_TEMPLATE("[B12] a wait for another thread ends when it is stopped, and changes nothing", Kind, EVERY_BLOCK) {
  stand<Kind> at;
  manual_stop stop;
  waiter blocked = asking(at.lent, stop.get_token());
  waiter limited = asking(at.lent, 24h, stop.get_token());
  CHECK(blocked.falls_asleep());
  CHECK(limited.falls_asleep());
  stop.request();
  CHECK(blocked.status() == wait_status::stopped);
  CHECK(limited.status() == wait_status::stopped);
  CHECK(at.lent.ask(stop.get_token()) == wait_status::stopped);
  at.lent.give(0);
  CHECK(at.lent.ask(stop.get_token()) == wait_status::reached);
}

TEST_CASE_TEMPLATE("[A120][B12] the loss of the timeline ends a wait for another thread", Kind, EVERY_BLOCK) {
  stand<Kind> at;
  waiter blocked = asking(at.lent);
  CHECK(blocked.falls_asleep());
  at.finished.poison();
  CHECK(blocked.status() == wait_status::lost);
  CHECK(at.lent.ask() == wait_status::lost);
  CHECK(at.lent.ask(24h) == wait_status::lost);
  at.lent.retire(0, 9);
  CHECK(at.lent.ask() == wait_status::reached);
}

TEST_CASE_TEMPLATE("[B12] a thread that finds no slot in the fence still waits for both, and looks now and then", Kind,
                   EVERY_BLOCK) {
  constexpr tidemark::fence_options one_slot{.capacity = 1, .growth = tidemark::heap_growth::forbidden};
  tidemark::basic_progress_fence<counted, one_slot> finished;
  const auto dog = watch(finished);
  waiter other{[&] { return finished.wait(9); }};
  CHECK(other.falls_asleep());
  for (const std::uint64_t until : {0U, 1U}) {
    typename Kind::template lent<decltype(finished.view())> lent{finished.view(), 1};
    waiter blocked = asking(lent);
    CHECK(blocked.falls_asleep());
    lent.retire(0, until);
    finished.signal(until);
    CHECK(blocked.status() == wait_status::reached);
  }
  finished.signal(9);
  CHECK(other.status() == wait_status::reached);
}

// ---- a timeline of the program's own --------------------------------------------------------------------------------

namespace {

struct own_timeline : observed_timeline {
  using platform = counted;
};

}  // namespace

TEST_CASE_TEMPLATE("[B12] with a timeline of the program's own, a call waits for other threads and for its values",
                   Kind, EVERY_BLOCK) {
  own_timeline finished;
  const watchdog dog{[] { return std::string{"a wait beside a timeline of the program's own"}; }};
  typename Kind::template lent<own_timeline> lent{finished, 2};
  manual_stop stop;
  CHECK(lent.ask(2ms) == wait_status::timeout);
  waiter stopped = asking(lent, stop.get_token());
  CHECK(stopped.falls_asleep());
  stop.request();
  CHECK(stopped.status() == wait_status::stopped);

  waiter blocked = asking(lent);
  CHECK(blocked.falls_asleep());
  lent.retire(0, 1);
  finished.await_waits(1);
  finished.signal(1);
  CHECK(blocked.status() == wait_status::reached);
  lent.give(1);
  CHECK(lent.ask(0s) == wait_status::reached);
}

TEST_CASE_TEMPLATE("[A120][B12] the loss of a timeline of the program's own ends a wait for another thread", Kind,
                   EVERY_BLOCK) {
  own_timeline finished;
  const watchdog dog{[] { return std::string{"a wait beside a timeline of the program's own"}; }};
  typename Kind::template lent<own_timeline> lent{finished, 1};
  waiter blocked = asking(lent);
  CHECK(blocked.falls_asleep());
  finished.lose();
  CHECK(blocked.status() == wait_status::lost);
  lent.give(0);
}
