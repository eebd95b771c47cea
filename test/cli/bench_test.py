"""`stet bench`: its JSON, its list, and what it refuses. What it measures is not tested: no test depends on time."""

import json
import os

from command import folder, stet

KEYS = {"name", "value", "unit", "better", "goal", "samples", "note"}


def refused(*words, mentions, env=None):
    done = stet("bench", *words, env=env)
    assert done.returncode == 2 and done.stdout == "", (words, done)
    assert done.stderr.startswith("stet bench: ") and done.stderr.count("\n") == 1, (words, done)
    assert mentions in done.stderr, (words, done)


def measure(*words):
    """None in a build with sanitizers, where the command must say that it is one."""
    done = stet("bench", *words)
    if "instrumented" in done.stderr:
        assert done.returncode == 2 and done.stdout == "", done
        return None
    assert done.returncode == 0 and done.stderr == "", done
    return done.stdout


def median(samples):
    low, high = sorted(samples)[(len(samples) - 1) // 2], sorted(samples)[len(samples) // 2]
    return (low + high) / 2


def test_list_names_what_there_is():
    done = stet("bench", "--list")
    assert done.returncode == 0
    names = [line.split()[0] for line in done.stdout.splitlines()]
    assert names == ["pilots", "tiles", "sim", "depth", "idle"], names


def test_json_is_one_object_with_its_keys():
    with folder() as at:
        path = os.path.join(at, "out.json")
        printed = measure("idle", "--json", "--threads", 2, "--out", path)
        if printed is None:
            assert not os.path.exists(path)
            return
        result = json.loads(printed)
        with open(path, encoding="utf-8") as f:
            assert json.load(f) == result
    assert set(result) == {"machine", "commit", "command", "results"}
    assert result["command"].startswith("stet bench idle --json --threads 2")
    assert len({row["name"] for row in result["results"]}) == len(result["results"]) >= 5
    for row in result["results"]:
        assert set(row) == KEYS and row["better"] in ("higher", "lower") and row["unit"], row
        assert row["samples"] and abs(row["value"] - median(row["samples"])) <= 1e-4 * abs(row["value"]), row


def test_nothing_is_done_where_all_stands():
    printed = measure("idle", "--json")
    if printed is not None:
        values = {row["name"]: row["value"] for row in json.loads(printed)["results"]}
        assert values["idle/launches"] == 0 and values["idle/bytes_copied"] == 0, values


def test_table_has_the_same_rows():
    printed = measure("idle")
    if printed is not None:
        for name in ("idle/render", "idle/tensor", "idle/host", "idle/launches", "idle/bytes_copied"):
            assert name in printed, printed


def test_bad_input():
    refused("nope", mentions="'nope'")
    refused("--threads", "0", mentions="--threads 0")
    refused("--threads", "4097", mentions="4096")
    refused("--threads", "2x", mentions="2x")
    refused("--threads", mentions="needs a value")
    refused("--device", "cuda", mentions="cuda")
    refused("--frobnicate", mentions="--frobnicate")
    refused("--out", "/nowhere/at/all.json", "idle", mentions="/nowhere/at/all.json")


def test_switched_off_mechanisms_are_refused():
    refused("idle", mentions="", env={"STET_DISABLE": "frame"})


if __name__ == "__main__":
    from command import main

    main(globals())
