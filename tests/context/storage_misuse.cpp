// SPDX-License-Identifier: BSL-1.0
//
// Misuse of context storage is reported through TIDEMARK_ASSERT.
#include "support/misuse_hook.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <utility>

#include <tidemark/context/storage.hpp>

#include "support/blocks.hpp"

using namespace testing;

namespace {

using storage_type = tidemark::context_storage<test_maker, counting_source>;

struct stand {
  test_driver driver;
  block_ledger ledger;
  std::optional<storage_type> storage = storage_type::make(test_maker{driver}, {.max_contexts = 2}, {&ledger});
  tidemark::object_id object = storage->create(test_kind::resource, {}).object;
};

}  // namespace

TEST_CASE("[D27][trap 33] a size that the maker has not listed for the kind is reported") {
  for (const std::size_t unlisted : {0u, 23u, 40u, 25u}) {  // 40 is a view's
    CHECK(reported_by([&] {
            stand at;
            static_cast<void>(at.storage->create(test_kind::resource, {.deferred = unlisted}));
          }) == "a maker told a size of deferred blocks that it has not listed");
  }
  CHECK(reported_by([&] {
          stand at;
          static_cast<void>(at.storage->create(test_kind::resource, {.read_only = 25, .replicate = 1}));
        }) == "a maker told a size of deferred blocks that it has not listed");
}

TEST_CASE("an object that is destroyed or retired twice is reported") {
  CHECK(reported_by([] {
          stand at;
          static_cast<void>(at.storage->destroy(at.object, tidemark::assume_not_in_use));
          static_cast<void>(at.storage->destroy(at.object, tidemark::assume_not_in_use));
        }) == "an object was destroyed twice");
  CHECK(reported_by([] {
          stand at;
          at.storage->retire(at.object);
          at.storage->retire(at.object);
        }) == "an object was retired twice");
  CHECK(reported_by([] {
          stand at;
          at.storage->retire(at.object);
          static_cast<void>(at.storage->destroy(at.object, tidemark::assume_not_in_use));
        }) == "an object was retired twice");
  CHECK(reported_by([] {
          stand at;
          static_cast<void>(at.storage->destroy(at.object, tidemark::assume_not_in_use));
          at.storage->retire(at.object);
        }) == "an object was destroyed twice");
  CHECK(reported_by([] {
          stand at;
          at.storage->retire({});
        }) == "an object was destroyed twice");
}

TEST_CASE("a use outside a recording, and recordings that do not match, are reported") {
  CHECK(reported_by([] {
          stand at;
          static_cast<void>(at.storage->immediate().use(at.object));
        }) == "an object was used by a context that does not record");
  CHECK(reported_by([] {
          stand at;
          at.storage->immediate().begin_recording();
          at.storage->immediate().begin_recording();
        }) == "a context began to record twice");
  CHECK(reported_by([] {
          stand at;
          at.storage->immediate().end_recording();
        }) == "a context ended a recording that it had not begun");
  CHECK(reported_by([] {
          stand at;
          at.storage->immediate().begin_recording();
          static_cast<void>(at.storage->immediate().use({1u << 20, 1}));
        }) == "this is no object of the storage");
}

TEST_CASE("[D5] a storage that goes before its contexts, and an immediate context that is closed, are reported") {
  CHECK(reported_by([] {
          stand at;
          auto opened = at.storage->open();
          at.storage.reset();
        }) == "a storage was destroyed before its contexts");
  CHECK(reported_by([] {
          stand at;
          at.storage->immediate().begin_recording();
          at.storage.reset();
        }) == "a storage was destroyed while a context was recording");
  CHECK(reported_by([] { stand{}.storage->immediate().close(); }) == "the immediate context can't be closed");
  CHECK(reported_by([] {
          stand at;
          static_cast<void>(storage_type::make(test_maker{at.driver}, {.max_contexts = 0}, {&at.ledger}));
        }) == "a storage has contexts and objects");
  CHECK(reported_by([] { static_cast<void>(tidemark::block_use_result{}.as<int>()); }) == "there is no block");
}
