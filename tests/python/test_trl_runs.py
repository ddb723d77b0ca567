# SPDX-License-Identifier: Apache-2.0
"""Real runs of TRL's trainers on the CPU: ORPO, CPO, distillation and GRPO. What the meter counts is what ran through the
first layer of the model with gradients."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import floptally
import pytest
from floptally import callbacks

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")
pytest.importorskip("datasets", reason="datasets is not installed")
trl = pytest.importorskip("trl", reason="TRL is not installed")

WORDS = "abcdefghij"
PROMPTS = ["a b", "c d e", "f", "a"] * 2
CHOSEN, REJECTED = ["a b c", "d", "e f g", "h i"] * 2, ["j", "i h g", "a", "b b"] * 2


def tokenizer() -> Any:
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    vocabulary = {word: place for place, word in enumerate(["<pad>", "<eos>", "<unk>", *WORDS, " "])}
    by_letter = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unk>"))
    by_letter.pre_tokenizer = tokenizers.pre_tokenizers.Split("", "isolated")
    result = transformers.PreTrainedTokenizerFast(tokenizer_object=by_letter, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")
    result.chat_template = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
    return result


def model_of(layers: int) -> Any:
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=16, hidden_size=16, intermediate_size=24, num_hidden_layers=layers, num_attention_heads=2, num_key_value_heads=1,
        max_position_embeddings=128, pad_token_id=0, eos_token_id=1, bos_token_id=1,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config)


def orpo(model: Any, options: Any) -> Any:
    part = module_of("orpo", "ORPOTrainer")
    return preferences(part.ORPOTrainer, part.ORPOConfig, model, options)


def cpo(model: Any, options: Any) -> Any:
    part = module_of("cpo", "CPOTrainer")
    return preferences(part.CPOTrainer, part.CPOConfig, model, options)


def module_of(name: str, trainer: str) -> Any:
    """The module of TRL with a trainer: a newer release has it in `trl.experimental`, an older one in `trl`."""
    if hasattr(trl, trainer):
        return trl
    return pytest.importorskip(f"trl.experimental.{name}", reason=f"this TRL has no {trainer}")


def preferences(kind: Any, arguments: Any, model: Any, options: Any) -> Any:
    from datasets import Dataset

    rows = Dataset.from_dict({"prompt": PROMPTS, "chosen": CHOSEN, "rejected": REJECTED})
    return kind(model=model, args=arguments(**options, max_length=24), train_dataset=rows, processing_class=tokenizer())


def distillation(model: Any, options: Any) -> Any:
    from datasets import Dataset

    if not hasattr(trl, "DistillationTrainer"):
        pytest.skip("this TRL has no trainer for distillation")
    rows = Dataset.from_dict({"prompt": PROMPTS, "completion": CHOSEN})
    arguments = trl.DistillationConfig(**options)
    return trl.DistillationTrainer(model=model, teacher_model=model_of(3), args=arguments, train_dataset=rows, processing_class=tokenizer())


def grpo(model: Any, options: Any) -> Any:
    from datasets import Dataset

    if not hasattr(trl, "GRPOConfig"):
        pytest.skip("this TRL has no GRPO")
    arguments = trl.GRPOConfig(**options, num_generations=2, max_completion_length=6)

    def reward(completions: Any, **others: Any) -> list[float]:
        return [float(len(one)) for one in completions]

    rows = Dataset.from_dict({"prompt": PROMPTS})
    return trl.GRPOTrainer(model=model, reward_funcs=reward, args=arguments, train_dataset=rows, processing_class=tokenizer())


@pytest.mark.parametrize(("kind", "generates"), [(orpo, False), (cpo, False), (distillation, True), (grpo, True)])
def test_a_run_of_a_trl_trainer_counts_the_passes_that_ran_with_gradients(tmp_path: Path, kind: Any, generates: bool) -> None:
    model = model_of(2)
    options = {
        "output_dir": str(tmp_path), "report_to": [], "use_cpu": True, "max_steps": 2, "per_device_train_batch_size": 2,
        "logging_steps": 1, "disable_tqdm": True, "save_strategy": "no", "gradient_checkpointing": False,
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer = kind(model, options)
        cost = floptally.cost(model)
        meter = floptally.Meter(cost, gpus=1, peak_tflops=1e-3)
        callback = callbacks.TrainerMeter(meter).attach(trainer)
        ran: list[tuple[int, int]] = []

        def seen(layer: Any, given: Any) -> None:
            if torch.is_grad_enabled() and model.training:
                ran.append((given[0].shape[0], given[0].shape[1]))

        model.model.layers[0].register_forward_pre_hook(seen)
        trainer.train()
    assert len(ran) == 2 == meter.run.steps and callback.batches_left_out == 0

    def without_head(work: Any) -> int:
        return sum(part.total for name, part in work.padded.components.items() if name != "lm_head")

    expected = cost.flops(lengths=[row for rows, row in ran for _ in range(rows)])
    assert without_head(meter.breakdown("run")) == without_head(expected)
    assert 0 < meter.run.useful <= meter.run.padded <= expected.padded_total  # the head scores all tokens, or fewer
    logged = [line for line in trainer.state.log_history if "loss" in line]
    assert all(("whole_step_seconds" in line) == generates for line in logged) and len(logged) == 2
    assert ("time is of updates alone" in callback.report()) == generates
