"""`stet run --video`: what ffmpeg is given, what it makes of it, and that nothing half-made is left. Where a test needs
a program in ffmpeg's place, that is a script which keeps its words and what it reads.
"""

import os
import signal
import subprocess
import time

import numpy as np

from command import COMMAND, files_below, folder, read_png, run, scene, stet

# As ffmpeg, writes to the last of its words, "file:PATH".
KEEP = 'echo "$@" > words; for last; do :; done; cat > "${last#file:}"'
SMALL = [scene("hand.xml"), "--worlds", 3, "--frames", 6, "--size", "25x17", "--control", "noise"]


def in_place_of_ffmpeg(cwd, script):
    """The environment in which this script is ffmpeg."""
    at = os.path.join(cwd, "bin")
    os.makedirs(at, exist_ok=True)
    with open(os.path.join(at, "ffmpeg"), "w", encoding="utf-8") as f:
        f.write(f"#!/bin/sh\n{script}\n")
    os.chmod(os.path.join(at, "ffmpeg"), 0o755)
    return {"PATH": f"{at}:{os.environ['PATH']}"}


def frames_of(path, shape):
    data = np.fromfile(path, np.uint8)
    return data.reshape(-1, *shape)


def test_every_frame_is_a_mosaic():
    with folder() as cwd:
        env = in_place_of_ffmpeg(cwd, KEEP)
        done = run(*SMALL, "--out", "out", "--save-every", 1, "--video", "a.mp4", cwd=cwd, env=env)
        assert "a.mp4" in done["files"]
        mosaics = [read_png(os.path.join(cwd, f"out/mosaic-rgb-{k:05}.png")) for k in range(1, 7)]
        frames = frames_of(os.path.join(cwd, "a.mp4"), mosaics[0].shape)
        assert np.array_equal(frames, mosaics) and not np.array_equal(frames[0], frames[5])
        with open(os.path.join(cwd, "words"), encoding="utf-8") as f:
            words = f.read()
        height, width, _ = mosaics[0].shape
        assert f"-pixel_format rgb24 -video_size {width}x{height} -framerate 50 " in words, words
        plain = run(*SMALL, cwd=cwd)
        assert done["frame_hash"] == plain["frame_hash"] and done["state_hash"] == plain["state_hash"]


def test_every_kth_frame():
    with folder() as cwd:
        env = in_place_of_ffmpeg(cwd, KEEP)
        common = [*SMALL, "--output", "depth,rgba", "--out", "out", "--save-every", 2, "--substeps", 4]
        run(*common, "--video", "a.gif", "--video-every", 2, cwd=cwd, env=env)
        mosaics = [read_png(os.path.join(cwd, f"out/mosaic-rgba-0000{k}.png")) for k in (2, 4, 6)]
        assert np.array_equal(frames_of(os.path.join(cwd, "a.gif"), mosaics[0].shape), mosaics), "the first output"
        with open(os.path.join(cwd, "words"), encoding="utf-8") as f:
            words = f.read().split()
        timestep = 0.02 / run(*SMALL, "--output", "none")["substeps"]
        rate = float(words[words.index("-framerate") + 1])
        assert words[words.index("-pixel_format") + 1] == "rgba" and np.isclose(rate, 1 / (timestep * 4 * 2)), words
        run(*SMALL, "--video", "b.webp", "--video-fps", "12.5", cwd=cwd, env=env)
        with open(os.path.join(cwd, "words"), encoding="utf-8") as f:
            assert "-framerate 12.5 " in f.read()


def test_failures():
    """One line says why, no file is left, and a file that was there stays as it was."""
    for script, why in (
        ("echo first words >&2; echo more >&2; exit 3", "first words"),  # does not read
        ("head -c 2000 > /dev/null; echo 'enough' >&2; exit 1", "enough"),  # stops reading
        ("cat > /dev/null; exit 1", "does not say why"),  # fails at the end
        ("cat > /dev/null; kill -9 $$", "does not say why"),
    ):
        with folder() as cwd:
            env = in_place_of_ffmpeg(cwd, script)
            with open(os.path.join(cwd, "a.mp4"), "w", encoding="utf-8") as f:
                f.write("before")
            done = stet(*["run", *SMALL[:3], "--frames", 60, "--video", "a.mp4"], cwd=cwd, env=env)
            assert done.returncode == 1 and done.stdout == "", (script, done)
            assert done.stderr.count("\n") == 1 and "a.mp4: ffmpeg failed: " in done.stderr and why in done.stderr, done
            assert files_below(cwd) == ["a.mp4", "bin/ffmpeg"], files_below(cwd)
            with open(os.path.join(cwd, "a.mp4"), encoding="utf-8") as f:
                assert f.read() == "before"


def test_without_ffmpeg():
    with folder() as cwd:
        done = stet("run", *SMALL, "--out", "out", "--video", "a.mp4", cwd=cwd, env={"PATH": cwd})
        assert done.returncode == 2 and "no ffmpeg on the PATH" in done.stderr, done
        assert files_below(cwd) == [] and not os.path.exists(os.path.join(cwd, "out"))


def test_an_interrupted_run_keeps_its_frames():
    """The terminal sends its signal to the whole group, of which ffmpeg is no part."""
    with folder() as cwd:
        env = dict(os.environ, **in_place_of_ffmpeg(cwd, KEEP))
        words = ["run", *SMALL[:3], "--frames", 1000000, "--size", "16x16", "--video", "a.mp4"]
        child = subprocess.Popen([COMMAND, *map(str, words)], cwd=cwd, env=env, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, start_new_session=True)
        while not any(os.path.getsize(os.path.join(cwd, name)) > 0 for name in files_below(cwd) if "part" in name):
            assert child.poll() is None, child.communicate()
            time.sleep(0.02)
        os.killpg(child.pid, signal.SIGINT)
        out, err = child.communicate(timeout=120)
        assert child.returncode == 130 and "interrupted after frame" in err, (child.returncode, out, err)
        done = int(err.split("after frame ")[1].split(" ")[0])
        assert os.path.getsize(os.path.join(cwd, "a.mp4")) == done * 4 * 16 * 16 * 3
        assert files_below(cwd) == ["a.mp4", "bin/ffmpeg", "words"]


if __name__ == "__main__":
    from command import main

    main(globals())
