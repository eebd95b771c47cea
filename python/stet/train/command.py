"""The commands `stet train` and `stet play`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from .. import Error
from .play import measure, play
from .task import find_task
from .train import train


def _keyword(text):
    name, _, value = text.partition("=")
    if not value:
        raise argparse.ArgumentTypeError(f"{text!r} is no NAME=VALUE")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def _arguments(words):
    parser = argparse.ArgumentParser(prog="stet", description="Policies, trained with rsl_rl's PPO.")
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("train", help="train a policy of a task")
    one.add_argument("task", help="QuadrupedJoystick, Ant, stet/HandRotate-v0, my.module:Task-v0 …")
    one.add_argument("--out", help="folder of the run (default: runs/TASK)")
    one.add_argument("--worlds", type=int, help="default: the task's, or 256 on processors, 4096 on a GPU")
    one.add_argument("--iterations", type=int, help="updates of the policy (default: the task's, or 300)")
    one.add_argument("--seconds", type=float, default=0, help="ends then, wherever it is; --resume goes on")
    one.add_argument("--resume", action="store_true", help="go on from what the folder has")
    other = commands.add_parser("play", help="run a trained policy, on a page in the browser or into a video")
    other.add_argument("folder", help="that `stet train` made, or a task whose policy is shipped")
    other.add_argument("--worlds", type=int, help="default: 4; 256 with --measure")
    other.add_argument("--measure", action="store_true", help="only print in how many worlds it does what it is for")
    other.add_argument("--steps", type=int, default=0, help="of the environment; 0: until Ctrl-C")
    other.add_argument("--record", metavar="FILE.mp4", help="a video; then there is no page")
    other.add_argument("--speed", type=float, default=1.0, help="seconds in one of the clock; 0: as fast as it goes")
    other.add_argument("--port", type=int, default=0, help="of 127.0.0.1; 0: any")
    other.add_argument("--no-browser", action="store_true", help="only print the address")
    other.add_argument("--no-page", action="store_true", help="only print returns and lengths")
    for command in (one, other):
        command.add_argument("--device", default="auto")
        command.add_argument("--seed", type=int, default=1)
        command.add_argument("--set", type=_keyword, action="append", default=[], metavar="NAME=VALUE",
                             help="a keyword of the environment; several: --set … --set …")
    return parser.parse_args(words)


def _train(a):
    folder = Path(a.out or f"runs/{find_task(a.task).removeprefix('stet/').rsplit('-v', 1)[0]}")
    train(a.task, folder, num_envs=a.worlds, device=a.device, iterations=a.iterations, seconds=a.seconds, seed=a.seed,
          resume=a.resume, **dict(a.set))
    print(f"{folder}: policy.onnx, model.pt, run.json. Watch it: stet play {folder}")


def _measure(a):
    found = measure(a.folder, num_envs=a.worlds or 256, device=a.device, seed=a.seed, **dict(a.set))
    when = "on average" if found["when"] == "mean" else "at the end"
    print(f"{found['task']}: {found['good']} of {found['worlds']} worlds ({found['good'] / found['worlds']:.1%}) did "
          f"not fail in {found['seconds']:.3g} s and had {found['what']} ≤ {found['most']} {when}; {found['failed']} "
          f"failed; {found['what']} of the others: mean {found['mean']:.3f}, worst {found['worst']:.3f}")


def _play(a):
    def page(sim):
        viewer = sim.view(port=a.port, speed=a.speed, browser=not a.no_browser)
        print(f"{viewer.url}   (Ctrl-C ends it)", flush=True)
        return viewer

    if a.measure:
        return _measure(a)
    if a.no_page and not a.steps:
        raise SystemExit("stet play: --no-page wants --steps, or it never ends")
    found = play(a.folder, num_envs=a.worlds or 4, device=a.device, seed=a.seed, steps=a.steps, record=a.record,
                 page=None if a.record or a.no_page else page, **dict(a.set))
    if not found["episodes"]:
        print(f"no episode ended in {a.steps} steps")
    else:
        print(f"{found['episodes']} episodes: return {found['return']:.2f}, length {found['length']:.0f}, "
              f"{100 * found['failed']:.0f} % ended before their time")


def main(words: list[str]) -> None:
    """Runs `stet train …` or `stet play …`."""
    arguments = _arguments(words)
    sys.path.insert(0, "")  # modules of tasks are looked for in this folder, too
    try:
        {"train": _train, "play": _play}[arguments.command](arguments)
    except (Error, ModuleNotFoundError, ValueError) as error:
        sys.exit(f"stet {arguments.command}: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
