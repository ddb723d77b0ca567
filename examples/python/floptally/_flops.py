# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

from . import _core


def flops(config: Any, *, convention: Any = "exact", plan: Any = None, mla: str = "expanded", mtp: int = 0,
          padded_vocab_size: int = 0, **batch: Any) -> _core.Breakdown:
    """FLOPs of one batch of a model."""
    model = _core.cost(config, mla=mla, mtp=mtp, padded_vocab_size=padded_vocab_size)
    return model.flops(convention=convention, plan=plan, **batch)
