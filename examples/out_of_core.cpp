// SPDX-License-Identifier: BSL-1.0
// Compares every file of a folder with every other one, within a budget that has no
// room for all of them. Each step needs two pieces of files. The list of the steps says which ones, and a splitter
// cuts the list into parts that fit:
//
//   slot 0   the piece whose samples are known. The samples point into it, so it must keep its place until the next
//            piece comes. With --rebind it may move at a cut, and the samples are taken again.
//   slot 1   the piece that is compared with it
//
//   offset   the number of a step. Before a part begins, all pieces are mapped that its steps need.
//
// Without a budget, the same work is one part; its result must be the same.

#include "out_of_core/likeness.hpp"
#include "out_of_core/options.hpp"
#include "out_of_core/regions.hpp"

#include <tidemark/split/submit_parts.hpp>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace {

using out_of_core::region;
using out_of_core::whole_pages;

/// A region; `region_id{}` is the null handle, and the others are the numbers of the regions plus 1.
enum class region_id : std::uint32_t {};
constexpr region_id id_of(std::size_t which) { return region_id{static_cast<std::uint32_t>(which + 1)}; }
constexpr std::size_t number_of(region_id which) { return static_cast<std::size_t>(which) - 1; }

using address_space = tidemark::address_space<tidemark::fit::best>;
using splitter = tidemark::splitter<region_id, address_space>;
using part = tidemark::split_part<region_id>;

constexpr tidemark::slot_id row_slot{0};
constexpr tidemark::slot_id column_slot{1};

struct step {
  std::size_t row = 0;  // regions
  std::size_t column = 0;
};

struct work {
  std::vector<region> regions;
  std::vector<step> steps;
  tidemark::split_list_builder<region_id> list;

  work(std::vector<region> all, bool rebinds) : regions{std::move(all)} {
    list.keep_bound(row_slot, rebinds);
    for (std::size_t row = 0; row < regions.size(); ++row) {
      for (std::size_t column = row + 1; column < regions.size(); ++column) {
        if (regions[row].file != regions[column].file) add({row, column});
      }
    }
  }

 private:
  void add(step next) {
    const std::uint64_t offset = steps.size();
    const bool is_new_row = steps.empty() || steps.back().row != next.row;
    if (is_new_row) bind(offset, row_slot, next.row);
    bind(offset, column_slot, next.column);
    steps.push_back(next);
  }
  void bind(std::uint64_t offset, tidemark::slot_id slot, std::size_t which) {
    if (!list.bind(offset, slot, id_of(which))) {
      throw std::length_error("more steps than a split list can have");
    }
  }
};

using likeness = std::map<std::pair<std::size_t, std::size_t>, std::uint64_t>;  // of two files

struct outcome {
  likeness found;
  tidemark::split_statistics statistics;
  double seconds = 0;
};

/// Carries out the paging of each part, and runs its steps.
class executor {
 public:
  executor(const work& all, splitter& parts, std::size_t bytes) : all_{all}, parts_{parts}, window_{bytes} {}

  void enter() {}
  void leave() {}

  bool page(const part& next) {
    for (const auto& [kind, which, bytes, from, to] : next.paging) {
      if (kind != tidemark::paging_kind::page_in) window_.unmap(static_cast<std::size_t>(bytes), from);
      if (kind != tidemark::paging_kind::evict) window_.map(all_.regions[number_of(which)], to);
    }
    return true;
  }

  bool submit(const part& next) {
    for (std::uint64_t at = next.begin; at < next.end; ++at) {
      const auto [row, column] = all_.steps[static_cast<std::size_t>(at)];
      const std::span<const std::byte> bytes = bytes_of(row);
      if (row_ != row || sampled_ != bytes.data()) {
        samples_.emplace(bytes);
        row_ = row;
        sampled_ = bytes.data();
      }
      const std::uint64_t common = samples_->in_common_with(bytes_of(column));
      if (common > 0) found_[{all_.regions[row].file, all_.regions[column].file}] += common;
    }
    return true;
  }

  likeness result() && { return std::move(found_); }

 private:
  std::span<const std::byte> bytes_of(std::size_t which) const {
    const std::optional<std::uint64_t> address = parts_.address_of(id_of(which));
    if (!address) throw std::logic_error("a step needs a piece that is not mapped");
    return window_.at(all_.regions[which], *address);
  }

  const work& all_;
  splitter& parts_;
  out_of_core::window window_;
  std::optional<std::size_t> row_;      // the piece of the samples
  const std::byte* sampled_ = nullptr;  // where it was mapped then
  std::optional<out_of_core::samples> samples_;
  likeness found_;
};

splitter splitter_for(const work& all, std::size_t budget) {
  return {{.max_slot = column_slot},
          address_space{{.bytes = budget, .alignment = out_of_core::page_bytes()}},
          [&all](region_id which) -> std::uint64_t { return whole_pages(all.regions[number_of(which)].bytes); }};
}

outcome run(work& all, std::size_t budget) {
  splitter parts = splitter_for(all, budget);
  if (!parts.begin(all.list.entries(), all.steps.size())) throw std::logic_error("the list of the steps is wrong");
  executor runs{all, parts, budget};
  const auto start = std::chrono::steady_clock::now();
  if (!tidemark::submit_parts(parts, tidemark::part_scheduling::back_to_back, runs)) {
    throw std::logic_error("the work can't be done, but would_fail() had said that it can");
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return {std::move(runs).result(), parts.statistics(), took.count()};
}

/// Returns how many bytes an LRU cache of the same size would map, step by step.
std::uint64_t mapped_by_lru(const work& all, std::size_t budget) {
  std::list<std::size_t> recent;  // the latest one first
  std::uint64_t used = 0;
  std::uint64_t mapped = 0;
  for (const auto& [row, column] : all.steps) {
    for (const std::size_t which : {row, column}) {
      if (const auto found = std::find(recent.begin(), recent.end(), which); found != recent.end()) {
        recent.splice(recent.begin(), recent, found);
        continue;
      }
      const std::uint64_t bytes = whole_pages(all.regions[which].bytes);
      for (; used + bytes > budget && !recent.empty(); recent.pop_back()) {
        used -= whole_pages(all.regions[recent.back()].bytes);
      }
      recent.push_front(which);
      used += bytes;
      mapped += bytes;
    }
  }
  return mapped;
}

void print(const work& all, const outcome& within, const outcome& at_once, std::size_t budget, std::uint64_t total) {
  const tidemark::split_statistics& seen = within.statistics;
  std::printf("files      %zu, %zu pieces, %" PRIu64 " bytes in whole pages\n", all.regions.back().file + 1,
              all.regions.size(), total);
  std::printf("steps      %zu\n", all.steps.size());
  std::printf("budget     %zu bytes: %" PRIu64 " parts\n", budget, seen.parts);
  std::printf("paged in   %" PRIu64 " bytes; an LRU cache of that size: %" PRIu64 "\n", seen.bytes_paged_in,
              mapped_by_lru(all, budget));
  std::printf("kept       %" PRIu64 " bytes in place over %" PRIu64 " cuts, %" PRIu64 " moved\n", seen.bytes_kept,
              seen.cuts, seen.bytes_moved);
  std::printf("time       %.3f s, all mapped at once %.3f s\n", within.seconds, at_once.seconds);
  std::vector<std::pair<std::uint64_t, likeness::key_type>> order;
  for (const auto& [files, common] : within.found) order.emplace_back(common, files);
  std::sort(order.rbegin(), order.rend());
  const auto name = [&all](std::size_t file) {
    const auto found =
        std::find_if(all.regions.begin(), all.regions.end(), [&](auto& one) { return one.file == file; });
    return std::filesystem::path{found->path}.filename().string();
  };
  std::printf("alike      %zu pairs\n", order.size());
  for (std::size_t i = 0; i < std::min<std::size_t>(3, order.size()); ++i) {
    const auto& [common, files] = order[i];
    std::printf("           %6" PRIu64 " samples  %s, %s\n", common, name(files.first).c_str(),
                name(files.second).c_str());
  }
  std::printf("result     %s\n", within.found == at_once.found ? "the same as with everything mapped" : "NOT THE SAME");
}

int compare(const out_of_core::options& options) {
  work all{out_of_core::regions_of(options.folder, options.files, options.region), options.rebind};
  if (all.steps.empty()) throw std::runtime_error("there are no two files to compare in '" + options.folder + "'");
  std::uint64_t total = 0;
  for (const region& one : all.regions) total += whole_pages(one.bytes);
  const auto failed = splitter_for(all, options.budget).would_fail(all.list.entries(), all.steps.size());
  if (failed) {
    const auto [row, column] = all.steps[static_cast<std::size_t>(failed->split_offset)];
    std::fprintf(stderr,
                 "out_of_core: step %" PRIu64 " can't be done within %zu bytes: slot %" PRIu32
                 " needs %s beside the rest\n",
                 failed->split_offset, options.budget, static_cast<std::uint32_t>(failed->slot),
                 all.regions[failed->slot == row_slot ? row : column].path.c_str());
    return 1;
  }
  const outcome within = run(all, options.budget);
  const outcome at_once = run(all, static_cast<std::size_t>(total));
  print(all, within, at_once, options.budget, total);
  return within.found == at_once.found && at_once.statistics.parts == 1 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return support::run_main("out_of_core", [&] {
    const out_of_core::options options = out_of_core::parse_options({argv + 1, argv + argc});
    if (options.help) return std::fputs(out_of_core::help_text, stdout) < 0 ? 1 : 0;
    return compare(options);
  });
}
