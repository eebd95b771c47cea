#!/usr/bin/env bash
# build_progress.sh COMMAND...: runs a build by CMake and shows it as one line that moves: how far, how long yet, what.
# Where nobody watches, a line every ten seconds. A build that fails shows all that it printed; its exit code is kept.
set -u
log=$(mktemp) || exit 2
trap 'rm -f "$log"' EXIT
watched=0
[ -t 2 ] && watched=1

show() { # show PERCENT WHAT
    local left=""
    if [ "$SECONDS" -ge 3 ] && [ "$1" -ge 5 ]; then left=", about $((SECONDS * (100 - $1) / $1)) s left"; fi
    local line="building stet: $1 %$left: $2"
    if [ $watched -eq 1 ]; then
        printf '\r\033[K%.*s' "$(($(tput cols 2>/dev/null || echo 80) - 1))" "$line" >&2
    elif [ "$SECONDS" -ge "$next" ]; then
        next=$((SECONDS + 10))
        printf '%s\n' "$line" >&2
    fi
}

next=10
"$@" 2>&1 | tee "$log" | while IFS= read -r line; do
    if [[ $line =~ ^\[\ *([0-9]+)%\]\ .*/([^/]+/[^/]+)\.o$ ]]; then
        show "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
    fi
done
code=${PIPESTATUS[0]}
[ $watched -eq 1 ] && printf '\r\033[K' >&2
[ "$code" -eq 0 ] || cat "$log" >&2
exit "$code"
