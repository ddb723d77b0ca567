# SPDX-License-Identifier: Apache-2.0
"""The functions that floptally.adopt stands in for, taken out of the trainers' own files.

The environment variable FLOPTALLY_TRAINERS is a folder with a tree for each trainer, by its repository's name, at the
commit of ``COMMITS``. Only the functions that count
are executed, with what they import from their trainer taken out of its files in the same way, so that no trainer has to
be installed. ``tests/python/fetch_trainers.sh FOLDER`` clones them.
"""

from __future__ import annotations

import ast
import enum
import importlib
import inspect
import os
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

#: What each was compared with last.
COMMITS = {
    "Megatron-LM": "d98e8a64ddf34856e74b24714e3bedb2f5a39553",
    "Megatron-Bridge": "067f987df03b8355b03192d88d70f1709fedf51a",
    "maxtext": "e591f30cbbf217ed67ef71263ec0538239f9c3b8",
    "verl": "1dda039b9c6311889a9c9a26040677e1254814f9",
    "torchtitan": "b5bcd76c66d0acb1a08b176d9639425bc55e0b2a",
    "VeOmni": "d9774494f5d8042321386c65c9406e732a271501",
    "RL": "7ea279abfbeb698b092856d0dab61e7cf39bc909",
    "OLMo-core": "fa6c5014c9f6e9ee789da2d9c20d5126fee8df0d",
    "prime-rl": "559b44772e471d1538537b8805cc77f3824a5e64",
    "slime": "624b824a898ab0ec1fcb4d373004c7f3852bf515",
    "miles": "31f1ca961a94cb860cec3b2dea34ec332bfa8f76",
    "open-instruct": "e6c3044aa6201c8bfa4573c1b03142af599e730d",
    "bionemo-framework": "b9f31aec700f1af3d63675d5e9c27148315b0790",
}  # fmt: skip


def tree(name: str) -> Path:
    """The trainer's files; the test that asks is skipped where they are not there."""
    folder = os.environ.get("FLOPTALLY_TRAINERS")
    if not folder:
        pytest.skip("FLOPTALLY_TRAINERS is no folder with the trainers' files")
    path = Path(folder) / name
    if not path.is_dir():
        pytest.skip(f"FLOPTALLY_TRAINERS has no {name}")
    return path


def taken(path: Path, wanted: Callable[[str], bool], given: dict[str, Any]) -> dict[str, Any]:
    """The functions, classes and constants of a file whose names are wanted, and nothing else of it."""
    body: list[ast.stmt] = []
    for node in ast.parse(path.read_text()).body:
        names: Sequence[str] = ()
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names = [node.name]
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names = [node.target.id]
        if any(wanted(name) for name in names):
            body.append(node)
    module = ast.Module(body, [])
    future = ast.parse("from __future__ import annotations").body
    module.body = [*future, *body]
    names_there = dict(given, __name__="taken")
    module_there = types.ModuleType("taken")
    vars(module_there).update(names_there)
    sys.modules["taken"] = module_there  # where dataclasses look for their annotations
    try:
        exec(compile(module, str(path), "exec"), vars(module_there))
    finally:
        del sys.modules["taken"]
    return vars(module_there)


def one_of(*names: str) -> Callable[[str], bool]:
    return lambda name: name in names


def stand_in(name: str, contents: dict[str, Any]) -> None:
    """A module of that name, and the packages above it, where a function imports it as it runs."""
    parts = name.split(".")
    for i in range(1, len(parts)):
        sys.modules.setdefault(".".join(parts[:i]), types.ModuleType(".".join(parts[:i])))
    module = types.ModuleType(name)
    vars(module).update(contents)
    sys.modules[name] = module


def forget(*names: str) -> None:
    for name in list(sys.modules):
        if name.split(".")[0] in names:
            del sys.modules[name]


# ---- Megatron-LM and Megatron-Bridge ----

HYBRID = "megatron.core.models.hybrid.hybrid_layer_allocation"
VARIANTS = "megatron.core.models.gpt.experimental_attention_variant_module_specs"


def _file(root: Path, module: str) -> Path:
    return root / (module.replace(".", "/") + ".py")


def _megatron_names(root: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    import dataclasses
    import typing

    known = {
        "dataclass": dataclasses.dataclass,
        **{name: getattr(typing, name) for name in ("Dict", "List", "Optional", "Tuple")},
    }
    hybrid = taken(
        _file(root, HYBRID),
        one_of(
            "Symbols", "ParsedHybridPattern", "get_hybrid_layer_counts", "parse_hybrid_pattern", "_validate_pattern"
        ),
        known,
    )
    variants = taken(
        _file(root, VARIANTS),
        one_of(
            "GDN_ATTENTION_VARIANTS", "_DEPRECATED_ATTENTION_VARIANT_ALIASES", "is_gated_delta_net_variant",
            "is_linear_attention_variant",
        ),
        known,
    )  # fmt: skip
    return hybrid, variants


def megatron() -> Callable[..., float]:
    root = tree("Megatron-LM")
    hybrid, variants = _megatron_names(root)
    shared = taken(root / "megatron/training/utils/common_utils.py", one_of("is_hybrid_model"), {})
    found = taken(
        root / "megatron/training/training.py", one_of("num_floating_point_operations"), {**variants, **shared}
    )

    def original(*given: Any, **more: Any) -> float:
        stand_in(HYBRID, hybrid)
        try:
            return float(found["num_floating_point_operations"](*given, **more))
        finally:
            forget("megatron")

    return original


def megatron_bridge() -> Callable[..., float]:
    import functools
    import math

    core = tree("Megatron-LM")
    hybrid, variants = _megatron_names(core)
    root = tree("Megatron-Bridge") / "src/megatron/bridge"
    known = {"lru_cache": functools.lru_cache, "functools": functools, "math": math}
    vocabulary = taken(core / "megatron/training/vocab_utils.py", lambda name: "padded_vocab_size" in name, known)
    wanted = (
        "num_floating_point_operations", "vit_flops", "vit_flops_from_patch_stats", "_get_vision_config",
        "_packed_data_exists", "_lora_seq_stats_cache",
    )  # fmt: skip
    lora = type("LoRA", (), {})
    found = taken(
        root / "training/utils/flop_utils.py",
        one_of(*wanted),
        {**hybrid, **variants, **vocabulary, "LoRA": lora, "Path": Path},
    )
    return found["num_floating_point_operations"]  # type: ignore[no-any-return]


# ---- MaxText ----


def maxtext() -> Callable[..., tuple[float, float, float]]:
    root = tree("maxtext") / "src/maxtext"
    types_there = taken(root / "common/common_types.py", one_of("DecoderBlockType", "AttentionType"), {"enum": enum})
    wanted = lambda name: name.startswith(
        ("calculate_", "_calculate_", "get_dense_moe", "get_shared_expert")
    )  # noqa: E731
    log = types.SimpleNamespace(log=lambda text: None)
    found = taken(root / "utils/maxtext_utils.py", wanted, {**types_there, "max_logging": log})
    original = found["calculate_tflops_training_per_device"]
    original.DecoderBlockType = types_there["DecoderBlockType"]
    return original  # type: ignore[no-any-return]


# ---- verl, whose file stands alone ----


def verl() -> types.ModuleType:
    """The module of verl's FlopsCounter, on a device that promises 989 TFLOPS."""
    path = tree("verl") / "verl/utils/flops_counter.py"
    found = taken(path, lambda name: True, {"inspect": inspect, "torch": None, "get_torch_device": None})
    found["get_device_flops"] = lambda *given, **more: 989.0
    module = types.ModuleType("verl_flops_counter")
    vars(module).update(found)
    return module


# ---- trainers of reinforcement learning, and what stands beside them ----


class _NoLog:
    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *given, **more: None


def veomni() -> type[Any]:
    """VeOmni's VeomniFlopsCounter, on a device that promises 989 TFLOPS."""
    import dataclasses
    import typing

    root = tree("VeOmni") / "veomni"
    known = {
        "dataclass": dataclasses.dataclass, "field": dataclasses.field, "dataclasses": dataclasses, "Any": Any,
        "Literal": typing.Literal, "MappingProxyType": types.MappingProxyType, "logger": _NoLog(), "os": os,
    }  # fmt: skip
    lora = taken(root / "lora/config.py", lambda name: name != "logger", known)
    found = taken(root / "utils/count_flops.py", lambda name: name != "logger", {**lora, "logger": _NoLog()})
    found["get_device_flops"] = lambda *given, **more: 989.0
    counter: type[Any] = found["VeomniFlopsCounter"]
    counter.LoraConfig = lora["VeOmniLoraConfig"]  # type: ignore[attr-defined]
    return counter


def nemo_rl() -> type[Any]:
    """NeMo-RL's FLOPTracker."""
    import dataclasses
    import typing

    import transformers

    root = tree("RL") / "nemo_rl/utils"
    known = {"dataclass": dataclasses.dataclass, "List": list, "Optional": typing.Optional, "Union": typing.Union}
    formulas = taken(root / "flops_formulas.py", lambda name: True, known)
    names = ("LlamaConfig", "Qwen2Config", "Qwen3Config", "Qwen3MoeConfig")
    classes = {name: getattr(transformers, name) for name in names}
    wanted = one_of("FLOPTracker", "convert_config_to_flops_config")
    found = taken(root / "flops_tracker.py", wanted, {**known, **formulas, **classes, "asdict": dataclasses.asdict})
    return found["FLOPTracker"]  # type: ignore[no-any-return]


def slime() -> Callable[..., float]:
    found = taken(tree("slime") / "slime/utils/flops_utils.py", lambda name: True, {})
    return found["calculate_fwd_flops"]  # type: ignore[no-any-return]


def miles() -> types.ModuleType:
    module = types.ModuleType("miles_flops_utils")
    path = tree("miles") / "miles/utils/flops_utils.py"
    vars(module).update(taken(path, lambda name: True, {"SimpleNamespace": types.SimpleNamespace}))
    return module


def prime_rl() -> type[Any]:
    """prime-rl's PerfCounter, on a CPU of a world of one."""
    import time

    import torch

    class MultiLoRAModule:
        """No module is one."""

    known = {
        "torch": torch, "nn": torch.nn, "time": time, "MultiLoRAModule": MultiLoRAModule, "get_logger": _NoLog,
        "get_world": lambda: types.SimpleNamespace(world_size=1), "has_lora_layers": lambda model: False,
    }  # fmt: skip
    found = taken(tree("prime-rl") / "src/prime_rl/trainer/perf.py", lambda name: name != "_PERF_COUNTER", known)
    return found["PerfCounter"]  # type: ignore[no-any-return]


def open_instruct() -> type[Any]:
    """open-instruct's ModelDims."""
    import dataclasses
    import math

    import torch
    import transformers

    wanted = one_of("ModelDims", "GPU_SPECS", "FLOP_PER_MAC", "SOFTMAX_FLOPS_PER_SCORE", "GDN_RECURRENCE_PASSES")
    known = {"dataclasses": dataclasses, "math": math, "torch": torch, "AutoConfig": transformers.AutoConfig}
    known["check_calculation"] = lambda *given, **more: None
    return taken(tree("open-instruct") / "open_instruct/utils.py", wanted, known)["ModelDims"]  # type: ignore[no-any-return]


def bionemo() -> types.ModuleType:
    """What BioNeMo's PerfLogger calls."""
    import torch

    wanted = one_of(
        "_GATED_MLP_MODEL_TYPES", "_compute_non_attn_per_token_flops", "_compute_attn_flop_coeff", "_attn_work_from_batch"
    )
    module = types.ModuleType("perf_logger")
    path = tree("bionemo-framework") / "bionemo-recipes/recipes/esm2_native_te/perf_logger.py"
    vars(module).update(taken(path, wanted, {"torch": torch}))
    return module


def olmo_core(module: str) -> types.ModuleType:
    """One of OLMo-core's modules, from its tree or its package; skipped where it does not import."""
    folder = os.environ.get("FLOPTALLY_TRAINERS")
    root = str(Path(folder or "") / "OLMo-core" / "src")
    if folder:
        sys.path.insert(0, root)
    try:
        return importlib.import_module(module)
    except ImportError as error:
        pytest.skip(f"OLMo-core does not import here: {error}")
    finally:
        if folder:
            sys.path.remove(root)


# ---- torchtitan, which is imported whole ----


def torchtitan(module: str) -> types.ModuleType:
    """One of its modules, from its tree, with a torch that it runs on; skipped where it does not import."""
    root = str(tree("torchtitan"))
    sys.path.insert(0, root)
    try:
        return importlib.import_module(module)
    except (ImportError, AttributeError) as error:
        pytest.skip(f"torchtitan does not import here: {error}")
    finally:
        sys.path.remove(root)


def differing(rows: Iterable[tuple[Any, float, float]], *, allowed: float = 1e-9) -> list[str]:
    """Of (what, theirs, ours), those that are not one number but for the rounding of a float, as lines."""
    return [
        f"{what}: theirs {theirs:.15g}, ours {ours:.15g}, {ours / theirs if theirs else float('inf'):.6f}"
        for what, theirs, ours in rows
        if abs(ours - theirs) > allowed * abs(theirs)
    ]
