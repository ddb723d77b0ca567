# SPDX-License-Identifier: Apache-2.0
"""Replaces open-instruct's ``open_instruct.utils.ModelDims``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import Convention, Cost, Error, Mask, Plan, accelerator
from .._types import ConfigLike
from ._count import Count, cost
from ._fields import as_integer, as_lengths, as_seconds, only_original_counts
from ._formula import text_of
from ._original import Original

__all__ = ["ModelDims"]

_original = Original("open-instruct", "open_instruct.utils", "ModelDims")
_FORWARD = Plan(phase="forward")


class ModelDims:
    """Replaces open-instruct's ModelDims: FLOPs and MFU of generation and of training. Methods about memory
    (`memory_bytes`, `calculate_mbu`) are open-instruct's own and need it installed.

    config: what ``floptally.cost`` takes.
    convention: open-instruct's own by default.
    plan: which weights train and what is recomputed.
    accelerator: the GPU whose dense bf16 peak is the denominator of the MFU. The current device by default.
    compare: also runs open-instruct's own class and logs both numbers.
    """

    def __init__(
        self,
        config: ConfigLike,
        *,
        convention: str | Convention | None = None,
        plan: Plan | None = None,
        accelerator: str | None = None,
        compare: bool = False,
    ) -> None:
        self.config = config
        self._convention, self._accelerator, self._compare = convention, accelerator, compare
        self._train = plan if plan is not None else Plan()
        self._own = convention is None and plan is None
        self._name: str | None = None

        def build() -> tuple[Count, Count]:
            model, how = _own(config) if self._own else cost(config), convention if convention is not None else "exact"
            return Count(model, how, _FORWARD), Count(model, how, self._train)

        self._counts = _original.prepare(build, own=self._own)

    @classmethod
    def from_hf_config(cls, model_name_or_path: str, **settings: Any) -> ModelDims:
        """Returns a ModelDims for the Hugging Face model of this name or in this folder."""
        from transformers import AutoConfig

        dims = cls(AutoConfig.from_pretrained(model_name_or_path, trust_remote_code=True), **settings)
        dims._name = model_name_or_path
        return dims

    def flops(
        self,
        prompt_lengths: list[int],
        response_lengths: list[int] | None = None,
        samples_per_prompt: int = 1,
        is_training: bool = False,
    ) -> int:
        """Returns the FLOPs of prompts, each prefilled once, and of the responses decoded after them. With
        is_training the result is three times as large, for a forward and a backward.

        If `convention` is not open-instruct's own, training counts whole sequences: each prompt with each of its
        responses.
        """
        return self._answer(
            lambda: self._flops(prompt_lengths, response_lengths, samples_per_prompt, is_training),
            lambda dims: int(dims.flops(prompt_lengths, response_lengths, samples_per_prompt, is_training)),
        )

    def prefill_flops(self, prompt_lengths: list[int]) -> int:
        """Returns the FLOPs of prefilling the prompts (forward only)."""
        return self._answer(
            lambda: self._forward.lengths(as_lengths("prompt_lengths", prompt_lengths)),
            lambda dims: int(dims.prefill_flops(prompt_lengths)),
        )

    def decode_flops(self, prompt_lengths: list[int], response_lengths: list[int], samples_per_prompt: int = 1) -> int:
        """Returns the FLOPs of decoding the responses, token by token with a KV cache."""
        return self._answer(
            lambda: self._decoded(prompt_lengths, response_lengths, samples_per_prompt),
            lambda dims: int(dims.decode_flops(prompt_lengths, response_lengths, samples_per_prompt)),
        )

    def _decoded(self, prompt_lengths: list[int], response_lengths: list[int], samples_per_prompt: int) -> int:
        pairs = self._pairs(prompt_lengths, response_lengths, samples_per_prompt)
        if self._own:
            return self._forward.batch(new_tokens=[(response, prompt) for prompt, response in pairs])
        # The prefill gives the first token of a response, so there is one decoding step less than tokens.
        return self._forward.batch(new_tokens=[(max(response - 1, 0), prompt) for prompt, response in pairs])

    def calculate_mfu(
        self,
        prompt_lengths: list[int],
        generation_time: float,
        response_lengths: list[int] | None = None,
        samples_per_prompt: int = 1,
        num_gpus: int = 1,
    ) -> float:
        """Returns the MFU of generation in per cent."""
        flops = self.flops(prompt_lengths, response_lengths, samples_per_prompt)
        return self._percent(flops, "generation_time", generation_time, num_gpus)

    def calculate_learner_utilization(
        self,
        prompt_lengths: list[int],
        response_lengths: list[int],
        training_time: float,
        samples_per_prompt: int,
        num_training_gpus: int,
    ) -> dict[str, float]:
        """Returns {"mfu": per cent} of a training step on these prompts and responses."""

        def trained() -> int:
            pairs = self._pairs(prompt_lengths, response_lengths, samples_per_prompt)
            return self._trained([prompt + response for prompt, response in pairs])

        def of_original(dims: Any) -> int:
            lengths = [sum(pair) for pair in self._pairs(prompt_lengths, response_lengths, samples_per_prompt)]
            return int(dims.flops(lengths, is_training=True))

        flops = self._answer(trained, of_original)
        return {"mfu": self._percent(flops, "training_time", training_time, num_training_gpus)}

    def approximate_learner_utilization(
        self, total_tokens: int, avg_sequence_length: float, training_time: float, num_training_gpus: int
    ) -> dict[str, float]:
        """Returns {"mfu": per cent} of a training step, assuming that all sequences have the average length."""
        if not avg_sequence_length > 0:
            raise Error("avg_sequence_length", f"must be above 0, got {avg_sequence_length!r}")
        sequence = [int(avg_sequence_length)]
        flops = int(total_tokens / avg_sequence_length) * self._answer(
            lambda: self._trained(sequence), lambda dims: int(dims.flops(sequence, is_training=True))
        )
        return {"mfu": self._percent(flops, "training_time", training_time, num_training_gpus)}

    @property
    def device_flops(self) -> float:
        """The dense bf16 peak of one GPU in FLOP/s."""
        name = self._accelerator
        if name is None:
            import torch

            if not torch.cuda.is_available():
                raise Error("accelerator", "must be passed, since no GPU with a known peak was found")
            name = torch.cuda.get_device_name()
        return accelerator(name).peak_tflops("bf16") * 1e12

    def __getattr__(self, name: str) -> Any:
        """Returns an attribute of open-instruct's own class, if floptally's class lacks it (memory sizes, for
        example)."""
        if name.startswith("_"):
            raise AttributeError(name)
        found = _original.find(load=True)
        if found is None:
            raise AttributeError(f"{name} needs open-instruct: install it")
        return getattr(self._original(found), name)

    @property
    def _forward(self) -> Count:
        return self._counts.get()[0]

    @property
    def _step(self) -> Count:
        return self._counts.get()[1]

    def _answer(self, ours: Callable[[], int], theirs: Callable[[Any], int]) -> int:
        return _original.answer(
            ours,
            lambda original: theirs(self._original(original)),
            own=self._own and self._name is not None,
            compare=self._compare,
            number=float,
        )

    def _flops(self, prompts: list[int], responses: list[int] | None, samples: int, is_training: bool) -> int:
        if is_training and not self._own:
            if responses is None:
                return self._trained(as_lengths("prompt_lengths", prompts))
            return self._trained([sum(pair) for pair in self._pairs(prompts, responses, samples)])
        total = self._forward.lengths(as_lengths("prompt_lengths", prompts))
        if responses is not None:
            total += self._decoded(prompts, responses, samples)
        return total * (3 if is_training else 1)

    def _trained(self, lengths: list[int]) -> int:
        return 3 * self._forward.lengths(lengths) if self._own else self._step.lengths(lengths)

    def _pairs(self, prompts: Any, responses: Any, samples: int) -> list[tuple[int, int]]:
        first, second = as_lengths("prompt_lengths", prompts), as_lengths("response_lengths", responses)
        times = as_integer("samples_per_prompt", samples, least=1)
        if len(second) != times * len(first):
            raise Error("response_lengths", f"must have {times * len(first)} lengths, {times} for each of the {len(first)} prompts, got {len(second)}")
        return [(first[i // times], response) for i, response in enumerate(second)]

    def _percent(self, flops: int, field: str, seconds: float, gpus: int) -> float:
        return 100 * flops / as_seconds(field, seconds) / (self.device_flops * as_integer("num_gpus", gpus, least=1))

    def _original(self, original: Any) -> Any:
        if self._name is None:
            raise Error(
                "config",
                "must be the name of a checkpoint, because open-instruct's own class needs one: create the "
                "model by from_hf_config(name)",
            )
        return original.from_hf_config(self._name)


def _own(config: ConfigLike) -> Cost:
    """Returns the cost by open-instruct's formula. The lm_head runs on every token. A prefill attends all n² pairs, a
    decoded token all keys up to its own. The softmax has 4 FLOPs per score, an activation 1. Error for a window and
    for linear attention: only the original function counts them."""
    fields = text_of(config)
    hidden, heads, layers = (fields.integer(name) for name in ("hidden_size", "num_attention_heads", "num_hidden_layers"))
    groups, width = fields.integer("num_key_value_heads", heads), fields.integer("head_dim", hidden // heads)
    inner, words = fields.integer("intermediate_size", 4 * hidden), fields.integer("vocab_size")
    types = list(fields.get("layer_types") or [])
    if "linear_attention" in types:
        raise Error("layer_types", 'linear attention has no formula here: install open-instruct, or pass convention="exact"')
    window = fields.get("sliding_window")
    windowed = 0 if window is None else types.count("sliding_attention") if types else layers
    if windowed:
        raise Error("sliding_window", only_original_counts("open-instruct"))
    projections = 2 * hidden * 2 * width * (heads + groups)
    score = heads * (4 * width + 4)
    row = layers * (projections + 6 * hidden * inner + inner) + 2 * hidden * words
    rows: list[tuple[Any, ...]] = [
        ("weights", "tokens", "linear", row),
        ("attention.core", Mask.from_callable("open_instruct_keys", _keys), "scores", layers * score),
    ]
    return Cost.from_entries(rows, model_type="open_instruct")


def _keys(length: int, past: int, keys: int) -> int:
    """Returns the number of attended pairs. Without tokens in the cache (`past` is 0): n². Otherwise each new token
    attends all keys up to its own."""
    return length * length if past == 0 else length * past + length * (length + 1) // 2
