"""The command `stet` as the package brings it: becomes the C program beside this file, but for commands that
are written in Python (view, replay, data, train, play, run --view).
"""

import os
import sys
from pathlib import Path

_HERE = Path(__file__).absolute().parent


def main() -> None:
    program = _HERE / "bin" / "stet"
    arguments = sys.argv[1:]
    if arguments[:1] in (["view"], ["replay"]):
        from .view.command import main as view_main

        view_main(arguments)
        return
    if arguments[:1] == ["run"] and "--view" in arguments:
        from .view.command import run_main

        run_main(program, arguments[1:])
        return
    if arguments[:1] in (["train"], ["play"]):
        from .train.command import main as train_main

        train_main(arguments)
        return
    if arguments[:1] == ["data"]:
        from .data.command import main as data_main

        data_main(arguments[1:])
        return
    if (
        arguments[:1] == ["bench"]
        and not any(word.split("=")[0] == "--scenes" for word in arguments)
        and not os.path.isdir("scenes")
    ):
        arguments += ["--scenes", str(_HERE / "scenes")]
    try:
        os.execv(program, ["stet", *arguments])
    except OSError as error:
        sys.exit(f"stet: {program}: {error.strerror}; install the package again")


if __name__ == "__main__":
    main()
