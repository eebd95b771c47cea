#!/usr/bin/env python3
"""Lists which of the known failures have a test (a function named kfNN_what in test/) and which have none yet.

For information: the exit code is 0 either way.
"""

import re
import sys

import source

KNOWN = range(1, 45)


def main():
    tested = {}
    for path in source.files("test", suffixes=(".c", ".py", ".sh")):
        for found in re.finditer(r"\bkf(\d\d)_\w+", source.uncommented(source.read(path))):
            tested.setdefault(int(found.group(1)), found.group())
    missing = [str(n) for n in KNOWN if n not in tested]
    print(
        f"known failures: {len(KNOWN) - len(missing)} of {len(KNOWN)} have a test; "
        f"none yet for: {' '.join(missing) or '-'}"
    )
    for n in sorted(set(tested) - set(KNOWN)):
        print(f"known failures: {tested[n]} names number {n}, which does not exist")
    return 0


if __name__ == "__main__":
    sys.exit(main())
