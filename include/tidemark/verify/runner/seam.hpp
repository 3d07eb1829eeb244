// SPDX-License-Identifier: BSL-1.0
//
// The site, or sites, weakened while checks run, and who is told of the sites that are executed.
#ifndef TIDEMARK_VERIFY_RUNNER_SEAM_HPP
#define TIDEMARK_VERIFY_RUNNER_SEAM_HPP

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../engine.hpp"

namespace tidemark::verify::runner {

/// The kind of an operation.
enum class operation {
  load,
  store,
  read_modify_write,
  compare_exchange,
  fence,
  light_barrier,
  heavy_barrier,
  full_barrier,
};

/// How the operation at one site can be weakened. Where the operation is of another kind than the weakening is for,
/// nothing is weakened and no hit is counted.
enum class weakening {
  none,
  /// `to` replaces its order. Of a compare-exchange it replaces the order of success; the order of failure is lowered
  /// where it would be stronger than that.
  order,
  failure_order,  ///< `to` replaces the order of a compare-exchange that fails
  removed,        ///< a heavy or full barrier is left out
  own_thread,     ///< a heavy barrier becomes a sequentially consistent fence of the calling thread
  spurious,       ///< the exchange of a pair may fail for no reason; not that of a word
};

struct weakened_site {
  weakening how = weakening::none;
  std::string file;  // the end of the file's path
  unsigned line = 0;
  unsigned column = 0;                   // 0 means any column
  std::vector<const void*> addresses{};  // instead, where the operations have no other positions
  std::memory_order to = std::memory_order_relaxed;
  /// Only operations that the program gives this order, where one line gives several.
  std::optional<std::memory_order> from{};
  bool blind = false;      // counts hits and weakens nothing, for a test of a program that uses the seam
  std::uint64_t hits = 0;  // 0 after a search means that nothing was weakened
};
inline weakened_site seam;
/// Sites that are weakened together with that one.
inline std::vector<weakened_site> further_seams;

/// Weakens nothing any more. Whether the seam is blind stays.
inline void clear_seam() {
  const bool is_blind = seam.blind;
  seam = {};
  seam.blind = is_blind;
  further_seams.clear();
}

/// Is called before each operation of a word, each fence and each barrier, with the orders that the program names. The
/// order of a barrier is seq_cst, and `failure` is relaxed except for a compare-exchange. It must not allocate.
inline void (*observer)(const source_position&, operation, std::memory_order order,
                        std::memory_order failure) = nullptr;

/// Whether sleepers may wake for no reason. For the random search only: an exhaustive one would never end.
inline bool spurious_wakeups = false;

/// Whether a thread that spins may go on spinning for a while, in code that is compiled for the checker. Not where
/// there are preemptions, too: an exhaustive search would never end.
inline bool stubborn_threads = false;

/// Whether it is this operation that the site names; then it counts a hit. `order` is the one that is replaced.
inline bool is_hit(weakened_site& site, weakening how, const source_position& at, std::memory_order order) noexcept {
  if (site.how != how || site.from.value_or(order) != order) return false;
  if (at.address != nullptr) {
    for (const void* const each : site.addresses) {
      if (each != at.address) continue;
      ++site.hits;
      return true;
    }
    return false;
  }
  if (site.line != at.line || !std::string_view{at.file}.ends_with(site.file)) return false;
  if (site.column != 0 && site.column != at.column) return false;
  ++site.hits;
  return true;
}

/// The weakened site of an operation; null if it is not weakened in this way.
inline const weakened_site* find_weakened(weakening how, const source_position& at,
                                          std::memory_order order = std::memory_order_seq_cst) noexcept {
  if (seam.how == weakening::none) [[likely]]
    return nullptr;
  if (is_hit(seam, how, at, order)) return seam.blind ? nullptr : &seam;
  for (weakened_site& each : further_seams) {
    if (is_hit(each, how, at, order)) return seam.blind ? nullptr : &each;
  }
  return nullptr;
}
inline bool is_weakened(weakening how, const source_position& at) noexcept { return find_weakened(how, at) != nullptr; }

inline void observe(const source_position& at, operation what, std::memory_order order,
                    std::memory_order failure = std::memory_order_relaxed) {
  if (observer != nullptr) observer(at, what, order, failure);
}

}  // namespace tidemark::verify::runner

#endif  // TIDEMARK_VERIFY_RUNNER_SEAM_HPP
