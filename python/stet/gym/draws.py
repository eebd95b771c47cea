"""Random numbers of episodes: functions of (key, world, number of the episode, number of the draw), so that a world's
episodes depend neither on how many worlds there are nor on when theirs ended (episode.k.h, EPISODE-1).
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from stet import _core

_ROWS = 2**31  # streams from here on are the keys of branches


class Draws:
    """Random numbers for the worlds that begin an episode, a row a world, in the order of worlds."""

    library: Any = np  # that computes with them

    def __init__(self, key: Any, world: Any, episode: Any) -> None:
        self._key, self._episode = np.asarray(key, np.uint32), np.asarray(episode, np.uint32)
        self.worlds = np.asarray(world)
        """The worlds' numbers."""
        self._stream = self._streams = 0
        self._next = 0  # groups of four numbers that were drawn

    def __len__(self) -> int:
        return len(self.worlds)

    def constant(self, x: Any) -> Any:
        """Numbers of NumPy where the random ones are."""
        return x

    @property
    def begins(self) -> Any:
        """bool [worlds]: which of these worlds begin an episode: all, but with episodes="device" (VectorEnv)."""
        return np.ones(len(self), np.bool_)

    def _unit(self, size):
        """[worlds, size] in [0, 1), multiples of 2**-32."""
        groups = (size + 3) // 4
        words = _core._random_words(self._key, self.worlds, self._episode, self._stream, self._next, groups)
        self._next += groups
        return words[:, :size] * 2.0**-32

    def uniform(self, low: Any, high: Any, size: int) -> Any:
        """[worlds, size] between low and high: numbers, or one each of the size."""
        return low + (np.asarray(high) - low) * self._unit(size)

    def branch(self, row: int, occasion: Any) -> Draws:
        """Random numbers of their own for a row of a table, and the how-manieth time that it is drawn (in an episode;
        a number, or one a world).
        """
        stream = _ROWS + np.asarray(occasion, np.uint32)
        key = _core._random_words(self._key, self.worlds, self._episode, stream, row, 1)[:, :2]
        return Draws(key, self.worlds, self._episode)

    def until(self, good: Callable[[Any], Any], draw: Callable[[Draws], Any]) -> Any:
        """The rows of draw(draws), each drawn again until it is good: good(rows) is bool [worlds]. What is drawn
        afterwards does not depend on how often that was.
        """
        self._streams += 1
        again = copy.copy(self)
        again._stream, again._next = self._streams, 0
        rows = draw(again)
        while not good(rows).all():
            rows = self.library.where(good(rows)[:, None], rows, draw(again))
        return rows

    def normal(self, size: int) -> Any:
        """[worlds, size] of the standard normal distribution."""
        u, library = self._unit(2 * size), self.library
        return library.sqrt(-2 * library.log1p(-u[:, :size])) * library.cos(2 * np.pi * u[:, size:])
