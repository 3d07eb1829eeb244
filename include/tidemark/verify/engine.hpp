// SPDX-License-Identifier: BSL-1.0
//
// What the model checker offers to code that is compiled without it. The bodies are in runner/, which is compiled
// once for a project: so a check compiles in a fraction of a second, and no macro of the checker meets its code. Users
// include check.hpp or a platform.
//
// Every operation belongs to an execution: a cell that is made outside of one ends the program with a message.
#ifndef TIDEMARK_VERIFY_ENGINE_HPP
#define TIDEMARK_VERIFY_ENGINE_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <type_traits>

namespace tidemark::verify {

/// The position of an operation in the source. The column distinguishes two operations on one line.
struct source_position {
  const char* file;
  unsigned line;
  unsigned column;
  const char* function;
  const void* address = nullptr;  // instead of all that: of a call that does not say where it is

#if defined(__has_builtin) && __has_builtin(__builtin_COLUMN)
  static constexpr source_position current(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE(),
                                           unsigned column = __builtin_COLUMN(),
                                           const char* function = __builtin_FUNCTION()) noexcept {
    return {file, line, column, function, nullptr};
  }
#else
  static constexpr source_position current(std::source_location at = std::source_location::current()) noexcept {
    return {at.file_name(), at.line(), at.column(), at.function_name(), nullptr};
  }
#endif

  /// Of a call that returns to `address`: an operator without an argument, to which the language gives no position, and
  /// code that is not written for the checker. Who passes that address must not be inlined. The line is looked up where
  /// it is printed.
  static constexpr source_position of_address(const void* address) noexcept { return {"", 0, 0, "", address}; }

  /// Of what is done on behalf of a line, whose order is not the user's. The audit leaves it alone.
  constexpr source_position whole_line() const noexcept { return {file, line, 0, function}; }
};

/// How the value of a cell is to be printed, and at how many bytes an addition is cut off.
struct value_type {
  std::uint8_t bytes = 8;
  bool is_signed = false;
  bool is_pointer = false;

  template <class T>
  static constexpr value_type of() noexcept {
    return {static_cast<std::uint8_t>(sizeof(T) < 8 ? sizeof(T) : 8), std::is_signed_v<T>, std::is_pointer_v<T>};
  }
};

}  // namespace tidemark::verify

namespace tidemark::verify::engine {

/// What a word holds: the bytes of a value of up to eight bytes, and zeros.
template <class T>
std::uint64_t to_bits(const T& value) noexcept {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8,
                "the checker follows words of up to eight bytes that can be copied byte by byte");
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}
template <class T>
T from_bits(std::uint64_t bits) noexcept {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

/// What an atomic holds that the checker meets in the middle of an execution.
struct memory_value {
  const void* memory;
  std::uint64_t bits;
  std::uint32_t by;  // the number of the store that wrote it
};

/// A word that threads share. Addition wraps at the width of its type.
class word {
 public:
  word(std::uint64_t value, value_type type);
  /// All threads see the value, as if it had been there before them.
  word(const memory_value& first, value_type type);
  word(const word&) = delete;
  word& operator=(const word&) = delete;
  ~word();

  std::uint64_t load(std::memory_order order, const source_position& at) const;
  void store(std::uint64_t value, std::memory_order order, const source_position& at);
  std::uint64_t exchange(std::uint64_t value, std::memory_order order, const source_position& at);
  std::uint64_t fetch_add(std::uint64_t value, std::memory_order order, const source_position& at);
  std::uint64_t fetch_sub(std::uint64_t value, std::memory_order order, const source_position& at);
  std::uint64_t fetch_and(std::uint64_t value, std::memory_order order, const source_position& at);
  std::uint64_t fetch_or(std::uint64_t value, std::memory_order order, const source_position& at);
  std::uint64_t fetch_xor(std::uint64_t value, std::memory_order order, const source_position& at);
  bool compare_exchange_strong(std::uint64_t& expected, std::uint64_t desired, std::memory_order success,
                               std::memory_order failure, const source_position& at);
  /// May fail for no reason: at random, or in an exhaustive search once for each word.
  bool compare_exchange_weak(std::uint64_t& expected, std::uint64_t desired, std::memory_order success,
                             std::memory_order failure, const source_position& at);

  /// Sleeps if the newest value is the expected one, like a futex. Returns false if `timed` is true and the deadline
  /// has passed, which may be at any moment; otherwise true. Sleeping and waking synchronize nothing.
  bool park(std::uint64_t expected, bool timed, const source_position& at);
  /// Wakes up to `count` of the threads that sleep on this word: those with the lowest numbers. Returns whether there
  /// was one.
  bool unpark(std::uint32_t count, const source_position& at);

  static constexpr std::size_t place_size = 144;

 private:
  friend class word_pair;
  alignas(8) std::byte place_[place_size];
};

/// Two words that are exchanged as a whole and loaded one by one, so that torn pairs occur.
class word_pair {
 public:
  explicit word_pair(std::uint64_t first) : first_{first, {}}, second_{0, {}} {}

  std::uint64_t load_first(std::memory_order order, const source_position& at) const { return first_.load(order, at); }
  std::uint64_t load_second(std::memory_order order, const source_position& at) const {
    return second_.load(order, at);
  }
  /// A strong exchange. Of what an execution sees of it, the first word comes first: who reads the new second one does
  /// not find the old first one.
  bool compare_exchange(std::uint64_t (&expected)[2], const std::uint64_t (&desired)[2], std::memory_order success,
                        std::memory_order failure, const source_position& at);

 private:
  word first_;
  word second_;
};

/// A plain field. Two accesses without an order between them, of which one is a write, are reported as a race. The
/// value itself lies beside it.
class field {
 public:
  field();
  field(const field&) = delete;
  field& operator=(const field&) = delete;
  ~field();

  /// What stands at `value`, and `bits`, are shown where the execution is printed. Null shows zero.
  void read(const void* value, value_type type, const source_position& at) const;
  void write(std::uint64_t bits, value_type type, const source_position& at);

  static constexpr std::size_t place_size = 48;

 private:
  alignas(8) std::byte place_[place_size];
};

/// A mutex. What a thread may not do with it ends the execution as failed: lock an exclusive one twice, unlock one that
/// it has not locked, or leave one locked. `try_lock` and `try_lock_shared` may fail for no reason.
enum class lock_kind : std::uint8_t { exclusive, recursive, shared };
class lock_cell {
 public:
  explicit lock_cell(lock_kind kind = lock_kind::exclusive);
  lock_cell(const lock_cell&) = delete;
  lock_cell& operator=(const lock_cell&) = delete;
  ~lock_cell();

  void lock(const source_position& at);
  bool try_lock(const source_position& at);
  void unlock(const source_position& at);

  // Of a shared one.
  void lock_shared(const source_position& at);
  bool try_lock_shared(const source_position& at);
  void unlock_shared(const source_position& at);

  static constexpr std::size_t place_size = 32;

 private:
  friend class condition_cell;
  alignas(8) std::byte place_[place_size];
};

/// A condition variable. A random search also wakes threads for no reason. Only an exclusive mutex can be waited with.
class condition_cell {
 public:
  condition_cell();
  condition_cell(const condition_cell&) = delete;
  condition_cell& operator=(const condition_cell&) = delete;
  ~condition_cell();

  void wait(lock_cell& lock, const source_position& at);
  /// Returns false if the deadline has passed, which may be at any moment.
  bool wait_timed(lock_cell& lock, const source_position& at);
  void notify_one(const source_position& at);
  void notify_all(const source_position& at);

  static constexpr std::size_t place_size = 32;

 private:
  alignas(8) std::byte place_[place_size];
};

/// std::atomic_thread_fence.
void thread_fence(std::memory_order order, const source_position& at);

/// A fence that is left out or weakened by the audit only: what orders every thread of the process at once, like the
/// system call membarrier.
void everywhere_fence(const source_position& at);

/// Tells the checker that the calling thread can't go on before another one has. For loops that spin.
void yield(const source_position& at);

/// The number of the calling thread, from 0.
unsigned this_thread() noexcept;

/// A number below `limit`. An exhaustive search tries all of them.
unsigned choose(unsigned limit);

/// Ends the execution as failed, with this text.
[[noreturn]] void fail(const char* text, const source_position& at);

// ---- for the audit of barriers that a platform makes of other parts -------------------------------------------------

enum class barrier { light, heavy, full };

/// Notes that a barrier is executed. Returns what the audit wants it to be.
enum class barrier_change { none, removed, own_thread };
barrier_change at_barrier(barrier which, const source_position& at);

}  // namespace tidemark::verify::engine

#endif  // TIDEMARK_VERIFY_ENGINE_HPP
