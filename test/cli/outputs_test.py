"""Where the command writes: any option that writes, at any kind of target. Only plain files are replaced, and no input;
what is refused is refused before the run, in one sentence, and leaves all as it was. Then: lost output, full disks,
signals, named pipes as inputs.
"""

import collections
import ctypes
import hashlib
import json
import os
import random
import re
import signal
import stat
import subprocess
import sys
import time

import numpy as np

from command import COMMAND, folder, run, scene, stet

SEED = int(os.environ.get("STET_TEST_SEED", "20261122"))
DRAWS = int(os.environ.get("STET_TEST_DRAWS", "160"))
SMALL = ["--worlds", 2, "--frames", 2, "--substeps", 1, "--size", "4x4", "--device", "cpu", "--threads", 1]

SCENE = """<mujoco><compiler meshdir="parts"/><asset><mesh name="m" file="mesh.obj"/></asset>
<worldbody><include file="part.xml"/><body><joint name="j"/><geom type="mesh" mesh="m"/></body></worldbody>
<actuator><motor joint="j"/></actuator></mujoco>"""
MESH = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def make_inputs(cwd):
    """A scene of several files, and each other kind of input."""
    os.mkdir(os.path.join(cwd, "parts"))
    write(os.path.join(cwd, "scene.xml"), SCENE)
    write(os.path.join(cwd, "part.xml"), '<mujoco><geom size="1"/></mujoco>')
    write(os.path.join(cwd, "parts", "mesh.obj"), MESH)
    np.save(os.path.join(cwd, "control.npy"), np.zeros((2, 1)))
    np.savez(os.path.join(cwd, "inputs.npz"), qvel=np.zeros((1, 2, 1)))
    run("scene.xml", *SMALL, "--physics", "native", "--output", "none", "--save", "state", cwd=cwd)


def look(cwd):
    """All that is in the folder: kind, place, rights, and content or what a link says."""
    seen = {}
    for at, folders, names in os.walk(cwd):
        for name in folders + names:
            path = os.path.join(at, name)
            s = os.lstat(path)
            what = ""
            if stat.S_ISLNK(s.st_mode):
                what = os.readlink(path)
            elif stat.S_ISREG(s.st_mode):
                with open(path, "rb") as f:
                    what = hashlib.sha256(f.read()).hexdigest()
            seen[os.path.relpath(path, cwd)] = (stat.S_IFMT(s.st_mode), stat.S_IMODE(s.st_mode), s.st_rdev, what)
    return seen


# Kinds of targets: each makes one, and returns the path at which its file would be in the end, or None: it is refused.


def new(cwd, path):
    return path


def plain(cwd, path):
    write(path, "old")
    os.chmod(path, 0o640)
    return path


def link(cwd, path):
    write(os.path.join(cwd, "linked"), "old")
    os.symlink(os.path.join(cwd, "linked"), path)
    return os.path.join(cwd, "linked")


def dangling(cwd, path):
    os.symlink(os.path.relpath(os.path.join(cwd, "not-yet"), os.path.dirname(path)), path)
    return os.path.join(cwd, "not-yet")


def link_to_nowhere(cwd, path):
    os.symlink("nosuch/file", path)


def link_to_itself(cwd, path):
    os.symlink(os.path.basename(path), path)


def link_to_device(cwd, path):
    os.symlink("/dev/null", path)


def link_to_full(cwd, path):
    os.symlink("/dev/full", path)


def device(cwd, path):
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        return "skip"


def pipe(cwd, path):
    os.mkfifo(path)


def directory(cwd, path):
    os.mkdir(path)


def read_only(cwd, path):
    write(path, "old")
    os.chmod(path, 0o444)


def hard_link_to_scene(cwd, path):
    os.link(os.path.join(cwd, "scene.xml"), path)


def input_of(name):
    def make(cwd, path):
        os.symlink(os.path.join(cwd, name), path)

    make.__name__ = "link_to_" + re.sub(r"\W", "_", name)
    return make


KINDS = [
    new,
    plain,
    link,
    dangling,
    link_to_nowhere,
    link_to_itself,
    link_to_device,
    link_to_full,
    device,
    pipe,
    directory,
    read_only,
    hard_link_to_scene,
    *[input_of(name) for name in ("scene.xml", "part.xml", "parts/mesh.obj", "state", "control.npy")],
]
# What writes: the words, and the target in the folder.
WRITERS = {
    "save": (["--save", "target"], "target"),
    "trace": (["--trace", "target"], "target"),
    "summary": (["--out", "out"], "out/summary.json"),
    "mosaic": (["--out", "out"], "out/mosaic-rgb.png"),
    "numbered": (["--out", "out", "--save-every", 1], "out/mosaic-rgb-00002.png"),
    "tensor": (["--out", "out"], "out/rgb.npy"),
    "frames": (["--out", "out", "--save-tensors", "every:1"], "out/frames-rgb.npy"),
    "packed": (["--out", "out", "--save-tensors", "every:1:npz"], "out/frames.npz"),
    "recording": (["--out", "out", "--record", "qpos"], "out/qpos.npy"),
}
READERS = ["--physics", "native", "--resume", "state", "--control", "control.npy"]


def told(words, done):
    return f"seed {SEED}: stet {words}: exit code {done.returncode}, standard error: {done.stderr!r}"


def check_refused(words, done, code=2, who="stet run"):
    assert done.returncode == code, told(words, done)
    assert done.stdout == "" and done.stderr.count("\n") == 1 and done.stderr.startswith(who + ": "), told(words, done)


def draw(dice, counts):
    kind, (name, (words, target)) = dice.choice(KINDS), dice.choice(list(WRITERS.items()))
    with folder() as cwd:
        make_inputs(cwd)
        os.makedirs(os.path.join(cwd, "out"))
        path = os.path.join(cwd, target)
        end = kind(cwd, path)
        if end == "skip":
            counts[name, kind.__name__, "skipped"] += 1
            return
        words = ["run", "scene.xml", *SMALL, *READERS, *words]
        before = look(cwd)
        done = stet(*words, cwd=cwd)
        after = look(cwd)
        if end is None:
            check_refused(words, done)
            assert (
                after == before
            ), f"{told(words, done)}: something was changed: {set(after.items()) ^ set(before.items())}"
            counts[name, kind.__name__, "refused"] += 1
            return
        assert done.returncode == 0 and done.stderr == "", told(words, done)
        end = os.path.relpath(end, cwd)
        changed = {key for key in before if before[key] != after.get(key)}
        assert changed <= {end}, (told(words, done), changed)
        assert (end in changed) == (end in before), f"{told(words, done)}: {end} was not written"
        assert stat.S_ISREG(after[end][0]) and not any(".part" in key for key in after), (told(words, done), after)
        if kind is plain:
            assert after[end][1] == 0o640, "the rights of what is replaced"
        counts[name, kind.__name__, "written"] += 1


def test_every_target():
    dice, counts = random.Random(SEED), collections.Counter()
    print(f"seed {SEED}, {DRAWS} draws")
    for _ in range(DRAWS):
        draw(dice, counts)
    for (name, kind, what), n in sorted(counts.items()):
        print(f"  {name:10} {kind:24} {what:8} {n}")
    assert {kind for _, kind, _ in counts} == {kind.__name__ for kind in KINDS}, "each kind was drawn"
    assert {name for name, _, _ in counts} == set(WRITERS), "each writer was drawn"


def test_inputs_of_rounds():
    with folder() as cwd:
        make_inputs(cwd)
        for words in (["--save", "inputs.npz"], ["--trace", "inputs.npz"]):
            words = ["run", "scene.xml", *SMALL, "--inputs", "inputs.npz", *words]
            before = look(cwd)
            done = stet(*words, cwd=cwd)
            check_refused(words, done)
            assert "--inputs" in done.stderr and look(cwd) == before, told(words, done)
        os.mkdir(os.path.join(cwd, "out"))
        write(os.path.join(cwd, "out", "qpos.npy"), "somebody's")
        run("scene.xml", *SMALL, "--rounds", 2, "--record", "qpos", "--out", "out", cwd=cwd)
        with open(os.path.join(cwd, "out", "qpos.npy"), encoding="utf-8") as f:
            assert f.read() == "somebody's", "a run in rounds has no such file"
        assert np.load(os.path.join(cwd, "out", "rounds.npz"))["qpos"].shape == (2, 2, 2, 1)


def test_one_place_for_two():
    with folder() as cwd:
        make_inputs(cwd)
        os.symlink("x", os.path.join(cwd, "y"))
        for words in (
            ["--out", "x", "--save", "x"],
            ["--out", "x/below", "--save", "x"],
            ["--trace", "x", "--save", "x"],
            ["--trace", "x", "--save", "./x"],
            ["--trace", "x", "--save", "y"],
            ["--out", ".", "--save", "rgb.npy"],
            ["--out", ".", "--trace", "./summary.json"],
            ["--out", "parts/..", "--save", "mosaic-rgb.png"],
        ):
            before = look(cwd)
            words = ["run", "scene.xml", *SMALL, *words]
            done = stet(*words, cwd=cwd)
            check_refused(words, done)
            assert look(cwd) == before, told(words, done)


def test_what_cannot_be_saved():
    with folder() as cwd:
        write(
            os.path.join(cwd, "sleep.xml"),
            '<mujoco><option><flag sleep="enable"/></option>'
            '<worldbody><body><joint/><geom size="1"/></body></worldbody></mujoco>',
        )
        words = ["run", "sleep.xml", *SMALL, "--save", "state", "--out", "out"]
        done = stet(*words, cwd=cwd)
        check_refused(words, done)
        assert "sleep" in done.stderr and os.listdir(cwd) == ["sleep.xml"], told(words, done)


def test_numbers_that_are_none():
    with folder() as cwd:
        for text in ("1e308", "1e999", "inf", "nan", "-1", "3.5e38", "0x", ""):
            words = ["run", scene("cartpole.xml"), *SMALL, "--control", "noise:" + text]
            check_refused(words, stet(*words, cwd=cwd))
        for text in ("inf", "nan", "1e999", ""):
            words = ["run", scene("cartpole.xml"), *SMALL, "--sweep", "gravity=" + text]
            check_refused(words, stet(*words, cwd=cwd))


def test_benchmarks():
    with folder() as cwd:
        for make in (link_to_device, pipe, directory, read_only, link_to_nowhere):
            target = os.path.join(cwd, make.__name__)
            make(cwd, target)
            before = look(cwd)
            words = ["bench", "tiles", "--out", target]
            done = stet(*words, cwd=cwd)
            check_refused(words, done, who="stet bench")
            assert look(cwd) == before


def test_lost_output():
    """/dev/full takes nothing: exit code 1 and one sentence, whatever was to be printed."""
    with folder() as cwd:
        kernel = os.path.join(cwd, "k.k.h")
        write(
            kernel,
            '#include "stet/lang.h"\n'
            'world_kernel void k_f(real *y, const real *x, int n) { each (i, n) put(y, i, x[i] * x[i]); }\n',
        )
        small = ["run", scene("cartpole.xml"), *map(str, SMALL), "--output", "none"]
        for words in (
            [],
            ["--version"],
            ["help"],
            ["info"],
            ["info", "--json"],
            ["info", scene("cartpole.xml")],
            ["info", "--help"],
            ["run", "--help"],
            small,
            [*small, "--json"],
            ["adjoint", kernel],
            ["adjoint", "--help"],
            ["gradcheck", kernel],
            ["cache", "list", "--folder", cwd],
            ["cache", "list", "--json", "--folder", cwd],
            ["cache", "--help"],
            ["cache", "verify", "--folder", cwd],
            ["bench", "--list"],
            ["bench", "--help"],
        ):
            words = words or ["--help"]
            os.chmod(cwd, 0o700)
            for where in (">/dev/full", ">&-"):
                done = subprocess.run(["sh", "-c", f'exec "$@" {where}', "sh", COMMAND, *words], cwd=cwd,
                                      capture_output=True, text=True, check=False)
                assert done.returncode == 1 and done.stderr.count("\n") == 1, told(words, done)
                assert "standard output" in done.stderr, told(words, done)


def test_a_full_disk():
    """On a file system of 256 KiB: what is left is true."""
    with folder() as cwd:
        disk = os.path.join(cwd, "disk")
        os.mkdir(disk)
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"tmpfs", disk.encode(), b"tmpfs", 0, b"size=256k") != 0:
            print("  SKIPPED: no file system can be mounted here", file=sys.stderr)
            return
        try:
            words = ["run", scene("hand.xml"), "--worlds", 16, "--frames", 400, "--substeps", 1, "--output", "none"]
            done = stet(*words, "--record", "qpos,qvel", "--out", "disk/out", cwd=cwd)
            assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1, told(words, done)
            names = sorted(os.listdir(os.path.join(disk, "out")))
            assert set(names) <= {"qpos.npy", "qvel.npy"}, names
            for name in names:
                array = np.load(os.path.join(disk, "out", name))
                assert 0 < array.shape[0] < 400 and array.shape[1] == 16, (name, array.shape)
                assert np.isfinite(array).all() and (array != 0).any(axis=(1, 2)).all(), name
            for name in names:
                os.remove(os.path.join(disk, "out", name))
            os.rmdir(os.path.join(disk, "out"))
            with open(os.path.join(disk, "fill"), "wb") as f:
                f.write(b"x" * (200 << 10))
            for more in (
                ["--save", "disk/state"],
                ["--out", "disk/out", "--output", "rgb"],
                ["--trace", "disk/trace", "--frames", 600],
            ):
                before = look(disk)
                done = stet("run", scene("hand.xml"), "--worlds", 64, "--frames", 30, "--output", "none", "--size",
                            "64x64", *more, cwd=cwd)
                assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1, told(more, done)
                left = {
                    key for key in set(look(disk)) - set(before) if not key.startswith("out/mosaic") and key != "out"
                }
                assert not left, (told(more, done), left)
                subprocess.run(["rm", "-rf", os.path.join(disk, "out")], check=True)
        finally:
            assert libc.umount(disk.encode()) == 0


def begin(cwd, *words):
    """A run in the background that ends at a signal, once it makes frames."""
    process = subprocess.Popen(
        [COMMAND, "run", scene("hand.xml"), "--worlds", "4", "--threads", "1", "--device", "cpu", *map(str, words)],
        cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: [signal.signal(s, signal.SIG_DFL) for s in (signal.SIGINT, signal.SIGTERM)],
    )
    return process


def wait_for(cwd, pattern):
    for _ in range(3000):
        found = [n for n in (os.listdir(cwd) if os.path.isdir(cwd) else []) if re.search(pattern, n)]
        if found:
            return
        time.sleep(0.01)
    raise AssertionError(f"{cwd}: nothing like {pattern}")


def test_signals():
    """The first one ends the run between two frames, with all that was done; the exit code is that of shells."""
    for number in (signal.SIGINT, signal.SIGTERM):
        with folder() as cwd:
            out = os.path.join(cwd, "out")
            process = begin(cwd, "--frames", 10**7, "--size", "8x8", "--record", "qpos,qvel", "--out", "out", "--save",
                            "state", "--save-every", 1, "--save-tensors", "every:1:npz", "--json")
            wait_for(out, "mosaic-rgb-00003")
            process.send_signal(number)
            said, error = process.communicate(timeout=120)
            assert process.returncode == 128 + number, (process.returncode, error)
            summary = json.loads(said)
            assert summary["interrupted"] and summary["frames_done"] >= 3 and error.count("\n") == 1, (summary, error)
            assert f"frame {summary['frames_done']} of" in error, error
            for name in ("qpos", "qvel"):
                assert np.load(os.path.join(out, name + ".npy")).shape[0] == summary["frames_done"], name
            with np.load(os.path.join(out, "frames.npz")) as arrays:
                assert [len(frames) for frames in arrays.values()] == [summary["frames_done"]]
            assert sorted(os.path.join("out", n) for n in os.listdir(out)) + ["state"] == sorted(
                summary["files"]
            ), "all is listed, and nothing else is there"
            done = run(
                scene("hand.xml"), "--worlds", 4, "--frames", 1, "--output", "none", "--resume", "state", cwd=cwd
            )
            assert done["frames_done"] == 1 and not done["interrupted"]


def test_a_signal_in_a_round():
    with folder() as cwd:
        process = begin(
            cwd, "--frames", 3, "--rounds", 10**6, "--output", "none", "--record", "qpos", "--out", "out", "--json"
        )
        wait_for(os.path.join(cwd, "out"), "part")
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        said, error = process.communicate(timeout=120)
        assert process.returncode == 130, (process.returncode, error)
        if said:
            with np.load(os.path.join(cwd, "out", "rounds.npz")) as rounds:
                assert rounds["qpos"].shape[0] == rounds["state_hash"].shape[0] == json.loads(said)["frames_done"] // 3
        else:
            assert "nothing was written" in error and not os.path.exists(os.path.join(cwd, "out")), error


def test_a_second_signal():
    """A long frame that the first signal ends; one that comes before the first frame, or twice, leaves nothing."""
    with folder() as cwd:
        process = begin(
            cwd, "--frames", 1, "--substeps", 1000000, "--output", "none", "--record", "qpos", "--out", "deep/out"
        )
        wait_for(os.path.join(cwd, "deep", "out"), "part")
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        _, error = process.communicate(timeout=120)
        assert process.returncode in (130, -signal.SIGINT, -signal.SIGTERM), (process.returncode, error)
        assert os.listdir(cwd) == [], os.listdir(cwd)


def test_a_signal_while_a_kernel_is_compiled():
    """The compiler works in a folder of its own, which does not stay."""
    with folder() as cwd:
        for name in ("bin", "tmp", "cache"):
            os.mkdir(os.path.join(cwd, name), 0o700)
        compiler = os.path.join(cwd, "bin", "cc")
        write(compiler, '#!/bin/sh\ncase "$*" in *--version*) echo "cc 1";; *) : >kernel.so; sleep 100;; esac\n')
        os.chmod(compiler, 0o755)
        write(
            os.path.join(cwd, "k.k.h"),
            '#include "stet/lang.h"\n'
            'world_kernel void k_f(real *y, const real *x, int n) { each (i, n) put(y, i, x[i]); }\n',
        )
        env = dict(os.environ, PATH=os.path.join(cwd, "bin") + ":" + os.environ["PATH"], TMPDIR=os.path.join(
            cwd, "tmp"), XDG_CACHE_HOME=os.path.join(cwd, "cache"))
        for number in (signal.SIGTERM, signal.SIGINT):
            process = subprocess.Popen(
                [COMMAND, "gradcheck", "k.k.h"],
                cwd=cwd,
                env=env,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                preexec_fn=lambda: [signal.signal(s, signal.SIG_DFL) for s in (signal.SIGINT, signal.SIGTERM)],
            )
            wait_for(os.path.join(cwd, "tmp"), "stet-")
            wait_for(os.path.join(cwd, "tmp", os.listdir(os.path.join(cwd, "tmp"))[0]), "kernel.so")
            os.killpg(process.pid, number)
            process.communicate(timeout=120)
            assert process.returncode == -number, process.returncode
            assert os.listdir(os.path.join(cwd, "tmp")) == [], "the compiler's folder"


def test_named_pipes_as_inputs():
    """Nobody writes into them: the command says so, and does not wait."""
    with folder() as cwd:
        make_inputs(cwd)
        for name in ("pipe", "pipe.npy", "pipe.csv", "pipe.npz", "pipe.xml", "pipe.k.h", "pipe.obj"):
            os.mkfifo(os.path.join(cwd, name))
        write(os.path.join(cwd, "includes.xml"), '<mujoco><include file="pipe.xml"/></mujoco>')
        write(os.path.join(cwd, "mesh.xml"), '<mujoco><asset><mesh file="pipe.obj"/></asset><worldbody/></mujoco>')
        write(
            os.path.join(cwd, "k.k.h"),
            '#include "stet/lang.h"\n#include "pipe.k.h"\n'
            'world_kernel void k_f(real *y, int n) { each (i, n) put(y, i, y[i]); }\n',
        )
        for words in (
            ["run", "scene.xml", *SMALL, "--resume", "pipe"],
            ["run", "scene.xml", *SMALL, "--control", "pipe.npy"],
            ["run", "scene.xml", *SMALL, "--control", "pipe.csv"],
            ["run", "scene.xml", *SMALL, "--inputs", "pipe.npz"],
            ["run", "pipe.xml", *SMALL],
            ["run", "includes.xml", *SMALL],
            ["run", "mesh.xml", *SMALL],
            ["info", "pipe.xml"],
            ["info", "includes.xml"],
            ["adjoint", "pipe.k.h"],
            ["adjoint", "k.k.h"],
            ["gradcheck", "pipe.k.h"],
            ["gradcheck", "k.k.h"],
            ["run", "/dev/zero", *SMALL],
            ["run", "scene.xml", *SMALL, "--resume", "/dev/zero"],
            ["adjoint", "/dev/zero"],
        ):
            done = subprocess.run(
                [COMMAND, *map(str, words)], cwd=cwd, capture_output=True, text=True, check=False, timeout=120
            )
            assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1, told(words, done)


def test_includes_of_kernels():
    with folder() as cwd:
        os.mkdir(os.path.join(cwd, "k"))
        write(os.path.join(cwd, "secret.h"), "secret words\n")
        for name in ("/etc/passwd", "../secret.h", os.path.join(cwd, "secret.h")):
            write(
                os.path.join(cwd, "k", "k.k.h"),
                f'#include "stet/lang.h"\n#include "{name}"\n'
                f'world_kernel void k_f(real *y, int n) {{ each (i, n) put(y, i, y[i]); }}\n',
            )
            for command in ("adjoint", "gradcheck"):
                for where, path in ((cwd, "k/k.k.h"), (os.path.join(cwd, "k"), "k.k.h")):
                    done = stet(command, path, cwd=where)
                    assert done.returncode == 2 and "k.k.h:2:" in done.stderr, told([command, name], done)
                    assert "root:" not in done.stderr and "secret words" not in done.stderr, told([command, name], done)


if __name__ == "__main__":
    from command import main

    main(globals())
