// SPDX-License-Identifier: BSL-1.0
// The program of docs/guide-fence.md: waiting for what other threads do.

#include "expect.hpp"

#include <tidemark/engine/engine_queue.hpp>
#include <tidemark/fence/awake_view.hpp>
#include <tidemark/fence/capabilities.hpp>
#include <tidemark/fence/event_count.hpp>
#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/fence32.hpp>
#include <tidemark/fence/fence_slab.hpp>
#include <tidemark/fence/least_of.hpp>
#include <tidemark/fence/rewindable_fence.hpp>
#include <tidemark/fence/rewindable_target.hpp>
#include <tidemark/fence/signal_all.hpp>
#include <tidemark/fence/signaller.hpp>
#include <tidemark/fence/timeline_group.hpp>
#include <tidemark/fence/wait_many.hpp>
#include <tidemark/memory/rename_ring.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using guide::expect;
using tidemark::wait_status;

void hand_over_rows() {
  std::array<int, 100> rows{};       // plain data, handed over by the fence
  tidemark::progress_fence decoded;  // value n: the first n rows may be read

  std::thread decoder([&] {
    for (std::size_t n = 0; n < rows.size(); ++n) {
      rows[n] = static_cast<int>(2 * n);
      decoded.signal_next();
    }
  });

  const wait_status status = decoded.wait(50);
  expect(status == wait_status::reached && rows[49] == 98, "50 rows are there");

  decoder.join();  // before `decoded` goes: the decoder may still be inside its last signal
}

void limit_the_wait() {
  tidemark::progress_fence frames{41};  // a timeline may begin anywhere

  expect(frames.wait(0) == wait_status::reached, "every timeline has reached 0");
  expect(frames.wait_for(42, 0ms) == wait_status::timeout, "zero only looks and does not sleep");
  expect(frames.wait_for(42, 10ms) == wait_status::timeout, "nobody has signalled 42");

  const auto view = frames.view();  // can look and wait, and can't signal
  frames.signal(50);                // values may be jumped over
  expect(view.wait_until(42, std::chrono::steady_clock::now() + 1h) == wait_status::reached, "50 is at least 42");
  expect(view.current_value() == 50, "a view shows the value");
}

void wait_without_a_sleep() {
  tidemark::progress_fence decoded;
  std::thread decoder([&] {
    for (int row = 0; row < 100; ++row) decoded.signal_next();
  });
  const tidemark::awake_view spins{decoded};
  const tidemark::awake_view<tidemark::progress_fence, tidemark::wait_strategy::yields> yields{decoded};
  expect(spins.wait(50) == wait_status::reached, "this thread was awake all the time");
  expect(yields.wait_for(100, 1h) == wait_status::reached, "and let others run meanwhile");
  decoder.join();
}

void never_spin() {
  using calm_fence = tidemark::basic_fence<tidemark::symmetric_platform, tidemark::fence_options{.max_spin_ns = 0}>;

  calm_fence printed;
  std::thread printer([&] { printed.signal(1); });
  expect(printed.wait(1) == wait_status::reached, "printed");
  printer.join();
}

void allocate_nothing() {
  constexpr tidemark::fence_options in_real_time{
      .capacity = 64, .growth = tidemark::heap_growth::forbidden, .statistics = true};
  tidemark::basic_progress_fence<tidemark::native_platform, in_real_time> filled;

  std::thread filler([&] { filled.signal_next(); });
  expect(filled.wait(1) == wait_status::reached, "filled");
  expect(filled.overflow_count() == 0, "there was a slot for each waiter");
  filler.join();
}

void signal_from_many_threads() {
  tidemark::fence finished;  // any thread may signal; the greatest value wins

  std::array<std::thread, 4> workers;
  for (std::thread& worker : workers) worker = std::thread{[&] { finished.signal_next(); }};
  expect(finished.wait(workers.size()) == wait_status::reached, "all four have counted themselves");
  for (std::thread& worker : workers) worker.join();

  expect(!finished.signal(3), "3 is not above 4: nothing is done, and signal() says so");
}

void wait_for_several() {
  tidemark::progress_fence upload;
  tidemark::fence compute;

  std::thread device([&] {
    upload.signal(12);
    compute.signal(40);
  });
  expect(tidemark::wait_all({{upload, 12}, {compute, 40}}) == wait_status::reached, "both came");
  device.join();

  const auto [status, index] = tidemark::wait_any_for({{upload, 13}, {compute, 40}}, 1h);
  expect(status == wait_status::reached && index == 1, "compute is there already");

  std::vector<tidemark::awaited> needed;  // a list that is made at run time
  needed.emplace_back(upload, 12);
  if (compute.current_value() < 50) needed.emplace_back(compute, 40);
  expect(tidemark::wait_all_for(needed, 1h) == wait_status::reached, "both were there");
}

void share_one_number() {
  tidemark::progress_fence drawn;
  tidemark::fence copied;
  const tidemark::least_of both{drawn.view(), copied};  // one timeline: the value that both have reached

  drawn.signal(7);
  expect(both.current_value() == 0, "copied has reached nothing");
  std::thread copies([&] { copied.signal(5); });
  expect(both.wait(5) == wait_status::reached, "both have");
  copies.join();

  drawn.poison();
  expect(both.current_value() == 5, "drawn is lost, and copied goes on");
  copied.signal(8);
  expect(both.wait(8) == wait_status::lost, "copied has reached 8, and drawn never will");
}

void let_readers_come_and_go() {
  tidemark::fence given_out;  // value n: the program has given out work up to number n
  tidemark::timeline_group readers{given_out};
  tidemark::rename_ring ring{readers, {.bytes = 4096}};  // reuses memory when all who read it have finished

  tidemark::progress_fence blurred;
  auto blur = readers.add(blurred.view());  // from now on, values above blur.from() wait for it, too
  given_out.signal(1);
  expect(readers.current_value() == 0, "blur is reading");

  std::thread stop_to_blur([&] { blur.leave(); });
  expect(readers.wait(1) == wait_status::reached, "nobody reads any more");
  stop_to_blur.join();
}

void wait_for_a_value_or_a_change() {
  tidemark::progress_fence copied;                      // value n: the device has read what was used up to copy n
  std::atomic<std::uint64_t> in_use_until{UINT64_MAX};  // of a buffer; another thread has it at first
  tidemark::event_count returned;

  std::thread owner([&] {
    in_use_until = 3;   // gives it back: the device reads it until then,
    returned.notify();  // and says so
    copied.signal(3);
  });

  const auto take = [&]() -> tidemark::attempt_result {
    const std::uint64_t until = in_use_until;
    if (until == UINT64_MAX) return tidemark::attempt_result::again();  // when it is returned
    if (!copied.is_reached(until)) return tidemark::attempt_result::again_at(until);
    in_use_until = UINT64_MAX;
    return true;
  };
  expect(returned.wait(copied, take) == wait_status::reached,
         "the buffer was returned, and the device is done with it");
  owner.join();
}

void signal_several() {
  tidemark::progress_fence rows;
  tidemark::progress_fence audio;
  std::thread player([&] {
    const std::array<tidemark::awaited, 2> both{{{rows, 12}, {audio, 40}}};
    expect(tidemark::wait_all(both) == wait_status::reached, "a frame needs both");
  });
  const std::size_t stored = tidemark::signal_all({{rows, 12}, {audio, 40}});
  expect(stored == 2, "both values were stored before the player was woken");
  player.join();
}

constexpr tidemark::loss_reason device_removed{7, "the device was removed"};  // lives as long as the program

void lose_the_device() {
  tidemark::progress_fence drawn;
  drawn.signal(7);

  std::thread waiter([&] {
    const auto [status, value] = drawn.wait_value(8);
    expect(status == wait_status::lost && value == 7, "8 will never come, but 7 did");
    expect(*drawn.loss() == device_removed, drawn.loss()->text);
  });
  drawn.poison(device_removed);  // from any thread; the first reason stays
  waiter.join();

  expect(drawn.wait(7) == wait_status::reached, "what was reached before stays reached");
}

void keep_the_value() {
  constexpr tidemark::fence_options keeping{.keeps_value_on_loss = true};
  tidemark::basic_progress_fence<tidemark::native_platform, keeping> drawn;
  drawn.signal(7);
  drawn.poison(device_removed);
  expect(drawn.current_value() == 7, "not UINT64_MAX");
  expect(drawn.wait(8) == wait_status::lost, "waits are lost all the same");
}

void lose_the_signaller() {
  tidemark::fence parsed;
  std::thread parser([signals = tidemark::signaller{parsed}]() mutable {
    auto mine = std::move(signals);  // goes when this function ends, by an exception, too
    mine.signal_next();
  });
  expect(parsed.wait(2) == wait_status::lost, "nobody is left who could signal it");
  expect(*parsed.loss() == tidemark::signaller_gone && parsed.last_reached() == 1, "the fence says why");
  parser.join();
}

void destroy_right_after_the_wait() {
  constexpr tidemark::fence_options joining{.joins_signallers = true};
  auto* const answered = new tidemark::basic_fence<tidemark::symmetric_platform, joining>;
  std::thread server([answered] { answered->signal(1); });
  expect(answered->wait(1) == wait_status::reached, "the answer is there");
  delete answered;  // waits until the server has left signal()
  server.join();
}

void keep_very_many() {
  auto made = tidemark::fence_slab::make({.fences = 100'000, .value_stride = 8, .monitored_stride = 8});
  expect(static_cast<bool>(made), to_string(made.status).data());
  tidemark::fence_slab& fences = *made.slab;

  const tidemark::fence_handle answered = fences.acquire();
  std::thread server([&, answered] { static_cast<void>(fences.signal(answered, 1)); });
  expect(fences.wait(answered, 1) == wait_status::reached, "the answer is there");
  expect(fences.release(answered), "legal, although the server may still be inside signal()");
  server.join();
  expect(fences.signal(answered, 2) == tidemark::slab_signal_status::stale, "it is a stale handle now");
}

void ask_what_there_is() {
  using tidemark::asymmetric_barriers, tidemark::if_there, tidemark::serials_32;
  const auto agreed = tidemark::engine::negotiate<serials_32, if_there<asymmetric_barriers>>();
  expect(static_cast<bool>(agreed), agreed.name.data());  // otherwise it says which feature, and agreed.status why
  const bool is_cheap = agreed->has<asymmetric_barriers>();
  expect(agreed->query<serials_32>().version == tidemark::feature_version{1}, "the version that both know");
  expect(is_cheap == (agreed->query<asymmetric_barriers>().version >= tidemark::feature_version{1}),
         "version 0 says that it is not there");

  const auto refused = tidemark::engine::negotiate<tidemark::rewindable_values>();
  expect(refused.status == tidemark::negotiate_status::not_offered, "no engine sets values back");
}

void follow_32_bit_values() {
  tidemark::fence32 copied{0xFFFF'FFFE};  // an engine's counter, which is about to wrap around

  std::thread engine([&] {
    for (const std::uint32_t serial : {0xFFFF'FFFFU, 0U, 1U}) copied.signal(serial);
  });
  expect(copied.wait(1) == wait_status::reached, "1 comes after 0xFFFFFFFF and 0");
  engine.join();

  expect(copied.is_reached(0xFFFF'FFFF) && !copied.is_reached(2), "what is behind is reached");
  const std::uint64_t value = copied.extended(1);  // for blocks that follow the 64-bit timeline inside
  expect(value == 0x1'0000'0001 && copied.view().current_value() == value, "the value inside does not wrap around");
}

void set_a_value_back() {
  tidemark::rewindable_fence shown;  // value n: frame n of the film was on the screen
  shown.signal(120);
  shown.rewind(24);  // the viewer goes back
  expect(shown.wait_for(100, 0ms) == wait_status::timeout, "a wait that begins now sees the lower value");

  std::thread subtitle([&] {
    const wait_status status = shown.wait(100);
    expect(status == wait_status::reached, "frame 100 was there, whatever has happened since");
  });
  while (shown.monitored_value() != 99) std::this_thread::yield();  // until the thread waits for 100
  shown.signal(110);
  shown.rewind(0);
  subtitle.join();
}

void remember_a_value_that_is_set_back() {
  tidemark::rewindable_fence shown;  // value n: frame n of the film was on the screen
  tidemark::fence cancelled;
  const tidemark::rewindable_target opening{shown, 24};  // from now on, frame 24 is not missed

  shown.signal(30);
  shown.rewind(0);
  const auto end = tidemark::wait_any({{cancelled, 1}, {opening, 1}});
  expect(end.index == 1, "the target was reached, and stays so");
}

/// A device as a driver sees it: two addresses.
struct device {
  std::uint64_t* value;
  const void* monitored;
  /// Stores the value, issues a barrier, and says whether somebody may wait for it.
  bool signal(std::uint64_t next) const {
    __atomic_store_n(value, next, __ATOMIC_SEQ_CST);
    return next > __atomic_load_n(static_cast<const std::uint64_t*>(monitored), __ATOMIC_SEQ_CST);
  }
};

void signal_from_outside() {
  constexpr tidemark::fence_options on_page{.storage = tidemark::value_storage::caller};
  alignas(8) std::uint64_t value = 0;  // in memory that the device writes
  tidemark::basic_fence<tidemark::symmetric_platform, on_page> drawn{&value};
  const device screen{&value, drawn.monitored_address()};

  expect(!screen.signal(1), "nobody waits, so the device interrupts nobody");
  auto later = std::async(std::launch::async, [&] { return drawn.wait(2); });
  if (screen.signal(2)) drawn.release_due();  // in the handler of the interrupt
  expect(later.get() == wait_status::reached, "whether it slept already or not");
}

class film {  // a timeline of the program's: its value is the number of the last frame that a decoder has finished
 public:
  std::uint64_t current_value() const noexcept { return last_; }
  std::uint64_t last_reached() const noexcept { return last_; }
  wait_status wait_until(std::uint64_t target, tidemark::deadline until) const {
    return tidemark::wait_all_until({{*this, target}}, until);
  }
  void* add_hook(std::uint64_t target, tidemark::timeline_hook hook) const { return hooks_.add(target, hook); }
  bool remove_hook(void* registration) const { return hooks_.remove(registration); }
  void finish_frame() { hooks_.release_due(++last_); }

 private:
  std::atomic<std::uint64_t> last_{0};
  mutable tidemark::hook_list hooks_;
};

/// A counter of another library, which only tells its value.
class foreign_counter {
 public:
  std::uint64_t current_value() const noexcept { return value_; }
  wait_status wait_until(std::uint64_t target, tidemark::deadline until) const {
    while (value_ < target && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    return value_ < target ? wait_status::timeout : wait_status::reached;
  }
  void count() { ++value_; }

 private:
  std::atomic<std::uint64_t> value_{0};
};

void wait_for_anything() {
  tidemark::fence uploaded;
  tidemark::fence32 copied;
  film decoded;
  foreign_counter played;                          // a timeline that can't call hooks
  const tidemark::looked_at heard{played, 500us};  // waits look at it

  std::thread others([&] {
    uploaded.signal(3);
    copied.signal(8);
    decoded.finish_frame();
    played.count();
  });
  // sleeps for all at once
  const wait_status end = tidemark::wait_all({{uploaded, 3}, {copied, 8}, {decoded, 1}, {heard, 1}});
  others.join();
  expect(end == wait_status::reached, "all of them came");
}

}  // namespace

int main() {
  hand_over_rows();
  limit_the_wait();
  wait_without_a_sleep();
  never_spin();
  allocate_nothing();
  signal_from_many_threads();
  wait_for_several();
  share_one_number();
  let_readers_come_and_go();
  wait_for_a_value_or_a_change();
  signal_several();
  lose_the_device();
  keep_the_value();
  lose_the_signaller();
  destroy_right_after_the_wait();
  keep_very_many();
  ask_what_there_is();
  follow_32_bit_values();
  set_a_value_back();
  remember_a_value_that_is_set_back();
  signal_from_outside();
  wait_for_anything();
  return guide::result("guide_fence");
}
