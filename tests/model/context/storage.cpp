// SPDX-License-Identifier: BSL-1.0
//
// Model checks of context storage: each context has blocks of its own, which are created once, destroyed once and in
// the right order, whatever other threads do at the same time.
#include "support/model_check.hpp"

#include <tidemark/context/storage.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace {

using platform = tidemark::TIDEMARK_MODEL_PLATFORM;
using payload = platform::var<int>;
using tidemark::context_id;
using tidemark::object_id;
using destroy_status = tidemark::object_destroy_status;

constexpr std::uint32_t contexts = 3;
constexpr std::size_t kinds = 4;

/// What a maker creates. The content is 7 from the beginning, and what the context counts up from there.
struct block {
  explicit block(std::uint32_t of) : context{of} {}
  payload content{7};
  payload context;
  payload* read_only = nullptr;  // of the immediate context
};

/// Which blocks there are. A checked field for each, so that a block that is created or destroyed too early is a race
/// or a broken requirement.
struct existing {
  std::array<std::array<payload, kinds>, contexts> blocks;
  std::array<payload, kinds> destroyed;
};

class maker {
 public:
  enum class kind : std::uint8_t { resource, view, other, last };
  struct description {
    void* first;
    void* second;
  };
  static constexpr std::size_t max_dependencies = 2;

  explicit maker(existing& known) noexcept : known_{&known} {}

  std::size_t list_block_sizes(std::span<tidemark::block_size<kind>> sizes) const noexcept {
    for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = {static_cast<kind>(i), sizeof(block)};
    return kinds;
  }
  tidemark::block_layout immediate_layout(kind, const description&) const noexcept {
    return {sizeof(block), sizeof(payload)};
  }
  std::size_t deferred_bytes(kind, const void*) const noexcept { return sizeof(block); }
  void set_dependency(description& changed, std::size_t which, void* needed) noexcept {
    (which == 0 ? changed.first : changed.second) = needed;
  }

  bool create(const tidemark::block_arguments<kind, description>& given) noexcept {
    const std::uint32_t context = to_number(given.context);
    MODEL_REQUIRE(exists(context, given.kind) == 0);
    auto* const made = ::new (given.block) block(context);
    if (context == 0) {
      made->read_only = ::new (static_cast<void*>(given.read_only_to_fill.data())) payload(5);
    } else {
      MODEL_REQUIRE(exists(0, given.kind) == 1);
      MODEL_REQUIRE(static_cast<block*>(given.immediate)->content.load() == 7);
      MODEL_REQUIRE(reinterpret_cast<const payload*>(given.read_only.data())->load() == 5);
    }
    if (given.kind == kind::view) {
      MODEL_REQUIRE(exists(context, kind::resource) == 1);
      MODEL_REQUIRE(static_cast<block*>(given.description->first)->context.load() == static_cast<int>(context));
    }
    if (given.kind == kind::last) {
      MODEL_REQUIRE(exists(context, kind::view) == 1 && exists(context, kind::other) == 1);
      MODEL_REQUIRE(static_cast<block*>(given.description->first)->context.load() == static_cast<int>(context));
      MODEL_REQUIRE(static_cast<block*>(given.description->second)->context.load() == static_cast<int>(context));
    }
    known_->blocks[context][static_cast<std::size_t>(given.kind)].store(1);
    return true;
  }
  void destroy(context_id of, kind which, void* destroyed) noexcept {
    const std::uint32_t context = to_number(of);
    MODEL_REQUIRE(exists(context, which) == 1);
    MODEL_REQUIRE(static_cast<block*>(destroyed)->content.load() >= 7);
    MODEL_REQUIRE(static_cast<block*>(destroyed)->context.load() == static_cast<int>(context));
    if (which == kind::resource) MODEL_REQUIRE(exists(context, kind::view) == 0);
    if (which == kind::view || which == kind::other) MODEL_REQUIRE(exists(context, kind::last) == 0);
    static_cast<block*>(destroyed)->content.store(-1);
    if (context == 0) std::destroy_at(static_cast<block*>(destroyed)->read_only);
    std::destroy_at(static_cast<block*>(destroyed));
    known_->blocks[context][static_cast<std::size_t>(which)].store(0);
    if (context != 0) return;
    for (std::uint32_t each = 0; each < contexts; ++each) MODEL_REQUIRE(exists(each, which) == 0);
    payload& count = known_->destroyed[static_cast<std::size_t>(which)];
    count.store(count.load() + 1);
  }

 private:
  int exists(std::uint32_t context, kind which) const {
    return known_->blocks[context][static_cast<std::size_t>(which)].load();
  }

  existing* known_;
};

using kind = maker::kind;
/// Three objects have two pages.
struct small_pages : platform {
  static constexpr std::size_t objects_per_page = 2;
};
using storage_type = tidemark::context_storage<maker, tidemark::heap_source, small_pages>;
using context_type = storage_type::context;

/// A storage with a resource, a view of it and another object, and two deferred contexts.
struct stand {
  explicit stand(std::uint32_t most = 3)
      : storage{storage_type::make(maker{known}, {.max_contexts = contexts, .max_objects = most})} {}

  existing known;
  std::optional<storage_type> storage;
  std::array<context_type, 2> deferred;
  object_id resource;
  object_id view;
  object_id other;

  void before() {
    MODEL_REQUIRE(storage.has_value());
    resource = create(kind::resource);
    other = create(kind::other);
    view = storage->create(kind::view, {}, {resource}).object;
    for (context_type& each : deferred) each = storage->open().context;
  }
  object_id create(kind of) {
    const auto made = storage->create(of, {});
    MODEL_REQUIRE(made);
    return made.object;
  }

  /// Uses an object in a context, and writes to its block.
  void use(context_type& in, object_id object) {
    const auto used = in.use(object);
    MODEL_REQUIRE(used);
    auto& content = used.template as<block>().content;
    content.store(content.load() + 1);
  }
  void record(context_type& in, object_id object) {
    in.begin_recording();
    use(in, object);
    in.end_recording();
  }
  int exists(std::uint32_t context, kind which) const {
    return known.blocks[context][static_cast<std::size_t>(which)].load();
  }
  bool is_gone(kind which) const {
    for (std::uint32_t context = 0; context < contexts; ++context) {
      if (exists(context, which) != 0) return false;
    }
    return destroyed(which) == 1;
  }
  int destroyed(kind which) const { return known.destroyed[static_cast<std::size_t>(which)].load(); }

  void after() {
    for (context_type& each : deferred) each.close();
    storage.reset();
    for (std::uint32_t context = 0; context < contexts; ++context) {
      for (const kind each : {kind::resource, kind::view, kind::other, kind::last})
        MODEL_REQUIRE(exists(context, each) == 0);
    }
    MODEL_REQUIRE(destroyed(kind::resource) == 1 && destroyed(kind::view) == 1);
  }
};

/// [D1] [D6] [D10] [D31] Two contexts use a view for the first time at once. Each gets a block of the view and one of
/// its resource, linked to the immediate ones.
struct first_use_in_two : model::suite<2>, stand {
  void thread(unsigned index) {
    record(deferred[index], view);
    MODEL_REQUIRE(exists(index + 1, kind::view) == 1 && exists(index + 1, kind::resource) == 1);
    MODEL_REQUIRE(static_cast<block*>(deferred[index].find(view))->content.load() == 8);
  }
};

/// [D31] A context uses an object for the first time, and finds it again, while another object is destroyed, which the
/// context has never used. A third thread's context does the same.
template <unsigned Contexts>
struct look_up_beside_destroy : model::suite<1 + Contexts>, stand {
  void thread(unsigned index) {
    if (index == 0) {
      MODEL_REQUIRE(storage->destroy(other, tidemark::assume_not_in_use));
    } else {
      context_type& own = deferred[index - 1];
      record(own, resource);
      record(own, resource);
      MODEL_REQUIRE(static_cast<block*>(own.find(resource))->content.load() == 9);
    }
  }
  void after() {
    MODEL_REQUIRE(destroyed(kind::other) == 1);
    stand::after();
  }
};

/// An object is destroyed that a context has used before, while the context uses another one for the first time, maybe
/// in the memory that came back.
struct memory_used_again : model::suite<2>, stand {
  void before() {
    stand::before();
    record(deferred[0], other);
  }
  void thread(unsigned index) {
    if (index == 0) {
      MODEL_REQUIRE(storage->destroy(other, tidemark::assume_not_in_use));
    } else {
      record(deferred[0], resource);
    }
  }
  void after() {
    MODEL_REQUIRE(deferred[0].find(other) == nullptr);
    stand::after();
  }
};

/// The number of an object that is destroyed is used again by the immediate context's thread, for an object that a
/// deferred context uses next. The former object's id stays stale.
struct number_used_again : model::suite<2>, stand {
  void before() {
    stand::before();
    record(deferred[0], other);
  }
  void thread(unsigned index) {
    if (index == 0) {
      MODEL_REQUIRE(storage->destroy(other, tidemark::assume_not_in_use));
      return;
    }
    const auto made = storage->create(kind::other, {});
    if (!made) return MODEL_REQUIRE(made.status == tidemark::object_create_status::no_space);
    MODEL_REQUIRE(made.object.index() == other.index() && made.object != other);
    record(deferred[0], made.object);
    MODEL_REQUIRE(static_cast<block*>(deferred[0].find(made.object))->content.load() == 8);
    MODEL_REQUIRE(deferred[0].find(other) == nullptr);
  }
};

/// [D5] [D9] [trap 33] A view and its resource are destroyed by two threads. In each context the view's block goes
/// first, and the immediate context's blocks are the last.
template <unsigned Closing>
struct two_destroy : model::suite<2 + Closing>, stand {
  void before() {
    stand::before();
    for (context_type& each : deferred) record(each, view);
  }
  void thread(unsigned index) {
    if (index == 2) return deferred[0].close();
    if (index == 0) {
      // The resource's block stays as long as the view's, and is destroyed after what happens here.
      auto& content = static_cast<block*>(deferred[1].find(resource))->content;
      content.store(content.load() + 1);
      MODEL_REQUIRE(storage->destroy(view, tidemark::assume_not_in_use));
    } else {
      auto& content = static_cast<block*>(storage->immediate().find(resource))->content;
      content.store(content.load() + 1);
      const auto gone = storage->destroy(resource, tidemark::assume_not_in_use).status;
      MODEL_REQUIRE(gone == destroy_status::retired || (gone == destroy_status::destroyed && is_gone(kind::resource)));
    }
  }
  void after() {
    MODEL_REQUIRE(destroyed(kind::view) == 1 && destroyed(kind::resource) == 1);
    stand::after();
  }
};

/// [B7] [D5] Two threads destroy an object each, maybe beside a third one that retires the resource of one of them, and
/// reclaims. Each call of destroy() returns when its object is gone, whichever thread has destroyed it.
template <bool Beside>
struct destroyed_on_return : model::suite<Beside ? 3 : 2>, stand {
  void before() {
    stand::before();
    record(deferred[0], view);
    record(deferred[1], other);
  }
  void thread(unsigned index) {
    if (index == 0) {
      MODEL_REQUIRE(storage->destroy(other, tidemark::assume_not_in_use));
      MODEL_REQUIRE(is_gone(kind::other));
    } else if (index == 1) {
      MODEL_REQUIRE(storage->destroy(view));
      MODEL_REQUIRE(is_gone(kind::view));
    } else {
      MODEL_REQUIRE(storage->retire(resource, tidemark::assume_not_in_use));
      storage->reclaim();
    }
  }
};

/// [B7] [D5] In a storage with as many objects as it may have, the immediate context's thread destroys one, maybe by
/// another thread, which closes a context. When the call returns, the number is free.
struct destroyed_in_full_storage : model::suite<2>, stand {
  void before() {
    stand::before();
    record(deferred[0], view);
    record(deferred[1], other);
  }
  void thread(unsigned index) {
    if (index == 1) return deferred[0].close();
    MODEL_REQUIRE(storage->destroy(other, tidemark::assume_not_in_use));
    const auto made = storage->create(kind::other, {});
    MODEL_REQUIRE(made.status == tidemark::object_create_status::added);
    MODEL_REQUIRE(made.object.index() == other.index() && made.object != other);
    MODEL_REQUIRE(deferred[1].find(made.object) == nullptr);
  }
};

/// [B7] [D5] An object is destroyed while a context records that uses it, and began before. It is gone on return.
struct destroyed_against_recording : model::suite<2>, stand {
  platform::atomic<std::uint32_t> has_begun;

  void thread(unsigned index) {
    if (index == 1) {
      deferred[0].begin_recording();
      has_begun.store(1, std::memory_order_release);
      use(deferred[0], other);
      deferred[0].end_recording();
    } else if (has_begun.load(std::memory_order_acquire) != 0) {
      MODEL_REQUIRE(storage->destroy(other));
      MODEL_REQUIRE(is_gone(kind::other));
    }
  }
};

/// [B3] [B6] [D5] A context records and does not end. Meanwhile an object is retired that it does not use, and another
/// thread reclaims it, but not the object that the context uses.
struct assumed_not_in_use : model::suite<2>, stand {
  void before() {
    stand::before();
    deferred[0].begin_recording();
    use(deferred[0], view);
    MODEL_REQUIRE(storage->retire(view));
    record(deferred[1], other);
  }
  void thread(unsigned index) {
    if (index == 0) {
      auto& content = static_cast<block*>(deferred[1].find(other))->content;
      content.store(content.load() + 1);
      MODEL_REQUIRE(storage->retire(other, tidemark::assume_not_in_use));
    } else {
      storage->reclaim();
    }
  }
  void after() {
    storage->reclaim();
    MODEL_REQUIRE(is_gone(kind::other) && destroyed(kind::view) == 0);
    deferred[0].end_recording();
    stand::after();
  }
};

/// [D5] [D9] A context is closed while an object is destroyed that it has used. Its slot may be opened again by then.
struct close_beside_destroy : model::suite<2>, stand {
  void before() {
    stand::before();
    record(deferred[0], view);
    record(deferred[0], other);
  }
  void thread(unsigned index) {
    if (index == 1) {
      MODEL_REQUIRE(storage->destroy(other, tidemark::assume_not_in_use));
      return;
    }
    deferred[0].close();
    if (auto opened = storage->open()) {
      MODEL_REQUIRE(exists(to_number(opened.context.id()), kind::view) == 0);
      record(opened.context, resource);
    }
  }
  void after() {
    MODEL_REQUIRE(destroyed(kind::other) == 1 && exists(1, kind::view) == 0);
    stand::after();
  }
};

/// [D9] An object depends on a view, and then on one that depends on nothing. Two contexts that have used it are closed
/// at once: in each its block goes first.
struct close_of_several_ranks : model::suite<2>, stand {
  object_id last;

  close_of_several_ranks() : stand{4} {}
  void before() {
    stand::before();
    last = storage->create(kind::last, {}, {view, other}).object;
    for (context_type& each : deferred) record(each, last);
  }
  void thread(unsigned index) { deferred[index].close(); }
  void after() {
    for (const kind each : {kind::resource, kind::view, kind::other, kind::last}) {
      MODEL_REQUIRE(exists(0, each) == 1 && exists(1, each) == 0 && exists(2, each) == 0);
    }
    stand::after();
    MODEL_REQUIRE(destroyed(kind::last) == 1);
  }
};

/// A slot that one thread closes is opened by another.
struct slot_used_again : model::suite<2>, stand {
  void before() {
    stand::before();
    record(deferred[0], view);
  }
  void thread(unsigned index) {
    if (index == 0) return deferred[0].close();
    if (auto opened = storage->open()) record(opened.context, view);
  }
};

enum class reclaimed { by_looking, by_waiting };

/// [B5] [D5] An object is retired while contexts record. It is destroyed when the recordings are over that have begun
/// before; one that begins later does not count. `Contexts` of them use it.
template <unsigned Contexts, reclaimed How, bool RecordsOn>
struct retire_against_recording : model::suite<1 + Contexts>, stand {
  std::array<platform::atomic<std::uint32_t>, Contexts> has_begun;

  void thread(unsigned index) {
    if (index == 0) return retire();
    context_type& own = deferred[index - 1];
    own.begin_recording();
    has_begun[index - 1].store(1, std::memory_order_release);
    use(own, other);
    own.end_recording();
    if (!RecordsOn) return;
    own.begin_recording();
    own.end_recording();
  }
  void retire() {
    for (auto& each : has_begun) {
      if (each.load(std::memory_order_acquire) == 0) return;
    }
    MODEL_REQUIRE(storage->retire(other));
    if (How == reclaimed::by_looking) {
      storage->reclaim();
    } else {
      MODEL_REQUIRE(storage->reclaimer().drain() == tidemark::wait_status::reached);
      MODEL_REQUIRE(destroyed(kind::other) == 1);
    }
  }
};

/// [D5] [D9] A view and its resource are retired, in the wrong order, while a context records.
struct view_retired_against_recording : model::suite<2>, stand {
  platform::atomic<std::uint32_t> has_begun;

  void thread(unsigned index) {
    if (index == 1) {
      deferred[0].begin_recording();
      has_begun.store(1, std::memory_order_release);
      use(deferred[0], view);
      deferred[0].end_recording();
    } else if (has_begun.load(std::memory_order_acquire) != 0) {
      MODEL_REQUIRE(storage->retire(resource));
      MODEL_REQUIRE(storage->retire(view));
      storage->reclaim();
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  using enum reclaimed;
  return model::run(
      argc, argv,
      {
          model::make_check<first_use_in_two, "first_use_in_two">(),
          model::make_check<look_up_beside_destroy<1>, "look_up_beside_destroy">(),
          model::make_check<look_up_beside_destroy<2>, "look_up_beside_destroy.two_contexts">(),
          model::make_check<memory_used_again, "memory_used_again">(),
          model::make_check<number_used_again, "number_used_again">(),
          model::make_check<two_destroy<0>, "two_destroy">(),
          model::make_check<two_destroy<1>, "two_destroy.beside_close">(),
          model::make_check<destroyed_on_return<false>, "destroyed_on_return">(),
          model::make_check<destroyed_on_return<true>, "destroyed_on_return.beside_reclaim">(),
          model::make_check<destroyed_in_full_storage, "destroyed_in_full_storage">(),
          model::make_check<destroyed_against_recording, "destroyed_against_recording">(),
          model::make_check<assumed_not_in_use, "assumed_not_in_use">(),
          model::make_check<close_beside_destroy, "close_beside_destroy">(),
          model::make_check<close_of_several_ranks, "close_of_several_ranks">(),
          model::make_check<slot_used_again, "slot_used_again">(),
          model::make_check<retire_against_recording<1, by_looking, false>, "retire_against_recording">(),
          model::make_check<retire_against_recording<1, by_looking, true>, "retire_against_recording.records_on">(),
          model::make_check<retire_against_recording<1, by_waiting, false>, "retire_against_recording.waits">(),
          model::make_check<retire_against_recording<1, by_waiting, true>, "retire_against_recording.waits_on">(),
          model::make_check<retire_against_recording<2, by_looking, false>, "retire_against_recording.two_contexts">(),
          model::make_check<view_retired_against_recording, "view_retired_against_recording">(),
      });
}
