"""stet.train: a policy that was trained is the one that is played; runs are repeated, resumed and refused."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import stet
import stet.train
from stet.train import find_run, find_task, make_task, measure, play, train

TASK, WORLDS = "InvertedPendulum", 16


def command(*words):
    return subprocess.run([sys.executable, "-W", "ignore", "-m", "stet", *map(str, words)], capture_output=True,
                          text=True, timeout=300, check=False, env={**os.environ, "MPLBACKEND": "agg"})


def test_tasks_by_name():
    assert find_task("stet/Ant-v5") == find_task("Ant") == "stet/Ant-v5"
    assert find_task("QuadrupedJoystick") == "stet/QuadrupedJoystick-v0"
    with pytest.raises(stet.Error, match=r"no task 'InvertedPendulm'; did you mean 'InvertedPendulum'"):
        find_task("InvertedPendulm")
    with make_closed("QuadrupedJoystick") as env:
        assert isinstance(env, stet.gym.TensorVectorEnv)
    with make_closed("QuadrupedJoystick", tensors=False) as env:
        assert not isinstance(env, stet.gym.TensorVectorEnv)
    with make_closed("Pusher", physics="mujoco") as env:
        assert not isinstance(env, stet.gym.TensorVectorEnv), "its episodes cannot begin on the device"


class make_closed:
    def __init__(self, task, **more):
        self.env = make_task(task, 2, "cpu", autoreset_mode="SAME_STEP", **more)

    def __enter__(self):
        return self.env

    def __exit__(self, *_):
        self.env.close()


def test_what_cannot_be_played(tmp_path):
    with pytest.raises(stet.Error, match=r"it has no run.json; give a folder that `stet train` made"):
        play(tmp_path)
    done = command("play", tmp_path, "--no-page")
    assert done.returncode and "--no-page wants --steps" in done.stderr
    done = command("play", tmp_path, "--no-page", "--steps", 3, "--set", "frame_skip")
    assert done.returncode == 2 and "'frame_skip' is no NAME=VALUE" in done.stderr


def test_without_rsl_rl_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "rsl_rl", None)
    monkeypatch.setitem(sys.modules, "rsl_rl.runners", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'stet\[train\]' \(PyTorch and rsl_rl\)"):
        train(TASK, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    pytest.importorskip("torch")
    pytest.importorskip("rsl_rl")
    folder = tmp_path_factory.mktemp("train") / "run"
    settings = {"num_steps_per_env": 8, "algorithm": {"num_mini_batches": 2}}
    train(TASK, folder, num_envs=WORLDS, device="cpu", iterations=3, settings=settings, physics="native")
    return folder


def test_a_run_is_repeated_and_resumed(run, tmp_path):
    about = json.loads((run / "run.json").read_text())
    assert about["task"] == "stet/InvertedPendulum-v5" and about["keywords"] == {"physics": "native"}
    assert [row["iteration"] for row in about["curve"]] == [0, 1, 2]
    assert about["curve"][-1]["steps"] == 3 * 8 * WORLDS and about["curve"][-1]["return"] > 0
    assert about["settings"]["algorithm"]["gamma"] == stet.train.SETTINGS["algorithm"]["gamma"]
    again = train(TASK, tmp_path / "again", num_envs=WORLDS, device="cpu", iterations=3, settings=about["settings"],
                  physics="native")
    curve = json.loads((again / "run.json").read_text())["curve"]
    assert [row["return"] for row in curve] == [row["return"] for row in about["curve"]], "equal seeds, equal runs"
    with pytest.raises(stet.Error, match=r"there is a run already; resume it, or give another folder"):
        train(TASK, again)
    with pytest.raises(stet.Error, match=r"it has a run of stet/InvertedPendulum-v5, not of stet/Ant-v5"):
        train("Ant", again, resume=True)
    before = (again / "policy.onnx").read_bytes()
    train(TASK, again, num_envs=WORLDS, device="cpu", iterations=2, resume=True)
    curve = json.loads((again / "run.json").read_text())["curve"]
    assert [row["iteration"] for row in curve] == [0, 1, 2, 3, 4] and (again / "policy.onnx").read_bytes() != before
    assert sorted(path.name for path in again.iterdir()) == ["model.pt", "policy.onnx", "run.json"]


def test_what_a_task_is_trained_with(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    pytest.importorskip("rsl_rl")
    kind = stet.train.find_class(TASK)
    monkeypatch.setattr(kind, "training", {"num_steps_per_env": 4, "actor": {"hidden_dims": [8]}}, raising=False)
    monkeypatch.setattr(kind, "training_keywords", {"physics": "native", "reset_noise_scale": 0.5}, raising=False)
    monkeypatch.setattr(kind, "training_size", {"cpu": (24, 2)}, raising=False)
    folder = train(TASK, tmp_path / "own", device="cpu", reset_noise_scale=0.02)
    about = json.loads((folder / "run.json").read_text())
    assert about["keywords"] == {"physics": "native", "reset_noise_scale": 0.02} and about["worlds"] == 24
    assert about["settings"]["actor"]["hidden_dims"] == [8] and about["settings"]["critic"]["hidden_dims"] != [8]
    assert [row["steps"] for row in about["curve"]] == [96, 192]
    monkeypatch.delattr(kind, "training_size")
    folder = train(TASK, tmp_path / "usual", device="cpu", iterations=1)
    assert json.loads((folder / "run.json").read_text())["worlds"] == 256


def test_time_is_up(run, tmp_path):
    """At once: one iteration is made, and the folder has it."""
    folder = train(TASK, tmp_path / "short", num_envs=WORLDS, device="cpu", iterations=50, seconds=1e-6,
                   settings=json.loads((run / "run.json").read_text())["settings"], physics="native")
    assert len(json.loads((folder / "run.json").read_text())["curve"]) == 1 and (folder / "policy.onnx").exists()


def test_settings_that_are_not_there(run, tmp_path):
    with pytest.raises(stet.Error, match=r"settings\['algorithm'\] has no 'gama'; there are "):
        train(TASK, tmp_path / "no", settings={"algorithm": {"gama": 1}})


def test_the_policy_is_that_which_was_trained(run):
    pytest.importorskip("onnxruntime")
    torch = pytest.importorskip("torch")
    weights = torch.load(run / "model.pt", weights_only=False)["actor_state_dict"]
    seen = np.random.default_rng(1).normal(size=(5, 4)).astype(np.float32)
    x = torch.from_numpy(seen).double()
    x = (x - weights["obs_normalizer._mean"]) / (weights["obs_normalizer._std"] + 1e-2)
    layers = sorted({int(key.split(".")[1]) for key in weights if key.startswith("mlp.")})
    for layer in layers:
        x = x @ weights[f"mlp.{layer}.weight"].double().T + weights[f"mlp.{layer}.bias"].double()
        x = x if layer == layers[-1] else torch.nn.functional.elu(x)
    assert np.allclose(stet.train.Policy(run / "policy.onnx")(seen), x, atol=1e-4)


def test_it_is_played(run, tmp_path):
    pytest.importorskip("onnxruntime")
    found = play(run, num_envs=8, device="cpu", steps=60)
    assert found["episodes"] > 0 and found["return"] > 0 and 0 <= found["failed"] <= 1
    assert found == play(run, num_envs=8, device="cpu", steps=60)
    done = command("play", run, "--no-page", "--steps", 60, "--worlds", 8, "--device", "cpu")
    assert done.returncode == 0 and f"{found['episodes']} episodes: return {found['return']:.2f}" in done.stdout
    shown = []

    class Page:
        def __init__(self, sim):
            shown.append(sim.nworld)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            shown.append("closed")

    play(run, num_envs=3, device="cpu", steps=2, page=Page)
    assert shown == [3, "closed"]


def test_it_is_measured(run, tmp_path, monkeypatch):
    """A world whose pole stays up, and a number that stays small, is one that did it."""
    pytest.importorskip("onnxruntime")
    with pytest.raises(stet.Error, match=r"stet/InvertedPendulum-v5 says nothing of what is measured"):
        measure(run)
    kind = stet.train.find_class(TASK)
    monkeypatch.setattr(kind, "measured", ("reward_survive", "mean", 1.0), raising=False)
    monkeypatch.setattr(kind, "measured_with", {"max_episode_steps": 20}, raising=False)
    found = measure(run, num_envs=16, device="cpu")
    assert found["worlds"] == 16 and found["good"] + found["failed"] == 16 and found["what"] == "reward_survive"
    none = measure(run, num_envs=16, device="cpu", max_episode_steps=2)
    assert none["good"] == 16 and none["failed"] == 0 and none["mean"] == none["worst"] == 1
    monkeypatch.setattr(kind, "measured", ("reward_survive", "last", 0.5))
    assert measure(run, num_envs=16, device="cpu", max_episode_steps=2)["good"] == 0


def test_the_shipped_policy_walks(monkeypatch):
    """Also where a task's robot lies elsewhere."""
    pytest.importorskip("onnxruntime")
    corpus = pathlib.Path(__file__).parents[2] / ".venv" / "corpus"
    if not (corpus / "mjlab").exists():
        pytest.skip("no models of other projects")
    monkeypatch.setenv("STET_ROBOTS", str(corpus))
    about = json.loads((find_run("Go1Velocity") / "run.json").read_text())
    assert about["task"] == "stet/Go1Velocity-v0" and about["seed"] == 1 and len(about["curve"]) > 30
    assert about["keywords"] == stet.train.find_class("Go1Velocity").training_keywords
    found = measure("Go1Velocity", num_envs=64, device="cpu")
    assert found["good"] >= 0.95 * 64, found
    with pytest.raises(stet.Error, match="or a task whose policy is shipped: Go1Velocity"):
        find_run("Go1Velocit")
