# SPDX-License-Identifier: Apache-2.0
"""Steps of passes: each over its own time, the learner's, the whole; sums of breakdowns under names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import floptally
from conftest import LLAMA_3_8B

POLICY = floptally.cost(LLAMA_3_8B)
REWARD = floptally.cost({**LLAMA_3_8B, "num_hidden_layers": 4})
FORWARD = floptally.Plan(phase="forward")
DECODE = floptally.Plan(phase="forward", logits="last")
REQUESTS = [(500, 100), (500, 200), (700, 50)]
LENGTHS = [600, 700, 750]


class Clock:
    """A clock that goes on by what it is told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def metered(clock: Clock, **options: Any) -> floptally.Meter:
    return floptally.Meter(POLICY, gpus=8, counted="all_gpus", peak_tflops=989, clock=clock, **options)


def run_step(meter: floptally.Meter, clock: Clock) -> None:
    with meter.step():
        with meter.timed("rollout", plan=DECODE, learner=False, memory_tbps=3.35) as rollout:
            clock.now += 2.0
            rollout.add(requests=REQUESTS)
        with meter.timed("reward", cost=REWARD, plan=FORWARD, gpus=4) as reward:
            clock.now += 0.25
            reward.add(lengths=LENGTHS)
        with meter.timed("ref", plan=FORWARD) as ref:
            clock.now += 0.5
            ref.add(lengths=LENGTHS, logits=350)
        clock.now += 0.25  # weights go to the engine
        with meter.timed("update") as update:
            for length in LENGTHS:
                clock.now += 0.5
                update.add(lengths=[length])


def test_the_mfu_of_each_rl_pass_uses_the_time_of_that_pass() -> None:
    clock = Clock()
    meter = metered(clock)
    run_step(meter, clock)
    result = meter.passes()
    works = {
        "rollout": POLICY.flops(requests=REQUESTS, plan=DECODE),
        "reward": REWARD.flops(lengths=LENGTHS, plan=FORWARD),
        "ref": POLICY.flops(lengths=LENGTHS, logits=350, plan=FORWARD),
        "update": POLICY.flops(lengths=LENGTHS),
    }
    seconds = {"rollout": 2.0, "reward": 0.25, "ref": 0.5, "update": 1.5}
    assert list(result) == list(works)
    for name, work in works.items():
        gpus = 4 if name == "reward" else 8
        assert result[name].useful == work.total and result[name].executed == work.executed_total
        assert result[name].seconds == seconds[name]
        assert result[name].mfu == pytest.approx(work.total / (seconds[name] * gpus * 989e12))
    learns = [work.total for name, work in works.items() if name != "rollout"]
    assert result.learner is not None
    assert result.learner.mfu == pytest.approx(sum(learns) / ((0.25 * 4 + 2.0 * 8) * 989e12))
    assert result.whole.useful == sum(work.total for work in works.values()) == result.work.total
    assert result.whole.mfu == pytest.approx(result.whole.useful / (4.5 * 8 * 989e12))
    assert result.no_pass == pytest.approx(1 - (0.25 * 4 + 4.0 * 8) / (4.5 * 8))
    # The lines of the whole add up.
    assert sum(one.points for one in result.values()) == pytest.approx(result.whole.mfu)
    assert result.no_pass + sum(one.points + one.lost for one in result.values()) == pytest.approx(1)
    moved = works["rollout"].bytes().kinds
    assert result["rollout"].mbu == pytest.approx((moved["weights"] + moved["cache"]) / (2.0 * 8 * 3.35e12))
    assert result["ref"].mbu is None
    scalars = result.scalars()
    assert scalars["perf/update/mfu_pct"] == 100 * result["update"].mfu
    assert scalars["perf/whole/mfu_pct"] == 100 * result.whole.mfu
    for accumulator in ("rollout", "learner", "whole", "no pass runs", "MFU of the whole"):
        assert accumulator in str(result)
    assert "rollout" in result._repr_html_()


def test_flops_of_rl_passes_of_several_steps_are_the_sum_over_the_steps() -> None:
    clock = Clock()
    meter = metered(clock)
    run_step(meter, clock)
    one = meter.passes()
    run_step(meter, clock)
    assert meter.passes() is not one and dict(meter.passes()) == dict(one)
    run = meter.passes("run")
    assert run.steps == 2 and run.whole.useful == 2 * one.whole.useful
    assert run["update"].seconds == 2 * one["update"].seconds
    assert run.whole.mfu == pytest.approx(one.whole.mfu)
    meter.reset_interval()
    with pytest.raises(floptally.Error, match="steps: no step with passes has ended"):
        meter.passes("interval")
    with pytest.raises(floptally.Error, match="steps: no step has ended yet"):
        meter.last_step.mfu  # a step of passes is none of the meter's own


def test_rl_passes_on_separate_gpu_pools_may_overlap_in_time() -> None:
    clock = Clock()
    meter = metered(clock)
    with meter.step(seconds=4.0):
        with meter.timed("rollout", plan=DECODE, gpus=6, learner=False, seconds=4.0) as rollout:
            rollout.add(requests=REQUESTS)
        with meter.timed("update", gpus=2, seconds=3.5) as update:
            update.add(lengths=LENGTHS)
    result = meter.passes()
    assert result.learner is not None and result.learner.gpu_seconds == 7.0
    assert result.no_pass == pytest.approx(1 / 32)
    before = meter.passes("run").whole.useful
    with pytest.raises(floptally.Error, match="passes: took 48 GPU-seconds, more than the 32"):
        with meter.step(seconds=4.0):
            with meter.timed("rollout", plan=DECODE, gpus=6, learner=False, seconds=4.0) as rollout:
                rollout.add(requests=REQUESTS)
            with meter.timed("update", gpus=6, seconds=4.0) as update:
                update.add(lengths=LENGTHS)
    assert not meter.in_step and meter.passes("run").whole.useful == before


def test_shared_prefixes_have_their_own_line_in_the_table_of_rl_passes() -> None:
    clock = Clock()
    meter = metered(clock)
    with meter.step():
        with meter.timed("rollout", plan=DECODE, learner=False) as rollout:
            clock.now += 1
            rollout.add(requests=[(500, 100), (500, 100, 499), (500, 100, 499)])
        with meter.timed("update") as update:
            clock.now += 1
            update.add_tree([-1, 0, 0, 0], [500, 100, 200, 300])
    made = meter.passes()
    alone = POLICY.total_flops(requests=[(500, 100)] * 3, plan=DECODE)
    assert made["rollout"].shared == alone - made["rollout"].useful > 0
    assert made["update"].shared == POLICY.total_flops(lengths=[600, 700, 800]) - made["update"].useful
    assert made["update"].shared == 2 * POLICY.total_flops(lengths=[500])
    assert f"rollout: {made['rollout'].shared} FLOPs more without the prefixes that are shared, not run" in str(made)


def test_breakdowns_of_one_model_and_plan_add_up_and_other_sums_of_breakdowns_are_errors() -> None:
    a, b = POLICY.flops(lengths=[600]), POLICY.flops(lengths=[700, 750])
    assert (a + b).to_dict() == POLICY.flops(lengths=LENGTHS).to_dict()
    rollout = POLICY.flops(requests=REQUESTS, plan=DECODE)
    with pytest.raises(floptally.Error, match=r'breakdown: breakdowns of different models, plans or conventions can only be added by name: write a.named'):
        a + rollout
    with pytest.raises(floptally.Error, match="breakdown"):
        a + REWARD.flops(lengths=[600])
    with pytest.raises(floptally.Error, match="breakdown"):
        a + POLICY.flops(lengths=[600], convention="palm")
    step = rollout.named("rollout") + a.named("update") + b.named("update")
    assert step.total == rollout.total + a.total + b.total
    assert step.useful.components["rollout.mlp"].total == rollout.useful.components["mlp"].total
    assert step.executed.components["update.mlp"].backward == (a + b).executed.components["mlp"].backward
    assert step.useful.total == step.total and step.padded.total == step.total
    assert list(step) == ["rollout", "update"] and step["update"].total == a.total + b.total
    with pytest.raises(TypeError):
        a + 3
    with pytest.raises(floptally.Error, match="update: breakdowns of different models"):
        step + rollout.named("update")


@pytest.fixture
def open_meter() -> Iterator[floptally.Meter]:
    meter = metered(Clock())
    meter.begin_step()
    yield meter
    meter.discard_step()


def test_a_meter_refuses_invalid_rl_passes(open_meter: floptally.Meter) -> None:
    with pytest.raises(floptally.Error, match="gpus: must be from 1 to 8, the number of GPUs of the meter"):
        open_meter.timed("update", gpus=9)
    with pytest.raises(floptally.Error, match='name: must be a name of 1 to 39 characters, neither "learner" nor "whole"'):
        open_meter.timed("whole")
    with pytest.raises(floptally.Error, match='ref: begins inside of the pass "update"'):
        with open_meter.timed("update"):
            with open_meter.timed("ref"):
                pass
    with pytest.raises(floptally.Error, match="span: must be one of step, interval, run"):
        open_meter.passes("all")  # type: ignore[arg-type]
    closed = metered(Clock())
    with pytest.raises(floptally.Error, match="update: begins outside of a step"):
        with closed.timed("update"):
            pass


def test_the_name_of_an_rl_pass_cannot_be_used_for_another_model_or_plan() -> None:
    clock = Clock()
    meter = metered(clock)
    meter.begin_step()
    for plan in (FORWARD, None):
        with meter.timed("update", plan=plan) as update:
            clock.now += 1
            update.add(lengths=LENGTHS)
    with pytest.raises(floptally.Error, match="update: is of one model, plan and convention"):
        meter.end_step()
    meter.discard_step()


def test_adding_a_batch_outside_of_every_rl_pass_is_an_error() -> None:
    clock = Clock()
    meter = metered(clock)
    meter.begin_step()
    meter.add(lengths=LENGTHS)
    with meter.timed("rollout", plan=DECODE) as rollout:
        clock.now += 1
        rollout.add(requests=REQUESTS)
    with pytest.raises(floptally.Error, match="microbatch: must be added to a pass"):
        meter.end_step()
    meter.discard_step()


def test_an_rl_pass_whose_block_raises_an_exception_is_not_counted() -> None:
    clock = Clock()
    meter = metered(clock)
    with meter.step():
        with pytest.raises(RuntimeError):
            with meter.timed("rollout", plan=DECODE):
                clock.now += 1
                raise RuntimeError
        with meter.timed("update") as update:
            clock.now += 1
            update.add(lengths=LENGTHS)
    assert list(meter.passes()) == ["update"]
    assert meter.passes().no_pass == pytest.approx(0.5)
