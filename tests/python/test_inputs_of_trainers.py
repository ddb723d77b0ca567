# SPDX-License-Identifier: Apache-2.0
"""What trainers pass: empty microbatches, tensors of PyTorch in place of lists, batches that were cast to bf16, rows as
lists, and the trainer's names of precisions."""

from __future__ import annotations

import re
from typing import Any

import floptally
import numpy as np
import pytest
from floptally import callbacks

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

CONFIG = {
    "model_type": "llama", "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2,
    "num_key_value_heads": 1, "vocab_size": 32,
}  # fmt: skip
LLAMA = floptally.cost(CONFIG)
FORWARD = floptally.Plan(phase="forward")


@pytest.mark.parametrize(
    "batch",
    [
        {"lengths": []}, {"cu_seqlens": [0]}, {"sequences": []}, {"requests": []}, {"new_tokens": []}, {"grid_thw": []},
        {"pixels": []}, {"images": 0}, {"lengths": np.zeros(0, dtype=np.int64)}, {"grid_thw": np.zeros((0, 3), dtype=np.int64)},
        {"attention_mask": np.zeros((2, 0), dtype=bool)}, {"attention_mask": np.zeros((0, 2), dtype=bool)},
        {"attention_mask": torch.zeros((2, 0), dtype=torch.bool)}, {"attention_mask": torch.zeros((0, 2), dtype=torch.bool)},
        {"lengths": torch.zeros(0, dtype=torch.int64)}, {"new_tokens": torch.zeros((0, 2), dtype=torch.int64)},
        {"requests": np.zeros((0, 2), dtype=np.int64)},
    ],
    ids=str,
)  # fmt: skip
def test_an_empty_batch_counts_zero_flops(batch: dict[str, Any]) -> None:
    assert LLAMA.total_flops(plan=FORWARD, **batch) == 0
    meter = floptally.Meter(LLAMA, gpus=1, peak_tflops=1.0)
    with meter.step(1.0):
        meter.add(lengths=[3])
        meter.add(**batch)
    assert meter.run.useful == LLAMA.total_flops(lengths=[3])


def test_counting_without_any_batch_is_an_error() -> None:
    with pytest.raises(floptally.Error, match="lengths: no batch was passed"):
        LLAMA.total_flops()


@pytest.mark.parametrize("kind", [torch.tensor, np.array, torch.tensor([0]).new_tensor], ids=["torch", "numpy", "new"])
def test_a_tensor_of_new_tokens_or_requests_counts_like_a_list_of_tuples(kind: Any) -> None:
    new_tokens, requests = [(5, 0), (1, 7)], [(4, 2), (9, 1)]
    assert LLAMA.total_flops(new_tokens=kind(new_tokens)) == LLAMA.total_flops(new_tokens=new_tokens)
    for chosen in (requests, [(4, 2, 1), (9, 1, 3)]):
        assert LLAMA.total_flops(requests=kind(chosen), plan=FORWARD) == LLAMA.total_flops(requests=chosen, plan=FORWARD)
    hstu = floptally.cost({"model_type": "hstu", "hidden_size": 16, "num_layers": 1, "num_attention_heads": 2, "kv_channels": 8})
    sequences = [(1, 20, 3), (0, 7, 2)]
    assert hstu.total_flops(sequences=kind(sequences)) == hstu.total_flops(sequences=sequences)
    with pytest.raises(floptally.Error, match=r"new_tokens\[0\]: must be \(n, past\)"):
        LLAMA.total_flops(new_tokens=kind([[1, 2, 3]]))


def counted(**batch: Any) -> tuple[int, int]:
    work = LLAMA.flops(**callbacks.batch_arguments(batch))
    return work.total, work.padded_total


IDS = torch.zeros(2, 6, dtype=torch.long)
MASK = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0]])
PACKED = torch.tensor([[1, 1, 2, 2, 2, 0], [1, 1, 1, 1, 1, 1]])
POSITIONS = torch.tensor([[0, 1, 0, 1, 2, 3], [0, 1, 2, 3, 4, 5]])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize(
    "batch",
    [
        {"attention_mask": MASK}, {"attention_mask": PACKED}, {"position_ids": POSITIONS}, {"seq_idx": PACKED - 1},
        {"cu_seqlens": torch.tensor([0, 5, 12])}, {"seq_lens": torch.tensor([[2, 3], [6, 0]])}, {"lengths": torch.tensor([6, 2])},
    ],
    ids=lambda batch: next(iter(batch)),
)  # fmt: skip
def test_integer_batches_that_lightning_cast_to_floating_point_count_the_same(batch: dict[str, Any], dtype: Any) -> None:
    wanted = counted(input_ids=IDS, **batch)
    assert counted(input_ids=IDS, **{name: value.to(dtype) for name, value in batch.items()}) == wanted


def test_integers_that_a_floating_point_type_has_rounded_are_an_error() -> None:
    long = torch.arange(600)[None]
    ids = torch.zeros(1, 600, dtype=torch.long)
    for name, value in (("position_ids", long), ("cu_seqlens", torch.tensor([0, 600]))):
        with pytest.raises(floptally.Error, match=rf"^{name}: has numbers up to \d+ in bfloat16, which rounds those above 256"):
            counted(input_ids=ids, **{name: value.to(torch.bfloat16)})
        assert counted(input_ids=ids, **{name: value.to(torch.float16)}) == counted(input_ids=ids, **{name: value})


def test_row_lengths_are_read_from_the_lengths_in_a_batch_and_an_ambiguous_padding_mask_is_an_error() -> None:
    real = (LLAMA.total_flops(lengths=[6, 2]), LLAMA.total_flops(lengths=[6, 6]))
    assert counted(input_ids=IDS, lengths=torch.tensor([6, 2])) == counted(input_ids=IDS, lengths=[6, 2]) == real
    for wrong in ([6, 7], [6], [6, -1], [6, 2.5]):
        with pytest.raises(floptally.Error, match="^lengths: must be the numbers of tokens of the 2 rows, each from 0 to 6, got"):
            counted(input_ids=IDS, lengths=wrong)
    for name in ("padding_mask", "key_padding_mask"):
        with pytest.raises(floptally.Error, match=f"^{name}: does not say whether its ones are tokens or padding: rename it"):
            counted(input_ids=IDS, **{name: MASK.bool()})
        both = {"attention_mask": MASK, name: ~MASK.bool()}
        assert counted(input_ids=IDS, **both) == counted(input_ids=IDS, attention_mask=MASK)
    meter = floptally.Meter(LLAMA, gpus=1, peak_tflops=1.0)
    adapter = callbacks.MeterAdapter(meter)
    adapter.begin()
    with pytest.raises(floptally.Error, match="^padding_mask: does not say"):
        adapter.add({"input_ids": IDS, "padding_mask": MASK.bool()})


@pytest.mark.parametrize("name", ["input_ids", "attention_mask", "labels", "position_ids"])
def test_rows_of_different_lengths_are_an_error_that_names_the_batch_key(name: str) -> None:
    batch: dict[str, Any] = {"input_ids": IDS[:, :3], name: [[1, 1, 1], [1, 1]]}
    with pytest.raises(floptally.Error, match=f"^{name}: must be rows of one length, got rows of 3, 2: pad them in a collator"):
        callbacks.batch_arguments(batch)
    with pytest.raises(floptally.Error, match="^input_ids: must be rows of one length"):
        callbacks.batch_arguments({"input_ids": [torch.zeros(3, dtype=torch.long), torch.zeros(2, dtype=torch.long)]})


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("transformer-engine", "fp8"), ("transformer-engine-float16", "fp8"), ("hybrid", "fp8"), ("no", "fp32"), ("bf16-true", "bf16")],
)
def test_precision_names_of_trainers_are_read(name: Any, wanted: Any) -> None:
    h100 = floptally.accelerator("H100 SXM")
    assert h100.peak_tflops(name) == h100.peak_tflops(wanted)


def test_the_first_line_of_a_meter_report_has_the_convention_and_the_peak_and_the_trained_weights() -> None:
    def first_line(plan: floptally.Plan | None = None, **given: Any) -> str:
        meter = floptally.Meter(LLAMA, plan=plan, **{"gpus": 1, "accelerator": "H100 SXM", **given})
        for _ in range(2):
            with meter.step(1.0):
                meter.add(lengths=[1000])
        return callbacks.MeterAdapter(meter).report().splitlines()[0]

    assert LLAMA.total_flops(lengths=[1000]) == 110_688_000
    assert first_line() == (
        "0.000111 TFLOP a step by convention exact; peak 989 TFLOP/s of 1 GPU, bf16 of H100 SXM (datasheet); all weights train"
    )
    assert "; peak 66.9 TFLOP/s of each of 8 GPUs, fp32 of H100 SXM (datasheet); " in first_line(
        gpus=8, counted="all_gpus", precision="fp32"
    )
    assert first_line(convention="palm").split("; ")[0].endswith(" by convention palm")
    assert "; peak 700 TFLOP/s of 1 GPU, as passed, measured; " in first_line(accelerator=None, peak_tflops=700, peak_kind="measured")
    assert "; peak 700 TFLOP/s of 1 GPU, as passed, of no stated source; " in first_line(accelerator=None, peak_tflops=700)
    lora = [floptally.WeightSetting("*", "frozen"), floptally.WeightSetting("*/q_proj", "lora", rank=4), floptally.WeightSetting("norm", "trainable")]
    assert first_line(plan=floptally.Plan(weights=lora)).endswith("; LoRA of rank 4 on q_proj trains, norm trains, the rest is frozen")
    assert callbacks.MeterAdapter(floptally.Meter(LLAMA, gpus=1, accelerator="H100 SXM")).report().startswith("no step yet, counted by ")


@pytest.mark.parametrize(
    ("run", "precision", "text"),
    [
        ({}, "bf16", 'the run computes in fp32, and MFU is relative to the peak of bf16, 989 TFLOP/s: pass precision="fp32" to the Meter, whose peak is 66.9'),
        ({}, "fp32", None),
        ({"bf16": True}, "bf16", None),
        ({"bf16": True}, "fp8", "the run computes in bf16, and MFU is relative to the peak of fp8, 1978.9 TFLOP/s"),
    ],
)  # fmt: skip
def test_training_in_another_precision_than_the_peak_gives_one_warning_and_a_note(
    tmp_path: Any, run: dict[str, Any], precision: Any, text: str | None
) -> None:
    from test_callbacks import trainer_in

    meter = floptally.Meter(floptally.cost(CONFIG), gpus=1, accelerator="H100 SXM", precision=precision)
    trainer, callback = trainer_in(tmp_path, meter, **run)
    if text is None:
        trainer.train()
        assert "the run computes in" not in callback.report()
        return
    with pytest.warns(RuntimeWarning, match=re.escape(text)) as caught:
        trainer.train()
        trainer.train()
    assert len([one for one in caught if "the run computes in" in str(one.message)]) == 1
    assert text in callback.report()
