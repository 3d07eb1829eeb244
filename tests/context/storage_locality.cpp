// SPDX-License-Identifier: BSL-1.0
//
// Context storage: which cache lines its functions touch in a context, and that contexts keep off each other's.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <tidemark/context/storage.hpp>

#include "support/blocks.hpp"

using namespace testing;
using tidemark::object_id;

namespace {

/// Notes where a thread loads and stores.
struct noting_platform : tidemark::native_platform {
  static inline thread_local std::vector<const void*>* loaded = nullptr;
  static inline thread_local std::vector<const void*>* stored = nullptr;
  static void note(std::vector<const void*>* to, const void* where) {
    if (to != nullptr) to->push_back(where);
  }

  template <class T>
  struct atomic : tidemark::native_platform::atomic<T> {
    using base = tidemark::native_platform::atomic<T>;
    using base::base;
    T load(std::memory_order order) const noexcept {
      note(loaded, this);
      return base::load(order);
    }
    void store(T value, std::memory_order order) noexcept {
      note(stored, this);
      base::store(value, order);
    }
    T exchange(T value, std::memory_order order) noexcept {
      note(stored, this);
      return base::exchange(value, order);
    }
    T fetch_add(T value, std::memory_order order) noexcept {
      note(stored, this);
      return base::fetch_add(value, order);
    }
    T fetch_sub(T value, std::memory_order order) noexcept {
      note(stored, this);
      return base::fetch_sub(value, order);
    }
    T fetch_and(T value, std::memory_order order) noexcept {
      note(stored, this);
      return base::fetch_and(value, order);
    }
    template <class... Orders>
    bool compare_exchange_weak(T& expected, T value, Orders... orders) noexcept {
      note(stored, this);
      return base::compare_exchange_weak(expected, value, orders...);
    }
    template <class... Orders>
    bool compare_exchange_strong(T& expected, T value, Orders... orders) noexcept {
      note(stored, this);
      return base::compare_exchange_strong(expected, value, orders...);
    }
  };
  template <class T>
  struct var : tidemark::native_platform::var<T> {
    using base = tidemark::native_platform::var<T>;
    using base::base;
    T load() const noexcept {
      note(loaded, this);
      return base::load();
    }
    void store(T value) noexcept {
      note(stored, this);
      base::store(value);
    }
  };
};

using noting_storage = tidemark::context_storage<test_maker, counting_source, noting_platform>;
using context_type = noting_storage::context;
using lines_type = std::set<std::uintptr_t>;

std::uintptr_t line_of(const void* of) { return reinterpret_cast<std::uintptr_t>(of) / tidemark::cache_line; }
lines_type lines_of(const std::vector<const void*>& places) {
  lines_type lines;
  for (const void* const each : places) lines.insert(line_of(each));
  return lines;
}
/// The lines of so many bytes.
lines_type lines_of(const void* from, std::size_t bytes) {
  lines_type lines;
  for (std::size_t i = 0; i < bytes; ++i) lines.insert(line_of(static_cast<const std::byte*>(from) + i));
  return lines;
}
bool have_common(const lines_type& one, const lines_type& other) {
  return std::any_of(one.begin(), one.end(), [&](std::uintptr_t each) { return other.count(each) != 0; });
}

/// Calls `body`, and returns the lines that it has loaded from and stored to.
template <class Body>
std::pair<lines_type, lines_type> touched_by(const Body& body) {
  std::vector<const void*> loads;
  std::vector<const void*> stores;
  noting_platform::loaded = &loads;
  noting_platform::stored = &stores;
  body();
  noting_platform::loaded = nullptr;
  noting_platform::stored = nullptr;
  return {lines_of(loads), lines_of(stores)};
}

struct stand {
  explicit stand(std::uint32_t max_objects = 256)
      : storage{noting_storage::make(test_maker{driver}, {.max_contexts = 8, .max_objects = max_objects}, {&ledger})} {
    REQUIRE(storage);
  }
  object_id create(test_kind of, const test_description& given, std::initializer_list<object_id> needed = {}) {
    const auto made = storage->create(of, given, needed);
    REQUIRE(made);
    return made.object;
  }

  test_driver driver;
  block_ledger ledger;
  std::optional<noting_storage> storage;
};

}  // namespace

TEST_CASE("[D3][D21] a look-up loads three words, and none of them from a line that another context writes") {
  test_driver driver;
  block_ledger ledger;
  for (const std::uint32_t objects : {10u, 65'536u}) {
    auto storage = noting_storage::make(test_maker{driver}, {.max_contexts = 3, .max_objects = objects}, {&ledger});
    REQUIRE(storage);
    auto first = storage->open();
    auto second = storage->open();
    const auto made = storage->create(test_kind::resource, {});
    for (auto* const each : {&first.context, &second.context}) {
      each->begin_recording();
      CHECK(each->use(made.object));
    }
    std::array<std::vector<const void*>, 2> loads;
    noting_platform::loaded = &loads[0];
    const void* const found_first = first.context.find(made.object);
    noting_platform::loaded = &loads[1];
    const void* const found_second = second.context.find(made.object);
    noting_platform::loaded = nullptr;
    CHECK(found_first != nullptr);
    CHECK(found_second != nullptr);
    std::set<std::uintptr_t> lines;
    for (const auto& each : loads) {
      CHECK(each.size() == 3);
      std::set<std::uintptr_t> own;
      for (const void* const from : each) own.insert(line_of(from));
      for (const std::uintptr_t line : own) CHECK(lines.insert(line).second);
    }
  }
}

TEST_CASE("[D3] a recording stores to no line that another context's recording touches, from its first use on") {
  stand at;
  const object_id resource = at.create(test_kind::resource, {});
  const object_id view = at.create(test_kind::view, {.deferred = 40}, {resource});
  std::array<context_type, 2> contexts{at.storage->open().context, at.storage->open().context};
  std::array<lines_type, 2> loaded;
  std::array<lines_type, 2> stored;
  std::array<std::set<std::byte*>, 2> given;
  for (std::size_t i = 0; i < 2; ++i) {
    for (const auto& each : at.ledger.given) given[i].insert(each.first);
    std::tie(loaded[i], stored[i]) = touched_by([&] {
      for (int times = 0; times < 2; ++times) {
        contexts[i].begin_recording();
        CHECK(contexts[i].use(view));
        CHECK(contexts[i].use(resource));
        CHECK(contexts[i].find(view) != nullptr);
        contexts[i].end_recording();
      }
    });
    for (const object_id each : {view, resource}) {
      const lines_type of_block = lines_of(contexts[i].find(each), 64);
      stored[i].insert(of_block.begin(), of_block.end());
    }
    // What the context has allocated belongs to it alone: whole lines.
    std::size_t allocations = 0;
    for (const auto& each : at.ledger.given) {
      if (given[i].count(each.first) != 0) continue;
      ++allocations;
      CHECK(reinterpret_cast<std::uintptr_t>(each.first) % tidemark::cache_line == 0);
      CHECK(each.second.bytes % tidemark::cache_line == 0);
    }
    CHECK(allocations == 4);  // a page, the pools, and a chunk for each size
  }
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(stored[i].size() >= 4);  // its recordings, the page, two blocks
    CHECK(!have_common(stored[i], stored[1 - i]));
    CHECK(!have_common(stored[i], loaded[1 - i]));
  }
}

TEST_CASE("[D19][D20][trap 33] a whole line lies between the immediate block's last line and the read-only data") {
  stand at;
  for (const std::size_t bytes : {1u, 64u, 65u, 128u}) {
    const object_id object = at.create(test_kind::resource, {.bytes = bytes, .read_only = 8});
    const auto* const block = static_cast<std::byte*>(at.storage->immediate().find(object));
    CHECK(line_of(at.driver.created.back().read_only.data()) == line_of(block + bytes - 1) + 2);
  }
}

TEST_CASE("[D20] no store to any block of the immediate context falls into a line of what deferred contexts read") {
  stand at{1024};
  lines_type written;
  lines_type read;
  context_type deferred = at.storage->open().context;
  deferred.begin_recording();
  for (const std::size_t bytes : {1u, 63u, 64u, 65u, 128u, 500u}) {
    for (const std::size_t read_only : {1u, 64u, 65u, 200u}) {
      for (int i = 0; i < 20; ++i) {
        const object_id object = at.create(test_kind::resource, {.bytes = bytes, .read_only = read_only});
        const test_arguments made = at.driver.created.back();
        const lines_type of_block = lines_of(made.block, bytes);
        const lines_type of_data = lines_of(made.read_only.data(), read_only);
        CHECK(*of_data.begin() > *of_block.rbegin() + 1);  // a line that is fetched ahead does not matter either
        written.insert(of_block.begin(), of_block.end());
        read.insert(of_data.begin(), of_data.end());
        CHECK(deferred.use(object));
      }
    }
  }
  CHECK(!have_common(written, read));
  deferred.end_recording();

  // The immediate context uses an object, while the deferred one has its blocks: nor do the storage's own words.
  const object_id object = at.create(test_kind::resource, {.read_only = 8});
  const lines_type of_data = lines_of(at.driver.created.back().read_only.data(), 8);
  const auto [loaded, stored] = touched_by([&] {
    at.storage->immediate().begin_recording();
    CHECK(at.storage->immediate().use(object));
    at.storage->immediate().end_recording();
  });
  CHECK(!have_common(stored, of_data));
  CHECK(!have_common(stored, read));
}

TEST_CASE("[D13][D16][D17] what is large and seldom used is not repeated, and costs a context nothing") {
  constexpr std::size_t cold = 64 * 1024;
  constexpr std::size_t objects = 64;
  std::array<std::size_t, 2> bytes_of_contexts{};
  for (const std::size_t has_cold : {0u, 1u}) {
    stand at;
    std::vector<object_id> made;
    std::vector<const std::byte*> data;
    for (std::size_t i = 0; i < objects; ++i) {
      made.push_back(at.create(test_kind::resource, {.read_only = has_cold * cold}));
      data.push_back(at.driver.created.back().read_only.data());
    }
    const std::size_t before = at.ledger.bytes;
    std::vector<context_type> contexts;
    for (int i = 0; i < 4; ++i) {
      contexts.push_back(at.storage->open().context);
      contexts.back().begin_recording();
      lines_type lines;
      for (std::size_t each = 0; each < objects; ++each) {
        void* const block = contexts.back().use(made[each]).block;
        lines.insert(line_of(block));
        CHECK(at.driver.created.back().read_only.size() == has_cold * cold);
        CHECK(at.driver.created.back().read_only.data() == data[each]);  // one pointer away
      }
      CHECK(lines.size() == objects);  // as the maker has asked for: 24 bytes, which is a line
      contexts.back().end_recording();
    }
    bytes_of_contexts[has_cold] = at.ledger.bytes - before;
  }
  CHECK(bytes_of_contexts[0] == bytes_of_contexts[1]);
  // A page of the table, the pools and at most twice the lines of the blocks.
  CHECK(bytes_of_contexts[0] < 4 * (4096 + 2 * objects * tidemark::cache_line));
}
