// SPDX-License-Identifier: BSL-1.0
// Has the picture recorded by several threads, and executed by an engine.
//
//   thread 1       records list 0    records list 2    ...      each list draws some tiles, and each thread has a
//   thread 2       records list 1    records list 3    ...      context and a fence of its own
//   this thread    waits for the list that comes next, adopts it, and submits it
//   engine         executes the lists in their order, and signals after each of them how many are done: `drawn`
//
// A thread begins a list when only few lists before it are not drawn yet. So the memory that textures take follows from
// the number of threads, not from the size of the picture.

#pragma once

#include "device.hpp"
#include "objects.hpp"
#include "options.hpp"
#include "recorder.hpp"

#include <tidemark/tidemark.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace parallel_record {

class painting {
 public:
  painting(const scene& drawn, const options& chosen)
      : scene_(drawn),
        window_(2 * chosen.threads + 2),
        textures_(drawn_, drawn),
        objects_(drawn, chosen.threads),
        result_(drawn),
        device_{&scene_, &result_},
        parts_(drawn.parts()) {
    for (std::size_t i = 0; i < chosen.threads; ++i) {
      auto opened = objects_.storage->open();
      if (!opened) throw std::bad_alloc();
      workers_.emplace_back(*this, std::move(opened.context));
    }
    workers_.front().memory.fail_after = chosen.fail_after;
    queue_.emplace(engine_);
  }
  painting(const painting&) = delete;
  painting& operator=(const painting&) = delete;
  /// If an exception goes through, not all lists were submitted.
  ~painting() {
    queue_.reset();
    drawn_.poison();  // nothing uses textures any more, and recorders wait for nothing
    join();
  }

  void run() {
    write_whole_textures();
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      workers_[i].thread = std::thread([this, i] { record_some(i); });
    }
    for (std::size_t part = 0; part < parts_.size(); ++part) submit(part);
    join();
    if (queue_->drain() != tidemark::wait_status::reached) throw std::runtime_error("the engine is lost");
  }

  // ---- when that is over ----

  [[nodiscard]] const picture& result() const { return result_; }
  [[nodiscard]] bool is_missing(std::size_t part) const { return parts_[part].is_missing; }
  [[nodiscard]] std::size_t commands() const { return commands_; }
  [[nodiscard]] recorder::counts counted() const {
    recorder::counts sum;
    for (const recording_thread& each : workers_) {
      const recorder::counts& its = each.recording.counted();
      sum.renames += its.renames;
      sum.left_out += its.left_out;
      sum.removals += its.removals;
    }
    return sum;
  }
  [[nodiscard]] const list_memory& memory_of(std::size_t worker) const { return workers_[worker].memory; }
  /// How many bytes lists took at most, if all contexts had their most at the same time.
  [[nodiscard]] std::size_t list_bytes() const {
    std::size_t sum = 0;
    for (const recording_thread& each : workers_) sum += each.memory.most_bytes;
    return sum;
  }
  [[nodiscard]] std::size_t backings() const {
    return textures_.heights.backings() + textures_.skins.backings() + textures_.palette.backings() +
           textures_.sheet.backings();
  }
  [[nodiscard]] std::size_t backing_bytes() const {
    return textures_.heights.backings() * heights_bytes(scene_) +
           textures_.skins.backings() * skin_bytes(scene_) * skin_cells + textures_.palette.backings() * palette_bytes +
           textures_.sheet.backings() * sheet_bytes;
  }
  /// The sheet as all lists together have left it.
  [[nodiscard]] const std::uint8_t* sheet() {
    const texture::mapping read = textures_.sheet.map(tidemark::map_mode::read);
    if (!read) throw std::runtime_error("the sheet can't be read");
    return reinterpret_cast<const std::uint8_t*>(read.memory);
  }

 private:
  struct list_slot {
    std::optional<recorder::list_type> list;  // from its recording to its submission
    bool is_missing = false;
  };
  struct recording_thread {
    recording_thread(painting& of, object_storage::context&& opened)
        : recording(of.scene_, of.device_, of.textures_, of.objects_, std::move(opened), memory) {}

    list_memory memory;
    recorder recording;
    tidemark::progress_fence recorded;  // how many lists this thread has recorded
    std::thread thread;
  };

  /// The thread that submits writes textures, too: what is current then is what lists find.
  void write_whole_textures() {
    const texture::mapping palette = textures_.palette.map(tidemark::map_mode::discard);
    const texture::mapping sheet = textures_.sheet.map(tidemark::map_mode::discard);
    if (!palette || !sheet) throw std::bad_alloc();
    fill_palette(reinterpret_cast<colour*>(palette.memory));
    fill_sheet(reinterpret_cast<std::uint8_t*>(sheet.memory));
  }

  /// What a thread does: each list whose turn it is.
  void record_some(std::size_t number) noexcept {
    recording_thread& self = workers_[number];
    for (std::size_t part = number; part < parts_.size(); part += workers_.size()) {
      const std::uint64_t drawn_before = part < window_ ? 0 : part - window_;
      if (drawn_.wait(drawn_before) != tidemark::wait_status::reached) return;
      parts_[part].list = self.recording.record(part);
      self.recorded.signal_next();
    }
  }

  /// Waits for a list, and submits it. If its recording was removed, its tiles are missing, and nothing else.
  void submit(std::size_t number) {
    const recording_thread& by = workers_[number % workers_.size()];
    if (by.recorded.wait(number / workers_.size() + 1) != tidemark::wait_status::reached) return;
    list_slot& submitted = parts_[number];
    const std::uint64_t serial = number + 1;
    if (submitted.list) {
      commands_ += submitted.list->size();
      submitted.list->adopt(serial);
      submitted.list->record_on(*queue_);
      submitted.list.reset();
    } else {
      submitted.is_missing = true;
    }
    queue_->signal(drawn_, serial);
    if (!queue_->submit()) throw std::runtime_error("the engine is lost");
  }

  void join() {
    for (recording_thread& each : workers_) {
      if (each.thread.joinable()) each.thread.join();
    }
  }

  const scene& scene_;
  const std::size_t window_;  // how many lists may be on the way
  // In this order: commands use the textures, and `drawn_` says when they don't any more.
  tidemark::fence drawn_;
  textures textures_;
  objects objects_;
  picture result_;
  device device_;
  std::size_t commands_ = 0;
  std::deque<recording_thread> workers_;  // lists have the addresses of their memories
  std::vector<list_slot> parts_;
  tidemark::engine engine_;
  std::optional<tidemark::engine_queue> queue_;
};

}  // namespace parallel_record
