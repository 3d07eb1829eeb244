// SPDX-License-Identifier: BSL-1.0
// The program of docs/guide-context.md: threads that record against the same objects, and lists of commands.

#include "expect.hpp"

#include <tidemark/context/command_context.hpp>
#include <tidemark/context/renamed_resource.hpp>
#include <tidemark/context/storage.hpp>
#include <tidemark/engine/engine.hpp>
#include <tidemark/engine/engine_queue.hpp>
#include <tidemark/fence/fence.hpp>
#include <tidemark/queue/queue.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <thread>
#include <utility>
#include <vector>

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
  static constexpr std::size_t max_dependencies = 1;

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

// Where the errors of one context go.
void destroy_at_once() {
  auto storage = tidemark::context_storage<driver>::make(driver{});
  if (!storage) return expect(false, "there is memory");
  const auto texture = storage->create(driver::kind::texture, {.width = 64, .texture = nullptr});
  const auto view = storage->create(driver::kind::view, {}, {texture.object});

  const auto kept = storage->destroy(texture.object, tidemark::assume_not_in_use);
  expect(kept.status == tidemark::object_destroy_status::retired, "the view depends on it");
  expect(bool{storage->destroy(view.object)}, "no recording is open, and now both are gone");
}

struct error_note {
  void operator()(tidemark::context_id, tidemark::context_error error) noexcept {
    if (error == tidemark::context_error::no_memory) *is_out_of_memory = true;
  }
  bool* is_out_of_memory;
};

// Memory for lists, of which there is a little only.
struct short_source {
  using backing = std::byte*;
  backing create(const tidemark::backing_traits& traits) noexcept {
    if (traits.bytes > *bytes_left) return nullptr;
    *bytes_left -= traits.bytes;
    return tidemark::heap_source{}.create(traits);
  }
  void destroy(backing made, const tidemark::backing_traits& traits) noexcept {
    *bytes_left += traits.bytes;
    tidemark::heap_source{}.destroy(made, traits);
  }
  std::size_t* bytes_left;
};

void record_commands() {
  using storage_type = tidemark::context_storage<driver>;
  auto storage = storage_type::make(driver{});
  if (!storage) return expect(false, "there is memory");
  const auto texture = storage->create(driver::kind::texture, {.width = 64, .texture = nullptr});
  tidemark::engine engine;
  tidemark::engine_queue queue{engine};
  tidemark::fence uploaded;
  tidemark::fence drawn;
  std::uint32_t width = 0;
  bool is_out_of_memory = false;

  auto opened = storage->open();
  if (!opened) return expect(false, "a context is free");
  tidemark::command_context<storage_type, tidemark::engine_queue, error_note> recording{
      *storage, std::move(opened.context), error_note{&is_out_of_memory}};
  recording.begin_recording();
  recording.wait(uploaded, 1);
  if (const auto used = recording.use(texture.object)) {
    auto& state = used.as<texture_state>();
    state.is_bound = true;
    recording.run([&width, now = *state.width] { width = now; });  // a copy: the block may change before this runs
  }
  recording.signal(drawn, 1);
  auto finished = recording.finish();
  if (!finished) return expect(false, "there was memory for the list");

  finished.list.record_on(queue);  // the engine parks the queue until the texture is uploaded
  expect(bool{queue.submit()}, "the queue accepts it");
  uploaded.signal(1);
  expect(drawn.wait(1) == tidemark::wait_status::reached && width == 64, "the list was executed");
  expect(queue.drain() == tidemark::wait_status::reached && !is_out_of_memory, "all is well");
}

void run_out_of_memory() {
  using storage_type = tidemark::context_storage<driver>;
  auto storage = storage_type::make(driver{});
  if (!storage) return expect(false, "there is memory");
  tidemark::progress_fence progress;
  tidemark::queue queue{progress};
  std::size_t bytes_left = 4096;
  bool is_out_of_memory = false;
  auto opened = storage->open();
  if (!opened) return expect(false, "a context is free");
  tidemark::command_context<storage_type, tidemark::queue, error_note, short_source> recording{
      *storage, std::move(opened.context), error_note{&is_out_of_memory}, short_source{&bytes_left}};

  recording.begin_recording();
  for (int i = 0; i < 1000; ++i) recording.run([] {});  // the first ones are recorded, the last ones do nothing
  expect(is_out_of_memory, "the sink was told");
  expect(bytes_left == 4096, "and what was recorded is gone already");
  expect(recording.finish().status == tidemark::finish_status::no_memory, "which the program learns here");

  int executed = 0;
  recording.begin_recording();  // clean
  recording.run([&executed] { ++executed; });
  auto finished = recording.finish();
  expect(finished.list.execute_on(queue) == tidemark::wait_status::reached, "by the executor of the queue");
  expect(executed == 1, "the list was executed");
}

struct error_list {
  void operator()(tidemark::context_id, tidemark::context_error error) noexcept { errors->push_back(error); }
  std::vector<tidemark::context_error>* errors;
};

void lose_the_device() {
  using storage_type = tidemark::context_storage<driver>;
  auto storage = storage_type::make(driver{});
  if (!storage) return expect(false, "there is memory");
  tidemark::fence device;  // poisoned when the device is lost
  std::vector<tidemark::context_error> errors;
  auto opened = storage->open();
  if (!opened) return expect(false, "a context is free");
  tidemark::command_context<storage_type, tidemark::queue, error_list, tidemark::heap_source, tidemark::fence_view>
      recording{device.view(), *storage, std::move(opened.context), error_list{&errors}};

  recording.begin_recording();
  recording.run([] {});
  device.poison();
  recording.run([] {});  // the first call that meets it: the recording is removed, and the sink is called
  expect(errors == std::vector{tidemark::context_error::lost}, "once");
  recording.run([] {});  // does nothing
  expect(recording.finish().status == tidemark::finish_status::lost, "which the program learns here");
}

struct quiet {
  void operator()(tidemark::context_id, tidemark::context_error) noexcept {}
};

void rename_in_a_recording() {
  using storage_type = tidemark::context_storage<driver>;
  auto storage = storage_type::make(driver{});
  if (!storage) return expect(false, "there is memory");
  tidemark::engine engine;
  tidemark::engine_queue queue{engine};
  tidemark::fence drawn;
  auto opened = storage->open();
  if (!opened) return expect(false, "a context is free");
  std::byte seen{0};

  tidemark::renamed_resource texture{tidemark::fence_view{drawn}, {.bytes = 4096, .max_renames = 8}};
  texture.current()[0] = std::byte{1};
  tidemark::command_context<storage_type, tidemark::engine_queue, quiet> recording{*storage, std::move(opened.context),
                                                                                   quiet{}};
  recording.begin_recording();
  if (const auto mapped = recording.map(texture, tidemark::map_mode::discard)) mapped.memory[0] = std::byte{2};
  recording.run([&seen, bound = recording.bind(texture)] { seen = bound.memory()[0]; });
  recording.signal(drawn, 1);
  auto finished = recording.finish();
  expect(texture.current()[0] == std::byte{1}, "the thread that submits has not noticed");

  finished.list.adopt(1);  // the list is over once `drawn` is 1
  expect(texture.current()[0] == std::byte{2}, "what the recording has written is current");
  finished.list.record_on(queue);
  expect(bool{queue.submit()}, "the queue accepts it");

  expect(queue.drain() == tidemark::wait_status::reached && seen == std::byte{2}, "the command has found it");
}

}  // namespace

int main() {
  record_on_two_threads();
  destroy_while_others_record();
  record_commands();
  run_out_of_memory();
  lose_the_device();
  destroy_at_once();
  rename_in_a_recording();
  return guide::result("guide_context");
}
