"""Pictures beside mujoco_warp's renderer, in turns on one GPU: the renderers alone, no physics.

    PYTHONPATH=build/python python3 bench/render_warp.py [--pictures primitives:8192x64x64,hand:1225x120x120,…]
    [--shadows both|on|off] [--turns 4] [--seconds 0.25] [--reflections] [--compile] [--device cuda] [--out FILE]

--pictures: scenes with worlds and sizes. A scene is a file, one of scenes/, or one of these: primitives (mujoco_warp's
own, 125 shapes in the air over a floor with a texture), meshes (also its own, two arms and a pot, 88,000 triangles),
field (the shipped quadruped on its height field). Each side has a process of its own, as in frame_warp.py. Both read
one compiled model: the scene's, without contacts, and without reflections, which mujoco_warp does not draw
(--reflections keeps them in stet's pictures); where shadows are off, no light casts them. A frame ends with a colour
and a depth picture of the first camera of all worlds on the device; textures are on.

moving: poses are copied on the device before each frame; stet gets bodies' poses and computes its scene tree,
mujoco_warp gets poses of geoms and refits its tree of boxes. World w has pose (w + frame) of POSES, which MuJoCo
simulated before. standing: nothing is written. In both, stet's mechanisms `frame` and `patches` are off, so that it
draws all pixels.

--compile: compiles all of both side by side, with few worlds, and measures nothing. --device cpu: to see that it runs.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import frame_warp
import numpy as np
from frame_warp import SCENES, Process, agreement, ratios, row, take_turns
from origin import machine, write

POSES, STEPS = 8, 20  # poses, and time steps between them
GOALS = {"primitives": 3, "hand": 8, "meshes": 3, "field": 3}
OWN = {"primitives": "primitives.xml", "meshes": "aloha_pot/scene.xml"}
WORKS = ("moving", "standing")


def scene_file(name):
    if name in OWN:
        import mujoco_warp

        return Path(mujoco_warp.__file__).parent / "test_data" / OWN[name]
    return Path(name) if "." in name else SCENES / f"{'quadruped' if name == 'field' else name}.xml"


def prepare(options, name, shadows, folder):
    """(the compiled model that both read, its poses beside it; how many triangles pictures show)."""
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(scene_file(name)))
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    names = ("xpos", "xquat", "geom_xpos", "geom_xmat", "cam_xpos", "cam_xmat", "light_xpos", "light_xdir")
    poses = {of: [] for of in names}
    noise, hold = np.random.default_rng(1), data.ctrl.copy()
    low, high = model.actuator_ctrlrange.T
    for _ in range(POSES):
        mujoco.mj_forward(model, data)
        for of in names:
            poses[of].append(getattr(data, of).copy())
        data.ctrl[:] = np.clip(hold + noise.uniform(-0.15, 0.15, model.nu) * (high - low), low, high)
        mujoco.mj_step(model, data, STEPS)
    if not shadows:
        model.light_castshadow[:] = 0
    if not options.reflections:
        model.mat_reflectance[:] = 0
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    scene = Path(folder) / f"{Path(name).stem}-{int(shadows)}.mjb"
    mujoco.mj_saveModel(model, str(scene))
    np.savez(scene.with_suffix(".npz"), **poses)
    shown = [k for k in range(model.ngeom) if model.geom_type[k] == mujoco.mjtGeom.mjGEOM_MESH
             and model.geom_group[k] < 3]
    return str(scene), sum(int(model.mesh_facenum[model.geom_dataid[k]]) for k in shown)


def of_worlds(spec, *names):
    """[frame] lists of arrays of all worlds, of the poses by these names."""
    with np.load(Path(spec["scene"]).with_suffix(".npz")) as poses:
        found = [poses[of].astype(np.float32) for of in names]
    return [[pose[(np.arange(spec["worlds"]) + k) % POSES] for pose in found] for k in range(POSES)]


class Stet:
    def __init__(self, spec):
        import stet

        begun = time.perf_counter()
        self.sim = sim = stet.Sim(spec["scene"], spec["worlds"], spec["device"], physics="external",
                                  disable=["frame", "patches"], width=spec["width"], height=spec["height"])
        self.tiles = sim.tiles(("rgb", "depth"), frames_in_flight=1)
        self.arrays = sim.xpos, sim.xquat
        self.frames = [[sim.zeros(array.shape, worlds=True) for array in self.arrays] for _ in range(POSES)]
        for arrays, values in zip(self.frames, of_worlds(spec, "xpos", "xquat")):
            for array, value in zip(arrays, values):
                array.write(value.reshape(array.shape))
        self.moving(0)
        self.depth = self.tiles.read("depth")[0, :, :, 0]
        self.device, self.first = sim.device.name, time.perf_counter() - begun

    def begin(self):
        self.moving(0)

    def standing(self, k):
        self.tiles.render()
        return self.tiles.tensor("rgb"), self.tiles.tensor("depth")

    def moving(self, k):
        for array, value in zip(self.arrays, self.frames[k % POSES]):
            array.write(value)
        return self.standing(k)

    def synchronize(self):
        self.sim.synchronize()

    def end_turn(self):
        return ""


class Warp(frame_warp.Warp):
    def _prepare(self, model, data, spec):
        names = ("geom_xpos", "geom_xmat", "cam_xpos", "cam_xmat", "light_xpos", "light_xdir")
        self.arrays = [getattr(self.d, of) for of in names if getattr(self.d, of).size]
        frames = of_worlds(spec, *(of for of in names if getattr(self.d, of).size))
        self.frames = [[self.warp.array(value.reshape(*array.shape, *array.dtype._shape_), dtype=array.dtype)
                        for array, value in zip(self.arrays, values)] for values in frames]
        self.warp.synchronize()
        self.stands = self._graph(lambda: self.to.render(self.m, self.d, self.rc))
        self.moves = [self._graph(lambda k=k: self._place(k), self._draw) for k in range(POSES)]

    def _place(self, k):
        for array, value in zip(self.arrays, self.frames[k]):
            self.warp.copy(array, value)

    def begin(self):
        self.moving(0)

    def standing(self, k):
        self.stands()

    def moving(self, k):
        self.moves[k % POSES]()

    def end_turn(self):
        return ""


def picture(text):
    """scene:WORLDSxWIDTHxHEIGHT"""
    name, _, size = text.rpartition(":")
    worlds, width, height = map(int, size.split("x"))
    return name, worlds, width, height


def spec_of(options, scene, worlds, width, height, shadows):
    return {"scene": scene, "worlds": worlds, "device": options.device, "width": width, "height": height, "substeps": 0,
            "contacts": 16, "rows": 256, "shadows": shadows}


def rows_of(name, size, shadows, triangles, turns):
    _, ours, theirs, seconds, _ = turns
    worlds, width, height = size
    start = f"render/{Path(name).stem}/{worlds}x{width}x{height}/{'shadows' if shadows else 'no_shadows'}"
    rays = worlds * width * height
    for what in WORKS:
        a, b = (statistics.median(seconds[side, what]) for side in ("Stet", "Warp"))
        yield row(f"{start}/{what}/ratio_to_mujoco_warp", ratios(seconds, what), "times", "higher",
                  f"{1e3 * a:.4g} ms, {worlds / a:,.0f} pictures/s, {rays / a / 1e6:,.3g} million camera rays/s; "
                  f"mujoco_warp {1e3 * b:.4g} ms, {worlds / b:,.0f}, {rays / b / 1e6:,.3g}; {triangles:,} triangles; "
                  f"depths of the first pictures agree in {100 * agreement(ours[1], theirs[1]):.1f} % of the pixels; "
                  f"from nothing to a first picture {ours[0]:.1f} s, {theirs[0]:.1f}", GOALS.get(name))


def compile_all(options, jobs):
    """All kernels of both, side by side: few worlds, and the code is kept. mujoco_warp's is the same with shadows."""
    sides = [(Process(kind, spec_of(options, scene, 16, width, height, shadows)), scene)
             for scene, _, (_, _, width, height), shadows in jobs for kind in (Stet, Warp)
             if kind is Stet or shadows == jobs[0][3]]
    for side, scene in sides:
        print(f"{Path(scene).stem}: {side.name} {side.answer()[1]:.1f} s", flush=True)
        side.close()
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", default="primitives:8192x64x64,hand:1225x120x120,meshes:1225x120x120,"
                                              "field:8192x64x64")
    parser.add_argument("--shadows", default="both", choices=["both", "on", "off"])
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=0.25)
    parser.add_argument("--reflections", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--out")
    options = parser.parse_args()
    modes = {"both": (True, False), "on": (True,), "off": (False,)}[options.shadows]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        jobs = [(*prepare(options, picture(text)[0], shadows, folder), picture(text), shadows)
                for text in options.pictures.split(",") for shadows in modes]
        if options.compile:
            return compile_all(options, jobs)
        for scene, triangles, (name, *size), shadows in jobs:
            turns = take_turns((Stet, Warp), spec_of(options, scene, *size, shadows), options, WORKS)
            for found in rows_of(name, size, shadows, triangles, turns):
                print(f"{found['name']:72} {found['value']:8.4g} {found['note']}", flush=True)
                rows.append(found)
            if options.out:
                write(options.out, machine(turns[0]), rows)  # what is measured so far stays, whatever comes
    return 0


if __name__ == "__main__":
    sys.exit(main())
