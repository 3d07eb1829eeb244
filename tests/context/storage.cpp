// SPDX-License-Identifier: BSL-1.0
//
// Context storage: which blocks there are, when they are created and destroyed, with what, and where they lie.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tidemark/context/storage.hpp>

#include "support/blocks.hpp"
#include "support/manual_stop.hpp"
#include "support/queues.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::assume_not_in_use;
using tidemark::block_use_status;
using tidemark::context_open_status;
using tidemark::object_create_status;
using tidemark::object_destroy_status;
using tidemark::object_id;

namespace {

using texts = std::vector<std::string>;
using storage_type = tidemark::context_storage<test_maker, counting_source>;
using context_type = storage_type::context;

constexpr test_description of_view{.deferred = 40};

/// A storage with a log, and with some contexts that record.
struct stand {
  explicit stand(std::uint32_t contexts = 0, std::uint32_t max_objects = 1024)
      : storage{storage_type::make(test_maker{driver}, {.max_contexts = 8, .max_objects = max_objects}, {&ledger})} {
    REQUIRE(storage);
    for (std::uint32_t i = 0; i < contexts; ++i) open();
    storage->immediate().begin_recording();
    driver.log.take();
  }
  ~stand() {
    if (storage) end_all();
    deferred.clear();
    storage.reset();
    CHECK(ledger.bytes == 0);
    CHECK(driver.names.empty());
  }

  context_type& open() {
    auto opened = storage->open();
    REQUIRE(opened);
    deferred.push_back(std::move(opened.context));
    deferred.back().begin_recording();
    return deferred.back();
  }
  void end_all() {
    for (context_type& each : deferred) {
      if (each.is_open() && each.is_recording()) each.end_recording();
    }
    if (storage->immediate().is_recording()) storage->immediate().end_recording();
  }
  object_id create(test_kind of, const test_description& given, std::initializer_list<object_id> needed = {}) {
    const auto made = storage->create(of, given, needed);
    REQUIRE(made);
    return made.object;
  }
  object_id resource(const test_description& given = {}) { return create(test_kind::resource, given); }
  object_id view_of(object_id needed) { return create(test_kind::view, of_view, {needed}); }

  test_driver driver;
  block_ledger ledger;
  std::optional<storage_type> storage;
  std::deque<context_type> deferred;
};

std::uintptr_t address(const void* of) { return reinterpret_cast<std::uintptr_t>(of); }
std::uintptr_t line_of(const void* of) { return address(of) / tidemark::cache_line; }

}  // namespace

// ---- which blocks there are -----------------------------------------------------------------------------------------

TEST_CASE("[D1][D2][D7] an object that three deferred contexts use has four blocks, each a context's own") {
  stand at{3};
  const object_id object = at.resource();
  std::set<void*> blocks{at.storage->immediate().use(object).block};
  for (context_type& each : at.deferred) blocks.insert(each.use(object).block);
  CHECK(blocks.size() == 4);
  CHECK(at.driver.created.size() == 4);
  std::set<std::uint32_t> contexts;
  for (const test_arguments& each : at.driver.created) contexts.insert(each.context);
  CHECK(contexts == std::set<std::uint32_t>{0, 1, 2, 3});
  // A second use finds the same blocks.
  for (context_type& each : at.deferred) CHECK(blocks.contains(each.use(object).block));
  CHECK(at.driver.created.size() == 4);
}

TEST_CASE("[D3] blocks of two contexts never share a cache line, nor do blocks of one") {
  stand at{2};
  std::set<std::uintptr_t> lines;
  std::size_t count = 0;
  for (int i = 0; i < 200; ++i) {
    const object_id object = at.resource();
    const std::array<void*, 3> blocks{at.storage->immediate().use(object).block, at.deferred[0].use(object).block,
                                      at.deferred[1].use(object).block};
    for (void* const each : blocks) {
      CHECK(address(each) % tidemark::cache_line == 0);
      lines.insert(line_of(each));
      ++count;
    }
  }
  CHECK(lines.size() == count);
}

TEST_CASE("[D4] what one context writes to its block of an object, no other context sees") {
  stand at{2};
  const object_id object = at.resource();
  at.deferred[0].use(object).as<test_state>().is_bound = 1;
  CHECK(at.deferred[1].use(object).as<test_state>().is_bound == 0);
  CHECK(at.storage->immediate().use(object).as<test_state>().is_bound == 0);
  CHECK(at.deferred[0].use(object).as<test_state>().is_bound == 1);
}

TEST_CASE("[D31][trap 33] a context that is opened takes no memory, and has blocks only of what it has used") {
  stand at;
  const object_id object = at.resource();
  const object_id other = at.resource();
  const std::size_t before = at.ledger.bytes;
  const std::size_t calls = at.ledger.calls;
  context_type& first = at.open();
  context_type& second = at.open();
  CHECK(at.ledger.bytes == before);
  CHECK(at.ledger.calls == calls);
  CHECK(first.find(object) == nullptr);
  void* const block = first.use(object).block;
  CHECK(first.find(object) == block);
  CHECK(first.find(other) == nullptr);
  CHECK(second.find(object) == nullptr);
  CHECK(at.driver.created.size() == 3);  // two in the immediate context, and one
}

// ---- order and dependencies -----------------------------------------------------------------------------------------

TEST_CASE("[D5] the immediate context's block is created first and destroyed last") {
  stand at{2};
  const object_id object = at.resource();
  CHECK(at.deferred[1].use(object));
  CHECK(at.deferred[0].use(object));
  at.end_all();
  CHECK(at.storage->destroy(object, assume_not_in_use));
  const texts seen = at.driver.log.take();
  CHECK(seen == texts{"size of resource", "create resource in 0", "deferred size of resource", "create resource in 2",
                      "create resource in 1", "destroy resource in 2", "destroy resource in 1",
                      "destroy resource in 0"});
}

TEST_CASE("[D5][D9] a storage that goes destroys what is left, views before their resources") {
  stand at;
  const object_id resource = at.resource();
  at.view_of(resource);
  at.end_all();
  at.driver.log.take();
  at.storage.reset();
  CHECK(at.driver.log.take() == texts{"destroy view in 0", "destroy resource in 0"});
}

TEST_CASE("[D6] a deferred block is linked to the immediate context's block when it is created") {
  stand at{2};
  const object_id object = at.resource();
  void* const immediate = at.storage->immediate().use(object).block;
  for (context_type& each : at.deferred) {
    CHECK(each.use(object).as<test_state>().immediate == immediate);
  }
  CHECK(at.driver.created.front().immediate == nullptr);
}

TEST_CASE(
    "[D8][D9][D10][trap 33] a view's block is created after its resource's block of the same context, and has "
    "it") {
  stand at{2};
  const object_id resource = at.resource();
  const object_id view = at.view_of(resource);
  at.driver.log.take();
  for (context_type& each : at.deferred) {
    CHECK(each.use(view));
    const test_arguments& given = at.driver.created.back();
    CHECK(given.kind == test_kind::view);
    CHECK(given.description.first == each.find(resource));
    CHECK(at.driver.name_of(given.description.first) == "resource in " + std::to_string(to_number(each.id())));
  }
  CHECK(at.driver.log.take() ==
        texts{"create resource in 1", "create view in 1", "create resource in 2", "create view in 2"});
}

TEST_CASE("[D10] an object may depend on two others, and on one that depends on a third") {
  stand at{1};
  const object_id first = at.resource();
  const object_id second = at.resource();
  const object_id view = at.view_of(first);
  const object_id both = at.create(test_kind::view, of_view, {view, second});
  CHECK(at.deferred[0].use(both));
  const test_description& given = at.driver.created.back().description;
  CHECK(given.first == at.deferred[0].find(view));
  CHECK(given.second == at.deferred[0].find(second));
  CHECK(at.deferred[0].find(first) != nullptr);
}

TEST_CASE("[D9][trap 33] a context destroys the blocks of views before that of their resource, when it is closed") {
  stand at{2};
  const object_id resource = at.resource();
  const object_id view = at.view_of(resource);
  const object_id of_view_too = at.create(test_kind::view, of_view, {view});
  CHECK(at.deferred[1].use(of_view_too));
  CHECK(at.deferred[0].use(view));
  at.driver.log.take();
  at.deferred[1].close();
  CHECK(at.driver.log.take() == texts{"destroy view in 2", "destroy view in 2", "destroy resource in 2"});
  CHECK(at.deferred[0].find(view) != nullptr);
}

TEST_CASE("[D9] an object that depends on several goes before all of them, in whatever order it names them") {
  for (const bool falls : {true, false}) {
    for (const bool closes : {true, false}) {
      CAPTURE(falls);
      CAPTURE(closes);
      stand at;
      // The last one needs the end of a chain of three, and one that needs nothing.
      const object_id shader = at.create(test_kind::shader, {.deferred = 24});
      const object_id resource = at.create(test_kind::resource, {.deferred = 24}, {shader});
      const object_id chained = at.create(test_kind::resource, {.deferred = 24}, {resource});
      const object_id alone = at.create(test_kind::shader, {.deferred = 24});
      const object_id last = falls ? at.create(test_kind::view, of_view, {chained, alone})
                                   : at.create(test_kind::view, of_view, {alone, chained});
      const texts in_order = falls ? texts{"shader", "resource", "resource", "shader", "view"}
                                   : texts{"shader", "shader", "resource", "resource", "view"};
      context_type& in = at.open();
      at.driver.log.take();
      CHECK(in.use(last));
      texts created;
      for (const std::string& each : in_order) created.push_back("create " + each + " in 1");
      CHECK(at.driver.log.take() == created);
      if (closes) {
        in.close();
        // The storage destroys the highest rank first.
        CHECK(at.driver.log.take() == texts{"destroy view in 1", "destroy resource in 1", "destroy resource in 1",
                                            "destroy shader in 1", "destroy shader in 1"});
      } else {
        at.end_all();
        at.deferred.clear();
        at.driver.log.take();
        at.storage.reset();
        CHECK(at.driver.log.take() == texts{"destroy view in 0", "destroy resource in 0", "destroy resource in 0",
                                            "destroy shader in 0", "destroy shader in 0"});
      }
    }
  }
}

TEST_CASE("[D9][trap 33] a resource that is destroyed stays in all contexts until its last view is destroyed") {
  stand at{1};
  const object_id resource = at.resource();
  const object_id view = at.view_of(resource);
  const object_id other = at.view_of(resource);
  CHECK(at.deferred[0].use(view));
  at.driver.log.take();
  CHECK(at.storage->destroy(resource, assume_not_in_use).status == object_destroy_status::retired);
  CHECK(at.driver.log.take().empty());
  CHECK(at.storage->destroy(view, assume_not_in_use));
  CHECK(at.driver.log.take() == texts{"destroy view in 1", "destroy view in 0"});
  CHECK(at.deferred[0].use(other));  // which still has its resource
  CHECK(at.storage->destroy(other, assume_not_in_use));
  CHECK(at.driver.log.take() == texts{"create view in 1", "destroy view in 1", "destroy view in 0",
                                      "destroy resource in 1", "destroy resource in 0"});
}

// ---- where blocks lie -----------------------------------------------------------------------------------------------

TEST_CASE("[D11] the maker says how many bytes, and the address that it is given is the block's name") {
  stand at{1};
  const object_id object = at.resource({.bytes = 1000});
  void* const immediate = at.storage->immediate().use(object).block;
  void* const deferred = at.deferred[0].use(object).block;
  CHECK(at.driver.created[0].block == immediate);
  CHECK(at.driver.created[1].block == deferred);
  // So many bytes belong to the block: nothing else is written there.
  std::memset(immediate, 1, 1000);
  std::memset(deferred, 1, 24);
  CHECK(at.deferred[0].use(at.resource()).as<test_state>().context == 1);
  CHECK(*static_cast<unsigned char*>(immediate) == 1);
}

TEST_CASE("[D12] at most 8 of 64 blocks of one size fall into one set of the first-level cache") {
  for (const std::size_t bytes : {24u, 64u, 128u, 256u, 512u, 1024u, 2048u, 4096u, 16384u, 65536u}) {
    CAPTURE(bytes);
    stand at;
    at.ledger.least_alignment = 4096;
    at.driver.sizes = {{test_kind::resource, bytes}};
    std::optional<storage_type> storage = storage_type::make(test_maker{at.driver}, {}, {&at.ledger});
    REQUIRE(storage);
    {
      auto opened = storage->open();
      REQUIRE(opened);
      opened.context.begin_recording();
      std::array<int, 64> immediate{};
      std::array<int, 64> deferred{};
      storage->immediate().begin_recording();
      for (int i = 0; i < 64; ++i) {
        const auto made = storage->create(test_kind::resource, {.bytes = bytes, .deferred = bytes});
        REQUIRE(made);
        ++immediate[line_of(storage->immediate().use(made.object).block) % 64];
        ++deferred[line_of(opened.context.use(made.object).block) % 64];
      }
      CHECK(*std::max_element(immediate.begin(), immediate.end()) <= 8);
      CHECK(*std::max_element(deferred.begin(), deferred.end()) <= 8);
      storage->immediate().end_recording();
    }
  }
}

TEST_CASE("[D14][D18][D19] read-only data lies behind the immediate block, in the same allocation, and is shared") {
  stand at{2};
  for (const std::size_t bytes : {1u, 63u, 64u, 65u, 500u}) {
    const object_id object = at.resource({.bytes = bytes, .read_only = 100});
    const test_arguments made = at.driver.created.back();
    const auto* const read_only = made.read_only.data();
    CHECK(made.to_fill.data() == read_only);
    CHECK(made.to_fill.size() == 100);
    CHECK(address(read_only) % tidemark::cache_line == 0);
    CHECK(address(read_only) >= address(made.block) + bytes);
    const auto holds = [&](const void* asked) {
      return std::find_if(at.ledger.given.begin(), at.ledger.given.end(), [&](const auto& each) {
        return address(each.first) <= address(asked) && address(asked) < address(each.first) + each.second.bytes;
      });
    };
    CHECK(holds(made.block) == holds(read_only));
    for (context_type& each : at.deferred) {
      CHECK(each.use(object));
      CHECK(at.driver.created.back().read_only.data() == read_only);
      CHECK(at.driver.created.back().read_only.size() == 100);
      CHECK(at.driver.created.back().to_fill.empty());
      CHECK(at.driver.created.back().read_only[99] == std::byte{7});
    }
  }
}

TEST_CASE(
    "[D15] each deferred block has a copy of the read-only data on request, behind all that the context changes") {
  for (const std::size_t bytes : {16u, 17u, 24u, 31u, 32u, 33u, 40u, 63u, 64u, 65u, 200u}) {
    for (const std::size_t read_only : {1u, 8u, 16u, 24u, 100u}) {
      CAPTURE(bytes);
      CAPTURE(read_only);
      stand at{0};
      at.driver.sizes = {{test_kind::view, 16}, {test_kind::view, bytes, read_only}};
      auto storage = storage_type::make(test_maker{at.driver}, {.max_contexts = 3}, {&at.ledger});
      REQUIRE(storage);
      const auto made = storage->create(test_kind::view, {.read_only = read_only, .deferred = bytes, .replicate = 1});
      REQUIRE(made);
      const std::byte* const original = at.driver.created.back().read_only.data();
      std::array<context_type, 2> contexts{storage->open().context, storage->open().context};
      std::vector<std::byte*> blocks;
      std::vector<const std::byte*> copies;
      for (context_type& each : contexts) {
        each.begin_recording();
        blocks.push_back(static_cast<std::byte*>(each.use(made.object).block));
        copies.push_back(at.driver.created.back().read_only.data());
        REQUIRE(blocks.back() != nullptr);
        CHECK(at.driver.created.back().read_only.size() == read_only);
      }
      for (std::byte* const each : blocks) std::memset(each, 0x55, bytes);  // all that the maker has asked for
      for (std::size_t i = 0; i < 2; ++i) {
        CHECK(copies[i] != original);
        CHECK(copies[i] >= blocks[i] + bytes);
        CHECK(copies[i] < blocks[i] + bytes + tidemark::replica_alignment);
        CHECK(address(copies[i]) % tidemark::replica_alignment == 0);
        CHECK(std::memcmp(copies[i], original, read_only) == 0);
      }
      // The next block of the same pool lies behind the copy.
      const auto next = storage->create(test_kind::view, {.read_only = read_only, .deferred = bytes, .replicate = 1});
      REQUIRE(next);
      const auto* const neighbour = static_cast<std::byte*>(contexts[0].use(next.object).block);
      CHECK((neighbour >= copies[0] + read_only || neighbour < blocks[0]));
      for (context_type& each : contexts) each.end_recording();
    }
  }
}

TEST_CASE("[D15][D24] what is replicated has a size of its own, which counts the padding and the copy") {
  const auto total_of = [](std::size_t bytes, std::size_t replica_bytes) {
    return tidemark::block_size<test_kind>{test_kind::view, bytes, replica_bytes}.total_bytes();
  };
  CHECK(total_of(24, 0) == 24);
  CHECK(total_of(24, 8) == 40);
  CHECK(total_of(32, 8) == 40);
  CHECK(total_of(SIZE_MAX - 3, 1) == SIZE_MAX);
  CHECK(total_of(32, SIZE_MAX) == SIZE_MAX);
  stand at;
  at.driver.sizes = {{test_kind::view, 24, 8}, {test_kind::view, 32, 8}, {test_kind::resource, 40}};
  const auto storage = storage_type::make(test_maker{at.driver}, {}, {&at.ledger});
  REQUIRE(storage);
  CHECK(storage->size_classes() == 1);
}

TEST_CASE("[D13] a program can hold the blocks of its contexts to a budget of cache lines") {
  static_assert(tidemark::lines_of_block(sizeof(test_state)) <= 1);
  CHECK(tidemark::lines_of_block(0) == 0);
  CHECK(tidemark::lines_of_block(1) == 1);
  CHECK(tidemark::lines_of_block(64) == 1);
  CHECK(tidemark::lines_of_block(65) == 2);
}

// ---- sizes ----------------------------------------------------------------------------------------------------------

TEST_CASE("[D22][D25][D26] the maker is asked twice for its sizes: how many, and then which") {
  stand at;
  at.driver.sizes = {
      {test_kind::resource, 16}, {test_kind::resource, 32}, {test_kind::view, 32}, {test_kind::shader, 48}};
  const auto storage = storage_type::make(test_maker{at.driver}, {}, {&at.ledger});
  REQUIRE(storage);
  CHECK(at.driver.log.take() == texts{"how many sizes", "which sizes"});
  REQUIRE(storage->sizes().size() == 4);
  CHECK(storage->sizes()[1].kind == test_kind::resource);
  CHECK(storage->sizes()[1].bytes == 32);
  CHECK(storage->sizes()[3].bytes == 48);
}

TEST_CASE("[D25] a maker that lists another number of sizes the second time gets no storage") {
  stand at;
  at.driver.sizes_at_second_time = 1;
  CHECK(!storage_type::make(test_maker{at.driver}, {}, {&at.ledger}));
}

TEST_CASE(
    "[D24] a context has as many pools as there are different sizes, and takes each block from that of its size") {
  stand at;
  at.driver.sizes = {
      {test_kind::resource, 16}, {test_kind::resource, 32}, {test_kind::view, 32}, {test_kind::shader, 48}};
  auto storage = storage_type::make(test_maker{at.driver}, {.max_contexts = 2}, {&at.ledger});
  REQUIRE(storage);
  CHECK(storage->size_classes() == 3);
  const auto made = [&](test_kind of, std::size_t bytes) {
    const auto created = storage->create(of, {.deferred = bytes});
    REQUIRE(created);
    return created.object;
  };
  const object_id small = made(test_kind::resource, 16);
  const object_id middle = made(test_kind::resource, 32);
  const object_id other_kind = made(test_kind::view, 32);
  const object_id large = made(test_kind::shader, 48);
  context_type in = storage->open().context;
  in.begin_recording();
  const auto calls_of = [&](object_id object) {
    const std::size_t before = at.ledger.calls;
    REQUIRE(in.use(object));
    return at.ledger.calls - before;
  };
  CHECK(calls_of(small) == 3);  // a page of the table, the pools, and the first chunk of this one
  CHECK(calls_of(middle) == 1);
  CHECK(calls_of(other_kind) == 0);  // of the same pool
  CHECK(calls_of(large) == 1);

  // The memory of a block serves the next one of its size, of whatever kind, and no other.
  void* const block = in.find(other_kind);
  CHECK(storage->destroy(other_kind, assume_not_in_use));
  std::set<void*> of_others;
  for (int i = 0; i < 10; ++i) {
    of_others.insert(in.use(made(test_kind::resource, 16)).block);
    of_others.insert(in.use(made(test_kind::shader, 48)).block);
  }
  CHECK(of_others.count(block) == 0);
  bool is_used_again = false;
  for (int i = 0; i < 10 && !is_used_again; ++i) is_used_again = in.use(made(test_kind::resource, 32)).block == block;
  CHECK(is_used_again);
  in.end_recording();
}

TEST_CASE("[D26] objects of one kind may have blocks of several sizes") {
  stand at;
  at.driver.sizes = {{test_kind::resource, 16}, {test_kind::resource, 300}};
  auto storage = storage_type::make(test_maker{at.driver}, {}, {&at.ledger});
  REQUIRE(storage);
  {
    auto opened = storage->open();
    opened.context.begin_recording();
    for (const std::size_t bytes : {16u, 300u, 16u}) {
      const auto made = storage->create(test_kind::resource, {.deferred = bytes});
      CHECK(made);
      const auto used = opened.context.use(made.object);
      CHECK(used);
      std::memset(used.block, 0, static_cast<std::size_t>(bytes));
    }
  }
}

TEST_CASE("[D28] the list can be had when the device is gone, and only the immediate context's side tells one size") {
  test_driver driver;
  driver.is_lost = true;  // it creates nothing any more
  block_ledger ledger;
  auto storage = storage_type::make(test_maker{driver}, {.max_contexts = 2}, {&ledger});
  REQUIRE(storage);
  CHECK(driver.log.take() == texts{"how many sizes", "which sizes"});
  REQUIRE(storage->sizes().size() == 3);
  CHECK(storage->sizes()[1].kind == test_kind::view);
  CHECK(storage->sizes()[1].bytes == 40);
  CHECK(storage->size_classes() == 2);
  CHECK(storage->create(test_kind::resource, {}).status == object_create_status::no_memory);
  CHECK(driver.log.take() == texts{"size of resource"});

  // It comes back, and is lost once more while a context records.
  driver.is_lost = false;
  const auto made = storage->create(test_kind::resource, {});
  const auto unused = storage->create(test_kind::resource, {});
  REQUIRE(made);
  REQUIRE(unused);
  CHECK(driver.log.take_without("create") ==
        texts{"size of resource", "deferred size of resource", "size of resource", "deferred size of resource"});
  {
    auto opened = storage->open();
    opened.context.begin_recording();
    void* const block = opened.context.use(made.object).block;
    CHECK(driver.log.take() == texts{"create resource in 1"});  // asks for no size
    driver.is_lost = true;
    CHECK(opened.context.use(made.object).block == block);
    CHECK(opened.context.use(unused.object).status == block_use_status::no_memory);
    CHECK(driver.log.take().empty());
    CHECK(storage->sizes().size() == 3);
    opened.context.end_recording();
  }
  CHECK(storage->destroy(made.object, assume_not_in_use));
  CHECK(driver.log.take() == texts{"destroy resource in 1", "destroy resource in 0"});

  constexpr auto creates = []<class Context>(Context* context) {
    return requires { context->create(test_kind::resource, test_description{}); };
  };
  static_assert(creates(static_cast<storage_type*>(nullptr)));
  static_assert(!creates(static_cast<context_type*>(nullptr)));
}

// ---- what the maker is given ----------------------------------------------------------------------------------------

TEST_CASE("[D23][D32] the sequence of calls: two for the sizes, three for an object, one for its first use") {
  test_driver driver;
  block_ledger ledger;
  ledger.log = &driver.log;
  {
    auto storage = storage_type::make(test_maker{driver}, {}, {&ledger});
    REQUIRE(storage);
    CHECK(driver.log.take_without("memory") == texts{"how many sizes", "which sizes"});

    // Tables and pools are there once the first object and the first use are over.
    const auto first = storage->create(test_kind::resource, {});
    auto opened = storage->open();
    opened.context.begin_recording();
    CHECK(opened.context.use(first.object));
    for (int i = 0; i < 3; ++i) CHECK(opened.context.use(storage->create(test_kind::resource, {}).object));
    driver.log.take();

    // The fifth block is the first one of the pool's second chunk.
    const auto object = storage->create(test_kind::resource, {});
    CHECK(driver.log.take() ==
          texts{"size of resource", "memory", "create resource in 0", "deferred size of resource"});
    CHECK(opened.context.use(object.object));
    CHECK(driver.log.take() == texts{"memory", "create resource in 1"});
    CHECK(opened.context.use(object.object));
    CHECK(driver.log.take().empty());
  }
  CHECK(ledger.bytes == 0);
}

TEST_CASE(
    "[D29] a deferred block without dependencies is created in its context, with no description and its "
    "immediate block") {
  stand at{2};
  const object_id object = at.resource({.bytes = 80});
  CHECK(at.driver.created.back().has_description);
  CHECK(at.driver.created.back().description.bytes == 80);
  CHECK(at.deferred[1].use(object));
  const test_arguments& given = at.driver.created.back();
  CHECK(given.context == 2);
  CHECK(given.kind == test_kind::resource);
  CHECK(!given.has_description);
  CHECK(given.immediate == at.storage->immediate().use(object).block);
}

TEST_CASE("[D30] with dependencies the description has those, and all its other bytes are zero") {
  stand at{1};
  const object_id resource = at.resource();
  const object_id view = at.create(test_kind::view, {.bytes = 77, .read_only = 5, .deferred = 40}, {resource});
  CHECK(at.driver.created.back().description.bytes == 77);
  CHECK(at.driver.created.back().description.first == at.storage->immediate().use(resource).block);
  CHECK(at.deferred[0].use(view));
  const test_arguments& given = at.driver.created.back();
  REQUIRE(given.has_description);
  test_description expected;
  std::memset(static_cast<void*>(&expected), 0, sizeof expected);
  expected.first = at.deferred[0].find(resource);
  CHECK(std::memcmp(&given.description, &expected, sizeof expected) == 0);
}

// ---- memory ---------------------------------------------------------------------------------------------------------

TEST_CASE("[D31] a context that is closed gives all its memory back at once, and can be opened again") {
  stand at;
  const object_id resource = at.resource();
  const object_id view = at.view_of(resource);
  const std::size_t before = at.ledger.bytes;
  for (int round = 0; round < 3; ++round) {
    auto opened = at.storage->open();
    REQUIRE(opened);
    CHECK(to_number(opened.context.id()) == 1);
    opened.context.begin_recording();
    CHECK(opened.context.use(view));
    CHECK(at.ledger.bytes > before);
    opened.context.close();  // in the middle of a recording
    CHECK(!opened.context.is_open());
    CHECK(at.ledger.bytes == before);
  }
}

TEST_CASE("without memory a use says so, changes nothing but dependencies, and succeeds once there is some") {
  stand at{1};
  const object_id view = at.view_of(at.resource());
  std::size_t refusals = 0;
  at.ledger.calls_left = 0;
  for (std::size_t allowed = 1; !at.deferred[0].use(view); ++allowed) {
    CHECK(at.deferred[0].use(view).status == block_use_status::no_memory);
    CHECK(at.deferred[0].find(view) == nullptr);
    ++refusals;
    at.ledger.calls_left = allowed;
  }
  CHECK(refusals > 1);
  at.ledger.calls_left = SIZE_MAX;

  const object_id other = at.resource();
  at.driver.creations_left = 0;
  CHECK(at.deferred[0].use(other).status == block_use_status::no_memory);
  at.driver.creations_left = SIZE_MAX;
  CHECK(at.deferred[0].use(other));
}

TEST_CASE("without memory an object is not created, and what was taken for it is used for the next one") {
  for (std::size_t allowed = 0; allowed < 4; ++allowed) {
    stand at;
    at.ledger.calls_left = allowed;
    CHECK(at.storage->create(test_kind::resource, {}).status == object_create_status::no_memory);
    at.ledger.calls_left = SIZE_MAX;
    CHECK(at.storage->create(test_kind::resource, {}));
  }
  stand at;
  at.driver.creations_left = 0;
  CHECK(at.storage->create(test_kind::resource, {}).status == object_create_status::no_memory);
  at.driver.creations_left = 1;
  CHECK(at.storage->create(test_kind::resource, {}).object.index() == 0);
}

TEST_CASE("a storage is absent if there is no memory for it, and nothing is leaked") {
  for (std::size_t allowed = 0; allowed < 7; ++allowed) {
    test_driver driver;
    block_ledger ledger;
    ledger.calls_left = allowed;
    CHECK(!storage_type::make(test_maker{driver}, {}, {&ledger}));
    CHECK(ledger.bytes == 0);
  }
}

TEST_CASE("memory of destroyed blocks is used again, by the context that they belonged to") {
  stand at{1};
  const object_id first = at.resource();
  void* const block = at.deferred[0].use(first).block;
  void* const immediate = at.storage->immediate().use(first).block;
  for (int i = 0; i < 3; ++i) CHECK(at.deferred[0].use(at.resource()));  // the rest of the first chunk
  const std::size_t before = at.ledger.bytes;
  CHECK(at.storage->destroy(first, assume_not_in_use));
  // Blocks that were never used come first.
  const object_id second = at.resource();
  CHECK(at.storage->immediate().use(second).block == immediate);
  CHECK(at.deferred[0].use(second).block == block);
  CHECK(at.ledger.bytes == before);
}

// ---- objects and contexts come and go -------------------------------------------------------------------------------

TEST_CASE("the id of an object that was destroyed is stale, also when its number is used again") {
  stand at{1};
  const object_id first = at.resource();
  CHECK(at.deferred[0].use(first));
  CHECK(at.storage->destroy(first, assume_not_in_use));
  CHECK(at.deferred[0].use(first).status == block_use_status::stale);
  const object_id second = at.resource();
  CHECK(second.index() == first.index());
  CHECK(second != first);
  CHECK(at.deferred[0].use(second));
  CHECK(at.deferred[0].use(first).status == block_use_status::stale);
  CHECK(at.deferred[0].find(first) == nullptr);
  CHECK(at.storage->immediate().use(first).status == block_use_status::stale);
  CHECK(at.deferred[0].use(object_id{}).status == block_use_status::stale);
}

TEST_CASE("a storage has at most so many objects and contexts as it was made for") {
  stand at{7, 3};
  std::vector<object_id> made;
  for (int i = 0; i < 3; ++i) made.push_back(at.resource());
  CHECK(at.storage->create(test_kind::resource, {}).status == object_create_status::no_space);
  CHECK(at.storage->destroy(made[1], assume_not_in_use));
  CHECK(at.storage->create(test_kind::resource, {}));
  CHECK(at.storage->open().status == context_open_status::no_space);
  at.deferred[3].close();
  CHECK(at.storage->open());
}

TEST_CASE("[D8] what depends on no object, on a destroyed one or on too many is not created") {
  stand at;
  const object_id object = at.resource();
  CHECK(at.storage->create(test_kind::view, of_view, {object_id{}}).status == object_create_status::invalid);
  CHECK(at.storage->create(test_kind::view, of_view, {object, object, object}).status == object_create_status::invalid);
  CHECK(at.storage->create(test_kind::view, of_view, {object, object}));
  CHECK(at.storage->destroy(object, assume_not_in_use).status == object_destroy_status::retired);  // the view has it
  CHECK(at.storage->create(test_kind::view, of_view, {object}).status == object_create_status::invalid);
}

TEST_CASE("[D5][B5] an object that was retired is destroyed when the recordings are over that have begun before") {
  stand at{2};
  at.storage->immediate().end_recording();
  const object_id object = at.resource();
  CHECK(at.deferred[0].use(object));
  at.deferred[1].end_recording();
  CHECK(at.storage->retire(object));
  at.deferred[1].begin_recording();  // does not use it
  CHECK(at.storage->reclaim() == 0);
  at.driver.log.take();
  at.deferred[0].end_recording();
  CHECK(at.storage->reclaim() == 1);
  CHECK(at.driver.log.take() == texts{"destroy resource in 1", "destroy resource in 0"});
}

TEST_CASE("[B7] a drain sleeps until the recording is over") {
  stand at{1};
  at.storage->immediate().end_recording();
  const object_id object = at.resource();
  CHECK(at.deferred[0].use(object));
  CHECK(at.storage->retire(object));
  CHECK(at.storage->reclaimer().drain_for(std::chrono::milliseconds{1}) == tidemark::wait_status::timeout);
  std::thread other{[&] { CHECK(at.storage->reclaimer().drain() == tidemark::wait_status::reached); }};
  at.deferred[0].end_recording();
  other.join();
  CHECK(at.driver.names.empty());
}

TEST_CASE("[D5][B6] an object that is assumed not to be in use is destroyed by the next reclaim(), not by the caller") {
  stand at{1};
  const object_id object = at.resource();
  const object_id used = at.resource();
  CHECK(at.deferred[0].use(object));
  CHECK(at.deferred[0].use(used));
  CHECK(at.storage->retire(used));
  CHECK(at.storage->retire(object, assume_not_in_use));
  at.driver.log.take();
  CHECK(at.storage->reclaim() == 1);  // although recordings are open
  CHECK(at.driver.log.take() == texts{"destroy resource in 1", "destroy resource in 0"});
  CHECK(at.deferred[0].find(used) != nullptr);
}

TEST_CASE("[D5][B7] destroy() waits for the recordings that have begun before, and then the blocks are gone") {
  stand at{2};
  at.storage->immediate().end_recording();
  const object_id object = at.resource();
  CHECK(at.deferred[0].use(object));
  at.deferred[1].end_recording();
  const auto soon = std::chrono::milliseconds{0};
  CHECK(at.storage->destroy_for(object, soon).status == object_destroy_status::timeout);
  CHECK(at.storage->destroy_until(object, std::chrono::steady_clock::now()).status == object_destroy_status::timeout);
  manual_stop stop;
  stop.request();
  CHECK(at.storage->destroy(object, stop.get_token()).status == object_destroy_status::stopped);
  CHECK(at.deferred[0].find(object) != nullptr);
  at.driver.log.take();
  const auto before = at.driver.names.size();
  std::thread destroyer{[&] {
    CHECK(at.storage->destroy(object).status == object_destroy_status::destroyed);
    CHECK(at.driver.names.size() == before - 2);
  }};
  at.deferred[1].begin_recording();  // does not use it, and may last
  at.deferred[0].end_recording();
  at.deferred[1].end_recording();
  destroyer.join();
  CHECK(at.driver.log.take() == texts{"destroy resource in 1", "destroy resource in 0"});
  CHECK(at.deferred[0].find(object) == nullptr);
  CHECK(at.storage->reclaim() == 0);
}

TEST_CASE("[D9][B7] an object on which others depend, also retired ones, is destroyed later") {
  stand at{1};
  at.end_all();
  const object_id resource = at.resource();
  const object_id view = at.view_of(resource);
  CHECK(at.storage->retire(view));
  at.driver.log.take();
  const auto kept = at.storage->destroy(resource);
  CHECK(!kept);
  CHECK(kept.status == object_destroy_status::retired);
  CHECK(at.driver.log.take().empty());
  CHECK(at.storage->reclaim() == 1);
  CHECK(at.driver.log.take() == texts{"destroy view in 0", "destroy resource in 0"});
}

TEST_CASE("[B7] destroy() sleeps until the object is gone where another thread destroys it") {
  for (const bool assumes : {false, true}) {
    CAPTURE(assumes);
    test_driver driver;
    block_ledger ledger;
    auto storage = tidemark::context_storage<test_maker, counting_source, stepping_platform>::make(test_maker{driver},
                                                                                                   {}, {&ledger});
    REQUIRE(storage);
    const object_id first = storage->create(test_kind::resource, {}).object;
    const object_id second = storage->create(test_kind::resource, {}).object;
    std::atomic<bool> is_destroying{false};
    std::atomic<bool> may_go_on{false};
    std::atomic<int> calls{0};
    driver.in_destroy = [&] {
      if (calls.fetch_add(1) != 0) return;
      is_destroying = true;
      while (!may_go_on) std::this_thread::yield();
    };
    background server{[&] { CHECK(storage->destroy(first)); }};
    while (!is_destroying) std::this_thread::yield();
    background other{[&] {
      const auto gone = assumes ? storage->destroy(second, assume_not_in_use) : storage->destroy(second);
      CHECK(gone.status == object_destroy_status::destroyed);
      CHECK(calls == 2);
      CHECK(driver.names.empty());
    }};
    CHECK(other.falls_asleep());
    may_go_on = true;
    server.join();
    other.join();
  }
}

TEST_CASE("[B6][B7] each of the four forms waits, or does not, and destroys the object here, or later") {
  for (const bool assumes : {false, true}) {
    for (const bool at_once : {false, true}) {
      CAPTURE(assumes);
      CAPTURE(at_once);
      stand at{1};
      at.storage->immediate().end_recording();
      const object_id object = at.resource();
      CHECK(at.deferred[0].use(object));
      at.driver.log.take();
      const texts gone{"destroy resource in 1", "destroy resource in 0"};
      if (at_once) {
        std::thread caller{[&] {
          CHECK((assumes ? at.storage->destroy(object, assume_not_in_use) : at.storage->destroy(object)));
          CHECK(at.driver.log.take() == gone);
        }};
        if (!assumes) at.deferred[0].end_recording();
        caller.join();
        continue;
      }
      CHECK((assumes ? at.storage->retire(object, assume_not_in_use) : at.storage->retire(object)));
      CHECK(at.driver.log.take().empty());
      CHECK(at.storage->reclaim() == (assumes ? 1 : 0));
      at.deferred[0].end_recording();
      CHECK(at.storage->reclaim() == (assumes ? 0 : 1));
      CHECK(at.driver.log.take() == gone);
    }
  }
}

TEST_CASE("a context is moved, and the one that it was moved from is closed") {
  stand at{1};
  const object_id object = at.resource();
  void* const block = at.deferred[0].use(object).block;
  context_type moved = std::move(at.deferred[0]);
  CHECK(moved.find(object) == block);
  CHECK(!at.deferred[0].is_open());
  at.deferred[0] = std::move(moved);
  CHECK(at.deferred[0].find(object) == block);
  context_type{}.close();
}

TEST_CASE("[D5] a context that another one is moved to is closed at once, and its recording is over") {
  stand at{2};
  const object_id object = at.resource();
  const object_id retired = at.resource();
  CHECK(at.deferred[0].use(object));
  void* const block = at.deferred[1].use(object).block;
  at.deferred[1].end_recording();
  const auto second = at.deferred[1].id();
  at.storage->immediate().end_recording();
  CHECK(at.storage->retire(retired));
  CHECK(at.storage->reclaim() == 0);  // the first one has begun before
  at.driver.log.take();
  at.deferred[0] = std::move(at.deferred[1]);
  CHECK(at.driver.log.take() == texts{"destroy resource in 1"});
  CHECK(!at.deferred[1].is_open());
  CHECK(at.deferred[0].id() == second);
  CHECK(at.deferred[0].find(object) == block);
  CHECK(!at.deferred[0].is_recording());
  CHECK(at.storage->reclaim() == 1);
  auto& itself = at.deferred[0];
  at.deferred[0] = std::move(itself);
  CHECK(at.deferred[0].find(object) == block);
  at.deferred[0] = context_type{};
  CHECK(!at.deferred[0].is_open());
  for (int i = 0; i < 2; ++i) CHECK(at.storage->open());  // both are free again
}

// ---- threads --------------------------------------------------------------------------------------------------------

TEST_CASE("[D3][D5][D9] contexts record on threads of their own while objects are created, retired and destroyed") {
  constexpr std::uint32_t threads = 3;
  constexpr int rounds = 200;
  test_driver driver;
  block_ledger ledger;
  auto storage = storage_type::make(test_maker{driver}, {.max_contexts = threads + 1, .max_objects = 64}, {&ledger});
  REQUIRE(storage);
  for (int round = 0; round < rounds; ++round) {
    const auto resource = storage->create(test_kind::resource, {.read_only = 16});
    const auto view = storage->create(test_kind::view, of_view, {resource.object});
    REQUIRE(view);
    std::atomic<std::uint32_t> recording{0};
    std::vector<std::thread> recorders;
    for (std::uint32_t i = 0; i < threads; ++i) {
      recorders.emplace_back([&] {
        auto opened = storage->open();
        opened.context.begin_recording();
        recording.fetch_add(1);
        auto& bound = opened.context.use(view.object).as<test_state>();
        bound.is_bound = to_number(opened.context.id());
        CHECK(bound.context == bound.is_bound);
        opened.context.end_recording();
      });
    }
    while (recording.load() != threads) std::this_thread::yield();
    CHECK(storage->retire(resource.object));
    CHECK(storage->retire(view.object));
    storage->reclaim();
    for (std::thread& each : recorders) each.join();
    static_cast<void>(storage->reclaimer().drain());
    CHECK(driver.names.empty());
  }
  std::map<std::string, int> alive;
  for (const std::string& each : driver.log.take()) {
    CHECK(each != "NO SUCH BLOCK");
    if (each.starts_with("create ")) ++alive[each.substr(7)];
    if (each.starts_with("destroy ")) --alive[each.substr(8)];
    // In no context is there a view without its resource, and in no deferred one a block without the immediate one.
    for (const char* const context : {"0", "1", "2", "3"}) {
      CHECK(alive["view in " + std::string{context}] <= alive["resource in " + std::string{context}]);
    }
  }
  storage.reset();
  CHECK(ledger.bytes == 0);
}

struct pages_of_three : tidemark::native_platform {
  static constexpr std::size_t objects_per_page = 3;
};

TEST_CASE("[D11][D15] a block that no memory has room for is not there, with and without a copy of read-only data") {
  using tidemark::detail::block_distance;
  static_assert(block_distance(SIZE_MAX) == tidemark::detail::most_block_distance);
  static_assert(block_distance(SIZE_MAX - 63) == tidemark::detail::most_block_distance);
  static_assert(block_distance(1000) == 17 * tidemark::cache_line);
  using of_three = tidemark::detail::block_table<pages_of_three>;
  static_assert(of_three::pages_for(SIZE_MAX) == SIZE_MAX / 3);
  static_assert(of_three::pages_for(4) == 2);

  for (const std::size_t read_only : {0u, 8u, 64u, 256u}) {
    for (const std::size_t less : {0u, 10u, 63u, 64u, 127u, 200u, 1000u}) {
      CAPTURE(read_only);
      CAPTURE(less);
      test_driver driver;
      block_ledger ledger;
      driver.sizes = {{test_kind::resource, SIZE_MAX - less, read_only}, {test_kind::view, 40}};
      auto storage = storage_type::make(test_maker{driver}, {}, {&ledger});
      REQUIRE(storage);
      const test_description of_all{.read_only = read_only, .deferred = SIZE_MAX - less, .replicate = 1};
      const auto object = storage->create(test_kind::resource, of_all);
      REQUIRE(object);
      const auto view = storage->create(test_kind::view, of_view);
      auto opened = storage->open();
      opened.context.begin_recording();
      REQUIRE(opened.context.use(object.object).status == block_use_status::no_memory);
      CHECK(opened.context.find(object.object) == nullptr);
      CHECK(opened.context.use(view.object));
      opened.context.end_recording();
    }
  }
}
