"""Where figures come from: what result files of the scripts here say about commit and machine."""

import os
import subprocess
from pathlib import Path


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
