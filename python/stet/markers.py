"""Markers: shapes that pictures show and physics does not know, added while a sim runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from ._errors import InvalidArgumentError, StateError

_WHERE = ("body", "site", "geom", "camera")


def _parent(what: str, names: Sequence[str | None]) -> tuple[str, str]:
    """The kind and the name of what a marker is under."""
    given = [(kind, name) for kind, name in zip(_WHERE, names) if name is not None]
    if len(given) > 1:
        raise InvalidArgumentError(f"{what}: give one of {', '.join(_WHERE)}, or none for the world")
    return given[0] if given else ("", "")


class Marker:
    """A shape that pictures show: see Sim.add_marker.

    Its pose, colour and visibility may differ between worlds: an argument with a value for each has the worlds first,
    [world, …]; else all have the same. `world`: only that one changes.
    """

    def __init__(self, sim: _core.SimBase, numbers: tuple[int, int, int]) -> None:
        self._sim = sim
        self._prim, self._shape, self._id = numbers
        self._gone = False

    def __repr__(self) -> str:
        return f"<stet.Marker, {'removed' if self._gone else f'id {self._id}'}>"

    def _ready(self, world: int | None) -> tuple[int, int]:
        if self._gone:
            raise StateError("this marker was removed; add another")
        return (0, self._sim.nworld) if world is None else (world, 1)

    @property
    def id(self) -> int:
        """What pixels of seg_geom have where it is seen: a number after those of the model's geoms."""
        return self._id

    @property
    def prim(self) -> int:
        """The number of the prim that moves, in the stage of the C library."""
        return self._prim

    def move(self, pos: ArrayLike, quat: ArrayLike | None = None, *, world: int | None = None) -> None:
        """Places it in the frame of what it is under: pos [3] or [world, 3], metres; quat w x y z, [4] or [world, 4];
        None: not turned.
        """
        first, n = self._ready(world)
        quat = (1, 0, 0, 0) if quat is None else quat
        for what, numbers, count in (("pos", pos, 3), ("quat", quat, 4)):
            if np.shape(numbers)[-1:] != (count,):
                raise InvalidArgumentError(f"move: {what} has shape {list(np.shape(numbers))}; give [{count}], or "
                                           f"[{n}, {count}]")
        _core._move_marker(self._sim, self._prim, pos, quat, first, n)

    def show(self, visible: ArrayLike = True, *, world: int | None = None) -> None:
        """Shows or hides it: one boolean, or [world]."""
        first, n = self._ready(world)
        _core._show_marker(self._sim, self._shape, visible, first, n)

    def hide(self, *, world: int | None = None) -> None:
        """show(False)."""
        self.show(False, world=world)

    def colour(self, rgb: ArrayLike, *, world: int | None = None) -> None:
        """Another colour, 0 to 1: [3] or [world, 3]. Its alpha stays."""
        first, n = self._ready(world)
        _core._colour_marker(self._sim, self._shape, rgb, first, n)

    def attach(
        self,
        *,
        body: str | None = None,
        site: str | None = None,
        geom: str | None = None,
        camera: str | None = None,
    ) -> None:
        """Puts it under something else, by name; under the world without a name. Its pose in that frame stays."""
        self._ready(None)
        _core._attach_marker(self._sim, self._prim, *_parent("attach", (body, site, geom, camera)))

    def remove(self) -> None:
        """Removes it for good; one that comes and goes is better hidden."""
        self._ready(None)
        _core._remove_marker(self._sim, self._prim)
        self._gone = True


def add_marker(
    sim: _core.SimBase,
    shape: str,
    size: float | Sequence[float],
    under: tuple[str | None, ...],
    rgba: Sequence[float] | None,
    mesh: str | None,
    material: str | None,
    name: str | None,
) -> Marker:
    sizes = [float(one) for one in (size if isinstance(size, Sequence) else (size,))]
    colour = [float(one) for one in (rgba if rgba is not None else (0, 0, 0, 0))]
    if len(sizes) > 3:
        raise InvalidArgumentError(f"add_marker: size has {len(sizes)} numbers; a shape has 3 at most")
    if len(colour) not in (3, 4):
        raise InvalidArgumentError(f"add_marker: rgba has {len(colour)} numbers; give 3, or 4 with alpha")
    if rgba is not None and len(colour) == 4 and colour[3] == 0:
        raise InvalidArgumentError("add_marker: alpha is 0; hide the marker with hide()")
    sizes += [0.0] * (3 - len(sizes))
    colour += [1.0] * (4 - len(colour))
    kind, parent = _parent("add_marker", under)
    return Marker(sim, _core._add_marker(sim, shape, sizes, kind, parent, colour, mesh, material, name))
