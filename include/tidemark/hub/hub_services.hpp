// SPDX-License-Identifier: BSL-1.0
//
// hub_services: who serves the notifications of a hub.
//
//   self_serving   the thread that notifies serves, unless another thread is serving, which then serves this too
//   dispatched     a thread of the program sleeps in the hub's serve()
//   event_driven   an event loop watches a descriptor and calls the hub's try_serve()
//   loop_served    the threads that run a wait_loop serve (loop_served.hpp)
#ifndef TIDEMARK_HUB_HUB_SERVICES_HPP
#define TIDEMARK_HUB_HUB_SERVICES_HPP

#include <concepts>
#include <cstdint>
#include <optional>
#include <utility>

#if defined(__linux__)
#include <sys/eventfd.h>
#include <unistd.h>
#endif

#include "../platform/names.hpp"
#include "../platform/platform.hpp"

namespace tidemark {

/// How a call that serves a hub ended.
enum class serve_status {
  served,   ///< There was something to serve, and it is served.
  idle,     ///< From try_serve() alone: there was nothing to serve.
  timeout,  ///< The deadline passed, and there was nothing to serve.
  stopped,  ///< The stop token was triggered. All that was asked for before it was triggered is served.
};

template <>
inline constexpr auto detail::names_of<serve_status> = detail::names("served", "idle", "timeout", "stopped");
/// What a call that serves a hub returns. It converts to true if the status is `served`.
struct [[nodiscard]] serve_result {
  serve_status status;

  explicit operator bool() const noexcept { return status == serve_status::served; }
};

/// What a hub asks of its service.
///
///   serves_itself                 a constant: whether the thread that notifies serves
///   has_thread                    a constant: whether a thread of the program serves, by the hub's serve(). The thread
///                                 sleeps there by Platform::park() on the word `requests`. False if `serves_itself` is
///                                 true
///   ring<Platform>(requests)      tells the thread that serves that there is something to serve. Not needed if
///                                 `serves_itself` is true. If `has_thread` is true, it must wake the thread that
///                                 sleeps on `requests`, by Platform::unpark(). It must not change `requests`. The hub
///                                 calls it in the threads that notify, but only for the first notification after all
///                                 was served. It also calls it in the thread that triggers the stop token of a serve()
///
/// It may also have begin(hub), which is called once the service is in its hub, before anything else, and end(), which
/// is called when the hub is destroyed. If it has on_signalled(origin), the hub looks up which queue signalled a fence
/// that was named, and tells it; see signal_origin.hpp.
///
/// ring(), begin(), end() and the move constructor must not throw. This is checked of ring() alone, if it is needed.
template <class Service, class Platform = native_platform>
concept hub_service =
    std::move_constructible<Service> && std::convertible_to<decltype(Service::serves_itself), bool> &&
    std::convertible_to<decltype(Service::has_thread), bool> && !(Service::serves_itself && Service::has_thread) &&
    (Service::serves_itself || requires(Service& service, typename Platform::park_word& requests) {
      { service.template ring<Platform>(requests) } noexcept;
    });

/// The thread that notifies serves. If another thread is serving, that one serves this notification too.
struct self_serving {
  static constexpr bool serves_itself = true;
  static constexpr bool has_thread = false;
};

/// A thread of the program sleeps in the hub's serve().
struct dispatched {
  static constexpr bool serves_itself = false;
  static constexpr bool has_thread = true;
  /// Wakes the thread that sleeps in the hub's serve(). The hub calls it.
  template <class Platform, class Word>
  void ring(Word& requests) const noexcept {
    Platform::unpark(requests, 1);
  }
};

#if defined(__linux__)

/// An event loop watches descriptor(). When the descriptor is readable, the loop calls quiet() and then the hub's
/// try_serve(), in this order.
class event_driven {
 public:
  static constexpr bool serves_itself = false;
  static constexpr bool has_thread = false;

  /// Returns a service with a descriptor of its own, which never blocks and is closed on exec. Returns nothing if the
  /// system refuses one; errno then says why.
  [[nodiscard]] static std::optional<event_driven> make() noexcept {
    const int descriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (descriptor < 0) return std::nullopt;
    return event_driven{descriptor};
  }
  /// Takes the descriptor of `other`. That may then only be destroyed, be assigned to, or be asked for its
  /// descriptor().
  event_driven(event_driven&& other) noexcept : descriptor_{std::exchange(other.descriptor_, -1)} {}
  /// Closes the descriptor that this object had, and takes that of `other`. The event loop must not watch the former.
  event_driven& operator=(event_driven&& other) noexcept {
    if (this != &other) close_it(std::exchange(descriptor_, std::exchange(other.descriptor_, -1)));
    return *this;
  }
  /// Closes the descriptor. The event loop must not watch it any more.
  ~event_driven() { close_it(descriptor_); }

  /// Returns the descriptor to watch for reading, or -1 if this object was moved from. The descriptor belongs to this
  /// object. Once the object was moved into a hub, ask hub.service() for the descriptor.
  int descriptor() const noexcept { return descriptor_; }

  /// Makes the descriptor unreadable. Call it before try_serve(), not after it. Then always call try_serve(): while one
  /// notification is not served, later ones do not make the descriptor readable. Never blocks, and does not change
  /// errno.
  void quiet() const noexcept {
    const detail::cancellation_delay delayed;
    const detail::errno_keeper kept;
    std::uint64_t rung = 0;
    // Fails only when it is quiet already.
    [[maybe_unused]] const auto got = ::read(descriptor_, &rung, sizeof rung);
  }

  /// Makes the descriptor readable. The hub calls it, in any thread. Never blocks, and does not change errno.
  template <class Platform, class Word>
  void ring(Word&) const noexcept {
    const detail::cancellation_delay delayed;
    const detail::errno_keeper kept;
    const std::uint64_t one = 1;
    // Fails only when the count would overflow, and then the descriptor is readable.
    [[maybe_unused]] const auto put = ::write(descriptor_, &one, sizeof one);
  }

 private:
  static void close_it(int descriptor) noexcept {
    const detail::cancellation_delay delayed;
    if (descriptor >= 0) ::close(descriptor);
  }
  explicit event_driven(int descriptor) noexcept : descriptor_{descriptor} {}

  int descriptor_;
};

#endif

}  // namespace tidemark

#endif  // TIDEMARK_HUB_HUB_SERVICES_HPP
