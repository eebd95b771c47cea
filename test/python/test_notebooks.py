"""The notebooks run as they stand: cell by cell in Python, and in Jupyter, where that is installed."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

pytest.importorskip("gymnasium")
pytest.importorskip("PIL")

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "notebooks"
BOOKS = sorted(FOLDER.glob("*.ipynb"))
JUPYTER = all(importlib.util.find_spec(name) for name in ("nbclient", "ipykernel"))


def check_first_steps(said):
    fallen = [float(x) for x in re.search(r"falls by (\S+) m on the earth, (\S+) m on the moon", said).groups()]
    assert fallen == pytest.approx([9.81 * 0.02, 1.62 * 0.02], rel=0.05)
    assert "can be reached: 16\n" in said
    assert float(re.search(r"distance to the target: (\S+) m", said)[1]) < 0.02


def check_own_environment(said):
    nothing, found = (float(re.search(rf"{what}: (\S+)", said)[1]) for what in ("nothing done", "of the policy"))
    assert nothing < 60 and found > 150


CHECKS = {"first_steps": check_first_steps, "own_environment": check_own_environment}


def cells(path):
    return [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]


def test_each_has_a_check_and_no_output():
    assert {path.stem for path in BOOKS} == CHECKS.keys()
    assert all(not cell["outputs"] and cell["execution_count"] is None for path in BOOKS for cell in cells(path))


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_they_run(path, capsys):
    names = {}
    for cell in cells(path):
        exec(compile("".join(cell["source"]), path.name, "exec"), names)
    CHECKS[path.stem](capsys.readouterr().out)


@pytest.mark.skipif(not JUPYTER, reason="no nbclient and ipykernel: tools/setup.sh notebooks installs them")
@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_they_run_in_jupyter(path, monkeypatch, tmp_path):
    import nbclient
    import nbformat

    for folder in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(folder, str(tmp_path))
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    where = {"metadata": {"path": tmp_path}}
    nbclient.NotebookClient(book, timeout=60, kernel_name="python3", resources=where).execute()
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    CHECKS[path.stem]("".join(output.text for output in outputs if output.get("name") == "stdout"))
    if path.stem == "first_steps":
        assert any("image/png" in output.get("data", {}) for output in outputs), "a picture is shown"
