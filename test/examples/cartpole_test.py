"""The cart-pole example: what it prints, and that a policy shows in it."""

import os
import re
import subprocess
import tempfile

PROGRAM = os.path.join(os.environ["STET_TEST_BINARY_DIR"], "examples", "cartpole")
CACHE = tempfile.TemporaryDirectory()  # kernels are compiled once
LINE = re.compile(r"step +(\d+): +(\d+) episodes ended(?:, of +([\d.]+) steps and +([\d.-]+) reward)?")


def play(*words, **environment):
    """The lines of a run: step, episodes that ended, mean steps, mean reward (None: none ended)."""
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "XDG_CACHE_HOME": CACHE.name, **environment})
    assert done.returncode == 0 and done.stderr == "", done.stderr
    lines = [LINE.fullmatch(line) for line in done.stdout.splitlines()]
    assert all(lines), done.stdout
    return [(int(m[1]), int(m[2]), m[3] and float(m[3]), m[4] and float(m[4])) for m in lines]


def test_feedback_keeps_the_poles_up():
    lines = play("feedback", "48", "1000")
    assert [line[0] for line in lines] == list(range(100, 1001, 100))
    for step, ended, steps, reward in lines:
        assert ended == (48 if step % 500 == 0 else 0), "every episode lasts its 500 steps"
        if ended:
            assert steps == 500 and 490 < reward <= 500


def test_noise_lets_them_fall():
    lines = play("random", "48", "300")
    for _, ended, steps, reward in lines:
        assert ended > 48 and 15 < steps < 60 and reward < steps
    assert len({line[2] for line in lines}) > 1


def test_the_same_whatever_is_switched():
    plain = play("random", "21", "200")
    for disabled in "graph_replay,args,readback", "pose_sync,kernel_cache":
        assert play("random", "21", "200", STET_DISABLE=disabled) == plain


def test_bad_input_is_one_sentence():
    done = subprocess.run([PROGRAM, "feedback", "0"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and "0 worlds; ask for at least 1" in done.stderr


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
