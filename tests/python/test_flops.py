# SPDX-License-Identifier: Apache-2.0
"""cost() and flops(): what they take, what they give, and what they refuse."""

from __future__ import annotations

import copy
import inspect
import json
import pathlib
import pickle
import re
import warnings
from typing import Any

import numpy as np
import pytest

import floptally
from conftest import LLAMA_3_8B, SOURCE

#: Llama-3-8B on one sequence of 8192 tokens, as the README has it.
EXACT = 421_651_971_833_856


class Configuration:
    """As transformers' configurations are."""

    def to_dict(self) -> dict[str, Any]:
        return dict(LLAMA_3_8B)


class LlamaForSequenceClassification:
    """As transformers' models are: the class says which head there is."""

    config = Configuration()


def test_a_config_may_be_a_dict_or_a_path_or_an_object_or_a_model(tmp_path: pathlib.Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA_3_8B))
    expected = floptally.cost(LLAMA_3_8B)
    assert floptally.cost(str(tmp_path)) == expected
    assert floptally.cost(tmp_path) == expected
    assert floptally.cost(tmp_path / "config.json") == expected
    assert floptally.cost(Configuration()) == expected
    assert floptally.cost(expected) is not None
    assert floptally.cost(expected) == expected
    assert expected.parameters == 8_030_261_248
    classifier = floptally.cost(LlamaForSequenceClassification())
    assert classifier != expected
    assert classifier.parameters == floptally.cost(
        {**LLAMA_3_8B, "architectures": ["LlamaForSequenceClassification"]}
    ).parameters


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (5, "config: must be a dict, a path, or an object with to_dict(), got 5"),
        ({**LLAMA_3_8B, "hidden_size": float("nan")}, "hidden_size: "),
        ("/no/such/config.json", 'config: cannot read "/no/such/config.json": pass a readable file'),
        ({}, "model_type: is missing; `floptally models` lists the known types"),
        ({**LLAMA_3_8B, "hidden_size": -3}, "hidden_size: "),
    ],
)
def test_an_invalid_config_is_an_error_that_names_the_field(config: Any, message: str) -> None:
    with pytest.raises(floptally.Error) as raised:
        floptally.cost(config)
    assert str(raised.value).startswith(message)
    assert raised.value.field == message.split(":")[0]
    assert str(raised.value) == f"{raised.value.field}: {raised.value.problem}"


#: Llama with a plain MLP in place of the gated one.
PAGE = """spec my_model : llama prefix MyModel
feed: mlp inner .intermediate_size
"""


def test_a_model_spec_passed_by_the_caller_defines_how_a_config_is_read(tmp_path: pathlib.Path) -> None:
    config = {**LLAMA_3_8B, "model_type": "my_model", "architectures": ["MyModelForCausalLM"]}
    with pytest.raises(floptally.Error) as unknown:
        floptally.cost(config)
    assert unknown.value.field == "model_type"
    model = floptally.cost(config, spec=PAGE)
    assert model.model_type == "my_model"
    assert model.parameters == floptally.cost(LLAMA_3_8B).parameters - 32 * 4096 * 14336
    path = tmp_path / "my_model.spec"
    path.write_text(PAGE)
    kin = "spec kin : my_model\nwith num_hidden_layers 7\n"
    for spec in (path, str(path), [path], (PAGE,), [kin, path]):
        assert floptally.cost(config, spec=spec) == model
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert floptally.cost(tmp_path, spec=path) == model
    assert floptally.flops(config, spec=path, lengths=[99]).total == model.flops(lengths=[99]).total
    seven = {name: value for name, value in config.items() if name != "num_hidden_layers"} | {"model_type": "kin"}
    assert floptally.cost(seven, spec=[kin, PAGE]).parameters == floptally.cost(
        {**config, "num_hidden_layers": 7}, spec=PAGE
    ).parameters


@pytest.mark.parametrize(
    ("spec", "field", "said"),
    [
        (PAGE.replace(".intermediate_size", ".intermediate_sise"), "spec my_model:2", '"intermediate_sise"'),
        (PAGE + "\nh = nonsense\n", "spec my_model:4", '"nonsense"'),
        ("spec my_model : lama\n", "spec my_model:1", "nearest: llama"),
        ("\n", "spec ?:1", 'expected "spec NAME"'),
        ("no/such.spec", "spec", 'cannot read "no/such.spec": pass the path of a file or the text of a spec'),
        (["spec a : llama\n", "no/such.spec"], "spec[1]", 'cannot read "no/such.spec"'),
        (7, "spec", "must be the path or the text of a spec, got 7"),
        ([PAGE, None], "spec[1]", "must be the path or the text of a spec, got None"),
    ],
)
def test_an_invalid_model_spec_is_an_error_that_names_the_line_and_the_word(spec: Any, field: str, said: str) -> None:
    with pytest.raises(floptally.Error) as raised:
        floptally.cost({"model_type": "my_model"}, spec=spec)
    assert raised.value.field == field
    assert said in raised.value.problem


def test_passing_a_spec_together_with_a_cost_instead_of_a_config_is_an_error(llama: floptally.Cost) -> None:
    with pytest.raises(floptally.Error, match="spec: says how to read a config, but `config` is a Cost, which was read already: leave spec= out"):
        floptally.cost(llama, spec=PAGE)
    with pytest.raises(floptally.Error, match="^spec: "):
        floptally.flops(llama, spec=PAGE, lengths=[9])


def test_an_unread_config_key_is_noted_and_is_an_error_in_strict_mode() -> None:
    config = {**LLAMA_3_8B, "num_shared_experts": 4}
    with pytest.warns(floptally.AssumptionWarning, match="num_shared_experts"):
        assert floptally.cost(config, strict=False).notes == ["config has a size that is not read: num_shared_experts (4)"]
    with pytest.raises(floptally.Error, match="^num_shared_experts: is not read by spec llama"):
        floptally.cost(config, strict=True)
    assert floptally.cost(LLAMA_3_8B, strict=True) == floptally.cost(LLAMA_3_8B)


def test_floptally_errors_are_python_value_errors_and_can_be_pickled() -> None:
    assert issubclass(floptally.Error, ValueError)
    assert issubclass(floptally.Overflow, (floptally.Error, OverflowError))
    error = floptally.Error("gpus", "must be at least 1, got 0")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.field, again.problem) == ("gpus: must be at least 1, got 0", "gpus", error.problem)


def test_flops_of_a_config_dict_and_of_a_cost_are_exact_ints(llama: floptally.Cost) -> None:
    work = floptally.flops(LLAMA_3_8B, lengths=[8192])
    assert isinstance(work.total, int)
    assert work.total == work.useful.total == EXACT == llama.flops(lengths=[8192]).total
    assert work.useful.forward + work.useful.backward + work.useful.recompute == EXACT
    assert work.executed_total > work.padded_total == EXACT
    parts = work.useful.components
    assert list(parts) == ["attention.qkv", "attention.core", "attention.output", "mlp", "lm_head"]
    assert sum(one.total for one in parts.values()) == EXACT
    assert parts["mlp"].name == "mlp"
    assert parts["mlp"].backward == 2 * parts["mlp"].forward
    assert work.statistics["tokens"] == {"useful": 8192, "padded": 8192}
    assert work.statistics["pairs"] == [
        {"mask": "causal", "value": {"useful": 8192 * 8193 // 2, "padded": 8192 * 8193 // 2}}
    ]


def test_flops_above_64_bits_are_exact_ints() -> None:
    giant = floptally.cost(
        {
            **LLAMA_3_8B,
            "hidden_size": 16384,
            "intermediate_size": 53248,
            "num_hidden_layers": 126,
            "num_attention_heads": 128,
        }
    )
    one = giant.flops(lengths=[131072])
    many = giant.flops(lengths=[131072] * 1000)
    assert many.total > 2**64
    assert many.total == 1000 * one.total
    assert int(many.to_dict()["flops"]["useful"]["total"]) == many.total
    assert str(many.total) in str(many)
    wide = floptally.Cost.from_entries([("a", "tokens", "linear", 2**59 // 3), ("b", "squares", "detached", 1)])
    lengths = [2**32 - 1]
    by_hand = 3 * (2**59 // 3) * (2**32 - 1) + (2**32 - 1) ** 2
    assert wide.flops(lengths=lengths).total == by_hand > 2**90
    assert floptally.readable(421_651_971_833_856) == "421.65 TFLOP"
    assert floptally.readable(2**100) == "1.27 QFLOP"
    with pytest.raises(floptally.Error, match="flops: must be an integer from 0 to"):
        floptally.readable(2**128)
    with pytest.raises(floptally.Error, match="flops: must be an integer from 0 to"):
        floptally.readable(-1)


def test_padding_and_mock_sequences_count_as_padded_flops_and_never_as_useful_flops(mistral: floptally.Cost) -> None:
    work = mistral.flops(cu_seqlens=[0, 700, 6000, 8192], cu_seqlens_padded=[0, 768, 6144, 8448], num_real_seqs=2)
    assert work.total == mistral.flops(lengths=[700, 5300]).total
    assert work.padded_total == mistral.flops(lengths=[768, 5376, 2304]).total
    assert work.statistics["tokens"] == {"useful": 6000, "padded": 8448}
    remaining = mistral.flops(
        cu_seqlens=[0, 700, 6000, 8192], cu_seqlens_padded=[0, 768, 6144, 8448], cu_seqlens_real=[0, 700, 6000]
    )
    assert remaining.to_dict() == work.to_dict()
    mutated = mistral.flops(cu_seqlens=[0, 700, 6000, 8192], cu_seqlens_real=[0, 700, 6000])
    assert mutated.total == work.total
    assert mutated.padded_total == mistral.flops(lengths=[700, 5300, 2192]).total
    assert work.padded.forward > work.useful.forward
    assert work.executed.components["attention.core"].backward > work.padded.components["attention.core"].backward
    rows = mistral.flops(lengths=[700, 5300], row_length=6144)
    assert (rows.total, rows.padded_total) == (work.total, mistral.flops(lengths=[6144, 6144]).total)
    flags = [[1] * 700 + [0] * 5444, [0] * 844 + [1] * 5300]
    masked = mistral.flops(attention_mask=flags)
    assert (masked.total, masked.padded_total) == (rows.total, rows.padded_total)


def test_padding_by_cause_adds_up_to_all_padding_and_equals_the_output_of_the_command_line_program() -> None:
    small = {**LLAMA_3_8B, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "vocab_size": 97}
    small |= {"num_attention_heads": 4, "num_key_value_heads": 2}

    def one(length: int, vocabulary: int = 97) -> int:  # of one sequence, every token of it real
        return floptally.flops({**small, "vocab_size": vocabulary}, lengths=[length]).total

    expected = {
        "useful": 2 * one(3),
        "in_slots": 2 * (one(4) - one(3)),
        "mock": one(4),
        "vocabulary": 3 * (one(4, 128) - one(4)),
    }
    cost = floptally.cost(small, padded_vocab_size=128)
    named: list[dict[str, Any]] = [
        {"lengths": [3, 3, 0], "row_length": 4},
        {"attention_mask": [[1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 0, 0]]},
        {"attention_mask": np.array([[1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 0, 0]], bool)},
        {"cu_seqlens": [0, 3, 6, 6], "cu_seqlens_padded": [0, 4, 8, 12]},
        {"cu_seqlens": [0, 3, 6, 8], "cu_seqlens_padded": [0, 4, 8, 12], "num_real_seqs": 2},
    ]
    for batch in named:
        work = cost.flops(**batch)
        assert work.padding == expected
        assert sum(expected.values()) == work.padded_total
        assert work.to_dict()["padding"] == {name: str(spent) for name, spent in expected.items()}
        assert "\n  mock sequences " in str(work)
        # What was counted before does not say which of its sequences were real.
        assert cost.flops(tally=work.tally).padding is None
        meter = floptally.Meter(cost, gpus=1, peak_tflops=1.0)
        with meter.step(seconds=1.0):
            meter.add(**batch)
        assert (meter.breakdown().padding, meter.run.padded) == (None, work.padded_total)
    dense = floptally.Tally(cost)
    dense.add_lengths([4])
    more = cost.flops(lengths=[3, 3, 0], row_length=4, tally=dense)
    assert more.padding == {
        **expected,
        "useful": expected["useful"] + one(4),
        "vocabulary": expected["vocabulary"] * 4 // 3,
    }
    assert floptally.flops(small, lengths=[3, 4]).padding is None
    assert "mock sequences" not in str(floptally.flops(small, lengths=[3, 4]))


def test_flops_of_the_muon_optimizer_count_once_a_step_as_a_separate_component(llama: floptally.Cost) -> None:
    def iterations(rows: int, columns: int) -> int:  # of one matrix: X Xᵀ, A A and (bA + cA²) X
        m, n = sorted((rows, columns))
        return 5 * (2 * m * m * n + 2 * m**3 + 2 * m * m * n)

    attention = 2 * iterations(4096, 4096) + 2 * iterations(1024, 4096)
    mlp = 3 * iterations(14336, 4096)
    cost = llama.with_muon()
    steps = {"optimizer_steps": 2}
    work = cost.flops(lengths=[512], measured=steps)
    assert work.useful.components["optimizer.muon"].total == 2 * 32 * (attention + mlp)
    assert work.total == llama.flops(lengths=[512]).total + 2 * 32 * (attention + mlp)
    assert cost.flops(lengths=[512], measured=steps, convention="megatron").total == (
        llama.flops(lengths=[512], convention="megatron").total
    )
    assert llama.with_muon(others=["attention.*"]).flops(lengths=[5], measured=steps).useful.components[
        "optimizer.muon"
    ].total == 2 * 32 * mlp
    adapters = floptally.Plan(weights=[floptally.WeightSetting("*", "frozen"), floptally.WeightSetting("*/q_proj", "lora", rank=16)])
    lora = llama.with_muon(plan=adapters).flops(lengths=[5], plan=adapters, measured=steps)
    assert lora.useful.components["optimizer.muon"].total == 2 * 32 * 2 * iterations(16, 4096)
    assert not lora.is_upper_bound
    assert pickle.loads(pickle.dumps(cost)) == cost != llama
    meter = floptally.Meter(cost, gpus=1, peak_tflops=989.0)
    with meter.step(seconds=1.0):
        meter.add(lengths=[512])
        meter.add(measured={"optimizer_steps": 1})
    assert meter.run.useful == llama.flops(lengths=[512]).total + 32 * (attention + mlp)
    with pytest.raises(floptally.Error, match=r"^measured\(optimizer_steps\): the cost needs this amount"):
        cost.flops(lengths=[512])
    with pytest.raises(floptally.Error, match='^others\\[1\\]: no weight of this model is named "mpl"'):
        llama.with_muon(others=["mlp", "mpl"])
    by_hand = floptally.Cost.from_entries([("mlp", "tokens", "linear", 48, 24)])
    with pytest.raises(floptally.Error, match="^mlp: Muon needs the rows and columns of this component's weights: state them"):
        by_hand.with_muon()
    with pytest.raises(floptally.Error, match="^iterations: must be at least 1, got 0"):
        llama.with_muon(iterations=0)


def test_flops_of_the_muon_optimizer_equal_the_matmuls_of_the_muon_optimizer_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    if not hasattr(torch.optim, "Muon"):
        pytest.skip("this PyTorch has no Muon")
    from torch.utils.flop_counter import FlopCounterMode

    config = transformers.LlamaConfig(
        vocab_size=97, hidden_size=24, intermediate_size=40, num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=2
    )
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(config)
    for taken in (model.model.layers, [layer.mlp for layer in model.model.layers]):
        weights = [one for part in taken for one in part.parameters() if one.ndim == 2]
        for one in weights:
            one.grad = torch.randn_like(one)
        for iterations in (5, 3):
            optimizer = torch.optim.Muon(weights, ns_steps=iterations)
            with FlopCounterMode(display=False) as counter:
                optimizer.step()
            others = [] if taken is model.model.layers else ["attention.*"]
            cost = floptally.cost(config).with_muon(iterations=iterations, others=others)
            work = cost.flops(lengths=[9], measured={"optimizer_steps": 1}).useful.components["optimizer.muon"]
            assert work.total == counter.get_total_flops() > 0


def test_every_flop_counting_convention_has_a_name_and_can_be_pickled(llama: floptally.Cost) -> None:
    names = [one.name for one in floptally.conventions()]
    assert names[0] == "exact" and len(set(names)) == len(names) > 10
    table = {"megatron": 421_645_529_382_912, "verl": 447_466_872_766_464, "palm": 500_256_517_128_192}
    for name, expected in table.items():
        work = llama.flops(lengths=[8192], convention=name)
        assert (work.total, work.convention) == (expected, name)
    palm = next(one for one in floptally.conventions() if one.name == "palm")
    assert str(palm) == "palm" and palm.summary and pickle.loads(pickle.dumps(palm)) == palm
    assert llama.flops(lengths=[8192], convention=palm).total == table["palm"]
    with pytest.raises(floptally.Error, match='convention: unknown name "megatorn"; known: exact, '):
        llama.flops(lengths=[8192], convention="megatorn")


def test_a_plan_selects_the_passes_that_run_and_the_weights_that_train(llama: floptally.Cost) -> None:
    def flops(**plan: Any) -> floptally.Breakdown:
        return llama.flops(lengths=[4096], plan=floptally.Plan(**plan))

    train = flops()
    assert flops(phase="forward").total == train.useful.forward
    assert flops(phase="backward").total == train.useful.backward
    full = flops(recompute="full")
    head = train.useful.components["lm_head"].forward
    assert full.executed.recompute == train.useful.forward - head and full.useful.recompute == 0
    core = train.useful.components["attention.core"].forward
    assert flops(recompute="attention").executed.recompute == core
    assert flops(recompute_components=["mlp"]).executed.recompute == train.useful.components["mlp"].forward
    assert flops(recompute="full", recompute_every=2).executed.recompute == full.executed.recompute // 2
    assert flops(flash_attention=False).executed_total == train.padded_total
    assert train.executed_total - train.padded_total == core // 2


def test_redundant_work_counts_as_executed_on_each_rank_and_as_useful_once() -> None:
    cost = floptally.cost(VLM)
    layout = floptally.ParallelLayout(rank=0, dp=3, cp=2, tp=4)
    plan = layout.with_redundant_work({"vision.*": ["cp", "tp"]}, plan=floptally.Plan(recompute="full"))
    assert plan == floptally.Plan(recompute="full", repeated={"vision.*": 8})
    once = cost.flops(lengths=[99], images=1, plan=floptally.Plan(recompute="full"))
    work = cost.flops(lengths=[99], images=1, plan=plan)
    vision = sum(one.total for name, one in once.executed.components.items() if name.startswith("vision."))
    assert (work.total, work.padded_total) == (once.total, once.padded_total)
    assert work.executed_total == once.executed_total + 7 * vision
    # Of names that fit the same the last one holds, in the order of the dict.
    repeated = {"vision.*": ["cp"], "*": ["tp"]}
    assert cost.flops(lengths=[99], images=1, plan=layout.with_redundant_work(repeated)).executed_total == (
        4 * cost.flops(lengths=[99], images=1).executed_total
    )
    with pytest.raises(floptally.Error, match="^redundant_work: ep cannot be used, because its ranks are also ranks of dp x cp"):
        layout.with_redundant_work({"moe.*": ["ep"]})
    with pytest.raises(floptally.Error, match="^redundant_work: must be a dict of names"):
        layout.with_redundant_work({"vision.*": "cp"})  # type: ignore[dict-item]


def test_lora_and_frozen_weights_are_counted_layer_by_layer(llama: floptally.Cost) -> None:
    train = llama.flops(lengths=[4096])
    frozen = floptally.WeightSetting("*", "frozen")
    upper = llama.flops(
        lengths=[4096], plan=floptally.Plan(weights=[frozen, floptally.WeightSetting("*", "trainable", first_layer=16)])
    )
    mlp = train.useful.components["mlp"]
    # Nothing flows into the lower half, where nothing trains: its stages are known, layer by layer.
    assert upper.useful.components["mlp"].backward == mlp.backward // 2
    lora = llama.flops(
        lengths=[4096],
        plan=floptally.Plan(weights=[frozen, floptally.WeightSetting("attention.qkv/q_proj", "lora", rank=16)]),
    )
    # Layers pass gradients to data and have none to weights, but for the adapters of every layer, whose own input
    # needs no gradient in the first.
    adapter = 2 * 4096 * 16 * (4096 + 4096) * 32
    qkv = train.useful.components["attention.qkv"]
    assert lora.useful.components["attention.qkv"].forward == qkv.forward + adapter
    assert lora.useful.components["mlp"].backward == mlp.forward
    with pytest.raises(floptally.Error):
        floptally.WeightSetting("mlp", "thawed")


def test_plans_and_weight_settings_compare_by_value_and_can_be_pickled() -> None:
    plan = floptally.Plan(recompute="full", weights=[floptally.WeightSetting("mlp", "lora", rank=8, first_layer=0, last_layer=3)])
    again = pickle.loads(pickle.dumps(plan))
    assert again == plan and again.weights == plan.weights and again.weights[0].last_layer == 3
    assert plan != floptally.Plan()
    assert floptally.Plan().weights == [] and floptally.WeightSetting().first_layer is None
    assert "lora" in repr(plan)
    assert floptally.Plan(flash_attention=False) != floptally.Plan()
    assert pickle.loads(pickle.dumps(floptally.Plan(phase="forward", recompute_every=3))).recompute_every == 3
    repeated = floptally.Plan(repeated={"mlp": 4, "attention.*": 2})
    assert pickle.loads(pickle.dumps(repeated)) == repeated
    assert repeated.repeated == {"mlp": 4, "attention.*": 2}


def test_costs_compare_by_value_and_can_be_pickled_and_added(llama: floptally.Cost, mistral: floptally.Cost) -> None:
    again = pickle.loads(pickle.dumps(llama))
    assert again == llama and again.model_type == "llama" and again.notes == llama.notes
    some = floptally.Plan(weights=[floptally.WeightSetting("*", "frozen"), floptally.WeightSetting("*", first_layer=30)])
    assert again.flops(lengths=[512], plan=some).total == llama.flops(lengths=[512], plan=some).total
    both = llama + mistral
    lengths = [100, 5000]
    assert both.flops(lengths=lengths).total == sum(one.flops(lengths=lengths).total for one in (llama, mistral))
    assert (3 * llama).flops(lengths=lengths).total == 3 * llama.flops(lengths=lengths).total
    assert both.parameters == llama.parameters + mistral.parameters
    assert both != llama and llama != "llama"
    assert [mask.name for mask in both.masks] == ["causal", "sliding_window(4096)"]


def test_a_pickle_of_a_floptally_version_with_different_flop_counts_is_an_error(llama: floptally.Cost) -> None:
    remaining = [llama, floptally.Tally(llama), floptally.Plan(), floptally.Mask.causal(), llama.flops(lengths=[3])]
    for value in [*remaining, floptally.Meter(llama, gpus=1, peak_tflops=989)]:
        of, attributes, numbers, made_by = value.__getstate__()
        assert (numbers, made_by) == (floptally.numbers_version, floptally.__version__)
        for other in (numbers - 1, numbers + 1):
            again = type(value).__new__(type(value))
            with pytest.raises(floptally.Error, match=rf"^numbers_version: the pickle was written with numbers_version {other} \(floptally 7.8.9\), "):
                again.__setstate__((of, attributes, other, "7.8.9"))
        with pytest.raises(floptally.Error, match="^state: was pickled by an old version of floptally"):
            type(value).__new__(type(value)).__setstate__((of, attributes))


def test_a_cost_or_plan_or_tally_accepts_any_number_of_components_or_weight_settings_or_masks() -> None:
    masks = [floptally.Mask.sliding_window(m + 1) for m in range(40)]
    rows = [floptally.Entry(f"part.{i}", "tokens", "linear", 2 * (i + 1), i + 1, weight=f"w{i % 60}") for i in range(200)]
    rows += [floptally.Entry(f"part.{i}", masks[i % 40], "scores", 2 * (i + 2)) for i in range(200)]
    cost = floptally.Cost.from_entries(rows)
    assert cost.entries == rows and cost.masks == masks and len(cost.components) == 200
    again = pickle.loads(pickle.dumps(cost))
    assert again == cost
    lengths = [1, 7, 300]
    pairs = [sum(min(row + 1, m + 1) for n in lengths for row in range(n)) for m in range(40)]
    forward = [2 * (i + 1) * sum(lengths) + 2 * (i + 2) * pairs[i % 40] for i in range(200)]
    counted = again.flops(lengths=lengths)
    assert {name: part.forward for name, part in counted.useful.components.items()} == {
        f"part.{i}": forward[i] for i in range(200)
    }
    tally = floptally.Tally(cost)
    tally.add_lengths(lengths)
    assert pickle.loads(pickle.dumps(tally)) == tally and cost.flops(tally=tally).total == counted.total
    settings = [floptally.WeightSetting("*", "frozen")] + [floptally.WeightSetting(f"part.{i}", "trainable") for i in range(39)]
    plan = pickle.loads(pickle.dumps(floptally.Plan(weights=settings)))
    assert plan.weights == settings
    trained = cost.flops(lengths=lengths, plan=plan).useful.components
    assert trained["part.38"].backward > 0 and trained["part.0"].backward > 2 * sum(lengths)


def test_a_cost_can_be_rebuilt_from_the_entries_that_it_lists(llama: floptally.Cost) -> None:
    assert floptally.Cost.from_entries(llama.entries) == llama
    core = [row for row in llama.entries if row.component == "attention.core" and row.kind == "scores"]
    assert [row.flops_per_unit for row in core] == [2 * 32 * 128 * 32]
    assert core[0].unit == floptally.Mask.causal()
    tuples = [(row.component, row.unit, row.kind, row.flops_per_unit, row.parameters) for row in llama.entries]
    plain = floptally.Cost.from_entries(tuples, model_type="rows of llama", notes=["by hand"])
    assert plain.model_type == "rows of llama" and plain.notes == ["by hand"]
    assert plain.flops(lengths=[8192]).total == EXACT
    assert plain.parameters == llama.parameters
    row = floptally.Entry("mlp", "tokens", "linear", 12, 6, padded_flops_per_unit=16, weight="up_proj")
    assert pickle.loads(pickle.dumps(row)) == row and hash(row) == hash(pickle.loads(pickle.dumps(row)))
    assert (row.padded_flops_per_unit, row.weight, row.tower) == (16, "up_proj", "text")
    assert (row.split, row.units, row.inner_units) == ("unsaid", 0, 0)
    remaining = {entry.weight: (entry.split, entry.units, entry.inner_units) for entry in pickle.loads(pickle.dumps(llama)).entries}
    assert remaining["q_proj"] == ("heads", 32, 0) and remaining["k_proj"] == ("kv_heads", 8, 128)
    assert remaining["down_proj"] == ("rows", 14336, 0)
    said = floptally.Entry("mine", "tokens", "linear", 12, split="kv_heads", units=4, inner_units=8)
    assert pickle.loads(pickle.dumps(said)) == said != floptally.Entry("mine", "tokens", "linear", 12)
    assert (said.split, said.units, said.inner_units) == ("kv_heads", 4, 8)
    with pytest.raises(floptally.Error, match="split: must be one of unsaid, several, columns"):
        floptally.Entry("mine", "tokens", "linear", 12, split="halves")
    padded = floptally.Cost.from_entries([row]).flops(lengths=[10])
    assert (padded.useful.forward, padded.padded.forward) == (120, 160)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("", "tokens", "linear", 1), "entries[0].component: a name must have 1 to 39 characters"),
        (("a", "token", "linear", 1), "entries[0].unit: must be one of count, tokens, keys"),
        (("a", 5, "linear", 1), "entries[0].unit: must be the name of a statistic or a floptally.Mask, got 5"),
        (("a", "tokens", "liner", 1), "entries[0].kind: must be one of linear, input_linear"),
        (("a", "tokens", "linear", -1), "entries[0].flops_per_unit: must be an integer from 0 to 18446744073709551615, got -1"),
        (("a", "tokens", "linear", 2**64), "entries[0].flops_per_unit: must be an integer from 0"),
        (("a", "tokens", "linear", 1.5), "entries[0].flops_per_unit: must be an integer from 0"),
        (("a", "tokens", "linear"), "entries[0].row: must be a floptally.Entry or (component, unit, kind, flops_per_unit"),
        ((5, "tokens", "linear", 1), "entries[0].component: must be a str, got 5"),
        (("a", "tokens", "linear", 1, "6"), "entries[0].parameters: must be an integer from 0"),
    ],
)
def test_an_invalid_cost_entry_is_an_error_that_names_the_field(row: tuple[Any, ...], message: str) -> None:
    with pytest.raises(floptally.Error) as raised:
        floptally.Cost.from_entries([row])
    assert str(raised.value).startswith(message)


def test_a_breakdown_prints_the_table_and_json_of_the_command_line_program(llama: floptally.Cost) -> None:
    work = llama.flops(lengths=[8192])
    text = str(work)
    assert text.startswith("llama: forward and backward, recompute none\nconvention exact: ")
    assert f"useful total, exact: {EXACT} FLOP (floptally {floptally.__version__})" in text
    report = work.to_dict()
    assert list(report) == ["version", "numbers_version", "model_type", "convention", "statistics", "flops", "parameters", "notes"]
    assert report["flops"]["useful"]["total"] == str(EXACT)
    assert report["statistics"]["tokens"] == {"useful": "8192", "padded": "8192"}
    assert repr(work) == f"<Breakdown of llama: {EXACT} useful FLOPs, exact>"


def test_a_notebook_shows_a_breakdown_as_a_small_table_with_escaped_html(llama: floptally.Cost) -> None:
    html = llama.flops(lengths=[8192])._repr_html_()
    assert html.startswith("<table>") and html.count("<tr>") == html.count("</tr>") == 4 + 1 + 6 + 1 + 3
    cells = [re.sub("<[^>]*>", "|", row).split("||") for row in html.split("</tr>")]
    work, share = llama.flops(lengths=[8192]), "33.33 %"
    assert next(row for row in cells if row[1] == "forward")[2:6:2] == [floptally.readable(work.useful.forward)] * 2
    assert share in html and "100.00 %" in html and "pairs, causal" in html and "8 192" in html
    assert "attention.core" in html and "421.65 TFLOP" in html and f'title="{EXACT}"' in html
    hostile = floptally.Cost.from_entries(
        [('<b>&"x"', "tokens", "linear", 2)], model_type="<script>alert(1)</script>", notes=["a < b & c"]
    )
    html = hostile.flops(lengths=[1])._repr_html_()
    assert "<script>" not in html and "<b>" not in html
    assert "&lt;script&gt;" in html and "&lt;b&gt;&amp;&quot;x&quot;" in html and "a &lt; b &amp; c" in html
    measured = llama.flops(lengths=[8192]).measure(1.0, gpus=1, peak_tflops=989)._repr_html_()
    assert "42.63 %" in measured


def test_a_plan_for_a_cost_built_from_entries_gives_an_upper_bound_with_a_note(llama: floptally.Cost) -> None:
    head = floptally.Plan(weights=[floptally.WeightSetting("*", "frozen"), floptally.WeightSetting("lm_head", "trainable")])
    exact = llama.flops(lengths=[512], plan=head)
    assert not exact.is_upper_bound and exact.notes == llama.notes
    rows = floptally.Cost.from_entries(llama.entries)
    most = rows.flops(lengths=[512], plan=head)
    assert most.is_upper_bound and most.total > exact.total
    assert most.notes[-1].startswith("an upper bound: ")
    assert most.to_dict()["upper_bound"] is True and "upper_bound" not in exact.to_dict()
    assert "note: an upper bound: " in str(most) and "<p>an upper bound: " in most._repr_html_()
    assert not rows.flops(lengths=[512]).is_upper_bound


def test_a_breakdown_with_a_measured_step_time_has_an_mfu(llama: floptally.Cost) -> None:
    work = llama.flops(lengths=[8192])
    step = work.measure(0.8, gpus=2, accelerator="NVIDIA H100 80GB HBM3")
    assert step.mfu == pytest.approx(EXACT / 0.8 / 2 / 989e12, rel=1e-15)
    assert step.padded_mfu == step.mfu < step.hfu
    assert step.tflops_per_gpu == pytest.approx(EXACT / 1e12 / 1.6)
    assert step.tokens_per_second == 8192 / 0.8
    assert step.to_dict()["mfu"]["accelerator"] == "H100 SXM" and "MFU" in str(step)
    by_peak = work.measure(0.8, gpus=2, peak_tflops=494.5)
    assert by_peak.mfu == pytest.approx(2 * step.mfu, rel=1e-15)
    assert by_peak.to_dict()["mfu"]["accelerator"] is None
    fp8 = work.measure(0.8, gpus=2, accelerator=floptally.accelerator("H100 SXM"), precision="fp8")
    assert fp8.mfu < step.mfu
    with pytest.raises(floptally.Error, match="seconds: are unknown: call Breakdown.measure"):
        _ = work.mfu
    with pytest.raises(floptally.Error, match="seconds: must be a finite number above 0"):
        work.measure(0, gpus=2, peak_tflops=989)
    with pytest.raises(floptally.Error, match="accelerator: is missing"):
        work.measure(1, gpus=2)
    with pytest.raises(floptally.Error, match="gpus: must be an integer from 1"):
        work.measure(1, gpus=0, peak_tflops=989)


def test_precision_names_of_pytorch_are_known_and_an_impossible_mfu_warns(llama: floptally.Cost) -> None:
    class Dtype:
        def __str__(self) -> str:
            return "torch.bfloat16"

    work = llama.flops(lengths=[8192])
    for precision in ("bfloat16", "BF16", Dtype()):
        assert work.measure(1, gpus=1, accelerator="H100 SXM", precision=precision).to_dict()["mfu"]["precision"] == "bf16"  # type: ignore[arg-type]
    assert floptally.accelerator("H100 SXM").peak_tflops("float16") == 989
    impossible = r"^mfu: 426\.3\d % is above 100 %: check seconds, gpus and the peak, one of them is wrong$"
    with pytest.warns(RuntimeWarning, match=impossible):
        work.measure(0.1, gpus=1, peak_tflops=989)
    meter = floptally.Meter(llama, gpus=1, peak_tflops=989)
    with pytest.warns(RuntimeWarning, match="^mfu: "), meter.step(seconds=0.1):
        meter.add(lengths=[8192])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        work.measure(1, gpus=1, peak_tflops=989)


def test_passing_expert_visits_to_a_dense_model_is_an_error(llama: floptally.Cost) -> None:
    with pytest.raises(floptally.Error, match="^routed: llama needs no measured expert visits"):
        llama.flops(lengths=[5], routed=(9, 10))


def test_passing_config_options_with_a_cost_is_an_error(llama: floptally.Cost) -> None:
    for option in ({"mla": "absorbed"}, {"mtp": 1}, {"padded_vocab_size": 129024}, {"strict": True}, {"strict": False}):
        with pytest.raises(floptally.Error, match=f"^{next(iter(option))}: says how to read a config"):
            floptally.flops(llama, lengths=[5], **option)  # type: ignore[arg-type]
    assert floptally.flops(llama, lengths=[5], mla="expanded", mtp=0, spec=None, strict=None).total


def test_a_breakdown_can_be_pickled(mistral: floptally.Cost) -> None:
    frozen = floptally.WeightSetting("*", "frozen")
    lora = floptally.Plan(weights=[frozen, floptally.WeightSetting("attention.qkv", "lora", rank=16)])
    for work in (
        mistral.flops(lengths=[512, 9000], row_length=9000, convention="megatron", plan=lora),
        mistral.flops(lengths=[5]).measure(0.8, gpus=8, accelerator="H100 SXM"),
        floptally.cost({"model_type": "qwen2_vl"}).flops(lengths=[500], grid_thw=[(1, 4, 4)]),
    ):
        same = pickle.loads(pickle.dumps(work))
        assert same.to_dict() == work.to_dict() and str(same) == str(work) and same.statistics == work.statistics
        assert copy.deepcopy(work).total == work.total and len(pickle.dumps(work)) < 20000


def test_statistics_of_a_breakdown_equal_the_statistics_in_its_json_report(mistral: floptally.Cost) -> None:
    def ints(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: one if key == "mask" else ints(one) for key, one in value.items()}
        return [ints(one) for one in value] if isinstance(value, list) else int(value)

    for work in (
        mistral.flops(lengths=[512, 9000], row_length=9000),
        mistral.flops(lengths=[512, 9000], convention="verl"),
        floptally.cost({"model_type": "qwen2_vl"}).flops(lengths=[500], grid_thw=[(1, 4, 4)]),
        floptally.cost({"model_type": "qwen2_audio"}).flops(lengths=[2000], audio_frames=[3000]),
    ):
        assert work.statistics == ints(work.to_dict()["statistics"])


def test_the_method_total_flops_equals_the_useful_or_padded_or_executed_total_of_the_breakdown(mistral: floptally.Cost) -> None:
    frozen = floptally.WeightSetting("*", "frozen")
    lora = floptally.Plan(weights=[frozen, floptally.WeightSetting("attention.qkv", "lora", rank=16)])
    for plan in (None, lora):
        for convention in ("exact", "verl"):
            arguments: dict[str, Any] = {"lengths": [5, 9000], "row_length": 9000, "plan": plan, "convention": convention}
            work = mistral.flops(**arguments)
            assert floptally.flops(mistral, **arguments).to_dict() == work.to_dict()
            for view in ("useful", "padded", "executed"):
                assert mistral.total_flops(view=view, **arguments) == getattr(work, view).total
    assert floptally.cost(mistral) is mistral  # what it was folded to is not thrown away


def test_a_breakdown_with_a_measured_step_time_has_a_mixed_precision_mfu(llama: floptally.Cost) -> None:
    plan = floptally.Plan(weights=[floptally.WeightSetting("*", "frozen"), floptally.WeightSetting("mlp", "trainable")])
    work = llama.flops(lengths=[8192], plan=plan)
    step = work.measure(0.8, gpus=2, accelerator="H100 SXM", precisions="mlp=fp8")
    bf16, fp8 = (floptally.accelerator("H100 SXM").peak_tflops(name) for name in ("bf16", "fp8"))
    mlp = work.useful.components["mlp"].total
    needed = (mlp / fp8 + (work.total - mlp) / bf16) / 1e12
    assert step.mixed_mfu == pytest.approx(needed / 1.6)
    assert step.mixed_peak_tflops == pytest.approx(work.total / 1e12 / needed)
    assert step.mfu == work.measure(0.8, gpus=2, accelerator="H100 SXM").mfu
    mixed = {"useful": step.mixed_mfu, "peak_tflops": step.mixed_peak_tflops}
    assert step.to_dict()["mfu"]["mixed_precision"] == mixed and "\n  mixed-precision MFU " in str(step)
    # By layer: half of them at half the peak are as if three quarters of the layers' work were more.
    layers = work.measure(1, gpus=1, peak_tflops=100.0, precisions="@0-15=50")
    head = work.useful.components["lm_head"].total
    assert layers.mixed_mfu > 1.4 * (work.total - head) / 1e14
    with pytest.raises(floptally.Error, match="precisions: are unknown: pass precisions="):
        _ = work.measure(1, gpus=1, peak_tflops=1.0).mixed_mfu
    with pytest.raises(floptally.Error, match="^layers: must be a range of the 32 layers, got 0 to 33"):
        work.measure(1, gpus=1, peak_tflops=1.0, precisions="@0-32=2")


def test_a_plan_selects_how_the_training_of_an_attention_indexer_is_counted() -> None:
    model = floptally.cost({"model_type": "deepseek_v32", "hidden_size": 64, "intermediate_size": 96,
                            "moe_intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
                            "num_key_value_heads": 4, "q_lora_rank": 24, "kv_lora_rank": 16, "qk_nope_head_dim": 16,
                            "qk_rope_head_dim": 8, "v_head_dim": 16, "n_routed_experts": 4, "n_shared_experts": 1,
                            "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1, "first_k_dense_replace": 1,
                            "index_n_heads": 3, "index_head_dim": 8, "index_topk": 5, "vocab_size": 128})
    totals = [floptally.flops(model, lengths=[40], plan=floptally.Plan(indexer=how)).total
              for how in ("frozen", "sparse_loss", "dense_loss", "warm_up")]
    assert totals == sorted(set(totals)) and totals[0] == floptally.flops(model, lengths=[40]).total
    plan = floptally.Plan(indexer="warm_up")
    assert plan.indexer == "warm_up" and pickle.loads(pickle.dumps(plan)) == plan != floptally.Plan()
    with pytest.raises(floptally.Error, match="indexer: "):
        floptally.Plan(indexer="yes")


def test_a_measured_mfu_names_the_kind_of_peak_and_the_quality_of_its_source() -> None:
    model = floptally.cost({"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 1,
                            "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 256})
    work = floptally.flops(model, lengths=[8])
    plain = work.measure(1, gpus=1, accelerator="H100 SXM").to_dict()["mfu"]
    assert plain["peak_kind"] == "datasheet" and "peak_quality" not in plain
    boost = work.measure(1, gpus=1, accelerator="H100 SXM", clock_mhz=1980).to_dict()["mfu"]
    assert boost["peak_kind"] == "boost" and boost["peak_tflops"] == pytest.approx(132 * 4096 * 1980e-6)
    assert work.measure(1, gpus=1, peak_tflops=748, peak_kind="measured").to_dict()["mfu"]["peak_kind"] == "measured"
    quoted = work.measure(1, gpus=1, accelerator="NVIDIA H20")
    assert quoted.to_dict()["mfu"]["peak_quality"] == "third_party"
    assert any(note.startswith("the peak is quoted by a third party: ") for note in quoted.notes)
    assert "quoted by a third party" in quoted._repr_html_()
    meter = floptally.Meter(model, gpus=1, accelerator="NVIDIA H20")
    assert (meter.peak_kind, meter.peak_quality) == ("datasheet", "third_party")
    with pytest.raises(floptally.Error, match="clock_mhz: is missing"):
        work.measure(1, gpus=1, accelerator="H100 SXM", peak_kind="boost")
    with pytest.raises(floptally.Error, match="clock_mhz: "):
        floptally.Meter(model, gpus=1, accelerator="TPU v4", clock_mhz=1000)
    assert floptally.accelerator("H100 SXM").quality == "vendor_document"
    assert floptally.accelerator("H100 SXM").boost_tflops(1830) == pytest.approx(989.4, rel=1e-4)


def test_accelerator_peaks_have_a_source_and_ambiguous_accelerator_names_are_errors() -> None:
    h100 = floptally.accelerator("NVIDIA H100 80GB HBM3")
    assert (h100.name, h100.vendor, h100.peak_tflops(), h100.peak_tflops("fp8")) == ("H100 SXM", "NVIDIA", 989, 1978.9)
    assert h100.source and h100.source_url.startswith("https://") and h100.dense_tflops["bf16"] == 989
    assert "NVIDIA H100 80GB HBM3" in h100.driver_names and h100.form_factor == "SXM5"
    assert h100.name in [one.name for one in floptally.accelerators()]
    assert h100.memory_tbps == {"H100 SXM": 3.35, "NVIDIA H100 80GB HBM3": 3.35}
    assert floptally.accelerator("A100 SXM").memory_tbps["NVIDIA A100-SXM4-80GB"] == 2.039
    assert "A100 SXM" not in floptally.accelerator("A100 SXM").memory_tbps  # of 40 GB and of 80 GB
    assert floptally.accelerator("NVIDIA GeForce RTX 3060").memory_tbps == {}
    assert floptally.accelerator("H100 SXM").memory_gib["NVIDIA H100 80GB HBM3"] == 80
    assert floptally.accelerator("V100 SXM2").memory_gib == {"Tesla V100-SXM2-16GB": 16, "Tesla V100-SXM2-32GB": 32}
    with pytest.raises(floptally.Error, match=r"MI308X has no published rate: AMD .*floptally\.measure_peak\(\)"):
        floptally.accelerator("AMD Instinct MI308X").peak_tflops()
    with pytest.raises(floptally.Error, match="accelerator: "):
        floptally.accelerator("H100")
    with pytest.raises(floptally.Error, match="precision: "):
        h100.peak_tflops("fp4")


def test_an_encoder_decoder_needs_lengths_of_encoder_and_decoder() -> None:
    t5 = floptally.cost({"model_type": "t5", "architectures": ["T5ForConditionalGeneration"]})
    both = t5.flops(lengths=[50, 60], encoder_lengths=[80, 91])
    assert both.useful.components["encoder.mlp"].forward > 0
    for batch in ({"lengths": [50]}, {"attention_mask": [[1, 1, 0]]}, {"lengths": [5], "row_length": 8}):
        with pytest.raises(floptally.Error, match="encoder_lengths: must be passed: t5 has an encoder"):
            t5.flops(**batch)
    with pytest.raises(floptally.Error, match="encoder_lengths: needs lengths"):
        t5.flops(attention_mask=[[1, 1, 0]], encoder_lengths=[3])
    with pytest.raises(floptally.Error, match=r"encoder_lengths: must be as many as lengths \(2\), got 1"):
        t5.flops(lengths=[5, 6], encoder_lengths=[5])


VLM = {
    "model_type": "llava",
    "architectures": ["LlavaForConditionalGeneration"],
    "text_config": {
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "vocab_size": 100,
    },
    "vision_config": {
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "image_size": 28,
        "patch_size": 7,
    },
}


def test_images_passed_to_a_multimodal_model_are_counted(llama: floptally.Cost) -> None:
    model = floptally.cost(VLM)
    by_number = model.flops(lengths=[200], images=2)
    by_grid = model.flops(lengths=[200], grid_thw=[(1, 4, 4), (1, 4, 4)])
    assert by_number.total == by_grid.total
    assert by_number.statistics["vision"]["tokens"]["useful"] == 32
    masked = model.flops(attention_mask=[[1] * 200], images=2)
    assert masked.total == by_number.total
    assert pickle.loads(pickle.dumps(model)).flops(lengths=[200], images=2).total == by_number.total
    with pytest.raises(floptally.Error, match=r"lengths: must include the \d+ placeholder tokens of images"):
        model.flops(lengths=[5], images=2)
    with pytest.raises(floptally.Error, match="grid_thw: must be absent: llama has no vision tower"):
        llama.flops(grid_thw=[(1, 4, 4)])
    with pytest.raises(floptally.Error, match="images: must be absent: llama has no vision tower"):
        llama.flops(lengths=[5], images=2)
    with pytest.raises(floptally.Error, match=r"grid_thw\[1\]: must have 3 numbers, got 2"):
        model.flops(lengths=[200], grid_thw=[(1, 4, 4), (4, 4)])


def test_hstu_sequences_and_cached_tokens_are_counted_by_costs_and_tallies(llama: floptally.Cost) -> None:
    hstu = floptally.cost(
        {
            "model_type": "hstu",
            "name": "ranking",
            "hidden_size": 1024,
            "num_layers": 8,
            "num_attention_heads": 4,
            "dim_per_head": 256,
        }
    )
    work = hstu.flops(sequences=[(8, 900, 100), (0, 5, 5, 5)])
    assert work.statistics["tokens"]["useful"] == 1018
    tally = floptally.Tally(hstu)
    tally.add_sequences([(8, 900, 100, 1), (0, 5, 5, 5)])
    assert hstu.flops(tally=tally).total == work.total
    cached = llama.flops(new_tokens=[(3, 100)])
    tokens = llama.flops(lengths=[3])
    per_pair = 3 * (2 * 2 * 32 * 128) * 32  # forward and backward of QKᵀ and PV
    assert cached.total - tokens.total == 3 * 100 * per_pair
    for bad, message in {
        ("sequences", ((8, 900),)): r"sequences\[0\]: must be \(c, h, t\)",
        ("sequences", ((8, 900, -1),)): r"sequences\[0\]\[2\]: must be an integer from 0",
        ("new_tokens", (5,)): r"new_tokens\[0\]: must be \(n, past\)",
        ("new_tokens", ((2**32 - 1, 1),)): r"new_tokens\[0\]: length \+ past must be at most 4294967295",
    }.items():
        with pytest.raises(floptally.Error, match=message):
            (hstu if bad[0] == "sequences" else llama).flops(**{bad[0]: bad[1]})
    with pytest.raises(floptally.Error, match="sequences: must be absent: llama has no HSTU mask"):
        llama.flops(sequences=[(0, 5, 5)])


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ({}, "lengths: no batch was passed: use lengths, cu_seqlens, "),
        ({"lengths": None}, "lengths: no batch was passed"),
        ({"lengths": [-5, 3]}, "lengths[0]: must be at least 0, got -5"),
        ({"lengths": [2**32]}, "lengths[0]: must be at most 4294967295, got 4294967296"),
        ({"lengths": [10**30]}, "lengths[0]: must be a 64-bit integer, got 1000000000000000000000000000000"),
        ({"cu_seqlens": [5, 6]}, "cu_seqlens[0]: "),
        ({"cu_seqlens": [0, 6, 5]}, "cu_seqlens[2]: must be at least the boundary before it, 6, got 5"),
        ({"cu_seqlens": [0, 5], "cu_seqlens_padded": [0, 4]}, "cu_seqlens_padded[1]: "),
        ({"cu_seqlens": [0, 5], "cu_seqlens_padded": [0, 5, 6]},
         "cu_seqlens_padded: must have as many boundaries as cu_seqlens (2), got 3"),
        ({"cu_seqlens": [0, 5], "num_real_seqs": 2}, "num_real_seqs: must be at most the 1 sequences"),
        ({"cu_seqlens_padded": [0, 5]}, "cu_seqlens_padded: needs cu_seqlens"),
        ({"num_real_seqs": 5}, "num_real_seqs: needs cu_seqlens"),
        ({"cu_seqlens_real": [0, 5]}, "cu_seqlens_real: needs cu_seqlens"),
        (
            {"cu_seqlens": [0, 5], "cu_seqlens_real": [0, 5, 6]},
            "cu_seqlens_real: must have as many boundaries as cu_seqlens (2), got 3",
        ),
        ({"cu_seqlens": [0, 5, 9], "cu_seqlens_real": [0, 6]}, "cu_seqlens[1]: leaves a slot of 5 tokens for"),
        (
            {"cu_seqlens": [0, 5, 9], "cu_seqlens_real": [0, 5], "num_real_seqs": 2},
            "num_real_seqs: must be 1, the number of sequences in cu_seqlens_real, got 2",
        ),
        ({"row_length": 5}, "row_length: needs lengths"),
        ({"lengths": [5], "row_length": 4}, "lengths[0]: must be at most the row_length, 4, got 5"),
        ({"attention_mask": [[1, 0, 1]]}, "attention_mask[2]: is 1 after the real tokens of row 0 have ended"),
        ({"attention_mask": [[1, 2]]}, "attention_mask[1]: must be 0 or 1, got 2"),
        ({"attention_mask": [[1, 1], [1]]}, "attention_mask[1]: must have 2 flags like the row before, got 1"),
        ({"attention_mask": [1, 1]}, "attention_mask[0]: must be a list"),
        ({"lengths": [5], "encoder_lengths": [5]}, "encoder_lengths: must be absent: mistral has no encoder"),
        ({"audio_frames": [5]}, "audio_frames: must be absent: mistral has no audio tower"),
        ({"routed": (5, 4)}, "routed: padded visits must include the 5 useful visits, got 4"),
        ({"routed": 5}, "routed: must be (useful, padded) visits to experts, got 5"),
        ({"tally": 5}, "tally: must be a floptally.Tally, got 5"),
        ({"tally": floptally.Tally()}, "tally: counts no pairs but must count the pairs of sliding_window(4096)"),
        ({"lengths": [2**32 - 1] * 2}, "squares: 18446744065119617025 + 18446744065119617025 does not fit 64 bits: use smaller numbers"),
    ],
)
def test_a_batch_with_impossible_values_is_an_error_that_names_the_field(
    mistral: floptally.Cost, batch: dict[str, Any], message: str
) -> None:
    with pytest.raises(floptally.Error) as raised:
        mistral.flops(**batch)
    assert str(raised.value).startswith(message)


def test_a_floptally_overflow_is_also_a_python_overflow_error(mistral: floptally.Cost) -> None:
    with pytest.raises(OverflowError):
        mistral.flops(lengths=[2**32 - 1] * 2)


def test_an_unknown_keyword_argument_is_a_type_error(mistral: floptally.Cost) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'lenghts'"):
        mistral.flops(lenghts=[5])  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'lenghts'"):
        floptally.flops(mistral, lenghts=[5])  # type: ignore[call-arg]


def test_options_for_reading_a_config_change_the_count(llama: floptally.Cost) -> None:
    padded = floptally.flops(LLAMA_3_8B, lengths=[100], padded_vocab_size=128512)
    assert padded.total == llama.flops(lengths=[100]).total < padded.padded_total
    with pytest.raises(floptally.Error, match="mla: must be one of expanded, absorbed, got \"latent\""):
        floptally.cost(LLAMA_3_8B, mla="latent")
    with pytest.raises(floptally.Error, match="mla: must be expanded: llama has no latent attention to absorb"):
        floptally.cost(LLAMA_3_8B, mla="absorbed")
    with pytest.raises(floptally.Error, match="mtp: must be an integer from 0 to 100, got 101"):
        floptally.cost(LLAMA_3_8B, mtp=101)


def test_the_package_version_equals_that_of_the_cpp_header() -> None:
    numbers = [
        line.split()[-1]
        for line in (SOURCE / "include" / "floptally" / "text" / "version.hpp").read_text().splitlines()
        if line.startswith("#define FLOPTALLY_VERSION_")
    ]
    release = ".".join(numbers[:3]) + numbers[3].strip('"')
    assert re.fullmatch(re.escape(release) + (r"(\+g[0-9a-f]{7,40})?" if numbers[3] != '""' else ""), floptally.__version__)


def test_the_list_of_models_equals_the_model_types_that_can_be_read() -> None:
    assert {"llama", "qwen3_moe", "floptally"} <= set(floptally.models())


def test_the_function_flops_accepts_every_keyword_of_the_function_cost_and_of_the_method_flops(llama: floptally.Cost) -> None:
    moe = floptally.Cost.from_entries([("moe.experts", "routed", "linear", 6, 1), ("mlp", "tokens", "linear", 2, 1)])
    clicks = floptally.Cost.from_entries([("head", floptally.Mask.measured("clicks"), "linear", 6, 1)])
    hstu = floptally.cost(
        {"model_type": "hstu", "name": "r", "hidden_size": 64, "num_layers": 1, "num_attention_heads": 2, "dim_per_head": 32}
    )
    t5 = floptally.cost({"model_type": "t5"})
    tally = floptally.Tally(llama)
    tally.add_lengths([77])
    sound = floptally.cost({"model_type": "qwen2_audio"})
    flux = floptally.cost({"_class_name": "FluxTransformer2DModel", "num_layers": 1, "num_single_layers": 1})
    batches: list[tuple[floptally.Cost, dict[str, Any]]] = [
        (llama, {"lengths": [5, 7]}),
        (llama, {"lengths": [5, 7], "row_length": 9}),
        (llama, {"cu_seqlens": [0, 5, 9], "cu_seqlens_padded": [0, 8, 16], "num_real_seqs": 1}),
        (llama, {"cu_seqlens": [0, 5, 9], "cu_seqlens_real": [0, 5]}),
        (llama, {"attention_mask": [[1, 0]]}),
        (llama, {"new_tokens": [(3, 9)]}),
        (llama, {"requests": [(5, 3)], "prefill_chunk": 2, "logits": "last", "plan": floptally.Plan(phase="forward")}),
        (llama, {"tally": tally}),
        (llama, {"lengths": [5], "convention": "verl", "plan": floptally.Plan(recompute="full")}),
        (hstu, {"sequences": [(1, 5, 3)]}),
        (t5, {"lengths": [5], "encoder_lengths": [9], "encoder_row_length": 12}),
        (floptally.cost(VLM), {"lengths": [99], "images": 1}),
        (floptally.cost(VLM), {"lengths": [99], "grid_thw": [(1, 4, 4)]}),
        (moe, {"lengths": [5], "routed": (9, 10)}),
        (clicks, {"lengths": [5], "measured": {"clicks": (9, 10)}}),
        (sound, {"lengths": [2000], "audio_frames": [3000]}),
        (flux, {"grid_thw": [(1, 4, 4)], "encoder_lengths": [7], "grid_thw_padded": [(1, 8, 8)], "encoder_lengths_padded": [9]}),
        (flux, {"pixels": [(1, 64, 32)], "encoder_lengths": [7]}),
        (flux, {"grid_thw": [(1, 4, 4)], "encoder_lengths": [7], "condition_grid_thw": [(1, 2, 2)]}),
    ]
    used = {name for _, batch in batches for name in batch}
    options = {"config", "mla", "mtp", "padded_vocab_size", "spec", "strict"}
    assert used | options == set(inspect.signature(floptally.flops).parameters)
    for cost, batch in batches:
        one, other = floptally.flops(cost, **batch), cost.flops(**batch)
        assert one.to_dict() == other.to_dict() and one.total > 0
        for left_out in batch:
            rest = {name: value for name, value in batch.items() if name != left_out}
            try:
                less = floptally.flops(cost, **rest).to_dict()
            except floptally.Error:
                continue  # it was needed
            assert less != one.to_dict(), left_out
    latent = {"model_type": "deepseek_v3", "num_hidden_layers": 2}
    for option, value in (("mla", "absorbed"), ("mtp", 1), ("padded_vocab_size", 2**18)):
        work = floptally.flops(latent, lengths=[64], **{option: value})
        assert work.padded_total == floptally.cost(latent, **{option: value}).flops(lengths=[64]).padded_total
        assert work.padded_total != floptally.flops(latent, lengths=[64]).padded_total, option
