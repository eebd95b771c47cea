"""Pools: sims of several scenes that stay, so that rounds of theirs alternate."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._core import Model
from ._errors import InvalidArgumentError
from .sim import Sim, SimOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Pool:
    """Sims that stay, so that rounds of several scenes alternate without making each other's anew.

        with stet.Pool() as pool:
            for scene in scenes:
                sim = pool.get(scene, worlds=64)
                with sim.round(…) as r: …

    bytes: what they may hold together, of the host and of devices. Then the one that was asked for longest ago is
    closed, but neither one in whose round one is nor the one that was asked for.
    """

    def __init__(self, bytes: int = 4 << 30) -> None:
        if not hasattr(bytes, "__index__") or bytes.__index__() < 0:
            raise InvalidArgumentError(f"a pool holds a number of bytes of 0 or more, not {bytes!r}")
        self._bytes = bytes.__index__()
        self._sims: OrderedDict[Any, Sim] = OrderedDict()
        self._found = self._made = self._evicted = 0

    def get(
        self,
        scene: str | os.PathLike[str] | Model,
        worlds: int = 1,
        device: str = "auto",
        **arguments: Unpack[SimOptions],
    ) -> Sim:
        """The Sim of a scene and these arguments (as of stet.Sim): the one that is there, if it was asked for in the
        same words before, or a new one. The pool closes it; a Model is the same if it is the same object, any other
        scene if it is the same text.
        """
        key = (scene if isinstance(scene, Model) else str(scene), worlds, str(device), _frozen(arguments))
        sim = self._sims.get(key)
        if sim is not None and not sim.closed:
            self._found += 1
            self._sims.move_to_end(key)
        else:
            sim = self._sims[key] = Sim(scene, worlds, device, **arguments)
            self._sims.move_to_end(key)
            self._made += 1
        self._trim(key)
        return sim

    def _trim(self, key):
        for old in list(self._sims):
            sim = self._sims[old]
            if sim.closed:
                del self._sims[old]
        held = {k: sim.bytes for k, sim in self._sims.items()}
        for old in list(self._sims):
            if sum(held.values()) <= self._bytes:
                return
            if old != key and not self._sims[old].round_info()["open"]:
                self._sims.pop(old).close()
                del held[old]
                self._evicted += 1

    def stats(self) -> dict[str, int]:
        """Now: sims, bytes. Ever: found, made, evicted."""
        open_sims = [sim for sim in self._sims.values() if not sim.closed]
        return {
            "sims": len(open_sims),
            "bytes": sum(sim.bytes for sim in open_sims),
            "found": self._found,
            "made": self._made,
            "evicted": self._evicted,
        }

    def close(self) -> None:
        """Closes all its sims."""
        for sim in self._sims.values():
            sim.close()
        self._sims.clear()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _frozen(value):
    if isinstance(value, Mapping):
        return tuple(sorted((k, _frozen(v)) for k, v in value.items()))
    if isinstance(value, (list, tuple)):
        return tuple(_frozen(v) for v in value)
    return value if value is None or isinstance(value, (int, float, str, bool)) else str(value)
