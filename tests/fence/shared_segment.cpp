// SPDX-License-Identifier: BSL-1.0
//
// Segments that processes share: who may open one, who is attached, what is left by the dead, and what a fork does.
#include <tidemark/fence/detail/shared_segment.hpp>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "support/child.hpp"
#include "support/random.hpp"
#include "support/refused.hpp"
#include "support/repetitions.hpp"
#include "support/shared_stand.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::detail::file_descriptor;
using tidemark::detail::global_barrier;
using tidemark::detail::segment_header;
using tidemark::detail::signallers;

namespace {

/// Whether the child of a fork gets mappings that it must not get.
#if defined(TIDEMARK_TEST_EMULATED)
constexpr bool forks_all_mappings = true;
#else
constexpr bool forks_all_mappings = false;
#endif

/// Opens an attachment in a process, takes three slots, and is killed.
void leave_dead(const segment_files& files, attachment_rights rights = attachment_rights::signal) {
  stand_child dead{[&](auto arrive) {
    segment own;
    require(static_cast<bool>(open_at(own, files, rights)), "the child is not attached");
    take_slots(own, 3);
    arrive();
  }};
  CHECK(dead.has_arrived());
}

segment_shape changed(void (*change)(segment_shape&)) {
  segment_shape shape = stand_shape;
  change(shape);
  return shape;
}

void overwrite(int descriptor, const std::function<void(segment_header&)>& change) {
  segment_header header;
  REQUIRE(tidemark::detail::read_header(descriptor, header) == 0);
  change(header);
  REQUIRE(tidemark::detail::write_header(descriptor, header) == 0);
}

std::size_t descriptors_open() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator{"/proc/self/fd"}) ++count;
  return count;
}

}  // namespace

TEST_CASE("[A52] an opening that expects something else is refused, and names the field") {
  const segment_files files = memory_files();
  segment opened;
  const auto field_for = [&](void (*change)(segment_shape&)) {
    const open_result result = opened.open(files, changed(change), {}, [](std::uint32_t) {});
    CHECK(result.status == open_status::invalid);
    CHECK_FALSE(opened.is_open());
    return result.field;
  };
  CHECK(field_for([](segment_shape& shape) { ++shape.value_kind; }) == segment_field::value_kind);
  CHECK(field_for([](segment_shape& shape) { ++shape.double_word; }) == segment_field::double_word);
  CHECK(field_for([](segment_shape& shape) { ++shape.options; }) == segment_field::options);
  CHECK(field_for([](segment_shape& shape) { ++shape.waiter_slots; }) == segment_field::waiter_slots);
  CHECK(field_for([](segment_shape& shape) { ++shape.attachments; }) == segment_field::attachments);
  CHECK(field_for([](segment_shape& shape) { ++shape.value_bytes; }) == segment_field::value_bytes);
  CHECK(field_for([](segment_shape& shape) { ++shape.waiter_bytes; }) == segment_field::waiter_bytes);
  CHECK(tidemark::to_string(segment_field::value_bytes) == "value_bytes");
  CHECK(tidemark::to_string(open_status::invalid) == "invalid");
  CHECK(open_at(opened, files));
}

TEST_CASE("[A52] a file whose header is another one's is refused by field, whichever of the two files it is") {
  for (const bool is_value_file : {true, false}) {
    const segment_files files = memory_files();
    const auto field_of = [&](void (*change)(segment_header&)) {
      const int descriptor = is_value_file ? files.values() : files.waiters();
      segment_header before;
      REQUIRE(tidemark::detail::read_header(descriptor, before) == 0);
      overwrite(descriptor, change);
      segment opened;
      const open_result result = open_at(opened, files);
      overwrite(descriptor, [&](segment_header& header) { header = before; });
      CHECK(result.status == open_status::invalid);
      return result.field;
    };
    CHECK(field_of([](segment_header& header) { header.magic[7] = 'x'; }) == segment_field::magic);
    CHECK(field_of([](segment_header& header) { header.byte_order = 0x04030201; }) == segment_field::byte_order);
    CHECK(field_of([](segment_header& header) { ++header.layout_version; }) == segment_field::layout_version);
    CHECK(field_of([](segment_header& header) { header.word_size ^= 12; }) == segment_field::word_size);
    CHECK(field_of([](segment_header& header) { header.page *= 2; }) == segment_field::page);
    CHECK(field_of([](segment_header& header) { header.file ^= 3; }) == segment_field::file);
    CHECK(field_of([](segment_header& header) { ++header.waiter_slots; }) == segment_field::waiter_slots);
    CHECK(field_of([](segment_header& header) { ++header.value_bytes; }) == segment_field::value_bytes);
    segment opened;
    CHECK(open_at(opened, files));
  }
  const segment_files one = memory_files();
  const segment_files other = memory_files();
  const segment_files mixed{file_descriptor{::dup(one.values())}, file_descriptor{::dup(other.waiters())}, true};
  segment opened;
  CHECK(open_at(opened, mixed).field == segment_field::id);
}

TEST_CASE("a file without the seals is refused, as is one of another size") {
  const auto unsealed = [](std::size_t bytes) {
    file_descriptor made{::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
    REQUIRE(::ftruncate(made.get(), static_cast<off_t>(bytes)) == 0);
    return made;
  };
  const segment_files good = memory_files();
  const std::size_t bytes = tidemark::detail::value_file_size(stand_shape);
  segment_header header;
  REQUIRE(tidemark::detail::read_header(good.values(), header) == 0);
  for (const std::size_t size : {bytes, bytes + 4096}) {
    segment_files bad{unsealed(size), file_descriptor{::dup(good.waiters())}, true};
    segment opened;
    // Nothing is read of such a file: who knows what it does then.
    CHECK(open_at(opened, bad).field == segment_field::seals);
    REQUIRE(tidemark::detail::write_header(bad.values(), header) == 0);
    CHECK(open_at(opened, bad).field == segment_field::seals);
    REQUIRE(::fcntl(bad.values(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0);
    if (size != bytes) CHECK(open_at(opened, bad).field == segment_field::file_size);
  }
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const segment_files no_files{file_descriptor{ends[0]}, file_descriptor{ends[1]}, true};
  segment opened;
  CHECK(open_at(opened, no_files).field == segment_field::seals);
  CHECK(::ftruncate(good.values(), 0) != 0);  // sealed
}

TEST_CASE("each attachment has a number and a record of its own, and there are no more than the shape says") {
  const segment_files files = memory_files();
  std::array<segment, 4> all;
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    CHECK(open_at(all[i], files));
    CHECK(all[i].index() == i);
  }
  segment more;
  const open_result refused = open_at(more, files);
  CHECK(refused.status == open_status::no_space);
  CHECK(refused.field == segment_field::attachments);
  CHECK(records_used(all[0]) == 4);
  for (std::uint32_t i = 0; i < all.size(); ++i) CHECK(all[0].is_attached(i));
  CHECK(all[0].id() == all[3].id());
  CHECK(all[0].base() != all[3].base());
  close_all(all[2]);
  CHECK_FALSE(all[0].is_attached(2));
  CHECK(all[0].look(cleaner_of(all[0])).cleaned == 0);
  CHECK(more.open(files, stand_shape, {.rights = attachment_rights::wait, .label = "a label"}, cleaner_of(more)));
  CHECK(more.index() == 2);
  const tidemark::detail::attachment_note note = all[0].note_of(2);
  CHECK(note.rights == attachment_rights::wait);
  CHECK(note.process == static_cast<std::uint32_t>(::getpid()));
  CHECK(std::memcmp(note.name.data(), "a label", 8) == 0);
  CHECK_FALSE(note.is_registered);
}

TEST_CASE("what a killed process has left is given back by one look of another, or by who takes its number") {
  const segment_files files = memory_files();
  segment survivor;
  REQUIRE(open_at(survivor, files));
  leave_dead(files);
  CHECK(slots_taken(survivor) == 3);
  CHECK(records_used(survivor) == 2);
  CHECK_FALSE(survivor.is_attached(1));
  SUBCASE("a look") {
    survivor.pins().store(7, std::memory_order_relaxed);
    const tidemark::detail::look_outcome found = survivor.look(cleaner_of(survivor));
    CHECK(found.has_looked);
    CHECK(found.cleaned == 1);
    CHECK(survivor.pins().load(std::memory_order_relaxed) == 5);  // the dead one's is cleared
  }
  SUBCASE("the next one") {
    segment next;
    CHECK(open_at(next, files));
    CHECK(next.index() == 1);
    close_all(next);
  }
  CHECK(slots_taken(survivor) == 0);
  CHECK(records_used(survivor) == 1);
  CHECK(survivor.look(cleaner_of(survivor)).cleaned == 0);
}

TEST_CASE("a process that is stopped is not dead") {
  const segment_files files = memory_files();
  segment survivor;
  REQUIRE(open_at(survivor, files));
  stand_child child{[&](auto arrive) {
    segment own;
    require(static_cast<bool>(open_at(own, files)), "the child is not attached");
    take_slots(own, 3);
    arrive();
  }};
  CHECK(child.has_arrived());
  ::kill(child.number(), SIGSTOP);
  int status = 0;
  CHECK(::waitpid(child.number(), &status, WUNTRACED) == child.number());
  CHECK(survivor.look(cleaner_of(survivor)).cleaned == 0);
  CHECK(slots_taken(survivor) == 3);
  CHECK(survivor.signaller_state() == signallers::present);
  child.kill();
  CHECK(survivor.look(cleaner_of(survivor)).cleaned == 1);
}

TEST_CASE("a dead signaller is dead for others while somebody cleans up behind it, however long that takes") {
  const segment_files files = memory_files();
  segment cleans;
  segment waits;
  REQUIRE(open_at(cleans, files, attachment_rights::wait));
  REQUIRE(open_at(waits, files, attachment_rights::wait));
  leave_dead(files);
  std::size_t times = 0;
  const auto look_on = [&](std::uint32_t index) {
    ++times;
    CHECK(index == 2);
    CHECK(waits.signaller_state() == signallers::died);
    CHECK_FALSE(waits.is_attached(index));
    CHECK(waits.look(cleaner_of(waits)).cleaned == 0);  // one cleans up
  };
  SUBCASE("one that looks") { CHECK(cleans.look(look_on).cleaned == 1); }
  SUBCASE("one that takes the number") {
    segment next;
    CHECK(next.open(files, stand_shape, {.rights = attachment_rights::wait, .patience = patience}, look_on));
    CHECK(next.index() == 2);
    CHECK(waits.is_attached(2));
    close_all(next);
  }
  CHECK(times == 1);
  CHECK(waits.signaller_state() == signallers::died);
}

TEST_CASE("who may only read the waiters' file makes nobody look alive by its locks") {
  const segment_files files = memory_files();
  segment waits;
  REQUIRE(open_at(waits, files, attachment_rights::wait));
  const file_descriptor reading = tidemark::detail::open_anew(files.waiters(), O_RDONLY);
  REQUIRE(reading);
  using tidemark::detail::byte_locks;
  leave_dead(files);
  struct flock all{};
  all.l_type = F_RDLCK;
  all.l_whence = SEEK_SET;
  all.l_start = byte_locks::first_byte + 1;
  all.l_len = byte_locks::name_byte - all.l_start + 1;
  REQUIRE(::fcntl(reading.get(), TIDEMARK_OFD_SETLK, &all) == 0);
  CHECK(waits.signaller_state() == signallers::died);
  for (std::uint32_t index = 1; index < stand_shape.attachments; ++index) CHECK_FALSE(waits.is_attached(index));
  CHECK(waits.look(cleaner_of(waits)).cleaned == 1);
  CHECK(slots_taken(waits) == 0);
  // But nobody can take a number then, and is told so.
  segment next;
  CHECK(open_at(next, files).status == open_status::no_space);
  all.l_type = F_UNLCK;
  REQUIRE(::fcntl(reading.get(), TIDEMARK_OFD_SETLK, &all) == 0);
  CHECK(open_at(next, files));
  CHECK(next.index() == 1);
  close_all(next);
}

TEST_CASE("a look cleans up behind as many as it may, and the next one goes on behind them") {
  const segment_files files = memory_files();
  segment survivor;
  REQUIRE(open_at(survivor, files));
  std::array<std::uint32_t, 4> cleaned{};
  const auto count = [&](std::uint32_t index) { ++cleaned[index]; };
  // A neighbour marks all records as used, again and again.
  const auto mark = [&] {
    using words = segment::words_type;
    auto& all = *reinterpret_cast<words*>(survivor.base() + tidemark::detail::value_file_size(stand_shape) +
                                          tidemark::detail::words_at);
    for (auto& record : all.records) record.state.store(77, std::memory_order_relaxed);
  };
  for (int look = 0; look < 6; ++look) {
    mark();
    const auto found = survivor.look(count, 2);
    CHECK(found.cleaned == 2);
    CHECK(found.has_more);
  }
  CHECK(cleaned[0] == 0);  // its own
  for (std::uint32_t index = 1; index < 4; ++index) CHECK(cleaned[index] == 4);
}

TEST_CASE("threads of one attachment do not look at the same time") {
  const watchdog dog{[] { return std::string{"looking"}; }};
  const segment_files files = memory_files();
  segment survivor;
  REQUIRE(open_at(survivor, files));
  leave_dead(files);
  tidemark::detail::look_outcome second;
  const auto found = survivor.look([&](std::uint32_t) {
    std::thread other{[&] { second = survivor.look([](std::uint32_t) {}); }};
    other.join();
  });
  CHECK(found.cleaned == 1);
  CHECK_FALSE(second.has_looked);
}

TEST_CASE("of all attachments one looks in an interval, and each one once in a second, whatever the word says") {
  const segment_files files = memory_files();
  segment one;
  segment other;
  REQUIRE(open_at(one, files));
  REQUIRE(open_at(other, files));
  using std::chrono::milliseconds;
  tidemark::deadline now{std::chrono::hours{1}};
  CHECK(one.may_look(now));  // the first time
  CHECK(other.may_look(now));
  CHECK_FALSE(one.may_look(now + milliseconds{49}));
  CHECK_FALSE(other.may_look(now + milliseconds{49}));
  CHECK(other.may_look(now + milliseconds{50}));
  CHECK_FALSE(one.may_look(now + milliseconds{50}));
  CHECK(one.may_look(now + milliseconds{100}));
  CHECK_FALSE(other.may_look(now + milliseconds{149}));
  // Intervals are those of the clock: a look that comes late does not make the next one late.
  CHECK(one.may_look(now + milliseconds{199}));
  CHECK_FALSE(other.may_look(now + milliseconds{199}));
  CHECK(other.may_look(now + milliseconds{200}));
  CHECK_FALSE(one.may_look(now + milliseconds{199}));  // it has read the clock before, and asks now
  // A neighbour pretends that somebody has just looked; or its clock is another one.
  using words = segment::words_type;
  auto& all = *reinterpret_cast<words*>(one.base() + tidemark::detail::value_file_size(stand_shape) +
                                        tidemark::detail::words_at);
  now += milliseconds{300};
  all.looked_at.store(UINT64_MAX, std::memory_order_relaxed);
  CHECK(one.may_look(now));
  for (int i = 1; i < 1000; ++i) {
    all.looked_at.store(static_cast<std::uint64_t>((now + milliseconds{i}).time_since_epoch().count()),
                        std::memory_order_relaxed);
    if (one.may_look(now + milliseconds{i})) FAIL("it has looked too early: " << i);
  }
  all.looked_at.store(static_cast<std::uint64_t>((now + milliseconds{1000}).time_since_epoch().count()),
                      std::memory_order_relaxed);
  CHECK(one.may_look(now + milliseconds{1000}));
}

TEST_CASE("no signaller so far, one that lives, the last one closed, and the last one killed are told apart") {
  const segment_files files = memory_files();
  segment waits;
  REQUIRE(open_at(waits, files, attachment_rights::wait));
  CHECK(waits.signaller_state() == signallers::none_yet);
  segment signals;
  REQUIRE(open_at(signals, files));
  CHECK(waits.signaller_state() == signallers::present);
  CHECK(signals.signaller_state() == signallers::present);
  close_all(signals);
  CHECK(waits.signaller_state() == signallers::closed);
  leave_dead(files);
  CHECK(waits.signaller_state() == signallers::died);
  waits.look(cleaner_of(waits));
  CHECK(waits.signaller_state() == signallers::died);  // and a look does not forget it
  {
    segment waiter;  // with the number of the dead signaller
    REQUIRE(open_at(waiter, files, attachment_rights::wait));
    CHECK(waiter.index() == 1);
    CHECK(waits.signaller_state() == signallers::died);
    REQUIRE(open_at(signals, files));
    CHECK(waits.signaller_state() == signallers::present);
    leave_dead(files);
    CHECK(waits.signaller_state() == signallers::present);  // one of two
    close_all(signals);
    CHECK(waits.signaller_state() == signallers::closed);  // the last one has not died
    close_all(waiter);
  }
  leave_dead(files, attachment_rights::wait);
  CHECK(waits.signaller_state() == signallers::closed);
}

TEST_CASE("both files pass over a socket, and who gets them is an attachment of its own") {
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  const segment_files files = memory_files();
  segment own;
  REQUIRE(open_at(own, files));
  own.values()[0] = std::byte{42};
  const std::size_t before = descriptors_open();
  REQUIRE(files.send(ends[0]));
  const child_end ended = run_in_child([&] {
    segment_files received;
    require(static_cast<bool>(segment_files::receive(received, ends[1])), "nothing is received");
    segment other;
    require(static_cast<bool>(open_at(other, received)), "the child is not attached");
    require(other.index() == 1 && other.is_attached(0), "the child has the parent's number");
    require(other.values()[0] == std::byte{42}, "it is another segment");
    close_all(other);
  });
  INFO(ended.errors);
  CHECK(ended.exit_status == 0);
  CHECK(descriptors_open() == before);
  segment_files none;
  CHECK(::write(ends[0], "something", 9) == 9);
  CHECK(segment_files::receive(none, ends[1]).field == segment_field::magic);
  char byte = 0;
  CHECK(::read(ends[1], &byte, 1) == 1);
  ::close(ends[0]);
  CHECK(segment_files::receive(none, ends[1]).status == open_status::unknown);  // a creator that has ended
  ::close(ends[1]);
}

TEST_CASE("files are received where the socket tells who has sent them") {
  std::array<int, 2> sockets{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets.data()) == 0);
  const tidemark::detail::file_descriptor one{sockets[0]};
  const tidemark::detail::file_descriptor other{sockets[1]};
  const int yes = 1;
  REQUIRE(::setsockopt(other.get(), SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) == 0);
  CHECK(memory_files().send(one.get()));
  segment_files received;
  CHECK(segment_files::receive(received, other.get()));
  CHECK(received.waiters() >= 0);
}

TEST_CASE("no descriptor is left of a message that is refused") {
  std::array<int, 2> sockets{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets.data()) == 0);
  const tidemark::detail::file_descriptor one{sockets[0]};
  const tidemark::detail::file_descriptor other{sockets[1]};
  const std::size_t before = descriptors_open();
  // Descriptors without a byte, the right bytes with too many descriptors, and other bytes.
  struct wrong_message {
    std::string_view text;
    std::size_t count;
  };
  for (const wrong_message& each : {wrong_message{"", 2}, {"tidemark", 5}, {"something", 1}}) {
    INFO(each.text);
    const std::size_t count = each.count;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(5 * sizeof(int))> control{};
    std::string bytes{each.text};
    iovec part{bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(count * sizeof(int));
    const std::array<int, 5> sent{0, 1, 2, 0, 1};
    std::memcpy(CMSG_DATA(head), sent.data(), count * sizeof(int));
    REQUIRE(::sendmsg(one.get(), &message, 0) >= 0);
    segment_files received;
    CHECK(!segment_files::receive(received, other.get()));
    CHECK(!received);
    CHECK(descriptors_open() == before);
  }
}

TEST_CASE("[A52] an attachment that may not signal maps the values for reading, and its descriptor allows no more") {
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  const segment_files files = memory_files();
  segment own;
  REQUIRE(open_at(own, files));
  segment_files reading;
  REQUIRE(files.send(ends[0], true));
  REQUIRE(segment_files::receive(reading, ends[1]));
  segment waits;
  const open_result refused = open_at(waits, reading);
  CHECK(refused.status == open_status::refused);
  CHECK(refused.field == segment_field::rights);
  CHECK(open_at(waits, reading, attachment_rights::wait));
  const child_end ended = run_in_child([&] {
    std::signal(SIGSEGV, SIG_DFL);
    segment reader;
    require(static_cast<bool>(open_at(reader, reading, attachment_rights::wait)), "the child is not attached");
    static_cast<volatile std::byte&>(reader.values()[0]) = std::byte{1};
  });
  CHECK((ended.signal == SIGSEGV || ended.exit_status == 1));  // a sanitizer reports it
  CHECK(records_used(own) == 3);
  CHECK(own.look(cleaner_of(own)).cleaned == 1);
  // Without the waiters' file it can only look, and is not listed.
  segment_files values_only;
  REQUIRE(files.send(ends[0], true, false));
  REQUIRE(segment_files::receive(values_only, ends[1]));
  segment looks;
  CHECK(open_at(looks, values_only, attachment_rights::wait).field == segment_field::rights);
  CHECK(open_at(looks, values_only, attachment_rights::look));
  CHECK(looks.waiters() == nullptr);
  CHECK_FALSE(looks.may_look(tidemark::deadline{std::chrono::hours{1}}));
  CHECK(looks.signaller_state() == signallers::present);
  segment monitor;  // with it, it sees who is attached
  CHECK(open_at(monitor, files, attachment_rights::look));
  CHECK(records_used(own) == 2);
  CHECK(monitor.is_attached(0));
  CHECK_FALSE(monitor.is_attached(2));
  close_all(own);
  CHECK(monitor.signaller_state() == signallers::closed);
  leave_dead(files);
  CHECK(monitor.signaller_state() == signallers::died);
  for (const int end : ends) ::close(end);
}

TEST_CASE("the child of a fork has nothing of its parent's attachment, whose death is seen while the child lives") {
  const segment_files files = memory_files();
  segment survivor;
  REQUIRE(open_at(survivor, files));
  stand_child parent{[&](auto arrive) {
    auto own = std::make_unique<segment>();
    require(static_cast<bool>(open_at(*own, files)), "the child is not attached");
    take_slots(*own, 3);
    std::array<int, 2> grandchild_pipe{};
    require(::pipe(grandchild_pipe.data()) == 0, "there is no pipe");
    const auto tells = [&] {
      const char byte = 'x';
      require(::write(grandchild_pipe[1], &byte, 1) == 1, "nobody reads");
      for (const int end : grandchild_pipe) ::close(end);
    };
    const pid_t idle = ::fork();  // it does not even close its copy
    require(idle >= 0, "there is no grandchild");
    if (idle == 0) {
      ::alarm(120);  // so that a failure does not wait for ever
      tells();       // the lock's descriptor is closed when fork() returns, and not before
      ::pause();
      ::_exit(0);
    }
    const pid_t grandchild = ::fork();
    require(grandchild >= 0, "there is no grandchild");
    if (grandchild == 0) {
      ::alarm(120);
      require(own->is_inherited(), "the copy does not know that it is one");
      // What lies at the addresses now is not the attachment's.
      const int anew = forks_all_mappings ? MAP_FIXED : MAP_FIXED_NOREPLACE;
      void* const mine = ::mmap(own->base(), 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | anew, -1, 0);
      require(mine == own->base(), "the mapping was inherited");
      *static_cast<volatile char*>(mine) = 1;
      close_all(*own);
      *static_cast<volatile char*>(mine) = 2;
      require(static_cast<bool>(open_at(*own, files)), "the copy can't be opened anew");
      require(own->index() == 2, "the copy has the number of its parent");
      close_all(*own);
      tells();
      ::pause();
      ::_exit(0);
    }
    ::close(grandchild_pipe[1]);
    for (int told = 0; told < 2; ++told) {
      char byte = 0;
      require(::read(grandchild_pipe[0], &byte, 1) == 1, "a grandchild has failed");
    }
    require(!own->is_inherited(), "the parent's attachment is none any more");
    const std::array<pid_t, 2> children{grandchild, idle};
    std::memcpy(own->values(), children.data(), sizeof children);
    arrive();
  }};
  if (forks_all_mappings) MESSAGE("not tested: mappings that are not inherited, which qemu lets be");
  REQUIRE(parent.has_arrived());
  std::array<pid_t, 2> grandchildren{};
  std::memcpy(grandchildren.data(), survivor.values(), sizeof grandchildren);
  CHECK(survivor.is_attached(1));
  parent.kill();
  for (const pid_t each : grandchildren) CHECK(::kill(each, 0) == 0);
  CHECK_FALSE(survivor.is_attached(1));
  CHECK(survivor.look(cleaner_of(survivor)).cleaned == 1);
  CHECK(slots_taken(survivor) == 0);
  for (const pid_t each : grandchildren) ::kill(each, SIGKILL);
}

TEST_CASE("every descriptor that an attachment opens is closed by exec and by its close") {
  const std::size_t before = descriptors_open();
  {
    const segment_files files = memory_files();
    const stand_name name{"exec"};
    segment own;
    segment named;
    REQUIRE(open_at(own, files));
    REQUIRE(open_named(named, name));
    CHECK(descriptors_open() > before);
    for (const auto& each : std::filesystem::directory_iterator{"/proc/self/fd"}) {
      const int number = std::stoi(each.path().filename().string());
      std::error_code none;
      const std::string target = std::filesystem::read_symlink(each.path(), none).string();
      if (target.find("tidemark") == target.npos) continue;
      INFO(target);
      CHECK((::fcntl(number, F_GETFD) & FD_CLOEXEC) != 0);
    }
    close_all(own);
    close_all(named);
  }
  CHECK(descriptors_open() == before);
}

TEST_CASE("an attachment that relies on the global barrier is refused in a process that is not registered") {
  const child_end probe = run_in_child([] { require(global_barrier::register_process(), "it is refused"); });
  if (probe.exit_status != 0) {
    MESSAGE("not tested: the system refuses the global membarrier");
    return;
  }
  const segment_files files = memory_files();
  const child_end ended = run_in_child([&] {
    segment own;
    const tidemark::detail::opening_options registered{.is_registered = true, .patience = patience};
    if (!global_barrier::is_registered()) {  // before Linux 6.3 the question registers
      const open_result refused = own.open(files, stand_shape, registered, cleaner_of(own));
      require(refused.status == open_status::refused && refused.field == segment_field::rights, "it is not refused");
    }
    require(global_barrier::register_process() && global_barrier::is_registered(), "it can't register");
    require(static_cast<bool>(own.open(files, stand_shape, registered, cleaner_of(own))), "it is not attached");
    require(own.note_of(own.index()).is_registered && global_barrier::issue(), "it is not registered");
    const pid_t child = ::fork();
    if (child == 0) ::_exit(global_barrier::is_registered() ? 0 : 1);
    int status = -1;
    require(::waitpid(child, &status, 0) == child && status == 0, "a fork has dropped the registration");
  });
  INFO(ended.errors);
  CHECK(ended.exit_status == 0);
}

TEST_CASE("whatever a neighbour writes, the others stay within the segment, and come to an end") {
  const auto seed = fresh_seed();
  const watchdog dog{[] { return std::string{"a hostile neighbour"}; }};
  const segment_files files = memory_files();
  segment victim;
  REQUIRE(open_at(victim, files));
  random_numbers random{seed};
  const std::size_t bytes =
      tidemark::detail::value_file_size(stand_shape) + tidemark::detail::waiter_file_size(stand_shape);
  static constexpr std::array<std::uint64_t, 6> chosen{0, 1, UINT64_MAX, UINT64_MAX / 2, 64, 1ULL << 32};
  repetitions rounds{20'000};
  while (rounds.goes_on()) {
    for (int writes = 0; writes < 64; ++writes) {
      const std::size_t word = random.below(bytes / 8);
      auto& at = reinterpret_cast<std::atomic<std::uint64_t>*>(victim.base())[word];
      at.store(random.below(2U) == 0 ? random.below(UINT64_MAX) : chosen[random.below(chosen.size())],
               std::memory_order_relaxed);
    }
    std::uint32_t calls = 0;
    const auto found = victim.look(
        [&](std::uint32_t index) {
          CHECK(index < stand_shape.attachments);
          CHECK(index != victim.index());
          ++calls;
        },
        2);
    CHECK(calls == found.cleaned);
    CHECK(found.cleaned <= 2);
    CHECK(victim.shape().waiter_slots == stand_shape.waiter_slots);
    static_cast<void>(victim.may_look(std::chrono::steady_clock::now()));
    static_cast<void>(victim.signaller_state());
    static_cast<void>(victim.note_of(3));
    if (random.below(16U) == 0) {
      // The header may fit or not: it is compared, and nothing else is taken from it.
      segment other;
      if (open_at(other, files)) close_all(other);
    }
  }
  close_all(victim);
}

TEST_CASE("the system's refusals are results") {
  segment_files files;
  segment opened;
  CHECK(open_at(opened, files).status == open_status::refused);
  CHECK(segment_files::create_in_memory(files, changed([](segment_shape& shape) { shape.attachments = 65; })).field ==
        segment_field::attachments);
  CHECK(segment_files::create_in_memory(files, changed([](segment_shape& shape) { shape.attachments = 0; })).field ==
        segment_field::attachments);
  CHECK(segment_files::create_in_memory(files, changed([](segment_shape& shape) { shape.value_bytes = UINT64_MAX; }))
            .field == segment_field::value_bytes);
  // A neighbour has written the nonsense that the caller states.
  const segment_files nonsense = memory_files();
  const segment_shape with_too_many = changed([](segment_shape& shape) { shape.attachments = 65; });
  for (const auto& [file, kind] : {std::pair{nonsense.values(), tidemark::detail::segment_file::values},
                                   {nonsense.waiters(), tidemark::detail::segment_file::waiters}}) {
    segment_header header;
    REQUIRE(tidemark::detail::read_header(file, header) == 0);
    REQUIRE(tidemark::detail::write_header(file, tidemark::detail::header_for(with_too_many, header.id, kind)) == 0);
  }
  CHECK(opened.open(nonsense, with_too_many, {}, cleaner_of(opened)).field == segment_field::attachments);
  const segment_files good = memory_files();
  const child_end ended = run_in_child([&] {
    rlimit none{};
    ::setrlimit(RLIMIT_NOFILE, &none);
    segment own;
    const open_result refused = open_at(own, good);
    require(refused.status == open_status::refused && refused.error == EMFILE, "it is not refused");
    require(!own.is_open(), "it is open");
    segment_files made;
    require(segment_files::create_in_memory(made, stand_shape).error == EMFILE, "files are made");
  });
  INFO(ended.errors);
  CHECK(ended.exit_status == 0);
}

TEST_CASE("where the system has no locks of open file descriptions, opening is refused with its reason") {
  const segment_files files = memory_files();
  const child_end ended = run_in_child([&] {
#if defined(SYS_fcntl64)
    constexpr std::uint32_t call = SYS_fcntl64;
#else
    constexpr std::uint32_t call = SYS_fcntl;
#endif
    if (!refuse_with(call, TIDEMARK_OFD_GETLK, EINVAL) || !refuse_with(call, TIDEMARK_OFD_SETLK, EINVAL)) ::_exit(77);
    segment own;
    const open_result refused = open_at(own, files);
    require(refused.status == open_status::refused && refused.error == EINVAL, "it is not refused");
  });
  if (ended.exit_status == 77) {
    MESSAGE("not tested: this system permits no seccomp filter");
    return;
  }
  INFO(ended.errors);
  CHECK(ended.exit_status == 0);
}

TEST_CASE("files that are greater than the process may write are refused, and the process goes on") {
  const child_end ended = run_in_child([] {
    const rlimit small{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &small);
    segment_files made;
    const open_result refused = segment_files::create_in_memory(made, stand_shape);
    require(refused.status == open_status::refused && refused.error == EFBIG, "it is not refused");
    require(!made, "files are made");
  });
  INFO(ended.errors);
  CHECK(ended.exit_status == 0);
}
