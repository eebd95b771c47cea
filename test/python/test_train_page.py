"""doc/train.md: its Python runs as it stands."""

import contextlib
import io
import os
import re
from pathlib import Path

import pytest

pytest.importorskip("gymnasium")
ROOT = Path(__file__).resolve().parents[2]
if not (ROOT / ".venv" / "corpus" / "mjlab").exists():
    pytest.skip("no models of other projects", allow_module_level=True)
os.environ.setdefault("STET_ROBOTS", str(ROOT / ".venv" / "corpus"))
PROGRAMS = re.findall(r"```python\n(.*?)```", (ROOT / "doc" / "train.md").read_text(), re.S)


def test_programs_run():
    names, out = {}, io.StringIO()
    for program in PROGRAMS:
        with contextlib.redirect_stdout(out):
            exec(compile(program, "doc/train.md", "exec"), names)
    assert "{'critic': (64, 72), 'policy': (64, 48)}" in out.getvalue()
