// SPDX-License-Identifier: BSL-1.0
//
// A segment that processes share, with slots that attachments take, as a heap of waiters has them; and processes that
// use it and are killed.
#ifndef TIDEMARK_TESTS_SUPPORT_SHARED_STAND_HPP
#define TIDEMARK_TESTS_SUPPORT_SHARED_STAND_HPP

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include <tidemark/fence/detail/shared_segment.hpp>

#include "support/shared_memory.hpp"

namespace testing {

using segment = tidemark::detail::shared_segment<tidemark::native_platform>;
using tidemark::detail::attachment_rights;
using tidemark::detail::open_result;
using tidemark::detail::open_status;
using tidemark::detail::segment_field;
using tidemark::detail::segment_files;
using tidemark::detail::segment_shape;

inline constexpr segment_shape stand_shape{.value_kind = 7,
                                           .double_word = 1,
                                           .options = 5,
                                           .waiter_slots = 8,
                                           .attachments = 4,
                                           .value_bytes = 256,
                                           .waiter_bytes = 256};

/// The slots: each has the number of its owner, from 1.
inline std::atomic<std::uint32_t>& slot_of(const segment& in, std::size_t number) {
  return reinterpret_cast<std::atomic<std::uint32_t>*>(in.waiters())[number];
}

/// Gives back what an attachment has.
inline auto cleaner_of(const segment& in) {
  return [&in](std::uint32_t index) {
    for (std::size_t slot = 0; slot < stand_shape.waiter_slots; ++slot) {
      std::uint32_t owner = index + 1;
      slot_of(in, slot).compare_exchange_strong(owner, 0);
    }
  };
}

/// Takes some slots for an attachment.
inline void take_slots(const segment& of, std::size_t count) {
  for (std::size_t slot = 0; slot < stand_shape.waiter_slots && count != 0; ++slot) {
    std::uint32_t none = 0;
    if (slot_of(of, slot).compare_exchange_strong(none, of.index() + 1)) --count;
  }
}

inline std::size_t slots_taken(const segment& in) {
  std::size_t taken = 0;
  for (std::size_t slot = 0; slot < stand_shape.waiter_slots; ++slot) taken += slot_of(in, slot) != 0 ? 1U : 0U;
  return taken;
}

/// Returns how many records are not free.
inline std::size_t records_used(const segment& in) {
  using words = segment::words_type;
  const std::byte* const file = in.base() + tidemark::detail::value_file_size(in.shape());
  const auto& all = *reinterpret_cast<const words*>(file + tidemark::detail::words_at);
  std::size_t used = 0;
  for (const auto& record : all.records) used += record.state.load(std::memory_order_relaxed) != 0 ? 1U : 0U;
  return used;
}

inline segment_files memory_files(tidemark::detail::file_modes modes = {}) {
  segment_files files;
  REQUIRE(segment_files::create_in_memory(files, stand_shape, modes));
  return files;
}

/// A name that no other test has. Nobody may leave its files behind.
class stand_name {
 public:
  explicit stand_name(std::string_view what)
      : text_{"tidemark-test-" + std::to_string(::getpid()) + "-" + std::string{what}} {}
  stand_name(const stand_name&) = delete;
  stand_name& operator=(const stand_name&) = delete;
  ~stand_name() {
    CHECK_FALSE(is_there());
    ::unlink((path() + ".values").c_str());
    ::unlink(path().c_str());
  }
  operator tidemark::detail::segment_name() const { return {text_}; }
  std::string path() const { return "/dev/shm/" + text_; }
  bool is_there() const {
    return ::access(path().c_str(), F_OK) == 0 || ::access((path() + ".values").c_str(), F_OK) == 0;
  }

 private:
  std::string text_;
};

/// Long enough for any machine.
inline constexpr std::chrono::minutes patience{2};

/// Opens an attachment, or says why not.
inline open_result open_at(segment& to, const segment_files& files,
                           attachment_rights rights = attachment_rights::signal) {
  return to.open(files, stand_shape, {.rights = rights, .patience = patience}, cleaner_of(to));
}
inline open_result open_named(segment& to, tidemark::detail::segment_name name,
                              attachment_rights rights = attachment_rights::signal) {
  return to.open_or_create(name, {}, stand_shape, {.rights = rights, .patience = patience}, cleaner_of(to));
}
inline void close_all(segment& of) { of.close(cleaner_of(of)); }

/// A child that has come to a point, and is killed or told to end. What it does must not use doctest.
class stand_child {
 public:
  /// \param body  body(arrive) calls arrive() at the point, which returns when the child is told to go on
  template <class Body>
  explicit stand_child(const Body& body) {
    std::fflush(nullptr);
    REQUIRE(::pipe(to_parent_.data()) == 0);
    REQUIRE(::pipe(to_child_.data()) == 0);
    child_ = ::fork();
    REQUIRE(child_ >= 0);
    if (child_ == 0) {
      std::signal(SIGABRT, SIG_DFL);
      ::close(to_parent_[0]);
      ::close(to_child_[1]);
      body([this] {
        char byte = 'x';
        require(::write(to_parent_[1], &byte, 1) == 1, "the parent is gone");
        if (::read(to_child_[0], &byte, 1) != 1) ::_exit(2);
      });
      ::_exit(0);
    }
    ::close(to_parent_[1]);
    ::close(to_child_[0]);
  }
  stand_child(const stand_child&) = delete;
  stand_child& operator=(const stand_child&) = delete;
  ~stand_child() {
    if (child_ > 0) kill();
    ::close(to_parent_[0]);
    ::close(to_child_[1]);
  }

  /// Waits until the child has come to its point; returns false if it has ended.
  bool has_arrived() {
    char byte = 0;
    return ::read(to_parent_[0], &byte, 1) == 1;
  }
  void go_on() { REQUIRE(::write(to_child_[1], "x", 1) == 1); }
  /// Kills the child, and returns when its files are closed.
  void kill() {
    ::kill(child_, SIGKILL);
    static_cast<void>(end());
  }
  /// Waits for the end, and returns the exit status, or -1.
  int end() {
    int status = 0;
    const bool has_ended = ::waitpid(child_, &status, 0) == child_;
    child_ = 0;
    return has_ended && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  pid_t number() const { return child_; }

 private:
  pid_t child_ = 0;
  std::array<int, 2> to_parent_{};
  std::array<int, 2> to_child_{};
};

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_SHARED_STAND_HPP
