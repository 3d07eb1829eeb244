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

}  // namespace tidemark

#endif  // TIDEMARK_LOG_IDS_HPP
