"""The scripts of learning curves run, and write what they say."""

import argparse
import importlib
import importlib.util
import json
import math
import multiprocessing
import pathlib
import sys

import pytest

for needed in "torch", "gymnasium":  # not imported here: the scripts' runs are processes that have it
    if importlib.util.find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed", allow_module_level=True)

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture
def run(monkeypatch, capfd):
    """Runs a script as its command does, in this process, and returns what it and its runs print."""
    monkeypatch.syspath_prepend(BENCH)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")

    def run(name, *words):
        monkeypatch.setattr(sys, "argv", [name + ".py", *map(str, words)])
        importlib.import_module(name).main()
        return capfd.readouterr().out

    return run


def test_curves_on_a_gpu(run, tmp_path):
    """Here on a CPU, an update each; the same command goes on from there."""
    out, words = tmp_path / "out.json", ["--work", tmp_path / "work", "--device", "cpu", "--seconds", 0]
    runs = ["--runs", "cartpole_pixels,hand_pixels", "--jobs", 2]
    said = run("gpu_learning", "train", "--out", out, *words, "--worlds", 4, *runs)
    assert said.count(" million steps") == 2
    result = json.loads(out.read_text())
    assert {"machine", "commit", "versions", "settings", "command", "results"} <= result.keys()
    rows = {row["run"]: row for row in result["results"]}
    assert rows.keys() == {"cartpole_pixels", "hand_pixels"}
    for row in rows.values():
        assert row["name"].startswith("learning/") and row["worlds"] == 4 and len(row["samples"]) == 1
        point = row["curve"][-1]
        assert point["steps"] == 4 * 24 and math.isfinite(point["reward"]) and row["seconds"] > 0
    first = rows["cartpole_pixels"]
    assert math.isfinite(first["value"]) and first["curve"][0]["reward"] == 1
    run("gpu_learning", "train", "--out", out, *words, "--worlds", 4, "--runs", "cartpole_pixels")
    again = json.loads((tmp_path / "work" / "cartpole_pixels-1.json").read_text())
    assert [point["steps"] for point in again["curve"]] == [96, 192] and again["seconds"] > first["seconds"]


def test_curves_beside_gymnasium_s(run, tmp_path):
    if importlib.util.find_spec("stable_baselines3") is None:
        pytest.skip("stable_baselines3 is not installed")
    out = tmp_path / "out.json"
    words = ["train", "--out", out, "--tasks", "InvertedDoublePendulum", "--kinds", "native", "--seeds", 1]
    run("gym_learning", *words, "--steps", 2048)
    row, = json.loads(out.read_text())["results"]
    assert row["name"] == "learning/InvertedDoublePendulum/native/seed_1" and row["done"] == 2048
    assert len(row["samples"]) == 12 and math.isfinite(row["value"]) and row["episodes"] > 0
    assert run("gym_learning", *words, "--steps", 2048) == "", "what is there is not made again"


def test_time_to_a_return(tmp_path, monkeypatch):
    """stet's side, as it is; and figures of both."""
    monkeypatch.syspath_prepend(BENCH)
    import learning_warp

    out = tmp_path / "out.json"
    monkeypatch.setattr(sys, "argv", ["learning_warp.py", "--sides", "stet", "--device", "cpu", "--worlds", "16",
                                      "--seconds", "0", "--goal", "1e9", "--out", str(out)])
    process = multiprocessing.get_context("forkserver").Process(target=learning_warp.main)
    process.start()
    process.join()
    assert process.exitcode == 0
    seconds, frames, rollout = json.loads(out.read_text())["results"]
    assert seconds["value"] is None and seconds["note"].startswith("not reached; 16 worlds")
    assert math.isfinite(seconds["samples"][0]) and seconds["curve"][0]["steps"] == 16 * 24
    assert rollout["value"] > frames["value"] > 0

    options, found = argparse.Namespace(task="Ant", goal=3000, worlds=4, seed=1), {}
    for side, at in ("stet", 30.0), ("mujoco_warp", 75.0):
        point = {"seconds": at, "rolling": at / 2, "steps": 6000, "return": 3001.0}
        found[side] = learning_warp.rows_of(side, 1.0, [point], options)
    assert [row["value"] for row in found["stet"]] == [30, 200, 400]
    assert [row["value"] for row in learning_warp.compare(found, "Ant")] == [2.5, 2.5, 2.5]
    monkeypatch.setattr(sys, "argv", ["learning_warp.py", "--sides", "stet,warp"])
    with pytest.raises(SystemExit):
        learning_warp.main()
