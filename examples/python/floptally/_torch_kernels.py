# SPDX-License-Identifier: Apache-2.0
"""Kernels that PyTorch's modes do not see: nested tensors, Triton kernels, compiled and fused layers.

A nested tensor of the jagged layout is one tensor of all tokens with the boundaries of sequences. Modes see it
before it unwraps itself, so that a counter sees operators without a formula. `Unwrapping` lets it unwrap itself
first. On a GPU its attention is one kernel over the boundaries; `eager_kernels` chooses that kernel on a CPU too.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch._higher_order_ops import triton_kernel_wrap
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, unset_fake_temporarily
from torch.nested._internal import sdpa
from torch.nested._internal.nested_int import NestedIntNode
from torch.nested._internal.nested_tensor import NestedTensor, _nt_view_dummy
from torch.nn.attention import SDPBackend
from torch.nn.attention.bias import CausalBias
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

for kernel in ("flex_attention", "varlen"):  # they register formulas when a forward imports them, which is too late
    with contextlib.suppress(ImportError):
        importlib.import_module(f"torch.nn.attention.{kernel}")

ATEN = torch.ops.aten
ON_WHICH_DEVICE = torch.ops.prim.device.default
LAUNCHES = (triton_kernel_wrap.triton_kernel_wrapper_mutation, triton_kernel_wrap.triton_kernel_wrapper_functional)


def as_it_is(formula: Callable[..., int]) -> Callable[..., int]:
    """Marks a FLOPs formula for FlopCounterMode, so that FlopCounterMode passes tensors to the formula instead of their
    shapes."""

    def counted(*args: Any, **kwargs: Any) -> int:
        return formula(*args, **kwargs)

    counted._get_raw = True  # type: ignore[attr-defined]
    return counted


# Attention that older releases have no formula for, by their own formula of the kernel that does the same: that of a
# step on a CPU, and the packed one, whose arguments stand in the same order.
ATTENTION = {
    getattr(space, name): as_it_is(flop_registry[counted])
    for space, name, counted in (
        (ATEN, "_scaled_dot_product_flash_attention_for_cpu", ATEN._scaled_dot_product_flash_attention),
        (ATEN, "_scaled_dot_product_flash_attention_for_cpu_backward", ATEN._scaled_dot_product_flash_attention_backward),
        (torch.ops.torch_attn, "_varlen_attn", ATEN._flash_attention_forward),
        (torch.ops.torch_attn, "_varlen_attn_backward", ATEN._flash_attention_backward),
    )
    if hasattr(space, name) and getattr(space, name) not in flop_registry
}


def fake_mode() -> FakeTensorMode:
    """Returns a fake tensor mode that supports nested tensors. As with real nested tensors, a ragged size is equal only
    to itself."""
    mode = FakeTensorMode(allow_non_fake_inputs=True)

    def ragged_size(*, nt_tensor_id: int | None = None) -> Any:
        if nt_tensor_id is None:
            nt_tensor_id = mode.nt_tensor_id_counter
            mode.nt_tensor_id_counter += 1
        return torch.SymInt(NestedIntNode(nt_tensor_id, 1))

    mode.create_symbolic_nested_int = ragged_size  # type: ignore[method-assign]
    return mode


class Unwrapping(TorchDispatchMode):
    """A dispatch mode that replaces each operator on nested tensors by operators on plain tensors, so that other modes
    see only these. Enter it last.

    needs_gradient: a function from an operator's arguments to a context manager. The operator runs inside the context.
    launched: a function that is called with each Triton kernel and the arguments of its launch.
    """

    supports_higher_order_operators = True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # nothing is compiled here, and the wrapper that says so takes time for each operator

    def __init__(self, needs_gradient: Callable[[Any], Any], launched: Callable[[Any, dict[str, Any]], None]) -> None:
        super().__init__()
        self.needs_gradient = needs_gradient
        self.launched = launched

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func is ON_WHICH_DEVICE and type(args[0]) is FakeTensor and not args[0].fake_mode.in_kernel_invocation:
            return args[0].fake_device  # a hot path: asked for every mode in turn
        if func in LAUNCHES:
            self.launched(kernel_of(triton_kernel_wrap.kernel_side_table.get_kernel(kwargs["kernel_idx"])), kwargs)
            return func(*args, **kwargs)
        if not any(issubclass(one, NestedTensor) for one in types):
            return func(*args, **kwargs)
        with self, self.needs_gradient((args, kwargs)):
            return NestedTensor.__torch_dispatch__(func, types, args, kwargs)


def kernel_of(key: Any) -> Any:
    """Returns the Triton kernel itself, unwrapped from wrap_triton, an autotuner or heuristics."""
    if isinstance(key, triton_kernel_wrap.TraceableTritonKernelWrapper):
        key = key.kernel
    while type(key).__module__.startswith("triton.") and type(key).__name__ in ("Autotuner", "Heuristics"):
        key = key.fn
    return key


def name_of(kernel: Any) -> str:
    return getattr(kernel, "__name__", None) or str(kernel)


def causal_mask(_: type, variant: Any, queries: int, keys: int) -> torch.Tensor:
    """Returns the mask of a CausalBias (torch.nn.attention.bias) as a tensor, since fake tensors cannot stand for a
    CausalBias."""
    shift = keys - queries if variant.name == "LOWER_RIGHT" else 0
    return torch.ones(queries, keys, dtype=torch.bool).tril(shift)


@contextlib.contextmanager
def eager_kernels() -> Iterator[None]:
    """Returns a context manager in which PyTorch runs simple kernels instead of compiled or fused ones. Recurrent
    layers then run step by step. Flex attention runs even without a kernel for its backward. Nested tensors use the
    attention kernel that takes sequence boundaries. The fast paths of attention and encoder layers are off, since each
    is one operator without a FLOPs formula."""
    with unset_fake_temporarily():
        _nt_view_dummy()  # PyTorch caches the first one; it must not be a fake tensor
    flex = sys.modules.get("torch.nn.attention.flex_attention")
    before = {name: getattr(flex, name, None) for name in ("_validate_device", "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG")}
    with contextlib.ExitStack() as stack:
        if hasattr(torch.compiler, "set_stance"):
            stack.enter_context(torch.compiler.set_stance("force_eager"))
        stack.callback(torch._C._set_mkldnn_enabled, torch._C._get_mkldnn_enabled())
        torch._C._set_mkldnn_enabled(False)
        stack.callback(torch.backends.mha.set_fastpath_enabled, torch.backends.mha.get_fastpath_enabled())
        torch.backends.mha.set_fastpath_enabled(False)
        if flex is not None and all(one is not None for one in before.values()):
            flex._validate_device = lambda *_: None  # type: ignore[attr-defined]
            flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True  # type: ignore[attr-defined]
            for name, value in before.items():
                stack.callback(setattr, flex, name, value)
        stack.callback(setattr, CausalBias, "__new__", CausalBias.__new__)
        CausalBias.__new__ = causal_mask  # type: ignore[method-assign, assignment]
        stack.callback(setattr, sdpa, "_select_sdp_backend", sdpa._select_sdp_backend)
        sdpa._select_sdp_backend = lambda *_, **__: SDPBackend.EFFICIENT_ATTENTION
        yield
