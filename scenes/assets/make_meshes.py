#!/usr/bin/env python3
"""Writes the mesh of scenes/arm_table.xml: mug.obj, beside this file.

The mug is a closed surface of revolution (outer wall, rim, inner wall, bottom) and a handle, a bent tube whose two
ends lie inside the wall. Units are metres, z is up, the origin is the middle of the bottom. Standard library only, and
the same bytes at each run.
"""
import math
import os

SIDES = 28  # facets round the mug
PROFILE = [  # (radius, height) from the middle of the bottom, outside first, back to the axis inside; metres
    (0.000, 0.000),
    (0.030, 0.000),
    (0.034, 0.004),
    (0.036, 0.040),
    (0.036, 0.088),
    (0.0345, 0.090),
    (0.032, 0.088),
    (0.031, 0.040),
    (0.028, 0.008),
    (0.000, 0.006),
]
BENDS, TUBE = 12, 8  # facets along and round the handle
HANDLE_CENTRE = (0.034, 0.047)  # (x, z) of the middle of the handle's arc, in the wall
HANDLE_RADII = (0.026, 0.027)  # of the arc along x and z
TUBE_RADII = (0.0042, 0.0060)  # of the tube in the plane of the arc and across it


def revolve(profile, sides):
    """Vertices and triangles (0-based) of a profile that starts and ends on the z axis, seen from outside."""
    verts, tris, rings = [], [], []
    for radius, height in profile:
        if radius == 0.0:
            rings.append([len(verts)] * sides)
            verts.append((0.0, 0.0, height))
            continue
        rings.append(list(range(len(verts), len(verts) + sides)))
        for i in range(sides):
            angle = 2.0 * math.pi * i / sides
            verts.append((radius * math.cos(angle), radius * math.sin(angle), height))
    for low, high in zip(rings, rings[1:]):
        for i in range(sides):
            j = (i + 1) % sides
            if low[i] != low[j]:
                tris.append((low[i], low[j], high[j]))
            if high[i] != high[j]:
                tris.append((low[i], high[j], high[i]))
    return verts, tris


def handle(bends, tube):
    """Vertices and triangles (0-based) of half an ellipse of tube in the x-z plane, closed with a fan at each end."""
    verts, tris = [], []
    for b in range(bends + 1):
        angle = math.pi * (b / bends - 0.5)
        out = (math.cos(angle), math.sin(angle))
        x0 = HANDLE_CENTRE[0] + HANDLE_RADII[0] * out[0]
        z0 = HANDLE_CENTRE[1] + HANDLE_RADII[1] * out[1]
        for t in range(tube):
            turn = 2.0 * math.pi * t / tube
            reach = TUBE_RADII[0] * math.cos(turn)
            verts.append((x0 + reach * out[0], TUBE_RADII[1] * math.sin(turn), z0 + reach * out[1]))
    for b in range(bends):
        for t in range(tube):
            u = (t + 1) % tube
            p, q = b * tube, (b + 1) * tube
            tris += [(p + t, p + u, q + u), (p + t, q + u, q + t)]
    last = bends * tube
    for t in range(1, tube - 1):
        tris += [(0, t + 1, t), (last, last + t, last + t + 1)]
    return verts, tris


def write_obj(path, title, parts):
    lines = [f"# {title}", "# written by make_meshes.py", "# units: m"]
    faces, base = [], 1
    for verts, tris in parts:
        lines += [f"v {x:.6f} {y:.6f} {z:.6f}" for x, y, z in verts]
        faces += [f"f {a + base} {b + base} {c + base}" for a, b, c in tris]
        base += len(verts)
    with open(path, "w", encoding="ascii", newline="\n") as file:
        file.write("\n".join(lines + faces) + "\n")


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    write_obj(os.path.join(here, "mug.obj"), "a mug", [revolve(PROFILE, SIDES), handle(BENDS, TUBE)])


if __name__ == "__main__":
    main()
