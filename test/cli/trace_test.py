"""`stet run --trace` and `--profile`: a file that viewers open and that says what the summary says, a table, refusals
in time.
"""

import json
import os

from command import BUILD, double, files_below, folder, run, scene, stet

SMALL = [scene("hand.xml"), "--worlds", 3, "--frames", 6, "--size", "24x16", "--control", "noise", "--substeps", 2]
SINGLE = [*SMALL[:-1], 1]  # several substeps on a CPU are cut into launches by the clock, so that one can interrupt
COPIES = {"upload", "stage", "download", "copy"}
KINDS = COPIES | {"phase", "launch", "replay", "miss", "fallback", "compile", "cached"}


def traced(*words, cwd, what=SMALL):
    path = os.path.join(cwd, 'a "timeline" é.json')
    done = run(*what, "--trace", path, *words, cwd=cwd)
    with open(path, encoding="utf-8") as f:
        return done, json.load(f), path


def events_of(timeline):
    return [event for event in timeline["traceEvents"] if event["ph"] != "M"]


def test_a_timeline_is_well_formed():
    with folder() as cwd:
        _, timeline, _ = traced(cwd=cwd)
    names = [event for event in timeline["traceEvents"] if event["ph"] == "M"]
    assert timeline["traceEvents"][: len(names)] == names
    assert names[0]["name"] == "process_name" and names[0]["args"]["name"].endswith("hand.xml")
    assert [event["args"]["name"] for event in names[1:]] == ["host"]
    last, open_until = 0, []
    for event in events_of(timeline):
        assert {"ph", "name", "cat", "ts", "pid", "tid", "args"} <= set(event), event
        assert event["ph"] == ("i" if event["cat"] in ("miss", "fallback", "cached") else "X"), event
        assert event["cat"] in KINDS and event["name"] and event["pid"] == 1 and event["tid"] == 1, event
        assert event["ts"] >= last, event
        last = event["ts"]
        end = last + event.get("dur", 0)
        assert end >= last and ("dur" in event) == (event["ph"] == "X"), event
        while open_until and open_until[-1] < last - 5e-4:
            open_until.pop()
        assert not open_until or end <= open_until[-1] + 5e-4, event  # half a nanosecond
        open_until.append(end)
    assert last <= timeline["otherData"]["seconds"] * 1e6


def test_a_timeline_says_what_the_summary_says():
    with folder() as cwd:
        done, timeline, path = traced(cwd=cwd)
    events = events_of(timeline)
    real = [event for event in events if not event["args"].get("comparison")]
    assert done["files"] == [path]
    assert done["trace"] == {"file": path, "events": len(events), "dropped": 0}
    assert timeline["otherData"]["dropped_events"] == 0 and timeline["otherData"]["events"] == len(events)
    assert timeline["otherData"]["device"] == done["device"]
    launches = [event for event in real if event["cat"] == "launch"]
    assert len(launches) == done["launches"] > 6 * 3
    for event in launches:
        file, line = event["args"]["source"].rsplit(":", 1)
        assert file.endswith(".k.h") and int(line) > 0 and event["args"]["blocks"] > 0
    replays = [event for event in real if event["cat"] == "replay"]
    assert len(replays) == done["mechanisms"]["graph_replay"]["hits"] > 0
    assert all(event["args"]["recording"] > 0 and event["args"]["launches"] > 0 for event in replays)
    copies = [event for event in events if event["cat"] in COPIES]
    counted = [event for event in copies if not (event["args"].get("comparison") and "array" in event["args"])]
    assert sum(event["args"]["bytes"] for event in counted) == done["bytes_copied"] > 0
    reasons = {}
    for event in events:
        if event["cat"] in ("miss", "fallback"):
            key = event["name"].rsplit(" ", 1)[0], event["args"]["reason"]
            reasons[key] = reasons.get(key, 0) + 1
            assert event["args"]["sentence"]
    said = {(name, reason): n for name, row in done["mechanisms"].items() for reason, n in row["reasons"].items()}
    assert reasons == said
    for phase in ("control", "step", "pose", "hierarchy", "render", "extract"):
        spent = sum(event["dur"] for event in events if event["cat"] == "phase" and event["name"] == phase)
        assert 0 < spent <= done["phases"][phase] * 1e6 + 1, phase


def test_tracing_changes_nothing():
    with folder() as cwd:
        plain = run(*SINGLE, cwd=cwd)
        assert "trace" not in plain and "profile" not in plain
        done, _, _ = traced("--profile", cwd=cwd, what=SINGLE)
        for key in ("state_hash", "frame_hash", "launches", "bytes_copied", "mechanisms"):
            assert done[key] == plain[key], key


def test_a_profile():
    with folder() as cwd:
        done = run(*SMALL, "--profile", cwd=cwd)
        out = run(*SMALL, "--profile", "--out", "out", cwd=cwd)
        with open(os.path.join(cwd, "out", "summary.json"), encoding="utf-8") as f:
            assert json.load(f)["profile"].keys() == out["profile"].keys()
    profile = done["profile"]
    kernels = {row["name"]: row for row in profile["kernels"]}
    assert kernels["k_render"]["calls"] == kernels["k_control_noise"]["calls"] == 6
    assert sum(row["calls"] - row["comparisons"] for row in profile["kernels"]) == done["launches"]
    spent = [row["seconds"] for row in profile["kernels"]]
    assert spent == sorted(spent, reverse=True) and min(spent) > 0
    assert abs(sum(row["share"] for row in profile["kernels"]) - 1) < 1e-6
    assert set(profile["copies"]) == COPIES and profile["copies"]["upload"]["calls"] > 0
    assert sum(spent) <= profile["seconds"] and profile["unnamed"] == 0
    assert "trace" not in done


def test_a_profile_in_words():
    done = stet("run", *SMALL, "--profile")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    lines = done.stdout.splitlines()
    head = next(line for line in lines if line.startswith("kernel ")).split()
    assert head == ["kernel", "calls", "total", "ms", "mean", "us", "share", "blocks"]
    row = next(line for line in lines if line.startswith("k_render ")).split()
    assert row[1] == "6" and float(row[2]) > 0 and float(row[3]) > 0 and row[5] == "%" and int(row[6]) > 0, row
    assert any(line.startswith("upload ") for line in lines) and any(line.startswith("all kernels ") for line in lines)


ON_GPU = [scene("hand.xml"), "--worlds", 2, "--frames", 4, "--size", "4x4", "--device", "cuda", "--substeps", 2]


def test_a_gpu_has_times_of_its_own():
    """Over the driver double, whose clock counts its calls: that every launch, replay and copy has its time, in order.
    """
    with folder() as cwd:
        env = double(cwd)
        done = run(*ON_GPU, "--trace", "t.json", "--profile", cwd=cwd, env=env)
        with open(os.path.join(cwd, "t.json"), encoding="utf-8") as f:
            timeline = json.load(f)
        plain = run(*ON_GPU, cwd=cwd, env=env)
    for key in ("state_hash", "frame_hash", "launches", "bytes_copied"):
        assert done[key] == plain[key], key
    names = [event["args"]["name"] for event in timeline["traceEvents"] if event["name"] == "thread_name"]
    assert names == ["host", "device"]
    host = [event for event in events_of(timeline) if event["tid"] == 1]
    there = [event for event in events_of(timeline) if event["tid"] == 2]
    timed = [event for event in host if event["cat"] in COPIES | {"launch", "replay"}]
    assert [(event["name"], event["args"]) for event in there] == [(event["name"], event["args"]) for event in timed]
    begins = [event["ts"] for event in there]
    turns = sum(later < earlier for earlier, later in zip(begins, begins[1:]))
    assert turns <= timeline["otherData"]["seconds"]  # the clocks are aligned anew once a second
    rows = done["profile"]["kernels"] + done["profile"]["recordings"]
    assert rows and all(row["device_seconds"] is not None for row in rows), rows
    assert all(row["seconds"] == row["device_seconds"] for row in rows), rows


def test_a_profile_of_a_gpu_in_words():
    with folder() as cwd:
        done = stet("run", *ON_GPU, "--profile", cwd=cwd, env=double(cwd))
    assert done.returncode == 0 and done.stderr == "", done.stderr
    head = next(line for line in done.stdout.splitlines() if line.startswith("kernel ")).split()
    assert head == ["kernel", "calls", "host", "ms", "device", "ms", "mean", "us", "share", "blocks"]
    row = next(line for line in done.stdout.splitlines() if line.startswith("k_render ")).split()
    assert int(row[1]) == 4 and float(row[2]) > 0 and float(row[3]) > 0, row


def test_ranges():
    """What is pushed and popped, sim/ranges_test.c says."""
    library = os.path.join(BUILD, "test", "device", "nvtx.so")
    plain = run(*SINGLE)
    ranged = run(*SINGLE, "--ranges", "--strict", env={"STET_RANGES": library})
    missing = run(*SINGLE, "--ranges", env={"STET_RANGES": "/nowhere/nvtx.so"})
    for key in ("state_hash", "frame_hash", "launches", "bytes_copied"):
        assert ranged[key] == missing[key] == plain[key], key
    assert ranged["warnings"] == [] and any("/nowhere/nvtx.so" in warning for warning in missing["warnings"]), missing
    info = json.loads(stet("info", "--json", env={"STET_RANGES": library}).stdout)["ranges"]
    assert info == {"available": True, "library": library}, info
    words = stet("info", env={"STET_RANGES": library}).stdout
    assert "\nprofilers (--ranges" in words and f"\n  {library}\n" in words, words


def test_a_trace_in_words():
    with folder() as cwd:
        done = stet("run", *SMALL, "--trace", "t.json", cwd=cwd)
        assert done.returncode == 0, done.stdout
        assert "written: t.json\n" in done.stdout and "  the trace has " in done.stdout, done.stdout
        assert files_below(cwd) == ["t.json"]


def test_refusals():
    with folder() as cwd:
        for words, code, part in [
            (["--trace", ""], 2, "name is empty"),
            (["--trace", "no/such/folder/t.json"], 2, "--trace no/such/folder/t.json: this file cannot be made"),
            (["--trace", cwd], 2, "cannot be made"),
            (["--trace", "same", "--save", "same"], 2, "--save writes there, too"),
            (["--trace"], 2, "needs a value"),
            (["--profile=yes"], 2, "takes no value"),
        ]:
            done = stet("run", *SMALL, *words, cwd=cwd)
            assert done.returncode == code and part in done.stderr, (words, done.stderr)
            assert done.stderr.count("\n") == 1 and done.stdout == "", (words, done.stderr)
            assert files_below(cwd) == [], words


def test_benchmarks_are_not_traced():
    for option in ("--trace", "--profile"):
        done = stet("bench", "pilots", option)
        assert done.returncode == 2 and done.stdout == "", done
        assert f"there is no option {option}" in done.stderr and "stet run" in done.stderr, done.stderr


if __name__ == "__main__":
    from command import main

    main(globals())
