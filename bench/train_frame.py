"""A policy that sees hands: frames a second of its whole step (pictures, network, controls, physics) with all pictures
extracted at once, and with a launch for each world.

    PYTHONPATH=build/python python3 bench/train_frame.py [--device cuda] [--worlds 1225] [--size 120x120,64x64]
    [--turns 8] [--seconds 0.5] [--substeps 2] [--threads 0] [--numpy] [--out FILE]

A frame draws a colour picture of each world, hands it as float16 (float32 on a CPU), planar, to a network of three
convolutions and two dense layers in PyTorch on the same device, where the tensor lies; the network's output becomes the
controls, and physics takes its substeps. On a GPU all of it is in one stream and nothing waits for the host. Variants
differ in mechanisms that are switched off:

    at_once               none: a launch extracts the pictures of all worlds
    launch_a_world        `tiles`: a launch a world, in the list of launches that is recorded and replayed as one
    launch_a_world_singly `tiles` and `graph_replay`: a launch a world, as a program without recordings issues them;
                          physics and pictures are not replayed, either

They take turns on one sim, forwards and then backwards, each from the same state; states and pictures at the end of a
turn have equal hashes in all of them, or the exit code is 1. --numpy: a network of the same shape in NumPy, on a CPU.
"""

import argparse
import hashlib
import statistics
import sys
import time

import numpy as np
from origin import machine, write

import stet

VARIANTS = {
    "at_once": (),
    "launch_a_world": ("tiles",),
    "launch_a_world_singly": ("tiles", "graph_replay"),
}
CONVOLUTIONS = [(32, 8, 4), (64, 4, 2), (64, 3, 1)]  # channels, edge of the kernel, stride
HIDDEN, LEAST_EDGE = 256, 36
WARM_UP = 6  # frames of a turn that are not timed: lists of launches are recorded and compared in them


def weights(height, width, outputs):
    """[(weight, bias), …] of the network's layers, float32; the same in every run."""
    random, channels, layers = np.random.default_rng(1), 3, []

    def layer(*shape):
        scale = 1 / np.sqrt(np.prod(shape[1:]))
        layers.append((random.uniform(-scale, scale, shape).astype(np.float32), np.zeros(shape[0], np.float32)))

    for more, edge, stride in CONVOLUTIONS:
        layer(more, channels, edge, edge)
        channels, height, width = more, (height - edge) // stride + 1, (width - edge) // stride + 1
    layer(HIDDEN, channels * height * width)
    layer(outputs, HIDDEN)
    return layers


class NumPyPolicy:
    """[world, 3, height, width] → [world, actuator] in (-1, 1), where NumPy sees the pictures."""

    from_dlpack = staticmethod(np.from_dlpack)

    def __init__(self, layers):
        self.layers = layers

    def __call__(self, x):
        for (weight, bias), (_, edge, stride) in zip(self.layers, CONVOLUTIONS):
            windows = np.lib.stride_tricks.sliding_window_view(x, (edge, edge), (2, 3))[:, :, ::stride, ::stride]
            x = np.tensordot(windows, weight, ((1, 4, 5), (1, 2, 3))).transpose(0, 3, 1, 2)
            x = np.maximum(x + bias[:, None, None], 0)
        (hidden, bias), (last, last_bias) = self.layers[-2:]
        return np.tanh(np.maximum(x.reshape(len(x), -1) @ hidden.T + bias, 0) @ last.T + last_bias)

    def constant(self, values):
        return np.asarray(values, np.float32)


class TorchPolicy:
    """The same in PyTorch; on a GPU with half precision, in a stream that stet uses, too."""

    def __init__(self, layers, sim):
        import torch

        self.torch, self.from_dlpack = torch, torch.from_dlpack
        self.device = torch.from_dlpack(sim.qpos.export()).device
        type_ = torch.float32
        if self.device.type == "cuda":
            torch.backends.cudnn.deterministic, type_ = True, torch.float16
            torch.cuda.set_stream(torch.cuda.Stream(self.device))
            sim.use_stream(torch.cuda.current_stream())
        self.layers = [[torch.from_numpy(part).to(self.device, type_) for part in layer] for layer in layers]

    def __call__(self, x):
        functional = self.torch.nn.functional
        with self.torch.no_grad():
            for layer, (_, _, stride) in zip(self.layers, CONVOLUTIONS):
                x = functional.conv2d(x, *layer, stride=stride).relu()
            x = functional.linear(x.flatten(1), *self.layers[-2]).relu()
            return functional.linear(x, *self.layers[-1]).tanh().float()

    def constant(self, values):
        return self.torch.as_tensor(np.asarray(values, np.float32), device=self.device)


class Loop:
    """The hands, their pictures and the policy."""

    def __init__(self, options, worlds, width, height):
        self.substeps = options.substeps
        self.sim = sim = stet.Sim(stet.scenes / "hand.xml", worlds, options.device, physics="native",
                                  threads=options.threads, width=width, height=height)
        on_gpu = sim.device.type != "cpu"
        if on_gpu and options.numpy:
            raise SystemExit(f"train_frame: NumPy has no pictures of {sim.device}; leave --numpy out")
        form = stet.Output("rgb", dtype="float16" if on_gpu else "float32", planar=True)
        self.tiles = sim.tiles(form)
        layers = weights(height, width, sim.model.nu)
        self.policy = NumPyPolicy(layers) if options.numpy else TorchPolicy(layers, sim)
        low, high = sim.parameter("actuator_ctrlrange")[0].reshape(-1, 2).T
        self.middle, self.reach = (self.policy.constant(x) for x in ((low + high) / 2, (high - low) / 2))
        self.start = sim.snapshot()

    def begin(self, variant):
        self.sim.configure(disable=VARIANTS[variant])
        self.sim.restore(self.start)

    def pictures(self):
        self.tiles.render()
        return self.policy.from_dlpack(self.tiles.tensor(0).export())

    def frame(self):
        self.sim.ctrl.write(self.middle + self.reach * self.policy(self.pictures()))
        self.sim.step(self.substeps)

    def network(self):
        self.policy(self.still)

    def seconds(self, work, frames):
        self.sim.synchronize()
        begun = time.perf_counter()
        for _ in range(frames):
            work()
        self.sim.synchronize()
        return time.perf_counter() - begun

    def hash(self):
        """Of the state and of the pictures of it."""
        self.tiles.render()
        return f"{self.sim.hash():016x} {hashlib.sha256(self.tiles.read(0).tobytes()).hexdigest()[:16]}"


def take_turns(loop, turns, least):
    """{variant: [seconds a frame]}, {variant: counters of its last turn}, the frames of a turn, what all ended in."""
    loop.begin("at_once")
    loop.seconds(loop.frame, WARM_UP)
    frames = max(2, int(least / (loop.seconds(loop.frame, 4) / 4)))
    times, did, expected = {variant: [] for variant in VARIANTS}, {}, None
    for turn in range(turns):
        for variant in list(VARIANTS)[:: -1 if turn % 2 else 1]:
            loop.begin(variant)
            loop.seconds(loop.frame, WARM_UP)
            loop.sim.clear_counters()
            times[variant].append(loop.seconds(loop.frame, frames) / frames)
            did[variant] = loop.sim.counters()["total"]
            found = loop.hash()
            expected = expected or found
            if found != expected:
                raise SystemExit(f"train_frame: {variant} ended in {found}, {next(iter(VARIANTS))} in {expected}")
    return times, did, frames, expected


def measure(options, worlds, width, height):
    loop = Loop(options, worlds, width, height)
    times, did, frames, ended = take_turns(loop, options.turns, options.seconds)
    loop.still = loop.pictures()
    loop.seconds(loop.network, WARM_UP)
    network = [1e3 * loop.seconds(loop.network, frames) / frames for _ in range(options.turns)]
    name, rows = f"train/hand/{worlds}x{width}x{height}", []

    def add(row, samples, unit, better, note, goal=None):
        rows.append({"name": f"{name}/{row}", "value": statistics.median(samples), "unit": unit, "better": better,
                     "goal": goal, "samples": samples, "note": note})

    for variant, seconds in times.items():
        counters = did[variant]
        add(f"{variant}/frames_per_s", [worlds / s for s in seconds], "frames/s", "higher",
            f"{1e3 * statistics.median(seconds):.3f} ms for all worlds; a frame of theirs has "
            f"{counters['launches'] / frames:.1f} launches and copies {counters['bytes_copied'] / frames / 1e6:.3g} MB")
    what = "NumPy" if options.numpy else f"PyTorch {loop.policy.torch.__version__}"
    for variant in list(VARIANTS)[1:]:
        ratio = [b / a for a, b in zip(times["at_once"], times[variant])]
        add(f"at_once_over_{variant}", ratio, "times", "higher",
            f"{options.substeps} substeps of native physics; turns of {frames} frames; {what}; all end in {ended}")
    add("network_ms", network, "ms a frame", "lower", f"the network alone, on the same pictures; {what}")
    device = loop.sim.device.name
    loop.sim.close()
    return device, rows


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--worlds", default="1225")
    parser.add_argument("--size", default="120x120,64x64")
    parser.add_argument("--turns", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--substeps", type=int, default=2)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--numpy", action="store_true")
    parser.add_argument("--out")
    options = parser.parse_args()
    try:
        options.worlds = [int(n) for n in options.worlds.split(",")]
        options.size = [tuple(map(int, size.split("x"))) for size in options.size.split(",")]
        if min(options.worlds) < 1 or any(len(size) != 2 or min(size) < LEAST_EDGE for size in options.size):
            raise ValueError
    except ValueError:
        parser.error(f"--worlds takes numbers, --size WIDTHxHEIGHT of at least {LEAST_EDGE}, both with commas between")
    return options


def main():
    options, rows, device = read_options(), [], ""
    for worlds in options.worlds:
        for width, height in options.size:
            device, found = measure(options, worlds, width, height)
            for row in found:
                print(f"{row['name']:62} {row['value']:12.5g} {row['unit']:10} {row['note']}", flush=True)
            rows += found
    if options.out:
        write(options.out, machine(device), rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
