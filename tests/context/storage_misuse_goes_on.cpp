// SPDX-License-Identifier: BSL-1.0
//
// Misuse of context storage breaks nothing where the hook of TIDEMARK_ASSERT returns: here it notes the text.
// storage_misuse.cpp has each text with the misuse that it reports.
#include "support/noted_misuse.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <optional>

#include <tidemark/context/storage.hpp>

#include "support/blocks.hpp"
#include "support/in_stop_look.hpp"

using namespace testing;
using tidemark::object_create_status;

namespace {

using storage_type = tidemark::context_storage<test_maker, counting_source>;

struct stand {
  test_driver driver;
  block_ledger ledger;
  std::optional<storage_type> storage = storage_type::make(test_maker{driver}, {}, {&ledger});
};

}  // namespace

TEST_CASE("[D27][trap 33] an object with an unlisted size is refused, and nothing of it is left") {
  stand at;
  REQUIRE(at.storage);
  CHECK(at.storage->create(test_kind::resource, {.deferred = 32}).status == object_create_status::refused);
  CHECK(take_said() == texts{"a maker told a size of deferred blocks that it has not listed"});
  CHECK(at.driver.names.empty());
  CHECK(at.storage->create(test_kind::resource, {}).object.index() == 0);
  CHECK(take_said().empty());
}

TEST_CASE("[D15][D27] an object is refused if the size with the copy of its read-only data is not listed") {
  stand at;
  REQUIRE(at.storage);
  at.driver.sizes = {{test_kind::view, 24, 8}, {test_kind::view, 40}};
  auto storage = storage_type::make(test_maker{at.driver}, {}, {&at.ledger});
  REQUIRE(storage);
  const auto status_of = [&](const test_description& given) { return storage->create(test_kind::view, given).status; };
  CHECK(status_of({.read_only = 8, .deferred = 24, .replicate = 1}) == object_create_status::added);
  CHECK(status_of({.read_only = 8, .deferred = 40, .replicate = 0}) == object_create_status::added);
  CHECK(take_said().empty());
  CHECK(status_of({.read_only = 8, .deferred = 40, .replicate = 1}) == object_create_status::refused);
  CHECK(status_of({.read_only = 9, .deferred = 24, .replicate = 1}) == object_create_status::refused);
  CHECK(status_of({.read_only = 8, .deferred = 24, .replicate = 0}) == object_create_status::refused);
  CHECK(take_said() == texts(3, "a maker told a size of deferred blocks that it has not listed"));
}

TEST_CASE("an object that can't be one of the storage's is stale in a use, and has no block") {
  stand at;
  REQUIRE(at.storage);
  auto storage = storage_type::make(test_maker{at.driver}, {.max_objects = 130}, {&at.ledger});
  REQUIRE(storage);
  auto opened = storage->open();
  opened.context.begin_recording();
  for (const std::uint32_t index : {130u, 255u, 256u, 1'000'000u, UINT32_MAX}) {
    const tidemark::object_id strange{index, 1};
    CHECK(opened.context.use(strange).status == tidemark::block_use_status::stale);
    CHECK(opened.context.find(strange) == nullptr);
    CHECK(take_said() == texts(2, "this is no object of the storage"));
    CHECK(storage->create(test_kind::resource, {}, {strange}).status == object_create_status::invalid);
    CHECK(storage->destroy(strange, tidemark::assume_not_in_use).status == tidemark::object_destroy_status::invalid);
    CHECK(!storage->retire(strange));
    CHECK(take_said() == texts(2, "an object was destroyed twice"));
  }
  CHECK(opened.context.use({}).status == tidemark::block_use_status::stale);
  opened.context.end_recording();
  CHECK(take_said().empty());
}

TEST_CASE("a context that is closed does nothing") {
  stand at;
  REQUIRE(at.storage);
  const auto object = at.storage->create(test_kind::resource, {}).object;
  auto opened = at.storage->open();
  auto moved = std::move(opened.context);
  storage_type::context none;
  moved.close();
  for (auto* const each : {&opened.context, &moved, &none}) {
    each->begin_recording();
    CHECK(!each->is_recording());
    CHECK(each->find(object) == nullptr);
    each->end_recording();
    CHECK(take_said() == texts(3, "a context was used that is closed"));
    CHECK(each->use(object).status == tidemark::block_use_status::stale);
    CHECK(take_said() == texts{"an object was used by a context that does not record"});
    each->close();
    CHECK(!each->is_open());
  }
  CHECK(take_said().empty());
}

TEST_CASE("the immediate context can be moved neither from nor to") {
  stand at;
  REQUIRE(at.storage);
  auto& immediate = at.storage->immediate();
  storage_type::context made{std::move(immediate)};
  CHECK(!made.is_open());
  auto opened = at.storage->open();
  immediate = std::move(opened.context);
  CHECK(opened.context.is_open());
  opened.context = std::move(immediate);
  CHECK(opened.context.is_open());
  CHECK(opened.context.id() != tidemark::immediate_context);
  CHECK(take_said() == texts(3, "the immediate context can't be moved"));
  CHECK(at.storage->immediate().is_open());
  CHECK(at.storage->create(test_kind::resource, {}));
}

// ---- makers that call the storage -----------------------------------------------------------------------------------

TEST_CASE("a maker that uses the object whose block it creates gets one block, and it is the one that it has used") {
  stand at;
  REQUIRE(at.storage);
  const auto object = at.storage->create(test_kind::resource, {}).object;
  auto opened = at.storage->open();
  opened.context.begin_recording();
  void* inner = nullptr;
  at.driver.log.take();
  at.driver.in_create = [&] { inner = opened.context.use(object).block; };
  CHECK(opened.context.use(object).block == inner);
  CHECK(inner != nullptr);
  CHECK(take_said() == texts{"a maker used the object whose block it was creating"});
  CHECK(at.driver.log.take() == texts{"create resource in 1", "create resource in 1", "destroy resource in 1"});
  opened.context.end_recording();
}

TEST_CASE("a maker can end neither the recording nor the context that it creates a block for") {
  stand at;
  REQUIRE(at.storage);
  const auto object = at.storage->create(test_kind::resource, {}).object;
  auto opened = at.storage->open();
  auto& in = opened.context;
  in.begin_recording();
  at.driver.in_create = [&] {
    in.end_recording();
    in.close();
    CHECK(in.is_open());
    CHECK(in.is_recording());
  };
  const auto used = in.use(object);
  CHECK(used);
  CHECK(take_said() == texts(2, "a maker ended the recording that it was creating a block for"));
  CHECK(in.find(object) == used.block);
  in.end_recording();
  in.close();
  CHECK(take_said().empty());
}

TEST_CASE("nor can it end the recording of the immediate context when it creates an object") {
  stand at;
  REQUIRE(at.storage);
  auto& in = at.storage->immediate();
  in.begin_recording();
  bool was_creating = false;
  at.driver.in_create = [&] {
    at.driver.in_create = [&] { was_creating = in.is_creating(); };
    CHECK(at.storage->create(test_kind::resource, {}));
    CHECK(in.is_creating());  // the outer one, still
    in.end_recording();
    CHECK(in.is_recording());
  };
  CHECK(at.storage->create(test_kind::resource, {}));
  CHECK(was_creating);
  CHECK(!in.is_creating());
  CHECK(take_said() == texts{"a maker ended the recording that it was creating a block for"});
  at.driver.creations_left = 0;
  CHECK(!at.storage->create(test_kind::resource, {}));
  CHECK(!in.is_creating());
  in.end_recording();
  CHECK(!in.is_recording());
  CHECK(take_said().empty());
}

TEST_CASE("nor can it assign another context to the one that it creates a block for") {
  stand at;
  REQUIRE(at.storage);
  const auto object = at.storage->create(test_kind::resource, {}).object;
  auto storage = storage_type::make(test_maker{at.driver}, {.max_contexts = 3}, {&at.ledger});
  REQUIRE(storage);
  const auto own = storage->create(test_kind::resource, {}).object;
  CHECK(own == object);
  auto opened = storage->open();
  opened.context.begin_recording();
  at.driver.in_create = [&] { opened.context = std::move(storage->open().context); };
  CHECK(opened.context.use(own));
  CHECK(take_said() == texts{"a maker ended the recording that it was creating a block for"});
  CHECK(opened.context.is_recording());
  CHECK(storage->open());  // the one that was not assigned is closed
  opened.context.close();
  CHECK(take_said().empty());
}

TEST_CASE("[B5] a recording that is begun twice keeps what it has used since it began first") {
  stand at;
  REQUIRE(at.storage);
  const auto object = at.storage->create(test_kind::resource, {}).object;
  auto opened = at.storage->open();
  auto& in = opened.context;
  in.begin_recording();
  CHECK(in.use(object));
  CHECK(at.storage->retire(object));
  CHECK(at.storage->reclaim() == 0);
  in.begin_recording();
  CHECK(take_said() == texts{"a context began to record twice"});
  CHECK(at.storage->reclaim() == 0);
  CHECK(in.find(object) != nullptr);
  in.end_recording();
  CHECK(!in.is_recording());
  CHECK(at.storage->reclaim() == 1);
  CHECK(take_said().empty());
}

TEST_CASE("an object is not created if the maker destroys a dependency of it") {
  stand at;
  REQUIRE(at.storage);
  const auto needed = at.storage->create(test_kind::resource, {}).object;
  at.driver.in_create = [&] { CHECK(at.storage->destroy(needed, tidemark::assume_not_in_use)); };
  CHECK(at.storage->create(test_kind::view, {.deferred = 40}, {needed}).status == object_create_status::invalid);
  CHECK(take_said() == texts{"a maker destroyed a dependency of the object that it was creating"});
  CHECK(at.driver.names.empty());
  CHECK(at.storage->create(test_kind::resource, {}));
}

TEST_CASE("an object that the maker destroys while the storage is destroyed is destroyed once") {
  stand at;
  REQUIRE(at.storage);
  const auto needed = at.storage->create(test_kind::resource, {}).object;
  const auto view = at.storage->create(test_kind::view, {.deferred = 40}, {needed}).object;
  int calls = 0;
  at.driver.in_destroy = [&] {
    if (++calls == 2) CHECK(at.storage->destroy(view, tidemark::assume_not_in_use));
  };
  at.driver.log.take();
  at.storage.reset();
  CHECK(take_said() == texts{"a maker destroyed an object while its storage was destroyed"});
  CHECK(at.driver.log.take() == texts{"destroy view in 0", "destroy resource in 0"});
}

TEST_CASE("an object that is destroyed twice is destroyed once") {
  stand at;
  REQUIRE(at.storage);
  const auto object = at.storage->create(test_kind::resource, {}).object;
  CHECK(at.storage->destroy(object, tidemark::assume_not_in_use));
  CHECK(!at.storage->destroy(object, tidemark::assume_not_in_use));
  CHECK(!at.storage->retire(object));
  CHECK(take_said() == texts{"an object was destroyed twice", "an object was destroyed twice"});
  CHECK(at.driver.log.take().back() == "destroy resource in 0");
}

TEST_CASE("[B5] an object that is destroyed after it was retired is destroyed once, and no object after it") {
  stand at;
  REQUIRE(at.storage);
  const auto object = at.storage->create(test_kind::resource, {}).object;
  auto opened = at.storage->open();
  opened.context.begin_recording();
  CHECK(opened.context.use(object));
  CHECK(at.storage->retire(object));
  CHECK(!at.storage->destroy(object, tidemark::assume_not_in_use));
  CHECK(!at.storage->retire(object));
  CHECK(take_said() == texts(2, "an object was retired twice"));
  CHECK(opened.context.find(object) != nullptr);  // the recording may use it
  const auto second = at.storage->create(test_kind::resource, {}).object;
  CHECK(second.index() != object.index());
  opened.context.end_recording();
  CHECK(at.storage->reclaim() == 1);
  CHECK(at.storage->immediate().find(object) == nullptr);
  CHECK(at.storage->immediate().find(second) != nullptr);

  const auto third = at.storage->create(test_kind::resource, {}).object;
  CHECK(third.index() == object.index());  // its record, which is not retired
  CHECK(at.storage->destroy(third, tidemark::assume_not_in_use));
  CHECK(at.storage->reclaim() == 0);
  CHECK(take_said().empty());
}

TEST_CASE("[B7] an object that a destroy() waits for is neither retired nor destroyed by another call") {
  stand at;
  REQUIRE(at.storage);
  const auto object = at.storage->create(test_kind::resource, {}).object;
  auto opened = at.storage->open();
  opened.context.begin_recording();
  CHECK(opened.context.use(object));
  std::function<void()> meanwhile = [&] {
    CHECK(!at.storage->retire(object));
    CHECK(!at.storage->retire(object, tidemark::assume_not_in_use));
    CHECK(at.storage->destroy_for(object, std::chrono::milliseconds{0}).status ==
          tidemark::object_destroy_status::invalid);
    CHECK(at.storage->destroy(object, tidemark::assume_not_in_use).status == tidemark::object_destroy_status::invalid);
    CHECK(take_said() == texts(4, "an object was retired twice"));
    CHECK(opened.context.find(object) != nullptr);
    opened.context.end_recording();
  };
  CHECK(at.storage->destroy(object, in_stop_look{meanwhile}));
  CHECK(!meanwhile);
  const auto next = at.storage->create(test_kind::resource, {}).object;
  CHECK(next.index() == object.index());  // its record, which nobody claims
  CHECK(at.storage->reclaim() == 0);
  opened.context.begin_recording();
  CHECK(opened.context.use(next));
  CHECK(at.storage->destroy_for(next, std::chrono::milliseconds{0}).status == tidemark::object_destroy_status::timeout);
  CHECK(at.storage->retire(next));  // it is the caller's again
  CHECK(at.storage->reclaim() == 0);
  opened.context.end_recording();
  CHECK(at.storage->reclaim() == 1);
  CHECK(take_said().empty());
}

TEST_CASE("the immediate context that is closed stays open, and a storage of nothing is absent") {
  stand at;
  REQUIRE(at.storage);
  at.storage->immediate().close();
  CHECK(at.storage->immediate().is_open());
  CHECK(!storage_type::make(test_maker{at.driver}, {.max_objects = 0}, {&at.ledger}));
  CHECK(take_said() == texts{"the immediate context can't be closed", "a storage has contexts and objects"});
}
