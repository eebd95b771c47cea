"""What the tests of the examples that descend (examples/descent.h) share: running one of them, and what holds for each.
"""

import os
import subprocess
import tempfile

BINARY, SOURCE, COMMAND = (os.environ["STET_TEST_" + name] for name in ("BINARY_DIR", "SOURCE_DIR", "COMMAND"))
CACHE = tempfile.TemporaryDirectory()  # kernels are compiled once


def process(words, **environment):
    return subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "XDG_CACHE_HOME": CACHE.name, **environment})


def run(program, *words, **environment):
    return process([os.path.join(BINARY, "examples", program), *words], **environment)


def check_switches(program, words, switches):
    """What it prints is the same whatever is switched off."""
    plain = run(program, *words).stdout
    assert plain
    for disabled in switches:
        assert run(program, *words, STET_DISABLE=disabled).stdout == plain, disabled


def check_gradients(kernels, *words):
    """Of a file of kernels, against differences."""
    done = process([COMMAND, "gradcheck", os.path.join(SOURCE, "examples", kernels), *words])
    assert done.returncode == 0 and " gradients compared, 0 wrong" in done.stdout, done.stdout + done.stderr


def check_none_is_refused(program):
    """Bad input is one sentence."""
    done = run(program, "cpu", 0)
    assert done.returncode == 1 and done.stdout == "" and done.stderr == f"{program}: 0 of them; ask for at least 1\n"


def run_tests(tests):
    for name, test in list(tests.items()):
        if name.startswith("test_"):
            test()
