// SPDX-License-Identifier: BSL-1.0
//
// Checks of memory ordering: a few threads that share atomics, played through in every order that a model checker can
// think of.
//
//   struct message_arrives : tidemark::verify::check<2> {
//     tidemark::verify::atomic<int> ready{0};
//     tidemark::verify::var<int> message;
//
//     void thread(unsigned index) {
//       if (index == 0) {
//         message.store(42);
//         ready.store(1, std::memory_order_release);
//       } else if (ready.load(std::memory_order_acquire) == 1) {
//         tidemark::verify::expect(message.load() == 42, "the message is there");
//       }
//     }
//   };
//   const tidemark::verify::checked<message_arrives> first{"message_arrives"};
//
// The program is this file and the runner, which is compiled once and brings main(): see docs/guide-verify.md. Neither
// includes the other's headers, so a check compiles as fast as any small file. Each execution begins with a new check,
// which holds all that its threads share.
#ifndef TIDEMARK_VERIFY_CHECK_HPP
#define TIDEMARK_VERIFY_CHECK_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "engine.hpp"

// Misuse of our headers fails the execution. For that, this header must come before them.
#ifdef TIDEMARK_ASSERT_IS_DEFAULT
#error "tidemark: include <tidemark/verify/check.hpp> before other headers of tidemark, so that misuse fails a check"
#endif
#ifndef TIDEMARK_ASSERT
#define TIDEMARK_ASSERT(condition, text) \
  ((condition) ? static_cast<void>(0)    \
               : ::tidemark::verify::engine::fail(text, ::tidemark::verify::source_position::current()))
#endif

namespace tidemark::verify {

/// A check derives from this and has `thread(index)`, which each of its threads runs. It may have `before()` and
/// `after()`, which run alone, before and behind the threads. Its constructor and its destructor run alone, too.
///
/// A check in which no two threads share anything is taken for a mistake, unless it says `may_share_nothing = true`.
template <unsigned Threads>
struct check {
  static_assert(0 < Threads && Threads <= 4, "a search bears at most four threads");
  static constexpr unsigned threads = Threads;
};

/// Ends the execution as failed if the condition does not hold.
inline void expect(bool condition, const char* text, source_position at = source_position::current()) {
  if (!condition) engine::fail(text, at);
}

// ---- what threads share ---------------------------------------------------------------------------------------------

/// The right side of an assignment, with its position: an operator can't have a default argument, but a conversion can.
template <class T>
struct located {
  located(T assigned, source_position here = source_position::current()) : value{assigned}, at{here} {}
  T value;
  source_position at;
};

/// std::atomic under the checker, for values of up to eight bytes. What the language leaves open is played through: a
/// load finds any store that it may find, and a weak exchange may fail for no reason. It is padding that such a value
/// must not have, because bytes are compared. Operators are sequentially consistent, as std::atomic's are. To those
/// without an argument the language gives no position: their lines are printed if the program has debug information,
/// and the audit does not see them.
template <class T>
class atomic {
  static constexpr bool has_bits = std::is_integral_v<T> && !std::is_same_v<T, bool>;
  static constexpr bool counts = has_bits || (std::is_pointer_v<T> && !std::is_void_v<std::remove_pointer_t<T>>);
  static constexpr std::memory_order of_operators = std::memory_order_seq_cst;

 public:
  using value_type = T;
  using difference_type = std::conditional_t<std::is_pointer_v<T>, std::ptrdiff_t, T>;
  static constexpr bool is_always_lock_free = true;

  atomic() : atomic{T{}} {}
  atomic(T value) : word_{engine::to_bits(value), verify::value_type::of<T>()} {}
  atomic(const atomic&) = delete;
  // Not of a constant one: a value on the right side would be converted to that, and not to a located one.
  atomic& operator=(atomic&) = delete;

  bool is_lock_free() const noexcept { return true; }

  T load(std::memory_order order = std::memory_order_seq_cst, source_position at = source_position::current()) const {
    return value_of(word_.load(order, at));
  }
  void store(T value, std::memory_order order = std::memory_order_seq_cst,
             source_position at = source_position::current()) {
    word_.store(bits_of(value), order, at);
  }
  T exchange(T value, std::memory_order order = std::memory_order_seq_cst,
             source_position at = source_position::current()) {
    return value_of(word_.exchange(bits_of(value), order, at));
  }

  bool compare_exchange_strong(T& expected, T desired, std::memory_order success, std::memory_order failure,
                               source_position at = source_position::current()) {
    std::uint64_t found = bits_of(expected);
    const bool exchanged = word_.compare_exchange_strong(found, bits_of(desired), success, failure, at);
    if (!exchanged) expected = value_of(found);
    return exchanged;
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order order = std::memory_order_seq_cst,
                               source_position at = source_position::current()) {
    return compare_exchange_strong(expected, desired, order, order_of_failure(order), at);
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success, std::memory_order failure,
                             source_position at = source_position::current()) {
    std::uint64_t found = bits_of(expected);
    const bool exchanged = word_.compare_exchange_weak(found, bits_of(desired), success, failure, at);
    if (!exchanged) expected = value_of(found);
    return exchanged;
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order order = std::memory_order_seq_cst,
                             source_position at = source_position::current()) {
    return compare_exchange_weak(expected, desired, order, order_of_failure(order), at);
  }

  /// Of a pointer, `by` counts elements.
  T fetch_add(difference_type by, std::memory_order order = std::memory_order_seq_cst,
              source_position at = source_position::current())
    requires counts
  {
    return value_of(word_.fetch_add(steps_of(by), order, at));
  }
  T fetch_sub(difference_type by, std::memory_order order = std::memory_order_seq_cst,
              source_position at = source_position::current())
    requires counts
  {
    return value_of(word_.fetch_sub(steps_of(by), order, at));
  }
  T fetch_and(T bits, std::memory_order order = std::memory_order_seq_cst,
              source_position at = source_position::current())
    requires has_bits
  {
    return value_of(word_.fetch_and(bits_of(bits), order, at));
  }
  T fetch_or(T bits, std::memory_order order = std::memory_order_seq_cst,
             source_position at = source_position::current())
    requires has_bits
  {
    return value_of(word_.fetch_or(bits_of(bits), order, at));
  }
  T fetch_xor(T bits, std::memory_order order = std::memory_order_seq_cst,
              source_position at = source_position::current())
    requires has_bits
  {
    return value_of(word_.fetch_xor(bits_of(bits), order, at));
  }

  // NOLINTNEXTLINE(misc-unconventional-assign-operator): as that of std::atomic
  T operator=(located<T> assigned) {
    store(assigned.value, of_operators, assigned.at);
    return assigned.value;
  }
  [[gnu::noinline]] operator T() const {
    return load(of_operators, source_position::of_address(__builtin_return_address(0)));
  }
  T operator+=(located<difference_type> by)
    requires counts
  {
    return changed(fetch_add(by.value, of_operators, by.at) + by.value);
  }
  T operator-=(located<difference_type> by)
    requires counts
  {
    return changed(fetch_sub(by.value, of_operators, by.at) - by.value);
  }
  T operator&=(located<T> bits)
    requires has_bits
  {
    return changed(fetch_and(bits.value, of_operators, bits.at) & bits.value);
  }
  T operator|=(located<T> bits)
    requires has_bits
  {
    return changed(fetch_or(bits.value, of_operators, bits.at) | bits.value);
  }
  T operator^=(located<T> bits)
    requires has_bits
  {
    return changed(fetch_xor(bits.value, of_operators, bits.at) ^ bits.value);
  }
  [[gnu::noinline]] T operator++()
    requires counts
  {
    return operator+=({1, source_position::of_address(__builtin_return_address(0))});
  }
  [[gnu::noinline]] T operator--()
    requires counts
  {
    return operator-=({1, source_position::of_address(__builtin_return_address(0))});
  }
  [[gnu::noinline]] T operator++(int)
    requires counts
  {
    return fetch_add(1, of_operators, source_position::of_address(__builtin_return_address(0)));
  }
  [[gnu::noinline]] T operator--(int)
    requires counts
  {
    return fetch_sub(1, of_operators, source_position::of_address(__builtin_return_address(0)));
  }

  /// Sleeps while the value is `old`. A wake-up that does not come shows as a deadlock.
  void wait(T old, std::memory_order order = std::memory_order_seq_cst,
            source_position at = source_position::current()) const {
    while (bits_of(load(order, at)) == bits_of(old)) word_.park(bits_of(old), false, at);
  }
  void notify_one(source_position at = source_position::current()) { word_.unpark(1, at); }
  void notify_all(source_position at = source_position::current()) { word_.unpark(UINT32_MAX, at); }

  /// For platforms: like a futex, see engine::word.
  bool park(T expected, bool timed, source_position at = source_position::current()) {
    return word_.park(bits_of(expected), timed, at);
  }
  bool unpark(std::uint32_t count, source_position at = source_position::current()) { return word_.unpark(count, at); }

 private:
  static std::uint64_t bits_of(const T& value) { return engine::to_bits(value); }
  template <class Result>
  static T changed(Result result) {
    return static_cast<T>(result);
  }
  static T value_of(std::uint64_t bits) { return engine::from_bits<T>(bits); }
  static std::uint64_t steps_of(difference_type by) {
    if constexpr (std::is_pointer_v<T>) {
      return engine::to_bits(by * static_cast<std::ptrdiff_t>(sizeof(std::remove_pointer_t<T>)));
    } else {
      return engine::to_bits(by);
    }
  }
  static constexpr std::memory_order order_of_failure(std::memory_order success) {
    if (success == std::memory_order_acq_rel) return std::memory_order_acquire;
    return success == std::memory_order_release ? std::memory_order_relaxed : success;
  }

  mutable engine::word word_;
};

/// A plain field. Two threads that use it without an order between them, one of them to write, are a data race. Its
/// operators are for code that has a T in its place when it is not checked: see atomic about their lines.
template <class T>
class var {
 public:
  var() : value_{} {}
  var(T value) : value_{value} {}
  var(const var&) = delete;
  var& operator=(var&) = delete;

  T load(source_position at = source_position::current()) const {
    field_.read(is_shown ? &value_ : nullptr, value_type::of<T>(), at);  // before the value is looked at
    return value_;
  }
  void store(T value, source_position at = source_position::current()) {
    field_.write(shown(value), value_type::of<T>(), at);
    value_ = value;
  }

  // NOLINTNEXTLINE(misc-unconventional-assign-operator): as that of an atomic
  T operator=(located<T> assigned) {
    store(assigned.value, assigned.at);
    return assigned.value;
  }
  [[gnu::noinline]] operator T() const { return load(source_position::of_address(__builtin_return_address(0))); }
  T operator+=(located<T> by) { return operator=({static_cast<T>(load(by.at) + by.value), by.at}); }
  T operator-=(located<T> by) { return operator=({static_cast<T>(load(by.at) - by.value), by.at}); }
  [[gnu::noinline]] T operator++() { return operator+=({1, source_position::of_address(__builtin_return_address(0))}); }
  [[gnu::noinline]] T operator--() { return operator-=({1, source_position::of_address(__builtin_return_address(0))}); }
  [[gnu::noinline]] T operator++(int) {
    const source_position at = source_position::of_address(__builtin_return_address(0));
    const T before = load(at);
    store(static_cast<T>(before + 1), at);
    return before;
  }
  [[gnu::noinline]] T operator--(int) {
    const source_position at = source_position::of_address(__builtin_return_address(0));
    const T before = load(at);
    store(static_cast<T>(before - 1), at);
    return before;
  }

 private:
  // Whether a printed execution shows its value.
  static constexpr bool is_shown = std::is_trivially_copyable_v<T> && sizeof(T) <= 8;

  static std::uint64_t shown(const T& value) {
    if constexpr (is_shown) {
      return engine::to_bits(value);
    } else {
      return 0;
    }
  }

  engine::field field_;
  T value_;
};

/// std::atomic_thread_fence.
inline void thread_fence(std::memory_order order, source_position at = source_position::current()) {
  engine::thread_fence(order, at);
}
/// The same. A call without a namespace is ambiguous, and does not silently get that of the standard library, which the
/// checker does not see.
inline void atomic_thread_fence(std::memory_order order, source_position at = source_position::current()) {
  engine::thread_fence(order, at);
}

/// For loops that spin: tells the checker that another thread must run before this one can go on.
inline void yield(source_position at = source_position::current()) { engine::yield(at); }

// ---- what the program has -------------------------------------------------------------------------------------------

/// What a search is told, and what it finds; of the runner.
namespace runner {
struct search;
struct outcome;
}  // namespace runner

/// The failure that a twin is for.
enum class fails_by : std::uint8_t { anything, race, assertion, deadlock, livelock, freed_memory, leak };

/// A check as the runner knows it. The first parameter of its functions is the place of the check.
struct entry {
  const char* name = "";
  unsigned threads = 0;
  std::size_t size = 0;
  std::size_t alignment = 0;
  void (*construct)(void*) = nullptr;
  void (*destroy)(void*) = nullptr;
  void (*before)(void*) = nullptr;
  void (*thread)(void*, unsigned) = nullptr;
  void (*after)(void*) = nullptr;
  runner::outcome (*play)(const entry&, const runner::search&) = nullptr;
  bool may_share_nothing = false;
  bool must_fail = false;
  fails_by by = fails_by::anything;
  const entry* next = nullptr;
};

namespace runner {
/// Searches the executions of a check. If the linker does not find it, the runner was built for other numbers of
/// threads: stage_<Threads>.cpp is missing.
template <unsigned Threads>
outcome play(const entry& played, const search& how);
template <>
outcome play<1>(const entry& played, const search& how);
template <>
outcome play<2>(const entry& played, const search& how);
template <>
outcome play<3>(const entry& played, const search& how);
template <>
outcome play<4>(const entry& played, const search& how);
}  // namespace runner

namespace detail {

template <class Check>
struct check_functions {
  static void construct(void* place) { new (place) Check(); }
  static void destroy(void* place) { at(place).~Check(); }
  static void before(void* place) {
    if constexpr (requires(Check& check) { check.before(); }) at(place).before();
  }
  static void thread(void* place, unsigned index) { at(place).thread(index); }
  static void after(void* place) {
    if constexpr (requires(Check& check) { check.after(); }) at(place).after();
  }

 private:
  static Check& at(void* place) { return *static_cast<Check*>(place); }
};

/// The checks of the program, the last one first.
inline const entry* registered = nullptr;

}  // namespace detail

template <class Check>
constexpr bool may_share_nothing = [] {
  if constexpr (requires { Check::may_share_nothing; }) return Check::may_share_nothing;
  return false;
}();

/// Returns what the runner needs to know of a check.
template <class Check>
constexpr entry entry_of(const char* name) {
  using functions = detail::check_functions<Check>;
  return {name,
          Check::threads,
          sizeof(Check),
          alignof(Check),
          functions::construct,
          functions::destroy,
          functions::before,
          functions::thread,
          functions::after,
          runner::play<Check::threads>,
          may_share_nothing<Check>};
}

/// Puts a check into the program, as a variable at file scope. The name must live as long as the program.
template <class Check>
class checked {
 public:
  explicit checked(const char* name) : entry_{entry_of<Check>(name)} {
    entry_.next = detail::registered;
    detail::registered = &entry_;
  }
  checked(const checked&) = delete;
  checked& operator=(const checked&) = delete;

 protected:
  entry entry_;
};

/// A check with a mistake in it, which must fail, in this way if one is named: a check that can't fail proves nothing.
template <class Check>
class twin : public checked<Check> {
 public:
  explicit twin(const char* name, fails_by by = fails_by::anything) : checked<Check>{name} {
    this->entry_.must_fail = true;
    this->entry_.by = by;
  }
};

/// All that main() does; the runner has one that calls it with `detail::registered`. `last` is the end of a list of
/// checks, whose other ones are found by `next`. Returns the exit status: 0 if all is as expected, 1 if not, and 2 for
/// a bad command line.
int run(int argc, char** argv, const entry* last);

}  // namespace tidemark::verify

#endif  // TIDEMARK_VERIFY_CHECK_HPP
