// SPDX-License-Identifier: BSL-1.0
#include "shadow.hpp"

#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "../execution.hpp"
#include "../recording.hpp"
#include "../relacy.hpp"
#include "../seam.hpp"

namespace tidemark::verify::runner::shadow {

/// An atomic. A granule may hold several.
struct cell {
  cell(const engine::memory_value& first, std::uint8_t offset_, std::uint8_t bytes_)
      : word{first, {bytes_, false, false}}, newest{first.bits}, offset{offset_}, bytes{bytes_} {}
  engine::word word;
  std::uint64_t newest;
  cell* next = nullptr;
  std::uint8_t offset;
  std::uint8_t bytes;
};

namespace {

// ---- memory of an execution -----------------------------------------------------------------------------------------

/// Places that are all given back at once, when an execution begins.
template <class T>
class arena {
 public:
  void* take() {
    if (used_ == per_block) {
      used_ = 0;
      block* const next = last_ == nullptr ? first_ : last_->next;
      last_ = next != nullptr ? next : append();
    }
    return last_->places[used_++];
  }
  void clear() noexcept {
    last_ = nullptr;
    used_ = per_block;
  }

 private:
  static constexpr std::size_t per_block = 512;
  struct block {
    block* next;
    alignas(T) std::byte places[per_block][sizeof(T)];
  };

  block* append() {
    auto* const made = static_cast<block*>(std::malloc(sizeof(block)));
    if (made == nullptr) std::abort();
    made->next = nullptr;
    (last_ == nullptr ? first_ : last_->next) = made;
    return made;
  }

  block* first_ = nullptr;
  block* last_ = nullptr;
  std::size_t used_ = per_block;
};

/// One use of some of the eight bytes of a granule. Only those are kept that a later use may race with and that no
/// later one stands for.
struct use_record {
  use_record* next;
  std::size_t time;
  std::uint32_t number;  // of the store, in a record
  std::uint8_t bytes;    // a bit for each
  std::uint8_t thread;
  use how;
  bool is_volatile;
};

/// What is known of eight bytes.
struct granule {
  std::uintptr_t key = 0;  // the address, divided by eight
  use_record* uses = nullptr;
  cell* cells = nullptr;
  engine::lock_cell* lock = nullptr;
  engine::condition_cell* condition = nullptr;
  granule* next = nullptr;  // in the order in which they were made
  std::uint8_t touched = 0;
  bool is_freed = false;
  bool is_saved = false;
};

/// The bytes of a global before its first change.
struct saved_bytes {
  saved_bytes* next;
  std::uintptr_t address;
  std::uint64_t bits;
};

constexpr std::size_t looks_remembered = 8;
constexpr unsigned most_looks = 20;  // more than the standard library's, before it sleeps

/// What a thread has found lately, without changing anything.
struct looks {
  struct look {
    const void* at;
    const void* memory;
    std::uint64_t found;
    unsigned times;
  };
  look all[looks_remembered];
  unsigned next;
  unsigned going_on;  // so often it still does not wait for others
  bool has_chosen;
};

struct slot {
  std::uintptr_t key;
  std::uint32_t execution;
  granule* found;
};

arena<granule> granules;
arena<use_record> records;
arena<cell> cells;
arena<engine::lock_cell> locks;
arena<engine::condition_cell> conditions;
arena<saved_bytes> saved;

granule* newest_granule = nullptr;
use_record* free_records = nullptr;
saved_bytes* all_saved = nullptr;
slot* table = nullptr;
std::size_t table_size = 0;  // a power of two
std::size_t table_used = 0;
looks looked[most_threads];
std::size_t open_step = 0;  // one more than the index of a write whose value is not known yet
// Since the last operation that the scheduler has seen:
std::size_t plain_uses = 0;
std::size_t volatile_uses = 0;
constexpr std::size_t most_volatile_uses = 10'000;
constexpr std::size_t most_plain_uses = 20'000'000;

// ---- globals --------------------------------------------------------------------------------------------------------

struct segment {
  std::uintptr_t begin;
  std::uintptr_t end;
};
segment globals[4];
std::size_t segments = 0;

int find_globals(dl_phdr_info* program, std::size_t, void*) {
  for (unsigned i = 0; i < program->dlpi_phnum && segments < 4; ++i) {
    const auto& header = program->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_W) == 0) continue;
    const std::uintptr_t begin = program->dlpi_addr + header.p_vaddr;
    globals[segments++] = {begin, begin + header.p_memsz};
  }
  return 1;  // the program itself comes first, and is all
}

/// Each execution begins with the globals of the program as they were before the first.
void save_global(granule& changed) {
  if (changed.is_saved) return;
  changed.is_saved = true;
  const std::uintptr_t address = changed.key * 8;
  for (std::size_t i = 0; i < segments; ++i) {
    if (address < globals[i].begin || address + 8 > globals[i].end) continue;
    auto* const kept = new (saved.take()) saved_bytes{all_saved, address, 0};
    std::memcpy(&kept->bits, reinterpret_cast<const void*>(address), 8);
    all_saved = kept;
  }
}

void restore_globals() {
  for (; all_saved != nullptr; all_saved = all_saved->next)
    std::memcpy(reinterpret_cast<void*>(all_saved->address), &all_saved->bits, 8);
}

// ---- the table ------------------------------------------------------------------------------------------------------

slot& slot_of(std::uintptr_t key) {
  std::size_t at = (key * 0x9e3779b97f4a7c15u) >> 32;
  for (;; ++at) {
    slot& here = table[at & (table_size - 1)];
    if (here.execution != running.number || here.key == key) return here;
  }
}

void grow() {
  table_size = table_size == 0 ? 8192 : table_size * 2;
  std::free(table);
  table = static_cast<slot*>(std::calloc(table_size, sizeof(slot)));
  if (table == nullptr) std::abort();
  for (granule* each = newest_granule; each != nullptr; each = each->next)
    slot_of(each->key) = {each->key, running.number, each};
}

granule* find(std::uintptr_t key) {
  if (table_size == 0) return nullptr;
  const slot& here = slot_of(key);
  return here.execution == running.number ? here.found : nullptr;
}

granule& find_or_make(std::uintptr_t key) {
  if (granule* const known = find(key)) return *known;
  if (++table_used * 2 > table_size) grow();
  auto* const made = new (granules.take()) granule;
  made->key = key;
  made->next = newest_granule;
  newest_granule = made;
  slot_of(key) = {key, running.number, made};
  return *made;
}

/// Calls with each granule of so much memory, and the bits of its bytes.
template <class Call>
void for_each(const void* memory, std::size_t bytes, Call call) {
  auto address = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t end = address + bytes;
  while (address < end) {
    const std::uintptr_t key = address / 8;
    const auto last = std::min<std::uintptr_t>(end, key * 8 + 8) - key * 8;
    call(key, static_cast<std::uint8_t>(((1u << last) - 1u) & ~((1u << address % 8) - 1u)));
    address = key * 8 + 8;
  }
}

// ---- races ----------------------------------------------------------------------------------------------------------

[[noreturn]] void fail(const char* text, rl::test_result_e how, const source_position& at) {
  failed.at = at;
  rl::ctx().fail_test(text, how, info(at));
  std::abort();  // does not happen: the execution has ended
}

bool may_race(use one, use other) { return (writes(one) || writes(other)) && !(is_atomic(one) && is_atomic(other)); }

/// Fails if the bytes are not there any more, or if another thread has used them and nothing orders the two uses.
void require_order(const granule& here, std::uint8_t bytes, use how, bool is_volatile, const source_position& at) {
  if (here.is_freed) fail("", rl::test_result_access_to_freed_memory, at);
  const auto& thread = *rl::ctx().threadx_;
  for (const use_record* each = here.uses; each != nullptr; each = each->next) {
    if ((each->bytes & bytes) == 0 || !may_race(each->how, how)) continue;
    if (thread.acq_rel_order_[each->thread] >= each->time) continue;
    if (is_volatile || each->is_volatile)
      engine::fail("two threads use a volatile variable, and nothing orders them: volatile is no atomic", at);
    fail("data race detected", rl::test_result_data_race, at);
  }
}

/// Whether nothing can race with the old use that does not race with the new one, which comes after it.
bool stands_for(use now, const use_record& old, std::uint8_t thread) {
  if (now == use::write) return true;
  if (old.thread != thread) return false;
  return now == use::atomic_write ? is_atomic(old.how) : now == old.how;
}

void note_use(granule& here, std::uint8_t bytes, use how, bool is_volatile, std::uint32_t number) {
  const auto thread = static_cast<std::uint8_t>(engine::this_thread());
  for (use_record** link = &here.uses; *link != nullptr;) {
    use_record& each = **link;
    if (stands_for(how, each, thread)) each.bytes = static_cast<std::uint8_t>(each.bytes & ~bytes);
    if (each.bytes != 0) {
      link = &each.next;
      continue;
    }
    *link = each.next;
    each.next = free_records;
    free_records = &each;
  }
  void* place = free_records;
  if (place != nullptr) {
    free_records = free_records->next;
  } else {
    place = records.take();
  }
  here.uses = new (place) use_record{here.uses, own_time(), number, bytes, thread, how, is_volatile};
  if (running.shared || running.now != phase::threads) return;
  here.touched = static_cast<std::uint8_t>(here.touched | 1u << thread);
  if ((here.touched & (here.touched - 1)) != 0) running.shared = true;
}

/// The number of the last store to these bytes.
std::uint32_t last_store(const granule& here, std::uint8_t bytes) {
  const use_record* newest = nullptr;
  for (const use_record* each = here.uses; each != nullptr; each = each->next) {
    if ((each->bytes & bytes) == 0 || !writes(each->how)) continue;
    if (newest == nullptr || each->number > newest->number) newest = each;
  }
  return newest == nullptr ? 0 : newest->number;
}

// ---- atomics and locks ----------------------------------------------------------------------------------------------

std::uint64_t bits_at(const void* memory, std::size_t bytes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, memory, std::min<std::size_t>(bytes, 8));
  return bits;
}

std::uint8_t bits_of(const cell& of) { return static_cast<std::uint8_t>(((1u << of.bytes) - 1u) << of.offset); }

void drop_cells(granule& here, std::uint8_t bytes) {
  for (cell** link = &here.cells; *link != nullptr;) {
    cell& each = **link;
    if ((bits_of(each) & bytes) == 0) {
      link = &each.next;
      continue;
    }
    *link = each.next;
    each.~cell();
  }
}

void drop_locks(granule& here) {
  if (here.lock != nullptr) here.lock->~lock_cell();
  if (here.condition != nullptr) here.condition->~condition_cell();
  here.lock = nullptr;
  here.condition = nullptr;
}

/// The atomic at this address. If there is none yet, or if its memory was written by code that is not watched, it
/// begins with what lies there.
cell& cell_at(granule& here, void* memory, std::uint8_t bytes, const source_position& at) {
  const auto offset = static_cast<std::uint8_t>(reinterpret_cast<std::uintptr_t>(memory) % 8);
  const std::uint64_t bits = bits_at(memory, bytes);
  const auto wanted = static_cast<std::uint8_t>(((1u << bytes) - 1u) << offset);
  for (cell* each = here.cells; each != nullptr; each = each->next) {
    if ((bits_of(*each) & wanted) == 0) continue;
    if (each->offset == offset && each->bytes == bytes && each->newest == bits) return *each;
    if (each->offset != offset || each->bytes != bytes)
      engine::fail("the same memory is used as atomics of different sizes, which can't be followed", at);
    break;
  }
  drop_cells(here, wanted);
  auto* const made = new (cells.take()) cell{{memory, bits, last_store(here, wanted)}, offset, bytes};
  made->next = here.cells;
  here.cells = made;
  return *made;
}

cell& cell_of(void* memory, unsigned bytes, const source_position& at) {
  if (reinterpret_cast<std::uintptr_t>(memory) % bytes != 0) engine::fail("this atomic is not aligned", at);
  granule& here = find_or_make(reinterpret_cast<std::uintptr_t>(memory) / 8);
  const auto width = static_cast<std::uint8_t>(bytes);
  if (here.is_freed) fail("", rl::test_result_access_to_freed_memory, at);
  // Whether it will write is not known yet, but it is no plain write in any case.
  const auto mask = static_cast<std::uint8_t>(((1u << bytes) - 1u) << (reinterpret_cast<std::uintptr_t>(memory) % 8));
  require_order(here, mask, use::atomic_read, false, at);
  // While it is made the scheduler must not look for another thread.
  const rl::preemption_disabler whole{rl::ctx()};
  return cell_at(here, memory, width, at);
}

/// The value that the last recorded write has written is known by now.
void close_step() {
  if (open_step == 0) [[likely]]
    return;
  step& open = running.steps.begin_of_steps()[open_step - 1];
  open.after = bits_at(open.cell, open.extent);
  open.is_open = false;
  open_step = 0;
}

}  // namespace

void settle() { close_step(); }

bool is_following() noexcept { return running.now != phase::outside && rl::is_ctx(); }

// ---- plain uses -----------------------------------------------------------------------------------------------------

namespace {

void record_plainly(const void* memory, std::size_t bytes, use how, const source_position& at) {
  const value_type type{static_cast<std::uint8_t>(std::min<std::size_t>(bytes, 8)), false, false};
  intend(writes(how) ? step_kind::write : step_kind::read, memory, type, std::memory_order_relaxed, at);
  remember_clock();
  step& what = running.steps.intents[engine::this_thread()].what;
  what.extent = static_cast<std::uint32_t>(bytes);
  what.is_open = writes(how);
  what.before = bits_at(memory, bytes);
  const granule* const first = find(reinterpret_cast<std::uintptr_t>(memory) / 8);
  const auto mask = static_cast<std::uint8_t>(1u << (reinterpret_cast<std::uintptr_t>(memory) % 8));
  if (first != nullptr) what.from = what.newest = last_store(*first, mask);
  if (writes(how)) what.number = running.steps.next_number();
}

}  // namespace

void use_plainly(const void* memory, std::size_t bytes, use how, bool is_volatile, const source_position& at) {
  if (memory == &system_errno()) return;  // of this thread alone
  close_step();
  if (is_volatile && ++volatile_uses > most_volatile_uses)
    engine::fail("a loop waits for a volatile variable, which can't be followed: volatile is no atomic", at);
  if (++plain_uses > most_plain_uses)
    fail("a thread runs on and on without an operation that the checker sees", rl::test_result_livelock, at);
  const bool recording = running.steps.recording();
  if (recording) record_plainly(memory, bytes, how, at);
  for_each(memory, bytes, [&](std::uintptr_t key, std::uint8_t mask) {
    require_order(find_or_make(key), mask, how, is_volatile, at);
  });
  std::uint32_t number = 0;
  rl::ctx().threadx_->own_acq_rel_order_ += 1;
  if (recording) {
    number = running.steps.intents[engine::this_thread()].what.number;
    complete();
    if (writes(how)) open_step = running.steps.size();
  }
  for_each(memory, bytes, [&](std::uintptr_t key, std::uint8_t mask) {
    granule& here = find_or_make(key);
    note_use(here, mask, how, is_volatile, number);
    if (!writes(how)) return;
    save_global(here);
    // It is a constructor that writes to an atomic or a lock like that.
    drop_cells(here, mask);
    if ((mask & 1) != 0) drop_locks(here);
  });
}

// ---- atomic uses ----------------------------------------------------------------------------------------------------

namespace {

// Another thread may come first, and may drop what is there: so before it is looked for.
void* let_others_run(void* memory) {
  close_step();
  plain_uses = 0;
  volatile_uses = 0;
  const own_errno kept;
  rl::ctx().sched();
  remember_clock();
  return memory;
}

}  // namespace

atomic_use::atomic_use(void* memory, unsigned bytes, const source_position& at)
    : memory_{let_others_run(memory)}, bytes_{bytes}, at_{at}, cell_{cell_of(memory, bytes, at)} {
  rl::ctx().disable_preemption();
}
atomic_use::~atomic_use() { rl::ctx().enable_preemption(); }

engine::word& atomic_use::word() noexcept { return cell_.word; }
std::uint64_t atomic_use::newest() const noexcept { return cell_.newest; }

void atomic_use::note(use how) {
  granule& here = find_or_make(reinterpret_cast<std::uintptr_t>(memory_) / 8);
  remember_clock();
  if (how == use::atomic_write) {
    require_order(here, bits_of(cell_), how, false, at_);
    save_global(here);
  }
  const std::uint32_t number =
      running.steps.recording() ? running.steps.begin_of_steps()[running.steps.size() - 1].number : 0;
  note_use(here, bits_of(cell_), how, false, number);
}

void atomic_use::has_read() { note(use::atomic_read); }

void atomic_use::has_written(std::uint64_t value) {
  note(use::atomic_write);
  std::memcpy(memory_, &value, bytes_);
  cell_.newest = bits_at(memory_, bytes_);
}

engine::word& word_of(void* memory, unsigned bytes, const source_position& at) {
  close_step();
  return cell_of(memory, bytes, at).word;
}

engine::lock_cell& lock_at(void* memory) {
  close_step();
  plain_uses = 0;
  volatile_uses = 0;
  granule& here = find_or_make(reinterpret_cast<std::uintptr_t>(memory) / 8);
  if (here.lock == nullptr) here.lock = new (locks.take()) engine::lock_cell;
  return *here.lock;
}

engine::condition_cell& condition_at(void* memory) {
  close_step();
  granule& here = find_or_make(reinterpret_cast<std::uintptr_t>(memory) / 8);
  if (here.condition == nullptr) here.condition = new (conditions.take()) engine::condition_cell;
  return *here.condition;
}

void forget(const void* memory, std::size_t bytes) {
  close_step();
  for_each(memory, bytes, [](std::uintptr_t key, std::uint8_t mask) {
    granule* const here = find(key);
    if (here == nullptr) return;
    drop_cells(*here, mask);
    drop_locks(*here);
    here->uses = nullptr;
    here->is_freed = false;
  });
}

// ---- loops that spin ------------------------------------------------------------------------------------------------

void wait_for_others(const source_position& at) {
  looks& mine = looked[engine::this_thread()];
  if (!mine.has_chosen) {
    mine.has_chosen = true;
    mine.going_on = stubborn_threads && engine::choose(2) != 0 ? most_looks : 0;
  }
  if (mine.going_on != 0) {
    --mine.going_on;
    return;
  }
  has_changed_something();
  settle();
  const own_errno kept;
  engine::yield(at);
}

void has_changed_nothing(const void* memory, std::uint64_t found, const source_position& at) {
  looks& mine = looked[engine::this_thread()];
  for (looks::look& each : mine.all) {
    if (each.at != at.address || each.memory != memory || each.found != found) continue;
    if (++each.times >= 3) wait_for_others(at);
    return;
  }
  mine.all[mine.next++ % looks_remembered] = {at.address, memory, found, 1};
}

void has_changed_something() {
  looks& mine = looked[engine::this_thread()];
  for (looks::look& each : mine.all) each = {};
}

// ---- executions -----------------------------------------------------------------------------------------------------

void start() {
  if (segments == 0) dl_iterate_phdr(find_globals, nullptr);
}

void begin() {
  restore_globals();
  granules.clear();
  records.clear();
  cells.clear();
  locks.clear();
  conditions.clear();
  saved.clear();
  newest_granule = nullptr;
  free_records = nullptr;
  table_used = 0;
  open_step = 0;
  plain_uses = 0;
  volatile_uses = 0;
  for (looks& each : looked) each = {};
}

void end() {
  close_step();
  for (granule* each = newest_granule; each != nullptr; each = each->next) {
    drop_cells(*each, 0xff);
    drop_locks(*each);
  }
}

void free(void* memory, std::size_t bytes) {
  close_step();
  const source_position nowhere{"in delete", 0, 0, ""};
  intend(step_kind::end, memory, {}, std::memory_order_relaxed, nowhere);
  remember_clock();
  if (running.steps.recording())
    running.steps.intents[engine::this_thread()].what.extent = static_cast<std::uint32_t>(bytes);
  for_each(memory, bytes, [&](std::uintptr_t key, std::uint8_t mask) {
    granule& here = find_or_make(key);
    if (!here.is_freed) require_order(here, mask, use::write, false, nowhere);
    drop_cells(here, mask);
    drop_locks(here);
    here.is_freed = true;
  });
  complete();
}

void free_of_c(void* memory, std::size_t bytes, const source_position& at) {
  for_each(memory, bytes, [&](std::uintptr_t key, std::uint8_t mask) {
    if (granule* const here = find(key)) require_order(*here, mask, use::write, false, at);
  });
  forget(memory, bytes);
}

}  // namespace tidemark::verify::runner::shadow
