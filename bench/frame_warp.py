"""The whole frame of the hand beside mujoco_warp, in turns on one GPU.

    PYTHONPATH=build/python python3 bench/frame_warp.py [--worlds 64,256,1225,4096,8192] [--size 64x64,120x120]
    [--scene hand] [--substeps 2] [--turns 4] [--seconds 0.25] [--contacts 64] [--rows 256] [--no-shadows]
    [--device cuda] [--out FILE]

Each has a process of its own, with the same file, first keyframe, controls (copied on the device before each frame),
substeps and first camera; a frame ends with a colour and a depth picture of all worlds on the device. stet's are
tensors, as `stet bench frame` has them; mujoco_warp's are what its renderer writes, not unpacked. mujoco_warp's frame
is a graph of its own: its steps, refit_bvh, render. Its pictures show the bodies as its last substep found them;
kinematics after it would be more work. Turns alternate, stet first and then mujoco_warp first, each from the same
state; the other process waits. Compiling is in no turn, and in the notes; mujoco_warp keeps compiled kernels in
~/.cache/warp. --contacts and --rows are its capacities a world; it ends where they do not suffice.

Rows have the names of `stet bench frame`. Depth pictures of the first state are compared: the note says how many pixels
agree within 1 %. --no-shadows: mujoco_warp draws none (stet draws those that the scene has). --device cpu: to see that
it runs; mujoco_warp then has no graph.
"""

import argparse
import multiprocessing
import statistics
import sys
import time
import traceback
from pathlib import Path

import numpy as np
from origin import machine, write

SCENES = Path(__file__).parents[1] / "scenes"
GOAL = 8  # times mujoco_warp's frame, 1225 worlds
WARM_UP, CONTROLS = 4, 8  # frames of a turn that are not timed; frames after which controls come again


def controls(shape, hold, low, high):
    """[frame, world, actuator]: noise around the controls that hold the keyframe's pose."""
    noise = np.random.default_rng(1).uniform(-0.3, 0.3, (CONTROLS, *shape))
    return np.clip(hold + noise * (high - low) / 2, low, high).astype(np.float32)


class Stet:
    def __init__(self, spec):
        import stet

        begun = time.perf_counter()
        self.substeps = spec["substeps"]
        self.sim = sim = stet.Sim(spec["scene"], spec["worlds"], spec["device"], physics="native",
                                  width=spec["width"], height=spec["height"])
        self.tiles = sim.tiles(("rgb", "depth"), frames_in_flight=1)
        low, high = sim.parameter("actuator_ctrlrange")[0].reshape(-1, 2).T
        self.start, values = sim.snapshot(), controls(sim.ctrl.shape, sim.ctrl.numpy()[0], low, high)
        self.values = [sim.zeros(sim.ctrl.shape, worlds=True) for _ in values]
        for array, value in zip(self.values, values):
            array.write(value)
        self.picture()
        self.depth = self.tiles.read("depth")[0, :, :, 0]
        self.begin()
        self.physics(0)
        self.device, self.first = sim.device.name, time.perf_counter() - begun

    def begin(self):
        self.sim.restore(self.start)

    def physics(self, k):
        self.sim.ctrl.write(self.values[k % CONTROLS])
        self.sim.step(self.substeps)

    def picture(self):
        self.tiles.render()
        return self.tiles.tensor("rgb"), self.tiles.tensor("depth")

    def frame(self, k):
        self.physics(k)
        self.picture()

    def synchronize(self):
        self.sim.synchronize()

    def end_turn(self):
        faults = int((self.sim.faults() != 0).sum())
        return f"{faults} worlds with faults" if faults else ""


class Warp:
    def __init__(self, spec):
        import mujoco
        import mujoco_warp
        import warp

        warp.config.log_level = warp.LOG_WARNING
        begun = time.perf_counter()
        self.warp, self.to, self.substeps = warp, mujoco_warp, spec["substeps"]
        warp.set_device("cpu" if spec["device"] == "cpu" else "cuda:0")
        model = (mujoco.MjModel.from_binary_path if spec["scene"].endswith(".mjb") else
                 mujoco.MjModel.from_xml_path)(spec["scene"])
        data = mujoco.MjData(model)
        if model.nkey:
            mujoco.mj_resetDataKeyframe(model, data, 0)
        mujoco.mj_forward(model, data)
        size = spec["width"], spec["height"]
        self.m = mujoco_warp.put_model(model)
        self.d = mujoco_warp.put_data(model, data, nworld=spec["worlds"], nconmax=spec["contacts"], njmax=spec["rows"])
        self.rc = mujoco_warp.create_render_context(
            model, nworld=spec["worlds"], cam_res=size, render_rgb=True, render_depth=True,
            render_skybox=bool((model.tex_type == mujoco.mjtTexture.mjTEXTURE_SKYBOX).any()),
            cam_active=[k == 0 for k in range(model.ncam)], use_shadows=spec["shadows"])
        self._draw()  # compiles, as what follows does
        self.depth = self.rc.depth_data.numpy()[0].reshape(size[1], size[0])
        self._prepare(model, data, spec)
        self.device, self.first = "", time.perf_counter() - begun

    def _prepare(self, model, data, spec):
        """What frames need beside their pictures."""
        self.overflows, self.m.opt.warn_overflow = self.m.opt.warn_overflow, 0
        low, high = model.actuator_ctrlrange.T
        self.values = [self.warp.array(value, dtype=float)
                       for value in controls((spec["worlds"], model.nu), data.ctrl, low, high)]
        names = ("qpos", "qvel", "act", "qacc_warmstart", "ctrl", "time")
        self.state = [(getattr(self.d, name), self.warp.clone(getattr(self.d, name))) for name in names]
        self._step()
        self.warp.synchronize()
        self.graphs = [self._graph(self._step), self._graph(self._step, self._draw)]

    def _step(self):
        for _ in range(self.substeps):
            self.to.step(self.m, self.d)

    def _draw(self):
        self.to.refit_bvh(self.m, self.d, self.rc)
        self.to.render(self.m, self.d, self.rc)

    def _graph(self, *parts):
        """A function that runs them: on a GPU a graph, recorded once."""
        if not self.warp.get_device().is_cuda:
            return lambda: [part() for part in parts]
        with self.warp.ScopedCapture() as capture:
            for part in parts:
                part()
        return lambda: self.warp.capture_launch(capture.graph)

    def begin(self):
        for array, start in self.state:
            self.warp.copy(array, start)

    def physics(self, k, graph=0):
        self.warp.copy(self.d.ctrl, self.values[k % CONTROLS])
        self.graphs[graph]()

    def frame(self, k):
        self.physics(k, 1)

    def synchronize(self):
        self.warp.synchronize()

    def end_turn(self):
        over = int(((self.d.overflow.numpy() & self.overflows) != 0).sum())
        if over:
            raise RuntimeError(f"mujoco_warp had no room in {over} worlds; give more with --contacts, --rows")
        return ""


# ---- processes -------------------------------------------------------------------------------------------------------


def play(side, work, frames):
    """Seconds of a frame."""
    side.begin()
    for k in range(WARM_UP):
        work(k)
    side.synchronize()
    begun = time.perf_counter()
    for k in range(frames):
        work(WARM_UP + k)
    side.synchronize()
    return (time.perf_counter() - begun) / frames


def serve(end, kind, spec):
    """A process: says what it is, then plays turns until the pipe is closed."""
    try:
        side = kind(spec)
        end.send((side.device, side.first, side.depth))
        while True:
            what, frames = end.recv()
            end.send((play(side, getattr(side, what), frames), side.end_turn()))
    except EOFError:
        pass
    except Exception as error:
        traceback.print_exc()
        end.send(error if isinstance(error, RuntimeError) else RuntimeError(repr(error)))


class Process:
    def __init__(self, kind, spec):
        context = multiprocessing.get_context("spawn")
        self.end, other = context.Pipe()
        self.name = kind.__name__
        self.process = context.Process(target=serve, args=(other, kind, spec))
        self.process.start()
        other.close()

    def answer(self):
        try:
            got = self.end.recv()
        except EOFError:
            got = RuntimeError("its process ended without an answer")
        if isinstance(got, Exception):
            sys.exit(f"frame_warp: {self.name}: {got}")
        return got

    def play(self, what, frames):
        self.end.send((what, frames))
        return self.answer()

    def close(self):
        self.end.close()
        self.process.join()


# ---- the run ---------------------------------------------------------------------------------------------------------


def agreement(ours, theirs):
    """The share of pixels whose depths agree; of those that both see."""
    seen = (theirs > 0) & np.isfinite(ours)
    return float((np.abs(ours - theirs)[seen] <= 0.01 * theirs[seen]).mean()) if seen.any() else 0.0


def take_turns(kinds, spec, options, works):
    """(device, what stet said of itself, what mujoco_warp did, seconds a frame of each side and work, faults)."""
    sides = [Process(kind, spec) for kind in kinds]
    (device, *ours), (_, *theirs) = [side.answer() for side in sides]
    counts = [max(2, int(options.seconds / side.play(works[0], 2)[0])) for side in sides]
    seconds = {(side.name, what): [] for side in sides for what in works}
    faults = ""
    for turn in range(options.turns):
        for k in (0, 1) if turn % 2 == 0 else (1, 0):
            for what in works:
                took, said = sides[k].play(what, counts[k])
                seconds[sides[k].name, what].append(took)
                faults = said or faults
    for side in sides:
        side.close()
    return device, ours, theirs, seconds, faults


def measure(options, worlds, width, height):
    spec = {"scene": str(SCENES / f"{options.scene}.xml"), "worlds": worlds, "device": options.device, "width": width,
            "height": height, "substeps": options.substeps, "contacts": options.contacts, "rows": options.rows,
            "shadows": not options.no_shadows}
    device, ours, theirs, seconds, faults = take_turns((Stet, Warp), spec, options, ("frame", "physics"))
    return device, rows_of(options, (worlds, width, height), seconds, ours, theirs, faults)


def rows_of(options, size, seconds, ours, theirs, faults):
    worlds, width, height = size
    name = f"frame/{options.scene}/{worlds}" + (f"x{width}x{height}" if (width, height) != (64, 64) else "")
    ms = {key: 1e3 * statistics.median(samples) for key, samples in seconds.items()}
    conditions = (f"pictures {width} x {height}, rgb and depth, {options.substeps} substeps; depths of the first "
                  f"pictures agree in {100 * agreement(ours[1], theirs[1]):.1f} % of the pixels")
    shadows = "without shadows" if options.no_shadows else "with shadows"
    rows = []

    for what, which in (("frame", "ratio_to_mujoco_warp"), ("physics", "physics_ratio_to_mujoco_warp")):
        rows.append(row(f"{name}/{which}", ratios(seconds, what), "times", "higher",
                        f"{ms['Stet', what]:.4g} ms, mujoco_warp {ms['Warp', what]:.4g}; "
                        f"{conditions if what == 'frame' else ''}".rstrip("; ") + (f"; {faults}" if faults else ""),
                        GOAL if what == "frame" and worlds == 1225 else None))
    for side, which, first, more in (("Stet", "beside_mujoco_warp_ms", ours[0], ""),
                                     ("Warp", "mujoco_warp_ms", theirs[0], f"; {shadows}")):
        rows.append(row(f"{name}/{which}", [1e3 * s for s in seconds[side, "frame"]], "ms a frame", "lower",
                        f"of which physics alone {ms[side, 'physics']:.4g} ms; from nothing to a first picture and "
                        f"step {first:.1f} s, compiling with it{more}"))
    return rows


def ratios(seconds, what):
    return [theirs / ours for ours, theirs in zip(seconds["Stet", what], seconds["Warp", what])]


def row(name, samples, unit, better, note, goal=None):
    return {"name": name, "value": statistics.median(samples), "unit": unit, "better": better, "goal": goal,
            "samples": samples, "note": note}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", default="64,256,1225,4096,8192")
    parser.add_argument("--size", default="64x64,120x120")
    parser.add_argument("--scene", default="hand")
    parser.add_argument("--substeps", type=int, default=2)
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=0.25)
    parser.add_argument("--contacts", type=int, default=64)
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--no-shadows", action="store_true")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--out")
    options = parser.parse_args()
    rows = []
    for worlds in map(int, options.worlds.split(",")):
        for size in options.size.split(","):
            device, found = measure(options, worlds, *map(int, size.split("x")))
            for row in found:
                print(f"{row['name']:56} {row['value']:10.4g} {row['unit']:10} {row['note']}", flush=True)
            rows += found
            if options.out:
                write(options.out, machine(device), rows)  # what is measured so far stays, whatever comes
    return 0


if __name__ == "__main__":
    sys.exit(main())
