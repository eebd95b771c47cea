#!/usr/bin/env bash
# All checks of the source that need no run of the program: formatting, clang-tidy, layers, headers, forbidden calls,
# kernels, tests of known failures. Every check runs, whatever the others find.
#
#   tools/lint.sh BUILD-TREE      (a configured tree: it holds compile_commands.json)
set -u
cd "$(dirname "$0")/.." || exit 2
build=$1
jobs=${JOBS:-2}
failed=0

# Tables (.inl) are laid out by hand.
c_sources() {
    find bench examples include python/stet src test tools -name '*.c' -o -name '*.h'
    find python/src -name '*.cpp' -o -name '*.h'
}

# The files of src/ and bench/ that the build really compiles, hence with known flags; generated ones are not people's.
tidied() {
    sed -n 's#^ *"file": "\(.*/\(src\|bench\)/.*\.c\)",\{0,1\}$#\1#p' "$build/compile_commands.json" |
        grep -v '/kernels/bench/' | sort -u
}

format() { c_sources | xargs clang-format --dry-run -Werror; }

tidy() {
    local list
    list=$(tidied)
    [ -n "$list" ] || { echo "no compiled source of src/ in $build/compile_commands.json"; return 1; }
    printf '%s\n' "$list" | xargs -P "$jobs" -n 1 clang-tidy -p "$build" --quiet 2>&1 |
        grep -v -e 'warnings\{0,1\} generated' -e '^Suppressed' -e 'Use -header-filter' -e '^$'
    [ "${PIPESTATUS[1]}" -eq 0 ]
}

# Kernel sources, for a CPU and for a GPU. One without an #include is a part of others and is checked with them; some
# other must include it.
kernels() {
    local file whole=() lost=0
    while read -r file; do
        if grep -q '^#include' "$file"; then
            whole+=("$file")
        elif ! grep -rqF --include='*.k.h' "#include \"${file#src/}\"" bench src test; then
            echo "$file: includes nothing, and no kernel source includes it"
            lost=1
        fi
    done < <(find bench examples python src test -name '*.k.h' | sort)
    "$build/kernelcheck" -I . -I src -I include -I "$build/language" "${whole[@]}" &&
        "$build/kernelcheck" --gpu -I . -I src -I include -I "$build/language" "${whole[@]}" && [ $lost -eq 0 ]
}

check() { # check NAME COMMAND...
    local name=$1 start=$SECONDS
    shift
    if "$@"; then
        printf 'lint: %-10s ok (%d s)\n' "$name" $((SECONDS - start))
    else
        printf 'lint: %-10s FAILED (%d s)\n' "$name" $((SECONDS - start))
        failed=1
    fi
}

check format format
check layers tools/check_layers.py
check source tools/check_source.py
check kernels kernels
check headers tools/check_headers.sh gcc
check headers tools/check_headers.sh clang
check tidy tidy
check failures tools/check_kf.py
exit $failed
