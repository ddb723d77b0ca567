# SPDX-License-Identifier: Apache-2.0
"""MaxText: ``maxtext.utils.maxtext_utils.calculate_tflops_training_per_device``."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from .. import Breakdown, Convention, Cost, Error, Plan
from ._count import counted
from ._fields import Fields
from ._model import Model, Part, linear

__all__ = ["calculate_tflops_training_per_device", "read"]

_DENSE = ("default", "llama2", "mistral", "gemma", "qwen2", "qwen3", "gpt3", "simple", "simple_mlp")
_EXPERTS = ("mixtral", "qwen3_moe", "gpt_oss", "deepseek", "llama4", "qwen3_next")
_BLOCKS = (*_DENSE, *_EXPERTS, "gemma2", "gemma3")
#: Components whose products have no weights.
_ATTENTION = ("attention.core", "mixer.state")


def read(config: Any) -> Cost:
    """The cost of the model that a configuration of MaxText describes."""
    return _Reader(config).cost()


def calculate_tflops_training_per_device(
    config: Any, log: bool = True, *, convention: str | Convention = "maxtext", plan: Plan | None = None
) -> tuple[float, float, float]:
    """TFLOPs of one train step on one device: in all, of products with weights, of attention.

    Args:
        config: a configuration of MaxText.
        log: prints them.
        convention: of the count; MaxText's own by default.
        plan: what trains and what runs again, where that is not all and nothing.
    """
    fields = Fields(config)
    count = counted(read(config), convention, plan)
    work = count.cost.flops(convention=convention, plan=plan, lengths=[fields.integer("max_target_length")])
    batch = fields.get("per_device_batch_size")
    if isinstance(batch, bool) or not isinstance(batch, (int, float)) or not 0 < batch < float("inf"):
        raise Error("per_device_batch_size", f"must be a number of sequences above 0, got {batch!r}")
    times = Fraction(batch) * fields.integer("gradient_accumulation_steps", 1)
    attention = _of(work, _ATTENTION)
    total, weights = work.total * times, (work.total - attention) * times
    of_attention = attention * times
    if fields.flag("use_dpo"):  # one forward of the reference model; MaxText shows its pairs among those of attention
        forward = work.useful.forward * times
        reference = sum(one.forward for name, one in work.useful.components.items() if name in _ATTENTION) * times
        total, of_attention = total + forward, of_attention + reference
    found = tuple(float(value / 10**12) for value in (total, weights, of_attention))
    if log:
        print(
            f"Per train step on one device: {found[0]:.2f} TFLOPs, "
            f"{100 * found[1] / found[0]:.2f}% of products with weights, {100 * found[2] / found[0]:.2f}% of attention ({work.convention})"
        )
    return found[0], found[1], found[2]


def _of(work: Breakdown, components: Sequence[str]) -> int:
    return sum(one.total for name, one in work.useful.components.items() if name in components)


class _Reader:
    def __init__(self, config: Any) -> None:
        self.fields = Fields(config)
        block = self.fields.get("decoder_block")
        self.block = str(getattr(block, "value", block))
        if self.block not in _BLOCKS:
            raise Error("decoder_block", f"must be one of {', '.join(sorted(_BLOCKS))} to be read, got {self.block!r}")
        for field in ("use_multimodal", "engram_layers", "use_indexer", "share_kv_projections"):
            self.fields.refuse(field, "is not read")
        self.hidden = self.fields.integer("emb_dim")
        self.model = Model(
            f"maxtext {self.block}", hidden_size=self.hidden, vocab_size=self.fields.integer("vocab_size"),
            tied=self.fields.flag("logits_via_embedding"),
        )  # fmt: skip

    def cost(self) -> Cost:
        layers = self.fields.integer("num_decoder_layers")
        for i in range(2 * layers if self.block == "gemma2" else layers):  # whose layers come in pairs
            self.model.layer(*self._mixer(i), self._feed_forward(i))
        for _ in range(self.fields.integer("mtp_num_layers", 0, least=0)):  # a copy of the last layer, no more
            self.model.layer(*self._mixer(layers - 1), self._feed_forward(layers - 1))
        return self.model.cost()

    def _mixer(self, i: int) -> list[Part]:
        if self.block == "qwen3_next" and (i + 1) % self.fields.integer("inhomogeneous_layer_cycle_interval"):
            return [
                {
                    "type": "gated_delta_net",
                    "num_key_heads": self.fields.integer("gdn_num_key_heads"),
                    "num_value_heads": self.fields.integer("gdn_num_value_heads"),
                    "key_head_dim": self.fields.integer("gdn_key_head_dim"),
                    "value_head_dim": self.fields.integer("gdn_value_head_dim"),
                    "conv_kernel": self.fields.integer("gdn_conv_kernel_dim"),
                }
            ]
        heads = self.fields.integer("num_query_heads")
        if self.fields.get("attention_type") == "mla":
            return [
                {
                    "type": "mla",
                    "num_heads": heads,
                    "q_lora_rank": self.fields.integer("q_lora_rank", 0, least=0),
                    "kv_lora_rank": self.fields.integer("kv_lora_rank"),
                    "qk_nope_head_dim": self.fields.integer("qk_nope_head_dim"),
                    "qk_rope_head_dim": self.fields.integer("qk_rope_head_dim"),
                    "v_head_dim": self.fields.integer("v_head_dim"),
                }
            ]
        width = self.fields.integer("head_dim")
        part: Part = {
            "type": "attention", "num_heads": heads, "num_kv_heads": self.fields.integer("num_kv_heads"),
            "head_dim": width, "mask": self._mask(i),
        }  # fmt: skip
        gate = [linear("attention.gate", self.hidden, heads * width)] if self.block == "qwen3_next" else []
        return [part, *gate]

    def _mask(self, i: int) -> Any:
        """Which layers have a window follows from the block, as in MaxText's own count."""
        window = {"gemma2": 2, "gemma3": 6, "gpt_oss": 2}.get(self.block)
        if window is not None:
            return {"sliding_window": self.fields.integer("sliding_window_size")} if (i + 1) % window else "causal"
        if self.block == "llama4" and (i + 1) % self.fields.integer("nope_layer_interval"):
            return {"chunked": self.fields.integer("chunk_attn_window_size")}
        kind = self.fields.get("attention_type")
        kind = getattr(kind, "value", kind)
        if kind == "local_sliding":
            return {"sliding_window": self.fields.integer("sliding_window_size")}
        if kind not in (None, "global", "chunk", "mla"):
            raise Error("attention_type", f"must be global, local_sliding, chunk or mla to be read, got {kind!r}")
        return "causal"

    def _feed_forward(self, i: int) -> Part:
        activations = self.fields.get("mlp_activations") or ()
        if len(activations) not in (1, 2):
            raise Error("mlp_activations", f"must be one, or two of a gated MLP, got {activations!r}")
        gated = len(activations) == 2
        experts = self.fields.integer("num_experts", 1)
        if experts == 1 or not self._has_experts(i):
            return {"type": "mlp", "intermediate_size": self.fields.integer("mlp_dim"), "gated": gated}
        width = self.fields.integer("moe_mlp_dim")
        part: Part = {
            "type": "moe", "num_experts": experts, "num_experts_per_tok": self.fields.integer("num_experts_per_tok"),
            "intermediate_size": width, "gated": gated,
        }  # fmt: skip
        shared = self.fields.integer("shared_experts", 0, least=0)
        if shared and self.block in ("deepseek", "llama4", "qwen3_next"):
            part["shared_intermediate_size"] = shared * width
            part["shared_expert_gate"] = self.block == "qwen3_next"
        return part

    def _has_experts(self, i: int) -> bool:
        if self.block == "deepseek":
            return i >= self.fields.integer("first_num_dense_layers", 0, least=0)
        if self.block == "llama4":
            return (i + 1) % self.fields.integer("interleave_moe_layer_step", 1) == 0
        return True
