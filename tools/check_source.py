#!/usr/bin/env python3
"""Checks of the source that no compiler makes: what the library may not call, how long a file and a line may be.

The library neither prints, exits, aborts nor reads the environment. One file of src/base/ may read it; the command
(src/cli/) may print. Whatever may warn or fail in MuJoCo is called under a guard. Kernels of the physics read what may
be a world's own through par(). Exit code 1 names every line that breaks this.
"""

import re
import sys

import source

LINES = 1000  # a file has one subject
COLUMNS = 120

PRINTS = r"(?:v?printf|puts|putchar|perror)\s*\(|\b(?:stdout|stderr)\b"
ENDS = r"(?:exit|_exit|_Exit|quick_exit|abort|raise)\s*\("
ENVIRONMENT = r"(?:getenv|secure_getenv|setenv|unsetenv|putenv)\s*\(|\benviron\b"


# Functions of MuJoCo that neither warn nor fail; those of the state fail for a signature that MuJoCo does not have, and
# ours is its own.
HARMLESS = set(
    """mj_getPluginConfig mj_getState mj_id2name mj_name2id mj_normalizeQuat mj_setState mj_sizeModel mj_stateSize
    mj_version mj_versionString mju_cos mju_cross mju_normalize3 mju_normalize4 mju_quat2Mat mju_scl3
    mju_setLogHandler mju_sin mjp_getPluginAtSlot mjv_defaultFreeCamera""".split()
)
MUJOCO = r"\bmj[a-z]?_\w+(?=\s*\()"
GUARDS = r"\bsti_mujoco_(?:guard|finish)\s*\(\s*(\w+)"


def functions(text):
    """(name, is it static, where its body begins, where it ends) of each function of C that is laid out as ours are."""
    head = r"^(?!typedef|struct|enum|union)(\w[^;{}#=]*?)\b(\w+)\([^;{}]*\)\s*\{"
    for found in re.finditer(head, text, re.MULTILINE):
        one_line = text.find("\n", found.end())
        end = one_line if text[found.end() : one_line].rstrip().endswith("}") else text.find("\n}", found.end())
        yield found.group(2), found.group(1).startswith("static"), found.end(), end


def check_guards(paths):
    """A call of MuJoCo stands in a function that is given to a guard, or static and called by such functions only."""
    wrong = []
    for path in paths:
        text = source.code(source.read(path))
        places = list(functions(text))
        given = set(re.findall(GUARDS, text))

        def home(at):
            return next((p for p in places if p[2] <= at < p[3]), None)

        def uses(name):
            """Homes of all mentions of a function outside its own body, but where it is given to a guard or defined."""
            pattern = r"(?<!sti_mujoco_guard\()(?<!sti_mujoco_finish\()\b" + name + r"\b"
            found = [home(m.start()) for m in re.finditer(pattern, text)]
            return [p[0] for p in found if p and p[0] != name]

        def guarded(place, above=()):
            if not place or not place[1] or place[0] in above:
                return False
            users = uses(place[0])
            by_name = {p[0]: p for p in places}
            return bool(users or place[0] in given) and all(guarded(by_name[u], (*above, place[0])) for u in users)

        for found in re.finditer(MUJOCO, text):
            if found.group() not in HARMLESS and not guarded(home(found.start())):
                line = text.count("\n", 0, found.start()) + 1
                advice = "call it in a function given to sti_mujoco_guard"
                wrong.append(f"{path}:{line}: calls {found.group()} unguarded; {advice}")
    return wrong


def calls(path, pattern):
    text = source.code(source.read(path))
    for found in re.finditer(r"(?<![\w.>])(?:" + pattern + ")", text):
        line = text.count("\n", 0, found.start()) + 1
        yield line, found.group().rstrip("( \t")


def check_calls(paths):
    wrong = []
    readers = set()
    for path in paths:
        layer = path.split("/")[1]
        forbidden = ENDS if layer == "cli" else PRINTS + "|" + ENDS
        for line, name in calls(path, forbidden):
            if path == "src/kernel/compile/beside.c" and name == "_exit":  # while compilers still work (BESIDE-2)
                continue
            wrong.append(f"{path}:{line}: uses {name}; return a stet_result with a message instead")
        for line, name in calls(path, ENVIRONMENT):
            readers.add(path)
            if layer != "base":
                wrong.append(f"{path}:{line}: uses {name}; the environment is read in src/base/ only")
    in_base = sorted(p for p in readers if p.startswith("src/base/"))
    if len(in_base) > 1:
        wrong.append(f"{' and '.join(in_base)}: one file may read the environment, not {len(in_base)}")
    return wrong


def check_length(paths):
    counted = ((path, source.read(path).count("\n")) for path in paths)
    return [f"{path}: {n} lines; split it along its subjects below {LINES}" for path, n in counted if n >= LINES]


def check_enumerators(paths):
    """An enumerator of a public header is STET_<TYPE>_<NAME>, in upper case (include/stet/stet.h, "Conventions")."""
    wrong = []
    for path in paths:
        text = source.uncommented(source.read(path))
        for body, kind in re.findall(r"typedef enum stet_\w+ \{(.*?)\} stet_(\w+);", text, re.DOTALL):
            prefix = "STET_" + re.sub("_(kind|type|level)$", "", kind).upper() + "_"
            for name in re.findall(
                r"\bST[A-Z]+_\w*(?=\s*(?:[,=}]|##|$))",
                re.sub(r"(?m)^#(?!define).*|^#define \w+(?:\([^)]*\))?", "", body),
            ):
                good = name.startswith(prefix) or (kind == "result" and re.match("STET_(OK$|ERROR_)", name))
                if not good or name != name.upper():
                    wrong.append(f"{path}: enumerator {name} of stet_{kind} is not {prefix}<NAME>")
    return wrong


def check_raw_reads(paths):
    """OWN-4 of src/physics/parameters.h: a parameter may be a world's own, and par() alone knows where it is."""
    listed = re.search(r"read_raw\[\] = \{([^}]*)\}", source.read("src/physics/parameters.c"))
    allowed = r"(?:\s*\+\s*|\[)PH_NUMBER\(w, (?:" + "|".join(re.findall(r"\w+", listed[1])) + r")\)"
    wrong = []
    for path in paths:
        text = source.code(source.read(path))
        par = [(p[2], p[3]) for p in functions(text) if p[0] == "par"]
        for found in re.finditer(r"(?:\bw|\(w\))\.(reals|own)\b", text):
            raw = found[1] == "own" or not re.match(allowed, text[found.end() :])
            if raw and not any(begin <= found.start() < end for begin, end in par):
                line = text.count("\n", 0, found.start()) + 1
                wrong.append(f"{path}:{line}: {found[0]} is read raw, and may be a world's own: use par()")
    return wrong


def check_columns(paths):
    """Lines end by COLUMNS, but for rows of tables (Markdown's, and .inl files) and lines with a link."""
    wrong = []
    for path in paths:
        text = source.read(path)
        if text.startswith("<!-- Written by"):
            continue
        for number, line in enumerate(text.split("\n"), 1):
            free = path.endswith(".md") and (line.startswith("|") or "](" in line or "://" in line)
            if len(line) > COLUMNS and not free:
                wrong.append(f"{path}:{number}: {len(line)} columns; end the line by {COLUMNS}")
    return wrong


def main():
    sources = source.files("src")
    every = source.files("bench", "examples", "src", "include", "test", "tools")
    texts = source.tracked(".c", ".h", ".cpp", ".py", ".cmake", ".sh", ".md", "CMakeLists.txt", "Makefile")
    wrong = check_calls(sources) + check_guards(sources) + check_length(every) + check_columns(texts)
    wrong += check_enumerators(source.files("include/stet"))
    wrong += check_raw_reads(source.files("src/physics", suffixes=(".k.h",)))
    print("\n".join(wrong) if wrong else f"source: {len(every)} files, no forbidden call, none too long")
    return 1 if wrong or not every else 0


if __name__ == "__main__":
    sys.exit(main())
