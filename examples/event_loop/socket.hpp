// SPDX-License-Identifier: BSL-1.0
// A socket or another descriptor that is closed once, and what the server and its clients do with sockets.

#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <netinet/in.h>

namespace event_loop {

[[noreturn]] inline void fail(const char* action) { throw std::system_error(errno, std::generic_category(), action); }

class descriptor {
 public:
  explicit descriptor(int opened, const char* action) : number_(opened) {
    if (opened < 0) fail(action);
  }
  descriptor(descriptor&& from) noexcept : number_(std::exchange(from.number_, -1)) {}
  descriptor& operator=(descriptor&&) = delete;
  ~descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  [[nodiscard]] int get() const { return number_; }

 private:
  int number_;
};

/// This machine alone, at any port, or at this one.
inline sockaddr_in local_address(in_port_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = port;
  return address;
}

inline descriptor listen_locally() {
  descriptor made(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "cannot make a socket");
  const sockaddr_in address = local_address(0);
  if (::bind(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("cannot bind");
  if (::listen(made.get(), SOMAXCONN) != 0) fail("cannot listen");
  return made;
}

inline in_port_t port_of(const descriptor& listening) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (::getsockname(listening.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) fail("cannot find the port");
  return address.sin_port;
}

inline descriptor connect_locally(in_port_t port) {
  descriptor made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "cannot make a socket");
  const sockaddr_in address = local_address(port);
  if (::connect(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("cannot connect");
  return made;
}

/// Sends all of it. Returns false if the other side is gone.
inline bool send_all(int to, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(to, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

/// Adds what has come to `text`. Returns false at the end of the connection, and true if nothing has come.
inline bool receive(int from, std::string& text) {
  char buffer[4096];
  for (;;) {
    const ssize_t size = ::recv(from, buffer, sizeof buffer, 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
    if (size <= 0) return false;
    text.append(buffer, static_cast<std::size_t>(size));
    return true;
  }
}

/// Takes the first line out of `text`, without its end. Returns false if there is no whole line.
inline bool take_line(std::string& text, std::string& line) {
  const std::size_t end = text.find('\n');
  if (end == std::string::npos) return false;
  line = text.substr(0, end);
  text.erase(0, end + 1);
  return true;
}

}  // namespace event_loop
