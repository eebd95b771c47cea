"""What a run over many processes would keep of its speed: a small discrete model, from measured times.

    mpirun -n 2 python3 bench/scale_model.py --measure FILE     (PYTHONPATH=build/python; rank 0 writes FILE)
    python3 bench/scale_model.py FILE [--latency-us 5] [--gigabytes 10] [--processes 1,2,8,64,1000]
    python3 bench/scale_model.py bench/results/h200-scale.json          (a result file of bench/scale_ranks.py)

Measured: the times of single steps of this process's worlds, of a group's smallest call, and of gathering 1 MB a rank.
The model lets each of R ranks draw its steps' times from the measured ones, so that a slow step is as frequent as it
was; where ranks meet, all wait for the slowest. A message costs the latency and its bytes over the bandwidth (measured,
or given: those of another network); an all-gather or a broadcast costs log2(R) messages in a row, and rank 0 takes what
is gathered one after the other. Columns: ranks that meet every tenth of a second (the command without pictures), after
every step (a policy that learns on all), rank 0 that takes a frame of every rank after every step, and a gradient of 4
MB that is summed after every step: two messages to each rank, and the bytes twice. A result file has no times of single
steps: the spread of its samples stands for theirs, and what it measured with its own devices is printed beside.
"""

import argparse
import json
import math
import re
import statistics
import sys
import time

import numpy as np

STEPS, FRAME = 300, 64 * 64 * 4
GRADIENT = 4 * 1_000_000  # bytes; bench/scale_ranks.py sums as many


def measure(file, worlds):
    import stet

    group = stet.Group(worlds * int(_processes()))
    with stet.Sim(stet.scenes / "humanoid.xml", group=group, device="cpu", threads=1, physics="native") as sim:

        def seconds(work, times):
            out = []
            for _ in range(times):
                begun = time.perf_counter()
                work()
                out.append(time.perf_counter() - begun)
            return out

        for frame in range(20):
            sim.control_noise(0.3, frame)
            sim.step(4)
        steps = seconds(lambda: sim.step(4), STEPS)
        group.share(b"x" * 8)
        share = seconds(lambda: group.share(b"x" * 8), 200)
        block = np.zeros((worlds, (1 << 20) // worlds), np.uint8)
        gather = seconds(lambda: group.gather(block), 20)
    if group.rank == 0:
        with open(file, "w", encoding="utf-8") as f:
            json.dump({"nrank": group.nrank, "worlds": worlds, "steps": steps, "call_seconds": statistics.median(share),
                       "gather_seconds": statistics.median(gather), "gather_bytes": block.nbytes}, f)  # fmt: skip


def _processes():
    import os

    for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE"):
        if os.environ.get(name):
            return os.environ[name]
    sys.exit("scale_model: start it with mpirun -n R")


def calibrate(result):
    """What `measure` finds, of a result file; and the efficiencies that it has itself, by name."""
    rows = {row["name"].split("/", 2)[2]: row for row in result["results"]}
    worlds, rate = map(float, re.match(r"(\d+) worlds a device: (\d+) world steps/s of one",
                                       rows["physics/efficiency"]["note"]).groups())  # fmt: skip
    spread, seconds = rows["physics/efficiency"]["samples"], 4 * worlds / rate  # four time steps a step
    found = {"worlds": int(worlds), "steps": [seconds * statistics.median(spread) / one for one in spread],
             "call_seconds": 1e-3 * rows["gradient_sum/of_one_number"]["value"],
             "gather_seconds": 1e-3 * rows["gathered"]["value"], "gather_bytes": worlds * FRAME}  # fmt: skip
    return found, {name: rows[f"{name}/efficiency"]["value"] for name in ("physics", "gradients")}


def model(found, latency, bandwidth, counts, steps=400, seed=1):
    """Rows (R, …) of efficiencies."""
    random = np.random.default_rng(seed)
    samples, rows = np.array(found["steps"]), []
    bytes_of_frame = found["worlds"] * FRAME
    each = max(1, int(0.1 / samples.mean()))  # steps between two agreements
    for count in counts:
        times = random.choice(samples, (steps, count))
        hops = math.ceil(math.log2(count)) if count > 1 else 0
        call = hops * latency + count * 16 / bandwidth  # the comparison before a call
        alone = times[:, 0].sum()
        blocks = [times[k : k + each].sum(axis=0).max() for k in range(0, steps, each)]
        free = sum(blocks) + len(blocks) * 2 * call
        meet = times.max(axis=1).sum() + steps * 2 * call
        gathered = meet + steps * (count - 1) * (latency + bytes_of_frame / bandwidth) if count > 1 else meet
        others = (count - 1) * (latency + GRADIENT / count / bandwidth)
        rows.append((count, alone / free, alone / meet, alone / gathered, alone / (meet + steps * 2 * others)))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--worlds", type=int, default=64, help="of each process")
    parser.add_argument("--latency-us", type=float)
    parser.add_argument("--gigabytes", type=float, help="a second, between two processes")
    parser.add_argument("--processes", default="1,2,4,8,64,256,1000")
    o = parser.parse_args()
    if o.measure:
        return measure(o.file, o.worlds)
    with open(o.file, encoding="utf-8") as f:
        found, own = json.load(f), {}
    if "results" in found:
        print(f"{found['machine']}, commit {found['commit'][:12]}")
        found, own = calibrate(found)
    latency, bandwidth = found["call_seconds"] / 2, found["gather_bytes"] / found["gather_seconds"]
    if o.latency_us:
        latency = 1e-6 * o.latency_us
    if o.gigabytes:
        bandwidth = 1e9 * o.gigabytes
    steps = np.array(found["steps"])
    print(f"a step of {found['worlds']} worlds: median {1e3 * np.median(steps):.3g} ms, 99 % below "
          f"{1e3 * np.quantile(steps, 0.99):.3g} ms; a message {1e6 * latency:.3g} us, {bandwidth / 1e9:.3g} GB/s")
    print("processes   every 0.1 s   every step   frames to rank 0   gradient every step")
    for count, *columns in model(found, latency, bandwidth, [int(n) for n in o.processes.split(",")]):
        print(f"{count:9}   {columns[0]:11.3f}   {columns[1]:10.3f}   {columns[2]:16.3f}   {columns[3]:19.3f}")
    if own:
        print(f"measured: physics {own['physics']:.3f}, which meets after 10 steps; gradients {own['gradients']:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
