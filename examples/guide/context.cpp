// SPDX-License-Identifier: BSL-1.0
// The program of docs/guide-context.md: threads that record against the same objects.

#include "expect.hpp"

#include <tidemark/context/storage.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <thread>

namespace {

using guide::expect;

// What a context knows of a texture or of a view. Each context has its own.
struct texture_state {
  bool is_bound = false;
  const std::uint32_t* width = nullptr;  // read-only data, which all contexts share
};
struct view_state {
  texture_state* texture = nullptr;  // of the same context
};
static_assert(tidemark::lines_of_block(sizeof(texture_state)) <= 1);

struct driver {
  enum class kind { texture, view };
  struct description {
    std::uint32_t width;
    void* texture;
  };
  static constexpr std::size_t most_dependencies = 1;

  std::size_t list_block_sizes(std::span<tidemark::block_size<kind>> sizes) const noexcept {
    const tidemark::block_size<kind> all[] = {{kind::texture, sizeof(texture_state)}, {kind::view, sizeof(view_state)}};
    for (std::size_t i = 0; i < sizes.size() && i < 2; ++i) sizes[i] = all[i];
    return 2;
  }
  tidemark::block_layout immediate_layout(kind of, const description&) const noexcept {
    if (of == kind::view) return {.bytes = sizeof(view_state)};
    return {.bytes = sizeof(texture_state), .read_only_bytes = sizeof(std::uint32_t)};
  }
  std::size_t deferred_bytes(kind of, const void*) const noexcept {
    return of == kind::view ? sizeof(view_state) : sizeof(texture_state);
  }
  void set_dependency(description& changed, std::size_t, void* block) noexcept { changed.texture = block; }

  bool create(const tidemark::block_arguments<kind, description>& given) noexcept {
    if (given.kind == kind::view) {
      ::new (given.block) view_state{static_cast<texture_state*>(given.description->texture)};
      return true;
    }
    if (given.context == tidemark::immediate_context) {
      ::new (given.read_only_to_fill.data()) std::uint32_t{given.description->width};
    }
    ::new (given.block) texture_state{false, reinterpret_cast<const std::uint32_t*>(given.read_only.data())};
    return true;
  }
  void destroy(tidemark::context_id, kind, void*) noexcept {}  // nothing to do: the storage has the memory
};

void record_on_two_threads() {
  auto storage = tidemark::context_storage<driver>::make(driver{});
  if (!storage) return expect(false, "there is memory");
  const auto texture = storage->create(driver::kind::texture, {.width = 64, .texture = nullptr});
  const auto view = storage->create(driver::kind::view, {}, {texture.object});
  expect(texture && view, "both have their blocks in the immediate context");

  const auto record = [&](bool binds) {
    auto opened = storage->open();  // takes no memory yet
    if (!opened) return;
    opened.context.begin_recording();
    if (const auto used = opened.context.use(view.object)) {  // the first use creates the blocks, the texture's first
      texture_state& state = *used.as<view_state>().texture;
      expect(!state.is_bound, "no other context writes here");
      state.is_bound = binds;
      expect(*state.width == 64, "the width is shared");
    }
    opened.context.end_recording();
  };  // closes the context, and gives its memory back
  std::thread first{record, true};
  std::thread second{record, false};
  first.join();
  second.join();
}

void destroy_while_others_record() {
  auto storage = tidemark::context_storage<driver>::make(driver{});
  if (!storage) return expect(false, "there is memory");
  auto opened = storage->open();
  const auto texture = storage->create(driver::kind::texture, {.width = 64, .texture = nullptr});
  opened.context.begin_recording();
  expect(bool{opened.context.use(texture.object)}, "it has a block now");

  storage->retire(texture.object);  // never waits: notes which recordings may use it
  expect(storage->reclaim() == 0, "one of them is open");
  opened.context.end_recording();
  expect(storage->reclaim() == 1, "now all of its blocks are gone");
  expect(opened.context.find(texture.object) == nullptr, "and its id is stale");
}

}  // namespace

int main() {
  record_on_two_threads();
  destroy_while_others_record();
  return guide::result("guide_context");
}
