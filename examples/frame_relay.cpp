// SPDX-License-Identifier: BSL-1.0
// Two processes, each with an engine of two queues and with three threads, on one page: who waited for whom, and how
// deep each queue was.
//
//   frame_relay [PAGE.html]        default: frame_relay.html
//
//   encoder   capture -> [scale -> compress] -> sender        three threads; in brackets the queues of the engine
//   player    receiver -> [unpack -> blend] -> display        the sender's pipe leads to the receiver
//
// Each process writes what happened to a file of its own. The first one merges both files.

#include <tidemark/tidemark.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <ios>
#include <string>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

namespace {

using tidemark::fence_id;
using tidemark::logged_fence;
using tidemark::queue_id;
using tidemark::wait_status;

constexpr std::uint64_t frames = 24;
constexpr std::uint64_t ahead = 3;  // how many frames a process has under way at most
constexpr fence_id sent_id{7};      // of both processes; the others are their own
using frame = std::array<std::uint32_t, 16'384>;

/// Changes all pixels a few times.
void process(frame& pixels, unsigned rounds) {
  for (unsigned round = 0; round < rounds; ++round) {
    for (std::uint32_t& pixel : pixels) pixel = pixel * 1'664'525 + 1'013'904'223;
  }
}

/// A process: an engine with two queues, through which all frames go, and three threads, of which one submits.
class stage {
 public:
  stage(const char* process, const char* first_queue, const char* second_queue, const char* taker, const char* giver,
        const std::string& path)
      : engine_{{.threads = 2, .name = process}},
        first{engine_, {.name = first_queue}},
        second{engine_, {.name = second_queue}},
        source{queue_id{10}, taker},
        submitter{queue_id{11}, "submitter"},
        sink{queue_id{12}, giver},
        stream_{path, std::ios::binary},
        file_{stream_} {
    first.tell_work(&first_work_);
    second.tell_work(&second_work_);
    logs_.add(queue_id{1}, first.timeline());
    logs_.add(queue_id{2}, second.timeline());
    logs_.add(queue_id{1}, first_queued_);
    logs_.add(queue_id{2}, second_queued_);
    logs_.add(queue_id{1}, first_work_);
    logs_.add(queue_id{2}, second_work_);
    file_.name_process(process);
    for (const auto& [number, name] : {std::pair(1U, first_queue), std::pair(2U, second_queue)}) {
      file_.name_queue(queue_id{number}, name);
      file_.name_engine(queue_id{number}, "engine");
    }
    for (tidemark::thread_recorder* each : {&source, &submitter, &sink}) {
      logs_.add(*each);
      file_.name_thread(each->id(), each->name());
    }
    const char* const names[] = {"ready", "half done", "done", "out"};
    for (std::uint32_t i = 0; i < 4; ++i) file_.name_fence(fence_id{1 + i}, names[i]);
    file_.name_fence(sent_id, "sent");
    first.timeline().enable_tracing();
    second.timeline().enable_tracing();
  }

  /// Submits all frames, never more than `ahead` of what has left the process.
  bool submit_all(unsigned rounds) {
    for (std::uint64_t n = 1; n <= frames; ++n) {
      if (n > ahead && submitter.wait(out, n - ahead) != wait_status::reached) return false;
      first_queued_.wait_queued(ready.id, n);
      first.wait(ready, n);
      first.run(tidemark::named_work{"first pass"}, [this, n, rounds] { process(pixels(n), rounds); });
      first_queued_.signal_queued(half_done.id, n);
      first.signal(half_done, n);
      second_queued_.wait_queued(half_done.id, n);
      second.wait(half_done, n);
      second.run(tidemark::named_work{"second pass"}, [this, n, rounds] { process(pixels(n), 2 * rounds); });
      second_queued_.signal_queued(done.id, n);
      second.signal(done, n);
      if (first.submit() && second.submit()) continue;
      out_.poison();  // the other two threads wait no longer
      done_.poison();
      return false;
    }
    return first.drain() == wait_status::reached && second.drain() == wait_status::reached;
  }

  frame& pixels(std::uint64_t n) { return pixels_[static_cast<std::size_t>(n % pixels_.size())]; }

  /// Writes what happened, when all threads have ended. Returns whether the file is whole.
  bool finish() {
    logs_.collect(file_);
    return file_.close() == tidemark::trace_write_status::written;
  }

 private:
  tidemark::progress_fence ready_;
  tidemark::fence half_done_;
  tidemark::fence done_;
  tidemark::progress_fence out_;
  tidemark::engine engine_;

 public:
  const logged_fence<tidemark::progress_fence> ready{&ready_, fence_id{1}};
  const logged_fence<tidemark::fence> half_done{&half_done_, fence_id{2}};
  const logged_fence<tidemark::fence> done{&done_, fence_id{3}};
  const logged_fence<tidemark::progress_fence> out{&out_, fence_id{4}};
  tidemark::engine_queue first;
  tidemark::engine_queue second;
  tidemark::thread_recorder source;
  tidemark::thread_recorder submitter;
  tidemark::thread_recorder sink;

 private:
  tidemark::executed_work first_work_;
  tidemark::executed_work second_work_;
  tidemark::queued_events first_queued_;
  tidemark::queued_events second_queued_;
  std::array<frame, ahead + 1> pixels_{};
  tidemark::log_collector logs_;
  std::ofstream stream_;
  tidemark::trace_file_writer file_;
};

bool write_all(int to, const frame& pixels) {
  const auto* const bytes = reinterpret_cast<const char*>(pixels.data());
  for (std::size_t done = 0; done < sizeof(frame);) {
    const ssize_t count = ::write(to, bytes + done, sizeof(frame) - done);
    if (count <= 0) return false;
    done += static_cast<std::size_t>(count);
  }
  return true;
}
bool read_all(int from, frame& pixels) {
  auto* const bytes = reinterpret_cast<char*>(pixels.data());
  for (std::size_t done = 0; done < sizeof(frame);) {
    const ssize_t count = ::read(from, bytes + done, sizeof(frame) - done);
    if (count <= 0) return false;
    done += static_cast<std::size_t>(count);
  }
  return true;
}

bool encode(int to_player, const std::string& path) {
  stage own("encoder", "scale", "compress", "capture", "sender", path);
  tidemark::progress_fence sent_by_pipe;
  const logged_fence sent{&sent_by_pipe, sent_id};
  bool ok = true;
  std::thread capture([&] {
    for (std::uint64_t n = 1; n <= frames; ++n) {
      if (n > ahead && own.source.wait(own.out, n - ahead) != wait_status::reached) return;
      own.pixels(n).fill(static_cast<std::uint32_t>(n));
      own.source.signal(own.ready, n);
    }
  });
  std::thread sender([&] {
    for (std::uint64_t n = 1; n <= frames; ++n) {
      if (own.sink.wait(own.done, n) != wait_status::reached) return;
      own.sink.signal(sent, n);  // before the player can see it
      ok = write_all(to_player, own.pixels(n)) && ok;
      own.sink.signal(own.out, n);
    }
  });
  const bool submitted = own.submit_all(20);
  capture.join();
  sender.join();
  return own.finish() && submitted && ok;
}

bool play(int from_encoder, const std::string& path) {
  stage own("player", "unpack", "blend", "receiver", "display", path);
  bool ok = true;
  std::uint64_t shown = 0;
  std::thread receiver([&] {
    for (std::uint64_t n = 1; n <= frames; ++n) {
      if (n > ahead && own.source.wait(own.out, n - ahead) != wait_status::reached) return;
      const std::uint64_t begun = own.source.begin_wait(sent_id, n);
      ok = read_all(from_encoder, own.pixels(n)) && ok;
      own.source.end_wait(sent_id, n, begun);
      own.source.signal(own.ready, n);
    }
  });
  std::thread display([&] {
    for (std::uint64_t n = 1; n <= frames; ++n) {
      if (own.sink.wait(own.done, n) != wait_status::reached) return;
      frame expected;
      expected.fill(static_cast<std::uint32_t>(n));
      process(expected, 3 * 20 + 3 * 30);
      if (own.pixels(n) == expected) ++shown;
      own.sink.signal(own.out, n);
    }
  });
  const bool submitted = own.submit_all(30);
  receiver.join();
  display.join();
  return own.finish() && submitted && ok && shown == frames;
}

/// Merges both files, says what is in them, and writes the page.
bool merge(const std::string& encoder, const std::string& player, const std::string& page) {
  tidemark::trace_merge both{{.shared = {sent_id}}};
  for (const std::string& path : {encoder, player}) {
    std::ifstream file{path, std::ios::binary};
    if (!both.add(file)) return false;
    std::remove(path.c_str());
  }
  const tidemark::trace& found = both.result();
  std::size_t threads = 0;
  for (const queue_id each : found.queues()) {
    if (found.is_thread(each)) ++threads;
    std::uint64_t deepest = 0;
    for (const tidemark::trace_depth& at : depth_of(found, each)) deepest = at.depth > deepest ? at.depth : deepest;
    std::printf("%-18s %-10s at most %ju in flight\n", found.engine_name(each).c_str(), found.queue_name(each).c_str(),
                static_cast<std::uintmax_t>(deepest));
  }
  std::ofstream out{page, std::ios::binary};
  if (page.ends_with(".json")) write_chrome_trace(found, out);
  if (!page.ends_with(".json")) write_trace_page(found, out);
  out.close();
  std::printf("%s: %zu queues and %zu threads of two processes\n", page.c_str(), found.queues().size() - threads,
              threads);
  return out && found.losses().empty() && found.queues().size() == 10 && threads == 6;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string page = count > 1 ? arguments[1] : "frame_relay.html";
  const std::string encoder = page + ".encoder";
  const std::string player = page + ".player";
  int ends[2];
  if (::pipe(ends) != 0) return 1;
  const pid_t child = ::fork();  // before there is any thread
  if (child < 0) return 1;
  if (child == 0) {
    ::close(ends[1]);
    ::_exit(play(ends[0], player) ? 0 : 1);
  }
  ::close(ends[0]);
  const bool encoded = encode(ends[1], encoder);
  ::close(ends[1]);
  int status = 0;
  const bool played = ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  const bool ok = encoded && played && merge(encoder, player, page);
  std::puts(ok ? "ok" : "WRONG");
  return ok ? 0 : 1;
}
