# SPDX-License-Identifier: Apache-2.0
"""A real training run: every step of the meter against PyTorch's FlopCounterMode."""

from __future__ import annotations

import importlib.util
import pathlib

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("transformers", reason="transformers is not installed")

import floptally

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "train_llama.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("train_llama", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["train_llama"] = module
    spec.loader.exec_module(module)
    return module


def metered(example, cost):
    return floptally.Meter(cost, gpus=1, peak_tflops=0.1, convention=example.CONVENTION)


def test_every_step_of_a_packed_training_run_counts_the_flops_that_pytorch_counts(example):
    model = example.build_model()
    meter = metered(example, floptally.cost(model.config))
    steps = list(example.train(meter, model, steps=8))  # the text is docs/, and how fast it is learned changes with it
    assert [step.counted for step in steps] == [step.ran for step in steps]
    assert [step.slots for step in steps] == [step.ran for step in steps]
    assert len({step.ran for step in steps}) >= len(steps) - 1, "batches differ"  # two may be alike: the text is docs/
    assert meter.run.useful == sum(step.ran for step in steps)
    assert meter.run.steps == len(steps)
    assert steps[-1].loss < steps[0].loss - 1
    # Documents differ in length, so that no product of the batch's tokens gives these numbers.
    assert meter.run.tally.get("squares") * meter.run.tally.get("count") != meter.run.tokens**2


def test_training_steps_with_padded_rows_run_the_flops_that_floptally_counts_as_padded(example):
    model = example.build_model()
    meter = metered(example, floptally.cost(model.config))
    steps = list(example.train(meter, model, steps=3, rows=True))
    assert [step.slots for step in steps] == [step.ran for step in steps]
    # The text is docs/: now and then a microbatch is one page, which has no padding.
    assert all(step.counted <= step.ran for step in steps) and any(step.counted < step.ran for step in steps)


def test_a_meter_whose_cost_is_counted_from_fake_tensors_counts_the_flops_that_run(example):
    model = example.build_model()
    cost = floptally.from_torch(model, lambda b, n: {"input_ids": torch.zeros(b, n, dtype=torch.long)})
    meter = metered(example, cost)
    for step in example.train(meter, model, steps=2):
        assert step.counted == step.ran
    exact = [one.flops(cu_seqlens=[0, 70, 75, 200]).total for one in (cost, floptally.cost(model.config))]
    assert exact[0] == exact[1]


def test_a_microbatch_that_was_not_added_to_the_meter_is_detected(example):
    model = example.build_model()
    meter = metered(example, floptally.cost(model.config))
    add = example.packed

    def forgetful(model, pages, meter):
        return add(model, pages, Half(meter))

    class Half:
        def __init__(self, meter):
            self.meter = meter

        def add(self, cu_seqlens):
            self.meter.add(cu_seqlens=cu_seqlens[:-1])

    example.packed = forgetful
    try:
        steps = list(example.train(meter, model, steps=1))
    finally:
        example.packed = add
    assert steps[0].counted < steps[0].ran
