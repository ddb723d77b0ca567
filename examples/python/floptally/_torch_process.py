# SPDX-License-Identifier: Apache-2.0
"""Leaves a process as it was before floptally ran a model in it: random states, settings of PyTorch, and caches."""

from __future__ import annotations

import contextlib
import functools
import gc
import logging
import random
import sys
import traceback
import types
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.nn.modules import module as torch_module

from ._core import Error

LRU_CACHE = type(functools.lru_cache(len))
#: Loggers that print a traceback for every operator that fails on fake tensors, also where that is expected.
LOGGERS = ("torch._subclasses.fake_tensor", "torch.fx.experimental.symbolic_shapes")
#: Modules whose inner functions live for one call.
RUNNING = (
    "floptally._from_torch",
    "floptally._verify",
    "floptally._torch_trace",
    "torch.nn.modules.module",
    "torch._subclasses.fake_tensor",
)
MOST_TENSORS = 64  #: so many tensors are traced back to their holders at once


def default_device() -> Any:
    """Returns the device that the user set by torch.set_default_device. None if the user set no device."""
    from torch.utils import _device

    return _device.CURRENT_DEVICE


def settings() -> list[tuple[Callable[[], Any], Callable[[Any], Any]]]:
    """Returns a pair of functions (getter, setter) for each global setting of PyTorch that a model may change."""
    cuda, c = torch.backends.cuda, torch._C
    found: list[tuple[Callable[[], Any], Callable[[Any], Any]]] = [
        (torch.get_default_dtype, torch.set_default_dtype),
        (default_device, torch.set_default_device),
        (torch.is_grad_enabled, c._set_grad_enabled),
        (torch.is_autocast_cache_enabled, torch.set_autocast_cache_enabled),
        (torch.is_anomaly_enabled, torch.set_anomaly_enabled),
        (
            lambda: (torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()),
            lambda on: torch.use_deterministic_algorithms(on[0], warn_only=on[1]),
        ),
        (torch.backends.mha.get_fastpath_enabled, torch.backends.mha.set_fastpath_enabled),
        (c._get_mkldnn_enabled, c._set_mkldnn_enabled),
        (cuda.flash_sdp_enabled, cuda.enable_flash_sdp),
        (cuda.mem_efficient_sdp_enabled, cuda.enable_mem_efficient_sdp),
        (cuda.math_sdp_enabled, cuda.enable_math_sdp),
    ]
    if hasattr(cuda, "cudnn_sdp_enabled"):
        found.append((cuda.cudnn_sdp_enabled, cuda.enable_cudnn_sdp))
    for device in ("cpu", "cuda"):
        found.append((partial(torch.is_autocast_enabled, device), partial(torch.set_autocast_enabled, device)))
        found.append((partial(torch.get_autocast_dtype, device), partial(torch.set_autocast_dtype, device)))
    return found


def global_hooks() -> list[dict[Any, Any]]:
    """Returns PyTorch's dicts of global module hooks, which apply to every module of the process."""
    return [value for name, value in vars(torch_module).items() if name.startswith("_global_") and isinstance(value, dict)]


def random_states() -> list[tuple[Callable[[Any], Any], Any]]:
    """Returns (setter, state) of every global random number generator that exists in the process."""
    found: list[tuple[Callable[[Any], Any], Any]] = [(random.setstate, random.getstate())]
    found.append((torch.set_rng_state, torch.get_rng_state()))
    if torch.cuda.is_available() and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        found.append((torch.cuda.set_rng_state_all, torch.cuda.get_rng_state_all()))
    numpy = sys.modules.get("numpy")
    if numpy is not None and hasattr(numpy, "random"):
        found.append((numpy.random.set_state, numpy.random.get_state()))
    return found


@contextlib.contextmanager
def settings_as_found() -> Iterator[None]:
    """Returns a context manager that restores PyTorch's global settings at its end."""
    known = [(put, get, get()) for get, put in settings()]
    try:
        yield
    finally:
        for put, get, before in known:
            if get() != before:
                put(before)


@contextlib.contextmanager
def left_as_found() -> Iterator[list[weakref.ref[torch.Tensor]]]:
    """Returns a context manager that restores PyTorch's random states, settings, global hooks and caches at its end.
    Its body runs with gradients enabled.

    It yields a list. Append a weak reference to each fake tensor that must not outlive the context. A cache that still
    holds such a tensor is cleared. If another object holds one, the context raises an Error that names the object.
    """
    states, handled = random_states(), sys.exc_info()[1]
    hooks = [(one, dict(one)) for one in global_hooks()]
    levels = [(logger, logger.level) for logger in map(logging.getLogger, LOGGERS)]
    for logger, _ in levels:
        logger.setLevel(logging.CRITICAL + 1)
    created: list[weakref.ref[torch.Tensor]] = []
    failed = False
    try:
        with settings_as_found(), torch.inference_mode(False), torch.enable_grad():
            yield created
    except BaseException as problem:
        failed = True
        clear_frames(problem, handled)
        raise
    finally:
        for logger, level in levels:
            logger.setLevel(level)
        for restore, state in states:
            restore(state)
        for one, content in hooks:
            if one != content:
                one.clear()
                one.update(content)
        if torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda"):
            torch.clear_autocast_cache()
        remaining = clear_caches(created)
        if remaining and not failed:
            raise Error(
                "model",
                f"keeps a tensor that floptally made for this count in {', '.join(remaining)}, outside of its "
                "modules: reset this cache before training, or pass real=True. floptally clears only caches in modules, "
                "dicts and functools.cache",
            )


def clear_frames(problem: BaseException, handled: BaseException | None) -> None:
    """Clears the local variables of the finished calls in a traceback, since these variables hold fake tensors. The
    lines of the traceback stay. Variables of closures are cleared too if the closures live for one call only.

    handled: an exception that the caller was already handling. The calls in its traceback keep their variables.
    """
    seen: list[BaseException | None] = [handled]
    left: list[BaseException | None] = [problem]
    while left:
        exception = left.pop()
        if exception is not None and not any(exception is other for other in seen):
            seen.append(exception)
            traceback.clear_frames(exception.__traceback__)
            for frame, _ in traceback.walk_tb(exception.__traceback__):
                frame.f_locals  # a copy of the variables that a debugger asked for, which reading renews
                if "<locals>" not in qualified_name(frame) or frame.f_globals.get("__name__") not in RUNNING:
                    continue
                for function in gc.get_referents(frame):
                    for cell in getattr(function, "__closure__", None) or ():
                        with contextlib.suppress(ValueError):  # it is empty
                            del cell.cell_contents
            left += [exception.__cause__, exception.__context__]


def qualified_name(frame: types.FrameType) -> str:
    functions = [one for one in gc.get_referents(frame) if isinstance(one, types.FunctionType)]
    return next((one.__qualname__ for one in functions if one.__code__ is frame.f_code), "")


def clear_caches(created: list[weakref.ref[torch.Tensor]]) -> list[str]:
    """Removes these tensors from functools caches, dicts and lists that still hold them. Returns the names of other
    objects that hold one of the tensors."""
    if not any(one() is not None for one in created):
        return []
    gc.collect()
    remaining: list[str] = []
    for _ in range(8):  # a cache may hold more tensors than are looked at in one go
        found = remove_from_holders([reference for reference in created if reference() is not None][:MOST_TENSORS])
        if not found:
            break
        remaining += [one for one in found if one and one not in remaining]
        gc.collect()
        if not any(one() is not None for one in created):
            return []
    return remaining


def remove_from_holders(references: list[weakref.ref[torch.Tensor]]) -> list[str]:
    """Removes these tensors from the caches and containers that refer to them. Returns a text for each container: its
    name if it could not be cleared, else an empty text."""
    found: list[str] = []
    frontier: list[Any] = [one for one in (reference() for reference in references) if one is not None]
    seen = {id(one) for one in frontier}
    own: list[Any] = [frontier]
    for _ in range(6):
        ignored = {id(one) for one in own}
        held = {id(one) for one in frontier}
        outer: list[Any] = []
        for holder in gc.get_referrers(*frontier):
            if id(holder) in ignored or id(holder) in seen or isinstance(holder, (types.FrameType, weakref.ref)):
                continue
            seen.add(id(holder))
            if isinstance(holder, LRU_CACHE):
                holder.cache_clear()
                found.append("")
            elif isinstance(holder, dict):
                found += remove_from_dict(holder, held)
            elif isinstance(holder, list):
                holder[:] = [one for one in holder if id(one) not in held]
                found.append("")
            elif isinstance(holder, (set, weakref.WeakKeyDictionary)):
                for one in [one for one in holder if id(one) in held]:
                    holder.discard(one) if isinstance(holder, set) else holder.pop(one)
                found.append("")
            elif isinstance(holder, types.CellType):
                found.append(f"a variable of {name_of_cell(holder)}")
            elif isinstance(holder, (tuple, frozenset)) or type(holder).__name__ == "_lru_list_elem":
                outer.append(holder)
            elif not isinstance(holder, (FakeTensor, torch.nn.Module, types.GeneratorType)):
                names = [key for key, value in attributes_of(holder) if id(value) in held]
                found.append(f"{type(holder).__qualname__}.{names[0]}" if names else "")
                if not names:
                    found.pop()
                    outer.append(holder)
        if not outer:
            break
        own.append(outer)
        frontier = outer
    return found


def attributes_of(holder: Any) -> list[tuple[str, Any]]:
    return list(getattr(holder, "__dict__", {}).items())


def remove_from_dict(holder: dict[Any, Any], held: set[int]) -> list[str]:
    """Removes tensors from a dict that serves as a cache. Does not change a dict with the variables of a module, class
    or object, since their earlier values are lost.

    held: id() of each tensor.

    Returns the names of variables that still hold a tensor, an empty text for a dict that was cleared, or nothing for a
    fake tensor's own attributes.
    """
    keys = [key for key, value in holder.items() if id(value) in held]
    if "__name__" in holder and getattr(sys.modules.get(str(holder["__name__"])), "__dict__", None) is holder:
        return [f"{holder['__name__']}.{key}" for key in keys]
    for one in gc.get_referrers(holder):
        if isinstance(one, types.FrameType):
            continue
        if isinstance(one, LRU_CACHE):
            one.cache_clear()
            return [""]
        if isinstance(one, type) and all(one.__dict__.get(key) is holder[key] for key in keys):
            return [f"{one.__module__}.{one.__qualname__}.{key}" for key in keys]
        if isinstance(one, dict) and any(one.get(name) is holder for name in ("_buffers", "_parameters")):
            return [f"the {name} of a module" for name in keys]
        if not isinstance(one, (dict, list)) and getattr(one, "__dict__", None) is holder:
            return [] if isinstance(one, torch.Tensor) else [f"{type(one).__qualname__}.{key}" for key in keys]
    for key in keys:
        del holder[key]
    return [""]


def name_of_cell(cell: types.CellType) -> str:
    for around in gc.get_referrers(cell):
        for function in gc.get_referrers(around) if isinstance(around, tuple) else ():
            if isinstance(function, types.FunctionType):
                return f"{function.__module__}.{function.__qualname__}"
    return "a function"
