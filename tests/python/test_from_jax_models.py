# SPDX-License-Identifier: Apache-2.0
"""floptally.from_jax on functions as people write them, against an enumeration that runs each function.

Each case is a function that returns (function, weights, inputs). `inputs(batch, length)` makes the other arguments.
jax_enumeration.py runs the function and its gradient at sizes that from_jax has not seen, and counts.
"""

from __future__ import annotations

import itertools
import math
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")

import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")

import jax.export
import jax.numpy as jnp
import numpy as np
from jax import lax

import floptally
import shown
from conftest import SOURCE
from floptally import Mask
from jax_enumeration import exact_flops, flops_of, pairs, products_of

WIDTH, HEADS, KV_HEADS, HEAD, INNER, VOCABULARY, LAYERS = 24, 4, 2, 6, 40, 31, 3
SIZES = ((2, 13), (3, 29))  #: (batch, length) of the enumeration; no other axis has these lengths


def causal(query: int, key: int) -> bool:
    return key <= query


def everything(query: int, key: int) -> bool:
    return True


def window(size: int) -> Callable[[int, int], bool]:
    return lambda query, key: 0 <= query - key < size


@dataclass
class Case:
    make: Callable[[], Any]
    attends: tuple[Callable[[int, int], bool], ...]  #: of each layer or head, if they differ
    options: dict[str, Any]  #: of from_jax
    measured: tuple[str, ...]  #: what the caller measures: 1 for each batch


CASES: dict[str, Case] = {}


def case(
    *attends: Callable[[int, int], bool], measured: tuple[str, ...] = (), **options: Any
) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Adds a case. attends: whether (query, key) is attended, for each layer or head if they differ. options: of from_jax."""

    def added(make: Callable[[], Any]) -> Callable[[], Any]:
        CASES[make.__name__] = Case(make, attends or (everything,), options, measured)
        return make

    return added


DRAWN = itertools.count()


def weights(*shape: int) -> jax.Array:
    return jax.random.normal(jax.random.key(next(DRAWN)), shape) / shape[-2 if len(shape) > 1 else 0] ** 0.5


def tokens(batch: int, length: int) -> jax.Array:
    return jnp.arange(batch * length).reshape(batch, length) * 7 % VOCABULARY


def vectors(batch: int, length: int) -> jax.Array:
    return jax.random.normal(jax.random.key(5), (batch, length, WIDTH))


def mesh_of(**sizes: int) -> Any:
    """A mesh of devices, or one without devices if the process has fewer."""
    number = math.prod(sizes.values())
    if jax.device_count() < number:
        return jax.sharding.AbstractMesh(tuple(sizes.values()), tuple(sizes))
    return jax.sharding.Mesh(np.array(jax.devices()[:number]).reshape(*sizes.values()), tuple(sizes))


def cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1).mean()


def rms(x: jax.Array, scale: jax.Array) -> jax.Array:
    return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * scale


def heads(x: jax.Array, number: int) -> jax.Array:
    return x.reshape(*x.shape[:-1], number, x.shape[-1] // number)


# Plain JAX.


@case()
def two_layer_perceptron() -> Any:
    """The smallest: a dict of weights and @."""

    def loss(params: Any, x: jax.Array) -> jax.Array:
        hidden = jax.nn.gelu(x @ params["up"]["w"] + params["up"]["b"])
        return jnp.mean((hidden @ params["down"]["w"] - x) ** 2)

    return loss, {
        "up": {"w": weights(WIDTH, INNER), "b": jnp.zeros(INNER)},
        "down": {"w": weights(INNER, WIDTH)},
    }, lambda b, n: (vectors(b, n),)


def attention_weights() -> dict[str, jax.Array]:
    return {"q": weights(WIDTH, WIDTH), "k": weights(WIDTH, WIDTH), "v": weights(WIDTH, WIDTH), "o": weights(WIDTH, WIDTH)}


def attention(params: Any, x: jax.Array, mask: Callable[[jax.Array, jax.Array], jax.Array], bias: Any = 0.0) -> jax.Array:
    """Multi-head attention by einsum. `mask` says which pairs of positions count."""
    q, k, v = (heads(x @ params[name], HEADS) for name in "qkv")
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / HEAD**0.5 + bias
    at = jnp.arange(x.shape[1])
    scores = jnp.where(mask(at[:, None], at[None, :]), scores, jnp.finfo(scores.dtype).min)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(x.shape) @ params["o"]


@case(causal)
def gpt_with_scanned_layers_and_remat() -> Any:
    """Stacked weights, lax.scan over layers, jax.checkpoint around the block, tied embedding."""

    def block(x: jax.Array, layer: Any) -> tuple[jax.Array, None]:
        x = x + attention(layer["attn"], rms(x, layer["norm1"]), lambda q, k: k <= q)
        return x + jax.nn.gelu(rms(x, layer["norm2"]) @ layer["up"]) @ layer["down"], None

    def loss(params: Any, ids: jax.Array) -> jax.Array:
        x = params["wte"][ids]
        x, _ = lax.scan(jax.checkpoint(block), x, params["layers"])
        return cross_entropy((x @ params["wte"].T)[:, :-1], ids[:, 1:])

    layers = [
        {"attn": attention_weights(), "norm1": jnp.ones(WIDTH), "norm2": jnp.ones(WIDTH),
         "up": weights(WIDTH, INNER), "down": weights(INNER, WIDTH)} for _ in range(LAYERS)
    ]  # fmt: skip
    stacked = jax.tree.map(lambda *each: jnp.stack(each), *layers)
    return loss, {"wte": weights(VOCABULARY, WIDTH), "layers": stacked}, lambda b, n: (tokens(b, n),)


@case(causal)
def checkpoint_that_saves_products_with_weights() -> Any:
    """The policy dots_with_no_batch_dims_saveable: the backward runs the scores again and no product with a weight."""
    policy = jax.checkpoint_policies.dots_with_no_batch_dims_saveable

    def loss(params: Any, x: jax.Array) -> jax.Array:
        for layer in params:
            block = jax.checkpoint(lambda x, layer: x + attention(layer, x, lambda q, k: k <= q), policy=policy)
            x = block(x, layer)
        return jnp.sum(x**2)

    return loss, [attention_weights() for _ in range(LAYERS)], lambda b, n: (vectors(b, n),)


@case(causal, window(4), causal)
def layers_that_alternate_windows_in_a_python_loop() -> Any:
    """Gemma 2's alternation and its soft cap of scores."""

    def loss(params: Any, x: jax.Array) -> jax.Array:
        for index, layer in enumerate(params):
            size = 4 if index % 2 else 1 << 20
            x = x + attention(layer, x, lambda q, k: (k <= q) & (q - k < size))
        return jnp.sum(jnp.tanh(x / 30) * 30)

    return loss, [attention_weights() for _ in range(LAYERS)], lambda b, n: (vectors(b, n),)


@case(causal, window(4), causal)
def layers_that_alternate_windows_under_scan() -> Any:
    """As MaxText writes it: the window of each layer is an array that lax.scan takes apart."""

    def loss(params: Any, x: jax.Array) -> jax.Array:
        sizes = jnp.array([1 << 20, 4, 1 << 20])

        def block(x: jax.Array, layer: Any) -> tuple[jax.Array, None]:
            size, own = layer
            return x + attention(own, x, lambda q, k: (k <= q) & (q - k < size)), None

        return jnp.sum(lax.scan(block, x, (sizes, params))[0] ** 2)

    stacked = jax.tree.map(lambda *each: jnp.stack(each), *(attention_weights() for _ in range(LAYERS)))
    return loss, stacked, lambda b, n: (vectors(b, n),)


@case(lambda q, k: k <= q and q // 5 == k // 5)
def chunks_of_llama_4() -> Any:
    return _one_attention(lambda q, k: (k <= q) & (q // 5 == k // 5))


@case(lambda q, k: k <= q or k < 6)
def prefix_of_six_tokens() -> Any:
    return _one_attention(lambda q, k: (k <= q) | (k < 6))


@case(lambda q, k: k <= q and (k % 3 == 0 or q - k < 2))
def pattern_of_no_known_mask() -> Any:
    """Strided and local, as in Sparse Transformers."""
    return _one_attention(lambda q, k: (k <= q) & ((k % 3 == 0) | (q - k < 2)))


@case(causal)
def alibi() -> Any:
    """Slopes by heads, added to the scores; only later keys are masked."""

    def loss(params: Any, x: jax.Array) -> jax.Array:
        at = jnp.arange(x.shape[1])
        slopes = 2.0 ** (-8 * jnp.arange(1, HEADS + 1) / HEADS)
        bias = -slopes[:, None, None] * jnp.abs(at[:, None] - at[None, :])
        return jnp.sum(attention(params, x, lambda q, k: k <= q, bias) ** 2)

    return loss, attention_weights(), lambda b, n: (vectors(b, n),)


@case()
def learned_relative_bias() -> Any:
    """T5's buckets: a table of weights gives a bias to each distance."""

    def loss(params: Any, x: jax.Array) -> jax.Array:
        at = jnp.arange(x.shape[1])
        bucket = jnp.clip(at[None, :] - at[:, None], -7, 7) + 7
        bias = params["bias"][bucket].transpose(2, 0, 1)
        return jnp.sum(attention(params, x, lambda q, k: k >= 0, bias) ** 2)

    return loss, {**attention_weights(), "bias": weights(15, HEADS)}, lambda b, n: (vectors(b, n),)


def _one_attention(mask: Callable[[jax.Array, jax.Array], jax.Array]) -> Any:
    def loss(params: Any, x: jax.Array) -> jax.Array:
        return jnp.sum(attention(params, x, mask) ** 2)

    return loss, attention_weights(), lambda b, n: (vectors(b, n),)


@case(causal)
def grouped_queries_by_dot_product_attention() -> Any:
    """jax.nn.dot_product_attention with fewer heads of keys."""
    return _by_jax_nn(is_causal=True)


@case(window(5))
def window_of_dot_product_attention() -> Any:
    return _by_jax_nn(is_causal=True, local_window_size=(4, 0))


@case(lambda q, k: -2 <= q - k <= 3)
def two_sided_window_of_dot_product_attention() -> Any:
    return _by_jax_nn(local_window_size=(3, 2))


def _by_jax_nn(**options: Any) -> Any:
    def loss(params: Any, x: jax.Array) -> jax.Array:
        q = heads(x @ params["q"], HEADS)
        k, v = (heads(x @ params[name], KV_HEADS) for name in "kv")
        return jnp.sum((jax.nn.dot_product_attention(q, k, v, **options).reshape(x.shape) @ params["o"]) ** 2)

    narrow = KV_HEADS * HEAD
    params = {"q": weights(WIDTH, WIDTH), "k": weights(WIDTH, narrow), "v": weights(WIDTH, narrow), "o": weights(WIDTH, WIDTH)}
    return loss, params, lambda b, n: (vectors(b, n),)


@case(argnums=1)
def lora_beside_frozen_weights() -> Any:
    """Only the second argument trains: the first layer's input needs no gradient, and no base weight has one."""

    def loss(base: Any, adapters: Any, x: jax.Array) -> jax.Array:
        for frozen, adapter in zip(base, adapters):
            x = jax.nn.gelu(x @ frozen["w"] + 2.0 * (x @ adapter["a"]) @ adapter["b"]) @ frozen["out"]
        return jnp.sum(x**2)

    base = [{"w": weights(WIDTH, INNER), "out": weights(INNER, WIDTH)} for _ in range(LAYERS)]
    adapters = [{"a": weights(WIDTH, 3), "b": weights(3, INNER)} for _ in range(LAYERS)]
    return loss, base, lambda b, n: (adapters, vectors(b, n))


@case()
def experts_by_ragged_dot() -> Any:
    """Each token visits two of five experts, sorted by expert, as in MaxText's and Mixtral's JAX code."""
    experts, chosen = 5, 2

    def loss(params: Any, x: jax.Array) -> jax.Array:
        flat = x.reshape(-1, WIDTH)
        probabilities, index = lax.top_k(jax.nn.softmax(flat @ params["router"]), chosen)
        order = jnp.argsort(index.reshape(-1))
        sizes = jnp.bincount(index.reshape(-1), length=experts)
        rows = jnp.repeat(flat, chosen, axis=0)[order]
        hidden = jax.nn.silu(lax.ragged_dot(rows, params["gate"], sizes)) * lax.ragged_dot(rows, params["up"], sizes)
        out = lax.ragged_dot(hidden, params["down"], sizes)[jnp.argsort(order)].reshape(-1, chosen, WIDTH)
        return jnp.sum((out * probabilities[..., None]).sum(1) ** 2)

    return loss, {
        "router": weights(WIDTH, experts),
        "gate": weights(experts, WIDTH, INNER),
        "up": weights(experts, WIDTH, INNER),
        "down": weights(experts, INNER, WIDTH),
    }, lambda b, n: (vectors(b, n),)


@case()
def experts_all_run_and_weighted() -> Any:
    """Dense experts by einsum: every token runs every expert, and the router weighs."""
    experts = 5

    def loss(params: Any, x: jax.Array) -> jax.Array:
        gates = jax.nn.softmax(x @ params["router"])
        hidden = jax.nn.gelu(jnp.einsum("bld,edf->blef", x, params["up"]))
        return jnp.sum(jnp.einsum("blef,efd,ble->bld", hidden, params["down"], gates) ** 2)

    params = {"router": weights(WIDTH, experts), "up": weights(experts, WIDTH, INNER), "down": weights(experts, INNER, WIDTH)}
    return loss, params, lambda b, n: (vectors(b, n),)


@case()
def recurrent_network_over_time() -> Any:
    """A GRU by lax.scan: the number of turns is the length."""

    def loss(params: Any, x: jax.Array) -> jax.Array:
        def step(h: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
            r, z = jnp.split(jax.nn.sigmoid(x @ params["wx"] + h @ params["wh"]), 2, -1)
            h = (1 - z) * h + z * jnp.tanh(x @ params["nx"] + (r * h) @ params["nh"])
            return h, h

        _, out = lax.scan(step, jnp.zeros((x.shape[0], WIDTH)), x.swapaxes(0, 1))
        return jnp.sum(out**2)

    return loss, {
        "wx": weights(WIDTH, 2 * WIDTH), "wh": weights(WIDTH, 2 * WIDTH), "nx": weights(WIDTH, WIDTH), "nh": weights(WIDTH, WIDTH)
    }, lambda b, n: (vectors(b, n),)  # fmt: skip


@case()
def linear_attention_by_associative_scan() -> Any:
    """A gated linear recurrence (LRU, Mamba's): the scan is elementwise, only projections multiply matrices."""

    def loss(params: Any, x: jax.Array) -> jax.Array:
        decay, value = jax.nn.sigmoid(x @ params["decay"]), x @ params["value"]
        _, state = lax.associative_scan(lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]), (decay, value), axis=1)
        return jnp.sum((state @ params["out"]) ** 2)

    names = ("decay", "value", "out")
    return loss, {name: weights(WIDTH, WIDTH) for name in names}, lambda b, n: (vectors(b, n),)


@case()
def ensemble_under_vmap() -> Any:
    """jax.vmap over the weights of three members."""

    def member(params: Any, x: jax.Array) -> jax.Array:
        return jax.nn.relu(x @ params["up"]) @ params["down"]

    def loss(params: Any, x: jax.Array) -> jax.Array:
        return jnp.sum(jax.vmap(member, (0, None))(params, x) ** 2)

    return loss, {"up": weights(3, WIDTH, INNER), "down": weights(3, INNER, WIDTH)}, lambda b, n: (vectors(b, n),)


@case(causal)
def one_sequence_under_vmap() -> Any:
    """Written for one sequence, and mapped over the batch, as Equinox has it."""

    def one(params: Any, x: jax.Array) -> jax.Array:
        q, k, v = (heads(x @ params[name], HEADS) for name in "qkv")
        scores = jnp.einsum("qhd,khd->hqk", q, k)
        scores = jnp.where(jnp.tril(jnp.ones((x.shape[0], x.shape[0]), bool)), scores, -jnp.inf)
        return jnp.einsum("hqk,khd->qhd", jax.nn.softmax(scores), v).reshape(x.shape) @ params["o"]

    def loss(params: Any, x: jax.Array) -> jax.Array:
        return jnp.sum(jax.vmap(one, (None, 0))(params, x) ** 2)

    return loss, attention_weights(), lambda b, n: (vectors(b, n),)


@case()
def linear_layer_of_custom_vjp() -> Any:
    """A linear layer whose backward is written by hand."""

    @jax.custom_vjp
    def linear(x: jax.Array, w: jax.Array) -> jax.Array:
        return x @ w

    linear.defvjp(lambda x, w: (x @ w, (x, w)), lambda saved, g: (g @ saved[1].T, jnp.einsum("bld,blf->df", saved[0], g)))

    def loss(params: Any, x: jax.Array) -> jax.Array:
        for w in params:
            x = jnp.tanh(linear(x, w))
        return jnp.sum(x**2)

    return loss, [weights(WIDTH, WIDTH) for _ in range(LAYERS)], lambda b, n: (vectors(b, n),)


@case()
def data_parallel_by_shard_map() -> Any:
    """Two devices have half of the batch each, and average the loss."""
    mesh = mesh_of(data=2)
    spec = jax.sharding.PartitionSpec

    def loss(params: Any, x: jax.Array) -> jax.Array:
        def local(params: Any, x: jax.Array) -> jax.Array:
            return lax.pmean(jnp.mean((jax.nn.gelu(x @ params["up"]) @ params["down"]) ** 2), "data")

        return jax.shard_map(local, mesh=mesh, in_specs=(spec(), spec("data")), out_specs=spec())(params, x)

    return loss, {"up": weights(WIDTH, INNER), "down": weights(INNER, WIDTH)}, lambda b, n: (vectors(2 * b, n),)


@case()
def tensor_parallel_by_shard_map() -> Any:
    """Megatron's MLP: the first weight is cut by columns, the second by rows, and psum adds."""
    mesh = mesh_of(model=4)
    spec = jax.sharding.PartitionSpec

    def loss(params: Any, x: jax.Array) -> jax.Array:
        def local(up: jax.Array, down: jax.Array, x: jax.Array) -> jax.Array:
            return lax.psum(jax.nn.gelu(x @ up) @ down, "model")

        specs = (spec(None, "model"), spec("model", None), spec())
        out = jax.shard_map(local, mesh=mesh, in_specs=specs, out_specs=spec())(params["up"], params["down"], x)
        return jnp.sum(out**2)

    return loss, {"up": weights(WIDTH, INNER), "down": weights(INNER, WIDTH)}, lambda b, n: (vectors(b, n),)


@case(causal)
def heads_over_devices_by_shard_map() -> Any:
    """Attention with heads over the axis "model" and the batch over "data"."""
    mesh = mesh_of(data=2, model=2)
    spec = jax.sharding.PartitionSpec

    def loss(params: Any, x: jax.Array) -> jax.Array:
        def local(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
            return jax.nn.dot_product_attention(q, k, v, is_causal=True)

        over = spec("data", None, "model")
        q, k, v = (heads(x @ params[name], HEADS) for name in "qkv")
        out = jax.shard_map(local, mesh=mesh, in_specs=(over, over, over), out_specs=over)(q, k, v)
        return jnp.sum((out.reshape(x.shape) @ params["o"]) ** 2)

    return loss, attention_weights(), lambda b, n: (vectors(2 * b, n),)


@case()
def gradient_accumulation_by_scan() -> Any:
    """lax.scan over four microbatches of the batch."""

    def loss(params: Any, x: jax.Array) -> jax.Array:
        def micro(total: jax.Array, x: jax.Array) -> tuple[jax.Array, None]:
            return total + jnp.sum(jax.nn.gelu(x @ params["up"]) ** 2), None

        return lax.scan(micro, 0.0, x.reshape(4, x.shape[0] // 4, *x.shape[1:]))[0]

    return loss, {"up": weights(WIDTH, INNER)}, lambda b, n: (vectors(4 * b, n),)


@case()
def turns_of_fori_loop() -> Any:
    """lax.fori_loop with a fixed number of turns: one shared layer, run three times."""

    def loss(params: Any, x: jax.Array) -> jax.Array:
        return jnp.sum(lax.fori_loop(0, 3, lambda _, x: jnp.tanh(x @ params["w"]), x) ** 2)

    return loss, {"w": weights(WIDTH, WIDTH)}, lambda b, n: (vectors(b, n),)


@case(causal, argnums=())
def train_step_with_its_own_gradient() -> Any:
    """A whole step: jax.value_and_grad and the update stand inside the function, and nothing else trains."""
    def step(params: Any, x: jax.Array) -> Any:
        def loss(params: Any) -> jax.Array:
            return jnp.sum(attention(params, x, lambda q, k: k <= q) ** 2)

        value, gradient = jax.value_and_grad(loss)(params)
        return value, jax.tree.map(lambda w, g: w - 0.1 * g, params, gradient)

    return step, attention_weights(), lambda b, n: (vectors(b, n),)


@case(causal)
def policy_and_frozen_reference() -> Any:
    """DPO: the frozen reference runs forward only, by stop_gradient."""
    def loss(params: Any, x: jax.Array) -> jax.Array:
        policy = attention(params["policy"], x, lambda q, k: k <= q)
        reference = lax.stop_gradient(attention(params["reference"], x, lambda q, k: k <= q))
        return jnp.mean(jax.nn.log_sigmoid((policy * reference).sum(-1)))

    return loss, {"policy": attention_weights(), "reference": attention_weights()}, lambda b, n: (vectors(b, n),)


@case(causal, window(3))
def half_of_the_heads_local() -> Any:
    """A mask for each head."""

    def loss(params: Any, x: jax.Array) -> jax.Array:
        at = jnp.arange(x.shape[1])
        apart = at[:, None] - at[None, :]
        reach = jnp.array([1 << 12, 1 << 12, 3, 3])[:, None, None]
        q, k, v = (heads(x @ params[name], HEADS) for name in "qkv")
        scores = jnp.where((apart >= 0) & (apart < reach), jnp.einsum("bqhd,bkhd->bhqk", q, k), -jnp.inf)
        return jnp.sum((jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(x.shape) @ params["o"]) ** 2)

    return loss, attention_weights(), lambda b, n: (vectors(b, n),)


@case(lambda q, k: k < q or q == k == 0)
def earlier_tokens_alone_with_keys_first() -> Any:
    """The scores as keys x queries, and a last key that nobody attends."""

    def loss(params: Any, x: jax.Array) -> jax.Array:
        q, k, v = (heads(x @ params[name], HEADS) for name in "qkv")
        at = jnp.arange(x.shape[1])
        seen = (at[None, :] < at[:, None]) | ((at[:, None] == 0) & (at[None, :] == 0))
        scores = lax.dot_general(k, q, (((3,), (3,)), ((0, 2), (0, 2)))).swapaxes(-1, -2)
        weights = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf)).swapaxes(-1, -2)
        mixed = lax.dot_general(v, weights, (((1,), (2,)), ((0, 2), (0, 1))))
        return jnp.sum((mixed.transpose(0, 3, 1, 2).reshape(x.shape) @ params["o"]) ** 2)

    return loss, attention_weights(), lambda b, n: (vectors(b, n),)


@case(lambda q, k: k <= q and (q - k < 5 or k < 2))
def window_with_sinks() -> Any:
    """StreamingLLM: a window, and the first two tokens."""
    return _one_attention(lambda q, k: (k <= q) & ((q - k < 5) | (k < 2)))


@case(causal)
def retention_by_decays() -> Any:
    """RetNet: no softmax; the scores are multiplied by powers of a decay, and by 0 for later keys."""

    def loss(params: Any, x: jax.Array) -> jax.Array:
        at = jnp.arange(x.shape[1])
        apart = at[:, None] - at[None, :]
        decays = jnp.where(apart >= 0, (1 - 2.0 ** (-5 - jnp.arange(HEADS)))[:, None, None] ** apart, 0)
        q, k, v = (heads(x @ params[name], HEADS) for name in "qkv")
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * decays
        return jnp.sum((jnp.einsum("bhqk,bkhd->bqhd", scores, v).reshape(x.shape) @ params["o"]) ** 2)

    return loss, attention_weights(), lambda b, n: (vectors(b, n),)


@case(causal)
def latent_attention_absorbed() -> Any:
    """DeepSeek's attention with keys and values of one latent: three products with weights around the core."""

    def loss(params: Any, x: jax.Array) -> jax.Array:
        latent = x @ params["down"]
        q = jnp.einsum("bqhd,hdr->bqhr", heads(x @ params["q"], HEADS), params["up_k"])
        scores = jnp.where(jnp.tri(x.shape[1], dtype=bool), jnp.einsum("bqhr,bkr->bhqk", q, latent), -1e9)
        mixed = jnp.einsum("bhqk,bkr->bqhr", jax.nn.softmax(scores), latent)
        return jnp.sum(jnp.einsum("bqhr,hrd->bqhd", mixed, params["up_v"]) ** 2)

    return loss, {
        "down": weights(WIDTH, 8), "q": weights(WIDTH, WIDTH), "up_k": weights(HEADS, HEAD, 8), "up_v": weights(HEADS, 8, HEAD)
    }, lambda b, n: (vectors(b, n),)  # fmt: skip


@case()
def delta_rule_over_time() -> Any:
    """A state of each head, which each token reads, corrects and reads again."""

    def loss(params: Any, x: jax.Array) -> jax.Array:
        def step(state: jax.Array, token: Any) -> tuple[jax.Array, jax.Array]:
            q, k, v = token
            v = v - jnp.einsum("bhd,bhde->bhe", k, state)
            state = state + jnp.einsum("bhd,bhe->bhde", k, v)
            return state, jnp.einsum("bhd,bhde->bhe", q, state)

        series = tuple(heads(x @ params[name], HEADS).swapaxes(0, 1) for name in "qkv")
        _, out = lax.scan(step, jnp.zeros((x.shape[0], HEADS, HEAD, HEAD)), series)
        return jnp.sum((out.swapaxes(0, 1).reshape(x.shape) @ params["o"]) ** 2)

    return loss, attention_weights(), lambda b, n: (vectors(b, n),)


@case()
def experts_with_a_capacity() -> Any:
    """GShard: one-hot dispatch to places of experts. The capacity grows with the length, so two products are quadratic."""
    experts = 4

    def loss(params: Any, x: jax.Array) -> jax.Array:
        gates = jax.nn.softmax(x @ params["router"])
        chosen = jax.nn.one_hot(jnp.argmax(gates, -1), experts)
        place = (jnp.cumsum(chosen, 1) - 1) * chosen
        dispatch = chosen[..., None] * jax.nn.one_hot(place.astype(int), x.shape[1] // 2)
        inputs = jnp.einsum("bsec,bsd->ebcd", dispatch, x)
        out = jnp.einsum("ebcf,efd->ebcd", jax.nn.relu(jnp.einsum("ebcd,edf->ebcf", inputs, params["up"])), params["down"])
        return jnp.sum(jnp.einsum("bsec,ebcd->bsd", dispatch * gates[..., None], out) ** 2)

    params = {"router": weights(WIDTH, experts), "up": weights(experts, WIDTH, INNER), "down": weights(experts, INNER, WIDTH)}
    return loss, params, lambda b, n: (vectors(b, n),)


@case(measured=("passes",))
def adapters_merged_into_the_weight() -> Any:
    """LoRA as w + a b: the product of weights runs once per pass."""
    def loss(params: Any, x: jax.Array) -> jax.Array:
        return jnp.sum(jnp.tanh(x @ (params["w"] + params["a"] @ params["b"])) ** 2)

    return loss, {"w": weights(WIDTH, INNER), "a": weights(WIDTH, 3), "b": weights(3, INNER)}, lambda b, n: (vectors(b, n),)


@case()
def gradient_penalty() -> Any:
    """The loss has a gradient of the input in it, so that the training step differentiates twice."""

    def loss(params: Any, x: jax.Array) -> jax.Array:
        value, gradient = jax.value_and_grad(lambda x: jnp.sum(jnp.tanh(jnp.tanh(x @ params["a"]) @ params["b"])))(x)
        return value + jnp.sum(gradient**2)

    return loss, {"a": weights(WIDTH, INNER), "b": weights(INNER, WIDTH)}, lambda b, n: (vectors(b, n),)


@case()
def parts_that_are_detached() -> Any:
    """stop_gradient between layers, an unused product, and a policy that saves one named value of a checkpoint."""
    from jax.ad_checkpoint import checkpoint_name

    policy = jax.checkpoint_policies.save_only_these_names("hidden")

    def block(x: jax.Array, layer: Any) -> jax.Array:
        hidden = checkpoint_name(x @ layer["a"], "hidden")
        return jnp.tanh(jnp.tanh(hidden) @ layer["b"]) @ layer["c"]

    def loss(params: Any, x: jax.Array) -> jax.Array:
        x = lax.stop_gradient(jnp.tanh(x @ params["frozen"]))
        x @ params["unused"]
        return jnp.sum(jax.checkpoint(block, policy=policy)(x, params["block"]) ** 2)

    layer = {"a": weights(WIDTH, INNER), "b": weights(INNER, INNER), "c": weights(INNER, WIDTH)}
    return loss, {"frozen": weights(WIDTH, WIDTH), "unused": weights(WIDTH, WIDTH), "block": layer}, lambda b, n: (vectors(b, n),)


# Flax linen.


@case(causal)
def linen_decoder() -> Any:
    """nn.MultiHeadDotProductAttention with nn.make_causal_mask, layers in a Python loop."""
    nn = pytest.importorskip("flax.linen", reason="Flax is not installed")

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        @nn.compact
        def __call__(self, x: Any, mask: Any) -> Any:
            x = x + nn.MultiHeadDotProductAttention(num_heads=HEADS, name="attention")(nn.LayerNorm()(x), mask=mask)
            return x + nn.Dense(WIDTH)(nn.gelu(nn.Dense(INNER)(nn.LayerNorm()(x))))

    class Decoder(nn.Module):  # type: ignore[misc, name-defined]
        @nn.compact
        def __call__(self, ids: Any) -> Any:
            x = nn.Embed(VOCABULARY, WIDTH)(ids)
            for index in range(LAYERS):
                x = Block(name=f"layers_{index}")(x, nn.make_causal_mask(ids))
            return nn.Dense(VOCABULARY, use_bias=False, name="lm_head")(nn.LayerNorm()(x))

    model = Decoder()
    return (
        lambda params, ids: cross_entropy(model.apply(params, ids), ids),
        model.init(jax.random.key(0), tokens(1, 4)),
        lambda b, n: (tokens(b, n),),
    )


@case(causal)
def linen_scan_of_remat_blocks() -> Any:
    """nn.scan(nn.remat(Block)), with weights stacked on the first axis."""
    nn = pytest.importorskip("flax.linen", reason="Flax is not installed")

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        @nn.compact
        def __call__(self, x: Any, _: Any) -> Any:
            mask = nn.make_causal_mask(x[..., 0])
            x = x + nn.SelfAttention(num_heads=HEADS)(nn.LayerNorm()(x), mask)
            return x + nn.Dense(WIDTH)(nn.gelu(nn.Dense(INNER)(nn.LayerNorm()(x)))), None

    class Decoder(nn.Module):  # type: ignore[misc, name-defined]
        @nn.compact
        def __call__(self, x: Any) -> Any:
            blocks = nn.scan(
                nn.remat(Block), variable_axes={"params": 0}, split_rngs={"params": True}, length=LAYERS
            )
            return blocks(name="layers")(x, None)[0]

    model = Decoder()
    return (
        lambda params, x: jnp.sum(model.apply(params, x) ** 2),
        model.init(jax.random.key(0), vectors(1, 4)),
        lambda b, n: (vectors(b, n),),
    )


@case()
def linen_recurrent_layer() -> Any:
    """nn.RNN(nn.LSTMCell)."""
    nn = pytest.importorskip("flax.linen", reason="Flax is not installed")
    model = nn.RNN(nn.LSTMCell(16))
    return (
        lambda params, x: jnp.sum(model.apply(params, x) ** 2),
        model.init(jax.random.key(0), vectors(1, 4)),
        lambda b, n: (vectors(b, n),),
    )


# Flax nnx.


@case(causal)
def nnx_decoder() -> Any:
    """nnx.MultiHeadAttention, split into a graph and its state."""
    nnx = pytest.importorskip("flax.nnx", reason="Flax is not installed")

    class Block(nnx.Module):  # type: ignore[misc, name-defined]
        def __init__(self, rngs: Any) -> None:
            self.attention = nnx.MultiHeadAttention(HEADS, WIDTH, decode=False, rngs=rngs)
            self.up, self.down = nnx.Linear(WIDTH, INNER, rngs=rngs), nnx.Linear(INNER, WIDTH, rngs=rngs)

        def __call__(self, x: Any) -> Any:
            x = x + self.attention(x, mask=nnx.make_causal_mask(x[..., 0]))
            return x + self.down(nnx.gelu(self.up(x)))

    class Decoder(nnx.Module):  # type: ignore[misc, name-defined]
        def __init__(self, rngs: Any) -> None:
            self.layers = getattr(nnx, "List", list)([Block(rngs) for _ in range(LAYERS)])
            self.head = nnx.Linear(WIDTH, VOCABULARY, rngs=rngs)

        def __call__(self, x: Any) -> Any:
            for layer in self.layers:
                x = layer(x)
            return self.head(x)

    graph, state = nnx.split(Decoder(nnx.Rngs(0)))
    return lambda state, x: jnp.sum(nnx.merge(graph, state)(x) ** 2), state, lambda b, n: (vectors(b, n),)


# Equinox.


@case(causal)
def equinox_decoder() -> Any:
    """A module as the argument that trains. Its static leaves (functions, sizes) pass through."""
    eqx = pytest.importorskip("equinox", reason="Equinox is not installed")

    class Block(eqx.Module):  # type: ignore[misc, name-defined]
        attention: Any
        mlp: Any

        def __init__(self, key: Any) -> None:
            self.attention = eqx.nn.MultiheadAttention(HEADS, WIDTH, key=key)
            self.mlp = eqx.nn.MLP(WIDTH, WIDTH, INNER, 1, key=key)

        def __call__(self, x: Any) -> Any:
            x = x + self.attention(x, x, x, jnp.tril(jnp.ones((x.shape[0], x.shape[0]), bool)))
            return x + jax.vmap(self.mlp)(x)

    def loss(blocks: Any, x: Any) -> Any:
        for block in blocks:
            x = jax.vmap(block)(x)
        return jnp.sum(x**2)

    return loss, [Block(key) for key in jax.random.split(jax.random.key(0), LAYERS)], lambda b, n: (vectors(b, n),)


@case()
def equinox_with_partition_and_combine() -> Any:
    """eqx.partition: the arrays train, the rest is closed over."""
    eqx = pytest.importorskip("equinox", reason="Equinox is not installed")
    model = eqx.nn.MLP(WIDTH, WIDTH, INNER, 2, key=jax.random.key(0))
    arrays, static = eqx.partition(model, eqx.is_array)
    return (
        lambda arrays, x: jnp.sum(jax.vmap(jax.vmap(eqx.combine(arrays, static)))(x) ** 2),
        arrays,
        lambda b, n: (vectors(b, n),),
    )


# What they count.


def symbolic(inputs: Callable[[int, int], tuple[Any, ...]]) -> tuple[Any, ...]:
    """Returns the inputs with symbols in place of the sizes that vary."""
    batch, length = jax.export.symbolic_shape("batch, length")
    small, larger, longer = inputs(4, 7), inputs(5, 7), inputs(4, 9)

    def spec(one: Any, more: Any, long: Any) -> Any:
        sizes = [
            batch * (n // 4) if n != m else length if n != k else n for n, m, k in zip(one.shape, more.shape, long.shape)
        ]
        return one if one.shape == more.shape == long.shape else jax.ShapeDtypeStruct(sizes, one.dtype)

    return tuple(jax.tree.map(spec, small, larger, longer))


def on_arrays(function: Callable[..., Any], argnums: int, args: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Returns the function of the arrays among its arguments, (those that train, the others), and these two."""
    leaves, tree = jax.tree.flatten(args)
    arrays = [index for index, one in enumerate(leaves) if isinstance(one, (jax.Array, np.ndarray))]

    def of_arrays(training: Any, other: Any) -> Any:
        every = list(leaves)
        for index, value in (*training.items(), *other.items()):
            every[index] = value
        made = jax.tree.leaves(function(*jax.tree.unflatten(tree, every)))
        return sum(jnp.sum(one) for one in made if jnp.issubdtype(one.dtype, jnp.floating))

    first = len(jax.tree.leaves(args[:argnums]))
    last = first + len(jax.tree.leaves(args[argnums]))
    training = {i: leaves[i] for i in arrays if first <= i < last and jnp.issubdtype(leaves[i].dtype, jnp.floating)}
    return of_arrays, (training, {i: leaves[i] for i in arrays if i not in training})


def identity(function: Any = None, **_: Any) -> Any:
    return function or identity


def enumerated(one: Case, batch: int, length: int, attended: Any) -> tuple[int, int, int]:
    """Returns FLOPs over attended pairs: of the forward, of a training step, and of a training step with recompute."""
    function, params, inputs = one.make()
    args = (params, *inputs(batch, length))
    argnums = one.options.get("argnums", 0)
    if argnums == ():
        forward = exact_flops(products_of(function, *args), attended)
        return forward, forward, forward
    function, both = on_arrays(function, argnums, args)
    executed = exact_flops(products_of(jax.value_and_grad(function), *both), attended)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jax, "checkpoint", identity)
        patch.setattr(jax, "remat", identity)
        function, _, _ = one.make()
        function, _ = on_arrays(function, argnums, args)
        forward = exact_flops(products_of(function, *both), attended)
        step = exact_flops(products_of(jax.value_and_grad(function), *both), attended)
    return forward, step, executed


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", CASES)
def test_function_counts_as_it_runs(name: str) -> None:
    one = CASES[name]
    function, params, inputs = one.make()
    cost = floptally.from_jax(function, params, *symbolic(inputs), **one.options)
    for batch, length in SIZES:
        args = inputs(batch, length)
        attended = Fraction(sum(pairs(attends, length) for attends in one.attends), len(one.attends))
        forward, step, executed = enumerated(one, batch, length, {(length, length): attended})
        measured = {name: 1 for name in one.measured} or None
        breakdown = cost.flops(lengths=[length] * args[-1].shape[0], measured=measured)
        found = breakdown.useful.forward, breakdown.useful.total, breakdown.executed.total
        assert found == (forward, step, executed)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(  # inside of shard_map the enumeration has no values
    "name", [name for name, one in CASES.items() if one.attends != (everything,) and "shard_map" not in name]
)
def test_stated_masks_are_the_nonzero_attention_weights_of_a_run(name: str) -> None:
    """Of the test itself: a product of attention weights and values multiplies a nonzero weight for each attended pair."""
    one = CASES[name]
    function, params, inputs = one.make()
    batch, length = SIZES[0]
    function, both = on_arrays(function, one.options.get("argnums") or 0, (params, *inputs(batch, length)))
    of_values = [
        (found.nonzero, found.multiplied)
        for found in products_of(function, *both)
        if found.sizes.count(length) >= 2 and found.sizes[-1] == length  # sums over keys
    ]
    all_pairs = Fraction(sum(pairs(attends, length) for attends in one.attends), len(one.attends) * length**2)
    forward = of_values if one.options.get("argnums", 0) != () else of_values[:1]
    assert Fraction(sum(n for n, _ in forward), sum(m for _, m in forward)) == all_pairs


# Functions that do not take a batch of sequences: images of fixed size, an encoder and a decoder, and others.


def compared(cost: Any, function: Any, args: tuple[Any, ...], attended: Any, **batch: Any) -> None:
    """Asserts that forward and backward of a step are what an enumeration counts. No checkpoint may be in `function`."""
    function, both = on_arrays(function, 0, args)
    useful = cost.flops(**batch).useful
    forward = exact_flops(products_of(function, *both), attended)
    step = exact_flops(products_of(jax.value_and_grad(function), *both), attended)
    assert (useful.forward, useful.total) == (forward, step)


def test_encoder_decoder_counts_three_kinds_of_attention() -> None:
    params = {"encoder": attention_weights(), "decoder": attention_weights(), "cross": attention_weights()}

    def attend(own: Any, x: Any, source: Any, mask: Any) -> Any:
        q, k, v = heads(x @ own["q"], HEADS), heads(source @ own["k"], HEADS), heads(source @ own["v"], HEADS)
        return jax.nn.dot_product_attention(q, k, v, mask=mask).reshape(x.shape) @ own["o"]

    def loss(params: Any, x: Any, source: Any) -> Any:
        source = source + attend(params["encoder"], source, source, None)
        x = x + attend(params["decoder"], x, x, jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool)))
        return jnp.sum((x + attend(params["cross"], x, source, None)) ** 2)

    batch, length, keys = jax.export.symbolic_shape("batch, length, keys")
    specs = (jax.ShapeDtypeStruct((batch, n, WIDTH), jnp.float32) for n in (length, keys))
    cost = floptally.from_jax(loss, params, *specs)
    for b, n, m in ((2, 13, 17), (3, 29, 11)):
        attended = {(n, n): pairs(causal, n), (m, m): m * m, (n, m): n * m}
        args = (params, vectors(b, n), vectors(b, m))
        compared(cost, loss, args, attended, lengths=[n] * b, encoder_lengths=[m] * b)


def test_checkpoint_within_a_checkpoint_warns_that_the_plan_has_one_of_two_recomputes() -> None:
    """Groups of layers and each layer are checkpointed: the backward runs the forward twice more."""

    def group(x: Any, layers: Any) -> tuple[Any, None]:
        return lax.scan(jax.checkpoint(lambda x, w: (jnp.tanh(x @ w), None)), x, layers)[0], None

    def loss(params: Any, x: Any) -> Any:
        return jnp.sum(lax.scan(jax.checkpoint(group), x, params["layers"])[0] ** 2)

    params = {"layers": weights(3, 2, WIDTH, WIDTH)}
    with pytest.warns(floptally.AssumptionWarning, match="again.*more than once"):
        cost = of_vectors(loss, params)
    counted = cost.flops(lengths=[13, 13])
    forward = flops_of(products_of(loss, params, vectors(2, 13)))
    step = flops_of(products_of(jax.value_and_grad(loss), params, vectors(2, 13)))
    assert (counted.useful.forward, counted.useful.total) == (forward, 3 * forward)
    assert (counted.executed.total, step) == (4 * forward, 5 * forward)


def test_convolutions_of_a_small_residual_network() -> None:
    nn = pytest.importorskip("flax.linen", reason="Flax is not installed")

    class Network(nn.Module):  # type: ignore[misc, name-defined]
        @nn.compact
        def __call__(self, x: Any) -> Any:
            x = nn.relu(nn.Conv(8, (7, 7), (2, 2))(x))
            x = nn.max_pool(x, (3, 3), (2, 2), "SAME")
            y = nn.relu(nn.BatchNorm(use_running_average=True)(nn.Conv(16, (3, 3), (2, 2), padding=[(1, 1), (1, 1)])(x)))
            x = nn.Conv(16, (1, 1), (2, 2))(x) + nn.Conv(16, (3, 3), feature_group_count=4)(y)
            x = nn.Conv(16, (3, 3), kernel_dilation=2, padding="VALID")(x)
            return nn.Dense(10)(x.mean((1, 2)))

    model = Network()

    def loss(params: Any, x: Any) -> Any:
        return jnp.sum(model.apply(params, x) ** 2)

    params = model.init(jax.random.key(0), jnp.ones((1, 64, 64, 3)))
    (batch,) = jax.export.symbolic_shape("batch")
    cost = floptally.from_jax(loss, params, jax.ShapeDtypeStruct((batch, 64, 64, 3), jnp.float32))
    useful = cost.flops(lengths=[1] * 3).useful
    products = products_of(loss, params, jnp.ones((3, 64, 64, 3)))
    first = 2 * products[0].multiplied
    assert useful.forward == flops_of(products)
    assert useful.backward == 2 * flops_of(products) - first  # the image needs no gradient


def test_convolutions_over_tokens_count_every_position_of_their_windows() -> None:
    """Mamba's causal depthwise convolution, and Whisper's of stride two, which rounds half the length up."""

    def loss(params: Any, x: Any) -> Any:
        order = ("NWC", "WIO", "NWC")
        x = lax.conv_general_dilated(x, params["depthwise"], (1,), [(3, 0)], dimension_numbers=order, feature_group_count=WIDTH)
        x = lax.conv_general_dilated(jax.nn.silu(x), params["stride"], (2,), [(1, 1)], dimension_numbers=order)
        return jnp.sum((x @ params["o"]) ** 2)

    params = {"depthwise": weights(4, 1, WIDTH), "stride": weights(3, WIDTH, WIDTH), "o": weights(WIDTH, WIDTH)}
    cost = of_vectors(loss, params)
    for length in (13, 14, 29):
        useful = cost.flops(lengths=[length] * 2).useful
        products = products_of(loss, params, vectors(2, length))
        assert useful.forward == flops_of(products)
        assert useful.backward == 2 * flops_of(products) - 2 * products[0].multiplied


def test_vision_transformer_of_fixed_size() -> None:
    nn = pytest.importorskip("flax.linen", reason="Flax is not installed")

    class Vision(nn.Module):  # type: ignore[misc, name-defined]
        @nn.compact
        def __call__(self, images: Any) -> Any:
            x = nn.Conv(WIDTH, (8, 8), (8, 8), name="patches")(images).reshape(images.shape[0], -1, WIDTH)
            token = self.param("class_token", nn.initializers.zeros, (1, 1, WIDTH))
            x = jnp.concatenate([jnp.broadcast_to(token, (images.shape[0], 1, WIDTH)), x], 1)
            x = x + self.param("positions", nn.initializers.normal(), (1, 17, WIDTH))
            for _ in range(LAYERS):
                x = x + nn.MultiHeadDotProductAttention(HEADS)(nn.LayerNorm()(x))
                x = x + nn.Dense(WIDTH)(nn.gelu(nn.Dense(INNER)(nn.LayerNorm()(x))))
            return nn.Dense(10)(x[:, 0])

    model = Vision()

    def loss(params: Any, images: Any) -> Any:
        return jnp.sum(model.apply(params, images) ** 2)

    params = model.init(jax.random.key(0), jnp.ones((1, 32, 32, 3)))
    (batch,) = jax.export.symbolic_shape("batch")
    cost = floptally.from_jax(loss, params, jax.ShapeDtypeStruct((batch, 32, 32, 3), jnp.float32))
    useful = cost.flops(lengths=[1] * 3).useful
    products = products_of(loss, params, jnp.ones((3, 32, 32, 3)))
    assert useful.forward == flops_of(products)
    assert useful.backward == 2 * flops_of(products) - 2 * products[0].multiplied


# from_jax must count the same FLOPs for a Llama in Flax as floptally.cost for its config.

LLAMA = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": WIDTH, "intermediate_size": INNER,
    "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "vocab_size": VOCABULARY,
    "tie_word_embeddings": False, "head_dim": HEAD, "max_position_embeddings": 4096,
}  # fmt: skip


def flax_llama(window: int | None = None, scan: bool = False, remat: bool = False, as_maxtext: bool = False) -> Any:
    """Llama as one writes it in Flax: RMSNorm, rotary positions, grouped queries, SwiGLU, an untied head.

    as_maxtext: the norm is scaled by an einsum, and queries stay grouped, as in MaxText.
    """
    nn = pytest.importorskip("flax.linen", reason="Flax is not installed")

    class Norm(nn.Module):  # type: ignore[misc, name-defined]
        @nn.compact
        def __call__(self, x: Any) -> Any:
            scale = self.param("scale", nn.initializers.ones, (WIDTH,))
            return jnp.einsum("i...k,...k->i...k", x * lax.rsqrt(jnp.mean(lax.square(x), -1, keepdims=True) + 1e-6), scale)

    norm = Norm if as_maxtext else nn.RMSNorm

    def rotary(x: Any) -> Any:
        half = HEAD // 2
        angles = jnp.arange(x.shape[1])[:, None] * 10000.0 ** (-jnp.arange(half) / half)
        cos, sin = jnp.cos(angles)[:, None, :], jnp.sin(angles)[:, None, :]
        return jnp.concatenate([x[..., :half] * cos - x[..., half:] * sin, x[..., half:] * cos + x[..., :half] * sin], -1)

    class Attention(nn.Module):  # type: ignore[misc, name-defined]
        @nn.compact
        def __call__(self, x: Any) -> Any:
            q = nn.DenseGeneral((HEADS, HEAD), use_bias=False, name="q_proj")(x)
            k = nn.DenseGeneral((KV_HEADS, HEAD), use_bias=False, name="k_proj")(x)
            v = nn.DenseGeneral((KV_HEADS, HEAD), use_bias=False, name="v_proj")(x)
            q, k = rotary(q), rotary(k)
            if as_maxtext:
                q = q.reshape(*q.shape[:2], KV_HEADS, HEADS // KV_HEADS, HEAD)
                scores = jnp.einsum("btkgd,bskd->bkgts", q, k) * HEAD**-0.5
            else:
                k, v = (jnp.repeat(one, HEADS // KV_HEADS, axis=2) for one in (k, v))
                scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * HEAD**-0.5
            at = jnp.arange(x.shape[1])
            seen = at[None, :] <= at[:, None]
            if window is not None:
                seen &= at[:, None] - at[None, :] < window
            weights = jax.nn.softmax(jnp.where(seen, scores.astype(jnp.float32), -1e30)).astype(x.dtype)
            if as_maxtext:
                mixed = jnp.einsum("bkgts,bskd->btkgd", weights, v).reshape(*x.shape[:2], HEADS, HEAD)
            else:
                mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, v)
            return nn.DenseGeneral(WIDTH, axis=(-2, -1), use_bias=False, name="o_proj")(mixed)

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        @nn.compact
        def __call__(self, x: Any, _: Any = None) -> Any:
            x = x + Attention(name="attention")(norm()(x))
            y = norm()(x)
            gate, up = (nn.Dense(INNER, use_bias=False, name=f"{name}_proj")(y) for name in ("gate", "up"))
            return x + nn.Dense(WIDTH, use_bias=False, name="down_proj")(nn.silu(gate) * up), None

    class Llama(nn.Module):  # type: ignore[misc, name-defined]
        @nn.compact
        def __call__(self, ids: Any) -> Any:
            x = nn.Embed(VOCABULARY, WIDTH, name="embed")(ids)
            kind = nn.remat(Block) if remat else Block
            if scan:
                x, _ = nn.scan(kind, variable_axes={"params": 0}, split_rngs={"params": True}, length=LAYERS)(name="layers")(x, None)
            else:
                for index in range(LAYERS):
                    x, _ = kind(name=f"layers_{index}")(x)
            return nn.Dense(VOCABULARY, use_bias=False, name="lm_head")(norm()(x))

    model = Llama()

    def loss(params: Any, ids: Any) -> Any:
        return cross_entropy(model.apply(params, ids)[:, :-1], ids[:, 1:])

    return loss, jax.eval_shape(model.init, jax.random.key(0), tokens(1, 4))


def by_phase(cost: Any, convention: str, lengths: list[int]) -> tuple[int, int]:
    useful = cost.flops(convention=convention, lengths=lengths).useful
    return useful.forward, useful.backward


@pytest.mark.parametrize(
    "size, scan, as_maxtext", [(None, False, False), (None, True, True), (None, False, True), (9, False, False), (9, True, False)]
)
def test_llama_in_flax_counts_what_its_config_counts(size: int | None, scan: bool, as_maxtext: bool) -> None:
    loss, params = flax_llama(size, scan, as_maxtext=as_maxtext)
    batch, length = jax.export.symbolic_shape("batch, length")
    counted = floptally.from_jax(loss, params, jax.ShapeDtypeStruct((batch, length), jnp.int32))
    config = LLAMA if size is None else {**LLAMA, "model_type": "mistral", "architectures": ["MistralForCausalLM"], "sliding_window": size}
    expected = floptally.cost(config)
    for lengths in ([13], [1], [8, 9, 10], [100, 2000], [4096, 31, 7777]):
        for convention in ("exact", "palm"):
            assert by_phase(counted, convention, lengths) == by_phase(expected, convention, lengths)
    assert counted.parameters == expected.parameters


def test_remat_of_llama_in_flax_is_recompute() -> None:
    loss, params = flax_llama(scan=True, remat=True)
    ids = jax.ShapeDtypeStruct(jax.export.symbolic_shape("batch, length"), jnp.int32)
    counted = floptally.from_jax(loss, params, ids).flops(lengths=[13, 13])
    assert counted.useful.total == floptally.cost(LLAMA).flops(lengths=[13, 13]).useful.total
    args = (jax.tree.map(lambda one: jnp.ones(one.shape), params), tokens(2, 13))
    function, both = on_arrays(loss, 0, args)
    executed = products_of(jax.value_and_grad(function), *both)
    assert counted.executed.total == exact_flops(executed, {(13, 13): pairs(causal, 13)})


# Models of MaxText, where it is installed. MaxText needs Python 3.12.

MAXTEXT = {
    "run_name": "counted", "enable_checkpointing": False, "override_model_config": True, "skip_jax_distributed_system": True,
    "hardware": "cpu", "log_config": False, "base_emb_dim": WIDTH, "base_num_query_heads": HEADS, "base_num_kv_heads": KV_HEADS,
    "base_mlp_dim": INNER, "base_num_decoder_layers": LAYERS, "head_dim": 8, "vocab_size": VOCABULARY, "max_target_length": 29,
    "per_device_batch_size": 1.0, "attention": "dot_product", "dtype": "float32", "weight_dtype": "float32",
}  # fmt: skip


@pytest.mark.parametrize("scan", [False, True])
def test_llama_of_maxtext_counts_what_its_config_counts_and_its_remat_is_recompute(scan: bool) -> None:
    try:
        from flax import nnx
        from maxtext.configs import pyconfig
        from maxtext.models import models
    except ImportError as missing:
        pytest.skip(f"MaxText cannot be imported: {missing}")
    base = os.path.join(os.path.dirname(pyconfig.__file__), "base.yml")
    config = pyconfig.initialize(["", base], **MAXTEXT, decoder_block="llama2", scan_layers=scan, remat_policy="full")
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]).reshape([1] * len(config.mesh_axes)), config.mesh_axes)
    with mesh:
        model = nnx.eval_shape(lambda: models.Transformer(config, mesh, None, rngs=nnx.Rngs(params=0, dropout=1)))
        graph, params, rest = nnx.split(model, nnx.Param, ...)

        def concrete(one: Any) -> Any:
            return jax.random.key(0) if jnp.issubdtype(one.dtype, jax.dtypes.prng_key) else jnp.zeros(one.shape, one.dtype)

        def loss(params: Any, ids: Any) -> Any:
            positions = jnp.broadcast_to(jnp.arange(ids.shape[1]), ids.shape)
            logits = nnx.merge(graph, params, jax.tree.map(concrete, rest))(ids, positions, enable_dropout=False)
            return cross_entropy(logits, ids)

        counted = floptally.from_jax(loss, params, jax.ShapeDtypeStruct(jax.export.symbolic_shape("batch, length"), jnp.int32))
        args = (jax.tree.map(lambda one: jnp.ones(one.shape, one.dtype), params), tokens(2, 29))
        function, both = on_arrays(loss, 0, args)
        executed = exact_flops(products_of(jax.value_and_grad(function), *both), {(29, 29): pairs(causal, 29)})
    expected = floptally.cost({**LLAMA, "head_dim": 8})
    for lengths in ([29, 29], [100, 2000]):
        assert by_phase(counted, "exact", lengths) == by_phase(expected, "exact", lengths)
    assert counted.parameters == expected.parameters
    assert counted.flops(lengths=[29, 29]).executed.total == executed


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", [name for name, one in CASES.items() if len(one.attends) == 1 and one.attends != (everything,)])
def test_attention_of_very_short_sequences_counts_their_pairs(name: str) -> None:
    one = CASES[name]
    function, params, inputs = one.make()
    cost = floptally.from_jax(function, params, *symbolic(inputs), **one.options)
    of_pairs = [entry for entry in cost.entries if entry.kind == "scores" and "masked_out" not in str(entry.unit)]
    each = {length: sum(entry.unit.pairs(length) * entry.flops_per_unit for entry in of_pairs) for length in (1, 2, 3, 13)}
    attended = {length: pairs(one.attends[0], length) for length in each}
    assert {length: count * attended[13] for length, count in each.items()} == {
        length: each[13] * count for length, count in attended.items()
    }


# What is refused, and what the caller says.


def of_vectors(function: Callable[..., Any], params: Any, **options: Any) -> Any:
    batch, length = jax.export.symbolic_shape("batch, length")
    return floptally.from_jax(function, params, jax.ShapeDtypeStruct((batch, length, WIDTH), jnp.float32), **options)


SQUARE = {"w": jax.ShapeDtypeStruct((WIDTH, WIDTH), jnp.float32)}


def test_loop_that_data_end_asks_for_its_turns() -> None:
    def loss(params: Any, x: Any) -> Any:
        return jnp.sum(lax.while_loop(lambda x: jnp.sum(x) > 1, lambda x: jnp.tanh(x @ params["w"]), x))

    with pytest.raises(floptally.Error, match=r"turns=\{'(.*)': n\}") as caught:
        of_vectors(loss, SQUARE, argnums=())
    name = str(caught.value).partition("turns={'")[2].partition("'")[0]
    cost = of_vectors(loss, SQUARE, argnums=(), turns={name: 5})
    assert cost.flops(lengths=[13, 29]).total == 5 * 2 * WIDTH * WIDTH * 42
    with pytest.raises(floptally.Error, match="turns"):
        of_vectors(loss, SQUARE, argnums=(), turns={name: 5, "another": 3})


def test_conditional_that_data_decide_asks_for_its_branch() -> None:
    def loss(params: Any, x: Any) -> Any:
        def twice(x: Any) -> Any:
            return x @ params["w"] @ params["w"]

        return jnp.sum(lax.cond(jnp.sum(x) > 0, twice, lambda x: x @ params["w"], x))

    with pytest.raises(floptally.Error, match=r"branches=\{'(.*)': i\}") as caught:
        of_vectors(loss, SQUARE, argnums=())
    name = str(caught.value).partition("branches={'")[2].partition("'")[0]
    for index, products in ((0, 1), (1, 2)):  # lax.cond: 0 for False
        cost = of_vectors(loss, SQUARE, argnums=(), branches={name: index})
        assert cost.flops(lengths=[13]).total == products * 2 * WIDTH * WIDTH * 13
    with pytest.raises(floptally.Error, match="branches"):
        of_vectors(loss, SQUARE, argnums=(), branches={name: 2})


@pytest.mark.parametrize(
    "name, function",
    [
        ("cholesky", lambda w: jnp.linalg.cholesky(w @ w.T)),
        ("lu", jnp.linalg.inv),
        ("triangular_solve", lambda w: jax.scipy.linalg.solve_triangular(w, w)),
        ("qr", lambda w: jnp.linalg.qr(w)[0]),
        ("svd", lambda w: jnp.linalg.svd(w)[1]),
        ("eigh", lambda w: jnp.linalg.eigh(w + w.T)[0]),
        ("pure_callback", lambda w: jax.pure_callback(lambda w: w, jax.ShapeDtypeStruct(w.shape, w.dtype), w)),
    ],
)
def test_what_multiplies_and_has_no_form_is_refused_by_name(name: str, function: Callable[[Any], Any]) -> None:
    with pytest.raises(floptally.Error, match=rf"{name}.*formulas="):
        of_vectors(lambda params, x: jnp.sum(x @ function(params["w"])), SQUARE, argnums=())


def test_pallas_kernel_is_refused_by_name() -> None:
    pallas = pytest.importorskip("jax.experimental.pallas")

    def own_kernel(x: Any, w: Any, out: Any) -> None:
        out[...] = x[...] @ w[...]

    def forward(params: Any, x: Any) -> Any:
        def one(x: Any) -> Any:
            return pallas.pallas_call(own_kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x, params["w"])

        return jax.vmap(one)(x)

    with pytest.raises(floptally.Error, match="own_kernel.*Pallas kernel.*formulas="):
        of_vectors(forward, SQUARE, argnums=())


def test_mask_that_depends_on_data_is_an_error_until_the_caller_states_it() -> None:
    def loss(params: Any, x: Any) -> Any:
        q, k, v = (heads(x @ params[name], HEADS) for name in "qkv")
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k)
        scores = jnp.where(scores >= lax.top_k(scores, 4)[0][..., -1:], scores, -jnp.inf)
        return jnp.sum((jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(x.shape) @ params["o"]) ** 2)

    with pytest.raises(floptally.Error, match="depend on data.*masks="):
        of_vectors(loss, attention_weights())
    cost = of_vectors(loss, attention_weights(), masks=Mask.top_k(4))
    pairs_of_one = sum(min(query + 1, 4) for query in range(13))
    assert cost.flops(lengths=[13]).useful.forward == 4 * 2 * WIDTH**2 * 13 + 4 * WIDTH * pairs_of_one


def test_mask_among_the_arguments_must_be_stated() -> None:
    def loss(params: Any, x: Any, mask: Any) -> Any:
        q, k, v = (heads(x @ params[name], HEADS) for name in "qkv")
        return jnp.sum((jax.nn.dot_product_attention(q, k, v, mask=mask).reshape(x.shape) @ params["o"]) ** 2)

    batch, length = jax.export.symbolic_shape("batch, length")
    args = jax.ShapeDtypeStruct((batch, length, WIDTH), jnp.float32), jax.ShapeDtypeStruct((length, length), jnp.bool_)
    with pytest.raises(floptally.Error, match="masks="):
        floptally.from_jax(loss, attention_weights(), *args)
    cost = floptally.from_jax(loss, attention_weights(), *args, masks="causal")
    assert cost.flops(lengths=[13]).useful.forward == 4 * 2 * WIDTH**2 * 13 + 4 * WIDTH * pairs(causal, 13)


def test_padding_and_segments_among_the_arguments_count_rows_as_whole_sequences() -> None:
    """The lengths of a packed batch are those of its documents, so the cost is that of one document."""

    def loss(params: Any, x: Any, segment_ids: Any) -> Any:
        q, k, v = (heads(x @ params[name], HEADS) for name in "qkv")
        mask = (segment_ids[:, :, None] == segment_ids[:, None, :])[:, None] & jnp.tri(x.shape[1], dtype=bool)
        return jnp.sum((jax.nn.dot_product_attention(q, k, v, mask=mask).reshape(x.shape) @ params["o"]) ** 2)

    batch, length = jax.export.symbolic_shape("batch, length")
    args = jax.ShapeDtypeStruct((batch, length, WIDTH), jnp.float32), jax.ShapeDtypeStruct((batch, length), jnp.int32)
    cost = floptally.from_jax(loss, attention_weights(), *args)
    packed = cost.flops(cu_seqlens=[0, 5, 13]).useful.forward
    # A run with two documents in a row of 13 multiplies nonzero weights only inside of the documents.
    args = (vectors(1, 13), jnp.array([[0] * 5 + [1] * 8]))
    function, both = on_arrays(loss, 0, (attention_weights(), *args))
    attended = pairs(lambda q, k: k <= q and (q < 5) == (k < 5), 13)
    assert packed == exact_flops(products_of(function, *both), {(13, 13): attended})


# Flash attention in plain JAX: blocks of queries or keys, by loops.

BLOCK = 8


def online_softmax(params: Any, x: Any) -> Any:
    """lax.scan over blocks of keys, with the running maximum and sum of FlashAttention."""
    q, k, v = (heads(x @ params[name], HEADS) for name in "qkv")
    batch, length = x.shape[:2]
    blocks = tuple(one.reshape(batch, length // BLOCK, BLOCK, HEADS, HEAD).swapaxes(0, 1) for one in (k, v))

    def step(carry: Any, block: Any) -> tuple[Any, None]:
        largest, total, out = carry
        index, k, v = block
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k)
        later = index * BLOCK + jnp.arange(BLOCK)[None, :] > jnp.arange(length)[:, None]
        scores = jnp.where(later, -1e30, scores)
        new = jnp.maximum(largest, scores.max(-1))
        weights, scale = jnp.exp(scores - new[..., None]), jnp.exp(largest - new)
        return (new, total * scale + weights.sum(-1), out * scale[..., None] + jnp.einsum("bhqk,bkhd->bhqd", weights, v)), None

    start = jnp.full((batch, HEADS, length), -1e30), jnp.zeros((batch, HEADS, length)), jnp.zeros((batch, HEADS, length, HEAD))
    (_, total, out), _ = lax.scan(step, start, (jnp.arange(length // BLOCK), *blocks))
    return jnp.sum(((out / total[..., None]).transpose(0, 2, 1, 3).reshape(x.shape) @ params["o"]) ** 2)


def chunks_of_queries(params: Any, x: Any) -> Any:
    """lax.map over chunks of queries."""
    q, k, v = (heads(x @ params[name], HEADS) for name in "qkv")
    batch, length = x.shape[:2]
    chunks = q.reshape(batch, length // BLOCK, BLOCK, HEADS, HEAD).swapaxes(0, 1)

    def one(chunk: Any) -> Any:
        index, q = chunk
        seen = index * BLOCK + jnp.arange(BLOCK)[:, None] >= jnp.arange(length)[None, :]
        scores = jnp.where(seen, jnp.einsum("bqhd,bkhd->bhqk", q, k), -jnp.inf)
        return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)

    out = lax.map(one, (jnp.arange(length // BLOCK), chunks))
    return jnp.sum((out.swapaxes(0, 1).reshape(x.shape) @ params["o"]) ** 2)


def local_blocks(params: Any, x: Any) -> Any:
    """Attention within blocks, by a reshape."""
    batch, length = x.shape[:2]
    q, k, v = (heads(x @ params[name], HEADS).reshape(batch, length // BLOCK, BLOCK, HEADS, HEAD) for name in "qkv")
    scores = jnp.where(jnp.tri(BLOCK, dtype=bool), jnp.einsum("bnqhd,bnkhd->bnhqk", q, k), -1e9)
    return jnp.sum((jnp.einsum("bnhqk,bnkhd->bnqhd", jax.nn.softmax(scores), v).reshape(x.shape) @ params["o"]) ** 2)


@pytest.mark.parametrize(
    "function, attends, run",
    [
        (online_softmax, causal, everything),
        (chunks_of_queries, causal, everything),
        (local_blocks, lambda q, k: k <= q and q // BLOCK == k // BLOCK, lambda q, k: q // BLOCK == k // BLOCK),
    ],
)
def test_attention_in_blocks_counts_attended_pairs(function: Any, attends: Any, run: Any) -> None:
    """run: pairs that a run multiplies. attends: those of them that count."""
    batch, chunks = jax.export.symbolic_shape("batch, chunks")
    x = jax.ShapeDtypeStruct((batch, BLOCK * chunks, WIDTH), jnp.float32)
    cost = floptally.from_jax(function, attention_weights(), x)
    for sequences, length in ((2, 32), (3, 56)):
        on, both = on_arrays(function, 0, (attention_weights(), vectors(sequences, length)))
        masked = sequences * (pairs(run, length) - pairs(attends, length))
        forward = flops_of(products_of(on, *both)) - 4 * WIDTH * masked
        step = flops_of(products_of(jax.value_and_grad(on), *both)) - 12 * WIDTH * masked
        useful = cost.flops(lengths=[length] * sequences).useful
        assert (useful.forward, useful.total) == (forward, step)
    with pytest.raises(floptally.Error, match="lengths"):
        cost.flops(lengths=[13])


# The page of the docs.


@pytest.mark.filterwarnings("ignore::floptally.AssumptionWarning")
def test_examples_of_count_a_jax_function_print_the_output_shown_there() -> None:
    pytest.importorskip("flax.linen", reason="Flax is not installed")
    page = (SOURCE / "docs" / "how_to" / "count_a_jax_function.md").read_text()
    scope: dict[str, Any] = {}
    compared = 0
    for block in shown.blocks(page):
        assert block.language == "python" and block.output is not None
        assert shown.printed(block.lines, "count_a_jax_function.md", scope) == block.output
        compared += 1
    assert compared == 3


def test_errors_quoted_on_count_a_jax_function_are_the_words_of_the_library() -> None:
    page = (SOURCE / "docs" / "how_to" / "count_a_jax_function.md").read_text()
    quoted = re.findall(r"^\| `(.*?)`(?: …)? \|", page.partition("\n## Errors\n")[2], re.MULTILINE)

    def drawn(params: Any, x: Any) -> Any:  # a mask of data
        scores = jnp.where(x @ x.swapaxes(1, 2) > 0, x @ x.swapaxes(1, 2), -jnp.inf)
        return jax.nn.softmax(scores) @ (x @ params["w"])

    calls: list[Callable[[Any, Any], Any]] = [
        lambda params, x: jnp.linalg.cholesky(params["w"]) * jnp.sum(x),
        drawn,
        lambda params, x: lax.cond(jnp.sum(x) > 0, lambda x: x @ params["w"] @ params["w"], lambda x: x @ params["w"], x),
        lambda params, x: x[:, : int(x.shape[1] ** 0.5)] @ params["w"],
    ]
    assert len(quoted) == len(calls)
    for message, call in zip(quoted, calls, strict=True):
        with pytest.raises(floptally.Error) as caught:
            of_vectors(call, SQUARE, argnums=())
        assert message in str(caught.value)
