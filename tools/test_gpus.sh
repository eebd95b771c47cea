#!/usr/bin/env bash
# What can be checked on a machine with several NVIDIA GPUs: builds the Python package, then compares hashes of one
# process and of one process a GPU, and measures how much of its speed each keeps, and sums of a large gradient
# (bench/scale_ranks.py). Where PyTorch and gymnasium are installed, trains a policy with one process and with one a GPU
# (examples/python/train_ranks.py). Needs NumPy, nanobind and the headers of the Python that is named; no MPI and no
# network, if tools/carry.sh was run before and .carry/ came along.
#
#   tools/test_gpus.sh [FILE]     FILE: where the figures go as JSON
#
# Variables: JOBS; BUILD (default build/gpus); PYTHON (default python3); DEVICES (default cuda:0,cuda:1); WORLDS (of
# each device, default 4096); SAMPLES (default 15); PARTS (of bench/scale_ranks.py, default hashes,scale,gradient);
# UPDATES (of the training, default 60; 0: none).
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build/gpus}
python=$(command -v "${PYTHON:-python3}")
. tools/carried.sh || true # else what the system has
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
mkdir -p "$build"
start=$SECONDS
if ! cmake -S . -B "$build" -DSTET_TESTS=OFF -DSTET_EXAMPLES=OFF -DSTET_PYTHON=ON -DPython_EXECUTABLE="$python" \
        -DMUJOCO_DIR="${MUJOCO_DIR:-}" --log-level=NOTICE >"$build/configure.log" 2>&1 ||
    ! cmake --build "$build" --parallel "${JOBS:-$(nproc)}" --target stet_core >"$build/build.log" 2>&1; then
    grep -hE -A 5 'CMake Error|error:|Error [0-9]' "$build/configure.log" "$build/build.log" | head -n 60
    echo "test-gpus: it does not build (logs in $build)"
    exit 1
fi
echo "test-gpus: built in $((SECONDS - start)) s"
export PYTHONPATH=$build/python${PYTHONPATH:+:$PYTHONPATH}
devices=${DEVICES:-cuda:0,cuda:1}
failed=0
"$python" -B bench/scale_ranks.py --devices "$devices" --worlds "${WORLDS:-4096}" \
    --samples "${SAMPLES:-15}" --parts "${PARTS:-hashes,scale,gradient}" ${1:+--out "$1"} || failed=1

if [ "${UPDATES:-60}" -eq 0 ]; then
    echo "test-gpus: no training was asked for"
elif ! "$python" -c 'import torch, gymnasium' 2>"$build/training.log"; then
    echo "test-gpus: no training: $(tail -n 1 "$build/training.log")"
else
    for n in 1 "$(tr ',' '\n' <<<"$devices" | wc -l)"; do
        start=$SECONDS
        "$python" -B -m torch.distributed.run --standalone --nproc-per-node "$n" examples/python/train_ranks.py \
            --device "${devices%%:*}" --updates "${UPDATES:-60}" || failed=1
        echo "test-gpus: training with $n processes took $((SECONDS - start)) s"
    done
fi
[ $failed -eq 0 ] && echo "test-gpus: all passed" || echo "test-gpus: NOT all passed"
exit $failed
