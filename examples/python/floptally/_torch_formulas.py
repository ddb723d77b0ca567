# SPDX-License-Identifier: Apache-2.0
"""FLOPs of operators that PyTorch's FlopCounterMode has no formula for, and the operators that cannot be counted.

A matrix product counts 2 FLOPs per multiply-add. A complex multiply-add counts 8: a complex multiplication is 6 real
operations and a complex addition is 2 (LAPACK Working Note 41, "Installation Guide for LAPACK", section on operation
counts; LAPACK's own timing programs use these numbers). FlopCounterMode counts 2 for a complex multiply-add.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch.utils.flop_counter import flop_registry

from ._core import Error
from ._torch_kernels import ATTENTION, as_it_is, kernel_of, name_of

ATEN = torch.ops.aten


def result_times(contracted: int) -> Callable[..., int]:
    """Returns a FLOPs formula for a linear layer: 2 FLOPs for each pair of an output element and an input feature. The
    formula also holds for packed (quantized) weights.

    contracted: the index of the argument whose last axis has the input features.
    """

    def counted(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        return int(2 * out_val.numel() * args[contracted].shape[-1])

    return counted


def product_of_last(first: int) -> Callable[..., int]:
    """Returns a FLOPs formula for a product of two matrices, or of batches or groups of matrices. The two are the
    operator's arguments number `first` and `first` + 1."""

    def counted(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        a, b = args[first].shape, args[first + 1].shape
        batch = a[0] if len(a) == len(b) == 3 else 1  # in groups, one operand has the tokens or features of all groups
        return int(2 * batch * a[-2] * a[-1] * b[-1])

    return counted


def matrix_times_vector(first: int) -> Callable[..., int]:
    def counted(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        return int(2 * args[first].numel())

    return counted


def twice(formula: Callable[..., int]) -> Callable[..., int]:
    return lambda *args, **kwargs: 2 * formula(*args, **kwargs)


#: By operator: its formula here.
BY_NAME: dict[str, Callable[..., int]] = {
    **{f"aten::{name}": product_of_last(0) for name in ("_int_mm", "_grouped_mm", "_scaled_grouped_mm", "_scaled_mm")},
    **{f"aten::{name}": product_of_last(0) for name in ("_scaled_mm_v2", "_scaled_grouped_mm_v2")},
    **{f"aten::{name}": product_of_last(1) for name in ("addmm_", "baddbmm_", "addbmm", "addbmm_", "_addmm_activation")},
    **{f"aten::{name}": matrix_times_vector(0) for name in ("mv", "dot", "vdot")},
    **{f"aten::{name}": matrix_times_vector(1) for name in ("addmv", "addmv_")},
    **{f"aten::{name}": result_times(0) for name in ("_weight_int8pack_mm", "_weight_int4pack_mm")},
    **{f"aten::{name}": result_times(0) for name in ("_weight_int4pack_mm_for_cpu", "_dyn_quant_matmul_4bit")},
    "aten::_weight_int4pack_mm_with_scales_and_zeros": result_times(0),
    "transformers::grouped_mm_fallback": product_of_last(0),
    "transformers::grouped_mm_fallback_backward": twice(product_of_last(0)),
    **{f"torchao::{name}": product_of_last(0) for name in ("int_matmul", "int_scaled_matmul")},
    **{f"torchao::{name}": result_times(0) for name in ("swizzle_mm", "swizzle_scaled_mm", "float8_linear_cpu")},
    **{f"torchao::{name}": result_times(0) for name in ("da8w4_linear_cpu", "rowwise_scaled_linear_sparse_cutlass_f8f8")},
    **{f"bitsandbytes::{name}": result_times(0) for name in ("gemm_4bit", "gemv_4bit", "int8_linear_matmul")},
    **{f"bitsandbytes::{name}": result_times(0) for name in ("int8_scaled_mm", "int8_mixed_scaled_mm")},
}
#: Operators of libraries that multiply no matrices: they quantize, or choose boxes.
ELEMENTWISE = frozenset(
    "bitsandbytes::dequantize_4bit bitsandbytes::quantize_4bit bitsandbytes::dequantize_blockwise "
    "bitsandbytes::quantize_blockwise bitsandbytes::int8_vectorwise_quant bitsandbytes::int8_vectorwise_dequant "
    "bitsandbytes::int8_double_quant bitsandbytes::int8_mm_dequant torchao::quantize_affine "
    "torchao::dequantize_affine torchao::choose_qparams_affine torchao::choose_scale_float8 "
    "torchao::quantize_affine_float8_non_decomposed torchao::dequantize_affine_float8_non_decomposed "
    "torchao::mxfp8_quantize torchao::mx_block_rearrange_2d_M_groups torchao::fused_pad_token_groups "
    "torchao::fused_unpad_token_groups torchvision::nms torchvision::roi_align torchvision::roi_pool "
    "torchvision::ps_roi_align torchvision::ps_roi_pool torchvision::_roi_align_backward "
    "torchvision::_deform_conv2d_backward torchvision::_roi_pool_backward torchvision::_ps_roi_align_backward torchvision::_ps_roi_pool_backward".split()
)
#: Namespaces whose operators move data, or describe it.
NAMESPACES = frozenset(
    "aten prim prims profiler higher_order c10d _c10d_functional _c10d_functional_autograd _dtensor fsdp rngprims "
    "streams".split()
)
#: Matrix products, convolutions, recurrent layers and fused attention without a formula anywhere. An error.
PRODUCTS = frozenset(
    "_conv_depthwise2d _cslt_sparse_mm _cudnn_attention_backward _cudnn_attention_forward "
    "_cudnn_attention_forward_no_dropout_inplace _cudnn_rnn _cudnn_rnn_backward "
    "_flash_attention_forward_no_dropout_inplace _foreach_mm _lstm_mps _mixed_dtypes_linear _mps_convolution "
    "_mps_convolution_transpose _native_multi_head_attention _nnpack_spatial_convolution _scaled_addmm _scaled_addmm_ "
    "_scaled_dot_product_attention_math_for_mps _scaled_dot_product_fused_attention_overrideable "
    "_scaled_dot_product_fused_attention_overrideable_backward _slow_conv2d_backward _sparse_addmm "
    "_sparse_mm_reduce_impl _sparse_mm_reduce_impl_backward _sparse_semi_structured_addmm "
    "_sparse_semi_structured_linear _sparse_semi_structured_mm _sparse_sparse_matmul _thnn_fused_gru_cell "
    "_thnn_fused_gru_cell_backward _thnn_fused_lstm_cell _thnn_fused_lstm_cell_backward_impl "
    "_transformer_encoder_layer_fwd _trilinear _triton_multi_head_attention _triton_scaled_dot_attention conv_depthwise3d "
    "conv_tbc conv_tbc_backward convolution_backward_overrideable cudnn_convolution_add_relu cudnn_convolution_relu "
    "cudnn_convolution_transpose hspmm linear linear_backward lstm_mps_backward matmul_backward miopen_convolution "
    "miopen_convolution_add_relu miopen_convolution_relu miopen_convolution_transpose miopen_depthwise_convolution "
    "miopen_rnn miopen_rnn_backward mkldnn_convolution mkldnn_linear mkldnn_linear_backward "
    "mkldnn_linear_backward_input mkldnn_linear_backward_weights mkldnn_rnn_layer mkldnn_rnn_layer_backward "
    "mps_convolution_backward mps_convolution_transpose_backward quantized_gru quantized_lstm slow_conv3d_forward "
    "slow_conv_dilated2d slow_conv_dilated3d slow_conv_transpose2d slow_conv_transpose3d sparse_sampled_addmm "
    "sspaddmm".split()
)
#: Operators that multiply outside of matrix products: Fourier transforms, decompositions, distances. A warning.
OTHERS = frozenset(
    "_cdist_forward _pdist_forward _cholesky_solve_helper _fft_c2c _fft_c2r _fft_r2c _linalg_det _linalg_eigh "
    "_linalg_eigvals _linalg_slogdet _linalg_solve_ex _linalg_svd _spsolve _compute_linear_combination "
    "cholesky_inverse cholesky_solve geqrf linalg_cholesky_ex linalg_eig linalg_eigvals linalg_householder_product "
    "linalg_inv_ex linalg_ldl_factor_ex linalg_ldl_solve linalg_lstsq linalg_lu linalg_lu_factor_ex linalg_lu_solve "
    "linalg_matrix_exp linalg_matrix_sqrth linalg_pinv linalg_polar linalg_qr linalg_solve_triangular ormqr "
    "triangular_solve torchvision::deform_conv2d".split()
)


def packet_of(name: str) -> Any:
    """Returns all overloads of the operator "namespace::name" as one object, in the form that FlopCounterMode uses.
    None if the operator is not registered."""
    space, _, own = name.partition("::")
    return getattr(getattr(torch.ops, space), own, None)


def of_complex(formula: Callable[..., Any]) -> Callable[..., int]:
    """Returns a FLOPs formula for complex numbers, which counts a multiply-add as 8 FLOPs. formula: the formula for
    real numbers, which counts a multiply-add as 2."""

    def counted(*args: Any, **kwargs: Any) -> int:
        is_complex = any(isinstance(one, torch.Tensor) and one.is_complex() for one in args[:3])
        return int(formula(*args, **kwargs)) * (4 if is_complex else 1)

    return as_it_is(counted)


def own_formulas() -> dict[Any, Any]:
    """Returns the FLOPs formulas that floptally adds to those of PyTorch, as the `custom_mapping` of
    FlopCounterMode."""
    found: dict[Any, Any] = dict(ATTENTION)
    for name, formula in BY_NAME.items():
        packet = packet_of(name)
        if packet is not None and packet not in flop_registry:
            found[packet] = of_complex(formula) if name.startswith("aten::") else as_it_is(formula)
    for packet in (ATEN.mm, ATEN.addmm, ATEN.bmm, ATEN.baddbmm):
        found[packet] = of_complex(flop_registry[packet])
    return found


def by_pytorch(packet: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], out: Any) -> int:
    """Returns the FLOPs that FlopCounterMode counts for an operator without floptally's formulas. Attention on a CPU
    counts as on a GPU, also in PyTorch releases that have no formula for it."""
    formula = flop_registry.get(packet, ATTENTION.get(packet))
    return int(formula(*args, **kwargs, out_val=out)) if formula is not None else 0


def lacks_formula(func: Any) -> str:
    """Says whether an operator has no FLOPs formula. Returns "product" for a matrix product, convolution or custom
    operator without a formula. Returns "other" for an operator that multiplies outside of matrix products, else ""."""
    packet = getattr(func, "_overloadpacket", func)
    space, own = getattr(func, "namespace", "aten"), name_of(packet)
    if f"{space}::{own}" in OTHERS or space == "aten" and own in OTHERS:
        return "other"
    if space == "aten" and own in PRODUCTS:
        return "product"
    return "" if space in NAMESPACES or f"{space}::{own}" in ELEMENTWISE else "product"


# What the caller names by keys.


def operator_of(key: Any) -> Any:
    """Returns the operator that a key of `formulas` names. The key may be an overload, a packet of all overloads, a
    custom operator, a Triton kernel, or a function of PyTorch with the operator's name. Raises Error for anything
    else."""
    kernel = kernel_of(key)
    if kernel is not key or type(key).__module__.startswith("triton."):
        return kernel
    key = getattr(key, "_opoverload", key)
    key = getattr(key, "overloadpacket", key)
    if isinstance(key, (torch._ops.OpOverloadPacket, torch._ops.HigherOrderOperator)):
        return key
    name = getattr(key, "__name__", "")
    packet = getattr(ATEN, name, None) if callable(key) and str(name).isidentifier() else None
    if packet is not None:
        return packet
    raise Error(
        "formulas",
        f"has the key {key!r}, which is not an operator: pass torch.ops.NAMESPACE.NAME, a custom operator, a kernel of "
        "Triton, or a function of torch such as torch._grouped_mm",
    )


class Formulas(dict[Any, Any]):
    """The FLOPs formulas that the user passed, by operator. `check` raises an Error for formulas that no step
    called."""

    def __init__(self, formulas: Mapping[Any, Callable[..., int]] | None) -> None:
        super().__init__()
        self.unused: dict[Any, str] = {}
        for key, formula in (formulas or {}).items():
            operator = operator_of(key)
            self[operator] = self.noted(operator, formula)
            self.unused[operator] = name_of(operator)

    def noted(self, operator: Any, formula: Callable[..., int]) -> Callable[..., int]:
        """Wraps the user's FLOPs formula for an operator. The wrapper records that the operator ran."""

        @functools.wraps(formula)
        def counted(*args: Any, **kwargs: Any) -> int:
            self.unused.pop(operator, None)
            return formula(*args, **kwargs)

        return counted

    def check(self, ran: Iterable[str]) -> None:
        """Raises an Error if a FLOPs formula of the user was not used. ran: names of operators that ran."""
        for name in self.unused.values():
            raise Error("formulas", f"has the key {name}, an operator that the model did not run{nearest(name, ran)}")


def nearest(name: str, known: Iterable[str]) -> str:
    """Returns text for an error: up to three known names that are similar to `name`. Empty if there are none."""
    found = difflib.get_close_matches(name, list(dict.fromkeys(known)), n=3, cutoff=0.4)
    return f"; did you mean {', '.join(found)}?" if found else ""


def check_patterns(field: str, patterns: Iterable[str], names: Iterable[tuple[str, str]], kind: str) -> None:
    """Raises an Error for a pattern of module names that matches no module.

    field: the argument that the caller passed. names: the modules, each with its own name and its name with "*" for a
        layer's index. kind: the kind of modules, for the error.
    """
    known = list(names)
    for pattern in patterns:
        if not any(fnmatchcase(own, pattern) or fnmatchcase(folded, pattern) for own, folded in known):
            folded_names = [folded for _, folded in known if folded]
            raise Error(field, f"has the key {pattern!r}, which matches no {kind}{nearest(pattern, folded_names)}")
