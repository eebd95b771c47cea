"""What the page sends, checked: a message is a JSON object whose "do" is a row of KINDS and which has the entries of
that row and no others. Whatever else arrives is a ValueError with a sentence.
"""

from __future__ import annotations

import json
import math
from typing import Any

MOST_BYTES = 4096
MOST_WORLDS = 256
MOST_PIXELS = 4096  # of a side of the picture
MOST_PLOTS = 8
DECORATIONS = ("joints", "frames", "inertia", "com")  # that a page can ask for; contacts are drawn over the picture


def _number(least, most):
    def check(value):
        if type(value) not in (int, float) or not math.isfinite(value) or not least <= value <= most:
            raise ValueError(f"is not a number from {least:g} to {most:g}")
        return float(value)

    return check


def _integer(least, most):
    def check(value):
        if type(value) is not int or not least <= value <= most:
            raise ValueError(f"is not a whole number from {least} to {most}")
        return value

    return check


def _text(value):
    if type(value) is not str or len(value) > 200:
        raise ValueError("is not a short text")
    return value


def _among(*names):
    def check(value):
        if value not in names:
            raise ValueError(f"is none of {', '.join(names)}")
        return value

    return check


def _flag(value):
    if type(value) is not bool:
        raise ValueError("is not true or false")
    return value


def _items(least, most, *checks):
    """A list of `least` to `most` elements; each is checked by its own check, or all by the only one."""

    def check(value):
        if type(value) is not list or not least <= len(value) <= most:
            raise ValueError(f"is not a list of {least} to {most}")
        return tuple(checks[min(i, len(checks) - 1)](x) for i, x in enumerate(value))

    return check


def _or_none(check):
    return lambda value: None if value is None else check(value)


_INT = 2**31 - 1
_LENGTH = _number(-1e6, 1e6)

KINDS: dict[str, dict[str, Any]] = {
    # What a reader looks at: all of it, each time that something of it changed.
    "look": {
        "camera": _text,  # of the model; "": the free one
        # azimuth, elevation, distance, x, y, z; None: so that what moves fills the picture
        "view": _or_none(_items(6, 6, _number(-1e6, 1e6), _number(-90, 90), _number(1e-6, 1e6), _LENGTH)),
        "whole": _flag,  # with view None: so that the whole scene fills the picture
        "output": _text,
        "first": _integer(0, _INT),  # world
        "count": _integer(1, MOST_WORLDS),
        "width": _integer(16, MOST_PIXELS),
        "height": _integer(16, MOST_PIXELS),
        "full": _flag,  # all of these pixels, however long they take; else half as many of a side where they are slow
        "follow": _integer(-1, _INT),  # body
        "groups": _items(0, 6, _integer(0, 5)),
        "show": _items(0, len(DECORATIONS), _among(*DECORATIONS)),
        "fisheye": _number(0, 360),  # vertical angle of view; 0: none
        "trail": _integer(-1, _INT),  # of a body
        "contacts": _flag,
        "forces": _flag,  # of contacts
        "timeline": _flag,  # of what the device did in a frame
        "plots": _items(0, MOST_PLOTS, _items(2, 2, _text, _integer(0, _INT))),  # field, item
    },
    "shown": {},  # the picture that came last was drawn: the next one may come
    "pick": {"x": _number(0, 1), "y": _number(0, 1)},  # which body is there, from the left and the top?
    "grab": {"x": _number(0, 1), "y": _number(0, 1)},  # the body there is pulled from now on
    "pull": {"x": _number(-9, 9), "y": _number(-9, 9)},  # to there
    "release": {},
    "pause": {"on": _flag},
    "step": {},
    "speed": {"factor": _number(0, 1000)},  # seconds of the simulation in one of the clock; 0: as fast as it goes
    "loop": {"on": _flag},  # a recording begins again at its end
    "seek": {"frame": _integer(0, _INT)},
    "reset": {"world": _integer(-1, _INT), "keyframe": _integer(-1, _INT)},  # world -1: all; keyframe -1: the first one
    "control": {"world": _integer(-1, _INT), "actuator": _integer(0, _INT), "value": _number(-1e9, 1e9)},
    "equality": {"world": _integer(-1, _INT), "equality": _integer(0, _INT), "on": _flag},  # a constraint
}


def parse(text: str | bytes) -> tuple[str, dict[str, Any]]:
    """The kind of a message, and its entries."""
    if not isinstance(text, str) or len(text) > MOST_BYTES:
        raise ValueError(f"a message is a text of at most {MOST_BYTES} characters")
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("a message is JSON") from None
    if type(message) is not dict or type(message.get("do")) is not str or message["do"] not in KINDS:
        raise ValueError(f'a message is an object whose "do" is one of {", ".join(KINDS)}')
    kind = message.pop("do")
    row = KINDS[kind]
    if message.keys() != row.keys():
        raise ValueError(f'"{kind}" has the entries {", ".join(row) or "(none)"}')
    out = {}
    for name, check in row.items():
        try:
            out[name] = check(message[name])
        except (ValueError, OverflowError) as error:
            raise ValueError(f"{kind}: {name} {error}") from None
    return kind, out
