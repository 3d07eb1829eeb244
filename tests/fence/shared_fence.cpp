// SPDX-License-Identifier: BSL-1.0
//
// Fences that processes share: attachments, signals and waits across processes, and what they say about each other.
#include <tidemark/fence/shared_fence.hpp>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/looked_at.hpp>
#include <tidemark/fence/wait_many.hpp>
#include <tidemark/log/mapped_log.hpp>
#include <tidemark/memory/upload_ring.hpp>

#include "support/child.hpp"
#include "support/processes.hpp"
#include "support/repetitions.hpp"
#include "support/shared_kinds.hpp"
#include "support/shared_memory.hpp"
#include "support/shared_stand.hpp"
#include "support/threads_after_fork.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace tidemark;
using namespace std::chrono_literals;

namespace {

template <class Attachment>
concept may_signal = requires(Attachment& of) { of.signal(std::uint64_t{1}); };
static_assert(may_signal<shared_fence> && may_signal<shared_progress_fence>);
static_assert(!may_signal<shared_fence_waiter> && !may_signal<shared_progress_fence_waiter>);
static_assert(!may_signal<shared_fence_reader> && !may_signal<shared_progress_fence_reader>);
static_assert(!timeline<shared_fence>);
static_assert(timeline<latched_fence<shared_fence>>);

/// Returns the files as another process gets them.
shared_files duplicate(const shared_files& of) {
  shared_files sent;
  std::array<int, 2> sockets{};
  REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets.data()) == 0);
  const detail::file_descriptor here{sockets[0]};
  const detail::file_descriptor there{sockets[1]};
  CHECK(of.send(here.get()));
  CHECK(shared_files::receive(sent, there.get()));
  return sent;
}

/// Sleeps until the fence has a waiter for `target` in some process.
template <class Fence>
void await_sleeper(const Fence& of, std::uint64_t target) {
  while (of.monitored_value() != target - 1) std::this_thread::sleep_for(1ms);
}

/// Whom attachments tell what happens to them, in one process or several: each event is a word in a pipe.
class event_trace {
 public:
  event_trace() {
    std::array<int, 2> ends{};
    REQUIRE(pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC) == 0);
    from_ = detail::file_descriptor{ends[0]};
    to_ = detail::file_descriptor{ends[1]};
  }

  /// Of this process, whose events have `prefix` before them.
  shared_observer observer(std::string_view prefix = {}) {
    prefix_ = prefix;
    return {[](void* context, shared_event what, std::uint32_t attachment) noexcept {
              static_cast<event_trace*>(context)->add(what, attachment);
            },
            this};
  }
  /// All events so far, in their order.
  std::string text() {
    std::array<char, 512> part{};
    for (;;) {
      const ssize_t got = read(from_.get(), part.data(), part.size());
      if (got <= 0) return text_;
      text_.append(part.data(), static_cast<std::size_t>(got));
    }
  }

 private:
  void add(shared_event what, std::uint32_t attachment) noexcept {
    std::string word{prefix_};
    switch (what) {
      case shared_event::created:
        word += "create, ";
        break;
      case shared_event::opened:
        word += "open(" + std::to_string(attachment) + "), ";
        break;
      case shared_event::closed:
        word += "close(" + std::to_string(attachment) + "), ";
        break;
      case shared_event::destroyed:
        word += "destroy, ";
        break;
    }
    if (write(to_.get(), word.data(), word.size()) != static_cast<ssize_t>(word.size())) std::abort();
  }

  detail::file_descriptor from_;
  detail::file_descriptor to_;
  std::string prefix_;
  std::string text_;
};

}  // namespace

TYPE_TO_STRING_AS("several", several);
TYPE_TO_STRING_AS("one", one);

TEST_CASE_TEMPLATE("a signal of one process wakes the threads of another one that are due, and no other", Kind, several,
                   one) {
  const watchdog dog{[] { return std::string{"two processes"}; }};
  auto made = Kind::signaller::create();
  REQUIRE(made);
  auto& fence = made.fence;
  child_process child{[&] {
    auto opened = Kind::waiter::open(fence.files());
    if (!opened) return 1;
    const auto waits = [&](std::uint64_t target) { return opened.fence.wait(target) == wait_status::reached; };
    bool are_reached = false;
    if (may_start_threads_after_fork) {
      bool is_late_one_reached = false;
      std::thread late{[&] { is_late_one_reached = waits(9); }};
      const bool is_early_one_reached = waits(3);
      late.join();
      are_reached = is_early_one_reached && is_late_one_reached;
    } else {
      are_reached = waits(3) && waits(9);
    }
    return are_reached && opened.fence.current_value() == 9 ? 0 : 2;
  }};
  await_sleeper(fence, 3);
  fence.signal(2);
  CHECK(fence.monitored_value() == 2);
  fence.signal(3);
  await_sleeper(fence, 9);
  fence.signal(9);
  CHECK(child.wait() == 0);
  CHECK(fence.monitored_value() == no_waiter);
}

TEST_CASE_TEMPLATE("three processes wait and signal in turns", Kind, several) {
  const watchdog dog{[] { return std::string{"turns"}; }};
  auto made = Kind::signaller::create();
  REQUIRE(made);
  constexpr std::uint64_t rounds = 300;
  std::vector<child_process> children;
  for (std::uint64_t which = 0; which < 3; ++which) {
    children.emplace_back([&made, which] {
      auto opened = Kind::signaller::open(made.fence.files());
      if (!opened) return 1;
      for (std::uint64_t turn = which; turn < 3 * rounds; turn += 3) {
        if (opened.fence.wait(turn) != wait_status::reached) return 2;
        if (!opened.fence.signal(turn + 1)) return 3;
      }
      return 0;
    });
  }
  for (child_process& child : children) CHECK(child.wait() == 0);
  CHECK(made.fence.current_value() == 3 * rounds);
}

TEST_CASE_TEMPLATE("[A7] a signal for which no thread of any process waits notifies nobody", Kind, several, one) {
  auto made = Kind::signaller::create();
  auto waiter = Kind::waiter::open(made.fence.files());
  REQUIRE(waiter);
  CHECK(waiter.fence.wait_for(1, 1us) == wait_status::timeout);
  for (std::uint64_t value = 1; value <= 1'000'000; ++value) made.fence.signal(value);
  CHECK(made.fence.notify_count() == 0);
}

TEST_CASE_TEMPLATE(
    "[A8][A43][A127] an attachment shows where both values lie, and a second mapping shows what the first one stores",
    Kind, several, one) {
  auto made = Kind::signaller::create();
  auto reader = Kind::reader::open(made.fence.files());
  REQUIRE(reader);
  CHECK(reader.fence.value_address() != made.fence.value_address());
  made.fence.signal(41);
  CHECK(*static_cast<const volatile std::uint64_t*>(reader.fence.value_address()) == 41);
  CHECK(*static_cast<const volatile std::uint64_t*>(made.fence.monitored_address()) == no_waiter);
  CHECK(reader.fence.current_value() == 41);
  CHECK(reader.fence.is_reached(41));
  CHECK(reader.fence.view().current_value() == 41);
}

TEST_CASE("[A38] [A42] a shared fence says what it has before it is opened") {
  constexpr bool is_safe = shared_fence::survives_kills;
  const auto barriers = shared_progress_fence::negotiate<if_there<asymmetric_barriers>, if_there<kill_safety>>();
  REQUIRE(barriers);
  CHECK(barriers->has<kill_safety>() == is_safe);
  // What was agreed on is there: the system takes the registration, and the attachment pins nothing.
  auto made = shared_progress_fence::create();
  REQUIRE(made);
  made.fence.signal(1);
  CHECK((made.fence.notify_count() == 0) ==
        (barriers->has<asymmetric_barriers>() || !shared_progress_fence::platform::asymmetric));

  const auto refused = shared_fence_waiter::negotiate<asymmetric_barriers>();
  CHECK(refused.status == negotiate_status::not_offered);
  CHECK(refused.name == "asymmetric_barriers");
  CHECK(shared_progress_fence_reader::negotiate<rewindable_values>().status == negotiate_status::not_offered);
  CHECK(shared_fence::negotiate<signal_logs>().name == "signal_logs");

  constexpr std::array only_safety{enabled_feature{kill_safety::id}};
  CHECK(static_cast<bool>(shared_progress_fence::negotiate<kill_safety>(feature_host{only_safety})) == is_safe);
  CHECK(!shared_progress_fence::negotiate<asymmetric_barriers>(feature_host{only_safety}));
}

TEST_CASE("[A127] whoever writes through the mapping of a reader or a waiter faults alone") {
  auto made = shared_fence::create();
  REQUIRE(made);
  const auto writes = [&](const auto& opened) {
    if (!opened) return 1;
    *const_cast<volatile std::uint64_t*>(static_cast<const std::uint64_t*>(opened.fence.value_address())) = 7;
    return 0;
  };
  child_process reader{[&] {
    std::signal(SIGSEGV, SIG_DFL);
    return writes(shared_fence_reader::open(made.fence.files()));
  }};
  CHECK(reader.wait() == 128 + SIGSEGV);
  child_process waiter{[&] {
    std::signal(SIGSEGV, SIG_DFL);
    return writes(shared_fence_waiter::open(made.fence.files()));
  }};
  CHECK(waiter.wait() == 128 + SIGSEGV);
  CHECK(made.fence.current_value() == 0);
  CHECK(made.fence.signal(1));
}

TEST_CASE("[A85] an agent in another process is woken by a shared fence, and drains the log through its own mapping") {
  const watchdog dog{[] { return std::string{"agent"}; }};
  using log_type = ring_log<fence_log_entry, std::dynamic_extent>;
  const std::size_t bytes = log_type::page_type::bytes_for(64);
  const shared_memory memory{bytes};
  auto made = shared_progress_fence_waiter::create();
  REQUIRE(made);
  log_type log{std::span{static_cast<std::byte*>(memory.here()), bytes},
               {.type = static_cast<std::uint32_t>(fence_log_type::signal)}};
  child_process producer{[&] {
    auto opened = shared_progress_fence::open(made.fence.files());
    if (!opened) return 1;
    for (std::uint64_t value = 1; value <= 20; ++value) {
      log.append({.fence_value = value});
      opened.fence.signal(value);
    }
    return 0;
  }};
  const auto* const mapped = static_cast<const std::byte*>(memory.map(PROT_READ));
  REQUIRE(mapped != nullptr);
  auto opened = mapped_fence_log::open({mapped, bytes}, fence_log_type::signal);
  REQUIRE(opened);
  CHECK(made.fence.wait(20) == wait_status::reached);
  std::array<fence_log_entry, 32> buffer;
  const auto batch = opened.reader->read(buffer);
  REQUIRE(batch.entries.size() == 20);
  CHECK(batch.entries.back().fence_value == 20);
  CHECK(producer.wait() == 0);
}

TEST_CASE("[A46][A47][A48][A49][A50][A51] the creator opens, too; the fence outlives it; the last one destroys it") {
  event_trace trace;
  auto a = shared_fence::create({.observer = trace.observer()});
  REQUIRE(a);
  CHECK(trace.text() == "create, open(0), ");
  const auto global = a.fence.id();
  auto b = shared_fence::open(a.fence.files(), {.observer = trace.observer()});
  REQUIRE(b);
  CHECK(b.fence.id() == global);
  CHECK(b.fence.index() != a.fence.index());
  a.fence.close();
  CHECK(trace.text() == "create, open(0), open(1), close(0), ");
  CHECK(b.fence.signal(5));
  CHECK(b.fence.wait(5) == wait_status::reached);
  b.fence.close();
  CHECK(trace.text() == "create, open(0), open(1), close(0), close(1), destroy, ");
}

TEST_CASE("[A46][A47][A48][A49][A50] of two processes the creator ends first, and the other one destroys the fence") {
  const watchdog dog{[] { return std::string{"two processes"}; }};
  event_trace trace;
  auto made = shared_fence::create({.observer = trace.observer("a:")});
  REQUIRE(made);
  stand_child b{[&](auto arrive) {
    auto opened = shared_fence::open(made.fence.files(), {.observer = trace.observer("b:")});
    require(opened && opened.fence.wait(1) == wait_status::reached, "b does not see the creator's signal");
    arrive();
    require(opened.fence.signal(2) && opened.fence.wait(2) == wait_status::reached, "b can't go on alone");
  }};
  CHECK(made.fence.signal(1));
  REQUIRE(b.has_arrived());
  CHECK(trace.text() == "a:create, a:open(0), b:open(1), ");
  made.fence.close();
  b.go_on();
  CHECK(b.end() == 0);
  CHECK(trace.text() == "a:create, a:open(0), b:open(1), a:close(0), b:close(1), b:destroy, ");
}

TEST_CASE("[A46][A47][A48][A49][A50] of three processes the creator ends first, and two go on; the last one destroys") {
  const watchdog dog{[] { return std::string{"three processes"}; }};
  event_trace trace;
  auto made = shared_fence::create({.observer = trace.observer("a:")});
  REQUIRE(made);
  stand_child b{[&](auto arrive) {
    auto opened = shared_fence::open(made.fence.files(), {.observer = trace.observer("b:")});
    require(static_cast<bool>(opened), "b is not attached");
    arrive();
    require(opened.fence.wait(2) == wait_status::reached, "b does not see c's signal");
  }};
  REQUIRE(b.has_arrived());
  stand_child c{[&](auto arrive) {
    auto opened = shared_fence::open(made.fence.files(), {.observer = trace.observer("c:")});
    require(opened && opened.fence.wait(1) == wait_status::reached, "c does not see the creator's signal");
    arrive();
    require(opened.fence.signal(2), "c can't signal");
    arrive();
    require(opened.fence.signal(3) && opened.fence.wait(3) == wait_status::reached, "c can't go on alone");
  }};
  CHECK(made.fence.signal(1));
  REQUIRE(c.has_arrived());
  std::string expected = "a:create, a:open(0), b:open(1), c:open(2), ";
  CHECK(trace.text() == expected);
  made.fence.close();
  b.go_on();
  c.go_on();
  CHECK(b.end() == 0);
  CHECK(trace.text() == (expected += "a:close(0), b:close(1), "));
  REQUIRE(c.has_arrived());
  c.go_on();
  CHECK(c.end() == 0);
  CHECK(trace.text() == (expected += "c:close(2), c:destroy, "));
}

TEST_CASE("[A46][A50] where the creator can't open, the fence that it has made is destroyed") {
  event_trace trace;
  const child_end ended = run_in_child([&] {
    // Room for the two files, and for no descriptor of the attachment.
    const detail::file_descriptor next{dup(STDERR_FILENO)};
    const auto most = static_cast<rlim_t>(next.get()) + 3;
    const rlimit few{most, most};
    require(setrlimit(RLIMIT_NOFILE, &few) == 0, "the limit is refused");
    const auto made = shared_fence::create({.observer = trace.observer()});
    require(!made && made.error == EMFILE, "it is made");
  });
  INFO(ended.errors);
  CHECK(ended.exit_status == 0);
  CHECK(trace.text() == "create, destroy, ");
}

TEST_CASE("modes that files in memory can't have are refused by field") {
  const auto made = shared_fence::create({.modes = {0777, 0777}});
  if (made) {
    MESSAGE("not tested: files in memory that may not be executable, which this kernel lets be");
    return;
  }
  CHECK(made.status == shared_open_status::refused);
  CHECK(to_string(made.field) == "rights");
  CHECK(made.error == EPERM);
}

TEST_CASE("[A52] what does not fit is refused, and the field is named") {
  auto made = shared_fence::create({.waiter_slots = 8, .attachments = 4});
  REQUIRE(made);
  const shared_options same{.waiter_slots = 8, .attachments = 4};
  CHECK(shared_fence::open(made.fence.files(), same));
  const auto field_of = [](const auto& opened) {
    CHECK(!opened);
    CHECK(opened.status == shared_open_status::invalid);
    CHECK(!opened.fence.is_open());
    return to_string(opened.field);
  };
  CHECK(field_of(shared_progress_fence::open(made.fence.files(), same)) == "value_kind");
  CHECK(field_of(shared_fence::open(made.fence.files(), {.waiter_slots = 16, .attachments = 4})) == "waiter_slots");
  CHECK(field_of(shared_fence::open(made.fence.files(), {.waiter_slots = 8, .attachments = 8})) == "attachments");
  CHECK(field_of(shared_fence::create({.waiter_slots = 0})) == "waiter_slots");
  CHECK(field_of(shared_fence::create({.waiter_slots = 5000})) == "waiter_slots");
  using other_form = basic_shared_fence<shared_platform, writers::several, shared_rights::signal>;
  if (shared_platform::asymmetric) CHECK(field_of(other_form::open(made.fence.files(), same)) == "options");
  CHECK(shared_fence::open(shared_files{}).status == shared_open_status::refused);
}

TEST_CASE("files are sent over a socket, and name the same fence") {
  auto made = shared_progress_fence::create();
  REQUIRE(made);
  std::array<int, 2> sockets{};
  REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets.data()) == 0);
  CHECK(made.fence.files().send(sockets[0]));
  shared_files received;
  CHECK(shared_files::receive(received, sockets[1]));
  auto opened = shared_progress_fence_waiter::open(received);
  REQUIRE(opened);
  CHECK(opened.fence.id() == made.fence.id());
  made.fence.signal(3);
  CHECK(opened.fence.is_reached(3));
  close(sockets[0]);
  close(sockets[1]);
}

TEST_CASE("no segment takes the number of a standard stream, to which a program may print although it has closed it") {
  const stand_name name{"streams"};
  child_process closing{[&] {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) return 1;
    auto sent = shared_fence::create();
    if (!sent || !sent.fence.files().send(ends[0])) return 2;
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(stream);

    shared_files files;
    if (!shared_files::receive(files, ends[1])) return 3;
    const auto opened = shared_fence::open(files);
    const auto made = shared_fence::create();
    const auto named = shared_fence::open_or_create(name);
    const auto reader = shared_fence_reader::open(name);
    if (!opened || !made || !named || !reader) return 4;
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
      if (::fcntl(stream, F_GETFD) != -1) return 5;
    }
    return 0;
  }};
  CHECK(closing.wait() == 0);
}

TEST_CASE("a name is opened by several, removed by the last one, and made anew") {
  const stand_name name{"named"};
  CHECK(shared_fence::open(name).status == shared_open_status::unknown);
  auto first = shared_fence::open_or_create(name);
  REQUIRE(first);
  auto second = shared_fence::open(name);
  REQUIRE(second);
  CHECK(first.fence.id() == second.fence.id());
  CHECK(first.fence.signal(4));
  CHECK(second.fence.current_value() == 4);
  const auto id = first.fence.id();
  first.fence.close();
  second.fence.close();
  CHECK(shared_fence::open(name).status == shared_open_status::unknown);
  auto next = shared_fence::open_or_create(name);
  REQUIRE(next);
  CHECK(next.fence.id() != id);
  CHECK(next.fence.current_value() == 0);
}

TEST_CASE("[A50] of several that close a name at the same moment, the one that has removed it is told") {
  const watchdog dog{[] { return std::string{"closing at once"}; }};
  const stand_name name{"closed-at-once"};
  repetitions rounds{1000};
  while (rounds.goes_on()) {
    constexpr int closers = 4;
    std::atomic<int> attached{0};
    std::atomic<int> told{0};
    const shared_observer observer{[](void* count, shared_event what, std::uint32_t) noexcept {
                                     if (what == shared_event::destroyed) ++*static_cast<std::atomic<int>*>(count);
                                   },
                                   &told};
    const auto opens_and_closes = [&] {
      auto opened = shared_fence::open_or_create(name, {.patience = patience, .observer = observer});
      CHECK(opened);
      ++attached;
      while (attached < closers) std::this_thread::yield();
      opened.fence.close();
    };
    std::vector<std::thread> threads;
    while (threads.size() < closers) threads.emplace_back(opens_and_closes);
    for (std::thread& each : threads) each.join();
    // Who does not get the byte of the name soon enough leaves the name to the next open.
    CHECK(told == (name.is_there() ? 0 : 1));
  }
}

TEST_CASE("a second signaller of a progress fence is refused while the first one lives, and goes on behind it") {
  auto first = shared_progress_fence::create();
  REQUIRE(first);
  const shared_files files = duplicate(first.fence.files());
  const auto refused = shared_progress_fence::open(files);
  CHECK(refused.status == shared_open_status::busy);
  CHECK(refused.field == shared_field::rights);
  CHECK(first.fence.signal_next() == 1);
  first.fence.close();
  auto second = shared_progress_fence::open(files);
  REQUIRE(second);
  CHECK(second.fence.current_value() == 1);
  CHECK(second.fence.signal_next() == 2);
}

TEST_CASE("of two signallers of a progress fence that open at once, one is attached") {
  auto made = shared_progress_fence_waiter::create();
  REQUIRE(made);
  for (int round = 0; round < 300; ++round) {
    std::atomic<int> ready{0};
    std::array<bool, 2> is_attached{};
    const auto opens = [&](std::size_t which) {
      ++ready;
      while (ready < 2) std::this_thread::yield();
      auto opened = shared_progress_fence::open(made.fence.files());
      is_attached[which] = static_cast<bool>(opened);
      ++ready;
      while (ready < 4) std::this_thread::yield();
    };
    std::thread other{[&] { opens(1); }};
    opens(0);
    other.join();
    REQUIRE(is_attached[0] != is_attached[1]);
  }
}

TEST_CASE("a waiter that takes the number of a signaller that has gone is not taken for a signaller") {
  auto made = shared_progress_fence::create();
  REQUIRE(made);
  auto waiter = shared_progress_fence_waiter::open(made.fence.files());
  REQUIRE(waiter);
  const shared_files files = duplicate(made.fence.files());
  made.fence.close();
  // As a waiter that has not come to its record yet.
  const detail::file_descriptor opening = detail::open_anew(files.waiters(), O_RDWR);
  REQUIRE(detail::byte_locks{opening.get()}.try_lock(0) == detail::byte_lock::locked);
  auto next = shared_progress_fence::open(files);
  REQUIRE(next);
  CHECK(next.fence.index() == 2);
}

TEST_CASE("a wait ends by its deadline and by a stop") {
  auto made = shared_progress_fence::create();
  auto waiter = shared_progress_fence_waiter::open(made.fence.files());
  REQUIRE(waiter);
  CHECK(waiter.fence.wait_for(1, 0ms) == wait_status::timeout);
  CHECK(waiter.fence.wait_for(1, 2ms) == wait_status::timeout);
  CHECK(waiter.fence.wait_until(1, std::chrono::system_clock::now() + 2ms) == wait_status::timeout);
  CHECK(made.fence.monitored_value() == no_waiter);
#if defined(__cpp_lib_jthread)
  std::stop_source stop;
  std::thread stops{[&] {
    await_sleeper(made.fence, 7);
    stop.request_stop();
  }};
  CHECK(waiter.fence.wait(7, stop.get_token()) == wait_status::stopped);
  stops.join();
#endif
  made.fence.signal(7);
  CHECK(waiter.fence.wait(7) == wait_status::reached);
}

TEST_CASE("the maker of a name is told so, and who opens it is not") {
  const stand_name name{"told"};
  event_trace trace;
  auto first = shared_fence::open_or_create(name, {.observer = trace.observer()});
  REQUIRE(first);
  CHECK(trace.text() == "create, open(0), ");
  auto second = shared_fence::open_or_create(name, {.observer = trace.observer()});
  REQUIRE(second);
  CHECK(trace.text() == "create, open(0), open(1), ");
}

TEST_CASE("whatever an attachment answers has a name") {
  auto made = shared_fence::create({.label = "this one"});
  REQUIRE(made);
  CHECK(to_string(made.status) == "attached");
  CHECK(to_string(made.field) == "none");
  CHECK(to_string(made.fence.signallers()) == "present");
  made.fence.for_each_attachment([](const shared_attachment& each) { CHECK(to_string(each.rights) == "signal"); });
  made.fence.for_each_attachment([](auto& each) { CHECK(each.index == 0); });
  made.fence.for_each_attachment([told = 0](const shared_attachment&) mutable { CHECK(++told == 1); });
  std::ostringstream out;
  out << made.status << ' ' << shared_signallers::died << ' ' << shared_rights::look;
  CHECK(out.str() == "attached died look");
}

TEST_CASE("a thread that is cancelled makes, opens and uses attachments, and ends at a call of its own") {
  const stand_name name{"cancelled"};
  bool is_through = false;
  std::thread cancelled{[&] {
    pthread_cancel(pthread_self());
    auto made = shared_fence::create();
    auto opened = shared_fence_waiter::open(made.fence.files());
    auto named = shared_fence::open_or_create(name);
    const shared_files sent = duplicate(made.fence.files());
    opened.fence.look();
    is_through = made && opened && named && sent && opened.fence.wait_for(1, 1ms) == wait_status::timeout &&
                 made.fence.signal(1) && opened.fence.wait(1) == wait_status::reached;
  }};
  cancelled.join();
  CHECK(is_through);
}

TEST_CASE("waits, looks and signals leave errno as it is") {
  auto made = shared_fence::create();
  REQUIRE(made);
  auto opened = shared_fence_waiter::open(made.fence.files());
  REQUIRE(opened);
  const auto keeps_errno = [](const auto& call) {
    errno = 77;
    call();
    return errno == 77;
  };
  CHECK(keeps_errno([&] { opened.fence.look(); }));
  CHECK(keeps_errno([&] { static_cast<void>(opened.fence.wait_for(1, 1ms)); }));
  CHECK(keeps_errno([&] { static_cast<void>(opened.fence.is_lost()); }));
  CHECK(keeps_errno([&] { made.fence.signal(1); }));
}

TEST_CASE("a patience without end is not over at once") {
  const stand_name name{"patient"};
  auto first = shared_fence::open_or_create(name);
  REQUIRE(first);
  // As somebody who is opening the name.
  const std::string path = "/dev/shm/" + std::string{shared_name(name).name};
  detail::file_descriptor waiters{open(path.c_str(), O_RDWR | O_CLOEXEC)};
  REQUIRE(detail::byte_locks{waiters.get()}.try_lock_name() == detail::byte_lock::locked);
  std::atomic<int> tries{0};
  std::thread gives_way{[&] {
    while (tries == 0) std::this_thread::yield();
    waiters.reset();
  }};
  CHECK(shared_fence::open(name, {.patience = 0ns}).status == shared_open_status::busy);
  ++tries;
  const auto opened = shared_fence::open(name, {.patience = std::chrono::nanoseconds::max()});
  gives_way.join();
  CHECK(opened.status == shared_open_status::attached);
}

TEST_CASE("more waiters than slots look again, and are all released") {
  const watchdog dog{[] { return std::string{"no slot"}; }};
  const shared_options few{.waiter_slots = 2};
  auto made = shared_fence::create(few);
  REQUIRE(made);
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) threads.emplace_back([&] { CHECK(made.fence.wait(1) == wait_status::reached); });
  await_sleeper(made.fence, 1);
  made.fence.signal(1);
  for (std::thread& each : threads) each.join();
  CHECK(made.fence.monitored_value() == no_waiter);
}

TEST_CASE_TEMPLATE("a fence without a signaller waits for the first one; lost is a state that a new one ends", Kind,
                   several, one) {
  const watchdog dog{[] { return std::string{"lost"}; }};
  auto made = Kind::signaller::create();
  REQUIRE(made);
  auto waiter = Kind::waiter::open(made.fence.files());
  REQUIRE(waiter);
  shared_files files;
  std::array<int, 2> sockets{};
  REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets.data()) == 0);
  CHECK(made.fence.files().send(sockets[0]));
  CHECK(shared_files::receive(files, sockets[1]));
  close(sockets[0]);
  close(sockets[1]);
  CHECK(waiter.fence.signallers() == shared_signallers::present);
  CHECK(!waiter.fence.is_lost());
  made.fence.signal(1);
  made.fence.close();
  CHECK(waiter.fence.signallers() == shared_signallers::closed);
  CHECK(waiter.fence.wait(1) == wait_status::reached);
  CHECK(waiter.fence.wait(2) == wait_status::lost);
  CHECK(waiter.fence.is_lost());
  CHECK(waiter.fence.current_value() == 1);
  CHECK(waiter.fence.wait_value(2).value == 1);
  // A block follows it latched.
  const latched_fence followed{waiter.fence};
  CHECK(followed.is_poisoned());
  CHECK(followed.current_value() == UINT64_MAX);

  auto next = Kind::signaller::open(files);
  REQUIRE(next);
  CHECK(!waiter.fence.is_lost());
  CHECK(waiter.fence.wait_for(2, 1ms) == wait_status::timeout);
  std::thread signals{[&] {
    await_sleeper(next.fence, 2);
    next.fence.signal(2);
  }};
  CHECK(waiter.fence.wait(2) == wait_status::reached);
  signals.join();
  CHECK(followed.wait(3) == wait_status::lost);
  CHECK(followed.last_reached() == 2);
}

TEST_CASE("a loss is found where no thread sleeps for the fence") {
  const watchdog dog{[] { return std::string{"found lost"}; }};
  auto made = shared_fence_waiter::create();
  REQUIRE(made);
  const auto signaller_comes_and_dies = [&] {
    child_process signaller{[&] {
      auto opened = shared_fence::open(made.fence.files());
      return opened.fence.signal(opened.fence.current_value() + 1) ? 0 : 1;
    }};
    CHECK(signaller.wait() == 0);
  };
  signaller_comes_and_dies();
  while (!made.fence.is_lost()) std::this_thread::yield();
  CHECK(made.fence.current_value() == 1);
  {
    auto asks_alone = shared_fence_waiter::open(made.fence.files());
    REQUIRE(asks_alone);
    while (asks_alone.fence.wait_for(2, 0ms) != wait_status::lost) std::this_thread::yield();
  }
  auto follows_alone = shared_fence_waiter::open(made.fence.files());
  REQUIRE(follows_alone);
  const latched_fence followed{follows_alone.fence};
  while (followed.current_value() != UINT64_MAX) std::this_thread::yield();
  CHECK(followed.last_reached() == 1);
  CHECK(followed.wait(1) == wait_status::reached);
}

TEST_CASE("a wait with other timelines ends when the last signaller has died") {
  const watchdog dog{[] { return std::string{"mixed and lost"}; }};
  auto made = shared_fence_waiter::create();
  REQUIRE(made);
  const latched_fence followed{made.fence};
  const looked_at looked{followed, 1ms};
  progress_fence own;
  child_process signaller{[&] {
    auto opened = shared_fence::open(made.fence.files());
    opened.fence.signal(1);
    return opened.fence.wait(3) == wait_status::reached ? 0 : 1;  // until it is killed
  }};
  CHECK(wait_any({{looked, 1}, {own, 1}}).index == 0);
  signaller.kill_now();
  const auto [status, index] = wait_any({{looked, 2}, {own, 1}});
  CHECK(status == wait_status::lost);
  CHECK(index == 0);
  CHECK(followed.wait(1) == wait_status::reached);
}

TEST_CASE("nobody has signalled yet: a wait of a waiter that came first goes on until the signaller comes") {
  const watchdog dog{[] { return std::string{"none yet"}; }};
  auto waiter = shared_progress_fence_waiter::create();
  REQUIRE(waiter);
  CHECK(waiter.fence.signallers() == shared_signallers::none_yet);
  CHECK(waiter.fence.wait_for(1, 1ms) == wait_status::timeout);
  child_process child{[&] {
    auto opened = shared_progress_fence::open(waiter.fence.files());
    if (!opened) return 1;
    opened.fence.signal(1);
    // The parent may find the fence lost, or reached; it has reached 1 in any case.
    return 0;
  }};
  CHECK(waiter.fence.wait(1) == wait_status::reached);
  CHECK(child.wait() == 0);
}

TEST_CASE("a program can ask who is attached") {
  auto made = shared_fence::create({.label = "camera"});
  REQUIRE(made);
  auto waiter = shared_fence_waiter::open(made.fence.files(), {.label = "screen"});
  REQUIRE(waiter);
  auto reader = shared_fence_reader::open(made.fence.files(), {.label = "monitor"});
  REQUIRE(reader);
  const auto list = [](const auto& fence) {
    std::string text;
    fence.for_each_attachment([&](const shared_attachment& each) {
      CHECK(each.process == static_cast<std::uint32_t>(getpid()));
      text += std::to_string(each.index) + (each.rights == shared_rights::signal ? " signals " : " waits ");
      text += std::string{each.label.data()} + ", ";
    });
    return text;
  };
  CHECK(list(made.fence) == "0 signals camera, 1 waits screen, ");
  CHECK(list(reader.fence) == "0 signals camera, 1 waits screen, ");
  waiter.fence.close();
  CHECK(list(made.fence) == "0 signals camera, ");
}

TEST_CASE_TEMPLATE("whoever can only look sees the least target of all processes", Kind, several, one) {
  const watchdog dog{[] { return std::string{"least target"}; }};
  auto made = Kind::signaller::create();
  REQUIRE(made);
  auto reader = Kind::reader::open(made.fence.files());
  REQUIRE(reader);
  CHECK(made.fence.least_target() == std::nullopt);
  child_process sleeper{[&] {
    auto opened = Kind::waiter::open(made.fence.files());
    return opened && opened.fence.wait(7) == wait_status::reached ? 0 : 1;
  }};
  await([&] { return made.fence.least_target() == 7; });
  if constexpr (Kind::signaller::survives_kills) CHECK(reader.fence.least_target() == 7);
  made.fence.signal(7);
  CHECK(sleeper.wait() == 0);
  CHECK(made.fence.least_target() == std::nullopt);
  CHECK(reader.fence.least_target() == std::nullopt);
}

TEST_CASE("the child of a fork closes its copy, and opens an attachment of its own") {
  const watchdog dog{[] { return std::string{"fork"}; }};
  auto made = shared_fence::create();
  REQUIRE(made);
  child_process child{[&] {
    auto own = shared_fence::open(made.fence.files());
    if (!own || own.fence.index() == 0) return 1;
    made.fence.close();
    return own.fence.signal(6) ? 0 : 2;
  }};
  CHECK(made.fence.wait(6) == wait_status::reached);
  CHECK(child.wait() == 0);
  CHECK(made.fence.signallers() == shared_signallers::present);
}

TEST_CASE("it is waited for together with fences of this process, and followed by a block") {
  const watchdog dog{[] { return std::string{"mixed"}; }};
  auto made = shared_progress_fence::create();
  REQUIRE(made);
  const latched_fence followed{made.fence};
  const looked_at looked{followed, 1ms};
  progress_fence own;
  std::thread signals{[&] { made.fence.signal(3); }};
  CHECK(wait_any({{looked, 3}, {own, 1}}).index == 0);
  signals.join();
  own.signal(1);
  CHECK(wait_all({{looked, 3}, {own, 1}}) == wait_status::reached);

  upload_ring ring{followed, {.capacity = 64}};
  auto whole = ring.allocate(64);
  REQUIRE(whole);
  ring.retire(4);
  CHECK(!ring.try_allocate(64));
  made.fence.signal(4);
  CHECK(ring.try_allocate(64));
}
