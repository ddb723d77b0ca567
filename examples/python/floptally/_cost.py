# SPDX-License-Identifier: Apache-2.0
"""Models as people have them, as the reader of configs takes them: wrapped models, PEFT's models, configurations."""

from __future__ import annotations

import gc
import os
import re
import sys
import warnings
from typing import TYPE_CHECKING, Any

from . import _core
from ._core import Cost, Error
from ._errors import shortened
from ._json import json_of
from ._values import items_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ._types import ConfigLike, PageLike
    from ._words import LatentAttention

#: Classes that hold a model and run it as it is, and the attribute that it is in.
WRAPPERS = {
    "OptimizedModule": "_orig_mod",
    "DistributedDataParallel": "module",
    "DataParallel": "module",
    "FullyShardedDataParallel": "module",
    "DeepSpeedEngine": "module",
}

COUNT_IT = "floptally.from_torch(model, example_inputs) counts it as it runs"


def cost(
    config: ConfigLike,
    *,
    mla: LatentAttention = "expanded",
    mtp: int = 0,
    padded_vocab_size: int = 0,
    page: PageLike | Sequence[PageLike] | None = None,
    parts: Sequence[str] = (),
    strict: bool = False,
) -> Cost:
    """The cost of a model by its config.

    Args:
        config: a dict, the path of a config.json or of a folder with one, an object with ``to_dict()`` (a configuration
            of transformers), or a model of transformers, also inside ``torch.compile``, DDP, FSDP or PEFT, sharded by
            ``fully_shard`` or of a subclass; its class then decides the head. A model of PEFT gives its plan too
            (``cost.plan``), by which everything is counted where no other plan is given.
        mla: core of latent attention, "expanded" or "absorbed".
        mtp: layers of multi-token prediction that are trained.
        padded_vocab_size: of the lm_head as kernels run it; 0 is as the config says.
        page: of a model that is not among the known ones, how its config is read: the path or the text of a page, or a
            sequence of them, among which the config's model_type chooses.
        parts: of the folder of a pipeline of diffusers (with a model_index.json), the names of the models that are read:
            the first trains, the others run before it, frozen and forward only. Without it, what denoises: its
            transformer or UNet. What a part multiplies stands after its name: "transformer.mlp".
        strict: a key that nothing reads, and a size that the config does not say, are errors, not notes.

    Raises:
        Error: what cannot be counted, with the name of the key.
    """

    options: dict[str, Any] = {"mla": mla, "mtp": mtp, "padded_vocab_size": padded_vocab_size, "strict": strict,
                               "parts": items_of(parts, "parts", "a list of names")}

    def read(fields: dict[str, Any]) -> Cost:
        text = json_of(fields, "config", named=True)
        return _core.cost(text, page=texts_of(page), **options)

    if isinstance(config, Cost):
        usual = {"mla": "expanded", "mtp": 0, "padded_vocab_size": 0, "strict": False, "parts": []}
        for name in ["page"] * (page is not None) + [name for name in usual if repr(options[name]) != repr(usual[name])]:
            raise Error(name, "says how a config is read, and this is a Cost already")
        return config
    if isinstance(config, (str, os.PathLike)):
        require_file(config)
        return _core.cost(os.fsdecode(config), is_path=True, page=texts_of(page), **options)
    if isinstance(config, dict):
        return read(config)
    if is_module(config):
        return cost_of_module(config, read)
    if hasattr(config, "to_dict"):
        warn_of_adapters(config)
        return read(config.to_dict())
    if hasattr(config, "config") and hasattr(config.config, "to_dict"):
        # A model: its class is what `architectures` would name, and stands there only once it was saved.
        return read({**config.config.to_dict(), "architectures": [type(config).__name__]})
    raise Error("config", f"must be a dict, a path, or an object with to_dict(), got {shortened(config)}")


def texts_of(pages: PageLike | Sequence[PageLike] | None) -> list[tuple[str, str]]:
    """The texts of a page or of several, each with its file."""
    if pages is None:
        return []
    if isinstance(pages, str) or hasattr(pages, "__fspath__") or not hasattr(pages, "__getitem__"):
        return [text_of_page(pages, "page")]
    return [text_of_page(page, f"page[{place}]") for place, page in enumerate(items_of(pages, "page"))]


def text_of_page(page: object, field: str) -> tuple[str, str]:
    """A path, or a str that has a line break and so is the text itself."""
    if not isinstance(page, (str, os.PathLike)):
        raise Error(field, f"must be the path or the text of a page, got {shortened(page)}")
    given = os.fsdecode(page)
    if isinstance(page, str) and "\n" in given:
        return given, ""
    try:
        with open(given, encoding="utf-8", newline="") as file:
            return file.read(), given
    except (OSError, ValueError):  # or a path with a zero byte
        raise Error(
            field, f'cannot read "{given}"; a str without a line break is the path of a page'
        ) from None


def require_file(path: Any) -> None:
    given = os.fsdecode(path)
    if os.path.exists(given) or not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", given) or given.endswith(".json"):
        return
    raise Error(
        "config",
        f'there is no file or folder "{given}" here. Nothing is downloaded: of a model of the Hugging Face Hub give '
        f'floptally.cost(transformers.AutoConfig.from_pretrained("{given}")), or the folder that it was saved in',
    )


def is_module(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)


def unwrapped(model: Any) -> Any:
    """The model inside torch.compile's and data parallelism's wrappers."""
    while True:
        attribute = next((WRAPPERS[kind.__name__] for kind in type(model).__mro__ if kind.__name__ in WRAPPERS), None)
        inner = getattr(model, attribute, None) if attribute else None
        if inner is None:
            return model
        model = inner


def is_peft(model: Any) -> bool:
    return any(kind.__module__.split(".")[0] == "peft" for kind in type(model).__mro__) and hasattr(
        model, "get_base_model"
    )


def architecture_of(model: Any) -> str:
    """The class of transformers that a model is of: FSDP2 and users derive from it."""
    for kind in type(model).__mro__:
        if kind.__module__.startswith("transformers.models.") and not kind.__name__.endswith("PreTrainedModel"):
            return kind.__name__
        if kind.__module__.startswith("diffusers.models."):
            return kind.__name__
    return type(model).__name__


def cost_of_module(model: Any, read: Any) -> Cost:
    given = unwrapped(model)
    adapters = is_peft(given)
    base = unwrapped(given.get_base_model() if adapters else given)
    config = getattr(base, "config", None)
    if config is not None and is_diffusion(base):
        return read_or_say({**config, "_class_name": architecture_of(base)}, read)
    if config is None or not hasattr(config, "to_dict"):
        raise Error(
            "config",
            f"{type(base).__name__} is a torch.nn.Module without a configuration of transformers: {COUNT_IT}",
        )
    kind = architecture_of(base)
    made = read_or_say({**config.to_dict(), "architectures": [kind]}, read)
    if adapters:
        return made.planned(_core.Plan(weights=settings_of(given, base, made)))
    frozen = sum(one.numel() for one in base.parameters() if not one.requires_grad)
    if frozen:
        if any("peft" in type(one).__module__.split(".") for one in base.modules()):
            return made.planned(_core.Plan(weights=settings_of(given, base, made)))
        warnings.warn(
            f"{frozen} parameters of {kind} are frozen, and floptally.cost counts a step that trains them all: give "
            f"plan=floptally.Plan(weights=[...]), or {COUNT_IT}",
            stacklevel=3,
        )
    return made


def read_or_say(fields: dict[str, Any], read: Any) -> Cost:
    """The cost of a module by its config; where that cannot be read, what counts it all the same."""
    try:
        made: Cost = read(fields)
    except Error as problem:
        raise Error(problem.field, f"{problem.problem}. {COUNT_IT}") from None
    return made


def is_diffusion(model: Any) -> bool:
    """True for a class of diffusers, whose configuration is a dict, and its class what names it."""
    return any(kind.__name__ == "ConfigMixin" and kind.__module__.startswith("diffusers.") for kind in type(model).__mro__)


def warn_of_adapters(config: Any) -> None:
    """A configuration that a model with adapters holds says nothing of them."""
    if "peft" not in sys.modules or "torch" not in sys.modules:
        return
    for owner in gc.get_referrers(config):
        for model in [owner] if is_module(owner) else gc.get_referrers(owner) if type(owner) is dict else []:
            if is_module(model) and any(type(one).__module__.startswith("peft.") for one in model.modules()):
                warnings.warn(
                    "a model with adapters of PEFT has this configuration, which says nothing of them: the cost is that "
                    "of full training. floptally.cost(model) counts what trains",
                    stacklevel=3,
                )
                return


# The weights that train in a model of PEFT.

#: The reader's names of weights by those of transformers' modules, the last two parts of the name before the last one.
WEIGHTS = {
    "attention.output.dense": "o_proj",
    "attn.c_proj": "o_proj",
    "mlp.c_proj": "down_proj",
    "attention.dense": "o_proj",
    "self_attention.dense": "o_proj",
    "self_attn.dense": "o_proj",
    "attn.proj": "o_proj",
    "attn.Wo": "o_proj",
    "mlp.Wi": "gate_up_proj",
    "mlp.Wo": "down_proj",
    "self.in_proj": "qkv_proj",
    "shared_mlp.input_linear": "gate_up_proj",
    "shared_mlp.output_linear": "down_proj",
    "intermediate.dense": "up_proj",
    "output.dense": "down_proj",
    **dict.fromkeys(("q_proj", "query", "q", "q_lin", "query_proj"), "q_proj"),
    **dict.fromkeys(("k_proj", "key", "k", "k_lin", "key_proj"), "k_proj"),
    **dict.fromkeys(("v_proj", "value", "v", "v_lin", "value_proj"), "v_proj"),
    **dict.fromkeys(("o_proj", "out_proj", "o", "out_lin"), "o_proj"),
    **dict.fromkeys(("qkv_proj", "qkv", "Wqkv", "query_key_value", "c_attn"), "qkv_proj"),
    **dict.fromkeys(("gate_proj", "wi_0"), "gate_proj"),
    "gate_up_proj": "gate_up_proj",
    **dict.fromkeys(("up_proj", "fc1", "lin1", "c_fc", "fc_in", "dense_h_to_4h", "wi", "wi_1"), "up_proj"),
    **dict.fromkeys(("down_proj", "fc2", "lin2", "fc_out", "dense_4h_to_h", "wo"), "down_proj"),
    "lm_head": "lm_head",
}


def settings_of(given: Any, base: Any, made: Cost) -> list[_core.WeightSetting]:
    """The settings of weights that train or do not; each is held against the parameters that the reader counts for it."""
    if getattr(given, "active_peft_config", None) is not None and given.active_peft_config.is_prompt_learning:
        raise Error("config", f"{given.active_peft_config.peft_type} adds tokens, which no plan says: {COUNT_IT}")
    stored: dict[tuple[str, str], int] = {}
    for row in made.rows:
        if row.weight or row.component == "lm_head":
            key = (row.component, row.weight or row.component)
            stored[key] = stored.get(key, 0) + row.parameters
    whole: dict[tuple[str, str], int] = {}
    ranks: dict[tuple[str, str], dict[int, int]] = {}
    layers: dict[tuple[str, str], set[int]] = {}
    explained: set[str] = set()
    for name, module in base.named_modules():
        weight = base_weight(module)
        at = place_of(name, stored)
        adapted = hasattr(module, "lora_A")
        if weight is None or (at is None and not adapted):
            continue
        if at is None:
            raise Error(name, f"has an adapter, and the reader of configs has no weight of that name: {COUNT_IT}")
        layer = layer_of(name)
        whole[at] = whole.get(at, 0) + weight.numel()
        layers.setdefault(at, set()).add(layer)
        if adapted:
            ranks.setdefault(at, {})[layer] = rank_of(name, module, explained)
    settings = [_core.WeightSetting("*", "frozen")]
    for at, of_layer in ranks.items():
        if whole[at] != stored[at]:
            raise Error(
                "/".join(at),
                f"{whole[at]} parameters in the modules that have adapters, {stored[at]} in the reader's weight of that "
                f"name, as where one matrix is several there: {COUNT_IT}",
            )
        name = at[0] if at[1] == at[0] else "/".join(at)
        settings += settings_in_layers(name, of_layer, layers[at])
    return settings + settings_of_others(base, made, explained)


def base_weight(module: Any) -> Any:
    """The matrix of a linear layer, also of one that an adapter was put around."""
    inner = getattr(module, "base_layer", None)
    weight = getattr(inner if inner is not None else module, "weight", None)
    return weight if weight is not None and weight.dim() == 2 and not type(module).__name__.endswith("Embedding") else None


def place_of(name: str, stored: Iterable[tuple[str, str]]) -> tuple[str, str] | None:
    """Component and weight of the reader by the name of a module, or None."""
    parts = [part for part in name.split(".") if not part.isdigit()]
    if "base_layer" in parts:
        return None  # counted as the module around it
    weight = next((WEIGHTS[key] for n in (3, 2, 1) if (key := ".".join(parts[-n:])) in WEIGHTS), None)
    found = [at for at in stored if at[1] == weight]
    crossed = any(word in name for word in ("EncDecAttention", "encoder_attn", "crossattention", "cross_attn"))
    found = [at for at in found if at[0].startswith("cross_") == crossed]
    sides = {at[0].split(".")[0] for at in found} & {"encoder", "vision", "audio"}
    for side in sides:
        here = any(part.startswith(side) for part in parts) or (side == "audio" and "encoder" in parts)
        found = [at for at in found if at[0].startswith(side + ".") == here]
    return found[0] if len(found) == 1 else None


def layer_of(name: str) -> int:
    return next((int(part) for part in name.split(".") if part.isdigit()), 0)


def rank_of(name: str, module: Any, explained: set[str]) -> int:
    active = [one for one in module.active_adapters if one in module.lora_A]
    odd = [one for one in active if one in getattr(module, "lora_magnitude_vector", {}) or module.use_dora.get(one)]
    if odd or module.merged:
        raise Error(name, f"has an adapter that is {'DoRA' if odd else 'merged'}: {COUNT_IT}")
    if len({len(module.lora_A), len(active), 1}) != 1:
        raise Error(name, f"has {len(module.lora_A)} adapters, {len(active)} of them active: {COUNT_IT}")
    explained.update(f"{name}.{part}.{active[0]}.weight" for part in ("lora_A", "lora_B"))
    return int(module.r[active[0]])


def settings_in_layers(name: str, of_layer: Mapping[int, int], layers: set[int]) -> list[_core.WeightSetting]:
    if set(of_layer) == layers and len(set(of_layer.values())) == 1:
        return [_core.WeightSetting(name, "lora", rank=next(iter(of_layer.values())))]
    if name.split(".")[0] in ("encoder", "vision", "audio") or name.startswith("cross_"):
        raise Error(name, f"has adapters in some layers only: {COUNT_IT}")
    return [_core.WeightSetting(name, "lora", rank=rank, first_layer=n, last_layer=n) for n, rank in sorted(of_layer.items())]


def settings_of_others(base: Any, made: Cost, explained: set[str]) -> list[_core.WeightSetting]:
    """Whole components that train beside the adapters: modules_to_save, biases, norms."""
    trains: dict[str, int] = {}
    for name, parameter in base.named_parameters():
        if not parameter.requires_grad or name in explained:
            continue
        own = name.rpartition(".")[2]
        parts = name.split(".")
        if any(part in ("lm_head", "score", "classifier") for part in parts) and own == "weight":
            component = "lm_head"
        elif any("embed" in part or part in ("wte", "shared") for part in parts):
            component = "embedding"
        elif own == "bias" or "norm" in name.lower():
            component = "bias" if own == "bias" and "norm" not in name.lower() else "norm"
        else:
            raise Error(name, f"trains, and is neither an adapter nor a head, a table, a norm or a bias: {COUNT_IT}")
        trains[component] = trains.get(component, 0) + parameter.numel()
    kinds = {"embedding": ("embedding", "position_embedding"), "bias": ("bias",), "norm": ("norm", "latent_norm")}
    for component, count in trains.items():
        rows = made.rows
        stored = sum(
            row.parameters
            for row in rows
            if (row.component == "lm_head" if component == "lm_head" else row.kind in kinds[component])
        )
        if stored != count:
            raise Error(
                component, f"{count} of its parameters train, and the reader counts {stored} of them: {COUNT_IT}"
            )
    return [_core.WeightSetting(component, "trainable") for component in trains]
