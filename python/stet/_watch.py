"""What follows each step of a sim in the thread that calls it: viewers, videos. A sim that nobody watches has nothing
of it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any


def watchers_of(sim: Any) -> list[tuple[Callable[[Any, int], None], Callable[[], None]]]:
    """Who watches it, in order."""
    return vars(sim).get("_watchers", [])


def watch(sim: Any, after_step: Callable[[Any, int], None], on_close: Callable[[], None]) -> Callable[[], None]:
    """after_step(sim, n) follows each sim.step(n), on_close() comes before sim.close(). What it returns ends that."""
    if not watchers_of(sim):
        _install(sim)
    entry, seen = (after_step, on_close), weakref.ref(sim)
    watchers_of(sim).append(entry)

    def stop() -> None:
        own = seen()
        if own is None or entry not in watchers_of(own):
            return
        watchers_of(own).remove(entry)
        if not watchers_of(own):
            for name in ("step", "close", "_watchers"):
                del vars(own)[name]

    return stop


def _install(sim):
    # Attributes of the object stand before methods of its class.
    seen, step, close = weakref.ref(sim), type(sim).step, type(sim).close

    def watched_step(n: int = 1, mask: Any = None) -> None:
        own = seen()
        step(own, n, mask)
        for after_step, _ in list(watchers_of(own)):
            after_step(own, n)

    def watched_close() -> None:
        own = seen()
        for _, on_close in list(watchers_of(own)):
            on_close()
        close(own)

    vars(sim).update(_watchers=[], step=watched_step, close=watched_close)
