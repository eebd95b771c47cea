"""stet.mjlab without mjlab. With it: doc/python.md says what was compared."""

import subprocess
import sys

# Whether mjlab is installed or not, it is not found.
WITHOUT = """import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "mjlab" else find(name, *rest)
import stet
try:
    import stet.mjlab
except stet.UnsupportedError as error:
    print(error)
"""


def test_it_says_what_it_needs():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("stet.mjlab needs mjlab") and "pip install mjlab" in done.stdout
