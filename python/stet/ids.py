"""Ids of pixels: the names, labels and colours of what pictures show."""

from __future__ import annotations

from typing import NamedTuple

from . import _core
from ._errors import InvalidArgumentError


class IdRow(NamedTuple):
    """What is known of an id.

    id             as pixels have it
    name           the model's; what has none there: its kind and number, and its body
    label          what the caller gave it; "": none
    class_id       of its label: 1, 2 … in the order in which labels first came; 0: without one; -1: the sky
    colour         of the id, three bytes
    class_colour   of its class
    """

    id: int
    name: str
    label: str
    class_id: int
    colour: tuple[int, int, int]
    class_colour: tuple[int, int, int]


class Ids:
    """A table of ids: see Sim.ids."""

    def __init__(self, sim: _core.SimBase, table: _core._Ids) -> None:
        self._sim = sim
        self._table = table

    def __repr__(self) -> str:
        return f"<stet.Ids, {len(self._table.rows())} ids>"

    @property
    def rows(self) -> list[IdRow]:
        """All ids, in order."""
        return [IdRow(*row) for row in self._table.rows()]

    def label(
        self, label: str, *, id: int | None = None, body: str | None = None, geom: str | None = None
    ) -> None:
        """Gives a label to an id; or to a body, by name, with all that is below it; or to a geom. "": none. Things of
        one label are a class; a later label replaces an earlier one.
        """
        if sum(one is not None for one in (id, body, geom)) != 1:
            raise InvalidArgumentError("label: give one of id, body and geom")
        if id is not None:
            self._table.label_id(id, label)
        else:
            name = body if geom is None else geom
            self._table.label_prim(geom is not None, name, label)

    def colour(self, pixels: _core.Array, out: _core.Array | None = None, *, by_class: bool = False) -> _core.Array:
        """The colours of ids, on the device: three bytes for each number of `pixels`, a tensor of Sim.tensor or
        Tiles.tensor of int32, [world, height, width, 1]. by_class: the colours of their classes. out: where to,
        zeros([world, height, width, 3 or 4], "uint8"); None: a new one.
        """
        if out is None:
            out = self._sim.zeros((*pixels.shape[:-1], 3), "uint8")
        self._table.colour(pixels, out, by_class)
        return out

    def classify(self, pixels: _core.Array, out: _core.Array | None = None) -> _core.Array:
        """The classes of ids, on the device: a semantic segmentation, int32 of the shape of `pixels`."""
        if out is None:
            out = self._sim.zeros(pixels.shape, "int32")
        self._table.classify(pixels, out)
        return out


def make_ids(sim: _core.SimBase, of: str | range) -> Ids:
    if isinstance(of, range):
        if of.step != 1:
            raise InvalidArgumentError(f"ids: {of} has gaps; give a range without a step")
        return Ids(sim, _core._plain_ids(sim, of.start, len(of)))
    return Ids(sim, _core._model_ids(sim, of))
