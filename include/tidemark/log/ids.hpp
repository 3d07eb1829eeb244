// SPDX-License-Identifier: BSL-1.0
//
// The numbers that name things in logs, hubs and traces, each with a type of its own, so that a fence's number is not
// taken for a queue's. No number is reserved: a function that may have no number to return returns an optional or
// another result that can say so.
//
//   fence_id   a fence, or any other timeline, as the entries of a log name it
//   queue_id   a queue, as hubs, collectors and traces name it
//   device_id  a device, to which fences and queues of a hub belong
//   engine_id  an engine, as a report on several engines names it
//
// The owner of the logs gives the numbers: fence_id{7}. A hub gives the numbers of what is added to it. The numbers of
// devices are the program's.
#ifndef TIDEMARK_LOG_IDS_HPP
#define TIDEMARK_LOG_IDS_HPP

#include <cstdint>
#include <span>

namespace tidemark {

/// Names a fence. Comparable, and usable as a key of std::map and std::unordered_map.
enum class fence_id : std::uint32_t {};

/// Names a queue. Comparable, and usable as a key of std::map and std::unordered_map.
enum class queue_id : std::uint32_t {};

/// Names a device. Comparable, and usable as a key of std::map and std::unordered_map.
enum class device_id : std::uint32_t {};

/// Names an engine. Comparable, and usable as a key of std::map and std::unordered_map.
enum class engine_id : std::uint32_t {};

/// Returns the number itself, to print or to store it.
[[nodiscard]] constexpr std::uint32_t to_number(fence_id id) noexcept { return static_cast<std::uint32_t>(id); }
[[nodiscard]] constexpr std::uint32_t to_number(queue_id id) noexcept { return static_cast<std::uint32_t>(id); }
[[nodiscard]] constexpr std::uint32_t to_number(device_id id) noexcept { return static_cast<std::uint32_t>(id); }
[[nodiscard]] constexpr std::uint32_t to_number(engine_id id) noexcept { return static_cast<std::uint32_t>(id); }

/// What the numbers in another process's logs are here: each process numbers its queues and fences by itself. Its queue
/// n is `queues` + n here, and its fence n is `fences` + n. A number from `count` on becomes the greatest one, so that
/// no process uses the numbers that are kept for another one, whatever it writes. Keep these ranges apart.
struct process_numbers {
  std::uint32_t queues = 0;
  std::uint32_t fences = 0;
  std::uint32_t count = 65'536;        ///< How many numbers the process has here, of queues and of fences; not 0.
  std::span<const fence_id> shared{};  ///< Fences that have the same number in both. What it refers to must stay.

  [[nodiscard]] constexpr queue_id here(queue_id there) const noexcept {
    return queue_id{queues + bounded(to_number(there))};
  }
  [[nodiscard]] constexpr fence_id here(fence_id there) const noexcept {
    for (const fence_id each : shared) {
      if (each == there) return there;
    }
    return fence_id{fences + bounded(to_number(there))};
  }

 private:
  constexpr std::uint32_t bounded(std::uint32_t number) const noexcept { return number < count ? number : count - 1; }
};

}  // namespace tidemark

#endif  // TIDEMARK_LOG_IDS_HPP
