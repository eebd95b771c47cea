#!/usr/bin/env bash
# Checks a wheel: installs it into a fresh environment, and uses it there without a compiler: the command, README's
# lines of Python, steps of environments.
#
#   tools/check_wheel.sh FOLDER PYTHON
#
# FOLDER has wheels, of which PYTHON takes what fits. NumPy and gymnasium are those of PYTHON. Exit code 77: no wheel
# fits.
set -eu
source_dir=$(cd "$(dirname "$0")/.." && pwd)
folder=$1
python=$2

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$python" -m venv "$scratch/venv"
pip=("$scratch/venv/bin/python" -m pip --disable-pip-version-check --quiet)
"${pip[@]}" install --no-index --no-deps --find-links "$folder" stet 2>"$scratch/said" || {
    echo "check_wheel: none fits $("$python" --version) ('make wheel' makes one): $(tail -1 "$scratch/said")"
    exit 77
}
site=$(echo "$scratch"/venv/lib/python*/site-packages)
"$python" -c 'import numpy; print(numpy.__path__[0].rsplit("/", 1)[0])' >"$site/others.pth"
ln -s "$site/stet/scenes" "$scratch/scenes"

if [ -n "${STET_GPU_CODE-default}" ] && ! ls "$site"/stet/gpu_code/*.kernel >/dev/null 2>&1; then
    echo "check_wheel: it has no code for GPUs (gpu_code); 'make wheel' makes it, but where STET_GPU_CODE is empty"
    exit 1
fi

# Nothing of the system is on the path, so no compiler either.
alone() { (cd "$scratch" && env -i HOME="$scratch" PATH="$scratch/venv/bin" "$@"); }

alone stet --version | grep -q '^stet [0-9]' || { echo "check_wheel: stet --version says something else"; exit 1; }
alone stet run scenes/hand.xml --worlds 4 --frames 2 --control noise --out pictures >/dev/null
echo "check_wheel: the command runs"
awk '/^## Your own model/ {on = 1} on && /^```$/ {exit} on && code {print} on && /^```python/ {code = 1}' \
    "$source_dir/README.md" >"$scratch/lines.py"
alone python lines.py | grep -q '^(64, '
echo "check_wheel: README's lines for a model of one's own run"
alone python - <<'END'
import stet, sys
assert stet.__file__.startswith(sys.prefix), stet.__file__
try:
    import stet.gym
except ModuleNotFoundError as error:
    sys.exit(print("check_wheel: without environments:", error))
for task in stet.gym.CartPoleVectorEnv, stet.gym.mujoco.HalfCheetahVectorEnv:
    envs = task(8, "cpu")
    envs.reset(seed=1)
    assert envs.step(envs.action_space.sample())[1].shape == (8,)
    envs.close()
print("check_wheel: environments run without a compiler")
END
