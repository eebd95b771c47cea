#!/usr/bin/env bash
# Builds the pilots with the layers that they need (base, device, kernel; no dependency but a C compiler and OpenMP) and runs them on
# the machine's NVIDIA GPU, or with --compile-only just compiles them with NVRTC. Usage: test/gpu/pilot_gpu.sh [--compile-only] [BUILD_FOLDER]
set -euo pipefail
mode=""
[ "${1:-}" = "--compile-only" ] && { mode=$1; shift; }
root=$(cd "$(dirname "$0")/../.." && pwd)
out=${1:-$root/build-pilot}
mkdir -p "$out"
flags=(-std=gnu11 -O3 -fopenmp -I"$root/include" -I"$root/src" -I"$root")
strict=(-ffp-contract=off -fno-math-errno -fwrapv)
${CC:-cc} "${flags[@]}" "$root/tools/kernelgen.c" "$root/src/kernel/generate.c" "$root/src/kernel/signature.c" -o "$out/kernelgen"
objects=()
for noun in hierarchy newton rays; do
    unit=src/kernel/pilot/$noun.k.h
    "$out/kernelgen" "$root/$unit" "$unit" "$out/$noun.c"
    for isa in "portable -DSTET_W=4" "w1 -DSTET_W=1 -mavx2 -mfma" "avx2 -DSTET_W=8 -mavx2 -mfma" \
        "avx512 -DSTET_W=16 -mavx512f -mavx512dq -mavx512bw -mavx512vl -mfma -mprefer-vector-width=512" "f64 -DSTET_W=1 -DSTET_DOUBLE=1"; do
        read -r -a words <<<"$isa"
        ${CC:-cc} "${flags[@]}" "${strict[@]}" -DSTI_ISA="${words[0]}" "${words[@]:1}" -c "$out/$noun.c" -o "$out/$noun.${words[0]}.o"
        objects+=("$out/$noun.${words[0]}.o")
    done
    ${CC:-cc} "${flags[@]}" -c "$out/$noun.c" -o "$out/$noun.o"
    objects+=("$out/$noun.o")
done
${CC:-cc} "${flags[@]}" "$root"/src/base/*.c "$root"/src/device/*.c "$root"/src/device/cpu/*.c "$root/src/kernel/kernel.c" \
    "$root/src/kernel/signature.c" "$root/src/kernel/pilot/pilot.c" "$root/test/gpu/pilot_gpu.c" "${objects[@]}" -o "$out/pilot_gpu" -ldl -lm
"$out/pilot_gpu" "$root" "$root/include" $mode
