// SPDX-License-Identifier: BSL-1.0
//
// Misuse of queues, hubs and logs where the assertion returns: the text is noted, and no waiter is lost. This
// program's TIDEMARK_ASSERT notes the text and goes on. That each misuse ends a debug build is tested in
// queue_misuse.cpp and assert.cpp.
#include <string>
#include <vector>

namespace testing {

static std::vector<std::string>& said() {
  static std::vector<std::string> texts;
  return texts;
}
static void say(const char* text) { said().emplace_back(text); }

}  // namespace testing

#define TIDEMARK_ASSERT(condition, text) (static_cast<bool>(condition) ? static_cast<void>(0) : testing::say(text))

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <tidemark/engine/unbroken_run.hpp>
#include <tidemark/hub/hub.hpp>
#include <tidemark/log/ring_log.hpp>
#include <tidemark/queue/executed_work.hpp>
#include <tidemark/queue/queued_events.hpp>
#include <tidemark/queue/traced_logs.hpp>

#include "support/hubs.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::no_waiter;
using tidemark::notify_style;
using tidemark::wait_status;

namespace {

using texts = std::vector<std::string>;
using values = std::vector<std::uint64_t>;

/// Returns the texts of the assertions since the last call.
texts taken() { return std::exchange(said(), {}); }

const texts unknown_fence{"a queue signals a fence that its hub does not know"};
const texts not_attached{"a queue signals before it is attached to its hub"};
const texts few_entries{"a ring log needs at least two entries and fewer than 2^31"};
const texts misaligned{"a ring log needs memory aligned to 8 bytes"};

constexpr std::array every_style{notify_style::by_queue, notify_style::by_fence, notify_style::by_scan};

/// Signals `fence` under this id while a thread waits for it. Returns whether the signal has released the thread.
template <class Stand>
bool signal_releases(Stand& at, any_fence& fence, fence_id id) {
  const auto dog = watch(fence);
  waiter waiting{[&] { return fence.wait(1); }};
  CHECK(waiting.falls_asleep());
  at.queue.signal(logged_fence{&fence, id}, 1);
  const bool released = fence.monitored_value() == no_waiter;
  fence.release_due();
  return waiting.status() == wait_status::reached && released;
}

}  // namespace

// ---- fences and queues that a hub does not know ---------------------------------------------------------------------

TEST_CASE_TEMPLATE(
    "[A57][A61][A114] a signal of a fence that the hub does not know is asserted and releases the waiter", Service,
    EVERY_SERVICE) {
  for (const auto style : every_style) {
    for (const fence_id id : {fence_id{12'345}, fence_id{0}}) {
      counted_hub<Service> hub;
      hub_stand at{hub, style};
      any_fence stranger;
      CHECK(signal_releases(at, stranger, id));
      CHECK(taken() == unknown_fence);
      CHECK(hub.count(hub_event::stale) == 1);
    }
  }
}

TEST_CASE_TEMPLATE("[A57][A61] a signal of a fence that found the hub full is asserted and releases the waiter",
                   Service, EVERY_SERVICE) {
  for (const auto style : every_style) {
    counted_hub<Service, 1> hub;
    hub_stand at{hub, style};
    any_fence late;
    const auto refused = hub.add(late);
    REQUIRE(refused.status == tidemark::hub_add_status::no_space);
    CHECK(signal_releases(at, late, refused.fence.id));
    CHECK(taken() == unknown_fence);
    CHECK(hub.count(hub_event::stale) == 1);
  }
}

TEST_CASE_TEMPLATE("[A57][A61] a signal of a fence under the id of another one is asserted and releases the waiter",
                   Service, EVERY_SERVICE) {
  for (const auto style : every_style) {
    counted_hub<Service> hub;
    hub_stand at{hub, style};
    any_fence known;
    any_fence stranger;
    CHECK(signal_releases(at, stranger, hub.add(known).fence.id));
    CHECK(taken() == unknown_fence);
    CHECK(hub.count(hub_event::stale) == 1);
  }
}

TEST_CASE_TEMPLATE("[A57][A61] a signal of a fence that was removed is asserted and releases the waiter", Service,
                   EVERY_SERVICE) {
  for (const auto style : every_style) {
    counted_hub<Service> hub;
    hub_stand at{hub, style};
    any_fence removed;
    const auto logged = hub.add(removed).fence;
    hub.remove(logged.id);
    CHECK(signal_releases(at, removed, logged.id));
    CHECK(taken() == unknown_fence);
    CHECK(hub.count(hub_event::stale) == 1);
  }
}

TEST_CASE_TEMPLATE(
    "[A54][A61] a signal of a progress fence that was removed from the hub is asserted and releases the waiter",
    Service, EVERY_SERVICE) {
  for (const auto style : every_style) {
    counted_hub<Service> hub;
    hub_stand at{hub, style};
    hub.remove(at.progress_id);
    progress& own = at.own;
    const auto dog = watch(own);
    waiter waiting{[&] { return own.wait(1); }};
    CHECK(waiting.falls_asleep());
    at.queue.complete();
    if (progress::platform::heavy_barrier_available()) CHECK(own.monitored_value() == no_waiter);
    own.release_due();
    CHECK(waiting.status() == wait_status::reached);
    CHECK(taken() == unknown_fence);
    CHECK(hub.count(hub_event::stale) == 1);
  }
}

TEST_CASE_TEMPLATE("[A61][A111] a signal of a queue that is not attached is asserted and releases the waiter", Service,
                   EVERY_SERVICE) {
  counted_hub<Service> hub;
  struct {
    progress own;
    typename hub_stand<counted_hub<Service>>::queue_type queue{own};
  } at;
  any_fence fence;
  CHECK(signal_releases(at, fence, hub.add(fence).fence.id));
  CHECK(taken() == not_attached);
  CHECK(hub.count(hub_event::pass) == 0);
}

TEST_CASE_TEMPLATE(
    "[A57][A111] a notification for a queue that is not in the hub is asserted and counted, and does nothing else",
    Service, EVERY_SERVICE) {
  counted_hub<Service> hub;
  hub_stand at{hub};
  for (const std::uint32_t number : {1u, 4u, UINT32_MAX}) hub.notify_queue(queue_id{number});
  hub.catch_up();
  CHECK(hub.count(hub_event::stale) == 3);
  CHECK(hub.count(hub_event::pass) == 0);
  const std::array some{queue_id{1}, at.number, queue_id{4}};
  hub.notify_queues(some);
  hub.catch_up();
  CHECK(hub.count(hub_event::stale) == 5);
  CHECK(hub.count(hub_event::pass) == 1);  // for the one that is there
  CHECK(taken() == texts(5, "a notification names a queue that is not in the hub"));
}

TEST_CASE_TEMPLATE("[A57][A112] an entry of a fence that was removed is skipped and counted, and is no misuse", Service,
                   EVERY_SERVICE) {
  counted_hub<Service> hub;
  hub_stand at{hub};
  probe gone;
  gone.due = false;
  const auto logged = hub.add(gone).fence;
  at.queue.signal(logged, 1);
  hub.remove(logged.id);
  hub.notify_queue(at.number);
  hub.catch_up();
  CHECK(hub.count(hub_event::skipped) == 1);
  CHECK(hub.count(hub_event::stale) == 0);
  CHECK(taken().empty());
}

// ---- logs that can't be ---------------------------------------------------------------------------------------------

TEST_CASE("[A92] memory that can't hold a log is refused where it is given, and the old log goes on") {
  alignas(8) static std::array<std::byte, 512> memory{};
  progress own;
  tidemark::basic_queue<progress, ticking_clock> queue{own};
  auto reader = queue.signal_log();
  const auto refused = [&](std::span<std::byte> unfit) {
    CHECK_FALSE(queue.set_log(fence_log_type::signal, unfit));
    const texts expected = taken();
    queue.complete();  // the executor finds no new log
    CHECK(taken().empty());
    return expected;
  };
  for (std::size_t offset = 1; offset < 8; ++offset) CHECK(refused(std::span{memory}.subspan(offset)) == misaligned);
  CHECK(refused(std::span{memory}.first(16)) == few_entries);
  CHECK(refused(std::span{memory}.first(tidemark::fence_log::page_type::bytes_for(1))) == few_entries);
  CHECK(refused({}) == few_entries);
  CHECK_FALSE(queue.set_log(fence_log_type::signal, memory, tidemark::no_log_location));
  CHECK(taken() == texts{"a log in memory must not lie at no_log_location"});
  CHECK(memory == std::array<std::byte, 512>{});
  CHECK(read_all(reader).values() == values{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  CHECK(queue.set_log(fence_log_type::signal, memory));
  queue.complete();
  CHECK(read_all(reader).values() == values{11});
  CHECK(memory != std::array<std::byte, 512>{});
  CHECK(taken().empty());
}

TEST_CASE("[A92] a number of entries that no log can have is refused where it is given, and the old log goes on") {
  progress own;
  tidemark::basic_queue<progress, ticking_clock> queue{own};
  auto reader = queue.signal_log();
  // The last number of entries would take 16 bytes modulo 2^64.
  const std::size_t wraps = SIZE_MAX / 48 + 1;
  for (const std::size_t entries : {std::size_t{0}, std::size_t{1}, std::size_t{1} << 31, SIZE_MAX, wraps}) {
    CHECK_FALSE(queue.set_log(fence_log_type::signal, entries));
    CHECK(taken() == few_entries);
    queue.complete();
  }
  CHECK(taken().empty());
  CHECK(read_all(reader).values() == values{1, 2, 3, 4, 5});
}

TEST_CASE(
    "[A92][A101] numbers that no log of work or events can have are refused, and of a whole device nothing grows "
    "then") {
  progress own;
  tidemark::basic_queue<progress, ticking_clock> queue{own};
  tidemark::basic_executed_work<progress::platform, ticking_clock> work{2};
  auto reader = work.reader();
  tidemark::basic_traced_logs<progress::platform> logs;
  logs.add(queue_id{1}, queue);
  logs.add(queue_id{1}, work);
  tidemark::basic_queued_events<progress::platform, ticking_clock> events{2};
  auto events_reader = events.reader();
  const auto execute = [&] { work.execute("tile", [] {}); };
  for (const std::size_t pieces : {std::size_t{0}, std::size_t{1}, std::size_t{1} << 31, SIZE_MAX}) {
    CHECK_FALSE(work.set_log(pieces));
    CHECK(taken() == few_entries);
    CHECK_FALSE(events.set_log(pieces));
    CHECK(taken() == few_entries);
    execute();
    events.wait_queued(other_id, 1);
  }
  for (const std::size_t entries : {std::size_t{0}, std::size_t{1}, std::size_t{1} << 31}) {
    CHECK(logs.grow(entries) == 0);
    CHECK(taken() == few_entries);
  }
  logs.remove(queue_id{1});
  logs.add(queue_id{1}, work);
  logs.add(queue_id{1}, events);
  CHECK(logs.grow(SIZE_MAX) == 0);
  CHECK(taken() == few_entries);
  std::array<tidemark::executed_piece, 3> buffer;
  const auto batch = reader.read(buffer);
  CHECK(batch.entries.size() == 2);
  CHECK(batch.lost == 2);
  std::array<tidemark::queued_event, 3> events_buffer;
  const auto brought = events_reader.read(events_buffer);
  CHECK(brought.entries.size() == 2);
  CHECK(brought.lost == 2);
  CHECK(logs.grow(3) == 2);
  CHECK(taken().empty());
}

TEST_CASE("[A101] without logs, too, numbers that no log can have are asserted") {
  tidemark::traced_logs none;
  for (const std::size_t entries : {std::size_t{0}, std::size_t{1}, SIZE_MAX}) {
    CHECK(none.grow(entries) == 0);
    CHECK(taken() == few_entries);
  }
}

TEST_CASE("[A101] where adding what is there already is asserted and goes on, each log grows once") {
  progress own;
  tidemark::basic_queue<progress, ticking_clock> queue{own};
  tidemark::basic_executed_work<progress::platform, ticking_clock> work{2};
  tidemark::basic_queued_events<progress::platform, ticking_clock> events{2};
  tidemark::basic_traced_logs<progress::platform> logs;
  for (const std::uint32_t number : {1u, 1u, 2u}) {
    logs.add(queue_id{number}, queue);
    logs.add(queue_id{number}, work);
    logs.add(queue_id{number}, events);
  }
  CHECK(taken() == texts(6, "logs are added that are traced already"));
  CHECK(logs.grow(1000) == 4);
  logs.remove(queue_id{1});
  CHECK(logs.grow(2000) == 0);
  CHECK(taken().empty());
}

TEST_CASE("[A92] where replacing a log by one that was not prepared is asserted and goes on, the old log goes on") {
  const texts expected{"a log is replaced by one that was not prepared"};
  tidemark::basic_queue_log<tidemark::native_platform> log{fence_log_type::signal, 2};
  auto reader = log.reader();
  log.replace(log.prepare(1));
  CHECK(taken() == texts{few_entries[0], expected[0]});
  log.append({.fence_value = 7});
  CHECK(read_all(reader).values() == values{7});
  tidemark::detail::shared_log<tidemark::native_platform, std::uint64_t> shared{2};
  auto shared_reader = shared.reader();
  shared.replace(shared.prepare(1));
  CHECK(taken() == texts{few_entries[0], expected[0]});
  shared.append(7);
  std::array<std::uint64_t, 2> buffer{};
  CHECK(shared_reader.read(buffer).entries.size() == 1);
}

TEST_CASE("[A118] a queue that is to have logs of fewer than two entries has logs of two") {
  progress own;
  tidemark::basic_queue<progress, ticking_clock> queue{own, {.log_entries = 0}};
  CHECK(taken() == texts{few_entries[0], few_entries[0]});
  auto reader = queue.signal_log();
  for (int i = 0; i < 5; ++i) queue.complete();
  const auto found = read_all(reader);
  CHECK(found.values() == values{4, 5});
  CHECK(found.lost == 3);
}

TEST_CASE("[A88] an entry that is committed out of turn is counted, and nothing is lost") {
  progress own;
  tidemark::basic_queue<progress, ticking_clock> queue{own};
  const std::string out_of_turn = "an entry of a log is committed out of turn";
  auto signals = queue.signal_reserver();
  auto reader = queue.signal_log();
  std::array<tidemark::log_reservation, 4> list;
  for (auto& each : list) each = signals.reserve();
  queue.complete(list[1]);  // before the first one
  CHECK(taken() == texts{out_of_turn});
  queue.complete(list[0]);  // its turn has gone by
  CHECK(taken() == texts{out_of_turn});
  queue.complete(list[2]);
  CHECK(taken().empty());
  queue.complete(list[2]);  // once more
  CHECK(taken() == texts{out_of_turn});
  queue.complete(list[3]);
  CHECK(taken().empty());
  CHECK(queue.commits(fence_log_type::signal) == tidemark::log_commits{1, 1, 3});
  CHECK(read_all(reader).values() == values{1, 2, 3, 4, 5});
}

TEST_CASE("[A88] a second reserver of a log is told, and its entries are committed out of turn") {
  progress own;
  tidemark::basic_queue<progress, ticking_clock> queue{own};
  auto first = queue.signal_reserver();
  CHECK(taken().empty());
  auto second = queue.signal_reserver();
  CHECK(taken() == texts{"a log has one reserver"});
  auto reader = queue.signal_log();
  queue.complete(first.reserve());
  queue.complete(second.reserve());
  CHECK(taken() == texts{"an entry of a log is committed out of turn"});
  CHECK(read_all(reader).values() == values{1, 2});
}

TEST_CASE("[A119] a verbose log that was never enabled is empty") {
  progress own;
  tidemark::basic_queue<progress, ticking_clock> queue{own};
  auto reader = queue.verbose_log();
  CHECK(taken() == texts{"the verbose log of a queue was never enabled"});
  CHECK(read_all(reader).entries.empty());
  queue.enable_verbose(tidemark::verbose_events::all);
  CHECK(taken().empty());
}

namespace {

template <std::size_t N, tidemark::writers Writers>
using begun_log = tidemark::ring_log<std::uint64_t, N, tidemark::log_form::stamped, tidemark::native_platform, Writers>;

template <tidemark::log_form Form, tidemark::writers Writers = tidemark::writers::one>
void check_unfit_ring_logs() {
  using placed_log = tidemark::ring_log<std::uint64_t, std::dynamic_extent, Form, tidemark::native_platform, Writers>;
  alignas(8) static std::array<std::byte, 512> memory{};
  const auto works = [](placed_log& log) {
    auto reader = log.reader();
    log.append(7);
    std::array<std::uint64_t, 4> buffer{};
    const auto batch = reader.read(buffer);
    CHECK(batch.entries.size() == 1);
    return batch.entries[0] == 7;
  };
  for (const std::size_t entries : {std::size_t{0}, std::size_t{1}}) {
    placed_log log{entries};
    CHECK(taken() == few_entries);
    CHECK(log.page().entries() == 2);
    CHECK(works(log));
  }
  {
    placed_log log{std::span{memory}.first(40)};
    CHECK(taken() == few_entries);
    CHECK(works(log));
  }
  {
    placed_log log{std::span{memory}.subspan(4)};
    CHECK(taken() == misaligned);
    CHECK(works(log));
    CHECK(log.page().entries() == placed_log::page_type::entries_in(508));
  }
  CHECK(memory == std::array<std::byte, 512>{});
  CHECK(placed_log::page_type::nearest_entries(SIZE_MAX) < std::size_t{1} << 31);
  CHECK(taken() == few_entries);
}

}  // namespace

TEST_CASE("a ring log of fewer than two entries, or in memory that is unfit, works in memory of its own") {
  check_unfit_ring_logs<tidemark::log_form::stamped>();
  check_unfit_ring_logs<tidemark::log_form::header_only>();
  check_unfit_ring_logs<tidemark::log_form::stamped, tidemark::writers::several>();
}

TEST_CASE("a ring log of several producers that was to begin with 2^63 or more begins without the top bit, and works") {
  using fixed = begun_log<4, tidemark::writers::several>;
  using placed = begun_log<std::dynamic_extent, tidemark::writers::several>;
  using of_one = begun_log<4, tidemark::writers::one>;
  constexpr std::uint64_t top = std::uint64_t{1} << 63;
  const auto begins_with = [](auto& log, std::uint64_t first) {
    auto reader = log.reader();
    CHECK(log.page().first_sequence() == first);
    CHECK(reader.next_sequence() == first);
    log.append(7);
    std::array<std::uint64_t, 4> buffer{};
    const auto batch = reader.read(buffer);
    CHECK(batch.lost == 0);
    REQUIRE(batch.entries.size() == 1);
    CHECK(batch.entries[0] == 7);
  };
  const texts expected{"a ring log of several producers begins with a number below 2^63"};
  alignas(8) static std::array<std::byte, 512> memory{};
  for (const std::uint64_t first : {top, top + 5, UINT64_MAX - 9}) {
    fixed inside{{.first_sequence = first}};
    CHECK(taken() == expected);
    begins_with(inside, first - top);
    placed allocated{4, {.first_sequence = first}};
    CHECK(taken() == expected);
    begins_with(allocated, first - top);
    placed given{memory, {.first_sequence = first}};
    CHECK(taken() == expected);
    begins_with(given, first - top);
    of_one any{{.first_sequence = first}};
    begins_with(any, first);
  }
  fixed last{{.first_sequence = top - 1}};
  begins_with(last, top - 1);
  CHECK(taken().empty());
}

TEST_CASE("[C5] where a wait within an unbroken run is asserted and goes on, the commands are executed with breaks") {
  tidemark::engine engine{{.threads = 0}};
  tidemark::engine_queue queue{engine, {.quantum = 1}};
  tidemark::engine_queue other{engine, {.quantum = 1}};
  tidemark::fence input;
  std::string order;
  {
    tidemark::unbroken_run run{queue};
    run.run([&] { order += 'a'; });
    queue.wait(input, 1);
    run.run([&] { order += 'b'; });
    run.run([&] { order += 'c'; });
    CHECK(run.end() == tidemark::unbroken_status::invalid);
    CHECK(run.end() == tidemark::unbroken_status::invalid);
  }
  CHECK(taken() == texts{"an unbroken run has a wait, or another unbroken run, within it"});
  REQUIRE(queue.submit());
  const auto step = [&] {
    while (engine.loop().poll() != 0) {
    }
  };
  step();
  CHECK(order == "a");  // the wait parks the queue, as everywhere
  input.signal(1);
  for (int n = 0; n < 4; ++n) other.run([&] { order += '-'; });
  REQUIRE(other.submit());
  step();
  CHECK(order.find("bc") == std::string::npos);
  CHECK(queue.is_idle());
}

TEST_CASE("[C5] an unbroken run that is submitted before its end is executed as if it were none") {
  tidemark::engine engine{{.threads = 0}};
  tidemark::engine_queue queue{engine};
  int ran = 0;
  {
    tidemark::unbroken_run run{queue};
    run.run([&] { ++ran; });
    REQUIRE(queue.submit());
    while (engine.loop().poll() != 0) {
    }
    for (int n = 0; n < 9; ++n) run.run([&] { ++ran; });
    CHECK(run.end() == tidemark::unbroken_status::invalid);
  }
  REQUIRE(queue.submit());
  while (engine.loop().poll() != 0) {
  }
  CHECK(ran == 10);
  CHECK(taken() == texts{});
}

TEST_CASE("[C5] where a wait within an engine-wide run is asserted and goes on, the run is none, and nothing hangs") {
  tidemark::engine engine{{.threads = 2}};
  tidemark::engine_queue queue{engine, {.quantum = 1}};
  tidemark::engine_queue other{engine, {.quantum = 1}};
  tidemark::fence input;
  const auto dog = watch(input);
  bool has_run = false;
  {
    tidemark::unbroken_run run{queue, tidemark::unbroken_scope::whole_engine};
    run.run([] {});
    queue.wait(input, 1);
    run.run([&] { has_run = true; });
    CHECK(run.end() == tidemark::unbroken_status::invalid);
  }
  CHECK(taken() == texts{"an unbroken run has a wait, or another unbroken run, within it"});
  REQUIRE(queue.submit());
  other.wait(queue.progress(), 0);
  other.signal(input, 1);  // by another queue of the same engine
  REQUIRE(other.submit());
  CHECK(queue.drain() == wait_status::reached);
  CHECK(has_run);
}

TEST_CASE("[C5] where a command of an engine-wide run runs the loop and goes on, nothing runs there") {
  tidemark::engine engine{{.threads = 0}};
  tidemark::engine_queue queue{engine};
  tidemark::engine_queue other{engine};
  std::string order;
  {
    tidemark::unbroken_run run{queue, tidemark::unbroken_scope::whole_engine};
    run.run([&] {
      order += engine.loop().poll() == 0 ? 'a' : '-';
      order += engine.loop().run_one() == tidemark::run_status::stopped ? 'b' : '-';
      order += engine.loop().run() == tidemark::run_status::stopped ? 'c' : '-';
    });
    run.run([&] { order += 'd'; });
  }
  REQUIRE(queue.submit());
  other.run([&] { order += 'o'; });
  REQUIRE(other.submit());
  while (engine.loop().poll() != 0) {
  }
  CHECK(order.find("abcd") != std::string::npos);
  CHECK(order.size() == 5);
  CHECK(taken() == texts(3, "a command of an engine-wide run ran the loop of the engine"));
}

TEST_CASE("[A88] where taking back an entry that is not reserved is asserted and goes on, nothing is taken back") {
  tidemark::progress_fence own;
  tidemark::queue queue{own};
  auto signals = queue.signal_reserver();
  const auto entry = signals.reserve();
  signals.take_back(entry);
  CHECK(signals.reserve().turn == 0);
  signals.take_back({tidemark::reserve_status::reserved, 5, 5});
  CHECK(taken() == texts{"an entry is taken back that is not reserved"});
  CHECK(signals.reserve().turn == 1);
}
