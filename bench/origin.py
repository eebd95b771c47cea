"""Where figures come from: what result files of the scripts here say about commit and machine."""

import json
import os
import subprocess
import sys
from pathlib import Path

os.environ.setdefault("STET_WAIT_FOR_CODE", "1")  # what is measured is the code of the model and the scene


def commit():
    """The commit that these scripts are of, as `stet bench` writes it: with -dirty where the checkout has changes."""
    said = subprocess.run(["git", "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*"],
                          cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return os.environ.get("STET_COMMIT") or said.stdout.strip() or "unknown"


def machine(device):
    """The processor's name beside the device's."""
    names = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    return f"{names[0] if names else 'unknown processor'}, {len(names)} processors; {device}"


def write(path, machine, rows, **more):
    """A result file of the script that runs: all of it or, where that fails, what was there before."""
    command = " ".join([f"bench/{Path(sys.argv[0]).name}", *sys.argv[1:]])
    result = {"machine": machine, "commit": commit(), **more, "command": command, "results": rows}
    part = Path(f"{path}.part")
    part.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    part.replace(path)
