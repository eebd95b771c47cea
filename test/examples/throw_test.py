"""The example that throws balls through rings: that every ring is hit, and that it does so by descending."""

import os
import re
import subprocess
import tempfile

PROGRAM = os.path.join(os.environ["STET_TEST_BINARY_DIR"], "examples", "throw")
CACHE = tempfile.TemporaryDirectory()  # kernels are compiled once
LINE = re.compile(r"iteration +(\d+): (\d+) of (\d+) balls go through their rings; (\d+) of (\d+) rings")


def run(*words, **environment):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "XDG_CACHE_HOME": CACHE.name, "OMP_WAIT_POLICY": "passive", **environment})


def numbers(done):
    return [list(map(int, LINE.fullmatch(line).groups())) for line in done.stdout.splitlines()]


def test_every_ring_is_hit():
    for seed in 1, 2, 3:
        done = run("cpu", 64, 100, seed)
        assert done.returncode == 0 and done.stderr == "", done.stdout + done.stderr
        lines = numbers(done)
        assert [line[0] for line in lines] == [0, 25, 50, 75, 100]
        assert lines[0][1] < 10, "before, hardly any ball goes through"
        assert lines[-1][1] > 200 and lines[-1][2:] == [256, 64, 64]


def test_too_few_iterations_are_told():
    done = run("cpu", 8, 2)
    assert done.returncode == 1 and done.stderr == "" and numbers(done)[-1][3] < 8


def test_the_same_whatever_is_switched():
    plain = run("cpu", 5, 20).stdout
    assert plain
    for disabled in "graph_replay,args", "adstack,adstack_handle,kernel_cache":
        assert run("cpu", 5, 20, STET_DISABLE=disabled).stdout == plain, disabled


def test_gradients_of_its_kernels():
    """Against differences, above the floor and in it."""
    for low in "0.1", "-0.5":
        done = subprocess.run([os.environ["STET_TEST_COMMAND"], "gradcheck", os.path.join(os.environ["STET_TEST_SOURCE_DIR"], "examples", "throw.k.h"),
                               "--range", f"pos={low},0.5"], capture_output=True, text=True, timeout=300,
                              env={**os.environ, "XDG_CACHE_HOME": CACHE.name})
        assert done.returncode == 0 and " gradients compared, 0 wrong" in done.stdout, done.stdout + done.stderr


def test_bad_input_is_one_sentence():
    done = run("cpu", 0)
    assert done.returncode == 1 and done.stdout == "" and done.stderr == "throw: 0 of them; ask for at least 1\n"


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
