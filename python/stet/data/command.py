"""The command `stet data`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

from .. import Error
from .._errors import InvalidArgumentError
from .._libraries import progress
from . import Reader
from .run import import_run


def _info(arguments):
    data = Reader(arguments.folder)
    print(json.dumps(data.manifest, indent=2))
    print(f"{data.frames} frames in {len(data.shards)} shards")
    for name in data.names:
        one = data.read(name, 0, 1)
        print(f"  {name:24} {one.dtype} [frame, {', '.join(map(str, one.shape[1:]))}]")


def _verify(arguments):
    data = Reader(arguments.folder)
    print(f"{data.folder}: {data.frames} frames, {data.verify()} bytes: all checksums are right")


def _import(arguments):
    print(import_run(Path(arguments.folder), Path(arguments.out)))


def _export(arguments):
    data, out = Reader(arguments.folder), Path(arguments.out)
    if not data.frames:
        raise InvalidArgumentError(f"{data.folder}: it has no frames")
    if arguments.format == "lerobot":
        from .lerobot import export

        print(export(data, out, arguments.task))
        return
    out.mkdir(parents=True, exist_ok=True)
    for name in data.names:
        first = data.read(name, 0, 1)
        array = np.lib.format.open_memmap(out / f"{name.replace(':', '-')}.npy", "w+", first.dtype,
                                          (data.frames, *first.shape[1:]))
        for at in progress(range(0, data.frames, 256), name):
            array[at:at + 256] = data.read(name, at, min(256, data.frames - at))
        array.flush()
    print(f"{out}: {len(data.names)} arrays [frame, world, ...]")


def main(words: list[str]) -> None:
    """What is wrong is one sentence and exit code 2."""
    parser = argparse.ArgumentParser(prog="stet data", description="Data sets of stet.data.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, work, text in (("info", _info, "what it is of, and its arrays"),
                             ("verify", _verify, "read everything, compare checksums"),
                             ("import", _import, "make one of what stet run --record --save-tensors every:K:npz wrote"),
                             ("export", _export, "write a .npy file of each array, or LeRobot's layout")):
        command = commands.add_parser(name, help=text)
        command.add_argument("folder")
        command.set_defaults(work=work)
        if name in ("import", "export"):
            command.add_argument("out", nargs="?", help="the folder to write to")
        if name == "export":
            command.add_argument("--format", choices=("npy", "lerobot"), default="npy",
                                 help="lerobot: Parquet files in LeRobot's layout v3.0, with pictures of cameras")
            command.add_argument("--task", default="", help="LeRobot: what the robot shall do, a sentence")
    arguments = parser.parse_args(words)
    if "out" in arguments and arguments.out is None:
        what = "what it exports" if arguments.work is _export else "the data set"
        command = f"data {arguments.command}"
        print(f"stet: {command}: no folder is named for {what}; give a second one: stet {command} {arguments.folder} "
              "OUT", file=sys.stderr)
        sys.exit(2)
    try:
        arguments.work(arguments)
    except (Error, OSError) as error:
        print(f"stet: {error}", file=sys.stderr)
        sys.exit(2)
