// SPDX-License-Identifier: BSL-1.0
//
// fence_slab: very many fences in two arrays. A fence costs 32 bytes where the arrays are packed, and has a heap of
// waiters only while somebody waits for it.
//
//   auto made = tidemark::fence_slab::make({.fences = 1'000'000, .value_stride = 8, .monitored_stride = 8});
//   auto& fences = *made.slab;
//   const tidemark::fence_handle copied = fences.acquire();
//   fences.signal(copied, 1);                    in another thread
//   static_cast<void>(fences.wait(copied, 1));
//   static_cast<void>(fences.release(copied));   right after the wait, also while signal() has not returned
//
//   values      one word for each fence, a stride apart; signallers write it
//   monitored   one word for each fence, a stride apart: least awaited target - 1, or UINT64_MAX; waiters and passes
//               write it, signals read it. Always 0 where the heavy barrier is missing
//   slots       for each fence two words:
//                 control  [ generation : 32 bits | loss : 3 | released : 1 | pins : 28 ]
//                 room     [ room + 1, or 0 : 32 bits | users : 32 ]; the successor of a fence that is free
//   rooms       the heaps of those that are waited for (detail/slab_rooms.hpp)
//
// A handle names a slot and a generation. A call with a handle first pins the slot: it counts itself in `control`, if
// that still has the handle's generation and is not released. release() says that the fence is released, so no call
// pins it from then on. Whoever takes the last pin of a released fence away, or release() if there is none, begins the
// next generation, and puts the slot on the list of free ones. So a slot is used again only when each signal is past
// its store, its look at the monitored word, and its pass. All memory of the slab stays until the slab goes.
//
// The owner of a pinned_fence keeps a pin for many calls. Then a signal is one store, or an exchange, and one load, as
// that of a fence is, if nobody is due. signal() by a handle costs two more read-modify-writes, for its pin.
//
// Rooms. A waiter that must sleep counts itself in `room`, and takes a room from the pool if the fence has none. A
// signal that finds somebody due counts itself, too, for its pass. Whoever leaves last gives the room back. The
// handshake of fence.hpp has the same events here, with the slab's words in place of the fence's:
//
//      s1  value := v          (F1) (F19) (F20)            w1  in a room (SL19), registered, copied (SL7)
//      s2  StoreLoad                          (F22)        w2  StoreLoad                            (F21)
//      s3  monitored is read                  (SL8)        w3  value is read again                   (F3)
//
// If s3 finds the waiter, the signal looks for its room. It finds that room, or a later one, or none, because w1 comes
// before s3 unless s1 comes before w3.
//
// A stale handle, whose fence was released, is refused: signal() returns `stale`. To those who look, or begin to wait,
// such a fence is lost: current_value() is UINT64_MAX, waits return `lost`, and loss() is fence_released. A wait that
// has begun goes on: it has a pin. Handles of another slab are not noticed.
//
// Not promised: what fence.hpp does not promise; that a signal by which somebody is due is lock-free: it takes the lock
// of the room for a load and a store; that a handle is refused after 2^32 - 1 uses of its slot.
#ifndef TIDEMARK_FENCE_FENCE_SLAB_HPP
#define TIDEMARK_FENCE_FENCE_SLAB_HPP

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "../platform/assert.hpp"
#include "../platform/names.hpp"
#include "../platform/platform.hpp"
#include "detail/index_list.hpp"
#include "detail/slab_rooms.hpp"
#include "detail/value_steps.hpp"
#include "fence.hpp"
#include "fence_options.hpp"
#include "tools/learning_spin.hpp"
#include "wait.hpp"
#include "waiter_heap.hpp"

namespace tidemark {

/// The loss() of a fence that was released.
inline constexpr loss_reason fence_released{0xFFFFFF10, "the fence was released to its slab"};

/// Names one use of a slot of a slab. It can be copied, and sent through memory as a number.
class fence_handle {
 public:
  /// Names no fence.
  constexpr fence_handle() noexcept = default;
  /// Names what number() has named.
  explicit constexpr fence_handle(std::uint64_t number) noexcept : number_{number} {}
  constexpr std::uint64_t number() const noexcept { return number_; }
  /// Whether it names a fence, which may have been released meanwhile.
  explicit constexpr operator bool() const noexcept { return number_ != 0; }
  friend constexpr bool operator==(fence_handle, fence_handle) noexcept = default;

 private:
  std::uint64_t number_ = 0;  // [ generation : 32 bits | slot : 32 ]
};

/// The options of a slab.
struct fence_slab_options {
  std::size_t fences = 64;  ///< How many; less than 2^24.
  /// How many bytes the values lie apart: a multiple of 8. With 8 they are packed, and signals of neighbours slow each
  /// other down.
  std::size_t value_stride = cache_line;
  std::size_t monitored_stride = cache_line;  ///< The same for the monitored words.
  memory_placement values{};                  ///< Where the values lie.
  memory_placement monitored{};               ///< Where the monitored words lie.
  /// How many fences may have a heap of waiters at a time. Waiters beyond it look again each millisecond.
  std::size_t max_rooms = SIZE_MAX;
  bool is_shareable = false;     ///< Must be false: each fence that processes share has pages of its own.
  bool crosses_domains = false;  ///< Must be false: a cross_fence (engine/domain.hpp) has no handle and no neighbours.
};

enum class fence_slab_status : std::uint8_t {
  valid,
  shareable,        ///< Fences that processes share don't lie in the pages of others.
  crosses_domains,  ///< The value of a fence of several domains doesn't lie in memory of one of them.
  wrong_count,      ///< No fence at all, or 2^24 or more.
  wrong_stride,     ///< A stride is no multiple of the size of a word, or is 0, or is too great for an array.
  no_memory,
};
template <>
inline constexpr auto detail::names_of<fence_slab_status> =
    detail::names("valid", "shareable", "crosses_domains", "wrong_count", "wrong_stride", "no_memory");

/// What make() returns. It converts to true if there is a slab.
template <class Slab>
struct [[nodiscard]] fence_slab_result {
  fence_slab_status status;
  std::optional<Slab> slab;

  explicit operator bool() const noexcept { return slab.has_value(); }
};

/// What a signal by a handle has done.
enum class slab_signal_status : std::uint8_t {
  signalled,
  not_above,  ///< The value was not above the current one, so nothing was changed.
  stale,      ///< The fence was released.
};
template <>
inline constexpr auto detail::names_of<slab_signal_status> = detail::names("signalled", "not_above", "stale");

namespace detail {

/// Memory from a placement.
class placed_memory {
 public:
  /// Has no memory if the placement has none.
  placed_memory(const memory_placement& from, std::size_t bytes, std::size_t alignment) noexcept
      : from_{from}, bytes_{bytes}, alignment_{alignment} {
    if (from.allocate != nullptr) {
      at_ = from.allocate(from.context, bytes, alignment, from.hint);
    } else {
      at_ = ::operator new(bytes, std::align_val_t{alignment}, std::nothrow);
    }
  }
  placed_memory(placed_memory&& other) noexcept
      : from_{other.from_},
        bytes_{other.bytes_},
        alignment_{other.alignment_},
        at_{std::exchange(other.at_, nullptr)} {}
  placed_memory& operator=(placed_memory&&) = delete;
  ~placed_memory() {
    if (at_ == nullptr) return;
    if (from_.allocate != nullptr) {
      from_.deallocate(from_.context, at_, bytes_, alignment_);
    } else {
      ::operator delete(at_, std::align_val_t{alignment_});
    }
  }

  void* get() const noexcept { return at_; }

 private:
  memory_placement from_;
  std::size_t bytes_;
  std::size_t alignment_;
  void* at_ = nullptr;
};

/// Equal words, a stride apart.
template <class Word>
class strided_words {
 public:
  strided_words(std::size_t count, std::size_t stride, const memory_placement& from) noexcept
      : count_{count}, stride_{stride}, memory_{from, count * stride, alignment_of(count * stride)} {}
  strided_words(strided_words&&) noexcept = default;
  strided_words& operator=(strided_words&&) = delete;

  static constexpr bool fits(std::size_t stride) noexcept {
    return stride != 0 && stride % alignof(Word) == 0 && stride >= sizeof(Word);
  }
  bool has_memory() const noexcept { return memory_.get() != nullptr; }
  void construct(std::uint64_t initial) const noexcept {
    for (std::size_t index = 0; index < count_; ++index) ::new (at(index)) Word{initial};
  }
  /// Destroys what construct() has made.
  void destroy() const noexcept {
    for (std::size_t index = 0; index < count_; ++index) (*this)[index].~Word();
  }
  Word& operator[](std::size_t index) const noexcept { return *std::launder(static_cast<Word*>(at(index))); }

 private:
  /// So that the array has as few pages as possible, and no page with others in it if it is not less than one.
  static constexpr std::size_t alignment_of(std::size_t bytes) noexcept {
    constexpr std::size_t page = 4096;
    const std::size_t enough = std::bit_ceil(bytes);
    const std::size_t least = alignof(Word) < cache_line ? cache_line : alignof(Word);
    return enough < least ? least : enough < page ? enough : page;
  }
  void* at(std::size_t index) const noexcept { return static_cast<std::byte*>(memory_.get()) + index * stride_; }

  std::size_t count_;
  std::size_t stride_;
  placed_memory memory_;
};

/// The options of the fence in a room.
constexpr fence_options room_options(fence_options of) noexcept {
  of.max_spin_ns = 0;  // the waiter has looked before it came
  of.layout = fence_layout::two_lines;
  of.storage = value_storage::shared;
  of.callbacks = false;
  of.statistics = false;
  of.keeps_value_on_loss = false;
  of.joins_signallers = false;
  of.reports_registrations = true;
  return of;
}

/// What a slab keeps of a fence beside its two words.
template <platform Platform>
struct slab_slot {
  typename Platform::template atomic<std::uint64_t> control;
  typename Platform::template atomic<std::uint64_t> room;
};

}  // namespace detail

/// Many fences; see the head of this file. It can be neither copied nor moved. It must outlive all calls, and what its
/// pin(), view() and waiters() return.
/// \tparam Signallers  whether each fence has one signaller at a time, as a progress_fence has, or several
/// \tparam Waiters     the heap of a room (`capacity`, `arity`, `growth`), and how long waiters spin (`max_spin_ns`);
///                     the other options have no effect
template <platform Platform, writers Signallers, fence_options Waiters = fence_options{.capacity = 4}>
class basic_fence_slab {
  struct key {
    explicit key() = default;
  };
  using word = detail::value_word<Platform>;
  using words = detail::strided_words<word>;
  using slot = detail::slab_slot<Platform>;
  using rooms_type = detail::slab_rooms<Platform, basic_fence<Platform, detail::room_options(Waiters)>>;
  using room_type = typename rooms_type::room;
  using list = detail::index_list<Platform>;
  using steps = detail::value_steps<Platform>;

 public:
  using platform = Platform;
  class view_type;
  class pinned_fence;
  class waiting_room;

  /// Makes a slab. Any thread may call it.
  static fence_slab_result<basic_fence_slab> make(const fence_slab_options& options = {}) noexcept {
    const auto fails = [](fence_slab_status why) { return fence_slab_result<basic_fence_slab>{why, std::nullopt}; };
    if (options.is_shareable) return fails(fence_slab_status::shareable);
    if (options.crosses_domains) return fails(fence_slab_status::crosses_domains);
    if (options.fences == 0 || options.fences > list::most_objects) return fails(fence_slab_status::wrong_count);
    constexpr std::size_t greatest_stride = std::size_t{1} << (sizeof(std::size_t) * 4 - 1);
    for (const std::size_t stride : {options.value_stride, options.monitored_stride}) {
      const bool is_too_great = stride > greatest_stride || stride > SIZE_MAX / 2 / options.fences;
      if (is_too_great || !words::fits(stride)) return fails(fence_slab_status::wrong_stride);
    }
    words values(options.fences, options.value_stride, options.values);
    if (!values.has_memory()) return fails(fence_slab_status::no_memory);
    words monitored(options.fences, options.monitored_stride, options.monitored);
    if (!monitored.has_memory()) return fails(fence_slab_status::no_memory);
    std::unique_ptr<slot[]> records{::new (std::nothrow) slot[options.fences]};
    if (records == nullptr) return fails(fence_slab_status::no_memory);
    return {fence_slab_status::valid, std::optional<basic_fence_slab>{std::in_place, key{}, options, std::move(values),
                                                                      std::move(monitored), std::move(records)}};
  }
  /// Only for make().
  basic_fence_slab(key, const fence_slab_options& options, words values, words monitored,
                   std::unique_ptr<slot[]> records) noexcept
      : count_{static_cast<std::uint32_t>(options.fences)},
        is_pinned_{!Platform::heavy_barrier_available()},
        values_{std::move(values)},
        monitored_{std::move(monitored)},
        slots_{std::move(records)},
        free_{count_},
        rooms_{options.max_rooms} {
    values_.construct(0);
    monitored_.construct(resting_value());
    for (std::uint32_t index = 0; index < count_; ++index) {
      // (SL20): relaxed alone, because no other thread knows the slab yet.
      slots_[index].control.store(one_generation, std::memory_order_relaxed);
      // (SL21): relaxed alone, like (SL20).
      slots_[index].room.store(list::link(index, count_), std::memory_order_relaxed);
    }
    for (auto& each : reasons_) {
      // (SL22): relaxed alone, like (SL20).
      each.store(nullptr, std::memory_order_relaxed);
    }
  }
  basic_fence_slab(const basic_fence_slab&) = delete;
  basic_fence_slab& operator=(const basic_fence_slab&) = delete;
  ~basic_fence_slab() {
    values_.destroy();
    monitored_.destroy();
  }

  /// Returns how many fences there are, free ones and others.
  std::size_t capacity() const noexcept { return count_; }
  /// Returns how many fences had a heap of waiters a moment ago. Progress: wait-free. Any thread may call it.
  std::size_t rooms_in_use() const noexcept {
    // (SL23): relaxed alone, a statistic.
    return rooms_in_use_.load(std::memory_order_relaxed);
  }

  /// Takes a fence, whose value begins at `initial`, and returns its handle; a handle that names none if all are in
  /// use. Progress: lock-free. Any thread may call it.
  [[nodiscard]] fence_handle acquire(std::uint64_t initial = 0) noexcept {
    const std::uint32_t index = free_.take([this](std::uint32_t of) -> auto& { return slots_[of].room; });
    if (index == list::none) return {};
    slot& taken = slots_[index];
    // (SL24): relaxed alone, because nobody pins the fence before this thread has handed its handle over.
    taken.room.store(0, std::memory_order_relaxed);
    // (SL25): release, pairs with (SL28): a thread that has an old handle, and finds this value, finds the generation
    // of the new one, too (SL29).
    values_[index].store(initial, std::memory_order_release);
    // (SL26): relaxed: (SL3) has handed it over.
    return handle_of(index, taken.control.load(std::memory_order_relaxed));
  }

  /// Releases a fence. From now on the handle is stale. The slot is used again when the last call has left it, and the
  /// last pinned_fence and waiting_room are gone. Waits that have begun go on, and keep the slot. A deadline or a stop
  /// ends them, or a signal() or poison() of a pinned_fence; by the handle nobody can. Returns false if the handle was
  /// stale before. Legal as soon as the wait of the caller has returned, while the signal that ended it has not.
  /// Progress: lock-free. Any thread may call it.
  bool release(fence_handle handle) noexcept {
    const std::uint32_t index = index_of(handle);
    if (index >= count_) return false;
    auto& control = slots_[index].control;
    // (SL30): relaxed alone: a guess, which (SL31) verifies.
    std::uint64_t seen = control.load(std::memory_order_relaxed);
    for (;;) {
      if (!is_current(seen, handle)) return false;
      const bool is_last = (seen & pins_mask) == 0;
      // (SL31): acq_rel. Acquire, pairs with (SL33): what earlier calls did with the slot is over. Release, pairs with
      // the acquire half of (SL33): a call that ends later hands on what this thread did with the fence.
      if (control.compare_exchange_weak(seen, is_last ? next_generation(seen) : seen | released_mark,
                                        std::memory_order_acq_rel, std::memory_order_relaxed)) {
        if (is_last) free_.put(index, slots_[index].room);
        return true;
      }
    }
  }

  /// Raises the value of a fence to `value`, and releases every waiter that is due. With writers::one, one signaller at
  /// a time may call it, and the value must not fall (asserted). Progress: lock-free; if somebody is due, it takes the
  /// lock of the room for a load and a store. Any thread may call it.
  slab_signal_status signal(fence_handle handle, std::uint64_t value) noexcept {
    const pin_keeper pinned(*this, handle);
    if (!pinned) return slab_signal_status::stale;
    const std::uint32_t index = index_of(handle);
    return signal_at(index, values_[index], monitored_[index], value) ? slab_signal_status::signalled
                                                                      : slab_signal_status::not_above;
  }

  /// Declares a fence lost until it is released, as fence_core::poison() does. Returns false if the handle is stale.
  /// Of several reasons the first one counts. For all its life a slab remembers six different ones that counted;
  /// beyond those the reason is unnamed_loss. Progress: as signal(). Any thread may call it.
  /// \param why  an object of static lifetime
  bool poison(fence_handle handle, const loss_reason& why = unnamed_loss) noexcept {
    const pin_keeper pinned(*this, handle);
    if (!pinned) return false;
    poison_at(index_of(handle), why);
    return true;
  }
  bool poison(fence_handle handle, const loss_reason&&) = delete;  // a reason has static lifetime

  /// Returns whether the handle's fence is in use: it was not released. Progress: wait-free. Any thread may call it.
  [[nodiscard]] bool is_in_use(fence_handle handle) const noexcept { return !look(handle).is_stale; }
  /// Returns the value signalled so far; UINT64_MAX if the fence is lost or was released. What was done before the
  /// value was signalled happens-before the return. Progress: wait-free, three loads. Any thread may call it.
  std::uint64_t current_value(fence_handle handle) const noexcept {
    const fence_look now = look(handle);
    return now.loss != 0 ? UINT64_MAX : now.value;
  }
  /// Returns whether current_value() is at least `target`. In all else like it.
  [[nodiscard]] bool is_reached(fence_handle handle, std::uint64_t target) const noexcept {
    return current_value(handle) >= target;
  }
  /// Returns the value signalled so far, also of a lost fence; 0 if it was released. In all else like current_value().
  std::uint64_t last_reached(fence_handle handle) const noexcept { return look(handle).value; }
  /// Returns why the fence is lost; fence_released if it was released, and null if it is not lost. Progress: wait-free.
  /// Any thread may call it.
  const loss_reason* loss(fence_handle handle) const noexcept { return reason(look(handle).loss); }
  [[nodiscard]] bool is_poisoned(fence_handle handle) const noexcept { return look(handle).loss != 0; }

  /// Waits for a fence: wait(handle, target), wait_for(handle, target, duration), wait_until(handle, target,
  /// time_point), each with an optional stop token last, as those of `waitable` (wait.hpp). They return `lost` also if
  /// the fence was released before they had pinned it. Block. A wait that must sleep takes a room, and allocates if
  /// none is free. Any thread may call them.
  template <class... Limits>
  wait_status wait(fence_handle handle, std::uint64_t target, Limits&&... token) noexcept {
    return view(handle).wait(target, std::forward<Limits>(token)...);
  }
  template <class... Limits>
  wait_status wait_for(fence_handle handle, std::uint64_t target, Limits&&... limits) noexcept {
    return view(handle).wait_for(target, std::forward<Limits>(limits)...);
  }
  template <class... Limits>
  wait_status wait_until(fence_handle handle, std::uint64_t target, Limits&&... limits) noexcept {
    return view(handle).wait_until(target, std::forward<Limits>(limits)...);
  }

  /// Returns a view of a fence: a timeline, which blocks can follow. It does not keep the fence: once that is released,
  /// the view is lost.
  view_type view(fence_handle handle) noexcept { return view_type{*this, handle}; }
  /// Pins a fence. The result converts to false if the handle is stale.
  [[nodiscard]] pinned_fence pin(fence_handle handle) noexcept { return pinned_fence{*this, handle}; }
  /// Pins a fence, and gives it a room, for waits for several timelines, loops and engines. The result converts to
  /// false if the handle is stale, or if there is no room and no memory.
  [[nodiscard]] waiting_room waiters(fence_handle handle) noexcept { return waiting_room{*this, handle}; }

  /// Returns the least awaited target minus 1; `no_waiter` if nobody is registered; 0 where the heavy barrier is
  /// missing. May be outdated, or that of a later use of the slot. Progress: wait-free. Any thread may call it.
  std::uint64_t monitored_value(fence_handle handle) const noexcept {
    const std::uint32_t index = index_of(handle);
    // (SL27): relaxed alone: it takes no part in the handshake.
    return index < count_ ? monitored_[index].load(std::memory_order_relaxed) : no_waiter;
  }
  /// Return where the value and the monitored value lie, 8 bytes each; null for no handle of this slab. Any thread may
  /// call them.
  const void* value_address(fence_handle handle) const noexcept { return address(values_, handle); }
  const void* monitored_address(fence_handle handle) const noexcept { return address(monitored_, handle); }

 private:
  static constexpr std::uint64_t one_generation = std::uint64_t{1} << 32;
  static constexpr unsigned loss_shift = 29;
  static constexpr std::uint64_t loss_mask = std::uint64_t{7} << loss_shift;
  static constexpr std::uint64_t released_mark = std::uint64_t{1} << 28;
  static constexpr std::uint64_t pins_mask = released_mark - 1;
  static constexpr std::uint64_t one_room = std::uint64_t{1} << 32;
  static constexpr std::uint64_t users_mask = one_room - 1;
  static constexpr unsigned unnamed = 7;        // a loss without a reason, or whose reason was one too many
  static constexpr unsigned loss_released = 8;  // not in the word

  struct fence_look {
    std::uint64_t value;
    unsigned loss;
    bool is_stale;
  };

  static fence_handle handle_of(std::uint32_t index, std::uint64_t control) noexcept {
    return fence_handle{(control & ~users_mask) | index};
  }
  static std::uint32_t index_of(fence_handle handle) noexcept {
    return handle ? static_cast<std::uint32_t>(handle.number()) : UINT32_MAX;
  }
  static bool is_current(std::uint64_t control, fence_handle handle) noexcept {
    return control >> 32 == handle.number() >> 32 && (control & released_mark) == 0;
  }
  /// Returns the first word of the next use. No generation is 0, so that no handle is.
  static std::uint64_t next_generation(std::uint64_t control) noexcept {
    const std::uint64_t next = (control & ~users_mask) + one_generation;
    return next != 0 ? next : one_generation;
  }
  std::uint64_t resting_value() const noexcept { return is_pinned_ ? 0 : no_waiter; }
  const void* address(const words& of, fence_handle handle) const noexcept {
    const std::uint32_t index = index_of(handle);
    return index < count_ ? &of[index] : nullptr;
  }

  fence_look look(fence_handle handle) const noexcept {
    const std::uint32_t index = index_of(handle);
    constexpr fence_look stale{0, loss_released, true};
    if (index >= count_) return stale;
    // (SL32): acquire, pairs with (SL35): whoever sees the loss sees what was signalled before it.
    const std::uint64_t before = slots_[index].control.load(std::memory_order_acquire);
    if (!is_current(before, handle)) return stale;
    // (SL28): acquire, pairs with (F1) (F19) (F20) (SL25), as (F5) does with its signals.
    const std::uint64_t value = values_[index].load(std::memory_order_acquire);
    // (SL29): relaxed, because (SL28) comes before it: a value of a later use brings the generation with it.
    if (!is_current(slots_[index].control.load(std::memory_order_relaxed), handle)) return stale;
    return {value, loss_in(before), false};
  }
  static unsigned loss_in(std::uint64_t control) noexcept {
    return static_cast<unsigned>((control & loss_mask) >> loss_shift);
  }
  const loss_reason* reason(unsigned loss) const noexcept {
    if (loss == 0) return nullptr;
    if (loss == loss_released) return &fence_released;
    // (SL34): relaxed: whoever knows the number has it from (SL35), before which (SL36) has stored the reason.
    return loss == unnamed ? &unnamed_loss : reasons_[loss - 1].load(std::memory_order_relaxed);
  }
  unsigned number_of(const loss_reason& why) noexcept {
    if (&why == &unnamed_loss) return unnamed;
    for (unsigned number = 1; number < unnamed; ++number) {
      const loss_reason* found = nullptr;
      // (SL36): relaxed, because (SL35) comes after it.
      if (reasons_[number - 1].compare_exchange_strong(found, &why, std::memory_order_relaxed,
                                                       std::memory_order_relaxed) ||
          found == &why) {
        return number;
      }
    }
    return unnamed;
  }

  // ---- Pins

  bool take_pin(fence_handle handle) noexcept {
    const std::uint32_t index = index_of(handle);
    if (index >= count_) return false;
    auto& control = slots_[index].control;
    // (SL37): relaxed alone: a guess, which (SL38) verifies.
    std::uint64_t before = control.load(std::memory_order_relaxed);
    do {
      if (!is_current(before, handle)) return false;
      TIDEMARK_ASSERT((before & pins_mask) != pins_mask, "a fence of a slab was pinned 2^28 times");
      // (SL38): relaxed alone: it reads the handle's generation, so the handle has handed over the slot. It goes on
      // with the release of (SL33) and (SL35).
    } while (!control.compare_exchange_weak(before, before + 1, std::memory_order_relaxed, std::memory_order_relaxed));
    return true;
  }
  void drop_pin(std::uint32_t index) noexcept {
    auto& control = slots_[index].control;
    // (SL33): acq_rel, pairs with itself and with (SL31): whoever puts the slot on the list has seen the end of all
    // calls. Their last access to the slot comes before.
    const std::uint64_t before = control.fetch_sub(1, std::memory_order_acq_rel);
    if ((before & (released_mark | pins_mask)) == (released_mark | 1)) recycle(index, before);
  }
  /// Begins the next use of a slot, of which nobody has a pin, and nobody gets one any more.
  [[gnu::cold, gnu::noinline]] void recycle(std::uint32_t index, std::uint64_t control) noexcept {
    // (SL39): relaxed, because (SL4) comes after it.
    slots_[index].control.store(next_generation(control), std::memory_order_relaxed);
    free_.put(index, slots_[index].room);
  }

  /// Pins a fence for its life.
  class pin_keeper {
   public:
    pin_keeper(basic_fence_slab& of, fence_handle handle) noexcept
        : of_{of}, index_{of.take_pin(handle) ? index_of(handle) : UINT32_MAX} {}
    pin_keeper(const pin_keeper&) = delete;
    pin_keeper& operator=(const pin_keeper&) = delete;
    ~pin_keeper() {
      if (*this) of_.drop_pin(index_);
    }
    explicit operator bool() const noexcept { return index_ != UINT32_MAX; }

   private:
    basic_fence_slab& of_;
    const std::uint32_t index_;
  };

  // ---- Rooms. The caller has pinned the fence.

  /// Is in the room of a fence, and takes one if there is none. Returns null if there is none to be had.
  [[gnu::cold, gnu::noinline]] room_type* enter_to_wait(std::uint32_t index) noexcept {
    auto& at = slots_[index].room;
    // (SL40): relaxed alone: a guess, which (SL19) verifies.
    std::uint64_t before = at.load(std::memory_order_relaxed);
    std::uint32_t taken = rooms_type::none;
    for (;;) {
      if (before == 0 && taken == rooms_type::none) {
        taken = rooms_.take();
        if (taken == rooms_type::none) return nullptr;
        rooms_[taken].bind(values_[index], monitored_[index]);
        count_room(1);
      }
      const std::uint64_t after = before != 0 ? before + 1 : (std::uint64_t{taken} + 1) * one_room + 1;
      // (SL19): seq_cst, w1 of the handshake with a poison: one that comes later in the total order finds the room
      // (SL41), or this thread finds it (SL43). Release half for the room that is bound (SL42), and acquire half for
      // one that another thread has bound. For signals acq_rel would do, see (SL41). A failure is relaxed, and leads to
      // the next attempt.
      if (at.compare_exchange_weak(before, after, std::memory_order_seq_cst, std::memory_order_relaxed)) {
        if (before != 0 && taken != rooms_type::none) give_room_back(taken);
        return &room_in(after);
      }
    }
  }
  /// Is in the room of a fence, for a pass; returns null if there is none.
  room_type* enter_to_release(std::uint32_t index) noexcept {
    auto& at = slots_[index].room;
    // (SL41): seq_cst, s3 of a poison; pairs with (SL19). For signals relaxed would do: between their s1 and this load
    // there is (F22) or (SL48), or (SL8) in one total order with (SL7). So a waiter whose room a signal misses finds
    // the value (F3).
    std::uint64_t before = at.load(std::memory_order_seq_cst);
    do {
      if (before == 0) return nullptr;
      // (SL42): acquire, pairs with (SL19), and goes on with its release: the room is bound. (SL41) is not enough: the
      // room may have been left and bound again meanwhile. A failure is relaxed, and leads to the next attempt.
    } while (!at.compare_exchange_weak(before, before + 1, std::memory_order_acquire, std::memory_order_relaxed));
    return &room_in(before);
  }
  void leave(std::uint32_t index, room_type& from) noexcept {
    from.copy();
    auto& at = slots_[index].room;
    // (SL44): relaxed alone: a guess, which (SL45) verifies.
    std::uint64_t before = at.load(std::memory_order_relaxed);
    std::uint64_t after = 0;
    do {
      after = (before & users_mask) == 1 ? 0 : before - 1;
      // (SL45): acq_rel, alone, because it pairs with itself: the last one hands the room on as others have left it.
    } while (!at.compare_exchange_weak(before, after, std::memory_order_acq_rel, std::memory_order_relaxed));
    if (after == 0) give_room_back(static_cast<std::uint32_t>(before >> 32) - 1);
  }
  room_type& room_in(std::uint64_t at) noexcept { return rooms_[static_cast<std::uint32_t>(at >> 32) - 1]; }
  void give_room_back(std::uint32_t index) noexcept {
    count_room(UINT32_MAX);
    rooms_.give_back(index);
  }
  void count_room(std::uint32_t change) noexcept {
    // (SL46): relaxed alone, a statistic.
    rooms_in_use_.fetch_add(change, std::memory_order_relaxed);
  }

  // ---- Signals. The caller has pinned the fence.

  /// Returns whether the value has risen, or may have; with writers::one always true.
  bool signal_at(std::uint32_t index, word& value_at, const word& monitored_at, std::uint64_t value) noexcept {
    if (!put(value_at, value)) return false;
    steps::keep_look_behind_value();
    // (SL8): s3, with the order of (F2) and for its reason. Pairs with (SL7).
    if (monitored_at.load(steps::monitor_order) < value) [[unlikely]]
      notify(index);
    return true;
  }
  static bool put(word& at, std::uint64_t value) noexcept {
    if constexpr (Signallers == writers::several) {
      return steps::raise(at, value);
    } else {
      // (SL47): relaxed alone; only the signaller writes the value.
      TIDEMARK_ASSERT(value >= at.load(std::memory_order_relaxed), "a progress fence was signalled backwards");
      steps::store(at, value);
      return true;
    }
  }
  [[gnu::cold, gnu::noinline]] void notify(std::uint32_t index) noexcept {
    // (SL48): s2 where the heavy barrier is missing: between (F19) and (SL41). Otherwise (F22) was enough.
    if (is_pinned_) Platform::full_barrier();
    room_type* const with = enter_to_release(index);
    if (with == nullptr) return;
    spin_.waking();
    with->fence.release_due();
    leave(index, *with);
  }
  void poison_at(std::uint32_t index, const loss_reason& why) noexcept {
    auto& control = slots_[index].control;
    // (SL49): relaxed alone: a guess, which (SL35) verifies.
    std::uint64_t before = control.load(std::memory_order_relaxed);
    // A reason that comes too late takes no number.
    const std::uint64_t mark = loss_in(before) != 0 ? 0 : std::uint64_t{number_of(why)} << loss_shift;
    do {
      if (loss_in(before) != 0) break;
      // (SL35): seq_cst, s1 of the poison: a waiter that enters a room later finds it (SL43); one that was there before
      // is found by (SL41). Release half for (SL32).
    } while (
        !control.compare_exchange_weak(before, before | mark, std::memory_order_seq_cst, std::memory_order_relaxed));
    if (room_type* const with = enter_to_release(index)) {
      with->fence.poison(*reason_at(index));
      leave(index, *with);
    }
  }
  /// Returns why the fence is lost, and null if it is not.
  const loss_reason* reason_at(std::uint32_t index) const noexcept {
    // (SL43): seq_cst, w3 of the poison, pairs with (SL35).
    return reason(loss_in(slots_[index].control.load(std::memory_order_seq_cst)));
  }

  // ---- Waits

  template <class Token>
  wait_status wait_with(fence_handle handle, std::uint64_t target, deadline until, const Token& token) noexcept {
    const fence_look now = look(handle);
    if (now.is_stale) return wait_status::lost;
    if (now.value >= target) return wait_status::reached;
    const pin_keeper pinned(*this, handle);
    return pinned ? wait_at(index_of(handle), target, until, token) : wait_status::lost;
  }
  /// The caller has pinned the fence.
  template <class Token>
  [[gnu::noinline]] wait_status wait_at(std::uint32_t index, std::uint64_t target, deadline until,
                                        const Token& token) noexcept {
    const auto is_reached = [&] { return value_at(index) >= target; };
    const auto gives_up = [&] { return token.stop_requested() || reason_at(index) != nullptr; };
    typename spin::wait spinning{spin_.memory()};
    if (until != detail::at_once && !gives_up()) {
      if (is_reached() || spinning.spin(until, is_reached, gives_up)) return wait_status::reached;
      if (room_type* const in = enter_to_wait(index)) {
        spinning.sleeps();
        if (const loss_reason* const why = reason_at(index)) in->fence.poison(*why);
        const wait_status status = in->fence.wait_until(target, until, token);
        spinning.wakes();
        leave(index, *in);
        return status;
      }
    }
    return look_on(index, target, until, token);
  }
  /// Waits without a room: it looks each millisecond.
  template <class Token>
  wait_status look_on(std::uint32_t index, std::uint64_t target, deadline until, const Token& token) noexcept {
    typename Platform::park_word nobody_wakes{0};
    for (;;) {
      // In the opposite order of what wins, as fence_core::outcome() does.
      const bool has_passed = until == detail::at_once || (until != no_deadline && until <= Platform::now());
      const bool is_stopped = token.stop_requested();
      const bool is_lost = reason_at(index) != nullptr;
      if (value_at(index) >= target) return wait_status::reached;
      if (is_lost) return wait_status::lost;
      if (is_stopped) return wait_status::stopped;
      if (has_passed) return wait_status::timeout;
      Platform::park(nobody_wakes, 0, detail::look_again_before(until, Platform::now()));
    }
  }
  std::uint64_t value_at(std::uint32_t index) const noexcept {
    // (SL50): acquire, pairs with (F1) (F19) (F20), as (F5) does.
    return values_[index].load(std::memory_order_acquire);
  }

  using spin = detail::learning_spin<Platform, Waiters.max_spin_ns>;

  const std::uint32_t count_;
  const bool is_pinned_;
  const words values_;
  const words monitored_;
  const std::unique_ptr<slot[]> slots_;
  alignas(cache_line) list free_;
  alignas(cache_line) rooms_type rooms_;
  typename Platform::template atomic<std::uint32_t> rooms_in_use_{0};
  [[no_unique_address]] spin spin_;
  std::array<typename Platform::template atomic<const loss_reason*>, unnamed - 1> reasons_;
};

/// A fence of a slab, as a timeline: it looks and waits. It is copyable; the slab must outlive it. Its wait functions
/// are those of `waitable`. Once the fence is released, it is lost.
template <platform Platform, writers Signallers, fence_options Waiters>
class basic_fence_slab<Platform, Signallers, Waiters>::view_type : public waitable<view_type> {
 public:
  using platform = Platform;

  view_type(basic_fence_slab& of, fence_handle handle) noexcept : of_{&of}, handle_{handle} {}

  fence_handle handle() const noexcept { return handle_; }
  /// These are the functions of the slab, for this fence.
  std::uint64_t current_value() const noexcept { return of_->current_value(handle_); }
  [[nodiscard]] bool is_reached(std::uint64_t target) const noexcept { return of_->is_reached(handle_, target); }
  std::uint64_t last_reached() const noexcept { return of_->last_reached(handle_); }
  bool is_poisoned() const noexcept { return of_->is_poisoned(handle_); }
  const loss_reason* loss() const noexcept { return of_->loss(handle_); }

 private:
  friend waitable<view_type>;

  template <class Token>
  wait_status wait_with(std::uint64_t target, deadline until, const Token& token) const noexcept {
    return of_->wait_with(handle_, target, until, token);
  }

  basic_fence_slab* of_;
  fence_handle handle_;
};

/// A fence of a slab that stays while this object lives, also when it was released meanwhile. It is a timeline that can
/// be signalled, as cheaply as a fence. It can be moved into a new object, and neither copied nor assigned to. It
/// converts to false if the handle was stale, or after a move; then no other function may be called (asserted for
/// signals).
template <platform Platform, writers Signallers, fence_options Waiters>
class basic_fence_slab<Platform, Signallers, Waiters>::pinned_fence : public waitable<pinned_fence> {
 public:
  using platform = Platform;

  pinned_fence(basic_fence_slab& of, fence_handle handle) noexcept {
    if (!of.take_pin(handle)) return;
    of_ = &of;
    index_ = index_of(handle);
    value_ = &of.values_[index_];
    monitored_ = &of.monitored_[index_];
  }
  pinned_fence(pinned_fence&& other) noexcept
      : of_{std::exchange(other.of_, nullptr)},
        index_{other.index_},
        value_{other.value_},
        monitored_{other.monitored_} {}
  pinned_fence& operator=(pinned_fence&&) = delete;
  ~pinned_fence() {
    if (of_ != nullptr) of_->drop_pin(index_);
  }
  explicit operator bool() const noexcept { return of_ != nullptr; }

  /// Raises the value, and releases every waiter that is due. Returns false if the value is not above the current one;
  /// with writers::one always true, and the value must not fall (asserted). Progress: one store, or an exchange, and
  /// one load if nobody is due; otherwise as the slab's signal(). With writers::one, one signaller at a time.
  bool signal(std::uint64_t value) noexcept {
    TIDEMARK_ASSERT(of_ != nullptr, "a fence of a slab was signalled by a stale handle");
    return of_->signal_at(index_, *value_, *monitored_, value);
  }
  /// As the slab's poison().
  void poison(const loss_reason& why = unnamed_loss) noexcept { of_->poison_at(index_, why); }
  void poison(const loss_reason&&) = delete;  // a reason has static lifetime

  /// Returns the value signalled so far; UINT64_MAX if the fence is lost. Progress: wait-free, two loads. Any thread
  /// may call these functions.
  std::uint64_t current_value() const noexcept { return is_poisoned() ? UINT64_MAX : last_reached(); }
  [[nodiscard]] bool is_reached(std::uint64_t target) const noexcept { return current_value() >= target; }
  std::uint64_t last_reached() const noexcept { return of_->value_at(index_); }
  bool is_poisoned() const noexcept { return loss() != nullptr; }
  const loss_reason* loss() const noexcept { return of_->reason_at(index_); }

 private:
  friend waitable<pinned_fence>;

  template <class Token>
  wait_status wait_with(std::uint64_t target, deadline until, const Token& token) const noexcept {
    if (last_reached() >= target) return wait_status::reached;
    return of_->wait_at(index_, target, until, token);
  }

  basic_fence_slab* of_ = nullptr;
  std::uint32_t index_ = 0;
  word* value_ = nullptr;
  const word* monitored_ = nullptr;
};

/// A fence of a slab that has a room for waiters while this object lives: for wait_any() and wait_all(), loops and the
/// queues of engines, which register in it. It can be moved into a new object while nobody is registered, and neither
/// copied nor assigned to. It converts to false if there was none to be had; then no other function may be called. All
/// registrations must be gone before it.
template <platform Platform, writers Signallers, fence_options Waiters>
class basic_fence_slab<Platform, Signallers, Waiters>::waiting_room : public waitable<waiting_room> {
 public:
  using platform = Platform;

  waiting_room(basic_fence_slab& of, fence_handle handle) noexcept : pinned_{of, handle}, of_{of} {
    if (!pinned_) return;
    index_ = index_of(handle);
    room_ = of.enter_to_wait(index_);
    if (room_ == nullptr) return;
    if (const loss_reason* const why = of.reason_at(index_)) room_->fence.poison(*why);
  }
  waiting_room(waiting_room&& other) noexcept
      : pinned_{std::move(other.pinned_)},
        of_{other.of_},
        index_{other.index_},
        room_{std::exchange(other.room_, nullptr)} {}
  waiting_room& operator=(waiting_room&&) = delete;
  ~waiting_room() {
    if (room_ != nullptr) of_.leave(index_, *room_);
  }
  explicit operator bool() const noexcept { return room_ != nullptr; }

  /// Returns the value signalled so far; UINT64_MAX if the fence is lost. Any thread may call these functions.
  std::uint64_t current_value() const noexcept { return room_->fence.current_value(); }
  [[nodiscard]] bool is_reached(std::uint64_t target) const noexcept { return room_->fence.is_reached(target); }
  std::uint64_t last_reached() const noexcept { return room_->fence.last_reached(); }
  bool is_poisoned() const noexcept { return room_->fence.is_poisoned(); }
  const loss_reason* loss() const noexcept { return room_->fence.loss(); }

 private:
  friend waitable<waiting_room>;
  friend detail::fence_access;

  template <class Token>
  wait_status wait_with(std::uint64_t target, deadline until, const Token& token) const noexcept {
    return room_->fence.wait_until(target, until, token);
  }
  // For waits for several timelines, for loops, and for the queues of engines.
  const typename room_type::fence_type& fence_inside() const noexcept { return room_->fence; }

  pinned_fence pinned_;
  basic_fence_slab& of_;
  std::uint32_t index_ = 0;
  room_type* room_ = nullptr;
};

/// Fences that any thread may signal; the greatest value wins.
using fence_slab = basic_fence_slab<symmetric_platform, writers::several>;
/// Fences with exactly one signaller at a time each.
using progress_fence_slab = basic_fence_slab<native_platform, writers::one>;

}  // namespace tidemark

#endif  // TIDEMARK_FENCE_FENCE_SLAB_HPP
