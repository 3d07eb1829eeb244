// SPDX-License-Identifier: BSL-1.0
//
// Blocks of objects in contexts. Times are for one use of an object, which finds its block.
//
//   look_up/<subject>/<objects>      one thread, all objects in random order
//   look_up_two/<subject>/<objects>  while a thread on another core does the same in a context of its own
//   write_two/<layout>/2             two threads write, each to a field of its own. The fields lie in one line
//                                    (unpadded), two lines (padded), or in the blocks of two contexts (storage)
//   first_use/storage/<objects>      a context's first use of each object, which creates its block
//   memory/storage/<objects>         `bytes` that an object takes in each deferred context that uses it, of which
//                                    `block` are the block's; and in the immediate one
#include <benchmark/benchmark.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tidemark/context/storage.hpp>

#include "peers/block_maps.hpp"
#include "support/measure.hpp"
#include "support/threads.hpp"

namespace {

using benchmark::State;
using tidemark::object_id;

constexpr std::size_t unrolled = 16;
// How many uses make a round: a power of two, and more than a processor learns by heart. All objects are used, as in a
// recording: few of them stay in the first-level cache, many don't.
constexpr std::size_t asked_in_turn = 65'536;

struct block_state {
  std::uint64_t bound = 0;
};

struct plain_maker {
  enum class kind { only };
  struct description {};
  static constexpr std::size_t max_dependencies = 1;

  std::size_t list_block_sizes(std::span<tidemark::block_size<kind>> sizes) const noexcept {
    if (!sizes.empty()) sizes[0] = {kind::only, sizeof(block_state)};
    return 1;
  }
  tidemark::block_layout immediate_layout(kind, const description&) const noexcept { return {sizeof(block_state)}; }
  std::size_t deferred_bytes(kind, const void*) const noexcept { return sizeof(block_state); }
  void set_dependency(description&, std::size_t, void*) noexcept {}
  bool create(const tidemark::block_arguments<kind, description>& given) noexcept {
    ::new (given.block) block_state;
    return true;
  }
  void destroy(tidemark::context_id, kind, void*) noexcept {}
};

/// Counts the bytes that it has given out. For one thread.
struct counting_source {
  using backing = std::byte*;

  std::byte* create(const tidemark::backing_traits& traits) noexcept {
    *bytes += traits.bytes;
    return heap.create(traits);
  }
  void destroy(std::byte* made, const tidemark::backing_traits& traits) noexcept {
    *bytes -= traits.bytes;
    heap.destroy(made, traits);
  }

  std::size_t* bytes;
  tidemark::heap_source heap{};
};

std::vector<std::uint32_t> random_order(std::uint32_t objects) {
  std::mt19937 random{objects};
  std::vector<std::uint32_t> made(asked_in_turn);
  for (std::uint32_t& each : made) each = static_cast<std::uint32_t>(random() % objects);
  return made;
}

// ---- subjects: use(context, turn) returns a block -------------------------------------------------------------------

class storage_subject {
 public:
  using storage_type = tidemark::context_storage<plain_maker>;

  explicit storage_subject(std::uint32_t objects) {
    for (auto& each : opened_) {
      each = std::move(storage_->open().context);
      each.begin_recording();
    }
    std::vector<object_id> made;
    for (std::uint32_t i = 0; i < objects; ++i) made.push_back(storage_->create(plain_maker::kind::only, {}).object);
    for (const std::uint32_t which : random_order(objects)) asked_.push_back(made[which]);
  }
  ~storage_subject() {
    for (auto& each : opened_) each.close();
  }

  void* use(std::size_t context, std::uint64_t turn) {
    return opened_[context].use(asked_[turn % asked_in_turn]).block;
  }

 private:
  std::optional<storage_type> storage_ = storage_type::make({});
  std::array<storage_type::context, 2> opened_;
  std::vector<object_id> asked_;
};

class map_subject {
 public:
  explicit map_subject(std::uint32_t objects) : asked_{random_order(objects)} {
    for (int i = 0; i < 2; ++i) maps_.emplace_back(objects);
  }
  void* use(std::size_t context, std::uint64_t turn) { return maps_[context].use(asked_[turn % asked_in_turn]); }

 private:
  std::vector<bench::map_of_context<std::uint32_t>> maps_;
  std::vector<std::uint32_t> asked_;
};

/// Objects are known by their addresses.
class pointer_map_subject {
 public:
  struct object {
    std::array<std::byte, 200> content{};
  };

  explicit pointer_map_subject(std::uint32_t objects) {
    for (int i = 0; i < 2; ++i) maps_.emplace_back(objects);
    for (std::uint32_t i = 0; i < objects; ++i) objects_.push_back(std::make_unique<object>());
    for (const std::uint32_t which : random_order(objects)) asked_.push_back(objects_[which].get());
  }
  void* use(std::size_t context, std::uint64_t turn) { return maps_[context].use(asked_[turn % asked_in_turn]); }

 private:
  std::vector<bench::map_of_context<const object*>> maps_;
  std::vector<std::unique_ptr<object>> objects_;
  std::vector<const object*> asked_;
};

class shared_map_subject {
 public:
  explicit shared_map_subject(std::uint32_t objects) : map_{objects}, asked_{random_order(objects)} {}
  void* use(std::size_t context, std::uint64_t turn) {
    return map_.use(static_cast<std::uint32_t>(context), asked_[turn % asked_in_turn]);
  }

 private:
  bench::map_of_all map_;
  std::vector<std::uint32_t> asked_;
};

template <class Subject>
void look_up(State& state, std::uint32_t objects) {
  Subject subject{objects};
  for (std::uint64_t turn = 0; turn < asked_in_turn; ++turn) benchmark::DoNotOptimize(subject.use(0, turn));
  bench::measure_blocks<unrolled>(state,
                                  [&subject](std::uint64_t value) { benchmark::DoNotOptimize(subject.use(0, value)); });
}

template <class Subject>
void look_up_two(State& state, std::uint32_t objects) {
  Subject subject{objects};
  for (std::uint64_t turn = 0; turn < asked_in_turn; ++turn) {
    benchmark::DoNotOptimize(subject.use(0, turn));
    benchmark::DoNotOptimize(subject.use(1, turn));
  }
  std::uint64_t others = 0;
  bench::measure_beside<unrolled>(
      state,
      [&] {
        for (int i = 0; i < 64; ++i) benchmark::DoNotOptimize(subject.use(1, ++others));
      },
      [&subject](std::uint64_t value) { benchmark::DoNotOptimize(subject.use(0, value)); });
}

// ---- two writers ----------------------------------------------------------------------------------------------------

template <std::size_t Distance>
struct fields_of_two {
  struct alignas(Distance) field {
    std::atomic<std::uint64_t> bound{0};
  };
  std::atomic<std::uint64_t>& of(std::size_t writer) { return fields[writer].bound; }
  alignas(128) std::array<field, 2> fields;
};

class blocks_of_two {
 public:
  blocks_of_two() {
    const object_id object = storage_->create(plain_maker::kind::only, {}).object;
    for (std::size_t i = 0; i < 2; ++i) {
      opened_[i] = std::move(storage_->open().context);
      opened_[i].begin_recording();
      fields_[i] = ::new (opened_[i].use(object).block) std::atomic<std::uint64_t>{0};
    }
  }
  ~blocks_of_two() {
    for (auto& each : opened_) each.close();
  }
  std::atomic<std::uint64_t>& of(std::size_t writer) { return *fields_[writer]; }

 private:
  std::optional<storage_subject::storage_type> storage_ = storage_subject::storage_type::make({});
  std::array<storage_subject::storage_type::context, 2> opened_;
  std::array<std::atomic<std::uint64_t>*, 2> fields_{};
};

template <class Fields>
void write_two(State& state) {
  const bench::escaped<Fields> both;
  std::atomic<std::uint64_t>& here = both->of(0);
  std::atomic<std::uint64_t>& there = both->of(1);
  const auto add_to = [](std::atomic<std::uint64_t>& field) {
    field.store(field.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  };
  bench::measure_beside<unrolled>(
      state,
      [&] {
        for (int i = 0; i < 64; ++i) add_to(there);
      },
      [&](std::uint64_t) { add_to(here); });
}

// ---- first use, and memory ------------------------------------------------------------------------------------------

void first_use(State& state, std::uint32_t objects) {
  auto storage = tidemark::context_storage<plain_maker>::make({});
  std::vector<object_id> made;
  for (std::uint32_t i = 0; i < objects; ++i) made.push_back(storage->create(plain_maker::kind::only, {}).object);
  std::vector<double> samples;
  std::uint64_t refused = 0;
  for (auto _ : state) {
    auto opened = storage->open();
    if (!opened) return state.SkipWithError("no context");
    opened.context.begin_recording();
    const auto start = bench::steady::now();
    for (const object_id each : made) {
      if (!opened.context.use(each)) ++refused;
    }
    samples.push_back(bench::nanoseconds_between(start, bench::steady::now()));
    state.SetIterationTime(samples.back() * 1e-9);
  }
  if (refused != 0) return state.SkipWithError("blocks were refused");
  bench::report_per_operation(state, std::move(samples), objects);
}

void memory(State& state, std::uint32_t objects) {
  std::size_t bytes = 0;
  double in_immediate = 0;
  double in_deferred = 0;
  for (auto _ : state) {
    auto storage = tidemark::context_storage<plain_maker, counting_source>::make({}, {}, {&bytes});
    std::vector<object_id> made;
    std::size_t before = bytes;
    for (std::uint32_t i = 0; i < objects; ++i) made.push_back(storage->create(plain_maker::kind::only, {}).object);
    in_immediate = static_cast<double>(bytes - before) / objects;
    before = bytes;
    auto opened = storage->open();
    if (!opened) return state.SkipWithError("no context");
    opened.context.begin_recording();
    for (const object_id each : made) benchmark::DoNotOptimize(opened.context.use(each).block);
    in_deferred = static_cast<double>(bytes - before) / objects;
    state.SetIterationTime(1e-9);
  }
  state.counters["bytes"] = in_deferred;
  state.counters["immediate_bytes"] = in_immediate;
  state.counters["block"] = static_cast<double>(tidemark::lines_of_block(sizeof(block_state)) * tidemark::cache_line);
}

}  // namespace

int main(int argc, char** argv) {
  for (const std::uint32_t objects : {16u, 256u, 4'096u, 65'536u}) {
    const auto add = [&](const char* name, void (*function)(State&, std::uint32_t), int items) {
      bench::row(std::string{name} + '/' + std::to_string(objects), function, objects)->Iterations(items);
    };
    add("look_up/storage", look_up<storage_subject>, 1000);
    add("look_up/unordered_map", look_up<map_subject>, 1000);
    add("look_up/unordered_map.pointer", look_up<pointer_map_subject>, 1000);
    add("look_up/shared_mutex", look_up<shared_map_subject>, 1000);
    add("look_up_two/storage", look_up_two<storage_subject>, 200);
    add("look_up_two/unordered_map", look_up_two<map_subject>, 200);
    add("look_up_two/shared_mutex", look_up_two<shared_map_subject>, 200);
    add("first_use/storage", first_use, 50);
    add("memory/storage", memory, 1);
  }
  const auto add = [](const char* name, void (*function)(State&)) { bench::row(name, function)->Iterations(200); };
  add("write_two/unpadded/2", write_two<fields_of_two<8>>);
  add("write_two/padded/2", write_two<fields_of_two<64>>);
  add("write_two/storage/2", write_two<blocks_of_two>);
  return bench::run_all(argc, argv);
}
