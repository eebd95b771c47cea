"""What `stet run` computes and reports: hashes that stay the same, states that go on, one JSON object, a summary in
words.
"""

import json
import os
import pty
import re
import signal
import subprocess
import tempfile

import numpy as np

from command import COMMAND, double, files_below, folder, run, scene, stet

SMALL = ["--worlds", 3, "--frames", 4, "--size", "24x16", "--control", "noise"]
MECHANISMS = [
    "pose_sync", "hierarchy", "tiles", "deferred_tiles", "frame", "patches", "readback", "plain_view",
    "kernel_cache", "graph_replay", "fusion", "args", "rounds", "adstack", "adstack_handle", "gather_plan",
    "quantities"
]


def hashes(*words, **more):
    done = run(*words, **more)
    assert len(done["state_hash"]) == len(done["frame_hash"]) == 16
    int(done["state_hash"], 16), int(done["frame_hash"], 16)
    return done["state_hash"], done["frame_hash"]


def test_json():
    with folder() as cwd:
        done = run(scene("hand.xml"), *SMALL, "--physics", "mujoco", "--substeps", 2, "--output", "rgb,depth", cwd=cwd)
        assert files_below(cwd) == [], "without --out nothing is written"
    want = {
        "worlds": 3, "frames": 4, "substeps": 2, "physics": "mujoco", "physics_reason": "asked for",
        "files": [], "warnings": [],
        "cameras": ["main"], "outputs": ["rgb", "depth"], "size": [24, 16],
    }
    for key, value in want.items():
        assert done[key] == value, (key, done[key])
    assert done["device"].startswith(("cpu (", "cuda:", "hip:")) and done["seconds"] > 0
    assert np.isclose(done["steps_per_second"], 3 * 4 * 2 / done["seconds"], rtol=1e-6)
    assert np.isclose(done["frames_per_second"], 3 * 4 / done["seconds"], rtol=1e-6)
    assert list(done["mechanisms"]) == MECHANISMS
    for name, row in done["mechanisms"].items():
        assert {"hits", "misses", "fallbacks", "reasons"} <= set(row), name
        assert all(isinstance(n, int) and n > 0 for n in row["reasons"].values()), name
    assert done["mechanisms"]["frame"]["misses"] == 4, "each of the four frames moved"
    phases = done["phases"]
    assert {"control", "step", "pose", "hierarchy", "render", "extract", "read", "record", "round", "other"} == set(
        phases
    )
    assert phases["step"] > 0 and phases["render"] > 0 and min(phases.values()) >= 0
    assert np.isclose(sum(phases.values()), done["seconds"], rtol=1e-3)
    assert done["faults"] and set(done["faults"].values()) == {0}


def test_hashes_stand():
    for name in ("hand.xml", "quadruped.xml"):
        first = hashes(scene(name), *SMALL, "--camera", "all", "--output", "rgb,depth,normal,seg_geom")
        again = [["--threads", 1], ["--threads", 2], ["--threads", 3], ["--audit"], ["--disable", ",".join(MECHANISMS)]]
        again += [["--disable", mechanism] for mechanism in MECHANISMS]
        for words in again:
            other = hashes(scene(name), *SMALL, "--camera", "all", "--output", "rgb,depth,normal,seg_geom", *words)
            assert other == first, f"{name}, {words}: {other}, not {first}"
        by_environment = hashes(scene(name), *SMALL, "--camera", "all", "--output", "rgb,depth,normal,seg_geom",
                                env={"STET_DISABLE": "pose_sync,frame"})
        assert by_environment == first, name


def test_hashes_differ():
    first = hashes(scene("hand.xml"), *SMALL)
    for words in (["--seed", 1], ["--worlds", 4], ["--frames", 5], ["--substeps", 3], ["--control", "noise:0.5"]):
        state, frame = hashes(scene("hand.xml"), *SMALL, *words)
        assert state != first[0] and frame != first[1], words
    state, frame = hashes(scene("hand.xml"), *SMALL, "--camera", "top")
    assert state == first[0] and frame != first[1], "a camera changes pictures, not states"
    state, frame = hashes(scene("hand.xml"), *SMALL, "--size", "16x16")
    assert state == first[0] and frame != first[1], "so does a size"
    assert hashes(scene("hand.xml"), *SMALL, "--seed", "18446744073709551615") != first


def test_switches_do_work():
    """A switch that is off raises the counters of the work that its mechanism spares."""
    base = run(scene("hand.xml"), *SMALL, "--substeps", 5)["mechanisms"]
    off = run(scene("hand.xml"), *SMALL, "--substeps", 5, "--disable", "pose_sync")["mechanisms"]
    assert "disabled" not in base["pose_sync"]["reasons"]
    assert off["pose_sync"]["reasons"]["disabled"] >= 4 * 5, "poses after each of 20 substeps"


def test_strict():
    done = stet("run", scene("hand.xml"), *SMALL, "--strict", "--output", "rgba")
    assert done.returncode == 0, "no fallback is expected of this run: " + done.stderr
    assert (
        sum(row["fallbacks"] for row in run(scene("hand.xml"), *SMALL, "--output", "rgba")["mechanisms"].values()) == 0
    )


def test_save_and_resume():
    common = ["--worlds", 3, "--size", "24x16", "--seed", 7]
    for name, control in (("hand.xml", "noise"), ("quadruped.xml", "zero"), ("humanoid.xml", "noise:1")):
        with folder() as cwd:
            whole = run(scene(name), *common, "--control", control, "--frames", 40, cwd=cwd)
            half = run(scene(name), *common, "--control", control, "--frames", 30, "--save", "state", cwd=cwd)
            assert half["files"] == ["state"] and files_below(cwd) == ["state"]
            rest = run(scene(name), *common, "--control", control, "--frames", 10, "--resume", "state", cwd=cwd)
            assert half["state_hash"] != whole["state_hash"]
            for key in ("state_hash", "frame_hash"):
                assert rest[key] == whole[key], f"{name}: {key} after resuming is {rest[key]}, not {whole[key]}"


def test_a_run_in_parts():
    """Worlds 0 to 2 and 3 to 4 in processes of their own have the bits of a run of all five."""
    with folder() as cwd:

        def recorded(first, worlds, name):
            run(
                scene("quadruped.xml"), "--worlds", worlds, "--first-world", first, "--frames", 4, "--control", "noise",
                "--output", "depth", "--size", "24x16", "--record", "qpos", "--out", name, cwd=cwd,
            )
            frame = np.load(os.path.join(cwd, name, "depth.npy"))
            return np.load(os.path.join(cwd, name, "qpos.npy")), frame

        (whole, picture), a, b = recorded(0, 5, "whole"), recorded(0, 3, "a"), recorded(3, 2, "b")
        np.testing.assert_array_equal(np.concatenate([a[0], b[0]], axis=1), whole)
        np.testing.assert_array_equal(np.concatenate([a[1], b[1]]), picture)
        assert (whole[:, 3:] != whole[:, :2]).any()
    done = stet("run", scene("cartpole.xml"), "--worlds", 3, "--first-world", 2**31 - 2)
    assert done.returncode == 2 and "first_world is 2147483646" in done.stderr and not done.stdout


def test_control_zero_is_noise_of_nothing():
    zero = run(scene("hand.xml"), *SMALL, "--control", "zero")
    nothing = run(scene("hand.xml"), *SMALL, "--control", "noise:0")
    assert zero["state_hash"] == nothing["state_hash"]


def test_control_file():
    numbers = np.random.default_rng(5).uniform(-1, 1, (6, 1))
    with folder() as cwd:
        files = {
            "all": numbers,
            "each": np.repeat(numbers[:, None, :], 3, axis=1),
            "single": numbers.astype(np.float32),
            "other": np.stack([numbers, 2 * numbers, 3 * numbers], axis=1),
            "whole": np.ones((6, 1), np.int32),
            "long": np.ones((6, 1), np.int64),
            "byte": np.ones((6, 1), np.uint8),
            "one": np.ones((6, 1)),
        }
        state = {}
        for name, array in files.items():
            np.save(os.path.join(cwd, name + ".npy"), array)
            done = run(
                scene("cartpole.xml"), "--worlds", 3, "--frames", 5, "--output", "none", "--control", name + ".npy",
                "--record", "ctrl", "--out", name, cwd=cwd,
            )
            state[name] = done["state_hash"]
            ctrl = np.load(os.path.join(cwd, name, "ctrl.npy"))
            want = array if array.ndim == 3 else np.repeat(array[:, None, :], 3, axis=1)
            assert ctrl.shape == (5, 3, 1) and np.array_equal(ctrl, want[:5].astype(np.float32)), name
        assert state["all"] == state["each"] == state["single"] and state["other"] != state["all"]
        assert state["whole"] == state["long"] == state["byte"] == state["one"]


def test_quantities_are_recorded():
    with folder() as cwd:
        words = [scene("hand.xml"), "--worlds", 2, "--frames", 3, "--output", "none"]
        done = run(*words, "--record", "qacc,ncon,qvel", "--out", "out", cwd=cwd)
        qacc, ncon, qvel = (np.load(os.path.join(cwd, "out", name + ".npy")) for name in ("qacc", "ncon", "qvel"))
        assert qacc.shape == qvel.shape and np.isfinite(qacc).all() and ncon.shape == (3, 2, 1)
        assert ncon.dtype == np.int32 and (ncon > 0).any()
        assert done["mechanisms"]["quantities"]["misses"] == 4, "both at the first frame, then one pass a frame"
        assert done["state_hash"] == run(*words)["state_hash"]


def test_without_pictures():
    done = run(scene("hand.xml"), "--worlds", 2, "--frames", 2, "--output", "none")
    assert done["frame_hash"] is None and done["frames_per_second"] == 0 and done["cameras"] == []
    assert done["phases"]["render"] == 0 and done["mechanisms"]["frame"]["misses"] == 0


def test_keyframes():
    """What worlds begin with, by the first positions of a run whose physics has hardly begun."""
    common = [scene("cartpole.xml"), "--worlds", 2, "--frames", 1, "--output", "none"]
    leaning = (1, 0.3, 0.15)
    begins = {None: (0, 0, 0), "leaning": leaning, "1": leaning, "hanging": (2, 0, 3.1416), "none": (-1, 0, 0)}
    for keyframe, (number, x, angle) in begins.items():
        words = ["--keyframe", keyframe] if keyframe else []
        with folder() as cwd:
            done = run(*common, "--substeps", 1, "--record", "qpos", *words, "--out", "out", cwd=cwd)
            qpos = np.load(os.path.join(cwd, "out", "qpos.npy"))
        assert done["keyframe"] == number, (keyframe, done["keyframe"])
        assert np.allclose(qpos, [x, angle], atol=0.01), (keyframe, qpos)
    said = stet("run", *common).stdout
    assert "worlds begin with keyframe 0, upright (--keyframe none" in said, said
    said = stet("run", *common, "--keyframe", "none").stdout
    assert "worlds begin with the model's qpos0\n" in said, said


def test_default_substeps():
    """As many as come nearest to 1/50 s a frame, at least one."""
    for name, substeps in (("hand.xml", 10), ("cartpole.xml", 4)):
        done = run(scene(name), "--worlds", 1, "--frames", 1, "--size", "8x8")
        assert done["substeps"] == substeps, name
    with folder() as cwd:
        with open(os.path.join(cwd, "slow.xml"), "w", encoding="utf-8") as f:
            f.write('<mujoco><option timestep="0.5"/><worldbody><geom size="1"/></worldbody></mujoco>')
        assert run("slow.xml", "--worlds", 1, "--frames", 1, "--size", "8x8", cwd=cwd)["substeps"] == 1


def test_faults():
    """A control that throws one world off leaves the others alone, and is counted."""
    with folder() as cwd:
        good, bad = np.zeros((4, 3, 1)), np.zeros((4, 3, 1))
        bad[1:3, 1] = np.nan
        for name, array in (("good", good), ("bad", bad)):
            np.save(os.path.join(cwd, name + ".npy"), array)
        common = [scene("cartpole.xml"), "--worlds", 3, "--frames", 4, "--output", "none", "--record", "qpos"]
        fine = run(*common, "--control", "good.npy", "--out", "good", cwd=cwd)
        done = run(*common, "--control", "bad.npy", "--out", "bad", cwd=cwd)
        assert set(fine["faults"].values()) == {0}
        assert done["faults"]["bad_ctrl"] == 1, done["faults"]
        qpos = [np.load(os.path.join(cwd, name, "qpos.npy")) for name in ("good", "bad")]
        assert np.array_equal(qpos[0][:, [0, 2]], qpos[1][:, [0, 2]])


def test_controls_from_text():
    """A .csv has the numbers of the .npy; names say which column is whose; what is wrong is one sentence."""
    with folder() as cwd:
        common = [scene("hand.xml"), "--worlds", 2, "--frames", 3, "--output", "none"]
        actuators = re.findall(r'<(?:position|motor|general)[^>]* name="([^"]+)"', open(scene("hand.xml")).read())
        assert len(actuators) > 2
        numbers = np.random.default_rng(3).uniform(-0.3, 0.3, (3, len(actuators))).round(4)
        order = np.random.default_rng(4).permutation(len(actuators))
        np.save(os.path.join(cwd, "c.npy"), numbers)
        np.savetxt(os.path.join(cwd, "plain.csv"), numbers, delimiter=",")
        np.savetxt(os.path.join(cwd, "blanks.csv"), numbers, header="a comment")
        np.savetxt(os.path.join(cwd, "named.csv"), numbers[:, order], delimiter="; ", comments="",
                   header=",".join(actuators[k] for k in order))
        hashes = {name: run(*common, "--control", name, cwd=cwd)["state_hash"]
                  for name in ("c.npy", "plain.csv", "blanks.csv", "named.csv")}
        assert len(set(hashes.values())) == 1, hashes
        assert hashes["c.npy"] != run(*common, cwd=cwd)["state_hash"]
        row = ",".join("0" * len(actuators))
        for text, sentence in (
            ("", "it holds no row of numbers"), (f"{row}\n{row},1\n", "line 2: it has"),
            (f"{row}\n0,x\n", "line 2: 'x' is not a finite number"), (f"{row}\n{row}\n", "its shape is 2 x"),
            ("a,b\n0,0\n", "it names 2 columns"), (f"{row[:-1]}nan\n", "'nan' is not a finite number"),
            (",".join([actuators[0]] * len(actuators)) + f"\n{row}\n", f"two columns are named {actuators[0]}"),
            (",".join(["nobody", *actuators[1:]]) + f"\n{row}\n", "actuator nobody: the model has none"),
        ):
            with open(os.path.join(cwd, "bad.csv"), "w", encoding="utf-8") as f:
                f.write(text)
            done = stet("run", *common, "--control", "bad.csv", cwd=cwd)
            assert done.returncode == 2 and sentence in done.stderr and done.stderr.count("\n") == 1, done.stderr
        done = stet("run", *common, "--control", "none.csv", cwd=cwd)
        assert done.returncode == 2 and "none.csv: cannot be read" in done.stderr, done.stderr


def test_summary_in_words():
    with folder() as cwd:
        words = ["run", scene("hand.xml"), *SMALL, "--output", "rgb,depth", "--out", "out"]
        short = stet(*words, cwd=cwd)
        assert short.returncode == 0 and short.stdout.count("\n") <= 12, short.stdout
        done = stet(*words, "--mechanisms", cwd=cwd)
        assert done.returncode == 0 and done.stderr == "", done.stderr
        text = done.stdout
        with open(os.path.join(cwd, "out", "summary.json"), encoding="utf-8") as f:
            summary = json.load(f)
        for word in ["steps/s", "frames/s", "faults: none", summary["state_hash"], summary["frame_hash"], *MECHANISMS]:
            assert word in text, f"{word} is not in the summary:\n{text}"
        for path in summary["files"]:
            assert path in text and os.path.exists(os.path.join(cwd, path)), path


def test_what_is_not_drawn():
    with folder() as cwd:
        with open(os.path.join(cwd, "rays.xml"), "w", encoding="utf-8") as f:
            f.write('<mujoco><worldbody><geom size="1"/><site name="s"/></worldbody><sensor><rangefinder site="s"/>'
                    '<rangefinder site="s"/></sensor></mujoco>')
        small = ["--worlds", 1, "--frames", 1, "--size", "8x8"]
        line = "not drawn: rays of range finders (2)\n"
        assert line in stet("run", "rays.xml", *small, cwd=cwd).stdout
        for more in (["--output", "none"], ["--show", "rangefinder,com"]):
            assert "not drawn" not in stet("run", "rays.xml", *small, *more, cwd=cwd).stdout
        assert line in stet("info", "rays.xml", cwd=cwd).stdout
        assert run("rays.xml", *small, cwd=cwd)["not_drawn"] == {"rays of range finders": 2}
        for words in (["run", scene("hand.xml"), *small], ["info", scene("hand.xml")]):
            assert "not drawn" not in stet(*words).stdout
        assert json.loads(stet("info", scene("hand.xml"), "--json").stdout)["not_drawn"] == {}


def on_terminal(*words):
    """What the command writes to a standard error that is a terminal."""
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [COMMAND, "run", scene("cartpole.xml"), *map(str, words)], stdout=subprocess.PIPE, stderr=theirs, check=True
    )
    os.close(theirs)
    os.set_blocking(ours, False)
    try:
        text = os.read(ours, 1 << 16).decode()
    except OSError:  # nothing was written
        text = ""
    os.close(ours)
    assert done.stdout
    return text


def test_progress():
    few = ["--worlds", 1, "--frames", 3, "--size", "8x8"]
    bar = on_terminal(*few)
    assert "3/3 frames" in bar and "####" in bar and "\n" not in bar, repr(bar)
    assert "compiling" not in bar, repr(bar)
    assert on_terminal(*few, "--json") == ""


NATIVE = ["run", scene("cartpole.xml"), "--device", "cuda", "--physics", "native", "--output", "none", "--worlds", 256,
          "--frames", 1, "--substeps", 1]


def test_kf59_the_end_waits_for_no_compiler():
    """The code for the model alone is compiled beside, and its compiler never ends."""
    with tempfile.TemporaryDirectory() as at:
        held = os.path.join(at, "held")
        done = stet(*NATIVE, env=double(at) | {"STET_TEST_QUICK": "1", "STET_DOUBLE_HOLD": "#define PH_MODEL ",
                                               "STET_DOUBLE_HELD": held, "STET_WAIT_FOR_CODE": "0"})
        assert done.returncode == 0 and "physics native" in done.stdout, done.stderr
        assert os.path.exists(held)


def test_a_signal_ends_what_waits_for_a_compiler():
    """The line on a terminal says what is compiled, how far, for how long; this compiler never ends."""
    ours, theirs = pty.openpty()
    with tempfile.TemporaryDirectory() as at:
        env = os.environ | double(at) | {"STET_TEST_QUICK": "1", "STET_DOUBLE_HOLD": "k_native_step",
                                         "XDG_CACHE_HOME": at}
        with subprocess.Popen([COMMAND, *map(str, NATIVE)], stdout=subprocess.PIPE, stderr=theirs, env=env) as process:
            os.close(theirs)
            text = ""
            while not re.search(r"compiling \S*native\.k\.h, 0 of \d+ done, \d+ s", text):
                text += os.read(ours, 1 << 16).decode()
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=60) == -signal.SIGINT
            assert process.stdout.read() == b""
    os.close(ours)
    assert "frames" not in text, text


def test_help_and_info():
    for words in (["--help"], ["run", "--help"], ["info",
                                                  "--help"], ["--version"], ["info"], ["info",
                                                                                       scene("hand.xml")]):
        done = stet(*words)
        assert done.returncode == 0 and done.stderr == "" and done.stdout, words
    text = stet("run", "--help").stdout
    for word in ["--worlds", "--json", "seg_geom", "sensordata", *MECHANISMS]:
        assert word in text, word
    machine = json.loads(stet("info", "--json", env={"STET_DISABLE": "tiles"}).stdout)
    assert {"versions", "devices", "mechanisms", "missing"} <= set(machine)
    assert {name: row["on"] for name, row in machine["mechanisms"].items()} == {m: m != "tiles" for m in MECHANISMS}
    cpu = machine["devices"]["cpu"]
    assert cpu["available"] and cpu["threads"] >= 1 and cpu["lanes"] in (4, 8, 16)
    for vendor in ("cuda", "hip"):
        gpu = machine["devices"][vendor]
        for part in (gpu["driver"], gpu["compiler"]):
            assert part["version"] and part["file"] if part["available"] else part["why"], part
        assert all(device["arch"] and device["memory"] > 0 for device in gpu["devices"])
        assert bool(gpu["devices"]) == gpu["driver"]["available"]
    hand = json.loads(stet("info", scene("hand.xml"), "--json").stdout)
    assert hand["sizes"]["nu"] == 20 and hand["fields"]["qpos"] == 31 and hand["keyframes"] == ["home"]
    assert [camera["name"] for camera in hand["cameras"]] == ["main", "top", "front"] and hand["own_cameras"]
    arm = json.loads(stet("info", scene("robot.urdf"), "--json").stdout)
    assert [camera["name"] for camera in arm["cameras"]] == ["free"] and not arm["own_cameras"]


if __name__ == "__main__":
    from command import main

    main(globals())
