"""Several processes, each with a device and a block of a run's worlds: the same bits, and how much of its speed each
keeps while the others work (weak scaling).

    PYTHONPATH=build/python python3 bench/scale_ranks.py --devices cuda:0,cuda:1 [--worlds 4096] [--samples 7]
    [--out FILE]

Needs NumPy alone: processes are started here, and bytes cross through pipes. First the hashes of state and pictures of
one process on the first device, of one process a device with uneven blocks, and of a mixture with a process on the CPU
are compared: they must be equal. Then each rank's worlds are timed in turns, alone (the other ranks wait) and together;
the efficiency is the slowest rank's time alone over the time together. A barrier is part of both.
"""

import argparse
import json
import multiprocessing
import statistics
import sys
import time
import traceback

import numpy as np
from origin import commit, machine

import stet

CHECKED = 37  # worlds of the comparison of hashes


class Pipes:
    """A transport between processes of one machine: a pipe for each pair."""

    def __init__(self, rank, ends):
        self.rank, self.nrank, self._ends = rank, len(ends), ends

    def send(self, data, to):
        self._ends[to].send_bytes(data)

    def receive(self, size, source):
        data = self._ends[source].recv_bytes()
        assert len(data) == size
        return data

    def all_gather(self, data):
        if self.rank == 0:
            parts = [data] + [self.receive(len(data), source) for source in range(1, self.nrank)]
            return self.broadcast(b"".join(parts), 0)
        self.send(data, 0)
        return self.receive(len(data) * self.nrank, 0)

    def broadcast(self, data, root):
        if self.rank != root:
            return self.receive(len(data), root)
        for to in range(self.nrank):
            if to != root:
                self.send(data, to)
        return data


def ranks(devices, body, *arguments):
    """What body(transport, device, …) returns in each process; the exception of one that fails."""
    context = multiprocessing.get_context("spawn")
    count = len(devices)
    ends = [[None] * count for _ in range(count)]
    for a in range(count):
        for b in range(a):
            ends[a][b], ends[b][a] = context.Pipe()
    answers = [context.Pipe() for _ in range(count)]
    processes = [
        context.Process(target=_rank, args=(rank, ends[rank], answers[rank][1], device, body, arguments))
        for rank, device in enumerate(devices)
    ]
    for process in processes:
        process.start()
    for _, end in answers:
        end.close()
    out = []
    for rank, (end, _) in enumerate(answers):
        try:
            out.append(end.recv())
        except EOFError:
            out.append(RuntimeError(f"rank {rank} ended without an answer"))
    for process in processes:
        process.join()
    for one in out:
        if isinstance(one, Exception):
            sys.exit(f"scale_ranks: {one}")
    return out


def _rank(rank, ends, answer, device, body, arguments):
    try:
        answer.send(body(Pipes(rank, ends), device, *arguments))
    except Exception as error:
        traceback.print_exc()
        answer.send(RuntimeError(f"rank {rank} on {device}: {error}"))


# ---- the same bits ---------------------------------------------------------------------------------------------------


def hashes(transport, device, blocks):
    group = stet.Group(CHECKED, transport, own=blocks[transport.rank])
    options = {"device": device, "outputs": ("rgb", "depth"), "width": 32, "height": 24, "seed": 3, "physics": "native"}
    with stet.Sim(stet.scenes / "quadruped.xml", group=group, **options) as sim:
        sim.reset(qpos_noise=0.05)
        for frame in range(10):
            sim.control_noise(0.4, frame)
            sim.step(5)
        sim.render()
        total = group.sum(sim.qpos)
        return f"{group.hash(sim):016x}", f"{group.hash_frame(sim):016x}", total.tobytes().hex()


def compare(devices):
    count = len(devices)
    blocks = [CHECKED // count + 3] + [CHECKED // count] * (count - 2) + [0]
    blocks[-1] = CHECKED - sum(blocks)
    found = {
        f"1 process on {devices[0]}": ranks(devices[:1], hashes, [CHECKED]),
        f"{count} processes on {', '.join(devices)}": ranks(devices, hashes, blocks),
        f"2 processes on cpu, {devices[-1]}": ranks(["cpu", devices[-1]], hashes, [5, CHECKED - 5]),
    }
    one = next(iter(found.values()))[0]
    for what, all_of_them in found.items():
        good = all(got == one for got in all_of_them)
        print(f"{what}: state {all_of_them[0][0]}, frame {all_of_them[0][1]}: {'equal' if good else 'NOT EQUAL'}")
        if not good:
            sys.exit("scale_ranks: other bits")
    return one[:2]


# ---- weak scaling ----------------------------------------------------------------------------------------------------


def timed(transport, device, worlds, samples):
    """Seconds of each work, [sample]: alone, together."""
    group = stet.Group(worlds * transport.nrank, transport)
    options = {"device": device, "outputs": "depth", "width": 64, "height": 64, "physics": "native"}
    out = {}
    with stet.Sim(stet.scenes / "humanoid.xml", group=group, **options) as sim:

        def physics(frames=10):
            for frame in range(frames):
                sim.control_noise(0.3, frame)
                sim.step(4)
            sim.synchronize()

        def frames():
            for frame in range(5):
                sim.control_noise(0.3, frame)
                sim.step(4)
                sim.render()
            sim.synchronize()

        def sums():
            group.sum(sim.qvel)

        def gathered():
            group.gather(sim.read("depth"))

        def seconds(work):
            begun = time.perf_counter()
            work()
            group.share(b"")
            return time.perf_counter() - begun

        for work in (physics, frames):
            work()
            alone, together = [], []
            for _ in range(samples):
                for rank in range(group.nrank):
                    group.share(b"")
                    took = seconds(work if rank == group.rank else lambda: None)
                    if rank == group.rank:
                        alone.append(took)
                group.share(b"")
                together.append(seconds(work))
            out[work.__name__] = alone, together
        for work in (sums, gathered):
            work()
            group.share(b"")
            out[work.__name__] = [seconds(work) for _ in range(samples)]
    return out


def scale(devices, worlds, samples):
    found, rows = ranks(devices, timed, worlds, samples), []
    for what in ("physics", "frames"):
        alone = [max(rank[what][0][k] for rank in found) for k in range(samples)]
        together = [max(rank[what][1][k] for rank in found) for k in range(samples)]
        ratio = [a / b for a, b in zip(alone, together)]
        steps = (40 if what == "physics" else 20) * worlds
        rows.append({
            "name": f"scale/{len(devices)}_devices/{what}/efficiency", "value": statistics.median(ratio),
            "unit": "times", "better": "higher", "goal": 0.97, "samples": ratio,
            "note": f"{worlds} worlds a device: {steps / statistics.median(alone):.0f} world steps/s of one, "
                    f"{steps * len(devices) / statistics.median(together):.0f} of all",
        })  # fmt: skip
    for what, bytes_each in (("sums", worlds * 27 * 8), ("gathered", worlds * 64 * 64 * 4)):
        seconds = [max(rank[what][k] for rank in found) for k in range(samples)]
        rows.append({
            "name": f"scale/{len(devices)}_devices/{what}", "value": 1e3 * statistics.median(seconds), "unit": "ms",
            "better": "lower", "goal": None, "samples": [1e3 * s for s in seconds],
            "note": f"{bytes_each / 1e6:.1f} MB a rank, through host memory and pipes",
        })  # fmt: skip
    for row in rows:
        print(f"{row['name']:<40} {row['value']:8.3f} {row['unit']:<6} {row['note']}")
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", default="cpu,cpu")
    parser.add_argument("--worlds", type=int, default=4096)
    parser.add_argument("--samples", type=int, default=7)
    parser.add_argument("--out")
    o = parser.parse_args()
    devices = o.devices.split(",")
    state, frame = compare(devices)
    rows = scale(devices, o.worlds, o.samples)
    if o.out:
        with open(o.out, "w", encoding="utf-8") as f:
            json.dump({"commit": commit(), "machine": machine(o.devices), "devices": devices, "state_hash": state,
                       "frame_hash": frame, "rows": rows}, f, indent=2)  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
