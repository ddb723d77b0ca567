# SPDX-License-Identifier: Apache-2.0
"""Runs the command-line program floptally as ``python -m floptally``. docs/command_line.md describes the program."""

from __future__ import annotations

import os
import sys

from ._core import run_program


def main() -> int:
    """Runs the command-line program floptally with the arguments of this process. Returns the exit status."""
    sys.stdout.flush()
    return run_program([b"floptally", *(os.fsencode(argument) for argument in sys.argv[1:])])


if __name__ == "__main__":
    sys.exit(main())
