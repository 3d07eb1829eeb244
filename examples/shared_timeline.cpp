// SPDX-License-Identifier: BSL-1.0
// A timeline that processes share: a producer hands items on to three consumers, through a ring of shared memory whose
// space comes back by the consumers' fences. Kill any of them and start it again.
//
//   shared_timeline producer demo &                     in any order, from any shell
//   shared_timeline consumer demo 1 &                   and 2, and 3
//   shared_timeline monitor demo                        a table of the fences, who is attached, and the last entries
//   shared_timeline                                     starts all of them, kills each of them, and checks the others
//
// What the processes share is in shared_timeline/crew.hpp and data_file.hpp, what each of them does in producer.hpp,
// consumer.hpp and monitor.hpp, and what is checked in rehearsal.hpp.

#include "support/command_line.hpp"

#include <tidemark/fence/shared_fence.hpp>

#if defined(__linux__) && TIDEMARK_HAS_FUTEX

#include "shared_timeline/options.hpp"
#include "shared_timeline/rehearsal.hpp"
#include "shared_timeline/roles.hpp"

#include <cstdio>

int main(int argc, char** argv) {
  shared_timeline::keep_streams();
  return support::run_main("shared_timeline", [&] {
    const shared_timeline::options options = shared_timeline::parse_options({argv + 1, argv + argc});
    if (options.help) return std::fputs(shared_timeline::help_text, stdout) < 0 ? 1 : 0;
    if (options.as == shared_timeline::role::rehearsal) return shared_timeline::rehearsal{options}.run();
    return shared_timeline::play(options);
  });
}

#else

int main() {}

#endif
