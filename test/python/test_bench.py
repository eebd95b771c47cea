"""python -m stet.bench: its rows are there, in order. What they say is for people."""

import sys

import pytest

from stet import bench


@pytest.mark.parametrize("device, more", [("null", 0), ("cpu", 1)])
def test_rows(device, more):
    rows = list(bench.rows(device, calls=10, worlds=2))
    assert [what for what, _ in rows][:2] == ["step: a loop in C", "step: a loop in Python"] and len(rows) == 5 + more
    assert all(time > 0 for _, time in rows)


def test_main(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["bench", "--device", "cpu", "--calls", "5"])
    bench.main()
    assert "what Python adds to a step" in capsys.readouterr().out
