"""stet: many copies of a robot scene at once, stepped and looked at; what has not changed is let stand.

    import stet

    with stet.Sim("scenes/hand.xml", worlds=64, outputs=("rgb",)) as sim:
        sim.ctrl[:] = 0.1
        sim.step(10)
        sim.render()
        pixels = sim.read("rgb")      # [64, 128, 128, 3], uint8
"""

import importlib as _importlib
import logging as _logging
from pathlib import Path as _Path
from typing import TYPE_CHECKING as _TYPE_CHECKING

from ._core import Adjoint, Array, Device, Export, Kernel, Loop, Model, Record, Snapshot, Tape, __version__, sum_worlds
from ._errors import (
    ArgumentTypeError,
    AuditError,
    DeviceError,
    Error,
    FaultError,
    FileError,
    InvalidArgumentError,
    LimitError,
    MissingFileError,
    NotFoundError,
    OutOfMemoryError,
    ParseError,
    StateError,
    StrictError,
    UnsupportedError,
)
from .adjoint import GradcheckResult, gradcheck
from .contacts import Contacts
from .group import Group
from .ids import IdRow, Ids
from .info import info
from .markers import Marker
from .pool import Pool
from .rounds import Round
from .scan import GridPattern, LidarPattern, RayPattern, Scanner
from .sim import Sim, load
from .tiles import Output, Picture, Tiles

if _TYPE_CHECKING:
    from . import control as control
    from . import data as data
    from . import gym as gym
    from . import jax as jax
    from . import terrain as terrain
    from . import torch as torch
    from . import video as video
else:

    def __getattr__(name):
        """Modules that need libraries of their own, or time, are imported when they are first used: stet.gym …"""
        if name in ("control", "data", "gym", "jax", "terrain", "torch", "video"):
            return _importlib.import_module(f".{name}", __name__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_logging.getLogger("stet").addHandler(_logging.NullHandler())  # silent unless the program sets up logging

scenes: _Path = _Path(__file__).parent / "scenes"
"""The folder of the shipped scenes: stet.scenes / "hand.xml"."""

__all__ = [
    "Adjoint",
    "ArgumentTypeError",
    "Array",
    "AuditError",
    "Contacts",
    "Device",
    "DeviceError",
    "Error",
    "Export",
    "FaultError",
    "FileError",
    "GradcheckResult",
    "GridPattern",
    "Group",
    "IdRow",
    "Ids",
    "InvalidArgumentError",
    "Kernel",
    "LidarPattern",
    "LimitError",
    "Loop",
    "Marker",
    "MissingFileError",
    "Model",
    "NotFoundError",
    "OutOfMemoryError",
    "Output",
    "ParseError",
    "Picture",
    "Pool",
    "RayPattern",
    "Record",
    "Round",
    "Scanner",
    "Sim",
    "Snapshot",
    "StateError",
    "StrictError",
    "Tape",
    "Tiles",
    "UnsupportedError",
    "__version__",
    "gradcheck",
    "info",
    "load",
    "scenes",
    "sum_worlds",
]
