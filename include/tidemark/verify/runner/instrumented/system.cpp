// SPDX-License-Identifier: BSL-1.0
//
// The functions here have the names of the system's, and the program's own come before those of its shared libraries:
// so also what the C++ library does inside is seen. Outside of executions they call the system's.
#include "system.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unwind.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "../../engine.hpp"
#include "../execution.hpp"
#include "shadow.hpp"

extern "C" {
extern const char __executable_start;
extern const char etext;
}

namespace tidemark::verify::runner {
namespace {

bool is_following() { return watching != nullptr && shadow::is_following(); }

bool is_of_program(const void* code) { return &__executable_start <= code && code < &etext; }

struct walk {
  bool has_left = false;
  const void* found = nullptr;
};
_Unwind_Reason_Code look_at(_Unwind_Context* frame, void* state) {
  auto& so_far = *static_cast<walk*>(state);
  const auto* const code = reinterpret_cast<const void*>(_Unwind_GetIP(frame));
  if (!is_of_program(code)) {
    so_far.has_left = true;
  } else if (so_far.has_left) {
    so_far.found = code;
    return _URC_END_OF_STACK;
  }
  return _URC_NO_REASON;
}

/// Where the program has called what has called us: perhaps a function of a shared library.
source_position position_of(const void* caller) {
  if (is_of_program(caller)) return source_position::of_address(caller);
  walk outward;
  _Unwind_Backtrace(look_at, &outward);
  return source_position::of_address(outward.found);
}

/// Finds the system's function of this name, if it is not known yet.
template <class Function>
void find(Function*& known, const char* name) {
  if (known != nullptr) return;
  void* const found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) {
    std::fprintf(stderr, "tidemark: the system has no %s\n", name);
    std::abort();
  }
  std::memcpy(&known, &found, sizeof(known));
}

engine::lock_cell& lock_of(pthread_mutex_t* mutex, const source_position& at) {
#if defined(__GLIBC__)
  if ((mutex->__data.__kind & 3) == PTHREAD_MUTEX_RECURSIVE_NP) engine::fail("a recursive mutex can't be followed", at);
#endif
  return shadow::lock_at(mutex);
}

void pause(const source_position& at) { shadow::wait_for_others(at); }

// ---- thread_local ---------------------------------------------------------------------------------------------------

int has_thread_locals(dl_phdr_info* program, std::size_t, void* found) {
  for (unsigned i = 0; i < program->dlpi_phnum; ++i) {
    if (program->dlpi_phdr[i].p_type == PT_TLS && program->dlpi_phdr[i].p_memsz != 0) *static_cast<bool*>(found) = true;
  }
  return 1;  // the program itself comes first
}

bool read_at(std::FILE* file, std::uint64_t where, void* to, std::size_t bytes) {
  return std::fseek(file, static_cast<long>(where), SEEK_SET) == 0 && std::fread(to, bytes, 1, file) == 1;
}

bool name_at(std::FILE* file, std::uint64_t where, char (&name)[256]) {
  if (std::fseek(file, static_cast<long>(where), SEEK_SET) != 0) return false;
  std::size_t length = 0;
  for (int c; length < sizeof(name) - 1 && (c = std::fgetc(file)) > 0; ++length) name[length] = static_cast<char>(c);
  name[length] = '\0';
  return true;
}

/// The runner's own, and the marks of tidemark's configuration, which nobody reads or writes
/// (platform/detail/configuration.hpp).
bool is_ours(const char* name) {
  return std::strstr(name, "6verify6runner") != nullptr ||
         std::strstr(name, "all_files_of_a_program_must_agree_on") != nullptr;
}

/// Finds the name of a thread_local in the symbols of the program. Returns false if it has symbols, and there is none
/// that anybody uses.
bool find_thread_local(std::FILE* file, char (&name)[256]) {
  ElfW(Ehdr) head;
  if (!read_at(file, 0, &head, sizeof(head))) return true;
  bool has_ours = false;
  for (unsigned i = 0; i < head.e_shnum; ++i) {
    ElfW(Shdr) symbols;
    ElfW(Shdr) names;
    if (!read_at(file, head.e_shoff + i * sizeof(symbols), &symbols, sizeof(symbols))) return true;
    if (symbols.sh_type != SHT_SYMTAB) continue;
    if (!read_at(file, head.e_shoff + symbols.sh_link * sizeof(names), &names, sizeof(names))) return true;
    for (std::uint64_t at = 0; at < symbols.sh_size; at += sizeof(ElfW(Sym))) {
      ElfW(Sym) each;
      if (!read_at(file, symbols.sh_offset + at, &each, sizeof(each))) return true;
      if ((each.st_info & 0xf) != STT_TLS || each.st_shndx == SHN_UNDEF) continue;
      if (!name_at(file, names.sh_offset + each.st_name, name) || !is_ours(name)) return true;
      has_ours = true;
    }
  }
  return !has_ours;
}

}  // namespace

int& shadow::system_errno() noexcept { return errno; }

const char* refusal_of_program() {
  bool found = false;
  dl_iterate_phdr(has_thread_locals, &found);
  if (!found) return nullptr;
  char name[256] = "";
  if (std::FILE* const file = std::fopen("/proc/self/exe", "rb")) {
    found = find_thread_local(file, name);
    std::fclose(file);
  }
  if (!found) return nullptr;
  char* const readable = abi::__cxa_demangle(name, nullptr, nullptr, nullptr);
  static char text[512];
  std::snprintf(text, sizeof(text),
                "a thread_local variable can't be followed, because the threads of a check are one thread of the "
                "system: %s",
                readable != nullptr ? readable : name);
  std::free(readable);
  return text;
}

}  // namespace tidemark::verify::runner

using namespace tidemark::verify;
using namespace tidemark::verify::runner;

#define CALLER __builtin_return_address(0)

// ---- mutexes and condition variables --------------------------------------------------------------------------------

// A mutex that a shared library locks is its own affair.
extern "C" {

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  if (!is_following() || !is_of_program(CALLER)) {
    static std::add_pointer_t<int(pthread_mutex_t*)> real;
    find(real, "pthread_mutex_lock");
    return real(mutex);
  }
  const auto at = position_of(CALLER);
  const shadow::own_errno kept;
  lock_of(mutex, at).lock(at);
  return 0;
}

int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  if (!is_following() || !is_of_program(CALLER)) {
    static std::add_pointer_t<int(pthread_mutex_t*)> real;
    find(real, "pthread_mutex_trylock");
    return real(mutex);
  }
  const auto at = position_of(CALLER);
  const shadow::own_errno kept;
  return lock_of(mutex, at).try_lock(at) ? 0 : EBUSY;
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  if (!is_following() || !is_of_program(CALLER)) {
    static std::add_pointer_t<int(pthread_mutex_t*)> real;
    find(real, "pthread_mutex_unlock");
    return real(mutex);
  }
  const auto at = position_of(CALLER);
  const shadow::own_errno kept;
  lock_of(mutex, at).unlock(at);
  return 0;
}

int pthread_mutex_init(pthread_mutex_t* mutex, const pthread_mutexattr_t* how) noexcept {
  if (is_following()) shadow::forget(mutex, 1);
  static std::add_pointer_t<int(pthread_mutex_t*, const pthread_mutexattr_t*)> real;
  find(real, "pthread_mutex_init");
  return real(mutex, how);
}

int pthread_mutex_destroy(pthread_mutex_t* mutex) noexcept {
  if (is_following()) shadow::forget(mutex, 1);
  static std::add_pointer_t<int(pthread_mutex_t*)> real;
  find(real, "pthread_mutex_destroy");
  return real(mutex);
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  if (!is_following()) {
    static std::add_pointer_t<int(pthread_cond_t*, pthread_mutex_t*)> real;
    find(real, "pthread_cond_wait");
    return real(condition, mutex);
  }
  const auto at = position_of(CALLER);
  const shadow::own_errno kept;
  shadow::condition_at(condition).wait(lock_of(mutex, at), at);
  return 0;
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) {
  if (!is_following()) {
    static std::add_pointer_t<int(pthread_cond_t*, pthread_mutex_t*, const timespec*)> real;
    find(real, "pthread_cond_timedwait");
    return real(condition, mutex, until);
  }
  const auto at = position_of(CALLER);
  const shadow::own_errno kept;
  return shadow::condition_at(condition).wait_timed(lock_of(mutex, at), at) ? 0 : ETIMEDOUT;
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  if (!is_following()) {
    static std::add_pointer_t<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)> real;
    find(real, "pthread_cond_clockwait");
    return real(condition, mutex, clock, until);
  }
  const auto at = position_of(CALLER);
  const shadow::own_errno kept;
  return shadow::condition_at(condition).wait_timed(lock_of(mutex, at), at) ? 0 : ETIMEDOUT;
}

int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  if (!is_following()) {
    static std::add_pointer_t<int(pthread_cond_t*)> real;
    find(real, "pthread_cond_signal");
    return real(condition);
  }
  const shadow::own_errno kept;
  shadow::condition_at(condition).notify_one(position_of(CALLER));
  return 0;
}

int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  if (!is_following()) {
    static std::add_pointer_t<int(pthread_cond_t*)> real;
    find(real, "pthread_cond_broadcast");
    return real(condition);
  }
  const shadow::own_errno kept;
  shadow::condition_at(condition).notify_all(position_of(CALLER));
  return 0;
}

int pthread_cond_destroy(pthread_cond_t* condition) noexcept {
  if (is_following()) shadow::forget(condition, 1);
  static std::add_pointer_t<int(pthread_cond_t*)> real;
  find(real, "pthread_cond_destroy");
  return real(condition);
}

// ---- pauses, memory -------------------------------------------------------------------------------------------------

int sched_yield() noexcept {
  if (is_following()) pause(position_of(CALLER));
  return 0;
}

int nanosleep(const timespec* time, timespec* left) {
  if (!is_following()) {
    static std::add_pointer_t<int(const timespec*, timespec*)> real;
    find(real, "nanosleep");
    return real(time, left);
  }
  pause(position_of(CALLER));
  return 0;
}

int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* left) {
  if (!is_following()) {
    static std::add_pointer_t<int(clockid_t, int, const timespec*, timespec*)> real;
    find(real, "clock_nanosleep");
    return real(clock, flags, time, left);
  }
  pause(position_of(CALLER));
  return 0;
}

// Each thread of a check is another one for the checked code, too.
pthread_t pthread_self() noexcept {
  static std::add_pointer_t<pthread_t()> real;
  find(real, "pthread_self");
  const bool asks = is_following() && running.now == phase::threads && is_of_program(CALLER);
  return real() + (asks ? engine::this_thread() : 0);
}

// ---- futexes and membarrier -----------------------------------------------------------------------------------------

namespace {

/// Whether it is a fence on all running threads; other commands ask for something, or register the program.
bool interrupts_others(int command) {
  constexpr int of_registering = MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED | MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED |
                                 MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE;
  return command != MEMBARRIER_CMD_QUERY && (command & of_registering) == 0;
}

bool park(engine::word& word, std::uint32_t expected, bool is_timed, const source_position& at) {
  const shadow::own_errno kept;
  return word.park(expected, is_timed, at);
}

}  // namespace

long syscall(long number, ...) noexcept {
  long words[6];
  va_list list;
  va_start(list, number);
  for (long& each : words) each = va_arg(list, long);
  va_end(list);
  if (is_following() && number == SYS_membarrier && interrupts_others(static_cast<int>(words[0]))) {
    shadow::settle();
    const shadow::own_errno kept;
    engine::everywhere_fence(position_of(CALLER));
    return 0;
  }
  if (!is_following() || number != SYS_futex) {
    static std::add_pointer_t<long(long, ...)> real;
    find(real, "syscall");
    return real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
  }
  const auto at = position_of(CALLER);
  auto& word = shadow::word_of(reinterpret_cast<void*>(words[0]), 4, at);
  switch (words[1] & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET: {
      if (park(word, static_cast<std::uint32_t>(words[2]), words[3] != 0, at)) return 0;
      errno = ETIMEDOUT;
      return -1;
    }
    case FUTEX_WAKE: {
      const shadow::own_errno kept;
      return word.unpark(static_cast<std::uint32_t>(words[2]), at) ? 1 : 0;
    }
    default:
      engine::fail("a futex is used in a way that can't be followed", at);
  }
}

}  // extern "C"

// ---- what can't be followed -----------------------------------------------------------------------------------------

// The parameters are words, of which none needs to be known. What shared libraries ask for themselves is theirs.
#define REFUSED_IF(NAME, WHOSE, TEXT)                                                \
  namespace {                                                                        \
  extern "C" long refused_##NAME(long, long, long, long, long, long) __asm__(#NAME); \
  long refused_##NAME(long a, long b, long c, long d, long e, long f) {              \
    if (is_following() && WHOSE(CALLER)) engine::fail(TEXT, position_of(CALLER));    \
    static std::add_pointer_t<long(long, long, long, long, long, long)> real;        \
    find(real, #NAME);                                                               \
    return real(a, b, c, d, e, f);                                                   \
  }                                                                                  \
  }
#define REFUSED(NAME, TEXT) REFUSED_IF(NAME, is_of_program, TEXT)

// Defined also where the system has none.
#define REFUSED_ALWAYS(NAME, TEXT)                 \
  extern "C" void refused_##NAME() __asm__(#NAME); \
  void refused_##NAME() { engine::fail(TEXT, position_of(CALLER)); }

// Threads are started inside the C++ library.
constexpr bool is_anybody(const void*) { return true; }
REFUSED_IF(pthread_create, is_anybody, "a check can't start threads: only its own are followed")
REFUSED_IF(thrd_create, is_anybody, "a check can't start threads: only its own are followed")
REFUSED(fork, "a check can't start a process: only its own threads are followed")
REFUSED(pthread_once, "std::call_once can't be followed: what it makes outlives the execution")
REFUSED(pthread_mutex_timedlock, "a timed mutex can't be followed")
REFUSED(pthread_mutex_clocklock, "a timed mutex can't be followed")
REFUSED(mtx_lock, "a mutex of <threads.h> can't be followed")
REFUSED(mtx_trylock, "a mutex of <threads.h> can't be followed")
REFUSED(mtx_timedlock, "a mutex of <threads.h> can't be followed")
REFUSED(cnd_wait, "a condition variable of <threads.h> can't be followed")
REFUSED(cnd_timedwait, "a condition variable of <threads.h> can't be followed")
REFUSED(call_once, "call_once() can't be followed: what it makes outlives the execution")
REFUSED(pthread_rwlock_rdlock, "a shared mutex can't be followed")
REFUSED(pthread_rwlock_wrlock, "a shared mutex can't be followed")
REFUSED(pthread_rwlock_tryrdlock, "a shared mutex can't be followed")
REFUSED(pthread_rwlock_trywrlock, "a shared mutex can't be followed")
REFUSED(pthread_spin_lock, "a spin lock of the system can't be followed")
REFUSED(pthread_spin_trylock, "a spin lock of the system can't be followed")
REFUSED(pthread_barrier_wait, "a barrier of the system can't be followed")
REFUSED(pthread_getspecific, "thread-specific data can't be followed")
REFUSED(pthread_setspecific, "thread-specific data can't be followed")
REFUSED(tss_get, "thread-specific data can't be followed")
REFUSED(tss_set, "thread-specific data can't be followed")
REFUSED(sem_wait, "a semaphore of the system can't be followed")
REFUSED(sem_trywait, "a semaphore of the system can't be followed")
REFUSED(sem_timedwait, "a semaphore of the system can't be followed")
REFUSED(sem_post, "a semaphore of the system can't be followed")

REFUSED_ALWAYS(__emutls_get_address, "a thread_local variable can't be followed")

#define WIDE "an atomic of more than eight bytes can't be followed"
REFUSED_ALWAYS(__tsan_atomic128_load, WIDE)
REFUSED_ALWAYS(__tsan_atomic128_store, WIDE)
REFUSED_ALWAYS(__tsan_atomic128_exchange, WIDE)
REFUSED_ALWAYS(__tsan_atomic128_compare_exchange_strong, WIDE)
REFUSED_ALWAYS(__tsan_atomic128_compare_exchange_weak, WIDE)
REFUSED_ALWAYS(__tsan_atomic128_compare_exchange_val, WIDE)
REFUSED_ALWAYS(__atomic_load_16, WIDE)
REFUSED_ALWAYS(__atomic_store_16, WIDE)
REFUSED_ALWAYS(__atomic_exchange_16, WIDE)
REFUSED_ALWAYS(__atomic_compare_exchange_16, WIDE)
REFUSED_ALWAYS(__atomic_load, WIDE)
REFUSED_ALWAYS(__atomic_store, WIDE)
REFUSED_ALWAYS(__atomic_exchange, WIDE)
REFUSED_ALWAYS(__atomic_compare_exchange, WIDE)

// The static of a function is made by the first execution that comes there, and would be there in the next.
extern "C" int guard_acquire(std::int64_t* guard) __asm__("__cxa_guard_acquire");
int guard_acquire(std::int64_t* guard) {
  if (is_following() && is_of_program(CALLER))
    engine::fail("the static of a function can't be followed: it outlives the execution that makes it",
                 position_of(CALLER));
  static int (*real)(std::int64_t*);
  find(real, "__cxa_guard_acquire");
  return real(guard);
}
