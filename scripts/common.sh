# shellcheck shell=bash
# SPDX-FileCopyrightText: The quietvox authors
# SPDX-License-Identifier: Apache-2.0
#
# Sourced by quickstart, run-tests and the other scripts: messages, quiet steps with a log, and the build.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build
logs=$build/logs

say() { printf '%s\n' "$*"; }
step() { printf '== %s\n' "$*"; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

# run_logged NAME WHAT COMMAND...: runs the command with its output in logs/NAME.txt, and says from time to time how far
# it is. Where it fails, shows the end of the log and stops.
run_logged() {
  local log=$logs/$1.txt what=$2 start=$SECONDS pid status=0 progress
  shift 2
  mkdir -p "$logs"
  step "$what"
  "$@" >"$log" 2>&1 &
  pid=$!
  trap 'kill "$pid" 2>/dev/null || true' INT TERM
  while kill -0 "$pid" 2>/dev/null; do
    sleep 1
    if (((SECONDS - start) % 30 == 29)); then
      progress=$(grep -aoE '^ *(\[[0-9]+/[0-9]+\]|[0-9]+/[0-9]+ Test)' "$log" | tail -n 1 || true)
      say "   ... ${progress:+$progress, }$((SECONDS - start)) s"
    fi
  done
  wait "$pid" || status=$?
  trap - INT TERM
  if ((status != 0)); then
    tail -n 40 "$log" >&2
    fail "$what: failed with status $status; the whole log is $log"
  fi
  if ((SECONDS - start > 2)); then say "   done in $((SECONDS - start)) s"; fi
}

# One compiler per core, fewer where memory is short: the largest files take about 1.5 GiB.
jobs_for_this_machine() {
  local cores memory_gib
  cores=$(nproc)
  memory_gib=$(awk '/^MemAvailable:/ {print int($2 / 1048576)}' /proc/meminfo)
  local fitting=$((memory_gib * 2 / 3))
  ((fitting < 1)) && fitting=1
  echo $((cores < fitting ? cores : fitting))
}

# build_targets TARGET...: configures (quick when nothing changed) and builds, Release, in build/.
build_targets() {
  if ! command -v nvcc >/dev/null && [ -x /usr/local/cuda/bin/nvcc ]; then PATH=$PATH:/usr/local/cuda/bin; fi
  local options=(-DCMAKE_BUILD_TYPE=Release)
  local name
  for name in QUIETVOX_CUDA QUIETVOX_TEST_DATA; do
    if [ -n "${!name:-}" ]; then options+=("-D$name=${!name}"); fi
  done
  run_logged configure "configuring in build/" cmake -S "$root" -B "$build" -G Ninja "${options[@]}"
  if grep -q 'quietvox: CUDA backend ON' "$logs/configure.txt"; then
    say "   for CPU and CUDA ($(command -v nvcc || true))"
  elif command -v nvcc >/dev/null; then
    say "   for the CPU alone: QUIETVOX_CUDA is OFF in build/CMakeCache.txt"
  else
    say "   for the CPU alone: there is no nvcc"
  fi
  run_logged build "building $* (minutes the first time, seconds later)" \
    cmake --build "$build" --parallel "$(jobs_for_this_machine)" --target "$@"
}
