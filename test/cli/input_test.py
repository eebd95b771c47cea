"""Bad input: one sentence that says what, where and what to do, exit code 2, nothing written."""

import os

import numpy as np

from command import files_below, folder, run, scene, stet

CARTPOLE = scene("cartpole.xml")


def refused(words, mentions, cwd, who="stet run", env=None):
    """The command refuses these words, in one line of its own that mentions all of these, and leaves the folder as it
    was.
    """
    before = files_below(cwd), sorted(os.listdir(cwd))
    done = stet(*words, cwd=cwd, env=env)
    told = f"stet {words}: exit code {done.returncode}, standard error: {done.stderr!r}"
    assert done.returncode == 2, told
    assert done.stdout == "", told
    assert done.stderr.count("\n") == 1 and done.stderr.endswith("\n"), told
    assert done.stderr.startswith(who + ": "), told
    for mention in mentions:
        assert mention in done.stderr, f"{told} does not mention {mention!r}"
    assert (files_below(cwd), sorted(os.listdir(cwd))) == before, f"{told} and something was written"


def refuse_all(cases, **more):
    """Each case: words behind `run SCENE --out out`, what the sentence mentions."""
    with folder() as cwd:
        for words, mentions in cases:
            refused(["run", CARTPOLE, "--out", "out", *words], mentions, cwd, **more)


def test_scenes():
    with folder() as cwd:
        for name, text in (
            ("broken.xml", "<mujoco><worldbody><geom></mujoco>"),
            ("wrong.xml", '<mujoco><worldbody><geom type="teapot"/></worldbody></mujoco>'),
            ("empty.xml", ""),
            ("noise.xml", "\x01\x02 not a scene"),
            ("noise.mjb", "not a model"),
        ):
            with open(os.path.join(cwd, name), "w", encoding="utf-8") as f:
                f.write(text)
            refused(["run", name, "--out", "out"], [name], cwd)
        refused(["run", "nosuch.xml", "--out", "out"], ["nosuch.xml", "no such file"], cwd)
        refused(["run", ".", "--out", "out"], ["folder"], cwd)
        refused(["run", "", "--out", "out"], ["empty"], cwd)
        refused(["run", "--out", "out"], ["no scene"], cwd)
        refused(["run", CARTPOLE, CARTPOLE], ["already"], cwd)


def test_numbers():
    cases = [
        ([f"--{option}", text], [f"--{option} {text}", "whole number"])
        for option in ("worlds", "frames", "substeps", "threads", "save-every")
        for text in ("0", "-3", "12x", "1e3", "", " 5", "99999999999999999999")
    ]
    cases += [
        (["--seed", text], [f"--seed {text}", "whole number"]) for text in ("-1", "x", "1.5", "18446744073709551616")
    ]
    refuse_all(cases)


def test_absurd_sizes():
    refuse_all(
        [
            (["--worlds", "2000000000"], ["worlds"]),
            (["--worlds", "2000000000", "--output", "none"], ["worlds"]),
            (["--worlds", "100000", "--size", "16384x16384"], []),
            *[
                (["--size", text], [f"--size {text}", "pixels"])
                for text in ("0x0", "128", "128x", "x128", "-1x5", "20000x20000", "12.5x9", "4x4x4", "")
            ],
            *[(["--fisheye", text], ["--fisheye", "0 (none) to 360"]) for text in ("-1", "361", "wide", "10,x")],
            *[(["--samples", text], [f"--samples {text}", "1, 4 or 16"]) for text in ("0", "2", "-4", "64", "x", "")],
            (["--mode", "fancy"], ["--mode fancy", "mujoco or physical"]),
            *[(["--depth-range", text], [f"--depth-range {text}", "0.2,3"])
              for text in ("1", "2,1", "1,1", "-1,2", "a,b", "1,2,3", "1,inf", "nan,1")],
            (["--show", "joint"], ["--show: decoration 'joint'", "joints contacts"]),
        ]
    )


def test_names():
    refuse_all(
        [
            (["--output", "rainbow"], ["rainbow", "seg_geom", "none"]),
            (["--output", "rgb,,depth"], ["empty"]),
            (["--camera", "nosuch"], ["nosuch", "onboard"]),
            (["--camera", ""], ["empty"]),
            (["--groups", "0,6"], ["--groups 6", "0 to 5"]),
            (["--camera", "free:1,95"], ["free:1,95", "elevation"]),
            (["--disable", "nosuch"], ["nosuch", "pose_sync"]),
            (["--device", "gpu"], ["gpu", "cpu", "cuda:K"]),
            (["--device", "cuda:"], ["cuda:", "auto"]),
            (["--device", "hip:-1"], ["hip:-1", "auto"]),
            (["--device", "cpu:0"], ["cpu:0", "auto"]),
            (["--device", "cuda:99"], ["driver"]),
            (["--device", "hip:99"], ["driver"]),
            (["--keyframe", "nosuch"], ["nosuch", "upright"]),
            (["--keyframe", "3"], ["--keyframe 3", "3 keyframes"]),
            (["--keyframe", "-1"], ["-1", "upright"]),
            (["--keyframe", ""], ["--keyframe"]),
            (["--record", "nosuch"], ["nosuch", "qpos"]),
            (["--control", "sometimes"], ["sometimes", "noise"]),
            (["--control", "noise:loud"], ["noise:loud"]),
            (["--control", "noise:-1"], ["noise:-1"]),
            (["--control", "noise:nan"], ["noise:nan"]),
            (["--nosuch"], ["--nosuch", "--help"]),
            (["--worlds"], ["--worlds", "value"]),
            (["--json=yes"], ["--json"]),
            (["-x"], ["-x"]),
        ]
    )
    refuse_all([([], ["nosuch"])], env={"STET_DISABLE": "nosuch"})
    with folder() as cwd:
        with open(os.path.join(cwd, "late.xml"), "w", encoding="utf-8") as f:
            f.write("<mujoco><option integrator='discrete' solver='PGS'/></mujoco>")
        refused(["run", "late.xml", "--physics", "native", "--out", "out"], ["discrete with solver PGS", "mujoco"], cwd)


def test_places():
    with folder() as cwd:
        with open(os.path.join(cwd, "file"), "w", encoding="utf-8") as f:
            f.write("x")
        for out in ("file", "file/below", "/proc/nosuch/out", ""):
            refused(["run", CARTPOLE, "--out", out], ["--out"], cwd)
        if os.geteuid() != 0:
            os.mkdir(os.path.join(cwd, "closed"), 0o555)
            refused(["run", CARTPOLE, "--out", "closed/out"], ["--out closed/out"], cwd)
        for save in ("nosuch/state", "file/state", ".", ""):
            refused(["run", CARTPOLE, "--save", save], ["--save"], cwd)
        refused(["run", CARTPOLE, "--record", "qpos"], ["--record", "--out"], cwd)
        for text in ("3", "every:0", "every:", "every:2x", "all", "every:npz", "every:2:h5", "every:2:npz:"):
            refused(["run", CARTPOLE, "--save-tensors", text, "--out", "o"], [text, "every:10"], cwd)
        refused(["run", CARTPOLE, "--save-tensors", "every:2"], ["--save-tensors", "--out"], cwd)
        refused(["run", CARTPOLE, "--save-tensors", "every:2", "--out", "o", "--output", "none"], ["pictures"], cwd)
        refused(["run", CARTPOLE, "--save-tensors", "every:2", "--out", "o", "--rounds", 2], ["rounds"], cwd)
        refused(["run", CARTPOLE, "--save-every", "2"], ["--save-every", "--out"], cwd)
        refused(["run", CARTPOLE, "--save-every", "2", "--out", "o", "--output", "none"], ["--save-every"], cwd)


def test_control_files():
    with folder() as cwd:
        arrays = {
            "flat": np.zeros(5),
            "few": np.zeros((3, 1)),
            "wide": np.zeros((5, 2)),
            "worlds": np.zeros((5, 3, 1)),
            "deep": np.zeros((5, 2, 1, 1)),
            "scalar": np.float64(1),
            "big": np.zeros((5, 1), ">f4"),
            "complex": np.zeros((5, 1), np.complex64),
            "fortran": np.asfortranarray(np.zeros((5, 2, 1))),
            "words": np.array([["a"], ["b"]]),
            "record": np.zeros(5, [("a", "f4")]),
        }
        for name, array in arrays.items():
            np.save(os.path.join(cwd, name + ".npy"), array)
        good = os.path.join(cwd, "good.npy")
        np.save(good, np.zeros((5, 1)))
        with open(good, "rb") as f:
            data = f.read()
        os.remove(good)
        for name, bad in {
            "short": data[:-1], "head": data[:9], "cut": data[:40], "text": b"1 2 3\n", "nothing": b"",
            "huge": data.replace(b"(5, 1), }      ", b"(9999999999, 1)}"),
        }.items():
            with open(os.path.join(cwd, name + ".npy"), "wb") as f:
                f.write(bad)
        names = [name for name in os.listdir(cwd) if name.endswith(".npy")]
        assert len(names) == 17
        for name in sorted(names) + ["nosuch.npy"]:
            refused(["run", CARTPOLE, "--worlds", 2, "--frames", 5, "--control", name, "--out", "out"], [name], cwd)


def test_states():
    with folder() as cwd:
        small = ["--worlds", 2, "--frames", 1, "--output", "none"]
        run(CARTPOLE, *small, "--save", "state", cwd=cwd)
        with open(os.path.join(cwd, "state"), "rb") as f:
            data = f.read()
        for name, bad in {
            "cut": data[:-1],
            "text": b"hello",
            "nothing": b"",
            "flipped": data[:-20] + b"?" + data[-19:],
        }.items():
            with open(os.path.join(cwd, name), "wb") as f:
                f.write(bad)
            refused(["run", CARTPOLE, *small, "--resume", name, "--out", "out"], [name], cwd)
        refused(["run", CARTPOLE, *small, "--resume", "nosuch", "--out", "out"], ["nosuch"], cwd)
        refused(["run", CARTPOLE, "--worlds", 3, "--resume", "state", "--out", "out"], ["worlds"], cwd)
        refused(["run", scene("hand.xml"), *small, "--resume", "state", "--out", "out"], ["state", "model"], cwd)


def test_other_commands():
    with folder() as cwd:
        refused([], ["--help"], cwd, who="stet")
        refused(["nosuch"], ["nosuch", "--help"], cwd, who="stet")
        refused(["info", "nosuch.xml"], ["nosuch.xml"], cwd, who="stet info")
        refused(["info", "--nosuch"], ["--nosuch"], cwd, who="stet info")
        refused(["info", CARTPOLE, CARTPOLE], ["already"], cwd, who="stet info")


if __name__ == "__main__":
    from command import main

    main(globals())
