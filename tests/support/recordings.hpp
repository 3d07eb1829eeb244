// SPDX-License-Identifier: BSL-1.0
//
// For tests of recording contexts: a storage with command contexts, a sink that writes down what it is told, and an
// executor of a queue that runs in the test's own thread.
#ifndef TIDEMARK_TESTS_SUPPORT_RECORDINGS_HPP
#define TIDEMARK_TESTS_SUPPORT_RECORDINGS_HPP

#include <doctest/doctest.h>

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tidemark/context/command_context.hpp>
#include <tidemark/context/storage.hpp>

#include "blocks.hpp"

namespace testing {

/// What a sink was told: "no_memory in 2".
struct error_log {
  std::vector<std::string> told;
};

struct noting_sink {
  void operator()(tidemark::context_id in, tidemark::context_error error) noexcept {
    static constexpr const char* names[] = {"no_memory", "no_space", "stale", "invalid", "refused", "lost"};
    log->told.push_back(std::string(names[static_cast<std::size_t>(error)]) + " in " + std::to_string(to_number(in)));
  }
  error_log* log;
};

using recorded_storage = tidemark::context_storage<test_maker, counting_source>;

/// A storage with some deferred contexts that record for a `Queue`. Each has a source of its own, and so has the
/// storage.
template <class Queue>
struct recording_stand {
  using context_type = tidemark::command_context<recorded_storage, Queue, noting_sink, counting_source>;

  explicit recording_stand(std::uint32_t contexts = 1)
      : storage{recorded_storage::make(test_maker{driver}, {.max_contexts = 8}, {&blocks})} {
    REQUIRE(storage);
    immediate.emplace(*storage, noting_sink{&immediate_errors}, counting_source{&immediate_lists});
    for (std::uint32_t i = 0; i < contexts; ++i) open();
  }
  ~recording_stand() {
    deferred.clear();
    immediate.reset();
    storage.reset();
    for (const auto& each : lists) CHECK(each->bytes == 0);
    CHECK(immediate_lists.bytes == 0);
    CHECK(blocks.bytes == 0);
    CHECK(driver.names.empty());
  }

  context_type& open() {
    auto opened = storage->open();
    REQUIRE(opened);
    lists.push_back(std::make_unique<block_ledger>());
    errors.push_back(std::make_unique<error_log>());
    return deferred.emplace_back(*storage, std::move(opened.context), noting_sink{errors.back().get()},
                                 counting_source{lists.back().get()});
  }
  tidemark::object_id resource() { return immediate->create(test_kind::resource, {}); }
  tidemark::object_id view_of(tidemark::object_id needed) {
    return immediate->create(test_kind::view, {.deferred = 40}, {needed});
  }

  test_driver driver;
  block_ledger blocks;
  block_ledger immediate_lists;
  error_log immediate_errors;
  std::vector<std::unique_ptr<block_ledger>> lists;  // of each deferred context
  std::vector<std::unique_ptr<error_log>> errors;    // of each deferred context
  std::optional<recorded_storage> storage;
  std::optional<context_type> immediate;
  std::deque<context_type> deferred;
};

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_RECORDINGS_HPP
