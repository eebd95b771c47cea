"""`mpirun -n R stet run`: results and files of a run over R processes are those of one, and errors are one sentence.

Skipped (exit code 77) where this build has no module over MPI, or there is no mpirun.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from command import COMMAND, double, folder, is_running, launch, main, run, scene, skip_without_mpi

# MPI's libraries keep memory until the process ends.
ENVIRONMENT = dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")
RUN = ["run", scene("quadruped.xml"), "--frames", 4, "--control", "noise", "--size", "24x16"]


def ranks(nrank, *words, cwd=None):
    return subprocess.run(
        launch(nrank, COMMAND, *words), cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True, timeout=300
    )


def ranks_json(nrank, *words, cwd=None):
    done = ranks(nrank, *words, "--json", cwd=cwd)
    assert done.returncode == 0, f"{nrank} ranks, {words}: exit code {done.returncode}: {done.stderr}"
    return json.loads(done.stdout)


def sentences(done):
    """What stet says on standard error; the rest is of the launcher."""
    return [line for line in done.stderr.splitlines() if line.startswith("stet run: ")]


def compare_with(one, whole, words, nrank):
    """Results and files over nrank processes with those of one, which are in the folder `whole`."""
    with folder() as cwd:
        got = ranks_json(nrank, *words, cwd=cwd)
        for key in ("worlds", "frames_done", "state_hash", "frame_hash", "files", "faults"):
            assert got[key] == one[key], f"{nrank} ranks: {key} is {got[key]}, not {one[key]}"
        for name in (*one["files"][:-1], "state"):
            with open(os.path.join(whole, name), "rb") as a, open(os.path.join(cwd, name), "rb") as b:
                assert a.read() == b.read(), f"{nrank} ranks: {name} differs from that of one process"
        rows = got.get("ranks", [])
        worlds = [row["worlds"] for row in rows]
        assert worlds == [5 // nrank + (k < 5 % nrank) for k in range(len(rows))]
        assert [row["first_world"] for row in rows] == [sum(worlds[:k]) for k in range(len(rows))]
        assert nrank == 1 or len(rows) + got["ranks_without_worlds"] == nrank
        assert nrank == 1 or re.match(r"host memory, because rank 0 of \d: cpu .* is not a GPU", got["pictures_by"])


def test_results_do_not_depend_on_the_number_of_ranks():
    """5 worlds over 1, 2, 3, 4 and 8 processes: uneven blocks, and processes without a world."""
    words = [*RUN, "--worlds", 5, "--output", "rgb,depth", "--record", "qpos", "--save-tensors", "every:2",
             "--save-every", 2, "--save", "state", "--out", "out"]  # fmt: skip
    with folder() as whole, ThreadPoolExecutor(3) as pool:
        one = run(*words[1:], cwd=whole)
        for done in [pool.submit(compare_with, one, whole, words, nrank) for nrank in (1, 2, 3, 4, 8)]:
            done.result()


def test_one_file_of_all_tensors():
    words = [*RUN, "--worlds", 5, "--output", "rgb,depth", "--save-tensors", "every:2:npz", "--save", "state",
             "--out", "out"]  # fmt: skip
    with folder() as whole:
        one = run(*words[1:], cwd=whole)
        assert "out/frames.npz" in one["files"]
        for nrank in (2, 8):
            compare_with(one, whole, words, nrank)


def test_a_saved_state_goes_on_over_another_number_of_ranks():
    with folder() as cwd:
        words = [*RUN, "--worlds", 3, "--output", "none"]
        whole = run(*words[1:], "--frames", 8, cwd=cwd)
        ranks_json(3, *words, "--save", "half", cwd=cwd)
        rest = ranks_json(2, *words, "--resume", "half", cwd=cwd)
        assert rest["state_hash"] == whole["state_hash"]
        assert run(*words[1:], "--resume", "half", cwd=cwd)["state_hash"] == whole["state_hash"]
        done = ranks(2, *words, "--worlds", 4, "--resume", "half", cwd=cwd)
        assert done.returncode == 2 and "half: it has 3 worlds, this run has 4; ask for 3" in sentences(done)[0]


def test_rounds_and_controls_of_a_file():
    random = np.random.default_rng(22)
    with folder() as cwd:
        start = np.concatenate([random.uniform(-0.1, 0.1, (2, 5, 2)), np.zeros((2, 5, 0))], axis=2)
        np.savez(os.path.join(cwd, "in.npz"), qpos=start, controls=random.uniform(-1, 1, (2, 3, 5, 1)))
        words = ["run", scene("cartpole.xml"), "--worlds", 5, "--frames", 3, "--output", "none", "--inputs", "in.npz"]
        one, got = run(*words[1:], cwd=cwd)["rounds"], ranks_json(2, *words, cwd=cwd)["rounds"]
        for key in ("count", "state_hash", "faulty"):
            assert got[key] == one[key], key
        np.save(os.path.join(cwd, "controls.npy"), random.uniform(-1, 1, (3, 5, 1)))
        words = [*words[:-2], "--control", "controls.npy"]
        assert ranks_json(3, *words, cwd=cwd)["state_hash"] == run(*words[1:], cwd=cwd)["state_hash"]


def test_processors_and_gpus_mix():
    """Rank 1 has a GPU (a double of the driver, whose second device is for the second process), rank 0 has none."""
    with folder() as at, folder() as cwd:
        of_double = double(at)
        there = f"LD_LIBRARY_PATH={of_double['LD_LIBRARY_PATH']} XDG_CACHE_HOME={of_double['XDG_CACHE_HOME']}"
        words = ["run", scene("cartpole.xml"), "--worlds", 3, "--frames", 2, "--control", "noise", "--output", "none",
                 "--physics", "mujoco", "--json"]  # fmt: skip
        script = f'[ "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" = 0 ] || export {there}; exec "$@"'
        done = subprocess.run(
            launch(2, "sh", "-c", script, "sh", COMMAND, *words), cwd=cwd, env=ENVIRONMENT, capture_output=True,
            text=True, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        got = json.loads(done.stdout)
        assert [row["device"].split(" ")[0] for row in got["ranks"]] == ["cpu", "cuda:1"]
        assert got["state_hash"] == run(*words[1:-1], "--device", "cpu")["state_hash"]


RANK_1 = '[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ]'


def scripted(nrank, of_rank_1, *words):
    """Rank 1 does something in a shell first."""
    return launch(nrank, "sh", "-c", f'if {RANK_1}; then {of_rank_1}\nfi; exec "$@"', "sh", COMMAND, *words)


def test_a_rank_that_does_not_see_the_files_sends_what_it_has():
    words = [*RUN, "--worlds", 5, "--output", "depth", "--record", "qpos", "--save-tensors", "every:2", "--out", "out"]
    with folder() as whole, folder() as cwd, folder() as other:
        run(*words[1:], cwd=whole)
        done = subprocess.run(
            scripted(2, f"cd {other}", *words), cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        for name in ("qpos.npy", "depth.npy", "frames-depth.npy"):
            with open(os.path.join(whole, "out", name), "rb") as a, open(os.path.join(cwd, "out", name), "rb") as b:
                assert a.read() == b.read(), name
        assert not os.listdir(other)


def test_a_rank_that_cannot_write_ends_the_run():
    """No file may be larger than 1024 bytes; what all ranks have recorded by then is kept. MPICH's UCX makes larger
    ones in memory that ranks share, so it is told to use sockets.
    """
    words = [*RUN, "--worlds", 4, "--output", "none", "--record", "qpos", "--out", "out"]
    with folder() as cwd:
        done = subprocess.run(
            scripted(2, "trap '' XFSZ; ulimit -f 2", *words), cwd=cwd, env=dict(ENVIRONMENT, UCX_TLS="tcp,self"),
            capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        assert done.returncode == 1 and len(sentences(done)) == 1, done
        assert sentences(done)[0].endswith("qpos.npy: writing stopped: rank 1 of 2: File too large"), done.stderr
        with folder() as whole:
            run(*words[1:], cwd=whole)
            expected = np.load(os.path.join(whole, "out", "qpos.npy"))
        got = np.load(os.path.join(cwd, "out", "qpos.npy"))
        assert 0 < len(got) < 4 and np.array_equal(got, expected[: len(got)])


def fails(words, says):
    """Exit code 2, one sentence, and nothing on standard output."""
    done = subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 2 and not done.stdout, done
    assert len(sentences(done)) == 1 and says in sentences(done)[0], done.stderr


def test_errors_are_one_sentence():
    with folder() as cwd, ThreadPoolExecutor(4) as pool:
        with open(scene("cartpole.xml"), encoding="utf-8") as f:
            text = f.read()
        for name, gravity in (("a", "-9.81"), ("b", "-1")):
            os.mkdir(os.path.join(cwd, name))
            with open(os.path.join(cwd, name, "scene.xml"), "w", encoding="utf-8") as f:
                f.write(text.replace("</mujoco>", f"<option gravity='0 0 {gravity}'/></mujoco>"))
        os.mkdir(os.path.join(cwd, "c"))

        def elsewhere(other):
            """Two machines that do not share a folder: rank 1 has another one, where the scene is not the same."""
            script = f'cd {cwd}/$([ "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" = 0 ] && echo a || echo {other}); exec "$@"'
            return launch(2, "sh", "-c", script, "sh", COMMAND, "run", "scene.xml", "--worlds", 4, "--output", "none")

        cases = [
            (launch(2, COMMAND, *RUN, "--worlds", "x"), "--worlds x: this is not a whole number from 1"),
            (
                [*launch(1, COMMAND, *RUN, "--worlds", 4), ":", "-n", "1", *map(str, [COMMAND, *RUN, "--worlds", 5])],
                "rank 1 of 2: its options are not those of rank 0",
            ),
            (elsewhere("b"), "rank 1 of 2: its scene is not that of rank 0"),
            (elsewhere("c"), "rank 1 of 2: scene.xml: no such file"),
        ]
        for case in [pool.submit(fails, *case) for case in cases]:
            case.result()


def test_the_launcher_of_another_mpi_is_refused():
    """Its processes do not see each other: each would be the whole run, and write the same files."""
    done = subprocess.run(
        [COMMAND, *map(str, RUN)], env=dict(ENVIRONMENT, PMI_SIZE="2"), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 2 and "the launcher started 2 processes, and each of them is alone" in done.stderr, done


def begin_endless(cwd, nrank):
    """A run that goes on; its process, and those of its ranks."""
    words = [*RUN, "--worlds", 4, "--frames", 10**7, "--output", "none", "--json", "--record", "qpos", "--out", "out"]
    process = subprocess.Popen(
        launch(nrank, "sh", "-c", "echo $$ >> pids; exec \"$@\"", "sh", COMMAND, *words), cwd=cwd, env=ENVIRONMENT,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    pids = os.path.join(cwd, "pids")
    while True:
        if os.path.exists(pids):
            with open(pids, encoding="utf-8") as f:
                found = [int(word) for word in f.read().split()]
            if len(found) == nrank:
                break
        time.sleep(0.01)
    out = os.path.join(cwd, "out")
    while not os.path.isdir(out) or sum(entry.stat().st_size for entry in os.scandir(out)) < 4096:
        time.sleep(0.01)  # until all ranks make frames: rank 0 writes what they send
    return process, found


def test_a_rank_that_dies_ends_the_others():
    with folder() as cwd:
        process, pids = begin_endless(cwd, 3)
        begun = time.monotonic()
        os.kill(pids[1], signal.SIGKILL)
        while any(is_running(pid) for pid in pids):
            assert time.monotonic() - begun < 60, "a rank was killed, and others are still there"
            time.sleep(0.01)
        try:
            out, said = process.communicate(timeout=10)
        except subprocess.TimeoutExpired:  # rarely Open MPI 4.1's launcher hangs then, in a lock of its own
            process.kill()
            return
        assert process.returncode != 0
        assert re.search(r"rank \d.* (Killed|exited on signal 9)", said) or re.search(
            rf"PID {pids[1]} .*EXIT CODE: 9", out, re.DOTALL
        ), (out, said)  # Open MPI's launcher, MPICH's


def test_a_straggler_is_named():
    """Rank 1 is stopped nine tenths of the time; without that nobody is that slow."""
    words = [*RUN, "--worlds", 60, "--frames", 200, "--output", "none", "--threads", 1]
    halted = "while [ -e /proc/$$/exe ]; do kill -STOP $$; sleep 0.05; kill -CONT $$; sleep 0.005; done 2>/dev/null &"
    for more in ((), ("--json",)):
        done = subprocess.run(
            scripted(3, halted, *words, *more), env=ENVIRONMENT, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        if more:
            assert json.loads(done.stdout)["straggler"] == 1, done.stdout
        else:
            assert re.search(r"rank 1 on \S+ is slow: it worked \S+ s, and the others waited for it", done.stdout), done


def test_an_interruption_is_agreed_upon():
    with folder() as cwd:
        process, pids = begin_endless(cwd, 3)
        os.kill(pids[2], signal.SIGINT)
        out, said = process.communicate(timeout=300)
        assert out, said
        got = json.loads(out)
        assert process.returncode in (130, 143) and got["interrupted"], said
        assert sum("interrupted after frame" in line for line in said.splitlines()) == 1, said
        assert np.load(os.path.join(cwd, "out", "qpos.npy")).shape[:2] == (got["frames_done"], 4)


skip_without_mpi()
main(globals())
