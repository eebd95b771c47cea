#!/usr/bin/env python3
"""Writes the figures of README.md and of other pages from the result files in bench/results/.

A page has blocks that begin with `<!-- figures: NAME -->` and end with `<!-- end of figures -->`; between them stands
what this script makes of bench/figures/NAME.md. In that template, {{EXPRESSION|FORMAT}} becomes a figure: the
expression is Python over

    value(FILE, ROW)      the median of a row of bench/results/FILE.json
    low(FILE, PATTERN, WITHOUT="")   the least value of the rows whose names match the first shell pattern and not the
                                     second
    high(FILE, PATTERN, WITHOUT="")  the greatest
    at_low(FILE, PATTERN, OTHER, WITHOUT="")  where `*` of the pattern is what it is in the least row: the value of the
        row OTHER
    goal(FILE, ROW)       the row's goal
    missed(FILE …)        a table of the rows of these files that miss their goals, with reasons

and FORMAT is a format of Python's (".2f"; "s" for text). Below a block that quotes result files stands which they are,
and of which commit.

With --check nothing is written; exit code 1 names each page that is not what would be written, each result file that
lacks its origin or was measured on a checkout with changes, and each figure of README.md that stands outside of such a
block.
"""

import fnmatch
import json
import os
import re
import sys
import textwrap

import source

PAGES = ["README.md", "bench/README.md"]
BLOCK = re.compile(r"(<!-- figures: ([a-z0-9_-]+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)
PLACE = re.compile(r"\{\{(.+?)\|([^{}|]*)\}\}", re.DOTALL)
FIGURE = re.compile(r"(?<![\w.-])\d[\d,.]*\s*(?:µs|us|ns|ms|s|%|GB/s|MiB|times|steps/s|frames/s)(?![\w/-])")
ORIGIN = ["machine", "commit", "command"]


class Results:
    """The result files, and which of them were quoted."""

    def __init__(self):
        self.files = {}
        self.quoted = []

    def file(self, name):
        if name not in self.files:
            path = f"bench/results/{name}.json"
            if not os.path.exists(os.path.join(source.ROOT, path)):
                raise SystemExit(f"figures: there is no {path}")
            self.files[name] = json.loads(source.read(path))
        if name not in self.quoted:
            self.quoted.append(name)
        return self.files[name]

    def row(self, name, row):
        for found in self.file(name)["results"]:
            if found["name"] == row:
                return found
        raise SystemExit(f"figures: bench/results/{name}.json has no row {row}")

    def value(self, name, row):
        return self.row(name, row)["value"]

    def goal(self, name, row):
        return self.row(name, row)["goal"]

    def matching(self, name, pattern, without):
        """[(value, row), …]"""
        found = [(r["value"], r["name"]) for r in self.file(name)["results"]
                 if fnmatch.fnmatchcase(r["name"], pattern) and not fnmatch.fnmatchcase(r["name"], without)]
        if not found:
            raise SystemExit(f"figures: bench/results/{name}.json has no row like {pattern}")
        return found

    def low(self, name, pattern, without=""):
        return min(self.matching(name, pattern, without))[0]

    def high(self, name, pattern, without=""):
        return max(self.matching(name, pattern, without))[0]

    def at_low(self, name, pattern, other, without=""):
        before, after = pattern.split("*")
        row = min(self.matching(name, pattern, without))[1]
        return self.value(name, other.replace("*", row[len(before):len(row) - len(after)]))

    def missed(self, *names):
        """A table of the rows that miss their goals, a row each; bench/figures/reasons.txt says why."""
        out = ["| row | reached | goal | result file | why |", "|---|---|---|---|---|"]
        for name in names:
            for r in self.file(name)["results"]:
                higher = r.get("better") == "higher" or r["unit"] == "times as fast"
                if r["goal"] is None or (r["value"] >= r["goal"] if higher else r["value"] <= r["goal"]):
                    continue
                out.append(f"| `{r['name']}` | {r['value']:.3g} {r['unit']} | {r['goal']:g} | `{name}` | "
                           f"{reason(r['name'])} |")
        return "\n".join(out)


def reason(row):
    """The first line `PATTERN: REASON` whose shell pattern the row matches."""
    for line in source.read("bench/figures/reasons.txt").splitlines():
        pattern, _, text = line.partition(": ")
        if not line.startswith("#") and fnmatch.fnmatchcase(row, pattern):
            return text
    raise SystemExit(f"figures: bench/figures/reasons.txt has no reason why {row} misses its goal")


def origin(results, name):
    return f"`{name}.json` (commit {results.file(name)['commit'][:12]})"


def wrapped(paragraphs):
    """The text with its long lines broken, but for tables."""
    lines = paragraphs.split("\n")
    return "\n".join(
        line if line.startswith("|") else textwrap.fill(line, 120, break_long_words=False, break_on_hyphens=False)
        for line in lines
    )


def block(results, name):
    path = f"bench/figures/{name}.md"
    if not os.path.exists(os.path.join(source.ROOT, path)):
        raise SystemExit(f"figures: there is no template {path}")
    results.quoted = []
    scope = {k: getattr(results, k) for k in ("value", "goal", "low", "high", "at_low", "missed")}

    def figure(match):
        try:
            return format(eval(match[1], {"__builtins__": {"min": min, "max": max, "round": round}}, scope), match[2])
        except (SyntaxError, TypeError, ValueError, NameError, ZeroDivisionError) as error:
            raise SystemExit(f"figures: {path}: {match[0]}: {error}") from None

    paragraphs = [PLACE.sub(figure, source.read(path)).strip()]
    if results.quoted:
        origins = ", ".join(origin(results, file) for file in results.quoted)
        paragraphs.append(f"<sub>From `bench/results/`, whose files name machine and command: {origins}.</sub>")
    return "\n\n".join(map(wrapped, paragraphs)) + "\n"


def page(results, path):
    return BLOCK.sub(lambda m: m[1] + "\n" + block(results, m[2]) + "\n" + m[3], source.read(path))


def check_results():
    for name in sorted(n for n in os.listdir(os.path.join(source.ROOT, "bench/results")) if n.endswith(".json")):
        file = json.loads(source.read(f"bench/results/{name}"))
        lacking = [key for key in ORIGIN if not file.get(key)]
        if lacking:
            yield f"bench/results/{name}: says nothing of its {', '.join(lacking)}"
        elif file["commit"].endswith("-dirty"):
            yield f"bench/results/{name}: was measured on a checkout with changes"
        for row in file["results"]:
            if not row.get("samples"):
                yield f"bench/results/{name}: row {row['name']} has no samples"


def check_outside(path):
    """Figures outside of blocks, in prose or tables; what stands in code is an example, not a figure."""
    text = BLOCK.sub(lambda m: re.sub(r"[^\n]", "", m[0]), source.read(path))
    text = re.sub(r"```.*?```", lambda m: re.sub(r"[^\n]", "", m[0]), text, flags=re.DOTALL)
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("    "):
            continue
        for found in FIGURE.finditer(re.sub(r"`[^`]*`", "", line)):
            yield f"{path}:{number}: the figure '{found[0]}' stands outside of a block of figures"


def main():
    results = Results()
    made = {path: page(results, path) for path in PAGES}
    if sys.argv[1:] != ["--check"]:
        for path, text in made.items():
            with open(os.path.join(source.ROOT, path), "w", encoding="utf-8") as f:
                f.write(text)
        return 0
    wrong = [
        f"{path}: its figures are not those of bench/results/; run tools/figures.py"
        for path in made
        if made[path] != source.read(path)
    ]
    wrong += list(check_results()) + list(check_outside("README.md"))
    print(
        "\n".join(wrong)
        if wrong
        else f"figures: {sum(len(BLOCK.findall(t)) for t in made.values())} blocks agree with bench/results/"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
