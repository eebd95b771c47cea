"""One reader: the look that it has chosen, and a thread that draws for it as fast as it draws itself.

A picture is sent when the page has said that it drew the one before ("shown"), so a slow or stalled reader gets fewer
pictures and slows neither the run nor other readers; steps that it did not see are counted as skipped. While a page
is quick, its next picture is drawn as the last one is encoded, sent and shown.

What takes longer to draw than the rate allows is drawn with half as many pixels of a side while it moves, unless the
page wants all of them, and with all once it stands still. A paused run that nobody looks at differently is drawn once
more, finely.
"""

from __future__ import annotations

import dataclasses
import json
import struct
import threading
import time
import traceback
from typing import Any

import numpy as np

from . import messages, overlay
from .pictures import OUTPUTS, Hit, Look, Picture, body_point, difference, encode
from .source import Sample, Wants


_QUICK = 0.05  # seconds in which a page shows a picture, and after which one that was drawn ahead is drawn anew
_STILL = 0.4  # seconds until what does not move is drawn with all pixels, and a paused run finely
_COARSE = 2  # as many pixels of a side of what moves and is slow to draw, as one


@dataclasses.dataclass
class _Painted:
    """A picture that was not sent yet, and what goes with it."""

    head: dict[str, Any]
    pixels: Any
    at: float


class Reader:
    """Serves one open connection: serve() returns when it is closed. Its state is guarded by _changed, which is taken
    before the source's.

    One thread draws, one encodes and sends. At most one picture is on its way to the page, and one more is drawn.
    """

    def __init__(self, connection: Any, source: Any, painter: Any, rate: float, share: float) -> None:
        self._connection, self._source, self._painter = connection, source, painter
        self._least_seconds, self._share = 1 / rate, share  # between two pictures; of the time, for drawing
        self._changed = threading.Condition()
        self._look: Look | None = None
        self._sample: Sample | None = None
        self._stale = False  # the picture that was sent last does not show look and sample
        self._shown, self._quick = True, False
        self._unshown = 0  # pictures that are drawn, or being drawn, and were not shown yet
        self._sent_at = 0.0
        self._painted: _Painted | None = None
        self._fine = False  # the picture that was drawn last is a fine one
        self._coarse = self._slow = False  # … has fewer pixels; all of them take too long while something moves
        self._closed = False
        self._picture: Picture | None = None  # the one that was drawn last, of _look
        self._held: Hit | None = None  # what the reader pulls
        self._target: Any = None  # and where to
        self._trail = overlay.Trail()
        self._steps = 0
        self.sent = self.skipped = 0

    def serve(self) -> None:
        threads = [threading.Thread(target=self._guarded, args=(work,), name=f"stet.view {name}", daemon=True)
                   for work, name in ((self._paint_all, "pictures"), (self._send_all, "sending"))]
        for thread in threads:
            thread.start()
        self._source.greet(self)
        try:
            self._send_json({"facts": self._source.facts() | {"outputs": OUTPUTS, "decorations": messages.DECORATIONS}})
            for text in self._connection:
                try:
                    self._obey(*messages.parse(text))
                except ValueError as error:
                    # A page of ours sends no such thing: whoever it is does not get another chance.
                    self._connection.close(1008, str(error)[:100])
        except Exception as error:
            if not _is_closing(error):  # a browser that was killed does not say good-bye
                traceback.print_exc()
        finally:
            with self._changed:
                self._closed = True
                self._changed.notify_all()
            self._source.forget(self)
            self._source.release(self)
            for thread in threads:
                thread.join()

    # ---- messages ----------------------------------------------------------------------------------------------------

    def _obey(self, kind, entries):
        if kind == "look":
            self._set_look(Look(**entries))
        elif kind == "shown":
            with self._changed:
                self._shown, self._quick = True, time.monotonic() - self._sent_at < _QUICK
                self._unshown = max(0, self._unshown - 1)
                self._changed.notify_all()
            self._ask()
        elif kind == "pick":
            self._pick(entries)
        else:
            try:
                if kind == "grab":
                    self._grab(entries)
                elif kind == "pull":
                    self._pull(entries)
                elif kind == "release":
                    self._release()
                else:
                    self._source.tell(kind, entries)
            except ValueError as error:
                self._send_json({"sentence": str(error)})

    def _set_look(self, look):
        model = self._source.model
        if look.output not in OUTPUTS or look.camera and look.camera not in model.cameras:
            raise ValueError("look: no such output or camera")
        if look.first + look.count > self._source.nworld or max(look.follow, look.trail) >= model.nbody:
            raise ValueError("look: no such world or body")
        with self._changed:
            self._look, self._stale = look, True
            self._changed.notify_all()
        self._ask()

    def _ask(self):
        with self._changed:  # until it has asked: the question of an older look must not replace that of a newer one
            look, sample = self._look, self._sample
            if look is not None:
                wants = Wants(look.first, look.count, look.plots, look.dynamics, look.timeline)
                self._source.ask(self, wants, sample and (sample.number, sample.wants), self._deliver)

    def _deliver(self, sample):
        with self._changed:
            self._sample, self._stale = sample, True
            self._changed.notify_all()

    def _find(self, entries):
        with self._changed:
            look, sample = self._look, self._sample
        if look and sample and (sample.wants.first, sample.wants.count) == (look.first, look.count):
            x, state = entries["x"], sample.state
            if sample.other is not None:
                state = sample.other if x >= 0.5 else sample.state
                x = 2 * x % 1
            return self._painter.pick(_half(look) if sample.other else look, state, x, entries["y"])
        return Hit(-1, -1, None, 0.0, None)

    def _pick(self, entries):
        hit = self._find(entries)
        self._send_json({"picked": {"world": hit.world, "body": hit.body}})

    # ---- pulling -----------------------------------------------------------------------------------------------------

    def _grab(self, entries):
        self._release()
        hit = self._find(entries)
        if hit.body <= 0:
            raise ValueError("there is no body that could be pulled")
        self._held = hit
        self._pull(entries)

    def _pull(self, entries):
        with self._changed:
            look, picture, held = self._look, self._picture, self._held
        if held is None or not look.first <= held.world < look.first + look.count:
            return
        k = held.world - look.first
        camera = picture.cameras[k] if picture else held.camera
        # Also beyond the edge of the world's own picture.
        column, row = k % look.columns, k // look.columns
        rows = -(-look.count // look.columns)
        target = camera.point(entries["x"] * look.columns - column, entries["y"] * rows - row, held.depth)
        self._source.pull(self, held.world, held.body, held.point, target)
        with self._changed:
            self._target, self._stale = target, True
            self._changed.notify_all()

    def _release(self):
        with self._changed:
            self._stale = self._stale or self._held is not None
            self._held = self._target = None
            self._changed.notify_all()
        self._source.release(self)

    # ---- pictures ----------------------------------------------------------------------------------------------------

    def _guarded(self, work):
        try:
            work()
        except Exception as error:
            if not self._closed:
                try:
                    self._connection.close(1011, f"the picture could not be drawn: {error}"[:100])
                except Exception:
                    pass
                if not _is_closing(error):
                    raise

    def _paint_all(self):
        while (todo := self._wait()) is not None:
            began = time.monotonic()
            painted = self._paint(*todo)
            took = time.monotonic() - began
            with self._changed:
                self._judge(took)
                self._changed.wait_for(lambda: self._closed or self._painted is None)
                self._painted = painted
                self._changed.notify_all()
            if self._quick:
                self._ask()
            time.sleep(max(0.0, self._least_seconds - took, took * (1 / self._share - 1)))

    def _judge(self, took):
        """Whether the next picture of what moves has fewer pixels: all of them as fast as the rate, with room to spare
        before they come back.
        """
        if not self._fine:
            self._slow = took * _COARSE**2 > 0.7 * self._least_seconds if self._coarse else took > self._least_seconds

    def _fits(self):
        look, sample = self._look, self._sample
        return look and sample and (sample.wants.first, sample.wants.count) == (look.first, look.count)

    def _wait(self):
        """Until there is something to draw: look, sample, rays a pixel and whether it is drawn with fewer pixels; None
        once the connection is closed.
        """
        def ready():
            return self._closed or self._unshown <= self._quick and self._stale and self._fits()

        with self._changed:
            while not self._changed.wait_for(ready, _STILL):
                if self._unshown or not self._fits():
                    continue
                if not self._fine and self._look.output == "rgb" and self._sample.facts.get("paused"):
                    self._fine, self._coarse = True, False
                    break
                if self._coarse:
                    self._coarse = False
                    break
            else:
                self._fine = False
                self._coarse = self._slow and self._look is not None and not self._look.full
            self._unshown += 1
            self._stale = False
            return None if self._closed else (self._look, self._sample, 4 if self._fine else 1, self._coarse)

    def _paint(self, look, sample, samples, coarse):
        half = _half(look) if sample.other else look
        if coarse:
            width, height = (max(16, side // _COARSE) for side in (half.width, half.height))
            half = dataclasses.replace(half, width=width, height=height)
        picture = self._painter.paint(half, sample.state, samples)
        pixels, view, marks = picture.pixels, picture.view, picture.marks + self._marks(look, sample, picture)
        if sample.other:
            other = self._painter.paint(dataclasses.replace(half, view=view), sample.other, samples).pixels
            pixels = np.concatenate([pixels, difference(pixels, other)], axis=1)
            marks = [[colour, [[x / 2, y] for x, y in places]] for colour, places in marks]
        with self._changed:
            self._picture = picture if self._look is look else None
            if look.view is None and view and self._look is look:  # a camera that shows the whole scene stays there
                self._look = dataclasses.replace(look, view=view)
        head = sample.facts | {"first": look.first, "count": look.count, "columns": half.columns, "view": view,
                               "sides": 2 if sample.other else 1, "marks": marks, "rays": samples,
                               "coarse": _COARSE if coarse else 1}
        return _Painted(head, pixels, time.monotonic())

    def _send_all(self):
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._painted)
                painted, self._painted = self._painted, None
                self._changed.notify_all()
            if self._closed:
                return
            image = encode(painted.pixels)
            with self._changed:
                late = not self._shown
                self._changed.wait_for(lambda: self._closed or self._shown)
                if late and time.monotonic() - painted.at > _QUICK and not self._closed:  # the page was not quick
                    self._stale, self._unshown = True, max(0, self._unshown - 1)
                    self._changed.notify_all()
                    continue
                self._shown, self._sent_at = False, time.monotonic()
                self._changed.notify_all()
            self._send(painted.head, image)

    def _send(self, head, image):
        self.skipped += max(0, head["steps"] - self._steps - 1)
        self._steps = head["steps"]
        self.sent += 1
        text = json.dumps(head | {"sent": self.sent, "skipped": self.skipped}).encode()
        self._connection.send(struct.pack("<I", len(text)) + text + image)

    def _marks(self, look, sample, picture):
        """What the reader's own history draws over a picture of one world."""
        if look.count != 1:
            return []
        out, camera = [], picture.cameras[0]
        if look.trail >= 0:
            place = picture.xpos[0, look.trail].astype(float)
            self._trail.add((look.first, look.trail), sample.facts["time"][0], place)
            out += self._trail.marks(camera)
        with self._changed:
            held, target = self._held, self._target
        if held is not None and target is not None and held.world == look.first:
            out += overlay.pull_marks(camera, body_point(picture, 0, held.body, held.point), target)
        return out

    def _send_json(self, message):
        self._connection.send(json.dumps(message))


def _half(look):
    return dataclasses.replace(look, width=max(16, look.width // 2))


def _is_closing(error):
    from websockets.exceptions import ConnectionClosed

    return isinstance(error, ConnectionClosed)
