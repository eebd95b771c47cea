"""Native physics on a GPU beside mujoco_warp, in turns on one machine.

    python3 bench/physics_warp.py [--stet build/stet] [--scenes humanoid,cartpole] [--worlds 1024,8192,65536]
    [--steps 500] [--samples 3] [--contacts 64] [--rows 256] [--compiled] [--out FILE]

Both step the same file from its first keyframe under noise on the controls. mujoco_warp's time is what its own
benchmark (mujoco_warp.testspeed, of the package of that name) measures: a graph of one step, launched and waited for.
stet's is the device's time of its steps, five a frame. A scene is a name in scenes/ or a file. Compiling is in neither,
and in the notes; --compiled: both ran here before, and compiling is left out. --contacts and --rows are mujoco_warp's
capacities a world; it ends where they do not suffice. stet has none that a user sets; worlds that had no room for a
contact are counted in the notes. FILE has what is measured so far.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

from origin import write

ROOT = Path(__file__).parents[1]
GOALS = [(1225, 8.0), (8192, 4.0), (65536, 3.0)]  # worlds up to this number
SUBSTEPS = 5

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--stet", default=str(ROOT / "build" / "stet"))
parser.add_argument("--scenes", default="humanoid,cartpole")
parser.add_argument("--worlds", default="1024,8192,65536")
parser.add_argument("--steps", type=int, default=500)
parser.add_argument("--samples", type=int, default=3)
parser.add_argument("--noise", type=float, default=0.3)
parser.add_argument("--contacts", type=int, default=64)
parser.add_argument("--rows", type=int, default=256)
parser.add_argument("--compiled", action="store_true")
parser.add_argument("--out")
options = parser.parse_args()


def output(command):
    """What a command writes; it ends the benchmark if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout[-500:]}{done.stderr[-2000:]}")
    return done.stdout


def run_stet(scene, worlds, steps):
    command = [options.stet, "run", scene, "--device", "cuda", "--physics", "native", "--worlds", worlds, "--frames",
               max(1, steps // SUBSTEPS), "--substeps", SUBSTEPS, "--control", f"noise:{options.noise}",
               "--output", "none", "--profile", "--json"]
    report = json.loads(output(list(map(str, command))))
    kernels = report["profile"]["kernels"] + report["profile"]["recordings"]
    step = next(k for k in kernels if "k_native_step" in json.dumps(k))
    faults = {name: count for name, count in report["faults"].items() if count}
    return step["device_seconds"] / step["calls"] / SUBSTEPS / worlds * 1e9, report["device"], faults


def run_warp(scene, worlds, steps):
    command = [sys.executable, "-m", "mujoco_warp.testspeed", str(scene), f"--nworld={worlds}", f"--nstep={steps}",
               f"--nconmax={options.contacts}", f"--njmax={options.rows}", f"--noise_std={options.noise}",
               "--format=json"]
    report = json.loads(output(list(map(str, command))).strip().splitlines()[-1])
    return 1e9 / report["steps_per_second"], report


def compile_first(scene, worlds):
    """Seconds of a first step of each, from what each keeps of earlier runs."""
    seconds = []
    for run in (run_stet, run_warp):
        begun = time.perf_counter()
        run(scene, worlds, SUBSTEPS)
        seconds.append(time.perf_counter() - begun)
    return seconds


def find(scene):
    """The name in rows, and the file, of what --scenes names."""
    path = Path(scene)
    if path.suffix != ".xml":
        return scene, ROOT / "scenes" / f"{scene}.xml"
    return path.parent.name if path.stem == "scene" else path.stem, path


def measure(scene, worlds):
    scene, path = find(scene)
    first = ""
    if not options.compiled:
        first = "first steps {:.1f} and {:.1f} s; ".format(*compile_first(path, worlds))
    ours, theirs = [], []
    for _ in range(options.samples):
        ns, device, faults = run_stet(path, worlds, options.steps)
        ours.append(ns)
        ns, report = run_warp(path, worlds, options.steps)
        theirs.append(ns)
    samples = [b / a for a, b in zip(ours, theirs)]
    goal = next((goal for most, goal in GOALS if worlds <= most), None)
    note = (f"{statistics.median(ours):.1f} ns a world and step, mujoco_warp {statistics.median(theirs):.1f}; "
            f"{options.steps} steps; {first}mujoco_warp: "
            f"{report['ncon_mean']:.1f} contacts a world, at most {report['nefc_mean']:.1f} rows, "
            f"{report['solver_niter_mean']:.1f} iterations, {report['total_memory'] / worlds / 1024:.1f} KiB a world; "
            f"worlds of stet's with faults: {faults or 0}")
    print(f"{scene} {worlds}: {statistics.median(samples):.2f} times; {note}", flush=True)
    return device, {"name": f"physics/{scene}/cuda/{worlds}/ratio_to_mujoco_warp", "value": statistics.median(samples),
                    "unit": "times", "better": "higher", "goal": goal, "samples": samples, "note": note}


def main():
    rows, device = [], ""
    for scene in options.scenes.split(","):
        for worlds in map(int, options.worlds.split(",")):
            device, row = measure(scene, worlds)
            rows.append(row)
            if options.out:
                write(options.out, device, rows)


main()
