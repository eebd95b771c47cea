#!/usr/bin/env bash
# What can be checked on a machine with several NVIDIA GPUs: builds the Python package, then compares hashes of one
# process and of one process a GPU, and measures how much of its speed each keeps, and sums of a large gradient
# (bench/scale_ranks.py). Where PyTorch and gymnasium are installed, trains policies with one process and with one a GPU
# (examples/python/train_ranks.py). Needs NumPy, nanobind and the headers of the Python that is named; no MPI and no
# network, if tools/carry.sh was run before and .carry/ came along.
#
#   tools/test_gpus.sh [FILE]     FILE: where the figures go as JSON
#
# Variables: JOBS; BUILD (default build/gpus); PACKAGE (a folder with the package, if it is built already); PYTHON
# (default python3); DEVICES (default cuda:0,cuda:1); WORLDS (of each device, default 4096); SAMPLES (default 15); PARTS
# (of bench/scale_ranks.py, default all); LIMIT (seconds that each of these, and each training, may take, default 200);
# TASKS (of the training, default "cartpole hand"; empty: none), PROCESSES (of each, default 1 and as many as devices),
# UPDATES (of each, default 60); HANDS (of each device, default 2048).
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build/gpus}
python=$(command -v "${PYTHON:-python3}")
limit=${LIMIT:-200}
. tools/carried.sh || true # else what the system has
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
mkdir -p "$build"
start=$SECONDS
if [ -n "${PACKAGE:-}" ]; then
    echo "test-gpus: the package of $PACKAGE"
elif ! cmake -S . -B "$build" -DSTET_TESTS=OFF -DSTET_EXAMPLES=OFF -DSTET_PYTHON=ON -DPython_EXECUTABLE="$python" \
        -DMUJOCO_DIR="${MUJOCO_DIR:-}" --log-level=NOTICE >"$build/configure.log" 2>&1 ||
    ! cmake --build "$build" --parallel "${JOBS:-$(nproc)}" --target stet_core >"$build/build.log" 2>&1; then
    grep -hE -A 5 'CMake Error|error:|Error [0-9]' "$build/configure.log" "$build/build.log" | head -n 60
    echo "test-gpus: it does not build (logs in $build)"
    exit 1
else
    echo "test-gpus: built in $((SECONDS - start)) s"
fi
export PYTHONPATH=${PACKAGE:-$build/python}${PYTHONPATH:+:$PYTHONPATH}
devices=${DEVICES:-cuda:0,cuda:1}
failed=0

run() { # run WHAT COMMAND…
    local what=$1 start=$SECONDS status=0
    shift
    timeout "$limit" "$@" || status=$?
    [ $status -eq 0 ] || failed=1
    [ $status -ne 124 ] || echo "test-gpus: $what did not end in $limit s"
    echo "test-gpus: $what took $((SECONDS - start)) s"
}

parts=${PARTS-hashes,gradient,scale,ppo}
[ -z "$parts" ] || run "$parts" "$python" -B bench/scale_ranks.py --devices "$devices" --worlds "${WORLDS:-4096}" \
    --samples "${SAMPLES:-15}" --hands "${HANDS:-2048}" --parts "$parts" ${1:+--out "$1"}

if ! "$python" -c 'import torch, gymnasium' 2>"$build/training.log"; then
    echo "test-gpus: no training: $(tail -n 1 "$build/training.log")"
else
    for task in ${TASKS-cartpole hand}; do
        for n in ${PROCESSES:-1 $(tr ',' '\n' <<<"$devices" | wc -l)}; do
            worlds=1024
            [ "$task" = cartpole ] || worlds=$((n * ${HANDS:-2048}))
            run "training of the $task with $n processes" "$python" -B -m torch.distributed.run --standalone \
                --nproc-per-node "$n" examples/python/train_ranks.py --device "${devices%%[:,]*}" --task "$task" \
                --worlds "$worlds" --updates "${UPDATES:-60}"
        done
    done
fi
[ $failed -eq 0 ] && echo "test-gpus: all passed" || echo "test-gpus: NOT all passed"
exit $failed
