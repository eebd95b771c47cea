"""`stet compare`: bits changed on purpose in recordings are found where they are, the first of them; what is equal; two
devices; what is refused.
"""

import os
import shutil

import numpy as np

from command import double, files_below, folder, run, scene, stet

CARTPOLE = scene("cartpole.xml")
SMALL = ["--worlds", 3, "--size", "24x16", "--control", "noise"]


def compare(code, *words, env=None):
    """`stet compare`, which must end with this exit code; what it printed."""
    done = stet("compare", *words, env=env)
    assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
    assert (done.stderr == "") == (code < 2), (words, done.stderr)
    return done.stderr if code == 2 else done.stdout


def flip(path, index, bit):
    """Flips a bit of one number of a .npy file."""
    a = np.load(path)
    bits = a.view(f"u{a.itemsize}")
    bits[index] ^= bits.dtype.type(1 << bit)
    np.save(path, a)


def recorded(cwd, name, *words):
    path = os.path.join(cwd, name)
    run(CARTPOLE, *SMALL, "--record", "qpos,qvel,sensordata", "--out", path, *words)
    return path


def test_equal_runs_are_equal():
    with folder() as cwd:
        a = recorded(cwd, "a", "--frames", 6, "--save-tensors", "every:2", "--threads", 1)
        b = recorded(cwd, "b", "--frames", 6, "--save-tensors", "every:2", "--threads", 3)
        assert compare(0, a, b).startswith("equal: 5 arrays, ")
        assert compare(0, os.path.join(a, "qpos.npy"), os.path.join(b, "qpos.npy")) == "equal: 1 array, 36 numbers\n"


def test_the_first_bit_is_found():
    """Frame before world before field, wherever the files stand in the folder; the highest bit of a number."""
    with folder() as cwd:
        a = recorded(cwd, "a", "--frames", 6, "--save-tensors", "every:2")
        b = os.path.join(cwd, "b")
        shutil.copytree(a, b)
        at = {name: os.path.join(b, f"{name}.npy") for name in ("qpos", "qvel", "rgb", "frames-rgb")}
        flip(at["rgb"], (0, 1, 2, 0), 3)
        assert compare(1, a, b).startswith("world 0, rgb[1, 2, 0], bit 3: ")
        flip(at["qpos"], (4, 1, 0), 0)
        assert compare(1, a, b).startswith("frame 4, world 1, qpos[0], bit 0: ")
        flip(at["qvel"], (4, 0, 1), 31)
        flip(at["qvel"], (4, 0, 1), 5)
        printed = compare(1, a, b)
        number = np.load(os.path.join(a, "qvel.npy"))[4, 0, 1]
        spelled = f"{number:.9g} (0x{number.view('u4'):08x})"
        assert printed.startswith(f"frame 4, world 0, qvel[1], bit 31: {spelled} in {a}, ")
        flip(at["frames-rgb"], (1, 2, 15, 23, 2), 7)
        assert compare(1, a, b).startswith("frame 1, world 2, frames-rgb[15, 23, 2], bit 7: ")


def test_numbers_are_their_bits():
    """NaN equals itself and not another NaN, and the zeros differ; all types of numbers."""
    with folder() as cwd:
        a, b = os.path.join(cwd, "a.npy"), os.path.join(cwd, "b.npy")
        numbers = np.array([[1, np.nan, 0, -0.0]], "f4")
        np.save(a, numbers)
        np.save(b, numbers)
        assert compare(0, a, b) == "equal: 1 array, 4 numbers\n"
        flip(b, (0, 2), 31)
        assert compare(1, a, b) == f"a[0, 2], bit 31: 0 (0x00000000) in {a}, -0 (0x80000000) in {b}\n"
        for kind, x, y, words in (
            ("f8", 0.1, 0.2, "bit 54: 0.10000000000000001 (0x3fb999999999999a)"),
            ("i4", -1, 1, "bit 31: -1 (0xffffffff)"),
            ("i8", 5, 4, "bit 0: 5 (0x0000000000000005)"),
            ("u8", 2**64 - 1, 0, "bit 63: 18446744073709551615 (0xffffffffffffffff)"),
            ("u1", 3, 131, "bit 7: 3 (0x03)"),
        ):
            np.save(a, np.array([7, x], kind))
            np.save(b, np.array([7, y], kind))
            assert compare(1, a, b).startswith(f"a[1], {words} in "), kind


def test_rounds_and_lengths():
    with folder() as cwd:
        words = ["--frames", 2, "--sweep", "seed=1,2,3"]
        a, b = recorded(cwd, "a", *words), recorded(cwd, "b", *words)
        assert compare(0, a, b).startswith("equal: ")
        path = os.path.join(b, "rounds.npz")
        arrays = dict(np.load(path))
        arrays["qvel"].view("u4")[2, 1, 0, 1] ^= 1 << 9
        arrays["state_hash"][2] ^= 1
        np.savez_compressed(path, **arrays)
        assert compare(1, a, b).startswith("round 2, frame 1, world 0, qvel[1], bit 9: ")
        longer, shorter = recorded(cwd, "longer", "--frames", 5), recorded(cwd, "shorter", "--frames", 3)
        assert (
            compare(1, longer, shorter)
            == f"equal as far as both go: there are 5 frames in {longer}, 3 in {shorter}\n"
        )
        flip(os.path.join(shorter, "qpos.npy"), (2, 2, 1), 1)
        assert compare(1, longer, shorter).startswith("frame 2, world 2, qpos[1], bit 1: ")


def test_devices():
    few = [*SMALL, "--frames", 4]
    for name in ("portable", "w1"):
        assert compare(0, CARTPOLE, *few, "--with", f"cpu:{name}", "--device", "cpu").startswith("equal: ")
    # A null device runs nothing: the first number that the physics moves differs in the first frame.
    printed = compare(1, CARTPOLE, *few, "--device", "cpu", "--physics", "native", "--with", "null")
    assert printed.startswith("frame 0, world 0, ") and " in null (1 lane)" in printed
    with folder() as cwd:
        words = ["--physics", "mujoco", "--output", "none", "--record", "qacc", "--device", "cpu", "--with=cuda"]
        assert compare(0, CARTPOLE, *few, *words, env=double(cwd)).startswith("equal: ")


def test_refused():
    with folder() as cwd:
        a = recorded(cwd, "a", "--frames", 2)
        b = recorded(cwd, "b", "--frames", 2, "--worlds", 4)
        c = recorded(cwd, "c", "--frames", 2, "--output", "none")
        text, empty = os.path.join(cwd, "text.npy"), os.path.join(cwd, "empty")
        os.mkdir(empty)
        with open(text, "w", encoding="utf-8") as f:
            f.write("no array")
        qpos, qvel = os.path.join(a, "qpos.npy"), os.path.join(b, "qvel.npy")
        before = files_below(cwd)
        for words, mentions in [
            ([], ["give two recordings"]),
            ([a], ["give two recordings"]),
            ([a, b, c], ["give two recordings"]),
            ([a, b], ["array qpos: it is f4 2 x 3 x 2 in ", "and f4 2 x 4 x 2 in "]),
            ([a, c], [f"rgb.npy is in {a} alone"]),
            ([c, a], [f"rgb.npy is in {a} alone"]),
            ([a, qpos], ["are not of one kind"]),
            ([qpos, qvel], ["array qpos: it is f4 2 x 3 x 2"]),
            ([a, os.path.join(cwd, "none")], ["none: there is no such file or folder"]),
            ([empty, empty], ["there is no .npy and no .npz file in it"]),
            ([text, qpos], [f"{text} is not a .npy file"]),
            ([CARTPOLE, CARTPOLE], ["cartpole.xml is no folder, .npy or .npz file"]),
            ([CARTPOLE, "--with"], ["--with needs a device"]),
            (["--with", "cpu"], ["no scene is named"]),
            ([CARTPOLE, "--with", "tpu"], ["--with tpu: there is no such device"]),
            ([CARTPOLE, "--with", "cpu:x"], ["there is no instruction set 'x'"]),
            ([CARTPOLE, "--device", "cpu", "--with", "cpu:f64"], ["numbers are double on one of cpu"]),
            ([CARTPOLE, "--with", "cpu", "--out", empty], ["--out: with --with nothing is written"]),
            ([CARTPOLE, "--with", "cpu", "--rounds", 2], ["nothing is written"]),
            ([CARTPOLE, "--with", "cpu", "--nonsense"], ["there is no such option"]),
        ]:
            said = compare(2, *words)
            for mention in mentions:
                assert mention in said, (words, said, mention)
        assert files_below(cwd) == before


if __name__ == "__main__":
    from command import main

    main(globals())
