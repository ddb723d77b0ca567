# SPDX-License-Identifier: Apache-2.0
"""Reads a cost from a config, or from a model that is wrapped or has PEFT adapters."""

from __future__ import annotations

import gc
import os
import re
import sys
import warnings
from typing import TYPE_CHECKING, Any

from . import _core
from ._core import Cost, Error
from ._errors import AssumptionWarning, shortened
from ._json import json_of
from ._values import items_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ._types import ConfigLike, SpecLike
    from ._literals import LatentAttention

#: Wrapper classes that run a model unchanged, and the attribute with the model.
WRAPPERS = {
    "OptimizedModule": "_orig_mod",
    "DistributedDataParallel": "module",
    "DataParallel": "module",
    "FullyShardedDataParallel": "module",
    "DeepSpeedEngine": "module",
}

COUNT_IT = "use floptally.from_torch(model, example_inputs), which counts the model as it runs"


def cost(
    config: ConfigLike,
    *,
    mla: LatentAttention = "expanded",
    mtp: int = 0,
    padded_vocab_size: int = 0,
    spec: SpecLike | Sequence[SpecLike] | None = None,
    parts: Sequence[str] = (),
    strict: bool | None = None,
) -> Cost:
    """Returns the Cost of a model (its FLOPs as integer coefficients) from its config.

    Args:
        config: a dict, the path of a config.json or of a folder with one, an object with ``to_dict()`` (a
            configuration of transformers), or a model of transformers. The model may be inside ``torch.compile``,
            DDP, FSDP or PEFT, sharded by ``fully_shard``, or of a derived class; its class then decides which head
            is counted. A PEFT model also gives its plan (``cost.plan``), the default plan of every count.
        mla: how the core of latent attention (MLA) is computed, "expanded" or "absorbed".
        mtp: number of multi-token prediction layers that are trained.
        padded_vocab_size: vocabulary of the lm_head as kernels run it. 0: as the config says.
        spec: how to read the config of an unknown model type: the path or the text of a spec, or a sequence of them. If
            there are several, the config's model_type chooses one.
        parts: for the folder of a diffusers pipeline (with a model_index.json), the names of the models to read.
            The first trains; the others run before it, frozen and forward only. By default only the denoiser (a
            transformer or UNet) is read. Components are prefixed by their part: "transformer.mlp".
        strict: what happens to a key of the config that the model's class neither reads nor ignores. None: an Error if
            the key names a size, else a note. False: always a note. True: always an Error, also for a size that the
            config does not state.

    Warns (AssumptionWarning) if the count assumes a size: a default of the class, a head that the config does not name,
    a key that looks like a misspelt key of the class, or, with strict=False, a key that names a size and is not read.
    `Cost.assumptions` lists these.

    Raises:
        Error: for a config that cannot be counted. The error names the key.
    """

    options: dict[str, Any] = {"mla": mla, "mtp": mtp, "padded_vocab_size": padded_vocab_size, "strict": strict,
                               "parts": items_of(parts, "parts", "a list of names")}

    def read(fields: dict[str, Any]) -> Cost:
        text = json_of(fields, "config", named=True)
        return warned_of_assumptions(_core.cost(text, spec=texts_of(spec), **options))

    if isinstance(config, Cost):
        usual = {"mla": "expanded", "mtp": 0, "padded_vocab_size": 0, "strict": None, "parts": []}
        for name in ["spec"] * (spec is not None) + [name for name in usual if repr(options[name]) != repr(usual[name])]:
            raise Error(name, f"says how to read a config, but `config` is a Cost, which was read already: leave {name}= out")
        return config
    if isinstance(config, (str, os.PathLike)):
        require_file(config)
        return warned_of_assumptions(_core.cost(os.fsdecode(config), is_path=True, spec=texts_of(spec), **options))
    if isinstance(config, dict):
        return read(config)
    if is_module(config):
        return cost_of_module(config, read, checks=not (mtp or padded_vocab_size or parts))
    if hasattr(config, "to_dict"):
        warn_of_adapters(config)
        return read(config.to_dict())
    if hasattr(config, "config") and hasattr(config.config, "to_dict"):
        # A model: `architectures` would name its class, but is only set once the model was saved.
        return read({**config.config.to_dict(), "architectures": [type(config).__name__]})
    raise Error("config", f"must be a dict, a path, or an object with to_dict(), got {shortened(config)}")


def warned_of_assumptions(result: Cost) -> Cost:
    """Warns about each size that a cost assumes, and returns the cost. The warning points at the user's line of
    code."""
    depth = 1
    while sys._getframe(depth).f_globals.get("__name__", "").partition(".")[0] == "floptally":
        depth += 1
    for text in result.assumptions:
        warnings.warn(f"{result.model_type}: {text}", AssumptionWarning, stacklevel=depth + 1)
    return result


def texts_of(specs: SpecLike | Sequence[SpecLike] | None) -> list[tuple[str, str]]:
    """Returns (text, file name) for each spec (a file that says how to read an unknown model type). specs: the path or
    the text of one spec, a sequence of them, or None."""
    if specs is None:
        return []
    if isinstance(specs, str) or hasattr(specs, "__fspath__") or not hasattr(specs, "__getitem__"):
        return [text_of_spec(specs, "spec")]
    return [text_of_spec(spec, f"spec[{place}]") for place, spec in enumerate(items_of(specs, "spec"))]


def text_of_spec(spec: object, field: str) -> tuple[str, str]:
    """Returns (text, file name) of one spec: a file that says how to read an unknown model type. spec: a path, or a str
    with a line break, which is the text itself. field: the argument's name, for the error."""
    if not isinstance(spec, (str, os.PathLike)):
        raise Error(field, f"must be the path or the text of a spec, got {shortened(spec)}")
    text = os.fsdecode(spec)
    if isinstance(spec, str) and "\n" in text:
        return text, ""
    try:
        with open(text, encoding="utf-8", newline="") as file:
            return file.read(), text
    except (OSError, ValueError):  # or a path with a zero byte
        raise Error(
            field, f'cannot read "{text}": pass the path of a file or the text of a spec, which has several lines'
        ) from None


def require_file(path: Any) -> None:
    name = os.fsdecode(path)
    if os.path.exists(name) or not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", name) or name.endswith(".json"):
        return
    raise Error(
        "config",
        f'there is no file or folder "{name}" here, and nothing is downloaded. For a model of the Hugging Face Hub pass '
        f'floptally.cost(transformers.AutoConfig.from_pretrained("{name}")), or the folder where it is saved',
    )


def is_module(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)


def unwrapped(model: Any) -> Any:
    """Returns the model without the wrappers of torch.compile and data parallelism."""
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
    """Returns the name of a model's transformers class. If the model's own class is derived, as by FSDP2 or a user,
    this is the base class."""
    for kind in type(model).__mro__:
        if kind.__module__.startswith("transformers.models.") and not kind.__name__.endswith("PreTrainedModel"):
            return kind.__name__
        if kind.__module__.startswith("diffusers.models."):
            return kind.__name__
    return type(model).__name__


def cost_of_module(model: Any, read: Any, checks: bool) -> Cost:
    inner = unwrapped(model)
    adapters = is_peft(inner)
    base = unwrapped(inner.get_base_model() if adapters else inner)
    config = getattr(base, "config", None)
    kind = architecture_of(base)
    if config is not None and is_diffusion(base):
        result = read_or_say({**config, "_class_name": kind}, read)
        return with_own_plan(model, base, result, adapters, checks)
    if config is None or not hasattr(config, "to_dict"):
        raise Error(
            "config",
            f"{type(base).__name__} is a torch.nn.Module without a transformers configuration: {COUNT_IT}",
        )
    result = read_or_say({**config.to_dict(), "architectures": [kind]}, read)
    return with_own_plan(model, base, result, adapters, checks)


def with_own_plan(model: Any, base: Any, result: Cost, adapters: bool, checks: bool) -> Cost:
    """Returns the cost of a PyTorch module with a plan that says which weights train. Warns if no plan can describe
    this.

    base: the model inside the wrappers and the adapters.
    adapters: True for a PEFT model, whose plan must be readable.
    checks: True raises an Error if the module has other parameters than its config says.
    """
    from ._module_plan import has_adapters, plan_of_module, require_same_size

    if checks:
        require_same_size(base, result)
    try:
        own = plan_of_module(model, result)
    except Error as problem:
        if adapters or has_adapters(base):
            raise
        frozen = sum(parameter.numel() for parameter in base.parameters() if not parameter.requires_grad)
        warnings.warn(
            f"{frozen} parameters of {type(base).__name__} are frozen, but floptally.cost counts a step that trains them "
            f"all, since {problem.field} {problem.problem}. Or pass plan=floptally.Plan(weights=[...])",
            stacklevel=5,
        )
        return result
    return result if own is None else result.planned(own.plan)


def read_or_say(fields: dict[str, Any], read: Any) -> Cost:
    """Returns the cost of a PyTorch module from its config. If the config cannot be read, the error recommends
    from_torch."""
    try:
        result: Cost = read(fields)
    except Error as problem:
        raise Error(problem.field, f"{problem.problem}; {COUNT_IT}") from None
    return result


def is_diffusion(model: Any) -> bool:
    """True for a class of diffusers. Its config is a dict without a model type, so the class name stands for the
    architecture."""
    return any(kind.__name__ == "ConfigMixin" and kind.__module__.startswith("diffusers.") for kind in type(model).__mro__)


def warn_of_adapters(config: Any) -> None:
    """Warns if the config belongs to a model with PEFT adapters, since the config does not describe adapters."""
    if "peft" not in sys.modules or "torch" not in sys.modules:
        return
    for owner in gc.get_referrers(config):
        for model in [owner] if is_module(owner) else gc.get_referrers(owner) if type(owner) is dict else []:
            if is_module(model) and any(type(module).__module__.startswith("peft.") for module in model.modules()):
                warnings.warn(
                    "this configuration belongs to a model with PEFT adapters but does not describe them: the cost is that "
                    "of full training. Pass the model instead: floptally.cost(model)",
                    stacklevel=3,
                )
                return


# Which weights train in a PEFT model.

#: The reader's weight names by transformers' module names. Two-part endings are tried before one-part ones.
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


def settings_of(model: Any, base: Any, result: Cost) -> list[_core.WeightSetting]:
    """Returns a WeightSetting for each group of weights of a PEFT model. Raises an Error if the number of parameters in
    the adapted modules differs from that of the config.

    model: the PEFT model.
    base: the model inside it.
    result: the cost of `base`.
    """
    if getattr(model, "active_peft_config", None) is not None and model.active_peft_config.is_prompt_learning:
        raise Error("config", f"{model.active_peft_config.peft_type} adds tokens, which floptally cannot count from the config: {COUNT_IT}")
    stored: dict[tuple[str, str], int] = {}
    for row in result.entries:
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
            raise Error(name, f"has an adapter, but the config has no weight of that name: {COUNT_IT}")
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
                f"has {stored[at]} parameters in the config, but the modules with adapters have {whole[at]}: {COUNT_IT}",
            )
        name = at[0] if at[1] == at[0] else "/".join(at)
        settings += settings_in_layers(name, of_layer, layers[at])
    return settings + settings_of_others(base, result, explained)


def base_weight(module: Any) -> Any:
    """Returns the weight matrix of a linear layer, even if an adapter wraps the layer."""
    inner = getattr(module, "base_layer", None)
    weight = getattr(inner if inner is not None else module, "weight", None)
    return weight if weight is not None and weight.dim() == 2 and not type(module).__name__.endswith("Embedding") else None


def place_of(name: str, stored: Iterable[tuple[str, str]]) -> tuple[str, str] | None:
    """Returns the names (component, weight) that the cost has for the weight of a PyTorch module. Returns None unless
    exactly one weight of the cost fits the module's name.

    name: the module's name.
    stored: (component, weight) of all weights of the cost.
    """
    parts = [part for part in name.split(".") if not part.isdigit()]
    if "base_layer" in parts:
        return None  # counted with the module around it
    weight = next((WEIGHTS[key] for n in (3, 2, 1) if (key := ".".join(parts[-n:])) in WEIGHTS), None)
    found = [at for at in stored if at[1] == weight]
    crossed = any(word in name for word in ("EncDecAttention", "encoder_attn", "crossattention", "cross_attn"))
    found = [at for at in found if at[0].startswith("cross_") == crossed]
    sides = {at[0].split(".")[0] for at in found} & {"encoder", "vision", "audio"}
    for side in sides:
        in_tower = any(part.startswith(side) for part in parts) or (side == "audio" and "encoder" in parts)
        found = [at for at in found if at[0].startswith(side + ".") == in_tower]
    return found[0] if len(found) == 1 else None


def layer_of(name: str) -> int:
    return next((int(part) for part in name.split(".") if part.isdigit()), 0)


def rank_of(name: str, module: Any, explained: set[str]) -> int:
    active = [active_adapter for active_adapter in module.active_adapters if active_adapter in module.lora_A]
    odd = [one for one in active if one in getattr(module, "lora_magnitude_vector", {}) or module.use_dora.get(one)]
    if odd or module.merged:
        raise Error(name, f"has an adapter that is {'DoRA' if odd else 'merged'}, which floptally cannot count from the config: {COUNT_IT}")
    if len({len(module.lora_A), len(active), 1}) != 1:
        raise Error(name, f"must have one adapter that is active, got {len(module.lora_A)} with {len(active)} active: {COUNT_IT}")
    explained.update(f"{name}.{part}.{active[0]}.weight" for part in ("lora_A", "lora_B"))
    return int(module.r[active[0]])


def settings_in_layers(name: str, of_layer: Mapping[int, int], layers: set[int]) -> list[_core.WeightSetting]:
    if set(of_layer) == layers and len(set(of_layer.values())) == 1:
        return [_core.WeightSetting(name, "lora", rank=next(iter(of_layer.values())))]
    if name.split(".")[0] in ("encoder", "vision", "audio") or name.startswith("cross_"):
        raise Error(name, f"has adapters in only some layers, which floptally cannot count from the config: {COUNT_IT}")
    return [_core.WeightSetting(name, "lora", rank=rank, first_layer=n, last_layer=n) for n, rank in sorted(of_layer.items())]


def settings_of_others(base: Any, result: Cost, explained: set[str]) -> list[_core.WeightSetting]:
    """Returns a WeightSetting for each component of a PEFT model that trains in full: modules_to_save, biases, norms.

    explained: names of the adapters' parameters, which are left out.
    """
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
            raise Error(name, f"trains, but is neither an adapter, an lm_head, an embedding, a norm nor a bias: {COUNT_IT}")
        trains[component] = trains.get(component, 0) + parameter.numel()
    kinds = {"embedding": ("embedding", "position_embedding"), "bias": ("bias",), "norm": ("norm", "latent_norm")}
    for component, count in trains.items():
        rows = result.entries
        stored = sum(
            row.parameters
            for row in rows
            if (row.component == "lm_head" if component == "lm_head" else row.kind in kinds[component])
        )
        if stored != count:
            raise Error(
                component, f"has {count} parameters that train, but {stored} parameters in the config: {COUNT_IT}"
            )
    return [_core.WeightSetting(component, "trainable") for component in trains]
