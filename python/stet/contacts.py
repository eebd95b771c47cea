"""Contacts of two sets of geoms, in all worlds in one call: Sim.contacts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ._errors import ArgumentTypeError, LimitError

_Names = str | int | Iterable[str | int] | None


class Contacts(NamedTuple):
    """What touches what, of two sets of geoms."""

    count: np.ndarray
    """[worlds] How many contacts."""
    force: np.ndarray
    """[worlds, 3] Force on the first set by the second, N, in the world's frame: of all these contacts together."""
    dist: np.ndarray
    """[worlds] The least distance of a contact, m, negative in each other; infinity without a contact."""
    slots: np.ndarray
    """[worlds, slots] bool: which of Sim.contact_pos, contact_dist … are these."""
    swapped: np.ndarray
    """[worlds, slots] bool: those whose first geom is of the second set, so that normals point the other way."""


def _numbers(model: Any, kind: str, names: _Names) -> list[int]:
    """Of geoms or bodies, given by names or numbers."""
    out = []
    for name in [names] if isinstance(names, (str, int, np.integer)) else names or ():
        if isinstance(name, str):
            out.append(model.find(kind, name))
        elif isinstance(name, (int, np.integer)):
            out.append(int(name))
        else:
            raise ArgumentTypeError(f"contacts: {kind} are named by str or int, not {type(name).__name__!r}")
    return out


def _members(model: Any, geoms: _Names, bodies: _Names) -> np.ndarray:
    """[ngeom] bool: the geoms meant, those named and those of the bodies; none given: all."""
    if geoms is None and bodies is None:
        return np.ones(model.ngeom, np.bool_)
    meant = np.isin(model.geom_bodyid, _numbers(model, "bodies", bodies))
    meant[_numbers(model, "geoms", geoms)] = True
    return meant


def find_contacts(sim: Any, geom1: _Names, geom2: _Names, body1: _Names, body2: _Names) -> Contacts:
    """See Sim.contacts."""
    first, second = _members(sim.model, geom1, body1), _members(sim.model, geom2, body2)
    n = sim.nworld
    pair = sim.contact_geom.host().reshape(n, -1, 2)
    found = sim.ncon.host()[:, 0]
    if (found > pair.shape[1]).any():
        world = int(np.argmax(found))
        raise LimitError(f"contacts: world {world} has {found[world]} contacts, and {pair.shape[1]} are kept; call "
                         "set_contact_slots with more before the first use of contacts")
    filled = pair[..., 0] >= 0
    straight = filled & first[pair[..., 0]] & second[pair[..., 1]]
    swapped = filled & second[pair[..., 0]] & first[pair[..., 1]] & ~straight
    slots = straight | swapped
    frame = sim.contact_frame.host().reshape(n, -1, 3, 3)
    force = np.einsum("wsij,wsi->wsj", frame, sim.contact_force.host().reshape(n, -1, 6)[..., :3])
    sign = swapped.astype(frame.dtype) - straight  # a slot's force is that on its second geom
    dist = np.where(slots, sim.contact_dist.host(), np.inf).min(axis=1, initial=np.inf)
    return Contacts(slots.sum(axis=1), np.einsum("ws,wsj->wj", sign, np.where(slots[..., None], force, 0)), dist, slots,
                    swapped)
