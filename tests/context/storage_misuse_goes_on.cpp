// SPDX-License-Identifier: BSL-1.0
//
// Misuse of context storage breaks nothing where the hook of TIDEMARK_ASSERT returns: here it notes the text.
// storage_misuse.cpp has each text with the misuse that it reports.
#include "support/noted_misuse.hpp"

#include <doctest/doctest.h>

#include <optional>

#include <tidemark/context/storage.hpp>

#include "support/blocks.hpp"

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

TEST_CASE("an object that is destroyed twice is destroyed once") {
  stand at;
  REQUIRE(at.storage);
  const auto object = at.storage->create(test_kind::resource, {}).object;
  CHECK(at.storage->destroy(object));
  CHECK(!at.storage->destroy(object));
  CHECK(!at.storage->retire(object));
  CHECK(take_said() == texts{"an object was destroyed twice", "an object was destroyed twice"});
  CHECK(at.driver.log.take().back() == "destroy resource in 0");
}

TEST_CASE("the immediate context that is closed stays open, and a storage of nothing is absent") {
  stand at;
  REQUIRE(at.storage);
  at.storage->immediate().close();
  CHECK(at.storage->immediate().is_open());
  CHECK(!storage_type::make(test_maker{at.driver}, {.max_objects = 0}, {&at.ledger}));
  CHECK(take_said() == texts{"the immediate context can't be closed", "a storage has contexts and objects"});
}
