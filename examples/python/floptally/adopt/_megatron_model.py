# SPDX-License-Identifier: Apache-2.0
"""The model that Megatron's arguments describe, in the spelling of Megatron-LM or Megatron-Bridge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import Cost, Error
from ._fields import WAY_OUT, Fields, as_integer
from ._model import Model, Part, linear

#: Names that differ between Megatron-LM's command line and a TransformerConfig.
LM_NAMES = {"gated_linear_unit": "swiglu", "num_moe_experts": "num_experts"}

_LETTERS = (
    "M mamba, G gated delta net, * attention, + latent attention, - MLP, E experts, "
    "| and / between stages and MTP depths"
)
_DELTA_NETS = ("gdn", "gated_delta_net", "gdn2")
#: Names at the end of --spec under which a letter M is a gated delta product.
_DELTA_PRODUCTS = ("gdp_stack_spec", "gated_delta_product_stack_spec")


class _Reader:
    """Reads Megatron's arguments as a model.

    own: "megatron" or "megatron_bridge" to count the model as that trainer's own function does, else empty.
    """

    def __init__(self, source: Any, names: Mapping[str, str], vocab_size: int, path: str, own: str) -> None:
        self.own = own
        self.fields = Fields(source, path)
        self.names = names
        self.hidden = self.fields.integer("hidden_size")
        self.heads = self.fields.integer("num_attention_heads")
        self.gated = self.fields.flag(names.get("gated_linear_unit", "gated_linear_unit"))
        self.model = Model("megatron", hidden_size=self.hidden, vocab_size=vocab_size, tied=self._tied())
        self.vocab_size = vocab_size
        self.variant = self.fields.get("experimental_attention_variant")
        if own == "megatron":  # that function knows only this one
            self.variant = self.variant if self.variant in _DELTA_NETS else None
        elif self.variant not in (None, *_DELTA_NETS):
            self.fields.refuse("experimental_attention_variant", "has no formula here", WAY_OUT)
        else:
            for field in ("kimi_kda_layers", "csa_compress_ratios"):
                self.fields.refuse(field, "has no formula here", WAY_OUT)

    def cost(self) -> Cost:
        pattern = self.fields.get("hybrid_layer_pattern")
        if pattern:
            self._hybrid(self.fields.text("hybrid_layer_pattern"))
        else:
            self.fields.refuse("is_hybrid_model", "is read with a hybrid_layer_pattern only")
            self._decoder()
        return self.model.cost()

    # ---- which layers there are ----

    def _decoder(self) -> None:
        layers = self.fields.integer("num_layers")
        mtp = self.fields.integer("mtp_num_layers", 0, least=0)
        experts = self._moe_layers(layers)
        is_linear = self._linear_layers(layers, mtp)
        windowed = self._windowed_layers(layers, mtp)
        for i in range(layers):
            self.model.layer(*self._mixer(is_linear[i], windowed[i]), *(self._experts() if experts[i] else self._mlp()))
        projection = linear("mtp.projection", 2 * self.hidden, self.hidden)
        for i in range(layers, layers + mtp):  # a copy of the last layer after a projection of two hidden states
            mixer = self._mixer(is_linear[i], windowed[i])
            self.model.layer(projection, *mixer, *(self._experts() if experts[-1] else self._mlp()), self._mtp_logits())
            self.model.weights("latent_norm", 3 * self.hidden)
        if self.fields.flag("multi_latent_attention"):
            self.model.weights("latent_norm", is_linear.count(False) * self._latent_norms())

    def _hybrid(self, pattern: str) -> None:
        stages, *depths = pattern.split("/")
        depths = [depth for depth in depths if depth]
        field = self.fields.name("hybrid_layer_pattern")
        if len(set(depths)) > 1:
            raise Error(field, f"must have the same pattern after each /, got {pattern!r}")
        if any(letter not in ("MG*-E|+D" if self.own else "MG*-E|+") for letter in stages + "".join(depths)):
            raise Error(field, f"must consist of the letters {_LETTERS}, got {pattern!r}")
        windowed = self._windowed_layers(len(stages.replace("|", "")))
        for i, letter in enumerate(stages.replace("|", "")):
            self.model.layer(*self._lettered(letter, windowed[i]))
        # Without a pattern after a / the arguments only say how often the logits are computed.
        otherwise = 0 if self.own == "megatron" else len(depths)
        for _ in range(self.fields.integer("mtp_num_layers", otherwise, least=0)):
            self.model.layer(self._mtp_logits())
        for letter in "".join(depths):
            self.model.layer(*self._lettered(letter, False))

    def _lettered(self, letter: str, windowed: bool) -> list[Part]:
        if letter == "M":
            return self._mamba()
        if letter == "G":
            return self._gated_delta_net()
        if letter == "E":
            return self._experts()
        if letter in "+D":
            if self.own:  # neither function counts these layers
                return []
            self.model.weights("latent_norm", self._latent_norms())
            return self._latent_attention()
        return self._mlp() if letter == "-" else self._attention(windowed)

    def _moe_layers(self, layers: int) -> list[bool]:
        if self.fields.get(self._experts_field()) is None:
            return [False] * layers
        return self._pattern("moe_layer_freq", 1, layers, lambda i, every: i % every == 0)

    def _linear_layers(self, layers: int, mtp: int) -> list[bool]:
        """Returns for each layer whether its attention is linear: first the decoder's layers, then those of multi-token
        prediction (MTP). MTP layers repeat the decoder's last layer, with two exceptions. Megatron-LM's own function
        continues the period of linear_attention_freq. If the field is a list, it may have values for MTP layers."""
        if self.variant is None:
            return [False] * (layers + mtp)
        value = self.fields.get("linear_attention_freq")
        named = isinstance(value, Sequence) and not isinstance(value, str) and len(value) == layers + mtp
        count = layers + mtp if named or (self.own == "megatron" and isinstance(value, int)) else layers
        found = self._pattern("linear_attention_freq", None, count, lambda i, every: (i + 1) % every != 0)
        return found + [found[-1]] * (layers + mtp - count)

    def _windowed_layers(self, layers: int, mtp: int = 0) -> list[bool]:
        """Returns for each layer whether it has a window: first the decoder's layers, then those of multi-token
        prediction (MTP). MTP layers repeat the decoder's last layer. In Megatron-Bridge's own function they continue
        the period of window_attn_skip_freq instead; if the field is a list, they have no window."""
        if self.fields.get("window_size") is None or self.own == "megatron":  # Megatron-LM's function counts the square
            return [False] * (layers + mtp)
        value = self.fields.get("window_attn_skip_freq")
        if value is None:
            return [True] * (layers + mtp)
        listed = isinstance(value, Sequence) and not isinstance(value, str)
        count = layers + mtp if self.own and not listed else layers
        found = self._pattern("window_attn_skip_freq", None, count, lambda i, every: (i + 1) % every != 0)
        return found + [found[-1] and not self.own] * (layers + mtp - count)

    def _pattern(self, field: str, otherwise: int | None, layers: int, every: Any) -> list[bool]:
        """Returns for each layer whether a field selects it. The field has a list of 0 and 1, one for each layer, or a
        period.

        otherwise: the value if the field is absent.
        every: a function from (index of a layer, period) to whether the layer is selected.
        """
        value = self.fields.get(field)
        value = otherwise if value is None else value
        name = self.fields.name(field)
        if isinstance(value, Sequence) and not isinstance(value, str):
            if len(value) != layers or any(one not in (0, 1) for one in value):
                raise Error(name, f"must be {layers} numbers that are 0 or 1, got {value!r}")
            return [bool(one) for one in value]
        period = as_integer(name, value, least=1)
        return [bool(every(i, period)) for i in range(layers)]

    # ---- what a layer is made of ----

    def _mixer(self, is_linear: bool, windowed: bool) -> list[Part]:
        if is_linear:
            return self._gated_delta_net()
        return self._latent_attention() if self.fields.flag("multi_latent_attention") else self._attention(windowed)

    def _attention(self, windowed: bool) -> list[Part]:
        width = self.fields.integer("kv_channels", self.hidden // self.heads)
        grouped = self.fields.flag("group_query_attention", True)
        part: Part = {
            "type": "attention",
            "num_heads": self.heads,
            "num_kv_heads": self.fields.integer("num_query_groups", self.heads) if grouped else self.heads,
            "head_dim": width,
        }
        if windowed:
            part["mask"] = self._window()
        hybrid = bool(self.fields.get("hybrid_layer_pattern"))
        if not self.fields.flag("attention_output_gate") or (self.own and hybrid):
            return [part]
        return [part, linear("attention.gate", self.hidden, self.heads * width)]

    def _window(self) -> Part:
        value = self.fields.get("window_size")
        name = self.fields.name("window_size")
        if not isinstance(value, Sequence) or isinstance(value, str):
            return {"sliding_window": as_integer(name, value, least=1)}
        if len(value) != 2:
            raise Error(name, f"must be two numbers of tokens, to the left and to the right, got {value!r}")
        left, right = (as_integer(f"{name}[{i}]", one, least=-1) for i, one in enumerate(value))
        return {"sliding_window": left + 1} if right == 0 and left >= 0 else {"window": [left, right]}

    def _latent_attention(self) -> list[Part]:
        query_rank = self.fields.integer("q_lora_rank", 0, least=0)
        latent = self.fields.integer("kv_lora_rank")
        part: Part = {
            "type": "mla",
            "num_heads": self.heads,
            "q_lora_rank": query_rank,
            "kv_lora_rank": latent,
            "qk_nope_head_dim": self.fields.integer("qk_head_dim"),
            "qk_rope_head_dim": self.fields.integer("qk_pos_emb_head_dim", 0, least=0),
            "v_head_dim": self.fields.integer("v_head_dim"),
        }
        return [part]

    def _latent_norms(self) -> int:
        """Returns how many weights the norms inside one layer's latent attention have. Megatron counts them."""
        return self.fields.integer("q_lora_rank", 0, least=0) + self.fields.integer("kv_lora_rank")

    def _gated_delta_net(self) -> list[Part]:
        key_heads = self.fields.integer("linear_num_key_heads", 16)
        value_heads = self.fields.integer("linear_num_value_heads", 32)
        key_dim = self.fields.integer("linear_key_head_dim", 128)
        value_dim = self.fields.integer("linear_value_head_dim", 128)
        kernel = self.fields.integer("linear_conv_kernel_dim", 4)
        keys, values = key_heads * key_dim, value_heads * value_dim
        hybrid = bool(self.fields.get("hybrid_layer_pattern"))
        second = self.variant == "gdn2" and not (hybrid and self.own == "megatron_bridge")
        if not self.own and not second:
            part: Part = {
                "type": "gated_delta_net", "num_key_heads": key_heads, "num_value_heads": value_heads,
                "key_head_dim": key_dim, "value_head_dim": value_dim, "conv_kernel": kernel,
            }  # fmt: skip
            return [part]
        projected = 4 * keys + 3 * values if second else 2 * (keys + values + value_heads)
        # Both functions count states of value_dim x value_dim, with four multiply-adds per element.
        state = 4 * value_heads * value_dim**2 if self.own else 3 * value_heads * key_dim * value_dim
        return self._recurrent(projected, values, kernel * (2 * keys + values), 2 * state)

    def _recurrent(self, projected: int, inner: int, convolution: int, state: int) -> list[Part]:
        """Adds the convolution and the state of a recurrent layer, and returns its two projections.

        projected: number of output features of the first projection.
        inner: number of input features of the last projection.
        convolution: weights of the convolution that one token multiplies.
        state: forward FLOPs of the state for one token.
        """
        self.model.products("mixer.convolution", 2 * convolution, convolution)
        self.model.products("mixer.state", state)
        return [linear("mixer.input", self.hidden, projected), linear("mixer.output", inner, self.hidden)]

    def _mamba(self) -> list[Part]:
        head_dim = self.fields.integer("mamba_head_dim", 64)
        heads = self.fields.integer("mamba_num_heads", 2 * self.hidden // head_dim)
        groups = self.fields.integer("mamba_num_groups", 8)
        state = self.fields.integer("mamba_state_dim", 128)
        if self._delta_products():
            times = self.fields.integer("gdp_num_householder")
            inner = 2 * self.hidden if self.fields.get("mamba_num_heads") is None else heads * head_dim
            projected = (1 + times) * (inner + groups * state + heads)
            convolution = 4 * (inner * times + groups * state * (1 + times))
            flops = 4 * times + (3 if self.own else 2)  # Megatron's function adds one for the decay
            return self._recurrent(projected, inner, convolution, flops * inner * state)
        if self.own:  # Megatron ignores mamba_head_dim and the convolution
            inner = 2 * self.hidden
            return self._recurrent(2 * inner + 2 * groups * state + heads, inner, 0, 7 * inner * state)
        part: Part = {
            "type": "mamba2", "num_heads": heads, "head_dim": head_dim, "n_groups": groups, "state_size": state,
            "conv_kernel": self.fields.integer("mamba_conv_kernel", 4),
        }  # fmt: skip
        return [part]

    def _delta_products(self) -> bool:
        """True if --spec replaces every Mamba layer (M in the layer pattern) by a gated delta product. As in
        Megatron-LM, only the last word of --spec decides."""
        spec = self.fields.get("spec")
        if spec is None or self.own == "megatron_bridge":
            return False
        words = " ".join([spec] if isinstance(spec, str) else map(str, spec))
        for mark in "[],":
            words = words.replace(mark, " ")
        return words.split()[-1:] != [] and words.split()[-1] in _DELTA_PRODUCTS

    def _mlp(self) -> list[Part]:
        return [{"type": "mlp", "intermediate_size": self.fields.integer("ffn_hidden_size"), "gated": self.gated}]

    def _experts(self) -> list[Part]:
        dense = self.fields.get("ffn_hidden_size")
        chosen = self.fields.integer("moe_router_topk", 1)
        experts = (chosen,) if self.own else ()  # their own functions do not count routers
        part: Part = {
            "type": "moe",
            "num_experts": self.fields.integer(self._experts_field(), *experts),
            "num_experts_per_tok": chosen,
            "intermediate_size": self.fields.integer("moe_ffn_hidden_size", dense),
            "gated": self.gated,
        }
        shared = self.fields.integer("moe_shared_expert_intermediate_size", 0, least=0)
        if shared:
            part["shared_intermediate_size"] = shared
            part["shared_expert_gate"] = self.fields.flag("moe_shared_expert_gate")
        latent = self.fields.integer("moe_latent_size", 0, least=0)
        if latent:
            part["latent_size"] = latent
        return [part]

    def _mtp_logits(self) -> Part:
        return linear("mtp.lm_head", self.hidden, self.vocab_size)

    def _experts_field(self) -> str:
        return self.names.get("num_moe_experts", "num_moe_experts")

    def _tied(self) -> bool:
        untied = self.fields.get("untie_embeddings_and_output_weights")
        shared = self.fields.get("share_embeddings_and_output_weights")
        return bool(shared) if untied is None else not untied


def read(
    source: Any, *, vocab_size: int, names: Mapping[str, str] | None = None, path: str = "", own: str = ""
) -> Cost:
    """Returns the cost of the model that Megatron's arguments describe.

    vocab_size: the vocabulary of the lm_head to count.
    own: the trainer whose own FLOPs function is imitated, "megatron" or "megatron_bridge".
    """
    return _Reader(source, names or {}, vocab_size, path, own).cost()
