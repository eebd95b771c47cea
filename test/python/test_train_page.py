"""doc/train.md: its Python and its commands run as they stand, training for a moment."""

import contextlib
import importlib.util
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

gymnasium = pytest.importorskip("gymnasium")
pytest.importorskip("mujoco")
ROOT = Path(__file__).resolve().parents[2]
if not (ROOT / ".venv" / "corpus" / "mjlab").exists():
    pytest.skip("no models of other projects", allow_module_level=True)
os.environ.setdefault("STET_ROBOTS", str(ROOT / ".venv" / "corpus"))
PAGE = (ROOT / "doc" / "train.md").read_text()
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE, re.S)
(COMMANDS,) = re.findall(r"```console\n(.*?)```", PAGE, re.S)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the page's programs have run, and what they printed."""
    folder, names, out = tmp_path_factory.mktemp("page"), {}, io.StringIO()
    before = Path.cwd()
    os.chdir(folder)
    try:
        for program in PROGRAMS:
            with contextlib.redirect_stdout(out):
                exec(compile(program, "doc/train.md", "exec"), names)
    finally:
        os.chdir(before)
        gymnasium.registry.pop("Dog-v0", None)
    (folder / "dog.py").write_text(next(program for program in PROGRAMS if "class DogVectorEnv" in program))
    return folder, out.getvalue()


def test_programs_run(folder):
    assert "{'critic': (64, 72), 'policy': (64, 48)}" in folder[1]
    stands = re.search(r"stands: True  feet on the ground: ([0-9.]+)", folder[1])
    assert stands and float(stands.group(1)) > 0.8 and "'linear': " in folder[1]
    assert "MJCF as URDF: True" in folder[1] and 'type="free"' in (folder[0] / "dog.xml").read_text()


def test_commands_run(folder):
    """Each ends soon: few worlds, little time."""
    for name in "torch", "rsl_rl", "onnxruntime":
        pytest.importorskip(name)
    commands = [line.removeprefix("$ stet ").split() for line in COMMANDS.splitlines()]
    assert [words[0] for words in commands] == ["train", "play", "play", "train"]
    for words in commands:
        words = [one if before != "--seconds" else "1" for before, one in zip(["", *words], words)]
        if "--record" in words:
            if importlib.util.find_spec("PIL") is None:
                continue
            given = {"--record": "dog.gif", "--steps": "3"}
            words = [given.get(before, one) for before, one in zip(["", *words], words)]
        words += ["--worlds", "8", "--device", "cpu"]
        done = subprocess.run([sys.executable, "-W", "ignore", "-m", "stet", *words],
                              cwd=folder[0], capture_output=True, text=True, timeout=300, check=False,
                              env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder[0]), *sys.path])})
        assert done.returncode == 0, (words, done.stderr[-2000:])
        assert words[0] == "train" or "--measure" not in words or "Dog-v0: " in done.stdout
    assert (folder[0] / "runs" / "dog" / "policy.onnx").exists()
