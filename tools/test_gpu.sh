#!/usr/bin/env bash
# Everything that can be checked on a machine with an NVIDIA GPU: builds, runs the tests (their list of devices then has
# `cuda`), and runs the GPU's sanitizers over a little of everything. Needs no network if tools/carry.sh was run before
# and .carry/ came along.
#
#   tools/test_gpu.sh [BUILD]     BUILD: folder, default build/gpu
#
# Variables: JOBS; TESTS (a regular expression: only these); LABEL (only tests with it; real_gpu: those that open the
# GPU); SKIP (labels that do not run, default long|whole; none: '-'); SANITIZERS (default: memcheck racecheck initcheck
# synccheck; empty: none); SANITIZER_LIMIT (seconds that each may take, default 200). Exit status 0: all that was asked
# for ran and passed.
set -uo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/gpu}
jobs=${JOBS:-$(nproc)}
limit=${SANITIZER_LIMIT:-200}
sanitizers=${SANITIZERS-memcheck racecheck initcheck synccheck}
summary=()
failed=0

say() { printf 'test-gpu: %s\n' "$*"; }
note() { # note good|bad SENTENCE
    [ "$1" = good ] || failed=1
    summary+=("$1: $2")
}
finish() {
    say "summary"
    printf '  %s\n' "${summary[@]}"
    [ $failed -eq 0 ] && say "all passed" || say "NOT all passed"
    exit $failed
}

# ---- what is here ----------------------------------------------------------------------------------------------------

gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1)
if [ -z "$gpu" ]; then
    say "no NVIDIA GPU was found; 'make test' runs the same tests over the driver doubles"
    exit 1
fi
say "$gpu, $jobs jobs"

if . tools/carried.sh; then
    say "using .carry/"
else
    tools/setup.sh test || exit 1
fi

# ---- building --------------------------------------------------------------------------------------------------------

mkdir -p "$build"
start=$SECONDS
if ! cmake -S . -B "$build" -DSTET_TESTS=ON -DSTET_ASSERT=ON -DMUJOCO_DIR="${MUJOCO_DIR:-}" --log-level=NOTICE \
        >"$build/configure.log" 2>&1 ||
    ! cmake --build "$build" --parallel "$jobs" >"$build/build.log" 2>&1; then
    grep -hE -A 5 'CMake Error|error:|Error [0-9]' "$build/configure.log" "$build/build.log" | head -n 60
    note bad "it does not build (logs in $build)"
    finish
fi
note good "built in $((SECONDS - start)) s"

# ---- tests -----------------------------------------------------------------------------------------------------------

# Those that are Python scripts need the wheels that tools/setup.sh installs.
without=(-LE "^(${SKIP-long|whole})\$")
[ -x .venv/bin/python ] ||
    without+=(-E '^(cli/(files|input|packages|rounds|run|bench|trace)|device/numpy|examples/.*|project/.*)$')
start=$SECONDS
ctest --test-dir "$build" --output-on-failure --no-tests=error --timeout 300 --parallel "$jobs" "${without[@]}" \
    ${TESTS:+-R "$TESTS"} ${LABEL:+-L "^$LABEL\$"} >"$build/tests.log" 2>&1
status=$?
grep -E '^ *[0-9]+% tests passed|^\s+[0-9]+ - .*\((Failed|Timeout|SEGFAULT|Subprocess|Not Run|Exception).*' \
    "$build/tests.log"
[ $status -eq 0 ] || grep -E -B 2 -A 12 'ERROR +\]|error: |Segmentation' "$build/tests.log" | head -n 150
ran=$(grep -cE '^on cuda$' "$build/Testing/Temporary/LastTest.log" 2>/dev/null)
if [ $status -eq 0 ]; then
    note good "tests passed in $((SECONDS - start)) s"
else
    note bad "tests failed (log in $build/tests.log)"
fi
if [ "${ran:-0}" -gt 0 ]; then
    note good "the GPU was opened by tests $ran times"
else
    note bad "no test ran on the GPU"
fi

# ---- sanitizers ------------------------------------------------------------------------------------------------------

# Pictures by one kernel, and part by part. Native physics apart, and twice: a team for each world, and a thread for
# each.
program=$build/test/gpu/gpu_small
cache=$(cd "$build" && pwd)/test/small_cache_gpu
declare -A small=([small]="scenes/hand.xml" [small-parts]="scenes/hand.xml"
    [small-native]="scenes/hand.xml --native 256" [small-native-thread]="scenes/cartpole.xml --native 8192")
declare -A setting=([small-parts]="STET_PARTS=7 STET_WAIT_FOR_CODE=1")
run_small() { # run_small NAME [COMMAND...], in a subshell
    local name=$1
    [ -z "${setting[$name]-}" ] || export ${setting[$name]}
    "${@:2}" "$program" ${small[$name]} --cache "$cache"
}
for name in "${!small[@]}"; do # which leaves compiled programs for what follows
    rm -f "$build/$name.passed"
    (run_small "$name" >"$build/$name.log" 2>&1 && : >"$build/$name.passed") &
done
wait
for name in "${!small[@]}"; do
    if [ -e "$build/$name.passed" ]; then note good "$name: $(tail -n 1 "$build/$name.log")"; else
        cat "$build/$name.log"
        note bad "$name: gpu_small ${small[$name]} failed"
    fi
done

sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | tail -n 1)
if [ -z "$sanitizer" ]; then
    [ -z "$sanitizers" ] || note bad "compute-sanitizer is not installed: the sanitizers did not run"
    sanitizers=""
fi
for tool in $sanitizers; do
    options=()
    [ "$tool" = memcheck ] && options=(--leak-check full)
    for name in "${!small[@]}"; do
        (
            run_small "$name" timeout "$limit" "$sanitizer" --tool "$tool" --error-exitcode 99 "${options[@]}" \
                >"$build/$name.$tool.log" 2>&1
            echo $? >"$build/$name.$tool.status"
        ) &
    done
done
wait
for tool in $sanitizers; do
    for name in "${!small[@]}"; do
        log=$build/$name.$tool.log
        status=$(cat "$build/$name.$tool.status")
        last=$(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY|LEAK SUMMARY' "$log" | tail -n 2 | sed 's/^=* *//' |
            paste -sd ';')
        case $status in
            0) note good "$name, $tool: ${last:-no summary}" ;;
            124) note bad "$name, $tool: did not end in $limit s, and says nothing" ;;
            *)
                note bad "$name, $tool: status $status; ${last:-no summary}"
                head -n 40 "$log"
                ;;
        esac
    done
done
finish
