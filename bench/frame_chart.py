#!/usr/bin/env python3
"""Draws a chart from the rows of `stet bench frame` in result files of one machine.

    .venv/bin/python bench/frame_chart.py bench/results/NAME.json … doc/frame.png    (make chart installs what it needs)

A row of the chart for each number of worlds and size of pictures. Left: ms a frame, naive, with one step more after the
other, and plainly written. Right: what a frame costs with one thing left out, over all. Bars are medians, whiskers the
quartiles of the samples. Of `--brief` there are naive, full and plain alone, two numbers of worlds or sizes a row.
"""

import json
import re
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

STEPS = ["naive", "plus_deferred_sync", "plus_recording", "plus_device_hierarchy", "plus_one_extraction",
         "plus_kept_memory", "full", "plain"]
SCENES = [("", "all worlds move in each frame", "#35608d"),
          ("/resting", "nothing moves in every second frame", "#e0a030")]
HEIGHT = 0.38


def read_rows(path):
    with open(path, encoding="utf-8") as f:
        result = json.load(f)
    rows = {row["name"]: row["samples"] for row in result["results"] if row["name"].startswith("frame/")}
    if not rows:
        raise SystemExit(f"frame_chart: {path} has no rows of `stet bench frame`")
    return result, rows


def quartiles(samples):
    return np.percentile(samples, [25, 50, 75])


def bars(axes, names, series, label):
    """series: a list of samples for each name; one for each scene. The first name is on top."""
    for k, (samples, (_, scene, colour)) in enumerate(zip(series, SCENES)):
        low, middle, high = np.array([quartiles(s) for s in samples]).T
        at = np.arange(len(names)) + (k - 0.5) * HEIGHT
        axes.barh(at, middle, HEIGHT, color=colour, label=scene, xerr=[middle - low, high - middle],
                  error_kw={"elinewidth": 0.8, "ecolor": "#444444"})
        for y, value, end in zip(at, middle, high):
            axes.annotate(f"{value:.3g}", (end, y), xytext=(3, 0), textcoords="offset points", va="center", fontsize=7)
    axes.set_yticks(np.arange(len(names)), [name.replace("plus_", "+ ").replace("_", " ") for name in names])
    axes.invert_yaxis()
    axes.set_xlabel(label)
    axes.margins(x=0.12)
    axes.spines[["top", "right"]].set_visible(False)


def draw_steps(axes, rows, name):
    steps = [step for step in STEPS if f"{name}/{step}_ms" in rows]
    bars(axes, steps, [[rows[f"{name}{when}/{step}_ms"] for step in steps] for when, _, _ in SCENES], "ms a frame")
    _, scene, size = name.split("/")
    worlds, *edges = size.split("x")
    axes.set_title(f"{scene}, {worlds} worlds, {' × '.join(edges) or '64 × 64'}", loc="left", fontsize=10)


def draw_left_out(right, rows, name):
    prefix = f"{name}/without_"
    without = [row[len(prefix):-len("_ms")] for row in rows if row.startswith(prefix)]
    ratios = [
        [np.divide(rows[f"{name}{when}/without_{one}_ms"], rows[f"{name}{when}/full_ms"]) for one in without]
        for when, _, _ in SCENES
    ]
    bars(right, without, ratios, "a frame without it, over a frame with all")
    right.axvline(1, color="#444444", linewidth=0.8)


def main():
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    rows, machines, commits = {}, set(), set()
    for path in sys.argv[1:-1]:
        result, more = read_rows(path)
        rows.update(more)
        machines.add(result["machine"])
        commits.add(result["commit"][:12])
    if len(machines) != 1:
        raise SystemExit("frame_chart: the files are of different machines")
    names = [m[1] for m in (re.fullmatch(r"(frame/[^/]+/[^/]+)/full_ms", row) for row in rows) if m]
    brief = not any(row.endswith("/plus_recording_ms") for row in rows)
    lines = (len(names) + 1) // 2 if brief else len(names)
    size = (11, 0.6 + (1.9 if brief else 3.6) * lines)
    figure, axes = plt.subplots(lines, 2, figsize=size, squeeze=False, layout="constrained")
    for k, name in enumerate(names):
        draw_steps(axes[k // 2, k % 2] if brief else axes[k, 0], rows, name)
        if not brief:
            draw_left_out(axes[k, 1], rows, name)
    if brief and len(names) % 2:
        axes[-1, 1].set_axis_off()
    handles = axes[0][0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=2, frameon=False, fontsize=9)
    origin = f"{machines.pop()}; commit {', '.join(sorted(commits))}"
    figure.supxlabel(origin, fontsize=7, color="#444444")
    figure.savefig(sys.argv[-1], dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
