// SPDX-License-Identifier: BSL-1.0
//
// What the checker knows of memory that code uses which it can't change: who has read and written each byte, and the
// atomics and locks that were met there. All of it is made when an execution comes to an address for the first time,
// and belongs to that execution.
//
// Nothing here allocates by operator new, which belongs to the checked code.
#ifndef TIDEMARK_VERIFY_RUNNER_SHADOW_HPP
#define TIDEMARK_VERIFY_RUNNER_SHADOW_HPP

#include <cstddef>
#include <cstdint>

#include "../../engine.hpp"

namespace tidemark::verify::runner::shadow {

/// How memory is used. Two uses without an order between them are a race, if one writes and one is not atomic.
enum class use : std::uint8_t { read, write, atomic_read, atomic_write };
constexpr bool writes(use how) noexcept { return how == use::write || how == use::atomic_write; }
constexpr bool is_atomic(use how) noexcept { return how == use::atomic_read || how == use::atomic_write; }

/// Whether an execution runs whose uses of memory are to be followed.
bool is_following() noexcept;

/// A plain read or write of so many bytes, which is about to be made.
void use_plainly(const void* memory, std::size_t bytes, use how, bool is_volatile, const source_position& at);

/// Before other threads may run: what was about to be written is written by now.
void settle();

/// The errno of the system, whose name is a macro of Relacy's.
int& system_errno() noexcept;

/// While it lives other threads may run, which have an errno of their own.
class own_errno {
 public:
  own_errno() noexcept : kept_{system_errno()} {}
  own_errno(const own_errno&) = delete;
  own_errno& operator=(const own_errno&) = delete;
  ~own_errno() { system_errno() = kept_; }

 private:
  int kept_;
};

/// An atomic of the checked code, while the running thread uses it. No other thread runs meanwhile.
class atomic_use {
 public:
  atomic_use(void* memory, unsigned bytes, const source_position& at);
  atomic_use(const atomic_use&) = delete;
  atomic_use& operator=(const atomic_use&) = delete;
  ~atomic_use();

  engine::word& word() noexcept;
  /// The newest value.
  std::uint64_t newest() const noexcept;
  /// The operation is done: it has read, or has written this.
  void has_read();
  void has_written(std::uint64_t value);

 private:
  void note(use how);

  void* memory_;
  unsigned bytes_;
  const source_position& at_;
  struct cell& cell_;
};

/// For a thread that sleeps on an atomic, or wakes who sleeps there.
engine::word& word_of(void* memory, unsigned bytes, const source_position& at);

/// The lock and the condition variable that the checker has for one of the system at this address.
engine::lock_cell& lock_at(void* memory);
engine::condition_cell& condition_at(void* memory);

/// There is something else at these addresses from now on.
void forget(const void* memory, std::size_t bytes);

/// The memory is given back: who uses it afterwards, or without an order, fails. The C library may use it again itself:
/// of its memory only the order is looked at.
void free(void* memory, std::size_t bytes);
void free_of_c(void* memory, std::size_t bytes, const source_position& at);

/// For loops that spin: another thread must run before this one can go on. A stubborn thread goes on some times more,
/// because there are loops that give up.
void wait_for_others(const source_position& at);

/// A thread that finds the same for the third time waits for others.
void has_changed_nothing(const void* memory, std::uint64_t found, const source_position& at);
void has_changed_something();

/// Before the first execution; before each, also after one that has failed; and behind each that has not. What a failed
/// one has left behind is not destroyed, because its checker is gone.
void start();
void begin();
void end();

}  // namespace tidemark::verify::runner::shadow

#endif  // TIDEMARK_VERIFY_RUNNER_SHADOW_HPP
