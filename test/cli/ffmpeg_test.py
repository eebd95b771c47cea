"""What the installed ffmpeg makes of `stet run --video`: its frames show the mosaics. Skipped without ffmpeg."""

import os
import shutil
import subprocess
import sys

import numpy as np

from command import folder, main, read_png, run, scene

SKIPPED = 77
SMALL = [scene("hand.xml"), "--worlds", 3, "--frames", 6, "--size", "25x17", "--control", "noise"]


def decoded(path, shape):
    words = ["ffmpeg", "-v", "error", "-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    data = subprocess.run(words, check=True, capture_output=True).stdout
    return np.frombuffer(data, np.uint8).reshape(-1, *shape)


def test_videos_show_the_mosaics():
    with folder() as cwd:
        for name, most in (("a.mp4", 12), ("a.gif", 8), ("a.webp", None)):
            run(*SMALL, "--out", "out", "--save-every", 1, "--video", name, cwd=cwd)
            mosaics = np.array([read_png(os.path.join(cwd, f"out/mosaic-rgb-{k:05}.png")) for k in range(1, 7)])
            if most is None:  # what ffmpeg itself writes, and cannot read
                with open(os.path.join(cwd, name), "rb") as f:
                    data = f.read()
                assert data[:4] == b"RIFF" and data[8:12] == b"WEBP" and data.count(b"ANMF") == 6
                continue
            even = mosaics.shape[1] % 2, mosaics.shape[2] % 2
            if name == "a.mp4":
                mosaics = np.pad(mosaics, ((0, 0), (0, even[0]), (0, even[1]), (0, 0)))
            frames = decoded(os.path.join(cwd, name), mosaics.shape[1:])
            off = np.abs(frames.astype(int) - mosaics).mean()
            assert frames.shape == mosaics.shape and off < most, (name, frames.shape, off)


if __name__ == "__main__":
    if not shutil.which("ffmpeg"):
        print("skipped: there is no ffmpeg on the PATH; tools/setup.sh test installs it")
        sys.exit(SKIPPED)
    main(globals())
