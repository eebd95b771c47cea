"""A run that is killed at random times and resumed has the state of one that was not: kill_test.py [TIMES [RANKS]].

With RANKS a random one of as many processes is killed, and the run goes on over another number of them.
"""

import os
import random
import signal
import subprocess
import sys
import time

from command import COMMAND, folder, is_running, launch, run, scene, skip_without_mpi

WORLDS, FRAMES, EVERY = 5, 40, 3
WORDS = ["run", scene("quadruped.xml"), "--worlds", WORLDS, "--control", "noise", "--output", "none", "--substeps", 20,
         "--until", FRAMES, "--json"]  # fmt: skip
ENVIRONMENT = dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")


def begin(cwd, nrank):
    """Starts the run, from its latest state if there is one; its process, and a function that lists its ranks."""
    words = [COMMAND, *WORDS, "--save", "state", "--save-every-state", EVERY]
    if os.path.exists(os.path.join(cwd, "state")):
        words += ["--resume", "state"]
    before = ["sh", "-c", 'echo $$ >> pids; exec "$@"', "sh"]
    if nrank > 1:
        before = launch(nrank, *before)
    pids = os.path.join(cwd, "pids")
    if os.path.exists(pids):
        os.remove(pids)

    def listed():
        if not os.path.exists(pids):
            return []
        with open(pids, encoding="utf-8") as f:
            return [int(word) for word in f.read().split()]

    process = subprocess.Popen(
        [*before, *map(str, words)], cwd=cwd, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    return process, listed


def kill_one(process, listed, dice, length):
    """Kills a random rank at a random time of its life; False: it had ended."""
    until = time.monotonic() + dice.uniform(0, length)
    while (time.monotonic() < until or not listed()) and process.poll() is None:
        time.sleep(0.001)
    pids = listed()
    try:
        os.kill(dice.choice(pids), signal.SIGKILL)
    except ProcessLookupError:
        return False
    # The other ranks end within seconds. Open MPI 4.1's launcher itself may hang then, rarely, in a lock of its own.
    begun = time.monotonic()
    while any(is_running(pid) for pid in pids) and process.poll() is None:
        assert time.monotonic() - begun < 60, "a rank was killed, and others are still there"
        time.sleep(0.01)
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
    return True


def main(times, most):
    seed = int(os.environ.get("STET_TEST_SEED", time.time_ns() % 2**32))
    print(f"STET_TEST_SEED={seed}", flush=True)
    dice, kills, runs = random.Random(seed), 0, 0
    whole = run(*[str(word) for word in WORDS[1:-1]])
    while kills < times:
        with folder() as cwd:
            for _ in range(1000):
                nrank = dice.randint(2, most) if most > 1 else 1
                process, listed = begin(cwd, nrank)
                if dice.random() < 0.8 and kill_one(process, listed, dice, 0.3 if nrank == 1 else 1.2):
                    kills += 1
                    process.communicate()
                    continue
                out, said = process.communicate(timeout=300)
                if process.returncode == 0:
                    break
                assert "nothing is left to do" in said, f"exit code {process.returncode}: {said}"
                break
            runs += 1
            # The last state of all, whichever run wrote it.
            last = subprocess.run(
                [COMMAND, *map(str, WORDS[:-3]), "--frames", "1", "--resume", "state", "--json"], cwd=cwd,
                capture_output=True, text=True, timeout=300,
            )  # fmt: skip
            assert last.returncode == 0, last.stderr
            more = run(*[str(word) for word in WORDS[1:-3]], "--until", FRAMES + 1)
            assert f'"state_hash": "{more["state_hash"]}"' in last.stdout, f"seed {seed}: {last.stdout}"
            if process.returncode == 0:
                assert f'"state_hash": "{whole["state_hash"]}"' in out, f"seed {seed}: {out}"
    print(f"{kills} kills in {runs} runs: the same bits")


ranks = int(sys.argv[2]) if len(sys.argv) > 2 else 1
if ranks > 1:
    skip_without_mpi()
main(int(sys.argv[1]) if len(sys.argv) > 1 else 3, ranks)
