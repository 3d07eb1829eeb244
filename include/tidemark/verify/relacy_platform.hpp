// SPDX-License-Identifier: BSL-1.0
//
// The platforms of the Relacy race detector. Every tidemark block, and any protocol that is built on one, runs under
// them unchanged.
//
//   relacy_platform            asymmetric: light_barrier() is nothing, heavy_barrier() is Relacy's system-wide fence
//   relacy_symmetric_platform  both sides are sequentially consistent, and the barriers are empty
//   relacy_pinned_platform     asymmetric with the heavy barrier refused: the fallback of native_platform
//   relacy_unfenced_platform   symmetric, without std::atomic_thread_fence: what ThreadSanitizer gets
//   relacy_portable_platform   symmetric, with the fallbacks of portable_platform; see relacy_portable_platform.hpp
//
// Include this header last, and keep model checks in executables of their own. Relacy replaces the global operator
// new, and defines macros (`$`, `new`, `delete`, `assert`, `memory_order_*` ...), which are removed again below.
// Compile with RL_DO_ASSERT=1. Otherwise an operation with an order that it can't have, such as a load with `release`,
// does nothing and returns zero, and Relacy does not report it.
//
// Where this is stricter than a machine, and where it is not:
//   - The halves of a double word are loaded separately, so torn pairs occur.
//   - Parking synchronizes nothing, so a sleep does not hide a missing release or acquire (Relacy's own futex would).
//   - In the random search a sleeper may wake for no reason if `spurious_wakeups` is true; on relacy_portable_platform
//     also if it is false. A deadline may pass at any moment.
//   - If more threads sleep on a word than unpark() wakes, it wakes those with the lowest numbers. No other choice is
//     tried. On relacy_portable_platform it wakes all of them.
//   - A compare-exchange that fails has no stronger order than one that succeeds. For example, `acquire` becomes
//     `relaxed` where success is `release`. So a check may fail where a machine can't.
//   - A load finds one of the last three values of an atomic, and in an exhaustive search one of the last two.
//   - A sequentially consistent access and a sequentially consistent fence of another thread are not ordered with each
//     other, though the language orders them. So a check may fail where a machine can't.
//
// Every operation passes its source position to Relacy, whose history shows it. `observer` gets the positions and
// orders of the operations that it is called for. Through `seam` one site can be weakened while the program runs, to
// show that a check notices it.
#ifndef TIDEMARK_VERIFY_RELACY_PLATFORM_HPP
#define TIDEMARK_VERIFY_RELACY_PLATFORM_HPP

#include <atomic>
#include <chrono>
#include <cstdint>
#include <source_location>
#include <string_view>

#include "../platform/platform.hpp"

// Two of Relacy's macros replace those of the standard library, which are restored; the others are removed.
#pragma push_macro("assert")
#pragma push_macro("errno")
#include <relacy/relacy.hpp>
#pragma pop_macro("errno")
#pragma pop_macro("assert")
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdollar-in-identifier-extension"
#undef $
#pragma clang diagnostic pop
#else
#undef $
#endif
#undef new
#undef delete
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef VAR
#undef VAR_T
#undef TLS_T
#undef memory_order_relaxed
#undef memory_order_consume
#undef memory_order_acquire
#undef memory_order_release
#undef memory_order_acq_rel
#undef memory_order_seq_cst

namespace tidemark::verify {

/// The position of an operation in the source. The column distinguishes two operations on one line.
struct source_position {
  const char* file;
  unsigned line;
  unsigned column;
  const char* function;

#if defined(__has_builtin) && __has_builtin(__builtin_COLUMN)
  static constexpr source_position current(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE(),
                                           unsigned column = __builtin_COLUMN(),
                                           const char* function = __builtin_FUNCTION()) noexcept {
    return {file, line, column, function};
  }
#else
  static constexpr source_position current(std::source_location at = std::source_location::current()) noexcept {
    return {at.file_name(), at.line(), at.column(), at.function_name()};
  }
#endif
  rl::debug_info info() const { return {function, file, line}; }
};

/// The kind of an operation.
enum class operation {
  load,
  store,
  read_modify_write,
  compare_exchange,
  fence,
  light_barrier,
  heavy_barrier,
  full_barrier,
};

/// Is called before each operation of an atomic or a double word, each thread fence, and each barrier of an asymmetric
/// platform, with the orders that the program names. The order of a barrier is seq_cst, and `failure` is relaxed except
/// for a compare-exchange. A part of a barrier may be reported once more, with a position of its own. Plain fields,
/// sleeping and waking, and mutexes are not reported. relacy_portable_platform reports the words of which its double
/// word and park() are made; see its header. It must not allocate. Set it before a simulation begins; null means that
/// nothing is called.
inline void (*observer)(const source_position&, operation, std::memory_order order,
                        std::memory_order failure) = nullptr;

/// How the operation at one site can be weakened. Where the operation is of another kind than the weakening is for,
/// nothing is weakened and no hit is counted.
enum class weakening {
  none,
  /// `to` replaces its order. Of a compare-exchange it replaces the order of success; the order of failure is lowered
  /// where it would be stronger than that.
  order,
  failure_order,  ///< `to` replaces the order of a compare-exchange that fails
  removed,        ///< a heavy or full barrier is left out
  own_thread,     ///< a heavy barrier becomes a sequentially consistent fence of the calling thread
  spurious,       ///< a compare-exchange of a double word may fail for no reason; not that of an atomic
};

/// The one site that is weakened while the checks run. Set it before a simulation begins.
struct weakened_site {
  weakening how = weakening::none;
  std::string_view file{};  ///< the end of the file's path
  unsigned line = 0;
  unsigned column = 0;  ///< 0 means any column
  std::memory_order to = std::memory_order_relaxed;
  bool blind = false;      ///< true counts hits and weakens nothing, for a test of a program that uses the seam
  std::uint64_t hits = 0;  ///< how often the site was executed; 0 after a simulation means that nothing was weakened
};
inline weakened_site seam;

/// Whether sleepers may wake for no reason. For the random search only: an exhaustive search would never end.
/// relacy_portable_platform does not look at it; see the head of this file.
inline bool spurious_wakeups = false;

namespace detail {

inline bool weakened(weakening how, const source_position& at) noexcept {
  if (seam.how != how || seam.line != at.line || !std::string_view{at.file}.ends_with(seam.file)) return false;
  if (seam.column != 0 && seam.column != at.column) return false;
  ++seam.hits;
  return !seam.blind;
}

inline void observe(const source_position& at, operation what, std::memory_order order,
                    std::memory_order failure = std::memory_order_relaxed) {
  if (observer != nullptr) observer(at, what, order, failure);
}

/// Observes a barrier, whose order is always the strongest.
inline void observe_barrier(const source_position& at, operation what) {
  constexpr auto strongest = std::memory_order_seq_cst;
  observe(at, what, strongest);
}

inline rl::memory_order to_relacy(std::memory_order order) noexcept {
  switch (order) {
    case std::memory_order_relaxed:
      return rl::mo_relaxed;
    case std::memory_order_consume:
      return rl::mo_consume;
    case std::memory_order_acquire:
      return rl::mo_acquire;
    case std::memory_order_release:
      return rl::mo_release;
    case std::memory_order_acq_rel:
      return rl::mo_acq_rel;
    case std::memory_order_seq_cst:
      return rl::mo_seq_cst;
  }
  return rl::mo_relaxed;
}

inline rl::memory_order order_at(std::memory_order order, const source_position& at) noexcept {
  return to_relacy(weakened(weakening::order, at) ? seam.to : order);
}

/// Observes an operation that can't fail, and returns its order.
inline rl::memory_order order_of(operation what, std::memory_order order, const source_position& at) {
  observe(at, what, order);
  return order_at(order, at);
}

/// Returns the failure order, but not a stronger one than the success order: Relacy would report that as a race.
inline rl::memory_order failure_order_at(std::memory_order failure, rl::memory_order success,
                                         const source_position& at) noexcept {
  const rl::memory_order wanted = to_relacy(weakened(weakening::failure_order, at) ? seam.to : failure);
  switch (success) {
    case rl::mo_seq_cst:
      return wanted;
    case rl::mo_acq_rel:
    case rl::mo_acquire:
      return wanted == rl::mo_relaxed ? rl::mo_relaxed : rl::mo_acquire;
    default:
      return rl::mo_relaxed;
  }
}

/// Observes a compare-exchange, and holds its two orders.
struct exchange_orders {
  exchange_orders(std::memory_order on_success, std::memory_order on_failure, const source_position& at)
      : success{order_at(on_success, at)}, failure{failure_order_at(on_failure, success, at)} {
    observe(at, operation::compare_exchange, on_success, on_failure);
  }
  rl::memory_order success;
  rl::memory_order failure;
};

/// Returns the newest value, as a failing compare-exchange or the kernel reads it. Writes nothing.
template <class T>
T load_newest(rl::atomic<T>& word, rl::memory_order order, const rl::debug_info& info) {
  T found = static_cast<T>(~word.debug_value());
  word.compare_exchange_strong(found, found, order, info);
  return found;
}

}  // namespace detail

template <class T>
class relacy_atomic {
 public:
  relacy_atomic() : value_{T{}} {}
  explicit relacy_atomic(T value) : value_{value} {}
  relacy_atomic(const relacy_atomic&) = delete;
  relacy_atomic& operator=(const relacy_atomic&) = delete;

  T load(std::memory_order order, source_position at = source_position::current()) const {
    return value_.load(detail::order_of(operation::load, order, at), at.info());
  }
  void store(T value, std::memory_order order, source_position at = source_position::current()) {
    value_.store(value, detail::order_of(operation::store, order, at), at.info());
  }
  T exchange(T value, std::memory_order order, source_position at = source_position::current()) {
    return value_.exchange(value, detail::order_of(operation::read_modify_write, order, at), at.info());
  }
  T fetch_add(T value, std::memory_order order, source_position at = source_position::current()) {
    return value_.fetch_add(value, detail::order_of(operation::read_modify_write, order, at), at.info());
  }
  T fetch_sub(T value, std::memory_order order, source_position at = source_position::current()) {
    return value_.fetch_sub(value, detail::order_of(operation::read_modify_write, order, at), at.info());
  }
  T fetch_and(T value, std::memory_order order, source_position at = source_position::current()) {
    return value_.fetch_and(value, detail::order_of(operation::read_modify_write, order, at), at.info());
  }
  T fetch_or(T value, std::memory_order order, source_position at = source_position::current()) {
    return value_.fetch_or(value, detail::order_of(operation::read_modify_write, order, at), at.info());
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order success, std::memory_order failure,
                               source_position at = source_position::current()) {
    const detail::exchange_orders orders{success, failure, at};
    return value_.compare_exchange_strong(expected, desired, orders.success, at.info(), orders.failure, at.info());
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success, std::memory_order failure,
                             source_position at = source_position::current()) {
    const detail::exchange_orders orders{success, failure, at};
    return value_.compare_exchange_weak(expected, desired, orders.success, at.info(), orders.failure, at.info());
  }

  /// Sleeps if the word has the expected value, like a futex. Returns false if `timed` is true and the deadline has
  /// passed, which may be at any moment; otherwise true. A simulation must have at most 32 threads.
  bool park(T expected, bool timed, const rl::debug_info& info) {
    rl::context& context = rl::ctx();
    context.sched();
    if (detail::load_newest(value_, rl::mo_relaxed, info) != expected) return true;
    const std::uint32_t me = std::uint32_t{1} << context.threadx_->index_;
    sleepers_ |= me;
    const rl::unpark_reason reason = context.park_current_thread(timed, spurious_wakeups, false, info);
    sleepers_ &= ~me;
    return reason != rl::unpark_reason_timeout;
  }

  /// Wakes up to `count` threads that sleep on this word. Returns whether there was one.
  bool unpark(std::uint32_t count, const rl::debug_info& info) {
    rl::context& context = rl::ctx();
    context.sched();
    const bool has_sleeper = sleepers_ != 0 && count != 0;
    for (unsigned thread = 0; thread < 32 && count != 0; ++thread) {
      const std::uint32_t its_bit = std::uint32_t{1} << thread;
      if ((sleepers_ & its_bit) == 0) continue;
      sleepers_ &= ~its_bit;
      --count;
      context.unpark_thread(static_cast<rl::thread_id_t>(thread), false, info);
    }
    return has_sleeper;
  }

 private:
  rl::atomic<T> value_;
  std::uint32_t sleepers_ = 0;
};

/// A plain field that is checked for races.
template <class T>
class relacy_var {
 public:
  relacy_var() : value_{T{}} {}
  explicit relacy_var(T value) : value_{value} {}
  relacy_var(const relacy_var&) = delete;
  relacy_var& operator=(const relacy_var&) = delete;

  T load(source_position at = source_position::current()) const { return value_(at.info()).load(); }
  void store(T value, source_position at = source_position::current()) { value_(at.info()).store(value); }

 private:
  rl::var<T> value_;
};

/// A double word: exchanged as a whole, loaded by halves.
class relacy_double_word {
 public:
  static constexpr bool is_always_lock_free = true;

  explicit relacy_double_word(std::uint64_t value) : value_{value}, version_{std::uint64_t{0}} {}
  relacy_double_word(const relacy_double_word&) = delete;
  relacy_double_word& operator=(const relacy_double_word&) = delete;

  std::uint64_t load_value(std::memory_order order, source_position at = source_position::current()) const {
    return value_.load(detail::order_of(operation::load, order, at), at.info());
  }
  std::uint64_t load_version(std::memory_order order, source_position at = source_position::current()) const {
    return version_.load(detail::order_of(operation::load, order, at), at.info());
  }
  bool is_below(std::uint64_t bound, std::memory_order order, source_position at = source_position::current()) const {
    return load_value(order, at) < bound;
  }
  bool is_at_most(std::uint64_t bound, std::memory_order order, source_position at = source_position::current()) const {
    return load_value(order, at) <= bound;
  }
  versioned load(std::memory_order order, source_position at = source_position::current()) const {
    const std::uint64_t version = load_version(order, at);
    return {load_value(order, at), version};
  }

  bool compare_exchange_strong(versioned& expected, versioned desired, std::memory_order success,
                               std::memory_order failure, source_position at = source_position::current()) {
    const detail::exchange_orders orders{success, failure, at};
    const bool fails_anyway = detail::weakened(weakening::spurious, at) && rl::rand(2) == 0;
    rl::context& context = rl::ctx();
    context.sched();
    const rl::preemption_disabler whole{context};
    const bool exchanged = !fails_anyway && expected == versioned{value_.debug_value(), version_.debug_value()};
    if (exchanged) {
      // The value first: a thread that reads the new version must not find the old value beside it.
      value_.exchange(desired.value, orders.success, at.info());
      version_.exchange(desired.version, orders.success, at.info());
    } else {
      expected.value = detail::load_newest(value_, orders.failure, at.info());
      expected.version = detail::load_newest(version_, orders.failure, at.info());
    }
    return exchanged;
  }

 private:
  rl::atomic<std::uint64_t> value_;
  rl::atomic<std::uint64_t> version_;
};

/// The parts of which the asymmetric barriers of a platform are made, in Relacy's terms. The compiler fence is empty,
/// because Relacy executes every operation at its place. With `Refused` the system-wide fence is not available.
template <bool Refused>
struct relacy_machine {
  static void compiler_fence(std::memory_order, source_position at = source_position::current()) {
    detail::observe_barrier(at, operation::light_barrier);
  }
  static void thread_fence(std::memory_order order, source_position at = source_position::current()) {
    const rl::memory_order fenced = detail::order_of(operation::fence, order, at);
    if (fenced != rl::mo_relaxed) rl::atomic_thread_fence(fenced, at.info());
  }
  static constexpr bool can_interrupt() noexcept { return !Refused; }
  static bool interrupt_all(source_position at = source_position::current()) {
    rl::ctx().sched();
    rl::systemwide_fence(at.info());
    return true;
  }
};

enum class barrier_form { asymmetric, symmetric, refused };

/// A platform. A barrier has the source position of its caller, so each call can be weakened by itself.
template <barrier_form Form>
struct basic_relacy_platform : relacy_machine<Form == barrier_form::refused> {
  template <class T>
  using atomic = relacy_atomic<T>;
  template <class T>
  using var = relacy_var<T>;
  using double_word = relacy_double_word;
  using parking = basic_relacy_platform;
  using park_word = relacy_atomic<std::uint32_t>;

  class sleepers {
   public:
    sleepers(park_word& word) noexcept : word_{&word} {}

   private:
    friend basic_relacy_platform;
    park_word* word_;
  };

  static constexpr bool asymmetric = Form != barrier_form::symmetric;
  static constexpr bool has_thread_fences = true;

  static void light_barrier(source_position at = source_position::current()) {
    if constexpr (asymmetric) {
      detail::observe_barrier(at, operation::light_barrier);
      barriers::light_barrier();
    }
  }
  static constexpr bool heavy_barrier_available() noexcept { return Form != barrier_form::refused; }

  static bool heavy_barrier(source_position at = source_position::current()) {
    if constexpr (!asymmetric) return true;
    detail::observe_barrier(at, operation::heavy_barrier);
    if (detail::weakened(weakening::removed, at)) return heavy_barrier_available();
    if (detail::weakened(weakening::own_thread, at)) {
      rl::atomic_thread_fence(rl::mo_seq_cst, at.info());
      return heavy_barrier_available();
    }
    return barriers::heavy_barrier();
  }

  static void full_barrier(source_position at = source_position::current()) {
    if constexpr (asymmetric) {
      detail::observe_barrier(at, operation::full_barrier);
      if (!detail::weakened(weakening::removed, at)) barriers::full_barrier();
    }
  }

  static bool park(park_word& word, std::uint32_t expected, deadline until,
                   source_position at = source_position::current()) {
    return word.park(expected, until != no_deadline, at.info());
  }
  static bool unpark(sleepers those, std::uint32_t count, source_position at = source_position::current()) {
    return those.word_->unpark(count, at.info());
  }

  static void pause(source_position at = source_position::current()) { rl::yield(1, at.info()); }
  /// The threads of a simulation are one thread of the system.
  static unsigned current_thread() { return static_cast<unsigned>(rl::ctx().threadx_->index_) + 1; }
  /// A waiter that may spin looks once before it sleeps.
  static constexpr unsigned spin_looks() noexcept { return 1; }
  /// Time stands still; the scheduler decides when a deadline passes.
  static constexpr deadline now() noexcept { return deadline{}; }

 private:
  using barriers = tidemark::detail::asymmetric_barriers<relacy_machine<Form == barrier_form::refused>>;
};

/// A platform without fences that order relaxed accesses: blocks behave as under ThreadSanitizer.
struct unfenced_relacy_platform : basic_relacy_platform<barrier_form::symmetric> {
  static constexpr bool has_thread_fences = false;
};

}  // namespace tidemark::verify

namespace tidemark {

using relacy_platform = verify::basic_relacy_platform<verify::barrier_form::asymmetric>;
using relacy_symmetric_platform = verify::basic_relacy_platform<verify::barrier_form::symmetric>;
using relacy_pinned_platform = verify::basic_relacy_platform<verify::barrier_form::refused>;
using relacy_unfenced_platform = verify::unfenced_relacy_platform;

}  // namespace tidemark

#endif  // TIDEMARK_VERIFY_RELACY_PLATFORM_HPP
