# SPDX-License-Identifier: Apache-2.0
"""Where the time of a step went: Python's waterfall against numbers by hand, a simulated pipeline and the program."""

from __future__ import annotations

import copy
import itertools
import json
import os
import pathlib
import pickle
import random
import re
import subprocess
import sys
from typing import Any

import pytest

import floptally
from conftest import SOURCE
from test_readme import run

CONFIG = SOURCE / "examples" / "data" / "mistral-7b-v0.1.json"
TERA = 10**12


def linear(tera: float) -> floptally.Breakdown:
    """So many useful TFLOP, a multiple of 3, and nothing else: no token, no padding."""
    cost = floptally.Cost.from_entries([("mlp", floptally.Mask.measured("units"), "linear", 10**9)])
    work = cost.flops(measured={"units": round(tera * TERA / 3e9)})
    assert work.total == round(tera * TERA)
    return work


def by_step(made: floptally.Waterfall) -> dict[str, floptally.WaterfallLine]:
    return {line.step: line for line in made.lines}


def test_waterfall_lines_match_a_hand_calculation() -> None:
    """A second of four GPUs of 100 TFLOP/s, one of them idle and a tenth of it spent on data: 60 of 400 TFLOP are useful."""
    result = linear(60).waterfall(
        seconds=1, gpus=4, peak_tflops=100, precisions="mlp=200", masked_tiles=15 * TERA, idle_gpus=1,
        rank_work=[6, 4, 2], apart={"data wait": 0.1},
    )  # fmt: skip
    line = by_step(result)
    assert result.mfu == pytest.approx(0.15) and line["useful"].gpu_nanoseconds == 600_000_000
    assert line["useful"].points == pytest.approx(15) and line["useful"].seconds == 0.15
    assert line["precision"].gpu_nanoseconds == -300_000_000  # at 200 TFLOP/s it takes 0.3 s
    assert line["precision"].points == pytest.approx(7.5)
    assert line["masked_tiles"].gpu_nanoseconds == 150_000_000
    # Three GPUs compute for 0.9 s: 2.7, of which a third waits for the one that has 6 where the mean is 4.
    assert line["imbalance"].gpu_nanoseconds == 900_000_000 and line["imbalance"].points == pytest.approx(-22.5)
    assert line["idle_gpus"].gpu_nanoseconds == 1_000_000_000
    assert line["data_wait"].gpu_nanoseconds == 300_000_000 and line["data_wait"].name == "data wait"
    assert "apart" not in line and not line["communication"].is_known
    assert line["kernels"].gpu_nanoseconds == 1_800_000_000 - 450_000_000
    assert result.kernel_rate == pytest.approx(0.25)
    assert result.gpu_nanoseconds == 4_000_000_000
    assert not line["bubble"].is_known and "pipeline bubble" in line["kernels"].note
    assert repr(result) == "<Waterfall: MFU 15.00 % of 4 GPUs>"
    assert repr(line["idle_gpus"]) == "<WaterfallLine idle GPUs: -25.00 points>"
    assert repr(line["bubble"]) == "<WaterfallLine pipeline bubble: not known>"


def test_padding_and_recompute_and_redundant_work_each_have_a_line_in_a_waterfall(mistral: floptally.Cost) -> None:
    plan = floptally.Plan(recompute="full", repeated={"lm_head": 2})
    once = floptally.Plan(recompute="full")
    batch: dict[str, Any] = {"lengths": [3000, 900], "row_length": 4096}
    work, single = mistral.flops(plan=plan, **batch), mistral.flops(plan=once, **batch)
    line = by_step(work.waterfall(seconds=1, gpus=2, peak_tflops=989))

    def flops(step: str) -> float:
        return line[step].gpu_nanoseconds * 989e3

    assert flops("useful") == pytest.approx(work.total, rel=1e-6)
    assert flops("padding") == pytest.approx(work.padded_total - work.total, rel=1e-6)
    assert flops("recompute") == pytest.approx(single.executed.recompute, rel=1e-6)
    fused = single.executed_total - single.padded_total - single.executed.recompute
    assert flops("fused_backward") == pytest.approx(fused, rel=1e-6)
    assert flops("repeated") == pytest.approx(work.executed_total - single.executed_total, rel=1e-6)
    assert work.executed_total > single.executed_total


def test_waterfall_lines_of_any_step_add_up_to_the_gpu_time_of_the_step_to_the_nanosecond(mistral: floptally.Cost) -> None:
    draw = random.Random(5)
    seen = set()
    for _ in range(150):
        lengths = [draw.randint(1, 4096) for _ in range(draw.randint(1, 5))]
        work = mistral.flops(
            lengths=lengths,
            row_length=draw.choice([None, 4096, 5000]),
            plan=floptally.Plan(recompute=draw.choice(["none", "full", "attention"])),
        )
        gpus = 4 * draw.randint(1, 750) if draw.random() < 0.7 else draw.randint(1, 3000)
        account: dict[str, Any] = {"gpus": gpus, "peak_tflops": draw.uniform(100, 2000)}
        if draw.random() < 0.5:
            account["apart"] = {f"t{i}": draw.uniform(0, 1e-3) for i in range(draw.randint(0, 3))}
            account["apart"] |= draw.choice([{}, {"exposed_communication": 1e-3}, {"transfer": 1e-3, "optimizer": 1e-3}])
        if gpus > 1 and draw.random() < 0.5:
            account["idle_gpus"] = draw.randint(0, (gpus - 1) // 4) * 4
        if draw.random() < 0.4:
            account["rank_work"] = [draw.randint(0, 9) + 1 for _ in range(draw.randint(1, 8))]
        elif gpus % 4 == 0 and draw.random() < 0.7:
            account |= {"pp": draw.choice([1, 2, 4]), "microbatches": 4 * draw.randint(1, 4),
                        "schedule": draw.choice(["gpipe", "1f1b", "zero_bubble", "zb_v"])}  # fmt: skip
        elif gpus % 4 == 0:
            account |= {"tp": draw.choice([1, 2, 4]), "sequence_parallel": draw.random() < 0.5}
        if draw.random() < 0.3:
            account["memory_tbps"] = 10 ** draw.uniform(-3, 1)
        needed = 1000 * work.executed_total / 1e12 / account["peak_tflops"]
        seconds = draw.uniform(1, 3) * needed / (gpus - account.get("idle_gpus", 0)) + 0.004
        result = work.waterfall(seconds=seconds, **account)
        assert sum(line.gpu_nanoseconds for line in result.lines) == result.gpu_nanoseconds == round(seconds * 1e9) * gpus
        assert result.mfu == pytest.approx(work.measure(seconds, gpus=gpus, peak_tflops=account["peak_tflops"]).mfu)
        assert sum(value for name, value in result.scalars().items() if name.endswith("_pct") and "rate" not in name) == (
            pytest.approx(100)
        )
        assert sum(-line.points for line in result.lines[1:]) + result.lines[0].points == pytest.approx(100)
        seen |= {line.step for line in result.lines if line.is_known and line.gpu_nanoseconds}
        # With nothing changed it is what was measured, and a bound is never below a measurement.
        assert result.what_if().seconds == pytest.approx(seconds, rel=1e-9)
        bound = result.what_if(kernel_rate=1)
        assert bound.seconds <= seconds * (1 + 1e-9) and bound.mfu >= result.mfu * (1 - 1e-9)
    assert len(seen) >= 10, seen


def simulated(stages: list[tuple[int, int]], microbatches: int) -> tuple[int, list[int]]:
    """1F1B as its paper has it, event by event: the makespan, and how much each rank works."""
    pp = len(stages)
    orders = []
    for rank in range(pp):
        ahead = min(pp - 1 - rank, microbatches)
        steady = [item for i in range(microbatches - ahead) for item in (("F", ahead + i), ("B", i))]
        orders.append([("F", i) for i in range(ahead)] + steady + [("B", i) for i in range(microbatches - ahead, microbatches)])
    done: dict[tuple[str, int, int], int] = {}
    free = [0] * pp
    while any(orders):
        for rank, order in enumerate(orders):
            if not order:
                continue
            kind, i = order[0]
            needs = [("F", rank - 1, i)] if kind == "F" else [("F", rank, i), ("B", rank + 1, i)]
            needs = [one for one in needs if 0 <= one[1] < pp]
            if all(one in done for one in needs):
                begin = max([free[rank], *(done[one] for one in needs)])
                free[rank] = done[kind, rank, i] = begin + stages[rank][kind == "B"]
                order.pop(0)
    return max(free), [microbatches * sum(stage) for stage in stages]


@pytest.mark.parametrize(("pp", "microbatches"), [(2, 1), (4, 4), (4, 7), (8, 16)])
def test_waiting_times_of_pipeline_ranks_equal_a_simulation_of_the_stages(pp: int, microbatches: int) -> None:
    config = {"model_type": "llama", "vocab_size": 32000, "hidden_size": 512, "intermediate_size": 1024,
              "num_hidden_layers": 8, "num_attention_heads": 8}  # fmt: skip
    cost = floptally.cost(config)
    work = cost.flops(lengths=[512] * 4)
    head = work.useful.components["lm_head"]
    layers = [work.executed.forward - head.forward, work.executed.backward - head.backward]
    stages = [
        (layers[0] // pp + (rank == pp - 1) * head.forward, layers[1] // pp + (rank == pp - 1) * head.backward)
        for rank in range(pp)
    ]
    makespan, busy = simulated(stages, microbatches)
    result = work.waterfall(seconds=1, gpus=pp, peak_tflops=989, pp=pp, microbatches=microbatches)
    line = by_step(result)
    mean = sum(busy) / pp
    assert -line["imbalance"].points == pytest.approx(100 * (max(busy) - mean) / makespan, rel=1e-6)
    assert -line["bubble"].points == pytest.approx(100 * (makespan - max(busy)) / makespan, rel=1e-6)
    assert line["bubble"].points < 0


def test_the_largest_rank_load_and_the_sum_of_loads_give_the_same_waterfall_as_the_list_of_all_loads() -> None:
    loads = [2**70 + 3, 2**70, 5, 2**69]
    whole = linear(3)
    account: dict[str, Any] = {"seconds": 1, "gpus": 4, "peak_tflops": 100}
    gathered = whole.waterfall(rank_work=loads, **account)
    reduced = whole.waterfall(rank_work={"largest": max(loads), "sum": sum(loads), "ranks": 4}, **account)
    assert gathered.to_json() == reduced.to_json()
    assert by_step(gathered)["imbalance"].points == pytest.approx(100 * (sum(loads) / 4 / max(loads) - 1))


def test_flops_of_masked_pairs_inside_computed_attention_tiles_equal_an_enumeration() -> None:
    config = {"model_type": "llama", "vocab_size": 64, "hidden_size": 32, "intermediate_size": 48,
              "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2}  # fmt: skip
    cost = floptally.cost(config)
    lengths, rows, keys = [5, 37, 64], 16, 8
    tiles = floptally.MaskedTiles(cost, (rows, keys))
    for length in lengths:
        tiles.add(lengths=[length])
    in_vain = 0
    for length in lengths:
        for first, key in itertools.product(range(0, length, rows), range(0, length, keys)):
            attended = sum(j <= i for i in range(first, min(first + rows, length)) for j in range(key, min(key + keys, length)))
            in_vain += (rows * keys - attended) if attended else 0
    # QK^T and PV forward, twice each backward, and QK^T once more where it is fused; 3 layers of 4 heads of 8.
    assert tiles.executed() == in_vain * 3 * 32 * 2 * (2 + 4 + 1)
    assert tiles.executed(floptally.Plan(flash_attention=False)) == in_vain * 3 * 32 * 2 * (2 + 4)
    assert tiles.tile == (rows, keys) and tiles.tally.tokens == sum(lengths)
    work = cost.flops(lengths=lengths)
    account: dict[str, Any] = {"seconds": 1e-3, "gpus": 2, "peak_tflops": 1}
    result = work.waterfall(masked_tiles=tiles, **account)
    assert by_step(result)["masked_tiles"].gpu_nanoseconds == pytest.approx(tiles.executed() / 1e3, abs=1)
    assert result.to_json() == work.waterfall(masked_tiles=tiles.executed(), **account).to_json()
    tiles.add(lengths=[9])
    assert by_step(result.what_if(kernel_rate=1))["masked_tiles"].is_known, "what was given is kept as it was"
    with pytest.raises(floptally.Error, match="^masked_tiles: must contain the whole batch of the step, got 4 sequences instead of 3: add the same"):
        work.waterfall(masked_tiles=tiles, **account)


def test_a_waterfall_of_a_measured_breakdown_uses_the_accelerator_and_precisions_and_number_of_gpus_of_the_measurement(mistral: floptally.Cost) -> None:
    work = mistral.flops(lengths=[4096])
    told: dict[str, Any] = {"gpus": 4, "accelerator": "H100 SXM", "precisions": "mlp=fp8"}
    measured = work.measure(0.5, **told)
    whole = work.waterfall(seconds=0.5, **told)
    assert measured.waterfall().to_json() == whole.to_json()
    assert pickle.loads(pickle.dumps(measured)).waterfall().to_json() == whole.to_json()
    assert measured.waterfall(seconds=1).seconds == 1
    # Another peak wins over the accelerator's, and another accelerator over a peak.
    assert measured.waterfall(peak_tflops=500).mfu == pytest.approx(work.measure(0.5, gpus=4, peak_tflops=500).mfu)
    arguments = work.measure(0.5, gpus=4, peak_tflops=500)
    assert arguments.waterfall(accelerator="H100 SXM").mfu == pytest.approx(measured.mfu)
    boost = work.measure(0.5, gpus=4, accelerator="H100 SXM", clock_mhz=1980, precisions="mlp=bf16")
    assert boost.mixed_mfu == pytest.approx(boost.mfu), "one clock for all peaks"
    assert boost.waterfall().mfu == pytest.approx(boost.mfu) != pytest.approx(measured.mfu)
    assert by_step(boost.waterfall())["precision"].points == pytest.approx(0, abs=1e-9)


def test_the_method_what_if_keeps_settings_of_a_waterfall_that_are_not_passed(mistral: floptally.Cost) -> None:
    plan = floptally.Plan(recompute="full")
    work = mistral.flops(lengths=[4096] * 8, plan=plan)
    account: dict[str, Any] = {"gpus": 4, "peak_tflops": 989, "apart": {"data": 0.1}}
    plain = work.waterfall(seconds=2.0, rank_work=[3, 3, 3, 1], **account)
    # Without recompute a quarter of the work, and of the 1.9 s that are not for data, goes away.
    other = mistral.flops(lengths=[4096] * 8)
    share = other.executed_total / work.executed_total
    assert plain.what_if(work=other).seconds == pytest.approx(0.1 + 1.9 * share, rel=1e-12)
    assert plain.what_if(work=other, apart=None).seconds == pytest.approx(1.9 * share, rel=1e-12)
    assert plain.what_if(rank_work=[1] * 4).seconds == pytest.approx(0.1 + 1.9 * 2.5 / 3, rel=1e-12)
    assert plain.what_if(gpus=8).seconds == pytest.approx(0.1 + 1.9 / 2, rel=1e-12)

    result = work.waterfall(seconds=2.0, pp=4, microbatches=8, **account)
    same = result.what_if()
    assert same.seconds == pytest.approx(2.0, rel=1e-12) and same.mfu == pytest.approx(result.mfu, rel=1e-12)
    then = result.what_if(work=other)
    assert then.work.plan == floptally.Plan() and then.what_if().seconds == pytest.approx(then.seconds)
    assert result.what_if(microbatches=64).seconds < 2.0
    assert result.what_if(pp=None, microbatches=None).kernel_rate == pytest.approx(result.kernel_rate)
    assert not by_step(result.what_if(pp=None, microbatches=None))["bubble"].is_known
    bound = result.what_if(kernel_rate=1)
    assert by_step(bound)["kernels"].gpu_nanoseconds <= 4 and bound.mfu > result.mfu
    for one in (result, then, bound):
        again = pickle.loads(pickle.dumps(one))
        assert again.to_json() == one.to_json() and copy.copy(one).to_table() == str(one)


def test_the_waterfall_of_one_gpu_has_no_waiting_for_other_gpus() -> None:
    result = linear(12).waterfall(seconds=1, gpus=1, peak_tflops=100, masked_tiles=0)
    assert [line.step for line in result.lines if not line.is_known] == [
        "data_wait", "optimizer", "elementwise", "launches", "memory_bound",
    ]  # fmt: skip
    assert result.lines[-1].note == (
        "includes unknown lines: data wait, optimizer, element-wise kernels, no kernel runs, bound by memory"
    )
    assert by_step(result)["communication"].note == "one GPU has nobody to talk to"


def test_text_and_markdown_and_html_of_a_waterfall_have_the_same_cells(mistral: floptally.Cost) -> None:
    result = mistral.flops(lengths=[4096]).waterfall(
        seconds=1, gpus=2, peak_tflops=989, apart={"a|b <i>\n": 0.25, "a b": 0.1, "a_b": 0.05}
    )
    assert result.to_table() == str(result) and "measured MFU" in str(result)
    rows = result.to_markdown().splitlines()
    assert "| a\\|b <i>  | 250.000 | -25.00 | measured |" in rows and len(rows) == 3 + len(result.lines)
    html = result._repr_html_()
    assert "a|b &lt;i&gt;" in html and "-25.00" in html and 'title="500000000 ns of GPUs"' in html
    assert html.count("<tr>") == 2 + len(result.lines)
    found = result.to_dict()
    assert found == json.loads(result.to_json())
    assert sum(int(line["gpu_nanoseconds"]) for line in found["lines"]) == 2 * 10**9
    scalars = result.scalars("w/")
    assert scalars["w/apart/a_b_pct"] == pytest.approx(10) and scalars["w/apart/a_b_2_pct"] == pytest.approx(5)
    assert scalars["w/mfu_pct"] == pytest.approx(100 * result.mfu) and scalars["w/step_seconds"] == 1
    assert "w/bubble_pct" not in scalars
    assert all(re.fullmatch(r"[\w./-]+", name) for name in scalars), "as MLflow takes them"


def test_changing_the_input_later_does_not_change_a_waterfall() -> None:
    loads, times = [3, 1], {"data": 0.1}
    result = linear(12).waterfall(seconds=1, gpus=2, peak_tflops=100, rank_work=loads, apart=times)
    loads[0], times["data"] = 1, 0.2
    assert result.what_if().seconds == pytest.approx(1)
    once = (load for load in (3, 1))
    again = linear(12).waterfall(seconds=1, gpus=2, peak_tflops=100, rank_work=once, apart={"data": 0.1})
    assert again.what_if().to_json() == result.what_if().to_json()


ACCOUNT: dict[str, Any] = {"seconds": 1, "gpus": 4, "peak_tflops": 989}


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"seconds": None}, "seconds: is missing: pass it, or call measure() first"),
        ({"gpus": None}, "gpus: is missing: pass it, or call measure() first"),
        ({"gpus": 0}, "gpus: must be an integer from 1 to "),
        ({"seconds": 0}, "seconds: must be a finite number above 0, got 0"),
        ({"seconds": "a"}, "seconds: must be a number, got 'a'"),
        ({"seconds": float("nan")}, "seconds: must be a finite number above 0, got "),
        ({"peak_tflops": None}, "accelerator: is missing, and so is peak_tflops: pass one of them"),
        ({"peak_tflops": -1}, "peak_tflops: must be a finite number above 0, got -1"),
        ({"precision": "bf17"}, "precision: "),
        ({"precisions": 3}, "precisions: must be a str, got 3"),
        ({"precisions": "mpl=200"}, "component: "),
        ({"idle_gpus": 4}, "idle_gpus: must be fewer than the 4 GPUs, got 4"),
        ({"apart": {"wait": 2}}, 'apart[0]: "wait" must be from 0 to the 1.0000 s of the step, got 2'),
        ({"apart": {"a": 0.1, "b": "c"}}, "apart[1]: must be a number, got 'c'"),
        ({"apart": {3: 0.1}}, "apart: must have names as keys, got 3"),
        ({"apart": [0.1]}, "apart: must be a dict of names to seconds, got "),
        ({"rank_work": [1, -2]}, "rank_work[1]: must be an integer from 0 to 2^128 - 1, got -2"),
        ({"rank_work": [1, 0.5]}, "rank_work[1]: must be an integer from 0 to 2^128 - 1, got 0.5"),
        ({"rank_work": "12"}, "rank_work: must be a list of ints, got '12'"),
        ({"rank_work": []}, "ranks: "),
        ({"rank_work": {"largest": 1, "sum": 2}}, 'rank_work: must have "largest", "sum" and "ranks", got '),
        (
            {"rank_work": {"largest": 9, "sum": 2, "ranks": 2}},
            "ranks: the largest work of 2 ranks must lie between the mean and the sum of their work, got 9 with a sum of 2",
        ),
        ({"rank_work": [1, 2, 3], "pp": 2, "microbatches": 2, "replicas": 2},
         "rank_work: must have a number for each of 2 replicas, got 3"),
        ({"rank_work": {"largest": 1}, "pp": 2, "microbatches": 2}, "rank_work: must be a list of ints, one for each replica"),
        ({"rank_work": [], "pp": 2, "microbatches": 2}, "rank_work: must be a list of ints, got ()"),
        ({"replicas": 2}, "pp: is missing: pass pp=, which replicas needs"),
        ({"layers_of_chunks": [1]}, "pp: is missing: pass pp=, which layers_of_chunks needs"),
        ({"pp": 2, "microbatches": 2, "layers_of_chunks": [32]}, "layers_of_chunks: must have 2 numbers, pp x vpp, got 1"),
        ({"pp": 2, "microbatches": 2, "layers_of_chunks": [32, 1]}, "layers: must be 33, as in the pipeline split"),
        ({"pp": 2, "microbatches": 2, "layers_of_chunks": [16, 16], "num_layers_in_last_pipeline_stage": 16},
         "num_layers_in_last_pipeline_stage: cannot be passed with layers_of_chunks"),
        ({"pp": 4, "microbatches": 2, "idle_gpus": 1}, "gpus: gpus - idle_gpus must be a multiple of pp x replicas = 4, got"),
        ({"pp": 2, "microbatches": []}, "microbatches: must be at least 1, and the same number in each replica"),
        ({"pp": 2, "microbatches": [3]}, "microbatches: must be an int, a list of floptally.Breakdown, or"),
        ({"vpp": 2}, "pp: is missing: pass pp=, which vpp needs"),
        ({"pp": 2}, "microbatches: is missing: pass the number that each pipeline runs"),
        ({"pp": 2, "microbatches": 4, "schedule": "1f1d"}, "schedule: must be one of gpipe, 1f1b, interleaved, zero_bubble, zb_v, "
                                                          "got \"1f1d\"; did you mean '1f1b'?"),
        ({"gpus": 3, "pp": 3, "microbatches": 4, "layer_split": "even"}, "layers: the 32 remaining layers must be a multiple of the 3 pipeline stages"),
        ({"pp": 2, "vpp": 2, "microbatches": 3}, "microbatches: must be a multiple of pp, 2, in the interleaved schedule"),
        ({"pp": 2, "vpp": 2, "microbatches": 4, "schedule": "zero_bubble"}, "vpp: must be 1 in the schedule"),
        ({"masked_tiles": 1.5}, "masked_tiles: must be a floptally.MaskedTiles, or FLOPs as an int, got 1.5"),
        ({"network_gbps": 0}, "network_gbps: must be a finite number above 0, got 0"),
        ({"network_gbps": {"xp": 3}}, "network_gbps: must be one of tp, cp, dp, pp, ep, expert_dp, etp, dp_replicate, got \"xp\""),
        ({"seconds": 1e-6}, "seconds: the work needs "),
    ],
)  # fmt: skip
def test_an_invalid_time_breakdown_is_an_error_that_names_the_field(
    mistral: floptally.Cost, change: dict[str, Any], text: str
) -> None:
    with pytest.raises(floptally.Error) as raised:
        mistral.flops(lengths=[4096]).waterfall(**(ACCOUNT | change))
    assert str(raised.value).startswith(text)


def test_invalid_waterfall_arguments_are_errors_that_name_the_field(mistral: floptally.Cost) -> None:
    result = mistral.flops(lengths=[4096]).waterfall(**ACCOUNT)
    wrong: list[tuple[Any, str]] = [
        (lambda: mistral.flops(lengths=[9], convention="megatron").waterfall(**ACCOUNT),
         'convention: must be exact, since only exact counts the padded and executed FLOPs that a waterfall needs, got "megatron"'),
        (lambda: result.what_if(work=3), "work: must be a floptally.Breakdown, got 3"),
        (lambda: linear(3).waterfall(masked_tiles=TERA, **ACCOUNT).what_if(work=linear(6)),
         "masked_tiles: belong to the earlier work: pass masked_tiles= in FLOPs for the new work, or None"),
        (lambda: result.what_if(kernel_rate=2), "kernel_rate: must be at most 1, got 2"),
        (lambda: result.what_if(kernel_rate=0), "kernel_rate: must be a finite number above 0"),
        (lambda: linear(3).waterfall(pp=2, microbatches=2, **ACCOUNT), "pp: needs the layers of a model"),
        (lambda: floptally.MaskedTiles(mistral, 128), "tile: must be (queries, keys), got 128"),
        (lambda: floptally.MaskedTiles(mistral, (0, 8)), "tile[0]: must be an integer from 1 to "),
        (lambda: floptally.MaskedTiles(linear(3).waterfall), "cost"),
        (lambda: floptally.MaskedTiles(floptally.Cost.from_entries([("a", "tokens", "linear", 2)])),
         "cost: must have layers, but this cost was made from single entries: make it by floptally.cost() or from_torch()"),
        (lambda: floptally.MaskedTiles(mistral).add(attention_mask=[[1, 1]]), "attention_mask: cannot be tiled, because its rows are reduced to their lengths"),
        (lambda: floptally.MaskedTiles(mistral).add(tally=floptally.Tally(mistral)), "tally: is counted already"),
    ]  # fmt: skip
    for call, text in wrong:
        with pytest.raises((floptally.Error, TypeError)) as raised:
            call()
        assert text == "cost" or str(raised.value).startswith(text), raised.value
    with pytest.raises(TypeError, match="unexpected keyword argument 'microbatch'; did you mean 'microbatches'"):
        result.what_if(microbatch=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'seconds'"):
        result.what_if(seconds=3)  # type: ignore[call-arg]


def test_the_package_and_the_command_line_program_print_the_same_waterfall() -> None:
    options = ["--config", str(CONFIG), "--lengths", "4096,2048", "--row-length", "8192", "--seconds", "1.6", "--gpus", "5",
               "--peak-tflops", "989", "--precisions", "mlp=1979", "--recompute", "full", "--repeated", "lm_head=2",
               "--tile", "128x64", "--pp", "2", "--vpp", "2", "--microbatches", "8", "--idle-gpus", "1",
               "--apart", "wait=0.1"]  # fmt: skip
    cost = floptally.cost(CONFIG)
    plan = floptally.Plan(recompute="full", repeated={"lm_head": 2})
    tiles = floptally.MaskedTiles(cost, (128, 64))
    tiles.add(lengths=[4096, 2048], row_length=8192)
    result = cost.flops(lengths=[4096, 2048], row_length=8192, plan=plan).waterfall(
        seconds=1.6, gpus=5, peak_tflops=989, precisions="mlp=1979", masked_tiles=tiles, pp=2, vpp=2,
        microbatches=8, idle_gpus=1, apart={"wait": 0.1},
    )  # fmt: skip

    def printed(form: str) -> str:
        command = [sys.executable, "-m", "floptally", "waterfall", *options, "--format", form]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert printed("table") == result.to_table()
    assert printed("markdown") == result.to_markdown()
    assert json.loads(printed("json")) == result.to_dict()


EVEN = "--lengths 512,512,512,512,512,512,512,512"
PIPELINES: list[tuple[str, dict[str, Any]]] = [
    ("--pp 4 --microbatches 8 --schedule zero_bubble", {"pp": 4, "microbatches": 8, "schedule": "zero_bubble"}),
    ("--pp 4 --microbatches 8 --schedule zb_v", {"pp": 4, "microbatches": 8, "schedule": "zb_v"}),
    ("--pp 2 --microbatches 8 --replicas 2", {"pp": 2, "microbatches": 8, "replicas": 2}),
    ("--pp 2 --microbatches 4 --rank-work 5,3 --apart exposed_communication=0.9,data_wait=0.02",
     {"pp": 2, "microbatches": 4, "rank_work": [5, 3], "apart": {"exposed_communication": 0.9, "data_wait": 0.02}}),
    ("--pp 4 --microbatches 4 --layers-of-chunks 5,9,9,9", {"pp": 4, "microbatches": 4, "layers_of_chunks": [5, 9, 9, 9]}),
    ("--pp 4 --microbatches 4 --num-layers-in-first-pipeline-stage 5 --num-layers-in-last-pipeline-stage 7",
     {"pp": 4, "microbatches": 4, "num_layers_in_first_pipeline_stage": 5, "num_layers_in_last_pipeline_stage": 7}),
    ("--pp 2 --microbatches 4 --account-for-embedding-in-pipeline-split true --account-for-loss-in-pipeline-split true "
     "--precisions mlp@0-9=200", {"pp": 2, "microbatches": 4, "account_for_embedding_in_pipeline_split": True,
                                  "account_for_loss_in_pipeline_split": True, "precisions": "mlp@0-9=200"}),
    ("--pp 4 --microbatches 8 --memory-tbps 3.35", {"pp": 4, "microbatches": 8, "memory_tbps": 3.35}),
    ("--memory-tbps 0.01", {"memory_tbps": 0.01}),
    ("--tp 4", {"tp": 4}),
    ("--tp 2 --pp 2 --microbatches 4 --network-gbps tp=400,pp=50 --gradient-bits 32 --memory-tbps 3",
     {"tp": 2, "pp": 2, "microbatches": 4, "network_gbps": {"tp": 400, "pp": 50}, "gradient_bits": 32, "memory_tbps": 3}),
    ("--network-gbps 300", {"network_gbps": 300}),
    ("--tp 2 --sequence-parallel true --pp 2 --microbatches 4 --precisions mlp=200",
     {"tp": 2, "sequence_parallel": True, "pp": 2, "microbatches": 4, "precisions": "mlp=200"}),
    ("--apart transfer=0.1,optimizer=0.02,elementwise=0.03,launches=0.01,checkpoint=0.04",
     {"apart": {"transfer": 0.1, "optimizer": 0.02, "elementwise": 0.03, "launches": 0.01, "checkpoint": 0.04}}),
]  # fmt: skip


def json_of_program(command: str, *options: str) -> Any:
    line = [sys.executable, "-m", "floptally", command, "--config", str(CONFIG), *options, "--format", "json"]
    return json.loads(subprocess.run(line, capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize(("options", "account"), PIPELINES)
def test_a_waterfall_with_a_pipeline_and_known_times_equals_the_output_of_the_command_line_program(
    mistral: floptally.Cost, options: str, account: dict[str, Any]
) -> None:
    base = [*EVEN.split(), "--seconds", "1.5", "--gpus", "4", "--peak-tflops", "400", *options.split()]
    result = mistral.flops(lengths=[512] * 8).waterfall(seconds=1.5, gpus=4, peak_tflops=400, **account)
    assert result.to_dict() == json_of_program("waterfall", *base)
    assert pickle.loads(pickle.dumps(result)).to_json() == result.to_json()
    for then, change, work in (
        ("", {}, None),
        ("--then-memory-tbps 1 --then-gpus 8", {"memory_tbps": 1, "gpus": 8}, None),
        ("--then-lengths 900,1024", {}, mistral.flops(lengths=[900, 1024])),
        ("--then-recompute full", {}, mistral.flops(lengths=[512] * 8, plan=floptally.Plan(recompute="full"))),
        ("--then-apart data_wait=0.3", {"apart": {"data_wait": 0.3}}, None),
    ):  # fmt: skip
        found = json_of_program("whatif", *base, *then.split())
        assert found["then"] == result.what_if(work=work, **change).to_dict(), then
        assert found["bound"] == result.what_if(work=work, kernel_rate=1, **change).to_dict(), then
    assert result.what_if(gpus=8).what_if(gpus=4).seconds == pytest.approx(1.5, rel=1e-12), "as it was measured"


@pytest.mark.parametrize("split", ["zigzag", "zigzag_pack", "contiguous"])
def test_the_waterfall_of_context_parallel_ranks_equals_the_output_of_the_command_line_program(mistral: floptally.Cost, split: Any) -> None:
    base = ["--lengths", "8192,16384", "--seconds", "2", "--gpus", "8", "--peak-tflops", "400", "--cp-split", split]
    work = mistral.flops(lengths=[8192, 16384])
    shares = floptally.ContextShards(mistral, 4, split)
    shares.add(lengths=[8192, 16384])
    assert shares.cp == 4 and shares.split == split and repr(shares) == f"<ContextShards of 4 ranks, {split}>"
    assert sum(share.tokens for share in shares.tallies) == work.tally.tokens
    for options, account in (([], {}), (["--tp", "2"], {"tp": 2}),
                             (["--pp", "2", "--microbatches", "4"], {"pp": 2, "microbatches": 4})):  # fmt: skip
        result = work.waterfall(seconds=2, gpus=8, peak_tflops=400, cp=shares, **account)  # type: ignore[arg-type]
        assert result.to_dict() == json_of_program("waterfall", *base, "--cp", "4", *options)
        found = json_of_program("whatif", *base, "--cp", "4", *options, "--then-cp", "2")
        two = floptally.ContextShards(mistral, 2, split)
        two.add(lengths=[8192, 16384])
        assert result.what_if(cp=two).to_dict() == found["then"]
    two.add(lengths=[64])
    wrong: list[tuple[Any, str]] = [
        ({"cp": two}, "cp: must contain the whole batch of the step, got 3 sequences instead of 2: add the same batches to both"),
        ({"cp": 4}, "cp: must be a floptally.ContextShards of the batch, got 4"),
        ({"tp": 0}, "tp: must be an integer from 1 to 65536, got 0"),
        ({"tp": 16}, "gpus: gpus - idle_gpus must be a multiple of tp x cp = 16"),
        ({"sequence_parallel": True}, "tp: is missing: pass tp=, which sequence_parallel needs"),
        ({"tp": 2, "rank_work": [1, 2]}, "rank_work: cannot be passed with tp or cp"),
    ]
    for change, text in wrong:
        with pytest.raises(floptally.Error) as raised:
            work.waterfall(seconds=2, gpus=8, peak_tflops=400, **change)
        assert str(raised.value).startswith(text), raised.value
    flux = floptally.ContextShards(floptally.cost({"_class_name": "FluxTransformer2DModel"}), 2, split)
    for grids in ({"grid_thw": [(1, 4, 4)]}, {"pixels": [(1, 64, 64)]}):
        with pytest.raises(floptally.Error, match="^cp: splits only text over ranks, and this batch also has images or sound"):
            flux.add(encoder_lengths=[7], **grids)
    with pytest.raises(floptally.Error, match="^split: must be one of zigzag, zigzag_pack, contiguous, got"):
        floptally.ContextShards(mistral, 2, "zigzac")  # type: ignore[arg-type]


def test_a_comparison_of_waterfalls_lists_the_largest_slowdown_first_and_can_be_sorted_by_largest_cost() -> None:
    times = [{"name": "mlp", "components": ["mlp"], "seconds": 0.5}, {"name": "data", "seconds": 0.1}]
    slower = [{"name": "mlp", "components": ["mlp"], "seconds": 0.75}, {"name": "optimizer", "seconds": 0.1}]
    work, account = linear(30), {"gpus": 1, "peak_tflops": 100}
    before = work.waterfall(component_times={"seconds": 1, "times": times}, **account)  # type: ignore[arg-type]
    after = work.waterfall(component_times={"seconds": 1.25, "times": slower}, **account)  # type: ignore[arg-type]
    assert before.components is not None and after.components is not None
    compared = after.components.against(before.components)
    assert [one.name for one in compared] == ["mlp", "optimizer", "not timed", "data"]
    assert sum(one.slower for one in compared) == pytest.approx(0.25)
    assert compared[0].before == 0.5 and compared[0].after == 0.75 and compared[1].before is None
    assert compared[0].kernel_rate_before == pytest.approx(0.6) and repr(compared[0]) == (
        "<ComparedComponent mlp: slower by 250.000 ms>"
    )
    with pytest.raises(floptally.Error, match="^before: must be a floptally ComponentWaterfall"):
        after.components.against(before)  # type: ignore[arg-type]
    shown = after.to_table(by_cost=True).splitlines()
    assert shown[1].startswith("measured MFU") and "#####" in shown[1] and "usually helps" in shown[-1]
    assert after.lines[-1].usually_helps.startswith("larger matrices")


def test_unequal_microbatches_are_assigned_to_ranks_as_in_the_command_line_program(mistral: floptally.Cost) -> None:
    lengths = [4096, 100, 900, 2048, 300, 4000, 50, 64]
    dealt = [[mistral.flops(lengths=[lengths[2 * m + r]]) for m in range(4)] for r in range(2)]
    work, account = mistral.flops(lengths=lengths), {"seconds": 2, "gpus": 8, "peak_tflops": 400, "pp": 4}
    result = work.waterfall(microbatches=dealt, **account)
    options = ["--lengths", ",".join(map(str, lengths)), "--seconds", "2", "--gpus", "8", "--peak-tflops", "400", "--pp", "4"]
    assert result.to_dict() == json_of_program("waterfall", *options, "--replicas", "2", "--micro-batch-size", "1")
    assert pickle.loads(pickle.dumps(result)).to_json() == result.to_json()
    row = [mistral.flops(lengths=lengths[i : i + 2]) for i in range(0, 8, 2)]
    result = work.waterfall(microbatches=row, **account)
    assert result.to_dict() == json_of_program("waterfall", *options, "--micro-batch-size", "2")
    assert by_step(result)["bubble"].points < by_step(work.waterfall(microbatches=4, **account))["bubble"].points
    wrong: list[tuple[Any, str]] = [
        (row[1:], "microbatches: must contain the whole batch of the step, got 6 sequences together instead of 8"),
        ([dealt[0], dealt[1][1:]], "microbatches: must be at least 1, and the same number in each replica"),
        ([[one.measure(1, gpus=1, peak_tflops=400) for one in row], []], "microbatches: must be at least 1"),
    ]
    for arguments, text in wrong:
        with pytest.raises(floptally.Error) as raised:
            work.waterfall(microbatches=arguments, **account)
        assert str(raised.value).startswith(text), raised.value


def test_the_search_for_the_best_layout_equals_the_output_of_the_command_line_program(mistral: floptally.Cost) -> None:
    network = {"within": 450, "between": 50}
    account: dict[str, Any] = {"seconds": 2.5, "gpus": 16, "peak_tflops": 989, "pp": 4, "tp": 2, "replicas": 2, "microbatches": 8,
                               "network_gbps": network, "gpus_per_node": 8}  # fmt: skip
    options = ["--lengths", "8192", "--global-batch", "16", "--seconds", "2.5", "--gpus", "16", "--peak-tflops", "989",
               "--pp", "4", "--tp", "2", "--replicas", "2", "--microbatches", "8", "--network-gbps", "within=450,between=50",
               "--gpus-per-node", "8", "--best"]  # fmt: skip
    result = mistral.flops(lengths=[8192] * 16).waterfall(**account)
    for more, choice in (
        (["--memory-gib", "80", "--then-zero", "optimizer"], {"memory_gib": 80}),
        (["--memory-gib", "141", "--zero", "none", "--then-zero", "none", "--then-cp", "1"],
         {"memory_gib": 141, "zero": "none", "cp": 1}),
    ):  # fmt: skip
        found = json_of_program("whatif", *options, *more)
        search = result.best(lengths=[8192], global_batch=16, **choice)  # type: ignore[arg-type]
        assert search.to_dict() == found and len(search.layouts) > 3
        assert search.efficiency == found["measured"]["efficiency"]
        assert pickle.loads(pickle.dumps(search)).to_dict() == found
    assert mistral.search(lengths=[8192], global_batch=16, gpus=8, accelerator="H100 SXM").efficiency is None
    at = {"lengths": [8192], "global_batch": 16, "memory_gib": 80}
    wrong: list[tuple[Any, str]] = [
        (lambda: result.best(**{**at, "memory_gib": 0}), "memory_gib: must be a finite number above 0"),
        (lambda: result.best(**at, plan=None), "plan: is already known from the Breakdown of the step: leave plan= out"),
        (lambda: result.what_if(apart={"optimizer": 0.1}).best(**at), "best: cannot use apart=, because Cost.search does not know it: create the"),
        (lambda: result.best(lengths=[8192] * 3), "memory_gib: is missing"),
        (lambda: result.best(lengths=[8192] * 3, memory_gib=80), "global_batch: must be dp x microbatch x accumulation, got 3 for 2 x 1 x 8"),
    ]
    for call, text in wrong:
        with pytest.raises(floptally.Error) as raised:
            call()
        assert str(raised.value).startswith(text), raised.value


# ---- the page ----

PAGE = (SOURCE / "docs" / "waterfall.md").read_text()


def fenced() -> list[tuple[str, str]]:
    """Language and text of each block of the page."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def table_of(text: str) -> dict[str, list[str]]:
    """Points and milliseconds of each line of a table."""
    found = re.findall(r"^(\S.*?) {2,}(-?[\d.]+|-) +(-?[\d.]+|-)(?:  .*)?$", text, re.MULTILINE)
    return {name: numbers for name, *numbers in found}


def test_code_examples_on_the_docs_page_about_waterfalls_run_without_errors(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(SOURCE / "examples")
    scope: dict[str, Any] = {"__name__": "a_script"}
    blocks = fenced()
    compared = sum(
        run(lines, f"docs/waterfall.md, block {number}", scope)
        for number, (language, lines) in enumerate(blocks)
        if language == "python" and "import torch" not in lines
    )
    assert compared == 12
    first = blocks[0][1]
    assert first.startswith("$ floptally waterfall") and first.endswith("\n" + str(scope["step"]))


def hstu() -> floptally.Cost:
    return floptally.cost({"model_type": "hstu", "hidden_size": 1024, "num_layers": 8, "num_attention_heads": 4,
                           "dim_per_head": 256})  # fmt: skip


def test_the_docs_page_waterfall_shows_the_published_hstu_numbers() -> None:
    """63.89 TFLOP a step in 185.407 ms, kernel by kernel; what is no product of the layers is time apart."""
    batch: dict[str, Any] = {"sequences": [(3, 4096, 0)] * 32}
    work, theirs = hstu().flops(**batch), hstu().flops(convention="recsys_examples", **batch)
    apart = {"elementwise": 0.039507, "embedding": 0.010643, "no kernel": 0.006185, "NCCL, exposed": 0.002927,
             "other products": 0.001919, "overlapped": 0.000862 + 0.000248, "others": 0.001217}  # fmt: skip
    step = work.waterfall(seconds=0.185407, gpus=1, peak_tflops=989, apart=apart)
    points = {line.name: -line.points for line in step.lines}
    text = " ".join(PAGE[PAGE.index("## A published step") :].split())
    assert f"{theirs.total / 1e12:.2f} TFLOP" in text and f"{100 * theirs.total / 0.185407 / 989e12:.2f} % by its own" in text
    assert f"**The MFU is {100 * step.mfu:.2f} %**" in text
    assert f"a line of {points['fused attention backward']:.2f} points" in text
    assert f"kernels cost {points['element-wise kernels']:.0f} points" in text
    assert points["element-wise kernels"] > sum(points[name] for name in ("embedding", "no kernel runs", "exposed communication"))


def test_the_docs_page_waterfall_shows_the_published_numbers_of_the_batch_shuffler() -> None:
    """75.6 to 115.8 TFLOP/s of a GPU, on lengths of Zipf's law with exponent 1.2, cut at 4096 items."""
    draw, law = random.Random(0), [n**-1.2 for n in range(1, 4096)]
    law.append(5.591582441177751 - sum(law))  # zeta(1.2): all that is longer is cut
    model, cost_of = hstu(), {}
    largest = even = everything = 0
    for _ in range(100):
        samples = draw.choices(range(1, 4097), law, k=16 * 32)
        for n in set(samples) - cost_of.keys():
            cost_of[n] = model.total_flops(sequences=[(3, 2 * n, 0)])
        costs = [cost_of[n] for n in samples]
        largest += max(sum(costs[gpu : gpu + 32]) for gpu in range(0, 512, 32))
        even += max(floptally.balance(costs, ranks=16).loads)
        everything += sum(costs)
    work = model.flops(sequences=[(3, 4096, 0)] * 32)
    ranks = {"sum": everything, "ranks": 16}
    baseline = work.waterfall(
        seconds=work.total / 75.6e12, gpus=1, peak_tflops=989, rank_work={"largest": largest, **ranks}
    )
    balanced = baseline.what_if(rank_work={"largest": even, **ranks})
    waits = next(-line.points for line in baseline.lines if line.step == "imbalance")
    text = " ".join(PAGE[PAGE.index("## A published step") :].split())
    assert f"won {115.8 / 75.6:.2f}; by its lengths {waits:.0f} points" in text
    assert f"could have won {balanced.mfu / baseline.mfu:.2f}." in text


def test_the_pytorch_example_on_the_docs_page_waterfall_splits_step_time_as_stated_there(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    pytest.importorskip("transformers", reason="transformers is not installed")
    number = next(i for i, (language, lines) in enumerate(fenced()) if language == "python" and "import torch" in lines)
    # Behind the lines of the page: the same steps once more, with PyTorch's own counter.
    again = """
import floptally, json, sys
counts = []
for rows in (True, False):
    meter = floptally.Meter(floptally.cost(train_llama.CONFIG), gpus=1, peak_tflops=9, convention=train_llama.CONVENTION)
    counts.append([one.ran for one in train_llama.train(meter, train_llama.build_model(), steps=23, rows=rows)][3:])
step = {line.step: line.gpu_nanoseconds for line in padded.lines}
executed = sum(step[name] for name in ("useful", "padding", "fused_backward", "masked_tiles"))
json.dump([padded.gpu_nanoseconds, round(padded.seconds * 1e9), executed / step["useful"], sum(counts[0]) / padded.work.total,
           packed.work.executed_total + train_llama.masked_flops(packed.work), sum(counts[1]), then.seconds, packed.seconds],
          sys.stderr)
"""
    (tmp_path / "page.py").write_text(fenced()[number][1] + again)
    path = os.pathsep.join([str(SOURCE / "examples"), *filter(None, [os.environ.get("PYTHONPATH", "")])])
    done = subprocess.run([sys.executable, "-W", "ignore", "page.py"], capture_output=True, text=True, cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": path})  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines, run_of, relative, ran, packed_executed, packed_ran, expected, measured = json.loads(done.stderr.splitlines()[-1])
    assert lines == run_of, "the lines add up to the run"
    assert relative == pytest.approx(ran, rel=1e-6), "all products that PyTorch saw are in the lines"
    assert packed_executed == packed_ran
    assert expected == pytest.approx(measured, rel=0.5)
    own, said = table_of(done.stdout), table_of(fenced()[number + 1][1])
    assert set(own) == set(said)
    # What the text says of them holds of every run, whatever the machine.
    for table in (own, said):
        costs = [float(points) for name, (_, points) in table.items() if name != "measured MFU"]
        assert costs == sorted(costs, reverse=True)
        assert sum(costs) == pytest.approx(100 - float(table["measured MFU"][1]), abs=0.05)
        assert float(table["padding and mock sequences"][0]) > 0.5 * float(table["measured MFU"][0])
        assert float(table["kernels below their peak"][1]) > 25
