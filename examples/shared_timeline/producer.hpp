// SPDX-License-Identifier: BSL-1.0
// The producer of shared_timeline.
//
// An upload ring gives out the space of the items, and follows a timeline_group: the least value of the consumers that
// are there. One that has died, or has ended, leaves the group, and one that comes joins it. So the ring waits for
// nobody who is gone, and gives no byte out anew that somebody may read.

#pragma once

#include "crew.hpp"
#include "data_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>

namespace shared_timeline {

class producer {
 public:
  explicit producer(const options& chosen)
      : options_{chosen},
        produced_{chosen.name, who},
        published_{produced_->current_value()},
        first_{published_},
        data_{data_file::make(produced_.path(), published_)},
        log_{data_.log(), {.type = log_type, .first_sequence = published_}},
        record_{chosen.trace, std::string(who)} {
    given_out_.signal(published_);
    const std::optional<data_file> old = data_file::open(produced_.path(), false);
    for (std::size_t k = 1; k <= consumer_count; ++k) {
      consumer& each = at(k);
      each.fence = attach<waiter>(consumed_name(chosen.name, k), fence_choices(who));
      if (each.fence.signallers() != tidemark::shared_signallers::present) continue;
      // It reads what is left of the old file, and then this one, from the first entry on.
      join(each);
      if (old) data_.place().take_over(k, old->place());
    }
    data_.publish(produced_.path());
  }

  int run() {
    const std::string process = std::to_string(::getpid());
    if (first_ == 0) say(who, "begins, as process ", process);
    if (first_ != 0) say(who, "goes on behind entry ", first_, ", as process ", process);
    tell(news::begins, static_cast<std::uint64_t>(::getpid()));
    auto next = std::chrono::steady_clock::now();
    for (std::size_t made = 0; !ending::is_wanted() && (options_.items == 0 || made < options_.items); ++made) {
      keep_pace(next);
      meet_consumers();
      if (!make_item(options_.dies != death::none && made == 9)) break;
    }
    while (readers_.current_value() < published_ && !ending::is_urgent()) {  // all who are there read all of it
      wait_for_space();
      meet_consumers();
    }
    say(who, "ends behind entry ", published_);
    return 0;
  }

 private:
  static constexpr std::string_view who = "producer";
  static constexpr std::size_t alignment = 64;

  /// A consumer, as the producer knows it. The blocks keep addresses of what stands before them, so it is not moved.
  struct consumer {
    waiter fence;
    std::optional<tidemark::latched_fence<waiter>> followed;
    std::optional<tidemark::looked_at<tidemark::latched_fence<waiter>>> looked;
    std::optional<tidemark::timeline_group::membership> member;

    std::uint64_t reached() const { return std::max(member->from(), followed->current_value()); }
  };

  consumer& at(std::size_t k) { return consumers_[k - 1]; }

  // ---- consumers that come and go

  /// From now on nothing is given out anew that this one has not read.
  void join(consumer& one) {
    one.followed.emplace(one.fence);
    one.looked.emplace(*one.followed, 1ms);
    one.member.emplace(readers_, *one.looked);
  }
  void leave(consumer& one) {
    one.member.reset();
    one.looked.reset();
    one.followed.reset();
  }

  void meet_consumers() {
    for (std::size_t k = 1; k <= consumer_count; ++k) {
      consumer& one = at(k);
      if (one.member && one.followed->is_poisoned()) {
        const bool has_died = one.fence.signallers() != tidemark::shared_signallers::closed;
        leave(one);
        say(who, "consumer ", k, has_died ? " has died" : " has ended", " behind entry ", one.fence.current_value(),
            ": goes on without it");
        tell(news::leaves, k);
      }
      if (const std::uint64_t number = data_.place().unanswered(k)) welcome(k, number);
    }
  }

  /// One that was not missed goes on where its predecessor has stopped.
  void welcome(std::size_t k, std::uint64_t number) {
    consumer& one = at(k);
    const bool was_missed = !one.member;
    if (was_missed) join(one);
    const std::uint64_t from = one.reached() == UINT64_MAX ? one.member->from() : one.reached();
    data_.place().answer(k, number, from);
    say(who, "consumer ", k, " is there: gets what comes behind entry ", from);
    tell(news::joins, k);
  }

  // ---- items

  /// Writes an item and publishes it. Returns false if it is to end.
  bool make_item(bool dies) {
    const std::uint64_t bytes = bytes_of_item(published_);
    tidemark::upload_part part;
    while (!has_room(log_entries / 2) || !(part = ring_.try_allocate(bytes, alignment))) {
      if (ending::is_wanted()) return false;
      wait_for_space();
      meet_consumers();
    }
    const std::uint64_t begun = recording::now();
    const std::span<std::byte> memory = data_.items().subspan(place_of(part.offset), place_of(bytes));
    const std::uint64_t seed = mixed(published_ ^ static_cast<std::uint64_t>(::getpid()) << 32);
    write_words(memory, seed, 0, memory.size() / 2);
    if (dies && options_.dies == death::half) std::raise(SIGKILL);
    write_words(memory, seed, memory.size() / 2, memory.size());
    entry made{news::item, static_cast<std::uint64_t>(::getpid()), part.offset, bytes, checksum_of(memory)};
    record_.worked("write", begun);
    if (dies && options_.dies == death::unsignalled) {
      made.checksum = ~made.checksum;  // so that whoever takes it finds it wrong
      log_.append(made);
      std::raise(SIGKILL);
    }
    publish(made);
    return true;
  }

  /// Tells what has happened, if the log has room for it.
  void tell(news what, std::uint64_t whom) {
    if (has_room(log_entries)) publish({.what = what, .who = whom});
  }
  void publish(const entry& told) {
    log_.append(told);
    const std::uint64_t value = ++published_;
    if (told.what == news::item) ring_.retire(value);
    given_out_.signal(value);
    produced_->signal(value);  // a store and a load, unless a consumer is due
    record_.signalled(produced_id, value);
  }

  /// Whether all who read have read what an entry more would overwrite in a log of so many.
  bool has_room(std::uint64_t entries) const { return published_ + 1 - readers_.current_value() <= entries; }

  /// Sleeps until the consumer that is furthest behind has read an entry more.
  void wait_for_space() {
    const std::uint64_t target = readers_.current_value() + 1;
    for (std::size_t k = 1; k <= consumer_count; ++k) {
      consumer& one = at(k);
      if (!one.member || one.reached() >= target) continue;
      const std::uint64_t begun = recording::now();
      if (one.followed->wait_for(target, a_while) == wait_status::reached)
        record_.waited(consumed_id(k), target, begun);
      return;
    }
  }

  void keep_pace(std::chrono::steady_clock::time_point& next) {
    if (options_.rate == 0) return;
    const auto now = std::chrono::steady_clock::now();
    // It does not catch up on more.
    next = std::max(next + std::chrono::nanoseconds{1s} / static_cast<std::int64_t>(options_.rate), now - 100ms);
    while (!ending::is_wanted() && std::chrono::steady_clock::now() < next) {
      std::this_thread::sleep_until(std::min(next, std::chrono::steady_clock::now() + a_while));
      meet_consumers();
    }
  }

  const options& options_;
  produced_fence<signaller> produced_;
  std::uint64_t published_;  // how many entries
  const std::uint64_t first_;
  data_file data_;
  item_log log_;
  recording record_;
  tidemark::progress_fence given_out_;
  tidemark::timeline_group readers_{given_out_};
  std::array<consumer, consumer_count> consumers_;
  tidemark::upload_ring<tidemark::timeline_group> ring_{readers_, {.capacity = item_memory}};
};

}  // namespace shared_timeline
