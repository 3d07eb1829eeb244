// SPDX-License-Identifier: BSL-1.0
//
// The bodies behind engine.hpp: every operation is one of Relacy's, with what the audit and the record want of
// it.
#include "../engine.hpp"

#include <cstdio>
#include <cstdlib>
#include <new>
#include <ostream>

#include "execution.hpp"
#include "recording.hpp"
#include "relacy.hpp"
#include "seam.hpp"

namespace tidemark::verify::engine {
namespace {

using runner::complete;
using runner::info;
using runner::intend;
using runner::number_store;
using runner::operation;
using runner::phase;
using runner::remember_clock;
using runner::running;
using runner::step;
using runner::step_kind;
using runner::weakening;

// The store whose value was compared last, for the record.
std::uint32_t compared = 0;

/// The values of a word, as Relacy keeps them: with the number of the store that wrote them.
struct value {
  std::uint64_t bits = 0;
  std::uint32_t by = 0;
  std::uint8_t bytes = 8;

  friend bool operator==(const value& current, const value& expected) {
    compared = current.by;
    return current.bits == expected.bits;
  }
  friend value operator+(const value& old, const value& by) { return old.changed(old.bits + by.bits, by); }
  friend value operator-(const value& old, const value& by) { return old.changed(old.bits - by.bits, by); }
  friend value operator&(const value& old, const value& by) { return old.changed(old.bits & by.bits, by); }
  friend value operator|(const value& old, const value& by) { return old.changed(old.bits | by.bits, by); }
  friend value operator^(const value& old, const value& by) { return old.changed(old.bits ^ by.bits, by); }
  friend std::ostream& operator<<(std::ostream& out, const value& shown) { return out << shown.bits; }

 private:
  value changed(std::uint64_t result, const value& change) const {
    const std::uint64_t mask = bytes >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (bytes * 8)) - 1;
    return {result & mask, change.by, bytes};
  }
};

/// What every cell has.
struct owner {
  std::uint32_t execution = running.number;
  std::uint8_t touched = 0;  // a bit for each thread
};

struct word_data : owner {
  explicit word_data(const value& first) : shared{first} {}
  rl::atomic<value> shared;
  std::uint32_t sleepers = 0;
  value_type type;
  const void* name = this;  // in the record: the word, or the memory that it stands for
};

struct field_data : owner {
  rl::var<std::uint32_t> last{0};  // the number of the last write
};

struct lock_data : owner {
  explicit lock_data(lock_kind kind) {
    mutex.init(kind == lock_kind::shared, kind == lock_kind::recursive, false, true, rl::debug_info{"", "", 0});
  }
  ~lock_data() { mutex.deinit(rl::debug_info{"", "", 0}); }
  rl::generic_mutex<lock_data> mutex;
};

struct condition_data : owner {
  condition_data() { changed.init(true, rl::debug_info{"", "", 0}); }
  ~condition_data() { changed.deinit(rl::debug_info{"", "", 0}); }
  rl::condvar<condition_data> changed;
  std::uint32_t asleep = 0;
};

static_assert(sizeof(word_data) <= word::place_size && alignof(word_data) <= 8);
static_assert(sizeof(field_data) <= field::place_size && alignof(field_data) <= 8);
static_assert(sizeof(lock_data) <= lock_cell::place_size && alignof(lock_data) <= 8);
static_assert(sizeof(condition_data) <= condition_cell::place_size && alignof(condition_data) <= 8);

[[noreturn]] void stop_program(const char* what) {
  std::fprintf(stderr,
               "tidemark: %s outside of an execution. Make it a member of the check, not a global or a static: each "
               "execution begins with a new check.\n",
               what);
  std::abort();
}

[[noreturn]] void stop_started_thread(const char* what) {
  std::fprintf(
      stderr,
      "tidemark: %s by a thread that the check has started. The checker can't follow it: a check's threads are "
      "the calls of its thread(index).\n",
      what);
  std::abort();
}

void require_execution(const char* what) {
  if (!rl::is_ctx() || running.now == phase::outside) stop_program(what);
  if (!runner::plays_here) stop_started_thread(what);
}

[[noreturn]] void fail_freed(const char* text, const void* cell, const source_position& at) {
  runner::failed.at = at;
  runner::failed.cell = cell;
  rl::ctx().fail_test(text, rl::test_result_access_to_freed_memory, info(at));
  std::abort();  // does not happen: the execution has ended
}

/// The data of a cell that is about to be used. It must not be destroyed, nor of an earlier execution, whose state it
/// would carry over.
template <class Data>
Data& use(const std::byte* place, const source_position& at) {
  require_execution("an atomic, a plain field or a mutex is used");
  running.file = at.file;
  running.line = at.line;
  constexpr std::uintptr_t page = 4096;
  const auto address = reinterpret_cast<std::uintptr_t>(place);
  if (address < page || address > UINTPTR_MAX - page || address % alignof(Data) != 0)
    fail_freed("an atomic, a field or a mutex is used through a pointer to nothing", nullptr, at);
  auto& data = *reinterpret_cast<Data*>(const_cast<std::byte*>(place));
  if (data.execution == 0) fail_freed("an atomic, a field or a mutex is used that was destroyed", place, at);
  if (data.execution != running.number)
    fail("what was made in an earlier execution is used again: make it a member of the check, not a static", at);
  return data;
}

/// Notes that the running thread uses a cell. A check of which no two threads share one checks nothing.
void touch(owner& data) {
  if (running.shared || running.now != phase::threads) return;
  data.touched = static_cast<std::uint8_t>(data.touched | 1u << this_thread());
  if ((data.touched & (data.touched - 1)) != 0) running.shared = true;
}

template <class Data, class... Arguments>
Data& construct(std::byte* place, const char* what, const Arguments&... arguments) {
  require_execution(what);
  return *new (place) Data(arguments...);
}

// Who uses the cell later is told that it was destroyed. A compiler may leave out what a destructor writes, such as
// Relacy's own mark, so it is written here, and kept.
template <class Data>
void destroy(std::byte* place) {
  if (!rl::is_ctx() || running.now == phase::outside) return;
  reinterpret_cast<Data*>(place)->~Data();
  std::memset(place, 0, sizeof(Data));
  asm volatile("" : : "r"(place) : "memory");
}

// ---- orders ---------------------------------------------------------------------------------------------------------

rl::memory_order to_relacy(std::memory_order order) noexcept {
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
  return rl::mo_seq_cst;
}

void require_load_order(std::memory_order order, const source_position& at) {
  if (order == std::memory_order_release || order == std::memory_order_acq_rel)
    fail("a load can't have this order", at);
}

rl::memory_order order_at(std::memory_order order, const source_position& at) {
  const runner::weakened_site* const weakened = runner::find_weakened(weakening::order, at, order);
  return to_relacy(weakened == nullptr ? order : weakened->to);
}

/// Observes an operation that can't fail, and returns its order.
rl::memory_order order_of(operation what, std::memory_order order, const source_position& at) {
  runner::observe(at, what, order);
  return order_at(order, at);
}

/// Returns the failure order, but not a stronger one than the success order: Relacy would report that as a race.
rl::memory_order failure_order_at(std::memory_order failure, rl::memory_order success, const source_position& at) {
  const runner::weakened_site* const weakened = runner::find_weakened(weakening::failure_order, at, failure);
  const rl::memory_order wanted = to_relacy(weakened == nullptr ? failure : weakened->to);
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
    require_load_order(on_failure, at);
    runner::observe(at, operation::compare_exchange, on_success, on_failure);
  }
  rl::memory_order success;
  rl::memory_order failure;
};

// ---- words ----------------------------------------------------------------------------------------------------------

using shared_value = rl::generic_atomic<value, false>;

/// What Relacy keeps of an atomic is private to it. An explicit instantiation may name it nevertheless.
template <rl::atomic_data* shared_value::* Member>
struct opened {
  friend rl::atomic_data* data_of(const shared_value& shared) { return shared.*Member; }
};
rl::atomic_data* data_of(const shared_value& shared);
template struct opened<&shared_value::impl_>;

template <unsigned Threads>
void show_to_all_of(const shared_value& shared) {
  auto& data = static_cast<rl::atomic_data_impl<Threads>&>(*data_of(shared));
  auto& first = data.history_[data.current_index_ % rl::atomic_history_size];
  first.acq_rel_timestamp_ = 0;
  for (unsigned i = 0; i < Threads; ++i) {
    first.acq_rel_order_[i] = 0;
    first.first_seen_order_[i] = static_cast<rl::timestamp_t>(-1);
  }
}

/// The first value, which Relacy takes for a store of the running thread, was there before all threads.
void show_to_all(const shared_value& shared) {
  switch (rl::ctx().get_thread_count()) {
    case 1:
      return show_to_all_of<1>(shared);
    case 2:
      return show_to_all_of<2>(shared);
    case 3:
      return show_to_all_of<3>(shared);
    default:
      return show_to_all_of<4>(shared);
  }
}

void intend_word(step_kind kind, const word_data& data, std::memory_order order, const source_position& at) {
  intend(kind, data.name, data.type, order, at);
  if (data.name != &data && running.steps.recording())
    running.steps.intents[this_thread()].what.extent = data.type.bytes;
}

value to_value(const word_data& data, std::uint64_t bits) { return {bits, number_store(), data.type.bytes}; }

template <class Change>
std::uint64_t change(const std::byte* place, std::uint64_t operand, std::memory_order order, const source_position& at,
                     Change how) {
  auto& data = use<word_data>(place, at);
  intend_word(step_kind::change, data, order, at);
  const value found =
      how(data.shared, to_value(data, operand), order_of(operation::read_modify_write, order, at), info(at));
  touch(data);
  complete([&](step& done) {
    done.before = found.bits;
    done.after = data.shared.debug_value().bits;
    done.from = done.newest = found.by;
  });
  return found.bits;
}

template <class Exchange>
bool compare_exchange(const std::byte* place, std::uint64_t& expected, std::uint64_t desired, std::memory_order success,
                      std::memory_order failure, const source_position& at, Exchange exchange) {
  auto& data = use<word_data>(place, at);
  const exchange_orders orders{success, failure, at};
  intend_word(step_kind::exchanged, data, success, at);
  value found{expected, 0, data.type.bytes};
  const bool exchanged = exchange(data.shared, found, to_value(data, desired), orders, info(at));
  touch(data);
  complete([&](step& done) {
    if (!exchanged) {
      done.kind = step_kind::not_exchanged;
      done.order = failure;
      done.number = 0;
    }
    done.before = exchanged ? expected : found.bits;
    done.after = desired;
    done.from = done.newest = exchanged ? compared : found.by;
  });
  if (!exchanged) expected = found.bits;
  return exchanged;
}

/// The newest value, as a compare-exchange that fails or the kernel reads it. Writes nothing.
value load_newest(word_data& data, rl::memory_order order, const rl::debug_info& at) {
  value found = data.shared.debug_value();
  found.bits = ~found.bits;
  data.shared.compare_exchange_strong(found, found, order, at);
  return found;
}

}  // namespace

word::word(std::uint64_t first, value_type type) {
  construct<word_data>(place_, "an atomic is made", value{first, 0, type.bytes}).type = type;
}
word::word(const memory_value& first, value_type type) {
  auto& data = construct<word_data>(place_, "an atomic is made", value{first.bits, first.by, type.bytes});
  data.type = type;
  data.name = first.memory;
  show_to_all(data.shared);
}
word::~word() { destroy<word_data>(place_); }

std::uint64_t word::load(std::memory_order order, const source_position& at) const {
  auto& data = use<word_data>(place_, at);
  require_load_order(order, at);
  intend_word(step_kind::load, data, order, at);
  const value found = data.shared.load(order_of(operation::load, order, at), info(at));
  touch(data);
  complete([&](step& done) {
    done.before = found.bits;
    done.from = found.by;
    done.newest = data.shared.debug_value().by;
  });
  return found.bits;
}

void word::store(std::uint64_t bits, std::memory_order order, const source_position& at) {
  auto& data = use<word_data>(place_, at);
  if (order != std::memory_order_relaxed && order != std::memory_order_release && order != std::memory_order_seq_cst)
    fail("a store can't have this order", at);
  intend_word(step_kind::store, data, order, at);
  data.shared.store(to_value(data, bits), order_of(operation::store, order, at), info(at));
  touch(data);
  complete([&](step& done) { done.after = bits; });
}

std::uint64_t word::exchange(std::uint64_t bits, std::memory_order order, const source_position& at) {
  return change(place_, bits, order, at, [](auto& shared, auto... arguments) { return shared.exchange(arguments...); });
}
std::uint64_t word::fetch_add(std::uint64_t bits, std::memory_order order, const source_position& at) {
  return change(place_, bits, order, at,
                [](auto& shared, auto... arguments) { return shared.fetch_add(arguments...); });
}
std::uint64_t word::fetch_sub(std::uint64_t bits, std::memory_order order, const source_position& at) {
  return change(place_, bits, order, at,
                [](auto& shared, auto... arguments) { return shared.fetch_sub(arguments...); });
}
std::uint64_t word::fetch_and(std::uint64_t bits, std::memory_order order, const source_position& at) {
  return change(place_, bits, order, at,
                [](auto& shared, auto... arguments) { return shared.fetch_and(arguments...); });
}
std::uint64_t word::fetch_or(std::uint64_t bits, std::memory_order order, const source_position& at) {
  return change(place_, bits, order, at, [](auto& shared, auto... arguments) { return shared.fetch_or(arguments...); });
}
std::uint64_t word::fetch_xor(std::uint64_t bits, std::memory_order order, const source_position& at) {
  return change(place_, bits, order, at,
                [](auto& shared, auto... arguments) { return shared.fetch_xor(arguments...); });
}

bool word::compare_exchange_strong(std::uint64_t& expected, std::uint64_t desired, std::memory_order success,
                                   std::memory_order failure, const source_position& at) {
  return compare_exchange(place_, expected, desired, success, failure, at,
                          [](auto& shared, value& found, const value& next, auto& orders, const auto& here) {
                            return shared.compare_exchange_strong(found, next, orders.success, here, orders.failure,
                                                                  here);
                          });
}
bool word::compare_exchange_weak(std::uint64_t& expected, std::uint64_t desired, std::memory_order success,
                                 std::memory_order failure, const source_position& at) {
  return compare_exchange(place_, expected, desired, success, failure, at,
                          [](auto& shared, value& found, const value& next, auto& orders, const auto& here) {
                            return shared.compare_exchange_weak(found, next, orders.success, here, orders.failure,
                                                                here);
                          });
}

bool word::park(std::uint64_t expected, bool timed, const source_position& at) {
  auto& data = use<word_data>(place_, at);
  rl::context& context = rl::ctx();
  context.sched();
  if (load_newest(data, rl::mo_relaxed, info(at)).bits != expected) return true;
  touch(data);
  intend_word(step_kind::sleep, data, std::memory_order_relaxed, at);
  complete([&](step& done) {
    done.timed = timed;
    done.before = expected;
  });
  const std::uint32_t me = std::uint32_t{1} << this_thread();
  data.sleepers |= me;
  const rl::unpark_reason reason = context.park_current_thread(timed, runner::spurious_wakeups, false, info(at));
  data.sleepers &= ~me;
  intend_word(step_kind::woken, data, std::memory_order_relaxed, at);
  complete([&](step& done) { done.timed = reason == rl::unpark_reason_timeout; });
  return reason != rl::unpark_reason_timeout;
}

bool word::unpark(std::uint32_t count, const source_position& at) {
  auto& data = use<word_data>(place_, at);
  rl::context& context = rl::ctx();
  context.sched();
  touch(data);
  intend_word(step_kind::wake, data, std::memory_order_relaxed, at);
  std::uint32_t woken = 0;
  for (unsigned thread = 0; thread < runner::most_threads && count != 0; ++thread) {
    const std::uint32_t its_bit = std::uint32_t{1} << thread;
    if ((data.sleepers & its_bit) == 0) continue;
    data.sleepers &= ~its_bit;
    --count;
    ++woken;
    context.unpark_thread(static_cast<rl::thread_id_t>(thread), false, info(at));
  }
  complete([&](step& done) { done.count = woken; });
  return woken != 0;
}

bool word_pair::compare_exchange(std::uint64_t (&expected)[2], const std::uint64_t (&desired)[2],
                                 std::memory_order success, std::memory_order failure, const source_position& at) {
  auto& first = use<word_data>(first_.place_, at);
  auto& second = use<word_data>(second_.place_, at);
  const exchange_orders orders{success, failure, at};
  const bool fails_anyway = is_weakened(weakening::spurious, at) && rl::rand(2) == 0;
  rl::context& context = rl::ctx();
  context.sched();
  const rl::preemption_disabler whole{context};
  touch(first);
  touch(second);
  const bool exchanged = !fails_anyway && expected[0] == first.shared.debug_value().bits &&
                         expected[1] == second.shared.debug_value().bits;
  word_data* const halves[] = {&first, &second};
  for (unsigned i = 0; i < 2; ++i) {
    word_data& half = *halves[i];
    if (exchanged) {
      intend(step_kind::exchanged, &half, half.type, success, at);
      const value found = half.shared.exchange(to_value(half, desired[i]), orders.success, info(at));
      complete([&](step& done) {
        done.before = found.bits;
        done.after = desired[i];
        done.from = done.newest = found.by;
      });
    } else {
      intend(step_kind::not_exchanged, &half, half.type, failure, at);
      const value found = load_newest(half, orders.failure, info(at));
      expected[i] = found.bits;
      complete([&](step& done) {
        done.before = found.bits;
        done.after = desired[i];
        done.from = done.newest = found.by;
      });
    }
  }
  return exchanged;
}

// ---- plain fields ---------------------------------------------------------------------------------------------------

field::field() { construct<field_data>(place_, "a plain field is made"); }
// Who reads the field beside its end reads freed memory, so the end is ordered as a write is.
field::~field() {
  if (rl::is_ctx() && running.now == phase::threads) {
    const source_position end{"in its destructor", 0, 0, ""};
    auto& data = use<field_data>(place_, end);
    intend(step_kind::end, &data, {}, std::memory_order_relaxed, end);
    remember_clock();
    touch(data);
    data.last(info(end)).store(number_store());
    complete();
  }
  destroy<field_data>(place_);
}

void field::read(const void* value, value_type type, const source_position& at) const {
  auto& data = use<field_data>(place_, at);
  intend(step_kind::read, &data, type, std::memory_order_relaxed, at);
  remember_clock();
  touch(data);
  const std::uint32_t from = data.last(info(at)).load();
  complete([&](step& done) {
    if (value != nullptr) std::memcpy(&done.before, value, type.bytes);
    done.from = done.newest = from;
  });
}

void field::write(std::uint64_t bits, value_type type, const source_position& at) {
  auto& data = use<field_data>(place_, at);
  intend(step_kind::write, &data, type, std::memory_order_relaxed, at);
  remember_clock();
  touch(data);
  if (running.steps.recording()) running.steps.intents[this_thread()].what.after = bits;
  data.last(info(at)).store(number_store());
  complete();
}

// ---- locks ----------------------------------------------------------------------------------------------------------

lock_cell::lock_cell(lock_kind kind) { construct<lock_data>(place_, "a mutex is made", kind); }
lock_cell::~lock_cell() { destroy<lock_data>(place_); }

namespace {

lock_data& use_lock(const std::byte* place, step_kind how, const source_position& at) {
  auto& data = use<lock_data>(place, at);
  touch(data);
  const bool locks = how == step_kind::lock || how == step_kind::lock_shared;
  intend(how, &data, {}, locks ? std::memory_order_acquire : std::memory_order_release, at);
  return data;
}

bool tried(bool locked) {
  complete([&](step& done) { done.timed = !locked; });
  return locked;
}

}  // namespace

void lock_cell::lock(const source_position& at) {
  use_lock(place_, step_kind::lock, at).mutex.lock_exclusive(info(at));
  complete();
}
bool lock_cell::try_lock(const source_position& at) {
  return tried(use_lock(place_, step_kind::lock, at).mutex.try_lock_exclusive(info(at)));
}
void lock_cell::unlock(const source_position& at) {
  use_lock(place_, step_kind::unlock, at).mutex.unlock_exclusive(info(at));
  complete();
}

void lock_cell::lock_shared(const source_position& at) {
  use_lock(place_, step_kind::lock_shared, at).mutex.lock_shared(info(at));
  complete();
}
bool lock_cell::try_lock_shared(const source_position& at) {
  return tried(use_lock(place_, step_kind::lock_shared, at).mutex.try_lock_shared(info(at)));
}
void lock_cell::unlock_shared(const source_position& at) {
  use_lock(place_, step_kind::unlock_shared, at).mutex.unlock_shared(info(at));
  complete();
}

condition_cell::condition_cell() { construct<condition_data>(place_, "a condition variable is made"); }
condition_cell::~condition_cell() { destroy<condition_data>(place_); }

namespace {

/// The mutex of a thread that waits, which Relacy unlocks and locks: with the rows of the record in between.
class waited_lock {
 public:
  waited_lock(condition_data& changed, lock_data& lock, bool timed, const source_position& at)
      : changed_{changed}, lock_{lock}, at_{at} {
    intend(step_kind::sleep, &changed, {}, std::memory_order_relaxed, at);
    running.steps.intents[this_thread()].what.lock = &lock;
    running.steps.intents[this_thread()].what.timed = timed;
  }

  void unlock(rl::debug_info_param here) {
    lock_.mutex.unlock_exclusive(here);
    ++changed_.asleep;
    complete();
  }
  void lock(rl::debug_info_param here) {
    const rl::unpark_reason reason = rl::ctx().threadx_->unpark_reason_;
    if (reason != rl::unpark_reason_normal) --changed_.asleep;
    intend(step_kind::woken, &changed_, {}, std::memory_order_relaxed, at_);
    complete([&](step& done) { done.timed = reason == rl::unpark_reason_timeout; });
    intend(step_kind::lock, &lock_, {}, std::memory_order_acquire, at_);
    lock_.mutex.lock_exclusive(here);
    complete();
  }

 private:
  condition_data& changed_;
  lock_data& lock_;
  const source_position& at_;
};

// Sleeps with the mutex of `place` unlocked. Returns false if the deadline has passed.
bool wait_changed(condition_data& data, const std::byte* place, bool timed, const source_position& at) {
  touch(data);
  auto& mutex = use<lock_data>(place, at);
  touch(mutex);
  waited_lock lock{data, mutex, timed, at};
  return data.changed.wait(lock, timed, info(at)) != rl::sema_wakeup_reason_timeout;
}

}  // namespace

void condition_cell::wait(lock_cell& lock, const source_position& at) {
  wait_changed(use<condition_data>(place_, at), lock.place_, false, at);
}
bool condition_cell::wait_timed(lock_cell& lock, const source_position& at) {
  return wait_changed(use<condition_data>(place_, at), lock.place_, true, at);
}
namespace {

template <class Notify>
void notify(condition_data& data, std::uint32_t most, const source_position& at, Notify how) {
  touch(data);
  intend(step_kind::wake, &data, {}, std::memory_order_relaxed, at);
  how(data.changed);
  const std::uint32_t woken = data.asleep < most ? data.asleep : most;
  data.asleep -= woken;
  complete([&](step& done) { done.count = woken; });
}

}  // namespace

void condition_cell::notify_one(const source_position& at) {
  notify(use<condition_data>(place_, at), 1, at, [&](auto& changed) { changed.notify_one(info(at)); });
}
void condition_cell::notify_all(const source_position& at) {
  notify(use<condition_data>(place_, at), runner::most_threads, at,
         [&](auto& changed) { changed.notify_all(info(at)); });
}

// ---- fences, threads ------------------------------------------------------------------------------------------------

void thread_fence(std::memory_order order, const source_position& at) {
  require_execution("a fence is executed");
  const rl::memory_order fenced = order_of(operation::fence, order, at);
  if (fenced == rl::mo_relaxed) return;
  intend(step_kind::fence, nullptr, {}, order, at);
  rl::atomic_thread_fence(fenced, info(at));
  complete();
}

void everywhere_fence(const source_position& at) {
  require_execution("a fence is executed");
  rl::ctx().sched();
  intend(step_kind::barrier, nullptr, {}, std::memory_order_seq_cst, at);
  rl::systemwide_fence(info(at));
  complete();
}

void yield(const source_position& at) {
  require_execution("a thread yields");
  intend(step_kind::yield, nullptr, {}, std::memory_order_relaxed, at);
  rl::yield(1, info(at));
  complete();
}

unsigned this_thread() noexcept { return static_cast<unsigned>(rl::ctx().threadx_->index_); }

unsigned choose(unsigned limit) { return rl::rand(limit); }

void fail(const char* text, const source_position& at) {
  if (!rl::is_ctx() || running.now == phase::outside) {
    std::fprintf(stderr, "tidemark: %s (%s:%u)\n", text, at.file, at.line);
    std::abort();
  }
  runner::failed.at = at;
  rl::ctx().fail_test(text, rl::test_result_user_assert_failed, info(at));
  std::abort();  // does not happen: the execution has ended
}

barrier_change at_barrier(barrier which, const source_position& at) {
  constexpr operation operations[] = {operation::light_barrier, operation::heavy_barrier, operation::full_barrier};
  runner::observe(at, operations[static_cast<unsigned>(which)], std::memory_order_seq_cst);
  if (which != barrier::light && is_weakened(weakening::removed, at)) return barrier_change::removed;
  if (which == barrier::heavy && is_weakened(weakening::own_thread, at)) return barrier_change::own_thread;
  return barrier_change::none;
}

}  // namespace tidemark::verify::engine

// ---- the record's memory --------------------------------------------------------------------------------------------

namespace tidemark::verify::runner {

void record::begin() noexcept {
  count_ = 0;
  numbers_ = 0;
  for (intent& each : intents) each = {};
  recording_ = true;
}

void record::add(const step& next) noexcept {
  if (count_ == capacity_) {
    const std::size_t larger = capacity_ == 0 ? 1024 : capacity_ * 2;
    void* const moved = std::realloc(steps_, larger * sizeof(step));
    if (moved == nullptr) std::abort();
    steps_ = static_cast<step*>(moved);
    capacity_ = larger;
  }
  steps_[count_++] = next;
}

}  // namespace tidemark::verify::runner

// ---- memory of the checked code -------------------------------------------------------------------------------------

// Relacy's headers replace the plain forms of new and delete; they must be in the program, whatever the optimizer
// thinks of inline functions. The forms with an alignment are here: leaks and double frees of those are found, too.
namespace {

[[gnu::used]] void* (*const plain_new)(std::size_t) = &::operator new;
[[gnu::used]] void* (*const array_new)(std::size_t) = &::operator new[];
[[gnu::used]] void (*const plain_delete)(void*) noexcept = &::operator delete;
[[gnu::used]] void (*const array_delete)(void*) noexcept = &::operator delete[];

/// Lies before memory with an alignment of its own. That is not Relacy's: each `delete` of Relacy's is a choice,
/// whether the memory may be used again at once, and an exhaustive search would try both for every one.
struct aligned_header {
  static constexpr std::uint64_t alive = 0x7469'6465'6d61'726b;
  std::uint64_t mark;
  void* allocated;
  std::size_t size;
};

bool is_watched() noexcept {
  return tidemark::verify::runner::watching != nullptr && rl::is_ctx() &&
         tidemark::verify::runner::running.now != tidemark::verify::runner::phase::outside;
}

void* allocate_aligned(std::size_t size, std::align_val_t alignment) noexcept {
  const auto step = static_cast<std::size_t>(alignment) < alignof(aligned_header) ? alignof(aligned_header)
                                                                                  : static_cast<std::size_t>(alignment);
  auto* const allocated = static_cast<std::byte*>(std::malloc(size + step + sizeof(aligned_header)));
  if (allocated == nullptr) return nullptr;
  const auto free_from = reinterpret_cast<std::uintptr_t>(allocated) + sizeof(aligned_header);
  auto* const memory = allocated + sizeof(aligned_header) + ((step - free_from % step) % step);
  ::new (memory - sizeof(aligned_header)) aligned_header{aligned_header::alive, allocated, size};
  ++tidemark::verify::runner::running.aligned_allocations;
  if (is_watched()) tidemark::verify::runner::watching->allocated(memory, size);
  return memory;
}
void* allocate_aligned_or_throw(std::size_t size, std::align_val_t alignment) {
  void* const memory = allocate_aligned(size, alignment);
  if (memory == nullptr) throw std::bad_alloc{};
  return memory;
}

void free_aligned(void* memory) noexcept {
  if (memory == nullptr) return;
  auto* const header = reinterpret_cast<aligned_header*>(static_cast<std::byte*>(memory) - sizeof(aligned_header));
  if (header->mark != aligned_header::alive && rl::is_ctx())
    rl::ctx().fail_test("memory is freed twice", rl::test_result_double_free, rl::debug_info{});
  header->mark = 0;
  if (is_watched()) tidemark::verify::runner::watching->freed(memory, header->size);
  --tidemark::verify::runner::running.aligned_allocations;
  std::free(header->allocated);
}

}  // namespace

void operator delete(void* memory, std::size_t) noexcept { ::operator delete(memory); }
void operator delete[](void* memory, std::size_t) noexcept { ::operator delete[](memory); }
void* operator new(std::size_t size, std::align_val_t alignment) { return allocate_aligned_or_throw(size, alignment); }
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate_aligned_or_throw(size, alignment);
}
void operator delete(void* memory, std::align_val_t) noexcept { free_aligned(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { free_aligned(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { free_aligned(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { free_aligned(memory); }
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate_aligned(size, alignment);
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate_aligned(size, alignment);
}
