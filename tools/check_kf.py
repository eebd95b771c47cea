#!/usr/bin/env python3
"""Checks that each of the known failures has a test (a function whose name has kfNN_what in it, in test/).

UNTESTED has those that have none yet. It only gets shorter: a number that got a test must leave it.
"""

import re
import sys

import source

KNOWN = range(1, 60)
UNTESTED = set()


def main():
    tested = {}
    for path in source.files("test", suffixes=(".c", ".py", ".sh")):
        for found in re.finditer(r"(?:\b|_)kf(\d\d)_\w+", source.uncommented(source.read(path))):
            tested.setdefault(int(found.group(1)), found.group())
    wrong = [f"{tested[n]} names number {n}, which does not exist" for n in sorted(set(tested) - set(KNOWN))]
    wrong += [f"number {n} has no test" for n in KNOWN if n not in tested and n not in UNTESTED]
    wrong += [f"number {n} has a test ({tested[n]}): take it out of UNTESTED" for n in sorted(UNTESTED) if n in tested]
    for line in wrong:
        print(f"known failures: {line} (tools/check_kf.py)")
    print(f"known failures: {len(tested)} of {len(KNOWN)} have a test; none yet for: "
          f"{' '.join(map(str, sorted(UNTESTED))) or '-'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
