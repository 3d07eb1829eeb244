// SPDX-License-Identifier: BSL-1.0
// A server on one thread: an epoll loop watches the clients' sockets and the descriptor of a tidemark loop.
//
//   a request   the path of a file, and a line end
//   a reply     its size and its checksum, or what went wrong, and a line end; in the order of the requests
//
// A request is a coroutine. It lets one device read the file, awaits the value that says so, lets another device take
// the checksum, awaits that, and replies. So any number of requests are under way, and no thread waits for a fence.

#pragma once

#include "../pipeline/fnv1a.hpp"
#include "../support/files.hpp"
#include "device.hpp"
#include "socket.hpp"

#include <tidemark/tidemark.hpp>

#include <sys/epoll.h>

#include <array>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace event_loop {

/// The reply to a request for a file with this content.
inline std::string reply_for(std::size_t size, std::uint64_t checksum) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), "%zu %016" PRIx64, size, checksum);
  return text.data();
}

class server {
 public:
  server() {
    watch(listening_.get(), listening_.get());
    watch(loop_.descriptor(), loop_.descriptor());
  }
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  [[nodiscard]] in_port_t port() const { return port_of(listening_); }

  /// Serves until so many clients have come and gone. Throws what the system refuses.
  void serve(std::size_t clients) {
    while (gone_ < clients || requests_ != replies_) {
      std::array<epoll_event, 16> events;
      const int found = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), -1);
      if (found < 0 && errno != EINTR) fail("cannot wait for clients");
      for (int i = 0; i < found; ++i) {
        const int ready = events[static_cast<std::size_t>(i)].data.fd;
        if (ready == listening_.get()) {
          accept_all();
        } else if (ready == loop_.descriptor()) {
          if (loop_.poll() != 0) ++turns_;
        } else {
          read_requests(ready);
        }
      }
    }
  }

  // What happened; to be asked after serve() has returned.
  [[nodiscard]] std::uint64_t replies() const { return replies_; }
  [[nodiscard]] std::uint64_t turns() const { return turns_; }
  [[nodiscard]] std::size_t most_at_once() const { return most_at_once_; }

 private:
  struct client {
    descriptor socket;
    std::string received;
    std::uint64_t next_request = 0;
    std::uint64_t next_reply = 0;
    std::map<std::uint64_t, std::string> early;  // replies that others must precede
  };

  tidemark::detached answer(std::shared_ptr<client> asker, std::uint64_t number, std::string path) {
    std::vector<std::byte> content;
    std::string failure;
    const std::uint64_t read = disk_.submit([&] { failure = read_file(path, content); });
    if (co_await loop_.reached(disk_.finished(), read) != tidemark::wait_status::reached) failure = "the disk is lost";
    std::string reply = "error: " + failure;
    if (failure.empty()) {
      std::uint64_t checksum = 0;
      const std::uint64_t summed = processor_.submit([&] {
        pipeline::fnv1a sum;
        sum.add(content);
        checksum = sum.value();
      });
      if (co_await loop_.reached(processor_.finished(), summed) == tidemark::wait_status::reached) {
        reply = reply_for(content.size(), checksum);
      }
    }
    asker->early[number] = std::move(reply);
    send_replies(*asker);
    ++replies_;
  }

  /// Returns what went wrong, or nothing. On the disk's thread.
  static std::string read_file(const std::string& path, std::vector<std::byte>& content) {
    try {
      support::open_file file = support::open_input(path);
      std::vector<std::byte> block(64 * 1024);
      while (const std::size_t size = file.read(block)) {
        content.insert(content.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(size));
      }
      return {};
    } catch (const std::exception& error) {
      return error.what();
    }
  }

  static void send_replies(client& to) {
    for (auto next = to.early.begin(); next != to.early.end() && next->first == to.next_reply; ++to.next_reply) {
      static_cast<void>(send_all(to.socket.get(), next->second + '\n'));  // a client may be gone
      next = to.early.erase(next);
    }
  }

  void watch(int watched, int named) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = named;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, watched, &event) != 0) fail("cannot watch a descriptor");
  }

  void accept_all() {
    for (;;) {
      const int accepted = ::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC);
      if (accepted < 0) return;
      clients_[accepted] = std::make_shared<client>(client{descriptor(accepted, "cannot accept"), {}, 0, 0, {}});
      watch(accepted, accepted);
    }
  }

  void read_requests(int from) {
    const std::shared_ptr<client> asker = clients_.at(from);
    const bool is_open = receive(from, asker->received);
    for (std::string path; take_line(asker->received, path);) {
      ++requests_;
      if (requests_ - replies_ > most_at_once_) most_at_once_ = static_cast<std::size_t>(requests_ - replies_);
      answer(asker, asker->next_request++, path);
    }
    if (is_open) return;
    static_cast<void>(::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, from, nullptr));
    clients_.erase(from);  // its requests keep it until they are answered
    ++gone_;
  }

  descriptor epoll_{::epoll_create1(EPOLL_CLOEXEC), "cannot make an epoll descriptor"};
  descriptor listening_ = listen_locally();
  tidemark::wait_loop loop_;
  device disk_;
  device processor_;
  std::map<int, std::shared_ptr<client>> clients_;
  std::uint64_t requests_ = 0;
  std::uint64_t replies_ = 0;
  std::uint64_t turns_ = 0;
  std::size_t most_at_once_ = 0;
  std::size_t gone_ = 0;
};

}  // namespace event_loop
