# SPDX-License-Identifier: Apache-2.0
"""A real GRPO run of TRL on the CPU: every pass against PyTorch's FlopCounterMode at the same place."""

from __future__ import annotations

import importlib.util
import pathlib
import sys
from typing import Any

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("transformers", reason="transformers is not installed")
pytest.importorskip("datasets", reason="datasets is not installed")
trl = pytest.importorskip("trl", reason="TRL is not installed")

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "rl_step.py"
if not hasattr(trl.GRPOTrainer, "_get_per_token_logps_and_entropies"):
    pytest.skip("this version of TRL has no such pass", allow_module_level=True)


@pytest.fixture(scope="module")
def example() -> Any:
    spec = importlib.util.spec_from_file_location("rl_step", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["rl_step"] = module
    spec.loader.exec_module(module)
    return module


def test_every_pass_of_a_grpo_run_counts_the_flops_that_pytorch_counts(example: Any) -> None:
    trainer = example.train(4)
    assert len(trainer.steps) == 4
    for number, (passes, ran) in enumerate(trainer.steps):
        expected = {"rollout", "old_log_prob", "ref", "update"} if number % 2 == 0 else {"update"}
        assert set(passes) == set(ran) == expected
        for name, one in passes.items():
            assert one.executed == ran[name] > 0, name
            assert 0 < one.useful <= one.padded <= one.executed
        # The whole adds up: its FLOPs over the passes, its time line by line.
        assert passes.whole.executed == sum(ran.values())
        assert passes.whole.useful == sum(one.useful for one in passes.values())
        assert sum(one.points for one in passes.values()) == pytest.approx(passes.whole.mfu)
        assert passes.no_pass + sum(one.points + one.lost for one in passes.values()) == pytest.approx(1)
        assert 0 <= passes.no_pass < 1
        learner = [one for name, one in passes.items() if name != "rollout"]
        assert passes.learner.mfu == pytest.approx(
            sum(one.useful for one in learner) / (0.1e12 * sum(one.seconds for one in learner))
        )
    run = trainer.meter.passes("run")
    assert run.steps == 4 and run["update"].executed == sum(ran["update"] for _, ran in trainer.steps)


def test_padding_of_rl_completions_counts_no_useful_flops(example: Any) -> None:
    trainer = example.train(2)
    first = trainer.steps[0][0]
    assert first["update"].useful < first["update"].padded  # prompts of several lengths, or an end before the last
    assert first["ref"].useful < first["ref"].padded
