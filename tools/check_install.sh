#!/usr/bin/env bash
# Checks the installation: installs a build tree into a fresh prefix, moves that prefix (it must not know where it was),
# and builds and runs a small program against it twice: with pkg-config, and with CMake's find_package.
#
#   tools/check_install.sh BUILD-TREE [CMAKE [C-COMPILER]]
set -eu
source_dir=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd)
cmake=${2:-cmake}
cc=${3:-cc}

scratch=$(mktemp -d "$build/install-check.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

"$cmake" --install "$build" --prefix "$scratch/first" >/dev/null
mv "$scratch/first" "$scratch/prefix"
prefix=$scratch/prefix

test -s "$(find "$prefix" -name LICENSE)" || { echo "install: LICENSE is absent"; exit 1; }
test -n "$(find "$prefix/share/stet/scenes" -name '*.xml')" ||
    { echo "install: no scene in share/stet/scenes"; exit 1; }

mkdir "$scratch/consumer"
cp "$source_dir/tools/consumer.c" "$scratch/consumer/main.c"

pc=$(find "$prefix" -name stet.pc)
test -n "$pc" || { echo "install: no stet.pc below the prefix"; exit 1; }
export PKG_CONFIG_PATH="${pc%/*}"
# shellcheck disable=SC2046 # the flags are words
"$cc" -o "$scratch/with-pkg-config" "$scratch/consumer/main.c" $(pkg-config --cflags --libs stet)
"$scratch/with-pkg-config"
echo "install: built and ran with pkg-config"

# An example, as somebody who has no checkout would: its scene and kernels are read from where it runs.
# shellcheck disable=SC2046
"$cc" -o "$scratch/cartpole" "$prefix/share/stet/examples/cartpole.c" $(pkg-config --cflags --libs stet)
(cd "$prefix/share/stet" && XDG_CACHE_HOME="$scratch/cache" "$scratch/cartpole" feedback 8 100) |
    grep -q '^step *100: *0 episodes ended$' ||
    { echo "install: the example does not keep its poles up"; exit 1; }
echo "install: built and ran an example"

# The C of README.md, as a program, prints a picture that shows something.
{
    echo '#include <stet/stet.h>'
    echo '#include <stdio.h>'
    echo 'int main(void)'
    echo '{'
    awk '/^```c$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$source_dir/README.md"
    echo '}'
} >"$scratch/readme.c"
# shellcheck disable=SC2046
"$cc" -o "$scratch/readme" "$scratch/readme.c" $(pkg-config --cflags --libs stet)
(cd "$source_dir" && "$scratch/readme") >"$scratch/readme.ppm"
test "$(head -c 15 "$scratch/readme.ppm")" = "P6 128 128 255" &&
    test "$(wc -c <"$scratch/readme.ppm")" = $((15 + 128 * 128 * 3)) &&
    test "$(gzip -c "$scratch/readme.ppm" | wc -c)" -gt 4000 || { echo "install: README's C draws nothing"; exit 1; }
echo "install: built and ran README's C"

cat >"$scratch/consumer/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C)
find_package(stet 0.1 REQUIRED)
if(NOT EXISTS "${stet_SCENES_DIR}")
    message(FATAL_ERROR "stet_SCENES_DIR is '${stet_SCENES_DIR}', which does not exist")
endif()
add_executable(consumer main.c)
target_link_libraries(consumer PRIVATE stet::stet)
END
"$cmake" -S "$scratch/consumer" -B "$scratch/consumer/build" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="$cc" >"$scratch/log" 2>&1 &&
    "$cmake" --build "$scratch/consumer/build" >>"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
"$scratch/consumer/build/consumer"
echo "install: built and ran with find_package"

if [ -x "$prefix/bin/stet" ]; then
    "$prefix/bin/stet" info >/dev/null
    echo "install: the installed command runs"
    # One of MuJoCo's own plugins, which have to be found in the installed tree.
    cat >"$scratch/pid.xml" <<'END'
<mujoco>
<extension><plugin plugin="mujoco.pid"><instance name="p"><config key="kp" value="4"/></instance></plugin></extension>
<worldbody><camera pos="0 -2 0" xyaxes="1 0 0 0 0 1"/>
<body><joint name="j" type="slide"/><geom size=".1"/></body></worldbody>
<actuator><plugin joint="j" plugin="mujoco.pid" instance="p"/></actuator></mujoco>
END
    if [ -n "$(find "$prefix" -name 'libactuator.so')" ]; then
        "$prefix/bin/stet" run "$scratch/pid.xml" --worlds 2 --frames 2 >/dev/null ||
            { echo "install: a model with a plugin does not run"; exit 1; }
        echo "install: a model with a plugin runs"
    fi
fi
