"""Makes doc/gallery.md and its pictures: each shipped scene and task, with the command that shows it.

    make gallery
"""

import json
import pathlib
import sys

import gymnasium
import numpy as np
from PIL import Image

import stet
import stet.gym
from stet.gym.tasks.base import MOST
from stet.train import Policy, find_class, find_run
from stet.train.play import POLICIES

ROOT = pathlib.Path(__file__).parents[1]
SIZE, DRAWN = (240, 180), (960, 720)  # pixels; many of the drawn ones are one
RATE, SECONDS = 25, 3  # of animations: pictures a second, and how long
SCENES = {  # a sentence, the camera, seconds of noise before the picture
    "hand.xml": ("A hand with 20 servos and a cube in it.", "main", 1.0),
    "humanoid.xml": ("A humanoid with 21 motors.", "main", 0.4),
    "quadruped.xml": ("A quadruped with 12 servos, on a height field.", "main", 1.0),
    "arm_table.xml": ("An arm with a gripper, and things on a table.", "main", 1.0),
    "cartpole.xml": ("A cart and a pole.", "main", 1.0),
    "cartpole_classic.xml": ("The cart-pole of the textbooks.", "main", 0.3),
    "robot.urdf": ("A small arm in URDF.", "free:fit", 0.0),
}
HEAD = """# Gallery

Each scene and task that stet ships, and the command that shows it. `make gallery` makes this page and its pictures
again (`tools/gallery.py`).
"""


def save(frames, name):
    """One picture, or several as an animation."""
    first, *others = [Image.fromarray(pixels).resize(SIZE, Image.Resampling.LANCZOS) for pixels in frames]
    moves = {"save_all": True, "append_images": others, "duration": 1000 // RATE, "loop": 0} if others else {}
    first.save(ROOT / "doc" / "gallery" / f"{name}.webp", quality=60 if others else 80, method=6, **moves)
    print(name, file=sys.stderr)
    return f'<img src="gallery/{name}.webp" width="{SIZE[0]}" height="{SIZE[1]}" alt="{name}">'


def draw_scene(file, camera, seconds):
    width, height = DRAWN
    with stet.Sim(ROOT / "scenes" / file, 1, "cpu", cameras=camera, width=width, height=height, outputs="rgb") as sim:
        for frame in range(round(seconds * 50)):
            sim.control_noise(0.3, frame)
            sim.step(round(0.02 / sim.model.timestep))
        sim.render()
        return sim.read("rgb")[0]


def draw_task(name):
    """After some steps of noise in the actions. An environment that is seen as pixels has those alone."""
    pixels = {} if name.startswith("HandPixels") else dict(width=DRAWN[0], height=DRAWN[1])
    env = gymnasium.make(f"stet/{name}", device="cpu", render_mode="rgb_array", **pixels)
    env.reset(seed=1)
    env.action_space.seed(1)
    for _ in range(8):  # of what goes far beyond 1 a little
        env.step(env.action_space.sample() / (20 if env.action_space.high.max() == MOST else 1))
    picture = np.asarray(env.render())
    env.close()
    return picture


def draw_policy(name):
    """A robot that does what the policy shipped for it has learnt, from the fifth second on; from its first camera."""
    task = name.rpartition("-v")[0]
    about, policy = json.loads((find_run(task) / "run.json").read_text()), Policy(find_run(task) / "policy.onnx")
    kind = find_class(about["task"])
    env = kind(1, "cpu", render_mode="rgb_array", width=DRAWN[0], height=DRAWN[1], **kind.measured_with)
    seen, _ = env.reset(seed=1)
    frames, rate = [], round(1 / env.dt)
    for step in range((4 + SECONDS) * rate):
        seen = env.step(np.clip(policy(seen), env.single_action_space.low, env.single_action_space.high))[0]
        if step >= 4 * rate and step * RATE % rate < RATE:
            frames.append(env.render()[0].copy())
    env.close()
    return frames


def main():
    (ROOT / "doc" / "gallery").mkdir(exist_ok=True)
    tasks = [name.removeprefix("stet/") for name in gymnasium.registry if name.startswith("stet/")]
    rows = ["\n## Scenes\n\n| | |\n|---|---|\n"]
    for file, (sentence, camera, seconds) in SCENES.items():
        picture = save([draw_scene(file, camera, seconds)], file.partition(".")[0])
        rows.append(f"| {picture} | {sentence}<br>`stet view scenes/{file}` |\n")
    rows.append('\n## Tasks\n\nAfter `import gymnasium, stet.gym`; `gymnasium.make("stet/…")` makes one alone. '
                "`doc/environments.md` says more.\n\n| | |\n|---|---|\n")
    for name in tasks:
        learnt = (POLICIES / name.rpartition("-v")[0]).exists()
        picture = save(draw_policy(name) if learnt else [draw_task(name)], name)
        rows.append(f'| {picture} | `gymnasium.make_vec("stet/{name}", num_envs=256)` |\n')
    (ROOT / "doc" / "gallery.md").write_text(HEAD + "".join(rows))


main()
