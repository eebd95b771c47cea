#!/usr/bin/env bash
# Gathers what building and testing need beside a compiler, CMake and Python into one folder: MuJoCo's library, cmocka,
# libpng, zlib, minizip, jansson, pkg-config. A machine without a network that has this folder in the checkout can run
# tools/test_gpu.sh.
#
#   tools/carry.sh [FOLDER]      (default .carry, which git ignores; run `make test` first, which installs all of it
#                                here)
set -euo pipefail
cd "$(dirname "$0")/.."
to=${1:-.carry}

fail() {
    echo "carry: $1" >&2
    exit 1
}

mujoco=${MUJOCO_DIR:-$(ls -d .venv/lib/python3*/site-packages/mujoco 2>/dev/null | head -n 1)}
[ -e "$mujoco/include/mujoco/mujoco.h" ] || fail "MuJoCo is not here: run 'make test' first, or set MUJOCO_DIR"
rm -rf "$to"
mkdir -p "$to/lib/pkgconfig" "$to/include" "$to/bin" "$to/mujoco"
cp -r "$mujoco/include" "$to/mujoco/"
cp -L "$mujoco"/libmujoco.so.* "$to/mujoco/" 2>/dev/null || cp -rL "$mujoco/lib" "$to/mujoco/"
for plugins in plugin bin/mujoco_plugin; do
    [ -d "$mujoco/$plugins" ] || continue
    mkdir -p "$to/mujoco/$plugins"
    cp -L "$mujoco/$plugins"/* "$to/mujoco/$plugins/"
done

# A library by its linker's name, with the name that programs look for at run time; no links, which not every way of
# copying keeps.
library() { # library NAME
    local file soname
    file=$(${CC:-cc} -print-file-name="lib$1.so")
    [ -e "$file" ] || fail "lib$1.so is not here: run 'make test' first"
    cp -L "$file" "$to/lib/lib$1.so"
    soname=$(objdump -p "$file" | sed -n 's/^ *SONAME *//p')
    cp -L "$file" "$to/lib/$soname"
}
for name in cmocka png16 z minizip jansson; do library $name; done
cp -L "$to/lib/libpng16.so" "$to/lib/libpng.so"

header() { # header NAME... (what some of them need is included before)
    local name found
    for name in "$@"; do
        found=$(printf '#include <%s>\n' setjmp.h stdarg.h stddef.h stdint.h "$name" |
            ${CC:-cc} -E -xc - 2>/dev/null | sed -n "s|^# 1 \"\(.*/$name\)\".*|\1|p" | head -n 1)
        [ -e "$found" ] || fail "$name is not here: run 'make test' first"
        mkdir -p "$to/include/$(dirname "$name")"
        cp -L "$found" "$to/include/$name"
    done
}
header png.h pngconf.h pnglibconf.h zlib.h zconf.h jansson.h jansson_config.h cmocka.h
header minizip/zip.h minizip/unzip.h minizip/ioapi.h

describe() { # describe NAME VERSION FLAG: a file for pkg-config, found beside itself
    cat >"$to/lib/pkgconfig/$1.pc" <<END
prefix=\${pcfiledir}/../..
Name: $1
Description: carried
Version: $2
Libs: -L\${prefix}/lib -l$3
Cflags: -I\${prefix}/include
END
}
describe cmocka "$(pkg-config --modversion cmocka)" cmocka
describe libpng "$(pkg-config --modversion libpng)" png16
describe zlib "$(pkg-config --modversion zlib)" z
describe minizip "$(pkg-config --modversion minizip)" minizip
sed -i 's|^Cflags:.*|& -I${prefix}/include/minizip|' "$to/lib/pkgconfig/minizip.pc"
describe jansson "$(pkg-config --modversion jansson)" jansson

tool=$(readlink -f "$(command -v pkg-config)")
cp -L "$tool" "$to/bin/pkg-config"
for file in $(ldd "$tool" | sed -n 's|.*=> \(/[^ ]*libpkgconf[^ ]*\).*|\1|p'); do cp -L "$file" "$to/lib/"; done
git describe --always --abbrev=40 --dirty '--exclude=*' >"$to/commit" # for results of benchmarks: STET_COMMIT
echo "carry: $to holds $(du -sh "$to" | cut -f 1)"
