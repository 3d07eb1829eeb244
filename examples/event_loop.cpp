// SPDX-License-Identifier: BSL-1.0
// A server that tells clients the checksums of files. One thread serves all clients and two devices with one epoll
// loop; how it does that is in event_loop/server.hpp. This file starts the server and some clients, which compare each
// reply with what they have found out themselves.
//
// Exit status: 0 if every reply was right, 1 if not, 2 if the command line is wrong.

#include "event_loop/server.hpp"
#include "pipeline/fnv1a.hpp"
#include "support/command_line.hpp"
#include "support/files.hpp"

#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using support::usage_error;

constexpr const char* help_text =
    "usage: event_loop [FILE]... [OPTION]...\n"
    "\n"
    "Serves clients that ask for the checksums of files. One thread serves all of them, with an epoll loop that also\n"
    "watches the fences of two devices: one reads, one takes checksums. No thread waits for a fence.\n"
    "\n"
    "  --clients N    how many clients there are (default 8)\n"
    "  --requests N   how many requests each sends, eight at a time (default 100)\n"
    "  --help         this text\n"
    "\n"
    "Exit status: 0 if every reply was right, 1 if not, 2 if the command line is wrong.\n";

struct options {
  std::vector<std::string> files;
  std::size_t clients = 8;
  std::size_t requests = 100;
  bool help = false;
};

void apply_option(options& result, std::string_view name, std::string_view value) {
  if (name == "--clients") {
    result.clients = support::parse_number(name, value, 1, 500);
  } else if (name == "--requests") {
    result.requests = support::parse_number(name, value, 1, 1'000);
  } else {
    throw usage_error("unknown option '" + std::string(name) + "'");
  }
}

options parse_options(const std::vector<std::string_view>& arguments) {
  options result;
  result.help = !support::read_arguments(
      arguments, [&](std::string_view name, std::string_view value) { apply_option(result, name, value); },
      [&](std::string_view path) { result.files.emplace_back(path); });
  return result;
}

/// What the server should say of a file.
std::string expected_reply(const std::string& path) {
  support::open_file file = support::open_input(path);
  std::vector<std::byte> block(64 * support::kibibyte);
  pipeline::fnv1a sum;
  std::size_t total = 0;
  while (const std::size_t size = file.read(block)) {
    sum.add({block.data(), size});
    total += size;
  }
  return event_loop::reply_for(total, sum.value());
}

/// Sends requests, a few at a time, and reads the replies. Returns how many were wrong or missing.
std::size_t ask(in_port_t port, const std::vector<std::string>& files, const std::vector<std::string>& expected,
                std::size_t first, std::size_t requests) {
  constexpr std::size_t most_at_once = 8;
  const event_loop::descriptor server = event_loop::connect_locally(port);
  std::size_t wrong = requests;
  std::size_t sent = 0;
  std::string received;
  std::string line;
  for (std::size_t answered = 0; answered < requests;) {
    std::string more;
    for (; sent < requests && sent < answered + most_at_once; ++sent)
      more += files[(first + sent) % files.size()] + '\n';
    if (!event_loop::send_all(server.get(), more)) break;
    if (!event_loop::take_line(received, line)) {
      if (!event_loop::receive(server.get(), received)) break;
      continue;
    }
    if (line == expected[(first + answered) % files.size()]) --wrong;
    ++answered;
  }
  return wrong;
}

/// Neither the server nor its clients can go on without the others.
void or_end(const char* who, const auto& body) {
  try {
    body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "event_loop: %s: %s\n", who, error.what());
    std::_Exit(1);
  }
}

int run(const options& options) {
  std::vector<std::string> expected;
  for (const std::string& path : options.files) expected.push_back(expected_reply(path));

  event_loop::server server;
  std::atomic<std::size_t> wrong{0};
  std::vector<std::thread> clients;
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < options.clients; ++i) {
    clients.emplace_back([&, i] {
      or_end("a client", [&] { wrong += ask(server.port(), options.files, expected, i, options.requests); });
    });
  }
  or_end("the server", [&] { server.serve(options.clients); });
  for (std::thread& each : clients) each.join();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;

  std::printf("clients   %zu, %zu requests each, for %zu file(s)\n", options.clients, options.requests,
              options.files.size());
  std::printf("threads   1 serves them; 2 are the devices\n");
  std::printf("replies   %" PRIu64 ", %zu wrong; at most %zu requests were under way at once\n", server.replies(),
              wrong.load(), server.most_at_once());
  std::printf("loop      %" PRIu64 " turns of it have gone on with requests\n", server.turns());
  std::printf("speed     %.0f requests/s\n", static_cast<double>(server.replies()) / elapsed.count());
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return support::run_main("event_loop", [&] {
    options options = parse_options({argv + 1, argv + argc});
    if (options.help) return std::fputs(help_text, stdout), 0;
    if (options.files.empty()) options.files.emplace_back(argv[0]);
    return run(options);
  });
}
