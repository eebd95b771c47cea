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


def draw(build, folder, samples, path):
    """Pictures of a model's cameras, stet's left of MuJoCo's; none if it does not load."""
    done = subprocess.run([os.path.join(build, "test/render/similarity_pictures"), folder, str(samples), path],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0 or "cannot load it" in done.stderr + done.stdout, done.stderr + done.stdout
    return [np.asarray(Image.open(file)) for file in done.stdout.split()] if done.returncode == 0 else []


def similarity(both):
    ours, theirs = np.split(both, 2, axis=1)
    return structural_similarity(ours, theirs, channel_axis=2)


def measure(build):
    """Rows of name, camera, a similarity for each of SAMPLES, and the picture with the first; and how many models do
    not load."""
    rows, failed = [], 0
    for name, path in find_models():
        pictures = []
        for samples in SAMPLES:
            with tempfile.TemporaryDirectory() as folder:
                pictures.append(draw(build, folder, samples, path))
        failed += not pictures[0]
        for camera, of_camera in enumerate(zip(*pictures)):
            rows.append((name, camera, [similarity(both) for both in of_camera], of_camera[0]))
    return rows, failed


def summary(rows, failed):
    """The lines of the table's head."""
    yield "# Pictures of models of other projects, beside MuJoCo's renderer"
    yield ""
    yield "Written by `make similarity`: structural similarity to MuJoCo's classic renderer (in software, with the"
    yield "multisampling that the model asks for), 240 x 180 pixels, up to four cameras a model. `doc/similarity.md`"
    yield "says why the lowest differ."
    yield ""
    yield f"{len({row[0] for row in rows})} models, {len(rows)} pictures; {failed} files are no models that load."
    yield f"Commit {commit()[:12]}."
    yield ""
    yield "| rays a pixel | median | at least 0.95 | at least 0.85 | least |"
    yield "|---|---|---|---|---|"
    for i, samples in enumerate(SAMPLES):
        values = [row[2][i] for row in rows]
        parts = [100 * sum(value >= least for value in values) / len(values) for least in (0.95, 0.85)]
        yield (f"| {samples} | {statistics.median(values):.3f} | {parts[0]:.1f} % | {parts[1]:.1f} % "
               f"| {min(values):.3f} |")
    yield ""
    yield "| model | camera | " + " | ".join(f"{samples} a pixel" for samples in SAMPLES) + " |"
    yield "|---|---|" + "---|" * len(SAMPLES)


def write_table(path, rows, failed):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in summary(rows, failed))
        for name, camera, values, _ in rows:
            file.write(f"| {name} | {camera} | " + " | ".join(f"{value:.3f}" for value in values) + " |\n")


def write_picture(path, rows):
    """The first rows' pictures in two columns, with captions."""
    height, width = rows[0][3].shape[:2]
    page = Image.new("RGB", (2 * width + 10, math.ceil(len(rows) / 2) * (height + CAPTION)), "white")
    pen = ImageDraw.Draw(page)
    for i, (name, camera, values, both) in enumerate(rows):
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
