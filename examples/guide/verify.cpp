// SPDX-License-Identifier: BSL-1.0
// The program of docs/guide-verify.md: two threads and two buffers, from wrong to right. The runner has the main().

#include <tidemark/verify/check.hpp>
#include <tidemark/verify/relacy_platform.hpp>

#include <tidemark/fence/fence.hpp>

#include <cstdint>

namespace {

using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using tidemark::verify::atomic;
using tidemark::verify::expect;
using tidemark::verify::var;
using tidemark::verify::yield;

// Step 1: the writer says that a frame is there.
struct flagged : tidemark::verify::check<2> {
  var<int> frame;
  atomic<int> filled{0};

  void thread(unsigned index) {
    if (index == 0) {
      frame.store(10);
      filled.store(1, memory_order_relaxed);
    } else if (filled.load(memory_order_relaxed) == 1) {
      expect(frame.load() == 10, "the frame is there");
    }
  }
};
const tidemark::verify::twin<flagged> step_1{"step 1"};

// Step 2: and hands it over. There are two buffers, so that it may draw the next frame while this one is read.
struct unanswered : tidemark::verify::check<2> {
  var<int> frames[2];
  atomic<int> filled{0};

  void thread(unsigned index) {
    for (int n = 1; n <= 3; ++n) {
      if (index == 0) {
        frames[n % 2].store(10 * n);
        filled.store(n, memory_order_release);
      } else {
        while (filled.load(memory_order_acquire) < n) yield();
        expect(frames[n % 2].load() == 10 * n, "this is frame n");
      }
    }
  }
};
const tidemark::verify::twin<unanswered> step_2{"step 2"};

// Steps 3 and 4: the reader answers, first carelessly.
template <std::memory_order Answer>
struct answered : tidemark::verify::check<2> {
  var<int> frames[2];
  atomic<int> filled{0};
  atomic<int> taken{0};

  void thread(unsigned index) {
    for (int n = 1; n <= 3; ++n) {
      if (index == 0) {
        while (taken.load(memory_order_acquire) < n - 2) yield();
        frames[n % 2].store(10 * n);
        filled.store(n, memory_order_release);
      } else {
        while (filled.load(memory_order_acquire) < n) yield();
        expect(frames[n % 2].load() == 10 * n, "this is frame n");
        taken.store(n, Answer);
      }
    }
  }
};
const tidemark::verify::twin<answered<memory_order_relaxed>> step_3{"step 3"};
const tidemark::verify::checked<answered<memory_order_release>> step_4{"step 4"};

// Step 5: who waits sleeps. Here the writer forgets to wake the reader.
template <bool Wakes>
struct sleeping : tidemark::verify::check<2> {
  var<int> frame;
  atomic<int> filled{0};

  void thread(unsigned index) {
    if (index == 0) {
      frame.store(10);
      filled.store(1, memory_order_release);
      if (Wakes) filled.notify_one();
    } else {
      filled.wait(0, memory_order_acquire);
      expect(frame.load() == 10, "the frame is there");
    }
  }
};
const tidemark::verify::twin<sleeping<false>> step_5{"step 5"};
const tidemark::verify::checked<sleeping<true>> step_5_mended{"step 5, mended"};

// Step 6: the same with fences of this library. What is to be used in a program is a template over a platform.
template <class Platform>
class double_buffer {
 public:
  void write(int n) {
    if (n > 2) static_cast<void>(taken_.wait(number(n - 2)));
    frames_[n % 2].store(10 * n);
    filled_.signal(number(n));
  }
  int read(int n) {
    static_cast<void>(filled_.wait(number(n)));
    const int frame = frames_[n % 2].load();
    taken_.signal(number(n));
    return frame;
  }

 private:
  // Small, so that a search meets each situation soon: one waiter with a slot of its own, no spinning.
  using fence =
      tidemark::basic_progress_fence<Platform, tidemark::fence_options{.capacity = 1, .arity = 2, .max_spin_ns = 0}>;

  static constexpr std::uint64_t number(int n) { return static_cast<std::uint64_t>(n); }

  typename Platform::template var<int> frames_[2];  // plain fields that are handed over
  fence filled_;
  fence taken_;
};

template <class Platform>
struct with_fences : tidemark::verify::check<2> {
  double_buffer<Platform> buffer;

  void thread(unsigned index) {
    for (int n = 1; n <= 3; ++n) {
      if (index == 0) {
        buffer.write(n);
      } else {
        expect(buffer.read(n) == 10 * n, "this is frame n");
      }
    }
  }
};
const tidemark::verify::checked<with_fences<tidemark::relacy_platform>> step_6{"step 6"};
const tidemark::verify::checked<with_fences<tidemark::relacy_symmetric_platform>> step_6_symmetric{"step 6, symmetric"};

// What the audit is shown: each order is stronger than it needs to be.
struct costly : tidemark::verify::check<2> {
  var<int> frame;
  atomic<int> filled{0};

  void thread(unsigned index) {
    if (index == 0) {
      frame.store(10);
      filled.store(1);
    } else if (filled.load() == 1) {
      expect(frame.load() == 10, "the frame is there");
    }
  }
};
const tidemark::verify::checked<costly> audited{"costly"};

// Two frames through a ring. Only one with a single slot wraps.
template <unsigned Slots>
struct ring : tidemark::verify::check<2> {
  var<unsigned> slots[Slots];
  atomic<unsigned> written{0};
  atomic<unsigned> read{0};

  void thread(unsigned index) {
    for (unsigned n = 0; n < 2; ++n) {
      if (index == 0) {
        while (read.load(memory_order_acquire) + Slots <= n) yield();
        slots[n % Slots].store(10 * n);
        written.store(n + 1, memory_order_release);
      } else {
        while (written.load(memory_order_acquire) <= n) yield();
        expect(slots[n % Slots].load() == 10 * n, "this is frame n");
        read.store(n + 1, memory_order_release);
      }
    }
  }
};
const tidemark::verify::checked<ring<3>> ring_of_3{"ring of 3"};
const tidemark::verify::checked<ring<1>> ring_of_1{"ring of 1"};

}  // namespace
