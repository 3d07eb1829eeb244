// SPDX-License-Identifier: BSL-1.0
//
// Segments that have a name: who makes it when several want to, what a process leaves behind that was killed or
// stopped, and what other users may do.
#include <tidemark/fence/detail/shared_segment.hpp>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <list>
#include <string>
#include <vector>

#include "support/child.hpp"
#include "support/race.hpp"
#include "support/random.hpp"
#include "support/repetitions.hpp"
#include "support/shared_stand.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::detail::segment_name;
using tidemark::detail::signallers;

namespace {

/// Opens the name in a process, takes slots, and is killed.
void leave_dead(const stand_name& name) {
  stand_child dead{[&](auto arrive) {
    segment own;
    require(static_cast<bool>(open_named(own, name)), "the child is not attached");
    take_slots(own, 3);
    arrive();
  }};
  CHECK(dead.has_arrived());
}

/// Gives the process another user; the tests run as root then.
void become_nobody() { require(::setgid(65534) == 0 && ::setuid(65534) == 0, "it stays root"); }

bool is_root() {
  if (::geteuid() == 0) return true;
  MESSAGE("not tested: two users, since this process is not root");
  return false;
}

}  // namespace

TEST_CASE("the first one makes the segment of a name, the others find it, and the last one removes it") {
  const stand_name name{"order"};
  segment one;
  segment two;
  CHECK(two.open_existing(name, stand_shape, {}, cleaner_of(two)).status == open_status::unknown);
  CHECK(open_named(one, name));
  CHECK(open_named(two, name));
  CHECK(one.id() == two.id());
  CHECK(two.index() == 1);
  close_all(one);
  CHECK(name.is_there());
  segment three;
  CHECK(three.open_existing(name, stand_shape, {}, cleaner_of(three)));
  CHECK(three.id() == two.id());
  close_all(three);
  close_all(two);
  CHECK_FALSE(name.is_there());
}

TEST_CASE("[A52] a name whose segment is another one is refused by field while somebody uses it") {
  const stand_name name{"shape"};
  segment one;
  REQUIRE(open_named(one, name));
  segment other;
  segment_shape larger = stand_shape;
  ++larger.waiter_slots;
  const open_result refused = other.open_or_create(name, {}, larger, {}, cleaner_of(other));
  CHECK(refused.status == open_status::invalid);
  CHECK(refused.field == segment_field::waiter_slots);
  close_all(one);
  CHECK(other.open_or_create(name, {}, larger, {}, cleaner_of(other)));
  close_all(other);
}

TEST_CASE("a name whose last user was killed is replaced by the next open, and nobody deletes a file by hand") {
  const stand_name name{"restart"};
  for (int round = 0; round < 3; ++round) {
    leave_dead(name);
    CHECK(name.is_there());
    segment only;
    CHECK(only.open_existing(name, stand_shape, {}, cleaner_of(only)).status == open_status::unknown);
    segment looks;
    CHECK(looks.open_existing(name, stand_shape, {.rights = attachment_rights::look}, cleaner_of(looks)).status ==
          open_status::unknown);
    segment next;
    CHECK(open_named(next, name));
    CHECK(slots_taken(next) == 0);
    CHECK(records_used(next) == 1);
    CHECK(next.index() == 0);
    if (round == 1) continue;  // left without close(): the name is removed all the same
    close_all(next);
    CHECK_FALSE(name.is_there());
  }
}

TEST_CASE("what is left of either file alone is replaced, too, and what is no segment is left alone") {
  const stand_name name{"halves"};
  const std::string values = name.path() + ".values";
  segment next;
  SUBCASE("no values") {
    leave_dead(name);
    ::unlink(values.c_str());
    CHECK(open_named(next, name));
  }
  SUBCASE("values alone") {
    leave_dead(name);
    ::unlink(name.path().c_str());
    CHECK(open_named(next, name));
  }
  SUBCASE("values of another one") {
    leave_dead(name);
    const std::string kept = values + "-kept";
    REQUIRE(::rename(values.c_str(), kept.c_str()) == 0);
    leave_dead(name);
    REQUIRE(::rename(kept.c_str(), values.c_str()) == 0);
    CHECK(open_named(next, name));
  }
  SUBCASE("somebody's file") {
    const int document = ::open(name.path().c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    REQUIRE(::write(document, "a letter", 8) == 8);
    ::close(document);
    const open_result refused = open_named(next, name);
    CHECK(refused.status == open_status::invalid);
    CHECK(refused.field == segment_field::magic);
    CHECK(::access(name.path().c_str(), F_OK) == 0);
    ::unlink(name.path().c_str());
  }
  SUBCASE("somebody's file in the place of the values") {
    const int document = ::open(values.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    ::close(document);
    CHECK(open_named(next, name).field == segment_field::magic);
    CHECK(::access(values.c_str(), F_OK) == 0);
    CHECK(::access(name.path().c_str(), F_OK) != 0);  // and nothing is left of the attempt
    ::unlink(values.c_str());
  }
  close_all(next);
}

TEST_CASE("names that are none are refused") {
  segment own;
  for (const char* const bad : {"", "a/b", ".", ".."}) {
    const open_result refused = open_named(own, {bad});
    CHECK(refused.status == open_status::refused);
    CHECK(refused.field == segment_field::name);
  }
  CHECK(open_named(own, {std::string(600, 'x')}).field == segment_field::name);
  using namespace std::string_view_literals;
  CHECK(open_named(own, {"name\0more"sv}).field == segment_field::name);
  CHECK(open_named(own, {"name", "/dev/shm\0more"sv}).field == segment_field::name);
  const open_result missing = open_named(own, {"test", "/proc/self"});
  CHECK(missing.status == open_status::refused);
  CHECK(missing.field == segment_field::name);
}

TEST_CASE("a name in the working folder is removed from there, wherever the process works then") {
  namespace files = std::filesystem;
  const files::path before = files::current_path();
  const stand_name folder{"folder"};
  REQUIRE(files::create_directory(folder.path()));
  files::current_path(folder.path());
  for (const char* const relative : {".", "./"}) {
    segment own;
    CHECK(open_named(own, {"here", relative}));
    CHECK(files::exists(folder.path() + "/here"));
    files::current_path("/");
    close_all(own);
    CHECK(files::is_empty(folder.path()));
    files::current_path(folder.path());
  }
  files::current_path(before);
  CHECK(files::remove(folder.path()));
}

TEST_CASE("the name of another segment's values is refused, and that segment stays") {
  const stand_name name{"ending"};
  segment first;
  REQUIRE(open_named(first, name));
  segment own;
  const std::string of_values = std::string{segment_name(name).name} + ".values";
  CHECK(open_named(own, {of_values}).field == segment_field::name);
  REQUIRE(open_named(own, name));
  CHECK(own.id() == first.id());
  close_all(own);
  close_all(first);
}

TEST_CASE("who may only look is told at once that it gets no descriptors") {
  const stand_name name{"look"};
  segment first;
  REQUIRE(open_named(first, name));
  const child_end ended = run_in_child([&] {
    const int next = ::dup(STDIN_FILENO);
    ::close(next);
    for (const rlim_t room : {rlim_t{0}, rlim_t{1}}) {
      const rlimit none{static_cast<rlim_t>(next) + room, 4096};
      ::setrlimit(RLIMIT_NOFILE, &none);
      segment own;
      const open_result refused =
          own.open_existing(name, stand_shape, {.rights = attachment_rights::look}, [](auto) {});
      require(refused.status == open_status::refused && refused.error == EMFILE, "it is not refused");
    }
  });
  INFO(ended.errors);
  CHECK(ended.exit_status == 0);
  close_all(first);
}

TEST_CASE("who gets too few descriptors is told so, whichever of them is missing") {
  const stand_name name{"few"};
  segment first;
  REQUIRE(open_named(first, name));
  const child_end ended = run_in_child([&] {
    const int next = ::dup(STDIN_FILENO);
    ::close(next);
    for (const attachment_rights rights : {attachment_rights::wait, attachment_rights::signal}) {
      for (rlim_t room = 0;; ++room) {
        require(room < 16, "it is never opened");
        const rlimit few{static_cast<rlim_t>(next) + room, 4096};
        ::setrlimit(RLIMIT_NOFILE, &few);
        segment own;
        const open_result found = own.open_existing(name, stand_shape, {.rights = rights}, [](auto) {});
        if (found) {
          require(room > 2, "it needs no descriptors");
          close_all(own);
          break;
        }
        require(found.status == open_status::refused && found.error == EMFILE, "another error is told");
        require(found.field != segment_field::rights, "it is told that it has not the right");
      }
    }
  });
  INFO(ended.errors);
  CHECK(ended.exit_status == 0);
  close_all(first);
}

TEST_CASE("an opener that is stopped while it holds the name makes others busy, until it is killed") {
  const watchdog dog{[] { return std::string{"a stopped opener"}; }};
  const stand_name name{"stopped"};
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    segment own;
    // What cleans up runs while the name is held.
    static_cast<void>(own.open_or_create(name, {}, stand_shape, {}, [](std::uint32_t) { ::raise(SIGSTOP); }));
    ::_exit(1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, WUNTRACED) == child);
  REQUIRE(WIFSTOPPED(status));
  segment next;
  const open_result result =
      next.open_or_create(name, {}, stand_shape, {.patience = std::chrono::milliseconds{20}}, cleaner_of(next));
  CHECK(result.status == open_status::busy);
  CHECK_FALSE(next.is_open());
  ::kill(child, SIGKILL);
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(open_named(next, name));
  close_all(next);
}

TEST_CASE("of creators that race for a name, some of which are killed, all that live have the same segment") {
  const watchdog dog{[] { return std::string{"racing creators"}; }, std::chrono::minutes{10}};
  const stand_name name{"race"};
  random_numbers random{fresh_seed()};
  repetitions rounds{400};
  while (rounds.goes_on()) {
    constexpr std::size_t racers = 4;
    std::list<stand_child> children;
    std::array<std::array<int, 2>, racers> ids{};
    const bool some_die = random.below(2U) == 0;
    for (std::size_t i = 0; i < racers; ++i) {
      REQUIRE(::pipe(ids[i].data()) == 0);
      children.emplace_back([&, i](auto arrive) {
        segment own;
        require(static_cast<bool>(open_named(own, name)), "a racer is not attached");
        take_slots(own, 1);
        const auto id = own.id();
        require(::write(ids[i][1], &id, sizeof id) == sizeof id, "nobody reads");
        arrive();
        close_all(own);
      });
    }
    std::size_t index = 0;
    for (stand_child& each : children) {
      if (some_die && index++ % 2 == 0) {
        dawdle(random);
        each.kill();
      }
    }
    std::vector<std::array<std::uint64_t, 2>> found;
    index = 0;
    for (stand_child& each : children) {
      const bool is_dead = some_die && index % 2 == 0;
      if (!is_dead) {
        CHECK(each.has_arrived());
        std::array<std::uint64_t, 2> id{};
        CHECK(::read(ids[index][0], &id, sizeof id) == sizeof id);
        found.push_back(id);
      }
      for (const int end : ids[index]) ::close(end);
      ++index;
    }
    for (const auto& id : found) CHECK(id == found.front());
    index = 0;
    for (stand_child& each : children) {
      if (some_die && index++ % 2 == 0) continue;
      each.go_on();
      CHECK(each.end() == 0);
    }
    if (name.is_there()) {  // a racer was killed as the last one
      segment next;
      CHECK(open_named(next, name));
      CHECK(slots_taken(next) == 0);
      close_all(next);
    }
    CHECK_FALSE(name.is_there());
  }
  MESSAGE(rounds.done() << " rounds");
}

TEST_CASE("processes that are killed at random moments leave no slot, no record and no name") {
  const watchdog dog{[] { return std::string{"random kills"}; }, std::chrono::minutes{10}};
  const stand_name name{"random"};
  const auto seed = fresh_seed();
  random_numbers random{seed};
  segment survivor;
  REQUIRE(open_named(survivor, name));
  repetitions rounds{2000};
  while (rounds.goes_on()) {
    std::list<stand_child> children;
    const std::uint64_t count = 1 + random.below(3U);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t stream = rounds.done() * 4 + i;
      children.emplace_back([&, stream](auto arrive) {
        random_numbers own_random{seed, stream};
        arrive();
        for (;;) {
          segment own;
          const open_result result = open_named(own, name);
          if (result.status == open_status::no_space) continue;  // those of the dead are not cleaned up yet
          require(static_cast<bool>(result), "a child is not attached");
          take_slots(own, own_random.below(3U));
          if (own_random.below(2U) == 0) own.look(cleaner_of(own));
          if (own_random.below(2U) == 0) close_all(own);
        }
      });
    }
    for (stand_child& each : children) CHECK(each.has_arrived());
    for (std::uint64_t n = random.below(100U); n != 0; --n) dawdle(random);
    for (stand_child& each : children) each.kill();
    survivor.look(cleaner_of(survivor));
    CHECK(slots_taken(survivor) == 0);
    CHECK(records_used(survivor) == 1);
  }
  MESSAGE(rounds.done() << " rounds");
  close_all(survivor);
}

TEST_CASE("by name: another user may wait and not signal where the values may only be read") {
  if (!is_root()) return;
  const stand_name name{"users"};
  segment own;
  REQUIRE(own.open_or_create(name, {.values = 0644, .waiters = 0666}, stand_shape, {}, cleaner_of(own)));
  const child_end ended = run_in_child([&] {
    become_nobody();
    segment other;
    const open_result refused = open_named(other, name);
    require(refused.status == open_status::refused && refused.field == segment_field::rights, "it may signal");
    require(static_cast<bool>(open_named(other, name, attachment_rights::wait)), "it may not wait");
    require(other.index() == 1 && other.signaller_state() == signallers::present, "it sees nobody");
    take_slots(other, 1);
    require(::open((name.path() + ".values").c_str(), O_RDWR) < 0 && errno == EACCES, "it may write the values");
    // It ends without close().
  });
  INFO(ended.errors);
  CHECK(ended.exit_status == 0);
  CHECK(own.look(cleaner_of(own)).cleaned == 1);
  CHECK(slots_taken(own) == 0);
  // Another user may only look where it may only read.
  const std::string path = name.path();
  REQUIRE(::chmod(path.c_str(), 0600) == 0);
  const child_end looking = run_in_child([&] {
    become_nobody();
    segment other;
    require(open_named(other, name, attachment_rights::wait).field == segment_field::rights, "it may wait");
    require(static_cast<bool>(open_named(other, name, attachment_rights::look)), "it may not look");
    require(other.waiters() == nullptr, "it has the waiters' file");
  });
  INFO(looking.errors);
  CHECK(looking.exit_status == 0);
  close_all(own);
}

TEST_CASE("in memory: another user with a descriptor for reading can't get one for writing where the mode forbids it") {
  if (!is_root()) return;
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  const segment_files files = memory_files({.values = 0444, .waiters = 0666});
  segment own;
  REQUIRE(open_at(own, files));
  REQUIRE(files.send(ends[0], true));
  const child_end ended = run_in_child([&] {
    become_nobody();
    segment_files received;
    require(static_cast<bool>(segment_files::receive(received, ends[1])), "nothing is received");
    require(!tidemark::detail::open_anew(received.values(), O_RDWR) && errno == EACCES, "it may write the values");
    segment other;
    require(static_cast<bool>(open_at(other, received, attachment_rights::wait)), "it may not wait");
    take_slots(other, 1);
    require(::mprotect(other.base(), 4096, PROT_READ | PROT_WRITE) != 0, "it may write the mapping");
  });
  INFO(ended.errors);
  CHECK(ended.exit_status == 0);
  CHECK(own.look(cleaner_of(own)).cleaned == 1);
  CHECK(slots_taken(own) == 0);
  close_all(own);
  for (const int end : ends) ::close(end);
}

TEST_CASE("without /proc a file can't be opened anew, which the result says") {
  if (!is_root()) return;
  const segment_files files = memory_files();
  const child_end ended = run_in_child([&] {
    require(::chroot("/dev/shm") == 0 && ::chdir("/") == 0, "it has /proc still");
    segment own;
    const open_result refused = open_at(own, files);
    require(refused.status == open_status::refused && refused.field == segment_field::own_description, "it is opened");
    require(!own.is_open(), "it is open");
    const open_result unnamed = own.open_or_create({"tidemark-test-chroot", "/"}, {}, stand_shape, {}, cleaner_of(own));
    require(unnamed.status == open_status::refused, "it has a name");
    require(::access("/tidemark-test-chroot", F_OK) != 0, "a file is left");
  });
  INFO(ended.errors);
  CHECK(ended.exit_status == 0);
}
