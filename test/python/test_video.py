"""stet.video: what is recorded can be read back; bad names and a missing encoder are said in one sentence."""

import os
import shutil
from pathlib import Path

import pytest

pytest.importorskip("PIL")
from PIL import Image, ImageChops, ImageSequence, ImageStat

import stet
import stet.video

SCENE = Path(__file__).parents[2] / "scenes" / "cartpole.xml"
encodes = pytest.mark.skipif(not shutil.which("ffmpeg"), reason="no ffmpeg")


@pytest.fixture
def sim():
    return stet.Sim(SCENE, worlds=3, width=32, height=24, outputs=("rgb",))


@encodes
@pytest.mark.parametrize("ending", ["gif", "webp", "png"])
def test_frames_are_read_back(sim, tmp_path, ending):
    path, shown = tmp_path / f"run.{ending}", []
    with stet.video.record(sim, path, fps=10) as video:
        for _ in range(4):
            sim.control_noise(1.0, 20)
            sim.step(20)
            sim.render()
            video.add()
            shown.append(sim.image().convert("RGB"))
        assert not path.exists()
    assert os.listdir(tmp_path) == [path.name]
    frames = [f.convert("RGB") for f in ImageSequence.Iterator(Image.open(path))]
    assert len(frames) == 4 and all(f.size == shown[0].size for f in frames)
    assert shown[0].tobytes() != shown[3].tobytes()
    for read, frame in zip(frames, shown, strict=True):
        off = ImageStat.Stat(ImageChops.difference(read, frame)).mean
        assert max(off) <= (0 if ending == "png" else 6), off


@encodes
def test_a_block_that_fails_leaves_what_was_there(sim, tmp_path):
    path = tmp_path / "run.mp4"
    path.write_bytes(b"before")
    sim.render()
    with pytest.raises(KeyError), stet.video.record(sim, path) as video:
        video.add()
        raise KeyError
    assert path.read_bytes() == b"before" and os.listdir(tmp_path) == [path.name]
    with stet.video.record(sim, path) as video:
        video.add()
    assert path.read_bytes()[4:8] == b"ftyp"


@encodes
def test_what_the_encoder_cannot_do_is_said(sim, tmp_path):
    sim.render()
    with pytest.raises(RuntimeError, match="record: ffmpeg: .*run.gif.part"), \
            stet.video.record(sim, tmp_path / "nowhere" / "run.gif") as video:
        for _ in range(100):
            video.add()


@pytest.mark.parametrize(("name", "fps", "said"), [("run", 30, "the name says no format"), ("run.avi", 30, "end it in"),
                                                  ("run.gif", 0, "fps is 0, and must be above 0")])
def test_bad_arguments(sim, tmp_path, name, fps, said):
    with pytest.raises(ValueError, match=said):
        stet.video.record(sim, tmp_path / name, fps=fps)


def test_no_encoder(sim, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="no ffmpeg on the PATH"):
        stet.video.record(sim, tmp_path / "run.gif")
