"""The scripts of learning curves run, and write what they say."""

import json
import math
import os
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"


def run(name, *words):
    done = subprocess.run([sys.executable, str(BENCH / name), *map(str, words)], capture_output=True, text=True,
                          timeout=200, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_curves_on_a_gpu(tmp_path):
    """Here on a CPU, an update each; the same command goes on from there."""
    out, words = tmp_path / "out.json", ["--work", tmp_path / "work", "--device", "cpu", "--seconds", 0]
    runs = ["--runs", "cartpole_pixels,hand", "--jobs", 2]
    said = run("gpu_learning.py", "train", "--out", out, *words, "--worlds", 4, *runs)
    assert said.count(" million steps") == 2
    result = json.loads(out.read_text())
    assert {"machine", "commit", "versions", "settings", "command", "results"} <= result.keys()
    rows = {row["run"]: row for row in result["results"]}
    assert rows.keys() == {"cartpole_pixels", "hand"}
    for row in rows.values():
        assert row["name"].startswith("learning/") and row["worlds"] == 4 and len(row["samples"]) == 1
        point = row["curve"][-1]
        assert point["steps"] == 4 * 24 and math.isfinite(point["reward"]) and row["seconds"] > 0
    first = rows["cartpole_pixels"]
    assert math.isfinite(first["value"]) and first["curve"][0]["reward"] == 1
    run("gpu_learning.py", "one", "cartpole_pixels", *words, "--worlds", 4)
    again = json.loads((tmp_path / "work" / "cartpole_pixels-1.json").read_text())
    assert [point["steps"] for point in again["curve"]] == [96, 192] and again["seconds"] > first["seconds"]


def test_curves_beside_gymnasium_s(tmp_path):
    pytest.importorskip("stable_baselines3")
    out = tmp_path / "out.json"
    words = ["train", "--out", out, "--tasks", "InvertedDoublePendulum", "--kinds", "native", "--seeds", 1]
    run("gym_learning.py", *words, "--steps", 2048)
    row, = json.loads(out.read_text())["results"]
    assert row["name"] == "learning/InvertedDoublePendulum/native/seed_1" and row["done"] == 2048
    assert len(row["samples"]) == 12 and math.isfinite(row["value"]) and row["episodes"] > 0
    assert run("gym_learning.py", *words, "--steps", 2048) == "", "what is there is not made again"
