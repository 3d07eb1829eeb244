// SPDX-License-Identifier: BSL-1.0
//
// A hostile neighbour: whoever may write the memory of a shared fence writes nonsense into it, while threads of several
// processes wait, signal, look, open and close. They get wrong values and wrong wake-ups, but they do not crash, they
// write nowhere else, and all their calls end.
//
// TIDEMARK_HOSTILE_SECONDS says how long each kind of fence is tried; otherwise it is about a second.
#include <tidemark/fence/shared_fence.hpp>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <tidemark/fence/fence.hpp>

#include "support/processes.hpp"
#include "support/random.hpp"
#include "support/shared_memory.hpp"
#include "support/survives_kills.hpp"
#include "support/threads_after_fork.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace tidemark;
using namespace std::chrono_literals;

namespace {

constexpr shared_options options{.waiter_slots = 6, .attachments = 12, .label = "victim", .patience = 2min};

template <class Platform, writers Signallers>
struct kind {
  static constexpr writers signallers = Signallers;
  using layout = detail::shared_layout<Platform>;
  using signaller = basic_shared_fence<Platform, Signallers, shared_rights::signal>;
  using waiter = basic_shared_fence<Platform, Signallers, shared_rights::wait>;
  using reader = basic_shared_fence<Platform, Signallers, shared_rights::look>;
};
using several = kind<symmetric_shared_platform, writers::several>;
using several_asymmetric = kind<shared_platform, writers::several>;
using one = kind<shared_platform, writers::one>;

/// Where a word never has the value any more with which a thread wants to sleep.
struct restless_parking : detail::shared_parking {
  static bool park(park_word&, std::uint32_t, deadline) noexcept {
    std::this_thread::yield();
    return true;
  }
};
struct restless_platform
    : detail::platform_of<detail::symmetric_barriers, restless_parking, detail::native_double_word> {};

std::chrono::seconds wanted_seconds() {
  const char* const wanted = std::getenv("TIDEMARK_HOSTILE_SECONDS");
  return std::chrono::seconds{wanted != nullptr ? std::strtoll(wanted, nullptr, 10) : 1};
}

// ---- the neighbour --------------------------------------------------------------------------------------------------

/// One of the two files, mapped by the neighbour at an address of its own.
class mapped_file {
 public:
  mapped_file(int descriptor, std::size_t bytes) : bytes_{bytes} {
    void* const made = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    REQUIRE(made != MAP_FAILED);
    at_ = static_cast<std::byte*>(made);
  }
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;
  ~mapped_file() { ::munmap(at_, bytes_); }

  std::size_t size() const { return bytes_; }
  std::byte* at(std::size_t offset) const { return at_ + offset; }
  template <class Word>
  std::atomic_ref<Word> word(std::size_t offset) const {
    return std::atomic_ref<Word>{*reinterpret_cast<Word*>(at_ + offset)};
  }

 private:
  std::size_t bytes_;
  std::byte* at_ = nullptr;
};

/// Words that somebody reads.
struct region {
  const mapped_file* file;
  std::size_t begin;
  std::size_t end;
};

template <class Kind>
class neighbour {
 public:
  using layout = typename Kind::layout;

  explicit neighbour(const shared_files& files)
      : shape_{layout::shape_of(options, Kind::signallers)},
        values_{files.values(), detail::value_file_size(shape_)},
        waiters_{files.waiters(), detail::waiter_file_size(shape_)},
        descriptor_{files.waiters()} {
    std::memcpy(value_header_.data(), values_.at(0), value_header_.size());
    std::memcpy(waiter_header_.data(), waiters_.at(0), waiter_header_.size());
    for (const region& each : padding()) {
      for (std::size_t at = each.begin; at < each.end; ++at) *each.file->at(at) = untouched;
    }
  }

  /// Overwrites one word.
  void write(random_numbers& random) {
    const region& where = regions_[random.below(regions_.size())];
    const bool is_short = random.below(3U) == 0;
    const std::size_t bytes = is_short ? 4 : 8;
    const std::size_t at = where.begin + random.below((where.end - where.begin) / bytes) * bytes;
    if (is_short) {
      const auto word = where.file->template word<std::uint32_t>(at);
      word.store(static_cast<std::uint32_t>(nonsense(random, word.load())), std::memory_order_relaxed);
    } else {
      const auto word = where.file->template word<std::uint64_t>(at);
      word.store(nonsense(random, word.load()), std::memory_order_relaxed);
    }
  }
  /// Overwrites a word of one header, so that openings refuse then.
  void write_header(random_numbers& random) {
    const mapped_file& file = random.below(2U) == 0 ? values_ : waiters_;
    const std::size_t at = random.below(sizeof(detail::segment_header) / 4) * 4;
    file.word<std::uint32_t>(at).store(static_cast<std::uint32_t>(nonsense(random, 0)), std::memory_order_relaxed);
  }
  void restore_headers() {
    std::memcpy(values_.at(0), value_header_.data(), value_header_.size());
    std::memcpy(waiters_.at(0), waiter_header_.data(), waiter_header_.size());
  }
  /// Gives the pages back to the system on which threads sleep; they are all 0 then.
  void punch_hole() {
    const auto first = static_cast<off_t>(detail::waiters_in_file);
    const auto bytes = static_cast<off_t>(waiters_.size() - detail::waiters_in_file);
    CHECK(::fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, first, bytes) == 0);
  }
  /// All that is not looked at otherwise: the words that lie between.
  bool is_padding_untouched() const {
    for (const region& each : padding()) {
      for (std::size_t at = each.begin; at < each.end; ++at) {
        if (*each.file->at(at) != untouched) return false;
      }
    }
    return true;
  }
  auto value() const { return values_.word<std::uint64_t>(detail::values_in_file); }

 private:
  using words = typename layout::segment::words_type;
  using signaller_part = typename layout::segment::signallers_type;

  static constexpr std::byte untouched{0xA5};

  static std::size_t in_waiters(std::size_t at) { return at - layout::waiters_at + detail::waiters_in_file; }

  std::array<region, 3> padding() const {
    return {{{&values_, detail::words_at + sizeof(signaller_part), detail::values_in_file},
             {&values_, detail::values_in_file + layout::value_bytes, values_.size()},
             {&waiters_, detail::words_at + sizeof(words), detail::waiters_in_file}}};
  }

  /// Zero, the greatest, indices one beyond, big targets, numbers of attachments, times, and any.
  std::uint64_t nonsense(random_numbers& random, std::uint64_t before) const {
    constexpr std::uint64_t most = UINT64_MAX;
    constexpr std::array<std::uint64_t, 14> chosen{0,
                                                   1,
                                                   most,
                                                   most - 1,
                                                   most / 2,
                                                   most / 2 + 1,
                                                   1ULL << 32,
                                                   most >> 32,
                                                   64,
                                                   65,
                                                   options.waiter_slots,
                                                   options.waiter_slots + 1,
                                                   options.attachments,
                                                   options.attachments + 1};
    const std::uint64_t now = static_cast<std::uint64_t>(
        std::chrono::nanoseconds{std::chrono::steady_clock::now().time_since_epoch()}.count());
    switch (random.below(8U)) {
      case 0:
      case 1:
        return chosen[random.below(chosen.size())];
      case 2:
        return random.below(std::uint64_t{options.attachments} + 2);
      case 3:
        return before + 1;
      case 4:
        return before ^ std::uint64_t{1} << random.below(64U);
      case 5:
        return value().load() + random.below(5U) - 2;
      case 6:
        return now + (random.below(2U) == 0 ? 0 : 3'600'000'000'000);
      default:
        return random.below(most);
    }
  }

  const detail::tree_shape<layout::arity> tree_{options.waiter_slots};
  const detail::segment_shape shape_;
  const mapped_file values_;
  const mapped_file waiters_;
  const int descriptor_;
  std::array<std::byte, sizeof(detail::segment_header)> value_header_{};
  std::array<std::byte, sizeof(detail::segment_header)> waiter_header_{};
  const std::array<region, 8> regions_{{
      {&values_, detail::words_at, detail::words_at + sizeof(signaller_part)},
      {&values_, detail::values_in_file, detail::values_in_file + 8},
      {&waiters_, detail::words_at, detail::words_at + 64},                  // when somebody has looked, and pins
      {&waiters_, detail::words_at + 64, detail::words_at + sizeof(words)},  // records
      {&waiters_, in_waiters(layout::root_at), in_waiters(layout::hold_at) + 8},
      {&waiters_, in_waiters(layout::tree_at), in_waiters(layout::owners_at(tree_))},
      {&waiters_, in_waiters(layout::owners_at(tree_)),
       in_waiters(layout::owners_at(tree_)) + 4 * options.waiter_slots},
      {&waiters_, in_waiters(layout::wakes_at(tree_)), in_waiters(layout::wakes_at(tree_)) + 4 * options.waiter_slots},
  }};
};

// ---- the victims ----------------------------------------------------------------------------------------------------

/// What all processes share.
struct common {
  std::atomic<std::uint32_t> is_over{0};
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> longest{0};  // call, in nanoseconds
  std::atomic<std::uint64_t> opened{0};
  std::atomic<std::uint64_t> refused{0};
};

template <class Call>
void timed(common& all, const Call& call) {
  const auto began = std::chrono::steady_clock::now();
  call();
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - began;
  const auto lasted = static_cast<std::uint64_t>(took.count());
  std::uint64_t before = all.longest;
  while (before < lasted && !all.longest.compare_exchange_weak(before, lasted)) {
  }
  ++all.calls;
}

/// Reads all that it is told.
template <class Fence>
std::size_t listed(const Fence& fence) {
  std::size_t characters = 0;
  fence.for_each_attachment([&](const shared_attachment& each) {
    if (each.index >= options.attachments) std::abort();
    for (const char one_of : each.label) characters += one_of != 0 ? 1U : 0U;
    characters += to_string(each.rights).size();
  });
  return characters;
}

/// Does one of the things that an attachment can do.
template <class Fence>
void use(Fence& fence, random_numbers& random) {
  const std::uint64_t value = fence.current_value();
  const std::chrono::microseconds limit{random.below(300U)};
  switch (random.below(8U)) {
    case 0:
      static_cast<void>(fence.wait_for(UINT64_MAX - random.below(3U), limit));
      break;
    case 1:
      static_cast<void>(fence.is_lost());
      static_cast<void>(to_string(fence.signallers()));
      break;
    case 2:
      fence.look();
      break;
    case 3:
      static_cast<void>(listed(fence));
      break;
    case 4: {
      const latched_fence followed{fence};
      static_cast<void>(followed.wait_for(value + 1, limit));
      break;
    }
    case 5:
    case 6:
      if constexpr (requires { fence.signal(value); }) {
        fence.signal(value == UINT64_MAX ? value : value + 1);
        break;
      }
      [[fallthrough]];
    default:
      static_cast<void>(fence.wait_for(value + random.below(3U), limit));
  }
}

/// Uses one attachment from a thread of its own.
template <class Fence>
void use_until_over(common& all, Fence& fence, std::uint64_t seed) {
  random_numbers random{seed};
  while (all.is_over == 0) timed(all, [&] { use(fence, random); });
}
/// Opens attachments, half of them with guards where there are some, uses each for a moment, and closes it.
template <class Fence>
void open_until_over(common& all, const shared_files& files, std::uint64_t seed) {
  random_numbers random{seed};
  shared_options chosen = options;
  const bool may_have_guards = static_cast<bool>(Fence::template negotiate<death_guards>());
  while (all.is_over == 0) {
    chosen.has_guard = may_have_guards && random.below(2U) == 0;
    auto opened = Fence::open(files, chosen);
    ++(opened ? all.opened : all.refused);
    for (std::uint64_t calls = random.below(30U); opened && calls != 0; --calls) {
      timed(all, [&] { use(opened.fence, random); });
    }
    timed(all, [&] { opened.fence.close(); });
  }
}

/// Another process that lives with the neighbour. It has threads that wait with one attachment, and one that opens.
template <class Kind>
int lives_beside(common& all, const shared_files& files, std::uint64_t seed, std::chrono::seconds limit) {
  alarm(static_cast<unsigned>(limit.count()));
  auto opened = Kind::waiter::open(files, options);
  if (!opened) return 1;
  if (!may_start_threads_after_fork) {
    use_until_over(all, opened.fence, seed);
    return 0;
  }
  std::thread waits{[&] { use_until_over(all, opened.fence, seed); }};
  std::thread waits_too{[&] { use_until_over(all, opened.fence, seed + 1); }};
  open_until_over<typename Kind::waiter>(all, files, seed + 2);
  waits.join();
  waits_too.join();
  return 0;
}

/// Forbids the pages beside the mapping of an attachment, as far as nothing else lies there.
template <class Kind>
class forbidden_margins {
 public:
  explicit forbidden_margins(const typename Kind::signaller& of) {
    const detail::segment_shape shape = Kind::layout::shape_of(options, Kind::signallers);
    const std::size_t bytes = detail::value_file_size(shape) + detail::waiter_file_size(shape);
    auto* const value = const_cast<std::byte*>(static_cast<const std::byte*>(of.value_address()));
    std::byte* const base = value - Kind::layout::value_at;
    for (std::byte* const side : {base - margin, base + bytes}) {
      void* const made =
          ::mmap(side, margin, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
      if (made == side) made_.push_back(made);
    }
  }
  forbidden_margins(const forbidden_margins&) = delete;
  forbidden_margins& operator=(const forbidden_margins&) = delete;
  ~forbidden_margins() {
    for (void* const each : made_) ::munmap(each, margin);
  }

 private:
  static constexpr std::size_t margin = detail::segment_page;
  std::vector<void*> made_;
};

}  // namespace

TYPE_TO_STRING_AS("several", several);
TYPE_TO_STRING_AS("several, asymmetric", several_asymmetric);
TYPE_TO_STRING_AS("one", one);

TEST_CASE_TEMPLATE("whatever a neighbour writes, nobody crashes, writes elsewhere, or comes to no end", Kind, several,
                   several_asymmetric, one) {
  if (!survives_kills<typename Kind::signaller>()) return;
  const auto seed = fresh_seed();
  const std::chrono::seconds seconds = wanted_seconds();
  const watchdog dog{[] { return std::string{"a hostile neighbour"}; }, seconds + 5min};
  random_numbers random{seed};
  const shared_memory memory{sizeof(common)};
  common& all = *::new (memory.here()) common{};
  auto made = Kind::signaller::create(options);
  REQUIRE(made);
  const shared_files& files = made.fence.files();
  std::vector<child_process> children;
  for (std::uint64_t i = 0; i < 2; ++i) {
    const std::uint64_t own_seed = random.below(std::uint64_t{1} << 60);
    children.emplace_back([&] { return lives_beside<Kind>(all, files, own_seed, seconds + 4min); });
  }
  await([&] {  // both are attached
    std::size_t attached = 0;
    made.fence.for_each_attachment([&](const shared_attachment&) { ++attached; });
    return attached >= 3;
  });
  const forbidden_margins<Kind> margins{made.fence};
  neighbour<Kind> writes{files};
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] { use_until_over(all, made.fence, seed + 100 + i); });
  }
  threads.emplace_back([&] { open_until_over<typename Kind::reader>(all, files, seed + 200); });
  threads.emplace_back([&] { open_until_over<typename Kind::waiter>(all, files, seed + 300); });

  const auto end = std::chrono::steady_clock::now() + seconds;
  std::uint64_t written = 0;
  do {
    const std::uint64_t burst = random.below(200U);
    for (std::uint64_t i = 0; i < burst; ++i) writes.write(random);
    written += burst;
    if (random.below(50U) == 0) writes.write_header(random);
    if (random.below(200U) == 0) writes.punch_hole();
    if (random.below(4U) == 0) writes.restore_headers();
    // Now and then it leaves the others time to fall asleep.
    if (random.below(3U) == 0) std::this_thread::sleep_for(std::chrono::microseconds{random.below(2000U)});
  } while (std::chrono::steady_clock::now() < end);
  all.is_over = 1;
  for (std::thread& each : threads) each.join();
  for (child_process& each : children) CHECK(each.wait() == 0);
  CHECK(writes.is_padding_untouched());
  MESSAGE(written << " words written, " << all.calls.load() << " calls, " << all.opened.load() << " openings, "
                  << all.refused.load() << " refused; longest call " << all.longest.load() / 1000 << " us");

  // When it leaves off, attachments that are opened anew are served.
  writes.restore_headers();
  writes.value() = 5;
  const shared_files kept{detail::open_anew(files.values(), O_RDWR), detail::open_anew(files.waiters(), O_RDWR), true};
  made.fence.close();
  auto signaller = Kind::signaller::open(kept, options);
  auto waiter = Kind::waiter::open(kept, options);
  REQUIRE(signaller);
  REQUIRE(waiter);
  std::thread sleeps{[&] { CHECK(waiter.fence.wait(6) == wait_status::reached); }};
  signaller.fence.signal(6);
  sleeps.join();
}

TEST_CASE("a wait ends at its deadline while a neighbour changes the word on which it sleeps all the time") {
  const watchdog dog{[] { return std::string{"a word that changes all the time"}; }};
  auto made = basic_shared_fence<restless_platform, writers::several, shared_rights::signal>::create(options);
  REQUIRE(made);
  CHECK(made.fence.wait_for(1, 2ms) == wait_status::timeout);
  // Another one watches.
  std::thread watches{[&] { CHECK(made.fence.wait_for(1, 20ms) == wait_status::timeout); }};
  CHECK(made.fence.wait_for(1, 2ms) == wait_status::timeout);
  watches.join();
}
