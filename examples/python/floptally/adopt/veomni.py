# SPDX-License-Identifier: Apache-2.0
"""Replaces VeOmni's ``veomni.utils.count_flops.VeomniFlopsCounter``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import Convention, Cost, Error, Plan, WeightSetting, accelerator
from .._types import ConfigLike
from ._count import Count, cost
from ._fields import Fields, as_integer, as_lengths, as_seconds, only_original_counts
from ._formula import Sizes, formula, model_type_of
from ._images import Images
from ._original import Original

__all__ = ["VeomniFlopsCounter"]

_original = Original("VeOmni", "veomni.utils.count_flops", "VeomniFlopsCounter")
_DERIVED_HEAD_DIM = ("llama", "seed_oss")
_DENSE = ("qwen2", "qwen3", "llama", "seed_oss", "qwen2_vl", "qwen2_5_vl", "qwen3_vl")
#: Model types whose VeOmni formulas are not implemented here.
_ITS_OWN = ("qwen3_next", "qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text", "deepseek_v4")


class VeomniFlopsCounter:
    """Replaces VeOmni's FLOPs counter, for every model that floptally reads.

    config: a configuration of transformers, or what ``floptally.cost`` takes.
    convention: VeOmni's own by default.
    plan: which weights train and what is recomputed. By default it follows from `lora_config` and `freeze_vit`.
    accelerator: the GPU whose dense bf16 peak `estimate_flops` returns. By default VeOmni's own table gives the peak of
        the current device.
    compare: also runs VeOmni's own counter and logs both numbers.
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
        self._convention, self._plan = convention, plan
        self._accelerator, self._compare = accelerator, compare
        self._own = convention is None and plan is None
        self._read = _original.prepare(lambda: _own(config) if convention is None else cost(config), own=self._own)
        self._counts: dict[str, tuple[Count, Images]] = {}  # by the text of their plan

    def estimate_flops(
        self,
        batch_seqlens: Any,
        delta_time: float,
        lora_config: Any = None,
        images_seqlens: Any = None,
        freeze_vit: bool | None = None,
        *,
        grid_thw: Any = None,
    ) -> tuple[float, float]:
        """Returns (achieved rate, peak of the GPU) of a step in TFLOPS (10^12 FLOP/s).

        Args:
            batch_seqlens: valid tokens of each sequence.
            delta_time: duration of the step in seconds.
            lora_config: VeOmni's LoRA settings, `r` and `target_modules`. With a convention other than VeOmni's,
                these settings become the plan, unless you passed a plan.
            images_seqlens: patches of each image or frame, before merging.
            freeze_vit: True if the vision tower does not train.
            grid_thw: [images, 3] frames, rows and columns of patches. Needed if the vision tower has windows.
        """
        achieved = _original.answer(
            lambda: self._achieved(batch_seqlens, delta_time, lora_config, images_seqlens, freeze_vit, grid_thw),
            lambda original: float(
                original(self.config).estimate_flops(
                    as_lengths("", batch_seqlens), delta_time, lora_config, images_seqlens, freeze_vit
                )[0]
            ),
            own=self._own and grid_thw is None,
            compare=self._compare,
            number=float,
        )
        return achieved, self._promised()

    def _achieved(
        self, batch_seqlens: Any, delta_time: float, lora: Any, images: Any, freeze_vit: bool | None, grid_thw: Any
    ) -> float:
        seconds = as_seconds("delta_time", delta_time)
        batch: dict[str, Any] = {"lengths": as_lengths("batch_seqlens", batch_seqlens)}
        patches = [] if images is None else as_lengths("images_seqlens", images)
        apart = 0
        if self._own:
            if lora is not None:
                raise Error("lora_config", only_original_counts("VeOmni"))
            apart = self._tower(patches, bool(freeze_vit)) if patches else 0
            return (self._counted(None)[0].batch(**batch) + apart) / seconds / 1e12
        plan = self._plan if self._plan is not None else plan_of(lora, bool(freeze_vit))
        count, shapes = self._counted(plan)
        if grid_thw is not None or patches:
            batch["grid_thw"] = grid_thw if grid_thw is not None else shapes.grids(patches)
        return count.batch(**batch) / seconds / 1e12

    def _counted(self, plan: Plan | None) -> tuple[Count, Images]:
        key = repr(plan)
        if key not in self._counts:
            count = Count(self._read.get(), self._convention or "exact", plan)
            self._counts[key] = count, Images(self.config, count)
        return self._counts[key]

    def _tower(self, patches: list[int], frozen: bool) -> int:
        kind = model_type_of(self.config)
        if kind not in ("qwen3_vl", "qwen3_vl_moe"):
            if kind in ("qwen2_vl", "qwen2_5_vl"):
                raise Error("images_seqlens", f"of {kind} " + only_original_counts("VeOmni"))
            return 0
        step = _tower_flops(self.config, patches)
        if step is None:
            raise Error("vision_config", "lacks sizes that VeOmni's formula needs: pass the config of the whole vision tower")
        return step // 3 if frozen else step

    def _promised(self) -> float:
        if self._accelerator is not None:
            return accelerator(self._accelerator).peak_tflops("bf16")
        from veomni.utils.count_flops import get_device_flops  # type: ignore[import-not-found,unused-ignore]

        return float(get_device_flops())


def plan_of(lora: Any, freeze_vit: bool) -> Plan | None:
    """Returns the plan (which weights train) for a LoRA configuration and a frozen vision tower. None if all weights
    train."""
    if lora is None:
        return Plan(weights=[WeightSetting("vision.*", "frozen")]) if freeze_vit else None
    fields = Fields(lora, "lora_config.")
    modules = fields.get("target_modules") or []
    if isinstance(modules, str):
        raise Error("lora_config.target_modules", f"must be a list of names, got {modules!r}")
    fields.refuse("target_parameters", "has no formula here", "name the adapted modules in target_modules")
    rank = as_integer("lora_config.r", fields.get("r"), least=1)
    adapted = [WeightSetting(f"*/{name}", "lora", rank=rank) for name in modules]
    return Plan(weights=[WeightSetting("*", "frozen"), *adapted])


def _own(config: ConfigLike) -> Cost:
    kind = model_type_of(config)
    if kind in _ITS_OWN:
        raise Error("model_type", f"{kind!r} " + only_original_counts("VeOmni"))
    if kind == "deepseek_v3":
        return _latent(Sizes(config))
    if kind not in (*_DENSE, "qwen3_moe", "qwen3_vl_moe", "gpt_oss"):
        return cost(config)  # 0 there
    sizes = Sizes(config, derived_head_dim=kind in _DERIVED_HEAD_DIM)
    fields = sizes.fields
    if kind in _DENSE:
        feed = sizes.gated(fields.integer("intermediate_size"))
    else:
        width, experts = ("intermediate_size", "num_local_experts") if kind == "gpt_oss" else (
            "moe_intermediate_size", "num_experts"
        )  # fmt: skip
        feed = fields.integer("num_experts_per_tok") * sizes.gated(fields.integer(width))
        feed += sizes.hidden * fields.integer(experts)
    weights = sizes.layers * (sizes.attention() + feed) + sizes.lm_head()
    layer_types = fields.get("layer_types") if kind == "gpt_oss" else None
    windowed = list(layer_types or []).count("sliding_attention")
    windows = [(fields.integer("sliding_window"), 4 * windowed * sizes.queries)] if windowed else []
    return formula("veomni", weights, 4 * (sizes.layers - windowed) * sizes.queries, windows)


def _latent(sizes: Sizes) -> Cost:
    fields, hidden, heads = sizes.fields, sizes.hidden, sizes.heads
    nope, rope, value = (fields.integer(name) for name in ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"))
    rank, keys = fields.integer("q_lora_rank", 0, least=0), fields.integer("kv_lora_rank")
    queries = heads * (nope + rope)
    attention = rank * (hidden + queries) if rank else hidden * queries
    attention += hidden * (keys + rope) + heads * (nope + value) * keys + heads * value * hidden
    width, dense = fields.integer("moe_intermediate_size"), fields.integer("first_k_dense_replace", least=0)
    experts = fields.integer("num_experts_per_tok") + fields.integer("n_shared_experts", least=0)
    sparse = hidden * fields.integer("n_routed_experts") + experts * sizes.gated(width)
    weights = sizes.layers * attention + (sizes.layers - dense) * sparse + sizes.lm_head()
    weights += dense * sizes.gated(fields.integer("intermediate_size"))
    return formula("veomni", weights, 4 * queries * sizes.layers)


def _tower_flops(config: Any, images: Sequence[int]) -> int | None:
    """Returns the FLOPs of a step of the vision tower by VeOmni's formula. None if the configuration lacks what the
    formula needs."""
    fields = config if isinstance(config, dict) else config.to_dict() if hasattr(config, "to_dict") else {}
    vision = fields.get("vision_config") or {}
    names = (
        "hidden_size", "intermediate_size", "out_hidden_size", "depth", "num_heads", "spatial_merge_size",
        "in_channels", "temporal_patch_size", "patch_size",
    )  # fmt: skip
    if any(not isinstance(vision.get(name), int) for name in names):
        return None
    width, inner, out, depth, heads, side, channels, frames, patch = (vision[name] for name in names)
    cell = width * side**2
    mergers = 1 + len(vision.get("deepstack_visual_indexes") or ())
    weights = width * channels * frames * patch**2 + depth * (2 * width * inner + 4 * width**2)
    weights += mergers * (out + cell) * cell
    squares = sum(patches * patches for patches in images)
    return int(6 * weights * sum(images) + 12 * (width // heads) * heads * depth * squares)
