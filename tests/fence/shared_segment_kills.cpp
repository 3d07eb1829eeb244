// SPDX-License-Identifier: BSL-1.0
//
// Segments whose processes are killed: after each instruction of opening, creating, closing and cleaning up, and at
// random moments. Whatever is killed, the others go on, nothing is left taken, and the name can be used at once.
#include <tidemark/fence/detail/shared_segment.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "support/random.hpp"
#include "support/repetitions.hpp"
#include "support/shared_stand.hpp"
#include "support/single_step.hpp"
#include "support/watchdog.hpp"

using namespace testing;

namespace {

/// What must be true for a survivor after a death, at once: nothing is left, and a new attachment gets in.
void check_all_back(segment& survivor, const segment_files& files) {
  survivor.look(cleaner_of(survivor));
  CHECK(slots_taken(survivor) == 0);
  CHECK(records_used(survivor) == 1);
  for (std::uint32_t index = 0; index < stand_shape.attachments; ++index) {
    CHECK(survivor.is_attached(index) == (index == survivor.index()));
  }
  segment next;
  CHECK(open_at(next, files));
  CHECK(next.index() == 1);
  close_all(next);
  CHECK(records_used(survivor) == 1);
}

/// What must be true of a name after a death: it can be used at once, whatever was left.
void check_name(const stand_name& name) {
  segment next;
  CHECK(open_named(next, name));
  if (!next.is_open()) return;
  next.look(cleaner_of(next));
  CHECK(slots_taken(next) == 0);
  close_all(next);
}

}  // namespace

TEST_CASE("an attachment that is killed at any instruction of its opening leaves nothing that a look does not clean") {
  const watchdog dog{[] { return std::string{"opening"}; }, std::chrono::minutes{20}};
  const segment_files files = memory_files();
  segment survivor;
  REQUIRE(open_at(survivor, files));
  auto opened = std::make_unique<segment>();
  kill_at_each_instruction(
      "open", [] {}, [&] { require(static_cast<bool>(open_at(*opened, files)), "it is not opened"); },
      [&](std::size_t at) {
        INFO(at);
        check_all_back(survivor, files);
      });
  close_all(survivor);
}

TEST_CASE("an attachment that is killed at any instruction of its opening over a dead one leaves nothing") {
  const watchdog dog{[] { return std::string{"opening over a dead one"}; }, std::chrono::minutes{20}};
  const segment_files files = memory_files();
  segment survivor;
  REQUIRE(open_at(survivor, files));
  auto opened = std::make_unique<segment>();
  const auto leave_dead = [&] {
    stand_child dead{[&](auto arrive) {
      segment own;
      require(static_cast<bool>(open_at(own, files)), "it is not opened");
      take_slots(own, 3);
      arrive();
    }};
    CHECK(dead.has_arrived());
  };
  leave_dead();
  CHECK(slots_taken(survivor) == 3);
  kill_at_each_instruction(
      "open over a dead one", [] {}, [&] { require(static_cast<bool>(open_at(*opened, files)), "it is not opened"); },
      [&](std::size_t at) {
        INFO(at);
        check_all_back(survivor, files);
        leave_dead();
      });
  survivor.look(cleaner_of(survivor));
  close_all(survivor);
}

TEST_CASE("an attachment that is killed at any instruction of its close leaves nothing that a look does not clean") {
  const watchdog dog{[] { return std::string{"closing"}; }, std::chrono::minutes{20}};
  const segment_files files = memory_files();
  segment survivor;
  REQUIRE(open_at(survivor, files));
  auto closed = std::make_unique<segment>();
  kill_at_each_instruction(
      "close",
      [&] {
        require(static_cast<bool>(open_at(*closed, files)), "it is not opened");
        take_slots(*closed, 3);
      },
      [&] { close_all(*closed); },
      [&](std::size_t at) {
        INFO(at);
        check_all_back(survivor, files);
      });
  close_all(survivor);
}

TEST_CASE("who is killed at any instruction of a look that cleans up leaves the rest to the next look") {
  const watchdog dog{[] { return std::string{"looking"}; }, std::chrono::minutes{20}};
  const segment_files files = memory_files();
  segment survivor;
  REQUIRE(open_at(survivor, files));
  auto looks = std::make_unique<segment>();
  // The dead one has the index 2: the looking one has taken 1 before.
  kill_at_each_instruction(
      "look that cleans",
      [&] {
        require(static_cast<bool>(open_at(*looks, files)), "it is not opened");
        take_slots(*looks, 2);
        const pid_t dead = ::fork();
        if (dead == 0) {
          segment own;
          require(static_cast<bool>(open_at(own, files)), "it is not opened");
          take_slots(own, 3);
          ::_exit(0);
        }
        int status = 0;
        require(::waitpid(dead, &status, 0) == dead && status == 0, "there is no dead one");
      },
      [&] { require(looks->look(cleaner_of(*looks)).cleaned == 1, "it has not cleaned up"); },
      [&](std::size_t at) {
        INFO(at);
        check_all_back(survivor, files);
      });
  close_all(survivor);
}

TEST_CASE("a creator that is killed at any instruction leaves a name that the next one can use at once") {
  const watchdog dog{[] { return std::string{"creating"}; }, std::chrono::minutes{20}};
  const stand_name name{"creator"};
  auto created = std::make_unique<segment>();
  kill_at_each_instruction(
      "create by name", [] {}, [&] { require(static_cast<bool>(open_named(*created, name)), "it is not created"); },
      [&](std::size_t at) {
        INFO(at);
        check_name(name);
        CHECK_FALSE(name.is_there());
      });
}

TEST_CASE("who is killed at any instruction while it replaces a name that was left leaves one that can be used") {
  const watchdog dog{[] { return std::string{"replacing"}; }, std::chrono::minutes{20}};
  const stand_name name{"replacer"};
  auto replaced = std::make_unique<segment>();
  kill_at_each_instruction(
      "replace by name",
      [&] {
        const pid_t dead = ::fork();
        if (dead == 0) {
          segment own;
          require(static_cast<bool>(open_named(own, name)), "it is not opened");
          ::_exit(0);
        }
        int status = 0;
        require(::waitpid(dead, &status, 0) == dead && status == 0, "there is no dead one");
      },
      [&] { require(static_cast<bool>(open_named(*replaced, name)), "it is not replaced"); },
      [&](std::size_t at) {
        INFO(at);
        check_name(name);
        CHECK_FALSE(name.is_there());
      });
}

TEST_CASE("the last user of a name that is killed at any instruction of its close leaves a name that can be used") {
  const watchdog dog{[] { return std::string{"leaving"}; }, std::chrono::minutes{20}};
  const stand_name name{"leaver"};
  auto leaves = std::make_unique<segment>();
  kill_at_each_instruction(
      "last close by name", [&] { require(static_cast<bool>(open_named(*leaves, name)), "it is not opened"); },
      [&] { close_all(*leaves); },
      [&](std::size_t at) {
        INFO(at);
        check_name(name);
        CHECK_FALSE(name.is_there());
      });
}
