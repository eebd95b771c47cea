#!/usr/bin/env python3
"""What `auto` knows of how long time steps take: measured, fitted, and checked, on the shipped
scenes and the models of tools/corpus.txt.

    .venv/bin/python bench/pace.py measure bench/results/NAME.json [PART...]   times of each model that is there
    .venv/bin/python bench/pace.py fit bench/results/NAME.json [FILE...]       costs for src/physics/pace.c
    .venv/bin/python bench/pace.py page bench/results/NAME.json [FILE...]      bench/results/pace.md

`measure` runs build/stet-pace (make pace) for each model whose path has one of the parts, or for all, and adds what
the file lacks, so that it can be ended and begun again. `fit` prints the table COUNTS. `page` compares what the costs
in the file pace.c choose with what is faster. Of models that further files have, those count, but for ratios alone:
their machine may have been busy, and mj_step counts as what it takes by the costs so far. Needs the models
(tools/corpus.sh) and what tools/setup.sh test installs.
"""

import json
import os
import random
import re
import subprocess
import sys
import sysconfig
import textwrap

import numpy as np
from origin import commit, machine

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIST, SOURCE = os.path.join(ROOT, "tools/corpus.txt"), os.path.join(ROOT, "src/physics/pace.c")
PROGRAM, PAGE = os.path.join(ROOT, "build/stet-pace"), os.path.join(ROOT, "bench/results/pace.md")
SECONDS = 900  # of one model
SAME = 0.9  # a ratio of times that is measured may be this far from 1 by noise
WIDTHS = (1, 8, 16)
CASES = ((1, 1), (8, 4), (8, 64), (16, 4), (16, 64))  # lanes, worlds
# Native physics counts as slower than in the middle of what was measured, mj_step as faster: the share of errors above.
NATIVE_ABOVE, MUJOCO_ABOVE = {1: 0.4, 8: 0.3, 16: 0.3}, 0.7
ROUNDS, FEW = 6, 4


def model_files():
    """Names and paths of the shipped scenes, and of the list's models that are there."""
    for name in sorted(os.listdir(os.path.join(ROOT, "scenes"))):
        if name.endswith(".xml"):
            yield f"scenes/{name}", os.path.join(ROOT, "scenes", name)
    own = os.environ.get("CORPUS_FOLDER")
    folders = ([own] if own else []) + [os.path.join(ROOT, ".venv/corpus"), sysconfig.get_paths()["purelib"]]
    with open(LIST, encoding="utf-8") as file:
        names = [line.split()[1] for line in file if re.match(r"[0-9a-f]{16} ", line) and " | " not in line]
    for name in names:
        path = next((p for p in (os.path.join(f, name) for f in folders) if os.path.exists(p)), None)
        if path:
            yield name, path


def read(path):
    """Of models: what was measured."""
    with open(path, encoding="utf-8") as file:
        result = json.load(file)
    return result, {row["name"]: row for row in result["results"] + result["others"]}


def merge(paths):
    """The models of all files; those of the first are timed."""
    models = {name: {**row, "timed": True} for name, row in read(paths[0])[1].items()}
    for path in paths[1:]:
        models.update(read(path)[1])
    return models


def keep(path, models):
    """A line a model; those without samples (not covered, or failed) stand apart."""
    rows = [models[name] for name in sorted(models)]
    head = {"machine": machine("one core"), "commit": commit(), "command": f"bench/pace.py measure {path}"}
    parts = {"results": [r for r in rows if r.get("samples")], "others": [r for r in rows if not r.get("samples")]}
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    lines += [f" {json.dumps(k)}: [\n  " + ",\n  ".join(map(json.dumps, v)) + "\n ]" for k, v in parts.items()]
    with open(f"{path}.part", "w", encoding="utf-8") as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")
    os.replace(f"{path}.part", path)


def measure(out, parts):
    models, files = read(out)[1] if os.path.exists(out) else {}, list(model_files())
    random.Random(1).shuffle(files)  # so that a part of them is like all
    for name, path in files:
        if name in models or (parts and not any(part in name for part in parts)):
            continue
        try:
            run = subprocess.run([PROGRAM, path], capture_output=True, text=True, timeout=SECONDS, check=False)
            said = run.stderr.strip().replace(path, name) or f"the process ends with {run.returncode}"
            models[name] = {"name": name, **(json.loads(run.stdout) if run.returncode == 0 else {"failed": said})}
        except subprocess.TimeoutExpired:
            models[name] = {"name": name, "failed": f"more than {SECONDS} s"}
        keep(out, models)


def samples(models):
    """Of each model, and case: counts, lanes, worlds, microseconds a world of native physics and of mj_step."""
    names, columns = source_costs()
    for name, model in sorted(models.items()):
        usual = columns[0] @ [model["counts"].get(k, 0) for k in names] if "counts" in model else 0
        for s in model.get("samples", []):
            native, mujoco = s["native"], s["mujoco"]
            if not model.get("timed"):
                native, mujoco = native * usual / mujoco, usual
            yield name, model["counts"], s["lanes"], s["worlds"], native, mujoco


def fit_costs(counts, times, above, boost):
    """
    Costs that are not negative: least squares of relative errors, in which models that take longer than the estimate
    weigh 1 - above and the others `above`; each also boost times.
    """
    from scipy.optimize import nnls  # pylint: disable=import-outside-toplevel

    a, weight = counts / times[:, None], np.sqrt(boost)
    for _ in range(60):
        costs, _ = nnls(a * weight[:, None], weight)
        weight = np.sqrt(boost * np.where(a @ costs < 1, 1 - above, above))
    return costs


def fit(models):
    """
    Costs: a row of mj_step, and one a width. Models that would be taken though they are slower weigh ever more. What
    fewer than FEW models have costs no less than the source says, and what none has costs as much.
    """
    rows = list(samples(models))
    names, before = source_costs()
    vector = np.array([[row[1].get(k, 0) for k in names] for row in rows], float)
    lanes, worlds, native, mujoco = (np.array([row[k] for row in rows]) for k in (2, 3, 4, 5))
    vectors = -(-worlds // lanes)
    boost, estimate = np.ones(len(rows)), np.zeros(len(rows))
    costs = fit_costs(vector, mujoco, MUJOCO_ABOVE, boost)
    for _ in range(ROUNDS):
        columns = [costs]
        for width in WIDTHS:
            of = lanes == width
            columns.append(fit_costs(vector[of], (native * worlds / vectors)[of], NATIVE_ABOVE[width], boost[of]))
            estimate[of] = (vector[of] @ columns[-1]) * (vectors / worlds)[of]
        boost[(estimate <= vector @ costs) & (native > mujoco / SAME)] *= 1.5
    columns, has = np.array(columns), np.array([len({row[0] for row in rows if row[1].get(k)}) for k in names])
    columns = np.where(has < FEW, np.maximum(before, columns), columns)
    return names, np.where(has == 0, before, columns)


def cost_text(cost):
    return f"{cost:.2g}".lstrip("0") if 1e-4 <= cost < 1 else f"{cost:.2g}"


def print_fit(models):
    names, columns = fit(models)
    for k, name in enumerate(names):
        print(f"    X({name}, {', '.join(cost_text(c) for c in columns[:, k])})")


def source_costs():
    """The costs that pace.c has: names, and columns as of fit."""
    with open(SOURCE, encoding="utf-8") as file:
        rows = re.findall(r"^    X\((\w+), ([^)]*)\)", file.read(), re.MULTILINE)
    return [row[0] for row in rows], np.array([[float(x) for x in row[1].split(",")] for row in rows]).T


def outcome(models, names, columns):
    """Of each case: rows (name, measured time of native physics by that of mj_step, the same by the estimate)."""
    of = {case: [] for case in CASES}
    for name, counts, lanes, worlds, native, mujoco in samples(models):
        c = np.array([counts.get(k, 0) for k in names])
        vectors = -(-worlds // lanes)
        estimate = columns[1 + WIDTHS.index(lanes)] @ c * vectors / worlds / (columns[0] @ c)
        of[lanes, worlds].append((name, native / mujoco, estimate))
    return of


def write_page(paths, page):
    names, columns = source_costs()
    result, models = read(paths[0])[0], merge(paths)
    files = ", ".join(f"`{os.path.relpath(path, ROOT)}`" for path in paths)
    of = outcome(models, names, columns)
    covered = [name for name, m in models.items() if m.get("covered")]
    lines = [
        "# Which physics `auto` takes, and which is faster",
        "",
        textwrap.fill(
            f"Written by `bench/pace.py page` from {files}: {result['machine']}, medians of 5 "
            "turns of both sides in one process, seconds of the processor; sensors off; states 100 steps after the "
            f"beginning, with random controls. {len(models)} shipped scenes and models of other projects, in a random "
            f"order as far as the measurement went, {len(covered)} of them covered by native physics. A ratio is the "
            f"time of native physics by that of `mj_step`; slower means above {1 / SAME:.2f}, since single figures are "
            "good to a tenth on a machine with other work. Of models in two files the last one counts; "
            "`epyc-pace-features.json` has those that later versions cover, those that the estimate had wrong, and "
            "some drawn with the seed 48. Of more than 64 trees a world has a vector to itself: one world says all.",
            120),
        "",
        "| lanes | worlds | models | `auto` takes | of these slower | at worst | left though faster | at best | ratio, "
        "median of those taken |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    worst = []
    for (lanes, worlds), rows in of.items():
        taken, left = [r for r in rows if r[2] <= 1], [r for r in rows if r[2] > 1]
        slower, faster = [r for r in taken if r[1] > 1 / SAME], [r for r in left if r[1] < SAME]
        most, least = max([r[1] for r in taken], default=0), min([r[1] for r in left], default=1)
        middle = np.median([r[1] for r in taken]) if taken else 0
        counted = " | ".join(str(n) for n in (lanes, worlds, len(rows), len(taken), len(slower)))
        lines.append(f"| {counted} | {most:.2f} | {len(faster)} | {least:.2f} | {middle:.2f} |")
        named = slower + (left if worlds > 1 else [])
        worst += [(name, lanes, worlds, ratio, estimate) for name, ratio, estimate in named]
    lines += ["", "| model that `auto` leaves with 4 worlds or more, or takes though slower | lanes | worlds | ratio | "
              "by the estimate |",
              "|---|---|---|---|---|"]
    lines += [f"| {n} | {lanes} | {worlds} | {r:.2f} | {e:.2f} |" for n, lanes, worlds, r, e in sorted(worst)]
    failed = {name: m["failed"] for name, m in models.items() if "failed" in m}
    if failed:
        lines += ["", "| model that is not measured | why |", "|---|---|"]
        lines += [f"| {name} | {why} |" for name, why in sorted(failed.items())]
    with open(page, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def main(arguments):
    if len(arguments) < 2 or arguments[0] not in ("measure", "fit", "page"):
        sys.exit(__doc__)
    what, path = arguments[:2]
    if what == "measure":
        measure(path, arguments[2:])
    elif what == "fit":
        print_fit(merge(arguments[1:]))
    else:
        write_page(arguments[1:], PAGE)


if __name__ == "__main__":
    main(sys.argv[1:])
