#!/usr/bin/env bash
# The random programs of adjoint/random on many cores: PROCESSES tests at a time over SOURCES sources, and one table of
# them all. Fails where a program was wrong, or a production that no program was refused for was right fewer than LEAST
# times in all, or a test ended otherwise. Needs a built test and a C compiler.
#
#   tools/random_adjoints.sh [BUILD [SOURCES [PROCESSES [LEAST [SEED]]]]]      (default: build 400 "all cores" 1000
#       1000)
#
# STET_RANDOM_LOGS=FOLDER keeps what each test printed.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build} sources=${2:-400} processes=${3:-$(getconf _NPROCESSORS_ONLN)} least=${4:-1000} seed=${5:-1000}

fail() {
    echo "random_adjoints: $1" >&2
    exit 1
}

program=$(find "$build" -type f -name test_adjoint_random -perm -u+x | head -n 1)
[ -n "$program" ] || fail "$build has no test_adjoint_random: cmake --build $build --target test_adjoint_random"
logs=${STET_RANDOM_LOGS:-$(mktemp -d)}
mkdir -p "$logs"
rm -f "$logs"/*.table "$logs"/*.log "$logs"/*.failed
[ -n "${STET_RANDOM_LOGS:-}" ] || trap 'rm -rf "$logs"' EXIT

# Parts small enough that the last ones do not keep one core busy while the others wait.
part=$((sources / (processes * 4)))
[ "$part" -ge 1 ] || part=1
[ "$part" -le 8 ] || part=8
for ((done = 0; done < sources; done += part)); do
    n=$((sources - done < part ? sources - done : part))
    echo "$n $((seed + done))"
done >"$logs/parts"
started=$(date +%s)
# shellcheck disable=SC2016
xargs -P "$processes" -L 1 bash -c '"$0" "$2" "$3" 0 "$1/$3.table" >"$1/$3.log" 2>&1 || touch "$1/$3.failed"' \
    "$program" "$logs" <"$logs/parts"

for failed in "$logs"/*.failed; do
    [ -e "$failed" ] || break
    echo "---- the test from seed $(basename "$failed" .failed):"
    grep -v '^.\{46\} *[0-9]* *[0-9]* *[0-9]* *[0-9]* *$' "${failed%.failed}.log" | tail -n 60 || true
done
# Rows of a table: production, odd or plain, right, refused, wrong, how it was refused.
bad=0
cat "$logs"/*.table | awk -F '\t' -v least="$least" '
    !($1 in kind) { name[count++] = $1; kind[$1] = $2 }
    { right[$1] += $3; refused[$1] += $4; wrong[$1] += $5 }
    $6 != "" { said[$1] = $6 }
    END {
        printf "%-46s %8s %8s %8s %8s\n", "production", "drawn", "right", "refused", "wrong"
        for (i = 0; i < count; ++i) {
            k = name[i]
            n = right[k] + refused[k] + wrong[k]
            enough = right[k] >= least || (kind[k] == "odd" && refused[k] > 0)
            poor += !enough
            mistakes += wrong[k]
            mark = enough && wrong[k] == 0 ? "" : " <--"
            printf "%-46s %8d %8d %8d %8d%s %s\n", k, n, right[k], refused[k], wrong[k], mark, said[k]
        }
        printf "%d productions: %d drawn too seldom, %d draws in wrong programs\n", count, poor, mistakes
        exit count == 0 || poor > 0 || mistakes > 0
    }' || bad=1
echo "$sources sources, $processes processes, $(($(date +%s) - started)) s"
! ls "$logs"/*.failed >/dev/null 2>&1 || fail "a test failed (see above)"
[ "$bad" -eq 0 ] || fail "a production is too seldom right, or wrong"
