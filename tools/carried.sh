# Sourced by scripts that build on a machine without a network, in the checkout's folder: lets CMake, the compiler and
# programs find what tools/carry.sh gathered in .carry/. False if there is none.
[ -d .carry ] || return 1
carry=$PWD/.carry
[ -d .venv ] || export MUJOCO_DIR="${MUJOCO_DIR:-$carry/mujoco}"
export CMAKE_PREFIX_PATH="$carry" PKG_CONFIG_PATH="$carry/lib/pkgconfig" LIBRARY_PATH="$carry/lib"
export LD_LIBRARY_PATH="$carry/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
command -v pkg-config >/dev/null || export PKG_CONFIG="$carry/bin/pkg-config"
export STET_COMMIT="${STET_COMMIT:-$(cat "$carry/commit")}"
