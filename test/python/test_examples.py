"""The examples in Python: that they run, and that the policy learns."""

import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"


def run(name, *words, cwd, seconds=120):
    done = subprocess.run([sys.executable, str(EXAMPLES / name), *map(str, words)], cwd=cwd, capture_output=True,
                          text=True, timeout=seconds)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("how", ["torch", "numpy"])
def test_springs_are_fitted(tmp_path, how):
    if how == "torch":
        pytest.importorskip("torch")
    code, said, wrong = run("fit_springs.py", "--device", "auto", *["--numpy"] * (how == "numpy"), cwd=tmp_path)
    assert code == 0, said + wrong
    assert "a tape of 301 launches; 16 of 16 attempts found" in said


@pytest.mark.parametrize("how", ["torch", "numpy"])
def test_balls_go_through_rings(tmp_path, how):
    if how == "torch":
        pytest.importorskip("torch")
    code, said, wrong = run(
        "throw_ball.py", "--rings", 16, "--device", "auto", *["--numpy"] * (how == "numpy"), cwd=tmp_path
    )
    assert code == 0, said + wrong
    assert said.splitlines()[-1].endswith("16 of 16 rings") and " 16 of 16 rings" not in said.splitlines()[0]


def test_examples_say_what_they_missed(tmp_path):
    code, said, _ = run("fit_springs.py", "--numpy", "--iterations", 3, "--worlds", 4, "--device", "cpu", cwd=tmp_path)
    assert code == 1 and "of 4 attempts found" in said
    code, said, _ = run("throw_ball.py", "--numpy", "--iterations", 2, "--rings", 4, "--device", "cpu", cwd=tmp_path)
    assert code == 1 and said.splitlines()[-1].startswith("iteration   2:")


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_each_says_what_it_takes(name, tmp_path):
    code, said, wrong = run(name, "--help", cwd=tmp_path)
    if "ModuleNotFoundError" in wrong:
        pytest.skip(wrong.splitlines()[-1])
    assert code == 0 and said.startswith(f"usage: {name}") and not list(tmp_path.iterdir())
    code, _, wrong = run(name, "--helpless", cwd=tmp_path)
    assert code == 2 and "unrecognized arguments: --helpless" in wrong and not list(tmp_path.iterdir())


def test_hand_pixels_saves_a_picture(tmp_path):
    pytest.importorskip("gymnasium")
    code, said, wrong = run("hand_pixels.py", "hands.ppm", cwd=tmp_path)
    assert code == 0, wrong
    assert said.startswith("hands.ppm: 4 hands;")
    size, pixels = re.fullmatch(rb"P6 (\d+ \d+) 255\n(.*)", (tmp_path / "hands.ppm").read_bytes(), re.S).groups()
    assert size == b"640 160" and len(pixels) == 640 * 160 * 3
    hands = np.frombuffer(pixels, np.uint8).reshape(160, 4, 160, 3).swapaxes(0, 1)
    assert len({hand.tobytes() for hand in hands}) == 4 and hands.std(axis=(1, 2)).min() > 15, "four hands that differ"


def test_markers_are_in_the_picture(tmp_path):
    code, said, wrong = run("markers.py", "goals.ppm", cwd=tmp_path)
    assert code == 0, wrong
    parts = [float(part) for part in re.findall(r"([\d.]+) %", said)]
    assert len(parts) == 4 and min(parts) > 0.5
    assert (tmp_path / "goals.ppm").read_bytes().startswith(b"P6 640 160 255\n")


def test_frames_of_another_renderer_become_tensors(tmp_path):
    code, said, wrong = run("other_renderer.py", cwd=tmp_path)
    assert code == 0, wrong
    assert said.splitlines() == [
        "float16 (6, 3, 24, 32): 13 % are red; 6 of 6 squares are where their balls are",
        "after a reset of world 2 there are other pixels in worlds [2]",
    ]


def test_the_policy_learns(tmp_path):
    pytest.importorskip("gymnasium")
    pytest.importorskip("torch")
    code, said, wrong = run(
        "train_cartpole.py", "--worlds", 256, "--device", "auto", "--seed", 1, cwd=tmp_path, seconds=500
    )
    assert code == 0, said + wrong
    assert int(re.search(r"(\d+) % are balanced", said)[1]) >= 90


def test_without_training_it_says_so(tmp_path):
    pytest.importorskip("gymnasium")
    pytest.importorskip("torch")
    code, said, _ = run("train_cartpole.py", "--worlds", 64, "--updates", 1, "--device", "cpu", cwd=tmp_path)
    assert code == 1 and int(re.search(r"(\d+) % are balanced", said)[1]) < 90


@pytest.mark.parametrize("task", ["cartpole", "hand"])
def test_processes_teach_a_policy_together(task, tmp_path):
    pytest.importorskip("gymnasium")
    pytest.importorskip("torch")

    def train(processes, *more):
        words = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
        words += [str(EXAMPLES / "train_ranks.py"), "--task", task, "--worlds", "8", "--updates", "1"]
        words += ["--device", "cpu", *more]
        done = subprocess.run([sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, timeout=200)
        assert done.stdout.count(f" with {processes} processes; ") == 1, done.stderr
        return [line for line in done.stdout.splitlines() if line.startswith("policy after 1 updates: ")]

    assert train(2) == []
    one = train(1, "--parts", "2")
    assert len(one) == 1 and train(2, "--parts", "2") == one


def test_a_lost_actor_is_made_again(tmp_path):
    pytest.importorskip("ray")
    words = ["--actors", 3, "--worlds", 7, "--frames", 6, "--lose"]
    code, said, wrong = run("ray_actors.py", *words, cwd=tmp_path, seconds=200)
    assert code == 0, wrong
    assert "frame 3: actor 2 is lost" in said and "the same bits as one sim" in said
