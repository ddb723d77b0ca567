# SPDX-License-Identifier: Apache-2.0
"""Meters every pass of TRL's GRPO: rollout, old log-probabilities, reference, update.

    python examples/rl_step.py [--steps 4]

Needs TRL; a tiny Llama and its tokenizer are made on the spot, and nothing is downloaded. A subclass of the trainer times
each pass where TRL runs it and hands the meter what it ran on; beside it PyTorch's FlopCounterMode counts the products of
the same lines, and both must be equal in every pass of every step. The table at the end is the last step that generated:
MFU of each pass over its own seconds, of the learner, and of the whole wall clock, whose lines add up (docs/rl_step.md).
"""

from __future__ import annotations

import argparse
import pathlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from torch.utils.flop_counter import FlopCounterMode
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

import floptally

WORDS = ["<pad>", "<eos>", *(f"w{n}" for n in range(62))]
#: As PyTorch counts: full squares, and eager attention, which keeps its scores.
CONVENTION = "torch_flop_counter_eager"
#: An engine computes the logits of the last token of each pass. TRL's fused head computes those that are scored (without
#: Triton, those of every token), and its backward computes them once more.
ROLLOUT = floptally.Plan(phase="forward", logits="last")
SCORE = floptally.Plan(phase="forward", logits="measured")
UPDATE = floptally.Plan(logits="measured", recompute_components=["lm_head"], flash_attention=False)


def product_in_place(_: Any, rows: list[int], columns: list[int], **__: Any) -> int:
    """A product that this backward runs in place, which PyTorch's counter does not know."""
    return 2 * rows[0] * rows[1] * columns[1]



class MeteredGRPO(GRPOTrainer):
    """GRPO whose passes are timed and counted. `ran` is what PyTorch counted of each pass of the step."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.meter = floptally.Meter(
            floptally.cost(self.model), gpus=1, peak_tflops=0.1, convention=CONVENTION, plan=UPDATE
        )
        self.reference = floptally.cost(self.ref_model)
        self.ran: dict[str, int] = {}
        self.update: Any = None
        self.steps: list[tuple[floptally.StepPasses, dict[str, int]]] = []
        self.add_callback(MeterSteps(self))

    @contextmanager
    def timed(self, name: str, **options: Any) -> Iterator[floptally.TimedPass]:
        with self.meter.timed(name, **options) as timed_pass, FlopCounterMode(display=False, custom_mapping={torch.ops.aten.addmm_: product_in_place}) as counter:
            yield timed_pass
        self.ran[name] = self.ran.get(name, 0) + counter.get_total_flops()

    def _generate(self, prompts: list[Any]) -> Any:
        with self.timed("rollout", plan=ROLLOUT, learner=False) as rollout:
            generated = super()._generate(prompts)
            lengths = [(len(prompt), len(completion)) for prompt, completion in zip(generated[0], generated[1])]
            longest = [max(side) for side in zip(*lengths)]  # prompts are padded, and all are decoded to the last end
            rollout.add(requests=lengths, slots={"requests": [tuple(longest)] * len(lengths)})
        return generated

    def _get_per_token_logps_and_entropies(
        self, model: Any, input_ids: Any, attention_mask: Any, logits_to_keep: int, *others: Any, **more: Any
    ) -> Any:
        rows, slots = input_ids.shape
        scored = int(attention_mask[:, -logits_to_keep:].sum())
        every = scored if input_ids.is_cuda else rows * (slots - 1)
        batch = {"attention_mask": attention_mask, "measured": {"logits": (scored, every)}}

        def run() -> Any:
            return super(MeteredGRPO, self)._get_per_token_logps_and_entropies(
                model, input_ids, attention_mask, logits_to_keep, *others, **more
            )

        if torch.is_grad_enabled():
            self.update.add(**batch)
            return run()
        is_reference = model is self.ref_model
        name, cost = ("ref", self.reference) if is_reference else ("old_log_prob", self.meter.cost)
        with self.timed(name, cost=cost, plan=SCORE) as scoring:
            scoring.add(**batch)
            return run()

    def compute_loss(self, *arguments: Any, **options: Any) -> Any:
        self.running = self.timed("update")  # until the backward has ended
        self.update = self.running.__enter__()
        return super().compute_loss(*arguments, **options)

    def training_step(self, *arguments: Any, **options: Any) -> Any:
        loss = super().training_step(*arguments, **options)
        self.running.__exit__(None, None, None)
        return loss


class MeterSteps(TrainerCallback):
    """Opens and ends the meter's steps."""

    def __init__(self, trainer: MeteredGRPO) -> None:
        self.trainer = trainer

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        self.trainer.meter.begin_step()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self.trainer.meter.end_step()
        self.trainer.steps.append((self.trainer.meter.passes(), self.trainer.ran))
        self.trainer.ran = {}


def tiny_model(folder: str) -> None:
    """A Llama and a tokenizer of a word each."""
    tokenizer = Tokenizer(models.WordLevel({word: n for n, word in enumerate(WORDS)}, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>").save_pretrained(folder)
    config = LlamaConfig(
        vocab_size=len(WORDS), hidden_size=64, intermediate_size=160, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=256, bos_token_id=None, eos_token_id=1, pad_token_id=0,
        tie_word_embeddings=False,
    )  # fmt: skip
    torch.manual_seed(0)
    LlamaForCausalLM(config).save_pretrained(folder)


def train(steps: int, **options: Any) -> MeteredGRPO:
    """Trains so many steps. Every second one generates; completions end where the model says so."""
    with tempfile.TemporaryDirectory() as folder:
        tiny_model(folder)
        prompts = [" ".join(WORDS[2 + n : 2 + n + length]) for n, length in enumerate((5, 9, 3, 12, 7, 4))]
        arguments = GRPOConfig(
            output_dir=str(pathlib.Path(folder) / "out"), max_steps=steps, per_device_train_batch_size=4,
            num_generations=4, max_completion_length=24, num_iterations=2, beta=0.04, gradient_checkpointing=False,
            use_cpu=True, bf16=False, report_to=[], save_strategy="no", disable_tqdm=True, seed=1,
            model_init_kwargs={"attn_implementation": "eager", "dtype": "float32"}, **options,
        )  # fmt: skip
        trainer = MeteredGRPO(
            model=folder, args=arguments, train_dataset=Dataset.from_dict({"prompt": prompts}),
            reward_funcs=lambda completions, **_: [float(len(set(one.split()))) for one in completions],
        )  # fmt: skip
        trainer.train()
    return trainer


def main() -> None:
    parser = argparse.ArgumentParser(description="Meters the passes of TRL's GRPO.")
    parser.add_argument("--steps", type=int, default=4)
    trainer = train(parser.parse_args().steps)
    for number, (passes, ran) in enumerate(trainer.steps, 1):
        for name, one in passes.items():
            equal = "equal" if one.executed == ran[name] else "NOT EQUAL"
            print(f"step {number}  {name:13} {one.useful:12} useful {one.executed:12} executed, PyTorch {ran[name]:12}: {equal}")
    print()
    print(next(passes for passes, _ in reversed(trainer.steps) if "rollout" in passes))


if __name__ == "__main__":
    main()
