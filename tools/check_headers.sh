#!/usr/bin/env bash
# Checks that each public header compiles alone, as C11 and as C++17, without extensions and without a warning, also
# when included twice.
#
#   tools/check_headers.sh [C-COMPILER [C++-COMPILER]]
#
# A header whose opening says "Included by NAME.h only" is a part of that one: it is compiled through it, and the check
# is that NAME.h does include it.
set -u
cd "$(dirname "$0")/.." || exit 2

cc=${1:-cc}
cxx=${2:-}
if [ -z "$cxx" ]; then
    # The C++ compiler of the same family, version and folder.
    case ${cc##*/} in
        clang*) cxx=$(sed 's|clang\([^/]*\)$|clang++\1|' <<<"$cc") ;;
        gcc*) cxx=$(sed 's|gcc\([^/]*\)$|g++\1|' <<<"$cc") ;;
        *) cxx=c++ ;;
    esac
fi
warnings=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)

failed=0
checked=0
compile() { # compile COMPILER LANGUAGE STANDARD HEADER
    printf '#include <stet/%s>\n#include <stet/%s>\n' "$4" "$4" |
        "$1" -x "$2" -std="$3" "${warnings[@]}" -fsyntax-only -Iinclude - || {
        printf 'headers: include/stet/%s does not compile alone as %s (%s)\n' "$4" "$3" "$1"
        failed=1
    }
}

for path in include/stet/*.h; do
    header=${path##*/}
    owner=$(sed -n '1,8s/.*Included by \([a-z_]*\.h\) only.*/\1/p' "$path")
    if [ -n "$owner" ]; then
        grep -q "#include [<\"]\(stet/\)\{0,1\}${header}[>\"]" "include/stet/$owner" || {
            printf 'headers: %s says that %s includes it, which it does not\n' "$path" "$owner"
            failed=1
        }
        continue
    fi
    checked=$((checked + 1))
    compile "$cc" c c11 "$header"
    compile "$cxx" c++ c++17 "$header"
done
[ $checked -gt 0 ] || { echo "headers: none found in include/stet/"; exit 1; }
[ $failed -ne 0 ] || echo "headers: $checked compile alone, as C11 ($cc) and as C++17 ($cxx)"
exit $failed
