# SPDX-License-Identifier: Apache-2.0
"""Refuses a second interpreter of the process, where loading the extension would wait for a lock forever."""

from __future__ import annotations

import importlib
import sys

# CPython has no public way to ask; later versions renamed the module.
for _name in ("_interpreters", "_xxsubinterpreters") if sys.implementation.name == "cpython" else ():
    try:
        _interpreters = importlib.import_module(_name)
    except ImportError:
        continue
    if _interpreters.get_current() != _interpreters.get_main():
        raise ImportError("floptally: runs in the main interpreter of a process only; import floptally there, or in a separate process")
    break
