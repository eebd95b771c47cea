#!/usr/bin/env python3
"""Writes build/mechanisms.md: the table of mechanisms, and of each its section (doc/mechanisms/<name>.md) and its
reasons, on one page.

With --check nothing is written. In both cases the sections are checked: each row of the table has one, with all its
headings, and each invariant that it names is in the file that it names.
"""

import os
import re
import sys

import source

TABLE = "include/stet/mechanisms.inl"
SECTIONS = "doc/mechanisms"
PAGE = "build/mechanisms.md"
HEADINGS = ["The problem", "The idea", "Invariants", "What invalidates it", "How to see it"]

HEAD = """\
# The mechanisms

Each applies one idea: a result is reused until its inputs change. All have a switch (`--disable`, `STET_DISABLE`,
`stet_device_set_mechanisms`), counters, reasons, a strict mode in which a fallback is an error, and an audit in which
the work is done anyway and the results are compared. A mechanism that is switched off changes no bit of any result.
`doc/architecture.md` says how they fit together.

"""


def rows():
    """[(name, sentence, [(reason, sentence), …]), …] in the order of the table."""
    text = source.uncommented(source.read(TABLE))
    string = r'"((?:\\.|[^"\\])*)"'
    found = []
    for match in re.finditer(
        rf'STET_MECHANISM\(\w+, "(\w+)", {string}\)|STET_REASON\((\w+), \w+, "(\w+)", {string}\)', text
    ):
        name, sentence, of, reason, why = match.groups()
        if name:
            found.append((name, sentence, []))
        elif not found or found[-1][0].upper() != of:
            raise SystemExit(f"{TABLE}: reason {reason} of {of} does not follow its mechanism")
        else:
            found[-1][2].append((reason, why))
    if not found:
        raise SystemExit(f"{TABLE}: no row is understood")
    return found


def check_section(name, text):
    """Complaints about a section."""
    path = f"{SECTIONS}/{name}.md"
    headings = re.findall(r"^### (.+)$", text, re.MULTILINE)
    if headings != HEADINGS:
        yield f"{path}: its headings are {headings}, not {HEADINGS}"
    part = text.partition("### Invariants")[2].partition("\n### ")[0]
    cited = re.findall(r"^- \*\*([\w-]+)\*\* \(`([^`]+)`\) ", part, re.MULTILINE)
    if not cited:
        yield f"{path}: it names no invariant as '- **X1** (`file`) …'"
    for label, where in cited:
        if not os.path.exists(os.path.join(source.ROOT, where)):
            yield f"{path}: there is no file {where}"
        elif not re.search(rf"\b{label}  +\S", source.read(where)):
            yield f"{path}: {where} states no invariant {label}"


def section(name):
    path = f"{SECTIONS}/{name}.md"
    if not os.path.exists(os.path.join(source.ROOT, path)):
        raise SystemExit(f"{path}: is missing; each mechanism has one, with the headings {', '.join(HEADINGS)}")
    text = source.read(path)
    complaints = list(check_section(name, text))
    if complaints:
        raise SystemExit("\n".join(complaints))
    return text.strip()


def page():
    table = rows()
    names = {name for name, _, _ in table}
    for path in source.files(SECTIONS, suffixes=(".md",)):
        if os.path.splitext(os.path.basename(path))[0] not in names:
            raise SystemExit(f"{path}: there is no such mechanism in {TABLE}")
    out = [HEAD, "| mechanism | what stands |\n|---|---|\n"]
    out += [f"| [`{name}`](#{name}) | {sentence} |\n" for name, sentence, _ in table]
    for name, sentence, reasons in table:
        out.append(f"\n## {name}\n\n{sentence}\n\n{section(name)}\n\n### Reasons\n\n| reason | when |\n|---|---|\n")
        out += [f"| `{reason}` | {why} |\n" for reason, why in reasons]
    return "".join(out)


def main():
    text = page()
    if sys.argv[1:] not in ([], ["--check"]):
        print("usage: mechanisms_doc.py [--check]")
        return 2
    if not sys.argv[1:]:
        path = os.path.join(source.ROOT, PAGE)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
