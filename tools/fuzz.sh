#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# Builds the fuzz targets with libFuzzer and searches for inputs with which a header and its naive model disagree.
#
#   fuzz.sh [SECONDS] [TARGET]...   300 seconds for each target
#
# New inputs go to the build folder. The first input that shows a disagreement ends the search as a failure.
set -euo pipefail
unset CDPATH
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
# shellcheck source-path=SCRIPTDIR source=steps.sh
. "$root/tools/steps.sh"
# shellcheck source=packages.sh
. "$root/tools/packages.sh"
# shellcheck source=build.sh
. "$root/tools/build.sh"

seconds=300
folder=$root/build/fuzz
if [[ ${1:-} =~ ^[0-9]+$ ]]; then
  seconds=$1
  shift
  if [[ $seconds =~ ^0*$ ]]; then fail 2 "fuzz: 0 seconds would never end"; fi
fi
targets=("$@")
for target in "${targets[@]##*/}"; do
  [[ -n $target && -d $root/tests/fuzz/corpus/$target ]] || fail 2 "fuzz: there is no fuzz target '$target'"
done
need cmake ninja-build clang-14 doctest-dev
configure fuzz
build fuzz fuzz_targets
if (($# == 0)); then targets=("$root"/tests/fuzz/corpus/*); fi
trap - INT TERM # libFuzzer handles them itself
for target in "${targets[@]##*/}"; do
  [[ -x $folder/tests/fuzz/fuzz_$target ]] || fail 1 "fuzz: fuzz_$target was not built"
  mkdir -p "$folder/corpus/$target"
  echo "$target: $seconds seconds"
  (cd "$folder" && "tests/fuzz/fuzz_$target" -max_len=400 -max_total_time="$seconds" -verbosity=0 -print_final_stats=1 \
    "corpus/$target" "$root/tests/fuzz/corpus/$target") || fail 1 "$target: an input was found, see above"
done
