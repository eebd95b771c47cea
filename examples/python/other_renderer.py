"""Another renderer draws all worlds into one tiled frame; stet makes a network's input of it: float16, 0 to 1, planar.

    python3 other_renderer.py

The renderer here is NumPy, which fills each ball's square with red. One on a GPU gives its own tensor, and the stream
in which it draws: tiles.accept(stream=torch.cuda.current_stream()).
"""

import argparse

import numpy as np

import stet

SCENE = """
<mujoco><worldbody>
  <body pos="0 0 1"><joint type="slide" axis="1 0 0"/><geom size=".1"/></body>
</worldbody></mujoco>
"""
WORLDS, HIGH, WIDE, ACROSS, SIDE = 6, 24, 32, 3, 10


def left_of(position):
    """Where a ball's square begins in its world's tile. A metre is ten pixels."""
    return np.round(position * 10).astype(int) + (WIDE - SIDE) // 2


def draw(frame, left, worlds):
    """Worlds in rows of three."""
    for w in worlds:
        y, x = w // ACROSS * HIGH, w % ACROSS * WIDE
        frame[y : y + HIGH, x : x + WIDE] = 0, 0, 255, 255
        frame[y : y + SIDE, x + left[w] : x + left[w] + SIDE] = 255, 0, 0, 255

argparse.ArgumentParser(description="Frames of another renderer as tensors.").parse_args()
with stet.Sim(SCENE, worlds=WORLDS, device="cpu", physics="native") as sim:
    frame = np.zeros((2 * HIGH, ACROSS * WIDE, 4), np.uint8)
    tiles = sim.foreign_tiles(
        {"rgba": stet.Picture(frame, size=(HIGH, WIDE))},
        [stet.Output("rgba", dtype="float16", channels=3, planar=True)],
    )
    sim.qvel[:] = np.linspace(-1, 1, WORLDS)[:, None]
    sim.step(500)
    left = left_of(sim.qpos[:, 0])
    draw(frame, left, range(WORLDS))
    tiles.accept()
    seen = tiles.read()  # or torch.from_dlpack(tiles.tensor())
    found = seen[:, 0, 0].argmax(axis=1)  # the first red pixel of the first row
    print(f"{seen.dtype} {seen.shape}: {seen[:, 0].mean() * 100:.0f} % are red;", end=" ")
    print(f"{(found == left).sum()} of {WORLDS} squares are where their balls are")
    sim.reset(worlds=[2])
    draw(frame, left_of(sim.qpos[:, 0]), [2])
    tiles.accept(mask=np.arange(WORLDS) == 2)
    moved = (tiles.read() != seen).any(axis=(1, 2, 3))
    print(f"after a reset of world 2 there are other pixels in worlds {np.flatnonzero(moved)}")
