// SPDX-License-Identifier: BSL-1.0
//
// Ring logs whose producers and readers are stopped at every step of an operation, while others go on. All of it
// happens in one thread, so each case is the same in each run.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <tidemark/log/ring_log.hpp>

#include "support/interruption.hpp"
#include "support/log_kinds.hpp"
#include "support/random.hpp"

using namespace testing;

// ---- stopped at any step -------------------------------------------------------------------------------------------

namespace {

template <class Kind, std::size_t N>
using interrupted_log = log_of<Kind, N, interrupted_platform>;

/// Small sizes, and one for which a read copies several chunks.
template <class Body>
void with_each_small_size(const Body& body) {
  body.template operator()<2>(std::size_t{2});
  body.template operator()<3>(std::size_t{3});
  body.template operator()<std::dynamic_extent>(std::size_t{11});
}

std::vector<std::uint64_t> counts_around(std::uint64_t entries) {
  return {0, 1, entries - 1, entries, entries + 1, 2 * entries + 1};
}

/// Reads until there is nothing new. The last entry is readable, so every entry is then read or counted as lost.
template <class Reading>
void read_all(Reading& reader, std::uint64_t end) {
  std::array<typename Reading::entry, 12> buffer;
  for (int turns = 0; turns < 1'000 && reader.read(buffer); ++turns) {
  }
  CHECK(reader.next() == end);
  CHECK(reader.mistakes() == 0);
}

/// Makes a read that is interrupted by `appends` appends before its step. Returns false when it has no such step.
template <class Kind, std::size_t N>
bool interrupt_read(std::size_t entries, std::uint64_t unread, std::uint64_t appends, std::size_t room,
                    std::uint64_t step) {
  interrupted_log<Kind, N> log{entries, 100};
  log.append(entries + 1);
  auto reader = reading_in_order<Kind>(log->reader_from(log.next()));
  log.append(unread);
  std::vector<typename Kind::entry> buffer(room);
  const std::uint64_t start = reader.next();
  if (!interrupt([&] { reader.read(buffer); }, step, [&] { log.append(appends); })) return false;
  INFO(entries, " entries, ", unread, " unread, ", appends, " appends before step ", step, ", room for ", room);
  const std::uint64_t oldest = log.next() - Kind::readable(entries);
  CHECK(start + reader.lost() <= std::max(start, oldest));  // no entry counts as lost that could still be read
  CHECK(reader.mistakes() == 0);
  const std::uint64_t lost = reader.lost();
  const std::uint64_t next = reader.next();
  read_all(reader, log.next());
  CHECK(reader.lost() == lost + (next < oldest ? oldest - next : 0));
  return true;
}

}  // namespace

TEST_CASE_TEMPLATE(
    "[A89][A97][A98][trap 15][trap 17] a producer that laps a reader at any step of a read tears no entry, and an "
    "entry is lost only if it was overwritten",
    Kind, EVERY_LOG) {
  std::uint64_t interrupted = 0;
  with_each_small_size([&]<std::size_t N>(std::size_t entries) {
    for (const std::uint64_t unread : counts_around(entries)) {
      for (const std::uint64_t appends : counts_around(entries)) {
        for (const std::size_t room : {std::size_t{0}, std::size_t{1}, entries, 2 * entries}) {
          for (std::uint64_t step = 0; interrupt_read<Kind, N>(entries, unread, appends, room, step); ++step) {
            ++interrupted;
          }
        }
      }
    }
  });
  CHECK(interrupted > 1000);
  MESSAGE(interrupted << " interrupted reads");
}

namespace {

/// Makes an append before a step of which two readers read: one that has read everything, and one that has not.
/// Returns false when it has no such step.
template <class Kind, std::size_t N>
bool interrupt_append(std::size_t entries, std::uint64_t unread, std::uint64_t step) {
  interrupted_log<Kind, N> log{entries, 100};
  log.append(entries + 1);
  auto lazy = reading_in_order<Kind>(log->reader_from(log.next()));
  log.append(unread);
  auto prompt = reading_in_order<Kind>(log->reader_from(log.next()));
  std::vector<typename Kind::entry> buffer(entries);
  const std::uint64_t written = log.next();
  const auto read_meanwhile = [&] {
    prompt.read(buffer);
    lazy.read(buffer);
    CHECK(prompt.next() == written);  // not before it is whole
  };
  if (!interrupt([&] { log.append(); }, step, read_meanwhile)) return false;
  INFO(entries, " entries, ", unread, " unread, read before step ", step);
  read_all(prompt, log.next());
  read_all(lazy, log.next());
  CHECK(prompt.entries() == 1);
  const std::uint64_t readable = Kind::readable(entries);
  const std::uint64_t most_lost = unread + 1 > readable ? unread + 1 - readable : 0;
  CHECK(lazy.lost() <= most_lost);
  CHECK(lazy.lost() + 1 >= most_lost);
  return true;
}

}  // namespace

TEST_CASE_TEMPLATE(
    "[A89][trap 17] at any step of an append a reader gets nothing of the new entry, and no torn old one", Kind,
    EVERY_LOG) {
  std::uint64_t interrupted = 0;
  with_each_small_size([&]<std::size_t N>(std::size_t entries) {
    for (const std::uint64_t unread : counts_around(entries)) {
      for (std::uint64_t step = 0; interrupt_append<Kind, N>(entries, unread, step); ++step) ++interrupted;
    }
  });
  CHECK(interrupted > 50);
}

// ---- several producers, one of which is stopped --------------------------------------------------------------------

namespace {

/// The steps of an append to a log with several producers.
enum producer_step : std::uint64_t { at_number, at_look, at_ownership, at_first_word };

/// A log with several producers, whose entries are numbered in the order in which the appends begin.
template <class Kind, std::size_t N>
class crowded_log {
 public:
  using log_type = typename Kind::template log<N, interrupted_platform>;
  using entry = typename Kind::entry;
  struct right {
    const crowded_log* log;
    bool operator()(const entry& found, std::uint64_t sequence) const {
      return Kind::is_right(found, log->begun_.at(static_cast<std::size_t>(sequence)), sequence);
    }
  };
  using reading_type = reading<typename log_type::reader_type, right>;

  explicit crowded_log(std::size_t entries) : log_{make_log<log_type>(entries)} {}

  /// Makes an append, and calls `meanwhile` before one of its steps. Returns false when it has no such step.
  bool append(std::uint64_t step, const std::function<void()>& meanwhile) {
    const std::uint64_t number = 1'000 + appends_++;
    if (step == at_number) meanwhile();
    begun_.push_back(number);
    const auto do_it = [&] { log_->append(entry::of(number)); };
    if (step != at_number) return interrupt(do_it, step, meanwhile);
    do_it();
    return true;
  }
  void append(std::uint64_t count = 1) {
    for (; count > 0; --count) append(at_number, [] {});
  }

  std::uint64_t begun() const { return begun_.size(); }
  reading_type reader() const { return reading_type{log_->reader(), right{this}}; }

 private:
  std::unique_ptr<log_type> log_;
  std::vector<std::uint64_t> begun_;
  std::uint64_t appends_ = 0;
};

/// Returns how many entries are lost to readers that keep up, when a producer stops before this step and others
/// append `more` entries. For less than a lap the readers wait for its entry. Then the entry is lost; and once the
/// producer owns its slot, so are the later entries that fall to this slot.
std::uint64_t lost_behind_stopped(std::uint64_t entries, std::uint64_t step, std::uint64_t more) {
  if (step == at_number || more < entries) return 0;
  return step < at_first_word ? 1 : 1 + more / entries;
}

/// A log and a reader that keeps up with it.
template <class Log>
struct stopped_producer {
  /// Makes an append that stops before a step while others append `more` entries. Returns false when it has no such
  /// step.
  bool stop(std::uint64_t step, std::uint64_t more) {
    std::array<typename Log::entry, 30> buffer;
    const std::uint64_t hole = prompt.next();
    return log.append(step, [&] {
      for (std::uint64_t appended = 1; appended <= more; ++appended) {
        log.append();
        prompt.read(buffer);
        if (step == at_number) continue;
        CHECK((prompt.next() == hole) == (appended < entries));  // for a lap, and no longer
        if (appended < entries) CHECK(prompt.reader().has_new());
      }
    });
  }
  void append(std::uint64_t count) {
    for (read_all(prompt, log.begun()); count > 0; --count) {
      log.append();
      read_all(prompt, log.begun());
    }
  }

  Log& log;
  std::uint64_t entries;
  typename Log::reading_type prompt = log.reader();
};

/// Stops a producer twice in the same slot. The second time the slot names a dropped entry already.
template <class Kind, std::size_t N>
bool stop_producer_twice(std::size_t entries, std::uint64_t step, std::uint64_t more) {
  crowded_log<Kind, N> log{entries};
  auto lazy = log.reader();
  stopped_producer<crowded_log<Kind, N>> scene{log, entries};
  INFO(entries, " entries, stopped before step ", step, " for ", more, " appends");
  for (std::uint64_t time = 1; time <= 2; ++time) {
    scene.append(2 * entries - log.begun() % entries);
    if (!scene.stop(step, more)) return false;
    scene.append(entries);
    CHECK(scene.prompt.lost() == time * lost_behind_stopped(entries, step, more));
  }
  read_all(lazy, log.begun());
  return true;
}

}  // namespace

TEST_CASE_TEMPLATE(
    "[A97][A98] a producer that is stopped at any step of an append loses its own entry and those that fall to its "
    "slot, all counted; readers get all others, and wait for less than a lap",
    Kind, EVERY_LOG_OF_SEVERAL) {
  std::uint64_t stopped = 0;
  with_each_small_size([&]<std::size_t N>(std::size_t entries) {
    for (std::uint64_t more = 0; more <= 3 * entries + 1; ++more) {
      for (std::uint64_t step = 0; stop_producer_twice<Kind, N>(entries, step, more); ++step) ++stopped;
    }
  });
  CHECK(stopped > 100);
}

TEST_CASE_TEMPLATE("[A98] readers wait for a dropped entry until it is known to be dropped, and then it is lost", Kind,
                   EVERY_LOG_OF_SEVERAL) {
  with_each_small_size([]<std::size_t N>(std::size_t entries) {
    std::uint64_t steps = 0;
    for (std::uint64_t step = at_look;; ++step) {
      crowded_log<Kind, N> log{entries};
      auto reader = log.reader();
      std::vector<typename Kind::entry> buffer(2 * entries);
      bool has_stopped = false;
      log.append(at_first_word, [&] {  // owns its slot for more than a lap
        log.append(entries - 1);
        has_stopped = log.append(step, [&] {
          reader.read(buffer);
          CHECK(reader.lost() == 1);
          CHECK(reader.entries() == entries - 1);
          CHECK_FALSE(reader.read(buffer));
          CHECK(reader.reader().has_new());
        });
        if (has_stopped) read_all(reader, entries + 1);
      });
      if (!has_stopped) break;
      CHECK(reader.lost() == 2);
      ++steps;
    }
    CHECK(steps >= 3);
  });
}

namespace {

/// Appends that interrupt each other at random steps, some of them for laps, and reads in between.
template <class Kind, std::size_t N>
class turmoil {
 public:
  turmoil(std::size_t entries, std::uint64_t seed)
      : log_{entries}, random_{seed}, entries_{entries}, buffer_(2 * entries), readers_{log_.reader(), log_.reader()} {}

  void run(std::uint64_t appends) {
    while (log_.begun() < appends) act(0);
    for (auto& reader : readers_) {
      read_all(reader, log_.begun());
      CHECK(reader.entries() + reader.lost() == log_.begun());
      CHECK(reader.entries() > 0);
    }
  }

 private:
  void act(int depth) {
    if (random_.below(4) == 0) {
      readers_.at(random_.below(readers_.size())).read(buffer_);
    } else if (depth == 5 || random_.below(2) == 0) {
      log_.append();
    } else {
      log_.append(random_.below(10), [this, depth] {
        for (std::uint64_t acts = random_.below(random_.below(3) == 0 ? 3 * entries_ : 3); acts > 0; --acts) {
          act(depth + 1);
        }
      });
    }
  }

  crowded_log<Kind, N> log_;
  random_numbers random_;
  std::size_t entries_;
  std::vector<typename Kind::entry> buffer_;
  std::array<typename crowded_log<Kind, N>::reading_type, 2> readers_;
};

}  // namespace

TEST_CASE_TEMPLATE("[A90][A97][A98] producers that stop each other at random steps leave every entry whole or counted",
                   Kind, EVERY_LOG_OF_SEVERAL) {
  const auto seed = fresh_seed();
  with_each_small_size([seed]<std::size_t N>(std::size_t entries) {
    for (std::uint64_t run = 0; run < 200; ++run) turmoil<Kind, N>{entries, seed + run}.run(100);
  });
}
