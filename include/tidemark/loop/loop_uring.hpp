// SPDX-License-Identifier: BSL-1.0
//
// loop_uring_wait: an io_uring waits for a loop, beside its reads and writes. Linux only.
//
//   tidemark::loop_uring_wait ready(loop, ring.ring_fd);
//   ready.prepare(*io_uring_get_sqe(&ring));      its completion says: call loop.poll(), and prepare the next one
//
// The operation is the kernel's futex operation where the ring has one (Linux 6.7); otherwise it polls the loop's
// descriptor, where a wake-up takes one system call more. While the loop has a deadline or watches descriptors it
// always polls, because a futex knows of neither. The program need not care which it is.
//
// An operation may complete although nothing is to be run, and the first one does so. Its result says nothing: -EAGAIN
// is no error here. But the kernel takes it for a failure, so no other operation should be linked to this one.
//
// An operation may be cancelled, and its ring closed. Before this object is destroyed, each operation should be
// complete or cancelled, and what was prepared must have been submitted. The destructor completes a futex operation
// that still waits. A poll stays in its ring until the loop's descriptor is readable or the ring is closed. It touches
// neither the loop nor this object.
//
// Not promised: that the loop's descriptor is readable while an operation waits. A program may use the descriptor at
// other times; but only one operation or thread at a time should sleep for a loop in this way. Also not promised: that
// a futex operation completes where a sandbox refuses futexes to the thread that signals.
//
// The layout of an operation is written down here. So neither liburing nor the kernel's header is needed, and it does
// not matter how old they are; the struct `io_uring_sqe` of either one fits.
#ifndef TIDEMARK_LOOP_LOOP_URING_HPP
#define TIDEMARK_LOOP_LOOP_URING_HPP

#if defined(__linux__)

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../platform/names.hpp"
#include "../platform/platform.hpp"
#include "tools/loop_operation.hpp"
#include "wait_loop.hpp"

struct io_uring_sqe;

namespace tidemark {

/// The ways in which an io_uring waits for a loop.
enum class uring_way : std::uint8_t {
  futex,  ///< It sleeps on a word where that is enough, and otherwise polls the descriptor.
  poll,   ///< It polls the descriptor.
};

template <>
inline constexpr auto detail::names_of<uring_way> = detail::names("futex", "poll");

namespace detail {

/// An entry of a submission queue, as the kernel reads it.
struct uring_entry {
  std::uint8_t operation = 0;
  std::uint8_t flags = 0;
  std::uint16_t priority = 0;
  std::int32_t descriptor = -1;
  std::uint64_t expected = 0;
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  std::uint32_t events = 0;
  std::uint64_t user_data = 0;
  std::uint64_t buffers = 0;
  std::uint64_t mask = 0;
  std::uint64_t unused = 0;

  static constexpr std::uint8_t poll_add = 6;
  static constexpr std::uint8_t futex_wait = 51;
  // FUTEX2_SIZE_U32; without the private flag, because unpark_operations() wakes without it
  static constexpr std::int32_t word_of_32_bits = 2;
  static constexpr std::uint64_t every_bit = 0xFFFFFFFF;
};
static_assert(sizeof(uring_entry) == 64 && offsetof(uring_entry, user_data) == 32);

inline namespace TIDEMARK_CONFIGURATION {
#if TIDEMARK_HAS_FUTEX

/// Returns whether the kernel of a ring has the futex operation.
/// \param ring  its descriptor
inline bool has_futex_wait(int ring) noexcept {
#if defined(SYS_io_uring_register)
  struct known_operation {
    std::uint8_t number;
    std::uint8_t unused;
    std::uint16_t flags;
    std::uint32_t reserved;
  };
  constexpr unsigned count = uring_entry::futex_wait + 1U;
  struct {
    std::uint64_t reserved[2];
    known_operation operations[count];
  } answer{};
  constexpr unsigned probe = 8;
  constexpr std::uint16_t is_supported = 1;
  const errno_keeper kept;
  return ::syscall(SYS_io_uring_register, ring, probe, &answer, count) == 0 &&
         (answer.operations[uring_entry::futex_wait].flags & is_supported) != 0;
#else
  static_cast<void>(ring);
  return false;
#endif
}

/// Fills in an operation that sleeps while the word has the value.
inline void sleep_on(uring_entry& filled, futex_parking::park_word& word, std::uint32_t value) noexcept {
  filled.operation = uring_entry::futex_wait;
  filled.descriptor = uring_entry::word_of_32_bits;
  filled.address = reinterpret_cast<std::uintptr_t>(&word.underlying());
  filled.expected = value;
  filled.mask = uring_entry::every_bit;
}

#else

// Threads sleep on condition variables, and so nobody would wake the operation.
inline bool has_futex_wait(int) noexcept { return false; }
inline void sleep_on(uring_entry&, auto&, std::uint32_t) noexcept {}

#endif
}  // namespace TIDEMARK_CONFIGURATION

/// Fills in a poll of the descriptor.
inline void poll_on(uring_entry& filled, int descriptor) noexcept {
  constexpr std::uint32_t readable = POLLIN;
  filled.operation = uring_entry::poll_add;
  filled.descriptor = descriptor;
  filled.events = std::endian::native == std::endian::big ? readable << 16 : readable;
}

}  // namespace detail

/// What an io_uring waits for. All functions but way() and error() belong to the thread that submits the operations.
/// \tparam Loop  the type of the loop
template <class Loop>
class loop_uring_wait : private detail::loop_guest {
 public:
  /// \param on       should outlive this: asserts that. No other loop_uring_wait may exist for it
  /// \param ring     the descriptor of the io_uring
  /// \param allowed  `poll` for a ring that may not use the futex operation although it has one
  /// Progress: makes system calls, and takes the loop's lock.
  loop_uring_wait(Loop& on, int ring, uring_way allowed = uring_way::futex) noexcept
      : loop_{on}, descriptor_{on.descriptor()}, error_{descriptor_ < 0 ? detail::thread_errno() : 0} {
    if (error_ == 0 && allowed == uring_way::futex && detail::has_futex_wait(ring)) way_ = uring_way::futex;
    const keeper kept(core().lock());
    core().guests().push(*this);
  }
  loop_uring_wait(const loop_uring_wait&) = delete;
  loop_uring_wait& operator=(const loop_uring_wait&) = delete;
  /// From now on the loop's descriptor becomes readable when an operation would have completed.
  ~loop_uring_wait() {
    if (this->has_lost_loop) return;
    const keeper kept(core().lock());
    core().guests().remove(*this);
    descriptors().disarm();
  }

  /// Makes an entry of the ring an operation that completes when loop.poll() should be called: also when a deadline has
  /// passed. It keeps the entry's user_data. Must be called again after each poll() that follows a completion. A poll()
  /// while an operation waits may complete it, too. Progress: takes the loop's lock.
  void prepare(io_uring_sqe& entry) noexcept {
    detail::uring_entry filled;
    char* const bytes = reinterpret_cast<char*>(&entry);
    std::memcpy(&filled.user_data, bytes + offsetof(detail::uring_entry, user_data), sizeof filled.user_data);
    if (auto* const word = arm()) {
      detail::sleep_on(filled, *word, detail::uring_word<detail::uring_platform>::armed);
    } else {
      detail::poll_on(filled, descriptor_);
    }
    std::memcpy(bytes, &filled, sizeof filled);
  }

  /// Returns the way in which it waits. Progress: wait-free. Any thread may call it.
  uring_way way() const noexcept { return way_; }
  /// Returns 0; or the reason why the loop has no descriptor, as in errno. Then operations complete at once with
  /// -EBADF. Progress: wait-free. Any thread may call it.
  int error() const noexcept { return error_; }

 private:
  using keeper = typename detail::loop_work<typename Loop::platform>::keeper;

  auto& core() const noexcept { return detail::loop_access::core_of(loop_); }
  auto& descriptors() const noexcept { return detail::loop_access::descriptor_of(loop_); }

  /// Returns the word on which an operation may sleep, or null.
  auto* arm() noexcept {
    const keeper kept(core().lock());
    return descriptors().arm(way_ == uring_way::futex && !detail::loop_access::runner_of(loop_).has_sleeper());
  }

  Loop& loop_;
  int descriptor_;
  int error_;
  uring_way way_ = uring_way::poll;
};

}  // namespace tidemark

#endif

#endif  // TIDEMARK_LOOP_LOOP_URING_HPP
