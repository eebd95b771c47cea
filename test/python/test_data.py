"""stet.data: what was written is read back, and what can go wrong does."""

import io
import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import stet

h5py = pytest.importorskip("h5py")
from stet.data import Reader, Writer, scene_hash  # noqa: E402

RUN = dict(worlds=3, outputs=("rgb", "depth"), cameras="all", width=16, height=12, seed=4)


def record(sim, data, frames=10):
    """Frames, and what was in them."""
    kept = []
    for frame in range(frames):
        sim.control_noise(0.5, frame)
        sim.step(2)
        sim.render()
        data.add(done=[frame == 3, 0, frame % 2], reward=np.arange(3.0) + frame)
        kept.append({"qpos": sim.qpos.numpy(), "rgb:top": sim.read("rgb", "top"), "time": sim.time.numpy()})
    return {name: np.stack([row[name] for row in kept]) for name in kept[0]}


def test_written_and_read(make, tmp_path):
    sim = make(**RUN)
    with Writer(tmp_path / "a", sim, fields=("qpos", "qacc"), outputs=("rgb",), notes={"seed": 4},
                frames_in_shard=4) as data:
        kept = record(sim, data)
    with h5py.File(tmp_path / "a" / "shard-000000004.h5") as shard:  # by the library itself
        assert shard["qpos"].shape == (4, 3, 2) and shard["rgb:top"].chunks == (4, 3, 12, 16, 3)
        assert shard["qpos"].compression == "gzip" and shard["qpos"].fletcher32
    data = Reader(tmp_path / "a")
    assert data.frames == 10 and len(data.shards) == 3
    assert data.names == ["episode", "qacc", "qpos", "reward", "rgb:front", "rgb:top", "time"]
    for name, values in kept.items():
        assert np.array_equal(data.read(name), values), name
        assert np.array_equal(data.read(name, 3, 4, world=2), values[3:7, 2])
    assert data.read("episode")[:, 0].tolist() == [0] * 4 + [1] * 6
    assert data.read("episode")[:, 2].tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert data.read("reward")[9].tolist() == [9, 10, 11]
    assert data.verify() == sum(data.read(name).nbytes for name in data.names)
    said = data.manifest
    assert said["notes"] == {"seed": 4} and said["stet"] == stet.__version__ and said["cameras"] == ["front", "top"]
    assert said["scene_sha256"] == scene_hash(sim.model) and said["timestep"] == 0.005


def test_pictures_are_those_of_the_frame(make, tmp_path):
    """Without a call of render."""
    sim, twin = make(**RUN), make(**RUN)
    with Writer(tmp_path / "a", sim, outputs=("rgb", "depth")) as data:
        for frame in range(3):
            for one in (sim, twin):
                one.control_noise(0.5, frame)
                one.step(20 * frame)
            data.add(seen=twin.read("rgb", "top", frame=twin.render()))
    data = Reader(tmp_path / "a")
    seen = data.read("rgb:top")
    assert np.array_equal(seen, data.read("seen")) and not np.array_equal(seen[1], seen[2])


@pytest.mark.parametrize("file", ["manifest.json", "shard-000000000.h5"])
def test_a_flipped_bit_is_found_or_is_of_no_consequence(make, tmp_path, file):
    """It ends in a sentence, or what is read is what was written."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    dice = random.Random(seed)
    with Writer(tmp_path / "a", make(**RUN), outputs=("rgb",)) as data:
        record(data._sim, data, 3)
    path = tmp_path / "a" / file
    whole = path.read_bytes()
    kept = {name: Reader(tmp_path / "a").read(name) for name in Reader(tmp_path / "a").names}
    found = 0
    for k in range(120):
        damaged = bytearray(whole)
        damaged[dice.randrange(len(whole) if k % 2 else min(len(whole), 4096))] ^= 1 << dice.randrange(8)
        path.write_bytes(damaged)
        try:
            data = Reader(tmp_path / "a")
            data.verify()
            for name in data.names:
                values = data.read(name)
                assert file == "manifest.json" or name not in kept or np.array_equal(values, kept[name]), (k, name)
        except stet.Error as error:
            found += 1
            assert "\n" not in str(error), error
    assert found > 0


def test_a_shard_that_is_larger_than_its_first_memory(make, tmp_path, monkeypatch):
    monkeypatch.setattr("stet.data._SHARD_BYTES", 4000)
    sim = make(**RUN)
    with Writer(tmp_path, sim, outputs=("rgb",), frames_in_shard=7) as data:
        kept = record(sim, data)
    data = Reader(tmp_path)
    assert [frames for _, frames, _ in data.shards] == [7, 3]
    for name, values in kept.items():
        assert np.array_equal(data.read(name), values), name


def test_continued(make, tmp_path):
    sim = make(**RUN)
    kept = []
    for _ in range(2):
        with Writer(tmp_path, sim, fields=["qpos"], frames_in_shard=4) as data:
            kept.append(record(sim, data, 6)["qpos"])
    data = Reader(tmp_path)
    assert np.array_equal(data.read("qpos"), np.concatenate(kept))
    episodes = data.read("episode")[:, 1]
    assert episodes.tolist() == [0] * 6 + [1] * 6  # a run that was continued begins episodes anew
    with pytest.raises(stet.InvalidArgumentError, match="another fields"):
        Writer(tmp_path, sim, fields=["qvel"])
    with pytest.raises(stet.InvalidArgumentError, match="another worlds"):
        Writer(tmp_path, make(worlds=2), fields=["qpos"])


def test_what_is_refused(make, tmp_path):
    sim = make(**RUN)
    with pytest.raises(stet.NotFoundError):
        Writer(tmp_path / "a", sim, fields=["nose"])
    with pytest.raises(stet.InvalidArgumentError, match="renders no 'normal'; it has rgb, depth"):
        Writer(tmp_path / "a", sim, outputs=["normal"])
    assert not (tmp_path / "a").exists()
    data = Writer(tmp_path / "a", sim)
    with pytest.raises(stet.InvalidArgumentError, match="the data set's own"):
        data.add(qpos=np.zeros((3, 2)))
    with pytest.raises(stet.InvalidArgumentError, match="first dimension is the worlds"):
        data.add(reward=np.zeros(2))
    data.add(reward=np.zeros(3))
    with pytest.raises(stet.InvalidArgumentError, match="reward: another type or shape"):
        data.add()
    data.close()
    read = Reader(tmp_path / "a")
    with pytest.raises(stet.InvalidArgumentError, match="no array nose"):
        read.read("nose")
    with pytest.raises(stet.InvalidArgumentError, match="frames 0 to 2 were asked for; it has 1"):
        read.read("qpos", 0, 2)
    with pytest.raises(stet.MissingFileError, match="no data set"):
        Reader(tmp_path)


def damaged(path):
    content = bytearray(path.read_bytes())
    with h5py.File(path) as file:
        place = file["qpos"].id.get_chunk_info(0).byte_offset
    content[place + 4] ^= 0x10
    path.write_bytes(content)


def test_any_damage_is_a_sentence_or_changes_nothing(make, tmp_path):
    """Any bit of a shard flipped; not all of a file's bytes are used."""
    with Writer(tmp_path, make(worlds=3), fields=("qpos",)) as data:
        for _ in range(5):
            data.add()
    path, rng, found = tmp_path / "shard-000000000.h5", random.Random(3), 0
    whole, reader = path.read_bytes(), Reader(tmp_path)
    kept = {name: reader.read(name) for name in reader.names}
    for _ in range(300):
        at = rng.randrange(len(whole))
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1:])
        try:
            reader = Reader(tmp_path)
            reader.verify()
            assert reader.names == sorted(kept)
            assert all(np.array_equal(reader.read(name), kept[name]) for name in kept)
        except stet.FileError:
            found += 1
    assert found


def test_damage_is_found(make, tmp_path):
    sim = make(**RUN)
    with Writer(tmp_path, sim, frames_in_shard=2) as data:
        record(sim, data, 6)
    damaged(tmp_path / "shard-000000002.h5")
    with pytest.raises(stet.FileError, match="shard-000000002.h5: qpos"):
        Reader(tmp_path).verify()
    (tmp_path / "shard-000000002.h5").unlink()
    with pytest.raises(stet.FileError, match="shard-000000002.h5 is missing"):
        Reader(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(stet.FileError, match="no data set"):
        Reader(tmp_path)


def test_a_manifest_that_a_power_cut_took(make, tmp_path):
    """Each shard has it; what is too long for that is on the disk before the first shard."""
    sim, path = make(**RUN), tmp_path / "manifest.json"
    with Writer(tmp_path, sim, fields=["qpos"], notes={"seed": 7}) as data:
        kept = record(sim, data, 3)["qpos"]
    text = path.read_text()
    for damage in (path.unlink, lambda: path.write_text("")):
        damage()
        data = Reader(tmp_path)
        assert data.manifest["notes"] == {"seed": 7} and np.array_equal(data.read("qpos"), kept)
    Writer(tmp_path, sim, fields=["qpos"]).close()  # goes on with it
    assert path.read_text() == text
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "manifest.json").write_text("")  # taken before there was a frame
    with Writer(tmp_path / "b", sim, fields=["qpos"], notes={"long": "ü" * 40000}) as data:
        record(sim, data, 1)
    assert Reader(tmp_path / "b").manifest["notes"] == {"long": "ü" * 40000}
    with h5py.File(tmp_path / "b" / "shard-000000000.h5") as shard:
        assert "manifest" not in shard.attrs


KILLED = """
import sys, stet
sim = stet.Sim(stet.scenes / "cartpole.xml", 4, "cpu")
data = stet.data.Writer(sys.argv[1], sim, frames_in_shard=10)
while True:
    sim.step()
    data.add()
"""


def test_a_writer_that_is_killed(make, tmp_path):
    """At any moment: what is there is whole, and lacks at most the open shard; writing goes on behind it."""
    for kill in range(3):
        process = subprocess.Popen([sys.executable, "-c", "import stet.data\n" + KILLED, tmp_path])
        before = len(list(tmp_path.glob("shard-*")))
        while len(list(tmp_path.glob("shard-*"))) < before + 3 + kill:
            assert process.poll() is None
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.wait(20)
        data = Reader(tmp_path)
        assert data.frames == 10 * len(data.shards) and len(data.shards) >= before + 3 and data.verify() > 0
    times = data.read("time")[:, 0, 0]
    steps = np.diff(times)
    assert (steps < 0).sum() == 2 and np.allclose(steps[steps > 0], 0.005)


def test_the_command(make, tmp_path, capsys):
    from stet.data.command import main

    sim = make(**RUN)
    with Writer(tmp_path / "a", sim, outputs=["rgb"], frames_in_shard=4) as data:
        kept = record(sim, data, 6)
    main(["info", str(tmp_path / "a")])
    out = capsys.readouterr().out
    assert "6 frames in 2 shards" in out and "rgb:top" in out and json.loads(out[:out.rindex("}") + 1])["worlds"] == 3
    main(["verify", str(tmp_path / "a")])
    assert "all checksums are right" in capsys.readouterr().out
    for words in (["export", "a"], ["import", "a"], ["export", "--format", "lerobot", "a"]):
        with pytest.raises(SystemExit) as ended:
            main(words)
        command = words[0]
        assert ended.value.code == 2
        assert f"give a second one: stet data {command} a OUT\n" in capsys.readouterr().err
    main(["export", str(tmp_path / "a"), str(tmp_path / "out")])
    assert np.array_equal(np.load(tmp_path / "out" / "rgb-top.npy"), kept["rgb:top"])
    with pytest.raises(SystemExit) as ended:
        main(["info", str(tmp_path)])
    assert ended.value.code == 2 and capsys.readouterr().err.count("\n") == 1
    done = subprocess.run([sys.executable, "-m", "stet", "data", "verify", tmp_path / "a"], capture_output=True)
    assert done.returncode == 0


def test_a_run_of_the_command_is_imported(tmp_path, capsys, monkeypatch):
    """Pictures of every third frame beside the recordings of the same frames; without pictures all frames."""
    from stet.data.command import main

    def stet_run(out, *words):
        program = Path(stet.__file__).parent / "bin" / "stet"
        subprocess.run([program, "run", stet.scenes / "cartpole.xml", "--worlds", "2", "--frames", "7", "--control",
                        "noise", *words, "--out", tmp_path / out], check=True, stdout=subprocess.DEVNULL)

    def refused(source, out, sentence):
        with pytest.raises(SystemExit) as ended:
            main(["import", str(tmp_path / source), str(tmp_path / out)])
        said = capsys.readouterr().err
        assert ended.value.code == 2 and said.count("\n") == 1 and sentence in said, said

    monkeypatch.setattr("stet.data._MOST_FRAMES", 1)
    pictures = ("--output", "rgb,depth", "--camera", "all", "--size", "16x12")
    stet_run("run", *pictures, "--record", "time,qpos", "--save-tensors", "every:3:npz")
    main(["import", str(tmp_path / "run"), str(tmp_path / "set")])
    assert "2 frames of 2 worlds" in capsys.readouterr().out
    data = Reader(tmp_path / "set")
    assert data.frames == len(data.shards) == 2 and data.manifest["notes"]["every"] == 3
    assert data.manifest["fields"] == ["qpos", "time"] and data.manifest["outputs"] == ["rgb", "depth"]
    with np.load(tmp_path / "run" / "frames.npz") as arrays:
        assert sorted([*arrays, "episode", "qpos", "time"]) == data.names
        for name in arrays:
            assert np.array_equal(data.read(name), arrays[name]), name
    for name in ("time", "qpos"):
        assert np.array_equal(data.read(name), np.load(tmp_path / "run" / f"{name}.npy")[2:6:3]), name
    assert not data.read("episode").any() and data.verify()
    refused("run", "set", "a data set is there")

    stet_run("fields", "--output", "none", "--record", "time,ctrl")
    main(["import", str(tmp_path / "fields"), str(tmp_path / "more")])
    data = Reader(tmp_path / "more")
    assert data.frames == 7 and data.names == ["ctrl", "episode", "time"] and data.manifest["outputs"] == []
    assert np.array_equal(data.read("ctrl"), np.load(tmp_path / "fields" / "ctrl.npy"))

    refused("fields/none", "none", "no recording of stet run")
    stet_run("untimed", "--output", "none", "--record", "qpos")
    refused("untimed", "none", "--record time,qpos")
    stet_run("apart", *pictures, "--record", "time", "--save-tensors", "every:2")
    refused("apart", "none", "--save-tensors every:2:npz")
    packed = bytearray((tmp_path / "run" / "frames.npz").read_bytes())
    packed[len(packed) // 3] ^= 1
    (tmp_path / "run" / "frames.npz").write_bytes(packed)
    refused("run", "damaged", "Bad CRC")


def test_a_bar_shows_who_watches_how_far_an_export_is(make, tmp_path, monkeypatch):
    pytest.importorskip("tqdm")
    from stet.data.command import main

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    with Writer(tmp_path / "a", make(**RUN), fields=("qpos",)) as data:
        data.add()
    for shown, seen in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr("sys.stderr", shown)
        main(["export", str(tmp_path / "a"), str(tmp_path / "out")])
        main(["verify", str(tmp_path / "a")])
        assert ("qpos:   0%" in shown.getvalue()) == ("verify:   0%" in shown.getvalue()) == seen


def test_lerobot(make, tmp_path, capsys, monkeypatch):
    """What LeRobot's reader looks at: rows, episodes, tasks, statistics, the forms of features."""
    pq = pytest.importorskip("pyarrow.parquet")
    Image = pytest.importorskip("PIL.Image")
    import io

    from stet.data import lerobot
    from stet.data.command import main

    monkeypatch.setattr(lerobot, "_PIECE", 3)
    monkeypatch.setattr(lerobot, "_FILE_BYTES", 1 << 13)
    sim = make(**RUN)
    with Writer(tmp_path / "a", sim, outputs=["rgb", "depth"], frames_in_shard=4) as data:
        kept = record(sim, data)
    out = tmp_path / "b"
    main(["export", str(tmp_path / "a"), str(out), "--format", "lerobot", "--task", "swing"])
    assert "8 episodes, 30 frames at 100 a second" in capsys.readouterr().out
    info = json.loads((out / "meta/info.json").read_text())
    assert info["codebase_version"] == "v3.0" and info["fps"] == 100 and info["splits"] == {"train": "0:8"}
    assert info["features"]["observation.state"] == {"dtype": "float32", "shape": [2], "names": None}
    assert info["features"]["observation.images.top"]["shape"] == [12, 16, 3]
    assert not any("depth" in name for name in info["features"])
    episodes = pq.read_table(out / "meta/episodes/chunk-000/file-000.parquet").to_pylist()
    # World 0 ended one at frame 3, world 1 none, world 2 one at each odd frame.
    assert [row["length"] for row in episodes] == [4, 6, 10, 2, 2, 2, 2, 2]
    of = [(0, 0), (0, 4), (1, 0), *((2, k) for k in range(0, 10, 2))]
    at = 0
    for (world, first), row in zip(of, episodes, strict=True):
        assert row["dataset_from_index"] == at and row["dataset_to_index"] == at + row["length"]
        at += row["length"]
        file = info["data_path"].format(chunk_index=row["data/chunk_index"], file_index=row["data/file_index"])
        table = pq.read_table(out / file, filters=[("episode_index", "=", row["episode_index"])])
        assert set(table.column_names) == set(info["features"])
        frames = slice(first, first + row["length"])
        assert np.array_equal(table["observation.state"].to_pylist(), kept["qpos"][frames, world])
        assert table["next.reward"].to_pylist() == [world + k for k in range(frames.start, frames.stop)]
        assert table["index"].to_pylist() == list(range(row["dataset_from_index"], row["dataset_to_index"]))
        assert np.allclose(table["timestamp"].to_pylist(), np.arange(row["length"]) / 100)
        pictures = [np.asarray(Image.open(io.BytesIO(one["bytes"]))) for one in
                    table["observation.images.top"].to_pylist()]
        assert np.array_equal(pictures, kept["rgb:top"][frames, world])
    assert episodes[-1]["data/file_index"] > 0
    stats = json.loads((out / "meta/stats.json").read_text())
    assert np.allclose(stats["observation.state"]["mean"], kept["qpos"].mean((0, 1)), atol=1e-6)
    assert np.allclose(stats["observation.state"]["std"], kept["qpos"].std((0, 1)), atol=1e-6)
    assert np.allclose(np.ravel(stats["observation.images.top"]["max"]), kept["rgb:top"].max((0, 1, 2, 3)) / 255)
    tasks = pq.read_table(out / "meta/tasks.parquet")
    assert tasks.to_pylist() == [{"task_index": 0, "task": "swing"}] and b"pandas" in tasks.schema.metadata
    with pytest.raises(SystemExit):
        main(["export", str(tmp_path / "a"), str(out), "--format", "lerobot"])
    assert "not empty" in capsys.readouterr().err


def test_lerobots_own_reader(make, tmp_path, monkeypatch):
    """The same rows, where LeRobot is installed (for CPython 3.12 and later, with PyTorch)."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    reader = pytest.importorskip("lerobot.datasets.lerobot_dataset")
    from stet.data.command import main

    sim = make(**RUN)
    with Writer(tmp_path / "a", sim, outputs=["rgb"], frames_in_shard=4) as data:
        kept = record(sim, data)
    main(["export", str(tmp_path / "a"), str(tmp_path / "b"), "--format", "lerobot", "--task", "swing"])
    found = reader.LeRobotDataset("stet/test", root=tmp_path / "b")
    assert len(found) == 30 and found.num_episodes == 8 and found.fps == 100
    rows = [(0, k) for k in range(10)] + [(1, k) for k in range(10)] + [(2, k) for k in range(10)]
    for at, (world, frame) in enumerate(rows):
        row = found[at]
        assert row["task"] == "swing" and row["next.reward"] == world + frame
        assert np.array_equal(row["observation.state"].numpy(), kept["qpos"][frame, world])
        picture = row["observation.images.top"].numpy().transpose(1, 2, 0) * 255
        assert np.array_equal(np.rint(picture), kept["rgb:top"][frame, world])


def test_a_library_is_missing(make, monkeypatch, tmp_path):
    sim = make()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(stet.UnsupportedError, match="stet.data needs h5py: pip install h5py"):
        Writer(tmp_path, sim)
