// SPDX-License-Identifier: BSL-1.0
// A consumer of shared_timeline.
//
// It reads what was published, in order: up to the value of `produced`, and never beyond it. If the producer dies, it
// waits for the next one, reads the rest of the old file, and goes on in the new one.

#pragma once

#include "crew.hpp"
#include "data_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace shared_timeline {

class consumer {
 public:
  explicit consumer(const options& chosen)
      : number_{chosen.consumer},
        who_{"consumer " + std::to_string(number_)},
        own_{attach<signaller>(consumed_name(chosen.name, number_), fence_choices(who_))},
        produced_{chosen.name, who_},
        record_{chosen.trace, who_},
        next_{own_.current_value()} {}

  int run() {
    say(who_, "is there, as process ", ::getpid(),
        next_ == 0 ? "" : ", and goes on behind entry " + std::to_string(next_));
    bool goes_on = true;
    std::uint64_t begun = recording::now();
    while (goes_on && !ending::is_wanted()) {
      const wait_status status = produced_->wait_for(next_ + 1, a_while);
      if (status == wait_status::timeout) continue;
      if (status == wait_status::reached) record_.waited(produced_id, next_ + 1, begun);
      goes_on = status == wait_status::reached ? read() : wait_for_producer();
      begun = recording::now();
    }
    say(who_, "ends behind entry ", next_, ": ", items_, " items, ", wrong_, " wrong, ", missed_, " entries missed");
    return wrong_ == 0 ? 0 : 1;
  }

 private:
  /// Returns false if there will be none.
  bool wait_for_producer() {
    if (produced_->signallers() == tidemark::shared_signallers::closed) {
      say(who_, "the producer has ended");
      return false;
    }
    if (produced_->signallers() != tidemark::shared_signallers::died) return true;
    const std::uint64_t last = produced_->current_value();
    say(who_, "the producer has died behind entry ", last, ": waits for the next one");
    const auto is_died = [&] { return produced_->signallers() == tidemark::shared_signallers::died; };
    // One that has published something and is dead again has been there, too.
    while (!ending::is_wanted() && is_died() && !produced_->is_reached(last + 1)) std::this_thread::sleep_for(5ms);
    if (!ending::is_wanted()) say(who_, "there is a producer again");
    return true;
  }

  // ---- reading

  /// Reads what is published. Returns false if nothing more will come; so do change_file() and greet().
  bool read() {
    const std::uint64_t published = produced_->current_value();
    // After the look at the value: what was published up to it is in this file, unless another one is there by now.
    if (!data_ || !data_->is_newest(produced_.path())) return change_file();
    read_up_to(published);
    return true;
  }

  void read_up_to(std::uint64_t published) {
    std::array<entry, 16> buffer;
    while (log_ && next_ < published && log_->next_sequence() < published) {
      const std::uint64_t most = std::min<std::uint64_t>(buffer.size(), published - log_->next_sequence());
      const auto [entries, lost, first] = log_->read(std::span(buffer).first(place_of(most)));
      if (entries.empty() && lost == 0) return;
      for (std::size_t i = 0; i < entries.size(); ++i) {
        if (first + i < next_) continue;
        miss_up_to(first + i);
        take(entries[i]);
        advance_to(next_ + 1);
      }
    }
  }

  void take(const entry& told) {
    if (told.what != news::item) return;
    const std::uint64_t begun = recording::now();
    const std::span<const std::byte> all = data_->items();
    const bool is_inside = told.bytes <= all.size() && told.offset <= all.size() - told.bytes;
    if (!is_inside || checksum_of(all.subspan(place_of(told.offset), place_of(told.bytes))) != told.checksum) {
      if (++wrong_ == 1) say(who_, "WRONG: entry ", next_ + 1, " is not what was published");
    }
    ++items_;
    record_.worked("check", begun);
  }

  void advance_to(std::uint64_t next) {
    next_ = next;
    own_.signal(next);  // gives the space back
    record_.signalled(consumed_id(number_), next);
  }

  void miss_up_to(std::uint64_t next) {
    if (next <= next_) return;
    say(who_, "has missed the entries ", next_ + 1, " to ", next);
    missed_ += next - next_;
    advance_to(next);
  }

  // ---- the producer's file

  /// Reads the rest of the old file, and tells the producer of the new one that this consumer is there.
  bool change_file() {
    std::optional<data_file> newer = data_file::open(produced_.path(), true);
    if (!newer) return wait_for_producer();  // it was killed before it had made one
    read_up_to(newer->place().first());
    data_.emplace(std::move(*newer));
    auto opened = item_log_reader::open(data_->log(), log_type);
    if (!opened) throw std::runtime_error("there is no log in '" + produced_.path() + "'");
    log_ = opened.reader;
    return greet();
  }

  bool greet() {
    meeting& place = data_->place();
    if (!place.is_answered(number_, hello_)) place.greet(number_, hello_);
    while (!place.is_answered(number_, hello_)) {
      if (ending::is_wanted()) return true;
      // The producer publishes that it has answered.
      const std::uint64_t seen = produced_->current_value();
      const bool is_lost = produced_->wait_for(seen + 1, a_while) == wait_status::lost;
      if (!is_lost && data_->is_newest(produced_.path())) continue;
      data_.reset();  // nobody answers here any more
      log_.reset();
      return !is_lost || wait_for_producer();
    }
    if (next_ == 0) {
      advance_to(place.from(number_));  // the first time: nothing is missed
    } else {
      miss_up_to(place.from(number_));
    }
    return true;
  }

  const std::size_t number_;
  const std::string who_;
  const std::uint64_t hello_ = static_cast<std::uint64_t>(::getpid()) << 32 | (recording::now() & 0xFFFF'FFFF) | 1;
  signaller own_;
  produced_fence<waiter> produced_;
  recording record_;
  std::optional<data_file> data_;
  std::optional<item_log_reader> log_;
  std::uint64_t next_;  // how many entries it has read or missed
  std::uint64_t items_ = 0;
  std::uint64_t wrong_ = 0;
  std::uint64_t missed_ = 0;
};

}  // namespace shared_timeline
