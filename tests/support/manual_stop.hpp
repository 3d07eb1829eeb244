// SPDX-License-Identifier: BSL-1.0
//
// A stop source and token of our own. They show what a token type must have, and stop waits where std::stop_token is
// missing.
#ifndef TIDEMARK_TESTS_SUPPORT_MANUAL_STOP_HPP
#define TIDEMARK_TESTS_SUPPORT_MANUAL_STOP_HPP

#include <atomic>
#include <functional>
#include <list>
#include <mutex>

namespace testing {

class manual_stop {
 public:
  class token {
   public:
    template <class Callback>
    class callback_type {
     public:
      callback_type(token stopped_by, const Callback& callback) : source_{stopped_by.source_} {
        const std::lock_guard lock{source_->guard_};
        if (source_->requested_) {
          callback();
        } else {
          place_ = source_->callbacks_.insert(source_->callbacks_.end(), callback);
          is_listed_ = true;
        }
      }
      callback_type(const callback_type&) = delete;
      callback_type& operator=(const callback_type&) = delete;
      ~callback_type() {  // the lock also waits for a running callback
        const std::lock_guard lock{source_->guard_};
        if (is_listed_) source_->callbacks_.erase(place_);
      }

     private:
      manual_stop* source_;
      std::list<std::function<void()>>::iterator place_;
      bool is_listed_ = false;
    };

    explicit token(manual_stop& source) : source_{&source} {}
    bool stop_requested() const noexcept { return source_->requested_; }

   private:
    manual_stop* source_;
  };

  token get_token() { return token{*this}; }

  void request() {
    const std::lock_guard lock{guard_};
    requested_ = true;
    for (const auto& callback : callbacks_) callback();
  }

 private:
  std::mutex guard_;
  std::list<std::function<void()>> callbacks_;
  std::atomic<bool> requested_{false};
};

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_MANUAL_STOP_HPP
