// SPDX-License-Identifier: BSL-1.0
//
// trace_file: what is written while a program runs is read back equal; files that are cut off, damaged or foreign; and
// streams that fail.
#include "support/counted_allocations.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <ios>
#include <istream>
#include <new>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <streambuf>
#include <string>
#include <string_view>
#include <utility>

#include <tidemark/fence/fence.hpp>
#include <tidemark/queue/log_collector.hpp>
#include <tidemark/queue/queue.hpp>
#include <tidemark/trace/trace.hpp>
#include <tidemark/trace/trace_file.hpp>

#include "support/random.hpp"
#include "support/trace_entries.hpp"

using namespace testing;
using tidemark::fence_id;
using tidemark::fence_log_entry;
using tidemark::fence_log_type;
using tidemark::queue_id;
using tidemark::read_trace_file;
using tidemark::trace;
using tidemark::trace_event;
using tidemark::trace_file_writer;
using tidemark::trace_read_status;
using tidemark::trace_write_status;

static_assert(tidemark::trace_target<trace> && tidemark::trace_target<trace_file_writer>);
static_assert(tidemark::trace_sink<trace_file_writer>);

namespace {

/// Ticks of two nanoseconds, from far away.
struct far_clock {
  static std::uint64_t to_nanoseconds(std::uint64_t ticks) { return 1'000'000 + 2 * ticks; }
};

/// Notes each call as a line.
struct told_lines {
  std::string text;

  void add(std::string_view what, queue_id queue, std::initializer_list<std::uint64_t> numbers) {
    text.append(what).append(" ").append(std::to_string(to_number(queue)));
    for (const std::uint64_t number : numbers) text.append(" ").append(std::to_string(number));
    text.append("\n");
  }
  void name_queue(queue_id queue, const std::string& name) { add("queue " + name, queue, {}); }
  void name_engine(queue_id queue, const std::string& name) { add("engine " + name, queue, {}); }
  void name_fence(fence_id fence, const std::string& name) { add("fence " + name, queue_id{to_number(fence)}, {}); }
  void on_queued(queue_id queue, trace_event event, fence_id fence, std::uint64_t value, std::uint64_t time) {
    add("queued", queue, {static_cast<std::uint64_t>(event), to_number(fence), value, time});
  }
  template <class Clock>
  void on_executed(queue_id queue, const fence_log_entry& entry) {
    const auto time = [](std::uint64_t ticks) { return ticks == 0 ? 0 : Clock::to_nanoseconds(ticks); };
    add("executed", queue,
        {static_cast<std::uint64_t>(entry.operation), to_number(entry.fence), entry.fence_value,
         time(entry.observed_timestamp), time(entry.end_timestamp)});
  }
  void on_lost(queue_id queue, fence_log_type log, std::uint64_t first, std::uint64_t count) {
    add("lost", queue, {static_cast<std::uint64_t>(log), first, count});
  }
  template <class Clock>
  void on_work(queue_id queue, std::string_view name, std::uint64_t begin, std::uint64_t end) {
    add("work " + std::string{name}, queue, {Clock::to_nanoseconds(begin), Clock::to_nanoseconds(end)});
  }
};

/// Tells a target one thing of each kind, with the least and the greatest numbers.
template <class Target>
void tell_samples(Target& target) {
  constexpr std::uint64_t most = UINT64_MAX;
  target.name_queue(queue_id{UINT32_MAX}, std::string{"a\0b\n\xFF", 5});
  target.name_queue(queue_id{0}, std::string{});
  target.name_engine(queue_id{0}, std::string{"gpu"});
  target.name_fence(fence_id{UINT32_MAX}, std::string(300, 'f'));
  target.on_queued(queue_id{1}, trace_event::wait_queued, fence_id{2}, most, 0);
  target.on_queued(queue_id{1}, trace_event::signal_queued, fence_id{2}, 0, most);
  target.template on_executed<nanosecond_clock>(queue_id{1}, wait_entry(fence_id{2}, 5, 0, 0));
  target.template on_executed<nanosecond_clock>(queue_id{1}, wait_entry(fence_id{2}, most, 7, 0));
  target.template on_executed<nanosecond_clock>(queue_id{1}, wait_entry(fence_id{2}, most / 2, most, 1));
  target.template on_executed<nanosecond_clock>(queue_id{1}, signal_entry(fence_id{2}, most / 2 + 1, 127));
  target.template on_executed<far_clock>(queue_id{1}, signal_entry(fence_id{2}, 1, 128));
  target.template on_executed<far_clock>(queue_id{1}, signal_entry(fence_id{2}, 1, 0));
  target.on_lost(queue_id{UINT32_MAX}, fence_log_type::wait, most, most);
  target.on_lost(queue_id{0}, fence_log_type::signal, 0, 0);
  target.template on_work<far_clock>(queue_id{3}, std::string_view{"draw"}, 128, 64);
  target.template on_work<nanosecond_clock>(queue_id{3}, std::string_view{"d"}, 1, most);
}
constexpr std::uint64_t sample_count = 16;

/// Returns a file with the samples, whole.
std::string sample_file() {
  std::ostringstream stream;
  trace_file_writer writer{stream};
  tell_samples(writer);
  CHECK(writer.close() == trace_write_status::written);
  return stream.str();
}

tidemark::trace_read_result read_text(const std::string& text, told_lines& lines) {
  std::istringstream stream{text};
  return read_trace_file(stream, lines);
}

trace_read_status status_of(const std::string& text) {
  told_lines lines;
  return read_text(text, lines).status;
}

/// Takes so many bytes and no more, like a disk that is full.
class small_disk : public std::streambuf {
 public:
  explicit small_disk(std::streamsize room) : room_{room} {}
  std::string content;
  std::size_t writes = 0;

 protected:
  std::streamsize xsputn(const char* bytes, std::streamsize count) override {
    ++writes;
    const std::streamsize taken = count < room_ ? count : room_;
    content.append(bytes, static_cast<std::size_t>(taken));
    room_ -= taken;
    return taken;
  }

 private:
  std::streamsize room_;
};

/// Fails where its text ends, like a device that is gone.
class broken_source : public std::streambuf {
 public:
  explicit broken_source(std::string text) : text_{std::move(text)} {}

 protected:
  int_type underflow() override { throw std::runtime_error{"the device is gone"}; }
  std::streamsize xsgetn(char* to, std::streamsize count) override {
    if (text_.size() < static_cast<std::size_t>(count)) underflow();
    text_.copy(to, static_cast<std::size_t>(count));
    text_.erase(0, static_cast<std::size_t>(count));
    return count;
  }

 private:
  std::string text_;
};

/// A file that is removed at the end.
struct temporary_file {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("tidemark-trace-" + std::to_string(seed()));
  ~temporary_file() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
  static std::uint64_t seed() {
    random_numbers random{fresh_seed()};
    return random.below(UINT64_MAX);
  }
};

}  // namespace

// ---- whole files ----------------------------------------------------------------------------------------------------

TEST_CASE("[A91] [A93] [A100] everything that a writer is told is read back, the greatest numbers and any bytes, too") {
  told_lines direct;
  tell_samples(direct);
  told_lines lines;
  const auto read = read_text(sample_file(), lines);
  CHECK(read.status == trace_read_status::ended);
  CHECK(static_cast<bool>(read));
  CHECK(read.records == sample_count);
  CHECK(lines.text == direct.text);
}

TEST_CASE("a file can be copied by reading it into a writer") {
  std::istringstream input{sample_file()};
  std::ostringstream output;
  trace_file_writer writer{output};
  CHECK(read_trace_file(input, writer));
  CHECK(writer.close() == trace_write_status::written);
  CHECK(output.str() == input.str());
}

TEST_CASE("an empty file is whole once its writer was closed, and closing twice changes nothing") {
  std::ostringstream stream;
  trace_file_writer writer{stream};
  CHECK(writer.close() == trace_write_status::written);
  const std::string once = stream.str();
  CHECK(writer.close() == trace_write_status::written);
  CHECK(writer.flush() == trace_write_status::written);
  CHECK(stream.str() == once);
  CHECK(once.size() == 18);
  told_lines lines;
  const auto read = read_text(once, lines);
  CHECK(read.status == trace_read_status::ended);
  CHECK(read.records == 0);
}

TEST_CASE(
    "[A97] [A101] 200,000 entries of a small log are streamed to a file while the queue works, and none is lost") {
  constexpr std::uint64_t count = 200'000;
  const temporary_file place;
  trace direct;
  std::uint64_t told = 0;
  {
    std::ofstream file{place.path, std::ios::binary};
    trace_file_writer writer{file};
    tidemark::progress_fence done;
    tidemark::queue queue{done, {.progress = fence_id{1}}};  // of 84 entries in each log
    tidemark::log_collector logs;
    tidemark::log_collector twin;  // tells a trace the same
    logs.add(queue_id{4}, queue);
    twin.add(queue_id{4}, queue);
    writer.name_queue(queue_id{4}, "streamed");
    direct.name_queue(queue_id{4}, "streamed");
    for (std::uint64_t n = 1; n <= count; ++n) {
      queue.complete();
      if (n % 80 != 0) continue;
      CHECK(logs.collect(writer).lost == 0);
      told += twin.collect(direct).entries;
    }
    CHECK(writer.close() == trace_write_status::written);
    CHECK(writer.dropped() == 0);
  }
  CHECK(told == count);
  std::ifstream file{place.path, std::ios::binary};
  trace read;
  const auto result = read_trace_file(file, read);
  CHECK(result.status == trace_read_status::ended);
  CHECK(result.records == count + 1);
  CHECK(read.losses().empty());
  CHECK(read.queue_name(queue_id{4}) == "streamed");
  CHECK(read.commands() == direct.commands());
  CHECK(std::filesystem::file_size(place.path) < 12 * count);
}

TEST_CASE("[A100] 300,000 random events are read back equal: commands, gaps, work and names") {
  random_numbers random{fresh_seed()};
  trace direct;
  std::stringstream stream;
  trace_file_writer writer{stream};
  const auto both = [&](const auto& tell) {
    tell(direct);
    tell(writer);
  };
  for (std::uint64_t i = 0; i < 300'000; ++i) {
    const queue_id queue{static_cast<std::uint32_t>(random.below(5))};
    const fence_id fence{static_cast<std::uint32_t>(random.below(3))};
    const std::uint64_t value = random.below(20) == 0 ? random.below(UINT64_MAX) : i;
    const std::uint64_t end = random.below(10) == 0 ? 0 : 1'000 + 30 * i + random.below(50);
    const std::uint64_t observed = random.below(2) == 0 ? 0 : 900 + 30 * i;
    const std::uint64_t kind = random.below(100);
    both([&](auto& target) {
      if (kind < 40) {
        target.template on_executed<far_clock>(queue, signal_entry(fence, value, end));
      } else if (kind < 70) {
        target.template on_executed<far_clock>(queue, wait_entry(fence, value, observed, end));
      } else if (kind < 90) {
        target.on_queued(queue, kind < 80 ? trace_event::wait_queued : trace_event::signal_queued, fence, value, end);
      } else if (kind < 92) {
        target.on_lost(queue, kind == 91 ? fence_log_type::wait : fence_log_type::signal, i, kind);
      } else if (kind < 99) {
        target.template on_work<far_clock>(queue, kind < 95 ? "blur" : "sum", observed, end);
      } else {
        target.name_fence(fence, "fence of " + std::to_string(i));
        target.name_engine(queue, "engine of " + std::to_string(i));
      }
    });
  }
  CHECK(writer.close() == trace_write_status::written);
  trace read;
  CHECK(read_trace_file(stream, read).status == trace_read_status::ended);
  CHECK(read.commands() == direct.commands());
  CHECK(read.losses() == direct.losses());
  CHECK(read.told_work() == direct.told_work());
  CHECK(read.backward_count() == direct.backward_count());
  for (std::uint32_t i = 0; i < 5; ++i) {
    CHECK(read.engine_name(queue_id{i}) == direct.engine_name(queue_id{i}));
    CHECK(read.fence_name(fence_id{i}) == direct.fence_name(fence_id{i}));
  }
}

TEST_CASE("once it is constructed a writer allocates nothing, and gives the stream at most 64 KiB at a time") {
  small_disk disk{1'000'000'000};
  disk.content.reserve(8'000'000);
  std::ostream stream{&disk};
  trace_file_writer writer{stream};
  {
    const counted_allocations counted;
    for (std::uint64_t i = 1; i <= 300'000; ++i) {
      writer.on_executed<nanosecond_clock>(queue_id{1}, wait_entry(fence_id{2}, i, 100 * i, 100 * i + 50));
      writer.on_work<nanosecond_clock>(queue_id{1}, "blur", 100 * i + 50, 100 * i + 90);
    }
    CHECK(counted.count() == 0);
  }
  CHECK(writer.close() == trace_write_status::written);
  CHECK(disk.writes >= disk.content.size() / 65'536);
  CHECK(disk.writes <= disk.content.size() / 60'000 + 2);
}

TEST_CASE("what was flushed is in the stream, and can be read before the writer is closed") {
  std::ostringstream stream;
  trace_file_writer writer{stream};
  CHECK(stream.str().empty());
  writer.on_executed<nanosecond_clock>(queue_id{1}, signal_entry(fence_id{2}, 3, 4));
  CHECK(writer.flush() == trace_write_status::written);
  told_lines lines;
  const auto read = read_text(stream.str(), lines);
  CHECK(read.status == trace_read_status::truncated);
  CHECK(read.records == 1);
  CHECK(lines.text == "executed 1 0 2 3 0 4\n");
}

TEST_CASE("a name for which there is no memory leaves nothing behind in the file") {
  std::ostringstream stream;
  trace_file_writer writer{stream};
  writer.on_executed<nanosecond_clock>(queue_id{1}, signal_entry(fence_id{2}, 3, 4));
  const std::string name(100'000, 'n');
  {
    const counted_allocations none{true};
    CHECK_THROWS_AS(writer.on_work<nanosecond_clock>(queue_id{1}, name, 5, 6), std::bad_alloc);
    CHECK_THROWS_AS(writer.name_queue(queue_id{1}, name), std::bad_alloc);
  }
  writer.on_executed<nanosecond_clock>(queue_id{1}, signal_entry(fence_id{2}, 4, 5));
  CHECK(writer.close() == trace_write_status::written);
  told_lines lines;
  const auto read = read_text(stream.str(), lines);
  CHECK(read.status == trace_read_status::ended);
  CHECK(lines.text == "executed 1 0 2 3 0 4\nexecuted 1 0 2 4 0 5\n");
}

// ---- files that are not whole ---------------------------------------------------------------------------------------

TEST_CASE("a stream that was never open is refused") {
  std::ifstream none{"there is no such directory/trace"};
  told_lines lines;
  const auto read = tidemark::read_trace_file(none, lines);
  CHECK(read.status == trace_read_status::refused);
  CHECK(read.records == 0);
}

TEST_CASE("a file that is cut off anywhere is said to be truncated, and gives all whole records before the cut") {
  const std::string file = sample_file();
  told_lines all;
  CHECK(read_text(file, all));
  std::uint64_t most = 0;
  for (std::size_t size = 0; size < file.size(); ++size) {
    told_lines lines;
    const auto read = read_text(file.substr(0, size), lines);
    CHECK(read.status == trace_read_status::truncated);
    CHECK_FALSE(static_cast<bool>(read));
    CHECK(read.records >= most);
    CHECK(read.records <= most + 1);
    most = read.records;
    CHECK(all.text.compare(0, lines.text.size(), lines.text) == 0);
  }
  CHECK(most == sample_count);
}

TEST_CASE("what is no trace file, or of another version, is refused before anything is told") {
  std::string file = sample_file();
  for (std::size_t i = 0; i < 16; ++i) {
    std::string other = file;
    other[i] = static_cast<char>(other[i] ^ 2);
    told_lines lines;
    const auto read = read_text(other, lines);
    CHECK(read.status == trace_read_status::invalid);
    CHECK(lines.text.empty());
  }
  CHECK(status_of("{\"traceEvents\":[]}") == trace_read_status::invalid);
}

TEST_CASE("records without a meaning are refused") {
  const std::string head = sample_file().substr(0, 16);
  const auto with = [&](std::string_view bytes) { return status_of(head + std::string{bytes}); };
  using namespace std::string_view_literals;
  CHECK(with("\0\0"sv) == trace_read_status::ended);
  CHECK(with("\0\1"sv) == trace_read_status::invalid);          // not as many records as the end says
  CHECK(with("\x0E\0\0"sv) == trace_read_status::invalid);      // no such kind
  CHECK(with("\x86\0\0\0\0"sv) == trace_read_status::invalid);  // an unknown flag
  CHECK(with("\x44\0\0\0\0"sv) == trace_read_status::invalid);  // only what was executed can be cancelled,
  CHECK(with("\x56\0\0\0\0"sv) == trace_read_status::invalid);  // and it has no time then
  CHECK(with("\x08\1\1\1\0\1"sv) == trace_read_status::ended);
  CHECK(with("\x08\x80\x80\x80\x80\x10\1\1\0\1"sv) == trace_read_status::invalid);                        // queue 2^32
  CHECK(with("\x08\1\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\1\1\0\1"sv) == trace_read_status::ended);        // 2^64 - 1
  CHECK(with("\x08\1\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\2\1\0\1"sv) == trace_read_status::invalid);      // more
  CHECK(with("\x08\1\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\1\1\0\1"sv) == trace_read_status::invalid);  // 11 bytes
  CHECK(with("\x0A\1\0\0\1"sv) == trace_read_status::invalid);                                            // no name
  CHECK(with("\1\1\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\1x"sv) == trace_read_status::truncated);           // 2^64 - 1
}

TEST_CASE("whatever bytes follow the head, a reader ends, and tells no more records than there are bytes") {
  random_numbers random{fresh_seed()};
  const std::string file = sample_file();
  for (int round = 0; round < 3'000; ++round) {
    std::string bytes = file;
    for (std::uint64_t changes = 1 + random.below(6); changes > 0; --changes) {
      bytes[16 + random.below(bytes.size() - 16)] = static_cast<char>(random.below(256));
    }
    told_lines lines;
    CHECK(read_text(bytes, lines).records < bytes.size());
  }
}

TEST_CASE("a stream that fails while it is read is told from a file that is cut off") {
  constexpr std::uint64_t count = 10'000;
  std::ostringstream file;
  trace_file_writer writer{file};
  for (std::uint64_t i = 1; i <= count; ++i) {
    writer.on_executed<nanosecond_clock>(queue_id{1}, signal_entry(fence_id{2}, i, 1'000 * i));
  }
  CHECK(writer.close() == trace_write_status::written);
  broken_source source{file.str()};
  std::istream stream{&source};
  told_lines lines;
  const auto read = read_trace_file(stream, lines);
  CHECK(read.status == trace_read_status::refused);
  CHECK(read.records > count / 2);
  CHECK(read.records < count);
}

// ---- streams that fail ----------------------------------------------------------------------------------------------

TEST_CASE("a full disk is reported: what came before it can be read, and what is not there for certain is counted") {
  constexpr std::uint64_t count = 50'000;
  for (const std::streamsize room : {0, 1'000, 65'536, 200'000}) {
    small_disk disk{room};
    std::ostream stream{&disk};
    trace_file_writer writer{stream};
    std::uint64_t refused_at = 0;
    for (std::uint64_t i = 1; i <= count; ++i) {
      writer.on_executed<nanosecond_clock>(queue_id{1}, signal_entry(fence_id{2}, i, 1'000 * i));
      if (refused_at == 0 && writer.status() == trace_write_status::refused) refused_at = i;
    }
    CHECK(refused_at > 0);
    CHECK(refused_at < count);
    CHECK(writer.flush() == trace_write_status::refused);
    CHECK(writer.close() == trace_write_status::refused);
    CHECK(disk.content.size() == static_cast<std::size_t>(room));
    told_lines lines;
    const auto read = read_text(disk.content, lines);
    CHECK(read.status == trace_read_status::truncated);
    CHECK(read.records + writer.dropped() >= count);
    CHECK(writer.dropped() <= count);
  }
}

TEST_CASE("a disk that is full at the end is reported by close, also where the stream keeps the bytes back") {
  std::FILE* const full = std::fopen("/dev/full", "wb");
  if (full == nullptr) {
    MESSAGE("not tested: there is no /dev/full");
    return;
  }
  std::fclose(full);
  std::ofstream file{"/dev/full", std::ios::binary};
  trace_file_writer writer{file};
  tell_samples(writer);
  CHECK(writer.status() == trace_write_status::written);  // nothing was flushed yet
  CHECK(writer.close() == trace_write_status::refused);
  CHECK(writer.status() == trace_write_status::refused);
  CHECK(writer.dropped() == sample_count);

  std::ofstream other{"/dev/full", std::ios::binary};
  trace_file_writer many{other};
  for (std::uint64_t i = 1; i <= 100'000; ++i) {
    many.on_executed<nanosecond_clock>(queue_id{1}, signal_entry(fence_id{2}, i, 1'000 * i));
  }
  CHECK(many.status() == trace_write_status::refused);
  CHECK(many.dropped() == 100'000);
}

TEST_CASE("a stream that throws has failed, and is not written to again") {
  small_disk disk{1'000};
  std::ostream stream{&disk};
  stream.exceptions(std::ios::badbit);
  trace_file_writer writer{stream};
  std::uint64_t told = 0;
  const auto fill = [&] {
    while (writer.status() == trace_write_status::written) {
      ++told;
      writer.on_executed<nanosecond_clock>(queue_id{1}, signal_entry(fence_id{2}, told, told));
    }
  };
  CHECK_THROWS_AS(fill(), std::ios_base::failure);
  CHECK(writer.status() == trace_write_status::refused);
  CHECK(writer.dropped() == told);
  const std::size_t writes = disk.writes;
  writer.on_lost(queue_id{1}, fence_log_type::wait, 1, 1);
  CHECK(writer.close() == trace_write_status::refused);
  CHECK(writer.dropped() == told + 1);
  CHECK(disk.writes == writes);
}
