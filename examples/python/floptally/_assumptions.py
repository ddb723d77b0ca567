# SPDX-License-Identifier: Apache-2.0
"""Logs the assumptions behind a model's FLOP count, such as a default size."""

from __future__ import annotations

import logging
from collections.abc import Iterable

#: Where a `Meter` writes what its cost assumes, at level INFO.
log = logging.getLogger("floptally.meter")
_logged: set[tuple[str, str]] = set()


def log_once(model_type: str, assumptions: Iterable[str]) -> None:
    """Logs each assumption of a model's FLOP count, such as a default size. Each is logged once per process and model
    type."""
    for text in assumptions:
        if (model_type, text) not in _logged:
            _logged.add((model_type, text))
            log.info("%s: %s", model_type, text)
