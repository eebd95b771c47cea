"""Random numbers of episodes: functions of (key, world, number of the episode, number of the draw), so that a world's
episodes depend neither on how many worlds there are nor on when theirs ended (episode.k.h, EPISODE-1).
"""

import copy

import numpy as np

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def _philox(counter, key):
    """Philox4x32-10 of arrays of 32-bit numbers, held in uint64: four counters, two keys, four results."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        p, q = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        c0, c1, c2, c3 = (q >> _HALF) ^ c1 ^ k0, q & _LOW, (p >> _HALF) ^ c3 ^ k1, p & _LOW
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & _LOW, (k1 + np.uint64(0xBB67AE85)) & _LOW
    return c0, c1, c2, c3


class Draws:
    """Random numbers for the worlds that begin an episode, a row a world, in the order of worlds."""

    def __init__(self, key, world, episode):
        self._stream = self._streams = np.uint64(0)
        self._key = [np.asarray(key, np.uint64)[:, i, None] for i in (0, 1)]
        self._world, self._episode = (np.asarray(x, np.uint64)[:, None] for x in (world, episode))
        self.worlds = np.asarray(world)
        """The worlds' numbers."""
        self._next = 0  # groups of four numbers that were drawn

    def __len__(self):
        return len(self._world)

    def _unit(self, size):
        """[worlds, size] in [0, 1), multiples of 2**-32."""
        groups = (size + 3) // 4
        group = np.arange(self._next, self._next + groups, dtype=np.uint64)[None]
        self._next += groups
        zero = np.zeros_like(group)
        bits = _philox((group, zero + self._stream, self._world + zero, self._episode + zero), self._key)
        return np.stack(bits, 2).reshape(len(self), 4 * groups)[:, :size] * 2.0**-32

    def uniform(self, low, high, size):
        """[worlds, size] between low and high: numbers, or one each of the size."""
        return low + (np.asarray(high) - low) * self._unit(size)

    def until(self, good, draw):
        """The rows of draw(draws), each drawn again until it is good: good(rows) is bool [worlds]. What is drawn
        afterwards does not depend on how often that was.
        """
        self._streams += np.uint64(1)
        again = copy.copy(self)
        again._stream, again._next = self._streams, 0
        rows = draw(again)
        while not good(rows).all():
            rows = np.where(good(rows)[:, None], rows, draw(again))
        return rows

    def normal(self, size):
        """[worlds, size] of the standard normal distribution."""
        u = self._unit(2 * size)
        return np.sqrt(-2 * np.log1p(-u[:, :size])) * np.cos(2 * np.pi * u[:, size:])
