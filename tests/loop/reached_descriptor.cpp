// SPDX-License-Identifier: BSL-1.0
//
// Descriptors that become readable when a timeline has reached a value.
#include <doctest/doctest.h>

#if defined(__linux__)

#include <cerrno>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <type_traits>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/looked_at.hpp>
#include <tidemark/loop/reached_descriptor.hpp>

#include "support/loop_kinds.hpp"
#include "support/no_descriptors.hpp"
#include "support/readable.hpp"

using namespace testing;
using tidemark::reached_descriptor;
using tidemark::wait_status;

namespace {

constexpr tidemark::loss_reason removed{7, "the device was removed"};

inline constexpr tidemark::fence_options one_slot{.capacity = 1, .growth = tidemark::heap_growth::forbidden};

/// A platform whose heavy barrier is available when the fence is made, and refused later.
struct refusing : tidemark::native_platform {
  static constexpr bool asymmetric = true;
  static bool heavy_barrier_available() noexcept { return true; }
  static bool heavy_barrier() noexcept { return false; }
};

/// An eventfd of the program.
struct event {
  int descriptor = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  event() = default;
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  ~event() { ::close(descriptor); }
  std::uint64_t read() const {
    std::uint64_t count = 0;
    return ::read(descriptor, &count, sizeof count) < 0 ? 0 : count;
  }
};

/// Nobody would write to the descriptor of a looked_at.
template <class Timeline>
constexpr bool is_taken = std::constructible_from<reached_descriptor, const Timeline&, std::uint64_t> &&
                          std::constructible_from<reached_descriptor, const Timeline&, std::uint64_t, int>;
using looked_at = tidemark::looked_at<tidemark::fence>;
static_assert(is_taken<tidemark::fence> && is_taken<tidemark::fence_view>);
static_assert(!std::constructible_from<reached_descriptor, const looked_at&, std::uint64_t>);
static_assert(!std::constructible_from<reached_descriptor, const looked_at&, std::uint64_t, int>);
static_assert(!is_taken<tidemark::timeline_view<looked_at>>);

bool is_open(int descriptor) { return ::fcntl(descriptor, F_GETFD) >= 0; }

}  // namespace

TEST_CASE_TEMPLATE("a descriptor becomes readable when its value is reached, and stays so", Kind, EVERY_LOOP_KIND) {
  typename Kind::progress_fence fence;
  int number = -1;
  {
    tidemark::basic_reached_descriptor<typename Kind::platform> ready{fence, 3};
    REQUIRE(ready.error() == 0);
    number = ready.descriptor();
    fence.signal(2);
    CHECK_FALSE(is_readable(number));
    CHECK(ready.status() == wait_status::timeout);
    fence.signal(4);
    CHECK(is_readable(number));
    CHECK(is_readable(number));
    CHECK(ready.status() == wait_status::reached);
  }
  CHECK_FALSE(is_open(number));
  CHECK(is_idle(fence));
}

TEST_CASE_TEMPLATE("[A123] a descriptor for a value that is reached is readable from the start", Kind,
                   EVERY_LOOP_KIND) {
  using descriptor = tidemark::basic_reached_descriptor<typename Kind::platform>;
  typename Kind::fence fence{5};
  descriptor ready{fence.view(), 5};
  descriptor none{fence, 0};
  CHECK(is_readable(ready.descriptor()));
  CHECK(is_readable(none.descriptor()));
  CHECK(is_idle(fence));
}

TEST_CASE_TEMPLATE("[A120] a descriptor becomes readable when the timeline is lost", Kind, EVERY_LOOP_KIND) {
  using descriptor = tidemark::basic_reached_descriptor<typename Kind::platform>;
  typename Kind::fence fence{5};
  descriptor ready{fence, 6};
  fence.poison(removed);
  CHECK(is_readable(ready.descriptor()));
  CHECK(ready.status() == wait_status::lost);
  descriptor later{fence, 6};
  CHECK(is_readable(later.descriptor()));
  descriptor reached{fence, 5};
  CHECK(reached.status() == wait_status::reached);
}

TEST_CASE("several values add to one eventfd of the program, which stays open") {
  event counted;
  tidemark::fence first;
  tidemark::progress_fence second;
  {
    reached_descriptor one{first, 1, counted.descriptor};
    reached_descriptor two{second, 1, counted.descriptor};
    reached_descriptor three{second, 2, counted.descriptor};
    CHECK(one.descriptor() == counted.descriptor);
    CHECK(counted.read() == 0);
    first.signal(1);
    second.signal(1);
    CHECK(counted.read() == 2);
  }
  second.signal(2);
  CHECK(counted.read() == 0);
  CHECK(is_open(counted.descriptor));
}

TEST_CASE("a signal that writes leaves errno alone, also where the eventfd is full") {
  event full;
  const std::uint64_t most = UINT64_MAX - 1;
  REQUIRE(::write(full.descriptor, &most, sizeof most) == sizeof most);
  tidemark::fence fence;
  reached_descriptor ready{fence, 1, full.descriptor};
  errno = ERANGE;
  fence.signal(1);
  CHECK(errno == ERANGE);
  CHECK(is_readable(full.descriptor));
}

TEST_CASE("a descriptor that nobody would write to says why") {
  tidemark::basic_fence<tidemark::symmetric_platform, one_slot> fence;
  {
    reached_descriptor first{fence, 1};
    reached_descriptor second{fence, 1};
    CHECK(first.error() == 0);
    CHECK(second.error() == ENOSPC);
    fence.signal(1);
    CHECK(is_readable(first.descriptor()));
    CHECK_FALSE(is_readable(second.descriptor()));
    CHECK(second.status() == wait_status::reached);
  }
  tidemark::basic_progress_fence<refusing> unordered;
  tidemark::basic_reached_descriptor<refusing> refused{unordered, 1};
  CHECK(refused.error() == ENOTSUP);
  CHECK(unordered.monitored_value() == tidemark::no_waiter);
  const reached_descriptor closed{fence, 2, -1};
  CHECK(closed.error() == EBADF);
  int gone = -1;
  {
    const event before;
    gone = before.descriptor;
  }
  REQUIRE_FALSE(is_open(gone));
  const reached_descriptor not_open{fence, 2, gone};
  CHECK(not_open.error() == EBADF);
  const reached_descriptor not_open_for_reached{fence, 1, gone};
  CHECK(not_open_for_reached.error() == EBADF);
  CHECK(not_open_for_reached.status() == wait_status::reached);
  const no_descriptors none;
  const reached_descriptor without{fence, 2};
  CHECK(without.error() == EMFILE);
  CHECK(without.descriptor() == -1);
}

TEST_CASE_TEMPLATE("[A34] [A37] a descriptor that is made while its value is signalled becomes readable", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::progress_fence fence;
  typename Kind::fence seen;
  constexpr std::uint64_t rounds = 1000;
  std::thread signaller([&] {
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      fence.signal(round);
      if (seen.wait(round) != wait_status::reached) return;
    }
  });
  bool is_seen = true;
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    const tidemark::basic_reached_descriptor<typename Kind::platform> ready{fence, round};
    is_seen = is_seen && is_readable(ready.descriptor(), for_ever);
    is_seen = is_seen && ready.status() == wait_status::reached;
    seen.signal(round);
  }
  signaller.join();
  CHECK(is_seen);
}

TEST_CASE("[trap 10] a descriptor that is destroyed while its value is signalled is not written to afterwards") {
  tidemark::fence fence;
  constexpr std::uint64_t rounds = 1000;
  std::thread signaller([&] {
    for (std::uint64_t round = 1; round <= rounds; ++round) fence.signal(round);
  });
  bool is_closed = true;
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    event counted;
    auto ready = std::make_unique<reached_descriptor>(fence, round, counted.descriptor);
    ready.reset();
    const std::uint64_t count = counted.read();
    is_closed = is_closed && count <= 1 && counted.read() == 0;
  }
  signaller.join();
  CHECK(is_closed);
}

#endif
