"""A MuJoCo that the library was not built for is named in one sentence, before anything else is done with it."""

import os
import subprocess
import sys

SCENE = os.path.join(os.environ["STET_TEST_SOURCE_DIR"], "scenes", "cartpole.xml")


def run(other, *words):
    env = dict(os.environ)
    if other:
        env["LD_PRELOAD"] = os.environ["STET_TEST_OTHER_MUJOCO"]
    command = [os.environ["STET_TEST_COMMAND"], *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def main():
    for words in (["info"], ["info", SCENE], ["run", SCENE, "--worlds", "1", "--frames", "1"], ["cache"]):
        ours, other = run(False, *words), run(True, *words)
        assert ours.returncode != 2 or words == ["cache"], (words, ours.stderr)
        assert other.returncode == 2 and other.stdout == "", (words, other)
        assert other.stderr.count("\n") == 1, other.stderr
        assert "was built for MuJoCo" in other.stderr and "finds 9.9.9" in other.stderr, other.stderr
        assert "finds" not in ours.stderr, ours.stderr
    print("another release of MuJoCo is refused by every command")
    return 0


if __name__ == "__main__":
    sys.exit(main())
