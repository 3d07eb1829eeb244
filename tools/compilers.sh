#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# Builds the benchmarks and the examples with the compilers that there are, and each header alone with libc++, warnings
# being errors; runs the tests of the platform and the fence where the assembler has the other dialect; and runs a
# program of several libraries whose symbols are hidden. `./dev matrix` builds the tests, too.
#
#   compilers.sh [--install] [--part K/N]
#
# --install first installs the compilers that are missing. There are six parts, of which --part does each N-th, from the
# K-th on: the build with g++, and its stricter warnings; that with clang++-14, and what is done with libc++; that with
# clang++-19, and its stricter warnings, also for 32 bits.
set -euo pipefail
unset CDPATH
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
# shellcheck source-path=SCRIPTDIR source=steps.sh
. "$root/tools/steps.sh"
# shellcheck source=packages.sh
. "$root/tools/packages.sh"
# shellcheck source=build.sh
. "$root/tools/build.sh"

install=false
part=0
parts=1
while (($# > 0)); do
  case $1 in
    --install) install=true ;;
    --part)
      split_part compilers "${2:-}"
      shift
      ;;
    *) fail 2 "compilers: unknown option '$1'" ;;
  esac
  shift
done

failed=()

# build_with NAME COMPILER FLAGS TARGETS [OPTION]...: the model checks are left out, because they are built without
# warnings.
build_with() {
  local name=$1 compiler=$2 flags=$3 folder=$root/build/compilers/$1 release="-O2 -DNDEBUG"
  local -a targets
  read -ra targets <<<"$4"
  shift 4
  # clang gives the same warnings without optimizing, in half the time; g++ gives some only while it optimizes.
  if [[ $compiler == clang* ]]; then release=-DNDEBUG; fi
  if ! step "$name: configure" cmake -S "$root" -B "$folder" -G Ninja "-DCMAKE_CXX_COMPILER=$compiler" \
    "-DCMAKE_CXX_FLAGS=$flags" -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS_RELEASE=$release" \
    -DTIDEMARK_WERROR=ON -DTIDEMARK_BUILD_TESTS=ON -DTIDEMARK_BUILD_EXAMPLES=ON -DTIDEMARK_BUILD_MODEL=OFF "$@" ||
    ! step "$name: build without a warning" \
      cmake --build "$folder" --parallel "$jobs" --target "${targets[@]}" -- -k 0; then
    failed+=("$name")
  fi
}

# run_with NAME FILTER: runs the tests of that build whose names match; the others need not be built.
run_with() {
  if ! step "$1: run" ctest --test-dir "$root/build/compilers/$1" --output-on-failure -R "$2"; then failed+=("$1"); fi
}

# What strict projects turn on beyond our own warnings. g++ gives some only while it optimizes.
strict="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wswitch-default
  -Wzero-as-null-pointer-constant -Wctad-maybe-unsupported -Wextra-semi -Wnon-virtual-dtor -Wcast-qual -Wredundant-decls
  -Wdouble-promotion -Wformat=2 -Wundef -Woverloaded-virtual -Wimplicit-fallthrough -Wsuggest-override"
strict_gcc="-O2 -Wuseless-cast -Wnull-dereference -Wcast-align=strict -Wduplicated-cond -Wduplicated-branches
  -Wlogical-op -Wdeprecated-copy-dtor"
strict_clang="-fsyntax-only -Wshadow-all -Wdocumentation -Wcast-align -Wcomma -Wreserved-identifier
  -Wcovered-switch-default -Wdeprecated -Wextra-semi-stmt -Wheader-hygiene -Wunreachable-code-aggressive"

# strict_warnings COMPILER FLAGS: silent must be what a program takes from the headers, with the code of the guides as
# the program, whose own lines need not be silent. It finds a warning that is planted.
strict_warnings() {
  local folder=$root/build/compilers/strict-$1 source found
  local -a flags
  read -ra flags <<<"${strict//$'\n'/ } ${2//$'\n'/ }"
  mkdir -p "$folder/tidemark"
  printf 'inline int* planted() { return 0; }\n' >"$folder/tidemark/planted.hpp"
  printf '#include <tidemark/tidemark.hpp>\n#include <tidemark/planted.hpp>\n' >"$folder/planted.cpp"
  # What one header declares must not be hidden by a parameter in another one, whichever comes first.
  (cd "$root/include" && printf '#include <%s>\n' tidemark/*/*.hpp) |
    grep -v -e /verify/ -e /senders -e /loop_uring | sort -r >"$folder/reverse.cpp"
  for source in "$folder/planted.cpp" "$folder/reverse.cpp" "$root"/examples/guide/*.cpp; do
    case $source in
      */verify.cpp | */loop_uring.cpp) continue ;; # these need other libraries
    esac
    "$1" -std=c++20 "${flags[@]}" "-I$root/include" "-I$folder" "-I$root/examples" -c -o /dev/null "$source" \
      2>"$folder/said" || { cat "$folder/said" && return 1; }
    found=$(grep -E "^[^ ]*/tidemark/[^ ]*: warning: |warning: [^ ]tidemark::" "$folder/said" || true)
    if [[ $source == */planted.cpp ]]; then
      if [[ $found != *planted.hpp* || $found == *$'\n'* ]]; then
        printf 'one warning is planted, and this is found: %s\n' "${found:-nothing}" && return 1
      fi
    elif [[ -n $found ]]; then
      cat "$folder/said" && return 1
    fi
  done
}

has_libcxx() { printf '#include <version>\n' | "$1" -stdlib=libc++ -E -x c++ - >/dev/null 2>&1; }

if $install; then
  # Whatever can't be installed is skipped below, with a line.
  get clang-14 clang-19 libc++-19-dev libc++abi-19-dev g++-i686-linux-gnu || true
fi
need g++ cmake ninja-build doctest-dev
need_cmake_version
gcc=g++
bench=OFF
if has_command g++-12; then gcc=g++-12; fi
if has_header benchmark/benchmark.h; then bench=ON; fi

# ---- what is done with each compiler ---------------------------------------------------------------------------------

# Whether each header compiles alone is a question of the standard library: `./dev test` asks it of libstdc++, and
# with_libcxx() of libc++, with which `./dev asan --libc++` builds the tests and the examples.
all_of_it() {
  build_with "$1-libstdc++" "$1" "" all "-DTIDEMARK_BUILD_BENCH=$bench" -DTIDEMARK_BUILD_TESTS=OFF
}

# Some projects set this flag for all of their code. What is wrong in one dialect compiles, so the tests must run. They
# are optimized, because it depends on that which registers a compiler takes for itself. doctest has a breakpoint that
# is written in one dialect.
other_dialect() {
  local no_breakpoint="'-DDOCTEST_BREAK_INTO_DEBUGGER()=__builtin_trap()'"
  if [[ $(uname -m) != x86_64 ]]; then return; fi
  build_with "$1-masm-intel" "$1" "-masm=intel -O1 $no_breakpoint" "test_platform test_fence" \
    -DTIDEMARK_BUILD_BENCH=OFF -DTIDEMARK_BUILD_EXAMPLES=OFF
  run_with "$1-masm-intel" '^(platform|fence): '
}

# hidden_visibility NAME COMPILER [FLAGS]: each part of a program has a copy of all that the headers define.
hidden_visibility() {
  if ! step "$1-hidden-visibility: the parts of a program work with each other's objects" \
    cmake -D "SOURCE_DIR=$root" -D "WORK_DIR=$root/build/compilers/$1-hidden-visibility" -D "COMPILERS=$2" \
    -D "FLAGS=${3:-}" -D TIMEOUT=1200 -D "FORMS=hidden;condition_variables" \
    -P "$root/tests/packaging/check_libraries.cmake"; then
    failed+=("$1-hidden-visibility")
  fi
}

stricter_warnings() {
  if ! step "$1: stricter warnings" strict_warnings "$@"; then failed+=("$1 with stricter warnings"); fi
}

with_compiler() {
  if ! has_command "$1"; then
    echo "$1 is not installed: skipped"
    return
  fi
  all_of_it "$1"
  other_dialect "$1"
  hidden_visibility "$1" "$1"
}

# The installed Google Benchmark is built for libstdc++. Stop tokens are still experimental in libc++ 19: the second
# build serves those who use them.
with_libcxx() {
  if ! has_command "$1" || ! has_libcxx "$1"; then
    echo "$1 with libc++ is not installed: skipped"
    return
  fi
  build_with "$1-libc++" "$1" -stdlib=libc++ "tidemark_header_check tidemark_bare_check" -DTIDEMARK_BUILD_BENCH=OFF
  build_with "$1-libc++-experimental" "$1" "-stdlib=libc++ -fexperimental-library" \
    "test_wait test_fence_exit test_wait_many" -DTIDEMARK_BUILD_BENCH=OFF
  hidden_visibility "$1-libc++" "$1" -stdlib=libc++
}

# Where a size has 32 bits: `./dev matrix` runs the tests there.
with_32_bits() {
  if has_command "$1"; then
    stricter_warnings "$1" -fsyntax-only
  else
    echo "$1 is not installed: skipped"
  fi
}

# ---- all of them -----------------------------------------------------------------------------------------------------

is_in_part() { (($1 % parts == part % parts)); }

if is_in_part 1; then with_compiler "$gcc"; fi
if is_in_part 2; then stricter_warnings "$gcc" "$strict_gcc"; fi
if is_in_part 3; then with_compiler clang++-14; fi
if is_in_part 4; then with_libcxx clang++-19; fi
if is_in_part 5; then with_compiler clang++-19; fi
if is_in_part 6; then
  # Older versions of clang take the operators of a defaulted <=> for a zero.
  if has_command clang++-19; then stricter_warnings clang++-19 "$strict_clang"; fi
  with_32_bits i686-linux-gnu-g++
fi
if ((${#failed[@]} > 0)); then fail 1 "these builds failed: ${failed[*]}"; fi
