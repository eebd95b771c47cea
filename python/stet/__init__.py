"""stet: many copies of a robot scene at once, stepped and looked at; what has not changed is let stand.

    import stet

    with stet.Sim("scenes/hand.xml", worlds=64, outputs=("rgb",)) as sim:
        sim.ctrl[:] = 0.1
        sim.step(10)
        sim.render()
        pixels = sim.read("rgb")      # [64, 128, 128, 3], uint8
"""

from pathlib import Path as _Path

from ._core import Array, Device, Export, Kernel, Loop, Model, Record, Snapshot, __version__
from ._errors import (
    ArgumentTypeError,
    AuditError,
    DeviceError,
    Error,
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
from .info import info
from .sim import Sim, load

scenes = _Path(__file__).parent / "scenes"
"""The folder of the shipped scenes: stet.scenes / "hand.xml"."""

__all__ = [
    "ArgumentTypeError",
    "Array",
    "AuditError",
    "Device",
    "DeviceError",
    "Error",
    "Export",
    "FileError",
    "InvalidArgumentError",
    "Kernel",
    "LimitError",
    "Loop",
    "MissingFileError",
    "Model",
    "NotFoundError",
    "OutOfMemoryError",
    "ParseError",
    "Record",
    "Sim",
    "Snapshot",
    "StateError",
    "StrictError",
    "UnsupportedError",
    "__version__",
    "info",
    "load",
    "scenes",
]
