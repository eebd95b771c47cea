"""Pictures of models of other projects beside MuJoCo's own renderer: those of the packages gymnasium, dm_control and
mujoco_warp (tools/setup.sh corpus), and the shipped scenes.

`similarity_corpus.py BUILD TABLE PICTURE` writes a table of all models, and a picture of the WORST that lie lowest."""

import math
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile

from PIL import Image, ImageDraw
import numpy as np
from skimage.metrics import structural_similarity

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, f"{SOURCE}/bench")
from origin import commit
INSTALLED = sysconfig.get_paths()["purelib"]
PACKAGES = [f"{INSTALLED}/gymnasium", f"{INSTALLED}/dm_control", f"{SOURCE}/.venv/corpus/mujoco_warp",
            f"{SOURCE}/scenes"]
SAMPLES = 1, 4
GOAL = 0.97
WORST, CAPTION = 10, 14


def find_models():
    """Names of models and their files, of all packages."""
    for package in PACKAGES:
        assert os.path.isdir(package), f"{package} is not there; run tools/setup.sh corpus"
        for folder, _, files in sorted(os.walk(package)):
            for file in sorted(files):
                if file.endswith((".xml", ".urdf")):
                    path = os.path.join(folder, file)
                    yield os.path.relpath(path, os.path.dirname(package)), path


def draw(build, samples, shadows, path):
    """Pictures of a model's cameras, stet's left of MuJoCo's; none if it does not load."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([os.path.join(build, "test/render/similarity_pictures"), folder, str(samples),
                               str(int(shadows)), path], capture_output=True, text=True, check=False)
        assert done.returncode == 0 or "cannot load it" in done.stderr + done.stdout, done.stderr + done.stdout
        return [np.array(Image.open(file)) for file in done.stdout.split()] if done.returncode == 0 else []


def similarity(both):
    ours, theirs = np.split(both, 2, axis=1)
    return structural_similarity(ours, theirs, channel_axis=2)


def measure(build):
    """Rows of name, camera, a similarity for each of SAMPLES, the picture with the first, and, where the last is below
    GOAL, the similarity without shadows in both (else None); and how many models do not load."""
    rows, failed = [], 0
    for name, path in find_models():
        pictures = [draw(build, samples, True, path) for samples in SAMPLES]
        failed += not pictures[0]
        values = [[similarity(both) for both in of_camera] for of_camera in zip(*pictures)]
        low = any(of_camera[-1] < GOAL for of_camera in values)
        unshadowed = draw(build, SAMPLES[-1], False, path) if low else []
        for camera, of_camera in enumerate(values):
            apart = similarity(unshadowed[camera]) if of_camera[-1] < GOAL else None
            rows.append((name, camera, of_camera, pictures[0][camera], apart))
    return rows, failed


def summary(rows, failed):
    """The lines of the table's head."""
    yield "# Pictures of models of other projects, beside MuJoCo's renderer"
    yield ""
    yield "Written by `make similarity`: structural similarity to MuJoCo's classic renderer (in software, with the"
    yield "multisampling that the model asks for), 240 x 180 pixels, up to four cameras a model. `doc/similarity.md`"
    yield "says why the lowest differ. MuJoCo's shadows come from a map, whose speckles and end are not imitated, so"
    yield f"what is below {GOAL} with {SAMPLES[-1]} rays a pixel is also compared with shadows off in both."
    yield ""
    yield f"{len({row[0] for row in rows})} models, {len(rows)} pictures; {failed} files are no models that load."
    yield f"Commit {commit()[:12]}."
    yield ""
    yield f"| rays a pixel | median | at least {GOAL} | at least 0.95 | at least 0.85 | least |"
    yield "|---|---|---|---|---|---|"
    columns = [(str(samples), [row[2][i] for row in rows]) for i, samples in enumerate(SAMPLES)]
    columns.append((f"{SAMPLES[-1]}, without shadows where below {GOAL}",
                    [row[2][-1] if row[4] is None else row[4] for row in rows]))
    for what, values in columns:
        parts = [f"{100 * sum(value >= least for value in values) / len(values):.1f} %" for least in (GOAL, 0.95, 0.85)]
        yield f"| {what} | {statistics.median(values):.3f} | {' | '.join(parts)} | {min(values):.3f} |"
    yield ""
    yield "| model | camera | " + " | ".join(f"{samples} a pixel" for samples in SAMPLES) + " | without shadows |"
    yield "|---|---|" + "---|" * len(SAMPLES) + "---|"


def write_table(path, rows, failed):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in summary(rows, failed))
        for name, camera, values, _, apart in rows:
            file.write(f"| {name} | {camera} | " + " | ".join(f"{value:.3f}" for value in values)
                       + (" | |\n" if apart is None else f" | {apart:.3f} |\n"))


def write_picture(path, rows):
    """The first rows' pictures in two columns, with captions."""
    height, width = rows[0][3].shape[:2]
    page = Image.new("RGB", (2 * width + 10, math.ceil(len(rows) / 2) * (height + CAPTION)), "white")
    pen = ImageDraw.Draw(page)
    for i, (name, camera, values, both, _) in enumerate(rows):
        left, top = i % 2 * (width + 10), i // 2 * (height + CAPTION)
        pen.text((left + 2, top), f"{i + 1}. {os.path.basename(name)}, camera {camera}: {values[0]:.3f}", fill="black")
        page.paste(Image.fromarray(both), (left, top + CAPTION))
    page.save(path, quality=85)


def main(build, table, picture):
    rows, failed = measure(build)
    rows.sort(key=lambda row: row[2][0])
    write_table(table, rows, failed)
    lowest, seen = [], set()
    for row in rows:
        if row[0] not in seen:
            lowest.append(row)
        seen.add(row[0])
    write_picture(picture, lowest[:WORST])


if __name__ == "__main__":
    main(*sys.argv[1:])
