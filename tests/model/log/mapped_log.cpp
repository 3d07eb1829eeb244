// SPDX-License-Identifier: BSL-1.0
//
// Model checks of readers that have nothing but the memory of a log: they learn when the log has ended and where it
// goes on, and miss nothing.
#include "support/model_check.hpp"

#include <tidemark/log/mapped_log.hpp>

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

}  // namespace

int main(int argc, char** argv) {
  return model::run(argc, argv,
                    std::vector<model::check>{
                        model::make_check<goes_on<2, 2>, "goes_on">(),
                        model::make_check<goes_on<2, 3>, "goes_on.overwritten">(),
                    });
}
