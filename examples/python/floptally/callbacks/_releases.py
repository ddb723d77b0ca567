# SPDX-License-Identifier: Apache-2.0
"""The oldest releases of trainers that the callbacks are tested with."""

from __future__ import annotations

import re
from types import ModuleType

from .. import Error

#: The oldest release of each package that the callbacks' tests run with.
OLDEST = {"transformers": (4, 46), "accelerate": (1, 1), "lightning": (2, 4), "trl": (0, 12)}


def require_release(package: ModuleType, name: str) -> None:
    """Raises an Error if a package is older than the oldest release that the callbacks support. A version that cannot be
    read, such as that of a checkout, is accepted."""
    version = str(getattr(package, "__version__", ""))
    found = re.match(r"(\d+)\.(\d+)", version)
    oldest = OLDEST[name]
    if found is not None and (int(found[1]), int(found[2])) < oldest:
        least = ".".join(map(str, oldest))
        raise Error(
            name,
            f"must be release {least} or a newer one for floptally's callback, got {version}: update it, or use "
            "floptally.callbacks.step in a loop of your own",
        )
