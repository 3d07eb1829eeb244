// SPDX-License-Identifier: BSL-1.0
//
// What the checks of waits share. Times and stops are those of the checker.
#ifndef TIDEMARK_TESTS_MODEL_SUPPORT_WAITING_HPP
#define TIDEMARK_TESTS_MODEL_SUPPORT_WAITING_HPP

#include "model_check.hpp"

#include <tidemark/fence/fence.hpp>

#include <chrono>
#include <cstdint>

namespace model {

/// The type of the data that is handed over.
template <class Timeline>
using payload_of = typename Timeline::platform::template var<int>;

/// A point of time that the checker may let pass at any moment.
constexpr tidemark::deadline some_time{std::chrono::hours{1}};

/// A platform whose heavy barrier is available when the fences are made, and refused when a waiter needs it.
template <class Platform>
struct refused_later : Platform {
  static bool heavy_barrier() {
    Platform::full_barrier();
    return false;
  }
};

/// A stop source of the shape of std::stop_source, made of the checker's own parts.
template <class Platform>
class stop_source {
 public:
  class token {
   public:
    explicit token(stop_source& source) : source_{&source} {}
    bool stop_requested() const { return source_->requested_.load(std::memory_order_acquire) != 0; }

    template <class Callback>
    class callback_type {
     public:
      callback_type(const token& of, const Callback& callback) : source_{of.source_}, callback_{callback} {
        source_->guard_.lock();
        const bool late = of.stop_requested();
        if (!late) {
          source_->argument_ = this;
          source_->call_ = [](void* self) { static_cast<callback_type*>(self)->callback_(); };
        }
        source_->guard_.unlock();
        if (late) callback();
      }
      callback_type(const callback_type&) = delete;
      ~callback_type() {
        source_->guard_.lock();
        source_->call_ = nullptr;
        source_->guard_.unlock();
      }

     private:
      stop_source* source_;
      Callback callback_;
    };

   private:
    stop_source* source_;
  };

  void request_stop() {
    guard_.lock();
    requested_.store(1, std::memory_order_release);
    if (call_ != nullptr) call_(argument_);
    guard_.unlock();
  }

 private:
  typename Platform::template atomic<std::uint32_t> requested_{0};
  tidemark::verify::relacy_primitives::mutex guard_;
  void (*call_)(void*) = nullptr;
  void* argument_ = nullptr;
};

/// Requires the monitored value that a timeline has while only the bystanders of its shape (shapes.hpp) wait [A15]. It
/// is always 0 where the fence is pinned.
template <class Timeline>
void require_idle(const Timeline& timeline) {
  MODEL_REQUIRE(timeline.monitored_value() == Timeline::idle_value());
}

/// The same after a poison, which has also released the bystanders.
template <class Timeline>
void require_idle_after_poison(const Timeline& timeline) {
  MODEL_REQUIRE(timeline.monitored_value() == (Timeline::idle_value() == 0 ? 0 : tidemark::no_waiter));
}

}  // namespace model

#endif  // TIDEMARK_TESTS_MODEL_SUPPORT_WAITING_HPP
