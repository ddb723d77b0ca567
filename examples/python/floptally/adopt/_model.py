# SPDX-License-Identifier: Apache-2.0
"""A model that a trainer's arguments describe, as a cost: floptally's own JSON and the weights that it has no key for."""

from __future__ import annotations

import json
from typing import Any

from .. import Cost, cost

Part = dict[str, Any]


def linear(component: str, in_features: int, out_features: int) -> Part:
    """A product of every token that is in no other part."""
    return {
        "type": "linear", "component": component, "in_features": in_features, "out_features": out_features,
        "rows": "tokens", "split": "columns",
    }  # fmt: skip


class Model:
    """Layers first to last; equal neighbours are one group."""

    def __init__(self, name: str, *, hidden_size: int, vocab_size: int, tied: bool = False) -> None:
        self._json: dict[str, Any] = {
            "model_type": "floptally", "name": name, "hidden_size": hidden_size, "layers": [],
        }  # fmt: skip
        if vocab_size:
            self._json.update(vocab_size=vocab_size, tie_word_embeddings=tied)
        self._weights: dict[str, tuple[int, int]] = {}

    def layer(self, *parts: Part) -> None:
        groups = self._json["layers"]
        if groups and groups[-1]["parts"] == list(parts):
            groups[-1]["repeat"] += 1
        else:
            groups.append({"repeat": 1, "parts": list(parts)})

    def weights(self, kind: str, parameters: int, active: int | None = None) -> None:
        """Weights of norms ("norm", "latent_norm") or biases ("bias"): no products, but parameters, of which a token
        passes the active ones."""
        stored, passed = self._weights.get(kind, (0, 0))
        self._weights[kind] = stored + parameters, passed + (parameters if active is None else active)

    def cost(self) -> Cost:
        return _cost(json.dumps(self._json), tuple(sorted(self._weights.items())))


_costs: dict[tuple[str, tuple[tuple[str, tuple[int, int]], ...]], Cost] = {}


def _cost(description: str, weights: tuple[tuple[str, tuple[int, int]], ...]) -> Cost:
    """The same object for the same description, so that a trainer's step does not read its model anew."""
    found = _costs.get((description, weights))
    if found is not None:
        return found
    model = cost(json.loads(description))
    rows = [
        ("bias" if kind == "bias" else "norm", "tokens", kind, 2 * passed, stored)
        for kind, (stored, passed) in weights
        if stored
    ]
    if rows:
        model = model + Cost.from_rows(rows)
    if len(_costs) >= 64:
        _costs.clear()
    _costs[description, weights] = model
    return model
