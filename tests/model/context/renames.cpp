// SPDX-License-Identifier: BSL-1.0
//
// Model checks of resources that recordings rename: no recording gets a backing that the executor still reads, that
// another recording has, or that is current; and what is adopted is what was recorded.
#include "support/model_check.hpp"
#include "support/progress.hpp"

#include <tidemark/context/command_context.hpp>
#include <tidemark/context/renamed_resource.hpp>

#include <array>
#include <optional>
#include <utility>

namespace {

using model::heap_shape;
using model::one_slot;
using model::payload;
using model::platform;
using tidemark::map_mode;
using tidemark::wait_status;

/// Backings that are payloads, each of which is made at most once.
struct pool {
  std::array<payload, 5> cells;
  platform::atomic<unsigned> taken;
};
class pool_source {
 public:
  using backing = payload*;

  explicit pool_source(pool& from) : from_{&from} {}
  backing create(const tidemark::backing_traits&) noexcept {
    const unsigned index = from_->taken.fetch_add(1, std::memory_order_relaxed);
    MODEL_REQUIRE(index < from_->cells.size());
    from_->cells[index].store(0);
    return &from_->cells[index];
  }
  void destroy(backing made, const tidemark::backing_traits&) noexcept { made->store(-1); }

 private:
  pool* from_;
};

/// A storage without objects: contexts need no more of it here.
struct no_objects {
  struct recordings_type {
    using platform = model::platform;
  };
  struct context {
    bool is_open() const noexcept { return true; }
    tidemark::context_id id() const noexcept { return {}; }
    void begin_recording() noexcept {}
    void end_recording() noexcept {}
    bool is_creating() const noexcept { return false; }
    bool is_recording() const noexcept { return true; }  // which is asked in recordings alone
    void close() noexcept {}
  };
  using kind = int;
  using description = int;
  context& immediate() noexcept { return own; }
  context own;
};
struct no_sink {
  void operator()(tidemark::context_id, tidemark::context_error) noexcept {}
};
/// Commands are executed by whoever calls execute_on().
struct own_queue {};

void copy(payload* to, payload* from) noexcept { to->store(from->load()); }

using context_type = tidemark::command_context<no_objects, own_queue, no_sink>;
using list_type = context_type::list_type;

template <std::size_t MaxRenames, heap_shape Shape = one_slot>
struct stand {
  using fence = model::progress_fence<Shape>;
  using resource_type = tidemark::renamed_resource<model::view_of<fence>, pool_source>;

  pool memory;
  fence finished;
  std::optional<resource_type> resource;
  no_objects storage;
  own_queue queue;
  std::array<std::optional<context_type>, 2> recording;
  std::optional<list_type> list;
  platform::atomic<unsigned> step;  // how far the list has come

  void before() {
    resource.emplace(finished.view(), tidemark::rename_options{.max_renames = MaxRenames}, pool_source{memory});
    resource->current()->store(5);
    for (auto& each : recording) each.emplace(storage, no_objects::context{}, no_sink{});
  }
  void after() {
    list.reset();
    for (auto& each : recording) each.reset();
    finished.signal(9);
    resource.reset();
  }

  bool has_come_to(unsigned which) const { return step.load(std::memory_order_acquire) >= which; }
  void comes_to(unsigned which) { step.store(which, std::memory_order_release); }

  /// Records a rename to 7, and a command that reads it.
  void record(context_type& in) {
    in.begin_recording();
    const auto mapped = in.try_map(*resource, map_mode::discard);
    MODEL_REQUIRE(mapped);
    mapped.memory->store(7);
    in.run([bound = in.bind(*resource)] { MODEL_REQUIRE(bound.memory()->load() == 7); });
    list.emplace(std::move(in.finish().list));
  }
  /// Records renames that nobody adopts.
  void record_in_vain(context_type& in, int times) {
    for (int i = 0; i < times; ++i) {
      in.begin_recording();
      const auto mapped = in.try_map(*resource, map_mode::discard);
      if (mapped) {
        mapped.memory->store(8);
        MODEL_REQUIRE(mapped.memory->load() == 8);
      }
      in.abandon();
    }
  }
  /// Records a rename that nobody adopts. Waits for a backing.
  void wait_and_record_in_vain(context_type& in) {
    in.begin_recording();
    const auto mapped = in.map(*resource, map_mode::discard);
    MODEL_REQUIRE(mapped);
    mapped.memory->store(8);
    in.abandon();
  }
  void execute(std::uint64_t serial) {
    MODEL_REQUIRE(list->execute_on(queue) == wait_status::reached);
    finished.signal(serial);
  }
};

/// What a context receives whose device is lost.
struct counting_sink {
  void operator()(tidemark::context_id, tidemark::context_error error) noexcept {
    MODEL_REQUIRE(error == tidemark::context_error::lost);
    ++*told;
  }
  int* told;
};

/// [B47] [D36] A device is lost while a context records for it. The recording has a list, or none: then its backing is
/// back. Once the context's thread knows of the loss, there is no list any more.
struct lost_beside_recording : model::suite<2>, stand<2> {
  using following =
      tidemark::command_context<no_objects, own_queue, counting_sink, tidemark::heap_source, model::view_of<fence>>;
  int told = 0;
  std::optional<following> in;
  std::optional<following::list_type> whole;

  void before() {
    stand<2>::before();
    in.emplace(finished.view(), storage, no_objects::context{}, counting_sink{&told});
  }
  void thread(unsigned index) {
    if (index == 0) return finished.poison();
    in->begin_recording();
    const auto mapped = in->try_map(*resource, map_mode::discard);
    MODEL_REQUIRE(mapped || mapped.status == tidemark::map_status::lost);
    if (mapped) mapped.memory->store(7);
    in->run([bound = in->bind(*resource)] { MODEL_REQUIRE(bound.memory()->load() == 7); });
    const bool knows = finished.is_poisoned();
    auto ended = in->finish();
    MODEL_REQUIRE(ended.status == (told != 0 ? tidemark::finish_status::lost : tidemark::finish_status::ended));
    MODEL_REQUIRE(told == 1 || !knows);
    if (ended) whole.emplace(std::move(ended.list));
  }
  void after() {
    if (whole) {
      MODEL_REQUIRE(whole->size() == 1);
      whole->adopt(1);
      MODEL_REQUIRE(whole->execute_on(queue) == wait_status::reached);
      MODEL_REQUIRE(resource->current()->load() == 7);
    } else {
      MODEL_REQUIRE(resource->current()->load() == 5);
      const auto again = resource->try_take();
      MODEL_REQUIRE(again && again.memory != resource->current());
      MODEL_REQUIRE(resource->give_back(again));
    }
    whole.reset();
    in.reset();
    stand<2>::after();
  }
};

/// A stand whose list is recorded before the threads begin.
template <std::size_t MaxRenames, heap_shape Shape = one_slot>
struct recorded_stand : stand<MaxRenames, Shape> {
  void before() {
    stand<MaxRenames, Shape>::before();
    this->record(*this->recording[0]);
  }
};

/// The same, and the executor reads what is current until 1.
template <std::size_t MaxRenames, heap_shape Shape = one_slot>
struct used_stand : recorded_stand<MaxRenames, Shape> {
  payload* read_until_1 = nullptr;

  void before() {
    recorded_stand<MaxRenames, Shape>::before();
    read_until_1 = this->resource->current();
    this->resource->used_until(1);
  }
};

/// [B47] The list of one thread is adopted by another one and executed by a third one, while the first thread records
/// on, in vain. What was current is in use until 1, the list until 2.
struct adopted : model::suite<3>, stand<3> {
  void thread(unsigned index) {
    if (index == 0) {
      record(*recording[0]);
      comes_to(1);
      record_in_vain(*recording[0], 1);
    } else if (index == 1 && has_come_to(1)) {
      resource->used_until(1);
      list->adopt(2);
      MODEL_REQUIRE(resource->current()->load() == 7);
      comes_to(2);
    } else if (index == 2 && has_come_to(2)) {
      execute(2);
    }
  }
};

/// [B47] The executor still reads what was current when a list is adopted; then it executes the list. Another thread
/// records, in vain, and gets neither.
struct adopted_beside_executor : model::suite<3>, used_stand<2> {
  void thread(unsigned index) {
    if (index == 0) {
      list->adopt(2);
      MODEL_REQUIRE(resource->current()->load() == 7);
      comes_to(1);
    } else if (index == 1) {
      MODEL_REQUIRE(read_until_1->load() == 5);
      finished.signal(1);
      if (has_come_to(1)) execute(2);
    } else {
      record_in_vain(*recording[1], 2);
    }
  }
};

/// [B47] The executor reads what was adopted, while the thread that submits discards it, twice: the second time it may
/// get the same backing, but not before the executor has done with it.
struct adopted_and_discarded : model::suite<2>, recorded_stand<2> {
  void thread(unsigned index) {
    if (index == 0) {
      list->adopt(1);
      comes_to(1);
      for (int i = 0; i < 2; ++i) {
        const auto mapped = resource->try_map(map_mode::discard);
        if (!mapped) continue;
        mapped.memory->store(9);
        resource->used_until(3);
      }
    } else if (has_come_to(1)) {
      execute(1);
    }
  }
};

/// [B47] After its list was executed a backing is still the current one, and nobody else gets it.
struct current_beside_recording : model::suite<2>, recorded_stand<3> {
  void thread(unsigned index) {
    if (index == 0) {
      list->adopt(1);
      execute(1);
      MODEL_REQUIRE(resource->try_map(map_mode::read).memory->load() == 7);
    } else {
      record_in_vain(*recording[1], 2);
    }
  }
};

/// [B47] A list copies what is current to a backing of its own, and adds 1. Until it has done so, nobody gets what it
/// reads.
struct copied_beside_recording : model::suite<3>, stand<2> {
  void before() {
    stand::before();
    context_type& in = *recording[0];
    in.begin_recording();
    const auto copied = in.try_bind_for_copy(*resource, &copy);
    MODEL_REQUIRE(copied);
    in.run([bound = copied.bound] { bound.memory()->store(bound.memory()->load() + 1); });
    list.emplace(std::move(in.finish().list));
  }
  void thread(unsigned index) {
    if (index == 0) {
      list->adopt(1);
      comes_to(1);
    } else if (index == 1) {
      if (has_come_to(1)) execute(1);
    } else {
      record_in_vain(*recording[1], 1);
    }
  }
  void after() {
    if (list->is_empty()) MODEL_REQUIRE(resource->current()->load() == 6);
    stand::after();
  }
};

/// [B47] A list reads what is current and renames nothing. Nobody gets what it reads, although another backing becomes
/// current meanwhile.
struct bound_beside_recording : model::suite<2>, stand<2> {
  void before() {
    stand::before();
    context_type& in = *recording[0];
    in.begin_recording();
    in.run([bound = in.bind(*resource)] { MODEL_REQUIRE(bound.memory()->load() == 5); });
    list.emplace(std::move(in.finish().list));
  }
  void thread(unsigned index) {
    if (index == 0) {
      list->adopt(1);
      comes_to(1);
      const auto mapped = resource->try_map(map_mode::discard);
      MODEL_REQUIRE(mapped);
      mapped.memory->store(9);
      record_in_vain(*recording[1], 1);
    } else if (has_come_to(1)) {
      execute(1);
    }
  }
};

/// [B47] Two recordings rename, in vain, where there is one backing beside the current one: one has it after the other.
struct two_record : model::suite<2>, stand<2> {
  void thread(unsigned index) { record_in_vain(*recording[index], 1); }
};

/// [B44] [B47] A recording waits for a backing that another one has, which gives it back without adoption.
template <heap_shape Shape>
struct given_back : model::suite<2>, recorded_stand<2, Shape> {
  void thread(unsigned index) {
    if (index == 0) {
      this->list->clear();
    } else {
      this->wait_and_record_in_vain(*this->recording[1]);
    }
  }
};

/// [B44] [B47] A recording waits for a backing, and gets what was current until a list was adopted and executed.
template <heap_shape Shape>
struct waited_for : model::suite<2>, recorded_stand<2, Shape> {
  void thread(unsigned index) {
    if (index == 0) {
      this->resource->used_until(1);
      this->list->adopt(2);
      this->execute(2);
    } else {
      this->wait_and_record_in_vain(*this->recording[1]);
    }
  }
};

/// [B44] [B47] The thread that submits discards while a recording has the other backing. It waits for the value of what
/// is current, and keeps that.
template <heap_shape Shape>
struct current_waited_for : model::suite<2>, used_stand<2, Shape> {
  void thread(unsigned index) {
    if (index == 0) {
      const auto mapped = this->resource->map(map_mode::discard);
      MODEL_REQUIRE(mapped && mapped.memory == this->read_until_1 && this->resource->current() == this->read_until_1);
      mapped.memory->store(9);
      this->record_in_vain(*this->recording[1], 1);
      MODEL_REQUIRE(mapped.memory->load() == 9);
    } else {
      MODEL_REQUIRE(this->read_until_1->load() == 5);
      this->finished.signal(1);
    }
  }
};

/// [B44] [B47] The same while the recording gives its backing back, too: the thread gets one of both.
struct either_waited_for : model::suite<3>, used_stand<2> {
  void thread(unsigned index) {
    if (index == 0) {
      const auto mapped = resource->map(map_mode::discard);
      MODEL_REQUIRE(mapped && mapped.memory == resource->current());
      mapped.memory->store(8);
    } else if (index == 1) {
      MODEL_REQUIRE(read_until_1->load() == 5);
      finished.signal(1);
    } else {
      list->clear();
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<model::check> checks{
      model::make_check<adopted, "adopted">(),
      model::make_check<adopted_beside_executor, "adopted_beside_executor">(),
      model::make_check<adopted_and_discarded, "adopted_and_discarded">(),
      model::make_check<current_beside_recording, "current_beside_recording">(),
      model::make_check<copied_beside_recording, "copied_beside_recording">(),
      model::make_check<bound_beside_recording, "bound_beside_recording">(),
      model::make_check<two_record, "two_record">(),
      model::make_check<lost_beside_recording, "lost_beside_recording">(),
      model::make_check<either_waited_for, "either_waited_for">(),
  };
  model::add_on_shapes<given_back, one_slot, "given_back">(checks);
  model::add_on_shapes<waited_for, one_slot, "waited_for">(checks);
  model::add_on_shapes<current_waited_for, one_slot, "current_waited_for">(checks);
  return model::run(argc, argv, checks);
}
