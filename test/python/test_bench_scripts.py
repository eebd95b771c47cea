"""The benchmarks in Python: that they run and that what they compare ends in the same bits. No test depends on time."""

import json
import pathlib
import re
import subprocess
import sys

import pytest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"


def run(name, *words):
    done = subprocess.run([sys.executable, "-B", str(BENCH / name), *map(str, words)], capture_output=True, text=True,
                          timeout=120)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("how", ["torch", "numpy"])
def test_a_policy_s_frames_are_equal_in_all_variants(tmp_path, how):
    if how == "torch":
        pytest.importorskip("torch")
    path = tmp_path / "out.json"
    code, said, wrong = run("train_frame.py", "--device", "cpu", "--worlds", "5,18", "--size", "40x36", "--turns", 2,
                            "--seconds", 0, "--threads", 1, *["--numpy"] * (how == "numpy"), "--out", path)
    assert code == 0, said + wrong
    result = json.loads(path.read_text())
    assert result["machine"] and result["commit"] and "--size 40x36" in result["command"]
    rows = {row["name"]: row for row in result["results"]}
    assert len(said.splitlines()) == len(rows) == 12 and all(min(row["samples"]) > 0 for row in rows.values())
    for worlds in (5, 18):
        name = f"train/hand/{worlds}x40x36"
        launches = {
            variant: float(re.search(r"has ([\d.]+) launches", rows[f"{name}/{variant}/frames_per_s"]["note"])[1])
            for variant in ("at_once", "launch_a_world", "launch_a_world_singly")
        }
        assert launches["launch_a_world"] == launches["launch_a_world_singly"] == launches["at_once"] + worlds - 1
        ended = {rows[f"{name}/at_once_over_{variant}"]["note"].rpartition("end in ")[2]
                 for variant in ("launch_a_world", "launch_a_world_singly")}
        assert len(ended) == 1 and re.fullmatch(r"[0-9a-f]{16} [0-9a-f]{16}", ended.pop())


@pytest.mark.parametrize("words", [("--size", "40"), ("--size", "40x35"), ("--worlds", "0"), ("--worlds", "few")])
def test_bad_input(words):
    code, _, wrong = run("train_frame.py", "--device", "cpu", "--numpy", *words)
    assert code == 2 and "--worlds takes numbers, --size WIDTHxHEIGHT of at least 36" in wrong, wrong
