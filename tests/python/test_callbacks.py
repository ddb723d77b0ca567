# SPDX-License-Identifier: Apache-2.0
"""The meter in real trainers: what is logged is what was counted, whatever else the trainer does."""

from __future__ import annotations

import json
import time
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import floptally
import numpy as np
import pytest
from floptally import callbacks

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

HIDDEN, VOCABULARY = 16, 32
CONFIG = {
    "model_type": "llama", "hidden_size": HIDDEN, "intermediate_size": 24, "num_hidden_layers": 1,
    "num_attention_heads": 2, "num_key_value_heads": 1, "vocab_size": VOCABULARY, "max_position_embeddings": 64,
    "architectures": ["LlamaForCausalLM"],
}  # fmt: skip
NAMES = {
    "mfu_pct", "mfu_padded_pct", "hfu_pct", "tflops_per_gpu", "tflops_padded_per_gpu", "tflops_executed_per_gpu",
    "tokens_per_second", "tokens_per_second_per_gpu", "samples_per_second", "useful_fraction", "useful_flops_fraction",
    "step_seconds", "step_seconds_p50", "step_seconds_p95", "step_seconds_min", "step_seconds_max", "steps",
    "total_flops", "total_tokens", "total_steps",
}  # fmt: skip
LEFT = {"steps_left", "seconds_left", "ends_at"}  # of a trainer whose number of steps is known


class TestClock:
    """Seconds that pass by one at each look."""

    __test__ = False

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def new_meter() -> floptally.Meter:
    return floptally.Meter(floptally.cost(CONFIG), gpus=1, peak_tflops=1e-3)


def work_of(lengths: list[int], row: int | None = None) -> floptally.Breakdown:
    if row is None:
        return floptally.flops(CONFIG, lengths=lengths)
    return floptally.flops(CONFIG, lengths=lengths, row_length=row)


# ---- lengths from a batch ----


def test_a_padded_batch_is_counted_by_its_attention_mask() -> None:
    mask = np.array([[1, 1, 1, 0], [1, 0, 0, 0]])
    batch = {"input_ids": np.zeros((2, 4)), "attention_mask": mask, "position_ids": np.array([[0, 1, 2, 0], [0, 0, 0, 0]])}
    found = callbacks.batch_arguments(batch)
    assert list(found) == ["attention_mask"]
    assert floptally.flops(CONFIG, **found).to_dict()["flops"] == work_of([3, 1], 4).to_dict()["flops"]
    tensors = {key: torch.tensor(value) for key, value in batch.items()}
    assert floptally.flops(CONFIG, **callbacks.batch_arguments(tensors)).total == work_of([3, 1], 4).total


def test_position_ids_that_restart_are_read_as_packed_sequences() -> None:
    batch = {"input_ids": np.zeros((2, 5)), "position_ids": np.array([[0, 1, 2, 0, 1], [0, 0, 1, 2, 3]])}
    assert floptally.flops(CONFIG, **callbacks.batch_arguments(batch)).total == work_of([3, 2, 1, 4]).total
    with_ones = {**batch, "attention_mask": np.ones((2, 5))}
    assert floptally.flops(CONFIG, **callbacks.batch_arguments(with_ones)).total == work_of([3, 2, 1, 4]).total
    inside = {"position_ids": np.array([[3, 4, 0, 1]]), "input_ids": np.zeros((1, 4))}
    assert floptally.flops(CONFIG, **callbacks.batch_arguments(inside)).total == work_of([2, 2]).total
    whole_rows = {"position_ids": np.array([[3, 4, 5]]), "input_ids": np.zeros((1, 3))}
    assert floptally.flops(CONFIG, **callbacks.batch_arguments(whole_rows)).total == work_of([3]).total


def test_in_a_batch_with_cu_seqlens_the_attention_mask_is_ignored_and_sequences_after_the_real_ones_count_as_padding() -> None:
    batch = {
        "input_ids": np.zeros((1, 8)), "attention_mask": np.ones((1, 8)), "position_ids": np.arange(8)[None],
        "cu_seq_lens_q": torch.tensor([0, 3, 5, 8], dtype=torch.int32), "num_real_seqs": torch.tensor(2),
    }  # fmt: skip
    step = floptally.flops(CONFIG, **callbacks.batch_arguments(batch))
    assert step.total == work_of([3, 2]).total and step.padded_total == work_of([3, 2, 3]).total
    remaining = {"cu_seq_lens_q": np.array([[0, 3, 5, 8]]), "cu_seq_lens_q_real": np.array([[0, 3, 5]])}
    step = floptally.flops(CONFIG, **callbacks.batch_arguments(remaining))
    assert step.total == work_of([3, 2]).total and step.padded_total == work_of([3, 2, 3]).total
    remaining["cu_seq_lens_q_padded"] = np.array([[0, 4, 8, 12]])
    step = floptally.flops(CONFIG, **callbacks.batch_arguments(remaining))
    assert step.total == work_of([3, 2]).total and step.padded_total == work_of([4, 4, 4]).total
    slots = {"cu_seq_lens_q": [0, 3, 5], "cu_seq_lens_q_padded": [0, 4, 8]}
    step = floptally.flops(CONFIG, **callbacks.batch_arguments(slots))
    assert step.total == work_of([3, 2]).total and step.padded_total == work_of([4, 4]).total


def test_batches_of_padded_rows_and_of_encoder_decoders_and_of_images_are_counted() -> None:
    assert callbacks.batch_arguments({"input_ids": np.zeros((3, 7))})["lengths"].tolist() == [7, 7, 7]
    assert callbacks.batch_arguments({"inputs_embeds": np.zeros((1, 9, 16))})["lengths"].tolist() == [9]
    both = callbacks.batch_arguments(
        {"input_ids": np.zeros((2, 4)), "attention_mask": [[1, 1, 0, 0], [1, 1, 1, 1]], "decoder_input_ids": np.zeros((2, 3))}
    )
    assert (both["lengths"].tolist(), both["encoder_lengths"].tolist()) == ([3, 3], [2, 4])
    images = callbacks.batch_arguments(
        {"input_ids": np.zeros((1, 9)), "image_grid_thw": [[1, 4, 6]], "video_grid_thw": torch.tensor([[2, 2, 2]])}
    )
    assert images["grid_thw"].tolist() == [[1, 4, 6], [2, 2, 2]]
    with pytest.raises(floptally.Error, match="^batch: must have input_ids, .*, got pixel_values: pass arguments=, a function"):
        callbacks.batch_arguments({"pixel_values": np.zeros((1, 3, 8, 8))})


def test_the_error_for_a_dict_of_batches_is_short_and_shows_how_to_pass_each_batch() -> None:
    rows = {"input_ids": np.zeros((2, 5), dtype=np.int64)}
    meter = floptally.Meter(floptally.cost(CONFIG), gpus=1, peak_tflops=1000)
    batch = {"chosen": rows, "rejected": rows, **{f"other_{number}": 1 for number in range(40)}}
    with pytest.raises(floptally.Error) as raised, callbacks.step(meter, batch):
        pass
    assert len(str(raised.value)) < 450
    assert "got chosen, rejected, other_0" in str(raised.value) and " and 34 more: " in str(raised.value)
    assert "step(meter, batch['chosen'], batch['rejected'])" in str(raised.value)
    with callbacks.step(meter, batch["chosen"], batch["rejected"]):
        pass
    assert meter.last_step.tokens == 20


LLAVA = {
    "model_type": "llava", "architectures": ["LlavaForConditionalGeneration"], "image_token_index": 96,
    "text_config": {**CONFIG}, "vision_config": {
        "model_type": "clip_vision_model", "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 4, "image_size": 8, "patch_size": 4,
    },
}  # fmt: skip


@pytest.mark.parametrize("kind", ["numpy", "torch", "bfloat16"])
def test_several_images_per_sample_are_counted_and_images_of_only_zeros_are_left_out(kind: str) -> None:
    """Processors of several pictures a sample fill up with pictures of zeros, and models skip these."""
    cost = floptally.cost(LLAVA)
    values = np.random.default_rng(1).normal(size=(2, 3, 3, 8, 8))
    values[1, 2] = 0
    given: Any = values if kind == "numpy" else torch.tensor(values, dtype=torch.bfloat16 if kind == "bfloat16" else torch.float32)
    ids = np.zeros((2, 30), dtype=np.int64)
    model = SimpleNamespace(config=SimpleNamespace(vision_config=SimpleNamespace(image_size=8)))

    def useful(pixel_values: Any, rows: int) -> int:
        adapter = callbacks.MeterAdapter(floptally.Meter(cost, gpus=1, peak_tflops=1000), clock=iter(range(9)).__next__)
        adapter.watch(model)
        adapter.begin()
        adapter.add({"input_ids": ids[:rows], "pixel_values": pixel_values})
        adapter.end()
        return adapter.meter.last_step.useful

    assert useful(given, 2) == cost.total_flops(lengths=[30, 30], images=5) != cost.total_flops(lengths=[30, 30], images=6)
    assert useful(given[:1], 1) == useful(given[0], 1) == cost.total_flops(lengths=[30], images=3)
    with pytest.raises(floptally.Error, match=r"^pixel_values: must be images \[n, channels, 8, 8\], or \[samples, n, …\]"):
        useful(given[..., :4], 2)


def counted(batch: dict[str, Any]) -> tuple[int, int]:
    step = floptally.flops(CONFIG, **callbacks.batch_arguments(batch))
    return step.total, step.padded_total


def test_segment_ids_split_a_row_into_documents() -> None:
    mask = np.array([[1, 1, 2, 2, 2, 0]])
    found = callbacks.batch_arguments({"input_ids": np.zeros((1, 6)), "attention_mask": mask})
    tally = floptally.Tally()
    tally.add_cu_seqlens(**found)
    assert tally.pairs(floptally.Mask.causal()) == 9 and (tally.tokens, tally.get("tokens", "padded")) == (5, 6)
    right = (work_of([2, 3]).total, work_of([2, 4]).total)
    assert right[0] != work_of([5]).total
    positions = np.array([[0, 1, 0, 1, 2, 0]])
    ones = (mask > 0).astype(np.int32)
    for batch in (
        {"attention_mask": mask},
        {"attention_mask": mask.astype(np.float32)},
        {"attention_mask": torch.tensor(mask), "position_ids": torch.arange(6)[None]},
        {"attention_mask": ones, "position_ids": positions},  # a mask of ones, and documents in the positions alone
        {"attention_mask": mask, "position_ids": positions},
    ):
        assert counted({"input_ids": np.zeros((1, 6)), **batch}) == right
    rows = np.array([[0, 7, 7, 3, 0, 0], [0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1], [5, 5, 0, 6, 6, 6]])
    assert counted({"attention_mask": rows}) == (work_of([2, 1, 6, 2, 3]).total, work_of([3, 3, 6, 6, 3, 3]).total)
    one_row_of_many = {"input_ids": np.zeros((3, 5)), "position_ids": np.array([[0, 1, 0, 1, 2]])}
    assert counted(one_row_of_many)[0] == work_of([2, 3] * 3).total


def test_left_padding_is_not_counted_as_a_document() -> None:
    batch = {"attention_mask": np.array([[0, 0, 1, 1]]), "position_ids": np.array([[1, 1, 0, 1]])}
    assert list(callbacks.batch_arguments(batch)) == ["attention_mask"]
    assert counted(batch) == (work_of([2]).total, work_of([2], 4).padded_total)


@pytest.mark.parametrize("kinds", [3, 4])
def test_position_ids_with_image_positions_split_a_row_only_where_a_document_begins(kinds: int) -> None:
    text = np.array([0, 1, 2, 0, 1, 2, 3, 4])
    # The second document begins with an image of 2 x 2 patches, and then has a token.
    mrope = np.array([[0, 1, 2, 0, 0, 0, 0, 2], [0, 1, 2, 0, 0, 1, 1, 2], [0, 1, 2, 0, 1, 0, 1, 2]])
    positions = np.stack([text, *mrope] if kinds == 4 else mrope)[:, None]
    batch = {"input_ids": np.zeros((1, 8)), "position_ids": positions}
    assert counted(batch)[0] == work_of([3, 5]).total
    short = np.broadcast_to(np.array([0, 1, 0, 1, 2]), (kinds, 1, 5))
    assert counted({"inputs_embeds": np.zeros((1, 5, HIDDEN)), "position_ids": torch.tensor(short.copy())})[0] == work_of([2, 3]).total
    whole = np.broadcast_to(np.arange(5), (kinds, 2, 5))
    assert callbacks.batch_arguments({"input_ids": np.zeros((2, 5)), "position_ids": whole})["lengths"].tolist() == [5, 5]


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ({"attention_mask": [[1, 1, 2, 2, 1]]}, "attention_mask: the tokens of a document must be consecutive, but row 0 has other tokens between them: pass arguments="),
        ({"attention_mask": [[1, -1]]}, "attention_mask: must have whole numbers of at least 0: either 0 and 1, or ids of documents"),
        ({"attention_mask": [[1, 0.5]]}, "attention_mask: must have whole numbers of at least 0: either 0 and 1, or ids of documents"),
        ({"attention_mask": [[1, float("nan")]]}, "attention_mask: must have whole numbers of at least 0: either 0 and 1, or ids of documents"),
        ({"attention_mask": np.ones((1, 1, 5, 5)), "input_ids": np.zeros((1, 5))},
         "attention_mask: must be \\[batch, row\\], got shape \\[1, 1, 5, 5\\]"),
        ({"position_ids": np.zeros((2, 1, 5)), "input_ids": np.zeros((1, 5))}, "position_ids: must be .* got shape \\[2, 1, 5\\]"),
        ({"position_ids": np.zeros((1, 4)), "input_ids": np.zeros((1, 5))}, "position_ids: must have the shape \\[1, 5\\] of the tokens, got"),
        ({"decoder_input_ids": np.zeros((1, 3)), "input_ids": np.zeros((1, 3)), "attention_mask": [[1, 2, 2]]},
         "attention_mask: must have only 0 and 1"),
    ],
)  # fmt: skip
def test_a_trainer_batch_that_cannot_be_read_is_an_error(batch: dict[str, Any], message: str) -> None:
    with pytest.raises(floptally.Error, match=f"^{message}"):
        callbacks.batch_arguments(batch)


# ---- without a framework ----


def test_a_custom_training_loop_needs_one_line_to_be_metered() -> None:
    meter = new_meter()
    assert callbacks.postfix(meter) == ""
    with callbacks.step(meter, {"input_ids": np.zeros((2, 8))}, {"input_ids": np.zeros((1, 5))}, seconds=2.0):
        pass
    assert meter.run.useful == work_of([8, 8, 5]).total and meter.run.steps == 1
    rate = meter.run.useful / 2 / 1e12
    assert callbacks.postfix(meter) == f"MFU {100 * rate / 1e-3:.1f}% | {rate:.3f} TFLOP/s"
    with pytest.raises(ZeroDivisionError), callbacks.step(meter, {"input_ids": np.zeros((2, 8))}, seconds=1.0):
        _ = 1 / 0
    assert not meter.in_step and meter.run.steps == 1


def test_progress_bar_shows_rounded_mfu_and_tflops() -> None:
    meter = floptally.Meter(floptally.cost({**CONFIG, "hidden_size": 16384, "num_attention_heads": 128}), gpus=1,
                            peak_tflops=989)  # fmt: skip
    with meter.step(seconds=1e-3):
        meter.add(lengths=[64] * 10)
    assert callbacks.postfix(meter) == f"MFU {100 * meter.run.mfu:.1f}% | {meter.run.tflops_per_gpu:.0f} TFLOP/s"


@pytest.mark.parametrize(("world", "warns"), [(1, False), (8, True)])
def test_a_loop_of_several_processes_warns_once_if_each_process_has_all_gpus(
    monkeypatch: pytest.MonkeyPatch, world: int, warns: bool
) -> None:
    for name, value in {"is_available": True, "is_initialized": True, "get_world_size": world}.items():
        monkeypatch.setattr(torch.distributed, name, lambda value=value: value)
    meter = floptally.Meter(floptally.cost(CONFIG), gpus=8, counted="all_gpus", peak_tflops=989)
    said = []
    for _ in range(2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with callbacks.step(meter, {"input_ids": torch.ones(1, 8, dtype=torch.int64)}, seconds=1.0):
                pass
        said += [str(one.message) for one in caught if str(one.message).startswith("gpus: is 8 in each of 8 processes")]
    assert len(said) == warns


def test_a_meter_adapter_for_custom_training_loops_can_pause_and_discard_a_step_and_begin_a_new_interval() -> None:
    meter = new_meter()
    adapter = callbacks.MeterAdapter(meter, clock=TestClock(), prefix="mine/")
    assert adapter.scalars() == {}
    adapter.begin()
    adapter.add({"input_ids": np.zeros((1, 4))})
    adapter.discard()
    assert not meter.in_step
    adapter.begin()  # 1
    adapter.add({"input_ids": np.zeros((1, 4))})
    adapter.end()  # 2
    adapter.begin()
    adapter.add({"input_ids": np.zeros((1, 6))})
    adapter.end()  # 3: since the last end
    assert meter.run.useful == work_of([4, 6]).total
    assert (meter.run.steps, meter.run.seconds) == (2, 2.0)
    scalars = adapter.scalars()
    assert set(scalars) == {f"mine/{name}" for name in NAMES} and scalars["mine/steps"] == 2
    assert adapter.scalars() == {}
    adapter.pause()
    for _ in range(100):
        adapter._clock()
    adapter.begin()
    adapter.end()
    assert meter.last_step.seconds == 1.0  # and not what passed before it began
    with pytest.raises(floptally.Error, match="^meter: must be a floptally.Meter, got 3$"):
        callbacks.MeterAdapter(3)  # type: ignore[arg-type]
    first = callbacks.MeterAdapter(new_meter())
    first.begin()
    with pytest.raises(floptally.Error, match="^batch: must be a mapping of tensors, or a list that begins with ids .* got list; otherwise pass arguments="):
        first.add([1])


def test_the_first_tensor_of_a_batch_without_keys_is_read_as_token_ids_and_a_second_tensor_that_may_be_a_mask_is_an_error() -> None:
    ids, labels = torch.randint(2, 32, (3, 5)), torch.full((3, 5), -100)
    for batch in (ids, [ids], (ids, labels), [ids, torch.zeros(3)], [ids, torch.ones(3, 5)], ids.numpy(), [{"input_ids": ids}, labels]):
        assert floptally.flops(CONFIG, **callbacks.batch_arguments(batch)).total == work_of([5, 5, 5]).total
    embeddings = torch.zeros(3, 5, HIDDEN)
    assert floptally.flops(CONFIG, **callbacks.batch_arguments([embeddings, labels])).total == work_of([5, 5, 5]).total
    mask = torch.tensor([[1, 1, 1, 0, 0]] * 3)
    for second in (mask, mask.bool()):
        with pytest.raises(floptally.Error, match=r"^batch\[1\]: may be a mask, since it only has 0 and 1: pass arguments="):
            callbacks.batch_arguments([ids, second])
    for wrong in ([ids.float()], [ids[0]], [], "text", [ids.bool()]):
        with pytest.raises(floptally.Error, match="^batch: must be a mapping of tensors, or a list that begins with ids"):
            callbacks.batch_arguments(wrong)
    meter = new_meter()
    adapter = callbacks.MeterAdapter(meter, clock=TestClock())
    for batch in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(ids, labels), batch_size=2):
        adapter.begin()
        adapter.add(batch)
        adapter.end()
    assert meter.run.useful == work_of([5, 5, 5]).total


# ---- Hugging Face ----


def llama() -> Any:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("accelerate", reason="accelerate is not installed, which the Trainer needs")
    torch.manual_seed(0)
    options = {key: value for key, value in CONFIG.items() if key not in ("model_type", "architectures")}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**options))


LENGTHS = [3, 8, 5, 2, 7, 7, 4, 6, 1, 8, 5, 3]  # rows are padded to 8


def examples() -> list[dict[str, Any]]:
    rows = []
    for length in LENGTHS:
        tokens = [1 + place % (VOCABULARY - 1) for place in range(length)] + [0] * (8 - length)
        rows.append(
            {
                "input_ids": torch.tensor(tokens),
                "attention_mask": torch.tensor([1] * length + [0] * (8 - length)),
                "labels": torch.tensor(tokens),
            }
        )
    return rows


def trainer_in(folder: Path, meter: floptally.Meter, *, attach: bool = True, others: list[Any] | None = None,
               clock: Any = time.perf_counter, **options: Any) -> tuple[Any, Any]:  # fmt: skip
    model = llama()
    import transformers

    given = {
        "output_dir": str(folder), "per_device_train_batch_size": 2, "per_device_eval_batch_size": 2, "max_steps": 3,
        "logging_steps": 1, "report_to": [], "use_cpu": True, "disable_tqdm": True, "save_strategy": "no",
    }  # fmt: skip
    # Older releases have no such argument, and take the sampler from a method.
    strategy = {"train_sampling_strategy": "sequential"} if hasattr(transformers.TrainingArguments, "train_sampling_strategy") else {}
    arguments = transformers.TrainingArguments(**{**given, **strategy, **options})
    callback = callbacks.TrainerMeter(meter, clock=clock)
    found = [*(others or []), *([] if attach else [callback])]
    trainer = transformers.Trainer(
        model=model, args=arguments, train_dataset=examples(), eval_dataset=examples()[:4], callbacks=found
    )
    if not strategy:
        trainer._get_train_sampler = lambda *given: torch.utils.data.SequentialSampler(trainer.train_dataset)
    return trainer, callback.attach(trainer) if attach else callback


@pytest.mark.parametrize("attach", [True, False])
def test_hugging_face_trainer_logs_the_scalars_of_each_step(tmp_path: Path, attach: bool) -> None:
    meter = new_meter()
    trainer, callback = trainer_in(tmp_path, meter, attach=attach)
    trainer.train()
    logs = [line for line in trainer.state.log_history if "loss" in line]
    assert len(logs) == 3
    for step, line in enumerate(logs):
        assert NAMES <= set(line)
        work = work_of(LENGTHS[2 * step : 2 * step + 2], 8)
        seconds = line["step_seconds"]
        assert line["tflops_per_gpu"] == pytest.approx(work.total / seconds / 1e12)
        assert line["mfu_pct"] == pytest.approx(100 * work.total / seconds / 1e9)
        assert line["mfu_padded_pct"] == pytest.approx(100 * work.padded_total / seconds / 1e9)
        assert line["useful_fraction"] == sum(LENGTHS[2 * step : 2 * step + 2]) / 16
        assert line["steps"] == 1
    assert meter.run.useful == work_of(LENGTHS[:6], 8).total
    assert meter.run.samples == 6
    assert callback.postfix.startswith("MFU ")


def test_hugging_face_loggers_see_the_scalars_of_an_attached_meter_callback(tmp_path: Path) -> None:
    llama()
    import transformers

    seen: list[dict[str, Any]] = []

    class Logger(transformers.TrainerCallback):  # stands where W&B and TensorBoard do
        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
            seen.append(dict(logs))

    trainer, _ = trainer_in(tmp_path, new_meter(), others=[Logger()])
    trainer.train()
    assert [line.get("steps") for line in seen if "loss" in line] == [1, 1, 1]


def test_hugging_face_gradient_accumulation_counts_as_one_step_and_evaluation_is_not_counted(tmp_path: Path) -> None:
    llama()
    import transformers

    clock = TestClock()

    class SlowEvaluation(transformers.TrainerCallback):
        def on_prediction_step(self, *given: Any, **others: Any) -> None:
            clock.now += 1000.0

    meter = new_meter()
    trainer, _ = trainer_in(
        tmp_path, meter, gradient_accumulation_steps=2, logging_steps=2, eval_strategy="steps", eval_steps=1,
        clock=clock, others=[SlowEvaluation()],
    )  # fmt: skip
    trainer.train()
    assert clock.now > 3000 and meter.run.seconds < 100
    assert meter.run.steps == 3
    assert meter.run.useful == work_of(LENGTHS, 8).total
    logs = [line for line in trainer.state.log_history if "loss" in line]
    assert [line["steps"] for line in logs] == [2]
    assert sum("eval_loss" in line for line in trainer.state.log_history) == 3
    assert not any("steps" in line for line in trainer.state.log_history if "eval_loss" in line)
    before = meter.run.useful
    trainer.evaluate()
    assert meter.run.useful == before and not meter.in_step


def test_hugging_face_trainer_resumes_the_meter_from_a_checkpoint(tmp_path: Path) -> None:
    first = new_meter()
    trainer, _ = trainer_in(tmp_path, first, max_steps=2, save_strategy="steps", save_steps=2)
    trainer.train()
    state = json.loads((tmp_path / "checkpoint-2" / "trainer_state.json").read_text(encoding="utf-8"))
    assert "floptally" in state["stateful_callbacks"]
    again = new_meter()
    resumed, _ = trainer_in(tmp_path, again, max_steps=4, restore_callback_states_from_checkpoint=True)
    resumed.train(resume_from_checkpoint=str(tmp_path / "checkpoint-2"))
    assert again.run.steps == 4
    assert again.run.useful == work_of(LENGTHS[:8], 8).total
    assert again.run.seconds > first.run.seconds


def test_the_hugging_face_callback_does_not_count_generation_and_failed_steps(tmp_path: Path) -> None:
    meter = new_meter()
    trainer, callback = trainer_in(tmp_path, meter, max_steps=1)
    compute, calls = trainer.compute_loss, []

    def with_generation(model: Any, inputs: Any, **options: Any) -> Any:
        with torch.no_grad():
            model(input_ids=torch.ones((4, 8), dtype=torch.long))  # a roll-out, say
        calls.append(1)
        if len(calls) == 2:
            raise ZeroDivisionError
        return compute(model, inputs, **options)

    trainer.compute_loss = with_generation
    trainer.train()
    assert meter.run.useful == work_of(LENGTHS[:2], 8).total
    with pytest.raises(ZeroDivisionError):
        trainer.train()
    assert meter.run.steps == 1
    trainer.train()
    assert meter.run.steps == 2 and not meter.in_step


# ---- Lightning ----


def lightning_run(
    folder: Path, meter: floptally.Meter, *, checkpoint: str | None = None, batches: int = 6, **options: Any
) -> tuple[Any, list[tuple[int, dict[str, float]]]]:
    """Trains one epoch of batches of two; the trainer, and what its logger was given."""
    lightning = pytest.importorskip("lightning", reason="Lightning is not installed")
    from lightning.pytorch.loggers.logger import DummyLogger

    arguments: list[tuple[int, dict[str, float]]] = []

    class Logger(DummyLogger):  # type: ignore[misc,unused-ignore]
        def log_metrics(self, metrics: Any, step: Any = None) -> None:
            if any(name.startswith("train/") for name in metrics):
                arguments.append((step, dict(metrics)))

    class Model(lightning.LightningModule):  # type: ignore[name-defined,misc,unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(()))

        def training_step(self, batch: Any, index: int) -> Any:
            return self.weight * batch["attention_mask"].sum()

        def validation_step(self, batch: Any, index: int) -> Any:
            return self.weight * 0

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=1e-3)

    rows = [{"attention_mask": row["attention_mask"]} for row in examples()]
    loader = torch.utils.data.DataLoader(rows, batch_size=2, shuffle=False)  # type: ignore[arg-type]
    trainer = lightning.Trainer(
        **{
            "max_epochs": 1, "limit_train_batches": batches, "logger": Logger(), "accelerator": "cpu",
            "default_root_dir": str(folder), "enable_progress_bar": False, "enable_model_summary": False,
            "log_every_n_steps": 1, "enable_checkpointing": False, "callbacks": [callbacks.LightningMeter(meter)],
            **options,
        }
    )  # fmt: skip
    trainer.fit(Model(), loader, loader, ckpt_path=checkpoint)
    return trainer, arguments


def test_lightning_loggers_have_the_scalars_of_each_step(tmp_path: Path) -> None:
    meter = new_meter()
    trainer, logged = lightning_run(tmp_path, meter)
    assert [step for step, _ in logged] == [0, 1, 2, 3, 4, 5]  # as Lightning counts
    for step, scalars in ((step + 1, scalars) for step, scalars in logged):
        assert set(scalars) == {f"train/{name}" for name in NAMES | LEFT}
        work = work_of(LENGTHS[2 * step - 2 : 2 * step], 8)
        assert scalars["train/mfu_pct"] == pytest.approx(100 * work.total / scalars["train/step_seconds"] / 1e9)
    assert meter.run.useful == work_of(LENGTHS, 8).total and meter.run.steps == 6
    assert trainer.progress_bar_metrics["mfu_pct"] == pytest.approx(100 * meter.last_step.mfu)
    assert not meter.in_step


def test_the_lightning_callback_accumulates_batches_into_one_step_and_skips_validation(tmp_path: Path) -> None:
    meter = new_meter()
    _, logged = lightning_run(tmp_path, meter, accumulate_grad_batches=4, val_check_interval=2)
    # Four batches, and the two that were left at the end of the epoch.
    assert [(step, scalars["train/steps"]) for step, scalars in logged] == [(0, 1), (1, 1)]
    assert meter.run.useful == work_of(LENGTHS, 8).total and meter.run.steps == 2
    assert meter.last_step.useful == work_of(LENGTHS[8:], 8).total


def test_the_lightning_callback_logs_an_interval_every_n_steps(tmp_path: Path) -> None:
    meter = new_meter()
    callback = callbacks.LightningMeter(meter, every_n_steps=4, progress_bar=False, prefix="train/x_")
    trainer, logged = lightning_run(tmp_path, meter, callbacks=[callback])
    assert [(step, scalars["train/x_steps"]) for step, scalars in logged] == [(3, 4)]
    assert "mfu_pct" not in trainer.progress_bar_metrics
    assert callback.postfix == callbacks.postfix(meter)


def test_the_lightning_callback_resumes_the_meter_from_a_checkpoint(tmp_path: Path) -> None:
    trainer, _ = lightning_run(tmp_path, new_meter(), batches=2)
    trainer.save_checkpoint(tmp_path / "two.ckpt")
    again = new_meter()
    lightning_run(tmp_path, again, checkpoint=str(tmp_path / "two.ckpt"), batches=4, max_epochs=2)
    assert again.run.steps == 6
    assert again.run.useful == work_of(LENGTHS[:4] + LENGTHS[:8], 8).total


def test_the_lightning_callback_does_not_count_a_failed_step(tmp_path: Path) -> None:
    lightning = pytest.importorskip("lightning", reason="Lightning is not installed")

    class Fails(lightning.Callback):  # type: ignore[name-defined,misc,unused-ignore]
        def on_before_zero_grad(self, trainer: Any, *rest: Any) -> None:
            if trainer.global_step == 2:
                raise ZeroDivisionError

    meter = new_meter()
    with pytest.raises(ZeroDivisionError):
        lightning_run(tmp_path, meter, callbacks=[callbacks.LightningMeter(meter), Fails()])
    assert meter.run.steps == 2 and not meter.in_step
