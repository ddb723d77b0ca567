# SPDX-License-Identifier: Apache-2.0
"""The model that a MaxText configuration describes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import Cost, Error
from ._fields import WAY_OUT, Fields
from ._model import Model, Part, linear

_DENSE = ("default", "llama2", "mistral", "gemma", "qwen2", "qwen3", "gpt3", "simple", "simple_mlp")
_EXPERTS = ("mixtral", "qwen3_moe", "gpt_oss", "deepseek", "llama4", "qwen3_next", "qwen3_5")
_MIXED = ("gemma2", "gemma3", "gemma4", "olmo3")
_BLOCKS = (*_DENSE, *_EXPERTS, *_MIXED)
_LINEAR = ("qwen3_next", "qwen3_5")
#: Blocks in which every n-th layer is global and the others have a window.
_PERIODS = {"gemma2": 2, "gemma3": 6, "gemma4": 6, "gpt_oss": 2, "olmo3": 4}
#: Blocks whose shared experts MaxText counts. One of them omits them in multi-token prediction.
_SHARED = ("deepseek", "llama4", "gemma4", *_LINEAR)


def read(config: Any, *, own: bool = False) -> Cost:
    """Returns the cost of the model that a MaxText config describes. own: True counts as MaxText's own function
    does."""
    return _Reader(config, own).cost()


class _Reader:
    """Reads a MaxText configuration as a model."""

    def __init__(self, config: Any, own: bool) -> None:
        self.own = own
        self.fields = Fields(config)
        self.block = self._word("decoder_block")
        if self.block not in _BLOCKS:
            raise Error("decoder_block", f"must be one of {', '.join(sorted(_BLOCKS))}, got {self.block!r}")
        self.fields.refuse("use_multimodal", "has no formula here", WAY_OUT)
        self.hidden = self.fields.integer("emb_dim")
        self.heads = self.fields.integer("num_query_heads")
        self.latent = self._word("attention_type") == "mla"
        if self.latent and self.block in (*_PERIODS, "llama4"):
            raise Error("attention_type", f"must be global, local_sliding or chunk, since {self.block} has no latent attention, got mla")
        self.model = Model(
            f"maxtext {self.block}", hidden_size=self.hidden, vocab_size=self.fields.integer("vocab_size"),
            tied=self.fields.flag("logits_via_embedding"),
        )  # fmt: skip

    def cost(self) -> Cost:
        layers = self.fields.integer("num_decoder_layers")
        for i in range(2 * layers if self.block == "gemma2" else layers):  # gemma2's layers come in pairs
            self.model.layer(*self._mixer(i), self._feed_forward(i))
        for _ in range(self.fields.integer("mtp_num_layers", 0, least=0)):  # copies of the last layer
            if self.own:  # always with global attention
                self.model.layer(*self._attention("causal"), self._last_feed_forward())
            else:
                self.model.layer(*self._mixer(layers - 1), self._feed_forward(layers - 1))
        for _ in self.fields.get("engram_layers") or ():
            self._engram()
        return self.model.cost()

    def _word(self, field: str) -> str:
        value = self.fields.get(field)
        return str(getattr(value, "value", value))

    # ---- attention ----

    def _mixer(self, i: int) -> list[Part]:
        if self.block in _LINEAR and (i + 1) % self.fields.integer("inhomogeneous_layer_cycle_interval"):
            return self._gated_delta_net()
        mask = self._mask(i)
        if self.block != "gemma4":
            return self._attention(mask)
        width, kv_heads = self.fields.integer("head_dim"), self.fields.integer("num_kv_heads")
        if mask != "causal":
            return self._grouped(width, kv_heads, mask, shared=False)
        width = self.fields.integer("global_head_dim", 0, least=0) or width
        kv_heads = self.fields.integer("global_num_kv_heads", 0, least=0) or kv_heads
        return self._grouped(width, kv_heads, mask, shared=self.fields.flag("share_kv_projections"))

    def _attention(self, mask: Any) -> list[Part]:
        if self.latent:
            return self._latent_attention()
        width, kv_heads = self.fields.integer("head_dim"), self.fields.integer("num_kv_heads")
        return self._grouped(width, kv_heads, mask, shared=self.fields.flag("share_kv_projections"))

    def _grouped(self, width: int, kv_heads: int, mask: Any, *, shared: bool) -> list[Part]:
        gated = self.block in _LINEAR and not self.own  # MaxText's function ignores the gate
        gate = [linear("attention.gate", self.hidden, self.heads * width)] if gated else []
        if not shared:
            part: Part = {
                "type": "attention", "num_heads": self.heads, "num_kv_heads": kv_heads, "head_dim": width, "mask": mask,
            }  # fmt: skip
            return [part, *gate]
        if kv_heads % 2:
            raise Error("share_kv_projections", f"needs an even number of key-value heads, got {kv_heads}")
        # One projection for keys and values has the weights of two with half as many heads.
        part = {
            "type": "attention",
            "num_heads": self.heads,
            "num_kv_heads": kv_heads // 2,
            "head_dim": width,
            "mask": mask,
        }
        return [part, *gate]

    def _mask(self, i: int) -> Any:
        """Returns the mask of layer i, counted from 0. As in MaxText's own count, the type of decoder block decides
        which layers have a window."""
        period = _PERIODS.get(self.block)
        if period is not None and not (self.own and self.block == "olmo3"):  # MaxText ignores the windows of olmo3
            return {"sliding_window": self.fields.integer("sliding_window_size")} if (i + 1) % period else "causal"
        if self.block == "llama4" and (i + 1) % self.fields.integer("nope_layer_interval"):
            return {"chunked": self.fields.integer("chunk_attn_window_size")}
        kind = self._word("attention_type")
        if self.own:  # in all other blocks MaxText ignores attention_type
            return "causal"
        if kind == "local_sliding":
            return {"sliding_window": self.fields.integer("sliding_window_size")}
        if kind not in ("None", "global", "chunk", "mla"):
            raise Error("attention_type", f"must be global, local_sliding, chunk or mla, got {kind!r}")
        return "causal"

    def _latent_attention(self) -> list[Part]:
        query_rank = self.fields.integer("q_lora_rank", 0, least=0)
        part: Part = {
            "type": "mla",
            "num_heads": self.heads,
            "q_lora_rank": query_rank,
            "kv_lora_rank": self.fields.integer("kv_lora_rank"),
            "qk_nope_head_dim": self.fields.integer("qk_nope_head_dim"),
            "qk_rope_head_dim": self.fields.integer("qk_rope_head_dim"),
            "v_head_dim": self.fields.integer("v_head_dim"),
        }
        if not self.fields.flag("use_indexer"):
            return [part]
        best = self.fields.integer("indexer_topk")
        if self.own and self.fields.integer("max_target_length") <= best:
            return [part]
        part["mask"] = {"top_k": best}
        heads = self.fields.integer("indexer_n_heads")
        width = self.fields.integer("indexer_head_dim")
        if self.own:  # MaxText counts it like any part, three times the forward, and the sum over heads as a product
            self.model.pairs("attention.core", 2 * heads * (width + 1))
            queries = [linear("attention.indexer", query_rank, heads * width)] if query_rank else []
            return [part, *queries, linear("attention.indexer", self.hidden, width + heads)]
        indexer: Part = {
            "type": "lightning_indexer", "num_heads": heads, "head_dim": width, "query_size": query_rank or self.hidden,
        }  # fmt: skip
        return [part, indexer]

    def _gated_delta_net(self) -> list[Part]:
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

    def _engram(self) -> None:
        """Adds an n-gram look-up for each stream of the residual: keys, values, a gate and a short convolution."""
        streams = self.fields.integer("mhc_expansion_rate")
        width = (
            self.fields.integer("engram_num_heads")
            * self.fields.integer("engram_head_dim")
            * (self.fields.integer("engram_max_ngram_size") - 1)
        )
        spread = streams * self.hidden
        weights = width * (spread + self.hidden) + self.fields.integer("engram_kernel_size") * spread
        self.model.products("engram", 2 * weights, weights)
        self.model.products("engram.gate", 2 * spread)

    # ---- feed-forward ----

    def _gated(self) -> bool:
        activations = self.fields.get("mlp_activations") or ()
        if isinstance(activations, str) or not isinstance(activations, Sequence) or len(activations) not in (1, 2):
            raise Error("mlp_activations", f"must be one activation, or the two of a gated MLP, got {activations!r}")
        return len(activations) == 2

    def _feed_forward(self, i: int) -> Part:
        if self.fields.integer("num_experts", 1) > 1 and self._has_experts(i):
            return self._experts(self.block in _SHARED)
        return {"type": "mlp", "intermediate_size": self.fields.integer("mlp_dim"), "gated": self._gated()}

    def _last_feed_forward(self) -> Part:
        """Returns the MLP or the experts of a layer of multi-token prediction, as MaxText counts it."""
        if self.fields.integer("num_experts", 1) > 1:
            return self._experts(self.block in _SHARED and self.block != "qwen3_5")
        return {"type": "mlp", "intermediate_size": self.fields.integer("mlp_dim"), "gated": self._gated()}

    def _experts(self, has_shared: bool) -> Part:
        width = self.fields.integer("moe_mlp_dim")
        part: Part = {
            "type": "moe", "num_experts": self.fields.integer("num_experts"),
            "num_experts_per_tok": self.fields.integer("num_experts_per_tok"), "intermediate_size": width,
            "gated": self._gated(),
        }  # fmt: skip
        shared = self.fields.integer("shared_experts", 0, least=0)
        if shared and has_shared:
            part["shared_intermediate_size"] = shared * (
                self.fields.integer("mlp_dim") if self.block == "gemma4" else width
            )
            part["shared_expert_gate"] = self.block in _LINEAR and not self.own
        return part

    def _has_experts(self, i: int) -> bool:
        if self.block == "deepseek":
            return i >= self.fields.integer("first_num_dense_layers", 0, least=0)
        if self.block == "llama4":
            return (i + 1) % self.fields.integer("interleave_moe_layer_step", 1) == 0
        return True
