// SPDX-License-Identifier: BSL-1.0
//
// Shared fences between programs whose addresses have 32 and 64 bits: each refuses the other's pages, and says why.
#include <tidemark/fence/shared_fence.hpp>

#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string>

#include "support/processes.hpp"
#include "support/shared_stand.hpp"

using namespace testing;
using namespace tidemark;

namespace {

#ifdef TIDEMARK_OTHER_WIDTH_PEER
constexpr const char* peer_program = TIDEMARK_OTHER_WIDTH_PEER;
#else
constexpr const char* peer_program = "";  // there is no compiler for it
#endif
constexpr int cannot_run = 77;

/// A pipe, whose ends are closed with the object.
struct pipe_ends {
  pipe_ends() {
    std::array<int, 2> ends{};
    REQUIRE(pipe(ends.data()) == 0);
    from = detail::file_descriptor{ends[0]};
    to = detail::file_descriptor{ends[1]};
  }
  detail::file_descriptor from;
  detail::file_descriptor to;
};

/// The peer, as a process that runs support/shared_peer.cpp of the other width.
class other_width_peer {
 public:
  other_width_peer(const char* verb, const std::string& name)
      : process_{[&] {
          const bool is_connected =
              dup2(input_.from.get(), STDIN_FILENO) >= 0 && dup2(output_.to.get(), STDOUT_FILENO) >= 0;
          // Else it would hold the end of its own input, which would never come to an end.
          input_.to = {};
          if (!is_connected) return 1;
          execl(peer_program, peer_program, verb, name.c_str(), nullptr);
          return errno == ENOEXEC || errno == ENOENT ? cannot_run : 1;
        }} {
    input_.from = {};
    output_.to = {};
  }

  /// The line that it prints, without its end; nothing if it has ended before.
  std::string line() {
    std::string read_so_far;
    for (char next = 0; read(output_.from.get(), &next, 1) == 1 && next != '\n';) read_so_far += next;
    return read_so_far;
  }
  /// Lets it end. Returns its exit status.
  int end() {
    input_.to = {};
    return process_.wait();
  }

 private:
  pipe_ends input_;
  pipe_ends output_;
  child_process process_;
};

/// Whether there is such a program, and this machine runs it.
bool has_peer() {
  if (*peer_program == 0) {
    MESSAGE("not tested: a peer of another width, for which there is no compiler");
    return false;
  }
  if (other_width_peer{"none", "none"}.end() == cannot_run) {
    MESSAGE("not tested: a peer of another width, which this machine does not run");
    return false;
  }
  return true;
}

}  // namespace

TEST_CASE("[A52] programs of 32 and of 64 bits refuse each other by the field word_size, and disturb nobody") {
  if (!has_peer()) return;
  const stand_name name{"width"};
  const std::string text = name.path().substr(name.path().rfind('/') + 1);

  SUBCASE("the peer comes to a fence that is in use") {
    auto made = shared_fence::open_or_create(name);
    REQUIRE(made);
    for (const char* const verb : {"open", "create"}) {
      other_width_peer peer{verb, text};
      CHECK(peer.line() == "invalid word_size");
      CHECK(peer.end() == 0);
    }
    auto other = shared_fence::open(name);
    REQUIRE(other);
    CHECK(other.fence.id() == made.fence.id());
    CHECK(made.fence.signal(3));
    CHECK(other.fence.wait(3) == wait_status::reached);
  }
  SUBCASE("the peer has made the fence") {
    other_width_peer peer{"create", text};
    CHECK(peer.line() == "attached none");
    const auto opened = shared_fence::open(name);
    CHECK(opened.status == shared_open_status::invalid);
    CHECK(to_string(opened.field) == "word_size");
    const auto made = shared_fence::open_or_create(name);
    CHECK(made.status == shared_open_status::invalid);
    CHECK(to_string(made.field) == "word_size");
    CHECK(peer.end() == 0);
    CHECK(shared_fence::open_or_create(name));
  }
}
