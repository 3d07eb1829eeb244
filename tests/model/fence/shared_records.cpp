// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the records of a segment that processes share. Each thread is a process, or one of two threads of
// one, with the locks of its own open file description. A process that is killed drops its locks, and does nothing
// else.
#include "support/model_check.hpp"

#include <tidemark/fence/detail/shared_guard.hpp>
#include <tidemark/fence/detail/shared_records.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace {

using platform = tidemark::TIDEMARK_MODEL_PLATFORM;
using payload = platform::var<int>;
using tidemark::detail::attachment_note;
using tidemark::detail::attachment_rights;
using tidemark::detail::byte_lock;
using tidemark::detail::claim_outcome;
using tidemark::detail::guard_word;
using tidemark::detail::signallers;

constexpr std::uint32_t most = 3;

/// The bytes in the kernel, each with the description that has it, from 1. The kernel's list of them has a lock. So
/// whoever locks or unlocks a byte hands over what it has done to who finds that.
struct kernel_bytes {
  using owners = std::array<platform::atomic<std::uint32_t>, most>;
  owners of_attachments;
  owners of_records;

  kernel_bytes() {
    for (owners* bytes : {&of_attachments, &of_records}) {
      for (auto& each : *bytes) each.store(0, std::memory_order_relaxed);
    }
  }
};

/// Those of one description: it never finds its own byte taken, and takes it again.
class description {
 public:
  description(kernel_bytes& bytes, std::uint32_t number) : bytes_{bytes}, number_{number} {}

  byte_lock try_lock(std::uint32_t index) { return try_lock(bytes_.of_attachments, index); }
  void unlock(std::uint32_t index) { unlock(bytes_.of_attachments, index); }
  bool is_held(std::uint32_t index) const {
    const std::uint32_t by = bytes_.of_attachments[index].load(std::memory_order_acquire);
    return by != 0 && by != number_;
  }
  byte_lock try_lock_record(std::uint32_t index) { return try_lock(bytes_.of_records, index); }
  void unlock_record(std::uint32_t index) { unlock(bytes_.of_records, index); }

 private:
  byte_lock try_lock(kernel_bytes::owners& in, std::uint32_t index) {
    std::uint32_t before = 0;
    const bool is_mine =
        in[index].compare_exchange_strong(before, number_, std::memory_order_acq_rel, std::memory_order_relaxed) ||
        before == number_;
    return is_mine ? byte_lock::locked : byte_lock::taken;
  }
  static void unlock(kernel_bytes::owners& in, std::uint32_t index) {
    in[index].exchange(0, std::memory_order_release);
  }

  kernel_bytes& bytes_;
  std::uint32_t number_;
};

using words = tidemark::detail::segment_words<platform, most>;
using records = tidemark::detail::segment_records<platform, description, most>;
using signaller_part = tidemark::detail::signaller_words<platform, most>;
using history = tidemark::detail::signaller_history<platform, most>;

attachment_note note_with(std::uint64_t incarnation) {
  attachment_note note;
  note.rights = attachment_rights::signal;
  note.incarnation = incarnation;
  return note;
}

/// A segment with a plain field for each attachment, as its slots are; and up to four attachments.
struct stand {
  kernel_bytes bytes;
  words in_waiters;
  signaller_part in_values;
  std::array<payload, most> slots;
  std::array<description, 4> locks{description{bytes, 1}, description{bytes, 2}, description{bytes, 3},
                                   description{bytes, 4}};
  std::array<std::optional<records>, 4> attachments;
  std::array<std::uint32_t, 4> index{};

  stand() {
    for (unsigned i = 0; i < attachments.size(); ++i) attachments[i].emplace(in_waiters, locks[i], most);
  }

  auto cleaner() {
    return [this](std::uint32_t of) { slots[of].store(0); };
  }
  /// Attaches, and takes a slot. Returns false if all numbers are taken.
  bool attach(unsigned who) {
    const claim_outcome claimed = attachments[who]->claim(note_with(who + 10), cleaner());
    if (claimed.status != byte_lock::locked) return false;
    index[who] = claimed.index;
    MODEL_REQUIRE(slots[claimed.index].load() == 0);
    slots[claimed.index].store(static_cast<int>(who) + 1);
    return true;
  }
  /// A waiter, 1, and a signaller, 0.
  void attach_two() {
    MODEL_REQUIRE(attach(1));
    MODEL_REQUIRE(attach(0));
    begin(0);
  }
  void die(unsigned who) { locks[who].unlock(index[who]); }
  void release(unsigned who) { attachments[who]->release(index[who], cleaner()); }
  auto look(unsigned who) { return attachments[who]->look(index[who], most, cleaner()); }

  history signals() { return {in_values, most}; }
  void begin(unsigned who) { signals().begin(index[who], who + 10); }
  void end(unsigned who) {
    signals().end(index[who], [&](auto other, auto number) { return attachments[who]->is_alive(other, number); });
  }
  signallers state(unsigned who) {
    return history::state(in_values, most,
                          [&](auto other, auto number) { return attachments[who]->is_alive(other, number); });
  }
  /// What a guard thread does when it begins.
  void guard(unsigned who) { attachments[who]->set_guard(index[who], who + 5); }
  /// What the kernel does when that thread ends.
  void notice(unsigned who) {
    std::uint32_t before = (who + 5) | guard_word::has_sleepers;
    in_waiters.records[index[who]].guard.compare_exchange_strong(
        before, guard_word::has_sleepers | guard_word::has_ended, std::memory_order_relaxed, std::memory_order_relaxed);
  }
  bool is_used(std::uint32_t which) { return in_waiters.records[which].state.load(std::memory_order_relaxed) != 0; }
};

/// One is killed, a second looks, and a third attaches. What the dead has left is cleaned up by one of them, alone.
struct cleaned_by_one : model::suite<3>, stand {
  void before() { MODEL_REQUIRE(attach(1)); }
  void thread(unsigned thread) {
    if (thread == 0) {
      MODEL_REQUIRE(attach(0));
      die(0);
    } else if (thread == 1) {
      look(1);
    } else {
      MODEL_REQUIRE(attach(2));
    }
  }
  void after() {
    look(1);
    MODEL_REQUIRE(slots[index[1]].load() == 2);
    MODEL_REQUIRE(slots[index[2]].load() == 3);
    const std::uint32_t left = most - index[1] - index[2];
    MODEL_REQUIRE(is_used(index[1]));
    MODEL_REQUIRE(is_used(index[2]));
    MODEL_REQUIRE(!is_used(left));
  }
};

/// One closes beside the look of another and beside a third one that attaches.
struct closed_beside_look : model::suite<3>, stand {
  void before() {
    MODEL_REQUIRE(attach(0));
    MODEL_REQUIRE(attach(1));
  }
  void thread(unsigned thread) {
    if (thread == 0) {
      MODEL_REQUIRE(slots[index[0]].load() == 1);  // nobody has cleaned up behind the living
      release(0);
    } else if (thread == 1) {
      MODEL_REQUIRE(look(1).cleaned == 0);
    } else {
      MODEL_REQUIRE(attach(2));
    }
  }
  void after() {
    MODEL_REQUIRE(slots[index[1]].load() == 2);
    MODEL_REQUIRE(slots[index[2]].load() == 3);
  }
};

/// Two threads of one attachment look: their locks do not exclude each other.
struct two_threads_look : model::suite<2>, stand {
  void before() {
    MODEL_REQUIRE(attach(1));
    MODEL_REQUIRE(attach(0));
    die(0);
  }
  void thread(unsigned) { attachments[1]->look(index[1], 1, cleaner()); }
  void after() {
    MODEL_REQUIRE(!is_used(index[0]));
    MODEL_REQUIRE(slots[index[0]].load() == 0);
  }
};

/// Two threads of one attachment look, while a neighbour has marked more records than one look cleans.
struct two_threads_look_at_many : model::suite<2>, stand {
  void before() {
    MODEL_REQUIRE(attach(1));
    for (auto& record : in_waiters.records) record.state.store(5, std::memory_order_relaxed);
  }
  void thread(unsigned) {
    const auto found = attachments[1]->look(index[1], 1, cleaner());
    MODEL_REQUIRE(found.cleaned <= 1);
  }
};

/// A signaller attaches: before it is alive there was none.
struct signaller_comes : model::suite<2>, stand {
  void before() { MODEL_REQUIRE(attach(1)); }
  void thread(unsigned thread) {
    if (thread == 0) {
      MODEL_REQUIRE(attach(0));
      begin(0);
    } else {
      const signallers seen = state(1);
      MODEL_REQUIRE(seen == signallers::none_yet || seen == signallers::present);
      const attachment_note note = tidemark::detail::note_in(in_waiters, 1);
      MODEL_REQUIRE(note.incarnation == 0 || note.incarnation == 10);
    }
  }
  void after() { MODEL_REQUIRE(state(1) == signallers::present); }
};

/// A signaller closes: it has not died.
struct signaller_closes : model::suite<2>, stand {
  void before() { attach_two(); }
  void thread(unsigned thread) {
    if (thread == 0) {
      end(0);
      release(0);
    } else {
      const signallers seen = state(1);
      MODEL_REQUIRE(seen == signallers::present || seen == signallers::closed);
    }
  }
  void after() { MODEL_REQUIRE(state(1) == signallers::closed); }
};

/// The same, and its process attaches again, signals and closes again, while another one looks.
struct signaller_closes_twice : model::suite<2>, stand {
  void before() { attach_two(); }
  void thread(unsigned thread) {
    if (thread == 0) {
      end(0);
      release(0);
      MODEL_REQUIRE(attach(2));
      begin(2);
      end(2);
      release(2);
    } else {
      const signallers seen = state(1);
      MODEL_REQUIRE(seen == signallers::present || seen == signallers::closed);
    }
  }
  void after() { MODEL_REQUIRE(state(1) == signallers::closed); }
};

/// A signaller is killed, and a waiter takes its number: the signaller has died.
struct signaller_dies : model::suite<3>, stand {
  void before() { attach_two(); }
  void thread(unsigned thread) {
    if (thread == 0) {
      die(0);
    } else if (thread == 1) {
      const signallers seen = state(1);
      MODEL_REQUIRE(seen == signallers::present || seen == signallers::died);
    } else {
      MODEL_REQUIRE(attach(2));
    }
  }
  void after() { MODEL_REQUIRE(state(1) == signallers::died); }
};

/// A signaller closes after another one has died: it was the last one, and has closed.
struct closes_after_death : model::suite<2>, stand {
  void before() {
    MODEL_REQUIRE(attach(0));
    begin(0);
    MODEL_REQUIRE(attach(1));
    begin(1);
    MODEL_REQUIRE(attach(2));
    die(0);
  }
  void thread(unsigned thread) {
    if (thread == 0) {
      end(1);
      release(1);
    } else {
      const signallers seen = state(2);
      MODEL_REQUIRE(seen == signallers::present || seen == signallers::closed);
    }
  }
  void after() { MODEL_REQUIRE(state(2) == signallers::closed); }
};

/// A signaller was killed, and one cleans up behind it while another one takes its number. For a fourth one, the dead
/// one is dead all the time, in the middle of what the others do, too.
struct dead_before_it_is_cleaned : model::suite<3>, stand {
  void before() {
    attach_two();
    die(0);
  }
  void thread(unsigned thread) {
    if (thread == 0) {
      look(1);
    } else if (thread == 1) {
      MODEL_REQUIRE(attach(2));
    } else {
      MODEL_REQUIRE(state(3) == signallers::died);
    }
  }
  void after() { MODEL_REQUIRE(state(1) == signallers::died); }
};

/// A signaller with a guard was killed, and another one cleans up behind it. For a third one, the dead one is dead all
/// the time.
struct dead_stays_dead : model::suite<2>, stand {
  void before() {
    attach_two();
    guard(0);
    notice(0);
    MODEL_REQUIRE(state(1) == signallers::died);  // although its lock is held
    die(0);
  }
  void thread(unsigned thread) {
    if (thread == 0) {
      MODEL_REQUIRE(look(1).cleaned == 1);
    } else {
      MODEL_REQUIRE(state(2) == signallers::died);
    }
  }
  void after() { MODEL_REQUIRE(!is_used(index[0])); }
};

/// A signaller with a guard is killed, and a waiter takes its number. Whoever has found the signaller dead finds it so
/// again.
struct guarded_one_dies : model::suite<3>, stand {
  void before() {
    attach_two();
    guard(0);
  }
  void thread(unsigned thread) {
    if (thread == 0) {
      notice(0);
      die(0);
    } else if (thread == 1) {
      const signallers first = state(1);
      MODEL_REQUIRE(first == signallers::present || first == signallers::died);
      if (first == signallers::died) MODEL_REQUIRE(state(1) == signallers::died);
    } else {
      MODEL_REQUIRE(attach(2));
    }
  }
  void after() { MODEL_REQUIRE(state(1) == signallers::died); }
};

/// Another signaller takes the number of one with a guard that was killed. Whoever has found it finds it again.
struct guarded_one_is_followed : model::suite<2>, stand {
  void before() {
    attach_two();
    guard(0);
    notice(0);
    die(0);
  }
  void thread(unsigned thread) {
    if (thread == 0) {
      MODEL_REQUIRE(attach(2));
      MODEL_REQUIRE(index[2] == index[0]);
      begin(2);
      guard(2);
    } else {
      const signallers first = state(1);
      MODEL_REQUIRE(first == signallers::present || first == signallers::died);
      if (first == signallers::present) MODEL_REQUIRE(state(1) == signallers::present);
    }
  }
  void after() { MODEL_REQUIRE(state(1) == signallers::present); }
};

/// A signaller with a guard closes: the guard takes its number away before it ends.
struct guarded_one_closes : model::suite<2>, stand {
  void before() {
    attach_two();
    guard(0);
  }
  void thread(unsigned thread) {
    if (thread == 0) {
      attachments[0]->set_guard(index[0], 0);
      notice(0);
      end(0);
      release(0);
    } else {
      const signallers seen = state(1);
      MODEL_REQUIRE(seen == signallers::present || seen == signallers::closed);
    }
  }
  void after() { MODEL_REQUIRE(state(1) == signallers::closed); }
};

/// Whoever finds a guard finds the attachment that it is of, also where a dead one had the number before.
struct guard_comes : model::suite<2>, stand {
  void before() {
    MODEL_REQUIRE(attach(1));
    MODEL_REQUIRE(attach(0));
    guard(0);
    notice(0);
    die(0);
  }
  void thread(unsigned thread) {
    if (thread == 0) {
      MODEL_REQUIRE(attach(2));
      guard(2);
    } else if ((tidemark::detail::guard_in(in_waiters, index[0]) & guard_word::thread) == 2 + 5) {
      MODEL_REQUIRE(slots[index[0]].load() == 3);
      MODEL_REQUIRE(tidemark::detail::note_in(in_waiters, index[0]).incarnation == 12);
    }
  }
};

/// A guard, in steps.
struct guard_stand : stand {
  struct place {
    stand& of;
    unsigned times = 0;

    std::uint32_t count() const { return most; }
    std::uint32_t index() const { return of.index[1]; }
    std::uint32_t guard_value(std::uint32_t which) const { return tidemark::detail::guard_in(of.in_waiters, which); }
    std::uint64_t incarnation(std::uint32_t which) const {
      return tidemark::detail::note_in(of.in_waiters, which).incarnation;
    }
    void tell(std::uint64_t dead) {
      MODEL_REQUIRE(dead == std::uint64_t{1} << of.index[0]);
      ++times;
    }
  };
  place tells{*this};
  tidemark::detail::guard_turns<platform, place> turns{tells};
};

/// A guard tells of a notice once, and ends when it is stopped.
struct told_once : model::suite<3>, guard_stand {
  void before() {
    MODEL_REQUIRE(attach(1));
    MODEL_REQUIRE(attach(0));
    guard(0);
  }
  void thread(unsigned thread) {
    if (thread == 0) {
      notice(0);
    } else if (thread == 1) {
      while (!turns.is_stopped()) {
        turns.turn();
        platform::park(turns.stop_word(), 0, tidemark::no_deadline);
      }
    } else {
      turns.stop();
    }
  }
  void after() {
    turns.turn();
    turns.turn();
    MODEL_REQUIRE(tells.times == 1);
  }
};

/// Another attachment with a guard takes the number of one that was killed, and is killed, too, before the guard has
/// looked again or after that. It tells of both.
struct told_of_both : model::suite<2>, guard_stand {
  void before() {
    MODEL_REQUIRE(attach(1));
    MODEL_REQUIRE(attach(0));
    guard(0);
    notice(0);
    turns.turn();
    MODEL_REQUIRE(tells.times == 1);
    die(0);
  }
  void thread(unsigned thread) {
    if (thread == 0) {
      MODEL_REQUIRE(attach(2));
      guard(2);
      notice(2);
    } else {
      turns.turn();
    }
  }
  void after() {
    turns.turn();
    MODEL_REQUIRE(tells.times == 2);
  }
};

/// An attachment with a guard is killed, and another one cleans up behind it, perhaps before the guard has looked: that
/// one tells, once.
struct told_of_the_cleaned : model::suite<3>, guard_stand {
  void before() {
    MODEL_REQUIRE(attach(1));
    MODEL_REQUIRE(attach(0));
    MODEL_REQUIRE(attach(2));
    guard(0);
    turns.turn();
  }
  void thread(unsigned thread) {
    if (thread == 0) {
      notice(0);
      die(0);
    } else if (thread == 1) {
      turns.turn();
    } else {
      look(2);
    }
  }
  void after() {
    look(2);
    turns.turn();
    MODEL_REQUIRE(tells.times == 1);
  }
};

/// Of two attachments one looks, also if the other one has read the clock a little earlier.
struct one_is_due : model::suite<2>, stand {
  std::array<tidemark::detail::look_schedule<platform>, 2> schedules;
  std::array<bool, 2> is_due{};

  static constexpr std::uint64_t now = 5'000'000'000;
  void before() {
    for (auto& each : schedules) MODEL_REQUIRE(each.is_due(in_waiters.looked_at, now));  // the first time of each
  }
  void thread(unsigned thread) {
    is_due[thread] = schedules[thread].is_due(in_waiters.looked_at, now + 50'000'000 + thread);
  }
  void after() { MODEL_REQUIRE(is_due[0] != is_due[1]); }
};

}  // namespace

int main(int argc, char** argv) {
  const std::vector<model::check> checks{
      model::make_check<cleaned_by_one, "cleaned_by_one">(),
      model::make_check<closed_beside_look, "closed_beside_look">(),
      model::make_check<two_threads_look, "two_threads_look">(),
      model::make_check<two_threads_look_at_many, "two_threads_look_at_many">(),
      model::make_check<signaller_comes, "signaller_comes">(),
      model::make_check<signaller_closes, "signaller_closes">(),
      model::make_check<signaller_closes_twice, "signaller_closes_twice">(),
      model::make_check<signaller_dies, "signaller_dies">(),
      model::make_check<closes_after_death, "closes_after_death">(),
      model::make_check<dead_before_it_is_cleaned, "dead_before_it_is_cleaned">(),
      model::make_check<dead_stays_dead, "dead_stays_dead">(),
      model::make_check<guarded_one_dies, "guarded_one_dies">(),
      model::make_check<guarded_one_is_followed, "guarded_one_is_followed">(),
      model::make_check<guarded_one_closes, "guarded_one_closes">(),
      model::make_check<guard_comes, "guard_comes">(),
      model::make_check<told_once, "told_once">(),
      model::make_check<told_of_both, "told_of_both">(),
      model::make_check<told_of_the_cleaned, "told_of_the_cleaned">(),
      model::make_check<one_is_due, "one_is_due">(),
  };
  return model::run(argc, argv, checks);
}
