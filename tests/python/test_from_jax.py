# SPDX-License-Identifier: Apache-2.0
"""floptally.from_jax: each primitive and each mask against an enumeration, and its errors."""

from __future__ import annotations

import itertools
import os
import warnings

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")

import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")

import jax.numpy as jnp
import numpy as np
from jax import export, lax

import floptally
from floptally import Error, Mask, from_jax
from jax_enumeration import flops_of, pairs, products_of

P = jax.sharding.PartitionSpec


def symbols(text, constraints=()):
    return export.symbolic_shape(text, constraints=constraints)


def array(*shape, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype)


def zeros(tree, **values):
    """Returns the arrays of a tree of abstract arrays. values: of the symbols."""
    return jax.tree.map(
        lambda one: jnp.zeros([n if isinstance(n, int) else eval(str(n), dict(values)) for n in one.shape], one.dtype), tree
    )


def enumerated(function, *args, argnums=0):
    """Returns the FLOPs of a training step that runs: those of the forward and of the gradient."""
    return flops_of(products_of(jax.value_and_grad(function, argnums), *args))


def total(cost, **batch):
    return cost.flops(**batch).useful.total


def agrees(function, weights, *inputs, sizes=((2, 5), (3, 9)), recomputed=0, **options):
    """Compares the cost of a function of (weights, inputs of sizes b and l) with the products that run."""
    cost = from_jax(function, weights, *inputs, **options)
    for b, l in sizes:
        ran = enumerated(function, *zeros((weights, *inputs), b=b, l=l))
        again = cost.flops(lengths=[l] * b).executed.recompute
        assert total(cost, lengths=[l] * b) + again == ran
        assert (again > 0) == bool(recomputed)
    return cost


b, l = symbols("b, l")
X = array(b, l, 6)
W = array(6, 6)


# Products.


def test_dot_general_counts_result_times_contracted():
    def function(w, x):
        y = jnp.einsum("bld,dhe->bhle", x, w["a"])
        return jnp.tanh(jnp.einsum("bhle,hef->blf", y, w["b"])).sum()

    cost = agrees(function, {"a": array(6, 2, 3), "b": array(2, 3, 4)}, X)
    multiplied = sum(1 for _ in itertools.product(range(2), range(5), range(6), range(2), range(3)))  # b, l, d, h, e
    assert next(e for e in cost.entries if e.component == "a").flops_per_unit * 2 * 5 == 2 * multiplied


def test_product_of_two_activations_has_two_products_in_the_backward():
    def function(w, x):
        y = x @ w
        return jnp.einsum("bld,bld->bl", y, jnp.tanh(y)).sum() + jnp.tanh(jnp.einsum("bld,ble->bde", y, y)).sum()

    cost = from_jax(function, W, X)
    assert {e.kind for e in cost.entries} == {"input_linear", "state"}
    linear = sum(1 for _ in itertools.product(range(2), range(9), range(6), range(6)))
    vectors = sum(1 for _ in itertools.product(range(2), range(9), range(6)))
    outer = sum(1 for _ in itertools.product(range(2), range(6), range(6), range(9)))
    seen = cost.flops(lengths=[9] * 2).useful
    assert (seen.forward, seen.backward) == (2 * (linear + vectors + outer), 2 * (linear + 2 * vectors + 2 * outer))


def test_elementwise_product_by_einsum_counts_nothing():
    """As MaxText writes the scale of a norm."""

    def function(w, x):
        y = jnp.einsum("bld,d->bld", x @ w["a"], w["scale"])
        return (jnp.tanh(y) @ w["b"]).sum() + jnp.einsum("bld,bld->bl", y, jnp.tanh(y)).sum()

    cost = from_jax(function, {"a": W, "b": W, "scale": array(6)}, X)
    linear, own = 2 * 2 * 9 * 6 * 6, 2 * 2 * 9 * 6
    seen = cost.flops(lengths=[9] * 2).useful
    assert (seen.forward, seen.backward) == (2 * linear + own, 3 * linear + 2 * own)
    assert next(e for e in cost.entries if e.component == "scale").kind == "norm"


def convolved(x_shape, w_shape, out_shape, groups=1):
    """Counts multiply-adds of a convolution one by one: [b, positions, channels], [window, in / groups, out]."""
    window = [1 for _ in itertools.product(*map(range, w_shape[:-1]))]
    return sum(len(window) for _ in itertools.product(*map(range, out_shape)))


@pytest.mark.parametrize("padding, stride, dilation, groups", [
    ("VALID", 1, 1, 1), ("SAME", 1, 1, 1), ("VALID", 2, 1, 1), ([(2, 0)], 1, 1, 1), ("VALID", 1, 2, 1), ("SAME", 1, 1, 2), ("VALID", 2, 1, 3), ([(1, 1)], 2, 1, 1),
])  # fmt: skip
def test_convolution_counts_positions_times_window(padding, stride, dilation, groups):
    w = array(3, 6 // groups, 12)

    def convolution(w, x):
        return lax.conv_general_dilated(
            x, w, (stride,), padding, rhs_dilation=(dilation,), dimension_numbers=("NWC", "WIO", "NWC"), feature_group_count=groups
        )

    cost = from_jax(lambda w, x: convolution(w["second"], jnp.tanh(x @ w["first"])).sum(), {"first": W, "second": w}, X)
    for n in (8, 9, 21):
        out = jax.eval_shape(convolution, w, array(2, n, 6)).shape
        forward = convolved((2, n, 6), w.shape, out)
        linear = sum(1 for _ in itertools.product(range(2), range(n), range(6), range(6)))
        seen = cost.flops(lengths=[n] * 2).useful
        assert seen.forward == 2 * (forward + linear)
        assert seen.backward == 2 * (2 * forward + linear)


def test_two_dimensional_convolution_counts_both_axes():
    images = array(b, 8, 10, 3)

    def function(w, x):
        y = lax.conv_general_dilated(x, w["a"], (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return lax.conv_general_dilated(jnp.tanh(y), w["b"], (1, 2), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")).sum()

    cost = from_jax(function, {"a": array(3, 3, 3, 4), "b": array(2, 2, 4, 5)}, images)
    first, second = 4 * 5 * 4 * (3 * 3 * 3), 3 * 2 * 5 * (2 * 2 * 4)
    seen = cost.flops(lengths=[1] * 7).useful
    assert (seen.forward, seen.backward) == (7 * 2 * (first + second), 7 * 2 * (first + 2 * second))


def test_transposed_convolution_counts_positions_of_its_input():
    w = array(4, 6, 6)

    def function(w, x):
        return lax.conv_transpose(jnp.tanh(x @ w["first"]), w["up"], (2,), "VALID", dimension_numbers=("NWC", "WIO", "NWC")).sum()

    cost = from_jax(function, {"first": W, "up": w}, X)
    up = sum(1 for _ in itertools.product(range(3), range(9), range(4), range(6), range(6)))
    linear = sum(1 for _ in itertools.product(range(3), range(9), range(6), range(6)))
    seen = cost.flops(lengths=[9] * 3).useful
    assert (seen.forward, seen.backward) == (2 * (up + linear), 2 * (2 * up + linear))


def test_convolution_whose_gradient_jax_cannot_trace_with_symbols_is_compared_at_sizes():
    def function(w, x):
        return lax.conv_general_dilated(x, w, (2,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")).sum()

    cost = from_jax(function, array(3, 6, 8), X)
    assert any("cannot trace its gradient with symbolic sizes" in note for note in cost.notes)
    for n in (10, 11, 400, 401):
        assert cost.flops(lengths=[n] * 2).useful.forward == 2 * 2 * -(-n // 2) * 8 * 3 * 6


def test_function_that_jax_cannot_trace_with_symbols_is_fitted():
    def function(w, x):
        scores = jnp.einsum("bqd,bkd->bqk", x @ w["q"], x @ w["k"]) / float(x.shape[1])
        return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(jnp.where(jnp.tril(jnp.ones(scores.shape[1:], bool)), scores, -1e9)), x).sum()

    cost = from_jax(function, {"q": W, "k": W}, X)
    assert any("fitted at" in note for note in cost.notes) and [one.name for one in cost.masks] == ["causal"]
    for n in (10, 11, 400):
        forward = 2 * 2 * n * 6 * 6 + 2 * 2 * 6 * pairs(lambda q, k: k <= q, n)
        assert cost.flops(lengths=[n] * 3).useful.forward == 3 * forward


def test_function_that_needs_whole_chunks_is_fitted_at_multiples():
    def function(w, x):
        chunks = int(x.shape[1]) // 16
        return sum((x[:, 16 * i : 16 * (i + 1)].reshape(x.shape[0], 16, 6) @ w).sum() for i in range(chunks)) / (int(x.shape[1]) % 16 == 0 or 1 / 0)

    with pytest.raises(ZeroDivisionError):
        function(jnp.ones((6, 6)), jnp.ones((2, 17, 6)))
    cost = from_jax(function, W, X)
    assert cost.flops(lengths=[64] * 3).useful.forward == sum(3 * 2 * 16 * 6 * 6 for _ in range(4))


def test_ragged_dot_counts_every_row():
    def function(w, x, sizes):
        flat = x.reshape(-1, 6) @ w["in"]
        return lax.ragged_dot(flat, w["experts"], sizes).sum()

    weights = {"in": W, "experts": array(4, 6, 7)}
    cost = from_jax(function, weights, X, array(4, dtype=jnp.int32))
    rows = [(token, expert) for token in range(2 * 9) for expert in [token % 4]]
    forward = 2 * (len(rows) * 6 * 7 + 2 * 9 * 6 * 6)
    seen = cost.flops(lengths=[9] * 2).useful
    assert (seen.forward, seen.backward) == (forward, 2 * (2 * len(rows) * 6 * 7 + 2 * 9 * 6 * 6))


# What calls and repeats.


def test_scan_counts_its_body_times_its_length():
    def function(w, x):
        return lax.scan(lambda h, one: (jnp.tanh(h @ one), None), x, w)[0].sum()

    cost = agrees(function, {"layers": {"w": array(5, 6, 6)}}["layers"]["w"], X)
    assert cost.flops(lengths=[7]).useful.forward == sum(2 * 7 * 6 * 6 for _ in range(5))


def test_scan_over_time_counts_the_symbolic_length():
    def function(w, x):
        def step(h, one):
            return jnp.tanh(h @ w["h"] + one @ w["x"]), None

        return lax.scan(step, jnp.zeros((x.shape[0], 6)), x.swapaxes(0, 1))[0].sum()

    agrees(function, {"h": W, "x": W}, X)


def test_nested_scans_multiply():
    def function(w, x):
        def outer(h, _):
            return lax.scan(lambda h, one: (jnp.tanh(h @ one), None), h, w)[0], None

        return lax.scan(outer, x, None, length=3)[0].sum()

    agrees(function, array(5, 6, 6), X)


@pytest.mark.parametrize("wrapped", [jax.jit, jax.vmap, lambda f: jax.custom_jvp(f)], ids=["jit", "vmap", "custom_jvp"])
def test_functions_that_call_count_what_they_call(wrapped):
    inner = wrapped(lambda x: jnp.tanh(x) @ jnp.ones((6, 4)))
    if hasattr(inner, "defjvp"):
        inner.defjvp(lambda primals, tangents: (inner(*primals), (1 - jnp.tanh(primals[0]) ** 2) * tangents[0] @ jnp.ones((6, 4))))
    agrees(lambda w, x: inner(x @ w).sum(), W, X)


def test_custom_vjp_counts_its_own_backward():
    @jax.custom_vjp
    def linear(x, w):
        return x @ w

    linear.defvjp(lambda x, w: (x @ w, (x, w)), lambda saved, g: (g @ saved[1].T, jnp.einsum("bld,blf->df", saved[0], g)))
    cost = agrees(lambda w, x: linear(jnp.tanh(linear(x, w["a"])), w["b"]).sum(), {"a": W, "b": W}, X)
    assert {e.kind for e in cost.entries} == {"input_linear", "linear"} or {e.kind for e in cost.entries} == {"linear"}


def test_products_that_only_a_custom_gradient_runs_are_entries_of_their_own():
    @jax.custom_vjp
    def twice(x):
        return jnp.tanh(x)

    twice.defvjp(lambda x: (jnp.tanh(x), x), lambda x, g: (g @ jnp.ones((6, 9)) @ jnp.ones((9, 6)),))
    cost = agrees(lambda w, x: twice(x @ w).sum(), W, X)
    assert sum(e.flops_per_unit for e in cost.entries if e.kind == "gradient") == 2 * (2 * 6 * 9)


def test_gradient_that_is_computed_in_the_forward_counts_as_backward():
    """As fused cross entropies do: the forward rule computes the gradients."""

    @jax.custom_vjp
    def loss(x, w):
        return jnp.sum((x @ w) ** 2)

    def forward(x, w):
        y = x @ w
        return jnp.sum(y**2), (2 * y @ w.T, jnp.einsum("bld,blf->df", x, 2 * y))

    loss.defvjp(forward, lambda saved, g: (saved[0] * g, saved[1] * g))
    cost = agrees(lambda w, x: loss(jnp.tanh(x @ w["a"]), w["head"]), {"a": W, "head": array(6, 11)}, X)
    assert not cost.flops(lengths=[9]).executed.recompute


def test_checkpoint_is_recomputed_and_not_useful():
    block = jax.checkpoint(lambda w, x: jnp.tanh(jnp.tanh(x @ w["a"]) @ w["b"]))
    cost = agrees(lambda w, x: (block(w, x) @ w["head"]).sum(), {"a": W, "b": W, "head": W}, X, recomputed=1)
    assert sorted(cost.plan.recompute_components) == ["a", "b"]
    plain = from_jax(lambda w, x: (jnp.tanh(jnp.tanh(x @ w["a"]) @ w["b"]) @ w["head"]).sum(), {"a": W, "b": W, "head": W}, X)
    assert total(plain, lengths=[9]) == total(cost, lengths=[9])


def test_checkpoint_inside_of_a_checkpoint_warns_of_what_no_plan_says():
    inner = jax.checkpoint(lambda w, x: jnp.tanh(jnp.tanh(x @ w["a"]) @ w["b"]))
    outer = jax.checkpoint(lambda w, x: jnp.tanh(inner(w, x) @ w["c"]) @ w["d"])
    with pytest.warns(floptally.AssumptionWarning, match="not all in the plan"):
        cost = from_jax(lambda w, x: (outer(w, x) ** 2).sum(), {name: W for name in "abcd"}, X)
    assert sorted(cost.plan.recompute_components) == ["a", "b", "c"]


def test_checkpoint_under_scan_runs_each_layer_again():
    def function(w, x):
        block = jax.checkpoint(lambda h, one: (jnp.tanh(jnp.tanh(h @ one["a"]) @ one["b"]), None))
        return lax.scan(block, x, w["layers"])[0].sum()

    cost = agrees(function, {"layers": {"a": array(4, 6, 6), "b": array(4, 6, 6)}}, X, recomputed=1)
    assert sorted(cost.plan.recompute_components) == ["layers.*.a", "layers.*.b"]


def test_a_policy_says_what_is_recomputed():
    policy = jax.checkpoint_policies.dots_with_no_batch_dims_saveable

    def function(w, x):
        def block(x):
            scores = jnp.einsum("bqd,bkd->bqk", x @ w["q"], x @ w["k"])
            return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(scores), x)

        with jax.named_scope("core"):
            return jax.checkpoint(block, policy=policy)(jnp.tanh(x @ w["in"])).sum()

    cost = agrees(function, {"in": W, "q": W, "k": W}, X, recomputed=1)
    assert cost.plan.recompute_components == ["core.recomputed"]


def test_shard_map_counts_all_devices():
    mesh = jax.make_mesh((4,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    four, l = symbols("4*c, l")

    def function(w, x):
        def local(w, x):
            return lax.psum((jnp.tanh(x @ w) @ w).sum(), "data")

        return jax.shard_map(local, mesh=mesh, in_specs=(P(), P("data")), out_specs=P())(w, x)

    cost = from_jax(function, W, array(four, l, 6))
    per_device = 3 * 9 * 6 * 6
    devices = [per_device for _ in range(4)]
    assert cost.flops(lengths=[9] * 12).useful.forward == 2 * 2 * sum(devices)


def test_shard_map_counts_repeated_work_once():
    mesh = jax.make_mesh((2, 2), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
    two, l = symbols("2*c, l")

    def function(w, x):
        def local(column, whole, x):
            return lax.psum((x @ column).sum() + (x @ whole).sum() / 2, ("data", "model"))

        specs = (P(None, "model"), P(), P("data"))
        return jax.shard_map(local, mesh=mesh, in_specs=specs, out_specs=P())(w["a"], w["b"], x)

    cost = from_jax(function, {"a": W, "b": W}, array(two, l, 6))
    assert cost.flops(lengths=[9] * 4).useful.forward == 2 * (4 * 9 * 6 * 6) * 2


# Loops and branches.


def test_loop_of_unknown_turns_asks_for_turns():
    def function(w, x):
        return lax.while_loop(lambda h: jnp.sum(h) > 1, lambda h: jnp.tanh(h @ w), x)

    with pytest.raises(Error, match=r"^turns: .*multiplies.*Pass turns=\{'function \(test_from_jax.py:\d+\)': n\}") as raised:
        from_jax(function, W, X, argnums=())
    name = str(raised.value).split("{'")[1].split("'}")[0].split("': n")[0]
    cost = from_jax(function, W, X, argnums=(), turns={name: 5})
    assert total(cost, lengths=[9] * 2) == sum(2 * 2 * 9 * 6 * 6 for _ in range(5))
    assert total(from_jax(function, W, X, argnums=(), turns={"function*": 5}), lengths=[9] * 2) == total(cost, lengths=[9] * 2)


def test_loop_that_multiplies_nothing_needs_no_turns():
    def function(w, x):
        n = lax.while_loop(lambda n: n < 100, lambda n: 2 * n + 1, x[0, 0, 0])
        return (x @ w).sum() * lax.stop_gradient(n)

    agrees(function, W, X)


def test_fori_loop_counts_its_turns():
    agrees(lambda w, x: lax.fori_loop(0, 7, lambda i, h: jnp.tanh(h @ w), x).sum(), W, X)


def test_fori_loop_of_a_size_counts_without_being_asked():
    def function(w, x):
        return lax.fori_loop(0, jnp.int32(5), lambda i, h: jnp.tanh(h @ w), x)

    cost = from_jax(function, W, X, argnums=())
    assert total(cost, lengths=[9]) == sum(2 * 9 * 6 * 6 for _ in range(5))


def test_branches_that_differ_ask_which_one_runs():
    def function(w, x):
        return lax.cond(x[0, 0, 0] > 0, lambda x: x @ w["a"] @ w["b"], lambda x: x @ w["a"], x).sum()

    weights = {"a": W, "b": W}
    with pytest.raises(Error, match=r"^branches: .*2 branches multiply differently") as raised:
        from_jax(function, weights, X)
    name = str(raised.value).split("{'")[1].split("': i")[0]
    one, two = (from_jax(function, weights, X, argnums=(), branches={name: index}) for index in (0, 1))
    assert 2 * total(one, lengths=[9]) == total(two, lengths=[9]) == 2 * (2 * 9 * 6 * 6)
    with pytest.raises(Error, match="must be from 0 to 1"):
        from_jax(function, weights, X, argnums=(), branches={name: 2})


def test_branches_that_shapes_and_constants_decide_count_each_turn():
    def function(w, x):
        def step(h, one):
            index, layer = one
            wide, narrow = (lambda h: jnp.tanh(h @ layer["a"]) @ layer["b"]), (lambda h: h @ layer["c"])
            return jnp.tanh(lax.cond(index % 3 == 0, wide, narrow, h)), None

        return lax.scan(step, x, (jnp.arange(5), w))[0].sum()

    cost = agrees(function, {"a": array(5, 6, 4), "b": array(5, 4, 6), "c": array(5, 6, 6)}, X)
    forward = sum(2 * 2 * 6 * 4 if index % 3 == 0 else 2 * 6 * 6 for index in range(5))
    assert cost.flops(lengths=[9]).useful.forward == 9 * forward


def test_masks_in_branches_that_constants_decide_are_run():
    def function(w, x):
        def step(h, index):
            causal = lambda h: attention(w, h, MASKS["causal"])  # noqa: E731
            return lax.cond(index % 2 == 0, causal, lambda h: h @ w["q"], h), None

        return lax.scan(step, x, jnp.arange(3))[0].sum()

    cost = from_jax(function, QKV, X)
    attended = pairs(lambda q, k: k <= q, 9)
    assert cost.flops(lengths=[9]).useful.forward == 2 * (3 * 2 * 9 * 6 * 6 + 2 * 2 * 6 * attended) + 2 * 9 * 6 * 6
    assert not any("1 sample" in note for note in cost.notes)


def test_branches_that_multiply_as_much_by_other_weights_count_the_first():
    cost = agrees(lambda w, x: lax.cond(x[0, 0, 0] > 0, lambda x: x @ w["a"], lambda x: x @ w["b"], x).sum(), {"a": W, "b": W}, X)
    assert any("multiply as much by different weights" in note for note in cost.notes)


def test_branches_that_multiply_alike_need_no_choice():
    agrees(lambda w, x: lax.cond(x[0, 0, 0] > 0, lambda x: x @ w, lambda x: -(x @ w), x).sum(), W, X)


@pytest.mark.parametrize("key", ["turns", "branches", "formulas", "components", "terms", "masks"])
def test_a_key_that_matches_nothing_is_an_error(key):
    value = {"turns": 2, "branches": 0, "formulas": len, "components": "a", "terms": "router", "masks": Mask.causal()}[key]
    with pytest.raises(Error, match=f"^{key}: has the (key|pattern) 'nothing'"):
        from_jax(lambda w, x: (x @ w).sum(), W, X, **{key: {"nothing": value}})


# What needs a gradient.


def test_frozen_weights_have_no_weight_gradient():
    def function(adapter, base, x):
        return (jnp.tanh(x @ base["a"] + x @ adapter["left"] @ adapter["right"]) @ base["b"]).sum()

    adapter, base = {"left": array(6, 2), "right": array(2, 6)}, {"a": W, "b": W}
    cost = from_jax(function, adapter, base, X)
    ran = enumerated(function, *zeros((adapter, base, X), b=2, l=9))
    assert total(cost, lengths=[9] * 2) == ran
    kinds = {e.component: e.kind for e in cost.entries}
    assert kinds["b"] == "input_linear" and "detached" in kinds["a"]


def test_stop_gradient_and_constants_have_less_backward():
    def function(w, x):
        y = lax.stop_gradient(x @ w["a"]) + x @ w["b"]
        return (jnp.tanh(y) @ jnp.ones((6, 3))).sum()

    agrees(function, {"a": W, "b": W}, X)


def test_product_of_weights_runs_once_for_all_samples():
    cost = agrees(lambda w, x: (x @ (w["base"] + w["left"] @ w["right"])).sum(), {"base": W, "left": array(6, 2), "right": array(2, 6)}, X)
    assert any("passes" in str(e.unit) for e in cost.entries)


def test_forward_only_has_a_plan_of_the_forward():
    cost = from_jax(lambda w, x: x @ w, W, X, argnums=())
    assert cost.flops(lengths=[9] * 2).useful.total == 2 * (2 * 9 * 6 * 6)
    assert cost.plan.phase == "forward"


def test_samples_that_meet_count_by_their_pairs():
    def function(w, x):
        z = (x @ w).mean(1)
        return jax.nn.log_softmax(z @ z.T).sum()

    cost = from_jax(function, W, X)
    ran = enumerated(function, *zeros((W, X), b=4, l=9))
    assert cost.flops(lengths=[9] * 4, measured={"sample_pairs": 16}).useful.total == ran


# Sizes.


def test_sizes_are_read_from_an_example():
    weights, ids = {"embed": jnp.zeros((11, 6)), "w": jnp.zeros((6, 6))}, np.zeros((4, 7), np.int32)
    cost = from_jax(lambda w, ids: (w["embed"][ids] @ w["w"]).sum(), weights, ids)
    assert cost.flops(lengths=[50] * 3).useful.total == 3 * 2 * (3 * 50 * 6 * 6)
    assert any("batch 4, length 7" in note for note in cost.notes)
    with pytest.raises(Error, match="batch and length 7 both"):
        from_jax(lambda w, ids: (w["embed"][ids] @ w["w"]).sum(), weights, np.zeros((7, 7), np.int32))


def test_length_of_chunks_counts_tokens():
    batch, length = symbols("b, 8*c")

    def function(w, x):
        chunks = x.reshape(x.shape[0], x.shape[1] // 8, 8, 6) @ w
        return jnp.einsum("bcqd,bckd->bcqk", chunks, chunks).sum()

    cost = from_jax(function, W, array(batch, length, 6))
    ran = enumerated(function, *zeros((W, array(b, l, 6)), b=2, l=32))
    assert cost.flops(lengths=[32] * 2).useful.total == ran


def test_encoder_and_decoder_have_two_lengths():
    batch, length, keys = symbols("b, l, k")

    def function(w, x, memory):
        def attend(q, kv):
            return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", q, kv)), kv)

        memory = attend(memory @ w["e"], memory @ w["e"])
        return attend(x @ w["d"], memory).sum()

    weights = {"e": W, "d": W}
    cost = from_jax(function, weights, array(batch, length, 6), array(batch, keys, 6))
    for n, k in ((5, 8), (9, 4)):
        ran = enumerated(function, *zeros((weights, array(b, l, 6), array(b, keys, 6)), b=2, l=n, k=k))
        assert total(cost, lengths=[n] * 2, encoder_lengths=[k] * 2) == ran
    assert {str(m.name) for m in cost.masks} >= {"encoder", "cross_attention"}


# Names, kinds and parameters.


def test_components_are_paths_of_weights():
    def function(w, ids):
        x = w["params"]["embed"]["embedding"][ids]
        for layer in (w["params"]["layers_0"], w["params"]["layers_1"]):
            x = x * layer["norm"]["scale"]
            x = x + (x @ layer["mlp"]["up"]["kernel"] + layer["mlp"]["up"]["bias"]) @ layer["mlp"]["down"]["kernel"]
        return (x @ w["params"]["lm_head"]["kernel"]).sum()

    layer = {
        "norm": {"scale": array(6)},
        "mlp": {"up": {"kernel": array(6, 8), "bias": array(8)}, "down": {"kernel": array(8, 6)}},
    }
    weights = {"params": {"embed": {"embedding": array(11, 6)}, "layers_0": layer, "layers_1": layer, "lm_head": {"kernel": array(6, 11)}}}
    cost = from_jax(function, weights, array(b, l, dtype=jnp.int32))
    kinds = {(e.component, e.kind) for e in cost.entries}
    assert kinds == {
        ("embed", "embedding"), ("layers.*.norm", "norm"), ("layers.*.mlp.up", "linear"), ("layers.*.mlp.up", "bias"),
        ("layers.*.mlp.down", "linear"), ("lm_head", "lm_head"),
    }  # fmt: skip
    assert cost.parameters == sum(int(np.prod(one.shape)) for one in jax.tree.leaves(weights))
    own = from_jax(function, weights, array(b, l, dtype=jnp.int32), components={"layers.*.mlp.*": "mlp"}, terms={"lm_head": "linear"})
    assert {e.component for e in own.entries} == {"embed", "layers.*.norm", "mlp", "lm_head"}
    assert next(e for e in own.entries if e.component == "lm_head").kind == "linear"


def test_tied_embedding_is_stored_once():
    cost = from_jax(lambda w, ids: (jnp.tanh(w["wte"][ids]) @ w["wte"].T).sum(), {"wte": array(11, 6)}, array(b, l, dtype=jnp.int32))
    assert {e.kind for e in cost.entries} == {"linear", "tied_embedding"} and cost.parameters == 66


# Masks.


def attention(w, x, mask, bias=0.0):
    q, k, v = (x @ w[name] for name in "qkv")
    scores = jnp.einsum("bqd,bkd->bqk", q, k) + bias
    place = jnp.arange(x.shape[1])
    scores = jnp.where(mask(place[:, None], place[None, :]), scores, -1e30)
    return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(scores), v)


QKV = {name: W for name in "qkv"}
MASKS = {
    "causal": lambda q, k: k <= q,
    "sliding_window(5)": lambda q, k: (k <= q) & (q - k < 5),
    "sliding_window(300)": lambda q, k: (k <= q) & (q - k < 300),
    "sliding_window(8192)": lambda q, k: (k <= q) & (q - k < 8192),
    "chunked(4096)": lambda q, k: (k <= q) & (q // 4096 == k // 4096),
    "window(3,2)": lambda q, k: (q - k <= 3) & (k - q <= 2),
    "chunked(7)": lambda q, k: (k <= q) & (q // 7 == k // 7),
    "prefix_lm(6)": lambda q, k: (k <= q) | (k < 6),
    "bidirectional": lambda q, k: (k >= 0) & (q >= 0),
}


@pytest.mark.parametrize("name", MASKS)
def test_mask_is_named_and_counts_the_pairs_that_it_attends(name):
    cost = from_jax(lambda w, x: attention(w, x, MASKS[name]).sum(), QKV, X)
    assert [one.name for one in cost.masks] == [name]
    for n in (3, 11, 320):
        attended = np.asarray(jnp.broadcast_to(MASKS[name](jnp.arange(n)[:, None], jnp.arange(n)[None]), (n, n))).sum()
        cores = sum(2 * 6 for _ in ("scores", "values")) * int(attended)
        linear = 3 * (2 * n * 6 * 6)
        assert cost.flops(lengths=[n]).useful.forward == cores + linear


def test_mask_of_no_known_form_is_run_at_each_length():
    def strided(q, k):
        return (k <= q) & ((k % 3 == 0) | (q - k < 2))

    cost = from_jax(lambda w, x: attention(w, x, strided).sum(), QKV, X)
    for n in (4, 13, 40, 41):
        attended = pairs(lambda q, k: k <= q and (k % 3 == 0 or q - k < 2), n)
        assert cost.flops(lengths=[n] * 2).useful.forward == 2 * (2 * 2 * 6 * attended + 3 * 2 * n * 6 * 6)


def test_masks_of_heads_may_differ():
    def function(w, x):
        q, k, v = (x.reshape(*x.shape[:2], 3, 2) * w["q"] for _ in range(3))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k)
        place = jnp.arange(x.shape[1])
        window = jnp.array([1 << 20, 4, 1 << 20])[:, None, None]
        apart = place[:, None] - place[None]
        scores = jnp.where((apart >= 0) & (apart < window), scores, -jnp.inf)
        return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).sum() + (x @ w["w"]).sum()

    cost = from_jax(function, {"q": array(2), "w": W}, X)
    n = 30
    attended = 2 * pairs(lambda q, k: k <= q, n) + pairs(lambda q, k: 0 <= q - k < 4, n)
    assert cost.flops(lengths=[n]).useful.forward == 2 * 2 * 2 * attended + 2 * n * 6 * 6


@pytest.mark.parametrize("bias", ["alibi", "learned"])
def test_bias_masks_nothing(bias):
    def function(w, x):
        place = jnp.arange(x.shape[1])
        apart = place[:, None] - place[None]
        of = -0.5 * jnp.abs(apart) if bias == "alibi" else w["bias"][jnp.clip(apart, -3, 3) + 3]
        return attention(w, x, MASKS["causal"], of).sum()

    cost = from_jax(function, {**QKV, "bias": array(7)} if bias == "learned" else QKV, X)
    assert [one.name for one in cost.masks] == ["causal"]


def test_blocks_of_keys_under_scan_count_attended_pairs():
    """Attention that goes over blocks of keys and rescales, as flash attention does."""
    batch, length = symbols("b, 8*c")

    def function(w, x):
        q, k, v = (x @ w[name] for name in "qkv")
        place = jnp.arange(x.shape[1])
        blocks = (k.reshape(x.shape[0], -1, 8, 6).swapaxes(0, 1), v.reshape(x.shape[0], -1, 8, 6).swapaxes(0, 1), place.reshape(-1, 8))

        def step(carry, block):
            o, total, top = carry
            k, v, at = block
            scores = jnp.where(at[None] <= place[:, None], jnp.einsum("bqd,bkd->bqk", q, k), -1e30)
            now = jnp.maximum(top, scores.max(-1))
            weights, old = jnp.exp(scores - now[..., None]), jnp.exp(top - now)
            return (o * old[..., None] + jnp.einsum("bqk,bkd->bqd", weights, v), total * old + weights.sum(-1), now), None

        start = (jnp.zeros_like(q), jnp.zeros(q.shape[:2]), jnp.full(q.shape[:2], -1e29))
        (o, total, _), _ = lax.scan(step, start, blocks)
        return (o / total[..., None]).sum()

    cost = from_jax(function, QKV, array(batch, length, 6))
    n = 48
    assert cost.flops(lengths=[n]).useful.forward == 2 * 2 * 6 * pairs(lambda q, k: k <= q, n) + 3 * 2 * n * 6 * 6


def test_mask_over_tokens_that_are_no_padding_is_causal():
    def function(w, ids):
        x = w["embed"][ids]
        scores = jnp.einsum("bqd,bkd->bqk", x @ w["q"], x @ w["k"])
        mask = jnp.tril(jnp.ones(scores.shape[1:], bool))[None] & (ids != 0)[:, None, :]
        return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(jnp.where(mask, scores, -1e9)), x).sum()

    cost = from_jax(function, {"embed": array(11, 6), "q": W, "k": W}, array(b, l, dtype=jnp.int32))
    assert [one.name for one in cost.masks] == ["causal"]


def segmented(w, x, segment_ids):
    q, k = x @ w["q"], x @ w["k"]
    same = segment_ids[:, :, None] == segment_ids[:, None, :]
    scores = jnp.where(same & jnp.tril(jnp.ones(same.shape[1:], bool)), jnp.einsum("bqd,bkd->bqk", q, k), -1e9)
    return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(scores), x).sum()


def test_segment_ids_count_as_one_sequence_and_a_note_says_so():
    cost = from_jax(segmented, {"q": W, "k": W}, X, array(b, l, dtype=jnp.int32))
    assert [one.name for one in cost.masks] == ["causal"]
    assert any("segment_ids" in note and "one whole sequence" in note for note in cost.notes)


def test_mask_that_depends_on_data_is_an_error_until_it_is_passed():
    def function(w, x, flags):
        return segmented(w, x, flags)

    ids = array(b, l, dtype=jnp.int32)
    with pytest.raises(Error, match=r"^segmented: has an attention mask whose pairs are unknown: they depend on data: args\[2\]. Pass masks="):
        from_jax(function, {"q": W, "k": W}, X, ids)
    cost = from_jax(function, {"q": W, "k": W}, X, ids, masks={"segmented": Mask.causal()})
    assert [one.name for one in cost.masks] == ["causal"]


@pytest.mark.parametrize("dtype", [jnp.bool_, jnp.float32])
def test_mask_that_the_caller_passes_over_pairs_is_unknown(dtype):
    def function(w, x, mask):
        scores = jnp.einsum("bqd,bkd->bqk", x @ w["q"], x @ w["k"])
        scores = jnp.where(mask, scores, -1e9) if dtype == jnp.bool_ else scores + mask
        return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(scores), x).sum()

    with pytest.raises(Error, match=r"they depend on data: args\[2\]. Pass masks="):
        from_jax(function, {"q": W, "k": W}, X, array(l, l, dtype=dtype))


def test_mask_that_depends_on_the_device_is_unknown():
    mesh = jax.make_mesh((4,), ("s",), axis_types=(jax.sharding.AxisType.Auto,))
    batch, length = symbols("b, 4*c")

    def function(w, x):
        def local(w, x):
            place = lax.axis_index("s") * x.shape[1] + jnp.arange(x.shape[1])
            keys = lax.all_gather(x @ w["k"], "s", axis=1, tiled=True)
            scores = jnp.where(place[:, None] >= jnp.arange(keys.shape[1])[None], jnp.einsum("bqd,bkd->bqk", x @ w["q"], keys), -1e9)
            return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(scores), keys)

        return jax.shard_map(local, mesh=mesh, in_specs=(P(), P(None, "s")), out_specs=P(None, "s"), check_vma=False)(w, x).sum()

    with pytest.raises(Error, match="^local: has an attention mask whose pairs are unknown: they depend on data"):
        from_jax(function, {"q": W, "k": W}, array(batch, length, 6))
    cost = from_jax(function, {"q": W, "k": W}, array(batch, length, 6), masks="causal")
    assert cost.flops(lengths=[40]).useful.forward == 2 * 2 * 40 * 6 * 6 + 2 * 2 * 6 * pairs(lambda q, k: k <= q, 40)


def test_keys_that_scores_choose_depend_on_data():
    def function(w, x):
        scores = jnp.einsum("bqd,bkd->bqk", x @ w["q"], x @ w["k"])
        least = lax.top_k(scores, 3)[0][..., -1:]
        return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(jnp.where(scores >= least, scores, -1e9)), x).sum()

    with pytest.raises(Error, match="depend on data"):
        from_jax(function, {"q": W, "k": W}, X)


def test_dropout_of_attention_weights_masks_nothing():
    def function(w, x, key):
        q, k = x @ w["q"], x @ w["k"]
        weights = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((x.shape[1],) * 2, bool)), jnp.einsum("bqd,bkd->bqk", q, k), -1e9))
        keep = jax.random.bernoulli(key, 0.9, weights.shape)
        return jnp.einsum("bqk,bkd->bqd", jnp.where(keep, weights / 0.9, 0), x).sum()

    cost = from_jax(function, {"q": W, "k": W}, X, jax.eval_shape(lambda: jax.random.key(0)))
    assert [one.name for one in cost.masks] == ["causal"]


def test_linear_attention_is_a_state_and_no_attention_core():
    def function(w, x):
        q, k, v = (jax.nn.elu(x @ w[name]) for name in "qkv")
        return jnp.einsum("bqd,bde->bqe", q, jnp.einsum("bkd,bke->bde", k, v)).sum()

    cost = agrees(function, QKV, X)
    assert {e.kind for e in cost.entries} == {"input_linear", "state"}


@pytest.mark.parametrize("options, name", [({}, "bidirectional"), ({"is_causal": True}, "causal"), ({"is_causal": True, "local_window_size": (4, 0)}, "sliding_window(5)")])  # fmt: skip
def test_attention_of_cudnn_counts_by_its_mask(monkeypatch, options, name):
    fused = pytest.importorskip("jax._src.cudnn.fused_attention_stablehlo")
    monkeypatch.setattr(fused, "check_cudnn_version", lambda: 91300)
    monkeypatch.setattr(fused, "check_compute_capability", lambda *_: True)
    monkeypatch.setattr(fused, "check_is_flash_attention", lambda *_: None)

    def function(implementation):
        def loss(w, x):
            q, k, v = ((x @ w[name]).reshape(*x.shape[:2], 4, 64).astype(jnp.bfloat16) for name in "qkv")
            return jax.nn.dot_product_attention(q, k, v, implementation=implementation, **options).astype(jnp.float32).sum()

        return loss

    weights = {name: array(6, 256) for name in "qkv"}
    fused_cost, plain = (from_jax(function(one), weights, X) for one in ("cudnn", "xla"))
    assert [one.name for one in fused_cost.masks] == [name]
    for n in (4, 30):
        a, b = (one.flops(lengths=[n] * 2) for one in (fused_cost, plain))
        assert (a.useful.forward, a.useful.total) == (b.useful.forward, b.useful.total)
        scores = sum(2 * 64 for _ in range(2 * 4)) * fused_cost.masks[0].pairs(n)
        assert a.executed.total == a.useful.total + scores and b.executed.total == b.useful.total


@pytest.mark.parametrize("is_causal", [True, False])
def test_flash_attention_of_pallas_is_run_for_its_mask(is_causal):
    flash = pytest.importorskip("jax.experimental.pallas.ops.tpu.flash_attention").flash_attention

    def function(w, x):
        q, k, v = ((x @ w[name])[:, None] for name in "qkv")
        return flash(q, k, v, causal=is_causal).sum()

    batch, length = symbols("b, 128*c")
    cost = from_jax(function, {name: array(6, 128) for name in "qkv"}, array(batch, length, 6))
    assert [one.name for one in cost.masks] == ["causal" if is_causal else "bidirectional"]
    n = 256
    attended = pairs(lambda q, k: k <= q or not is_causal, n)
    seen = cost.flops(lengths=[n] * 2)
    forward = 2 * (2 * 2 * 128 * attended), 2 * (3 * 2 * n * 6 * 128)
    assert (seen.useful.forward, seen.useful.total) == (sum(forward), 3 * forward[0] + 2 * forward[1])
    assert seen.executed.total == seen.useful.total + forward[0] // 2


def test_splash_attention_of_pallas_is_run_for_its_mask():
    splash = pytest.importorskip("jax.experimental.pallas.ops.tpu.splash_attention")
    n = 256
    mask = splash.MultiHeadMask([splash.LocalMask((n, n), (100, 0), 0), splash.CausalMask((n, n))])
    kernel = splash.make_splash_mha(mask, head_shards=1, q_seq_shards=1)

    def function(w, x):
        q, k, v = ((x @ w[name]).reshape(*x.shape[:2], 2, 64).swapaxes(1, 2) for name in "qkv")
        return jax.vmap(kernel)(q, k, v).sum()

    cost = from_jax(function, {name: array(6, 128) for name in "qkv"}, array(b, n, 6))
    attended = pairs(lambda q, k: 0 <= q - k <= 100, n) + pairs(lambda q, k: k <= q, n)
    seen = cost.flops(lengths=[1] * 3).useful
    assert seen.forward == 3 * (2 * 2 * 64 * attended + 3 * 2 * n * 6 * 128)
    assert seen.backward == 3 * (2 * 2 * 2 * 64 * attended + 3 * 2 * n * 6 * 128)


# What has no form.


def test_pallas_kernels_are_refused_by_name_unless_a_formula_is_passed():
    from jax.experimental import pallas

    def kernel(x, y):
        y[...] = x[...] * 2

    def function(w, x):
        y = pallas.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((4, 6), jnp.float32), name="doubled")(x[0, :4] @ w)
        return y

    with pytest.raises(Error, match=r"runs pallas_call 'doubled', a Pallas kernel, .*formulas=\{'doubled': function\}"):
        from_jax(function, W, array(b, 8, 6), argnums=())
    cost = from_jax(function, W, array(b, 8, 6), argnums=(), formulas={"doubled": lambda x: 0})
    assert cost.entries


@pytest.mark.parametrize("name", ["cholesky", "qr", "eigh", "svd", "solve", "triangular_solve", "lu"])
def test_factorizations_are_refused_by_name(name):
    functions = {
        "cholesky": jnp.linalg.cholesky, "qr": lambda a: jnp.linalg.qr(a)[0], "eigh": lambda a: jnp.linalg.eigh(a)[1],
        "svd": lambda a: jnp.linalg.svd(a)[0], "solve": lambda a: jnp.linalg.solve(a, a), "lu": lambda a: jax.scipy.linalg.lu(a)[0],
        "triangular_solve": lambda a: jax.scipy.linalg.solve_triangular(a, a),
    }  # fmt: skip
    with pytest.raises(Error, match="which multiplies and whose FLOPs are unknown"):
        from_jax(lambda w, x: functions[name](w).sum() + (x @ w).sum(), W, X, argnums=())


def test_callbacks_are_refused():
    def function(w, x):
        return jax.pure_callback(lambda x: x, jax.ShapeDtypeStruct((6,), jnp.float32), (x @ w)[0, 0])

    with pytest.raises(Error, match="pure_callback.* a callback to the host"):
        from_jax(function, W, X, argnums=())


def test_unknown_primitive_is_an_error_and_not_zero():
    from jax.extend.core import Primitive

    new = Primitive("brand_new")
    new.def_abstract_eval(lambda x: x)
    with pytest.raises(Error, match=r"runs brand_new, and floptally does not know whether this primitive multiplies: pass formulas=\{'brand_new'"):
        from_jax(lambda w, x: new.bind(x @ w), W, X, argnums=())
    cost = from_jax(lambda w, x: new.bind(x @ w), W, X, argnums=(), formulas={"brand_new": lambda x: 10 * x.shape[0]})
    assert total(cost, lengths=[9] * 3) == 3 * (2 * 9 * 6 * 6 + 10)


def test_fourier_transforms_are_named_by_a_warning():
    with pytest.warns(floptally.AssumptionWarning, match="fft.*multiplies outside of matrix products, and counts nothing"):
        from_jax(lambda w, x: jnp.fft.fft(x @ w).real.sum(), W, array(b, 8, 6))


def test_every_primitive_of_jax_is_in_a_list_or_refused():
    """A primitive that multiplies must be counted or refused. Those in no list are refused."""
    from floptally import _jax_products as products

    multiply = {"dot_general", "conv_general_dilated", "ragged_dot_general", "scaled_dot", "scaled_matmul", "pallas_call", "cholesky",
                "triangular_solve", "lu", "qr", "geqrf", "householder_product", "eigh", "eig", "svd", "schur", "hessenberg", "tridiagonal",
                "tridiagonal_solve", "custom_linear_solve", "bcoo_dot_general", "bcoo_spdot_general", "bcsr_dot_general", "coo_matmat",
                "coo_matvec", "csr_matmat", "csr_matvec", "spsolve", "ffi_call", "call_exported", "pure_callback", "io_callback",
                "symmetric_product", "cholesky_update", "tpu_custom_call", "cudnn_fusion", "fft", "ormqr", "geqp3", "matmul_acc_lhs",
                "dot_product_attention_fwd_wrapper", "dot_product_attention_bwd_wrapper"}  # fmt: skip
    silent = multiply & (products.PLAIN | products.REPLICATING | products.SCATTERING | products.REFERENCES | set(products.CALLS))
    assert not silent
    counted = {*products.COUNTED, *products.CUDNN, *products.TRANSFORMS}
    refused = {name for name in multiply if name in products.REFUSED or name.startswith(tuple(products.REFUSED_FAMILIES))}
    assert multiply == refused | (counted & multiply)


def test_function_without_products_is_an_error():
    with pytest.raises(Error, match="runs no matrix product and no convolution"):
        from_jax(lambda w, x: (x * w).sum(), array(6), X)


def test_arguments_that_cannot_be_used_are_errors():
    with pytest.raises(Error, match="^fn: must be a function"):
        from_jax(3, W, X)
    with pytest.raises(Error, match="^argnums: must be indices of the 2 arguments"):
        from_jax(lambda w, x: (x @ w).sum(), W, X, argnums=5)
    with pytest.raises(Error, match="^argnums: name no floating array"):
        from_jax(lambda w, x: (x @ w).sum(), W, array(b, l, dtype=jnp.int32), argnums=1)
    with pytest.raises(Error, match="^fn: returns no floating array"):
        from_jax(lambda w, x: jnp.argmax(x @ w), W, X)
    with pytest.raises(Error, match="^lengths: must be at least five"):
        from_jax(lambda w, x: (x @ w).sum(), W, X, lengths=[1, 2])
    with pytest.raises(Error, match="^fn: cannot be traced, neither with symbolic sizes .* nor with 2 samples, length 32"):
        from_jax(lambda w, x: (x @ w.T @ x).sum(), W, X)


def test_mistakes_of_the_function_are_told_as_they_are():
    with pytest.raises(Error, match="^fn: cannot be traced: KeyError: 'missing'$"):
        from_jax(lambda w, x: x @ w["missing"], {"w": W}, X)


def test_function_that_branches_on_the_batch_size_has_a_note():
    cost = from_jax(lambda w, x: (x @ w if x.shape[0] == 1 else x @ w @ w).sum(), W, X)
    assert any("with 1 sample it multiplies otherwise" in note for note in cost.notes)


def test_state_of_chunks_that_begins_with_zeros_counts_as_a_whole():
    """The states that a scan carries from chunk to chunk are no pairs of tokens."""
    batch, length = symbols("b, 4*c")

    def function(w, x):
        q, k, v = (w[name] * x.reshape(x.shape[0], -1, 4, 6) for name in "qkv")
        of_chunks = jnp.einsum("bnsd,bnse->nbde", k, v)
        _, states = lax.scan(lambda state, one: (state + one, state), jnp.zeros((x.shape[0], 6, 6)), of_chunks)
        return jnp.einsum("bnqd,nbde->bnqe", q, states).sum()

    cost = from_jax(function, {name: array(6) for name in "qkv"}, array(batch, length, 6))
    assert {e.kind for e in cost.entries if e.flops_per_unit and e.kind != "norm"} == {"state"}
    assert cost.flops(lengths=[12]).useful.forward == sum(2 * 2 * 6 * 6 for _ in range(12))


def test_no_warnings_and_nothing_of_jax_in_the_core():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        from_jax(lambda w, x: (x @ w).sum(), W, X)
    import subprocess
    import sys

    text = "import floptally, sys; assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", text], check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
