"""python -m stet.mjlab train|play TASK …: mjlab's own scripts, on stet."""

import importlib
import sys

import stet.mjlab  # noqa: F401  mjlab's environments are stet's from here on


def main() -> int:
    words = sys.argv[1:]
    if not words or words[0] not in ("train", "play"):
        print("python -m stet.mjlab: say train or play, a task, and mjlab's options: python -m stet.mjlab train "
              "Mjlab-Velocity-Flat-Unitree-G1 --env.scene.num-envs 4096", file=sys.stderr)
        return 2
    script = importlib.import_module(f"mjlab.scripts.{words[0]}")
    sys.argv = [f"python -m stet.mjlab {words[0]}", *words[1:]]
    script.main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
