// SPDX-License-Identifier: BSL-1.0
//
// Model checks of readers that have nothing but the memory of a log: they learn when the log has ended and where it
// goes on, and miss nothing. And of a directory of such logs.
#include "support/model_check.hpp"

#include <tidemark/log/mapped_log.hpp>
#include <tidemark/log/tools/log_directory.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace {

using platform = tidemark::TIDEMARK_MODEL_PLATFORM;
using payload = platform::var<std::uint64_t>;
using tidemark::log_location;

struct entry {
  std::uint64_t value;
};
using log_type = tidemark::ring_log<entry, std::dynamic_extent, tidemark::log_form::stamped, platform>;
using reader_type = tidemark::mapped_log_reader<entry, platform>;

/// Memory for a log.
template <std::size_t Entries>
struct memory {
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span{words}).first(size); }
  static constexpr std::size_t size = log_type::page_type::bytes_for(Entries);
  std::array<std::max_align_t, size / sizeof(std::max_align_t) + 1> words;
};

/// [A85] [A92] A log is replaced while a reader in another mapping reads it. The reader finds each entry once, in
/// order, and what was written before it, and goes on in the next log only when it has read the first one to its end.
template <std::size_t Entries, std::uint64_t Before>
struct goes_on : model::suite<2> {
  static constexpr std::uint64_t all = Before + 1;
  memory<Entries> first;
  memory<2> second;
  log_type old{first.bytes(), {.type = 5}};
  std::optional<log_type> next;
  std::optional<reader_type> reader = reader_type::open(first.bytes(), 5).reader;
  std::array<payload, all> data;
  std::uint64_t read = 0;
  std::uint64_t lost = 0;

  void thread(unsigned index) {
    if (index == 1) {
      for (int times = 0; times < 3; ++times) look();
      return;
    }
    for (std::uint64_t n = 0; n < Before; ++n) append(old, n);
    next.emplace(second.bytes(), tidemark::ring_log_options{.type = 5, .first_sequence = Before});
    old.end_at(log_location{7});
    append(*next, Before);
  }
  void append(log_type& to, std::uint64_t number) {
    data[number].store(number + 100);
    to.append({number + 100});
  }
  void look() {
    if (const auto place = reader->next_log()) {
      MODEL_REQUIRE(*place == log_location{7});
      MODEL_REQUIRE(reader->next_sequence() == Before);
      MODEL_REQUIRE(reader->follow(second.bytes()) == tidemark::log_fault::none);
    }
    std::array<entry, 2> buffer;
    const auto batch = reader->read(buffer);
    lost += batch.lost;
    for (const entry& each : batch.entries) {
      MODEL_REQUIRE(each.value == 100 + lost + read);
      MODEL_REQUIRE(data[lost + read].load() == each.value);
      ++read;
    }
  }
  void after() {
    for (int times = 0; times < 6; ++times) look();
    MODEL_REQUIRE(read + lost == all);
    MODEL_REQUIRE(lost == 0 || Before > Entries);
    MODEL_REQUIRE(!reader->next_log());
  }
};

// ---- the directory --------------------------------------------------------------------------------------------------

using tidemark::fence_log_entry;
using tidemark::fence_log_type;
using tidemark::queue_id;
using record = tidemark::detail::log_record<platform>;
using directory = tidemark::detail::log_directory<platform>;
using directory_reader = tidemark::detail::log_directory_reader<platform>;
using queue_log_type = tidemark::ring_log<fence_log_entry, std::dynamic_extent, tidemark::log_form::stamped, platform>;

/// A directory and the memory of its logs, of two entries each.
template <std::size_t Records, std::size_t Logs>
struct shared_stand {
  static constexpr std::size_t log_bytes = (queue_log_type::page_type::bytes_for(2) + tidemark::cache_line - 1) /
                                           tidemark::cache_line * tidemark::cache_line;

  std::array<record, Records> records;
  alignas(tidemark::cache_line) std::array<std::byte, Logs * log_bytes> memory;
  directory writes{records, memory, 9, 1};
  directory_reader reads{records, memory};
  std::array<std::optional<queue_log_type>, 2> logs;
  std::array<payload, 4> data;
  std::uint64_t read = 0;
  std::uint64_t lost = 0;

  log_location make(std::size_t which, const directory::place& at, std::uint64_t first) {
    logs[which].emplace(at.memory, tidemark::ring_log_options{.type = 2, .first_sequence = first});
    at.tell_made();
    return at.at;
  }
  void append(std::size_t which, std::uint64_t number) {
    data[number].store(number + 100);
    logs[which]->append({.fence_value = number + 100});
  }
  directory::place take() { return writes.take(queue_id{3}, fence_log_type::signal, 2); }

  void look() {
    reads.look();
    MODEL_REQUIRE(reads.logs() <= 1);
    if (reads.logs() == 0) return;
    MODEL_REQUIRE(reads.at(0).queue == queue_id{3} && reads.at(0).writer == 9);
    std::array<fence_log_entry, 2> buffer;
    const auto batch = reads.read(0, buffer);
    lost += batch.lost;
    for (const fence_log_entry& each : batch.entries) {
      MODEL_REQUIRE(each.fence_value == 100 + lost + read);
      MODEL_REQUIRE(data[lost + read].load() == each.fence_value);
      ++read;
    }
  }
};

/// [A85] [A92] A reader finds a log when it is made, and goes on in the one that replaces it: each entry once, in
/// order, and what was written before it.
struct is_found : model::suite<2>, shared_stand<2, 2> {
  void thread(unsigned index) {
    if (index == 1) {
      for (int times = 0; times < 2; ++times) look();
      return;
    }
    make(0, take(), 0);
    append(0, 0);
    const log_location next = make(1, take(), 1);
    logs[0]->end_at(next);
    append(1, 1);
  }
  void after() {
    for (int times = 0; times < 4; ++times) look();
    MODEL_REQUIRE(read == 2 && lost == 0);
  }
};

/// [A85] [A92] The same, and a reader of a third process reads, too. It has its own numbers, and disturbs nobody.
struct is_found_by_two : model::suite<3>, shared_stand<2, 2> {
  directory_reader other{records, memory};
  std::uint64_t other_read = 0;

  void look_elsewhere() {
    other.look();
    if (other.logs() == 0) return;
    std::array<fence_log_entry, 2> buffer;
    const auto batch = other.read(0, buffer);
    MODEL_REQUIRE(batch.lost == 0);
    for (const fence_log_entry& each : batch.entries) {
      MODEL_REQUIRE(each.fence_value == 100 + other_read);
      MODEL_REQUIRE(data[other_read].load() == each.fence_value);
      ++other_read;
    }
  }
  void thread(unsigned index) {
    if (index == 1) return look();
    if (index == 2) return look_elsewhere();
    make(0, take(), 0);
    append(0, 0);
    logs[0]->end_at(make(1, take(), 1));
    append(1, 1);
  }
  void after() {
    for (int times = 0; times < 4; ++times) {
      look();
      look_elsewhere();
    }
    MODEL_REQUIRE(read == 2 && lost == 0 && other_read == 2);
  }
};

/// [A85] [A92] A queue is destroyed, and another one has its number. The reader reads the entries of both, although the
/// log of the first one names no next log, and the numbers of the entries begin anew.
struct is_made_anew : model::suite<2>, shared_stand<2, 2> {
  void thread(unsigned index) {
    if (index == 1) {
      for (int times = 0; times < 2; ++times) look();
      return;
    }
    make(0, take(), 0);
    append(0, 0);
    MODEL_REQUIRE(writes.give_back(queue_id{3}));
    make(1, take(), 0);
    append(1, 1);
  }
  void after() {
    for (int times = 0; times < 4; ++times) look();
    MODEL_REQUIRE(read == 2 && lost == 0);
  }
};

/// [A92] The memory of a log is given out again while a reader reads it. It reads what was appended, or nothing.
struct is_taken_back : model::suite<2>, shared_stand<1, 1> {
  void before() {
    make(0, take(), 0);
    append(0, 0);
  }
  void thread(unsigned index) {
    if (index == 1) {
      for (int times = 0; times < 2; ++times) look();
      return;
    }
    append(0, 1);
    MODEL_REQUIRE(writes.give_back(queue_id{3}));
    MODEL_REQUIRE(static_cast<bool>(take()));  // and is never made
  }
  void after() {
    look();
    look();
    MODEL_REQUIRE(read + lost <= 2);
    MODEL_REQUIRE(reads.logs() == 0);
  }
};

/// [A92] The words of a log that is read are overwritten by those of the next one in the same memory. A reader that
/// finds one of these finds that the memory is the next one's. What it reads of a log that is still there is whole.
template <std::size_t Words>
struct is_used_again : model::suite<2> {
  using word = platform::atomic<std::uint64_t>;
  record told;
  std::array<word, Words> memory;
  payload data;

  void put(std::uint64_t number) {
    told.withdraw();
    for (word& each : memory) tidemark::detail::store_log_word<platform>(each, number);
    told.put({.number = number, .offset = number * 64, .bytes = number, .queue = queue_id{7}, .type = 2});
    data.store(number);
    tidemark::log_place<word>{{}, log_location{number}, &told.made}.tell_made();
  }
  void before() {
    for (word& each : memory) each.store(0, std::memory_order_relaxed);
    told.put({.number = 1, .offset = 64, .bytes = 1, .queue = queue_id{7}, .type = 2});
    tidemark::log_place<word>{{}, log_location{1}, &told.made}.tell_made();
    for (word& each : memory) tidemark::detail::store_log_word<platform>(each, 1);
  }
  void thread(unsigned index) {
    if (index == 0) return put(2);
    const auto note = told.look();
    if (!note) return;
    MODEL_REQUIRE(note->offset == note->number * 64 && note->bytes == note->number);
    std::array<std::uint64_t, Words> copy;
    for (std::size_t i = 0; i < Words; ++i) copy[i] = tidemark::detail::load_log_word<platform>(memory[i]);
    if (!told.is_still(note->number)) return;
    for (const std::uint64_t each : copy) MODEL_REQUIRE(each == note->number);
    if (note->number == 2) MODEL_REQUIRE(data.load() == 2);
  }
};

}  // namespace

int main(int argc, char** argv) {
  return model::run(argc, argv,
                    std::vector<model::check>{
                        model::make_check<goes_on<2, 2>, "goes_on">(),
                        model::make_check<goes_on<2, 3>, "goes_on.overwritten">(),
                        model::make_check<is_found, "is_found">(),
                        model::make_check<is_found_by_two, "is_found_by_two">(),
                        model::make_check<is_made_anew, "is_made_anew">(),
                        model::make_check<is_taken_back, "is_taken_back">(),
                        model::make_check<is_used_again<1>, "is_used_again">(),
                        model::make_check<is_used_again<2>, "is_used_again.two_words">(),
                    });
}
