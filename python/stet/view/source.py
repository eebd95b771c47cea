"""Where pictures come from: a run in progress (run.py) or a recording (replay.py). Readers ask for a sample of the
states of some worlds; the source answers when it has one that they have not got yet.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from .framing import find_floor, first_look
from .messages import MOST_WORLDS

# What the forces of contacts depend on besides positions.
DYNAMICS = ("qvel", "act", "ctrl", "qfrc_applied", "xfrc_applied", "eq_active", "qacc_warmstart")


def plot_row(values: Any, world: int, item: int) -> list[float | None] | None:
    """[of the world, least, mean, greatest] of an item of values [world, item]; None: there is no such item."""
    if item >= values.shape[1]:
        return None
    column = values[:, item].astype(float)
    row = [column[world], column.min(), column.mean(), column.max()]
    return [float(x) if np.isfinite(x) else None for x in row]


@dataclasses.dataclass(frozen=True)
class Wants:
    """What a sample shall hold: worlds from `first` on, fields whose items are plotted; dynamics: also DYNAMICS;
    timeline: what the device did in a frame."""

    first: int
    count: int
    plots: tuple[tuple[str, int], ...] = ()
    dynamics: bool = False
    timeline: bool = False


@dataclasses.dataclass
class Sample:
    """States at one time. `number` grows with each change, so equal numbers mean equal states."""

    number: int
    wants: Wants
    state: dict[str, Any]  # [count, items] by the fields' names
    facts: dict[str, Any]  # what the page gets with the picture, as JSON
    other: dict[str, Any] | None = None  # states of another recording, to be shown beside these


class Source:
    """The part that runs and recordings share. _asked: by reader, what it wants, the number that it has, and whom to
    hand the sample. All of it is guarded by `changed`.
    """

    def __init__(self, model: Any, nworld: int, fields: tuple[str, ...]) -> None:
        self.model, self.nworld, self.fields = model, nworld, fields
        self.changed = threading.Condition()
        self.number = 0
        self.readers: set[object] = set()  # the open pages
        self._asked: dict[object, tuple[Wants, tuple, Callable[[Sample], None]]] = {}

    def facts(self) -> dict[str, Any]:
        """What the page has to know before the first picture."""
        model = self.model
        return {
            "worlds": self.nworld,
            "most": min(self.nworld, MOST_WORLDS),
            "cameras": list(model.cameras),
            "bodies": list(model.bodies),
            "keyframes": list(model.keyframes),
            "timestep": model.timestep,
            "look": first_look(model, self.nworld),
            "floor": find_floor(model),
        }

    def greet(self, reader: object) -> None:
        """A reader is there, until forget()."""
        with self.changed:
            self.readers.add(reader)
            self.changed.notify_all()

    def ask(self, reader: object, wants: Wants, has: tuple[int, Wants] | None, deliver: Callable) -> None:
        """Puts a reader's question, in place of the one that it put before."""
        with self.changed:
            self._asked[reader] = (wants, has, deliver)
            self.changed.notify_all()

    def forget(self, reader: object) -> None:
        with self.changed:
            self._asked.pop(reader, None)
            self.readers.discard(reader)

    def tell(self, kind: str, entries: dict[str, Any]) -> None:
        """Does what a message asks for; ValueError: a sentence why it does not."""
        raise NotImplementedError

    def pull(self, reader: object, world: int, body: int, point: Any, target: Any) -> None:
        """A point [3] of a body, in its frame, is pulled to a target [3] until release(); ValueError: why not."""
        raise ValueError("a recording is what it is: nothing of it can be pulled")

    def release(self, reader: object) -> None:
        """What this reader pulls, if anything, is free again."""

    def close(self) -> None:
        """Nobody is answered any more."""

    def take(self, wants: Wants) -> Sample:
        """A sample of the present state."""
        raise NotImplementedError

    def _new_asked(self):
        return any(has != (self.number, wants) for wants, has, _ in self._asked.values())

    def answer(self) -> None:
        """Answers each question that has a new answer; in the thread that owns the states. A question stays if taking
        a sample raises.
        """
        if not self._asked:
            return
        with self.changed:
            ready = [(reader, asked) for reader, asked in self._asked.items() if asked[1] != (self.number, asked[0])]
        samples = {wants: self.take(wants) for wants in {asked[0] for _, asked in ready}}
        with self.changed:
            for reader, asked in ready:
                if self._asked.get(reader) is asked:
                    del self._asked[reader]
        for _, (wants, _, deliver) in ready:
            deliver(samples[wants])
