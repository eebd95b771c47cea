"""`stet run` in rounds: each has the bits of a process of its own; values from .npz files and sweeps; what comes out;
what is refused.
"""

import os

import numpy as np

from command import files_below, folder, run, scene, stet

HAND, CARTPOLE = scene("hand.xml"), scene("cartpole.xml")
SMALL = ["--worlds", 3, "--frames", 4, "--substeps", 2, "--size", "24x16"]


def inputs(path, rounds, seed=1):
    """Values of rounds of the cart-pole in 3 worlds, 4 frames."""
    dice = np.random.default_rng(seed)
    values = {
        "qpos": dice.uniform(-0.2, 0.2, (rounds, 3, 2)).astype("f4"),
        "controls": dice.uniform(-1, 1, (rounds, 4, 3, 1)).astype("f4"),
        "gravity": np.stack([[0.1 * k, 0, -9.0 - k] for k in range(rounds)]),
        "friction": np.full((1, 1), 0.5),
    }
    np.savez(path, **values)
    return values


def alone(cwd, values, k, *words):
    """The same as round k, in a process of its own."""
    path = os.path.join(cwd, f"alone_{k}.npz")
    np.savez_compressed(path, **{name: v[k : k + 1] if len(v) > 1 else v for name, v in values.items()})
    done = run(CARTPOLE, *SMALL, "--inputs", path, *words)
    assert done["rounds"]["count"] == 1
    return done["state_hash"], done["frame_hash"]


def test_rounds_are_processes_of_their_own():
    with folder() as cwd:
        path = os.path.join(cwd, "in.npz")
        values = inputs(path, 4)
        want = [alone(cwd, values, k) for k in range(4)]
        assert len(set(want)) == 4
        for words in ([], ["--audit"], ["--strict", "--threads",
                                        1], ["--disable", "rounds"], ["--disable", "readback,args,graph_replay"]):
            done = run(CARTPOLE, *SMALL, "--inputs", path, *words)
            rounds = done["rounds"]
            assert rounds["count"] == 4 and rounds["faulty"] == [0] * 4
            assert list(zip(rounds["state_hash"], rounds["frame_hash"])) == want, words
            staged = (
                0 if "rounds" in words else 3 * 3
            )  # friction is the same in all, and the first round had nobody before it
            assert rounds["staged_inputs"] == staged, words
            assert rounds["reuse"]["content"] is True and "a processor has no graphs" in rounds["reuse"]["graphs"]
        order = [2, 0, 3, 1]
        np.savez(path, **{name: v[order] if len(v) > 1 else v for name, v in values.items()})
        rounds = run(CARTPOLE, *SMALL, "--inputs", path)["rounds"]
        assert list(zip(rounds["state_hash"], rounds["frame_hash"])) == [want[k] for k in order]


def test_a_round_without_inputs_is_a_plain_run():
    for words in (["--control", "noise"], ["--output", "none"]):
        plain = run(HAND, *SMALL, *words)
        rounds = run(HAND, *SMALL, *words, "--rounds", 3)
        assert rounds["rounds"]["state_hash"] == [plain["state_hash"]] * 3
        if plain["frame_hash"]:
            assert rounds["rounds"]["frame_hash"] == [plain["frame_hash"]] * 3
        counters = rounds["mechanisms"]["rounds"]
        assert counters["hits"] == 2 and counters["misses"] == 1 and counters["reasons"] == {"first": 1}


def test_later_rounds_copy_in_what_differs():
    with folder() as cwd:
        path = os.path.join(cwd, "in.npz")
        inputs(path, 5)
        counters = run(CARTPOLE, *SMALL, "--inputs", path)["mechanisms"]["rounds"]
        assert counters["reasons"] == {"first": 1 + 4, "differs": 4 * 3}
        assert counters["hits"] == 4 + 4, "the set-ups, and friction"
        assert counters["done_bytes"] == 5 * (24 + 48 + 24) + 8


def test_what_comes_out():
    with folder() as cwd:
        path, out = os.path.join(cwd, "in.npz"), os.path.join(cwd, "out")
        values = inputs(path, 3)
        done = run(CARTPOLE, *SMALL, "--inputs", path, "--record", "qpos,time,ctrl", "--out", out)
        assert os.path.join(out, "rounds.npz") in done["files"]
        assert not [f for f in files_below(out) if f.endswith(("qpos.npy", "time.npy", "ctrl.npy"))]
        with np.load(os.path.join(out, "rounds.npz")) as got:
            assert got["qpos"].shape == (3, 4, 3, 2) and got["qpos"].dtype == np.float32
            assert np.array_equal(got["ctrl"], values["controls"])
            assert np.allclose(got["time"][:, :, 0, 0], 0.01 * np.arange(1, 5))
            assert [f"{h:016x}" for h in got["state_hash"]] == done["rounds"]["state_hash"]
            assert [f"{h:016x}" for h in got["frame_hash"]] == done["rounds"]["frame_hash"]
            assert np.array_equal(got["given_gravity"], values["gravity"]) and "given_friction" not in got
            assert np.all(got["setup_seconds"] > 0) and np.all(got["seconds"] >= got["setup_seconds"])
            assert np.array_equal(got["faulty"], [0, 0, 0])
            assert len({q.tobytes() for q in got["qpos"]}) == 3
        done = stet("run", CARTPOLE, *SMALL, "--inputs", path)
        assert done.returncode == 0 and "later ones   set up in" in done.stdout, done.stdout


def test_sweeps_are_a_grid():
    with folder() as cwd:
        out = os.path.join(cwd, "out")
        words = ["--sweep", "gravity=-9.81,-5", "--sweep", "damping=0,1,2", "--record", "qpos", "--out", out]
        np.savez(os.path.join(cwd, "start.npz"), qpos=np.full((1, 3, 2), 0.1, "f4"))
        rounds = run(CARTPOLE, *SMALL, *words, "--inputs", os.path.join(cwd, "start.npz"))["rounds"]
        assert rounds["count"] == 6 and len(set(rounds["state_hash"])) == 6
        with np.load(os.path.join(out, "rounds.npz")) as got:
            assert (
                np.array_equal(got["given_gravity"][:, 2], [-9.81] * 3 + [-5] * 3)
                and not got["given_gravity"][:, :2].any()
            )
            assert np.array_equal(got["given_damping"][:, 0], [0, 1, 2] * 2)
        # The model's own values, by the scene's option and by the parameter, are the same bits.
        own = run(CARTPOLE, *SMALL, "--sweep", "gravity=-9.81", "--sweep", "damping=1")
        assert own["state_hash"] == run(CARTPOLE, *SMALL)["state_hash"]


def test_a_sweep_of_seeds():
    """Each has the bits of a process with that seed; a grid of seeds and a parameter; seeds from a file."""
    with folder() as cwd:
        out = os.path.join(cwd, "out")
        noise = ["--control", "noise:0.5"]
        want = [run(CARTPOLE, *SMALL, *noise, "--seed", k)["state_hash"] for k in (0, 7, 123456789012)]
        assert len(set(want)) == 3
        rounds = run(CARTPOLE, *SMALL, *noise, "--sweep", "seed=0,7,123456789012", "--out", out)["rounds"]
        assert rounds["state_hash"] == want
        with np.load(os.path.join(out, "rounds.npz")) as got:
            assert got["given_seed"].dtype == np.uint64 and got["given_seed"].tolist() == [[0], [7], [123456789012]]
        grid = run(CARTPOLE, *SMALL, *noise, "--sweep", "damping=1,2", "--sweep", "seed=7,0", "--seed", 5)["rounds"][
            "state_hash"
        ]
        assert grid[:2] == [want[1], want[0]] and len(set(grid)) == 4
        np.savez(os.path.join(cwd, "seeds.npz"), seed=np.array([[7.0], [0.0]]))
        done = run(CARTPOLE, *SMALL, *noise, "--inputs", os.path.join(cwd, "seeds.npz"))
        assert done["rounds"]["state_hash"] == [want[1], want[0]]


def test_traced_and_profiled_in_every_round():
    with folder() as cwd:
        path = os.path.join(cwd, "trace.json")
        once = run(HAND, *SMALL, "--rounds", 1, "--profile")
        done = run(HAND, *SMALL, "--rounds", 3, "--profile", "--trace", path)
        of = {row["name"]: row for row in once["profile"]["kernels"]}
        for row in done["profile"]["kernels"]:
            if row["name"] == "k_stand_drop":  # once for each place of a frame, which all rounds use
                assert row["calls"] == of[row["name"]]["calls"], row
                continue
            assert row["calls"] >= 3 * of[row["name"]]["calls"] - 4, (row, of[row["name"]])
        with open(path, encoding="utf-8") as f:
            assert f.read().count('"name":"step"') == 3 * 4


def test_a_round_of_nan_is_told_and_the_next_one_is_right():
    with folder() as cwd:
        path = os.path.join(cwd, "in.npz")
        values = inputs(path, 3)
        want = alone(cwd, values, 2)
        values["qpos"][1] = np.nan
        np.savez(path, **values)
        done = run(CARTPOLE, *SMALL, "--inputs", path)
        assert done["rounds"]["faulty"] == [0, 3, 0]
        assert (done["rounds"]["state_hash"][2], done["rounds"]["frame_hash"][2]) == want
        assert any("round 2" in w and "all 3 worlds" in w for w in done["warnings"]), done["warnings"]


def test_refused():
    with folder() as cwd:
        at = lambda name: os.path.join(cwd, name)
        values = inputs(at("good.npz"), 3)
        np.savez(at("short.npz"), qpos=values["qpos"][:, :, :1])
        np.savez(at("unknown.npz"), speed=values["qpos"])
        np.savez(at("flat.npz"), friction=np.ones(3))
        np.savez(at("two.npz"), qpos=values["qpos"][:2], gravity=values["gravity"])
        np.savez(at("seeds.npz"), seed=np.array([[0.5]]))
        np.save(at("plain.npy"), values["qpos"])
        with open(at("good.npz"), "rb") as f, open(at("cut.npz"), "wb") as g:
            g.write(f.read()[:-40])
        whole = bytearray(open(at("good.npz"), "rb").read())
        whole[200] ^= 1
        with open(at("flipped.npz"), "wb") as f:
            f.write(whole)
        cases = [
            (["--inputs", at("nosuch.npz")], ["nosuch.npz", "cannot be read"]),
            (["--inputs", at("plain.npy")], ["is not a .npz file"]),
            (["--inputs", at("cut.npz")], ["is not a .npz file"]),
            (["--inputs", at("flipped.npz")], ["qpos", "is damaged"]),
            (["--inputs", at("short.npz")], ["12 bytes given for qpos, which has 24"]),
            (["--inputs", at("unknown.npz")], ["no value 'speed'", "qpos", "gravity"]),
            (["--inputs", at("flat.npz")], ["friction", "round axis"]),
            (["--inputs", at("two.npz")], ["qpos", "those of 2 rounds, and there are 3"]),
            (["--inputs", at("good.npz"), "--rounds", 2], ["those of 3 rounds, and there are 2"]),
            (["--inputs", at("good.npz"), "--control", "noise"], ["the inputs have controls"]),
            (["--inputs", at("good.npz"), "--sweep", "gravity=-1,-2,-3"], ["gravity", "given twice"]),
            (["--sweep", "gravity"], ["a parameter and its values"]),
            (["--sweep", "gravity="], ["a parameter and its values"]),
            (["--sweep", "gravity=1,x"], ["'x' is not a number"]),
            (["--sweep", "mass=1"], ["no parameter 'mass'", "friction"]),
            (["--sweep", "damping=1", "--sweep", "damping=2"], ["damping is swept already"]),
            (["--sweep", "damping=-1"], ["0 or more"]),
            (["--sweep", "seed=1,1.5"], ["'1.5' is not a seed"]),
            (["--sweep", "seed=-1"], ["'-1' is not a seed"]),
            (["--inputs", at("seeds.npz")], ["seed 0.5 is not a whole number"]),
            (["--sweep", "damping=1", "--rounds", 2], ["--rounds", "sweep says"]),
            (["--rounds", 0], ["--rounds 0"]),
            (["--rounds", 2, "--save-every", 1, "--out", at("out")], ["--save-every"]),
            (["--rounds", 2, "--resume", at("x")], ["--resume"]),
        ]
        before = files_below(cwd)
        for words, mentions in cases:
            done = stet("run", CARTPOLE, *SMALL, *words)
            assert done.returncode == 2 and done.stdout == "", (words, done.stderr, done.stdout)
            for mention in mentions:
                assert mention in done.stderr, (words, done.stderr, mention)
        assert files_below(cwd) == before


if __name__ == "__main__":
    from command import main

    main(globals())
