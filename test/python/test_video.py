"""stet.video: what is recorded can be read back; bad names and a missing encoder are said in one sentence."""

import os
import shutil
import subprocess
import sys
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
    with stet.video.record(sim, path, fps=10, auto=False) as video:
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
    with pytest.raises(KeyError), stet.video.record(sim, path, auto=False) as video:
        video.add()
        raise KeyError
    assert path.read_bytes() == b"before" and os.listdir(tmp_path) == [path.name]
    with stet.video.record(sim, path, auto=False) as video:
        video.add()
    assert path.read_bytes()[4:8] == b"ftyp"


@encodes
def test_what_the_encoder_cannot_do_is_said(sim, tmp_path):
    sim.render()
    with pytest.raises(RuntimeError, match="record: ffmpeg: .*run.gif.part"), \
            stet.video.record(sim, tmp_path / "nowhere" / "run.gif", auto=False) as video:
        for _ in range(100):
            video.add()


@pytest.mark.parametrize(("name", "fps", "said"), [("run", 30, "the name says no format"), ("run.avi", 30, "end it in"),
                                                  ("run.gif", 0, "fps is 0 and speed 1, and both must be above 0")])
def test_bad_arguments(sim, tmp_path, name, fps, said):
    with pytest.raises(ValueError, match=said):
        stet.video.record(sim, tmp_path / name, fps=fps)


def frames_of(path):
    return [f.convert("RGB") for f in ImageSequence.Iterator(Image.open(path))]


@encodes
@pytest.mark.parametrize(("steps", "fps", "speed", "count"), [(1, 25, 1, 5), (10, 25, 1, 5), (40, 25, 1, 5),
                                                             (1, 25, 2, 2), (8, 50, 0.5, 20)])
def test_it_records_by_itself(sim, tmp_path, steps, fps, speed, count):
    """A fifth of a second at the simulation's rate, whatever a step is; pictures are those behind the steps."""
    assert sim.model.timestep == 0.005
    path, shown = tmp_path / "run.png", []
    with stet.video.record(sim, path, fps=fps, speed=speed):
        for k in range(40 // steps):
            sim.control_noise(1.0, 20 + k)
            sim.step(steps)
            shown += [sim.image().convert("RGB")] * steps
        assert not path.exists()
    frames = frames_of(path)
    assert len(frames) == count and "step" not in vars(sim)
    for number, frame in enumerate(frames):
        due = -(-(number + 1) * 200 * speed // fps)  # the first step of 0.005 s behind which it is due
        due = int(-(-due // steps) * steps)
        assert frame.tobytes() == shown[due - 1].tobytes(), number


@encodes
def test_it_closes(sim, tmp_path):
    video = stet.video.record(sim, tmp_path / "one.gif")
    sim.step(20)
    video.close()
    video.close()
    assert len(frames_of(tmp_path / "one.gif")) == 3
    stet.video.record(sim, tmp_path / "two.gif")
    sim.step(20)
    sim.close()  # ends the video, too
    assert sim.closed and len(frames_of(tmp_path / "two.gif")) == 3
    code = ("import stet, stet.video; sim = stet.Sim(stet.scenes / 'cartpole.xml', outputs='rgb', threads=1); "
            "stet.video.record(sim, 'three.gif'); sim.step(20)")
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True,
                   env={**os.environ, "PYTHONPATH": str(Path(stet.__file__).parents[1])})
    assert len(frames_of(tmp_path / "three.gif")) == 3


@encodes
def test_beside_a_viewer(sim, tmp_path):
    """Whoever begins or ends first, the other goes on."""
    pytest.importorskip("websockets")
    with stet.video.record(sim, tmp_path / "run.gif"), sim.view():
        sim.step(20)
        with pytest.raises(stet.StateError, match="the sim has a viewer"):
            sim.view()
    view = sim.view()
    with stet.video.record(sim, tmp_path / "more.gif"):
        view.close()
        sim.step(20)
    assert len(frames_of(tmp_path / "run.gif")) == len(frames_of(tmp_path / "more.gif")) == 3
    assert not {"step", "close", "_watchers"} & set(vars(sim))


@encodes
def test_nothing_is_lost_without_a_word(sim, tmp_path):
    with pytest.raises(stet.StateError, match="written in a block: with stet.video.record"):
        stet.video.record(sim, tmp_path / "run.gif", auto=False).add()
    with pytest.raises(stet.StateError, match="nothing was recorded for .*run.gif, so there is none; call add"), \
            stet.video.record(sim, tmp_path / "run.gif", auto=False):
        sim.step()
    with pytest.raises(stet.StateError, match="nothing was recorded .*; the simulation did not move on"), \
            stet.video.record(sim, tmp_path / "run.gif"):
        sim.step()
    with pytest.raises(stet.StateError, match="takes pictures by itself; leave add"), \
            stet.video.record(sim, tmp_path / "run.gif") as video:
        video.add()
    assert os.listdir(tmp_path) == [] and "step" not in vars(sim)
    with pytest.raises(stet.StateError, match="the sim has no outputs"):
        stet.video.record(stet.Sim(SCENE), tmp_path / "run.gif")


def test_no_encoder(sim, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="no ffmpeg on the PATH"):
        stet.video.record(sim, tmp_path / "run.gif")


@encodes
def test_titles(sim, tmp_path):
    """They are written over the picture, each in its world's corner, and nothing else changes."""
    frames = []
    for titles in (False, True):
        sim.reset()
        path = tmp_path / f"{titles}.png"
        with stet.video.record(sim, path, titles=titles, worlds=2, auto=False) as video:
            for k in range(3):
                sim.step(10)
                sim.render()
                video.add([1.5, -2], [k == 1, False])
        assert [text.split("return ")[1] for text in video._texts(2)] == ["1.5", "-6.0"]
        assert video._texts(2)[0].startswith(f"world 0  {sim.time[0, 0]:.2f} s")
        frames.append([f.convert("RGB") for f in ImageSequence.Iterator(Image.open(path))])
    for plain, said in zip(*frames, strict=True):
        for x in (0, 32):
            off = ImageChops.difference(plain.crop((x, 0, x + 32, 24)), said.crop((x, 0, x + 32, 24)))
            left, top, _, bottom = off.getbbox()
            assert said.size == (64, 24) and 1 <= left <= 4 and 1 <= top and 8 <= bottom <= 16


@encodes
@pytest.mark.parametrize("vector", [True, False])
def test_an_environment(tmp_path, vector):
    gym = pytest.importorskip("gymnasium")
    import stet.gym  # noqa: F401

    def make(**more):
        return gym.make_vec("stet/CartPole-v0", num_envs=2, **more) if vector else gym.make("stet/CartPole-v0", **more)

    env = make(render_mode="rgb_array", width=64, height=48)
    path = tmp_path / "run.png"
    env.reset(seed=3)
    with stet.video.record(env, path, fps=10, titles=True, auto=False) as video:
        for _ in range(3):
            _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
            video.add(reward, terminated | truncated)
            shown = env.render()
        assert video._texts(1)[0].endswith("return 3.0")
    own = tmp_path / "own.png"
    env.reset(seed=3)
    with stet.video.record(env, own, fps=10, titles=True) as video:
        for _ in range(20):
            env.step(env.action_space.sample())
        assert "return" in video._texts(1)[0]
    assert len(frames_of(own)) == 4  # a step is a fiftieth of a second
    assert "step" not in vars(env)
    env.close()
    last = [f.convert("RGB") for f in ImageSequence.Iterator(Image.open(path))][-1]
    first = Image.fromarray(shown[0] if vector else shown)
    assert last.size == ((128, 48) if vector else (64, 48))
    assert ImageChops.difference(last.crop((0, 16, 64, 48)), first.crop((0, 16, 64, 48))).getbbox() is None
    with pytest.raises(ValueError, match='render_mode="rgb_array"'):
        stet.video.record(make(), path)
    with pytest.raises(TypeError, match="a 'list' is neither"):
        stet.video.record([], path)
