// SPDX-License-Identifier: BSL-1.0
//
// The execution that runs: in which part of its check it is, and, while a failure is repeated, the record of its steps.
// Nothing here allocates by operator new, which belongs to the checked code.
#ifndef TIDEMARK_VERIFY_RUNNER_EXECUTION_HPP
#define TIDEMARK_VERIFY_RUNNER_EXECUTION_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "../engine.hpp"

namespace tidemark::verify::runner {

constexpr unsigned most_threads = 4;

/// The part of a check that runs.
enum class phase : std::uint8_t { outside, construction, before, threads, after };

enum class step_kind : std::uint8_t {
  load,
  store,
  change,         // exchange, fetch_add and the like
  exchanged,      // a compare-exchange that succeeded
  not_exchanged,  // and one that failed
  read,           // of a plain field
  write,
  end,  // of a plain field
  fence,
  barrier,
  sleep,
  woken,
  wake,
  lock,
  unlock,
  lock_shared,
  unlock_shared,
  yield,
};

/// One step of a thread. A store has a number; 0 stands for what was there at the start.
struct step {
  step_kind kind;
  phase in;
  std::uint8_t thread;
  bool timed;  // sleep: with a deadline; woken: by it; lock: it was tried in vain
  std::memory_order order;
  value_type type;
  const void* cell;
  const void* lock;      // sleep on a condition variable: the mutex that is unlocked meanwhile
  std::uint64_t before;  // the value that was read
  std::uint64_t after;   // and written
  std::uint32_t number;  // of the store that this is
  std::uint32_t from;    // of the store that was read
  std::uint32_t newest;  // and of the newest one
  std::uint32_t count;   // how many threads are to be woken
  std::uint32_t extent;  // of code that is compiled for the checker: the bytes at `cell`; otherwise 0
  bool is_open;          // a write whose value is not known yet
  std::size_t stamp;     // the time of its thread
  source_position at;
};

/// What is recorded while a failing execution is repeated.
class record {
 public:
  void begin() noexcept;
  void end() noexcept { recording_ = false; }
  bool recording() const noexcept { return recording_; }

  void add(const step& next) noexcept;
  /// A number for a store.
  std::uint32_t next_number() noexcept { return ++numbers_; }
  const step* begin_of_steps() const noexcept { return steps_; }
  step* begin_of_steps() noexcept { return steps_; }
  std::size_t size() const noexcept { return count_; }

  /// What the running thread is about to do. It becomes a step if the checker stops there.
  struct intent {
    bool pending = false;
    step what{};
    std::size_t clock[most_threads] =
        {};  // the times of all threads that it has seen, before it reads or writes a field
  };
  intent intents[most_threads];

 private:
  step* steps_ = nullptr;
  std::size_t count_ = 0;
  std::size_t capacity_ = 0;
  std::uint32_t numbers_ = 0;
  bool recording_ = false;
};

struct execution {
  phase now = phase::outside;
  long aligned_allocations = 0;  // that were not freed
  std::uint32_t number = 0;      // of the execution, in this process
  bool shared = false;           // a cell was used by two threads, in any execution so far
  const char* check = "";        // its name, for messages; and the last operation:
  const char* file = "";
  unsigned line = 0;
  record steps;
};
inline execution running;

/// Says something on standard error. For handlers of signals.
void say(const char* text);

/// Writes " behind FILE:LINE" of the last operation, or nothing if its line is not known. For handlers of signals.
inline void write_last_place(char* text, std::size_t size) {
  text[0] = '\0';
  if (running.line != 0) std::snprintf(text, size, " behind %s:%u", running.file, running.line);
}

/// Whether it runs in this thread of the system: all threads of a check do.
inline constinit thread_local bool plays_here = false;

/// What watches code that is compiled for the checker; see instrumented/. A program without such code has none.
struct watcher {
  void (*begin)();                        // before a check is constructed
  void (*end)();                          // after it was destroyed, if the execution has not failed
  void (*allocated)(void*, std::size_t);  // by operator new
  void (*freed)(void*, std::size_t);
  const char* (*refusal)();  // why the program can't be followed; null if it can
};
inline const watcher* watching = nullptr;

/// How an execution has failed. Filled by the checker, or by fail().
struct failure {
  const char* text = nullptr;  // of an assertion
  source_position at{};
  unsigned thread = 0;
  bool in_last_step = false;   // what the thread was about to do is the last step of the record
  const void* cell = nullptr;  // that was used although it was destroyed
};
inline failure failed;

}  // namespace tidemark::verify::runner

#endif  // TIDEMARK_VERIFY_RUNNER_EXECUTION_HPP
