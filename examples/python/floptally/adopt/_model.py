# SPDX-License-Identifier: Apache-2.0
"""A model described by a trainer's arguments, as a cost: floptally's own JSON, and weights that it has no key for."""

from __future__ import annotations

import json
from typing import Any

from .. import Cost, Mask, cost

Part = dict[str, Any]


def linear(component: str, in_features: int, out_features: int) -> Part:
    """Returns a linear layer in floptally's config format: one matrix product for every token."""
    return {
        "type": "linear", "component": component, "in_features": in_features, "out_features": out_features,
        "rows": "tokens", "split": "columns",
    }  # fmt: skip


class Model:
    """Builds floptally's config of a model layer by layer, first to last. Equal consecutive layers become one layer
    with a repeat count."""

    def __init__(self, name: str, *, hidden_size: int, vocab_size: int, tied: bool = False) -> None:
        self._json: dict[str, Any] = {
            "model_type": "floptally", "name": name, "hidden_size": hidden_size, "layers": [],
        }  # fmt: skip
        if vocab_size:
            self._json.update(vocab_size=vocab_size, tie_word_embeddings=tied)
        self._weights: dict[str, tuple[int, int]] = {}
        self._products: dict[tuple[str, str], tuple[int, int]] = {}
        self._pairs: dict[tuple[str, str], int] = {}

    def layer(self, *parts: Part) -> None:
        groups = self._json["layers"]
        if not parts:  # the trainer's function does not count this layer
            return
        if groups and groups[-1]["parts"] == list(parts):
            groups[-1]["repeat"] += 1
        else:
            groups.append({"repeat": 1, "parts": list(parts)})

    def weights(self, kind: str, parameters: int, active: int | None = None) -> None:
        """Adds parameters that are in no matrix product: weights of norms ("norm", "latent_norm") or biases ("bias").
        active: how many of the parameters one token uses; None: all."""
        stored, passed = self._weights.get(kind, (0, 0))
        self._weights[kind] = stored + parameters, passed + (parameters if active is None else active)

    def products(self, component: str, flops: int, parameters: int = 0) -> None:
        """Adds forward FLOPs for each token, as a trainer's formula counts them. `parameters` is the number of weights
        of the matrix. 0 means a recurrent state without weights."""
        key = component, "linear" if parameters else "state"
        known, stored = self._products.get(key, (0, 0))
        self._products[key] = known + flops, stored + parameters

    def pairs(self, component: str, flops: int, mask: str = "causal") -> None:
        """Adds forward FLOPs for each attended (query, key) pair. mask: the name of a mask without parameters: "causal"
        or "bidirectional"."""
        self._pairs[component, mask] = self._pairs.get((component, mask), 0) + flops

    def cost(self) -> Cost:
        return _cost(json.dumps(self._json), _items(self._weights), _items(self._products), _items(self._pairs))


Items = tuple[tuple[Any, Any], ...]
_costs: dict[tuple[str, Items, Items, Items], Cost] = {}


def _items(found: dict[Any, Any]) -> Items:
    return tuple(sorted(found.items()))


def _cost(description: str, weights: Items, products: Items, pairs: Items) -> Cost:
    """Returns the cost of a model. Equal arguments give the same object, so that a trainer's step does not read its
    model again.

    description: the model as JSON text.
    weights, products, pairs: what `Model` adds to that description.
    """
    key = description, weights, products, pairs
    found = _costs.get(key)
    if found is not None:
        return found
    model = cost(json.loads(description))
    rows: list[tuple[Any, ...]] = [
        (component, "tokens", kind, flops, stored) for (component, kind), (flops, stored) in products
    ]
    rows += [(component, getattr(Mask, mask)(), "scores", flops) for (component, mask), flops in pairs]
    rows += [
        ("bias" if kind == "bias" else "norm", "tokens", kind, 2 * passed, stored)
        for kind, (stored, passed) in weights
        if stored
    ]
    if rows:
        model = model + Cost.from_entries(rows)
    if len(_costs) >= 64:
        _costs.clear()
    _costs[key] = model
    return model
