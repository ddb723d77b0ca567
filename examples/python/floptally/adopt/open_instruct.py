# SPDX-License-Identifier: Apache-2.0
"""open-instruct: ``open_instruct.utils.ModelDims``."""

from __future__ import annotations

from typing import Any

from .. import Convention, Cost, Error, Mask, Plan, accelerator, cost
from .._types import ConfigLike
from ._count import Count
from ._fields import as_integer, as_lengths, as_seconds
from ._formula import text_of
from ._original import Original

__all__ = ["ModelDims"]

_original = Original("open-instruct", "open_instruct.utils", "ModelDims")
_FORWARD = Plan(phase="forward")


class ModelDims:
    """open-instruct's FLOPs and MFU of generation and of training. What is of memory (`memory_bytes`, `calculate_mbu`) is
    open-instruct's own, where that is installed.

    config: what ``floptally.cost`` takes. convention: of the count; open-instruct's own by default. plan: what trains and
    what runs again. accelerator: whose dense bf16 peak is divided by; that of the current device by default. compare: runs
    open-instruct's own beside it and logs both.
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
        model = _own(config) if self._own else cost(config)
        self._forward = Count(model, convention if convention is not None else "exact", _FORWARD)
        self._step = Count(model, convention if convention is not None else "exact", self._train)

    @classmethod
    def from_hf_config(cls, model_name_or_path: str, **ours: Any) -> ModelDims:
        """By the name of a model, or its folder."""
        from transformers import AutoConfig

        made = cls(AutoConfig.from_pretrained(model_name_or_path, trust_remote_code=True), **ours)
        made._name = model_name_or_path
        return made

    def flops(
        self,
        prompt_lengths: list[int],
        response_lengths: list[int] | None = None,
        samples_per_prompt: int = 1,
        is_training: bool = False,
    ) -> int:
        """Of prompts that are prefilled once each, and of the responses that are decoded after them; a third of training.

        By a convention training is over whole sequences, each prompt with each of its responses.
        """
        return _original.answer(
            lambda: self._flops(prompt_lengths, response_lengths, samples_per_prompt, is_training),
            lambda original: int(
                self._original(original).flops(prompt_lengths, response_lengths, samples_per_prompt, is_training)
            ),
            own=self._own and self._name is not None,
            compare=self._compare,
            number=float,
        )

    def prefill_flops(self, prompt_lengths: list[int]) -> int:
        """FLOPs of the prompts, a forward alone."""
        return self._forward.lengths(as_lengths("prompt_lengths", prompt_lengths))

    def decode_flops(self, prompt_lengths: list[int], response_lengths: list[int], samples_per_prompt: int = 1) -> int:
        """FLOPs of the responses, token by token with a cache."""
        pairs = self._pairs(prompt_lengths, response_lengths, samples_per_prompt)
        if self._own:
            return self._forward.batch(new_tokens=[(response, prompt) for prompt, response in pairs])
        # The first token of a response is that of the prefill's last position: one step less than tokens.
        return self._forward.batch(new_tokens=[(max(response - 1, 0), prompt) for prompt, response in pairs])

    def calculate_mfu(
        self,
        prompt_lengths: list[int],
        generation_time: float,
        response_lengths: list[int] | None = None,
        samples_per_prompt: int = 1,
        num_gpus: int = 1,
    ) -> float:
        """In percent."""
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
        """{"mfu": per cent} of a step that trains on these prompts and responses."""
        pairs = self._pairs(prompt_lengths, response_lengths, samples_per_prompt)
        flops = self._trained([prompt + response for prompt, response in pairs])
        return {"mfu": self._percent(flops, "training_time", training_time, num_training_gpus)}

    def approximate_learner_utilization(
        self, total_tokens: int, avg_sequence_length: float, training_time: float, num_training_gpus: int
    ) -> dict[str, float]:
        """{"mfu": per cent} of a step whose sequences are taken to be all of the average length."""
        if not avg_sequence_length > 0:
            raise Error("avg_sequence_length", f"must be above 0, got {avg_sequence_length!r}")
        flops = int(total_tokens / avg_sequence_length) * self._trained([int(avg_sequence_length)])
        return {"mfu": self._percent(flops, "training_time", training_time, num_training_gpus)}

    @property
    def device_flops(self) -> float:
        """Peak of one GPU, dense, in bf16."""
        name = self._accelerator
        if name is None:
            import torch

            if not torch.cuda.is_available():
                raise Error("accelerator", "must be named: no GPU is there whose peak is known")
            name = torch.cuda.get_device_name()
        return accelerator(name).peak_tflops("bf16") * 1e12

    def __getattr__(self, name: str) -> Any:
        """What is not counted here."""
        if name.startswith("_"):
            raise AttributeError(name)
        found = _original.find(load=True)
        if found is None:
            raise AttributeError(f"{name} is open-instruct's own, which is not installed")
        return getattr(self._original(found), name)

    def _flops(self, prompts: list[int], responses: list[int] | None, samples: int, is_training: bool) -> int:
        if is_training and not self._own:
            if responses is None:
                return self._trained(as_lengths("prompt_lengths", prompts))
            return self._trained([sum(pair) for pair in self._pairs(prompts, responses, samples)])
        total = self.prefill_flops(prompts)
        if responses is not None:
            total += self.decode_flops(prompts, responses, samples)
        return total * (3 if is_training else 1)

    def _trained(self, lengths: list[int]) -> int:
        return 3 * self._forward.lengths(lengths) if self._own else self._step.lengths(lengths)

    def _pairs(self, prompts: Any, responses: Any, samples: int) -> list[tuple[int, int]]:
        first, second = as_lengths("prompt_lengths", prompts), as_lengths("response_lengths", responses)
        times = as_integer("samples_per_prompt", samples, least=1)
        if len(second) != times * len(first):
            raise Error("response_lengths", f"must be {times} of each of {len(first)} prompts, got {len(second)}")
        return [(first[i // times], response) for i, response in enumerate(second)]

    def _percent(self, flops: int, field: str, seconds: float, gpus: int) -> float:
        return 100 * flops / as_seconds(field, seconds) / (self.device_flops * as_integer("num_gpus", gpus, least=1))

    def _original(self, original: Any) -> Any:
        if self._name is None:
            raise Error("config", "is no name that open-instruct reads a configuration by: use from_hf_config")
        return original.from_hf_config(self._name)


def _own(config: ConfigLike) -> Cost:
    """By its formula: the lm_head on every token, all n² pairs of a prefill and all keys of a decoded token, 4 FLOPs of a
    score for the softmax and 1 of an activation; a window is the most keys that a token sees."""
    fields = text_of(config)
    hidden, heads, layers = (fields.integer(name) for name in ("hidden_size", "num_attention_heads", "num_hidden_layers"))
    groups, width = fields.integer("num_key_value_heads", heads), fields.integer("head_dim", hidden // heads)
    inner, words = fields.integer("intermediate_size", 4 * hidden), fields.integer("vocab_size")
    types = list(fields.get("layer_types") or [])
    if "linear_attention" in types:
        raise Error("layer_types", "of linear attention are counted by open-instruct's own formula, or by a convention")
    window = fields.get("sliding_window")
    windowed = 0 if window is None else types.count("sliding_attention") if types else layers
    if windowed:
        raise Error("sliding_window", "is counted by open-instruct's own formula, or by a convention")
    projections = 2 * hidden * 2 * width * (heads + groups)
    score = heads * (4 * width + 4)
    row = layers * (projections + 6 * hidden * inner + inner) + 2 * hidden * words
    rows: list[tuple[Any, ...]] = [
        ("weights", "tokens", "linear", row),
        ("attention.core", Mask.from_callable("open_instruct_keys", _keys), "scores", layers * score),
    ]
    return Cost.from_rows(rows, model_type="open_instruct")


def _keys(length: int, past: int, keys: int) -> int:
    """n² of a prefill; of a decoded token all keys up to its own."""
    return length * length if past == 0 else length * past + length * (length + 1) // 2
