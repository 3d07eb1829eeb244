// SPDX-License-Identifier: BSL-1.0
// Streams a mesh to an executor that is two frames behind. Nothing is copied, no thread waits as long as there are
// enough backings, and nothing is written or freed that the executor still reads:
//
//   rename_ring    the vertices: discarded and written anew in each frame, and sparks appended without overwriting
//   upload_ring    the constants of each draw, in one ring; they come back when their frame is drawn
//   retire_queue   decals, dropped while frames that show them are still to be drawn
//
// The executor is in stream_mesh/device.hpp.

#include "stream_mesh/device.hpp"
#include "stream_mesh/options.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <vector>

#include <tidemark/memory/rename_ring.hpp>
#include <tidemark/memory/retire_queue.hpp>
#include <tidemark/memory/upload_ring.hpp>

namespace {

using stream_mesh::words;
using tidemark::map_mode;
using tidemark::map_status;

constexpr std::size_t draws_in_frame = 8;
constexpr std::size_t words_in_draw = 32;
constexpr std::size_t frames_in_scene = 100;  // then the view changes, and memory is given back
constexpr std::size_t sparks = 512;

struct statistics {
  std::uint64_t renamed = 0;
  std::uint64_t still_drawing = 0;  // maps that were busy
  std::uint64_t trimmed = 0;
  std::size_t peak_backings = 0;
  std::uint64_t peak_bytes = 0;  // that the executor may read
};

/// Bytes of decals that were dropped.
struct decal_bytes {
  std::uint64_t waiting = 0;  // until no frame shows them any more
  std::uint64_t reclaimed = 0;
};

/// Backings of the mesh, as many as the budget allows.
struct budgeted_source {
  using backing = std::uint64_t*;
  std::size_t left;

  backing create(const tidemark::backing_traits& traits) noexcept {
    if (traits.bytes > left) return nullptr;
    auto* const made = new (std::nothrow) std::uint64_t[traits.bytes / sizeof(std::uint64_t)];
    if (made != nullptr) left -= traits.bytes;
    return made;
  }
  void destroy(backing made, const tidemark::backing_traits& traits) noexcept {
    delete[] made;
    left += traits.bytes;
  }
};

/// Something that is drawn for some frames and then dropped.
struct decal : tidemark::retire_hook<1> {
  decal(std::uint64_t seed, decal_bytes& dropped) : content(4096, seed), counted_in{&dropped} {}
  std::uint64_t bytes() const { return content.size() * sizeof(std::uint64_t); }

  std::vector<std::uint64_t> content;
  decal_bytes* counted_in;
};
struct delete_decal {
  void operator()(decal& dropped) const noexcept {
    dropped.counted_in->waiting -= dropped.bytes();
    dropped.counted_in->reclaimed += dropped.bytes();
    delete &dropped;
  }
};

using mesh_ring = tidemark::rename_ring<tidemark::progress_fence_view, budgeted_source>;

class producer {
 public:
  explicit producer(const stream_mesh::options& options)
      : mesh_words_{options.vertices * 3},
        device_{options.frames, options.behind},
        mesh_{device_.finished(),
              {.bytes = (mesh_words_ + sparks) * sizeof(std::uint64_t)},
              budgeted_source{options.budget == 0 ? SIZE_MAX : options.budget}},
        decals_{device_.queue()},
        upload_memory_((options.behind + 2) * draws_in_frame * words_in_draw),
        uploads_{device_.finished(), {.capacity = upload_memory_.size() * sizeof(std::uint64_t)}} {}

  bool run(std::size_t frames) {
    for (std::size_t number = 1; number <= frames; ++number) {
      if (!produce(number)) return false;
      if (number % frames_in_scene == 0) statistics_.trimmed += mesh_.trim();
    }
    device_.finish();
    decals_.reclaim();
    return true;
  }

  const statistics& result() const { return statistics_; }
  std::uint64_t reclaimed_bytes() const { return dropped_bytes_.reclaimed; }
  std::uint64_t wrong_frames() const { return device_.wrong_frames(); }

 private:
  bool produce(std::size_t number) {
    stream_mesh::frame next;
    const auto vertices = map_vertices();
    if (!vertices) return false;
    statistics_.renamed += vertices.renamed ? 1U : 0U;
    write_wave({vertices.memory, mesh_words_}, number);
    next.draw({vertices.memory, mesh_words_});

    // The executor does not read these bytes yet, whatever it does with the others.
    const auto same = mesh_.map(map_mode::no_overwrite);
    const std::span<std::uint64_t> appended{same.memory + mesh_words_, sparks};
    std::fill(appended.begin(), appended.end(), number * 7);
    next.draw(appended);

    for (std::size_t draw = 0; draw < draws_in_frame; ++draw) next.draw(upload(number * 100 + draw));

    decals_on_show_.push_back(std::make_unique<decal>(number, dropped_bytes_));
    for (const auto& each : decals_on_show_) next.draw(each->content);

    const std::uint64_t serial = device_.submit(std::move(next));
    mesh_.retire(same, serial);
    mesh_.retire(vertices, serial);
    uploads_.retire(serial);
    if (decals_on_show_.size() > 3) drop_oldest_decal();
    decals_.reclaim();
    note_peaks();
    return true;
  }

  mesh_ring::mapping map_vertices() {
    auto mapped = mesh_.try_map(map_mode::discard);
    if (mapped.status != map_status::busy) return mapped;
    ++statistics_.still_drawing;
    device_.flush();  // otherwise each would wait for the other
    return mesh_.map(map_mode::discard);
  }

  static void write_wave(std::span<std::uint64_t> vertices, std::size_t frame) {
    for (std::size_t i = 0; i < vertices.size(); ++i) vertices[i] = i * i + frame * 1'000'003;
  }

  words upload(std::uint64_t seed) {
    const tidemark::upload_part part = uploads_.allocate(words_in_draw * sizeof(std::uint64_t), 64);
    if (!part) throw std::logic_error("the upload ring is too small for a frame");
    const std::span<std::uint64_t> constants{upload_memory_.data() + part.offset / sizeof(std::uint64_t),
                                             words_in_draw};
    std::fill(constants.begin(), constants.end(), seed);
    return constants;
  }

  void drop_oldest_decal() {
    decal& dropped = *decals_on_show_.front().release();
    decals_on_show_.pop_front();
    dropped_bytes_.waiting += dropped.bytes();
    decals_.retire(dropped, delete_decal{});
  }

  void note_peaks() {
    statistics_.peak_backings = std::max(statistics_.peak_backings, mesh_.backings());
    statistics_.peak_bytes =
        std::max(statistics_.peak_bytes, mesh_.backings() * (mesh_words_ + sparks) * sizeof(std::uint64_t) +
                                             uploads_.bytes_in_use() + dropped_bytes_.waiting);
  }

  std::size_t mesh_words_;
  stream_mesh::device device_;
  mesh_ring mesh_;
  decal_bytes dropped_bytes_;
  tidemark::retire_queue<tidemark::queue> decals_;
  std::vector<std::uint64_t> upload_memory_;
  tidemark::upload_ring<> uploads_;
  std::deque<std::unique_ptr<decal>> decals_on_show_;
  statistics statistics_;
};

int run(const stream_mesh::options& options) {
  producer streams{options};
  if (!streams.run(options.frames)) {
    std::fputs("stream_mesh: the budget has no room for the vertices\n", stderr);
    return 1;
  }
  const statistics& seen = streams.result();
  std::printf("frames     %zu of %zu vertices, the executor %zu behind\n", options.frames, options.vertices,
              options.behind);
  std::printf("mesh       renamed %" PRIu64 " times, %zu backings at most, %" PRIu64 " given up\n", seen.renamed,
              seen.peak_backings, seen.trimmed);
  std::printf("stalls     %" PRIu64 " (was still drawing)\n", seen.still_drawing);
  std::printf("in flight  %" PRIu64 " bytes at most\n", seen.peak_bytes);
  std::printf("reclaimed  %" PRIu64 " bytes of decals\n", streams.reclaimed_bytes());
  std::printf("drawn      %s\n", streams.wrong_frames() == 0 ? "what was written, every frame" : "SOMETHING ELSE");
  return streams.wrong_frames() == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return support::run_main("stream_mesh", [&] {
    const stream_mesh::options options = stream_mesh::parse_options({argv + 1, argv + argc});
    if (options.help) return std::fputs(stream_mesh::help_text, stdout) < 0 ? 1 : 0;
    return run(options);
  });
}
