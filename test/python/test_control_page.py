"""doc/control.md: its Python runs as it stands."""

import contextlib
import io
import re
from pathlib import Path

import numpy as np

PAGE = (Path(__file__).resolve().parents[2] / "doc" / "control.md").read_text()


def test_programs_run():
    names, out = {}, io.StringIO()
    for program in re.findall(r"```python\n(.*?)```", PAGE, re.S):
        with contextlib.redirect_stdout(out):
            exec(compile(program, "doc/control.md", "exec"), names)
    printed = out.getvalue()
    assert int(re.search(r"can be reached: (\d+)", printed)[1]) > 50
    assert float(re.search(r"its target: (\S+)", printed)[1]) < 0.05
    reached = names["error"] < 1e-4
    assert np.linalg.norm(names["observation"], axis=1)[reached].max() < 0.02
    assert names["force"].shape == (64, names["nv"])
