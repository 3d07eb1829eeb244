# SPDX-License-Identifier: BSL-1.0
# shellcheck shell=bash disable=SC2154
#
# Sourced by `dev`, after steps.sh: configures and builds the presets of CMakePresets.json, each in build/PRESET.

jobs=$(nproc 2>/dev/null || echo 2)

need_cmake_version() {
  local version
  version=$(cmake --version | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p')
  if [[ $(printf '%s\n' 3.23 "$version" | sort -V | head -n 1) != 3.23 ]]; then
    fail 3 "CMake $version is too old: 3.23 is needed"
  fi
}

# configure PRESET [OPTION]...
configure() {
  local preset=$1
  shift
  need_cmake_version
  step "configure $preset" cmake -S "$root" --preset "$preset" "$@"
}

# build PRESET [TARGET]...
build() {
  local preset=$1
  shift
  local -a targets=()
  if (($# > 0)); then targets=(--target "$@"); fi
  step "build $preset" cmake --build "$root/build/$preset" --parallel "$jobs" "${targets[@]}"
}
