# SPDX-License-Identifier: Apache-2.0
"""Finds the matrix products in a traced JAX function (a jaxpr) and their FLOPs; see _from_jax.py.

A walk over the jaxpr follows what each value depends on: weights, data, the gradient of the loss. Sizes may be symbolic
(`jax.export.symbolic_shape`), so that FLOPs are polynomials. Every primitive is in one of the lists below. A primitive
that is in none of them is an Error, so that nothing counts as zero by mistake.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import lru_cache, reduce
from operator import mul
from typing import Any

from ._core import Error

#: A size: an int, or an expression of symbols (`jax.export`'s symbolic dimension).
Dim = Any

#: Primitives that only call the jaxpr of one of their parameters, by the name of the parameter.
CALLS = {
    "jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr", "call": "call_jaxpr",
    "core_closed_call": "call_jaxpr", "xla_call": "call_jaxpr", "named_call": "call_jaxpr", "remat_call": "call_jaxpr",
    "remat": "jaxpr", "remat2": "jaxpr", "checkpoint": "jaxpr", "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr", "custom_vjp_call_jaxpr": "fun_jaxpr", "custom_jvp_call_jaxpr": "fun_jaxpr",
    "custom_vmap_call": "call", "custom_partitioning": "call", "composite": "jaxpr", "shard_map": "jaxpr",
}  # fmt: skip
REMATS = ("remat", "remat2", "checkpoint")

#: Primitives that multiply and that are counted by their shapes.
COUNTED = ("dot_general", "conv_general_dilated", "ragged_dot", "ragged_dot_general", "scaled_dot")

#: Primitives that multiply and that have no form here, with what they are. They are errors.
REFUSED = {
    "pallas_call": "a Pallas kernel", "tpu_custom_call": "a TPU kernel", "core_map": "a Pallas kernel",
    "mpmd_map": "a Pallas kernel", "emit_pipeline": "a Pallas kernel", "run_state": "a kernel on references",
    "run_scoped": "a kernel on references", "triton_kernel_call": "a Triton kernel", "mosaic_gpu": "a Mosaic kernel",
    "cudnn_fusion": "a cuDNN fusion", "custom_call": "a custom call", "ffi_call": "a foreign function",
    "ffi_lowering": "a foreign function", "call_exported": "an exported function", "pure_callback": "a callback to the host",
    "io_callback": "a callback to the host", "triangular_solve": "a triangular solve", "cholesky": "a Cholesky factorization",
    "cholesky_update": "a Cholesky update", "lu": "an LU factorization", "lu_pivots_to_permutation": "a part of an LU factorization",
    "qr": "a QR factorization", "geqrf": "a QR factorization", "geqp3": "a QR factorization",
    "householder_product": "a QR factorization", "ormqr": "a QR factorization", "eig": "an eigendecomposition",
    "eigh": "an eigendecomposition", "svd": "a singular value decomposition", "schur": "a Schur decomposition",
    "hessenberg": "a Hessenberg reduction", "tridiagonal": "a tridiagonal reduction",
    "tridiagonal_solve": "a tridiagonal solve", "symmetric_product": "a symmetric product",
    "custom_linear_solve": "a linear solve", "linear_call": "a user's linear function", "spsolve": "a sparse solve",
    "dot_product_attention_fp8_fwd_wrapper": "cuDNN's attention in fp8",
    "dot_product_attention_fp8_bwd_wrapper": "cuDNN's attention in fp8", "scaled_matmul_wrapper": "cuDNN's block-scaled product",
    "scaled_matmul": "cuDNN's block-scaled product", "dot_product_attention_fwd": "cuDNN's attention inside another kernel",
    "dot_product_attention_bwd": "cuDNN's attention inside another kernel", "call_hi_primitive": "a user's primitive",
}  # fmt: skip
#: Prefixes of names of refused primitives.
REFUSED_FAMILIES = {
    "bcoo_": "a sparse operation", "bcsr_": "a sparse operation", "coo_": "a sparse operation", "csr_": "a sparse operation",
    "matmul_": "an instruction of a kernel", "dma_": "an instruction of a kernel", "semaphore_": "an instruction of a kernel",
}  # fmt: skip

#: cuDNN's fused attention, as jax.nn.dot_product_attention(implementation="cudnn") calls it.
CUDNN = ("dot_product_attention_fwd_wrapper", "dot_product_attention_bwd_wrapper")

#: Functions of jax.experimental.pallas that run attention as kernels, by the names that jax.jit gives them.
KERNELS = ("flash_attention", "_splash_attention")
#: How the names of products begin that a kernel fuses.
FUSED = (*CUDNN, *KERNELS)

#: Primitives that multiply, but not as matrix products. A note and a warning name them. They count nothing.
TRANSFORMS = ("fft",)

#: Primitives that multiply no matrices: elementwise functions, reductions, moves of data, random numbers.
PLAIN = frozenset(
    """
    abs acos acosh add add_any add_dependency after_all and approx_top_k argmax argmin asin asinh atan atan2 atanh
    axis_index bessel_i0e bessel_i1e bitcast bitcast_convert_type broadcast_in_dim broadcast_to cbrt ceil check clamp clz
    complex concatenate conj convert_element_type copy copy_p copy_to_host cos cosh create_token cumlogsumexp cummax cummin
    cumprod cumsum custom_lin debug_callback debug_print device_put digamma dim_as_value dimension_size div
    dynamic_slice dynamic_update_slice empty empty2 eq eq_to erf erf_inv erfc exp exp2 expm1 floor from_edtype gather ge
    gt igamma igamma_grad_a igammac imag inspect_sharding integer_pow iota iota_2x32_shape is_finite layout_constraint le
    le_to lgamma log log1p logistic lt lt_to max min mul mulhi multiple_of name ne neg nextafter not
    optimization_barrier or pad pbroadcast platform_index polygamma population_count pow precv preduced prng_join psend
    pvary random_bits random_clone random_fold_in random_gamma random_seed random_split random_unwrap random_wrap real
    reciprocal reduce reduce_and reduce_max reduce_min reduce_or reduce_precision reduce_prod reduce_sum reduce_window
    reduce_window_max reduce_window_min reduce_window_sum reduce_xor reduced_vary_cast_p regularized_incomplete_beta rem
    reshape reshard rev rng_bit_generator rng_uniform roll round rsqrt scatter scatter-add scatter-max scatter-min
    scatter-mul scatter-sub scatter_add scatter_max scatter_min scatter_mul scatter_sub select_and_gather_add
    select_and_scatter select_and_scatter_add select_n shape_assertion sharding_constraint shift_left
    shift_right_arithmetic shift_right_logical sign sin sinh slice sort split sqrt square squeeze stack stochastic_round
    stop_gradient sub swap_p tan tanh threefry2x32 threefry4x32 philox2x32 philox4x32 tie tile to_edtype top_k transpose
    unreduced_psum unstack unvary vary_unreduced_cast_p with_memory_space_constraint xor zeros_like zeta mesh_cast
    random_key_data split_key all_to_all ragged_all_to_all ppermute collective_permute
    """.split()
)
#: Exchanges after which all devices along their axes have the same value.
REPLICATING = frozenset(
    "psum psum_invariant psum2 pmax pmin all_gather all_gather_invariant all_gather_reduced unreduced_psum".split()
)
#: Exchanges after which devices have different values.
SCATTERING = frozenset("reduce_scatter unreduced_reduce_scatter".split())
#: Primitives of mutable arrays. They read and write whole arrays and multiply nothing.
REFERENCES = frozenset(
    "get swap addupdate new_ref empty_ref free_ref freeze accum_grad_in_ref box_get box_set new_box".split()
)
#: Functions whose derivative is zero.
WITHOUT_GRADIENT = frozenset("stop_gradient floor ceil round sign nextafter argmax argmin iota axis_index is_finite".split())


# -- sizes -------------------------------------------------------------------------------------------------------------


def product_of(sizes: Iterable[Dim]) -> Dim:
    return reduce(mul, sizes, 1)


def is_symbolic(size: Dim) -> bool:
    return not isinstance(size, int) and not hasattr(size, "__index__")


def is_zero(size: Dim) -> bool:
    return not is_symbolic(size) and int(size) == 0


def is_equal(a: Dim, b: Dim) -> bool:
    """True if two sizes are equal for all values of their symbols."""
    return is_zero(a - b)


FUNCTIONS: dict[str, Callable[..., int]] = {
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "max": max,
    "min": min,
}


@lru_cache(maxsize=4096)
def compiled(text: str) -> Any:
    return compile(text.replace("^", "**"), "<size>", "eval")


def evaluated(size: Dim, symbols: Mapping[str, int]) -> int:
    """Returns the value of a size if its symbols have these values."""
    if not is_symbolic(size):
        return int(size)
    return int(eval(compiled(str(size)), {"__builtins__": {}, **FUNCTIONS}, dict(symbols)))


def symbols_of(size: Dim) -> list[str]:
    """Returns the names of the symbols in a size, in the order of its text."""
    if not is_symbolic(size):
        return []
    found = re.findall(r"[A-Za-z_]\w*", str(size))
    return [name for name in dict.fromkeys(found) if name not in FUNCTIONS]


#: A product of symbols and of expressions that are no polynomials, each with its power.
Monomial = tuple[tuple[str, int], ...]


def polynomial(size: Dim) -> dict[Monomial, int]:
    """Returns a size as {monomial: coefficient}. A part that is no polynomial, such as floordiv(length, 2), stands in
    a monomial as its text."""
    if not is_symbolic(size):
        return {(): int(size)} if size else {}
    return dict(terms_of(str(size)))


@lru_cache(maxsize=4096)
def terms_of(text: str) -> tuple[tuple[Monomial, int], ...]:
    found = of_tree(ast.parse(text.replace("^", "**"), mode="eval").body)
    return tuple((key, number) for key, number in found.items() if number)


def of_tree(tree: ast.expr) -> dict[Monomial, int]:
    if isinstance(tree, ast.Constant) and isinstance(tree.value, int):
        return {(): tree.value}
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        return {key: -number for key, number in of_tree(tree.operand).items()}
    if isinstance(tree, ast.BinOp):
        left, right = of_tree(tree.left), of_tree(tree.right)
        if isinstance(tree.op, (ast.Add, ast.Sub)):
            sign = 1 if isinstance(tree.op, ast.Add) else -1
            keys = dict.fromkeys([*left, *right])
            return {key: left.get(key, 0) + sign * right.get(key, 0) for key in keys}
        if isinstance(tree.op, ast.Mult):
            return times(left, right)
        if isinstance(tree.op, ast.Pow) and set(right) <= {()}:
            return reduce(times, [left] * right.get((), 0), {(): 1})
    return {((ast.unparse(tree), 1),): 1}


def times(a: Mapping[Monomial, int], b: Mapping[Monomial, int]) -> dict[Monomial, int]:
    result: dict[Monomial, int] = {}
    for first, x in a.items():
        for second, y in b.items():
            powers: dict[str, int] = {}
            for name, power in (*first, *second):
                powers[name] = powers.get(name, 0) + power
            key = tuple(sorted(powers.items()))
            result[key] = result.get(key, 0) + x * y
    return result


# -- values ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Origin:
    """What a value depends on.

    weights: indices of the arguments' leaves that are weights.
    data: True if it depends on other leaves of the arguments.
    trained: True if the derivative by some trained leaf is not zero.
    cotangent: True if it depends on the gradient of the loss: the backward computes it.
    axes: axes of a device mesh along which devices have different values.
    number: the value of a scalar that the shapes decide, such as the number of turns of a loop.
    """

    weights: frozenset[int] = frozenset()
    data: bool = False
    trained: bool = False
    cotangent: bool = False
    axes: frozenset[str] = frozenset()
    number: Dim = None

    def joined(self, other: Origin) -> Origin:
        if other == self:
            return self
        return Origin(
            self.weights | other.weights, self.data or other.data, self.trained or other.trained,
            self.cotangent or other.cotangent, self.axes | other.axes,
        )  # fmt: skip

    @property
    def is_weight(self) -> bool:
        return bool(self.weights) and not self.data and not self.cotangent

    @property
    def is_constant(self) -> bool:
        return not self.weights and not self.data and not self.cotangent


CONSTANT = Origin()


def joined(origins: Iterable[Origin]) -> Origin:
    return replace(reduce(Origin.joined, origins, CONSTANT), number=None)


@dataclass(frozen=True)
class Place:
    """Where in the user's code an operation stands.

    scope: names of jax.named_scope and of Flax's modules around it, outermost first.
    frames: (file, line, function) of the user's calls, innermost first.
    """

    scope: tuple[str, ...]
    frames: tuple[tuple[str, int, str], ...]

    @property
    def text(self) -> str:
        """The place as text, such as "encoder/attention (model.py:31)"."""
        file, line, _ = next((one for one in self.frames if not is_library(one[0])), ("?", 0, "?"))
        own = file.replace("\\", "/").rpartition("/")[2]
        return f"{'/'.join(self.scope) or self.function or 'a function'} ({own}:{line})"

    @property
    def function(self) -> str:
        """The name of the user's function."""
        names = [one[2] for one in self.frames if not is_library(one[0])] or [one[2] for one in self.frames]
        named = [name.rpartition(".")[2] for name in names]
        return next((name for name in named if not name.startswith("<")), "")


def is_library(file: str) -> bool:
    return "site-packages" in file or "dist-packages" in file


@dataclass(eq=False)
class Product:
    """A matrix product of the traced function.

    flops: FLOPs of all turns of the loops around it. A multiply-add is 2.
    other_counts: FLOPs by other ways to count a convolution with strides or padding.
    left, right: what its operands depend on.
    sizes: sizes of the operands and of the result.
    dims: dimension numbers: (contracted axes, batch axes) of each operand. None for convolutions.
    path: the indices of the equations that lead to it.
    """

    op: str
    flops: Dim
    other_counts: tuple[Dim, ...]
    left: Origin
    right: Origin
    sizes: tuple[tuple[Dim, ...], tuple[Dim, ...], tuple[Dim, ...]]
    dims: tuple[tuple[tuple[int, ...], tuple[int, ...]], tuple[tuple[int, ...], tuple[int, ...]]] | None
    place: Place
    path: tuple[int, ...]
    in_remat: bool
    eqn: Any
    softmax: Dim = 0  #: of a fused kernel: its scores

    @property
    def is_backward(self) -> bool:
        return self.left.cotangent or self.right.cotangent

    @property
    def is_elementwise(self) -> bool:
        """True for a product such as einsum("blk,k->blk"), which sums over no axis and scales elements."""
        if self.dims is None or any(axes for axes, _ in self.dims):
            return False
        return any(len(batch) == len(shape) for shape, (_, batch) in zip(self.sizes, self.dims))

    @property
    def is_without_free_axes(self) -> bool:
        """True if each axis of one operand is one of the other: the result sums, or scales, elements."""
        if self.dims is None:
            return False
        return any(len(axes) + len(batch) == len(shape) for shape, (axes, batch) in zip(self.sizes, self.dims))

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for a product and for the products of its backward."""
        return self.place.frames

    @property
    def weights(self) -> frozenset[int]:
        """Leaves of the weight that it multiplies. Empty if it multiplies none."""
        of = [one.weights for one in (self.left, self.right) if one.is_weight]
        return of[0] if len(of) == 1 else frozenset[int]().union(*of)

    @property
    def kind(self) -> str:
        """ "weight", "activations" or "constant": by whether an operand is a weight or a constant."""
        if self.left.is_constant and self.right.is_constant:
            return "constant"
        if self.left.is_weight or self.right.is_weight:
            return "weight"
        return "activations"

    @property
    def needed(self) -> int:
        """How many products of the same size the gradient has: one for each operand that depends on trained leaves."""
        return int(self.left.trained) + int(self.right.trained)


@dataclass
class Choices:
    """What the caller says about loops and branches whose course data decide."""

    turns: Mapping[str, Any] = field(default_factory=dict)
    branches: Mapping[str, int] = field(default_factory=dict)
    formulas: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    used: set[tuple[str, str]] = field(default_factory=set)

    def turns_of(self, name: str) -> Any:
        return self.chosen("turns", self.turns, name)

    def branch_of(self, name: str) -> int | None:
        found = self.chosen("branches", self.branches, name)
        return None if found is None else int(found)

    def formula_of(self, name: str) -> Callable[..., Any] | None:
        found = self.chosen("formulas", self.formulas, name)
        return found if callable(found) else None

    def chosen(self, field_name: str, of: Mapping[str, Any], name: str) -> Any:
        for pattern, value in of.items():
            if pattern == name or fnmatchcase(name, pattern):
                self.used.add((field_name, pattern))
                return value
        return None

    def check_used(self) -> None:
        for name, of in (("turns", self.turns), ("branches", self.branches), ("formulas", self.formulas)):
            for pattern in of:
                if (name, pattern) not in self.used:
                    raise Error(
                        name,
                        f"has the key {pattern!r}, which matches nothing in the function: remove it, or copy the name from the error",
                    )


def inner_jaxpr(value: Any) -> tuple[Any, Sequence[Any]]:
    """Returns (jaxpr, constants) of a parameter that is a jaxpr with or without constants."""
    return (value.jaxpr, value.consts) if hasattr(value, "jaxpr") else (value, ())


def jaxprs_in(params: Mapping[str, Any]) -> list[Any]:
    found = []
    for value in params.values():
        for one in value if isinstance(value, (tuple, list)) else (value,):
            if hasattr(one, "eqns") or (hasattr(one, "jaxpr") and hasattr(one, "consts")):
                found.append(inner_jaxpr(one)[0])
    return found


def is_literal(var: Any) -> bool:
    return hasattr(var, "val")


def is_floating(aval: Any) -> bool:
    from jax import dtypes, numpy

    dtype = getattr(aval, "dtype", None)
    return (
        dtype is not None and not numpy.issubdtype(dtype, dtypes.extended) and bool(numpy.issubdtype(dtype, numpy.inexact))
    )


TRANSFORMED = re.compile(r"^(?:jvp|transpose|vmap|remat|checkpoint|jit|pjit)\((.*)\)$")
SCOPES_OF_JAX = re.compile(
    r"^(?:jvp|transpose|vmap|remat\d*|checkpoint|rematted_computation|while|body|cond|branch_\d+_fun|scan|closed_call|shard_map|"
    r"custom_[jv]vp_call|custom_vmap_call|jit|pjit|core_call|)$"
)


def cleaned(scope: str) -> list[str]:
    """Returns the names in a name stack of JAX that people wrote: without transformations and einsum's formulas."""
    parts: list[str] = []
    depth, current = 0, ""
    for letter in scope:
        depth += (letter == "(") - (letter == ")")
        if letter == "/" and not depth:
            parts.append(current)
            current = ""
        else:
            current += letter
    parts.append(current)
    result = []
    for part in parts:
        while (match := TRANSFORMED.match(part)) is not None:
            inner = match.group(1)
            if "/" in inner:
                result += cleaned(inner)
                part = ""
            else:
                part = inner
        if not SCOPES_OF_JAX.match(part) and "->" not in part and "," not in part:
            result.append(part)
    return result


@lru_cache(maxsize=65536)
def frames_of(traceback: Any) -> tuple[tuple[str, int, str], ...]:
    from jax._src import source_info_util

    return tuple((one.file_name, one.start_line, one.function_name) for one in source_info_util.user_frames(traceback))


def place_of(eqn: Any, around: Place) -> Place:
    """Returns where an equation stands. around: the place of the equation that calls it."""
    source = eqn.source_info
    try:
        frames = frames_of(source.traceback)
    except (AttributeError, TypeError):  # older versions of JAX take the whole source info
        from jax._src import source_info_util

        frames = tuple((one.file_name, one.start_line, one.function_name) for one in source_info_util.user_frames(source))
    users = tuple(one for one in frames if not one[0].replace("\\", "/").endswith("floptally/_from_jax.py"))
    if not any(not is_library(one[0]) for one in users):
        users += around.frames
    return Place(around.scope + tuple(cleaned(str(source.name_stack))), users)


@dataclass
class Walk:
    """Follows all equations of a jaxpr and collects its products."""

    choices: Choices = field(default_factory=Choices)
    #: From the path of a conditional to how often each branch runs, if the shapes and constants decide it.
    decided: Callable[[tuple[int, ...]], Mapping[int, int] | None] | None = None
    products: list[Product] = field(default_factory=list)
    #: dot_generals of the forward that sum over no axis and scale one operand by the other. They are elementwise, and count nothing.
    elementwise: list[Product] = field(default_factory=list)
    transforms: dict[str, None] = field(default_factory=dict)  #: places of Fourier transforms
    #: Leaves whose rows are looked up: whether the indices depend on data.
    tables: dict[int, bool] = field(default_factory=dict)
    stacked: set[int] = field(default_factory=set)  #: leaves with an axis of layers that a scan goes over
    names: dict[tuple[int, ...], str] = field(default_factory=dict)  #: of loops and conditionals, by their paths
    alike: dict[str, None] = field(default_factory=dict)  #: conditionals whose branches multiply as much, by other weights
    replicated: dict[str, None] = field(default_factory=dict)  #: places of work that devices repeat
    sizes_of_axes: dict[str, int] = field(default_factory=dict)

    def whole(self, closed: Any, origins: Sequence[Origin]) -> list[Origin]:
        """Walks over a closed jaxpr. Returns what its results depend on."""
        return self.of_jaxpr(closed.jaxpr, [CONSTANT] * len(closed.consts), origins, 1, (), Place((), ()), False, True)

    def of_jaxpr(
        self,
        jaxpr: Any,
        consts: Sequence[Origin],
        origins: Sequence[Origin],
        turns: Dim,
        path: tuple[int, ...],
        around: Place,
        in_remat: bool,
        is_final: bool,
    ) -> list[Origin]:
        """Walks over a jaxpr.

        consts, origins: what its constants and arguments depend on.
        turns: how often it runs.
        is_final: False while the values that a loop hands on are still unknown; no product is then collected.
        """
        known: dict[Any, Origin] = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *origins), strict=True))

        def origin(var: Any) -> Origin:
            if is_literal(var):
                is_number = getattr(var.val, "shape", ()) == () and not is_floating(var.aval)
                return Origin(number=int(var.val)) if is_number else CONSTANT
            return known[var]

        for index, eqn in enumerate(jaxpr.eqns):
            found = self.of_equation(
                eqn, [origin(var) for var in eqn.invars], turns, (*path, index), around, in_remat, is_final
            )
            for var, one in zip(eqn.outvars, found, strict=True):
                known[var] = one
        return [origin(var) for var in jaxpr.outvars]

    def of_equation(
        self, eqn: Any, origins: list[Origin], turns: Dim, path: tuple[int, ...], around: Place, in_remat: bool,
        is_final: bool,
    ) -> list[Origin]:  # fmt: skip
        name = eqn.primitive.name
        if is_kernel(eqn):
            return self.of_kernel(eqn, origins, turns, path, around, in_remat, is_final)
        if name in CALLS or name in ("scan", "while", "cond"):
            inner = place_of(eqn, around)
            if name in ("while", "cond"):
                self.names[path] = inner.text
            if name == "scan":
                return self.of_scan(eqn, origins, turns, path, inner, in_remat, is_final)
            if name == "while":
                return self.of_while(eqn, origins, turns, path, inner, in_remat, is_final)
            if name == "cond":
                return self.of_cond(eqn, origins, turns, path, inner, in_remat, is_final)
            if name == "shard_map":
                return self.of_shard_map(eqn, origins, turns, path, inner, in_remat, is_final)
            jaxpr, consts = inner_jaxpr(eqn.params[CALLS[name]])
            found = self.of_jaxpr(
                jaxpr, [CONSTANT] * len(consts), origins, turns, path, inner, in_remat or name in REMATS, is_final
            )
            if name.startswith(("custom_jvp", "custom_vjp")):
                trained = any(one.trained for one in origins)
                found = [replace(one, trained=trained and is_floating(var.aval)) for one, var in zip(found, eqn.outvars)]
            return found
        if name in COUNTED:
            return self.of_product(eqn, origins, turns, path, around, in_remat, is_final)
        if name in CUDNN:
            return self.of_cudnn(eqn, origins, turns, path, around, in_remat, is_final)
        place = place_of(eqn, around)
        formula = self.choices.formula_of(kernel_name(eqn)) if self.choices.formulas else None
        if formula is not None:
            return self.of_formula(eqn, formula, origins, turns, path, place, in_remat, is_final)
        if name in TRANSFORMS:
            self.transforms[place.text] = None
        elif name not in PLAIN | REPLICATING | SCATTERING | REFERENCES:
            raise refused(eqn, place)
        return self.of_plain(eqn, origins, name)

    def of_plain(self, eqn: Any, origins: list[Origin], name: str) -> list[Origin]:
        if name == "dim_as_value":
            return [Origin(number=eqn.params["dim"])]
        if name == "convert_element_type" and origins[0].number is not None:
            return [origins[0]]
        found = joined(origins)
        if name in ("gather", "dynamic_slice", "split_key") and origins[0].is_weight and len(origins) > 1:
            by_data = any(one.data for one in origins[1:])
            if name == "gather":
                for leaf in origins[0].weights:
                    self.tables[leaf] = self.tables.get(leaf, False) or by_data
        if name in REPLICATING:
            found = replace(found, axes=found.axes - names_of_axes(eqn.params))
        elif name in SCATTERING or name == "axis_index" or name in ("all_to_all", "ppermute", "ragged_all_to_all"):
            found = replace(found, axes=found.axes | names_of_axes(eqn.params) & set(self.sizes_of_axes))
        if name in REFERENCES:
            return [found for _ in eqn.outvars]
        trained = found.trained and name not in WITHOUT_GRADIENT
        return [replace(found, trained=trained and is_floating(var.aval)) for var in eqn.outvars]

    # -- control flow ---------------------------------------------------------------------------------------------

    def of_scan(
        self, eqn: Any, origins: list[Origin], turns: Dim, path: tuple[int, ...], around: Place, in_remat: bool,
        is_final: bool,
    ) -> list[Origin]:  # fmt: skip
        params = eqn.params
        jaxpr, values = inner_jaxpr(params["jaxpr"])
        consts, carried = scan_parts(params)
        carry = [replace(one, number=None) for one in origins[consts : consts + carried]]
        fixed, rows = origins[:consts], origins[consts + carried :]
        rows = [replace(one, number=None) for one in rows]
        self.stacked.update(leaf for one in rows if one.is_weight for leaf in one.weights)

        def run(final: bool) -> list[Origin]:
            return self.of_jaxpr(
                jaxpr,
                [CONSTANT] * len(values),
                [*fixed, *carry, *rows],
                turns * params["length"],
                path,
                around,
                in_remat,
                final,
            )

        while True:
            found = run(False)
            after = [joined([before, one]) for before, one in zip(carry, found[:carried])]
            if after == carry:
                break
            carry = after
        return run(True) if is_final else found

    def of_while(
        self, eqn: Any, origins: list[Origin], turns: Dim, path: tuple[int, ...], around: Place, in_remat: bool,
        is_final: bool,
    ) -> list[Origin]:  # fmt: skip
        params = eqn.params
        test, test_values = inner_jaxpr(params["cond_jaxpr"])
        body, body_values = inner_jaxpr(params["body_jaxpr"])
        first, second = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
        carry = [replace(one, number=None) for one in origins[second:]]

        def run(times: Dim, final: bool) -> list[Origin]:
            self.of_jaxpr(
                test, [CONSTANT] * len(test_values), [*origins[:first], *carry], times, (*path, 0), around, in_remat, final
            )
            return self.of_jaxpr(
                body,
                [CONSTANT] * len(body_values),
                [*origins[first:second], *carry],
                times,
                (*path, 1),
                around,
                in_remat,
                final,
            )

        while True:
            found = run(turns, False)
            after = [joined([before, one]) for before, one in zip(carry, found)]
            if after == carry:
                break
            carry = after
        if is_final:
            before = len(self.products)
            run(turns, True)
            if len(self.products) > before:
                name = around.text
                count = self.choices.turns_of(name)
                if count is None:
                    count = counted_turns(eqn, origins)
                if count is None:
                    raise Error(
                        "turns",
                        f"are unknown for the while loop {name!r}, which multiplies: data decide how often it runs. Pass "
                        f"turns={{{name!r}: n}}, where n is the number of turns of one call",
                    )
                del self.products[before:]
                run(turns * count, True)
        return [joined([before, one]) for before, one in zip(carry, found)]

    def of_cond(
        self, eqn: Any, origins: list[Origin], turns: Dim, path: tuple[int, ...], around: Place, in_remat: bool,
        is_final: bool,
    ) -> list[Origin]:  # fmt: skip
        branches = eqn.params["branches"]

        def run(index: int, times: Dim, final: bool) -> list[Origin]:
            jaxpr, values = inner_jaxpr(branches[index])
            return self.of_jaxpr(
                jaxpr, [CONSTANT] * len(values), origins[1:], times, (*path, index), around, in_remat, final
            )

        before = len(self.products)
        starts, found = [], []
        for index in range(len(branches)):
            starts.append(len(self.products))
            found.append(run(index, turns, is_final))
        together = [joined([*several, Origin(data=origins[0].data)]) for several in zip(*found)]
        parts = [self.products[a:b] for a, b in zip(starts, [*starts[1:], None])]
        if not is_final or not any(parts):
            return together
        name = around.text
        chosen = self.choices.branch_of(name)
        if chosen is None and origins[0].number is not None and not is_symbolic(origins[0].number):
            chosen = min(max(int(origins[0].number), 0), len(branches) - 1)
        if chosen is not None:
            if not 0 <= chosen < len(branches):
                raise Error("branches", f"{name!r} must be from 0 to {len(branches) - 1}, got {chosen}")
            self.products[before:] = parts[chosen]
            return together
        ran = self.decided(path) if self.decided is not None else None
        if ran and not any(turns * n % sum(ran.values()) for n in ran.values()):
            del self.products[before:]
            for index, n in sorted(ran.items()):
                run(index, turns * n // sum(ran.values()), True)
            return together
        amounts = [sorted((p.op, str(p.flops), p.kind) for p in part) for part in parts]
        if any(one != amounts[0] for one in amounts):
            raise Error(
                "branches",
                f"are unknown for the conditional {name!r}, whose {len(branches)} branches multiply differently: pass "
                f"branches={{{name!r}: i}}, where i is the index of the branch that always runs (lax.cond: 0 for False, 1 for True)",
            )
        if any(sorted(sorted(p.weights) for p in part) != sorted(sorted(p.weights) for p in parts[0]) for part in parts):
            self.alike[name] = None
        self.products[before:] = parts[0]
        return together

    def of_shard_map(
        self, eqn: Any, origins: list[Origin], turns: Dim, path: tuple[int, ...], around: Place, in_remat: bool,
        is_final: bool,
    ) -> list[Origin]:  # fmt: skip
        params = eqn.params
        mesh = params["mesh"]
        shape = dict(mesh.shape)
        manual = params.get("newly_manual_axes") or params.get("manual_axes") or frozenset(shape)
        before = dict(self.sizes_of_axes)
        self.sizes_of_axes.update({str(axis): int(shape[axis]) for axis in manual if axis in shape})
        jaxpr, values = inner_jaxpr(params["jaxpr"])
        split = [axes_of_spec(one) for one in params.get("in_specs", params.get("in_names"))]
        inside = [replace(one, axes=one.axes | axes, number=None) for one, axes in zip(origins, split)]
        found = self.of_jaxpr(jaxpr, [CONSTANT] * len(values), inside, turns, path, around, in_remat, is_final)
        self.sizes_of_axes = before
        return [replace(one, axes=one.axes & frozenset(before)) for one in found]

    # -- products -------------------------------------------------------------------------------------------------

    def of_product(
        self, eqn: Any, origins: list[Origin], turns: Dim, path: tuple[int, ...], around: Place, in_remat: bool,
        is_final: bool,
    ) -> list[Origin]:  # fmt: skip
        together = joined(origins)
        trained = origins[0].trained or origins[1].trained
        if is_final:
            counts, dims = COUNTS[eqn.primitive.name](eqn)
            place = place_of(eqn, around)
            devices = self.devices(together, place)
            flops = [turns * devices * one for one in counts]
            sizes = (eqn.invars[0].aval.shape, eqn.invars[1].aval.shape, eqn.outvars[0].aval.shape)
            left, right = origins[0], origins[1]
            one = Product(
                eqn.primitive.name, flops[0], tuple(flops[1:]), left, right, sizes, dims, place, path, in_remat, eqn
            )
            (self.elementwise if one.is_elementwise and not one.is_backward else self.products).append(one)
        return [replace(together, trained=trained and is_floating(eqn.outvars[0].aval))]

    def devices(self, origin: Origin, place: Place) -> int:
        """Returns how many devices run different parts of a product. Devices that repeat the same product count once."""
        parts = {axis: n for axis, n in self.sizes_of_axes.items() if axis in origin.axes}
        if any(n > 1 and axis not in parts for axis, n in self.sizes_of_axes.items()):
            self.replicated[place.text] = None
        return int(product_of(parts.values()))

    def of_formula(
        self, eqn: Any, formula: Callable[..., Any], origins: list[Origin], turns: Dim, path: tuple[int, ...], place: Place,
        in_remat: bool, is_final: bool,
    ) -> list[Origin]:  # fmt: skip
        together = joined(origins)
        if is_final:
            avals = [var.aval for var in eqn.invars]
            counted = formula(*avals)
            if isinstance(counted, bool) or not (isinstance(counted, int) or is_symbolic(counted)):
                raise Error("formulas", f"{kernel_name(eqn)!r} must return an integer of FLOPs, got {counted!r}")
            sizes = ((), (), eqn.outvars[0].aval.shape)
            one = Product(
                kernel_name(eqn), turns * self.devices(together, place) * counted, (), together, replace(together, trained=False), sizes,
                None, place, path, in_remat, eqn,
            )  # fmt: skip
            if not is_zero(one.flops):
                self.products.append(one)
        return [replace(together, trained=together.trained and is_floating(var.aval)) for var in eqn.outvars]

    def of_cudnn(
        self, eqn: Any, origins: list[Origin], turns: Dim, path: tuple[int, ...], around: Place, in_remat: bool,
        is_final: bool,
    ) -> list[Origin]:  # fmt: skip
        """Counts cuDNN's attention."""
        query, key, value = (var.aval.shape for var in eqn.invars[:3])
        layout = int(eqn.params.get("layout", 0))  # 0: batch, tokens, heads, width; 1: batch, heads, tokens, width
        tokens, heads = (1, 2) if layout == 0 else (2, 1)
        pairs = query[0] * query[heads] * query[tokens] * key[tokens]
        is_backward = eqn.primitive.name == CUDNN[1]
        if is_final:
            self.add_fused(eqn, eqn.primitive.name, origins, (0, 1, 2), pairs, is_backward, turns, path, around, in_remat)
        together = joined(origins)
        trained = any(one.trained for one in origins[:4])
        return [replace(together, trained=trained and is_floating(var.aval)) for var in eqn.outvars]

    def of_kernel(
        self, eqn: Any, origins: list[Origin], turns: Dim, path: tuple[int, ...], around: Place, in_remat: bool,
        is_final: bool,
    ) -> list[Origin]:  # fmt: skip
        """Counts an attention of jax.experimental.pallas, by the shapes of its queries, keys and values."""
        together = joined(origins)
        operands = operands_of_kernel(eqn)
        query, key = (eqn.invars[at].aval.shape for at in operands[:2])
        pairs = product_of(query[:-1]) * key[-2]
        if is_final:
            self.add_fused(
                eqn, eqn.params["name"], origins, operands, pairs, together.cotangent, turns, path, around, in_remat
            )
        return [replace(together, trained=together.trained and is_floating(var.aval)) for var in eqn.outvars]

    def add_fused(
        self, eqn: Any, name: str, origins: Sequence[Origin], operands: Sequence[int], pairs: Dim, is_backward: bool, turns: Dim,
        path: tuple[int, ...], around: Place, in_remat: bool,
    ) -> None:  # fmt: skip
        """Adds the products that an attention kernel fuses: two in the forward, four in the backward. The scores that the
        backward computes once more belong to `Plan.flash_attention`.

        operands: indices of the queries, keys and values. pairs: of queries and keys of all heads and samples.
        """
        place = place_of(eqn, around)
        whole = pairs * turns * self.devices(joined(origins), place)
        sizes = tuple(tuple(eqn.invars[at].aval.shape) for at in operands)
        query, key, value = (origins[at] for at in operands)
        score, weigh = 2 * whole * sizes[0][-1], 2 * whole * sizes[2][-1]
        of_loss = Origin(cotangent=True, data=True)
        weights = joined([query, key])
        products = [("scores", score, query, key), ("values", weigh, weights, value)]
        if is_backward:
            products = [("gradient", flops, of_loss, of_loss) for flops in (score, score, weigh, weigh)]
        for at, (what, flops, left, right) in enumerate(products):
            self.products.append(
                Product(f"{name}:{what}", flops, (), left, right, sizes[:3], None, place, (*path, at), in_remat, eqn, whole)  # type: ignore[arg-type]
            )


def is_kernel(eqn: Any) -> bool:
    """True if an equation calls an attention kernel of jax.experimental.pallas."""
    if eqn.primitive.name not in ("jit", "pjit") or eqn.params.get("name") not in KERNELS:
        return False
    return "pallas_call" in names_inside(inner_jaxpr(eqn.params["jaxpr"])[0]) and len(operands_of_kernel(eqn)) == 3


def names_inside(jaxpr: Any) -> set[str]:
    """Returns the names of all primitives in a jaxpr and in what it calls, but not in kernels."""
    found = {str(eqn.primitive.name) for eqn in jaxpr.eqns}
    for eqn in jaxpr.eqns:
        if eqn.primitive.name != "pallas_call":
            found = found.union(*(names_inside(inner) for inner in jaxprs_in(eqn.params)))
    return found


def operands_of_kernel(eqn: Any) -> list[int]:
    """Returns the indices of queries, keys and values among the arguments of an attention kernel: its first three floating
    arrays."""
    floating = [at for at, var in enumerate(eqn.invars) if is_floating(var.aval) and len(var.aval.shape) > 1]
    return floating[:3]


def scan_parts(params: Mapping[str, Any]) -> tuple[int, int]:
    """Returns (number of constants, number of carried values) of a scan."""
    return int(params["num_consts"]), int(params["num_carry"])


def counted_turns(eqn: Any, origins: Sequence[Origin]) -> Dim:
    """Returns the number of turns of a while loop that counts from one known number to another, as lax.fori_loop
    does. None for any other loop."""
    params = eqn.params
    test, values = inner_jaxpr(params["cond_jaxpr"])
    body, _ = inner_jaxpr(params["body_jaxpr"])
    first, second = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    if len(test.eqns) != 1 or test.eqns[0].primitive.name != "lt" or test.outvars[0] is not test.eqns[0].outvars[0]:
        return None

    def bound(var: Any) -> tuple[Dim, int]:
        """Returns (number, index of the carried value) of one side of the comparison; the index is -1 for others."""
        if is_literal(var):
            return int(var.val), -1
        if var in test.invars:
            at = test.invars.index(var)
            return origins[at if at < first else second + at - first].number, at - first
        return None, -1

    (start, counter), (stop, other) = (bound(var) for var in test.eqns[0].invars)
    if counter < 0 or start is None or stop is None:
        return None

    def steps_of(index: int) -> int | None:
        """Returns by how much the body changes a carried value: 0, 1 or None."""
        own, result = body.invars[params["body_nconsts"] + index], body.outvars[index]
        if own is result:
            return 0
        for one in body.eqns:
            if one.outvars[0] is result and one.primitive.name == "add" and own in one.invars:
                rest = [var for var in one.invars if var is not own]
                return int(rest[0].val) if len(rest) == 1 and is_literal(rest[0]) else None
        return None

    if steps_of(counter) != 1 or (other >= 0 and steps_of(other) != 0):
        return None
    turns = stop - start
    return turns if is_symbolic(turns) else max(int(turns), 0)


def axes_of_spec(spec: Any) -> frozenset[str]:
    """Returns the mesh axes that a PartitionSpec names."""
    entries = spec.values() if isinstance(spec, Mapping) else spec
    found: set[str] = set()
    for one in entries:
        if one is not None:
            found.update(map(str, one if isinstance(one, (tuple, list, set, frozenset)) else (one,)))
    return frozenset(found)


def names_of_axes(params: Mapping[str, Any]) -> frozenset[str]:
    found = params.get("axes", params.get("axis_name", params.get("axis", ())))
    if params.get("axis_index_groups") is not None:
        return frozenset()
    return frozenset(str(one) for one in (found if isinstance(found, (tuple, list)) else (found,)) if isinstance(one, str))


def kernel_name(eqn: Any) -> str:
    """Returns the name of a kernel: that of a Pallas kernel or of a foreign function, else that of the primitive."""
    params = eqn.params
    for key in ("name", "call_target_name", "target_name", "name_and_src_info"):
        value = params.get(key)
        if value:
            return str(getattr(value, "name", value))
    if eqn.primitive.name == "pallas_call":
        function = getattr(getattr(params.get("jaxpr"), "debug_info", None), "func_name", "")
        if function:
            return str(function).rpartition(".")[2]
    return str(eqn.primitive.name)


def refused(eqn: Any, place: Place) -> Error:
    name = str(eqn.primitive.name)
    what = REFUSED.get(name) or next((text for prefix, text in REFUSED_FAMILIES.items() if name.startswith(prefix)), "")
    own = kernel_name(eqn)
    said = name if own == name else f"{name} {own!r}"
    way = (
        f"pass formulas={{{own!r}: function}}, where the function returns FLOPs from the shapes of the arguments, or 0 if it "
        "multiplies no matrices"
    )
    if what:
        return Error(place.text, f"runs {said}, {what}, which multiplies and whose FLOPs are unknown: {way}")
    return Error(place.text, f"runs {said}, and floptally does not know whether this primitive multiplies: {way}")


Dims = tuple[tuple[tuple[int, ...], tuple[int, ...]], tuple[tuple[int, ...], tuple[int, ...]]]


def of_dot(eqn: Any) -> tuple[list[Dim], Dims | None]:
    (left, right), (left_batch, right_batch) = eqn.params["dimension_numbers"]
    out = eqn.outvars[0].aval.shape
    contracted = [eqn.invars[0].aval.shape[axis] for axis in left]
    dims = ((tuple(left), tuple(left_batch)), (tuple(right), tuple(right_batch)))
    return [2 * product_of(out) * product_of(contracted)], dims


def of_ragged(eqn: Any) -> tuple[list[Dim], Dims | None]:
    """A product of rows in groups: all rows are counted, each with the weight of its group."""
    left, right, out = eqn.invars[0].aval.shape, eqn.invars[1].aval.shape, eqn.outvars[0].aval.shape
    numbers = eqn.params.get("ragged_dot_dimension_numbers")
    if numbers is None:
        return [2 * product_of(left) * right[-1]], None
    (contracted, _), (batch, _) = numbers.dot_dimension_numbers
    ragged = set(numbers.lhs_ragged_dimensions)
    sizes = [left[axis] for axis in contracted]
    if ragged & set(contracted):  # the gradient of the weights: the first axis of the result is the group
        out = out[1:]
    return [2 * product_of(out) * product_of(sizes)], None


def of_convolution(eqn: Any) -> tuple[list[Dim], Dims | None]:
    """A convolution counts positions of its output times the window, with padding, as FlopCounterMode does. A
    transposed one (with a dilated input) counts positions of its input. The gradients of a convolution are convolutions
    too, of which other pairs of sizes give the FLOPs of the forward."""
    numbers = eqn.params["dimension_numbers"]
    left, right, out = eqn.invars[0].aval.shape, eqn.invars[1].aval.shape, eqn.outvars[0].aval.shape
    spatial_in = product_of(left[axis] for axis in numbers.lhs_spec[2:])
    window = product_of(right[axis] for axis in numbers.rhs_spec[2:])
    spatial_out = product_of(out[axis] for axis in numbers.out_spec[2:])
    rest = 2 * out[numbers.out_spec[0]] * out[numbers.out_spec[1]] * right[numbers.rhs_spec[1]]
    forms = [rest * spatial_out * window, rest * spatial_in * window, rest * spatial_in * spatial_out]
    is_transposed = any(n != 1 for n in eqn.params["lhs_dilation"])
    return ([forms[1], forms[0], forms[2]] if is_transposed else forms), None


def of_scaled(eqn: Any) -> tuple[list[Dim], Dims | None]:
    params = eqn.params
    if "dimension_numbers" not in params:
        raise refused(eqn, place_of(eqn, Place((), ())))
    return of_dot(eqn)


COUNTS: dict[str, Callable[[Any], tuple[list[Dim], Dims | None]]] = {
    "dot_general": of_dot,
    "ragged_dot": of_ragged,
    "ragged_dot_general": of_ragged,
    "conv_general_dilated": of_convolution,
    "scaled_dot": of_scaled,
}
