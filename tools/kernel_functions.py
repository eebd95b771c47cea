#!/usr/bin/env python3
"""Writes the table of the kernel language's functions in doc/kernels.md.

It is made from src/kernel/check/library.inl and the sentences below.

With --check nothing is written; the exit code is 1 if the page is not what would be written. In both cases each
function of the language has exactly one sentence here, and each sentence a function.
"""

import os
import re
import sys

import source

TABLE = "src/kernel/check/library.inl"
PAGE = "doc/kernels.md"
BEGIN = "<!-- The table is written by tools/kernel_functions.py from src/kernel/check/library.inl. -->\n"
END = "<!-- End of the table. -->\n"

# Group: {names that share a line: what they do}.
GROUPS = {
    "From plain values to lanes": {
        "splat isplat": "the same number in each lane",
        "lane": "0, 1, 2 … W - 1: the number of the lane (on a GPU 0)",
    },
    "Comparisons: masks": {
        "lt le eq gt ge": "a < b, a <= b, a == b, a > b, a >= b; false where either is NaN",
        "ilt ieq igt": "a < b, a == b, a > b",
        "is_nan": "where x is NaN",
        "in_range": "in_range(p, n): the lanes of items p, p + 1 … that exist among n",
        "m_and m_or m_not m_andnot": "and, or, not; m_andnot(a, b) is a and not b",
        "m_none m_all": "no lane, every lane",
    },
    "From lanes to plain values": {
        "any all": "1 if the mask is true in some lane, in every lane; else 0",
    },
    "Choosing": {
        "select iselect": "select(m, a, b): a where m is true, else b",
        "rmin rmax": "a < b ? a : b, and b < a ? a : b: the second argument where one is NaN",
        "clamp": "clamp(x, low, high) is rmin(rmax(x, low), high)",
        "imin imax": "the smaller, the larger",
    },
    "Arithmetic of real": {
        "fma": "a * b + c with one rounding",
        "sqrt": "the square root, correctly rounded",
        "rabs copysign_": "the magnitude of x; the magnitude of a with the sign of b",
        "floor rint": "downwards; to the nearest whole number, halves to even",
        "canon": "x, with one pattern of bits for every NaN (put and store do this by themselves)",
    },
    "Elementary functions (our own, the same bits everywhere; errors below 2 ulp)": {
        "sin cos tan asin acos atan": "angles in radians",
        "atan2": "atan2(y, x)",
        "exp exp2 log log2 pow tanh": "as in C",
    },
    "Whole numbers in lanes, conversions, bits": {
        "to_real to_int": "to_int rounds toward zero; NaN gives 0, and what is out of range the nearest end",
        "ishl ishr": "ishl(x, n), ishr(x, n) shift by a plain n; ishr fills with zeros",
        "imulhi": "the upper 32 bits of the unsigned product",
        "as_bits from_bits": "the bits of a real as whole numbers, and back",
    },
    "Plain numbers": {
        "umin umax uabs": "of ureal, as rmin, rmax, rabs",
        "ufma usqrt": "of ureal, as fma and sqrt",
        "nmin nmax": "of int",
    },
    "Reading arrays": {
        "load iload": "load(p): W elements that lie side by side, from p on",
        "gather igather": "gather(p, i): in each lane element i of its own",
        "load4": "load4(a, i, v): items i … i + 3 of an array of the world; i and the items a world are multiples of 4",
        "wide_load": "STET_WIDE words a lane, one lane's after the other's; p is aligned to 4 * STET_WIDE bytes",
        "prefetch": "a hint that the memory at p is read soon",
    },
    "Writing arrays (statements)": {
        "put": "put(a, i, x): item i of an array of the world",
        "put4": "put4(a, i, v): items i … i + 3; i and the items a world are multiples of 4",
        "store istore": "W elements that lie side by side, from p on",
        "store_if istore_if": "the same, in the lanes where the mask is true: the others keep what is there",
        "scatter_if": "scatter_if(m, p, i, x): p[i] = x where m is true; no two lanes may name one place",
        "bstore_if": "the same, to bytes",
        "istream": "as istore, for large outputs that nobody reads soon",
        "wide_store": "the counterpart of wide_load",
    },
    "Statements of a whole team": {
        "align_teams": "a hint that the next stage of a long kernel begins: teams of a GPU's block go on from here"
        " together, so that its code is fetched once for them all; it orders no memory",
    },
    "Written by adjoints, not by people": {
        "listed_place listed_lanes sum_listed": "lists of gradients (`doc/design/adjoint.md`)",
        "add_listed add_listed_lanes add_planned": "the sums over these lists",
    },
}


def functions():
    """{name: (result, parameters)} in the order of the table."""
    text = source.read(TABLE).partition("#define STI_LIBRARY_FUNCTIONS")[2].partition("\n\n")[0]
    rows = re.findall(r"X\((\w+), (\w+), \w+, \(([^)]*)\), \"\w*\"\)", text)
    if not rows:
        raise SystemExit(f"{TABLE}: no row is understood")
    return {name: (result, parameters) for result, name, parameters in rows}


def check_sentences(known):
    """Complaints: a function without a sentence, twice, or a sentence without a function."""
    said = [name for group in GROUPS.values() for names in group for name in names.split()]
    for name in sorted(set(known) - set(said)):
        yield f"{TABLE} has `{name}`, which has no sentence in tools/kernel_functions.py"
    for name in sorted(set(said) - set(known)):
        yield f"tools/kernel_functions.py has a sentence for `{name}`, which {TABLE} has not"
    for name in sorted({name for name in said if said.count(name) > 1}):
        yield f"tools/kernel_functions.py has `{name}` twice"


def signatures(names, known):
    """`splat(ureal) → real`; functions with the same signature are named together."""
    alike = {}
    for name in names.split():
        alike.setdefault(known[name], []).append(name)
    of = lambda key: f"({key[1] if key[1] != 'void' else ''})" + (f" → {key[0]}" if key[0] != "void" else "")
    return "; ".join(f"`{', '.join(group)}` `{of(key)}`" for key, group in alike.items())


def table(known):
    lines = []
    for group, rows in GROUPS.items():
        internal = group.startswith("Written")
        lines += [f"**{group}**", "", "| function | what it does |", "|---|---|"]
        for names, sentence in rows.items():
            words = ", ".join(f"`{name}`" for name in names.split()) if internal else signatures(names, known)
            lines.append(f"| {words} | {sentence} |")
        lines.append("")
    return "\n".join(lines)


def main(arguments):
    check = arguments == ["--check"]
    if arguments and not check:
        raise SystemExit("kernel_functions.py [--check]")
    known = functions()
    wrong = list(check_sentences(known))
    if wrong:
        print("\n".join(wrong), file=sys.stderr)
        return 1
    page = source.read(PAGE)
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        raise SystemExit(f"{PAGE}: the marks around the table are not there, once each")
    before, rest = page.split(BEGIN)
    wanted = f"{before}{BEGIN}\n{table(known)}\n{END}{rest.split(END)[1]}"
    if wanted == page:
        return 0
    if check:
        print(f"{PAGE}: the table of functions is not current: run tools/kernel_functions.py", file=sys.stderr)
        return 1
    with open(os.path.join(source.ROOT, PAGE), "w", encoding="utf-8") as file:
        file.write(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
