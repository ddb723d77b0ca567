# SPDX-License-Identifier: Apache-2.0
"""Replaces ``PerfCounter`` and ``get_perf_counter`` of prime-rl's ``prime_rl.trainer.perf``."""

from __future__ import annotations

import os
import time
from typing import Any

from .. import Convention, Cost, Error, Plan, accelerator
from .._types import ConfigLike
from ._count import Count, cost
from ._fields import as_integer, as_lengths, as_seconds
from ._formula import Sizes, formula, mean_of_tokens
from ._original import Original

__all__ = ["PerfCounter", "get_perf_counter"]

_original = Original("prime-rl", "prime_rl.trainer.perf", "PerfCounter")


class PerfCounter:
    """Replaces prime-rl's counter of tokens per second and MFU in per cent.

    model: a model of transformers, or any object with such a `config`.
    seq_len: tokens of each row of a batch.
    window_size: steps that `get_mfu` averages over.
    convention: prime-rl's own by default.
    plan: which weights train and what is recomputed.
    accelerator: the GPU whose dense bf16 peak is the denominator of the MFU. The current device by default.
    world_size: number of GPUs; by default the world size of torch.distributed.
    """

    def __init__(
        self,
        model: Any,
        seq_len: int,
        window_size: int = 10,
        *,
        convention: str | Convention | None = None,
        plan: Plan | None = None,
        accelerator: str | None = None,
        world_size: int | None = None,
    ) -> None:
        self.model, self.window_size = model, window_size
        self.tokens: list[int] = []
        self.times: list[float] = []
        self._world_size = world_size
        self.gpu_peak_flops = _peak(accelerator)
        self._own = convention is None and plan is None
        how = convention if convention is not None else "exact"
        self._count = _original.prepare(
            lambda: Count(_own(model) if self._own else cost(model.config), how, plan), own=self._own
        )
        self.num_flop_per_token = self._per_token([as_integer("seq_len", seq_len, least=1)])

    def count_tokens(self, tokens: int) -> None:
        """Ends a step that processed this many tokens."""
        self.tokens = [*self.tokens, as_integer("tokens", tokens)][-self.window_size :]
        self.times = [*self.times, time.perf_counter()][-self.window_size :]

    def get_tokens_per_second(self) -> float | None:
        """Returns the tokens per second of the last `window_size` steps. None before the second step."""
        if len(self.tokens) < 2:
            return None
        return sum(self.tokens[1:]) / (self.times[-1] - self.times[0])

    def get_mfu(self) -> float | None:
        """Returns the MFU of the last `window_size` steps in per cent. None before the second step."""
        rate = self.get_tokens_per_second()
        return None if rate is None else self._mfu(rate)

    def get_step_tokens_per_second(self, tokens: int, fwd_bwd_time: float) -> float:
        """Returns the tokens per second of one step's forward and backward."""
        return tokens / as_seconds("fwd_bwd_time", fwd_bwd_time)

    def get_step_mfu(self, tokens: int, fwd_bwd_time: float, *, lengths: Any = None) -> float:
        """Returns the MFU of one step's forward and backward in per cent.

        lengths: tokens of each document of the step on all GPUs. If you chose a convention, it counts these instead of
            `tokens`.
        """
        if lengths is None:
            return self._mfu(self.get_step_tokens_per_second(tokens, fwd_bwd_time))
        documents = as_lengths("lengths", lengths)
        return self._mfu(sum(documents) / as_seconds("fwd_bwd_time", fwd_bwd_time), self._per_token(documents))

    @staticmethod
    def get_active_mm_params(config: ConfigLike) -> int:
        """Returns the number of weights that a token is multiplied with in matrix products, by prime-rl's formula."""
        return _weights(Sizes(config))

    def _mfu(self, rate: float, per_token: float | None = None) -> float:
        if not self.gpu_peak_flops:
            raise Error("accelerator", "must be passed, since no GPU with a known peak was found")
        flops = self.num_flop_per_token if per_token is None else per_token
        return 100 * flops * rate / self.gpu_peak_flops / _ranks(self._world_size)

    def _per_token(self, lengths: list[int]) -> int | float:
        def ours() -> int | float:
            return mean_of_tokens(self._count.get().lengths(lengths), lengths)

        found: int | float = _original.answer(
            ours,
            lambda original: original(self.model, lengths[0]).num_flop_per_token,
            own=self._own and len(lengths) == 1,
            compare=False,
            number=float,
        )
        return found


_counter: PerfCounter | None = None


def get_perf_counter(model: Any, seq_len: int, window_size: int = 10, **settings: Any) -> PerfCounter:
    """Returns the PerfCounter of this process. The first call creates it."""
    global _counter
    if _counter is None:
        _counter = PerfCounter(model, seq_len, window_size, **settings)
    return _counter


def _peak(name: str | None) -> float:
    if name is None:
        import torch

        name = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return 0.0 if name is None else accelerator(name).peak_tflops("bf16") * 1e12


def _ranks(world_size: int | None) -> int:
    if world_size is not None:
        return as_integer("world_size", world_size, least=1)
    return as_integer("WORLD_SIZE", int(os.environ.get("WORLD_SIZE", "1")), least=1)


def _require_whole(model: Any) -> None:
    for module in model.modules():
        if type(module).__name__ == "MultiLoRAModule" or hasattr(module, "lora_A"):
            raise Error(
                "model",
                "has adapters, which only prime-rl itself or a plan can count: install prime-rl, or pass convention= and plan=",
            )


def _own(model: Any) -> Cost:
    _require_whole(model)
    sizes = Sizes(model.config)
    return formula("prime_rl", _weights(sizes), 4 * sizes.layers * sizes.heads * (sizes.hidden // sizes.heads))


def _weights(sizes: Sizes) -> int:
    fields, hidden, layers, heads = sizes.fields, sizes.hidden, sizes.layers, sizes.heads
    if fields.get("kv_lora_rank") is not None and fields.get("q_lora_rank") is not None:
        nope, rope, value = (fields.integer(name) for name in ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"))
        rank, keys = fields.integer("q_lora_rank"), fields.integer("kv_lora_rank")
        attention = rank * (hidden + heads * fields.integer("qk_head_dim", nope + rope))
        attention += hidden * (keys + rope) + keys * heads * (nope + value) + heads * value * hidden
    else:
        attention = sizes.attention()
    chosen = fields.get("num_experts_per_tok")
    dense = layers if chosen is None else 0
    dense = fields.integer("first_k_dense_replace", dense, least=0)
    narrow = fields.get("moe_intermediate_size")
    width = fields.integer("intermediate_size", narrow if narrow is not None else 0, least=0)
    wide = as_integer("moe_intermediate_size", narrow) if narrow else width
    routers = fields.get("n_routed_experts")
    routers = fields.get("num_experts") if routers is None else routers
    sparse = 0
    if routers is not None:  # a configuration without either name has no experts there
        experts = fields.integer("num_shared_experts", 0, least=0) + as_integer("num_experts_per_tok", chosen or 0)
        sparse = experts * sizes.gated(wide) + hidden * as_integer("num_experts", routers)
    return layers * attention + dense * sizes.gated(width) + (layers - dense) * sparse + sizes.lm_head()
