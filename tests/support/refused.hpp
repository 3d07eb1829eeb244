// SPDX-License-Identifier: BSL-1.0
//
// System calls that fail: a filter that a thread puts on itself (seccomp). It can't be taken off.
#ifndef TIDEMARK_TESTS_SUPPORT_REFUSED_HPP
#define TIDEMARK_TESTS_SUPPORT_REFUSED_HPP

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace testing {

template <std::size_t Length>
bool put_on(std::array<sock_filter, Length>& program) {
  const sock_fprog filter{Length, program.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/// Makes a system call fail from now on, in this thread, in threads that it starts and in programs that it executes.
/// Returns false if the system permits no filter.
inline bool refuse(std::uint32_t call, std::uint32_t error = EPERM) {
  std::array<sock_filter, 4> program{{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, call},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | error},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  }};
  return put_on(program);
}

/// The same for calls alone whose second argument is `what`, such as a command of fcntl(2).
inline bool refuse_with(std::uint32_t call, std::uint32_t what, std::uint32_t error) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  constexpr std::uint32_t low_half = 4;
#else
  constexpr std::uint32_t low_half = 0;
#endif
  std::array<sock_filter, 6> program{{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 3, call},
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, args) + sizeof(std::uint64_t) + low_half},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, what},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | error},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  }};
  return put_on(program);
}

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_REFUSED_HPP
