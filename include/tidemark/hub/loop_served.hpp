// SPDX-License-Identifier: BSL-1.0
//
// loop_served: the threads that run a loop serve a hub, beside the callables and coroutines of that loop.
//
//   tidemark::wait_loop loop;
//   tidemark::basic_hub<tidemark::native_platform, tidemark::loop_served> hub{tidemark::loop_served{loop}};
//   loop.run();
//
// The first notification after all was served posts a task to the loop. That allocates nothing. The task serves as the
// hub's try_serve() does. It may release threads and other loops. Callables and coroutines that wait on this loop do
// not run within the task, but after it, or meanwhile in another thread that runs the loop.
#ifndef TIDEMARK_HUB_LOOP_SERVED_HPP
#define TIDEMARK_HUB_LOOP_SERVED_HPP

#include <optional>

#include "../loop/loop_task.hpp"
#include "../loop/wait_loop.hpp"
#include "../platform/platform.hpp"

namespace tidemark {

/// A loop serves the hub. See hub_services.hpp.
/// \tparam Platform  the loop's, and the hub's
template <platform Platform>
class basic_loop_served {
 public:
  static constexpr bool serves_itself = false;
  static constexpr bool has_thread = false;

  /// \param on  must outlive the hub
  explicit basic_loop_served(basic_loop<Platform>& on) noexcept : loop_{&on} {}
  /// Must not be called once the service is in a hub.
  basic_loop_served(basic_loop_served&& from) noexcept : loop_{from.loop_} {}
  basic_loop_served& operator=(basic_loop_served&&) = delete;

  // ---- what the hub calls ----

  template <class Hub>
  void begin(Hub& served) noexcept {
    task_.emplace(*loop_,
                  serves{&served, [](void* of) noexcept { static_cast<void>(static_cast<Hub*>(of)->try_serve()); }});
  }
  void end() noexcept { task_.reset(); }

  template <class, class Word>
  void ring(Word&) noexcept {
    static_cast<void>(task_->post());
  }

 private:
  struct serves {
    void* served;
    void (*serve)(void*) noexcept;
    void operator()() const noexcept { serve(served); }
  };

  basic_loop<Platform>* loop_;
  std::optional<basic_loop_task<Platform, serves>> task_;
};

/// Served by a wait_loop, which can wait for fences of all kinds.
using loop_served = basic_loop_served<native_platform>;

}  // namespace tidemark

#endif  // TIDEMARK_HUB_LOOP_SERVED_HPP
