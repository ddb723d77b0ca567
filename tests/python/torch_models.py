# SPDX-License-Identifier: Apache-2.0
"""The models of torch_models.json: built small with random weights, and counted by FlopCounterMode alone.

`python tests/python/torch_models.py [NAME...]` counts them anew with what is installed and rewrites their counts. Each
has expressions for the model and its inputs; `at` are sizes that a fit by floptally.from_torch does not see.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import json
import pathlib
import sys
from typing import Any

LIST = pathlib.Path(__file__).with_name("torch_models.json")


def listed() -> list[dict[str, Any]]:
    return json.loads(LIST.read_text())


def scope(one: dict[str, Any]) -> dict[str, Any]:
    """What the expressions of a model name; ImportError where it is not installed."""
    return {name: importlib.import_module(name) for name in ("torch", *one["needs"])}


def built(one: dict[str, Any], names: dict[str, Any]) -> tuple[Any, Any, Any]:
    """The model, its inputs and its loss."""
    from floptally._from_torch import summed

    names["torch"].manual_seed(1)
    loss = eval(one["loss"], names) if "loss" in one else summed
    return eval(one["model"], names), eval(one["inputs"], names), loss


def options(one: dict[str, Any]) -> dict[str, Any]:
    return {key: one[key] for key in ("real", "lengths") if key in one}


def counted_by_pytorch(one: dict[str, Any], names: dict[str, Any], size: list[int]) -> tuple[int, int, int]:
    """Forward, backward, and what of the backward is too much, of a model of the list."""
    model, inputs, loss = built(one, names)
    return counted(model, inputs, loss, size, one.get("real", False) or one.get("numbers", False))


def counted(model: Any, inputs: Any, loss: Any, size: list[int], real: bool) -> tuple[int, int, int]:
    """Forward, backward, and what of the backward is too much, under FlopCounterMode and nothing else.

    On fake tensors, unless numbers are asked for by its forward or data decide: then `real` ones. The counter takes
    the weight gradient of each group of a convolution over the channels of all.
    """
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils.flop_counter import FlopCounterMode, conv_backward_flop

    from floptally._from_torch import prepare_transformers, split
    from floptally._torch_trace import eager_kernels, fake_copy

    excess = 0

    def watched(*args: Any, out_shape: Any = None, **kwargs: Any) -> int:
        nonlocal excess
        groups, needed = args[9], args[10]
        if needed[1]:
            weights = conv_backward_flop(*args[:10], [False, True, False], out_val=out_shape)
            excess += weights - weights // groups
        return int(conv_backward_flop(*args, out_val=out_shape))

    own = {torch.ops.aten.convolution_backward: watched}
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    model = copy.deepcopy(model) if real else fake_copy(model, mode)
    prepare_transformers(model, real)
    with contextlib.nullcontext() if real else mode, eager_kernels():
        args, kwargs = split(inputs(*size))
        with FlopCounterMode(display=False) as forward:
            value = loss(model(*args, **kwargs))
        with FlopCounterMode(display=False, custom_mapping=own) as backward:
            value.backward()
    return forward.get_total_flops(), backward.get_total_flops(), excess


def main() -> None:
    chosen = sys.argv[1:]
    models = listed()
    for one in models:
        if chosen and one["name"] not in chosen:
            continue
        try:
            names = scope(one)
        except ImportError as problem:
            print(f"{one['name']}: kept as it was, {problem}")
            continue
        counts = [counted_by_pytorch(one, names, size) for size in one["at"]]
        for key, values in zip(("forward", "backward", "excess"), zip(*counts)):
            one[key] = list(values)
    LIST.write_text(json.dumps(models, indent=1) + "\n")


if __name__ == "__main__":
    main()
