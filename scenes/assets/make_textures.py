#!/usr/bin/env python3
"""Writes the faces of the cube in scenes/hand.xml: cube_a.png to cube_f.png, beside this file.

A face is a square of one colour with a letter and a frame in another. Standard library only, and the same bytes at
each run of one release of zlib.
"""
import math
import os
import struct
import zlib

SIDE = 128  # pixels
STROKE, FRAME = 0.065, 0.016  # half widths of lines; lengths are in sides of a face, x right and y up from its middle
FRAME_SIDE, FRAME_ROUND = 0.41, 0.06  # half the frame's side; radius of its corners
LIGHT, DARK = (248, 247, 243), (34, 38, 44)
FACES = {  # letter: colour of the face, of the letter
    "a": ((214, 48, 46), LIGHT),
    "b": ((240, 136, 32), DARK),
    "c": ((38, 94, 204), LIGHT),
    "d": ((46, 158, 82), LIGHT),
    "e": ((224, 224, 218), DARK),
    "f": ((248, 212, 52), DARK),
}


def arc(x, y, rx, ry, begin, end, parts=16):
    """Points of an ellipse's arc; angles in degrees."""
    angles = [math.radians(begin + (end - begin) * i / parts) for i in range(parts + 1)]
    return [(x + rx * math.cos(a), y + ry * math.sin(a)) for a in angles]


LETTERS = {  # lines through points
    "a": [[(-0.2, -0.25), (0, 0.25), (0.2, -0.25)], [(-0.13, -0.08), (0.13, -0.08)]],
    "b": [
        [(-0.17, -0.25), (-0.17, 0.25), *arc(0.04, 0.13, 0.12, 0.12, 90, -90), (-0.17, 0.01)],
        [*arc(0.05, -0.12, 0.14, 0.13, 90, -90), (-0.17, -0.25)],
    ],
    "c": [arc(0.02, 0, 0.21, 0.25, 48, 312, 32)],
    "d": [[(-0.18, -0.25), (-0.18, 0.25), *arc(-0.03, 0, 0.22, 0.25, 90, -90, 32), (-0.18, -0.25)]],
    "e": [[(0.17, 0.25), (-0.15, 0.25), (-0.15, -0.25), (0.17, -0.25)], [(-0.15, 0.01), (0.12, 0.01)]],
    "f": [[(0.17, 0.25), (-0.14, 0.25), (-0.14, -0.25)], [(-0.14, 0.0), (0.12, 0.0)]],
}


def to_segment(x, y, a, b):
    """Distance of (x, y) from the segment between two points."""
    wide, tall = b[0] - a[0], b[1] - a[1]
    along = ((x - a[0]) * wide + (y - a[1]) * tall) / (wide * wide + tall * tall)
    along = min(max(along, 0.0), 1.0)
    return math.hypot(x - a[0] - along * wide, y - a[1] - along * tall)


def to_letter(x, y, lines):
    return min(to_segment(x, y, a, b) for line in lines for a, b in zip(line, line[1:])) - STROKE


def to_frame(x, y):
    inner = FRAME_SIDE - FRAME_ROUND
    dx, dy = abs(x) - inner, abs(y) - inner
    outside = math.hypot(max(dx, 0.0), max(dy, 0.0)) + min(max(dx, dy), 0.0) - FRAME_ROUND
    return abs(outside) - FRAME


def draw(letter):
    """Rows of a face's bytes R G B, from the top."""
    ground, ink = FACES[letter]
    rows = []
    for j in range(SIDE):
        row = bytearray()
        for i in range(SIDE):
            x, y = (i + 0.5) / SIDE - 0.5, 0.5 - (j + 0.5) / SIDE
            far = min(to_letter(x, y, LETTERS[letter]), to_frame(x, y))
            cover = min(max(0.5 - far * SIDE, 0.0), 1.0)
            row += bytes(round(g + (k - g) * cover) for g, k in zip(ground, ink))
        rows.append(bytes(row))
    return rows


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def write_png(path, rows):
    head = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b""))


def main():
    for letter in FACES:
        write_png(os.path.join(os.path.dirname(os.path.abspath(__file__)), f"cube_{letter}.png"), draw(letter))


if __name__ == "__main__":
    main()
