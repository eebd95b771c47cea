"""Pictures beside MuJoCo's own renderer: structural similarity (SSIM) of the shipped scenes and of scenes of one
feature each (looks/). The reference is mjr_render over OSMesa with the model's own quality.

`similarity_test.py FOLDER [MODEL ...]` keeps the pictures, stet's left of MuJoCo's, of these models."""

import glob
import os
import subprocess
import sys
import tempfile

from PIL import Image
import numpy as np
from skimage.metrics import structural_similarity

SOURCE, BINARY = os.environ["STET_TEST_SOURCE_DIR"], os.environ["STET_TEST_BINARY_DIR"]
SKIPPED = 77

# Scenes that are compared without shadows, too: MuJoCo's come from a map, with speckles and an end, stet's from rays.
UNSHADOWED = {"arm_table": 0.96, "hand": 0.96, "humanoid": 0.97, "quadruped": 0.97}
# The least SSIM of a model's pictures.
LEAST = {
    "arm_table": 0.87,
    "cartpole": 0.97,
    "cartpole_classic": 0.99,
    "hand": 0.82,
    "humanoid": 0.85,
    "fog": 0.97,
    "lights": 0.96,
    "quadruped": 0.89,
    "above": 0.97,
    "below": 0.98,
    "cameras": 0.97,
    "checker": 0.98,
    "clear": 0.98,
    "coincide": 0.97,
    "cube": 0.97,
    "faces": 0.97,
    "grid": 0.97,
    "lines": 0.97,
    "lamps": 0.97,
    "mirror": 0.97,
    "nodes": 0.97,
    "roles": 0.97,
    "shadow": 0.87,
    "sheen": 0.97,
    "sites": 0.97,
    "smooth": 0.97,
    "soft": 0.97,
    "table": 0.97,
    "tendons": 0.97,
}


def draw(folder, models, shadows):
    """The files of the pictures, with one ray a pixel."""
    done = subprocess.run([os.path.join(BINARY, "test/render/similarity_pictures"), folder, "1", str(int(shadows)),
                           *models], capture_output=True, text=True, check=False)
    if done.returncode == SKIPPED:
        print("skipped:", done.stderr.strip())
        sys.exit(SKIPPED)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def similarity(path):
    """SSIM of the picture's left and right half, the mean over channels."""
    both = np.asarray(Image.open(path))
    ours, theirs = np.split(both, 2, axis=1)
    return structural_similarity(ours, theirs, channel_axis=2)


def measure(folder, models, shadows=True):
    """Model → SSIM of each camera's picture."""
    measured = {}
    for path in draw(folder, models, shadows):
        value = similarity(path)
        print(f"{os.path.basename(path):28} {value:.4f}")
        measured.setdefault(os.path.basename(path).split(".")[0], []).append(value)
    return measured


def hold(models, least, shadows):
    with tempfile.TemporaryDirectory() as folder:
        measured = measure(folder, models, shadows)
    assert set(measured) == set(least), set(measured) ^ set(least)
    low = {model: min(values) for model, values in measured.items() if min(values) < least[model]}
    assert not low, low


def test_scenes_look_as_in_mujoco():
    hold(sorted(glob.glob(f"{SOURCE}/scenes/*.xml") + glob.glob(f"{SOURCE}/test/render/looks/*.xml")), LEAST, True)
    hold([f"{SOURCE}/scenes/{model}.xml" for model in UNSHADOWED], UNSHADOWED, False)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        measure(sys.argv[1], sys.argv[2:])
    else:
        test_scenes_look_as_in_mujoco()
