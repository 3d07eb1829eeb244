// SPDX-License-Identifier: BSL-1.0
//
// What keeps the address of a timeline takes none without a name, which would be gone too early. A view and another
// timeline that can be copied need no name where a copy is kept. The looked_at is in looked_at.cpp.
#include <doctest/doctest.h>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <tidemark/context/command_context.hpp>
#include <tidemark/context/renamed_resource.hpp>
#include <tidemark/engine/engine_queue.hpp>
#include <tidemark/fence/awake_view.hpp>
#include <tidemark/fence/each_advance.hpp>
#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/least_of.hpp>
#include <tidemark/fence/link.hpp>
#include <tidemark/fence/looked_at.hpp>
#include <tidemark/fence/rewindable_fence.hpp>
#include <tidemark/fence/rewindable_target.hpp>
#include <tidemark/fence/signaller_callback.hpp>
#include <tidemark/fence/timeline.hpp>
#include <tidemark/loop/reached_descriptor.hpp>
#include <tidemark/loop/wait_loop.hpp>
#include <tidemark/memory/coherency_tracker.hpp>
#include <tidemark/memory/device_segment.hpp>
#include <tidemark/memory/growing_upload_ring.hpp>
#include <tidemark/memory/host_aperture.hpp>
#include <tidemark/memory/loop_retire_queue.hpp>
#include <tidemark/memory/mapped_allocation.hpp>
#include <tidemark/memory/rename_ring.hpp>
#include <tidemark/memory/retire_queue.hpp>
#include <tidemark/memory/upload_ring.hpp>
#include <tidemark/queue/queue.hpp>

#include "support/recordings.hpp"

using tidemark::callback_fence;
using tidemark::fence;
using tidemark::fence_view;

namespace {

template <class Kept, class... Arguments>
inline constexpr bool takes = std::constructible_from<Kept, Arguments...>;
/// Whether `Block<Timeline>` takes a timeline that has a name, and one that has none.
template <template <class> class Block, class Timeline, class... Arguments>
inline constexpr bool takes_named =
    takes<Block<Timeline>, Timeline&, Arguments...> && takes<Block<Timeline>, const Timeline&, Arguments...>;
template <template <class> class Block, class Timeline, class... Arguments>
inline constexpr bool takes_unnamed =
    takes<Block<Timeline>, Timeline, Arguments...> || takes<Block<Timeline>, const Timeline, Arguments...>;
/// Whether the block takes every view, and only fences that have a name.
template <template <class> class Block, class... Arguments>
inline constexpr bool needs_names =
    takes_named<Block, fence, Arguments...> && !takes_unnamed<Block, fence, Arguments...> &&
    takes_named<Block, fence_view, Arguments...> && takes_unnamed<Block, fence_view, Arguments...>;

// ---- blocks that follow a timeline ----------------------------------------------------------------------------------

template <class Timeline>
using least_alone = tidemark::least_of<Timeline>;
template <class Timeline>
using awake = tidemark::awake_view<Timeline>;
template <class Timeline>
using growing_ring = tidemark::growing_upload_ring<Timeline>;
template <class Timeline>
using uploads = tidemark::upload_ring<Timeline>;
template <class Timeline>
using renames = tidemark::rename_ring<Timeline>;
template <class Timeline>
using renamed = tidemark::renamed_resource<Timeline>;
template <class Timeline>
using aperture = tidemark::host_aperture<Timeline>;
template <class Timeline>
using retired_by_one = tidemark::retire_queue<Timeline>;
static_assert(needs_names<least_alone>);
static_assert(needs_names<awake>);
static_assert(needs_names<growing_ring, tidemark::growing_options>);
static_assert(needs_names<growing_ring, tidemark::growing_options, tidemark::heap_source>);
static_assert(needs_names<uploads, tidemark::upload_options>);
static_assert(needs_names<renames, tidemark::rename_options>);
static_assert(needs_names<renamed, tidemark::rename_options>);
static_assert(needs_names<aperture, tidemark::aperture_options>);
static_assert(needs_names<retired_by_one>);

// One of several is enough.
using two_fences = tidemark::least_of<fence, fence>;
static_assert(takes<two_fences, fence&, const fence&>);
static_assert(!takes<two_fences, fence, fence&> && !takes<two_fences, fence&, fence>);
using fence_and_view = tidemark::least_of<fence, fence_view>;
static_assert(takes<fence_and_view, fence&, fence_view> && !takes<fence_and_view, fence, fence_view>);
using looked_fence = tidemark::looked_at<fence>;
static_assert(takes<tidemark::least_of<looked_fence, fence>, looked_fence, fence&>);  // keeps a copy
using two_sources = tidemark::retire_queue<tidemark::queue, fence_view>;
static_assert(takes<two_sources, tidemark::queue&, fence_view> && !takes<two_sources, tidemark::queue, fence_view>);

/// A queue of serials that can be copied. A retire queue keeps its address all the same.
struct copied_queue {
  std::uint64_t last_queued() const noexcept;
  bool is_finished(std::uint64_t serial) const noexcept;
  tidemark::wait_status wait_finished(std::uint64_t serial) const noexcept;
};
static_assert(takes<retired_by_one<copied_queue>, copied_queue&>);
static_assert(!takes<retired_by_one<copied_queue>, copied_queue>);

// A view of a view keeps an address, too.
template <class Timeline>
using view_of = tidemark::timeline_view<Timeline>;
static_assert(takes_named<view_of, fence> && !takes_unnamed<view_of, fence>);
static_assert(takes_named<view_of, looked_fence> && !takes_unnamed<view_of, looked_fence>);

template <class Timeline>
using tracker = tidemark::coherency_tracker<Timeline, tidemark::coherent_caches>;
static_assert(needs_names<tracker, tidemark::coherency_options, tidemark::coherent_caches>);

template <class Block, class Options, class Timeline>
concept is_made_by =
    requires(Timeline&& finished, const Options& options) { Block::make(static_cast<Timeline&&>(finished), options); };
/// The same for what is made by make().
template <template <class> class Block, class Options>
inline constexpr bool needs_names_to_be_made =
    is_made_by<Block<fence>, Options, fence&> && is_made_by<Block<fence>, Options, const fence&> &&
    !is_made_by<Block<fence>, Options, fence> && is_made_by<Block<fence_view>, Options, fence_view>;
static_assert(needs_names_to_be_made<uploads, tidemark::upload_options>);
static_assert(needs_names_to_be_made<aperture, tidemark::aperture_options>);
#ifdef __linux__
template <class Timeline>
using segment = tidemark::device_segment<Timeline>;
static_assert(needs_names_to_be_made<segment, tidemark::segment_options>);
template <class Timeline>
inline constexpr bool allocates =
    takes<tidemark::mapped_allocation<std::remove_cvref_t<Timeline>>, Timeline,
          const tidemark::supported_segments<std::remove_cvref_t<Timeline>>&, const tidemark::allocation_options&>;
static_assert(allocates<fence&> && allocates<const fence&> && allocates<fence_view> && !allocates<fence>);
#endif

template <class Queue>
concept is_followed_on_loop = requires(tidemark::loop_retire_queue<>& by, Queue&& queue) {
  static_cast<void>(by.add_queue(static_cast<Queue&&>(queue)));
};
static_assert(is_followed_on_loop<tidemark::engine_queue::timeline_type&>);
static_assert(!is_followed_on_loop<tidemark::engine_queue::timeline_type>);

template <class Device>
using context_of = tidemark::command_context<testing::recorded_storage, tidemark::queue, testing::noting_sink,
                                             testing::counting_source, std::remove_cvref_t<Device>>;
template <class Device>
inline constexpr bool records_for =
    takes<context_of<Device>, Device, testing::recorded_storage&, testing::noting_sink, testing::counting_source> &&
    takes<context_of<Device>, Device, testing::recorded_storage&, typename context_of<Device>::storage_context,
          testing::noting_sink, testing::counting_source>;
static_assert(records_for<fence&> && records_for<const fence&> && records_for<fence_view> && !records_for<fence>);
template <class Timeline>
concept is_recorded =
    requires(context_of<fence_view>& in, Timeline&& input) { in.wait(static_cast<Timeline&&>(input), 1); };
static_assert(is_recorded<fence&> && is_recorded<const fence&> && is_recorded<fence_view> && !is_recorded<fence>);

// ---- what registers with a timeline ---------------------------------------------------------------------------------

using called = void (*)();
using passed_on = void (*)(std::uint64_t);

template <class Fence>
concept calls_in_signaller = requires(Fence&& on, called call) {
  static_cast<void>(tidemark::call_in_signaller(static_cast<Fence&&>(on), 1, call));
};
template <class Fence>
concept calls_at_each =
    requires(Fence&& on, passed_on call) { static_cast<void>(tidemark::each_advance(static_cast<Fence&&>(on), call)); };
template <class Fence>
concept calls_at_each_after = requires(Fence&& on, passed_on call) {
  static_cast<void>(tidemark::each_advance(static_cast<Fence&&>(on), 1, call));
};
template <class Fence>
concept links_to_fence =
    requires(Fence&& from, fence& to) { static_cast<void>(tidemark::link(static_cast<Fence&&>(from), 1, to, 1)); };
template <class Fence>
concept links_to_signaller = requires(Fence&& from, tidemark::signaller<fence> to) {
  static_cast<void>(tidemark::link(static_cast<Fence&&>(from), 1, std::move(to), 1));
};
template <class Fence>
inline constexpr bool registers_all = calls_in_signaller<Fence> && calls_at_each<Fence> && calls_at_each_after<Fence> &&
                                      links_to_fence<Fence> && links_to_signaller<Fence>;
template <class Fence>
inline constexpr bool registers_one = calls_in_signaller<Fence> || calls_at_each<Fence> || calls_at_each_after<Fence> ||
                                      links_to_fence<Fence> || links_to_signaller<Fence>;
using callback_view = decltype(std::declval<const callback_fence&>().view());
static_assert(registers_all<callback_fence&> && registers_all<const callback_fence&> && registers_all<callback_view>);
static_assert(!registers_one<callback_fence> && !registers_one<const callback_fence>);
using signaller_callback = tidemark::signaller_callback<callback_fence, called>;
static_assert(takes<signaller_callback, const callback_fence&, std::uint64_t, called>);
static_assert(!takes<signaller_callback, callback_fence, std::uint64_t, called>);
using advance_callback = tidemark::advance_callback<callback_fence, passed_on>;
static_assert(takes<advance_callback, const callback_fence&, std::uint64_t, passed_on>);
static_assert(!takes<advance_callback, callback_fence, std::uint64_t, passed_on>);

static_assert(takes<tidemark::rewindable_target, const tidemark::rewindable_fence&, std::uint64_t>);
static_assert(!takes<tidemark::rewindable_target, tidemark::rewindable_fence, std::uint64_t>);

template <class Queue, class Timeline>
concept waits_with_entry = requires(Queue& by, Timeline&& input, const tidemark::log_reservation& entry) {
  by.wait(static_cast<Timeline&&>(input), 1, entry);
};
static_assert(waits_with_entry<tidemark::engine_queue, fence&> && !waits_with_entry<tidemark::engine_queue, fence>);
static_assert(waits_with_entry<tidemark::engine_queue, fence_view>);

#ifdef __linux__
using described = tidemark::reached_descriptor;
static_assert(takes<described, const fence&, std::uint64_t> && takes<described, const fence&, std::uint64_t, int>);
static_assert(takes<described, fence_view, std::uint64_t> && takes<described, fence_view, std::uint64_t, int>);
static_assert(!takes<described, fence, std::uint64_t> && !takes<described, fence, std::uint64_t, int>);
#endif

}  // namespace

TEST_CASE("views without names are followed by their copies") {
  fence first{3};
  fence second{5};
  const tidemark::least_of least{first.view(), tidemark::looked_at{second, std::chrono::milliseconds{1}}};
  CHECK(least.current_value() == 3);
  first.signal(9);
  CHECK(least.current_value() == 5);
  CHECK(tidemark::awake_view{first.view()}.current_value() == 9);
}
