"""The commands `stet view` and `stet replay`, and `stet run --view`."""

from __future__ import annotations

import argparse
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from .. import Error, Sim
from .._libraries import check_libraries
from . import Viewer, check_share, view
from .replay import open_folder


def _add_page(parser):
    """The options of everything that has a page."""
    parser.add_argument("--port", type=int, default=0, help="of 127.0.0.1; 0: any")
    parser.add_argument("--share", type=float, default=1.0,
                        help="of the processors' time, for drawing pictures, at most: 0.02 leaves a run its speed")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    parser.add_argument("--wait", action="store_true", help="begin when the page is open")


def _arguments(words):
    parser = argparse.ArgumentParser(prog="stet", description="A page in the browser, on this machine alone.")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("view", help="run a scene and look at it, change it")
    run.add_argument("scene", help="MJCF, URDF or .mjb")
    run.add_argument("--worlds", type=int, default=1)
    run.add_argument("--device", default="auto")
    run.add_argument("--physics", default="auto")
    run.add_argument("--keyframe", default=None)
    run.add_argument("--seed", type=int, default=0)
    run.add_argument("--noise", type=float, default=0.0, help="of controls, a part of half their range")
    run.add_argument("--speed", type=float, default=1.0, help="seconds in one of the clock; 0: as fast as it goes")
    replay = commands.add_parser(
        "replay", help="play what `stet run --record qpos --out FOLDER` recorded, or a data set")
    replay.add_argument("folder")
    replay.add_argument("other", nargs="?",
                        help="another recording of the same worlds, shown beside it: differences are red")
    replay.add_argument("--scene", help="where it is now, if it was moved")
    for each in (run, replay):
        _add_page(each)
    return parser.parse_args(words)


def _announce(viewer, arguments, file=None):
    print(f"{viewer.url}   (Ctrl-C ends it)", flush=True, file=file)
    if not arguments.no_browser:
        import webbrowser

        webbrowser.open(viewer.url)


def _view(a: Any) -> None:
    keyframe = int(a.keyframe) if a.keyframe and a.keyframe.isdecimal() else a.keyframe
    with Sim(a.scene, a.worlds, a.device, physics=a.physics, keyframe=keyframe, seed=a.seed) as sim:
        with view(sim, port=a.port, control=True, speed=a.speed, share=a.share) as viewer:
            _announce(viewer, a)
            while a.wait and not viewer.wait(1):  # a wait without end may miss a signal that another thread took
                pass
            steps = max(1, round(1 / 60 / sim.model.timestep))
            frame = 0
            while True:
                if a.noise:
                    sim.control_noise(a.noise, frame)
                frame += 1
                sim.step(steps)


def _replay(a: Any) -> None:
    recording = open_folder(a.folder, a.scene, a.other)
    recording.paused = a.wait
    with Viewer(recording, a.port, share=a.share) as viewer:
        _announce(viewer, a)
        while a.wait and not viewer.wait(1):
            pass
        recording.tell("pause", {"on": False})
        while True:
            time.sleep(1)


def _show_run(program: Path, words: list[str]) -> int:
    """`stet run` as a process of its own, which is asked for its states; returns its exit code."""
    from .attached import Attached

    parser = argparse.ArgumentParser(prog="stet run", add_help=False, allow_abbrev=False)
    parser.add_argument("--view", action="store_true")
    _add_page(parser)
    a, rest = parser.parse_known_args(words)
    check_share(a.share)
    check_libraries("stet.view", websockets="websockets", PIL="pillow")
    here, there = socket.socketpair()
    with here:
        with there:
            own = ["--view-socket", str(there.fileno()), *["--view-wait"] * a.wait]
            run = subprocess.Popen(["stet", "run", *rest, *own], executable=program, pass_fds=[there.fileno()])
        # Ctrl-C is the run's: it ends in order.
        signal.signal(signal.SIGINT, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: run.terminate())
        try:
            with Viewer(Attached(here), a.port, share=a.share) as viewer:
                _announce(viewer, a, sys.stderr)
                run.wait()
        except (EOFError, ConnectionError):  # it has ended before its first frame, and has said why
            pass
        except BaseException:
            run.terminate()
            raise
        code = run.wait()
    return code if code >= 0 else 128 - code


def run_main(program: Path, words: list[str]) -> None:
    """`stet run --view`: the run as always, and a page of it."""
    try:
        sys.exit(_show_run(program, words))
    except (Error, OSError) as error:
        print(f"stet: {error}", file=sys.stderr)
        sys.exit(2)


def main(words: list[str]) -> None:
    """Runs until Ctrl-C; what is wrong is one sentence and exit code 2."""
    arguments = _arguments(words)
    try:
        (_view if arguments.command == "view" else _replay)(arguments)
    except KeyboardInterrupt:
        print()
    except (Error, OSError) as error:
        print(f"stet: {error}", file=sys.stderr)
        sys.exit(2)
