// SPDX-License-Identifier: BSL-1.0
//
// Runs a program on a system that refuses io_uring, as containers do: the filter that this process puts on itself
// (seccomp) stays in force in what it executes.
//
//   without_io_uring EPERM|ENOSYS PROGRAM [ARGUMENT]...
//
// Exit status: that of the program; 125 where no such filter is permitted, 127 where the program can't be executed.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string_view>

namespace {

bool refuse_io_uring(std::uint32_t error) {
  std::array<sock_filter, 4> program{{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_io_uring_setup},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | error},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  }};
  const sock_fprog filter{program.size(), program.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::fputs("usage: without_io_uring EPERM|ENOSYS PROGRAM [ARGUMENT]...\n", stderr), 2;
  if (!refuse_io_uring(std::string_view(argv[1]) == "ENOSYS" ? ENOSYS : EPERM)) {
    std::perror("without_io_uring: no filter");
    return 125;
  }
  execv(argv[2], argv + 2);
  std::perror(argv[2]);
  return 127;
}
