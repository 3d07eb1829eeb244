// SPDX-License-Identifier: BSL-1.0
//
// Context storage: objects that depend on one another in long chains. A chain may be as long as there may be objects,
// whatever the stack of the thread, and the costs of one more object do not grow with the chain.
#include "support/noted_misuse.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <tidemark/context/storage.hpp>

#include "support/crowd.hpp"

using namespace testing;
using tidemark::block_use_status;
using tidemark::object_destroy_status;
using tidemark::object_id;

namespace {

std::uint64_t loads = 0;  // of variables

template <class T>
class counted_var : public tidemark::native_platform::var<T> {
 public:
  using tidemark::native_platform::var<T>::var;
  T load() const noexcept {
    ++loads;
    return tidemark::native_platform::var<T>::load();
  }
};
struct loading_platform : tidemark::native_platform {
  template <class T>
  using var = counted_var<T>;
};

/// A block: the blocks that it needs.
struct link {
  link* needs[2] = {nullptr, nullptr};
  std::uint32_t needed_by = 0;  // blocks that are alive
};

/// What a maker notes.
struct notes {
  std::uint32_t created = 0;
  std::uint32_t destroyed_too_early = 0;
  std::uint32_t alive = 0;
  std::uint32_t refuses_at = UINT32_MAX;  // the creation in a deferred context that is refused
  std::function<void()> in_create;        // called once, in a deferred context
};

struct link_maker {
  enum class kind : std::uint8_t { link };
  // Large, so that a stack could not hold one for each object of a chain.
  struct description {
    link* needs[2];
    std::byte other[512];
  };
  static constexpr std::size_t max_dependencies = 2;

  std::size_t list_block_sizes(std::span<tidemark::block_size<kind>> sizes) const noexcept {
    if (!sizes.empty()) sizes[0] = {kind::link, sizeof(link), 0};
    return 1;
  }
  tidemark::block_layout immediate_layout(kind, const description&) const noexcept { return {sizeof(link), 0, false}; }
  std::size_t deferred_bytes(kind, const void*) const noexcept { return sizeof(link); }
  void set_dependency(description& described, std::size_t which, void* block) const noexcept {
    described.needs[which] = static_cast<link*>(block);
  }
  bool create(const tidemark::block_arguments<kind, description>& of) const noexcept {
    if (of.context != tidemark::immediate_context) {
      if (noted->in_create) std::exchange(noted->in_create, nullptr)();
      if (noted->created++ == noted->refuses_at) return false;
    }
    auto& made = *::new (of.block) link;
    ++noted->alive;
    if (of.description == nullptr) return true;
    for (std::size_t i = 0; i < 2; ++i) {
      made.needs[i] = of.description->needs[i];
      if (made.needs[i] != nullptr) ++made.needs[i]->needed_by;
    }
    return true;
  }
  void destroy(tidemark::context_id, kind, void* block) const noexcept {
    auto& gone = *static_cast<link*>(block);
    if (gone.needed_by != 0) ++noted->destroyed_too_early;
    for (link* each : gone.needs) {
      if (each != nullptr) --each->needed_by;
    }
    --noted->alive;
  }

  notes* noted;
};
using storage_type = tidemark::context_storage<link_maker, tidemark::heap_source, loading_platform>;
constexpr auto kind = link_maker::kind::link;

struct stand {
  explicit stand(std::uint32_t most)
      : storage{storage_type::make(link_maker{&noted}, {.max_contexts = 3, .max_objects = most})} {
    REQUIRE(storage);
  }
  /// Makes a chain, and returns its ends: what needs all others, and what needs nothing.
  std::vector<object_id> make_chain(std::uint32_t length) {
    std::vector<object_id> made;
    for (std::uint32_t i = 0; i < length; ++i) {
      const auto one = i == 0 ? storage->create(kind, {}) : storage->create(kind, {}, {made.back()});
      REQUIRE(one);
      made.push_back(one.object);
    }
    return made;
  }
  /// Uses an object in a context of its own, and closes that. Returns how many loads the two took.
  std::pair<std::uint64_t, std::uint64_t> use_and_close(object_id object) {
    auto opened = storage->open();
    opened.context.begin_recording();
    const std::uint64_t before = loads;
    CHECK(opened.context.use(object));
    const std::uint64_t between = loads;
    opened.context.end_recording();
    opened.context.close();
    return {between - before, loads - between};
  }

  notes noted;
  std::optional<storage_type> storage;
};

}  // namespace

TEST_CASE("[D8][D9][D10] a chain of as many objects as there may be is used, closed and destroyed on a small stack") {
  constexpr std::uint32_t length = 65'536;
  notes seen;
  bool is_full = false;
  crowd small;
  REQUIRE(small.start([&] {
    stand at{length};
    const auto chain = at.make_chain(length);
    is_full = at.storage->create(kind, {}).status == tidemark::object_create_status::no_space;
    static_cast<void>(at.use_and_close(chain.back()));
    CHECK(at.noted.alive == length);
    {
      auto opened = at.storage->open();
      opened.context.begin_recording();
      CHECK(opened.context.use(chain.back()));
      opened.context.end_recording();
      CHECK(at.noted.alive == 2 * length);
      for (const object_id& each : chain) {
        const auto gone = at.storage->destroy(each, tidemark::assume_not_in_use);
        CHECK(gone.status ==
              (each == chain.back() ? object_destroy_status::destroyed : object_destroy_status::retired));
      }
      CHECK(at.noted.alive == 0);
    }
    static_cast<void>(at.make_chain(length));
    at.storage.reset();
    seen = at.noted;
  }));
  small.join();
  CHECK(is_full);
  CHECK(seen.created == 2 * length);
  CHECK(seen.destroyed_too_early == 0);
  CHECK(seen.alive == 0);
}

TEST_CASE("[D10] a chain that is 16 times as long costs about 16 times as much, in its use and its end") {
  stand at{20'000};
  const auto few = at.use_and_close(at.make_chain(1000).back());
  const auto many = at.use_and_close(at.make_chain(16'000).back());
  CHECK(many.first < 32 * few.first);
  CHECK(many.second < 32 * few.second);
}

TEST_CASE("[D9][D10] objects that need one another twice over have one block each, in the right order") {
  constexpr std::uint32_t length = 200;
  stand at{length};
  std::vector<object_id> made;
  for (std::uint32_t i = 0; i < length; ++i) {
    const auto one = i == 0   ? at.storage->create(kind, {})
                     : i == 1 ? at.storage->create(kind, {}, {made[0]})
                              : at.storage->create(kind, {}, {made[i - 2], made[i - 1]});
    REQUIRE(one);
    made.push_back(one.object);
  }
  static_cast<void>(at.use_and_close(made.back()));
  CHECK(at.noted.created == length);
  CHECK(at.noted.alive == length);
  at.storage.reset();
  CHECK(at.noted.destroyed_too_early == 0);
}

TEST_CASE("[D10] a maker refuses a block in the middle of a chain, and a later use goes on from there") {
  constexpr std::uint32_t length = 100;
  stand at{length};
  const auto chain = at.make_chain(length);
  auto opened = at.storage->open();
  opened.context.begin_recording();
  at.noted.refuses_at = 40;
  CHECK(opened.context.use(chain.back()).status == block_use_status::no_memory);
  CHECK(at.noted.alive == length + 40);
  CHECK(opened.context.find(chain[39]) != nullptr);
  for (std::uint32_t i = 40; i < length; ++i) CHECK(opened.context.find(chain[i]) == nullptr);
  CHECK(opened.context.use(chain[60]));
  CHECK(opened.context.use(chain.back()));
  CHECK(at.noted.alive == 2 * length);
  CHECK(at.noted.created == length + 1);
  // What has no block is destroyed and made anew meanwhile.
  opened.context.end_recording();
  opened.context.close();
  auto again = at.storage->open();
  again.context.begin_recording();
  at.noted.refuses_at = at.noted.created;
  CHECK(again.context.use(chain.back()).status == block_use_status::no_memory);
  for (const object_id& each : chain) {
    const auto gone = at.storage->destroy(each, tidemark::assume_not_in_use);
    CHECK(gone.status == (each == chain.back() ? object_destroy_status::destroyed : object_destroy_status::retired));
  }
  const auto anew = at.make_chain(length);
  for (const object_id& each : anew) CHECK(again.context.find(each) == nullptr);
  CHECK(again.context.use(anew.back()));
  CHECK(at.noted.alive == 2 * length);
}

TEST_CASE("a maker uses other objects while it creates the blocks of a chain") {
  stand at{100};
  const auto chain = at.make_chain(20);
  const auto other = at.make_chain(20);
  const auto third = at.make_chain(20);
  auto opened = at.storage->open();
  opened.context.begin_recording();
  at.noted.in_create = [&] {
    at.noted.in_create = [&] { CHECK(opened.context.use(third.back())); };
    CHECK(opened.context.use(other.back()));
  };
  CHECK(opened.context.use(chain.back()));
  CHECK(at.noted.created == 60);
  CHECK(at.noted.alive == 120);
  CHECK(take_said().empty());
  opened.context.end_recording();
  opened.context.close();
  CHECK(at.noted.destroyed_too_early == 0);
}

TEST_CASE("a maker uses what needs the block that it creates: each object has one block, and the misuse is reported") {
  for (int which = 0; which < 4; ++which) {
    CAPTURE(which);
    constexpr std::uint32_t length = 20;
    stand at{length};
    const auto chain = at.make_chain(length);
    auto opened = at.storage->open();
    auto& in = opened.context;
    in.begin_recording();
    const auto use = [&] {
      // The whole chain, a part of it, or a part whose first block is refused.
      if (which == 3) at.noted.refuses_at = at.noted.created;
      const auto used = in.use(chain[which == 0 ? length - 1 : 9]);
      CHECK(static_cast<bool>(used) == (which != 3));
    };
    if (which == 2) CHECK(in.use(chain[3]));
    at.noted.in_create = use;
    const auto used = in.use(chain.back());
    CHECK(used);
    CHECK(in.find(chain.back()) == used.block);
    const char* const text = "a maker used the object whose block it was creating";
    CHECK(take_said() == texts(which == 3 ? 0 : 1, text));
    for (const object_id& each : chain) CHECK(in.find(each) != nullptr);
    CHECK(at.noted.alive == 2 * length);
    in.end_recording();
    in.close();
    CHECK(at.noted.alive == length);
    CHECK(at.noted.destroyed_too_early == 0);
  }
}
