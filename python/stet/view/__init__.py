"""A page in the browser that shows a run in progress or a recording.

    with stet.Sim("scenes/humanoid.xml", worlds=64) as sim:
        print(sim.view().url)             # open it; then step as always
        while training:
            sim.step(5)

The run is sampled behind sim.step, in the thread that calls it and only when a picture is wanted; pictures are drawn by
threads of the viewer's own, with sims of their own on the processor. doc/design/view.md says how and why.
"""

from __future__ import annotations

import atexit
import sys
from typing import Any

from .._errors import InvalidArgumentError, StateError
from .._libraries import check_libraries
from .._watch import watchers_of
from .source import Source


def check_share(share: float) -> None:
    """Of the processors' time, for drawing."""
    if not 0 < share <= 1:
        raise InvalidArgumentError(f"view: share is {share}; the part of the time for drawing is above 0, at most 1")


class Viewer:
    """What shows a source to readers, until close(). `url`: where they find it. rate: pictures a second
    for each of them, at most; share: of the processors' time, for drawing one's pictures.
    """

    def __init__(self, source: Source, port: int = 0, rate: float = 60.0, share: float = 1.0) -> None:
        check_share(share)
        check_libraries("stet.view", websockets="websockets", PIL="pillow")
        from .pictures import Painter
        from .reader import Reader
        from .server import Server

        self._source, self._closed = source, False
        self._painter = Painter(source.model, source.fields)
        self._server = Server(lambda connection: Reader(connection, source, self._painter, rate, share).serve(), port)
        self.url: str = self._server.url
        atexit.register(self.close)

    @property
    def closed(self) -> bool:
        """Whether the sim or the viewer was closed."""
        return self._closed

    def wait(self, seconds: float | None = None) -> bool:
        """Waits until the page is open somewhere, at most so many seconds; whether it is."""
        with self._source.changed:
            self._source.changed.wait_for(lambda: self._source.readers or self._closed, seconds)
            return bool(self._source.readers) and not self._closed

    def close(self) -> None:
        """Ends the page; the run goes on."""
        if not self._closed:
            with self._source.changed:
                self._closed = True
                self._source.changed.notify_all()
            atexit.unregister(self.close)
            self._source.close()
            self._server.close()
            self._painter.close()

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<stet.view.Viewer {'closed' if self._closed else self.url}>"


def view(sim: Any, *, port: int = 0, control: bool = False, speed: float = 0.0, rate: float = 60.0,
         share: float = 1.0, browser: bool = False, wait: bool = False) -> Viewer:
    """See Sim.view."""
    from .run import Run

    if sim.closed:
        raise StateError("view: the sim is closed")
    if not (rate > 0 and speed >= 0):
        raise InvalidArgumentError(f"view: rate is {rate} and speed {speed}; a rate is above 0, a speed not below")
    check_share(share)
    if any(isinstance(getattr(after, "__self__", None), Run) for after, _ in watchers_of(sim)):
        raise StateError("view: the sim has a viewer; close that one first")
    check_libraries("stet.view", websockets="websockets", PIL="pillow")
    run = Run(sim, control, speed)
    try:
        viewer = Viewer(run, port, rate, share)
    except BaseException:
        run.close()
        raise
    run.on_close = viewer.close
    if browser:
        import webbrowser

        webbrowser.open(viewer.url)
    if wait:
        print(f"{viewer.url}   (waits until this page is open)", file=sys.stderr, flush=True)
        viewer.wait()
    return viewer
