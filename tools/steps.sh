# SPDX-License-Identifier: BSL-1.0
# shellcheck shell=bash disable=SC2154
#
# Sourced by `dev` and by the scripts beside this file: messages, and steps that say how far they are. A step shows one
# line that moves on a terminal. Where the output is no terminal, it prints a line at least every 30 seconds.
#
# The sourcing script must set `root`, the folder of the repository.

fail() {
  local status=$1
  shift
  printf 'dev: %s\n' "$@" >&2
  exit "$status"
}

has_command() { command -v "$1" >/dev/null 2>&1; }

# at_most COUNT VERB ARGUMENT...: refuses the arguments beyond COUNT.
at_most() {
  local count=$1 verb=$2
  shift 2
  if (($# > count)); then fail 2 "$verb: unexpected argument '${*:count+1:1}'; see './dev help $verb'"; fi
}

# split_part VERB K/N: sets `part` and `parts` of the sourcing script.
# shellcheck disable=SC2034
split_part() {
  if [[ ! $2 =~ ^([1-9][0-9]*)/([1-9][0-9]*)$ ]] || ((BASH_REMATCH[1] > BASH_REMATCH[2])); then
    fail 2 "$1: --part needs K/N, with K up to N, and not '$2'"
  fi
  part=${BASH_REMATCH[1]}
  parts=${BASH_REMATCH[2]}
}

# ---- ending ----------------------------------------------------------------------------------------------------------

step_child="" # the leader of the process group of the step that runs

# Ends the step that runs with all its children, then this script.
end_by_signal() {
  set +e
  trap '' INT TERM
  local group=$step_child until=$((SECONDS + 5)) line
  if [[ -n $group ]]; then
    kill -TERM -- "-$group" 2>/dev/null
    # A compiler that was ended removes its unfinished output first. All have ended when nobody has the pipe open.
    while ((SECONDS < until)); do
      IFS= read -r -t 1 -u 3 line || (($? > 128)) || break
    done
    kill -KILL -- "-$group" 2>/dev/null
    wait "$group" 2>/dev/null
  fi
  if [[ -t 1 ]]; then printf '\n'; fi
  printf 'dev: interrupted\n' >&2
  exit 130
}
trap end_by_signal INT TERM

# ---- steps -----------------------------------------------------------------------------------------------------------

step_every=${DEV_PROGRESS_SECONDS:-25} # seconds between two lines where the output is no terminal
step_width=46                          # of the title and of what is built

# Sets step_text to how a step stands: its title, what was built last, the edges of the build graph that are done ("12
# of 300"), the seconds. Without a $(...), in which bash 5.2 now and then fails to parse the trap of a signal.
step_state() {
  local text="$1 ..."
  if [[ -n $step_name ]] && ((${#text} < step_width)); then
    text+=" $step_name"
    text=${text:0:step_width}
  fi
  printf -v step_text "%-${step_width}s %13s %4d s" "$text" "$step_done" $((SECONDS - step_start))
}

# step_progress "[12/300] TEXT": sets step_done to "12 of 300", and step_name to the target that the text is about. The
# file is named with it where the target does not tell it, as with targets of many files.
step_progress() {
  if [[ ! $1 =~ ^\[([0-9]+)/([0-9]+)\]\ (.*) ]]; then return 0; fi
  step_done="${BASH_REMATCH[1]} of ${BASH_REMATCH[2]}"
  local text=${BASH_REMATCH[3]}
  if [[ $text == *... ]]; then # "Re-running CMake..."
    step_name=${text%...}
  elif [[ $text =~ CMakeFiles/([^/]+)\.dir/(.*/)?([^/]+)\.o$ ]]; then
    step_name=${BASH_REMATCH[1]}
    text=${BASH_REMATCH[3]}
    if [[ $step_name != *"${text%.*}"* ]]; then step_name+=": $text"; fi
  else
    step_name=${text##*[ /]}
  fi
}

step_show() {
  local step_text
  step_state "$1"
  if $step_moves; then
    printf '\r%s\033[K' "$step_text"
  else
    printf '%s, still running\n' "$step_text"
  fi
  step_shown=$SECONDS
}

# Sets step_wait: the seconds to wait for more output. A second at most, because a signal that comes just before bash
# begins to read is looked at when the reading ends.
step_look_ahead() {
  step_wait=1
  if ! $step_moves && ((${step_every%.*} == 0)); then step_wait=$step_every; fi
}

# step TITLE COMMAND...: runs the command without standard input. Its output goes to build/log/, and is printed if the
# command fails. Lines like "[12/300] Linking test_wait", which ninja writes, say how far it is and what it has built.
step() {
  local title=$1 status=0 log
  local step_start=$SECONDS step_shown=$SECONDS step_done="" step_name="" step_moves=false step_wait step_text
  shift
  log=$root/build/log/${title//[^A-Za-z0-9+-]/_}.txt
  mkdir -p "${log%/*}"
  if [[ -t 1 ]]; then
    step_moves=true
    step_show "$title"
  fi
  step_run "$title" "$log" "$@" || status=$?
  if $step_moves; then printf '\r\033[K'; fi
  if ((status != 0)); then
    printf '%-60s FAILED\n' "$title ..."
    sed '/^\[[0-9]*\/[0-9]*\] /d' "$log" >&2 # without ninja's progress
    return "$status"
  fi
  step_done=""
  step_name=""
  step_state "$title"
  printf '%s\n' "$step_text"
}

# step_run TITLE LOG COMMAND...: the command leads a process group of its own. With step_foreground it does not, because
# it may want the terminal; then nothing is said until it ends.
step_run() {
  local title=$1 log=$2 pipe=$2.$$.pipe status=0 line part=""
  shift 2
  if [[ -n ${step_foreground:-} ]]; then
    "$@" >"$log" 2>&1 </dev/null
    return
  fi
  rm -f "$pipe"
  mkfifo "$pipe"

  set -m
  "$@" >"$pipe" 2>&1 </dev/null &
  step_child=$!
  set +m
  exec 3<"$pipe" 4>"$log"
  rm -f "$pipe"

  while true; do
    status=0
    step_look_ahead
    IFS= read -r -t "$step_wait" -u 3 line || status=$?
    part+=$line
    if ((status <= 128)); then # a whole line, or the last one
      if [[ -n $part || $status == 0 ]]; then printf '%s\n' "$part" >&4; fi
      step_progress "$part"
      part=""
    fi
    if ((status > 0 && status <= 128)); then break; fi
    if $step_moves || ((SECONDS - step_shown >= ${step_every%.*})); then step_show "$title"; fi
  done
  exec 3<&- 4>&-

  status=0
  wait "$step_child" 2>/dev/null || status=$?
  step_child=""
  return "$status"
}
