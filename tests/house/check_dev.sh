#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# The command line of `dev`: help does nothing else, unknown arguments are refused before anything is done, and the
# script finds its own folder through links. This runs a copy of it in a folder whose name has a space. The programs
# that it would start are replaced by ones that leave a mark.
#
#   check_dev.sh DEV WORK_DIR
set -euo pipefail

dev=$1
work=$2/'a copy'
rm -rf "$2"
mkdir -p "$work/build" "$work/tests/fuzz/corpus/upload_ring"
mkdir -p "$2/bin" "$2/links/deeper"
cp "$dev" "$work/dev"
cp -R "${dev%/*}/tools" "$work/tools"
echo precious >"$work/build/kept"

failures=0
complain() {
  printf 'FAILED: %s\n' "$@"
  failures=$((failures + 1))
}

# ---- stand-ins -------------------------------------------------------------------------------------------------------

export MARKS=$2/marks
for program in ninja apt-get sudo g++ c++ clang-14 clang++-14 clang++-19 clang-format-19 clang-tidy-19 setarch meson \
  pkg-config; do
  printf '#!/bin/sh\necho "%s $*" >>"$MARKS"\nexit 1\n' "$program" >"$2/bin/$program"
done
# ctest is asked which options it has.
cat >"$2/bin/ctest" <<'TEXT'
#!/bin/sh
if [ "$*" = --help ]; then
  echo '  -R <regex>, --tests-regex <regex>'
  echo '  -j <jobs>, --parallel <jobs>'
  exit 0
fi
echo "ctest $*" >>"$MARKS"
exit 1
TEXT
# The packages that are needed seem to be there, but CMake is too old: that is as far as the work gets.
printf '#!/bin/sh\necho "cmake $*" >>"$MARKS"\necho "cmake version 3.1.0"\n' >"$2/bin/cmake"
for compiler in g++ c++; do
  printf '#!/bin/sh\nexec cat >/dev/null\n' >"$2/bin/$compiler"
done
for script in tools/audit.py tools/report.py; do
  printf '#!/bin/sh\necho "options of %s: $*"\n' "$script" >"$work/$script"
done
chmod +x "$2/bin"/* "$work/tools/audit.py" "$work/tools/report.py"
export PATH=$2/bin:$PATH DEV_NO_INSTALL=1 DEV_FIXED_LAYOUT=1
unset CXX

# run STATUS ARGUMENT...: dev must end with this status and must not have done anything. Sets output.
run() {
  local expected=$1 status=0
  shift
  : >"$MARKS"
  output=$(cd / && "$work/dev" "$@" 2>&1 </dev/null) || status=$?
  if [[ $status != "$expected" ]]; then complain "dev $*: ended with $status, not with $expected: ${output%%$'\n'*}"; fi
  if [[ -s $MARKS ]]; then complain "dev $*: has run $(sort -u "$MARKS" | head -n 3)"; fi
  if [[ ! -f $work/build/kept ]]; then
    complain "dev $*: has removed build/"
    mkdir -p "$work/build"
    echo precious >"$work/build/kept"
  fi
  if [[ -n $(find "$work" -newer "$MARKS" -type f ! -name kept) ]]; then complain "dev $*: has written files"; fi
}

# ---- help ------------------------------------------------------------------------------------------------------------

run 0 help
verbs=$(sed -n 's/^  \([a-z]*\) .*/\1/p' <<<"$output")
if [[ $(wc -w <<<"$verbs") -lt 15 ]]; then complain "dev help: does not list the verbs: ${output%%$'\n'*}"; fi
for verb in $verbs; do
  for asked in "$verb --help" "$verb -h" "$verb x --help" "help $verb"; do
    read -ra arguments <<<"$asked"
    run 0 "${arguments[@]}"
    if [[ $output != "usage: ./dev $verb"* || $(wc -l <<<"$output") -lt 3 ]]; then
      complain "dev $asked: does not say how $verb is used: ${output%%$'\n'*}"
    fi
  done
done
for script in tools/audit.py tools/report.py; do
  verb=$(basename "$script" .py)
  verb=${verb/report/bench}
  run 0 "$verb" --help
  if [[ $output != *"options of $script: --help"* ]]; then complain "dev $verb --help: did not ask $script"; fi
done
run 2 help bogus
run 2 help clean test
run 2 bogus
run 2 bogus --help
run 2 --bogus

# ---- what is not known is refused ------------------------------------------------------------------------------------

run 2 test bogus
if [[ $output != *"no tests of 'bogus'"* ]]; then complain "dev test bogus: does not say what is wrong: $output"; fi
run 2 test house bogus
run 2 test --all house bogus
run 2 test --bogus
run 2 test -Rbogus
run 2 test --bogus=1
run 2 test -R some --tests-regex=any bogus
run 2 test --al
run 2 test --all bogus
run 2 test --all -R some --bogus
run 2 test --part 1/4
run 2 test --all --part
run 2 test --all --part 5/4
run 2 test --all --part 0/4
run 2 test --part bogus --all
run 2 model --ful
run 2 model full
run 2 model --full --ful
run 2 asan --bogus
run 2 asan --libc++ bogus
run 2 tsan bogus
run 2 fuzz bogus
run 2 fuzz 10 bogus
run 2 fuzz 10 upload_ring bogus
run 2 fuzz --bogus
run 2 fuzz 0
run 2 fuzz ''
run 2 compilers --instal
run 2 compilers --install more
run 2 matrix bogus
run 2 matrix --bogus
run 2 asm bogus-compiler
run 2 asm g++ more
run 2 format --chekc
run 2 format --check more
run 2 tidy more
run 2 tidy --change
run 2 tidy --changed HEAD more
run 2 clean more
run 2 clean --dry-run

# What is known is not refused.
for known in "test -R some -j2" "test house -j2" "test --all house fuzz" "model audit" \
  "asan house" "test -j2 --all" "test --all --part 4/4 -j2" "model --full -R some" \
  "model -j 2 --full" "asan --tests-regex=some"; do
  read -ra arguments <<<"$known"
  output=$("$work/dev" "${arguments[@]}" 2>&1 </dev/null) && complain "dev $known: passed"
  if [[ $output != *"is too old"* ]]; then complain "dev $known: did not come to its work: ${output%%$'\n'*}"; fi
done

# ---- links -----------------------------------------------------------------------------------------------------------

# expect_root COMMAND...: dev clean, called like this, removes build/ of the copy.
expect_root() {
  mkdir -p "$work/build" "$2"
  "${@:3}" clean >/dev/null 2>&1 </dev/null || complain "$1: dev clean ended with $?"
  if [[ -e $work/build ]]; then complain "$1: dev took another folder for its own"; fi
}

here=$2
ln -s "$work/dev" "$here/links/absolute"
ln -s '../a copy/dev' "$here/links/relative"
ln -s ../relative "$here/links/deeper/of a link"
ln -s deeper "$here/links/folder"
for link in absolute relative 'deeper/of a link' 'folder/of a link'; do
  expect_root "$link" "$here/links/build" "$here/links/$link"
  if [[ ! -d $here/links/build ]]; then complain "$link: dev clean has removed the build/ beside the link"; fi
done
cd "$here/links"
expect_root "through PATH" "$here/links/build" env "PATH=$here/links:$PATH" relative
cd "$here"
mkdir -p "$here/elsewhere/a copy"
expect_root "with CDPATH" "$here/links/build" env "CDPATH=$here/elsewhere" bash 'a copy/dev'

if ((failures > 0)); then
  echo "$failures failures"
  exit 1
fi
echo "the command line of dev is as it says"
