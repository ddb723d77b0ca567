# SPDX-License-Identifier: Apache-2.0
"""What people type, and mean: precisions, units, batches that are named twice, numbers that are no numbers."""

from __future__ import annotations

import math
import pickle
import re
import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest

import floptally
from floptally import Error, Meter, WeightSetting, Tally

MOE = {
    "model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"], "vocab_size": 97, "hidden_size": 64,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 96,
    "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "decoder_sparse_step": 1,
    "mlp_only_layers": [], "tie_word_embeddings": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"lengths": [3, 4]}, {"cu_seqlens": [0, 3, 7]}),
        ({"lengths": [3, 4]}, {"attention_mask": [[1, 1, 1, 0], [1, 1, 1, 1]]}),
        ({"cu_seqlens": [0, 3, 7]}, {"attention_mask": [[1, 1, 1, 0], [1, 1, 1, 1]]}),
    ],
)
def test_passing_the_sequences_of_a_batch_in_two_different_arguments_is_an_error(llama: floptally.Cost, first: Any, second: Any) -> None:
    (one,), (other,) = first, second
    says = f"{other}: cannot be passed with {one}, since both would be counted: .* by add_{one}\\(\\) and add_{other}\\(\\)"
    meter = Meter(llama, gpus=1, peak_tflops=989)
    with meter.step(1.0):
        for call in (llama.flops, llama.total_flops, llama.bytes, meter.add):
            with pytest.raises(Error, match=says):
                call(**first, **second)
        with pytest.raises(Error, match=says):
            floptally.flops({"model_type": "llama"}, **first, **second)
        meter.add(**first)  # where they are two batches
        meter.add(**second)
    tally = Tally(llama)
    for name, value in {**first, **second}.items():
        getattr(tally, f"add_{name}")(value)
    assert meter.run.useful == llama.total_flops(tally=tally) == llama.total_flops(**first) + llama.total_flops(**second)


@pytest.mark.parametrize("value", [[True, False], (True,), [3, True]])
def test_true_and_false_are_not_accepted_as_lengths(llama: floptally.Cost, value: Any) -> None:
    place = list(value).index(True)
    with pytest.raises(Error, match=re.escape(f"lengths[{place}]: must be a 64-bit integer, got True")):
        llama.flops(lengths=value)
    with pytest.raises(Error, match="lengths"):
        llama.flops(lengths=np.array(value) if len(value) < 2 or value[0] is True else np.array([True]))
    with pytest.raises(Error, match="images: must be an integer"):
        llama.flops(images=True)
    with pytest.raises(Error, match="gpus: must be an integer"):
        Meter(llama, gpus=True, peak_tflops=1)
    # A mask is of such answers.
    assert llama.total_flops(attention_mask=[[True, True, False]]) == llama.total_flops(attention_mask=[[1, 1, 0]])


def test_an_invalid_weight_setting_is_an_error_of_its_constructor() -> None:
    with pytest.raises(Error, match="^rank: must be at least 1 for the state lora, got 0$"):
        WeightSetting("*", "lora")
    with pytest.raises(Error, match="^rank: must be 0 for the state frozen, since only lora adapters have a rank, got 8$"):
        WeightSetting("*", "frozen", rank=8)
    assert WeightSetting("*", "lora", rank=8).rank == 8


@pytest.mark.parametrize(
    ("said", "is_"),
    [("bf16-mixed", "bf16"), ("16-mixed", "fp16"), ("32-true", "fp32"), ("torch.bfloat16", "bf16"), (16, "fp16"),
     ("float8_e4m3fn", "fp8"), ("Float8_E5M2", "fp8"), (np.float16, "fp16"), (np.dtype("float32"), "fp32")],
)  # fmt: skip
def test_precision_names_of_trainers_are_accepted(llama: floptally.Cost, said: Any, is_: str) -> None:
    assert Meter(llama, gpus=1, accelerator="H100 SXM", precision=said).precision == is_
    part = floptally.accelerator("H100 SXM")
    assert part.peak_tflops(said) == part.dense_tflops[is_]  # type: ignore[index]


def test_torch_dtypes_are_accepted_as_precisions(llama: floptally.Cost) -> None:
    torch = pytest.importorskip("torch")
    for dtype, is_ in ((torch.bfloat16, "bf16"), (torch.float8_e4m3fn, "fp8"), (torch.half, "fp16"), (torch.float64, "fp64")):
        assert Meter(llama, gpus=1, accelerator="H100 SXM", precision=dtype).precision == is_
    with pytest.raises(Error, match="precision: must be one of "):
        Meter(llama, gpus=1, accelerator="H100 SXM", precision=torch.int64)


def test_a_peak_in_another_unit_or_a_misspelt_accelerator_gets_a_suggestion(llama: floptally.Cost) -> None:
    work = llama.flops(lengths=[8192])
    for call in (
        lambda **peak: Meter(llama, gpus=1, **peak),
        lambda **peak: work.measure(1.0, gpus=1, **peak),
        lambda **peak: work.waterfall(seconds=1.0, gpus=1, **peak),
    ):
        with pytest.raises(Error, match=r"^peak_tflops: must be in TFLOP/s of one GPU, .* 9.89e\+14; if you mean FLOP/s, pass 989$"):
            call(peak_tflops=989e12)
    named = '^accelerator: no known accelerator is called "H100SXM"; nearest: H100 SXM; '
    for once in (lambda **peak: work.measure(1.0, gpus=1, **peak), lambda **peak: work.waterfall(seconds=1.0, gpus=1, **peak)):
        with pytest.raises(Error, match=named):
            once(accelerator="H100SXM")
    with pytest.warns(RuntimeWarning, match=named):  # a run goes on without MFU
        Meter(llama, gpus=1, accelerator="H100SXM")
    with pytest.raises(Error, match="^precisions: must be in TFLOP/s"):
        work.measure(1.0, gpus=1, peak_tflops=989, precisions="mlp=1979e12")


def test_an_implausibly_high_or_low_mfu_gives_a_warning(llama: floptally.Cost) -> None:
    work = llama.flops(lengths=[8192])
    with pytest.warns(RuntimeWarning, match=r"^mfu: an MFU of 0.0426 % is below 0.1 %: seconds, gpus or the peak may be"):
        slow = work.measure(1000.0, gpus=1, accelerator="H100 SXM")  # milliseconds
    assert any("is below 0.1 %" in note for note in slow.notes)
    with pytest.warns(RuntimeWarning, match="^mfu: 426.* % is above 100 %"):
        assert any("more FLOPs than the peak" in note for note in work.measure(0.1, gpus=1, accelerator="H100 SXM").notes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert work.measure(1.0, gpus=1, accelerator="H100 SXM").notes == []
        decode = llama.flops(new_tokens=[(1, 100)], plan=floptally.Plan(phase="forward"))
        decode.measure(0.02, gpus=1, accelerator="H100 SXM")  # waits for memory
        meter = Meter(llama, gpus=1, accelerator="H100 SXM")
        for _ in range(9):  # which compile and warm up
            with meter.step(1000.0):
                meter.add(lengths=[8192])
        meter.begin_step()
        meter.add(lengths=[8192])
    with pytest.warns(RuntimeWarning, match="is below 0.1 %"):
        meter.end_step(1000.0)


def test_the_mbu_of_a_model_with_experts_is_an_upper_bound_without_measured_visits() -> None:
    cost = floptally.cost(MOE)
    step = {"new_tokens": [(1, 100)] * 4, "plan": floptally.Plan(phase="forward")}
    bound = cost.bytes(**step).mbu(1.0, gpus=1, memory_tbps=1e-3)  # type: ignore[arg-type]
    assert bound.is_at_most and bound.uniform is not None and 0 < bound.uniform < bound
    assert str(bound) == f"at most {100 * float(bound):.2f} % (uniform estimate {100 * bound.uniform:.2f} %)"
    assert repr(bound) == f"<MBU {bound}>" and f"{bound:.4f}" == f"{float(bound):.4f}"
    again = pickle.loads(pickle.dumps(bound))
    assert (again, again.is_at_most, again.uniform) == (bound, True, bound.uniform)

    # The routers' choices of four tokens in two layers: what each reads, once.
    rng = np.random.default_rng(7)
    chosen = [[rng.choice(8, 2, replace=False) for _ in range(4)] for _ in range(2)]
    distinct = [len({int(expert) for token in layer for expert in token}) for layer in chosen]
    measured = cost.bytes(**step, distinct_experts=sum(distinct))  # type: ignore[arg-type]
    expert = 3 * 64 * 32 * 2
    assert measured.components["moe.experts"].kinds["weights"] == sum(distinct) * expert
    assert measured.at_most == [] and cost.bytes(**step).at_most == ["moe.experts"]  # type: ignore[arg-type]
    used = measured.mbu(1.0, gpus=1, memory_tbps=1e-3)
    assert not used.is_at_most and used.uniform is None and "at most" not in str(used)
    assert used == pytest.approx((measured.kinds["weights"] + measured.kinds["cache"]) / 1e9)
    assert measured.to_dict()["distinct_experts"] == str(sum(distinct))

    # The estimate is the mean of such choices: of 8, a token leaves out each with 3 in 4.
    others = measured.kinds["weights"] + measured.kinds["cache"] - sum(distinct) * expert
    assert bound.uniform == pytest.approx((others + 2 * 8 * (1 - 0.75**4) * expert) / 1e9)
    # What a logger takes says which number it is.
    assert cost.bytes(**step).scalars(1.0, gpus=1, memory_tbps=1e-3, prefix="") == {  # type: ignore[arg-type]
        "mbu_at_most_pct": 100 * float(bound), "mbu_uniform_estimate_pct": 100 * bound.uniform}  # fmt: skip
    assert list(measured.scalars(1.0, gpus=1, memory_tbps=1e-3)) == ["train/mbu_pct"]
    with pytest.raises(Error, match="^distinct_experts: must be from 4 to 16 for 8 experts in each of 2 layers and 1 batch"):
        cost.bytes(**step, distinct_experts=17)  # type: ignore[arg-type]
    with pytest.raises(Error, match="^distinct_experts: is passed, but this model has no routed experts"):
        floptally.cost({**MOE, "model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"]}, strict=False).bytes(**step, distinct_experts=4)  # type: ignore[arg-type]


def test_an_mbu_above_100_per_cent_gives_a_warning() -> None:
    step = floptally.cost(MOE).bytes(new_tokens=[(1, 100)] * 4, plan=floptally.Plan(phase="forward"), distinct_experts=10)
    with pytest.warns(RuntimeWarning, match=r"^mbu: .* %: more bytes than the memory could move"):
        assert step.mbu(1e-9, gpus=1, accelerator="H100 SXM") > 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert math.isfinite(step.mbu(1.0, gpus=1, accelerator="H100 SXM"))


@pytest.mark.parametrize(
    ("shape", "hint"),
    [
        ({"batch_size": 4, "seq_len": 4096}, "lengths=[4096] * 4"),
        ({"seq_length": 4096, "micro_batch_size": 2}, "lengths=[4096] * 2"),
        ({"max_length": 512}, "lengths=[512] * batch_size"),
        ({"batch_size": 8}, "lengths=[seq_len] * 8"),
        ({"batch_size": "8"}, "lengths=[seq_len] * batch_size"),
    ],
)
def test_the_error_for_a_batch_shape_suggests_the_lengths_argument(llama: floptally.Cost, shape: Any, hint: str) -> None:
    first = next(iter(shape))
    says = re.escape(f"got an unexpected keyword argument '{first}'; give the length of each sequence: {hint}")
    for call in (llama.flops, llama.total_flops, Meter(llama, gpus=1, peak_tflops=989).add):
        with pytest.raises(TypeError, match=says + "$"):
            call(**shape)
    with pytest.raises(TypeError, match=says + "$"):
        floptally.flops({"model_type": "llama"}, **shape)
    with pytest.raises(TypeError, match="did you mean 'lengths'"):
        llama.flops(lenghts=[3])


def test_attributes_named_total_are_integers_and_a_cost_has_no_such_attribute(llama: floptally.Cost) -> None:
    work = llama.flops(lengths=[3, 4])
    view = work.useful
    assert work.total == view.total == sum(each.total for each in view.components.values()) == llama.total_flops(lengths=[3, 4])
    assert not hasattr(llama, "total")


def test_a_value_of_the_wrong_type_for_a_model_or_report_is_an_error_that_names_the_argument() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("matplotlib")
    with pytest.raises(Error, match="^model: must be a torch.nn.Module, got None$"):
        floptally.from_torch(None, None)  # type: ignore[arg-type]
    plots = floptally.plots
    draws: list[tuple[Any, str]] = [
        (plots.component_bars, "step: must be a Breakdown"), (plots.waterfall, "waterfall: must be a Waterfall"),
        (plots.comparison, "comparison: must be a Comparison"), (partial(plots.roofline, peak_tflops=989, memory_tbps=3.35), "byte_counts: must be a Bytes"),
    ]  # fmt: skip
    for draw, says in draws:
        with pytest.raises(Error, match=f"^{says} or its to_dict\\(\\), got 'w'$"):
            draw("w")
