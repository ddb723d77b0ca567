# SPDX-License-Identifier: Apache-2.0
"""Models that people train, at once: floptally.from_torch against the counts of torch_models.json."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import floptally
import torch_models
from conftest import SOURCE

MODELS = {one["name"]: one for one in torch_models.listed()}


def batch_of(one, size):
    """A size of the list as keywords of `Cost.flops`."""
    arguments = one["inputs"].split(":")[0]
    if "rows" in arguments:
        return {"grid_thw": [[1, size[1], size[2]]] * size[0]}
    batch = {"lengths": [size[1] if len(size) > 1 else 1] * size[0]}
    if one.get("pairs"):  # of samples, which a contrastive loss compares
        batch["measured"] = {"sample_pairs": size[0] ** 2}
    return {**batch, "encoder_lengths": [size[2]] * size[0]} if "keys" in arguments else batch


def test_nine_of_ten_pytorch_models_are_counted_without_options():
    assert len(MODELS) >= 120
    counted = [one for one in MODELS.values() if "error" not in one]
    assert 10 * len(counted) >= 9 * len(MODELS)
    libraries = {(one["needs"] or ["torch"])[0].split(".")[0] for one in MODELS.values()}
    words = "no one two three four five six seven eight nine ten eleven twelve".split()
    page = " ".join((SOURCE / "docs" / "python.md").read_text().split())
    assert f"lists {len(MODELS)} models of {words[len(libraries)]} libraries, with the count of" in page
    assert f"; {words[len(MODELS) - len(counted)]} of them must be errors." in page
    # What is not fake tensors and defaults is an exception too.
    assert sum(1 for one in counted if "lengths" not in one) >= 0.9 * len(MODELS)


@pytest.mark.one_in(6)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODELS)
def test_flops_of_every_counted_pytorch_model_equal_those_of_flop_counter_mode(name):
    one = MODELS[name]
    try:
        names = torch_models.scope(one)
    except ImportError as problem:
        pytest.skip(f"not installed: {problem}")
    model, inputs, loss = torch_models.built(one, names)
    if "error" in one:
        with pytest.raises(floptally.Error) as raised:
            floptally.from_torch(model, inputs, loss=loss, **torch_models.options(one))
        assert one["error"] in str(raised.value)
        return
    cost = floptally.from_torch(model, inputs, loss=loss, **torch_models.options(one))
    assert cost.parameters == sum(parameter.numel() for parameter in model.parameters())
    convention = "torch_flop_counter" if "torch_flop_counter gives" in cost.notes[0] else "torch_flop_counter_eager"
    for index, size in enumerate(one["at"]):
        work = cost.flops(convention=convention, **batch_of(one, size))
        assert work.useful.forward == one["forward"][index]
        assert work.useful.backward + work.executed.recompute == one["backward"][index] - one["excess"][index]
