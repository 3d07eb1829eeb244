#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# The Debian packages that the verbs of `dev` need. Sourced for need and want, or run as a program:
#
#   packages.sh missing PACKAGE...   prints the packages that are missing, of those named
#   packages.sh need PACKAGE...      installs them with apt-get, as root or through sudo; where that is impossible, or
#                                    where DEV_NO_INSTALL is set, prints the command and ends with status 3
if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  set -euo pipefail
  unset CDPATH
  root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
  # shellcheck source-path=SCRIPTDIR source=steps.sh
  . "$root/tools/steps.sh"
fi

has_compiler() { has_command "${CXX:-c++}" || has_command g++; }

has_header() { # found by the compiler, wherever it may lie
  local compiler=${CXX:-c++}
  has_command "$compiler" || compiler=g++
  has_command "$compiler" && printf '#include <%s>\n' "$1" | "$compiler" -std=c++20 -E -x c++ - >/dev/null 2>&1
}

# Prints the packages that are missing, of those named. The command, header or library that a package is needed for
# decides whether it is there.
missing_of() {
  local package
  for package in "$@"; do
    case $package in
      g++) has_compiler ;;
      cmake) has_command cmake ;;
      ninja-build) has_command ninja ;;
      python3) has_command python3 ;;
      doctest-dev) has_header doctest/doctest.h ;;
      relacy-dev) has_header relacy/relacy.hpp ;;
      libbenchmark-dev) has_header benchmark/benchmark.h ;;
      libck-dev) has_header ck_ec.h ;;
      libboost-dev) has_header boost/lockfree/spsc_queue.hpp ;;
      liburing-dev) has_header liburing.h ;;
      zlib1g-dev) has_header zlib.h ;;
      libpng-dev) has_header png.h ;;
      clang-14 | clang-19) has_command "${package/clang/clang++}" ;;
      g++-*-linux-gnu | g++-*-linux-gnueabihf) has_command "${package#g++-}-g++" ;;
      qemu-user) has_command qemu-aarch64 && has_command qemu-s390x ;; # one package has them all
      llvm-19) has_command llvm-symbolizer-19 ;;
      libclang-rt-19-dev | libc++-19-dev | libc++abi-19-dev) dpkg -s "$package" >/dev/null 2>&1 ;;
      *) has_command "$package" ;;
    esac || printf '%s\n' "$package"
  done
}

# Prints what has to stand before apt-get here; fails where it can't be run.
privilege() {
  if [[ $(id -u) == 0 ]]; then
    return 0
  elif has_command sudo && { sudo -n true 2>/dev/null || [[ -t 0 ]]; }; then
    printf 'sudo'
  else
    return 1
  fi
}

apt_get() { # apt-get, if need be through sudo
  local through
  through=$(privilege)
  $through env DEBIAN_FRONTEND=noninteractive apt-get -q -y "$@"
}

# Says what is wrong, and returns 3.
refuse() {
  printf 'dev: %s\n' "$@" >&2
  return 3
}

# Installs those of the packages that are missing. Where that is impossible, says how to do it and returns 3.
get() {
  local -a missing=() left=()
  local command package step_foreground=""
  mapfile -t missing < <(missing_of "$@")
  if ((${#missing[@]} == 0)); then return 0; fi
  command="apt-get install --no-install-recommends ${missing[*]}"
  if ! has_command apt-get; then
    for package in "${missing[@]}"; do
      case $package in
        *-dev) ;; # a library
        *) left+=("$package") ;;
      esac
    done
    if ((${#left[@]} > 0)); then
      refuse "these Debian packages, or what your system has instead, are needed: ${missing[*]}" || return
    fi
    echo "not installed, and left to CMake, which fetches or leaves out: ${missing[*]}"
    return 0
  fi
  if [[ -n ${DEV_NO_INSTALL:-} ]] || ! privilege >/dev/null; then
    refuse "something is missing; install it with this command:" "  sudo $command" || return
  fi
  if [[ $(privilege) == sudo && -t 0 ]]; then
    step_foreground=1 # read by step
    sudo -v || refuse "install it with this command:" "  sudo $command" || return
  fi
  # A package list that is old or in part out of reach may still do.
  step "apt-get update" apt_get update || echo "apt-get update failed, trying with the lists that are there"
  step "apt-get install ${missing[*]}" apt_get install --no-install-recommends "${missing[@]}" ||
    refuse "this command failed; its output is above:" "  $command" || return
  mapfile -t left < <(missing_of "${missing[@]}")
  if ((${#left[@]} != 0)); then refuse "still missing after '$command': ${left[*]}" || return; fi
}

# need PACKAGE...: ends the script with 3 where a package is missing and can't be installed.
need() { get "$@" || exit 3; }

# want WHAT PACKAGE...: without the packages only WHAT is left out.
want() {
  local what=$1
  shift
  get "$@" || echo "going on without $what"
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  case ${1:-} in
    missing) missing_of "${@:2}" ;;
    need) need "${@:2}" ;;
    *) fail 2 "packages.sh: 'missing' or 'need' must come first" ;;
  esac
fi
