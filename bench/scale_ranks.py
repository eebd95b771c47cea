"""Several processes, each with a device and a block of a run's worlds: the same bits, and how much of its speed each
keeps while the others work (weak scaling).

    PYTHONPATH=build/python python3 bench/scale_ranks.py --devices cuda:0,cuda:1 [--worlds 4096] [--samples 7]
    [--parts hashes,gradient,scale,ppo] [--out FILE]

Needs NumPy, for what learns also PyTorch and gymnasium: processes are started here, and bytes cross through pipes;
between GPUs arrays cross by NCCL, where it is found. First the hashes of state and pictures, sums and gathered pictures
of one process on the first device, of one process a device with uneven blocks, and of mixtures with processes on the
CPU are compared: they must be equal. The sum of a gradient of 100 MB is compared with NumPy's, special numbers
included, and timed with its parts, and where PyTorch is installed NCCL's own all-reduce of as much, in turns in the
same processes. Then each rank's worlds are timed in turns, alone (the other ranks wait) and together; the efficiency is
the slowest rank's time alone over the time together. A barrier is part of both. So are updates of
examples/python/train_hand.py, alone by the policy itself, together by DistributedDataParallel.
"""

import argparse
import importlib.util
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
import traceback
import zlib
from pathlib import Path

import numpy as np
from origin import machine, write

import stet

CHECKED = 37  # worlds of the comparison of hashes
GRADIENT = 25_000_000  # numbers of the gradient that is summed
POLICY = 1_000_000  # numbers of one that is summed between steps
HANDS = 2048  # of each device, that are taught
WARM = 400  # steps before anything is timed: while humanoids fall, a step costs more from one to the next


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
    for end in [end for row in ends for end in row if end] + [end for _, end in answers]:
        end.close()  # so that who waits for a process that has ended gets an EOFError
    out = []
    for rank, (end, _) in enumerate(answers):
        try:
            out.append(end.recv())
        except EOFError:
            out.append(RuntimeError(f"rank {rank} ended without an answer"))
    for process in processes:
        process.join()
    failed = [str(one) for one in out if isinstance(one, Exception)]
    if failed:
        sys.exit(f"scale_ranks: {'; '.join(failed)}")
    return out


def _rank(rank, ends, answer, device, body, arguments):
    try:
        answer.send(body(Pipes(rank, ends), device, *arguments))
    except Exception as error:
        traceback.print_exc()
        answer.send(RuntimeError(f"rank {rank} on {device}: {type(error).__name__}: {error}"))


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
        link, total = group.link(sim), group.sum(sim.qpos)
        reduced = sim.zeros(total.shape)
        group.reduce(sim.qpos, reduced)
        everything = sim.zeros((CHECKED, 24, 32)) if group.rank == 0 else None
        group.gather_array(sim.tensor("depth"), everything)
        pictures = [0 if everything is None else zlib.crc32(everything.numpy().tobytes())]
        pictures = group.share(pictures[0].to_bytes(4, "little"))[0].hex()
        bits = total.tobytes().hex() + reduced.numpy().tobytes().hex() + pictures
        return f"{group.hash(sim):016x}", f"{group.hash_frame(sim):016x}", bits, link


def compare(devices):
    count = len(devices)
    blocks = [CHECKED // count + 3] + [CHECKED // count] * (count - 2) + [0]
    blocks[-1] = CHECKED - sum(blocks)
    found = {
        f"1 process on {devices[0]}": ranks(devices[:1], hashes, [CHECKED]),
        f"{count} processes on {', '.join(devices)}": ranks(devices, hashes, blocks),
        f"2 processes on cpu, {devices[-1]}": ranks(["cpu", devices[-1]], hashes, [5, CHECKED - 5]),
        "3 processes on cpu": ranks(["cpu"] * 3, hashes, [5, 16, CHECKED - 21]),
    }
    one = next(iter(found.values()))[0]
    for what, all_of_them in found.items():
        good = all(got[:3] == one[:3] for got in all_of_them)
        print(f"{what}: state {all_of_them[0][0]}, frame {all_of_them[0][1]}: {'equal' if good else 'NOT EQUAL'}; "
              f"arrays by {all_of_them[0][3]}")  # fmt: skip
        if not good:
            sys.exit("scale_ranks: other bits")
    return one[:2]


# ---- weak scaling ----------------------------------------------------------------------------------------------------


def seconds(group, work, alone=False):
    begun = time.perf_counter()
    work(alone)
    group.share(b"")
    return time.perf_counter() - begun


def in_turns(group, work, samples):
    """Seconds of work(True), while the other ranks wait, and of work(False) with all ranks."""
    work(False)
    work(True)
    alone, together = [], []
    for _ in range(samples):
        for rank in range(group.nrank):
            group.share(b"")
            took = seconds(group, work if rank == group.rank else lambda alone: None, True)
            if rank == group.rank:
                alone.append(took)
        group.share(b"")
        together.append(seconds(group, work))
    return alone, together


def efficiency(devices, what, found, samples, note):
    """The row of it; found: what in_turns gave on each rank."""
    alone = [max(rank[0][k] for rank in found) for k in range(samples)]
    together = [max(rank[1][k] for rank in found) for k in range(samples)]
    ratio = [a / b for a, b in zip(alone, together)]
    return {
        "name": f"scale/{len(devices)}_devices/{what}/efficiency", "value": statistics.median(ratio), "unit": "times",
        "better": "higher", "goal": 0.97, "samples": ratio,
        "note": note(statistics.median(alone), statistics.median(together)),
    }  # fmt: skip


def timed(transport, device, worlds, samples):
    """Seconds of each work, [sample]: alone, together; and what arrays cross by."""
    group = stet.Group(worlds * transport.nrank, transport)
    parts = {False: stet.Group(transport.nrank, transport), True: stet.Group(1, Pipes(0, [None]))}  # alone: itself
    options = {"device": device, "outputs": "depth", "width": 64, "height": 64, "physics": "native"}
    out = {}
    with stet.Sim(stet.scenes / "humanoid.xml", group=group, **options) as sim:
        link = [one.link(sim) for one in (group, *parts.values())][0]
        gradient, total = sim.zeros((1, POLICY)), sim.zeros(POLICY)
        everything = sim.zeros((group.worlds, 64, 64)) if group.rank == 0 else None

        def physics(alone):
            for frame in range(10):
                sim.control_noise(0.3, frame)
                sim.step(4)
            sim.synchronize()

        def gradients(alone):
            for frame in range(10):
                sim.control_noise(0.3, frame)
                sim.step(4)
                parts[alone].reduce(gradient, total)
            sim.synchronize()

        def beside(alone):
            for frame in range(10):
                sim.control_noise(0.3, frame)
                sim.step(4)
                parts[alone].wait(sim)
                parts[alone].reduce(gradient, total, wait=False)
            parts[alone].wait(sim)
            sim.synchronize()

        def frames(alone):
            for frame in range(5):
                sim.control_noise(0.3, frame)
                sim.step(4)
                sim.render()
            sim.synchronize()

        def sums(alone):
            group.sum(sim.qvel)

        def gathered(alone):
            group.gather_array(sim.tensor("depth"), everything)
            sim.synchronize()

        for _ in range(WARM // 40):
            physics(False)
        for work in (physics, gradients, beside, frames):
            out[work.__name__] = in_turns(group, work, samples)
        for work in (sums, gathered):
            work(False)
            group.share(b"")
            out[work.__name__] = [seconds(group, work) for _ in range(samples)]
    return out, link


def scale(devices, worlds, samples):
    found, rows = ranks(devices, timed, worlds, samples), []
    link, found = found[0][1], [one for one, _ in found]
    for what in ("physics", "gradients", "beside", "frames"):
        steps = (20 if what == "frames" else 40) * worlds
        rows.append(efficiency(devices, what, [rank[what] for rank in found], samples, lambda alone, together: (
            f"{worlds} worlds a device: {steps / alone:.0f} world steps/s of one, "
            f"{steps * len(devices) / together:.0f} of all")))  # fmt: skip
    for what, bytes_each, by in (
        ("sums", worlds * 27 * 8, "host memory and pipes"),
        ("gathered", worlds * 64 * 64 * 4, link),
    ):
        times = [max(rank[what][k] for rank in found) for k in range(samples)]
        rows.append({
            "name": f"scale/{len(devices)}_devices/{what}", "value": 1e3 * statistics.median(times), "unit": "ms",
            "better": "lower", "goal": None, "samples": [1e3 * s for s in times],
            "note": f"{bytes_each / 1e6:.1f} MB a rank, by {by}",
        })  # fmt: skip
    return rows


# ---- learning --------------------------------------------------------------------------------------------------------


def taught(transport, device, worlds, samples, file):
    """Seconds of an update of the hand's policy: alone, together; and the steps of a world in one."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "python"))
    import torch
    import torch.distributed as dist
    import train_cartpole as learner
    import train_hand as task

    gpu = device.startswith("cuda")
    if gpu:
        torch.cuda.set_device(device)
        torch.cuda.set_stream(torch.cuda.Stream(device))
    dist.init_process_group("nccl" if gpu else "gloo", init_method=f"file://{file}", rank=transport.rank,
                            world_size=transport.nrank)  # fmt: skip
    group = stet.Group(worlds * transport.nrank, transport)
    torch.manual_seed(1)
    policy = task.Policy().to(device)
    both = torch.nn.parallel.DistributedDataParallel(policy)
    env = task.environment(worlds, device)
    env.reset(seed=1 + group.rank)
    learner.use_stream(env, torch.device(device))
    rollouts = {True: learner.Rollouts(env, policy), False: learner.Rollouts(env, both)}
    optimizer = torch.optim.Adam(policy.parameters(), task.RATE)

    def update(alone):
        learner.update(policy if alone else both, optimizer, rollouts[alone].run())
        if gpu:
            torch.cuda.synchronize()

    found = in_turns(group, update, samples)
    env.close()
    dist.destroy_process_group()
    return found, learner.STEPS


def ppo(devices, worlds, samples):
    missing = [name for name in ("torch", "gymnasium") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"scale_ranks: no ppo: {' and '.join(missing)} not installed")
        return []
    with tempfile.TemporaryDirectory() as folder:
        found = ranks(devices, taught, worlds, samples, os.path.join(folder, "store"))
    steps = found[0][1] * worlds
    return [efficiency(devices, "ppo", [rank for rank, _ in found], samples, lambda alone, together: (
        f"{worlds} hands a device: {steps / alone:.0f} steps/s of one, learning included, "
        f"{steps * len(devices) / together:.0f} of all"))]  # fmt: skip


# ---- a large gradient ------------------------------------------------------------------------------------------------


SPECIAL = [0, 0x80000000, 1, 0x80000001, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001, 0x7FFFFFFF, 0x7FC12345]


def numbers(rank, count):
    """A rank's gradient. The first ones are special, in all pairs of two ranks: zeros, denormals, infinities, NaN."""
    values = np.random.default_rng(5 + rank).normal(size=count).astype(np.float32)
    bits = np.array(SPECIAL, np.uint32).view(np.float32)
    values[: bits.size**2] = np.tile(bits, bits.size) if rank % 2 else np.repeat(bits, bits.size)
    return values


def tree_sum(values):
    """In the order of stet's sums over worlds, with its bits of NaN."""
    with np.errstate(invalid="ignore"):
        while len(values) > 1:
            values = [sum(values[k + 1 : k + 2], values[k]) for k in range(0, len(values), 2)]
    return np.where(np.isnan(values[0]), np.float32(np.nan), values[0])


def nccl_alone(rank, nrank, device, file, values):
    """NCCL without stet, in functions that do their work some times and wait: its own all-reduce, and the messages of
    stet's sum of more than two ranks; also the tensor that is reduced. Without PyTorch, or on a CPU: nothing.
    """
    if not device.startswith("cuda") or importlib.util.find_spec("torch") is None:
        return {}, None
    import torch
    import torch.distributed as dist

    torch.cuda.set_device(device)
    dist.init_process_group("nccl", init_method=f"file://{file}", rank=rank, world_size=nrank)
    tensor, parts = torch.from_numpy(values).to(device), torch.empty(len(values), device=device)

    def add(times):
        for _ in range(times):
            dist.all_reduce(tensor)
        torch.cuda.synchronize()

    def messages(times):
        share = len(values) // nrank
        others = [r for r in range(nrank) if r != rank]
        for _ in range(2 * times):  # nodes, then sums
            for one in dist.batch_isend_irecv(
                [dist.P2POp(dist.isend, tensor[r * share : (r + 1) * share], r) for r in others]
                + [dist.P2POp(dist.irecv, parts[r * share : (r + 1) * share], r) for r in others]
            ):
                one.wait()
        torch.cuda.synchronize()

    def adding(times):
        share = len(values) // nrank
        for _ in range(times):
            for r in range(1, nrank):
                torch.add(tensor[:share], parts[r * share : (r + 1) * share], out=parts[:share])
        torch.cuda.synchronize()

    return {"all_reduce": add, "messages": messages, "adding": adding}, tensor


def large(transport, device, samples, file):
    """Seconds of one sum by stet and of its parts, {name: [sample]}; what stet's arrays cross by; the numbers."""
    rank, nrank, count = transport.rank, transport.nrank, GRADIENT if device.startswith("cuda") else GRADIENT // 100
    values = numbers(rank, count)
    alone, tensor = nccl_alone(rank, nrank, device, file, values)
    meeting = stet.Group(nrank, transport)
    group = stet.Group(nrank, transport)
    with stet.Sim(stet.scenes / "cartpole.xml", worlds=1, device=device) as sim:
        gradient, total = sim.zeros((1, count)), sim.zeros(count)
        one, total_of_one = sim.zeros((1, 1)), sim.zeros(1)
        gradient.write(values[None])
        link = group.link(sim)

        def reducing(own, out):
            def reduce(times):
                for _ in range(times):
                    group.reduce(own, out)
                sim.synchronize()

            return reduce

        def compare_calls(times):
            for _ in range(times // 2):
                meeting.share(b"")  # two all-gathers

        works = {"sum": reducing(gradient, total), "sum/of_one_number": reducing(one, total_of_one),
                 "sum/comparison": compare_calls}  # fmt: skip
        works["sum"](1)
        if total.numpy().tobytes() != tree_sum([numbers(r, count) for r in range(nrank)]).tobytes():
            raise ValueError("the sum has other bits than NumPy's")
        if tensor is not None:
            alone["all_reduce"](1)
            tensor.zero_()
        seconds = {name: [] for name in works | alone}
        for sample in range(samples + 1):  # the first one warms up
            for name, work in (works | alone).items():
                meeting.share(b"")
                begun = time.perf_counter()
                work(10)
                meeting.share(b"")
                if sample > 0:
                    seconds[name].append((time.perf_counter() - begun) / 10)
    return seconds, link, count


def gradient(devices, samples):
    with tempfile.TemporaryDirectory() as folder:
        found = ranks(devices, large, samples, os.path.join(folder, "store"))
    seconds = {name: [max(rank[0][name][k] for rank in found) for k in range(samples)] for name in found[0][0]}
    prefix = f"scale/{len(devices)}_devices/gradient_"
    size = f"{found[0][2] * 4 / 1e6:.0f} MB a rank"
    notes = {"sum": f"{size}, by {found[0][1]}", "sum/of_one_number": "what no byte of it costs",
             "sum/comparison": "of calls, by pipes of Python's: the host's time, while the GPU works",
             "all_reduce": "NCCL's own, in an order that depends on the number of ranks",
             "messages": "those of stet's sum of more than two ranks", "adding": "PyTorch's, of a rank's share"}
    rows = [{"name": prefix + name, "value": 1e3 * statistics.median(times), "unit": "ms", "better": "lower",
             "goal": None, "samples": [1e3 * s for s in times], "note": notes[name]}
            for name, times in seconds.items()]  # fmt: skip
    for name in ("sum", "messages") if "all_reduce" in seconds else ():
        ratio = [a / b for a, b in zip(seconds[name], seconds["all_reduce"])]
        rows.append({"name": f"{prefix}{name}/over_all_reduce", "value": statistics.median(ratio), "unit": "times",
                     "better": "lower", "goal": 1.11 if name == "sum" else None, "samples": ratio,
                     "note": "against NCCL's own all-reduce, in turns"})  # fmt: skip
    return rows


def names(devices):
    """What the devices are, for the result file."""
    found = []
    for device in dict.fromkeys(devices):
        with stet.Sim(stet.scenes / "cartpole.xml", worlds=1, device=device) as sim:
            found.append(sim.device.name)
    return "; ".join(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", default="cpu,cpu")
    parser.add_argument("--worlds", type=int, default=4096)
    parser.add_argument("--samples", type=int, default=7)
    parser.add_argument("--hands", type=int, default=HANDS, help="of each device, that are taught")
    parser.add_argument("--parts", default="hashes,gradient,scale,ppo", help="which of the four")
    parser.add_argument("--out")
    o = parser.parse_args()
    devices = o.devices.split(",")
    parts = o.parts.split(",")
    state, frame = compare(devices) if "hashes" in parts else (None, None)
    rows = []
    for part, measure in (("gradient", lambda: gradient(devices, o.samples)),
                          ("scale", lambda: scale(devices, o.worlds, o.samples)),
                          ("ppo", lambda: ppo(devices, o.hands, o.samples))):  # fmt: skip
        if part not in parts:
            continue
        found = measure()
        for row in found:
            print(f"{row['name']:<48} {row['value']:8.3f} {row['unit']:<6} {row['note']}", flush=True)
        rows += found
        if o.out:  # what is measured so far stays, whatever comes
            write(o.out, machine(names(devices)), rows, devices=devices, state_hash=state, frame_hash=frame)
    return 0


if __name__ == "__main__":
    sys.exit(main())
