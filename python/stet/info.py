"""What this build and this machine have."""

from typing import Any

from . import _core
from ._errors import Error

_TYPES = {"cpu": 1, "cuda": 3, "hip": 4}


def _device(kind):
    try:
        return repr(_core._probe(_TYPES[kind], 0, ""))
    except Error as error:
        return str(error)


def info() -> dict[str, Any]:
    """Versions; devices, or why there is none; the tables of mechanisms, outputs (element type, channels) and faults
    (bits); memory that the library holds; objects that are alive.
    """
    tables = _core._tables()
    return {
        "version": _core.__version__,
        "mujoco": _core.mujoco_version,
        "devices": {kind: _device(kind) for kind in _TYPES},
        "mechanisms": tables["mechanisms"],
        "outputs": tables["outputs"],
        "faults": tables["faults"],
        "memory": _core._memory(),
        "alive": _core._alive(),
    }
