"""Targets and trails that only pictures show: four hands, each with a goal of its own for its cube, and dots where the
index finger has been.

    python examples/python/markers.py [PICTURE]          default: markers.ppm
"""

import argparse

import numpy as np

import stet

WORLDS, DOTS = 4, 12


def run(path):
    rng = np.random.default_rng(7)
    with stet.Sim(stet.scenes / "hand.xml", worlds=WORLDS, outputs=("rgb", "seg_geom"), width=160, height=160) as sim:
        cube, tip = (3 * sim.model.find("bodies", name) for name in ("cube", "index_distal"))
        start = sim.xpos[:, cube : cube + 3].copy()
        goal = sim.add_marker("box", [0.03, 0.03, 0.03], rgba=[0.2, 0.9, 0.3, 0.4], name="goal")
        goal.move(start + rng.uniform([-0.05, -0.05, 0.03], [0.05, 0.05, 0.05], (WORLDS, 3)))
        trail = [sim.add_marker("sphere", 0.005, rgba=[1, 0.8, 0.1]) for _ in range(DOTS)]
        for dot in trail:
            dot.hide()
        for frame, dot in enumerate(trail):
            sim.control_noise(1, frame)
            sim.step(25)
            now = sim.xpos[:, tip : tip + 3]
            dot.move(now)
            dot.show(now[:, 2] > start[:, 2] - 0.05)
            dot.colour([1, 0.8 * frame / DOTS, 0.1])
        sim.render()
        seen = (sim.read("seg_geom") == goal.id).mean(axis=(1, 2, 3))
        pixels = np.concatenate(list(sim.read("rgb")), axis=1)
    with open(path, "wb") as file:
        file.write(b"P6 %d %d 255\n" % (pixels.shape[1], pixels.shape[0]) + pixels.tobytes())
    print(f"{path}: {WORLDS} hands; the goal covers " + ", ".join(f"{100 * part:.1f} %" for part in seen) + " of them")


if __name__ == "__main__":
    words = argparse.ArgumentParser(description="Targets and trails that only pictures show, of four hands.")
    words.add_argument("picture", nargs="?", default="markers.ppm", help="the file to write, PPM")
    run(words.parse_args().picture)
