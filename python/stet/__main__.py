"""`python -m stet` is the command `stet`."""

from ._command import main

main()
